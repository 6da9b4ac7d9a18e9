/* SPDX-License-Identifier: MIT */
/*
 * allocation_list_turns.c - lists that are in place, and somebody who waits for their room.
 *
 *	somebody waits ──▶ a slice later: the device is suspended ──▶ the hardware has nothing of it
 *	──▶ its lists let go ──▶ it is resumed, and its packets prepare their lists again
 *
 * Work that is short lets go of its list by itself. Work that never ends does not, nor does a row of
 * packets in which each is prepared before the one in front of it is over. A suspended device's work
 * is preempted (sched/turns.c), and what was preempted needs its memory only when it is submitted
 * again. It is prepared again behind whoever waited, so that all of them take turns.
 *
 * Locks: the manager's.
 */
#include "vidmm/allocation_list_turns.h"
#include "vidmm/room_parts.h"

void list_is_ready_locked(struct vidmm_allocation_list *list)
{
	lock_assert_held(&list->device->process->manager->lock);
	list_push_back(&list->device->process->manager->ready_lists, &list->ready_link);
	list->device->ready_list_count++;
}

void list_is_not_ready_locked(struct vidmm_allocation_list *list)
{
	struct vidmm_device *device = list->device;

	lock_assert_held(&list->device->process->manager->lock);
	list_remove(&list->ready_link);
	if (--device->ready_list_count == 0)
		device->lists_end_ns = 0;
}

/* ---- letting go ---- */

static void on_nothing_submitted(struct sched_wait *wait)
{
	struct vidmm_device *device = container_of(wait, struct vidmm_device, yield);
	struct vidmm *manager = device->process->manager;

	lock_acquire(&manager->lock);
	list_each_safe (struct vidmm_allocation_list, list, &manager->ready_lists, ready_link) {
		if (list->device == device)
			list_return_locked(list);
	}
	manager->retry_generation++;
	device->lists = state_step(STATES_DEVICE_LISTS, device->lists, DEVICE_KEEPS_LISTS);
	device->lists_end_ns = 0;
	device->resumes++;
	device_act_locked(device);
	device->plan_count--; /* device_yield_locked()'s; there is one for the resume */
	decide_later_unlock(manager);
}

void device_yield_locked(struct vidmm_device *device)
{
	lock_assert_held(&device->process->manager->lock);
	if (device->lists != DEVICE_KEEPS_LISTS || device->is_lost || device->ready_list_count == 0)
		return;
	device->lists = state_step(STATES_DEVICE_LISTS, device->lists, DEVICE_MUST_YIELD);
	device->yield.over = on_nothing_submitted;
	device->plan_count++; /* it stays until that was called */
	sched_owner_suspend(device->owner);
	device_act_locked(device);
}

/* ---- asking for it ---- */

static bool list_is_in(const struct vidmm_allocation_list *list, uint32_t segments)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct vidmm_place *place = binding_place(list->entries[i].binding);

		if (segments & UINT32_C(1) << (place->segment->id - 1))
			return true;
	}
	return false;
}

void lists_take_turns_locked(const struct room_search *search, uint32_t segments,
			     struct retry_hint *hint)
{
	struct vidmm *manager = search->manager;

	lock_assert_held(&search->manager->lock);
	list_each (const struct vidmm_allocation_list, list, &manager->ready_lists, ready_link) {
		struct vidmm_device *device = list->device;

		if (device->lists != DEVICE_KEEPS_LISTS || !list_is_in(list, segments))
			continue;
		if (device->lists_end_ns == 0)
			device->lists_end_ns = clock_deadline(manager->config.slice_ns);
		if (search->now_ns < device->lists_end_ns)
			retry_hint_until(hint, device->lists_end_ns);
		else
			device_yield_locked(device);
	}
}
