/* SPDX-License-Identifier: MIT */
/*
 * space_tables.c - the page tables of the kernel's own address space.
 *
 *   in:   the shape of the GPU's tables, room for them
 *   out:  a tree that maps what layout.h says, pinned; a root for the kernel's own context
 *
 * Every table is written as a whole: all entries invalid, then those that stand for good. Tables
 * the CPU can see are written by it, at start and after a reset, when nothing is mapped yet that a
 * GPU could go through; only what it cannot see is written by the GPU, and only by physical
 * address.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "paging/internal.h"

static const uint64_t highest_address = UINT64_C(0xFFFFFFFF);

/* ---- room ---- */

static bool is_in_system_memory(const struct pager_config *config, uint32_t segment)
{
	return segment == 0 || segment == config->implicit_system_segment;
}

static NTSTATUS take_system_table(uint64_t size_bytes, uint64_t align_bytes,
				  struct pager_table *table_out)
{
	uint64_t address;
	NTSTATUS status =
		machine_alloc_contiguous(size_bytes, align_bytes, 0, highest_address, 0, &address);

	if (NT_SUCCESS(status))
		*table_out = (struct pager_table){ .offset_bytes = address,
						   .pointer = machine_to_pointer(address) };
	return status;
}

/* Whoever writes it must be able to reach it. */
static NTSTATUS check_reach(const struct pager_space *space, uint32_t level,
			    const struct pager_table *table)
{
	if (table->pointer || space->mmu.update_mode == MINIPORT_TABLE_GPU_PHYSICAL)
		return STATUS_SUCCESS;
	return refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_TABLES, NULL,
		      "the kernel's own page tables of level %u are in segment %u, which the "
		      "processor cannot see, and the GPU writes none by physical address",
		      level, table->segment);
}

static NTSTATUS take_level(struct pager *pager, uint32_t level)
{
	const struct pager_config *config = &pager->config;
	const struct miniport_page_table_level *desc = &pager->space.mmu.levels[level];
	struct pager_level *at = &pager->space.levels[level];
	uint32_t segment = desc->paging_process_segment_id;
	uint64_t align_bytes = desc->alignment_bytes > MACHINE_PAGE_BYTES ? desc->alignment_bytes
									  : MACHINE_PAGE_BYTES;
	uint32_t wanted = at->count;

	at->count = 0; /* how many there are to give back */
	at->tables = mem_zalloc_array(wanted, sizeof(*at->tables));
	if (!at->tables)
		return STATUS_NO_MEMORY;
	while (at->count < wanted) {
		struct pager_table *table = &at->tables[at->count];
		NTSTATUS status = is_in_system_memory(config, segment)
					  ? take_system_table(at->table_bytes, align_bytes, table)
					  : config->take_table(config->memory, segment,
							       at->table_bytes, align_bytes, table);

		if (!NT_SUCCESS(status))
			return status;
		at->count++;
		status = check_reach(&pager->space, level, table);
		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

static void give_level(struct pager *pager, uint32_t level)
{
	const struct pager_config *config = &pager->config;
	struct pager_level *at = &pager->space.levels[level];

	for (uint32_t i = 0; at->tables && i < at->count; i++) {
		struct pager_table *table = &at->tables[i];

		if (table->segment != 0)
			config->give_table(config->memory, table, at->table_bytes);
		else if (!machine_free_contiguous(table->offset_bytes))
			assert(!"the run is ours");
	}
	mem_free(at->tables);
	at->tables = NULL;
}

/* How many tables of each level, and how large. Of two levels the root is as large as needed. */
static NTSTATUS count_levels(struct pager *pager)
{
	struct pager_space *space = &pager->space;
	uint32_t root = space->mmu.level_count - 1;
	uint32_t below = space->layout.leaf_count;

	for (uint32_t level = 0; level <= root; level++) {
		struct pager_level *at = &space->levels[level];

		at->count = below;
		at->entry_count = UINT32_C(1) << space->mmu.levels[level].index_bits;
		at->table_bytes = space->mmu.levels[level].table_size_bytes;
		if (level == root && root == 1) {
			at->entry_count = space->levels[0].count;
			at->table_bytes = pager->ops->root_bytes(pager->driver, &at->entry_count);
			if (at->entry_count < space->levels[0].count || at->table_bytes == 0)
				return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_PAGING_ANSWER,
					      NULL,
					      "a root page table of %u entries was said to have "
					      "room for %u in %llu bytes",
					      space->levels[0].count, at->entry_count,
					      (unsigned long long)at->table_bytes);
			at->table_bytes = pages_of(at->table_bytes) << MACHINE_PAGE_SHIFT;
		}
		if (level == root) {
			at->count = 1;
			break;
		}
		uint32_t bits = space->mmu.levels[level + 1].index_bits;
		below = (at->count + (UINT32_C(1) << bits) - 1) >> bits;
	}
	return STATUS_SUCCESS;
}

/* ---- how much of it there is ---- */

/* What the processor sees of the tables in a segment: pages that are needed, and that there are. */
struct table_windows {
	uint32_t segment;
	uint64_t page_bytes;
	uint64_t needed;
	uint64_t there;
};

static struct table_windows windows_of(const struct pager *pager, uint32_t segment)
{
	const struct pager_config *config = &pager->config;
	const struct pager_space *space = &pager->space;
	struct table_windows windows = { .segment = segment, .there = UINT64_MAX };

	if (config->table_windows && !is_in_system_memory(config, segment))
		windows.there = config->table_windows(config->memory, segment, &windows.page_bytes);
	for (uint32_t level = 0; windows.there != UINT64_MAX && level < space->mmu.level_count;
	     level++) {
		const struct pager_level *at = &space->levels[level];

		if (space->mmu.levels[level].paging_process_segment_id == segment)
			windows.needed += at->count * ((at->table_bytes + windows.page_bytes - 1) /
						       windows.page_bytes);
	}
	return windows;
}

/* The segment whose aperture is too small for its tables; false: there is none. */
static bool find_shortage(const struct pager *pager, struct table_windows *windows_out)
{
	for (uint32_t level = 0; level < pager->space.mmu.level_count; level++) {
		*windows_out =
			windows_of(pager, pager->space.mmu.levels[level].paging_process_segment_id);
		if (windows_out->needed > windows_out->there)
			return true;
	}
	return false;
}

static NTSTATUS refuse_windows(const struct table_windows *windows)
{
	return refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_TABLES, "CpuHostAperture.SizeInPages",
		      "of segment %u leaves %llu pages of %llu KiB for the kernel's own page "
		      "tables, and they need %llu",
		      windows->segment, (unsigned long long)windows->there,
		      (unsigned long long)(windows->page_bytes >> 10),
		      (unsigned long long)windows->needed);
}

