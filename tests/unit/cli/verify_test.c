/* SPDX-License-Identifier: MIT */
/*
 * verify_test.c - dxgk verify, what of it needs no kernel: plans, units, findings, records, texts.
 */
#include "support/test.h"

#include "base/json.h"
#include "cli/verify/escape.h"
#include "cli/verify/plans.h"
#include "cli/verify/report.h"
#include "cli/verify/sanitize.h"
#include "cli/verify/subject.h"
#include "cli/verify/unit.h"

/* ---- plans ---- */

static void expect_plan(const char *text, const char *written, bool is_series)
{
	struct plan plan;
	char problem[256] = "";
	char again[PLAN_TEXT_BYTES];

	if (!plan_read(text, &plan, problem, sizeof(problem)))
		print_error("%s: %s\n", text, problem);
	plan_write(&plan, 7, again);
	EXPECT_STR(again, written);
	EXPECT_EQ(plan.is_series, is_series);
}

TEST(plans, what_is_written_is_what_was_read)
{
	expect_plan("", "", false);
	expect_plan("none", "", false);
	expect_plan(" ; ;", "", false);
	expect_plan("memory-nth 17", "memory-nth 17", false);
	expect_plan("memory-nth   17 ;late-dpc 3000us", "memory-nth 17; late-dpc 3ms", false);
	expect_plan("callback-nth DxgkCbMapMemory 2", "callback-nth DxgkCbMapMemory 2", false);
	expect_plan("memory-random 5; preempt-always", "memory-random 5; preempt-always", false);
}

TEST(plans, a_fault_without_its_number_is_a_series)
{
	expect_plan("memory-nth", "memory-nth 7", true);
	expect_plan("late-dpc 1s; remove-at", "late-dpc 1s; remove-at 7", true);
	expect_plan("callback-nth any", "callback-nth any 7", true);
	expect_plan("callback-nth DxgkCbMapMemory; evict-always",
		    "callback-nth DxgkCbMapMemory 7; evict-always", true);
}

TEST(plans, what_is_no_plan_is_said)
{
	static const char *const wrong[] = {
		"rain",          "memory-nth 0",       "memory-nth -1",       "memory-nth 1 2",
		"memory-random", "late-dpc 3",         "late-dpc 2h",         "evict-always 3",
		"callback-nth",  "callback-nth Map 1", "memory-nth; reset-at"
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct plan plan;
		char problem[256] = "";

		EXPECT(!plan_read(wrong[i], &plan, problem, sizeof(problem)));
		EXPECT(problem[0] != '\0');
	}
}

TEST(plans, a_drawn_plan_can_be_given_on_the_command_line)
{
	struct verify_facts facts = { .abilities = UINT32_MAX };
	unsigned faults = 0;
	unsigned series = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct random random;
		struct plan plan, again;
		char text[PLAN_TEXT_BYTES];
		char problem[256];

		random_init(&random, seed);
		plan_draw(&random, &facts, &plan);
		plan_write(&plan, 3, text);
		EXPECT(plan_read(text, &again, problem, sizeof(problem)));
		EXPECT_STR(again.text, text);
		faults += text[0] != '\0';
		series += plan.is_series;
	}
	EXPECT(faults > 900 && faults < 1100);
	EXPECT(series > 5 && series < 60);
}

TEST(plans, what_a_driver_cannot_do_is_not_drawn)
{
	struct verify_facts facts = { .abilities = 0 };

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct random random;
		struct plan plan;

		random_init(&random, seed);
		plan_draw(&random, &facts, &plan);
		EXPECT(!strstr(plan.text, "no-prepatch") && !strstr(plan.text, "hardware-"));
	}
}

TEST(plans, a_client_dies_after_the_statement_that_is_meant)
{
	static const char script[] = "# two clients\nclient a apart\nclient b\nallocate x a 4K\n";
	char *killed = plan_kill_client(script, 2);

	EXPECT_EQ(plan_death("client-dies-at 2; late-dpc 1ms"), 2);
	EXPECT_EQ(plan_death("memory-nth 2"), 0);
	EXPECT_STR(killed, "# two clients\nclient a apart\nclient b\nkill a\nallocate x a 4K\n");
	free(killed);
	EXPECT(!plan_kill_client(script, 4));
	EXPECT(!plan_kill_client("client b\nclient c\n", 1));
}

