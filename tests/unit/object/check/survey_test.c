/* SPDX-License-Identifier: MIT */
/*
 * survey_test.c - what a recount says: the first thing that is wrong, or all as far as there is room.
 */
#include "support/test.h"

#include "base/mem.h"
#include "object/check/survey.h"

static void find_three(struct survey *survey)
{
	for (int i = 1; i <= 3; i++)
		survey_wrong(survey, "thing %d", i);
	EXPECT(survey->is_wrong);
}

TEST(survey, tells_the_first_thing_or_a_line_of_each)
{
	static const struct {
		size_t buffer;
		bool tells_all;
		const char *said;
	} rows[] = {
		{ 64, false, "thing 1" }, { 64, true, "thing 1\nthing 2\nthing 3\n" },
		{ 6, false, "thin" },     { 12, true, "thing 1\nth\n" },
		{ 1, true, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[64] = "";
		struct survey survey = { .wrong = text,
					 .wrong_size = rows[i].buffer,
					 .tells_all = rows[i].tells_all };

		find_three(&survey);
		EXPECT_STR(text, rows[i].said);
		survey_finish(&survey);
	}
}

TEST(survey, that_has_no_memory_to_look_says_so)
{
	char text[64] = "";
	struct survey survey = { .wrong = text, .wrong_size = sizeof(text) };
	struct holders holders = { 0 };

	mem_fail_nth(1);
	survey_hold(&survey, &holders, &survey);
	EXPECT(mem_fail_stop());
	EXPECT(survey.is_wrong);
	EXPECT_STR(text, "there is no memory to look");
	EXPECT_EQ(holders.count, 0);
	survey_finish(&survey);
}

TEST_MAIN("object/survey")
