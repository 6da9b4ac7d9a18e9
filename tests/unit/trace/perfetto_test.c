/* SPDX-License-Identifier: MIT */
/*
 * perfetto_test.c - what docs/trace.md promises of the JSON form: tracks of adapters and nodes, arrows along a packet's
 * way, lives and curves with their process. Stories are told to a trace, and the lines that come of them are looked at.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/sink.h"
#include "trace/trace.h"
#include "trace/trace_file.h"

static char *text; /* of the last story */

static void write_down(void (*tell)(void))
{
	int file = memfd_create("story", MFD_CLOEXEC);
	int copy = dup(file);
	char path[64];
	char problem[256];
	struct trace_file trace;
	size_t size;

	EXPECT(copy >= 0 && trace_start_to(file, "a story", 0));
	tell();
	trace_finish();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	EXPECT(trace_file_open(path, &trace));
	FILE *out = open_memstream(&text, &size);
	EXPECT(trace_write_json(&trace, out, problem, sizeof(problem)));
	EXPECT_STR(problem, "");
	fclose(out);
	trace_file_close(&trace);
	close(copy);
}

static void forget(void)
{
	free(text);
	text = NULL;
}

/* Lines that have both. */
static unsigned lines_with(const char *one, const char *two)
{
	unsigned count = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		char copy[1024];

		line += *line == '\n';
		snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
		count += strstr(copy, one) != NULL && strstr(copy, two) != NULL;
	}
	return count;
}