TEST(plans, settings_are_in_the_registry_of_the_profile)
{
	static const char empty[] = "{\"adapters\": [{\"driver\": \"d\", \"registry\": {}}]}\n";
	static const char some[] =
		"{\"adapters\": [{\"driver\": \"d\", \"registry\": {\"A\": {\"B\": 1}}}]}\n";
	char *text = subject_profile(empty, "preempt-always");

	EXPECT_STR(text, "{\"adapters\": [{\"driver\": \"d\", \"registry\": "
			 "{\"PreemptAlways\": 1}}]}\n");
	free(text);
	text = subject_profile(some, "memory-nth 2; split-always");
	EXPECT_STR(text, "{\"adapters\": [{\"driver\": \"d\", \"registry\": {\"A\": {\"B\": 1}, "
			 "\"SplitAlways\": 1}}]}\n");
	free(text);
	text = subject_profile(some, "memory-nth 2");
	EXPECT_STR(text, some);
	free(text);
}

/* ---- units ---- */

TEST(units, a_seed_is_the_same_unit_in_every_shard)
{
	static struct verify_settings one = { .shard_count = 1 };
	static struct verify_settings other = { .shard = 3, .shard_count = 7 };
	const struct verify_facts facts = { .abilities = UINT32_MAX };

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct unit a, b;

		unit_draw(&one, &facts, seed, &a);
		unit_draw(&other, &facts, seed, &b);
		EXPECT(a.workload == b.workload && a.is_run_twice == b.is_run_twice);
		EXPECT_STR(a.plan.text, b.plan.text);
		EXPECT_STR(a.script, b.script);
		unit_finish(&a);
		unit_finish(&b);
	}
}

TEST(units, only_what_fits_the_driver_is_chosen)
{
	static struct verify_settings all;
	const struct verify_facts facts = { .abilities = 0 };
	const struct workload *chosen[VERIFY_WORKLOADS_MOST];

	for (uint32_t i = 0, count = unit_choices(&all, &facts, chosen); i < count; i++)
		EXPECT_EQ(chosen[i]->needs, 0);
}

/* ---- findings ---- */

static struct finding *made(const char *rule, const char *function, uint64_t seed, const char *plan,
			    const char *script)
{
	struct finding *finding = finding_create(rule, FINDING_RULE);

	finding->frames = needed(calloc(1, sizeof(*finding->frames)));
	finding->frame_count = 1;
	finding->frames[0] = (struct finding_frame){ .function = needed_text("%s", function),
						     .file = needed_text("d.c"),
						     .image = needed_text("d.so"),
						     .line = (uint32_t)seed + 1 };
	finding->first_seed = finding->last_seed = seed;
	finding_set_example(finding, "W10", seed, plan, script);
	finding_set_fingerprint(finding, "d.so", "");
	return finding;
}

TEST(findings, a_fingerprint_knows_rule_and_function_but_no_line)
{
	struct finding *one = made("DDI-A", "f", 1, "", "");
	struct finding *same = made("DDI-A", "f", 900, "x", "y");
	struct finding *other = made("DDI-A", "g", 1, "", "");
	struct finding *rule = made("DDI-B", "f", 1, "", "");

	EXPECT_STR(one->fingerprint, same->fingerprint);
	EXPECT(strcmp(one->fingerprint, other->fingerprint) != 0);
	EXPECT(strcmp(one->fingerprint, rule->fingerprint) != 0);
	finding_destroy(one);
	finding_destroy(same);
	finding_destroy(other);
	finding_destroy(rule);
}

/* Joined in the order of `order`, the finding that is left. */
static void join_in_order(const unsigned order[4], struct findings *all)
{
	static const struct {
		uint64_t seed;
		const char *plan, *script;
	} runs[] = {
		{ 9, "memory-nth 2", "a" }, { 4, "", "abc" }, { 2, "", "abcd" }, { 3, "", "abc" }
	};
	bool is_news;

	for (unsigned i = 0; i < 4; i++)
		findings_join(all,
			      made("DDI-A", "f", runs[order[i]].seed, runs[order[i]].plan,
				   runs[order[i]].script),
			      &is_news);
}

