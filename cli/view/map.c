/* SPDX-License-Identifier: MIT */
#include "cli/view/map.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 64 };

static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 32;
}

static bool is_same(const struct view_key *one, const struct view_key *other)
{
	return one->a == other->a && one->b == other->b && one->c == other->c;
}

/* Its entry, or the empty one where it would be. */
static struct view_map_entry *look(const struct view_map *map, struct view_key key)
{
	uint32_t at = (uint32_t)mix(mix(mix(0, key.a), key.b), key.c);

	for (;; at++) {
		struct view_map_entry *entry = &map->entries[at & (map->capacity - 1)];

		if (!entry->is_used || is_same(&entry->key, &key))
			return entry;
	}
}

uint32_t *view_map_find(const struct view_map *map, struct view_key key)
{
	if (map->capacity == 0)
		return NULL;

	struct view_map_entry *entry = look(map, key);

	return entry->is_used ? &entry->value : NULL;
}

static bool grow(struct view_map *map)
{
	struct view_map larger = { .capacity = map->capacity ? 2 * map->capacity : FIRST_CAPACITY };

	larger.entries = mem_zalloc_array(larger.capacity, sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (uint32_t i = 0; i < map->capacity; i++) {
		if (map->entries[i].is_used)
			*look(&larger, map->entries[i].key) = map->entries[i];
	}
	larger.count = map->count;
	mem_free(map->entries);
	*map = larger;
	return true;
}

bool view_map_put(struct view_map *map, struct view_key key, uint32_t value)
{
	if (4 * (uint64_t)map->count >= 3 * (uint64_t)map->capacity && !grow(map))
		return false;

	struct view_map_entry *entry = look(map, key);

	map->count += !entry->is_used;
	*entry = (struct view_map_entry){ key, value, true };
	return true;
}

void view_map_finish(struct view_map *map)
{
	mem_free(map->entries);
	*map = (struct view_map){ 0 };
}
