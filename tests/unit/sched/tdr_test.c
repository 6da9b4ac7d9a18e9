/* SPDX-License-Identifier: MIT */
/*
 * tdr_test.c - what is late, and what becomes of it and of the others.
 */
#include "world.h"

#define DELAY_NS (2 * NS_PER_S + NS_PER_MS) /* TdrDelay, and a moment */

WORLD_TEST(tdr, work_that_lets_itself_be_preempted_may_run_longer)
{
	struct sched_queue *queue = world_queue(0, 1);
	world.gpu.nodes[1].answers_at_once = true;
	work(queue, 'a');
	EXPECT_STR(happened(), "1:a1");
	pass_time(DELAY_NS);
	EXPECT_STR(happened(), "P1:1 1:a2+");
	pass_time(DELAY_NS);
	EXPECT_STR(happened(), "P1:2 1:a3+");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a.");
}

WORLD_TEST(tdr, the_clock_starts_with_a_preemption_that_is_not_answered)
{
	struct sched_queue *low = world_queue(0, 1);
	struct sched_queue *high = world_queue_at(1, 1, 1);
	work(low, 'a');
	pass_time(NS_PER_S);
	work(high, 'b');
	EXPECT_STR(happened(), "1:a1 P1:1");
	pass_time(2 * NS_PER_S - NS_PER_MS);
	EXPECT_STR(happened(), ""); /* three seconds after the submission */
	pass_time(2 * NS_PER_MS);
	EXPECT_STR(happened(), "Q1 D141@1 E1 a! W3 1:b2");
}

WORLD_TEST(tdr, completion_in_time_is_fine_too)
{
	struct sched_queue *queue = world_queue(0, 1);
	works(queue, "ab");
	pass_time(DELAY_NS);
	EXPECT_STR(happened(), "1:a1 1:b2 P1:1");
	pass_time(NS_PER_S);
	fake_gpu_complete(&world.gpu, 1, 1);
	pass_time(NS_PER_S + NS_PER_MS);
	EXPECT_STR(happened(), "a."); /* b has its own time */
	fake_gpu_preempted(&world.gpu, 1, 0);
	EXPECT_STR(happened(), "1:b3+");
}

WORLD_TEST(tdr, an_engine_reset_takes_down_the_guilty_owner_only)
{
	struct sched_queue *guilty = world_queue(0, 1);
	struct sched_queue *sister = world_queue(0, 2);
	struct sched_queue *other = world_queue(1, 1);
	work(guilty, 'a');
	work(other, 'b');
	work(guilty, 'c');
	work(other, 'd');
	wait_packet(sister, 'w');
	EXPECT_STR(happened(), "1:a1 1:b2 1:c3 1:d4");
	pass_time(2 * DELAY_NS);
	EXPECT_STR(happened(), "P1:1 Q1 D141@1 E1 a! c! w- W3 1:b5+ 1:d6+");
	EXPECT(world.owners[0].is_lost);
	EXPECT(!world.owners[1].is_lost);
	fake_gpu_complete(&world.gpu, 1, 2);
	EXPECT_STR(happened(), "b. d.");
	/* A new owner works at once. */
	work(world_queue(2, 1), 'e');
	EXPECT_STR(happened(), "1:e7");
}

/* By an interrupt during the question, as it should, or by the answer alone. */
TEST(tdr, what_the_driver_forgot_to_say_is_asked_before_anybody_is_blamed)
{
	for (int is_mute = 0; is_mute < 2; is_mute++) {
		world_start();
		struct sched_queue *queue = world_queue(0, 1);
		works(queue, "ab");
		world.gpu.nodes[1].hides_completion = true;
		world.gpu.nodes[1].is_mute = is_mute;
		fake_gpu_complete(&world.gpu, 1, 2);
		EXPECT_STR(happened(), "1:a1 1:b2");
		pass_time(2 * DELAY_NS);
		EXPECT_STR(happened(), "P1:1 Q1 a. b.");
		EXPECT(!world.owners[0].is_lost);
		world_finish();
	}
}

