/* SPDX-License-Identifier: MIT */
/*
 * cmd_verify.c - dxgk verify: what is wrong with a driver?
 *
 * Reads the command line; cli/verify/ does the rest (verify.h has the way through it).
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/thread.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/verify/child.h"
#include "cli/verify/finding.h"
#include "cli/verify/rules.h"
#include "cli/verify/sanitize.h"
#include "cli/verify/verify.h"

enum { SEEDS_DEFAULT = 2000, JOBS_MOST = 256 };

static void print_usage(FILE *out)
{
	fputs("usage: dxgk verify [options] DRIVER.so\n"
	      "       dxgk verify replay [--trace FILE] DIR/failing/RULE-FINGERPRINT\n"
	      "       dxgk verify shrink DIR/failing/RULE-FINGERPRINT\n"
	      "       dxgk verify merge [--report DIR] [--baseline FILE] [--strict] [--tap] PART…\n"
	      "       dxgk verify --rules\n\n"
	      "Makes a display miniport work, and says which rules it breaks. dxgk-verify(1) has\n"
	      "all of it.\n\n"
	      "  --exerciser FILE   a library that speaks the driver's private language\n"
	      "  --profile FILE     registry and device that the driver is to find\n"
	      "  --seeds A..B       these, both included (0..1999)\n"
	      "  --minutes M        no new seed after that; the same command goes on\n"
	      "  --jobs N           runs at a time (as many as there are processors)\n"
	      "  --shard I/N        seeds with the remainder I when divided by N\n"
	      "  --workload NAME,…  these only\n"
	      "  --plan PLAN        this is made to fail; several: one of them for each seed\n"
	      "  --report DIR       where reports go (dxgk-verify)\n"
	      "  --baseline FILE    findings that are known, and do not count\n"
	      "  --strict           warnings count\n"
	      "  --tap              TAP on standard output\n"
	      "  --sanitize LIST    the driver was built with -fsanitize=LIST: address, "
	      "undefined,\n"
	      "                     or thread\n"
	      "  --timeout SECONDS  of a run (30)\n"
	      "  --memory MIB       of a run (2048)\n"
	      "  --rules            lists the rules\n\n"
	      "Workloads:\n",
	      out);
	workload_print_all(out);
	fputs("\nFaults of a plan, separated by semicolons; without N it is a series:\n", out);
	plan_print_faults(out);
}

/* ---- words ---- */

static bool refuse(const char *option, const char *text, const char *expected)
{
	fprintf(stderr, "dxgk verify: --%s: \"%s\": expected %s\n", option, text, expected);
	return false;
}

/* Digits, up to `end`. */
static bool read_number(const char *text, const char *end, uint64_t least, uint64_t most,
			uint64_t *number_out)
{
	const char *behind;

	return text_read_number(text, number_out, &behind) && behind == end &&
	       *number_out >= least && *number_out <= most;
}

static bool read_small(const char *option, const char *text, uint64_t most, uint32_t *number_out)
{
	uint64_t number;
	char expected[64];

	if (read_number(text, text + strlen(text), 1, most, &number)) {
		*number_out = (uint32_t)number;
		return true;
	}
	snprintf(expected, sizeof(expected), "a number from 1 to %llu", (unsigned long long)most);
	return refuse(option, text, expected);
}

static bool read_seeds(const char *text, struct verify_settings *settings)
{
	const char *dots = strstr(text, "..");

	if (!dots)
		return read_number(text, text + strlen(text), 0, VERIFY_SEED_MOST,
				   &settings->first_seed)
			       ? (settings->last_seed = settings->first_seed, true)
			       : refuse("seeds", text, "A..B, or one number below 2^53");
	return (read_number(text, dots, 0, VERIFY_SEED_MOST, &settings->first_seed) &&
		read_number(dots + 2, text + strlen(text), settings->first_seed, VERIFY_SEED_MOST,
			    &settings->last_seed)) ||
	       refuse("seeds", text, "A..B with A <= B < 2^53");
}

/* Also parts of one. */
static bool read_minutes(const char *text, struct verify_settings *settings)
{
	double minutes;

	if (!text_is_decimal(text, 0, 1000000, &minutes) || minutes == 0)
		return refuse("minutes", text, "a number above 0, as 90 or 0.5");
	settings->seconds = (uint64_t)(minutes * 60) + 1;
	return true;
}

