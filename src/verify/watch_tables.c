/* SPDX-License-Identifier: MIT */
/*
 * watch_tables.c - page tables: what a driver was told to write is written, and nothing else.
 *
 * How an entry looks is the driver's secret, so what is in one is not read. What can be said without: bytes outside of the
 * entries of an update stay as they are; an entry that leads elsewhere than before looks different than before; entries
 * that are to be the same look the same; a copy looks like what it was copied from. How long an entry is, is learnt:
 * a power of two that fits to everything seen so far. Tables are looked at where this process sees them, right before
 * and right after they are written.
 *
 * A fault of the GPU is checked against the entries as they were told (tables_entries.c): at an address that they
 * allow there is none (tables_faults.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/checked.h"
#include "base/machine.h"
#include "verify/blame.h"
#include "verify/tables.h"

enum {
	KINDS = 2 * MINIPORT_MAX_PAGE_TABLE_LEVELS, /* of tables: by level, and with wide pages */
	SMALLEST_ENTRY_SHIFT = 2,
	LARGEST_TABLE = 1 << 20,
	ROOTS_REMEMBERED = 32,
};

struct tables {
	struct tables_entries entries;

	struct lock lock; /* LOCK_RANK_LEAF: the rest */
	/* Sizes that an entry may have, bit n is 2^n bytes; 0: nothing was seen yet. */
	uint32_t entry_sizes[KINDS];
	struct {
		uint32_t entries;
		uint64_t bytes;
	} roots[ROOTS_REMEMBERED]; /* of GetRootPageTableSize */
	uint32_t root_count;
	bool has_reserved; /* the driver has entries of its own above the leaves */

	/* Of the call of BuildPagingBuffer that is under way: one at a time. */
	unsigned char *now;
	uint32_t now_bytes;
};

static struct tables *tables_of(const struct shadow *shadow)
{
	return shadow->adapter->states[VERIFY_WATCH_tables];
}

struct tables_entries *tables_entries_of(const struct shadow *shadow)
{
	return &tables_of(shadow)->entries;
}

uint64_t tables_changes(const struct shadow *shadow)
{
	struct tables *tables = tables_of(shadow);

	lock_acquire(&tables->entries.lock);
	uint64_t changes = tables->entries.changes;
	lock_release(&tables->entries.lock);
	return changes;
}

/* ---- shapes ---- */

static bool is_double(const struct shadow *shadow, uint32_t level)
{
	const DXGK_GPUMMUCAPS caps = { .Value = shadow->adapter->miniport->info.gpu_mmu.flags };

	return level == 1 && caps.DualPteSupported;
}

bool tables_shape(const struct shadow *shadow, uint32_t level, bool is_wide, uint32_t *bytes_out,
		  uint32_t *entries_out)
{
	const struct miniport_gpu_mmu *mmu = &shadow->adapter->miniport->info.gpu_mmu;

	/* The root of two levels is as large as it has to be. */
	if (level >= mmu->level_count || (mmu->level_count == 2 && level == 1) ||
	    mmu->levels[level].index_bits > 24)
		return false;
	*bytes_out = mmu->levels[level].table_size_bytes;
	*entries_out = 1u << mmu->levels[level].index_bits;
	if (is_wide) {
		*bytes_out = mmu->leaf_table_size_64k_bytes;
		*entries_out /= 16;
	}
	return *bytes_out > 0 && *bytes_out <= LARGEST_TABLE && *entries_out > 0;
}

/* All powers of two from 4 bytes to what there is room for. */
static uint32_t possible_sizes(uint32_t bytes, uint32_t entries)
{
	uint32_t sizes = 0;

	for (uint32_t shift = SMALLEST_ENTRY_SHIFT; (uint64_t)entries << shift <= bytes; shift++)
		sizes |= 1u << shift;
	return sizes;
}

static uint32_t kind_of(const struct shadow_table_change *change)
{
	return change->level + (change->is_wide ? MINIPORT_MAX_PAGE_TABLE_LEVELS : 0);
}

/* ---- what is told ---- */

