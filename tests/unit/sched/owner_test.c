/* SPDX-License-Identifier: MIT */
/*
 * owner_test.c - what a device loses, suspends and waits for.
 */
#include "world.h"

struct noted_wait {
	struct sched_wait wait;
	char name;
};

static void wait_over(struct sched_wait *wait)
{
	struct noted_wait *noted = container_of(wait, struct noted_wait, wait);

	fake_gpu_note(&world.gpu, "%c", noted->name);
}

/* One of that name: the log has it when the wait is over. */
static struct sched_wait *noted(char name)
{
	static struct noted_wait waits[128];
	struct noted_wait *noted = &waits[(unsigned char)name];

	*noted = (struct noted_wait){ .wait = { .over = wait_over }, .name = name };
	return &noted->wait;
}

WORLD_TEST(owner, who_waits_for_an_idle_owner_is_told_at_once)
{
	world_queue(0, 1);
	sched_after_owner(&world.owners[0], noted('1'));
	sched_after_submitted(&world.owners[0], noted('2'));
	EXPECT_STR(fake_gpu_log(&world.gpu), "1 2");
}

WORLD_TEST(owner, a_wait_is_over_when_everything_queued_before_it_is_retired)
{
	bring("W1:a W2:b");
	sched_after_owner(&world.owners[0], noted('1'));
	bring("W1:c");
	sched_after_owner(&world.owners[0], noted('2'));
	bring("W1:d");
	happened();
	EXPECT_AFTER(complete(2, 1), "b.");
	EXPECT_AFTER(complete(1, 1), "a. 1"); /* c and d came later, and b was early */
	EXPECT_AFTER(complete(1, 1), "c. 2");
}

WORLD_TEST(owner, a_wait_for_a_ticket_is_over_with_what_was_queued_up_to_it)
{
	bring("W1:a");
	uint64_t ticket = sched_owner_tickets(&world.owners[0]);
	bring("W1:b");
	sched_after_owner(&world.owners[0], noted('1'));
	sched_after_ticket(&world.owners[0], ticket, noted('2')); /* before who came first */
	happened();
	EXPECT_AFTER(complete(1, 1), "a. 2");
	EXPECT_AFTER(sched_after_ticket(&world.owners[0], ticket, noted('3')), "3");
	EXPECT_AFTER(complete(1, 1), "b. 1");
}

static void wait_from_inside(struct fake_packet *packet)
{
	fake_gpu_note(&world.gpu, "[");
	sched_after_owner(packet->packet.queue->owner, noted('1'));
	fake_gpu_note(&world.gpu, "]");
}

WORLD_TEST(owner, a_packet_is_retired_when_that_was_said_and_not_before)
{
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->on_retired = wait_from_inside;
	QUEUE(world_queue(0, 1), packet);
	EXPECT_AFTER(complete(1, 1), "1:a1 a. [ ] 1");
}

WORLD_TEST(owner, other_owners_are_not_waited_for)
{
	bring("W1:a X1:b");
	happened();
	EXPECT_AFTER(sched_after_owner(&world.owners[2], noted('1')), "1");
}

WORLD_TEST(owner, what_waits_in_a_queue_is_waited_for)
{
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	struct fake_packet *packet = wait_packet(queue, 'w');
	work(queue, 'b');
	happened();
	sched_after_owner(&world.owners[0], noted('1'));
	sched_after_submitted(&world.owners[0], noted('2'));
	EXPECT_AFTER(complete(1, 1), "a. 2"); /* the hardware has nothing */
	packet->is_reached = true;
	EXPECT_AFTER(sched_queue_kick(queue), "w. 1:b2");
	EXPECT_AFTER(complete(1, 1), "b. 1");
}

