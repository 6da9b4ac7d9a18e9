/* SPDX-License-Identifier: MIT */
/*
 * query.h - questions about a trace, answered by a table. The page asks the same (page/questions.js).
 */
#ifndef CLI_VIEW_QUERY_H
#define CLI_VIEW_QUERY_H

#include <stdio.h>

#include "cli/view/model.h"

enum { VIEW_QUERY_COLUMNS_MAX = 8 };

/* Of what is asked; -1 is everything, or the default. */
struct view_about {
	int64_t allocation;   /* row */
	int64_t packet;       /* row */
	int64_t milliseconds; /* thrash: out and back within */
};

/* Cells are texts, row by row. */
struct view_answer {
	const char *columns[VIEW_QUERY_COLUMNS_MAX];
	unsigned column_count;
	char **cells;
	size_t cell_count;
	size_t cell_capacity;
	bool has_no_memory;
};

struct view_query {
	const char *name;
	const char *title;
	void (*answer)(const struct view_model *model, const struct view_about *about,
		       struct view_answer *answer);
};

/* All of them; the last has no name. */
extern const struct view_query view_queries[];
/* NULL when there is none. */
const struct view_query *view_query_find(const char *name);

/* False without memory. view_answer_finish() in both cases. */
MUST_CHECK bool view_query_ask(const struct view_query *query, const struct view_model *model,
			       const struct view_about *about, struct view_answer *answer);
void view_answer_finish(struct view_answer *answer);

void view_answer_print(const struct view_answer *answer, FILE *out);
void view_answer_print_json(const struct view_query *query, const struct view_answer *answer,
			    FILE *out);

#endif
