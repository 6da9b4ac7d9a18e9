/* SPDX-License-Identifier: MIT */
/*
 * workload_basic.c - W00, W10 and W20: what is asked of every driver's memory.
 *
 * A model of what each allocation holds goes along, so that a script knows what it expects to read.
 */
#include <inttypes.h>

#include "cli/verify/workload.h"

/* ---- W00 ---- */

static void generate_start(FILE *script, struct random *random, const struct verify_facts *facts)
{
	(void)random;
	(void)facts;
	fputs("# The driver starts, is asked what it can do, and stops.\n", script);
}

const struct workload workload_start = {
	.id = "W00",
	.name = "start",
	.what = "start and stop, nothing else",
	.generate = generate_start,
};

/* ---- what allocations hold ---- */

enum { MODEL_MOST = 12, CLIENTS = 2 };

struct model {
	FILE *script;
	struct random *random;
	uint32_t count;
	uint32_t names; /* taken so far */
	struct held {
		uint32_t name; /* a name is made once in a script */
		uint32_t client;
		bool is_there;
		bool is_mapped;
		uint32_t resident; /* how often */
		bool is_known;
		uint64_t word; /* what all of it is, when that is known */
	} held[MODEL_MOST];
};

static bool chance(struct model *model, uint64_t percent)
{
	return random_below(model->random, 100) < percent;
}

/* Sizes of all magnitudes, and more together than a small segment has. */
static void allocate(struct model *model, struct held *held)
{
	uint64_t pages = UINT64_C(1) << random_below(model->random, 8);

	pages += random_below(model->random, pages);
	*held = (struct held){ .name = model->names++,
			       .client = (uint32_t)random_below(model->random, CLIENTS),
			       .is_there = true };
	fprintf(model->script, "allocate a%u c%u %" PRIu64 "K\n", held->name, held->client,
		pages * 4);
}

static void destroy(struct model *model, struct held *held)
{
	fprintf(model->script, "destroy a%u\n", held->name);
	held->is_there = false;
}

static void reside(struct model *model, struct held *held)
{
	fprintf(model->script, "resident a%u\n", held->name);
	held->resident++;
}

static void evict(struct model *model, struct held *held)
{
	fprintf(model->script, "evict a%u%s\n", held->name, chance(model, 20) ? " if-needed" : "");
	held->resident--;
}

static void fill_by_gpu(struct model *model, struct held *held)
{
	uint64_t value = random_next(model->random) & UINT32_MAX;

	if (!held->is_mapped)
		fprintf(model->script, "map a%u\n", held->name);
	held->is_mapped = true;
	if (held->resident == 0)
		reside(model, held);
	fprintf(model->script, "submit x%u fill a%u %#" PRIx64 "\nwait x%u\n", held->client,
		held->name, value, held->client);
	held->word = value;
	held->is_known = true;
}

static void fill_by_cpu(struct model *model, struct held *held)
{
	held->word = random_next(model->random) & UINT32_MAX;
	held->is_known = true;
	fprintf(model->script, "write a%u %#" PRIx64 "\n", held->name, held->word);
}

static void look(struct model *model, const struct held *held)
{
	if (held->is_known)
		fprintf(model->script, "check a%u %#" PRIx64 "\n", held->name, held->word);
}

static void begin(struct model *model)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		fprintf(model->script, "client c%u\ncontext x%u c%u node 0\n", i, i, i);
}

static void end(struct model *model)
{
	for (uint32_t i = 0; i < model->count; i++) {
		if (!model->held[i].is_there)
			continue;
		look(model, &model->held[i]);
		if (chance(model, 50))
			destroy(model, &model->held[i]);
	}
}

/* ---- W10 ---- */

static void make_resident_step(struct model *model, struct held *held)
{
	if (!held->is_there) {
		allocate(model, held);
		return;
	}
	switch (random_below(model->random, 6)) {
	case 0:
	case 1:
		reside(model, held);
		break;
	case 2:
	case 3:
		if (held->resident > 0)
			evict(model, held);
		else
			fprintf(model->script,
				"expect STATUS_INVALID_PARAMETER:MM-EVICT-COUNT evict a%u\n",
				held->name);
		break;
	case 4:
		fill_by_gpu(model, held);
		break;
	default:
		look(model, held);
		break;
	}
}

static void generate_make_resident(FILE *script, struct random *random,
				   const struct verify_facts *facts)
{
	struct model model = { .script = script, .random = random };
	uint64_t steps = 10 + random_below(random, 40);

	(void)facts;
	model.count = 1 + (uint32_t)random_below(random, MODEL_MOST);
	begin(&model);
	while (steps-- > 0)
		make_resident_step(&model, &model.held[random_below(random, model.count)]);
	end(&model);
}

const struct workload workload_make_resident = {
	.id = "W10",
	.name = "make-resident",
	.what = "MakeResident and Evict, and their counts",
	.needs = ABLE_ALLOCATE | ABLE_GPUMMU | ABLE_COMMANDS,
	.weight = 1,
	.generate = generate_make_resident,
};

/* ---- W20 ---- */

static void churn_step(struct model *model, struct held *held)
{
	if (!held->is_there) {
		allocate(model, held);
		return;
	}
	switch (random_below(model->random, 6)) {
	case 0:
		look(model, held);
		destroy(model, held);
		break;
	case 1:
		fill_by_gpu(model, held);
		break;
	case 2:
		fill_by_cpu(model, held);
		break;
	case 3:
		if (held->resident > 0)
			evict(model, held);
		break;
	default:
		look(model, held);
		break;
	}
}

static void generate_churn(FILE *script, struct random *random, const struct verify_facts *facts)
{
	struct model model = { .script = script, .random = random };
	uint64_t steps = 10 + random_below(random, 60);

	(void)facts;
	model.count = 2 + (uint32_t)random_below(random, MODEL_MOST - 1);
	begin(&model);
	while (steps-- > 0)
		churn_step(&model, &model.held[random_below(random, model.count)]);
	end(&model);
}

const struct workload workload_churn = {
	.id = "W20",
	.name = "churn",
	.what = "allocations come and go, written by CPU and GPU",
	.needs = ABLE_ALLOCATE | ABLE_GPUMMU | ABLE_COMMANDS,
	.weight = 1,
	.generate = generate_churn,
};
