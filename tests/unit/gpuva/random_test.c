/* SPDX-License-Identifier: MIT */
/*
 * random_test.c - tens of thousands of requests against an array of pages.
 *
 * The model is as plain as it can be: for each page what it shows and which request took it. Every
 * request is asked of both; they must agree whether it is legal, and afterwards on every page.
 */
#include "base/random.h"
#include "world.h"

enum { MODEL_PAGES = 200, STEPS = 12000, NOBODY = -1 };

struct model_page {
	enum gpuva_kind kind;
	int owner;
	uint64_t offset;
	uint64_t driver_protection;
	uint64_t source; /* 0: free */
	bool is_reserved;
	/* Of a reservation. */
	bool is_zero;
	uint64_t reserved_protection;
};

static struct model_page model[MODEL_PAGES];
static uint64_t next_source;
static struct random chance;

static uint64_t below(uint64_t bound)
{
	return random_below(&chance, bound);
}

/* Protections: most plain, some unique with two values. */
static uint64_t any_protection(void)
{
	static const uint64_t values[] = { 0, 0, 0, 7, GPUVA_UNIQUE | 1, GPUVA_UNIQUE | 2 };

	return values[below(ARRAY_SIZE(values))];
}

static bool model_disagrees(const struct model_page *pages, int owner, uint64_t offset,
			    uint64_t protection)
{
	for (int i = 0; i < MODEL_PAGES; i++) {
		const struct model_page *page = &pages[i];

		if (page->kind == GPUVA_KIND_MAPPED && page->owner == owner &&
		    page->offset == offset && page->driver_protection != protection &&
		    ((page->driver_protection | protection) & GPUVA_UNIQUE))
			return true;
	}
	return false;
}

static bool is_one_source(uint64_t first, uint64_t count)
{
	if (first == 0 || first + count > MODEL_PAGES || model[first].source == 0)
		return false;
	for (uint64_t i = 1; i < count; i++) {
		if (model[first + i].source != model[first].source)
			return false;
	}
	return true;
}

static bool is_free(uint64_t first, uint64_t count)
{
	if (first == 0 || first + count > MODEL_PAGES)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (model[first + i].source != 0)
			return false;
	}
	return true;
}

/* The lowest place, as the space should have chosen. */
static uint64_t lowest_place(uint64_t from, uint64_t end, uint64_t count, uint64_t alignment)
{
	for (uint64_t first = 1; first + count <= end; first++) {
		if (first >= from && first % alignment == 0 && is_free(first, count))
			return first;
	}
	return 0;
}

static void expect_agreement(void)
{
	for (uint64_t page = 0; page < MODEL_PAGES;) {
		struct gpuva_view view;

		gpuva_space_look(&world.space, page, &view);
		EXPECT(view.page_count > 0);
		for (uint64_t i = 0; i < view.page_count; i++, page++) {
			struct gpuva_state state = gpuva_state_after(&view.state, i);

			EXPECT(page < MODEL_PAGES);
			EXPECT_EQ(state.kind, model[page].kind);
			EXPECT_EQ(view.area != NULL, model[page].source != 0);
			if (view.area)
				EXPECT_EQ(gpuva_is_reservation(view.area), model[page].is_reserved);
			if (state.kind == GPUVA_KIND_FREE)
				continue;
			EXPECT_EQ(state.driver_protection, model[page].driver_protection);
			if (state.kind != GPUVA_KIND_MAPPED)
				continue;
			EXPECT_EQ(state.owner - world.owners, model[page].owner);
			EXPECT_EQ(state.offset_pages + state.phase_pages, model[page].offset);
		}
	}
}

/* The steps of the last plan say what the pages of the model show by now. */
static void expect_steps(void)
{
	uint64_t end = 0;

	for (size_t i = 0; i < world.step_count && i < ARRAY_SIZE(world.steps); i++) {
		const struct gpuva_step *step = &world.steps[i];

		EXPECT(step->first_page >= end);
		end = step->first_page + step->page_count;
		for (uint64_t k = 0; k < step->page_count; k++)
			EXPECT_EQ(step->state.kind, model[step->first_page + k].kind);
	}
}

