/* SPDX-License-Identifier: MIT */
/*
 * memory.c - memory that the processor sees, as the memory of a GPU.
 *
 *	local      one piece of contiguous memory
 *	aperture   a table of page entries
 *
 * Locks: none. The pieces are made and freed while nothing runs; aperture entries change with one
 * store each, and the kernel keeps engines away from a range that is being changed.
 */
#include "soft.h"

enum { APERTURE_VALID = 1 };

NTSTATUS gpu_hw_memory_start(struct gpu_memory *memory, struct gpu_settings *settings)
{
	static const PHYSICAL_ADDRESS lowest = { .QuadPart = 0 };
	static const PHYSICAL_ADDRESS highest = { .QuadPart = -1 };
	static const PHYSICAL_ADDRESS no_boundary = { .QuadPart = 0 };

	PAGED_CODE();

	struct soft_memory *soft = gpu_pool_allocate(NonPagedPoolNx, sizeof(*soft));
	if (!soft)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool to describe memory");
	*memory = (struct gpu_memory){
		.hardware = soft,
		.local_bytes = (ULONGLONG)settings->local_mib << 20,
		.is_local_visible = TRUE,
		.aperture_pages = ((ULONGLONG)settings->aperture_mib << 20) >> PAGE_SHIFT,
		.has_64k_pages = settings->pages_64k != GPU_64K_NONE,
	};
	NTSTATUS status = STATUS_SUCCESS;
	/* The system hands this out untouched; pages come into being when somebody writes. */
	soft->local = MmAllocateContiguousMemorySpecifyCache(memory->local_bytes, lowest, highest,
							     no_boundary, MmWriteCombined);
	soft->aperture =
		gpu_pool_allocate(NonPagedPoolNx, memory->aperture_pages * sizeof(*soft->aperture));
	if (!soft->local)
		status = gpu_refuse(STATUS_NO_MEMORY, "no %u MiB of contiguous memory",
				    settings->local_mib);
	else if (!soft->aperture)
		status = gpu_refuse(STATUS_NO_MEMORY, "there is no pool for the aperture's table");
	else
		memory->local_physical = MmGetPhysicalAddress(soft->local);
	if (NT_SUCCESS(status))
		status = soft_host_aperture_start(memory, settings);
	if (!NT_SUCCESS(status))
		gpu_hw_memory_stop(memory);
	return status;
}

void gpu_hw_memory_stop(struct gpu_memory *memory)
{
	struct soft_memory *soft = soft_memory_of(memory);

	PAGED_CODE();

	soft_host_aperture_stop(memory);
	gpu_pool_free(soft->aperture);
	if (soft->local)
		MmFreeContiguousMemorySpecifyCache(soft->local, memory->local_bytes,
						   MmWriteCombined);
	gpu_pool_free(soft);
	RtlZeroMemory(memory, sizeof(*memory));
}

enum { WHAT_IS_LEFT = 0xA5 };

void gpu_hw_memory_lose(struct gpu_memory *memory)
{
	RtlFillMemory(soft_memory_of(memory)->local, (SIZE_T)memory->local_bytes, WHAT_IS_LEFT);
}

void gpu_hw_memory_spoil(struct gpu_memory *memory)
{
	for (ULONGLONG i = 0; i < memory->local_bytes; i += PAGE_SIZE)
		soft_memory_of(memory)->local[i] ^= 1;
}

/* What a client brought may be there for reading only. */
static BOOLEAN window_map(ULONGLONG physical, ULONGLONG size_bytes, BOOLEAN is_write,
			  struct soft_window *window)
{
	PHYSICAL_ADDRESS address = { .QuadPart = (LONGLONG)physical };

	window->bytes =
		MmMapIoSpaceEx(address, size_bytes, is_write ? PAGE_READWRITE : PAGE_READONLY);
	window->size_bytes = size_bytes;
	window->is_mapped = TRUE;
	return window->bytes != NULL;
}

