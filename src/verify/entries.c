/* SPDX-License-Identifier: MIT */
/*
 * entries.c - the entry points as the kernel sees them while a driver is verified: each asks the watches, calls the
 * driver's own, and asks them again.
 *
 * Here are those that the kernel calls. One that it does not call stays the driver's.
 */
#include "verify/faults.h"
#include "verify/verify.h"

#define DRIVER(call) (&(call).adapter->miniport->driver)

/* ---- those that are all the same ---- */

#define ENTRIES_1(ENTRY)                                                                           \
	ENTRY(REMOVE_DEVICE, RemoveDevice, IN_CONST_PVOID)                                         \
	ENTRY(STOP_DEVICE, StopDevice, IN_CONST_PVOID)                                             \
	ENTRY(DESTROY_DEVICE, DestroyDevice, IN_CONST_HANDLE)                                      \
	ENTRY(DESTROY_CONTEXT, DestroyContext, IN_CONST_HANDLE)                                    \
	ENTRY(DESTROY_HW_CONTEXT, DestroyHwContext, IN_CONST_HANDLE)                               \
	ENTRY(DESTROY_HW_QUEUE, DestroyHwQueue, IN_CONST_HANDLE)                                   \
	ENTRY(RESET_FROM_TIMEOUT, ResetFromTimeout, IN_CONST_HANDLE)                               \
	ENTRY(RESTART_FROM_TIMEOUT, RestartFromTimeout, IN_CONST_HANDLE)

#define ENTRIES_2(ENTRY)                                                                           \
	ENTRY(CANCEL_COMMAND, CancelCommand, IN_CONST_HANDLE, IN_CONST_PDXGKARG_CANCELCOMMAND)     \
	ENTRY(CLOSE_ALLOCATION, CloseAllocation, IN_CONST_HANDLE,                                  \
	      IN_CONST_PDXGKARG_CLOSEALLOCATION)                                                   \
	ENTRY(COLLECT_DBG_INFO, CollectDbgInfo, IN_CONST_HANDLE, IN_CONST_PDXGKARG_COLLECTDBGINFO) \
	ENTRY(CREATE_ALLOCATION, CreateAllocation, IN_CONST_HANDLE,                                \
	      INOUT_PDXGKARG_CREATEALLOCATION)                                                     \
	ENTRY(CREATE_CONTEXT, CreateContext, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATECONTEXT)        \
	ENTRY(CREATE_CPU_EVENT, CreateCpuEvent, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATECPUEVENT)    \
	ENTRY(CREATE_DEVICE, CreateDevice, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEDEVICE)           \
	ENTRY(CREATE_HW_CONTEXT, CreateHwContext, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEHWCONTEXT) \
	ENTRY(CREATE_HW_QUEUE, CreateHwQueue, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEHWQUEUE)       \
	ENTRY(CREATE_PROCESS, CreateProcess, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEPROCESS)        \
	ENTRY(DESCRIBE_ALLOCATION, DescribeAllocation, IN_CONST_HANDLE,                            \
	      INOUT_PDXGKARG_DESCRIBEALLOCATION)                                                   \
	ENTRY(DESTROY_ALLOCATION, DestroyAllocation, IN_CONST_HANDLE,                              \
	      IN_CONST_PDXGKARG_DESTROYALLOCATION)                                                 \
	ENTRY(ESCAPE, Escape, IN_CONST_HANDLE, IN_CONST_PDXGKARG_ESCAPE)                           \
	ENTRY(GET_STANDARD_ALLOCATION_DRIVER_DATA, GetStandardAllocationDriverData,                \
	      IN_CONST_HANDLE, INOUT_PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA)                     \
	ENTRY(MAP_CPU_HOST_APERTURE, MapCpuHostAperture, IN_CONST_HANDLE,                          \
	      IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE)                                                \
	ENTRY(OPEN_ALLOCATION, OpenAllocation, IN_CONST_HANDLE, IN_CONST_PDXGKARG_OPENALLOCATION)  \
	ENTRY(PATCH, Patch, IN_CONST_HANDLE, IN_CONST_PDXGKARG_PATCH)                              \
	ENTRY(PREEMPT_COMMAND, PreemptCommand, IN_CONST_HANDLE, IN_CONST_PDXGKARG_PREEMPTCOMMAND)  \
	ENTRY(QUERY_ADAPTER_INFO, QueryAdapterInfo, IN_CONST_HANDLE,                               \
	      IN_CONST_PDXGKARG_QUERYADAPTERINFO)                                                  \
	ENTRY(QUERY_CURRENT_FENCE, QueryCurrentFence, IN_CONST_HANDLE,                             \
	      INOUT_PDXGKARG_QUERYCURRENTFENCE)                                                    \
	ENTRY(QUERY_DEPENDENT_ENGINE_GROUP, QueryDependentEngineGroup, IN_CONST_HANDLE,            \
	      INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP)                                             \
	ENTRY(QUERY_ENGINE_STATUS, QueryEngineStatus, IN_CONST_HANDLE,                             \
	      INOUT_PDXGKARG_QUERYENGINESTATUS)                                                    \
	ENTRY(QUERY_INTERFACE, QueryInterface, IN_CONST_PVOID, IN_PQUERY_INTERFACE)                \
	ENTRY(RESET_ENGINE, ResetEngine, IN_CONST_HANDLE, INOUT_PDXGKARG_RESETENGINE)              \
	ENTRY(RESET_HW_ENGINE, ResetHwEngine, IN_CONST_HANDLE, INOUT_PDXGKARG_RESETHWENGINE)       \
	ENTRY(RESUME_CONTEXT, ResumeContext, IN_CONST_HANDLE, IN_CONST_PDXGKARG_RESUMECONTEXT)     \
	ENTRY(RESUME_HW_ENGINE, ResumeHwEngine, IN_CONST_HANDLE, INOUT_PDXGKARG_RESUMEHWENGINE)    \
	ENTRY(SUBMIT_COMMAND, SubmitCommand, IN_CONST_HANDLE, IN_CONST_PDXGKARG_SUBMITCOMMAND)     \
	ENTRY(SUBMIT_COMMAND_TO_HW_QUEUE, SubmitCommandToHwQueue, IN_CONST_HANDLE,                 \
	      IN_CONST_PDXGKARG_SUBMITCOMMANDTOHWQUEUE)                                            \
	ENTRY(SUBMIT_COMMAND_VIRTUAL, SubmitCommandVirtual, IN_CONST_HANDLE,                       \
	      IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL)                                              \
	ENTRY(SUSPEND_CONTEXT, SuspendContext, IN_CONST_HANDLE, IN_CONST_PDXGKARG_SUSPENDCONTEXT)  \
	ENTRY(UNMAP_CPU_HOST_APERTURE, UnmapCpuHostAperture, IN_CONST_HANDLE,                      \
	      IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE)                                              \
	ENTRY(VALIDATE_SUBMIT_COMMAND, ValidateSubmitCommand, IN_CONST_HANDLE,                     \
	      INOUT_PDXGKARG_VALIDATESUBMITCOMMAND)                                                \
	ENTRY(VALIDATE_UPDATE_ALLOCATION_PROPERTY, ValidateUpdateAllocationProperty,               \
	      IN_CONST_HANDLE, IN_CONST_PDXGKARG_VALIDATEUPDATEALLOCPROPERTY)

