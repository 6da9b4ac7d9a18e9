/* SPDX-License-Identifier: MIT */
/*
 * table_tree.h - the tree of tables, for the files that build, write and recount it.
 *
 *	page_tables.c     which tables there are
 *	table_need.c      which are missing
 *	table_memory.c    where they are
 *	root_change.c     another root
 *	table_entries.c   what entries are to be
 *	table_wide.c      … where pages have 64 KiB
 *	table_give.c      what the driver was given, and operations that say so
 *	table_sync.c      what has to be written
 *	table_copy.c      … by copying what is written elsewhere
 *	mapped_memory.c   the same, for memory that moves
 *	table_validate.c  recounting
 *
 * Locks: page_tables.lock is held wherever a function ends in _locked.
 */
#ifndef PAGETABLE_TABLE_TREE_H
#define PAGETABLE_TABLE_TREE_H

#include "pagetable/page_tables.h"

struct table {
	uint32_t level;
	uint32_t shift; /* log2 of pages that an entry covers */
	uint32_t entry_count;
	uint64_t first_page; /* of the space */
	uint64_t size_bytes;
	struct pager_table memory;
	bool is_written;   /* it is a table: all its entries were given to the driver, once */
	bool is_behind;    /* some of them are not what they should be; who comes writes all */
	uint32_t left_out; /* how often entries were left out, for a large page's sake */
	bool is_zeroes;
	bool is_wide;         /* a twin: its entries are 64 KiB pages */
	bool shows_wide;      /* a leaf: its twin is what the entry above leads to, alone … */
	bool stays_narrow;    /* … and never again: there was something of 4 KiB in it */
	struct table *wide;   /* a leaf's twin; NULL: the GPU has no such tables */
	struct table *above;  /* NULL: the root, or zeroes */
	struct table **below; /* above the leaves: entry_count of them, NULL where there is none */
	struct table *made_before; /* while a call makes some */

	/*
	 * What the driver was given, packed by pte_pack(): 0 is invalid. Mostly that is pages in a
	 * row, or the same all over; then a step from one entry to the next says it all.
	 */
	bool is_run;
	uint64_t run_first;
	uint64_t run_step;
	uint64_t *given;      /* without is_run */
	uint64_t *given_wide; /* of level 1, with two pointers in an entry: the second one */
};

static inline uint64_t table_given(const struct table *table, uint32_t index)
{
	return table->is_run ? table->run_first + index * table->run_step : table->given[index];
}

/* All entries at once. */
static inline void table_set_given(struct table *table, uint64_t first, uint64_t step)
{
	table->is_run = true;
	table->run_first = first;
	table->run_step = step;
}

static inline uint64_t table_end(const struct page_tables *tables, const struct table *table)
{
	return table->first_page + ((uint64_t)table->entry_count << table->shift);
}

static inline uint32_t table_index(const struct page_tables *tables, const struct table *table,
				   uint64_t page)
{
	return (uint32_t)((page - table->first_page) >> table->shift);
}

static inline bool tables_are_dual(const struct page_tables *tables)
{
	return tables->config->shape.answer.has_dual_entries;
}

enum {
	PACKED_VALID = 1 << 0,
	PACKED_ZERO = 1 << 1,
	PACKED_READ_ONLY = 1 << 2,
	PACKED_NO_EXECUTE = 1 << 3,
	PACKED_CACHE_COHERENT = 1 << 4,
	PACKED_SEGMENT_SHIFT = 5,
	PACKED_LARGE = 1 << 10,
	PACKED_TABLE_64K = 1 << 11,
	PACKED_PAGE_SHIFT = 12,
};

static inline uint64_t pte_pack(const struct miniport_pte *entry)
{
	if (!entry->is_valid && !entry->is_zero)
		return 0;
	return entry->page << PACKED_PAGE_SHIFT | (uint64_t)entry->segment << PACKED_SEGMENT_SHIFT |
	       (entry->is_valid ? PACKED_VALID : 0) | (entry->is_zero ? PACKED_ZERO : 0) |
	       (entry->is_read_only ? PACKED_READ_ONLY : 0) |
	       (entry->is_no_execute ? PACKED_NO_EXECUTE : 0) |
	       (entry->is_cache_coherent ? PACKED_CACHE_COHERENT : 0) |
	       (entry->is_large ? PACKED_LARGE : 0) | (entry->is_table_64k ? PACKED_TABLE_64K : 0);
}

