/* SPDX-License-Identifier: MIT */
/*
 * tables_entries.c - the entries of page tables, as far as a driver was told them and has written them, and the walk through
 * them that its hardware would make (tables.h).
 *
 * A table begins with its initial update and ends with the next one in its place; one that is freed without a word stays,
 * and no valid entry leads to it any more.
 */
#include <stdlib.h>
#include <string.h>

#include "verify/tables.h"

enum { TABLES_MAX = 8192, PAGE_BITS = 12, WIDE_BITS = 4 };

struct table_entries {
	uint32_t count;
	uint64_t changed;  /* tables_entries.changes then */
	uint32_t expected; /* changes of it */
	struct {
		DXGK_PTE pte;
		DXGK_PTE before; /* the last that was valid, apart from this one */
		bool is_told;
	} at[];
};

void tables_entries_init(struct tables_entries *entries)
{
	lock_init(&entries->lock, LOCK_RANK_LEAF, "verified page tables");
}

static void free_one(void *context, uint64_t key, uint64_t value)
{
	(void)context;
	(void)key;
	free((void *)(uintptr_t)value);
}

void tables_entries_forget(struct tables_entries *entries)
{
	lock_acquire(&entries->lock);
	map_each(&entries->tables, free_one, NULL);
	map_clear(&entries->tables);
	entries->changes++;
	lock_release(&entries->lock);
}

/* ---- writing ---- */

/* `is_anew`: nothing is told of what is in it. */
static struct table_entries *table_at_locked(struct tables_entries *entries,
					     const struct shadow *shadow,
					     const struct shadow_table_change *change, bool is_anew)
{
	struct table_entries *table =
		(struct table_entries *)(uintptr_t)map_get(&entries->tables, change->table);
	uint32_t size_bytes;
	uint32_t count;

	lock_assert_held(&entries->lock);
	if (!tables_shape(shadow, change->level, change->is_wide, &size_bytes, &count))
		count = change->first + change->count;
	if (table && !is_anew && table->count >= change->first + change->count)
		return table;
	if (entries->tables.used >= TABLES_MAX && !table)
		return NULL;
	struct table_entries *anew = calloc(1, sizeof(*anew) + count * sizeof(anew->at[0]));
	map_take(&entries->tables, change->table);
	if (anew) {
		anew->count = count;
		anew->expected = table ? table->expected : 0;
		anew->changed = table ? table->changed : 0;
		if (table && !is_anew)
			memcpy(anew->at, table->at,
			       (table->count < count ? table->count : count) * sizeof(anew->at[0]));
		map_set(&entries->tables, change->table, (uint64_t)(uintptr_t)anew);
	}
	free(table);
	return anew;
}

static bool is_another(const DXGK_PTE *a, const DXGK_PTE *b)
{
	if (a->Zero || b->Zero || !a->Valid || !b->Valid)
		return a->Zero != b->Zero || (!a->Zero && a->Valid != b->Valid);
	return a->Segment != b->Segment || a->PageAddress != b->PageAddress;
}

static const DXGK_PTE *new_entry(const struct shadow_table_change *change, uint32_t i)
{
	return &change->entries[change->is_repeated ? 0 : i];
}

static const struct table_entries *table_of_locked(const struct tables_entries *entries,
						   const struct shadow_table_change *change)
{
	lock_assert_held(&entries->lock);
	return (const struct table_entries *)(uintptr_t)map_get(&entries->tables, change->table);
}

static bool differs_locked(const struct tables_entries *entries,
			   const struct shadow_table_change *change, uint32_t i)
{
	const struct table_entries *table = table_of_locked(entries, change);
	uint32_t index = change->first + i;

	lock_assert_held(&entries->lock);
	return table && !change->is_initial && index < table->count && table->at[index].is_told &&
	       is_another(&table->at[index].pte, new_entry(change, i));
}

bool tables_entry_differs(struct tables_entries *entries, const struct shadow_table_change *change,
			  uint32_t i)
{
	lock_acquire(&entries->lock);
	bool is_different = differs_locked(entries, change, i);
	lock_release(&entries->lock);
	return is_different;
}

