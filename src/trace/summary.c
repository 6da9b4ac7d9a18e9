/* SPDX-License-Identifier: MIT */
/*
 * summary.c - see summary.h. Of JSON it reads what sink.c writes, line by line, not JSON in general.
 */
#include <string.h>

#include "trace/summary.h"
#include "trace/trace_file.h"

/* The category of a line {"ph":"B","cat":"api",…; TRACE_CATEGORY_COUNT when it is no event. */
static uint32_t category_of(const char *line)
{
	static const char before[] = "{\"ph\":\"B\",\"cat\":\"";
	const size_t phase_at = sizeof("{\"ph\":\"") - 1;

	if (strncmp(line, before, phase_at) != 0 || line[phase_at] == '\0' ||
	    strncmp(line + phase_at + 1, before + phase_at + 1, sizeof(before) - phase_at - 2) != 0)
		return TRACE_CATEGORY_COUNT;

	const char *title = line + sizeof(before) - 1;
	size_t length = strcspn(title, "\"");
	for (uint32_t i = 0; i < TRACE_CATEGORY_COUNT; i++) {
		if (strlen(trace_category_titles[i]) == length &&
		    memcmp(trace_category_titles[i], title, length) == 0)
			return i;
	}
	return TRACE_CATEGORY_COUNT;
}

static void count(struct trace_summary *summary, uint32_t category)
{
	if (category >= TRACE_CATEGORY_COUNT)
		return;
	summary->by_category[category]++;
	summary->events++;
}

static void count_lines(const struct trace_file *file, struct trace_summary *summary)
{
	const char *line = file->bytes;
	size_t left = file->size_bytes;

	while (line && left > 0) {
		char start[64];
		size_t length = left < sizeof(start) - 1 ? left : sizeof(start) - 1;
		memcpy(start, line, length);
		start[length] = '\0';
		count(summary, category_of(start));
		summary->is_complete = strncmp(start, "],", 2) == 0;

		const char *end = memchr(line, '\n', left);

		left = end ? left - (size_t)(end + 1 - line) : 0;
		line = end ? end + 1 : NULL;
	}
}

static void count_events(const struct trace_file *file, struct trace_summary *summary)
{
	struct trace_reader *reader = trace_reader_open(file->bytes, file->size_bytes,
							summary->problem, sizeof(summary->problem));
	struct trace_entry entry;

	if (!reader)
		return;
	while (trace_reader_next(reader, &entry))
		count(summary, trace_category_find(entry.info->category));
	summary->is_complete = trace_reader_facts(reader)->is_complete;
	(void)trace_reader_complain(reader, summary->problem, sizeof(summary->problem));
	trace_reader_close(reader);
}

bool trace_summary_read(const char *path, struct trace_summary *summary_out)
{
	struct trace_file file;

	if (!trace_file_open(path, &file))
		return false;
	*summary_out = (struct trace_summary){ 0 };
	if (trace_is_binary(file.bytes, file.size_bytes))
		count_events(&file, summary_out);
	else
		count_lines(&file, summary_out);
	trace_file_close(&file);
	return true;
}
