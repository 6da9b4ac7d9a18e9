/* SPDX-License-Identifier: MIT */
/*
 * offer_meeting_test.c - offers and reclaims that meet others: work, a second offer, a trim, a
 * destruction that another thread is in the middle of.
 */
#include "scene.h"

#include "base/thread.h"
#include "vidmm/control.h"

static NTSTATUS offer_for_good(struct thing *thing)
{
	return vidmm_binding_offer(&thing->binding, VIDMM_OFFER_LOW, true, false);
}

/* ---- offers ---- */

/* Of who lists memory with work, an offer that waits for nothing needs no place. */
TEST(by_lists, an_immediate_offer_of_what_was_never_in_place_makes_no_place)
{
	const struct gpu_config by_lists = { .is_physical = true, .is_by_lists = true };

	scene_init_with(&by_lists, MIB, SET_LOCAL);
	EXPECT_EQ(vidmm_offer_prepare(&scene.thing.binding, false, true), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_LOW, false, true),
		  STATUS_SUCCESS);
	EXPECT(!binding_place(&scene.thing.binding));
	EXPECT_EQ(vidmm_offer_prepare(&scene.thing.binding, false, false), STATUS_SUCCESS);
	EXPECT(binding_place(&scene.thing.binding));
	scene_finish();
}

/* Who may decommit it has to find it: that is written down in a place. */
SCENE_TEST(memory, that_is_missing_for_the_place_leaves_it_as_it_was,
	   scene_init_with(NULL, MIB, SET_SYSTEM))
{
	bool has_failed = true;

	for (unsigned nth = 1; has_failed; nth++) {
		mem_fail_nth(nth);
		NTSTATUS status = offer_for_good(&scene.thing);
		has_failed = mem_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(scene.thing.memory->offer,
			  has_failed ? VIDMM_NOT_OFFERED : VIDMM_OFFERED);
		if (nth == 1)
			EXPECT(has_failed);
	}
}

/* An offer that waits for work is overtaken by one that does not. */
TEST(list, that_is_offered_immediately_waits_for_no_work_of_an_offer_before)
{
	struct vidmm_offer_note note;

	scene_init_with(NULL, MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	struct vidmm_binding *list[] = { &scene.thing.binding };
	struct vidmm_place *place = binding_place(list[0]);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(place->offer, PLACE_OFFERED);
	EXPECT_EQ(vidmm_binding_offer_of_list(list[0], VIDMM_OFFER_LOW, false, true, &note),
		  STATUS_SUCCESS);
	EXPECT(note.was_offered && note.is_held);
	EXPECT_EQ(place->offer, PLACE_OFFERED);
	vidmm_offer_let_go(list, &note, 1, true);
	EXPECT_EQ(place->offer, PLACE_OFFER_DUE);
	gpu_retire(&scene.client);
	scene_finish();
}

THING_TEST(unoffer, of_what_another_has_reclaimed_changes_nothing)
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	for (unsigned i = 0; i < 2; i++) {
		vidmm_unoffer(&scene.thing.binding);
		EXPECT_EQ(scene.thing.memory->offer, VIDMM_NOT_OFFERED);
		EXPECT_EQ(binding_place(&scene.thing.binding)->offer, PLACE_NOT_OFFERED);
	}
	gpu_check(&scene.gpu);
}

/* ---- what a tester wants ---- */

SCENE_TEST(discard, of_offers_always_is_of_those_whose_work_is_over,
	   scene_init_with(NULL, MIB, SET_SYSTEM))
{
	enum vidmm_reclaim_result result;

	vidmm_set_options(scene.gpu.manager, VIDMM_ALWAYS_DISCARD_OFFERS);
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(vidmm_offer_prepare(&scene.thing.binding, true, false), STATUS_SUCCESS);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(binding_place(&scene.thing.binding)->offer, PLACE_OFFERED);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	gpu_retire(&scene.client);
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
}

SCENE_TEST(no_commit, on_reclaim_is_about_what_was_decommitted,
	   scene_init_with(NULL, MIB, SET_SYSTEM))
{
	enum vidmm_reclaim_result result;

	vidmm_process_set_options(&scene.gpu.process, VIDMM_FAIL_COMMIT_ON_RECLAIM);
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_OK);
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, MIB, 0), MIB);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_NOT_COMMITTED);
	vidmm_process_set_options(&scene.gpu.process, 0);
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
}

/* ---- what may be decommitted ---- */

static uint64_t decommittable(void)
{
	return vidmm_process_offer_info(&scene.gpu.process).decommittable_bytes;
}

static char own[65536] __attribute__((aligned(4096)));

