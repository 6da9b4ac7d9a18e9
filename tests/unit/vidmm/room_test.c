/* SPDX-License-Identifier: MIT */
/*
 * room_test.c - who has to go for whom.
 */
#include "scene.h"

TEST(room, offered_goes_before_leftover_before_listed)
{
	struct thing listed;
	struct thing leftover;
	struct thing offered;
	struct thing wanted[3];

	scene_init_two(NULL);
	thing_init(&listed, &scene.other, 2 * MIB, SET_LOCAL);
	thing_init(&leftover, &scene.other, 3 * MIB, SET_LOCAL);
	thing_init(&offered, &scene.other, 3 * MIB, SET_LOCAL);
	thing_bring_in(&listed);
	thing_bring_in(&leftover);
	thing_bring_in(&offered);
	EXPECT_EQ(thing_evict(&leftover, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_binding_offer(&offered.binding, VIDMM_OFFER_HIGH, false, false),
		  STATUS_SUCCESS);

	thing_add(&wanted[0], &scene.client, 3 * MIB, SET_LOCAL);
	EXPECT(!thing_is_in(&offered));
	EXPECT(thing_is_in(&leftover));
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);

	thing_add(&wanted[1], &scene.client, 1 * MIB, SET_LOCAL);
	EXPECT(!thing_is_in(&leftover));
	EXPECT(thing_is_in(&listed));
	EXPECT_EQ(scene.other.owner.suspensions, 0);

	thing_init(&wanted[2], &scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_demand(&wanted[2]), STATUS_PENDING);
	EXPECT_EQ(scene.other.owner.suspensions, 1);
	gpu_run(&scene.gpu, 100);
	EXPECT(!thing_is_in(&listed));
	thing_finish(&wanted[2]);
	thing_finish(&wanted[1]);
	thing_finish(&wanted[0]);
	gpu_run(&scene.gpu, 100);
	EXPECT_EQ(scene.other.owner.suspensions, 0);
	EXPECT(thing_is_in(&listed));
	scene_finish();
}

TEST(room, offers_go_low_before_normal_before_high_and_the_oldest_first)
{
	struct thing things[4];
	struct thing wanted[4];
	static const enum vidmm_offer_priority priorities[4] = { VIDMM_OFFER_HIGH,
								 VIDMM_OFFER_NORMAL,
								 VIDMM_OFFER_LOW, VIDMM_OFFER_LOW };
	static const int order[4] = { 2, 3, 1, 0 };

	scene_init_two(NULL);
	for (int i = 0; i < 4; i++) {
		thing_add(&things[i], &scene.other, 2 * MIB, SET_LOCAL);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(vidmm_binding_offer(&things[i].binding, priorities[i], false, false),
			  STATUS_SUCCESS);
	for (int i = 0; i < 4; i++) {
		thing_add(&wanted[i], &scene.client, 2 * MIB, SET_LOCAL);
		for (int j = 0; j < 4; j++)
			EXPECT_EQ(thing_is_in(&things[order[j]]), j > i);
	}
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	for (int i = 0; i < 4; i++) {
		thing_finish(&wanted[i]);
		thing_finish(&things[i]);
	}
	scene_finish();
}

SCENE_TEST(room, listed_memory_goes_by_priority, scene_init_two(NULL))
{
	struct thing *low = thing_new(&scene.other, 4 * MIB, SET_LOCAL);
	struct thing *high = thing_new(&scene.other, 4 * MIB, SET_LOCAL);
	thing_bring_in(low);
	thing_bring_in(high);
	vidmm_set_priority_anywhere(high->binding.device->process->manager, high->memory,
				    VIDMM_PRIORITY_HIGH);
	vidmm_set_priority_anywhere(low->binding.device->process->manager, low->memory,
				    VIDMM_PRIORITY_LOW);
	struct thing *wanted = thing_new(&scene.client, 2 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(wanted), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	EXPECT(!thing_is_in(low));
	EXPECT(thing_is_in(high));
}

TEST(room, pinned_memory_never_goes)
{
	struct thing pinned;
	struct thing other;
	struct thing wanted;

	scene_init_two(NULL);
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, 4 * MIB, SET_LOCAL);
	wishes.traits.is_pinned = true;
	thing_init_as(&pinned, &scene.other, &wishes);
	thing_init(&other, &scene.other, 4 * MIB, SET_LOCAL);
	thing_bring_in(&pinned);
	thing_bring_in(&other);
	EXPECT_EQ(thing_evict(&pinned, 0), STATUS_SUCCESS);
	thing_init(&wanted, &scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&wanted), STATUS_PENDING);
	gpu_run(&scene.gpu, 2);
	EXPECT(thing_is_in(&pinned));
	EXPECT(thing_is_in(&wanted));
	EXPECT(!thing_is_in(&other));
	scene_finish();
}

