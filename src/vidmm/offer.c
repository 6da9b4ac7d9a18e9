/* SPDX-License-Identifier: MIT */
/*
 * offer.c - offer and reclaim, for what may be in GPU memory.
 *
 *   in:   a client that can do without the content for a while
 *   out:  candidates that cost nothing to drop
 *
 * The offer itself is a state of the allocation; an allocation without a place has no more to it,
 * and costs no lock but its own. With one, the place becomes a candidate when the work that was
 * queued before is over. Memory that may be decommitted hangs in its process's lists.
 *
 * Locks: the allocation's, inside it the manager's.
 */

#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/allocation.h"
#include "vidmm/blocking.h"
#include "vidmm/control.h"
#include "vidmm/states.h"

/* ---- what could be decommitted ---- */

static void decommit_unlink_locked(struct vidmm_place *place)
{
	struct vidmm_process *process = place->decommit_process;

	lock_assert_held(&place->manager->lock);
	if (!process)
		return;
	list_remove(&place->decommit_link);
	place->decommit_process = NULL;
	process->decommit_uniqueness++;
}

static void decommit_link_locked(struct vidmm_place *place, struct vidmm_process *process)
{
	lock_assert_held(&place->manager->lock);
	decommit_unlink_locked(place);
	place->decommit_process = process;
	list_push_back(&process->decommittable[place->offer_priority - VIDMM_OFFER_LOW],
		       &place->decommit_link);
	process->decommit_uniqueness++;
}

void offer_forget_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	decommit_unlink_locked(place);
}

/* ---- offer ---- */

static void offer_due_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->offer != PLACE_REPURPOSED)
		place->offer = state_step(STATES_PLACE_OFFER, place->offer, PLACE_OFFER_DUE);
	/* On its way in for somebody: nobody waits for it now. */
	if (place->state != PLACE_ENTERING)
		place_answer_locked(place, STATUS_SUCCESS);
	bindings_sort_locked(place);
}

void place_wait_over_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (--place->waits == 0 && place->offer == PLACE_OFFERED)
		offer_due_locked(place);
}

/* With a note the offer is held: it is due when the note is released, or later. */
static void offer_place_locked(struct vidmm_binding *binding, bool is_immediate,
			       struct vidmm_offer_note *note, bool *must_start_out)
{
	struct vidmm_allocation *allocation = binding->allocation;
	struct vidmm_place *place = binding_place(binding);
	/* Offered before, and away: nobody brings it back for work that may not use it. */
	bool is_away = place_offer_is_due(place) && place->state != PLACE_IN;

	lock_assert_held(&binding->device->process->manager->lock);
	place->offer_priority = allocation->offer_priority;
	*must_start_out = !is_immediate && binding_wait_locked(binding);
	/* Away from the GPU nothing can need it. */
	if (!is_away)
		place->offer = state_step(STATES_PLACE_OFFER, place->offer, PLACE_OFFERED);
	if (allocation->may_decommit)
		decommit_link_locked(place, binding->device->process);
	else
		decommit_unlink_locked(place);
	if (note) {
		place->waits++;
		note->is_held = true;
	}
	if (is_away || (!note && (is_immediate || place->waits == 0)))
		offer_due_locked(place);
	else
		bindings_sort_locked(place);
	place_settle_locked(place);
}

/* Memory that was never made resident has no place; an offer that decommits it, or waits for work, needs one. */
static bool offer_needs_place(const struct vidmm_binding *binding, bool may_decommit,
			      bool is_immediate)
{
	return may_decommit ||
	       (binding->device->process->manager->config.is_residency_by_lists && !is_immediate);
}

NTSTATUS vidmm_offer_prepare(struct vidmm_binding *binding, bool may_decommit, bool is_immediate)
{
	NTSTATUS status = STATUS_SUCCESS;

	if (offer_needs_place(binding, may_decommit, is_immediate))
		status = place_ensure(binding);
	return NT_SUCCESS(status) ? status : request_refuse(status);
}

