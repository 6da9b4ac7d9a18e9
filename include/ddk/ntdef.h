/* SPDX-License-Identifier: MIT */
/*
 * ntdef.h - the words every driver header is written in.
 *
 * Basic Windows types with their Windows sizes (LONG and ULONG are 32 bits, WCHAR is 16 bits, so
 * everything that includes this is built with -fshort-wchar), the counted strings and linked-list
 * heads of NT, and the assertion macros.
 *
 * The first half is the driver-side twin of dxg/dxgtypes.h: both define the same names under the
 * guard OPENDXGK_BASIC_TYPES, so that the D3D headers serve both sides and the first one included
 * decides. No libc header is included, here or in any other header of this folder; including
 * <stdint.h>, <stddef.h>, <string.h> and the like *before* is fine.
 */
#ifndef OPENDXGK_DDK_NTDEF_H
#define OPENDXGK_DDK_NTDEF_H

#include "../dxg/dxgsal.h"
#include "../dxg/ntstatus.h"

#if defined(__x86_64__) && !defined(_AMD64_)
#define _AMD64_ 1
#endif
#if defined(__aarch64__) && !defined(_ARM64_)
#define _ARM64_ 1
#endif
#ifndef _WIN64
#define _WIN64 1
#endif

/* Drivers write `virtual … = NULL`, so NULL has to be the plain literal in C++. */
#ifdef __cplusplus
#undef NULL
#define NULL 0
#elif !defined(NULL)
#define NULL ((void *)0)
#endif

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

/* Calling conventions and directions: there is one convention here, and SAL says the rest. */
#ifndef CALLBACK
#define CALLBACK
#endif
#ifndef WINAPI
#define WINAPI
#endif
#ifndef APIENTRY
#define APIENTRY
#endif
#ifndef NTAPI
#define NTAPI
#endif
#define FASTCALL
#ifndef __stdcall
#define __stdcall
#define __cdecl
#define __fastcall
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
#ifndef CONST
#define CONST const
#endif

#if !defined(__clang__) || !defined(_MSC_EXTENSIONS)
#define __int8 char
#define __int16 short
#define __int32 int
#define __int64 long long
#define __forceinline inline __attribute__((always_inline))
#endif
#ifndef UNALIGNED
#define UNALIGNED
#endif
#define __unaligned
#define __ptr64
#define __w64

/* Repeating a typedef is harmless, so these stand outside the guard. */

typedef __SIZE_TYPE__ size_t;
#ifndef __cplusplus
typedef __WCHAR_TYPE__ wchar_t;
#endif

#ifndef VOID
#define VOID void
#endif
typedef void *PVOID, *LPVOID;
typedef const void *PCVOID, *LPCVOID;
typedef char CHAR, CCHAR, *PCHAR, *PSTR, *LPSTR, *PCCHAR;
typedef const char *PCSTR, *LPCSTR, *PCSZ;
typedef signed char SCHAR, INT8, *PSCHAR, *PINT8;
typedef unsigned char UCHAR, BYTE, UINT8, *PUCHAR, *PBYTE, *LPBYTE, *PUINT8;
typedef short SHORT, CSHORT, INT16, *PSHORT, *PCSHORT, *PINT16;
typedef unsigned short USHORT, WORD, UINT16, *PUSHORT, *PWORD, *PUINT16;
typedef int INT, LONG, INT32, LONG32, *PINT, *LPINT, *PLONG, *LPLONG, *PINT32, *PLONG32;
typedef unsigned int UINT, ULONG, DWORD, UINT32, ULONG32, DWORD32;
typedef unsigned int *PUINT, *LPUINT, *PULONG, *PDWORD, *LPDWORD, *PUINT32, *PULONG32, *PDWORD32;
typedef long long LONGLONG, INT64, LONG64, *PLONGLONG, *PINT64, *PLONG64;
typedef unsigned long long ULONGLONG, UINT64, ULONG64, DWORD64, DWORDLONG;
typedef unsigned long long *PULONGLONG, *PUINT64, *PULONG64, *PDWORD64, *PDWORDLONG;
typedef long INT_PTR, LONG_PTR, SSIZE_T, *PINT_PTR, *PLONG_PTR, *PSSIZE_T;
typedef unsigned long UINT_PTR, ULONG_PTR, DWORD_PTR, SIZE_T;
typedef unsigned long *PUINT_PTR, *PULONG_PTR, *PDWORD_PTR, *PSIZE_T;
typedef float FLOAT, *PFLOAT;
typedef double DOUBLE, *PDOUBLE;
typedef int BOOL, *PBOOL, *LPBOOL;
typedef unsigned char BOOLEAN, *PBOOLEAN;
typedef wchar_t WCHAR, *PWCHAR, *LPWCH, *PWCH, *PWSTR, *LPWSTR;
typedef const wchar_t *PCWSTR, *LPCWSTR, *LPCWCH, *PCWCH, *PCWCHAR;
typedef PWSTR *PZPWSTR;
typedef PWSTR PZZWSTR;
typedef int HRESULT;
typedef NTSTATUS *PNTSTATUS;

