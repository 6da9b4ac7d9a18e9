/* SPDX-License-Identifier: MIT */
/*
 * page_tables_random_test.c - random requests and moves against a model of single pages, in every
 * shape of tables.
 *
 * After every step four views of each page in the windows agree: the model's, the ranges with the
 * entries the driver was given (page_tables_validate), a walk through the memory of the tables, and
 * the TLB's. Rows of operations are made in turns, as a pager does when one of them has to wait.
 */
#include "base/random.h"
#include "world.h"

enum { SOME_STEPS = 500, ALL_STEPS = 1500, ROWS = 3 };

/* What the test thinks a page shows. */
struct model_page {
	enum gpuva_kind kind;
	enum gpuva_kind reserved_as; /* FREE: it is in no reservation */
	struct memory *memory;
	uint64_t offset;
	uint64_t protection;
};

struct row {
	bool is_used;
	struct memory *memory; /* NULL: a sync */
	struct table_sync sync;
	struct mapped_memory_cursor cursor;
};

struct model {
	struct world *world;
	struct random random;
	struct model_page pages[WINDOWS][WINDOW_PAGES];
	struct row rows[ROWS];
	uint64_t next_place;
	uint32_t carried_out;
};

static uint64_t below(struct model *model, uint64_t bound)
{
	return random_below(&model->random, bound);
}

/* ---- rows of operations, in turns ---- */

static bool row_step(struct model *model, struct row *row)
{
	struct miniport_paging_op op;
	bool is_there = row->memory ? mapped_memory_next(&row->memory->mapped, &row->cursor, &op)
				    : table_sync_next(&row->sync, &op);

	if (is_there)
		world_execute(model->world, &op);
	else
		row->is_used = false;
	return is_there;
}

static void rows_finish(struct model *model)
{
	for (int r = 0; r < ROWS; r++) {
		while (model->rows[r].is_used)
			(void)row_step(model, &model->rows[r]);
	}
}

static struct row *row_take(struct model *model)
{
	for (;;) {
		struct row *row = &model->rows[below(model, ROWS)];

		if (!row->is_used) {
			*row = (struct row){ .is_used = true };
			return row;
		}
		(void)row_step(model, row);
	}
}

/* A memory has one move at a time. */
static bool is_moving(struct model *model, const struct memory *memory)
{
	for (int r = 0; r < ROWS; r++) {
		if (model->rows[r].is_used && model->rows[r].memory == memory)
			return true;
	}
	return false;
}

/* ---- requests ---- */

/* Tables, the plan, and rows that come later. */
static NTSTATUS carry_out(struct model *model, struct gpuva_plan *plan, NTSTATUS status)
{
	struct page_tables *tables = &model->world->tables;
	struct gpuva_step steps[WINDOW_PAGES];
	size_t step_count = NT_SUCCESS(status) ? plan->step_count : 0;

	EXPECT(step_count <= WINDOW_PAGES);
	if (NT_SUCCESS(status))
		status = world_reach_plan_locked(model->world, plan);
	for (size_t i = 0; NT_SUCCESS(status) && i < step_count; i++) {
		steps[i] = plan->steps[i];
		status = page_tables_make_steps_locked(tables, &steps[i], 1, TABLES_NOW, NULL);
	}
	EXPECT(status != STATUS_NO_MEMORY);
	if (NT_SUCCESS(status))
		gpuva_plan_apply(plan);
	gpuva_plan_finish(plan);
	lock_release(&tables->lock);
	for (size_t i = 0; i < step_count; i++)
		table_sync_init(&row_take(model)->sync, tables, steps[i].first_page,
				steps[i].page_count);
	model->carried_out += NT_SUCCESS(status);
	return status;
}

static void do_reserve(struct model *model, int w)
{
	bool is_zero = below(model, 2);
	uint64_t first = below(model, 4) * 16;
	uint64_t count = (1 + below(model, (WINDOW_PAGES - first) / 16)) * 16;
	struct gpuva_reserve_request request = {
		.window.base = (model->world->windows[w] + first) << GPUVA_PAGE_SHIFT,
		.size_bytes = count << GPUVA_PAGE_SHIFT,
		.is_zero = is_zero,
	};
	struct gpuva_plan plan;

	lock_acquire(&model->world->tables.lock);
	if (!NT_SUCCESS(
		    carry_out(model, &plan,
			      gpuva_plan_reserve(&model->world->tables.space, &request, &plan))))
		return;
	for (uint64_t i = first; i < first + count; i++)
		model->pages[w][i] = (struct model_page){
			.kind = is_zero ? GPUVA_KIND_ZERO : GPUVA_KIND_NO_ACCESS,
			.reserved_as = is_zero ? GPUVA_KIND_ZERO : GPUVA_KIND_NO_ACCESS,
		};
}

