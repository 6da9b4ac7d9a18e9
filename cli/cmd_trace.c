/* SPDX-License-Identifier: MIT */
/*
 * cmd_trace.c - dxgk trace: run a program and keep a trace of it.
 *
 * Sets DXGK_TRACE for the program, passes signals on to it, and tells at the end what the file
 * holds, or why there is none. The exit status is the program's; 128 + n when signal n ended it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "base/attributes.h"
#include "trace/summary.h"

enum { EXIT_USAGE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static const char default_path[] = "dxgk-trace.json";

static const int passed_signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
static volatile sig_atomic_t child;

static void print_usage(FILE *out)
{
	fprintf(out,
		"Usage: dxgk trace [-o FILE] [--] PROGRAM [ARGUMENT…]\n"
		"Runs PROGRAM and writes what libdxcore.so did for it to FILE (%s),\n"
		"which opens in https://ui.perfetto.dev\n",
		default_path);
}

/* The terminal sends its signals to the program as well; only what another process sent is ours. */
static void pass_signal(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	(void)context;
	if (child > 0 && info->si_code <= 0)
		kill(child, number);
	errno = saved_errno;
}

static void watch_signals(void)
{
	struct sigaction action = { .sa_sigaction = pass_signal, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(passed_signals); i++)
		sigaction(passed_signals[i], &action, NULL);
}

/* The program may change its folder before it loads the library. */
static char *absolute_path(const char *path)
{
	char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
	char *absolute = NULL;

	if (path[0] == '/')
		return strdup(path);
	if (folder && asprintf(&absolute, "%s/%s", folder, path) < 0)
		absolute = NULL;
	free(folder);
	return absolute;
}

/* Whether it can be written, before the program runs. An old file goes: it would be misread. */
static bool prepare_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	struct stat status;

	if (fd < 0)
		return errno == ENXIO; /* a pipe nobody reads yet */
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		unlink(path);
	close(fd);
	return true;
}

/* Returns an errno. Signals wait until `child` is known. */
static int start_program(char **arguments)
{
	posix_spawnattr_t attributes;
	sigset_t blocked, before;
	pid_t pid = 0;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(passed_signals); i++)
		sigaddset(&blocked, passed_signals[i]);
	sigprocmask(SIG_BLOCK, &blocked, &before);

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &before);
	int error = posix_spawnp(&pid, arguments[0], NULL, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	if (error == 0) {
		child = pid;
		watch_signals();
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

static int wait_for_program(void)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	return status;
}

static void report_events(const char *path, const struct trace_summary *summary)
{
	const char *separator = " (";

	fprintf(stderr, "dxgk trace: %s: %" PRIu64 " events", path, summary->events);
	for (uint32_t i = 0; i < TRACE_CATEGORY_COUNT; i++) {
		if (summary->by_category[i] == 0)
			continue;
		fprintf(stderr, "%s%s %" PRIu64, separator, trace_category_titles[i],
			summary->by_category[i]);
		separator = ", ";
	}
	fputs(")\n", stderr);
}

static void report(const char *path, const char *program, int status)
{
	struct trace_summary summary;
	struct stat file;

	if (stat(path, &file) != 0) {
		fprintf(stderr,
			"dxgk trace: no trace: %s never used libdxcore.so, or its first call did "
			"not reach the kernel\n",
			program);
	} else if (!S_ISREG(file.st_mode)) {
		fprintf(stderr, "dxgk trace: events went to %s\n", path);
	} else if (!trace_summary_read(path, &summary)) {
		fprintf(stderr, "dxgk trace: %s: %s\n", path, strerror(errno));
	} else if (!summary.is_complete) {
		fprintf(stderr, "dxgk trace: %s is not complete: %s ", path, program);
		if (WIFSIGNALED(status))
			fprintf(stderr, "was ended by signal %d (%s)\n", WTERMSIG(status),
				strsignal(WTERMSIG(status)));
		else
			fputs("did not end through exit()\n", stderr);
	} else if (summary.events == 0) {
		fprintf(stderr,
			"dxgk trace: no events: %s loaded libdxcore.so but called nothing\n",
			program);
	} else {
		report_events(path, &summary);
	}
}

static int run_traced(const char *path, char **arguments)
{
	if (!prepare_file(path) || setenv("DXGK_TRACE", path, 1) != 0) {
		fprintf(stderr, "dxgk trace: %s: %s\n", path, strerror(errno));
		return EXIT_USAGE;
	}
	int error = start_program(arguments);
	if (error != 0) {
		fprintf(stderr, "dxgk trace: %s: %s\n", arguments[0], strerror(error));
		return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	int status = wait_for_program();
	report(path, arguments[0], status);
	return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int cmd_trace(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *path = default_path;
	int option;

	optind = 1;
	/* "+": what follows the program's name is the program's. */
	while ((option = getopt_long(argc, argv, "+o:h", options, NULL)) != -1) {
		if (option == 'o') {
			path = optarg;
		} else {
			print_usage(option == 'h' ? stdout : stderr);
			return option == 'h' ? EXIT_SUCCESS : EXIT_USAGE;
		}
	}
	if (optind == argc) {
		print_usage(stderr);
		return EXIT_USAGE;
	}

	char *absolute = absolute_path(path);
	if (!absolute) {
		fprintf(stderr, "dxgk trace: %s: %s\n", path, strerror(errno));
		return EXIT_USAGE;
	}
	int status = run_traced(absolute, argv + optind);
	free(absolute);
	return status;
}
