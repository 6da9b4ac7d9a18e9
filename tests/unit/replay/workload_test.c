/* SPDX-License-Identifier: MIT */
/*
 * workload_test.c - workloads from seeds and from files.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "replay/workload.h"
#include "support/failing.h"
#include "support/test.h"

static char problem[256];

static bool is_same(const struct workload *a, const struct workload *b)
{
	return a->allocation_count == b->allocation_count && a->event_count == b->event_count &&
	       memcmp(a->sizes, b->sizes, a->allocation_count * sizeof(*a->sizes)) == 0 &&
	       memcmp(a->events, b->events, a->event_count * sizeof(*a->events)) == 0;
}

/* A file with this text; the name is written over by the next one. */
static const char *file_with(const char *text)
{
	static char path[] = "/tmp/workload-XXXXXX";
	FILE *file;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	int fd = mkstemp(path);
	EXPECT(fd >= 0);
	file = fdopen(fd, "w");
	EXPECT(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static NTSTATUS read_text(const char *text, struct workload *workload)
{
	const char *path = file_with(text);
	NTSTATUS status = workload_read(path, workload, problem, sizeof(problem));

	unlink(path);
	return status;
}

#define BEGIN "{\"traceEvents\":[\n"
#define LIVE(id, size)                                                                             \
	"{\"ph\":\"b\",\"cat\":\"allocation\",\"pid\":1,\"tid\":1,\"ts\":1.000,\"name\":"          \
	"\"allocation\",\"id\":\"" id "\",\"args\":{\"allocation_id\":\"" id                       \
	"\",\"size_bytes\":" size ",\"supported_segments\":\"0x1\"}},\n"
#define USE(id)                                                                                    \
	"{\"ph\":\"i\",\"cat\":\"residency\",\"pid\":1,\"tid\":1,\"ts\":1.000,\"s\":\"t\","        \
	"\"name\":\"allocation use\",\"id\":\"" id "\",\"args\":{\"allocation_id\":\"" id          \
	"\"}},\n"
#define DEAD(id)                                                                                   \
	"{\"ph\":\"e\",\"cat\":\"allocation\",\"pid\":1,\"tid\":1,\"ts\":1.000,\"name\":"          \
	"\"allocation\",\"id\":\"" id "\",\"args\":{\"allocation_id\":\"" id "\"}},\n"
#define OTHER                                                                                      \
	"{\"ph\":\"B\",\"cat\":\"api\",\"pid\":1,\"tid\":1,\"ts\":2.000,\"name\":"                 \
	"\"D3DKMTCloseAdapter\"},\n"
#define END "],\"displayTimeUnit\":\"ns\"}\n"

TEST(workload, a_seed_makes_the_same_uses_again_and_another_one_others)
{
	for (unsigned i = 0; workload_kind_at(i); i++) {
		const char *name = workload_kind_at(i)->name;
		struct workload first, again, other;

		EXPECT_EQ(workload_generate(name, 7, &first), STATUS_SUCCESS);
		EXPECT_EQ(workload_generate(name, 7, &again), STATUS_SUCCESS);
		EXPECT_EQ(workload_generate(name, 8, &other), STATUS_SUCCESS);
		EXPECT(is_same(&first, &again));
		EXPECT(!is_same(&first, &other));
		EXPECT(first.event_count >= 60000 && first.reference_bytes > 0);
		for (uint32_t k = 0; k < first.allocation_count; k++)
			EXPECT(first.sizes[k] >= 65536 && first.sizes[k] <= 96 << 20);
		workload_finish(&first);
		workload_finish(&again);
		workload_finish(&other);
	}
}

TEST(workload, an_unknown_kind_is_not_found)
{
	struct workload workload;

	EXPECT_EQ(workload_generate("cycle", 1, &workload), STATUS_NOT_FOUND);
}

TEST(workload, a_trace_is_read_for_creation_use_and_destruction)
{
	struct workload workload;

	EXPECT_EQ(read_text(BEGIN LIVE("0x10", "4096") OTHER LIVE("0x11", "8192") USE("0x11")
				    USE("0x10") DEAD("0x10") LIVE("0x12", "4096") USE("0x12") END,
			    &workload),
		  STATUS_SUCCESS);
	EXPECT_EQ(workload.allocation_count, 3);
	EXPECT_EQ(workload.sizes[1], 8192);
	EXPECT_EQ(workload.event_count, 4);
	EXPECT_EQ(workload.events[0].allocation, 1);
	EXPECT_EQ(workload.events[2].kind, WORKLOAD_DESTROY);
	EXPECT_EQ(workload.events[3].allocation, 2);
	EXPECT_EQ(workload.reference_bytes, 12288); /* the most at once, not the sum */
	workload_finish(&workload);
}

TEST(workload, an_id_may_come_again_after_its_end)
{
	struct workload workload;

	EXPECT_EQ(read_text(BEGIN LIVE("0x1", "4096") USE("0x1") DEAD("0x1") LIVE("0x1", "8192")
				    USE("0x1") END,
			    &workload),
		  STATUS_SUCCESS);
	EXPECT_EQ(workload.allocation_count, 2);
	EXPECT_EQ(workload.events[2].allocation, 1);
	workload_finish(&workload);
}

TEST(workload, what_is_wrong_with_a_trace_is_said_with_its_line)
{
	static const struct text_case wrong[] = {
		{ "", "the file is empty" },
		{ "root:x:0:0\n", ":1: this is no trace" },
		{ BEGIN LIVE("0x1", "4096") END, "no allocation is used" },
		{ BEGIN USE("0x1") END, ":2: there is no allocation 0x1" },
		{ BEGIN LIVE("0x1", "4096") DEAD("0x1") USE("0x1") END,
		  ":4: there is no allocation 0x1" },
		{ BEGIN LIVE("0x1", "4096") LIVE("0x1", "4096") END, ":3: allocation 0x1" },
		{ BEGIN LIVE("0x1", "0") END, ":2: an allocation is created without" },
		{ BEGIN LIVE("0x1", "\"much\"") END, ":2: an allocation is created without" },
		{ BEGIN LIVE("0x1", "99999999999999999999") END, ":2: an allocation is created" },
		{ BEGIN LIVE("x", "4096") END, ":2: an allocation without \"id\"" },
		{ BEGIN LIVE("0x1", "18446744073709551615") LIVE("0x2", "4096") END,
		  ":3: allocations of more than 2^64 bytes" },
		{ BEGIN "{\"name\":\"allocation\",\"id\":\"0x1\"}\n" END,
		  ":2: an allocation with" },
		{ BEGIN "{\"name\":\"reference_bytes\"}\n" END, ":2: \"reference_bytes\"" },
	};
	struct mem_usage usage = mem_usage();

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct workload workload;

		EXPECT_EQ(read_text(wrong[i].given, &workload), STATUS_INVALID_PARAMETER);
		EXPECT_CONTAINS(problem, wrong[i].said);
	}
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

TEST(workload, a_file_that_is_not_there_is_not_found)
{
	struct workload workload;

	EXPECT_EQ(workload_read("/nonexistent/trace.json", &workload, problem, sizeof(problem)),
		  STATUS_NOT_FOUND);
	EXPECT_EQ(errno, ENOENT);
}

TEST(workload, what_is_written_is_read_again)
{
	struct workload workload, again;
	const char *path = file_with("");
	FILE *file = fopen(path, "w");

	EXPECT_EQ(workload_generate("cyclic", 3, &workload), STATUS_SUCCESS);
	EXPECT_EQ(workload_add_event(&workload, WORKLOAD_DESTROY, 5), STATUS_SUCCESS);
	EXPECT(workload_write(&workload, file));
	fclose(file);
	EXPECT_EQ(workload_read(path, &again, problem, sizeof(problem)), STATUS_SUCCESS);
	EXPECT(is_same(&workload, &again));
	EXPECT_EQ(workload.reference_bytes, again.reference_bytes);
	unlink(path);
	workload_finish(&workload);
	workload_finish(&again);
}

TEST(workload, what_cannot_be_written_is_said)
{
	struct workload workload;
	FILE *full = fopen("/dev/full", "w");

	EXPECT_EQ(workload_generate("cyclic", 3, &workload), STATUS_SUCCESS);
	EXPECT(!workload_write(&workload, full));
	EXPECT_EQ(errno, ENOSPC);
	fclose(full);
	workload_finish(&workload);
}

TEST(workload, no_memory_to_read_is_a_status)
{
	struct workload workload = { 0 };

	EXPECT_EACH_FAILURE_TOLD(3, read_text(BEGIN LIVE("0x1", "4096") USE("0x1") END, &workload),
				 workload_finish(&workload));
}

TEST_MAIN("replay/workload")
