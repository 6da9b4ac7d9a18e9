/* SPDX-License-Identifier: MIT */
/*
 * budget_test.c - budgets, reservations, and who is told what.
 */
#include "scene.h"
#include "vidmm/table_block.h"

static struct vidmm_memory_info info_of(struct vidmm_process *process)
{
	return vidmm_process_memory_info(process, VIDMM_LOCAL);
}

SCENE_TEST(budget, of_one_process_is_everything, scene_init(NULL))
{
	EXPECT_EQ(info_of(&scene.gpu.process).budget_bytes, 8 * MIB);
	EXPECT_EQ(info_of(&scene.gpu.process).usage_bytes, 0);
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_NON_LOCAL).budget_bytes,
		  48 * MIB);
}

SCENE_TEST(budget, is_not_more_than_all_apertures_may_hold,
	   scene_init(&(struct gpu_config){ .commit_limit_bytes = 20 * MIB }))
{
	EXPECT_EQ(info_of(&scene.gpu.process).budget_bytes, 8 * MIB);
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_NON_LOCAL).budget_bytes,
		  20 * MIB);
}

SCENE_TEST(budget, is_what_others_do_not_claim_and_never_below_the_share, scene_init(NULL))
{
	scene_add_second();
	struct thing *mine = thing_new(&scene.client, 6 * MIB, SET_LOCAL);
	struct thing *yours = thing_new_in(&scene.other, MIB, SET_LOCAL);
	EXPECT_EQ(info_of(&scene.gpu.process).budget_bytes, 7 * MIB);
	thing_bring_in(mine);
	EXPECT_EQ(info_of(&scene.second).budget_bytes, 4 * MIB);
	EXPECT_EQ(info_of(&scene.gpu.process).budget_bytes, 7 * MIB);
	thing_finish(mine);
	thing_finish(yours);
	scene_end_second();
}

SCENE_TEST(budget, a_process_that_comes_late_gets_its_share, scene_init(NULL))
{
	struct thing *mine = thing_new_in(&scene.client, 8 * MIB, SET_LOCAL);
	thing_render(mine, 'm');
	scene_add_second();
	struct thing *yours = thing_new(&scene.other, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(yours), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(yours));
	/* The first is 4 MiB over its budget, and told so, outside of every lock. */
	EXPECT(scene.gpu.trims > 0);
	EXPECT(scene.gpu.trimmed == &scene.gpu.process);
	EXPECT_EQ(scene.gpu.trim_flags, VIDMM_TRIM_TO_BUDGET);
	EXPECT_EQ(scene.gpu.trim_bytes, 4 * MIB);
	EXPECT(scene.gpu.budget_changes > 0);
	thing_finish(yours);
	scene_end_second();
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(mine, 'm'));
}

TEST(budget, evict_says_how_much_is_still_missing)
{
	struct thing mine[2];
	struct thing yours;
	uint64_t bytes = 1;

	scene_init(NULL);
	for (int i = 0; i < 2; i++) {
		thing_add(&mine[i], &scene.client, 4 * MIB, SET_LOCAL);
	}
	scene_add_second();
	thing_init(&yours, &scene.other, 3 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&yours), STATUS_PENDING);
	gpu_run(&scene.gpu, 20);
	struct vidmm_binding *twice[] = { &mine[0].binding };
	EXPECT_EQ(vidmm_make_resident(&scene.client.device, twice, 1, VIDMM_CANT_TRIM_FURTHER,
				      &mine[0].request, &bytes) == STATUS_NO_MEMORY,
		  false);
	gpu_run(&scene.gpu, 20);
	EXPECT_EQ(vidmm_evict(&scene.client.device, twice, 1, 0, &bytes), STATUS_SUCCESS);
	EXPECT_EQ(bytes, 3 * MIB);
	EXPECT_EQ(vidmm_evict(&scene.client.device, twice, 1, 0, &bytes), STATUS_SUCCESS);
	EXPECT_EQ(bytes, 0);
	gpu_run(&scene.gpu, 20);
	thing_finish(&yours);
	scene_end_second();
	scene_finish();
}

