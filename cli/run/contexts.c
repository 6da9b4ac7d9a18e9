/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - who work is given to: contexts with GPU addresses, contexts with allocation lists, hardware queues.
 *
 * Those with addresses have a ring of command buffers, if somebody knows what to write there. A fence that a signal behind
 * each submission raises tells what is over; of a hardware queue that is its progress fence.
 */
#include "cli/run/world.h"

/* ---- the ring ---- */

/* Commands are read; only what they are to prove is written. */
static NTSTATUS map_ring(struct world *world, struct thing *client, D3DKMT_HANDLE buffer,
			 struct ring *ring)
{
	const struct memory_part slots = { .allocation = buffer,
					   .size_bytes = (uint64_t)RING_SLOTS * ring->slot_bytes,
					   .is_read_only = true };
	const struct memory_part proofs = { .allocation = buffer,
					    .offset_bytes = slots.size_bytes,
					    .size_bytes = proof_bytes(world) };
	NTSTATUS status = memory_map(world, client, &slots, &ring->address);

	if (NT_SUCCESS(status) && proofs.size_bytes > 0)
		status = memory_map(world, client, &proofs, &ring->proof_address);
	return status;
}

/* In system memory: the scenario's own allocations have the local memory to themselves. */
static NTSTATUS create_ring_buffer(struct world *world, struct thing *client, struct ring *ring)
{
	const uint64_t slots_bytes = (uint64_t)RING_SLOTS * ring->slot_bytes;
	const uint64_t size_bytes = slots_bytes + proof_bytes(world);
	uint32_t wishes =
		DXGK_EXERCISER_SYSTEM | DXGK_EXERCISER_CPU_VISIBLE | DXGK_EXERCISER_CACHED;
	D3DKMT_HANDLE buffer;
	uint64_t to_trim;

	/* Or where its driver can do it. */
	if (!exerciser_can_allocate(&world->exerciser, size_bytes, wishes))
		wishes &= ~(uint32_t)DXGK_EXERCISER_CACHED;
	if (!exerciser_can_allocate(&world->exerciser, size_bytes, wishes))
		wishes &= ~(uint32_t)DXGK_EXERCISER_SYSTEM;
	NTSTATUS status = memory_create(world, client, size_bytes, wishes, &buffer);
	if (!NT_SUCCESS(status))
		return status;
	status = map_ring(world, client, buffer, ring);
	if (NT_SUCCESS(status))
		status = memory_make_resident(world, client, &buffer, 1, 0, &to_trim);
	if (NT_SUCCESS(status))
		status = memory_lock(world, client, buffer, &ring->bytes);
	if (!NT_SUCCESS(status)) {
		memory_destroy(world, client, buffer);
		return status;
	}
	ring->buffer = buffer;
	ring->proofs = world->proves_work ? ring->bytes + slots_bytes : NULL;
	return status;
}

/* Without an exerciser there is nothing to write into it. */
static NTSTATUS create_ring(struct world *world, struct thing *client, struct ring *ring)
{
	*ring = (struct ring){ .slot_bytes = exerciser_most_bytes(&world->exerciser) };
	return world->exerciser.is_there ? create_ring_buffer(world, client, ring) : STATUS_SUCCESS;
}

static void destroy_ring(struct world *world, const struct thing *client, struct ring *ring)
{
	if (ring->buffer == 0)
		return;
	proof_end(world, ring);
	memory_unlock(world, client, ring->buffer);
	memory_destroy(world, client, ring->buffer);
}

static NTSTATUS create_signed_ring(struct world *world, struct thing *client, struct ring *ring,
				   bool has_buffer)
{
	D3DKMT_HANDLE fence;
	NTSTATUS status = queue_create_fence(world, client, 0, false, &fence);

	if (!NT_SUCCESS(status))
		return status;
	*ring = (struct ring){ 0 };
	if (has_buffer)
		status = create_ring(world, client, ring);
	if (NT_SUCCESS(status))
		ring->fence = fence;
	else
		queue_destroy_fence(world, fence);
	return status;
}

/* ---- contexts ---- */

static NTSTATUS destroy_context(struct world *world, D3DKMT_HANDLE context)
{
	D3DKMT_DESTROYCONTEXT args = { context };

	return CALL(world, D3DKMTDestroyContext(&args));
}

static NTSTATUS create_virtual(struct world *world, const struct script_statement *statement,
			       D3DKMT_HANDLE *context_out)
{
	uint32_t wishes = statement->options & OPTION_STUBBORN ? DXGK_EXERCISER_STUBBORN : 0;
	unsigned char data[EXERCISER_DATA_MAX];
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = world_thing(world, statement->by)->handle,
					     .NodeOrdinal = (UINT)statement->number };

	args.PrivateDriverDataSize =
		exerciser_context(&world->exerciser, args.NodeOrdinal, wishes, data);
	args.pPrivateDriverData = args.PrivateDriverDataSize > 0 ? data : NULL;
	NTSTATUS status = CALL(world, D3DKMTCreateContextVirtual(&args));
	*context_out = args.hContext;
	return status;
}

