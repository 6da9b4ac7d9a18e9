/* SPDX-License-Identifier: MIT */
/*
 * page_tables.c - which tables a space has. See page_tables.h; where they are is in table_memory.c.
 *
 *	in:   ranges that are going to show something
 *	out:  a tree with all tables that takes; or none of them, and a status
 *
 * An entry above the leaves that has no table below it stands for pages that all show zeroes or
 * nothing at all; that is what page_tables_make_steps_locked() sees to.
 *
 * Locks: page_tables.lock.
 */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "gpuva/plan.h"
#include "pagetable/table_tree.h"

static const uint64_t highest_address = UINT64_C(0xFFFFFFFF);

/* ---- an adapter's ---- */

static void describe_shape(const struct miniport_gpu_mmu *mmu, struct gpuva_shape_answer *answer)
{
	*answer = (struct gpuva_shape_answer){
		.address_bits = mmu->address_bits,
		.level_count = mmu->level_count,
		.leaf_table_64k_bytes = mmu->leaf_table_size_64k_bytes,
		.has_large_pages = mmu->flags & TABLES_HAVE_LARGE,
		.has_unaligned_large_pages = mmu->flags & TABLES_HAVE_UNALIGNED,
		.has_dual_entries =
			mmu->leaf_table_size_64k_bytes != 0 && (mmu->flags & TABLES_ARE_DUAL),
	};
	for (uint32_t level = 0; level < mmu->level_count && level < GPUVA_MAX_LEVELS; level++)
		answer->levels[level] = (struct gpuva_level){
			.index_bits = mmu->levels[level].index_bits,
			.table_bytes = mmu->levels[level].table_size_bytes,
		};
}

NTSTATUS page_tables_config_init(struct page_tables_config *config)
{
	struct gpuva_shape_answer answer;

	config->scratch = NULL;
	config->zero_page = 0;
	lock_init(&config->lock, LOCK_RANK_VA_SPACES, "gpu address spaces");
	list_init(&config->spaces);
	describe_shape(&config->mmu, &answer);
	NTSTATUS status = gpuva_shape_init(&config->shape, &answer);
	if (!NT_SUCCESS(status))
		return status;
	config->scratch = mem_zalloc(sizeof(*config->scratch));
	if (!config->scratch)
		return STATUS_NO_MEMORY;
	if (config->mmu.flags & TABLES_HAVE_ZERO)
		return STATUS_SUCCESS;
	status = machine_alloc_contiguous(MACHINE_PAGE_BYTES, 0, 0, highest_address, 0,
					  &config->zero_page);
	if (!NT_SUCCESS(status))
		page_tables_config_finish(config);
	return status;
}

void page_tables_config_finish(struct page_tables_config *config)
{
	mem_free(config->scratch);
	config->scratch = NULL;
	if (config->zero_page != 0 && !machine_free_contiguous(config->zero_page))
		assert(!"the page is ours");
	config->zero_page = 0;
}

/* ---- one table ---- */

static NTSTATUS size_table(const struct page_tables_config *config, uint32_t level,
			   struct table_size *size_out)
{
	uint64_t entry_count = gpuva_shape_entry_count(&config->shape, level);

	if (entry_count > UINT32_MAX)
		return refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_TABLES, NULL,
			      "a page table of level %u would have %llu entries", level,
			      (unsigned long long)entry_count);
	*size_out = (struct table_size){ (uint32_t)entry_count,
					 config->mmu.levels[level].table_size_bytes };
	return STATUS_SUCCESS;
}

NTSTATUS table_size_root(const struct page_tables_config *config, uint64_t wanted,
			 struct table_size *size_out)
{
	uint64_t most = gpuva_shape_entry_count(&config->shape, gpuva_shape_root(&config->shape));
	uint32_t fitting = (uint32_t)wanted;

