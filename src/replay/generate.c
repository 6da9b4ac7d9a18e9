/* SPDX-License-Identifier: MIT */
/*
 * generate.c - workloads made up from a seed.
 *
 * Allocations are log-uniform from 64 KiB to 64 MiB; each workload has some 90,000 uses. Shapes and
 * numbers follow published measurements of frames and of key-value stores, so that LRU does as well
 * and as badly here as it does there; docs/replay.md has the table.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "replay/generate.h"

double generate_uniform(struct generator *generator)
{
	return (double)(random_next(&generator->random) >> 11) * 0x1p-53;
}

uint32_t generate_between(struct generator *generator, uint32_t low, uint32_t high)
{
	return low + (uint32_t)random_below(&generator->random, high - low);
}

uint32_t generate_allocation(struct generator *generator, double low_log2, double high_log2)
{
	const uint64_t page_bytes = 4096;
	uint64_t size_bytes =
		(uint64_t)exp2(low_log2 + (high_log2 - low_log2) * generate_uniform(generator));
	uint32_t allocation = 0;

	size_bytes = (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
	if (NT_SUCCESS(generator->status))
		generator->status =
			workload_add_allocation(generator->workload, size_bytes, &allocation);
	return allocation;
}

/* All of them are there at once. */
static uint32_t allocate(struct generator *generator)
{
	uint32_t allocation = generate_allocation(generator, 16, 26);

	if (NT_SUCCESS(generator->status))
		generator->workload->reference_bytes += generator->workload->sizes[allocation];
	return allocation;
}

void generate_use(struct generator *generator, uint32_t allocation)
{
	if (NT_SUCCESS(generator->status))
		generator->status =
			workload_add_event(generator->workload, WORKLOAD_USE, allocation);
}

/* Never again. A segment need not hold it for later. */
static void use_once(struct generator *generator)
{
	uint64_t reference_bytes = generator->workload->reference_bytes;
	uint32_t allocation = allocate(generator);

	generate_use(generator, allocation);
	generator->workload->reference_bytes = reference_bytes;
}

/* The numbers of the allocations made first are 0, 1, 2, … */
static void allocate_many(struct generator *generator, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		allocate(generator);
}

void generate_uses(struct generator *generator, uint32_t first, uint32_t count, uint32_t step)
{
	for (uint32_t i = 0; i < count; i += step)
		generate_use(generator, first + i);
}

void zipf_init(struct generator *generator, struct zipf *zipf, uint32_t count, double skew)
{
	double sum = 0;

	zipf->count = count;
	zipf->sums = mem_zalloc_array(count, sizeof(*zipf->sums));
	if (!zipf->sums) {
		generator->status = STATUS_NO_MEMORY;
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		sum += pow(i + 1, -skew);
		zipf->sums[i] = sum;
	}
}

