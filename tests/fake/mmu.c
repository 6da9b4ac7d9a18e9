/* SPDX-License-Identifier: MIT */
/*
 * mmu.c - see mmu.h.
 */
#include <stdlib.h>
#include <string.h>

#include "fake/check.h"
#include "fake/mmu.h"

/* ---- entries ---- */

static uint64_t entry_of(const struct miniport_paging_op *op, const struct miniport_pte *entries,
			 uint32_t i)
{
	bool is_one_for_all = op->update_table.is_repeated || op->update_table.is_run;
	struct miniport_pte entry = entries[is_one_for_all ? 0 : i];

	if (op->update_table.is_run)
		entry.page += i;
	return pte_pack(&entry);
}

uint64_t fake_entry(const struct miniport_paging_op *op, uint32_t i)
{
	return entry_of(op, op->update_table.entries, i);
}

uint64_t fake_second_entry(const struct miniport_paging_op *op, uint32_t i)
{
	return op->update_table.wide_entries ? pte_pack(&op->update_table.wide_entries[i]) : 0;
}

uint32_t fake_entry_words(const struct miniport_gpu_mmu *mmu, uint32_t level)
{
	return level == 1 && (mmu->flags & TABLES_ARE_DUAL) ? 2 : 1;
}

/* ---- the walk ---- */

/* How many bits of a page number are below the index of that level. */
static uint32_t shift_of(const struct fake_mmu *mmu, uint32_t level)
{
	uint32_t shift = 0;

	for (uint32_t i = 0; i < level; i++)
		shift += mmu->described->levels[i].index_bits;
	return shift;
}

static uint64_t index_of(const struct fake_mmu *mmu, uint32_t level, uint64_t page)
{
	uint64_t index = page >> shift_of(mmu, level);

	if (level + 1 == mmu->described->level_count)
		return index;
	return index & ((UINT64_C(1) << mmu->described->levels[level].index_bits) - 1);
}

/* Hardware reads entries ahead of time, also while the CPU writes them: one at once. */
static uint64_t read_word(struct fake_mmu *mmu, uint32_t segment, uint64_t offset_bytes)
{
	return __atomic_load_n((uint64_t *)(void *)fake_pointer(mmu->memory, segment, offset_bytes),
			       __ATOMIC_ACQUIRE);
}

static void visit(struct fake_mmu *mmu, uint64_t entry, bool is_wide)
{
	if (mmu->visits)
		mmu->visits(mmu->context, packed_segment(entry), packed_offset(entry), is_wide);
}

static uint64_t leaf_word(struct fake_mmu *mmu, uint64_t pointer, uint64_t index, bool is_wide)
{
	visit(mmu, pointer, is_wide);
	return read_word(mmu, packed_segment(pointer), packed_offset(pointer) + index * 8);
}

/* The page of 4 KiB that an entry of 64 KiB shows there. */
static uint64_t of_wide(struct fake_mmu *mmu, uint64_t entry, uint64_t page)
{
	mmu->wide_walks++;
	if (!(entry & PACKED_VALID))
		return entry;
	CHECK((entry >> PACKED_PAGE_SHIFT) % GPUVA_WIDE_PAGES == 0);
	return entry + (page % GPUVA_WIDE_PAGES << PACKED_PAGE_SHIFT);
}

/* The leaf that one or two pointers lead to. */
static uint64_t walk_leaf(struct fake_mmu *mmu, uint64_t pointer, uint64_t second, uint64_t page)
{
	uint64_t index = index_of(mmu, 0, page);
	uint64_t wide = 0;

	if (pointer & PACKED_TABLE_64K)
		return of_wide(mmu, leaf_word(mmu, pointer, index / GPUVA_WIDE_PAGES, true), page);
	uint64_t narrow = leaf_word(mmu, pointer, index, false);
	if (second & PACKED_VALID)
		wide = leaf_word(mmu, second, index / GPUVA_WIDE_PAGES, true);
	CHECK(narrow == 0 || wide == 0);
	return wide != 0 ? of_wide(mmu, wide, page) : narrow;
}

