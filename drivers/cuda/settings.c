/* SPDX-License-Identifier: MIT */
/*
 * settings.c - what this hardware can be.
 */
#include "cuda.h"

/* 0: most of what the GPU has free when it starts (device.c). */
void gpu_hw_settings_init(struct gpu_settings *settings)
{
	settings->local_mib = 0;
	settings->aperture_mib = 4096;
}

NTSTATUS gpu_hw_settings_check(const struct gpu_settings *settings, PCSTR *problem_out)
{
	*problem_out = NULL;
	if (settings->update_mode != GPU_UPDATE_GPU_PHYSICAL)
		*problem_out = "PageTableUpdateMode is not gpu_physical: page tables are in video "
			       "memory, which the CPU does not see, the kernel's own among them";
	else if (settings->host_aperture_mib != 0)
		*problem_out = "CpuHostApertureMiB: there is no window onto video memory";
	else if (settings->hardware_addresses && settings->local_mib % 2 != 0)
		*problem_out = "LocalMemoryMiB is odd, and with HardwareAddresses memory is in "
			       "pages of 2 MiB";
	return *problem_out ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
}

/* Nothing that others have not. */
void gpu_hw_register(const struct gpu_settings *settings, DRIVER_INITIALIZATION_DATA *data)
{
	(void)settings;
	(void)data;
}
