/* SPDX-License-Identifier: MIT */
/*
 * recovery.c - engines that are late, page tables, the CPU's window: recorded and answered. And the
 * arguments of all those calls, for RECORDER_FETCH.
 */
#include "driver.h"

static ULONG at_most(ULONG size, ULONG limit)
{
	return size < limit ? size : limit;
}

void save_call(struct adapter *adapter, enum recorder_entry entry, const void *argument,
	       ULONG argument_bytes, const void *list, ULONG list_bytes)
{
	struct saved_call *saved = &adapter->saved[entry];

	saved->calls++;
	saved->argument_bytes = at_most(argument_bytes, RECORDER_ARGUMENT_BYTES);
	RtlCopyMemory(saved->argument, argument, saved->argument_bytes);
	saved->list_bytes = list ? at_most(list_bytes, RECORDER_LIST_BYTES) : 0;
	if (saved->list_bytes)
		RtlCopyMemory(saved->list, list, saved->list_bytes);
}

BOOLEAN fetch_command(struct adapter *adapter, const DXGKARG_ESCAPE *args)
{
	struct recorder_fetch *fetch = args->pPrivateDriverData;
	struct saved_call *saved;

	if (fetch->escape.command != RECORDER_FETCH ||
	    args->PrivateDriverDataSize < sizeof(*fetch) || fetch->escape.type >= RECORDER_ENTRIES)
		return FALSE;
	saved = &adapter->saved[fetch->escape.type];
	fetch->calls = saved->calls;
	fetch->argument_bytes = saved->argument_bytes;
	fetch->list_bytes = saved->list_bytes;
	RtlCopyMemory(fetch->argument, saved->argument, sizeof(fetch->argument));
	RtlCopyMemory(fetch->list, saved->list, sizeof(fetch->list));
	return TRUE;
}

/* ---- engines ---- */

static NTSTATUS APIENTRY query_current_fence(const HANDLE context, DXGKARG_QUERYCURRENTFENCE *args)
{
	struct adapter *adapter = adapter_of(context);

	note("QueryCurrentFence", "node", args->NodeOrdinal, NULL, 0);
	save_call(adapter, RECORDER_QUERY_CURRENT_FENCE, args, sizeof(*args), NULL, 0);
	args->CurrentFence = crank_current_fence(adapter, args->NodeOrdinal);
	return step("QueryCurrentFence");
}

static NTSTATUS APIENTRY query_dependent_engine_group(const HANDLE context,
						      DXGKARG_QUERYDEPENDENTENGINEGROUP *args)
{
	struct adapter *adapter = adapter_of(context);

	enter_scheduler_class(adapter);
	note("QueryDependentEngineGroup", "node", args->NodeOrdinal, NULL, 0);
	save_call(adapter, RECORDER_QUERY_DEPENDENT_ENGINE_GROUP, args, sizeof(*args), NULL, 0);
	args->DependentNodeOrdinalMask =
		setting("DependentNodeOrdinalMask", 1u << args->NodeOrdinal);
	leave_scheduler_class(adapter);
	return step("QueryDependentEngineGroup");
}

static NTSTATUS APIENTRY query_engine_status(const HANDLE context, DXGKARG_QUERYENGINESTATUS *args)
{
	struct adapter *adapter = adapter_of(context);

	enter_scheduler_class(adapter);
	note("QueryEngineStatus", "node", args->NodeOrdinal, NULL, 0);
	save_call(adapter, RECORDER_QUERY_ENGINE_STATUS, args, sizeof(*args), NULL, 0);
	args->EngineStatus.Responsive = setting("Responsive", 1) != 0;
	leave_scheduler_class(adapter);
	return step("QueryEngineStatus");
}

static NTSTATUS APIENTRY reset_engine(const HANDLE context, DXGKARG_RESETENGINE *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("ResetEngine");

	enter_scheduler_class(adapter);
	note("ResetEngine", "node", args->NodeOrdinal, NULL, 0);
	save_call(adapter, RECORDER_RESET_ENGINE, args, sizeof(*args), NULL, 0);
	if (status == STATUS_SUCCESS)
		args->LastAbortedFenceId = crank_reset(adapter, args->NodeOrdinal);
	leave_scheduler_class(adapter);
	return status;
}