TEST(findings, it_does_not_matter_which_is_joined_first)
{
	static const unsigned orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct findings all = { 0 };

		join_in_order(orders[i], &all);
		EXPECT_EQ(all.count, 1);
		EXPECT_EQ(all.items[0]->count, 4);
		EXPECT_EQ(all.items[0]->run_count, 4);
		EXPECT_EQ(all.items[0]->first_seed, 2);
		EXPECT_EQ(all.items[0]->last_seed, 9);
		/* Without a fault, the shortest script, the smallest seed. */
		EXPECT_EQ(all.items[0]->example.seed, 3);
		findings_finish(&all);
	}
}

static char *written(const struct finding *finding)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	finding_write(out, finding);
	fclose(out);
	return text;
}

TEST(findings, what_is_written_is_read_back)
{
	struct finding *finding = made("DDI-A", "f<\"\\>", 5, "late-dpc 1ms", "client a\n\t\x01");
	char *text = written(finding);
	struct json_document document;

	EXPECT_EQ(json_read_line("x", 1, text, strlen(text), &document), STATUS_SUCCESS);
	struct finding *again = finding_read(document.root);
	char *second = written(again);
	EXPECT_STR(second, text);
	free(second);
	free(text);
	finding_destroy(finding);
	finding_destroy(again);
	json_finish(&document);
}

/* ---- records ---- */

static void add_run(struct record *record, uint64_t seed, const char *plan, bool is_last)
{
	struct run_line line = {
		.seed = seed, .workload = "W10", .plan = needed_text("%s", plan), .is_last = is_last
	};

	record_add_run(record, &line);
}

TEST(records, what_is_missing_is_counted_without_walking_over_all_seeds)
{
	struct record record = { .id = { .first_seed = 5,
					 .last_seed = VERIFY_SEED_MOST,
					 .shard = 1,
					 .shard_count = 3 } };
	uint64_t first;
	size_t count;

	/* 7, 10, 13 are the first of the shard. */
	EXPECT_EQ(record_missing(&record, &first), (VERIFY_SEED_MOST - 7) / 3 + 1);
	EXPECT_EQ(first, 7);
	add_run(&record, 10, "", true);
	add_run(&record, 7, "memory-nth 2", true);
	add_run(&record, 7, "memory-nth 1", false);
	add_run(&record, 16, "", true);
	add_run(&record, 13, "", false);
	EXPECT_EQ(record_missing(&record, &first), (VERIFY_SEED_MOST - 7) / 3 + 1 - 3);
	EXPECT_EQ(first, 13);
	free(record_seeds(&record, &count));
	EXPECT_EQ(count, 3);
	record_settle(&record);
	EXPECT_EQ(record.runs[0].seed, 7);
	EXPECT_STR(record.runs[0].plan, "memory-nth 1");
	record_finish(&record);
}

/* ---- texts ---- */

static void expect_put(void (*put)(FILE *, const char *), const char *text, const char *expected)
{
	char *got = NULL;
	size_t length;
	FILE *out = open_memstream(&got, &length);

	put(out, text);
	fclose(out);
	EXPECT_STR(got, expected);
	free(got);
}

TEST(texts, everything_can_be_written_in_every_format)
{
	expect_put(json_put, "a\"\\\n\t\x01\x7f\xc3\xa9",
		   "\"a\\\"\\\\\\n\\t\\u0001\\u007f\xc3\xa9\"");
	expect_put(json_put, "\xff", "\"\xef\xbf\xbd\"");
	expect_put(json_put, NULL, "null");
	expect_put(xml_put, "<&>\"\n\x02", "&lt;&amp;&gt;&quot;&#10;\xef\xbf\xbd");
	expect_put(xml_put, "\xef\xbf\xbf", "\xef\xbf\xbd");
	expect_put(uri_put, "a b/\"\xc3\xa9\"%", "a%20b/%22%C3%A9%22%25");
}

static void expect_path(const char *path, const char *expected)
{
	char *got = report_source_path(path);

	EXPECT_STR(got, expected);
	free(got);
}

