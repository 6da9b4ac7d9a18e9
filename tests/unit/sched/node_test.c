/* SPDX-License-Identifier: MIT */
/*
 * node_test.c - submission and completion on engines.
 */
#include "sched/internal.h"
#include "world.h"

WORLD_TEST(node, nodes_run_in_parallel_and_number_their_fences_apart)
{
	EXPECT_AFTER(bring("W1:a W2:b W1:c"), "1:a1 2:b1 1:c2");
	EXPECT_AFTER(complete(2, 1), "b.");
	EXPECT_AFTER(complete(1, 2), "a. c.");
}

WORLD_TEST(node, a_completion_completes_everything_with_a_smaller_id_on_its_node)
{
	bring("W1:a X1:b X2:x W1:c X1:d");
	happened();
	complete(1, 3);                     /* tells of c only */
	EXPECT_STR(happened(), "a. c. b."); /* in order per queue */
	EXPECT_EQ(fake_gpu_held(&world.gpu, 2), 1);
}

WORLD_TEST(node, stale_and_foreign_ids_change_nothing)
{
	bring("W1:ab");
	complete(1, 1);
	happened();
	sched_on_completed(world.sched, 1, 1); /* once more */
	sched_on_completed(world.sched, 1, 0);
	sched_on_completed(world.sched, 1, 3); /* never given */
	sched_on_completed(world.sched, 1, 0x80000000);
	sched_on_completed(world.sched, 2, 2); /* another node */
	EXPECT_STR(happened(), "");
}

WORLD_TEST_WITH(node, no_more_is_outstanding_than_was_agreed, config.outstanding_max = 3)
{
	struct sched_queue *queue = world_queue(0, 1);
	for (char name = 'a'; name <= 'f'; name++)
		work(queue, name);
	EXPECT_STR(happened(), "1:a1 1:b2 1:c3");
	EXPECT_STREAMS_AFTER(complete(1, 1), "1:d4", "a.", "");
	EXPECT_STREAMS_AFTER(complete(1, 3), "1:e5 1:f6", "b. c. d.", "");
}

WORLD_TEST(node, sixteen_are_outstanding_by_default)
{
	for (int i = 0; i < 20; i++)
		bring("W1:a");
	EXPECT_EQ(fake_gpu_held(&world.gpu, 1), 16);
}

WORLD_TEST_WITH(node, queues_of_the_same_priority_take_turns, config.outstanding_max = 1)
{
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(1, 1);
	for (char name = 'a'; name <= 'c'; name++)
		work(one, name);
	for (char name = 'x'; name <= 'z'; name++)
		work(two, name);
	happened();
	for (int i = 0; i < 5; i++) {
		complete(1, 1);
		sched_settle(world.sched);
	}
	EXPECT_STREAMS("1:b2 1:x3 1:c4 1:y5 1:z6", "a. b. x. c. y.", "");
}

WORLD_TEST_WITH(node, a_more_important_queue_goes_first, config.outstanding_max = 1,
		config.is_preemption_aware = false)
{
	struct sched_queue *high = world_queue(1, 0);
	struct sched_queue *highest = world_queue(2, 0);
	sched_queue_set_priority(high, 6);
	sched_queue_set_priority(highest, 7);
	bring("W0:ab");
	work(high, 'c');
	work(highest, 'd');
	paging('p');
	for (int i = 0; i < 4; i++) {
		complete(0, 1);
		sched_settle(world.sched);
	}
	EXPECT_STREAMS("0:a1 0:p2 0:d3 0:c4 0:b5", "a. p. d. c.", "");
}

