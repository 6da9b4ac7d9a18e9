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

#define NOTED(wait_name) ((struct noted_wait){ .wait = { .over = wait_over }, .name = (wait_name) })

TEST(owner, who_waits_for_an_idle_owner_is_told_at_once)
{
	world_start();
	struct noted_wait wait = NOTED('1');
	struct noted_wait submitted = NOTED('2');
	world_queue(0, 1);
	sched_after_owner(&world.owners[0], &wait.wait);
	sched_after_submitted(&world.owners[0], &submitted.wait);
	EXPECT_STR(fake_gpu_log(&world.gpu), "1 2");
	world_finish();
}

TEST(owner, a_wait_is_over_when_everything_queued_before_it_is_retired)
{
	world_start();
	struct noted_wait first = NOTED('1');
	struct noted_wait second = NOTED('2');
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(0, 2);
	work(one, 'a');
	work(two, 'b');
	sched_after_owner(&world.owners[0], &first.wait);
	work(one, 'c');
	sched_after_owner(&world.owners[0], &second.wait);
	work(one, 'd');
	happened();
	fake_gpu_complete(&world.gpu, 2, 1);
	EXPECT_STR(happened(), "b.");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a. 1"); /* c and d came later, and b was early */
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "c. 2");
	world_finish();
}

TEST(owner, a_wait_for_a_ticket_is_over_with_what_was_queued_up_to_it)
{
	world_start();
	struct noted_wait all = NOTED('1');
	struct noted_wait some = NOTED('2');
	struct noted_wait past = NOTED('3');
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	uint64_t ticket = sched_owner_tickets(&world.owners[0]);
	work(queue, 'b');
	sched_after_owner(&world.owners[0], &all.wait);
	sched_after_ticket(&world.owners[0], ticket, &some.wait); /* before who came first */
	happened();
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a. 2");
	sched_after_ticket(&world.owners[0], ticket, &past.wait);
	EXPECT_STR(happened(), "3");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "b. 1");
	world_finish();
}

static struct noted_wait inner;

static void wait_from_inside(struct fake_packet *packet)
{
	fake_gpu_note(&world.gpu, "[");
	sched_after_owner(packet->packet.queue->owner, &inner.wait);
	fake_gpu_note(&world.gpu, "]");
}

WORLD_TEST(owner, a_packet_is_retired_when_that_was_said_and_not_before)
{
	inner = NOTED('1');
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->on_retired = wait_from_inside;
	QUEUE(world_queue(0, 1), packet);
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "1:a1 a. [ ] 1");
}

TEST(owner, other_owners_are_not_waited_for)
{
	world_start();
	struct noted_wait wait = NOTED('1');
	work(world_queue(0, 1), 'a');
	work(world_queue(1, 1), 'b');
	happened();
	sched_after_owner(&world.owners[2], &wait.wait);
	EXPECT_STR(happened(), "1");
	world_finish();
}

TEST(owner, what_waits_in_a_queue_is_waited_for)
{
	world_start();
	struct noted_wait wait = NOTED('1');
	struct noted_wait submitted = NOTED('2');
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	struct fake_packet *packet = wait_packet(queue, 'w');
	work(queue, 'b');
	happened();
	sched_after_owner(&world.owners[0], &wait.wait);
	sched_after_submitted(&world.owners[0], &submitted.wait);
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a. 2"); /* the hardware has nothing */
	packet->is_reached = true;
	sched_queue_kick(queue);
	EXPECT_STR(happened(), "w. 1:b2");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "b. 1");
	world_finish();
}

TEST(owner, what_was_preempted_is_not_with_the_hardware)
{
	world_start();
	struct noted_wait wait = NOTED('1');
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	sched_owner_suspend(&world.owners[0]);
	sched_after_submitted(&world.owners[0], &wait.wait);
	paging('p');
	EXPECT_STR(happened(), "0:a1 P0:1");
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STREAMS("0:p2", "", "1");
	sched_owner_resume(&world.owners[0]);
	world_finish();
}

WORLD_TEST(owner, a_suspended_owner_submits_nothing_new_on_any_queue)
{
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(0, 2);
	work(one, 'a');
	sched_owner_suspend(&world.owners[0]);
	sched_owner_suspend(&world.owners[0]);
	work(one, 'b');
	work(two, 'c');
	work(world_queue(1, 2), 'd');
	EXPECT_STR(happened(), "1:a1 2:d1");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a.");
	sched_owner_resume(&world.owners[0]);
	EXPECT_STR(happened(), "");
	sched_owner_resume(&world.owners[0]);
	EXPECT_STR(happened(), "1:b2 2:c2");
}

TEST(owner, loss_cancels_what_the_hardware_has_not_and_awaits_what_it_has)
{
	world_start();
	struct noted_wait wait = NOTED('1');
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(0, 2);
	struct sched_queue *other = world_queue(1, 1);
	work(one, 'a');
	wait_packet(one, 'w');
	work(one, 'b');
	signal_packet(one, 's');
	wait_packet(two, 'v');
	work(two, 'c');
	work(other, 'x');
	happened();
	sched_after_owner(&world.owners[0], &wait.wait);
	EXPECT(sched_owner_lose(&world.owners[0]));
	EXPECT_STR(happened(), "v- c-"); /* in order: a is still with the hardware */
	EXPECT(!sched_owner_lose(&world.owners[0]));
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a. w- b- s- 1"); /* s did not act */
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "x.");
	world_finish();
}

