/* SPDX-License-Identifier: MIT */
/*
 * kernels.c - what runs on the GPU.
 *
 *	cuda_run     reads commands one after the other, as the software GPU does; one block of threads
 *	cuda_move    one long fill or copy; all of the GPU
 *	cuda_pages   paging: short rows of pages, many at once
 *	cuda_entries paging: entries of page tables
 *	cuda_ranges  what a client's kernel is to be shown
 *
 * Every page that a command touches is looked up in the page tables, in video memory, by whoever
 * touches it; nothing is remembered. In cuda_run() the first thread decodes and translates; the others
 * wait for a piece of work, and help with it.
 *
 * One translation unit, because PTX is not linked: the decoder and the walk are those of
 * drivers/common. Compiled twice: to PTX, and for the processor, where a block has one thread, for
 * who tests the driver without a GPU.
 */
#include "work.h"
#include "threads.h"

#include "command.c"    /* NOLINT(bugprone-suspicious-include) */
#include "page_table.c" /* NOLINT(bugprone-suspicious-include) */
#include "reach.h"

enum { ITEM_END, ITEM_FILL, ITEM_COPY, ITEM_ENTRIES, ITEM_READ };

/* One piece of work for all threads of a block. */
struct item {
	ULONG kind;
	ULONGLONG destination;
	ULONGLONG source; /* or the first value */
	ULONGLONG size_bytes;
	ULONGLONG stride;
};

enum { WINDOW_WORDS = 256, WINDOW_BYTES = WINDOW_WORDS * 8 };

/* What is far away takes a microsecond to read, however much of it: it is read here, by all threads. */
struct block_memory {
	struct cuda_world world;
	struct item item;
	ULONGLONG window[WINDOW_WORDS];
};
BLOCK_MEMORY(struct block_memory);

#define NOWHERE (~0ULL)

/* ---- a packet ---- */

struct run {
	const struct cuda_world *world;
	struct cuda_state *state;
	struct cuda_result *result;
	ULONGLONG sequence;
	ULONGLONG ticket;
	ULONG flags;
	struct gpu_root root;
	struct gpu_place buffer;
	ULONGLONG size_bytes;
	ULONGLONG offset;
	ULONGLONG progress;
	ULONGLONG bytes_written;
	ULONGLONG entries_written;
	ULONGLONG window_at; /* what of the packet's commands is in block.window */
	ULONGLONG window_bytes;
	BOOLEAN is_done; /* the packet, and wants nothing */
};

static INLINED ULONG stop_of(const struct cuda_state *state, ULONGLONG ticket, BOOLEAN keeps_on)
{
	ULONGLONG stop = load_word(&state->stop);

	if (stop >> CUDA_STOP_BITS != ticket)
		return 0;
	stop &= (1u << CUDA_STOP_BITS) - 1;
	return stop == CUDA_STOP_PREEMPT && keeps_on ? 0 : (ULONG)stop;
}

/* Tells the driver. What the packet wrote is seen before that. */
static SHARED void tell(struct run *run, ULONG outcome)
{
	struct cuda_result *result = run->result;

	run->state->offset = run->offset;
	run->state->progress = run->progress;
	run->state->bytes_written = run->bytes_written;
	run->state->entries_written = run->entries_written;
	run->is_done = outcome == CUDA_DONE;
	result->outcome = outcome;
	result->offset = run->offset;
	result->progress = run->progress;
	result->bytes_written = run->bytes_written;
	result->entries_written = run->entries_written;
	fence_system();
	store_word(&result->sequence, run->sequence);
}

static SHARED void fault(struct run *run, ULONG status, ULONGLONG address, BOOLEAN is_write,
			 BOOLEAN is_page_fault, ULONG level)
{
	run->result->status = status;
	run->result->address = address;
	run->result->is_write = is_write;
	run->result->is_page_fault = is_page_fault;
	run->result->level = level;
	tell(run, CUDA_FAULTED);
}

