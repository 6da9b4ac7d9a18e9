/* SPDX-License-Identifier: MIT */
/*
 * page.c - packs the tables for page/data.js, which describes the form, into the page.
 *
 *	template up to @DATA@ | base64(gzip(head, JSON, columns)) | the rest of the template
 */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "cli/view/page.h"
#include "view_page.inc" /* view_page_before[], view_page_after[] */

enum { PAGE_VERSION = 1, HEAD_BYTES = 16, GZIP_WINDOW = 15 + 16 };

/* ---- bytes that grow ---- */

struct bytes {
	uint8_t *at;
	size_t size;
	size_t room;
	bool has_no_memory;
};

static uint8_t *more(struct bytes *bytes, size_t count)
{
	if (bytes->size + count > bytes->room) {
		size_t room = 2 * (bytes->size + count);
		uint8_t *larger = mem_realloc(bytes->at, room);

		if (!larger) {
			bytes->has_no_memory = true;
			return NULL;
		}
		bytes->at = larger;
		bytes->room = room;
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

static void put_text(struct bytes *bytes, const char *text)
{
	put(bytes, text, strlen(text));
}

static void put_number(struct bytes *bytes, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	put_text(bytes, text);
}

static void put_json(struct bytes *bytes, const char *text)
{
	put_text(bytes, "\"");
	for (; *text; text++) {
		char escaped[8];

		if (*text == '"' || *text == '\\')
			snprintf(escaped, sizeof(escaped), "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			snprintf(escaped, sizeof(escaped), "\\u%04x", *text);
		else
			snprintf(escaped, sizeof(escaped), "%c", *text);
		put_text(bytes, escaped);
	}
	put_text(bytes, "\"");
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
static void put_tables(const struct view_model *model, struct bytes *json, struct bytes *columns)
{
	put_text(json, "\"tables\":{");
	for (unsigned table = 0; table < VIEW_TABLE_COUNT; table++) {
		const char *separator = "";

		put_text(json, table ? "," : "");
		put_json(json, view_table_names[table]);
		put_text(json, ":{\"rows\":");
		put_number(json, model->rows[table]);
		put_text(json, ",\"columns\":{");
		for (unsigned i = 0; i < VIEW_COLUMN_COUNT; i++) {
			if (view_columns[i].table != table)
				continue;
			put_text(json, separator);
			put_json(json, view_columns[i].name);
			put_text(json, ":");
			put_number(json, (int64_t)columns->size);
			put_column(columns, model->columns[i], model->rows[table]);
			separator = ",";
		}
		put_text(json, "}}");
	}
	put_text(json, "}");
}

static void put_header(const struct view_model *model, const char *title, struct bytes *json,
		       struct bytes *columns)
{
	put_text(json, "{\"title\":");
	put_json(json, title);
	put_text(json, ",\"program\":");
	put_json(json, model->program);
	put_text(json, ",\"length_ns\":");
	put_number(json, model->length_ns);
	put_text(json, ",\"events\":");
	put_number(json, (int64_t)model->events);
	put_text(json, model->is_complete ? ",\"is_cut\":false" : ",\"is_cut\":true");
	put_text(json, ",\"texts\":[");
	for (uint32_t i = 0; i < model->text_count; i++) {
		put_text(json, i ? "," : "");
		put_json(json, model->texts[i]);
	}
	put_text(json, "],");
	put_tables(model, json, columns);
	put_text(json, "}");
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
		const uint8_t *from = parts[i].at;
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

bool view_page_write(const struct view_model *model, const char *title, FILE *out)
{
	enum { HEAD, JSON, COLUMNS, PARTS };
	struct bytes parts[PARTS] = { 0 };
	struct bytes packed = { 0 };
	bool is_packed;

	put_header(model, title, &parts[JSON], &parts[COLUMNS]);

	uint32_t numbers[2] = { PAGE_VERSION, (uint32_t)parts[JSON].size };

	put(&parts[HEAD], "DXGKVIEW", 8);
	put(&parts[HEAD], numbers, sizeof(numbers));
	is_packed = !parts[HEAD].has_no_memory && !parts[JSON].has_no_memory &&
		    !parts[COLUMNS].has_no_memory && pack(&packed, parts, PARTS);
	if (is_packed) {
		fwrite(view_page_before, 1, sizeof(view_page_before), out);
		write_base64(&packed, out);
		fwrite(view_page_after, 1, sizeof(view_page_after), out);
	}
	for (unsigned i = 0; i < PARTS; i++)
		mem_free(parts[i].at);
	mem_free(packed.at);
	return is_packed;
}