/* As many pages as lie next to each other behind the aperture too. */
static BOOLEAN window_open_aperture(const struct gpu_memory *memory, ULONGLONG offset,
				    ULONGLONG wanted, BOOLEAN is_write, struct soft_window *window)
{
	const ULONGLONG *aperture = soft_memory_of(memory)->aperture;
	ULONGLONG page = offset >> PAGE_SHIFT;
	ULONGLONG in_page = offset & PAGE_MASK;
	ULONGLONG first;
	ULONGLONG size_bytes = PAGE_SIZE - in_page;

	if (page >= memory->aperture_pages)
		return FALSE;
	first = gpu_entry_load(&aperture[page]);
	if (!(first & APERTURE_VALID))
		return FALSE;
	for (ULONGLONG next = 1; size_bytes < wanted && page + next < memory->aperture_pages;
	     next++) {
		if (gpu_entry_load(&aperture[page + next]) != first + next * PAGE_SIZE)
			break;
		size_bytes += PAGE_SIZE;
	}
	return window_map((first & ~(ULONGLONG)PAGE_MASK) + in_page,
			  size_bytes < wanted ? size_bytes : wanted, is_write, window);
}

BOOLEAN soft_window_open(const struct gpu_memory *memory, ULONG segment, ULONGLONG offset,
			 ULONGLONG wanted, BOOLEAN is_write, struct soft_window *window_out)
{
	*window_out = (struct soft_window){ .bytes = NULL };
	switch (segment) {
	case SOFTGPU_SEGMENT_LOCAL:
		if (offset >= memory->local_bytes)
			return FALSE;
		window_out->bytes = soft_memory_of(memory)->local + offset;
		window_out->size_bytes = memory->local_bytes - offset;
		if (window_out->size_bytes > wanted)
			window_out->size_bytes = wanted;
		return TRUE;
	case SOFTGPU_SEGMENT_APERTURE:
		return window_open_aperture(memory, offset, wanted, is_write, window_out);
	case SOFTGPU_SEGMENT_SYSTEM:
	case GPU_SEGMENT_COUNT + 1: /* the system memory that WDDM 2 adds after our segments */
		return window_map(offset, wanted, is_write, window_out);
	default:
		return FALSE;
	}
}

void soft_window_close(struct soft_window *window)
{
	if (window->is_mapped && window->bytes)
		MmUnmapIoSpace(window->bytes, window->size_bytes);
	window->bytes = NULL;
}

BOOLEAN soft_memory_read_entry(void *reader_context, ULONG segment, ULONGLONG offset,
			       ULONGLONG *entry_out)
{
	const struct gpu_memory *memory = (const struct gpu_memory *)reader_context;
	struct soft_window window;

	if (!soft_window_open(memory, segment, offset, sizeof(*entry_out), FALSE, &window))
		return FALSE;
	BOOLEAN is_whole = window.size_bytes >= sizeof(*entry_out);
	if (is_whole)
		*entry_out = gpu_entry_load(window.bytes);
	soft_window_close(&window);
	return is_whole;
}

/* Nothing here is ever lost for good. */
NTSTATUS gpu_hw_restart(struct gpu_memory *memory)
{
	(void)memory;
	return STATUS_SUCCESS;
}

BOOLEAN gpu_hw_engine_is_alive(const struct gpu_engine *engine)
{
	(void)engine;
	return TRUE;
}

/* ---- settings ---- */

/* Whatever settings.c begins with and knows, we are. */
void gpu_hw_settings_init(struct gpu_settings *settings)
{
	settings->has_intel = 1; /* intel_stream.c */
}

NTSTATUS gpu_hw_settings_check(const struct gpu_settings *settings, PCSTR *problem_out)
{
	*problem_out = NULL;
	if (settings->hardware_addresses)
		*problem_out = "HardwareAddresses: the software GPU runs no kernels of clients";
	return *problem_out ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
}

void gpu_hw_register(const struct gpu_settings *settings, DRIVER_INITIALIZATION_DATA *data)
{
	if (settings->host_aperture_mib != 0) {
		data->DxgkDdiMapCpuHostAperture = soft_map_cpu_host_aperture;
		data->DxgkDdiUnmapCpuHostAperture = soft_unmap_cpu_host_aperture;
	}
	if (settings->commands == SOFTGPU_COMMANDS_INTEL)
		data->DxgkDdiEscape = soft_intel_escape;
}
