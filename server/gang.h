/* SPDX-License-Identifier: MIT */
/*
 * gang.h - which clients have two processors for themselves: one for the thread that calls, one for the
 * worker that answers.
 *
 *	 a slot is free ──▶ runs ──▶ its client is slow, or it waits: the slot is free
 *	          ▲           │
 *	          └── waits ◀─┘ others wait, and it has had its quantum
 *
 * The two look at each other's words instead of sleeping only while both run; a call is twenty times as
 * fast then. Where more clients call all the time than there are processors for, the host gives them out
 * thread by thread, and those two rarely run at once. So we have as many slots as the machine can run
 * such pairs, and who calls all the time takes turns (gang scheduling). Who calls now and then is served
 * without a slot, at once: it has credit for some calls, which comes back with time.
 */
#ifndef SERVER_GANG_H
#define SERVER_GANG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* Of one worker, whose thread calls all of these. Zeroed: it has no slot. */
struct gang {
	bool runs;    /* it has a slot */
	bool is_back; /* it waited for it */
	bool goes_on; /* its client had calls for more than a turn; until one lingers in vain */
	bool has_lingered;  /* with the slot it has */
	uint32_t served;    /* calls since the clock was looked at */
	uint64_t since_ns;  /* when it got the slot */
	uint64_t credit_ns; /* calls are served without one until here is now */
	_Atomic bool waits; /* read by who ends it */
};

/* Once, before there are any: for so many processors. */
void gangs_start(uint32_t processors);

/* How many wait for a slot. */
extern _Atomic uint32_t gangs_waiting __attribute__((visibility("hidden")));

/* A request has come to a worker that slept: it has a slot, or credit, or waits for one until `is_over`. */
void gang_begin(struct gang *gang, const _Atomic bool *is_over);
/* It is going to sleep. */
void gang_end(struct gang *gang);
/* Its slot, if it lost it by waiting in the call and there is one still. */
void gang_resume(struct gang *gang);

RARE bool gang_is_due(struct gang *gang);

/* Asked with each request that has come while it ran: others wait, and its time is over. */
static inline bool gang_must_wait(struct gang *gang)
{
	return UNLIKELY(atomic_load_explicit(&gangs_waiting, memory_order_relaxed) != 0) &&
	       gang_is_due(gang);
}

/*
 * Its client was woken, and does not come. One that goes on is late to get a processor, because others run there, and not
 * to call: its slot is kept for it, for so long, once. 0: it is not. In vain: it does not go on.
 */
uint64_t gang_linger_ns(struct gang *gang);
/* Is the caller one of more than there are slots for? */
bool gang_takes_turns(const struct gang *gang);

/* For its next turn, or until `is_over`. */
void gang_wait(struct gang *gang, const _Atomic bool *is_over);

/* From another thread: whoever waits looks at its is_over again. */
void gang_wake(struct gang *gang);

#endif
