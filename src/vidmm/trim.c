/* SPDX-License-Identifier: MIT */
/*
 * trim.c - who is told to trim, and when.
 *
 *   in:   processes that listen, what they use, whether they work, the clock
 *   out:  PERIODIC, RESTART_PERIODIC and TO_BUDGET, as news (budget.c tells them)
 *
 * A periodic trim is for what was not used since the one before. A process at work hears of it at
 * the longest interval, and at the shortest when its memory is scarce. One that idles hears of it
 * once more after the idle interval, which is the end of all that it does not use, and then not
 * before it works again: there would be nothing left to trim.
 *
 * The clock runs only while somebody listens.
 *
 * Locks: the manager's. Listeners are called without it.
 */
#include <assert.h>

#include "base/clock.h"
#include "vidmm/place.h"

/* ---- intervals ---- */

static uint64_t after(uint64_t start_ns, uint64_t delay_ns)
{
	return delay_ns < CLOCK_FOREVER - start_ns ? start_ns + delay_ns : CLOCK_FOREVER;
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static bool is_scarce_locked(const struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	for (int i = 0; i < VIDMM_GROUPS; i++) {
		uint64_t budget = budget_of_locked(process, (enum vidmm_group)i);

		if (process->usage_bytes[i] > budget - budget / 4)
			return true;
	}
	return false;
}

static uint64_t work_of_locked(const struct vidmm_process *process)
{
	uint64_t work = 0;

	lock_assert_held(&process->manager->lock);
	list_each (const struct vidmm_device, device, &process->devices, link) {
		if (device->stage != DEVICE_NEW)
			work += sched_owner_tickets(device->owner);
	}
	return work;
}

/* ---- the clock ---- */

static void trim_begin_locked(struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	process->trim_state = (struct vidmm_trim_state){
		.told_at_ns = clock_now_ns(),
		.told_work = work_of_locked(process),
	};
}

/* When the process is due, or may be: it is looked at again then. */
static uint64_t process_look_locked(struct vidmm_process *process, uint64_t now_ns)
{
	const struct vidmm_trim_intervals *intervals = &process->manager->trim_intervals;
	struct vidmm_trim_state *state = &process->trim_state;
	uint64_t work = work_of_locked(process);
	bool is_idle = work == state->told_work;
	uint64_t busy_at_ns =
		after(state->told_at_ns,
		      is_scarce_locked(process) ? intervals->shortest_ns : intervals->longest_ns);
	uint64_t idle_at_ns = after(state->told_at_ns, intervals->idle_ns);

	lock_assert_held(&process->manager->lock);
	if (now_ns < (is_idle ? idle_at_ns : busy_at_ns)) {
		/* It may begin to work before its idle interval is over. */
		if (is_idle && busy_at_ns > now_ns)
			return sooner(idle_at_ns, busy_at_ns);
		return is_idle ? idle_at_ns : busy_at_ns;
	}
	if (!is_idle || !state->has_told_idle) {
		process->trim_flags = vidmm_trim_merge(process->trim_flags, VIDMM_TRIM_PERIODIC);
		budget_news_add_locked(process);
	}
	*state = (struct vidmm_trim_state){
		.told_at_ns = now_ns,
		.told_work = work,
		.has_told_idle = is_idle,
	};
	return after(now_ns, sooner(intervals->shortest_ns, intervals->idle_ns));
}

void trim_look_locked(struct vidmm *manager)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t next_ns = CLOCK_FOREVER;

	lock_assert_held(&manager->lock);
	list_each (struct vidmm_process, process, &manager->processes, link) {
		if (process->trim_listeners > 0 && !process->is_suspended)
			next_ns = sooner(next_ns, process_look_locked(process, now_ns));
	}
	if (atomic_exchange(&manager->trim_at_ns, next_ns) > next_ns)
		notice_give(&manager->tick);
}

void vidmm_trim_tick(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	trim_look_locked(manager);
	decide_unlock(manager);
}

struct vidmm_trim_intervals vidmm_trim_intervals(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	struct vidmm_trim_intervals intervals = manager->trim_intervals;
	lock_release(&manager->lock);
	return intervals;
}

void vidmm_set_trim_intervals(struct vidmm *manager, const struct vidmm_trim_intervals *intervals)
{
	assert(intervals->shortest_ns > 0 && intervals->idle_ns > 0 &&
	       intervals->shortest_ns <= intervals->longest_ns);
	lock_acquire(&manager->lock);
	manager->trim_intervals = *intervals;
	lock_release(&manager->lock);
	vidmm_trim_tick(manager);
}

/* ---- who listens ---- */

static bool is_listening(const struct vidmm_process *process)
{
	return process->trim_listeners > 0 || process->budget_listeners > 0;
}

/* What it hears from now on is news to it. */
static void listen_begin_locked(struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	for (int i = 0; i < VIDMM_GROUPS; i++) {
		process->told_budget_bytes[i] = budget_of_locked(process, (enum vidmm_group)i);
		process->was_over[i] = false;
	}
	process->manager->has_budget_changes = true;
}

void trim_forget_locked(struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	process->manager->listening_count -= is_listening(process);
	process->trim_listeners = 0;
	process->budget_listeners = 0;
}

void vidmm_process_listen(struct vidmm_process *process, int32_t trim_listeners,
			  int32_t budget_listeners)
{
	struct vidmm *manager = process->manager;

	lock_acquire(&manager->lock);
	bool was_listening = is_listening(process);
	bool had_trims = process->trim_listeners > 0;
	process->trim_listeners += (uint32_t)trim_listeners;
	process->budget_listeners += (uint32_t)budget_listeners;
	manager->listening_count += is_listening(process);
	manager->listening_count -= was_listening;
	if (trim_listeners > 0 || budget_listeners > 0)
		listen_begin_locked(process);
	if (!had_trims && process->trim_listeners > 0)
		trim_begin_locked(process);
	trim_look_locked(manager);
	decide_unlock(manager);
}

/* ---- telling now ---- */

uint32_t vidmm_trim_merge(uint32_t flags, uint32_t more)
{
	flags |= more;
	if (flags & VIDMM_TRIM_RESTART_PERIODIC)
		flags &= ~(uint32_t)VIDMM_TRIM_PERIODIC;
	return flags;
}

void trim_now_locked(struct vidmm_process *process, uint32_t flags)
{
	lock_assert_held(&process->manager->lock);
	if (process->trim_listeners == 0)
		return;
	flags &= ~(uint32_t)VIDMM_TRIM_TO_BUDGET;
	process->trim_flags = vidmm_trim_merge(process->trim_flags, flags);
	if (budget_excess_locked(process, false) > 0)
		process->trim_flags |= VIDMM_TRIM_TO_BUDGET;
	if (process->trim_flags)
		budget_news_add_locked(process);
	if (flags)
		trim_begin_locked(process);
}
