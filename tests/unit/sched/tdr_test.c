/* SPDX-License-Identifier: MIT */
/*
 * tdr_test.c - what is late, and what becomes of it and of the others.
 */
#include "world.h"

#define DELAY_NS (2 * NS_PER_S + NS_PER_MS) /* TdrDelay, and a moment */

WORLD_TEST(tdr, work_that_lets_itself_be_preempted_may_run_longer)
{
	world.gpu.nodes[1].answers_at_once = true;
	EXPECT_AFTER(bring("W1:a"), "1:a1");
	EXPECT_AFTER(pass_time(DELAY_NS), "P1:1 1:a2+");
	EXPECT_AFTER(pass_time(DELAY_NS), "P1:2 1:a3+");
	EXPECT_AFTER(complete(1, 1), "a.");
}

WORLD_TEST(tdr, the_clock_starts_with_a_preemption_that_is_not_answered)
{
	struct sched_queue *high = world_queue_at(1, 1, 1);
	bring("W1:a");
	pass_time(NS_PER_S);
	EXPECT_AFTER(work(high, 'b'), "1:a1 P1:1");
	EXPECT_AFTER(pass_time(2 * NS_PER_S - NS_PER_MS),
		     ""); /* three seconds after the submission */
	EXPECT_AFTER(pass_time(2 * NS_PER_MS), "Q1 D141@1 E1 a! W3 1:b2");
}

WORLD_TEST(tdr, completion_in_time_is_fine_too)
{
	bring("W1:ab");
	EXPECT_AFTER(pass_time(DELAY_NS), "1:a1 1:b2 P1:1");
	pass_time(NS_PER_S);
	complete(1, 1);
	EXPECT_AFTER(pass_time(NS_PER_S + NS_PER_MS), "a."); /* b has its own time */
	EXPECT_AFTER(preempted(1, 0), "1:b3+");
}

WORLD_TEST(tdr, an_engine_reset_takes_down_the_guilty_owner_only)
{
	struct sched_queue *sister = world_queue(0, 2);
	bring("W1:a X1:b W1:c X1:d");
	wait_packet(sister, 'w');
	EXPECT_STR(happened(), "1:a1 1:b2 1:c3 1:d4");
	EXPECT_AFTER(pass_time(2 * DELAY_NS), "P1:1 Q1 D141@1 E1 a! c! w- W3 1:b5+ 1:d6+");
	EXPECT(world.owners[0].is_lost);
	EXPECT(!world.owners[1].is_lost);
	EXPECT_AFTER(complete(1, 2), "b. d.");
	/* A new owner works at once. */
	EXPECT_AFTER(bring("Y1:e"), "1:e7");
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
		EXPECT_AFTER(complete(1, 2), "1:a1 1:b2");
		EXPECT_AFTER(pass_time(2 * DELAY_NS), "P1:1 Q1 a. b.");
		EXPECT(!world.owners[0].is_lost);
		world_finish();
	}
}

WORLD_TEST(tdr, work_that_is_never_late_may_run_for_ever)
{
	struct sched_queue *queue = world_queue(0, 1);
	endless(queue, 'a');
	work(queue, 'b');
	EXPECT_AFTER(pass_time(100 * NS_PER_S), "1:a1 1:b2");
	struct sched_queue *high = world_queue_at(1, 1, 1);
	work(high, 'c'); /* somebody waits for it: it is asked, and still not late */
	EXPECT_AFTER(pass_time(100 * NS_PER_S), "P1:1");
	EXPECT_AFTER(complete(1, 1), "a.");
	pass_time(DELAY_NS); /* but b is */
	EXPECT_STR(happened(), "Q1 D141@1 E1 b! W3 1:c3");
}

WORLD_TEST_WITH(tdr, level_zero_has_no_clock, config.tdr_level = 0)
{
	bring("W1:a");
	EXPECT_AFTER(pass_time(100 * NS_PER_S), "1:a1");
}

WORLD_TEST_WITH(tdr, level_one_gives_the_adapter_up, config.tdr_level = 1)
{
	bring("W1:a X2:b");
	pass_time(DELAY_NS);
	preempted(2, 0);
	happened();
	EXPECT_AFTER(pass_time(DELAY_NS), "Q1 a! b! W3 X4 Y4 Z4 dead");
	world.gpu.nodes[1].count = world.gpu.nodes[2].count = 0;
}

