/* SPDX-License-Identifier: MIT */
/*
 * turns_test.c - work that lets itself be preempted and does not end: equals take turns with it.
 */
#include "world.h"

WORLD_TEST(turns, what_ran_comes_behind_its_equals_when_it_was_preempted)
{
	bring("W1:a X1:b");
	happened();
	EXPECT_AFTER(pass_time(2 * NS_PER_S + NS_PER_MS), "P1:1");
	EXPECT_AFTER(preempted(1, 0), "1:b3+ 1:a4+");
	EXPECT_AFTER(complete(1, 1), "b.");
}

/* ---- the quantum ---- */

#define QUANTUM_NS                 (20 * NS_PER_MS)
#define QUANTUM_TEST(suite, claim) WORLD_TEST_WITH(suite, claim, config.quantum_ns = QUANTUM_NS)

static void pass_quantum(void)
{
	pass_time(QUANTUM_NS + NS_PER_MS);
}

QUANTUM_TEST(quantum, lets_an_equal_have_its_turn_again_and_again)
{
	bring("W1:a");
	happened();
	for (uint32_t round = 0; round < 3; round++) {
		char expected[32];

		EXPECT_AFTER(pass_time(NS_PER_S), ""); /* alone it runs on */
		bring("X1:b");
		snprintf(expected, sizeof(expected), "1:b%u P1:%u", 2 + 3 * round, round + 1);
		EXPECT_AFTER(pass_quantum(), expected);
		preempted(1, 0);
		snprintf(expected, sizeof(expected), "1:b%u+ 1:a%u+", 3 + 3 * round, 4 + 3 * round);
		EXPECT_STR(happened(), expected);
		EXPECT_AFTER(complete(1, 1), "b.");
	}
}

QUANTUM_TEST(quantum, begins_when_the_packet_does)
{
	bring("W1:ab X1:c");
	happened();
	pass_time(15 * NS_PER_MS);
	EXPECT_AFTER(complete(1, 1), "a.");
	EXPECT_AFTER(pass_time(15 * NS_PER_MS), "");
	EXPECT_AFTER(pass_time(6 * NS_PER_MS), "P1:1");
	EXPECT_AFTER(preempted(1, 0), "1:c4+ 1:b5+");
}

QUANTUM_TEST(quantum, of_two_that_never_end_gives_each_its_turn)
{
	endless(world_queue(0, 1), 'a');
	EXPECT_AFTER(bring("X1:b"), "1:a1 1:b2");
	world.gpu.nodes[1].answers_at_once = true;
	EXPECT_AFTER(pass_quantum(), "P1:1 1:b3+ 1:a4+");
	EXPECT_AFTER(pass_quantum(), "P1:2 1:a5+ 1:b6+");
	world.gpu.nodes[1].answers_at_once = false;
}

WORLD_TEST_WITH(quantum, ends_for_who_finds_no_room_with_the_hardware,
		config.quantum_ns = QUANTUM_NS, config.outstanding_max = 2)
{
	EXPECT_AFTER(bring("W1:abc X1:d"), "1:a1 1:b2");
	EXPECT_AFTER(pass_quantum(), "P1:1");
	EXPECT_AFTER(preempted(1, 0), "1:d3 1:a4+");
}

QUANTUM_TEST(quantum, does_not_end_for_who_is_less_important)
{
	struct sched_queue *low = world_queue_at(1, 1, -1);
	bring("W1:a");
	work(low, 'b');
	happened();
	EXPECT_AFTER(pass_time(NS_PER_S), "");
	sched_queue_set_priority(low, 0);
	EXPECT_AFTER(pass_quantum(), "P1:1");
	EXPECT_AFTER(preempted(1, 0), "1:b3+ 1:a4+");
}

QUANTUM_TEST(quantum, ends_for_who_needs_the_engine_without_it)
{
	bring("W1:a");
	happened();
	EXPECT_AFTER(sched_owner_suspend(&world.owners[0]), "");
	EXPECT_AFTER(pass_quantum(), "P1:1");
	EXPECT_AFTER(preempted(1, 0), "");
	EXPECT_AFTER(sched_owner_resume(&world.owners[0]), "1:a2+");
}

WORLD_TEST_WITH(quantum, is_no_clock_of_the_recovery, config.quantum_ns = QUANTUM_NS,
		config.tdr_level = 0)
{
	bring("W1:a X1:b");
	happened();
	EXPECT_AFTER(pass_quantum(), "P1:1");
	EXPECT_AFTER(pass_time(100 * NS_PER_S), "");
	EXPECT_AFTER(preempted(1, 0), "1:b3+ 1:a4+");
}

QUANTUM_TEST(quantum, leaves_the_driver_the_time_it_has_to_answer)
{
	bring("W1:a X1:b");
	happened();
	EXPECT_AFTER(pass_quantum(), "P1:1");
	EXPECT_AFTER(pass_time(2 * NS_PER_S - 2 * NS_PER_MS), "");
	EXPECT_STREAMS_AFTER(pass_time(3 * NS_PER_MS), "1:b3+", "a!", "Q1 D141@1 E1 W3");
}

WORLD_TEST_WITH(quantum, is_nothing_without_preemption, config.quantum_ns = QUANTUM_NS,
		config.is_preemption_aware = false)
{
	bring("W1:a X1:b");
	happened();
	EXPECT_AFTER(pass_time(NS_PER_S), "");
	pass_time(NS_PER_S + NS_PER_MS); /* and what does not end is late */
	EXPECT_STREAMS("1:b3+", "a!", "Q1 D141@1 E1 W3");
}

WORLD_MAIN("sched/turns")
