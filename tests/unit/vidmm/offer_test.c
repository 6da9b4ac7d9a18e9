/* SPDX-License-Identifier: MIT */
/*
 * offer_test.c - offers and reclaims of what may be in GPU memory.
 */
#include "scene.h"

/* Takes all of local memory, and gives it back. */
static void press(void)
{
	struct thing wanted;

	thing_init(&wanted, &scene.client, 8 * MIB, SET_LOCAL);
	struct vidmm_binding *list[] = { &wanted.binding };
	uint64_t bytes;
	NTSTATUS status =
		vidmm_make_resident(&scene.client.device, list, 1, 0, &wanted.request, &bytes);
	/* An offered allocation stays on the list, and in the usage. */
	if (status == STATUS_NO_MEMORY) {
		thing_finish(&wanted);
		struct vidmm_process other;
		struct client stranger;

		vidmm_process_init(&other, scene.gpu.manager, &scene.gpu.world.adapter);
		client_init(&stranger, &other);
		thing_init(&wanted, &stranger, 8 * MIB, SET_LOCAL);
		struct vidmm_binding *again[] = { &wanted.binding };
		status = vidmm_make_resident(&stranger.device, again, 1, VIDMM_CANT_TRIM_FURTHER,
					     &wanted.request, &bytes);
		EXPECT_EQ(status, STATUS_PENDING);
		gpu_run(&scene.gpu, 100);
		thing_finish(&wanted);
		client_finish(&stranger);
		vidmm_process_finish(&other);
		return;
	}
	EXPECT_EQ(status, STATUS_PENDING);
	gpu_run(&scene.gpu, 100);
	thing_finish(&wanted);
}

THING_TEST(offer, without_pressure_the_content_survives)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'o');
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	EXPECT(thing_holds(&scene.thing, 'o'));
}

THING_TEST(offer, under_pressure_the_content_is_dropped_and_no_byte_moved)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'o');
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	press();
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	/* Still on the list: it comes back in, empty. */
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 0));
}

THING_TEST(offer, off_the_list_a_reclaim_brings_nothing_in)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	press();
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	EXPECT(!thing_is_in(&scene.thing));
}

TEST(offer, counts_after_the_work_queued_before_it)
{
	enum vidmm_reclaim_result result;

	scene_init_with(NULL, 6 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	struct vidmm_process other;
	struct client stranger;
	struct thing wanted;
	vidmm_process_init(&other, scene.gpu.manager, &scene.gpu.world.adapter);
	client_init(&stranger, &other);
	thing_init(&wanted, &stranger, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&wanted), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&scene.thing));
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(wanted.done, 1);
	thing_finish(&wanted);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	client_finish(&stranger);
	vidmm_process_finish(&other);
	scene_finish();
}

THING_TEST(offer, before_the_way_in_work_queued_in_between_finds_it)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING); /* it is on its way out */
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 2);
	EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(!place_offer_is_due(binding_place(&scene.thing.binding)));
	gpu_retire(&scene.client);
	EXPECT(place_offer_is_due(binding_place(&scene.thing.binding)));
	gpu_check(&scene.gpu);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
}

THING_TEST(offer, on_its_way_out_without_work_it_is_not_fetched)
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
	EXPECT(!thing_is_in(&scene.thing));
}

THING_TEST(offer, taken_away_by_others_it_comes_back_for_the_work_in_front)
{
	thing_bring_in(&scene.thing);
	evict_segment(scene.gpu.manager, SEGMENT_LOCAL);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	gpu_retire(&scene.client);
	EXPECT(place_offer_is_due(binding_place(&scene.thing.binding)));
}

THING_TEST(offer, immediately_does_not_wait_for_work)
{
	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_LOW, false, true),
		  STATUS_SUCCESS);
	EXPECT(place_offer_is_due(binding_place(&scene.thing.binding)));
	gpu_retire(&scene.client);
}

