/* SPDX-License-Identifier: MIT */
/*
 * reach.h - how kernels find memory, and move bytes: part of kernels.c, which is one translation unit.
 *
 *	virtual address ─▶ page tables ─▶ segment and offset ─▶ a pointer, and how far it goes
 */
#ifndef CUDA_REACH_H
#define CUDA_REACH_H

#include "page_table.h"
#include "threads.h"
#include "work.h"

/* ---- memory ---- */

enum reach { REACH_THERE, REACH_FAULT, REACH_NO_PIECE };

/* Where something is; a pointer of 0 reads as zeroes and drops writes. */
struct span {
	ULONGLONG pointer;
	ULONGLONG size_bytes;
	ULONGLONG physical; /* of system memory, also with REACH_NO_PIECE */
	ULONG level;        /* with REACH_FAULT of a virtual address */
};

static INLINED ULONGLONG least(ULONGLONG a, ULONGLONG b)
{
	return a < b ? a : b;
}

static INLINED enum reach reach_system(const struct cuda_world *world, ULONGLONG physical,
				       ULONGLONG wanted, struct span *span)
{
	ULONGLONG piece = physical >> CUDA_PIECE_BITS;
	ULONGLONG in_piece = physical & ((1ULL << CUDA_PIECE_BITS) - 1);

	span->physical = physical;
	if (piece >= world->piece_count)
		return REACH_FAULT;
	ULONGLONG pointer = load_word((const ULONGLONG *)(ULONG_PTR)world->pieces + piece);
	if (pointer == 0)
		return REACH_NO_PIECE;
	span->pointer = pointer + in_piece;
	span->size_bytes = least(wanted, (1ULL << CUDA_PIECE_BITS) - in_piece);
	return REACH_THERE;
}

static INLINED enum reach reach_segment(const struct cuda_world *world, ULONG segment,
					ULONGLONG offset, ULONGLONG wanted, struct span *span)
{
	if (segment == SOFTGPU_SEGMENT_LOCAL) {
		if (offset >= world->local_bytes)
			return REACH_FAULT;
		span->pointer = world->local + offset;
		span->size_bytes = least(wanted, world->local_bytes - offset);
		return REACH_THERE;
	}
	if (segment == SOFTGPU_SEGMENT_APERTURE) {
		ULONGLONG page = offset >> GPU_PAGE_BITS;
		ULONGLONG in_page = offset & ((1ULL << GPU_PAGE_BITS) - 1);

		if (page >= world->aperture_pages)
			return REACH_FAULT;
		ULONGLONG entry = load_word((const ULONGLONG *)(ULONG_PTR)world->aperture + page);
		if (!(entry & CUDA_APERTURE_VALID))
			return REACH_FAULT;
		return reach_system(world, (entry & ~0xfffULL) + in_page,
				    least(wanted, (1ULL << GPU_PAGE_BITS) - in_page), span);
	}
	if (segment == SOFTGPU_SEGMENT_SYSTEM || segment == CUDA_SEGMENT_SYSTEM_TOO)
		return reach_system(world, offset, wanted, span);
	return REACH_FAULT;
}

/* Tables are in local memory. */
static INLINED BOOLEAN read_entry(void *reader_context, ULONG segment, ULONGLONG offset,
				  ULONGLONG *entry_out)
{
	const struct cuda_world *world = (const struct cuda_world *)reader_context;

	if (segment != SOFTGPU_SEGMENT_LOCAL || offset + sizeof(*entry_out) > world->local_bytes)
		return FALSE;
	*entry_out = load_word((const ULONGLONG *)(ULONG_PTR)(world->local + offset));
	return TRUE;
}

/* Where a walk has ended: pages behind that one need none, as far as their entries are in the same table. */
struct neighbours {
	ULONGLONG address;      /* of the next page */
	const ULONGLONG *entry; /* … and its entry */
	ULONG behind;           /* entries from it on; 0: there are none */
};

/* Pages of 64 KiB beside those of 4 KiB would go first. */
static INLINED void begin_neighbours(const struct cuda_world *world, ULONGLONG address,
				     const struct gpu_translation *found, struct neighbours *next)
{
	next->behind = found->is_zero || found->entry_segment != SOFTGPU_SEGMENT_LOCAL ||
				       world->settings.pages_64k == GPU_64K_DUAL
			       ? 0
			       : found->entries_behind;
	next->address = address + found->size_bytes;
	next->entry = (const ULONGLONG *)(ULONG_PTR)(world->local + found->entry_offset) + 1;
}

