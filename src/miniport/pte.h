/* SPDX-License-Identifier: MIT */
/*
 * pte.h - page-table entries as drivers are given them.
 */
#ifndef MINIPORT_PTE_H
#define MINIPORT_PTE_H

#include <ddk/d3dkmddi.h>

#include "base/attributes.h"
#include "miniport/work.h"

static inline DXGK_PTE pte_from(const struct miniport_pte *entry)
{
	return (DXGK_PTE){
		.Valid = entry->is_valid,
		.Zero = entry->is_zero,
		.CacheCoherent = entry->is_cache_coherent,
		.ReadOnly = entry->is_read_only,
		.NoExecute = entry->is_no_execute,
		.Segment = entry->segment & 0x1f,
		.LargePage = entry->is_large,
		.PageTablePageSize = entry->is_table_64k ? DXGK_PTE_PAGE_TABLE_PAGE_64KB
							 : DXGK_PTE_PAGE_TABLE_PAGE_4KB,
		.PageAddress = entry->page,
	};
}

/*
 * For `count` pages in a row, eight at once: there are many of them. Once for every processor, and
 * once for those with wide registers.
 */
SPECIALIZED void pte_write_pages(const struct miniport_pte *first, uint32_t count,
				 DXGK_PTE *entries)
{
	typedef uint64_t two_entries __attribute__((vector_size(2 * sizeof(DXGK_PTE)), aligned(8)));
	const DXGK_PTE entry = pte_from(first);
	const uint64_t flags = entry.Flags;
	uint64_t page = entry.PageAddress;
	const two_entries next = { 0, 8, 0, 8 };
	two_entries a = { flags, page, flags, page + 1 };
	two_entries b = { flags, page + 2, flags, page + 3 };
	two_entries c = { flags, page + 4, flags, page + 5 };
	two_entries d = { flags, page + 6, flags, page + 7 };
	uint32_t done = 0;

	for (; done + 8 <= count; done += 8) {
		two_entries *out = (two_entries *)&entries[done];
		out[0] = a;
		out[1] = b;
		out[2] = c;
		out[3] = d;
		a += next;
		b += next;
		c += next;
		d += next;
	}
	for (; done < count; done++)
		entries[done] = (DXGK_PTE){ .Flags = flags, .PageAddress = page + done };
}

WIDE_REGISTERS static inline void pte_write_pages_wide(const struct miniport_pte *first,
						       uint32_t count, DXGK_PTE *entries)
{
	pte_write_pages(first, count, entries);
}

static inline void pte_write_run(const struct miniport_pte *first, uint32_t count,
				 DXGK_PTE *entries)
{
	if (HAS_WIDE_REGISTERS())
		pte_write_pages_wide(first, count, entries);
	else
		pte_write_pages(first, count, entries);
}

#endif
