/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - many bytes as one number, for who has to see whether they changed.
 */
#ifndef VERIFY_BYTES_H
#define VERIFY_BYTES_H

#include <stdint.h>
#include <string.h>

enum { BYTES_LANES = 4 };

/* Goes on from `sum`; the same bytes in other pieces, each a multiple of 32, give the same. */
static inline uint64_t bytes_sum(uint64_t sum, const void *bytes, uint64_t size_bytes)
{
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
	const char *at = bytes;

	for (; size_bytes >= BYTES_LANES * sizeof(uint64_t); at += BYTES_LANES * sizeof(uint64_t)) {
		uint64_t lanes[BYTES_LANES];

		memcpy(lanes, at, sizeof(lanes));
		/* Four products that do not wait for each other, and one that does. */
		sum = (sum ^ (lanes[0] + factor) * (lanes[1] ^ factor << 1 ^ 1) ^
		       (lanes[2] + (factor << 2 | 1)) * (lanes[3] ^ factor)) *
		      factor;
		sum ^= sum >> 29;
		size_bytes -= BYTES_LANES * sizeof(uint64_t);
	}
	for (; size_bytes > 0; at++, size_bytes--)
		sum = (sum ^ (unsigned char)*at) * factor;
	return sum;
}

#endif