	if (wanted > UINT32_MAX)
		return refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_TABLES, NULL,
			      "a root page table would have %llu entries",
			      (unsigned long long)wanted);
	*size_out = (struct table_size){ .bytes = config->root_bytes(config->driver, &fitting) };
	if (fitting < wanted || size_out->bytes == 0)
		return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_PAGING_ANSWER, NULL,
			      "a root page table of %llu entries was said to have room for %u in "
			      "%llu bytes",
			      (unsigned long long)wanted, fitting,
			      (unsigned long long)size_out->bytes);
	size_out->entry_count = fitting < most ? fitting : (uint32_t)most;
	return STATUS_SUCCESS;
}

/* Of two levels it begins with what the driver described, which may be nothing. */
static NTSTATUS size_first_root(const struct page_tables_config *config,
				struct table_size *size_out)
{
	uint32_t root = gpuva_shape_root(&config->shape);

	if (!config->shape.has_growing_root)
		return size_table(config, root, size_out);
	return table_size_root(config, UINT64_C(1) << config->mmu.levels[root].index_bits,
			       size_out);
}

void table_free(struct page_tables *tables, struct table *table)
{
	if (!table)
		return;
	if (table->size_bytes > 0) {
		table_give_memory(tables->config, table);
		tables->table_count--;
		tables->table_bytes -= table->size_bytes;
	}
	table_free(tables, table->wide);
	mem_free(table->below);
	mem_free(table->given);
	mem_free(table->given_wide);
	mem_free(table);
}

static NTSTATUS refuse_memory(void)
{
	return refuse_no_memory("There is no memory for a page table");
}

static NTSTATUS place_table(struct table_making *making, struct table *table, uint64_t size_bytes)
{
	struct page_tables *tables = making->tables;
	NTSTATUS status = table_take_memory(making, table->level, size_bytes, &table->memory);

	if (!NT_SUCCESS(status))
		return status;
	if (table->is_wide)
		making->has_made.wide_count++;
	else
		making->has_made.count[table->level]++;
	table->size_bytes = size_bytes;
	tables->table_count++;
	tables->table_bytes += size_bytes;
	return STATUS_SUCCESS;
}

static NTSTATUS make_sized(struct table_making *making, uint32_t level,
			   const struct table_size *size, uint64_t first_page,
			   struct table **table_out)
{
	struct page_tables *tables = making->tables;
	uint64_t size_bytes = align_down(size->bytes + MACHINE_PAGE_BYTES - 1, MACHINE_PAGE_BYTES);
	struct table *table = mem_zalloc(sizeof(*table));
	NTSTATUS status = STATUS_SUCCESS;

	if (!table)
		return refuse_memory();
	table->level = level;
	table->is_wide = size->is_wide;
	table->shift = tables->config->shape.entry_shift[level];
	table->first_page = first_page;
	table->entry_count = size->entry_count;
	table_set_given(table, 0, 0);
	table->given = mem_zalloc_array(table->entry_count, sizeof(*table->given));
	if (level > 0)
		table->below = mem_zalloc_array(table->entry_count, sizeof(struct table *));
	if (level == 1 && tables_are_dual(tables))
		table->given_wide =
			mem_zalloc_array(table->entry_count, sizeof(*table->given_wide));
	if (!table->given || (level > 0 && !table->below) ||
	    (level == 1 && tables_are_dual(tables) && !table->given_wide))
		status = refuse_memory();
	if (NT_SUCCESS(status))
		status = place_table(making, table, size_bytes);
	if (!NT_SUCCESS(status)) {
		table_free(tables, table);
		return status;
	}
	*table_out = table;
	return STATUS_SUCCESS;
}

static NTSTATUS make_table(struct table_making *making, uint32_t level, uint64_t first_page,
			   struct table **table_out)
{
	struct table_size size;
	NTSTATUS status = size_table(making->tables->config, level, &size);

	return NT_SUCCESS(status) ? make_sized(making, level, &size, first_page, table_out)
				  : status;
}

/* Who waits for room waits for this much. */
static NTSTATUS note_need(const struct table_making *making, NTSTATUS status)
{
	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && making->wants)
		making->wants->need = making->need;
	return status;
}

NTSTATUS table_make(struct page_tables *tables, uint32_t level, const struct table_size *size,
		    struct table_block_wants *wants, struct table **table_out)
{
	struct table_making making = { .tables = tables, .wants = wants };

