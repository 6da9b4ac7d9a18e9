/* SPDX-License-Identifier: MIT */
/*
 * page_bits.h - bitmaps with a bit for each page, in words of 64.
 */
#ifndef BASE_PAGE_BITS_H
#define BASE_PAGE_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool bit_get(const uint64_t *map, uint64_t bit)
{
	return (map[bit / 64] >> (bit % 64) & 1) != 0;
}

static inline void bit_set(uint64_t *map, uint64_t bit)
{
	map[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void bit_clear(uint64_t *map, uint64_t bit)
{
	map[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

static inline uint64_t word_mask(uint64_t bit, uint64_t count)
{
	uint64_t mask = count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;

	return mask << bit;
}

/* The first that is set from there on: there is one. */
static inline uint64_t bit_find(const uint64_t *map, uint64_t bit)
{
	uint64_t at = bit / 64;
	uint64_t word = map[at] & word_mask(bit % 64, 64);

	while (word == 0)
		word = map[++at];
	return at * 64 + (uint64_t)__builtin_ctzll(word);
}

#endif
