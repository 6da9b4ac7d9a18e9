/* SPDX-License-Identifier: MIT */
/*
 * strings.c - counted strings: UNICODE_STRING, ANSI_STRING, GUIDs and numbers as text.
 *
 * Length and MaximumLength count bytes. A terminator is written where there is room, and is never
 * part of Length. The "ANSI" code page is UTF-8. Routines that allocate do so from paged pool, and
 * RtlFree…String gives it back. No state.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#include <ddk/wdm.h>

#include "nt/pool.h"
#include "nt/unicode.h"

enum { STRING_MAX_BYTES = 0xfffc }; /* the longest Length that leaves room for a terminator */

/* Counted strings. */

NTSTATUS RtlInitUnicodeStringEx(PUNICODE_STRING DestinationString, PCWSTR SourceString)
{
	size_t length = SourceString ? nt_utf16_length(SourceString, STRING_MAX_BYTES) : 0;

	if (length * sizeof(WCHAR) > STRING_MAX_BYTES)
		return STATUS_NAME_TOO_LONG;
	DestinationString->Length = (USHORT)(length * sizeof(WCHAR));
	DestinationString->MaximumLength =
		SourceString ? (USHORT)((length + 1) * sizeof(WCHAR)) : 0;
	DestinationString->Buffer = (PWSTR)SourceString;
	return STATUS_SUCCESS;
}

VOID RtlInitUnicodeString(PUNICODE_STRING DestinationString, PCWSTR SourceString)
{
	if (NT_SUCCESS(RtlInitUnicodeStringEx(DestinationString, SourceString)))
		return;
	DestinationString->Length = STRING_MAX_BYTES;
	DestinationString->MaximumLength = STRING_MAX_BYTES + sizeof(WCHAR);
	DestinationString->Buffer = (PWSTR)SourceString;
}

VOID RtlInitString(PSTRING DestinationString, PCSZ SourceString)
{
	size_t length = SourceString ? strnlen(SourceString, 0xfffe) : 0;

	DestinationString->Length = (USHORT)length;
	DestinationString->MaximumLength = SourceString ? (USHORT)(length + 1) : 0;
	DestinationString->Buffer = (PCHAR)SourceString;
}

VOID RtlInitAnsiString(PANSI_STRING DestinationString, PCSZ SourceString)
{
	RtlInitString(DestinationString, SourceString);
}

VOID RtlCopyUnicodeString(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString)
{
	USHORT length = 0;

	if (SourceString)
		length = SourceString->Length < DestinationString->MaximumLength
				 ? SourceString->Length
				 : DestinationString->MaximumLength & ~1;
	if (length > 0)
		memmove(DestinationString->Buffer, SourceString->Buffer, length);
	DestinationString->Length = length;
	if (length + sizeof(WCHAR) <= DestinationString->MaximumLength)
		DestinationString->Buffer[length / sizeof(WCHAR)] = 0;
}

VOID RtlCopyString(PSTRING DestinationString, const STRING *SourceString)
{
	USHORT length = 0;

	if (SourceString)
		length = SourceString->Length < DestinationString->MaximumLength
				 ? SourceString->Length
				 : DestinationString->MaximumLength;
	if (length > 0)
		memmove(DestinationString->Buffer, SourceString->Buffer, length);
	DestinationString->Length = length;
}

static NTSTATUS string_append(PUNICODE_STRING destination, const WCHAR *source, size_t bytes)
{
	if (bytes > destination->MaximumLength ||
	    destination->Length > destination->MaximumLength - bytes)
		return STATUS_BUFFER_TOO_SMALL;
	if (bytes == 0)
		return STATUS_SUCCESS;
	memmove(destination->Buffer + destination->Length / sizeof(WCHAR), source, bytes);
	destination->Length = (USHORT)(destination->Length + bytes);
	if (destination->Length + sizeof(WCHAR) <= destination->MaximumLength)
		destination->Buffer[destination->Length / sizeof(WCHAR)] = 0;
	return STATUS_SUCCESS;
}

NTSTATUS RtlAppendUnicodeStringToString(PUNICODE_STRING Destination, PCUNICODE_STRING Source)
{
	return string_append(Destination, Source->Buffer, Source->Length & ~1);
}

NTSTATUS RtlAppendUnicodeToString(PUNICODE_STRING Destination, PCWSTR Source)
{
	if (!Source)
		return STATUS_SUCCESS;
	return string_append(Destination, Source,
			     nt_utf16_length(Source, UNICODE_STRING_MAX_CHARS + 1) * sizeof(WCHAR));
}

LONG RtlCompareUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
			     BOOLEAN CaseInSensitive)
{
	return nt_utf16_compare(String1->Buffer, String1->Length / sizeof(WCHAR), String2->Buffer,
				String2->Length / sizeof(WCHAR), CaseInSensitive);
}

