/* SPDX-License-Identifier: MIT */
/*
 * history.h - how often something is used, in a few bytes.
 *
 *	uses   | | | | |                         | | | | |
 *	        interval      gap                          interval
 *
 * Rows of uses at about equal intervals, with gaps between the rows; or, where they are not equal,
 * how many there were of late. The history belongs to the thing itself and goes on while it is in
 * no segment.
 */
#ifndef EVICT_HISTORY_H
#define EVICT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: never used. */
struct evict_history {
	uint64_t last_use;
	uint32_t interval;  /* mean of late; 0 until there were two uses */
	uint32_t deviation; /* of intervals from it, mean of late        */
	uint32_t gap;       /* mean of late; 0 until there was one       */
	uint32_t mean;      /* time of late / uses of late               */
	float uses;         /* of late: old ones fade; 0: never          */
	float right;        /* how many of the returns came when interval or gap said so, 0 to 1 */
};

/* `now` never goes back. Twice at the same moment is once. */
void evict_history_use(struct evict_history *history, uint64_t now);

/* Its row of uses is over: it was not used for longer than intervals are. */
bool evict_history_is_lapsed(const struct evict_history *history, uint64_t now);

/* Intervals and gaps do not tell when it comes back: only how often it does. */
bool evict_history_is_irregular(const struct evict_history *history);

#endif
