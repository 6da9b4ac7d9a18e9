/* SPDX-License-Identifier: MIT */
/*
 * control_test.c - options, limits and actions of a tester, on a GPU that is turned by hand.
 */
#include "scene.h"
#include "turner.h"
#include "vidmm/control.h"

THING_TEST(offers, are_always_discarded_when_the_work_before_is_over)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	vidmm_set_options(scene.gpu.manager, VIDMM_ALWAYS_DISCARD_OFFERS);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	gpu_run(&scene.gpu, 9);
}

THING_TEST(offers, that_are_taken_back_before_that_are_whole)
{
	enum vidmm_reclaim_result result;

	thing_write(&scene.thing, 7);
	thing_bring_in(&scene.thing);
	vidmm_set_options(scene.gpu.manager, VIDMM_ALWAYS_DISCARD_OFFERS);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(&scene.thing, 7));
}

THING_TEST(offers, are_copied_out_when_they_are_never_discarded)
{
	enum vidmm_reclaim_result result;

	thing_write(&scene.thing, 8);
	thing_bring_in(&scene.thing);
	vidmm_set_options(scene.gpu.manager, VIDMM_NEVER_DISCARD_OFFERS);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	evict_segment(scene.gpu.manager, 0);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.gpu.copied_out_bytes, MIB);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(&scene.thing, 8));
}

TEST(limits, count_for_one_and_take_nothing_from_the_others)
{
	struct vidmm_process other;
	uint64_t whole;

	scene_init_with(&(struct gpu_config){ .local_bytes = 8 * MIB }, MIB, SET_LOCAL);
	vidmm_process_init(&other, scene.gpu.manager, &scene.gpu.world.adapter);
	whole = vidmm_process_memory_info(&other, VIDMM_LOCAL).budget_bytes;
	vidmm_process_set_budget_limits(&scene.gpu.process,
					&(struct vidmm_budget_limits){ { MIB, VIDMM_NO_LIMIT } });
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_LOCAL).budget_bytes, MIB);
	EXPECT_EQ(vidmm_process_memory_info(&other, VIDMM_LOCAL).budget_bytes, whole);
	/* The smaller of the two. */
	vidmm_set_budget_limits(scene.gpu.manager,
				&(struct vidmm_budget_limits){ { 2 * MIB, VIDMM_NO_LIMIT } });
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_LOCAL).budget_bytes, MIB);
	EXPECT_EQ(vidmm_process_memory_info(&other, VIDMM_LOCAL).budget_bytes, 2 * MIB);
	gpu_check(&scene.gpu);
	vidmm_process_finish(&other);
	scene_finish();
}

SCENE_TEST(limits, that_shrink_are_told_to_who_is_above,
	   scene_init_with(&(struct gpu_config){ .local_bytes = 8 * MIB }, MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	uint32_t trims = scene.gpu.trims;
	vidmm_set_budget_limits(scene.gpu.manager, &(struct vidmm_budget_limits){ { 0, 0 } });
	EXPECT_EQ(scene.gpu.trims, trims + 1);
	EXPECT_EQ(scene.gpu.trim_flags, VIDMM_TRIM_TO_BUDGET);
	EXPECT_EQ(scene.gpu.trim_bytes, MIB);
	EXPECT_EQ(vidmm_process_bytes_to_trim(&scene.gpu.process), MIB);
}

SCENE_TEST(demotion, is_forced_or_forbidden, scene_init_with(NULL, MIB, SET_LOCAL | SET_APERTURE))
{
	vidmm_process_set_options(&scene.gpu.process, VIDMM_ALWAYS_DEMOTE);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_APERTURE);
	vidmm_process_set_options(&scene.gpu.process, 0);
	struct thing *large = thing_new(&scene.client, 9 * MIB, SET_LOCAL | SET_APERTURE);
	vidmm_set_options(scene.gpu.manager, VIDMM_NO_DEMOTION);
	/* It could never be local: that is its own choice, and no demotion. */
	thing_bring_in(large);
	EXPECT_EQ(thing_segment(large), SEGMENT_APERTURE);
}

