/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "evict/history.h"

/* Uses count half after so many ticks. */
enum { HALVING = 1 << 16, STEP = HALVING / 16 };

static const float right_at_first = 0.5F;
static const float right_at_least = 0.55F;

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

/* 2 to the power of -time / HALVING. */
static float faded(uint64_t time)
{
	static const float parts[HALVING / STEP] = {
		1.0F,        0.95760328F, 0.91700404F, 0.87812608F, 0.84089642F, 0.80524517F,
		0.77110541F, 0.73841307F, 0.70710678F, 0.67712777F, 0.64841978F, 0.62092891F,
		0.59460356F, 0.56939432F, 0.54525387F, 0.52213689F,
	};
	uint64_t halvings = time / HALVING;
	float within = (float)(time % STEP) / (float)STEP;

	if (halvings > 30)
		return 0;
	return parts[time % HALVING / STEP] * (1 - 0.0424F * within) /
	       (float)(UINT32_C(1) << halvings);
}

static void count(struct evict_history *history, uint64_t interval, uint64_t now)
{
	float lately = (float)HALVING / 0.6931472F * (1 - faded(now));

	history->uses = history->uses * faded(interval) + 1;
	history->mean = 1 + (uint32_t)(lately / history->uses);
}

static bool is_near(uint64_t interval, uint64_t expected)
{
	uint64_t off = interval > expected ? interval - expected : expected - interval;

	return expected != 0 && off <= expected / 8 + 2;
}

static void judge(struct evict_history *history, uint64_t interval)
{
	bool is_right = is_near(interval, history->interval) || is_near(interval, history->gap);

	history->right += ((is_right ? 1.0F : 0.0F) - history->right) / 4;
}

static void learn(struct evict_history *history, uint32_t interval)
{
	uint32_t mean = history->interval;

	if (mean == 0) {
		history->interval = interval;
		return;
	}
	judge(history, interval);
	if (interval > longest_interval(history)) {
		history->gap = history->gap ? approach(history->gap, interval, 2) : interval;
	} else {
		uint32_t deviation = interval > mean ? interval - mean : mean - interval;

		history->deviation = approach(history->deviation, deviation, 4);
		history->interval = approach(mean, interval, 4);
	}
}

bool evict_history_is_irregular(const struct evict_history *history)
{
	return history->right < right_at_least;
}

void evict_history_use(struct evict_history *history, uint64_t now)
{
	uint64_t interval = now - history->last_use;
	bool is_first = history->uses == 0;

	assert(is_first || now >= history->last_use);
	if (is_first)
		history->right = right_at_first;
	else if (interval == 0)
		return;
	else
		learn(history, interval < UINT32_MAX ? (uint32_t)interval : UINT32_MAX);
	count(history, interval, now);
	history->last_use = now;
}
