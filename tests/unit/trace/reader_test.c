/* SPDX-License-Identifier: MIT */
/*
 * reader_test.c - a binary trace is what was said, in order; one that is damaged gives the rest, and a sentence.
 */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/trace.h"
#include "shell.h"

struct told {
	uint64_t events; /* but for names of threads */
	uint64_t threads;
	bool is_ordered;
	char problem[256];
};

/* False when nothing could be read. */
static bool tell(const void *bytes, size_t size_bytes, struct told *told)
{
	struct trace_entry entry;
	uint64_t time_ns = 0;

	*told = (struct told){ .is_ordered = true };
	struct trace_reader *reader =
		trace_reader_open(bytes, size_bytes, told->problem, sizeof(told->problem));
	if (!reader)
		return false;
	while (trace_reader_next(reader, &entry)) {
		told->is_ordered &= entry.time_ns >= time_ns;
		time_ns = entry.time_ns;
		told->events += entry.event != TRACE_thread;
		told->threads += entry.event == TRACE_thread;
	}
	(void)trace_reader_complain(reader, told->problem, sizeof(told->problem));
	trace_reader_close(reader);
	return true;
}

/* What is said of the thread stands in front of all that it said. */
static struct trace_reader *open_behind_thread(const char *path, struct trace_file *file,
					       char problem[256])
{
	struct trace_entry entry;

	EXPECT(trace_file_open(path, file));
	struct trace_reader *reader =
		trace_reader_open(file->bytes, file->size_bytes, problem, 256);
	EXPECT(reader && trace_reader_next(reader, &entry));
	EXPECT_EQ(entry.event, TRACE_thread);
	return reader;
}

static void tell_file(const char *path, struct told *told)
{
	struct trace_file file;

	EXPECT(trace_file_open(path, &file));
	EXPECT(tell(file.bytes, file.size_bytes, told));
	trace_file_close(&file);
}

TEST(reader, gives_every_field_back_as_it_was_said)
{
	const char *path = in_folder("fields");
	static const uint64_t sizes[] = { 0, 127, 128, UINT32_MAX, UINT64_MAX };
	struct trace_entry entry;
	struct trace_file file;
	char problem[256];

	EXPECT(trace_start(path));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		trace_allocation_place(0xabcdef0123456789, i % 2 ? "in" : "out", 3, sizes[i]);
	trace_refusal("call", NULL, "a \"reason\"", STATUS_INVALID_PARAMETER);
	trace_allocation_place(1, NULL, 0, 0);
	trace_finish();

	struct trace_reader *reader = open_behind_thread(path, &file, problem);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT(trace_reader_next(reader, &entry));
		EXPECT_EQ(entry.event, TRACE_allocation_place);
		EXPECT_EQ(entry.fields[0].number, 0xabcdef0123456789);
		EXPECT_STR(entry.fields[1].text, i % 2 ? "in" : "out");
		EXPECT_EQ(entry.fields[2].number, 3);
		EXPECT_EQ(entry.fields[3].number, sizes[i]);
	}
	EXPECT(trace_reader_next(reader, &entry));
	EXPECT_STR(entry.fields[0].text, "call");
	EXPECT_STR(entry.fields[1].text, "");
	EXPECT_STR(entry.fields[2].text, "a \"reason\"");
	EXPECT_EQ((uint32_t)entry.fields[3].number, (uint32_t)STATUS_INVALID_PARAMETER);
	EXPECT(trace_reader_next(reader, &entry));
	EXPECT_STR(entry.fields[1].text, "");
	EXPECT(!trace_reader_next(reader, &entry));
	EXPECT(!trace_reader_complain(reader, problem, sizeof(problem)));
	EXPECT(trace_reader_facts(reader)->is_complete);
	trace_reader_close(reader);
	trace_file_close(&file);
}

