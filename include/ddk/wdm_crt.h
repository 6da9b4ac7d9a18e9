/* SPDX-License-Identifier: MIT */
/*
 * wdm_crt.h - the C functions that kernel code may use.
 *
 * Wide strings are 16-bit. A driver that says wcscmp() must never reach libc's function of that
 * name, whose characters have 32 bits, so the names are redirected to host exports DxgkRt_*; the
 * same for the printf family, whose formats mean Windows sizes (%lx is 32 bits, %I64x, %wZ, %ws).
 * Byte functions (memcpy, strlen, …) are the platform's own. Host sources, which define
 * OPENDXGK_BUILD_KERNEL, see only the DxgkRt_* names.
 *
 * Part of wdm.h; crt/string.h and its kind are this header under the names of C.
 */
#ifndef OPENDXGK_DDK_WDM_CRT_H
#define OPENDXGK_DDK_WDM_CRT_H

#include "ntdef.h"

OPENDXGK_EXTERN_C_BEGIN

#ifndef va_start
typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_end(list)         __builtin_va_end(list)
#define va_arg(list, type)   __builtin_va_arg(list, type)
#define va_copy(to, from)    __builtin_va_copy(to, from)
#endif

/* Bytes and narrow strings: bound to the platform's C library. */

void *memcpy(void *Destination, const void *Source, size_t Size) OPENDXGK_NOTHROW;
void *memmove(void *Destination, const void *Source, size_t Size) OPENDXGK_NOTHROW;
void *memset(void *Destination, int Value, size_t Size) OPENDXGK_NOTHROW;
int memcmp(const void *First, const void *Second, size_t Size) OPENDXGK_NOTHROW;
size_t strlen(const char *String) OPENDXGK_NOTHROW;
size_t strnlen(const char *String, size_t Maximum) OPENDXGK_NOTHROW;
int strcmp(const char *First, const char *Second) OPENDXGK_NOTHROW;
int strncmp(const char *First, const char *Second, size_t Count) OPENDXGK_NOTHROW;
char *strcpy(char *Destination, const char *Source) OPENDXGK_NOTHROW;
char *strncpy(char *Destination, const char *Source, size_t Count) OPENDXGK_NOTHROW;
char *strcat(char *Destination, const char *Source) OPENDXGK_NOTHROW;
char *strchr(const char *String, int Character) OPENDXGK_NOTHROW;
char *strrchr(const char *String, int Character) OPENDXGK_NOTHROW;
char *strstr(const char *String, const char *Part) OPENDXGK_NOTHROW;

NTKERNELAPI int DxgkRt_stricmp(const char *First, const char *Second);
NTKERNELAPI int DxgkRt_strnicmp(const char *First, const char *Second, size_t Count);
NTKERNELAPI int DxgkRt_tolower(int Character);
NTKERNELAPI int DxgkRt_toupper(int Character);
NTKERNELAPI int DxgkRt_atoi(const char *String);
NTKERNELAPI ULONG DxgkRt_strtoul(const char *String, char **End, int Base);
NTKERNELAPI int DxgkRt_strcpy_s(char *Destination, size_t Size, const char *Source);
NTKERNELAPI int DxgkRt_strcat_s(char *Destination, size_t Size, const char *Source);
NTKERNELAPI int DxgkRt_strncpy_s(char *Destination, size_t Size, const char *Source, size_t Count);
NTKERNELAPI int DxgkRt_memcpy_s(void *Destination, size_t DestinationSize, const void *Source,
				size_t Size);
NTKERNELAPI int DxgkRt_memmove_s(void *Destination, size_t DestinationSize, const void *Source,
				 size_t Size);

/* Wide strings. */

NTKERNELAPI size_t DxgkRt_wcslen(const WCHAR *String);
NTKERNELAPI size_t DxgkRt_wcsnlen(const WCHAR *String, size_t Maximum);
NTKERNELAPI int DxgkRt_wcscmp(const WCHAR *First, const WCHAR *Second);
NTKERNELAPI int DxgkRt_wcsncmp(const WCHAR *First, const WCHAR *Second, size_t Count);
NTKERNELAPI int DxgkRt_wcsicmp(const WCHAR *First, const WCHAR *Second);
NTKERNELAPI int DxgkRt_wcsnicmp(const WCHAR *First, const WCHAR *Second, size_t Count);
NTKERNELAPI WCHAR *DxgkRt_wcscpy(WCHAR *Destination, const WCHAR *Source);
NTKERNELAPI WCHAR *DxgkRt_wcsncpy(WCHAR *Destination, const WCHAR *Source, size_t Count);
NTKERNELAPI WCHAR *DxgkRt_wcscat(WCHAR *Destination, const WCHAR *Source);
NTKERNELAPI WCHAR *DxgkRt_wcsncat(WCHAR *Destination, const WCHAR *Source, size_t Count);
NTKERNELAPI WCHAR *DxgkRt_wcschr(const WCHAR *String, WCHAR Character);
NTKERNELAPI WCHAR *DxgkRt_wcsrchr(const WCHAR *String, WCHAR Character);
NTKERNELAPI WCHAR *DxgkRt_wcsstr(const WCHAR *String, const WCHAR *Part);
NTKERNELAPI ULONG DxgkRt_wcstoul(const WCHAR *String, WCHAR **End, int Base);
NTKERNELAPI int DxgkRt_wtoi(const WCHAR *String);
NTKERNELAPI WCHAR DxgkRt_towlower(WCHAR Character);
NTKERNELAPI WCHAR DxgkRt_towupper(WCHAR Character);
NTKERNELAPI int DxgkRt_wcscpy_s(WCHAR *Destination, size_t Count, const WCHAR *Source);
NTKERNELAPI int DxgkRt_wcscat_s(WCHAR *Destination, size_t Count, const WCHAR *Source);
NTKERNELAPI int DxgkRt_wcsncpy_s(WCHAR *Destination, size_t Size, const WCHAR *Source,
				 size_t Count);

