/* SPDX-License-Identifier: MIT */
/*
 * spool_test.c - what many threads append comes back as one ordered sequence.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/thread.h"
#include "support/counted.h"
#include "support/test.h"
#include "trace/spool.h"

struct seen {
	uint64_t count;
	uint64_t time_sum;
	struct trace_record last;
	bool is_ordered;
};

static void look(void *context, const struct trace_record *record)
{
	struct seen *seen = context;

	if (seen->count > 0 &&
	    (record->time_ns < seen->last.time_ns ||
	     (record->time_ns == seen->last.time_ns && record->sequence <= seen->last.sequence)))
		seen->is_ordered = false;
	seen->count++;
	seen->time_sum += record->time_ns;
	seen->last = *record;
}

static struct seen look_at_all(void)
{
	struct seen seen = { .is_ordered = true };

	EXPECT(spool_visit(look, &seen));
	return seen;
}

static struct trace_record record_at(uint64_t time_ns, uint64_t sequence)
{
	return (struct trace_record){ .time_ns = time_ns,
				      .sequence = sequence,
				      .event = TRACE_refusal };
}

TEST(spool, an_empty_one_shows_nothing)
{
	EXPECT(spool_open());
	EXPECT_EQ(look_at_all().count, 0);
	spool_append(NULL, 0);
	EXPECT_EQ(look_at_all().count, 0);
	spool_close();
}

TEST(spool, pieces_are_merged_by_time_and_sequence)
{
	struct random random;

	random_init(&random, 1);
	EXPECT(spool_open());
	uint64_t sequence = 0;
	uint64_t time_sum = 0;
	uint64_t count = 0;
	for (int piece = 0; piece < 300; piece++) {
		struct trace_record records[40];
		uint32_t length = (uint32_t)random_below(&random, 40) + 1;
		uint64_t time_ns = random_below(&random, 1000);
		for (uint32_t i = 0; i < length; i++) {
			time_ns += random_below(&random, 3);
			records[i] = record_at(time_ns, ++sequence);
			time_sum += time_ns;
			count++;
		}
		spool_append(records, length);
	}
	struct seen seen = look_at_all();
	EXPECT_EQ(seen.count, count);
	EXPECT_EQ(seen.time_sum, time_sum);
	EXPECT(seen.is_ordered);
	EXPECT_EQ(spool_error(), 0);
	spool_close();
}

TEST(spool, texts_travel_with_their_record)
{
	struct trace_record late[3] = { record_at(9, 1) };
	struct trace_record early[2] = { record_at(1, 2) };

	late[0].text_slots = 2;
	memset(&late[1], 'x', 2 * sizeof(late[0]) - 1);
	early[0].text_slots = 1;
	EXPECT(spool_open());
	spool_append(late, 3);
	spool_append(early, 2);
	struct seen seen = look_at_all();
	EXPECT_EQ(seen.count, 2);
	EXPECT(seen.is_ordered);
	EXPECT_EQ(seen.last.time_ns, 9);
	spool_close();
}

static void append_many(void *argument)
{
	for (uint64_t i = 0; i < 500; i++) {
		struct trace_record record = record_at(i, *(uint64_t *)argument * 1000 + i);
		spool_append(&record, 1);
	}
}

TEST(spool, threads_append_without_losing_anything)
{
	struct thread *threads[4];
	uint64_t numbers[4];

	EXPECT(spool_open());
	for (uint64_t i = 0; i < 4; i++) {
		numbers[i] = i;
		EXPECT(NT_SUCCESS(thread_create("append", append_many, &numbers[i], &threads[i])));
	}
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	struct seen seen = look_at_all();
	EXPECT_EQ(seen.count, 2000);
	EXPECT(seen.is_ordered);
	spool_close();
}

/* In a child, because the limit stays. */
static int run_out_of_disk(void)
{
	struct rlimit limit = { .rlim_cur = 100 * 64, .rlim_max = RLIM_INFINITY };
	struct trace_record records[60];
	struct seen seen = { .is_ordered = true };

	for (uint64_t i = 0; i < 60; i++)
		records[i] = record_at(i, i);
	signal(SIGXFSZ, SIG_IGN);
	if (!spool_open() || setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 1;
	spool_append(records, 60);
	spool_append(records, 60); /* 40 of them fit */
	spool_append(records, 60);
	if (spool_error() != EFBIG)
		return 2;

	/* Space comes back: the hole in between is passed over. */
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint64_t i = 0; i < 60; i++)
		records[i] = record_at(i, 100 + i);
	spool_append(records, 60);
	if (!spool_visit(look, &seen))
		return 3;
	return seen.count == 160 ? 0 : 4;
}

TEST(spool, what_does_not_fit_on_the_disk_is_reported_and_the_rest_is_kept)
{
	int status;

	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		int outcome = run_out_of_disk();

		counts_write();
		_exit(outcome);
	}
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(spool, without_memory_it_says_so)
{
	struct trace_record record = record_at(1, 1);
	struct seen seen = { 0 };

	EXPECT(spool_open());
	spool_append(&record, 1);
	mem_fail_nth(1);
	EXPECT(!spool_visit(look, &seen));
	EXPECT(mem_fail_stop());
	spool_close();
}

TEST_MAIN("trace/spool")