/* The page that the processor sees there. */
static shadow_page page_of_pointer(const struct shadow *shadow, const void *pointer)
{
	const struct miniport_info *info = &shadow->adapter->miniport->info;
	uint64_t address;

	if (!machine_from_pointer(pointer, &address))
		return 0;
	for (uint32_t i = 0; i < info->segment_count; i++) {
		const struct miniport_segment *segment = &info->segments[i];

		if (segment->is_cpu_visible && !segment->is_aperture &&
		    address - segment->cpu_translated_address < segment->size_bytes)
			return shadow_page_of(i + 1, (address - segment->cpu_translated_address) >>
							     SHADOW_PAGE_SHIFT);
		if (segment->has_cpu_host_aperture &&
		    address - segment->cpu_host_aperture_address <
			    (uint64_t)segment->cpu_host_aperture_pages *
				    shadow_window_bytes(segment))
			return map_get(&shadow->shown, address >> SHADOW_PAGE_SHIFT);
	}
	return shadow_page_of(0, address >> SHADOW_PAGE_SHIFT);
}

static shadow_page page_of_update(const struct shadow *shadow,
				  const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	const DXGK_PAGETABLEUPDATEADDRESS *address = &update->PageTableAddress;

	switch ((int)update->UpdateMode) {
	case DXGK_PAGETABLEUPDATE_CPU_VIRTUAL:
		return page_of_pointer(shadow, address->CpuVirtual);
	case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
		return map_get(&shadow->addresses, address->GpuVirtual >> SHADOW_PAGE_SHIFT);
	case DXGK_PAGETABLEUPDATE_GPU_PHYSICAL:
		return shadow_page_of(shadow_real_segment(shadow, address->GpuPhysical.SegmentId),
				      address->GpuPhysical.SegmentOffset >> SHADOW_PAGE_SHIFT);
	default:
		return 0;
	}
}

static struct shadow_table_change *update_create(const struct shadow *shadow,
						 const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
	size_t count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
	struct shadow_table_change *change =
		malloc(sizeof(*change) + count * sizeof(*update->pPageTableEntries));

	if (!change)
		return NULL;
	DXGK_PTE *entries = (DXGK_PTE *)(change + 1);
	memcpy(entries, update->pPageTableEntries, count * sizeof(*entries));
	for (size_t i = 0; i < count; i++)
		entries[i].Segment = shadow_real_segment(shadow, (uint32_t)entries[i].Segment);
	*change = (struct shadow_table_change){
		.table = page_of_update(shadow, update),
		.level = update->PageTableLevel,
		.first = update->StartIndex,
		.count = update->NumPageTableEntries,
		.is_repeated = update->Flags.Repeat,
		.is_initial = update->Flags.InitialUpdate,
		.is_eviction = update->Flags.NotifyEviction,
		.is_wide = update->PageTableLevel == 0 && update->Flags.Use64KBPages,
		.is_double = is_double(shadow, update->PageTableLevel),
		.is_now = !args->pDmaBuffer,
		.entries = entries,
		.lowest = update->StartIndex,
		.end = update->StartIndex + update->NumPageTableEntries,
		.is_alone = true,
	};
	return change;
}

static struct shadow_table_change *copy_create(
	const struct shadow *shadow, const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *args)
{
	struct shadow_table_change *change =
		malloc(sizeof(*change) + args->NumRanges * sizeof(struct table_copy));

	if (!change)
		return NULL;
	struct table_copy *copies = (struct table_copy *)(change + 1);
	for (uint32_t i = 0; i < args->NumRanges; i++) {
		const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &args->pRanges[i];

		copies[i] = (struct table_copy){
			.from = map_get(&shadow->addresses,
					range->SrcPageTableAddress >> SHADOW_PAGE_SHIFT),
			.to = map_get(&shadow->addresses,
				      range->DstPageTableAddress >> SHADOW_PAGE_SHIFT),
			.from_index = range->SrcStartPteIndex,
			.to_index = range->DstStartPteIndex,
			.count = range->NumPageTableEntries,
		};
	}
	*change = (struct shadow_table_change){
		.table = args->NumRanges > 0 ? copies[0].to : 0,
		.copy_count = args->NumRanges,
		.copies = copies,
		.is_alone = true,
	};
	return change;
}

