/* SPDX-License-Identifier: MIT */
/*
 * report_sarif.c - report.sarif, SARIF 2.1.0: one run, one result for each finding.
 *
 * Code scanning of GitHub keeps 5,000 results of a run, 1,000 steps of a code flow and 100 locations of a result; what would be
 * over is left out here, the least bad first. Paths are relative and fingerprints made of no line, so that a finding
 * stays the same alert.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/verify/escape.h"
#include "cli/verify/report.h"

enum { RESULTS_MOST = 5000, STEPS_MOST = 1000 };

static void put_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\":", name);
	json_put(out, text);
}

static void put_message(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\":{", name);
	put_text(out, "text", text);
	fputs("}", out);
}

/* ---- the tool ---- */

static void put_rule(FILE *out, const struct verify_rule *rule)
{
	const char *dash = strchr(rule->id, '-');
	char *help = needed_text("%s\n\nSource: %s", rule->sentence, rule->source);

	fputs("{", out);
	put_text(out, "id", rule->id);
	fputs(",", out);
	put_message(out, "shortDescription", rule->sentence);
	fputs(",", out);
	put_message(out, "fullDescription", rule->sentence);
	fputs(",", out);
	put_message(out, "help", help);
	fputs(",\"defaultConfiguration\":{", out);
	put_text(out, "level", rule->level);
	fprintf(out, "},\"properties\":{\"tags\":[\"driver\",\"%.*s\"]}}",
		(int)(dash ? dash - rule->id : 0), rule->id);
	free(help);
}

/* Rules for drivers that are checked, in the order of the page. -1: it is none of them. */
static int rule_index(const char *id)
{
	int index = 0;

	for (size_t i = 0; i < verify_rule_count; i++) {
		if (!verify_rule_is_driver(&verify_rules[i]) || verify_rules[i].reason)
			continue;
		if (strcmp(verify_rules[i].id, id) == 0)
			return index;
		index++;
	}
	return -1;
}

static void put_tool(FILE *out, const struct record *record)
{
	const char *before = "";

	fputs("\"tool\":{\"driver\":{\"name\":\"dxgk verify\",", out);
	put_text(out, "semanticVersion", record->id.version);
	fputs(",\"rules\":[", out);
	for (size_t i = 0; i < verify_rule_count; i++) {
		if (!verify_rule_is_driver(&verify_rules[i]) || verify_rules[i].reason)
			continue;
		fprintf(out, "%s\n", before);
		put_rule(out, &verify_rules[i]);
		before = ",";
	}
	fputs("\n]}}", out);
}

/* ---- places ---- */

/* Absolute ones are outside of what is uploaded, and stay as they are. */
static void put_artifact(FILE *out, const char *path)
{
	char *relative = report_source_path(path);

	fputs("\"artifactLocation\":{\"uri\":\"", out);
	fputs(*relative == '/' ? "file://" : "", out);
	uri_put(out, relative);
	fprintf(out, "\"%s}", *relative == '/' ? "" : ",\"uriBaseId\":\"SRCROOT\"");
	free(relative);
}

static void put_physical(FILE *out, const char *path, uint32_t line)
{
	fputs("\"physicalLocation\":{", out);
	put_artifact(out, path);
	fprintf(out, ",\"region\":{\"startLine\":%u}}", line);
}

/* Where no line is known it is about the driver as a whole. */
static void put_where(FILE *out, const struct report *report, const struct finding *finding)
{
	const struct finding_frame *place = finding_driver_frame(finding, report->driver);

	if (place && place->line != 0 && place->file[0] != '\0')
		put_physical(out, place->file, place->line);
	else
		put_physical(out, report->record->id.driver, 1);
	if (place) {
		fputs(",\"logicalLocations\":[{", out);
		put_text(out, "name", place->function);
		fputs(",\"kind\":\"function\"}]", out);
	}
}

/* ---- results ---- */

static void put_flow(FILE *out, const struct report *report, const struct finding *finding)
{
	uint32_t first =
		finding->call_count >= STEPS_MOST ? finding->call_count - STEPS_MOST + 1 : 0;

	fputs(",\"codeFlows\":[{\"message\":{\"text\":\"calls of the driver\"},"
	      "\"threadFlows\":[{\"locations\":[",
	      out);
	for (uint32_t i = first; i < finding->call_count; i++) {
		fputs("{\"location\":{", out);
		put_message(out, "message", finding->calls[i]);
		fputs("}},\n", out);
	}
	fputs("{\"location\":{", out);
	put_where(out, report, finding);
	fputs(",", out);
	put_message(out, "message", finding->sentence);
	fputs("}}]}]}]", out);
}