static void step_reserve(void)
{
	uint64_t base = below(3) == 0 ? 0 : below(MODEL_PAGES / 16 + 2) * 16;
	uint64_t count = 16 * (1 + below(3));
	uint64_t from = below(2) ? 0 : 16 * below(6);
	uint64_t end = below(2) ? MODEL_PAGES : from + 16 * (1 + below(6));
	struct gpuva_reserve_request request = {
		.window = { PAGES(base), PAGES(from), PAGES(end) - below(2) },
		.size_bytes = PAGES(count),
		.is_zero = below(3) != 0,
		.driver_protection = below(2) ? 0 : 0x30,
	};
	uint64_t place = base;
	NTSTATUS status;

	if (end == MODEL_PAGES)
		request.window.maximum = 0;
	if (end > MODEL_PAGES)
		end = MODEL_PAGES;
	if (base == 0)
		place = lowest_place(from, end, count, 16);
	status = reserve(&world, &request);
	EXPECT_EQ(NT_SUCCESS(status), place != 0 && is_free(place, count));
	if (!NT_SUCCESS(status))
		return;
	EXPECT_EQ(world.address, PAGES(place));
	for (uint64_t i = 0; i < count; i++)
		model[place + i] = (struct model_page){
			.kind = request.is_zero ? GPUVA_KIND_ZERO : GPUVA_KIND_NO_ACCESS,
			.owner = NOBODY,
			.driver_protection = request.driver_protection,
			.source = next_source,
			.is_reserved = true,
			.is_zero = request.is_zero,
			.reserved_protection = request.driver_protection,
		};
	next_source++;
}

static void model_map(struct model_page *page, int owner, uint64_t offset, uint64_t protection)
{
	page->kind = GPUVA_KIND_MAPPED;
	page->owner = owner;
	page->offset = offset;
	page->driver_protection = protection;
}

/* Whether a map of memory is legal at `place`, or would be wherever it goes (0). */
static bool map_is_legal(uint64_t place, uint64_t count, int owner, uint64_t offset,
			 uint64_t protection)
{
	for (uint64_t i = 0; i < count; i++) {
		if (model_disagrees(model, owner, offset + i, protection))
			return false;
	}
	return is_free(place, count) || is_one_source(place, count);
}

static void step_map(void)
{
	uint64_t base = below(3) == 0 ? 0 : 1 + below(MODEL_PAGES);
	uint64_t count = 1 + below(below(2) ? 6 : 40);
	int owner = (int)below(OWNERS);
	uint64_t offset = below(OWNER_PAGES - count + 1);
	uint64_t protection = any_protection();
	uint64_t place = base;
	struct gpuva_map_request request = {
		.window.base = PAGES(base),
		.owner = &world.owners[owner],
		.offset_pages = offset,
		.page_count = count,
		.protection = GPUVA_WRITE,
		.driver_protection = protection,
	};
	NTSTATUS status;

	if (base == 0) {
		place = count >= 16 ? lowest_place(1, MODEL_PAGES, count, 16) : 0;
		if (place == 0)
			place = lowest_place(1, MODEL_PAGES, count, 1);
	}
	status = map(&world, &request);
	EXPECT_EQ(NT_SUCCESS(status), map_is_legal(place, count, owner, offset, protection));
	if (!NT_SUCCESS(status))
		return;
	EXPECT_EQ(world.address, PAGES(place));
	if (is_free(place, count)) {
		for (uint64_t i = 0; i < count; i++)
			model[place + i] = (struct model_page){ .source = next_source };
		next_source++;
	}
	for (uint64_t i = 0; i < count; i++)
		model_map(&model[place + i], owner, offset + i, protection);
}

static void step_map_bare(void)
{
	uint64_t base = 1 + below(MODEL_PAGES);
	uint64_t count = 1 + below(20);
	bool is_zero = below(2) != 0;
	bool is_legal = is_one_source(base, count) && model[base].is_reserved;

	EXPECT_EQ(NT_SUCCESS(map_bare(&world, PAGES(base), count,
				      is_zero ? GPUVA_ZERO : GPUVA_NO_ACCESS)),
		  is_legal);
	for (uint64_t i = 0; is_legal && i < count; i++) {
		model[base + i].kind = is_zero ? GPUVA_KIND_ZERO : GPUVA_KIND_NO_ACCESS;
		model[base + i].driver_protection = 0;
	}
}

static void step_free(void)
{
	uint64_t base = below(MODEL_PAGES);
	uint64_t count = 1 + below(20);
	bool is_legal = is_one_source(base, count);

	EXPECT_EQ(NT_SUCCESS(free_range(&world, PAGES(base), PAGES(count))), is_legal);
	for (uint64_t i = 0; is_legal && i < count; i++)
		model[base + i] = (struct model_page){ 0 };
}

static void step_drop(void)
{
	int owner = (int)below(OWNERS);

	drop_owner(&world, &world.owners[owner]);
	world.step_count = 0; /* several plans; expect_agreement() sees them all */
	for (int i = 0; i < MODEL_PAGES; i++) {
		struct model_page *page = &model[i];

		if (page->kind != GPUVA_KIND_MAPPED || page->owner != owner)
			continue;
		if (!page->is_reserved) {
			*page = (struct model_page){ 0 };
			continue;
		}
		page->kind = page->is_zero ? GPUVA_KIND_ZERO : GPUVA_KIND_NO_ACCESS;
		page->driver_protection = page->reserved_protection;
	}
}

