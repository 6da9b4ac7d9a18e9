/* SPDX-License-Identifier: MIT */
/*
 * hw_queue_test.c - queues that the hardware orders itself: what is over, when, and how.
 *
 *	1:a5   packet a went to the hardware on node 1, with progress 5
 */
#include "hw_world.h"

/* ---- in and out ---- */

HW_TEST(hw_queue, what_is_given_goes_to_the_hardware_at_once_whatever_that_has)
{
	struct hw_stream *stream = make(0, 0, 1);
	for (unsigned i = 1; i <= 3; i++)
		give(stream, (char)('a' + i - 1), 10 * i);
	EXPECT_AFTER(give(make(1, 0, 1), 'x', 1), "1:a10 1:b20 1:c30 1:x1");
	EXPECT_AFTER(reach(stream, 20), "a. b.");
	EXPECT_AFTER(reach(stream, 29), "");
	reach(stream, 30);
	EXPECT_AFTER(reach(&streams[1], 1), "c. x.");
}

HW_TEST(hw_queue, takes_only_progress_that_grows)
{
	struct hw_stream *stream = make(0, 0, 1);
	give(stream, 'a', 5);
	EXPECT_EQ(sched_queue_submit(&stream->queue, &hw_packet('b', 5)->packet, false),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(sched_queue_submit(&stream->queue, &hw_packet('c', 4)->packet, false),
		  STATUS_INVALID_PARAMETER);
	EXPECT_AFTER(reach(stream, 5), "1:a5 a.");
}

HW_TEST(hw_queue, may_be_done_before_the_driver_comes_back)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_packet *packet = hw_packet('a', 1);
	packet->completes_at_once = true;
	QUEUE(&stream->queue, packet);
	EXPECT_STR(happened(), "1:a1 a.");
}

HW_TEST(hw_queue, signal_acts_behind_what_is_done_and_wait_holds_what_is_behind)
{
	struct hw_stream *stream = make(0, 0, 1);
	give(stream, 'a', 1);
	signal_packet(&stream->queue, 's');
	struct fake_packet *wait = wait_packet(&stream->queue, 'w');
	EXPECT_AFTER(give(stream, 'b', 2), "1:a1");
	EXPECT_AFTER(reach(stream, 1), "a. s^ s.");
	atomic_store(&wait->is_reached, true);
	EXPECT_STREAMS_AFTER(sched_queue_kick(&stream->queue), "1:b2", "w.", "");
	EXPECT_AFTER(reach(stream, 2), "b.");
}

HW_TEST(hw_queue, that_the_driver_refuses_takes_its_owner_along)
{
	struct hw_stream *stream = make(0, 0, 1);
	give(stream, 'a', 1);
	struct hw_packet *packet = hw_packet('b', 2);
	packet->submit_status = STATUS_INVALID_PARAMETER;
	QUEUE(&stream->queue, packet);
	EXPECT_STREAMS("1:a1 1:b2", "", "W6");
	/* The hardware has the first one, and is waited for. */
	EXPECT_AFTER(reach(stream, 1), "a. b!");
}

/* ---- what the hardware can take ---- */

HW_TEST_WITH(hw_queue, has_no_more_with_the_hardware_than_was_agreed_for_its_node,
	     config.outstanding_max = 3)
{
	struct hw_stream *one = make(0, 0, 1);
	struct hw_stream *two = make(1, 1, 1);
	struct hw_stream *elsewhere = make(2, 1, 2);
	gives(one, "abc");
	gives(two, "xy");
	EXPECT_AFTER(give(elsewhere, 'z', 1), "1:a1 1:b2 1:c3 2:z1");
	EXPECT_STREAMS_AFTER(reach(one, 1), "1:x1", "a.", "");
	EXPECT_STREAMS_AFTER(reach(one, 3), "1:y2", "b. c.", "");
	reach(two, 2);
	EXPECT_STREAMS_AFTER(reach(elsewhere, 1), "", "x. y. z.", "");
}

