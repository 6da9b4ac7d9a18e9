/* SPDX-License-Identifier: MIT */
/*
 * summary.c - see summary.h. Reads what sink.c writes, line by line, not JSON in general.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/summary.h"

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

bool trace_summary_read(const char *path, struct trace_summary *summary_out)
{
	FILE *file = fopen(path, "re");
	struct trace_summary summary = { 0 };
	char *line = NULL;
	size_t size_bytes = 0;

	if (!file)
		return false;
	while (getline(&line, &size_bytes, file) >= 0) {
		uint32_t category = category_of(line);
		if (category < TRACE_CATEGORY_COUNT) {
			summary.by_category[category]++;
			summary.events++;
		}
		summary.is_complete = strncmp(line, "],", 2) == 0;
	}
	bool is_good = !ferror(file);
	int saved_errno = errno;
	free(line);
	fclose(file);
	errno = saved_errno;
	if (is_good)
		*summary_out = summary;
	return is_good;
}
