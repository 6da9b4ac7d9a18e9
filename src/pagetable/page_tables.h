/* SPDX-License-Identifier: MIT */
/*
 * page_tables.h - the page tables of one GPU address space: one process on one adapter.
 *
 *	what a page shows       gpuva/space.h
 *	where that memory is    look(), as of what the pager has built
 *	─────────────────────────────────────────────────────────────▶ entries, by table_sync_next()
 *
 * Map, free, update, moving in and moving out are all the same: change what is true, then let a
 * paging job make the tables of that range show it. The operations are made when the job is built,
 * on the pager's thread, from what is true then; so it does not matter how often a range is
 * written, or that what a job was queued for has changed meanwhile.
 *
 * Memory for tables is taken when a call is made, so that a job cannot fail for lack of it; what has
 * no room is refused before (table_need.c). Tables stay until the space ends; the memory they are in goes and comes back, all of it at
 * once, while nothing of the process runs (address_space/eviction.c). What shows zeroes all over needs none
 * of its own: each space has one table of zeroes per level, which any number of entries above point
 * at.
 *
 * Where both sides allow, an entry above the leaves is a large page: what the table below it would
 * show is one run of memory with no driver protection. The table and those below it stay, so that
 * the page can fall apart when something in it changes; they are written from end to end before
 * anything leads to them.
 *
 * Where the GPU has leaf tables of 64 KiB pages each leaf has two places, taken at once: one for
 * entries of 4 KiB and a twin of 64 KiB (table_wide.c). Either an entry above leads to one of the
 * two: to the twin, until something in it is no 64 KiB page, and from then on to the other; or it
 * leads to both (TABLES_ARE_DUAL), and each 64 KiB are valid in one of them.
 *
 * What an update shows the GPU copies, where it writes tables itself: from the leaves of another
 * space of the same process, where tile pools are kept mapped (address_space/pools.c, table_copy.c). Those
 * leaves are always there, so that space has no large pages.
 *
 * Entries that lead nowhere are never written again where they are known to be invalid: a driver
 * may have put its own tables there (DxgkCbReserveGpuVirtualAddressRange).
 *
 * Locks: `lock` guards the space, the tree and what was given to the driver. look() is called with
 * it held.
 */
#ifndef PAGETABLE_PAGE_TABLES_H
#define PAGETABLE_PAGE_TABLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/status.h"
#include "gpuva/space.h"
#include "gpuva/table_shape.h"
#include "paging/pager.h"

struct gpuva_step;
struct page_tables;
struct table;
struct mapped_memory;
struct vidmm_process;

/* DXGK_GPUMMUCAPS, the bits that count here. */
enum {
	TABLES_HAVE_READ_ONLY = 1 << 0,
	TABLES_HAVE_NO_EXECUTE = 1 << 1,
	TABLES_HAVE_ZERO = 1 << 2,
	TABLES_END_INVALID = 1 << 3, /* ExplicitPageTableInvalidation */
	TABLES_HAVE_CACHE_COHERENT = 1 << 4,
	TABLES_HAVE_LARGE = 1 << 6,         /* LargePageSupported */
	TABLES_ARE_DUAL = 1 << 7,           /* DualPteSupported */
	TABLES_HAVE_UNALIGNED = 1 << 8,     /* AllowNonAlignedLargePageAddress */
	TABLES_HAVE_64K_SYSTEM = 1 << 9,    /* SysMem64KBPageSupported */
	TABLES_CACHE_NO_INVALID = 1 << 10,  /* InvalidTlbEntriesNotCached */
	TABLES_HAVE_LARGE_SYSTEM = 1 << 11, /* SysMemLargePageSupported */
};

/* Pages in a row, and where they are for the GPU. */
struct resident_run {
	bool is_resident; /* false: nowhere, and only the count holds */
	uint32_t segment;
	uint64_t first_page;
	uint64_t page_count; /* in: how many are asked for; out: how many there are in a row */
};

/* So many entries in one operation. */
enum { TABLES_FEW_ENTRIES = PAGING_TABLE_ENTRIES };

/* What the operation points at that was made last. The pager's thread's. */
struct table_scratch {
	struct miniport_table_copy copies[MINIPORT_FEW_ENTRIES];
	struct miniport_pte entries[TABLES_FEW_ENTRIES];
	uint64_t packed[TABLES_FEW_ENTRIES]; /* the same (table_tree.h) */
	/* Two pointers in an entry: those to tables of 64 KiB pages. */
	struct miniport_pte wide_entries[TABLES_FEW_ENTRIES];
	uint64_t wide_packed[TABLES_FEW_ENTRIES];
};

/* For DxgkDdiSetRootPageTable. */
struct page_tables_root {
	uint32_t segment;
	uint64_t offset_bytes;
	uint32_t entry_count;
};

