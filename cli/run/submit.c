/* SPDX-License-Identifier: MIT */
/*
 * submit.c - commands for the GPU: written by the exerciser, handed over, and signed, so that somebody can wait for them.
 *
 *	context         a slot of its ring       D3DKMTSubmitCommand            a signal behind it
 *	… with lists    the buffer it was given  D3DKMTRender                   likewise
 *	hardware queue  a slot of its ring       D3DKMTSubmitCommandToHwQueue   its progress fence
 */
#include <string.h>

#include "cli/run/world.h"

uint64_t submit_address_of(struct world *world, const struct script_address *address)
{
	uint64_t base =
		address->name == SCRIPT_NO_NAME ? 0 : world_thing(world, address->name)->address;

	return base + address->offset;
}

/* ---- commands ---- */

/* Of one submission. */
struct buffer {
	unsigned char *bytes;
	uint32_t capacity;
	uint32_t used;

	/* With lists. */
	struct lists *lists;
	uint32_t allocation_count;
	uint32_t patch_count;
};

/* The entry of the allocation list that stands for it; one more where there is none. */
static bool list_allocation(struct world *world, struct buffer *buffer, uint32_t name,
			    bool is_written, uint32_t *index_out)
{
	D3DKMT_HANDLE handle = world_thing(world, name)->handle;
	D3DDDI_ALLOCATIONLIST *entries = buffer->lists->allocations;
	uint32_t i = 0;

	while (i < buffer->allocation_count && entries[i].hAllocation != handle)
		i++;
	if (i == buffer->lists->allocation_capacity)
		return false;
	if (i == buffer->allocation_count) {
		entries[i] = (D3DDDI_ALLOCATIONLIST){ .hAllocation = handle };
		buffer->allocation_count++;
	}
	if (is_written)
		entries[i].WriteOperation = 1;
	*index_out = i;
	return true;
}

static bool list_both(struct world *world, const struct script_command *command,
		      struct buffer *buffer, struct exercise *exercise)
{
	exercise->to = command->to.offset;
	exercise->from = command->from.offset;
	return (command->to.name == SCRIPT_NO_NAME ||
		list_allocation(world, buffer, command->to.name, true, &exercise->to_index)) &&
	       (command->from.name == SCRIPT_NO_NAME ||
		list_allocation(world, buffer, command->from.name, false, &exercise->from_index));
}

static void keep_patches(struct buffer *buffer, const struct dxgk_exerciser_patches *patches)
{
	for (uint32_t i = 0; i < patches->count; i++) {
		const struct dxgk_exerciser_patch *patch = &patches->patches[i];
		buffer->lists->patches[buffer->patch_count++] = (D3DDDI_PATCHLOCATIONLIST){
			.AllocationIndex = patch->allocation_index,
			.Value = patch->slot_id & 0xffffff,
			.DriverId = patch->driver_id,
			.AllocationOffset = patch->allocation_offset,
			.PatchOffset = patch->patch_offset,
			.SplitOffset = patch->split_offset,
		};
	}
}

static uint32_t write_with_lists(struct world *world, const struct script_command *command,
				 struct buffer *buffer, struct exercise *exercise)
{
	enum { MOST_PATCHES = 16 };
	struct dxgk_exerciser_patch storage[MOST_PATCHES];
	struct dxgk_exerciser_patches patches = { storage, MOST_PATCHES, 0 };

	if (buffer->lists->patch_capacity - buffer->patch_count < MOST_PATCHES)
		patches.room = buffer->lists->patch_capacity - buffer->patch_count;
	if (!list_both(world, command, buffer, exercise))
		return 0;
	uint32_t written =
		exerciser_command(&world->exerciser, exercise, buffer->bytes + buffer->used,
				  buffer->capacity - buffer->used, buffer->used, &patches);
	if (written > 0 && patches.count <= patches.room)
		keep_patches(buffer, &patches);
	return written;
}

