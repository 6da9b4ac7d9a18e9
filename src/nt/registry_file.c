/* SPDX-License-Identifier: MIT */
/*
 * registry_file.c - the registry as a text file; the format is in registry.h.
 *
 * Read twice: the first time only checks, so a file with a mistake changes nothing. Every mistake
 * is one sentence with file, line, column and what was expected there.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "nt/registry.h"

enum { FILE_MAX_BYTES = 16 << 20, TEXT_MAX = 4096, LIST_MAX = 256 };

struct parser {
	const char *file;
	const char *text;
	const char *end;
	const char *at;
	const char *line_start;
	unsigned line;
	bool is_applying;

	char *key; /* of the section we are in */
	char *error;
	size_t error_bytes;
};

static NTSTATUS parser_fail(struct parser *p, const char *format, ...) PRINTF_LIKE(2, 3);

static NTSTATUS parser_fail(struct parser *p, const char *format, ...)
{
	va_list arguments;
	int length = snprintf(p->error, p->error_bytes, "%s:%u:%u: ", p->file, p->line,
			      (unsigned)(p->at - p->line_start) + 1);

	if (length > 0 && (size_t)length < p->error_bytes) {
		va_start(arguments, format);
		vsnprintf(p->error + length, p->error_bytes - (size_t)length, format, arguments);
		va_end(arguments);
	}
	return STATUS_INVALID_PARAMETER;
}

static bool parser_at_end_of_line(const struct parser *p)
{
	return p->at == p->end || *p->at == '\n' || *p->at == ';' || *p->at == '#';
}

static void parser_skip_blanks(struct parser *p)
{
	while (p->at != p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r'))
		p->at++;
}

static bool parser_take(struct parser *p, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
		return false;
	p->at += length;
	return true;
}

static NTSTATUS parse_quoted(struct parser *p, char *text, size_t capacity)
{
	size_t length = 0;

	if (!parser_take(p, "\""))
		return parser_fail(p, "expected \" here");
	for (;; p->at++) {
		char byte;

		if (p->at == p->end || *p->at == '\n')
			return parser_fail(p, "expected \" before the end of the line");
		byte = *p->at;
		if (byte == '"')
			break;
		if (byte == '\\') {
			const char *escapes = "\\\\\"\"n\nt\t";
			p->at++;
			byte = p->at == p->end ? '\0' : *p->at;
			while (*escapes != '\0' && *escapes != byte)
				escapes += 2;
			if (*escapes == '\0')
				return parser_fail(p, "expected \\, \", n or t after the \\");
			byte = escapes[1];
		}
		if (byte == '\0' || length + 1 >= capacity)
			return parser_fail(p, "text is longer than %zu bytes, or has a zero in it",
					   capacity - 1);
		text[length++] = byte;
	}
	p->at++;
	text[length] = '\0';
	return STATUS_SUCCESS;
}

static int hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

static NTSTATUS parse_hex(struct parser *p, unsigned max_digits, uint64_t *value_out)
{
	uint64_t value = 0;
	unsigned digits = 0;

	while (p->at != p->end && hex_digit(*p->at) >= 0) {
		if (digits++ == max_digits)
			return parser_fail(p, "expected at most %u hexadecimal digits", max_digits);
		value = value << 4 | (uint64_t)hex_digit(*p->at++);
	}
	if (digits == 0)
		return parser_fail(p, "expected a hexadecimal digit");
	*value_out = value;
	return STATUS_SUCCESS;
}

static NTSTATUS parse_bytes(struct parser *p, uint8_t *bytes, size_t *count_out)
{
	size_t count = 0;

	parser_skip_blanks(p);
	while (!parser_at_end_of_line(p)) {
		uint64_t value = 0;
		NTSTATUS status;

		if (count == TEXT_MAX)
			return parser_fail(p, "expected at most %d bytes", TEXT_MAX);
		status = parse_hex(p, 2, &value);
		if (!NT_SUCCESS(status))
			return status;
		bytes[count++] = (uint8_t)value;
		parser_skip_blanks(p);
		if (!parser_take(p, ","))
			break;
		parser_skip_blanks(p);
	}
	*count_out = count;
	return STATUS_SUCCESS;
}

static NTSTATUS parse_strings(struct parser *p, const char *name)
{
	char *texts[LIST_MAX];
	size_t count = 0;
	NTSTATUS status = STATUS_SUCCESS;

	parser_skip_blanks(p);
	while (NT_SUCCESS(status) && !parser_at_end_of_line(p)) {
		char text[TEXT_MAX];

		status = count == LIST_MAX ? parser_fail(p, "expected at most %d texts", LIST_MAX)
					   : parse_quoted(p, text, sizeof(text));
		if (!NT_SUCCESS(status))
			break;
		texts[count] = mem_strdup(text);
		if (!texts[count]) {
			status = STATUS_NO_MEMORY;
			break;
		}
		count++;
		parser_skip_blanks(p);
		if (!parser_take(p, ","))
			break;
		parser_skip_blanks(p);
	}
	if (NT_SUCCESS(status) && p->is_applying)
		status = nt_registry_set_strings(p->key, name, (const char *const *)texts, count);
	while (count > 0)
		mem_free(texts[--count]);
	return status;
}

static NTSTATUS parse_value(struct parser *p, const char *name)
{
	char text[TEXT_MAX];
	uint64_t number = 0;
	size_t count = 0;
	NTSTATUS status;

	if (p->at != p->end && *p->at == '"') {
		status = parse_quoted(p, text, sizeof(text));
		if (NT_SUCCESS(status) && p->is_applying)
			status = nt_registry_set_string(p->key, name, text);
	} else if (parser_take(p, "dword:")) {
		status = parse_hex(p, 8, &number);
		if (NT_SUCCESS(status) && p->is_applying)
			status = nt_registry_set_dword(p->key, name, (uint32_t)number);
	} else if (parser_take(p, "qword:")) {
		status = parse_hex(p, 16, &number);
		if (NT_SUCCESS(status) && p->is_applying)
			status = nt_registry_set_qword(p->key, name, number);
	} else if (parser_take(p, "hex:")) {
		status = parse_bytes(p, (uint8_t *)text, &count);
		if (NT_SUCCESS(status) && p->is_applying)
			status = nt_registry_set_binary(p->key, name, text, count);
	} else if (parser_take(p, "multi:")) {
		status = parse_strings(p, name);
	} else {
		status = parser_fail(
			p, "expected \"text\", dword:, qword:, hex: or multi: as the value");
	}
	return status;
}

static NTSTATUS parse_name(struct parser *p, char *name, size_t capacity)
{
	const char *start = p->at;
	size_t length;

	if (*p->at == '"')
		return parse_quoted(p, name, capacity);
	while (!parser_at_end_of_line(p) && *p->at != '=')
		p->at++;
	length = (size_t)(p->at - start);
	while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '\t'))
		length--;
	if (length == 0 || length >= capacity) {
		p->at = start;
		return parser_fail(p, "expected a name of 1 to %zu bytes", capacity - 1);
	}
	/* "@" is the value without a name. */
	if (length == 1 && *start == '@')
		length = 0;
	memcpy(name, start, length);
	name[length] = '\0';
	return STATUS_SUCCESS;
}