/* Room for one table. */
struct table_block_want {
	uint32_t level;
	uint32_t segment;
	uint64_t size_bytes;
	uint64_t align_bytes;
	struct pager_table memory; /* with is_taken */
	bool is_taken;
};

/* How many tables are missing. */
struct table_need {
	uint64_t count[GPUVA_MAX_LEVELS];
	uint64_t wide_count; /* leaves of 64 KiB pages, besides */
	uint64_t root_bytes; /* of a root among them */
};

/* Room that a call waited for, because there was none. Zeroed at its start. */
struct table_block_wants {
	struct table_block_want *wants;
	uint32_t count;
	struct table_need need; /* when there is none again */
};

/* One adapter's. Outlives its spaces. */
struct page_tables_config {
	struct miniport_gpu_mmu mmu;
	uint32_t implicit_system_segment; /* another name of system memory; 0: there is none */
	uint32_t segments_of_64k_pages;   /* bit n - 1: segment n is managed in those */

	/*
	 * Room in a segment that is not system memory. Does not wait:
	 * STATUS_GRAPHICS_NO_VIDEO_MEMORY, which the caller refuses.
	 */
	NTSTATUS(*take_block)
	(void *memory, struct vidmm_process *process, uint32_t segment, uint64_t size_bytes,
	 uint64_t align_bytes, struct pager_table *table_out);
	void (*give_block)(void *memory, const struct pager_table *table, uint64_t size_bytes);
	void *memory;

	/*
	 * Bytes that are free there, in one piece or not; with `is_ever` those that its tables
	 * could have besides what they have, if everything else went. NULL: whoever takes some
	 * sees.
	 */
	uint64_t (*room_left)(void *memory, const struct vidmm_process *process, uint32_t segment,
			      bool is_ever);

	/*
	 * Where room that tables are in comes and goes (vidmm/table_block.h); else NULL, all of them:
	 * where it is now, it stays where it is meanwhile, and waiting for some, which lets go of one
	 * hold until then.
	 */
	void (*find_block)(void *memory, struct pager_table *table);
	void (*hold)(struct vidmm_process *process);
	void (*release)(struct vidmm_process *process);
	NTSTATUS(*await)
	(struct vidmm_process *process, struct table_block_want wants[], uint32_t count);

	/* Two levels only: bytes for a root of at least so many entries; says how many fit. */
	uint64_t (*root_bytes)(void *driver, uint32_t *entry_count);
	/* A context's root is there, or another one now. Nothing of it is with the hardware. */
	void (*set_root)(void *driver, void *driver_context, const struct page_tables_root *root);
	void *driver;

	/* Where pages of an allocation are, as of what was built. On the pager's thread. */
	void (*look)(void *context, const struct mapped_memory *memory, uint64_t offset_pages,
		     struct resident_run *run);
	void *look_context;

	/*
	 * A job of somebody else's that wrote these tables has failed: they show anything. On the
	 * pager's thread. May be NULL.
	 */
	void (*failed)(struct page_tables *tables, NTSTATUS status);

	/* Set by page_tables_config_init(). */
	struct gpuva_shape shape;
	uint64_t zero_page; /* where entries cannot say zero */
	struct table_scratch *scratch;
	struct lock lock;   /* LOCK_RANK_VA_SPACES */
	struct list spaces; /* address_space.config_link */
};

/* Everything above `shape` is set. Refused when no tables can look like that. */
MUST_CHECK NTSTATUS page_tables_config_init(struct page_tables_config *config);
/* Accepts what was not initialised. */
void page_tables_config_finish(struct page_tables_config *config);

struct page_tables {
	/* Set at init. */
	const struct page_tables_config *config;
	struct vidmm_process *process; /* whose room the tables have; NULL: it stays for ever */
	void *driver_process;

	bool are_pools; /* entries are copied from here */

	struct lock lock; /* LOCK_RANK_VA_SPACE, …_POOLS */
	struct gpuva_space space;
	struct page_tables *pools; /* where an update's entries may come from; NULL: nowhere */
	bool is_out; /* the tables have no memory, and nothing is written; the pager's thread's */
	struct table *root;
	uint64_t end_page; /* of what the root covers: tables can be made below */
	struct table
		*zeroes[GPUVA_MAX_LEVELS]; /* made at the first need; none at the root's level */
	uint64_t table_count;
	uint64_t table_bytes;
};

/*
 * An empty space and its root, which is written by the first sync of anything. `wants` is what was
 * waited for, or NULL.
 */
MUST_CHECK NTSTATUS page_tables_init(struct page_tables *tables,
				     const struct page_tables_config *config,
				     struct vidmm_process *process, void *driver_process,
				     struct table_block_wants *wants);

