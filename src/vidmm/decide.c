/* SPDX-License-Identifier: MIT */
/*
 * decide.c - the one place that decides about an adapter's memory.
 *
 *   in:   what has happened: a list grew, work is over, a job is done, time has passed
 *   out:  a plan (plan.h), carried out
 *
 * Who makes something happen writes it down under the manager's lock and posts it with
 * decide_unlock(). There decide_locked() turns all that has happened into a plan: whose turn it is,
 * room for him, victims where there is none, answers for who waited. The plan is taken, and without
 * the lock:
 *
 *	prepare     each move takes what it needs: pages, runs, an MDL, a window. One that cannot have it turns
 *	            back, and that has happened, too: the next look knows it.
 *	            So does what finds no memory in decide_locked() itself (ROOM_NO_MEMORY).
 *	carry out   jobs go to the pager, owners are resumed, callers are answered. Cannot fail. Of many moves
 *	            the pager has the first ones while others are prepared.
 *
 * What ends at once lets others go on, so it goes round until a look finds nothing to do. The lock
 * makes decisions one after the other; who carries a plan out holds up nobody. That is a client's
 * thread, the pager's or the manager's own, never a driver's: what its completions post the
 * manager's own thread decides (decide_later_unlock()).
 *
 * What needs no decision never comes here: counting what is resident up and down, offers of what is
 * nowhere.
 *
 * MakeResident of what has no room, from the call to the fence, in ten functions:
 *
 *	 1  vidmm_make_resident()    lists it, judges the budget: it is absent, its device a waiter
 *	 2  decide_unlock()          that is posted; all of the rest is decided here
 *	 3  room_look_locked()       the device's turn: no segment has room for it (room.c)
 *	 4  room_victim()            the policy's choice (evict.h) among those who may go
 *	 5  room_evict_locked()      it is LEAVING: its devices are suspended, it is in the plan
 *	 6  move_prepare()           the plan is taken: pages and runs for its way out (move.c)
 *	 7  move_start()             a job of the pager, behind work that uses it. When the pager has built
 *	                             it, that is posted (2), and the room can be taken over
 *	 8  place_enter_locked()     the next look (3) finds the room: ENTERING, prepared and started
 *	                             likewise (6, 7), behind the way out
 *	 9  job_done()               the bytes are there: IN; the request is answered by the plan (2)
 *	10  paging_operation_over()  which its answer calls (vidmm_request.done): the paging queue signals
 *	                             its fence (object/memory/paging_queue.c)
 */
#include "base/log.h"
#include "base/mem.h"
#include "vidmm/place.h"

/* ---- moves ---- */

enum { MOVES_AT_ONCE = 16 };

/* Moves that end without a job: nothing had to be moved, or it could not begin. */
struct ended {
	struct list done;
	struct list failed;
};

static struct vidmm_place *place_pop(struct list *places)
{
	struct list *link = list_pop_front(places);

	return link ? container_of(link, struct vidmm_place, plan_link) : NULL;
}

/* Moves that are ready for a job go to `ready_out`; what ended or failed at once to `ended`. */
static void moves_prepare(struct list *places, struct list *ready_out, struct ended *ended)
{
	struct vidmm_place *place;

	for (uint32_t i = 0; i < MOVES_AT_ONCE && (place = place_pop(places)); i++) {
		enum move_result result = move_prepare(place);

		list_push_back(result == MOVE_READY  ? ready_out
			       : result == MOVE_DONE ? &ended->done
						     : &ended->failed,
			       &place->plan_link);
	}
}

static void moves_start(struct vidmm *manager, struct list *places)
{
	struct vidmm_place *place;
	struct list jobs;

	list_init(&jobs);
	mem_forbid();
	while ((place = place_pop(places)))
		move_start(place, &jobs);
	paging_jobs_queue(manager->config.pager, &jobs);
	mem_permit();
}

/* The pager builds the first ones while the next are prepared. */
static void moves_follow(struct vidmm *manager, struct list *places, struct ended *ended)
{
	struct list ready;

	list_init(&ready);
	while (!list_is_empty(places)) {
		moves_prepare(places, &ready, ended);
		moves_start(manager, &ready);
	}
}

static void move_over_locked(struct vidmm_place *place, bool is_done)
{
	lock_assert_held(&place->manager->lock);
	if (place->state == PLACE_SHIFTING)
		place_shift_over_locked(place, false);
	else if (place->state == PLACE_LEAVING && is_done)
		place_out_locked(place);
	else if (place->state == PLACE_LEAVING)
		place_stay_locked(place);
	else if (is_done)
		place_arrive_locked(place);
	else
		place_turn_back_locked(place);
}

static void moves_over_locked(struct vidmm *manager, struct ended *ended)
{
	struct vidmm_place *place;

	lock_assert_held(&manager->lock);
	while ((place = place_pop(&ended->done)))
		move_over_locked(place, true);
	while ((place = place_pop(&ended->failed)))
		move_over_locked(place, false);
}

/* ---- answers ---- */