/* FALSE: the packet cannot go on, and the driver was told. */
static SHARED BOOLEAN open_place(struct run *run, const struct gpu_place *place, ULONGLONG offset,
				 ULONGLONG wanted, BOOLEAN is_write, struct span *span)
{
	enum reach reach =
		reach_place(run->world, &run->root, place, offset, wanted, is_write, span);

	if (reach == REACH_THERE)
		return TRUE;
	if (reach == REACH_NO_PIECE) {
		run->result->address = span->physical;
		tell(run, CUDA_WANTS_PIECE);
		return FALSE;
	}
	fault(run, (ULONG)STATUS_ACCESS_VIOLATION, place->offset + offset, is_write,
	      place->segment == GPU_PLACE_VIRTUAL, span->level);
	return FALSE;
}

static SHARED void do_item(void)
{
	ULONG thread = thread_in_block();
	ULONG threads = threads_of_block();
	const struct item item = block.item;

	if (item.kind == ITEM_FILL) {
		fill_bytes(item.destination, item.size_bytes, (ULONG)item.source, thread, threads);
	} else if (item.kind == ITEM_COPY) {
		if (item.source == 0)
			zero_bytes(item.destination, item.size_bytes, thread, threads);
		else
			copy_bytes(item.destination, item.source, item.size_bytes, thread, threads);
	} else if (item.kind == ITEM_READ) {
		for (ULONGLONG i = thread; i < item.size_bytes / 8; i += threads)
			block.window[i] = load_word((const ULONGLONG *)(ULONG_PTR)item.source + i);
	} else {
		ULONGLONG *entries = (ULONGLONG *)(ULONG_PTR)item.destination;

		for (ULONGLONG i = thread; i < item.size_bytes / sizeof(*entries); i += threads)
			store_word(&entries[i], item.source + i * item.stride);
	}
}

/* All threads of the block do it, and have done it at the return. First thread only. */
static SHARED void share(ULONG kind, ULONGLONG destination, ULONGLONG source, ULONGLONG size_bytes,
			 ULONGLONG stride)
{
	block.item.kind = kind;
	block.item.destination = destination;
	block.item.source = source;
	block.item.size_bytes = size_bytes;
	block.item.stride = stride;
	block_barrier();
	if (kind == ITEM_END)
		return;
	do_item();
	block_barrier();
}

/* Everybody else. */
static SHARED void help(void)
{
	for (;;) {
		block_barrier();
		if (block.item.kind == ITEM_END)
			return;
		do_item();
		block_barrier();
	}
}

/* FALSE: something was asked of the packet, and it has answered. */
static SHARED BOOLEAN goes_on(struct run *run)
{
	ULONG stop = stop_of(run->state, run->ticket, (run->flags & CUDA_KEEPS_ON) != 0);

	if (stop == 0)
		return TRUE;
	tell(run, stop == CUDA_STOP_ABORT ? CUDA_ABORTED : CUDA_PREEMPTED);
	return FALSE;
}

/* A long one is for all of the GPU. */
static SHARED BOOLEAN ask_for_move(struct run *run, const struct gpu_place *destination,
				   const struct gpu_place *source, ULONGLONG size_bytes,
				   BOOLEAN is_fill, ULONG pattern)
{
	struct cuda_transfer *transfer = &run->state->transfer;

	transfer->destination = *destination;
	if (source)
		transfer->source = *source;
	transfer->size_bytes = size_bytes;
	transfer->from = run->progress;
	transfer->root = run->root;
	transfer->is_fill = is_fill;
	transfer->pattern = pattern;
	transfer->ticket = run->ticket;
	transfer->keeps_on = (run->flags & CUDA_KEEPS_ON) != 0;
	run->state->stopped_at = NOWHERE;
	run->state->is_moved = 1;
	tell(run, CUDA_WANTS_MOVE);
	return FALSE;
}