const char *vidmm_offer_obstacle(struct vidmm_binding *binding)
{
	struct vidmm_allocation *allocation = binding->allocation;

	lock_acquire(&allocation->lock);
	const char *obstacle = allocation_offer_obstacle_locked(allocation);
	lock_release(&allocation->lock);
	return obstacle;
}

static void decommit_at_once(struct vidmm_process *process)
{
	if (UNLIKELY(vidmm_options(process->manager) & VIDMM_ALWAYS_DECOMMIT_OFFERS))
		(void)vidmm_process_decommit(process, UINT64_MAX, VIDMM_DECOMMIT_LAZILY);
}

static NTSTATUS offer_one(struct vidmm_binding *binding, enum vidmm_offer_priority priority,
			  bool may_decommit, bool is_immediate, struct vidmm_offer_note *note)
{
	struct vidmm_allocation *allocation = binding->allocation;
	struct vidmm *manager = binding->device->process->manager;
	bool must_start = false;
	NTSTATUS status = STATUS_SUCCESS;

	if (offer_needs_place(binding, may_decommit, is_immediate) &&
	    (may_decommit ||
	     atomic_load_explicit(&binding->device->owner->pending, memory_order_relaxed) > 0))
		status = place_ensure(binding);
	if (!NT_SUCCESS(status))
		return request_refuse(status);
	lock_acquire(&allocation->lock);
	if (note)
		note->was_offered = allocation->offer != VIDMM_NOT_OFFERED;
	if (LIKELY(!binding_place(binding))) {
		status = allocation_offer_locked(allocation, priority, may_decommit);
		lock_release(&allocation->lock);
		return status;
	}
	lock_acquire(&manager->lock);
	/* What has ended must not begin to wait for work. */
	bool is_ended = binding->end != BINDING_LIVES;
	status = is_ended ? STATUS_INVALID_PARAMETER
			  : allocation_offer_locked(allocation, priority, may_decommit);
	if (NT_SUCCESS(status))
		offer_place_locked(binding, is_immediate, note, &must_start);
	lock_release(&manager->lock);
	lock_release(&allocation->lock);
	if (is_ended)
		return request_refuse(status);
	if (!NT_SUCCESS(status))
		return status;
	if (must_start)
		binding_wait_start(binding);
	decide(manager);
	decommit_at_once(binding->device->process);
	return STATUS_SUCCESS;
}

NTSTATUS vidmm_binding_offer(struct vidmm_binding *binding, enum vidmm_offer_priority priority,
			     bool may_decommit, bool is_immediate)
{
	return offer_one(binding, priority, may_decommit, is_immediate, NULL);
}

NTSTATUS vidmm_binding_offer_of_list(struct vidmm_binding *binding,
				     enum vidmm_offer_priority priority, bool may_decommit,
				     bool is_immediate, struct vidmm_offer_note *note)
{
	*note = (struct vidmm_offer_note){ 0 };
	return offer_one(binding, priority, may_decommit, is_immediate, note);
}

void vidmm_offer_let_go(struct vidmm_binding *const bindings[],
			const struct vidmm_offer_note notes[], uint32_t count, bool is_immediate)
{
	struct vidmm_process *process = bindings[0]->device->process;

	lock_acquire(&process->manager->lock);
	for (uint32_t i = 0; i < count; i++) {
		struct vidmm_place *place = binding_place(bindings[i]);

		if (!notes[i].is_held)
			continue;
		place_wait_over_locked(place);
		if (is_immediate && place->offer == PLACE_OFFERED)
			offer_due_locked(place);
		place_settle_locked(place);
	}
	decide_unlock(process->manager);
	decommit_at_once(process);
}

/* ---- reclaim ---- */

