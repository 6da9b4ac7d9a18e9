/* SPDX-License-Identifier: MIT */
#include "object/owner/owned.h"

void owned_end_all(struct lock *lock, struct list *siblings, bool (*destroy)(struct object *object))
{
	lock_acquire(lock);
	while (!list_is_empty(siblings)) {
		struct owned *first = container_of(siblings->next, struct owned, link);
		struct object *object = first->object;

		object_get(object);
		/* Off the list here, so that a thread that is ending it right now is not waited
		 * for. */
		list_remove(&first->link);
		lock_release(lock);
		(void)destroy(object);
		object_put(object);
		lock_acquire(lock);
	}
	lock_release(lock);
}
