/* SPDX-License-Identifier: MIT */
/*
 * record.c - see record.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/json.h"
#include "cli/verify/escape.h"
#include "cli/verify/record.h"
#include "cli/verify/subject.h"

static const char *const verdict_names[] = {
	[JOB_OK] = "ok",     [JOB_BROKEN] = "broken",   [JOB_CRASHED] = "crashed",
	[JOB_HUNG] = "hung", [JOB_SKIPPED] = "skipped",
};

static const char *job_verdict_name(enum job_verdict verdict)
{
	return verdict_names[verdict];
}

/* ---- in memory ---- */

void campaign_id_finish(struct campaign_id *id)
{
	free(id->driver);
	free(id->build);
	free(id->setup);
	free(id->choice);
	free(id->version);
	*id = (struct campaign_id){ 0 };
}

static void run_finish(struct run_line *line)
{
	free(line->plan);
	free(line->skipped);
	free(line->findings);
}

void record_finish(struct record *record)
{
	campaign_id_finish(&record->id);
	for (size_t i = 0; i < record->run_count; i++)
		run_finish(&record->runs[i]);
	free(record->runs);
	free(record->command);
	free(record->facts);
	free(record->not_started);
	findings_finish(&record->findings);
	*record = (struct record){ 0 };
}

void record_add_run(struct record *record, struct run_line *line)
{
	if (record->run_count == record->run_capacity) {
		record->run_capacity = record->run_capacity ? record->run_capacity * 2 : 256;
		record->runs =
			needed(realloc(record->runs, record->run_capacity * sizeof(*record->runs)));
	}
	record->runs[record->run_count++] = *line;
	*line = (struct run_line){ 0 };
}

/* Plans of a series by their number. */
static int compare_plans(const char *one, const char *other)
{
	size_t length = strlen(one);
	size_t other_length = strlen(other);

	if (length != other_length)
		return length < other_length ? -1 : 1;
	return strcmp(one, other);
}

static int compare_runs(const void *one, const void *other)
{
	const struct run_line *a = one;
	const struct run_line *b = other;

	if (a->seed != b->seed)
		return a->seed < b->seed ? -1 : 1;
	int order = strcmp(a->workload, b->workload);
	return order != 0 ? order : compare_plans(a->plan, b->plan);
}

static void count_run(struct findings *findings, const struct run_line *line)
{
	for (uint32_t i = 0; i < line->finding_count; i++) {
		struct finding *finding = findings_find(findings, line->findings[i].rule,
							line->findings[i].fingerprint);
		if (!finding)
			continue;
		if (finding->run_count == 0 || line->seed < finding->first_seed)
			finding->first_seed = line->seed;
		if (line->seed > finding->last_seed)
			finding->last_seed = line->seed;
		finding->run_count++;
		finding->count += line->findings[i].count;
	}
}

static bool has_found(const struct run_line *line, const struct run_finding *found)
{
	for (uint32_t i = 0; i < line->finding_count; i++) {
		if (strcmp(line->findings[i].rule, found->rule) == 0 &&
		    strcmp(line->findings[i].fingerprint, found->fingerprint) == 0)
			return true;
	}
	return false;
}

static void run_join(struct run_line *line, const struct run_line *again)
{
	size_t capacity = (size_t)line->finding_count + again->finding_count + 1;

	line->is_last |= again->is_last;
	line->findings = needed(realloc(line->findings, capacity * sizeof(*line->findings)));
	for (uint32_t i = 0; i < again->finding_count; i++) {
		if (!has_found(line, &again->findings[i]))
			line->findings[line->finding_count++] = again->findings[i];
	}
	if (line->verdict == JOB_OK || line->verdict == JOB_SKIPPED)
		line->verdict = again->verdict;
}

void record_settle(struct record *record)
{
	size_t kept = 0;

	if (record->run_count > 0)
		qsort(record->runs, record->run_count, sizeof(*record->runs), compare_runs);
	for (size_t i = 0; i < record->run_count; i++) {
		if (kept > 0 && compare_runs(&record->runs[kept - 1], &record->runs[i]) == 0) {
			run_join(&record->runs[kept - 1], &record->runs[i]);
			run_finish(&record->runs[i]);
		} else {
			record->runs[kept++] = record->runs[i];
		}
	}
	record->run_count = kept;
	for (uint32_t i = 0; i < record->findings.count; i++) {
		struct finding *finding = record->findings.items[i];
		finding->count = finding->run_count = finding->first_seed = finding->last_seed = 0;
	}
	for (size_t i = 0; i < record->run_count; i++)
		count_run(&record->findings, &record->runs[i]);
}

