/* SPDX-License-Identifier: MIT */
/*
 * suspend_test.c - a process that stands still, and what others have of it, on a GPU with 8 MiB
 * that is turned by hand.
 */
#include "gpu.h"
#include "vidmm/control.h"

struct scene {
	struct gpu gpu;
	struct vidmm_process second;
	struct client one; /* of the first process, which is suspended */
	struct client two;
	struct thread *turner;
	struct notice pause;
	_Atomic bool is_over;
};

static void scene_init(struct scene *scene)
{
	*scene = (struct scene){ 0 };
	gpu_init(&scene->gpu, &(struct gpu_config){ .local_bytes = 8 * MIB });
	vidmm_process_init(&scene->second, scene->gpu.manager, &scene->gpu.world.adapter);
	client_init(&scene->one, &scene->gpu.process);
	client_init(&scene->two, &scene->second);
}

static void scene_finish(struct scene *scene)
{
	client_finish(&scene->one);
	client_finish(&scene->two);
	vidmm_process_finish(&scene->second);
	gpu_finish(&scene->gpu);
}

static void turn(void *argument)
{
	struct scene *scene = argument;

	while (!atomic_load(&scene->is_over)) {
		uint32_t seen = notice_read(&scene->pause);

		if (gpu_run(&scene->gpu, 10) == 0)
			notice_wait(&scene->pause, seen, clock_deadline(NS_PER_MS));
	}
}

/* Returns when what has to leave has left: somebody else turns the crank. */
static NTSTATUS suspend(struct scene *scene, bool wakes)
{
	atomic_store(&scene->is_over, false);
	EXPECT_EQ(thread_create("turner", turn, scene, &scene->turner), STATUS_SUCCESS);
	NTSTATUS status = vidmm_process_suspend(&scene->gpu.process, wakes);
	atomic_store(&scene->is_over, true);
	notice_give(&scene->pause);
	thread_join(scene->turner);
	return status;
}

static uint64_t budget_of(struct vidmm_process *process)
{
	return vidmm_process_memory_info(process, VIDMM_LOCAL).budget_bytes;
}

TEST(suspend, what_others_list_too_stays)
{
	struct scene scene;
	struct thing mine;
	struct thing ours;
	struct thing theirs;

	scene_init(&scene);
	thing_init(&mine, &scene.one, MIB, SET_LOCAL);
	thing_init(&ours, &scene.one, MIB, SET_LOCAL);
	thing_open(&theirs, &scene.two, &ours);
	thing_bring_in(&mine);
	thing_bring_in(&ours);
	thing_bring_in(&theirs);
	EXPECT_EQ(suspend(&scene, false), STATUS_SUCCESS);
	EXPECT(!thing_is_in(&mine));
	EXPECT(thing_is_in(&ours));
	gpu_check(&scene.gpu);
	/* Nor does anything come back before the process goes on. */
	gpu_work(&scene.one);
	vidmm_device_has_work(&scene.one.device);
	while (gpu_tick(&scene.gpu))
		;
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(!thing_is_in(&mine));
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&mine));
	gpu_check(&scene.gpu);
	gpu_retire(&scene.one);
	thing_close(&theirs);
	thing_finish(&ours);
	thing_finish(&mine);
	scene_finish(&scene);
}

