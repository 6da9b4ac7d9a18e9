/* SPDX-License-Identifier: MIT */
/*
 * suspend_test.c - a process that stands still, and what others have of it, on a GPU with 8 MiB
 * that is turned by hand.
 */
#include "scene.h"
#include "turner.h"
#include "vidmm/control.h"

/* Returns when what has to leave has left: somebody else turns the crank. */
static NTSTATUS suspend(bool wakes)
{
	struct turner turner;

	turner_start(&turner, &scene.gpu);
	NTSTATUS status = vidmm_process_suspend(&scene.gpu.process, wakes);
	turner_stop(&turner);
	return status;
}

static uint64_t budget_of(struct vidmm_process *process)
{
	return vidmm_process_memory_info(process, VIDMM_LOCAL).budget_bytes;
}

TEST(suspend, what_others_list_too_stays)
{
	struct thing mine;
	struct thing ours;
	struct thing theirs;

	scene_init_two(NULL);
	thing_init(&mine, &scene.client, MIB, SET_LOCAL);
	thing_init(&ours, &scene.client, MIB, SET_LOCAL);
	thing_open(&theirs, &scene.other, &ours);
	thing_bring_in(&mine);
	thing_bring_in(&ours);
	thing_bring_in(&theirs);
	EXPECT_EQ(suspend(false), STATUS_SUCCESS);
	EXPECT(!thing_is_in(&mine));
	EXPECT(thing_is_in(&ours));
	gpu_check(&scene.gpu);
	/* Nor does anything come back before the process goes on. */
	gpu_work(&scene.client);
	vidmm_device_has_work(&scene.client.device);
	while (gpu_tick(&scene.gpu))
		;
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(!thing_is_in(&mine));
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&mine));
	gpu_check(&scene.gpu);
	gpu_retire(&scene.client);
	scene_finish();
}

SCENE_TEST(suspend, others_may_have_what_was_not_reserved, scene_init_two(NULL))
{
	EXPECT_EQ(vidmm_process_reserve(&scene.gpu.process, VIDMM_LOCAL, MIB), STATUS_SUCCESS);
	struct thing *mine = thing_new(&scene.client, 4 * MIB, SET_LOCAL);
	struct thing *yours = thing_new(&scene.other, 6 * MIB, SET_LOCAL);
	thing_bring_in(mine);
	thing_render(mine, 'm');
	EXPECT_EQ(budget_of(&scene.second), 4 * MIB);
	EXPECT_EQ(thing_make_resident(yours), STATUS_NO_MEMORY);
	EXPECT_EQ(suspend(false), STATUS_SUCCESS);
	EXPECT_EQ(budget_of(&scene.second), 7 * MIB);
	gpu_check(&scene.gpu);
	thing_bring_in(yours);
	/* Both are over their shares now; the one that is told is who listens. */
	uint32_t trims = scene.gpu.trims;
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	EXPECT_EQ(scene.gpu.trims, trims + 1);
	EXPECT_EQ(scene.gpu.trim_flags & VIDMM_TRIM_RESTART_PERIODIC, VIDMM_TRIM_RESTART_PERIODIC);
	EXPECT_EQ(budget_of(&scene.second), 4 * MIB);
	thing_finish(yours);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(mine, 'm'));
}

SCENE_TEST(suspend, what_is_queued_meanwhile_is_not_submitted, scene_init_two(NULL))
{
	thing_new_in(&scene.client, MIB, SET_LOCAL);
	gpu_work(&scene.client);
	gpu_retire(&scene.client);
	EXPECT_EQ(suspend(false), STATUS_SUCCESS);
	/* For want of memory, and because it is held. */
	EXPECT_EQ(scene.client.owner.suspensions, 2);
	uint64_t submitted = scene.client.owner.last_submitted_ticket;
	gpu_work(&scene.client);
	EXPECT_EQ(scene.client.owner.last_submitted_ticket, submitted);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	EXPECT_EQ(scene.client.owner.last_submitted_ticket, submitted + 1);
	gpu_retire(&scene.client);
}

TEST(suspend, a_device_that_ends_is_let_go_and_a_new_one_held)
{
	struct client late;

	scene_init_two(NULL);
	EXPECT_EQ(suspend(false), STATUS_SUCCESS);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	EXPECT_EQ(scene.other.owner.suspensions, 0);
	vidmm_device_end(&scene.client.device);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	client_init(&late, &scene.gpu.process);
	EXPECT_EQ(late.owner.suspensions, 1);
	/* It may not be woken. */
	vidmm_device_wake(&late.device);
	EXPECT_EQ(late.owner.suspensions, 1);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	EXPECT_EQ(late.owner.suspensions, 0);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	client_finish(&late);
	scene_finish();
}

TEST(suspend, work_wakes_all_devices_of_who_may_be_woken)
{
	struct client late;

	scene_init_two(NULL);
	EXPECT_EQ(suspend(true), STATUS_SUCCESS);
	client_init(&late, &scene.gpu.process);
	vidmm_device_wake(&late.device);
	EXPECT_EQ(late.owner.suspensions, 0);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-CONTROL");
	client_finish(&late);
	scene_finish();
}

SCENE_TEST(suspend, what_was_destroyed_comes_back_for_work_that_is_queued, scene_init_two(NULL))
{
	struct thing *mine = thing_new_in(&scene.client, MIB, SET_LOCAL);
	thing_render(mine, 'w');
	EXPECT_EQ(suspend(false), STATUS_SUCCESS);
	EXPECT(!thing_is_in(mine));
	gpu_work(&scene.client);
	vidmm_binding_retire(&mine->binding, true, true);
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_LOCAL).usage_bytes, 0);
	gpu_check(&scene.gpu);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(mine, 'w'));
	gpu_retire(&scene.client);
}

TEST_MAIN("vidmm/suspend")
