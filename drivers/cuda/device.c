/* SPDX-License-Identifier: MIT */
/*
 * device.c - a GPU of the host: context, kernels, video memory.
 *
 *	slab        segment 1, made once (slab.c). The kernel's memory manager places things in it.
 *	aperture    a table of entries, for segment 2
 *	pieces      a table of pointers: where the GPU sees system memory (pieces.c)
 *	world       where these are, for kernels
 *
 * All of it is made when the adapter starts, and once more when the context was lost; nothing is
 * allocated from CUDA while clients come and go. PASSIVE_LEVEL.
 */
#include "cuda.h"

BOOLEAN cuda_did(struct cuda_device *device, cuda_status status, const char *what)
{
	if (status == CUDA_OK)
		return TRUE;
	if (InterlockedExchange(&device->is_lost, TRUE) == FALSE)
		DbgPrint(GPU_DRIVER ": %s: %s; the context is lost\n", what,
			 cuda_error_name(&device->api, status));
	return FALSE;
}

BOOLEAN cuda_enter(struct cuda_device *device)
{
	return cuda_did(device, device->api.context_set(device->context), "cuCtxSetCurrent");
}

cuda_context cuda_visit(const struct cuda_device *device)
{
	cuda_context had = NULL;

	if (device->api.library)
		(void)device->api.context_get(&had);
	return had;
}

void cuda_visit_end(struct cuda_device *device, cuda_context had)
{
	if (!device->api.library)
		return;
	cuda_status status = device->api.context_set(had);
	/* An engine's thread goes on with ours. Another that is gone meanwhile is nobody's. */
	if (had && had == device->context)
		(void)cuda_did(device, status, "cuCtxSetCurrent");
}

static NTSTATUS refuse(const struct cuda_device *device, cuda_status status, const char *what)
{
	return gpu_refuse(status == CUDA_OUT_OF_MEMORY ? STATUS_NO_MEMORY : STATUS_UNSUCCESSFUL,
			  "%s: %s", what, cuda_error_name(&device->api, status));
}

#define TRY(call, what)                                                                            \
	do {                                                                                       \
		cuda_status tried = (call);                                                        \
		if (tried != CUDA_OK)                                                              \
			return refuse(device, tried, what);                                        \
	} while (0)

/* ---- which ---- */

static NTSTATUS choose(struct cuda_device *device)
{
	const struct cuda_api *api = &device->api;
	char name[96] = "";
	int count = 0;
	int major = 0;
	int processors = 0;
	int maps = 0;
	int is_same_pointer = 0;

	TRY(api->device_count(&count), "cuDeviceGetCount");
	if (count == 0)
		return gpu_refuse(STATUS_NO_SUCH_DEVICE, "the CUDA driver has no GPU");
	TRY(api->device_get(&device->number, 0), "cuDeviceGet");
	TRY(api->device_name(name, sizeof(name), device->number), "cuDeviceGetName");
	TRY(api->device_attribute(&major, CUDA_ATTRIBUTE_COMPUTE_MAJOR, device->number),
	    "cuDeviceGetAttribute");
	TRY(api->device_attribute(&processors, CUDA_ATTRIBUTE_MULTIPROCESSORS, device->number),
	    "cuDeviceGetAttribute");
	TRY(api->device_attribute(&maps, CUDA_ATTRIBUTE_MAP_HOST, device->number),
	    "cuDeviceGetAttribute");
	TRY(api->device_attribute(&is_same_pointer, CUDA_ATTRIBUTE_REGISTERED_POINTER,
				  device->number),
	    "cuDeviceGetAttribute");
	if (major < CUDA_COMPUTE_MAJOR_WANTED || !maps || !is_same_pointer)
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "%s has compute capability %d, %s memory of the machine, %s: "
				  "capability %d and both are needed",
				  name, major, maps ? "maps" : "maps no",
				  is_same_pointer ? "at the same address" : "at other addresses",
				  CUDA_COMPUTE_MAJOR_WANTED);
	device->processors = (ULONG)processors;
	DbgPrint(GPU_DRIVER ": %s\n", name);
	return STATUS_SUCCESS;
}

/* ---- memory ---- */

