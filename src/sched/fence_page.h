/* SPDX-License-Identifier: MIT */
/*
 * fence_page.h - where the values of fences live.
 *
 *	machine memory   | chunk: 64 KiB |            | chunk |
 *	                   ▲ window        ▲ view
 *	                   the kernel's    the client's: the same pages, read-only
 *
 * A slot is a cache line of a page of the machine's memory, so two fences do not slow each other
 * down, and has a physical address, under which a GPU can be shown it. Slots come from chunks of
 * many, each with one read-only mapping; the last empty chunk is kept, so taking and giving back
 * makes no system call when it settles.
 *
 * Who sees a page sees every slot in it: fences of one process share pages, a fence that can be
 * opened by others has pages of its own.
 *
 * Clients in other processes map a file with nothing else in it: one of the process, one of each fence
 * that others may open. It is sealed so that they can only read, and cannot be punched then: pages
 * that come free serve the same process again, and the file ends as a whole (base/machine_bank.h).
 *
 * Locks: fence_pages.lock guards the chunks. It is held in the system calls that make and end one.
 */
#ifndef SCHED_FENCE_PAGE_H
#define SCHED_FENCE_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/status.h"

enum {
	FENCE_SLOT_BYTES = 64,
	FENCE_CHUNK_PAGES = 16, /* of a process's own fences */
};

struct client_arena;
struct fence_chunk;
struct machine_bank;

/* Its fields are fence_page.c's; lock guards them. */
struct fence_pages {
	uint32_t slots_per_chunk;
	bool is_elsewhere;           /* clients in other processes see them */
	struct quota_ledger *ledger; /* whose they are, with a reference; NULL: nobody counts */

	struct lock lock;    /* LOCK_RANK_FENCE_PAGES */
	struct list partial; /* chunks with free slots */
	struct list full;
	uint32_t chunk_count;
	uint32_t empty_count; /* chunks with nothing but free slots; 0 or 1 at rest */
	uint32_t taken;
	bool is_closed;
	struct machine_bank *bank; /* where chunks are; NULL: none yet, or the machine's own */
};

struct fence_slot {
	_Atomic uint64_t *value;   /* the kernel's; NULL: no slot */
	const uint64_t *view;      /* the client's in this process: reading only; NULL: elsewhere */
	uint64_t physical_address; /* of the value; its page is the machine's */
	struct fence_chunk *chunk;
};

/* Takes no pages yet. NULL when there is no memory. */
MUST_CHECK struct fence_pages *fence_pages_create(uint32_t pages_per_chunk, bool is_elsewhere);

/* The file that clients in other processes map counts for this ledger. Before the first slot. */
void fence_pages_charge(struct fence_pages *pages, struct quota_ledger *ledger);

/* The owner needs no more slots; the pages go with the last slot. Accepts NULL. */
void fence_pages_close(struct fence_pages *pages);

/*
 * A slot whose value is `value`. Not refused: STATUS_NO_MEMORY, or STATUS_INSUFFICIENT_RESOURCES, when
 * there is no file for it.
 */
MUST_CHECK NTSTATUS fence_slot_take(struct fence_pages *pages, uint64_t value,
				    struct fence_slot *slot_out);

/*
 * Where a client reads it: in another process that has this arena, whose call is told what to show
 * there, or in this one (NULL). Not refused: STATUS_NO_MEMORY; STATUS_GRAPHICS_NO_VIDEO_MEMORY, no
 * addresses are left; STATUS_NOT_SUPPORTED, it is in memory that no other process may map.
 */
MUST_CHECK NTSTATUS fence_slot_show(const struct fence_slot *slot, struct client_arena *arena,
				    const uint64_t **view_out);

/* Accepts a zeroed slot. */
void fence_slot_give(struct fence_slot *slot);

/*
 * Somebody shows the whole chunk to a GPU: its pages stay, empty or not, until they are let go of.
 * The slot that it was found by is taken when the hold begins; fence_pages_close() comes after the
 * last hold ended, or while a slot of the chunk is taken.
 */
struct fence_chunk_memory {
	uint64_t physical_address;
	uint32_t page_count;
};
struct fence_chunk_memory fence_chunk_hold(struct fence_chunk *chunk);
void fence_chunk_release(struct fence_chunk *chunk);

/* Recounts. NULL, or what does not add up. */
const char *fence_pages_validate(struct fence_pages *pages);

#endif