WORLD_TEST(owner, what_was_preempted_is_aborted_when_its_owner_is_lost)
{
	struct sched_queue *queue = world_queue(0, 0);
	work(queue, 'a');
	paging('p');
	happened();
	EXPECT(sched_owner_lose(&world.owners[0]));
	fake_gpu_preempted(&world.gpu, 0, 0);
	EXPECT_STREAMS("0:p2", "a!", "");
}

WORLD_TEST(owner, the_kernels_own_is_never_lost)
{
	EXPECT(!sched_owner_lose(&world.system));
	paging('p');
	EXPECT_STR(happened(), "0:p1");
}

/* ---- everybody ---- */

TEST(hold, is_reached_when_the_hardware_has_nothing_of_any_client)
{
	world_start();
	struct noted_wait hold = NOTED('!');
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(1, 2);
	work(one, 'a');
	work(two, 'b');
	happened();
	sched_hold_clients(world.sched, &hold.wait);
	work(one, 'c'); /* stays here */
	EXPECT_STR(happened(), "");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a.");
	fake_gpu_complete(&world.gpu, 2, 1);
	EXPECT_STR(happened(), "b. !");
	work(two, 'd');
	EXPECT_STR(happened(), "");
	sched_release_clients(world.sched);
	sched_settle(world.sched);
	EXPECT(sched_validate(world.sched) == NULL);
	fake_gpu_complete(&world.gpu, 1, 1);
	fake_gpu_complete(&world.gpu, 2, 1);
	world_finish();
}

TEST(hold, is_reached_at_once_when_nobody_has_anything_there)
{
	world_start();
	struct noted_wait hold = NOTED('!');
	struct noted_wait again = NOTED('?');
	struct sched_queue *one = world_queue(0, 1);
	sched_hold_clients(world.sched, &hold.wait);
	EXPECT_STR(happened(), "!");
	sched_hold_clients(world.sched, &again.wait);
	EXPECT_STR(happened(), "?");
	work(one, 'a');
	sched_release_clients(world.sched);
	sched_settle(world.sched);
	EXPECT_STR(happened(), ""); /* they nest */
	sched_release_clients(world.sched);
	sched_settle(world.sched);
	fake_gpu_complete(&world.gpu, 1, 1);
	world_finish();
}

/* ---- work that nobody's clock ends ---- */

static struct fake_packet *endless(struct sched_queue *queue, char name)
{
	struct fake_packet *packet = world_packet(name, SCHED_WORK);

	packet->packet.is_never_late = true;
	QUEUE(queue, packet);
	return packet;
}

TEST(endless, work_stops_for_those_who_hold_everybody)
{
	world_start();
	struct noted_wait hold = NOTED('!');
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	endless(queue, 'b');
	happened();
	sched_hold_clients(world.sched, &hold.wait);
	EXPECT_STR(happened(), ""); /* a ends by itself, or is late */
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STREAMS("", "a.", "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "!");
	sched_release_clients(world.sched);
	EXPECT_STR(happened(), "1:b3+");
	world_finish();
}

TEST(endless, work_stops_when_its_owner_is_suspended)
{
	world_start();
	struct noted_wait submitted = NOTED('!');
	struct sched_queue *queue = world_queue(0, 1);
	endless(queue, 'a');
	endless(world_queue(1, 2), 'b'); /* goes on */
	happened();
	sched_owner_suspend(&world.owners[0]);
	sched_after_submitted(&world.owners[0], &submitted.wait);
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "!");
	sched_owner_resume(&world.owners[0]);
	EXPECT_STR(happened(), "1:a2+");
	world_finish();
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
	pass_time(NS_PER_MS);
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_preempted(&world.gpu, 1, 0);
	thread_join(thread);
	EXPECT_STR(happened(), "! 1:a2+");
}

WORLD_TEST(endless, work_of_an_owner_that_is_lost_may_be_late)
{
	struct fake_packet *packet = endless(world_queue(0, 1), 'a');
	happened();
	pass_time(100 * NS_PER_S);
	EXPECT_STR(happened(), "");
	EXPECT(sched_owner_lose(&world.owners[0]));
	pass_time(4 * NS_PER_S + NS_PER_MS);
	EXPECT_STREAMS("", "a!", "P1:1 Q1 D141@1 E1");
	EXPECT_EQ(packet->outcome, SCHED_ABORTED);
}

/* ---- how long for whom ---- */

static bool is_about(uint64_t ns, uint64_t expected_ns)
{
	return ns + NS_PER_MS > expected_ns && ns < expected_ns + NS_PER_MS;
}

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
	fake_gpu_complete(&world.gpu, 1, 1);
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
	pass_time(4 * NS_PER_S + NS_PER_MS);
	EXPECT_STREAMS("", "a!", "P1:1 Q1 D141@1 E1 W3");
	thread_join(thread);
	world.has_queue[queue - world.queues] = false;
}

WORLD_MAIN("sched/owner")
