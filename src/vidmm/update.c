/* SPDX-License-Identifier: MIT */
/*
 * update.c - wishes that change while an allocation is somewhere.
 *
 *   in:   an allocation of a device, and what is new about it
 *   out:  nowhere it may not be
 *
 * What has to move is evicted like any other, and comes back by itself when it is on a list: its
 * device's work waits meanwhile. On no list it just goes, when the work that uses it is over.
 *
 * Locks: the allocation's, inside it the manager's.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/allocation.h"
#include "vidmm/place.h"

static struct vidmm_update wishes_now(const struct vidmm_allocation *allocation)
{
	return (struct vidmm_update){
		.sets_supported_segments = true,
		.sets_preferred_segments = true,
		.sets_accessed_physically = true,
		.sets_unmoveable = true,
		.supported_segments = allocation->supported_segments,
		.preferred_segments = allocation->preferred_segments,
		.is_accessed_physically = allocation->traits.is_accessed_physically,
		.is_unmoveable = allocation->traits.is_unmoveable,
	};
}

/* Is it in one of these, and as it should be there? */
static bool is_among(const struct vidmm_place *place, const struct placement *placements,
		     uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (placements[i].segment == place->segment &&
		    placements[i].wish.form == place->wish.form)
			return true;
	}
	return false;
}

static NTSTATUS check_move_locked(const struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->allocation->traits.is_pinned)
		return refuse(STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION, RULE_MM_LOCK_PINNED,
			      "hAllocation", "is pinned where it may not be any more");
	if (place->pins > 0 || roles_hold(place))
		return refuse(STATUS_GRAPHICS_ALLOCATION_BUSY, RULE_MM_UPDATE_BUSY, "hAllocation",
			      "is locked or in use where it may not be any more");
	return STATUS_SUCCESS;
}

/* Makes the place leave where the new wishes do not allow it. When this fails, the caller sets the wishes back. */
static NTSTATUS place_follow_locked(struct vidmm_place *place)
{
	struct placement placements[VIDMM_MAX_SEGMENTS];
	uint32_t count = placement_list(place->manager, place, UINT32_MAX, placements);

	lock_assert_held(&place->manager->lock);
	if (count == 0)
		return refuse(STATUS_NO_MEMORY, RULE_MM_NO_ROOM, "SupportedSegmentSet",
			      "has no segment that could ever hold it");
	if (place_has_cpu_lock(place) && place->list_count > 0 &&
	    !NT_SUCCESS(window_promise_locked(place)))
		return refuse(STATUS_GRAPHICS_ALLOCATION_BUSY, RULE_MM_UPDATE_BUSY, "hAllocation",
			      "is locked, and would only be in memory that the CPU cannot see");
	bool is_misplaced = place->segment && !is_among(place, placements, count);
	NTSTATUS status = is_misplaced && place->state == PLACE_IN ? check_move_locked(place)
								   : STATUS_SUCCESS;
	if (!NT_SUCCESS(status))
		return status;
	place_set_placed_locked(place);
	if (is_misplaced)
		place_set_stay_locked(place, PLACE_MISPLACED);
	if (!is_misplaced || place->state != PLACE_IN)
		return STATUS_SUCCESS;
	place->given_up_at = 0;
	if (place->list_count > 0)
		place_leave_locked(place, VIDMM_LEAVES_MISPLACED);
	else
		place_settle_locked(place);
	return STATUS_SUCCESS;
}

static bool is_moving_locked(const struct vidmm_binding *binding)
{
	const struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	return binding->end == BINDING_LIVES && place &&
	       (place->state == PLACE_ENTERING || place->state == PLACE_SHIFTING);
}

/* Waits until a move that is under way has ended. */
static void wait_for_arrival(struct vidmm_binding *binding)
{
	struct vidmm *manager = binding->device->process->manager;

	lock_acquire(&manager->lock);
	while (is_moving_locked(binding))
		notice_wait_relock(&manager->changed, &manager->lock);
	lock_release(&manager->lock);
}

static NTSTATUS update_locked(struct vidmm_binding *binding, const struct vidmm_update *update,
			      struct vidmm_update *before_out)
{
	struct vidmm_allocation *allocation = binding->allocation;

	lock_assert_held(&binding->device->process->manager->lock);
	*before_out = wishes_now(allocation);
	if (binding->end != BINDING_LIVES)
		return request_refuse(STATUS_INVALID_PARAMETER);
	allocation_update_locked(allocation, update);
	NTSTATUS status = place_follow_locked(binding_place(binding));
	if (!NT_SUCCESS(status))
		allocation_update_locked(allocation, before_out);
	return status;
}

/* Sets the wishes back: it could not be moved, and stays or comes back where it was. */
static NTSTATUS update_undo(struct vidmm_binding *binding, const struct vidmm_update *before)
{
	struct vidmm *manager = binding->device->process->manager;
	struct vidmm_allocation *allocation = binding->allocation;

	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	struct vidmm_place *place = binding_place(binding);
	allocation_update_locked(allocation, before);
	if (place) {
		place_set_placed_locked(place);
		place->given_up_at = 0;
	}
	lock_release(&allocation->lock); /* first: with the manager's lock it may go */
	decide_unlock(manager);
	return refuse(STATUS_NO_MEMORY, RULE_MM_NO_PAGES, "hAllocation",
		      "cannot be moved to where it would have to be");
}

NTSTATUS vidmm_update_anywhere(struct vidmm_binding *binding, const struct vidmm_update *update,
			       struct vidmm_request *request)
{
	struct vidmm *manager = binding->device->process->manager;
	struct vidmm_allocation *allocation = binding->allocation;
	struct vidmm_update before;
	NTSTATUS status = request_prepare(&binding, 1, request);

	if (!NT_SUCCESS(status))
		return request_refuse(status);
	request->can_be_refused = true;
	wait_for_arrival(binding);
	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	status = update_locked(binding, update, &before);
	lock_release(&allocation->lock);
	if (NT_SUCCESS(status)) {
		request_want_locked(binding, request);
		status = request_start_unlock(manager, request);
		return status == STATUS_NO_MEMORY ? update_undo(binding, &before) : status;
	}
	lock_release(&manager->lock);
	mem_free(request->wants);
	request->wants = NULL;
	return status;
}