typedef void *HANDLE, **PHANDLE, **LPHANDLE;
typedef HANDLE HWND, HDC, HBITMAP, HMONITOR, HINSTANCE, HMODULE, HPALETTE, HRGN;
#define DECLARE_HANDLE(name) typedef struct name##__ *name

typedef ULONG ACCESS_MASK, *PACCESS_MASK;
typedef ULONG LCID, *PLCID;
typedef ULONG COLORREF, *LPCOLORREF;

#ifndef OPENDXGK_BASIC_TYPES
#define OPENDXGK_BASIC_TYPES

#include "../dxg/dxgshapes.h"

#endif /* OPENDXGK_BASIC_TYPES */

typedef struct _POINTL {
	LONG x;
	LONG y;
} POINTL, *PPOINTL;

typedef POINT *LPPOINT;
typedef RECTL *LPRECTL;
typedef SIZE *LPSIZE, SIZEL, *PSIZEL;
typedef PALETTEENTRY *LPPALETTEENTRY;

C_ASSERT(sizeof(ULONG) == 4 && sizeof(ULONG_PTR) == sizeof(void *) && sizeof(GUID) == 16);

/* Whichever header came first, these are needed below. */
#ifdef __cplusplus
#define OPENDXGK_EXTERN_C_BEGIN extern "C" {
#define OPENDXGK_EXTERN_C_END   }
#ifndef EXTERN_C
#define EXTERN_C extern "C"
#endif
#define OPENDXGK_NOTHROW noexcept
#else
#define OPENDXGK_EXTERN_C_BEGIN
#define OPENDXGK_EXTERN_C_END
#ifndef EXTERN_C
#define EXTERN_C extern
#endif
#define OPENDXGK_NOTHROW
#endif
#define EXTERN_C_START OPENDXGK_EXTERN_C_BEGIN
#define EXTERN_C_END   OPENDXGK_EXTERN_C_END

/* What the host exports to drivers, and what a header defines for itself. */
#ifndef NTKERNELAPI
#ifdef OPENDXGK_BUILD_KERNEL
#define NTKERNELAPI __attribute__((visibility("default")))
#else
#define NTKERNELAPI
#endif
#endif
#define NTSYSAPI        NTKERNELAPI
#define NTHALAPI        NTKERNELAPI
#define NTSYSCALLAPI    NTKERNELAPI
#define OPENDXGK_INLINE static inline __attribute__((unused))

#ifndef FORCEINLINE
#define FORCEINLINE __inline__ __attribute__((always_inline))
#endif
#define CFORCEINLINE        FORCEINLINE
#define DECLSPEC_ALIGN(x)   __attribute__((aligned(x)))
#define DECLSPEC_NORETURN   __attribute__((noreturn))
#define DECLSPEC_NOINLINE   __attribute__((noinline))
#define DECLSPEC_DEPRECATED __attribute__((deprecated))
#define DECLSPEC_SELECTANY  __attribute__((weak))
#define DECLSPEC_EXPORT     __attribute__((visibility("default")))
#define DECLSPEC_IMPORT
#define DECLSPEC_NOVTABLE
#define DECLSPEC_CACHEALIGN DECLSPEC_ALIGN(64)
#define RESTRICTED_POINTER  __restrict
#define POINTER_ALIGNMENT   DECLSPEC_ALIGN(8)
#define _ANONYMOUS_UNION    __extension__
#define _ANONYMOUS_STRUCT   __extension__
#define STDCALL
#define NOTHING

#define MEMORY_ALLOCATION_ALIGNMENT 16
#define SYSTEM_CACHE_ALIGNMENT_SIZE 64

