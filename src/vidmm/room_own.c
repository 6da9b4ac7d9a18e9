/* SPDX-License-Identifier: MIT */
/*
 * room_own.c - what who looks for room keeps itself. See room.c.
 *
 *	in:   a search that found nobody who can go, and nothing to wait for
 *	out:  whether something of its own goes soon
 *
 * A search passes all that in one step, however much it is (evict/runs.h). Before it is told that there never will be room,
 * the looks at each are made up for.
 */
#include "vidmm/room_parts.h"

/* The work in front of it is over some time; is it in one of those segments? */
static bool place_goes_soon(const struct vidmm_place *place, uint32_t segments)
{
	return place->waits > 0 && place->eviction.is_resident &&
	       place->eviction.class == EVICT_NEEDED &&
	       place->given_up_at != place->manager->retry_generation &&
	       segments & UINT32_C(1) << (place->segment->id - 1);
}

bool room_own_goes_soon_locked(const struct room_search *search, uint32_t segments)
{
	lock_assert_held(&search->manager->lock);
	list_each (const struct vidmm_device, device, &search->process->devices, link) {
		if (search->own && device != search->own)
			continue;
		list_each (struct vidmm_binding, each, &device->resident, device_link) {
			if (place_goes_soon(binding_place(each), segments))
				return true;
		}
	}
	return false;
}