/* ---- page_tables.c ---- */

struct table_size {
	uint32_t entry_count;
	uint64_t bytes;
	bool is_wide;
};

/* A root of two levels with at least `wanted` entries, as the driver makes them. No lock is held.
 */
MUST_CHECK NTSTATUS table_size_root(const struct page_tables_config *config, uint64_t wanted,
				    struct table_size *size_out);

/* `wants` is what was waited for, or NULL; STATUS_GRAPHICS_NO_VIDEO_MEMORY: what there is to. */
MUST_CHECK NTSTATUS table_make(struct page_tables *tables, uint32_t level,
			       const struct table_size *size, struct table_block_wants *wants,
			       struct table **table_out);
/* Nothing counts as written, and nothing leads anywhere. */
void table_forget(struct table *table);
/* Accepts NULL. */
void table_free(struct page_tables *tables, struct table *table);

/* From now on tables can be made below `end_page`, and the kernel chooses addresses there. */
static inline void tables_reach(struct page_tables *tables, uint64_t end_page)
{
	tables->end_page = end_page;
	tables->space.kernel_end_page = end_page;
}

/* The table of `level` with `page`; NULL: there is none. */
struct table *tables_at(const struct page_tables *tables, uint32_t level, uint64_t page);

/* The first one that ends above `page` and begins below `end_page`. */
struct table *tables_next_locked(const struct page_tables *tables, uint32_t level, uint64_t page,
				 uint64_t end_page);

/* True when [first_page, first_page + page_count) shows zeroes all over. */
bool tables_is_zero_locked(const struct page_tables *tables, uint64_t first_page,
			   uint64_t page_count);

/* Nothing counts as written. */
void tables_forget_locked(struct page_tables *tables);

/* ---- making tables: page_tables.c, table_need.c ---- */

struct table_making {
	struct page_tables *tables;
	struct table_block_wants *wants; /* what was waited for; may be NULL */
	enum table_time time;

	/* The step of the plan that tables are being made for. */
	uint64_t first_page;
	uint64_t end_page;
	enum gpuva_kind kind; /* MAPPED: with tables all over */

	struct table_need need;
	uint64_t counted_end[GPUVA_MAX_LEVELS]; /* of the last one that was counted */
	bool has_counted_zeroes[GPUVA_MAX_LEVELS];

	struct table *made;
	struct table_need has_made;
};

/* Does an entry that covers these pages need a table of its own, for the step at turn? */
bool table_making_needs_one_locked(const struct table_making *making, uint64_t first_page,
				   uint64_t end_page);

/* For the step at turn. */
void table_making_count_locked(struct table_making *making);

/* Is there room for what was counted, as far as numbers tell? STATUS_GRAPHICS_NO_VIDEO_MEMORY. */
MUST_CHECK NTSTATUS table_making_check(const struct table_making *making);

/* Could there ever be room for it? Refused. */
MUST_CHECK NTSTATUS table_need_check(const struct table_need *need,
				     const struct page_tables_config *config,
				     const struct vidmm_process *process);

/* ---- table_memory.c ---- */

static inline bool table_is_in_system_memory(const struct page_tables_config *config,
					     uint32_t segment)
{
	return segment == 0 || segment == config->implicit_system_segment;
}

/* STATUS_GRAPHICS_NO_VIDEO_MEMORY: there is no room, which is not refused here. */
MUST_CHECK NTSTATUS table_take_memory(struct table_making *making, uint32_t level,
				      uint64_t size_bytes, struct pager_table *memory_out);
void table_give_memory(const struct page_tables_config *config, const struct table *table);

/* ---- table_give.c ---- */

/* An update of `count` entries, which are in the scratch, or one of which is. */
void table_update_op(const struct page_tables *tables, const struct table *table,
		     uint32_t first_index, uint32_t count, struct miniport_paging_op *op_out);

/*
 * From now on the driver was given these, packed: what was there before is noted, where a TLB may
 * have it.
 */
void table_give_locked(struct page_tables *tables, struct table *table, uint32_t first_index,
		       uint32_t count, const uint64_t *packed, struct table_changes *changes);

