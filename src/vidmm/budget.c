/* SPDX-License-Identifier: MIT */
/*
 * budget.c - how much of a group of segments a process should use.
 *
 *   in:   what each process lists and has reserved
 *   out:  budgets, and who has to be told that his changed
 *
 *	share    what a process reserved, and an equal part of what nobody did; shares add up to all
 *	claim    its usage, but not below what it reserved and not above its share
 *	budget   everything that others do not claim
 *
 * So a process alone may have everything; when others come, it keeps what they do not want, and
 * never gets less than its share. Who is suspended claims what it reserved. Half of a group can be
 * reserved. A tester may set limits that are smaller (control.h); they count for nobody else's
 * budget.
 *
 * Locks: the manager's. Listeners are called without it.
 */
#include <stdio.h>

#include "base/checked.h"
#include "base/refusal.h"
#include "trace/trace.h"
#include "vidmm/place.h"

/* 0 where more is taken than there is: page tables that came later take of what was reserved or claimed. */
static uint64_t left_of(uint64_t bytes, uint64_t taken_bytes)
{
	return bytes > taken_bytes ? bytes - taken_bytes : 0;
}

static uint64_t share_of(const struct vidmm_process *process, enum vidmm_group group)
{
	const struct vidmm *manager = process->manager;
	uint64_t free_bytes = left_of(manager->group_bytes[group], manager->reserved_bytes[group]);

	return process->reservation_bytes[group] + free_bytes / manager->process_count;
}

static uint64_t claim_of(const struct vidmm_process *process, enum vidmm_group group)
{
	uint64_t share = share_of(process, group);
	uint64_t usage = process->usage_bytes[group];

	if (usage < process->reservation_bytes[group] || process->is_suspended)
		return process->reservation_bytes[group];
	return usage < share ? usage : share;
}

uint64_t budget_claim_locked(const struct vidmm_process *process, enum vidmm_group group)
{
	lock_assert_held(&process->manager->lock);
	return claim_of(process, group);
}

uint64_t budget_share_locked(const struct vidmm_process *process, enum vidmm_group group)
{
	const struct vidmm *manager = process->manager;

	lock_assert_held(&process->manager->lock);
	return left_of(manager->group_bytes[group],
		       manager->claimed_bytes[group] - claim_of(process, group));
}

uint64_t budget_of_locked(const struct vidmm_process *process, enum vidmm_group group)
{
	lock_assert_held(&process->manager->lock);
	return lower_of(budget_share_locked(process, group),
			lower_of(process->manager->budget_limit_bytes[group],
				 process->budget_limit_bytes[group]));
}

void budget_recount_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	for (int group = 0; group < VIDMM_GROUPS; group++)
		manager->claimed_bytes[group] = 0;
	list_each (struct vidmm_process, process, &manager->processes, link) {
		for (int group = 0; group < VIDMM_GROUPS; group++)
			manager->claimed_bytes[group] += claim_of(process, (enum vidmm_group)group);
	}
	manager->has_budget_changes = true;
}

void budget_resize_locked(struct vidmm *manager, const struct vidmm_segment *segment, int64_t bytes)
{
	lock_assert_held(&manager->lock);
	if (segment->config.is_budgeted && !segment->is_system) {
		manager->group_bytes[segment->config.group] += (uint64_t)bytes;
		budget_recount_locked(manager);
	}
}

void budget_join_locked(struct vidmm_process *process)
{
	struct vidmm *manager = process->manager;

	lock_assert_held(&process->manager->lock);
	manager->process_count++;
	list_push_back(&manager->processes, &process->link);
	budget_recount_locked(manager);
	for (int group = 0; group < VIDMM_GROUPS; group++)
		process->told_budget_bytes[group] =
			budget_of_locked(process, (enum vidmm_group)group);
}

void budget_leave_locked(struct vidmm_process *process)
{
	struct vidmm *manager = process->manager;

	lock_assert_held(&process->manager->lock);
	manager->process_count--;
	list_remove(&process->link);
	for (int group = 0; group < VIDMM_GROUPS; group++)
		manager->reserved_bytes[group] -= process->reservation_bytes[group];
	budget_recount_locked(manager);
}

void budget_trace_locked(const struct vidmm_process *process, enum vidmm_group group)
{
	lock_assert_held(&process->manager->lock);
	if (trace_is_on())
		trace_budget(process->manager->config.adapter_id, process->id,
			     group == VIDMM_LOCAL ? 0 : 1, budget_of_locked(process, group),
			     process->usage_bytes[group]);
}

