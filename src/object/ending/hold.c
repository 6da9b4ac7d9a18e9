/* SPDX-License-Identifier: MIT */
/*
 * hold.c - see hold.h.
 *
 * All holds there are stand in one table. A name is a place in it and how many names were given out
 * before:
 *
 *	63                       32 31                        0
 *	+--------------------------+--------------------------+
 *	|  serial                  |  index + 1               |
 *	+--------------------------+--------------------------+
 *
 * A count changes under the table's lock, but for the bit that says somebody waits: whoever gave up
 * waiting strikes the thing out of the table, and nobody comes to it from there any more.
 */
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "object/ending/hold.h"

/* As long as a thread may be in the driver before a timeout is called one (TdrDdiDelay). */
#define HOLD_PATIENCE_NS (5 * NS_PER_S)

enum { HOLDS_AT_FIRST = 16 };

struct hold {
	uint32_t serial;          /* 0: free */
	uint32_t next_free;       /* index + 1 */
	struct hold_count *holds; /* NULL: it went, and this was not given back yet */
};

static struct {
	struct lock lock;

	/* Guarded by lock. */
	struct hold *all;
	uint32_t capacity;
	uint32_t first_free; /* index + 1 */
	uint32_t last_serial;
} table = { .lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "what drivers hold") };

/* ---- the table: under its lock ---- */

static bool grow_locked(void)
{
	uint32_t capacity = table.capacity ? table.capacity * 2 : HOLDS_AT_FIRST;
	struct hold *all =
		capacity > table.capacity ? mem_realloc(table.all, capacity * sizeof(*all)) : NULL;

	lock_assert_held(&table.lock);
	if (!all)
		return false;
	for (uint32_t i = capacity; i > table.capacity; i--) {
		all[i - 1] = (struct hold){ .next_free = table.first_free };
		table.first_free = i;
	}
	table.all = all;
	table.capacity = capacity;
	return true;
}

static void *enter_locked(struct hold_count *holds)
{
	uint32_t place = table.first_free;
	struct hold *hold = &table.all[place - 1];

	lock_assert_held(&table.lock);
	table.first_free = hold->next_free;
	table.last_serial = table.last_serial % UINT32_MAX + 1; /* never 0 */
	hold->serial = table.last_serial;
	hold->holds = holds;
	return (void *)((uintptr_t)hold->serial << 32 | place);
}

/* The hold of that name; NULL: there is none, or it was given back. */
static struct hold *find_locked(const void *name)
{
	uint32_t place = (uint32_t)(uintptr_t)name;
	uint32_t serial = (uint32_t)((uintptr_t)name >> 32);

	lock_assert_held(&table.lock);
	if (place == 0 || place > table.capacity || serial == 0)
		return NULL;
	struct hold *hold = &table.all[place - 1];
	return hold->serial == serial ? hold : NULL;
}

static void leave_locked(struct hold *hold)
{
	lock_assert_held(&table.lock);
	hold->serial = 0;
	hold->holds = NULL;
	hold->next_free = table.first_free;
	table.first_free = (uint32_t)(hold - table.all) + 1;
}

static void strike_out(const struct hold_count *holds)
{
	lock_acquire(&table.lock);
	for (uint32_t i = 0; i < table.capacity; i++) {
		if (table.all[i].holds == holds)
			table.all[i].holds = NULL;
	}
	lock_release(&table.lock);
}

void holds_finish(void)
{
	lock_acquire(&table.lock);
	mem_free(table.all);
	table.all = NULL;
	table.capacity = 0;
	table.first_free = 0;
	lock_release(&table.lock);
}

/* ---- one thing's ---- */

static bool count_up(struct hold_count *holds)
{
	uint32_t count = atomic_load(&holds->count);

	do {
		if (count >= HOLD_AWAITED - 1)
			return false;
	} while (!atomic_compare_exchange_weak(&holds->count, &count, count + 1));
	return true;
}

void *hold_take(struct hold_count *holds)
{
	void *name = NULL;

	lock_acquire(&table.lock);
	bool has_slot = table.first_free != 0 || grow_locked();
	if (has_slot && count_up(holds))
		name = enter_locked(holds);
	lock_release(&table.lock);
	if (!has_slot)
		refuse_no_memory("no memory to remember what the driver holds");
	return name;
}

enum miniport_release hold_give(void *name)
{
	struct hold_count *holds = NULL;
	bool is_awaited = false;

	lock_acquire(&table.lock);
	struct hold *hold = find_locked(name);
	if (hold) {
		holds = hold->holds;
		leave_locked(hold);
	}
	if (holds)
		is_awaited = atomic_fetch_sub(&holds->count, 1) - 1 == HOLD_AWAITED;
	lock_release(&table.lock);
	/* It may go from here on: only its address is of use. */
	if (is_awaited)
		thread_wake_all(&holds->count);
	if (!hold)
		return MINIPORT_NOT_HELD;
	return holds ? MINIPORT_RELEASED : MINIPORT_RELEASED_LATE;
}

void hold_end(struct hold_count *holds, const char *what, const void *driver_handle)
{
	uint32_t count = atomic_fetch_or(&holds->count, HOLD_AWAITED) | HOLD_AWAITED;
	uint64_t deadline_ns = count == HOLD_AWAITED ? 0 : clock_deadline(HOLD_PATIENCE_NS);

	while (count != HOLD_AWAITED) {
		if (thread_wait(&holds->count, count, deadline_ns) == THREAD_TIMED_OUT) {
			miniport_report_held(what, driver_handle, count & ~HOLD_AWAITED);
			strike_out(holds);
			break;
		}
		count = atomic_load(&holds->count);
	}
	atomic_store(&holds->count, HOLD_ENDED);
}