bool tables_entries_differ(struct tables_entries *entries, const struct shadow_table_change *change)
{
	bool is_different = false;

	lock_acquire(&entries->lock);
	for (uint32_t i = 0; i < change->count; i++)
		is_different |= differs_locked(entries, change, i);
	lock_release(&entries->lock);
	return is_different;
}

bool tables_entry_of_same_page(struct tables_entries *entries,
			       const struct shadow_table_change *change, uint32_t i,
			       uint32_t *index_out)
{
	const DXGK_PTE *written = new_entry(change, i);
	bool is_found = false;

	lock_acquire(&entries->lock);
	const struct table_entries *table = table_of_locked(entries, change);
	for (uint32_t index = 0; table && !is_found && index < table->count; index++) {
		const DXGK_PTE *other = &table->at[index].pte;

		/* Those that the change itself writes are not told yet. */
		is_found = table->at[index].is_told && index - change->first >= change->count &&
			   other->Valid && !other->Zero && !is_another(other, written) &&
			   other->ReadOnly != written->ReadOnly;
		*index_out = index;
	}
	lock_release(&entries->lock);
	return is_found;
}

static void entries_write(struct table_entries *table, const struct shadow_table_change *change)
{
	for (uint32_t i = 0; i < change->count && change->first + i < table->count; i++) {
		uint32_t at = change->first + i;

		if (table->at[at].is_told && table->at[at].pte.Valid)
			table->at[at].before = table->at[at].pte;
		table->at[at].pte = *new_entry(change, i);
		table->at[at].is_told = true;
	}
}

/* ---- what is to come ---- */

/* One change more, or, of one that was told, one less. False: the table is not known. */
static bool table_expect_locked(struct tables_entries *entries, uint64_t at, bool was_told)
{
	struct table_entries *table =
		(struct table_entries *)(uintptr_t)map_get(&entries->tables, at);

	lock_assert_held(&entries->lock);
	if (table && !was_told)
		table->expected++;
	else if (table && table->expected > 0)
		table->expected--;
	return table != NULL;
}

static void expect_all_locked(struct tables_entries *entries, struct shadow_table_change *change)
{
	lock_assert_held(&entries->lock);
	for (uint32_t i = 0; i < change->copy_count; i++)
		change->copies[i].is_expected =
			table_expect_locked(entries, change->copies[i].to, false);
	if (change->copy_count == 0)
		(void)table_expect_locked(entries, change->table, false);
}

/* A table that came to be known meanwhile was told of others only. */
static void expect_no_more_locked(struct tables_entries *entries,
				  const struct shadow_table_change *change)
{
	lock_assert_held(&entries->lock);
	for (uint32_t i = 0; i < change->copy_count; i++) {
		if (change->copies[i].is_expected)
			(void)table_expect_locked(entries, change->copies[i].to, true);
	}
	if (change->copy_count == 0)
		(void)table_expect_locked(entries, change->table, true);
}

void tables_entries_expect(struct tables_entries *entries, const struct shadow *shadow,
			   struct shadow_table_change *change)
{
	if (change->is_expected)
		return;
	change->is_expected = true;
	lock_acquire(&entries->lock);
	if (change->copy_count == 0 && change->table != 0)
		(void)table_at_locked(entries, shadow, change, false);
	expect_all_locked(entries, change);
	lock_release(&entries->lock);
}

/* ---- what was written ---- */

static void copy_locked(struct tables_entries *entries, const struct table_copy *copy)
{
	const struct table_entries *from =
		(struct table_entries *)(uintptr_t)map_get(&entries->tables, copy->from);
	struct table_entries *to =
		(struct table_entries *)(uintptr_t)map_get(&entries->tables, copy->to);

	lock_assert_held(&entries->lock);
	if (!to)
		return;
	to->changed = ++entries->changes;
	for (uint32_t i = 0; i < copy->count && copy->to_index + i < to->count; i++) {
		if (from && copy->from_index + i < from->count)
			to->at[copy->to_index + i] = from->at[copy->from_index + i];
		else
			to->at[copy->to_index + i].is_told = false;
	}
}

