/* SPDX-License-Identifier: MIT */
/*
 * words.c - see words.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/run/words.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A word of its own wherever it stands. */
static bool is_separator(char c)
{
	return c == ';';
}

bool words_begin(struct words *words, const char *line, size_t length, uint32_t line_number,
		 struct script_problem *problem)
{
	*words = (struct words){ line, length, line_number, 0, problem };
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)line[i];
		if (c < 0x20 && !is_blank(line[i])) {
			words->problem->line = line_number;
			words->problem->column = (uint32_t)i + 1;
			snprintf(words->problem->text, sizeof(words->problem->text),
				 "the byte 0x%02x is no text", c);
			return false;
		}
	}
	for (size_t i = 0; i < length; i++) {
		if (line[i] == '#' && (i == 0 || is_blank(line[i - 1]))) {
			words->length = i;
			break;
		}
	}
	while (words->length > 0 && is_blank(line[words->length - 1]))
		words->length--;
	return true;
}

static size_t skip_blanks(const struct words *words)
{
	size_t at = words->at;

	while (at < words->length && is_blank(words->line[at]))
		at++;
	return at;
}

struct word words_peek(const struct words *words)
{
	size_t start = skip_blanks(words);
	size_t end = start;

	while (end < words->length && !is_blank(words->line[end]) &&
	       !is_separator(words->line[end]))
		end++;
	if (end == start && end < words->length)
		end++; /* a separator */
	return (struct word){ words->line + start, end - start, (uint32_t)start + 1 };
}

struct word words_next(struct words *words)
{
	struct word word = words_peek(words);

	words->at = (size_t)(word.text - words->line) + word.length;
	return word;
}

struct word words_rest(struct words *words)
{
	size_t start = skip_blanks(words);

	words->at = words->length;
	return (struct word){ words->line + start, words->length - start, (uint32_t)start + 1 };
}

bool word_is(const struct word *word, const char *text)
{
	return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

bool words_take(struct words *words, const char *text)
{
	struct word word = words_peek(words);

	if (word.length == 0 || !word_is(&word, text))
		return false;
	words_next(words);
	return true;
}

/* A long word is shown by its start. */
bool words_refuse(const struct words *words, const struct word *word, const char *format, ...)
{
	enum { SHOWN = 40 };
	struct script_problem *problem = words->problem;
	va_list arguments;
	int used;

	problem->line = words->line_number;
	problem->column = word->column;
	if (word->length == 0)
		used = snprintf(problem->text, sizeof(problem->text), "the line ends here: ");
	else
		used = snprintf(problem->text, sizeof(problem->text),
				"\"%.*s%s\": ", word->length > SHOWN ? SHOWN : (int)word->length,
				word->text, word->length > SHOWN ? "…" : "");
	va_start(arguments, format);
	vsnprintf(problem->text + used, sizeof(problem->text) - (size_t)used, format, arguments);
	va_end(arguments);
	return false;
}

bool words_end(struct words *words)
{
	struct word word = words_peek(words);

	return word.length == 0 || words_refuse(words, &word, "expected the end of the line");
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Digits; what follows them starts at *end_out. */
static bool read_digits(const char *text, size_t length, uint64_t *number_out, size_t *end_out)
{
	bool is_hexadecimal = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t base = is_hexadecimal ? 16 : 10;
	size_t start = is_hexadecimal ? 2 : 0;
	size_t at = start;
	uint64_t number = 0;

	for (; at < length && (uint64_t)digit_of(text[at]) < base; at++) {
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit_of(text[at]), &number))
			return false;
	}
	*number_out = number;
	*end_out = at;
	return at > start;
}

static unsigned shift_of(char suffix)
{
	switch (suffix) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return 0;
	}
}

bool word_number(const char *text, size_t length, uint64_t *number_out)
{
	uint64_t number;
	size_t end;

	if (!read_digits(text, length, &number, &end))
		return false;
	if (end < length) {
		unsigned shift = shift_of(text[end]);
		if (shift == 0 || end + 1 != length || number > UINT64_MAX >> shift)
			return false;
		number <<= shift;
	}
	*number_out = number;
	return true;
}

bool words_number(struct words *words, const char *expected, uint64_t least, uint64_t most,
		  uint64_t *number_out)
{
	struct word word = words_next(words);

	if (!word_number(word.text, word.length, number_out))
		return words_refuse(words, &word, "expected %s, as 4096, 0x1000 or 4K", expected);
	if (*number_out < least || *number_out > most)
		return words_refuse(words, &word, "expected %s from %" PRIu64 " to %" PRIu64,
				    expected, least, most);
	return true;
}

bool words_time(struct words *words, uint64_t most_us, uint64_t *microseconds_out)
{
	static const struct {
		const char *suffix;
		uint64_t microseconds;
	} units[] = { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 } };
	struct word word = words_next(words);
	uint64_t number = 0;
	size_t end = 0;

	if (read_digits(word.text, word.length, &number, &end)) {
		struct word suffix = { word.text + end, word.length - end, 0 };
		for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
			if (word_is(&suffix, units[i].suffix) &&
			    number <= most_us / units[i].microseconds) {
				*microseconds_out = number * units[i].microseconds;
				return true;
			}
		}
	}
	return words_refuse(words, &word, "expected a time up to %" PRIu64 "s, as 50us, 20ms or 1s",
			    most_us / 1000000);
}
