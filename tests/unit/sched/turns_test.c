/* SPDX-License-Identifier: MIT */
/*
 * turns_test.c - work that lets itself be preempted and does not end: equals take turns with it.
 */
#include "world.h"

WORLD_TEST(turns, what_ran_comes_behind_its_equals_when_it_was_preempted)
{
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *other = world_queue(1, 1);
	work(one, 'a');
	work(other, 'b');
	happened();
	pass_time(2 * NS_PER_S + NS_PER_MS);
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:b3+ 1:a4+");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "b.");
}

/* ---- the quantum ---- */

enum { QUANTUM_MS = 20 };

static struct sched_config config_with_quantum(void)
{
	struct sched_config config = fake_gpu_config();

	config.quantum_ns = QUANTUM_MS * NS_PER_MS;
	return config;
}

static void world_start_with_quantum(void)
{
	struct sched_config config = config_with_quantum();

	world_start_with(&config);
}

static void pass_quantum(void)
{
	pass_time((QUANTUM_MS + 1) * NS_PER_MS);
}

static struct fake_packet *never_late(struct sched_queue *queue, char name)
{
	struct fake_packet *packet = world_packet(name, SCHED_WORK);

	packet->packet.is_never_late = true;
	QUEUE(queue, packet);
	return packet;
}

TEST(quantum, lets_an_equal_have_its_turn_again_and_again)
{
	world_start_with_quantum();
	struct sched_queue *endless = world_queue(0, 1);
	struct sched_queue *other = world_queue(1, 1);
	work(endless, 'a');
	happened();
	for (uint32_t round = 0; round < 3; round++) {
		char expected[32];

		pass_time(NS_PER_S);
		EXPECT_STR(happened(), ""); /* alone it runs on */
		work(other, 'b');
		snprintf(expected, sizeof(expected), "1:b%u P1:%u", 2 + 3 * round, round + 1);
		pass_quantum();
		EXPECT_STR(happened(), expected);
		fake_gpu_preempted(&world.gpu, 1, 0);
		snprintf(expected, sizeof(expected), "1:b%u+ 1:a%u+", 3 + 3 * round, 4 + 3 * round);
		EXPECT_STR(happened(), expected);
		fake_gpu_complete(&world.gpu, 1, 1);
		EXPECT_STR(happened(), "b.");
	}
	world_finish();
}

TEST(quantum, begins_when_the_packet_does)
{
	world_start_with_quantum();
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *other = world_queue(1, 1);
	works(one, "ab");
	work(other, 'c');
	happened();
	pass_time(15 * NS_PER_MS);
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a.");
	pass_time(15 * NS_PER_MS);
	EXPECT_STR(happened(), "");
	pass_time(6 * NS_PER_MS);
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:c4+ 1:b5+");
	world_finish();
}

TEST(quantum, of_two_that_never_end_gives_each_its_turn)
{
	world_start_with_quantum();
	never_late(world_queue(0, 1), 'a');
	work(world_queue(1, 1), 'b');
	EXPECT_STR(happened(), "1:a1 1:b2");
	world.gpu.nodes[1].answers_at_once = true;
	pass_quantum();
	EXPECT_STR(happened(), "P1:1 1:b3+ 1:a4+");
	pass_quantum();
	EXPECT_STR(happened(), "P1:2 1:a5+ 1:b6+");
	world.gpu.nodes[1].answers_at_once = false;
	world_finish();
}

TEST(quantum, ends_for_who_finds_no_room_with_the_hardware)
{
	struct sched_config config = config_with_quantum();

	config.outstanding_max = 2;
	world_start_with(&config);
	struct sched_queue *endless = world_queue(0, 1);
	struct sched_queue *other = world_queue(1, 1);
	works(endless, "abc");
	work(other, 'd');
	EXPECT_STR(happened(), "1:a1 1:b2");
	pass_quantum();
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:d3 1:a4+");
	world_finish();
}

TEST(quantum, does_not_end_for_who_is_less_important)
{
	world_start_with_quantum();
	struct sched_queue *low = world_queue_at(1, 1, -1);
	work(world_queue(0, 1), 'a');
	work(low, 'b');
	happened();
	pass_time(NS_PER_S);
	EXPECT_STR(happened(), "");
	sched_queue_set_priority(low, 0);
	pass_quantum();
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:b3+ 1:a4+");
	world_finish();
}

TEST(quantum, ends_for_who_needs_the_engine_without_it)
{
	world_start_with_quantum();
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	happened();
	sched_owner_suspend(&world.owners[0]);
	EXPECT_STR(happened(), "");
	pass_quantum();
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "");
	sched_owner_resume(&world.owners[0]);
	EXPECT_STR(happened(), "1:a2+");
	world_finish();
}

TEST(quantum, is_no_clock_of_the_recovery)
{
	struct sched_config config = config_with_quantum();

	config.tdr_level = 0;
	world_start_with(&config);
	work(world_queue(0, 1), 'a');
	work(world_queue(1, 1), 'b');
	happened();
	pass_quantum();
	EXPECT_STR(happened(), "P1:1");
	pass_time(100 * NS_PER_S);
	EXPECT_STR(happened(), "");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:b3+ 1:a4+");
	world_finish();
}

TEST(quantum, leaves_the_driver_the_time_it_has_to_answer)
{
	world_start_with_quantum();
	work(world_queue(0, 1), 'a');
	work(world_queue(1, 1), 'b');
	happened();
	pass_quantum();
	EXPECT_STR(happened(), "P1:1");
	pass_time(2 * NS_PER_S - 2 * NS_PER_MS);
	EXPECT_STR(happened(), "");
	pass_time(3 * NS_PER_MS);
	EXPECT_STREAMS("1:b3+", "a!", "Q1 D141@1 E1 W3");
	world_finish();
}

TEST(quantum, is_nothing_without_preemption)
{
	struct sched_config config = config_with_quantum();

	config.is_preemption_aware = false;
	world_start_with(&config);
	work(world_queue(0, 1), 'a');
	work(world_queue(1, 1), 'b');
	happened();
	pass_time(NS_PER_S);
	EXPECT_STR(happened(), "");
	pass_time(NS_PER_S + NS_PER_MS); /* and what does not end is late */
	EXPECT_STREAMS("1:b3+", "a!", "Q1 D141@1 E1 W3");
	world_finish();
}

WORLD_MAIN("sched/turns")
