/* SPDX-License-Identifier: MIT */
/*
 * table_walk.c - entries of one table, found as hardware finds it: index by index from the root.
 *
 * Locks: page_tables.lock.
 */
#include "pagetable/table_tree.h"

/* Several entries may lead to one table of zeroes; a large page leads to none. */
static const struct table *table_below_locked(const struct page_tables *tables,
					      const struct table *table, uint32_t index)
{
	lock_assert_held(&tables->lock);
	if (index >= table->entry_count || !(table_given(table, index) & PACKED_VALID) ||
	    (table_given(table, index) & PACKED_LARGE))
		return NULL;
	if (table->below && table->below[index])
		return table->below[index];
	return tables->zeroes[table->level - 1];
}

/*
 * Of a leaf there may be two, of which one may be all that is led to; of a table above, entries may
 * have two pointers.
 */
static bool has_width(const struct page_tables *tables, const struct table *table, bool is_wide)
{
	if (table->level > 0)
		return !is_wide || table->given_wide;
	if (!is_wide)
		return !table->shows_wide;
	return table->wide && (table->shows_wide || tables_are_dual(tables));
}

static uint32_t read_locked(const struct page_tables *tables, const struct table *table,
			    uint32_t index, bool is_wide, struct miniport_pte entries[],
			    uint32_t count)
{
	bool is_second = is_wide && table->level > 0;
	uint32_t read = 0;

	lock_assert_held(&tables->lock);
	if (!has_width(tables, table, is_wide))
		return 0;
	if (is_wide && table->level == 0)
		table = table->wide;
	for (; read < count && index < table->entry_count; read++, index++)
		entries[read] = pte_unpack(is_second ? table->given_wide[index]
						     : table_given(table, index));
	return read;
}

uint32_t page_tables_read(struct page_tables *tables, uint32_t level, const uint32_t path[],
			  bool is_wide, struct miniport_pte entries[], uint32_t count)
{
	uint32_t read = 0;

	lock_acquire(&tables->lock);
	const struct table *table = tables->root;
	while (table && table->level > level)
		table = table_below_locked(tables, table, path[table->level]);
	if (table && table->level == level)
		read = read_locked(tables, table, path[level], is_wide, entries, count);
	lock_release(&tables->lock);
	return read;
}
