/* SPDX-License-Identifier: MIT */
/*
 * gang.c - see gang.h.
 *
 * No lock: a worker gives its slot up in the middle of waiting for one (thread_before_wait). Who waits is
 * in the host's row of sleepers on one word, and the host wakes the first of them.
 */
#include "base/clock.h"
#include "base/notice.h"
#include "base/thread.h"
#include "server/gang.h"

#define QUANTUM_NS      (2 * NS_PER_MS)
#define LINGER_NS       (QUANTUM_NS / 2)
#define CREDIT_NS       (NS_PER_MS / 4)  /* after which a client has one call more */
#define CREDIT_ALL_NS   (NS_PER_MS / 20) /* and all clients together have, for each slot */
#define WAIT_AT_MOST_NS NS_PER_S         /* a driver may keep a slot for as long as it computes */

enum {
	THREADS_OF_A_GANG = 2,
	CREDIT_MOST = 32,   /* calls at once */
	CALLS_PER_LOOK = 8, /* at the clock */
};

_Atomic uint32_t gangs_waiting;
static _Atomic uint32_t slots_free;
static uint32_t slot_count;
/* Who comes to wait reads it before he is counted among those who wait: he is woken, or does not sleep. */
static struct notice slot_given;
static _Atomic uint64_t credit_all_ns; /* as gang.credit_ns, of all clients */

static _Thread_local struct gang *own;

void gangs_start(uint32_t processors)
{
	slot_count = processors / THREADS_OF_A_GANG;
	atomic_store(&slots_free, slot_count);
}

static bool slot_take(void)
{
	uint32_t free = atomic_load(&slots_free);

	while (free > 0) {
		if (atomic_compare_exchange_weak(&slots_free, &free, free - 1))
			return true;
	}
	return false;
}

static void slot_give(void)
{
	atomic_fetch_add(&slots_free, 1);
	if (atomic_load(&gangs_waiting) > 0)
		(void)notice_give_to_one(&slot_given);
}

/* The call waits: the processor is not needed meanwhile. */
static void before_wait(void)
{
	if (own)
		gang_end(own);
}

static void run(struct gang *gang)
{
	gang->runs = true;
	gang->has_lingered = false;
	gang->served = 0;
	gang->since_ns = clock_now_ns();
	own = gang;
	thread_before_wait = before_wait;
}

void gang_end(struct gang *gang)
{
	if (!gang->runs)
		return;
	gang->runs = false;
	own = NULL;
	gang->credit_ns = clock_now_ns(); /* it had all it could have */
	slot_give();
}

/* Until a notice after `seen` is for us; who is over leaves without a slot. */
static void wait_for_turn(struct gang *gang, uint32_t seen, const _Atomic bool *is_over)
{
	uint64_t deadline_ns = clock_deadline(WAIT_AT_MOST_NS);
	enum thread_wait_result result = THREAD_WOKEN;

	while (result == THREAD_WOKEN && !gang->runs && !atomic_load(is_over)) {
		result = notice_wait(&slot_given, seen, deadline_ns);
		seen = notice_read(&slot_given);
		if (slot_take())
			run(gang);
	}
}

/* Behind those who wait already: a slot that is free is theirs, though we come across it first. */
void gang_wait(struct gang *gang, const _Atomic bool *is_over)
{
	uint32_t seen = notice_read(&slot_given);
	bool is_first = atomic_fetch_add(&gangs_waiting, 1) == 0;

	atomic_store(&gang->waits, true);
	if (gang->runs) {
		gang->goes_on = true;
		gang->runs = false;
		atomic_fetch_add(&slots_free, 1);
		seen = notice_give_to_one(&slot_given);
	}
	if (is_first && slot_take())
		run(gang);
	else
		wait_for_turn(gang, seen, is_over);
	atomic_store(&gang->waits, false);
	atomic_fetch_sub(&gangs_waiting, 1);
	/* What woke us may have been for the next one. */
	if (atomic_load(&slots_free) > 0 && atomic_load(&gangs_waiting) > 0)
		(void)notice_give_to_one(&slot_given);
	gang->is_back = gang->runs;
	gang->credit_ns = clock_now_ns();
}

/* When credit is used up until; `now_ns` or less: there is some. Of time that is long ago there is no more than that for CREDIT_MOST calls. */
static uint64_t credit_from(uint64_t credit_ns, uint64_t now_ns, uint64_t per_call_ns)
{
	uint64_t oldest_ns = now_ns - CREDIT_MOST * per_call_ns;

	return credit_ns > oldest_ns ? credit_ns : oldest_ns;
}

/* Calls without a slot take processors from those who have one: so of all clients together, too. */
static bool take_credit(struct gang *gang)
{
	uint64_t per_call_ns = CREDIT_ALL_NS / slot_count;
	uint64_t now_ns = clock_now_ns();
	uint64_t all_ns = atomic_load(&credit_all_ns);
	uint64_t from_ns;

	gang->credit_ns = credit_from(gang->credit_ns, now_ns, CREDIT_NS);
	if (gang->credit_ns >= now_ns)
		return false;
	do {
		from_ns = credit_from(all_ns, now_ns, per_call_ns);
		if (from_ns >= now_ns)
			return false;
	} while (!atomic_compare_exchange_weak(&credit_all_ns, &all_ns, from_ns + per_call_ns));
	gang->credit_ns += CREDIT_NS;
	return true;
}

void gang_begin(struct gang *gang, const _Atomic bool *is_over)
{
	if (slot_count == 0)
		return;
	if (atomic_load(&gangs_waiting) == 0 && slot_take())
		run(gang);
	else if (!take_credit(gang))
		gang_wait(gang, is_over);
}

void gang_resume(struct gang *gang)
{
	if (slot_count != 0 && !gang->runs && atomic_load(&gangs_waiting) == 0 && slot_take())
		run(gang);
}

RARE bool gang_is_due(struct gang *gang)
{
	return ++gang->served % CALLS_PER_LOOK == 0 &&
	       clock_now_ns() - gang->since_ns >= QUANTUM_NS;
}

uint64_t gang_linger_ns(struct gang *gang)
{
	if (!gang->runs || !gang->goes_on || gang->has_lingered)
		return 0;
	gang->has_lingered = true;
	return LINGER_NS;
}

bool gang_takes_turns(const struct gang *gang)
{
	return gang->runs && (gang->is_back || atomic_load(&gangs_waiting) > 0);
}

void gang_wake(struct gang *gang)
{
	if (atomic_load(&gang->waits))
		notice_give(&slot_given);
}
