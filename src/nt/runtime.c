/* SPDX-License-Identifier: MIT */
/*
 * runtime.c - the C functions kernel code may call, with 16-bit characters and Windows formats.
 *
 * The driver headers redirect wcscmp(), _snwprintf() and their kin to these names: the platform's
 * own would read 32-bit characters and think of 64-bit longs. Results follow Microsoft's C library,
 * which is where the names come from. No state.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <ddk/wdm.h>

#include "nt/format.h"
#include "nt/unicode.h"

size_t DxgkRt_wcslen(const WCHAR *String)
{
	return nt_utf16_length(String, SIZE_MAX);
}

size_t DxgkRt_wcsnlen(const WCHAR *String, size_t Maximum)
{
	return String ? nt_utf16_length(String, Maximum) : 0;
}

static int wide_compare(const WCHAR *first, const WCHAR *second, size_t count, bool ignore_case)
{
	for (size_t i = 0; i < count; i++) {
		WCHAR a = ignore_case ? nt_downcase(first[i]) : first[i];
		WCHAR b = ignore_case ? nt_downcase(second[i]) : second[i];

		if (a != b)
			return a < b ? -1 : 1;
		if (a == 0)
			break;
	}
	return 0;
}

int DxgkRt_wcscmp(const WCHAR *First, const WCHAR *Second)
{
	return wide_compare(First, Second, SIZE_MAX, false);
}

int DxgkRt_wcsncmp(const WCHAR *First, const WCHAR *Second, size_t Count)
{
	return wide_compare(First, Second, Count, false);
}

int DxgkRt_wcsicmp(const WCHAR *First, const WCHAR *Second)
{
	return wide_compare(First, Second, SIZE_MAX, true);
}

int DxgkRt_wcsnicmp(const WCHAR *First, const WCHAR *Second, size_t Count)
{
	return wide_compare(First, Second, Count, true);
}

WCHAR *DxgkRt_wcscpy(WCHAR *Destination, const WCHAR *Source)
{
	memcpy(Destination, Source, (DxgkRt_wcslen(Source) + 1) * sizeof(WCHAR));
	return Destination;
}

WCHAR *DxgkRt_wcsncpy(WCHAR *Destination, const WCHAR *Source, size_t Count)
{
	size_t length = nt_utf16_length(Source, Count);

	memcpy(Destination, Source, length * sizeof(WCHAR));
	memset(Destination + length, 0, (Count - length) * sizeof(WCHAR));
	return Destination;
}

WCHAR *DxgkRt_wcscat(WCHAR *Destination, const WCHAR *Source)
{
	DxgkRt_wcscpy(Destination + DxgkRt_wcslen(Destination), Source);
	return Destination;
}

WCHAR *DxgkRt_wcsncat(WCHAR *Destination, const WCHAR *Source, size_t Count)
{
	WCHAR *end = Destination + DxgkRt_wcslen(Destination);
	size_t length = nt_utf16_length(Source, Count);

	memcpy(end, Source, length * sizeof(WCHAR));
	end[length] = 0;
	return Destination;
}

WCHAR *DxgkRt_wcschr(const WCHAR *String, WCHAR Character)
{
	for (;; String++) {
		if (*String == Character)
			return (WCHAR *)String;
		if (*String == 0)
			return NULL;
	}
}

WCHAR *DxgkRt_wcsrchr(const WCHAR *String, WCHAR Character)
{
	const WCHAR *found = NULL;

	for (;; String++) {
		if (*String == Character)
			found = String;
		if (*String == 0)
			return (WCHAR *)found;
	}
}

WCHAR *DxgkRt_wcsstr(const WCHAR *String, const WCHAR *Part)
{
	size_t length = DxgkRt_wcslen(Part);

	for (;; String++) {
		if (wide_compare(String, Part, length, false) == 0)
			return (WCHAR *)String;
		if (*String == 0)
			return NULL;
	}
}

/* Reads one unit of either kind of string. */
struct number_source {
	const void *text;
	bool is_wide;
};

static unsigned number_unit(const struct number_source *source, size_t index)
{
	return source->is_wide ? ((const WCHAR *)source->text)[index]
			       : ((const UCHAR *)source->text)[index];
}

static unsigned number_digit(unsigned unit)
{
	if (unit >= '0' && unit <= '9')
		return unit - '0';
	if (unit >= 'a' && unit <= 'z')
		return unit - 'a' + 10;
	if (unit >= 'A' && unit <= 'Z')
		return unit - 'A' + 10;
	return UINT_MAX;
}

/* As strtoul() of a 32-bit long: the value saturates, *consumed_out is 0 when there is no number.
 */