SCENE_TEST(decommit, is_not_of_memory_that_is_the_clients,
	   scene_init_with(NULL, sizeof(own), SET_SYSTEM))
{
	vidmm_allocation_take_memory(scene.thing.memory, own);
	own[7] = 7;
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(decommittable(), 0);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, 0), 0);
	EXPECT_EQ(own[7], 7);
}

/* As a list of work does, that an immediate offer does not wait for. */
SCENE_TEST(decommit, is_not_of_memory_that_work_lists, scene_init_with(NULL, MIB, SET_SYSTEM))
{
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	struct vidmm_place *place = binding_place(&scene.thing.binding);
	EXPECT_EQ(decommittable(), MIB);
	lock_acquire(&scene.gpu.manager->lock);
	place->pins++;
	lock_release(&scene.gpu.manager->lock);
	EXPECT_EQ(decommittable(), 0);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, 0), 0);
	lock_acquire(&scene.gpu.manager->lock);
	place->pins--;
	lock_release(&scene.gpu.manager->lock);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, 0), MIB);
}

/* What the GPU sees in system memory has to leave first, and it has been tried. */
SCENE_TEST(decommit, does_not_wait_for_what_could_not_leave,
	   scene_init_with(NULL, MIB, SET_APERTURE))
{
	thing_write(&scene.thing, 'a');
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_APERTURE);
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	struct vidmm_place *place = binding_place(&scene.thing.binding);
	lock_acquire(&scene.gpu.manager->lock);
	place->given_up_at = scene.gpu.manager->retry_generation;
	lock_release(&scene.gpu.manager->lock);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, 0), 0);
	EXPECT(thing_is_in(&scene.thing));
}

/* ---- another thread ---- */

struct other {
	struct thread *thread;
	struct vidmm_binding *list[2];
	enum vidmm_reclaim_result results[2];
	NTSTATUS status;
	uint64_t freed_bytes;
};

static void other_start(struct other *other, void (*run)(void *argument))
{
	EXPECT_EQ(thread_create("other", run, other, &other->thread), STATUS_SUCCESS);
}

static void trim(void *argument)
{
	struct other *other = argument;

	other->freed_bytes =
		vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, VIDMM_DECOMMIT_LAZILY);
}

static void reclaim_both_now(void *argument)
{
	struct other *other = argument;

	other->status = vidmm_reclaim_now(&scene.client.device, other->list, 2, other->results);
}

static bool is_picked(const struct vidmm_place *place)
{
	lock_acquire(&scene.gpu.manager->lock);
	bool is_picked = place->waits > 0;
	lock_release(&scene.gpu.manager->lock);
	return is_picked;
}

static bool is_kept(const struct vidmm_place *place)
{
	lock_acquire(&scene.gpu.manager->lock);
	bool is_kept = place->reclaims > 0;
	lock_release(&scene.gpu.manager->lock);
	return is_kept;
}

/* What became of it since it was picked. */
enum meanwhile { CLAIMED, OFFERED_TO_KEEP, MEANWHILES };

static void change(struct thing *thing, enum meanwhile meanwhile, int by)
{
	if (meanwhile == CLAIMED)
		binding_place(&thing->binding)->reclaims += (uint32_t)by;
	else
		binding_place(&thing->binding)->pins += (uint32_t)by;
	thing->memory->may_decommit = meanwhile == CLAIMED || by < 0;
}

TEST(trim, leaves_what_it_has_picked_to_who_claimed_or_kept_it_since)
{
	for (enum meanwhile meanwhile = 0; meanwhile < MEANWHILES; meanwhile++) {
		struct other other = { 0 };

		scene_init_with(NULL, MIB, SET_SYSTEM);
		thing_write(&scene.thing, 'a');
		EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
		struct vidmm_place *place = binding_place(&scene.thing.binding);
		lock_acquire(&scene.thing.memory->lock);
		other_start(&other, trim);
		while (!is_picked(place))
			thread_point();
		lock_acquire(&scene.gpu.manager->lock);
		change(&scene.thing, meanwhile, 1);
		lock_release(&scene.gpu.manager->lock);
		lock_release(&scene.thing.memory->lock);
		thread_join(other.thread);
		EXPECT_EQ(other.freed_bytes, 0);
		EXPECT_EQ(scene.thing.memory->offer, VIDMM_OFFERED);
		lock_acquire(&scene.gpu.manager->lock);
		change(&scene.thing, meanwhile, -1);
		lock_release(&scene.gpu.manager->lock);
		/* A claim may come to nothing: then it can be had by the next one. */
		EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, UINT64_MAX, 0),
			  meanwhile == CLAIMED ? MIB : 0);
		scene_finish();
	}
}

