/* SPDX-License-Identifier: MIT */
/*
 * gate.h - many pass at once, now and then it is closed.
 *
 * A readers-writer lock for the hot path: each thread that passes counts itself on a cache line of
 * its own, without an atomic operation; two threads that make calls do not meet. Closing is rare
 * and pays for that: it makes all threads pass a barrier and looks at all of them. Who waits to
 * close goes before newcomers. Not recursive.
 */
#ifndef BASE_GATE_H
#define BASE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/lock_ranks.h"
#include "base/notice.h"
#include "base/thread.h"

/* Does every thread keep a list of what it is inside of (lock_order.h)? */
#ifdef NDEBUG
#define GATE_IS_WATCHED false
#else
#define GATE_IS_WATCHED true
#endif

enum gate_state { GATE_OPEN, GATE_CLOSING, GATE_CLOSED };

struct gate {
	/* A cache line apart, wherever the gate itself lies. Those that have no seat share the
	   first. */
	struct {
		_Atomic uint32_t inside;
		char apart[60];
	} seats[THREAD_SEATS + 1];
	_Atomic uint32_t state;   /* enum gate_state */
	_Atomic uint32_t resting; /* of those inside */
	struct notice opened;
	struct notice opened_ahead; /* for those who go ahead */
	struct notice drained;
	uint32_t rank;
	const char *name;
};

#define GATE_INITIALIZER(gate_rank, gate_name)                                                     \
	{                                                                                          \
		.rank = (gate_rank), .name = (gate_name)                                           \
	}

void gate_init(struct gate *gate, enum lock_rank rank, const char *name);
void gate_finish(struct gate *gate);

/* Behind gate_enter() and gate_leave(). */
void gate_enter_slowly(struct gate *gate);
void gate_leave_slowly(struct gate *gate);
void gate_wait(struct gate *gate); /* counted, and not inside: it was not open */
void gate_tell_drained(struct gate *gate);

/* A seat's count is its thread's own. Nothing that follows is done before it. */
static inline void gate_count(struct gate *gate, uint32_t seat, uint32_t change)
{
	_Atomic uint32_t *inside = &gate->seats[seat].inside;
	uint32_t before = atomic_load_explicit(inside, memory_order_relaxed);

	atomic_store_explicit(inside, before + change, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline bool gate_is_open(struct gate *gate)
{
	return LIKELY(atomic_load_explicit(&gate->state, memory_order_acquire) == GATE_OPEN);
}

/*
 * Waits while the gate is closed, or closing. Entered and left by the same thread. Who knows its seat
 * (thread_own_seat) from a moment ago says so.
 */
SPECIALIZED void gate_enter_from(struct gate *gate, uint32_t seat)
{
	if (UNLIKELY(GATE_IS_WATCHED || seat == 0)) {
		gate_enter_slowly(gate);
		return;
	}
	gate_count(gate, seat, 1);
	if (!gate_is_open(gate))
		gate_wait(gate);
}

SPECIALIZED void gate_leave_from(struct gate *gate, uint32_t seat)
{
	if (UNLIKELY(GATE_IS_WATCHED || seat == 0)) {
		gate_leave_slowly(gate);
		return;
	}
	gate_count(gate, seat, UINT32_MAX);
	if (!gate_is_open(gate))
		gate_tell_drained(gate);
}

SPECIALIZED void gate_enter(struct gate *gate)
{
	gate_enter_from(gate, thread_own_seat);
}

SPECIALIZED void gate_leave(struct gate *gate)
{
	gate_leave_from(gate, thread_own_seat);
}

/*
 * Goes ahead of who waits to close: for whom somebody inside may be waiting, so that standing
 * behind the one would be standing behind oneself. Who comes all the time keeps the gate from
 * closing.
 */
void gate_enter_ahead(struct gate *gate);

/*
 * Nobody is inside, or comes in, until gate_open(). The second one gives up at the deadline
 * (clock.h): false, and those who stood behind go on.
 */
void gate_close(struct gate *gate);
MUST_CHECK bool gate_close_until(struct gate *gate, uint64_t deadline_ns);

/*
 * Who is inside and waits, perhaps for ever, for something that others do outside may rest meanwhile.
 * gate_resume() waits while the gate is closed to look, and goes ahead of who waits to close it. The
 * same thread does both.
 */
void gate_rest(struct gate *gate);
void gate_resume(struct gate *gate);

/* Everybody who is inside rests, and nobody comes in or resumes, until gate_open(). */
void gate_close_to_look(struct gate *gate);
MUST_CHECK bool gate_close_to_look_until(struct gate *gate, uint64_t deadline_ns);

/* Is somebody inside who does not rest? A glance: the next moment it may be otherwise. */
bool gate_is_busy(struct gate *gate);

/*
 * The same in two steps, for who has to wake those inside first, or finds that it need not wait for
 * them: after gate_shut() nobody comes in, after gate_drain() everybody is out.
 */
void gate_shut(struct gate *gate);
void gate_drain(struct gate *gate);
void gate_open(struct gate *gate);

#ifdef NDEBUG
#define gate_assert_held(gate) ((void)(gate))
#else
/* The calling thread is inside, or closed it. */
void gate_assert_held(const struct gate *gate);
#endif

#endif
