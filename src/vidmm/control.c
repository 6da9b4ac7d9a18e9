/* SPDX-License-Identifier: MIT */
/*
 * control.c - see control.h.
 *
 * Most options are read where they count (place.c, offer.c, residency.c, room.c, budget.c); here
 * they are set. Locks: the manager's.
 */
#include "base/clock.h"
#include "vidmm/control.h"
#include "vidmm/place.h"

/* Longer than any move takes; what is still under way then ends by itself. */
#define SETTLE_NS (10 * NS_PER_S)

/* How often, and how far apart, a place is looked at that was in the middle of a step. */
#define LOOK_AGAIN_NS (10 * NS_PER_MS)
enum { LOOKS = 100 };

/* ---- options ---- */

uint32_t vidmm_options(const struct vidmm *manager)
{
	return atomic_load_explicit(&manager->options, memory_order_relaxed);
}

void vidmm_set_options(struct vidmm *manager, uint32_t options)
{
	struct list *link;
	struct list *following;

	lock_acquire(&manager->lock);
	atomic_store_explicit(&manager->options, options, memory_order_relaxed);
	manager->retry_generation++;
	list_for_each_safe (link, following, &manager->places)
		place_settle_locked(container_of(link, struct vidmm_place, all_link));
	decide_unlock(manager);
}

uint32_t vidmm_process_options(const struct vidmm_process *process)
{
	return atomic_load_explicit(&process->options, memory_order_relaxed);
}

void vidmm_process_set_options(struct vidmm_process *process, uint32_t options)
{
	atomic_store_explicit(&process->options, options, memory_order_relaxed);
}

/* ---- limits ---- */

static void limits_set(struct vidmm *manager, uint64_t limits[VIDMM_GROUPS],
		       const struct vidmm_budget_limits *wanted)
{
	lock_acquire(&manager->lock);
	for (int group = 0; group < VIDMM_GROUPS; group++)
		limits[group] = wanted->bytes[group];
	manager->has_budget_changes = true;
	decide_unlock(manager);
}

static struct vidmm_budget_limits limits_get(struct vidmm *manager,
					     const uint64_t limits[VIDMM_GROUPS])
{
	struct vidmm_budget_limits found;

	lock_acquire(&manager->lock);
	for (int group = 0; group < VIDMM_GROUPS; group++)
		found.bytes[group] = limits[group];
	lock_release(&manager->lock);
	return found;
}

void vidmm_set_budget_limits(struct vidmm *manager, const struct vidmm_budget_limits *limits)
{
	limits_set(manager, manager->budget_limit_bytes, limits);
}

void vidmm_process_set_budget_limits(struct vidmm_process *process,
				     const struct vidmm_budget_limits *limits)
{
	limits_set(process->manager, process->budget_limit_bytes, limits);
}

struct vidmm_budget_limits vidmm_process_budget_limits(struct vidmm_process *process)
{
	return limits_get(process->manager, process->budget_limit_bytes);
}

uint64_t vidmm_process_bytes_to_trim(struct vidmm_process *process)
{
	lock_acquire(&process->manager->lock);
	uint64_t bytes = budget_excess_locked(process, false);
	lock_release(&process->manager->lock);
	return bytes;
}

void vidmm_wake(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	manager->retry_generation++;
	decide_unlock(manager);
}

/* ---- eviction ---- */

static bool is_selected(const struct vidmm_place *place, const struct vidmm_selection *selection)
{
	uint64_t size_bytes = place->allocation->size_bytes;

	if (selection->segment != 0 && place->segment->id != selection->segment)
		return false;
	if (selection->allocation && place->allocation != selection->allocation)
		return false;
	if (size_bytes < selection->least_bytes ||
	    (selection->most_bytes != 0 && size_bytes > selection->most_bytes))
		return false;
	return !selection->process || place_is_of(place, selection->process);
}

/* Is something on its way out, or in? */
static bool is_moving_locked(const struct vidmm *manager, bool with_entering)
{
	lock_assert_held(&manager->lock);
	for (uint32_t i = 0; i < manager->segment_count; i++) {
		const struct vidmm_segment *segment = &manager->segments[i];

		if (segment->leaving_bytes > 0 ||
		    (with_entering && (segment->entering_bytes > 0 || segment->shifting_bytes > 0)))
			return true;
	}
	return false;
}

/* Decides itself: between the end of a move and the decision that follows from it nothing seems to move. */
void manager_settle(struct vidmm *manager, bool with_entering)
{
	uint64_t deadline_ns = clock_deadline(SETTLE_NS);
	bool is_moving = true;

	while (is_moving && clock_now_ns() < deadline_ns) {
		uint32_t seen = notice_read(&manager->changed);

		decide(manager);
		lock_acquire(&manager->lock);
		is_moving = is_moving_locked(manager, with_entering);
		lock_release(&manager->lock);
		if (is_moving)
			notice_wait(&manager->changed, seen, deadline_ns);
	}
}

/* Page tables have no size by which one would choose them. */
static bool are_tables_selected(struct vidmm_process *process,
				const struct vidmm_selection *selection)
{
	uint32_t segments = table_blocks_segments(&process->tables.blocks);

	if (selection->allocation || selection->least_bytes != 0 || selection->most_bytes != 0 ||
	    (selection->process && selection->process != process))
		return false;
	return selection->segment == 0 ? segments != 0
				       : segments & UINT32_C(1) << (selection->segment - 1);
}

static void tables_leave_selected_locked(struct vidmm *manager,
					 const struct vidmm_selection *selection)
{
	lock_assert_held(&manager->lock);
	list_each (struct vidmm_process, process, &manager->processes, link) {
		/* Who writes them just now keeps them. */
		if (process->tables.ops && process_is_idle_locked(process) &&
		    are_tables_selected(process, selection))
			(void)!tables_leave_locked(&process->tables);
	}
}

void control_evict(struct vidmm *manager, const struct vidmm_selection *selection)
{
	lock_acquire(&manager->lock);
	list_each (struct vidmm_place, place, &manager->places, all_link) {
		if (place->state == PLACE_IN && place->eviction.is_resident &&
		    is_selected(place, selection))
			place_leave_locked(place, VIDMM_LEAVES_BY_CONTROL);
	}
	tables_leave_selected_locked(manager, selection);
	decide_unlock(manager);
}

void vidmm_evict_selected(struct vidmm *manager, const struct vidmm_selection *selection)
{
	control_evict(manager, selection);
	manager_settle(manager, false);
}

/* ---- recounting ---- */

bool vidmm_check_integrity(struct vidmm *manager, char *wrong, size_t wrong_size)
{
	for (int i = 0; i < LOOKS; i++) {
		uint32_t seen = notice_read(&manager->changed);

		if (vidmm_manager_validate(manager, true, wrong, wrong_size))
			return true;
		notice_wait(&manager->changed, seen, clock_deadline(LOOK_AGAIN_NS));
	}
	return false;
}
