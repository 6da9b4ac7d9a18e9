/* SPDX-License-Identifier: MIT */
/*
 * winerror.h - HRESULTs and the few Win32 error codes that user-mode parts of a driver name.
 */
#ifndef OPENDXGK_DDK_WINERROR_H
#define OPENDXGK_DDK_WINERROR_H

#include "ntdef.h"

#define SUCCEEDED(hr)        (((HRESULT)(hr)) >= 0)
#define FAILED(hr)           (((HRESULT)(hr)) < 0)
#define HRESULT_CODE(hr)     ((hr)&0xFFFF)
#define HRESULT_FACILITY(hr) (((hr) >> 16) & 0x1fff)
#define MAKE_HRESULT(sev, fac, code)                                                               \
	((HRESULT)(((ULONG)(sev) << 31) | ((ULONG)(fac) << 16) | (ULONG)(code)))
#define FACILITY_NT_BIT         0x10000000
#define FACILITY_WIN32          7
#define HRESULT_FROM_NT(status) ((HRESULT)((status) | FACILITY_NT_BIT))
#define HRESULT_FROM_WIN32(code)                                                                   \
	((HRESULT)(code) <= 0 ? (HRESULT)(code) : MAKE_HRESULT(1, FACILITY_WIN32, (code)&0xFFFF))
#define _HRESULT_TYPEDEF_(value) ((HRESULT)value)

#define S_OK           ((HRESULT)0)
#define S_FALSE        ((HRESULT)1)
#define NOERROR        0
#define E_UNEXPECTED   ((HRESULT)0x8000FFFF)
#define E_NOTIMPL      ((HRESULT)0x80004001)
#define E_NOINTERFACE  ((HRESULT)0x80004002)
#define E_POINTER      ((HRESULT)0x80004003)
#define E_ABORT        ((HRESULT)0x80004004)
#define E_FAIL         ((HRESULT)0x80004005)
#define E_PENDING      ((HRESULT)0x8000000A)
#define E_ACCESSDENIED ((HRESULT)0x80070005)
#define E_HANDLE       ((HRESULT)0x80070006)
#define E_OUTOFMEMORY  ((HRESULT)0x8007000E)
#define E_INVALIDARG   ((HRESULT)0x80070057)

#define ERROR_SUCCESS             0
#define ERROR_FILE_NOT_FOUND      2
#define ERROR_ACCESS_DENIED       5
#define ERROR_NOT_ENOUGH_MEMORY   8
#define ERROR_INVALID_FUNCTION    1
#define ERROR_INVALID_HANDLE      6
#define ERROR_DEV_NOT_EXIST       55
#define ERROR_INVALID_PARAMETER   87
#define ERROR_INSUFFICIENT_BUFFER 122
#define ERROR_MORE_DATA           234
#define ERROR_NO_MORE_ITEMS       259

#define DXGI_STATUS_OCCLUDED                 ((HRESULT)0x087A0001)
#define DXGI_ERROR_INVALID_CALL              ((HRESULT)0x887A0001)
#define DXGI_ERROR_NOT_FOUND                 ((HRESULT)0x887A0002)
#define DXGI_ERROR_MORE_DATA                 ((HRESULT)0x887A0003)
#define DXGI_ERROR_UNSUPPORTED               ((HRESULT)0x887A0004)
#define DXGI_ERROR_DEVICE_REMOVED            ((HRESULT)0x887A0005)
#define DXGI_ERROR_DEVICE_HUNG               ((HRESULT)0x887A0006)
#define DXGI_ERROR_DEVICE_RESET              ((HRESULT)0x887A0007)
#define DXGI_ERROR_WAS_STILL_DRAWING         ((HRESULT)0x887A000A)
#define D3DERR_DRIVERINTERNALERROR           ((HRESULT)0x88760827)
#define D3DERR_NOTAVAILABLE                  ((HRESULT)0x8876086A)
#define D3DERR_DEVICEREMOVED                 ((HRESULT)0x88760870)
#define D3DERR_WASSTILLDRAWING               ((HRESULT)0x8876021C)
#define D3DDDIERR_DEVICEREMOVED              ((HRESULT)0x88760870)
#define D3DDDIERR_CANTRENDERLOCKEDALLOCATION ((HRESULT)0xC0262111)

#endif
