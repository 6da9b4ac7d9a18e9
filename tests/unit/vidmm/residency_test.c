/* SPDX-License-Identifier: MIT */
/*
 * residency_test.c - what MakeResident and Evict promise, call by call.
 */
#include "scene.h"
#include "support/failing.h"

static struct vidmm_memory_info local_info(void)
{
	return vidmm_process_memory_info(&scene.gpu.process, VIDMM_LOCAL);
}

SCENE_TEST(make_resident, first_use_is_pending_and_zero, scene_init(NULL))
{
	memset(scene.gpu.local, 'x', scene.gpu.memory.local_bytes);
	struct thing *thing = thing_new(&scene.client, MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(thing), STATUS_PENDING);
	EXPECT_EQ(thing->done, 0);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT_EQ(thing->done, 1);
	EXPECT_EQ(thing->status, STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(thing), SEGMENT_LOCAL);
	EXPECT(thing_holds(thing, 0));
	EXPECT_STR(scene.gpu.log, "f");
	EXPECT_EQ(vidmm_where(thing->binding.device->process->manager, thing->memory),
		  VIDMM_RESIDENT_IN_GPU_MEMORY);
}

THING_TEST(make_resident, content_comes_from_system_memory_and_the_pages_are_given_up)
{
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(scene.thing.memory->backing.run_count, 1);
	thing_bring_in(&scene.thing);
	EXPECT(thing_holds(&scene.thing, 'a'));
	EXPECT_EQ(scene.thing.memory->backing.run_count, 0);
	EXPECT_EQ(atomic_load(&scene.gpu.world.process.committed_bytes), 0);
	EXPECT_STR(scene.gpu.log, "i");
}

SCENE_TEST(make_resident, what_keeps_its_system_memory_keeps_it, scene_init_kept('a'))
{
	EXPECT_EQ(scene.thing.memory->backing.run_count, 1);
}

THING_TEST(make_resident, of_something_resident_only_counts)
{
	thing_bring_in(&scene.thing);
	uint32_t jobs = scene.gpu.jobs;
	uint64_t blocks = (uint64_t)mem_usage().blocks;
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 2);
	EXPECT_EQ(scene.gpu.jobs, jobs);
	EXPECT_EQ(mem_usage().blocks, blocks);
	EXPECT_EQ(scene.thing.done, 1);
}

TEST(make_resident, of_something_on_its_way_is_pending_until_it_is_there)
{
	scene_init_with(NULL, MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	struct vidmm_binding *list[] = { &scene.thing.binding };
	struct thing second = { .request.done = scene.thing.request.done };
	uint64_t bytes;
	EXPECT_EQ(vidmm_make_resident(&scene.client.device, list, 1, 0, &second.request, &bytes),
		  STATUS_PENDING);
	EXPECT_EQ(second.done, 0);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT_EQ(second.done, 1);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 2);
	scene_finish();
}

THING_TEST(make_resident, the_same_one_twice_in_a_list_counts_twice)
{
	uint64_t bytes;

	struct vidmm_binding *list[] = { &scene.thing.binding, &scene.thing.binding };
	EXPECT_EQ(
		vidmm_make_resident(&scene.client.device, list, 2, 0, &scene.thing.request, &bytes),
		STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 2);
	EXPECT_EQ(local_info().usage_bytes, MIB);
	EXPECT_EQ(vidmm_evict(&scene.client.device, list, 2, 0, &bytes), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(local_info().usage_bytes, 0);
}

THING_TEST(make_resident, usage_rises_at_the_call)
{
	EXPECT_EQ(local_info().usage_bytes, 0);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	EXPECT_EQ(local_info().usage_bytes, MIB);
}

SCENE_TEST(make_resident, over_budget_changes_nothing_and_says_by_how_much, scene_init(NULL))
{
	uint64_t bytes = 0;

	struct thing *small = thing_new(&scene.client, 3 * MIB, SET_LOCAL);
	struct thing *large = thing_new(&scene.client, 6 * MIB, SET_LOCAL);
	struct vidmm_binding *list[] = { &small->binding, &large->binding };
	EXPECT_EQ(vidmm_make_resident(&scene.client.device, list, 2, 0, &small->request, &bytes),
		  STATUS_NO_MEMORY);
	EXPECT_RULE("MM-BUDGET");
	EXPECT_EQ(bytes, MIB);
	EXPECT_EQ(vidmm_binding_count(&small->binding), 0);
	EXPECT_EQ(vidmm_binding_count(&large->binding), 0);
	EXPECT_EQ(local_info().usage_bytes, 0);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT_EQ(small->done, 0);
	gpu_check(&scene.gpu);
}

SCENE_TEST(make_resident, what_can_never_fit_is_refused, scene_init_with(NULL, 9 * MIB, SET_LOCAL))
{
	uint64_t bytes = 0;

	struct vidmm_binding *list[] = { &scene.thing.binding };
	EXPECT_EQ(vidmm_make_resident(&scene.client.device, list, 1, VIDMM_CANT_TRIM_FURTHER,
				      &scene.thing.request, &bytes),
		  STATUS_NO_MEMORY);
	EXPECT(bytes > 0);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 0);
}