WORLD_TEST(owner, what_was_preempted_is_not_with_the_hardware)
{
	bring("W0:a");
	sched_owner_suspend(&world.owners[0]);
	sched_after_submitted(&world.owners[0], noted('1'));
	EXPECT_AFTER(paging('p'), "0:a1 P0:1");
	EXPECT_STREAMS_AFTER(preempted(0, 0), "0:p2", "", "1");
	sched_owner_resume(&world.owners[0]);
}

WORLD_TEST(owner, a_suspended_owner_submits_nothing_new_on_any_queue)
{
	bring("W1:a");
	sched_owner_suspend(&world.owners[0]);
	sched_owner_suspend(&world.owners[0]);
	EXPECT_AFTER(bring("W1:b W2:c X2:d"), "1:a1 2:d1");
	EXPECT_AFTER(complete(1, 1), "a.");
	EXPECT_AFTER(sched_owner_resume(&world.owners[0]), "");
	EXPECT_AFTER(sched_owner_resume(&world.owners[0]), "1:b2 2:c2");
}

WORLD_TEST(owner, loss_cancels_what_the_hardware_has_not_and_awaits_what_it_has)
{
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(0, 2);
	work(one, 'a');
	wait_packet(one, 'w');
	work(one, 'b');
	signal_packet(one, 's');
	wait_packet(two, 'v');
	work(two, 'c');
	bring("X1:x");
	happened();
	sched_after_owner(&world.owners[0], noted('1'));
	EXPECT(sched_owner_lose(&world.owners[0]));
	EXPECT_STR(happened(), "v- c-"); /* in order: a is still with the hardware */
	EXPECT(!sched_owner_lose(&world.owners[0]));
	EXPECT_AFTER(complete(1, 1), "a. w- b- s- 1"); /* s did not act */
	EXPECT_AFTER(complete(1, 1), "x.");
}

WORLD_TEST(owner, what_was_preempted_is_aborted_when_its_owner_is_lost)
{
	bring("W0:a");
	paging('p');
	happened();
	EXPECT(sched_owner_lose(&world.owners[0]));
	EXPECT_STREAMS_AFTER(preempted(0, 0), "0:p2", "a!", "");
}

WORLD_TEST(owner, the_kernels_own_is_never_lost)
{
	EXPECT(!sched_owner_lose(&world.system));
	EXPECT_AFTER(paging('p'), "0:p1");
}

/* ---- everybody ---- */

WORLD_TEST(hold, is_reached_when_the_hardware_has_nothing_of_any_client)
{
	bring("W1:a X2:b");
	happened();
	sched_hold_clients(world.sched, noted('!'));
	bring("W1:c"); /* stays here */
	EXPECT_STR(happened(), "");
	EXPECT_AFTER(complete(1, 1), "a.");
	EXPECT_AFTER(complete(2, 1), "b. !");
	EXPECT_AFTER(bring("X2:d"), "");
	sched_release_clients(world.sched);
	sched_settle(world.sched);
	EXPECT(sched_validate(world.sched) == NULL);
	complete(1, 1);
	complete(2, 1);
}

WORLD_TEST(hold, is_reached_at_once_when_nobody_has_anything_there)
{
	EXPECT_AFTER(sched_hold_clients(world.sched, noted('!')), "!");
	EXPECT_AFTER(sched_hold_clients(world.sched, noted('?')), "?");
	bring("W1:a");
	sched_release_clients(world.sched);
	EXPECT_AFTER(sched_settle(world.sched), ""); /* they nest */
	sched_release_clients(world.sched);
	sched_settle(world.sched);
	complete(1, 1);
}

/* ---- work that nobody's clock ends ---- */

WORLD_TEST(endless, work_stops_for_those_who_hold_everybody)
{
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	endless(queue, 'b');
	happened();
	EXPECT_AFTER(sched_hold_clients(world.sched, noted('!')),
		     ""); /* a ends by itself, or is late */
	EXPECT_STREAMS_AFTER(complete(1, 1), "", "a.", "P1:1");
	EXPECT_AFTER(preempted(1, 0), "!");
	EXPECT_AFTER(sched_release_clients(world.sched), "1:b3+");
}

