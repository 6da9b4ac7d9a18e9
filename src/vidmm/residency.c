/* SPDX-License-Identifier: MIT */
/*
 * residency.c - make-resident counts per device, and evict.
 *
 *   in:   a device's list grows and shrinks, a call at a time
 *   out:  who has to be in place, and what the budget says
 *
 * A call is judged whole before it counts: everything is listed, the budget is looked at, and if it
 * does not fit, everything is taken off again under the same lock, so nobody saw it. What is in
 * place already costs one lock and no system call.
 *
 * Evict at the earliest opportunity means: when the work that the device had queued by then is
 * over. Until then it stays on the list, and a make-resident just counts.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "trace/trace.h"
#include "vidmm/control.h"
#include "vidmm/keep.h"
#include "vidmm/place.h"
#include "vidmm/table_states.h"

/* ---- a device and its lists ---- */

/* True while something is missing that its work may use. */
static bool device_must_wait(const struct vidmm_device *device)
{
	return device->needed_count > 0 || !vidmm_tables_are_in(device->process);
}

void device_settle_locked(struct vidmm_device *device)
{
	struct vidmm *manager = device->process->manager;
	bool is_whole = list_is_empty(&device->absent) && list_is_empty(&device->moving) &&
			vidmm_tables_are_in(device->process);

	lock_assert_held(&device->process->manager->lock);
	if (is_whole || device->is_lost) {
		list_remove(&device->waiter.link);
		device->was_compacted = false;
		device->supply = state_step(STATES_DEVICE_SUPPLY, device->supply, DEVICE_SUPPLIED);
	} else if (!list_is_linked(&device->waiter.link)) {
		list_push_back(&manager->waiters, &device->waiter.link);
	}
	/*
	 * What a call has asked for is used by work behind its fence only. Work in front of it does
	 * not wait for it: there may be no room before that work is over.
	 */
	if (!device->is_suspended || (device_must_wait(device) && !device->is_lost))
		return;
	device->is_suspended = false;
	device->slice_end_ns = clock_deadline(manager->config.slice_ns);
	device->resumes++;
	device_act_locked(device);
}

bool binding_is_paid_for(const struct vidmm_binding *binding)
{
	return binding_asked(binding) > 0 && binding->device->stage != DEVICE_ENDING &&
	       (!place_is_offered(binding_place(binding)) || binding->is_returning);
}

void binding_charge_locked(struct vidmm_binding *binding)
{
	bool is_charged = binding_is_paid_for(binding);
	int64_t bytes = (int64_t)binding->allocation->size_bytes;

	lock_assert_held(&binding->device->process->manager->lock);
	if (is_charged == binding->is_charged)
		return;
	binding->is_charged = is_charged;
	budget_charge_locked(binding->device->process, (enum vidmm_group)binding->group,
			     is_charged ? bytes : -bytes);
}

static void bindings_charge_locked(const struct vidmm *manager, const struct list *bindings)
{
	lock_assert_held(&manager->lock);
	list_each (struct vidmm_binding, each, bindings, device_link)
		binding_charge_locked(each);
}

void device_charge_locked(struct vidmm_device *device)
{
	lock_assert_held(&device->process->manager->lock);
	bindings_charge_locked(device->process->manager, &device->resident);
	bindings_charge_locked(device->process->manager, &device->absent);
	bindings_charge_locked(device->process->manager, &device->moving);
}

static void binding_set_need_locked(struct vidmm_binding *binding, enum binding_need need)
{
	struct vidmm_device *device = binding->device;

	lock_assert_held(&device->process->manager->lock);
	device->needed_count -= binding->need == BINDING_NEEDED;
	device->promised_count -= binding->need == BINDING_PROMISED;
	binding->need = state_step(STATES_BINDING_NEED, binding->need, need);
	device->needed_count += need == BINDING_NEEDED;
	device->promised_count += need == BINDING_PROMISED;
}

void binding_promise_locked(struct vidmm_binding *binding, bool is_promised)
{
	lock_assert_held(&binding->device->process->manager->lock);
	if (is_promised)
		binding_set_need_locked(binding, BINDING_PROMISED);
}

