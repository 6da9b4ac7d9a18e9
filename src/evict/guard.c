/* SPDX-License-Identifier: MIT */
#include "evict/guard.h"

enum {
	BONUS = 20,    /* LRU's bytes pay so much of themselves more */
	PATIENCE = 256 /* so much of the segment may be owed         */
};

static struct guard_memory *memory_of(struct evict_entry *entry)
{
	return (struct guard_memory *)entry->memory;
}

void guard_init(struct guard *guard)
{
	*guard = (struct guard){ .is_lru = false };
	capacity_init(&guard->capacity);
	list_init(&guard->known);
	guard->first = &guard->known;
}

static void take_out(struct guard *guard, struct guard_memory *memory)
{
	if (guard->first == &memory->link)
		guard->first = memory->link.next;
	list_unlink(&memory->link);
}

/* LRU evicts, but never what is used just now. */
static void shrink_lru(struct guard *guard)
{
	while (guard->lru_bytes > guard->capacity.bytes && guard->first->next != &guard->known) {
		struct evict_entry *oldest = guard_entry(guard->first);

		guard->first = guard->first->next;
		memory_of(oldest)->is_in_lru = false;
		guard->lru_bytes -= oldest->size_bytes;
	}
}

static void settle(struct guard *guard, int64_t owed_bytes)
{
	int64_t capacity = (int64_t)guard->capacity.bytes;

	if (guard->capacity.bytes == UINT64_MAX)
		return;
	guard->owed_bytes += owed_bytes;
	if (guard->owed_bytes < -capacity)
		guard->owed_bytes = -capacity;
	if (guard->owed_bytes > capacity / PATIENCE)
		guard->is_lru = true;
	else if (guard->owed_bytes < capacity / PATIENCE / 2)
		guard->is_lru = false;
}

void guard_use(struct guard *guard, struct evict_entry *entry)
{
	struct guard_memory *memory = memory_of(entry);
	bool is_known = memory->link.next != NULL;
	bool is_missed = !entry->is_ordered || entry->is_fresh;
	bool is_missed_by_lru = !memory->is_in_lru;
	int64_t bytes = (int64_t)entry->size_bytes;

	if (is_known)
		take_out(guard, memory);
	list_push_back(&guard->known, &memory->link);
	if (guard->first == &guard->known)
		guard->first = &memory->link;
	if (is_missed_by_lru) {
		memory->is_in_lru = true;
		guard->lru_bytes += entry->size_bytes;
		shrink_lru(guard);
	}
	if (is_known && is_missed != is_missed_by_lru)
		settle(guard, is_missed ? bytes : -bytes - bytes / BONUS);
	else if (is_known && is_missed)
		settle(guard, -bytes / BONUS);
}

void guard_forget(struct guard *guard, struct evict_entry *entry)
{
	struct guard_memory *memory = memory_of(entry);

	if (!memory->link.next)
		return;
	take_out(guard, memory);
	if (memory->is_in_lru)
		guard->lru_bytes -= entry->size_bytes;
	*memory = (struct guard_memory){ 0 };
}

void guard_insert(struct guard *guard, const struct evict_entry *entry)
{
	capacity_insert(&guard->capacity, entry->size_bytes);
}

void guard_remove(struct guard *guard, const struct evict_entry *entry)
{
	capacity_remove(&guard->capacity, entry->size_bytes);
}

void guard_is_full(struct guard *guard)
{
	capacity_is_reached(&guard->capacity);
}

const char *guard_validate(const struct guard *guard)
{
	uint64_t lru_bytes = 0;
	bool is_in_lru = false;
	struct list *link;

	list_for_each (link, &guard->known) {
		struct evict_entry *entry = guard_entry(link);

		is_in_lru = is_in_lru || link == guard->first;
		if (memory_of(entry)->is_in_lru != is_in_lru)
			return "what LRU would have is not what was used last";
		lru_bytes += is_in_lru ? entry->size_bytes : 0;
	}
	return lru_bytes == guard->lru_bytes ? NULL : "the bytes LRU would have were miscounted";
}
