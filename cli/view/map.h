/* SPDX-License-Identifier: MIT */
/*
 * map.h - from a key of up to three numbers to a number. Nothing is ever taken out.
 */
#ifndef CLI_VIEW_MAP_H
#define CLI_VIEW_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct view_key {
	uint64_t a, b, c;
};

struct view_map_entry {
	struct view_key key;
	uint32_t value;
	bool is_used;
};

/* Zeroed: empty. */
struct view_map {
	struct view_map_entry *entries;
	uint32_t count;
	uint32_t capacity; /* a power of two, or 0 */
};

/* Where the value is; NULL when there is none. Good until the next one is put. */
uint32_t *view_map_find(const struct view_map *map, struct view_key key);
/* What was there is replaced. False without memory. */
MUST_CHECK bool view_map_put(struct view_map *map, struct view_key key, uint32_t value);
void view_map_finish(struct view_map *map);

#endif
