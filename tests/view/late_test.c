/* SPDX-License-Identifier: MIT */
/*
 * late_test.c - what a trace tells that begins when there is something already, as the tables have it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "cli/view/model.h"
#include "cli/view/names.h"
#include "support/test.h"
#include "trace/trace.h"

static struct view_model model;

static void read_story(void (*tell)(void))
{
	int file = memfd_create("trace", MFD_CLOEXEC);
	int copy = dup(file);
	char path[64];
	char problem[512];

	EXPECT(copy >= 0 && trace_start_to(file, "a story", 0));
	tell();
	trace_finish();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	EXPECT(view_model_read(path, &model, problem, sizeof(problem)));
	EXPECT_STR(problem, "");
	close(copy);
}

/* The scheduler goes on while it is asked: what it does then is told once more. */
static void tell_twice(void)
{
	for (int i = 0; i < 2; i++) {
		trace_packet_queued(1, 5, 7, "work");
		trace_packet_queued(1, 5, 8, "wait");
		trace_packet_submitted(1, 0, 3, 5, 0, 7);
		trace_hw_packet_submitted(1, 6, 4, 0);
	}
	trace_packet_left(1, 0, 3, "completed");
	trace_packet_retired(1, 5, 7, "done");
	trace_hw_packet_left(1, 6, 4, "completed");
}

TEST(late, what_is_told_twice_is_there_once)
{
	uint32_t queued = 0;

	read_story(tell_twice);
	EXPECT_EQ(VIEW_ROWS(&model, packets), 3);
	EXPECT_EQ(VIEW_ROWS(&model, runs), 2);
	for (uint32_t i = 0; i < VIEW_ROWS(&model, packets); i++)
		queued += VIEW_AT(&model, packets, left, i) < 0;
	EXPECT_EQ(queued, 1);
	for (uint32_t i = 0; i < VIEW_ROWS(&model, runs); i++)
		EXPECT(VIEW_AT(&model, runs, end, i) >= 0);
	view_model_finish(&model);
}

/* An adapter that begins anew counts from the beginning, too. */
static void tell_of_two_lives(void)
{
	for (int i = 0; i < 2; i++) {
		trace_packet_queued(1, 5, 7, "work");
		trace_packet_submitted(1, 0, 3, 5, 0, 7);
		trace_packet_left(1, 0, 3, "completed");
		trace_packet_retired(1, 5, 7, "done");
	}
}

TEST(late, the_same_number_after_its_end_is_another_packet)
{
	read_story(tell_of_two_lives);
	EXPECT_EQ(VIEW_ROWS(&model, packets), 2);
	EXPECT_EQ(VIEW_ROWS(&model, runs), 2);
	view_model_finish(&model);
}

/* What a packet waits for is told before it, each time. */
static void tell_waits_twice(void)
{
	for (int i = 0; i < 2; i++) {
		trace_queue_wait_for(1, 1, 0x40, 12);
		trace_packet_queued(1, 5, 7, "wait");
	}
	trace_packet_queued(1, 5, 8, "work");
	trace_queue_waits(1, 5, 7, "wait");
}

TEST(late, what_a_packet_waits_for_is_of_that_packet_alone)
{
	uint32_t tied = 0;

	read_story(tell_waits_twice);
	EXPECT_EQ(VIEW_ROWS(&model, packets), 2);
	EXPECT_EQ(VIEW_AT(&model, packets, sync, 0), 0x40);
	EXPECT_EQ(VIEW_AT(&model, packets, value, 0), 12);
	EXPECT_EQ(VIEW_AT(&model, packets, sync, 1), 0);
	for (uint32_t i = 0; i < VIEW_ROWS(&model, syncs); i++)
		tied += VIEW_AT(&model, syncs, packet, i) != 0;
	EXPECT_EQ(tied, 1);
	EXPECT_EQ(VIEW_AT(&model, waits, value, 0), 12);
	view_model_finish(&model);
}

static void tell_of_openings(void)
{
	trace_process_is(1, 100, 0, "maker");
	trace_process_is(2, 200, 0, "other");
	trace_allocation_live(0x40000100, 65536, 1, 1, 0x40000040, 0x400000c0, 1);
	for (int i = 0; i < 2; i++)
		trace_allocation_opened(2, 0x40000180, 0x40000100, 0x40000080, 0x40000140);
	trace_allocation_closed(2, 0x40000180);
	trace_allocation_closed(2, 0x40000180);
	trace_allocation_opened(2, 0x40000180, 0x40000100, 0x40000080, 0x40000140);
	trace_allocation_closed(7, 7);
}

/* Told twice it is one; the same handle after its end is another one. */
TEST(late, who_else_has_it_open_is_known)
{
	read_story(tell_of_openings);
	EXPECT_EQ(VIEW_ROWS(&model, openings), 2);
	EXPECT_EQ(VIEW_ROWS(&model, allocations), 1);
	for (uint32_t i = 0; i < 2; i++) {
		EXPECT_EQ(VIEW_AT(&model, openings, allocation, i), 0);
		EXPECT_EQ(VIEW_AT(&model, openings, process, i), 2);
		EXPECT_EQ(VIEW_AT(&model, openings, handle, i), 0x40000180);
		EXPECT_EQ(VIEW_AT(&model, openings, device, i), 0x40000080);
	}
	EXPECT(VIEW_AT(&model, openings, end, 0) >= VIEW_AT(&model, openings, begin, 0));
	EXPECT_EQ(VIEW_AT(&model, openings, end, 1), -1);
	view_model_finish(&model);
}

static void tell_of_nodes(void)
{
	trace_packet_queued(1, 5, 7, "work");
	trace_packet_submitted(1, 1, 3, 5, 0, 7);
	trace_node_is(1, 0, "3D", "3D 0");
	trace_node_is(1, 1, "copy", "DMA engine");
	trace_packet_left(1, 1, 3, "completed");
}

/* As dxgk info prints it. Where nothing happened there is nothing to see. */
TEST(late, a_node_is_called_what_its_driver_calls_it)
{
	view_name name;

	read_story(tell_of_nodes);
	EXPECT_EQ(VIEW_ROWS(&model, nodes), 1);
	EXPECT_STR(view_node_name(&model, 0, name), "node 1.1 DMA engine (copy)");
	view_model_finish(&model);
}

TEST_MAIN("view/late")