/*
 * Formatting. At most Count characters are written; the result is their number, or negative when
 * the text did not fit, and then there is a terminator only in the functions ending in _s.
 */
NTKERNELAPI int DxgkRt_snprintf(char *Buffer, size_t Count, const char *Format, ...);
NTKERNELAPI int DxgkRt_vsnprintf(char *Buffer, size_t Count, const char *Format, va_list Arguments);
NTKERNELAPI int DxgkRt_sprintf_s(char *Buffer, size_t Count, const char *Format, ...);
NTKERNELAPI int DxgkRt_vsprintf_s(char *Buffer, size_t Count, const char *Format,
				  va_list Arguments);
NTKERNELAPI int DxgkRt_snwprintf(WCHAR *Buffer, size_t Count, const WCHAR *Format, ...);
NTKERNELAPI int DxgkRt_vsnwprintf(WCHAR *Buffer, size_t Count, const WCHAR *Format,
				  va_list Arguments);
NTKERNELAPI int DxgkRt_swprintf_s(WCHAR *Buffer, size_t Count, const WCHAR *Format, ...);
NTKERNELAPI int DxgkRt_vswprintf_s(WCHAR *Buffer, size_t Count, const WCHAR *Format,
				   va_list Arguments);

#ifndef OPENDXGK_BUILD_KERNEL
#define _stricmp    DxgkRt_stricmp
#define _strnicmp   DxgkRt_strnicmp
#define tolower     DxgkRt_tolower
#define toupper     DxgkRt_toupper
#define atoi        DxgkRt_atoi
#define strtoul     DxgkRt_strtoul
#define strcpy_s    DxgkRt_strcpy_s
#define strcat_s    DxgkRt_strcat_s
#define strncpy_s   DxgkRt_strncpy_s
#define memcpy_s    DxgkRt_memcpy_s
#define memmove_s   DxgkRt_memmove_s
#define wcslen      DxgkRt_wcslen
#define wcsnlen     DxgkRt_wcsnlen
#define wcscmp      DxgkRt_wcscmp
#define wcsncmp     DxgkRt_wcsncmp
#define _wcsicmp    DxgkRt_wcsicmp
#define _wcsnicmp   DxgkRt_wcsnicmp
#define wcscpy      DxgkRt_wcscpy
#define wcsncpy     DxgkRt_wcsncpy
#define wcscat      DxgkRt_wcscat
#define wcsncat     DxgkRt_wcsncat
#define wcschr      DxgkRt_wcschr
#define wcsrchr     DxgkRt_wcsrchr
#define wcsstr      DxgkRt_wcsstr
#define wcstoul     DxgkRt_wcstoul
#define _wtoi       DxgkRt_wtoi
#define towlower    DxgkRt_towlower
#define towupper    DxgkRt_towupper
#define wcscpy_s    DxgkRt_wcscpy_s
#define wcscat_s    DxgkRt_wcscat_s
#define wcsncpy_s   DxgkRt_wcsncpy_s
#define _snprintf   DxgkRt_snprintf
#define _vsnprintf  DxgkRt_vsnprintf
#define sprintf_s   DxgkRt_sprintf_s
#define vsprintf_s  DxgkRt_vsprintf_s
#define _snwprintf  DxgkRt_snwprintf
#define _vsnwprintf DxgkRt_vsnwprintf
#define swprintf_s  DxgkRt_swprintf_s
#define vswprintf_s DxgkRt_vswprintf_s
#ifdef __cplusplus
#define strchr  DxgkRt_strchr
#define strrchr DxgkRt_strrchr
#define strstr  DxgkRt_strstr
#endif
#endif

OPENDXGK_EXTERN_C_END

#endif
