/* SPDX-License-Identifier: MIT */
/*
 * kept.h - pages that cuda_run() has looked up, until page tables change: part of kernels.c, which is one
 * translation unit, and whose memory of a block it uses.
 */
#ifndef CUDA_KEPT_H
#define CUDA_KEPT_H

static SHARED void forget_pages(struct run *run)
{
	for (ULONG i = 0; i < KEPT_PAGES; i++)
		block.kept[i].pointer = 0;
	run->kept_at = run->tables;
}

/* Of these bytes, where all of them are in one page. */
static SHARED struct kept_page *kept_page_of(struct run *run, ULONGLONG address, ULONGLONG wanted)
{
	const ULONGLONG page_bytes = 1ULL << GPU_PAGE_BITS;

	if (run->kept_at != run->tables)
		forget_pages(run);
	return wanted <= page_bytes - (address & (page_bytes - 1))
		       ? (struct kept_page *)&block.kept[(address >> GPU_PAGE_BITS) % KEPT_PAGES]
		       : NULL;
}

static INLINED BOOLEAN is_page(const struct run *run, const struct kept_page *kept,
			       ULONGLONG address, BOOLEAN is_write)
{
	return kept->pointer != 0 && kept->number == address >> GPU_PAGE_BITS &&
	       kept->root_offset == run->root.offset &&
	       kept->root_entries == run->root.entry_count && (kept->is_writable || !is_write);
}

static SHARED void keep_page(const struct run *run, struct kept_page *kept, ULONGLONG address,
			     BOOLEAN is_write, const struct span *span)
{
	const ULONGLONG in_page = address & ((1ULL << GPU_PAGE_BITS) - 1);

	kept->number = address >> GPU_PAGE_BITS;
	kept->root_offset = run->root.offset;
	kept->root_entries = run->root.entry_count;
	kept->pointer = span->pointer - in_page;
	kept->physical = span->physical ? span->physical - in_page : 0;
	kept->is_writable = is_write;
}

/* reach_place(), of a virtual address. */
static SHARED enum reach reach_page(struct run *run, const struct gpu_place *place,
				    ULONGLONG offset, ULONGLONG wanted, BOOLEAN is_write,
				    struct span *span)
{
	const ULONGLONG address = place->offset + offset;
	struct kept_page *kept = kept_page_of(run, address, wanted);

	if (kept && is_page(run, kept, address, is_write)) {
		ULONGLONG in_page = address & ((1ULL << GPU_PAGE_BITS) - 1);

		span->pointer = kept->pointer + in_page;
		span->physical = kept->physical ? kept->physical + in_page : 0;
		span->size_bytes = wanted;
		return REACH_THERE;
	}
	enum reach reach =
		reach_place(run->world, &run->root, place, offset, wanted, is_write, span);
	if (reach == REACH_THERE && kept && span->pointer != 0)
		keep_page(run, kept, address, is_write, span);
	return reach;
}

#endif