HW_TEST_WITH(hw_queue, shares_the_room_of_its_node_with_contexts_in_turn,
	     config.outstanding_max = 1)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct sched_queue *context = world_queue(1, 1);
	gives(stream, "abc");
	for (char name = 'x'; name <= 'z'; name++)
		work(context, name);
	EXPECT_STR(happened(), "1:a1");
	for (unsigned i = 1; i <= 3; i++) {
		reach(stream, i);
		sched_settle(world.sched);
		complete(1, 1);
		sched_settle(world.sched);
	}
	EXPECT_STREAMS("1:x1 1:b2 1:y2 1:c3 1:z3", "a. x. b. y. c. z.", "");
}

HW_TEST_WITH(hw_queue, lets_paging_go_first_when_there_is_room, config.outstanding_max = 1)
{
	struct hw_stream *stream = make(0, 0, 0);
	gives(stream, "abc");
	paging('p');
	EXPECT_AFTER(paging('q'), "0:a1");
	EXPECT_STREAMS_AFTER(reach(stream, 1), "0:p1", "a.", "");
	EXPECT_STREAMS_AFTER(complete(0, 1), "0:q2", "p.", "");
	EXPECT_STREAMS_AFTER(complete(0, 1), "0:b2", "q.", "");
	EXPECT_STREAMS_AFTER(reach(stream, 2), "0:c3", "b.", "");
	EXPECT_AFTER(reach(stream, 3), "c.");
}

HW_TEST_WITH(hw_queue, finds_the_room_that_nobody_spoke_of, config.outstanding_max = 1)
{
	struct hw_stream *stream = make(0, 0, 1);
	give(stream, 'a', 1);
	atomic_store(&stream->fence, 1);
	give(stream, 'b', 2);
	EXPECT_STREAMS("1:a1 1:b2", "a.", "");
	EXPECT_AFTER(reach(stream, 2), "b.");
}

HW_TEST_WITH(hw_queue, is_late_only_with_what_the_hardware_has, config.outstanding_max = 1)
{
	struct hw_stream *one = make(0, 0, 1);
	struct hw_stream *two = make(1, 1, 1);
	give(one, 'a', 1);
	give(two, 'x', 1);
	pass_time(NS_PER_S);
	EXPECT_STREAMS_AFTER(reach(one, 1), "1:a1 1:x1", "a.", "");
	EXPECT_AFTER(pass_time(NS_PER_S + NS_PER_S / 2), "");
	EXPECT_AFTER(reach(two, 1), "x.");
}

/* ---- who waits ---- */

static bool was_told;

static void told(struct sched_wait *wait)
{
	(void)wait;
	was_told = true;
}

TEST(hw_queue, is_waited_for_like_any_other_work)
{
	struct sched_wait all = { .over = told };

	start();
	struct hw_stream *stream = make(0, 0, 1);
	was_told = false;
	give(stream, 'a', 1);
	sched_after_submitted(&world.owners[0], &all);
	EXPECT(!was_told);
	reach(stream, 1);
	EXPECT(was_told);
	was_told = false;
	give(stream, 'b', 2);
	sched_after_owner(&world.owners[0], &all);
	sched_owner_lose(&world.owners[0]);
	EXPECT(!was_told); /* the hardware may still write */
	reach(stream, 2);
	EXPECT(was_told);
	finish();
}

HW_TEST(hw_queue, of_a_suspended_owner_gives_nothing_new)
{
	struct hw_stream *stream = make(0, 0, 1);
	sched_owner_suspend(&world.owners[0]);
	EXPECT_AFTER(give(stream, 'a', 1), "");
	EXPECT_AFTER(sched_owner_resume(&world.owners[0]), "1:a1");
	EXPECT_AFTER(reach(stream, 1), "a.");
}

/* ---- faults and resets ---- */

static void hit_first(uint32_t node)
{
	(void)node;
	sched_on_hw_context_hit(streams[0].queue.owner, &streams[0].context_name, false);
}

static void hit_second_too(uint32_t node)
{
	hit_first(node);
	sched_on_hw_context_hit(streams[1].queue.owner, &streams[1].context_name, true);
}

HW_TEST(fault, of_a_queue_lets_what_is_in_front_count_as_done)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_stream *other = make(1, 1, 1);
	world.gpu.on_hw_reset = hit_first;
	gives(stream, "abc");
	EXPECT_AFTER(give(other, 'x', 1), "1:a1 1:b2 1:c3 1:x1");
	sched_on_faulted(world.sched, &(struct miniport_fault){ .node = 1,
								.is_page_fault = true,
								.is_hw_queue = true,
								.driver_queue = &stream->name,
								.queue_fence = 2 });
	EXPECT_STREAMS("", "a. b! c!", "W7f D141@1 H1 R1");
	EXPECT_AFTER(reach(other, 1), "x.");
}

