/* SPDX-License-Identifier: MIT */
/*
 * table_states_test.c - page tables of processes that do nothing leave when somebody needs their
 * room, and are back before anything of the process runs.
 */
#include "eviction_world.h"

TEST(table_states, tables_of_a_process_that_does_nothing_leave_when_room_is_short)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct world world;
		struct thing thing;
		struct vidmm_segment_usage usage;

		start_as(&world, &shapes[i]);
		crowd_out(&world, &thing);
		EXPECT(!runs(&world, &world.parties[0]));
		EXPECT(runs(&world, &world.parties[1]));
		check(&world);
		EXPECT(vidmm_segment_usage(world.manager, FAKE_LOCAL, &usage));
		EXPECT(usage.traffic.tables_left.count > 0);
		EXPECT_EQ(usage.traffic.tables_back.count, 0);
		EXPECT_EQ(usage.resident_bytes, usage.size_bytes);
		thing_finish(&thing);
		finish(&world);
	}
}

TEST(table_states, they_are_back_and_the_root_is_told_before_its_work_runs)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;
		struct vidmm_segment_usage usage;

		start_as(&world, &shapes[i]);
		crowd_out(&world, &thing);
		EXPECT_EQ(idle->roots_told, 0);
		uint32_t flushes = atomic_load(&world.fake->other_flushes);
		queue_work(idle);
		wait_until(&world, idle, VIDMM_TABLES_IN);
		flush(&world);
		EXPECT(runs(&world, idle));
		EXPECT(!thing_is_in(&thing));
		EXPECT_EQ(idle->roots_told, 1);
		EXPECT(atomic_load(&world.fake->other_flushes) > flushes);
		EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
		EXPECT(shows(&world, idle, 529, &world.memories[0], 19));
		EXPECT(shows(&world, idle, 300000, &world.memories[1], 0));
		EXPECT_EQ(walk(&world, idle, 530), 0);
		EXPECT(vidmm_segment_usage(world.manager, FAKE_LOCAL, &usage));
		EXPECT_EQ(usage.traffic.tables_back.bytes, usage.traffic.tables_left.bytes);
		end_work(idle);
		thing_finish(&thing);
		finish(&world);
	}
}

TEST(table_states, they_come_back_when_there_is_room_again)
{
	struct world world;
	struct thing thing;

	start(&world);
	crowd_out(&world, &thing);
	thing_finish(&thing);
	wait_until(&world, &world.parties[0], VIDMM_TABLES_IN);
	EXPECT(runs(&world, &world.parties[0]));
	EXPECT(shows(&world, &world.parties[0], 510, &world.memories[0], 0));
	finish(&world);
}

static void set_slice_end(struct world *world, struct party *party, uint64_t end_ns)
{
	lock_acquire(&world->manager->lock);
	party->device.slice_end_ns = end_ns;
	lock_release(&world->manager->lock);
	room_look_again(world->manager, clock_now_ns());
}

