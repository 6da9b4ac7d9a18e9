/* SPDX-License-Identifier: MIT */
/*
 * events.h - what upper layers may ask to be told.
 *
 * Called on the driver's DPC, or on the thread that flushes, at DISPATCH_LEVEL, no lock held, in
 * order per node. The listener never calls back into the driver from here, and takes no memory
 * (mem_forbid()).
 */
#ifndef MINIPORT_EVENTS_H
#define MINIPORT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* What a driver said about work that could not go on. */
struct miniport_fault {
	uint32_t node;
	uint32_t fence;      /* of the packet; see is_fence_valid */
	bool is_fence_valid; /* else one of the resets is required */
	bool is_page_fault;
	bool is_write;
	bool needs_engine_reset; /* whatever the id; any fault of what the hardware has gets one */
	bool needs_adapter_reset;
	uint64_t address; /* page faults */
	uint32_t level;
	uint32_t error_code;
	uint32_t flags;     /* as the driver gave them */
	uint64_t primitive; /* what was drawn, where, with what: each as the driver says it */
	uint32_t stage;
	uint32_t bind_entry;
	int32_t status;       /* other faults: NTSTATUS */
	void *driver_process; /* or NULL */

	/* Of a hardware queue: `fence` says nothing, but the queue's own may. */
	bool is_hw_queue;
	void *driver_queue; /* or its context, by the kernel's name or the driver's; NULL: nobody's */
	uint64_t queue_fence; /* of the packet; 0: not known */
};

struct miniport_events {
	void (*fence_completed)(void *listener, uint32_t node, uint64_t fence);
	void (*fence_preempted)(void *listener, uint32_t node, uint64_t fence,
				uint64_t last_completed);
	void (*node_faulted)(void *listener, const struct miniport_fault *fault);

	/* A monitored fence was written by hardware: look at those that somebody waits for. */
	void (*fence_written)(void *listener, uint32_t node);

	/* The hardware asks for a reset of this node. */
	void (*node_timed_out)(void *listener, uint32_t node);

	/* Nothing of the context that was suspended with this fence is on the hardware any more. */
	void (*context_suspended)(void *listener, uint64_t fence);
};

#endif
