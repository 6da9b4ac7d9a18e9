/* SPDX-License-Identifier: MIT */
/*
 * failing.c - see failing.h.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/refusal.h"
#include "cli/run/script.h"
#include "cli/verify/escape.h"
#include "cli/verify/failing.h"
#include "cli/verify/job.h"
#include "cli/verify/plans.h"
#include "cli/verify/report.h"
#include "cli/verify/sanitize.h"
#include "cli/verify/traces.h"

static const char *const file_names[] = { "script.dxgk",  "seed",         "plan",
					  "profile.json", "finding.json", "trace.json" };

static bool complain(const char *path)
{
	fprintf(stderr, "dxgk verify: %s: %s\n", path, strerror(errno));
	return false;
}

/* ---- writing ---- */

static bool write_text(const char *folder, const char *name, const char *text)
{
	char *path = needed_text("%s/%s", folder, name);
	FILE *out = fopen(path, "we");
	bool is_good = out && fputs(text, out) >= 0;

	is_good = (!out || fclose(out) == 0) && is_good;
	if (!is_good)
		complain(path);
	free(path);
	return is_good;
}

static char *finding_text(const struct finding *finding, const struct subject *subject,
			  const struct verify_settings *settings)
{
	char *text = NULL;
	size_t length;
	FILE *out = needed(open_memstream(&text, &length));

	fputs("{\"driver\":", out);
	json_put(out, settings->driver);
	fputs(",\"build\":", out);
	json_put(out, subject->build);
	fputs(",\"exerciser\":", out);
	json_put(out, settings->exerciser);
	fprintf(out, ",\"sanitizers\":%u,\"finding\":", settings->sanitizers);
	finding_write(out, finding);
	fputs("}\n", out);
	fclose(out);
	return needed(text);
}

bool failing_write(const char *directory, const struct finding *finding,
		   const struct subject *subject, const struct verify_settings *settings)
{
	char *name = report_folder_of(finding);
	char *parent = needed_text("%s/failing", directory);
	char *folder = needed_text("%s/%s", directory, name);
	char *found = finding_text(finding, subject, settings);
	char *seed = needed_text("%" PRIu64 "\n", finding->example.seed);
	char *plan = needed_text("%s\n", finding->example.plan);
	bool is_good = (mkdir(parent, 0777) == 0 || errno == EEXIST) &&
		       (mkdir(folder, 0777) == 0 || errno == EEXIST);

	if (!is_good)
		complain(folder);
	is_good = is_good && write_text(folder, "script.dxgk", finding->example.script) &&
		  write_text(folder, "seed", seed) && write_text(folder, "plan", plan) &&
		  write_text(folder, "profile.json", subject->profile_text) &&
		  write_text(folder, "finding.json", found);
	free(plan);
	free(seed);
	free(found);
	free(folder);
	free(parent);
	free(name);
	return is_good;
}

/* Only files that a campaign writes: what else is there is somebody's, and then the folder stays. */
static void clear_one(const char *folder)
{
	for (size_t i = 0; i < ARRAY_SIZE(file_names); i++) {
		char *path = needed_text("%s/%s", folder, file_names[i]);

		unlink(path);
		free(path);
	}
	rmdir(folder);
}

void failing_clear(const char *directory)
{
	char *path = needed_text("%s/failing", directory);
	DIR *all = opendir(path);

	for (struct dirent *entry = all ? readdir(all) : NULL; entry; entry = readdir(all)) {
		if (entry->d_name[0] == '.')
			continue;
		char *folder = needed_text("%s/%s", path, entry->d_name);

		clear_one(folder);
		free(folder);
	}
	if (all)
		closedir(all);
	free(path);
}

/* ---- reading ---- */

static char *read_text(const char *folder, const char *name)
{
	char *path = needed_text("%s/%s", folder, name);
	size_t length;
	char *text = file_read(path, &length);

	if (!text)
		complain(path);
	free(path);
	return text;
}

static char *text_of(const struct json *object, const char *name)
{
	const struct json *member = json_member(object, name);

	return member && member->type == JSON_STRING ? needed_text("%s", member->string) : NULL;
}

static bool read_finding(struct failing *failing, const char *folder)
{
	char *path = needed_text("%s/finding.json", folder);
	struct json_document document;
	bool is_good = NT_SUCCESS(json_read(path, &document));

	if (is_good) {
		const struct json *sanitizers = json_member(document.root, "sanitizers");

		failing->driver = text_of(document.root, "driver");
		failing->build = text_of(document.root, "build");
		failing->exerciser = text_of(document.root, "exerciser");
		failing->sanitizers = sanitizers ? (uint32_t)sanitizers->number : 0;
		failing->finding = finding_read(json_member(document.root, "finding"));
		is_good = failing->driver && failing->build && failing->finding;
		if (!is_good)
			(void)json_complain(&document, document.root,
					    "expected driver, build and finding");
	}
	if (!is_good)
		fprintf(stderr, "dxgk verify: %s\n", document.problem);
	json_finish(&document);
	free(path);
	return is_good;
}