#define STORY(claim)                                                                               \
	static void tell_##claim(void);                                                            \
	static void check_##claim(void);                                                           \
	TEST(perfetto, claim)                                                                      \
	{                                                                                          \
		write_down(tell_##claim);                                                          \
		check_##claim();                                                                   \
		forget();                                                                          \
	}                                                                                          \
	static void tell_##claim(void)

#define SEEN(claim) static void check_##claim(void)

#define BEGINS "\"ph\":\"B\",\"cat\":\"node\""
#define ENDS   "\"ph\":\"E\",\"cat\":\"node\""
#define NODE_0 "\"pid\":1879048193,\"tid\":1,"
#define NODE_1 "\"pid\":1879048193,\"tid\":2,"

/* ---- nodes ---- */

STORY(a_node_does_one_packet_after_the_other)
{
	trace_packet_submitted(1, 0, 3, 5, 0, 7);
	trace_packet_submitted(1, 0, 4, 5, 0, 8);
	trace_packet_submitted(1, 1, 9, 6, 0, 1);
	trace_packet_left(1, 0, 3, "completed");
	trace_packet_left(1, 0, 4, "completed");
	trace_packet_left(1, 1, 9, "completed");
}

SEEN(a_node_does_one_packet_after_the_other)
{
	EXPECT_EQ(lines_with(BEGINS, NODE_0), 2);
	EXPECT_EQ(lines_with(ENDS, NODE_0), 2);
	EXPECT_EQ(lines_with(BEGINS, NODE_1), 1);
	EXPECT_EQ(lines_with(ENDS, NODE_1), 1);
	EXPECT_EQ(lines_with("process_name", "adapter 1"), 1);
	EXPECT_EQ(lines_with("thread_name", "\"node 0\""), 1);
	EXPECT_EQ(lines_with("thread_name", "\"node 1\""), 1);
	EXPECT_EQ(lines_with("\"queue 5\"", "\"fence\":\"0x4\""), 1);
}

/* One that a preemption takes back from behind the one that runs was none of the node's yet. */
STORY(a_packet_that_leaves_before_its_turn_leaves_no_stretch)
{
	trace_packet_submitted(1, 0, 3, 5, 0, 7);
	trace_packet_submitted(1, 0, 4, 5, 0, 8);
	trace_packet_submitted(1, 0, 5, 5, 0, 9);
	trace_packet_left(1, 0, 4, "preempted");
	trace_packet_left(1, 0, 3, "completed");
	trace_packet_left(1, 0, 5, "completed");
}

SEEN(a_packet_that_leaves_before_its_turn_leaves_no_stretch)
{
	EXPECT_EQ(lines_with(BEGINS, NODE_0), 2);
	EXPECT_EQ(lines_with(ENDS, NODE_0), 2);
	EXPECT_EQ(lines_with(BEGINS, "\"fence\":\"0x4\""), 0);
}

/* A trace that begins late may be told twice, and of what left before it was told of. */
STORY(a_packet_that_is_told_twice_is_one_and_one_that_is_not_known_is_none)
{
	trace_packet_left(1, 0, 2, "completed");
	for (int i = 0; i < 2; i++) {
		trace_packet_submitted(1, 0, 3, 5, 0, 7);
		trace_packet_submitted(1, 0, 4, 5, 0, 8);
	}
	trace_packet_left(1, 0, 3, "completed");
	trace_packet_left(1, 0, 4, "completed");
	trace_packet_left(1, 0, 4, "completed");
}

SEEN(a_packet_that_is_told_twice_is_one_and_one_that_is_not_known_is_none)
{
	EXPECT_EQ(lines_with(BEGINS, NODE_0), 2);
	EXPECT_EQ(lines_with(ENDS, NODE_0), 2);
	EXPECT_EQ(lines_with("\"ph\":\"t\"", NODE_0), 2);
}

STORY(what_the_hardware_still_has_ends_with_the_trace)
{
	trace_packet_submitted(1, 0, 3, 5, 0, 7);
	trace_packet_submitted(1, 0, 4, 5, 0, 8);
	trace_packet_submitted(1, 1, 3, 5, 0, 9);
	trace_packet_left(1, 1, 3, "completed");
}

SEEN(what_the_hardware_still_has_ends_with_the_trace)
{
	EXPECT_EQ(lines_with(BEGINS, NODE_0), 1);
	EXPECT_EQ(lines_with(ENDS, NODE_0), 1);
	EXPECT_EQ(lines_with(ENDS, NODE_1), 1);
}

/* No trace is too large: what there is no room for has no track, and nothing else suffers. */
STORY(more_nodes_and_packets_than_there_is_room_for_do_no_harm)
{
	for (uint32_t fence = 1; fence <= SINK_PACKETS + 1; fence++)
		trace_packet_submitted(1, 0, fence, 5, 0, fence);
	for (uint32_t node = 1; node <= SINK_NODES; node++)
		trace_packet_submitted(1, node, 1, 5, 0, 1);
	for (uint32_t node = 1; node <= SINK_NODES; node++)
		trace_packet_left(1, node, 1, "completed");
	for (uint32_t fence = 1; fence <= SINK_PACKETS + 1; fence++)
		trace_packet_left(1, 0, fence, "completed");
}

SEEN(more_nodes_and_packets_than_there_is_room_for_do_no_harm)
{
	EXPECT_EQ(lines_with(BEGINS, NODE_0), SINK_PACKETS);
	EXPECT_EQ(lines_with(ENDS, NODE_0), SINK_PACKETS);
	EXPECT_EQ(lines_with(BEGINS, ""), SINK_PACKETS + SINK_NODES - 1);
	EXPECT_EQ(lines_with(ENDS, ""), SINK_PACKETS + SINK_NODES - 1);
}

STORY(a_node_is_called_what_its_driver_calls_it)
{
	trace_node_is(1, 0, "3D", "3D 0");
	trace_node_is(1, 1, "copy", "DMA \"engine\"");
	trace_node_is(70, 0, "3D", "far");
	trace_node_is(70, 1, "3D", "farther");
	trace_packet_submitted(1, 1, 3, 5, 0, 7);
	trace_packet_submitted(70, 0, 3, 5, 0, 7);
}

SEEN(a_node_is_called_what_its_driver_calls_it)
{
	EXPECT_EQ(lines_with("process_name", "adapter 1\""), 1);
	EXPECT_EQ(lines_with("process_name", "adapter 70\"") >= 1, 1);
	EXPECT_EQ(lines_with("thread_name", "node 0 3D 0 (3D)"), 1);
	EXPECT_EQ(lines_with("thread_name", "node 1 DMA \\\"engine\\\" (copy)"), 1);
	EXPECT_EQ(lines_with("thread_name", "node 1 farther (3D)"), 1);
}

/* ---- a packet's way ---- */

STORY(arrows_lead_from_the_queue_to_the_node_to_the_signal_behind_it)
{
	trace_packet_queued(1, 5, 6, "wait");
	trace_packet_queued(1, 5, 7, "work");
	trace_packet_queued(1, 5, 8, "signal");
	trace_packet_queued(1, 5, 9, "signal");
	trace_packet_retired(1, 5, 6, "done");
	trace_packet_submitted(1, 0, 3, 5, 0, 7);
	trace_packet_left(1, 0, 3, "completed");
	trace_packet_retired(1, 5, 7, "done");
	trace_packet_retired(1, 5, 8, "done");
	trace_packet_retired(1, 5, 9, "done");
	trace_packet_retired(1, 5, 99, "done");
}

/* One way: it begins once, goes by the node and its end, and ends at the first signal. */
SEEN(arrows_lead_from_the_queue_to_the_node_to_the_signal_behind_it)
{
	EXPECT_EQ(lines_with("packet's way", "\"ph\":\"s\""), 1);
	EXPECT_EQ(lines_with("packet's way", "\"ph\":\"t\""), 2);
	EXPECT_EQ(lines_with("packet's way", "\"ph\":\"f\""), 1);
	EXPECT_EQ(lines_with("packet's way", "\"id\":\"0x100000500000007\""), 4);
}

/* ---- whose ---- */

STORY(lives_and_curves_are_with_the_pid_of_their_process)
{
	trace_process_is(1, (uint32_t)getpid(), 0, "itself");
	trace_process_is(2, 54321, 0, "another");
	trace_process_is(3, 0, 0, "nobody");
	trace_process_is(SINK_PROCESSES, 54322, 0, "too many");
	for (uint32_t id = 1; id <= 4; id++)
		trace_budget(1, id, 0, 1000 + id, 10);
	trace_budget(1, SINK_PROCESSES, 0, 1000 + SINK_PROCESSES, 10);
	trace_allocation_live(0x40000100, 65536, 1, 2, 0x40000040, 0, 1);
	trace_device_create(2, 0x40000040, 1);
}

SEEN(lives_and_curves_are_with_the_pid_of_their_process)
{
	char own[32];

	snprintf(own, sizeof(own), "\"pid\":%d,", getpid());
	EXPECT_EQ(lines_with("process_name", "another"), 1);
	EXPECT_EQ(lines_with("process_name", "nobody"), 0);
	EXPECT_EQ(lines_with("process_name", "too many"), 0);
	EXPECT_EQ(lines_with("process_name", own), 1);
	EXPECT_EQ(lines_with("\"budget_bytes\":1001,", own), 1);
	EXPECT_EQ(lines_with("\"budget_bytes\":1002,", "\"pid\":54321,"), 1);
	EXPECT_EQ(lines_with("\"budget_bytes\":1003,", own), 1);
	EXPECT_EQ(lines_with("\"budget_bytes\":1004,", own), 1);
	EXPECT_EQ(lines_with("\"budget_bytes\":1256,", own), 1);
	EXPECT_EQ(lines_with("\"size_bytes\":65536", "\"pid\":54321,"), 1);
	/* Every argument of a counter is a curve: keys are none. */
	EXPECT_EQ(lines_with("\"ph\":\"C\"", "process_id"), 0);
}

TEST_MAIN("trace/perfetto")
