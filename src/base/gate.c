/* SPDX-License-Identifier: MIT */
/*
 * gate.c - see gate.h.
 *
 * Who enters counts first and looks at the state after; who closes sets the state first and looks
 * at the counts after. In between, who closes makes every thread pass a barrier: a count before it
 * is seen, and who counts after it sees that the gate is not open. Leaving is the same with the
 * notice in place of the gate. Threads without a seat share a count and pay for their barrier.
 *
 *	OPEN ──▶ CLOSING ──▶ CLOSED ──▶ OPEN
 *	            ▲  those inside leave  │
 *	            └── one went ahead ────┘
 *
 * Who rests is counted a second time. Who only wants to look compares both counts: in a closed gate
 * nobody enters or leaves, so those inside are counted in full; and who resumes takes himself off the
 * second count first and looks at the state after.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/lock_order.h"

void gate_init(struct gate *gate, enum lock_rank rank, const char *name)
{
	*gate = (struct gate)GATE_INITIALIZER((uint32_t)rank, name);
}

static uint32_t count_inside(struct gate *gate)
{
	uint32_t inside = 0;

	for (unsigned i = 0; i <= THREAD_SEATS; i++)
		inside += atomic_load(&gate->seats[i].inside);
	return inside;
}

/* What who closes waits for: everybody is out, or at least rests. */
enum emptiness { ALL_OUT, ALL_AT_REST };

static bool is_empty(struct gate *gate, enum emptiness wanted)
{
	return count_inside(gate) == (wanted == ALL_AT_REST ? atomic_load(&gate->resting) : 0);
}

bool gate_is_busy(struct gate *gate)
{
	return !is_empty(gate, ALL_AT_REST);
}

void gate_finish(struct gate *gate)
{
	assert(is_empty(gate, ALL_OUT) && atomic_load(&gate->state) == GATE_OPEN);
}

#ifndef NDEBUG
void gate_assert_held(const struct gate *gate)
{
	assert(lock_order_holds(gate));
}
#endif

/* ---- passing ---- */

/* Threads without a seat share the first count. */
static void gate_count_here(struct gate *gate, uint32_t change)
{
	uint32_t seat = thread_seat();

	if (seat == 0)
		atomic_fetch_add(&gate->seats[0].inside, change);
	else
		gate_count(gate, seat, change);
}

RARE void gate_tell_drained(struct gate *gate)
{
	notice_give(&gate->drained);
}

/* What a newcomer waits for. */
static bool is_shut(struct gate *gate, bool goes_ahead)
{
	uint32_t state = atomic_load(&gate->state);

	return goes_ahead ? state == GATE_CLOSED : state != GATE_OPEN;
}

RARE static void wait_outside(struct gate *gate, bool goes_ahead)
{
	struct notice *opened = goes_ahead ? &gate->opened_ahead : &gate->opened;

	do {
		gate_count_here(gate, UINT32_MAX);
		gate_tell_drained(gate);
		uint32_t seen = notice_read(opened);
		if (is_shut(gate, goes_ahead))
			notice_wait(opened, seen, CLOCK_FOREVER);
		gate_count_here(gate, 1);
	} while (is_shut(gate, goes_ahead));
}

RARE void gate_wait(struct gate *gate)
{
	wait_outside(gate, false);
}

static void enter(struct gate *gate, bool goes_ahead)
{
	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	gate_count_here(gate, 1);
	if (is_shut(gate, goes_ahead))
		wait_outside(gate, goes_ahead);
}

void gate_enter_slowly(struct gate *gate)
{
	enter(gate, false);
}

void gate_enter_ahead(struct gate *gate)
{
	enter(gate, true);
}

void gate_leave_slowly(struct gate *gate)
{
	lock_order_pop(gate);
	gate_count_here(gate, UINT32_MAX);
	if (atomic_load(&gate->state) != GATE_OPEN)
		gate_tell_drained(gate);
	thread_park_point();
}

/* ---- resting ---- */

void gate_rest(struct gate *gate)
{
	gate_assert_held(gate);
	atomic_fetch_add(&gate->resting, 1);
	if (atomic_load(&gate->state) != GATE_OPEN)
		gate_tell_drained(gate);
}

void gate_resume(struct gate *gate)
{
	gate_assert_held(gate);
	for (;;) {
		uint32_t seen = notice_read(&gate->opened_ahead);

		atomic_fetch_sub(&gate->resting, 1);
		if (atomic_load(&gate->state) != GATE_CLOSED)
			return;
		atomic_fetch_add(&gate->resting, 1);
		gate_tell_drained(gate);
		notice_wait(&gate->opened_ahead, seen, CLOCK_FOREVER);
	}
}

/* ---- closing ---- */

static void let_in(struct gate *gate)
{
	atomic_store(&gate->state, GATE_OPEN);
	notice_give(&gate->opened);
	notice_give(&gate->opened_ahead);
}

/* One closes at a time. */
static bool begin_closing(struct gate *gate, uint64_t deadline_ns)
{
	bool is_late = false;

	for (;;) {
		uint32_t seen = notice_read(&gate->opened);
		uint32_t open = GATE_OPEN;

		if (atomic_compare_exchange_strong(&gate->state, &open, GATE_CLOSING))
			return true;
		if (is_late)
			return false;
		is_late = notice_wait(&gate->opened, seen, deadline_ns) == THREAD_TIMED_OUT;
	}
}

static bool wait_until_drained(struct gate *gate, enum emptiness wanted, uint64_t deadline_ns)
{
	bool is_late = false;

	thread_fence_all();
	for (;;) {
		uint32_t seen = notice_read(&gate->drained);

		if (is_empty(gate, wanted))
			return true;
		if (is_late)
			return false;
		is_late = notice_wait(&gate->drained, seen, deadline_ns) == THREAD_TIMED_OUT;
	}
}

static bool finish_closing(struct gate *gate, enum emptiness wanted, uint64_t deadline_ns)
{
	while (wait_until_drained(gate, wanted, deadline_ns)) {
		atomic_store(&gate->state, GATE_CLOSED);
		thread_fence_all();
		if (is_empty(gate, wanted))
			return true;
		/* Somebody has gone ahead, or has only come to look. */
		atomic_store(&gate->state, GATE_CLOSING);
		notice_give(&gate->opened_ahead);
	}
	return false;
}

static bool close_until(struct gate *gate, enum emptiness wanted, uint64_t deadline_ns)
{
	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	if (begin_closing(gate, deadline_ns)) {
		if (finish_closing(gate, wanted, deadline_ns))
			return true;
		let_in(gate);
	}
	lock_order_pop(gate);
	return false;
}

bool gate_close_until(struct gate *gate, uint64_t deadline_ns)
{
	return close_until(gate, ALL_OUT, deadline_ns);
}

void gate_close_to_look(struct gate *gate)
{
	(void)close_until(gate, ALL_AT_REST, CLOCK_FOREVER);
}

bool gate_close_to_look_until(struct gate *gate, uint64_t deadline_ns)
{
	return close_until(gate, ALL_AT_REST, deadline_ns);
}

void gate_shut(struct gate *gate)
{
	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	(void)begin_closing(gate, CLOCK_FOREVER);
}

void gate_drain(struct gate *gate)
{
	(void)finish_closing(gate, ALL_OUT, CLOCK_FOREVER);
}

void gate_close(struct gate *gate)
{
	gate_shut(gate);
	gate_drain(gate);
}

void gate_open(struct gate *gate)
{
	lock_order_pop(gate);
	assert(atomic_load(&gate->state) != GATE_OPEN);
	let_in(gate);
}
