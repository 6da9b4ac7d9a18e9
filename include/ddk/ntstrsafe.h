/* SPDX-License-Identifier: MIT */
/*
 * ntstrsafe.h - string functions that always terminate and say when they cut something off.
 *
 * Sizes are of the destination, in characters (Cch) or bytes (Cb), terminator included. A text that
 * does not fit is truncated and the status is STATUS_BUFFER_OVERFLOW; a size of nothing or of more
 * than NTSTRSAFE_MAX_CCH characters is STATUS_INVALID_PARAMETER. Counted strings
 * (RtlUnicodeString*) get no terminator.
 */
#ifndef OPENDXGK_DDK_NTSTRSAFE_H
#define OPENDXGK_DDK_NTSTRSAFE_H

#include "wdm_rtl.h"

#define NTSTRSAFE_MAX_CCH                2147483647
#define NTSTRSAFE_UNICODE_STRING_MAX_CCH (0xffff / sizeof(WCHAR))
#define NTSTRSAFEDDI                     OPENDXGK_INLINE NTSTATUS
#define NTSTRSAFE_PWSTR                  PWSTR
#define NTSTRSAFE_PCWSTR                 PCWSTR
#define NTSTRSAFE_PSTR                   PSTR
#define NTSTRSAFE_PCSTR                  PCSTR

