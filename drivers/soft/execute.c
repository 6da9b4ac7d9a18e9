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
C_ASSERT(sizeof(struct soft_paging_mdl_copy) <= FETCH_BYTES);

struct run {
	struct soft_engine *engine;
	struct soft_packet *packet;
	const struct soft_memory *memory;
	struct soft_reach reach;
	ULONGLONG progress; /* of the command in progress: bytes, or 100 ns units */
	struct soft_fault *fault;
	/* For the counts of the engine. */
	ULONGLONG bytes_written;
	ULONGLONG entries_written;
};

/* ---- addresses ---- */

static enum soft_outcome fail(struct run *run, NTSTATUS status, ULONGLONG address, BOOLEAN is_write)
{
	*run->fault = (struct soft_fault){
		.status = status,
		.address = address,
		.is_write = is_write,
	};
	return SOFT_FAULTED;
}

static BOOLEAN open_place(struct run *run, const struct soft_place *place, ULONGLONG wanted,
			  BOOLEAN is_write, struct soft_window *window_out)
{
	return soft_reach_open(&run->reach, place, run->progress, wanted, is_write, window_out,
			       run->fault);
}

/* An operand of a client's command: virtual as it stands, physical after it was patched. */
static BOOLEAN find_place(struct run *run, const union softgpu_address *address, BOOLEAN is_write,
			  struct soft_place *place_out)
{
	struct soft_context *context = run->packet->context;

	if (context && context->is_virtual) {
		*place_out = (struct soft_place){ .segment = SOFT_PLACE_VIRTUAL,
						  .offset = address->virtual_address };
		return TRUE;
	}
	if (soft_memory_decode(run->memory, address->virtual_address, place_out))
		return TRUE;
	fail(run, STATUS_ACCESS_VIOLATION, address->virtual_address, is_write);
	return FALSE;
}

/* ---- moving bytes ---- */

static ULONGLONG least(ULONGLONG a, ULONGLONG b)
{
	return a < b ? a : b;
}

static enum soft_outcome transfer(struct run *run, const struct soft_transfer *transfer)
{
	ULONGLONG before = run->progress;
	enum soft_outcome outcome = soft_transfer(run->engine, run->packet, &run->reach, transfer,
						  &run->progress, run->fault);

	run->bytes_written += run->progress - before;
	return outcome;
}

static enum soft_outcome fill(struct run *run, const struct soft_place *destination,
			      ULONGLONG size_bytes, ULONG pattern)
{
	const struct soft_transfer all = { .is_fill = TRUE,
					   .pattern = pattern,
					   .destination = *destination,
					   .size_bytes = size_bytes };

	return transfer(run, &all);
}

static enum soft_outcome copy(struct run *run, const struct soft_place *destination,
			      const struct soft_place *source, ULONGLONG size_bytes)
{
	const struct soft_transfer all = { .destination = *destination,
					   .source = *source,
					   .size_bytes = size_bytes };

	return transfer(run, &all);
}

static enum soft_outcome write64(struct run *run, const struct soft_place *destination,
				 ULONGLONG value)
{
	struct soft_window window;

	if (!open_place(run, destination, sizeof(value), TRUE, &window))
		return SOFT_FAULTED;
	if (window.bytes)
		InterlockedExchange64((volatile LONG64 *)window.bytes, (LONG64)value);
	run->bytes_written += sizeof(value);
	soft_window_close(&window);
	return SOFT_DONE;
}

/* The MDL is locked, mapped on first need, and the kernel's to unmap. */
static enum soft_outcome copy_mdl(struct run *run, const struct soft_paging_mdl_copy *command)
{
	PMDL mdl = (PMDL)(ULONG_PTR)command->mdl;
	PUCHAR pages = mdl ? MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority) : NULL;

	if (!pages)
		return fail(run, STATUS_NO_MEMORY, 0, FALSE);
	const struct soft_place mdl_side = { .segment = SOFT_PLACE_POINTER,
					     .offset = (ULONGLONG)(ULONG_PTR)pages +
						       command->mdl_offset_bytes };
	if (command->is_to_mdl)
		return copy(run, &mdl_side, &command->segment_side, command->size_bytes);
	return copy(run, &command->segment_side, &mdl_side, command->size_bytes);
}

