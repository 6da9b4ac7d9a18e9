/* SPDX-License-Identifier: MIT */
/*
 * move.h - cuda_move(), one long fill or copy by all of the GPU: part of kernels.c, which is one translation
 * unit.
 */
#ifndef CUDA_MOVE_H
#define CUDA_MOVE_H

/*
 * A long transfer is done in rows of pages, of which the first alone needs a walk. Each group has as many rows,
 * so that all are at work until the end. Who asks them to stop waits for PAGES_AT_ONCE, not for a row.
 */
enum { PAGE_BYTES = 4096, MOST_PAGES = 512, PAGES_AT_ONCE = 64 };

static INLINED ULONGLONG row_bytes(ULONGLONG size_bytes)
{
	const ULONGLONG groups = groups_of_grid();
	ULONGLONG pages = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	ULONGLONG rows = groups * ((pages + groups * MOST_PAGES - 1) / (groups * MOST_PAGES));

	return (pages + rows - 1) / rows * PAGE_BYTES;
}

/* ---- pages in a row ---- */

/*
 * They are called, so that they have the registers for themselves: what is spilled waits for what is on its
 * way.
 */
enum { ENTRIES_AHEAD = 4 };

/* Entries that are on their way. */
struct ahead {
	const ULONGLONG *entry;
	ULONG left; /* from there on */
	ULONGLONG values[ENTRIES_AHEAD];
};

static INLINED void begin_ahead(struct ahead *ahead, const ULONGLONG *entry, ULONG count)
{
	ahead->entry = entry + ENTRIES_AHEAD;
	ahead->left = count > ENTRIES_AHEAD ? count - ENTRIES_AHEAD : 0;
	for (ULONG i = 0; i < ENTRIES_AHEAD; i++)
		ahead->values[i] = i < count ? load_word(&entry[i]) : 0;
}

static INLINED ULONGLONG next_ahead(struct ahead *ahead)
{
	ULONGLONG next = ahead->values[0];

	for (ULONG i = 0; i + 1 < ENTRIES_AHEAD; i++)
		ahead->values[i] = ahead->values[i + 1];
	if (ahead->left > 0) {
		ahead->values[ENTRIES_AHEAD - 1] = load_word(ahead->entry++);
		ahead->left--;
	}
	return next;
}

/* It leads to a page of local memory: whoever meets another one walks. */
static INLINED BOOLEAN is_local_page(ULONGLONG entry, ULONGLONG local_bytes, BOOLEAN is_write)
{
	const ULONGLONG looked_at = SOFTGPU_PTE_VALID | SOFTGPU_PTE_ZERO |
				    SOFTGPU_PTE_SEGMENT_MASK |
				    (is_write ? SOFTGPU_PTE_READ_ONLY : 0);

	return (entry & looked_at) == (SOFTGPU_PTE_VALID | (ULONGLONG)SOFTGPU_SEGMENT_LOCAL
								   << SOFTGPU_PTE_SEGMENT_SHIFT) &&
	       (entry & SOFTGPU_PTE_ADDRESS_MASK) < local_bytes;
}

/* How many there were. */
static SHARED ULONG fill_pages(const struct cuda_world *world, const ULONGLONG *entries,
			       ULONG count, ULONG pattern)
{
	const ULONGLONG both = (ULONGLONG)pattern << 32 | pattern;
	const ULONGLONG local_bytes = world->local_bytes;
	const ULONGLONG local = world->local + thread_in_group() * sizeof(pair);
	const pair value = { both, both };
	struct ahead ahead;

	begin_ahead(&ahead, entries, count);
	for (ULONG done = 0; done < count; done++) {
		ULONGLONG entry = next_ahead(&ahead);
		pair *to = (pair *)(ULONG_PTR)(local + (entry & SOFTGPU_PTE_ADDRESS_MASK));

		if (!is_local_page(entry, local_bytes, TRUE))
			return done;
		for (ULONG i = 0; i < PAGE_BYTES / sizeof(pair); i += GROUP_THREADS)
			to[i] = value;
	}
	return count;
}

static SHARED ULONG copy_pages(const struct cuda_world *world, const ULONGLONG *to_entries,
			       const ULONGLONG *from_entries, ULONG count)
{
	const ULONGLONG local_bytes = world->local_bytes;
	const ULONGLONG local = world->local + thread_in_group() * sizeof(pair);
	struct ahead ahead_to;
	struct ahead ahead_from;

	begin_ahead(&ahead_to, to_entries, count);
	begin_ahead(&ahead_from, from_entries, count);
	for (ULONG done = 0; done < count; done++) {
		ULONGLONG to_entry = next_ahead(&ahead_to);
		ULONGLONG from_entry = next_ahead(&ahead_from);
		pair *to = (pair *)(ULONG_PTR)(local + (to_entry & SOFTGPU_PTE_ADDRESS_MASK));
		const pair *from =
			(const pair *)(ULONG_PTR)(local + (from_entry & SOFTGPU_PTE_ADDRESS_MASK));

		if (!is_local_page(to_entry, local_bytes, TRUE) ||
		    !is_local_page(from_entry, local_bytes, FALSE))
			return done;
		for (ULONG i = 0; i < PAGE_BYTES / sizeof(pair); i += 4 * GROUP_THREADS) {
			pair a = from[i];
			pair b = from[i + GROUP_THREADS];
			pair c = from[i + 2 * GROUP_THREADS];
			pair d = from[i + 3 * GROUP_THREADS];

			to[i] = a;
			to[i + GROUP_THREADS] = b;
			to[i + 2 * GROUP_THREADS] = c;
			to[i + 3 * GROUP_THREADS] = d;
		}
	}
	return count;
}

