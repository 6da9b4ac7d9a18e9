/* SPDX-License-Identifier: MIT */
/*
 * pattern.c - see pattern.h. A random row can be entered anywhere: its eight bytes at n are made of
 * the seed and n alone.
 */
#include <string.h>

#include "cli/run/pattern.h"

static uint64_t mix(uint64_t number)
{
	number = (number ^ (number >> 31)) * UINT64_C(0x9fb21c651e98df25);
	number = (number ^ (number >> 28)) * UINT64_C(0xd6e8feb86659fd93);
	return number ^ (number >> 32);
}

static uint64_t eight_bytes(const struct script_pattern *pattern, uint64_t index)
{
	if (pattern->is_random)
		return mix(mix(pattern->number + 1) + index);
	return pattern->number << 32 | pattern->number;
}

static unsigned char byte_of(const struct script_pattern *pattern, uint64_t place)
{
	return (unsigned char)(eight_bytes(pattern, place / 8) >> place % 8 * 8);
}

void pattern_store(const struct script_pattern *pattern, unsigned char *bytes, uint64_t at,
		   uint64_t size_bytes)
{
	const uint64_t end = at + size_bytes;

	while (at < end) {
		uint64_t word = eight_bytes(pattern, at / 8);
		if (at % 8 == 0 && end - at >= 8) {
			memcpy(bytes + at, &word, 8);
			at += 8;
		} else {
			bytes[at] = byte_of(pattern, at);
			at++;
		}
	}
}

bool pattern_compare(const struct script_pattern *pattern, const unsigned char *bytes, uint64_t at,
		     uint64_t size_bytes, uint64_t *place_out, unsigned char *expected_out)
{
	const uint64_t end = at + size_bytes;

	while (at < end) {
		uint64_t word = eight_bytes(pattern, at / 8);
		if (at % 8 == 0 && end - at >= 8 && memcmp(bytes + at, &word, 8) == 0) {
			at += 8;
			continue;
		}
		if (bytes[at] != byte_of(pattern, at)) {
			*place_out = at;
			*expected_out = byte_of(pattern, at);
			return false;
		}
		at++;
	}
	return true;
}