void binding_sort_locked(struct vidmm_binding *binding)
{
	struct vidmm_device *device = binding->device;
	struct vidmm_place *place = binding_place(binding);
	struct list *list = &device->resident;
	bool is_out = place_is_wanted(place) && !device->is_lost && place->state != PLACE_IN;

	lock_assert_held(&binding->device->process->manager->lock);
	list_remove(&binding->device_link);
	if (is_out)
		list = place->state == PLACE_OUT ? &device->absent : &device->moving;
	device->awaited_count -= binding->is_absent && !list_is_empty(&place->wants);
	binding->is_absent = binding->count > 0 && list == &device->absent;
	device->awaited_count += binding->is_absent && !list_is_empty(&place->wants);
	if (binding->count == 0 || place->state == PLACE_IN)
		binding_set_need_locked(binding, BINDING_NOT_MISSED);
	else if (binding->need != BINDING_PROMISED)
		binding_set_need_locked(binding, is_out ? BINDING_NEEDED : BINDING_NOT_MISSED);
	if (binding->count > 0)
		list_push_back(list, &binding->device_link);
	binding_charge_locked(binding);
	device_settle_locked(device);
}

/* Sets how often a device lists it, with one trace event; the place counts devices. */
static void binding_set_count_locked(struct vidmm_binding *binding, uint32_t count)
{
	struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	if (binding->count == 0 && count > 0)
		place->list_count++;
	if (binding->count > 0 && count == 0)
		place->list_count--;
	binding->count = count;
	trace_allocation_listed(binding->allocation->id, count, place->list_count);
}

void binding_list_locked(struct vidmm_binding *binding, enum vidmm_group group)
{
	struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	binding_set_count_locked(binding, binding->count + 1);
	if (binding->count > 1) {
		binding_charge_locked(binding);
		return;
	}
	/* Another list, and another way to put it together. */
	binding->device->was_compacted = false;
	binding->group = (uint8_t)group;
	place->group = group;
	list_push_back(&place->listings, &binding->place_link);
	binding_sort_locked(binding);
	place_settle_locked(place);
	if (place->state == PLACE_IN)
		place_use_locked(place);
}

void binding_unlist_locked(struct vidmm_binding *binding)
{
	struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	assert(binding->count > 0);
	binding_set_count_locked(binding, binding->count - 1);
	if (binding->count > 0) {
		binding_charge_locked(binding);
		return;
	}
	binding->device->was_compacted = false;
	if (!binding->leaves_clean)
		place_written_locked(place);
	list_remove(&binding->place_link);
	binding_sort_locked(binding);
	/* Nobody brings it in any more: who waited for it has nothing to wait for. */
	if (place->state == PLACE_OUT && !place_is_wanted(place))
		place_answer_locked(place, STATUS_SUCCESS);
}

void vidmm_device_has_work(struct vidmm_device *device)
{
	struct vidmm *manager = device->process->manager;

	if (LIKELY(!atomic_load_explicit(&device->is_suspended, memory_order_relaxed)))
		return;
	decide(manager);
}

/* ---- make resident ---- */

/* The quick way: all of it is in place and listed already, so that only the counts go up. False: it is not. */
static bool list_settled_locked(struct vidmm_binding *const bindings[], uint32_t count)
{
	bindings_assert_locked(bindings, count);
	for (uint32_t i = 0; i < count; i++) {
		struct vidmm_place *place = binding_place(bindings[i]);

		if (binding_asked(bindings[i]) == 0 || bindings[i]->count > UINT32_MAX - count ||
		    place->state != PLACE_IN)
			return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		binding_set_count_locked(bindings[i], bindings[i]->count + 1);
		bindings[i]->leaves_clean = false;
		place_copy_open_locked(binding_place(bindings[i]));
	}
	return true;
}

bool binding_could_be_resident_locked(struct vidmm_binding *binding)
{
	enum vidmm_group group;

	lock_assert_held(&binding->device->process->manager->lock);
	return binding->count > 0 || placement_group_locked(binding, &group);
}

