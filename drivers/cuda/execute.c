/* SPDX-License-Identifier: MIT */
/*
 * execute.c - packets.
 *
 *	cuda_run() reads the commands on the GPU, and comes back
 *	  done, preempted, aborted, faulted        … then the packet is
 *	  wanting something                        … which it gets, and is launched again where it was:
 *	    a long transfer       cuda_move(), by all of the GPU; both are launched at once
 *	    a piece of system memory                pieces.c
 *	    a kernel of the client's                dispatch.c
 *
 * Paging packets have another way (paging.c).
 *
 * Runs on the engine's thread at PASSIVE_LEVEL.
 */
#include "cuda.h"

/* A lost context answers nothing: the engine stands still until the adapter is reset. */
enum gpu_outcome cuda_stand_still(struct gpu_engine *engine)
{
	gpu_engine_set_stalled(engine, TRUE);
	gpu_engine_wait_for_abort(engine);
	return GPU_ABORTED;
}

static enum gpu_outcome report(const struct cuda_result *result, struct gpu_fault *fault_out)
{
	*fault_out = (struct gpu_fault){
		.status = (NTSTATUS)result->status,
		.address = result->address,
		.is_write = result->is_write != 0,
		.is_page_fault = result->is_page_fault != 0,
		.level = result->level,
	};
	return GPU_FAULTED;
}

static BOOLEAN launch_move(struct cuda_engine *engine)
{
	void *parameters[] = { &engine->device->world, &engine->state };

	return cuda_launch(engine, engine->device->move,
			   engine->device->processors * CUDA_MOVE_BLOCKS_PER_PROCESSOR,
			   CUDA_MOVE_THREADS, parameters, "cuLaunchKernel of cuda_move");
}

/* The driver's own kernels may go on with pieces of system memory meanwhile. */
static enum gpu_outcome serve_dispatch(struct gpu_engine *engine, struct gpu_packet *packet,
				       struct cuda_mail *mail, struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct softgpu_dispatch command;
	ULONG offset = (ULONG)cuda->result->offset;

	RtlCopyMemory(&command, cuda->result->command, sizeof(command));
	cuda_pieces_let_go(cuda->device);
	enum gpu_outcome outcome = cuda_dispatch(engine, packet, &command, fault_out);
	cuda_pieces_hold(cuda->device);
	if (cuda->device->is_lost)
		return cuda_stand_still(engine);
	if (outcome == GPU_PREEMPTED)
		packet->context->resume = (struct gpu_resume){ .is_valid = TRUE, .offset = offset };
	mail->flags |= CUDA_COMMAND_IS_DONE;
	return outcome;
}

/* What the kernel wants. GPU_DONE: it has it. */
static enum gpu_outcome serve(struct gpu_engine *engine, struct gpu_packet *packet,
			      struct cuda_mail *mail, struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct cuda_device *device = cuda->device;
	const struct cuda_result *result = cuda->result;

	mail->flags |= CUDA_GO_ON;
	mail->flags &= ~(ULONGLONG)CUDA_COMMAND_IS_DONE;
	switch (result->outcome) {
	case CUDA_WANTS_MOVE:
		return launch_move(cuda) ? GPU_DONE : cuda_stand_still(engine);
	case CUDA_WANTS_PIECE:
		cuda_pieces_let_go(device);
		BOOLEAN is_made = cuda_piece_make(device, result->address);
		cuda_pieces_hold(device);
		if (is_made)
			return GPU_DONE;
		if (device->is_lost)
			return cuda_stand_still(engine);
		*fault_out = (struct gpu_fault){ .status = STATUS_INSUFFICIENT_RESOURCES,
						 .address = result->address };
		return GPU_FAULTED;
	default: /* CUDA_WANTS_DRIVER */
		return serve_dispatch(engine, packet, mail, fault_out);
	}
}

enum gpu_outcome cuda_execute(struct gpu_engine *engine, struct gpu_packet *packet,
			      struct cuda_mail *mail, struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct gpu_context *context = packet->context;

	for (;;) {
		const struct cuda_result *result = cuda->result;

		if (!cuda_send(cuda, mail) || !cuda_wait(engine, packet))
			return cuda_stand_still(engine);
		switch (result->outcome) {
		case CUDA_DONE:
		case CUDA_ABORTED:
		case CUDA_PREEMPTED:
		case CUDA_FAULTED:
			InterlockedExchangeAdd64(&engine->bytes_written,
						 (LONG64)result->bytes_written);
			InterlockedExchangeAdd64(&engine->entries_written,
						 (LONG64)result->entries_written);
			if (result->outcome == CUDA_FAULTED)
				return report(result, fault_out);
			if (result->outcome == CUDA_PREEMPTED && context)
				context->resume = (struct gpu_resume){
					.is_valid = TRUE,
					.offset = (ULONG)result->offset,
					.progress = result->progress,
				};
			return result->outcome == CUDA_DONE      ? GPU_DONE
			       : result->outcome == CUDA_ABORTED ? GPU_ABORTED
								 : GPU_PREEMPTED;
		default: {
			enum gpu_outcome outcome = serve(engine, packet, mail, fault_out);

			if (outcome != GPU_DONE)
				return outcome;
		}
		}
	}
}

enum gpu_outcome gpu_hw_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct cuda_device *device = cuda->device;
	struct gpu_context *context = packet->context;
	struct gpu_resume resume = { 0 };

	if (packet->is_empty)
		return GPU_DONE;
	if (!cuda_engine_ready(cuda))
		return cuda_stand_still(engine);
	if (packet->is_paging)
		return cuda_paging_begin(engine, packet, fault_out);
	if (cuda_is_flying(cuda))
		return GPU_BUSY;
	if (context) {
		if (packet->is_resubmission)
			resume = context->resume;
		/* Queues of a hardware context run side by side, and are not preempted. */
		if (!engine->hw_queue)
			context->resume.is_valid = FALSE;
	}
	struct cuda_mail mail = {
		.ticket = ++cuda->ticket,
		.flags = context && context->is_virtual ? CUDA_IS_VIRTUAL : 0,
		.root_segment = context ? context->root.segment : 0,
		.root_entries = context ? context->root.entry_count : 0,
		.root_offset = context ? context->root.offset : 0,
		.buffer_segment = packet->buffer.segment,
		.buffer_offset = packet->buffer.offset,
		.size_bytes = packet->size_bytes,
		.offset = resume.is_valid ? resume.offset : 0,
		.progress = resume.is_valid ? resume.progress : 0,
	};
	cuda_pieces_hold(device);
	enum gpu_outcome outcome = cuda_execute(engine, packet, &mail, fault_out);
	cuda_pieces_let_go(device);
	return outcome;
}

enum gpu_outcome gpu_hw_reap(struct gpu_engine *engine, struct gpu_packet *packet,
			     struct gpu_fault *fault_out)
{
	return cuda_paging_reap(engine);
}
