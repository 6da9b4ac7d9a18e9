/* SPDX-License-Identifier: MIT */
/*
 * campaign.c - from settings to a record: seeds one after the other, several at a time.
 *
 * A slot has one seed at a time and does everything for it before the next: all runs of a series, and where two runs have to
 * be the same, the second one. What a run came to goes to results.jsonl at once, so that a campaign that is interrupted, by a
 * signal or by --minutes, goes on where it was when the same command is given again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/refusal.h"
#include "cli/verify/baseline.h"
#include "cli/verify/failing.h"
#include "cli/verify/progress.h"
#include "cli/verify/report.h"
#include "cli/verify/sanitize.h"
#include "cli/verify/subject.h"
#include "cli/verify/traces.h"
#include "cli/verify/trial.h"
#include "cli/verify/unit.h"

enum {
	SERIES_MOST = 100000, /* runs; no driver calls anything as often in a script */
	WAIT_MS = 100,
	JOBS_MOST = 256,
	HANGS_MOST = 20, /* each takes as long as hundreds of others */
};

struct slot {
	bool is_busy;
	struct unit unit;
	uint64_t n; /* of a series */
	char plan[PLAN_TEXT_BYTES];
	bool is_second; /* of two that have to be the same */
	char *traces[2];
	struct job job;
};

struct campaign {
	const struct verify_settings *settings;
	struct subject subject;
	struct baseline baseline;
	struct verify_facts facts;
	struct record record;
	FILE *results;
	struct slot *slots;
	uint64_t next_seed;
	uint64_t *seeds_before; /* done in earlier parts of it, in order */
	size_t seeds_before_count;
	uint64_t deadline_ns; /* CLOCK_FOREVER: none */
	uint64_t started_ns;
	uint64_t seconds_before; /* of earlier parts of it */
	uint64_t seeds_done;
	uint64_t seeds_total;
	uint32_t hangs; /* so far */
	struct progress progress;
};

static volatile sig_atomic_t stop_signal;

static void on_stop(int number)
{
	stop_signal = number;
}