static SHARED BOOLEAN move(struct run *run, const struct gpu_place *destination,
			   const struct gpu_place *source, ULONGLONG size_bytes, BOOLEAN is_fill,
			   ULONG pattern)
{
	/* After a move it may have stopped, at what is looked at below. */
	BOOLEAN is_moved = run->state->is_moved != 0;

	if (is_moved) {
		ULONGLONG done = least(run->state->stopped_at, size_bytes);

		run->state->is_moved = 0;
		run->bytes_written += done - run->progress;
		run->progress = done;
	}
	while (run->progress < size_bytes) {
		ULONGLONG wanted = size_bytes - run->progress;
		struct span to;
		struct span from = { .pointer = 0 };

		if (!goes_on(run))
			return FALSE;
		if (!is_moved && wanted > CUDA_WIDE_BYTES)
			return ask_for_move(run, destination, source, size_bytes, is_fill, pattern);
		is_moved = FALSE;
		wanted = least(wanted, CUDA_WIDE_BYTES);
		if (!is_fill) {
			if (!open_place(run, source, run->progress, wanted, FALSE, &from))
				return FALSE;
			wanted = from.size_bytes;
		}
		if (!open_place(run, destination, run->progress, wanted, TRUE, &to))
			return FALSE;
		if (to.pointer == 0)
			; /* writes are dropped */
		else if (is_fill)
			share(ITEM_FILL, to.pointer, pattern, to.size_bytes, 0);
		else
			share(ITEM_COPY, to.pointer, from.pointer, to.size_bytes, 0);
		run->progress += to.size_bytes;
		run->bytes_written += to.size_bytes;
	}
	return TRUE;
}

static SHARED BOOLEAN write64(struct run *run, const struct gpu_place *destination, ULONGLONG value)
{
	struct span to;

	if (!open_place(run, destination, 0, sizeof(value), TRUE, &to))
		return FALSE;
	fence_system();
	if (to.pointer)
		store_word((ULONGLONG *)(ULONG_PTR)to.pointer, value);
	run->bytes_written += sizeof(value);
	return TRUE;
}

static SHARED BOOLEAN write_entries(struct run *run, const struct gpu_paging_entries *command)
{
	ULONGLONG size_bytes = command->count * sizeof(ULONGLONG);

	if (command->table.segment == GPU_PLACE_APERTURE_TABLE) {
		if (command->table.offset > run->world->aperture_pages ||
		    command->count > run->world->aperture_pages - command->table.offset) {
			fault(run, (ULONG)STATUS_ACCESS_VIOLATION, command->table.offset, TRUE,
			      FALSE, 0);
			return FALSE;
		}
		share(ITEM_ENTRIES,
		      run->world->aperture + command->table.offset * sizeof(ULONGLONG),
		      command->value, size_bytes, command->stride);
		run->entries_written += command->count;
		return TRUE;
	}
	/* A fence is such an entry, too: what comes before it is seen first. */
	fence_system();
	while (run->progress < size_bytes) {
		struct span to;

		if (!open_place(run, &command->table, run->progress, size_bytes - run->progress,
				TRUE, &to))
			return FALSE;
		if (to.pointer)
			share(ITEM_ENTRIES, to.pointer,
			      command->value + run->progress / sizeof(ULONGLONG) * command->stride,
			      to.size_bytes, command->stride);
		run->progress += to.size_bytes;
		run->entries_written += to.size_bytes / sizeof(ULONGLONG);
	}
	return TRUE;
}

static SHARED BOOLEAN busy(struct run *run, ULONGLONG microseconds)
{
	const ULONGLONG total = microseconds * 10; /* 100 ns units */
	ULONGLONG start = now_100ns() - run->progress;

	for (;;) {
		run->progress = now_100ns() - start;
		if (run->progress >= total)
			return TRUE;
		if (!goes_on(run))
			return FALSE;
		pause_a_little();
	}
}

static SHARED BOOLEAN hang(struct run *run, BOOLEAN is_deaf)
{
	if (is_deaf) {
		run->flags |= CUDA_KEEPS_ON;
		store_word(&run->result->hanging, run->sequence);
	}
	while (goes_on(run))
		pause_a_little();
	return FALSE;
}

/* An operand of a client's command: virtual as it stands, physical after it was patched. */
static SHARED BOOLEAN find_place(struct run *run, ULONGLONG address, BOOLEAN is_write,
				 struct gpu_place *place_out)
{
	place_out->segment = GPU_PLACE_VIRTUAL;
	place_out->reserved = 0;
	place_out->offset = address;
	if (run->flags & CUDA_IS_VIRTUAL)
		return TRUE;
	place_out->segment = SOFTGPU_SEGMENT_LOCAL;
	place_out->offset = address - GPU_LOCAL_BASE;
	if (place_out->offset < run->world->local_bytes)
		return TRUE;
	place_out->segment = SOFTGPU_SEGMENT_APERTURE;
	place_out->offset = address - GPU_APERTURE_BASE;
	if (place_out->offset < run->world->aperture_pages << GPU_PAGE_BITS)
		return TRUE;
	fault(run, (ULONG)STATUS_ACCESS_VIOLATION, address, is_write, FALSE, 0);
	return FALSE;
}

