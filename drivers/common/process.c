/* SPDX-License-Identifier: MIT */
/*
 * process.c - our side of a process: a name for an address space.
 *
 * The kernel makes one before the first device of a process, and one for itself. Page tables are
 * the kernel's; they reach us per context. PASSIVE_LEVEL.
 */
#include "gpu.h"

struct gpu_process *gpu_process_from(HANDLE handle)
{
	struct gpu_process *process = (struct gpu_process *)handle;

	return process && process->magic == GPU_MAGIC_PROCESS ? process : NULL;
}

NTSTATUS APIENTRY gpu_create_process(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEPROCESS pArgs)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter || !pArgs)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "CreateProcess for adapter %p with arguments %p: one is missing",
				  hAdapter, pArgs);
	struct gpu_process *process = gpu_pool_allocate(PagedPool, sizeof(*process));
	if (!process)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for a process");

	process->magic = GPU_MAGIC_PROCESS;
	process->adapter = adapter;
	process->is_system = pArgs->Flags.SystemProcess;
	process->kernel_process = pArgs->hDxgkProcess;
	InterlockedIncrement(&adapter->live_processes);
	pArgs->hKmdProcess = process;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_destroy_process(IN_CONST_HANDLE hAdapter, IN_CONST_HANDLE hKmdProcess)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	struct gpu_process *process = gpu_process_from(hKmdProcess);

	PAGED_CODE();

	if (!adapter || !process || process->adapter != adapter || process->live_devices != 0)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"process %p cannot be destroyed: it is none of adapter %p, or has devices",
			hKmdProcess, hAdapter);
	gpu_hw_process_finish(process);
	process->magic = GPU_MAGIC_DEAD;
	gpu_pool_free(process);
	InterlockedDecrement(&adapter->live_processes);
	return STATUS_SUCCESS;
}
