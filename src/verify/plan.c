/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/plan.h"

const struct fault_info fault_infos[FAULT_COUNT] = {
#define FAULT(NAME, fault_word, fault_operand, fault_by, fault_meaning)                            \
	[FAULT_##NAME] = { .word = fault_word,                                                     \
			   .operand = FAULT_OPERAND_##fault_operand,                               \
			   .agent = FAULT_BY_##fault_by,                                           \
			   .meaning = fault_meaning },
#include "verify/plan.def"
#undef FAULT
};

uint32_t fault_settings(const struct fault *fault, struct fault_setting settings[])
{
	/* Words of the software GPU's "Defect". */
	static const char *const defects[FAULT_COUNT] = {
		[FAULT_HARDWARE_SLOW] = "slow",
		[FAULT_HARDWARE_HANG] = "hang",
		[FAULT_HARDWARE_WRONG_FENCE] = "wrong-fence",
		[FAULT_HARDWARE_WRONG_BYTES] = "wrong-bytes",
	};

	if (fault_infos[fault->kind].agent != FAULT_BY_SETTING)
		return 0;
	if (defects[fault->kind]) {
		settings[0] =
			(struct fault_setting){ .name = "Defect", .word = defects[fault->kind] };
		settings[1] = (struct fault_setting){ .name = "DefectAt",
						      .number = (uint32_t)fault->number };
		return 2;
	}
	settings[0] = (struct fault_setting){
		.name = fault->kind == FAULT_PREEMPT_ALWAYS ? "PreemptAlways" : "SplitAlways",
		.number = 1,
	};
	return 1;
}

static const struct {
	const char *unit;
	uint64_t ns;
} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

/* An hour: the clock of a run does not go further in one step. */
static const uint64_t time_max_ns = UINT64_C(3600000000000);

struct words {
	char text[PLAN_TEXT_MAX];
	char *word[4];
	uint32_t count;
};

static void words_split(const char *from, size_t length, struct words *words)
{
	char *rest = NULL;

	snprintf(words->text, sizeof(words->text), "%.*s", (int)length, from);
	words->count = 0;
	for (char *word = strtok_r(words->text, " \t\n", &rest);
	     word && words->count < ARRAY_SIZE(words->word); word = strtok_r(NULL, " \t\n", &rest))
		words->word[words->count++] = word;
}

static bool read_number(const char *word, uint64_t most, uint64_t *number_out)
{
	char *end;

	if (word[0] < '0' || word[0] > '9')
		return false;
	*number_out = strtoull(word, &end, 10);
	return *end == '\0' && *number_out >= 1 && *number_out <= most;
}

static bool read_time(const char *word, uint64_t *ns_out)
{
	char *end;

	if (word[0] < '0' || word[0] > '9')
		return false;
	uint64_t number = strtoull(word, &end, 10);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) == 0 && number <= time_max_ns / units[i].ns) {
			*ns_out = number * units[i].ns;
			return number > 0;
		}
	}
	return false;
}

static const char *operand_text(enum fault_operand operand)
{
	switch (operand) {
	case FAULT_OPERAND_NTH:
		return "a number from 1 on";
	case FAULT_OPERAND_PERCENT:
		return "a number from 1 to 100";
	case FAULT_OPERAND_TIME:
		return "a time as 50us, 3ms or 2s, an hour at most";
	case FAULT_OPERAND_CALLBACK:
		return "a callback (DxgkCb…, or any) and a number from 1 on";
	case FAULT_OPERAND_NONE:
		break;
	}
	return "nothing";
}

static bool read_operand(const struct words *words, enum fault_operand operand, struct fault *fault)
{
	switch (operand) {
	case FAULT_OPERAND_NONE:
		return words->count == 1;
	case FAULT_OPERAND_NTH:
		return words->count == 2 && read_number(words->word[1], UINT64_MAX, &fault->number);
	case FAULT_OPERAND_PERCENT:
		return words->count == 2 && read_number(words->word[1], 100, &fault->number);
	case FAULT_OPERAND_TIME:
		return words->count == 2 && read_time(words->word[1], &fault->number);
	case FAULT_OPERAND_CALLBACK:
		if (words->count != 3 || strlen(words->word[1]) > FAULT_NAME_MAX ||
		    (strncmp(words->word[1], "DxgkCb", 6) != 0 &&
		     strcmp(words->word[1], "any") != 0))
			return false;
		if (words->word[1][0] == 'D')
			snprintf(fault->name, sizeof(fault->name), "%.39s", words->word[1]);
		return read_number(words->word[2], UINT64_MAX, &fault->number);
	}
	return false;
}

static bool read_fault(const struct words *words, struct fault *fault, char *problem,
		       size_t problem_bytes)
{
	for (unsigned kind = 0; kind < FAULT_COUNT; kind++) {
		const struct fault_info *info = &fault_infos[kind];

		if (strcmp(info->word, words->word[0]) != 0)
			continue;
		fault->kind = (enum fault_kind)kind;
		if (read_operand(words, info->operand, fault))
			return true;
		snprintf(problem, problem_bytes, "%s is followed by %s", info->word,
			 operand_text(info->operand));
		return false;
	}
	snprintf(problem, problem_bytes, "\"%.60s\" is no fault", words->word[0]);
	return false;
}

bool fault_plan_read(const char *text, struct plan_of_faults *plan_out, char *problem,
		     size_t problem_bytes)
{
	*plan_out = (struct plan_of_faults){ 0 };
	if (strlen(text) >= PLAN_TEXT_MAX) {
		snprintf(problem, problem_bytes, "the plan is longer than %d characters",
			 PLAN_TEXT_MAX - 1);
		return false;
	}
	while (*text) {
		size_t length = strcspn(text, ";");
		struct words words;

		words_split(text, length, &words);
		text += length + (text[length] == ';');
		if (words.count == 0)
			continue;
		if (plan_out->count == PLAN_FAULTS_MAX) {
			snprintf(problem, problem_bytes, "there are more than %d faults",
				 PLAN_FAULTS_MAX);
			return false;
		}
		if (!read_fault(&words, &plan_out->faults[plan_out->count++], problem,
				problem_bytes))
			return false;
	}
	return true;
}

static void write_time(uint64_t ns, char *text, size_t size_bytes)
{
	size_t unit = ARRAY_SIZE(units) - 1;

	while (unit > 0 && ns % units[unit].ns != 0)
		unit--;
	snprintf(text, size_bytes, "%llu%s", (unsigned long long)(ns / units[unit].ns),
		 units[unit].unit);
}

static void write_fault(const struct fault *fault, char *text, size_t size_bytes)
{
	const struct fault_info *info = &fault_infos[fault->kind];
	char number[32] = "";

	if (info->operand == FAULT_OPERAND_TIME)
		write_time(fault->number, number, sizeof(number));
	else if (info->operand != FAULT_OPERAND_NONE)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)fault->number);
	if (info->operand == FAULT_OPERAND_CALLBACK)
		snprintf(text, size_bytes, "%s %s %s", info->word,
			 fault->name[0] ? fault->name : "any", number);
	else
		snprintf(text, size_bytes, "%s%s%s", info->word, number[0] ? " " : "", number);
}

void fault_plan_write(const struct plan_of_faults *plan, char *text, size_t size_bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < plan->count && used < size_bytes; i++) {
		char fault[128];

		write_fault(&plan->faults[i], fault, sizeof(fault));
		used += (size_t)snprintf(text + used, size_bytes - used, "%s%s", i > 0 ? "; " : "",
					 fault);
	}
}
