/* SPDX-License-Identifier: MIT */
/*
 * table_validate.c - three views of every page: what is true, what the driver was given, what a GPU
 * finds. See page_tables.h.
 *
 * Locks: page_tables.lock.
 */

#include "pagetable/table_tree.h"

struct recount {
	struct page_tables *tables;
	page_table_walk *walk;
	void *context;
	uint64_t table_count;
	uint64_t table_bytes;
	uint64_t page;
	const char *wrong;
};

static bool fail(struct recount *recount, uint64_t page, const char *wrong)
{
	recount->page = page;
	recount->wrong = wrong;
	return false;
}

static void count_table(struct recount *recount, const struct table *table)
{
	recount->table_count += table->wide ? 2 : 1;
	recount->table_bytes += table->size_bytes + (table->wide ? table->wide->size_bytes : 0);
}

static bool walk_page(struct recount *recount, uint64_t page, const struct miniport_pte *expected)
{
	if (!recount->walk)
		return true;
	struct miniport_pte found = recount->walk(recount->context, recount->tables, page);
	if (pte_pack(&found) != pte_pack(expected))
		return fail(recount, page, "a walk finds something else");
	return true;
}

/* Pages [page, end_page) of a leaf: what a walk finds, and with `is_given` the entries of 4 KiB. */
static bool check_pages_locked(struct recount *recount, const struct table *table, uint64_t page,
			       uint64_t end_page, bool is_given)
{
	struct page_tables *tables = recount->tables;

	lock_assert_held(&recount->tables->lock);
	while (page < end_page) {
		struct gpuva_view view;
		uint64_t count;

		gpuva_space_look(&tables->space, page, &view);
		if (view.page_count > end_page - page)
			view.page_count = end_page - page;
		struct miniport_pte entry = table_first_entry_locked(tables, &view, &count);
		for (uint64_t i = 0; i < count; i++, page++) {
			if (is_given &&
			    pte_pack(&entry) !=
				    table_given(table, table_index(tables, table, page)))
				return fail(recount, page, "the driver was given another entry");
			if (!walk_page(recount, page, &entry))
				return false;
			if (view.state.kind == GPUVA_KIND_MAPPED && entry.is_valid)
				entry.page++;
		}
	}
	return true;
}

static bool check_wide_entries(struct recount *recount, const struct table *wide, uint64_t page,
			       const struct wide_part *part)
{
	const struct page_tables *tables = recount->tables;
	const uint64_t *packed = tables->config->scratch->packed;
	uint32_t index = table_index(tables, wide, page);

	for (uint32_t i = 0; i < part->count; i++) {
		if (table_given(wide, index + i) != packed[part->is_repeated ? 0 : i])
			return fail(recount, page + i * (uint64_t)GPUVA_WIDE_PAGES,
				    "the driver was given another entry of 64 KiB");
	}
	return true;
}

/* Valid in one of the two at most: of its entries here nothing is. */
static bool check_invalid(struct recount *recount, const struct table *table, uint64_t page,
			  uint64_t page_count)
{
	uint32_t index = table_index(recount->tables, table, page);

	for (uint32_t i = 0; i < page_count >> table->shift; i++) {
		if (table_given(table, index + i) != 0)
			return fail(recount, page, "the same 64 KiB are valid twice");
	}
	return true;
}

/* A leaf that has a twin, which is led to alone or beside it. */
static bool check_wide_locked(struct recount *recount, const struct table *table)
{
	struct page_tables *tables = recount->tables;
	uint64_t end_page = table_end(tables, table);
	uint64_t page_count;

	lock_assert_held(&recount->tables->lock);
	for (uint64_t page = table->first_page; page < end_page; page += page_count) {
		struct wide_part part;
		bool is_right;

		table_wide_part_locked(tables, page, end_page, &part);
		page_count = part.count > 0 ? (uint64_t)part.count << GPUVA_WIDE_SHIFT
					    : GPUVA_WIDE_PAGES;
		if (part.count == 0 && table->shows_wide)
			return fail(recount, page, "what is shown is no 64 KiB page");
		if (part.count == 0)
			is_right =
				check_invalid(recount, table->wide, page, page_count) &&
				check_pages_locked(recount, table, page, page + page_count, true);
		else
			is_right =
				check_wide_entries(recount, table->wide, page, &part) &&
				(table->shows_wide ||
				 check_invalid(recount, table, page, page_count)) &&
				check_pages_locked(recount, table, page, page + page_count, false);
		if (!is_right)
			return false;
	}
	return true;
}

static bool check_leaf_locked(struct recount *recount, const struct table *table)
{
	const struct page_tables *tables = recount->tables;

	lock_assert_held(&recount->tables->lock);
	if (table->shows_wide || (table->wide && tables_are_dual(tables)))
		return check_wide_locked(recount, table);
	return check_pages_locked(recount, table, table->first_page, table_end(tables, table),
				  true);
}

/* What has no table shows zeroes or nothing, from end to end. */
static bool check_bare_locked(struct recount *recount, uint64_t first_page, uint64_t page_count)
{
	struct page_tables *tables = recount->tables;
	bool is_zero = tables_is_zero_locked(tables, first_page, page_count);
	struct miniport_pte entry =
		table_entry_of_kind(tables, is_zero ? GPUVA_KIND_ZERO : GPUVA_KIND_FREE);
	struct gpuva_view view = { 0 };

	lock_assert_held(&recount->tables->lock);
	for (uint64_t page = first_page; page < first_page + page_count; page += view.page_count) {
		gpuva_space_look(&tables->space, page, &view);
		if (!is_zero && view.state.kind != GPUVA_KIND_FREE &&
		    view.state.kind != GPUVA_KIND_NO_ACCESS)
			return fail(recount, page, "there is no table for what is shown");
		if (!walk_page(recount, page, &entry))
			return false;
	}
	return walk_page(recount, first_page + page_count - 1, &entry);
}

