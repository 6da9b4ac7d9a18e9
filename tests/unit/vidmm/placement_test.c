/* SPDX-License-Identifier: MIT */
/*
 * placement_test.c - where things are put.
 */
#include "scene.h"

static uint32_t first_page(struct thing *thing)
{
	return page_set_runs(&binding_place(&thing->binding)->pages)[0].first_page;
}

static uint32_t run_count(struct thing *thing)
{
	return binding_place(&thing->binding)->pages.run_count;
}

static uint32_t preference(uint32_t id, bool is_from_end)
{
	return id | (is_from_end ? 0x20 : 0);
}

SCENE_TEST(placement, preferred_segments_come_first_in_their_order, scene_init_two(NULL))
{
	struct vidmm_wishes wishes =
		thing_wishes(&scene.gpu, MIB, SET_LOCAL | SET_APERTURE | SET_SYSTEM);
	wishes.preferred_segments =
		preference(SEGMENT_SYSTEM, false) | preference(SEGMENT_LOCAL, false) << 6;
	struct thing *thing = thing_new_as(&scene.client, &wishes);
	thing_bring_in(thing);
	EXPECT_EQ(thing_segment(thing), SEGMENT_SYSTEM);
	thing_finish(thing);
	wishes.id++;
	wishes.preferred_segments = 0;
	thing_init_as(thing, &scene.client, &wishes);
	thing_bring_in(thing);
	EXPECT_EQ(thing_segment(thing), SEGMENT_LOCAL);
}

SCENE_TEST(placement, a_preference_outside_the_supported_set_does_not_count, scene_init_two(NULL))
{
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_SYSTEM);
	wishes.preferred_segments = preference(SEGMENT_LOCAL, false);
	struct thing *thing = thing_new_as(&scene.client, &wishes);
	thing_bring_in(thing);
	EXPECT_EQ(thing_segment(thing), SEGMENT_SYSTEM);
}

SCENE_TEST(placement, from_the_end_is_the_end, scene_init_two(NULL))
{
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
	struct thing *low = thing_new_in(&scene.client, MIB, SET_LOCAL);
	wishes.preferred_segments = preference(SEGMENT_LOCAL, true);
	struct thing *high = thing_new_as(&scene.client, &wishes);
	thing_bring_in(high);
	EXPECT_EQ(first_page(low), 0);
	EXPECT_EQ(first_page(high), 7 * MIB / PAGE);
}

SCENE_TEST(placement, alignment_is_kept_where_it_is_contiguous,
	   scene_init_two(&(struct gpu_config){ .is_physical = true }))
{
	thing_new_in(&scene.client, PAGE, SET_LOCAL);
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
	wishes.alignment_bytes = MIB;
	struct thing *aligned = thing_new_as(&scene.client, &wishes);
	thing_bring_in(aligned);
	EXPECT_EQ(first_page(aligned) % (MIB / PAGE), 0);
}

TEST(placement, a_bank_is_tried_first_and_left_when_it_is_full)
{
	static const uint64_t ends[] = { 2 * MIB, 4 * MIB };
	struct thing things[3];

	scene_init_two(
		&(struct gpu_config){ .is_physical = true, .bank_ends = ends, .bank_count = 3 });
	for (int i = 0; i < 3; i++) {
		struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);

		wishes.preferred_segments = preference(SEGMENT_LOCAL, false);
		wishes.hinted_banks = 2;
		thing_init_as(&things[i], &scene.client, &wishes);
		thing_bring_in(&things[i]);
	}
	EXPECT_EQ(first_page(&things[0]), 2 * MIB / PAGE);
	EXPECT_EQ(first_page(&things[1]), 3 * MIB / PAGE);
	EXPECT(first_page(&things[2]) < 2 * MIB / PAGE || first_page(&things[2]) >= 4 * MIB / PAGE);
	scene_finish();
}