/* Nobody lists it, and it still is where it was. */
SCENE_TEST(offer, reclaimed_where_it_was_it_goes_behind_what_is_offered,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	struct thing *offered = thing_new_in(&scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT_EQ(thing_offer(offered), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	thing_new_in(&scene.client, 4 * MIB, SET_LOCAL);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(!thing_is_in(offered));
}

THING_TEST(offer, reclaimed_before_the_work_is_over_it_never_counted)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	gpu_retire(&scene.client);
	EXPECT(!place_offer_is_due(binding_place(&scene.thing.binding)));
	gpu_check(&scene.gpu);
}

THING_TEST(offer, offered_again_it_waits_for_the_work_in_between)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	gpu_retire(&scene.client);
	EXPECT(!place_offer_is_due(binding_place(&scene.thing.binding)));
	gpu_retire(&scene.client);
	EXPECT(place_offer_is_due(binding_place(&scene.thing.binding)));
}

/* … and for nothing that came after: that may wait for the room it gives. */
THING_TEST(offer, offered_again_it_does_not_wait_for_the_work_behind_it)
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	gpu_work(&scene.client);
	gpu_retire(&scene.client);
	EXPECT(place_offer_is_due(binding_place(&scene.thing.binding)));
	gpu_retire(&scene.client);
}

THING_TEST(offer, made_resident_it_is_listed_and_comes_in_with_its_reclaim)
{
	enum vidmm_reclaim_result result;

	thing_write(&scene.thing, 'c');
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_count(&scene.thing.binding), 1);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT(thing_holds(&scene.thing, 'c'));
	EXPECT(thing_is_in(&scene.thing));
}

SCENE_TEST(offer, reclaimed_it_can_be_locked_at_once,
	   scene_init_with(NULL, MIB, SET_LOCAL | SET_SYSTEM))
{
	enum vidmm_reclaim_result result;
	void *pointer;

	thing_write(&scene.thing, 'l');
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-LOCK-OFFERED");
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_SUCCESS);
	EXPECT(is_all(pointer, MIB, 'l'));
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, scene.thing.memory));
}

/* It has no fence of the reclaim to wait for. */
TEST(offer, reclaimed_by_one_device_the_others_that_list_it_wait_until_it_is_back)
{
	struct thing opened;
	enum vidmm_reclaim_result result;

	scene_init_with(NULL, MIB, SET_LOCAL);
	scene_add_second();
	thing_open(&opened, &scene.other, &scene.thing);
	thing_bring_in(&scene.thing);
	thing_bring_in(&opened);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	evict_segment(scene.gpu.manager, SEGMENT_LOCAL);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT_EQ(scene.other.owner.suspensions, 0);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	EXPECT_EQ(scene.other.owner.suspensions, 1);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT_EQ(scene.other.owner.suspensions, 0);
	gpu_check(&scene.gpu);
	scene_finish();
}

struct second_request {
	struct vidmm_request request;
	uint32_t done;
};

static void second_done(struct vidmm_request *request, NTSTATUS status)
{
	struct second_request *second = container_of(request, struct second_request, request);

	EXPECT_EQ(status, STATUS_SUCCESS);
	second->done++;
}

/* Who is told that it is over may use it. */
TEST(offer, reclaimed_again_before_it_is_back_both_wait_for_it)
{
	struct second_request second = { .request.done = second_done };
	struct vidmm_binding *list[] = { &scene.thing.binding };
	enum vidmm_reclaim_result result;

	scene_init_with(NULL, MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	evict_segment(scene.gpu.manager, SEGMENT_LOCAL);
	gpu_run(&scene.gpu, 9);
	uint32_t done = scene.thing.done;
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(vidmm_reclaim_bindings(&scene.client.device, list, 1, &result, &second.request),
		  STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	EXPECT_EQ(second.done, 0);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT_EQ(second.done, 1);
	EXPECT_EQ(scene.thing.done, done + 1);
	/* In place there is nothing to wait for. */
	EXPECT_EQ(vidmm_reclaim_bindings(&scene.client.device, list, 1, &result, &second.request),
		  STATUS_SUCCESS);
	scene_finish();
}

THING_TEST(offer, of_something_untouched_takes_no_memory_and_no_place)
{
	enum vidmm_reclaim_result result;

	int64_t blocks = mem_usage().blocks;
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	EXPECT_EQ(mem_usage().blocks, blocks);
	EXPECT(!binding_place(&scene.thing.binding));
}

SCENE_TEST(offer, while_it_is_dropped_a_reclaim_says_discarded,
	   scene_init_with(&(struct gpu_config){ .is_physical = true }, MIB, SET_LOCAL))
{
	enum vidmm_reclaim_result result;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	evict_segment(scene.gpu.manager, 0);
	EXPECT_EQ(gpu_ready(&scene.gpu), 1);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.gpu.discards, 1);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 0));
	EXPECT_EQ(scene.thing.done, 2);
}

