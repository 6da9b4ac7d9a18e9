/* SPDX-License-Identifier: MIT */
/*
 * mappings_test.c - addresses of allocations that the manager moves, read through page tables that
 * are in the memory the manager gave for them.
 */
#include "base/random.h"
#include "fake/mmu.h"
#include "unit/vidmm/gpu.h"
#include "gpuva/plan.h"
#include "address_space/mappings.h"
#include "vidmm/table_block.h"

enum { SPACES = 2, FIRST_PAGE = 512, THING_PAGES = 64, STRIDE = 128 };

struct mapped_gpu {
	struct gpu gpu;
	struct client client;
	struct page_tables_config config;
	struct page_tables spaces[SPACES];
	struct fake_mmu mmu;
};

struct mapped_thing {
	struct thing thing;
	struct memory_view views[SPACES];
	uint64_t page; /* of the address */
};

/* ---- the GPU ---- */

static void run_tables(struct gpu *gpu, const struct miniport_paging_op *op)
{
	size_t length = strlen(gpu->log);
	char letter = op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE ? 'e' : 'T';

	if (length + 1 < GPU_MAX_LOG && (length == 0 || gpu->log[length - 1] != letter))
		gpu->log[length] = letter;
	if (op->kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE)
		return;
	for (uint32_t i = 0; i < op->update_table.count; i++)
		*(uint64_t *)(void *)fake_pointer(&gpu->memory, op->target.segment,
						  op->target.offset_bytes +
							  (op->update_table.first_index + i) *
								  UINT64_C(8)) = fake_entry(op, i);
}

/* 0: a fault. */
static uint64_t walk(struct mapped_gpu *mapped, int space, uint64_t page)
{
	struct page_tables_root root = page_tables_root(&mapped->spaces[space]);
	uint64_t entry = fake_walk(&mapped->mmu, &root, page);

	return entry & PACKED_VALID ? entry : 0;
}

/* What the GPU reads there; NULL: a fault. */
static char *byte_at(struct mapped_gpu *mapped, int space, uint64_t page)
{
	uint64_t entry = walk(mapped, space, page);

	return entry ? (char *)fake_pointer(&mapped->gpu.memory, packed_segment(entry),
					    packed_offset(entry))
		     : NULL;
}

static void sync_pages(struct mapped_gpu *mapped, int space, uint64_t page, uint64_t count)
{
	struct table_sync sync;
	struct miniport_paging_op op;

	table_sync_init(&sync, &mapped->spaces[space], page, count);
	while (table_sync_next(&sync, &op))
		run_tables(&mapped->gpu, &op);
}

static void start_as(struct mapped_gpu *mapped, uint64_t local_bytes)
{
	struct gpu_config config = { .mappings = &vidmm_table_mappings,
				     .local_bytes = local_bytes };

	memset(mapped, 0, sizeof(*mapped));
	gpu_init(&mapped->gpu, &config);
	client_init(&mapped->client, &mapped->gpu.process);
	mapped->gpu.tables = run_tables;
	mapped->mmu = (struct fake_mmu){ .memory = &mapped->gpu.memory,
					 .described = &mapped->config.mmu };
	mapped->config = (struct page_tables_config){
		.mmu = { .flags = TABLES_HAVE_ZERO,
			 .address_bits = 39,
			 .level_count = 3,
			 .levels = { { 9, SEGMENT_LOCAL, 0, 4096, 0 },
				     { 9, SEGMENT_SYSTEM, 0, 4096, 0 },
				     { 9, SEGMENT_LOCAL, 0, 4096, 0 } } },
		.implicit_system_segment = SEGMENT_SYSTEM,
		.take_block = vidmm_take_block,
		.give_block = vidmm_give_table,
		.memory = mapped->gpu.manager,
		.look = vidmm_look,
	};
	EXPECT_EQ(page_tables_config_init(&mapped->config), STATUS_SUCCESS);
	for (int i = 0; i < SPACES; i++) {
		EXPECT_EQ(page_tables_init(&mapped->spaces[i], &mapped->config, NULL, NULL, NULL),
			  STATUS_SUCCESS);
		sync_pages(mapped, i, 0, 1);
	}
}

