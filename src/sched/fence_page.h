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

struct fence_chunk;

/* Its fields are fence_page.c's; lock guards them. */
struct fence_pages {
	uint32_t slots_per_chunk;

	struct lock lock;    /* LOCK_RANK_FENCE_PAGES */
	struct list partial; /* chunks with free slots */
	struct list full;
	uint32_t chunk_count;
	uint32_t empty_count; /* chunks with nothing but free slots; 0 or 1 at rest */
	uint32_t taken;
	bool is_closed;
};

struct fence_slot {
	_Atomic uint64_t *value;   /* the kernel's; NULL: no slot */
	const uint64_t *view;      /* the client's: reading only */
	uint64_t physical_address; /* of the value; its page is the machine's */
	struct fence_chunk *chunk;
};

/* Takes no pages yet. NULL when there is no memory. */
MUST_CHECK struct fence_pages *fence_pages_create(uint32_t pages_per_chunk);

/* The owner needs no more slots; the pages go with the last slot. Accepts NULL. */
void fence_pages_close(struct fence_pages *pages);

/* A slot whose value is `value`. STATUS_NO_MEMORY, not refused, when there is none. */
MUST_CHECK NTSTATUS fence_slot_take(struct fence_pages *pages, uint64_t value,
				    struct fence_slot *slot_out);

/* Accepts a zeroed slot. */
void fence_slot_give(struct fence_slot *slot);

/*
 * Somebody shows the whole chunk to a GPU: its pages stay, empty or not, until they are let go of.
 * The slot that it was found by is taken when the hold begins; fence_pages_close() comes after the
 * last hold ended, or while a slot of the chunk is taken.
 */
struct fence_chunk_place {
	uint64_t physical_address;
	uint32_t page_count;
};
struct fence_chunk_place fence_chunk_hold(struct fence_chunk *chunk);
void fence_chunk_release(struct fence_chunk *chunk);

/* Recounts. NULL, or what does not add up. */
const char *fence_pages_validate(struct fence_pages *pages);

/* How many slots are taken and how many chunks there are; for tests. */
struct fence_pages_usage {
	uint32_t slots;
	uint32_t chunks;
};
struct fence_pages_usage fence_pages_usage(struct fence_pages *pages);

#endif
