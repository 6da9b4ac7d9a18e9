/* SPDX-License-Identifier: MIT */
/*
 * reader_names.c - names, places and options: words that several statements have.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/run/reader.h"

static const struct {
	const char *word;
	uint32_t option;
} option_words[] = {
	{ "no-timeout", OPTION_NO_TIMEOUT },
	{ "stubborn", OPTION_STUBBORN },
	{ "local", OPTION_LOCAL },
	{ "system", OPTION_SYSTEM },
	{ "hidden", OPTION_HIDDEN },
	{ "cached", OPTION_CACHED },
	{ "contiguous", OPTION_CONTIGUOUS },
	{ "read-only", OPTION_READ_ONLY },
	{ "cant-trim", OPTION_CANT_TRIM },
	{ "if-needed", OPTION_IF_NEEDED },
	{ "decommit", OPTION_DECOMMIT },
	{ "low", OPTION_LOW },
	{ "normal", OPTION_NORMAL },
	{ "high", OPTION_HIGH },
	{ "auto", OPTION_AUTO },
	{ "kept", OPTION_KEPT },
	{ "discarded", OPTION_DISCARDED },
	{ "shared", OPTION_SHARED },
	{ "triple", OPTION_TRIPLE },
	{ "resource", OPTION_RESOURCE },
	{ "out", OPTION_OUT },
	{ "read", OPTION_READ },
	{ "write", OPTION_WRITE },
	{ "apart", OPTION_APART },
	{ "list", OPTION_LIST },
	{ "surprise", OPTION_SURPRISE },
};

/* Of each of these a statement has one at most. */
static const uint32_t option_groups[] = {
	OPTION_LOCAL | OPTION_SYSTEM,   OPTION_LOW | OPTION_NORMAL | OPTION_HIGH | OPTION_AUTO,
	OPTION_KEPT | OPTION_DISCARDED, OPTION_READ | OPTION_WRITE,
	OPTION_SHARED | OPTION_TRIPLE, /* what is shared is alone in its resource */
};

static const char *const other_words[] = {
	"and", "at", "by", "end", "node", "random", "size", "to"
};

void *reader_grow(struct reader *reader, void *array, uint32_t count, size_t *capacity,
		  size_t element_bytes)
{
	void *grown = mem_grow_array(array, count, capacity, element_bytes);

	reader->is_out_of_memory |= !grown;
	return grown;
}

/* ---- options ---- */

static uint32_t option_of(const struct word *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_words); i++) {
		if (word_is(word, option_words[i].word))
			return option_words[i].option;
	}
	return 0;
}

bool reader_at_option(const struct reader *reader, uint32_t allowed)
{
	struct word word = words_peek(&reader->words);

	return (option_of(&word) & allowed) != 0;
}

/* "local, system or hidden" */
static void list_options(uint32_t allowed, char *text, size_t size_bytes)
{
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(option_words); i++) {
		uint32_t option = option_words[i].option;
		if (!(allowed & option))
			continue;
		bool is_last = !(allowed & ~(option * 2 - 1));
		const char *before = used == 0 ? "" : is_last ? " or " : ", ";
		int length = snprintf(text + used, size_bytes - used, "%s%s", before,
				      option_words[i].word);
		if (length < 0 || (size_t)length >= size_bytes - used)
			return;
		used += (size_t)length;
	}
}

/* Where something is, is one place; what is shared may be anywhere. */
static uint32_t group_of(uint32_t option, uint32_t allowed)
{
	const uint32_t places = OPTION_LOCAL | OPTION_SHARED | OPTION_OUT;

	if ((allowed & OPTION_OUT) && (option & places))
		return places;
	for (size_t i = 0; i < ARRAY_SIZE(option_groups); i++) {
		if (option_groups[i] & option)
			return option_groups[i];
	}
	return option;
}

bool reader_options(struct reader *reader, uint32_t allowed, uint32_t *options_out)
{
	char choices[128] = "";

	list_options(allowed, choices, sizeof(choices));
	for (;;) {
		struct word word = words_peek(&reader->words);
		uint32_t option = option_of(&word) & allowed;
		if (word.length == 0)
			return true;
		if (option == 0)
			return words_refuse(&reader->words, &word,
					    "expected %s, or the end of the line", choices);
		if (*options_out & group_of(option, allowed))
			return words_refuse(&reader->words, &word,
					    "expected nothing more of its kind");
		*options_out |= option;
		words_next(&reader->words);
	}
}

/* ---- names ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(const struct word *word)
{
	if (word->length == 0 || word->length > SCRIPT_NAME_MAX || !is_letter(word->text[0]))
		return false;
	for (size_t i = 1; i < word->length; i++) {
		char c = word->text[i];
		if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '-')
			return false;
	}
	return true;
}

/* A name like one of ours would be read as ours. */
static bool is_reserved(const struct word *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(other_words); i++) {
		if (word_is(word, other_words[i]))
			return true;
	}
	return option_of(word) != 0;
}

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case SCRIPT_CLIENT:
		return "a client";
	case SCRIPT_CONTEXT:
		return "a context";
	case SCRIPT_ALLOCATION:
		return "an allocation";
	case SCRIPT_FENCE:
		return "a fence";
	case SCRIPT_HW_QUEUE:
		return "a hardware queue";
	case SCRIPT_QUEUES:
		return "a context";
	case SCRIPT_FENCE | SCRIPT_ALLOCATION:
		return "a fence or an allocation";
	default:
		return "a client, a context, an allocation or a fence";
	}
}

static struct script_name *find_name(const struct reader *reader, const struct word *word)
{
	const struct script *script = reader->script;

