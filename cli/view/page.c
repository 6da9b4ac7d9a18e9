/* SPDX-License-Identifier: MIT */
/*
 * page.c - packs the tables for page/data.js, which describes the form, into the page.
 *
 *	template up to @DATA@ | base64(gzip(head, JSON, columns)) | the rest of the template
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "cli/verify/escape.h"
#include "cli/view/page.h"
#include "view_page.inc" /* view_page_before[], view_page_after[] */

enum { PAGE_VERSION = 1, HEAD_BYTES = 16, GZIP_WINDOW = 15 + 16 };

/* ---- bytes that grow ---- */

struct bytes {
	uint8_t *at;
	size_t size;
	size_t capacity;
	bool has_no_memory;
};

static uint8_t *more(struct bytes *bytes, size_t count)
{
	if (bytes->size + count > bytes->capacity) {
		size_t capacity = 2 * (bytes->size + count);
		uint8_t *larger = mem_realloc(bytes->at, capacity);

		if (!larger) {
			bytes->has_no_memory = true;
			return NULL;
		}
		bytes->at = larger;
		bytes->capacity = capacity;
	}
	bytes->size += count;
	return bytes->at + bytes->size - count;
}

static void put(struct bytes *bytes, const void *from, size_t count)
{
	uint8_t *to = more(bytes, count);

	if (to)
		memcpy(to, from, count);
}

/* ---- columns ---- */

static void put_difference(struct bytes *bytes, int64_t difference)
{
	uint64_t rest = (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
	uint8_t group[10];
	unsigned count = 0;

	do {
		group[count++] = (uint8_t)(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0);
		rest >>= 7;
	} while (rest != 0);
	put(bytes, group, count);
}

static void put_column(struct bytes *bytes, const int64_t *column, uint32_t rows)
{
	int64_t before = 0;

	for (uint32_t i = 0; i < rows; i++) {
		put_difference(bytes, (int64_t)((uint64_t)column[i] - (uint64_t)before));
		before = column[i];
	}
}

/* Tells where each column begins while it writes them. */
static void put_tables(const struct view_model *model, FILE *json, struct bytes *columns)
{
	fputs("\"tables\":{", json);
	for (unsigned table = 0; table < VIEW_TABLE_COUNT; table++) {
		const char *separator = "";

		fputs(table ? "," : "", json);
		json_put(json, view_table_names[table]);
		fprintf(json, ":{\"rows\":%" PRIu32 ",\"columns\":{", model->rows[table]);
		for (unsigned i = 0; i < VIEW_COLUMN_COUNT; i++) {
			if (view_columns[i].table != table)
				continue;
			fputs(separator, json);
			json_put(json, view_columns[i].name);
			fprintf(json, ":%zu", columns->size);
			put_column(columns, model->columns[i], model->rows[table]);
			separator = ",";
		}
		fputs("}}", json);
	}
	fputs("}", json);
}

static void put_header(const struct view_model *model, const char *title, FILE *json,
		       struct bytes *columns)
{
	fputs("{\"title\":", json);
	json_put(json, title);
	fputs(",\"program\":", json);
	json_put(json, model->program);
	fprintf(json, ",\"length_ns\":%" PRId64 ",\"events\":%" PRIu64 ",\"is_cut\":%s",
		model->length_ns, model->events, model->is_complete ? "false" : "true");
	fputs(",\"texts\":[", json);
	for (uint32_t i = 0; i < model->text_count; i++) {
		fputs(i ? "," : "", json);
		json_put(json, model->texts[i]);
	}
	fputs("],", json);
	put_tables(model, json, columns);
	fputs("}", json);
}

/* ---- gzip, base64 ---- */

static bool pack(struct bytes *packed, const struct bytes *parts, unsigned count)
{
	z_stream stream = { 0 };
	uint8_t piece[16384];

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	for (unsigned i = 0; i < count; i++) {
		static const uint8_t nothing[1];
		const uint8_t *from = parts[i].at ? parts[i].at : nothing;
		size_t rest = parts[i].size;

		do {
			uInt size = rest > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)rest;

			stream.next_in = (Bytef *)from;
			stream.avail_in = size;
			from += size;
			rest -= size;
			do {
				stream.next_out = piece;
				stream.avail_out = sizeof(piece);
				deflate(&stream,
					i + 1 == count && rest == 0 ? Z_FINISH : Z_NO_FLUSH);
				put(packed, piece, sizeof(piece) - stream.avail_out);
			} while (stream.avail_out == 0);
		} while (rest > 0);
	}
	return deflateEnd(&stream) == Z_OK && !packed->has_no_memory;
}

