/* SPDX-License-Identifier: MIT */
/*
 * capacity.h - how large is the segment? Nobody tells a policy, so it sees for itself: as large as
 * what was in it just before somebody had to go. Until then it is taken for endless.
 */
#ifndef EVICT_CAPACITY_H
#define EVICT_CAPACITY_H

#include <stdint.h>

struct evict_capacity {
	uint64_t ordered_bytes; /* what is there now                    */
	uint64_t peak_bytes;    /* the most of that since the last walk */
	uint64_t bytes;         /* of the segment                       */
};

static inline void capacity_init(struct evict_capacity *capacity)
{
	*capacity = (struct evict_capacity){ .bytes = UINT64_MAX };
}

static inline void capacity_insert(struct evict_capacity *capacity, uint64_t size_bytes)
{
	capacity->ordered_bytes += size_bytes;
	if (capacity->ordered_bytes > capacity->peak_bytes)
		capacity->peak_bytes = capacity->ordered_bytes;
}

static inline void capacity_remove(struct evict_capacity *capacity, uint64_t size_bytes)
{
	capacity->ordered_bytes -= size_bytes;
}

/* Somebody has to go. */
static inline void capacity_is_reached(struct evict_capacity *capacity)
{
	capacity->bytes = capacity->peak_bytes;
	capacity->peak_bytes = capacity->ordered_bytes;
}

static inline uint64_t capacity_percent(const struct evict_capacity *capacity, unsigned percent)
{
	return capacity->bytes / 100 * percent + capacity->bytes % 100 * percent / 100;
}

#endif