void binding_need_locked(struct vidmm_binding *binding)
{
	struct vidmm_place *place = binding_place(binding);
	enum vidmm_group group = VIDMM_LOCAL;

	lock_assert_held(&binding->device->process->manager->lock);
	if (binding->count == 0 && !placement_group_locked(binding, &group))
		return; /* looked at before, and segments do not shrink */
	binding_list_locked(binding, group);
	place_set_wanted_locked(place);
	place_copy_open_locked(place);
	if (place->state != PLACE_IN)
		device_suspend_locked(binding->device);
}

static void list_take_off_locked(struct vidmm_binding *const bindings[], uint32_t count)
{
	bindings_assert_locked(bindings, count);
	while (count > 0) {
		struct vidmm_binding *binding = bindings[--count];

		if (binding_asked(binding) == 0)
			continue; /* evicted by another thread meanwhile */
		binding_unlist_locked(binding);
		place_settle_locked(binding_place(binding));
	}
}

/* They are listed again: what was said about them when they were evicted counts no longer. */
static void list_make_needed_locked(struct vidmm_binding *const bindings[], uint32_t count)
{
	bindings_assert_locked(bindings, count);
	for (uint32_t i = 0; i < count; i++) {
		struct vidmm_place *place = binding_place(bindings[i]);

		bindings[i]->leaves_clean = false;
		place_set_wanted_locked(place);
		place_copy_open_locked(place);
	}
}

static uint64_t usage_of(const struct vidmm_process *process)
{
	return process->usage_bytes[VIDMM_LOCAL] + process->usage_bytes[VIDMM_NON_LOCAL];
}

/* Why a list cannot be resident. */
enum obstacle { OBSTACLE_NONE, OVER_BUDGET, TOO_OFTEN, NO_SEGMENT, LOCKED_OUTSIDE, NO_NOTES };

static enum obstacle binding_add_locked(struct vidmm_binding *binding)
{
	struct vidmm_place *place = binding_place(binding);
	enum vidmm_group group = VIDMM_LOCAL;

	lock_assert_held(&binding->device->process->manager->lock);
	if (binding->count == UINT32_MAX)
		return TOO_OFTEN;
	if (binding->count == 0 && !placement_group_locked(binding, &group))
		return NO_SEGMENT;
	NTSTATUS status = roles_let_in_locked(place);
	if (!NT_SUCCESS(status))
		return status == STATUS_NO_MEMORY ? NO_NOTES : LOCKED_OUTSIDE;
	/* What could not go before is tried again. */
	if (place->stay == PLACE_MISPLACED)
		place->given_up_at = 0;
	binding_promise_locked(binding, binding->count == 0);
	binding_list_locked(binding, group);
	return OBSTACLE_NONE;
}

/* Lists all of them. A process that was over its budget already, and uses no more now, is not refused for it. */
static enum obstacle list_add_locked(struct vidmm_binding *const bindings[], uint32_t count,
				     uint32_t flags, uint64_t *excess_out, uint32_t *at_out)
{
	struct vidmm_process *process = bindings[0]->device->process;
	uint64_t usage_before = usage_of(process);
	enum obstacle obstacle = OBSTACLE_NONE;
	uint32_t added = 0;

	lock_assert_held(&process->manager->lock);
	while (added < count) {
		obstacle = binding_add_locked(bindings[added]);
		if (obstacle != OBSTACLE_NONE)
			break;
		added++;
	}
	*excess_out = 0;
	*at_out = added;
	if (!(flags & VIDMM_WHATEVER_THE_BUDGET) && usage_of(process) > usage_before)
		*excess_out = budget_excess_locked(process, flags & VIDMM_CANT_TRIM_FURTHER);
	if (obstacle == OBSTACLE_NONE && *excess_out > 0)
		obstacle = OVER_BUDGET;
	if (obstacle == OBSTACLE_NONE) {
		list_make_needed_locked(bindings, count);
		return obstacle;
	}
	/* What it would take: the same as being over by all that can never be there. */
	if (*excess_out == 0 && added < count)
		*excess_out = bindings[added]->allocation->size_bytes;
	list_take_off_locked(bindings, added);
	return obstacle;
}