/* Whole pages from `at` on, as many as need no walk, up to PAGES_AT_ONCE. */
static INLINED ULONG move_neighbours(const struct cuda_world *world,
				     const struct cuda_transfer *transfer, ULONGLONG at,
				     ULONGLONG end, const struct neighbours *next_to,
				     const struct neighbours *next_from)
{
	const ULONGLONG to = transfer->destination.offset + at;
	const ULONGLONG from = transfer->source.offset + at;
	ULONGLONG count =
		least(least((end - at) / PAGE_BYTES, next_to->behind), (ULONGLONG)PAGES_AT_ONCE);

	if (next_to->address != to || to % PAGE_BYTES != 0 || count == 0)
		return 0;
	if (transfer->is_fill)
		return fill_pages(world, next_to->entry, (ULONG)count, transfer->pattern);
	count = least(count, next_from->behind);
	if (next_from->address != from || from % PAGE_BYTES != 0 || count == 0)
		return 0;
	return copy_pages(world, next_to->entry, next_from->entry, (ULONG)count);
}

static INLINED void step_over(struct neighbours *next, ULONG pages)
{
	next->address += (ULONGLONG)pages * PAGE_BYTES;
	next->entry += pages;
	next->behind -= pages;
}

/* ---- rows ---- */

static INLINED BOOLEAN must_stop(const struct cuda_state *state,
				 const struct cuda_transfer *transfer)
{
	return stop_in(load_word(&state->stop), transfer->sequence, transfer->keeps_on != 0) != 0;
}

/* One piece, by the threads of a group, as far as it goes: from there on it has to be looked at (stopped_at). */
static INLINED ULONGLONG move_row(const struct cuda_world *world, const struct cuda_state *state,
				  const struct cuda_transfer *transfer, ULONGLONG at, ULONGLONG end)
{
	const ULONG thread = thread_in_group();
	const ULONG threads = threads_of_group();

	while (at < end && !must_stop(state, transfer)) {
		struct neighbours next_to = { .behind = 0 };
		struct neighbours next_from = { .behind = 0 };
		struct span to;
		struct span from = { .pointer = 0 };
		ULONGLONG wanted = least(end - at, (ULONGLONG)PAGES_AT_ONCE * PAGE_BYTES);
		ULONG pages;

		if (!transfer->is_fill) {
			if (reach_near(world, &transfer->root, &transfer->source, at, wanted, FALSE,
				       &next_from, &from) != REACH_THERE)
				break;
			wanted = from.size_bytes;
		}
		if (reach_near(world, &transfer->root, &transfer->destination, at, wanted, TRUE,
			       &next_to, &to) != REACH_THERE)
			break;
		if (to.pointer == 0)
			;
		else if (transfer->is_fill)
			fill_bytes(to.pointer, to.size_bytes, transfer->pattern, thread, threads);
		else if (from.pointer == 0)
			zero_bytes(to.pointer, to.size_bytes, thread, threads);
		else
			copy_bytes(to.pointer, from.pointer, to.size_bytes, thread, threads);
		at += to.size_bytes;
		while ((pages = move_neighbours(world, transfer, at, end, &next_to, &next_from)) >
		       0) {
			at += (ULONGLONG)pages * PAGE_BYTES;
			step_over(&next_to, pages);
			if (!transfer->is_fill)
				step_over(&next_from, pages);
			if (must_stop(state, transfer))
				return at;
		}
	}
	return at;
}

KERNEL void cuda_move(ULONGLONG world_pointer, ULONGLONG state_pointer)
{
	const struct cuda_world *world = (const struct cuda_world *)(ULONG_PTR)world_pointer;
	struct cuda_state *state = (struct cuda_state *)(ULONG_PTR)state_pointer;
	const struct cuda_transfer transfer = state->transfer;
	/* Rows are pages of the destination, but for the first and the last. */
	ULONGLONG first = (transfer.destination.offset + transfer.from) & ~(PAGE_BYTES - 1ULL);
	ULONGLONG last = transfer.destination.offset + transfer.size_bytes;

	/* The launch that only loads it moves nothing. */
	if (first >= last)
		return;
	const ULONGLONG bytes = row_bytes(last - first);
	for (ULONGLONG row = first + group_in_grid() * bytes; row < last;
	     row += groups_of_grid() * bytes) {
		ULONGLONG at = row < transfer.destination.offset + transfer.from
				       ? transfer.from
				       : row - transfer.destination.offset;
		ULONGLONG end = least(row + bytes, last) - transfer.destination.offset;

		if (at >= load_word(&state->stopped_at))
			return;
		at = move_row(world, state, &transfer, at, end);
		if (at < end) {
			lower_word(&state->stopped_at, at);
			return;
		}
	}
}

#endif