WORLD_TEST(tdr, work_that_is_never_late_may_run_for_ever)
{
	struct sched_queue *queue = world_queue(0, 1);
	struct fake_packet *packet = world_packet('a', SCHED_WORK);
	packet->packet.is_never_late = true;
	QUEUE(queue, packet);
	work(queue, 'b');
	pass_time(100 * NS_PER_S);
	EXPECT_STR(happened(), "1:a1 1:b2");
	struct sched_queue *high = world_queue_at(1, 1, 1);
	work(high, 'c'); /* somebody waits for it: it is asked, and still not late */
	pass_time(100 * NS_PER_S);
	EXPECT_STR(happened(), "P1:1");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a.");
	pass_time(DELAY_NS); /* but b is */
	EXPECT_STR(happened(), "Q1 D141@1 E1 b! W3 1:c3");
}

TEST(tdr, level_zero_has_no_clock)
{
	struct sched_config config = fake_gpu_config();

	config.tdr_level = 0;
	world_start_with(&config);
	work(world_queue(0, 1), 'a');
	pass_time(100 * NS_PER_S);
	EXPECT_STR(happened(), "1:a1");
	world_finish();
}

TEST(tdr, level_one_gives_the_adapter_up)
{
	struct sched_config config = fake_gpu_config();

	config.tdr_level = 1;
	world_start_with(&config);
	work(world_queue(0, 1), 'a');
	work(world_queue(1, 2), 'b');
	pass_time(DELAY_NS);
	fake_gpu_preempted(&world.gpu, 2, 0);
	happened();
	pass_time(DELAY_NS);
	EXPECT_STR(happened(), "Q1 a! b! W3 X4 Y4 Z4 dead");
	world.gpu.nodes[1].count = world.gpu.nodes[2].count = 0;
	world_finish();
}

TEST(tdr, without_preemption_the_packet_itself_is_timed)
{
	struct sched_config config = fake_gpu_config();

	config.is_preemption_aware = false;
	world_start_with(&config);
	work(world_queue(0, 1), 'a');
	pass_time(DELAY_NS);
	EXPECT_STR(happened(), "1:a1 Q1 D141@1 E1 a! W3");
	world_finish();
}

#define ADAPTER_RESET "begin A"

TEST(tdr, without_engine_reset_the_adapter_is_reset)
{
	struct sched_config config = fake_gpu_config();

	config.has_engine_reset = false;
	world_start_with(&config);
	work(world_queue(0, 1), 'a');
	work(world_queue(1, 2), 'b');
	sched_owner_lose(&world.owners[3]);
	happened();
	pass_time(DELAY_NS);
	fake_gpu_preempted(&world.gpu, 2, 0);
	EXPECT_STR(happened(), "P1:1 P2:1 2:b2+");
	pass_time(DELAY_NS);
	EXPECT_STR(happened(), "Q1 D117@1 W3 X2 Y2 begin A a! b! lost restart end");
	EXPECT(world.owners[2].is_lost);

	/* Ids go on, also where events of before come late. */
	struct sched_owner fresh;
	struct sched_queue queue;
	sched_owner_init(&fresh, world.sched, false);
	sched_queue_init(&queue, &fresh, 1);
	struct fake_packet *packet = world_packet('n', SCHED_WORK);
	QUEUE(&queue, packet);
	EXPECT_STR(happened(), "1:n2");
	sched_on_completed(world.sched, 1, 1);
	EXPECT_STR(happened(), "");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "n.");
	sched_queue_finish(&queue, SCHED_RUN_OUT);
	sched_owner_finish(&fresh);
	world_finish();
}

WORLD_TEST(tdr, an_engine_that_cannot_be_reset_is_the_adapters_affair)
{
	work(world_queue(0, 1), 'a');
	world.gpu.nodes[1].reset_status = STATUS_UNSUCCESSFUL;
	pass_time(2 * DELAY_NS);
	EXPECT_STR(happened(),
		   "1:a1 P1:1 Q1 D141@1 E1 D117@1 W3 X2 Y2 Z2 begin A a! lost restart end");
}