SCENE_TEST(room, busy_memory_is_waited_for, scene_init_two(NULL))
{
	struct thing *busy = thing_new_in(&scene.other, 6 * MIB, SET_LOCAL);
	thing_render(busy, 'b');
	gpu_work(&scene.other);
	struct thing *wanted = thing_new(&scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(wanted), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(wanted->done, 0);
	/* What is queued now does not run before its memory is back. */
	gpu_work(&scene.other);
	EXPECT_EQ(scene.other.owner.last_submitted_ticket, 1);
	gpu_retire(&scene.other);
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	EXPECT_EQ(wanted->done, 0);
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	EXPECT_EQ(wanted->done, 1);
	thing_finish(wanted);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(busy));
	EXPECT(thing_holds(busy, 'b'));
	EXPECT_EQ(scene.other.owner.last_submitted_ticket, 2);
}

/* The hardware does not know that it is lost, and may still write there. */
SCENE_TEST(room, what_the_hardware_has_of_a_lost_device_is_waited_for, scene_init_two(NULL))
{
	thing_new_in(&scene.other, 6 * MIB, SET_LOCAL);
	gpu_work(&scene.other);
	vidmm_device_lose(&scene.other.device);
	struct thing *wanted = thing_new(&scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(wanted), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(wanted->done, 0);
	gpu_retire(&scene.other);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(wanted->done, 1);
}

/* One device evicts it while its own work is queued; the other one lists it, and is idle. */
TEST(room, work_of_who_evicted_it_is_waited_for_though_another_lists_it)
{
	struct client three;
	struct thing shared;
	struct thing opened;
	struct thing large;

	scene_init_two(NULL);
	client_init(&three, &scene.gpu.process);
	thing_init(&shared, &scene.client, 2 * MIB, SET_LOCAL);
	thing_open(&opened, &scene.other, &shared);
	thing_init(&large, &three, 7 * MIB, SET_LOCAL);
	thing_bring_in(&shared);
	EXPECT_EQ(thing_make_resident(&opened), STATUS_SUCCESS);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_evict(&shared, 0), STATUS_SUCCESS);
	EXPECT_EQ(thing_demand(&large), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&opened));
	EXPECT_EQ(large.done, 0);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&opened));
	EXPECT_EQ(large.done, 1);
	EXPECT(thing_is_in(&large));
	gpu_check(&scene.gpu);
	thing_finish(&large);
	thing_close(&opened);
	thing_finish(&shared);
	client_finish(&three);
	scene_finish();
}

/*
 * The first in the row needs what the second gave up behind work of its own, which cannot run
 * before the second one had its turn.
 */
