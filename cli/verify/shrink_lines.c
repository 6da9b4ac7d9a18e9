/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "cli/verify/finding.h"
#include "cli/verify/shrink_lines.h"

enum { NAME_BYTES = 40, LINE_BYTES = 4096 };

/* Verbs behind which stands the name of something new. */
static const char *const makers[] = { "client", "context", "allocate", "fence",
				      "open",   "hwqueue", "standard" };

/* ---- words ---- */

struct line_words {
	const char *begin[LINE_WORDS_MOST];
	size_t length[LINE_WORDS_MOST];
	size_t count;
};

static void split(const char *line, struct line_words *words)
{
	words->count = 0;
	while (*line && words->count < LINE_WORDS_MOST) {
		size_t length = strcspn(line, " \t");

		if (length > 0) {
			words->begin[words->count] = line;
			words->length[words->count++] = length;
		}
		line += length;
		line += strspn(line, " \t");
	}
}

static bool word_is(const struct line_words *words, size_t index, const char *text)
{
	return index < words->count && words->length[index] == strlen(text) &&
	       strncmp(words->begin[index], text, words->length[index]) == 0;
}

static bool line_is(const char *line, const char *verb)
{
	struct line_words words;

	split(line, &words);
	return word_is(&words, 0, verb);
}

/* `try` and `expect STATUS` stand in front of the verb. */
static size_t verb_of(const struct line_words *words)
{
	if (word_is(words, 0, "try"))
		return 1;
	return word_is(words, 0, "expect") ? 2 : 0;
}

/* The name of what the line makes; false: it makes nothing. */
static bool made_by(const char *line, char name[NAME_BYTES])
{
	struct line_words words;

	split(line, &words);
	size_t verb = verb_of(&words);
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
		if (word_is(&words, verb, makers[i]) && verb + 1 < words.count) {
			snprintf(name, NAME_BYTES, "%.*s", (int)words.length[verb + 1],
				 words.begin[verb + 1]);
			return true;
		}
	}
	return false;
}

/* As a word, or in front of +offset. */
static bool line_names(const char *line, const char *name)
{
	struct line_words words;
	size_t length = strlen(name);

	split(line, &words);
	for (size_t i = 0; i < words.count; i++) {
		if (words.length[i] >= length && strncmp(words.begin[i], name, length) == 0 &&
		    (words.length[i] == length || words.begin[i][length] == '+'))
			return true;
	}
	return false;
}

/* ---- lines ---- */

static void add(struct lines *lines, const char *text, size_t length)
{
	lines->items = needed(realloc(lines->items, (lines->count + 1) * sizeof(*lines->items)));
	lines->items[lines->count++] = needed_text("%.*s", (int)length, text);
}

void lines_read(struct lines *lines, const char *script)
{
	*lines = (struct lines){ 0 };
	while (*script) {
		size_t length = strcspn(script, "\n");
		const char *line = script + strspn(script, " \t");
		size_t used = length - (size_t)(line - script);

		while (used > 0 && isspace((unsigned char)line[used - 1]))
			used--;
		if (line < script + length && used > 0 && *line != '#')
			add(lines, line, used);
		script += length + (script[length] == '\n');
	}
}

void lines_finish(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->items[i]);
	free(lines->items);
	*lines = (struct lines){ 0 };
}

char *lines_text(const struct lines *lines)
{
	size_t length = 1;

	for (size_t i = 0; i < lines->count; i++)
		length += strlen(lines->items[i]) + 1;
	char *text = needed(malloc(length));
	char *end = text;
	for (size_t i = 0; i < lines->count; i++)
		end += sprintf(end, "%s\n", lines->items[i]);
	*end = '\0';
	return text;
}

uint64_t lines_weight(const struct lines *lines)
{
	uint64_t weight = (uint64_t)lines->count * LINE_BYTES;

	for (size_t i = 0; i < lines->count; i++)
		weight += strlen(lines->items[i]);
	return weight;
}

/* ---- without some ---- */

static bool begins_block(const char *line)
{
	return line_is(line, "parallel") || line_is(line, "repeat");
}

static bool is_border(const char *line)
{
	return begins_block(line) || line_is(line, "and") || line_is(line, "end");
}

/* The line at which the block ends that begins there. */
static size_t block_end(const struct lines *lines, size_t begin)
{
	size_t depth = 0;

	for (size_t i = begin; i < lines->count; i++) {
		depth += begins_block(lines->items[i]) ? 1 : 0;
		depth -= line_is(lines->items[i], "end") ? 1 : 0;
		if (depth == 0)
			return i;
	}
	return lines->count - 1;
}

/* Whatever names what is gone. */
static void drop_users(const struct lines *lines, bool is_gone[])
{
	for (size_t i = 0; i < lines->count; i++) {
		char name[NAME_BYTES];

		if (!is_gone[i] || !made_by(lines->items[i], name))
			continue;
		for (size_t j = i + 1; j < lines->count; j++) {
			if (!is_border(lines->items[j]) && line_names(lines->items[j], name))
				is_gone[j] = true;
		}
	}
}

