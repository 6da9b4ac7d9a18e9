/* SPDX-License-Identifier: MIT */
/*
 * mistake_test.c - what a driver says of its work that cannot be is put right, and told.
 */
#include "hw_world.h"

static void expect_silence(void)
{
	sched_settle(world.sched);
	EXPECT_STR(world.gpu.report, "");
	EXPECT_EQ(world.gpu.reports, 0);
}

/* Once, of this node, with all of these words. */
static void expect_told(enum rule rule, uint32_t node, const char *said, const char *expected)
{
	sched_settle(world.sched);
	EXPECT_EQ(world.gpu.reports, 1);
	EXPECT_STR(rule_id(world.gpu.report_rule), rule_id(rule));
	EXPECT_EQ(world.gpu.report_node, node);
	EXPECT_CONTAINS(world.gpu.report, said);
	EXPECT_CONTAINS(world.gpu.report, expected);
	world.gpu.reports = 0;
	world.gpu.report[0] = '\0';
}

/* ---- completions ---- */

WORLD_TEST(completion, of_several_at_once_is_no_mistake)
{
	bring("W1:abc");
	EXPECT_AFTER(complete(1, 3), "1:a1 1:b2 1:c3 a. b. c.");
	expect_silence();
}

WORLD_TEST(completion, that_comes_again_is_told_and_changes_nothing)
{
	bring("W1:abc");
	EXPECT_AFTER(complete(1, 2), "1:a1 1:b2 1:c3 a. b.");
	expect_silence();
	sched_on_completed(world.sched, 1, 2);
	expect_told(RULE_DDI_COMPLETION_DOUBLED, 1, "fence 2 of node 1", "fence 3 was expected");
	sched_on_completed(world.sched, 1, 1);
	expect_told(RULE_DDI_COMPLETION_DOUBLED, 1, "fence 1 of node 1", "fence 3 was expected");
	EXPECT_STR(happened(), "");
	complete(1, 1);
	sched_on_completed(world.sched, 1, 3);
	expect_told(RULE_DDI_COMPLETION_DOUBLED, 1, "fence 3 of node 1", "nothing was expected");
	EXPECT_STR(happened(), "c.");
}

WORLD_TEST(completion, of_what_was_never_submitted_is_told_and_changes_nothing)
{
	static const uint32_t nonsense[] = { 3, 1000, 0, 0x80000000, 0xdeadbeef, UINT32_MAX };

	bring("W1:ab");
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		char said[32];

		snprintf(said, sizeof(said), "fence %u of node 1", nonsense[i]);
		sched_on_completed(world.sched, 1, nonsense[i]);
		expect_told(RULE_DDI_COMPLETION_FENCE, 1, said, "fence 1 was expected");
	}
	EXPECT_STR(happened(), "1:a1 1:b2");
}

WORLD_TEST(completion, of_what_was_given_back_is_told)
{
	struct sched_queue *high = world_queue_at(1, 1, 1);
	bring("W1:a");
	work(high, 'b');
	EXPECT_AFTER(preempted(1, 0), "1:a1 P1:1 1:b2 1:a3+");
	expect_silence();
	sched_on_completed(world.sched, 1, 1);
	expect_told(RULE_DDI_COMPLETION_FENCE, 1, "fence 1 of node 1", "fence 2 was expected");
	EXPECT_STR(happened(), "");
}

/* Where a driver stops, it says how far it got; an interrupt for that may still be on its way. */
WORLD_TEST(completion, that_a_preemption_has_told_already_is_no_mistake)
{
	struct sched_queue *high = world_queue_at(1, 1, 1);
	bring("W1:ab");
	work(high, 'c');
	preempted(1, 1);
	sched_on_completed(world.sched, 1, 1);
	expect_silence();
}

