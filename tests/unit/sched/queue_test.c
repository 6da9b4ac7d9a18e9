/* SPDX-License-Identifier: MIT */
/*
 * queue_test.c - packets of one context: in order, whatever they are.
 */
#include "world.h"

WORLD_TEST(queue, packets_are_submitted_and_retired_in_order)
{
	struct sched_queue *queue = world_queue(0, 1);
	EXPECT_AFTER(works(queue, "abc"), "1:a1 1:b2 1:c3");
	EXPECT_EQ(sched_queue_length(queue), 3);
	EXPECT_AFTER(complete(1, 1), "a.");
	EXPECT_AFTER(complete(1, 2), "b. c.");
	EXPECT_EQ(sched_queue_length(queue), 0);
	EXPECT_EQ(world.gpu.completions, 3);
}

WORLD_TEST(queue, the_thread_that_queues_submits)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	QUEUE(queue, packet);
	EXPECT_EQ(packet->submitted, 1); /* nobody else ran */
}

WORLD_TEST(queue, what_is_added_waits_for_whoever_runs_the_queue)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *first = world_packet('a', SCHED_WORK);
	struct fake_packet *second = world_packet('b', SCHED_WORK);
	sched_settle(world.sched); /* its thread looks round once, when it begins */
	EXPECT_EQ(sched_queue_await_slot(queue), STATUS_SUCCESS);
	EXPECT_EQ(sched_queue_add(queue, &first->packet), STATUS_SUCCESS);
	EXPECT_EQ(sched_queue_add(queue, &second->packet), STATUS_SUCCESS);
	EXPECT_EQ(first->submitted, 0);
	EXPECT_EQ(sched_queue_length(queue), 2);
	sched_queue_run(queue);
	EXPECT_EQ(second->submitted, 1); /* by this thread */
	EXPECT_STR(happened(), "1:a1 1:b2");
	EXPECT_AFTER(complete(1, 2), "a. b.");
}

WORLD_TEST(queue, what_is_behind_a_wait_waits_and_what_is_in_front_does_not)
{
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	struct fake_packet *wait = wait_packet(queue, 'w');
	EXPECT_AFTER(work(queue, 'b'), "1:a1");
	EXPECT_EQ(wait->tried, 1);
	EXPECT_AFTER(complete(1, 1), "a.");
	EXPECT_EQ(wait->tried, 1); /* it is not asked for nothing */
	EXPECT_AFTER(sched_queue_kick(queue), "");
	EXPECT_EQ(wait->tried, 2);
	wait->is_reached = true;
	EXPECT_AFTER(sched_queue_kick(queue), "w. 1:b2");
}

WORLD_TEST(queue, a_wait_that_is_over_lets_work_follow_work_at_once)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *wait = world_packet('w', SCHED_WAIT);
	wait->is_reached = true;
	work(queue, 'a');
	QUEUE(queue, wait);
	EXPECT_AFTER(work(queue, 'b'), "1:a1 1:b2"); /* w is over, and retired behind a */
	EXPECT_AFTER(complete(1, 1), "a. w.");
}

WORLD_TEST(queue, a_signal_acts_when_everything_in_front_of_it_is_retired)
{
	struct sched_queue *queue = world_queue(0, 1);
	works(queue, "ab");
	signal_packet(queue, 's');
	work(queue, 'c'); /* does not wait for the signal */
	EXPECT_STR(happened(), "1:a1 1:b2 1:c3");
	EXPECT_AFTER(complete(1, 1), "a.");
	EXPECT_AFTER(complete(1, 2), "b. s^ s. c.");
	EXPECT_AFTER(signal_packet(queue, 't'), "t^ t.");
}

WORLD_TEST(queue, a_signal_at_submission_acts_when_what_is_in_front_was_submitted)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *signal = world_packet('s', SCHED_SIGNAL);
	signal->packet.signals_early = true;
	work(queue, 'a');
	struct fake_packet *wait = wait_packet(queue, 'w');
	QUEUE(queue, signal);
	EXPECT_STR(happened(), "1:a1");
	wait->is_reached = true;
	EXPECT_AFTER(sched_queue_kick(queue), "s^"); /* a still runs */
	EXPECT_AFTER(complete(1, 1), "a. w. s.");
}

static void reach_now(struct fake_packet *packet)
{
	if (atomic_exchange(&packet->is_reached, true))
		return;
	sched_queue_kick(packet->packet.queue);
}

