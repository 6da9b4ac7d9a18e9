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

/* A group for each page of each item. */
KERNEL void cuda_pages(ULONGLONG items, ULONGLONG count)
{
	const ULONGLONG page_bytes = 1ULL << GPU_PAGE_BITS;
	const ULONGLONG pages = CUDA_ITEM_BYTES / page_bytes;

	for (ULONGLONG i = group_in_grid(); i < count * pages; i += groups_of_grid()) {
		const struct cuda_item *item =
			(const struct cuda_item *)(ULONG_PTR)items + i / pages;
		ULONGLONG to = load_word(&item->to);
		ULONGLONG from = load_word(&item->from);
		ULONGLONG size_bytes = load_word(&item->size_bytes);
		ULONGLONG at = i % pages * page_bytes;

		if (at >= size_bytes)
			continue;
		size_bytes = least(size_bytes - at, page_bytes);
		if (from)
			copy_bytes(to + at, from + at, size_bytes, thread_in_group(),
				   threads_of_group());
		else
			fill_bytes(to + at, size_bytes, (ULONG)load_word(&item->pattern),
				   thread_in_group(), threads_of_group());
	}
}

/* Each group has pages of its own, and writes what is in them as it comes. */
KERNEL void cuda_entries(ULONGLONG items, ULONGLONG count, ULONGLONG tables)
{
	const ULONGLONG at_once = WINDOW_BYTES / sizeof(struct cuda_item);
	const ULONGLONG *words = (const ULONGLONG *)(ULONG_PTR)items;
	const ULONGLONG item_words = sizeof(struct cuda_item) / sizeof(*words);

	for (ULONGLONG first = 0; first < count; first += at_once) {
		ULONGLONG here = least(count - first, at_once);

		for (ULONGLONG i = thread_in_block(); i < here * item_words;
		     i += threads_of_block())
			block.window[i] = load_word(&words[first * item_words + i]);
		block_barrier();
		for (ULONGLONG i = 0; i < here; i++) {
			const ULONGLONG *item = (const ULONGLONG *)&block.window[i * item_words];
			ULONGLONG *to = (ULONGLONG *)(ULONG_PTR)item[0];
			ULONG threads = threads_of_group();

			if ((item[0] >> GPU_PAGE_BITS) % groups_of_grid() != group_in_grid())
				continue;
			/* Each entry is always the same thread's, so they need not wait for each other. */
			for (ULONGLONG n = (thread_in_group() + threads -
					    item[0] / sizeof(*to) % threads) %
					   threads;
			     n < item[2]; n += threads)
				store_word(&to[n], item[1] + n * item[3]);
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
