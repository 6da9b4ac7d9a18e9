/* SPDX-License-Identifier: MIT */
/*
 * cmd_run.c - dxgk run: a scenario in ten lines.
 *
 * Reads the whole script, sets up the adapter it asks for, runs it, and tells what that came to.
 * The exit status is 0 when everything was as the script expects, 1 when something was not or
 * could not be tried, 2 when the script or the command line was not understood.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <opendxgk/softgpu.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/adapter_facts.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/private_server.h"
#include "cli/run/run.h"
#include "cli/run/setup.h"
#include "wire/server_link.h"

enum { EXIT_FAILED = 1, EXIT_NOT_UNDERSTOOD = 2 };

struct options {
	const char *path;
	const char *seed;   /* NULL: that of the environment, or of the script */
	const char *socket; /* NULL: that of the environment, or none */
	const char *html;   /* a page of the run */
	struct setup setup;
	const char *exerciser; /* whoever named it; NULL: none, or the built-in one */
	bool is_apart;         /* each client is a process */
	bool is_verbose;
	bool is_quiet;
	bool is_check;
};

static void print_usage(FILE *out)
{
	fprintf(out,
		"usage: dxgk run [--verbose | --quiet] [--check] [--seed N] [--driver FILE]\n"
		"                [--exerciser FILE] [--html PAGE] SCRIPT\n"
		"       dxgk run --processes [--socket PATH] [--verbose | --quiet] [--html PAGE] "
		"SCRIPT\n\n"
		"Carries out a scenario: clients, allocations, submissions, waits, and what is\n"
		"expected of them; \"-\" is standard input. dxgk-run(5) has the statements.\n\n"
		"  --verbose  a line for each statement, with its status\n"
		"  --quiet    nothing at the end, when all is well\n"
		"  --check    only reads the script\n"
		"  --seed N   a simulated run, the same for the same number\n"
		"  --driver FILE     on this driver instead of the software GPU\n"
		"  --exerciser FILE  the library that writes its private data and commands\n"
		"  --html PAGE       writes a page that shows the run, as dxgk trace --html does\n"
		"  --processes    each client is a process of its own; they meet in a server that\n"
		"                 is started for the run\n"
		"  --socket PATH  in this one, whose adapter is as it is\n");
}

/* ---- command line ---- */

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	const struct command_option known[] = {
		{ "verbose", 'v', .flag = &options->is_verbose },
		{ "quiet", 'q', .flag = &options->is_quiet },
		{ "check", .flag = &options->is_check },
		{ "seed", .text = &options->seed },
		{ "processes", .flag = &options->is_apart },
		{ "socket", .text = &options->socket },
		{ "driver", .text = &options->setup.driver },
		{ "exerciser", .text = &options->setup.exerciser },
		{ "html", .text = &options->html },
		{ 0 },
	};
	const struct command_options of = { "run", print_usage, known };
	const char *simulation = getenv("DXGK_SEED");
	uint64_t seed;

	*options = (struct options){ 0 };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 1 != argc) {
		fprintf(stderr, "dxgk run: expected one SCRIPT\n");
		return EXIT_NOT_UNDERSTOOD;
	}
	if (options->is_apart && (options->seed || (simulation && *simulation))) {
		fprintf(stderr,
			"dxgk run: --processes: no seed repeats what several processes do\n");
		return EXIT_NOT_UNDERSTOOD;
	}
	options->path = options->setup.script_path = argv[optind];
	if (options->seed && !text_is_number(options->seed, 0, UINT64_MAX, &seed)) {
		fprintf(stderr, "dxgk run: --seed: \"%s\" is not a number\n", options->seed);
		return EXIT_NOT_UNDERSTOOD;
	}
	return OPTIONS_GO_ON;
}

/* ---- reading ---- */

/* All of it, or NULL with errno. */
static char *read_all(FILE *file, size_t *size_out)
{
	size_t capacity = 65536;
	size_t size = 0;
	char *bytes = mem_alloc(capacity);

	while (bytes) {
		size += fread(bytes + size, 1, capacity - size, file);
		if (size < capacity)
			break;
		if (capacity > SCRIPT_BYTES_MAX)
			break; /* more than a script may have; script_read() says so */
		char *grown = mem_realloc(bytes, capacity *= 2);
		if (!grown)
			mem_free(bytes);
		bytes = grown;
	}
	if (!bytes)
		errno = ENOMEM;
	if (bytes && ferror(file)) {
		mem_free(bytes);
		bytes = NULL;
	}
	*size_out = size;
	return bytes;
}

static char *read_file(const char *path, size_t *size_out)
{
	bool is_standard_input = strcmp(path, "-") == 0;
	FILE *file = is_standard_input ? stdin : fopen(path, "re");
	char *bytes = file ? read_all(file, size_out) : NULL;
	int saved_errno = errno;

	if (file && !is_standard_input)
		fclose(file);
	errno = saved_errno;
	return bytes;
}

