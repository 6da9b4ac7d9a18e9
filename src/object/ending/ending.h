/* SPDX-License-Identifier: MIT */
/*
 * ending.h - how things end: by stages, in an order that stands in a table (endings.h).
 *
 * An ending goes through the stages of its kind, one after the other, each once:
 *
 *	ending_run_now()   here and now, nothing has to be waited for          the caller's thread
 *	ending_run()       … where it has to, this thread waits                the caller's thread
 *	ending_start()     … the device's line does, and nobody is kept        the adapter's reaper
 *
 * The line of a device has the endings that wait for the GPU. One runs when all that its first stage
 * has to wait for is over, those of its group that were started before have run (a resource is not
 * destroyed in the driver before an allocation of it that went earlier), and none holds the line.
 * Nobody else waits for another, whatever was destroyed before it and has to wait for work.
 *
 * Locks: the device's guards its line. An ending is moved on by one thread at a time.
 */
#ifndef OBJECT_ENDING_ENDING_H
#define OBJECT_ENDING_ENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "sched/sched.h"

struct dxg_adapter;
struct dxg_allocation;
struct dxg_device;
struct work;

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
#define ENDING_CALL(await, run, what)  run(subject); /* where all is done by one thread at once */
#define ENDING_KIND(kind, name, TABLE)                                                             \
	static const struct ending_stage kind##_stages[] = { TABLE(ENDING_STAGE) };                \
	static const struct ending_kind kind = { name, ARRAY_SIZE(kind##_stages), kind##_stages }

/* Part of what ends, or beside it. */
struct ending {
	const struct ending_kind *kind;
	void *subject; /* what the stages are given */
	uint32_t stage;

	/* What the stage has to wait for. */
	enum { ENDING_NOT_ASKED, ENDING_WAITS_FOR_IT, ENDING_MAY_RUN } state;
	_Atomic uint32_t pending; /* waits that are not over */
	struct sched_wait waits[ENDING_WAITS];
	struct sched_thread_wait thread; /* that waits is told when all of them are */

	/* Of one that was started. */
	struct dxg_device *device;   /* with a reference; NULL: a thread goes through it */
	const void *group;           /* those of one keep their order; NULL: it is alone */
	_Atomic uint32_t *over_word; /* set when it is over, for who waits; NULL: nobody does */
	bool holds_line;             /* set before: none runs that does not, until it is over */

	/* Guarded by the device's lock. */
	struct list link;       /* dxg_device.endings */
	struct list ready_link; /* dxg_device.ready_endings */
};

void ending_init(struct ending *ending, const struct ending_kind *kind, void *subject);

/* Goes through all stages, none of which has anything to wait for. */
void ending_run_now(const struct ending_kind *kind, void *subject);

/*
 * Goes through all stages that are left, on this thread, which waits where it has to. False, with
 * `gives_up`: the owner is lost, so that what is waited for may never be over while this thread stands
 * here; another one goes on from there. After true the ending may be gone.
 */
MUST_CHECK bool ending_run(struct ending *ending, struct sched_owner *owner, bool gives_up);

/* ---- a device's line ---- */

/* Each calls wait->over() exactly once, on any thread, before it returns or later, no lock held. */
struct work_source {
	/* Nothing is queued on `device`: nothing has to wait for its work. */
	bool (*is_idle)(struct work_source *source, struct dxg_device *device);

	/* Paging operations may touch this one. */
	bool (*is_paged)(struct work_source *source, const struct dxg_allocation *allocation);

	/* When everything queued on `device` so far is over. */
	void (*after_device)(struct work_source *source, struct dxg_device *device,
			     struct sched_wait *wait);

	/* When every paging operation queued on the adapter so far is over. */
	void (*after_paging)(struct work_source *source, struct dxg_adapter *adapter,
			     struct sched_wait *wait);
};

/*
 * Begins to wait for what the first stage has to; the adapter's reaper does the rest. `group` and
 * `over_word` may be NULL. The ending may be gone when this returns. Any thread, DPC included; the
 * caller sees to it that the device stays.
 */
void ending_start(struct ending *ending, struct dxg_device *device, const void *group,
		  _Atomic uint32_t *over_word);

/* Until the word of one that was started is set. */
void ending_await(_Atomic uint32_t *over_word);

/* It is being seen to, or about to be. The device's lock is held. */
bool ending_is_due_locked(const struct dxg_device *device, const struct ending *ending);

/*
 * Goes through one of the group, if one is ready, on this thread, else waits until something changes in
 * the line. For who may be the reaper, and so cannot wait for it. Drops and retakes the device's lock:
 * the line may be another then.
 */
void endings_help_relock(struct dxg_device *device, const void *group);

/* Returns when nothing is left of what was started on the device. */
void endings_wait(struct dxg_device *device);

/* A device's turn at the reaper: runs what is ready. */
void endings_run(struct work *work);

#endif
