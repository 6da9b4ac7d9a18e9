/* SPDX-License-Identifier: MIT */
/*
 * device.c - our side of a device: what contexts and openings of allocations belong to.
 *
 * hDevice carries the kernel's handle in and ours out. PASSIVE_LEVEL.
 */
#include "soft.h"

struct soft_device *soft_device_from(HANDLE handle)
{
	struct soft_device *device = (struct soft_device *)handle;

	return device && device->magic == SOFT_MAGIC_DEVICE ? device : NULL;
}

NTSTATUS APIENTRY soft_create_device(IN_CONST_HANDLE hAdapter,
				     INOUT_PDXGKARG_CREATEDEVICE pCreateDevice)
{
	struct soft_adapter *adapter = soft_adapter_from(hAdapter);
	struct soft_process *process = NULL;

	PAGED_CODE();

	if (!adapter || !pCreateDevice)
		return soft_refuse(STATUS_INVALID_PARAMETER,
				   "CreateDevice for adapter %p with arguments %p: one is missing",
				   hAdapter, pCreateDevice);
	if (pCreateDevice->hKmdProcess) {
		process = soft_process_from(pCreateDevice->hKmdProcess);
		if (!process || process->adapter != adapter)
			return soft_refuse(STATUS_INVALID_PARAMETER,
					   "hKmdProcess %p is no process of this adapter",
					   pCreateDevice->hKmdProcess);
	}

	struct soft_device *device = soft_pool_allocate(PagedPool, sizeof(*device));
	if (!device)
		return soft_refuse(STATUS_NO_MEMORY, "there is no pool for a device");
	device->magic = SOFT_MAGIC_DEVICE;
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

NTSTATUS APIENTRY soft_destroy_device(IN_CONST_HANDLE hDevice)
{
	struct soft_device *device = soft_device_from(hDevice);

	PAGED_CODE();

	if (!device)
		return soft_refuse(STATUS_INVALID_PARAMETER, "device %p is none of ours", hDevice);
	if (device->live_contexts != 0 || device->live_openings != 0)
		return soft_refuse(STATUS_INVALID_PARAMETER,
				   "device %p still has %d contexts and %d openings", hDevice,
				   device->live_contexts, device->live_openings);
	struct soft_adapter *adapter = device->adapter;
	if (device->process)
		InterlockedDecrement(&device->process->live_devices);
	device->magic = SOFT_MAGIC_DEAD;
	KeWaitForSingleObject(&adapter->devices_lock, Executive, KernelMode, FALSE, NULL);
	RemoveEntryList(&device->link);
	KeReleaseMutex(&adapter->devices_lock, FALSE);
	soft_pool_free(device);
	InterlockedDecrement(&adapter->live_devices);
	return STATUS_SUCCESS;
}

LONG soft_count_openings(struct soft_adapter *adapter)
{
	LONG count = 0;

	KeWaitForSingleObject(&adapter->devices_lock, Executive, KernelMode, FALSE, NULL);
	for (LIST_ENTRY *link = adapter->devices.Flink; link != &adapter->devices;
	     link = link->Flink)
		count += ReadNoFence(
			&CONTAINING_RECORD(link, struct soft_device, link)->live_openings);
	KeReleaseMutex(&adapter->devices_lock, FALSE);
	return count;
}
