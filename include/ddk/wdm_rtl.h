/* SPDX-License-Identifier: MIT */
/*
 * wdm_rtl.h - the Rtl routines (memory, lists, strings, bitmaps, versions), and Dbg output.
 *
 * Part of wdm.h; not included by itself.
 */
#ifndef OPENDXGK_DDK_WDM_RTL_H
#define OPENDXGK_DDK_WDM_RTL_H

#include "wdm_crt.h"
#include "wdm_ke.h"
#include "guiddef.h"

OPENDXGK_EXTERN_C_BEGIN

/* Memory. */

#define RtlCopyMemory(destination, source, size) __builtin_memcpy((destination), (source), (size))
#define RtlMoveMemory(destination, source, size) __builtin_memmove((destination), (source), (size))
#define RtlFillMemory(destination, size, fill)   __builtin_memset((destination), (fill), (size))
#define RtlZeroMemory(destination, size)         __builtin_memset((destination), 0, (size))
#define RtlEqualMemory(first, second, size)      (!__builtin_memcmp((first), (second), (size)))
#define RtlCopyBytes                             RtlCopyMemory
#define RtlZeroBytes                             RtlZeroMemory
#define RtlFillBytes                             RtlFillMemory
#define RtlCopyMemoryNonTemporal                 RtlCopyMemory
#define CopyMemory                               RtlCopyMemory
#define MoveMemory                               RtlMoveMemory
#define FillMemory                               RtlFillMemory
#define ZeroMemory                               RtlZeroMemory

/* How many leading bytes are equal. */
NTKERNELAPI SIZE_T NTAPI RtlCompareMemory(const VOID *Source1, const VOID *Source2, SIZE_T Length);

OPENDXGK_INLINE PVOID RtlSecureZeroMemory(PVOID Destination, SIZE_T Size)
{
	memset(Destination, 0, Size);
	__asm__ volatile("" : : "r"(Destination) : "memory");
	return Destination;
}

/* Doubly linked lists. */

OPENDXGK_INLINE VOID InitializeListHead(PLIST_ENTRY ListHead)
{
	ListHead->Flink = ListHead->Blink = ListHead;
}
OPENDXGK_INLINE BOOLEAN IsListEmpty(const LIST_ENTRY *ListHead)
{
	return ListHead->Flink == ListHead;
}
OPENDXGK_INLINE BOOLEAN RemoveEntryList(PLIST_ENTRY Entry)
{
	PLIST_ENTRY next = Entry->Flink;
	PLIST_ENTRY previous = Entry->Blink;

	previous->Flink = next;
	next->Blink = previous;
	return next == previous;
}
OPENDXGK_INLINE PLIST_ENTRY RemoveHeadList(PLIST_ENTRY ListHead)
{
	PLIST_ENTRY entry = ListHead->Flink;

	RemoveEntryList(entry);
	return entry;
}
OPENDXGK_INLINE PLIST_ENTRY RemoveTailList(PLIST_ENTRY ListHead)
{
	PLIST_ENTRY entry = ListHead->Blink;

	RemoveEntryList(entry);
	return entry;
}
OPENDXGK_INLINE VOID InsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY Entry)
{
	Entry->Flink = ListHead->Flink;
	Entry->Blink = ListHead;
	ListHead->Flink->Blink = Entry;
	ListHead->Flink = Entry;
}
OPENDXGK_INLINE VOID InsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY Entry)
{
	Entry->Flink = ListHead;
	Entry->Blink = ListHead->Blink;
	ListHead->Blink->Flink = Entry;
	ListHead->Blink = Entry;
}
OPENDXGK_INLINE VOID AppendTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListToAppend)
{
	PLIST_ENTRY end = ListHead->Blink;

	ListHead->Blink->Flink = ListToAppend;
	ListHead->Blink = ListToAppend->Blink;
	ListToAppend->Blink->Flink = ListHead;
	ListToAppend->Blink = end;
}
OPENDXGK_INLINE VOID PushEntryList(PSINGLE_LIST_ENTRY ListHead, PSINGLE_LIST_ENTRY Entry)
{
	Entry->Next = ListHead->Next;
	ListHead->Next = Entry;
}
OPENDXGK_INLINE PSINGLE_LIST_ENTRY PopEntryList(PSINGLE_LIST_ENTRY ListHead)
{
	PSINGLE_LIST_ENTRY first = ListHead->Next;

	if (first)
		ListHead->Next = first->Next;
	return first;
}

