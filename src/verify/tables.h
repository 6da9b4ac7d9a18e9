/* SPDX-License-Identifier: MIT */
/*
 * tables.h - page tables as a driver was told them: of watch_tables.c, tables_entries.c and shadow.h.
 */
#ifndef VERIFY_TABLES_H
#define VERIFY_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "verify/shadow.h"

/* Entries of one table that are copied to another. */
struct table_copy {
	shadow_page from;
	shadow_page to;
	uint32_t from_index;
	uint32_t to_index;
	uint32_t count;
	bool is_expected; /* where it goes to is told of it */
};

/* What one operation changes; on the heap in one piece with its entries or copies. */
struct shadow_table_change {
	shadow_page table; /* 0: not known; of copies the first one's destination */
	uint32_t level;
	uint32_t first;
	uint32_t count;
	bool is_repeated;
	bool is_initial;
	bool is_eviction;
	bool is_wide; /* a leaf of 64 KiB pages */
	bool is_double;
	bool is_now; /* the processor does it */
	uint32_t copy_count;
	struct table_copy *copies; /* behind this struct */
	const DXGK_PTE *entries;   /* likewise: `count`, or one that is repeated */

	/* While the packet is on its way: the table as it was, and what of it may change. */
	unsigned char *before; /* NULL: not looked at */
	uint32_t size_bytes;
	uint32_t lowest;
	uint32_t end;
	bool is_alone;    /* in its packet on this table */
	bool is_mixed;    /* with copies into it */
	bool is_expected; /* its tables were told (tables_entries_expect) */
	uint32_t
		turns; /* how often the hardware was given it: above 1, some of it may be done before the last */
};

/* As DxgkDdiBuildPagingBuffer is told it. `shadow->lock` is held. NULL: no memory. */
struct shadow_table_change *tables_change_create_locked(struct shadow *shadow,
							const DXGKARG_BUILDPAGINGBUFFER *args);
void tables_change_free(struct shadow_table_change *change);

/* Bytes of a table, and how many entries are in it; false: it cannot be said. */
bool tables_shape(const struct shadow *shadow, uint32_t level, bool is_wide, uint32_t *bytes_out,
		  uint32_t *entries_out);

/* ---- tables_entries.c: what the entries are, once they are written ---- */

struct tables_entries {
	struct lock lock;  /* LOCK_RANK_LEAF */
	struct map tables; /* page -> struct table_entries */
	uint64_t changes;  /* counts up */
};

void tables_entries_init(struct tables_entries *entries);
void tables_entries_forget(struct tables_entries *entries);

/* Does it have some entry lead elsewhere, as far as is known? Asked before it is applied. */
bool tables_entries_differ(struct tables_entries *entries,
			   const struct shadow_table_change *change);
/* Likewise of the i-th that it writes. */
bool tables_entry_differs(struct tables_entries *entries, const struct shadow_table_change *change,
			  uint32_t i);
/*
 * An entry of the table that leads to the same page as the i-th that the change writes, and may be written where that one may
 * not, or the other way round; false: there is none.
 */
bool tables_entry_of_same_page(struct tables_entries *entries,
			       const struct shadow_table_change *change, uint32_t i,
			       uint32_t *index_out);
/*
 * It is about to be written. Until it is applied nobody knows what the hardware finds in the tables, also where somebody
 * else hears of a fault before we hear that it was executed; and never, if that does not come.
 */
void tables_entries_expect(struct tables_entries *entries, const struct shadow *shadow,
			   struct shadow_table_change *change);
void tables_entries_apply(struct tables_entries *entries, const struct shadow *shadow,
			  const struct shadow_table_change *change);

enum tables_walk {
	TABLES_NOT_KNOWN,
	TABLES_INVALID,    /* at some level, or read-only and written */
	TABLES_VALID,      /* the access is allowed */
	TABLES_VALID_ANEW, /* likewise, and the address led to another page before */
};
/* What becomes of an access. Not known either when something on the way changed after `since`, or is about to. */
enum tables_walk tables_entries_walk(struct tables_entries *entries, const struct shadow *shadow,
				     shadow_page root, uint32_t root_entries, uint64_t address,
				     bool is_write, uint64_t since);

/* ---- watch_tables.c ---- */

struct tables_entries *tables_entries_of(const struct shadow *shadow);
/* The packet that carries the operations of this buffer goes. */
void tables_going(struct shadow *shadow, struct list *operations);
/* Some of it is in a packet that may go any time, and the rest will be in the next. */
void tables_part_built(struct shadow *shadow, struct shadow_table_change *change);
/* For packets: how far page tables are. */
uint64_t tables_changes(const struct shadow *shadow);

/* ---- tables_faults.c ---- */

/* A page fault of a packet, which is still in its list. */
void tables_faulted(struct shadow *shadow, const struct shadow_packet *packet,
		    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);

#endif
