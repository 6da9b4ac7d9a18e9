/* SPDX-License-Identifier: MIT */
/*
 * actions.c - doing what was decided.
 *
 *   in:   lists of places, devices, requests: decided under the manager's lock
 *   out:  jobs queued, owners resumed, callers told; nobody holds a lock meanwhile
 *
 * What ends at once (nothing to move) is brought back under the lock and may let others go on, so
 * it goes round until nothing is left. Ways out first: they make the room that others wait for.
 */
#include "base/mem.h"
#include "vidmm/place.h"

void actions_init(struct actions *actions)
{
	list_init(&actions->leaving);
	list_init(&actions->shifting);
	list_init(&actions->entering);
	list_init(&actions->tables);
	list_init(&actions->devices);
	list_init(&actions->requests);
	list_init(&actions->departures);
	list_init(&actions->news);
	list_init(&actions->windows);
	actions->has_changes = false;
}

/* Moves that are over already: places, by what became of them. */
struct ended {
	struct list in;
	struct list out;
	struct list stayed;
	struct list unmoved;
	struct list failed;
};

static struct vidmm_place *place_pop(struct list *places)
{
	struct list *link = list_pop_front(places);

	return link ? container_of(link, struct vidmm_place, action_link) : NULL;
}

static void moves_start(struct actions *actions, struct ended *ended)
{
	struct vidmm_place *place;

	while ((place = place_pop(&actions->leaving))) {
		enum move_result result = move_out_start(place);

		if (result != MOVE_QUEUED)
			list_push_back(result == MOVE_DONE ? &ended->out : &ended->stayed,
				       &place->action_link);
	}
	while ((place = place_pop(&actions->shifting))) {
		if (move_shift_start(place) != MOVE_QUEUED)
			list_push_back(&ended->unmoved, &place->action_link);
	}
	while ((place = place_pop(&actions->entering))) {
		enum move_result result = move_in_start(place);

		if (result != MOVE_QUEUED)
			list_push_back(result == MOVE_DONE ? &ended->in : &ended->failed,
				       &place->action_link);
	}
}

static void moves_end_locked(struct ended *ended, struct actions *actions)
{
	struct vidmm_place *place;

	while ((place = place_pop(&ended->out)))
		place_out_locked(place, actions);
	while ((place = place_pop(&ended->stayed)))
		place_stay_locked(place, actions);
	while ((place = place_pop(&ended->unmoved)))
		place_settle_down_locked(place, false, actions);
	while ((place = place_pop(&ended->in)))
		place_arrive_locked(place, actions);
	while ((place = place_pop(&ended->failed)))
		place_turn_back_locked(place, actions);
}

static void requests_answer(struct list *requests)
{
	struct list *link;

	while ((link = list_pop_front(requests))) {
		struct vidmm_request *request = container_of(link, struct vidmm_request, link);

		mem_free(request->wants);
		request->wants = NULL;
		request->done(request, request->status);
	}
}

static void departures_answer(struct list *departures)
{
	struct list *link;

	while ((link = list_pop_front(departures))) {
		struct vidmm_departure *departure =
			container_of(link, struct vidmm_departure, link);

		departure->done(departure);
	}
}

void device_act_locked(struct vidmm_device *device, struct actions *actions)
{
	lock_assert_held(&device->process->manager->lock);
	if (list_is_linked(&device->action_link))
		return;
	device->action_count++;
	list_push_back(&actions->devices, &device->action_link);
}

/* What is to be told about a device. */
struct device_news {
	uint32_t resumes;
	bool is_starved;
	bool is_yielding;
};

static struct vidmm_device *device_pop(struct vidmm *manager, struct list *devices,
				       struct device_news *news_out)
{
	struct vidmm_device *device = NULL;
	struct list *link;

	lock_acquire(&manager->lock);
	link = list_pop_front(devices);
	if (link) {
		device = container_of(link, struct vidmm_device, action_link);
		*news_out = (struct device_news){
			.resumes = device->resumes,
			.is_starved = device->must_tell_starved,
			.is_yielding = device->must_ask_sched,
		};
		device->resumes = 0;
		device->must_tell_starved = false;
		device->must_ask_sched = false;
	}
	lock_release(&manager->lock);
	return device;
}

static void devices_tell(struct vidmm *manager, struct list *devices)
{
	struct vidmm_device *device;
	struct device_news news;

	while (!list_is_empty(devices) && (device = device_pop(manager, devices, &news))) {
		for (; news.resumes > 0; news.resumes--)
			sched_owner_resume(device->owner);
		if (news.is_yielding)
			sched_after_submitted(device->owner, &device->yield);
		if (news.is_starved && manager->config.listener.device_starved)
			manager->config.listener.device_starved(manager->config.listener_context,
								device);
		lock_acquire(&manager->lock);
		device->action_count--;
		lock_release(&manager->lock);
	}
}

static bool actions_have_any(const struct actions *actions)
{
	return !list_is_empty(&actions->leaving) || !list_is_empty(&actions->shifting) ||
	       !list_is_empty(&actions->entering) || !list_is_empty(&actions->tables) ||
	       !list_is_empty(&actions->devices) || !list_is_empty(&actions->requests) ||
	       !list_is_empty(&actions->departures) || !list_is_empty(&actions->news) ||
	       !list_is_empty(&actions->windows);
}

void actions_run_unlock(struct vidmm *manager, struct actions *actions)
{
	struct ended ended;

	list_init(&ended.in);
	list_init(&ended.out);
	list_init(&ended.stayed);
	list_init(&ended.unmoved);
	list_init(&ended.failed);
	for (;;) {
		lock_assert_held(&manager->lock);
		room_look_locked(manager, actions);
		budget_news_locked(manager, actions);
		lock_release(&manager->lock);
		if (!actions_have_any(actions))
			break;

		if (!list_is_empty(&actions->devices) || !list_is_empty(&actions->news))
			actions->has_changes = true;
		windows_close(&actions->windows, actions);
		moves_start(actions, &ended);
		tables_move(&actions->tables);
		devices_tell(manager, &actions->devices);
		requests_answer(&actions->requests);
		departures_answer(&actions->departures);
		budget_tell(manager, &actions->news);
		if (actions->has_changes)
			notice_give(&manager->changed);
		actions->has_changes = false;

		lock_acquire(&manager->lock);
		moves_end_locked(&ended, actions);
	}
	if (actions->has_changes)
		notice_give(&manager->changed);
}