/* Counted strings. */

NTKERNELAPI VOID NTAPI RtlInitUnicodeString(PUNICODE_STRING DestinationString, PCWSTR SourceString);
NTKERNELAPI NTSTATUS NTAPI RtlInitUnicodeStringEx(PUNICODE_STRING DestinationString,
						  PCWSTR SourceString);
NTKERNELAPI VOID NTAPI RtlInitAnsiString(PANSI_STRING DestinationString, PCSZ SourceString);
NTKERNELAPI VOID NTAPI RtlInitString(PSTRING DestinationString, PCSZ SourceString);
NTKERNELAPI VOID NTAPI RtlCopyUnicodeString(PUNICODE_STRING DestinationString,
					    PCUNICODE_STRING SourceString);
NTKERNELAPI VOID NTAPI RtlCopyString(PSTRING DestinationString, const STRING *SourceString);
NTKERNELAPI NTSTATUS NTAPI RtlAppendUnicodeStringToString(PUNICODE_STRING Destination,
							  PCUNICODE_STRING Source);
NTKERNELAPI NTSTATUS NTAPI RtlAppendUnicodeToString(PUNICODE_STRING Destination, PCWSTR Source);
NTKERNELAPI LONG NTAPI RtlCompareUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
					       BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN NTAPI RtlEqualUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
						BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN NTAPI RtlPrefixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
						 BOOLEAN CaseInSensitive);
NTKERNELAPI LONG NTAPI RtlCompareString(const STRING *String1, const STRING *String2,
					BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN NTAPI RtlEqualString(const STRING *String1, const STRING *String2,
					 BOOLEAN CaseInSensitive);
NTKERNELAPI WCHAR NTAPI RtlUpcaseUnicodeChar(WCHAR SourceCharacter);
NTKERNELAPI WCHAR NTAPI RtlDowncaseUnicodeChar(WCHAR SourceCharacter);
NTKERNELAPI NTSTATUS NTAPI RtlUpcaseUnicodeString(PUNICODE_STRING DestinationString,
						  PCUNICODE_STRING SourceString,
						  BOOLEAN AllocateDestinationString);
NTKERNELAPI NTSTATUS NTAPI RtlAnsiStringToUnicodeString(PUNICODE_STRING DestinationString,
							PCANSI_STRING SourceString,
							BOOLEAN AllocateDestinationString);
NTKERNELAPI NTSTATUS NTAPI RtlUnicodeStringToAnsiString(PANSI_STRING DestinationString,
							PCUNICODE_STRING SourceString,
							BOOLEAN AllocateDestinationString);
NTKERNELAPI VOID NTAPI RtlFreeUnicodeString(PUNICODE_STRING UnicodeString);
NTKERNELAPI VOID NTAPI RtlFreeAnsiString(PANSI_STRING AnsiString);
NTKERNELAPI NTSTATUS NTAPI RtlIntegerToUnicodeString(ULONG Value, ULONG Base,
						     PUNICODE_STRING String);
NTKERNELAPI NTSTATUS NTAPI RtlInt64ToUnicodeString(ULONGLONG Value, ULONG Base,
						   PUNICODE_STRING String);
NTKERNELAPI NTSTATUS NTAPI RtlUnicodeStringToInteger(PCUNICODE_STRING String, ULONG Base,
						     PULONG Value);
NTKERNELAPI NTSTATUS NTAPI RtlStringFromGUID(REFGUID Guid, PUNICODE_STRING GuidString);
NTKERNELAPI NTSTATUS NTAPI RtlGUIDFromString(PCUNICODE_STRING GuidString, GUID *Guid);
NTKERNELAPI ULONG NTAPI RtlxUnicodeStringToAnsiSize(PCUNICODE_STRING UnicodeString);
NTKERNELAPI ULONG NTAPI RtlxAnsiStringToUnicodeSize(PCANSI_STRING AnsiString);
NTKERNELAPI NTSTATUS NTAPI RtlUnicodeToUTF8N(PCHAR UTF8StringDestination,
					     ULONG UTF8StringMaxByteCount,
					     PULONG UTF8StringActualByteCount,
					     PCWCH UnicodeStringSource,
					     ULONG UnicodeStringByteCount);
NTKERNELAPI NTSTATUS NTAPI RtlUTF8ToUnicodeN(PWSTR UnicodeStringDestination,
					     ULONG UnicodeStringMaxByteCount,
					     PULONG UnicodeStringActualByteCount,
					     PCSTR UTF8StringSource, ULONG UTF8StringByteCount);
#define RtlUnicodeStringToAnsiSize(string) RtlxUnicodeStringToAnsiSize(string)
#define RtlAnsiStringToUnicodeSize(string) RtlxAnsiStringToUnicodeSize(string)

OPENDXGK_INLINE VOID RtlInitEmptyUnicodeString(PUNICODE_STRING String, PWSTR Buffer, USHORT Size)
{
	String->Length = 0;
	String->MaximumLength = Size;
	String->Buffer = Buffer;
}
OPENDXGK_INLINE VOID RtlInitEmptyAnsiString(PANSI_STRING String, PCHAR Buffer, USHORT Size)
{
	String->Length = 0;
	String->MaximumLength = Size;
	String->Buffer = Buffer;
}

/* Bitmaps over an array of ULONGs that the driver owns. */

typedef struct _RTL_BITMAP {
	ULONG SizeOfBitMap; /* bits */
	PULONG Buffer;
} RTL_BITMAP, *PRTL_BITMAP;

typedef struct _RTL_BITMAP_RUN {
	ULONG StartingIndex;
	ULONG NumberOfBits;
} RTL_BITMAP_RUN, *PRTL_BITMAP_RUN;

NTKERNELAPI VOID NTAPI RtlInitializeBitMap(PRTL_BITMAP BitMapHeader, PULONG BitMapBuffer,
					   ULONG SizeOfBitMap);
NTKERNELAPI VOID NTAPI RtlClearAllBits(PRTL_BITMAP BitMapHeader);
NTKERNELAPI VOID NTAPI RtlSetAllBits(PRTL_BITMAP BitMapHeader);
NTKERNELAPI VOID NTAPI RtlClearBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber);
NTKERNELAPI VOID NTAPI RtlSetBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber);
NTKERNELAPI BOOLEAN NTAPI RtlTestBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber);
NTKERNELAPI VOID NTAPI RtlClearBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex,
				    ULONG NumberToClear);