/* Has the GPU nothing of it, nor a way to it? */
static bool is_out_locked(const struct vidmm_binding *binding)
{
	struct vidmm *manager = binding->device->process->manager;

	lock_assert_held(&binding->allocation->lock);
	lock_acquire(&manager->lock);
	const struct vidmm_place *place = binding_place(binding);
	bool is_out = !place || (place->state == PLACE_OUT && place_offer_is_due(place));
	lock_release(&manager->lock);
	return is_out;
}

/* What the offer came to, with what a tester wants (control.h). */
static enum vidmm_reclaim_result reclaim_memory_locked(struct vidmm_binding *binding)
{
	struct vidmm_allocation *allocation = binding->allocation;
	struct vidmm_process *process = binding->device->process;

	lock_assert_held(&allocation->lock);
	if (UNLIKELY(vidmm_options(process->manager) & VIDMM_ALWAYS_DISCARD_OFFERS) &&
	    is_out_locked(binding))
		(void)allocation_discard_locked(allocation);
	if (UNLIKELY(vidmm_process_options(process) & VIDMM_FAIL_COMMIT_ON_RECLAIM) &&
	    allocation->offer == VIDMM_DECOMMITTED)
		return VIDMM_RECLAIM_NOT_COMMITTED;
	return allocation_reclaim_locked(allocation);
}

/* Devices that list it were given no fence to wait for: they are suspended until it is back. */
static void others_wait_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	list_each (struct vidmm_binding, binding, &place->listings, place_link) {
		if (binding->need == BINDING_NEEDED)
			device_suspend_locked(binding->device);
	}
}

/* `request` waits for what comes back in; NULL: nobody does. */
static enum vidmm_reclaim_result reclaim_one(struct vidmm_binding *binding,
					     struct vidmm_request *request)
{
	struct vidmm_allocation *allocation = binding->allocation;
	struct vidmm *manager = binding->device->process->manager;

	lock_acquire(&allocation->lock);
	bool was_offered = allocation->offer != VIDMM_NOT_OFFERED;
	enum vidmm_reclaim_result result = reclaim_memory_locked(binding);
	if (!binding_place(binding) || result == VIDMM_RECLAIM_NOT_COMMITTED) {
		lock_release(&allocation->lock);
		return result;
	}
	lock_acquire(&manager->lock);
	/* Of what is being destroyed it goes under the manager's lock alone. */
	struct vidmm_place *place = binding_place(binding);
	if (!place || !was_offered) {
		/* Another thread has reclaimed it. What the CPU locked since waits for that one. */
		if (place && request && place->offer == PLACE_RECLAIMED &&
		    !place_has_cpu_lock(place))
			request_want_locked(binding, request);
		lock_release(&manager->lock);
		lock_release(&allocation->lock);
		return result;
	}
	/* It was being dropped: too late. */
	if (place->state == PLACE_LEAVING && move_drops_locked(place))
		result = VIDMM_RECLAIM_DISCARDED;
	/* Of the device's work only what comes behind the reclaim may use it again. */
	if (request && place_offer_is_due(place))
		binding_promise_locked(binding, binding->count > 0);
	if (place_is_offered(place)) /* not of what dies */
		place->offer =
			state_step(STATES_PLACE_OFFER, place->offer,
				   place->state == PLACE_IN ? PLACE_NOT_OFFERED : PLACE_RECLAIMED);
	decommit_unlink_locked(place);
	bindings_sort_locked(place);
	others_wait_locked(place);
	place_settle_locked(place);
	if (request)
		request_want_locked(binding, request);
	lock_release(&manager->lock);
	lock_release(&allocation->lock);
	if (!request) /* else that begins when all of its list are wanted */
		decide(manager);
	return result;
}

void vidmm_unoffer(struct vidmm_binding *binding)
{
	(void)reclaim_one(binding, NULL);
}

/* Has any of them a place? If none has, nothing has to come in. */
static bool has_places(struct vidmm_binding *const bindings[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (binding_place(bindings[i]))
			return true;
	}
	return false;
}