/* Its place goes under the manager's lock alone, while a reclaim stands before its own lock. */
SCENE_TEST(reclaim_now, of_what_is_being_destroyed_brings_back_the_rest,
	   scene_init_with(NULL, MIB, SET_SYSTEM))
{
	struct thing *second = thing_new(&scene.client, MIB, SET_SYSTEM);
	thing_write(&scene.thing, 'a');
	thing_write(second, 'b');
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(offer_for_good(second), STATUS_SUCCESS);
	struct other other = { .list = { &scene.thing.binding, &second->binding } };
	struct vidmm_place *place = binding_place(&second->binding);
	lock_acquire(&second->memory->lock);
	other_start(&other, reclaim_both_now);
	while (!is_kept(binding_place(&scene.thing.binding)))
		thread_point();
	lock_acquire(&scene.gpu.manager->lock);
	atomic_store(&second->memory->place, NULL);
	lock_release(&scene.gpu.manager->lock);
	lock_release(&second->memory->lock);
	thread_join(other.thread);
	EXPECT_EQ(other.status, STATUS_SUCCESS);
	EXPECT_EQ(other.results[0], VIDMM_RECLAIM_OK);
	EXPECT_EQ(scene.thing.memory->offer, VIDMM_NOT_OFFERED);
	EXPECT_EQ(binding_place(&scene.thing.binding)->reclaims, 0);
	EXPECT_EQ(place->reclaims, 0);
	atomic_store(&second->memory->place, place);
	/* And it ends as it would have. */
	enum vidmm_reclaim_result result;
	EXPECT_EQ(offer_for_good(second), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(second, &result), STATUS_SUCCESS);
	thing_finish(second);
}

static void reclaim_one(void *argument)
{
	struct other *other = argument;
	struct vidmm_request request = { 0 };

	other->status = vidmm_reclaim_bindings(&scene.client.device, other->list, 1, other->results,
					       &request);
}

static bool is_reclaimed(struct thing *thing)
{
	return __atomic_load_n(&thing->memory->offer, __ATOMIC_ACQUIRE) == VIDMM_NOT_OFFERED;
}

/* … or while it stands before the manager's. */
TEST(reclaim, of_what_is_being_destroyed_is_over_without_a_place)
{
	scene_init_with(NULL, MIB, SET_SYSTEM);
	thing_write(&scene.thing, 'a');
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	struct other other = { .list = { &scene.thing.binding } };
	struct vidmm_place *place = binding_place(&scene.thing.binding);
	lock_acquire(&scene.thing.memory->lock);
	other_start(&other, reclaim_one);
	/* It has looked for places, paid, and waits for the first. */
	while (!scene.thing.binding.is_returning)
		thread_point();
	lock_acquire(&scene.gpu.manager->lock);
	lock_release(&scene.thing.memory->lock);
	while (!is_reclaimed(&scene.thing))
		thread_point();
	for (unsigned i = 0; i < 10000; i++)
		thread_point();
	atomic_store(&scene.thing.memory->place, NULL);
	lock_release(&scene.gpu.manager->lock);
	thread_join(other.thread);
	EXPECT_EQ(other.status, STATUS_SUCCESS);
	EXPECT_EQ(other.results[0], VIDMM_RECLAIM_OK);
	atomic_store(&scene.thing.memory->place, place);
	EXPECT_EQ(place->offer, PLACE_OFFER_DUE); /* nobody has touched it */
	EXPECT_EQ(offer_for_good(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_reclaim(&scene.thing, &other.results[0]), STATUS_SUCCESS);
	scene_finish();
}

static void on_departed(struct vidmm_departure *departure)
{
	departure->done = NULL;
}

/* A call that found it before its end: the place is on its way out, and stays so. */
TEST(reclaim, of_what_leaves_for_good_brings_nothing_back)
{
	struct vidmm_departure departure = { .done = on_departed };
	enum vidmm_reclaim_result result;

	scene_init_with(NULL, MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT(thing_is_in(&scene.thing));
	gpu_work(&scene.client); /* the offer waits for it, and the end for the offer */
	EXPECT_EQ(thing_offer(&scene.thing), STATUS_SUCCESS);
	vidmm_allocation_retire(scene.thing.memory);
	EXPECT(!vidmm_allocation_depart(scene.thing.memory, &departure));
	EXPECT(departure.done);
	(void)!thing_reclaim(&scene.thing, &result);
	EXPECT_EQ(binding_place(&scene.thing.binding)->offer, PLACE_NOT_OFFERED);
	gpu_run(&scene.gpu, 9);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(!departure.done);
	EXPECT(!thing_is_in(&scene.thing));
	scene_finish();
}

TEST_MAIN("vidmm/offer_meeting")