#define DEFINE_1(ID, member, first)                                                                \
	static NTSTATUS APIENTRY entry_##member(first one)                                         \
	{                                                                                          \
		struct verify_call call = { 0 };                                                   \
                                                                                                   \
		verify_call_begin(&call, DDI_##ID, one, NULL);                                     \
		NTSTATUS status = DRIVER(call)->DxgkDdi##member(one);                              \
		verify_call_end(&call, status, 0);                                                 \
		return status;                                                                     \
	}

#define DEFINE_2(ID, member, first, second)                                                        \
	static NTSTATUS APIENTRY entry_##member(first one, second two)                             \
	{                                                                                          \
		struct verify_call call = { 0 };                                                   \
                                                                                                   \
		verify_call_begin(&call, DDI_##ID, one, (void *)two);                              \
		NTSTATUS status = DRIVER(call)->DxgkDdi##member(one, two);                         \
		verify_call_end(&call, status, 0);                                                 \
		return status;                                                                     \
	}

ENTRIES_1(DEFINE_1)
ENTRIES_2(DEFINE_2)

/* ---- those that are not ---- */

static NTSTATUS APIENTRY entry_AddDevice(IN_CONST_PDEVICE_OBJECT device, OUT_PPVOID context_out)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_ADD_DEVICE, device, context_out);
	NTSTATUS status = DRIVER(call)->DxgkDdiAddDevice(device, context_out);
	verify_call_end(&call, status, 0);
	return status;
}

static NTSTATUS APIENTRY entry_StartDevice(IN_CONST_PVOID context, IN_PDXGK_START_INFO info,
					   IN_PDXGKRNL_INTERFACE interface, OUT_PULONG sources_out,
					   OUT_PULONG children_out)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_START_DEVICE, context, info);
	NTSTATUS status = DRIVER(call)->DxgkDdiStartDevice(context, info, interface, sources_out,
							   children_out);
	verify_call_end(&call, status, 0);
	return status;
}