HW_TEST(late, is_a_queue_that_nothing_is_finished_of_whatever_is_done_beside_it)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_stream *other = make(1, 1, 1);
	world.gpu.on_hw_reset = hit_first;
	give(stream, 'a', 1);
	EXPECT_AFTER(gives(other, "xy"), "1:a1 1:x1 1:y2");
	pass_time(DELAY_NS - NS_PER_S);
	EXPECT_AFTER(reach(other, 1), "x.");
	EXPECT_STREAMS_AFTER(pass_time(NS_PER_S), "", "a!", "D141@1 H1 R1 W3");
	EXPECT_AFTER(reach(other, 2), "y.");
}

HW_TEST(late, is_no_queue_that_something_is_finished_of)
{
	struct hw_stream *stream = make(0, 0, 1);
	EXPECT_AFTER(gives(stream, "abc"), "1:a1 1:b2 1:c3");
	for (uint64_t progress = 1; progress <= 3; progress++) {
		pass_time(DELAY_NS - NS_PER_S);
		reach(stream, progress);
	}
	EXPECT_STR(happened(), "a. b. c.");
	/* Nor one that had nothing for long. */
	pass_time(100 * DELAY_NS);
	give(stream, 'd', 4);
	pass_time(DELAY_NS - NS_PER_S);
	EXPECT_AFTER(reach(stream, 4), "1:d4 d.");
}

HW_TEST(late, a_queue_is_from_its_own_first_packet_on)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_stream *other = make(1, 1, 1);
	world.gpu.on_hw_reset = hit_first;
	give(other, 'x', 1);
	pass_time(NS_PER_S);
	give(stream, 'a', 1);
	pass_time(NS_PER_S / 2);
	EXPECT_AFTER(reach(other, 1), "1:x1 1:a1 x.");
	EXPECT_AFTER(pass_time(DELAY_NS - NS_PER_S), "");
	EXPECT_STREAMS_AFTER(pass_time(NS_PER_S / 2), "", "a!", "D141@1 H1 R1 W3");
}

HW_TEST(late, hardware_queues_leave_contexts_of_the_node_alone)
{
	struct hw_stream *stream = make(0, 0, 1);
	world.gpu.on_hw_reset = hit_first;
	world.gpu.nodes[1].answers_at_once = true;
	work(world_queue(1, 1), 'k');
	EXPECT_AFTER(give(stream, 'a', 1), "1:k1 1:a1");
	pass_time(NS_PER_S);
	complete(1, 1);
	work(world_queue(1, 1), 'l');
	EXPECT_STREAMS_AFTER(pass_time(DELAY_NS - NS_PER_S), "1:l2", "k. a!", "D141@1 H1 R1 W3");
	EXPECT_AFTER(complete(1, 1), "l.");
}

static void write_unheard(uint32_t node)
{
	fake_gpu_note(&world.gpu, "written");
	atomic_store(&streams[node].fence, 1);
}

/* What an engine says while it is reset is not heard: it is looked at afterwards. */
HW_TEST(reset, of_contexts_finds_what_hardware_queues_finished_meanwhile)
{
	struct hw_stream *stream = make(0, 0, 0);

	EXPECT_AFTER(bring("X0:c"), "0:c1");
	pass_time(DELAY_NS + NS_PER_S);
	give(stream, 'a', 1);
	happened();
	world.gpu.on_reset = write_unheard;
	EXPECT_STREAMS_AFTER(pass_time(NS_PER_S + 2 * NS_PER_MS), "", "c! a.",
			     "Q0 D141@0 E0 written X3");
}

static void give_endless(struct hw_stream *stream, char name)
{
	struct hw_packet *packet = hw_packet(name, 1);

	packet->packet.is_never_late = true;
	QUEUE(&stream->queue, packet);
}

