/* SPDX-License-Identifier: MIT */
/*
 * preempt_test.c - stopping for something more important, and the ids of what comes again.
 */
#include "world.h"

WORLD_TEST(preempt, something_more_important_stops_what_runs)
{
	struct sched_queue *low = world_queue(0, 1);
	struct sched_queue *high = world_queue_at(1, 1, 1);
	works(low, "ab");
	EXPECT_STR(happened(), "1:a1 1:b2");
	work(high, 'c');
	EXPECT_STR(happened(), "P1:1"); /* and nothing is submitted before the answer */
	work(low, 'd');
	EXPECT_STR(happened(), "");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:c3 1:a4+ 1:b5+ 1:d6");
}

WORLD_TEST(preempt, equals_and_less_important_ones_do_not_stop_it)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct sched_queue *equal = world_queue(1, 1);
	struct sched_queue *low = world_queue_at(2, 1, -1);
	work(queue, 'a');
	work(equal, 'b');
	work(low, 'c');
	EXPECT_STR(happened(), "1:a1 1:b2 1:c3");
}

WORLD_TEST(preempt, paging_stops_what_runs_on_its_node_only)
{
	struct sched_queue *queue = world_queue(0, 0);
	struct sched_queue *other = world_queue(0, 1);
	work(queue, 'a');
	work(other, 'b');
	paging('p');
	EXPECT_STR(happened(), "0:a1 1:b1 P0:1");
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STR(happened(), "0:p2 0:a3+");
}

WORLD_TEST(preempt, the_answer_says_what_was_complete)
{
	struct sched_queue *queue = world_queue(0, 0);
	works(queue, "abc");
	paging('p');
	happened();
	fake_gpu_preempted(&world.gpu, 0, 2);
	EXPECT_STREAMS("0:p4 0:c5+", "a. b.", "");
}

WORLD_TEST(preempt, paging_comes_again_first_and_with_its_own_ids)
{
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	fake_gpu_complete(&world.gpu, 0, 1);
	paging('p');
	work(queue, 'b');
	paging('q');
	work(queue, 'c');
	EXPECT_STR(happened(), "0:a1 a. 0:p2 0:b3 0:q4 0:c5");
	/* They run long, and let themselves be preempted. */
	pass_time(2 * NS_PER_S + NS_PER_MS);
	EXPECT_STR(happened(), "P0:1");
	paging('r');
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STR(happened(), "0:p2+ 0:q4+ 0:r6 0:b7+ 0:c8+");
	fake_gpu_complete(&world.gpu, 0, 5);
	EXPECT_STR(happened(), "p. q. r. b. c.");
}

WORLD_TEST(preempt, the_answer_may_come_from_inside_the_request)
{
	struct sched_queue *queue = world_queue(0, 0);
	world.gpu.nodes[0].answers_at_once = true;
	work(queue, 'a');
	paging('p');
	EXPECT_STR(happened(), "0:a1 P0:1 0:p2 0:a3+");
}

WORLD_TEST(preempt, an_answer_when_everything_is_complete_gives_nothing_back)
{
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	paging('p');
	happened();
	fake_gpu_complete(&world.gpu, 0, 1);
	EXPECT_STR(happened(), "a."); /* it still has to answer */
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STR(happened(), "0:p2");
}

WORLD_TEST(preempt, a_driver_that_never_answers_an_idle_node_does_not_stop_it_for_ever)
{
	struct sched_queue *queue = world_queue(0, 0);
	world.gpu.nodes[0].is_stuck = true;
	work(queue, 'a');
	paging('p');
	fake_gpu_complete(&world.gpu, 0, 1);
	EXPECT_STR(happened(), "0:a1 P0:1 a.");
	pass_time(2 * NS_PER_S + NS_PER_MS);
	EXPECT_STR(happened(), "0:p2");
	world.gpu.nodes[0].preemption = 1;
	fake_gpu_preempted(&world.gpu, 0, 0); /* late, and it stopped p: the answer counts */
	EXPECT_STR(happened(), "0:p2+");
}

static void answer_late(struct fake_packet *packet)
{
	packet->on_prepared = NULL;
	world.gpu.nodes[0].preemption = 1;
	fake_gpu_preempted(&world.gpu, 0, 0);
}