TEST(placement, behind_page_tables_every_free_page_can_be_used)
{
	struct thing things[8];
	struct thing large;

	scene_init_two(NULL);
	scene_make_holes(things);
	thing_add(&large, &scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(run_count(&large), 4);
	EXPECT(thing_holds(&large, 0));
	thing_render(&large, 'r');
	for (int i = 1; i < 8; i += 2)
		EXPECT(thing_holds(&things[i], 0));
	scene_finish();
}

TEST(placement, what_is_accessed_physically_is_contiguous)
{
	struct thing things[8];
	struct thing large;

	scene_init_two(NULL);
	scene_make_holes(things);
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, 4 * MIB, SET_LOCAL);
	wishes.traits.is_accessed_physically = true;
	thing_init_as(&large, &scene.client, &wishes);
	/* Its own device's list is rearranged for it. */
	thing_bring_in(&large);
	EXPECT_EQ(run_count(&large), 1);
	for (int i = 1; i < 8; i += 2) {
		EXPECT(thing_is_in(&things[i]));
		thing_finish(&things[i]);
	}
	scene_finish();
}

SCENE_TEST(placement, segments_with_64k_pages_are_taken_in_granules,
	   scene_init_two(&(struct gpu_config){ .uses_64k_pages = true }))
{
	memset(scene.gpu.local, 'x', scene.gpu.memory.local_bytes);
	struct thing *first = thing_new(&scene.client, 20 * KIB, SET_LOCAL);
	struct thing *second = thing_new(&scene.client, 20 * KIB, SET_LOCAL);
	thing_write(second, 'w');
	thing_bring_in(first);
	thing_bring_in(second);
	EXPECT_EQ(first_page(first) % 16, 0);
	EXPECT_EQ(first_page(second) % 16, 0);
	/* The rest of a granule is not somebody else's bytes. */
	EXPECT(is_all(scene.gpu.local + first_page(first) * PAGE, 64 * KIB, 0));
	EXPECT(is_all(scene.gpu.local + first_page(second) * PAGE + 20 * KIB, 44 * KIB, 0));
}

SCENE_TEST(placement, behind_page_tables_the_aperture_id_means_system_memory, scene_init_two(NULL))
{
	struct thing *thing = thing_new(&scene.client, MIB, SET_APERTURE);
	EXPECT_EQ(thing_make_resident(thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(thing), SEGMENT_APERTURE);
	EXPECT_EQ(run_count(thing), 0);
	EXPECT_EQ(vidmm_where(thing->binding.device->process->manager, thing->memory),
		  VIDMM_RESIDENT_IN_SHARED_MEMORY);
	EXPECT_STR(scene.gpu.log, "");
}

SCENE_TEST(placement, accessed_physically_the_aperture_is_mapped, scene_init_two(NULL))
{
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_APERTURE);
	wishes.traits.is_accessed_physically = true;
	struct thing *thing = thing_new_as(&scene.client, &wishes);
	thing_write(thing, 'a');
	thing_bring_in(thing);
	EXPECT_STR(scene.gpu.log, "m");
	EXPECT(thing_holds(thing, 'a'));
	uint32_t page = first_page(thing);
	EXPECT_EQ(thing_evict(thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.gpu.memory.aperture[page], 0xD000);
	EXPECT(thing_holds(thing, 'a'));
}

SCENE_TEST(placement, beyond_the_local_budget_it_goes_to_system_memory_where_it_may,
	   scene_init_two(NULL))
{
	struct thing *first = thing_new(&scene.client, 6 * MIB, SET_LOCAL | SET_SYSTEM);
	struct thing *second = thing_new(&scene.client, 6 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(first);
	thing_bring_in(second);
	EXPECT_EQ(thing_segment(first), SEGMENT_LOCAL);
	EXPECT_EQ(thing_segment(second), SEGMENT_SYSTEM);
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_NON_LOCAL).usage_bytes,
		  6 * MIB);
}

SCENE_TEST(placement, the_commit_limit_of_an_aperture_is_hard,
	   scene_init_two(&(struct gpu_config){ .is_physical = true, .aperture_bytes = 4 * MIB }))
{
	struct thing *first = thing_new(&scene.client, 3 * MIB, SET_APERTURE);
	struct thing *second = thing_new(&scene.client, 2 * MIB, SET_APERTURE);
	thing_bring_in(first);
	EXPECT_EQ(thing_make_resident(second), STATUS_NO_MEMORY);
	thing_finish(first);
	thing_bring_in(second);
}

TEST_MAIN("vidmm/placement")
