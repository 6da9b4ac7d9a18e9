/* SPDX-License-Identifier: MIT */
/*
 * damage_test.c - whatever is done to a trace, it is read, or a sentence says why not; questions are answered and a page is made.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/view/page.h"
#include "cli/view/query.h"
#include "support/test.h"
#include "trace/format.h"
#include "trace/trace.h"

enum { BUFFER_BYTES = 1 << 16 };

static struct {
	uint8_t bytes[BUFFER_BYTES];
	size_t size_bytes;
	uint64_t events;
} whole;

/* Somebody's life, with a bit of everything that the tables are made of. */
static void tell_story(void)
{
	const uint64_t one = 0x40000040, two = 0x40000080;

	trace_process_is(1, 77, 1000, "somebody");
	trace_segment_is(1, 1, 1 << 20, "local");
	trace_api_call_begin("D3DKMTMakeResident", 1);
	trace_device_create(1, 0x40, 1);
	trace_context_create(1, 0x80, 0x40, 0);
	trace_queue_is(1, 5, 1, 0x80, "context");
	trace_paging_queue_create(1, 0xc0, 0x40, 0x100);
	trace_paging_queue_added(1, 0xc0, 1);
	for (uint32_t i = 0; i < 2; i++)
		trace_allocation_live(i ? two : one, 4096, 2, 1, 0x40, 0, 1);
	trace_allocation_place(one, "entering", 1, 4096);
	trace_allocation_place(one, "in", 1, 4096);
	trace_allocation_range(one, 1, 0, 4096);
	trace_room_wanted(two, 1, 4096, 2);
	trace_allocation_leaves(one, "room-for", two, 1, "listed");
	trace_allocation_place(one, "leaving", 1, 4096);
	trace_allocation_lends(one, 1, 4096);
	trace_allocation_place(two, "entering", 1, 4096);
	trace_room_given(two, 1, 4096);
	trace_allocation_place(one, "out", 0, 4096);
	trace_allocation_place(two, "in", 1, 4096);
	trace_allocation_offer(two, "offered", 1);
	trace_allocation_locks(two, 1);
	trace_budget(1, 1, 0, 1 << 20, 4096);
	trace_paging_queue_reached(1, 0xc0, 1);
	trace_queue_wait_for(1, 1, 0x100, 1);
	trace_packet_queued(1, 5, 1, "wait");
	trace_queue_waits(1, 5, 1, "wait");
	trace_queue_goes_on(1, 5);
	trace_packet_retired(1, 5, 1, "done");
	trace_packet_lists(1, 5, two, 1);
	trace_packet_queued(1, 5, 2, "work");
	trace_packet_submitted(1, 0, 9, 5, 0, 2);
	trace_packet_left(1, 0, 9, "completed");
	trace_packet_retired(1, 5, 2, "done");
	trace_queue_signal_of(1, 1, 0x140, 3);
	trace_packet_queued(1, 5, 3, "signal");
	trace_packet_retired(1, 5, 3, "done");
	trace_hw_packet_submitted(1, 6, 1, 0);
	trace_hw_packet_left(1, 6, 1, "completed");
	trace_fence_signal_cpu(1, 0x140, 4);
	trace_refusal("D3DKMTMakeResident", "API-HANDLE", "is none", STATUS_INVALID_PARAMETER);
	trace_marker("shadow pass", 1, 0x40, 7, 0, 0);
	trace_gpu_fault(1, 0, 9, 0x1000, "write by process 1");
	trace_reset_step(1, 0, "engine");
	trace_device_lost(1, 0x40, "hung", "packet 9");
	trace_allocation_dead(one);
	trace_api_call_end(STATUS_SUCCESS);
}

static void record_whole(void)
{
	int file = memfd_create("trace", MFD_CLOEXEC);
	int copy = dup(file);

	if (whole.size_bytes != 0) {
		close(file);
		close(copy);
		return;
	}
	EXPECT(copy >= 0 && trace_start_to(file, "a story", 0));
	tell_story();
	trace_finish();

	ssize_t length = pread(copy, whole.bytes, sizeof(whole.bytes), 0);

	EXPECT(length > 0 && (size_t)length < sizeof(whole.bytes));
	whole.size_bytes = (size_t)length;
	close(copy);
}

