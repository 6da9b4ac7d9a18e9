/* SPDX-License-Identifier: MIT */
/*
 * work.h - what the driver and its kernels on the GPU say to each other.
 *
 *	cuda_world    one per adapter, in video memory: where memory is
 *	cuda_state    one per engine, in video memory: how far its packet has come
 *	cuda_ring     one per engine, in memory of the machine that both see: its next packets
 *	cuda_result   likewise: how packets ended
 *	cuda_item     lists of them, in memory of the machine: a piece of paging work each
 *
 * Packets of a ring are numbered, and cuda_run() does one after the other. It stays for a while after the
 * last, and looks into the ring: what comes soon needs no launch. One that was not done, or wants
 * something, ends it; what is behind that in the ring has not begun.
 *
 * Both sides are little-endian, with pointers of eight bytes; a device pointer is a number here.
 */
#ifndef CUDA_WORK_H
#define CUDA_WORK_H

#include "ntdef.h"
#include "command.h"
#include "page_table.h"
#include "settings.h"

enum {
	CUDA_COMMAND_BYTES =
		64,           /* holds every command but padding, of which the header is enough */
	CUDA_PIECE_BITS = 24, /* system memory is registered in pieces of 16 MiB */
	CUDA_SEGMENT_SYSTEM_TOO = 3, /* the system memory that WDDM 2 adds after our segments */
	CUDA_APERTURE_VALID = 1,
	/* What a dispatch brings: its ranges, and parameters behind them. */
	CUDA_ARGUMENT_BYTES =
		SOFTGPU_MAX_RANGES * sizeof(struct softgpu_range) + SOFTGPU_MAX_PARAMETER_BYTES,
	CUDA_LARGE_PAGE_BITS = 21,
	CUDA_ITEM_BYTES = 65536, /* that one item moves, at most */
	/* Longer transfers are moved by the whole GPU, not by one block of threads. */
	CUDA_WIDE_BYTES = 16384,
	/* How long cuda_run() looks for another packet. Others wait for the whole GPU at times. */
	CUDA_STAY_100NS = 2000,
	/* … and how long it stays at all, however many come: 20 ms. */
	CUDA_LIFE_100NS = 200000,
	CUDA_RING_PACKETS = 32,
	CUDA_RING_AHEAD = 8,     /* of a ring that are read at once */
	CUDA_RING_WORDS = 32,    /* of a packet in it */
	CUDA_BROUGHT_BYTES = 64, /* of its commands, at most */
};

struct cuda_world {
	struct gpu_settings settings;
	ULONGLONG local;
	ULONGLONG local_bytes;
	ULONGLONG aperture; /* one entry per page: physical address | CUDA_APERTURE_VALID */
	ULONGLONG aperture_pages;
	ULONGLONG pieces; /* device pointer of each piece of system memory; 0: not registered */
	ULONGLONG piece_count;
	ULONGLONG arguments; /* CUDA_ARGUMENT_BYTES for each slot; 0: clients have no kernels */
	ULONGLONG states;    /* of slot 0 */
	ULONGLONG tables_at; /* where `tables` is */
	ULONGLONG tables;    /* counts changes of page tables, each when it has happened */
};

/* How a kernel ended. */
enum cuda_outcome {
	CUDA_DONE = 1,
	CUDA_PREEMPTED,
	CUDA_ABORTED,
	CUDA_FAULTED,
	/* Ask of the driver; then go on with CUDA_GO_ON. */
	CUDA_WANTS_MOVE,   /* cuda_move, of state->transfer */
	CUDA_WANTS_PIECE,  /* the piece of system memory that has result->address */
	CUDA_WANTS_DRIVER, /* a command that only the driver can execute: result->command */
};

enum {
	CUDA_GO_ON = 0x1u, /* where state says, not from the beginning */
	CUDA_IS_PAGING = 0x2u,
	CUDA_IS_VIRTUAL = 0x4u,       /* operands are virtual addresses */
	CUDA_KEEPS_ON = 0x8u,         /* answers no preemption */
	CUDA_COMMAND_IS_DONE = 0x10u, /* with CUDA_GO_ON: the one the driver was asked for */
	CUDA_LEAVE = 0x20u,           /* no packet: nothing more comes */
};

/* state->stop: what is asked of the packet with this number, and of all before it. */
enum { CUDA_STOP_PREEMPT = 1, CUDA_STOP_ABORT = 2, CUDA_STOP_BITS = 2 };

struct cuda_transfer {
	struct gpu_place destination;
	struct gpu_place source;
	ULONGLONG size_bytes;
	ULONGLONG from; /* bytes of it that are done */
	struct gpu_root root;
	ULONG is_fill;
	ULONG pattern;
	ULONGLONG sequence;
	ULONGLONG keeps_on;
};

