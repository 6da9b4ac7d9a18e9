/* SPDX-License-Identifier: MIT */
/*
 * cmd_why.c - dxgk why: the life of an allocation, in sentences.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/view/names.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, PROBLEM_BYTES = 512 };

/* Times end in one column: µ is one character, of two bytes. */
static void tell(int64_t time, const char *sentence)
{
	view_name name;
	int bytes = strstr(view_time_name(time, name), "µ") ? 13 : 12;

	printf("%*s  %s\n", bytes, name, sentence);
}

/* "It leaves segment 1.1 local; reason: room-for allocation 0x40000180 of stream 12; …" */
static void tell_state(const struct view_model *model, uint32_t row)
{
	int64_t winner = VIEW_AT(model, states, for, row) - 1;
	int64_t by = VIEW_AT(model, states, for_process, row);
	const char *rank = view_text(model, VIEW_AT(model, states, rank, row));
	const char *reason = view_text(model, VIEW_AT(model, states, reason, row));
	char sentence[4 * VIEW_NAME_BYTES];
	view_name segment, other, process;
	int length = 0;

	view_segment_name(model, VIEW_AT(model, states, segment, row), segment);
	switch ((enum view_state)VIEW_AT(model, states, state, row)) {
	case VIEW_ENTERING:
		snprintf(sentence, sizeof(sentence), "It is brought into %s.", segment);
		break;
	case VIEW_IN:
		snprintf(sentence, sizeof(sentence), "It is in %s.", segment);
		break;
	case VIEW_SHIFTING:
		snprintf(sentence, sizeof(sentence), "It is moved within %s.", segment);
		break;
	case VIEW_OUT:
		snprintf(sentence, sizeof(sentence),
			 "It is out: its content is in system memory, or there is none.");
		break;
	case VIEW_LEAVING:
		length = snprintf(sentence, sizeof(sentence), "It leaves %s", segment);
		if (*reason)
			length += snprintf(sentence + length, sizeof(sentence) - (size_t)length,
					   "; reason: %s", reason);
		if (winner >= 0)
			length += snprintf(sentence + length, sizeof(sentence) - (size_t)length,
					   " %s", view_allocation_name(model, winner, other));
		if (by > 0)
			length += snprintf(sentence + length, sizeof(sentence) - (size_t)length,
					   " of %s", view_process_name(model, by, process));
		if (*rank)
			length += snprintf(sentence + length, sizeof(sentence) - (size_t)length,
					   "; to the policy it was %s", rank);
		snprintf(sentence + length, sizeof(sentence) - (size_t)length, ".");
		break;
	}
	tell(VIEW_AT(model, states, time, row), sentence);
}

static void tell_offer(const struct view_model *model, uint32_t row)
{
	static const char *const sentences[] = {
		[VIEW_OFFER_NONE] = "It is no longer offered.",
		[VIEW_OFFERED] = "Its owner offers it: its content may go.",
		[VIEW_DISCARDED] = "Its content is thrown away, as the offer allows.",
		[VIEW_DECOMMITTED] = "Its memory is given back."
	};

	tell(VIEW_AT(model, offers, time, row), sentences[VIEW_AT(model, offers, state, row)]);
}

static void tell_lock(const struct view_model *model, uint32_t row)
{
	tell(VIEW_AT(model, locks, time, row), VIEW_AT(model, locks, count, row)
						       ? "The CPU has it locked."
						       : "The CPU has it locked no more.");
}

/* "crowd 4812 opens it, as 0x40000100 of device 0x40000040, and has it until 31.2 ms." */
static void tell_opening(const struct view_model *model, uint32_t row)
{
	int64_t end = VIEW_AT(model, openings, end, row);
	char sentence[3 * VIEW_NAME_BYTES];
	view_name process, until;

	snprintf(sentence, sizeof(sentence),
		 "%s opens it, as 0x%" PRIx64 " of device 0x%" PRIx64 ", and has it until %s.",
		 view_process_name(model, VIEW_AT(model, openings, process, row), process),
		 VIEW_AT(model, openings, handle, row), VIEW_AT(model, openings, device, row),
		 end < 0 ? "the trace ends" : view_time_name(end, until));
	tell(VIEW_AT(model, openings, begin, row), sentence);
}

/* A row of the table, and how its sentences are told; each table is in order of time. */
struct source {
	enum view_column allocation, time;
	void (*tell)(const struct view_model *model, uint32_t row);
	uint32_t next;
};

