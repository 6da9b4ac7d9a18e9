/* SPDX-License-Identifier: MIT */
/*
 * owner.c - what is lost, suspended and waited for together: the work of a device.
 *
 * Two rows of tickets: what is queued and not retired, and what the hardware has. Who waits for a
 * row notes the newest number in it; the wait is over when the oldest ticket is newer. A packet is
 * given away when it is retired, so meanwhile another ticket stands for it (queue.c).
 */
#include <assert.h>

#include "base/clock.h"
#include "sched/internal.h"

/* ---- life ---- */

void sched_owner_init(struct sched_owner *owner, struct sched *sched, bool is_system)
{
	*owner = (struct sched_owner){ .sched = sched, .is_system = is_system };
	list_init(&owner->queues);
	list_init(&owner->packets);
	list_init(&owner->submitted);
	list_init(&owner->waits);
	list_init(&owner->submitted_waits);
	list_init(&owner->lost_link);
	sched_lock(sched);
	list_push_back(&sched->owners, &owner->link);
	if (!is_system && (sched->dead || sched->is_stopped))
		atomic_store(&owner->is_lost, true);
	sched_unlock(sched);
}

void sched_owner_show(struct sched_owner *owner, _Atomic uint64_t *word)
{
	sched_lock(owner->sched);
	owner->shown = word;
	atomic_store(word, atomic_load(&owner->is_lost) ? 0 : SCHED_OWNER_ACTIVE);
	sched_unlock(owner->sched);
}

void sched_owner_finish(struct sched_owner *owner)
{
	struct sched *sched = owner->sched;

	sched_lock(sched);
	assert(list_is_empty(&owner->queues) && list_is_empty(&owner->packets));
	/* The listener is just being told of it; its own thread does not wait for itself. */
	while (sched->told == owner && thread_self() != sched->thread)
		sched_wait_relock(sched, CLOCK_FOREVER);
	list_remove(&owner->lost_link);
	list_remove(&owner->link);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		if (sched->nodes[i].completed_owner == owner)
			sched->nodes[i].completed_owner = NULL;
		if (sched->nodes[i].loaded_owner == owner)
			sched->nodes[i].loaded_owner = NULL;
	}
	sched_unlock(sched);
}

uint64_t sched_owner_tickets(const struct sched_owner *owner)
{
	return atomic_load(&owner->last_ticket);
}

/* ---- loss ---- */

static bool owner_lose_locked(struct sched_owner *owner)
{
	lock_assert_held(&owner->sched->lock);
	if (owner->is_system || atomic_load(&owner->is_lost))
		return false;
	atomic_store(&owner->is_lost, true);
	if (owner->shown)
		atomic_store(owner->shown, 0);
	list_each (struct sched_queue, each, &owner->queues, owner_link)
		queue_cancel_locked(each);
	sched_changed_locked(owner->sched);
	return true;
}

bool owner_lose_and_tell_locked(struct sched_owner *owner, uint32_t state,
				const struct miniport_fault *fault)
{
	lock_assert_held(&owner->sched->lock);
	if (!owner_lose_locked(owner))
		return false;
	owner->lost_state = state;
	owner->has_fault = fault != NULL;
	if (fault)
		owner->fault = *fault;
	list_push_back(&owner->sched->lost, &owner->lost_link);
	sched_wake_thread_locked(owner->sched);
	return true;
}

const char *sched_state_words(uint32_t device_state)
{
	static const char *const words[] = {
		[SCHED_STATE_RESET] = "reset with the adapter, by the fault of another",
		[SCHED_STATE_HUNG] = "hung",
		[SCHED_STATE_STOPPED] = "stopped",
		[SCHED_STATE_OUT_OF_MEMORY] = "out of memory",
		[SCHED_STATE_DMA_FAULT] = "fault of its work",
		[SCHED_STATE_PAGE_FAULT] = "page fault of its work",
	};

	return device_state < ARRAY_SIZE(words) && words[device_state] ? words[device_state]
								       : "active";
}

