/* SPDX-License-Identifier: MIT */
/*
 * slab.c - video memory, in one piece; or in large pages that can be shown to other processes.
 *
 *	addresses   | reserved once, in a row                     |
 *	            | page 0 | page 1 | page 2 | …                     2 MiB each, mapped for ever
 *	            └────────────▶ a descriptor each, for runners (runner.c)
 *
 * CUDA maps such a page as a whole or not at all, and its addresses belong to a process of the host, not to a
 * context: so a client's kernels run in a process of their own, which is given what they may see.
 * PASSIVE_LEVEL.
 */
#include "cuda.h"

static const size_t PAGE_BYTES = (size_t)1 << CUDA_LARGE_PAGE_BITS;

static NTSTATUS refuse(const struct cuda_device *device, cuda_status status, const char *what)
{
	return gpu_refuse(status == CUDA_OUT_OF_MEMORY ? STATUS_NO_MEMORY : STATUS_UNSUCCESSFUL,
			  "%s: %s", what, cuda_error_name(&device->api, status));
}

static cuda_status map_pages(struct cuda_device *device)
{
	const struct cuda_api *api = &device->api;
	const struct cuda_memory_kind kind = {
		.kind = CUDA_MEMORY_PINNED,
		.handle_kinds = CUDA_HANDLE_DESCRIPTOR,
		.location = { CUDA_LOCATION_DEVICE, device->number },
	};
	const struct cuda_access access = { .location = kind.location,
					    .access = CUDA_ACCESS_READ_WRITE };
	ULONG count = (ULONG)(device->local_bytes / PAGE_BYTES);

	cuda_status status =
		api->address_reserve(&device->local, device->local_bytes, PAGE_BYTES, 0, 0);
	if (status != CUDA_OK) {
		device->local = 0;
		return status;
	}
	while (status == CUDA_OK && device->large_page_count < count) {
		cuda_memory *page = &device->large_pages[device->large_page_count];

		status = api->memory_create(page, PAGE_BYTES, &kind, 0);
		if (status != CUDA_OK)
			break;
		status = api->memory_map(device->local + (cuda_pointer)device->large_page_count *
								 PAGE_BYTES,
					 PAGE_BYTES, 0, *page, 0);
		if (status != CUDA_OK)
			(void)api->memory_release(*page);
		else
			device->large_page_count++;
	}
	if (status == CUDA_OK)
		status = api->memory_access(device->local, device->local_bytes, &access, 1);
	return status;
}

static NTSTATUS check_gpu(const struct cuda_device *device)
{
	int maps = 0;
	int shares = 0;

	cuda_status status =
		device->api.device_attribute(&maps, CUDA_ATTRIBUTE_VIRTUAL_MEMORY, device->number);
	if (status == CUDA_OK)
		status = device->api.device_attribute(&shares, CUDA_ATTRIBUTE_DESCRIPTORS,
						      device->number);
	if (status != CUDA_OK)
		return refuse(device, status, "cuDeviceGetAttribute");
	if (!maps || !shares)
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "HardwareAddresses: the GPU cannot map memory at addresses of "
				  "our choice, or not show it to another process");
	return STATUS_SUCCESS;
}

NTSTATUS cuda_slab_make(struct cuda_device *device)
{
	PAGED_CODE();

	if (!device->settings.hardware_addresses) {
		cuda_status status =
			device->api.memory_allocate(&device->local, device->local_bytes);

		return status == CUDA_OK ? STATUS_SUCCESS
					 : refuse(device, status, "cuMemAlloc of the slab");
	}
	NTSTATUS status = check_gpu(device);
	if (!NT_SUCCESS(status))
		return status;
	device->large_pages = gpu_pool_allocate(
		NonPagedPoolNx, device->local_bytes / PAGE_BYTES * sizeof(*device->large_pages));
	if (!device->large_pages)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for a list of large pages");
	cuda_status done = map_pages(device);
	return done == CUDA_OK ? STATUS_SUCCESS : refuse(device, done, "large pages of the slab");
}

/* Of cuMemAlloc it goes with its context; these are the process's. */
void cuda_slab_end(struct cuda_device *device)
{
	const struct cuda_api *api = &device->api;

	PAGED_CODE();

	if (!device->large_pages)
		return;
	for (ULONG i = 0; i < device->large_page_count; i++) {
		(void)api->memory_unmap(device->local + (cuda_pointer)i * PAGE_BYTES, PAGE_BYTES);
		(void)api->memory_release(device->large_pages[i]);
	}
	if (device->local)
		(void)api->address_free(device->local, device->local_bytes);
	gpu_pool_free(device->large_pages);
	device->large_pages = NULL;
	device->large_page_count = 0;
	device->local = 0;
}