static void start(struct mapped_gpu *mapped)
{
	start_as(mapped, 0);
}

static void finish(struct mapped_gpu *mapped)
{
	client_finish(&mapped->client);
	gpu_check(&mapped->gpu);
	for (int i = 0; i < SPACES; i++)
		page_tables_finish(&mapped->spaces[i]);
	page_tables_config_finish(&mapped->config);
	gpu_finish(&mapped->gpu);
}

/* ---- things with addresses ---- */

static void map(struct mapped_gpu *mapped, struct mapped_thing *thing, int space, uint64_t page)
{
	struct page_tables *tables = &mapped->spaces[space];
	struct mapped_memory *memory;
	struct gpuva_plan plan;

	EXPECT_EQ(vidmm_mapped_memory(thing->thing.memory, thing, &memory), STATUS_SUCCESS);
	memory_view_init(&thing->views[space], memory, tables);
	struct gpuva_map_request request = { .window.base = page * PAGE,
					     .owner = &thing->views[space].owner,
					     .page_count = THING_PAGES,
					     .protection = GPUVA_WRITE };
	lock_acquire(&tables->lock);
	EXPECT_EQ(gpuva_plan_map(&tables->space, &request, &plan), STATUS_SUCCESS);
	EXPECT_EQ(page_tables_make_steps_locked(tables, plan.steps, 1, TABLES_NOW, NULL),
		  STATUS_SUCCESS);
	gpuva_plan_apply(&plan);
	gpuva_plan_finish(&plan);
	lock_release(&tables->lock);
	sync_pages(mapped, space, page, THING_PAGES);
	thing->page = page;
}

static void unmap(struct mapped_gpu *mapped, struct mapped_thing *thing, int space)
{
	struct page_tables *tables = &mapped->spaces[space];
	struct gpuva_plan plan;

	lock_acquire(&tables->lock);
	gpuva_plan_drop(&tables->space, range_of_owner_link(thing->views[space].owner.ranges.next),
			&plan);
	gpuva_plan_apply(&plan);
	gpuva_plan_finish(&plan);
	lock_release(&tables->lock);
	sync_pages(mapped, space, thing->page, THING_PAGES);
	memory_view_finish(&thing->views[space]);
}

static bool is_shown(struct mapped_gpu *mapped, struct mapped_thing *thing, int space)
{
	for (uint64_t i = 0; i < THING_PAGES; i++) {
		if (byte_at(mapped, space, thing->page + i) != thing_byte(&thing->thing, i * PAGE))
			return false;
	}
	return true;
}

static bool is_hidden(struct mapped_gpu *mapped, struct mapped_thing *thing, int space)
{
	for (uint64_t i = 0; i < THING_PAGES; i++) {
		if (byte_at(mapped, space, thing->page + i))
			return false;
	}
	return true;
}

TEST(mappings, what_is_mapped_before_it_is_resident_appears_when_it_is)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start(&mapped);
	thing_init(&thing.thing, &mapped.client, THING_PAGES * PAGE, SET_LOCAL);
	map(&mapped, &thing, 0, FIRST_PAGE);
	EXPECT(is_hidden(&mapped, &thing, 0));
	thing_bring_in(&thing.thing);
	EXPECT(is_shown(&mapped, &thing, 0));
	unmap(&mapped, &thing, 0);
	EXPECT(is_hidden(&mapped, &thing, 0));
	thing_finish(&thing.thing);
	finish(&mapped);
}

