/* SPDX-License-Identifier: MIT */
/*
 * update_test.c - wishes that change while an allocation is somewhere.
 */
#include "scene.h"

static NTSTATUS update_to(struct thing *thing, uint32_t segments)
{
	const struct vidmm_update update = {
		.sets_supported_segments = true,
		.supported_segments = segments,
	};

	return vidmm_update_anywhere(&thing->binding, &update, &thing->request);
}

/* 4 MiB in local memory, and no room for them in system memory. */
static uint64_t init_with_nowhere_to_go(void)
{
	uint64_t taken;

	scene_init_with(&(struct gpu_config){ .machine_mib = 16 }, 4 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	thing_render(&scene.thing, 'u');
	EXPECT_EQ(machine_alloc_contiguous(6 * MIB, 0, 0, UINT64_MAX, 0, &taken), STATUS_SUCCESS);
	return taken;
}

SCENE_TEST(update, moves_what_may_not_stay_with_what_is_in_it,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL | SET_SYSTEM))
{
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'u');
	EXPECT_EQ(update_to(&scene.thing, SET_SYSTEM), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.done, 2);
	EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	EXPECT(thing_holds(&scene.thing, 'u'));
}

SCENE_TEST(update, moves_what_is_locked_with_its_pages,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL | SET_SYSTEM))
{
	void *pointer;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_SUCCESS);
	memset(pointer, 'l', 4 * MIB);
	EXPECT_EQ(update_to(&scene.thing, SET_SYSTEM), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	EXPECT(thing_holds(&scene.thing, 'l'));
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, scene.thing.memory));
}

/* It could not come in again before the unlock, and who waits for that may be the one to unlock it. */
SCENE_TEST(update, to_memory_out_of_sight_is_refused_for_what_is_locked,
	   scene_init_with(&(struct gpu_config){ .is_hidden = true }, 4 * MIB, SET_SYSTEM))
{
	void *pointer;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_SUCCESS);
	EXPECT_EQ(update_to(&scene.thing, SET_LOCAL), STATUS_GRAPHICS_ALLOCATION_BUSY);
	EXPECT_RULE("MM-UPDATE-BUSY");
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, scene.thing.memory));
	EXPECT_EQ(update_to(&scene.thing, SET_LOCAL), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
}

TEST(update, that_finds_no_memory_to_move_to_changes_nothing)
{
	uint64_t taken = init_with_nowhere_to_go();

	EXPECT_EQ(update_to(&scene.thing, SET_SYSTEM), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-NO-PAGES");
	EXPECT_EQ(scene.thing.memory->supported_segments, SET_LOCAL | SET_SYSTEM);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	EXPECT(machine_free_contiguous(taken));
	EXPECT_EQ(update_to(&scene.thing, SET_SYSTEM), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	EXPECT(thing_holds(&scene.thing, 'u'));
	scene_finish();
}

SCENE_TEST(update, to_what_could_never_hold_it_names_the_room_and_no_budget,
	   scene_init_with(NULL, 24 * MIB, SET_SYSTEM))
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(update_to(&scene.thing, SET_LOCAL), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-NO-ROOM");
	EXPECT_EQ(scene.thing.memory->supported_segments, SET_SYSTEM);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
}

/* The call has said that it will be: there is no other way left to say that it is not. */
SCENE_TEST(update, whose_move_fails_later_says_so,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL | SET_SYSTEM))
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(update_to(&scene.thing, SET_SYSTEM), STATUS_PENDING);
	scene.gpu.next_status = STATUS_UNSUCCESSFUL;
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.done, 2);
	EXPECT_EQ(scene.thing.status, STATUS_NO_MEMORY);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
}

TEST(update, of_what_is_left_over_counts_when_it_is_made_resident)
{
	uint64_t taken = init_with_nowhere_to_go();

	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT_EQ(update_to(&scene.thing, SET_SYSTEM), STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_NO_MEMORY);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 0);
	EXPECT(machine_free_contiguous(taken));
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	EXPECT(thing_holds(&scene.thing, 'u'));
	gpu_check(&scene.gpu);
	scene_finish();
}

TEST_MAIN("vidmm/update")