/* What only the driver can do; it has all of it then. */
static SHARED BOOLEAN ask_driver(struct run *run, const ULONGLONG *words)
{
	for (ULONG i = 0; i < CUDA_COMMAND_BYTES / sizeof(*words); i++)
		run->result->command[i] = words[i];
	tell(run, CUDA_WANTS_DRIVER);
	return FALSE;
}

/* The driver launches it; its arguments are out of the client's reach before they are looked at. */
static SHARED BOOLEAN dispatch(struct run *run, const struct softgpu_dispatch *command)
{
	const struct gpu_place arguments = { .segment = GPU_PLACE_VIRTUAL,
					     .offset = command->arguments };
	const ULONGLONG size_bytes =
		command->range_count * sizeof(struct softgpu_range) + command->parameter_bytes;
	const ULONGLONG slot =
		((ULONGLONG)(ULONG_PTR)run->state - run->world->states) / sizeof(*run->state);
	const ULONGLONG to = run->world->arguments + slot * CUDA_ARGUMENT_BYTES;

	if (!run->world->arguments || !(run->flags & CUDA_IS_VIRTUAL)) {
		fault(run, (ULONG)STATUS_NOT_SUPPORTED, command->arguments, FALSE, FALSE, 0);
		return FALSE;
	}
	while (run->progress < size_bytes) {
		struct span from;

		if (!open_place(run, &arguments, run->progress, size_bytes - run->progress, FALSE,
				&from))
			return FALSE;
		share(ITEM_COPY, to + run->progress, from.pointer, from.size_bytes, 0);
		run->progress += from.size_bytes;
	}
	return ask_driver(run, (const ULONGLONG *)command);
}

static SHARED BOOLEAN execute_paging(struct run *run, ULONG opcode, const ULONGLONG *words)
{
	switch (opcode) {
	case GPU_PAGING_FILL: {
		const struct gpu_paging_fill *command = (const struct gpu_paging_fill *)words;

		return move(run, &command->destination, NULL, command->size_bytes, TRUE,
			    command->pattern);
	}
	case GPU_PAGING_COPY: {
		const struct gpu_paging_copy *command = (const struct gpu_paging_copy *)words;

		return move(run, &command->destination, &command->source, command->size_bytes,
			    FALSE, 0);
	}
	case GPU_PAGING_ENTRIES:
		return write_entries(run, (const struct gpu_paging_entries *)words);
	default: /* what the driver does itself: paging.c */
		fault(run, (ULONG)STATUS_NOT_SUPPORTED, run->buffer.offset + run->offset, FALSE,
		      FALSE, 0);
		return FALSE;
	}
}

static SHARED BOOLEAN execute(struct run *run, ULONG opcode, const ULONGLONG *words)
{
	struct gpu_place destination;
	struct gpu_place source;

	switch (opcode) {
	case SOFTGPU_NOP:
		return TRUE;
	case SOFTGPU_FILL: {
		const struct softgpu_fill *command = (const struct softgpu_fill *)words;

		return find_place(run, command->destination.virtual_address, TRUE, &destination) &&
		       move(run, &destination, NULL, command->size_bytes, TRUE, command->pattern);
	}
	case SOFTGPU_COPY: {
		const struct softgpu_copy *command = (const struct softgpu_copy *)words;

		return find_place(run, command->destination.virtual_address, TRUE, &destination) &&
		       find_place(run, command->source.virtual_address, FALSE, &source) &&
		       move(run, &destination, &source, command->size_bytes, FALSE, 0);
	}
	case SOFTGPU_WRITE64: {
		const struct softgpu_write64 *command = (const struct softgpu_write64 *)words;

		return find_place(run, command->destination.virtual_address, TRUE, &destination) &&
		       write64(run, &destination, command->value);
	}
	case SOFTGPU_BUSY:
		return busy(run, ((const struct softgpu_busy *)words)->microseconds);
	case SOFTGPU_HANG:
		return hang(run, TRUE);
	case SOFTGPU_LOOP:
		return hang(run, FALSE);
	case SOFTGPU_FAULT: {
		const struct softgpu_fault *command = (const struct softgpu_fault *)words;

		fault(run, (ULONG)STATUS_ACCESS_VIOLATION, command->address, command->is_write != 0,
		      (run->flags & CUDA_IS_VIRTUAL) != 0, 0);
		return FALSE;
	}
	case SOFTGPU_DISPATCH:
		return dispatch(run, (const struct softgpu_dispatch *)words);
	default:
		return execute_paging(run, opcode, words);
	}
}