static NTSTATUS choose_size(struct cuda_device *device, struct gpu_settings *settings)
{
	size_t free_bytes = 0;
	size_t total_bytes = 0;

	TRY(device->api.memory_info(&free_bytes, &total_bytes), "cuMemGetInfo");
	ULONGLONG free_mib = free_bytes >> 20;
	if (settings->local_mib == 0) {
		if (free_mib < CUDA_MIN_LOCAL_MIB + CUDA_KEPT_MIB)
			return gpu_refuse(STATUS_NO_MEMORY,
					  "the GPU has %I64u MiB free, and %u are the least",
					  free_mib, CUDA_MIN_LOCAL_MIB + CUDA_KEPT_MIB);
		settings->local_mib = (ULONG)(free_mib - CUDA_KEPT_MIB) & ~1u;
	}
	if (settings->local_mib > free_mib)
		return gpu_refuse(STATUS_NO_MEMORY,
				  "LocalMemoryMiB is %u, and the GPU has %I64u MiB free",
				  settings->local_mib, free_mib);
	device->local_bytes = (ULONGLONG)settings->local_mib << 20;
	device->aperture_pages = ((ULONGLONG)settings->aperture_mib << 20) >> PAGE_SHIFT;
	device->settings = *settings;
	return STATUS_SUCCESS;
}

static NTSTATUS zero(struct cuda_device *device, cuda_pointer at, ULONGLONG size_bytes)
{
	TRY(device->api.fill_words(at, 0, size_bytes / sizeof(ULONG), device->control),
	    "cuMemsetD32Async");
	return STATUS_SUCCESS;
}

static NTSTATUS make_memory(struct cuda_device *device)
{
	const struct cuda_api *api = &device->api;
	const ULONGLONG aperture_bytes = device->aperture_pages * sizeof(ULONGLONG);
	const ULONGLONG state_bytes = CUDA_SLOTS * sizeof(struct cuda_state);
	const ULONGLONG table_bytes = device->piece_count * sizeof(ULONGLONG);
	struct cuda_world world;

	NTSTATUS status = cuda_slab_make(device);
	if (!NT_SUCCESS(status))
		return status;
	TRY(api->memory_allocate(&device->aperture, aperture_bytes), "cuMemAlloc of the aperture");
	TRY(api->memory_allocate(&device->piece_table, table_bytes), "cuMemAlloc of a table");
	TRY(api->memory_allocate(&device->world, sizeof(world)), "cuMemAlloc of the world");
	TRY(api->memory_allocate(&device->states, state_bytes), "cuMemAlloc of states");
	world = (struct cuda_world){
		.settings = device->settings,
		.local = device->local,
		.local_bytes = device->local_bytes,
		.aperture = device->aperture,
		.aperture_pages = device->aperture_pages,
		.pieces = device->piece_table,
		.piece_count = device->piece_count,
		.arguments = (ULONGLONG)(ULONG_PTR)device->arguments,
		.states = device->states,
		.tables_at = device->world + __builtin_offsetof(struct cuda_world, tables),
	};
	/* What others have left in it is nobody's business. */
	status = zero(device, device->local, device->local_bytes);
	if (NT_SUCCESS(status))
		status = zero(device, device->aperture, aperture_bytes);
	if (NT_SUCCESS(status))
		status = zero(device, device->piece_table, table_bytes);
	if (NT_SUCCESS(status))
		status = zero(device, device->states, state_bytes);
	if (!NT_SUCCESS(status))
		return status;
	TRY(api->copy_to_device(device->world, &world, sizeof(world), device->control),
	    "cuMemcpyHtoDAsync");
	TRY(api->stream_wait(device->control), "cuStreamSynchronize");
	return STATUS_SUCCESS;
}

static NTSTATUS make_host_words(struct cuda_device *device)
{
	const unsigned flags = CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP;
	void *words;

	TRY(device->api.host_allocate(&words, CUDA_SLOTS * sizeof(*device->results), flags),
	    "cuMemHostAlloc of results");
	device->results = (struct cuda_result *)words;
	TRY(device->api.host_allocate(&words, CUDA_SLOTS * sizeof(*device->rings), flags),
	    "cuMemHostAlloc of rings");
	device->rings = (struct cuda_ring *)words;
	TRY(device->api.host_allocate(&words, CUDA_SLOTS * sizeof(*device->stops), flags),
	    "cuMemHostAlloc of words");
	device->stops = (ULONGLONG *)words;
	device->arguments = NULL;
	if (device->settings.hardware_addresses) {
		TRY(device->api.host_allocate(&words, (size_t)CUDA_SLOTS * CUDA_ARGUMENT_BYTES,
					      flags),
		    "cuMemHostAlloc of arguments");
		device->arguments = (UCHAR *)words;
	}
	RtlZeroMemory(device->results, CUDA_SLOTS * sizeof(*device->results));
	RtlZeroMemory(device->rings, CUDA_SLOTS * sizeof(*device->rings));
	RtlZeroMemory(device->stops, CUDA_SLOTS * sizeof(*device->stops));
	RtlZeroMemory(device->slots, sizeof(device->slots));
	return STATUS_SUCCESS;
}

