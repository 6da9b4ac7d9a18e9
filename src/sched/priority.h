/* SPDX-License-Identifier: MIT */
/*
 * priority.h - who is next. Decides, and does nothing; no lock, no clock.
 *
 * Levels, higher first:
 *
 *	the kernel's own work
 *	by the class of the process
 *	by the priority of the context
 *
 * Within a level queues take turns, one packet each, so that nobody waits for ever. A queue with
 * in-process priority takes the turn of another queue of its process and level, never that of
 * somebody else's.
 */
#ifndef SCHED_PRIORITY_H
#define SCHED_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct sched_queue;

enum {
	PRIORITY_LOWEST = -7,
	PRIORITY_HIGHEST = 7,
	PRIORITY_STEPS = PRIORITY_HIGHEST - PRIORITY_LOWEST + 1,
	PRIORITY_CLASS_LOWEST = -2, /* 0 is that of a process of which nothing was said */
	PRIORITY_CLASS_HIGHEST = 3,
	PRIORITY_CLASSES = PRIORITY_CLASS_HIGHEST - PRIORITY_CLASS_LOWEST + 1,
	PRIORITY_SYSTEM = PRIORITY_CLASSES * PRIORITY_STEPS,
	PRIORITY_LEVELS = PRIORITY_SYSTEM + 1,
};

/* Queues that could go, sched_queue.ready_link. */
struct ready_set {
	uint64_t used[(PRIORITY_LEVELS + 63) / 64]; /* a bit per level that has a queue */
	struct list levels[PRIORITY_LEVELS];
};

uint32_t priority_level_of(const struct sched_queue *queue);

void ready_set_init(struct ready_set *set);

/* Behind the others of its level. */
void ready_set_add(struct ready_set *set, struct sched_queue *queue);
void ready_set_remove(struct ready_set *set, struct sched_queue *queue);

/* Whose turn it is; stays in the set. NULL when nobody could go. */
struct sched_queue *ready_set_best(const struct ready_set *set);

/* Somebody else in it is at least as important. */
bool ready_set_has_equal(const struct ready_set *set, const struct sched_queue *queue);

#endif
