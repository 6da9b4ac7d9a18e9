/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/machine_exchange.h"
#include "vidmm/allocation.h"
#include "vidmm/elsewhere.h"
#include "vidmm/place.h"
#include "vidmm/roles.h"

/* The driver keeps pointers into what is its own. */
bool roles_can_change(const struct vidmm_allocation *allocation,
		      const struct vidmm_segment *segment)
{
	return segment->is_visible_memory && allocation->traits.is_cpu_visible &&
	       (!allocation->traits.is_cached || segment->config.is_cache_coherent) &&
	       !allocation->backing.is_clients && !allocation->driver;
}

uint32_t roles_open_segments(const struct vidmm_place *place)
{
	const struct vidmm *manager = place->manager;
	uint32_t allowed = ~manager->memory_segments;

	for (uint32_t i = 0; i < manager->segment_count; i++) {
		if (roles_can_change(place->allocation, &manager->segments[i]))
			allowed |= UINT32_C(1) << i;
	}
	return allowed;
}

uint32_t roles_locked_segments(const struct vidmm_place *place)
{
	const struct vidmm *manager = place->manager;
	uint32_t allowed = roles_open_segments(place);

	for (uint32_t i = 0; i < manager->segment_count; i++) {
		if (window_can_be_had(place, &manager->segments[i]))
			allowed |= UINT32_C(1) << i;
	}
	return allowed;
}

uint32_t roles_allowed_segments(const struct vidmm_place *place, bool is_locked)
{
	if (place->lock == PLACE_LOCK_AWAITED)
		return ~place->manager->memory_segments;
	return is_locked ? roles_locked_segments(place) : UINT32_MAX;
}

NTSTATUS roles_let_in_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->lock == PLACE_NOT_LOCKED ||
	    (place->state != PLACE_OUT && place->state != PLACE_LEAVING))
		return STATUS_SUCCESS;
	if (place_has_cpu_lock(place))
		return window_promise_locked(place);
	return place->state == PLACE_LEAVING || (place->allocation->supported_segments &
						 roles_allowed_segments(place, false))
		       ? STATUS_SUCCESS
		       : STATUS_GRAPHICS_NO_VIDEO_MEMORY;
}

bool roles_hold_pages(const struct vidmm_place *place)
{
	return place_has_cpu_lock(place) && !place->segment->is_system &&
	       !roles_can_change(place->allocation, place->segment);
}

/* It can come back, or be elsewhere: nobody who lists it has to wait for the unlock. */
static bool can_leave_window(const struct vidmm_place *place)
{
	const struct vidmm_allocation *allocation = place->allocation;

	return place->window.state == CPU_WINDOW_OPEN && place->window.shows_memory &&
	       (place->list_count == 0 ||
		allocation->supported_segments & roles_locked_segments(place)) &&
	       !allocation->backing.is_clients && !allocation->driver &&
	       (!elsewhere_is_possible(allocation) || elsewhere_is_inside(allocation));
}

bool roles_hold(const struct vidmm_place *place)
{
	return roles_hold_pages(place) && !can_leave_window(place);
}

/* ---- the exchange ---- */

bool roles_reserve(struct vidmm_place *place)
{
	struct place_move *move = &place->move;
	uint64_t mappings =
		(uint64_t)MACHINE_MAPPINGS_PER_EXCHANGE *
		(move->local_count + (move->way == MOVE_SHIFT ? 1 : move->system_count));

	assert(move->mappings == 0);
	/* What goes back to its own address gives mappings back. */
	if (move->way == MOVE_OUT && elsewhere_is_inside(place->allocation))
		return true;
	if (!machine_reserve_mappings(mappings))
		return false;
	move->mappings = mappings;
	return true;
}

void roles_release(struct vidmm_place *place)
{
	if (place->move.mappings > 0)
		machine_release_mappings(place->move.mappings);
	place->move.mappings = 0;
}

void roles_settle(const struct vidmm_place *place)
{
	uint64_t address = atomic_load(&place->segment->memory_address);

	for (uint32_t i = 0; address != MACHINE_NOWHERE && i < place->move.local_count; i++)
		machine_settle(address + (place->move.local[i].first_pfn << MACHINE_PAGE_SHIFT),
			       place->move.local[i].count);
}

static void settle_free_locked(const struct vidmm *manager, const struct vidmm_segment *segment)
{
	uint64_t address = atomic_load(&segment->memory_address);

	lock_assert_held(&manager->lock);
	for (const struct range *range = segment->ranges.lowest; range; range = range->upper) {
		if (range->is_free)
			machine_settle(address + (range->first << MACHINE_PAGE_SHIFT),
				       range->count);
	}
}

void roles_settle_free_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	if (machine_exchange_usage().displaced_pages == 0)
		return;
	for (uint32_t i = 0; i < manager->segment_count; i++) {
		if (atomic_load(&manager->segments[i].memory_address) != MACHINE_NOWHERE)
			settle_free_locked(manager, &manager->segments[i]);
	}
}

/* A walk along the pages of one side, a stretch at a time. */
struct walk {
	uint64_t base_pfn; /* of the segment that the runs are in; 0: they are of the machine */
	const struct miniport_page_run *run;
	uint64_t at; /* pages of it that were passed */
};

static uint64_t walk_left(const struct walk *walk)
{
	return walk->run->count - walk->at;
}

static uint64_t walk_address(const struct walk *walk)
{
	return (walk->base_pfn + walk->run->first_pfn + walk->at) << MACHINE_PAGE_SHIFT;
}

static void walk_pass(struct walk *walk, uint64_t count)
{
	walk->at += count;
	if (walk_left(walk) > 0)
		return;
	walk->run++;
	walk->at = 0;
}

/* The first `count` pages of the allocation; returns how many of them it were. */
static uint64_t pages_exchange(const struct vidmm_place *place, uint64_t count)
{
	uint64_t base_pfn = atomic_load(&place->segment->memory_address) >> MACHINE_PAGE_SHIFT;
	struct walk local = { .base_pfn = base_pfn, .run = place->move.local };
	struct walk other = { .run = place->move.system };
	uint64_t done = 0;

	if (place->move.way == MOVE_SHIFT)
		other = (struct walk){ .base_pfn = base_pfn, .run = &place->move.target };

	while (done < count) {
		uint64_t stretch =
			lower_of(count - done, lower_of(walk_left(&local), walk_left(&other)));

		if (!machine_exchange(walk_address(&local), walk_address(&other), stretch))
			break;
		done += stretch;
		walk_pass(&local, stretch);
		walk_pass(&other, stretch);
	}
	return done;
}

bool roles_change(struct vidmm_place *place, bool is_moved)
{
	uint64_t count = place->allocation->size_bytes >> MACHINE_PAGE_SHIFT;

	if (place->move.has_changed_roles == is_moved)
		return true;
	uint64_t done = pages_exchange(place, count);
	/* A second exchange is the first one undone. */
	if (done < count)
		(void)!pages_exchange(place, done);
	else
		place->move.has_changed_roles = is_moved;
	return done == count;
}