	assert(level == gpuva_shape_root(&tables->config->shape));
	making.need.count[level] = 1;
	making.need.root_bytes =
		align_down(size->bytes + MACHINE_PAGE_BYTES - 1, MACHINE_PAGE_BYTES);
	NTSTATUS status = table_making_check(&making);
	if (NT_SUCCESS(status))
		status = make_sized(&making, level, size, 0, table_out);
	return note_need(&making, status);
}

/* The same addresses in pages of 64 KiB: both places are there before either is written. */
static NTSTATUS make_wide(struct table_making *making, struct table *leaf)
{
	const struct gpuva_shape *shape = &making->tables->config->shape;
	struct table_size size = { .bytes = shape->answer.leaf_table_64k_bytes, .is_wide = true };
	struct table *wide = NULL;

	if (size.bytes == 0)
		return STATUS_SUCCESS;
	size.entry_count = (uint32_t)gpuva_shape_wide_count(shape);
	NTSTATUS status = make_sized(making, 0, &size, leaf->first_page, &wide);
	if (!NT_SUCCESS(status))
		return status;
	wide->shift = GPUVA_WIDE_SHIFT;
	leaf->wide = wide;
	return STATUS_SUCCESS;
}

/* ---- the tree ---- */

struct table *tables_at(const struct page_tables *tables, uint32_t level, uint64_t page)
{
	struct table *table = page < table_end(tables, tables->root) ? tables->root : NULL;

	while (table && table->level > level)
		table = table->below[table_index(tables, table, page)];
	return table;
}

static struct table *next_below(const struct page_tables *tables, struct table *table,
				uint32_t level, uint64_t page, uint64_t end_page)
{
	uint64_t last = end_page < table_end(tables, table) ? end_page : table_end(tables, table);

	if (page < table->first_page)
		page = table->first_page;
	if (page >= last)
		return NULL;
	if (table->level == level)
		return table;
	for (uint32_t i = table_index(tables, table, page);
	     i <= table_index(tables, table, last - 1); i++) {
		struct table *found =
			table->below[i] ? next_below(tables, table->below[i], level, page, end_page)
					: NULL;

		if (found)
			return found;
	}
	return NULL;
}

struct table *tables_next_locked(const struct page_tables *tables, uint32_t level, uint64_t page,
				 uint64_t end_page)
{
	lock_assert_held(&tables->lock);
	return next_below(tables, tables->root, level, page, end_page);
}

bool tables_is_zero_locked(const struct page_tables *tables, uint64_t first_page,
			   uint64_t page_count)
{
	struct gpuva_view view = { 0 };

	lock_assert_held(&tables->lock);
	for (uint64_t page = first_page; page < first_page + page_count; page += view.page_count) {
		gpuva_space_look(&tables->space, page, &view);
		if (view.state.kind != GPUVA_KIND_ZERO || view.state.driver_protection != 0)
			return false;
	}
	return true;
}

/* ---- making ---- */

static NTSTATUS make_zeroes(struct table_making *making, uint32_t level)
{
	struct page_tables *tables = making->tables;

	for (uint32_t below = 0; below <= level; below++) {
		struct table *table = NULL;

		if (tables->zeroes[below])
			continue;
		NTSTATUS status = make_table(making, below, 0, &table);
		if (!NT_SUCCESS(status))
			return status;
		assert(table);
		table->is_zeroes = true;
		table->made_before = making->made;
		making->made = table;
		tables->zeroes[below] = table;
	}
	return STATUS_SUCCESS;
}

static void forget_made(struct table_making *making, const struct table *table)
{
	struct page_tables *tables = making->tables;
	struct table *above = table->above;

	if (above)
		above->below[table_index(tables, above, table->first_page)] = NULL;
	else
		tables->zeroes[table->level] = NULL;
}

static void unmake(struct table_making *making)
{
	while (making->made) {
		struct table *table = making->made;

		making->made = table->made_before;
		forget_made(making, table);
		table_free(making->tables, table);
	}
}

static bool is_whole(const struct table_making *making, uint64_t first_page, uint64_t end_page)
{
	return making->first_page <= first_page && end_page <= making->end_page;
}