static uint64_t list_bytes(struct vidmm_binding *const bindings[], uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += bindings[i]->allocation->size_bytes;
	return bytes;
}

static bool has_ended_locked(struct vidmm_binding *const bindings[], uint32_t count)
{
	bindings_assert_locked(bindings, count);
	for (uint32_t i = 0; i < count; i++) {
		if (bindings[i]->end != BINDING_LIVES)
			return true;
	}
	return false;
}

NTSTATUS request_refuse(NTSTATUS status)
{
	if (status == STATUS_INVALID_PARAMETER)
		return refuse(status, RULE_API_HANDLE, NULL,
			      "An allocation was destroyed during the call");
	return refuse(STATUS_NO_MEMORY, RULE_MM_NO_PAGES, NULL,
		      "There is no memory to write down what is to be resident");
}

static NTSTATUS refuse_list(struct vidmm *manager, enum obstacle obstacle, uint32_t at,
			    uint64_t excess_bytes)
{
	static const char *const reasons[] = {
		[LOCKED_OUTSIDE] = "is locked, and could only be where the CPU does not see it",
		[NO_SEGMENT] = "is larger than any segment that it supports",
		[TOO_OFTEN] = "is resident as often as can be counted",
	};

	if (obstacle == OVER_BUDGET)
		return budget_refuse(manager, excess_bytes);
	if (obstacle == NO_NOTES)
		return request_refuse(STATUS_NO_MEMORY);
	return refuse_item(STATUS_NO_MEMORY,
			   obstacle == LOCKED_OUTSIDE ? RULE_MM_LOCK_PLACE : RULE_MM_NO_ROOM,
			   "AllocationList", at, "%s", reasons[obstacle]);
}

/* Everything was listed, and one of them could not be brought in. */
static NTSTATUS refuse_move(NTSTATUS obstacle)
{
	if (obstacle == STATUS_INSUFFICIENT_RESOURCES)
		return refuse(STATUS_NO_MEMORY, RULE_MM_NO_MAPPINGS, "AllocationList",
			      "names locked memory, and the host has no mapping left to move it");
	if (obstacle == STATUS_GRAPHICS_CANT_LOCK_MEMORY)
		return refuse(STATUS_NO_MEMORY, RULE_MM_LOCK_PLACE, "AllocationList",
			      "names locked memory, and the driver opens no window for it");
	if (!NT_SUCCESS(obstacle))
		return refuse(STATUS_NO_MEMORY, RULE_MM_NO_PAGES, "AllocationList",
			      "names memory that the machine has none left to move");
	return refuse(STATUS_NO_MEMORY, RULE_MM_NO_ROOM, "AllocationList",
		      "finds no room: what is in its segments is in use, pinned or held by a lock");
}

static NTSTATUS refuse_resident(NTSTATUS status, const struct vidmm_request *request)
{
	if (status == STATUS_DEVICE_REMOVED)
		return refuse(status, RULE_API_DEVICE_GONE, "hPagingQueue",
			      "belongs to a device that is lost");
	if (status == STATUS_INVALID_PARAMETER)
		return request_refuse(status);
	return refuse_move(request->obstacle);
}

static NTSTATUS make_resident_slowly(struct vidmm_device *device,
				     struct vidmm_binding *const bindings[], uint32_t count,
				     uint32_t flags, struct vidmm_request *request,
				     uint64_t *bytes_to_trim_out)
{
	struct vidmm *manager = device->process->manager;
	NTSTATUS status = request_prepare(bindings, count, request);
	enum obstacle obstacle = OBSTACLE_NONE;
	uint32_t at = 0;

	*bytes_to_trim_out = list_bytes(bindings, count);
	if (!NT_SUCCESS(status))
		return request_refuse(status);
	*bytes_to_trim_out = 0;
	request->can_be_refused = true;
	lock_acquire(&manager->lock);
	if (device->is_lost)
		status = STATUS_DEVICE_REMOVED;
	else if (has_ended_locked(bindings, count))
		status = STATUS_INVALID_PARAMETER;
	else
		obstacle = list_add_locked(bindings, count, flags, bytes_to_trim_out, &at);
	bool is_listed = NT_SUCCESS(status) && obstacle == OBSTACLE_NONE;
	for (uint32_t i = 0; is_listed && i < count; i++)
		request_want_locked(bindings[i], request);
	if (is_listed) {
		status = request_start_unlock(manager, request);
		if (NT_SUCCESS(status))
			return status;
		lock_acquire(&manager->lock);
		list_take_off_locked(bindings, count);
		/* Of a device that was lost meanwhile no trimming would help. */
		if (device->is_lost)
			status = STATUS_DEVICE_REMOVED;
		else
			*bytes_to_trim_out = list_bytes(bindings, count);
	}
	decide_unlock(manager);
	mem_free(request->wants);
	request->wants = NULL;
	return obstacle != OBSTACLE_NONE ? refuse_list(manager, obstacle, at, *bytes_to_trim_out)
					 : refuse_resident(status, request);
}

