/*
 * reset.c - what an adapter reset means for memory.
 *
 *   in:   places in any state, a pager that has stopped building
 *   out:  nothing in place; content that was in memory segments is gone, and says so
 *
 * What is on its way is left to its job: that fails, or was done before the reset, and the place
 * hears of it on the pager's thread (move.c). What a list of a submission still holds goes when it
 * lets go. What the CPU has locked in GPU memory stays there to be seen, whatever is in it now.
 *
 * Page tables are not looked at: they are lost as well, and written anew from what is true then
 * (space_rewrite.c).
 *
 * Locks: the allocation's, inside it the manager's; none while the driver is told.
 */
#include "vidmm/allocation.h"
#include "vidmm/place.h"
#include "vidmm/states.h"
#include "vidmm/work_set.h"

/* One after the other, each once; held, so that it stays. */
static struct vidmm_place *next_place_locked(struct vidmm *manager)
{
	struct vidmm_place *place;

	if (list_is_empty(&manager->places))
		return NULL;
	place = container_of(manager->places.next, struct vidmm_place, all_link);
	if (place->reset_at == manager->resets)
		return NULL;
	place->reset_at = manager->resets;
	list_remove(&place->all_link);
	list_push_back(&manager->places, &place->all_link);
	place->waits++;
	return place;
}

static void content_lose_locked(struct vidmm_allocation *allocation)
{
	bool has_copy = allocation->backing.run_count > 0 || allocation->backing.is_clients;

	allocation_set_content(allocation, has_copy ? VIDMM_CONTENT_BACKED : VIDMM_CONTENT_NONE);
	if (allocation->driver)
		allocation->driver->is_initialized = false;
	if (allocation->offer == VIDMM_OFFERED && !has_copy)
		allocation_set_offer(allocation, VIDMM_DISCARDED,
				     (enum vidmm_offer_priority)allocation->offer_priority);
}

static void place_lose_locked(struct vidmm_place *place, struct actions *actions)
{
	struct vidmm_allocation *allocation = place->allocation;
	bool is_local = place->state == PLACE_IN && !place->segment->is_system;

	if (is_local && place->is_locked)
		place->epoch = pager_epoch(place->manager->config.pager);
	if (place->state != PLACE_IN || place->pins > 0 || (is_local && place->is_locked) ||
	    (is_local && !cpu_view_hide(&allocation->view))) {
		place_settle_locked(place, actions);
		return;
	}
	if (is_local)
		content_lose_locked(allocation);
	place_vanish_locked(place, actions);
}

static void place_lose(struct vidmm_place *place)
{
	struct vidmm *manager = place->manager;
	struct vidmm_allocation *allocation = place->allocation;
	struct actions actions;

	actions_init(&actions);
	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	place_wait_over_locked(place, &actions);
	place_lose_locked(place, &actions);
	lock_release(&manager->lock);
	lock_release(&allocation->lock);
	lock_acquire(&manager->lock);
	actions_run_locked(manager, &actions);
}

static void places_lose(struct vidmm *manager)
{
	for (;;) {
		struct miniport_paging_op notice;
		bool has_notice = false;

		lock_acquire(&manager->lock);
		struct vidmm_place *place = next_place_locked(manager);
		if (place)
			has_notice =
				!atomic_load(&manager->is_gone) && move_out_notice(place, &notice);
		lock_release(&manager->lock);
		if (!place)
			return;
		/* What it answers is reported there; the memory is lost all the same. */
		if (has_notice)
			(void)!pager_tell(manager->config.pager, &notice);
		place_lose(place);
	}
}

void vidmm_reset(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	manager->resets++;
	manager->epoch++;
	lock_release(&manager->lock);
	places_lose(manager);
}

void vidmm_give_up(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	atomic_store(&manager->is_gone, true);
	manager->resets++;
	manager->epoch++;
	lock_release(&manager->lock);
	places_lose(manager);
}