NTKERNELAPI VOID NTAPI RtlSetBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToSet);
NTKERNELAPI ULONG NTAPI RtlFindClearBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
					 ULONG HintIndex);
NTKERNELAPI ULONG NTAPI RtlFindSetBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
				       ULONG HintIndex);
NTKERNELAPI ULONG NTAPI RtlFindClearBitsAndSet(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
					       ULONG HintIndex);
NTKERNELAPI ULONG NTAPI RtlFindSetBitsAndClear(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
					       ULONG HintIndex);
NTKERNELAPI ULONG NTAPI RtlNumberOfClearBits(PRTL_BITMAP BitMapHeader);
NTKERNELAPI ULONG NTAPI RtlNumberOfSetBits(PRTL_BITMAP BitMapHeader);
NTKERNELAPI BOOLEAN NTAPI RtlAreBitsClear(PRTL_BITMAP BitMapHeader, ULONG StartingIndex,
					  ULONG Length);
NTKERNELAPI BOOLEAN NTAPI RtlAreBitsSet(PRTL_BITMAP BitMapHeader, ULONG StartingIndex,
					ULONG Length);
NTKERNELAPI ULONG NTAPI RtlFindNextForwardRunClear(PRTL_BITMAP BitMapHeader, ULONG FromIndex,
						   PULONG StartingRunIndex);
#define RtlCheckBit(header, bit) ((((header)->Buffer[(bit) / 32]) >> ((bit) % 32)) & 1)
NTKERNELAPI CCHAR NTAPI RtlFindLeastSignificantBit(ULONGLONG Set);
NTKERNELAPI CCHAR NTAPI RtlFindMostSignificantBit(ULONGLONG Set);

OPENDXGK_INLINE UCHAR BitScanForward(ULONG *Index, ULONG Mask)
{
	if (Mask)
		*Index = (ULONG)__builtin_ctz(Mask);
	return Mask != 0;
}
OPENDXGK_INLINE UCHAR BitScanReverse(ULONG *Index, ULONG Mask)
{
	if (Mask)
		*Index = 31 - (ULONG)__builtin_clz(Mask);
	return Mask != 0;
}
OPENDXGK_INLINE UCHAR BitScanForward64(ULONG *Index, ULONG64 Mask)
{
	if (Mask)
		*Index = (ULONG)__builtin_ctzll(Mask);
	return Mask != 0;
}
OPENDXGK_INLINE UCHAR BitScanReverse64(ULONG *Index, ULONG64 Mask)
{
	if (Mask)
		*Index = 63 - (ULONG)__builtin_clzll(Mask);
	return Mask != 0;
}
#define _BitScanForward      BitScanForward
#define _BitScanReverse      BitScanReverse
#define _BitScanForward64    BitScanForward64
#define _BitScanReverse64    BitScanReverse64
#define RtlUshortByteSwap    __builtin_bswap16
#define RtlUlongByteSwap     __builtin_bswap32
#define RtlUlonglongByteSwap __builtin_bswap64