TEST(order, is_of_segments_that_have_addresses)
{
	struct vidmm_fragmentation found;

	scene_init_with(NULL, MIB, SET_LOCAL);
	EXPECT(!vidmm_fragmentation(scene.gpu.manager, 0, &found));
	EXPECT(!vidmm_fragmentation(scene.gpu.manager, SEGMENT_SYSTEM, &found));
	EXPECT(!vidmm_fragmentation(scene.gpu.manager, SEGMENT_SYSTEM + 1, &found));
	EXPECT_EQ(vidmm_defragment(scene.gpu.manager, SEGMENT_SYSTEM,
				   &(struct vidmm_defragmentation){ 0 }),
		  STATUS_SUCCESS);
	scene_finish();
}

TEST(eviction, takes_what_fits_the_description)
{
	struct thing small;
	struct turner turner;
	struct vidmm_process other;

	scene_init_with(NULL, MIB, SET_LOCAL);
	thing_init(&small, &scene.client, 65536, SET_LOCAL);
	thing_bring_in(&scene.thing);
	thing_bring_in(&small);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT_EQ(thing_evict(&small, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	vidmm_process_init(&other, scene.gpu.manager, &scene.gpu.world.adapter);
	turner_start(&turner, &scene.gpu);
	vidmm_evict_selected(scene.gpu.manager, &(struct vidmm_selection){ .process = &other });
	EXPECT(thing_is_in(&scene.thing) && thing_is_in(&small));
	vidmm_evict_selected(scene.gpu.manager,
			     &(struct vidmm_selection){ .segment = SEGMENT_APERTURE });
	EXPECT(thing_is_in(&scene.thing) && thing_is_in(&small));
	vidmm_evict_selected(scene.gpu.manager, &(struct vidmm_selection){ .most_bytes = 65536 });
	EXPECT(thing_is_in(&scene.thing) && !thing_is_in(&small));
	vidmm_evict_selected(scene.gpu.manager,
			     &(struct vidmm_selection){ .allocation = scene.thing.memory });
	EXPECT(!thing_is_in(&scene.thing));
	turner_stop(&turner);
	vidmm_process_finish(&other);
	scene_finish();
}

THING_TEST(integrity, is_what_is_wrong_with_the_books)
{
	char wrong[128] = "";

	thing_bring_in(&scene.thing);
	struct vidmm_segment *segment = &scene.gpu.manager->segments[SEGMENT_LOCAL - 1];
	EXPECT(vidmm_check_integrity(scene.gpu.manager, wrong, sizeof(wrong)));
	segment->resident_bytes++;
	EXPECT(!vidmm_check_integrity(scene.gpu.manager, wrong, sizeof(wrong)));
	EXPECT_STR(wrong, "segment 1: resident bytes were miscounted");
	segment->resident_bytes--;
	segment->traffic.entered.count++;
	EXPECT(!vidmm_check_integrity(scene.gpu.manager, wrong, sizeof(wrong)));
	EXPECT_STR(wrong, "segment 1: those who came and those who left are not those who are "
			  "there");
	segment->traffic.entered.count--;
	EXPECT(vidmm_check_integrity(scene.gpu.manager, wrong, sizeof(wrong)));
}

/* Its client's evict is under way on another thread. */
static void evict_run(void *argument)
{
	EXPECT_EQ(thing_evict(argument, 0), STATUS_SUCCESS);
}

THING_TEST(eviction, by_a_client_waits_for_its_end_when_it_is_to)
{
	struct thread *evicting;

	thing_bring_in(&scene.thing);
	vidmm_process_set_options(&scene.gpu.process, VIDMM_EVICT_SYNCHRONOUSLY);
	gpu_work(&scene.client);
	EXPECT_EQ(thread_create("evicting", evict_run, &scene.thing, &evicting), STATUS_SUCCESS);
	/* Off the list at once; there until the work is over and the way out built. */
	while (vidmm_binding_count(&scene.thing.binding) > 0)
		;
	EXPECT(thing_is_in(&scene.thing));
	gpu_retire(&scene.client);
	while (gpu_run(&scene.gpu, 1) == 0)
		;
	thread_join(evicting);
	EXPECT(!thing_is_in(&scene.thing));
	vidmm_process_set_options(&scene.gpu.process, 0);
}

TEST_MAIN("vidmm/control")
