/* SPDX-License-Identifier: MIT */
/*
 * retire_test.c - what a client has destroyed, while its end has not come yet.
 */
#include "scene.h"

enum { IN_USE = true, NOT_IN_USE = false, LAST = true, SHARED = false };

static uint64_t usage(void)
{
	return vidmm_process_memory_info((struct vidmm_process *)&scene.gpu.process, VIDMM_LOCAL)
		.usage_bytes;
}

THING_TEST(retire, takes_it_off_the_list_whatever_its_count)
{
	thing_bring_in(&scene.thing);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(usage(), MIB);
	vidmm_binding_retire(&scene.thing.binding, IN_USE, LAST);
	EXPECT_EQ(usage(), 0);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 0);
	gpu_check(&scene.gpu);
}

THING_TEST(retire, of_what_was_never_resident_does_nothing)
{
	vidmm_binding_retire(&scene.thing.binding, IN_USE, LAST);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("API-HANDLE");
}

THING_TEST(retire, refuses_calls_that_have_it_in_hand)
{
	thing_bring_in(&scene.thing);
	vidmm_binding_retire(&scene.thing.binding, NOT_IN_USE, LAST);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("API-HANDLE");
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(usage(), 0);
}

SCENE_TEST(retire, makes_room_before_any_offer_and_moves_no_byte,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	struct thing *offered = thing_new(&scene.client, 4 * MIB, SET_LOCAL);
	struct thing *wanted = thing_new(&scene.client, 4 * MIB, SET_LOCAL);
	thing_bring_in(offered);
	EXPECT_EQ(vidmm_binding_offer(&offered->binding, VIDMM_OFFER_LOW, false, false),
		  STATUS_SUCCESS);
	thing_bring_in(&scene.thing);
	vidmm_binding_retire(&scene.thing.binding, IN_USE, LAST);
	thing_bring_in(wanted);
	EXPECT(thing_is_in(offered));
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
}

TEST(retire, of_a_shared_allocation_keeps_its_content_for_others)
{
	struct thing opening;
	struct thing wanted;

	scene_init_with(NULL, 8 * MIB, SET_LOCAL);
	thing_open(&opening, &scene.client, &scene.thing);
	thing_bring_in(&opening);
	thing_render(&opening, 's');
	vidmm_binding_retire(&opening.binding, IN_USE, SHARED);
	EXPECT_EQ(usage(), 0);
	thing_add(&wanted, &scene.client, 8 * MIB, SET_LOCAL);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 8 * MIB);
	thing_finish(&wanted);
	thing_bring_in(&scene.thing);
	EXPECT(thing_holds(&scene.thing, 's'));
	scene_finish();
}

/* There is work, and no room for `wanted` beside it. */
static void retire_at_work(struct thing *wanted, bool is_in_use)
{
	scene_init_with(NULL, 6 * MIB, SET_LOCAL);
	thing_init(wanted, &scene.client, 6 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	vidmm_binding_retire(&scene.thing.binding, is_in_use, LAST);
}

TEST(retire, with_queued_work_is_waited_for_by_who_needs_its_room)
{
	struct thing wanted;

	retire_at_work(&wanted, IN_USE);
	EXPECT_EQ(thing_demand(&wanted), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&wanted));
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&wanted));
	EXPECT_EQ(scene.gpu.starved, 0);
	scene_finish();
}

TEST(retire, not_in_use_waits_for_no_work)
{
	struct thing wanted;

	retire_at_work(&wanted, NOT_IN_USE);
	thing_bring_in(&wanted);
	gpu_retire(&scene.client);
	scene_finish();
}

SCENE_TEST(retire, of_locked_memory_is_waited_for, scene_init_with(NULL, 6 * MIB, SET_LOCAL))
{
	void *pointer;

	struct thing *wanted = thing_new(&scene.client, 6 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_SUCCESS);
	vidmm_binding_retire(&scene.thing.binding, IN_USE, LAST);
	EXPECT_EQ(thing_demand(wanted), STATUS_PENDING);
	thing_finish(&scene.thing);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(wanted));
}

TEST(device_end, takes_what_it_lists_out_of_the_usage)
{
	struct client leaving;
	struct thing thing;

	scene_init(NULL);
	client_init(&leaving, &scene.gpu.process);
	thing_add(&thing, &leaving, 6 * MIB, SET_LOCAL);
	EXPECT_EQ(usage(), 6 * MIB);
	vidmm_device_end(&leaving.device);
	EXPECT_EQ(usage(), 0);
	EXPECT(thing_is_in(&thing));
	gpu_check(&scene.gpu);
	thing_finish(&thing);
	client_finish(&leaving);
	scene_finish();
}

TEST_MAIN("vidmm/retire")