bool sched_owner_loss(struct sched_owner *owner, struct sched_loss *loss_out)
{
	if (LIKELY(!atomic_load(&owner->is_lost)))
		return false;
	sched_lock(owner->sched);
	*loss_out = (struct sched_loss){ .device_state = owner->lost_state,
					 .has_fault = owner->has_fault,
					 .fault = owner->fault };
	sched_unlock(owner->sched);
	return loss_out->device_state != 0;
}

bool sched_owner_lose(struct sched_owner *owner)
{
	sched_lock(owner->sched);
	bool is_first = owner_lose_locked(owner);
	sched_retire_relock(owner->sched);
	sched_unlock(owner->sched);
	return is_first;
}

void sched_owner_drain(struct sched_owner *owner)
{
	if (sched_owner_is_idle(owner))
		return;
	sched_lock(owner->sched);
	while (!list_is_empty(&owner->packets))
		sched_wait_relock(owner->sched, CLOCK_FOREVER);
	sched_unlock(owner->sched);
}

/* ---- suspension ---- */

static void owner_turn_changed_locked(struct sched_owner *owner)
{
	lock_assert_held(&owner->sched->lock);
	list_each (struct sched_queue, each, &owner->queues, owner_link)
		queue_update_ready_locked(each);
}

/* What runs may have to stop for it. */
static void nodes_invite_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		node_invite_locked(&sched->nodes[i]);
		turns_watch_locked(&sched->nodes[i]);
	}
}

void sched_owner_suspend(struct sched_owner *owner)
{
	sched_lock(owner->sched);
	owner->suspensions++;
	owner_turn_changed_locked(owner);
	nodes_invite_locked(owner->sched);
	sched_unlock(owner->sched);
}

void sched_owner_resume(struct sched_owner *owner)
{
	sched_lock(owner->sched);
	assert(owner->suspensions > 0);
	owner->suspensions--;
	owner_turn_changed_locked(owner);
	sched_wake_thread_locked(owner->sched);
	sched_unlock(owner->sched);
}

/* ---- waiting ---- */

static uint64_t oldest_ticket(const struct list *row)
{
	return list_is_empty(row) ? UINT64_MAX
				  : container_of(row->next, struct sched_ticket, link)->number;
}

static void collect_over_locked(struct sched *sched, const struct list *row, struct list *waits)
{
	uint64_t oldest = oldest_ticket(row);

	lock_assert_held(&sched->lock);
	while (!list_is_empty(waits)) {
		struct sched_wait *wait = container_of(waits->next, struct sched_wait, link);
		if (wait->ticket >= oldest)
			return;
		list_remove(&wait->link);
		list_push_back(&sched->over, &wait->link);
	}
}

static bool has_clients_work_locked(const struct sched *sched)
{
	lock_assert_held(&sched->lock);
	list_each (const struct sched_owner, owner, &sched->owners, link) {
		if (!owner->is_system && !list_is_empty(&owner->submitted))
			return true;
	}
	return false;
}

static void holds_reached_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	if (LIKELY(list_is_empty(&sched->holding)) || has_clients_work_locked(sched))
		return;
	list_splice_back(&sched->over, &sched->holding);
}

void owner_submits_locked(struct sched_owner *owner, struct sched_packet *packet)
{
	lock_assert_held(&owner->sched->lock);
	packet->hardware_ticket.number = ++owner->last_submitted_ticket;
	list_push_back(&owner->submitted, &packet->hardware_ticket.link);
}

void owner_submitted_ends_locked(struct sched_owner *owner, struct sched_packet *packet)
{
	lock_assert_held(&owner->sched->lock);
	list_remove(&packet->hardware_ticket.link);
	collect_over_locked(owner->sched, &owner->submitted, &owner->submitted_waits);
	holds_reached_locked(owner->sched);
}

void owner_retired_locked(struct sched_owner *owner, struct sched_ticket *ticket)
{
	lock_assert_held(&owner->sched->lock);
	list_remove(&ticket->link);
	collect_over_locked(owner->sched, &owner->packets, &owner->waits);
	/* Last: who sees it without the lock finds everything done. */
	atomic_fetch_sub(&owner->pending, 1);
}

