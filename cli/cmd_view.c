/* SPDX-License-Identifier: MIT */
/*
 * cmd_view.c - dxgk view: a trace as a page, or as the answer to a question.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/view/page.h"
#include "cli/view/query.h"
#include "trace/trace_file.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, PROBLEM_BYTES = 512 };

static const char default_path[] = "view.html";

struct options {
	const char *trace;
	const char *page;
	const struct view_query *query;
	const char *allocation; /* its id, as text */
	const char *packet;     /* its ticket */
	const char *within;
	bool is_json;
};

static void print_usage(FILE *out)
{
	fprintf(out,
		"Usage: dxgk view TRACE [-o FILE]\n"
		"       dxgk view TRACE --query NAME [--json] [--allocation ID] [--packet TICKET] "
		"[--within MS]\n"
		"Writes a page that shows the trace (%s): one file, which every browser opens.\n"
		"Or answers a question as a table:\n",
		default_path);
	for (const struct view_query *query = view_queries; query->name; query++)
		fprintf(out, "  %-16s %s\n", query->name, query->title);
}

static const char *read_query(const char *text, void *into)
{
	const struct view_query **query = into;

	*query = view_query_find(text);
	return *query ? NULL : "a query; --help lists them";
}

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	const struct command_option known[] = {
		{ "output", 'o', .text = &options->page },
		{ "query", .read = read_query, .into = &options->query },
		{ "allocation", .text = &options->allocation },
		{ "packet", .text = &options->packet },
		{ "within", .text = &options->within },
		{ "json", .flag = &options->is_json },
		{ 0 },
	};
	const struct command_options of = { "view", print_usage, known };

	*options = (struct options){ 0 };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 1 != argc) {
		fprintf(stderr, "dxgk view: one TRACE; dxgk view --help tells more\n");
		return EXIT_USAGE;
	}
	options->trace = argv[optind];
	if (!options->query &&
	    (options->is_json || options->allocation || options->packet || options->within)) {
		fprintf(stderr,
			"dxgk view: --json, --allocation, --packet and --within go with --query\n");
		return EXIT_USAGE;
	}
	if (options->query && options->page) {
		fprintf(stderr, "dxgk view: either -o or --query\n");
		return EXIT_USAGE;
	}
	return OPTIONS_GO_ON;
}

static bool parse_number(const char *text, int64_t *number_out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number_out = strtoll(text, &end, 0);
	return errno == 0 && *end == '\0';
}

/* The last row of `column` with the number that `text` is; false after a complaint. */
static bool find_row(const struct view_model *model, const char *trace, enum view_column column,
		     const char *option, const char *text, int64_t *row_out)
{
	uint32_t rows = model->rows[view_columns[column].table];
	int64_t number;

	*row_out = -1;
	if (!text)
		return true;
	if (!parse_number(text, &number)) {
		fprintf(stderr, "dxgk view: %s: \"%s\" is not a number\n", option, text);
		return false;
	}
	for (uint32_t row = 0; row < rows; row++) {
		if (model->columns[column][row] == number)
			*row_out = row;
	}
	if (*row_out < 0)
		fprintf(stderr, "dxgk view: %s: %s has none with the number %s\n", option, trace,
			text);
	return *row_out >= 0;
}

static int ask(const struct options *options, const struct view_model *model)
{
	struct view_about about = { .milliseconds = -1 };
	struct view_answer answer;

	if (!find_row(model, options->trace, VIEW_allocations_id, "--allocation",
		      options->allocation, &about.allocation) ||
	    !find_row(model, options->trace, VIEW_packets_ticket, "--packet", options->packet,
		      &about.packet))
		return EXIT_USAGE;
	if (options->within && !parse_number(options->within, &about.milliseconds)) {
		fprintf(stderr, "dxgk view: --within: \"%s\" is not a number of milliseconds\n",
			options->within);
		return EXIT_USAGE;
	}

	bool is_answered = view_query_ask(options->query, model, &about, &answer);

	if (!is_answered)
		fprintf(stderr, "dxgk view: no memory\n");
	else if (options->is_json)
		view_answer_print_json(options->query, &answer, stdout);
	else
		view_answer_print(&answer, stdout);
	view_answer_finish(&answer);
	return is_answered ? 0 : EXIT_FAILED;
}

int cmd_view(int argc, char **argv)
{
	char problem[PROBLEM_BYTES];
	struct view_model model;
	struct options options;
	int exit_status = parse(argc, argv, &options);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	if (!options.query &&
	    trace_file_is_same(options.trace, options.page ? options.page : default_path)) {
		fprintf(stderr, "dxgk view: %s is the trace itself\n",
			options.page ? options.page : default_path);
		return EXIT_USAGE;
	}
	if (!view_model_read(options.trace, &model, problem, sizeof(problem))) {
		fprintf(stderr, "dxgk view: %s\n", problem);
		return EXIT_FAILED;
	}
	if (problem[0])
		fprintf(stderr, "dxgk view: %s\n", problem);
	if (options.query) {
		exit_status = ask(&options, &model);
	} else if (view_page_write(&model, options.trace,
				   options.page ? options.page : default_path, problem,
				   sizeof(problem))) {
		exit_status = 0;
	} else {
		fprintf(stderr, "dxgk view: %s\n", problem);
		exit_status = EXIT_FAILED;
	}
	view_model_finish(&model);
	return exit_status;
}
