/* SPDX-License-Identifier: MIT */
/*
 * table_states.c - see table_states.h.
 *
 * One word has the state and the holds, so that nobody can hold tables that are IN while they begin
 * to leave, nor the other way round.
 *
 * Locks: the manager's for the state. Holds are counted without.
 */
#include <assert.h>

#include "base/clock.h"
#include "trace/trace.h"
#include "vidmm/place.h"
#include "vidmm/table_states.h"

/* ---- holding ---- */

bool vidmm_tables_are_in(const struct vidmm_process *process)
{
	return !process || tables_state(&process->tables) == VIDMM_TABLES_IN;
}

void vidmm_tables_hold(struct vidmm_process *process)
{
	if (process)
		atomic_fetch_add(&process->tables.word, TABLES_ONE_HOLD);
}

bool vidmm_tables_are_held(struct vidmm_process *process)
{
	return process && atomic_load(&process->tables.word) >= TABLES_ONE_HOLD;
}

/* Locks may be held here, so that who waits for the last hold is woken by the manager's own thread. */
void vidmm_tables_release(struct vidmm_process *process)
{
	if (!process)
		return;
	struct vidmm *manager = process->manager;
	uint32_t before = atomic_fetch_sub(&process->tables.word, TABLES_ONE_HOLD);
	assert(before >= TABLES_ONE_HOLD);
	if (before < 2 * TABLES_ONE_HOLD && atomic_exchange(&manager->awaits_tables, false))
		room_look_again(manager, clock_now_ns());
}

/* ---- four states ---- */

bool device_is_idle_locked(const struct vidmm_device *device)
{
	lock_assert_held(&device->process->manager->lock);
	return device->is_lost || device->is_suspended || device->stage == DEVICE_HELD ||
	       sched_owner_is_idle(device->owner);
}

bool process_is_idle_locked(const struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	list_each (struct vidmm_device, each, &process->devices, link) {
		if (!device_is_idle_locked(each))
			return false;
	}
	return true;
}

void tables_trace_locked(const struct vidmm_process *process, enum vidmm_tables_state state)
{
	static const char *const names[] = { "in", "leaving", "out", "entering" };
	uint64_t bytes = 0;

	lock_assert_held(&process->manager->lock);
	for (uint32_t i = 0; i < process->manager->segment_count; i++)
		bytes +=
			table_blocks_bytes(&process->tables.blocks, &process->manager->segments[i]);
	trace_page_tables_place(process->id, names[state], bytes);
}

/* Nobody else changes it meanwhile; others count their holds. */
static void set_state_locked(struct vidmm_tables *tables, enum vidmm_tables_state state)
{
	lock_assert_held(&tables_process(tables)->manager->lock);
	(void)state_step(STATES_PAGE_TABLES, tables_state(tables), state);
	atomic_fetch_add(&tables->word, (uint32_t)state - (uint32_t)tables_state(tables));
	tables_trace_locked(tables_process(tables), state);
}

/* LEAVING, unless somebody holds them. */
static bool begin_to_leave_locked(struct vidmm_tables *tables)
{
	uint32_t in_and_free = VIDMM_TABLES_IN;

	lock_assert_held(&tables_process(tables)->manager->lock);
	if (!atomic_compare_exchange_strong(&tables->word, &in_and_free, VIDMM_TABLES_LEAVING))
		return false;
	tables_trace_locked(tables_process(tables), VIDMM_TABLES_LEAVING);
	return true;
}

/* Without blocks the tables count as IN: the next ones begin anew. */
void tables_lost_block_locked(struct vidmm_tables *tables)
{
	lock_assert_held(&tables_process(tables)->manager->lock);
	if (list_is_empty(&tables->blocks) && tables_state(tables) != VIDMM_TABLES_IN)
		set_state_locked(tables, VIDMM_TABLES_IN);
}

static void devices_settle_locked(struct vidmm_tables *tables)
{
	lock_assert_held(&tables_process(tables)->manager->lock);
	list_each (struct vidmm_device, each, &tables_process(tables)->devices, link)
		device_settle_locked(each);
}

/* New work waits until they are back; what the hardware has comes before their way out. */
static void devices_suspend_locked(struct vidmm_tables *tables)
{
	lock_assert_held(&tables_process(tables)->manager->lock);
	list_each (struct vidmm_device, device, &tables_process(tables)->devices, link) {
		list_push_back(&tables->dependents, &device->leave_link);
		device_suspend_locked(device);
	}
}

static void dependents_release_locked(struct vidmm_tables *tables)
{
	lock_assert_held(&tables_process(tables)->manager->lock);
	while (list_pop_front(&tables->dependents))
		;
}