static bool check_script(const char *script, const char *folder)
{
	struct script_problem problem = { 0 };
	struct script read;
	bool is_understood = NT_SUCCESS(script_read(script, strlen(script), &read, &problem));

	script_finish(&read);
	/* Without a statement it is the start of the driver alone, which is no line's fault. */
	if (!is_understood && problem.line == 0)
		return true;
	if (!is_understood)
		fprintf(stderr, "dxgk verify: %s/script.dxgk:%u: %s\n", folder, problem.line,
			problem.text);
	return is_understood;
}

static bool check_plan(const char *text, const char *folder)
{
	struct plan plan = { 0 };
	char problem[256] = "";
	bool is_understood = plan_read(text, &plan, problem, sizeof(problem)) && !plan.is_series;

	if (!is_understood)
		fprintf(stderr, "dxgk verify: %s/plan: %s\n", folder,
			*problem ? problem : "a fault has no number");
	return is_understood;
}

static bool check_profile(const char *folder)
{
	char *path = needed_text("%s/profile.json", folder);
	struct json_document document;
	bool is_understood = NT_SUCCESS(json_read(path, &document));

	if (!is_understood)
		fprintf(stderr, "dxgk verify: %s\n", document.problem);
	json_finish(&document);
	free(path);
	return is_understood;
}

/* Whatever is damaged is said; what was run without it would prove nothing. */
bool failing_load(struct failing *failing, const char *folder)
{
	char *seed, *end = NULL;

	*failing = (struct failing){ 0 };
	failing->script = read_text(folder, "script.dxgk");
	failing->plan = failing->script ? read_text(folder, "plan") : NULL;
	failing->profile = failing->plan ? read_text(folder, "profile.json") : NULL;
	seed = failing->profile ? read_text(folder, "seed") : NULL;
	if (!seed)
		return false;
	failing->plan[strcspn(failing->plan, "\n")] = '\0';
	failing->seed = strtoull(seed, &end, 10);
	bool is_number = end != seed && strspn(end, "\n \t") == strlen(end);
	free(seed);
	if (!is_number) {
		fprintf(stderr, "dxgk verify: %s/seed: expected a number\n", folder);
		return false;
	}
	return check_script(failing->script, folder) && check_plan(failing->plan, folder) &&
	       check_profile(folder) && read_finding(failing, folder);
}

void failing_finish(struct failing *failing)
{
	free(failing->script);
	free(failing->plan);
	free(failing->profile);
	free(failing->driver);
	free(failing->exerciser);
	free(failing->build);
	finding_destroy(failing->finding);
	*failing = (struct failing){ 0 };
}

/* ---- running ---- */

static bool run_once(const struct failing *failing, const struct subject *subject,
		     const char *trace, bool is_again, struct job_result *result)
{
	const struct job_limits limits = { VERIFY_TIMEOUT_S, VERIFY_MEMORY_MIB };
	const struct run_request request = {
		.driver = subject->driver_name,
		.exerciser = failing->exerciser,
		.profile = subject->profile_text,
		.script = failing->script,
		.plan = failing->plan,
		.trace = trace,
		.seed = failing->seed,
		.is_seeded = sanitize_is_seeded(failing->sanitizers),
		.is_again = is_again,
	};

	return job_run(&request, &limits, result);
}

/* What is only seen by comparing takes a second run. */
static bool compare_runs(const struct failing *failing, const struct subject *subject,
			 const char *trace, struct job_result *result)
{
	char *other_trace = needed_text("%s.again.json", trace);
	struct job_result again;
	bool is_run = run_once(failing, subject, other_trace, true, &again);

	if (is_run) {
		struct finding *finding =
			traces_difference(trace, other_trace, subject->driver_name);
		bool is_news;

		if (finding)
			(void)findings_join(&result->findings, finding, &is_news);
		job_result_finish(&again);
	}
	unlink(other_trace);
	free(other_trace);
	return is_run;
}

bool failing_run(const struct failing *failing, const struct subject *subject, const char *trace,
		 struct job_result *result)
{
	if (!run_once(failing, subject, trace, false, result))
		return false;
	if (!trace || strcmp(failing->finding->rule, rule_id(RULE_NT_POOL_UNINIT)) != 0 ||
	    compare_runs(failing, subject, trace, result))
		return true;
	job_result_finish(result);
	return false;
}

void failing_trace(const char *directory, struct finding *finding)
{
	char *name = report_folder_of(finding);
	char *folder = needed_text("%s/%s", directory, name);
	char *trace = needed_text("%s/trace.json", folder);
	struct subject subject = { 0 };
	struct failing failing;
	struct job_result result;

	unlink(trace);
	if (failing_load(&failing, folder) &&
	    subject_init_again(&subject, failing.driver, failing.exerciser, failing.profile) &&
	    failing_run(&failing, &subject, trace, &result)) {
		finding->is_unsteady =
			!findings_find(&result.findings, finding->rule, finding->fingerprint);
		if (!result.has_ended)
			unlink(trace); /* it was begun, and nobody was left to write it */
		job_result_finish(&result);
	}
	subject_finish(&subject);
	failing_finish(&failing);
	free(trace);
	free(folder);
	free(name);
}
