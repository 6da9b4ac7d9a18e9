/* SPDX-License-Identifier: MIT */
/*
 * allocation_list_turns.h - lists that are in place, and somebody who waits for their room. For allocation_list.c, room.c
 * and suspend.c.
 */
#ifndef VIDMM_ALLOCATION_LIST_TURNS_H
#define VIDMM_ALLOCATION_LIST_TURNS_H

#include "vidmm/place.h"

struct retry_hint;
struct room_search;

/* All of it is pinned for a packet that is or will be with the hardware; and no more. */
void list_is_ready_locked(struct vidmm_allocation_list *list);
void list_is_not_ready_locked(struct vidmm_allocation_list *list);

/* The first in the row waits for room in these segments: lists there have one more slice. */
void lists_take_turns_locked(const struct room_search *search, uint32_t segments,
			     struct retry_hint *hint);

/* Its lists let go of what they have as soon as the hardware has nothing of it. */
void device_yield_locked(struct vidmm_device *device);

/* allocation_list.c: it was ready, and has to be prepared again. */
void list_return_locked(struct vidmm_allocation_list *list);

#endif