THING_TEST(make_resident, of_a_lost_device_is_refused)
{
	vidmm_device_lose(&scene.client.device);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_DEVICE_REMOVED);
	EXPECT_RULE("API-DEVICE-GONE");
}

TEST(make_resident, losing_the_device_answers_who_waits)
{
	struct client other;
	struct thing held;
	struct thing thing;

	scene_init(NULL);
	client_init(&other, &scene.gpu.process);
	thing_add(&held, &other, 6 * MIB, SET_LOCAL);
	gpu_work(&other);
	EXPECT_EQ(thing_evict(&held, 0), STATUS_SUCCESS);
	thing_init(&thing, &scene.client, 6 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&thing), STATUS_PENDING);
	EXPECT_EQ(thing.done, 0);
	vidmm_device_lose(&scene.client.device);
	EXPECT_EQ(thing.done, 1);
	EXPECT_EQ(thing.status, STATUS_DEVICE_REMOVED);
	gpu_retire(&other);
	thing_finish(&thing);
	thing_finish(&held);
	client_finish(&other);
	scene_finish();
}

THING_TEST(evict, counts_down_and_leaves_at_zero)
{
	thing_bring_in(&scene.thing);
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'g');
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(scene.gpu.copied_out_bytes, MIB);
	EXPECT(thing_holds(&scene.thing, 'g'));
}

THING_TEST(evict, is_over_when_the_gpu_cannot_reach_it_any_more_and_not_before)
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_where(scene.thing.binding.device->process->manager, scene.thing.memory),
		  VIDMM_RESIDENT_IN_GPU_MEMORY);
	EXPECT(gpu_run(&scene.gpu, 9) > 0);
	EXPECT_EQ(vidmm_where(scene.thing.binding.device->process->manager, scene.thing.memory),
		  VIDMM_NOT_RESIDENT);
}

THING_TEST(evict, never_goes_below_zero)
{
	uint64_t bytes;

	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-EVICT-COUNT");
	thing_bring_in(&scene.thing);
	struct vidmm_binding *list[] = { &scene.thing.binding, &scene.thing.binding };
	EXPECT_EQ(vidmm_evict(&scene.client.device, list, 2, 0, &bytes), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 1);
}

THING_TEST(evict, only_if_necessary_stays_and_is_revived_without_paging)
{
	thing_bring_in(&scene.thing);
	uint32_t jobs = scene.gpu.jobs;
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT_EQ(local_info().usage_bytes, 0);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(scene.gpu.jobs, jobs);
}

THING_TEST(evict, waits_for_work_queued_before_it)
{
	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	gpu_work(&scene.client);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	gpu_retire(&scene.client);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&scene.thing));
	gpu_retire(&scene.client);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT(!thing_is_in(&scene.thing));
	gpu_retire(&scene.client);
}

SCENE_TEST(evict, of_a_lost_device_waits_for_what_the_hardware_has, scene_init(NULL))
{
	struct thing *thing = thing_new_in(&scene.client, MIB, SET_LOCAL);
	gpu_work(&scene.client);
	vidmm_device_lose(&scene.client.device);
	EXPECT_EQ(thing_evict(thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(thing));
	gpu_retire(&scene.client);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT(!thing_is_in(thing));
}

THING_TEST(evict, made_resident_again_before_the_work_is_over_nothing_moves)
{
	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	gpu_retire(&scene.client);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&scene.thing));
}

THING_TEST(evict, before_the_way_in_is_over_the_request_is_still_answered)
{
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
	EXPECT(!thing_is_in(&scene.thing));
}

/* It was asked for while it was on its way out, work was queued for it, and it was evicted again. */
static void init_evicted_before_the_way_in(void)
{
	scene_init_with(NULL, MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
}

#define EVICTED_TEST(suite, claim)                                                                 \
	TEST_BETWEEN(init_evicted_before_the_way_in(), scene_finish(), suite, claim)

EVICTED_TEST(evict, before_the_way_in_work_queued_in_between_finds_it)
{
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 0);
	EXPECT_EQ(local_info().usage_bytes, 0);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 2);
	EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
	EXPECT(thing_is_in(&scene.thing));
	gpu_retire(&scene.client);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT(!thing_is_in(&scene.thing));
}