static bool read_shard(const char *text, struct verify_settings *settings)
{
	const char *slash = strchr(text, '/');
	uint64_t shard, count;

	if (!slash || !read_number(slash + 1, text + strlen(text), 1, UINT32_MAX, &count) ||
	    !read_number(text, slash, 0, count - 1, &shard))
		return refuse("shard", text, "I/N with I from 0 to N-1");
	settings->shard = (uint32_t)shard;
	settings->shard_count = (uint32_t)count;
	return true;
}

static bool read_workloads(const char *text, struct verify_settings *settings)
{
	do {
		size_t length = strcspn(text, ",");
		const struct workload *workload = workload_find(text, length);

		if (!workload || settings->workload_count == VERIFY_WORKLOADS_MOST)
			return refuse("workload", text, "names of workloads, as --help lists them");
		settings->workloads[settings->workload_count++] = workload;
		text += length + (text[length] == ',');
	} while (*text);
	return true;
}

static bool read_plan(const char *text, struct verify_settings *settings)
{
	char problem[256] = "there are too many plans";
	struct plan *plan = &settings->plans[settings->plan_count];

	if (settings->plan_count < VERIFY_PLANS_MOST &&
	    plan_read(text, plan, problem, sizeof(problem))) {
		settings->plan_count++;
		if (plan->text[0] != '\0' || strcmp(text, "none") == 0)
			return true;
		snprintf(problem, sizeof(problem), "expected a fault, or none");
	}
	fprintf(stderr, "dxgk verify: --plan \"%s\": %s\n", text, problem);
	return false;
}

/* False after saying that it cannot be read. */
static bool read_path(const char *text, char **path_out)
{
	char whole[PATH_MAX];

	if (!realpath(text, whole) || access(whole, R_OK) != 0) {
		fprintf(stderr, "dxgk verify: %s: %s\n", text, strerror(errno));
		return false;
	}
	free(*path_out);
	*path_out = needed_text("%s", whole);
	return true;
}

/* ---- the command line ---- */

static bool read_option(int option, const char *text, struct verify_settings *settings)
{
	switch (option) {
	case 'e':
		return read_path(text, &settings->exerciser);
	case 'p':
		return read_path(text, &settings->profile);
	case 'S':
		return read_seeds(text, settings);
	case 'm':
		return read_minutes(text, settings);
	case 'j':
		return read_small("jobs", text, JOBS_MOST, &settings->jobs);
	case 'i':
		return read_shard(text, settings);
	case 'w':
		return read_workloads(text, settings);
	case 'P':
		return read_plan(text, settings);
	case 'r':
		free(settings->report);
		settings->report = needed_text("%s", text);
		return true;
	case 'b':
		return read_path(text, &settings->baseline);
	case 's':
		settings->is_strict = true;
		return true;
	case 't':
		settings->is_tap = true;
		return true;
	case 'z':
		settings->sanitizers = sanitize_read(text);
		return settings->sanitizers != 0;
	case 'T':
		return read_small("timeout", text, 86400, &settings->timeout_s);
	case 'M':
		return read_small("memory", text, 1 << 20, &settings->memory_mib);
	default:
		return false;
	}
}

