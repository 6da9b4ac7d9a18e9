/* SPDX-License-Identifier: MIT */
/*
 * owners.h - the scheduler as those see it whose work it has: what an owner queued is with the
 * hardware, or over, when the test says so.
 *
 *	fake_owner_init(&owner, &sched);
 *	fake_owner_queue(&owner);     it has work, which waits
 *	fake_owner_submit(&owner);    the hardware has all of it, unless the owner is suspended
 *	fake_owner_retire(&owner);    the oldest is over, and who waited for it is told
 */
#ifndef TESTS_FAKE_OWNERS_H
#define TESTS_FAKE_OWNERS_H

#include "base/lock.h"
#include "base/notice.h"
#include "sched/sched.h"

struct sched {
	struct lock lock; /* LOCK_RANK_NODE */
	struct notice changed;
	bool is_by_hand;       /* who is resumed waits for fake_owner_submit(), too */
	bool are_clients_busy; /* the hardware has something of theirs */
	uint32_t client_holds;
	struct sched_wait *holding;
};

void fake_sched_init(struct sched *sched);
void fake_sched_finish(struct sched *sched);

void fake_owner_init(struct sched_owner *owner, struct sched *sched);
void fake_owner_queue(struct sched_owner *owner);
void fake_owner_submit(struct sched_owner *owner);
void fake_owner_retire(struct sched_owner *owner);
/* The hardware has something of it. */
bool fake_owner_runs(struct sched_owner *owner);
bool fake_owner_is_suspended(struct sched_owner *owner);

void fake_clients_are_busy(struct sched *sched);
void fake_clients_idle(struct sched *sched);
uint32_t fake_client_holds(struct sched *sched);

#endif
