/* SPDX-License-Identifier: MIT */
/*
 * dispatcher_parts.h - what the two files of the dispatcher, dispatcher.c and timers.c, share. All
 * of it under the dispatcher lock unless it says otherwise.
 */
#ifndef NT_DISPATCHER_PARTS_H
#define NT_DISPATCHER_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include <ddk/wdm.h>

struct nt_wait;

/* Waits that were satisfied under the lock and are woken after it. */
struct wake_list {
	struct nt_wait *first;
	struct nt_wait **last;
	bool is_boosted; /* they should run at once */
};

static inline void wake_list_init(struct wake_list *list)
{
	list->first = NULL;
	list->last = &list->first;
	list->is_boosted = false;
}

/* Without the lock. */
void wake_list_wake(struct wake_list *list);

/* The object is signaled: whom that wakes. */
void object_signaled_locked(DISPATCHER_HEADER *object, struct wake_list *woken);

/* Says whether there was something to repair; report_uninitialized() after the lock. */
bool object_repair_locked(DISPATCHER_HEADER *object);
void report_uninitialized(bool was_repaired, const char *routine);

/*
 * Without the lock: false, and reported, when it is NULL; an access violation where the driver can
 * catch one.
 */
bool is_given(const void *object, const char *argument, const char *routine);

/* Takes the lock itself. */
LONG read_state(DISPATCHER_HEADER *object);

#endif
