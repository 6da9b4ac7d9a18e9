/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

uint32_t utf8_next(const char **text, const char *end)
{
	uint8_t lead = (uint8_t) * (*text)++;
	uint32_t character;
	unsigned trail;
	/* The second byte's range excludes overlong forms, surrogates and what is beyond U+10FFFF.
	 */
	uint8_t low = 0x80;
	uint8_t high = 0xbf;

	if (lead < 0x80)
		return lead;
	if (lead >= 0xc2 && lead <= 0xdf) {
		trail = 1;
		character = lead & 0x1fu;
	} else if (lead >= 0xe0 && lead <= 0xef) {
		trail = 2;
		character = lead & 0x0fu;
		low = lead == 0xe0 ? 0xa0 : 0x80;
		high = lead == 0xed ? 0x9f : 0xbf;
	} else if (lead >= 0xf0 && lead <= 0xf4) {
		trail = 3;
		character = lead & 0x07u;
		low = lead == 0xf0 ? 0x90 : 0x80;
		high = lead == 0xf4 ? 0x8f : 0xbf;
	} else {
		return UTF8_REPLACEMENT;
	}

	for (; trail > 0; trail--) {
		if (*text == end)
			return UTF8_REPLACEMENT;
		uint8_t byte = (uint8_t) * *text;
		if (byte < low || byte > high)
			return UTF8_REPLACEMENT;
		(*text)++;
		character = character << 6 | (byte & 0x3fu);
		low = 0x80;
		high = 0xbf;
	}
	return character;
}

size_t utf8_encode(uint32_t character, char byte[4])
{
	if (character < 0x80) {
		byte[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		byte[0] = (char)(0xc0u | character >> 6);
		byte[1] = (char)(0x80u | (character & 0x3fu));
		return 2;
	}
	if (character < 0x10000) {
		byte[0] = (char)(0xe0u | character >> 12);
		byte[1] = (char)(0x80u | (character >> 6 & 0x3fu));
		byte[2] = (char)(0x80u | (character & 0x3fu));
		return 3;
	}
	byte[0] = (char)(0xf0u | character >> 18);
	byte[1] = (char)(0x80u | (character >> 12 & 0x3fu));
	byte[2] = (char)(0x80u | (character >> 6 & 0x3fu));
	byte[3] = (char)(0x80u | (character & 0x3fu));
	return 4;
}