/* True when none of them has a place. One that is given a place meanwhile is handled by reclaim_one(). */
bool vidmm_reclaim_untouched(struct vidmm_binding *const bindings[], uint32_t count,
			     enum vidmm_reclaim_result results[])
{
	if (has_places(bindings, count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		results[i] = reclaim_one(bindings[i], NULL);
	return true;
}

/* ---- paying for what is reclaimed, before it is ---- */

static void pay_one_locked(struct vidmm_binding *binding, bool is_returning)
{
	lock_assert_held(&binding->device->process->manager->lock);
	binding->is_returning = is_returning;
	if (binding_place(binding))
		binding_charge_locked(binding);
}

static void pay_locked(struct vidmm_binding *const bindings[], uint32_t count, bool is_returning)
{
	bindings_assert_locked(bindings, count);
	for (uint32_t i = 0; i < count; i++)
		pay_one_locked(bindings[i], is_returning);
}

/*
 * Over the budget is no reason to refuse: the memory was given up in good faith, and the client is told
 * to trim. More than the device could ever have in place together is: it would be lost for it.
 */
static NTSTATUS reclaim_pay(struct vidmm_device *device, struct vidmm_binding *const bindings[],
			    uint32_t count)
{
	struct vidmm *manager = device->process->manager;

	lock_acquire(&manager->lock);
	pay_locked(bindings, count, true);
	uint64_t excess = budget_excess_locked(device->process, true);
	bool is_fitting = excess == 0 || device_list_fits_locked(device);
	if (!is_fitting)
		pay_locked(bindings, count, false);
	lock_release(&manager->lock);
	if (is_fitting)
		return STATUS_SUCCESS;
	return refuse(
		STATUS_NO_MEMORY, RULE_MM_BUDGET, NULL,
		"What is on the residency list and reclaimed is %llu bytes more than there is; "
		"evict as much first",
		(unsigned long long)excess);
}

/* Cannot fail for want of memory any more, except for what was decommitted. */
static NTSTATUS reclaim_prepared(struct vidmm *manager, struct vidmm_binding *const bindings[],
				 uint32_t count, enum vidmm_reclaim_result results[],
				 struct vidmm_request *request)
{
	for (uint32_t i = 0; i < count; i++)
		results[i] = reclaim_one(bindings[i], request);
	lock_acquire(&manager->lock);
	pay_locked(bindings, count, false); /* what is offered no more is paid for as it is */
	NTSTATUS status = request_start_unlock(manager, request);
	if (NT_SUCCESS(status))
		return status;
	/* Not a failure of the reclaim: whoever waits for what comes in is told so. */
	request->done(request, status);
	return STATUS_PENDING;
}

NTSTATUS vidmm_reclaim_bindings(struct vidmm_device *device, struct vidmm_binding *const bindings[],
				uint32_t count, enum vidmm_reclaim_result results[],
				struct vidmm_request *request)
{
	if (vidmm_reclaim_untouched(bindings, count, results))
		return STATUS_SUCCESS;
	NTSTATUS status = request_prepare(bindings, count, request);
	if (!NT_SUCCESS(status))
		return request_refuse(status);
	status = reclaim_pay(device, bindings, count);
	if (!NT_SUCCESS(status)) {
		mem_free(request->wants);
		request->wants = NULL;
		return status;
	}
	return reclaim_prepared(device->process->manager, bindings, count, results, request);
}

/* ---- reclaim for who has to have the memory ---- */

/* Commits its memory and keeps it committed until commit_release(). It has a place, or is being destroyed. */
static NTSTATUS commit_hold(struct vidmm_binding *binding)
{
	struct vidmm_allocation *allocation = binding->allocation;
	struct vidmm_process *process = binding->device->process;
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&allocation->lock);
	bool is_decommitted = allocation->offer == VIDMM_DECOMMITTED;
	if (is_decommitted && (vidmm_process_options(process) & VIDMM_FAIL_COMMIT_ON_RECLAIM))
		status = STATUS_NO_MEMORY;
	if (NT_SUCCESS(status))
		status = allocation_recommit_locked(allocation);
	if (NT_SUCCESS(status)) {
		lock_acquire(&process->manager->lock);
		struct vidmm_place *place = binding_place(binding);
		if (place) {
			place->reclaims++;
			place->is_recommitted |= is_decommitted;
		}
		lock_release(&process->manager->lock);
	}
	lock_release(&allocation->lock);
	return status;
}

/* Undoes commit_hold() for what is still offered. */
static void commit_release(struct vidmm_binding *binding)
{
	struct vidmm_allocation *allocation = binding->allocation;
	struct vidmm *manager = binding->device->process->manager;
	bool must_decommit = false;

	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	struct vidmm_place *place = binding_place(binding);
	if (place && --place->reclaims == 0) {
		must_decommit = place->is_recommitted;
		place->is_recommitted = false;
	}
	lock_release(&manager->lock);
	if (must_decommit && allocation->offer == VIDMM_DISCARDED)
		(void)!allocation_decommit_locked(allocation);
	lock_release(&allocation->lock);
}

static void commit_release_all(struct vidmm_binding *const bindings[], uint32_t count)
{
	while (count > 0)
		commit_release(bindings[--count]);
}

static NTSTATUS commit_hold_all(struct vidmm_binding *const bindings[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		NTSTATUS status = commit_hold(bindings[i]);

		if (!NT_SUCCESS(status)) {
			commit_release_all(bindings, i);
			return refuse(status, RULE_MM_NO_PAGES, NULL,
				      "The machine has no memory left for an allocation of %llu "
				      "bytes that was decommitted",
				      (unsigned long long)bindings[i]->allocation->size_bytes);
		}
	}
	return STATUS_SUCCESS;
}

NTSTATUS vidmm_reclaim_now(struct vidmm_device *device, struct vidmm_binding *const bindings[],
			   uint32_t count, enum vidmm_reclaim_result results[])
{
	struct vidmm *manager = device->process->manager;
	struct blocking_request blocking;

	/* What can be decommitted has a place. */
	if (vidmm_reclaim_untouched(bindings, count, results))
		return STATUS_SUCCESS;
	blocking_request_init(&blocking, manager);
	NTSTATUS status = request_prepare(bindings, count, &blocking.request);
	if (!NT_SUCCESS(status))
		return request_refuse(status);
	status = commit_hold_all(bindings, count);
	if (NT_SUCCESS(status)) {
		status = reclaim_pay(device, bindings, count);
		if (!NT_SUCCESS(status))
			commit_release_all(bindings, count);
	}
	if (!NT_SUCCESS(status)) {
		mem_free(blocking.request.wants);
		return status;
	}
	status = reclaim_prepared(manager, bindings, count, results, &blocking.request);
	commit_release_all(bindings, count);
	if (status == STATUS_PENDING && !NT_SUCCESS(blocking_request_wait(&blocking)))
		return STATUS_DEVICE_REMOVED;
	return STATUS_SUCCESS;
}

/* ---- the process's side ---- */

static uint64_t decommittable_bytes(const struct vidmm_place *place)
{
	const struct vidmm_allocation *allocation = place->allocation;

	/* In GPU memory it has no commitment; in system memory it may be in use by work. */
	if (!place_offer_is_due(place) || place->reclaims > 0 || place->pins > 0 ||
	    allocation_content(allocation) != VIDMM_CONTENT_BACKED ||
	    allocation->backing.is_clients)
		return 0;
	return allocation->size_bytes;
}

struct vidmm_offer_info vidmm_process_offer_info(struct vidmm_process *process)
{
	struct vidmm_offer_info info = { 0 };

