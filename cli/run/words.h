/* SPDX-License-Identifier: MIT */
/*
 * words.h - the words of a line, one after the other, and what is wrong with them.
 *
 * Everything here that returns a bool returns false after saying in `problem` which word was not
 * understood and what was expected; the reader goes back up without another word.
 */
#ifndef CLI_RUN_WORDS_H
#define CLI_RUN_WORDS_H

#include "cli/run/script.h"

struct word {
	const char *text; /* not terminated */
	size_t length;    /* 0: the line is over */
	uint32_t column;
};

struct words {
	const char *line;
	size_t length; /* without line end and comment */
	uint32_t line_number;
	size_t at;
	struct script_problem *problem;
};

/* False when the line has bytes that are no text. */
MUST_CHECK bool words_begin(struct words *words, const char *line, size_t length,
			    uint32_t line_number, struct script_problem *problem);

struct word words_peek(const struct words *words);
struct word words_next(struct words *words);
bool word_is(const struct word *word, const char *text);

/* Takes the next word if it is this one. */
bool words_take(struct words *words, const char *text);

/* Always false: `"word": expected …`. */
bool words_refuse(const struct words *words, const struct word *word, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Nothing is left. */
MUST_CHECK bool words_end(struct words *words);

/* 64, 0x40, 64K; `expected` says what it is, as "a size". */
MUST_CHECK bool words_number(struct words *words, const char *expected, uint64_t least,
			     uint64_t most, uint64_t *number_out);
MUST_CHECK bool word_number(const char *text, size_t length, uint64_t *number_out);

/* 10us, 20ms, 3s: microseconds. */
MUST_CHECK bool words_time(struct words *words, uint64_t most_us, uint64_t *microseconds_out);

/* What is left of the line. */
struct word words_rest(struct words *words);

#endif
