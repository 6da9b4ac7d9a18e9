/* SPDX-License-Identifier: MIT */
/*
 * content.c - see content.h.
 */
#include <stddef.h>
#include <string.h>

#include "cli/tour/content.h"

uint64_t content_next(uint64_t *state)
{
	uint64_t number = (*state += UINT64_C(0x9e3779b97f4a7c15));

	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

static uint64_t eight_bytes(uint64_t seed, uint64_t index)
{
	uint64_t number = (seed + index) * UINT64_C(0x9fb21c651e98df25);

	return number ^ number >> 32;
}

void content_store(void *bytes, uint64_t seed, uint64_t from, uint64_t size_bytes)
{
	unsigned char *at = bytes;

	for (uint64_t i = 0; i < size_bytes; i += 8) {
		uint64_t word = eight_bytes(seed, (from + i) / 8);
		memcpy(at + i, &word, 8);
	}
}

static unsigned count_different(uint64_t one, uint64_t other)
{
	unsigned count = 0;

	for (uint64_t rest = one ^ other; rest != 0; rest >>= 8)
		count += (rest & 0xff) != 0;
	return count;
}

uint64_t content_count_wrong(const void *bytes, uint64_t seed, uint64_t from, uint64_t size_bytes,
			     uint64_t *place_out)
{
	const unsigned char *at = bytes;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < size_bytes; i += 8) {
		uint64_t expected = eight_bytes(seed, (from + i) / 8);
		uint64_t found;

		memcpy(&found, at + i, 8);
		if (found == expected)
			continue;
		if (wrong == 0)
			*place_out = from + i;
		wrong += count_different(found, expected);
	}
	return wrong;
}
