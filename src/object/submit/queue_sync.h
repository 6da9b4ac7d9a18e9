/* SPDX-License-Identifier: MIT */
/*
 * queue_sync.h - waits and signals in the queues of contexts, and in hardware queues.
 *
 * A wait holds what is queued behind it until all its objects let it through: fences that are
 * reached, mutexes and semaphores that it takes, all of them or none. A signal happens when
 * everything in front of it is over; in several queues, when all of them have come to it.
 *
 * Queued ones hold the bodies, not the handles: destroying a handle changes nothing for them.
 */
#ifndef OBJECT_SUBMIT_QUEUE_SYNC_H
#define OBJECT_SUBMIT_QUEUE_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "object/fence/event.h"
#include "object/fence/sync_object.h"
#include "object/submit/work_target.h"

struct queue_sync_item {
	struct dxg_sync_object *object;
	uint64_t value; /* of a fence */
};

/* The objects may be waited for (the caller looked). */
MUST_CHECK NTSTATUS queue_sync_wait(const struct work_target *target,
				    const struct queue_sync_item *items, uint32_t count);

struct queue_sync_signal {
	const struct queue_sync_item *items;
	uint32_t item_count;
	struct event event; /* set with the others, or EVENT_NONE; taken over when it succeeds */
	bool is_early;      /* when what is in front was submitted (SignalAtSubmission) */
	bool is_rewind;     /* AllowFenceRewind */
};

/* In every queue of the list, which all are of one device and on one adapter. All or none. */
MUST_CHECK NTSTATUS queue_sync_signal(const struct work_target *targets, uint32_t target_count,
				      const struct queue_sync_signal *signal);

/*
 * For kernel_validate(): the bodies that a queued packet holds, none when it is neither a wait nor
 * a signal; and what several packets of one signal hold together, NULL when it is no signal.
 */
void queue_sync_for_each_body(struct sched_packet *packet,
			      void (*look)(void *context, struct sync_body *body), void *context);
void *queue_sync_group(struct sched_packet *packet);

#endif
