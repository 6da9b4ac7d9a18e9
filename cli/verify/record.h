/* SPDX-License-Identifier: MIT */
/*
 * record.h - everything that is known of a campaign, in memory and as results.jsonl.
 *
 * The file has one value of JSON in each line, and lines are only ever added:
 *
 *	{"type":"campaign",…}    which driver, which seeds, which shard; the first line
 *	{"type":"finding",…}     a finding, again when a smaller run that shows it was found
 *	{"type":"run",…}         a run, after its findings; "last" says that its seed is done
 *	{"type":"end",…}         nothing is missing
 *
 * So a campaign that was interrupted goes on where it was, and several become one by reading all of them: a run that is
 * in two of them counts once, and counts of findings are those of the runs.
 */
#ifndef CLI_VERIFY_RECORD_H
#define CLI_VERIFY_RECORD_H

#include "cli/verify/finding.h"
#include "cli/verify/job.h"

/* What makes two campaigns the same one. */
struct campaign_id {
	char *driver;  /* its path */
	char *build;   /* a hash of what is in the file */
	char *setup;   /* a hash of profile, exerciser and the like */
	char *choice;  /* workloads and plans that were asked for; "" for all */
	char *version; /* of this program */
	uint64_t first_seed;
	uint64_t last_seed;
	uint32_t shard;
	uint32_t shard_count;
};

struct run_finding {
	char rule[RULE_BYTES];
	char fingerprint[FINGERPRINT_BYTES];
	uint64_t count;
};

struct run_line {
	uint64_t seed;
	char workload[8];
	char *plan;
	enum job_verdict verdict;
	char *skipped; /* NULL: it was not */
	uint64_t microseconds;
	bool is_last; /* of its seed */
	struct run_finding *findings;
	uint32_t finding_count;
};

struct record {
	struct campaign_id id;
	char *command;     /* the line that was typed */
	uint64_t start_s;  /* since 1970 */
	uint64_t seconds;  /* it took; of several parts together */
	char *facts;       /* JSON; NULL: the driver did not start */
	char *not_started; /* what it said when it did not; NULL: it did */
	bool is_complete;
	struct findings findings;
	struct run_line *runs;
	size_t run_count;
	size_t run_capacity;
};

void campaign_id_finish(struct campaign_id *id);
void record_finish(struct record *record);

/* Takes the line's memory. */
void record_add_run(struct record *record, struct run_line *line);

/*
 * In the order of seeds, each run once, and the counts of findings anew. A run that is there twice, because it was run twice or
 * is in two files, has what was found in either.
 */
void record_settle(struct record *record);

/* Seeds of the campaign's shard that no run has finished; *first_out is the first of them. */
uint64_t record_missing(const struct record *record, uint64_t *first_out);
/* Those that are done, in order and each once; to be freed. */
uint64_t *record_seeds(const struct record *record, size_t *count_out);

/* ---- the file ---- */

void record_write_campaign(FILE *out, const struct record *record);
void record_write_finding(FILE *out, const struct finding *finding);
void record_write_run(FILE *out, const struct run_line *line);
void record_write_end(FILE *out, const struct record *record);

/*
 * Adds what a file has to the record, whose campaign is the file's when it had none. False, after saying why on standard
 * error, when it cannot be read; a line at the end that is not whole is what an interrupted campaign leaves, and no
 * reason.
 */
MUST_CHECK bool record_load(struct record *record, const char *path);

/* Cuts off such a line, so that others can be added. False with errno. */
MUST_CHECK bool record_trim(const char *path);

#endif