static void requests_answer(struct list *requests)
{
	list_drain (struct vidmm_request, request, requests, link) {
		mem_free(request->wants);
		request->wants = NULL;
		request->done(request, request->status);
	}
}

static void departures_answer(struct list *departures)
{
	list_drain (struct vidmm_departure, departure, departures, link) {
		departure->done(departure);
	}
}

void device_act_locked(struct vidmm_device *device)
{
	lock_assert_held(&device->process->manager->lock);
	if (list_is_linked(&device->plan_link))
		return;
	device->plan_count++;
	plan_add(&device->process->manager->plan, PLAN_DEVICES, &device->plan_link);
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

	lock_acquire(&manager->lock);
	struct list *link = list_pop_front(devices);
	if (link) {
		device = container_of(link, struct vidmm_device, plan_link);
		*news_out = (struct device_news){
			.resumes = device->resumes,
			.is_starved = device->supply == DEVICE_STARVES,
			.is_yielding = device->lists == DEVICE_MUST_YIELD,
		};
		device->resumes = 0;
		if (news_out->is_starved)
			device->supply = state_step(STATES_DEVICE_SUPPLY, device->supply,
						    DEVICE_STARVES_TOLD);
		if (news_out->is_yielding)
			device->lists =
				state_step(STATES_DEVICE_LISTS, device->lists, DEVICE_YIELDS);
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
		device->plan_count--;
		lock_release(&manager->lock);
	}
}

/* ---- the loop ---- */

void decide_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	room_look_locked(manager);
	budget_news_locked(manager);
}

static void plan_carry_out(struct vidmm *manager, struct plan *plan, struct ended *ended)
{
	if (!list_is_empty(&plan->parts[PLAN_DEVICES]) || !list_is_empty(&plan->parts[PLAN_NEWS]))
		plan->has_changes = true;
	list_init(&ended->done);
	list_init(&ended->failed);
	windows_carry_out(&plan->parts[PLAN_WINDOWS]);
	moves_follow(manager, &plan->parts[PLAN_LEAVING], ended);
	moves_follow(manager, &plan->parts[PLAN_SHIFTING], ended);
	moves_follow(manager, &plan->parts[PLAN_ENTERING], ended);
	mem_forbid();
	tables_move(&plan->parts[PLAN_TABLES]);
	mem_permit();
	devices_tell(manager, &plan->parts[PLAN_DEVICES]);
	requests_answer(&plan->parts[PLAN_REQUESTS]);
	departures_answer(&plan->parts[PLAN_DEPARTURES]);
	budget_tell(manager, &plan->parts[PLAN_NEWS]);
	if (plan->has_changes)
		notice_give(&manager->changed);
}

static void log_line(void *unused, const char *line)
{
	(void)unused;
	log_topic(LOG_MEMORY, "%s", line);
}

/* Printed under the lock, because others may add to the plan as soon as it is released. */
static void plan_log_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	plan_print(&manager->plan, log_line, NULL);
}

/* Drops and retakes the manager's lock: anything may have happened meanwhile. */
static void plan_follow_relock(struct vidmm *manager)
{
	struct ended ended;
	struct plan plan;

	lock_assert_held(&manager->lock);
	plan_take(&plan, &manager->plan);
	manager->followers++;
	lock_release(&manager->lock);
	plan_carry_out(manager, &plan, &ended);
	lock_acquire(&manager->lock);
	manager->followers--;
	moves_over_locked(manager, &ended);
}

void decide_unlock(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	mem_assert_permitted("memory is decided about");
	for (;;) {
		decide_locked(manager);
		if (plan_is_empty(&manager->plan) && !manager->plan.has_changes)
			break;
		if (UNLIKELY(log_is_on(LOG_MEMORY)))
			plan_log_locked(manager);
		plan_follow_relock(manager);
	}
	lock_release(&manager->lock);
}

void decide(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	decide_unlock(manager);
}

enum { MOVES_PASSED_BY = 32 };

/*
 * For the pager's thread, for which all moves wait: who carries out a plan looks again when he is through, and of
 * moves that are over one after the other the last one decides.
 */
void decide_soon_unlock(struct vidmm *manager, bool is_followed)
{
	lock_assert_held(&manager->lock);
	if (manager->followers > 0 || (is_followed && ++manager->passed_by < MOVES_PASSED_BY)) {
		lock_release(&manager->lock);
		return;
	}
	manager->passed_by = 0;
	decide_unlock(manager);
}

/* Without a thread of its own (vidmm_config.is_ticked_by_hand) there is nobody to leave it to. */
void decide_later_unlock(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	if (!manager->ticker) {
		decide_unlock(manager);
		return;
	}
	bool is_due = !plan_is_empty(&manager->plan) || manager->plan.has_changes ||
		      !list_is_empty(&manager->waiters) || manager->has_budget_changes;
	lock_release(&manager->lock);
	if (!is_due)
		return;
	atomic_store(&manager->must_decide, true);
	notice_give(&manager->tick);
}
