/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "cli/view/model.h"

enum { FIRST_CAPACITY = 256 };

const char *const view_table_names[VIEW_TABLE_COUNT] = {
#define TABLE(name) [VIEW_##name] = #name,
#define COLUMN(table, name)
#include "cli/view/tables.def"
#undef TABLE
#undef COLUMN
};

const struct view_column_info view_columns[VIEW_COLUMN_COUNT] = {
#define TABLE(name)
#define COLUMN(table, name) [VIEW_##table##_##name] = { VIEW_##table, #name },
#include "cli/view/tables.def"
#undef TABLE
#undef COLUMN
};

static bool grow_table(struct view_model *model, enum view_table table)
{
	uint32_t capacity = model->capacity[table] ? 2 * model->capacity[table] : FIRST_CAPACITY;

	if (capacity < model->capacity[table])
		return false;
	for (unsigned i = 0; i < VIEW_COLUMN_COUNT; i++) {
		if (view_columns[i].table != table)
			continue;

		int64_t *larger = mem_realloc(model->columns[i], capacity * sizeof(*larger));

		if (!larger)
			return false;
		model->columns[i] = larger;
	}
	model->capacity[table] = capacity;
	return true;
}

uint32_t view_add_row(struct view_model *model, enum view_table table)
{
	uint32_t row = model->rows[table];

	if (row == model->capacity[table] && !grow_table(model, table))
		return UINT32_MAX;
	for (unsigned i = 0; i < VIEW_COLUMN_COUNT; i++) {
		if (view_columns[i].table == table)
			model->columns[i][row] = 0;
	}
	model->rows[table]++;
	return row;
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
	return hash;
}

static bool has_slot_for_text(struct view_model *model)
{
	char **texts = mem_grow_array(model->texts, model->text_count, &model->text_capacity,
				      sizeof(*texts));

	if (texts)
		model->texts = texts;
	return texts != NULL;
}

/* Takes the text over; NULL is none. */
static int64_t keep_text(struct view_model *model, char *text, struct view_key key)
{
	if (!text || !has_slot_for_text(model) ||
	    !view_map_put(&model->text_rows, key, model->text_count)) {
		mem_free(text);
		return -1;
	}
	model->texts[model->text_count] = text;
	return model->text_count++;
}

int64_t view_add_text(struct view_model *model, const char *text)
{
	struct view_key key = { hash_of(text), strlen(text), 0 };

	if (model->text_count == 0 &&
	    keep_text(model, mem_strdup(""), (struct view_key){ hash_of(""), 0, 0 }) < 0)
		return -1;
	for (;; key.c++) {
		const uint32_t *row = view_map_find(&model->text_rows, key);

		if (!row)
			return keep_text(model, mem_strdup(text), key);
		if (strcmp(model->texts[*row], text) == 0)
			return *row;
	}
}

void view_model_finish(struct view_model *model)
{
	for (unsigned i = 0; i < VIEW_COLUMN_COUNT; i++)
		mem_free(model->columns[i]);
	for (uint32_t i = 0; i < model->text_count; i++)
		mem_free(model->texts[i]);
	mem_free(model->texts);
	view_map_finish(&model->text_rows);
	mem_free(model->program);
	*model = (struct view_model){ 0 };
}
