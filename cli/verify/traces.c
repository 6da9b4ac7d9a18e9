/* SPDX-License-Identifier: MIT */
/*
 * traces.c - see traces.h. A trace has one event in each line.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/verify/finding.h"
#include "cli/verify/subject.h"
#include "cli/verify/traces.h"

enum { EVENT_SHOWN = 160 };

/* Where the line begins that has the first byte that differs. */
static size_t first_difference(const char *one, const char *other)
{
	size_t line = 0;

	for (size_t at = 0; one[at] == other[at]; at++) {
		if (one[at] == '\n')
			line = at + 1;
	}
	return line;
}

static char *event_at(const char *text)
{
	size_t length = strcspn(text, "\n");

	return needed_text("%.*s", (int)(length < EVENT_SHOWN ? length : EVENT_SHOWN), text);
}

char *traces_compare(const char *path, const char *other_path)
{
	size_t length, other_length;
	char *one = file_read(path, &length);
	char *other = one ? file_read(other_path, &other_length) : NULL;
	char *sentence = NULL;

	if (other && (length != other_length || memcmp(one, other, length) != 0)) {
		size_t at = first_difference(one, other);
		char *event = event_at(one + at);
		char *other_event = event_at(other + at);

		sentence = needed_text("Two runs of one seed, at other addresses and with other "
				       "bytes in fresh pool, differ: %s, then %s",
				       event, other_event);
		free(event);
		free(other_event);
	}
	free(other);
	free(one);
	return sentence;
}