TEST(mappings, what_is_mapped_when_it_is_resident_appears_at_once)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start(&mapped);
	thing_add(&thing.thing, &mapped.client, THING_PAGES * PAGE, SET_LOCAL);
	map(&mapped, &thing, 0, FIRST_PAGE);
	EXPECT(is_shown(&mapped, &thing, 0));
	unmap(&mapped, &thing, 0);
	thing_finish(&thing.thing);
	finish(&mapped);
}

/* Nothing has to be built for its way in, so no job says where it is. */
TEST(mappings, system_memory_that_needed_no_job_is_found_all_the_same)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start(&mapped);
	thing_init(&thing.thing, &mapped.client, THING_PAGES * PAGE, SET_SYSTEM);
	mapped.gpu.jobs = 0;
	thing_bring_in(&thing.thing);
	EXPECT_EQ(mapped.gpu.jobs, 0);
	map(&mapped, &thing, 0, FIRST_PAGE);
	EXPECT(is_shown(&mapped, &thing, 0));
	evict_segment(mapped.gpu.manager, 0);
	unmap(&mapped, &thing, 0);
	thing_finish(&thing.thing);
	finish(&mapped);
}

TEST(mappings, entries_go_and_the_tlb_forgets_before_the_content_leaves)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start(&mapped);
	thing_init(&thing.thing, &mapped.client, THING_PAGES * PAGE, SET_LOCAL);
	map(&mapped, &thing, 0, FIRST_PAGE);
	map(&mapped, &thing, 1, 4 * FIRST_PAGE);
	memset(mapped.gpu.log, 0, sizeof(mapped.gpu.log));
	thing_bring_in(&thing.thing);
	EXPECT_STR(mapped.gpu.log, "fseT");
	thing_render(&thing.thing, 'x');
	EXPECT_EQ(thing_evict(&thing.thing, 0), STATUS_SUCCESS);
	memset(mapped.gpu.log, 0, sizeof(mapped.gpu.log));
	evict_segment(mapped.gpu.manager, 0);
	gpu_run(&mapped.gpu, 100);
	EXPECT_STR(mapped.gpu.log, "seTo");
	EXPECT(is_hidden(&mapped, &thing, 0));
	EXPECT(is_hidden(&mapped, &thing, 1));
	thing_bring_in(&thing.thing);
	thing.page = FIRST_PAGE;
	EXPECT(is_shown(&mapped, &thing, 0));
	EXPECT_EQ(*byte_at(&mapped, 1, 4 * FIRST_PAGE), 'x');
	unmap(&mapped, &thing, 0);
	thing.page = 4 * FIRST_PAGE;
	unmap(&mapped, &thing, 1);
	thing_finish(&thing.thing);
	finish(&mapped);
}

TEST(mappings, a_gpu_that_writes_entries_itself_need_not_wait_for_the_copy)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start(&mapped);
	mapped.config.mmu.update_mode = MINIPORT_TABLE_GPU_PHYSICAL;
	thing_init(&thing.thing, &mapped.client, THING_PAGES * PAGE, SET_LOCAL);
	map(&mapped, &thing, 0, FIRST_PAGE);
	memset(mapped.gpu.log, 0, sizeof(mapped.gpu.log));
	thing_bring_in(&thing.thing);
	EXPECT_STR(mapped.gpu.log, "feT");
	unmap(&mapped, &thing, 0);
	thing_finish(&thing.thing);
	finish(&mapped);
}

TEST(mappings, a_segment_without_room_has_no_table)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };
	struct pager_table table;
	struct refusal_scope scope;

	start_as(&mapped, THING_PAGES * PAGE + 2 * PAGE);
	thing_add(&thing.thing, &mapped.client, THING_PAGES * PAGE, SET_LOCAL);
	refusal_begin(&scope, "test");
	EXPECT_EQ(vidmm_take_table(mapped.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &table),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	(void)refusal_end(&scope);
	EXPECT_RULE("MM-TABLE-ROOM");
	thing_finish(&thing.thing);
	EXPECT_EQ(vidmm_take_table(mapped.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &table),
		  STATUS_SUCCESS);
	gpu_check(&mapped.gpu);
	vidmm_give_table(mapped.gpu.manager, &table, PAGE);
	finish(&mapped);
}

