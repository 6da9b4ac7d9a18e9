/* SPDX-License-Identifier: MIT */
/* op_entry.h - one entry of an update, packed. */
#ifndef TESTS_UNIT_PAGETABLE_OP_ENTRY_H
#define TESTS_UNIT_PAGETABLE_OP_ENTRY_H

#include "pagetable/table_tree.h"

static inline uint64_t op_entry(const struct miniport_paging_op *op, uint32_t i)
{
	bool is_one_for_all = op->update_table.is_repeated || op->update_table.is_run;
	struct miniport_pte entry = op->update_table.entries[is_one_for_all ? 0 : i];

	if (op->update_table.is_run)
		entry.page += i;
	return pte_pack(&entry);
}

#endif