WORLD_TEST(tdr, a_paging_packet_that_was_aborted_is_the_adapters_affair_and_nobodys_fault)
{
	paging('p');
	work(world_queue(0, 0), 'a');
	paging('q');
	EXPECT_STR(happened(), "0:p1 0:a2 0:q3");
	pass_time(2 * DELAY_NS);
	EXPECT_STR(happened(),
		   "P0:1 Q0 D141@0 E0 D117@0 W2 X2 Y2 Z2 begin A p! q! a! lost restart end");
	EXPECT(!world.system.is_lost);
	paging('r');
	EXPECT_STR(happened(), "0:r4");
}

/* Somebody brings work just when the engine was reset and the adapter is still to be. */
static struct sched_queue *latecomers_queue;

static void come_late(uint32_t reason)
{
	if (reason != 0x117)
		return;
	work(latecomers_queue, 'b');
	if (fake_gpu_held(&world.gpu, 0) > 0)
		fake_gpu_complete(&world.gpu, 0, 1);
}

/* What completes behind it would say that it was done. */
WORLD_TEST(tdr, nothing_begins_on_an_engine_whose_paging_was_aborted_before_the_adapters_reset)
{
	struct fake_packet *packet = paging('p');
	latecomers_queue = world_queue(0, 0);
	world.gpu.on_debug_info = come_late;
	EXPECT_STR(happened(), "0:p1");
	pass_time(2 * DELAY_NS);
	EXPECT_STREAMS("", "b- p!",
		       "P0:1 Q0 D141@0 E0 D117@0 W2 X2 Y2 Z2 begin A lost restart end");
	EXPECT_EQ(packet->outcome, SCHED_ABORTED);
}

TEST(tdr, nothing_begins_on_an_engine_that_could_not_be_reset_before_the_adapters_reset)
{
	struct sched_config config = fake_gpu_config();

	config.is_preemption_aware = false;
	world_start_with(&config);
	work(world_queue(1, 0), 'a');
	latecomers_queue = world_queue(0, 0);
	world.gpu.nodes[0].reset_status = STATUS_UNSUCCESSFUL;
	world.gpu.on_debug_info = come_late;
	happened();
	pass_time(2 * DELAY_NS);
	EXPECT_STR(words_of(happened(), SUBMISSIONS), "");
	world_finish();
}

TEST(tdr, the_kernels_queued_work_is_cancelled_by_an_adapter_reset)
{
	struct sched_config config = fake_gpu_config();

	config.outstanding_max = 1;
	world_start_with(&config);
	paging('p');
	paging('q');
	EXPECT_STR(happened(), "0:p1");
	sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 0);
	EXPECT_STR(happened(), "D117@0 W2 X2 Y2 Z2 begin A p! q- lost restart end");
	world_finish();
}

WORLD_TEST(tdr, a_sixth_adapter_reset_within_the_limit_is_one_too_many)
{
	for (int i = 0; i < 5; i++)
		sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 0);
	happened();
	pass_time(61 * NS_PER_S);
	for (int i = 0; i < 5; i++)
		sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 0);
	EXPECT(!strstr(happened(), "dead")); /* the window has moved on */
	sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 0);
	EXPECT_STR(happened(), "dead");
	struct fake_packet *packet = world_packet('p', SCHED_WORK);
	EXPECT_EQ(sched_queue_submit(&world.system_queue, &packet->packet, false),
		  STATUS_DEVICE_REMOVED);
	packet->packet.queue = NULL;
}

