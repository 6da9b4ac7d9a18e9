/*
 * fence_place.h - where the value of a monitored fence is: a slot for the CPU, an address for the
 * GPU.
 *
 *	usual      of a fence that no other process opens, and whose GPU address can be written
 *	others     made for the fence, and gone with it
 *
 * A device keeps the usual places of the few fences that ended last, for the next ones: a fence
 * that comes and goes then takes no lock but the device's, which it needs for the device's list in
 * any case.
 *
 * Locks: a device's kept places are guarded by its lock. Places are made and given back with no
 * lock held, for the pager may be waited for.
 */
#ifndef OBJECT_FENCE_PLACE_H
#define OBJECT_FENCE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "sched/fence_page.h"

struct dxg_device;
struct fence_address;

struct fence_place {
	struct fence_slot slot;
	struct fence_address *address; /* NULL: the GPU does not see it, and … */
	uint64_t gpu_address;          /* … this is 0 */
};

enum { FENCE_PLACES_KEPT = 8 };

/* The newest is behind `end`; when there is one too many, the oldest is at `end`. */
struct fence_places {
	uint32_t count;
	uint32_t end;
	struct fence_place places[FENCE_PLACES_KEPT];
};

struct fence_place_wish {
	bool is_shared;  /* other processes may open the fence */
	bool is_for_gpu; /* it has an address there, if the device has GPU addresses */
	bool is_writable;
};

static inline bool fence_place_is_usual(const struct fence_place_wish *wish)
{
	return !wish->is_shared && wish->is_for_gpu && wish->is_writable;
}

MUST_CHECK NTSTATUS fence_place_make(struct dxg_device *device, const struct fence_place_wish *wish,
				     struct fence_place *place_out);

/* Accepts one that was given back, or is zeroed. */
void fence_place_give(struct fence_place *place);

/* A usual one, out of what the device keeps; NULL when that is nothing. Good until the next one. */
static inline const struct fence_place *fence_places_take_locked(struct fence_places *kept)
{
	if (UNLIKELY(kept->count == 0))
		return NULL;
	kept->count--;
	kept->end = (kept->end - 1) % FENCE_PLACES_KEPT;
	return &kept->places[kept->end];
}

/*
 * Where a usual one is to be written, to be kept. The one before it, which is the oldest, goes to
 * `oldest`: it has to be given back.
 */
static inline struct fence_place *fence_places_keep_locked(struct fence_places *kept,
							   struct fence_place *oldest)
{
	struct fence_place *place = &kept->places[kept->end];

	if (UNLIKELY(kept->count == FENCE_PLACES_KEPT))
		*oldest = *place;
	else
		kept->count++;
	kept->end = (kept->end + 1) % FENCE_PLACES_KEPT;
	return place;
}

/* The device ends: all of them go. No lock is held. */
void fence_places_end(struct dxg_device *device);

#endif
