/* SPDX-License-Identifier: MIT */
/*
 * backing.h - the system memory behind an allocation.
 *
 * Pages of the machine (base/machine.h), as few runs as there are. Taken when somebody first needs
 * them, zero then, and given back with the allocation. One run, the usual case, is kept in place.
 * Memory that the client brought is a backing too, of which we only know the address.
 *
 * Locks: the allocation's.
 */
#ifndef VIDMM_BACKING_H
#define VIDMM_BACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct machine_bank;

/* Neighbouring pages; frame numbers of the machine's memory fit in 32 bits. */
struct backing_run {
	uint32_t first_pfn;
	uint32_t count;
};

struct vidmm_backing {
	union {
		struct backing_run one;   /* run_count is 1        */
		struct backing_run *many; /* run_count is above 1  */
		void *clients;            /* is_clients            */
	};
	uint32_t run_count; /* 0: nothing of ours */
	bool is_clients;
	bool is_read_only; /* is_clients: nothing is ever written there */
};

/*
 * `page_count` pages of a bank, NULL for the machine's own, at or below the address `highest`. All or
 * none: STATUS_NO_MEMORY, or what the bank's quota says.
 * `backing` is empty.
 */
MUST_CHECK NTSTATUS backing_take(struct vidmm_backing *backing, struct machine_bank *bank,
				 uint64_t page_count, uint64_t highest);

/* The same for who writes all of it before anybody looks (machine.h). */
MUST_CHECK NTSTATUS backing_take_to_fill(struct vidmm_backing *backing, struct machine_bank *bank,
					 uint64_t page_count, uint64_t highest);

/* Empty afterwards. Nothing happens to the client's own memory. */
void backing_give(struct vidmm_backing *backing);

/* The same, where as much will soon be taken to be filled. */
void backing_give_filled(struct vidmm_backing *backing);

/* Empty afterwards, but the pages stay taken, for ever: something can still see them. */
void backing_forget(struct vidmm_backing *backing);

static inline const struct backing_run *backing_runs(const struct vidmm_backing *backing)
{
	return backing->run_count > 1 ? backing->many : &backing->one;
}

/* Pages in all runs. */
uint64_t backing_page_count(const struct vidmm_backing *backing);

#endif