WORLD_TEST(completion, of_what_a_reset_took_is_no_mistake)
{
	bring("W1:a X1:b");
	EXPECT_AFTER(pass_time(2 * DELAY_NS), "1:a1 1:b2 P1:1 Q1 D141@1 E1 a! W3 1:b3+");
	sched_on_completed(world.sched, 1, 1);
	sched_on_completed(world.sched, 1, 2);
	sched_on_preempted(world.sched, 1, 1, 0);
	expect_silence();
	complete(1, 1);
	expect_silence();
	sched_on_completed(world.sched, 1, 3);
	expect_told(RULE_DDI_COMPLETION_DOUBLED, 1, "fence 3 of node 1", "nothing was expected");
}

WORLD_TEST_WITH(completion, that_only_the_answer_tells_is_lost, config.is_preemption_aware = false)
{
	bring("W1:ab");
	world.gpu.nodes[1].hides_completion = true;
	world.gpu.nodes[1].is_mute = true;
	complete(1, 2);
	expect_silence();
	EXPECT_AFTER(pass_time(2 * DELAY_NS), "1:a1 1:b2 Q1 a. b.");
	expect_told(RULE_DDI_COMPLETION_LOST, 1, "fence 1 of node 1",
		    "DxgkDdiQueryCurrentFence says 2");
	/* Late, and not once more. */
	sched_on_completed(world.sched, 1, 2);
	expect_silence();
}

/* After DxgkDdiNotifySurpriseRemoval a driver tells of nothing, and may still answer. */
WORLD_TEST_WITH(completion, that_hardware_which_is_taken_away_does_not_tell_is_no_mistake,
		config.is_preemption_aware = false)
{
	bring("W1:ab");
	world.gpu.nodes[1].hides_completion = true;
	world.gpu.nodes[1].is_mute = true;
	complete(1, 2);
	sched_hardware_leaves(world.sched);
	EXPECT_AFTER(pass_time(2 * DELAY_NS), "1:a1 1:b2 Q1 a. b.");
	expect_silence();
}

WORLD_TEST_WITH(completion, that_comes_while_it_is_asked_for_is_not_lost,
		config.is_preemption_aware = false)
{
	bring("W1:a");
	world.gpu.nodes[1].hides_completion = true;
	complete(1, 1);
	EXPECT_AFTER(pass_time(2 * DELAY_NS), "1:a1 Q1 a.");
	expect_silence();
}

/* ---- preemptions ---- */

WORLD_TEST(preemption, that_nobody_asked_for_or_that_is_answered_twice_is_told)
{
	struct sched_queue *high = world_queue_at(1, 1, 1);
	bring("W1:a");
	sched_on_preempted(world.sched, 1, 7, 0);
	expect_told(RULE_DDI_COMPLETION_FENCE, 1, "preemption 7 of node 1", "the last was 0");
	work(high, 'b');
	sched_on_preempted(world.sched, 1, 9, 0);
	expect_told(RULE_DDI_COMPLETION_FENCE, 1, "preemption 9 of node 1", "the last was 1");
	preempted(1, 0);
	expect_silence();
	sched_on_preempted(world.sched, 1, 1, 0);
	expect_told(RULE_DDI_COMPLETION_DOUBLED, 1, "preemption 1 of node 1", "again");
	EXPECT_STR(happened(), "1:a1 P1:1 1:b2 1:a3+");
}

/* For b, which is worth more, the hardware is asked to stop a. */
static void ask_for_preemption(void)
{
	work(world_queue(0, 1), 'a');
	EXPECT_AFTER(work(world_queue_at(1, 1, 1), 'b'), "1:a1 P1:1");
}

WORLD_TEST(preemption, that_names_what_was_never_submitted_is_told)
{
	ask_for_preemption();
	world.gpu.nodes[1].preemption = 0;
	world.gpu.nodes[1].count = 0;
	sched_on_preempted(world.sched, 1, 1, 77);
	expect_told(RULE_DDI_COMPLETION_FENCE, 1, "fence 77 of node 1", "it was 0");
	EXPECT_STR(happened(), "1:b2 1:a3+");
}

WORLD_TEST(preemption, that_is_never_answered_is_lost)
{
	ask_for_preemption();
	complete(1, 1);
	expect_silence();
	world.gpu.nodes[1].preemption = 0;
	pass_time(2 * DELAY_NS);
	expect_told(RULE_DDI_COMPLETION_LOST, 1, "preemption 1 of node 1",
		    "the hardware has nothing");
}

