/* SPDX-License-Identifier: MIT */
/*
 * lists.h - kernels that do what lists of items say (lanes.h): part of kernels.c, which is one
 * translation unit, and whose memory of a block they use.
 */
#ifndef CUDA_LISTS_H
#define CUDA_LISTS_H

#include "reach.h"
#include "threads.h"
#include "work.h"

/* How many items a block looks at together: what is far away is read once, by all of its threads. */
enum { ITEMS_AT_ONCE = WINDOW_BYTES / sizeof(struct cuda_item) };

/* To block.window, until the next ones are read. */
static INLINED const struct cuda_item *read_items(ULONGLONG items, ULONGLONG first, ULONGLONG count)
{
	const ULONGLONG item_words = sizeof(struct cuda_item) / sizeof(ULONGLONG);
	const ULONGLONG *words = (const ULONGLONG *)(ULONG_PTR)items + first * item_words;

	for (ULONGLONG i = thread_in_block(); i < count * item_words; i += threads_of_block())
		block.window[i] = load_word(&words[i]);
	block_barrier();
	return (const struct cuda_item *)block.window;
}

static INLINED void do_page(const struct cuda_item *item, ULONGLONG at)
{
	const ULONG thread = thread_in_group();
	const ULONG threads = threads_of_group();

	if (at >= item->size_bytes)
		return;
	ULONGLONG size_bytes = least(item->size_bytes - at, 1ULL << GPU_PAGE_BITS);
	if (item->from)
		copy_bytes(item->to + at, item->from + at, size_bytes, thread, threads);
	else
		fill_bytes(item->to + at, size_bytes, (ULONG)item->pattern, thread, threads);
}

/* Each block has some items in a row, and a group for each page of them. */
KERNEL void cuda_pages(ULONGLONG items, ULONGLONG count)
{
	const ULONGLONG pages = CUDA_ITEM_BYTES >> GPU_PAGE_BITS;
	const ULONGLONG each = (count + blocks_of_grid() - 1) / blocks_of_grid();
	const ULONGLONG end = least(count, (block_in_grid() + 1) * each);

	for (ULONGLONG first = block_in_grid() * each; first < end; first += ITEMS_AT_ONCE) {
		ULONGLONG here = least(end - first, (ULONGLONG)ITEMS_AT_ONCE);
		const struct cuda_item *some = read_items(items, first, here);

		for (ULONGLONG i = group_in_block(); i < here * pages; i += groups_of_block())
			do_page(&some[i / pages], i % pages << GPU_PAGE_BITS);
		block_barrier();
	}
}

/* Each group has pages of its own, and writes what is in them as it comes. */
KERNEL void cuda_entries(ULONGLONG items, ULONGLONG count, ULONGLONG tables)
{
	for (ULONGLONG first = 0; first < count; first += ITEMS_AT_ONCE) {
		ULONGLONG here = least(count - first, (ULONGLONG)ITEMS_AT_ONCE);
		const struct cuda_item *some = read_items(items, first, here);

		for (ULONGLONG i = 0; i < here; i++) {
			const struct cuda_item *item = &some[i];
			ULONGLONG *to = (ULONGLONG *)(ULONG_PTR)item->to;
			ULONG threads = threads_of_group();

			if ((item->to >> GPU_PAGE_BITS) % groups_of_grid() != group_in_grid())
				continue;
			/* Each entry is always the same thread's, so they need not wait for each other. */
			for (ULONGLONG n = (thread_in_group() + threads -
					    item->to / sizeof(*to) % threads) %
					   threads;
			     n < item->count; n += threads)
				store_word(&to[n], item->value + n * item->stride);
		}
		block_barrier();
	}
	/* Who sees the count sees the entries. */
	if (thread_in_block() == 0 && tables) {
		fence_system();
		add_word((ULONGLONG *)(ULONG_PTR)tables, 1);
	}
}

#endif