static VOID APIENTRY entry_Unload(VOID)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_UNLOAD, NULL, NULL);
	DRIVER(call)->DxgkDdiUnload();
	verify_call_end(&call, STATUS_SUCCESS, 0);
}

static VOID APIENTRY entry_DpcRoutine(IN_CONST_PVOID context)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_DPC_ROUTINE, context, NULL);
	DRIVER(call)->DxgkDdiDpcRoutine(context);
	verify_call_end(&call, STATUS_SUCCESS, 0);
}

static VOID APIENTRY entry_ResetDevice(IN_CONST_PVOID context)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_RESET_DEVICE, context, NULL);
	DRIVER(call)->DxgkDdiResetDevice(context);
	verify_call_end(&call, STATUS_SUCCESS, 0);
}

static NTSTATUS APIENTRY entry_SetPowerState(IN_CONST_PVOID context, IN_ULONG device_uid,
					     IN_DEVICE_POWER_STATE state, IN_POWER_ACTION action)
{
	struct verify_call call = { .numbers = { device_uid, (uint64_t)state, (uint64_t)action } };

	verify_call_begin(&call, DDI_SET_POWER_STATE, context, NULL);
	NTSTATUS status = DRIVER(call)->DxgkDdiSetPowerState(context, device_uid, state, action);
	verify_call_end(&call, status, 0);
	return status;
}

static NTSTATUS APIENTRY entry_NotifySurpriseRemoval(PVOID context, DXGK_SURPRISE_REMOVAL_TYPE type)
{
	struct verify_call call = { .numbers = { (uint64_t)type } };

	verify_call_begin(&call, DDI_NOTIFY_SURPRISE_REMOVAL, context, NULL);
	NTSTATUS status = DRIVER(call)->DxgkDdiNotifySurpriseRemoval(context, type);
	verify_call_end(&call, status, 0);
	return status;
}

static NTSTATUS APIENTRY entry_ExchangePreStartInfo(IN_CONST_HANDLE adapter,
						    PDXGK_PRE_START_INFO info)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_EXCHANGE_PRE_START_INFO, adapter, info);
	NTSTATUS status = DRIVER(call)->DxgkDdiExchangePreStartInfo(adapter, info);
	verify_call_end(&call, status, 0);
	return status;
}

static NTSTATUS APIENTRY entry_GetNodeMetadata(IN_CONST_HANDLE adapter, UINT node,
					       OUT_PDXGKARG_GETNODEMETADATA metadata_out)
{
	struct verify_call call = { .numbers = { node } };

	verify_call_begin(&call, DDI_GET_NODE_METADATA, adapter, metadata_out);
	NTSTATUS status = DRIVER(call)->DxgkDdiGetNodeMetadata(adapter, node, metadata_out);
	verify_call_end(&call, status, 0);
	return status;
}

static NTSTATUS APIENTRY entry_CalibrateGpuClock(IN_CONST_HANDLE adapter, UINT32 node,
						 UINT32 engine,
						 OUT_PDXGKARG_CALIBRATEGPUCLOCK clock_out)
{
	struct verify_call call = { .numbers = { node, engine } };

	verify_call_begin(&call, DDI_CALIBRATE_GPU_CLOCK, adapter, clock_out);
	NTSTATUS status = DRIVER(call)->DxgkDdiCalibrateGpuClock(adapter, node, engine, clock_out);
	verify_call_end(&call, status, 0);
	return status;
}

static SIZE_T APIENTRY entry_GetRootPageTableSize(IN_CONST_HANDLE adapter,
						  INOUT_PDXGKARG_GETROOTPAGETABLESIZE args)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_GET_ROOT_PAGE_TABLE_SIZE, adapter, args);
	SIZE_T size_bytes = DRIVER(call)->DxgkDdiGetRootPageTableSize(adapter, args);
	verify_call_end(&call, STATUS_SUCCESS, size_bytes);
	return size_bytes;
}

static VOID APIENTRY entry_SetRootPageTable(IN_CONST_HANDLE adapter,
					    IN_CONST_PDXGKARG_SETROOTPAGETABLE args)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_SET_ROOT_PAGE_TABLE, adapter, (void *)args);
	DRIVER(call)->DxgkDdiSetRootPageTable(adapter, args);
	verify_call_end(&call, STATUS_SUCCESS, 0);
}

