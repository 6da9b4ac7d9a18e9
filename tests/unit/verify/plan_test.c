/* SPDX-License-Identifier: MIT */
/*
 * plan_test.c - plans of faults as text: what is written can be read, and what is not understood is named.
 */
#include <string.h>

#include "support/test.h"
#include "verify/plan.h"

static const struct {
	const char *text;
	const char *written; /* NULL: as it is */
} understood[] = {
	{ "", NULL },
	{ "memory-nth 17", NULL },
	{ "memory-nth 18446744073709551615", NULL },
	{ "memory-random 5; late-dpc 3ms", NULL },
	{ "  memory-random   5 ;; late-dpc 3ms ; ", "memory-random 5; late-dpc 3ms" },
	{ "callback-nth any 1", NULL },
	{ "callback-nth DxgkCbMapMemory 12", NULL },
	{ "interrupt-late 1500us", NULL },
	{ "interrupt-late 1000us", "interrupt-late 1ms" },
	{ "time-jump 3600s", NULL },
	{ "evict-always; move-always; repatch-always; no-prepatch; small-tables", NULL },
};

TEST(plan, what_is_written_is_read)
{
	for (size_t i = 0; i < ARRAY_SIZE(understood); i++) {
		struct plan_of_faults plan;
		char text[PLAN_TEXT_MAX];
		char problem[160] = "";

		EXPECT(fault_plan_read(understood[i].text, &plan, problem, sizeof(problem)));
		EXPECT_STR(problem, "");
		fault_plan_write(&plan, text, sizeof(text));
		EXPECT_STR(text,
			   understood[i].written ? understood[i].written : understood[i].text);
	}
}

static const struct text_case refused[] = {
	{ "memory", "\"memory\" is no fault" },
	{ "memory-nth", "memory-nth is followed by a number from 1 on" },
	{ "memory-nth 0", "memory-nth is followed by a number from 1 on" },
	{ "memory-nth -1", "memory-nth is followed by a number from 1 on" },
	{ "memory-nth 1x", "memory-nth is followed by a number from 1 on" },
	{ "memory-nth 1 2", "memory-nth is followed by a number from 1 on" },
	{ "memory-random 101", "memory-random is followed by a number from 1 to 100" },
	{ "late-dpc 3", "late-dpc is followed by a time as 50us, 3ms or 2s, an hour at most" },
	{ "late-dpc 0ms", "late-dpc is followed by a time as 50us, 3ms or 2s, an hour at most" },
	{ "time-jump 3601s",
	  "time-jump is followed by a time as 50us, 3ms or 2s, an hour at most" },
	{ "time-jump 18446744073709551616s",
	  "time-jump is followed by a time as 50us, 3ms or 2s, an hour at most" },
	{ "callback-nth 3",
	  "callback-nth is followed by a callback (DxgkCb…, or any) and a number from 1 on" },
	{ "callback-nth MapMemory 3",
	  "callback-nth is followed by a callback (DxgkCb…, or any) and a number from 1 on" },
	{ "evict-always 3", "evict-always is followed by nothing" },
	{ "memory-nth 1; nonsense", "\"nonsense\" is no fault" },
	{ "evict-always;evict-always;evict-always;evict-always;evict-always;evict-always;"
	  "evict-always;evict-always;evict-always",
	  "there are more than 8 faults" },
};

TEST(plan, what_is_not_understood_is_named)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct plan_of_faults plan;
		char problem[160] = "";

		EXPECT(!fault_plan_read(refused[i].given, &plan, problem, sizeof(problem)));
		EXPECT_STR(problem, refused[i].said);
	}
}

TEST(plan, a_text_without_end_is_refused)
{
	char text[PLAN_TEXT_MAX + 1];
	struct plan_of_faults plan;
	char problem[160] = "";

	memset(text, ' ', sizeof(text));
	text[PLAN_TEXT_MAX] = '\0';
	EXPECT(!fault_plan_read(text, &plan, problem, sizeof(problem)));
	EXPECT_STR(problem, "the plan is longer than 255 characters");
}

TEST(plan, each_fault_reads_what_it_writes)
{
	for (unsigned kind = 0; kind < FAULT_COUNT; kind++) {
		enum fault_operand operand = fault_infos[kind].operand;
		struct plan_of_faults plan = {
			.faults = { { .kind = (enum fault_kind)kind,
				      .number = operand == FAULT_OPERAND_NONE   ? 0
						: operand == FAULT_OPERAND_TIME ? 7000000
										: 7 } },
			.count = 1,
		};
		struct plan_of_faults again;
		char text[PLAN_TEXT_MAX];
		char problem[160] = "";

		fault_plan_write(&plan, text, sizeof(text));
		EXPECT(fault_plan_read(text, &again, problem, sizeof(problem)));
		EXPECT_EQ(again.count, 1);
		EXPECT_EQ(again.faults[0].kind, kind);
		EXPECT_EQ(again.faults[0].number, plan.faults[0].number);
	}
}

TEST_MAIN("verify/plan")