/* The commands from `at` on, as many as their page and the window have. */
static SHARED BOOLEAN fill_window(struct run *run, ULONGLONG at)
{
	struct span from;

	if (!open_place(run, &run->buffer, at, least(run->size_bytes - at, WINDOW_BYTES), FALSE,
			&from))
		return FALSE;
	run->window_at = at;
	run->window_bytes = from.size_bytes & ~7ULL;
	if (run->window_bytes == 0 || from.pointer % 8 != 0) {
		_Alignas(8) UCHAR bytes[8] = { 0 };

		run->window_bytes = least(from.size_bytes, sizeof(bytes));
		for (ULONG i = 0; from.pointer && i < run->window_bytes; i++)
			bytes[i] = load_byte((const UCHAR *)(ULONG_PTR)from.pointer + i);
		block.window[0] = *(const ULONGLONG *)bytes;
	} else if (from.pointer == 0) {
		for (ULONG i = 0; i < run->window_bytes / 8; i++)
			block.window[i] = 0;
	} else {
		share(ITEM_READ, 0, from.pointer, run->window_bytes, 0);
	}
	return TRUE;
}

/* The start of the next command, out of where the client could still change it. */
static SHARED BOOLEAN fetch(struct run *run, ULONGLONG *words)
{
	const ULONGLONG end =
		run->offset + least(run->size_bytes - run->offset, CUDA_COMMAND_BYTES);

	for (ULONG i = 0; i < CUDA_COMMAND_BYTES / sizeof(*words); i++)
		words[i] = 0;
	for (ULONGLONG at = run->offset; at < end;) {
		ULONGLONG in_window = at - run->window_at;

		if (in_window >= run->window_bytes) {
			if (!fill_window(run, at))
				return FALSE;
			in_window = 0;
		}
		ULONGLONG size_bytes = least(end - at, run->window_bytes - in_window);
		if ((size_bytes | in_window | (at - run->offset)) % 8 == 0) {
			for (ULONGLONG i = 0; i < size_bytes / 8; i++)
				words[(at - run->offset) / 8 + i] = block.window[in_window / 8 + i];
		} else {
			for (ULONGLONG i = 0; i < size_bytes; i++)
				((UCHAR *)words)[at - run->offset + i] =
					(UCHAR)(block.window[(in_window + i) / 8] >>
						(in_window + i) % 8 * 8);
		}
		at += size_bytes;
	}
	return TRUE;
}

static SHARED void run_commands(struct run *run)
{
	ULONGLONG words[CUDA_COMMAND_BYTES / sizeof(ULONGLONG)];
	BOOLEAN is_done = (run->flags & CUDA_COMMAND_IS_DONE) != 0;

	while (run->offset < run->size_bytes) {
		struct gpu_command command;
		ULONGLONG progress = run->progress;

		if (!goes_on(run) || !fetch(run, words))
			return;
		NTSTATUS status = gpu_command_decode(words, run->size_bytes - run->offset,
						     (run->flags & CUDA_IS_PAGING) != 0, &command);
		if (NT_SUCCESS(status) && !gpu_command_is_aligned(&command, words))
			status = STATUS_DATATYPE_MISALIGNMENT;
		if (!NT_SUCCESS(status)) {
			fault(run, (ULONG)status, run->buffer.offset + run->offset, FALSE, FALSE,
			      0);
			return;
		}
		run->progress = progress;
		if (!is_done && !execute(run, command.opcode, words))
			return;
		is_done = FALSE;
		run->progress = 0;
		run->offset += command.size_bytes;
	}
	tell(run, CUDA_DONE);
}

