/* SPDX-License-Identifier: MIT */
/*
 * world.c - clients, contexts, allocations and fences: made, destroyed, and all of it at the end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void outcome_leave_out(struct outcome *outcome, const char *format, ...)
{
	va_list arguments;

	outcome->is_left_out = true;
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
	client->has_gaps = false;
	return status;
}

static NTSTATUS destroy_device(struct world *world, D3DKMT_HANDLE device)
{
	D3DKMT_DESTROYDEVICE args = { device };

	return CALL(world, D3DKMTDestroyDevice(&args));
}

static NTSTATUS create_client(struct world *world, const struct script_statement *statement)
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
	const uint64_t size_bytes = (uint64_t)RING_SLOTS * ring->slot_bytes;
	uint32_t wishes =
		DXGK_EXERCISER_SYSTEM | DXGK_EXERCISER_CPU_VISIBLE | DXGK_EXERCISER_CACHED;
	uint64_t to_trim;

	/* Or where its driver can do it. */
	if (!exerciser_can_allocate(&world->exerciser, size_bytes, wishes))
		wishes &= ~(uint32_t)DXGK_EXERCISER_CACHED;
	if (!exerciser_can_allocate(&world->exerciser, size_bytes, wishes))
		wishes &= ~(uint32_t)DXGK_EXERCISER_SYSTEM;
	NTSTATUS status = memory_create(world, client, size_bytes, wishes, &ring->buffer);

	if (!NT_SUCCESS(status))
		return status;
	status = memory_map(world, client, ring->buffer, size_bytes, 0, true, &ring->address);
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
	*ring = (struct ring){ .slot_bytes = exerciser_most_bytes(&world->exerciser) };
	NTSTATUS status = queue_create_fence(world, client, 0, false, &ring->fence);
	if (!NT_SUCCESS(status) || !world->exerciser.is_there)
		return status;
	status = create_ring_buffer(world, client, ring);
	if (!NT_SUCCESS(status))
		destroy_fence(world, ring->fence);
	return status;
}

static void destroy_ring(struct world *world, const struct thing *client, const struct ring *ring)
{
	if (ring->buffer != 0) {
		memory_unlock(world, client, ring->buffer);
		memory_destroy(world, client, ring->buffer);
	}
	destroy_fence(world, ring->fence);
}

static NTSTATUS destroy_context_handle(struct world *world, D3DKMT_HANDLE context)
{
	D3DKMT_DESTROYCONTEXT args = { context };

	return CALL(world, D3DKMTDestroyContext(&args));
}

static NTSTATUS create_context(struct world *world, const struct script_statement *statement)
{
	struct thing *client = world_thing(world, statement->by);
	struct thing *context = world_thing(world, statement->name);
	uint32_t wishes = statement->options & OPTION_STUBBORN ? DXGK_EXERCISER_STUBBORN : 0;
	unsigned char data[EXERCISER_DATA_MAX];
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = client->handle,
					     .NodeOrdinal = (UINT)statement->number };

	args.PrivateDriverDataSize =
		exerciser_context(&world->exerciser, args.NodeOrdinal, wishes, data);
	args.pPrivateDriverData = args.PrivateDriverDataSize > 0 ? data : NULL;
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

static uint32_t wishes_of(uint32_t options)
{
	static const struct {
		uint32_t option;
		uint32_t wish;
	} wishes[] = {
		{ OPTION_LOCAL, DXGK_EXERCISER_LOCAL },
		{ OPTION_SYSTEM, DXGK_EXERCISER_SYSTEM },
		{ OPTION_CACHED, DXGK_EXERCISER_CACHED },
		{ OPTION_CONTIGUOUS, DXGK_EXERCISER_PHYSICAL },
	};
	uint32_t sum = options & OPTION_HIDDEN ? 0 : DXGK_EXERCISER_CPU_VISIBLE;

	for (size_t i = 0; i < ARRAY_SIZE(wishes); i++) {
		if (options & wishes[i].option)
			sum |= wishes[i].wish;
	}
	return sum;
}

static NTSTATUS create_allocation(struct world *world, const struct script_statement *statement)
{
	struct thing *allocation = world_thing(world, statement->name);
	D3DKMT_HANDLE handle;
	NTSTATUS status =
		memory_create(world, world_thing(world, statement->by), statement->size_bytes,
			      wishes_of(statement->options), &handle);

	if (!NT_SUCCESS(status))
		return status;
	allocation->address = 0;
	allocation->is_unknown = allocation->is_out_of_reach = false;
	allocation->writers = 0;
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

static NTSTATUS create_fence(struct world *world, const struct script_statement *statement)
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

static NTSTATUS open_fence(struct world *world, const struct script_statement *statement)
{
	D3DKMT_HANDLE handle;
	NTSTATUS status = queue_open_fence(world, world_thing(world, statement->by),
					   statement->place.name, &handle);

	return keep_fence(world_thing(world, statement->name), status, handle);
}

static NTSTATUS create(struct world *world, const struct script_statement *statement)
{
	if (statement->verb == VERB_CLIENT)
		return create_client(world, statement);
	if (statement->verb == VERB_CONTEXT)
		return create_context(world, statement);
	if (statement->verb == VERB_ALLOCATE)
		return create_allocation(world, statement);
	if (statement->verb == VERB_OPEN)
		return open_fence(world, statement);
	return create_fence(world, statement);
}

void world_do_create(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	struct thing *thing = world_thing(world, statement->name);

	if (thing->is_there) {
		outcome->is_wrong = true;
		outcome_note(outcome, "there is one already; destroy it before it is made again");
		return;
	}
	thing->is_left_out = statement->verb == VERB_ALLOCATE &&
			     !exerciser_can_allocate(&world->exerciser, statement->size_bytes,
						     wishes_of(statement->options));
	if (thing->is_left_out)
		outcome_leave_out(outcome, world->exerciser.is_there
						   ? "the exerciser has no such allocation"
						   : "there is no exerciser for the driver");
	else
		outcome->status = create(world, statement);
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

static bool choose_exerciser(struct world *world, const char *path)
{
	char why[512];

	if (!path) {
		world->is_soft = is_software_gpu(world->adapter);
		if (world->is_soft)
			exerciser_use_soft(&world->exerciser);
		return true;
	}
	if (strcmp(path, "none") == 0)
		return true;
	if (exerciser_load(&world->exerciser, path, why, sizeof(why)))
		return true;
	fprintf(stderr, "dxgk run: %s\n", why);
	return false;
}

bool world_open(struct world *world, const struct script *script, struct thing *things,
		const char *exerciser)
{
	const char *seed = getenv("DXGK_SEED");

	*world = (struct world){ .script = script, .is_shared = things != NULL };
	if (!open_adapter(&world->adapter) || !choose_exerciser(world, exerciser))
		return false;
	hooks_find(&world->hooks);
	world->is_simulated = world->hooks.thread_create && seed && *seed;
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
	exerciser_unload(&world->exerciser);
}
