/* SPDX-License-Identifier: MIT */
/*
 * table_states_test.c - page tables of processes that do nothing leave when somebody needs their
 * room, and are back before anything of the process runs.
 */
#include "unit/address_space/steps.h"

TEST(table_states, tables_of_a_process_that_does_nothing_leave_when_room_is_short)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct vidmm_segment_usage usage;

		start_as(&shapes[i]);
		crowd_out();
		EXPECT(!runs(app));
		EXPECT(runs(other));
		check();
		EXPECT(vidmm_segment_usage(world.manager, FAKE_LOCAL, &usage));
		EXPECT(usage.traffic.tables_left.count > 0);
		EXPECT_EQ(usage.traffic.tables_back.count, 0);
		EXPECT_EQ(usage.resident_bytes, usage.size_bytes);
		finish();
	}
}

TEST(table_states, they_are_back_and_the_root_is_told_before_its_work_runs)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct vidmm_segment_usage usage;

		start_as(&shapes[i]);
		crowd_out();
		EXPECT_EQ(app->roots_told, 0);
		uint32_t flushes = atomic_load(&world.fake->other_flushes);
		have_back(app);
		EXPECT(!thing_is_in(&crowd));
		EXPECT_EQ(app->roots_told, 1);
		EXPECT(atomic_load(&world.fake->other_flushes) > flushes);
		EXPECT(shows(app, 510, &memories[0], 0));
		EXPECT(shows(app, 529, &memories[0], 19));
		EXPECT(shows(app, 300000, &memories[1], 0));
		EXPECT_EQ(walk(app, 530), 0);
		EXPECT(vidmm_segment_usage(world.manager, FAKE_LOCAL, &usage));
		EXPECT_EQ(usage.traffic.tables_back.bytes, usage.traffic.tables_left.bytes);
		finish();
	}
}

#define TABLES_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, finish(), suite, claim)

TABLES_TEST(table_states, they_come_back_when_there_is_room_again, start())
{
	crowd_out();
	crowd_leaves();
	wait_until(app, VIDMM_TABLES_IN);
	EXPECT(runs(app));
	EXPECT(shows(app, 510, &memories[0], 0));
}

/* A device is made before the scheduler knows its work. */
TABLES_TEST(table_states, nobody_asks_for_the_work_of_a_device_that_has_not_begun, start())
{
	struct vidmm_device early;

	vidmm_device_init(&early, &app->process, NULL, NULL);
	crowd_out();
	vidmm_device_finish(&early);
}

static void set_slice_end(struct party *party, uint64_t end_ns)
{
	lock_acquire(&world.manager->lock);
	party->device.slice_end_ns = end_ns;
	lock_release(&world.manager->lock);
	room_look_again(world.manager, clock_now_ns());
}

TABLES_TEST(table_states, queued_work_keeps_its_tables_for_its_slice, start())
{
	struct thing thing;
	struct vidmm_segment_usage usage;

	map_now(app, 510, &memories[0], 20);
	queue_work(app);
	set_slice_end(app, CLOCK_FOREVER - 1);
	thing_init(&thing, other, LOCAL_PAGES - 1);
	EXPECT_EQ(thing_ask(&thing), STATUS_PENDING);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_IN);
	EXPECT(runs(app));
	EXPECT(shows(app, 510, &memories[0], 0));
	set_slice_end(app, 0);
	EXPECT_EQ(thing_wait(&thing), STATUS_SUCCESS);
	EXPECT(vidmm_segment_usage(world.manager, FAKE_LOCAL, &usage));
	EXPECT(usage.traffic.tables_left.count > 0);
	/* Its turn comes again: what the other one lists does nothing. */
	wait_until(app, VIDMM_TABLES_IN);
	flush();
	EXPECT(shows(app, 510, &memories[0], 0));
	end_work(app);
	thing_finish(&thing);
}

/* Its work waits until it goes on, and so can its tables. */
TABLES_TEST(table_states, a_suspended_process_gives_its_tables_whatever_it_has_queued, start())
{
	map_now(app, 510, &memories[0], 20);
	queue_work(app);
	EXPECT_EQ(vidmm_process_suspend(&app->process, false), STATUS_SUCCESS);
	crowd_in(LOCAL_PAGES - 1);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	check();
	EXPECT_EQ(vidmm_process_resume(&app->process), STATUS_SUCCESS);
	wait_until(app, VIDMM_TABLES_IN);
	flush();
	EXPECT(runs(app));
	EXPECT(shows(app, 510, &memories[0], 0));
	EXPECT(!thing_is_in(&crowd));
	end_work(app);
}

/* It may still use them when it is decided that they go: what it has queued waits, for long enough. */
static void stand_still_at_work(void)
{
	queue_work(app);
	fake_owner_submit(&app->owner);
	EXPECT_EQ(vidmm_process_suspend(&app->process, false), STATUS_SUCCESS);
}

static void start_at_work(void)
{
	start();
	map_now(app, 510, &memories[0], 20);
	stand_still_at_work();
	evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_LEAVING);
	EXPECT(shows(app, 510, &memories[0], 0));
}

TABLES_TEST(table_states, what_the_hardware_has_is_waited_for, start_at_work())
{
	end_work(app);
	wait_until(app, VIDMM_TABLES_OUT);
	EXPECT_EQ(vidmm_process_resume(&app->process), STATUS_SUCCESS);
	wait_until(app, VIDMM_TABLES_IN); /* there is room */
	EXPECT_EQ(app->roots_told, 1);
}

/* ---- holding ---- */

TABLES_TEST(table_states, who_holds_them_keeps_them_where_they_are, start_at_work())
{
	vidmm_tables_hold(&app->process);
	end_work(app);
	wait_until(app, VIDMM_TABLES_IN);
	EXPECT_EQ(vidmm_process_resume(&app->process), STATUS_SUCCESS);
	settle();
	EXPECT_EQ(app->roots_told, 0);
	/* Nor do they begin to leave. */
	stand_still_at_work();
	evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_IN);
	end_work(app);
	EXPECT_EQ(vidmm_process_resume(&app->process), STATUS_SUCCESS);
	EXPECT(runs(app));
	vidmm_tables_release(&app->process);
}

/* The one who needs the room is told when the hold ends. */
TABLES_TEST(table_states, a_hold_delays_and_refuses_nothing, start())
{
	struct thing thing;

	map_now(app, 510, &memories[0], 20);
	vidmm_tables_hold(&app->process);
	thing_init(&thing, other, LOCAL_PAGES - 1);
	EXPECT_EQ(thing_ask(&thing), STATUS_PENDING);
	vidmm_tables_release(&app->process);
	wait_until(app, VIDMM_TABLES_OUT);
	EXPECT_EQ(thing_wait(&thing), STATUS_SUCCESS);
	thing_finish(&thing);
}

TEST_MAIN("vidmm/table_states")
