/* SPDX-License-Identifier: MIT */
/*
 * escape.c - calls of our own, through D3DKMTEscape.
 *
 * The kernel has copied the request; it is read and answered in place. PASSIVE_LEVEL.
 */
#include "gpu.h"

static uint64_t read_count(volatile LONG64 *count)
{
	return (uint64_t)InterlockedCompareExchange64(count, 0, 0);
}

static NTSTATUS escape_get_info(struct gpu_adapter *adapter, struct softgpu_escape_info *info)
{
	gpu_caps_adapter_info(&adapter->settings, &info->adapter);
	info->live_processes = (uint32_t)ReadNoFence(&adapter->live_processes);
	info->live_devices = (uint32_t)ReadNoFence(&adapter->live_devices);
	info->live_contexts = (uint32_t)ReadNoFence(&adapter->live_contexts);
	info->live_resources = (uint32_t)ReadNoFence(&adapter->live_resources);
	info->live_allocations = (uint32_t)ReadNoFence(&adapter->live_allocations);
	info->live_openings = (uint32_t)gpu_count_openings(adapter);
	info->packets_completed = read_count(&adapter->packets_completed);
	info->packets_preempted = read_count(&adapter->packets_preempted);
	info->packets_faulted = read_count(&adapter->packets_faulted);
	info->engine_resets = read_count(&adapter->engine_resets);
	return STATUS_SUCCESS;
}

static NTSTATUS escape_get_work(struct gpu_adapter *adapter, struct softgpu_escape_work *work)
{
	for (ULONG i = 0; i < SOFTGPU_MAX_NODES; i++) {
		struct gpu_engine *engine = &adapter->engines[i];

		work->nodes[i].packets = read_count(&engine->packets_completed);
		work->nodes[i].bytes_written = read_count(&engine->bytes_written);
		work->nodes[i].table_entries = read_count(&engine->entries_written);
	}
	return STATUS_SUCCESS;
}

/* From now on they are taken. */
static NTSTATUS escape_get_times(struct gpu_adapter *adapter, struct softgpu_escape_times *times)
{
	InterlockedExchange(&adapter->is_timed, TRUE);
	for (ULONG i = 0; i < SOFTGPU_MAX_NODES; i++) {
		struct gpu_times *of = &adapter->engines[i].times;

		times->nodes[i] = (struct softgpu_node_times){
			.packets = read_count(&of->packets),
			.under_way_ns = read_count(&of->under_way_ns),
			.busy_ns = read_count(&of->busy_ns),
			.looks = read_count(&of->looks),
			.look_ns = read_count(&of->look_ns),
		};
	}
	return STATUS_SUCCESS;
}

static NTSTATUS escape_echo(const DXGKARG_ESCAPE *args, struct softgpu_escape_echo *echo)
{
	echo->inverted = ~echo->value;
	echo->had = 0;
	if (args->hDevice)
		echo->had |= SOFTGPU_ECHO_HAD_DEVICE;
	if (args->hContext)
		echo->had |= SOFTGPU_ECHO_HAD_CONTEXT;
	if (args->Flags.HardwareAccess)
		echo->had |= SOFTGPU_ECHO_HAD_HARDWARE_ACCESS;
	return STATUS_SUCCESS;
}

/* ---- kernels of clients ---- */

static NTSTATUS escape_process(const DXGKARG_ESCAPE *args, struct gpu_process **process_out)
{
	struct gpu_device *device = gpu_device_from(args->hDevice);

	*process_out = device ? device->process : NULL;
	if (!*process_out)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "modules are a process's, and the escape has no device of one");
	return STATUS_SUCCESS;
}

static NTSTATUS escape_load(const DXGKARG_ESCAPE *args, struct softgpu_escape_module *request)
{
	const char *image = (const char *)(request + 1);
	struct gpu_process *process;

	if (request->image_bytes == 0 ||
	    request->header.size_bytes - sizeof(*request) != request->image_bytes ||
	    image[request->image_bytes - 1] != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "an escape of %u bytes has an image of %u, or it has no end",
				  request->header.size_bytes, request->image_bytes);
	NTSTATUS status = escape_process(args, &process);
	if (!NT_SUCCESS(status))
		return status;
	return gpu_hw_module_load(process, image, request->image_bytes, &request->module);
}