void budget_charge_locked(struct vidmm_process *process, enum vidmm_group group, int64_t bytes)
{
	struct vidmm *manager = process->manager;

	lock_assert_held(&manager->lock);
	manager->claimed_bytes[group] -= claim_of(process, group);
	process->usage_bytes[group] += (uint64_t)bytes;
	manager->claimed_bytes[group] += claim_of(process, group);
	manager->has_budget_changes = true;
	budget_trace_locked(process, group);
}

uint64_t budget_excess_locked(const struct vidmm_process *process, bool is_maximum)
{
	uint64_t excess = 0;

	lock_assert_held(&process->manager->lock);
	for (int group = 0; group < VIDMM_GROUPS; group++) {
		uint64_t limit = is_maximum ? process->manager->group_bytes[group]
					    : budget_of_locked(process, (enum vidmm_group)group);

		if (process->usage_bytes[group] > limit)
			excess += process->usage_bytes[group] - limit;
	}
	return excess;
}

static uint64_t resident_wish(const struct vidmm_process *process)
{
	return process->usage_bytes[VIDMM_LOCAL] + process->usage_bytes[VIDMM_NON_LOCAL];
}

/* The process that has most, next to `before`. With NULL, the one that has most of all; returns NULL behind the last. */
static const struct vidmm_process *next_holder_locked(const struct vidmm *manager,
						      const struct vidmm_process *before)
{
	const struct vidmm_process *most = NULL;

	lock_assert_held(&manager->lock);
	list_each (const struct vidmm_process, each, &manager->processes, link) {
		uint64_t bytes = resident_wish(each);
		bool is_behind = !before || bytes < resident_wish(before) ||
				 (bytes == resident_wish(before) && each->id > before->id);
		if (bytes > 0 && is_behind &&
		    (!most || bytes > resident_wish(most) ||
		     (bytes == resident_wish(most) && each->id < most->id)))
			most = each;
	}
	return most;
}

/* "; of what is resident process 1 has … bytes": those with most; nothing when nobody has any. */
static void name_holders_locked(const struct vidmm *manager, char *text, size_t text_bytes)
{
	const struct vidmm_process *holder = NULL;
	size_t used = 0;

	lock_assert_held(&manager->lock);
	text[0] = '\0';
	for (int i = 0; i < 3 && (holder = next_holder_locked(manager, holder)); i++) {
		int length = snprintf(
			text + used, text_bytes - used,
			"%sprocess %u (%s, pid %u) has %llu local and %llu non-local bytes",
			i == 0 ? "; of what is resident " : ", ", holder->id,
			holder->name ? holder->name : "?", holder->pid,
			(unsigned long long)holder->usage_bytes[VIDMM_LOCAL],
			(unsigned long long)holder->usage_bytes[VIDMM_NON_LOCAL]);
		if (length < 0 || (size_t)length >= text_bytes - used) {
			text[used] = '\0'; /* not half a name */
			return;
		}
		used += (size_t)length;
	}
}

NTSTATUS budget_refuse(struct vidmm *manager, uint64_t excess_bytes)
{
	char holders[192];

	lock_acquire(&manager->lock);
	name_holders_locked(manager, holders, sizeof(holders));
	lock_release(&manager->lock);
	return refuse(STATUS_NO_MEMORY, RULE_MM_BUDGET, "AllocationList",
		      "is %llu bytes above what the process may have resident%s",
		      (unsigned long long)excess_bytes, holders);
}

/* ---- telling ---- */

/* Small changes are not worth a call: a 64th of everything. */
static bool is_worth_telling(const struct vidmm *manager, enum vidmm_group group, uint64_t told,
			     uint64_t now)
{
	uint64_t difference = told > now ? told - now : now - told;

	return difference > manager->group_bytes[group] / 64;
}

void budget_news_add_locked(struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	if (list_is_linked(&process->news_link))
		return;
	process->plan_count++;
	plan_add(&process->manager->plan, PLAN_NEWS, &process->news_link);
}

static void process_news_locked(struct vidmm_process *process)
{
	lock_assert_held(&process->manager->lock);
	for (int i = 0; i < VIDMM_GROUPS; i++) {
		enum vidmm_group group = (enum vidmm_group)i;
		uint64_t budget = budget_of_locked(process, group);
		uint64_t told = process->told_budget_bytes[i];
		bool is_over = process->usage_bytes[i] > budget;

		bool is_worth_it = is_worth_telling(process->manager, group, told, budget);

		/* Once when it goes over, and again when the budget shrinks. */
		if (is_over && (!process->was_over[i] || (is_worth_it && budget < told)))
			process->trim_flags |= VIDMM_TRIM_TO_BUDGET;
		process->was_over[i] = is_over;
		if (is_worth_it) {
			process->told_budget_bytes[i] = budget;
			budget_trace_locked(process, group);
			process->budget_news |= (uint8_t)(1 << i);
		}
		if (is_worth_it || process->trim_flags)
			budget_news_add_locked(process);
	}
}

