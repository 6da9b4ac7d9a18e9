/*
 * gate.h - many pass at once, now and then it is closed.
 *
 * A readers-writer lock for the hot path: each thread that passes counts itself on a cache line of
 * its own, without an atomic operation; two threads that make calls do not meet. Closing is rare
 * and pays for that: it makes all threads pass a barrier and looks at all of them. Not recursive.
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

struct gate {
	/* A cache line apart, wherever the gate itself lies. Those that have no seat share the
	   first. */
	struct {
		_Atomic uint32_t inside;
		char apart[60];
	} seats[THREAD_SEATS + 1];
	_Atomic uint32_t is_closed;
	struct notice opened;
	struct notice drained;
	uint32_t rank;
	const char *name;
};

#define GATE_INITIALIZER(gate_rank, gate_name)                                                     \
	{                                                                                          \
		.rank = (gate_rank), .name = (gate_name)                                           \
	}

void gate_init(struct gate *gate, enum lock_rank rank, const char *name);

/* Behind gate_enter() and gate_leave(). */
void gate_enter_slowly(struct gate *gate);
void gate_leave_slowly(struct gate *gate);
void gate_wait(struct gate *gate); /* counted, and not inside: it was closed */
void gate_tell_drained(struct gate *gate);

/* A seat's count is its thread's own. Nothing that follows is done before it. */
static inline void gate_count(struct gate *gate, uint32_t seat, uint32_t change)
{
	_Atomic uint32_t *inside = &gate->seats[seat].inside;
	uint32_t before = atomic_load_explicit(inside, memory_order_relaxed);

	atomic_store_explicit(inside, before + change, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline bool gate_is_closed(struct gate *gate)
{
	return UNLIKELY(atomic_load_explicit(&gate->is_closed, memory_order_acquire) != 0);
}

/* Waits while the gate is closed. Entered and left by the same thread. */
static inline void gate_enter(struct gate *gate)
{
	if (UNLIKELY(GATE_IS_WATCHED || thread_own_seat == 0)) {
		gate_enter_slowly(gate);
		return;
	}
	gate_count(gate, thread_own_seat, 1);
	if (gate_is_closed(gate))
		gate_wait(gate);
}

static inline void gate_leave(struct gate *gate)
{
	if (UNLIKELY(GATE_IS_WATCHED || thread_own_seat == 0)) {
		gate_leave_slowly(gate);
		return;
	}
	gate_count(gate, thread_own_seat, UINT32_MAX);
	if (gate_is_closed(gate))
		gate_tell_drained(gate);
}

/* Nobody is inside, or comes in, until gate_open(). */
void gate_close(struct gate *gate);

/*
 * The same in two steps, for who has to wake those inside first, or finds that it need not wait for
 * them: after gate_shut() nobody comes in, after gate_drain() everybody is out.
 */
void gate_shut(struct gate *gate);
void gate_drain(struct gate *gate);
void gate_open(struct gate *gate);

#endif
