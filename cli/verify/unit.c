/* SPDX-License-Identifier: MIT */
/*
 * unit.c - see unit.h.
 */
#include <stdlib.h>

#include "base/attributes.h"
#include "cli/verify/finding.h"
#include "cli/verify/unit.h"

/* A prime: whatever the number of shards is, each has some of them. */
enum { TWICE_OF = 97 };

/* Those that are never drawn count when they are named. */
static uint32_t candidates(const struct verify_settings *settings,
			   const struct workload *found[VERIFY_WORKLOADS_MOST])
{
	uint32_t count = settings->workload_count;

	for (uint32_t i = 0; i < settings->workload_count; i++)
		found[i] = settings->workloads[i];
	for (size_t i = 0; settings->workload_count == 0 && i < workload_count; i++) {
		if (workloads[i]->weight > 0 && count < VERIFY_WORKLOADS_MOST)
			found[count++] = workloads[i];
	}
	return count;
}

uint32_t unit_choices(const struct verify_settings *settings, const struct verify_facts *facts,
		      const struct workload *chosen[VERIFY_WORKLOADS_MOST])
{
	const struct workload *found[VERIFY_WORKLOADS_MOST];
	uint32_t all = candidates(settings, found);
	uint32_t count = 0;

	for (uint32_t i = 0; i < all; i++) {
		if (workload_fits(found[i], facts))
			chosen[count++] = found[i];
	}
	return count;
}

/* What workloads need and not every driver has, the first thing first. */
static const struct {
	uint32_t ability;
	const char *words;
} wants[] = {
	{ ABLE_ALLOCATE, "private data of allocations (allocation_data of an exerciser)" },
	{ ABLE_COMMANDS, "commands (fill and copy of an exerciser)" },
	{ ABLE_HANG, "a command that does not end (hang of an exerciser)" },
	{ ABLE_GPUMMU, "GPU virtual addresses" },
};

void unit_print_left_out(FILE *out, const struct verify_settings *settings,
			 const struct verify_facts *facts)
{
	const struct workload *found[VERIFY_WORKLOADS_MOST];
	uint32_t all = candidates(settings, found);
	uint32_t told = 0;

	for (size_t want = 0; want < ARRAY_SIZE(wants); want++) {
		bool is_begun = false;

		told |= wants[want].ability;
		for (uint32_t i = 0; i < all; i++) {
			uint32_t missing = found[i]->needs & ~facts->abilities;

			if ((missing & told) != wants[want].ability)
				continue;
			if (!is_begun)
				fprintf(out, "left out, for want of %s:", wants[want].words);
			fprintf(out, " %s", found[i]->id);
			is_begun = true;
		}
		if (is_begun)
			fputc('\n', out);
	}
}

static uint64_t weight_of(const struct workload *workload)
{
	return workload->weight > 0 ? workload->weight : 1;
}

static const struct workload *draw_workload(struct random *random,
					    const struct workload *const chosen[], uint32_t count)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += weight_of(chosen[i]);
	uint64_t at = random_below(random, total);
	for (uint32_t i = 0; i + 1 < count; i++) {
		if (at < weight_of(chosen[i]))
			return chosen[i];
		at -= weight_of(chosen[i]);
	}
	return chosen[count - 1];
}

/* Half of its runs have it: what is drawn for the others is as good. */
static void plan_of_workload(const struct workload *workload, struct plan *plan_out)
{
	char problem[160];

	if (!plan_read(workload->plan, plan_out, problem, sizeof(problem)))
		*plan_out = (struct plan){ 0 };
}

void unit_draw(const struct verify_settings *settings, const struct verify_facts *facts,
	       uint64_t seed, struct unit *unit)
{
	const struct workload *chosen[VERIFY_WORKLOADS_MOST] = { 0 };
	uint32_t count = unit_choices(settings, facts, chosen);
	struct random random;

	random_init(&random, seed);
	*unit = (struct unit){ .seed = seed };
	unit->workload = draw_workload(&random, chosen, count);
	unit->is_run_twice = seed % TWICE_OF == 0;
	if (settings->plan_count > 0)
		unit->plan = settings->plans[random_below(&random, settings->plan_count)];
	else if (unit->workload->plan && random_below(&random, 2) == 0)
		plan_of_workload(unit->workload, &unit->plan);
	else
		plan_draw(&random, facts, &unit->plan);
	unit->script = needed(workload_script(unit->workload, seed, facts));
}

void unit_finish(struct unit *unit)
{
	free(unit->script);
	*unit = (struct unit){ 0 };
}
