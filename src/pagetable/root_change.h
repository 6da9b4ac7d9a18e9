/* SPDX-License-Identifier: MIT */
/*
 * root_change.h - another root for the tables of a space: a larger one, where there are two levels.
 *
 *	begin ─▶ next, next, … false ─▶ [contexts are told] ─▶ end
 *	                             └▶ undo ─▶ next, … false ─▶ end
 *
 * The new one is written as the old one is, entry by entry, and is the tree's root from the first
 * operation on; whoever changes an entry meanwhile changes the new one. Both are the same to a GPU
 * only when nothing of the space runs between the first operation and the contexts' being told.
 *
 * Locks: page_tables.lock, taken by each. One change at a time.
 */
#ifndef PAGETABLE_ROOT_CHANGE_H
#define PAGETABLE_ROOT_CHANGE_H

#include "pagetable/page_tables.h"

struct root_change {
	struct page_tables *tables;
	struct table *table; /* the one that is not the tree's root: first the new, then the old */
	enum { ROOT_IS_OLD, ROOT_IS_NEW, ROOT_WAS_UNDONE } state;

	/* Its operations: the pager's thread's. */
	enum { ROOT_WRITE_BEGIN, ROOT_WRITE_GIVEN, ROOT_WRITE_TRUTH, ROOT_WRITE_END } step;
	uint32_t next_index;
	struct table_sync sync;
};

/*
 * A root that covers all below `end_page`, and more, so that this does not happen often. `wants` is
 * what was waited for, or NULL.
 */
MUST_CHECK NTSTATUS root_change_begin(struct root_change *change, struct page_tables *tables,
				      uint64_t end_page, struct table_block_wants *wants);

/* The next operation that writes it, as table_sync_next(). */
bool root_change_next(struct root_change *change, struct miniport_paging_op *op_out);

/* Writing begins again: a reset came in between. */
void root_change_rewind(struct root_change *change);

/* It could not be written. Back to the old one, which is written anew. */
void root_change_undo(struct root_change *change);

/* With TABLES_END_INVALID, when nobody uses the old one: it is written once more. True: it is to.
 */
bool root_change_last(struct root_change *change, struct miniport_paging_op *op_out);

/* The table that is not the root goes. */
void root_change_end(struct root_change *change);

#endif