#ifndef CHAR_BIT
#define CHAR_BIT 8
#endif
#define ANYSIZE_ARRAY 1
#define MAXUCHAR      0xffU
#define MAXUSHORT     0xffffU
#define MAXULONG      0xffffffffU
#define MINCHAR       0x80
#define MAXCHAR       0x7f
#define MINSHORT      0x8000
#define MAXSHORT      0x7fff
#define MINLONG       0x80000000
#define MAXLONG       0x7fffffff
#define MAXULONGLONG  (~(ULONGLONG)0)
#define MAXLONGLONG   0x7fffffffffffffffLL
#define MAXULONG_PTR  (~(ULONG_PTR)0)
#define MAXDWORD      0xffffffffU
#define MAXUINT       0xffffffffU
#define MAXUINT32     0xffffffffU
#define MAXUINT64     (~(UINT64)0)
#define MAXINT        0x7fffffff
#ifndef MAX_PATH
#define MAX_PATH 260
#endif
#ifndef UNICODE_NULL
#define UNICODE_NULL ((WCHAR)0)
#define ANSI_NULL    ((CHAR)0)
#endif
#define UNICODE_STRING_MAX_BYTES ((USHORT)65534)
#define UNICODE_STRING_MAX_CHARS 32767

#define RTL_NUMBER_OF(array)        (sizeof(array) / sizeof((array)[0]))
#define RTL_FIELD_SIZE(type, field) (sizeof(((type *)0)->field))
#define RTL_SIZEOF_THROUGH_FIELD(type, field)                                                      \
	(__builtin_offsetof(type, field) + RTL_FIELD_SIZE(type, field))
#define RTL_CONTAINS_FIELD(record, size, field)                                                    \
	((((PCHAR)(&(record)->field)) + sizeof((record)->field)) <= (((PCHAR)(record)) + (size)))
#ifndef ARRAYSIZE
#define ARRAYSIZE(array) RTL_NUMBER_OF(array)
#endif
#ifndef _ARRAYSIZE
#define _ARRAYSIZE(array) RTL_NUMBER_OF(array)
#endif
#ifndef _countof
#define _countof(array) RTL_NUMBER_OF(array)
#endif
#define FIELD_SIZE(type, field)    RTL_FIELD_SIZE(type, field)
#define ARGUMENT_PRESENT(argument) ((CHAR *)(ULONG_PTR)(argument) != (CHAR *)0)

/* Nameless members have no name: what they stand for is reached directly. */
#define DUMMYSTRUCTNAME
#define DUMMYSTRUCTNAME2
#define DUMMYSTRUCTNAME3
#define DUMMYUNIONNAME
#define DUMMYUNIONNAME2
#define DUMMYUNIONNAME3
#define DUMMYUNIONNAME4

#ifndef UNREFERENCED_PARAMETER
#define UNREFERENCED_PARAMETER(parameter) ((void)(parameter))
#endif
#define DBG_UNREFERENCED_PARAMETER(p)      ((void)(p))
#define DBG_UNREFERENCED_LOCAL_VARIABLE(v) ((void)(v))
#ifndef DEFAULT_UNREACHABLE
#define DEFAULT_UNREACHABLE                                                                        \
	default:                                                                                   \
		__builtin_unreachable()
#endif
#define LOWORD(value)                             ((WORD)((ULONG_PTR)(value)&0xffff))
#define HIWORD(value)                             ((WORD)(((ULONG_PTR)(value) >> 16) & 0xffff))
#define LOBYTE(value)                             ((BYTE)((ULONG_PTR)(value)&0xff))
#define HIBYTE(value)                             ((BYTE)(((ULONG_PTR)(value) >> 8) & 0xff))
#define MAKEWORD(low, high)                       ((WORD)(((BYTE)(low)) | (((WORD)((BYTE)(high))) << 8)))
#define MAKELONG(low, high)                       ((LONG)(((WORD)(low)) | (((DWORD)((WORD)(high))) << 16)))
#define HandleToULong(handle)                     ((ULONG)(ULONG_PTR)(handle))
#define HandleToUlong(handle)                     HandleToULong(handle)
#define HandleToLong(handle)                      ((LONG)(LONG_PTR)(handle))
#define ULongToHandle(value)                      ((HANDLE)(ULONG_PTR)(value))
#define UlongToHandle(value)                      ULongToHandle(value)
#define LongToHandle(value)                       ((HANDLE)(LONG_PTR)(value))
#define PtrToUlong(pointer)                       ((ULONG)(ULONG_PTR)(pointer))
#define PtrToULong(pointer)                       PtrToUlong(pointer)
#define PtrToLong(pointer)                        ((LONG)(LONG_PTR)(pointer))
#define PtrToUint(pointer)                        ((UINT)(UINT_PTR)(pointer))
#define UlongToPtr(value)                         ((PVOID)(ULONG_PTR)(ULONG)(value))
#define ULongToPtr(value)                         UlongToPtr(value)
#define LongToPtr(value)                          ((PVOID)(LONG_PTR)(value))
#define Int32x32To64(a, b)                        ((LONGLONG)(LONG)(a) * (LONGLONG)(LONG)(b))
#define UInt32x32To64(a, b)                       ((ULONGLONG)(UINT)(a) * (ULONGLONG)(UINT)(b))
#define ALIGN_DOWN_BY(length, alignment)          ((ULONG_PTR)(length) & ~((ULONG_PTR)(alignment)-1))
#define ALIGN_UP_BY(length, alignment)            ALIGN_DOWN_BY((ULONG_PTR)(length) + (alignment)-1, alignment)
#define ALIGN_DOWN(length, type)                  ALIGN_DOWN_BY(length, sizeof(type))
#define ALIGN_UP(length, type)                    ALIGN_UP_BY(length, sizeof(type))
#define ALIGN_DOWN_POINTER_BY(address, alignment) ((PVOID)ALIGN_DOWN_BY(address, alignment))
#define ALIGN_UP_POINTER_BY(address, alignment)   ((PVOID)ALIGN_UP_BY(address, alignment))
#define ALIGN_DOWN_POINTER(address, type)         ALIGN_DOWN_POINTER_BY(address, sizeof(type))
#define ALIGN_UP_POINTER(address, type)           ALIGN_UP_POINTER_BY(address, sizeof(type))