static void give_up_while_suspended(bool is_offer)
{
	struct thing kept;
	struct thing given;
	struct thing small;
	struct thing large;

	scene_init_two(&(struct gpu_config){ .local_bytes = MIB });
	thing_init(&kept, &scene.client, 100 * PAGE, SET_LOCAL);
	thing_init(&given, &scene.client, 100 * PAGE, SET_LOCAL);
	thing_init(&small, &scene.other, 78 * PAGE, SET_LOCAL);
	thing_init(&large, &scene.other, 150 * PAGE, SET_LOCAL);
	thing_bring_in(&kept);
	thing_bring_in(&given);
	thing_render(&given, 'g');
	EXPECT_EQ(thing_demand(&small), STATUS_PENDING);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_work(&scene.client);
	vidmm_device_has_work(&scene.client.device);
	EXPECT_EQ(is_offer ? vidmm_binding_offer(&given.binding, VIDMM_OFFER_LOW, false, false)
			   : thing_evict(&given, 0),
		  STATUS_SUCCESS);
	EXPECT_EQ(thing_demand(&large), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(small.done, 1);
	EXPECT_EQ(large.done, 1);
	/* Then it is the turn of the second: its work finds what was given up behind it. */
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	EXPECT_EQ(scene.client.owner.last_submitted_ticket, 1);
	EXPECT(thing_is_in(&kept));
	EXPECT(thing_is_in(&given));
	EXPECT(thing_holds(&given, 'g'));
	gpu_check(&scene.gpu);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&given));
	EXPECT_EQ(place_offer_is_due(binding_place(&given.binding)), is_offer);
	scene_finish();
}

TEST(room, what_a_suspended_device_evicted_goes_for_who_is_first)
{
	give_up_while_suspended(false);
}

TEST(room, what_a_suspended_device_offered_goes_for_who_is_first)
{
	give_up_while_suspended(true);
}

/* A device and another one; each of three things fits, and no two together. */
struct crowd {
	struct thing used;
	struct thing next;
	struct thing others;
};

static void crowd_init(struct crowd *crowd)
{
	scene_init_two(NULL);
	thing_init(&crowd->used, &scene.client, 5 * MIB, SET_LOCAL);
	thing_init(&crowd->next, &scene.client, 5 * MIB, SET_LOCAL);
	thing_init(&crowd->others, &scene.other, 5 * MIB, SET_LOCAL);
}

