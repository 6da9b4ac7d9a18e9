/* SPDX-License-Identifier: MIT */
/*
 * window_locked_test.c - what was locked outside enters GPU memory that the CPU sees through windows
 * only, and leaves it and enters again: its address stays, and nothing is copied.
 */
#include "window.h"

static void send_away(struct thing *thing)
{
	EXPECT_EQ(thing_evict(thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 20);
	EXPECT(!thing_is_in(thing));
	EXPECT_EQ(scene.gpu.open_pages, 0);
	gpu_check(&scene.gpu);
}

TEST(locked, memory_enters_behind_a_window_and_leaves_and_enters_again_at_its_address)
{
	scene_init_with(&windowed, 4 * MIB, SET_LOCAL);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'o', 4 * MIB);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(thing_demand(&scene.thing), STATUS_PENDING);
		gpu_run(&scene.gpu, 9);
		EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
		EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
		EXPECT_EQ(scene.gpu.open_pages, 1024);
		EXPECT(scene.gpu.window_allocation == scene.thing.binding.driver_allocation);
		EXPECT(thing_holds(&scene.thing, 'o'));
		thing_render(&scene.thing, 'g');
		EXPECT(is_all(bytes, 4 * MIB, 'g'));
		/* Another lock is the same memory, and its unlock closes nothing. */
		EXPECT(lock_thing(&scene.thing) == bytes);
		unlock_thing(&scene.thing);
		EXPECT_EQ(scene.gpu.open_pages, 1024);
		gpu_check(&scene.gpu);
		send_away(&scene.thing);
		EXPECT(is_all(bytes, 4 * MIB, 'g'));
		memset(bytes, 'o', 4 * MIB);
	}
	thing_bring_in(&scene.thing);
	EXPECT_EQ(scene.gpu.copied_in_bytes + scene.gpu.copied_out_bytes, 0);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	EXPECT(thing_holds(&scene.thing, 'o'));
	EXPECT(lock_thing(&scene.thing) == bytes);
	EXPECT(is_all(bytes, 4 * MIB, 'o'));
	EXPECT_EQ(machine_exchange_usage().reserved_mappings, 0);
	scene_finish(); /* which destroys it while it is locked, and finds no page open */
}

TEST(locked, scattered_memory_and_memory_in_large_pages_enter_behind_a_window_too)
{
	struct thing others[8];

	scene_init(&windowed);
	scene_make_holes(others);
	scene_add_thing(4 * MIB - PAGE, SET_LOCAL);
	char *bytes = lock_thing(&scene.thing);
	for (uint64_t at = 0; at < 4 * MIB - PAGE; at += PAGE)
		bytes[at] = (char)(at / PAGE);
	thing_bring_in(&scene.thing);
	for (uint64_t at = 0; at < 4 * MIB - PAGE; at += PAGE)
		EXPECT_EQ(*thing_byte(&scene.thing, at), (char)(at / PAGE));
	scene_finish();

	scene_init_with(&(struct gpu_config){ .is_hidden = true,
					      .window_pages = 64,
					      .uses_64k_pages = true },
			33 * PAGE, SET_LOCAL);
	memset(lock_thing(&scene.thing), 'l', 33 * PAGE);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 3);
	EXPECT(thing_holds(&scene.thing, 'l'));
	scene_finish();
}

