/* SPDX-License-Identifier: MIT */
/*
 * modules.c - kernels that clients bring: a processor does not run them.
 */
#include "soft.h"

NTSTATUS gpu_hw_module_load(struct gpu_process *process, PCSTR image, ULONG image_bytes,
			    ULONG *module_out)
{
	(void)process;
	(void)image;
	(void)module_out;
	return gpu_refuse(STATUS_NOT_SUPPORTED,
			  "a module of %u bytes: the software GPU runs no PTX", image_bytes);
}

NTSTATUS gpu_hw_module_unload(struct gpu_process *process, ULONG module)
{
	(void)process;
	return gpu_refuse(STATUS_NOT_SUPPORTED, "there is no module %u: the software GPU has none",
			  module);
}

NTSTATUS gpu_hw_kernel_find(struct gpu_process *process, ULONG module, PCSTR name,
			    ULONG *kernel_out)
{
	(void)process;
	(void)kernel_out;
	return gpu_refuse(STATUS_NOT_SUPPORTED,
			  "there is no kernel %s of module %u: the software GPU has none", name,
			  module);
}

/* Nothing was loaded. */
void gpu_hw_process_finish(struct gpu_process *process)
{
	(void)process;
}