/* Once: who asks again means it. */
static void watch_signals(void)
{
	struct sigaction action = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static bool is_time_over(const struct campaign *campaign)
{
	return stop_signal != 0 || clock_now_ns() >= campaign->deadline_ns ||
	       campaign->hangs >= HANGS_MOST;
}

/* ---- what a run came to ---- */

/* Findings of the run, with this run as their example. */
static void take_findings(struct campaign *campaign, const struct slot *slot,
			  struct job_result *result, struct run_line *line)
{
	struct findings *found = &result->findings;

	line->findings = needed(calloc(found->count + 1, sizeof(*line->findings)));
	for (uint32_t i = 0; i < found->count; i++) {
		struct finding *finding = found->items[i];
		struct run_finding *counted = &line->findings[line->finding_count++];
		bool is_news;

		memcpy(counted->rule, finding->rule, sizeof(counted->rule));
		memcpy(counted->fingerprint, finding->fingerprint, sizeof(counted->fingerprint));
		counted->count = finding->count;
		finding->first_seed = finding->last_seed = slot->unit.seed;
		finding_set_example(finding, slot->unit.workload->id, slot->unit.seed, slot->plan,
				    slot->unit.script);
		struct finding *kept = findings_join(&campaign->record.findings, finding, &is_news);
		if (is_news)
			record_write_finding(campaign->results, kept);
	}
	found->count = 0; /* they are the record's */
}

static void record_run(struct campaign *campaign, const struct slot *slot,
		       struct job_result *result, bool is_last)
{
	struct run_line line = {
		.seed = slot->unit.seed,
		.plan = needed_text("%s", slot->plan),
		.verdict = result->verdict,
		.skipped = result->skipped,
		.microseconds = result->took_ns / NS_PER_US,
		.is_last = is_last,
	};

	campaign->hangs += result->verdict == JOB_HUNG;
	result->skipped = NULL;
	snprintf(line.workload, sizeof(line.workload), "%s", slot->unit.workload->id);
	take_findings(campaign, slot, result, &line);
	record_write_run(campaign->results, &line);
	fflush(campaign->results);
	record_add_run(&campaign->record, &line);
}

/* ---- slots ---- */

static void slot_free(struct slot *slot)
{
	for (int i = 0; i < 2; i++) {
		if (slot->traces[i])
			unlink(slot->traces[i]);
		free(slot->traces[i]);
		slot->traces[i] = NULL;
	}
	unit_finish(&slot->unit);
	slot->is_busy = false;
}

/* False with errno. */
static bool slot_run(struct campaign *campaign, struct slot *slot)
{
	const struct verify_settings *settings = campaign->settings;
	const struct job_limits limits = { settings->timeout_s, settings->memory_mib };
	const struct run_request request = {
		.driver = campaign->subject.driver_name,
		.exerciser = settings->exerciser,
		.profile = campaign->subject.profile_text,
		.script = slot->unit.script,
		.plan = slot->plan,
		.trace = slot->traces[slot->is_second],
		.seed = slot->unit.seed,
		.is_seeded = sanitize_is_seeded(settings->sanitizers),
		.is_again = slot->is_second,
	};

	plan_write(&slot->unit.plan, slot->n, slot->plan);
	return job_start(&slot->job, &request, &limits);
}

static bool slot_begin(struct campaign *campaign, struct slot *slot, uint64_t seed)
{
	const struct verify_settings *settings = campaign->settings;

	unit_draw(settings, &campaign->facts, seed, &slot->unit);
	slot->is_busy = true;
	slot->is_second = false;
	slot->n = 1;
	if (slot->unit.is_run_twice && !(settings->sanitizers & SANITIZE_THREAD)) {
		for (int i = 0; i < 2; i++)
			slot->traces[i] = needed_text("%s/.trace-%zu-%d.json", settings->report,
						      (size_t)(slot - campaign->slots), i);
	}
	return slot_run(campaign, slot);
}

static bool is_series_over(const struct slot *slot, const struct job_result *result)
{
	return !slot->unit.plan.is_series || !result->has_fired || slot->n == SERIES_MOST;
}

/* What differs between two runs that have to be the same. */
static void add_difference(struct campaign *campaign, struct slot *slot, struct job_result *result)
{
	struct finding *finding =
		traces_difference(slot->traces[0], slot->traces[1], campaign->subject.driver_name);
	bool is_news;

	if (!finding)
		return;
	(void)findings_join(&result->findings, finding, &is_news);
	if (result->verdict == JOB_OK)
		result->verdict = JOB_BROKEN;
}

/* A run of the slot is over; false with errno when the next one did not start. */
static bool slot_next(struct campaign *campaign, struct slot *slot)
{
	struct job_result result;
	bool is_continued = true;

	job_finish(&slot->job, &result);
	bool is_again = !slot->is_second && slot->traces[0] && is_series_over(slot, &result) &&
			result.has_ended;
	if (slot->is_second && result.has_ended)
		add_difference(campaign, slot, &result);
	bool is_last = slot->is_second || (is_series_over(slot, &result) && !is_again);
	/* What the second run finds, the first one has found; the record has it once. */
	record_run(campaign, slot, &result, is_last);
	if (is_last) {
		campaign->seeds_done++;
		slot_free(slot);
	} else if (is_time_over(campaign)) {
		slot_free(slot); /* its seed is done when the campaign goes on */
	} else {
		slot->is_second = is_again;
		slot->n += !is_again;
		is_continued = slot_run(campaign, slot);
	}
	job_result_finish(&result);
	return is_continued;
}

/* ---- the loop ---- */

static int compare_seeds(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one;
	uint64_t b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

static bool is_done(const struct campaign *campaign, uint64_t seed)
{
	return bsearch(&seed, campaign->seeds_before, campaign->seeds_before_count, sizeof(seed),
		       compare_seeds) != NULL;
}

/* False: there is none any more, or no time for it. */
static bool take_seed(struct campaign *campaign, uint64_t *seed_out)
{
	const struct campaign_id *id = &campaign->record.id;

	if (is_time_over(campaign))
		return false;
	while (campaign->next_seed <= id->last_seed) {
		uint64_t seed = campaign->next_seed;

		campaign->next_seed += id->shard_count;
		if (is_done(campaign, seed))
			continue;
		*seed_out = seed;
		return true;
	}
	return false;
}

static bool fill_slots(struct campaign *campaign)
{
	uint64_t seed;

	for (uint32_t i = 0; i < campaign->settings->jobs; i++) {
		if (campaign->slots[i].is_busy || !take_seed(campaign, &seed))
			continue;
		if (!slot_begin(campaign, &campaign->slots[i], seed))
			return false;
	}
	return true;
}

static uint32_t busy_slots(const struct campaign *campaign)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < campaign->settings->jobs; i++)
		count += campaign->slots[i].is_busy;
	return count;
}

