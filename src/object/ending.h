/* SPDX-License-Identifier: MIT */
/*
 * ending.h - how things end: by stages, in an order that stands in a table (endings.h).
 *
 * A stage has something that must be over before it, or nothing, and something that is done then.
 * An ending goes through the stages of its kind, one after the other, each once.
 *
 * Locks: none. An ending is moved on by one thread at a time.
 */
#ifndef OBJECT_ENDING_H
#define OBJECT_ENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "sched/sched.h"

enum { ENDING_WAITS = 2 }; /* what one stage may have to wait for at once */

struct ending_stage {
	const char *what; /* is done, or over */

	/* Asks for what must be over before it; says how many of `waits` will be told. Each is told
	   once, on any thread, perhaps before this returns. NULL: nothing is waited for. */
	uint32_t (*await)(void *subject, struct sched_wait *waits);

	/* With no lock held. The last one may free the subject. NULL: this was only a wait. */
	void (*run)(void *subject);
};

struct ending_kind {
	const char *name;
	uint32_t count;
	const struct ending_stage *stages;
};

/* From a table of endings.h. */
#define ENDING_STAGE(await, run, what) { what, await, run },
#define ENDING_KIND(kind, name, TABLE)                                                             \
	static const struct ending_stage kind##_stages[] = { TABLE(ENDING_STAGE) };                \
	static const struct ending_kind kind = { name, ARRAY_SIZE(kind##_stages), kind##_stages }

/* Part of what ends, or beside it. */
struct ending {
	const struct ending_kind *kind;
	void *subject; /* what the stages are given */
	uint32_t stage;
	bool is_waiting; /* the stage's waits were asked for, and this thread or … */
	struct sched_patience patience; /* … another one waits for all of them together */
	_Atomic uint32_t pending;       /* of them that are not over */
	struct sched_wait waits[ENDING_WAITS];
};

void ending_init(struct ending *ending, const struct ending_kind *kind, void *subject);

/*
 * Goes through all stages that are left, on this thread, which waits where it has to. False, with
 * `gives_up`: the owner is lost, so that what is waited for may never be over while this thread stands
 * here; another one goes on from there. After true the ending may be gone.
 */
MUST_CHECK bool ending_run(struct ending *ending, struct sched_owner *owner, bool gives_up);

#endif
