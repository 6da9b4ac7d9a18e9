/* SPDX-License-Identifier: MIT */
/*
 * plans.c - see plans.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/verify/finding.h"
#include "cli/verify/plans.h"
#include "verify/plan.h"

_Static_assert(PLAN_TEXT_BYTES == (int)PLAN_TEXT_MAX, "one text");

static const char number_mark[] = "%n%";

static bool has_number(enum fault_kind kind)
{
	return fault_infos[kind].operand == FAULT_OPERAND_NTH ||
	       fault_infos[kind].operand == FAULT_OPERAND_CALLBACK;
}

void plan_print_faults(FILE *out)
{
	static const char *const operands[] = {
		[FAULT_OPERAND_NONE] = "",
		[FAULT_OPERAND_NTH] = " [N]",
		[FAULT_OPERAND_PERCENT] = " P",
		[FAULT_OPERAND_TIME] = " TIME",
		[FAULT_OPERAND_CALLBACK] = " CALLBACK|any [N]",
	};

	for (unsigned kind = 0; kind < FAULT_COUNT; kind++)
		fprintf(out, "  %s%s\n      %s\n", fault_infos[kind].word,
			operands[fault_infos[kind].operand], fault_infos[kind].meaning);
}

/* ---- reading ---- */

/* One fault, and whether it is a series: then it is understood with a number behind it, and without is not. */
static bool read_fault(const char *text, struct plan_of_faults *fault, bool *is_series_out,
		       char *problem, size_t problem_bytes)
{
	char with_number[PLAN_TEXT_MAX];
	char other_problem[256];
	int length;

	*is_series_out = false;
	if (fault_plan_read(text, fault, problem, problem_bytes))
		return true;
	length = snprintf(with_number, sizeof(with_number), "%s 1", text);
	if (length >= (int)sizeof(with_number) ||
	    !fault_plan_read(with_number, fault, other_problem, sizeof(other_problem)) ||
	    fault->count != 1 || !has_number(fault->faults[0].kind))
		return false;
	*is_series_out = true;
	return true;
}

/* Its text as it is always written, with the mark in the place of its number. */
static void add_fault(struct text *text, const struct plan_of_faults *fault, bool is_series)
{
	char written[PLAN_TEXT_MAX];

	fault_plan_write(fault, written, sizeof(written));
	if (is_series)
		*(strrchr(written, ' ') + 1) = '\0';
	text_add(text, "%s%s%s", text->used ? "; " : "", written, is_series ? number_mark : "");
}

bool plan_read(const char *text, struct plan *plan, char *problem, size_t problem_bytes)
{
	struct text written = text_begin(plan->text, sizeof(plan->text));
	uint32_t count = 0;

	plan->is_series = false;
	if (strcmp(text, "none") == 0)
		return true;
	while (*text) {
		size_t length = strcspn(text, ";");
		char part[PLAN_TEXT_MAX];
		struct plan_of_faults fault;
		bool is_series;

		snprintf(part, sizeof(part), "%.*s", (int)length, text);
		text += length + (text[length] == ';');
		if (!read_fault(part, &fault, &is_series, problem, problem_bytes))
			return false;
		if (fault.count == 0)
			continue;
		if (is_series && plan->is_series) {
			snprintf(problem, problem_bytes,
				 "only one fault of a plan can be without its number");
			return false;
		}
		plan->is_series |= is_series;
		add_fault(&written, &fault, is_series);
		if (++count > PLAN_FAULTS_MAX || written.used >= sizeof(plan->text)) {
			snprintf(problem, problem_bytes, "there are more than %d faults",
				 PLAN_FAULTS_MAX);
			return false;
		}
	}
	return true;
}

void plan_write(const struct plan *plan, uint64_t n, char text[PLAN_TEXT_BYTES])
{
	const char *mark = strstr(plan->text, number_mark);

	if (mark)
		snprintf(text, PLAN_TEXT_BYTES, "%.*s%" PRIu64 "%s", (int)(mark - plan->text),
			 plan->text, n, mark + strlen(number_mark));
	else
		snprintf(text, PLAN_TEXT_BYTES, "%s", plan->text);
}

/* ---- drawing ---- */

enum {
	WITHOUT_FAULT_PERCENT = 50, /* what is wrong then is wrong without an excuse */
	SERIES_OF = 24,             /* one in so many faults that could be one */
	NTH_BITS = 9,
};

/* How often each is drawn. What is not here is drawn never: it is there to see that something is noticed. */
static const struct {
	uint32_t weight;
	uint32_t needs; /* enum verify_ability */
} chances[FAULT_COUNT] = {
	[FAULT_MEMORY_NTH] = { 4, 0 },
	[FAULT_MEMORY_RANDOM] = { 3, 0 },
	[FAULT_CALLBACK_NTH] = { 2, 0 },
	[FAULT_INTERRUPT_LOST] = { 2, 0 },
	[FAULT_INTERRUPT_DOUBLED] = { 2, 0 },
	[FAULT_INTERRUPT_LATE] = { 2, 0 },
	[FAULT_INTERRUPT_REORDERED] = { 2, ABLE_SEVERAL_NODES },
	[FAULT_LATE_DPC] = { 2, 0 },
	[FAULT_RESET_AT] = { 3, 0 },
	[FAULT_ENGINE_RESET_AT] = { 2, 0 },
	[FAULT_REMOVE_AT] = { 3, 0 },
	[FAULT_EVICT_ALWAYS] = { 3, 0 },
	[FAULT_MOVE_ALWAYS] = { 2, 0 },
	[FAULT_REPATCH_ALWAYS] = { 2, ABLE_PHYSICAL },
	[FAULT_NO_PREPATCH] = { 2, ABLE_PHYSICAL },
	[FAULT_USER_MEMORY_CHANGES] = { 2, ABLE_PHYSICAL },
	[FAULT_USER_MEMORY_VANISHES] = { 2, ABLE_PHYSICAL },
	[FAULT_SMALL_TABLES] = { 3, 0 },
	[FAULT_TIME_JUMP] = { 2, 0 },
	[FAULT_PREEMPT_ALWAYS] = { 3, ABLE_COMMANDS },
	[FAULT_SPLIT_ALWAYS] = { 2, ABLE_PHYSICAL },
	[FAULT_CLIENT_DIES_AT] = { 3, 0 },
};

