/* SPDX-License-Identifier: MIT */
/*
 * reader_controls.c - statements about the whole adapter, and those that no ordinary client would make.
 */
#include <dxg/d3dkmthk.h>

#include "cli/run/reader.h"
#include "cli/verifier_options.h"

/* The adapter, or everything on it, stands still meanwhile; what a branch waits for would not come. */
static bool is_alone(struct reader *reader)
{
	return reader->branch == 0 || words_refuse(&reader->words, &reader->verb,
						   "expected this only outside of parallel blocks");
}

/* ---- the adapter ---- */

bool reader_power(struct reader *reader, struct script_statement *statement)
{
	enum { D0 = 0, D3 = 3 };
	struct word word = words_next(&reader->words);

	statement->choice = word_is(&word, "d3") ? D3 : D0;
	return word_is(&word, "d3") || word_is(&word, "d0") ||
	       words_refuse(&reader->words, &word, "expected d3 or d0");
}

bool reader_remove(struct reader *reader, struct script_statement *statement)
{
	return reader_options(reader, OPTION_SURPRISE, &statement->options);
}

/* [engine NODE] */
bool reader_reset(struct reader *reader, struct script_statement *statement)
{
	enum { MOST_NODES = 64 };

	statement->choice = words_take(&reader->words, "engine");
	return statement->choice == 0 ||
	       words_number(&reader->words, "a node", 0, MOST_NODES - 1, &statement->number);
}

bool reader_alone(struct reader *reader, struct script_statement *statement)
{
	(void)statement;
	return is_alone(reader);
}

bool reader_no_word(struct reader *reader, struct script_statement *statement)
{
	(void)reader;
	(void)statement;
	return true;
}

bool reader_sleep(struct reader *reader, struct script_statement *statement)
{
	const uint64_t most_us = UINT64_C(86400) * 1000000;

	return words_time(&reader->words, most_us, &statement->number);
}

/* ---- limits and switches ---- */

bool reader_budget(struct reader *reader, struct script_statement *statement)
{
	if (!reader_name(reader, SCRIPT_CLIENT, &statement->name))
		return false;
	statement->number = UINT64_MAX;
	return words_take(&reader->words, "none") ||
	       words_number(&reader->words, "a size", 0, UINT64_MAX, &statement->number);
}

bool reader_verifier(struct reader *reader, struct script_statement *statement)
{
	struct word word = words_next(&reader->words);

	if (!verifier_option_find(word.text, word.length, &statement->choice))
		return words_refuse(&reader->words, &word,
				    "expected an option of the verifier, as always-discard");
	word = words_next(&reader->words);
	if (word_is(&word, "on"))
		statement->number = 1;
	else if (!word_is(&word, "off"))
		return words_refuse(&reader->words, &word, "expected on or off");
	return true;
}

/* ---- what no client would ask for ---- */

static const struct {
	const char *word;
	enum script_fuzz fuzz;
	uint32_t kinds; /* of whom it is; 0: of nobody */
} fuzzes[] = {
	{ "allocation", FUZZ_ALLOCATION, SCRIPT_CLIENT },
	{ "context", FUZZ_CONTEXT, SCRIPT_CLIENT },
	{ "submit", FUZZ_SUBMIT, SCRIPT_QUEUES },
	{ "escape", FUZZ_ESCAPE, SCRIPT_CLIENT },
	{ "query", FUZZ_QUERY, 0 },
};

static bool read_fuzzed(struct reader *reader, uint32_t kinds, uint32_t *name_out)
{
	if (kinds == 0)
		return true;
	return kinds == SCRIPT_QUEUES ? reader_context(reader, name_out)
				      : reader_name(reader, kinds, name_out);
}

bool reader_fuzz(struct reader *reader, struct script_statement *statement)
{
	struct word word = words_next(&reader->words);

	for (size_t i = 0; i < ARRAY_SIZE(fuzzes); i++) {
		if (!word_is(&word, fuzzes[i].word))
			continue;
		statement->choice = fuzzes[i].fuzz;
		return read_fuzzed(reader, fuzzes[i].kinds, &statement->name) &&
		       words_number(&reader->words, "a seed", 0, UINT64_MAX, &statement->number);
	}
	return words_refuse(&reader->words, &word,
			    "expected allocation, context, submit, escape or query");
}