TEST(mappings, the_first_address_of_an_allocation_survives_no_memory)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };
	struct mapped_memory *memory;
	struct pager_table table;

	start(&mapped);
	thing_init(&thing.thing, &mapped.client, THING_PAGES * PAGE, SET_LOCAL);
	mem_fail_nth(1);
	EXPECT_EQ(vidmm_mapped_memory(thing.thing.memory, NULL, &memory), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	mem_fail_nth(1);
	EXPECT_EQ(vidmm_take_table(mapped.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &table),
		  STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	mem_fail_nth(2);
	EXPECT_EQ(vidmm_take_table(mapped.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &table),
		  STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	thing_finish(&thing.thing);
	finish(&mapped);
}

/* One round of it; true when something shifts. */
static bool put_in_order(struct mapped_gpu *mapped)
{
	enum defragment_round round;
	struct defragment order;

	defragment_init(&order, mapped->gpu.manager, SEGMENT_LOCAL,
			&(struct vidmm_defragmentation){ 0 });
	EXPECT_EQ(defragment_step(&order, &round), STATUS_SUCCESS);
	return round == DEFRAGMENT_SHIFTS;
}

/* Two in a row, of which the lower one is about to go. */
static void start_with_hole(struct mapped_gpu *mapped, struct mapped_thing *thing)
{
	struct thing lower;

	start(mapped);
	thing_add(&lower, &mapped->client, THING_PAGES * PAGE, SET_LOCAL);
	thing_init(&thing->thing, &mapped->client, THING_PAGES * PAGE, SET_LOCAL);
	map(mapped, thing, 1, FIRST_PAGE);
	map(mapped, thing, 0, FIRST_PAGE);
	thing_bring_in(&thing->thing);
	thing_render(&thing->thing, 'x');
	thing_finish(&lower);
	memset(mapped->gpu.log, 0, sizeof(mapped->gpu.log));
}

static void end_with_hole(struct mapped_gpu *mapped, struct mapped_thing *thing)
{
	EXPECT(is_shown(mapped, thing, 0));
	EXPECT(is_shown(mapped, thing, 1));
	EXPECT(thing_holds(&thing->thing, 'x'));
	unmap(mapped, thing, 0);
	unmap(mapped, thing, 1);
	thing_finish(&thing->thing);
	finish(mapped);
}

TEST(mappings, follow_what_shifts_when_its_copy_is_there)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start_with_hole(&mapped, &thing);
	char *before = thing_byte(&thing.thing, 0);
	EXPECT(put_in_order(&mapped));
	EXPECT(byte_at(&mapped, 0, FIRST_PAGE) == before);
	gpu_run(&mapped.gpu, 9);
	EXPECT(thing_byte(&thing.thing, 0) != before);
	/* Never invalid in between; and the TLBs forget. */
	EXPECT_STR(mapped.gpu.log, "cseT");
	end_with_hole(&mapped, &thing);
}

/* Whoever maps it meanwhile finds the pages that it has then. */
TEST(mappings, that_come_while_it_shifts_show_it)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start_with_hole(&mapped, &thing);
	unmap(&mapped, &thing, 0);
	EXPECT(put_in_order(&mapped));
	map(&mapped, &thing, 0, FIRST_PAGE);
	EXPECT_EQ(*byte_at(&mapped, 0, FIRST_PAGE), 'x');
	gpu_run(&mapped.gpu, 9);
	end_with_hole(&mapped, &thing);
}

TEST(mappings, of_a_copy_that_failed_are_as_they_were)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start_with_hole(&mapped, &thing);
	char *before = thing_byte(&thing.thing, 0);
	EXPECT(put_in_order(&mapped));
	mapped.gpu.fail_op = 1;
	gpu_run(&mapped.gpu, 9);
	EXPECT_STR(mapped.gpu.log, "");
	EXPECT(thing_byte(&thing.thing, 0) == before);
	end_with_hole(&mapped, &thing);
}

