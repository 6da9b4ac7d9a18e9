/* SPDX-License-Identifier: MIT */
/*
 * shrink.c - makes a failing run small: fewer clients, statements, faults, bytes and context switches, as long as the same rule
 * is broken at the same place.
 *
 *   in:   DIR/failing/RULE-FINGERPRINT (failing.h)
 *   out:  small.dxgk there, which fails in the same way, and small_test.c, the same as a program
 *
 * A step is a script that is smaller; it is kept when one of a few seeds shows the finding again. Steps in this order, round
 * after round until none is kept: whole clients, blocks that need not be parallel, stretches of statements from half of
 * them down to one (ddmin), single faults, numbers; at last the schedule. A statement that makes something goes with all that name
 * it, so that what is left can be read.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/verify/failing.h"
#include "cli/verify/job.h"
#include "cli/verify/shrink_lines.h"
#include "cli/verify/shrink_test.h"

enum {
	SEEDS_TRIED = 20, /* schedules that a smaller script is tried with */
	SWITCHES_MOST = 4096,
};

struct shrinking {
	struct failing failing;
	struct subject subject;
	struct lines lines; /* the smallest so far */
	uint64_t switches;  /* UINT64_MAX: as many as there are */
	uint64_t deadline_ns;
	uint64_t runs;
};

/* ---- one try ---- */

static bool is_late(const struct shrinking *shrinking)
{
	return clock_now_ns() >= shrinking->deadline_ns;
}

static void set_switches(uint64_t switches)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, switches);
	if (switches == UINT64_MAX)
		unsetenv("DXGK_SWITCHES");
	else
		setenv("DXGK_SWITCHES", text, 1);
}

static bool shows_finding(struct shrinking *shrinking, const struct failing *candidate,
			  uint64_t switches)
{
	const struct finding *wanted = shrinking->failing.finding;
	struct job_result result;

	set_switches(switches);
	if (!failing_run(candidate, &shrinking->subject, NULL, &result))
		return false;
	shrinking->runs++;
	bool is_shown = findings_find(&result.findings, wanted->rule, wanted->fingerprint) != NULL;
	job_result_finish(&result);
	return is_shown;
}

/* With the seed it had, then with others; the one that showed it is kept. */
static bool try_script(struct shrinking *shrinking, const char *script, const char *plan)
{
	struct failing candidate = shrinking->failing;
	uint64_t first = shrinking->failing.seed;

	candidate.script = (char *)script;
	candidate.plan = (char *)plan;
	for (uint64_t i = 0; i < SEEDS_TRIED && !is_late(shrinking); i++) {
		candidate.seed = (first + i) % VERIFY_SEED_MOST;
		if (shows_finding(shrinking, &candidate, shrinking->switches)) {
			shrinking->failing.seed = candidate.seed;
			return true;
		}
	}
	return false;
}

/* Takes `smaller` when it fails in the same way, and frees what is not taken. */
static bool try_lines(struct shrinking *shrinking, struct lines *smaller)
{
	bool is_smaller = lines_weight(smaller) < lines_weight(&shrinking->lines);
	char *script = is_smaller ? lines_text(smaller) : NULL;
	bool is_kept = script && try_script(shrinking, script, shrinking->failing.plan);

	free(script);
	if (is_kept) {
		lines_finish(&shrinking->lines);
		shrinking->lines = *smaller;
	} else {
		lines_finish(smaller);
	}
	return is_kept;
}

/* ---- steps ---- */

static bool drop_clients(struct shrinking *shrinking)
{
	bool has_changed = false;

	for (size_t i = 0; i < shrinking->lines.count && !is_late(shrinking);) {
		struct lines smaller;

		if (strncmp(shrinking->lines.items[i], "client ", 7) != 0) {
			i++;
			continue;
		}
		lines_without(&shrinking->lines, i, 1, &smaller);
		if (try_lines(shrinking, &smaller))
			has_changed = true;
		else
			i++;
	}
	return has_changed;
}

static bool unfold_blocks(struct shrinking *shrinking)
{
	bool has_changed = false;

	for (size_t i = 0; i < shrinking->lines.count && !is_late(shrinking); i++) {
		struct lines smaller;

		if (!lines_unfold(&shrinking->lines, i, &smaller))
			continue;
		has_changed = try_lines(shrinking, &smaller) || has_changed;
	}
	return has_changed;
}

static bool drop_statements(struct shrinking *shrinking)
{
	bool has_changed = false;

	for (size_t length = shrinking->lines.count / 2; length > 0; length /= 2) {
		for (size_t i = 0; i < shrinking->lines.count && !is_late(shrinking);) {
			struct lines smaller;

			lines_without(&shrinking->lines, i, length, &smaller);
			if (try_lines(shrinking, &smaller))
				has_changed = true;
			else
				i += length;
		}
	}
	return has_changed;
}

static bool drop_faults(struct shrinking *shrinking)
{
	char *script = lines_text(&shrinking->lines);
	bool has_changed = false;

	for (size_t i = 0; !is_late(shrinking);) {
		char *plan = lines_plan_without(shrinking->failing.plan, i);

		if (!plan)
			break;
		if (try_script(shrinking, script, plan)) {
			free(shrinking->failing.plan);
			shrinking->failing.plan = plan;
			has_changed = true;
		} else {
			free(plan);
			i++;
		}
	}
	free(script);
	return has_changed;
}