/* The first launch of a kernel may have to wait for others: none is made while one could hang. */
static NTSTATUS warm_up(struct cuda_device *device)
{
	const struct cuda_api *api = &device->api;
	ULONGLONG nothing = 0;
	ULONGLONG result = (ULONGLONG)(ULONG_PTR)device->results;
	ULONGLONG ring = (ULONGLONG)(ULONG_PTR)device->rings;
	void *run[] = { &device->world, &device->states, &result, &ring, &nothing, &nothing };
	void *move[] = { &device->world, &device->states };
	void *list[] = { &nothing, &nothing, &nothing };
	void *ranges[] = { &device->world, &nothing, &nothing, &nothing, &nothing,
			   &nothing,       &nothing, &nothing, &nothing };

	/* A packet of no bytes, of which nothing but its number is not 0. */
	for (ULONG i = 0; i < CUDA_RING_WORDS; i++)
		device->rings->words[1][i] = 1ULL << 32;
	TRY(api->launch(device->run, 1, 1, 1, CUDA_RUN_THREADS, 1, 1, 0, device->control, run,
			NULL),
	    "cuLaunchKernel of cuda_run");
	TRY(api->launch(device->move, device->processors * CUDA_MOVE_BLOCKS_PER_PROCESSOR, 1, 1,
			CUDA_MOVE_THREADS, 1, 1, 0, device->control, move, NULL),
	    "cuLaunchKernel of cuda_move");
	TRY(api->launch(device->pages, CUDA_PAGES_BLOCKS, 1, 1, CUDA_PAGES_THREADS, 1, 1, 0,
			device->control, list, NULL),
	    "cuLaunchKernel of cuda_pages");
	TRY(api->launch(device->entries, 1, 1, 1, CUDA_ENTRIES_THREADS, 1, 1, 0, device->control,
			list, NULL),
	    "cuLaunchKernel of cuda_entries");
	TRY(api->launch(device->ranges, CUDA_PAGES_BLOCKS, 1, 1, CUDA_RUN_THREADS, 1, 1, 0,
			device->control, ranges, NULL),
	    "cuLaunchKernel of cuda_ranges");
	TRY(api->stream_wait(device->control), "cuStreamSynchronize");
	if (device->results->done != 1)
		return gpu_refuse(STATUS_UNSUCCESSFUL, "an empty packet ended with %u",
				  device->results->outcome);
	return STATUS_SUCCESS;
}

/* ---- context ---- */

static NTSTATUS load_kernels(struct cuda_device *device)
{
	const struct cuda_api *api = &device->api;

	TRY(api->module_load(&device->module, cuda_ptx), "cuModuleLoadData");
	TRY(api->module_function(&device->run, device->module, "cuda_run"), "cuda_run");
	TRY(api->module_function(&device->move, device->module, "cuda_move"), "cuda_move");
	TRY(api->module_function(&device->pages, device->module, "cuda_pages"), "cuda_pages");
	TRY(api->module_function(&device->entries, device->module, "cuda_entries"), "cuda_entries");
	TRY(api->module_function(&device->ranges, device->module, "cuda_ranges"), "cuda_ranges");
	return STATUS_SUCCESS;
}

static NTSTATUS make_context(struct cuda_device *device)
{
	TRY(device->api.context_create(&device->context,
				       CUDA_CONTEXT_SCHED_SPIN | CUDA_CONTEXT_MAP_HOST,
				       device->number),
	    "cuCtxCreate");
	device->generation++;
	InterlockedExchange(&device->is_lost, FALSE);
	return STATUS_SUCCESS;
}

static NTSTATUS fill_context(struct cuda_device *device, struct gpu_settings *settings)
{
	NTSTATUS status = load_kernels(device);

	if (NT_SUCCESS(status))
		status = choose_size(device, settings);
	if (!NT_SUCCESS(status))
		return status;
	TRY(device->api.stream_create(&device->control, CUDA_STREAM_NON_BLOCKING),
	    "cuStreamCreate");
	status = make_host_words(device);
	if (NT_SUCCESS(status))
		status = make_memory(device);
	if (NT_SUCCESS(status))
		status = cuda_lanes_make(device);
	if (NT_SUCCESS(status))
		status = warm_up(device);
	return status;
}