/* One operation on a copy of the model; false when it is not legal. */
static bool model_operate(struct model_page *pages, const struct gpuva_operation *operation,
			  uint64_t *destination, uint64_t *source)
{
	struct model_page before[MODEL_PAGES];
	uint64_t first = operation->base / PAGE;
	uint64_t count = operation->size_bytes / PAGE;
	uint64_t from = operation->source_base / PAGE;
	uint64_t repeat = operation->repeat_bytes ? operation->repeat_bytes / PAGE : count;
	uint64_t protection = operation->kind == GPUVA_OPERATION_MAP_PROTECT
				      ? operation->driver_protection
				      : pages[first % MODEL_PAGES].reserved_protection;

	if (!is_one_source(first, count) || !model[first].is_reserved || !model[first].is_zero ||
	    (*destination && *destination != model[first].source))
		return false;
	*destination = model[first].source;
	memcpy(before, pages, sizeof(before));
	for (uint64_t i = 0; i < count; i++) {
		struct model_page *page = &pages[first + i];
		uint64_t offset = operation->offset_bytes / PAGE + i % repeat;
		int owner = (int)(operation->owner - world.owners);

		switch (operation->kind) {
		case GPUVA_OPERATION_MAP:
		case GPUVA_OPERATION_MAP_PROTECT:
			if (count % repeat != 0 ||
			    model_disagrees(before, owner, offset, protection))
				return false;
			model_map(page, owner, offset, protection);
			break;
		case GPUVA_OPERATION_UNMAP:
			page->kind = operation->protection == GPUVA_ZERO ? GPUVA_KIND_ZERO
									 : GPUVA_KIND_NO_ACCESS;
			page->driver_protection = page->reserved_protection;
			break;
		case GPUVA_OPERATION_COPY:
			if (!is_one_source(from, count) || !model[from].is_reserved ||
			    (*source && *source != model[from].source))
				return false;
			page->kind = before[from + i].kind;
			page->owner = before[from + i].owner;
			page->offset = before[from + i].offset;
			page->driver_protection = before[from + i].driver_protection;
			break;
		}
	}
	if (operation->kind == GPUVA_OPERATION_COPY)
		*source = model[from].source;
	return true;
}

/* Somewhere in what was reserved, most of the time. */
static uint64_t reserved_page(void)
{
	for (int tries = 0; tries < 20; tries++) {
		uint64_t page = 1 + below(MODEL_PAGES - 1);

		if (model[page].is_reserved && model[page].is_zero)
			return page;
	}
	return 1 + below(MODEL_PAGES - 1);
}

static void step_update(void)
{
	struct gpuva_operation operations[4] = { 0 };
	struct model_page pages[MODEL_PAGES];
	size_t count = 1 + below(ARRAY_SIZE(operations));
	uint64_t anchor = reserved_page();
	uint64_t destination = 0;
	uint64_t source = 0;
	bool is_legal = true;

	memcpy(pages, model, sizeof(pages));
	for (size_t i = 0; i < count; i++) {
		struct gpuva_operation *operation = &operations[i];
		uint64_t pages_wanted = 1 + below(8);

		operation->kind = (enum gpuva_operation_kind)below(4);
		operation->base = PAGES(1 + (anchor + below(5)) % (MODEL_PAGES - 1));
		operation->size_bytes = PAGES(pages_wanted);
		operation->source_base = PAGES(1 + (anchor + below(9)) % (MODEL_PAGES - 1));
		operation->owner = &world.owners[below(OWNERS)];
		operation->offset_bytes = PAGES(below(OWNER_PAGES - pages_wanted + 1));
		if (below(2))
			operation->repeat_bytes = PAGES(1 + below(pages_wanted));
		if (operation->kind == GPUVA_OPERATION_UNMAP)
			operation->protection = below(2) ? GPUVA_ZERO : GPUVA_NO_ACCESS;
		operation->driver_protection = any_protection();
		is_legal = is_legal && model_operate(pages, operation, &destination, &source);
	}
	EXPECT_EQ(NT_SUCCESS(update(&world, operations, count)), is_legal);
	if (is_legal)
		memcpy(model, pages, sizeof(model));
	else
		world.step_count = 0;
}

static void run(uint64_t seed)
{
	static void (*const requests[])(void) = { step_reserve,  step_map,    step_map,
						  step_map_bare, step_free,   step_free,
						  step_update,   step_update, step_update };

	random_init(&chance, seed);
	world_init(&world, MODEL_PAGES);
	memset(model, 0, sizeof(model));
	next_source = 1;
	for (int step = 0; step < STEPS; step++) {
		world.step_count = 0;
		if (below(60) == 0)
			step_drop();
		else
			requests[below(ARRAY_SIZE(requests))]();
		expect_agreement();
		expect_steps();
	}
	world_finish(&world);
}

TEST(random, requests_agree_with_an_array_of_pages)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		run(seed);
}

TEST_MAIN("gpuva/random")
