/*
 * pte.h - page-table entries as drivers are given them.
 */
#ifndef MINIPORT_PTE_H
#define MINIPORT_PTE_H

#include <ddk/d3dkmddi.h>

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

/* For `count` pages in a row. */
static inline void pte_write_run(const struct miniport_pte *first, uint32_t count,
				 DXGK_PTE *entries)
{
	/* Both halves, and two entries at once: there are many of them. */
	typedef uint64_t halves __attribute__((vector_size(sizeof(DXGK_PTE)), aligned(8)));
	const DXGK_PTE entry = pte_from(first);
	const halves next = { 0, 2 };
	halves even = { entry.Flags, entry.PageAddress };
	halves odd = { entry.Flags, entry.PageAddress + 1 };
	halves *out = (halves *)entries;
	uint32_t done = 0;

	for (; done + 2 <= count; done += 2) {
		out[done] = even;
		out[done + 1] = odd;
		even += next;
		odd += next;
	}
	if (done < count)
		out[done] = even;
}

#endif
