/* SPDX-License-Identifier: MIT */
#include "evict/runs.h"

static bool is_of(const struct list *head, struct list *link, const void *owner)
{
	return link != head && evict_entry_of(link)->owner == owner;
}

static void run_set_ends(struct list *first, struct list *last)
{
	evict_entry_of(first)->run_end = last;
	evict_entry_of(last)->run_end = first;
}

void runs_push_back(struct list *head, struct evict_entry *entry)
{
	struct list *last = head->prev;
	struct list *first =
		is_of(head, last, entry->owner) ? evict_entry_of(last)->run_end : &entry->link;

	list_push_back(head, &entry->link);
	run_set_ends(first, &entry->link);
}

void runs_remove(const struct list *head, struct evict_entry *entry)
{
	struct list *before = entry->link.prev;
	struct list *behind = entry->link.next;
	bool is_first = !is_of(head, before, entry->owner);
	bool is_last = !is_of(head, behind, entry->owner);

	if (is_first && is_last) {
		if (before != head && is_of(head, behind, evict_entry_of(before)->owner))
			run_set_ends(evict_entry_of(before)->run_end,
				     evict_entry_of(behind)->run_end);
	} else if (is_first) {
		run_set_ends(behind, entry->run_end);
	} else if (is_last) {
		run_set_ends(entry->run_end, before);
	}
	list_remove(&entry->link);
}

struct list *runs_last(const struct list *head, struct evict_entry *entry)
{
	return is_of(head, entry->link.prev, entry->owner) ? NULL : entry->run_end;
}

struct list *runs_first(const struct list *head, struct evict_entry *entry)
{
	return is_of(head, entry->link.next, entry->owner) ? NULL : entry->run_end;
}

const char *runs_validate(const struct list *head)
{
	struct list *first = head->next;

	for (struct list *link = first; link != head; link = link->next) {
		if (is_of(head, link->next, evict_entry_of(link)->owner))
			continue;
		if (evict_entry_of(first)->run_end != link ||
		    evict_entry_of(link)->run_end != first)
			return "the ends of a run do not know each other";
		first = link->next;
	}
	return NULL;
}
