/* SPDX-License-Identifier: MIT */
/*
 * request.c - calls that wait until allocations are in place.
 *
 *	request_prepare() ──▶ request_want_locked(), for each ──▶ request_start_unlock(): had at once, refused, or PENDING
 *	                                 ▼                                                                      │
 *	                      place_answer_locked(): it is there, or never will be ── the last one ──▶ answered by the plan
 */
#include "base/mem.h"
#include "vidmm/place.h"

/* Calls wait for it from now on, or do not any more: devices that miss it know how much they miss is waited for. */
static void count_awaited_locked(struct vidmm_place *place, bool is_awaited)
{
	lock_assert_held(&place->manager->lock);
	list_each (struct vidmm_binding, each, &place->listings, place_link) {
		if (each->is_absent && is_awaited)
			each->device->awaited_count++;
		else if (each->is_absent)
			each->device->awaited_count--;
	}
}

NTSTATUS request_prepare(struct vidmm_binding *const bindings[], uint32_t count,
			 struct vidmm_request *request)
{
	for (uint32_t i = 0; i < count; i++) {
		NTSTATUS status = place_ensure(bindings[i]);

		if (!NT_SUCCESS(status))
			return status;
	}
	/* One more, so that it cannot end before request_start_unlock() has looked what can be had
	 * at once.
	 */
	request->pending = 1;
	request->can_be_refused = false;
	request->want_count = 0;
	request->status = STATUS_SUCCESS;
	request->obstacle = STATUS_SUCCESS;
	request->wants = mem_zalloc_array(count, sizeof(*request->wants));
	return request->wants ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

void request_want_locked(struct vidmm_binding *binding, struct vidmm_request *request)
{
	struct vidmm_place *place = binding_place(binding);

	lock_assert_held(&binding->device->process->manager->lock);
	if (binding->end != BINDING_LIVES || place->state == PLACE_IN || !place_is_wanted(place))
		return;
	/* Nobody brings it in for a device that is lost. */
	if (!place_is_needed(place))
		return;
	/* It is asked for anew, so it is tried again. */
	place->given_up_at = 0;
	struct vidmm_want *want = &request->wants[request->want_count++];
	want->request = request;
	want->place = place;
	if (list_is_empty(&place->wants))
		count_awaited_locked(place, true);
	list_push_back(&place->wants, &want->link);
	request->pending++;
}

static void want_end_locked(struct vidmm_want *want)
{
	if (!list_is_linked(&want->link))
		return; /* it was answered, and its place may be gone */
	lock_assert_held(&want->place->manager->lock);
	list_remove(&want->link);
	if (list_is_empty(&want->place->wants))
		count_awaited_locked(want->place, false);
}

NTSTATUS request_start_unlock(struct vidmm *manager, struct vidmm_request *request)
{
	struct vidmm_want *wants = request->wants;

	lock_assert_held(&manager->lock);
	decide_unlock(manager);

	lock_acquire(&manager->lock);
	NTSTATUS status = request->status;
	bool is_over = --request->pending == 0 || !NT_SUCCESS(status);
	/* What cannot all be had is had by nobody: the rest is not waited for. */
	for (uint32_t i = 0; is_over && i < request->want_count; i++)
		want_end_locked(&wants[i]);
	request->can_be_refused = false;
	lock_release(&manager->lock);
	if (!is_over)
		return STATUS_PENDING;
	request->wants = NULL;
	mem_free(wants);
	return status;
}

void place_answer_locked(struct vidmm_place *place, NTSTATUS status)
{
	struct list *link;

	lock_assert_held(&place->manager->lock);
	if (!list_is_empty(&place->wants))
		count_awaited_locked(place, false);
	while ((link = list_pop_front(&place->wants))) {
		struct vidmm_request *request =
			container_of(link, struct vidmm_want, link)->request;

		if (!NT_SUCCESS(status)) {
			request->status = status;
			request->obstacle = place->move.turned_back;
		}
		if (--request->pending == 0)
			plan_add(&place->manager->plan, PLAN_REQUESTS, &request->link);
	}
}