bool table_making_needs_one_locked(const struct table_making *making, uint64_t first_page,
				   uint64_t end_page)
{
	lock_assert_held(&making->tables->lock);
	if (making->kind == GPUVA_KIND_MAPPED)
		return true;
	if (is_whole(making, first_page, end_page))
		return false;
	if (making->time != TABLES_NOW)
		return true;
	/* The rest of it goes on to show what it shows: nothing, or zeroes. */
	return (making->kind == GPUVA_KIND_ZERO) !=
	       tables_is_zero_locked(making->tables, first_page, end_page - first_page);
}

static NTSTATUS make_below_locked(struct table_making *making, struct table *table);

static NTSTATUS make_entry_locked(struct table_making *making, struct table *table, uint32_t index)
{
	struct page_tables *tables = making->tables;
	uint64_t pages = gpuva_shape_entry_pages(&tables->config->shape, table->level);
	uint64_t first_page = table->first_page + index * pages;
	struct table *below = table->below[index];
	NTSTATUS status;

	lock_assert_held(&making->tables->lock);
	if (!below) {
		if (!table_making_needs_one_locked(making, first_page, first_page + pages))
			return making->kind == GPUVA_KIND_ZERO
				       ? make_zeroes(making, table->level - 1)
				       : STATUS_SUCCESS;
		status = make_table(making, table->level - 1, first_page, &below);
		if (!NT_SUCCESS(status))
			return status;
		assert(below);
		below->above = table;
		below->made_before = making->made;
		making->made = below;
		table->below[index] = below;
		if (below->level == 0)
			status = make_wide(making, below);
		if (!NT_SUCCESS(status))
			return status;
	}
	return make_below_locked(making, below);
}