static void free_range(struct model *model, int w, uint64_t first, uint64_t count)
{
	struct gpuva_plan plan;

	lock_acquire(&model->world->tables.lock);
	NTSTATUS status = gpuva_plan_free(&model->world->tables.space,
					  (model->world->windows[w] + first) << GPUVA_PAGE_SHIFT,
					  count << GPUVA_PAGE_SHIFT, false, &plan);
	if (!NT_SUCCESS(carry_out(model, &plan, status)))
		return;
	for (uint64_t i = first; i < first + count; i++)
		model->pages[w][i] = (struct model_page){ 0 };
}

static void do_free(struct model *model, int w)
{
	uint64_t first = below(model, WINDOW_PAGES);

	free_range(model, w, first, 1 + below(model, WINDOW_PAGES - first));
}

/* Whatever is there goes. */
static void make_room(struct model *model, int w, uint64_t first, uint64_t count)
{
	const struct model_page *pages = model->pages[w];

	for (uint64_t i = first; i < first + count; i++) {
		if (pages[i].kind != GPUVA_KIND_FREE || pages[i].reserved_as != GPUVA_KIND_FREE)
			free_range(model, w, i, 1);
	}
}

static void do_map(struct model *model, int w)
{
	uint64_t kind = below(model, 6);
	uint64_t first = below(model, WINDOW_PAGES);
	uint64_t most = WINDOW_PAGES - first < MEMORY_PAGES ? WINDOW_PAGES - first : MEMORY_PAGES;
	uint64_t count = 1 + below(model, most);
	uint64_t offset = below(model, MEMORY_PAGES - count + 1);

	/* As large pages would have it. */
	if (below(model, 3) == 0) {
		first = first / 16 * 16;
		offset = offset / 16 * 16;
	} else if (model->world->shape->leaf_64k_bytes != 0 && below(model, 2)) {
		/* And 64 KiB pages. */
		first = first / 32 * 32;
		offset = 0;
		count = first > 0 && below(model, 2) ? 16 : 32;
		make_room(model, w, first, count);
	}
	struct memory *memory = kind < 4 ? &model->world->memories[below(model, MEMORIES)] : NULL;
	uint64_t protection = memory ? below(model, 4) : kind == 4 ? GPUVA_ZERO : GPUVA_NO_ACCESS;
	struct gpuva_map_request request = {
		.window.base = (model->world->windows[w] + first) << GPUVA_PAGE_SHIFT,
		.owner = memory ? &memory->view.owner : NULL,
		.offset_pages = memory ? offset : 0,
		.page_count = count,
		.protection = protection,
	};
	struct gpuva_plan plan;

	lock_acquire(&model->world->tables.lock);
	if (!NT_SUCCESS(carry_out(model, &plan,
				  gpuva_plan_map(&model->world->tables.space, &request, &plan))))
		return;
	for (uint64_t i = 0; i < count; i++) {
		struct model_page *page = &model->pages[w][first + i];

		page->kind = memory      ? GPUVA_KIND_MAPPED
			     : kind == 4 ? GPUVA_KIND_ZERO
					 : GPUVA_KIND_NO_ACCESS;
		page->memory = memory;
		page->offset = offset + i;
		page->protection = protection;
	}
}

