/* SPDX-License-Identifier: MIT */
/*
 * client_arena.c - see client_arena.h.
 *
 * Small mappings stand shoulder to shoulder, so that neighbours that show neighbouring pages are one
 * mapping to the client's host; from 64 KiB on they are aligned as Windows does it.
 */
#include <assert.h>
#include <stdatomic.h>

#include "base/checked.h"
#include "base/lock.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refcount.h"
#include "ranges/client_arena.h"
#include "ranges/ranges.h"

#define GRANULE_BYTES UINT64_C(0x10000)
#define GRANULE_PAGES (GRANULE_BYTES / MACHINE_PAGE_BYTES)

struct client_arena {
	struct refcount refs;
	uint64_t address; /* aligned to a granule */
	uint64_t client;  /* 0: not said */
	uint64_t number;
	struct lock lock; /* LOCK_RANK_CLIENT_ARENA */
	struct ranges ranges;
};

struct client_arena *client_arena_create(uint64_t address, uint64_t size_bytes)
{
	static _Atomic uint64_t last_number;
	uint64_t end;
	uint64_t first;

	if (!checked_add(address, size_bytes, &end) ||
	    !checked_align_up(address, GRANULE_BYTES, &first) || first >= end ||
	    end - first < MACHINE_PAGE_BYTES)
		return NULL;
	struct client_arena *arena = mem_zalloc(sizeof(*arena));
	if (!arena)
		return NULL;
	if (!NT_SUCCESS(ranges_init(&arena->ranges, (end - first) / MACHINE_PAGE_BYTES))) {
		mem_free(arena);
		return NULL;
	}
	refcount_init(&arena->refs);
	arena->address = first;
	arena->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
	lock_init(&arena->lock, LOCK_RANK_CLIENT_ARENA, "addresses of a client");
	return arena;
}

void client_arena_belong(struct client_arena *arena, uint64_t client)
{
	arena->client = client;
}

bool client_arena_is_of_same(const struct client_arena *arena, const struct client_arena *other)
{
	return arena == other || (arena->client != 0 && arena->client == other->client &&
				  arena->address == other->address);
}

uint64_t client_arena_number(const struct client_arena *arena)
{
	return arena->number;
}

void client_arena_get(struct client_arena *arena)
{
	refcount_get(&arena->refs);
}

void client_arena_put(struct client_arena *arena)
{
	if (!arena || !refcount_put(&arena->refs))
		return;
	assert(arena->ranges.taken_ranges == 0);
	ranges_finish(&arena->ranges);
	lock_finish(&arena->lock);
	mem_free(arena);
}

/* ---- mappings ---- */

static NTSTATUS mapping_create(struct client_arena *arena, uint64_t page_count,
			       struct client_mapping **mapping_out)
{
	struct client_mapping *mapping = mem_zalloc(sizeof(*mapping));

	if (!mapping)
		return STATUS_NO_MEMORY;
	lock_acquire(&arena->lock);
	NTSTATUS status =
		ranges_take(&arena->ranges, page_count,
			    page_count >= GRANULE_PAGES ? GRANULE_PAGES : 1, &mapping->range);
	lock_release(&arena->lock);
	if (!NT_SUCCESS(status)) {
		mem_free(mapping);
		return status;
	}
	client_arena_get(arena);
	mapping->arena = arena;
	*mapping_out = mapping;
	return STATUS_SUCCESS;
}

NTSTATUS client_mappings_find(struct client_mappings *mappings, struct client_arena *arena,
			      uint64_t page_count, struct client_mapping **mapping_out)
{
	for (struct client_mapping *mapping = mappings->first; mapping; mapping = mapping->next) {
		if (mapping->arena == arena) {
			assert(mapping->range->count == page_count);
			*mapping_out = mapping;
			return STATUS_SUCCESS;
		}
	}
	NTSTATUS status = mapping_create(arena, page_count, mapping_out);
	if (NT_SUCCESS(status)) {
		(*mapping_out)->next = mappings->first;
		mappings->first = *mapping_out;
	}
	return status;
}

void client_mappings_finish(struct client_mappings *mappings)
{
	struct client_mapping *mapping;

	while ((mapping = mappings->first)) {
		struct client_arena *arena = mapping->arena;

		mappings->first = mapping->next;
		lock_acquire(&arena->lock);
		ranges_give(&arena->ranges, mapping->range);
		lock_release(&arena->lock);
		client_arena_put(arena);
		mem_free(mapping);
	}
}

uint64_t client_mapping_address(const struct client_mapping *mapping)
{
	return mapping->arena->address + mapping->range->first * MACHINE_PAGE_BYTES;
}

NTSTATUS client_mapping_note(struct client_mapping *mapping, uint64_t version,
			     enum client_view_kind kind)
{
	bool is_same = mapping->version == version && mapping->kind >= kind;
	uint64_t stamp = is_same ? mapping->stamp : client_call_stamp();

	if (mapping->kind > kind)
		kind = mapping->kind;
	NTSTATUS status = client_call_add_view(client_mapping_address(mapping), stamp, kind);

	assert(version != 0);
	if (NT_SUCCESS(status)) {
		mapping->version = version;
		mapping->stamp = stamp;
		mapping->kind = kind;
	}
	return status;
}

/* ---- looking ---- */

bool client_arena_contains(const struct client_arena *arena, uint64_t address, uint64_t size_bytes)
{
	uint64_t end;

	if (!checked_add(address, size_bytes, &end))
		end = UINT64_MAX;
	return address < arena->address + arena->ranges.unit_count * MACHINE_PAGE_BYTES &&
	       end > arena->address;
}

const char *client_arena_validate(struct client_arena *arena)
{
	lock_acquire(&arena->lock);
	const char *wrong = ranges_validate(&arena->ranges);
	lock_release(&arena->lock);
	return wrong;
}
