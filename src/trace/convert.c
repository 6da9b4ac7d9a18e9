/* SPDX-License-Identifier: MIT */
/*
 * convert.c - see convert.h.
 */
#include <errno.h>
#include <string.h>

#include "trace/convert.h"
#include "trace/sink.h"

bool trace_name_is_json(const char *name)
{
	static const char ending[] = ".json";
	size_t length = strlen(name);

	return length >= strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0;
}

bool trace_wishes_read(const char *words, uint32_t *wishes)
{
	static const struct {
		const char *word;
		uint32_t wishes;
	} known[] = { { "arguments", TRACE_WITH_ARGUMENTS | TRACE_WITH_DRIVER },
		      { "addresses", TRACE_WITH_ADDRESSES },
		      { "lists", TRACE_WITH_LISTS },
		      { "driver", TRACE_WITH_DRIVER } };
	bool is_known = true;

	while (*words) {
		size_t length = strcspn(words, ",");
		bool is_found = length == 0;
		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			if (strlen(known[i].word) != length ||
			    strncmp(known[i].word, words, length) != 0)
				continue;
			*wishes |= known[i].wishes;
			is_found = true;
		}
		is_known = is_known && is_found;
		words += length + (words[length] == ',');
	}
	return is_known;
}

static void write_and_close(struct trace_reader *reader, FILE *out, char *problem,
			    size_t problem_bytes)
{
	sink_write(out, reader);
	if (!trace_reader_complain(reader, problem, problem_bytes))
		problem[0] = '\0';
	trace_reader_close(reader);
}

bool trace_write_json(const struct trace_file *file, FILE *out, char *problem, size_t problem_bytes)
{
	struct trace_reader *reader =
		trace_reader_open(file->bytes, file->size_bytes, problem, problem_bytes);

	if (!reader)
		return false;
	write_and_close(reader, out, problem, problem_bytes);
	return true;
}

static bool say(char *problem, size_t problem_bytes, const char *path, const char *why)
{
	char copy[256];

	snprintf(copy, sizeof(copy), "%s", why);
	snprintf(problem, problem_bytes, "%s: %s", path, copy);
	return false;
}

/* Nothing that is there is emptied before the trace turned out to be one. */
static bool convert(const struct trace_file *file, const char *to, char *problem,
		    size_t problem_bytes)
{
	struct trace_reader *reader =
		trace_reader_open(file->bytes, file->size_bytes, problem, problem_bytes);
	FILE *out = reader ? fopen(to, "we") : NULL;

	if (!out) {
		if (reader)
			(void)say(problem, problem_bytes, to, strerror(errno));
		trace_reader_close(reader);
		return false;
	}
	write_and_close(reader, out, problem, problem_bytes);
	bool is_written = !ferror(out);
	is_written = fclose(out) == 0 && is_written;
	return is_written || say(problem, problem_bytes, to, strerror(errno));
}

bool trace_convert(const char *from, const char *to, char *problem, size_t problem_bytes)
{
	struct trace_file file;
	bool is_good;

	if (trace_file_is_same(from, to))
		return say(problem, problem_bytes, to, "is the trace itself");
	if (!trace_file_open(from, &file))
		return say(problem, problem_bytes, from, strerror(errno));
	is_good = convert(&file, to, problem, problem_bytes);
	trace_file_close(&file);
	if (problem[0] != '\0')
		(void)say(problem, problem_bytes, from, problem);
	return is_good;
}