static void do_update(struct model *model, int w)
{
	uint64_t first = below(model, WINDOW_PAGES);
	uint64_t most = WINDOW_PAGES - first < MEMORY_PAGES ? WINDOW_PAGES - first : MEMORY_PAGES;
	uint64_t count = 1 + below(model, most);
	uint64_t repeat = count % 3 == 0 ? count / 3 : count % 2 == 0 ? 2 : 0;
	struct memory *memory = &model->world->memories[below(model, MEMORIES)];
	uint64_t base = model->world->windows[w] << GPUVA_PAGE_SHIFT;
	uint64_t source = below(model, WINDOW_PAGES - count + 1);
	struct gpuva_operation operation = {
		.kind = (enum gpuva_operation_kind)below(model, 3),
		.base = base + (first << GPUVA_PAGE_SHIFT),
		.size_bytes = count << GPUVA_PAGE_SHIFT,
		.source_base = base + (source << GPUVA_PAGE_SHIFT),
	};
	struct model_page before[WINDOW_PAGES];
	struct gpuva_plan plan;

	if (operation.kind == GPUVA_OPERATION_MAP) {
		operation.owner = &memory->view.owner;
		operation.repeat_bytes = repeat << GPUVA_PAGE_SHIFT;
	} else if (operation.kind == GPUVA_OPERATION_UNMAP) {
		operation.protection = below(model, 2) ? GPUVA_ZERO : GPUVA_NO_ACCESS;
	}
	lock_acquire(&model->world->tables.lock);
	if (!NT_SUCCESS(carry_out(
		    model, &plan,
		    gpuva_plan_update(&model->world->tables.space, &operation, 1, &plan))))
		return;
	memcpy(before, model->pages[w], sizeof(before));
	for (uint64_t i = 0; i < count; i++) {
		struct model_page *page = &model->pages[w][first + i];
		enum gpuva_kind reserved_as = page->reserved_as;

		if (operation.kind == GPUVA_OPERATION_COPY)
			*page = before[source + i];
		else if (operation.kind == GPUVA_OPERATION_MAP)
			*page = (struct model_page){ .kind = GPUVA_KIND_MAPPED,
						     .memory = memory,
						     .offset = repeat > 0 ? i % repeat : i,
						     .protection = GPUVA_WRITE };
		else
			*page = (struct model_page){ .kind = operation.protection == GPUVA_ZERO
								     ? GPUVA_KIND_ZERO
								     : GPUVA_KIND_NO_ACCESS };
		page->reserved_as = reserved_as;
	}
}

static void do_move(struct model *model)
{
	struct memory *memory = &model->world->memories[below(model, MEMORIES)];
	struct row *row = row_take(model);

	if (is_moving(model, memory)) {
		row->is_used = false;
		return;
	}
	row->memory = memory;
	if (memory->is_in) {
		memory->is_in = false;
		return;
	}
	memory_place(memory, below(model, 2) ? LOCAL : 0, model->next_place, below(model, 2));
	model->next_place += 2 * MEMORY_PAGES;
}

static void do_destroy(struct model *model)
{
	struct memory *memory = &model->world->memories[below(model, MEMORIES)];

	while (memory->view.owner.range_count > 0) {
		struct gpuva_plan plan;

		lock_acquire(&model->world->tables.lock);
		gpuva_plan_drop(&model->world->tables.space,
				range_of_owner_link(memory->view.owner.ranges.next), &plan);
		EXPECT_EQ(carry_out(model, &plan, STATUS_SUCCESS), STATUS_SUCCESS);
	}
	rows_finish(model); /* only then is its memory somebody else's */
	memory_end(memory);
	memory_start(model->world, memory);
	memory->is_in = false;
	for (int w = 0; w < WINDOWS; w++) {
		for (int i = 0; i < WINDOW_PAGES; i++) {
			struct model_page *page = &model->pages[w][i];

			if (page->kind == GPUVA_KIND_MAPPED && page->memory == memory)
				*page = (struct model_page){ .kind = page->reserved_as,
							     .reserved_as = page->reserved_as };
		}
	}
}

/* ---- comparing ---- */

static uint64_t expected(const struct world *world, const struct model_page *page)
{
	uint32_t flags = world->config.mmu.flags;
	uint64_t packed;

	if (page->kind == GPUVA_KIND_ZERO)
		return flags & TABLES_HAVE_ZERO
			       ? PACKED_ZERO
			       : (world->config.zero_page | PACKED_VALID |
				  (flags & TABLES_HAVE_READ_ONLY ? PACKED_READ_ONLY : 0));
	if (page->kind != GPUVA_KIND_MAPPED || !page->memory->is_in)
		return 0;
	packed = memory_page(page->memory, page->offset) << PACKED_PAGE_SHIFT |
		 (uint64_t)page->memory->segment << PACKED_SEGMENT_SHIFT | PACKED_VALID;
	if ((flags & TABLES_HAVE_READ_ONLY) && !(page->protection & GPUVA_WRITE))
		packed |= PACKED_READ_ONLY;
	if ((flags & TABLES_HAVE_NO_EXECUTE) && !(page->protection & GPUVA_EXECUTE))
		packed |= PACKED_NO_EXECUTE;
	if ((flags & TABLES_HAVE_CACHE_COHERENT) && page->memory->segment == 0)
		packed |= PACKED_CACHE_COHERENT;
	return packed;
}