#ifdef __cplusplus
#define DEFINE_ENUM_FLAG_OPERATORS(type)                                                           \
	extern "C++" {                                                                             \
	inline constexpr type operator|(type a, type b)                                            \
	{                                                                                          \
		return (type)((int)a | (int)b);                                                    \
	}                                                                                          \
	inline constexpr type operator&(type a, type b)                                            \
	{                                                                                          \
		return (type)((int)a & (int)b);                                                    \
	}                                                                                          \
	inline constexpr type operator^(type a, type b)                                            \
	{                                                                                          \
		return (type)((int)a ^ (int)b);                                                    \
	}                                                                                          \
	inline constexpr type operator~(type a)                                                    \
	{                                                                                          \
		return (type)(~(int)a);                                                            \
	}                                                                                          \
	inline type &operator|=(type &a, type b)                                                   \
	{                                                                                          \
		return a = a | b;                                                                  \
	}                                                                                          \
	inline type &operator&=(type &a, type b)                                                   \
	{                                                                                          \
		return a = a & b;                                                                  \
	}                                                                                          \
	inline type &operator^=(type &a, type b)                                                   \
	{                                                                                          \
		return a = a ^ b;                                                                  \
	}                                                                                          \
	}
#else
#define DEFINE_ENUM_FLAG_OPERATORS(type)
#endif

OPENDXGK_EXTERN_C_BEGIN

typedef LARGE_INTEGER PHYSICAL_ADDRESS, *PPHYSICAL_ADDRESS;
typedef ULONG LOGICAL, *PLOGICAL;
typedef PVOID PSECURITY_DESCRIPTOR;
typedef PVOID PSID;
typedef ULONG SECURITY_INFORMATION, *PSECURITY_INFORMATION;
typedef USHORT RTL_ATOM, *PRTL_ATOM;
typedef char KPROCESSOR_MODE;
typedef UCHAR KIRQL, *PKIRQL;
typedef LONG KPRIORITY;
typedef ULONG_PTR KSPIN_LOCK, *PKSPIN_LOCK;
typedef ULONG_PTR KAFFINITY, *PKAFFINITY;

typedef enum _MODE { KernelMode, UserMode, MaximumMode } MODE;

