/* SPDX-License-Identifier: MIT */
/*
 * submit.c - commands for the GPU: written by the exerciser into a slot of the context's ring, handed over, and signed, so
 * that somebody can wait for them.
 */
#include <string.h>

#include "cli/run/world.h"

uint64_t submit_address_of(struct world *world, const struct script_place *place)
{
	uint64_t base =
		place->name == SCRIPT_NO_NAME ? 0 : world_thing(world, place->name)->address;

	return base + place->offset;
}

/* ---- commands ---- */

struct buffer {
	unsigned char *bytes;
	uint32_t room;
	uint32_t used;
};

/* False: the driver has no such command, and the script relies on it. */
static bool encode_one(struct world *world, const struct script_command *command,
		       struct buffer *buffer)
{
	const struct exercise exercise = {
		.opcode = command->opcode,
		.to = submit_address_of(world, &command->to),
		.from = submit_address_of(world, &command->from),
		.size_bytes = command->size_bytes,
		.value = command->value,
		.is_write = command->is_write,
	};
	uint32_t written =
		exerciser_command(&world->exerciser, &exercise, buffer->bytes + buffer->used,
				  buffer->room - buffer->used, buffer->used, NULL);

	buffer->used += written;
	return written > 0 || exercise_is_idle(command->opcode);
}

static bool encode(struct world *world, const struct script_statement *statement,
		   struct buffer *buffer, struct outcome *outcome)
{
	for (uint32_t i = 0; i < statement->command_count; i++) {
		if (encode_one(world, &statement->commands[i], buffer))
			continue;
		outcome_leave_out(outcome,
				  "the exerciser has nothing for command %u, or it does not fit "
				  "into %u bytes",
				  i + 1, buffer->room);
		return false;
	}
	if (buffer->used == 0)
		outcome_leave_out(outcome, "the exerciser has nothing for any of its commands");
	return buffer->used > 0;
}

/* ---- the ring ---- */

/* A slot that the GPU no longer reads, and a context that comes after what memory has to do. */
static NTSTATUS prepare(struct world *world, struct thing *client, struct thing *context)
{
	struct ring *ring = &context->ring;
	uint64_t paging_value = client->paging_value;
	NTSTATUS status = STATUS_SUCCESS;

	if (ring->submitted >= RING_SLOTS)
		status = queue_wait_cpu(world, client, ring->fence,
					ring->submitted - RING_SLOTS + 1);
	if (!NT_SUCCESS(status) || paging_value <= ring->paging_value)
		return status;
	status = queue_wait_gpu(world, context, client->paging_fence, paging_value);
	if (NT_SUCCESS(status))
		ring->paging_value = paging_value;
	return status;
}

static NTSTATUS hand_over(struct world *world, struct thing *context, uint64_t address,
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

/* The commands may cost the device before the signal behind them is queued; a wait will tell. */
static NTSTATUS sign(struct world *world, struct thing *context)
{
	NTSTATUS status =
		queue_signal_gpu(world, context, context->ring.fence, context->ring.submitted);

	return status == STATUS_DEVICE_REMOVED ? STATUS_SUCCESS : status;
}

/* What would have been written is not known from now on, nor how its client fares. */
static void leave_gap(struct world *world, const struct script_statement *statement)
{
	world_client_of(world, statement->name)->has_gaps = true;
	for (uint32_t i = 0; i < statement->command_count; i++) {
		if (statement->commands[i].to.name != SCRIPT_NO_NAME)
			world_thing(world, statement->commands[i].to.name)->is_unknown = true;
	}
}

static void submit(struct world *world, const struct script_statement *statement,
		   struct outcome *outcome)
{
	enum { SOME_BYTES = 8 };
	struct thing *context = world_thing(world, statement->name);
	struct ring *ring = &context->ring;
	uint64_t slot = ring->submitted % RING_SLOTS * ring->slot_bytes;
	struct buffer buffer = { .room = ring->slot_bytes };

	if (!context->is_there) {
		/* The kernel looks at nothing but the handle. */
		outcome->status = hand_over(world, context, ring->address, SOME_BYTES);
		return;
	}
	if (ring->buffer == 0) {
		outcome_leave_out(outcome, "there is no exerciser for the driver");
		return;
	}
	outcome->status = prepare(world, world_client_of(world, statement->name), context);
	if (!NT_SUCCESS(outcome->status))
		return;
	buffer.bytes = ring->bytes + slot;
	if (!encode(world, statement, &buffer, outcome))
		return;
	outcome->status = hand_over(world, context, ring->address + slot, buffer.used);
	if (!NT_SUCCESS(outcome->status))
		return;
	ring->submitted++;
	outcome->status = sign(world, context);
}

void submit_do(struct world *world, const struct script_statement *statement,
	       struct outcome *outcome)
{
	submit(world, statement, outcome);
	if (outcome->is_left_out)
		leave_gap(world, statement);
}
