/* SPDX-License-Identifier: MIT */
/*
 * sched_test.c - making, stopping and quiescing.
 */
#include "support/failing.h"
#include "world.h"

TEST(sched, creation_survives_every_allocation_failure)
{
	struct sched_config config = fake_gpu_config();
	static const struct sched_gpu_ops ops;
	struct sched *sched = NULL;

	EXPECT_EACH_FAILURE_TOLD(2, sched_create(&config, &ops, NULL, NULL, NULL, &sched), {
		EXPECT((sched == NULL) == has_failed);
		sched_destroy(sched);
		sched = NULL;
	});
}

WORLD_TEST(sched, nothing_takes_memory_while_work_runs)
{
	struct mem_usage before = mem_usage();
	mem_fail_nth(1);
	bring("W0:a");
	paging('p');
	preempted(0, 0);
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 0);
	sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 0);
	EXPECT(!mem_fail_stop());
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

static void stop_later(void *context)
{
	(void)context;
	sched_stop(world.sched);
	fake_gpu_note(&world.gpu, "stopped");
}

TEST(sched, stopping_loses_everybody_and_awaits_the_hardware)
{
	struct thread *thread;

	world_start();
	struct sched_queue *queue = world_queue(0, 1);
	work(queue, 'a');
	wait_packet(queue, 'w');
	paging('p');
	happened();
	EXPECT(NT_SUCCESS(thread_create("stopper", stop_later, NULL, &thread)));
	EXPECT_AFTER(pass_time(NS_PER_MS), "W4 X4 Y4 Z4");
	complete(1, 1);
	EXPECT_AFTER(pass_time(NS_PER_MS), "a. w-");
	complete(0, 1);
	thread_join(thread);
	EXPECT_STREAMS("", "p.", "stopped");

	struct fake_packet *packet = world_packet('q', SCHED_WORK);
	EXPECT_EQ(sched_queue_submit(&world.system_queue, &packet->packet, false),
		  STATUS_DEVICE_REMOVED);
	packet->packet.queue = NULL;
	struct sched_owner late;
	sched_owner_init(&late, world.sched, false);
	EXPECT(late.is_lost);
	sched_owner_finish(&late);
	world_finish();
}

WORLD_TEST(sched, stopping_does_not_wait_for_work_that_hangs)
{
	bring("W1:a");
	paging('p');
	uint64_t before_ns = clock_now_ns();
	sched_stop(world.sched);
	EXPECT(clock_now_ns() - before_ns < 10 * NS_PER_S);
	EXPECT_EQ(fake_gpu_held(&world.gpu, 0) + fake_gpu_held(&world.gpu, 1), 0);
}

static void quiesce_later(void *context)
{
	(void)context;
	sched_quiesce(world.sched);
	fake_gpu_note(&world.gpu, "quiet");
}

WORLD_TEST(sched, quiescing_lets_the_hardware_finish_and_gives_it_nothing)
{
	struct thread *thread;

	bring("W1:a");
	happened();
	EXPECT(NT_SUCCESS(thread_create("quiescer", quiesce_later, NULL, &thread)));
	pass_time(NS_PER_MS);
	bring("W1:b");
	EXPECT_AFTER(paging('p'), "");
	complete(1, 1);
	thread_join(thread);
	EXPECT_STREAMS("", "a.", "quiet");
	sched_quiesce(world.sched); /* nests */
	EXPECT_AFTER(sched_unquiesce(world.sched), "");
	EXPECT_AFTER(sched_unquiesce(world.sched), "0:p1 1:b2");
}

WORLD_TEST(sched, what_hangs_while_quiescing_is_late_all_the_same)
{
	bring("W1:a X1:b");
	happened();
	EXPECT_AFTER(sched_quiesce(world.sched), "P1:1 Q1 D141@1 E1 a! W3");
	EXPECT_AFTER(sched_unquiesce(world.sched), "1:b3+");
}

WORLD_TEST(sched, validate_finds_what_does_not_add_up)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = work(queue, 'a');
	sched_settle(world.sched);
	EXPECT(sched_validate(world.sched) == NULL);
	queue->length++;
	EXPECT_STR(sched_validate(world.sched), "a queue's length is wrong");
	queue->length--;
	uint32_t fence = packet->packet.fence;
	packet->packet.fence = 0;
	EXPECT_STR(sched_validate(world.sched), "a packet has the id of nobody");
	packet->packet.fence = 9;
	EXPECT_STR(sched_validate(world.sched), "a fence id was never given");
	packet->packet.fence = fence;
	world.owners[0].pending++;
	EXPECT_STR(sched_validate(world.sched), "an owner's count is wrong");
	world.owners[0].pending--;
}

WORLD_MAIN("sched/sched")