static bool check_table_locked(struct recount *recount, const struct table *table);

static bool check_unreachable(struct recount *recount, const struct table *table)
{
	count_table(recount, table);
	if (table->is_written)
		return fail(recount, table->first_page, "a table is where nothing leads to it");
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++) {
		if (table->below[i] && !check_unreachable(recount, table->below[i]))
			return false;
	}
	return true;
}

/* The tables that would be there wait, and lead nowhere. */
static bool check_large(struct recount *recount, const struct table *below,
			struct miniport_pte entry)
{
	uint64_t pages = gpuva_shape_table_pages(&recount->tables->config->shape, below->level);

	if (!check_unreachable(recount, below))
		return false;
	entry.is_large = false;
	for (uint64_t i = 0; i < pages; i++, entry.page++) {
		if (!walk_page(recount, below->first_page + i, &entry))
			return false;
	}
	return true;
}

/* One that was made for what was refused then: it is as if there were none. */
static bool check_waiting_locked(struct recount *recount, const struct table *below, uint64_t given)
{
	struct page_tables *tables = recount->tables;
	uint64_t pages = gpuva_shape_table_pages(&tables->config->shape, below->level);

	lock_assert_held(&recount->tables->lock);
	if ((given != 0) != tables_is_zero_locked(tables, below->first_page, pages))
		return fail(recount, below->first_page, "a table was never written, or not all");
	return check_unreachable(recount, below) &&
	       check_bare_locked(recount, below->first_page, pages);
}

static bool check_below_locked(struct recount *recount, const struct table *table, uint32_t index)
{
	const struct table *below = table->below[index];

	lock_assert_held(&recount->tables->lock);
	return below->is_written ? check_table_locked(recount, below)
				 : check_waiting_locked(recount, below, table_given(table, index));
}

static bool is_second_right_locked(const struct page_tables *tables, const struct table *table,
				   uint32_t index)
{
	lock_assert_held(&tables->lock);
	if (!table->given_wide)
		return true;
	struct miniport_pte entry = table_wide_entry_above_locked(tables, table, index);
	return pte_pack(&entry) == table->given_wide[index];
}

static bool check_table_locked(struct recount *recount, const struct table *table)
{
	struct page_tables *tables = recount->tables;
	uint64_t pages = gpuva_shape_entry_pages(&tables->config->shape, table->level);

	lock_assert_held(&recount->tables->lock);
	count_table(recount, table);
	if (!table->is_written || table->is_behind)
		return fail(recount, table->first_page, "a table was never written, or not all");
	if (table->level == 0)
		return check_leaf_locked(recount, table);
	for (uint32_t i = 0; i < table->entry_count; i++) {
		struct miniport_pte entry = table_entry_above_locked(tables, table, i);
		uint64_t first_page = table->first_page + i * pages;

		if (pte_pack(&entry) != table_given(table, i) ||
		    !is_second_right_locked(tables, table, i))
			return fail(recount, first_page, "an entry leads to another table");
		if (entry.is_large    ? !check_large(recount, table->below[i], entry)
		    : table->below[i] ? !check_below_locked(recount, table, i)
				      : !check_bare_locked(recount, first_page, pages))
			return false;
	}
	return true;
}

/* Above a root that may grow there is nothing. */
static bool check_above_root(struct recount *recount)
{
	struct page_tables *tables = recount->tables;
	struct miniport_pte nothing = { 0 };
	struct gpuva_view view = { 0 };

	if (tables->end_page != table_end(tables, tables->root))
		return fail(recount, tables->end_page, "the root ends somewhere else");
	for (uint64_t page = tables->end_page; page < tables->space.page_count;
	     page += view.page_count) {
		gpuva_space_look(&tables->space, page, &view);
		if (view.state.kind != GPUVA_KIND_FREE && view.state.kind != GPUVA_KIND_NO_ACCESS)
			return fail(recount, page, "the root does not reach what is shown");
		if (!walk_page(recount, page, &nothing))
			return false;
	}
	return true;
}

/* Nothing is where it is, so nothing was given to anybody. */
static bool check_out(struct recount *recount, const struct table *table)
{
	recount->table_count++;
	recount->table_bytes += table->size_bytes;
	if (table->wide && !check_out(recount, table->wide))
		return false;
	for (uint32_t i = 0; i < table->entry_count; i++) {
		if (table->is_written || table_given(table, i) != 0)
			return fail(recount, table->first_page,
				    "a table that has no memory was written");
		if (table->level > 0 && table->below[i] && !check_out(recount, table->below[i]))
			return false;
	}
	return true;
}

const char *page_tables_validate(struct page_tables *tables, page_table_walk *walk, void *context,
				 uint64_t *page_out)
{
	struct recount recount = { .tables = tables, .walk = walk, .context = context };

	lock_acquire(&tables->lock);
	recount.wrong = gpuva_validate(&tables->space);
	if (!recount.wrong && (tables->is_out ? check_out(&recount, tables->root)
					      : check_table_locked(&recount, tables->root) &&
							check_above_root(&recount))) {
		for (uint32_t level = 0; level < GPUVA_MAX_LEVELS; level++) {
			if (tables->zeroes[level])
				count_table(&recount, tables->zeroes[level]);
		}
		if (recount.table_count != tables->table_count)
			recount.wrong = "a table is in no tree";
		else if (recount.table_bytes != tables->table_bytes)
			recount.wrong = "bytes of tables were miscounted";
	}
	lock_release(&tables->lock);
	*page_out = recount.page;
	return recount.wrong;
}