/* A packet, out of its mail. */
static SHARED void open_mail(struct run *run, const struct cuda_mail *mail)
{
	share(ITEM_READ, 0, (ULONGLONG)(ULONG_PTR)mail, sizeof(*mail), 0);
	const struct cuda_mail *copy = (const struct cuda_mail *)block.window;
	run->ticket = copy->ticket;
	run->flags = (ULONG)copy->flags;
	run->root.segment = (ULONG)copy->root_segment;
	run->root.entry_count = (ULONG)copy->root_entries;
	run->root.offset = copy->root_offset;
	run->buffer.segment = (ULONG)copy->buffer_segment;
	run->buffer.offset = copy->buffer_offset;
	run->size_bytes = copy->size_bytes;
	run->offset = copy->offset;
	run->progress = copy->progress;
	run->bytes_written = 0;
	run->entries_written = 0;
	run->window_bytes = 0;
	if (run->flags & CUDA_GO_ON) {
		run->offset = run->state->offset;
		run->progress = run->state->progress;
		run->bytes_written = run->state->bytes_written;
		run->entries_written = run->state->entries_written;
	} else {
		run->state->is_moved = 0;
	}
}

/* FALSE: none comes. */
static SHARED BOOLEAN wait_for_mail(struct run *run, const struct cuda_mail *mail)
{
	ULONGLONG start = now_100ns();

	for (;;) {
		ULONGLONG sequence = load_acquire(&mail->sequence);

		if (sequence == CUDA_LEAVE)
			return FALSE;
		if (sequence != run->sequence) {
			run->sequence = sequence;
			return TRUE;
		}
		if (now_100ns() - start >= CUDA_STAY_100NS)
			return FALSE;
		pause_between_looks();
	}
}

static INLINED void settle(ULONGLONG world)
{
	ULONGLONG *words = (ULONGLONG *)&block.world;

	for (ULONG i = thread_in_block(); i < sizeof(block.world) / sizeof(*words);
	     i += threads_of_block())
		words[i] = load_word((const ULONGLONG *)(ULONG_PTR)world + i);
	block_barrier();
}

KERNEL void cuda_run(ULONGLONG world, ULONGLONG state, ULONGLONG result, ULONGLONG mail_pointer,
		     ULONGLONG served, ULONGLONG launch)
{
	const struct cuda_mail *mail = (const struct cuda_mail *)(ULONG_PTR)mail_pointer;
	struct run run = {
		.world = (const struct cuda_world *)&block.world,
		.state = (struct cuda_state *)(ULONG_PTR)state,
		.result = (struct cuda_result *)(ULONG_PTR)result,
		.sequence = served,
		.is_done = TRUE,
	};

	settle(world);
	if (thread_in_block() != 0) {
		help();
		return;
	}
	while (run.is_done && wait_for_mail(&run, mail)) {
		open_mail(&run, mail);
		run_commands(&run);
	}
	share(ITEM_END, 0, 0, 0, 0);
	fence_system();
	store_word(&run.result->left, launch);
}

/* ---- much at once ---- */

enum { CHUNK_BYTES = 4096 };

/* One piece, by the threads of a group; FALSE: it has to be looked at (stopped_at). */
static INLINED BOOLEAN move_chunk(const struct cuda_world *world,
				  const struct cuda_transfer *transfer, ULONGLONG at, ULONGLONG end,
				  ULONG thread, ULONG threads)
{
	while (at < end) {
		struct span to;
		struct span from = { .pointer = 0 };
		ULONGLONG wanted = end - at;

		if (!transfer->is_fill) {
			if (reach_place(world, &transfer->root, &transfer->source, at, wanted,
					FALSE, &from) != REACH_THERE)
				return FALSE;
			wanted = from.size_bytes;
		}
		if (reach_place(world, &transfer->root, &transfer->destination, at, wanted, TRUE,
				&to) != REACH_THERE)
			return FALSE;
		if (to.pointer == 0)
			;
		else if (transfer->is_fill)
			fill_bytes(to.pointer, to.size_bytes, transfer->pattern, thread, threads);
		else if (from.pointer == 0)
			zero_bytes(to.pointer, to.size_bytes, thread, threads);
		else
			copy_bytes(to.pointer, from.pointer, to.size_bytes, thread, threads);
		at += to.size_bytes;
	}
	return TRUE;
}

