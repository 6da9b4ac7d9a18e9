/* SPDX-License-Identifier: MIT */
/*
 * report.c - what the reports have in common, and the files of a campaign.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/verify/report.h"
#include "cli/verify/verify.h"

/* ---- how bad it is ---- */

static int badness(const struct finding *finding)
{
	if (finding->known && !finding->is_expired)
		return 0;
	if (finding->kind == FINDING_CRASH)
		return 5;
	if (finding->kind == FINDING_HANG)
		return 4;
	return 1 + (int)finding_level(finding);
}

int report_exit_status(const struct record *record, bool is_strict)
{
	int worst = 0;
	bool is_anything_run = false;

	if (record->not_started)
		return VERIFY_EXIT_NOT_STARTED;
	for (uint32_t i = 0; i < record->findings.count; i++) {
		int bad = badness(record->findings.items[i]);
		worst = bad > worst ? bad : worst;
	}
	for (size_t i = 0; i < record->run_count; i++)
		is_anything_run |= record->runs[i].verdict != JOB_SKIPPED;
	if (worst == 5)
		return VERIFY_EXIT_CRASH;
	if (worst == 4)
		return VERIFY_EXIT_HANG;
	if (worst == 1 + LEVEL_ERROR)
		return VERIFY_EXIT_BROKEN;
	if (!is_anything_run)
		return VERIFY_EXIT_SKIPPED;
	return worst == 1 + LEVEL_WARNING && is_strict ? VERIFY_EXIT_WARNINGS : 0;
}

static int compare_badness(const void *one, const void *other)
{
	const struct finding *a = *(const struct finding *const *)one;
	const struct finding *b = *(const struct finding *const *)other;
	int difference = badness(b) - badness(a);

	if (difference != 0)
		return difference;
	int order = strcmp(a->rule, b->rule);
	return order != 0 ? order : strcmp(a->fingerprint, b->fingerprint);
}

const struct finding **report_order(const struct record *record)
{
	const struct finding **order =
		needed(calloc(record->findings.count + 1, sizeof(struct finding *)));

	for (uint32_t i = 0; i < record->findings.count; i++)
		order[i] = record->findings.items[i];
	qsort(order, record->findings.count, sizeof(struct finding *), compare_badness);
	return order;
}

/* ---- names ---- */

char *report_folder_of(const struct finding *finding)
{
	return needed_text("failing/%s-%s", finding->rule, finding->fingerprint);
}

static bool is_up(const char *word, size_t length)
{
	return length == 2 && strncmp(word, "..", 2) == 0;
}

/* Where the last word of a path begins. */
static size_t last_word(const char *path, size_t length)
{
	while (length > 0 && path[length - 1] != '/')
		length--;
	return length;
}

/* In place, by its words alone: what a driver was built from need not be here. It never gets longer. */
static void normalize(char *path)
{
	bool is_absolute = *path == '/';
	size_t root = is_absolute ? 1 : 0;
	size_t used = root;

	for (const char *from = path + root; *from;) {
		size_t length = strcspn(from, "/");
		size_t last = last_word(path, used);
		bool is_back =
			is_up(from, length) && used > root && !is_up(path + last, used - last);

		if (is_back) {
			used = last > root ? last - 1 : root;
		} else if (length > 0 && !(length == 1 && *from == '.') &&
			   !(is_absolute && is_up(from, length))) {
			if (used > root)
				path[used++] = '/';
			memmove(path + used, from, length);
			used += length;
		}
		from += length + (from[length] == '/');
	}
	path[used] = '\0';
}

char *report_source_path(const char *path)
{
	char *normal = needed_text("%s", path);
	char *here = getcwd(NULL, 0);
	size_t length = here ? strlen(here) : 0;

	normalize(normal);
	if (length > 1 && strncmp(normal, here, length) == 0 && normal[length] == '/')
		memmove(normal, normal + length + 1, strlen(normal + length + 1) + 1);
	free(here);
	return normal;
}

/* Civil time from days since 1970: the Gregorian calendar repeats every 400 years, which are 146097 days. */
void report_time(uint64_t seconds, char text[32])
{
	unsigned days = (unsigned)(seconds / 86400) + 719468; /* since March of the year 0 */
	unsigned day_of_era = days % 146097;
	unsigned year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	unsigned day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned from_march = (5 * day_of_year + 2) / 153; /* months */
	unsigned day = day_of_year - (153 * from_march + 2) / 5 + 1;
	unsigned month = from_march < 10 ? from_march + 3 : from_march - 9;
	unsigned year = year_of_era + days / 146097 * 400 + (month <= 2);
	unsigned second = (unsigned)(seconds % 86400);

	snprintf(text, 32, "%04u-%02u-%02uT%02u:%02u:%02uZ", year % 10000, month % 100, day % 100,
		 second / 3600 % 24, second / 60 % 60, second % 60);
}

/* ---- files ---- */

/* cursor: which seeds are still missing. */
static void write_cursor(FILE *out, const struct report *report)
{
	const struct campaign_id *id = &report->record->id;
	uint64_t first;
	uint64_t missing = record_missing(report->record, &first);

	fprintf(out,
		"{\"complete\":%s,\"missing\":%" PRIu64 ",\"firstSeed\":%" PRIu64
		",\"lastSeed\":%" PRIu64 ",\"shard\":%u,\"shards\":%u",
		missing == 0 ? "true" : "false", missing, id->first_seed, id->last_seed, id->shard,
		id->shard_count);
	if (missing > 0)
		fprintf(out, ",\"next\":%" PRIu64, first);
	fputs("}\n", out);
}

/* As a whole or not at all: who reads it meanwhile has the one before. */
static bool write_file(const struct report *report, const char *name,
		       void (*write)(FILE *out, const struct report *report))
{
	char *path = needed_text("%s/%s", report->directory, name);
	char *fresh = needed_text("%s.new", path);
	FILE *out = fopen(fresh, "we");
	bool is_good = out != NULL;

	if (out) {
		write(out, report);
		is_good = !ferror(out);
		is_good = fclose(out) == 0 && is_good && rename(fresh, path) == 0;
	}
	if (!is_good)
		fprintf(stderr, "dxgk verify: %s: %s\n", path, strerror(errno));
	free(fresh);
	free(path);
	return is_good;
}

bool report_write_files(const struct report *report)
{
	return write_file(report, "junit.xml", report_write_junit) &&
	       write_file(report, "report.sarif", report_write_sarif) &&
	       write_file(report, "cursor", write_cursor);
}