static uint32_t chance_of(unsigned kind, uint32_t abilities)
{
	return (chances[kind].needs & abilities) == chances[kind].needs ? chances[kind].weight : 0;
}

static enum fault_kind draw_kind(struct random *random, uint32_t abilities)
{
	unsigned kind = 0;
	uint64_t total = 0;

	for (unsigned i = 0; i < FAULT_COUNT; i++)
		total += chance_of(i, abilities);
	for (uint64_t at = random_below(random, total); at >= chance_of(kind, abilities); kind++)
		at -= chance_of(kind, abilities);
	return (enum fault_kind)kind;
}

/* Small numbers as often as large ones: the first failures hit the start of a driver, later ones its work. */
static uint64_t draw_nth(struct random *random)
{
	uint64_t bits = random_below(random, NTH_BITS + 1);

	return 1 + random_below(random, UINT64_C(1) << bits);
}

static uint64_t draw_number(struct random *random, enum fault_operand operand)
{
	/* Up to just below the two seconds after which an engine counts as hung. */
	static const uint64_t times_us[] = { 50, 1000, 20000, 900000 };

	switch (operand) {
	case FAULT_OPERAND_PERCENT:
		return 1 + random_below(random, 30);
	case FAULT_OPERAND_TIME:
		return times_us[random_below(random, ARRAY_SIZE(times_us))] * 1000;
	case FAULT_OPERAND_NTH:
	case FAULT_OPERAND_CALLBACK:
		return draw_nth(random);
	case FAULT_OPERAND_NONE:
		break;
	}
	return 0;
}

void plan_draw(struct random *random, const struct verify_facts *facts, struct plan *plan)
{
	struct text written = text_begin(plan->text, sizeof(plan->text));

	plan->is_series = false;
	if (random_below(random, 100) < WITHOUT_FAULT_PERCENT)
		return;
	struct plan_of_faults one = { .count = 1 };
	one.faults[0].kind = draw_kind(random, facts->abilities);
	one.faults[0].number = draw_number(random, fault_infos[one.faults[0].kind].operand);
	plan->is_series = has_number(one.faults[0].kind) && random_below(random, SERIES_OF) == 0;
	add_fault(&written, &one, plan->is_series);
}

/* ---- what is not the kernel's ---- */

static void read_again(const char *text, struct plan_of_faults *plan)
{
	char problem[256];

	if (!fault_plan_read(text, plan, problem, sizeof(problem)))
		plan->count = 0;
}

uint32_t plan_write_settings(const char *text, FILE *out)
{
	struct plan_of_faults plan;
	uint32_t written = 0;

	read_again(text, &plan);
	for (uint32_t i = 0; i < plan.count; i++) {
		struct fault_setting settings[FAULT_SETTINGS_MAX];
		uint32_t count = fault_settings(&plan.faults[i], settings);

		for (uint32_t j = 0; j < count; j++, written++) {
			fprintf(out, ", \"%s\": ", settings[j].name);
			if (settings[j].word)
				fprintf(out, "\"%s\"", settings[j].word);
			else
				fprintf(out, "%u", settings[j].number);
		}
	}
	return written;
}

bool plan_is_excuse(const char *text)
{
	struct plan_of_faults plan;
	bool is_excuse = false;

	read_again(text, &plan);
	for (uint32_t i = 0; i < plan.count; i++) {
		switch ((int)plan.faults[i].kind) {
		case FAULT_RESTART:
		case FAULT_REPATCH_ALWAYS:
		case FAULT_NO_PREPATCH:
		case FAULT_PREEMPT_ALWAYS:
		case FAULT_SPLIT_ALWAYS:
			break;
		default:
			is_excuse = true;
			break;
		}
	}
	return is_excuse;
}

uint64_t plan_death(const char *text)
{
	struct plan_of_faults plan;

	read_again(text, &plan);
	for (uint32_t i = 0; i < plan.count; i++) {
		if (plan.faults[i].kind == FAULT_CLIENT_DIES_AT)
			return plan.faults[i].number;
	}
	return 0;
}

/* The last client before `end` that is a process of its own, as "c3". */
static bool find_client(const char *script, const char *end, char *name, size_t name_bytes)
{
	bool is_found = false;

	for (const char *line = script; line < end; line += strcspn(line, "\n") + 1) {
		size_t length = strcspn(line, "\n");
		char *copy = needed_text("%.*s", (int)length, line);

		if (strncmp(copy, "client ", 7) == 0 && strstr(copy, " apart")) {
			snprintf(name, name_bytes, "%.*s", (int)strcspn(copy + 7, " "), copy + 7);
			is_found = true;
		}
		free(copy);
	}
	return is_found;
}

char *plan_kill_client(const char *script, uint64_t statement)
{
	const char *at = script;
	char name[64];

	while (*at) {
		bool is_statement = *at != '#' && *at != '\n';
		size_t length = strcspn(at, "\n");

		at += length + (at[length] == '\n');
		if (is_statement && --statement == 0)
			return find_client(script, at, name, sizeof(name))
				       ? needed_text("%.*skill %s\n%s", (int)(at - script), script,
						     name, at)
				       : NULL;
	}
	return NULL;
}