/*
 * The processor writes these tables before the GPU can go through any, so it sees all of them; where
 * that is through a CPU host aperture there are as many as find a place in it.
 */
static NTSTATUS plan_space(struct pager *pager)
{
	struct pager_space *space = &pager->space;
	struct table_windows short_of = { .needed = 0 };
	uint32_t most_leaves = UINT32_MAX;
	NTSTATUS status;

	do {
		if (!pager_layout_plan(&space->mmu, (uint32_t)pages_of(pager->config.buffer_bytes),
				       pager->config.buffer_count, most_leaves, &space->layout))
			return short_of.needed > 0
				       ? refuse_windows(&short_of)
				       : refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_WINDOW, NULL,
						"%u bits of GPU address hold no windows for the "
						"kernel",
						space->mmu.address_bits);
		status = count_levels(pager);
		most_leaves = space->layout.leaf_count - 1;
	} while (NT_SUCCESS(status) && find_shortage(pager, &short_of));
	return status;
}

/* ---- slots ---- */

static NTSTATUS make_slots(uint32_t count, uint64_t first_page, uint32_t window_pages,
			   struct pager_slot **slots_out)
{
	struct pager_slot *slots = mem_zalloc_array(count, sizeof(*slots));

	if (!slots)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		slots[i].address = (first_page + 2ULL * window_pages * i) << MACHINE_PAGE_SHIFT;
	*slots_out = slots;
	return STATUS_SUCCESS;
}