TEST(reader, ids_and_handles_are_written_as_what_differs_and_read_as_they_were)
{
	static const uint64_t ids[] = { 0x40000040, 0, 0x40000040, UINT64_C(0x740000080), 1, 2 };
	static const uint32_t handles[] = { 0x40000040, 0, 0, UINT32_MAX, 1, 0x40000040 };
	const char *path = in_folder("differs");
	struct trace_entry entry;
	struct trace_file file;
	char problem[256];

	EXPECT(trace_start(path));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		trace_allocation_live(ids[i], 1, 1, 1, handles[i], handles[i], 1);
	trace_finish();
	struct trace_reader *reader = open_behind_thread(path, &file, problem);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		EXPECT(trace_reader_next(reader, &entry));
		EXPECT_EQ(entry.fields[0].number, ids[i]);
		EXPECT_EQ(entry.fields[4].number, handles[i]);
		EXPECT_EQ(entry.fields[5].number, handles[i]);
	}
	trace_reader_close(reader);
	trace_file_close(&file);
}

/* A block knows so many; what is more is written out each time, and nothing is mixed up. */
TEST(reader, more_strings_than_a_block_knows_are_all_read_back)
{
	enum { STRINGS = 400, ROUNDS = 3 };
	static char pool[STRINGS * STRINGS * 8]; /* irregular addresses: some fall into one slot */
	const char *path = in_folder("strings");
	struct trace_entry entry;
	struct trace_file file;
	char problem[256];

	EXPECT(trace_start(path));
	for (int i = 0; i < ROUNDS * STRINGS; i++) {
		char *string = pool + i % STRINGS * (i % STRINGS) * 8;

		snprintf(string, 8, "s%d", i % STRINGS);
		trace_allocation_place((uint64_t)i + 1, string, 1, 0);
	}
	trace_finish();
	struct trace_reader *reader = open_behind_thread(path, &file, problem);
	for (int i = 0; i < ROUNDS * STRINGS; i++) {
		EXPECT(trace_reader_next(reader, &entry));
		EXPECT_EQ(entry.fields[0].number, i + 1);
		EXPECT_STR(entry.fields[1].text, pool + i % STRINGS * (i % STRINGS) * 8);
	}
	EXPECT(!trace_reader_complain(reader, problem, sizeof(problem)));
	trace_reader_close(reader);
	trace_file_close(&file);
}

/* Behind the begin of its call it has the call's time, and what comes next its own. */
TEST(reader, the_life_of_an_allocation_has_a_time_between_its_calls)
{
	const char *path = in_folder("lives");
	uint64_t times[8];
	struct trace_entry entry;
	struct trace_file file;
	char problem[256];
	int count = 0;

	EXPECT(trace_start(path));
	trace_api_call_begin("create", 1);
	trace_allocation_live(1, 4096, 1, 1, 2, 0, 1);
	usleep(2000);
	trace_api_call_end(STATUS_SUCCESS);
	usleep(2000);
	trace_allocation_dead(1); /* of no call: now */
	trace_finish();
	struct trace_reader *reader = open_behind_thread(path, &file, problem);
	while (count < 8 && trace_reader_next(reader, &entry))
		times[count++] = entry.time_ns;
	EXPECT_EQ(count, 4);
	EXPECT(times[1] >= times[0] && times[1] < times[0] + NS_PER_MS);
	EXPECT(times[2] >= times[1] + NS_PER_MS);
	EXPECT(times[3] >= times[2] + NS_PER_MS);
	trace_reader_close(reader);
	trace_file_close(&file);
}

TEST(reader, merges_threads_by_time)
{
	const char *path = in_folder("threads");
	struct told told;

	EXPECT_EQ(shell("DXGK_TRACE=%s %s work >/dev/null", path, TRACE_RUN), 0);
	tell_file(path, &told);
	EXPECT_EQ(told.events, 1220);
	EXPECT(told.threads >= 4);
	EXPECT(told.is_ordered);
	EXPECT_STR(told.problem, "");
}

TEST(reader, many_blocks_are_one_trace_and_an_event_is_small)
{
	const char *path = in_folder("flood");
	struct told told;
	struct stat facts;

	EXPECT_EQ(shell("DXGK_TRACE=%s %s flood", path, TRACE_RUN), 0);
	tell_file(path, &told);
	EXPECT_EQ(told.events, 10000);
	EXPECT_STR(told.problem, "");
	EXPECT_EQ(stat(path, &facts), 0);
	EXPECT(facts.st_size < 20 * 10000);
}

