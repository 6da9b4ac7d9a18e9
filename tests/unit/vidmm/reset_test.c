/* SPDX-License-Identifier: MIT */
/*
 * reset_test.c - what becomes of memory in an adapter reset, whatever is under way.
 *
 * The pager comes into its next generation when the reset begins; jobs of before that have not been run
 * by then fail.
 */
#include "scene.h"
#include "vidmm/allocation.h"
#include "vidmm/states.h"

static void begin_reset(void)
{
	vidmm_device_lose(&scene.client.device);
	scene.gpu.generation++;
	memset(scene.gpu.log, 0, sizeof(scene.gpu.log));
}

static void lose_memory(void)
{
	memset(scene.gpu.local, 'x', scene.gpu.memory.local_bytes);
	vidmm_reset(scene.gpu.manager);
}

/* The next job is one of before, and fails. */
static void fail_job(void)
{
	scene.gpu.next_status = STATUS_DEVICE_REMOVED;
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
}

/* ---- in place ---- */

SCENE_TEST(reset, local_content_is_lost_and_says_so, scene_init(NULL))
{
	struct thing *local = thing_new(&scene.client, MIB, SET_LOCAL);
	struct thing *system = thing_new(&scene.client, MIB, SET_SYSTEM);
	thing_write(system, 's');
	thing_bring_in(local);
	thing_bring_in(system);
	thing_render(local, 'l');
	begin_reset();
	lose_memory();
	EXPECT_EQ(allocation_content(local->memory), VIDMM_CONTENT_NONE);
	EXPECT(!thing_is_in(local));
	EXPECT(!thing_is_in(system));
	EXPECT_EQ(allocation_content(system->memory), VIDMM_CONTENT_BACKED);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	gpu_check(&scene.gpu);
}

SCENE_TEST(reset, what_has_a_copy_in_system_memory_falls_back_to_it, scene_init_kept('k'))
{
	begin_reset();
	lose_memory();
	EXPECT_EQ(allocation_content(scene.thing.memory), VIDMM_CONTENT_BACKED);
}

SCENE_TEST(reset, the_driver_is_told_of_each_place_in_the_physical_model,
	   scene_init(&(struct gpu_config){ .is_physical = true }))
{
	struct thing *local = thing_new(&scene.client, MIB, SET_LOCAL);
	struct thing *aperture = thing_new(&scene.client, MIB, SET_APERTURE);
	thing_bring_in(local);
	thing_bring_in(aperture);
	begin_reset();
	lose_memory();
	EXPECT_STR(scene.gpu.log, "tu");
	/* Once: there is nothing left to be told. */
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, "tu");
}

THING_TEST(reset, offered_content_is_discarded)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_HIGH, false, true),
		  STATUS_SUCCESS);
	begin_reset();
	lose_memory();
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
}

/* What it keeps in system memory is what it was before: good enough only if it is the same. */
static enum vidmm_reclaim_result reclaimed_with_a_copy(uint32_t evict_flags)
{
	enum vidmm_reclaim_result result;

	scene_init_kept('k');
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY | evict_flags),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_HIGH, false, true),
		  STATUS_SUCCESS);
	begin_reset();
	lose_memory();
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	scene_finish();
	return result;
}

TEST(reset, offered_content_is_discarded_though_there_is_an_old_copy)
{
	EXPECT_EQ(reclaimed_with_a_copy(0), VIDMM_RECLAIM_DISCARDED);
	EXPECT_EQ(reclaimed_with_a_copy(VIDMM_EVICT_NOT_WRITTEN_TO), VIDMM_RECLAIM_OK);
}

THING_TEST(reset, what_is_locked_in_gpu_memory_stays_to_be_seen)
{
	void *pointer;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_SUCCESS);
	begin_reset();
	lose_memory();
	EXPECT(thing_is_in(&scene.thing));
	memset(pointer, 'w', MIB);
	EXPECT_EQ(*thing_byte(&scene.thing, MIB - 1), 'w');
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, scene.thing.memory));
	gpu_check(&scene.gpu);
}

/* A device that was made meanwhile: work of it waits until everything is back. */
SHARED_THING_TEST(reset, who_is_not_lost_gets_everything_back,
		  scene_init_with(NULL, MIB, SET_LOCAL))
{
	struct client *other = &shared_thing->other;
	struct thing *opened = &shared_thing->opened;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_make_resident(opened), STATUS_SUCCESS);
	begin_reset();
	lose_memory();
	EXPECT(atomic_load(&other->device.is_suspended));
	EXPECT(!thing_is_in(opened));
	gpu_work(other);
	vidmm_device_has_work(&other->device);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT(thing_is_in(opened));
	EXPECT(thing_holds(opened, 0));
	EXPECT(!atomic_load(&other->device.is_suspended));
	gpu_retire(other);
	gpu_check(&scene.gpu);
}

/* ---- on the way in ---- */

THING_TEST(entering, fails_and_keeps_what_it_came_from)
{
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	begin_reset();
	lose_memory();
	EXPECT_EQ(scene.thing.done, 0);
	fail_job();
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT_EQ(scene.thing.status, STATUS_DEVICE_REMOVED);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(allocation_content(scene.thing.memory), VIDMM_CONTENT_BACKED);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	gpu_check(&scene.gpu);
}

/* The hardware had done it before the reset, and that was for nothing. */
THING_TEST(entering, that_was_done_in_the_last_moment_is_lost_all_the_same)
{
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	begin_reset();
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	lose_memory();
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT_EQ(allocation_content(scene.thing.memory), VIDMM_CONTENT_BACKED);
}