WORLD_TEST_WITH(node, ids_go_on_behind_the_last_and_leave_out_zero,
		config.first_fence = UINT32_MAX - 1)
{
	struct sched_queue *queue = world_queue(0, 1);
	for (char name = 'a'; name <= 'e'; name++)
		work(queue, name);
	EXPECT_STR(happened(), "1:a4294967294 1:b4294967295 1:c1 1:d2 1:e3");
	EXPECT_AFTER(complete(1, 1), "a.");
	sched_on_completed(world.sched, 1, 0); /* what a driver says that has done nothing */
	EXPECT_STR(happened(), "");
	EXPECT_AFTER(complete(1, 3), "b. c. d.");
	sched_on_completed(world.sched, 1, UINT32_MAX); /* long ago */
	EXPECT_STR(happened(), "");
}

WORLD_TEST(node, work_that_completes_inside_the_call_is_retired_after_it)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->completes_at_once = true; /* the GPU checks that it is not retired meanwhile */
	QUEUE(queue, packet);
	EXPECT(packet->is_retired);
	EXPECT_STR(happened(), "1:a1 a.");
}

static void queue_another(struct fake_packet *packet)
{
	struct fake_packet *next = world_packet((char)(packet->name + 1), SCHED_WORK);

	next->completes_at_once = true;
	if (next->name < 'f')
		next->on_retired = queue_another;
	QUEUE(packet->packet.queue, next);
}

WORLD_TEST(node, who_is_told_that_work_is_over_may_queue_more)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->completes_at_once = true;
	packet->on_retired = queue_another;
	QUEUE(queue, packet);
	EXPECT_STR(happened(), "1:a1 a. 1:b2 b. 1:c3 c. 1:d4 d. 1:e5 e. 1:f6 f.");
}

WORLD_TEST(node, what_is_not_prepared_yet_is_tried_again_when_kicked)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->prepare_status = STATUS_PENDING;
	QUEUE(queue, packet);
	work(queue, 'b');
	bring("X1:c"); /* does not wait for it, and no id was lost */
	EXPECT_STR(happened(), "1:c1");
	EXPECT_EQ(packet->prepared, 1);
	packet->prepare_status = STATUS_SUCCESS;
	EXPECT_AFTER(sched_queue_kick(queue), "1:a2 1:b3");
}

WORLD_TEST(node, work_that_cannot_be_prepared_loses_its_owner)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct sched_queue *sister = world_queue(0, 2);
	struct sched_queue *other = world_queue(1, 2);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	struct fake_packet *wait = wait_packet(sister, 'w');
	packet->prepare_status = STATUS_NO_MEMORY;
	QUEUE(queue, packet);
	EXPECT_STR(words_of(happened(), THE_REST), "W5");
	EXPECT_EQ(packet->outcome, SCHED_CANCELLED);
	EXPECT_EQ(wait->outcome, SCHED_CANCELLED);
	EXPECT(packet->is_retired && wait->is_retired);
	EXPECT_EQ(packet->submitted, 0);

	struct fake_packet *invalid = world_packet('b', SCHED_WORK);
	invalid->prepare_status = STATUS_INVALID_PARAMETER;
	QUEUE(other, invalid);
	EXPECT_STREAMS("", "b-", "X6");
}

WORLD_TEST(node, a_refused_submission_counts_as_completed_after_those_before_it)
{
	struct sched_queue *queue = world_queue(1, 1);
	struct fake_packet *packet = world_packet('b', SCHED_WORK);
	bring("W1:a");
	packet->submit_status = STATUS_INVALID_PARAMETER;
	QUEUE(queue, packet);
	EXPECT_STR(happened(), "1:a1 X6");
	EXPECT(!packet->is_retired);
	EXPECT_AFTER(bring("W1:c"), "1:c3"); /* 2 was its id */
	EXPECT_AFTER(complete(1, 1), "a. b!");
}

WORLD_TEST(node, a_refused_submission_on_an_idle_node_is_over_at_once)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->submit_status = STATUS_INVALID_PARAMETER;
	QUEUE(queue, packet);
	EXPECT_STREAMS("", "a!", "W6");
	EXPECT_AFTER(bring("X1:b"), "1:b2");
}

WORLD_MAIN("sched/node")