TEST(tdr, a_driver_that_fails_to_reset_or_restart_loses_the_adapter)
{
	for (int i = 0; i < 2; i++) {
		world_start();
		work(world_queue(0, 1), 'a');
		world.gpu.fails_reset = i == 0;
		world.gpu.fails_restart = i == 1;
		happened();
		sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 1);
		EXPECT_STR(happened(), i == 0 ? "D117@1 W3 X2 Y2 Z2 begin A a! dead"
					      : "D117@1 W3 X2 Y2 Z2 begin A a! lost restart dead");
		world.gpu.nodes[1].count = 0;
		world_finish();
	}
}

TEST(tdr, an_aborted_id_that_makes_no_sense_loses_the_adapter)
{
	static const uint32_t wrong[] = { 0, 4, 0x80000000 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		world_start();
		struct sched_queue *queue = world_queue(0, 1);
		work(queue, 'a');
		fake_gpu_complete(&world.gpu, 1, 1);
		works(queue, "bc");
		world.gpu.nodes[1].names_abort = true;
		world.gpu.nodes[1].aborted = wrong[i];
		sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1);
		EXPECT_STR(happened(), "1:a1 a. 1:b2 1:c3 D141@1 E1 b! c! W4 X4 Y4 Z4 dead");
		world_finish();
	}
}

WORLD_TEST(tdr, a_packet_that_completed_in_the_last_moment_is_still_to_blame)
{
	work(world_queue(0, 1), 'a');
	fake_gpu_complete(&world.gpu, 1, 1);
	work(world_queue(1, 1), 'b');
	world.gpu.nodes[1].names_abort = true;
	world.gpu.nodes[1].aborted = 1;
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1);
	EXPECT_STR(happened(), "1:a1 a. 1:b2 D141@1 E1 W3 1:b3+");
}

WORLD_TEST(tdr, packets_before_the_aborted_one_count_as_completed)
{
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(1, 1);
	work(one, 'a');
	work(two, 'b');
	work(one, 'c');
	world.gpu.nodes[1].names_abort = true;
	world.gpu.nodes[1].aborted = 2;
	happened();
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1);
	EXPECT_STR(happened(), "D141@1 E1 a. b! X3 1:c4+");
}

WORLD_TEST(tdr, resets_that_blame_nobody_end_with_the_adapter)
{
	work(world_queue(0, 1), 'a');
	world.gpu.nodes[1].names_abort = true; /* and it is 0: nothing was aborted */
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1);
	EXPECT_STR(happened(), "1:a1 D141@1 E1 1:a2+");
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1);
	EXPECT_STR(happened(), "D141@1 E1 D117@1 a! W2 X2 Y2 Z2 begin A lost restart end");
}

WORLD_TEST(tdr, an_engine_without_work_is_not_reset)
{
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1);
	EXPECT_STR(happened(), "D141@1");
}

WORLD_TEST(tdr, dependent_engines_are_preempted_or_reset_in_order)
{
	world.gpu.dependents[2] = 0xb; /* 0, 1 and 3 */
	world.gpu.nodes[1].answers_at_once = true;
	work(world_queue(0, 2), 'a');
	work(world_queue(1, 1), 'b');
	work(world_queue(2, 3), 'c');
	happened();
	uint64_t before_ns = clock_now_ns();
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 2);
	EXPECT(clock_now_ns() - before_ns >= 500 * NS_PER_MS);
	EXPECT(clock_now_ns() - before_ns < 600 * NS_PER_MS);
	EXPECT_STR(happened(), "D141@2 P1:1 P3:1 E2 a! E3 c! W3 Y3 1:b2+");
}

WORLD_TEST(tdr, paging_comes_first_and_with_its_ids_after_an_engine_reset)
{
	struct sched_queue *queue = world_queue(0, 0);
	struct sched_queue *other = world_queue(1, 0);
	world.gpu.nodes[0].names_abort = true;
	world.gpu.nodes[0].aborted = 1;
	work(queue, 'a');
	fake_gpu_complete(&world.gpu, 0, 1);
	paging('p');
	work(other, 'b');
	paging('q');
	happened();
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 0);
	EXPECT_STR(happened(), "D141@0 E0 W3 0:p2+ 0:q4+ 0:b5+");
}