TEST(table_states, queued_work_keeps_its_tables_for_its_slice)
{
	struct world world;
	struct party *busy = &world.parties[0];
	struct thing thing;
	struct vidmm_binding *list[] = { &thing.binding };
	struct vidmm_segment_usage usage;
	uint64_t bytes;

	start(&world);
	EXPECT_EQ(map(busy, 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	queue_work(busy);
	set_slice_end(&world, busy, CLOCK_FOREVER - 1);
	thing_init(&thing, &world, &world.parties[1], LOCAL_PAGES - 1);
	EXPECT_EQ(vidmm_make_resident(&world.parties[1].device, list, 1,
				      VIDMM_CANT_TRIM_FURTHER | VIDMM_WHATEVER_THE_BUDGET,
				      &thing.request, &bytes),
		  STATUS_PENDING);
	EXPECT_EQ(state_of(busy), VIDMM_TABLES_IN);
	EXPECT(runs(&world, busy));
	EXPECT(shows(&world, busy, 510, &world.memories[0], 0));
	set_slice_end(&world, busy, 0);
	while (!atomic_load(&thing.done)) {
		uint32_t seen = notice_read(&world.starved);

		if (!atomic_load(&thing.done))
			notice_wait(&world.starved, seen, CLOCK_FOREVER);
	}
	EXPECT_EQ(thing.status, STATUS_SUCCESS);
	EXPECT(vidmm_segment_usage(world.manager, FAKE_LOCAL, &usage));
	EXPECT(usage.traffic.tables_left.count > 0);
	/* Its turn comes again: what the other one lists does nothing. */
	wait_until(&world, busy, VIDMM_TABLES_IN);
	flush(&world);
	EXPECT(shows(&world, busy, 510, &world.memories[0], 0));
	end_work(busy);
	thing_finish(&thing);
	finish(&world);
}

/* Its work waits until it goes on, and so can its tables. */
TEST(table_states, a_suspended_process_gives_its_tables_whatever_it_has_queued)
{
	struct world world;
	struct party *still = &world.parties[0];
	struct thing thing;

	start(&world);
	vidmm_device_begin(&still->device);
	EXPECT_EQ(map(still, 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	queue_work(still);
	EXPECT_EQ(vidmm_process_suspend(&still->process, false), STATUS_SUCCESS);
	thing_init(&thing, &world, &world.parties[1], LOCAL_PAGES - 1);
	EXPECT_EQ(thing_bring_in(&thing), STATUS_SUCCESS);
	EXPECT_EQ(state_of(still), VIDMM_TABLES_OUT);
	check(&world);
	EXPECT_EQ(vidmm_process_resume(&still->process), STATUS_SUCCESS);
	wait_until(&world, still, VIDMM_TABLES_IN);
	flush(&world);
	EXPECT(runs(&world, still));
	EXPECT(shows(&world, still, 510, &world.memories[0], 0));
	EXPECT(!thing_is_in(&thing));
	end_work(still);
	thing_finish(&thing);
	finish(&world);
}

/* It may still use them when it is decided that they go. */
TEST(table_states, what_the_hardware_has_is_waited_for)
{
	struct world world;
	struct party *idle = &world.parties[0];

	start(&world);
	EXPECT_EQ(map(idle, 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	world.fake->sched.is_owner_busy = true;
	vidmm_evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_LEAVING);
	EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
	fake_release_owner(world.fake);
	wait_until(&world, idle, VIDMM_TABLES_IN); /* out, and in again: there is room */
	EXPECT_EQ(idle->roots_told, 1);
	finish(&world);
}

/* ---- holding ---- */

TEST(table_states, who_holds_them_keeps_them_where_they_are)
{
	struct world world;
	struct party *idle = &world.parties[0];

	start(&world);
	world.fake->sched.is_owner_busy = true;
	vidmm_evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_LEAVING);
	vidmm_tables_hold(&idle->process);
	fake_release_owner(world.fake);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	EXPECT_EQ(idle->roots_told, 0);
	/* Nor do they begin to leave. */
	settle(&world);
	world.fake->sched.is_owner_busy = true;
	vidmm_evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_IN);
	EXPECT(runs(&world, idle));
	fake_release_owner(world.fake);
	vidmm_tables_release(&idle->process);
	finish(&world);
}

/* The one who needs the room is told when the hold ends. */
TEST(table_states, a_hold_delays_and_refuses_nothing)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;
	struct vidmm_binding *list[] = { &thing.binding };
	uint64_t bytes;

	start(&world);
	EXPECT_EQ(map(idle, 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	vidmm_tables_hold(&idle->process);
	thing_init(&thing, &world, &world.parties[1], LOCAL_PAGES - 1);
	EXPECT_EQ(vidmm_make_resident(&world.parties[1].device, list, 1,
				      VIDMM_CANT_TRIM_FURTHER | VIDMM_WHATEVER_THE_BUDGET,
				      &thing.request, &bytes),
		  STATUS_PENDING);
	vidmm_tables_release(&idle->process);
	wait_until(&world, idle, VIDMM_TABLES_OUT);
	while (!atomic_load(&thing.done)) {
		uint32_t seen = notice_read(&world.starved);

		if (!atomic_load(&thing.done))
			notice_wait(&world.starved, seen, CLOCK_FOREVER);
	}
	EXPECT_EQ(thing.status, STATUS_SUCCESS);
	thing_finish(&thing);
	finish(&world);
}

TEST_MAIN("vidmm/table_states")
