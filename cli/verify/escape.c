/* SPDX-License-Identifier: MIT */
/*
 * escape.c - see escape.h.
 */
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/verify/escape.h"

static void put_character(FILE *out, uint32_t character)
{
	char bytes[4];

	fwrite(bytes, 1, utf8_encode(character, bytes), out);
}

/* ---- JSON ---- */

static void json_put_character(FILE *out, uint32_t character)
{
	if (character == '"' || character == '\\')
		fprintf(out, "\\%c", (int)character);
	else if (character == '\n')
		fputs("\\n", out);
	else if (character == '\t')
		fputs("\\t", out);
	else if (character < 0x20 || character == 0x7f)
		fprintf(out, "\\u%04x", (unsigned)character);
	else
		put_character(out, character);
}

void json_put(FILE *out, const char *text)
{
	if (!text) {
		fputs("null", out);
		return;
	}
	const char *end = text + strlen(text);
	fputc('"', out);
	while (text < end)
		json_put_character(out, utf8_next(&text, end));
	fputc('"', out);
}

/* ---- XML ---- */

static const char *xml_name(uint32_t character)
{
	switch (character) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\n':
		return "&#10;"; /* an attribute would have a blank there */
	case '\r':
		return "&#13;";
	case '\t':
		return "&#9;";
	default:
		return NULL;
	}
}

static int is_xml_character(uint32_t character)
{
	return character >= 0x20 && character != 0xfffe && character != 0xffff;
}

void xml_put(FILE *out, const char *text)
{
	const char *end = text + strlen(text);

	while (text < end) {
		uint32_t character = utf8_next(&text, end);
		const char *name = xml_name(character);

		if (name)
			fputs(name, out);
		else
			put_character(out,
				      is_xml_character(character) ? character : UTF8_REPLACEMENT);
	}
}

/* ---- addresses ---- */

void uri_put(FILE *out, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";

	for (; *path; path++) {
		if (strchr(plain, *path))
			fputc(*path, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*path);
	}
}