	for (uint32_t i = 0; i < script->name_count; i++) {
		if (word_is(word, script->names[i].text))
			return &script->names[i];
	}
	return NULL;
}

bool reader_declare(struct reader *reader, enum script_kind kind, uint32_t *name_out)
{
	struct script *script = reader->script;
	struct word word = words_next(&reader->words);
	const struct script_name *there = find_name(reader, &word);

	if (!is_name(&word))
		return words_refuse(&reader->words, &word,
				    "expected a name: a letter, then letters, digits, - or _, at "
				    "most %d",
				    SCRIPT_NAME_MAX);
	if (is_reserved(&word))
		return words_refuse(&reader->words, &word,
				    "expected a name, and this word has a meaning of its own");
	if (there)
		return words_refuse(&reader->words, &word,
				    "expected a new name, and this is %s since line %u",
				    kind_name(there->kind), there->line);
	if (script->name_count == SCRIPT_NAMES_MAX)
		return words_refuse(&reader->words, &word, "expected no more than %d names",
				    SCRIPT_NAMES_MAX);
	struct script_name *names = reader_grow(reader, script->names, script->name_count,
						&script->name_capacity, sizeof(*names));
	if (!names)
		return false;
	script->names = names;
	*name_out = script->name_count++;
	struct script_name *name = &script->names[*name_out];
	*name = (struct script_name){ .kind = kind,
				      .client = *name_out,
				      .line = reader->words.line_number,
				      .made_in = reader->branch };
	memcpy(name->text, word.text, word.length);
	return true;
}

/* ---- branches ---- */

static bool is_elsewhere(const struct reader *reader, uint32_t branch)
{
	return branch != 0 && branch != reader->branch;
}

static void note_use(const struct reader *reader, struct script_name *name)
{
	if (reader->branch != 0)
		name->used_in =
			is_elsewhere(reader, name->used_in) ? SCRIPT_SEVERAL : reader->branch;
}

void reader_forget_branches(struct reader *reader)
{
	for (uint32_t i = 0; i < reader->script->name_count; i++) {
		struct script_name *name = &reader->script->names[i];

		name->made_in = name->used_in = name->submits_in = name->ended_in = 0;
	}
}

/* ---- names that are there ---- */

static bool reader_named(struct reader *reader, const struct word *word, uint32_t kinds,
			 uint32_t *name_out)
{
	struct script_name *name = find_name(reader, word);

	if (!name)
		return words_refuse(&reader->words, word,
				    "expected %s, and nothing above has this name",
				    kind_name(kinds));
	if (!(name->kind & kinds))
		return words_refuse(&reader->words, word, "expected %s, and this is %s",
				    kind_name(kinds), kind_name(name->kind));
	if (reader->branch != 0 && is_elsewhere(reader, name->made_in))
		return words_refuse(&reader->words, word,
				    "expected %s of this branch, and another one makes this",
				    kind_name(kinds));
	if (reader->branch != 0 && is_elsewhere(reader, name->ended_in))
		return words_refuse(&reader->words, word,
				    "expected %s that no other branch destroys", kind_name(kinds));
	note_use(reader, name);
	*name_out = (uint32_t)(name - reader->script->names);
	return true;
}

bool reader_name(struct reader *reader, uint32_t kinds, uint32_t *name_out)
{
	struct word word = words_next(&reader->words);

	return reader_named(reader, &word, kinds, name_out);
}

bool reader_context(struct reader *reader, uint32_t *name_out)
{
	struct word word = words_peek(&reader->words);

	if (!reader_name(reader, SCRIPT_QUEUES, name_out))
		return false;
	struct script_name *name = &reader->script->names[*name_out];
	if (reader->branch == 0)
		return true;
	if (is_elsewhere(reader, name->submits_in))
		return words_refuse(&reader->words, &word,
				    "expected a context that no other branch submits to");
	name->submits_in = reader->branch;
	return true;
}

bool reader_are_together(const struct reader *reader, uint32_t one, uint32_t other)
{
	const struct script_name *names = reader->script->names;
	uint32_t client = names[one].client;
	uint32_t other_client = names[other].client;

	return client == other_client || (!names[client].is_apart && !names[other_client].is_apart);
}

bool reader_ending(struct reader *reader, uint32_t *name_out)
{
	struct word word = words_peek(&reader->words);

	if (!reader_name(reader, SCRIPT_ANY, name_out))
		return false;
	for (uint32_t i = 0; i < reader->script->name_count && reader->branch != 0; i++) {
		struct script_name *name = &reader->script->names[i];

		if (i != *name_out && name->client != *name_out)
			continue;
		if (is_elsewhere(reader, name->used_in))
			return words_refuse(&reader->words, &word,
					    "expected that no other branch uses %s", name->text);
		name->ended_in = reader->branch;
	}
	return true;
}

bool reader_address(struct reader *reader, struct script_address *address_out)
{
	struct word word = words_next(&reader->words);
	const char *plus = word.length ? memchr(word.text, '+', word.length) : NULL;
	struct word name = word;

	*address_out = (struct script_address){ .name = SCRIPT_NO_NAME };
	if (word.length > 0 && word.text[0] >= '0' && word.text[0] <= '9') {
		if (!word_number(word.text, word.length, &address_out->offset))
			return words_refuse(&reader->words, &word,
					    "expected a GPU address, as 0x100000000");
		return true;
	}
	if (plus) {
		name.length = (size_t)(plus - word.text);
		if (!word_number(plus + 1, word.length - name.length - 1, &address_out->offset))
			return words_refuse(&reader->words, &word,
					    "expected an allocation and an offset, as picture+4K");
	}
	return reader_named(reader, &name, SCRIPT_ALLOCATION, &address_out->name);
}
