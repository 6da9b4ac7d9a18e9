/* SPDX-License-Identifier: MIT */
/*
 * cmd_tour.c - dxgk tour: three clients that want more memory than there is, watched.
 *
 * The clients run in a child, whose trace is complete when it has ended; the report is made of
 * that. With --processes the trace is that of the server in which they meet. The exit status is 0 when every byte was where it belonged, 1 when one was not or the tour
 * did not come to its end, 2 when the command line was not understood.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/options.h"
#include "cli/private_server.h"
#include "cli/tour/report.h"
#include "cli/view/page.h"
#include "trace/convert.h"

enum { EXIT_FAILED = 1, EXIT_NOT_UNDERSTOOD = 2 };
enum { FRAMES_DEFAULT = 120, FRAMES_MAX = 100000 };

struct options {
	struct tour_settings settings;
	const char *html;
	const char *trace;
	const char *socket; /* NULL: that of the environment, or none */
	bool is_untraced;   /* so there is nothing to tell of but that all bytes were right */
};

static void print_usage(FILE *out)
{
	fprintf(out,
		"usage: dxgk tour [--frames N] [--seed N] [--html FILE] [--trace FILE] "
		"[--quiet]\n"
		"       dxgk tour --processes [--socket PATH] ...\n\n"
		"Three clients want three times the local memory: frames over a set of textures, "
		"a\n"
		"stream that is used once, and one that idles and offers what it has. Every byte "
		"is\n"
		"looked at again. %d MiB of local memory, unless DXGK_PROFILE names an adapter.\n\n"
		"  --frames N    how many (%d)\n"
		"  --seed N      which textures and bytes (1)\n"
		"  --html FILE   a page that shows what happened (dxgk view)\n"
		"  --trace FILE  keeps the trace that it is made of\n"
		"  --quiet       nothing, when all is well\n"
		"  --spoil       writes one byte wrong, which has to be found\n"
		"  --no-trace    without one, and so without books and pictures: to measure what "
		"it costs\n"
		"  --processes   each client is a process; they meet in a server that is started "
		"for it\n"
		"  --socket PATH in this one, whose adapter is as it is; it takes a controller\n",
		TOUR_LOCAL_MIB, FRAMES_DEFAULT);
}

/* ---- command line ---- */

static const char *read_frames(const char *text, void *into)
{
	uint32_t *frames = into;
	uint64_t number;

	if (!text_is_number(text, 1, FRAMES_MAX, &number))
		return "a number above 0, and not too large";
	*frames = (uint32_t)number;
	return NULL;
}

static const char *read_seed(const char *text, void *into)
{
	return text_is_number(text, 0, UINT64_MAX, into) ? NULL : "a number";
}

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	struct tour_settings *settings = &options->settings;
	const struct command_option known[] = {
		{ "frames", .read = read_frames, .into = &settings->frames },
		{ "seed", .read = read_seed, .into = &settings->seed },
		{ "html", .text = &options->html },
		{ "trace", .text = &options->trace },
		{ "quiet", 'q', .flag = &settings->is_quiet },
		{ "spoil", .flag = &settings->is_spoiled },
		{ "no-trace", .flag = &options->is_untraced },
		{ "processes", .flag = &settings->is_apart },
		{ "socket", .text = &options->socket },
		{ 0 },
	};
	const struct command_options of = { "tour", print_usage, known };
	const char *simulation = getenv("DXGK_SEED");

	*options = (struct options){ .settings = { .frames = FRAMES_DEFAULT, .seed = 1 } };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind != argc) {
		fprintf(stderr, "dxgk tour: \"%s\" is one argument too many\n", argv[optind]);
		return EXIT_NOT_UNDERSTOOD;
	}
	if (options->is_untraced &&
	    (options->html || options->trace || options->settings.is_apart)) {
		fprintf(stderr, "dxgk tour: --no-trace leaves nothing to draw or to keep, and no "
				"server to trace\n");
		return EXIT_NOT_UNDERSTOOD;
	}
	if (options->socket && !options->settings.is_apart) {
		fprintf(stderr, "dxgk tour: --socket: is for --processes\n");
		return EXIT_NOT_UNDERSTOOD;
	}
	if (simulation && *simulation) {
		fprintf(stderr, "dxgk tour: DXGK_SEED is set, and no seed repeats clients on "
				"threads of their own; --seed says what they do\n");
		return EXIT_NOT_UNDERSTOOD;
	}
	return OPTIONS_GO_ON;
}

/* ---- the adapter and the trace: files without a name ---- */

/* "/proc/self/fd/N", in a child as well; -1 with errno. */
static int make_file(const char *name, char *path, size_t path_bytes)
{
	int descriptor = memfd_create(name, MFD_CLOEXEC);

	snprintf(path, path_bytes, "/proc/self/fd/%d", descriptor);
	return descriptor;
}

/* As docs/profile.md has it, unless the user has a profile. */
static bool set_profile(void)
{
	const char *profile = getenv("DXGK_PROFILE");
	char path[64];

	if (profile && *profile)
		return true;
	int descriptor = make_file("dxgk-profile", path, sizeof(path));
	if (descriptor < 0)
		return false;
	dprintf(descriptor,
		"{\"adapters\": [{\"driver\": \"soft\", \"name\": \"opendxgk Soft GPU\", "
		"\"registry\": {\"LocalMemoryMiB\": %d, \"ApertureMiB\": %d}}]}\n",
		TOUR_LOCAL_MIB, 4 * TOUR_LOCAL_MIB);
	return setenv("DXGK_PROFILE", path, 1) == 0;
}

