/* SPDX-License-Identifier: MIT */
/* op_entry.h - one entry of an update, packed. */
#ifndef TESTS_UNIT_VIDMM_OP_ENTRY_H
#define TESTS_UNIT_VIDMM_OP_ENTRY_H

#include "pagetable/table_tree.h"

static inline uint64_t op_entry(const struct paging_op *op, uint32_t i)
{
	struct miniport_pte entry = miniport_update_entry(
		op->update_table.entries, op->update_table.is_repeated, op->update_table.is_run, i);

	return pte_pack(&entry);
}

#endif