/* Never pending: nobody could end it but the one who waits. */
SCENE_TEST(locked, memory_without_a_window_is_elsewhere_or_is_refused_at_once,
	   scene_init_with(&(struct gpu_config){ .is_hidden = true, .window_pages = 300 }, MIB,
			   SET_LOCAL))
{
	struct thing *second = thing_new(&scene.client, MIB, SET_LOCAL);
	struct thing *third = thing_new(&scene.client, MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(&scene.thing);
	lock_thing(&scene.thing);
	memset(lock_thing(second), '2', MIB);
	memset(lock_thing(third), '3', MIB);
	EXPECT_EQ(thing_make_resident(second), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-LOCK-PLACE");
	EXPECT_EQ(thing_make_resident(third), STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(third), SEGMENT_SYSTEM);
	EXPECT(thing_holds(third, '3'));
	unlock_thing(&scene.thing);
	thing_bring_in(second);
	EXPECT_EQ(thing_segment(second), SEGMENT_LOCAL);
	EXPECT_EQ(scene.gpu.open_pages, 256);
	EXPECT(thing_holds(second, '2'));
}

static char *init_locked(const struct gpu_config *config, bool has_other)
{
	scene_init_with(config, 4 * MIB, has_other ? SET_LOCAL | SET_SYSTEM : SET_LOCAL);
	char *bytes = lock_thing(&scene.thing);

	memset(bytes, 'r', 4 * MIB);
	return bytes;
}

static void expect_elsewhere_or_refused(bool has_other)
{
	EXPECT_EQ(thing_make_resident(&scene.thing), has_other ? STATUS_SUCCESS : STATUS_NO_MEMORY);
	if (has_other)
		EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	else
		EXPECT_RULE("MM-LOCK-PLACE");
	EXPECT_EQ(scene.gpu.open_pages, 0);
}

TEST(locked, memory_for_which_the_driver_opens_no_window_is_elsewhere_or_is_refused_at_once)
{
	for (int has_other = 0; has_other < 2; has_other++) {
		char *bytes = init_locked(&windowed, has_other);

		scene.gpu.refuse_windows = 3;
		expect_elsewhere_or_refused(has_other);
		gpu_check(&scene.gpu);
		EXPECT(is_all(bytes, 4 * MIB, 'r'));
		unlock_thing(&scene.thing);
		scene_finish();
	}
}

/* What is behind its windows is known when one was opened: once. */
TEST(locked, memory_does_not_enter_a_devices_own_behind_a_window)
{
	for (int has_other = 0; has_other < 2; has_other++) {
		char *bytes = init_locked(&foreign, has_other);

		for (int i = 0; i < 2; i++) {
			expect_elsewhere_or_refused(has_other);
			EXPECT_EQ(scene.gpu.windows_opened, 4);
		}
		EXPECT(is_all(bytes, 4 * MIB, 'r'));
		unlock_thing(&scene.thing);
		scene_finish();
	}
}

SCENE_TEST(locked, memory_that_is_unlocked_on_its_way_in_has_no_window_there,
	   scene_init_with(&windowed, 4 * MIB, SET_LOCAL))
{
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'u', 4 * MIB);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	EXPECT_EQ(scene.gpu.open_pages, 1024);
	EXPECT(lock_thing(&scene.thing) == bytes);
	unlock_thing(&scene.thing);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 'u'));
	gpu_check(&scene.gpu);
}

static void unlock_it(struct gpu *gpu)
{
	gpu->in_window = NULL;
	unlock_thing(&scene.thing);
}

TEST(locked, memory_that_is_unlocked_while_its_window_opens_moves_like_any_other)
{
	for (uint32_t fails = 0; fails < 2; fails++) {
		scene_init_with(&windowed, MIB, SET_LOCAL);
		memset(lock_thing(&scene.thing), 'u', MIB);
		scene.gpu.in_window = unlock_it;
		scene.gpu.refuse_windows = fails;
		EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
		EXPECT_EQ(scene.gpu.open_pages, 0);
		gpu_run(&scene.gpu, 9);
		EXPECT(thing_is_in(&scene.thing));
		EXPECT(thing_holds(&scene.thing, 'u'));
		gpu_check(&scene.gpu);
		scene_finish();
	}
}

TEST(locked, memory_that_is_destroyed_on_its_way_leaves_no_window)
{
	for (int is_leaving = 0; is_leaving < 2; is_leaving++) {
		scene_init_with(&windowed, MIB, SET_LOCAL);
		lock_thing(&scene.thing);
		if (is_leaving) {
			thing_bring_in(&scene.thing);
			EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
		} else {
			EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
		}
		vidmm_allocation_retire(scene.thing.memory);
		thing_finish(&scene.thing);
		EXPECT_EQ(scene.gpu.open_pages, 0);
		scene_finish();
	}
}

TEST(locked, memory_whose_way_in_fails_has_no_window_and_all_its_bytes)
{
	init_and_fail_way_in(&windowed, 'f');
	EXPECT_EQ(scene.gpu.open_pages, 0);
	gpu_check(&scene.gpu);
	scene_finish();
}

/* Before, during and behind the reset: it comes in, and is seen there. */
TEST(locked, memory_on_its_way_in_is_seen_there_after_a_reset)
{
	for (int when = 0; when < 3; when++) {
		scene_init_with(&windowed, MIB, SET_LOCAL);
		char *bytes = lock_thing(&scene.thing);
		memset(bytes, 'r', MIB);
		EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
		if (when == 1)
			EXPECT(gpu_build(&scene.gpu));
		if (when == 2) {
			/* Its job is of after the reset, its window of before. */
			forget_windows(&scene.gpu);
			vidmm_reset(scene.gpu.manager);
			vidmm_windows_reopen(scene.gpu.manager);
			EXPECT_EQ(scene.gpu.open_pages, 0);
		} else {
			reset();
		}
		gpu_run(&scene.gpu, 9);
		EXPECT(is_all(bytes, MIB, 'r'));
		if (!thing_is_in(&scene.thing))
			thing_bring_in(&scene.thing);
		EXPECT(thing_holds(&scene.thing, 'r'));
		EXPECT_EQ(scene.gpu.open_pages, 256);
		gpu_check(&scene.gpu);
		unlock_thing(&scene.thing);
		EXPECT_EQ(scene.gpu.open_pages, 0);
		scene_finish();
	}
}

TEST_MAIN("vidmm/window_locked")