static ULONG number_parse(const struct number_source *source, unsigned base, size_t *consumed_out,
			  bool *is_negative_out)
{
	uint64_t value = 0;
	size_t i = 0;
	size_t first_digit;

	*consumed_out = 0;
	*is_negative_out = false;
	if (base == 1 || base > 36)
		return 0;
	while (number_unit(source, i) == ' ' ||
	       (number_unit(source, i) >= '\t' && number_unit(source, i) <= '\r'))
		i++;
	if (number_unit(source, i) == '+' || number_unit(source, i) == '-')
		*is_negative_out = number_unit(source, i++) == '-';
	if ((base == 0 || base == 16) && number_unit(source, i) == '0' &&
	    (number_unit(source, i + 1) | 0x20) == 'x' &&
	    number_digit(number_unit(source, i + 2)) < 16) {
		base = 16;
		i += 2;
	} else if (base == 0) {
		base = number_unit(source, i) == '0' ? 8 : 10;
	}

	for (first_digit = i; number_digit(number_unit(source, i)) < base; i++) {
		value = value * base + number_digit(number_unit(source, i));
		if (value > UINT32_MAX)
			value = (uint64_t)UINT32_MAX + 1;
	}
	if (i == first_digit)
		return 0;
	*consumed_out = i;
	if (value > UINT32_MAX)
		return UINT32_MAX;
	return *is_negative_out ? 0 - (ULONG)value : (ULONG)value;
}

static int number_parse_int(const struct number_source *source)
{
	size_t consumed;
	bool is_negative;
	ULONG value = number_parse(source, 10, &consumed, &is_negative);
	int64_t wide_value =
		is_negative && value != UINT32_MAX ? -(int64_t)(0 - value) : (int64_t)value;

	if (wide_value > INT32_MAX)
		return is_negative ? INT32_MIN : INT32_MAX;
	return wide_value < INT32_MIN ? INT32_MIN : (int)wide_value;
}

ULONG DxgkRt_wcstoul(const WCHAR *String, WCHAR **End, int Base)
{
	struct number_source source = { String, true };
	size_t consumed;
	bool is_negative;
	ULONG value = number_parse(&source, (unsigned)Base, &consumed, &is_negative);

	if (End)
		*End = (WCHAR *)String + consumed;
	return value;
}

ULONG DxgkRt_strtoul(const char *String, char **End, int Base)
{
	struct number_source source = { String, false };
	size_t consumed;
	bool is_negative;
	ULONG value = number_parse(&source, (unsigned)Base, &consumed, &is_negative);

	if (End)
		*End = (char *)String + consumed;
	return value;
}

int DxgkRt_wtoi(const WCHAR *String)
{
	return number_parse_int(&(struct number_source){ String, true });
}

int DxgkRt_atoi(const char *String)
{
	return number_parse_int(&(struct number_source){ String, false });
}

WCHAR DxgkRt_towlower(WCHAR Character)
{
	return nt_downcase(Character);
}

WCHAR DxgkRt_towupper(WCHAR Character)
{
	return nt_upcase(Character);
}

int DxgkRt_tolower(int Character)
{
	return Character >= 'A' && Character <= 'Z' ? Character + 32 : Character;
}

int DxgkRt_toupper(int Character)
{
	return Character >= 'a' && Character <= 'z' ? Character - 32 : Character;
}

int DxgkRt_strnicmp(const char *First, const char *Second, size_t Count)
{
	for (size_t i = 0; i < Count; i++) {
		int a = DxgkRt_tolower((uint8_t)First[i]);
		int b = DxgkRt_tolower((uint8_t)Second[i]);

		if (a != b)
			return a < b ? -1 : 1;
		if (a == 0)
			break;
	}
	return 0;
}

int DxgkRt_stricmp(const char *First, const char *Second)
{
	return DxgkRt_strnicmp(First, Second, SIZE_MAX);
}

/*
 * The _s functions: nothing is written past the end, a destination that cannot hold the result
 * becomes empty, and the answer is an errno value.
 */
enum { SECURE_TRUNCATED = 80 }; /* Microsoft's STRUNCATE */

/* Appends `count` units of `unit_size` bytes and a terminator at `at`. */
static int secure_put(void *destination, size_t capacity, size_t at, const void *source,
		      size_t count, size_t unit_size)
{
	char *bytes = destination;

	/* A capacity may be any number, and _TRUNCATE with the largest would copy all of that. */
	if (at >= capacity || count >= capacity - at || count > PTRDIFF_MAX / unit_size) {
		memset(bytes, 0, unit_size);
		return ERANGE;
	}
	memmove(bytes + at * unit_size, source, count * unit_size);
	memset(bytes + (at + count) * unit_size, 0, unit_size);
	return 0;
}

static int secure_check(void *destination, size_t capacity, const void *source, size_t unit_size)
{
	if (!destination || capacity == 0)
		return EINVAL;
	if (!source) {
		memset(destination, 0, unit_size);
		return EINVAL;
	}
	return 0;
}

static size_t unit_length(const void *text, size_t limit, size_t unit_size)
{
	return unit_size == sizeof(char) ? strnlen(text, limit) : nt_utf16_length(text, limit);
}

static int secure_append(void *destination, size_t capacity, const void *source, size_t unit_size)
{
	int error = secure_check(destination, capacity, source, unit_size);

	if (error)
		return error;
	size_t at = unit_length(destination, capacity, unit_size);
	if (at == capacity) {
		memset(destination, 0, unit_size);
		return EINVAL;
	}
	return secure_put(destination, capacity, at, source,
			  unit_length(source, capacity, unit_size), unit_size);
}