static NTSTATUS APIENTRY collect_dbg_info(const HANDLE context, const DXGKARG_COLLECTDBGINFO *args)
{
	struct adapter *adapter = adapter_of(context);

	note("CollectDbgInfo", "reason", args->Reason, "room", (ULONG)args->BufferSize);
	save_call(adapter, RECORDER_COLLECT_DBG_INFO, args, sizeof(*args), NULL, 0);
	overrun("CollectDbgInfo", args->pBuffer, args->BufferSize);
	if (args->BufferSize >= 3)
		RtlCopyMemory(args->pBuffer, "why", 3);
	args->pExtension->BucketingKey = args->Reason;
	return step("CollectDbgInfo");
}

static NTSTATUS APIENTRY reset_from_timeout(const HANDLE context)
{
	struct adapter *adapter = adapter_of(context);

	note("ResetFromTimeout", NULL, 0, NULL, 0);
	crank_reset_all(adapter);
	hw_crank_reset_all(adapter);
	return step("ResetFromTimeout");
}

static NTSTATUS APIENTRY restart_from_timeout(const HANDLE context)
{
	adapter_of(context);
	note("RestartFromTimeout", NULL, 0, NULL, 0);
	return step("RestartFromTimeout");
}

/* ---- page tables and the CPU's window ---- */

static VOID APIENTRY set_root_page_table(const HANDLE context, const DXGKARG_SETROOTPAGETABLE *args)
{
	struct adapter *adapter = adapter_of(context);

	note("SetRootPageTable", "entries", args->NumEntries, NULL, 0);
	save_call(adapter, RECORDER_SET_ROOT_PAGE_TABLE, args, sizeof(*args), NULL, 0);
	adapter_of_context(args->hContext);
	note_companion(args->hContext, "CompanionRoot", "entries", args->NumEntries);
	refresh(adapter, kept_for(args->hContext));
}

static SIZE_T APIENTRY get_root_page_table_size(const HANDLE context,
						DXGKARG_GETROOTPAGETABLESIZE *args)
{
	struct adapter *adapter = adapter_of(context);

	note("GetRootPageTableSize", "entries", args->NumberOfPte, NULL, 0);
	save_call(adapter, RECORDER_GET_ROOT_PAGE_TABLE_SIZE, args, sizeof(*args), NULL, 0);
	overrun("GetRootPageTableSize", args, sizeof(*args));
	args->NumberOfPte = setting("NumberOfPte", (args->NumberOfPte + 1023) & ~1023u);
	return setting("RootPageTableSize", 16384);
}

static NTSTATUS APIENTRY map_cpu_host_aperture(const HANDLE context,
					       const DXGKARG_MAPCPUHOSTAPERTURE *args)
{
	struct adapter *adapter = adapter_of(context);

	note("MapCpuHostAperture", "segment", args->SegmentId, "pages", (ULONG)args->NumberOfPages);
	save_call(adapter, RECORDER_MAP_CPU_HOST_APERTURE, args, sizeof(*args),
		  args->pMemorySegmentPages, (ULONG)(args->NumberOfPages * sizeof(UINT64)));
	return step("MapCpuHostAperture");
}

static NTSTATUS APIENTRY unmap_cpu_host_aperture(const HANDLE context,
						 const DXGKARG_UNMAPCPUHOSTAPERTURE *args)
{
	struct adapter *adapter = adapter_of(context);

	note("UnmapCpuHostAperture", "segment", args->SegmentId, "pages",
	     (ULONG)args->NumberOfPages);
	save_call(adapter, RECORDER_UNMAP_CPU_HOST_APERTURE, args, sizeof(*args),
		  args->pCpuHostAperturePages, (ULONG)(args->NumberOfPages * sizeof(UINT32)));
	return step("UnmapCpuHostAperture");
}

void fill_in_recovery(DRIVER_INITIALIZATION_DATA *data)
{
	data->DxgkDdiQueryCurrentFence = query_current_fence;
	data->DxgkDdiQueryDependentEngineGroup = query_dependent_engine_group;
	data->DxgkDdiQueryEngineStatus = query_engine_status;
	data->DxgkDdiResetEngine = reset_engine;
	data->DxgkDdiCollectDbgInfo = collect_dbg_info;
	data->DxgkDdiResetFromTimeout = reset_from_timeout;
	data->DxgkDdiRestartFromTimeout = restart_from_timeout;
	data->DxgkDdiMapCpuHostAperture = map_cpu_host_aperture;
	data->DxgkDdiUnmapCpuHostAperture = unmap_cpu_host_aperture;
	if (is_gpu_mmu()) {
		data->DxgkDdiSetRootPageTable = set_root_page_table;
		data->DxgkDdiGetRootPageTableSize = get_root_page_table_size;
	}
}
