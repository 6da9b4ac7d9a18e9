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
 * touches it. In cuda_run() the first thread decodes and translates; the others wait for a piece of work,
 * and help with it. It remembers where a few pages are until page tables change, of which it asks before
 * each command, as it asks whether to stop (look_around()).
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

enum { ITEM_END, ITEM_FILL, ITEM_COPY, ITEM_ENTRIES, ITEM_READ, ITEM_LOOK };

/* One piece of work for all threads of a block. */
struct item {
	ULONG kind;
	ULONGLONG destination;
	ULONGLONG source; /* or the first value */
	ULONGLONG size_bytes;
	ULONGLONG stride;
};

enum { WINDOW_WORDS = 256, WINDOW_BYTES = WINDOW_WORDS * 8, KEPT_PAGES = 32 };

/* Where a page is that was looked up. */
struct kept_page {
	ULONGLONG number; /* virtual address >> GPU_PAGE_BITS, of this root: */
	ULONGLONG root_offset;
	ULONGLONG root_entries;
	ULONGLONG pointer;  /* 0: nothing is kept here */
	ULONGLONG physical; /* of system memory; 0: it is no such */
	ULONGLONG is_writable;
};

/* A packet, and what comes after it. The first thread alone. */
struct run {
	const struct cuda_world *world;
	struct cuda_state *state;
	struct cuda_result *result;
	const struct cuda_ring *ring;
	ULONGLONG sequence;
	ULONGLONG ahead_from; /* what of the ring is in block.ring */
	ULONGLONG ahead_count;
	ULONGLONG born_100ns;
	ULONGLONG born_cycles;
	ULONGLONG begun_cycles;
	ULONGLONG looked_cycles; /* when somebody last looked around */
	struct cuda_sums sums;
	ULONGLONG told_entries; /* of sums.entries_written, and likewise: what the driver knows */
	ULONGLONG told_looks;
	ULONGLONG untold;  /* the last packet that was done, and the driver was not told; 0: none */
	ULONGLONG stop;    /* what was asked, when somebody last looked */
	ULONGLONG tables;  /* … and how often page tables had changed */
	ULONGLONG kept_at; /* … when block.kept was last empty */
	BOOLEAN is_fresh;  /* … and that is just now */
	BOOLEAN is_dirty;  /* something was written that others may not see yet, */
	ULONGLONG dirty_word; /* … and nothing but the word here; 0: who knows what */
	BOOLEAN is_moved;     /* the command is one that asked for a move, and it is over */
	BOOLEAN is_done;      /* the packet, and wants nothing */
	ULONG flags;
	ULONG changes;
	struct gpu_root root;
	struct gpu_place buffer;
	ULONGLONG size_bytes;
	ULONGLONG offset;
	ULONGLONG progress;
	ULONGLONG bytes_written;
	ULONGLONG entries_written;
	ULONGLONG window_at; /* what of the packet's commands is in block.window */
	ULONGLONG window_bytes;
	ULONGLONG words[CUDA_COMMAND_BYTES / sizeof(ULONGLONG)]; /* of the command */
	struct gpu_command command;
};

/*
 * What is far away takes a microsecond to read, however much of it: it is read here, by all threads.
 * What the first thread keeps is here, too: nobody makes it read that anew.
 */
struct block_memory {
	struct cuda_world world;
	struct item item;
	ULONGLONG window[WINDOW_WORDS];
	ULONGLONG ring[CUDA_RING_AHEAD][CUDA_RING_WORDS];
	struct kept_page kept[KEPT_PAGES];
	struct run run;
};
BLOCK_MEMORY(struct block_memory);

#define NOWHERE (~0ULL)

/* ---- a packet ---- */

static INLINED ULONG stop_in(ULONGLONG word, ULONGLONG sequence, BOOLEAN keeps_on)
{
	ULONG stop = (ULONG)word & ((1u << CUDA_STOP_BITS) - 1);

	if (word >> CUDA_STOP_BITS < sequence)
		return 0;
	return stop == CUDA_STOP_PREEMPT && keeps_on ? 0 : stop;
}

