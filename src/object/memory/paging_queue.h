/* SPDX-License-Identifier: MIT */
/*
 * paging_queue.h - a client's ordered view of memory that moves.
 *
 * What a call starts and cannot finish at once is an operation of a paging queue. Each has a value
 * of the queue's monitored fence, in the order in which they were put in, and the fence shows the
 * value when this operation and all before it are over, however they overtook each other below:
 *
 *	call      moves something: STATUS_PENDING
 *	          paging_queue_add()  ──▶ value, for the client
 *	later     paging_operation_over(), on any thread; may come before the add, too
 *	          the oldest ones that are over ──▶ fence ──▶ operation->free()
 *
 * Clients wait for the fence like for any of theirs; they cannot signal or destroy it.
 *
 * Locks: queue->lock guards the operations. Nothing is called with it held.
 */
#ifndef OBJECT_MEMORY_PAGING_QUEUE_H
#define OBJECT_MEMORY_PAGING_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "handle/object.h"
#include "object/owner/device.h"
#include "object/fence/sync_object.h"

struct dxg_paging_queue {
	struct object object;

	/* Set at creation. Read freely afterwards. */
	struct dxg_device *device;     /* with a reference */
	struct dxg_sync_object *fence; /* the client's opening, which ends with the queue */
	struct sync_body *body;        /* of the fence, with a reference */
	int32_t priority;              /* -1 to 1, among the queues of the device */

	struct owned owned; /* dxg_device.paging_queues */

	struct lock lock;       /* LOCK_RANK_PACKET */
	struct list operations; /* paging_operation.link, oldest first */
	uint64_t last_value;    /* that was given out */
	/*
	 * Operations that were begun and are not freed, or given up. The end of the queue waits for
	 * them: with a reference each, the last one on the queue and its device could be that of
	 * an operation, on the pager's thread or in a DPC.
	 */
	uint32_t held;
	struct notice emptied;

	_Atomic bool is_ending; /* it is being destroyed: who delays something does so no more */
	struct notice ending;
};

extern const struct object_class paging_queue_class;

/* A new queue and its fence, with a reference for the caller. */
MUST_CHECK NTSTATUS paging_queue_create(struct dxg_device *device, int32_t priority,
					struct dxg_paging_queue **queue_out);

/*
 * Ends the handle, waits for what is queued, ends the fence. False when another thread was faster.
 */
MUST_CHECK bool paging_queue_destroy(struct dxg_paging_queue *queue);

/* Every queue of a device that takes no new ones. */
void paging_queue_destroy_all(struct dxg_device *device);

/* Storage of whoever starts it, until free(). */
struct paging_operation {
	void (*free)(
		struct paging_operation *operation); /* when its value is shown; no lock held */

	/* The queue's. */
	struct dxg_paging_queue *queue; /* stays until it is freed */
	uint64_t value;                 /* 0: not put in yet */
	struct list link;
	bool is_over;
};

/*
 * Before anything can end it. Refused when so much is queued that one more is above the quota, and where the queue is being
 * destroyed.
 */
MUST_CHECK NTSTATUS paging_operation_init(struct paging_operation *operation,
					  struct dxg_paging_queue *queue,
					  void (*free)(struct paging_operation *operation));

/* It was never put in and never will be; free() is not called. */
void paging_operation_abandon(struct paging_operation *operation);

/* Behind what is there; the value to wait for. The operation may be gone when this returns. */
uint64_t paging_queue_add(struct paging_operation *operation);

/* Once. Any thread, no lock held. */
void paging_operation_over(struct paging_operation *operation);

#endif
