/* SPDX-License-Identifier: MIT */
/*
 * content.h - which byte an allocation has where: made of its seed and the place alone.
 */
#ifndef CLI_TOUR_CONTENT_H
#define CLI_TOUR_CONTENT_H

#include <stdint.h>

/* The next number of a row; the rows of two seeds have nothing in common. */
uint64_t content_next(uint64_t *state);

/* The `size_bytes` of a content from `from` on; both are multiples of 8. */
void content_store(void *bytes, uint64_t seed, uint64_t from, uint64_t size_bytes);

/* How many of them are not what they should be; `place_out` is set to the first, from the start. */
uint64_t content_count_wrong(const void *bytes, uint64_t seed, uint64_t from, uint64_t size_bytes,
			     uint64_t *place_out);

#endif
