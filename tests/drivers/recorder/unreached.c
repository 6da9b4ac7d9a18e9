/*
 * unreached.c - entry points that no call reaches yet: recorded, and refused.
 */
#include "driver.h"

static NTSTATUS APIENTRY build_paging_buffer(const HANDLE context, DXGKARG_BUILDPAGINGBUFFER *args)
{
	note("BuildPagingBuffer", NULL, 0, NULL, 0);
	return STATUS_NOT_SUPPORTED;
}

static NTSTATUS APIENTRY patch(const HANDLE context, const DXGKARG_PATCH *args)
{
	note("Patch", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY submit_command(const HANDLE context, const DXGKARG_SUBMITCOMMAND *args)
{
	note("SubmitCommand", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY submit_command_virtual(const HANDLE context,
						const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
	note("SubmitCommandVirtual", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY preempt_command(const HANDLE context, const DXGKARG_PREEMPTCOMMAND *args)
{
	note("PreemptCommand", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY cancel_command(const HANDLE context, const DXGKARG_CANCELCOMMAND *args)
{
	note("CancelCommand", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY render(const HANDLE context, DXGKARG_RENDER *args)
{
	note("Render", NULL, 0, NULL, 0);
	return STATUS_NOT_SUPPORTED;
}

static NTSTATUS APIENTRY query_dependent_engine_group(const HANDLE context,
						      DXGKARG_QUERYDEPENDENTENGINEGROUP *args)
{
	note("QueryDependentEngineGroup", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_engine_status(const HANDLE context, DXGKARG_QUERYENGINESTATUS *args)
{
	note("QueryEngineStatus", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY reset_engine(const HANDLE context, DXGKARG_RESETENGINE *args)
{
	note("ResetEngine", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY reset_from_timeout(const HANDLE context)
{
	note("ResetFromTimeout", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY restart_from_timeout(const HANDLE context)
{
	note("RestartFromTimeout", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static VOID APIENTRY set_root_page_table(const HANDLE context, const DXGKARG_SETROOTPAGETABLE *args)
{
	note("SetRootPageTable", NULL, 0, NULL, 0);
}

static SIZE_T APIENTRY get_root_page_table_size(const HANDLE context,
						DXGKARG_GETROOTPAGETABLESIZE *args)
{
	note("GetRootPageTableSize", NULL, 0, NULL, 0);
	return 16384;
}

void fill_in_unreached(DRIVER_INITIALIZATION_DATA *data)
{
	data->DxgkDdiBuildPagingBuffer = build_paging_buffer;
	data->DxgkDdiPatch = patch;
	data->DxgkDdiRender = render;
	data->DxgkDdiSubmitCommand = submit_command;
	data->DxgkDdiPreemptCommand = preempt_command;
	data->DxgkDdiCancelCommand = cancel_command;
	data->DxgkDdiQueryDependentEngineGroup = query_dependent_engine_group;
	data->DxgkDdiQueryEngineStatus = query_engine_status;
	data->DxgkDdiResetEngine = reset_engine;
	data->DxgkDdiResetFromTimeout = reset_from_timeout;
	data->DxgkDdiRestartFromTimeout = restart_from_timeout;
	if (is_gpu_mmu()) {
		data->DxgkDdiSubmitCommandVirtual = submit_command_virtual;
		data->DxgkDdiSetRootPageTable = set_root_page_table;
		data->DxgkDdiGetRootPageTableSize = get_root_page_table_size;
	}
}