BOOLEAN RtlEqualUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
			      BOOLEAN CaseInSensitive)
{
	return String1->Length == String2->Length &&
	       RtlCompareUnicodeString(String1, String2, CaseInSensitive) == 0;
}

BOOLEAN RtlPrefixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
			       BOOLEAN CaseInSensitive)
{
	size_t length = String1->Length / sizeof(WCHAR);

	return String1->Length <= String2->Length &&
	       nt_utf16_compare(String1->Buffer, length, String2->Buffer, length,
				CaseInSensitive) == 0;
}

static int narrow_upcase(char byte)
{
	return byte >= 'a' && byte <= 'z' ? byte - 32 : (uint8_t)byte;
}

LONG RtlCompareString(const STRING *String1, const STRING *String2, BOOLEAN CaseInSensitive)
{
	USHORT shorter = String1->Length < String2->Length ? String1->Length : String2->Length;

	for (USHORT i = 0; i < shorter; i++) {
		char a = String1->Buffer[i];
		char b = String2->Buffer[i];
		int difference = CaseInSensitive ? narrow_upcase(a) - narrow_upcase(b)
						 : (uint8_t)a - (uint8_t)b;

		if (difference != 0)
			return difference;
	}
	return String1->Length - String2->Length;
}

BOOLEAN RtlEqualString(const STRING *String1, const STRING *String2, BOOLEAN CaseInSensitive)
{
	return String1->Length == String2->Length &&
	       RtlCompareString(String1, String2, CaseInSensitive) == 0;
}

WCHAR RtlUpcaseUnicodeChar(WCHAR SourceCharacter)
{
	return nt_upcase(SourceCharacter);
}

WCHAR RtlDowncaseUnicodeChar(WCHAR SourceCharacter)
{
	return nt_downcase(SourceCharacter);
}

/* Gives `destination` room for `bytes`: fresh, for the driver that called at `site`, or its own. */
static NTSTATUS string_reserve(void *destination, size_t bytes, BOOLEAN allocate, const void *site)
{
	STRING *string = destination; /* the wide kind has the same fields */

	if (bytes > 0xffff)
		return STATUS_INVALID_PARAMETER_2;
	if (!allocate)
		return bytes <= string->MaximumLength ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;

	string->Buffer = nt_pool_alloc_at(site, bytes, NT_STRING_TAG);
	if (!string->Buffer)
		return STATUS_NO_MEMORY;
	string->MaximumLength = (USHORT)bytes;
	return STATUS_SUCCESS;
}

NTSTATUS RtlUpcaseUnicodeString(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString,
				BOOLEAN AllocateDestinationString)
{
	NTSTATUS status = STATUS_SUCCESS;

	if (SourceString->Length > 0 || AllocateDestinationString)
		status = string_reserve(DestinationString,
					SourceString->Length +
						(AllocateDestinationString ? sizeof(WCHAR) : 0),
					AllocateDestinationString, CALLER);
	if (!NT_SUCCESS(status))
		return status;
	for (size_t i = 0; i < SourceString->Length / sizeof(WCHAR); i++)
		DestinationString->Buffer[i] = nt_upcase(SourceString->Buffer[i]);
	DestinationString->Length = SourceString->Length & ~1;
	if (AllocateDestinationString)
		DestinationString->Buffer[SourceString->Length / sizeof(WCHAR)] = 0;
	return STATUS_SUCCESS;
}

NTSTATUS RtlAnsiStringToUnicodeString(PUNICODE_STRING DestinationString, PCANSI_STRING SourceString,
				      BOOLEAN AllocateDestinationString)
{
	size_t units = nt_utf16_from_utf8(NULL, 0, SourceString->Buffer, SourceString->Length);
	NTSTATUS status = string_reserve(DestinationString, (units + 1) * sizeof(WCHAR),
					 AllocateDestinationString, CALLER);

	if (!NT_SUCCESS(status))
		return status;
	nt_utf16_from_utf8(DestinationString->Buffer, units, SourceString->Buffer,
			   SourceString->Length);
	DestinationString->Buffer[units] = 0;
	DestinationString->Length = (USHORT)(units * sizeof(WCHAR));
	return STATUS_SUCCESS;
}

NTSTATUS RtlUnicodeStringToAnsiString(PANSI_STRING DestinationString, PCUNICODE_STRING SourceString,
				      BOOLEAN AllocateDestinationString)
{
	size_t units = SourceString->Length / sizeof(WCHAR);
	size_t bytes = nt_utf8_from_utf16(NULL, 0, SourceString->Buffer, units);
	NTSTATUS status =
		string_reserve(DestinationString, bytes + 1, AllocateDestinationString, CALLER);

	if (!NT_SUCCESS(status))
		return status;
	nt_utf8_from_utf16(DestinationString->Buffer, bytes, SourceString->Buffer, units);
	DestinationString->Buffer[bytes] = '\0';
	DestinationString->Length = (USHORT)bytes;
	return STATUS_SUCCESS;
}