/* Borders between which nothing is left go; a branch that is empty goes with the `and` behind it. */
static void drop_empty_blocks(const struct lines *lines, bool is_gone[])
{
	for (size_t begin = lines->count; begin-- > 0;) {
		if (!begins_block(lines->items[begin]))
			continue;
		size_t end = block_end(lines, begin);
		bool has_content = false;

		for (size_t i = begin + 1; i < end; i++) {
			if (!is_gone[i] && !is_border(lines->items[i]))
				has_content = true;
		}
		if (!has_content) {
			for (size_t i = begin; i <= end; i++)
				is_gone[i] = true;
		}
	}
}

static void copy_rest(const struct lines *from, const bool is_gone[], struct lines *to)
{
	*to = (struct lines){ 0 };
	for (size_t i = 0; i < from->count; i++) {
		bool is_border_twice = to->count > 0 && line_is(from->items[i], "and") &&
				       (line_is(to->items[to->count - 1], "and") ||
					line_is(to->items[to->count - 1], "parallel"));
		bool is_end_behind_and = to->count > 0 && line_is(from->items[i], "end") &&
					 line_is(to->items[to->count - 1], "and");

		if (is_gone[i] || is_border_twice)
			continue;
		if (is_end_behind_and)
			free(to->items[--to->count]);
		add(to, from->items[i], strlen(from->items[i]));
	}
}

void lines_without(const struct lines *from, size_t first, size_t count, struct lines *to)
{
	bool *is_gone = needed(calloc(from->count + 1, sizeof(*is_gone)));

	for (size_t i = first; i < first + count && i < from->count; i++)
		is_gone[i] = !is_border(from->items[i]);
	drop_users(from, is_gone);
	drop_empty_blocks(from, is_gone);
	copy_rest(from, is_gone, to);
	free(is_gone);
}

bool lines_unfold(const struct lines *from, size_t line, struct lines *to)
{
	if (!begins_block(from->items[line]))
		return false;
	size_t end = block_end(from, line);
	size_t depth = 0;

	*to = (struct lines){ 0 };
	for (size_t i = 0; i < from->count; i++) {
		bool is_inside = i > line && i < end;

		if (is_inside && begins_block(from->items[i]))
			depth++;
		bool is_own_and = is_inside && depth == 0 && line_is(from->items[i], "and");
		if (is_inside && line_is(from->items[i], "end"))
			depth--;
		if (i != line && i != end && !is_own_and)
			add(to, from->items[i], strlen(from->items[i]));
	}
	return true;
}

/* ---- numbers ---- */

static bool is_number(const char *word, size_t length)
{
	return length > 0 && isdigit((unsigned char)word[0]);
}

/* What is simplest at this place; NULL: it stays. */
static const char *simplest(const struct line_words *words, size_t word)
{
	size_t verb = verb_of(words);

	if (!is_number(words->begin[word], words->length[word]) || word <= verb)
		return NULL;
	if (word_is(words, word - 1, "node") || word_is(words, word - 1, "at"))
		return NULL;
	if (word_is(words, verb, "allocate") || word_is(words, verb, "standard") ||
	    word_is(words, word - 1, "size"))
		return "4K";
	if (word_is(words, verb, "repeat"))
		return "1";
	if (word_is(words, verb, "submit") && word_is(words, word - 1, "busy"))
		return "1us";
	return NULL;
}

bool lines_simplify(const struct lines *from, size_t line, size_t word, struct lines *to)
{
	struct line_words words;
	char text[LINE_BYTES];

	split(from->items[line], &words);
	const char *simple = word < words.count ? simplest(&words, word) : NULL;
	if (!simple || word_is(&words, word, simple))
		return false;
	const char *old = words.begin[word];
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(old - from->items[line]), from->items[line],
		 simple, old + words.length[word]);
	*to = (struct lines){ 0 };
	for (size_t i = 0; i < from->count; i++)
		add(to, i == line ? text : from->items[i],
		    strlen(i == line ? text : from->items[i]));
	return true;
}

char *lines_plan_without(const char *plan, size_t fault)
{
	char *left = needed(calloc(strlen(plan) + 3, 1));
	size_t number = 0;
	bool is_found = false;

	while (*plan) {
		size_t length = strcspn(plan, ";");
		const char *begin = plan + strspn(plan, " ");
		size_t used = length - (size_t)(begin - plan);

		if (used > 0 && number++ == fault)
			is_found = true;
		else if (used > 0)
			sprintf(left + strlen(left), "%s%.*s", left[0] ? "; " : "", (int)used,
				begin);
		plan += length + (plan[length] == ';');
	}
	if (is_found)
		return left;
	free(left);
	return NULL;
}
