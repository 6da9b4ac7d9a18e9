/*
 * table_walk.c - entries of one table, found as hardware finds it: index by index from the root.
 *
 * Locks: page_tables.lock.
 */
#include "vidmm/table_tree.h"

static struct miniport_pte pte_unpack(uint64_t packed)
{
	return (struct miniport_pte){
		.page = packed >> PACKED_PAGE_SHIFT,
		.segment = (packed >> PACKED_SEGMENT_SHIFT) & 0x1f,
		.is_valid = (packed & PACKED_VALID) != 0,
		.is_zero = (packed & PACKED_ZERO) != 0,
		.is_read_only = (packed & PACKED_READ_ONLY) != 0,
		.is_no_execute = (packed & PACKED_NO_EXECUTE) != 0,
		.is_cache_coherent = (packed & PACKED_CACHE_COHERENT) != 0,
	};
}

/* Several entries may lead to one table of zeroes. */
static const struct table *table_below_locked(const struct page_tables *tables,
					      const struct table *table, uint32_t index)
{
	if (index >= table->entry_count || !(table->given[index] & PACKED_VALID))
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
			entries[read] = pte_unpack(table->given[index]);
	}
	lock_release(&tables->lock);
	return read;
}
