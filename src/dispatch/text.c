/* SPDX-License-Identifier: MIT */
/*
 * text.c - see text.h. WCHAR is 4 bytes here: one per character, no surrogates.
 */
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "dispatch/text.h"

_Static_assert(sizeof(WCHAR) == 4, "the client ABI has 4-byte characters");

size_t text_wide_count(const char *text)
{
	const char *end = text + strlen(text);
	size_t count = 1;

	for (; text < end; count++)
		utf8_next(&text, end);
	return count;
}

void text_to_wide(WCHAR *wide, size_t capacity, const char *text)
{
	const char *end = text + strlen(text);
	size_t used = 0;

	while (text < end && used + 1 < capacity)
		wide[used++] = (WCHAR)utf8_next(&text, end);
	wide[used] = 0;
}

bool text_from_wide(char *text, size_t text_bytes, const WCHAR *wide, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < capacity; i++) {
		uint32_t character = (uint32_t)wide[i];
		char bytes[4];

		if (character == 0) {
			if (used == text_bytes)
				return false;
			text[used] = '\0';
			return true;
		}
		if (!utf8_is_character(character))
			return false;
		size_t length = utf8_encode(character, bytes);
		if (length >= text_bytes - used) /* the final zero needs room, too */
			return false;
		memcpy(text + used, bytes, length);
		used += length;
	}
	return false;
}