struct shadow_table_change *tables_change_create_locked(struct shadow *shadow,
							const DXGKARG_BUILDPAGINGBUFFER *args)
{
	lock_assert_held(&shadow->lock);
	if (args->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES)
		return args->CopyPageTableEntries.pRanges
			       ? copy_create(shadow, &args->CopyPageTableEntries)
			       : NULL;
	return args->UpdatePageTable.pPageTableEntries ? update_create(shadow, args) : NULL;
}

void tables_change_free(struct shadow_table_change *change)
{
	if (change)
		free(change->before);
	free(change);
}

/* ---- looking at a table ---- */

struct difference {
	uint64_t first; /* byte */
	uint64_t end;   /* 0: there is none */
};

static struct difference difference_of(const unsigned char *a, const unsigned char *b,
				       uint64_t size_bytes)
{
	struct difference found = { 0, 0 };

	if (memcmp(a, b, size_bytes) == 0)
		return found;
	while (a[found.first] == b[found.first])
		found.first++;
	found.end = size_bytes;
	while (a[found.end - 1] == b[found.end - 1])
		found.end--;
	return found;
}

/* Sizes of an entry with which everything that changed is within the entries that may. */
static uint32_t sizes_that_fit(const struct shadow_table_change *change,
			       const struct difference *difference)
{
	uint32_t sizes = 0;

	for (uint32_t shift = SMALLEST_ENTRY_SHIFT; shift < 32; shift++) {
		if (difference->first >= (uint64_t)change->lowest << shift &&
		    difference->end <= (uint64_t)change->end << shift)
			sizes |= 1u << shift;
	}
	return sizes;
}

/* False: whatever an entry is, this is not it. */
static bool narrow(struct tables *tables, const struct shadow_table_change *change,
		   uint32_t possible, uint32_t fitting)
{
	uint32_t *known = &tables->entry_sizes[kind_of(change)];

	lock_acquire(&tables->lock);
	uint32_t left = (*known ? *known : possible) & fitting;
	if (left != 0)
		*known = left;
	lock_release(&tables->lock);
	return left != 0;
}

/* The size when there is but one left; 0: not known. */
static uint32_t entry_size(struct tables *tables, const struct shadow_table_change *change)
{
	lock_acquire(&tables->lock);
	uint32_t sizes = tables->entry_sizes[kind_of(change)];
	lock_release(&tables->lock);
	return is_power_of_two(sizes) ? sizes : 0;
}

static void check_outside(const struct shadow *shadow, const struct shadow_table_change *change,
			  const unsigned char *before, const unsigned char *after,
			  uint32_t possible)
{
	const struct difference difference = difference_of(before, after, change->size_bytes);

	if (difference.end == 0 ||
	    narrow(tables_of(shadow), change, possible, sizes_that_fit(change, &difference)))
		return;
	blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_UPDATE,
	      "UPDATE_PAGE_TABLE of entries %u to %u of a level %u table changed bytes %llu to "
	      "%llu of it, which are other entries",
	      change->lowest, change->end - 1, change->level, (unsigned long long)difference.first,
	      (unsigned long long)difference.end - 1);
}

static void check_each(const struct shadow *shadow, const struct shadow_table_change *change,
		       const unsigned char *before, const unsigned char *after, uint32_t size)
{
	for (uint32_t i = 0; i < change->count; i++) {
		uint64_t at = (uint64_t)(change->first + i) * size;

		if (memcmp(before + at, after + at, size) != 0 ||
		    !tables_entry_differs(&tables_of(shadow)->entries, change, i))
			continue;
		blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_UPDATE,
		      "UPDATE_PAGE_TABLE of entries %u to %u of a level %u table left entry %u as "
		      "it "
		      "was, and it was to lead elsewhere",
		      change->first, change->first + change->count - 1, change->level,
		      change->first + i);
		return;
	}
}