/* What is behind the capacity that it was given is there, and is not its. */
static void judge_used(const struct verify_call *call, const void *begin, const void *end,
		       UINT capacity_bytes)
{
	uintptr_t used_bytes = (uintptr_t)end - (uintptr_t)begin;

	if (used_bytes > capacity_bytes)
		nt_report(RULE_DDI_DMA_OVERRUN,
			  "%s was given %u bytes of a DMA buffer and wrote %llu of them",
			  ddi_infos[call->ddi].name, capacity_bytes,
			  (unsigned long long)used_bytes);
}

/*
 * Those that write a DMA buffer. With small-tables their buffer is smaller at first, as behind commands of another call; what does
 * not even begin there has all of it then.
 */
#define DEFINE_BUILDING(ID, member, arguments)                                                     \
	static NTSTATUS building_##member(struct verify_call *call, HANDLE handle,                 \
					  arguments *args)                                         \
	{                                                                                          \
		UINT capacity = args->DmaSize;                                                     \
		arguments small = *args;                                                           \
                                                                                                   \
		UINT given = small.DmaSize = fault_small_buffer(capacity);                         \
		if (small.DmaSize == capacity)                                                     \
			return DRIVER(*call)->DxgkDdi##member(handle, args);                       \
		NTSTATUS status = DRIVER(*call)->DxgkDdi##member(handle, &small);                  \
		if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER &&                           \
		    small.pDmaBuffer == args->pDmaBuffer &&                                        \
		    small.MultipassOffset == args->MultipassOffset)                                \
			return DRIVER(*call)->DxgkDdi##member(handle, args);                       \
		judge_used(call, args->pDmaBuffer, small.pDmaBuffer, given);                       \
		*args = small;                                                                     \
		args->DmaSize = capacity;                                                          \
		return status;                                                                     \
	}                                                                                          \
                                                                                                   \
	static NTSTATUS APIENTRY entry_##member(IN_CONST_HANDLE handle, arguments *args)           \
	{                                                                                          \
		struct verify_call call = { 0 };                                                   \
                                                                                                   \
		verify_call_begin(&call, DDI_##ID, handle, args);                                  \
		NTSTATUS status = building_##member(&call, handle, args);                          \
		verify_call_end(&call, status, 0);                                                 \
		return status;                                                                     \
	}

DEFINE_BUILDING(RENDER, Render, DXGKARG_RENDER)
DEFINE_BUILDING(BUILD_PAGING_BUFFER, BuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER)

/* Two handles. */
static NTSTATUS APIENTRY entry_DestroyProcess(IN_CONST_HANDLE adapter, IN_CONST_HANDLE process)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_DESTROY_PROCESS, adapter, process);
	NTSTATUS status = DRIVER(call)->DxgkDdiDestroyProcess(adapter, process);
	verify_call_end(&call, status, 0);
	return status;
}

static NTSTATUS APIENTRY entry_DestroyCpuEvent(IN_CONST_HANDLE adapter, IN_CONST_HANDLE event)
{
	struct verify_call call = { 0 };

	verify_call_begin(&call, DDI_DESTROY_CPU_EVENT, adapter, event);
	NTSTATUS status = DRIVER(call)->DxgkDdiDestroyCpuEvent(adapter, event);
	verify_call_end(&call, status, 0);
	return status;
}

#define OTHERS(OTHER)                                                                              \
	OTHER(, AddDevice)                                                                         \
	OTHER(, Render)                                                                            \
	OTHER(, BuildPagingBuffer)                                                                 \
	OTHER(, StartDevice)                                                                       \
	OTHER(, Unload)                                                                            \
	OTHER(, DpcRoutine)                                                                        \
	OTHER(, ResetDevice)                                                                       \
	OTHER(, SetPowerState)                                                                     \
	OTHER(, NotifySurpriseRemoval)                                                             \
	OTHER(, ExchangePreStartInfo)                                                              \
	OTHER(, GetNodeMetadata)                                                                   \
	OTHER(, CalibrateGpuClock)                                                                 \
	OTHER(, GetRootPageTableSize)                                                              \
	OTHER(, SetRootPageTable)                                                                  \
	OTHER(, DestroyProcess)                                                                    \
	OTHER(, DestroyCpuEvent)

void verify_entries_replace(DRIVER_INITIALIZATION_DATA *ddi)
{
#define REPLACE(ID, member, ...)                                                                   \
	if (ddi->DxgkDdi##member)                                                                  \
		ddi->DxgkDdi##member = entry_##member;
	ENTRIES_1(REPLACE)
	ENTRIES_2(REPLACE)
	OTHERS(REPLACE)
#undef REPLACE
}