HW_TEST(late, is_nobody_while_work_runs_that_is_never_late)
{
	struct hw_stream *stream = make(0, 0, 1);
	give_endless(stream, 'a');
	EXPECT_AFTER(pass_time(100 * DELAY_NS), "1:a1");
	EXPECT_AFTER(reach(stream, 1), "a.");
}

HW_TEST(late, is_nobody_for_having_waited_behind_work_that_is_never_late)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_stream *other = make(1, 1, 1);
	world.gpu.on_hw_reset = hit_first;
	give_endless(other, 'x');
	give(stream, 'a', 1);
	EXPECT_AFTER(pass_time(100 * DELAY_NS), "1:x1 1:a1");
	reach(other, 1);
	EXPECT_AFTER(pass_time(DELAY_NS - NS_PER_S), "x.");
	/* Now it could run, and nothing comes. */
	EXPECT_STREAMS_AFTER(pass_time(NS_PER_S), "", "a!", "D141@1 H1 R1 W3");
}

/* Who ends the device waits for its end, and nobody else may be late meanwhile. */
HW_TEST(late, is_also_work_that_is_never_late_when_its_owner_is_lost)
{
	struct hw_stream *stream = make(0, 0, 1);
	world.gpu.on_hw_reset = hit_first;
	give_endless(stream, 'a');
	EXPECT_AFTER(pass_time(100 * DELAY_NS), "1:a1");
	EXPECT(sched_owner_lose(&world.owners[0]));
	EXPECT_STREAMS_AFTER(pass_time(DELAY_NS), "", "a!", "D141@1 H1 R1");
}

HW_TEST(reset, takes_victims_down_as_such)
{
	give(make(0, 0, 1), 'a', 1);
	give(make(1, 1, 1), 'x', 1);
	world.gpu.on_hw_reset = hit_second_too;
	EXPECT_STREAMS_AFTER(sched_on_timed_out(world.sched, 1), "1:a1 1:x1", "a! x!",
			     "D141@1 H1 R1 W3 X2");
}

TEST(reset, that_fails_or_is_not_there_is_the_adapters_affair)
{
	for (unsigned way = 0; way < 3; way++) {
		struct sched_config config = fake_gpu_config();

		config.has_hw_engine_reset = way != 2;
		start_with(&config);
		world.gpu.hw_reset_status = way == 0 ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
		world.gpu.hw_resume_status = way == 1 ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
		give(make(0, 0, 1), 'a', 1);
		EXPECT_STR(happened(), "1:a1");
		sched_on_timed_out(world.sched, 1);
		const char *log = happened();
		EXPECT_STR(words_of(log, RETIREMENTS), "a!");
		EXPECT_STR(words_of(log, THE_REST),
			   way == 0   ? "D141@1 H1 D117@1 W3 X2 Y2 Z2 begin A lost restart end"
			   : way == 1 ? "D141@1 H1 R1 D117@1 W3 X2 Y2 Z2 begin A lost restart end"
				      : "D117@1 W3 X2 Y2 Z2 begin A lost restart end");
		finish();
	}
}

HW_TEST(reset, that_hits_nobody_is_tried_once_more)
{
	EXPECT_AFTER(give(make(0, 0, 1), 'a', 1), "1:a1");
	EXPECT_AFTER(sched_on_timed_out(world.sched, 1), "D141@1 H1 R1");
	EXPECT_STREAMS_AFTER(sched_on_timed_out(world.sched, 1), "", "a!",
			     "D141@1 H1 R1 D117@1 W2 X2 Y2 Z2 begin A lost restart end");
}

static void hit_second(uint32_t node)
{
	(void)node;
	sched_on_hw_context_hit(streams[1].queue.owner, &streams[1].context_name, false);
}

/* It may have waited behind what was hit; that once. */
HW_TEST(reset, that_twice_hits_others_than_who_is_late_is_the_adapters_affair)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_stream *other = make(1, 1, 1);
	world.gpu.on_hw_reset = hit_second;
	give(stream, 'a', 1);
	EXPECT_AFTER(give(other, 'x', 1), "1:a1 1:x1");
	EXPECT_STREAMS_AFTER(pass_time(DELAY_NS), "", "x!", "D141@1 H1 R1 X3");
	world.gpu.on_hw_reset = NULL;
	EXPECT_STREAMS_AFTER(pass_time(DELAY_NS), "", "a!",
			     "D141@1 H1 R1 D117@1 W2 Y2 Z2 begin A lost restart end");
}

