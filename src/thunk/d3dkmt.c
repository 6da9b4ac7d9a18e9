/* SPDX-License-Identifier: MIT */
/*
 * d3dkmt.c - the public names: each hands its struct to the connection, and nothing else.
 *
 * Made from calls.def; the compiler compares every one with its prototype in <dxg/d3dkmthk.h>.
 */
#include <dxg/d3dkmthk.h>

#include "base/attributes.h"
#include "thunk/connection.h"
#include "wire/call.h"

#define MUTABLE

/* Results are written also where the prototype says const; clients expect that. */
#define CALL(id, name, type, constness, ...)                                                       \
	EXPORTED NTSTATUS APIENTRY name(constness type *args)                                      \
	{                                                                                          \
		return connection_call(CALL_##id, (void *)args);                                   \
	}
#define CALL_NOT_BUILT(name, type, constness)                                                      \
	EXPORTED NTSTATUS APIENTRY name(constness type *args)                                      \
	{                                                                                          \
		return connection_call(CALL_##name, (void *)args);                                 \
	}
/* Below, by hand. */
#define CALL_OWN_THUNK(id, name, type, constness, ...)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

EXPORTED NTSTATUS APIENTRY D3DKMTShareObjects(UINT cObjects, const D3DKMT_HANDLE *hObjects,
					      POBJECT_ATTRIBUTES pObjectAttributes,
					      DWORD dwDesiredAccess, HANDLE *phSharedNtHandle)
{
	D3DKMT_SHAREOBJECTS args = { cObjects, hObjects, pObjectAttributes, dwDesiredAccess,
				     phSharedNtHandle };

	return connection_call(CALL_share_objects, &args);
}

EXPORTED NTSTATUS APIENTRY D3DKMTShareObjectsInternal(D3DKMT_SHAREOBJECTS *args)
{
	return connection_call(CALL_share_objects, args);
}

EXPORTED NTSTATUS APIENTRY
D3DKMTSetProcessSchedulingPriorityClass(HANDLE hProcess, D3DKMT_SCHEDULINGPRIORITYCLASS Class)
{
	struct wire_process_class args = { hProcess, Class };

	return connection_call(CALL_set_process_scheduling_priority_class, &args);
}

EXPORTED NTSTATUS APIENTRY
D3DKMTGetProcessSchedulingPriorityClass(HANDLE hProcess, D3DKMT_SCHEDULINGPRIORITYCLASS *pClass)
{
	struct wire_process_class args = { .hProcess = hProcess };
	/* Without a place for the answer it is asked without a struct, and refused as that. */
	NTSTATUS status =
		connection_call(CALL_get_process_scheduling_priority_class, pClass ? &args : NULL);

	if (pClass && NT_SUCCESS(status))
		*pClass = args.Class;
	return status;
}

EXPORTED VOID APIENTRY D3DKMTCloseDxCoreDevice(VOID)
{
	connection_close();
}

EXPORTED int DxgkLastRefusal(struct dxgk_refusal *refusal)
{
	return connection_last_refusal(refusal);
}