static void wait_for_news(const struct campaign *campaign)
{
	struct pollfd files[JOBS_MOST * JOB_FILES];
	nfds_t count = 0;

	for (uint32_t i = 0; i < campaign->settings->jobs; i++) {
		if (!campaign->slots[i].is_busy)
			continue;
		job_poll(&campaign->slots[i].job, &files[count]);
		count += JOB_FILES;
	}
	poll(files, count, WAIT_MS);
}

static bool step_slots(struct campaign *campaign)
{
	uint64_t now_ns = clock_now_ns();

	for (uint32_t i = 0; i < campaign->settings->jobs; i++) {
		struct slot *slot = &campaign->slots[i];

		if (slot->is_busy && job_step(&slot->job, now_ns) && !slot_next(campaign, slot))
			return false;
	}
	return true;
}

static void abandon_slots(struct campaign *campaign)
{
	for (uint32_t i = 0; i < campaign->settings->jobs; i++) {
		if (!campaign->slots[i].is_busy)
			continue;
		job_abandon(&campaign->slots[i].job);
		slot_free(&campaign->slots[i]);
	}
}

/* False after saying why it cannot go on. */
static bool run_seeds(struct campaign *campaign)
{
	bool is_good = true;

	while (is_good) {
		is_good = fill_slots(campaign);
		if (!is_good || busy_slots(campaign) == 0 || stop_signal != 0)
			break;
		wait_for_news(campaign);
		is_good = step_slots(campaign);
		progress_show(&campaign->progress, campaign->seeds_done, campaign->seeds_total,
			      campaign->record.run_count, campaign->record.findings.count);
	}
	int problem = errno;
	abandon_slots(campaign);
	progress_end(&campaign->progress);
	if (!is_good)
		fprintf(stderr, "dxgk verify: a run cannot be started: %s\n", strerror(problem));
	if (campaign->hangs >= HANGS_MOST)
		fprintf(stderr, "dxgk verify: %u runs hung: the others are left out\n",
			campaign->hangs);
	return is_good;
}

/* ---- the beginning ---- */

static char *choice_text(const struct verify_settings *settings)
{
	char *text = NULL;
	size_t length;
	FILE *out = needed(open_memstream(&text, &length));

	for (uint32_t i = 0; i < settings->workload_count; i++)
		fprintf(out, "%s ", settings->workloads[i]->id);
	for (uint32_t i = 0; i < settings->plan_count; i++)
		fprintf(out, "[%s] ", settings->plans[i].text);
	if (settings->sanitizers != 0)
		fprintf(out, "sanitize %u", settings->sanitizers);
	fclose(out);
	return needed(text);
}

static void make_id(const struct campaign *campaign, struct campaign_id *id)
{
	const struct verify_settings *settings = campaign->settings;

	*id = (struct campaign_id){
		.driver = needed_text("%s", settings->driver),
		.build = needed_text("%s", campaign->subject.build),
		.setup = needed_text("%s", campaign->subject.hash),
		.choice = choice_text(settings),
		.version = needed_text("%s", DXGK_VERSION),
		.first_seed = settings->first_seed,
		.last_seed = settings->last_seed,
		.shard = settings->shard,
		.shard_count = settings->shard_count,
	};
}

static bool is_same(const struct campaign_id *one, const struct campaign_id *other)
{
	return strcmp(one->build, other->build) == 0 && strcmp(one->setup, other->setup) == 0 &&
	       strcmp(one->choice, other->choice) == 0 &&
	       strcmp(one->version, other->version) == 0 && one->first_seed == other->first_seed &&
	       one->last_seed == other->last_seed && one->shard == other->shard &&
	       one->shard_count == other->shard_count;
}

