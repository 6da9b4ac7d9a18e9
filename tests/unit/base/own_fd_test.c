/* SPDX-License-Identifier: MIT */
/*
 * own_fd_test.c - a kept descriptor is high up, known by its file, and never a stranger's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "base/log.h"
#include "base/own_fd.h"
#include "support/test.h"

static char last_line[1024];
static unsigned lines;

static void keep_line(void *context, const char *line)
{
	(void)context;
	snprintf(last_line, sizeof(last_line), "%s", line);
	lines++;
}

static int make(void)
{
	return memfd_create("own", MFD_CLOEXEC);
}

static void limit_numbers(unsigned long most)
{
	struct rlimit limit;

	CHILD_EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = most;
	CHILD_EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

TEST(own_fd, is_used_and_closed_while_it_is_ours)
{
	struct own_fd fd;
	int made = make();

	EXPECT(own_fd_keep(made, &fd));
	int number = fd.number;
	EXPECT(number > made);
	EXPECT_EQ(fcntl(made, F_GETFD), -1);
	EXPECT_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(own_fd_use(&fd, "x"), number);
	own_fd_close(&fd);
	EXPECT_EQ(fcntl(number, F_GETFD), -1);
	EXPECT_EQ(own_fd_use(&fd, "x"), -1);
	own_fd_close(&fd);
}

TEST(own_fd, that_became_a_strangers_is_left_alone_and_said_once)
{
	struct own_fd fd;
	struct stat before;
	struct stat after;

	log_redirect(keep_line, NULL);
	lines = 0;
	EXPECT(own_fd_keep(make(), &fd));
	int number = fd.number;
	int stranger = make();
	EXPECT_EQ(fstat(stranger, &before), 0);
	EXPECT_EQ(dup2(stranger, number), number);
	EXPECT(!own_fd_is_ours(&fd));
	EXPECT_EQ(own_fd_use(&fd, "the thing is over"), -1);
	EXPECT_CONTAINS(last_line, "the thing is over");
	EXPECT_EQ(own_fd_use(&fd, "the thing is over"), -1);
	EXPECT_EQ(lines, 1);
	own_fd_close(&fd);
	EXPECT_EQ(fstat(number, &after), 0);
	EXPECT_EQ(after.st_ino, before.st_ino);
	close(number);
	close(stranger);
	log_redirect(NULL, NULL);
}

TEST(own_fd, that_was_closed_without_being_asked_for_closes_no_stranger)
{
	struct own_fd fd;

	EXPECT(own_fd_keep(make(), &fd));
	int number = fd.number;
	int stranger = make();
	EXPECT_EQ(dup2(stranger, number), number);
	own_fd_close(&fd);
	EXPECT_EQ(close(number), 0);
	EXPECT_EQ(close(stranger), 0);
}

TEST(own_fd, of_nothing_is_nothing)
{
	struct own_fd fd;

	errno = EMFILE;
	EXPECT(!own_fd_keep(-1, &fd));
	EXPECT_EQ(errno, EMFILE);
	EXPECT_EQ(own_fd_use(&fd, "x"), -1);
	own_fd_close(&fd);
}

static void keep_under_a_low_limit(void *argument)
{
	struct own_fd fd;
	struct own_fd all[16];
	unsigned count = 0;

	limit_numbers(*(const unsigned long *)argument);
	CHILD_EXPECT(own_fd_keep(make(), &fd));
	CHILD_EXPECT(fd.number >= 3);
	/* Also when there is no more room up there, until there is none at all. */
	while (count < 16 && own_fd_keep(make(), &all[count]))
		count++;
	CHILD_EXPECT(count == 16 || errno == EMFILE);
	while (count > 0) {
		CHILD_EXPECT(all[--count].number >= 3);
		own_fd_close(&all[count]);
	}
}

TEST(own_fd, is_kept_under_any_limit)
{
	static unsigned long limits[] = { 8, 9, 10, 16, 64, 256, 1024, 2047, 2048, 4096 };
	struct child_result result;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		child_run(&result, keep_under_a_low_limit, &limits[i]);
		EXPECT_STR(result.err, "");
		EXPECT_EQ(result.exit_status, 0);
	}
}

static void keep_without_standard_streams(void *argument)
{
	struct own_fd fd;

	(void)argument;
	close(0);
	CHILD_EXPECT(own_fd_keep(make(), &fd));
	CHILD_EXPECT(fd.number >= 3);
	CHILD_EXPECT(fcntl(0, F_GETFD) == -1);
	/* No number left that has no meaning to every program. */
	limit_numbers(3);
	CHILD_EXPECT(!own_fd_keep(make(), &fd));
	CHILD_EXPECT(fcntl(0, F_GETFD) == -1);
}

TEST(own_fd, is_never_a_standard_stream)
{
	struct child_result result;

	child_run(&result, keep_without_standard_streams, NULL);
	EXPECT_STR(result.err, "");
	EXPECT_EQ(result.exit_status, 0);
}

static unsigned table_length(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned length = 0;
	char line[256];

	CHILD_EXPECT(status != NULL);
	while (fgets(line, sizeof(line), status) && sscanf(line, "FDSize: %u", &length) != 1)
		;
	fclose(status);
	CHILD_EXPECT(length > 0);
	return length;
}

static void prepare(void *argument)
{
	unsigned long limit = *(const unsigned long *)argument;
	unsigned length = table_length();
	int lowest = make();

	close(lowest);
	limit_numbers(limit);
	CHILD_EXPECT(length < 1024);
	own_fd_prepare();
	CHILD_EXPECT(limit < 2048 || table_length() > 1024);
	/* Nothing stays open, low or high. */
	int made = make();
	CHILD_EXPECT(made == lowest);
	CHILD_EXPECT(fcntl(1024, F_GETFD) == -1);
	/* What is kept from then on needs no longer table. */
	length = table_length();
	struct own_fd fd;
	CHILD_EXPECT(own_fd_keep(made, &fd));
	CHILD_EXPECT(table_length() == length);
}

TEST(own_fd, a_long_table_is_there_before_it_is_wanted)
{
	static unsigned long limits[] = { 4096, 2048, 64, 8 };
	struct child_result result;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		child_run(&result, prepare, &limits[i]);
		EXPECT_STR(result.err, "");
		EXPECT_EQ(result.exit_status, 0);
	}
}

TEST_MAIN("base/own_fd")
