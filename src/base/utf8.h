/* SPDX-License-Identifier: MIT */
/*
 * utf8.h - characters in and out of UTF-8, the one encoding inside the project.
 *
 * What is not valid text (a broken sequence, an overlong one, a surrogate) becomes U+FFFD, one for
 * each maximal broken piece, so nothing here fails.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xfffdu

/* The next character; advances *text, which is before `end`. */
uint32_t utf8_next(const char **text, const char *end);

/* Writes one character and returns how many bytes it took. */
size_t utf8_encode(uint32_t character, char byte[4]);

/* No surrogate, and not beyond the last one. */
static inline bool utf8_is_character(uint32_t character)
{
	return character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
}

#endif
