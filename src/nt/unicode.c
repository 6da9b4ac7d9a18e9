/* SPDX-License-Identifier: MIT */
/*
 * unicode.c - UTF-8, UTF-16, and the case of a letter. No state, no locks, no locale.
 */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "nt/unicode.h"

#define REPLACEMENT 0xfffdu

struct upcase_run {
	uint16_t first;
	uint16_t last;
	int32_t delta;
	uint16_t step;
};

static const struct upcase_run upcase_runs[] = {
#include "nt/upcase.inc"
};

uint32_t nt_utf16_next(const uint16_t **text, const uint16_t *end)
{
	uint16_t unit = *(*text)++;

	if (unit < 0xd800 || unit > 0xdfff)
		return unit;
	if (unit > 0xdbff || *text == end || **text < 0xdc00 || **text > 0xdfff)
		return REPLACEMENT;
	return 0x10000u + (((uint32_t)unit - 0xd800u) << 10) + (*(*text)++ - 0xdc00u);
}

size_t nt_utf16_encode(uint32_t character, uint16_t unit[2])
{
	if (character < 0x10000) {
		unit[0] = (uint16_t)character;
		return 1;
	}
	unit[0] = (uint16_t)(0xd800u + ((character - 0x10000u) >> 10));
	unit[1] = (uint16_t)(0xdc00u + ((character - 0x10000u) & 0x3ffu));
	return 2;
}

size_t nt_utf8_from_utf16(char *buffer, size_t capacity, const uint16_t *text, size_t length)
{
	const uint16_t *end = text + length;
	size_t needed = 0;
	bool is_full = !buffer;

	while (text != end) {
		char byte[4];
		size_t count = utf8_encode(nt_utf16_next(&text, end), byte);

		is_full = is_full || needed + count > capacity;
		if (!is_full)
			memcpy(buffer + needed, byte, count);
		needed += count;
	}
	return needed;
}

size_t nt_utf16_from_utf8(uint16_t *buffer, size_t capacity, const char *text, size_t length)
{
	const char *end = text + length;
	size_t needed = 0;
	bool is_full = false;

	while (text != end) {
		uint16_t unit[2];
		size_t count = nt_utf16_encode(utf8_next(&text, end), unit);

		is_full = is_full || needed + count > capacity;
		if (!is_full)
			memcpy(buffer + needed, unit, count * sizeof(unit[0]));
		needed += count;
	}
	return needed;
}

char *nt_utf8_dup(const uint16_t *text, size_t length)
{
	size_t needed = nt_utf8_from_utf16(NULL, 0, text, length);
	char *copy = mem_alloc(needed + 1);

	if (!copy)
		return NULL;
	nt_utf8_from_utf16(copy, needed, text, length);
	copy[needed] = '\0';
	return copy;
}

uint16_t *nt_utf16_dup(const char *text, size_t *length_out)
{
	size_t bytes = strlen(text);
	size_t needed = nt_utf16_from_utf8(NULL, 0, text, bytes);
	uint16_t *copy = mem_alloc((needed + 1) * sizeof(*copy));

	if (!copy)
		return NULL;
	nt_utf16_from_utf8(copy, needed, text, bytes);
	copy[needed] = 0;
	if (length_out)
		*length_out = needed;
	return copy;
}

size_t nt_utf16_length(const uint16_t *text, size_t limit)
{
	size_t length = 0;

	while (length < limit && text[length] != 0)
		length++;
	return length;
}

uint16_t nt_upcase(uint16_t unit)
{
	size_t low = 0;
	size_t high = ARRAY_SIZE(upcase_runs);

	if (unit < 0x80)
		return unit >= 'a' && unit <= 'z' ? (uint16_t)(unit - 32) : unit;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct upcase_run *run = &upcase_runs[middle];

		if (unit > run->last)
			low = middle + 1;
		else if (unit < run->first)
			high = middle;
		else if ((unit - run->first) % run->step != 0)
			return unit;
		else
			return (uint16_t)(unit + run->delta);
	}
	return unit;
}

uint16_t nt_downcase(uint16_t unit)
{
	if (unit < 0x80)
		return unit >= 'A' && unit <= 'Z' ? (uint16_t)(unit + 32) : unit;
	/* Not in order of the upper letters, and rarely asked. */
	for (size_t i = 0; i < ARRAY_SIZE(upcase_runs); i++) {
		const struct upcase_run *run = &upcase_runs[i];
		int32_t lower = unit - run->delta;

		if (lower >= run->first && lower <= run->last &&
		    (lower - run->first) % run->step == 0)
			return (uint16_t)lower;
	}
	return unit;
}

int nt_utf16_compare(const uint16_t *a, size_t a_length, const uint16_t *b, size_t b_length,
		     bool ignore_case)
{
	size_t shorter = a_length < b_length ? a_length : b_length;

	for (size_t i = 0; i < shorter; i++) {
		uint16_t left = ignore_case ? nt_upcase(a[i]) : a[i];
		uint16_t right = ignore_case ? nt_upcase(b[i]) : b[i];

		if (left != right)
			return (int)left - (int)right;
	}
	return a_length < b_length ? -1 : a_length > b_length;
}
