/* SPDX-License-Identifier: MIT */
/*
 * map.h - numbers by numbers: handles, pages, addresses that a watch has to find again.
 *
 * What the verifier keeps is not memory of the kernel: it is not counted and not made to fail with it. Without memory
 * a map forgets, and what is not in it is not known; nobody is accused for want of memory.
 */
#ifndef VERIFY_MAP_H
#define VERIFY_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key; /* 0: free */
	uint64_t value;
};

/* All zero: empty. Locks: the user's. */
struct map {
	struct map_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t used;
};

/* Keys and values are not 0. */
void map_set(struct map *map, uint64_t key, uint64_t value);
/* 0: there is none. */
uint64_t map_get(const struct map *map, uint64_t key);
/* Returns what was there. */
uint64_t map_take(struct map *map, uint64_t key);
void map_clear(struct map *map);

/* Calls with each; `visit` changes nothing of the map. */
void map_each(const struct map *map, void (*visit)(void *context, uint64_t key, uint64_t value),
	      void *context);

/* The same where values are pointers. */
static inline void map_set_pointer(struct map *map, const void *key, void *value)
{
	map_set(map, (uint64_t)(uintptr_t)key, (uint64_t)(uintptr_t)value);
}

static inline void *map_get_pointer(const struct map *map, const void *key)
{
	return (void *)(uintptr_t)map_get(map, (uint64_t)(uintptr_t)key);
}

static inline void *map_take_pointer(struct map *map, const void *key)
{
	return (void *)(uintptr_t)map_take(map, (uint64_t)(uintptr_t)key);
}

#endif