void budget_news_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	if (!manager->has_budget_changes)
		return;
	manager->has_budget_changes = false;
	if (LIKELY(manager->listening_count == 0))
		return;
	list_each (struct vidmm_process, process, &manager->processes, link) {
		if (process->trim_listeners > 0 || process->budget_listeners > 0)
			process_news_locked(process);
	}
	trim_look_locked(manager);
}

/* What one process is to hear. */
struct news {
	struct vidmm_process *process;
	uint32_t trim_flags;
	uint8_t groups;
	bool is_lost;
	uint64_t bytes_to_trim;
	uint64_t budget_bytes[VIDMM_GROUPS];
};

/* Who has left meanwhile has no budget, and nothing to hear. */
static void news_take_locked(struct vidmm_process *process, struct news *news)
{
	lock_assert_held(&process->manager->lock);
	*news = (struct news){ .process = process };
	if (!list_is_linked(&process->link))
		return;
	news->trim_flags = process->trim_flags;
	news->groups = process->budget_news;
	news->is_lost = process->has_loss_news;
	news->bytes_to_trim = budget_excess_locked(process, false);
	for (int i = 0; i < VIDMM_GROUPS; i++)
		news->budget_bytes[i] = budget_of_locked(process, (enum vidmm_group)i);
	process->trim_flags = 0;
	process->budget_news = 0;
	process->has_loss_news = false;
}

static bool news_pop(struct vidmm *manager, struct list *list, struct news *news)
{
	lock_acquire(&manager->lock);
	struct list *link = list_pop_front(list);
	if (link)
		news_take_locked(container_of(link, struct vidmm_process, news_link), news);
	lock_release(&manager->lock);
	return link != NULL;
}

static void news_tell(struct vidmm *manager, const struct news *news)
{
	const struct vidmm_listener *listener = &manager->config.listener;
	void *context = manager->config.listener_context;

	for (int i = 0; i < VIDMM_GROUPS; i++) {
		if ((news->groups & (1 << i)) && listener->budget_changed)
			listener->budget_changed(context, news->process, (enum vidmm_group)i,
						 news->budget_bytes[i]);
	}
	if (news->is_lost && listener->adapter_lost)
		listener->adapter_lost(context, news->process);
	if (news->trim_flags && listener->trim)
		listener->trim(context, news->process, news->trim_flags,
			       news->trim_flags & VIDMM_TRIM_TO_BUDGET ? news->bytes_to_trim : 0);
}

void budget_tell(struct vidmm *manager, struct list *list)
{
	struct news news;

	while (!list_is_empty(list) && news_pop(manager, list, &news)) {
		news_tell(manager, &news);
		lock_acquire(&manager->lock);
		news.process->plan_count--;
		lock_release(&manager->lock);
	}
}

void budget_tell_loss(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	list_each (struct vidmm_process, process, &manager->processes, link) {
		process->has_loss_news = true;
		budget_news_add_locked(process);
	}
	decide_unlock(manager);
}

/* ---- questions ---- */

static uint64_t available_locked(const struct vidmm_process *process, enum vidmm_group group)
{
	const struct vidmm *manager = process->manager;
	uint64_t others = manager->reserved_bytes[group] - process->reservation_bytes[group];

	lock_assert_held(&process->manager->lock);
	return left_of(manager->group_bytes[group] / 2, others);
}

struct vidmm_memory_info vidmm_process_memory_info(struct vidmm_process *process,
						   enum vidmm_group group)
{
	lock_acquire(&process->manager->lock);
	struct vidmm_memory_info info = {
		.budget_bytes = budget_of_locked(process, group),
		.usage_bytes = process->usage_bytes[group],
		.reservation_bytes = process->reservation_bytes[group],
		.available_for_reservation_bytes = available_locked(process, group),
	};
	lock_release(&process->manager->lock);
	return info;
}

NTSTATUS vidmm_process_reserve(struct vidmm_process *process, enum vidmm_group group,
			       uint64_t reservation_bytes)
{
	struct vidmm *manager = process->manager;

	lock_acquire(&manager->lock);
	uint64_t available = available_locked(process, group);
	if (reservation_bytes > available) {
		lock_release(&manager->lock);
		return invalid(RULE_MM_RESERVATION, "Reservation",
			       "is more than the %llu bytes that can be reserved",
			       (unsigned long long)available);
	}
	manager->reserved_bytes[group] += reservation_bytes - process->reservation_bytes[group];
	process->reservation_bytes[group] = reservation_bytes;
	budget_recount_locked(manager);
	decide_unlock(manager);
	return STATUS_SUCCESS;
}