VOID RtlFreeUnicodeString(PUNICODE_STRING UnicodeString)
{
	if (UnicodeString->Buffer)
		ExFreePoolWithTag(UnicodeString->Buffer, NT_STRING_TAG);
	memset(UnicodeString, 0, sizeof(*UnicodeString));
}

VOID RtlFreeAnsiString(PANSI_STRING AnsiString)
{
	RtlFreeUnicodeString((PUNICODE_STRING)(void *)AnsiString); /* it has the same fields */
}

ULONG RtlxUnicodeStringToAnsiSize(PCUNICODE_STRING UnicodeString)
{
	return (ULONG)nt_utf8_from_utf16(NULL, 0, UnicodeString->Buffer,
					 UnicodeString->Length / sizeof(WCHAR)) +
	       1;
}

ULONG RtlxAnsiStringToUnicodeSize(PCANSI_STRING AnsiString)
{
	return (ULONG)((nt_utf16_from_utf8(NULL, 0, AnsiString->Buffer, AnsiString->Length) + 1) *
		       sizeof(WCHAR));
}

/* True when a conversion had to put U+FFFD where the source had something else. */
static bool utf16_is_broken(const WCHAR *text, size_t units)
{
	const WCHAR *end = text + units;

	while (text != end) {
		const WCHAR *start = text;
		if (nt_utf16_next(&text, end) == 0xfffd && *start != 0xfffd)
			return true;
	}
	return false;
}

static bool utf8_is_broken(const char *text, size_t bytes)
{
	const char *end = text + bytes;

	while (text != end) {
		const char *start = text;
		if (utf8_next(&text, end) == 0xfffd &&
		    memcmp(start, "\xef\xbf\xbd", (size_t)(text - start)) != 0)
			return true;
	}
	return false;
}

NTSTATUS RtlUnicodeToUTF8N(PCHAR UTF8StringDestination, ULONG UTF8StringMaxByteCount,
			   PULONG UTF8StringActualByteCount, PCWCH UnicodeStringSource,
			   ULONG UnicodeStringByteCount)
{
	size_t units = UnicodeStringByteCount / sizeof(WCHAR);

	if (!UnicodeStringSource)
		return STATUS_INVALID_PARAMETER_4;
	if (UnicodeStringByteCount % sizeof(WCHAR) != 0)
		return STATUS_INVALID_PARAMETER_5;
	if (!UTF8StringDestination && !UTF8StringActualByteCount)
		return STATUS_INVALID_PARAMETER;

	size_t needed = nt_utf8_from_utf16(UTF8StringDestination,
					   UTF8StringDestination ? UTF8StringMaxByteCount : 0,
					   UnicodeStringSource, units);
	if (UTF8StringActualByteCount)
		*UTF8StringActualByteCount = (ULONG)needed;
	if (UTF8StringDestination && needed > UTF8StringMaxByteCount)
		return STATUS_BUFFER_TOO_SMALL;
	return utf16_is_broken(UnicodeStringSource, units) ? STATUS_SOME_NOT_MAPPED
							   : STATUS_SUCCESS;
}

NTSTATUS RtlUTF8ToUnicodeN(PWSTR UnicodeStringDestination, ULONG UnicodeStringMaxByteCount,
			   PULONG UnicodeStringActualByteCount, PCSTR UTF8StringSource,
			   ULONG UTF8StringByteCount)
{
	size_t capacity = UnicodeStringMaxByteCount / sizeof(WCHAR);

	if (!UTF8StringSource)
		return STATUS_INVALID_PARAMETER_4;
	if (!UnicodeStringDestination && !UnicodeStringActualByteCount)
		return STATUS_INVALID_PARAMETER;

	size_t needed = nt_utf16_from_utf8(UnicodeStringDestination,
					   UnicodeStringDestination ? capacity : 0,
					   UTF8StringSource, UTF8StringByteCount);
	if (UnicodeStringActualByteCount)
		*UnicodeStringActualByteCount = (ULONG)(needed * sizeof(WCHAR));
	if (UnicodeStringDestination && needed > capacity)
		return STATUS_BUFFER_TOO_SMALL;
	return utf8_is_broken(UTF8StringSource, UTF8StringByteCount) ? STATUS_SOME_NOT_MAPPED
								     : STATUS_SUCCESS;
}

/* Numbers and GUIDs. */