#ifndef OPENDXGK_UNICODE_STRING_DEFINED
#define OPENDXGK_UNICODE_STRING_DEFINED
typedef struct _UNICODE_STRING {
	USHORT Length; /* bytes, not counting a terminator that need not be there */
	USHORT MaximumLength;
	PWSTR Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
#endif
typedef const UNICODE_STRING *PCUNICODE_STRING;

typedef struct _STRING {
	USHORT Length;
	USHORT MaximumLength;
	PCHAR Buffer;
} STRING, *PSTRING, ANSI_STRING, *PANSI_STRING, OEM_STRING, *POEM_STRING, UTF8_STRING,
	*PUTF8_STRING;
typedef const STRING *PCANSI_STRING, *PCOEM_STRING, *PCUTF8_STRING;

#define RTL_CONSTANT_STRING(s)                                                                     \
	{                                                                                          \
		sizeof(s) - sizeof((s)[0]), sizeof(s), s                                           \
	}
#define DECLARE_CONST_UNICODE_STRING(name, text)                                                   \
	const WCHAR name##_buffer[] = text;                                                        \
	const UNICODE_STRING name = { sizeof(text) - sizeof(WCHAR), sizeof(text),                  \
				      (PWSTR)name##_buffer }
#define DECLARE_UNICODE_STRING_SIZE(name, chars)                                                   \
	WCHAR name##_buffer[chars];                                                                \
	UNICODE_STRING name = { 0, (chars) * sizeof(WCHAR), name##_buffer }

typedef struct _LIST_ENTRY {
	struct _LIST_ENTRY *Flink;
	struct _LIST_ENTRY *Blink;
} LIST_ENTRY, *PLIST_ENTRY, *PRLIST_ENTRY;

typedef struct _SINGLE_LIST_ENTRY {
	struct _SINGLE_LIST_ENTRY *Next;
} SINGLE_LIST_ENTRY, *PSINGLE_LIST_ENTRY;

#ifndef OPENDXGK_OBJECT_ATTRIBUTES_DEFINED
#define OPENDXGK_OBJECT_ATTRIBUTES_DEFINED
typedef struct _OBJECT_ATTRIBUTES {
	ULONG Length;
	HANDLE RootDirectory;
	PUNICODE_STRING ObjectName;
	ULONG Attributes;
	PVOID SecurityDescriptor;
	PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;
#endif
typedef const OBJECT_ATTRIBUTES *PCOBJECT_ATTRIBUTES;

#define OBJ_INHERIT            0x00000002
#define OBJ_PERMANENT          0x00000010
#define OBJ_EXCLUSIVE          0x00000020
#define OBJ_CASE_INSENSITIVE   0x00000040
#define OBJ_OPENIF             0x00000080
#define OBJ_OPENLINK           0x00000100
#define OBJ_KERNEL_HANDLE      0x00000200
#define OBJ_FORCE_ACCESS_CHECK 0x00000400
#define OBJ_VALID_ATTRIBUTES   0x000007f2

#define InitializeObjectAttributes(attributes, name, flags, root, security)                        \
	do {                                                                                       \
		(attributes)->Length = sizeof(OBJECT_ATTRIBUTES);                                  \
		(attributes)->RootDirectory = (root);                                              \
		(attributes)->Attributes = (flags);                                                \
		(attributes)->ObjectName = (name);                                                 \
		(attributes)->SecurityDescriptor = (security);                                     \
		(attributes)->SecurityQualityOfService = NULL;                                     \
	} while (0)

/*
 * What a driver asserts about itself goes to the host, which names the driver, the place and the
 * call stack. PAGED_CODE is how a driver says "never at DISPATCH_LEVEL", and the host is there to
 * find out, unless the driver is built with DBG=0: a free build has none of it on Windows either.
 * It carries its own braces because existing code writes it with and without a semicolon.
 */
NTKERNELAPI VOID NTAPI OpendxgkPagedCode(PCSTR File, ULONG Line);
NTKERNELAPI VOID NTAPI OpendxgkAssertionFailed(PCSTR Expression, PCSTR File, ULONG Line);

#if defined(DBG) && !DBG
#define PAGED_CODE()                                                                               \
	{                                                                                          \
	}
#else
#define PAGED_CODE()                                                                               \
	{                                                                                          \
		OpendxgkPagedCode(__FILE__, __LINE__);                                             \
	}
#endif
#define PAGED_ASSERT(expression) NT_ASSERT(expression)
#define PAGED_CODE_LOCKED()      NOTHING

#if defined(DBG) && DBG
#define NT_ASSERT(expression)                                                                      \
	((expression) ? TRUE : (OpendxgkAssertionFailed(#expression, __FILE__, __LINE__), FALSE))
#define NT_ASSERTMSG(message, expression)                                                          \
	((expression) ? TRUE : (OpendxgkAssertionFailed(message, __FILE__, __LINE__), FALSE))
#else
#define NT_ASSERT(expression)             ((void)0)
#define NT_ASSERTMSG(message, expression) ((void)0)
#endif
#define NT_ASSERT_ACTION(expression) NT_ASSERT(expression)
#define NT_VERIFY(expression)                                                                      \
	((expression) ? TRUE : (OpendxgkAssertionFailed(#expression, __FILE__, __LINE__), FALSE))
#define NT_VERIFYMSG(message, expression) NT_VERIFY(expression)
#define NT_FRE_ASSERT(expression)         NT_VERIFY(expression)
#ifndef ASSERT
#define ASSERT(expression)             ((void)NT_ASSERT(expression))
#define ASSERTMSG(message, expression) ((void)NT_ASSERTMSG(message, expression))
#define RTL_VERIFY(expression)         NT_VERIFY(expression)
#endif

OPENDXGK_EXTERN_C_END

#endif
