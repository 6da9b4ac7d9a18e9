/* SPDX-License-Identifier: MIT */
/*
 * root_change.c - see root_change.h.
 *
 * What the driver was given is copied, not what should be there: an entry may be on its way from
 * one to the other, and who brings it there has not come yet.
 */
#include <assert.h>

#include "base/checked.h"
#include "pagetable/root_change.h"
#include "pagetable/table_tree.h"

NTSTATUS root_change_begin(struct root_change *change, struct page_tables *tables,
			   uint64_t end_page, struct table_block_wants *wants)
{
	const struct page_tables_config *config = tables->config;
	const struct gpuva_shape *shape = &config->shape;
	uint32_t level = gpuva_shape_root(shape);
	uint64_t wanted = gpuva_shape_root_entries(shape, end_page);
	uint64_t twice = 2 * (uint64_t)tables->root->entry_count;
	struct table_size size;

	assert(shape->has_growing_root && end_page > tables->end_page);
	*change = (struct root_change){ .tables = tables };
	if (wanted < twice)
		wanted = lower_of(twice, gpuva_shape_entry_count(shape, level));
	NTSTATUS status = table_size_root(config, wanted, &size);
	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(&tables->lock);
	status = table_make(tables, level, &size, wants, &change->table);
	lock_release(&tables->lock);
	return status;
}

/*
 * The two exchange everything but themselves: whoever is in the middle of writing the root goes on
 * with the other one, and what hangs below it still finds it.
 */
static void exchange_locked(struct root_change *change)
{
	struct table *root = change->tables->root;
	struct table *other = change->table;
	struct table was = *root;

	lock_assert_held(&change->tables->lock);
	other->is_run = false;
	for (uint32_t i = 0; i < other->entry_count; i++) {
		bool is_there = i < root->entry_count;

		other->given[i] = is_there ? table_given(root, i) : 0;
		other->below[i] = is_there ? root->below[i] : NULL;
		if (other->given_wide)
			other->given_wide[i] = is_there ? root->given_wide[i] : 0;
	}
	other->is_written = root->is_written;
	other->is_behind = root->is_behind;
	other->left_out = root->left_out;
	*root = *other;
	*other = was;
}

static void make_invalid(struct page_tables *tables, const struct table *table,
			 struct miniport_paging_op *op_out)
{
	tables->config->scratch->entries[0] = (struct miniport_pte){ 0 };
	table_update_op(tables, table, 0, table->entry_count, op_out);
	op_out->update_table.is_repeated = true;
}

/* Entries that lead somewhere, in a row. */
static bool write_given_locked(struct root_change *change, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = change->tables;
	const struct table *root = tables->root;
	struct miniport_pte *entries = tables->config->scratch->entries;
	struct miniport_pte *wide_entries = tables->config->scratch->wide_entries;
	uint32_t index = change->next_index;
	uint32_t count = 0;

	lock_assert_held(&tables->lock);
	while (index < root->entry_count && table_given(root, index) == 0)
		index++;
	for (; count < TABLES_FEW_ENTRIES && index + count < root->entry_count; count++) {
		uint64_t given = table_given(root, index + count);

		if (given == 0)
			break;
		entries[count] = pte_unpack(given);
		if (root->given_wide)
			wide_entries[count] = pte_unpack(root->given_wide[index + count]);
	}
	change->next_index = index + count;
	if (count == 0)
		return false;
	table_update_op(tables, root, index, count, op_out);
	if (root->given_wide)
		op_out->update_table.wide_entries = wide_entries;
	return true;
}

static bool write_locked(struct root_change *change, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = change->tables;

	lock_assert_held(&tables->lock);
	if (change->state == ROOT_IS_OLD) {
		exchange_locked(change);
		change->state = ROOT_IS_NEW;
	}
	if (change->step == ROOT_WRITE_GIVEN)
		return write_given_locked(change, op_out);
	if (change->step != ROOT_WRITE_BEGIN)
		return false;
	/* What does not count as written is written from what is true, as ever. */
	if (!tables->root->is_written) {
		change->step = ROOT_WRITE_TRUTH;
		table_sync_init(&change->sync, tables, 0, 1);
		return false;
	}
	change->step = ROOT_WRITE_GIVEN;
	make_invalid(tables, tables->root, op_out);
	op_out->update_table.is_initial = true;
	return true;
}

bool root_change_next(struct root_change *change, struct miniport_paging_op *op_out)
{
	lock_acquire(&change->tables->lock);
	bool is_there = write_locked(change, op_out);
	lock_release(&change->tables->lock);
	if (!is_there && change->step == ROOT_WRITE_TRUTH)
		is_there = table_sync_next(&change->sync, op_out);
	return is_there;
}

void root_change_rewind(struct root_change *change)
{
	change->step = ROOT_WRITE_BEGIN;
	change->next_index = 0;
}

void root_change_undo(struct root_change *change)
{
	lock_acquire(&change->tables->lock);
	if (change->state == ROOT_IS_NEW)
		exchange_locked(change);
	change->state = ROOT_WAS_UNDONE;
	lock_release(&change->tables->lock);
	root_change_rewind(change);
}

bool root_change_last(struct root_change *change, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = change->tables;

	if (!(tables->config->mmu.flags & TABLES_END_INVALID) || change->step == ROOT_WRITE_END)
		return false;
	change->step = ROOT_WRITE_END;
	lock_acquire(&tables->lock);
	make_invalid(tables, change->table, op_out);
	lock_release(&tables->lock);
	return true;
}

void root_change_end(struct root_change *change)
{
	struct page_tables *tables = change->tables;

	lock_acquire(&tables->lock);
	table_free(tables, change->table);
	tables_reach(tables, table_end(tables, tables->root));
	lock_release(&tables->lock);
}