static int compare_seeds(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one;
	uint64_t b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

uint64_t *record_seeds(const struct record *record, size_t *count_out)
{
	uint64_t *seeds = needed(calloc(record->run_count + 1, sizeof(*seeds)));
	size_t count = 0;
	size_t kept = 0;

	for (size_t i = 0; i < record->run_count; i++) {
		if (record->runs[i].is_last)
			seeds[count++] = record->runs[i].seed;
	}
	qsort(seeds, count, sizeof(*seeds), compare_seeds);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || seeds[kept - 1] != seeds[i])
			seeds[kept++] = seeds[i];
	}
	*count_out = kept;
	return seeds;
}

/* The first of the shard that is not before `seed`. */
static uint64_t next_in_shard(const struct campaign_id *id, uint64_t seed)
{
	uint64_t rest = seed % id->shard_count;

	return seed + (id->shard + id->shard_count - rest) % id->shard_count;
}

uint64_t record_missing(const struct record *record, uint64_t *first_out)
{
	const struct campaign_id *id = &record->id;
	uint64_t first = next_in_shard(id, id->first_seed);
	uint64_t total = first > id->last_seed ? 0 : (id->last_seed - first) / id->shard_count + 1;
	size_t count;
	uint64_t *seeds = record_seeds(record, &count);
	uint64_t done = 0;

	for (size_t i = 0; i < count; i++) {
		if (seeds[i] < id->first_seed || seeds[i] > id->last_seed ||
		    seeds[i] % id->shard_count != id->shard)
			continue;
		done++;
		if (seeds[i] == first)
			first += id->shard_count;
	}
	free(seeds);
	*first_out = first;
	return total - done;
}

/* ---- writing ---- */

static void write_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	json_put(out, text);
}

void record_write_campaign(FILE *out, const struct record *record)
{
	const struct campaign_id *id = &record->id;

	fputs("{\"type\":\"campaign\"", out);
	write_text(out, "driver", id->driver);
	write_text(out, "build", id->build);
	write_text(out, "setup", id->setup);
	write_text(out, "choice", id->choice);
	write_text(out, "version", id->version);
	fprintf(out,
		",\"firstSeed\":%" PRIu64 ",\"lastSeed\":%" PRIu64 ",\"shard\":%u,\"shards\":%u,"
		"\"start\":%" PRIu64,
		id->first_seed, id->last_seed, id->shard, id->shard_count, record->start_s);
	write_text(out, "command", record->command);
	if (record->facts)
		fprintf(out, ",\"facts\":%s", record->facts);
	if (record->not_started)
		write_text(out, "notStarted", record->not_started);
	fputs("}\n", out);
}

void record_write_finding(FILE *out, const struct finding *finding)
{
	fputs("{\"type\":\"finding\",\"finding\":", out);
	finding_write(out, finding);
	fputs("}\n", out);
}

void record_write_run(FILE *out, const struct run_line *line)
{
	fprintf(out, "{\"type\":\"run\",\"seed\":%" PRIu64, line->seed);
	write_text(out, "workload", line->workload);
	write_text(out, "plan", line->plan);
	write_text(out, "result", job_verdict_name(line->verdict));
	if (line->skipped)
		write_text(out, "skipped", line->skipped);
	fprintf(out, ",\"us\":%" PRIu64, line->microseconds);
	if (line->finding_count > 0)
		fputs(",\"findings\":[", out);
	for (uint32_t i = 0; i < line->finding_count; i++)
		fprintf(out, "%s[\"%s\",\"%s\",%" PRIu64 "]", i ? "," : "", line->findings[i].rule,
			line->findings[i].fingerprint, line->findings[i].count);
	fputs(line->finding_count > 0 ? "]" : "", out);
	fputs(line->is_last ? ",\"last\":true}\n" : "}\n", out);
}

void record_write_end(FILE *out, const struct record *record)
{
	fprintf(out, "{\"type\":\"end\",\"seconds\":%" PRIu64 ",\"complete\":%s}\n",
		record->seconds, record->is_complete ? "true" : "false");
}

/* ---- reading ---- */

static char *text_of(const struct json *object, const char *name)
{
	return needed_text("%s", json_text_of(object, name));
}

static bool is_true(const struct json *object, const char *name)
{
	const struct json *member = json_member(object, name);

	return member && member->type == JSON_BOOL && member->boolean;
}

/* Written again, as it was. */
static char *facts_text(const struct json *from)
{
	struct verify_facts facts;
	char *text = NULL;
	size_t length;

	if (!from || !facts_read(from, &facts))
		return NULL;
	FILE *out = needed(open_memstream(&text, &length));
	facts_write(out, &facts);
	fclose(out);
	return text;
}