static NTSTATUS parse_assignment(struct parser *p)
{
	char name[512];
	NTSTATUS status;

	if (!p->key)
		return parser_fail(p, "expected a [key] before the first value");
	status = parse_name(p, name, sizeof(name));
	if (!NT_SUCCESS(status))
		return status;
	parser_skip_blanks(p);
	if (!parser_take(p, "="))
		return parser_fail(p, "expected = after the name");
	parser_skip_blanks(p);
	return parse_value(p, name);
}

static NTSTATUS parse_section(struct parser *p)
{
	static const char root[] = "\\Registry\\";
	const char *start = p->at;
	const char *close = start;

	while (close != p->end && *close != ']' && *close != '\n')
		close++;
	if (close == p->end || *close != ']') {
		p->at = close;
		return parser_fail(p, "expected ] at the end of the key");
	}
	if ((size_t)(close - start) <= strlen(root) || strncasecmp(start, root, strlen(root)) != 0)
		return parser_fail(p, "expected a key that begins with %s", root);
	mem_free(p->key);
	p->key = mem_printf("%.*s", (int)(close - start), start);
	if (!p->key)
		return STATUS_NO_MEMORY;
	/* Every name between two \ is 1 to 255 characters long. */
	for (const char *byte = start + 1, *name = byte; byte <= close; byte++) {
		if (byte != close && *byte != '\\')
			continue;
		p->at = name;
		if (byte - name < 1 || byte - name > 255)
			return parser_fail(p, "expected a name of 1 to 255 bytes");
		name = byte + 1;
	}
	p->at = close + 1;
	return p->is_applying ? nt_registry_create_key(p->key) : STATUS_SUCCESS;
}

static NTSTATUS parse(struct parser *p)
{
	NTSTATUS status = STATUS_SUCCESS;

	p->at = p->text;
	for (p->line = 1; NT_SUCCESS(status) && p->at != p->end; p->line++) {
		p->line_start = p->at;
		parser_skip_blanks(p);
		if (!parser_at_end_of_line(p))
			status = parser_take(p, "[") ? parse_section(p) : parse_assignment(p);
		if (!NT_SUCCESS(status))
			break;
		parser_skip_blanks(p);
		if (!parser_at_end_of_line(p)) {
			status = parser_fail(p, "expected the end of the line");
			break;
		}
		while (p->at != p->end && *p->at != '\n')
			p->at++;
		if (p->at != p->end)
			p->at++;
	}
	mem_free(p->key);
	p->key = NULL;
	return status;
}

NTSTATUS nt_registry_load_text(const char *file, const char *text, size_t length, char *error,
			       size_t error_bytes)
{
	struct parser p = { .file = file,
			    .text = text,
			    .end = text + length,
			    .error = error,
			    .error_bytes = error_bytes };
	NTSTATUS status = parse(&p);

	if (!NT_SUCCESS(status))
		return status;
	p.is_applying = true;
	return parse(&p);
}

NTSTATUS nt_registry_load_file(const char *file, char *error, size_t error_bytes)
{
	FILE *stream = fopen(file, "re");
	char *text = NULL;
	size_t length = 0;
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!stream) {
		snprintf(error, error_bytes, "%s: %s", file, strerror(errno));
		return STATUS_OBJECT_NAME_NOT_FOUND;
	}
	for (;;) {
		char *grown = mem_realloc(text, length + 65536);
		size_t got;

		if (!grown)
			goto close_stream;
		text = grown;
		got = fread(text + length, 1, 65536, stream);
		length += got;
		if (got == 0)
			break;
		if (length > FILE_MAX_BYTES) {
			snprintf(error, error_bytes, "%s: is larger than %d bytes", file,
				 FILE_MAX_BYTES);
			status = STATUS_INVALID_PARAMETER;
			goto close_stream;
		}
	}
	status = nt_registry_load_text(file, text, length, error, error_bytes);
close_stream:
	mem_free(text);
	fclose(stream);
	return status;
}
