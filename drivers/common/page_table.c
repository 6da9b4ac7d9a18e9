/* SPDX-License-Identifier: MIT */
/*
 * page_table.c - see page_table.h.
 *
 *   in:   a root, an address, a way to read entries
 *   out:  where the byte is, or at which level the walk stopped
 *
 *	root ─▶ |level 3| ─▶ |level 2| ─▶ |level 1| ─▶ |level 0| ─▶ page
 *	         47..39       38..30       29..21       20..12       11..0
 *
 * An entry is read once and as a whole, so an update that runs beside a walk is seen before or
 * after, never half. Locks: none.
 */
#include "page_table.h"

ULONGLONG gpu_pte_encode(const DXGK_PTE *pte)
{
	ULONGLONG entry;

	if (pte->Zero)
		return SOFTGPU_PTE_ZERO;
	if (!pte->Valid)
		return 0;
	entry = SOFTGPU_PTE_VALID | pte->PageAddress << GPU_PAGE_BITS |
		(ULONGLONG)pte->Segment << SOFTGPU_PTE_SEGMENT_SHIFT;
	if (pte->ReadOnly)
		entry |= SOFTGPU_PTE_READ_ONLY;
	if (pte->LargePage)
		entry |= SOFTGPU_PTE_LARGE;
	if (pte->PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB)
		entry |= SOFTGPU_PTE_TABLE_64K;
	return entry;
}

/* A walk under way: the table it has come to. */
struct walk {
	const struct gpu_settings *settings;
	ULONGLONG address;
	BOOLEAN is_write;
	gpu_entry_reader *read_entry;
	void *reader_context;

	ULONG level;
	ULONG segment;
	ULONGLONG table;
	ULONG shift; /* log2 of bytes that an entry of it covers */
	ULONGLONG limit;
	BOOLEAN is_read_only;

	struct gpu_translation *translation;
	struct gpu_walk_fault *fault;
};

static BOOLEAN read_at(const struct walk *walk, ULONGLONG index, ULONGLONG *entry_out)
{
	return walk->read_entry(walk->reader_context, walk->segment,
				walk->table + index * sizeof(*entry_out), entry_out);
}

static void go_below(struct walk *walk, ULONGLONG entry, ULONG shift, ULONG bits)
{
	walk->segment = (ULONG)((entry & SOFTGPU_PTE_SEGMENT_MASK) >> SOFTGPU_PTE_SEGMENT_SHIFT);
	walk->table = entry & SOFTGPU_PTE_ADDRESS_MASK;
	walk->level--;
	walk->shift = shift;
	walk->limit = 1u << bits;
}

/* Leaf entries of 64 KiB, and where there are two tables, whether this address is in them. */
static void choose_leaf(struct walk *walk, ULONGLONG index, ULONGLONG entry)
{
	struct walk wide = *walk;
	ULONGLONG second = 0;
	ULONGLONG found;

	if (entry & SOFTGPU_PTE_TABLE_64K) {
		go_below(walk, entry, GPU_64K_BITS, GPU_64K_TABLE_BITS);
		return;
	}
	if (walk->settings->pages_64k == GPU_64K_DUAL &&
	    read_at(walk, index + (1u << GPU_TABLE_BITS), &second) &&
	    (second & SOFTGPU_PTE_VALID)) {
		go_below(&wide, second, GPU_64K_BITS, GPU_64K_TABLE_BITS);
		if (read_at(&wide, walk->address >> GPU_64K_BITS & (wide.limit - 1), &found) &&
		    (found & (SOFTGPU_PTE_VALID | SOFTGPU_PTE_ZERO))) {
			*walk = wide;
			return;
		}
	}
	go_below(walk, entry, GPU_PAGE_BITS, GPU_TABLE_BITS);
}

/* The entry that says where the page is. */
static BOOLEAN end_walk(const struct walk *walk, ULONGLONG index, ULONGLONG entry)
{
	ULONGLONG page_bytes = 1ULL << walk->shift;
	ULONGLONG in_page = walk->address & (page_bytes - 1);
	BOOLEAN is_zero = (entry & SOFTGPU_PTE_ZERO) != 0;

	if (walk->is_write && walk->is_read_only && !is_zero) {
		walk->fault->is_write_protected = TRUE;
		return FALSE;
	}
	*walk->translation = (struct gpu_translation){
		.segment = (ULONG)((entry & SOFTGPU_PTE_SEGMENT_MASK) >> SOFTGPU_PTE_SEGMENT_SHIFT),
		.is_zero = is_zero,
		.offset = (entry & SOFTGPU_PTE_ADDRESS_MASK) + in_page,
		.size_bytes = page_bytes - in_page,
		.entry = entry,
		.entry_segment = walk->segment,
		.entries_behind =
			walk->shift == GPU_PAGE_BITS ? (ULONG)(walk->limit - index - 1) : 0,
		.entry_offset = walk->table + index * sizeof(entry),
	};
	return TRUE;
}

static BOOLEAN do_walk(struct walk *walk)
{
	ULONGLONG index = walk->address >> walk->shift;

	for (;;) {
		ULONGLONG entry;

		walk->fault->level = walk->level;
		if (index >= walk->limit || !read_at(walk, index, &entry))
			return FALSE;
		if (!(entry & (SOFTGPU_PTE_VALID | SOFTGPU_PTE_ZERO)))
			return FALSE;
		walk->is_read_only |= (entry & SOFTGPU_PTE_READ_ONLY) != 0;
		if (walk->level == 0 || (entry & (SOFTGPU_PTE_ZERO | SOFTGPU_PTE_LARGE)))
			return end_walk(walk, index, entry);
		if (walk->level == 1)
			choose_leaf(walk, index, entry);
		else
			go_below(walk, entry, walk->shift - GPU_TABLE_BITS, GPU_TABLE_BITS);
		index = (walk->address >> walk->shift) & (walk->limit - 1);
	}
}

BOOLEAN gpu_walk(const struct gpu_settings *settings, const struct gpu_root *root,
		 ULONGLONG address, BOOLEAN is_write, gpu_entry_reader *read_entry,
		 void *reader_context, struct gpu_translation *translation_out,
		 struct gpu_walk_fault *fault_out)
{
	ULONG level = settings->page_table_levels - 1;
	struct walk walk = {
		.settings = settings,
		.address = address,
		.is_write = is_write,
		.read_entry = read_entry,
		.reader_context = reader_context,
		.level = level,
		.segment = root->segment,
		.table = root->offset,
		.shift = GPU_PAGE_BITS + GPU_TABLE_BITS * level,
		.limit = root->entry_count,
		.translation = translation_out,
		.fault = fault_out,
	};

	*fault_out = (struct gpu_walk_fault){ .level = level };
	if (address >> settings->address_bits != 0)
		return FALSE;
	return do_walk(&walk);
}
