/* SPDX-License-Identifier: MIT */
/*
 * replay.c - dxgk verify replay: one finding once more.
 *
 * The run is the same when its trace is, byte for byte. Where the driver has changed since, it may be another one, and the
 * finding may be gone: then the exit status is 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/verify/failing.h"
#include "cli/verify/job.h"
#include "cli/verify/report.h"
#include "cli/verify/sanitize.h"
#include "cli/verify/traces.h"

struct replay {
	const char *folder;
	char *trace;      /* where the new one goes; NULL: not yet known */
	bool keeps_trace; /* somebody asked for it */
};

static void print_usage(FILE *out)
{
	fputs("usage: dxgk verify replay [--trace FILE] DIR/failing/RULE-FINGERPRINT\n\n"
	      "Does a run again that broke a rule: the same script, seed and plan. DXGK_LOG says\n"
	      "more about it (opendxgk(7)).\n\n"
	      "  --trace FILE  keeps the trace of it\n",
	      out);
}

/* For a trace that nobody keeps: the folder of a failure may be one to read only. */
static char *passing_name(void)
{
	const char *folder = getenv("TMPDIR");
	char *name = needed_text("%s/dxgk-replay-XXXXXX.json", folder && *folder ? folder : "/tmp");
	int file = mkstemps(name, 5);

	if (file >= 0)
		close(file);
	return name;
}

/* As options_take(). */
static int parse(int argc, char **argv, struct replay *replay)
{
	const char *trace = NULL;
	const struct command_option known[] = { { "trace", .text = &trace }, { 0 } };
	const struct command_options of = { "verify replay", print_usage, known };

	*replay = (struct replay){ 0 };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 1 != argc) {
		fputs("dxgk verify replay: expected one folder\n", stderr);
		return VERIFY_EXIT_USAGE;
	}
	replay->folder = argv[optind];
	/* That of the failure is JSON, and so has to be what is compared with it. */
	size_t length = trace ? strlen(trace) : 0;
	if (trace && (length < 5 || strcmp(trace + length - 5, ".json") != 0)) {
		fprintf(stderr,
			"dxgk verify replay: --trace: \"%s\": expected a name that ends in .json\n",
			trace);
		return VERIFY_EXIT_USAGE;
	}
	replay->keeps_trace = trace != NULL;
	replay->trace = trace ? needed_text("%s", trace) : NULL;
	return OPTIONS_GO_ON;
}

/* A trace is written by a run that comes to its end. */
static void compare_traces(const struct replay *replay, const struct job_result *result)
{
	char *before = needed_text("%s/trace.json", replay->folder);
	char entry[TRACES_ENTRY_BYTES];
	char *difference = traces_compare(before, replay->trace, entry);

	if (access(before, R_OK) != 0 || !result->has_ended)
		puts("trace: none to compare with, the run did not come to its end");
	else if (!traces_is_whole(replay->trace))
		puts("trace: it was not written, so it is not compared");
	else if (difference)
		printf("trace: not the same: %s\n", difference);
	else
		puts("trace: the same, byte for byte");
	free(difference);
	free(before);
}

static int exit_status_of(const struct finding *finding)
{
	if (finding->kind == FINDING_CRASH)
		return VERIFY_EXIT_CRASH;
	return finding->kind == FINDING_HANG ? VERIFY_EXIT_HANG : VERIFY_EXIT_BROKEN;
}

static int tell(const struct replay *replay, const struct failing *failing,
		const struct subject *subject, struct job_result *result)
{
	const struct finding *again = findings_find(&result->findings, failing->finding->rule,
						    failing->finding->fingerprint);

	fputs(result->tail, stderr);
	if (strcmp(failing->build, subject->build) != 0)
		puts("the driver is another build than the one that was found to break the rule");
	if (again)
		printf("%s %s: again: %s\n", again->rule, again->fingerprint, again->sentence);
	else
		printf("%s %s: not seen\n", failing->finding->rule, failing->finding->fingerprint);
	for (uint32_t i = 0; i < result->findings.count; i++) {
		const struct finding *other = result->findings.items[i];

		if (other != again)
			printf("also %s %s: %s\n", other->rule, other->fingerprint,
			       other->sentence);
	}
	compare_traces(replay, result);
	if (replay->keeps_trace && result->has_ended && !traces_is_whole(replay->trace))
		return VERIFY_EXIT_USAGE;
	return again ? exit_status_of(again) : VERIFY_EXIT_CLEAN;
}

static int run(struct replay *replay, const struct failing *failing)
{
	struct subject subject;
	struct job_result result;
	int exit_status = VERIFY_EXIT_USAGE;

	if (!replay->keeps_trace)
		replay->trace = passing_name();
	if (subject_init_again(&subject, failing->driver, failing->exerciser, failing->profile)) {
		if (failing_run(failing, &subject, replay->trace, &result)) {
			exit_status = tell(replay, failing, &subject, &result);
			job_result_finish(&result);
		} else {
			fprintf(stderr, "dxgk verify: a run cannot be started: %s\n",
				strerror(errno));
		}
	}
	subject_finish(&subject);
	return exit_status;
}

int verify_replay(int argc, char **argv, char **whole_argv)
{
	struct replay replay;
	struct failing failing = { 0 };
	int exit_status = parse(argc, argv, &replay);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	exit_status = failing_load(&failing, replay.folder) &&
				      sanitize_host(failing.sanitizers, whole_argv)
			      ? run(&replay, &failing)
			      : VERIFY_EXIT_USAGE;
	if (!replay.keeps_trace && replay.trace)
		unlink(replay.trace);
	failing_finish(&failing);
	free(replay.trace);
	return exit_status;
}