static void complete_what_runs(uint32_t reason)
{
	(void)reason;
	complete(1, 1);
}

static void answer_unheard(uint32_t node)
{
	world.gpu.nodes[node].preemption = 0;
}

/* It has nothing left to be reset for, and is about to answer. */
WORLD_TEST(preemption, of_an_engine_that_is_spared_its_reset_is_heard)
{
	ask_for_preemption();
	world.gpu.on_debug_info = complete_what_runs;
	world.gpu.on_ignored = answer_unheard;
	EXPECT_AFTER(sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, 1), "D141@1 a.");
	EXPECT_EQ(world.gpu.nodes[1].preemption, 1);
	EXPECT_AFTER(preempted(1, 0), "1:b2");
	complete(1, 1);
	pass_time(2 * DELAY_NS);
	expect_silence();
}

/* ---- faults ---- */

TEST(fault, of_what_the_hardware_does_not_have_is_told)
{
	for (int needs_reset = 0; needs_reset < 2; needs_reset++) {
		world_start();
		struct sched_queue *queue = world_queue(0, 1);
		work(queue, 'a');
		sched_on_faulted(world.sched, &(struct miniport_fault){
						      .node = 1,
						      .fence = 5,
						      .is_fence_valid = true,
						      .is_page_fault = true,
						      .needs_engine_reset = needs_reset,
					      });
		expect_told(RULE_DDI_COMPLETION_FENCE, 1, "fence 5 of node 1",
			    "fence 1 was expected");
		world_finish();
	}
}

WORLD_TEST(fault, of_what_runs_is_no_mistake)
{
	bring("W1:ab");
	fake_gpu_page_fault(&world.gpu, 1, false);
	expect_silence();
}

/* ---- hardware queues ---- */

static struct hw_stream *stream_at_5_of_9(void)
{
	struct hw_stream *stream = make(0, 0, 1);
	give(stream, 'a', 5);
	give(stream, 'b', 9);
	reach(stream, 5);
	return stream;
}

HW_TEST(progress, that_grows_within_what_was_submitted_is_no_mistake)
{
	struct hw_stream *stream = stream_at_5_of_9();
	reach(stream, 5);
	reach(stream, 9);
	give(stream, 'c', 10);
	EXPECT_AFTER(reach(stream, 10), "1:a5 1:b9 a. b. 1:c10 c.");
	expect_silence();
}

HW_TEST(progress, past_what_was_submitted_or_backwards_is_told)
{
	struct hw_stream *stream = stream_at_5_of_9();
	expect_silence();
	reach(stream, 4);
	expect_told(RULE_DDI_COMPLETION_FENCE, 1, "on node 1 went back to 4", "it was 5");
	reach(stream, 12);
	expect_told(RULE_DDI_COMPLETION_FENCE, 1, "on node 1 says 12",
		    "the newest that was submitted is 9");
	EXPECT_STR(happened(), "1:a5 1:b9 a. b.");
}

HW_TEST(progress, that_no_interrupt_told_is_lost)
{
	struct hw_stream *stream = make(0, 0, 1);
	EXPECT_AFTER(give(stream, 'a', 5), "1:a5");
	atomic_store(&stream->fence, 5);
	EXPECT_AFTER(pass_time(NS_PER_S), "");
	EXPECT_AFTER(pass_time(DELAY_NS), "a.");
	expect_told(RULE_DDI_COMPLETION_LOST, 1, "on node 1 says 5", "5 was awaited");
}

HW_TEST(progress, of_a_fault_that_was_never_submitted_is_told)
{
	struct hw_stream *stream = make(0, 0, 1);
	give(stream, 'a', 5);
	sched_on_faulted(world.sched, &(struct miniport_fault){
					      .node = 1,
					      .is_hw_queue = true,
					      .driver_queue = &stream->name,
					      .queue_fence = 50,
					      .is_page_fault = true,
				      });
	expect_told(RULE_DDI_COMPLETION_FENCE, 1, "progress 50", "submitted is 5");
}

WORLD_MAIN("sched/mistake")
