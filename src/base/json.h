/* SPDX-License-Identifier: MIT */
/*
 * json.h - small files that people write, read with the place of every value remembered.
 *
 * A reader complains as file:line:column and says what it expected, for the syntax here and,
 * through json_complain(), for the meaning.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	unsigned line;
	unsigned column;

	bool boolean;
	double number;
	char *string;       /* UTF-8; JSON_STRING */
	char *name;         /* when it is a member of an object */
	struct json *first; /* JSON_ARRAY, JSON_OBJECT: what is inside */
	struct json *next;  /* beside it */
	size_t count;       /* how many are inside */
};

struct json_document {
	char *path;
	struct json *root;
	char problem[256]; /* "file:line:column: expected …", after a failure */
};

/* Reads any path that can be opened and read to its end. */
MUST_CHECK NTSTATUS json_read(const char *path, struct json_document *document);
void json_finish(struct json_document *document);

/* The same for one line of a file that has a value in each; of any length. */
MUST_CHECK NTSTATUS json_read_line(const char *path, unsigned line, const char *text, size_t length,
				   struct json_document *document);

/* NULL when it has none of that name, or is no object. */
const struct json *json_member(const struct json *object, const char *name);

/* The member of that name; 0 or "" when there is none, or it is something else. */
uint64_t json_number_of(const struct json *object, const char *name);
const char *json_text_of(const struct json *object, const char *name);

/* Writes document->problem for `where` and returns the status of a broken file. */
NTSTATUS json_complain(struct json_document *document, const struct json *where, const char *format,
		       ...) PRINTF_LIKE(3, 4);

/* "a number", for messages. */
const char *json_type_name(enum json_type type);

#endif