SCENE_TEST(decommit, gives_system_memory_of_offers_away_lowest_first,
	   scene_init_with(NULL, MIB, SET_LOCAL))
{
	enum vidmm_reclaim_result result;

	struct thing *low = thing_new(&scene.client, 2 * MIB, SET_LOCAL);
	thing_write(&scene.thing, 'a');
	thing_write(low, 'b');
	EXPECT_EQ(vidmm_process_offer_info(&scene.gpu.process).decommittable_bytes, 0);
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_NORMAL, true, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_offer(&low->binding, VIDMM_OFFER_LOW, true, false), STATUS_SUCCESS);
	struct vidmm_offer_info info = vidmm_process_offer_info(&scene.gpu.process);
	EXPECT_EQ(info.decommittable_bytes, 3 * MIB);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, 1, 0), 2 * MIB);
	EXPECT(vidmm_process_offer_info(&scene.gpu.process).uniqueness != info.uniqueness);
	EXPECT_EQ(vidmm_process_offer_info(&scene.gpu.process).decommittable_bytes, MIB);
	EXPECT_EQ(thing_reclaim(low, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	EXPECT(thing_holds(low, 0));
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	EXPECT(thing_holds(&scene.thing, 'a'));
	EXPECT_EQ(vidmm_process_offer_info(&scene.gpu.process).decommittable_bytes, 0);
}

SCENE_TEST(decommit, of_what_was_repurposed_takes_copies_of_content_that_was_dropped,
	   scene_init(NULL))
{
	enum vidmm_reclaim_result result;

	scene_add_kept(MIB);
	struct thing *intact = thing_new(&scene.client, MIB, SET_LOCAL);
	thing_write(intact, 'i');
	thing_write(&scene.thing, 'k');
	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_binding_offer(&intact->binding, VIDMM_OFFER_LOW, true, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_LOW, true, false),
		  STATUS_SUCCESS);
	evict_segment(scene.gpu.manager, SEGMENT_LOCAL);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, VIDMM_DECOMMIT_REPURPOSED),
		  MIB);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, VIDMM_DECOMMIT_REPURPOSED),
		  0);
	EXPECT_EQ(thing_reclaim(intact, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	EXPECT(thing_holds(intact, 'i'));
	/* Offered anew it is what it is now. */
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_LOW, true, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, VIDMM_DECOMMIT_REPURPOSED),
		  0);
}

THING_TEST(decommit, what_was_not_offered_for_it_is_kept)
{
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, 64 * MIB, 0), 0);
}

SCENE_TEST(decommit, without_memory_a_reclaim_says_not_committed_and_it_stays_offered,
	   scene_init_with(NULL, 16 * MIB, SET_SYSTEM))
{
	enum vidmm_reclaim_result result;
	uint64_t taken;

	thing_write(&scene.thing, 'a');
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_LOW, true, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, MIB, 0), 16 * MIB);
	EXPECT_EQ(machine_alloc_contiguous(48 * MIB, 0, 0, UINT64_MAX, 0, &taken), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_NOT_COMMITTED);
	EXPECT(machine_free_contiguous(taken));
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
}

/* ---- reclaims that have to have the memory ---- */

static NTSTATUS reclaim_now(struct thing *things[], uint32_t count,
			    enum vidmm_reclaim_result results[])
{
	struct vidmm_binding *list[4];