static NTSTATUS escape_unload(const DXGKARG_ESCAPE *args,
			      const struct softgpu_escape_module *request)
{
	struct gpu_process *process;

	NTSTATUS status = escape_process(args, &process);
	if (!NT_SUCCESS(status))
		return status;
	return gpu_hw_module_unload(process, request->module);
}

static NTSTATUS escape_find(const DXGKARG_ESCAPE *args, struct softgpu_escape_kernel *request)
{
	struct gpu_process *process;

	if (request->name[0] == 0 || request->name[sizeof(request->name) - 1] != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "the name of a kernel is empty, or has no end");
	NTSTATUS status = escape_process(args, &process);
	if (!NT_SUCCESS(status))
		return status;
	return gpu_hw_kernel_find(process, request->module, request->name, &request->kernel);
}

static NTSTATUS wrong_size(const struct softgpu_escape *header, SIZE_T size_bytes)
{
	return gpu_refuse(STATUS_INVALID_PARAMETER, "escape code %u has %u bytes, and needs %u",
			  header->code, header->size_bytes, (ULONG)size_bytes);
}

NTSTATUS APIENTRY gpu_escape(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_ESCAPE pEscape)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter || !pEscape || (pEscape->hDevice && !gpu_device_from(pEscape->hDevice)) ||
	    (pEscape->hContext && !gpu_context_from(pEscape->hContext)))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "an escape for adapter %p with arguments %p: one of its handles "
				  "is none of ours",
				  hAdapter, pEscape);
	struct softgpu_escape *header = pEscape->pPrivateDriverData;
	if (!header || pEscape->PrivateDriverDataSize < sizeof(*header))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "an escape has %u bytes, softgpu_escape has %u",
				  pEscape->PrivateDriverDataSize, (UINT)sizeof(*header));
	if (header->version != SOFTGPU_ESCAPE_VERSION)
		return gpu_refuse(STATUS_GRAPHICS_DRIVER_MISMATCH,
				  "an escape has version %u, which is not %u", header->version,
				  SOFTGPU_ESCAPE_VERSION);
	if (header->size_bytes != pEscape->PrivateDriverDataSize || header->reserved != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "an escape of %u bytes has size_bytes %u and reserved %u",
				  pEscape->PrivateDriverDataSize, header->size_bytes,
				  header->reserved);

	switch (header->code) {
	case SOFTGPU_ESCAPE_GET_INFO:
		if (header->size_bytes != sizeof(struct softgpu_escape_info))
			return wrong_size(header, sizeof(struct softgpu_escape_info));
		return escape_get_info(adapter, (struct softgpu_escape_info *)header);
	case SOFTGPU_ESCAPE_ECHO:
		if (header->size_bytes != sizeof(struct softgpu_escape_echo))
			return wrong_size(header, sizeof(struct softgpu_escape_echo));
		return escape_echo(pEscape, (struct softgpu_escape_echo *)header);
	case SOFTGPU_ESCAPE_GET_WORK:
		if (header->size_bytes != sizeof(struct softgpu_escape_work))
			return wrong_size(header, sizeof(struct softgpu_escape_work));
		return escape_get_work(adapter, (struct softgpu_escape_work *)header);
	case SOFTGPU_ESCAPE_GET_TIMES:
		if (header->size_bytes != sizeof(struct softgpu_escape_times))
			return wrong_size(header, sizeof(struct softgpu_escape_times));
		return escape_get_times(adapter, (struct softgpu_escape_times *)header);
	case SOFTGPU_ESCAPE_LOAD_MODULE:
		if (header->size_bytes < sizeof(struct softgpu_escape_module))
			return wrong_size(header, sizeof(struct softgpu_escape_module));
		return escape_load(pEscape, (struct softgpu_escape_module *)header);
	case SOFTGPU_ESCAPE_UNLOAD_MODULE:
		if (header->size_bytes != sizeof(struct softgpu_escape_module))
			return wrong_size(header, sizeof(struct softgpu_escape_module));
		return escape_unload(pEscape, (struct softgpu_escape_module *)header);
	case SOFTGPU_ESCAPE_FIND_KERNEL:
		if (header->size_bytes != sizeof(struct softgpu_escape_kernel))
			return wrong_size(header, sizeof(struct softgpu_escape_kernel));
		return escape_find(pEscape, (struct softgpu_escape_kernel *)header);
	default:
		return gpu_refuse(STATUS_NOT_SUPPORTED, "escape code %u is unknown", header->code);
	}
}