static void read_campaign(struct record *record, const struct json *root)
{
	struct campaign_id *id = &record->id;

	if (id->driver)
		return;
	id->driver = text_of(root, "driver");
	id->build = text_of(root, "build");
	id->setup = text_of(root, "setup");
	id->choice = text_of(root, "choice");
	id->version = text_of(root, "version");
	id->first_seed = json_number_of(root, "firstSeed");
	id->last_seed = json_number_of(root, "lastSeed");
	id->shard = (uint32_t)json_number_of(root, "shard");
	id->shard_count = (uint32_t)json_number_of(root, "shards");
	if (id->shard_count == 0)
		id->shard_count = 1;
	record->start_s = json_number_of(root, "start");
	record->command = text_of(root, "command");
	record->facts = facts_text(json_member(root, "facts"));
	if (json_member(root, "notStarted"))
		record->not_started = text_of(root, "notStarted");
}

static enum job_verdict read_verdict(const struct json *root)
{
	const struct json *result = json_member(root, "result");

	for (size_t i = 0; result && result->type == JSON_STRING && i < ARRAY_SIZE(verdict_names);
	     i++) {
		if (strcmp(verdict_names[i], result->string) == 0)
			return (enum job_verdict)i;
	}
	return JOB_SKIPPED;
}

static void read_run_findings(struct run_line *line, const struct json *list)
{
	if (!list || list->type != JSON_ARRAY)
		return;
	line->findings = needed(calloc(list->count + 1, sizeof(*line->findings)));
	for (const struct json *item = list->first; item; item = item->next) {
		const struct json *rule = item->type == JSON_ARRAY ? item->first : NULL;
		const struct json *fingerprint = rule ? rule->next : NULL;
		const struct json *count = fingerprint ? fingerprint->next : NULL;

		if (!count || rule->type != JSON_STRING || fingerprint->type != JSON_STRING ||
		    count->type != JSON_NUMBER)
			continue;
		struct run_finding *found = &line->findings[line->finding_count++];
		snprintf(found->rule, sizeof(found->rule), "%s", rule->string);
		snprintf(found->fingerprint, sizeof(found->fingerprint), "%s", fingerprint->string);
		found->count = (uint64_t)count->number;
	}
}

static void read_run(struct record *record, const struct json *root)
{
	struct run_line line = {
		.seed = json_number_of(root, "seed"),
		.plan = text_of(root, "plan"),
		.verdict = read_verdict(root),
		.microseconds = json_number_of(root, "us"),
		.is_last = is_true(root, "last"),
	};
	char *workload = text_of(root, "workload");

	snprintf(line.workload, sizeof(line.workload), "%s", workload);
	free(workload);
	if (json_member(root, "skipped"))
		line.skipped = text_of(root, "skipped");
	read_run_findings(&line, json_member(root, "findings"));
	record_add_run(record, &line);
}

static void read_line(struct record *record, const struct json *root)
{
	const struct json *type = json_member(root, "type");
	bool is_news;

	if (!type || type->type != JSON_STRING)
		return;
	if (strcmp(type->string, "campaign") == 0) {
		read_campaign(record, root);
	} else if (strcmp(type->string, "run") == 0) {
		read_run(record, root);
	} else if (strcmp(type->string, "finding") == 0) {
		struct finding *finding = finding_read(json_member(root, "finding"));

		if (finding)
			(void)findings_join(&record->findings, finding, &is_news);
	} else if (strcmp(type->string, "end") == 0) {
		record->seconds = json_number_of(root, "seconds");
		record->is_complete = is_true(root, "complete");
	}
}

bool record_load(struct record *record, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t capacity = 0;
	ssize_t length;
	unsigned number = 0;
	bool is_good = true;

	if (!file) {
		fprintf(stderr, "dxgk verify: %s: %s\n", path, strerror(errno));
		return false;
	}
	while (is_good && (length = getline(&text, &capacity, file)) > 0) {
		struct json_document document;

		number++;
		if (text[length - 1] != '\n')
			break; /* written when it was interrupted */
		is_good = NT_SUCCESS(json_read_line(path, number, text, (size_t)length, &document));
		if (is_good)
			read_line(record, document.root);
		else
			fprintf(stderr, "dxgk verify: %s\n", document.problem);
		json_finish(&document);
	}
	free(text);
	fclose(file);
	if (is_good && !record->id.driver) {
		fprintf(stderr, "dxgk verify: %s: these are no results of a campaign\n", path);
		return false;
	}
	return is_good;
}

bool record_trim(const char *path)
{
	size_t length;
	char *text = file_read(path, &length);

	if (!text)
		return false;
	while (length > 0 && text[length - 1] != '\n')
		length--;
	free(text);
	return truncate(path, (off_t)length) == 0;
}
