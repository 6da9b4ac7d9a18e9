/* SPDX-License-Identifier: MIT */
/*
 * windows_d3dkmt.h - our D3DKMT headers with Windows' own types, for programs that mingw compiles.
 */
#ifndef TESTS_WINE_WINDOWS_D3DKMT_H
#define TESTS_WINE_WINDOWS_D3DKMT_H

/* Statuses are in our own list. */
#define WIN32_NO_STATUS
#include <windows.h>
#include <winternl.h>

/* Types are Windows': ours have other widths there. */
#define OPENDXGK_BASIC_TYPES
#define OPENDXGK_NTSTATUS_TYPE
#define OPENDXGK_UNICODE_STRING_DEFINED
#define OPENDXGK_OBJECT_ATTRIBUTES_DEFINED
#undef OBJ_INHERIT
#undef OBJ_CASE_INSENSITIVE
#undef OBJ_VALID_ATTRIBUTES
#include <dxg/d3dkmthk.h>

#endif
