/* SPDX-License-Identifier: MIT */
/*
 * unicode.h - between the kernel's UTF-8 and the drivers' 16-bit text.
 *
 * Sizes count units: bytes on the UTF-8 side, 16-bit units on the other. What is not valid text (a
 * lone surrogate, a broken sequence, an overlong one) becomes U+FFFD, one for each offending unit
 * or maximal broken piece, so a conversion never fails. The same converter serves as the "ANSI"
 * code page of the Rtl routines: ours is UTF-8.
 */
#ifndef NT_UNICODE_H
#define NT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Of pool that holds text and is given back by RtlFreeUnicodeString or RtlFreeAnsiString. */
#define NT_STRING_TAG 0x72745352 /* "RStr" */

/*
 * Converts all `length` units. Writes at most `capacity` units, never part of a character, and no
 * terminator. Returns the units that the whole text needs; `buffer` may be NULL with capacity 0.
 */
size_t nt_utf8_from_utf16(char *buffer, size_t capacity, const uint16_t *text, size_t length);
size_t nt_utf16_from_utf8(uint16_t *buffer, size_t capacity, const char *text, size_t length);

/* The same into fresh, terminated memory (mem_free() it); NULL when there is none. */
MUST_CHECK char *nt_utf8_dup(const uint16_t *text, size_t length);
MUST_CHECK uint16_t *nt_utf16_dup(const char *text, size_t *length_out);

/* One character; advances *text. `end` is past the last unit, and *text is before it. */
uint32_t nt_utf16_next(const uint16_t **text, const uint16_t *end);

/* One or two units; returns how many. */
size_t nt_utf16_encode(uint32_t character, uint16_t unit[2]);

/* Units before the terminator, at most `limit`. */
size_t nt_utf16_length(const uint16_t *text, size_t limit);

/* As NT compares names: unit by unit, upper-cased one to one. */
uint16_t nt_upcase(uint16_t unit);
uint16_t nt_downcase(uint16_t unit);
int nt_utf16_compare(const uint16_t *a, size_t a_length, const uint16_t *b, size_t b_length,
		     bool ignore_case);

#endif