/* For the entries of any one update, in our words and in the driver's, which may have two each. */
static NTSTATUS make_entries(struct pager_space *space)
{
	uint64_t most = PAGING_TABLE_ENTRIES;

	if (most < 2ULL * space->layout.big_pages)
		most = 2ULL * space->layout.big_pages;
	if (most < 2ULL * space->layout.small_pages)
		most = 2ULL * space->layout.small_pages;
	for (uint32_t level = 0; level < space->mmu.level_count; level++) {
		uint64_t below =
			level == 0 ? space->levels[0].entry_count : space->levels[level - 1].count;

		if (most < below)
			most = below;
	}
	space->entries = mem_zalloc_array(most, sizeof(*space->entries));
	space->driver_entries = mem_zalloc_array(2 * most, MINIPORT_ENTRY_BYTES);
	space->driver_entry_count = (uint32_t)(2 * most);
	return space->entries && space->driver_entries ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

NTSTATUS pager_space_init(struct pager *pager, const struct pager_config *config)
{
	struct pager_space *space = &pager->space;

	space->mmu = *config->gpu_mmu;
	pager->has_space = true;
	NTSTATUS status = plan_space(pager);
	for (uint32_t level = 0; NT_SUCCESS(status) && level < space->mmu.level_count; level++)
		status = take_level(pager, level);
	if (NT_SUCCESS(status))
		status = make_slots(space->layout.small_count, space->layout.first_small,
				    space->layout.small_pages, &space->small);
	if (NT_SUCCESS(status))
		status = make_slots(space->layout.big_count, space->layout.first_big,
				    space->layout.big_pages, &space->big);
	if (NT_SUCCESS(status))
		status = make_entries(space);
	if (!NT_SUCCESS(status))
		return status;

	for (uint32_t i = 0; i < pager->config.buffer_count; i++)
		pager->buffers[i].memory.gpu_address =
			(space->layout.first_buffer + (uint64_t)i * space->layout.buffer_pages)
			<< MACHINE_PAGE_SHIFT;
	pager->spare.gpu_address = pager->buffers[0].memory.gpu_address; /* never runs */
	return STATUS_SUCCESS;
}

void pager_space_finish(struct pager *pager)
{
	struct pager_space *space = &pager->space;

	for (uint32_t level = 0; level < space->mmu.level_count; level++)
		give_level(pager, level);
	mem_free(space->small);
	mem_free(space->big);
	mem_free(space->entries);
	mem_free(space->driver_entries);
	*space = (struct pager_space){ 0 };
}

bool pager_space_is_visible(const struct pager *pager)
{
	for (uint32_t level = 0; level < pager->space.mmu.level_count; level++) {
		const struct pager_level *at = &pager->space.levels[level];

		/* Levels may be in different segments. */
		for (uint32_t i = 0; i < at->count; i++) {
			if (!at->tables[i].pointer)
				return false;
		}
	}
	return true;
}

void pager_space_set_root(struct pager *pager, const struct pager_stream *stream)
{
	const struct pager_level *root = &pager->space.levels[pager->space.mmu.level_count - 1];

	pager->ops->set_root(pager->driver, stream->driver_context, root->tables[0].segment,
			     root->tables[0].offset_bytes, root->entry_count);
}

/* ---- content ---- */

/* Pages that one entry of a table of this level covers. */
static uint64_t entry_pages(const struct pager_space *space, uint32_t level)
{
	uint64_t pages = 1;

	while (level-- > 0)
		pages *= space->levels[level].entry_count;
	return pages;
}

static uint32_t entries_below(struct pager_space *space, uint32_t *first_index_out)
{
	const struct pager_level *level = &space->levels[space->level];
	const struct pager_level *below = &space->levels[space->level - 1];
	uint32_t first = space->table * level->entry_count;
	uint32_t count = below->count - first;

	if (count > level->entry_count)
		count = level->entry_count;
	for (uint32_t i = 0; i < count; i++) {
		const struct pager_table *table = &below->tables[first + i];

		space->entries[i] = (struct miniport_pte){
			.page = table->offset_bytes >> MACHINE_PAGE_SHIFT,
			.segment = (uint8_t)table->segment,
			.is_valid = true,
		};
	}
	*first_index_out = 0;
	return count;
}

/* What this leaf table has of pages [first, end), of which `entry` makes the n-th. */
static uint32_t leaf_part(struct pager *pager, uint64_t first, uint64_t end,
			  struct miniport_pte (*entry)(const struct pager *pager, uint64_t n),
			  uint32_t *first_index_out)
{
	struct pager_space *space = &pager->space;
	uint64_t low = (uint64_t)space->table * space->layout.leaf_entries;
	uint64_t high = low + space->layout.leaf_entries;
	uint64_t from = first > low ? first : low;
	uint64_t to = end < high ? end : high;

	if (from >= to)
		return 0;
	for (uint64_t page = from; page < to; page++)
		space->entries[page - from] = entry(pager, page - first);
	*first_index_out = (uint32_t)(from - low);
	return (uint32_t)(to - from);
}

static struct miniport_pte buffer_entry(const struct pager *pager, uint64_t n)
{
	const struct pager_layout *layout = &pager->space.layout;
	const struct pager_buffer *buffer = &pager->buffers[n / layout->buffer_pages];

	return (struct miniport_pte){
		.page = (buffer->memory.physical_address >> MACHINE_PAGE_SHIFT) +
			n % layout->buffer_pages,
		.is_valid = true,
	};
}

static struct miniport_pte table_entry(const struct pager *pager, uint64_t n)
{
	const struct pager_layout *layout = &pager->space.layout;
	const struct pager_table *table = &pager->space.levels[0].tables[n / layout->table_pages];

	return (struct miniport_pte){
		.page = (table->offset_bytes >> MACHINE_PAGE_SHIFT) + n % layout->table_pages,
		.segment = (uint8_t)table->segment,
		.is_valid = true,
	};
}

enum { PART_INVALID, PART_FIRST, PART_SECOND, PART_END };

/* The entries of one part of the table that is at turn. 0: there are none. */
static uint32_t make_part(struct pager *pager, uint32_t *first_index_out)
{
	struct pager_space *space = &pager->space;
	const struct pager_layout *layout = &space->layout;

	*first_index_out = 0;
	if (space->part == PART_INVALID) {
		space->entries[0] = (struct miniport_pte){ 0 };
		return space->levels[space->level].entry_count;
	}
	if (space->is_ending)
		return 0;
	if (space->level > 0)
		return space->part == PART_FIRST ? entries_below(space, first_index_out) : 0;
	if (space->part == PART_FIRST)
		return leaf_part(pager, layout->first_buffer,
				 layout->first_buffer +
					 (uint64_t)layout->buffer_pages * layout->buffer_count,
				 buffer_entry, first_index_out);
	if (layout->first_table == 0)
		return 0;
	return leaf_part(pager, layout->first_table, layout->end, table_entry, first_index_out);
}

static struct miniport_paging_op write_part(const struct pager *pager, uint32_t first_index,
					    uint32_t count)
{
	const struct pager_space *space = &pager->space;
	const struct pager_level *level = &space->levels[space->level];
	const struct pager_table *table = &level->tables[space->table];

	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
		.target = pager_table_location(table),
		.update_table = {
			.level = space->level,
			.mode = table->pointer ? MINIPORT_TABLE_CPU_VIRTUAL
					       : MINIPORT_TABLE_GPU_PHYSICAL,
			.entries = space->entries,
			.first_index = first_index,
			.count = count,
			.is_repeated = space->part == PART_INVALID,
			.is_initial = space->part == PART_INVALID && !space->is_ending,
			.driver_process = pager->config.driver_process,
			.first_address = ((uint64_t)space->table * level->entry_count + first_index) *
					 entry_pages(space, space->level) * MACHINE_PAGE_BYTES,
		},
	};
}

static void next_part(struct pager_space *space)
{
	if (++space->part < PART_END)
		return;
	space->part = PART_INVALID;
	if (++space->table < space->levels[space->level].count)
		return;
	space->table = 0;
	space->level++;
}

/* Leaves first: a table is whole before one points at it. */
static enum paging_step next_op(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct pager *pager = job->pager;
	struct pager_space *space = &pager->space;

	while (space->level < space->mmu.level_count) {
		uint32_t first_index;
		uint32_t count = make_part(pager, &first_index);

		if (count > 0)
			*op_out = write_part(pager, first_index, count);
		next_part(space);
		if (count > 0)
			return PAGING_OPERATION;
	}
	return PAGING_NONE;
}

void pager_space_rewind(struct pager *pager, bool is_ending)
{
	struct pager_space *space = &pager->space;

	space->level = 0;
	space->table = 0;
	space->part = PART_INVALID;
	space->is_ending = is_ending;
	space->job.next = next_op;
	for (uint32_t i = 0; i < space->layout.small_count; i++)
		space->small[i].was_used = false;
	for (uint32_t i = 0; i < space->layout.big_count; i++)
		space->big[i].was_used = false;
}
