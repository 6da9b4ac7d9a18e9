/* SPDX-License-Identifier: MIT */
/*
 * cmd_trace.c - dxgk trace: run a program and keep a trace of it.
 *
 * Sets DXGK_TRACE for the program, passes signals on to it, and tells at the end what the file
 * holds, or why there is none. The exit status is the program's; 128 + n when signal n ended it.
 *
 *	dxgk trace -- PROGRAM                the kernel in the program traces
 *	dxgk trace --server -- PROGRAM       a server that is started for it does
 *	dxgk trace --socket PATH [PROGRAM]   a running one does, for so long, everybody's doings
 *	dxgk trace --convert TRACE           JSON, of a trace that is there
 *
 * With --html the trace is binary, and a page is made of it (dxgk view); unless it has a name, it goes then.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "cli/control_client.h"
#include "cli/options.h"
#include "cli/private_server.h"
#include "cli/view/page.h"
#include "trace/convert.h"
#include "trace/summary.h"
#include "trace/trace_file.h"

enum { EXIT_USAGE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static const char default_path[] = "dxgk-trace.json";

static const int passed_signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
static volatile sig_atomic_t child;

/* How the end is told. */
static struct {
	const char *name; /* of what is left, where that is not the trace */
	bool is_quiet;    /* nothing, when all is well */
} telling;

