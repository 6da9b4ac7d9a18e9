/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - the callbacks as a driver sees them while it is verified: each asks the watches, calls the kernel's,
 * and asks them again.
 *
 * The kernel's are the same for every adapter, so they are kept once; the first interface that is made has them.
 */
#include "nt/visit.h"
#include "verify/callbacks.h"
#include "verify/verify.h"

static DXGKRNL_INTERFACE kernel;

/* ---- those with a status ---- */

#define STATUS_CALLBACKS_1(ONE)                                                                    \
	ONE(CreateContextAllocation, NULL, one, INOUT_PDXGKARGCB_CREATECONTEXTALLOCATION)          \
	ONE(SignalEvent, NULL, one, IN_CONST_PDXGKARGCB_SIGNALEVENT)

#define STATUS_CALLBACKS_2(ONE)                                                                    \
	ONE(AllocateContiguousMemory, IN_CONST_HANDLE, INOUT_PDXGKARGCB_ALLOCATECONTIGUOUSMEMORY)  \
	ONE(AllocatePagesForMdl, IN_CONST_HANDLE, INOUT_PDXGKARGCB_ALLOCATEPAGESFORMDL)            \
	ONE(DestroyContextAllocation, IN_CONST_HANDLE, IN_CONST_HANDLE)                            \
	ONE(GetDeviceInformation, HANDLE, PDXGK_DEVICE_INFO)                                       \
	ONE(ReserveGpuVirtualAddressRange, IN_CONST_HANDLE,                                        \
	    INOUT_PDXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE)                                        \
	ONE(UnmapMemory, HANDLE, PVOID)                                                            \
	ONE(UpdateContextAllocation, IN_CONST_HANDLE, IN_CONST_PDXGKARGCB_UPDATECONTEXTALLOCATION)