static NTSTATUS make_below_locked(struct table_making *making, struct table *table)
{
	struct page_tables *tables = making->tables;
	uint64_t end_page = table_end(tables, table);
	uint64_t first_page = making->first_page;

	lock_assert_held(&making->tables->lock);
	if (table->level == 0)
		return STATUS_SUCCESS;
	if (first_page < table->first_page)
		first_page = table->first_page;
	if (end_page > making->end_page)
		end_page = making->end_page;
	for (uint32_t i = table_index(tables, table, first_page);
	     i <= table_index(tables, table, end_page - 1); i++) {
		NTSTATUS status = make_entry_locked(making, table, i);

		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

/* False: it shows nothing that the root reaches. */
static bool turn_to_step(struct table_making *making, const struct gpuva_step *step)
{
	const struct page_tables *tables = making->tables;
	enum gpuva_kind kind = step->state.kind;

	/* Tables of zeroes are everybody's: those with a protection of their own go without. */
	if ((kind == GPUVA_KIND_ZERO && step->state.driver_protection != 0) ||
	    making->time == TABLES_LATER_UNKNOWN)
		kind = GPUVA_KIND_MAPPED;
	making->kind = kind;
	making->first_page = step->first_page;
	making->end_page = step->first_page + step->page_count;
	assert(making->end_page <= tables->end_page ||
	       (kind != GPUVA_KIND_MAPPED && kind != GPUVA_KIND_ZERO));
	making->end_page = lower_of(making->end_page, tables->end_page);
	return making->first_page < making->end_page;
}

static NTSTATUS count_steps_locked(struct table_making *making, const struct gpuva_step *steps,
				   size_t count)
{
	lock_assert_held(&making->tables->lock);
	for (size_t i = 0; i < count; i++) {
		assert(i == 0 ||
		       steps[i - 1].first_page + steps[i - 1].page_count <= steps[i].first_page);
		if (turn_to_step(making, &steps[i]))
			table_making_count_locked(making);
	}
	return note_need(making, table_making_check(making));
}

NTSTATUS page_tables_count_steps_locked(struct page_tables *tables, const struct gpuva_step *steps,
					size_t count, enum table_time time,
					struct table_block_wants *wants)
{
	struct table_making making = { .tables = tables, .wants = wants, .time = time };

	lock_assert_held(&tables->lock);
	return count_steps_locked(&making, steps, count);
}

NTSTATUS page_tables_make_steps_locked(struct page_tables *tables, const struct gpuva_step *steps,
				       size_t count, enum table_time time,
				       struct table_block_wants *wants)
{
	struct table_making making = { .tables = tables, .wants = wants, .time = time };
	NTSTATUS status = count_steps_locked(&making, steps, count);

	lock_assert_held(&tables->lock);
	for (size_t i = 0; i < count && NT_SUCCESS(status); i++) {
		if (turn_to_step(&making, &steps[i]))
			status = make_below_locked(&making, tables->root);
	}
	if (!NT_SUCCESS(status)) {
		unmake(&making);
		return note_need(&making, status);
	}
	assert(memcmp(&making.need, &making.has_made, sizeof(making.need)) == 0);
	return STATUS_SUCCESS;
}

/* ---- life ---- */

static NTSTATUS init_tables(struct page_tables *tables, const struct page_tables_config *config,
			    struct vidmm_process *process, void *driver_process,
			    struct table_block_wants *wants, bool are_pools)
{
	struct table_size size;
	NTSTATUS status = size_first_root(config, &size);

	*tables = (struct page_tables){ .config = config,
					.process = process,
					.driver_process = driver_process,
					.are_pools = are_pools };
	if (NT_SUCCESS(status))
		status = table_make(tables, gpuva_shape_root(&config->shape), &size, wants,
				    &tables->root);
	if (!NT_SUCCESS(status))
		return status;
	lock_init(&tables->lock, are_pools ? LOCK_RANK_VA_POOLS : LOCK_RANK_VA_SPACE,
		  are_pools ? "gpu addresses of tile pools" : "gpu addresses");
	gpuva_space_init(&tables->space, config->shape.page_count,
			 gpuva_shape_table_pages(&config->shape, 0));
	tables_reach(tables, table_end(tables, tables->root));
	return STATUS_SUCCESS;
}

NTSTATUS page_tables_init(struct page_tables *tables, const struct page_tables_config *config,
			  struct vidmm_process *process, void *driver_process,
			  struct table_block_wants *wants)
{
	return init_tables(tables, config, process, driver_process, wants, false);
}

NTSTATUS page_tables_init_pools(struct page_tables *tables, const struct page_tables *user,
				struct table_block_wants *wants)
{
	return init_tables(tables, user->config, user->process, user->driver_process, wants, true);
}

static void free_tree(struct page_tables *tables, struct table *table)
{
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++) {
		if (table->below[i])
			free_tree(tables, table->below[i]);
	}
	table_free(tables, table);
}

void page_tables_finish(struct page_tables *tables)
{
	gpuva_space_finish(&tables->space);
	free_tree(tables, tables->root);
	for (uint32_t level = 0; level < GPUVA_MAX_LEVELS; level++)
		table_free(tables, tables->zeroes[level]);
	assert(tables->table_count == 0 && tables->table_bytes == 0);
	lock_finish(&tables->lock);
}

struct page_tables_root page_tables_root(const struct page_tables *tables)
{
	return (struct page_tables_root){ .segment = tables->root->memory.segment,
					  .offset_bytes = tables->root->memory.offset_bytes,
					  .entry_count = tables->root->entry_count };
}

void table_forget(struct table *table)
{
	table->is_written = false;
	table->is_behind = false;
	table_set_given(table, 0, 0);
	for (uint32_t i = 0; table->given_wide && i < table->entry_count; i++)
		table->given_wide[i] = 0;
	if (table->wide)
		table_forget(table->wide);
}

static void forget_tree(struct table *table)
{
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++) {
		if (table->below[i])
			forget_tree(table->below[i]);
	}
	table_forget(table);
}

void tables_forget_locked(struct page_tables *tables)
{
	lock_assert_held(&tables->lock);
	forget_tree(tables->root);
	for (uint32_t level = 0; level < GPUVA_MAX_LEVELS; level++) {
		if (tables->zeroes[level])
			table_forget(tables->zeroes[level]);
	}
}

void page_tables_forget(struct page_tables *tables)
{
	lock_acquire(&tables->lock);
	tables_forget_locked(tables);
	lock_release(&tables->lock);
}