/* What is on the list already only counts once more, wherever others have sent it. */
SCENE_TEST(budget, that_shrank_refuses_nothing_that_is_listed_already, scene_init(NULL))
{
	struct thing *mine = thing_new_in(&scene.client, 8 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(mine), STATUS_SUCCESS);
	scene_add_second();
	struct thing *yours = thing_new(&scene.other, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(yours), STATUS_PENDING);
	gpu_run(&scene.gpu, 20);
	EXPECT(!thing_is_in(mine));
	EXPECT(info_of(&scene.gpu.process).usage_bytes > info_of(&scene.gpu.process).budget_bytes);
	EXPECT_EQ(thing_make_resident(mine), STATUS_PENDING);
	EXPECT_EQ(vidmm_binding_count(&mine->binding), 3);
	EXPECT_EQ(info_of(&scene.gpu.process).usage_bytes, 8 * MIB);
	/* What is new is refused as before. */
	struct thing *more = thing_new(&scene.client, PAGE, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(more), STATUS_NO_MEMORY);
	thing_finish(more);
	thing_finish(yours);
	gpu_run(&scene.gpu, 20);
	EXPECT_EQ(mine->done, 2);
	EXPECT_EQ(mine->status, STATUS_SUCCESS);
}

SCENE_TEST(budget, who_can_trim_no_further_may_exceed_it_but_not_what_there_is, scene_init(NULL))
{
	scene_add_second();
	struct thing *yours = thing_new(&scene.other, 4 * MIB, SET_LOCAL);
	struct thing *mine = thing_new(&scene.client, 6 * MIB, SET_LOCAL);
	struct thing *more = thing_new(&scene.client, 3 * MIB, SET_LOCAL);
	thing_bring_in(yours);
	EXPECT_EQ(thing_make_resident(mine), STATUS_NO_MEMORY);
	EXPECT_EQ(thing_demand(mine), STATUS_PENDING);
	EXPECT_EQ(thing_demand(more), STATUS_NO_MEMORY);
	gpu_run(&scene.gpu, 20);
	EXPECT(thing_is_in(mine));
	EXPECT_EQ(mine->done, 1);
	thing_finish(mine);
	thing_finish(more);
	thing_finish(yours);
	scene_end_second();
}

SCENE_TEST(reservation, is_absolute_and_bounded, scene_init(NULL))
{
	scene_add_second();
	EXPECT_EQ(info_of(&scene.gpu.process).available_for_reservation_bytes, 4 * MIB);
	EXPECT_EQ(vidmm_process_reserve(&scene.gpu.process, VIDMM_LOCAL, 3 * MIB), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_reserve(&scene.gpu.process, VIDMM_LOCAL, 2 * MIB), STATUS_SUCCESS);
	EXPECT_EQ(info_of(&scene.gpu.process).reservation_bytes, 2 * MIB);
	EXPECT_EQ(info_of(&scene.second).available_for_reservation_bytes, 2 * MIB);
	EXPECT_EQ(vidmm_process_reserve(&scene.second, VIDMM_LOCAL, 2 * MIB + 1),
		  STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-RESERVATION");
	EXPECT_EQ(vidmm_process_reserve(&scene.gpu.process, VIDMM_LOCAL, 0), STATUS_SUCCESS);
	EXPECT_EQ(info_of(&scene.second).available_for_reservation_bytes, 4 * MIB);
	scene_end_second();
}

SCENE_TEST(reservation, keeps_others_out_of_it, scene_init(NULL))
{
	scene_add_second();
	EXPECT_EQ(vidmm_process_reserve(&scene.gpu.process, VIDMM_LOCAL, 4 * MIB), STATUS_SUCCESS);
	EXPECT_EQ(info_of(&scene.second).budget_bytes, 4 * MIB);
	struct thing *yours = thing_new(&scene.other, 5 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(yours), STATUS_NO_MEMORY);
	EXPECT_EQ(info_of(&scene.gpu.process).budget_bytes, 8 * MIB);
	thing_finish(yours);
	scene_end_second();
}

/* Page tables are no application's: what they take can be part of what was reserved before. */
TEST(reservation, of_more_than_page_tables_leave_is_nobody_s_budget)
{
	struct pager_table tables;
	struct thing yours;

	scene_init_two(NULL);
	EXPECT_EQ(vidmm_process_reserve(&scene.gpu.process, VIDMM_LOCAL, 4 * MIB), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_take_table(scene.gpu.manager, SEGMENT_LOCAL, 5 * MIB, PAGE, &tables),
		  STATUS_SUCCESS);
	EXPECT_EQ(info_of(&scene.gpu.process).budget_bytes, 3 * MIB);
	EXPECT_EQ(info_of(&scene.second).budget_bytes, 0);
	EXPECT_EQ(info_of(&scene.second).available_for_reservation_bytes, 0);
	thing_init(&yours, &scene.other, MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&yours), STATUS_NO_MEMORY);
	gpu_check(&scene.gpu);
	vidmm_give_table(scene.gpu.manager, &tables, 5 * MIB);
	EXPECT_EQ(info_of(&scene.gpu.process).budget_bytes, 8 * MIB);
	EXPECT_EQ(info_of(&scene.second).budget_bytes, 4 * MIB);
	scene_finish();
}