HW_TEST_WITH(reset, that_is_not_there_takes_whose_queue_is_late_for_the_guilty_one,
	     config.has_hw_engine_reset = false)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_stream *other = make(1, 1, 1);
	give(stream, 'a', 1);
	gives(other, "xy");
	pass_time(NS_PER_S);
	EXPECT_AFTER(reach(other, 1), "1:a1 1:x1 1:y2 x.");
	EXPECT_STREAMS_AFTER(pass_time(DELAY_NS - NS_PER_S), "", "a! y!",
			     "D117@1 W3 X2 Y2 Z2 begin A lost restart end");
}

HW_TEST(reset, follows_when_a_driver_says_out_of_turn_that_a_context_was_hit)
{
	struct hw_stream *stream = make(0, 0, 1);
	EXPECT_AFTER(give(stream, 'a', 1), "1:a1");
	EXPECT_STREAMS_AFTER(hit_first(1), "", "a!", "W3 D141@1 H1 R1");
}

/* ---- how long for whom ---- */

HW_TEST(busy, time_counts_of_each_queue_for_its_process_and_of_the_node_once)
{
	struct sched_process one = { .id = 7 }, two = { .id = 8 };

	world.owners[0].process = &one;
	world.owners[1].process = &two;
	give(make(0, 0, 1), 'a', 1);
	give(make(1, 1, 1), 'x', 1);
	pass_time(100 * NS_PER_MS);
	EXPECT(is_about(sched_process_busy_ns(world.sched, &one), 100 * NS_PER_MS));
	EXPECT(is_about(sched_node_statistics(world.sched, 1).busy_ns, 100 * NS_PER_MS));
	reach(&streams[0], 1);
	pass_time(100 * NS_PER_MS);
	reach(&streams[1], 1);
	pass_time(100 * NS_PER_MS);
	EXPECT(is_about(sched_process_busy_ns(world.sched, &one), 100 * NS_PER_MS));
	EXPECT(is_about(sched_process_busy_ns(world.sched, &two), 200 * NS_PER_MS));
	EXPECT(is_about(sched_node_statistics(world.sched, 1).busy_ns, 200 * NS_PER_MS));
}

/* A node's books are of all that it was given, whoever scheduled it. */
HW_TEST(counts, of_a_node_have_what_hardware_queues_were_given)
{
	struct hw_stream *stream = make(0, 0, 1);
	struct hw_stream *other = make(1, 1, 1);
	world.gpu.on_hw_reset = hit_first;
	gives(stream, "ab");
	give(other, 'x', 1);
	reach(other, 1);
	reach(stream, 1);

	struct sched_packet_counts counts = sched_node_statistics(world.sched, 1).clients;

	EXPECT_EQ(counts.submitted, 3);
	EXPECT_EQ(counts.completed, 2);
	EXPECT_EQ(counts.aborted, 0);
	EXPECT_EQ(sched_reset_count(world.sched, SCHED_RESET_HW_QUEUES), 0);
	pass_time(DELAY_NS);
	counts = sched_node_statistics(world.sched, 1).clients;
	EXPECT_EQ(counts.submitted, 3);
	EXPECT_EQ(counts.completed, 2);
	EXPECT_EQ(counts.aborted, 1);
	EXPECT_EQ(sched_reset_count(world.sched, SCHED_RESET_HW_QUEUES), 1);
	EXPECT_EQ(sched_reset_count(world.sched, SCHED_RESET_ENGINE), 0);
	EXPECT_EQ(sched_reset_count(world.sched, SCHED_RESET_ADAPTER), 0);
	EXPECT_EQ(sched_node_statistics(world.sched, 0).clients.submitted, 0);
	happened();
}

HW_TEST(stop, waits_for_the_hardware)
{
	struct hw_stream *stream = make(0, 0, 1);
	world.gpu.on_hw_reset = hit_first;
	give(stream, 'a', 1);
	/* Nobody turns it: the clock ends it. */
	EXPECT_STREAMS_AFTER(sched_stop(world.sched), "1:a1", "a!", "W4 X4 Y4 Z4 D141@1 H1 R1");
}

WORLD_MAIN("sched/hw_queue")