/* Since somebody first had the slot. */
struct cuda_sums {
	ULONGLONG bytes_written;
	ULONGLONG entries_written;
	/* By the clock of a processor of the GPU: */
	ULONGLONG busy_cycles; /* from finding a packet to its end */
	ULONGLONG look_cycles; /* looks that found one */
	ULONGLONG looks;
	ULONGLONG life_cycles; /* of cuda_run(), to say how fast that clock is */
	ULONGLONG life_100ns;
};

struct cuda_state {
	ULONGLONG stop; /* sequence << CUDA_STOP_BITS | what; written by the driver */
	ULONGLONG offset;
	ULONGLONG progress;
	ULONGLONG bytes_written;
	ULONGLONG entries_written;
	ULONGLONG stopped_at; /* where the move had to stop; ~0: nowhere */
	ULONGLONG is_moved;   /* a move was asked for, and is over */
	struct cuda_sums sums;
	struct cuda_transfer transfer;
};

struct cuda_result {
	ULONGLONG done;    /* the last one that was, and all before it; written after `sums` */
	ULONGLONG ended;   /* who ended otherwise; written last */
	ULONGLONG hanging; /* who hangs, while it does */
	ULONGLONG left;    /* the launch of cuda_run() that has ended, and looks at nothing more */
	struct cuda_sums sums;
	/* Of who ended otherwise. */
	ULONG outcome;
	ULONG status;
	ULONGLONG address;
	ULONG is_write;
	ULONG is_page_fault;
	ULONG level;
	ULONG reserved;
	ULONGLONG offset;
	ULONGLONG progress;
	ULONGLONG command[CUDA_COMMAND_BYTES / sizeof(ULONGLONG)];
	/* By place in the ring: where the page of system memory is in which its commands begin; 0: not said. */
	ULONGLONG buffers[CUDA_RING_PACKETS];
};

/* A packet, as cuda_run() is given it. */
struct cuda_mail {
	ULONG flags;
	ULONG size_bytes;
	ULONG offset;
	ULONG changes; /* another value: what was translated before is not true any more */
	ULONG root_segment;
	ULONG root_entries;
	ULONG buffer_segment;
	ULONG brought_bytes; /* of its commands that are here */
	ULONGLONG root_offset;
	ULONGLONG buffer_offset;
	ULONGLONG progress;
	ULONGLONG reserved;
	ULONGLONG brought[CUDA_BROUGHT_BYTES / sizeof(ULONGLONG)];
};
C_ASSERT(sizeof(struct cuda_mail) == CUDA_RING_WORDS * sizeof(ULONG));

/*
 * Who reads across the bus sees whole words, in no order. So each word is half of the packet's number and
 * half of the packet: it is all there when all of its words have the number.
 */
struct cuda_ring {
	ULONGLONG words[CUDA_RING_PACKETS][CUDA_RING_WORDS];
};

/* The low half of a number is not 0, which is what was never written. */
static __inline__ ULONGLONG cuda_next(ULONGLONG sequence)
{
	return (ULONG)(sequence + 1) == 0 ? sequence + 2 : sequence + 1;
}

/* Device pointers, whatever memory is there. */
struct cuda_item {
	ULONGLONG to;
	union {
		ULONGLONG from; /* 0: it is filled */
		ULONGLONG value;
	};
	union {
		ULONGLONG size_bytes;
		ULONGLONG count; /* of entries, in one page: value, value + stride, … */
	};
	union {
		ULONGLONG pattern;
		ULONGLONG piece; /* of system memory, that a copy is from or to */
		ULONGLONG stride;
	};
};

/* ---- kernels ---- */

/*
 * One block. Walks the commands of the packets in the ring that come after `served`. Leaves when none
 * comes, or one was not done.
 */
void cuda_run(ULONGLONG world, ULONGLONG state, ULONGLONG result, ULONGLONG ring, ULONGLONG served,
	      ULONGLONG launch);

/* Many blocks. Does state->transfer. */
void cuda_move(ULONGLONG world, ULONGLONG state);

/* Many blocks. Moves or fills what `count` items say; they have nothing in common. */
void cuda_pages(ULONGLONG items, ULONGLONG count);

/* One block. Writes the entries that `count` items say, those of one page in order, and counts that. */
void cuda_entries(ULONGLONG items, ULONGLONG count, ULONGLONG tables);

/*
 * Many blocks. Which large page of the slab is at each of those that `ranges` cover, `count` of them from
 * the first-th on: its number goes to `found`, or CUDA_PAGE_BAD and why.
 */
void cuda_ranges(ULONGLONG world, ULONGLONG root_segment, ULONGLONG root_entries,
		 ULONGLONG root_offset, ULONGLONG ranges, ULONGLONG range_count, ULONGLONG first,
		 ULONGLONG count, ULONGLONG found);

#define CUDA_PAGE_BAD   (1ULL << 63) /* a page fault at level + (offset in the large page << 8) */
#define CUDA_PAGE_OTHER (1ULL << 62) /* … no: it is memory that kernels cannot be shown */
#define CUDA_PAGE_MASK  0xffffffffULL

#endif