NTSTATUS RtlInt64ToUnicodeString(ULONGLONG Value, ULONG Base, PUNICODE_STRING String)
{
	WCHAR digits[64];
	size_t count = 0;

	if (Base == 0)
		Base = 10;
	if (Base != 2 && Base != 8 && Base != 10 && Base != 16)
		return STATUS_INVALID_PARAMETER;
	do {
		digits[ARRAYSIZE(digits) - ++count] = (WCHAR) "0123456789ABCDEF"[Value % Base];
		Value /= Base;
	} while (Value != 0);

	if (count * sizeof(WCHAR) > String->MaximumLength)
		return STATUS_BUFFER_OVERFLOW;
	memcpy(String->Buffer, digits + ARRAYSIZE(digits) - count, count * sizeof(WCHAR));
	String->Length = (USHORT)(count * sizeof(WCHAR));
	if (String->Length + sizeof(WCHAR) <= String->MaximumLength)
		String->Buffer[count] = 0;
	return STATUS_SUCCESS;
}

NTSTATUS RtlIntegerToUnicodeString(ULONG Value, ULONG Base, PUNICODE_STRING String)
{
	return RtlInt64ToUnicodeString(Value, Base, String);
}

static ULONG digit_value(WCHAR unit)
{
	if (unit >= '0' && unit <= '9')
		return unit - '0';
	if (unit >= 'a' && unit <= 'f')
		return unit - 'a' + 10u;
	if (unit >= 'A' && unit <= 'F')
		return unit - 'A' + 10u;
	return 16;
}

NTSTATUS RtlUnicodeStringToInteger(PCUNICODE_STRING String, ULONG Base, PULONG Value)
{
	const WCHAR *text = String->Buffer;
	const WCHAR *end = text + String->Length / sizeof(WCHAR);
	bool is_negative = false;
	ULONG value = 0;

	while (text != end && *text <= ' ')
		text++;
	if (text != end && (*text == '+' || *text == '-'))
		is_negative = *text++ == '-';
	if (Base == 0) {
		Base = 10;
		if (end - text >= 2 && text[0] == '0') {
			Base = text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : text[1] == 'b' ? 2 : 10;
			text += Base == 10 ? 0 : 2;
		}
	} else if (Base != 2 && Base != 8 && Base != 10 && Base != 16) {
		return STATUS_INVALID_PARAMETER;
	}
	if (!Value)
		return STATUS_ACCESS_VIOLATION;

	for (; text != end && digit_value(*text) < Base; text++)
		value = value * Base + digit_value(*text);
	*Value = is_negative ? 0 - value : value;
	return STATUS_SUCCESS;
}

enum { GUID_TEXT_LENGTH = 38 };

/* Where each byte of a GUID stands in its text, in the order the text is read. */
static const char guid_pattern[] = "{33221100-5544-7766-8899-aabbccddeeff}";

NTSTATUS RtlStringFromGUID(REFGUID Guid, PUNICODE_STRING GuidString)
{
	const uint8_t *bytes = (const uint8_t *)Guid;
	NTSTATUS status =
		string_reserve(GuidString, (GUID_TEXT_LENGTH + 1) * sizeof(WCHAR), TRUE, CALLER);

	if (!NT_SUCCESS(status))
		return status;
	for (size_t i = 0; i < GUID_TEXT_LENGTH; i++) {
		ULONG index = digit_value((WCHAR)guid_pattern[i]);

		if (index == 16) {
			GuidString->Buffer[i] = (WCHAR)guid_pattern[i];
			continue;
		}
		GuidString->Buffer[i] = (WCHAR) "0123456789ABCDEF"[bytes[index] >> 4];
		i++;
		GuidString->Buffer[i] = (WCHAR) "0123456789ABCDEF"[bytes[index] & 0xf];
	}
	GuidString->Buffer[GUID_TEXT_LENGTH] = 0;
	GuidString->Length = GUID_TEXT_LENGTH * sizeof(WCHAR);
	return STATUS_SUCCESS;
}

NTSTATUS RtlGUIDFromString(PCUNICODE_STRING GuidString, GUID *Guid)
{
	const WCHAR *text = GuidString->Buffer;
	uint8_t bytes[sizeof(GUID)];

	if (GuidString->Length < GUID_TEXT_LENGTH * sizeof(WCHAR))
		return STATUS_INVALID_PARAMETER;
	for (size_t i = 0; i < GUID_TEXT_LENGTH; i++) {
		ULONG index = digit_value((WCHAR)guid_pattern[i]);

		if (index == 16) {
			if (text[i] != (WCHAR)guid_pattern[i])
				return STATUS_INVALID_PARAMETER;
			continue;
		}
		ULONG high = digit_value(text[i]);
		ULONG low = digit_value(text[++i]);
		if (high == 16 || low == 16)
			return STATUS_INVALID_PARAMETER;
		bytes[index] = (uint8_t)(high << 4 | low);
	}
	memcpy(Guid, bytes, sizeof(bytes));
	return STATUS_SUCCESS;
}