	for (uint32_t i = 0; i < count; i++)
		list[i] = &things[i]->binding;
	return vidmm_reclaim_now(&scene.client.device, list, count, results);
}

static void offer_and_decommit(struct thing *thing)
{
	thing_write(thing, 'a');
	EXPECT_EQ(vidmm_binding_offer(&thing->binding, VIDMM_OFFER_LOW, true, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, 0),
		  thing->memory->size_bytes);
}

SCENE_TEST(reclaim_now, with_memory_for_one_of_two_changes_neither,
	   scene_init_with(NULL, 16 * MIB, SET_SYSTEM))
{
	enum vidmm_reclaim_result results[2];
	uint64_t taken;

	struct thing *second = thing_new(&scene.client, 16 * MIB, SET_SYSTEM);
	struct thing *both[] = { &scene.thing, second };
	offer_and_decommit(&scene.thing);
	offer_and_decommit(second);
	EXPECT_EQ(machine_alloc_contiguous(32 * MIB, 0, 0, UINT64_MAX, 0, &taken), STATUS_SUCCESS);
	uint64_t pages = machine_usage().taken_pages;
	EXPECT_EQ(reclaim_now(both, 2, results), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-NO-PAGES");
	EXPECT_EQ(machine_usage().taken_pages, pages);
	EXPECT_EQ(scene.thing.memory->offer, VIDMM_DECOMMITTED);
	EXPECT_EQ(second->memory->offer, VIDMM_DECOMMITTED);
	gpu_check(&scene.gpu);
	/* One after the other would have done. */
	EXPECT_EQ(reclaim_now(both, 1, results), STATUS_SUCCESS);
	EXPECT_EQ(results[0], VIDMM_RECLAIM_DISCARDED);
	EXPECT(machine_free_contiguous(taken));
	EXPECT_EQ(reclaim_now(both, 2, results), STATUS_SUCCESS);
	EXPECT_EQ(results[0], VIDMM_RECLAIM_OK);
	EXPECT_EQ(results[1], VIDMM_RECLAIM_DISCARDED);
	EXPECT(thing_holds(second, 0));
}

SCENE_TEST(reclaim_now, of_the_same_twice_takes_it_back_once,
	   scene_init_with(NULL, MIB, SET_SYSTEM))
{
	enum vidmm_reclaim_result results[2];

	struct thing *twice[] = { &scene.thing, &scene.thing };
	offer_and_decommit(&scene.thing);
	EXPECT_EQ(reclaim_now(twice, 2, results), STATUS_SUCCESS);
	EXPECT_EQ(results[0], VIDMM_RECLAIM_DISCARDED);
	EXPECT_EQ(results[1], VIDMM_RECLAIM_OK);
	EXPECT_EQ(binding_place(&scene.thing.binding)->reclaims, 0);
}

/* What it was before it was claimed, it is again. */
SCENE_TEST(reclaim_now, when_each_block_of_memory_fails_changes_nothing,
	   scene_init_with(NULL, MIB, SET_SYSTEM))
{
	bool has_failed = true;

	struct thing *kept = thing_new(&scene.client, MIB, SET_SYSTEM);
	struct thing *both[] = { &scene.thing, kept };
	for (unsigned nth = 1; has_failed; nth++) {
		enum vidmm_reclaim_result results[2];

		offer_and_decommit(&scene.thing);
		EXPECT_EQ(thing_offer(kept), STATUS_SUCCESS);
		mem_fail_nth(nth);
		NTSTATUS status = reclaim_now(both, 2, results);
		has_failed = mem_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(scene.thing.memory->offer,
			  has_failed ? VIDMM_DECOMMITTED : VIDMM_NOT_OFFERED);
		EXPECT_EQ(kept->memory->offer, has_failed ? VIDMM_OFFERED : VIDMM_NOT_OFFERED);
		gpu_check(&scene.gpu);
		if (has_failed)
			EXPECT_EQ(reclaim_now(both, 2, results), STATUS_SUCCESS);
	}
}

TEST_MAIN("vidmm/offer")
