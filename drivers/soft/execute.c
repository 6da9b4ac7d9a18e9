/* SPDX-License-Identifier: MIT */
/*
 * execute.c - what an engine does with one packet.
 *
 *   in:   a packet: where its commands are, whose context it belongs to
 *   out:  done; or preempted, with the place to go on in the context; or aborted; or why it faulted
 *
 * Long commands work in steps and look up between them (transfer.c); how they find memory says
 * reach.c. Runs on the engine's thread at PASSIVE_LEVEL.
 */
#include "soft.h"

enum {
	FETCH_BYTES = 64, /* holds every command but padding, of which the header is enough */
};
C_ASSERT(sizeof(struct gpu_paging_mdl_copy) <= FETCH_BYTES);

struct run {
	struct gpu_engine *engine;
	struct gpu_packet *packet;
	const struct gpu_memory *memory;
	struct soft_reach reach;
	ULONGLONG progress; /* of the command in progress: bytes, or 100 ns units */
	struct gpu_fault *fault;
	/* For the counts of the engine. */
	ULONGLONG bytes_written;
	ULONGLONG entries_written;
};

/* ---- addresses ---- */

static enum gpu_outcome fail(struct run *run, NTSTATUS status, ULONGLONG address, BOOLEAN is_write)
{
	*run->fault = (struct gpu_fault){
		.status = status,
		.address = address,
		.is_write = is_write,
	};
	return GPU_FAULTED;
}

static BOOLEAN open_place(struct run *run, const struct gpu_place *place, ULONGLONG wanted,
			  BOOLEAN is_write, struct soft_window *window_out)
{
	return soft_reach_open(&run->reach, place, run->progress, wanted, is_write, window_out,
			       run->fault);
}

/* An operand of a client's command: virtual as it stands, physical after it was patched. */
static BOOLEAN find_place(struct run *run, const union softgpu_address *address, BOOLEAN is_write,
			  struct gpu_place *place_out)
{
	struct gpu_context *context = run->packet->context;

	if (context && context->is_virtual) {
		*place_out = (struct gpu_place){ .segment = GPU_PLACE_VIRTUAL,
						 .offset = address->virtual_address };
		return TRUE;
	}
	if (gpu_memory_decode(run->memory, address->virtual_address, place_out))
		return TRUE;
	fail(run, STATUS_ACCESS_VIOLATION, address->virtual_address, is_write);
	return FALSE;
}

/* ---- moving bytes ---- */

static ULONGLONG least(ULONGLONG a, ULONGLONG b)
{
	return a < b ? a : b;
}

static enum gpu_outcome transfer(struct run *run, const struct soft_transfer *transfer)
{
	ULONGLONG before = run->progress;
	enum gpu_outcome outcome = soft_transfer(run->engine, run->packet, &run->reach, transfer,
						 &run->progress, run->fault);

	run->bytes_written += run->progress - before;
	return outcome;
}

static enum gpu_outcome fill(struct run *run, const struct gpu_place *destination,
			     ULONGLONG size_bytes, ULONG pattern)
{
	const struct soft_transfer all = { .is_fill = TRUE,
					   .pattern = pattern,
					   .destination = *destination,
					   .size_bytes = size_bytes };

	return transfer(run, &all);
}

static enum gpu_outcome copy(struct run *run, const struct gpu_place *destination,
			     const struct gpu_place *source, ULONGLONG size_bytes)
{
	const struct soft_transfer all = { .destination = *destination,
					   .source = *source,
					   .size_bytes = size_bytes };

	return transfer(run, &all);
}

static enum gpu_outcome write64(struct run *run, const struct gpu_place *destination,
				ULONGLONG value)
{
	struct soft_window window;

	if (!open_place(run, destination, sizeof(value), TRUE, &window))
		return GPU_FAULTED;
	if (window.bytes)
		InterlockedExchange64((volatile LONG64 *)window.bytes, (LONG64)value);
	run->bytes_written += sizeof(value);
	soft_window_close(&window);
	return GPU_DONE;
}

/* The MDL is locked, mapped on first need, and the kernel's to unmap. */
static enum gpu_outcome copy_mdl(struct run *run, const struct gpu_paging_mdl_copy *command)
{
	PMDL mdl = (PMDL)(ULONG_PTR)command->mdl;
	PUCHAR pages = mdl ? MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority) : NULL;

	if (!pages)
		return fail(run, STATUS_NO_MEMORY, 0, FALSE);
	const struct gpu_place mdl_side = { .segment = GPU_PLACE_POINTER,
					    .offset = (ULONGLONG)(ULONG_PTR)pages +
						      command->mdl_offset_bytes };
	if (command->is_to_mdl)
		return copy(run, &mdl_side, &command->segment_side, command->size_bytes);
	return copy(run, &command->segment_side, &mdl_side, command->size_bytes);
}

/* Page-table or aperture entries, each with one store, so that a walk sees the old or the new. */
static enum gpu_outcome write_entries(struct run *run, const struct gpu_paging_entries *command)
{
	ULONGLONG size_bytes = command->count * sizeof(ULONGLONG);
	ULONGLONG value = command->value + run->progress / sizeof(ULONGLONG) * command->stride;