bool table_is_all_invalid(const struct table *table, uint32_t first_index, uint32_t count);

/*
 * An update of entries, which the driver was given from then on: those in the scratch, the same all
 * over, all of a table that is none yet, pages in a row of which this is the first.
 */
void table_make_several_locked(struct page_tables *tables, struct table *table,
			       uint32_t first_index, uint32_t count, struct table_changes *changes,
			       struct miniport_paging_op *op_out);
void table_make_repeated(struct page_tables *tables, struct table *table, uint32_t first_index,
			 uint32_t count, struct miniport_pte entry, struct table_changes *changes,
			 struct miniport_paging_op *op_out);
void table_make_initial(struct page_tables *tables, struct table *table, struct miniport_pte entry,
			struct table_changes *changes, struct miniport_paging_op *op_out);
void table_make_run(struct page_tables *tables, struct table *table, uint32_t first_index,
		    uint32_t count, struct miniport_pte entry, struct table_changes *changes,
		    struct miniport_paging_op *op_out);

/* The TLB, where what was written asks for it; false: nothing does. Forgets the changes. */
bool table_make_flush(struct page_tables *tables, struct table_changes *changes,
		      struct miniport_paging_op *op_out);

/* ---- table_entries.c ---- */

/* A packed entry back as it was. */
struct miniport_pte pte_unpack(uint64_t packed);

/* What stands for pages of `kind` that are not memory's: invalid, or zero. */
struct miniport_pte table_entry_of_kind(const struct page_tables *tables, enum gpuva_kind kind);

/* What the entries of a view of the space are; as many as are in a row. */
struct miniport_pte table_first_entry_locked(const struct page_tables *tables,
					     const struct gpuva_view *view, uint64_t *count);

/* Where in its memory a view begins, and how many pages go on from there. */
uint64_t table_view_offset(const struct gpuva_view *view, uint64_t *page_count_out);
const struct mapped_memory *table_view_memory(const struct gpuva_view *view);

/* Is all that a table shows one page of the level above? Then *entry_out is the entry there. */
bool table_is_large_locked(const struct page_tables *tables, const struct table *table,
			   struct miniport_pte *entry_out);

/* Where pages of memory are, and the entry of the first of them. */
struct resident_run table_look(const struct page_tables *tables, const struct mapped_memory *memory,
			       uint64_t offset_pages, uint64_t page_count);
struct miniport_pte table_memory_entry(const struct page_tables *tables,
				       const struct gpuva_view *view,
				       const struct resident_run *run);

/* The second pointer of entry `index` of a table of level 1 with two. */
struct miniport_pte table_wide_entry_above_locked(const struct page_tables *tables,
						  const struct table *table, uint32_t index);

/* What entry `index` of a table above the leaves is to be. */
struct miniport_pte table_entry_above_locked(const struct page_tables *tables,
					     const struct table *table, uint32_t index);

/* ---- table_wide.c ---- */

struct wide_part {
	uint32_t count; /* of entries; 0: the next 64 KiB are no page */
	bool is_repeated;
	bool is_invalid; /* all of them */
	uint64_t driver_protection;
	const struct mapped_memory *memory; /* NULL: none … */
	uint64_t offset_pages;              /* … and where in it */
};

/*
 * As many entries of 64 KiB as are in a row from `page` on, a multiple of that, to be written in one
 * operation. They are in the scratch, packed too; one with is_repeated.
 */
void table_wide_part_locked(const struct page_tables *tables, uint64_t page, uint64_t end_page,
			    struct wide_part *part_out);

/* ---- table_copy.c ---- */

/*
 * An operation that copies entries for what `view` shows from *page on, as many as there are where
 * its memory is kept mapped; *page moves on. False: there are none.
 */
bool table_copy_locked(struct page_tables *tables, struct table *table,
		       const struct gpuva_view *view, uint64_t *page, struct table_changes *changes,
		       struct miniport_paging_op *op_out);

/* The same for entries of 64 KiB, which `part` says and the scratch holds. */
bool table_copy_wide_locked(struct page_tables *tables, struct table *wide,
			    const struct wide_part *part, uint64_t *page,
			    struct table_changes *changes, struct miniport_paging_op *op_out);

#endif