static void write_base64(const struct bytes *bytes, FILE *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < bytes->size; i += 3) {
		size_t rest = bytes->size - i;
		uint32_t group = (uint32_t)bytes->at[i] << 16 |
				 (rest > 1 ? (uint32_t)bytes->at[i + 1] << 8 : 0) |
				 (rest > 2 ? bytes->at[i + 2] : 0);

		putc_unlocked(digits[group >> 18], out);
		putc_unlocked(digits[group >> 12 & 63], out);
		putc_unlocked(rest > 1 ? digits[group >> 6 & 63] : '=', out);
		putc_unlocked(rest > 2 ? digits[group & 63] : '=', out);
	}
}

/* False without memory. */
static bool write_page(const struct view_model *model, const char *title, FILE *out)
{
	enum { HEAD, JSON, COLUMNS, PARTS };
	struct bytes parts[PARTS] = { 0 };
	struct bytes packed = { 0 };
	char *text = NULL;
	size_t text_bytes = 0;
	FILE *json = open_memstream(&text, &text_bytes);
	bool is_packed = json != NULL;

	if (json) {
		put_header(model, title, json, &parts[COLUMNS]);
		is_packed = !ferror(json);
		is_packed = fclose(json) == 0 && is_packed;
	}
	if (is_packed) {
		uint32_t numbers[2] = { PAGE_VERSION, (uint32_t)text_bytes };

		put(&parts[HEAD], "DXGKVIEW", 8);
		put(&parts[HEAD], numbers, sizeof(numbers));
		parts[JSON] = (struct bytes){ .at = (uint8_t *)text, .size = text_bytes };
		is_packed = !parts[HEAD].has_no_memory && !parts[COLUMNS].has_no_memory &&
			    pack(&packed, parts, PARTS);
	}
	if (is_packed) {
		fwrite(view_page_before, 1, sizeof(view_page_before), out);
		write_base64(&packed, out);
		fwrite(view_page_after, 1, sizeof(view_page_after), out);
	}
	mem_free(parts[HEAD].at);
	mem_free(parts[COLUMNS].at);
	mem_free(packed.at);
	free(text);
	return is_packed;
}

bool view_page_write(const struct view_model *model, const char *title, const char *path,
		     char *problem, size_t problem_bytes)
{
	FILE *out = fopen(path, "we");

	if (!out) {
		snprintf(problem, problem_bytes, "%s: %s", path, strerror(errno));
		return false;
	}

	bool is_packed = write_page(model, title, out);
	bool is_written = !ferror(out);

	is_written = fclose(out) == 0 && is_written;
	if (!is_packed)
		snprintf(problem, problem_bytes, "no memory for a page of this trace");
	else if (!is_written)
		snprintf(problem, problem_bytes, "%s: %s", path, strerror(errno));
	return is_packed && is_written;
}

bool view_page_of_trace(const char *trace, const char *title, const char *path, const char *who)
{
	char problem[512];
	struct view_model model;

	if (!view_model_read(trace, &model, problem, sizeof(problem))) {
		fprintf(stderr, "dxgk %s: %s\n", who, problem);
		return false;
	}
	if (problem[0])
		fprintf(stderr, "dxgk %s: %s\n", who, problem);

	bool is_made = view_page_write(&model, title, path, problem, sizeof(problem));

	if (!is_made)
		fprintf(stderr, "dxgk %s: %s\n", who, problem);
	view_model_finish(&model);
	return is_made;
}

bool view_page_can_be(const char *path)
{
	bool is_there = access(path, F_OK) == 0;
	FILE *file = fopen(path, "ae");

	if (!file || fclose(file) != 0)
		return false;
	if (!is_there)
		unlink(path);
	return true;
}