static void crowd_bring_in(struct crowd *crowd, struct thing *thing)
{
	EXPECT_EQ(thing_demand(thing), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
}

/* It loses what it used to the other one, and evicts that behind work that needs it. */
static void crowd_suspend(struct crowd *crowd)
{
	crowd_bring_in(crowd, &crowd->used);
	thing_render(&crowd->used, 'u');
	crowd_bring_in(crowd, &crowd->others);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_work(&scene.client);
	vidmm_device_has_work(&scene.client.device);
	EXPECT_EQ(thing_evict(&crowd->used, 0), STATUS_SUCCESS);
}

static void expect_work_first_and_then_the_next(struct crowd *crowd)
{
	for (int i = 0; i < 20 && scene.client.owner.last_submitted_ticket == 0; i++) {
		gpu_run(&scene.gpu, 1);
		(void)gpu_tick(&scene.gpu);
		gpu_check(&scene.gpu);
	}
	EXPECT_EQ(scene.client.owner.last_submitted_ticket, 1);
	EXPECT(thing_is_in(&crowd->used));
	EXPECT(thing_holds(&crowd->used, 'u'));
	EXPECT_EQ(crowd->next.done, 0);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(crowd->next.done, 1);
	EXPECT_EQ(crowd->next.status, STATUS_SUCCESS);
	EXPECT(thing_is_in(&crowd->next));
	EXPECT(!thing_is_in(&crowd->used));
}

static void crowd_finish(struct crowd *crowd)
{
	scene_finish();
}

/*
 * A device that lost its memory to another has work queued, evicts what that uses and asks for
 * something else; both together do not fit. The work comes first: it needs what was evicted behind
 * it, and nothing that is only on its way in. Would the device have to have both, it would wait for
 * itself.
 */
TEST(room, a_suspended_device_that_lists_too_much_does_not_wait_for_itself)
{
	struct crowd crowd;

	crowd_init(&crowd);
	crowd_suspend(&crowd);
	EXPECT_EQ(thing_demand(&crowd.next), STATUS_PENDING);
	expect_work_first_and_then_the_next(&crowd);
	crowd_finish(&crowd);
}

/* The same with a reclaim: what was offered is not what queued work needs, either. */
TEST(room, a_suspended_device_that_reclaims_too_much_does_not_wait_for_itself)
{
	struct crowd crowd;
	enum vidmm_reclaim_result result;

	crowd_init(&crowd);
	crowd_bring_in(&crowd, &crowd.next);
	EXPECT_EQ(thing_offer(&crowd.next), STATUS_SUCCESS);
	crowd_suspend(&crowd);
	EXPECT(!thing_is_in(&crowd.next));
	crowd.next.done = 0;
	EXPECT_EQ(thing_reclaim(&crowd.next, &result), STATUS_PENDING);
	EXPECT_EQ(result, VIDMM_RECLAIM_DISCARDED);
	expect_work_first_and_then_the_next(&crowd);
	crowd_finish(&crowd);
}

TEST(room, two_devices_that_do_not_fit_together_take_turns)
{
	struct thing mine;
	struct thing yours;
	int turns_one = 0;
	int turns_two = 0;

	scene_init_two(NULL);
	thing_init(&mine, &scene.client, 4 * MIB, SET_LOCAL);
	thing_init(&yours, &scene.other, 4 * MIB, SET_LOCAL);
	struct thing more;
	thing_init(&more, &scene.client, 2 * MIB, SET_LOCAL);
	thing_bring_in(&mine);
	thing_bring_in(&yours);
	thing_render(&mine, '1');
	thing_render(&yours, '2');
	gpu_work(&scene.client);
	gpu_work(&scene.other);
	/* 10 MiB in 8: within both budgets? The first process is over its share now. */
	EXPECT_EQ(thing_make_resident(&more), STATUS_NO_MEMORY);
	EXPECT_EQ(thing_demand(&more), STATUS_PENDING);
	gpu_retire(&scene.other);
	for (int i = 0; i < 60; i++) {
		bool one_runs;
		bool two_runs;

		gpu_run(&scene.gpu, 1);
		gpu_check(&scene.gpu);
		one_runs = scene.client.owner.suspensions == 0 && thing_is_in(&more);
		two_runs = scene.other.owner.suspensions == 0;
		EXPECT(!(one_runs && two_runs));
		if (one_runs) {
			turns_one++;
			EXPECT(thing_holds(&mine, '1'));
			gpu_work(&scene.client);
			gpu_work(&scene.other);
			gpu_slice_over(&scene.client);
		}
		if (two_runs) {
			turns_two++;
			EXPECT(thing_holds(&yours, '2'));
			gpu_work(&scene.client);
			gpu_work(&scene.other);
			gpu_slice_over(&scene.other);
		}
		while (fake_owner_runs(&scene.client.owner))
			gpu_retire(&scene.client);
		while (fake_owner_runs(&scene.other.owner))
			gpu_retire(&scene.other);
	}
	EXPECT(turns_one > 2);
	EXPECT(turns_two > 2);
	EXPECT_EQ(more.done, 1);
	scene_finish();
}

SCENE_TEST(room, a_busy_device_keeps_its_memory_for_a_slice, scene_init_two(NULL))
{
	struct thing *mine = thing_new(&scene.client, 6 * MIB, SET_LOCAL);
	struct thing *yours = thing_new(&scene.other, 4 * MIB, SET_LOCAL);
	thing_bring_in(mine);
	EXPECT_EQ(thing_make_resident(yours), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(yours));
	EXPECT(!thing_is_in(mine));
	/* With work to do it takes it back from one that is idle … */
	gpu_work(&scene.client);
	vidmm_device_has_work(&scene.client.device);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(mine));
	/* … and keeps it for an hour. */
	gpu_work(&scene.other);
	vidmm_device_has_work(&scene.other.device);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(mine));
	EXPECT(!thing_is_in(yours));
	EXPECT_EQ(scene.other.owner.suspensions, 1);
	gpu_retire(&scene.client);
	thing_finish(mine);
	EXPECT(thing_is_in(yours));
}

