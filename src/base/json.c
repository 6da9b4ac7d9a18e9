/* SPDX-License-Identifier: MIT */
/*
 * json.c - see json.h. RFC 8259, one pass, nesting bounded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "base/json.h"

enum { MAX_DEPTH = 32, MAX_FILE_BYTES = 1 << 20 };

struct reader {
	struct json_document *document;
	const char *text;
	const char *end;
	const char *at;
	unsigned line;
	const char *line_start;
	unsigned depth;
};

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",       [JSON_BOOL] = "true or false",
		[JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",  [JSON_OBJECT] = "an object",
	};

	return names[type];
}

static NTSTATUS complain_at(struct reader *reader, const char *expected)
{
	char found[32];
	unsigned char next = reader->at < reader->end ? (unsigned char)*reader->at : 0;

	if (reader->at == reader->end)
		snprintf(found, sizeof(found), "the end of the file");
	else if (next >= 0x20 && next < 0x7f)
		snprintf(found, sizeof(found), "'%c'", next);
	else
		snprintf(found, sizeof(found), "byte 0x%02x", next);
	snprintf(reader->document->problem, sizeof(reader->document->problem),
		 "%s:%u:%u: expected %s, found %s", reader->document->path, reader->line,
		 (unsigned)(reader->at - reader->line_start) + 1, expected, found);
	return STATUS_OBJECT_PATH_SYNTAX_BAD;
}

static NTSTATUS complain_memory(struct json_document *document)
{
	snprintf(document->problem, sizeof(document->problem), "%s: no memory to read it",
		 document->path);
	return STATUS_NO_MEMORY;
}

NTSTATUS json_complain(struct json_document *document, const struct json *where, const char *format,
		       ...)
{
	char what[160];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	snprintf(document->problem, sizeof(document->problem), "%s:%u:%u: %s", document->path,
		 where->line, where->column, what);
	return STATUS_OBJECT_PATH_SYNTAX_BAD;
}

static void skip_space(struct reader *reader)
{
	while (reader->at < reader->end) {
		char c = *reader->at;
		if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
			break;
		reader->at++;
		if (c == '\n') {
			reader->line++;
			reader->line_start = reader->at;
		}
	}
}

static bool take(struct reader *reader, char wanted)
{
	if (reader->at == reader->end || *reader->at != wanted)
		return false;
	reader->at++;
	return true;
}

static bool take_word(struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
		return false;
	reader->at += length;
	return true;
}

static bool take_digits(struct reader *reader)
{
	const char *start = reader->at;

	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
		reader->at++;
	return reader->at > start;
}

static bool take_hex4(struct reader *reader, uint32_t *unit_out)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++) {
		if (reader->at == reader->end)
			return false;
		char c = *reader->at;
		uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;
		if (digit == 16)
			return false;
		unit = unit << 4 | digit;
		reader->at++;
	}
	*unit_out = unit;
	return true;
}

/* After a backslash. */
static NTSTATUS read_escape(struct reader *reader, char **out)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	uint32_t unit;
	uint32_t low;

	if (reader->at < reader->end && *reader->at != '\0') {
		const char *letter = strchr(letters, *reader->at);
		if (letter) {
			*(*out)++ = meanings[letter - letters];
			reader->at++;
			return STATUS_SUCCESS;
		}
	}
	if (!take(reader, 'u'))
		return complain_at(reader, "one of \" \\ / b f n r t u after a backslash");
	if (!take_hex4(reader, &unit))
		return complain_at(reader, "four hexadecimal digits");
	if (unit >= 0xd800 && unit < 0xdc00) {
		if (!take_word(reader, "\\u") || !take_hex4(reader, &low) || low < 0xdc00 ||
		    low > 0xdfff)
			return complain_at(reader, "the second half of a surrogate pair");
		unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	} else if (unit >= 0xdc00 && unit <= 0xdfff) {
		return complain_at(reader, "the first half of a surrogate pair before this");
	} else if (unit == 0) {
		return complain_at(reader, "a character other than \\u0000");
	}
	*out += utf8_encode(unit, *out);
	return STATUS_SUCCESS;
}

