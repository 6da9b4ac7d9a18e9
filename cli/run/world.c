/* SPDX-License-Identifier: MIT */
/*
 * world.c - clients, contexts, allocations and fences: made, destroyed, and all of it at the end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <opendxgk/softgpu.h>

#include "cli/adapter_facts.h"
#include "cli/run/world.h"

void outcome_note(struct outcome *outcome, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(outcome->note, sizeof(outcome->note), format, arguments);
	va_end(arguments);
}

/* ---- clients ---- */

static NTSTATUS create_paging_queue(struct world *world, struct thing *client, D3DKMT_HANDLE device)
{
	D3DKMT_CREATEPAGINGQUEUE args = { .hDevice = device };
	NTSTATUS status = CALL(world, D3DKMTCreatePagingQueue(&args));

	client->paging_queue = args.hPagingQueue;
	client->paging_fence = args.hSyncObject;
	client->paging_value = 0;
	return status;
}

static NTSTATUS destroy_device(struct world *world, D3DKMT_HANDLE device)
{
	D3DKMT_DESTROYDEVICE args = { device };

	return CALL(world, D3DKMTDestroyDevice(&args));
}

NTSTATUS world_create_client(struct world *world, const struct script_statement *statement)
{
	struct thing *client = world_thing(world, statement->name);
	D3DKMT_CREATEDEVICE args = { .hAdapter = world->adapter };

	args.Flags.DisableGpuTimeout = (statement->options & OPTION_NO_TIMEOUT) != 0;
	NTSTATUS status = CALL(world, D3DKMTCreateDevice(&args));
	if (!NT_SUCCESS(status))
		return status;
	status = create_paging_queue(world, client, args.hDevice);
	if (!NT_SUCCESS(status)) {
		destroy_device(world, args.hDevice);
		return status;
	}
	client->handle = args.hDevice;
	client->is_there = true;
	return status;
}

/* What a device had is gone with it. */
static NTSTATUS destroy_client(struct world *world, uint32_t name)
{
	NTSTATUS status = destroy_device(world, world_thing(world, name)->handle);

	if (!NT_SUCCESS(status))
		return status;
	for (uint32_t i = 0; i < world->script->name_count; i++) {
		if (world->script->names[i].client == name) {
			world->things[i].is_there = false;
			world->things[i].address = 0;
			queue_forget_name(world, i);
		}
	}
	return status;
}

/* ---- contexts ---- */

static NTSTATUS destroy_fence(struct world *world, D3DKMT_HANDLE fence)
{
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT args = { fence };

	return CALL(world, D3DKMTDestroySynchronizationObject(&args));
}

/* In system memory: the scenario's own allocations have the local memory to themselves. */
static NTSTATUS create_ring_buffer(struct world *world, struct thing *client, struct ring *ring)
{
	enum { BYTES = RING_SLOTS * RING_SLOT_BYTES };
	uint64_t to_trim;
	NTSTATUS status = memory_create(world, client, BYTES,
					SOFTGPU_SYSTEM_ONLY | SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED,
					&ring->buffer);

	if (!NT_SUCCESS(status))
		return status;
	status = memory_map(world, client, ring->buffer, BYTES, 0, true, &ring->address);
	if (NT_SUCCESS(status))
		status = memory_make_resident(world, client, &ring->buffer, 1, 0, &to_trim);
	if (NT_SUCCESS(status))
		status = memory_lock(world, client, ring->buffer, &ring->bytes);
	if (!NT_SUCCESS(status))
		memory_destroy(world, client, ring->buffer);
	return status;
}

static NTSTATUS create_ring(struct world *world, struct thing *client, struct ring *ring)
{
	*ring = (struct ring){ 0 };
	NTSTATUS status = queue_create_fence(world, client, 0, false, &ring->fence);
	if (!NT_SUCCESS(status))
		return status;
	status = create_ring_buffer(world, client, ring);
	if (!NT_SUCCESS(status))
		destroy_fence(world, ring->fence);
	return status;
}

static void destroy_ring(struct world *world, const struct thing *client, const struct ring *ring)
{
	memory_unlock(world, client, ring->buffer);
	memory_destroy(world, client, ring->buffer);
	destroy_fence(world, ring->fence);
}

static NTSTATUS destroy_context_handle(struct world *world, D3DKMT_HANDLE context)
{
	D3DKMT_DESTROYCONTEXT args = { context };

	return CALL(world, D3DKMTDestroyContext(&args));
}

NTSTATUS world_create_context(struct world *world, const struct script_statement *statement)
{
	struct thing *client = world_thing(world, statement->by);
	struct thing *context = world_thing(world, statement->name);
	struct softgpu_context wishes = {
		.version = SOFTGPU_CONTEXT_VERSION,
		.flags = statement->options & OPTION_STUBBORN ? SOFTGPU_CONTEXT_IGNORES_PREEMPTION
							      : 0,
	};
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = client->handle,
					     .NodeOrdinal = (UINT)statement->number,
					     .pPrivateDriverData = &wishes,
					     .PrivateDriverDataSize = sizeof(wishes) };

	NTSTATUS status = CALL(world, D3DKMTCreateContextVirtual(&args));
	if (!NT_SUCCESS(status))
		return status;
	status = create_ring(world, client, &context->ring);
	if (!NT_SUCCESS(status)) {
		destroy_context_handle(world, args.hContext);
		return status;
	}
	context->handle = args.hContext;
	context->is_there = true;
	return status;
}

/* Waits for what the hardware has, so nobody reads the ring after that. */
static NTSTATUS destroy_context(struct world *world, uint32_t name)
{
	struct thing *context = world_thing(world, name);
	NTSTATUS status = destroy_context_handle(world, context->handle);

	if (NT_SUCCESS(status) && atomic_exchange(&context->is_there, false))
		destroy_ring(world, world_client_of(world, name), &context->ring);
	return status;
}

