/* SPDX-License-Identifier: MIT */
/*
 * evntprov.h - event tracing providers.
 *
 * Registering works as on Windows; no trace session ever enables a provider here, so
 * EtwEventEnabled() is false and what is written goes nowhere, as on a machine nobody traces. The
 * host's own trace shows what a driver does.
 */
#ifndef OPENDXGK_DDK_EVNTPROV_H
#define OPENDXGK_DDK_EVNTPROV_H

#include "guiddef.h"

OPENDXGK_EXTERN_C_BEGIN

typedef ULONGLONG REGHANDLE, *PREGHANDLE;

typedef struct _EVENT_DESCRIPTOR {
	USHORT Id;
	UCHAR Version;
	UCHAR Channel;
	UCHAR Level;
	UCHAR Opcode;
	USHORT Task;
	ULONGLONG Keyword;
} EVENT_DESCRIPTOR, *PEVENT_DESCRIPTOR;
typedef const EVENT_DESCRIPTOR *PCEVENT_DESCRIPTOR;

typedef struct _EVENT_DATA_DESCRIPTOR {
	ULONGLONG Ptr;
	ULONG Size;
	ULONG Reserved;
} EVENT_DATA_DESCRIPTOR, *PEVENT_DATA_DESCRIPTOR;

typedef struct _EVENT_FILTER_DESCRIPTOR {
	ULONGLONG Ptr;
	ULONG Size;
	ULONG Type;
} EVENT_FILTER_DESCRIPTOR, *PEVENT_FILTER_DESCRIPTOR;

typedef VOID NTAPI ETWENABLECALLBACK(const GUID *SourceId, ULONG ControlCode, UCHAR Level,
				     ULONGLONG MatchAnyKeyword, ULONGLONG MatchAllKeyword,
				     PEVENT_FILTER_DESCRIPTOR FilterData, PVOID CallbackContext);
typedef ETWENABLECALLBACK *PETWENABLECALLBACK;

OPENDXGK_INLINE NTSTATUS EtwRegister(const GUID *ProviderId, PETWENABLECALLBACK EnableCallback,
				     PVOID CallbackContext, PREGHANDLE RegHandle)
{
	(void)EnableCallback;
	(void)CallbackContext;
	*RegHandle = (REGHANDLE)(ULONG_PTR)ProviderId;
	return STATUS_SUCCESS;
}
OPENDXGK_INLINE NTSTATUS EtwUnregister(REGHANDLE RegHandle)
{
	return RegHandle ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
}
OPENDXGK_INLINE BOOLEAN EtwEventEnabled(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor)
{
	(void)RegHandle;
	(void)EventDescriptor;
	return FALSE;
}
OPENDXGK_INLINE NTSTATUS EtwWrite(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor,
				  const GUID *ActivityId, ULONG UserDataCount,
				  PEVENT_DATA_DESCRIPTOR UserData)
{
	(void)EventDescriptor;
	(void)ActivityId;
	(void)UserDataCount;
	(void)UserData;
	return RegHandle ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
}
OPENDXGK_INLINE VOID EventDataDescCreate(PEVENT_DATA_DESCRIPTOR Descriptor, const VOID *Data,
					 ULONG Size)
{
	Descriptor->Ptr = (ULONGLONG)(ULONG_PTR)Data;
	Descriptor->Size = Size;
	Descriptor->Reserved = 0;
}

OPENDXGK_EXTERN_C_END

#endif