TEST(texts, a_path_is_the_same_however_it_is_spelt)
{
	expect_path("/a/./b/../c//d.c", "/a/c/d.c");
	expect_path("../x/./y.c", "../x/y.c");
	expect_path("../../y.c", "../../y.c");
	expect_path("a/../y.c", "y.c");
	expect_path("/../y.c", "/y.c");
	expect_path("", "");
}

TEST(texts, days_are_those_of_the_calendar)
{
	char text[32];

	report_time(0, text);
	EXPECT_STR(text, "1970-01-01T00:00:00Z");
	report_time(951782399, text);
	EXPECT_STR(text, "2000-02-28T23:59:59Z");
	report_time(951782400, text);
	EXPECT_STR(text, "2000-02-29T00:00:00Z");
	report_time(1798761599, text);
	EXPECT_STR(text, "2026-12-31T23:59:59Z");
	report_time(4107542400, text);
	EXPECT_STR(text, "2100-03-01T00:00:00Z");
}

/* ---- sanitizers ---- */

TEST(sanitizers, reports_are_findings_with_the_frames_of_the_driver)
{
	static const char said[] =
		"dxgk: something else\n"
		"==17==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x7f "
		"bp\n"
		"WRITE of size 4 at 0x602 thread T2\n"
		"    #0|__asan_memset||0|/usr/lib/libclang_rt.asan-x86_64.so|\n"
		"    #1|Fill|/src/driver.c|12|/x/d.so|\n"
		"\n"
		"0x602 is located 0 bytes to the right of 16-byte region\n"
		"allocated by thread T1 here:\n"
		"    #0|malloc||0|/usr/lib/libclang_rt.asan-x86_64.so|\n"
		"SUMMARY: AddressSanitizer: heap-buffer-overflow (/x/d.so+0x12) in Fill\n"
		"/src/driver.c:40:7: runtime error: shift exponent 40 is too large\n"
		"    #0|Shift|/src/driver.c|40|/x/d.so|\n"
		"\n";
	struct findings all = { 0 };

	sanitize_read_reports(said, "d.so", &all);
	EXPECT_EQ(all.count, 2);
	for (uint32_t i = 0; i < all.count; i++) {
		const struct finding_frame *place = finding_driver_frame(all.items[i], "d.so");
		bool is_shift = strcmp(place->function, "Shift") == 0;

		EXPECT_STR(all.items[i]->rule, "DDI-SANITIZER");
		EXPECT_EQ(all.items[i]->kind, FINDING_CRASH);
		EXPECT_EQ(place->line, is_shift ? 40 : 12);
		EXPECT_EQ(all.items[i]->frame_count, is_shift ? 1 : 2);
		EXPECT_CONTAINS(all.items[i]->sentence,
				is_shift ? "shift exponent 40" : "heap-buffer-overflow");
	}
	findings_finish(&all);
}

#define RACE_OF(one, one_line, other, other_line)                                                  \
	"WARNING: ThreadSanitizer: data race (pid=17)\n"                                           \
	"  Read of size 1 at 0x7b64 by thread T4:\n"                                               \
	"    #0|" one "|/src/driver.c|" one_line "|/x/d.so|\n"                                     \
	"\n"                                                                                       \
	"  Previous write of size 1 at 0x7b64 by thread T9:\n"                                     \
	"    #0|" other "|/src/driver.c|" other_line "|/x/d.so|\n"                                 \
	"\n"                                                                                       \
	"SUMMARY: ThreadSanitizer: data race\n"

TEST(sanitizers, a_race_of_two_is_one_finding_whichever_of_them_is_found)
{
	struct findings all = { 0 };

	sanitize_read_reports(RACE_OF("Step", "12", "Submit", "40"), "d.so", &all);
	sanitize_read_reports(RACE_OF("Submit", "40", "Step", "12"), "d.so", &all);
	EXPECT_EQ(all.count, 1);
	EXPECT_CONTAINS(all.items[0]->sentence, "data race with Submit (driver.c:40)");
	sanitize_read_reports(RACE_OF("Step", "12", "Reset", "60"), "d.so", &all);
	EXPECT_EQ(all.count, 2);
	findings_finish(&all);
}

TEST_MAIN("cli/verify")
