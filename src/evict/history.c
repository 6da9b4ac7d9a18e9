/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "evict/history.h"

/* What is regular is missed soon, what is not only after four times its mean. */
static uint64_t longest_interval(const struct evict_history *history)
{
	uint64_t mean = history->interval;
	uint64_t regular = mean + mean / 8 + UINT64_C(4) * history->deviation;

	return regular < 4 * mean ? regular : 4 * mean;
}

bool evict_history_is_lapsed(const struct evict_history *history, uint64_t now)
{
	return history->interval != 0 && now - history->last_use > longest_interval(history);
}

/* A part of the way from `mean` to `value`. */
static uint32_t approach(uint32_t mean, uint32_t value, int64_t part)
{
	return (uint32_t)(mean + ((int64_t)value - mean) / part);
}

static void learn(struct evict_history *history, uint32_t interval)
{
	uint32_t mean = history->interval;

	if (mean == 0) {
		history->interval = interval;
	} else if (interval > longest_interval(history)) {
		history->gap = history->gap ? approach(history->gap, interval, 2) : interval;
	} else {
		uint32_t deviation = interval > mean ? interval - mean : mean - interval;

		history->deviation = approach(history->deviation, deviation, 4);
		history->interval = approach(mean, interval, 4);
	}
}

void evict_history_use(struct evict_history *history, uint64_t now)
{
	uint64_t interval = now - history->last_use;

	assert(!history->is_used || now >= history->last_use);
	if (history->is_used && interval > 0)
		learn(history, interval < UINT32_MAX ? (uint32_t)interval : UINT32_MAX);
	history->last_use = now;
	history->is_used = true;
}
