/* SPDX-License-Identifier: MIT */
/*
 * cancelled.c - see cancelled.h.
 */
#include "base/clock.h"
#include "object/cancelled.h"
#include "object/device.h"
#include "object/ending.h"

/* With the last one it is over: under the lock, for the context may go then. */
static struct cancelled *next_cancelled(struct cancellations *cancellations)
{
	lock_acquire(&cancellations->lock);
	struct list *link = list_pop_front(&cancellations->all);
	if (!link) {
		cancellations->is_telling = false;
		notice_give(&cancellations->changed);
	}
	lock_release(&cancellations->lock);
	return link ? container_of(link, struct cancelled, link) : NULL;
}

static void tell_all(struct cancellations *cancellations)
{
	struct dxg_device *device = cancellations->device;
	struct cancelled *cancelled;

	while ((cancelled = next_cancelled(cancellations))) {
		adapter_enter_to_release(device->adapter);
		cancelled->tell(cancelled);
		adapter_leave(device->adapter);
		cancelled->forget(cancelled);
		endings_release(device);
	}
}

static void tell_run(struct work *work)
{
	tell_all(container_of(work, struct cancellations, work));
}

void cancellations_init(struct cancellations *cancellations, struct dxg_device *device)
{
	*cancellations = (struct cancellations){ .device = device };
	lock_init(&cancellations->lock, LOCK_RANK_PACKET, "cancelled submissions");
	list_init(&cancellations->all);
	work_init(&cancellations->work, tell_run);
}

/* The reaper may be at it; if not, it may be this thread. */
void cancellations_finish(struct cancellations *cancellations)
{
	if (worker_cancel(&cancellations->device->adapter->reaper, &cancellations->work))
		tell_all(cancellations);
	lock_acquire(&cancellations->lock);
	while (cancellations->is_telling)
		notice_wait_relock(&cancellations->changed, &cancellations->lock);
	lock_release(&cancellations->lock);
	lock_finish(&cancellations->lock);
}

void cancellations_add(struct cancellations *cancellations, struct cancelled *cancelled)
{
	endings_hold(cancellations->device);
	lock_acquire(&cancellations->lock);
	list_push_back(&cancellations->all, &cancelled->link);
	bool must_post = !cancellations->is_telling;
	cancellations->is_telling = true;
	lock_release(&cancellations->lock);
	if (must_post)
		(void)worker_post(&cancellations->device->adapter->reaper, &cancellations->work);
}
