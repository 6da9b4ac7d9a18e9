/* SPDX-License-Identifier: MIT */
/*
 * child.h - running a piece of a test in a process of its own: what has to abort, and seeded runs,
 * of which a process has one.
 */
#ifndef TESTS_UNIT_BASE_CHILD_H
#define TESTS_UNIT_BASE_CHILD_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sim.h"
#include "support/counted.h"

enum { CHILD_LIMIT_S = 60 }; /* a child that hangs is ended, and its test fails */

struct child_result {
	int signal;      /* that ended it, or 0 */
	int exit_status; /* or -1 */
	char out[8192];  /* what it wrote to standard output */
	char err[8192];
};

/* In a child, instead of EXPECT: cmocka lives in the parent. */
#define CHILD_EXPECT(condition)                                                                    \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: expected: %s\n", __FILE__, __LINE__, #condition);  \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static inline void child_read(int fd, char *text, size_t size)
{
	ssize_t length = pread(fd, text, size - 1, 0);

	text[length < 0 ? 0 : length] = '\0';
	close(fd);
}

/* `result` is filled with how run(argument) went in the child. */
static inline void child_run(struct child_result *result, void (*run)(void *argument),
			     void *argument)
{
	int out = memfd_create("out", 0);
	int err = memfd_create("err", 0);
	int status = 0;

	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		counts_write_at_abort();
		alarm(CHILD_LIMIT_S);
		run(argument);
		fflush(NULL);
		counts_write();
		_exit(0);
	}
	waitpid(child, &status, 0);
	result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	child_read(out, result->out, sizeof(result->out));
	child_read(err, result->err, sizeof(result->err));
}

struct child_seed {
	uint64_t seed;
	void (*run)(void);
};

static inline void child_run_seed(void *argument)
{
	const struct child_seed *seed = argument;

	sim_start(seed->seed);
	seed->run();
}

static inline void child_run_seeded(struct child_result *result, uint64_t seed, void (*run)(void))
{
	child_run(result, child_run_seed, &(struct child_seed){ seed, run });
}

/* It ended as it should; otherwise what it said is shown. */
#define EXPECT_CHILD_OK(run, argument)                                                             \
	do {                                                                                       \
		struct child_result child_said;                                                    \
		child_run(&child_said, run, argument);                                             \
		if (child_said.exit_status != 0)                                                   \
			print_error("%s", child_said.err);                                         \
		EXPECT_EQ(child_said.exit_status, 0);                                              \
	} while (0)

/* It ended as it should; otherwise the seed and what it said are shown. */
#define EXPECT_SEEDED_OK(seed_value, run)                                                          \
	do {                                                                                       \
		struct child_result seeded_result;                                                 \
		child_run_seeded(&seeded_result, seed_value, run);                                 \
		if (seeded_result.exit_status != 0) {                                              \
			print_error("%s:%d: seed %llu: signal %d\n%s", __FILE__, __LINE__,         \
				    (unsigned long long)(seed_value), seeded_result.signal,        \
				    seeded_result.err);                                            \
			_fail(__FILE__, __LINE__);                                                 \
		}                                                                                  \
	} while (0)

#endif