/* False: the driver has no such command, and the script relies on it. */
static bool encode_one(struct world *world, const struct script_command *command,
		       struct buffer *buffer)
{
	struct exercise exercise = {
		.opcode = command->opcode,
		.to = submit_address_of(world, &command->to),
		.from = submit_address_of(world, &command->from),
		.size_bytes = command->size_bytes,
		.value = command->value,
		.is_write = command->is_write,
	};
	uint32_t written = buffer->lists ? write_with_lists(world, command, buffer, &exercise)
					 : exerciser_command(&world->exerciser, &exercise,
							     buffer->bytes + buffer->used,
							     buffer->capacity - buffer->used,
							     buffer->used, NULL);

	buffer->used += written;
	return written > 0 || exercise_is_idle(command->opcode);
}

MUST_CHECK static bool encode(struct world *world, const struct script_statement *statement,
			      struct buffer *buffer, struct outcome *outcome)
{
	for (uint32_t i = 0; i < statement->command_count; i++) {
		if (encode_one(world, &statement->commands[i], buffer))
			continue;
		outcome_leave_out(outcome,
				  "the exerciser has nothing for command %u, or it does not fit "
				  "into %u bytes",
				  i + 1, buffer->capacity);
		return false;
	}
	if (buffer->used == 0)
		outcome_leave_out(outcome, "the exerciser has nothing for any of its commands");
	return buffer->used > 0;
}

/* ---- handing over ---- */

static NTSTATUS submit_virtual(struct world *world, struct thing *context, uint64_t address,
			       uint32_t size_bytes)
{
	unsigned char data[EXERCISER_DATA_MAX];
	D3DKMT_SUBMITCOMMAND args = { .Commands = address,
				      .CommandLength = size_bytes,
				      .BroadcastContextCount = 1 };

	args.PrivateDriverDataSize =
		exerciser_submission(&world->exerciser, false, address, size_bytes, data);
	args.pPrivateDriverData = args.PrivateDriverDataSize > 0 ? data : NULL;
	args.BroadcastContext[0] = context->handle;
	return CALL(world, D3DKMTSubmitCommand(&args));
}

static NTSTATUS submit_to_hw_queue(struct world *world, struct thing *queue, uint64_t address,
				   uint32_t size_bytes)
{
	unsigned char data[EXERCISER_DATA_MAX];
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = { .hHwQueue = queue->handle,
					       .HwQueueProgressFenceId = queue->ring.submitted + 1,
					       .CommandBuffer = address,
					       .CommandLength = size_bytes };

	args.PrivateDriverDataSize =
		exerciser_submission(&world->exerciser, true, address, size_bytes, data);
	args.pPrivateDriverData = args.PrivateDriverDataSize > 0 ? data : NULL;
	return CALL(world, D3DKMTSubmitCommandToHwQueue(&args));
}

/* What it is to be given next it says with each. */
static NTSTATUS render(struct world *world, struct thing *context, const struct buffer *buffer)
{
	struct lists *lists = &context->lists;
	D3DKMT_RENDER args = { .hContext = context->handle,
			       .CommandLength = buffer->used,
			       .AllocationCount = buffer->allocation_count,
			       .PatchLocationCount = buffer->patch_count };
	NTSTATUS status = CALL(world, D3DKMTRender(&args));

	if (!NT_SUCCESS(status))
		return status;
	*lists = (struct lists){
		.commands = args.pNewCommandBuffer,
		.command_bytes = args.NewCommandBufferSize,
		.allocations = args.pNewAllocationList,
		.allocation_capacity = args.NewAllocationListSize,
		.patches = args.pNewPatchLocationList,
		.patch_capacity = args.NewPatchLocationListSize,
	};
	return status;
}

static NTSTATUS hand_over(struct world *world, struct thing *context, uint64_t address,
			  const struct buffer *buffer)
{
	if (buffer->lists)
		return render(world, context, buffer);
	return context->hw_context ? submit_to_hw_queue(world, context, address, buffer->used)
				   : submit_virtual(world, context, address, buffer->used);
}

/* The commands may cost the device before the signal behind them is queued; a wait will tell. */
static NTSTATUS sign(struct world *world, struct thing *context)
{
	struct ring *ring = &context->ring;
	NTSTATUS status = STATUS_SUCCESS;

	if (!context->hw_context)
		status = queue_signal_gpu(world, context, ring->fence, ring->submitted);
	if (status == STATUS_DEVICE_REMOVED)
		status = STATUS_SUCCESS;
	if (NT_SUCCESS(status))
		ring->signed_value = ring->submitted;
	return status;
}

