/* SPDX-License-Identifier: MIT */
/*
 * table_turns_test.c - processes whose page tables do not fit in together, and whose work has no
 * end: each has its turn, and nobody is lost.
 */
#define WORLD_PARTIES 3
#include "unit/address_space/steps.h"

enum { TURNS = 6 };

static const struct shape turn_shapes[] = {
	{ .update_mode = MINIPORT_TABLE_CPU_VIRTUAL, .slice_ns = NS_PER_MS },
	{ .update_mode = MINIPORT_TABLE_GPU_VIRTUAL, .slice_ns = NS_PER_MS },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .slice_ns = NS_PER_MS },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
	  .has_system_tables = true,
	  .slice_ns = NS_PER_MS },
};

/* So many leaves, each for one page. */
static void make_tables(struct party *party, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		EXPECT_EQ(map(party, 1024 + i * 512, &memories[i % MEMORIES], 1), STATUS_PENDING);
	flush();
}

static void expect_tables(struct party *party, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		EXPECT(shows(party, 1024 + i * 512, &memories[i % MEMORIES], 0));
}

static uint32_t roots_told(struct party *party)
{
	return atomic_load(&party->roots_told);
}

/* Its tables came back so often more, which they do for its work alone. */
static void wait_for_turns(struct party *party, uint32_t turns)
{
	uint32_t wanted = roots_told(party) + turns;

	for (;;) {
		uint32_t seen = notice_read(&world.manager->changed);

		EXPECT(!party->device.is_lost);
		if (roots_told(party) >= wanted)
			return;
		notice_wait(&world.manager->changed, seen, CLOCK_FOREVER);
	}
}

/* With nobody else at work it keeps what it gets. */
static void expect_all_of(struct party *party, uint64_t count)
{
	queue_work(party);
	wait_until(party, VIDMM_TABLES_IN);
	flush();
	EXPECT(runs(party));
	expect_tables(party, count);
	end_work(party);
}

TEST(table_turns, two_processes_at_work_for_ever_run_by_turns)
{
	for (size_t i = 0; i < ARRAY_SIZE(turn_shapes); i++) {
		start_as(&turn_shapes[i]);
		make_tables(app, 0, 40);
		queue_work(app);
		make_tables(other, 0, 40);
		queue_work(other);
		for (uint32_t turn = 0; turn < TURNS; turn++)
			wait_for_turns(&parties[turn % 2], 1);
		end_work(app);
		end_work(other);
		check();
		expect_all_of(app, 40);
		expect_all_of(other, 40);
		finish();
	}
}

#define TURNS_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, finish(), suite, claim)

TURNS_TEST(table_turns, three_processes_have_one_turn_each_before_one_has_another,
	   start_as(&turn_shapes[2]))
{
	for (int i = 0; i < PARTIES; i++) {
		make_tables(&parties[i], 0, 40);
		queue_work(&parties[i]);
	}
	for (int i = 0; i < PARTIES; i++)
		wait_for_turns(&parties[i], 1);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint32_t before[PARTIES];

		for (int i = 0; i < PARTIES; i++)
			before[i] = roots_told(&parties[i]);
		wait_for_turns(&parties[turn % PARTIES], 2);
		/* Between two turns of the one there was one of each. */
		for (int i = 0; i < PARTIES; i++)
			EXPECT(roots_told(&parties[i]) > before[i]);
	}
	for (int i = 0; i < PARTIES; i++)
		end_work(&parties[i]);
	for (int i = 0; i < PARTIES; i++)
		expect_all_of(&parties[i], 40);
}

TURNS_TEST(table_turns, a_call_that_needs_tables_has_its_turn_between_two_at_work,
	   start_as(&turn_shapes[2]))
{
	struct party *calls = &parties[2];

	for (int i = 0; i < 2; i++) {
		make_tables(&parties[i], 0, 40);
		queue_work(&parties[i]);
	}
	for (uint64_t i = 0; i < 8; i++)
		make_tables(calls, 5 * i, 5);
	wait_for_turns(app, 1);
	wait_for_turns(other, 1);
	for (int i = 0; i < 2; i++)
		end_work(&parties[i]);
	for (int i = 0; i < PARTIES; i++)
		expect_all_of(&parties[i], 40);
}

/* What the one lists, and the tables of the other. */
TURNS_TEST(table_turns, memory_and_tables_take_turns_like_tables_and_tables,
	   start_as(&turn_shapes[2]))
{
	struct party *has_tables = app;
	struct party *has_memory = other;
	struct thing thing;

	make_tables(has_tables, 0, 40);
	queue_work(has_tables);
	thing_add(&thing, has_memory, 40);
	queue_work(has_memory);
	wait_for_turns(has_tables, TURNS);
	EXPECT(!has_memory->device.is_lost);
	end_work(has_memory);
	wait_until(has_tables, VIDMM_TABLES_IN);
	flush();
	expect_tables(has_tables, 40);
	end_work(has_tables);
	thing_finish(&thing);
}

TURNS_TEST(table_turns, those_who_do_nothing_go_before_those_at_work, start_as(&turn_shapes[2]))
{
	struct party *busy = app;
	struct party *idle = other;

	make_tables(busy, 0, 20);
	make_tables(idle, 0, 20);
	queue_work(busy);
	make_tables(&parties[2], 0, 20);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	EXPECT_EQ(state_of(busy), VIDMM_TABLES_IN);
	EXPECT_EQ(roots_told(busy), 0);
	EXPECT(runs(busy));
	end_work(busy);
}

/* The way out waits for what the hardware has; it is nobody's end. */
TURNS_TEST(table_turns, work_that_the_hardware_has_is_waited_for, start_as(&turn_shapes[2]))
{
	struct party *busy = app;
	struct party *waits = other;

	make_tables(waits, 0, 40);
	make_tables(busy, 0, 40); /* the other one's leave */
	queue_work(busy);
	fake_owner_submit(&busy->owner);
	queue_work(busy);
	queue_work(waits);
	wait_until(busy, VIDMM_TABLES_LEAVING);
	EXPECT(!runs(busy));
	EXPECT_EQ(state_of(waits), VIDMM_TABLES_OUT);
	expect_tables(busy, 40);
	fake_owner_retire(&busy->owner);
	wait_for_turns(waits, 1);
	wait_for_turns(busy, 1);
	end_work(busy);
	end_work(waits);
}

TEST_MAIN("vidmm/table_turns")