static unsigned broken_spaces;

static void space_broke(struct page_tables *tables, NTSTATUS status)
{
	(void)tables;
	EXPECT_EQ(status, STATUS_DRIVER_INTERNAL_ERROR);
	broken_spaces++;
}

/* Nobody knows what they show: both spaces are told, and the content is where it was. */
TEST(mappings, that_failed_in_the_middle_are_given_up_and_the_content_is_not)
{
	struct mapped_gpu mapped;
	struct mapped_thing thing = { 0 };

	start_with_hole(&mapped, &thing);
	mapped.config.failed = space_broke;
	broken_spaces = 0;
	char *before = thing_byte(&thing.thing, 0);
	EXPECT(put_in_order(&mapped));
	mapped.gpu.fail_op = 3; /* the copy, the settling, the first entries */
	gpu_run(&mapped.gpu, 9);
	EXPECT_EQ(broken_spaces, 2);
	EXPECT(thing_byte(&thing.thing, 0) == before);
	sync_pages(&mapped, 0, FIRST_PAGE, THING_PAGES);
	sync_pages(&mapped, 1, FIRST_PAGE, THING_PAGES);
	end_with_hole(&mapped, &thing);
}

/* More than fits, so that they push each other out, scattered, under addresses that come and go. */
TEST(mappings, random_moves_are_followed_page_by_page)
{
	enum { THINGS = 10, STEPS = 600 };
	static struct mapped_gpu mapped;
	static struct mapped_thing things[THINGS];
	bool has_view[THINGS] = { 0 };
	bool is_listed[THINGS] = { 0 };
	struct random random;

	random_init(&random, 7);
	memset(things, 0, sizeof(things));
	start_as(&mapped, 4 * THING_PAGES * PAGE + 40 * PAGE);
	for (int i = 0; i < THINGS; i++)
		thing_init(&things[i].thing, &mapped.client, THING_PAGES * PAGE,
			   i % 3 == 0 ? SET_LOCAL | SET_SYSTEM : SET_LOCAL);
	for (int step = 0; step < STEPS; step++) {
		int i = (int)random_below(&random, THINGS);
		int listed = 0;

		for (int n = 0; n < THINGS; n++)
			listed += is_listed[n];
		switch (random_below(&random, 5)) {
		case 0:
			if (!is_listed[i] && listed < 4) {
				thing_bring_in(&things[i].thing);
				is_listed[i] = true;
			}
			break;
		case 1:
			if (is_listed[i]) {
				EXPECT_EQ(thing_evict(&things[i].thing, 0), STATUS_SUCCESS);
				is_listed[i] = false;
			}
			break;
		case 2:
			if (!has_view[i])
				map(&mapped, &things[i], 0,
				    FIRST_PAGE + (uint64_t)i * STRIDE + random_below(&random, 64));
			else
				unmap(&mapped, &things[i], 0);
			has_view[i] = !has_view[i];
			break;
		case 3:
			(void)put_in_order(&mapped);
			break;
		default:
			evict_segment(mapped.gpu.manager, 0);
			break;
		}
		gpu_run(&mapped.gpu, 1000);
		for (int n = 0; n < THINGS; n++) {
			if (has_view[n])
				EXPECT(thing_is_in(&things[n].thing)
					       ? is_shown(&mapped, &things[n], 0)
					       : is_hidden(&mapped, &things[n], 0));
		}
		gpu_check(&mapped.gpu);
	}
	for (int i = 0; i < THINGS; i++) {
		if (has_view[i])
			unmap(&mapped, &things[i], 0);
		thing_finish(&things[i].thing);
	}
	EXPECT(mapped.gpu.copied_within_bytes > 0);
	finish(&mapped);
}

TEST_MAIN("address_space/mappings")