static NTSTATUS read_string(struct reader *reader, char **string_out)
{
	if (!take(reader, '"'))
		return complain_at(reader, "a string");
	/* No character grows when its escape is resolved. */
	const char *close = reader->at;
	while (close < reader->end && *close != '"')
		close += *close == '\\' && close + 1 < reader->end ? 2 : 1;
	char *string = mem_alloc((size_t)(close - reader->at) + 1);
	if (!string)
		return complain_memory(reader->document);

	char *out = string;
	NTSTATUS status = STATUS_SUCCESS;
	while (NT_SUCCESS(status) && !take(reader, '"')) {
		if (reader->at == reader->end || (unsigned char)*reader->at < 0x20)
			status = complain_at(reader, "the end of the string (\")");
		else if (take(reader, '\\'))
			status = read_escape(reader, &out);
		else
			*out++ = *reader->at++;
	}
	*out = '\0';
	if (!NT_SUCCESS(status)) {
		mem_free(string);
		return status;
	}
	*string_out = string;
	return STATUS_SUCCESS;
}

static NTSTATUS read_number(struct reader *reader, struct json *value)
{
	const char *start = reader->at;

	take(reader, '-');
	if (!take(reader, '0') && !take_digits(reader))
		return complain_at(reader, "a digit");
	if (take(reader, '.') && !take_digits(reader))
		return complain_at(reader, "a digit after the point");
	if (take(reader, 'e') || take(reader, 'E')) {
		if (!take(reader, '+'))
			take(reader, '-');
		if (!take_digits(reader))
			return complain_at(reader, "a digit of the exponent");
	}
	/* A copy, because strtod() reads up to a zero; of all of it, however many digits. */
	size_t length = (size_t)(reader->at - start);
	char *copy = mem_zalloc(length + 1);
	if (!copy)
		return complain_memory(reader->document);
	memcpy(copy, start, length);
	value->type = JSON_NUMBER;
	value->number = strtod(copy, NULL);
	mem_free(copy);
	return STATUS_SUCCESS;
}

static NTSTATUS read_value(struct reader *reader, struct json **value_out);

/* What is between the brackets of an array or an object. */
static NTSTATUS read_inside(struct reader *reader, struct json *value, char close)
{
	struct json **tail = &value->first;

	skip_space(reader);
	if (take(reader, close))
		return STATUS_SUCCESS;
	for (;;) {
		char *name = NULL;
		NTSTATUS status = STATUS_SUCCESS;

		skip_space(reader);
		if (value->type == JSON_OBJECT) {
			if (reader->at == reader->end || *reader->at != '"')
				return complain_at(reader, "a member name in quotes");
			status = read_string(reader, &name);
			if (!NT_SUCCESS(status))
				return status;
			skip_space(reader);
			if (!take(reader, ':')) {
				mem_free(name);
				return complain_at(reader, "':' after the member name");
			}
		}
		status = read_value(reader, tail);
		if (!NT_SUCCESS(status)) {
			mem_free(name);
			return status;
		}
		(*tail)->name = name;
		tail = &(*tail)->next;
		value->count++;
		skip_space(reader);
		if (take(reader, close))
			return STATUS_SUCCESS;
		if (!take(reader, ','))
			return complain_at(reader, close == ']' ? "',' or ']'" : "',' or '}'");
	}
}

static NTSTATUS read_nested(struct reader *reader, struct json *value, enum json_type type,
			    char close)
{
	value->type = type;
	if (++reader->depth > MAX_DEPTH)
		return complain_at(reader, "at most 32 levels of nesting");
	NTSTATUS status = read_inside(reader, value, close);
	reader->depth--;
	return status;
}

static void json_free(struct json *value)
{
	while (value) {
		struct json *next = value->next;
		json_free(value->first);
		mem_free(value->string);
		mem_free(value->name);
		mem_free(value);
		value = next;
	}
}

static NTSTATUS read_into(struct reader *reader, struct json *value)
{
	if (take(reader, '{'))
		return read_nested(reader, value, JSON_OBJECT, '}');
	if (take(reader, '['))
		return read_nested(reader, value, JSON_ARRAY, ']');
	if (reader->at < reader->end && *reader->at == '"') {
		value->type = JSON_STRING;
		return read_string(reader, &value->string);
	}
	if (take_word(reader, "true") || take_word(reader, "false")) {
		value->type = JSON_BOOL;
		value->boolean = reader->at[-1] == 'e' && reader->at[-2] == 'u';
		return STATUS_SUCCESS;
	}
	if (take_word(reader, "null")) {
		value->type = JSON_NULL;
		return STATUS_SUCCESS;
	}
	if (reader->at < reader->end &&
	    (*reader->at == '-' || (*reader->at >= '0' && *reader->at <= '9')))
		return read_number(reader, value);
	return complain_at(reader, "a value");
}