static bool find_next(const struct view_model *model, struct source *source, int64_t allocation)
{
	uint32_t rows = model->rows[view_columns[source->allocation].table];

	while (source->next < rows &&
	       model->columns[source->allocation][source->next] != allocation)
		source->next++;
	return source->next < rows;
}

static void tell_life(const struct view_model *model, int64_t allocation)
{
	struct source sources[] = { { VIEW_states_allocation, VIEW_states_time, tell_state, 0 },
				    { VIEW_offers_allocation, VIEW_offers_time, tell_offer, 0 },
				    { VIEW_locks_allocation, VIEW_locks_time, tell_lock, 0 },
				    { VIEW_openings_allocation, VIEW_openings_begin, tell_opening,
				      0 } };
	int64_t died = VIEW_AT(model, allocations, died, allocation);

	tell(VIEW_AT(model, allocations, born, allocation), "It is created.");
	for (;;) {
		struct source *first = NULL;

		for (unsigned i = 0; i < ARRAY_SIZE(sources); i++) {
			if (find_next(model, &sources[i], allocation) &&
			    (!first || model->columns[sources[i].time][sources[i].next] <
					       model->columns[first->time][first->next]))
				first = &sources[i];
		}
		if (!first)
			break;
		first->tell(model, first->next++);
	}
	if (died >= 0)
		tell(died, "It is destroyed, and its memory is released.");
	else
		tell(model->length_ns, "It is still alive when the trace ends.");
}

static void introduce(const struct view_model *model, int64_t allocation)
{
	int64_t device = VIEW_AT(model, allocations, device, allocation);
	int64_t resource = VIEW_AT(model, allocations, resource, allocation);
	view_name name, process, bytes;

	printf("%s of %s, %s", view_allocation_name(model, allocation, name),
	       view_process_name(model, VIEW_AT(model, allocations, process, allocation), process),
	       view_bytes_name(VIEW_AT(model, allocations, size, allocation), bytes));
	if (device)
		printf(", device 0x%" PRIx64, device);
	if (resource)
		printf(", resource 0x%" PRIx64, resource);
	printf("\n");
}

/* Somebody has it open under that handle. */
static bool is_opened_as(const struct view_model *model, int64_t allocation, int64_t handle)
{
	for (uint32_t row = 0; row < VIEW_ROWS(model, openings); row++) {
		if (VIEW_AT(model, openings, allocation, row) == allocation &&
		    VIEW_AT(model, openings, handle, row) == handle)
			return true;
	}
	return false;
}

/* An allocation's id, a handle of it, or the handle of the resource it belongs to. */
static bool is_meant(const struct view_model *model, int64_t row, int64_t number)
{
	return VIEW_AT(model, allocations, id, row) == number ||
	       VIEW_AT(model, allocations, resource, row) == number ||
	       is_opened_as(model, row, number);
}

static int tell_all(const struct view_model *model, const char *trace, const char *what)
{
	uint64_t number;
	bool is_found = false;

	if (!text_is_number(what, 1, INT64_MAX, &number)) {
		fprintf(stderr, "dxgk why: \"%s\" is no id and no handle\n", what);
		return EXIT_USAGE;
	}
	for (uint32_t row = 0; row < VIEW_ROWS(model, allocations); row++) {
		if (!is_meant(model, row, (int64_t)number))
			continue;
		if (is_found)
			printf("\n");
		is_found = true;
		introduce(model, row);
		tell_life(model, row);
	}
	if (!is_found)
		fprintf(stderr, "dxgk why: %s has no allocation with the id or handle %s\n", trace,
			what);
	return is_found ? 0 : EXIT_FAILED;
}

static void print_usage(FILE *out)
{
	fputs("Usage: dxgk why ID|HANDLE TRACE\n"
	      "Tells the life of an allocation, or of all allocations of a resource, in "
	      "sentences.\n",
	      out);
}

int cmd_why(int argc, char **argv)
{
	static const struct command_option none[] = { { 0 } };
	const struct command_options of = { "why", print_usage, none };
	int status = options_take(argc, argv, &of);
	char problem[PROBLEM_BYTES];
	struct view_model model;

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 2 != argc) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	const char *what = argv[optind], *trace = argv[optind + 1];
	if (!view_model_read(trace, &model, problem, sizeof(problem))) {
		fprintf(stderr, "dxgk why: %s\n", problem);
		return EXIT_FAILED;
	}
	if (problem[0])
		fprintf(stderr, "dxgk why: %s\n", problem);

	int exit_status = tell_all(&model, trace, what);

	view_model_finish(&model);
	return exit_status;
}
