/* SPDX-License-Identifier: MIT */
/*
 * sim.h - the simulated half of thread.h and clock.h. For base/ only, except what tests use:
 * sim_start() and sim_park().
 *
 * One baton; who has it runs. Every thread that takes part has a sim_thread, which lives as long
 * as the thread. State is guarded by one private mutex.
 */
#ifndef BASE_SIM_H
#define BASE_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/thread.h"

struct sim_thread {
	/* Set by whoever registers the thread. */
	const char *name;
	uint32_t ordinal;
	bool is_foreign; /* a client's own thread, adopted at its first call */

	/* Guarded by sim.c's mutex. */
	struct list link;
	enum { SIM_READY, SIM_BLOCKED, SIM_PARKED } state;
	bool is_outside; /* foreign, and now in the client's code */
	const void *blocked_on;
	uint64_t deadline_ns;
	bool timed_out;
	_Atomic uint32_t turns; /* how often it was called; it sleeps on this word */
};

/* Set before the second thread exists, then constant. */
extern bool sim_on __attribute__((visibility("hidden")));

static inline bool sim_is_on(void)
{
	return UNLIKELY(sim_on);
}

/* Turns the simulation on by hand, for tests; call before any thread is made. */
void sim_start(uint64_t seed);

/* For good: the process is a copy with one thread, and everything goes as it does without a seed. */
void sim_abandon(void);

uint64_t sim_now_ns(void);
uint64_t sim_peek_ns(void);
void sim_jump(uint64_t ns);

enum thread_wait_result sim_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);
void sim_wake(const void *word, uint32_t count);
void sim_point(void);
void sim_take_turn(void); /* returns with the baton; chooses nothing */

/* A new thread: the maker registers it, the thread itself takes its first turn and its last. */
void sim_thread_register(struct sim_thread *thread, const char *name, uint32_t ordinal);
void sim_thread_begin(struct sim_thread *thread);
void sim_thread_end(struct sim_thread *thread, const void *wake_word);
void sim_thread_forget(struct sim_thread *thread); /* it never started */

/*
 * What may happen between two steps of one thread: the thread whose name begins so stops at its n-th
 * point from now on, while the others go on until each of them waits or has ended, and goes on then.
 * Points are where it takes a lock, lets one go, begins to wait or wakes somebody. A loop over n
 * has seen them all when nobody was parked any more. The seed begins anew, so that the way to the
 * n-th point is the same for each n.
 */
void sim_park(const char *name, uint64_t point);
void sim_park_await(void); /* returns when somebody is parked, or nobody will be */
bool sim_park_end(void);   /* nobody will be; was anybody? */
void sim_park_point(void); /* a point where no other turn begins, but by that */

void sim_enter(void);
void sim_leave(void);

/*
 * Around fork(), on any thread, also one that takes no part: between the first and the others
 * nobody gets further than his next point. A child is alone and begins a run of its own.
 */
void sim_before_fork(void);
void sim_after_fork(void);
void sim_after_fork_in_child(void);

#endif