SHARED_THING_TEST(entering, comes_again_for_who_is_not_lost, scene_init_with(NULL, MIB, SET_LOCAL))
{
	struct thing *opened = &shared_thing->opened;

	thing_write(&scene.thing, 'a');
	EXPECT_EQ(thing_make_resident(opened), STATUS_PENDING);
	begin_reset();
	lose_memory();
	fail_job();
	EXPECT_EQ(opened->done, 0);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT_EQ(opened->done, 1);
	EXPECT_EQ(opened->status, STATUS_SUCCESS);
	EXPECT(thing_holds(opened, 'a'));
	gpu_check(&scene.gpu);
}

/* ---- on the way out ---- */

THING_TEST(leaving, that_failed_is_over_and_the_content_lost)
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	begin_reset();
	lose_memory();
	fail_job();
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(allocation_content(scene.thing.memory), VIDMM_CONTENT_NONE);
	EXPECT_EQ(scene.thing.memory->backing.run_count, 0);
	gpu_check(&scene.gpu);
}

/* Who keeps its system memory had none yet, and what was taken for the way out was never written. */
SCENE_TEST(leaving, that_failed_leaves_no_copy_of_nothing, scene_init(NULL))
{
	scene_add_kept(MIB);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(scene.thing.memory->backing.run_count, 0);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	begin_reset();
	lose_memory();
	fail_job();
	EXPECT_EQ(allocation_content(scene.thing.memory), VIDMM_CONTENT_NONE);
	EXPECT_EQ(scene.thing.memory->backing.run_count, 0);
	gpu_check(&scene.gpu);
}

THING_TEST(leaving, that_was_done_in_the_last_moment_keeps_its_content)
{
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'r');
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	begin_reset();
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	lose_memory();
	EXPECT_EQ(allocation_content(scene.thing.memory), VIDMM_CONTENT_BACKED);
	EXPECT(thing_holds(&scene.thing, 'r'));
}

/* Between the beginning of the reset and the moment when memory is seen to be lost. */
THING_TEST(leaving, that_begins_too_late_copies_nothing)
{
	thing_bring_in(&scene.thing);
	begin_reset();
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	lose_memory();
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(allocation_content(scene.thing.memory), VIDMM_CONTENT_NONE);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	gpu_check(&scene.gpu);
}

/* Evicted, and asked for again before it was out. */
THING_TEST(leaving, lets_a_call_go_that_waits_for_it_to_come_back)
{
	thing_bring_in(&scene.thing);
	scene.thing.done = 0;
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	begin_reset();
	lose_memory();
	fail_job();
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT_EQ(scene.thing.status, STATUS_DEVICE_REMOVED);
	gpu_check(&scene.gpu);
}

/* ---- lists of submissions ---- */

static void on_ready(struct vidmm_request *request, NTSTATUS status)
{
	(void)request;
	(void)status;
}

TEST(pinned, memory_goes_when_the_list_lets_go_of_it)
{
	struct thing thing;
	struct vidmm_allocation_list_entry entry = { .binding = &thing.binding };
	struct vidmm_allocation_list list = { .entries = &entry,
					      .count = 1,
					      .request.done = on_ready };
	uint32_t fits;

	scene_init(&(struct gpu_config){ .is_physical = true, .is_by_lists = true });
	list.device = &scene.client.device;
	thing_init(&thing, &scene.client, MIB, SET_LOCAL);
	EXPECT_EQ(vidmm_allocation_list_prepare(&list, &fits), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	begin_reset();
	lose_memory();
	EXPECT(thing_is_in(&thing));
	vidmm_allocation_list_release(&list);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&thing));
	EXPECT_EQ(allocation_content(thing.memory), VIDMM_CONTENT_NONE);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	scene_finish();
}

/* ---- for good ---- */

/* Every job fails from now on. */
static void give_up(void)
{
	begin_reset();
	vidmm_give_up(scene.gpu.manager);
}

SCENE_TEST(given_up, everything_goes_without_a_job, scene_init(NULL))
{
	void *pointer;

	struct thing *local = thing_new(&scene.client, MIB, SET_LOCAL);
	struct thing *aperture = thing_new(&scene.client, MIB, SET_APERTURE);
	struct thing *locked = thing_new(&scene.client, MIB, SET_LOCAL);
	thing_bring_in(local);
	thing_bring_in(aperture);
	thing_bring_in(locked);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, locked->memory, 0, &pointer),
		  STATUS_SUCCESS);
	give_up();
	EXPECT(!thing_is_in(local));
	EXPECT(!thing_is_in(aperture));
	EXPECT(thing_is_in(locked));
	memset(pointer, 'w', MIB);
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, locked->memory));
	EXPECT_EQ(thing_evict(locked, 0), STATUS_SUCCESS);
	EXPECT(!thing_is_in(locked));
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT_STR(scene.gpu.log, "");
	gpu_check(&scene.gpu);
}

SCENE_TEST(given_up, what_was_on_its_way_ends_when_its_job_fails, scene_init(NULL))
{
	struct thing *in = thing_new(&scene.client, MIB, SET_LOCAL);
	struct thing *out = thing_new_in(&scene.client, MIB, SET_LOCAL);
	EXPECT_EQ(thing_evict(out, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(in), STATUS_PENDING);
	give_up();
	fail_job();
	fail_job();
	EXPECT_EQ(in->done, 1);
	EXPECT(!thing_is_in(in));
	EXPECT(!thing_is_in(out));
	gpu_check(&scene.gpu);
}

/* What dies and cannot be moved goes all the same. */
SCENE_TEST(destroy, ends_when_its_job_fails,
	   scene_init_with(&(struct gpu_config){ .is_physical = true }, MIB, SET_APERTURE))
{
	thing_bring_in(&scene.thing);
	scene.gpu.next_status = STATUS_DRIVER_INTERNAL_ERROR;
}

TEST_MAIN("vidmm/reset")
