/* SPDX-License-Identifier: MIT */
/*
 * survey.h - one recount of the kernel (validate.h): who holds what, as far as it is known, and the
 * first thing that is wrong.
 *
 *	validate.c       objects, lists and handles, memory
 *	validate_work.c  what queued work and destruction that waits for it hold
 *	validate_adapter.c  the parts of an adapter, and what they count of each other
 */
#ifndef OBJECT_CHECK_SURVEY_H
#define OBJECT_CHECK_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/memory/allocation.h"
#include "object/memory/resource.h"

/* One for each time that somebody holds `item`. */
struct holder {
	void *item;
	uint32_t locks; /* of an allocation that holds memory */
};

struct holders {
	struct holder *all;
	size_t count;
	size_t capacity;
};

struct survey {
	char *wrong;
	size_t wrong_size;
	bool is_wrong;
	bool tells_all; /* one line each, as far as there is room; else the first thing alone */
	size_t told;    /* bytes of `wrong` */

	/* Of the process that is looked at. */
	uint32_t found_count; /* objects that are found by their handles */
	struct holders devices;
	struct holders called; /* struct object, one per call that rests and holds it */

	struct holders allocation_bodies; /* one per dxg_allocation */
	struct holders opened;            /* struct share, one per opening */
	struct holders bundled;           /* struct share, one per NT handle's bundle */
	struct holders awaited;           /* struct share, one per wait by an event or in a queue */
	struct holders drivers;           /* struct vidmm_allocation that no client made */
	struct holders shared_by_packets; /* what several packets have, once each */
	struct holders kept;              /* allocation_body that may go meanwhile, with a looker */
	struct holders kept_shares;       /* struct share, likewise, with a reference */
	struct holders kept_buffers;      /* struct dma_buffer, likewise */

	/* Of the device that is looked at. */
	uint32_t ending_fences; /* of the device that is looked at */
	struct holders leaving; /* dxg_resource, one per allocation of it whose destruction waits */
	struct holders named;   /* dxg_allocation, one per entry of a queued submission's list */
};

/* The first thing that is wrong is the one that is told, unless all of them are. */
void survey_wrong(struct survey *survey, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void survey_hold_with(struct survey *survey, struct holders *holders, void *item, uint32_t locks);
void survey_hold(struct survey *survey, struct holders *holders, void *item);

/* Gives everything back. */
void survey_finish(struct survey *survey);

void holders_sort(struct holders *holders);

/* How often it is held, and with how many locks together (may be NULL). They are sorted. */
uint32_t holders_count(const struct holders *holders, const void *item, uint64_t *locks_out);

/* The next item after a run of equal ones. */
size_t holders_next(const struct holders *holders, size_t index);

/* ---- validate_work.c ---- */

/*
 * What is queued on the device holds these bodies and lists these allocations, and so does what
 * waits to be destroyed. Returns how many references on the device those have that wait. The
 * device's lock is held; `leaving` and `named` are sorted afterwards.
 */
uint32_t survey_work_locked(struct survey *survey, struct dxg_device *device);

/* Updates of GPU addresses that wait for a fence. */
void survey_updates(struct survey *survey, struct process_adapter *process_adapter);

/* ---- validate_adapter.c ---- */

/* Scheduler, pager, memory manager. */
void survey_adapter(struct survey *survey, struct dxg_adapter *adapter);

/* What is counted beside its lists; its lock is held. Of a process, when its objects were found. */
void survey_device_counts_locked(struct survey *survey, struct dxg_device *device);
void survey_process_counts(struct survey *survey, struct dxg_process *process);

#endif