	if (command->table.segment == GPU_PLACE_APERTURE_TABLE) {
		ULONGLONG *entries = soft_memory_of(run->memory)->aperture + command->table.offset;

		for (ULONGLONG i = 0; i < command->count; i++, value += command->stride)
			gpu_entry_store(&entries[i], value);
		run->entries_written += command->count;
		return GPU_DONE;
	}
	while (run->progress < size_bytes) {
		struct soft_window window;

		if (!open_place(run, &command->table, size_bytes - run->progress, TRUE, &window))
			return GPU_FAULTED;
		ULONGLONG *entries = (ULONGLONG *)window.bytes;
		ULONGLONG count = window.size_bytes / sizeof(ULONGLONG);
		for (ULONGLONG i = 0; entries && i < count; i++, value += command->stride)
			gpu_entry_store(&entries[i], value);
		run->progress += window.size_bytes;
		run->entries_written += count;
		soft_window_close(&window);
	}
	return GPU_DONE;
}

/* ---- occupying the engine ---- */

static enum gpu_outcome busy(struct run *run, ULONGLONG microseconds)
{
	const ULONGLONG total = microseconds * 10; /* 100 ns units */
	ULONGLONG start = KeQueryInterruptTimePrecise(NULL) - run->progress;

	for (;;) {
		LARGE_INTEGER timeout;

		enum gpu_outcome outcome = gpu_check_attention(run->engine, run->packet);
		run->progress = KeQueryInterruptTimePrecise(NULL) - start;
		if (run->progress >= total)
			return GPU_DONE;
		if (outcome != GPU_DONE)
			return outcome;
		timeout.QuadPart = -(LONGLONG)(total - run->progress);
		KeWaitForSingleObject(&run->engine->control, Executive, KernelMode, FALSE,
				      &timeout);
	}
}

static enum gpu_outcome hang(struct run *run)
{
	struct gpu_engine *engine = run->engine;
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	engine->is_stalled = TRUE;
	KeReleaseSpinLock(&engine->lock, irql);
	while (gpu_check_attention(run->engine, run->packet) != GPU_ABORTED)
		KeWaitForSingleObject(&engine->control, Executive, KernelMode, FALSE, NULL);
	return GPU_ABORTED;
}

static enum gpu_outcome loop(struct run *run)
{
	enum gpu_outcome outcome;

	while ((outcome = gpu_check_attention(run->engine, run->packet)) == GPU_DONE)
		KeWaitForSingleObject(&run->engine->control, Executive, KernelMode, FALSE, NULL);
	return outcome;
}

/* ---- commands ---- */

static enum gpu_outcome execute_command(struct run *run, ULONG opcode, const UCHAR *bytes)
{
	struct gpu_place destination;
	struct gpu_place source;

	switch (opcode) {
	case SOFTGPU_NOP:
		return GPU_DONE;
	case SOFTGPU_FILL: {
		const struct softgpu_fill *command = (const struct softgpu_fill *)bytes;

		if (!find_place(run, &command->destination, TRUE, &destination))
			return GPU_FAULTED;
		return fill(run, &destination, command->size_bytes, command->pattern);
	}
	case SOFTGPU_COPY: {
		const struct softgpu_copy *command = (const struct softgpu_copy *)bytes;

		if (!find_place(run, &command->destination, TRUE, &destination) ||
		    !find_place(run, &command->source, FALSE, &source))
			return GPU_FAULTED;
		return copy(run, &destination, &source, command->size_bytes);
	}
	case SOFTGPU_WRITE64: {
		const struct softgpu_write64 *command = (const struct softgpu_write64 *)bytes;

		if (!find_place(run, &command->destination, TRUE, &destination))
			return GPU_FAULTED;
		return write64(run, &destination, command->value);
	}
	case SOFTGPU_BUSY:
		return busy(run, ((const struct softgpu_busy *)bytes)->microseconds);
	case SOFTGPU_HANG:
		return hang(run);
	case SOFTGPU_LOOP:
		return loop(run);
	case SOFTGPU_FAULT: {
		const struct softgpu_fault *command = (const struct softgpu_fault *)bytes;

		fail(run, STATUS_ACCESS_VIOLATION, command->address, command->is_write != 0);
		run->fault->is_page_fault =
			run->packet->context && run->packet->context->is_virtual;
		return GPU_FAULTED;
	}
	case SOFTGPU_DISPATCH: /* a processor has no PTX */
		return fail(run, STATUS_NOT_SUPPORTED,
			    ((const struct softgpu_dispatch *)bytes)->arguments, FALSE);
	case GPU_PAGING_FILL: {
		const struct gpu_paging_fill *command = (const struct gpu_paging_fill *)bytes;

		return fill(run, &command->destination, command->size_bytes, command->pattern);
	}
	case GPU_PAGING_COPY: {
		const struct gpu_paging_copy *command = (const struct gpu_paging_copy *)bytes;

		return copy(run, &command->destination, &command->source, command->size_bytes);
	}
	case GPU_PAGING_MDL_COPY:
		return copy_mdl(run, (const struct gpu_paging_mdl_copy *)bytes);
	default: /* The decoder let nothing else through. */
		return write_entries(run, (const struct gpu_paging_entries *)bytes);
	}
}

