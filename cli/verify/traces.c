/* SPDX-License-Identifier: MIT */
/*
 * traces.c - see traces.h. A trace has one event in each line (trace/sink.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refusal.h"
#include "cli/verify/subject.h"
#include "cli/verify/traces.h"

enum { EVENT_SHOWN = 160, THREADS_MOST = 256, DEPTH_MOST = 16 };

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

	while (length > 0 && text[length - 1] == ',')
		length--;
	return needed_text("%.*s", (int)(length < EVENT_SHOWN ? length : EVENT_SHOWN), text);
}

/* ---- where the thread was ---- */

/* Calls of the driver that a thread is in, outermost first. */
struct visits {
	uint32_t depth;
	const char *names[DEPTH_MOST]; /* in the trace, up to a quotation mark */
};

static const char *value_in(const char *line, const char *end, const char *key)
{
	const char *at = memmem(line, (size_t)(end - line), key, strlen(key));

	return at ? at + strlen(key) : NULL;
}

/* Every call begins (B) and ends (E); those of the driver are of category ddi. */
static void follow(struct visits *visits, const char *line, const char *end)
{
	const char *phase = value_in(line, end, "\"ph\":\"");
	const char *thread = value_in(line, end, "\"tid\":");
	unsigned long number = thread ? strtoul(thread, NULL, 10) : THREADS_MOST;
	struct visits *here = number < THREADS_MOST ? &visits[number] : NULL;

	if (!phase || !here || !value_in(line, end, "\"cat\":\"ddi\""))
		return;
	if (*phase == 'B') {
		if (here->depth < DEPTH_MOST)
			here->names[here->depth] = value_in(line, end, "\"name\":\"");
		here->depth++;
	} else if (*phase == 'E' && here->depth > 0) {
		here->depth--;
	}
}

static void find_entry(const char *trace, size_t at, char entry[TRACES_ENTRY_BYTES])
{
	struct visits *visits = needed(calloc(THREADS_MOST, sizeof(*visits)));
	const char *event = trace + at;
	const char *thread = value_in(event, event + strcspn(event, "\n"), "\"tid\":");
	unsigned long number = thread ? strtoul(thread, NULL, 10) : 0;

	for (const char *line = trace; line < event; line += strcspn(line, "\n") + 1)
		follow(visits, line, line + strcspn(line, "\n"));
	entry[0] = '\0';
	if (number < THREADS_MOST && visits[number].depth > 0 &&
	    visits[number].depth <= DEPTH_MOST && visits[number].names[visits[number].depth - 1]) {
		const char *name = visits[number].names[visits[number].depth - 1];

		snprintf(entry, TRACES_ENTRY_BYTES, "%.*s", (int)strcspn(name, "\""), name);
	}
	free(visits);
}

/* ---- */

char *traces_compare(const char *path, const char *other_path, char entry[TRACES_ENTRY_BYTES])
{
	size_t length, other_length;
	char *one = file_read(path, &length);
	char *other = one ? file_read(other_path, &other_length) : NULL;
	char *sentence = NULL;

	if (other && (length != other_length || memcmp(one, other, length) != 0)) {
		size_t at = first_difference(one, other);
		char *event = event_at(one + at);
		char *other_event = event_at(other + at);

		sentence = needed_text("%s, and %s", event, other_event);
		find_entry(one, at, entry);
		free(event);
		free(other_event);
	}
	free(other);
	free(one);
	return sentence;
}

bool traces_is_whole(const char *path)
{
	static const char last_line[] = "\n],\"displayTimeUnit\":\"ns\"}\n";
	size_t length;
	char *text = file_read(path, &length);
	bool is_there = text && length >= strlen(last_line) &&
			strcmp(text + length - strlen(last_line), last_line) == 0;

	free(text);
	return is_there;
}

struct finding *traces_difference(const char *path, const char *other_path, const char *driver)
{
	char entry[TRACES_ENTRY_BYTES];
	char *difference = traces_is_whole(path) && traces_is_whole(other_path)
				   ? traces_compare(path, other_path, entry)
				   : NULL;

	if (!difference)
		return NULL;
	struct finding *finding = finding_create(rule_id(RULE_NT_POOL_UNINIT), FINDING_RULE);
	free(finding->sentence);
	finding->sentence = needed_text("Two runs of one seed, at other addresses and with other "
					"bytes in fresh pool, differ%s%s: %s",
					*entry ? " in " : "", entry, difference);
	free(finding->entry);
	finding->entry = needed_text("%s", entry);
	finding_set_fingerprint(finding, driver, "");
	free(difference);
	return finding;
}