static bool lead_elsewhere(const DXGK_PTE *a, const DXGK_PTE *b)
{
	return a->Valid && b->Valid && !a->Zero && !b->Zero &&
	       (a->Segment != b->Segment || a->PageAddress != b->PageAddress);
}

/* Neighbours that lead to two pages are not alike; nor are two that lead to one, of which one may not be written. */
static void check_likeness(const struct shadow *shadow, const struct shadow_table_change *change,
			   const unsigned char *after)
{
	struct tables *tables = tables_of(shadow);
	const DXGK_GPUMMUCAPS caps = { .Value = shadow->adapter->miniport->info.gpu_mmu.flags };
	uint32_t size = entry_size(tables, change);
	uint32_t other;

	if (change->is_repeated || size == 0 || change->level != 0 ||
	    (uint64_t)(change->first + change->count) * size > change->size_bytes)
		return;
	for (uint32_t i = 0; i < change->count; i++) {
		const DXGK_PTE *entry = &change->entries[i];
		const unsigned char *bytes = after + (uint64_t)(change->first + i) * size;

		if (i > 0 && lead_elsewhere(entry, entry - 1) &&
		    memcmp(bytes, bytes - size, size) == 0)
			blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_UPDATE,
			      "UPDATE_PAGE_TABLE wrote entries %u and %u of a level %u table "
			      "alike, "
			      "and they lead to two pages",
			      change->first + i - 1, change->first + i, change->level);
		else if (caps.ReadOnlyMemorySupported && entry->Valid && entry->ReadOnly &&
			 tables_entry_of_same_page(&tables->entries, change, i, &other) &&
			 memcmp(bytes, after + (uint64_t)other * size, size) == 0)
			blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_UPDATE,
			      "UPDATE_PAGE_TABLE wrote entry %u of a level %u table, which is "
			      "read-only, like entry %u, which is not",
			      change->first + i, change->level, other);
		else
			continue;
		return;
	}
}

/* An entry that leads elsewhere looks different. */
static void check_inside(const struct shadow *shadow, const struct shadow_table_change *change,
			 const unsigned char *before, const unsigned char *after)
{
	uint32_t size = entry_size(tables_of(shadow), change);
	uint64_t first = (uint64_t)change->first * (size ? size : 1);
	uint64_t end = (uint64_t)(change->first + change->count) * (size ? size : 1);

	/* Without the size of an entry it has to do that something has changed. */
	if (size == 0) {
		first = 0;
		end = change->size_bytes;
	}
	if (end > change->size_bytes)
		return;
	if (memcmp(before + first, after + first, end - first) != 0) {
		if (size != 0)
			check_each(shadow, change, before, after, size);
		return;
	}
	blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_UPDATE,
	      "UPDATE_PAGE_TABLE left entries %u to %u of a level %u table as they were, and they "
	      "were to lead elsewhere",
	      change->first, change->first + change->count - 1, change->level);
}

static void check_repeat(const struct shadow *shadow, const struct shadow_table_change *change,
			 const unsigned char *after)
{
	uint32_t size = entry_size(tables_of(shadow), change);
	const unsigned char *first = after + (uint64_t)change->first * size;

	if (!change->is_repeated || size == 0 ||
	    (uint64_t)(change->first + change->count) * size > change->size_bytes)
		return;
	for (uint32_t i = 1; i < change->count; i++) {
		if (memcmp(first, first + (uint64_t)i * size, size) == 0)
			continue;
		blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_REPEAT,
		      "UPDATE_PAGE_TABLE with Repeat%s wrote entry %u of a level %u table "
		      "differently than entry %u",
		      change->is_initial    ? " and InitialUpdate"
		      : change->is_eviction ? " and NotifyEviction"
					    : "",
		      change->first + i, change->level, change->first);
		return;
	}
}