/* What an earlier part of this campaign left; nothing, when there is none or it was complete. */
static void load_earlier(struct campaign *campaign, const char *path)
{
	struct campaign_id id;
	struct record earlier = { 0 };
	uint64_t first;

	make_id(campaign, &id);
	if (access(path, R_OK) == 0 && record_load(&earlier, path) && is_same(&earlier.id, &id) &&
	    !earlier.not_started && record_missing(&earlier, &first) > 0) {
		record_settle(&earlier);
		campaign->record = earlier;
		campaign->seconds_before = earlier.seconds;
		campaign->record.is_complete = false;
		campaign_id_finish(&id);
	} else {
		record_finish(&earlier);
		campaign->record.id = id;
	}
}

/* False after saying why. */
static bool open_results(struct campaign *campaign)
{
	const struct verify_settings *settings = campaign->settings;
	char *path = needed_text("%s/results.jsonl", settings->report);

	if (mkdir(settings->report, 0777) != 0 && errno != EEXIST) {
		fprintf(stderr, "dxgk verify: %s: %s\n", settings->report, strerror(errno));
		free(path);
		return false;
	}
	load_earlier(campaign, path);
	bool is_continued = campaign->record.run_count > 0 && record_trim(path);
	campaign->results = fopen(path, is_continued ? "ae" : "we");
	if (!campaign->results)
		fprintf(stderr, "dxgk verify: %s: %s\n", path, strerror(errno));
	free(path);
	if (!campaign->results)
		return false;
	if (is_continued) {
		fprintf(stderr, "dxgk verify: going on after %zu runs\n",
			campaign->record.run_count);
		return true;
	}
	failing_clear(settings->report);
	campaign->record.command = needed_text("%s", settings->command);
	campaign->record.start_s = clock_wall_ns() / NS_PER_S;
	return true;
}

/* Of the first run: the lines of the kernel that say why there is no adapter. */
static void keep_why_not(struct campaign *campaign, const struct job_result *result)
{
	free(campaign->record.not_started);
	campaign->record.not_started =
		needed_text("%s%s", *result->tail ? result->tail : "it said nothing\n",
			    strstr(result->tail, "__asan") || strstr(result->tail, "__ubsan") ||
					    strstr(result->tail, "__tsan")
				    ? "dxgk verify: it was built with a sanitizer: say --sanitize\n"
				    : "");
}

/* Starts the driver once, to learn what there is to do. False with errno. */
static bool probe(struct campaign *campaign)
{
	const struct verify_settings *settings = campaign->settings;
	const struct job_limits limits = { settings->timeout_s, settings->memory_mib };
	struct slot slot = {
		.unit = { .seed = settings->first_seed,
			  .workload = &workload_start,
			  .script = needed(workload_script(&workload_start, 0, &campaign->facts)) }
	};
	const struct run_request request = {
		.driver = campaign->subject.driver_name,
		.exerciser = settings->exerciser,
		.profile = campaign->subject.profile_text,
		.script = slot.unit.script,
		.plan = "",
		.seed = settings->first_seed,
		.is_seeded = sanitize_is_seeded(settings->sanitizers),
	};
	struct job_result result;
	bool is_again = campaign->record.run_count > 0;

	if (!job_run(&request, &limits, &result)) {
		unit_finish(&slot.unit);
		return false;
	}
	if (result.has_facts) {
		campaign->facts = result.facts;
		if (!campaign->record.facts) {
			size_t length;
			FILE *out = needed(open_memstream(&campaign->record.facts, &length));

			facts_write(out, &result.facts);
			fclose(out);
		}
	} else if (result.verdict != JOB_CRASHED && result.verdict != JOB_HUNG) {
		keep_why_not(campaign, &result);
	}
	if (!is_again) {
		record_write_campaign(campaign->results, &campaign->record);
		/* Its seed has a run of its own, and what is found here is found there, unless it ends everything. */
		if (!result.has_facts)
			record_run(campaign, &slot, &result, false);
	}
	job_result_finish(&result);
	unit_finish(&slot.unit);
	return true;
}