/* Everything that is done with a trace, without looking at what comes of it. True if it could be read. */
static bool use(const uint8_t *bytes, size_t size_bytes, char *problem, uint64_t *events_out)
{
	int file = memfd_create("damaged", MFD_CLOEXEC);
	struct view_about about = { -1, -1, -1 };
	struct view_model model;
	char path[64];
	char said[512];

	EXPECT(file >= 0 && write(file, bytes, size_bytes) == (ssize_t)size_bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	problem[0] = '\0';

	bool is_read = view_model_read(path, &model, problem, 512);

	close(file);
	if (!is_read)
		return false;
	*events_out = model.events;
	for (const struct view_query *query = view_queries; query->name; query++) {
		struct view_answer answer;

		EXPECT(view_query_ask(query, &model, &about, &answer));
		view_answer_finish(&answer);
	}
	EXPECT(view_page_write(&model, "damaged", "/dev/null", said, sizeof(said)));
	view_model_finish(&model);
	return true;
}

/* Nothing is swallowed: fewer events, or none, come with a sentence. */
static bool is_told(const uint8_t *bytes, size_t size_bytes)
{
	char problem[512];
	uint64_t events = 0;
	bool is_read = use(bytes, size_bytes, problem, &events);

	return problem[0] != '\0' || (is_read && events == whole.events);
}

TEST(damage, what_is_whole_is_read_without_a_word)
{
	char problem[512];

	record_whole();
	EXPECT(use(whole.bytes, whole.size_bytes, problem, &whole.events));
	EXPECT(whole.events > 40 && problem[0] == '\0');
}

TEST(damage, a_trace_that_ends_anywhere_is_read_as_far_as_it_goes_and_said_to_be_cut)
{
	char problem[512];
	uint64_t events;

	record_whole();
	EXPECT(use(whole.bytes, whole.size_bytes, problem, &whole.events));
	for (size_t size = 0; size < whole.size_bytes; size++) {
		(void)use(whole.bytes, size, problem, &events);
		EXPECT(problem[0] != '\0');
	}
}

TEST(damage, a_byte_that_is_another_anywhere_is_noticed)
{
	char problem[512];

	record_whole();
	EXPECT(use(whole.bytes, whole.size_bytes, problem, &whole.events));
	for (size_t at = 0; at < whole.size_bytes; at++) {
		uint8_t bytes[BUFFER_BYTES];

		memcpy(bytes, whole.bytes, whole.size_bytes);
		bytes[at] ^= (uint8_t)(1 + at % 255);
		EXPECT(is_told(bytes, whole.size_bytes));
	}
}

/* As if it had been written so: the checksum is right. */
static void seal(uint8_t *block)
{
	struct trace_block_header header;

	memcpy(&header, block, sizeof(header));
	header.checksum = trace_checksum(block + TRACE_CHECKED_FROM,
					 sizeof(header) - TRACE_CHECKED_FROM + header.size_bytes);
	memcpy(block, &header, sizeof(header));
}

TEST(damage, a_trace_that_tells_nonsense_is_read_all_the_same)
{
	static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
	char problem[512];
	uint64_t events;

	record_whole();
	for (size_t block = sizeof(struct trace_file_header); block < whole.size_bytes;) {
		struct trace_block_header header;
		size_t step = 1;

		memcpy(&header, whole.bytes + block, sizeof(header));
		/* Names of events and fields are many, and reader_test.c and the fuzzer change them. */
		if (header.kind == TRACE_BLOCK_SCHEMA)
			step = some_of(13, 1);
		for (size_t i = 0; i < header.size_bytes; i += step) {
			for (size_t value = 0; value < sizeof(values); value++) {
				uint8_t bytes[BUFFER_BYTES];

				memcpy(bytes, whole.bytes, whole.size_bytes);
				bytes[block + sizeof(header) + i] = values[value];
				seal(bytes + block);
				(void)use(bytes, whole.size_bytes, problem, &events);
			}
		}
		block += sizeof(header) + header.size_bytes;
	}
}

TEST_MAIN("view/damage")
