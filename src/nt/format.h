/* SPDX-License-Identifier: MIT */
/*
 * format.h - printf as the Windows kernel understands it.
 *
 * Sizes are Windows sizes (%lx is 32 bits, %I64x and %llx are 64, %Ix and %p are a pointer), text
 * is narrow or 16-bit as the letter and its prefix say (%S is the other kind, %hs narrow, %ws and
 * %ls wide), %Z and %wZ print counted strings, %p is sixteen upper-case digits. WPP's %!STATUS!,
 * %!HRESULT! and %!GUID! print what they name; any other %!…! stands as it is.
 *
 * Both write at most `limit` units, no terminator, and at the end no half of a character. They
 * return the units the whole text needs; *written_out (may be NULL) is what was written.
 */
#ifndef NT_FORMAT_H
#define NT_FORMAT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

size_t nt_format_narrow(char *buffer, size_t limit, size_t *written_out, const char *format,
			va_list arguments);
size_t nt_format_wide(uint16_t *buffer, size_t limit, size_t *written_out, const uint16_t *format,
		      va_list arguments);

#endif