static void print_usage(FILE *out)
{
	fprintf(out,
		"Usage: dxgk trace [-o FILE] [--html PAGE] [--server] [--] PROGRAM [ARGUMENT…]\n"
		"       dxgk trace [-o FILE] [--html PAGE] --socket PATH [[--] PROGRAM "
		"[ARGUMENT…]]\n"
		"       dxgk trace [-o FILE] --convert TRACE\n"
		"Runs PROGRAM and writes what libdxcore.so did for it to FILE (%s). One that\n"
		"ends in .json opens in https://ui.perfetto.dev when the program has ended; every\n"
		"other one is binary, small, written as it happens, and converted when one "
		"likes.\n\n"
		"  --html PAGE    a page that shows it, which every browser opens (dxgk view); "
		"without\n"
		"                 -o the trace is not kept\n"
		"  --quiet        nothing at the end, when all is well\n"
		"  --with WORDS   driver: calls into the driver and from it; arguments: of every "
		"call,\n"
		"                 these included; addresses: where in its segment each "
		"allocation is;\n"
		"                 lists: which allocations a packet lists\n"
		"  --server       the program uses a server that is started for it, and traced\n"
		"  --socket PATH  a running server is traced, with all of its clients, while "
		"PROGRAM\n"
		"                 uses it; without PROGRAM until a signal (Ctrl-C)\n"
		"  --convert TRACE  makes FILE of a binary trace, also of one that was cut\n",
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

	if (telling.is_quiet)
		return;
	fprintf(stderr, "dxgk trace: %s: %" PRIu64 " events", telling.name ? telling.name : path,
		summary->events);
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
	const char *server = getenv("DXGK_SOCKET");
	struct trace_summary summary;
	struct stat file;

	if (stat(path, &file) != 0 && server && *server && strcmp(program, "dxgkd") != 0) {
		fprintf(stderr,
			"dxgk trace: no trace: %s has the kernel of a server (DXGK_SOCKET=%s), "
			"which "
			"is traced with --socket %s\n",
			program, server, server);
	} else if (stat(path, &file) != 0) {
		fprintf(stderr,
			"dxgk trace: no trace: %s never used libdxcore.so, or its first call did "
			"not reach the kernel\n",
			program);
	} else if (!S_ISREG(file.st_mode)) {
		fprintf(stderr, "dxgk trace: events went to %s\n", path);
	} else if (!trace_summary_read(path, &summary)) {
		fprintf(stderr, "dxgk trace: %s: %s\n", path, strerror(errno));
	} else if (!summary.is_complete && summary.events == 0) {
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
		if (summary.problem[0] != '\0')
			fprintf(stderr, "dxgk trace: %s: %s\n", path, summary.problem);
	}
}

static int complain(const char *what, int error)
{
	fprintf(stderr, "dxgk trace: %s: %s\n", what, strerror(error));
	return EXIT_USAGE;
}

/* Its status, as waitpid() has it. False, with the exit status: it was not started. */
static bool run_program(char **arguments, int *status_out)
{
	int error = start_program(arguments);
	if (error != 0) {
		(void)complain(arguments[0], error);
		*status_out = error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
		return false;
	}
	*status_out = wait_for_program();
	return true;
}

static int exit_status_of(int status)
{
	return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the kernel in the program ---- */

static int run_traced(const char *path, char **arguments)
{
	int status;

	if (!prepare_file(path) || setenv("DXGK_TRACE", path, 1) != 0)
		return complain(path, errno);
	if (!run_program(arguments, &status))
		return status;
	report(path, arguments[0], status);
	return exit_status_of(status);
}

/* ---- a server for the program ---- */

static int run_with_server(const char *path, char **arguments)
{
	struct private_server server;
	int status;

	if (!prepare_file(path) || setenv("DXGK_TRACE", path, 1) != 0)
		return complain(path, errno);
	if (!private_server_start(&server, "trace"))
		return EXIT_CANNOT_RUN;
	unsetenv("DXGK_TRACE");
	setenv("DXGK_SOCKET", server.path, 1);
	bool is_run = run_program(arguments, &status);
	bool is_good = private_server_end(&server, "trace");
	if (!is_run)
		return status;
	report(path, "dxgkd", 0);
	return is_good ? exit_status_of(status) : EXIT_CANNOT_RUN;
}

/* ---- a running server ---- */

static void wait_for_signal(const sigset_t *signals)
{
	int number;

	fputs("dxgk trace: the server is traced; Ctrl-C ends it\n", stderr);
	while (sigwait(signals, &number) != 0)
		;
}

static int run_on_server(const char *path, const char *said, uint32_t wishes, char **arguments)
{
	struct control_client client = { 0 };
	sigset_t ends;
	int status = 0;
	bool is_run = true;

	if (!control_find_server(&client, said) || !client.is_server) {
		fprintf(stderr, "dxgk trace: --socket %s: no server listens there\n", said);
		return EXIT_USAGE;
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	if (!arguments[0])
		sigprocmask(SIG_BLOCK, &ends, NULL);
	if (trace_name_is_json(path))
		wishes |= TRACE_AS_JSON;
	if (!control_trace_begin(&client, "trace", path, wishes))
		return EXIT_CANNOT_RUN;
	unsetenv("DXGK_TRACE");
	setenv("DXGK_SOCKET", client.path, 1);
	if (arguments[0])
		is_run = run_program(arguments, &status);
	else
		wait_for_signal(&ends);
	if (!control_trace_end(&client, "trace"))
		return EXIT_CANNOT_RUN;
	close(client.server);
	report(path, "dxgkd", 0);
	return is_run ? exit_status_of(status) : status;
}

/* ---- a trace that is there ---- */

static int convert(const char *from, const char *to)
{
	char problem[512];
	bool is_made = trace_convert(from, to, problem, sizeof(problem));

	if (problem[0] != '\0')
		fprintf(stderr, "dxgk trace: %s\n", problem);
	return is_made ? EXIT_SUCCESS : EXIT_CANNOT_RUN;
}

/* ---- and a page of it ---- */

/* What was run, as people type it; NULL without memory. */
static char *title_of(char **arguments)
{
	char *title = NULL;
	size_t bytes;
	FILE *out = open_memstream(&title, &bytes);

	if (!out)
		return NULL;
	fputs(*arguments ? basename(*arguments) : "a server", out);
	for (char **next = arguments; *next && next[1]; next++)
		fprintf(out, " %s", next[1]);
	return fclose(out) == 0 ? title : NULL;
}

static bool make_page(const char *trace, const char *html, char **arguments)
{
	char *title = access(trace, F_OK) == 0 ? title_of(arguments) : NULL;
	bool is_made = title && view_page_of_trace(trace, title, html, "trace");

	free(title);
	return is_made;
}

/* The same file with a name of its own, until it has been shown; NULL with errno. */
static char *name_beside(const char *html)
{
	char *name = NULL;
	int fd = asprintf(&name, "%s.XXXXXX", html) < 0 ? -1 : mkstemp(name);

	if (fd >= 0) {
		close(fd);
		return name;
	}
	free(name);
	return NULL;
}

/* ---- the command ---- */

struct options {
	const char *path;
	const char *html;
	const char *socket;
	const char *from;
	uint32_t wishes;
	bool is_server;
};

static int run_as_asked(const struct options *options, const char *path, char **arguments)
{
	char *absolute = absolute_path(path);
	int status;

	if (!absolute)
		return complain(path, errno);
	if (options->socket)
		status = run_on_server(absolute, options->socket, options->wishes, arguments);
	else if (options->is_server)
		status = run_with_server(absolute, arguments);
	else
		status = run_traced(absolute, arguments);
	free(absolute);
	return status;
}

static int run_and_show(const struct options *options, char **arguments)
{
	bool is_json = options->path && trace_name_is_json(options->path);
	char *beside = NULL;

	if (!view_page_can_be(options->html))
		return complain(options->html, errno);
	if ((!options->path || is_json) && !(beside = name_beside(options->html)))
		return complain(options->html, errno);

	const char *trace = beside ? beside : options->path;

	telling.name = options->html;

	int status = run_as_asked(options, trace, arguments);

	if (is_json && convert(trace, options->path) != EXIT_SUCCESS && status == 0)
		status = EXIT_CANNOT_RUN;
	if (!make_page(trace, options->html, arguments) && status == 0)
		status = EXIT_CANNOT_RUN;
	if (beside)
		unlink(beside);
	free(beside);
	return status;
}

static const char *read_wishes(const char *text, void *into)
{
	if (!trace_wishes_read(text, into))
		return "words that --help lists";
	setenv("DXGK_TRACE_WITH", text, 1);
	return NULL;
}

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	const struct command_option known[] = {
		{ "output", 'o', .text = &options->path },
		{ "html", .text = &options->html },
		{ "server", .flag = &options->is_server },
		{ "socket", .text = &options->socket },
		{ "with", .read = read_wishes, .into = &options->wishes },
		{ "quiet", .flag = &telling.is_quiet },
		{ "convert", .text = &options->from },
		{ 0 },
	};
	const struct command_options of = { "trace", print_usage, known, .end_at_word = true };

	*options = (struct options){ 0 };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	bool has_program = optind < argc;
	bool is_wrong = options->from ? has_program || options->socket || options->is_server ||
						options->html
				      : (options->socket ? options->is_server : !has_program);
	if (is_wrong)
		print_usage(stderr);
	if (!is_wrong && options->html && options->path &&
	    (strcmp(options->html, options->path) == 0 ||
	     trace_file_is_same(options->html, options->path))) {
		fprintf(stderr, "dxgk trace: %s cannot be the trace and the page\n", options->html);
		is_wrong = true;
	}
	return is_wrong ? OPTIONS_WRONG : OPTIONS_GO_ON;
}

int cmd_trace(int argc, char **argv)
{
	struct options options;
	int status = parse(argc, argv, &options);

	if (status != OPTIONS_GO_ON)
		return status;
	if (options.html)
		return run_and_show(&options, argv + optind);
	if (!options.path)
		options.path = default_path;
	return options.from ? convert(options.from, options.path)
			    : run_as_asked(&options, options.path, argv + optind);
}