/* `next` may be NULL. */
static SHARED enum reach reach_by_walk(const struct cuda_world *world, const struct gpu_root *root,
				       ULONGLONG address, ULONGLONG wanted, BOOLEAN is_write,
				       struct neighbours *next, struct span *span)
{
	struct gpu_translation found;
	struct gpu_walk_fault fault;

	if (!gpu_walk(&world->settings, root, address, is_write, read_entry, (void *)world, &found,
		      &fault)) {
		span->level = fault.level;
		return REACH_FAULT;
	}
	if (next)
		begin_neighbours(world, address, &found, next);
	wanted = least(wanted, found.size_bytes);
	if (found.is_zero) {
		span->pointer = 0;
		span->size_bytes = wanted;
		return REACH_THERE;
	}
	span->level = 0; /* mapped to where no memory is: the tables are wrong */
	return reach_segment(world, found.segment, found.offset, wanted, span);
}

/* Likewise. */
static INLINED enum reach reach_near(const struct cuda_world *world, const struct gpu_root *root,
				     const struct gpu_place *place, ULONGLONG offset,
				     ULONGLONG wanted, BOOLEAN is_write, struct neighbours *next,
				     struct span *span)
{
	offset += place->offset;
	if (place->segment != GPU_PLACE_VIRTUAL)
		return reach_segment(world, place->segment, offset, wanted, span);
	return reach_by_walk(world, root, offset, wanted, is_write, next, span);
}

static INLINED enum reach reach_place(const struct cuda_world *world, const struct gpu_root *root,
				      const struct gpu_place *place, ULONGLONG offset,
				      ULONGLONG wanted, BOOLEAN is_write, struct span *span)
{
	return reach_near(world, root, place, offset, wanted, is_write, NULL, span);
}

/* ---- bytes, by some threads at once ---- */

typedef ULONGLONG pair __attribute__((vector_size(16), may_alias));

static INLINED void fill_bytes(ULONGLONG to, ULONGLONG size_bytes, ULONG pattern, ULONG thread,
			       ULONG threads)
{
	ULONGLONG both = (ULONGLONG)pattern << 32 | pattern;
	ULONGLONG pairs = to % 16 == 0 ? size_bytes / 16 : 0;
	const pair value = { both, both };
	pair *wide = (pair *)(ULONG_PTR)to;
	ULONG *words = (ULONG *)(ULONG_PTR)to;

	for (ULONGLONG i = thread; i < pairs; i += threads)
		wide[i] = value;
	for (ULONGLONG i = pairs * 4 + thread; i < size_bytes / 4; i += threads)
		words[i] = pattern;
}

static INLINED void zero_bytes(ULONGLONG to, ULONGLONG size_bytes, ULONG thread, ULONG threads)
{
	UCHAR *bytes = (UCHAR *)(ULONG_PTR)to;

	for (ULONGLONG i = thread; i < size_bytes; i += threads)
		bytes[i] = 0;
}

static INLINED void copy_bytes(ULONGLONG to, ULONGLONG from, ULONGLONG size_bytes, ULONG thread,
			       ULONG threads)
{
	ULONGLONG pairs = (to | from) % 16 == 0 ? size_bytes / 16 : 0;
	pair *wide = (pair *)(ULONG_PTR)to;
	const pair *wide_from = (const pair *)(ULONG_PTR)from;
	UCHAR *bytes = (UCHAR *)(ULONG_PTR)to;
	const UCHAR *bytes_from = (const UCHAR *)(ULONG_PTR)from;
	ULONGLONG i = thread;

	/* Several on their way at once: they are far away. */
	for (; i + 3ULL * threads < pairs; i += 4ULL * threads) {
		pair a = wide_from[i];
		pair b = wide_from[i + threads];
		pair c = wide_from[i + 2ULL * threads];
		pair d = wide_from[i + 3ULL * threads];

		wide[i] = a;
		wide[i + threads] = b;
		wide[i + 2ULL * threads] = c;
		wide[i + 3ULL * threads] = d;
	}
	for (; i < pairs; i += threads)
		wide[i] = wide_from[i];
	/* Entries of page tables are copied, too: whoever walks them meanwhile finds whole ones. */
	ULONGLONG words = (to | from) % 8 == 0 ? size_bytes / 8 : 0;
	for (i = pairs * 2 + thread; i < words; i += threads)
		store_word((ULONGLONG *)(ULONG_PTR)to + i,
			   load_word((const ULONGLONG *)(ULONG_PTR)from + i));
	ULONGLONG done = words ? words * 8 : pairs * 16;
	for (i = done + thread; i < size_bytes; i += threads)
		bytes[i] = bytes_from[i];
}

#endif