TEST(suspend, others_may_have_what_was_not_reserved)
{
	struct scene scene;
	struct thing mine;
	struct thing yours;

	scene_init(&scene);
	EXPECT_EQ(vidmm_process_reserve(&scene.gpu.process, VIDMM_LOCAL, MIB), STATUS_SUCCESS);
	thing_init(&mine, &scene.one, 4 * MIB, SET_LOCAL);
	thing_init(&yours, &scene.two, 6 * MIB, SET_LOCAL);
	thing_bring_in(&mine);
	thing_render(&mine, 'm');
	EXPECT_EQ(budget_of(&scene.second), 4 * MIB);
	EXPECT_EQ(thing_make_resident(&yours), STATUS_NO_MEMORY);
	EXPECT_EQ(suspend(&scene, false), STATUS_SUCCESS);
	EXPECT_EQ(budget_of(&scene.second), 7 * MIB);
	gpu_check(&scene.gpu);
	thing_bring_in(&yours);
	/* Both are over their shares now; the one that is told is who listens. */
	uint32_t trims = scene.gpu.trims;
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	EXPECT_EQ(scene.gpu.trims, trims + 1);
	EXPECT_EQ(scene.gpu.trim_flags & VIDMM_TRIM_RESTART_PERIODIC, VIDMM_TRIM_RESTART_PERIODIC);
	EXPECT_EQ(budget_of(&scene.second), 4 * MIB);
	thing_finish(&yours);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(&mine, 'm'));
	thing_finish(&mine);
	scene_finish(&scene);
}

TEST(suspend, what_is_queued_meanwhile_is_not_submitted)
{
	struct scene scene;
	struct thing mine;

	scene_init(&scene);
	thing_init(&mine, &scene.one, MIB, SET_LOCAL);
	thing_bring_in(&mine);
	gpu_work(&scene.one);
	gpu_retire(&scene.one);
	EXPECT_EQ(suspend(&scene, false), STATUS_SUCCESS);
	/* For want of memory, and because it is held. */
	EXPECT_EQ(scene.one.owner.suspensions, 2);
	uint64_t submitted = scene.one.submitted;
	gpu_work(&scene.one);
	EXPECT_EQ(scene.one.submitted, submitted);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.one.owner.suspensions, 0);
	EXPECT_EQ(scene.one.submitted, submitted + 1);
	gpu_retire(&scene.one);
	thing_finish(&mine);
	scene_finish(&scene);
}

TEST(suspend, a_device_that_ends_is_let_go_and_a_new_one_held)
{
	struct scene scene;
	struct client late;

	scene_init(&scene);
	EXPECT_EQ(suspend(&scene, false), STATUS_SUCCESS);
	EXPECT_EQ(scene.one.owner.suspensions, 1);
	EXPECT_EQ(scene.two.owner.suspensions, 0);
	vidmm_device_end(&scene.one.device);
	EXPECT_EQ(scene.one.owner.suspensions, 0);
	client_init(&late, &scene.gpu.process);
	EXPECT_EQ(late.owner.suspensions, 1);
	/* It may not be woken. */
	vidmm_device_wake(&late.device);
	EXPECT_EQ(late.owner.suspensions, 1);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	EXPECT_EQ(late.owner.suspensions, 0);
	EXPECT_EQ(scene.one.owner.suspensions, 0);
	client_finish(&late);
	scene_finish(&scene);
}

TEST(suspend, work_wakes_all_devices_of_who_may_be_woken)
{
	struct scene scene;
	struct client late;

	scene_init(&scene);
	EXPECT_EQ(suspend(&scene, true), STATUS_SUCCESS);
	client_init(&late, &scene.gpu.process);
	vidmm_device_wake(&late.device);
	EXPECT_EQ(late.owner.suspensions, 0);
	EXPECT_EQ(scene.one.owner.suspensions, 0);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-CONTROL");
	client_finish(&late);
	scene_finish(&scene);
}

TEST(suspend, what_was_destroyed_comes_back_for_work_that_is_queued)
{
	struct scene scene;
	struct thing mine;

	scene_init(&scene);
	thing_init(&mine, &scene.one, MIB, SET_LOCAL);
	thing_bring_in(&mine);
	thing_render(&mine, 'w');
	EXPECT_EQ(suspend(&scene, false), STATUS_SUCCESS);
	EXPECT(!thing_is_in(&mine));
	gpu_work(&scene.one);
	vidmm_binding_retire(&mine.binding, true, true);
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_LOCAL).usage_bytes, 0);
	gpu_check(&scene.gpu);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(&mine, 'w'));
	gpu_retire(&scene.one);
	thing_finish(&mine);
	scene_finish(&scene);
}

TEST_MAIN("vidmm/suspend")
