/* SPDX-License-Identifier: MIT */
/*
 * preempt_test.c - stopping for something more important, and the ids of what comes again.
 */
#include "world.h"

WORLD_TEST(preempt, something_more_important_stops_what_runs)
{
	struct sched_queue *high = world_queue_at(1, 1, 1);
	EXPECT_AFTER(bring("W1:ab"), "1:a1 1:b2");
	EXPECT_AFTER(work(high, 'c'), "P1:1"); /* and nothing is submitted before the answer */
	EXPECT_AFTER(bring("W1:d"), "");
	EXPECT_AFTER(preempted(1, 0), "1:c3 1:a4+ 1:b5+ 1:d6");
}

WORLD_TEST(preempt, equals_and_less_important_ones_do_not_stop_it)
{
	struct sched_queue *low = world_queue_at(2, 1, -1);
	bring("W1:a X1:b");
	EXPECT_AFTER(work(low, 'c'), "1:a1 1:b2 1:c3");
}

WORLD_TEST(preempt, paging_stops_what_runs_on_its_node_only)
{
	bring("W0:a W1:b");
	EXPECT_AFTER(paging('p'), "0:a1 1:b1 P0:1");
	EXPECT_AFTER(preempted(0, 0), "0:p2 0:a3+");
}

WORLD_TEST(preempt, the_answer_says_what_was_complete)
{
	bring("W0:abc");
	paging('p');
	happened();
	EXPECT_STREAMS_AFTER(preempted(0, 2), "0:p4 0:c5+", "a. b.", "");
}

WORLD_TEST(preempt, paging_comes_again_first_and_with_its_own_ids)
{
	bring("W0:a");
	complete(0, 1);
	paging('p');
	bring("W0:b");
	paging('q');
	EXPECT_AFTER(bring("W0:c"), "0:a1 a. 0:p2 0:b3 0:q4 0:c5");
	/* They run long, and let themselves be preempted. */
	EXPECT_AFTER(pass_time(2 * NS_PER_S + NS_PER_MS), "P0:1");
	paging('r');
	EXPECT_AFTER(preempted(0, 0), "0:p2+ 0:q4+ 0:r6 0:b7+ 0:c8+");
	EXPECT_AFTER(complete(0, 5), "p. q. r. b. c.");
}

WORLD_TEST(preempt, the_answer_may_come_from_inside_the_request)
{
	world.gpu.nodes[0].answers_at_once = true;
	bring("W0:a");
	EXPECT_AFTER(paging('p'), "0:a1 P0:1 0:p2 0:a3+");
}

WORLD_TEST(preempt, an_answer_when_everything_is_complete_gives_nothing_back)
{
	bring("W0:a");
	paging('p');
	happened();
	EXPECT_AFTER(complete(0, 1), "a."); /* it still has to answer */
	EXPECT_AFTER(preempted(0, 0), "0:p2");
}

WORLD_TEST(preempt, a_driver_that_never_answers_an_idle_node_does_not_stop_it_for_ever)
{
	world.gpu.nodes[0].is_stuck = true;
	bring("W0:a");
	paging('p');
	EXPECT_AFTER(complete(0, 1), "0:a1 P0:1 a.");
	EXPECT_AFTER(pass_time(2 * NS_PER_S + NS_PER_MS), "0:p2");
	world.gpu.nodes[0].preemption = 1;
	preempted(0, 0); /* late, and it stopped p: the answer counts */
	EXPECT_STR(happened(), "0:p2+");
}

static void answer_late(struct fake_packet *packet)
{
	packet->on_prepared = NULL;
	world.gpu.nodes[0].preemption = 1;
	preempted(0, 0);
}

/* It stopped a, and b, which is behind a, is in hand just then. */
WORLD_TEST(preempt, a_late_answer_does_not_let_what_is_prepared_overtake_what_was_given_back)
{
	struct sched_queue *queue = world_queue(0, 0);
	struct fake_packet *second = world_packet('b', SCHED_WORK);
	world.gpu.nodes[0].is_stuck = true;
	work(queue, 'x');
	paging('p');
	complete(0, 1);
	happened();
	pass_time(2 * NS_PER_S + NS_PER_MS);
	complete(0, 1);
	work(queue, 'a');
	happened();
	second->on_prepared = answer_late;
	QUEUE(queue, second);
	EXPECT_STR(happened(), "0:a4+ 0:b5");
	EXPECT_AFTER(complete(0, 2), "a. b.");
}

WORLD_TEST(preempt, an_answer_nobody_asked_for_changes_nothing)
{
	bring("W0:a");
	EXPECT_AFTER(sched_on_preempted(world.sched, 0, 1, 1), "0:a1");
}

WORLD_TEST_WITH(preempt, without_preemption_nobody_is_asked, config.is_preemption_aware = false)
{
	bring("W0:a");
	EXPECT_AFTER(paging('p'), "0:a1 0:p2");
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
	EXPECT_AFTER(paging('p'), "0:a1 e^ 0:b2 P0:1");
	EXPECT_AFTER(preempted(0, 0), "0:p3 0:a4+ 0:b5+");
	EXPECT_EQ(wait->tried, 1);
	EXPECT_AFTER(complete(0, 3), "p. a. w. e. b. s^ s.");
}

WORLD_TEST(preempt, what_comes_again_is_prepared_again)
{
	struct sched_queue *queue = world_queue(0, 0);
	struct fake_packet *packet = work(queue, 'a');
	paging('p');
	packet->prepare_status = STATUS_PENDING;
	happened();
	EXPECT_AFTER(preempted(0, 0), "0:p2");
	EXPECT_EQ(packet->prepared, 2);
	packet->prepare_status = STATUS_SUCCESS;
	EXPECT_AFTER(sched_queue_kick(queue), "0:a3+");
}

WORLD_TEST_WITH(preempt, ids_are_right_around_the_end_of_32_bits,
		config.first_fence = UINT32_MAX - 2)
{
	bring("W0:a");
	complete(0, 1);
	paging('p');
	bring("W0:b");
	paging('q');
	EXPECT_AFTER(pass_time(2 * NS_PER_S + NS_PER_MS),
		     "0:a4294967293 a. 0:p4294967294 0:b4294967295 0:q1 P0:1");
	EXPECT_STREAMS_AFTER(preempted(0, 1), "0:q1+ 0:b2+", "p.", "");
	EXPECT_AFTER(complete(0, 2), "q. b.");
}

WORLD_TEST(preempt, a_suspended_owner_keeps_what_was_preempted)
{
	bring("W0:a");
	paging('p');
	happened();
	sched_owner_suspend(&world.owners[0]);
	EXPECT_AFTER(preempted(0, 0), "0:p2");
	EXPECT_AFTER(sched_owner_resume(&world.owners[0]), "0:a3+");
}

WORLD_TEST_WITH(preempt, a_raised_priority_counts_at_once, config.outstanding_max = 1)
{
	struct sched_queue *two = world_queue(1, 1);
	bring("W1:a");
	EXPECT_AFTER(work(two, 'b'), "1:a1");
	EXPECT_AFTER(sched_queue_set_priority(two, 3), "P1:1");
	EXPECT_AFTER(preempted(1, 0), "1:b2");
}

WORLD_TEST_WITH(preempt, a_lowered_priority_counts_at_once_too, config.outstanding_max = 1)
{
	struct sched_queue *one = world_queue(0, 1);
	work(one, 'a');
	EXPECT_AFTER(bring("X1:b"), "1:a1");
	EXPECT_AFTER(sched_queue_set_priority(one, -3), "P1:1");
}

WORLD_MAIN("sched/preempt")
