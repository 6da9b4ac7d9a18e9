/*
 * address_space_parts.h - what address_space.c and space_update.c have in common. For them alone.
 */
#ifndef VIDMM_ADDRESS_SPACE_PARTS_H
#define VIDMM_ADDRESS_SPACE_PARTS_H

#include "vidmm/address_space.h"

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
	size_t next_range; /* 0: not begun */
	size_t range_count;
	struct space_range_of_pages ranges[];
};

/* Room for so many ranges; NULL, refused, when there is no memory. */
struct space_row *space_row_create(struct address_space *space, size_t range_count);
bool space_row_next(struct space_row *row, struct paging_op *op_out);

/* From its beginning, in a job of another one's or this one's. */
void space_row_rewind(struct space_row *row);

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
void space_enter(struct address_space *space);
void space_leave(struct address_space *space);

void space_memory_put(struct space_memory *memory);

#endif