KERNEL void cuda_move(ULONGLONG world_pointer, ULONGLONG state_pointer)
{
	const struct cuda_world *world = (const struct cuda_world *)(ULONG_PTR)world_pointer;
	struct cuda_state *state = (struct cuda_state *)(ULONG_PTR)state_pointer;
	const struct cuda_transfer transfer = state->transfer;
	ULONG thread = thread_in_group();
	ULONG threads = threads_of_group();
	/* Chunks are pages of the destination, but for the first and the last. */
	ULONGLONG first = (transfer.destination.offset + transfer.from) & ~(CHUNK_BYTES - 1ULL);
	ULONGLONG last = transfer.destination.offset + transfer.size_bytes;

	for (ULONGLONG chunk = first + group_in_grid() * CHUNK_BYTES; chunk < last;
	     chunk += groups_of_grid() * CHUNK_BYTES) {
		ULONGLONG at = chunk < transfer.destination.offset + transfer.from
				       ? transfer.from
				       : chunk - transfer.destination.offset;
		ULONGLONG end = least(chunk + CHUNK_BYTES, last) - transfer.destination.offset;

		if (at >= load_word(&state->stopped_at))
			return;
		if (stop_of(state, transfer.ticket, transfer.keeps_on != 0) != 0 ||
		    !move_chunk(world, &transfer, at, end, thread, threads)) {
			lower_word(&state->stopped_at, at);
			return;
		}
	}
}

#include "lists.h"

/* ---- what kernels of clients see ---- */

/* All of it is one large page of the slab, or where it is not. */
static SHARED ULONGLONG find_large_page(const struct cuda_world *world, const struct gpu_root *root,
					ULONGLONG address, BOOLEAN is_write)
{
	const ULONGLONG size_bytes = 1ULL << CUDA_LARGE_PAGE_BITS;
	ULONGLONG first = 0;
	ULONGLONG at = 0;

	while (at < size_bytes) {
		struct gpu_translation found;
		struct gpu_walk_fault fault;

		if (!gpu_walk(&world->settings, root, address + at, is_write, read_entry,
			      (void *)world, &found, &fault))
			return CUDA_PAGE_BAD | at << 8 | fault.level;
		if (at == 0)
			first = found.offset;
		if (found.is_zero || found.segment != SOFTGPU_SEGMENT_LOCAL ||
		    found.offset != first + at || first % size_bytes != 0 ||
		    first > world->local_bytes - size_bytes)
			return CUDA_PAGE_BAD | CUDA_PAGE_OTHER | at << 8;
		at += found.size_bytes;
	}
	return first >> CUDA_LARGE_PAGE_BITS;
}

KERNEL void cuda_ranges(ULONGLONG world_pointer, ULONGLONG root_segment, ULONGLONG root_entries,
			ULONGLONG root_offset, ULONGLONG ranges, ULONGLONG range_count,
			ULONGLONG first, ULONGLONG count, ULONGLONG found)
{
	const struct cuda_world *world = (const struct cuda_world *)(ULONG_PTR)world_pointer;
	const struct softgpu_range *range = (const struct softgpu_range *)(ULONG_PTR)ranges;
	const struct gpu_root root = { .segment = (ULONG)root_segment,
				       .entry_count = (ULONG)root_entries,
				       .offset = root_offset };
	ULONGLONG *out = (ULONGLONG *)(ULONG_PTR)found;
	ULONGLONG threads = blocks_of_grid() * threads_of_block();

	for (ULONGLONG i = block_in_grid() * threads_of_block() + thread_in_block(); i < count;
	     i += threads) {
		ULONGLONG page = first + i;
		ULONGLONG of = 0;

		while (of < range_count && page >= range[of].size_bytes >> CUDA_LARGE_PAGE_BITS) {
			page -= range[of].size_bytes >> CUDA_LARGE_PAGE_BITS;
			of++;
		}
		if (of == range_count)
			return;
		out[i] = find_large_page(world, &root,
					 range[of].address + (page << CUDA_LARGE_PAGE_BITS),
					 (range[of].flags & SOFTGPU_RANGE_WRITTEN) != 0);
	}
}