/*
 * Where the trace goes: as asked for here, or of every program, or nowhere that stays. The report is made of the binary
 * form; JSON is made of that as well.
 */
static bool set_trace(struct options *options, char *path, size_t path_bytes)
{
	const char *asked = getenv("DXGK_TRACE");

	if (!options->trace && asked && *asked)
		options->trace = asked;
	if (options->trace && !trace_name_is_json(options->trace))
		snprintf(path, path_bytes, "%s", options->trace);
	else if (make_file("dxgk-trace", path, path_bytes) < 0)
		return false;
	return setenv("DXGK_TRACE", path, 1) == 0;
}

/* ---- the child ---- */

/* Says how it ended, unless as planned. */
static bool run_child(const struct tour_settings *settings, struct tour_counts *counts)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		exit(tour_run(settings, counts) ? 0 : EXIT_FAILED);
	if (child < 0) {
		fprintf(stderr, "dxgk tour: %s\n", strerror(errno));
		return false;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		fprintf(stderr, "dxgk tour: the clients were ended by signal %d (%s)\n",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (counts->complaint[0] != '\0')
		fprintf(stderr, "dxgk tour: %s\n", counts->complaint);
	else if (WEXITSTATUS(status) != 0 || !counts->is_complete)
		fprintf(stderr, "dxgk tour: the clients ended early, with status %d\n",
			WEXITSTATUS(status));
	else
		return true;
	return false;
}

/* ---- the report ---- */

static bool write_page(const struct options *options, const char *trace)
{
	if (!view_page_of_trace(trace, "dxgk tour", options->html, "tour"))
		return false;
	if (!options->settings.is_quiet)
		printf("  page      %s\n", options->html);
	return true;
}

static bool report(const struct options *options, const char *trace,
		   const struct tour_counts *counts)
{
	struct history history;
	char problem[256];
	bool is_good = history_read(trace, &history, problem, sizeof(problem));

	if (!is_good) {
		fprintf(stderr, "dxgk tour: the trace: %s\n", problem);
	} else {
		bool adds_up = report_adds_up(counts, &history);
		if (!adds_up)
			fprintf(stderr, "dxgk tour: trace and statistics do not tell the same\n");
		if (!options->settings.is_quiet)
			report_text(stdout, counts, &history);
		is_good = adds_up;
	}
	return (!options->html || write_page(options, trace)) && is_good;
}

/* ---- a server for clients that are processes ---- */

/* In one of its own, which traces; in another, which is told to. */
static bool run_with_own_server(const struct options *options, struct tour_counts *counts)
{
	struct private_server server;
	bool is_good;

	if (!private_server_start(&server, "tour"))
		return false;
	unsetenv("DXGK_TRACE");
	setenv("DXGK_SOCKET", server.path, 1);
	is_good = run_child(&options->settings, counts);
	return private_server_end(&server, "tour") && is_good;
}

static bool run_with_server(struct options *options, const char *trace, struct tour_counts *counts)
{
	const char *said = options->socket ? options->socket : getenv("DXGK_SOCKET");
	struct control_client client = { 0 };
	bool is_good;

	if (!control_find_server(&client, said))
		return run_with_own_server(options, counts);
	if (!control_trace_begin(&client, "tour", trace, 0))
		return false;
	options->settings.is_shared = true;
	unsetenv("DXGK_TRACE");
	setenv("DXGK_SOCKET", client.path, 1);
	is_good = run_child(&options->settings, counts);
	is_good = control_trace_end(&client, "tour") && is_good;
	close(client.server);
	return is_good;
}

/* Says why not. */
static bool keep_json(const struct options *options, const char *trace)
{
	char problem[256];

	if (!options->trace || !trace_name_is_json(options->trace))
		return true;
	if (trace_convert(trace, options->trace, problem, sizeof(problem)))
		return true;
	fprintf(stderr, "dxgk tour: %s\n", problem);
	return false;
}

/* Nothing can be told of it but that its bytes were right. */
static int tour_untraced(const struct options *options, struct tour_counts *counts)
{
	unsetenv("DXGK_TRACE");
	return run_child(&options->settings, counts) ? 0 : EXIT_FAILED;
}

static int tour(struct options *options)
{
	struct tour_counts *counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char trace[4096];

	if (counts == MAP_FAILED || !set_profile() || !set_trace(options, trace, sizeof(trace))) {
		fprintf(stderr, "dxgk tour: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	if (options->is_untraced)
		return tour_untraced(options, counts);
	bool is_good = options->settings.is_apart ? run_with_server(options, trace, counts)
						  : run_child(&options->settings, counts);
	/* Of clients that failed as well: that is when somebody wants to see what happened. */
	if (counts->segment_count > 0)
		is_good = report(options, trace, counts) && is_good;
	is_good = keep_json(options, trace) && is_good;
	munmap(counts, sizeof(*counts));
	return is_good ? 0 : EXIT_FAILED;
}

int cmd_tour(int argc, char **argv)
{
	struct options options;
	int exit_status = parse(argc, argv, &options);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	/* Whether it can be written, before the clients run. */
	if (options.html && !view_page_can_be(options.html)) {
		fprintf(stderr, "dxgk tour: %s: %s\n", options.html, strerror(errno));
		return EXIT_NOT_UNDERSTOOD;
	}
	return tour(&options);
}
