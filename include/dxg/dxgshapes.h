/* SPDX-License-Identifier: MIT */
/*
 * dxgshapes.h - small structs of the basic types, and the words to measure structs with.
 *
 * The same for clients (dxgtypes.h) and drivers (ddk/ntdef.h), which differ in WCHAR and nothing
 * that is here. Those two include it after they said what a ULONG is; alone it is a client's.
 */
#ifndef OPENDXGK_BASIC_TYPES
#include "dxgtypes.h"
#endif

#ifndef OPENDXGK_DXGSHAPES_H
#define OPENDXGK_DXGSHAPES_H

/* winadapter.h has no include guard to ask for; it is known by what it leaves behind. */
#if !defined(COM_NO_WINDOWS_H) || !defined(DECLSPEC_NOVTABLE)

typedef struct _LUID {
	ULONG LowPart;
	LONG HighPart;
} LUID, *PLUID;

typedef union _LARGE_INTEGER {
	__extension__ struct {
		ULONG LowPart;
		LONG HighPart;
	};
	struct {
		ULONG LowPart;
		LONG HighPart;
	} u;
	LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
	__extension__ struct {
		ULONG LowPart;
		ULONG HighPart;
	};
	struct {
		ULONG LowPart;
		ULONG HighPart;
	} u;
	ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef struct _GUID {
	ULONG Data1;
	USHORT Data2;
	USHORT Data3;
	UCHAR Data4[8];
} GUID, *PGUID, *LPGUID;
typedef const GUID *LPCGUID;
typedef GUID IID, CLSID;

typedef struct tagRECT {
	LONG left;
	LONG top;
	LONG right;
	LONG bottom;
} RECT, *PRECT, *LPRECT;
typedef const RECT *LPCRECT;

typedef struct _RECTL {
	LONG left;
	LONG top;
	LONG right;
	LONG bottom;
} RECTL, *PRECTL;

typedef struct tagPOINT {
	LONG x;
	LONG y;
} POINT, *PPOINT;

typedef struct tagSIZE {
	LONG cx;
	LONG cy;
} SIZE, *PSIZE;

typedef struct tagPALETTEENTRY {
	BYTE peRed;
	BYTE peGreen;
	BYTE peBlue;
	BYTE peFlags;
} PALETTEENTRY, *PPALETTEENTRY;

#endif /* not from winadapter.h */

#ifndef C_ASSERT
#ifdef __cplusplus
#define C_ASSERT(condition) static_assert(condition, #condition)
#else
#define C_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#endif

#ifndef FIELD_OFFSET
#define FIELD_OFFSET(type, field) ((LONG) __builtin_offsetof(type, field))
#endif
#ifndef UFIELD_OFFSET
#define UFIELD_OFFSET(type, field) ((DWORD) __builtin_offsetof(type, field))
#endif

/* Integer arithmetic, so that NULL with a field at offset 0 stays NULL. */
#ifndef CONTAINING_RECORD
#define CONTAINING_RECORD(address, type, field)                                                    \
	((type *)((ULONG_PTR)(address) - __builtin_offsetof(type, field)))
#endif

#endif