/* Copies the start of the next command out of the buffer, where the client could still change it.
 */
static BOOLEAN fetch(struct run *run, ULONG offset, UCHAR *bytes)
{
	ULONG wanted = (ULONG)least(run->packet->size_bytes - offset, FETCH_BYTES);
	struct gpu_place place = run->packet->buffer;

	RtlZeroMemory(bytes, FETCH_BYTES);
	run->progress = 0;
	place.offset += offset;
	while (run->progress < wanted) {
		struct soft_window window;

		if (!open_place(run, &place, wanted - run->progress, FALSE, &window))
			return FALSE;
		if (window.bytes)
			RtlCopyMemory(bytes + run->progress, window.bytes, window.size_bytes);
		run->progress += window.size_bytes;
		soft_window_close(&window);
	}
	return TRUE;
}

/* Paging and the kernel's own contexts speak the driver's language in any case. */
static BOOLEAN is_intel(const struct run *run)
{
	const struct gpu_context *context = run->packet->context;

	return run->engine->adapter->settings.commands == SOFTGPU_COMMANDS_INTEL && context &&
	       context->is_virtual && !context->is_system && !run->packet->is_paging;
}

/* The client's own fence (softgpu_fenced_submission). */
static enum gpu_outcome store_fence(struct run *run)
{
	if (run->packet->fence_address == 0)
		return GPU_DONE;
	if (!soft_intel_store(&run->reach, run->packet->fence_address, run->packet->fence_value,
			      sizeof(run->packet->fence_value), run->fault))
		return GPU_FAULTED;
	run->bytes_written += sizeof(run->packet->fence_value);
	return GPU_DONE;
}

static enum gpu_outcome execute_packet(struct run *run)
{
	DECLSPEC_ALIGN(8) UCHAR bytes[FETCH_BYTES];
	struct gpu_packet *packet = run->packet;
	struct gpu_context *context = packet->context;
	struct gpu_resume resume = { 0 };

	if (packet->is_empty)
		return GPU_DONE;
	if (is_intel(run))
		return soft_intel_execute(run->engine, packet, &run->reach, &run->bytes_written,
					  run->fault);
	if (context) {
		if (packet->is_resubmission)
			resume = context->resume;
		/* Queues of a hardware context run side by side, and are not preempted. */
		if (!run->engine->hw_queue)
			context->resume.is_valid = FALSE;
	}

	ULONG offset = resume.is_valid ? resume.offset : 0;
	while (offset < packet->size_bytes) {
		struct gpu_command command;

		enum gpu_outcome outcome = gpu_check_attention(run->engine, run->packet);
		run->progress = 0;
		if (outcome == GPU_DONE) {
			if (!fetch(run, offset, bytes))
				return GPU_FAULTED;
			NTSTATUS status = gpu_command_decode(bytes, packet->size_bytes - offset,
							     packet->is_paging, &command);
			if (NT_SUCCESS(status) && !gpu_command_is_aligned(&command, bytes))
				status = STATUS_DATATYPE_MISALIGNMENT;
			if (!NT_SUCCESS(status))
				return fail(run, status, packet->buffer.offset + offset, FALSE);
			run->progress = resume.is_valid ? resume.progress : 0;
			outcome = execute_command(run, command.opcode, bytes);
		} else if (resume.is_valid) {
			run->progress = resume.progress; /* preempted again before it could go on */
		}
		if (outcome == GPU_PREEMPTED && context)
			context->resume = (struct gpu_resume){ .is_valid = TRUE,
							       .offset = offset,
							       .progress = run->progress };
		if (outcome != GPU_DONE)
			return outcome;
		resume.is_valid = FALSE;
		offset += command.size_bytes;
	}
	return GPU_DONE;
}

enum gpu_outcome gpu_hw_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				struct gpu_fault *fault_out)
{
	struct run run = {
		.engine = engine,
		.packet = packet,
		.memory = &engine->adapter->memory,
		.reach.adapter = engine->adapter,
		.fault = fault_out,
	};
	if (packet->context)
		run.reach.root = packet->context->root;
	enum gpu_outcome outcome = execute_packet(&run);
	if (outcome == GPU_DONE)
		outcome = store_fence(&run);

	InterlockedExchangeAdd64(&engine->bytes_written, (LONG64)run.bytes_written);
	InterlockedExchangeAdd64(&engine->entries_written, (LONG64)run.entries_written);
	return outcome;
}

/* The processor has executed a packet when it comes back with it: none is ever under way. */
enum gpu_outcome gpu_hw_reap(struct gpu_engine *engine, struct gpu_packet *packet,
			     struct gpu_fault *fault_out)
{
	return GPU_ABORTED;
}
