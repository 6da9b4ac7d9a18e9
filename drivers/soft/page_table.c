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

/* How many from ptes[0] on say the same of pages in a row. */
static ULONGLONG count_pages_in_a_row(const DXGK_PTE *ptes, ULONGLONG count)
{
	/* Both halves, and four entries at once: there are many, and they nearly always go on. */
	typedef ULONGLONG halves __attribute__((vector_size(sizeof(DXGK_PTE)), aligned(8)));
	const halves *entries = (const halves *)ptes;
	const halves next = { 0, 4 };
	halves expected[4] = { entries[0] };
	ULONGLONG length = 0;

	for (ULONGLONG i = 1; i < 4; i++)
		expected[i] = entries[0] + (halves){ 0, i };
	while (length + 4 <= count) {
		halves difference =
			(entries[length] ^ expected[0]) | (entries[length + 1] ^ expected[1]) |
			(entries[length + 2] ^ expected[2]) | (entries[length + 3] ^ expected[3]);

		if ((difference[0] | difference[1]) != 0)
			break;
		expected[0] += next;
		expected[1] += next;
		expected[2] += next;
		expected[3] += next;
		length += 4;
	}
	if (length == 0)
		length = 1;
	while (length < count && ptes[length].Flags == ptes[0].Flags &&
	       ptes[length].PageAddress == ptes[0].PageAddress + length)
		length++;
	return length;
}

ULONGLONG soft_pte_run(const DXGK_PTE *ptes, ULONGLONG count, ULONGLONG *value_out,
		       ULONGLONG *stride_out)
{
	ULONGLONG first = soft_pte_encode(&ptes[0]);
	ULONGLONG length = count_pages_in_a_row(ptes, count);
	ULONGLONG stride = 0;

	if (length > 1 && ptes[0].Valid && !ptes[0].Zero) {
		stride = 1ULL << SOFT_PAGE_BITS;
	} else if (count > 1) {
		stride = soft_pte_encode(&ptes[1]) - first;
		length = 2;
		while (length < count && soft_pte_encode(&ptes[length]) == first + length * stride)
			length++;
	}
	*value_out = first;
	*stride_out = stride;
	return length;
}

/*
 * Two at once: whatever stores a row of aligned quadwords stores each of them as a whole, and one
 * by one takes twice as long.
 */
static void store_run(ULONGLONG *table, ULONGLONG count, ULONGLONG value, ULONGLONG stride)
{
	typedef ULONGLONG two_entries
		__attribute__((vector_size(2 * sizeof(ULONGLONG)), aligned(8)));
	two_entries two = { value, value + stride };
	ULONGLONG i = 0;

#ifndef __SANITIZE_THREAD__
	for (; i + 2 <= count; i += 2) {
		*(volatile two_entries *)&table[i] = two;
		two += 2 * stride;
	}
#endif
	(void)two;
	for (; i < count; i++)
		__atomic_store_n(&table[i], value + i * stride, __ATOMIC_RELAXED);
}

void soft_pte_store(ULONGLONG *table, const DXGK_PTE *ptes, ULONGLONG count, BOOLEAN is_repeated)
{
	/* What was written before, tables below among it, is seen before what leads to it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (is_repeated) {
		store_run(table, count, soft_pte_encode(&ptes[0]), 0);
		return;
	}
	for (ULONGLONG done = 0; done < count;) {
		ULONGLONG value;
		ULONGLONG stride;
		ULONGLONG length = soft_pte_run(&ptes[done], count - done, &value, &stride);

		store_run(&table[done], length, value, stride);
		done += length;
	}
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