/* Versions, registry helper, random numbers, stacks. */

typedef struct _OSVERSIONINFOW {
	ULONG dwOSVersionInfoSize;
	ULONG dwMajorVersion;
	ULONG dwMinorVersion;
	ULONG dwBuildNumber;
	ULONG dwPlatformId;
	WCHAR szCSDVersion[128];
} OSVERSIONINFOW, *POSVERSIONINFOW, RTL_OSVERSIONINFOW, *PRTL_OSVERSIONINFOW;

typedef struct _OSVERSIONINFOEXW {
	ULONG dwOSVersionInfoSize;
	ULONG dwMajorVersion;
	ULONG dwMinorVersion;
	ULONG dwBuildNumber;
	ULONG dwPlatformId;
	WCHAR szCSDVersion[128];
	USHORT wServicePackMajor;
	USHORT wServicePackMinor;
	USHORT wSuiteMask;
	UCHAR wProductType;
	UCHAR wReserved;
} OSVERSIONINFOEXW, *POSVERSIONINFOEXW, RTL_OSVERSIONINFOEXW, *PRTL_OSVERSIONINFOEXW;

NTKERNELAPI NTSTATUS NTAPI RtlGetVersion(PRTL_OSVERSIONINFOW VersionInformation);
NTKERNELAPI BOOLEAN NTAPI RtlIsNtDdiVersionAvailable(ULONG Version);

typedef NTSTATUS NTAPI RTL_QUERY_REGISTRY_ROUTINE(PWSTR ValueName, ULONG ValueType, PVOID ValueData,
						  ULONG ValueLength, PVOID Context,
						  PVOID EntryContext);
typedef RTL_QUERY_REGISTRY_ROUTINE *PRTL_QUERY_REGISTRY_ROUTINE;

typedef struct _RTL_QUERY_REGISTRY_TABLE {
	PRTL_QUERY_REGISTRY_ROUTINE QueryRoutine;
	ULONG Flags;
	PWSTR Name;
	PVOID EntryContext;
	ULONG DefaultType;
	PVOID DefaultData;
	ULONG DefaultLength;
} RTL_QUERY_REGISTRY_TABLE, *PRTL_QUERY_REGISTRY_TABLE;

#define RTL_QUERY_REGISTRY_SUBKEY          0x00000001
#define RTL_QUERY_REGISTRY_TOPKEY          0x00000002
#define RTL_QUERY_REGISTRY_REQUIRED        0x00000004
#define RTL_QUERY_REGISTRY_NOVALUE         0x00000008
#define RTL_QUERY_REGISTRY_NOEXPAND        0x00000010
#define RTL_QUERY_REGISTRY_DIRECT          0x00000020
#define RTL_QUERY_REGISTRY_DELETE          0x00000040
#define RTL_QUERY_REGISTRY_NOSTRING        0x00000080
#define RTL_QUERY_REGISTRY_TYPECHECK       0x00000100
#define RTL_QUERY_REGISTRY_TYPECHECK_SHIFT 24
#define RTL_REGISTRY_ABSOLUTE              0
#define RTL_REGISTRY_SERVICES              1
#define RTL_REGISTRY_CONTROL               2
#define RTL_REGISTRY_HANDLE                0x40000000
#define RTL_REGISTRY_OPTIONAL              0x80000000

NTKERNELAPI NTSTATUS NTAPI RtlQueryRegistryValues(ULONG RelativeTo, PCWSTR Path,
						  PRTL_QUERY_REGISTRY_TABLE QueryTable,
						  PVOID Context, PVOID Environment);
NTKERNELAPI NTSTATUS NTAPI RtlWriteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName,
						 ULONG ValueType, PVOID ValueData,
						 ULONG ValueLength);
