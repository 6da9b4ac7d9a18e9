/* SPDX-License-Identifier: MIT */
/*
 * dxgtypes.h - the basic Windows types, as a client on 64-bit Linux sees them.
 *
 * LONG and ULONG keep their 32 bits although `long` has 64; WCHAR is the native wchar_t, because
 * clients hand our strings to libc; a HANDLE is a pointer that may carry a file descriptor.
 *
 * Drivers take the same names from ddk/ntdef.h, where WCHAR has 16 bits. The guard below is shared
 * with it: whichever of the two comes first decides, and the D3D headers serve both. No libc header
 * is included, so that the D3D headers survive -ffreestanding and -fms-compatibility.
 *
 * A program that also uses DirectX-Headers includes their <wsl/winadapter.h> first; its basic types
 * have the same widths and stay in force.
 */
#ifndef OPENDXGK_BASIC_TYPES
#define OPENDXGK_BASIC_TYPES

#include "dxgsal.h"

#if defined(__cplusplus) && defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-anonymous-struct"
#pragma clang diagnostic ignored "-Wnested-anon-types"
#elif defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

/* Words without meaning here, kept because sources written for Windows are full of them. */

#ifndef CONST
#define CONST const
#endif
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef OPTIONAL
#define OPTIONAL
#endif
#ifndef FAR
#define FAR
#endif
#ifndef NEAR
#define NEAR
#endif
#ifndef APIENTRY
#define APIENTRY
#endif
#ifndef WINAPI
#define WINAPI
#endif
#ifndef NTAPI
#define NTAPI
#endif
#ifndef CALLBACK
#define CALLBACK
#endif
#ifndef UNALIGNED
#define UNALIGNED
#endif

#ifndef NULL
#ifdef __cplusplus
#define NULL 0
#else
#define NULL ((void *)0)
#endif
#endif
#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif
#ifndef MAX_PATH
#define MAX_PATH 260
#endif

#ifndef VOID
#define VOID void
#endif

#ifndef OPENDXGK_NTSTATUS_TYPE
#define OPENDXGK_NTSTATUS_TYPE
typedef int NTSTATUS;
#endif
typedef NTSTATUS *PNTSTATUS;

/* winadapter.h has no include guard to ask for; it is known by what it leaves behind. */
#if !defined(COM_NO_WINDOWS_H) || !defined(DECLSPEC_NOVTABLE)

typedef char CHAR;
typedef signed char INT8;
typedef unsigned char UCHAR, UINT8, BYTE, BOOLEAN;
typedef short SHORT, INT16;
typedef unsigned short USHORT, UINT16, WORD;
typedef int INT, INT32, LONG, LONG32, BOOL, HRESULT;
typedef unsigned int UINT, UINT32, ULONG, ULONG32, DWORD, DWORD32;
typedef long long LONGLONG, LONG64, INT64;
typedef unsigned long long ULONGLONG, ULONG64, UINT64, DWORD64, DWORDLONG;
typedef float FLOAT;
typedef double DOUBLE;

/* As wide as a pointer. */
typedef long INT_PTR, LONG_PTR, SSIZE_T;
typedef unsigned long UINT_PTR, ULONG_PTR, DWORD_PTR, SIZE_T;

#ifdef __cplusplus
typedef wchar_t WCHAR;
#else
typedef __WCHAR_TYPE__ WCHAR;
#endif

typedef void *PVOID, *LPVOID;
typedef const void *LPCVOID;
typedef CHAR *PCHAR, *PSTR, *LPSTR;
typedef const CHAR *PCSTR, *LPCSTR;
typedef WCHAR *PWCHAR, *PWSTR, *LPWSTR;
typedef const WCHAR *PCWSTR, *LPCWSTR;
typedef UCHAR *PUCHAR;
typedef BYTE *PBYTE;
typedef BOOLEAN *PBOOLEAN;
typedef BOOL *PBOOL;
typedef SHORT *PSHORT;
typedef USHORT *PUSHORT;
typedef WORD *PWORD;
typedef INT *PINT;
typedef UINT *PUINT;
typedef LONG *PLONG;
typedef ULONG *PULONG;
typedef DWORD *PDWORD;
typedef LONGLONG *PLONGLONG;
typedef ULONGLONG *PULONGLONG;
typedef INT64 *PINT64;
typedef UINT64 *PUINT64;
typedef LONG_PTR *PLONG_PTR;
typedef ULONG_PTR *PULONG_PTR;
typedef SIZE_T *PSIZE_T;
typedef FLOAT *PFLOAT;

typedef void *HANDLE, **PHANDLE;
typedef HANDLE HWND, HDC, HMODULE, HINSTANCE, HMONITOR, HBITMAP, HPALETTE, HRGN;

typedef DWORD COLORREF;

#endif /* not from winadapter.h */

#include "dxgshapes.h"

#ifndef ARRAYSIZE
#define ARRAYSIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif
#ifndef UNREFERENCED_PARAMETER
#define UNREFERENCED_PARAMETER(parameter) ((void)(parameter))
#endif

#if defined(__cplusplus) && defined(__clang__)
#pragma clang diagnostic pop
#elif defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

#endif /* OPENDXGK_BASIC_TYPES */