/* Both at once: each is half a microsecond away. */
static INLINED void look_around(struct run *run)
{
	run->looked_cycles = now_cycles();
	run->stop = load_word(&run->state->stop);
	run->tables = load_word((const ULONGLONG *)(ULONG_PTR)run->world->tables_at);
}

static SHARED void store_sums(struct run *run)
{
	struct cuda_sums *sums = &run->result->sums;

	store_word(&sums->bytes_written, run->sums.bytes_written);
	if (run->sums.entries_written != run->told_entries)
		store_word(&sums->entries_written, run->sums.entries_written);
	store_word(&sums->busy_cycles, run->sums.busy_cycles);
	if (run->sums.looks != run->told_looks) {
		store_word(&sums->looks, run->sums.looks);
		store_word(&sums->look_cycles, run->sums.look_cycles);
	}
	run->told_entries = run->sums.entries_written;
	run->told_looks = run->sums.looks;
}

/* Of those that were done. What they wrote is seen before that. */
static SHARED void tell_done(struct run *run)
{
	if (run->untold == 0)
		return;
	store_sums(run);
	fence_system();
	store_word(&run->result->done, run->untold);
	run->is_dirty = FALSE;
	run->untold = 0;
}

static INLINED void make_dirty(struct run *run)
{
	run->is_dirty = TRUE;
	run->dirty_word = 0;
}

static INLINED BOOLEAN is_over(ULONG outcome)
{
	return outcome == CUDA_DONE || outcome == CUDA_PREEMPTED || outcome == CUDA_ABORTED ||
	       outcome == CUDA_FAULTED;
}