NTKERNELAPI NTSTATUS NTAPI RtlDeleteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName);
NTKERNELAPI NTSTATUS NTAPI RtlCheckRegistryKey(ULONG RelativeTo, PWSTR Path);
NTKERNELAPI NTSTATUS NTAPI RtlCreateRegistryKey(ULONG RelativeTo, PWSTR Path);

NTKERNELAPI ULONG NTAPI RtlRandomEx(PULONG Seed);
NTKERNELAPI USHORT NTAPI RtlCaptureStackBackTrace(ULONG FramesToSkip, ULONG FramesToCapture,
						  PVOID *BackTrace, PULONG BackTraceHash);

typedef struct _TIME_FIELDS {
	CSHORT Year;
	CSHORT Month;
	CSHORT Day;
	CSHORT Hour;
	CSHORT Minute;
	CSHORT Second;
	CSHORT Milliseconds;
	CSHORT Weekday;
} TIME_FIELDS, *PTIME_FIELDS;

NTKERNELAPI VOID NTAPI RtlTimeToTimeFields(PLARGE_INTEGER Time, PTIME_FIELDS TimeFields);
NTKERNELAPI BOOLEAN NTAPI RtlTimeFieldsToTime(PTIME_FIELDS TimeFields, PLARGE_INTEGER Time);

OPENDXGK_INLINE LARGE_INTEGER RtlConvertLongToLargeInteger(LONG SignedInteger)
{
	LARGE_INTEGER value;

	value.QuadPart = SignedInteger;
	return value;
}
OPENDXGK_INLINE LARGE_INTEGER RtlConvertUlongToLargeInteger(ULONG UnsignedInteger)
{
	LARGE_INTEGER value;

	value.QuadPart = UnsignedInteger;
	return value;
}

/* Debug output and the debugger that is not there. */

#define DPFLTR_ERROR_LEVEL   0
#define DPFLTR_WARNING_LEVEL 1
#define DPFLTR_TRACE_LEVEL   2
#define DPFLTR_INFO_LEVEL    3
#define DPFLTR_MASK          0x80000000
#define DPFLTR_VIDEO_ID      22
#define DPFLTR_IHVDRIVER_ID  77
#define DPFLTR_IHVVIDEO_ID   78
#define DPFLTR_DEFAULT_ID    101

NTKERNELAPI ULONG DbgPrint(PCSTR Format, ...);
NTKERNELAPI ULONG DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...);
NTKERNELAPI ULONG NTAPI vDbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, va_list Arglist);
NTKERNELAPI ULONG NTAPI vDbgPrintExWithPrefix(PCSTR Prefix, ULONG ComponentId, ULONG Level,
					      PCSTR Format, va_list Arglist);
NTKERNELAPI ULONG NTAPI DbgPrompt(PCSTR Prompt, PCHAR Response, ULONG Length);
NTKERNELAPI VOID NTAPI DbgBreakPoint(VOID);
NTKERNELAPI VOID NTAPI DbgBreakPointWithStatus(ULONG Status);
NTKERNELAPI NTSTATUS NTAPI DbgQueryDebugFilterState(ULONG ComponentId, ULONG Level);
NTKERNELAPI NTSTATUS NTAPI DbgSetDebugFilterState(ULONG ComponentId, ULONG Level, BOOLEAN State);
NTKERNELAPI NTSTATUS NTAPI KdDisableDebugger(VOID);
NTKERNELAPI NTSTATUS NTAPI KdEnableDebugger(VOID);
NTKERNELAPI BOOLEAN NTAPI KdRefreshDebuggerNotPresent(VOID);
extern NTKERNELAPI PBOOLEAN KdDebuggerEnabled;
extern NTKERNELAPI PBOOLEAN KdDebuggerNotPresent;
#define KD_DEBUGGER_ENABLED     (*KdDebuggerEnabled)
#define KD_DEBUGGER_NOT_PRESENT (*KdDebuggerNotPresent)
#ifndef __debugbreak
#define __debugbreak() DbgBreakPoint()
#endif
#define DbgRaiseAssertionFailure() DbgBreakPoint()
#if defined(DBG) && DBG
#define KdPrint(arguments)   DbgPrint arguments
#define KdPrintEx(arguments) DbgPrintEx arguments
#define KdBreakPoint()       DbgBreakPoint()
#else
#define KdPrint(arguments)
#define KdPrintEx(arguments)
#define KdBreakPoint()
#endif

OPENDXGK_EXTERN_C_END

#endif