/* 0, or the exit status after saying why. */
static int load(const char *path, struct script *script)
{
	struct script_problem problem;
	size_t size_bytes;
	char *bytes = read_file(path, &size_bytes);

	if (!bytes) {
		fprintf(stderr, "dxgk run: %s: %s\n", path, strerror(errno));
		return EXIT_NOT_UNDERSTOOD;
	}
	NTSTATUS status = script_read(bytes, size_bytes, script, &problem);
	mem_free(bytes);
	if (status == STATUS_NO_MEMORY)
		fprintf(stderr, "dxgk run: no memory\n");
	else if (!NT_SUCCESS(status) && problem.line == 0)
		fprintf(stderr, "%s: %s\n", path, problem.text);
	else if (!NT_SUCCESS(status))
		fprintf(stderr, "%s:%u:%u: %s\n", path, problem.line, problem.column, problem.text);
	if (NT_SUCCESS(status))
		return 0;
	return status == STATUS_NO_MEMORY ? EXIT_FAILED : EXIT_NOT_UNDERSTOOD;
}

/* ---- the adapter ---- */

static bool set_seed(const struct script *script, const struct options *options)
{
	char number[32];

	if (options->seed)
		return setenv("DXGK_SEED", options->seed, 1) == 0;
	if (!script->has_seed)
		return true;
	snprintf(number, sizeof(number), "%" PRIu64, script->seed);
	return setenv("DXGK_SEED", number, 1) == 0;
}

/*
 * A seed in the environment simulates every thread that this program makes as well, and then a
 * branch that waits for another one would wait for ever: it is the kernel's run that is simulated.
 * So a seed reaches the kernel only, and the program starts over when it was there from the start.
 */
static void start_over_with_seed(char **argv, int argc)
{
	const char *seed = getenv("DXGK_SEED");
	char **arguments = seed && *seed ? calloc((size_t)argc + 4, sizeof(*arguments)) : NULL;

	if (!arguments)
		return;
	arguments[0] = "dxgk";
	arguments[1] = argv[0];
	arguments[2] = "--seed";
	arguments[3] = strdup(seed);
	for (int i = 1; i < argc; i++)
		arguments[i + 3] = argv[i];
	unsetenv("DXGK_SEED");
	execv("/proc/self/exe", arguments);
	fprintf(stderr, "dxgk run: cannot start over: %s\n", strerror(errno));
	free(arguments[3]);
	free(arguments);
}

/*
 * The kernel's trace is complete when it has ended, so another program runs this one, and makes the page. Returns only when
 * that cannot be started. A trace that the environment asks for is the one it is made of.
 */
static void start_over_with_trace(const struct options *options, int argc, char **argv)
{
	char **arguments = calloc((size_t)argc + 12, sizeof(*arguments));
	const char *trace = getenv("DXGK_TRACE");
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int count = 0;

	if (!arguments || length < 0) {
		free(arguments);
		return;
	}
	self[length] = '\0';
	arguments[count++] = "dxgk";
	arguments[count++] = "trace";
	arguments[count++] = "--html";
	arguments[count++] = (char *)options->html;
	if (options->is_quiet)
		arguments[count++] = "--quiet";
	if (trace && *trace) {
		arguments[count++] = "-o";
		arguments[count++] = (char *)trace;
	}
	if (options->socket) {
		arguments[count++] = "--socket";
		arguments[count++] = (char *)options->socket;
	}
	arguments[count++] = "--";
	arguments[count++] = self;
	for (int i = 0; i < argc; i++) {
		if (argv[i] == options->html)
			count--; /* the option's name, in front of it */
		else if (strncmp(argv[i], "--html=", 7) != 0)
			arguments[count++] = argv[i];
	}
	execv("/proc/self/exe", arguments);
	free(arguments);
}

/* ---- the end ---- */

static bool ask_driver(D3DKMT_HANDLE adapter, void *request, uint32_t size_bytes)
{
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .pPrivateDriverData = request,
			       .PrivateDriverDataSize = size_bytes };

	return NT_SUCCESS(D3DKMTEscape(&args));
}

static const char *node_name(uint32_t kind)
{
	switch (kind) {
	case SOFTGPU_NODE_3D:
		return "3D";
	case SOFTGPU_NODE_COPY:
		return "copy";
	default:
		return "paging";
	}
}

