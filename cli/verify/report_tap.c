/* SPDX-License-Identifier: MIT */
/*
 * report_tap.c - TAP 14: a test for each seed, with what is wrong in a block of YAML.
 *
 * Texts in the block are in double quotes, which YAML reads as JSON does.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verify/escape.h"
#include "cli/verify/report.h"
#include "cli/verify/workload.h"

/* What may fail, in the words of TAP; not what is to do here. */
static const char known_directive[] = { 'T', 'O', 'D', 'O', '\0' };

/* "#" would begin a directive, and "\" is what hides one. */
static void put_description(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '#' || *text == '\\')
			fputc('\\', out);
		fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
	}
}

static void put_field(FILE *out, const char *name, const char *text)
{
	fprintf(out, "  %s: ", name);
	json_put(out, text);
	fputc('\n', out);
}

static void put_block(FILE *out, const struct report *report, const struct finding *finding,
		      const struct run_line *line)
{
	const struct finding_frame *place = finding_driver_frame(finding, report->driver);
	const struct verify_rule *rule = verify_rule_find(finding->rule);

	fputs("  ---\n", out);
	put_field(out, "message", finding->sentence);
	put_field(out, "severity", verify_level_name(finding_level(finding)));
	put_field(out, "rule", finding->rule);
	put_field(out, "fingerprint", finding->fingerprint);
	if (rule)
		put_field(out, "source", rule->source);
	if (place && place->line != 0) {
		char *path = report_source_path(place->file);

		fputs("  at:\n  ", out);
		put_field(out, "file", path);
		fprintf(out, "    line: %u\n  ", place->line);
		put_field(out, "function", place->function);
		free(path);
	}
	fprintf(out, "  seed: %" PRIu64 "\n", line->seed);
	put_field(out, "workload", line->workload);
	put_field(out, "plan", line->plan);
	if (report->directory) {
		char *folder = report_folder_of(finding);
		char *replay = needed_text("dxgk verify replay %s/%s", report->directory, folder);

		put_field(out, "replay", replay);
		free(replay);
		free(folder);
	}
	fputs("  ...\n", out);
}

static bool is_counted(const struct finding *finding, bool is_strict)
{
	enum verify_level least = is_strict ? LEVEL_WARNING : LEVEL_ERROR;

	return (!finding->known || finding->is_expired) &&
	       (finding_level(finding) >= least || finding->kind != FINDING_RULE);
}

struct seed_outcome {
	const struct finding *broken; /* counts */
	const struct run_line *broken_line;
	const struct finding *known;
	const struct run_line *last;
	bool is_skipped;
};

static struct seed_outcome look_at(const struct report *report, size_t first, size_t end)
{
	const struct record *record = report->record;
	struct seed_outcome outcome = { .last = &record->runs[end - 1], .is_skipped = true };

	for (size_t i = first; i < end; i++) {
		const struct run_line *line = &record->runs[i];

		outcome.is_skipped &= line->verdict == JOB_SKIPPED;
		for (uint32_t j = 0; j < line->finding_count; j++) {
			const struct finding *finding =
				findings_find(&record->findings, line->findings[j].rule,
					      line->findings[j].fingerprint);

			if (!finding)
				continue;
			if (finding->known && !finding->is_expired) {
				outcome.known = finding;
			} else if (!outcome.broken && is_counted(finding, report->is_strict)) {
				outcome.broken = finding;
				outcome.broken_line = line;
			}
		}
	}
	return outcome;
}

static void put_test(FILE *out, const struct report *report, uint64_t number, size_t first,
		     size_t end)
{
	struct seed_outcome outcome = look_at(report, first, end);
	const struct run_line *line = outcome.broken ? outcome.broken_line : outcome.last;
	bool is_todo = !outcome.broken && outcome.known;

	fprintf(out, "%s %" PRIu64 " - %s seed %" PRIu64,
		outcome.broken || is_todo ? "not ok" : "ok", number, line->workload, line->seed);
	if (line->plan[0] != '\0') {
		fputs(", ", out);
		put_description(out, line->plan);
	}
	if (is_todo) {
		fprintf(out, " # %s known: ", known_directive);
		put_description(out, outcome.known->known);
	} else if (outcome.is_skipped) {
		fputs(" # SKIP ", out);
		put_description(out, line->skipped ? line->skipped : "");
	}
	fputc('\n', out);
	if (outcome.broken)
		put_block(out, report, outcome.broken, line);
}

void report_print_tap(FILE *out, const struct report *report)
{
	const struct record *record = report->record;
	uint64_t number = 0;

	fputs("TAP version 14\n", out);
	if (record->not_started) {
		fputs("Bail out! the driver did not start\n", out);
		return;
	}
	for (size_t first = 0, end; first < record->run_count; first = end) {
		for (end = first + 1;
		     end < record->run_count && record->runs[end].seed == record->runs[first].seed;
		     end++)
			;
		put_test(out, report, ++number, first, end);
	}
	if (number > 0)
		fprintf(out, "1..%" PRIu64 "\n", number);
	else
		fputs("1..0 # SKIP nothing could run\n", out);
}
