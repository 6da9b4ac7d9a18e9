/* SPDX-License-Identifier: MIT */
/*
 * inventory.c - what a trace is told that begins when there is something already.
 */
#include "trace/trace.h"
#include "vidmm/control.h"
#include "vidmm/place.h"
#include "vidmm/states.h"

static void trace_place_locked(const struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	place_trace_locked(place);
	list_each (const struct vidmm_binding, binding, &place->listings, place_link)
		trace_allocation_listed(place->allocation->id, binding->count, place->list_count);
}

static void trace_process_locked(const struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	for (int group = 0; group < VIDMM_GROUPS; group++)
		budget_trace_locked(process, (enum vidmm_group)group);
	if (process->tables.ops)
		tables_trace_locked(process, tables_state(&process->tables));
}

void vidmm_trace_inventory(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	for (uint32_t i = 0; i < manager->segment_count; i++)
		segment_trace_locked(manager, &manager->segments[i]);
	list_each (const struct vidmm_process, process, &manager->processes, link)
		trace_process_locked(process);
	list_each (const struct vidmm_place, place, &manager->places, all_link)
		trace_place_locked(place);
	lock_release(&manager->lock);
}

void vidmm_allocation_trace(struct vidmm_allocation *allocation)
{
	lock_acquire(&allocation->lock);
	if (allocation->life == VIDMM_DYING)
		trace_allocation_dying(allocation->id);
	trace_allocation_content(
		allocation->id, state_tables[STATES_CONTENT].states[allocation_content(allocation)],
		allocation->size_bytes);
	if (allocation->offer != VIDMM_NOT_OFFERED)
		trace_allocation_offer(allocation->id,
				       state_tables[STATES_OFFER].states[allocation->offer],
				       allocation->offer_priority);
	if (allocation->lock_count > 0)
		trace_allocation_locks(allocation->id, allocation->lock_count);
	lock_release(&allocation->lock);
}
