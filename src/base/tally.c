/* SPDX-License-Identifier: MIT */
/*
 * tally.c - see tally.h. The lists only grow; whoever is first to count puts it in.
 */
#include "base/attributes.h"
#include "base/tally.h"

static struct tally *_Atomic tallies;
static struct tally_times *_Atomic all_times;

void tally_count(struct tally *tally, const char *name, const char *label)
{
	atomic_fetch_add_explicit(&tally->times, 1, memory_order_relaxed);
	if (LIKELY(atomic_load_explicit(&tally->is_known, memory_order_relaxed)) ||
	    atomic_exchange(&tally->is_known, true))
		return;
	tally->name = name;
	tally->label = label;
	tally->next = atomic_load(&tallies);
	while (!atomic_compare_exchange_weak(&tallies, &tally->next, tally))
		;
}

void tally_each(void (*visit)(void *context, const struct tally *tally), void *context)
{
	for (const struct tally *tally = atomic_load(&tallies); tally; tally = tally->next)
		visit(context, tally);
}

void tally_spread_add(struct tally_spread *spread, uint64_t ns)
{
	uint32_t step = 0;

	while (step < TALLY_STEPS && ns > tally_step_ns(step))
		step++;
	atomic_fetch_add_explicit(&spread->counts[step], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&spread->sum_ns, ns, memory_order_relaxed);
}

void tally_time(struct tally_times *times, const char *name, uint64_t ns, bool has_failed)
{
	tally_spread_add(&times->took, ns);
	if (has_failed)
		atomic_fetch_add_explicit(&times->failed, 1, memory_order_relaxed);
	if (LIKELY(atomic_load_explicit(&times->is_known, memory_order_relaxed)) ||
	    atomic_exchange(&times->is_known, true))
		return;
	times->name = name;
	times->next = atomic_load(&all_times);
	while (!atomic_compare_exchange_weak(&all_times, &times->next, times))
		;
}

void tally_each_time(void (*visit)(void *context, const struct tally_times *times), void *context)
{
	for (const struct tally_times *times = atomic_load(&all_times); times; times = times->next)
		visit(context, times);
}