static void compare(struct model *model)
{
	struct world *world = model->world;

	rows_finish(model);
	for (int w = 0; w < WINDOWS; w++) {
		for (uint64_t i = 0; i < WINDOW_PAGES; i++)
			EXPECT_EQ(world_seen(world, w, i), expected(world, &model->pages[w][i]));
	}
	world_valid(world);
}

static void run(const struct shape *shape, uint64_t seed)
{
	struct model model = { .world = world_create(shape), .next_place = 1024 };

	random_init(&model.random, seed);
	int steps = (int)some_of(SOME_STEPS, ALL_STEPS);

	for (int step = 0; step < steps; step++) {
		int w = (int)below(&model, WINDOWS);
		uint64_t what = below(&model, 100);

		if (what < 15)
			do_reserve(&model, w);
		else if (what < 45)
			do_map(&model, w);
		else if (what < 57)
			do_free(&model, w);
		else if (what < 75)
			do_update(&model, w);
		else if (what < 97)
			do_move(&model);
		else
			do_destroy(&model);
		/* Often enough with rows under way, else after every step. */
		if ((seed % 2 == 0 && step < steps / 4) || below(&model, 4) == 0 ||
		    step == steps - 1)
			compare(&model);
	}
	EXPECT(model.carried_out > some_of(SOME_STEPS, ALL_STEPS) / 8);
	EXPECT_EQ(model.world->mmu.large_walks > 0, (shape->flags & TABLES_HAVE_LARGE) != 0);
	EXPECT_EQ(model.world->mmu.huge_walks > 0,
		  (shape->flags & TABLES_HAVE_LARGE) && shape->level_count == 4);
	EXPECT_EQ(model.world->growths > 0, shape->level_count == 2 && shape->index_bits[1] < 8);
	EXPECT_EQ(model.world->mmu.wide_walks > 0, shape->leaf_64k_bytes != 0);
	EXPECT_EQ(model.world->conversions > 0,
		  shape->leaf_64k_bytes != 0 && !(shape->flags & TABLES_ARE_DUAL));
	world_destroy(model.world);
}

static uint64_t first_seed(void)
{
	const char *text = getenv("TEST_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}

#define RANDOM_TEST(claim, index)                                                                  \
	TEST(random, claim)                                                                        \
	{                                                                                          \
		for (uint64_t i = 0; i < 2; i++)                                                   \
			run(&shapes[index], first_seed() + i);                                     \
	}

RANDOM_TEST(two_levels_show_what_the_model_says, 0)
RANDOM_TEST(a_root_described_as_empty_shows_what_the_model_says, 1)
RANDOM_TEST(three_levels_show_what_the_model_says, 2)
RANDOM_TEST(four_levels_show_what_the_model_says, 3)
RANDOM_TEST(five_levels_show_what_the_model_says, 4)
RANDOM_TEST(uneven_levels_show_what_the_model_says, 5)
RANDOM_TEST(large_pages_show_what_the_model_says, 6)
RANDOM_TEST(large_pages_anywhere_show_what_the_model_says, 7)
RANDOM_TEST(large_pages_in_a_growing_root_show_what_the_model_says, 8)
RANDOM_TEST(large_pages_of_two_levels_show_what_the_model_says, 9)
RANDOM_TEST(large_pages_of_three_levels_show_what_the_model_says, 10)
RANDOM_TEST(pages_of_64k_show_what_the_model_says, 11)
RANDOM_TEST(pages_of_64k_anywhere_show_what_the_model_says, 12)
RANDOM_TEST(pages_of_64k_and_large_ones_show_what_the_model_says, 13)
RANDOM_TEST(two_tables_in_each_entry_show_what_the_model_says, 14)
RANDOM_TEST(two_tables_in_a_growing_root_show_what_the_model_says, 15)

TEST_MAIN("pagetable/page_tables_random")