uint32_t zipf_draw(struct generator *generator, const struct zipf *zipf)
{
	double wanted = generate_uniform(generator) * zipf->sums[zipf->count - 1];
	uint32_t low = 0;
	uint32_t high = zipf->count - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (zipf->sums[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void zipf_finish(struct zipf *zipf)
{
	mem_free(zipf->sums);
}

/* Every frame uses all there is, in the same order. */
static void generate_cyclic(struct generator *generator)
{
	enum { COUNT = 1500, FRAMES = 60 };

	allocate_many(generator, COUNT);
	for (int frame = 0; frame < FRAMES; frame++)
		generate_uses(generator, 0, COUNT, 1);
}

static void shuffle(struct generator *generator, uint32_t *numbers, uint32_t count)
{
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t other = (uint32_t)random_below(&generator->random, i + 1);
		uint32_t number = numbers[i];

		numbers[i] = numbers[other];
		numbers[other] = number;
	}
}

static void generate_shuffled(struct generator *generator)
{
	enum { COUNT = 1500, FRAMES = 60 };
	uint32_t order[COUNT];

	allocate_many(generator, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		order[i] = i;
	for (int frame = 0; frame < FRAMES; frame++) {
		shuffle(generator, order, COUNT);
		for (uint32_t i = 0; i < COUNT; i++)
			generate_use(generator, order[i]);
	}
}

/* A depth pass over half of them, one over all, and one for what is transparent. */
static void generate_passes(struct generator *generator)
{
	enum { COUNT = 1200, FRAMES = 45 };

	allocate_many(generator, COUNT);
	for (int frame = 0; frame < FRAMES; frame++) {
		generate_uses(generator, 0, COUNT, 2);
		generate_uses(generator, 0, COUNT, 1);
		generate_uses(generator, 0, COUNT, 5);
	}
}

/* What is always there, a view that wanders around a world, and something seen only once. */
static void generate_drift(struct generator *generator)
{
	enum { HOT = 300, WORLD = 1600, VIEW = 200, DRIFT = 30, FRAMES = 180 };

	allocate_many(generator, HOT + WORLD);
	for (uint32_t frame = 0; frame < FRAMES; frame++) {
		generate_uses(generator, 0, HOT, 1);
		for (uint32_t i = 0; i < VIEW; i++)
			generate_use(generator, HOT + (frame * DRIFT + i) % WORLD);
		generate_use(generator, allocate(generator));
	}
}

/* Two clients with frames of their own; one at a time has the screen. */
static void generate_apps(struct generator *generator)
{
	enum { COUNT = 1000, FRAMES = 90, FRAMES_OF_FOCUS = 10 };

	allocate_many(generator, 2 * COUNT);
	for (uint32_t frame = 0; frame < FRAMES; frame++)
		generate_uses(generator, frame / FRAMES_OF_FOCUS % 2 * COUNT, COUNT, 1);
}

static void generate_zipf(struct generator *generator, double skew)
{
	enum { COUNT = 3300, USES = 100000 };
	struct zipf zipf;

	allocate_many(generator, COUNT);
	zipf_init(generator, &zipf, COUNT, skew);
	for (int i = 0; NT_SUCCESS(generator->status) && i < USES; i++)
		generate_use(generator, zipf_draw(generator, &zipf));
	zipf_finish(&zipf);
}

static void generate_zipf_flat(struct generator *generator)
{
	generate_zipf(generator, 0.8);
}

static void generate_zipf_steep(struct generator *generator)
{
	generate_zipf(generator, 1.1);
}

/* Much that is seen once beside frames that would fit. */
static void generate_stream(struct generator *generator)
{
	enum { HOT = 300, STREAMED = 50, FRAMES = 250 };

	allocate_many(generator, HOT);
	generator->workload->reference_bytes *= 2;
	for (int frame = 0; frame < FRAMES; frame++) {
		generate_uses(generator, 0, HOT, 1);
		for (int i = 0; i < STREAMED; i++)
			use_once(generator);
	}
}

/* Frames of one client, between them draws of another, now and then something seen once. */
static void generate_mixed(struct generator *generator)
{
	enum { COUNT = 700, DRAWN = 1500, FRAMES = 85 };
	struct zipf zipf;

	allocate_many(generator, COUNT + DRAWN);
	zipf_init(generator, &zipf, DRAWN, 0.9);
	for (int frame = 0; NT_SUCCESS(generator->status) && frame < FRAMES; frame++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			generate_use(generator, i);
			if (i % 2 == 0)
				generate_use(generator, COUNT + zipf_draw(generator, &zipf));
			if (i % 50 == 0)
				use_once(generator);
		}
	}
	zipf_finish(&zipf);
}

/* Frames, then a random walk, then frames the other way round. */
static void generate_phases(struct generator *generator)
{
	enum { COUNT = 1500, FRAMES = 20, STEPS = 30000, STEPS_TO_MOVE_ON = 50, REACH = 300 };

	allocate_many(generator, COUNT);
	for (int frame = 0; frame < FRAMES; frame++)
		generate_uses(generator, 0, COUNT, 1);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t reach = (uint32_t)random_below(&generator->random, REACH);

		generate_use(generator, (i / STEPS_TO_MOVE_ON + reach) % COUNT);
	}
	for (int frame = 0; frame < FRAMES; frame++) {
		for (uint32_t i = COUNT; i-- > 0;)
			generate_use(generator, i);
	}
}

static const struct {
	struct workload_kind kind;
	void (*generate)(struct generator *generator);
} kinds[] = {
	{ { "cyclic", "frames that use everything in the same order" }, generate_cyclic },
	{ { "shuffled", "frames that use everything in any order" }, generate_shuffled },
	{ { "passes", "frames of three passes over different parts" }, generate_passes },
	{ { "drift", "a hot set, a view that wanders around a world, things seen once" },
	  generate_drift },
	{ { "apps", "two clients with frames of their own, in turns" }, generate_apps },
	{ { "zipf-0.8", "drawn at random, some more often than others" }, generate_zipf_flat },
	{ { "zipf-1.1", "drawn at random, a few much more often than others" },
	  generate_zipf_steep },
	{ { "stream", "frames that fit, and much that is seen once" }, generate_stream },
	{ { "mixed", "frames, random draws and things seen once at the same time" },
	  generate_mixed },
	{ { "phases", "frames, then a random walk, then frames backwards" }, generate_phases },
	{ { "game", "a camera in a world with levels of detail, a map now and then" },
	  generate_game },
	{ { "model", "a language model that serves requests" }, generate_model },
	{ { "training", "layers forwards and backwards, then the optimizer" }, generate_training },
	{ { "desktop", "programs in windows, of which one has the focus" }, generate_desktop },
};

const struct workload_kind *workload_kind_at(unsigned number)
{
	return number < ARRAY_SIZE(kinds) ? &kinds[number].kind : NULL;
}

NTSTATUS workload_generate(const char *name, uint64_t seed, struct workload *workload_out)
{
	struct workload workload = { 0 };
	struct generator generator = { .workload = &workload, .status = STATUS_NOT_FOUND };

	random_init(&generator.random, seed);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].kind.name, name) == 0) {
			generator.status = STATUS_SUCCESS;
			kinds[i].generate(&generator);
			break;
		}
	}
	if (!NT_SUCCESS(generator.status)) {
		workload_finish(&workload);
		return generator.status;
	}
	*workload_out = workload;
	return STATUS_SUCCESS;
}