static int secure_copy(void *destination, size_t capacity, const void *source, size_t count,
		       size_t unit_size)
{
	int error = secure_check(destination, capacity, source, unit_size);

	if (error)
		return error;
	size_t length = unit_length(source, count < capacity ? count : capacity, unit_size);
	if (count == SIZE_MAX && length >= capacity) { /* _TRUNCATE */
		secure_put(destination, capacity, 0, source, capacity - 1, unit_size);
		return SECURE_TRUNCATED;
	}
	return secure_put(destination, capacity, 0, source, length, unit_size);
}

int DxgkRt_strcpy_s(char *Destination, size_t Size, const char *Source)
{
	return secure_copy(Destination, Size, Source, Size, sizeof(char));
}

int DxgkRt_strcat_s(char *Destination, size_t Size, const char *Source)
{
	return secure_append(Destination, Size, Source, sizeof(char));
}

int DxgkRt_strncpy_s(char *Destination, size_t Size, const char *Source, size_t Count)
{
	return secure_copy(Destination, Size, Source, Count, sizeof(char));
}

int DxgkRt_wcscpy_s(WCHAR *Destination, size_t Count, const WCHAR *Source)
{
	return secure_copy(Destination, Count, Source, Count, sizeof(WCHAR));
}

int DxgkRt_wcscat_s(WCHAR *Destination, size_t Count, const WCHAR *Source)
{
	return secure_append(Destination, Count, Source, sizeof(WCHAR));
}

int DxgkRt_wcsncpy_s(WCHAR *Destination, size_t Size, const WCHAR *Source, size_t Count)
{
	return secure_copy(Destination, Size, Source, Count, sizeof(WCHAR));
}

int DxgkRt_memmove_s(void *Destination, size_t DestinationSize, const void *Source, size_t Size)
{
	if (Size == 0)
		return 0;
	if (!Destination || !Source)
		return EINVAL;
	if (Size > DestinationSize)
		return ERANGE;
	memmove(Destination, Source, Size);
	return 0;
}

/* Unlike memmove_s, a copy that does not happen leaves zeros behind. */
int DxgkRt_memcpy_s(void *Destination, size_t DestinationSize, const void *Source, size_t Size)
{
	int error = DxgkRt_memmove_s(Destination, DestinationSize, Source, Size);

	if (error && Destination)
		memset(Destination, 0, DestinationSize);
	return error;
}

/* _snprintf: no terminator when the text fills the buffer, negative when it does not fit. */
static int print_result(size_t needed, size_t count)
{
	return needed > count || needed > INT_MAX ? -1 : (int)needed;
}

int DxgkRt_vsnprintf(char *Buffer, size_t Count, const char *Format, va_list Arguments)
{
	size_t written;
	size_t needed = nt_format_narrow(Buffer, Count, &written, Format, Arguments);

	if (written < Count)
		Buffer[written] = '\0';
	return print_result(needed, Count);
}

int DxgkRt_vsnwprintf(WCHAR *Buffer, size_t Count, const WCHAR *Format, va_list Arguments)
{
	size_t written;
	size_t needed = nt_format_wide(Buffer, Count, &written, Format, Arguments);

	if (written < Count)
		Buffer[written] = 0;
	return print_result(needed, Count);
}

int DxgkRt_vsprintf_s(char *Buffer, size_t Count, const char *Format, va_list Arguments)
{
	size_t written;

	if (!Buffer || Count == 0 || !Format)
		return -1;
	size_t needed = nt_format_narrow(Buffer, Count - 1, &written, Format, Arguments);
	Buffer[needed > Count - 1 ? 0 : written] = '\0';
	return print_result(needed, Count - 1);
}

int DxgkRt_vswprintf_s(WCHAR *Buffer, size_t Count, const WCHAR *Format, va_list Arguments)
{
	size_t written;

	if (!Buffer || Count == 0 || !Format)
		return -1;
	size_t needed = nt_format_wide(Buffer, Count - 1, &written, Format, Arguments);
	Buffer[needed > Count - 1 ? 0 : written] = 0;
	return print_result(needed, Count - 1);
}

#define PRINTS(name, print, type)                                                                  \
	int name(type *Buffer, size_t Count, const type *Format, ...)                              \
	{                                                                                          \
		va_list arguments;                                                                 \
                                                                                                   \
		va_start(arguments, Format);                                                       \
		int result = print(Buffer, Count, Format, arguments);                              \
		va_end(arguments);                                                                 \
		return result;                                                                     \
	}
PRINTS(DxgkRt_snprintf, DxgkRt_vsnprintf, char)
PRINTS(DxgkRt_sprintf_s, DxgkRt_vsprintf_s, char)
PRINTS(DxgkRt_snwprintf, DxgkRt_vsnwprintf, WCHAR)
PRINTS(DxgkRt_swprintf_s, DxgkRt_vswprintf_s, WCHAR)