/* Page-table or aperture entries, each with one store, so that a walk sees the old or the new. */
static enum soft_outcome write_entries(struct run *run, const struct soft_paging_entries *command)
{
	ULONGLONG size_bytes = command->count * sizeof(ULONGLONG);
	ULONGLONG value = command->value + run->progress / sizeof(ULONGLONG) * command->stride;

	if (command->table.segment == SOFT_PLACE_APERTURE_TABLE) {
		ULONGLONG *entries = run->memory->aperture + command->table.offset;

		for (ULONGLONG i = 0; i < command->count; i++, value += command->stride)
			soft_entry_store(&entries[i], value);
		run->entries_written += command->count;
		return SOFT_DONE;
	}
	while (run->progress < size_bytes) {
		struct soft_window window;

		if (!open_place(run, &command->table, size_bytes - run->progress, TRUE, &window))
			return SOFT_FAULTED;
		ULONGLONG *entries = (ULONGLONG *)window.bytes;
		ULONGLONG count = window.size_bytes / sizeof(ULONGLONG);
		for (ULONGLONG i = 0; entries && i < count; i++, value += command->stride)
			soft_entry_store(&entries[i], value);
		run->progress += window.size_bytes;
		run->entries_written += count;
		soft_window_close(&window);
	}
	return SOFT_DONE;
}

/* ---- occupying the engine ---- */

static enum soft_outcome busy(struct run *run, ULONGLONG microseconds)
{
	const ULONGLONG total = microseconds * 10; /* 100 ns units */
	ULONGLONG start = KeQueryInterruptTimePrecise(NULL) - run->progress;

	for (;;) {
		LARGE_INTEGER timeout;

		enum soft_outcome outcome = soft_check_attention(run->engine, run->packet);
		run->progress = KeQueryInterruptTimePrecise(NULL) - start;
		if (run->progress >= total)
			return SOFT_DONE;
		if (outcome != SOFT_DONE)
			return outcome;
		timeout.QuadPart = -(LONGLONG)(total - run->progress);
		KeWaitForSingleObject(&run->engine->control, Executive, KernelMode, FALSE,
				      &timeout);
	}
}

static enum soft_outcome hang(struct run *run)
{
	struct soft_engine *engine = run->engine;
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	engine->is_stalled = TRUE;
	KeReleaseSpinLock(&engine->lock, irql);
	while (soft_check_attention(run->engine, run->packet) != SOFT_ABORTED)
		KeWaitForSingleObject(&engine->control, Executive, KernelMode, FALSE, NULL);
	return SOFT_ABORTED;
}

static enum soft_outcome loop(struct run *run)
{
	enum soft_outcome outcome;

	while ((outcome = soft_check_attention(run->engine, run->packet)) == SOFT_DONE)
		KeWaitForSingleObject(&run->engine->control, Executive, KernelMode, FALSE, NULL);
	return outcome;
}

/* ---- commands ---- */

static enum soft_outcome execute_command(struct run *run, ULONG opcode, const UCHAR *bytes)
{
	struct soft_place destination;
	struct soft_place source;

	switch (opcode) {
	case SOFTGPU_NOP:
		return SOFT_DONE;
	case SOFTGPU_FILL: {
		const struct softgpu_fill *command = (const struct softgpu_fill *)bytes;

		if (!find_place(run, &command->destination, TRUE, &destination))
			return SOFT_FAULTED;
		return fill(run, &destination, command->size_bytes, command->pattern);
	}
	case SOFTGPU_COPY: {
		const struct softgpu_copy *command = (const struct softgpu_copy *)bytes;

		if (!find_place(run, &command->destination, TRUE, &destination) ||
		    !find_place(run, &command->source, FALSE, &source))
			return SOFT_FAULTED;
		return copy(run, &destination, &source, command->size_bytes);
	}
	case SOFTGPU_WRITE64: {
		const struct softgpu_write64 *command = (const struct softgpu_write64 *)bytes;

		if (!find_place(run, &command->destination, TRUE, &destination))
			return SOFT_FAULTED;
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
		return SOFT_FAULTED;
	}
	case SOFT_PAGING_FILL: {
		const struct soft_paging_fill *command = (const struct soft_paging_fill *)bytes;

		return fill(run, &command->destination, command->size_bytes, command->pattern);
	}
	case SOFT_PAGING_COPY: {
		const struct soft_paging_copy *command = (const struct soft_paging_copy *)bytes;

		return copy(run, &command->destination, &command->source, command->size_bytes);
	}
	case SOFT_PAGING_MDL_COPY:
		return copy_mdl(run, (const struct soft_paging_mdl_copy *)bytes);
	default: /* The decoder let nothing else through. */
		return write_entries(run, (const struct soft_paging_entries *)bytes);
	}
}