static void begin_counting(struct campaign *campaign)
{
	const struct verify_settings *settings = campaign->settings;
	uint64_t first;
	uint64_t missing = record_missing(&campaign->record, &first);

	campaign->seeds_before = record_seeds(&campaign->record, &campaign->seeds_before_count);
	campaign->seeds_done = campaign->seeds_before_count;
	campaign->seeds_total = campaign->seeds_done + missing;
	campaign->next_seed = first;
	campaign->started_ns = clock_now_ns();
	campaign->deadline_ns =
		settings->seconds ? clock_deadline(settings->seconds * NS_PER_S) : CLOCK_FOREVER;
	campaign->slots = needed(calloc(settings->jobs, sizeof(*campaign->slots)));
	progress_begin(&campaign->progress);
}

/* ---- the end ---- */

/* Each finding is seen once more, for its trace; one that is not seen again says so. A run that hangs leaves none. */
static void keep_failing(struct campaign *campaign)
{
	const struct verify_settings *settings = campaign->settings;

	for (uint32_t i = 0; i < campaign->record.findings.count && stop_signal == 0; i++) {
		struct finding *finding = campaign->record.findings.items[i];

		if (!failing_write(settings->report, finding, &campaign->subject, settings))
			return;
		if (finding->kind != FINDING_HANG)
			failing_trace(settings->report, finding);
	}
}

static void finish(struct campaign *campaign)
{
	if (campaign->results)
		fclose(campaign->results);
	free(campaign->slots);
	free(campaign->seeds_before);
	record_finish(&campaign->record);
	baseline_finish(&campaign->baseline);
	subject_finish(&campaign->subject);
}

static int report(struct campaign *campaign)
{
	const struct verify_settings *settings = campaign->settings;
	struct record *record = &campaign->record;
	uint64_t first;
	char today[32];

	record->seconds =
		campaign->seconds_before + (clock_now_ns() - campaign->started_ns) / NS_PER_S;
	record->is_complete = !record->not_started && record_missing(record, &first) == 0;
	record_settle(record);
	report_time(clock_wall_ns() / NS_PER_S, today);
	today[10] = '\0';
	baseline_apply(&campaign->baseline, &record->findings, today);
	keep_failing(campaign);
	record_write_end(campaign->results, record);

	struct report all = {
		.record = record,
		.directory = settings->report,
		.driver = campaign->subject.driver_name,
		.is_strict = settings->is_strict,
		.exit_status = report_exit_status(record, settings->is_strict),
	};
	report_print(settings->is_tap ? stderr : stdout, &all);
	if (record->facts)
		unit_print_left_out(settings->is_tap ? stderr : stdout, settings, &campaign->facts);
	baseline_print_unseen(settings->is_tap ? stderr : stdout, &campaign->baseline);
	if (settings->is_tap)
		report_print_tap(stdout, &all);
	return report_write_files(&all) ? all.exit_status : VERIFY_EXIT_USAGE;
}

static int run_campaign(struct campaign *campaign)
{
	const struct workload *chosen[VERIFY_WORKLOADS_MOST];

	if (!probe(campaign)) {
		fprintf(stderr, "dxgk verify: a run cannot be started: %s\n", strerror(errno));
		return VERIFY_EXIT_USAGE;
	}
	begin_counting(campaign);
	if (unit_choices(campaign->settings, &campaign->facts, chosen) > 0 &&
	    campaign->record.facts && !run_seeds(campaign))
		return VERIFY_EXIT_USAGE;
	return report(campaign);
}

int verify_campaign(const struct verify_settings *settings)
{
	struct campaign campaign = { .settings = settings };
	int exit_status = VERIFY_EXIT_USAGE;

	watch_signals();
	if ((!settings->baseline || baseline_read(&campaign.baseline, settings->baseline)) &&
	    (!settings->exerciser || trial_of_exerciser(settings->exerciser)) &&
	    subject_init(&campaign.subject, settings->driver, settings->exerciser,
			 settings->profile) &&
	    open_results(&campaign))
		exit_status = run_campaign(&campaign);
	finish(&campaign);
	if (stop_signal != 0) {
		fflush(NULL);
		raise(stop_signal);
	}
	return exit_status;
}
