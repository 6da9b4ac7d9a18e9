/* SPDX-License-Identifier: MIT */
/*
 * text.h - between the client's wchar_t and our UTF-8.
 */
#ifndef DISPATCH_TEXT_H
#define DISPATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <dxg/dxgtypes.h>

#include "base/attributes.h"

/* How many WCHARs the text needs, the final zero included. */
size_t text_wide_count(const char *text);

/* Writes at most `capacity` WCHARs, always with a final zero; capacity is not 0. */
void text_to_wide(WCHAR *wide, size_t capacity, const char *text);

/*
 * False when there is no zero within `capacity` WCHARs, the text does not fit, or a WCHAR is no
 * character.
 */
MUST_CHECK bool text_from_wide(char *text, size_t text_bytes, const WCHAR *wide, size_t capacity);

#endif
