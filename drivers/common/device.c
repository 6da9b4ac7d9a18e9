/* SPDX-License-Identifier: MIT */
/*
 * device.c - our side of a device: what contexts and openings of allocations belong to.
 *
 * hDevice carries the kernel's handle in and ours out. PASSIVE_LEVEL.
 */
#include "gpu.h"

struct gpu_device *gpu_device_from(HANDLE handle)
{
	struct gpu_device *device = (struct gpu_device *)handle;

	return device && device->magic == GPU_MAGIC_DEVICE ? device : NULL;
}

NTSTATUS APIENTRY gpu_create_device(IN_CONST_HANDLE hAdapter,
				    INOUT_PDXGKARG_CREATEDEVICE pCreateDevice)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	struct gpu_process *process = NULL;

	PAGED_CODE();

	if (!adapter || !pCreateDevice)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "CreateDevice for adapter %p with arguments %p: one is missing",
				  hAdapter, pCreateDevice);
	if (pCreateDevice->hKmdProcess) {
		process = gpu_process_from(pCreateDevice->hKmdProcess);
		if (!process || process->adapter != adapter)
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "hKmdProcess %p is no process of this adapter",
					  pCreateDevice->hKmdProcess);
	}

	struct gpu_device *device = gpu_pool_allocate(PagedPool, sizeof(*device));
	if (!device)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for a device");
	device->magic = GPU_MAGIC_DEVICE;
	device->is_system = pCreateDevice->Flags.SystemDevice;
	device->adapter = adapter;
	device->process = process;
	device->kernel_device = pCreateDevice->hDevice;
	if (process)
		InterlockedIncrement(&process->live_devices);
	KeWaitForSingleObject(&adapter->devices_lock, Executive, KernelMode, FALSE, NULL);
	InsertTailList(&adapter->devices, &device->link);
	KeReleaseMutex(&adapter->devices_lock, FALSE);
	InterlockedIncrement(&adapter->live_devices);
	pCreateDevice->hDevice = device;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_destroy_device(IN_CONST_HANDLE hDevice)
{
	struct gpu_device *device = gpu_device_from(hDevice);

	PAGED_CODE();

	if (!device)
		return gpu_refuse(STATUS_INVALID_PARAMETER, "device %p is none of ours", hDevice);
	if (device->live_contexts != 0 || device->live_openings != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "device %p still has %d contexts and %d openings", hDevice,
				  device->live_contexts, device->live_openings);
	struct gpu_adapter *adapter = device->adapter;
	if (device->process)
		InterlockedDecrement(&device->process->live_devices);
	device->magic = GPU_MAGIC_DEAD;
	KeWaitForSingleObject(&adapter->devices_lock, Executive, KernelMode, FALSE, NULL);
	RemoveEntryList(&device->link);
	KeReleaseMutex(&adapter->devices_lock, FALSE);
	gpu_pool_free(device);
	InterlockedDecrement(&adapter->live_devices);
	return STATUS_SUCCESS;
}

LONG gpu_count_openings(struct gpu_adapter *adapter)
{
	LONG count = 0;

	KeWaitForSingleObject(&adapter->devices_lock, Executive, KernelMode, FALSE, NULL);
	for (LIST_ENTRY *link = adapter->devices.Flink; link != &adapter->devices;
	     link = link->Flink)
		count += ReadNoFence(
			&CONTAINING_RECORD(link, struct gpu_device, link)->live_openings);
	KeReleaseMutex(&adapter->devices_lock, FALSE);
	return count;
}
