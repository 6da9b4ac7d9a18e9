/* SPDX-License-Identifier: MIT */
/*
 * list.h - intrusive doubly linked list; the head is a link of its own.
 *
 * A link that is in no list points at itself, so list_remove() may be called twice and
 * list_is_linked() can be asked.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>

#include "base/attributes.h"

struct list {
	struct list *next;
	struct list *prev;
};

static inline void list_init(struct list *link)
{
	link->next = link;
	link->prev = link;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool list_is_linked(const struct list *link)
{
	return link->next != link;
}

static inline void list_insert_between(struct list *link, struct list *prev, struct list *next)
{
	link->prev = prev;
	link->next = next;
	prev->next = link;
	next->prev = link;
}

static inline void list_push_back(struct list *head, struct list *link)
{
	list_insert_between(link, head->prev, head);
}

static inline void list_push_front(struct list *head, struct list *link)
{
	list_insert_between(link, head, head->next);
}

/* For a link that nobody looks at again. */
static inline void list_unlink(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

static inline void list_remove(struct list *link)
{
	list_unlink(link);
	list_init(link);
}

/* The first link, taken off the list; NULL when there is none. */
static inline struct list *list_pop_front(struct list *head)
{
	struct list *link = head->next;

	if (link == head)
		return NULL;
	list_remove(link);
	return link;
}

/* Moves everything from `from` to the end of `to`; `from` is empty afterwards. */
static inline void list_splice_back(struct list *to, struct list *from)
{
	if (list_is_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_for_each(link, head)                                                                  \
	for ((link) = (head)->next; (link) != (head); (link) = (link)->next)

/* `following` remembers the next link, so that the body may remove `link`. */
#define list_for_each_safe(link, following, head)                                                  \
	for ((link) = (head)->next, (following) = (link)->next; (link) != (head);                  \
	     (link) = (following), (following) = (link)->next)

#endif
