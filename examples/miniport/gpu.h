/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - the hardware of the mini GPU: what a real one does by itself, and a driver only asks for.
 *
 * An engine takes packets in order, fetches their commands, looks every address up in page tables, and interrupts. It is a
 * system thread. Where you have hardware, its registers are here instead.
 */
#ifndef GPU_H
#define GPU_H

#include "ntddk.h"

enum {
	GPU_QUEUE_PACKETS = 8, /* that an engine takes at once */
	GPU_LOCAL_SEGMENT = 1, /* in page-table entries; another segment is system memory */
	GPU_TABLE_LEVELS = 3,
	GPU_INDEX_BITS = 9,
	GPU_ADDRESS_BITS = PAGE_SHIFT + GPU_TABLE_LEVELS * GPU_INDEX_BITS,
};
#define GPU_MEMORY_BYTES ((SIZE_T)32 << 20)

/* A page-table entry: the number of a page, and in the lowest twelve bits its segment and what may be done. */
#define GPU_PTE_VALID         0x1ULL
#define GPU_PTE_READ_ONLY     0x2ULL
#define GPU_PTE_SEGMENT_SHIFT 4

/* Where a packet goes on that was preempted. */
struct gpu_position {
	ULONG offset;   /* of the command */
	ULONGLONG done; /* of its size */
};

/* Nonpaged. An address space, and what an engine has to remember of a stream of packets. */
struct gpu_context {
	ULONGLONG root; /* of the page tables, in local memory; changes while the context is idle */
	struct gpu_position preempted_at;
};

struct gpu_packet {
	struct gpu_context *context;
	ULONGLONG address; /* of its commands */
	ULONG size_bytes;
	ULONG fence;
	BOOLEAN is_resubmission; /* goes on where it was preempted */
};

/* Why an engine interrupts. */
struct gpu_event {
	enum { GPU_COMPLETED, GPU_PREEMPTED, GPU_PAGE_FAULT, GPU_ILLEGAL_COMMAND } kind;
	ULONG fence;      /* of the packet, or of the preemption */
	ULONG last_fence; /* when preempted: what was completed before */
	ULONGLONG address;
	BOOLEAN is_write;
	ULONG level;
};

struct gpu_engine {
	/* Set before gpu_start(). */
	PUCHAR memory;
	void (*interrupt)(struct gpu_engine *engine,
			  const struct gpu_event *event); /* PASSIVE_LEVEL */
	PVOID owner;
	ULONG node;

	HANDLE thread;
	KEVENT wake; /* something was queued or requested */
	KEVENT reset_done;
	volatile LONG requests; /* interlocked */
	volatile LONG is_stuck; /* hung or faulted: waits for a reset */

	KSPIN_LOCK lock; /* guards the rest; nothing waits or touches memory of the GPU with it */
	struct gpu_packet queue[GPU_QUEUE_PACKETS];
	ULONG first, count;
	ULONG preemption_fence;
	ULONG submitted_fence;
	ULONG last_fence; /* completed, or given up */
};

/* PASSIVE_LEVEL. */
NTSTATUS gpu_start(struct gpu_engine *engine);
void gpu_stop(struct gpu_engine *engine); /* also of one that was not started */

/* At most DISPATCH_LEVEL. */
void gpu_submit(struct gpu_engine *engine, const struct gpu_packet *packet);
void gpu_preempt(struct gpu_engine *engine, ULONG preemption_fence);

/*
 * PASSIVE_LEVEL. Nothing that was submitted runs any more when it returns, and when halted nothing that will be. Returns
 * the fence of what was given up, or of what was completed last.
 */
ULONG gpu_reset(struct gpu_engine *engine, BOOLEAN is_halted);
void gpu_resume(struct gpu_engine *engine);

#endif