TEST(reader, the_same_seed_gives_the_same_bytes)
{
	EXPECT_EQ(shell("for n in 1 2; do DXGK_SEED=3 DXGK_TRACE=%s$n %s work >/dev/null; done; "
			"cmp %s1 %s2",
			in_folder("seed"), TRACE_RUN, in_folder("seed"), in_folder("seed")),
		  0);
}

TEST(reader, converts_to_what_json_would_have_been)
{
	EXPECT_EQ(shell("cd %s && DXGK_SEED=3 DXGK_TRACE=a.json %s work >/dev/null && "
			"DXGK_SEED=3 DXGK_TRACE=a %s work >/dev/null && "
			"%s -o b.json --convert a && cmp a.json b.json",
			folder, TRACE_RUN, TRACE_RUN, CMD_TRACE),
		  0);
}

TEST(reader, a_killed_process_leaves_what_it_had_written)
{
	const char *path = in_folder("killed");
	struct told told;

	EXPECT_EQ(shell("DXGK_TRACE=%s %s killed", path, TRACE_RUN), 128 + SIGKILL);
	tell_file(path, &told);
	EXPECT(told.events > 5000);
	EXPECT_CONTAINS(told.problem, "has no end");
	EXPECT_EQ(shell("%s -o %s.json --convert %s 2>%s.said", CMD_TRACE, path, path, path), 0);
	EXPECT_EQ(shell("grep -q 'has no end' %s.said", path), 0);
	EXPECT_EQ(shell("python3 %s %s.json", TRACE_CHECK, path), 0);
}

static unsigned char *read_bytes(const char *path, size_t *size_out)
{
	struct trace_file file;

	EXPECT(trace_file_open(path, &file));
	unsigned char *copy = malloc(file.size_bytes);
	EXPECT(copy);
	memcpy(copy, file.bytes, file.size_bytes);
	*size_out = file.size_bytes;
	trace_file_close(&file);
	return copy;
}

TEST(reader, every_cut_gives_a_sentence)
{
	const char *path = in_folder("cut");
	struct told told;
	size_t size_bytes;

	EXPECT_EQ(shell("DXGK_SEED=1 DXGK_TRACE=%s %s work >/dev/null", path, TRACE_RUN), 0);
	unsigned char *bytes = read_bytes(path, &size_bytes);
	for (size_t length = 0; length < size_bytes; length += 1 + length / 64) {
		unsigned char *part = malloc(length + 1); /* so that a sanitizer sees its end */
		EXPECT(part);
		memcpy(part, bytes, length);
		(void)tell(part, length, &told);
		EXPECT(told.problem[0] != '\0');
		EXPECT(told.is_ordered);
		free(part);
	}
	free(bytes);
}

TEST(reader, a_damaged_block_is_passed_over)
{
	const char *path = in_folder("damaged");
	struct told whole, told;
	size_t size_bytes;

	EXPECT_EQ(shell("DXGK_SEED=1 DXGK_TRACE=%s %s work >/dev/null", path, TRACE_RUN), 0);
	tell_file(path, &whole);
	unsigned char *bytes = read_bytes(path, &size_bytes);
	bytes[size_bytes / 2] ^= 0x10;
	EXPECT(tell(bytes, size_bytes, &told));
	EXPECT(told.events > 0 && told.events < whole.events);
	EXPECT_CONTAINS(told.problem, "damaged");
	free(bytes);
}

TEST(reader, what_is_no_trace_or_of_another_version_is_said)
{
	struct trace_file_header header = { .magic = TRACE_FILE_MAGIC, .version = 99 };
	struct told told;

	EXPECT(!tell("", 0, &told));
	EXPECT_CONTAINS(told.problem, "empty");
	EXPECT(!tell("{\"traceEvents\":[", 16, &told));
	EXPECT_CONTAINS(told.problem, "a trace in JSON");
	EXPECT(!tell("{\"traceEvents\":", 15, &told));
	EXPECT_CONTAINS(told.problem, "no trace");
	EXPECT(!tell(&header, sizeof(header), &told));
	EXPECT_CONTAINS(told.problem, "newer version");
	header.version = TRACE_FILE_VERSION;
	EXPECT(!tell(&header, sizeof(header), &told));
	EXPECT_CONTAINS(told.problem, "first block");
}

TEST_MAIN("trace/reader")