/* Virtual operands may be anywhere, but have to be aligned; the decoder cannot know them. */
static BOOLEAN is_aligned(const struct soft_command *command, const UCHAR *bytes)
{
	for (ULONG i = 0; i < command->operand_count; i++) {
		const union softgpu_address *address =
			(const union softgpu_address *)(bytes + command->operands[i].field_offset);

		if (address->virtual_address % command->operands[i].alignment != 0)
			return FALSE;
	}
	return TRUE;
}

/* Copies the start of the next command out of the buffer, where the client could still change it.
 */
static BOOLEAN fetch(struct run *run, ULONG offset, UCHAR *bytes)
{
	ULONG wanted = (ULONG)least(run->packet->size_bytes - offset, FETCH_BYTES);
	struct soft_place place = run->packet->buffer;

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

static enum soft_outcome execute_packet(struct run *run)
{
	DECLSPEC_ALIGN(8) UCHAR bytes[FETCH_BYTES];
	struct soft_packet *packet = run->packet;
	struct soft_context *context = packet->context;
	struct soft_resume resume = { 0 };

	if (packet->is_empty)
		return SOFT_DONE;
	if (context) {
		run->reach.root = context->root;
		if (packet->is_resubmission)
			resume = context->resume;
		/* Queues of a hardware context run side by side, and are not preempted. */
		if (!run->engine->hw_queue)
			context->resume.is_valid = FALSE;
	}

	ULONG offset = resume.is_valid ? resume.offset : 0;
	while (offset < packet->size_bytes) {
		struct soft_command command;

		enum soft_outcome outcome = soft_check_attention(run->engine, run->packet);
		run->progress = 0;
		if (outcome == SOFT_DONE) {
			if (!fetch(run, offset, bytes))
				return SOFT_FAULTED;
			NTSTATUS status = soft_command_decode(bytes, packet->size_bytes - offset,
							      packet->is_paging, &command);
			if (NT_SUCCESS(status) && !is_aligned(&command, bytes))
				status = STATUS_DATATYPE_MISALIGNMENT;
			if (!NT_SUCCESS(status))
				return fail(run, status, packet->buffer.offset + offset, FALSE);
			run->progress = resume.is_valid ? resume.progress : 0;
			outcome = execute_command(run, command.opcode, bytes);
		} else if (resume.is_valid) {
			run->progress = resume.progress; /* preempted again before it could go on */
		}
		if (outcome == SOFT_PREEMPTED && context)
			context->resume = (struct soft_resume){ .is_valid = TRUE,
								.offset = offset,
								.progress = run->progress };
		if (outcome != SOFT_DONE)
			return outcome;
		resume.is_valid = FALSE;
		offset += command.size_bytes;
	}
	return SOFT_DONE;
}

enum soft_outcome soft_execute(struct soft_engine *engine, struct soft_packet *packet,
			       struct soft_fault *fault_out)
{
	struct run run = {
		.engine = engine,
		.packet = packet,
		.memory = &engine->adapter->memory,
		.reach.adapter = engine->adapter,
		.fault = fault_out,
	};
	enum soft_outcome outcome = execute_packet(&run);

	InterlockedExchangeAdd64(&engine->bytes_written, (LONG64)run.bytes_written);
	InterlockedExchangeAdd64(&engine->entries_written, (LONG64)run.entries_written);
	return outcome;
}