/* ---- a submission ---- */

/* A slot that the GPU no longer reads, and a context that comes after what memory has to do. */
static NTSTATUS prepare(struct world *world, struct thing *client, struct thing *context)
{
	struct ring *ring = &context->ring;
	uint64_t paging_value = client->paging_value;
	NTSTATUS status = STATUS_SUCCESS;

	if (ring->buffer != 0 && ring->submitted >= RING_SLOTS)
		status = queue_wait_cpu(world, client, ring->fence,
					ring->submitted - RING_SLOTS + 1);
	if (!NT_SUCCESS(status) || paging_value <= ring->paging_value)
		return status;
	status = queue_wait_gpu(world, context, client->paging_fence, paging_value);
	if (NT_SUCCESS(status))
		ring->paging_value = paging_value;
	return status;
}

/* Where the commands go; the buffer is as large as its context has it. */
static uint64_t find_buffer(struct thing *context, bool has_lists, struct buffer *buffer)
{
	struct ring *ring = &context->ring;
	uint64_t slot = ring->submitted % RING_SLOTS * ring->slot_bytes;

	if (has_lists)
		*buffer = (struct buffer){ .bytes = context->lists.commands,
					   .capacity = context->lists.command_bytes,
					   .lists = &context->lists };
	else
		*buffer = (struct buffer){ .bytes = ring->bytes + slot,
					   .capacity = ring->slot_bytes };
	return ring->address + slot;
}

void submit_leave_gap(struct world *world, const struct script_statement *statement)
{
	world_client_of(world, statement->name)->has_gaps = true;
	for (uint32_t i = 0; i < statement->command_count; i++) {
		if (statement->commands[i].to.name != SCRIPT_NO_NAME)
			world_thing(world, statement->commands[i].to.name)->is_unknown = true;
	}
}

static bool write_commands(struct world *world, const struct script_statement *statement,
			   const struct submit_change *change, uint64_t address,
			   struct buffer *buffer, struct outcome *outcome)
{
	struct thing *client = world_client_of(world, statement->name);

	if (!client_touch(client)) {
		outcome_leave_out(outcome, "its client was killed");
		return false;
	}
	if (encode(world, statement, buffer, outcome) && !change && !buffer->lists)
		buffer->used += proof_add(world, world_thing(world, statement->name), address,
					  buffer->bytes, buffer->capacity, buffer->used);
	if (change) {
		outcome->is_left_out = false;
		change->change(change->context, buffer->bytes, buffer->capacity, &buffer->used);
	}
	client_touch_end(client);
	return !outcome->is_left_out;
}

void submit_changed(struct world *world, const struct script_statement *statement,
		    const struct submit_change *change, struct outcome *outcome)
{
	enum { SOME_BYTES = 8 };
	struct thing *context = world_thing(world, statement->name);
	bool has_lists = world->script->names[statement->name].has_lists;
	struct buffer buffer;

	if (!context->is_there) {
		/* The kernel looks at nothing but the handle. */
		buffer = (struct buffer){ .used = SOME_BYTES,
					  .lists = has_lists ? &context->lists : NULL };
		outcome->status = hand_over(world, context, context->ring.address, &buffer);
		return;
	}
	if (!has_lists && context->ring.buffer == 0) {
		outcome_leave_out(outcome, "there is no exerciser for the driver");
		return;
	}
	outcome->status = prepare(world, world_client_of(world, statement->name), context);
	if (!NT_SUCCESS(outcome->status))
		return;
	uint64_t address = find_buffer(context, has_lists, &buffer);
	if (!write_commands(world, statement, change, address, &buffer, outcome))
		return;
	outcome->status = hand_over(world, context, address, &buffer);
	if (!NT_SUCCESS(outcome->status)) {
		proof_take_back(world, &context->ring);
		return;
	}
	context->ring.submitted++;
	outcome->status = sign(world, context);
}

void submit_do(struct world *world, const struct script_statement *statement,
	       struct outcome *outcome)
{
	submit_changed(world, statement, NULL, outcome);
}