/* How the packet ended, or what it wants. Of those that were done the driver is told when others wait. */
static SHARED void tell(struct run *run, ULONG outcome)
{
	struct cuda_result *result = run->result;

	run->sums.busy_cycles += now_cycles() - run->begun_cycles;
	if (is_over(outcome)) {
		run->sums.bytes_written += run->bytes_written;
		run->sums.entries_written += run->entries_written;
	}
	run->is_done = outcome == CUDA_DONE;
	if (run->is_done) {
		run->untold = run->sequence;
		return;
	}
	run->state->offset = run->offset;
	run->state->progress = run->progress;
	run->state->bytes_written = run->bytes_written;
	run->state->entries_written = run->entries_written;
	result->outcome = outcome;
	result->offset = run->offset;
	result->progress = run->progress;
	store_sums(run);
	fence_system();
	if (run->untold)
		store_word(&result->done, run->untold);
	run->untold = 0;
	store_word(&result->ended, run->sequence);
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

#include "kept.h"

/* FALSE: the packet cannot go on, and the driver was told. */
static SHARED BOOLEAN open_place(struct run *run, const struct gpu_place *place, ULONGLONG offset,
				 ULONGLONG wanted, BOOLEAN is_write, struct span *span)
{
	enum reach reach;

	span->physical = 0;
	span->level = 0;
	if (place->segment == GPU_PLACE_VIRTUAL)
		reach = reach_page(run, place, offset, wanted, is_write, span);
	else
		reach = reach_place(run->world, &run->root, place, offset, wanted, is_write, span);
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

/* A packet of the ring for each group, and one word for each of its threads. */
static INLINED void read_ring(const struct cuda_ring *ring, ULONGLONG first, ULONG thread,
			      ULONG threads)
{
	for (ULONG i = thread; i < CUDA_RING_AHEAD * CUDA_RING_WORDS; i += threads) {
		ULONG ahead = i / CUDA_RING_WORDS;
		ULONG word = i % CUDA_RING_WORDS;

		block.ring[ahead][word] =
			load_acquire(&ring->words[(first + ahead) % CUDA_RING_PACKETS][word]);
	}
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
	} else if (item.kind == ITEM_LOOK) {
		read_ring((const struct cuda_ring *)(ULONG_PTR)item.source, item.destination,
			  thread, threads);
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
	if (!run->is_fresh)
		look_around(run);
	run->is_fresh = FALSE;
	ULONG stop = stop_in(run->stop, run->sequence, (run->flags & CUDA_KEEPS_ON) != 0);
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
	transfer->sequence = run->sequence;
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
	BOOLEAN is_moved = run->is_moved;

	tell_done(run);
	make_dirty(run);
	run->is_moved = FALSE;
	if (is_moved) {
		ULONGLONG done = least(run->state->stopped_at, size_bytes);

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

/* 0: it is dropped. */
static INLINED void write_word(struct run *run, ULONGLONG to, ULONGLONG value)
{
	/* Whoever sees this value of a word does not see the one before: a fence that counts waits for nothing. */
	if (run->is_dirty && run->dirty_word != to)
		fence_system();
	if (to)
		store_word((ULONGLONG *)(ULONG_PTR)to, value);
	run->is_dirty = TRUE;
	run->dirty_word = to;
}

static SHARED BOOLEAN write64(struct run *run, const struct gpu_place *destination, ULONGLONG value)
{
	struct span to;

	if (!open_place(run, destination, 0, sizeof(value), TRUE, &to))
		return FALSE;
	write_word(run, to.pointer, value);
	run->bytes_written += sizeof(value);
	return TRUE;
}

static SHARED BOOLEAN write_entries(struct run *run, const struct gpu_paging_entries *command)
{
	ULONGLONG size_bytes = command->count * sizeof(ULONGLONG);

	tell_done(run);
	make_dirty(run);
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

	tell_done(run);
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
	tell_done(run);
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
	make_dirty(run);
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

	tell_done(run);
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
		/* That took a while. */
		look_around(run);
	}
	/* The driver brings what comes from the same page. */
	if (from.physical && at == 0)
		store_word(&run->result->buffers[run->sequence % CUDA_RING_PACKETS],
			   from.pointer - (from.pointer & ((1ULL << GPU_PAGE_BITS) - 1)));
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
	ULONGLONG *words = run->words;
	struct gpu_command *command = &run->command;
	BOOLEAN is_done = (run->flags & CUDA_COMMAND_IS_DONE) != 0;

	while (run->offset < run->size_bytes) {
		ULONGLONG progress = run->progress;

		/* Who stops at what the driver has done would have it done again. */
		if ((!is_done && !goes_on(run)) || !fetch(run, words))
			return;
		NTSTATUS status = gpu_command_decode(words, run->size_bytes - run->offset,
						     (run->flags & CUDA_IS_PAGING) != 0, command);
		if (NT_SUCCESS(status) && !gpu_command_is_aligned(command, words))
			status = STATUS_DATATYPE_MISALIGNMENT;
		if (!NT_SUCCESS(status)) {
			fault(run, (ULONG)status, run->buffer.offset + run->offset, FALSE, FALSE,
			      0);
			return;
		}
		run->progress = progress;
		if (!is_done && !execute(run, command->opcode, words))
			return;
		is_done = FALSE;
		run->progress = 0;
		run->offset += command->size_bytes;
	}
	/* It may have written page tables. */
	if (run->flags & CUDA_IS_PAGING) {
		fence_system();
		add_word((ULONGLONG *)(ULONG_PTR)run->world->tables_at, 1);
	}
	tell(run, CUDA_DONE);
}

#include "ring.h"

KERNEL void cuda_run(ULONGLONG world, ULONGLONG state, ULONGLONG result, ULONGLONG ring,
		     ULONGLONG served, ULONGLONG launch)
{
	struct run *run = (struct run *)&block.run;

	settle(world);
	if (thread_in_block() != 0) {
		help();
		return;
	}
	*run = (struct run){
		.world = (const struct cuda_world *)&block.world,
		.state = (struct cuda_state *)(ULONG_PTR)state,
		.result = (struct cuda_result *)(ULONG_PTR)result,
		.ring = (const struct cuda_ring *)(ULONG_PTR)ring,
		.sequence = served,
		.is_done = TRUE,
		.is_dirty = TRUE, /* what ran before us in the stream may have written */
		.born_100ns = now_100ns(),
		.born_cycles = now_cycles(),
		.sums = ((struct cuda_state *)(ULONG_PTR)state)->sums,
	};
	forget_pages(run);
	while (run->is_done && wait_for_packet(run))
		run_commands(run);
	leave(run, launch);
}

/* ---- much at once ---- */

#include "move.h"
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
