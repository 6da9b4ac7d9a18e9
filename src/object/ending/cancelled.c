/* SPDX-License-Identifier: MIT */
#include "object/ending/cancelled.h"
#include "object/owner/device.h"
#include "object/ending/endings.h"

static void tell_driver(void *subject)
{
	struct cancelled *cancelled = subject;
	struct dxg_adapter *adapter = cancelled->of->device->adapter;

	adapter_enter_to_release(adapter);
	cancelled->tell(cancelled);
	adapter_leave(adapter);
}

/* Counts one down. Under the lock, because with the last one the context may go, and this struct with it. */
static void forget(void *subject)
{
	struct cancelled *cancelled = subject;
	struct cancellations *of = cancelled->of;
	struct dxg_device *device = of->device;

	cancelled->forget(cancelled);
	lock_acquire(&device->lock);
	of->count--;
	notice_give(&device->reaped);
	lock_release(&device->lock);
}

ENDING_KIND(cancelled_ending, "cancelled work", ENDING_OF_CANCELLED);

void cancellations_add(struct cancellations *cancellations, struct cancelled *cancelled)
{
	struct dxg_device *device = cancellations->device;

	lock_acquire(&device->lock);
	cancellations->count++;
	lock_release(&device->lock);
	cancelled->of = cancellations;
	ending_init(&cancelled->ending, &cancelled_ending, cancelled);
	cancelled->ending.holds_line = true;
	ending_start(&cancelled->ending, device, cancellations, NULL);
}

/* Waits until all are told; this thread tells those that the reaper is not at. */
void cancellations_finish(struct cancellations *cancellations)
{
	lock_acquire(&cancellations->device->lock);
	while (cancellations->count > 0)
		endings_help_relock(cancellations->device, cancellations);
	lock_release(&cancellations->device->lock);
}