static void print_summary(struct world *world)
{
	struct softgpu_escape_info info = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_INFO, sizeof(info), 0 },
	};
	struct softgpu_escape_work work = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_WORK, sizeof(work), 0 },
	};

	printf("%" PRIu64 " calls", (uint64_t)world->calls);
	if (!world->is_soft) {
		putchar('\n');
		return;
	}
	if (!ask_driver(world->adapter, &info, sizeof(info)) ||
	    !ask_driver(world->adapter, &work, sizeof(work))) {
		printf("; the driver is gone\n");
		return;
	}
	printf("; %" PRIu64 " packets preempted, %" PRIu64 " faulted, %" PRIu64 " engine resets\n",
	       info.packets_preempted, info.packets_faulted, info.engine_resets);
	for (uint32_t i = 0; i < info.adapter.node_count && i < SOFTGPU_MAX_NODES; i++) {
		const struct softgpu_node_work *node = &work.nodes[i];
		printf("node %u (%s): %" PRIu64 " packets, %" PRIu64 " bytes written", i,
		       node_name(info.adapter.node_kinds[i]), node->packets, node->bytes_written);
		if (node->table_entries > 0)
			printf(", %" PRIu64 " table entries", node->table_entries);
		putchar('\n');
	}
}

static struct run_settings settings_of(const struct options *options)
{
	static struct run_counts counts;

	return (struct run_settings){ .path = options->path,
				      .is_verbose = options->is_verbose,
				      .exerciser = options->exerciser,
				      .counts = &counts };
}

static bool run_here(const struct options *options, const struct script *script,
		     struct thing *things, struct run_settings *settings)
{
	struct world world = { 0 };
	bool is_good = world_open(&world, script, things, settings->exerciser);

	if (is_good)
		is_good = run_script(&world, settings);
	if (settings->processes)
		world.calls += processes_end(settings->processes);
	else
		world_destroy_all(&world);
	if (world.adapter != 0 && !options->is_quiet)
		print_summary(&world);
	world_close(&world);
	return is_good;
}

/* ---- each client a process ---- */

struct task {
	const struct options *options;
	const struct script *script;
};

static int run_clients(void *context)
{
	const struct options *options = ((const struct task *)context)->options;
	const struct script *script = ((const struct task *)context)->script;
	struct run_settings settings = settings_of(options);
	struct thing *things = world_make_shared_things(script);

	if (things)
		settings.processes = processes_begin(script, things, settings.exerciser,
						     run_in_process, &settings);
	if (!settings.processes) {
		fprintf(stderr, "dxgk run: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	return run_here(options, script, things, &settings) ? 0 : EXIT_FAILED;
}

/* In the server that was named, else in one of its own. */
static int run_apart(const struct options *options, const struct script *script)
{
	const char *said = options->socket ? options->socket : getenv("DXGK_SOCKET");
	struct private_server server = { 0 };
	struct task task = { options, script };
	char path[4096];
	int exit_status;

	if (!processes_can_run(script, options->path))
		return EXIT_NOT_UNDERSTOOD;
	if (server_link_choose(said, path, sizeof(path)) == SERVER_AT_PATH) {
		if (script->setting_count > 0 || script->profile || script->driver)
			fprintf(stderr, "dxgk run: the adapter is the server's, not the one that "
					"the script describes\n");
	} else if (private_server_start(&server, "run")) {
		snprintf(path, sizeof(path), "%s", server.path);
	} else {
		return EXIT_FAILED;
	}
	setenv("DXGK_SOCKET", path, 1);
	exit_status = private_server_use(run_clients, &task);
	return private_server_end(&server, "run") ? exit_status : EXIT_FAILED;
}

static int run(const struct options *options, const struct script *script)
{
	struct run_settings settings = settings_of(options);

	if (options->is_apart)
		return run_apart(options, script);
	if (options->socket && setenv("DXGK_SOCKET", options->socket, 1) != 0)
		return EXIT_FAILED;
	return run_here(options, script, NULL, &settings) ? 0 : EXIT_FAILED;
}

/* A seed of the script is for runs in one process. */
static bool set_environment(const struct script *script, const struct options *options)
{
	return setup_profile(script, &options->setup) &&
	       (options->is_apart || set_seed(script, options));
}

int cmd_run(int argc, char **argv)
{
	struct script script = { 0 };
	struct options options;
	char exerciser[4096];
	int exit_status = parse(argc, argv, &options);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	if (options.html && !options.is_check) {
		start_over_with_trace(&options, argc, argv);
		fprintf(stderr, "dxgk run: --html: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	if (!options.seed)
		start_over_with_seed(argv, argc);
	exit_status = load(options.path, &script);
	if (exit_status == 0 &&
	    setup_exerciser(&script, &options.setup, exerciser, sizeof(exerciser)))
		options.exerciser = exerciser;
	if (exit_status == 0 && !options.is_check) {
		if (set_environment(&script, &options)) {
			exit_status = run(&options, &script);
		} else {
			fprintf(stderr, "dxgk run: %s\n", strerror(errno));
			exit_status = EXIT_FAILED;
		}
	}
	script_finish(&script);
	return exit_status;
}