WORLD_TEST_WITH(tdr, without_preemption_the_packet_itself_is_timed,
		config.is_preemption_aware = false)
{
	bring("W1:a");
	EXPECT_AFTER(pass_time(DELAY_NS), "1:a1 Q1 D141@1 E1 a! W3");
}

#define ADAPTER_RESET "begin A"

WORLD_TEST_WITH(tdr, without_engine_reset_the_adapter_is_reset, config.has_engine_reset = false)
{
	bring("W1:a X2:b");
	sched_owner_lose(&world.owners[3]);
	happened();
	pass_time(DELAY_NS);
	EXPECT_AFTER(preempted(2, 0), "P1:1 P2:1 2:b2+");
	EXPECT_AFTER(pass_time(DELAY_NS), "Q1 D117@1 W3 X2 Y2 begin A a! b! lost restart end");
	EXPECT(world.owners[2].is_lost);

	/* Ids go on, also where events of before come late. */
	struct sched_owner fresh;
	struct sched_queue queue;
	sched_owner_init(&fresh, world.sched, false);
	sched_queue_init(&queue, &fresh, 1);
	struct fake_packet *packet = world_packet('n', SCHED_WORK);
	QUEUE(&queue, packet);
	EXPECT_STR(happened(), "1:n2");
	EXPECT_AFTER(sched_on_completed(world.sched, 1, 1), "");
	EXPECT_AFTER(complete(1, 1), "n.");
	sched_queue_finish(&queue, SCHED_RUN_OUT);
	sched_owner_finish(&fresh);
}

WORLD_TEST(tdr, an_engine_that_cannot_be_reset_is_the_adapters_affair)
{
	bring("W1:a");
	world.gpu.nodes[1].reset_status = STATUS_UNSUCCESSFUL;
	pass_time(2 * DELAY_NS);
	EXPECT_STR(happened(),
		   "1:a1 P1:1 Q1 D141@1 E1 D117@1 W3 X2 Y2 Z2 begin A a! lost restart end");
}

WORLD_TEST(tdr, a_paging_packet_that_was_aborted_is_the_adapters_affair_and_nobodys_fault)
{
	paging('p');
	bring("W0:a");
	EXPECT_AFTER(paging('q'), "0:p1 0:a2 0:q3");
	pass_time(2 * DELAY_NS);
	EXPECT_STR(happened(),
		   "P0:1 Q0 D141@0 E0 D117@0 W2 X2 Y2 Z2 begin A p! q! a! lost restart end");
	EXPECT(!world.system.is_lost);
	EXPECT_AFTER(paging('r'), "0:r4");
}

/* Somebody brings work just when the engine was reset and the adapter is still to be. */
static struct sched_queue *latecomers_queue;

static void come_late(uint32_t reason)
{
	if (reason != 0x117)
		return;
	work(latecomers_queue, 'b');
	if (fake_gpu_held(&world.gpu, 0) > 0)
		complete(0, 1);
}

/* What completes behind it would say that it was done. */
WORLD_TEST(tdr, nothing_begins_on_an_engine_whose_paging_was_aborted_before_the_adapters_reset)
{
	struct fake_packet *packet = paging('p');
	latecomers_queue = world_queue(0, 0);
	world.gpu.on_debug_info = come_late;
	EXPECT_STR(happened(), "0:p1");
	EXPECT_STREAMS_AFTER(pass_time(2 * DELAY_NS), "", "b- p!",
			     "P0:1 Q0 D141@0 E0 D117@0 W2 X2 Y2 Z2 begin A lost restart end");
	EXPECT_EQ(packet->outcome, SCHED_ABORTED);
}

WORLD_TEST_WITH(tdr, nothing_begins_on_an_engine_that_could_not_be_reset_before_the_adapters_reset,
		config.is_preemption_aware = false)
{
	bring("X0:a");
	latecomers_queue = world_queue(0, 0);
	world.gpu.nodes[0].reset_status = STATUS_UNSUCCESSFUL;
	world.gpu.on_debug_info = come_late;
	happened();
	pass_time(2 * DELAY_NS);
	EXPECT_STR(words_of(happened(), SUBMISSIONS), "");
}