/*
 * The same for tables that `user` copies from: they are its process's, too. Their lock is taken with
 * that of `user` held.
 */
MUST_CHECK NTSTATUS page_tables_init_pools(struct page_tables *tables,
					   const struct page_tables *user,
					   struct table_block_wants *wants);

/* No job is under way. With TABLES_END_INVALID a sync with `is_ending` came last. */
void page_tables_finish(struct page_tables *tables);

/* Nobody exchanges it meanwhile (root_change.h). */
struct page_tables_root page_tables_root(const struct page_tables *tables);

/* When steps show what they say: at once, or when their turn comes. */
enum table_time {
	TABLES_NOW,
	TABLES_LATER,         /* what is around them may be something else by then … */
	TABLES_LATER_UNKNOWN, /* … and so may they: an update that copies */
};

/*
 * All tables that are missing to let steps show what they say, which is nothing above end_page: all
 * or none. They ascend, do not overlap, and are applied before the lock is let go. They are counted
 * first, and nothing is taken for what has no room.
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY: wait for table_block_wants.need, and try again. `wants` may be NULL.
 */
MUST_CHECK NTSTATUS page_tables_make_steps_locked(struct page_tables *tables,
						  const struct gpuva_step *steps, size_t count,
						  enum table_time time,
						  struct table_block_wants *wants);

/* The same without making any. */
MUST_CHECK NTSTATUS page_tables_count_steps_locked(struct page_tables *tables,
						   const struct gpuva_step *steps, size_t count,
						   enum table_time time,
						   struct table_block_wants *wants);

/*
 * Returns when there is room for everything that was needed, and whatever the process has in place
 * is; refused when nothing more can go. No lock held, not on the pager's thread.
 */
MUST_CHECK NTSTATUS table_block_wants_await(struct table_block_wants *wants,
					    const struct page_tables_config *config,
					    struct vidmm_process *process);

/* The refusal for who does not wait. */
MUST_CHECK NTSTATUS table_block_wants_refuse(void);

/* What was not used goes back. */
void table_block_wants_finish(struct table_block_wants *wants,
			      const struct page_tables_config *config);

/* After an adapter reset: nothing counts as written. A sync of everything writes it anew. */
void page_tables_forget(struct page_tables *tables);

/*
 * Their memory goes, and is somewhere again: nothing counts as written either time. On the pager's
 * thread.
 */
void page_tables_go_out(struct page_tables *tables);
void page_tables_come_in(struct page_tables *tables);

/* ---- making the tables show what is true ---- */

/* What was written and may be in a TLB. */
struct table_changes {
	uint64_t first_page; /* first_page == end_page: nothing */
	uint64_t end_page;
	bool must_flush;
};

struct table_sync {
	struct page_tables *tables;
	uint64_t first_page;
	uint64_t end_page;
	bool is_ending;  /* all entries of all tables become invalid instead */
	bool is_leaving; /* … because their memory goes */
	bool may_copy;   /* an update: entries come from page_tables.pools, where they are there */

	/* Its own. */
	bool has_begun;
	uint32_t level;
	uint64_t next_page; /* where the next table of the level is looked for */
	struct table *table;
	struct table *before; /* the one that was written before it */
	uint64_t page;
	uint64_t stop_page;
	bool is_whole;         /* all of the table is written … */
	uint32_t left_out;     /* … unless more than this was left out */
	bool must_begin_again; /* what was left out has to be written after all */
	struct table_changes changes;
};

void table_sync_init(struct table_sync *sync, struct page_tables *tables, uint64_t first_page,
		     uint64_t page_count);

/*
 * The next operation: leaves, what is above them, the TLB. False: there are no more. On the pager's
 * thread. An operation is built before the next one is asked for.
 */
bool table_sync_next(struct table_sync *sync, struct miniport_paging_op *op_out);

/*
 * For a row of several ranges: their operations without the TLB, one more range, and the TLB for
 * all of them at the end. Where the CPU writes entries nothing is written after a flush in the same
 * job.
 */
bool table_sync_write(struct table_sync *sync, struct miniport_paging_op *op_out);
void table_sync_again(struct table_sync *sync, uint64_t first_page, uint64_t page_count);
bool table_sync_flush(struct table_sync *sync, struct miniport_paging_op *op_out);

/* What the TLBs have of these pages goes; end_page 0: of all. Nobody exchanges the root meanwhile. */
void page_tables_flush_op(const struct page_tables *tables, uint64_t first_page, uint64_t end_page,
			  struct miniport_paging_op *op_out);

/* The job with this range failed: the next sync writes the whole tables of it. */
void page_tables_distrust(struct page_tables *tables, uint64_t first_page, uint64_t page_count);

