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
#include <stddef.h>
#include <stdint.h>

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

static inline uint32_t list_length(const struct list *head)
{
	uint32_t length = 0;

	for (const struct list *link = head->next; link != head; link = link->next)
		length++;
	return length;
}

/* Each `type *name` of a list, linked by its `member`; in the second one the body may remove it. */
#define list_each(type, name, head, member)                                                        \
	for (type *name = container_of((head)->next, type, member);                                \
	     list_link(name, type, member) != (head);                                              \
	     name = container_of(list_link(name, type, member)->next, type, member))
#define list_each_safe(type, name, head, member)                                                   \
	for (type *name = container_of((head)->next, type, member),                                \
		  *name##_next = container_of((head)->next->next, type, member);                   \
	     list_link(name, type, member) != (head); name = name##_next,                          \
		  name##_next = container_of(list_link(name, type, member)->next, type, member))

/* The same, and each is taken off the list first. */
#define list_drain(type, name, head, member)                                                       \
	for (type *name = list_pop(type, head, member); name; name = list_pop(type, head, member))

/* The first one, taken off the list; NULL when there is none. */
#define list_pop(type, head, member)                                                               \
	({                                                                                         \
		struct list *list_popped = list_pop_front(head);                                   \
		list_popped ? container_of(list_popped, type, member) : NULL;                      \
	})

/* The head has nothing around it: its link is found without looking at the rest. */
#define list_link(name, type, member)                                                              \
	((const struct list *)((const char *)(name) + offsetof(type, member)))

#define list_for_each(link, head)                                                                  \
	for ((link) = (head)->next; (link) != (head); (link) = (link)->next)

/* `following` remembers the next link, so that the body may remove `link`. */
#define list_for_each_safe(link, following, head)                                                  \
	for ((link) = (head)->next, (following) = (link)->next; (link) != (head);                  \
	     (link) = (following), (following) = (link)->next)

#endif