static uint64_t of_large(struct fake_mmu *mmu, uint64_t entry, uint32_t level, uint64_t page)
{
	uint64_t index = page & ((UINT64_C(1) << shift_of(mmu, level)) - 1);

	mmu->large_walks++;
	mmu->huge_walks += level > 1;
	return (entry & ~(uint64_t)PACKED_LARGE) + (index << PACKED_PAGE_SHIFT);
}

uint64_t fake_walk(struct fake_mmu *mmu, const struct page_tables_root *root, uint64_t page)
{
	uint32_t top = mmu->described->level_count - 1;
	uint32_t segment = root->segment;
	uint64_t offset = root->offset_bytes;

	CHECK(page >> (mmu->described->address_bits - MACHINE_PAGE_SHIFT) == 0);
	for (uint32_t level = top;; level--) {
		uint64_t index = index_of(mmu, level, page);
		uint32_t words = fake_entry_words(mmu->described, level);

		if (level == top && index >= root->entry_count)
			return 0;
		offset += index * words * 8;
		uint64_t entry = read_word(mmu, segment, offset);
		if (!(entry & PACKED_VALID))
			return entry;
		if (entry & PACKED_LARGE)
			return of_large(mmu, entry, level, page);
		if (level == 1)
			return walk_leaf(mmu, entry,
					 words > 1 ? read_word(mmu, segment, offset + 8) : 0, page);
		visit(mmu, entry, false);
		segment = packed_segment(entry);
		offset = packed_offset(entry);
	}
}

/* ---- the TLB ---- */

void fake_tlb_init(struct fake_tlb *tlb, uint64_t first_page, uint64_t page_count)
{
	*tlb = (struct fake_tlb){ .first_page = first_page,
				  .page_count = page_count,
				  .entries = calloc(page_count, sizeof(*tlb->entries)),
				  .is_cached = calloc(page_count, sizeof(*tlb->is_cached)) };
	CHECK(tlb->entries && tlb->is_cached);
}

void fake_tlb_finish(struct fake_tlb *tlb)
{
	free(tlb->entries);
	free(tlb->is_cached);
}

static uint64_t look(struct fake_tlb *tlb, struct fake_mmu *mmu,
		     const struct page_tables_root *root, uint64_t i)
{
	uint64_t entry = fake_walk(mmu, root, tlb->first_page + i);

	tlb->entries[i] = entry;
	tlb->is_cached[i] = entry != 0 || !tlb->caches_no_invalid;
	return entry;
}

void fake_tlb_look_ahead(struct fake_tlb *tlb, struct fake_mmu *mmu,
			 const struct page_tables_root *root)
{
	for (uint64_t i = 0; i < tlb->page_count; i++) {
		if (!tlb->is_cached[i])
			look(tlb, mmu, root, i);
	}
}

uint64_t fake_tlb_seen(struct fake_tlb *tlb, struct fake_mmu *mmu,
		       const struct page_tables_root *root, uint64_t page)
{
	CHECK(page >= tlb->first_page && page - tlb->first_page < tlb->page_count);
	uint64_t i = page - tlb->first_page;
	return tlb->is_cached[i] ? tlb->entries[i] : look(tlb, mmu, root, i);
}

void fake_tlb_flush(struct fake_tlb *tlb, uint64_t first_page, uint64_t end_page)
{
	uint64_t end = tlb->first_page + tlb->page_count;

	if (end > end_page)
		end = end_page;
	for (uint64_t page = tlb->first_page > first_page ? tlb->first_page : first_page;
	     page < end; page++)
		tlb->is_cached[page - tlb->first_page] = false;
}

void fake_tlb_flush_all(struct fake_tlb *tlb)
{
	fake_tlb_flush(tlb, 0, UINT64_MAX);
}
