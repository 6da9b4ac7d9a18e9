/* SPDX-License-Identifier: MIT */
/*
 * table_memory.c - the memory that page tables are in: taken with a table, waited for when there is
 * none, and gone for a while. See page_tables.h.
 *
 *	in:   a table that is to be somewhere
 *	out:  system memory, or room in a segment; or what there is to wait for
 *
 * Locks: page_tables.lock, but for who waits.
 */
#include <assert.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "pagetable/table_tree.h"

static const uint64_t highest_address = UINT64_C(0xFFFFFFFF);

/* ---- one table ---- */

static uint64_t alignment_of(const struct page_tables_config *config, uint32_t level)
{
	uint64_t align_bytes = config->mmu.levels[level].alignment_bytes;

	return align_bytes > MACHINE_PAGE_BYTES ? align_bytes : MACHINE_PAGE_BYTES;
}

/* Room that was waited for. */
static bool take_waited_for(struct table_block_wants *wants, uint32_t level, uint64_t size_bytes,
			    struct pager_table *memory_out)
{
	for (uint32_t i = 0; wants && i < wants->count; i++) {
		struct table_block_want *block = &wants->wants[i];

		if (!block->is_taken || block->level != level || block->size_bytes != size_bytes)
			continue;
		*memory_out = block->memory;
		block->is_taken = false;
		return true;
	}
	return false;
}

NTSTATUS table_take_memory(struct table_making *making, uint32_t level, uint64_t size_bytes,
			   struct pager_table *memory_out)
{
	const struct page_tables *tables = making->tables;
	const struct page_tables_config *config = tables->config;
	uint64_t align_bytes = alignment_of(config, level);
	uint32_t segment = config->mmu.levels[level].segment_id;
	uint64_t address;

	if (!table_is_in_system_memory(config, segment)) {
		if (take_waited_for(making->wants, level, size_bytes, memory_out))
			return STATUS_SUCCESS;
		return config->take_block(config->memory, tables->process, segment, size_bytes,
					  align_bytes, memory_out);
	}
	NTSTATUS status =
		machine_alloc_contiguous(size_bytes, align_bytes, 0, highest_address, 0, &address);
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_API_NO_MEMORY, NULL,
			      "There is no system memory for a page table of %llu bytes",
			      (unsigned long long)size_bytes);
	*memory_out = (struct pager_table){ .offset_bytes = address,
					    .pointer = machine_to_pointer(address) };
	return STATUS_SUCCESS;
}

void table_give_memory(const struct page_tables_config *config, const struct table *table)
{
	if (table->memory.segment != 0)
		config->give_block(config->memory, &table->memory, table->size_bytes);
	else if (!machine_free_contiguous(table->memory.offset_bytes))
		assert(!"the run is ours");
}

/* ---- waiting for room ---- */

static bool is_root(const struct page_tables_config *config, uint32_t level)
{
	return level == gpuva_shape_root(&config->shape);
}

NTSTATUS table_block_wants_refuse(void)
{
	return refuse(STATUS_GRAPHICS_NO_VIDEO_MEMORY, RULE_MM_TABLE_ROOM, NULL,
		      "a page table has no room where the driver wants it, and nothing goes for it "
		      "here");
}

void table_block_wants_finish(struct table_block_wants *wants,
			      const struct page_tables_config *config)
{
	for (uint32_t i = 0; i < wants->count; i++) {
		const struct table_block_want *block = &wants->wants[i];

		if (block->is_taken)
			config->give_block(config->memory, &block->memory, block->size_bytes);
	}
	mem_free(wants->wants);
	wants->wants = NULL;
	wants->count = 0;
}

static uint64_t count_needed(const struct table_block_wants *wants,
			     const struct page_tables_config *config)
{
	uint64_t count = 0;

	for (uint32_t level = 0; level < config->shape.answer.level_count; level++) {
		if (!table_is_in_system_memory(config, config->mmu.levels[level].segment_id))
			count += wants->need.count[level];
	}
	if (!table_is_in_system_memory(config, config->mmu.levels[0].segment_id))
		count += wants->need.wide_count;
	return count;
}

static uint64_t whole_pages(uint64_t size_bytes)
{
	return align_down(size_bytes + MACHINE_PAGE_BYTES - 1, MACHINE_PAGE_BYTES);
}

static uint64_t needed_bytes(const struct table_block_wants *wants,
			     const struct page_tables_config *config, uint32_t level)
{
	return is_root(config, level) ? wants->need.root_bytes
				      : whole_pages(config->mmu.levels[level].table_size_bytes);
}

static void describe_some(struct table_block_wants *wants, const struct page_tables_config *config,
			  uint32_t level, uint64_t size_bytes, uint64_t count)
{
	uint32_t segment = config->mmu.levels[level].segment_id;

	if (table_is_in_system_memory(config, segment))
		return;
	for (uint64_t i = 0; i < count; i++)
		wants->wants[wants->count++] = (struct table_block_want){
			.level = level,
			.segment = segment,
			.size_bytes = size_bytes,
			.align_bytes = alignment_of(config, level),
		};
}

static void describe_wants(struct table_block_wants *wants, const struct page_tables_config *config)
{
	for (uint32_t level = 0; level < config->shape.answer.level_count; level++)
		describe_some(wants, config, level, needed_bytes(wants, config, level),
			      wants->need.count[level]);
	describe_some(wants, config, 0, whole_pages(config->shape.answer.leaf_table_64k_bytes),
		      wants->need.wide_count);
}

/* What it had so far goes back first: nobody waits for room with room in hand. */
NTSTATUS table_block_wants_await(struct table_block_wants *wants,
				 const struct page_tables_config *config,
				 struct vidmm_process *process)
{
	if (!config->await || !process)
		return table_block_wants_refuse();
	table_block_wants_finish(wants, config);
	NTSTATUS status = table_need_check(&wants->need, config, process);
	if (!NT_SUCCESS(status))
		return status;
	wants->wants = mem_zalloc_array(count_needed(wants, config), sizeof(*wants->wants));
	if (!wants->wants)
		return refuse_no_memory("There is no memory to ask for room for page tables");
	describe_wants(wants, config);
	return config->await(process, wants->wants, wants->count);
}

/* ---- going and coming back ---- */

void page_tables_go_out(struct page_tables *tables)
{
	lock_acquire(&tables->lock);
	tables->is_out = true;
	tables_forget_locked(tables);
	lock_release(&tables->lock);
}

static void find_table(const struct page_tables_config *config, struct table *table)
{
	if (table->memory.segment != 0)
		config->find_block(config->memory, &table->memory);
	if (table->wide)
		find_table(config, table->wide);
}

static void find_tree(const struct page_tables_config *config, struct table *table)
{
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++) {
		if (table->below[i])
			find_tree(config, table->below[i]);
	}
	find_table(config, table);
}

void page_tables_come_in(struct page_tables *tables)
{
	lock_acquire(&tables->lock);
	find_tree(tables->config, tables->root);
	for (uint32_t level = 0; level < GPUVA_MAX_LEVELS; level++) {
		if (tables->zeroes[level])
			find_table(tables->config, tables->zeroes[level]);
	}
	tables_forget_locked(tables);
	tables->is_out = false;
	lock_release(&tables->lock);
}
