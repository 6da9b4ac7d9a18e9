/* SPDX-License-Identifier: MIT */
/*
 * owned.h - an object that is in a list of its owner, and ends with it.
 *
 *	list and handle begin together    under the owner's lock: whoever finds it there can end it
 *	its end takes it off the list     unless the owner's end, which takes all, was there first
 *
 * Locks: the owner's (a device's or a process's), which guards the list.
 */
#ifndef OBJECT_OWNER_OWNED_H
#define OBJECT_OWNER_OWNED_H

#include "base/list.h"
#include "base/lock.h"
#include "handle/object.h"

struct owned {
	struct object *object;
	struct list link;
};

static inline void owned_init(struct owned *owned, struct object *object)
{
	owned->object = object;
	list_init(&owned->link);
}

/* Visible from here on, with a reference of the caller's. */
static inline void owned_publish_locked(const struct lock *lock, struct list *siblings,
					struct owned *owned)
{
	lock_assert_held(lock);
	list_push_back(siblings, &owned->link);
	/* The reference with it, or another thread could end it under the caller. */
	object_publish_and_get(owned->object);
}

static inline void owned_leave(struct lock *lock, struct owned *owned)
{
	lock_acquire(lock);
	list_remove(&owned->link);
	lock_release(lock);
}

/* Every one of an owner that takes no new ones. `destroy` may find that another was faster. */
void owned_end_all(struct lock *lock, struct list *siblings,
		   bool (*destroy)(struct object *object));

#endif