bool vidmm_count_resident(struct vidmm_device *device, struct vidmm_binding *const bindings[],
			  uint32_t count)
{
	struct vidmm *manager = device->process->manager;

	lock_acquire(&manager->lock);
	bool is_settled = !device->is_lost && list_settled_locked(bindings, count);
	lock_release(&manager->lock);
	return is_settled;
}

NTSTATUS vidmm_make_resident(struct vidmm_device *device, struct vidmm_binding *const bindings[],
			     uint32_t count, uint32_t flags, struct vidmm_request *request,
			     uint64_t *bytes_to_trim_out)
{
	if (count == 0 || vidmm_count_resident(device, bindings, count))
		return STATUS_SUCCESS;
	return make_resident_slowly(device, bindings, count, flags, request, bytes_to_trim_out);
}

/* ---- evict ---- */

/* Index of the first that would go below zero; `count` when none would. */
static uint32_t first_below_zero(struct vidmm_binding *const bindings[], uint32_t count)
{
	uint32_t first = 0;

	/* One may be listed several times: count down, and up again. */
	while (first < count && binding_asked(bindings[first]) > 0)
		bindings[first++]->count--;
	for (uint32_t i = 0; i < first; i++)
		bindings[i]->count++;
	return first;
}

/* True while it has queued work; of a lost device only what the hardware has counts. */
static bool device_has_work(const struct vidmm_device *device)
{
	return atomic_load_explicit(&device->owner->pending, memory_order_acquire) > 0;
}

/*
 * Work that is queued finds it, and so do updates that show it (keep.h). It stays on the list for
 * that, so that it can go for others and come back: held for work that has to wait for them, it
 * would be in their way for ever.
 */
static bool must_be_kept(const struct vidmm_binding *binding)
{
	return binding->count == 1 && (binding->keeps > 0 || device_has_work(binding->device));
}

static void unlist_as_told_locked(struct vidmm_binding *binding, bool leaves_soon)
{
	struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	binding_unlist_locked(binding);
	if (place->list_count > 0)
		return;
	if (place->copy != PLACE_COPY_OLD &&
	    (place->allocation->traits.is_kept_in_system || place->allocation->backing.is_clients))
		place->copy = state_step(STATES_PLACE_COPY, place->copy, PLACE_COPY_GOOD);
	place_set_evicted_locked(place, leaves_soon);
}

static void kept_release_locked(struct vidmm_binding *binding)
{
	lock_assert_held(&binding->device->process->manager->lock);
	bool leaves_soon = binding->keep == BINDING_KEPT_TO_LEAVE;

	if (!binding_is_kept(binding) || binding->keeps > 0)
		return;
	binding_set_keep_locked(binding, BINDING_NOT_KEPT);
	unlist_as_told_locked(binding, leaves_soon);
}

/* Marks it destroyed when its last binding was retired and no work that was queued before can use it. */
static void content_end_locked(const struct vidmm_binding *binding)
{
	lock_assert_held(&binding->device->process->manager->lock);
	struct vidmm_place *place = binding_place(binding);

	if (binding->end == BINDING_RETIRED_LAST && binding->waiting == BINDING_WAITS_FOR_NOTHING &&
	    binding->count == 0 && place->end == PLACE_LIVES)
		place->end = state_step(STATES_PLACE_END, place->end, PLACE_DESTROYED);
}