EVICTED_TEST(evict, before_the_way_in_and_asked_for_again_it_stays)
{
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 1);
	EXPECT_EQ(local_info().usage_bytes, MIB);
	gpu_retire(&scene.client);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 1);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT(!thing_is_in(&scene.thing));
}

EVICTED_TEST(evict, before_the_way_in_and_destroyed_leaves_nothing)
{
	gpu_run(&scene.gpu, 9);
	gpu_retire(&scene.client);
}

SCENE_TEST(evict, not_written_to_is_dropped_where_a_copy_is_kept, scene_init_kept('k'))
{
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	EXPECT(thing_holds(&scene.thing, 'k'));
}

/* Resident twice, evicted twice: how many bytes left. What is in between may be NULL. */
static uint64_t copied_by_two(uint32_t first_flags, uint32_t second_flags,
			      NTSTATUS (*between)(struct thing *thing))
{
	scene_init_kept('k');
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_evict(&scene.thing, first_flags), STATUS_SUCCESS);
	if (between) {
		EXPECT_EQ(between(&scene.thing), STATUS_SUCCESS);
		EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	}
	EXPECT_EQ(thing_evict(&scene.thing, second_flags), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	uint64_t copied_bytes = scene.gpu.copied_out_bytes;
	EXPECT(thing_holds(&scene.thing, 'k'));
	scene_finish();
	return copied_bytes;
}

TEST(evict, not_written_to_may_be_said_by_any_of_several)
{
	EXPECT_EQ(copied_by_two(0, VIDMM_EVICT_NOT_WRITTEN_TO, NULL), 0);
	EXPECT_EQ(copied_by_two(VIDMM_EVICT_NOT_WRITTEN_TO, 0, NULL), 0);
	EXPECT_EQ(copied_by_two(0, 0, NULL), MIB);
}

TEST(evict, not_written_to_is_not_said_of_what_is_resident_anew)
{
	EXPECT_EQ(copied_by_two(VIDMM_EVICT_NOT_WRITTEN_TO, 0, thing_make_resident), MIB);
}

/* It leaves at once, and what the GPU wrote there with it. */
static void expect_kept_content(struct thing *thing, char value)
{
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(thing));
	EXPECT(thing_holds(thing, value));
}

SCENE_TEST(evict, not_written_to_is_not_said_of_what_was_written_before_it_was_revived,
	   scene_init_kept('k'))
{
	thing_render(&scene.thing, 'w');
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	expect_kept_content(&scene.thing, 'w');
	/* What came in anew is as its copy is. */
	thing_bring_in(&scene.thing);
	uint64_t copied_bytes = scene.gpu.copied_out_bytes;
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	expect_kept_content(&scene.thing, 'w');
	EXPECT_EQ(scene.gpu.copied_out_bytes, copied_bytes);
}

/* A device speaks of its own work: one reads, the other one has written. */
static void evict_beside_a_writer(bool writer_evicts_first)
{
	struct thing reader;

	scene_init_two(NULL);
	scene_add_kept(MIB);
	thing_open(&reader, &scene.other, &scene.thing);
	thing_write(&scene.thing, 'k');
	thing_bring_in(&scene.thing);
	thing_bring_in(&reader);
	thing_render(&scene.thing, 'w');
	if (writer_evicts_first)
		EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_evict(&reader, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	if (!writer_evicts_first)
		evict_segment(scene.gpu.manager, SEGMENT_LOCAL);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(&scene.thing, 'w'));
	scene_finish();
}

TEST(evict, not_written_to_is_not_said_for_another_device)
{
	evict_beside_a_writer(true);
	evict_beside_a_writer(false);
}

/* The GPU has not written to it, but who had it locked there may have. */
SCENE_TEST(evict, not_written_to_is_not_said_for_the_cpu, scene_init_kept('k'))
{
	thing_write(&scene.thing, 'c');
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	expect_kept_content(&scene.thing, 'c');
	/* The same, said before it was locked. */
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing,
			      VIDMM_EVICT_NOT_WRITTEN_TO | VIDMM_EVICT_ONLY_IF_NECESSARY),
		  STATUS_SUCCESS);
	thing_write(&scene.thing, 'd');
	evict_segment(scene.gpu.manager, SEGMENT_LOCAL);
	expect_kept_content(&scene.thing, 'd');
}