/* The same family for both widths: X is the suffix, C the character. */
#define OPENDXGK_STRSAFE_FAMILY(X, C, vformat)                                                     \
	OPENDXGK_INLINE NTSTATUS RtlStringCchLength##X(const C *Source, size_t Maximum,            \
						       size_t *Length)                             \
	{                                                                                          \
		size_t length = 0;                                                                 \
                                                                                                   \
		if (Length)                                                                        \
			*Length = 0;                                                               \
		if (!Source || Maximum > NTSTRSAFE_MAX_CCH)                                        \
			return STATUS_INVALID_PARAMETER;                                           \
		while (length < Maximum && Source[length])                                         \
			length++;                                                                  \
		if (length == Maximum)                                                             \
			return STATUS_INVALID_PARAMETER;                                           \
		if (Length)                                                                        \
			*Length = length;                                                          \
		return STATUS_SUCCESS;                                                             \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCchCopyN##X(C *Destination, size_t Size,                 \
						      const C *Source, size_t Count)               \
	{                                                                                          \
		size_t i = 0;                                                                      \
                                                                                                   \
		if (Size == 0 || Size > NTSTRSAFE_MAX_CCH)                                         \
			return STATUS_INVALID_PARAMETER;                                           \
		for (; i < Count && Source[i]; i++) {                                              \
			if (i + 1 == Size) {                                                       \
				Destination[i] = 0;                                                \
				return STATUS_BUFFER_OVERFLOW;                                     \
			}                                                                          \
			Destination[i] = Source[i];                                                \
		}                                                                                  \
		Destination[i] = 0;                                                                \
		return STATUS_SUCCESS;                                                             \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCchCopy##X(C *Destination, size_t Size, const C *Source) \
	{                                                                                          \
		return RtlStringCchCopyN##X(Destination, Size, Source, NTSTRSAFE_MAX_CCH);         \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCchCatN##X(C *Destination, size_t Size, const C *Source, \
						     size_t Count)                                 \
	{                                                                                          \
		size_t length;                                                                     \
		NTSTATUS status = RtlStringCchLength##X(Destination, Size, &length);               \
                                                                                                   \
		if (!NT_SUCCESS(status))                                                           \
			return status;                                                             \
		return RtlStringCchCopyN##X(Destination + length, Size - length, Source, Count);   \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCchCat##X(C *Destination, size_t Size, const C *Source)  \
	{                                                                                          \
		return RtlStringCchCatN##X(Destination, Size, Source, NTSTRSAFE_MAX_CCH);          \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCchVPrintf##X(C *Destination, size_t Size,               \
							const C *Format, va_list Arguments)        \
	{                                                                                          \
		if (Size == 0 || Size > NTSTRSAFE_MAX_CCH)                                         \
			return STATUS_INVALID_PARAMETER;                                           \
		int written = vformat(Destination, Size - 1, Format, Arguments);                   \
		if (written < 0 || (size_t)written > Size - 1) {                                   \
			Destination[Size - 1] = 0;                                                 \
			return STATUS_BUFFER_OVERFLOW;                                             \
		}                                                                                  \
		Destination[written] = 0;                                                          \
		return STATUS_SUCCESS;                                                             \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCchPrintf##X(C *Destination, size_t Size,                \
						       const C *Format, ...)                       \
	{                                                                                          \
		va_list arguments;                                                                 \
                                                                                                   \
		va_start(arguments, Format);                                                       \
		NTSTATUS status = RtlStringCchVPrintf##X(Destination, Size, Format, arguments);    \
		va_end(arguments);                                                                 \
		return status;                                                                     \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCbLength##X(const C *Source, size_t Maximum,             \
						      size_t *Length)                              \
	{                                                                                          \
		NTSTATUS status = RtlStringCchLength##X(Source, Maximum / sizeof(C), Length);      \
                                                                                                   \
		if (Length)                                                                        \
			*Length *= sizeof(C);                                                      \
		return status;                                                                     \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCbCopyN##X(C *Destination, size_t Size, const C *Source, \
						     size_t Count)                                 \
	{                                                                                          \
		return RtlStringCchCopyN##X(Destination, Size / sizeof(C), Source,                 \
					    Count / sizeof(C));                                    \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCbCopy##X(C *Destination, size_t Size, const C *Source)  \
	{                                                                                          \
		return RtlStringCchCopy##X(Destination, Size / sizeof(C), Source);                 \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCbCatN##X(C *Destination, size_t Size, const C *Source,  \
						    size_t Count)                                  \
	{                                                                                          \
		return RtlStringCchCatN##X(Destination, Size / sizeof(C), Source,                  \
					   Count / sizeof(C));                                     \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCbCat##X(C *Destination, size_t Size, const C *Source)   \
	{                                                                                          \
		return RtlStringCchCat##X(Destination, Size / sizeof(C), Source);                  \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCbVPrintf##X(C *Destination, size_t Size,                \
						       const C *Format, va_list Arguments)         \
	{                                                                                          \
		return RtlStringCchVPrintf##X(Destination, Size / sizeof(C), Format, Arguments);   \
	}                                                                                          \
	OPENDXGK_INLINE NTSTATUS RtlStringCbPrintf##X(C *Destination, size_t Size,                 \
						      const C *Format, ...)                        \
	{                                                                                          \
		va_list arguments;                                                                 \
                                                                                                   \
		va_start(arguments, Format);                                                       \
		NTSTATUS status = RtlStringCbVPrintf##X(Destination, Size, Format, arguments);     \
		va_end(arguments);                                                                 \
		return status;                                                                     \
	}

/* Flags of the functions ending in Ex; the low byte is what a buffer is filled with. */
#define STRSAFE_IGNORE_NULLS     0x00000100
#define STRSAFE_FILL_BEHIND_NULL 0x00000200
#define STRSAFE_FILL_ON_FAILURE  0x00000400
#define STRSAFE_NULL_ON_FAILURE  0x00000800
#define STRSAFE_NO_TRUNCATION    0x00001000
#define STRSAFE_FILL_BYTE(byte)  ((ULONG)(((byte)&0xff) | STRSAFE_FILL_BEHIND_NULL))
#define STRSAFE_FAILURE_BYTE(byte) ((ULONG)(((byte)&0xff) | STRSAFE_FILL_ON_FAILURE))

/* The same, and where the text ends and how many characters are left, its terminator counted. */
#define OPENDXGK_STRSAFE_EX_FAMILY(X, C) \
	OPENDXGK_INLINE NTSTATUS OpendxgkStringFinish##X(C *Destination, size_t Size, C **End, \
							 size_t *Remaining, ULONG Flags, \
							 NTSTATUS status) \
	{ \
		size_t length = 0; \
 \
		if (status == STATUS_INVALID_PARAMETER) \
			return status; \
		if (status != STATUS_SUCCESS && (Flags & STRSAFE_FILL_ON_FAILURE)) { \
			memset(Destination, (int)(Flags & 0xff), Size * sizeof(C)); \
			Destination[(Flags & 0xff) ? Size - 1 : 0] = 0; \
		} \
		if (status != STATUS_SUCCESS && \
		    (Flags & (STRSAFE_NULL_ON_FAILURE | STRSAFE_NO_TRUNCATION))) \
			Destination[0] = 0; \
		while (Destination[length]) \
			length++; \
		if (status == STATUS_SUCCESS && (Flags & STRSAFE_FILL_BEHIND_NULL)) \
			memset(Destination + length + 1, (int)(Flags & 0xff), \
			       (Size - length - 1) * sizeof(C)); \
		if (End) \
			*End = Destination + length; \
		if (Remaining) \
			*Remaining = Size - length; \
		return status; \
	} \
	OPENDXGK_INLINE NTSTATUS RtlStringCchCopyEx##X(C *Destination, size_t Size, const C *Source, \
						       C **End, size_t *Remaining, ULONG Flags) \
	{ \
		static const C nothing[1] = { 0 }; \
 \
		if (!Source && (Flags & STRSAFE_IGNORE_NULLS)) \
			Source = nothing; \
		return OpendxgkStringFinish##X(Destination, Size, End, Remaining, Flags, \
					       RtlStringCchCopy##X(Destination, Size, Source)); \
	} \
	OPENDXGK_INLINE NTSTATUS RtlStringCchCatEx##X(C *Destination, size_t Size, const C *Source, \
						      C **End, size_t *Remaining, ULONG Flags) \
	{ \
		static const C nothing[1] = { 0 }; \
 \
		if (!Source && (Flags & STRSAFE_IGNORE_NULLS)) \
			Source = nothing; \
		return OpendxgkStringFinish##X(Destination, Size, End, Remaining, Flags, \
					       RtlStringCchCat##X(Destination, Size, Source)); \
	} \
	OPENDXGK_INLINE NTSTATUS RtlStringCchVPrintfEx##X(C *Destination, size_t Size, C **End, \
							  size_t *Remaining, ULONG Flags, \
							  const C *Format, va_list Arguments) \
	{ \
		return OpendxgkStringFinish##X( \
			Destination, Size, End, Remaining, Flags, \
			RtlStringCchVPrintf##X(Destination, Size, Format, Arguments)); \
	} \
	OPENDXGK_INLINE NTSTATUS RtlStringCchPrintfEx##X(C *Destination, size_t Size, C **End, \
							 size_t *Remaining, ULONG Flags, \
							 const C *Format, ...) \
	{ \
		va_list arguments; \
 \
		va_start(arguments, Format); \
		NTSTATUS status = RtlStringCchVPrintfEx##X(Destination, Size, End, Remaining, Flags, \
							   Format, arguments); \
		va_end(arguments); \
		return status; \
	}