void binding_release_kept_locked(struct vidmm_binding *binding)
{
	lock_assert_held(&binding->device->process->manager->lock);
	if (!binding_is_kept(binding) || binding->waiting != BINDING_WAITS_FOR_NOTHING)
		return;
	kept_release_locked(binding);
	content_end_locked(binding);
	place_settle_locked(binding_place(binding));
}

static void evict_one_locked(struct vidmm_binding *binding, uint32_t flags)
{
	bool leaves_soon = !(flags & VIDMM_EVICT_ONLY_IF_NECESSARY);
	bool must_keep = must_be_kept(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	binding->leaves_clean |= (flags & VIDMM_EVICT_NOT_WRITTEN_TO) != 0;
	if (must_keep || binding_is_kept(binding)) /* the last eviction counts */
		binding_set_keep_locked(binding,
					leaves_soon ? BINDING_KEPT_TO_LEAVE : BINDING_KEPT);
	if (must_keep)
		binding_charge_locked(binding);
	else
		unlist_as_told_locked(binding, leaves_soon);
}

/* True when nobody lists it any more, and it leaves or is about to. */
static bool binding_is_going_locked(const struct vidmm_binding *binding)
{
	const struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	if (!place || place->list_count > binding_is_kept(binding))
		return false;
	/* An update may be waiting for who asks. */
	if (binding_is_kept(binding))
		return binding->keep == BINDING_KEPT_TO_LEAVE && binding->keeps == 0;
	if (place->state == PLACE_LEAVING)
		return true;
	return (place->state == PLACE_IN || place->state == PLACE_SHIFTING) &&
	       place->stay == PLACE_LEAVES_SOON && !place->allocation->traits.is_pinned &&
	       !roles_hold(place);
}

static bool any_is_going_locked(struct vidmm_binding *const bindings[], uint32_t count)
{
	bindings_assert_locked(bindings, count);
	for (uint32_t i = 0; i < count; i++) {
		if (binding_is_going_locked(bindings[i]))
			return true;
	}
	return false;
}

static void wait_until_gone(struct vidmm *manager, struct vidmm_binding *const bindings[],
			    uint32_t count)
{
	lock_acquire(&manager->lock);
	while (any_is_going_locked(bindings, count))
		notice_wait_relock(&manager->changed, &manager->lock);
	lock_release(&manager->lock);
}

NTSTATUS vidmm_evict(struct vidmm_device *device, struct vidmm_binding *const bindings[],
		     uint32_t count, uint32_t flags, uint64_t *bytes_to_trim_out)
{
	struct vidmm *manager = device->process->manager;
	uint32_t options = vidmm_process_options(device->process);

	if (options & VIDMM_NEVER_DEFER_EVICTIONS)
		flags &= ~(uint32_t)VIDMM_EVICT_ONLY_IF_NECESSARY;
	lock_acquire(&manager->lock);
	uint32_t wrong = first_below_zero(bindings, count);
	if (wrong < count) {
		lock_release(&manager->lock);
		return invalid_item(RULE_MM_EVICT_COUNT, "AllocationList", wrong,
				    "is not resident on this device as often as that");
	}
	for (uint32_t i = 0; i < count; i++)
		evict_one_locked(bindings[i], flags);
	*bytes_to_trim_out = budget_excess_locked(device->process, false);
	/* Work that is queued may use it. Started one by one: what is called there may take our
	 * lock.
	 */
	for (uint32_t i = 0; i < count; i++) {
		struct vidmm_binding *binding = bindings[i];

		if (binding->end != BINDING_LIVES || binding_asked(binding) > 0)
			continue;
		if (binding_wait_locked(binding)) {
			lock_release(&manager->lock);
			binding_wait_start(binding);
			lock_acquire(&manager->lock);
		} else if (binding->waiting == BINDING_WAITS_FOR_NOTHING) {
			kept_release_locked(binding); /* the work is over meanwhile */
		}
		if (binding->count == 0 && binding->end == BINDING_LIVES)
			place_settle_locked(binding_place(binding));
	}
	decide_unlock(manager);
	if (options & VIDMM_EVICT_SYNCHRONOUSLY)
		wait_until_gone(manager, bindings, count);
	return STATUS_SUCCESS;
}

/* ---- waiting for work ---- */

static void binding_wait_over(struct sched_wait *wait)
{
	struct vidmm_binding *binding = container_of(wait, struct vidmm_binding, wait);
	struct vidmm *manager = binding->device->process->manager;

	lock_acquire(&manager->lock);
	bool must_wait_again = binding->waiting == BINDING_WAITS_AGAIN;
	binding->waiting = state_step(STATES_BINDING_WAIT, binding->waiting,
				      must_wait_again ? BINDING_WAITS : BINDING_WAITS_FOR_NOTHING);
	if (must_wait_again) {
		lock_release(&manager->lock);
		binding_wait_start(binding);
		return;
	}
	struct vidmm_place *place = binding_place(binding);
	manager->retry_generation++;
	place_wait_over_locked(place);
	kept_release_locked(binding);
	content_end_locked(binding);
	manager->plan.has_changes = true;
	place_settle_locked(place);
	decide_later_unlock(manager);
}

bool binding_wait_locked(struct vidmm_binding *binding)
{
	struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	/* As of now: what is queued later may wait for what happens when this is over. */
	binding->wait_ticket = sched_owner_tickets(binding->device->owner);
	if (binding->waiting != BINDING_WAITS_FOR_NOTHING) {
		binding->waiting =
			state_step(STATES_BINDING_WAIT, binding->waiting, BINDING_WAITS_AGAIN);
		return false;
	}
	if (!device_has_work(binding->device))
		return false;
	binding->waiting = state_step(STATES_BINDING_WAIT, binding->waiting, BINDING_WAITS);
	binding->wait_end_ns = clock_deadline(place->manager->config.slice_ns);
	place->waits++;
	return true;
}

void binding_wait_start(struct vidmm_binding *binding)
{
	binding->wait.over = binding_wait_over;
	sched_after_ticket(binding->device->owner, binding->wait_ticket, &binding->wait);
}

/* ---- what the client destroys ---- */

/* Takes it off the list whatever its count, as an eviction of all counts would; queued work keeps it likewise. */
static void unlist_whole_locked(struct vidmm_binding *binding, bool is_in_use)
{
	lock_assert_held(&binding->device->process->manager->lock);
	if (binding->count == 0)
		return;
	binding_set_count_locked(binding, 1);
	/* Its end takes it away, or who needs its room. */
	binding_set_keep_locked(binding, is_in_use && must_be_kept(binding) ? BINDING_KEPT
									    : BINDING_NOT_KEPT);
	if (binding_is_kept(binding))
		binding_charge_locked(binding);
	else
		binding_unlist_locked(binding);
}

/* True: binding_wait_start() is due. */
static bool retire_locked(struct vidmm_binding *binding, bool is_in_use, bool is_last)
{
	struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	/* For calls that have it in hand. */
	if (!place) {
		binding->end = state_step(STATES_BINDING_END, binding->end, BINDING_ENDED);
		return false;
	}
	binding->end = state_step(STATES_BINDING_END, binding->end,
				  is_last ? BINDING_RETIRED_LAST : BINDING_RETIRED);
	place->retired++;
	if (is_last)
		offer_forget_locked(place);
	if (!is_in_use)
		keep_forget_binding_locked(binding);
	unlist_whole_locked(binding, is_in_use);
	bool must_start = is_in_use && binding_wait_locked(binding);
	content_end_locked(binding);
	place_settle_locked(place);
	return must_start;
}

void vidmm_binding_retire(struct vidmm_binding *binding, bool is_in_use, bool is_last)
{
	if (!binding->device)
		return;
	struct vidmm *manager = binding->device->process->manager;
	lock_acquire(&manager->lock);
	if (retire_locked(binding, is_in_use, is_last)) {
		lock_release(&manager->lock);
		binding_wait_start(binding);
		lock_acquire(&manager->lock);
	}
	decide_unlock(manager);
}
