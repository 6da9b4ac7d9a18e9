/* SPDX-License-Identifier: MIT */
/*
 * map.c - see map.h. Open addressing: a key is in the first free slot from its own on, and what is taken out is closed
 * up behind it.
 */
#include <stdlib.h>
#include <string.h>

#include "verify/map.h"

enum { FIRST_CAPACITY = 64 };

static size_t home_of(const struct map *map, uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (map->capacity - 1);
}

/* The slot of the key, or the free one where it would go. There is always a free one. */
static struct map_slot *slot_of(const struct map *map, uint64_t key)
{
	size_t at = home_of(map, key);

	while (map->slots[at].key != 0 && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

static void grow(struct map *map)
{
	struct map larger = { .capacity = map->capacity ? 2 * map->capacity : FIRST_CAPACITY,
			      .used = map->used };

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return;
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].key != 0)
			*slot_of(&larger, map->slots[i].key) = map->slots[i];
	}
	free(map->slots);
	*map = larger;
}

void map_set(struct map *map, uint64_t key, uint64_t value)
{
	if (2 * map->used >= map->capacity)
		grow(map);
	if (map->used + 1 >= map->capacity)
		return;
	struct map_slot *slot = slot_of(map, key);
	map->used += slot->key == 0;
	*slot = (struct map_slot){ key, value };
}

uint64_t map_get(const struct map *map, uint64_t key)
{
	return map->capacity == 0 || key == 0 ? 0 : slot_of(map, key)->value;
}

/* Those behind it that would no longer be found come forward. */
static void close_up(struct map *map, size_t hole)
{
	size_t at = hole;

	for (;;) {
		at = (at + 1) & (map->capacity - 1);
		if (map->slots[at].key == 0)
			break;
		size_t from_home = (at - home_of(map, map->slots[at].key)) & (map->capacity - 1);
		if (from_home < ((at - hole) & (map->capacity - 1)))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole] = (struct map_slot){ 0, 0 };
}

uint64_t map_take(struct map *map, uint64_t key)
{
	if (map->capacity == 0 || key == 0)
		return 0;
	struct map_slot *slot = slot_of(map, key);
	uint64_t value = slot->value;
	if (slot->key != 0) {
		map->used--;
		close_up(map, (size_t)(slot - map->slots));
	}
	return value;
}

void map_clear(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}

void map_each(const struct map *map, void (*visit)(void *context, uint64_t key, uint64_t value),
	      void *context)
{
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].key != 0)
			visit(context, map->slots[i].key, map->slots[i].value);
	}
}
