/* SPDX-License-Identifier: MIT */
/*
 * lanes.h - work of paging packets, on its way over the bus and in video memory.
 *
 *	in      system memory ─▶ video memory       copy engine, or cuda_pages() for short rows
 *	out     video memory ─▶ system memory       likewise
 *	local   within video memory: fills, copies  cuda_pages()
 *	unmap   entries of page tables that lead nowhere from then on            cuda_entries()
 *	map     all other entries; words that somebody waits for                 cuda_entries()
 *
 * Each is a stream: what is in one happens in order, and they overtake each other. What is put into
 * them takes effect as if it were done one after the other, for everybody who may look:
 *
 *	- what touches the same 64 KiB as something in another lane waits for that
 *	- what moves bytes waits for entries before it that lead nowhere: nobody reaches any more
 *	  what is taken away
 *	- an entry that leads somewhere waits for what brings bytes there
 *	- a word that somebody waits for waits for everything
 *
 * A lane is marked behind some of its work: the GPU stores the number of the mark where the CPU sees
 * it, and other lanes can wait for it. What is put in becomes work of the GPU at the next mark, at the
 * latest.
 *
 * PASSIVE_LEVEL. One thread at a time (cuda_device.lanes_lock), but for cuda_lanes_have_told(). All
 * that return a BOOLEAN: FALSE when the context is lost.
 */
#ifndef CUDA_LANES_H
#define CUDA_LANES_H

#include "ntdef.h"
#include "api.h"
#include "work.h"

enum cuda_lane_number {
	CUDA_LANE_IN,
	CUDA_LANE_OUT,
	CUDA_LANE_LOCAL,
	CUDA_LANE_UNMAP,
	CUDA_LANE_MAP,
	CUDA_LANES
};

enum {
	CUDA_LANE_MARKS = 256,   /* that are not told, at most */
	CUDA_LANE_ITEMS = 16384, /* … items */
	CUDA_GRANULE_BITS = 16,
	CUDA_ROW_BYTES = 1 << 20, /* from here on a row is for a copy engine */
};

/* Marks behind which the last work was that touched a granule, by lane. Their low bits. */
struct cuda_stamp {
	ULONG marks[CUDA_LANES];
};

struct cuda_lane {
	cuda_stream stream;
	cuda_stream
		teller; /* stores what is told: of copies over the bus the next one does not wait for that */
	cuda_event events[CUDA_LANE_MARKS]; /* of mark n: n % CUDA_LANE_MARKS */
	ULONGLONG ends[CUDA_LANE_MARKS];    /* items before it are free when the mark is told */
	ULONGLONG *told;                    /* the GPU writes it */
	struct cuda_item *items;            /* a ring, that the GPU sees */
	ULONGLONG launched;                 /* items that kernels were launched for, … */
	ULONGLONG filled;                   /* … and that there are, since the beginning; */
	ULONGLONG freed;                    /* … that may be written over */
	ULONGLONG highest;      /* in those that are not launched: the end of the highest target */
	ULONGLONG last_mark;    /* put into the stream */
	ULONGLONG nowhere_mark; /* behind the last entries that lead nowhere; 0: there are none */
	BOOLEAN has_work;       /* behind the last mark */
	ULONGLONG waited[CUDA_LANES]; /* for marks of others, so far */
};

struct cuda_lanes {
	struct cuda_lane lanes[CUDA_LANES];
	ULONGLONG *words;         /* told, a line of the processor's each */
	struct cuda_item *items;  /* of all lanes */
	struct cuda_stamp *local; /* by granule */
	struct cuda_stamp *system;
	ULONGLONG local_granules;
	ULONGLONG system_granules;
};

/* How far all lanes are when a packet is over. */
struct cuda_marks {
	ULONGLONG marks[CUDA_LANES];
};

struct cuda_device;

/* Of the device's context. What cuda_lanes_end() gives back beside that is not in it. */
NTSTATUS cuda_lanes_make(struct cuda_device *device);
void cuda_lanes_end(struct cuda_device *device);

/* `system` is where the GPU sees it (pieces.c), and all in one piece. */
BOOLEAN cuda_lanes_copy_in(struct cuda_device *device, ULONGLONG local_offset, ULONGLONG system,
			   ULONGLONG physical, ULONGLONG size_bytes);
BOOLEAN cuda_lanes_copy_out(struct cuda_device *device, ULONGLONG system, ULONGLONG physical,
			    ULONGLONG local_offset, ULONGLONG size_bytes);
BOOLEAN cuda_lanes_copy_local(struct cuda_device *device, ULONGLONG to_offset,
			      ULONGLONG from_offset, ULONGLONG size_bytes);
BOOLEAN cuda_lanes_fill(struct cuda_device *device, ULONGLONG local_offset, ULONGLONG size_bytes,
			ULONG pattern);
/* value, value + stride, …: of a page table in video memory, or of the aperture's. */
BOOLEAN cuda_lanes_entries(struct cuda_device *device, ULONGLONG local_offset, ULONGLONG count,
			   ULONGLONG value, ULONGLONG stride);
BOOLEAN cuda_lanes_aperture(struct cuda_device *device, ULONGLONG first, ULONGLONG count,
			    ULONGLONG value, ULONGLONG stride);
/* A word in system memory, after everything else. */
BOOLEAN cuda_lanes_store(struct cuda_device *device, ULONGLONG system, ULONGLONG physical,
			 ULONGLONG value);

/* All that was put in is the GPU's, and has happened when these are told. */
BOOLEAN cuda_lanes_mark(struct cuda_device *device, struct cuda_marks *marks_out);
BOOLEAN cuda_lanes_have_told(const struct cuda_device *device, const struct cuda_marks *marks);
/* Until then. */
BOOLEAN cuda_lanes_wait(struct cuda_device *device, const struct cuda_marks *marks);
/* Has an error ended what they do? Asks CUDA, so not at every look. */
BOOLEAN cuda_lanes_are_alive(struct cuda_device *device);

#endif
