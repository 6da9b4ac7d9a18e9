/*
 * text.c - see text.h. WCHAR is 4 bytes here: one per character, no surrogates.
 */
#include <stdint.h>

#include "dispatch/text.h"

_Static_assert(sizeof(WCHAR) == 4, "the client ABI has 4-byte characters");

enum { REPLACEMENT_CHARACTER = 0xfffd, LAST_CHARACTER = 0x10ffff };

/* The next character; malformed bytes count as one replacement character each. */
static uint32_t next_character(const char **text)
{
	const unsigned char *bytes = (const unsigned char *)*text;
	unsigned more = bytes[0] < 0x80             ? 0
			: (bytes[0] & 0xe0) == 0xc0 ? 1
			: (bytes[0] & 0xf0) == 0xe0 ? 2
			: (bytes[0] & 0xf8) == 0xf0 ? 3
						    : UINT32_MAX;

	(*text)++;
	if (more == 0)
		return bytes[0];
	if (more == UINT32_MAX)
		return REPLACEMENT_CHARACTER;
	uint32_t character = bytes[0] & (0x3fu >> more);
	for (unsigned i = 1; i <= more; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return REPLACEMENT_CHARACTER;
		character = (character << 6) | (bytes[i] & 0x3f);
	}
	*text += more;
	return character;
}

size_t text_wide_count(const char *text)
{
	size_t count = 1;

	while (*text) {
		next_character(&text);
		count++;
	}
	return count;
}

void text_to_wide(WCHAR *wide, size_t capacity, const char *text)
{
	size_t used = 0;

	while (*text && used + 1 < capacity)
		wide[used++] = (WCHAR)next_character(&text);
	wide[used] = 0;
}

static size_t put_character(char *text, uint32_t character)
{
	if (character < 0x80) {
		text[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		text[0] = (char)(0xc0 | (character >> 6));
		text[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		text[0] = (char)(0xe0 | (character >> 12));
		text[1] = (char)(0x80 | ((character >> 6) & 0x3f));
		text[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	text[0] = (char)(0xf0 | (character >> 18));
	text[1] = (char)(0x80 | ((character >> 12) & 0x3f));
	text[2] = (char)(0x80 | ((character >> 6) & 0x3f));
	text[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

bool text_from_wide(char *text, size_t text_bytes, const WCHAR *wide, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < capacity; i++) {
		uint32_t character = (uint32_t)wide[i];
		if (character == 0) {
			text[used] = '\0';
			return true;
		}
		if (character > LAST_CHARACTER || (character >= 0xd800 && character <= 0xdfff))
			return false;
		if (used + 5 > text_bytes) /* four bytes and the final zero */
			return false;
		used += put_character(text + used, character);
	}
	return false;
}
