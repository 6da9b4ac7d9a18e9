/* SPDX-License-Identifier: MIT */
/*
 * model.h - a trace, read once, as tables (tables.def): what the page shows and what questions are asked of.
 */
#ifndef CLI_VIEW_MODEL_H
#define CLI_VIEW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "cli/view/map.h"

enum view_table {
#define TABLE(name) VIEW_##name,
#define COLUMN(table, name)
#include "cli/view/tables.def"
#undef TABLE
#undef COLUMN
	VIEW_TABLE_COUNT
};

enum view_column {
#define TABLE(name)
#define COLUMN(table, name) VIEW_##table##_##name,
#include "cli/view/tables.def"
#undef TABLE
#undef COLUMN
	VIEW_COLUMN_COUNT
};

/* By enum view_table, and by enum view_column. */
extern const char *const view_table_names[VIEW_TABLE_COUNT];
extern const struct view_column_info {
	enum view_table table;
	const char *name;
} view_columns[VIEW_COLUMN_COUNT];

enum view_call { VIEW_CALL_API, VIEW_CALL_DDI, VIEW_CALL_CALLBACK };
enum view_state { VIEW_OUT, VIEW_ENTERING, VIEW_IN, VIEW_LEAVING, VIEW_SHIFTING };
enum view_offer { VIEW_OFFER_NONE, VIEW_OFFERED, VIEW_DISCARDED, VIEW_DECOMMITTED };
enum view_series { VIEW_BUDGET, VIEW_USAGE };

struct view_model {
	uint32_t rows[VIEW_TABLE_COUNT];
	uint32_t capacity[VIEW_TABLE_COUNT];
	int64_t *columns[VIEW_COLUMN_COUNT];

	char **texts; /* 0 is "" */
	uint32_t text_count;
	size_t text_capacity;
	struct view_map text_rows; /* by hash; the next of the same hash is behind it */

	char *program;
	int64_t length_ns;
	uint64_t events;
	bool is_complete; /* whoever wrote it came to the end */
};

/* The value in a column; may be assigned to. */
#define VIEW_AT(model, table, column, row) ((model)->columns[VIEW_##table##_##column][row])
#define VIEW_ROWS(model, table)            ((model)->rows[VIEW_##table])

/*
 * Reads what can be read of the file. False, with a sentence, when that is nothing. A sentence comes, too, when it was
 * damaged or cut, else "".
 */
MUST_CHECK bool view_model_read(const char *path, struct view_model *model, char *problem,
				size_t problem_bytes);
/* Accepts a zeroed struct. */
void view_model_finish(struct view_model *model);

static inline const char *view_text(const struct view_model *model, int64_t text)
{
	return text > 0 && text < model->text_count ? model->texts[text] : "";
}

/* For who fills it. A new row of zeroes, or UINT32_MAX without memory. */
uint32_t view_add_row(struct view_model *model, enum view_table table);
/* The number of a text; -1 without memory. */
int64_t view_add_text(struct view_model *model, const char *text);

/* What was not over at the end: the end of the trace. */
static inline int64_t view_until(const struct view_model *model, int64_t end)
{
	return end < 0 ? model->length_ns : end;
}

#endif
