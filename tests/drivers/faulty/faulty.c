/* SPDX-License-Identifier: MIT */
/*
 * faulty.c - see faulty.h.
 *
 *   below:   the driver's sources, in which DxgkInitialize is faulty_initialize
 *   here:    its table of entry points, each replaced by one that asks first
 */
#undef DxgkInitialize

#include <ntddk.h>

#include <dispmprt.h>

#include "../around.h"
#include "faulty.h"

NTSTATUS faulty_initialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
			   PDRIVER_INITIALIZATION_DATA data);

static DRIVER_INITIALIZATION_DATA real;

/* ---- those that may refuse ---- */

#define ENTRIES(ENTRY)                                                                             \
	ENTRY(CreateProcess, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEPROCESS)                        \
	ENTRY(CreateDevice, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEDEVICE)                          \
	ENTRY(CreateContext, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATECONTEXT)                        \
	ENTRY(CreateAllocation, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEALLOCATION)                  \
	ENTRY(OpenAllocation, IN_CONST_HANDLE, IN_CONST_PDXGKARG_OPENALLOCATION)                   \
	ENTRY(Render, IN_CONST_HANDLE, INOUT_PDXGKARG_RENDER)                                      \
	ENTRY(Patch, IN_CONST_HANDLE, IN_CONST_PDXGKARG_PATCH)                                     \
	ENTRY(SubmitCommand, IN_CONST_HANDLE, IN_CONST_PDXGKARG_SUBMITCOMMAND)                     \
	ENTRY(SubmitCommandVirtual, IN_CONST_HANDLE, IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL)       \
	ENTRY(PreemptCommand, IN_CONST_HANDLE, IN_CONST_PDXGKARG_PREEMPTCOMMAND)

#define DEFINE_ENTRY(member, first, second)                                                        \
	static NTSTATUS APIENTRY faulty_##member(first one, second two)                            \
	{                                                                                          \
		NTSTATUS status = faulty_answer(#member, NULL, 0);                                 \
                                                                                                   \
		return status == STATUS_SUCCESS ? real.DxgkDdi##member(one, two) : status;         \
	}
ENTRIES(DEFINE_ENTRY)

static NTSTATUS APIENTRY faulty_BuildPagingBuffer(IN_CONST_HANDLE adapter,
						  IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
	struct {
		DXGK_BUILDPAGINGBUFFER_OPERATION operation;
		UINT details[sizeof(args->Reserved) / sizeof(UINT)];
	} request = { .operation = args->Operation };
	NTSTATUS status;

	RtlCopyMemory(request.details, &args->Reserved, sizeof(request.details));
	status = faulty_answer("BuildPagingBuffer", &request, sizeof(request));
	return status == STATUS_SUCCESS ? real.DxgkDdiBuildPagingBuffer(adapter, args) : status;
}

/* ---- those that end something ---- */

#define ENDS(END)                                                                                  \
	END(DestroyProcess, (IN_CONST_HANDLE one, IN_CONST_HANDLE two), (one, two))                \
	END(DestroyDevice, (IN_CONST_HANDLE one), (one))                                           \
	END(DestroyContext, (IN_CONST_HANDLE one), (one))                                          \
	END(DestroyAllocation, (IN_CONST_HANDLE one, IN_CONST_PDXGKARG_DESTROYALLOCATION two),     \
	    (one, two))                                                                            \
	END(CloseAllocation, (IN_CONST_HANDLE one, IN_CONST_PDXGKARG_CLOSEALLOCATION two),         \
	    (one, two))

#define DEFINE_END(member, parameters, arguments)                                                  \
	static NTSTATUS APIENTRY faulty_##member parameters                                        \
	{                                                                                          \
		NTSTATUS answer = faulty_answer(#member, NULL, 0);                                 \
		NTSTATUS status = real.DxgkDdi##member arguments;                                  \
                                                                                                   \
		return answer == STATUS_SUCCESS ? status : answer;                                 \
	}
ENDS(DEFINE_END)

/* ---- load ---- */

/* What the driver left out stays left out. */
#define PUT(member)                                                                                \
	do {                                                                                       \
		if (real.DxgkDdi##member)                                                          \
			data->DxgkDdi##member = faulty_##member;                                   \
	} while (0);
#define PUT_ENTRY(member, first, second)       PUT(member)
#define PUT_END(member, parameters, arguments) PUT(member)

static void replace(DRIVER_INITIALIZATION_DATA *data){ ENTRIES(PUT_ENTRY) ENDS(PUT_END)
							       PUT(BuildPagingBuffer) }

NTSTATUS faulty_initialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
			   PDRIVER_INITIALIZATION_DATA data)
{
	return initialize_around(driver, path, data, &real, replace);
}
