/* SPDX-License-Identifier: MIT */
/*
 * merge.c - dxgk verify merge: several parts of a campaign become one.
 *
 * The parts are folders with results.jsonl, in any order, some of them perhaps twice. Runs count once; a finding is that of all
 * parts that have it, with the smallest example and the folder of that part.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cli/options.h"
#include "cli/verify/baseline.h"
#include "cli/verify/failing.h"
#include "cli/verify/report.h"

struct merge {
	const char *report; /* NULL: nothing is written */
	const char *baseline;
	bool is_strict;
	bool is_tap;
	char **parts;
	int part_count;
};

static void print_usage(FILE *out)
{
	fputs("usage: dxgk verify merge [--report DIR] [--baseline FILE] [--strict] [--tap] "
	      "PART…\n\n"
	      "Joins what several shards of a campaign found; the exit status is the worst of\n"
	      "theirs.\n\n"
	      "  --report DIR     writes all reports of the whole there\n"
	      "  --baseline FILE  findings that are known, and do not count\n"
	      "  --strict         warnings count\n"
	      "  --tap            TAP on standard output\n",
	      out);
}

/* As options_take(). */
static int parse(int argc, char **argv, struct merge *merge)
{
	const struct command_option known[] = { { "report", .text = &merge->report },
						{ "baseline", .text = &merge->baseline },
						{ "strict", .flag = &merge->is_strict },
						{ "tap", .flag = &merge->is_tap },
						{ 0 } };
	const struct command_options of = { "verify merge", print_usage, known };

	*merge = (struct merge){ 0 };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	merge->parts = argv + optind;
	merge->part_count = argc - optind;
	if (merge->part_count > 0)
		return OPTIONS_GO_ON;
	fputs("dxgk verify merge: expected folders\n", stderr);
	return VERIFY_EXIT_USAGE;
}

/* ---- joining ---- */

/* The whole has all seeds that any part was of. False after saying what does not belong together. */
static bool join_ids(struct campaign_id *whole, const struct campaign_id *part, const char *path)
{
	if (strcmp(whole->build, part->build) != 0 || strcmp(whole->setup, part->setup) != 0) {
		fprintf(stderr,
			"dxgk verify: %s is about another driver, profile or exerciser than the "
			"first part\n",
			path);
		return false;
	}
	if (part->first_seed < whole->first_seed)
		whole->first_seed = part->first_seed;
	if (part->last_seed > whole->last_seed)
		whole->last_seed = part->last_seed;
	return true;
}

static void join(struct record *whole, struct record *part)
{
	bool is_news;

	for (size_t i = 0; i < part->run_count; i++)
		record_add_run(whole, &part->runs[i]);
	for (uint32_t i = 0; i < part->findings.count; i++)
		(void)findings_join(&whole->findings, part->findings.items[i], &is_news);
	part->findings.count = 0;
	whole->seconds += part->seconds;
	if (part->start_s < whole->start_s)
		whole->start_s = part->start_s;
	if (part->not_started && !whole->not_started) {
		whole->not_started = part->not_started;
		part->not_started = NULL;
	}
}

/* False after saying why. */
static bool load_part(struct record *whole, const char *folder)
{
	char *path = needed_text("%s/results.jsonl", folder);
	struct record part = { 0 };
	bool is_good = record_load(&part, path);

	if (is_good && !whole->id.driver) {
		*whole = part;
		part = (struct record){ 0 };
		whole->id.shard = 0;
		whole->id.shard_count = 1;
	} else if (is_good) {
		is_good = join_ids(&whole->id, &part.id, path);
		if (is_good)
			join(whole, &part);
	}
	record_finish(&part);
	free(path);
	return is_good;
}

/* ---- files ---- */

static bool copy_file(const char *from, const char *to)
{
	size_t length;
	char *bytes = file_read(from, &length);
	FILE *out = bytes ? fopen(to, "we") : NULL;
	bool is_good = out && fwrite(bytes, 1, length, out) == length;

	is_good = (!out || fclose(out) == 0) && is_good;
	free(bytes);
	return is_good;
}

