/* SPDX-License-Identifier: MIT */
/*
 * summary_test.c - counting events by line.
 */
#include <errno.h>

#include "support/test.h"
#include "trace/summary.h"
#include "trace/trace.h"
#include "shell.h"

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

TEST(summary, counts_events_per_category)
{
	const char *path = in_folder("some.json");
	struct trace_summary summary;

	write_text(path, "{\"traceEvents\":[\n"
			 "{\"ph\":\"M\",\"pid\":1,\"name\":\"thread_name\"},\n"
			 "{\"ph\":\"B\",\"cat\":\"api\",\"pid\":1},\n"
			 "{\"ph\":\"E\",\"cat\":\"api\",\"pid\":1},\n"
			 "{\"ph\":\"b\",\"cat\":\"object\",\"args\":\"{\\\"ph\\\":\\\"B\\\"\"},\n"
			 "{\"ph\":\"i\",\"cat\":\"apis\"}\n"
			 "],\"displayTimeUnit\":\"ns\"}\n");
	EXPECT(trace_summary_read(path, &summary));
	EXPECT_EQ(summary.events, 3);
	EXPECT_EQ(summary.by_category[TRACE_CATEGORY_API], 2);
	EXPECT_EQ(summary.by_category[TRACE_CATEGORY_OBJECT], 1);
	EXPECT_EQ(summary.by_category[TRACE_CATEGORY_DDI], 0);
	EXPECT(summary.is_complete);
}

TEST(summary, of_the_binary_form_is_the_same)
{
	const char *path = in_folder("some");
	struct trace_summary summary;
	char bytes[4096];

	EXPECT(trace_start(path));
	trace_api_call_begin("D3DKMTOpenAdapterFromLuid", 1);
	trace_process_create(1);
	trace_api_call_end(STATUS_SUCCESS);
	trace_finish();
	EXPECT(trace_summary_read(path, &summary));
	EXPECT_EQ(summary.events, 3);
	EXPECT_EQ(summary.by_category[TRACE_CATEGORY_API], 2);
	EXPECT_EQ(summary.by_category[TRACE_CATEGORY_OBJECT], 1);
	EXPECT(summary.is_complete);
	EXPECT_STR(summary.problem, "");

	/* Cut in its last block, and in its first. */
	FILE *file = fopen(path, "r");
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	EXPECT(size > 100);
	for (int is_first = 0; is_first < 2; is_first++) {
		file = fopen(path, "w");
		fwrite(bytes, 1, is_first ? 100 : size < sizeof(bytes) ? size - 1 : size, file);
		fclose(file);
		EXPECT(trace_summary_read(path, &summary));
		EXPECT(!summary.is_complete);
		EXPECT(summary.problem[0] != '\0');
	}
	EXPECT_EQ(summary.events, 0);
}

TEST(summary, notices_a_file_that_was_cut)
{
	static const char *const texts[] = { "", "{\"ph\":\"", "{\"traceEvents\":[\n{\"ph\":\"M\"",
					     "{\"ph\":\"B\",\"cat\":\"api", "{\"ph\":\"B\",\"c" };
	const char *path = in_folder("cut.json");

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct trace_summary summary;
		write_text(path, texts[i]);
		EXPECT(trace_summary_read(path, &summary));
		EXPECT(!summary.is_complete);
	}
}

TEST(summary, says_why_a_file_cannot_be_read)
{
	struct trace_summary summary;

	EXPECT(!trace_summary_read(in_folder("missing.json"), &summary));
	EXPECT_EQ(errno, ENOENT);
	EXPECT(!trace_summary_read(folder, &summary));
	EXPECT_EQ(errno, EISDIR);
}

TEST_MAIN("trace/summary")