static void put_stack(FILE *out, const struct finding *finding)
{
	if (finding->frame_count == 0)
		return;
	fputs(",\"stacks\":[{\"message\":{\"text\":\"the driver's call stack\"},\"frames\":[", out);
	for (uint32_t i = 0; i < finding->frame_count; i++) {
		const struct finding_frame *frame = &finding->frames[i];

		fputs(i ? ",{" : "{", out);
		put_text(out, "module", frame->image);
		fputs(",\"location\":{\"logicalLocations\":[{", out);
		put_text(out, "fullyQualifiedName", frame->function);
		fputs("}]", out);
		if (frame->line != 0 && frame->file[0] != '\0') {
			fputs(",", out);
			put_physical(out, frame->file, frame->line);
		}
		fputs("}}", out);
	}
	fputs("]}]", out);
}

static void put_suppression(FILE *out, const struct finding *finding)
{
	if (!finding->known || finding->is_expired)
		return;
	fputs(",\"suppressions\":[{\"kind\":\"external\",\"status\":\"accepted\",", out);
	put_text(out, "justification", finding->known);
	fputs("}]", out);
}

static void put_properties(FILE *out, const struct report *report, const struct finding *finding)
{
	char *folder = report_folder_of(finding);

	fprintf(out, ",\"properties\":{\"seed\":%" PRIu64 ",", finding->example.seed);
	put_text(out, "plan", finding->example.plan);
	fputs(",", out);
	put_text(out, "workload", finding->example.workload);
	fputs(",", out);
	put_text(out, "entryPoint", finding->entry);
	fprintf(out, ",\"runs\":%" PRIu64 ",\"firstSeed\":%" PRIu64 ",\"lastSeed\":%" PRIu64 ",",
		finding->run_count, finding->first_seed, finding->last_seed);
	put_text(out, "replay", folder);
	fputs("}", out);
	free(folder);
	(void)report;
}

static void put_result(FILE *out, const struct report *report, const struct finding *finding)
{
	int index = rule_index(finding->rule);

	fputs("{", out);
	put_text(out, "ruleId", finding->rule);
	if (index >= 0)
		fprintf(out, ",\"ruleIndex\":%d", index);
	fputs(",", out);
	put_text(out, "level", verify_level_name(finding_level(finding)));
	fputs(",", out);
	put_message(out, "message", finding->sentence);
	fputs(",\"locations\":[{", out);
	put_where(out, report, finding);
	fputs("}],\"partialFingerprints\":{", out);
	put_text(out, "dxgkRuleFrame/v1", finding->fingerprint);
	fprintf(out, "},\"occurrenceCount\":%" PRIu64, finding->count > 0 ? finding->count : 1);
	put_flow(out, report, finding);
	put_stack(out, finding);
	put_suppression(out, finding);
	put_properties(out, report, finding);
	fputs("}", out);
}

/* ---- the run ---- */

static void put_notification(FILE *out, const char *before, const char *id, const char *text)
{
	fprintf(out, "%s{\"level\":\"error\",\"descriptor\":{", before);
	put_text(out, "id", id);
	fputs("},", out);
	put_message(out, "message", text);
	fputs("}", out);
}

static void put_invocation(FILE *out, const struct report *report)
{
	const struct record *record = report->record;
	const char *before = "";
	char time[32];

	report_time(record->start_s, time);
	fprintf(out, "\"invocations\":[{\"executionSuccessful\":%s,\"exitCode\":%d,",
		record->not_started ? "false" : "true", report->exit_status);
	put_text(out, "commandLine", record->command);
	fputs(",", out);
	put_text(out, "startTimeUtc", time);
	fputs(",\"toolExecutionNotifications\":[", out);
	if (record->not_started)
		put_notification(out, "", "start", record->not_started);
	for (uint32_t i = 0; i < record->findings.count; i++) {
		const struct finding *finding = record->findings.items[i];

		if (finding->kind == FINDING_RULE)
			continue;
		put_notification(out, before, finding->rule, finding->sentence);
		before = ",";
	}
	fputs("]}]", out);
}

static void put_root(FILE *out)
{
	char *here = getcwd(NULL, 0);

	fputs("\"originalUriBaseIds\":{\"SRCROOT\":{\"uri\":\"file://", out);
	uri_put(out, here ? here : "");
	fputs("/\"}}", out);
	free(here);
}

void report_write_sarif(FILE *out, const struct report *report)
{
	const struct record *record = report->record;
	const struct finding **order = report_order(record);

	fputs("{\"$schema\":\"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
	      "sarif-schema-2.1.0.json\",\n\"version\":\"2.1.0\",\"runs\":[{",
	      out);
	put_tool(out, record);
	fputs(",\n", out);
	put_invocation(out, report);
	fputs(",\n", out);
	put_root(out);
	fputs(",\"automationDetails\":{\"id\":\"dxgk/verify/\"},\"columnKind\":\"utf16CodeUnits\","
	      "\n\"results\":[",
	      out);
	for (uint32_t i = 0; i < record->findings.count && i < RESULTS_MOST; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_result(out, report, order[i]);
	}
	fputs("\n]}]}\n", out);
	free(order);
}
