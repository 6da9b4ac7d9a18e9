/* SPDX-License-Identifier: MIT */
/*
 * report_human.c - the list at the end: what is wrong, why that is wrong, where, how often, and how to see it again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verify/report.h"

enum { CALLS_SHOWN = 20, FRAMES_SHOWN = 8 };

static void print_frames(FILE *out, const struct report *report, const struct finding *finding)
{
	const struct finding_frame *place = finding_driver_frame(finding, report->driver);
	uint32_t first = place ? (uint32_t)(place - finding->frames) : 0;

	for (uint32_t i = first; i < finding->frame_count && i < first + FRAMES_SHOWN; i++) {
		const struct finding_frame *frame = &finding->frames[i];
		char *path = report_source_path(frame->file);

		fprintf(out, "  at      %s", frame->function);
		if (frame->line != 0)
			fprintf(out, " (%s:%u)", path, frame->line);
		if (!place || strcmp(frame->image, report->driver) != 0)
			fprintf(out, " in %s", frame->image);
		fputc('\n', out);
		free(path);
	}
	if (finding->entry[0] != '\0')
		fprintf(out, "  in      %s\n", finding->entry);
}

static void print_calls(FILE *out, const struct finding *finding)
{
	uint32_t first = finding->call_count > CALLS_SHOWN ? finding->call_count - CALLS_SHOWN : 0;

	if (finding->call_count > 0)
		fputs("  last calls of the driver:\n", out);
	for (uint32_t i = first; i < finding->call_count; i++)
		fprintf(out, "    %s\n", finding->calls[i]);
}

static void print_finding(FILE *out, const struct report *report, const struct finding *finding)
{
	const struct verify_rule *rule = verify_rule_find(finding->rule);

	fprintf(out, "\n%s: %s: %s\n", finding->rule, verify_level_name(finding_level(finding)),
		finding->sentence);
	if (finding->known)
		fprintf(out, "  %s   %s\n", finding->is_expired ? "expired" : "known  ",
			finding->known);
	if (rule)
		fprintf(out, "  rule    %s\n  source  %s\n", rule->sentence, rule->source);
	print_frames(out, report, finding);
	print_calls(out, finding);
	fprintf(out,
		"  seen    %" PRIu64 " times in %" PRIu64 " runs, seeds %" PRIu64 " to %" PRIu64
		"; the smallest is %s",
		finding->count, finding->run_count, finding->first_seed, finding->last_seed,
		finding->example.workload);
	if (finding->example.plan[0] != '\0')
		fprintf(out, " with \"%s\"", finding->example.plan);
	fputc('\n', out);
	if (finding->is_unsteady)
		fputs("  but     the same run again did not show it: it depends on more than its "
		      "seed\n",
		      out);
	if (report->directory) {
		char *folder = report_folder_of(finding);

		fprintf(out, "  replay  dxgk verify replay %s/%s\n", report->directory, folder);
		free(folder);
	}
}

/* The commonest reasons why scripts were not carried out to their end. */
static void print_skipped(FILE *out, const struct record *record)
{
	uint64_t count = 0;
	const char *example = NULL;

	for (size_t i = 0; i < record->run_count; i++) {
		if (!record->runs[i].skipped || record->runs[i].plan[0] != '\0')
			continue;
		count++;
		example = record->runs[i].skipped;
	}
	if (count > 0)
		fprintf(out, "%" PRIu64 " runs without a fault did not come to their end: %s\n",
			count, example);
}

static void print_totals(FILE *out, const struct report *report)
{
	const struct record *record = report->record;
	uint64_t known = 0;
	uint64_t first;
	uint64_t missing = record_missing(record, &first);
	size_t seeds;

	free(record_seeds(record, &seeds));
	for (uint32_t i = 0; i < record->findings.count; i++)
		known += record->findings.items[i]->known && !record->findings.items[i]->is_expired;
	fprintf(out, "%s: %zu seeds, %zu runs, %" PRIu64 " s: ", report->driver, seeds,
		record->run_count, record->seconds);
	if (record->findings.count == 0)
		fputs("nothing found\n", out);
	else
		fprintf(out, "%u %s, %" PRIu64 " of them known\n", record->findings.count,
			record->findings.count == 1 ? "finding" : "findings", known);
	if (missing > 0)
		fprintf(out, "%" PRIu64 " seeds are missing, from %" PRIu64 " on\n", missing,
			first);
}

void report_print(FILE *out, const struct report *report)
{
	const struct record *record = report->record;
	const struct finding **order = report_order(record);

	for (uint32_t i = 0; i < record->findings.count; i++)
		print_finding(out, report, order[i]);
	if (record->not_started) {
		fprintf(out, "%s did not start:\n%s", report->driver, record->not_started);
		free(order);
		return;
	}
	if (record->findings.count > 0)
		fputc('\n', out);
	print_skipped(out, record);
	print_totals(out, report);
	free(order);
}