THING_TEST(evict, not_written_to_never_loses_what_has_no_copy)
{
	thing_write(&scene.thing, 'k');
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(&scene.thing, 'k'));
}

SCENE_TEST(evict, without_system_memory_to_go_to_it_stays,
	   scene_init_with(&(struct gpu_config){ .machine_mib = 16 }, 4 * MIB, SET_LOCAL))
{
	uint64_t taken;

	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 's');
	EXPECT_EQ(machine_alloc_contiguous(6 * MIB, 0, 0, UINT64_MAX, 0, &taken), STATUS_SUCCESS);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 's'));
	EXPECT(machine_free_contiguous(taken));
}

SCENE_TEST(job, rows_are_in_the_documented_order,
	   scene_init(&(struct gpu_config){ .is_physical = true }))
{
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_APERTURE);
	wishes.traits.wants_residency_news = true;
	struct thing *thing = thing_new_as(&scene.client, &wishes);
	thing_bring_in(thing);
	EXPECT_STR(scene.gpu.log, "mN");
	EXPECT_EQ(thing_evict(thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_STR(scene.gpu.log, "mNnu");
}

static bool always_mapped(void *context, struct vidmm_allocation *allocation)
{
	(void)context, (void)allocation;
	return true;
}

static enum paging_step one_flush(void *context, struct vidmm_allocation *allocation,
				  enum vidmm_mapping_change change,
				  struct vidmm_mapping_cursor *cursor,
				  struct miniport_paging_op *op_out)
{
	(void)context, (void)change;
	if (cursor->words[0]++ > 0)
		return PAGING_NONE;
	*op_out = (struct miniport_paging_op){ .kind = MINIPORT_PAGING_FLUSH_TLB,
					       .subject.driver_allocation = allocation };
	return PAGING_OPERATION;
}

TEST(job, addresses_go_before_the_content_and_come_after_it)
{
	static const struct vidmm_mapping_ops mappings = { .is_mapped = always_mapped,
							   .next = one_flush };

	scene_init_with(&(struct gpu_config){ .mappings = &mappings }, MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	EXPECT_STR(scene.gpu.log, "fT");
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_STR(scene.gpu.log, "fTTo");
	scene_finish();
}

THING_TEST(job, one_that_fails_on_the_way_in_leaves_the_content_where_it_was)
{
	thing_write(&scene.thing, 'b');
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	scene.gpu.next_status = STATUS_UNSUCCESSFUL;
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	EXPECT_EQ(scene.thing.done, 1);
	/* Its device is lost: there is nothing that it could trim. */
	EXPECT_EQ(scene.thing.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(scene.gpu.starved, 1);
	EXPECT(thing_holds(&scene.thing, 'b'));
	gpu_check(&scene.gpu);
}

THING_TEST(job, one_that_fails_on_the_way_out_leaves_the_content_where_it_was)
{
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'b');
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	scene.gpu.next_status = STATUS_UNSUCCESSFUL;
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 'b'));
	gpu_check(&scene.gpu);
}

static bool has_departed;

static void note_departure(struct vidmm_departure *departure)
{
	(void)departure;
	has_departed = true;
}

TEST(destroy, waits_for_the_job_that_is_under_way)
{
	struct vidmm_departure departure = { .done = note_departure };
	struct thing thing;

	scene_init(NULL);
	thing_init(&thing, &scene.client, MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&thing), STATUS_PENDING);
	vidmm_binding_finish(&thing.binding);
	vidmm_allocation_retire(thing.memory);
	has_departed = false;
	EXPECT(!vidmm_allocation_depart(thing.memory, &departure));
	EXPECT(!has_departed);
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	EXPECT(has_departed);
	EXPECT_EQ(thing.done, 1);
	thing_end(&thing);
	scene_finish();
}

SCENE_TEST(destroy, content_is_dropped_not_copied, scene_init(NULL))
{
	struct thing *thing = thing_new_in(&scene.client, MIB, SET_LOCAL);
	thing_finish(thing);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
}

TEST(memory, make_resident_survives_every_failure)
{
	EACH_FAILURE (failing, 2) {
		struct thing thing;

		scene_init(NULL);
		thing_init(&thing, &scene.client, MIB, SET_LOCAL);
		failing_start(&failing);
		NTSTATUS status = thing_make_resident(&thing);
		bool has_fired = failing_stop(&failing);
		if (has_fired && status == STATUS_NO_MEMORY)
			EXPECT_EQ(vidmm_binding_count(&thing.binding), 0);
		gpu_run(&scene.gpu, 9);
		gpu_check(&scene.gpu);
		scene_finish();
	}
}

TEST_MAIN("vidmm/residency")