static void check_update(const struct shadow *shadow, const struct shadow_table_change *change,
			 const unsigned char *before, const unsigned char *after, bool is_another)
{
	uint32_t bytes;
	uint32_t entries;

	if (change->is_double || (change->level > 0 && tables_of(shadow)->has_reserved) ||
	    !tables_shape(shadow, change->level, change->is_wide, &bytes, &entries))
		return;
	check_outside(shadow, change, before, after, possible_sizes(bytes, entries));
	if (!change->is_alone)
		return;
	if (is_another && change->turns <= 1)
		check_inside(shadow, change, before, after);
	check_repeat(shadow, change, after);
	check_likeness(shadow, change, after);
}

static void check_copy(const struct shadow *shadow, const struct table_copy *copy)
{
	/* Client's leaves are what is copied. */
	const struct shadow_table_change leaf = { .level = 0 };
	uint32_t size = entry_size(tables_of(shadow), &leaf);
	const char *from = shadow_pointer(shadow, copy->from);
	const char *to = shadow_pointer(shadow, copy->to);

	if (!from || !to || size == 0 || copy->from == copy->to ||
	    memcmp(from + (uint64_t)copy->from_index * size, to + (uint64_t)copy->to_index * size,
		   (uint64_t)copy->count * size) == 0)
		return;
	blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_COPY,
	      "COPY_PAGE_TABLE_ENTRIES of %u entries from index %u to index %u left others there",
	      copy->count, copy->from_index, copy->to_index);
}

/* ---- by the GPU ---- */

static bool touches(const struct shadow_table_change *change, shadow_page table)
{
	if (change->table == table)
		return true;
	for (uint32_t i = 0; i < change->copy_count; i++) {
		if (change->copies[i].to == table || change->copies[i].from == table)
			return true;
	}
	return false;
}

/* Several on one table in one packet: the last one is held against what was before the first. */
static void merge(const struct list *operations, struct shadow_operation *last)
{
	struct shadow_table_change *change = last->change;

	list_each (struct shadow_operation, each, operations, link) {
		if (each == last)
			return;
		struct shadow_table_change *earlier = each->change;
		if (!earlier || !touches(earlier, change->table))
			continue;
		change->is_alone = false;
		earlier->is_alone = false;
		/* Which entries a copy changes is in its ranges: that is not followed here. */
		change->is_mixed |= earlier->copy_count > 0 || earlier->is_mixed;
		change->lowest =
			earlier->lowest < change->lowest ? earlier->lowest : change->lowest;
		change->end = earlier->end > change->end ? earlier->end : change->end;
		if (!earlier->before)
			continue;
		change->before = earlier->before;
		change->size_bytes = earlier->size_bytes;
		earlier->before = NULL;
	}
}

static bool is_on_its_way(struct shadow *shadow, const struct list *mine, shadow_page table)
{
	bool is_found = false;

	lock_acquire(&shadow->lock);
	for (uint32_t node = 0; node < MINIPORT_MAX_NODES; node++) {
		list_each (struct shadow_packet, packet, &shadow->nodes[node], link) {
			if (!packet->buffer || &packet->buffer->operations == mine)
				continue;
			is_found |= packet->buffer->part_of == table;
			list_each (struct shadow_operation, each, &packet->buffer->operations, link)
				is_found |= each->change && touches(each->change, table);
		}
	}
	lock_release(&shadow->lock);
	return is_found;
}

static void look(struct shadow *shadow, const struct list *operations,
		 struct shadow_table_change *change)
{
	shadow_page part_of = container_of(operations, struct shadow_buffer, operations)->part_of;
	const char *table = shadow_pointer(shadow, change->table);
	uint32_t entries;

	if (!table || part_of == change->table || change->copy_count > 0 || change->before ||
	    change->is_mixed ||
	    !tables_shape(shadow, change->level, change->is_wide, &change->size_bytes, &entries) ||
	    is_on_its_way(shadow, operations, change->table))
		return;
	change->before = malloc(change->size_bytes);
	if (change->before)
		memcpy(change->before, table, change->size_bytes);
}

void tables_going(struct shadow *shadow, struct list *operations)
{
	list_each (struct shadow_operation, each, operations, link) {
		struct shadow_table_change *change = each->change;

		if (!change || change->table == 0)
			continue;
		/* It was on its way before, and was preempted. */
		change->turns++;
		tables_entries_expect(tables_entries_of(shadow), shadow, change);
		free(change->before);
		change->before = NULL;
		merge(operations, each);
		look(shadow, operations, change);
	}
}