void tables_entries_apply(struct tables_entries *entries, const struct shadow *shadow,
			  const struct shadow_table_change *change)
{
	lock_acquire(&entries->lock);
	entries->changes++;
	if (change->is_expected)
		expect_no_more_locked(entries, change);
	for (uint32_t i = 0; i < change->copy_count; i++)
		copy_locked(entries, &change->copies[i]);
	if (change->copy_count == 0 && change->table != 0) {
		struct table_entries *table =
			table_at_locked(entries, shadow, change, change->is_initial);

		if (table) {
			table->changed = entries->changes;
			entries_write(table, change);
		}
	}
	lock_release(&entries->lock);
}

/* ---- reading ---- */

struct walk {
	struct tables_entries *entries;
	const struct shadow *shadow;
	const struct miniport_gpu_mmu *mmu;
	uint64_t address;
	uint64_t since;
	bool is_write;
	bool is_read_only;
	bool is_anew;
};

static uint32_t shift_of(const struct miniport_gpu_mmu *mmu, uint32_t level)
{
	uint32_t shift = PAGE_BITS;

	for (uint32_t i = 0; i < level; i++)
		shift += mmu->levels[i].index_bits;
	return shift;
}

/* NULL: nobody knows. */
static const DXGK_PTE *entry_locked(struct walk *walk, shadow_page page, uint64_t index)
{
	const struct table_entries *table =
		(struct table_entries *)(uintptr_t)map_get(&walk->entries->tables, page);

	lock_assert_held(&walk->entries->lock);
	if (!table || table->expected > 0 || table->changed > walk->since ||
	    index >= table->count || !table->at[index].is_told)
		return NULL;
	const DXGK_PTE *pte = &table->at[index].pte;
	walk->is_anew |= table->at[index].before.Valid && is_another(&table->at[index].before, pte);
	return pte;
}

static enum tables_walk walk_locked(struct walk *walk, shadow_page table, uint32_t root_entries)
{
	uint32_t level = walk->mmu->level_count - 1;
	uint32_t shift = shift_of(walk->mmu, level);
	uint64_t index = walk->address >> shift;

	lock_assert_held(&walk->entries->lock);
	if (index >= root_entries)
		return TABLES_INVALID;
	for (;;) {
		const DXGK_PTE *entry = entry_locked(walk, table, index);

		if (!entry)
			return TABLES_NOT_KNOWN;
		if (!entry->Valid && !entry->Zero)
			return TABLES_INVALID;
		walk->is_read_only |= entry->ReadOnly;
		if (level == 0 || entry->Zero || entry->LargePage)
			return entry->NoExecute                       ? TABLES_NOT_KNOWN
			       : walk->is_write && walk->is_read_only ? TABLES_INVALID
			       : walk->is_anew                        ? TABLES_VALID_ANEW
								      : TABLES_VALID;
		table = shadow_page_of(shadow_real_segment(walk->shadow, (uint32_t)entry->Segment),
				       entry->PageTableAddress);
		bool is_wide = level == 1 && entry->PageTablePageSize != 0;
		level--;
		shift = shift_of(walk->mmu, level) + (is_wide ? WIDE_BITS : 0);
		index = (walk->address >> shift) &
			((UINT64_C(1)
			  << (walk->mmu->levels[level].index_bits - (is_wide ? WIDE_BITS : 0))) -
			 1);
	}
}

enum tables_walk tables_entries_walk(struct tables_entries *entries, const struct shadow *shadow,
				     shadow_page root, uint32_t root_entries, uint64_t address,
				     bool is_write, uint64_t since)
{
	const struct miniport_info *info = &shadow->adapter->miniport->info;
	struct walk walk = {
		.entries = entries,
		.shadow = shadow,
		.mmu = &info->gpu_mmu,
		.address = address,
		.since = since,
		.is_write = is_write,
	};
	const DXGK_GPUMMUCAPS caps = { .Value = info->gpu_mmu.flags };

	/* Two tables below one entry: there the walk depends on what is in both. */
	if (root == 0 || info->gpu_mmu.level_count < 2 || caps.DualPteSupported)
		return TABLES_NOT_KNOWN;
	lock_acquire(&entries->lock);
	enum tables_walk found = walk_locked(&walk, root, root_entries);
	lock_release(&entries->lock);
	return found;
}
