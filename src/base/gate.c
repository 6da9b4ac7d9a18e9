/*
 * gate.c - see gate.h.
 *
 * Who enters counts first and looks at `is_closed` after; who closes sets `is_closed` first and
 * looks at the counts after. In between, who closes makes every thread pass a barrier: a count
 * before it is seen, and who counts after it sees that the gate is closed. Leaving is the same with
 * the notice in place of the gate. Threads without a seat share a count and pay for their barrier.
 */
#include <assert.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/lock_order.h"

void gate_init(struct gate *gate, enum lock_rank rank, const char *name)
{
	*gate = (struct gate)GATE_INITIALIZER((uint32_t)rank, name);
}

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

RARE void gate_wait(struct gate *gate)
{
	uint32_t seen;

	do {
		gate_count_here(gate, UINT32_MAX);
		gate_tell_drained(gate);
		seen = notice_read(&gate->opened);
		if (atomic_load(&gate->is_closed))
			notice_wait(&gate->opened, seen, CLOCK_FOREVER);
		gate_count_here(gate, 1);
	} while (atomic_load(&gate->is_closed));
}

void gate_enter_slowly(struct gate *gate)
{
	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	gate_count_here(gate, 1);
	if (atomic_load(&gate->is_closed))
		gate_wait(gate);
}

void gate_leave_slowly(struct gate *gate)
{
	lock_order_pop(gate);
	gate_count_here(gate, UINT32_MAX);
	if (atomic_load(&gate->is_closed))
		gate_tell_drained(gate);
}

void gate_shut(struct gate *gate)
{
	uint32_t is_closed = 0;

	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	for (;;) {
		uint32_t seen = notice_read(&gate->opened);
		is_closed = 0;
		if (atomic_compare_exchange_strong(&gate->is_closed, &is_closed, 1))
			break;
		notice_wait(&gate->opened, seen, CLOCK_FOREVER);
	}
}

void gate_drain(struct gate *gate)
{
	thread_fence_all();
	for (unsigned i = 0; i <= THREAD_SEATS; i++) {
		for (;;) {
			uint32_t seen = notice_read(&gate->drained);
			if (atomic_load(&gate->seats[i].inside) == 0)
				break;
			notice_wait(&gate->drained, seen, CLOCK_FOREVER);
		}
	}
}

void gate_close(struct gate *gate)
{
	gate_shut(gate);
	gate_drain(gate);
}

void gate_open(struct gate *gate)
{
	lock_order_pop(gate);
	assert(atomic_load(&gate->is_closed));
	atomic_store(&gate->is_closed, 0);
	notice_give(&gate->opened);
}