void tables_part_built(struct shadow *shadow, struct shadow_table_change *change)
{
	tables_entries_expect(tables_entries_of(shadow), shadow, change);
}

void tables_executed(struct shadow *shadow, struct shadow_operation *operation)
{
	struct shadow_table_change *change = operation->change;
	static const struct list nothing;

	if (!change)
		return;
	bool is_another = tables_entries_differ(&tables_of(shadow)->entries, change);
	tables_entries_apply(&tables_of(shadow)->entries, shadow, change);
	const char *table = change->table != 0 ? shadow_pointer(shadow, change->table) : NULL;
	bool is_quiet = table && !change->is_now && !is_on_its_way(shadow, &nothing, change->table);
	if (is_quiet && change->before && !change->is_mixed)
		check_update(shadow, change, change->before, (const unsigned char *)table,
			     is_another && !operation->has_passes);
	for (uint32_t i = 0; is_quiet && change->is_alone && i < change->copy_count; i++) {
		if (!is_on_its_way(shadow, &nothing, change->copies[i].from))
			check_copy(shadow, &change->copies[i]);
	}
}

/* ---- by the processor, in the call ---- */

static const unsigned char *table_of_processor(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;

	return args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && !args->pDmaBuffer &&
			       update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL &&
			       update->pPageTableEntries
		       ? update->PageTableAddress.CpuVirtual
		       : NULL;
}

static void before_build(struct tables *tables, const struct shadow *shadow,
			 const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const unsigned char *table = table_of_processor(args);
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
	uint32_t entries;

	tables->now_bytes = 0;
	if (table && shadow->building.operation && shadow->building.operation->change)
		tables_entries_expect(&tables->entries, shadow, shadow->building.operation->change);
	if (!table || !tables_shape(shadow, update->PageTableLevel,
				    update->PageTableLevel == 0 && update->Flags.Use64KBPages,
				    &tables->now_bytes, &entries))
		return;
	free(tables->now);
	tables->now = malloc(tables->now_bytes);
	if (tables->now)
		memcpy(tables->now, table, tables->now_bytes);
	else
		tables->now_bytes = 0;
}

static void after_build(struct tables *tables, struct shadow *shadow,
			const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const unsigned char *table = tables->now_bytes > 0 ? table_of_processor(args) : NULL;

	if (!table)
		return;
	lock_acquire(&shadow->lock);
	struct shadow_table_change *change = tables_change_create_locked(shadow, args);
	lock_release(&shadow->lock);
	if (!change)
		return;
	change->size_bytes = tables->now_bytes;
	/* They are applied with the operation, which is executed behind this. */
	check_update(shadow, change, tables->now, table,
		     tables_entries_differ(&tables->entries, change));
	tables_change_free(change);
}

/* ---- roots ---- */

static void after_root_size(struct tables *tables, const struct verify_call *call)
{
	const DXGKARG_GETROOTPAGETABLESIZE *args = call->arguments;
	uint32_t asked = (uint32_t)call->numbers[0];
	uint64_t bytes = call->result;
	uint64_t other_bytes = 0;
	uint32_t other = 0;

	if (bytes % SHADOW_PAGE_BYTES != 0 || args->NumberOfPte < asked)
		nt_report(RULE_DDI_PT_ROOT_SIZE,
			  "DxgkDdiGetRootPageTableSize said %llu bytes and %u entries when asked "
			  "for %u: whole pages, and room for all of them",
			  (unsigned long long)bytes, args->NumberOfPte, asked);
	lock_acquire(&tables->lock);
	for (uint32_t i = 0; i < tables->root_count; i++) {
		uint32_t entries = tables->roots[i].entries;

		if ((entries <= asked && tables->roots[i].bytes > bytes) ||
		    (entries >= asked && tables->roots[i].bytes < bytes)) {
			other = entries;
			other_bytes = tables->roots[i].bytes;
		}
	}
	if (tables->root_count < ROOTS_REMEMBERED) {
		tables->roots[tables->root_count].entries = asked;
		tables->roots[tables->root_count++].bytes = bytes;
	}
	lock_release(&tables->lock);
	if (other != 0)
		nt_report(RULE_DDI_PT_ROOT_SIZE,
			  "DxgkDdiGetRootPageTableSize said %llu bytes for %u entries, and %llu "
			  "for %u",
			  (unsigned long long)bytes, asked, (unsigned long long)other_bytes, other);
}