static NTSTATUS read_value(struct reader *reader, struct json **value_out)
{
	struct json *value = mem_zalloc(sizeof(*value));

	if (!value)
		return complain_memory(reader->document);
	skip_space(reader);
	value->line = reader->line;
	value->column = (unsigned)(reader->at - reader->line_start) + 1;
	NTSTATUS status = read_into(reader, value);
	if (!NT_SUCCESS(status)) {
		json_free(value);
		return status;
	}
	*value_out = value;
	return STATUS_SUCCESS;
}

/* Read to the end, not by its size: it may be a pipe or /proc/self/fd/N. */
static NTSTATUS read_file(struct json_document *document, char **text_out, size_t *length_out)
{
	size_t capacity = 4096;
	size_t length = 0;
	char *text = mem_alloc(capacity);
	int file = open(document->path, O_RDONLY | O_CLOEXEC);
	NTSTATUS status = STATUS_SUCCESS;

	if (file < 0) {
		snprintf(document->problem, sizeof(document->problem), "%s: %s", document->path,
			 strerror(errno));
		mem_free(text);
		return STATUS_OBJECT_NAME_NOT_FOUND;
	}
	while (text) {
		ssize_t got = read(file, text + length, capacity - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			snprintf(document->problem, sizeof(document->problem), "%s: %s",
				 document->path, strerror(errno));
			status = STATUS_UNSUCCESSFUL;
			break;
		}
		if (got == 0)
			break;
		length += (size_t)got;
		if (length > MAX_FILE_BYTES) {
			snprintf(document->problem, sizeof(document->problem),
				 "%s: larger than 1 MiB", document->path);
			status = STATUS_OBJECT_PATH_SYNTAX_BAD;
			break;
		}
		if (length == capacity) {
			char *larger = mem_realloc(text, capacity * 2);
			if (!larger)
				mem_free(text);
			text = larger;
			capacity *= 2;
		}
	}
	close(file);
	if (!text)
		return complain_memory(document);
	if (!NT_SUCCESS(status)) {
		mem_free(text);
		return status;
	}
	*text_out = text;
	*length_out = length;
	return STATUS_SUCCESS;
}

static NTSTATUS document_begin(struct json_document *document, const char *path)
{
	*document = (struct json_document){ .path = mem_strdup(path) };
	if (document->path)
		return STATUS_SUCCESS;
	snprintf(document->problem, sizeof(document->problem), "no memory");
	return STATUS_NO_MEMORY;
}

static NTSTATUS read_text(struct json_document *document, const char *text, size_t length,
			  unsigned line)
{
	struct reader reader = { .document = document,
				 .text = text,
				 .end = text + length,
				 .at = text,
				 .line = line,
				 .line_start = text };
	NTSTATUS status = read_value(&reader, &document->root);

	if (NT_SUCCESS(status)) {
		skip_space(&reader);
		if (reader.at != reader.end)
			status = complain_at(&reader, "the end of the file");
	}
	if (!NT_SUCCESS(status)) {
		json_free(document->root);
		document->root = NULL;
	}
	return status;
}

NTSTATUS json_read(const char *path, struct json_document *document)
{
	char *text;
	size_t length;
	NTSTATUS status = document_begin(document, path);

	if (NT_SUCCESS(status))
		status = read_file(document, &text, &length);
	if (!NT_SUCCESS(status))
		return status;
	status = read_text(document, text, length, 1);
	mem_free(text);
	return status;
}

NTSTATUS json_read_line(const char *path, unsigned line, const char *text, size_t length,
			struct json_document *document)
{
	NTSTATUS status = document_begin(document, path);

	return NT_SUCCESS(status) ? read_text(document, text, length, line) : status;
}

void json_finish(struct json_document *document)
{
	json_free(document->root);
	mem_free(document->path);
	*document = (struct json_document){ 0 };
}

const struct json *json_member(const struct json *object, const char *name)
{
	const struct json *member = object && object->type == JSON_OBJECT ? object->first : NULL;

	while (member && strcmp(member->name, name) != 0)
		member = member->next;
	return member;
}

uint64_t json_number_of(const struct json *object, const char *name)
{
	const struct json *member = json_member(object, name);
	bool is_one = member && member->type == JSON_NUMBER && member->number >= 0 &&
		      member->number < 0x1p64;

	return is_one ? (uint64_t)member->number : 0;
}

const char *json_text_of(const struct json *object, const char *name)
{
	const struct json *member = json_member(object, name);

	return member && member->type == JSON_STRING ? member->string : "";
}
