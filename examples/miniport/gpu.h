/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - the hardware of the mini GPU: memory, one engine, a ring of packets, page tables, an interrupt.
 *
 * The engine is a system thread. Where you have hardware, its registers are here instead.
 */
#ifndef GPU_H
#define GPU_H

#include "ntddk.h"
#include "dispmprt.h"

enum {
	GPU_RING_PACKETS = 8,
	GPU_TABLE_LEVELS = 3,
	GPU_INDEX_BITS = 9,
	GPU_ADDRESS_BITS = PAGE_SHIFT + GPU_TABLE_LEVELS * GPU_INDEX_BITS,
};

#define GPU_MEMORY_BYTES ((SIZE_T)32 << 20)

/* A page-table entry is the physical address of a page, and these. */
#define GPU_PTE_VALID     0x1ULL
#define GPU_PTE_READ_ONLY 0x2ULL

/* How far a packet is. */
struct gpu_position {
	ULONG offset;   /* of the command */
	ULONGLONG done; /* of its size */
};

struct gpu_context {
	ULONGLONG root;                   /* leads to the highest table, as an entry would */
	struct gpu_position preempted_at; /* where a packet goes on that comes again */
};

struct gpu_packet {
	struct gpu_context *context;
	ULONGLONG address; /* of its commands */
	ULONG size_bytes;
	ULONG fence;
	struct gpu_position at;
};

struct gpu {
	DXGKRNL_INTERFACE dxgk;                  /* of the kernel */
	PKSYNCHRONIZE_ROUTINE interrupt_routine; /* the driver's: DIRQL, with the lock */
	PVOID memory;
	HANDLE thread;
	KEVENT wake;     /* to be set when there is something to do */
	KSPIN_LOCK lock; /* guards the rest. The engine holds it for a page of work at a time */
	struct gpu_packet ring[GPU_RING_PACKETS];
	ULONG first, count;
	ULONG last_fence;                      /* completed, or aborted */
	DXGKARGCB_NOTIFY_INTERRUPT_DATA event; /* what it interrupts for */
	BOOLEAN is_stuck;                      /* hung, faulted, or halted by the driver */
	BOOLEAN is_stopping;
};

/* The routine is called with the GPU; why is in `event`. */
NTSTATUS gpu_start(struct gpu *gpu, const DXGKRNL_INTERFACE *dxgk,
		   PKSYNCHRONIZE_ROUTINE interrupt_routine);
void gpu_stop(struct gpu *gpu);

/* The rest at DISPATCH_LEVEL or below. */

/* A packet that comes again goes on where it was. The ring has room for GPU_RING_PACKETS. */
void gpu_submit(struct gpu *gpu, const struct gpu_packet *packet, BOOLEAN comes_again);
/* Empties the ring and interrupts, at once. An engine that is stuck does not answer. */
void gpu_preempt(struct gpu *gpu, ULONG preemption_fence);
/* Nothing that was submitted runs any more. Returns the fence of what was aborted, or else completed last. */
ULONG gpu_reset(struct gpu *gpu, BOOLEAN goes_on);
ULONG gpu_last_fence(struct gpu *gpu);
BOOLEAN gpu_is_stuck(struct gpu *gpu);

#endif
