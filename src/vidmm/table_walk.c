/*
 * table_walk.c - entries of one table, found as hardware finds it: index by index from the root.
 *
 * Locks: page_tables.lock.
 */
#include "vidmm/table_tree.h"

/* Several entries may lead to one table of zeroes; a large page leads to none. */
static const struct table *table_below_locked(const struct page_tables *tables,
					      const struct table *table, uint32_t index)
{
	if (index >= table->entry_count || !(table_given(table, index) & PACKED_VALID) ||
	    (table_given(table, index) & PACKED_LARGE))
		return NULL;
	if (table->below && table->below[index])
		return table->below[index];
	return tables->zeroes[table->level - 1];
}

uint32_t page_tables_read(struct page_tables *tables, uint32_t level, const uint32_t path[],
			  struct miniport_pte entries[], uint32_t count)
{
	const struct table *table;
	uint32_t read = 0;

	lock_acquire(&tables->lock);
	table = tables->root;
	while (table && table->level > level)
		table = table_below_locked(tables, table, path[table->level]);
	if (table && table->level == level) {
		uint32_t index = path[level];

		for (; read < count && index < table->entry_count; read++, index++)
			entries[read] = pte_unpack(table_given(table, index));
	}
	lock_release(&tables->lock);
	return read;
}
