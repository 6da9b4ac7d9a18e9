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

ULONGLONG soft_pte_encode(const DXGK_PTE *pte)
{
	ULONGLONG entry;

	if (pte->Zero)
		return SOFTGPU_PTE_ZERO;
	if (!pte->Valid)
		return 0;
	entry = SOFTGPU_PTE_VALID | pte->PageAddress << SOFT_PAGE_BITS |
		(ULONGLONG)pte->Segment << SOFTGPU_PTE_SEGMENT_SHIFT;
	if (pte->ReadOnly)
		entry |= SOFTGPU_PTE_READ_ONLY;
	if (pte->LargePage)
		entry |= SOFTGPU_PTE_LARGE;
	return entry;
}

BOOLEAN soft_walk(const struct soft_settings *settings, const struct soft_root *root,
		  ULONGLONG address, BOOLEAN is_write, soft_entry_reader *read_entry,
		  void *reader_context, struct soft_translation *translation_out,
		  struct soft_walk_fault *fault_out)
{
	ULONG level = settings->page_table_levels - 1;
	ULONG segment = root->segment;
	ULONGLONG table = root->offset;
	ULONG shift = SOFT_PAGE_BITS + SOFT_TABLE_BITS * level;
	ULONGLONG index = address >> shift;
	ULONGLONG limit = root->entry_count;
	BOOLEAN is_read_only = FALSE;

	*fault_out = (struct soft_walk_fault){ .level = level };
	if (address >> settings->address_bits != 0)
		return FALSE;

	for (;; level--, shift -= SOFT_TABLE_BITS) {
		ULONGLONG entry;

		fault_out->level = level;
		if (index >= limit ||
		    !read_entry(reader_context, segment, table + index * sizeof(entry), &entry))
			return FALSE;
		if (!(entry & (SOFTGPU_PTE_VALID | SOFTGPU_PTE_ZERO)))
			return FALSE;
		is_read_only |= (entry & SOFTGPU_PTE_READ_ONLY) != 0;

		ULONGLONG page_bytes = 1ULL << shift;
		ULONGLONG in_page = address & (page_bytes - 1);
		BOOLEAN is_zero = (entry & SOFTGPU_PTE_ZERO) != 0;

		if (level == 0 || is_zero || (entry & SOFTGPU_PTE_LARGE)) {
			if (is_write && is_read_only && !is_zero) {
				fault_out->is_write_protected = TRUE;
				return FALSE;
			}
			*translation_out = (struct soft_translation){
				.segment = (ULONG)((entry & SOFTGPU_PTE_SEGMENT_MASK) >>
						   SOFTGPU_PTE_SEGMENT_SHIFT),
				.is_zero = is_zero,
				.offset = (entry & SOFTGPU_PTE_ADDRESS_MASK) + in_page,
				.size_bytes = page_bytes - in_page,
				.entry = entry,
				.entry_segment = segment,
				.entries_behind = level == 0 ? (ULONG)(limit - index - 1) : 0,
				.entry_offset = table + index * sizeof(entry),
			};
			return TRUE;
		}

		segment = (ULONG)((entry & SOFTGPU_PTE_SEGMENT_MASK) >> SOFTGPU_PTE_SEGMENT_SHIFT);
		table = entry & SOFTGPU_PTE_ADDRESS_MASK;
		index = (address >> (shift - SOFT_TABLE_BITS)) & ((1u << SOFT_TABLE_BITS) - 1);
		limit = 1u << SOFT_TABLE_BITS;
	}
}