static NTSTATUS create_with_lists(struct world *world, const struct script_statement *statement,
				  D3DKMT_HANDLE *context_out)
{
	uint32_t wishes = statement->options & OPTION_STUBBORN ? DXGK_EXERCISER_STUBBORN : 0;
	unsigned char data[EXERCISER_DATA_MAX];
	D3DKMT_CREATECONTEXT args = { .hDevice = world_thing(world, statement->by)->handle,
				      .NodeOrdinal = (UINT)statement->number };

	args.PrivateDriverDataSize =
		exerciser_context(&world->exerciser, args.NodeOrdinal, wishes, data);
	args.pPrivateDriverData = args.PrivateDriverDataSize > 0 ? data : NULL;
	NTSTATUS status = CALL(world, D3DKMTCreateContext(&args));
	if (!NT_SUCCESS(status))
		return status;
	*context_out = args.hContext;
	world_thing(world, statement->name)->lists = (struct lists){
		.commands = args.pCommandBuffer,
		.command_bytes = args.CommandBufferSize,
		.allocations = args.pAllocationList,
		.allocation_capacity = args.AllocationListSize,
		.patches = args.pPatchLocationList,
		.patch_capacity = args.PatchLocationListSize,
	};
	return status;
}

NTSTATUS context_create(struct world *world, const struct script_statement *statement)
{
	struct thing *context = world_thing(world, statement->name);
	bool has_lists = (statement->options & OPTION_LIST) != 0;
	D3DKMT_HANDLE handle;
	NTSTATUS status = has_lists ? create_with_lists(world, statement, &handle)
				    : create_virtual(world, statement, &handle);

	if (!NT_SUCCESS(status))
		return status;
	status = create_signed_ring(world, world_thing(world, statement->by), &context->ring,
				    !has_lists);
	if (!NT_SUCCESS(status)) {
		destroy_context(world, handle);
		return status;
	}
	context->handle = handle;
	context->is_there = true;
	return status;
}

/* ---- hardware queues ---- */

static NTSTATUS destroy_hw_context(struct world *world, D3DKMT_HANDLE context)
{
	D3DKMT_DESTROYHWCONTEXT args = { context };

	return CALL(world, D3DKMTDestroyHwContext(&args));
}

static NTSTATUS destroy_hw_queue(struct world *world, D3DKMT_HANDLE queue)
{
	D3DKMT_DESTROYHWQUEUE args = { queue };

	return CALL(world, D3DKMTDestroyHwQueue(&args));
}

static NTSTATUS create_hw_context(struct world *world, const struct script_statement *statement,
				  D3DKMT_HANDLE *context_out)
{
	unsigned char data[EXERCISER_DATA_MAX];
	D3DKMT_CREATEHWCONTEXT args = { .hDevice = world_thing(world, statement->by)->handle,
					.NodeOrdinal = (UINT)statement->number };

	args.PrivateDriverDataSize =
		exerciser_hw_context(&world->exerciser, args.NodeOrdinal, data);
	args.pPrivateDriverData = args.PrivateDriverDataSize > 0 ? data : NULL;
	NTSTATUS status = CALL(world, D3DKMTCreateHwContext(&args));
	*context_out = args.hHwContext;
	return status;
}

static NTSTATUS create_hw_queue(struct world *world, const struct script_statement *statement,
				D3DKMT_HANDLE context, D3DKMT_CREATEHWQUEUE *queue)
{
	unsigned char data[EXERCISER_DATA_MAX];

	*queue = (D3DKMT_CREATEHWQUEUE){ .hHwContext = context };
	queue->PrivateDriverDataSize =
		exerciser_hw_queue(&world->exerciser, (uint32_t)statement->number, data);
	queue->pPrivateDriverData = queue->PrivateDriverDataSize > 0 ? data : NULL;
	return CALL(world, D3DKMTCreateHwQueue(queue));
}

NTSTATUS context_create_hw_queue(struct world *world, const struct script_statement *statement)
{
	struct thing *thing = world_thing(world, statement->name);
	D3DKMT_CREATEHWQUEUE queue;
	D3DKMT_HANDLE context;
	NTSTATUS status = create_hw_context(world, statement, &context);

	if (!NT_SUCCESS(status))
		return status;
	status = create_hw_queue(world, statement, context, &queue);
	if (!NT_SUCCESS(status))
		goto destroy_context;
	status = create_ring(world, world_thing(world, statement->by), &thing->ring);
	if (!NT_SUCCESS(status))
		goto destroy_queue;
	thing->ring.fence = queue.hHwQueueProgressFence;
	thing->hw_context = context;
	thing->handle = queue.hHwQueue;
	thing->is_there = true;
	return status;

destroy_queue:
	destroy_hw_queue(world, queue.hHwQueue);
destroy_context:
	destroy_hw_context(world, context);
	return status;
}

/* ---- ended ---- */

/* Waits for what the hardware has, so nobody reads the ring after that. */
NTSTATUS context_destroy(struct world *world, uint32_t name)
{
	struct thing *context = world_thing(world, name);
	bool is_hw = world->script->names[name].kind == SCRIPT_HW_QUEUE;
	NTSTATUS status = is_hw ? destroy_hw_queue(world, context->handle)
				: destroy_context(world, context->handle);

	if (!NT_SUCCESS(status) || !atomic_exchange(&context->is_there, false))
		return status;
	if (is_hw)
		status = destroy_hw_context(world, context->hw_context);
	else
		(void)queue_destroy_fence(world, context->ring.fence);
	destroy_ring(world, world_client_of(world, name), &context->ring);
	return status;
}
