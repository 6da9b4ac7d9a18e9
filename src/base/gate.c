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
 */
#include <assert.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/lock_order.h"

void gate_init(struct gate *gate, enum lock_rank rank, const char *name)
{
	*gate = (struct gate)GATE_INITIALIZER((uint32_t)rank, name);
}

static bool is_anybody_inside(struct gate *gate)
{
	for (unsigned i = 0; i <= THREAD_SEATS; i++) {
		if (atomic_load(&gate->seats[i].inside) != 0)
			return true;
	}
	return false;
}

void gate_finish(struct gate *gate)
{
	assert(!is_anybody_inside(gate) && atomic_load(&gate->state) == GATE_OPEN);
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

static bool wait_until_drained(struct gate *gate, uint64_t deadline_ns)
{
	bool is_late = false;

	thread_fence_all();
	for (;;) {
		uint32_t seen = notice_read(&gate->drained);

		if (!is_anybody_inside(gate))
			return true;
		if (is_late)
			return false;
		is_late = notice_wait(&gate->drained, seen, deadline_ns) == THREAD_TIMED_OUT;
	}
}

static bool finish_closing(struct gate *gate, uint64_t deadline_ns)
{
	while (wait_until_drained(gate, deadline_ns)) {
		atomic_store(&gate->state, GATE_CLOSED);
		thread_fence_all();
		if (!is_anybody_inside(gate))
			return true;
		/* Somebody has gone ahead, or has only come to look. */
		atomic_store(&gate->state, GATE_CLOSING);
		notice_give(&gate->opened_ahead);
	}
	return false;
}

bool gate_close_until(struct gate *gate, uint64_t deadline_ns)
{
	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	if (begin_closing(gate, deadline_ns)) {
		if (finish_closing(gate, deadline_ns))
			return true;
		let_in(gate);
	}
	lock_order_pop(gate);
	return false;
}

void gate_shut(struct gate *gate)
{
	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	(void)begin_closing(gate, CLOCK_FOREVER);
}

void gate_drain(struct gate *gate)
{
	(void)finish_closing(gate, CLOCK_FOREVER);
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