/* ---- allocations and fences ---- */

NTSTATUS world_create_allocation(struct world *world, const struct script_statement *statement)
{
	struct thing *allocation = world_thing(world, statement->name);
	uint32_t options = statement->options;
	uint32_t flags = options & OPTION_HIDDEN ? 0 : SOFTGPU_CPU_VISIBLE;
	D3DKMT_HANDLE handle;

	if (options & OPTION_LOCAL)
		flags |= SOFTGPU_LOCAL_ONLY;
	if (options & OPTION_SYSTEM)
		flags |= SOFTGPU_SYSTEM_ONLY;
	if (options & OPTION_CACHED)
		flags |= SOFTGPU_CACHED;
	if (options & OPTION_CONTIGUOUS)
		flags |= SOFTGPU_CONTIGUOUS;
	NTSTATUS status = memory_create(world, world_thing(world, statement->by),
					statement->size_bytes, flags, &handle);
	if (!NT_SUCCESS(status))
		return status;
	allocation->address = 0;
	allocation->handle = handle;
	allocation->is_there = true;
	return status;
}

static NTSTATUS keep_fence(struct thing *fence, NTSTATUS status, D3DKMT_HANDLE handle)
{
	if (!NT_SUCCESS(status))
		return status;
	fence->handle = handle;
	fence->is_there = true;
	return status;
}

NTSTATUS world_create_fence(struct world *world, const struct script_statement *statement)
{
	D3DKMT_HANDLE handle;
	bool is_shared = (statement->options & OPTION_SHARED) != 0;
	NTSTATUS status = queue_create_fence(world, world_thing(world, statement->by),
					     statement->number, is_shared, &handle);

	if (NT_SUCCESS(status) && is_shared && world->is_shared) {
		status = queue_name_fence(world, statement->name, handle);
		if (!NT_SUCCESS(status))
			destroy_fence(world, handle);
	}
	return keep_fence(world_thing(world, statement->name), status, handle);
}

NTSTATUS world_open_fence(struct world *world, const struct script_statement *statement)
{
	D3DKMT_HANDLE handle;
	NTSTATUS status = queue_open_fence(world, world_thing(world, statement->by),
					   statement->place.name, &handle);

	return keep_fence(world_thing(world, statement->name), status, handle);
}

NTSTATUS world_destroy(struct world *world, uint32_t name)
{
	struct thing *thing = world_thing(world, name);
	NTSTATUS status;

	switch (world->script->names[name].kind) {
	case SCRIPT_CLIENT:
		return destroy_client(world, name);
	case SCRIPT_CONTEXT:
		return destroy_context(world, name);
	case SCRIPT_ALLOCATION:
		status = memory_destroy(world, world_client_of(world, name), thing->handle);
		break;
	case SCRIPT_FENCE:
	default:
		status = destroy_fence(world, thing->handle);
		break;
	}
	if (NT_SUCCESS(status)) {
		thing->is_there = false;
		thing->address = 0;
		queue_forget_name(world, name);
	}
	return status;
}

/* ---- beginning and end ---- */

static bool is_software_gpu(D3DKMT_HANDLE adapter)
{
	struct softgpu_adapter_info info = { 0 };
	D3DKMT_QUERYADAPTERINFO args = { adapter, KMTQAITYPE_UMDRIVERPRIVATE, &info, sizeof(info) };

	return NT_SUCCESS(D3DKMTQueryAdapterInfo(&args)) &&
	       info.version == SOFTGPU_ADAPTER_INFO_VERSION;
}

static bool open_adapter(D3DKMT_HANDLE *adapter_out)
{
	enum { MOST_ADAPTERS = 64 };
	D3DKMT_ADAPTERINFO infos[MOST_ADAPTERS];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = MOST_ADAPTERS, .pAdapters = infos };

	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all))) {
		print_last_refusal("D3DKMTEnumAdapters2");
		return false;
	}
	for (ULONG i = 1; i < all.NumAdapters; i++) {
		D3DKMT_CLOSEADAPTER done = { infos[i].hAdapter };
		D3DKMTCloseAdapter(&done);
	}
	if (all.NumAdapters == 0) {
		fprintf(stderr, "dxgk run: no adapter started\n");
		return false;
	}
	*adapter_out = infos[0].hAdapter;
	return true;
}

struct thing *world_make_shared_things(const struct script *script)
{
	struct thing *things = mmap(NULL, (script->name_count + 1) * sizeof(*things),
				    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return things == MAP_FAILED ? NULL : things;
}

bool world_open(struct world *world, const struct script *script, struct thing *things)
{
	*world = (struct world){ .script = script, .is_shared = things != NULL };
	if (!open_adapter(&world->adapter))
		return false;
	if (!is_software_gpu(world->adapter)) {
		fprintf(stderr, "dxgk run: the first adapter is not the software GPU, whose "
				"commands a script has\n");
		return false;
	}
	world->things = things ? things : calloc(script->name_count + 1, sizeof(*things));
	if (!world->things)
		fprintf(stderr, "dxgk run: no memory\n");
	return world->things != NULL;
}

void world_destroy_all(struct world *world)
{
	for (uint32_t i = 0; world->things && i < world->script->name_count; i++) {
		if (world->script->names[i].kind == SCRIPT_CLIENT && world->things[i].is_there)
			(void)destroy_client(world, i);
	}
}

void world_close(struct world *world)
{
	D3DKMT_CLOSEADAPTER args = { world->adapter };

	if (!world->is_shared)
		free(world->things);
	world->things = NULL;
	if (world->adapter != 0)
		D3DKMTCloseAdapter(&args);
	world->adapter = 0;
}