/* ---- memory with GPU addresses ---- */

/* For whoever looks: which run of pages was found last. The pager's thread's. */
struct mapped_memory_hint {
	uint64_t version;
	uint64_t first_page; /* offset of the run in the allocation */
	uint32_t run;
};

/* One allocation, in all spaces that show it. */
struct mapped_memory {
	/* Set at init. */
	uint64_t page_count;
	struct miniport_subject subject;
	void *allocation;    /* the caller's; NULL: system memory that never moves … */
	uint64_t fixed_page; /* … from this page on */

	struct lock lock;  /* LOCK_RANK_LEAF */
	struct list views; /* memory_view.memory_link, by id */
	uint64_t next_id;
	_Atomic uint32_t view_count; /* a look: is there any? */
	struct mapped_memory_hint hint;
};

void mapped_memory_init(struct mapped_memory *memory, uint64_t page_count,
			struct miniport_subject subject, void *allocation);

/* The kernel's own pages, from `first_page` of the machine's memory on. */
void mapped_memory_init_fixed(struct mapped_memory *memory, uint64_t first_page,
			      uint64_t page_count);

/* Every space has forgotten it. */
void mapped_memory_finish(struct mapped_memory *memory);

/* The same, and its storage. Accepts NULL. */
void mapped_memory_free(struct mapped_memory *memory);

static inline bool mapped_memory_is_mapped(const struct mapped_memory *memory)
{
	return atomic_load(&memory->view_count) > 0;
}

/* Does one of its views show it by these tables, or did, and what was there may be written yet? */
bool mapped_memory_is_in(struct mapped_memory *memory, const struct page_tables *tables);

/* NULL, or what is miscounted. */
const char *mapped_memory_validate(struct mapped_memory *memory);

/*
 * How far the entries of one space have followed a move. The pager's thread's. The ranges are those
 * there were when it began: what is mapped later is written by a sync of its own, from the same
 * truth.
 */
struct memory_move {
	struct table_sync sync;
	bool has_range;
	struct moved_range {
		uint64_t first_page;
		uint64_t page_count;
	} * ranges; /* NULL: there was no memory to write them down */
	uint64_t range_count;
	uint64_t next;      /* of them */
	uint64_t next_page; /* without them */
	bool is_holding;    /* the tables, where they are */
};

/* One allocation in one space: whom its ranges there belong to. */
struct memory_view {
	struct gpuva_owner owner;
	struct mapped_memory *memory;
	struct page_tables *tables;
	struct list memory_link;
	uint64_t id;
	struct memory_move move;
};

void memory_view_init(struct memory_view *view, struct mapped_memory *memory,
		      struct page_tables *tables);

/* It has no ranges any more. On the pager's thread, or when no job is under way. */
void memory_view_finish(struct memory_view *view);

/* A move that was under way begins anew, or never. On the pager's thread. */
void memory_view_end_move(struct memory_view *view);

/*
 * Must the job of a move have nothing with the hardware before it goes on? Where the CPU writes the
 * entries they would wait for that, and be old then.
 */
bool mapped_memory_must_settle(struct mapped_memory *memory);

/*
 * The next operation that lets all addresses of the memory show where it is now, TLB included.
 * `cursor` is zeroed at the start. On the pager's thread. Entries of all spaces come before the
 * first TLB: while the CPU writes them the job has nothing with the hardware.
 */
struct mapped_memory_cursor {
	uint64_t step;
	uint64_t view_id;
	bool has_begun; /* with the entries of that view */
};
bool mapped_memory_next(struct mapped_memory *memory, struct mapped_memory_cursor *cursor,
			struct miniport_paging_op *op_out);

/* The job with such a row failed: page_tables_config.failed() of every table that shows it. */
void mapped_memory_failed(struct mapped_memory *memory, NTSTATUS status);

/*
 * Entries of the table of `level` that the indices of `path` above it lead to, from path[level] on,
 * as the driver was given them. With is_wide: of a leaf its entries of 64 KiB, of a table above it
 * the second pointers. Returns how many; 0 where there is no such table.
 */
uint32_t page_tables_read(struct page_tables *tables, uint32_t level, const uint32_t path[],
			  bool is_wide, struct miniport_pte entries[], uint32_t count);

/* ---- recounting ---- */

/* What a GPU finds for a page of the space: an entry that is neither valid nor zero is a fault. */
typedef struct miniport_pte page_table_walk(void *context, const struct page_tables *tables,
					    uint64_t page);

/*
 * Compares what is true, what was given to the driver and, with `walk`, what a GPU finds. No job is
 * under way. NULL, or what differs; *page_out says where.
 */
const char *page_tables_validate(struct page_tables *tables, page_table_walk *walk, void *context,
				 uint64_t *page_out);

#endif
