/* SPDX-License-Identifier: MIT */
/*
 * owners.c - see owners.h.
 */
#include "fake/check.h"
#include "fake/owners.h"

void fake_sched_init(struct sched *sched)
{
	*sched = (struct sched){ 0 };
	lock_init(&sched->lock, LOCK_RANK_NODE, "fake scheduler");
}

void fake_sched_finish(struct sched *sched)
{
	lock_finish(&sched->lock);
}

/* ---- work ---- */

void fake_owner_init(struct sched_owner *owner, struct sched *sched)
{
	*owner = (struct sched_owner){ .sched = sched };
	list_init(&owner->waits);
	list_init(&owner->submitted_waits);
}

static void submit_locked(struct sched_owner *owner)
{
	if (owner->suspensions == 0)
		owner->last_submitted_ticket = owner->last_ticket;
}

void fake_owner_queue(struct sched_owner *owner)
{
	lock_acquire(&owner->sched->lock);
	owner->last_ticket++;
	atomic_fetch_add(&owner->pending, 1);
	lock_release(&owner->sched->lock);
}

void fake_owner_submit(struct sched_owner *owner)
{
	lock_acquire(&owner->sched->lock);
	submit_locked(owner);
	lock_release(&owner->sched->lock);
}

/* The number of the last that is over: they end in order. */
static uint64_t retired_locked(const struct sched_owner *owner)
{
	return owner->last_ticket - owner->pending;
}

static void collect_locked(struct list *waits, uint64_t ticket, struct list *over)
{
	struct list *link;
	struct list *following;

	list_for_each_safe (link, following, waits) {
		if (container_of(link, struct sched_wait, link)->ticket <= ticket) {
			list_remove(link);
			list_push_back(over, link);
		}
	}
}

void fake_owner_retire(struct sched_owner *owner)
{
	struct list over;
	struct list *link;

	list_init(&over);
	lock_acquire(&owner->sched->lock);
	CHECK(owner->pending > 0);
	atomic_fetch_sub(&owner->pending, 1);
	uint64_t retired = retired_locked(owner);
	if (owner->last_submitted_ticket < retired)
		owner->last_submitted_ticket = retired;
	collect_locked(&owner->waits, retired, &over);
	collect_locked(&owner->submitted_waits, retired, &over);
	lock_release(&owner->sched->lock);
	while ((link = list_pop_front(&over))) {
		struct sched_wait *wait = container_of(link, struct sched_wait, link);

		wait->over(wait);
	}
}

bool fake_owner_runs(struct sched_owner *owner)
{
	lock_acquire(&owner->sched->lock);
	bool runs = owner->last_submitted_ticket > retired_locked(owner);
	lock_release(&owner->sched->lock);
	return runs;
}

uint64_t sched_owner_tickets(const struct sched_owner *owner)
{
	return atomic_load(&owner->last_ticket);
}

/* ---- who waits for it ---- */

/* `ticket`: NULL for what the hardware has. */
static void wait_add(struct sched_owner *owner, const uint64_t *ticket, struct sched_wait *wait)
{
	lock_assert_none_held("waiting for work");
	lock_acquire(&owner->sched->lock);
	wait->ticket = ticket ? *ticket : owner->last_submitted_ticket;
	bool is_over = wait->ticket <= retired_locked(owner);
	if (!is_over)
		list_push_back(ticket ? &owner->waits : &owner->submitted_waits, &wait->link);
	lock_release(&owner->sched->lock);
	if (is_over)
		wait->over(wait);
}

void sched_after_owner(struct sched_owner *owner, struct sched_wait *wait)
{
	wait_add(owner, &(uint64_t){ sched_owner_tickets(owner) }, wait);
}

void sched_after_ticket(struct sched_owner *owner, uint64_t ticket, struct sched_wait *wait)
{
	wait_add(owner, &ticket, wait);
}

void sched_after_submitted(struct sched_owner *owner, struct sched_wait *wait)
{
	wait_add(owner, NULL, wait);
}

/* ---- who is held ---- */

void sched_owner_suspend(struct sched_owner *owner)
{
	lock_acquire(&owner->sched->lock);
	owner->suspensions++;
	lock_release(&owner->sched->lock);
}

void sched_owner_resume(struct sched_owner *owner)
{
	lock_assert_none_held("the scheduler");
	lock_acquire(&owner->sched->lock);
	CHECK(owner->suspensions > 0);
	owner->suspensions--;
	if (!owner->sched->is_by_hand)
		submit_locked(owner);
	lock_release(&owner->sched->lock);
}

bool fake_owner_is_suspended(struct sched_owner *owner)
{
	lock_acquire(&owner->sched->lock);
	bool is_suspended = owner->suspensions > 0;
	lock_release(&owner->sched->lock);
	return is_suspended;
}

void sched_hold_clients(struct sched *sched, struct sched_wait *wait)
{
	lock_assert_none_held("the scheduler");
	lock_acquire(&sched->lock);
	sched->client_holds++;
	bool is_over = !sched->are_clients_busy;
	if (!is_over)
		sched->holding = wait;
	lock_release(&sched->lock);
	if (is_over)
		wait->over(wait);
	notice_give(&sched->changed);
}

void sched_release_clients(struct sched *sched)
{
	lock_assert_none_held("the scheduler");
	lock_acquire(&sched->lock);
	CHECK(sched->client_holds > 0 && !sched->holding);
	sched->client_holds--;
	lock_release(&sched->lock);
	notice_give(&sched->changed);
}

void fake_clients_are_busy(struct sched *sched)
{
	lock_acquire(&sched->lock);
	sched->are_clients_busy = true;
	lock_release(&sched->lock);
}

void fake_clients_idle(struct sched *sched)
{
	lock_acquire(&sched->lock);
	struct sched_wait *wait = sched->holding;
	sched->holding = NULL;
	sched->are_clients_busy = false;
	lock_release(&sched->lock);
	if (wait)
		wait->over(wait);
}

uint32_t fake_client_holds(struct sched *sched)
{
	lock_acquire(&sched->lock);
	uint32_t holds = sched->client_holds;
	lock_release(&sched->lock);
	return holds;
}