TEST(room, shared_memory_is_there_for_both)
{
	struct thing first;
	struct thing opened;
	struct thing wanted;

	scene_init_two(NULL);
	thing_init(&first, &scene.client, 4 * MIB, SET_LOCAL);
	thing_open(&opened, &scene.other, &first);
	thing_bring_in(&first);
	EXPECT_EQ(thing_make_resident(&opened), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_memory_info(&scene.second, VIDMM_LOCAL).usage_bytes, 4 * MIB);
	EXPECT_EQ(thing_evict(&first, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(thing_is_in(&first));
	thing_add(&wanted, &scene.client, 4 * MIB, SET_LOCAL);
	EXPECT(thing_is_in(&opened));
	scene_finish();
}

TEST(room, everything_can_be_evicted_and_comes_back)
{
	struct thing things[4];

	scene_init_two(NULL);
	for (int i = 0; i < 4; i++) {
		thing_add(&things[i], &scene.client, 2 * MIB, SET_LOCAL);
		thing_render(&things[i], (char)('a' + i));
	}
	evict_segment(scene.gpu.manager, 0);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_run(&scene.gpu, 100);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 8 * MIB);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	for (int i = 0; i < 4; i++) {
		EXPECT(thing_is_in(&things[i]));
		EXPECT(thing_holds(&things[i], (char)('a' + i)));
		thing_finish(&things[i]);
	}
	scene_finish();
}

/* ---- what all apertures together may hold ---- */

/* A leftover in `first` has all of it, and another thing is wanted in `second`. */
static void leftover_goes_for_the_limit(const struct gpu_config *config, uint32_t first,
					uint32_t second)
{
	struct thing wanted;

	scene_init_with(config, 4 * MIB, first);
	thing_write(&scene.thing, 'l');
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	EXPECT(thing_is_in(&scene.thing));
	thing_add(&wanted, &scene.client, 3 * MIB, second);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 'l'));
	gpu_check(&scene.gpu);
	scene_finish();
}

TEST(limit, of_all_apertures_is_kept_by_evicting_what_is_left_over)
{
	const struct gpu_config config = { .commit_limit_bytes = 4 * MIB };

	leftover_goes_for_the_limit(&config, SET_SYSTEM, SET_SYSTEM);
	leftover_goes_for_the_limit(&config, SET_APERTURE, SET_APERTURE);
}

TEST(limit, of_all_apertures_is_kept_by_evicting_from_another_one)
{
	const struct gpu_config config = { .commit_limit_bytes = 4 * MIB };

	leftover_goes_for_the_limit(&config, SET_APERTURE, SET_SYSTEM);
	leftover_goes_for_the_limit(&config, SET_SYSTEM, SET_APERTURE);
}

TEST(limit, of_all_apertures_is_kept_in_the_physical_model)
{
	const struct gpu_config config = { .commit_limit_bytes = 4 * MIB, .is_physical = true };

	leftover_goes_for_the_limit(&config, SET_APERTURE, SET_APERTURE);
}

/* Nobody goes for what can never be there. */
SCENE_TEST(limit, of_all_apertures_is_what_there_is,
	   scene_init_with(&(struct gpu_config){ .commit_limit_bytes = 4 * MIB }, MIB, SET_SYSTEM))
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	struct thing *wanted = thing_new(&scene.client, 5 * MIB, SET_SYSTEM);
	EXPECT_EQ(thing_make_resident(wanted), STATUS_NO_MEMORY);
	EXPECT(thing_is_in(&scene.thing));
}

TEST_MAIN("vidmm/room")