WORLD_TEST(endless, work_stops_when_its_owner_is_suspended)
{
	struct sched_queue *queue = world_queue(0, 1);
	endless(queue, 'a');
	endless(world_queue(1, 2), 'b'); /* goes on */
	happened();
	sched_owner_suspend(&world.owners[0]);
	EXPECT_AFTER(sched_after_submitted(&world.owners[0], noted('!')), "P1:1");
	EXPECT_AFTER(preempted(1, 0), "!");
	EXPECT_AFTER(sched_owner_resume(&world.owners[0]), "1:a2+");
}

static void quiesce(void *unused)
{
	(void)unused;
	sched_quiesce(world.sched);
	fake_gpu_note(&world.gpu, "!");
	sched_unquiesce(world.sched);
}

WORLD_TEST(endless, work_stops_for_who_needs_an_idle_gpu)
{
	struct thread *thread;

	endless(world_queue(0, 1), 'a');
	happened();
	EXPECT_EQ(thread_create("quiesce", quiesce, NULL, &thread), STATUS_SUCCESS);
	EXPECT_AFTER(pass_time(NS_PER_MS), "P1:1");
	preempted(1, 0);
	thread_join(thread);
	EXPECT_STR(happened(), "! 1:a2+");
}

WORLD_TEST(endless, work_of_an_owner_that_is_lost_may_be_late)
{
	struct fake_packet *packet = endless(world_queue(0, 1), 'a');
	happened();
	EXPECT_AFTER(pass_time(100 * NS_PER_S), "");
	EXPECT(sched_owner_lose(&world.owners[0]));
	EXPECT_STREAMS_AFTER(pass_time(4 * NS_PER_S + NS_PER_MS), "", "a!", "P1:1 Q1 D141@1 E1");
	EXPECT_EQ(packet->outcome, SCHED_ABORTED);
}

/* ---- how long for whom ---- */

WORLD_TEST(busy, time_of_a_process_counts_while_work_runs_and_stays_when_its_owner_ends)
{
	struct sched_process process = { .id = 7 }, other = { .id = 8 };
	struct sched_owner owner;
	struct sched_queue queue;

	sched_owner_init(&owner, world.sched, false);
	owner.process = &process;
	sched_queue_init(&queue, &owner, 1);
	work(&queue, 'a');
	pass_time(100 * NS_PER_MS);
	EXPECT(is_about(sched_process_busy_ns(world.sched, &process), 100 * NS_PER_MS));
	pass_time(100 * NS_PER_MS);
	complete(1, 1);
	pass_time(100 * NS_PER_MS);
	EXPECT(is_about(sched_process_busy_ns(world.sched, &process), 200 * NS_PER_MS));
	sched_queue_finish(&queue, SCHED_RUN_OUT);
	sched_owner_finish(&owner);
	EXPECT(is_about(sched_process_busy_ns(world.sched, &process), 200 * NS_PER_MS));
	EXPECT_EQ(sched_process_busy_ns(world.sched, &other), 0);
	EXPECT(is_about(sched_node_statistics(world.sched, 1).busy_ns, 200 * NS_PER_MS));
}

static void finish_queue(void *queue)
{
	sched_queue_finish(queue, SCHED_CANCEL_ALL);
}

WORLD_TEST(endless, work_does_not_keep_the_end_of_its_queue_waiting)
{
	struct thread *thread;

	struct sched_queue *queue = world_queue(0, 1);
	endless(queue, 'a');
	happened();
	EXPECT_EQ(thread_create("finish", finish_queue, queue, &thread), STATUS_SUCCESS);
	EXPECT_STREAMS_AFTER(pass_time(4 * NS_PER_S + NS_PER_MS), "", "a!", "P1:1 Q1 D141@1 E1 W3");
	thread_join(thread);
	world.has_queue[queue - world.queues] = false;
}

WORLD_MAIN("sched/owner")