bool tables_leave_locked(struct vidmm_tables *tables)
{
	struct list *link;

	lock_assert_held(&tables_process(tables)->manager->lock);
	assert(tables->ops);
	if (!begin_to_leave_locked(tables))
		return false;
	list_for_each (link, &tables->blocks)
		table_block_of(link)->segment->leaving_bytes +=
			table_block_bytes(table_block_of(link));
	devices_suspend_locked(tables);
	devices_settle_locked(tables);
	plan_add(&tables_process(tables)->manager->plan, PLAN_TABLES, &tables->plan_link);
	return true;
}

void tables_enter_locked(struct vidmm_tables *tables)
{
	struct list *link;

	lock_assert_held(&tables_process(tables)->manager->lock);
	assert(tables_state(tables) == VIDMM_TABLES_OUT && tables->ops);
	list_for_each (link, &tables->blocks)
		table_block_of(link)->segment->entering_bytes +=
			table_block_bytes(table_block_of(link));
	set_state_locked(tables, VIDMM_TABLES_ENTERING);
	plan_add(&tables_process(tables)->manager->plan, PLAN_TABLES, &tables->plan_link);
}

void tables_move(struct list *moving)
{
	list_drain (struct vidmm_tables, tables, moving, plan_link) {
		if (tables_state(tables) == VIDMM_TABLES_LEAVING)
			tables->ops->leave(tables->context);
		else
			tables->ops->enter(tables->context);
	}
}

void vidmm_tables_order(struct vidmm_process *process, struct paging_job *job)
{
	/* Nobody else touches the list before the job is done. */
	list_each (struct vidmm_device, device, &process->tables.dependents, leave_link) {
		paging_job_after_submitted(job, device->owner, &device->dependency);
	}
}

/* Takes the lock; arrive_unlock() releases it. */
static void end_way_lock(struct vidmm_process *process, enum vidmm_tables_state way)
{
	lock_acquire(&process->manager->lock);
	assert(tables_state(&process->tables) == way);
}

static void arrive_unlock(struct vidmm_process *process, enum vidmm_tables_state at)
{
	lock_assert_held(&process->manager->lock);
	set_state_locked(&process->tables, at);
	if (at == VIDMM_TABLES_IN)
		devices_settle_locked(&process->tables);
	process->manager->plan.has_changes = true;
	decide_unlock(process->manager);
}

void vidmm_tables_left(struct vidmm_process *process)
{
	struct vidmm_tables *tables = &process->tables;
	struct list *link;

	end_way_lock(process, VIDMM_TABLES_LEAVING);
	list_for_each (link, &tables->blocks) {
		struct vidmm_table_block *block = table_block_of(link);

		block->segment->leaving_bytes -= table_block_bytes(block);
		vidmm_count(&block->segment->traffic.tables_left, table_block_bytes(block));
		table_block_displace_locked(process->manager, block);
	}
	dependents_release_locked(tables);
	arrive_unlock(process, VIDMM_TABLES_OUT);
}

void vidmm_tables_stayed(struct vidmm_process *process, bool has_failed)
{
	struct vidmm_tables *tables = &process->tables;
	struct list *link;

	end_way_lock(process, VIDMM_TABLES_LEAVING);
	list_for_each (link, &tables->blocks)
		table_block_of(link)->segment->leaving_bytes -=
			table_block_bytes(table_block_of(link));
	dependents_release_locked(tables);
	if (has_failed)
		tables->given_up_at = process->manager->retry_generation;
	arrive_unlock(process, VIDMM_TABLES_IN);
}

void vidmm_tables_entered(struct vidmm_process *process)
{
	struct list *link;

	end_way_lock(process, VIDMM_TABLES_ENTERING);
	list_for_each (link, &process->tables.blocks) {
		struct vidmm_table_block *block = table_block_of(link);

		block->segment->entering_bytes -= table_block_bytes(block);
		vidmm_count(&block->segment->traffic.tables_back, table_block_bytes(block));
	}
	arrive_unlock(process, VIDMM_TABLES_IN);
}

void vidmm_tables_attach(struct vidmm_process *process, const struct vidmm_tables_ops *ops,
			 void *context)
{
	lock_acquire(&process->manager->lock);
	assert(tables_state(&process->tables) == VIDMM_TABLES_IN);
	process->tables.ops = ops;
	process->tables.context = context;
	lock_release(&process->manager->lock);
}

static bool is_on_a_way(const struct vidmm_tables *tables)
{
	enum vidmm_tables_state state = tables_state(tables);

	return state == VIDMM_TABLES_LEAVING || state == VIDMM_TABLES_ENTERING;
}

void vidmm_tables_detach(struct vidmm_process *process)
{
	struct vidmm_tables *tables = &process->tables;
	struct vidmm *manager = process->manager;

	lock_acquire(&manager->lock);
	while (is_on_a_way(tables))
		notice_wait_relock(&manager->changed, &manager->lock);
	tables->ops = NULL;
	lock_release(&manager->lock);
}