WORLD_TEST_WITH(tdr, the_kernels_queued_work_is_cancelled_by_an_adapter_reset,
		config.outstanding_max = 1)
{
	paging('p');
	EXPECT_AFTER(paging('q'), "0:p1");
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 0),
		     "D117@0 W2 X2 Y2 Z2 begin A p! q- lost restart end");
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
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, 0), "dead");
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
		complete(1, 1);
		works(queue, "bc");
		world.gpu.nodes[1].names_abort = true;
		world.gpu.nodes[1].aborted = wrong[i];
		EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1),
			     "1:a1 a. 1:b2 1:c3 D141@1 E1 b! c! W4 X4 Y4 Z4 dead");
		world_finish();
	}
}

WORLD_TEST(tdr, a_packet_that_completed_in_the_last_moment_is_still_to_blame)
{
	bring("W1:a");
	complete(1, 1);
	bring("X1:b");
	world.gpu.nodes[1].names_abort = true;
	world.gpu.nodes[1].aborted = 1;
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1),
		     "1:a1 a. 1:b2 D141@1 E1 W3 1:b3+");
}

WORLD_TEST(tdr, packets_before_the_aborted_one_count_as_completed)
{
	bring("W1:a X1:b W1:c");
	world.gpu.nodes[1].names_abort = true;
	world.gpu.nodes[1].aborted = 2;
	happened();
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1),
		     "D141@1 E1 a. b! X3 1:c4+");
}

WORLD_TEST(tdr, resets_that_blame_nobody_end_with_the_adapter)
{
	bring("W1:a");
	world.gpu.nodes[1].names_abort = true; /* and it is 0: nothing was aborted */
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1),
		     "1:a1 D141@1 E1 1:a2+");
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1),
		     "D141@1 E1 D117@1 a! W2 X2 Y2 Z2 begin A lost restart end");
}

WORLD_TEST(tdr, an_engine_without_work_is_not_reset)
{
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1), "D141@1");
}

WORLD_TEST(tdr, dependent_engines_are_preempted_or_reset_in_order)
{
	world.gpu.dependents[2] = 0xb; /* 0, 1 and 3 */
	world.gpu.nodes[1].answers_at_once = true;
	bring("W2:a X1:b Y3:c");
	happened();
	uint64_t before_ns = clock_now_ns();
	sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 2);
	EXPECT(clock_now_ns() - before_ns >= 500 * NS_PER_MS);
	EXPECT(clock_now_ns() - before_ns < 600 * NS_PER_MS);
	EXPECT_STR(happened(), "D141@2 P1:1 P3:1 E2 a! E3 c! W3 Y3 1:b2+");
}

WORLD_TEST(tdr, paging_comes_first_and_with_its_ids_after_an_engine_reset)
{
	world.gpu.nodes[0].names_abort = true;
	world.gpu.nodes[0].aborted = 1;
	bring("W0:a");
	complete(0, 1);
	paging('p');
	bring("X0:b");
	paging('q');
	happened();
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 0),
		     "D141@0 E0 W3 0:p2+ 0:q4+ 0:b5+");
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
	struct miniport_fault fault = { .node = 1,
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
	bring("W1:a");
	happened();
	sched_on_faulted(world.sched,
			 &(struct miniport_fault){ .node = 1, .fence = 1, .is_fence_valid = true });
	EXPECT_STR(happened(), "W6f D141@1 E1 a!");
}

WORLD_TEST(tdr, a_fault_without_a_fence_blames_what_was_aborted)
{
	bring("W1:a");
	happened();
	EXPECT_AFTER(sched_on_faulted(world.sched,
				      &(struct miniport_fault){ .node = 1, .is_page_fault = true }),
		     "D141@1 E1 a! W7f");
}

/* As everything a driver says of ids that it does not have. */
TEST(tdr, a_fault_of_what_the_hardware_does_not_have_is_ignored)
{
	struct miniport_fault fault = { .node = 1, .fence = 77, .is_fence_valid = true };

	world_start();
	work(world_queue(0, 1), 'a');
	happened();
	EXPECT_AFTER(sched_on_faulted(world.sched, &fault), "");
	EXPECT_AFTER(complete(1, 1), "a.");
	fault.fence = 1;
	EXPECT_AFTER(sched_on_faulted(world.sched, &fault), "");
	EXPECT(!world.owners[0].is_lost);
	world_finish();
}