static void copy_folder(const char *from, const char *to)
{
	DIR *all = opendir(from);

	for (struct dirent *entry = all ? readdir(all) : NULL; entry; entry = readdir(all)) {
		if (entry->d_name[0] == '.')
			continue;
		char *source = needed_text("%s/%s", from, entry->d_name);
		char *target = needed_text("%s/%s", to, entry->d_name);

		if (!copy_file(source, target))
			fprintf(stderr, "dxgk verify: %s: %s\n", target, strerror(errno));
		free(source);
		free(target);
	}
	if (all)
		closedir(all);
}

/* The folder of the part whose example was taken. */
static void copy_failing(const struct merge *merge, const struct finding *finding)
{
	char *name = report_folder_of(finding);
	char *target = needed_text("%s/%s", merge->report, name);

	for (int i = 0; i < merge->part_count; i++) {
		char *source = needed_text("%s/%s", merge->parts[i], name);
		struct failing failing = { 0 };
		struct stat there;
		bool is_it = stat(source, &there) == 0 && failing_load(&failing, source) &&
			     failing.seed == finding->example.seed &&
			     strcmp(failing.plan, finding->example.plan) == 0;

		failing_finish(&failing);
		if (is_it) {
			mkdir(target, 0777);
			copy_folder(source, target);
		}
		free(source);
		if (is_it)
			break;
	}
	free(target);
	free(name);
}

static bool write_results(const struct merge *merge, const struct record *record)
{
	char *path = needed_text("%s/results.jsonl", merge->report);
	FILE *out = fopen(path, "we");

	if (out) {
		record_write_campaign(out, record);
		for (uint32_t i = 0; i < record->findings.count; i++)
			record_write_finding(out, record->findings.items[i]);
		for (size_t i = 0; i < record->run_count; i++)
			record_write_run(out, &record->runs[i]);
		record_write_end(out, record);
	}
	bool is_good = out && !ferror(out);
	is_good = (!out || fclose(out) == 0) && is_good;
	if (!is_good)
		fprintf(stderr, "dxgk verify: %s: %s\n", path, strerror(errno));
	free(path);
	return is_good;
}

static bool write_all(const struct merge *merge, const struct report *report)
{
	const struct record *record = report->record;
	char *failing = needed_text("%s/failing", merge->report);

	if ((mkdir(merge->report, 0777) != 0 && errno != EEXIST) ||
	    (mkdir(failing, 0777) != 0 && errno != EEXIST)) {
		fprintf(stderr, "dxgk verify: %s: %s\n", failing, strerror(errno));
		free(failing);
		return false;
	}
	free(failing);
	failing_clear(merge->report);
	for (uint32_t i = 0; i < record->findings.count; i++)
		copy_failing(merge, record->findings.items[i]);
	return write_results(merge, record) && report_write_files(report);
}

/* ---- */

static int report(const struct merge *merge, struct record *record, struct baseline *baseline)
{
	const char *slash = strrchr(record->id.driver, '/');
	uint64_t first;
	char today[32];

	record_settle(record);
	record->is_complete = record_missing(record, &first) == 0;
	report_time(clock_wall_ns() / NS_PER_S, today);
	today[10] = '\0';
	baseline_apply(baseline, &record->findings, today);
	struct report all = {
		.record = record,
		.directory = merge->report,
		.driver = slash ? slash + 1 : record->id.driver,
		.is_strict = merge->is_strict,
		.exit_status = report_exit_status(record, merge->is_strict),
	};
	report_print(merge->is_tap ? stderr : stdout, &all);
	baseline_print_unseen(merge->is_tap ? stderr : stdout, baseline);
	if (merge->is_tap)
		report_print_tap(stdout, &all);
	if (merge->report && !write_all(merge, &all))
		return VERIFY_EXIT_USAGE;
	return all.exit_status;
}

int verify_merge(int argc, char **argv)
{
	struct merge merge;
	struct baseline baseline = { 0 };
	struct record record = { 0 };
	int exit_status = parse(argc, argv, &merge);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	exit_status =
		!merge.baseline || baseline_read(&baseline, merge.baseline) ? 0 : VERIFY_EXIT_USAGE;
	for (int i = 0; exit_status == 0 && i < merge.part_count; i++) {
		if (!load_part(&record, merge.parts[i]))
			exit_status = VERIFY_EXIT_USAGE;
	}
	if (exit_status == 0)
		exit_status = report(&merge, &record, &baseline);
	record_finish(&record);
	baseline_finish(&baseline);
	return exit_status;
}