/*
 * Behind those for the same or an earlier ticket: who comes last is mostly the last. False when there
 * is nothing to wait for.
 */
static bool wait_joins_locked(const struct sched *sched, const struct list *row, struct list *waits,
			      uint64_t ticket, struct sched_wait *wait)
{
	struct list *before = waits->prev;

	lock_assert_held(&sched->lock);
	if (oldest_ticket(row) > ticket)
		return false;
	wait->ticket = ticket;
	while (before != waits && container_of(before, struct sched_wait, link)->ticket > ticket)
		before = before->prev;
	list_insert_between(&wait->link, before, before->next);
	return true;
}

void sched_after_ticket(struct sched_owner *owner, uint64_t ticket, struct sched_wait *wait)
{
	bool waits = false;

	if (UNLIKELY(!sched_owner_is_idle(owner))) {
		sched_lock(owner->sched);
		waits = wait_joins_locked(owner->sched, &owner->packets, &owner->waits, ticket,
					  wait);
		sched_unlock(owner->sched);
	}
	if (!waits)
		wait->over(wait);
}

void sched_after_owner(struct sched_owner *owner, struct sched_wait *wait)
{
	sched_after_ticket(owner, sched_owner_tickets(owner), wait);
}

void sched_after_submitted(struct sched_owner *owner, struct sched_wait *wait)
{
	bool waits = false;

	if (UNLIKELY(!sched_owner_is_idle(owner))) {
		sched_lock(owner->sched);
		waits = wait_joins_locked(owner->sched, &owner->submitted, &owner->submitted_waits,
					  owner->last_submitted_ticket, wait);
		sched_unlock(owner->sched);
	}
	if (!waits)
		wait->over(wait);
}

/* ---- holding everybody ---- */

static void clients_turn_changed_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	list_each (struct sched_owner, owner, &sched->owners, link) {
		if (!owner->is_system)
			owner_turn_changed_locked(owner);
	}
}

void sched_hold_clients(struct sched *sched, struct sched_wait *wait)
{
	sched_lock(sched);
	sched->client_holds++;
	clients_turn_changed_locked(sched);
	nodes_invite_locked(sched);
	bool is_over = !has_clients_work_locked(sched);
	if (!is_over)
		list_push_back(&sched->holding, &wait->link);
	sched_unlock(sched);
	if (is_over)
		wait->over(wait);
}

void sched_release_clients(struct sched *sched)
{
	sched_lock(sched);
	assert(sched->client_holds > 0);
	sched->client_holds--;
	clients_turn_changed_locked(sched);
	sched_wake_thread_locked(sched);
	sched_unlock(sched);
}

/* ---- waiting, with a thread ---- */

static void thread_wait_over(struct sched_wait *wait)
{
	struct sched_thread_wait *waiter = container_of(wait, struct sched_thread_wait, wait);
	struct sched *sched = waiter->owner->sched;

	sched_lock(sched);
	waiter->is_over = true;
	sched_changed_locked(sched);
	sched_unlock(sched);
}

void sched_thread_wait_begin(struct sched_thread_wait *waiter, struct sched_owner *owner)
{
	*waiter = (struct sched_thread_wait){ .wait.over = thread_wait_over, .owner = owner };
	list_init(&waiter->wait.link);
}

bool sched_thread_wait_until_over(struct sched_thread_wait *waiter, bool gives_up)
{
	struct sched_owner *owner = waiter->owner;

	sched_lock(owner->sched);
	while (!waiter->is_over && !(gives_up && atomic_load(&owner->is_lost)))
		sched_wait_relock(owner->sched, CLOCK_FOREVER);
	bool is_over = waiter->is_over;
	sched_unlock(owner->sched);
	return is_over;
}

/* ---- what is loaded ---- */

uint64_t sched_owner_loaded_nodes(struct sched_owner *owner)
{
	struct sched *sched = owner->sched;
	uint64_t nodes = 0;

	sched_lock(sched);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		if (sched->nodes[i].loaded_owner == owner)
			nodes |= UINT64_C(1) << i;
	}
	sched_unlock(sched);
	return nodes;
}
