/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/random.h"

static uint64_t rotate_left(uint64_t value, int bits)
{
	return (value << bits) | (value >> (64 - bits));
}

void random_init(struct random *random, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		seed += 0x9e3779b97f4a7c15u;
		uint64_t mixed = seed;
		mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
		mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
		random->state[i] = mixed ^ (mixed >> 31);
	}
}

uint64_t random_next(struct random *random)
{
	uint64_t *s = random->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
	assert(bound != 0);

	/* Values below `uneven` would favour small results; draw again. */
	uint64_t uneven = -bound % bound;
	uint64_t value;

	do {
		value = random_next(random);
	} while (value < uneven);
	return value % bound;
}
