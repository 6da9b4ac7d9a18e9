/* SPDX-License-Identifier: MIT */
/*
 * random.h - repeatable pseudo-random numbers (xoshiro256**, seeded by splitmix64).
 *
 * The caller owns the state, so two users never disturb each other's sequence. Not for secrets.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state[4];
};

void random_init(struct random *random, uint64_t seed);
uint64_t random_next(struct random *random);

/* Uniform in [0, bound); bound is not zero. */
uint64_t random_below(struct random *random, uint64_t bound);

#endif