TEST(tdr, a_page_fault_loses_its_owner_and_resets_the_engine)
{
	world_start();
	struct sched_queue *queue = world_queue(0, 1);
	struct sched_queue *other = world_queue(1, 1);
	work(other, 'a');
	work(queue, 'b');
	work(other, 'c');
	world.gpu.nodes[1].names_abort = true;
	world.gpu.nodes[1].aborted = 2;
	happened();
	struct sched_fault fault = { .node = 1,
				     .fence = 2,
				     .is_fence_valid = true,
				     .is_page_fault = true,
				     .address = 0x5000 };
	sched_on_faulted(world.sched, &fault);
	const char *log = happened();
	EXPECT_STR(words_of(log, SUBMISSIONS), "1:c4+");
	EXPECT_STR(words_of(log, THE_REST), "W7f D141@1 E1");
	EXPECT_EQ(world.packets[0].outcome, SCHED_DONE);
	EXPECT_EQ(world.packets[1].outcome, SCHED_ABORTED);
	EXPECT(strstr(log, "E1") < strstr(log, "b!")); /* until then the hardware may use it */
	EXPECT_EQ(world.owners[0].fault.address, 0x5000);
	world_finish();
}

WORLD_TEST(tdr, other_faults_have_their_own_state)
{
	work(world_queue(0, 1), 'a');
	happened();
	sched_on_faulted(world.sched,
			 &(struct sched_fault){ .node = 1, .fence = 1, .is_fence_valid = true });
	EXPECT_STR(happened(), "W6f D141@1 E1 a!");
}

WORLD_TEST(tdr, a_fault_without_a_fence_blames_what_was_aborted)
{
	work(world_queue(0, 1), 'a');
	happened();
	sched_on_faulted(world.sched, &(struct sched_fault){ .node = 1, .is_page_fault = true });
	EXPECT_STR(happened(), "D141@1 E1 a! W7f");
}

/* As everything a driver says of ids that it does not have. */
TEST(tdr, a_fault_of_what_the_hardware_does_not_have_is_ignored)
{
	struct sched_fault fault = { .node = 1, .fence = 77, .is_fence_valid = true };

	world_start();
	work(world_queue(0, 1), 'a');
	happened();
	sched_on_faulted(world.sched, &fault);
	EXPECT_STR(happened(), "");
	fake_gpu_complete(&world.gpu, 1, 1);
	EXPECT_STR(happened(), "a.");
	fault.fence = 1;
	sched_on_faulted(world.sched, &fault);
	EXPECT_STR(happened(), "");
	EXPECT(!world.owners[0].is_lost);
	world_finish();
}

WORLD_TEST(tdr, a_fault_that_needs_a_reset_gets_one_whatever_its_id)
{
	work(world_queue(0, 1), 'a');
	happened();
	sched_on_faulted(world.sched, &(struct sched_fault){ .node = 1,
							     .fence = 77,
							     .is_fence_valid = true,
							     .needs_engine_reset = true });
	EXPECT_STR(happened(), "D141@1 E1 a! W3");
}

WORLD_TEST(tdr, a_fault_may_need_the_whole_adapter)
{
	work(world_queue(0, 1), 'a');
	work(world_queue(1, 2), 'b');
	happened();
	fake_gpu_page_fault(&world.gpu, 1, true);
	EXPECT_STR(happened(), "W7f D117@1 X2 Y2 Z2 begin A a! b! lost restart end");
}

WORLD_TEST(tdr, two_faults_in_a_row_are_two_engine_resets)
{
	struct sched_queue *one = world_queue(0, 1);
	struct sched_queue *two = world_queue(1, 1);
	struct sched_queue *three = world_queue(2, 1);
	work(one, 'a');
	work(two, 'b');
	work(three, 'c');
	happened();
	for (int i = 0; i < 2; i++) {
		fake_gpu_page_fault(&world.gpu, 1, false);
		sched_settle(world.sched);
	}
	EXPECT_STR(happened(), "W7f D141@1 E1 a! 1:b4+ 1:c5+ X7f D141@1 E1 b! 1:c6+");
}