static bool has_work(struct shadow *shadow, const void *context)
{
	bool is_found = false;

	lock_acquire(&shadow->lock);
	for (uint32_t node = 0; node < MINIPORT_MAX_NODES; node++) {
		list_each (struct shadow_packet, packet, &shadow->nodes[node], link)
			is_found |= packet->context == context && !packet->is_paging;
	}
	lock_release(&shadow->lock);
	return is_found;
}

/* The kernel's own duty, which drivers rely on. */
static void before_root(struct shadow *shadow, const DXGKARG_SETROOTPAGETABLE *args)
{
	if (has_work(shadow, args->hContext))
		nt_report(RULE_DDI_PT_ROOT, "DxgkDdiSetRootPageTable is called for a context whose "
					    "work is with the hardware");
}

static void before_submit(struct shadow *shadow, const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
	lock_acquire(&shadow->lock);
	const struct shadow_context *context = map_get_pointer(&shadow->contexts, args->hContext);
	bool is_rootless = context && context->is_virtual && context->root == 0 &&
			   shadow->adapter->miniport->info.supports_gpu_mmu;
	lock_release(&shadow->lock);
	if (is_rootless)
		nt_report(RULE_DDI_PT_ROOT, "DxgkDdiSubmitCommandVirtual is called for a context "
					    "that was told no root page table");
}

/* ---- the watch ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	struct tables *tables = state;

	(void)adapter;
	tables_entries_init(&tables->entries);
	lock_init(&tables->lock, LOCK_RANK_LEAF, "verified page tables");
}

static void end(struct verify_adapter *adapter, void *state)
{
	struct tables *tables = state;

	(void)adapter;
	tables_entries_forget(&tables->entries);
	free(tables->now);
}

static void before(struct verify_call *call, void *state)
{
	struct shadow *shadow = shadow_of(call->adapter);

	switch ((int)call->ddi) {
	case DDI_BUILD_PAGING_BUFFER:
		before_build(state, shadow, call->arguments);
		break;
	case DDI_GET_ROOT_PAGE_TABLE_SIZE:
		call->numbers[0] =
			((const DXGKARG_GETROOTPAGETABLESIZE *)call->arguments)->NumberOfPte;
		break;
	case DDI_SET_ROOT_PAGE_TABLE:
		before_root(shadow, call->arguments);
		break;
	case DDI_SUBMIT_COMMAND_VIRTUAL:
		before_submit(shadow, call->arguments);
		break;
	default:
		break;
	}
}

static void after(struct verify_call *call, void *state)
{
	struct tables *tables = state;

	switch ((int)call->ddi) {
	case DDI_BUILD_PAGING_BUFFER:
		if (call->status == STATUS_SUCCESS)
			after_build(tables, shadow_of(call->adapter), call->arguments);
		break;
	case DDI_GET_ROOT_PAGE_TABLE_SIZE:
		after_root_size(tables, call);
		break;
	case DDI_RESET_FROM_TIMEOUT:
	case DDI_STOP_DEVICE:
		tables_entries_forget(&tables->entries);
		break;
	default:
		break;
	}
}

static void callback_after(struct verify_callback *callback, void *state)
{
	struct tables *tables = state;

	if (callback->id == VERIFY_CB_ReserveGpuVirtualAddressRange && NT_SUCCESS(callback->status))
		tables->has_reserved = true;
}

const struct verify_watching verify_watch_tables = {
	.state_bytes = sizeof(struct tables),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
	.callback_after = callback_after,
};
