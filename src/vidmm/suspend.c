/* SPDX-License-Identifier: MIT */
/*
 * suspend.c - a process that stands still for a while: its work waits, its memory is others'.
 *
 *   in:   a process that a tester suspends, or lets go on
 *   out:  devices held, places that leave and stay out
 *
 * What the hardware has of it is done first. What only its devices list leaves, and is not brought
 * back before it goes on; calls that wait for that wait so long. Its lists and counts stay, but of
 * what others may have it claims only what it has reserved.
 *
 * A device is held on its own account: it may be suspended for want of memory as well (place.c),
 * and the scheduler counts both.
 *
 * Locks: the manager's.
 */
#include <assert.h>

#include "base/refusal.h"
#include "vidmm/control.h"
#include "vidmm/allocation_list_turns.h"
#include "vidmm/place.h"
#include "vidmm/table_states.h"

/* ---- devices ---- */

static void device_hold_locked(struct vidmm_device *device)
{
	lock_assert_held(&device->process->manager->lock);
	if (device->stage != DEVICE_OPEN)
		return;
	device->stage = state_step(STATES_DEVICE_STAGE, device->stage, DEVICE_HELD);
	atomic_store(&device->may_wake, device->process->wakes_on_work);
	sched_owner_suspend(device->owner);
	device_yield_locked(device);
}

static void device_let_go_locked(struct vidmm_device *device, enum device_stage next)
{
	bool was_held = device->stage == DEVICE_HELD;

	lock_assert_held(&device->process->manager->lock);
	if (was_held || next == DEVICE_ENDING)
		device->stage = state_step(STATES_DEVICE_STAGE, device->stage, next);
	if (!was_held)
		return;
	atomic_store(&device->may_wake, false);
	device->resumes++;
	device_act_locked(device);
}

void vidmm_device_begin(struct vidmm_device *device)
{
	struct vidmm *manager = device->process->manager;

	lock_acquire(&manager->lock);
	assert(vidmm_tables_are_in(device->process));
	list_push_back(&device->process->devices, &device->link);
	device->stage = state_step(STATES_DEVICE_STAGE, device->stage, DEVICE_OPEN);
	if (device->process->is_suspended)
		device_hold_locked(device);
	decide_unlock(manager);
}

void vidmm_device_end(struct vidmm_device *device)
{
	struct vidmm *manager = device->process->manager;

	lock_acquire(&manager->lock);
	device_let_go_locked(device, DEVICE_ENDING);
	device_charge_locked(device);
	manager->retry_generation++;
	decide_unlock(manager);
}

/* ---- memory ---- */

/* True when only devices list it that are held or lost. */
static bool is_held_only(const struct vidmm_place *place)
{
	list_each (struct vidmm_binding, each, &place->listings, place_link) {
		const struct vidmm_device *device = each->device;

		if (device->stage != DEVICE_HELD && !device->is_lost)
			return false;
	}
	return true;
}

/* Unpins what submissions of held devices have pinned while they wait for the rest of their lists. */
static void lists_loosen_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	list_each (struct vidmm_waiter, waiter, &manager->waiters, link) {
		struct vidmm_allocation_list *list =
			container_of(waiter, struct vidmm_allocation_list, waiter);

		if (waiter->kind == VIDMM_WAITER_LIST && list->device->stage == DEVICE_HELD)
			list_loosen_locked(list);
	}
}

static void places_leave_locked(const struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	list_each (struct vidmm_place, place, &process->manager->places, all_link) {
		if (place->state == PLACE_IN && place->eviction.is_resident &&
		    place_is_of(place, process) && is_held_only(place))
			place_leave_locked(place, VIDMM_LEAVES_SUSPENDED);
	}
}

/* ---- the process ---- */

NTSTATUS vidmm_process_suspend(struct vidmm_process *process, bool wakes_on_work)
{
	struct vidmm *manager = process->manager;

	lock_acquire(&manager->lock);
	if (process->is_suspended) {
		lock_release(&manager->lock);
		return invalid(RULE_MM_CONTROL, "hProcess", "is suspended already");
	}
	process->is_suspended = true;
	process->wakes_on_work = wakes_on_work;
	list_each (struct vidmm_device, each, &process->devices, link)
		device_hold_locked(each);
	budget_recount_locked(manager);
	lists_loosen_locked(manager);
	places_leave_locked(process);
	manager->retry_generation++;
	decide_unlock(manager);
	manager_settle(manager, false);
	return STATUS_SUCCESS;
}

/* False: it is not suspended. */
static bool process_go_on(struct vidmm_process *process)
{
	struct vidmm *manager = process->manager;

	lock_acquire(&manager->lock);
	bool was_suspended = process->is_suspended;
	process->is_suspended = false;
	if (was_suspended) {
		list_each (struct vidmm_device, each, &process->devices, link)
			device_let_go_locked(each, DEVICE_OPEN);
		budget_recount_locked(manager);
		/* What it used before it stood still counts as used. */
		trim_now_locked(process, VIDMM_TRIM_RESTART_PERIODIC);
		manager->retry_generation++;
	}
	decide_unlock(manager);
	return was_suspended;
}

NTSTATUS vidmm_process_resume(struct vidmm_process *process)
{
	if (!process_go_on(process))
		return invalid(RULE_MM_CONTROL, "hProcess", "is not suspended");
	return STATUS_SUCCESS;
}

void vidmm_device_wake_slowly(struct vidmm_device *device)
{
	(void)process_go_on(device->process);
}
