/* SPDX-License-Identifier: MIT */
/*
 * report_junit.c - junit.xml, as Jenkins, GitLab and the actions of GitHub read it: a suite for each workload, a case for
 * each seed. A rule that was broken is a failure, a crash or a hang an error; what a baseline knows is neither.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/verify/escape.h"
#include "cli/verify/report.h"
#include "cli/verify/workload.h"

/* Runs of one seed with one workload, in the order of their plans. */
struct seed_runs {
	const struct run_line *first;
	size_t count;
};

struct totals {
	uint64_t tests, failures, errors, skipped, microseconds;
};

enum case_result { CASE_GOOD, CASE_FAILURE, CASE_ERROR, CASE_SKIPPED };

static bool is_counted(const struct finding *finding)
{
	return finding && (!finding->known || finding->is_expired) &&
	       finding_level(finding) != LEVEL_NOTE;
}

static const struct finding *finding_of(const struct record *record,
					const struct run_finding *found)
{
	return findings_find(&record->findings, found->rule, found->fingerprint);
}

/* The worst of it, and which finding that is. */
static enum case_result judge(const struct record *record, const struct seed_runs *runs,
			      const struct finding **finding_out)
{
	enum case_result result = CASE_SKIPPED;

	*finding_out = NULL;
	for (size_t i = 0; i < runs->count; i++) {
		const struct run_line *line = &runs->first[i];

		if (line->verdict != JOB_SKIPPED && result == CASE_SKIPPED)
			result = CASE_GOOD;
		for (uint32_t j = 0; j < line->finding_count; j++) {
			const struct finding *finding = finding_of(record, &line->findings[j]);
			enum case_result one = finding && finding->kind == FINDING_RULE
						       ? CASE_FAILURE
						       : CASE_ERROR;

			if (!is_counted(finding) ||
			    (result == CASE_ERROR || (result == CASE_FAILURE && one == result)))
				continue;
			result = one;
			*finding_out = finding;
		}
	}
	return result;
}

static uint64_t microseconds_of(const struct seed_runs *runs)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < runs->count; i++)
		sum += runs->first[i].microseconds;
	return sum;
}

static void write_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	xml_put(out, value);
	fputs("\"", out);
}

static void write_time(FILE *out, uint64_t microseconds)
{
	fprintf(out, " time=\"%" PRIu64 ".%06" PRIu64 "\"", microseconds / 1000000,
		microseconds % 1000000);
}

static void write_property(FILE *out, const char *name, const char *value)
{
	fputs("        <property", out);
	write_attribute(out, "name", name);
	write_attribute(out, "value", value);
	fputs("/>\n", out);
}

static void write_details(FILE *out, const struct report *report, const struct finding *finding)
{
	const struct finding_frame *place = finding_driver_frame(finding, report->driver);
	char *folder = report_folder_of(finding);

	xml_put(out, finding->sentence);
	if (place && place->line != 0) {
		char *path = report_source_path(place->file);

		fputs("&#10;at ", out);
		xml_put(out, place->function);
		fputs(" (", out);
		xml_put(out, path);
		fprintf(out, ":%u)", place->line);
		free(path);
	}
	for (uint32_t i = 0; i < finding->call_count; i++) {
		fputs("&#10;", out);
		xml_put(out, finding->calls[i]);
	}
	fputs("&#10;dxgk verify replay ", out);
	xml_put(out, report->directory ? report->directory : ".");
	fputs("/", out);
	xml_put(out, folder);
	free(folder);
}

static const struct run_line *line_with(const struct record *record, const struct seed_runs *runs,
					const struct finding *finding)
{
	for (size_t i = 0; i < runs->count; i++) {
		for (uint32_t j = 0; j < runs->first[i].finding_count; j++) {
			if (finding_of(record, &runs->first[i].findings[j]) == finding)
				return &runs->first[i];
		}
	}
	return runs->first;
}

