/* SPDX-License-Identifier: MIT */
/*
 * ring.h - where the events of one thread wait to be written, as the block that they will be. For trace/ only.
 *
 * The owner appends; when the block is full, or old, it is handed to a thread of the trace's own, which writes it to
 * the spool while the owner fills the other one. Where there is no such thread (a seeded run, one processor) the owner
 * writes it itself, and it does so when the thread has not come to it by then: what is under way of each thread is a
 * block, at most. Nobody takes a lock, and nothing here is a step of a seeded run.
 *
 * When a trace ends, trace_finish() takes what is still in the rings. By then the session has
 * changed, and an owner whose ring is full finds that out and drops its event.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/thread.h"
#include "trace/format.h"
#include "trace/trace.h"

enum {
	/* As much as the kernel takes at half the price of 16 KiB, a byte. */
	RING_BYTES = 65536,
	/* No event is longer. */
	RING_EVENT_BYTES = 32 + TRACE_FIELDS_MAX * (TRACE_TEXT_MAX_BYTES + 8),
	RING_LITERALS_BITS = 8,
	RING_LITERALS = 1 << RING_LITERALS_BITS,
	/* As many as have numbers of one byte. */
	RING_LITERALS_MAX = 127,
};

_Static_assert((int)RING_BYTES <= (int)TRACE_BLOCK_MAX_BYTES, "a ring is a block");

/*
 * A process that is killed takes with it what threads have said since; not more than that of those that go on talking.
 * Nanoseconds, or ticks, of which there are more.
 */
#define RING_AGE (250 * NS_PER_MS)

/* A string that is never freed, and its number in the block. */
struct ring_literal {
	const char *text; /* NULL: the slot is empty */
	uint32_t number;
};

/* As it will be in the file. */
struct ring_block {
	/* The first event's, from when `used` is not zero; size and checksum when it is written. */
	struct trace_block_header header;
	uint8_t bytes[RING_BYTES];
};

/* Where the block is that its owner does not fill. */
enum ring_handed {
	RING_NOTHING,    /* it is empty */
	RING_HANDED,     /* full, and whoever comes first writes it */
	RING_IN_WRITING, /* by the thread for that */
	RING_AWAITED,    /* likewise, and somebody sleeps until it is */
};

struct ring {
	/*
	 * What every event looks at: one line of the cache. Not side by side what a compiler would read as one where both
	 * were just written, each for itself: the processor waits for that.
	 *
	 * Where in the block the next byte goes. What is before it is filled in and stays as it is until the block is
	 * over. Written by the owner, read by trace_finish().
	 */
	uint8_t *_Atomic at;
	uint64_t last_id; /* that an event of this block has; 0 at first. The owner's, and so on: */
	uint64_t time;    /* of the last event */
	/* Below it the short way may be taken; NULL: nowhere. The owner's, and NULL once its session is over. */
	const uint8_t *_Atomic quick_end;
	uint64_t sequence; /* that the next event has, if nobody else says anything */
	const uint8_t *
		call_end; /* behind the begin of a call, the last of the block; NULL: none is in it */
	uint32_t last_handle; /* that an event of this block has; 0 at first */
	uint32_t thread;
	uint64_t until; /* when the block is old; 0: none has begun */

	uint64_t last_live
		[TRACE_FIELDS_MAX]; /* the fields of the last allocation_live of this block; 0 at first */
	uint32_t literal_count;
	struct ring_literal literals[RING_LITERALS];

	struct ring_block *block; /* that is being filled; changes only under ring_hold() */

	_Atomic uint32_t session; /* which it belongs to; written by the owner */
	_Atomic uint32_t handed;  /* enum ring_handed: the other block */
	uint32_t handed_bytes;    /* of it; set before it is handed */
	struct ring_block blocks[2];

	struct ring *next; /* of all; set before the ring is one of them */
	_Atomic bool is_owned;
	struct thread_end end; /* of the owner */
};

/* So much of the block is filled in. */
static inline uint32_t ring_used(const struct ring *ring)
{
	return (uint32_t)(atomic_load_explicit(&ring->at, memory_order_acquire) -
			  ring->block->bytes);
}

/* That of threads which have none: no place in it, and of no session, so that nobody has to ask for it on the short way. */
extern struct ring ring_none __attribute__((visibility("hidden")));

/* The calling thread's; &ring_none if it has none. */
extern _Thread_local struct ring *ring_own __attribute__((visibility("hidden")));

/*
 * The ring of the calling thread is from now on one of `session`, and empty; NULL without memory, or when the session is
 * over.
 */
struct ring *ring_join(uint32_t session);

/* So many threads get theirs without mapping anything, where there is memory. */
void ring_prepare(uint32_t count);
/* The calling thread is to have one, whether it says anything or not. */
void ring_take_own(uint32_t session);

/* Has what is in it written, which is then empty; false when the session is over. */
bool ring_write(struct ring *ring);

/* From here on the short way may be taken, up to `end`; false when the session is over. The owner. */
bool ring_open_quick(struct ring *ring, const uint8_t *end);

/* Around a session: the thread that writes. Without it, and where there is no use in one, owners write. */
void ring_writer_start(void);
void ring_writer_stop(void);

/* After the session ended: writes what its rings still hold. */
void ring_collect(uint32_t session);

/* In a child of fork(): the rings are those of threads that do not exist here. */
void ring_forget_all(void);

#endif
