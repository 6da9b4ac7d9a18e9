/* SPDX-License-Identifier: MIT */
/*
 * trim_test.c - who is told to trim, and who is not. How the clock goes is in tests/api/trim_clock,
 * where time is counted.
 */
#include "scene.h"
#include "vidmm/control.h"

SCENE_TEST(trim, periodic_and_restart_are_told_as_asked, scene_init_with(NULL, 7 * MIB, SET_LOCAL))
{
	gpu_trim(NULL, VIDMM_TRIM_PERIODIC);
	EXPECT_EQ(scene.gpu.trims, 1);
	EXPECT_EQ(scene.gpu.trim_flags, VIDMM_TRIM_PERIODIC);
	EXPECT_EQ(scene.gpu.trim_bytes, 0);
	gpu_trim(&scene.gpu.process, VIDMM_TRIM_RESTART_PERIODIC);
	EXPECT_EQ(scene.gpu.trims, 2);
	EXPECT_EQ(scene.gpu.trim_flags, VIDMM_TRIM_RESTART_PERIODIC);
}

TEST(trim, a_restart_takes_the_place_of_a_periodic_one)
{
	EXPECT_EQ(vidmm_trim_merge(0, VIDMM_TRIM_PERIODIC), VIDMM_TRIM_PERIODIC);
	EXPECT_EQ(vidmm_trim_merge(VIDMM_TRIM_PERIODIC, VIDMM_TRIM_RESTART_PERIODIC),
		  VIDMM_TRIM_RESTART_PERIODIC);
	EXPECT_EQ(vidmm_trim_merge(VIDMM_TRIM_RESTART_PERIODIC, VIDMM_TRIM_PERIODIC),
		  VIDMM_TRIM_RESTART_PERIODIC);
	EXPECT_EQ(vidmm_trim_merge(VIDMM_TRIM_TO_BUDGET, VIDMM_TRIM_PERIODIC),
		  VIDMM_TRIM_TO_BUDGET | VIDMM_TRIM_PERIODIC);
}

TEST(listeners, only_who_listens_is_told)
{
	struct vidmm_process silent;

	scene_init_with(NULL, 7 * MIB, SET_LOCAL);
	vidmm_process_init(&silent, scene.gpu.manager, &scene.gpu.world.adapter);
	gpu_trim(&silent, VIDMM_TRIM_PERIODIC);
	EXPECT_EQ(scene.gpu.trims, 0);
	gpu_trim(NULL, VIDMM_TRIM_PERIODIC);
	EXPECT_EQ(scene.gpu.trims, 1);
	EXPECT(scene.gpu.trimmed == &scene.gpu.process);
	vidmm_process_listen(&silent, 1, 0);
	gpu_trim(&silent, VIDMM_TRIM_PERIODIC);
	EXPECT_EQ(scene.gpu.trims, 2);
	EXPECT(scene.gpu.trimmed == &silent);
	/* Two listeners of one process are one to the manager. */
	vidmm_process_listen(&silent, 1, 0);
	vidmm_process_listen(&silent, -1, 0);
	gpu_trim(&silent, VIDMM_TRIM_PERIODIC);
	EXPECT_EQ(scene.gpu.trims, 3);
	vidmm_process_finish(&silent);
	vidmm_process_listen(&scene.gpu.process, -1, -1);
	gpu_trim(NULL, VIDMM_TRIM_PERIODIC);
	vidmm_trim_tick(scene.gpu.manager);
	EXPECT_EQ(scene.gpu.trims, 3);
	scene_finish();
}

SCENE_TEST(listeners, who_begins_to_listen_over_its_budget_is_told,
	   scene_init_with(NULL, 7 * MIB, SET_LOCAL))
{
	vidmm_process_listen(&scene.gpu.process, -1, -1);
	thing_bring_in(&scene.thing);
	vidmm_set_budget_limits(scene.gpu.manager,
				&(struct vidmm_budget_limits){ { MIB, VIDMM_NO_LIMIT } });
	EXPECT_EQ(scene.gpu.trims, 0);
	vidmm_process_listen(&scene.gpu.process, 1, 0);
	EXPECT_EQ(scene.gpu.trims, 1);
	EXPECT_EQ(scene.gpu.trim_flags, VIDMM_TRIM_TO_BUDGET);
	EXPECT_EQ(scene.gpu.trim_bytes, 6 * MIB);
}

TEST_MAIN("vidmm/trim")