	lock_acquire(&process->manager->lock);
	for (int i = 0; i < 3; i++) {
		list_each (struct vidmm_place, each, &process->decommittable[i], decommit_link)
			info.decommittable_bytes += decommittable_bytes(each);
	}
	info.uniqueness = process->decommit_uniqueness;
	lock_release(&process->manager->lock);
	return info;
}

enum decommit_step { DECOMMIT_NOW, DECOMMIT_LATER, DECOMMIT_NOT };

/* Memory that the GPU sees in system memory is unmapped first; nothing is moved for that. */
static enum decommit_step decommit_step_locked(struct vidmm_place *place, uint32_t flags)
{
	lock_assert_held(&place->manager->lock);
	if (decommittable_bytes(place) == 0 ||
	    ((flags & VIDMM_DECOMMIT_REPURPOSED) && place->offer != PLACE_REPURPOSED))
		return DECOMMIT_NOT;
	if (place->state == PLACE_OUT)
		return DECOMMIT_NOW;
	if (place->state != PLACE_IN)
		return flags & VIDMM_DECOMMIT_LAZILY ? DECOMMIT_NOT : DECOMMIT_LATER;
	if (place->given_up_at == place->manager->retry_generation)
		return DECOMMIT_NOT; /* it could not leave */
	place_leave_locked(place, VIDMM_LEAVES_DECOMMITTED);
	return DECOMMIT_LATER;
}

/* The first that can be decommitted, taken off its list; NULL: none can, or (`*is_later_out`) one can later. */
static struct vidmm_place *decommit_pick_locked(struct vidmm_process *process, uint32_t flags,
						bool *is_later_out)
{
	lock_assert_held(&process->manager->lock);
	*is_later_out = false;
	for (int i = 0; i < 3; i++) {
		list_each (struct vidmm_place, place, &process->decommittable[i], decommit_link) {
			enum decommit_step step = decommit_step_locked(place, flags);

			if (step == DECOMMIT_NOT)
				continue;
			*is_later_out = step == DECOMMIT_LATER;
			if (*is_later_out)
				return NULL;
			decommit_unlink_locked(place);
			place->waits++; /* it stays while it is looked at */
			return place;
		}
	}
	return NULL;
}

/*
 * False: it may not be any more. Since it was picked it may have been reclaimed, used and offered
 * again, and then there is queued work that needs its pages.
 */
static bool decommit(struct vidmm_process *process, struct vidmm_place *place)
{
	struct vidmm_allocation *allocation = place->allocation;
	bool has_gone = false;

	lock_acquire(&allocation->lock);
	lock_acquire(&process->manager->lock);
	bool may_go = decommittable_bytes(place) > 0 && place->state == PLACE_OUT;
	/* What is still offered may go later: taking memory may fail yet. */
	if (!may_go && place_is_offered(place) && allocation->may_decommit)
		decommit_link_locked(place, process);
	lock_release(&process->manager->lock);
	if (may_go)
		has_gone = allocation_decommit_locked(allocation);
	lock_release(&allocation->lock);
	return has_gone;
}

static void decommit_let_go(struct vidmm *manager, struct vidmm_place *place)
{
	lock_acquire(&manager->lock);
	place_wait_over_locked(place);
	place_settle_locked(place);
	decide_unlock(manager);
}

uint64_t vidmm_process_decommit(struct vidmm_process *process, uint64_t wanted_bytes,
				uint32_t flags)
{
	struct vidmm *manager = process->manager;
	uint64_t freed_bytes = 0;
	bool has_more = true;

	while (freed_bytes < wanted_bytes && has_more) {
		uint32_t seen = notice_read(&manager->changed);
		bool is_later;

		lock_acquire(&manager->lock);
		struct vidmm_place *place = decommit_pick_locked(process, flags, &is_later);
		decide_unlock(manager);
		if (place && decommit(process, place))
			freed_bytes += place->allocation->size_bytes;
		if (place)
			decommit_let_go(manager, place);
		if (is_later && !(flags & VIDMM_DECOMMIT_LAZILY))
			notice_wait(&manager->changed, seen, CLOCK_FOREVER);
		has_more = place || is_later;
	}
	return freed_bytes;
}
