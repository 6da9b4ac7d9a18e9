/* SPDX-License-Identifier: MIT */
/*
 * move.h - cuda_move(), one long fill or copy by all of the GPU: part of kernels.c, which is one translation
 * unit.
 */
#ifndef CUDA_MOVE_H
#define CUDA_MOVE_H

/* A long transfer is done in rows of pages, of which the first alone needs a walk. */
enum { PAGE_BYTES = 4096, ROW_PAGES = 8, LONG_BYTES = 64 << 20 };

/* One piece, by the threads of a group; FALSE: it has to be looked at (stopped_at). */
static INLINED BOOLEAN move_chunk(const struct cuda_world *world,
				  const struct cuda_transfer *transfer, ULONGLONG at, ULONGLONG end,
				  ULONG thread, ULONG threads)
{
	struct neighbours next_to = { .behind = 0 };
	struct neighbours next_from = { .behind = 0 };

	while (at < end) {
		struct span to;
		struct span from = { .pointer = 0 };
		ULONGLONG wanted = end - at;

		if (!transfer->is_fill) {
			if (reach_near(world, &transfer->root, &transfer->source, at, wanted, FALSE,
				       &next_from, &from) != REACH_THERE)
				return FALSE;
			wanted = from.size_bytes;
		}
		if (reach_near(world, &transfer->root, &transfer->destination, at, wanted, TRUE,
			       &next_to, &to) != REACH_THERE)
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
	const ULONGLONG chunk_bytes =
		transfer.size_bytes < LONG_BYTES ? PAGE_BYTES : ROW_PAGES * PAGE_BYTES;
	ULONGLONG first = (transfer.destination.offset + transfer.from) & ~(PAGE_BYTES - 1ULL);
	ULONGLONG last = transfer.destination.offset + transfer.size_bytes;

	for (ULONGLONG chunk = first + group_in_grid() * chunk_bytes; chunk < last;
	     chunk += groups_of_grid() * chunk_bytes) {
		ULONGLONG at = chunk < transfer.destination.offset + transfer.from
				       ? transfer.from
				       : chunk - transfer.destination.offset;
		ULONGLONG end = least(chunk + chunk_bytes, last) - transfer.destination.offset;

		if (at >= load_word(&state->stopped_at))
			return;
		if (stop_in(load_word(&state->stop), transfer.sequence, transfer.keeps_on != 0) !=
			    0 ||
		    !move_chunk(world, &transfer, at, end, thread, threads)) {
			lower_word(&state->stopped_at, at);
			return;
		}
	}
}

#endif
