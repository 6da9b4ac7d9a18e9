/* SPDX-License-Identifier: MIT */
/*
 * tally.c - see tally.h. The lists only grow; whoever is first to count puts it in.
 */
#include "base/attributes.h"
#include "base/tally.h"
#include "base/thread.h"

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
	struct tally_stripe *stripe = &times->stripes[thread_own_seat % TALLY_STRIPES];

	tally_spread_add(&stripe->took, ns);
	if (has_failed)
		atomic_fetch_add_explicit(&stripe->failed, 1, memory_order_relaxed);
	if (LIKELY(atomic_load_explicit(&times->is_known, memory_order_relaxed)) ||
	    atomic_exchange(&times->is_known, true))
		return;
	times->name = name;
	times->next = atomic_load(&all_times);
	while (!atomic_compare_exchange_weak(&all_times, &times->next, times))
		;
}

static void add(_Atomic uint64_t *sum, const _Atomic uint64_t *part)
{
	atomic_fetch_add_explicit(sum, atomic_load_explicit(part, memory_order_relaxed),
				  memory_order_relaxed);
}

void tally_sum(const struct tally_times *times, struct tally_stripe *sum_out)
{
	*sum_out = (struct tally_stripe){ 0 };
	for (uint32_t i = 0; i < TALLY_STRIPES; i++) {
		const struct tally_stripe *stripe = &times->stripes[i];

		add(&sum_out->failed, &stripe->failed);
		add(&sum_out->took.sum_ns, &stripe->took.sum_ns);
		for (uint32_t step = 0; step <= TALLY_STEPS; step++)
			add(&sum_out->took.counts[step], &stripe->took.counts[step]);
	}
}

void tally_each_time(void (*visit)(void *context, const struct tally_times *times), void *context)
{
	for (const struct tally_times *times = atomic_load(&all_times); times; times = times->next)
		visit(context, times);
}