/* What is in it goes with it, and large pages, which are in none. */
static void end_context(struct cuda_device *device)
{
	cuda_clients_end(device);
	if (!device->is_lost)
		cuda_slab_end(device);
	if (device->context)
		(void)device->api.context_destroy(device->context);
	device->context = NULL;
	cuda_slab_end(device);
	cuda_lanes_end(device);
}

NTSTATUS cuda_device_revive(struct cuda_device *device)
{
	PAGED_CODE();

	cuda_context had = cuda_visit(device);
	cuda_pieces_forget(device);
	end_context(device);
	NTSTATUS status = make_context(device);
	if (NT_SUCCESS(status))
		status = fill_context(device, &device->settings);
	if (!NT_SUCCESS(status))
		InterlockedExchange(&device->is_lost, TRUE);
	cuda_visit_end(device, had);
	return status;
}

/* ---- the adapter ---- */

static NTSTATUS start(struct cuda_device *device, struct gpu_settings *settings)
{
	NTSTATUS status = cuda_api_open(&device->api);

	if (!NT_SUCCESS(status))
		return status;
	KeInitializeMutex(&device->pieces_lock, 0);
	KeInitializeMutex(&device->lanes_lock, 0);
	/* Addresses begin at 1 MiB. */
	device->piece_count = ((OpendxgkMemoryBytes() + (1ULL << 20)) >> CUDA_PIECE_BITS) + 1;
	cuda_context had = cuda_visit(device);
	status = choose(device);
	if (NT_SUCCESS(status))
		status = make_context(device);
	if (NT_SUCCESS(status))
		status = fill_context(device, settings);
	cuda_visit_end(device, had);
	if (NT_SUCCESS(status))
		status = cuda_pieces_start(device);
	return status;
}

NTSTATUS gpu_hw_memory_start(struct gpu_memory *memory, struct gpu_settings *settings)
{
	PAGED_CODE();

	struct cuda_device *device = gpu_pool_allocate(NonPagedPoolNx, sizeof(*device));
	if (!device)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool to describe a GPU");
	*memory = (struct gpu_memory){ .hardware = device };
	cuda_clients_init(device);
	NTSTATUS status = start(device, settings);
	if (!NT_SUCCESS(status)) {
		gpu_hw_memory_stop(memory);
		return status;
	}
	memory->local_bytes = device->local_bytes;
	memory->aperture_pages = device->aperture_pages;
	memory->has_64k_pages = settings->pages_64k != GPU_64K_NONE;
	memory->knows_windows = TRUE;
	return STATUS_SUCCESS;
}

void gpu_hw_memory_stop(struct gpu_memory *memory)
{
	struct cuda_device *device = cuda_device_of(memory);

	PAGED_CODE();

	cuda_pieces_stop(device);
	cuda_context had = cuda_visit(device);
	end_context(device);
	cuda_visit_end(device, had);
	cuda_api_close(&device->api);
	gpu_pool_free(device);
	RtlZeroMemory(memory, sizeof(*memory));
}

enum { WHAT_IS_LEFT = 0xA5A5A5A5 };

void gpu_hw_memory_lose(struct gpu_memory *memory)
{
	struct cuda_device *device = cuda_device_of(memory);
	cuda_context had = cuda_visit(device);

	if (!device->is_lost && cuda_enter(device) &&
	    cuda_did(device,
		     device->api.fill_words(device->local, WHAT_IS_LEFT,
					    device->local_bytes / sizeof(ULONG), device->control),
		     "cuMemsetD32Async"))
		(void)cuda_did(device, device->api.stream_wait(device->control),
			       "cuStreamSynchronize");
	cuda_visit_end(device, had);
}

void gpu_hw_memory_spoil(struct gpu_memory *memory)
{
	struct cuda_device *device = cuda_device_of(memory);

	/* The first word of each page would need a kernel; all words do as well. */
	if (!device->is_lost && cuda_enter(device))
		(void)cuda_did(device,
			       device->api.fill_words(device->local, 1,
						      device->local_bytes / sizeof(ULONG),
						      device->control),
			       "cuMemsetD32Async");
}

/* ---- after an error ---- */

NTSTATUS gpu_hw_restart(struct gpu_memory *memory)
{
	struct cuda_device *device = cuda_device_of(memory);

	return device->is_lost ? cuda_device_revive(device) : STATUS_SUCCESS;
}

BOOLEAN gpu_hw_engine_is_alive(const struct gpu_engine *engine)
{
	return !cuda_device_of(&engine->adapter->memory)->is_lost;
}