OPENDXGK_EXTERN_C_BEGIN

OPENDXGK_STRSAFE_FAMILY(A, char, DxgkRt_vsnprintf)
OPENDXGK_STRSAFE_FAMILY(W, WCHAR, DxgkRt_vsnwprintf)
OPENDXGK_STRSAFE_EX_FAMILY(A, char)
OPENDXGK_STRSAFE_EX_FAMILY(W, WCHAR)

/* Counted strings. */

OPENDXGK_INLINE NTSTATUS RtlUnicodeStringValidate(PCUNICODE_STRING Source)
{
	if (Source &&
	    (Source->Length % sizeof(WCHAR) || Source->MaximumLength % sizeof(WCHAR) ||
	     Source->Length > Source->MaximumLength || (!Source->Buffer && Source->MaximumLength)))
		return STATUS_INVALID_PARAMETER;
	return STATUS_SUCCESS;
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringInit(PUNICODE_STRING Destination, PCWSTR Source)
{
	return RtlInitUnicodeStringEx(Destination, Source);
}
/* Appends Count characters of Source behind the first Start ones. */
OPENDXGK_INLINE NTSTATUS OpendxgkUnicodeStringPut(PUNICODE_STRING Destination, size_t Start,
						  PCWSTR Source, size_t Count)
{
	if (!Destination || !NT_SUCCESS(RtlUnicodeStringValidate(Destination)))
		return STATUS_INVALID_PARAMETER;

	size_t room = Destination->MaximumLength / sizeof(WCHAR) - Start;
	size_t fits = Count < room ? Count : room;

	if (fits)
		memmove(Destination->Buffer + Start, Source, fits * sizeof(WCHAR));
	Destination->Length = (USHORT)((Start + fits) * sizeof(WCHAR));
	return fits == Count ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringCopy(PUNICODE_STRING Destination, PCUNICODE_STRING Source)
{
	return OpendxgkUnicodeStringPut(Destination, 0, Source->Buffer,
					Source->Length / sizeof(WCHAR));
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringCopyString(PUNICODE_STRING Destination, PCWSTR Source)
{
	return OpendxgkUnicodeStringPut(Destination, 0, Source, DxgkRt_wcslen(Source));
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringCchCopyStringN(PUNICODE_STRING Destination, PCWSTR Source,
							size_t Count)
{
	return OpendxgkUnicodeStringPut(Destination, 0, Source, DxgkRt_wcsnlen(Source, Count));
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringCbCopyStringN(PUNICODE_STRING Destination, PCWSTR Source,
						       size_t Count)
{
	return RtlUnicodeStringCchCopyStringN(Destination, Source, Count / sizeof(WCHAR));
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringCat(PUNICODE_STRING Destination, PCUNICODE_STRING Source)
{
	return OpendxgkUnicodeStringPut(Destination, Destination->Length / sizeof(WCHAR),
					Source->Buffer, Source->Length / sizeof(WCHAR));
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringCatString(PUNICODE_STRING Destination, PCWSTR Source)
{
	return OpendxgkUnicodeStringPut(Destination, Destination->Length / sizeof(WCHAR), Source,
					DxgkRt_wcslen(Source));
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringVPrintf(PUNICODE_STRING Destination, PCWSTR Format,
						 va_list Arguments)
{
	if (!Destination || !NT_SUCCESS(RtlUnicodeStringValidate(Destination)))
		return STATUS_INVALID_PARAMETER;

	size_t room = Destination->MaximumLength / sizeof(WCHAR);
	int written = DxgkRt_vsnwprintf(Destination->Buffer, room, Format, Arguments);

	if (written < 0 || (size_t)written > room) {
		Destination->Length = (USHORT)(room * sizeof(WCHAR));
		return STATUS_BUFFER_OVERFLOW;
	}
	Destination->Length = (USHORT)((size_t)written * sizeof(WCHAR));
	return STATUS_SUCCESS;
}
OPENDXGK_INLINE NTSTATUS RtlUnicodeStringPrintf(PUNICODE_STRING Destination, PCWSTR Format, ...)
{
	va_list arguments;

	va_start(arguments, Format);
	NTSTATUS status = RtlUnicodeStringVPrintf(Destination, Format, arguments);
	va_end(arguments);
	return status;
}

OPENDXGK_EXTERN_C_END

#endif
