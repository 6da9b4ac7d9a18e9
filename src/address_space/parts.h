/* SPDX-License-Identifier: MIT */
/*
 * parts.h - what the files of an address space have in common. For them alone.
 */
#ifndef ADDRESS_SPACE_PARTS_H
#define ADDRESS_SPACE_PARTS_H

#include "address_space/address_space.h"

struct space_range_of_pages {
	uint64_t first_page;
	uint64_t page_count;
};

/* Ranges whose tables one job writes. */
struct space_row {
	struct paging_job job;
	struct address_space *space;
	struct space_listener listener;
	struct table_sync sync;
	bool may_copy;     /* an update's (table_sync) */
	size_t next_range; /* 0: not begun */
	size_t range_count;
	struct space_range_of_pages ranges[];
};

/* Room for so many ranges; NULL, refused, when there is no memory. */
struct space_row *space_row_create(struct address_space *space, size_t range_count);
bool space_row_next(struct space_row *row, struct miniport_paging_op *op_out);

/* A job of its own; `listener` may be NULL. */
void space_row_queue(struct space_row *row, const struct space_listener *listener);

/* From its beginning, in a job of another one's or this one's. */
void space_row_rewind(struct space_row *row);

/*
 * A plan that was made or refused: its tables are made, it is applied and finished, and written
 * when that is called for. Releases the lock. STATUS_GRAPHICS_NO_VIDEO_MEMORY: there is no room
 * for its tables, which is not refused here; `wants` is what was waited for, or NULL.
 */
MUST_CHECK NTSTATUS space_carry_out_unlock(struct address_space *space, struct gpuva_plan *plan,
					   NTSTATUS status, bool is_change,
					   struct table_block_wants *wants,
					   const struct space_listener *listener,
					   uint64_t *address_out);

/* Does a plan show anything above the root? Then the end of that. */
bool space_is_above_root_locked(const struct address_space *space, const struct gpuva_plan *plan,
				uint64_t *end_page_out);

/* Refused when the memory of a request is going, and nothing can be mapped of it any more. */
MUST_CHECK NTSTATUS space_check_owner_locked(const struct gpuva_owner *owner);

/* One more view of `memory`. NULL: there is no memory for it. */
struct space_memory *space_add_memory_locked(struct address_space *space,
					     struct mapped_memory *memory);

/* Where nothing is mapped yet. The tables of the process are held; no lock is. */
MUST_CHECK NTSTATUS space_create_pools(struct address_space *user,
				       struct address_space **pools_out);

/* ---- pools.c ---- */

/* From now on there are pools, where the GPU can copy entries. The tables are held; no lock is. */
MUST_CHECK NTSTATUS space_pools_begin(struct address_space *space);

/*
 * Whatever memory the plan shows is kept mapped in the pools, so that its entries can be copied
 * when their turn comes. *end_page_out is not 0: their root has to grow that far first.
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY: `wants` are to be waited for first. What is kept by then stays.
 * The lock of the space is held.
 */
MUST_CHECK NTSTATUS space_pools_keep_locked(struct address_space *space,
					    const struct gpuva_plan *plan,
					    struct table_block_wants *wants,
					    uint64_t *end_page_out);

/* A job that wrote its tables failed; all of them are written anew. */
void space_break(struct address_space *space, NTSTATUS status);

/* A space is there, and no longer. */
void space_join(struct address_space *space);
void space_quit(struct address_space *space);

/*
 * The root covers all below `end_page` when it returns. Waits for the hardware and the pager; not
 * on the pager's thread, not inside the driver.
 */
MUST_CHECK NTSTATUS space_grow_root(struct address_space *space, uint64_t end_page);

/* One more thing that is not over, and one fewer. */
void space_count(struct address_space *space);
void space_uncount(struct address_space *space);

/* The same, and the tables stay where they are meanwhile. */
void space_enter(struct address_space *space);
void space_leave(struct address_space *space);

/* ---- eviction.c ---- */

/* From now on the tables may leave; no more, and they are on no way when it returns. */
void space_may_leave(struct address_space *space);
void space_stays(struct address_space *space);

#endif
