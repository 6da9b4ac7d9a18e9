/* SPDX-License-Identifier: MIT */
/*
 * spool_test.c - what many threads append is there, block by block.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "support/counted.h"
#include "support/test.h"
#include "trace/spool.h"

struct numbered_block {
	struct trace_block_header header;
	uint64_t number;
};

static void append(uint64_t number)
{
	struct numbered_block block = { .header = { .kind = TRACE_BLOCK_EVENTS },
					.number = number };

	spool_append(&block.header, sizeof(block.number));
}

struct seen {
	uint64_t count;
	uint64_t sum;
	uint64_t bytes;
};

/* Whole blocks; what is none is a hole. */
static bool look(void *context, const void *memory, size_t size_bytes)
{
	struct seen *seen = context;
	const char *bytes = memory;
	struct numbered_block block;

	for (size_t at = 0; at + sizeof(block) <= size_bytes; at += sizeof(block)) {
		memcpy(&block, bytes + at, sizeof(block));
		if (block.header.magic != TRACE_BLOCK_MAGIC ||
		    block.header.checksum != trace_checksum(bytes + at + TRACE_CHECKED_FROM,
							    sizeof(block) - TRACE_CHECKED_FROM))
			continue;
		seen->count++;
		seen->sum += block.number;
	}
	seen->bytes = size_bytes;
	return true;
}

static struct seen look_at_all(void)
{
	struct seen seen = { 0 };

	EXPECT(spool_show(look, &seen));
	return seen;
}

TEST(spool, an_empty_one_shows_nothing)
{
	EXPECT(spool_begin_temporary());
	EXPECT_EQ(look_at_all().bytes, 0);
	spool_close();
}

TEST(spool, begins_with_what_it_is)
{
	EXPECT(spool_begin_temporary());
	spool_write_file_header();
	EXPECT_EQ(look_at_all().bytes, sizeof(struct trace_file_header));
	spool_close();
}

static void append_many(void *argument)
{
	for (uint64_t i = 0; i < 500; i++)
		append(*(uint64_t *)argument * 1000 + i);
}

TEST(spool, threads_append_without_losing_anything)
{
	struct thread *threads[4];
	uint64_t numbers[4];

	EXPECT(spool_begin_temporary());
	for (uint64_t i = 0; i < 4; i++) {
		numbers[i] = i;
		EXPECT(NT_SUCCESS(thread_create("append", append_many, &numbers[i], &threads[i])));
	}
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	struct seen seen = look_at_all();
	EXPECT_EQ(seen.count, 2000);
	EXPECT_EQ(seen.sum, 4 * (499 * 500 / 2) + 500 * (1000 + 2000 + 3000));
	EXPECT_EQ(spool_error(), 0);
	spool_close();
}

/* In a child, because the limit stays. */
static int run_out_of_disk(void)
{
	struct rlimit limit = { .rlim_cur = 100 * sizeof(struct numbered_block),
				.rlim_max = RLIM_INFINITY };
	struct seen seen = { 0 };

	signal(SIGXFSZ, SIG_IGN);
	if (!spool_begin_temporary() || setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 1;
	for (uint64_t i = 0; i < 180; i++)
		append(i);
	if (spool_error() != EFBIG)
		return 2;

	/* Space comes back: the hole in between is passed over. */
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint64_t i = 0; i < 60; i++)
		append(i);
	if (!spool_show(look, &seen))
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

TEST(spool, a_folder_whose_name_is_too_long_is_said)
{
	static char longest[5000];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	setenv("TMPDIR", longest, 1);
	EXPECT(!spool_begin_temporary());
	EXPECT_EQ(errno, ENAMETOOLONG);
	setenv("TMPDIR", "/nowhere", 1);
	EXPECT(!spool_begin_temporary());
	EXPECT_EQ(errno, ENOENT);
	setenv("TMPDIR", "", 1);
	EXPECT(spool_begin_temporary());
	spool_close();
	unsetenv("TMPDIR");
	EXPECT(spool_begin_temporary());
	spool_close();
}

TEST(spool, goes_to_a_file_that_somebody_else_has)
{
	char path[] = "/tmp/dxgk-spool-XXXXXX";
	struct own_fd file;
	struct seen seen = { 0 };

	EXPECT(own_fd_keep(mkstemp(path), &file));
	unlink(path);
	spool_begin(&file);
	append(5);
	EXPECT(spool_show(look, &seen));
	EXPECT_EQ(seen.sum, 5);
	spool_close();
	EXPECT(own_fd_is_ours(&file));
	own_fd_close(&file);
}

TEST_MAIN("trace/spool")