static void write_case(FILE *out, const struct report *report, const char *suite,
		       const struct seed_runs *runs)
{
	const struct finding *finding;
	enum case_result result = judge(report->record, runs, &finding);
	const struct run_line *shown = line_with(report->record, runs, finding);
	char text[32];

	snprintf(text, sizeof(text), "seed %" PRIu64, shown->seed);
	fputs("    <testcase", out);
	write_attribute(out, "name", text);
	write_attribute(out, "classname", suite);
	write_time(out, microseconds_of(runs));
	fputs(">\n      <properties>\n", out);
	write_property(out, "seed", text + strlen("seed "));
	write_property(out, "plan", shown->plan[0] ? shown->plan : "none");
	snprintf(text, sizeof(text), "%zu", runs->count);
	write_property(out, "runs", text);
	fputs("      </properties>\n", out);
	if (result == CASE_SKIPPED) {
		fputs("      <skipped", out);
		write_attribute(out, "message", shown->skipped ? shown->skipped : "");
		fputs("/>\n", out);
	} else if (result != CASE_GOOD) {
		const char *element = result == CASE_ERROR ? "error" : "failure";

		fprintf(out, "      <%s", element);
		write_attribute(out, "message", finding->sentence);
		write_attribute(out, "type", finding->rule);
		fputs(">", out);
		write_details(out, report, finding);
		fprintf(out, "</%s>\n", element);
	}
	fputs("    </testcase>\n", out);
}

/* ---- suites ---- */

/* The next seed of this workload at or behind *at; false when there is none. */
static bool next_seed(const struct record *record, const char *workload, size_t *at,
		      struct seed_runs *runs_out)
{
	while (*at < record->run_count && strcmp(record->runs[*at].workload, workload) != 0)
		(*at)++;
	if (*at == record->run_count)
		return false;
	runs_out->first = &record->runs[*at];
	runs_out->count = 0;
	while (*at < record->run_count && record->runs[*at].seed == runs_out->first->seed &&
	       strcmp(record->runs[*at].workload, workload) == 0) {
		(*at)++;
		runs_out->count++;
	}
	return true;
}

static void count(const struct record *record, const char *workload, struct totals *totals)
{
	const struct finding *finding;
	struct seed_runs runs;
	size_t at = 0;

	while (next_seed(record, workload, &at, &runs)) {
		enum case_result result = judge(record, &runs, &finding);

		totals->tests++;
		totals->failures += result == CASE_FAILURE;
		totals->errors += result == CASE_ERROR;
		totals->skipped += result == CASE_SKIPPED;
		totals->microseconds += microseconds_of(&runs);
	}
}

static void write_totals(FILE *out, const struct totals *totals)
{
	fprintf(out,
		" tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64
		"\" skipped=\"%" PRIu64 "\"",
		totals->tests, totals->failures, totals->errors, totals->skipped);
	write_time(out, totals->microseconds);
}

static void write_suite(FILE *out, const struct report *report, const struct workload *workload,
			const struct totals *totals)
{
	char host[256] = "localhost";
	char time[32];
	struct seed_runs runs;
	size_t at = 0;
	char *name = needed_text("dxgk.%s.%s", workload->id, workload->name);

	(void)gethostname(host, sizeof(host) - 1);
	report_time(report->record->start_s, time);
	time[strlen(time) - 1] = '\0'; /* without a zone */
	fputs("  <testsuite", out);
	write_attribute(out, "name", name);
	write_totals(out, totals);
	write_attribute(out, "timestamp", time);
	write_attribute(out, "hostname", host);
	fputs(">\n", out);
	while (next_seed(report->record, workload->id, &at, &runs))
		write_case(out, report, name, &runs);
	fputs("  </testsuite>\n", out);
	free(name);
}

static void write_not_started(FILE *out, const struct report *report)
{
	fputs("<testsuites tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"
	      "  <testsuite name=\"dxgk.start\" tests=\"1\" failures=\"0\" errors=\"1\" "
	      "skipped=\"0\">\n    <testcase name=\"start\" classname=\"dxgk.start\">\n"
	      "      <error type=\"start\"",
	      out);
	write_attribute(out, "message", "the driver did not start");
	fputs(">", out);
	xml_put(out, report->record->not_started);
	fputs("</error>\n    </testcase>\n  </testsuite>\n</testsuites>\n", out);
}

void report_write_junit(FILE *out, const struct report *report)
{
	struct totals all = { 0 };

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	if (report->record->not_started) {
		write_not_started(out, report);
		return;
	}
	for (size_t i = 0; i < workload_count; i++)
		count(report->record, workloads[i]->id, &all);
	fputs("<testsuites", out);
	write_attribute(out, "name", "dxgk verify");
	write_totals(out, &all);
	fputs(">\n", out);
	for (size_t i = 0; i < workload_count; i++) {
		struct totals totals = { 0 };

		count(report->record, workloads[i]->id, &totals);
		if (totals.tests > 0)
			write_suite(out, report, workloads[i], &totals);
	}
	fputs("</testsuites>\n", out);
}