WORLD_TEST(tdr, hardware_that_says_that_it_hangs_is_not_waited_for)
{
	work(world_queue(0, 1), 'a');
	happened();
	sched_on_timed_out(world.sched, 1);
	EXPECT_STR(happened(), "D141@1 E1 a! W3");
	sched_on_timed_out(world.sched, 1); /* and now it has nothing */
	EXPECT_STR(happened(), "");
}

static void say_that_it_hangs(uint32_t reason)
{
	if (reason == 0x141)
		sched_on_timed_out(world.sched, 0);
}

/* The hardware notices at the same time as the clock: it means what was reset then. */
WORLD_TEST(tdr, what_hardware_said_of_a_hang_is_not_said_of_what_runs_after_the_reset)
{
	work(world_queue(0, 0), 'a');
	work(world_queue(1, 0), 'b');
	world.gpu.on_debug_info = say_that_it_hangs;
	happened();
	pass_time(2 * DELAY_NS);
	EXPECT_STREAMS("0:b3+", "a!", "P0:1 Q0 D141@0 E0 W3");
	EXPECT(!world.owners[1].is_lost);
}

WORLD_TEST(tdr, a_refused_paging_packet_resets_the_adapter)
{
	struct fake_packet *packet = world_packet('p', SCHED_WORK);
	packet->packet.keeps_fence = true;
	packet->submit_status = STATUS_UNSUCCESSFUL;
	QUEUE(&world.system_queue, packet);
	/* Not before the pager knows why. */
	EXPECT_STR(happened(), "D117@0 W2 X2 Y2 Z2 begin A p! lost restart end");
}

/* The pager writes its tables anew, and the driver does not want them now either. */
static void be_refused_again(void)
{
	struct fake_packet *packet = world_packet('q', SCHED_WORK);

	world.gpu.on_reset_ended = NULL;
	packet->packet.keeps_fence = true;
	packet->submit_status = STATUS_UNSUCCESSFUL;
	QUEUE(&world.system_queue, packet);
}

WORLD_TEST(tdr, a_paging_packet_refused_when_the_reset_has_just_ended_resets_the_adapter_again)
{
	struct fake_packet *packet = world_packet('p', SCHED_WORK);
	packet->packet.keeps_fence = true;
	packet->submit_status = STATUS_UNSUCCESSFUL;
	world.gpu.on_reset_ended = be_refused_again;
	QUEUE(&world.system_queue, packet);
	EXPECT_STR(happened(), "D117@0 W2 X2 Y2 Z2 begin A p! lost restart end "
			       "D117@0 begin A q! lost restart end");
}

static void answer_late(uint32_t reason)
{
	if (reason != 0x117)
		return;
	world.gpu.nodes[0].preemption = 1;
	fake_gpu_preempted(&world.gpu, 0, 0);
}

/* Nobody waits for the answer any more when it comes, between the refusal and the reset. */
WORLD_TEST(tdr, a_refused_paging_packet_that_a_late_answer_gives_back_ends_with_the_reset)
{
	world.gpu.nodes[0].is_stuck = true;
	work(world_queue(0, 0), 'a');
	struct fake_packet *packet = world_packet('p', SCHED_WORK);
	packet->packet.keeps_fence = true;
	packet->submit_status = STATUS_UNSUCCESSFUL;
	QUEUE(&world.system_queue, packet);
	fake_gpu_complete(&world.gpu, 0, 1);
	EXPECT_STR(happened(), "0:a1 P0:1 a.");
	world.gpu.on_debug_info = answer_late;
	pass_time(DELAY_NS + NS_PER_MS);
	/* Not before the pager knows why. */
	EXPECT_STR(happened(), "D117@0 W2 X2 Y2 Z2 begin p! A lost restart end");
	EXPECT_EQ(packet->outcome, SCHED_ABORTED);
}

WORLD_MAIN("sched/tdr")
