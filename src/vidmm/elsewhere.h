/* SPDX-License-Identifier: MIT */
/*
 * elsewhere.h - what clients in other processes are shown of an allocation.
 *
 *	client's view ──▶ pages of a memfd that it may map: its bank, or the shared resource's
 *	                         │
 *	                         │  either, or (roles.h)
 *	     address in  ────────┴──────── addresses in system memory:
 *	     the segment                   its backing, kept all the time
 *
 * What such a client has mapped cannot be taken away from it. So it is only ever shown pages of banks
 * that it may map (base/machine_bank.h), and these are what its allocation consists of wherever it is:
 * memory that the CPU can lock enters and leaves a segment that the CPU sees with its pages, locked or
 * not, and meanwhile keeps the addresses at which the segment's own pages wait. So each page is back at
 * its own address before the room in the segment is another's, and the file offsets of a view are those
 * of the backing, wherever the content is.
 *
 * That takes mappings, of which there are not so many. When half of them are used, what was never locked
 * moves by copies, like memory that nobody can lock; its first lock then has it leave once. Pages are
 * also faster. In and out once, on a busy machine with two processors:
 *
 *	            copied        with its pages
 *	64 KiB      554 us        127 us
 *	1 MiB       617 us        190 us
 *	16 MiB      12,977 us     276 us
 *
 * The price is system memory: the addresses of its backing are not another's meanwhile.
 *
 * Memory that a client brought is in a file of the client's, and is shown to others from there.
 *
 * Locks: the allocation's.
 */
#ifndef VIDMM_ELSEWHERE_H
#define VIDMM_ELSEWHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "ranges/client_arena.h"

struct client_file;
struct vidmm_allocation;

/* Memory of a client in another process. The file has a reference. */
struct client_memory {
	struct client_file *file;
	uint64_t first_page;
	bool is_read_only;
	struct client_arena *owner; /* who has it mapped already, at `address`; NULL: nobody */
	uint64_t address;
};

struct vidmm_elsewhere {
	struct client_mappings mappings;
	uint64_t version; /* of its pages */
	bool is_inside;   /* a segment shows its pages, and its backing the segment's */
	struct client_memory brought;
};

/* Is its memory in a bank that other processes map? */
bool elsewhere_is_possible(const struct vidmm_allocation *allocation);

/* Does it take its pages along into segments that let it? */
bool elsewhere_keeps_pages(const struct vidmm_allocation *allocation);

/* Its pages are in a segment: it leaves with them. */
bool elsewhere_is_inside(const struct vidmm_allocation *allocation);
void elsewhere_set_inside_locked(struct vidmm_allocation *allocation, bool is_inside);

/* Before it enters with its pages. */
MUST_CHECK NTSTATUS elsewhere_prepare_locked(struct vidmm_allocation *allocation);

/* It has other pages from now on. Costs nothing for who was never shown. */
void elsewhere_change_locked(struct vidmm_allocation *allocation);

/*
 * Notes its view for the client that calls, and says where that is. It is in system memory, or inside.
 * Refused.
 */
MUST_CHECK NTSTATUS elsewhere_show_locked(struct vidmm_allocation *allocation,
					  struct client_arena *arena, bool is_writable,
					  uint64_t *address_out);

/* Nobody is shown it any more; it may still be on its way. */
void elsewhere_revoke(struct vidmm_allocation *allocation);
void elsewhere_finish(struct vidmm_allocation *allocation);

#endif
