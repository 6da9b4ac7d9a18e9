/* SPDX-License-Identifier: MIT */
/* setting.h - MODEL_… from the environment, and which step comes next. */
#ifndef TESTS_MODEL_SETTING_H
#define TESTS_MODEL_SETTING_H

#include <stdlib.h>

static inline unsigned long long setting(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* The index of one of `steps`, by their weights. */
#define WEIGHTED(run, steps)                                                                       \
	({                                                                                         \
		uint32_t weighted_total = 0;                                                       \
		for (size_t i = 0; i < sizeof(steps) / sizeof((steps)[0]); i++)                    \
			weighted_total += (steps)[i].weight;                                       \
		uint32_t weighted_left = below(run, weighted_total);                               \
		size_t weighted_index = 0;                                                         \
		while (weighted_left >= (steps)[weighted_index].weight)                            \
			weighted_left -= (steps)[weighted_index++].weight;                         \
		weighted_index;                                                                    \
	})

#endif