#define DEFINE_STATUS_1(member, subject, data, first)                                              \
	static NTSTATUS APIENTRY callback_##member(first one)                                      \
	{                                                                                          \
		struct verify_callback callback = { 0 };                                           \
		NTSTATUS status;                                                                   \
                                                                                                   \
		if (verify_callback_begin(&callback, VERIFY_CB_##member, subject, (void *)data))   \
			status = kernel.DxgkCb##member(one);                                       \
		else                                                                               \
			status = callback.status;                                                  \
		verify_callback_end(&callback, status, 0);                                         \
		return status;                                                                     \
	}

#define DEFINE_STATUS_2(member, first, second)                                                     \
	static NTSTATUS APIENTRY callback_##member(first one, second two)                          \
	{                                                                                          \
		struct verify_callback callback = { 0 };                                           \
		NTSTATUS status;                                                                   \
                                                                                                   \
		if (verify_callback_begin(&callback, VERIFY_CB_##member, one, (void *)two))        \
			status = kernel.DxgkCb##member(one, two);                                  \
		else                                                                               \
			status = callback.status;                                                  \
		verify_callback_end(&callback, status, 0);                                         \
		return status;                                                                     \
	}

STATUS_CALLBACKS_1(DEFINE_STATUS_1)
STATUS_CALLBACKS_2(DEFINE_STATUS_2)

static NTSTATUS APIENTRY callback_MapMemory(HANDLE handle, PHYSICAL_ADDRESS address, ULONG length,
					    BOOLEAN in_io_space, BOOLEAN to_user_mode,
					    MEMORY_CACHING_TYPE cache_type, PVOID *pointer_out)
{
	struct verify_callback callback = { .numbers = { (uint64_t)address.QuadPart, length } };
	NTSTATUS status;

	if (verify_callback_begin(&callback, VERIFY_CB_MapMemory, handle, (void *)pointer_out))
		status = kernel.DxgkCbMapMemory(handle, address, length, in_io_space, to_user_mode,
						cache_type, pointer_out);
	else
		status = callback.status;
	verify_callback_end(&callback, status, 0);
	return status;
}

static NTSTATUS APIENTRY callback_ReadDeviceSpace(HANDLE handle, ULONG type, PVOID buffer,
						  ULONG offset, ULONG length, PULONG read_out)
{
	struct verify_callback callback = { .numbers = { type, offset, length } };
	NTSTATUS status;

	if (verify_callback_begin(&callback, VERIFY_CB_ReadDeviceSpace, handle, buffer))
		status = kernel.DxgkCbReadDeviceSpace(handle, type, buffer, offset, length,
						      read_out);
	else
		status = callback.status;
	verify_callback_end(&callback, status, 0);
	return status;
}

static NTSTATUS APIENTRY callback_WriteDeviceSpace(HANDLE handle, ULONG type, PVOID buffer,
						   ULONG offset, ULONG length, PULONG written_out)
{
	struct verify_callback callback = { .numbers = { type, offset, length } };
	NTSTATUS status;

	if (verify_callback_begin(&callback, VERIFY_CB_WriteDeviceSpace, handle, buffer))
		status = kernel.DxgkCbWriteDeviceSpace(handle, type, buffer, offset, length,
						       written_out);
	else
		status = callback.status;
	verify_callback_end(&callback, status, 0);
	return status;
}

/* What a driver wants done at the level of the interrupt, and who asks the watches about it. */
struct synchronized {
	PKSYNCHRONIZE_ROUTINE routine;
	PVOID context;
	struct verify_callback *callback;
};

static BOOLEAN NTAPI run_synchronized(PVOID context)
{
	struct synchronized *synchronized = context;
	struct nt_visit visit;

	verify_routine_begin(synchronized->callback);
	nt_visit_begin(&visit, "the routine given to DxgkCbSynchronizeExecution",
		       (const void *)synchronized->routine);
	BOOLEAN result = synchronized->routine(synchronized->context);
	nt_visit_end(&visit);
	verify_routine_end(synchronized->callback);
	return result;
}

static NTSTATUS APIENTRY callback_SynchronizeExecution(HANDLE handle, PKSYNCHRONIZE_ROUTINE routine,
						       PVOID context, ULONG message,
						       PBOOLEAN result_out)
{
	struct verify_callback callback = { .numbers = { message } };
	struct synchronized synchronized = { routine, context, &callback };
	NTSTATUS status;

	if (verify_callback_begin(&callback, VERIFY_CB_SynchronizeExecution, handle, context))
		status =
			kernel.DxgkCbSynchronizeExecution(handle, routine ? run_synchronized : NULL,
							  &synchronized, message, result_out);
	else
		status = callback.status;
	verify_callback_end(&callback, status, 0);
	return status;
}

/* ---- those with nothing ---- */

static VOID APIENTRY callback_NotifyInterrupt(IN_CONST_HANDLE handle,
					      IN_CONST_PDXGKARGCB_NOTIFY_INTERRUPT_DATA data)
{
	struct verify_callback callback = { 0 };

	if (verify_callback_begin(&callback, VERIFY_CB_NotifyInterrupt, handle, (void *)data))
		kernel.DxgkCbNotifyInterrupt(handle, data);
	if (callback.is_repeated)
		kernel.DxgkCbNotifyInterrupt(handle, data);
	verify_callback_end(&callback, STATUS_SUCCESS, 0);
}

static VOID APIENTRY callback_NotifyDpc(IN_CONST_HANDLE handle)
{
	struct verify_callback callback = { 0 };

	if (verify_callback_begin(&callback, VERIFY_CB_NotifyDpc, handle, NULL))
		kernel.DxgkCbNotifyDpc(handle);
	verify_callback_end(&callback, STATUS_SUCCESS, 0);
}

static VOID APIENTRY callback_ReleaseHandleData(IN_CONST_DXGKARGCB_RELEASEHANDLEDATA data)
{
	struct verify_callback callback = { 0 };

	if (verify_callback_begin(&callback, VERIFY_CB_ReleaseHandleData, NULL, (void *)&data))
		kernel.DxgkCbReleaseHandleData(data);
	verify_callback_end(&callback, STATUS_SUCCESS, 0);
}

static VOID APIENTRY callback_FreeContiguousMemory(IN_CONST_HANDLE handle,
						   IN_CONST_PDXGKARGCB_FREECONTIGUOUSMEMORY args)
{
	struct verify_callback callback = { 0 };

	if (verify_callback_begin(&callback, VERIFY_CB_FreeContiguousMemory, handle, (void *)args))
		kernel.DxgkCbFreeContiguousMemory(handle, args);
	verify_callback_end(&callback, STATUS_SUCCESS, 0);
}

static VOID APIENTRY callback_FreePagesFromMdl(IN_CONST_HANDLE handle,
					       IN_CONST_PDXGKARGCB_FREEPAGESFROMMDL args)
{
	struct verify_callback callback = { 0 };

	if (verify_callback_begin(&callback, VERIFY_CB_FreePagesFromMdl, handle, (void *)args))
		kernel.DxgkCbFreePagesFromMdl(handle, args);
	verify_callback_end(&callback, STATUS_SUCCESS, 0);
}

/* ---- those with something else ---- */

static BOOLEAN APIENTRY callback_QueueDpc(HANDLE handle)
{
	struct verify_callback callback = { 0 };
	BOOLEAN is_new;

	if (verify_callback_begin(&callback, VERIFY_CB_QueueDpc, handle, NULL))
		is_new = kernel.DxgkCbQueueDpc(handle);
	else
		is_new = (BOOLEAN)callback.result;
	verify_callback_end(&callback, STATUS_SUCCESS, is_new);
	return is_new;
}

static VOID *APIENTRY callback_GetHandleData(IN_CONST_PDXGKARGCB_GETHANDLEDATA args)
{
	struct verify_callback callback = { 0 };
	void *data = NULL;

	if (verify_callback_begin(&callback, VERIFY_CB_GetHandleData, NULL, (void *)args))
		data = kernel.DxgkCbGetHandleData(args);
	verify_callback_end(&callback, STATUS_SUCCESS, (uint64_t)(uintptr_t)data);
	return data;
}

static VOID *APIENTRY callback_AcquireHandleData(IN_CONST_PDXGKARGCB_GETHANDLEDATA args,
						 DXGKARG_RELEASE_HANDLE *release_out)
{
	struct verify_callback callback = { 0 };
	void *data = NULL;

	if (verify_callback_begin(&callback, VERIFY_CB_AcquireHandleData, NULL, (void *)args))
		data = kernel.DxgkCbAcquireHandleData(args, release_out);
	verify_callback_end(&callback, STATUS_SUCCESS, (uint64_t)(uintptr_t)data);
	return data;
}

static UINT APIENTRY callback_GetHandleParent(UINT allocation)
{
	struct verify_callback callback = { .numbers = { allocation } };
	UINT parent = 0;

	if (verify_callback_begin(&callback, VERIFY_CB_GetHandleParent, NULL, NULL))
		parent = kernel.DxgkCbGetHandleParent(allocation);
	verify_callback_end(&callback, STATUS_SUCCESS, parent);
	return parent;
}

static UINT APIENTRY callback_EnumHandleChildren(IN_CONST_PDXGKARGCB_ENUMHANDLECHILDREN args)
{
	struct verify_callback callback = { 0 };
	UINT child = 0;

	if (verify_callback_begin(&callback, VERIFY_CB_EnumHandleChildren, NULL, (void *)args))
		child = kernel.DxgkCbEnumHandleChildren(args);
	verify_callback_end(&callback, STATUS_SUCCESS, child);
	return child;
}

static D3DGPU_VIRTUAL_ADDRESS APIENTRY
callback_MapContextAllocation(IN_CONST_HANDLE handle, IN_CONST_PDXGKARGCB_MAPCONTEXTALLOCATION args)
{
	struct verify_callback callback = { 0 };
	D3DGPU_VIRTUAL_ADDRESS address = 0;

	if (verify_callback_begin(&callback, VERIFY_CB_MapContextAllocation, handle, (void *)args))
		address = kernel.DxgkCbMapContextAllocation(handle, args);
	verify_callback_end(&callback, STATUS_SUCCESS, address);
	return address;
}

/* What is behind the level of an interface is NULL, and stays it. */
void verify_callbacks_replace(DXGKRNL_INTERFACE *interface)
{
#define VERIFY_CALLBACK(member)                                                                    \
	if (interface->DxgkCb##member) {                                                           \
		kernel.DxgkCb##member = interface->DxgkCb##member;                                 \
		interface->DxgkCb##member = callback_##member;                                     \
	}
#include "verify/callbacks.def"
#undef VERIFY_CALLBACK
}

const DXGKRNL_INTERFACE *verify_kernel_callbacks(void)
{
	return &kernel;
}
