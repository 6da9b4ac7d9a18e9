/* SPDX-License-Identifier: MIT */
/*
 * worker.h - a named thread with a queue.
 *
 * A work item belongs to whoever posts it and may be posted again as soon as it runs; while it is
 * queued a second post does nothing and says so.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <stdbool.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/thread.h"

struct work {
	struct list link;
	void (*run)(struct work *work);
};

struct worker {
	struct thread *thread;
	struct notice changed;

	struct lock lock;  /* LOCK_RANK_WORKER */
	struct list queue; /* work.link */
	bool is_stopping;
};

void work_init(struct work *work, void (*run)(struct work *work));

MUST_CHECK NTSTATUS worker_init(struct worker *worker, const char *name);

/* Runs what is queued, then ends the thread. Accepts a zeroed struct. */
void worker_finish(struct worker *worker);

/* False when it was queued already. */
bool worker_post(struct worker *worker, struct work *work);

/* Takes it back if it has not started; true when it was queued. */
bool worker_cancel(struct worker *worker, struct work *work);

/* Returns when everything posted before has run. Not from the worker itself. */
void worker_flush(struct worker *worker);

#endif