static const struct option option_names[] = {
	{ "exerciser", required_argument, NULL, 'e' },
	{ "profile", required_argument, NULL, 'p' },
	{ "seeds", required_argument, NULL, 'S' },
	{ "minutes", required_argument, NULL, 'm' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "shard", required_argument, NULL, 'i' },
	{ "workload", required_argument, NULL, 'w' },
	{ "plan", required_argument, NULL, 'P' },
	{ "report", required_argument, NULL, 'r' },
	{ "baseline", required_argument, NULL, 'b' },
	{ "strict", no_argument, NULL, 's' },
	{ "tap", no_argument, NULL, 't' },
	{ "sanitize", required_argument, NULL, 'z' },
	{ "timeout", required_argument, NULL, 'T' },
	{ "memory", required_argument, NULL, 'M' },
	{ "rules", no_argument, NULL, 'R' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static char *command_line(int argc, char **argv)
{
	char *text = NULL;
	size_t length;
	FILE *out = needed(open_memstream(&text, &length));

	fputs("dxgk", out);
	for (int i = 0; i < argc; i++)
		fprintf(out, strpbrk(argv[i], " ;\"'") ? " '%s'" : " %s", argv[i]);
	fclose(out);
	return needed(text);
}

/* What nobody said. With a time, as many seeds as fit into it. */
static void set_defaults(struct verify_settings *settings)
{
	*settings = (struct verify_settings){
		.last_seed = VERIFY_SEED_MOST,
		.shard_count = 1,
		.jobs = thread_processors(),
		.timeout_s = VERIFY_TIMEOUT_S,
		.memory_mib = VERIFY_MEMORY_MIB,
		.report = needed_text("dxgk-verify"),
	};
	if (settings->jobs > JOBS_MOST)
		settings->jobs = JOBS_MOST;
}

/* As getopt_long(), and what that complains about has "dxgk verify" in front. */
static int next_option(int argc, char **argv, const struct option *names)
{
	static char program[] = "dxgk verify";
	char *verb = argv[0]; /* whoever starts over with these arguments needs it */

	argv[0] = program;
	int option = getopt_long(argc, argv, "h", names, NULL);
	argv[0] = verb;
	return option;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct verify_settings *settings)
{
	bool has_seeds = false;
	int option;

	set_defaults(settings);
	settings->command = command_line(argc, argv);
	optind = 1;
	while ((option = next_option(argc, argv, option_names)) != -1) {
		if (option == 'h' || option == 'R') {
			if (option == 'h')
				print_usage(stdout);
			else
				verify_rules_print(stdout);
			return 0;
		}
		has_seeds |= option == 'S';
		if (!read_option(option, optarg, settings))
			return VERIFY_EXIT_USAGE;
	}
	if (optind + 1 != argc) {
		fputs("dxgk verify: expected one DRIVER.so\n", stderr);
		return VERIFY_EXIT_USAGE;
	}
	if (!has_seeds && settings->seconds == 0)
		settings->last_seed = SEEDS_DEFAULT - 1;
	return read_path(argv[optind], &settings->driver) ? -1 : VERIFY_EXIT_USAGE;
}

static void settings_finish(struct verify_settings *settings)
{
	free(settings->driver);
	free(settings->exerciser);
	free(settings->profile);
	free(settings->baseline);
	free(settings->report);
	free(settings->command);
}

/*
 * A seed in the environment would simulate this program's own waits, and what else is there for a kernel is for the runs:
 * the program starts over without it.
 */
static void start_over_without_seed(char **whole_argv)
{
	if (!getenv("DXGK_SEED"))
		return;
	unsetenv("DXGK_SEED");
	execv("/proc/self/exe", whole_argv);
	fprintf(stderr, "dxgk verify: cannot start over: %s\n", strerror(errno));
}

static void print_shrink_usage(FILE *out)
{
	fputs("usage: dxgk verify shrink DIR/failing/RULE-FINGERPRINT\n\n"
	      "Makes a run small that broke a rule: small.dxgk and small_test.c in the folder.\n",
	      out);
}

static int run_shrink(int argc, char **argv)
{
	static const struct command_option none[] = { { 0 } };
	const struct command_options of = { "verify shrink", print_shrink_usage, none };
	int status = options_take(argc, argv, &of);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 1 != argc) {
		print_shrink_usage(stderr);
		return VERIFY_EXIT_USAGE;
	}
	return verify_shrink(argv[optind], 0);
}

int cmd_verify(int argc, char **argv)
{
	struct verify_settings settings;
	char **whole_argv = argv - 1; /* "dxgk", and the verb */

	start_over_without_seed(whole_argv);
	if (argc > 1 && strcmp(argv[1], "again") == 0)
		return child_run_again(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "replay") == 0)
		return verify_replay(argc - 1, argv + 1, whole_argv);
	if (argc > 1 && strcmp(argv[1], "merge") == 0)
		return verify_merge(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "shrink") == 0)
		return run_shrink(argc - 1, argv + 1);
	int exit_status = parse(argc, argv, &settings);
	if (exit_status < 0)
		exit_status = sanitize_is_built(settings.driver, settings.sanitizers) &&
					      sanitize_host(settings.sanitizers, whole_argv)
				      ? verify_campaign(&settings)
				      : VERIFY_EXIT_USAGE;
	settings_finish(&settings);
	return exit_status;
}