/* It stopped a, and b, which is behind a, is in hand just then. */
WORLD_TEST(preempt, a_late_answer_does_not_let_what_is_prepared_overtake_what_was_given_back)
{
	struct sched_queue *queue = world_queue(0, 0);
	struct fake_packet *second = world_packet('b', SCHED_WORK);
	world.gpu.nodes[0].is_stuck = true;
	work(queue, 'x');
	paging('p');
	fake_gpu_complete(&world.gpu, 0, 1);
	happened();
	pass_time(2 * NS_PER_S + NS_PER_MS);
	fake_gpu_complete(&world.gpu, 0, 1);
	work(queue, 'a');
	happened();
	second->on_prepared = answer_late;
	QUEUE(queue, second);
	EXPECT_STR(happened(), "0:a4+ 0:b5");
	fake_gpu_complete(&world.gpu, 0, 2);
	EXPECT_STR(happened(), "a. b.");
}

WORLD_TEST(preempt, an_answer_nobody_asked_for_changes_nothing)
{
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	sched_on_preempted(world.sched, 0, 1, 1);
	EXPECT_STR(happened(), "0:a1");
}

TEST(preempt, without_preemption_nobody_is_asked)
{
	struct sched_config config = fake_gpu_config();

	config.is_preemption_aware = false;
	world_start_with(&config);
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	paging('p');
	EXPECT_STR(happened(), "0:a1 0:p2");
	world_finish();
}

WORLD_TEST(preempt, waits_and_signals_between_are_not_done_twice)
{
	struct sched_queue *queue = world_queue(0, 0);
	struct fake_packet *wait = world_packet('w', SCHED_WAIT);
	struct fake_packet *early = world_packet('e', SCHED_SIGNAL);
	wait->is_reached = true;
	early->packet.signals_early = true;
	work(queue, 'a');
	QUEUE(queue, wait);
	QUEUE(queue, early);
	work(queue, 'b');
	signal_packet(queue, 's');
	paging('p');
	EXPECT_STR(happened(), "0:a1 e^ 0:b2 P0:1");
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STR(happened(), "0:p3 0:a4+ 0:b5+");
	EXPECT_EQ(wait->tried, 1);
	fake_gpu_complete(&world.gpu, 0, 3);
	EXPECT_STR(happened(), "p. a. w. e. b. s^ s.");
}

WORLD_TEST(preempt, what_comes_again_is_prepared_again)
{
	struct sched_queue *queue = world_queue(0, 0);
	struct fake_packet *packet = work(queue, 'a');
	paging('p');
	packet->prepare_status = STATUS_PENDING;
	happened();
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STR(happened(), "0:p2");
	EXPECT_EQ(packet->prepared, 2);
	packet->prepare_status = STATUS_SUCCESS;
	sched_queue_kick(queue);
	EXPECT_STR(happened(), "0:a3+");
}

TEST(preempt, ids_are_right_around_the_end_of_32_bits)
{
	struct sched_config config = fake_gpu_config();

	config.first_fence = UINT32_MAX - 2;
	world_start_with(&config);
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	fake_gpu_complete(&world.gpu, 0, 1);
	paging('p');
	work(queue, 'b');
	paging('q');
	pass_time(2 * NS_PER_S + NS_PER_MS);
	EXPECT_STR(happened(), "0:a4294967293 a. 0:p4294967294 0:b4294967295 0:q1 P0:1");
	fake_gpu_preempted(&world.gpu, 0, 1);
	EXPECT_STREAMS("0:q1+ 0:b2+", "p.", "");
	fake_gpu_complete(&world.gpu, 0, 2);
	EXPECT_STR(happened(), "q. b.");
	world_finish();
}

WORLD_TEST(preempt, a_suspended_owner_keeps_what_was_preempted)
{
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	paging('p');
	happened();
	sched_owner_suspend(&world.owners[0]);
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STR(happened(), "0:p2");
	sched_owner_resume(&world.owners[0]);
	EXPECT_STR(happened(), "0:a3+");
}

TEST(preempt, a_raised_priority_counts_at_once)
{
	struct sched_config config = fake_gpu_config();

	config.outstanding_max = 1;
	world_start_with(&config);
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(1, 1);
	work(one, 'a');
	work(two, 'b');
	EXPECT_STR(happened(), "1:a1");
	sched_queue_set_priority(two, 3);
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:b2");
	world_finish();
}

TEST(preempt, a_lowered_priority_counts_at_once_too)
{
	struct sched_config config = fake_gpu_config();

	config.outstanding_max = 1;
	world_start_with(&config);
	struct sched_queue *one = world_queue(0, 1);
	work(one, 'a');
	work(world_queue(1, 1), 'b');
	EXPECT_STR(happened(), "1:a1");
	sched_queue_set_priority(one, -3);
	EXPECT_STR(happened(), "P1:1");
	world_finish();
}

WORLD_MAIN("sched/preempt")