/* Sizes become a page, how often once, values 1. */
static bool simplify_numbers(struct shrinking *shrinking)
{
	bool has_changed = false;

	for (size_t i = 0; i < shrinking->lines.count && !is_late(shrinking); i++) {
		for (size_t word = 0; word < LINE_WORDS_MOST; word++) {
			struct lines smaller;

			if (lines_simplify(&shrinking->lines, i, word, &smaller))
				has_changed = try_lines(shrinking, &smaller) || has_changed;
		}
	}
	return has_changed;
}

/* Fewest context switches at points where a thread could have gone on. */
static void shrink_schedule(struct shrinking *shrinking)
{
	struct failing candidate = shrinking->failing;

	candidate.script = lines_text(&shrinking->lines);
	for (uint64_t switches = 0; switches <= SWITCHES_MOST && !is_late(shrinking);
	     switches = switches < 4 ? switches + 1 : switches * 2) {
		for (uint64_t i = 0; i < SEEDS_TRIED && !is_late(shrinking); i++) {
			candidate.seed = (shrinking->failing.seed + i) % VERIFY_SEED_MOST;
			if (!shows_finding(shrinking, &candidate, switches))
				continue;
			shrinking->switches = switches;
			shrinking->failing.seed = candidate.seed;
			free(candidate.script);
			return;
		}
	}
	free(candidate.script);
}

static void shrink_all(struct shrinking *shrinking)
{
	bool has_changed = true;

	while (has_changed && !is_late(shrinking)) {
		has_changed = drop_clients(shrinking);
		has_changed = unfold_blocks(shrinking) || has_changed;
		has_changed = drop_statements(shrinking) || has_changed;
		has_changed = drop_faults(shrinking) || has_changed;
		has_changed = simplify_numbers(shrinking) || has_changed;
	}
	shrink_schedule(shrinking);
}

/* ---- what is left ---- */

static void write_head(FILE *out, const struct shrinking *shrinking)
{
	const struct failing *failing = &shrinking->failing;

	fprintf(out, "# %s: %s\n", failing->finding->rule, failing->finding->sentence);
	if (failing->plan[0])
		fprintf(out, "# DXGK_FAULT='%s'\n", failing->plan);
	if (shrinking->switches != UINT64_MAX)
		fprintf(out, "# DXGK_SWITCHES=%" PRIu64 "\n", shrinking->switches);
	fprintf(out, "driver %s\n", failing->driver);
	if (failing->exerciser)
		fprintf(out, "exerciser %s\n", failing->exerciser);
	fprintf(out, "seed %" PRIu64 "\n", failing->seed);
}

static bool write_file(const char *folder, const char *name, const struct shrinking *shrinking,
		       void (*write)(FILE *out, const struct shrinking *shrinking))
{
	char *path = needed_text("%s/%s", folder, name);
	FILE *out = fopen(path, "we");

	if (out)
		write(out, shrinking);
	bool is_good = out && !ferror(out);
	is_good = (!out || fclose(out) == 0) && is_good;
	if (!is_good)
		fprintf(stderr, "dxgk verify: %s cannot be written\n", path);
	free(path);
	return is_good;
}

static void write_script(FILE *out, const struct shrinking *shrinking)
{
	write_head(out, shrinking);
	for (size_t i = 0; i < shrinking->lines.count; i++)
		fprintf(out, "%s\n", shrinking->lines.items[i]);
}

static void write_test(FILE *out, const struct shrinking *shrinking)
{
	shrink_test_write(out, &shrinking->lines, &shrinking->failing, shrinking->switches);
}

static int report(const char *folder, const struct shrinking *shrinking, size_t before)
{
	if (!write_file(folder, "small.dxgk", shrinking, write_script) ||
	    !write_file(folder, "small_test.c", shrinking, write_test))
		return VERIFY_EXIT_USAGE;
	printf("%s: %zu statements of %zu, plan \"%s\", seed %" PRIu64 ", ", folder,
	       shrinking->lines.count, before, shrinking->failing.plan, shrinking->failing.seed);
	if (shrinking->switches == UINT64_MAX)
		printf("all context switches");
	else
		printf("%" PRIu64 " context switches", shrinking->switches);
	printf(" (%" PRIu64 " runs)\n", shrinking->runs);
	write_script(stdout, shrinking);
	return VERIFY_EXIT_CLEAN;
}

int verify_shrink(const char *folder, uint32_t minutes)
{
	struct shrinking shrinking = { .switches = UINT64_MAX };
	int status = VERIFY_EXIT_USAGE;

	if (!failing_load(&shrinking.failing, folder))
		return VERIFY_EXIT_USAGE;
	if (!subject_init_again(&shrinking.subject, shrinking.failing.driver,
				shrinking.failing.exerciser, shrinking.failing.profile)) {
		failing_finish(&shrinking.failing);
		return VERIFY_EXIT_USAGE;
	}
	shrinking.deadline_ns =
		clock_deadline((uint64_t)(minutes > 0 ? minutes : 1) * 60 * NS_PER_S);
	lines_read(&shrinking.lines, shrinking.failing.script);
	size_t before = shrinking.lines.count;
	if (try_script(&shrinking, shrinking.failing.script, shrinking.failing.plan)) {
		shrink_all(&shrinking);
		status = report(folder, &shrinking, before);
	} else {
		fprintf(stderr,
			"dxgk verify: %s: %s is not reported any more, with %d seeds from %" PRIu64
			" on; nothing is made small\n",
			folder, shrinking.failing.finding->rule, SEEDS_TRIED,
			shrinking.failing.seed);
		status = VERIFY_EXIT_SKIPPED;
	}
	set_switches(UINT64_MAX);
	lines_finish(&shrinking.lines);
	subject_finish(&shrinking.subject);
	failing_finish(&shrinking.failing);
	return status;
}