WORLD_TEST(tdr, a_fault_that_needs_a_reset_gets_one_whatever_its_id)
{
	bring("W1:a");
	happened();
	sched_on_faulted(world.sched, &(struct miniport_fault){ .node = 1,
								.fence = 77,
								.is_fence_valid = true,
								.needs_engine_reset = true });
	EXPECT_STR(happened(), "D141@1 E1 a! W3");
}

WORLD_TEST(tdr, a_fault_may_need_the_whole_adapter)
{
	bring("W1:a X2:b");
	happened();
	EXPECT_AFTER(fake_gpu_page_fault(&world.gpu, 1, true),
		     "W7f D117@1 X2 Y2 Z2 begin A a! b! lost restart end");
}

WORLD_TEST(tdr, two_faults_in_a_row_are_two_engine_resets)
{
	bring("W1:a X1:b Y1:c");
	happened();
	for (int i = 0; i < 2; i++) {
		fake_gpu_page_fault(&world.gpu, 1, false);
		sched_settle(world.sched);
	}
	EXPECT_STR(happened(), "W7f D141@1 E1 a! 1:b4+ 1:c5+ X7f D141@1 E1 b! 1:c6+");
}

WORLD_TEST(tdr, hardware_that_says_that_it_hangs_is_not_waited_for)
{
	bring("W1:a");
	happened();
	EXPECT_AFTER(sched_on_timed_out(world.sched, 1), "D141@1 E1 a! W3");
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
	bring("W0:a X0:b");
	world.gpu.on_debug_info = say_that_it_hangs;
	happened();
	EXPECT_STREAMS_AFTER(pass_time(2 * DELAY_NS), "0:b3+", "a!", "P0:1 Q0 D141@0 E0 W3");
	EXPECT(!world.owners[1].is_lost);
}

static struct fake_packet *refused_paging(char name)
{
	struct fake_packet *packet = world_packet(name, SCHED_WORK);

	packet->packet.keeps_fence = true;
	packet->submit_status = STATUS_UNSUCCESSFUL;
	QUEUE(&world.system_queue, packet);
	return packet;
}

WORLD_TEST(tdr, a_refused_paging_packet_resets_the_adapter)
{
	refused_paging('p');
	/* Not before the pager knows why. */
	EXPECT_STR(happened(), "D117@0 W2 X2 Y2 Z2 begin A p! lost restart end");
}

/* The pager writes its tables anew, and the driver does not want them now either. */
static void be_refused_again(void)
{
	world.gpu.on_reset_ended = NULL;
	refused_paging('q');
}

WORLD_TEST(tdr, a_paging_packet_refused_when_the_reset_has_just_ended_resets_the_adapter_again)
{
	world.gpu.on_reset_ended = be_refused_again;
	refused_paging('p');
	EXPECT_STR(happened(), "D117@0 W2 X2 Y2 Z2 begin A p! lost restart end "
			       "D117@0 begin A q! lost restart end");
}

static void answer_late(uint32_t reason)
{
	if (reason != 0x117)
		return;
	world.gpu.nodes[0].preemption = 1;
	preempted(0, 0);
}

/* Nobody waits for the answer any more when it comes, between the refusal and the reset. */
WORLD_TEST(tdr, a_refused_paging_packet_that_a_late_answer_gives_back_ends_with_the_reset)
{
	world.gpu.nodes[0].is_stuck = true;
	bring("W0:a");
	struct fake_packet *packet = refused_paging('p');
	EXPECT_AFTER(complete(0, 1), "0:a1 P0:1 a.");
	world.gpu.on_debug_info = answer_late;
	pass_time(DELAY_NS + NS_PER_MS);
	/* Not before the pager knows why. */
	EXPECT_STR(happened(), "D117@0 W2 X2 Y2 Z2 begin p! A lost restart end");
	EXPECT_EQ(packet->outcome, SCHED_ABORTED);
}

WORLD_MAIN("sched/tdr")