WORLD_TEST(queue, a_kick_while_the_wait_is_being_tried_is_not_lost)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *wait = world_packet('w', SCHED_WAIT);
	wait->on_tried = reach_now;
	QUEUE(queue, wait);
	EXPECT_AFTER(work(queue, 'a'), "w. 1:a1");
	EXPECT_EQ(wait->tried, 2);
}

static struct sched_queue *kicked;

static void kick_other(struct fake_packet *packet)
{
	(void)packet;
	world.packets[0].is_reached = true;
	sched_queue_kick(kicked);
}

WORLD_TEST(queue, what_one_queue_retires_may_end_the_wait_of_another)
{
	struct sched_queue *first = world_queue(0, 1);
	kicked = world_queue(1, 2);
	wait_packet(kicked, 'w'); /* packet 0 */
	work(kicked, 'b');
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->on_retired = kick_other;
	QUEUE(first, packet);
	EXPECT_STR(happened(), "1:a1");
	EXPECT_AFTER(complete(1, 1), "a. w. 2:b1");
}

WORLD_TEST(queue, ending_waits_for_what_the_hardware_has_and_cancels_the_rest)
{
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	wait_packet(queue, 'w');
	work(queue, 'b');
	signal_packet(queue, 's');
	sched_queue_suspend(queue);
	EXPECT_AFTER(sched_queue_resume(queue), "1:a1");

	/* The hardware never answers by itself: lateness ends it. */
	world_finish_queue(queue, true);
	EXPECT_STR(happened(), "P1:1 Q1 D141@1 E1 a! w- b- s- W3");
}

WORLD_TEST(queue, a_queue_that_ends_accepts_nothing_and_one_of_a_lost_owner_neither)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	queue->is_ending = true;
	EXPECT_EQ(sched_queue_submit(queue, &packet->packet, false), STATUS_INVALID_PARAMETER);
	queue->is_ending = false;
	EXPECT(sched_owner_lose(&world.owners[0]));
	EXPECT_EQ(sched_queue_submit(queue, &packet->packet, true), STATUS_DEVICE_REMOVED);
	EXPECT_STR(happened(), "");
	packet->packet.queue = NULL;
}

static void complete_one_later(void *context)
{
	struct sched_queue *queue = context;

	pass_time(NS_PER_MS);
	if (sched_queue_length(queue) != SCHED_QUEUE_FULL)
		abort(); /* it did not wait */
	complete(1, 1);
}

WORLD_TEST(queue, who_may_block_waits_while_the_queue_is_full)
{
	struct thread *thread;

	struct sched_queue *queue = world_queue(0, 1);
	for (int i = 0; i < SCHED_QUEUE_FULL; i++)
		work(queue, 'a');
	struct fake_packet *packet = world_packet('z', SCHED_WORK);
	EXPECT(NT_SUCCESS(thread_create("completer", complete_one_later, queue, &thread)));
	EXPECT_EQ(sched_queue_submit(queue, &packet->packet, true), STATUS_SUCCESS);
	thread_join(thread);
	EXPECT(world.packets[0].is_retired);
	EXPECT_EQ(sched_queue_length(queue), SCHED_QUEUE_FULL);
	work(queue, 'y'); /* who may not block does not */
	EXPECT_EQ(sched_queue_length(queue), SCHED_QUEUE_FULL + 1);
}

WORLD_TEST(queue, a_suspended_queue_submits_nothing_new)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct sched_queue *other = world_queue(0, 1);
	work(queue, 'a');
	sched_queue_suspend(queue);
	sched_queue_suspend(queue);
	work(queue, 'b');
	EXPECT_AFTER(work(other, 'c'), "1:a1 1:c2");
	EXPECT_AFTER(sched_queue_resume(queue), "");
	EXPECT_AFTER(sched_queue_resume(queue), "1:b3");
}

WORLD_TEST(queue, the_context_that_was_submitted_last_is_loaded)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct sched_queue *other = world_queue(1, 1);
	EXPECT(!sched_queue_is_loaded(queue));
	work(queue, 'a');
	complete(1, 1);
	EXPECT(sched_queue_is_loaded(queue)); /* also when it is done */
	work(other, 'b');
	EXPECT(!sched_queue_is_loaded(queue));
	EXPECT(sched_queue_is_loaded(other));
}

WORLD_MAIN("sched/queue")
