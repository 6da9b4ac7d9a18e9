/* SPDX-License-Identifier: MIT */
/*
 * checked.h - arithmetic on numbers that came from outside.
 *
 * Each returns false, and leaves the result alone, when it would not fit.
 */
#ifndef BASE_CHECKED_H
#define BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

MUST_CHECK static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *sum_out)
{
	uint64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*sum_out = sum;
	return true;
}

MUST_CHECK static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *product_out)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*product_out = product;
	return true;
}

static inline bool is_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

static inline bool is_aligned(uint64_t value, uint64_t alignment)
{
	return (value & (alignment - 1)) == 0;
}

static inline uint64_t align_down(uint64_t value, uint64_t alignment)
{
	return value & ~(alignment - 1);
}

/* `alignment` is a power of two. */
MUST_CHECK static inline bool checked_align_up(uint64_t value, uint64_t alignment,
					       uint64_t *aligned_out)
{
	uint64_t sum;

	if (!checked_add(value, alignment - 1, &sum))
		return false;
	*aligned_out = align_down(sum, alignment);
	return true;
}

static inline uint64_t lower_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t higher_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
