/* SPDX-License-Identifier: MIT */
/*
 * soft.h - the hardware of the software GPU: memory that the processor sees, and threads.
 *
 *	memory.c         local memory, the aperture, and what shows them to a thread
 *	host_aperture.c  local memory through a window
 *	execute.c        what a thread does with one packet
 *	reach.c          … how it finds memory
 *	transfer.c       … how it moves much of it, with others
 *	stream.c         … past the cache
 *	intel_stream.c   … when its commands are Intel's
 *	intel_escape.c   and what is asked beside them
 *
 * Everything else is drivers/common.
 */
#ifndef SOFT_SOFT_H
#define SOFT_SOFT_H

#include "gpu.h"
#include "stream.h"

enum { SOFT_MAX_LANES = 3 }; /* one less than there can be copy engines */

/* gpu_memory.hardware. Set while the adapter is started. */
struct soft_memory {
	PUCHAR local;
	/* One entry per aperture page: physical address | 1, or 0 for none. Written by the paging
	 * engine, each with one store. */
	ULONGLONG *aperture;
	PUCHAR host_aperture; /* its addresses; NULL: there is none */
};

static __inline__ struct soft_memory *soft_memory_of(const struct gpu_memory *memory)
{
	return (struct soft_memory *)memory->hardware;
}

/* A piece of memory an engine can touch. */
struct soft_window {
	PUCHAR bytes; /* NULL: reads as zeroes, drops writes */
	ULONGLONG size_bytes;
	BOOLEAN is_mapped; /* to be unmapped by soft_window_close() */
};

struct soft_transfer_work;

/* A thread that lends the paging engine a hand with long transfers. */
struct soft_lane {
	PVOID thread; /* a KTHREAD, referenced */
	KEVENT called;
	KEVENT done;
	volatile LONG is_stop_pending;
	volatile LONG state;
	struct soft_transfer_work *work; /* set before it is called */
};

/* gpu_engine.hardware */
struct soft_lanes {
	ULONG count;
	struct soft_lane lanes[SOFT_MAX_LANES];
};

/* host_aperture.c */
NTSTATUS soft_host_aperture_start(struct gpu_memory *memory, const struct gpu_settings *settings);
void soft_host_aperture_stop(struct gpu_memory *memory);
NTSTATUS APIENTRY soft_map_cpu_host_aperture(IN_CONST_HANDLE hAdapter,
					     IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE pArgs);
NTSTATUS APIENTRY soft_unmap_cpu_host_aperture(IN_CONST_HANDLE hAdapter,
					       IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE pArgs);

/* memory.c */
/* At most `wanted` bytes; fewer when the memory is not in one piece. FALSE when nothing is there.
 * PASSIVE_LEVEL. */
BOOLEAN soft_window_open(const struct gpu_memory *memory, ULONG segment, ULONGLONG offset,
			 ULONGLONG wanted, BOOLEAN is_write, struct soft_window *window_out);
void soft_window_close(struct soft_window *window);
gpu_entry_reader soft_memory_read_entry; /* reader_context is a const struct gpu_memory */

/* reach.c: how an engine finds memory. */
struct soft_reach {
	const struct gpu_adapter *adapter;
	struct gpu_root root;
};
/* What is `offset` into the place: at most `wanted` bytes, fewer when they are not in a row. */
BOOLEAN soft_reach_open(const struct soft_reach *reach, const struct gpu_place *place,
			ULONGLONG offset, ULONGLONG wanted, BOOLEAN is_write,
			struct soft_window *window_out, struct gpu_fault *fault_out);

/* transfer.c: PASSIVE_LEVEL. */
struct soft_transfer {
	BOOLEAN is_fill;
	ULONG pattern;
	struct gpu_place destination;
	struct gpu_place source;
	ULONGLONG size_bytes;
};
/* From *progress on, which says afterwards how far it came. */
enum gpu_outcome soft_transfer(struct gpu_engine *engine, const struct gpu_packet *packet,
			       const struct soft_reach *reach, const struct soft_transfer *transfer,
			       ULONGLONG *progress, struct gpu_fault *fault_out);

/* intel_stream.c: a packet of Intel commands, on the engine's thread at PASSIVE_LEVEL. */
enum gpu_outcome soft_intel_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				    const struct soft_reach *reach, ULONGLONG *bytes_written,
				    struct gpu_fault *fault_out);
/* One store of four or eight bytes, to a multiple of them. */
BOOLEAN soft_intel_store(const struct soft_reach *reach, ULONGLONG address, ULONGLONG value,
			 ULONG size_bytes, struct gpu_fault *fault_out);

/* intel_escape.c */
DXGKDDI_ESCAPE soft_intel_escape;

#endif
