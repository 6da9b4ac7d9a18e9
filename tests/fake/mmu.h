/* SPDX-License-Identifier: MIT */
/*
 * mmu.h - page tables in the GPU's memory: a driver that writes them, hardware that walks them, and a
 * TLB that has everything in it that it may and forgets only what it is told to.
 *
 * An entry is one word, as pte_pack() makes it, or two of them where entries lead to two tables: to
 * one of 4 KiB pages and one of 64 KiB pages.
 */
#ifndef TESTS_FAKE_MMU_H
#define TESTS_FAKE_MMU_H

#include "fake/memory.h"
#include "pagetable/page_tables.h"
#include "pagetable/table_tree.h"

struct fake_mmu {
	struct fake_memory *memory;
	const struct miniport_gpu_mmu *described; /* how tables look */
	/* Hears of each table that an entry leads to; NULL: nobody does. */
	void (*visits)(void *context, uint32_t segment, uint64_t offset_bytes, bool is_wide);
	void *context;
	/* Walks that ended above the leaves, above level 1, in a table of 64 KiB pages. */
	uint64_t large_walks;
	uint64_t huge_walks;
	uint64_t wide_walks;
};

/* The `i`-th entry of an update; the second word of it. */
uint64_t fake_entry(const struct miniport_paging_op *op, uint32_t i);
uint64_t fake_second_entry(const struct miniport_paging_op *op, uint32_t i);

/* How many words an entry of that level has. */
uint32_t fake_entry_words(const struct miniport_gpu_mmu *mmu, uint32_t level);

static inline uint32_t packed_segment(uint64_t entry)
{
	return (uint32_t)(entry >> PACKED_SEGMENT_SHIFT & 31);
}

static inline uint64_t packed_offset(uint64_t entry)
{
	return entry >> PACKED_PAGE_SHIFT << MACHINE_PAGE_SHIFT;
}

/* What a page shows, as its own entry of 4 KiB would have it. */
uint64_t fake_walk(struct fake_mmu *mmu, const struct page_tables_root *root, uint64_t page);

/* ---- the TLB ---- */

struct fake_tlb {
	uint64_t first_page;
	uint64_t page_count;
	bool caches_no_invalid;
	uint64_t *entries;
	bool *is_cached;
};

void fake_tlb_init(struct fake_tlb *tlb, uint64_t first_page, uint64_t page_count);
void fake_tlb_finish(struct fake_tlb *tlb);
/* It has seen all that it had not yet. */
void fake_tlb_look_ahead(struct fake_tlb *tlb, struct fake_mmu *mmu,
			 const struct page_tables_root *root);
uint64_t fake_tlb_seen(struct fake_tlb *tlb, struct fake_mmu *mmu,
		       const struct page_tables_root *root, uint64_t page);
void fake_tlb_flush(struct fake_tlb *tlb, uint64_t first_page, uint64_t end_page);
void fake_tlb_flush_all(struct fake_tlb *tlb);

#endif
