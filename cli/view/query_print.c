/* SPDX-License-Identifier: MIT */
/*
 * query_print.c - an answer as a table for people, or as JSON.
 */
#include <string.h>

#include "cli/verify/escape.h"
#include "cli/view/query.h"

/* Letters, not bytes: texts are UTF-8. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xC0) != 0x80;
	return width;
}

static void print_cell(const char *text, int width, bool is_last, FILE *out)
{
	fputs(text, out);
	if (!is_last)
		fprintf(out, "%*s", width - width_of(text) + 2, "");
}

void view_answer_print(const struct view_answer *answer, FILE *out)
{
	int widths[VIEW_QUERY_COLUMNS_MAX];

	if (answer->column_count == 0)
		return;
	for (unsigned i = 0; i < answer->column_count; i++)
		widths[i] = width_of(answer->columns[i]);
	for (size_t i = 0; i < answer->cell_count; i++) {
		int width = width_of(answer->cells[i]);

		if (width > widths[i % answer->column_count])
			widths[i % answer->column_count] = width;
	}
	for (unsigned i = 0; i < answer->column_count; i++)
		print_cell(answer->columns[i], widths[i], i + 1 == answer->column_count, out);
	fputc('\n', out);
	for (size_t i = 0; i < answer->cell_count; i++) {
		unsigned column = (unsigned)(i % answer->column_count);
		bool is_last = column + 1 == answer->column_count;

		print_cell(answer->cells[i], widths[column], is_last, out);
		if (is_last)
			fputc('\n', out);
	}
}

void view_answer_print_json(const struct view_query *query, const struct view_answer *answer,
			    FILE *out)
{
	if (answer->column_count == 0)
		return;
	fprintf(out, "{\n  \"query\": \"%s\",\n  \"columns\": [", query->name);
	for (unsigned i = 0; i < answer->column_count; i++) {
		fputs(i ? ", " : "", out);
		json_put(out, answer->columns[i]);
	}
	fprintf(out, "],\n  \"rows\": [");
	for (size_t i = 0; i < answer->cell_count; i++) {
		unsigned column = (unsigned)(i % answer->column_count);

		fputs(column ? ", " : i ? ",\n    [" : "\n    [", out);
		json_put(out, answer->cells[i]);
		fputs(column + 1 == answer->column_count ? "]" : "", out);
	}
	fprintf(out, "\n  ]\n}\n");
}