SCENE_TEST(usage, of_offered_memory_is_nobody_s, scene_init(NULL))
{
	enum vidmm_reclaim_result result;

	struct thing *mine = thing_new_in(&scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(info_of(&scene.gpu.process).usage_bytes, 4 * MIB);
	EXPECT_EQ(vidmm_binding_offer(&mine->binding, VIDMM_OFFER_LOW, false, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(info_of(&scene.gpu.process).usage_bytes, 0);
	EXPECT_EQ(thing_reclaim(mine, &result), STATUS_SUCCESS);
	EXPECT_EQ(info_of(&scene.gpu.process).usage_bytes, 4 * MIB);
}

SCENE_TEST(usage, a_reclaim_may_go_over_the_budget_and_a_trim_follows, scene_init(NULL))
{
	enum vidmm_reclaim_result result;

	struct thing *first = thing_new(&scene.client, 5 * MIB, SET_LOCAL);
	struct thing *second = thing_new(&scene.client, 5 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(first);
	EXPECT_EQ(vidmm_binding_offer(&first->binding, VIDMM_OFFER_LOW, false, false),
		  STATUS_SUCCESS);
	thing_bring_in(second);
	EXPECT_EQ(thing_segment(second), SEGMENT_LOCAL);
	EXPECT_EQ(thing_reclaim(first, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	EXPECT_EQ(info_of(&scene.gpu.process).usage_bytes, 10 * MIB);
	EXPECT_EQ(scene.gpu.trim_flags, VIDMM_TRIM_TO_BUDGET);
	EXPECT_EQ(scene.gpu.trim_bytes, 2 * MIB);
	gpu_run(&scene.gpu, 20);
}

TEST(segment, says_what_is_in_it)
{
	struct vidmm_segment_usage usage;
	struct thing mine;

	scene_init(NULL);
	EXPECT(!vidmm_segment_usage(scene.gpu.manager, 0, &usage));
	EXPECT(!vidmm_segment_usage(scene.gpu.manager, 4, &usage));
	thing_add(&mine, &scene.client, 4 * MIB, SET_LOCAL);
	EXPECT(vidmm_segment_usage(scene.gpu.manager, SEGMENT_LOCAL, &usage));
	EXPECT_EQ(usage.resident_bytes, 4 * MIB);
	EXPECT_EQ(usage.needed_bytes, 4 * MIB);
	EXPECT_EQ(usage.traffic.filled.bytes, 4 * MIB);
	EXPECT_EQ(usage.traffic.evicted.bytes, 0);
	EXPECT_EQ(usage.group, VIDMM_LOCAL);
	scene_finish();
}

TEST_MAIN("vidmm/budget")
