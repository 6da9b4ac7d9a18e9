/*
 * gate.c - see gate.h.
 *
 * Who enters counts first and looks at `is_closed` after; who closes sets `is_closed` first and
 * looks at the counts after. Sequential consistency makes one of the two see the other.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/lock_order.h"

void gate_init(struct gate *gate, enum lock_rank rank, const char *name)
{
	*gate = (struct gate)GATE_INITIALIZER((uint32_t)rank, name);
}

static _Atomic uint32_t *gate_shard(struct gate *gate)
{
	return &gate->shards[thread_id() % GATE_SHARDS].inside;
}

static void gate_uncount(struct gate *gate)
{
	if (atomic_fetch_sub(gate_shard(gate), 1) == 1 && atomic_load(&gate->is_closed))
		notice_give(&gate->drained);
}

void gate_enter(struct gate *gate)
{
	lock_order_push(gate, gate->rank, gate->name);
	thread_point();
	for (;;) {
		uint32_t seen = notice_read(&gate->opened);
		atomic_fetch_add(gate_shard(gate), 1);
		if (LIKELY(!atomic_load(&gate->is_closed)))
			return;
		gate_uncount(gate);
		notice_wait(&gate->opened, seen, CLOCK_FOREVER);
	}
}

void gate_leave(struct gate *gate)
{
	lock_order_pop(gate);
	gate_uncount(gate);
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
	for (unsigned i = 0; i < GATE_SHARDS; i++) {
		for (;;) {
			uint32_t seen = notice_read(&gate->drained);
			if (atomic_load(&gate->shards[i].inside) == 0)
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
