/* SPDX-License-Identifier: MIT */
/*
 * machine_bank.h - whose memfd a page of the machine is in.
 *
 *	address   | own ……………… | bank 1 ·· | own ……… | bank 2 | bank 1 | …
 *	               │               │          │         │        │
 *	memfd      of the machine   of 1      machine     of 2     of 1       each at the same offset
 *
 * A descriptor cannot be handed over in part, so the pages that a client may map are in a memfd of
 * its process, and nobody else's are. Addresses are the machine's own at first; a bank has some of
 * them, in granules, and gets more when it needs them. Nothing of an address is lost when it changes
 * hands: there is nothing at it then. A page of a bank is punched out of it when it stops being the
 * bank's; until then freed pages are handed out again to the same bank only.
 *
 * Pages of different banks may exchange their addresses for a while (machine_exchange.h): the page is
 * still its bank's then.
 *
 * Locks: as machine.h.
 */
#ifndef BASE_MACHINE_BANK_H
#define BASE_MACHINE_BANK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct machine_bank;

/* NULL: there is no memory for it. Its memfd is made with its first page. */
MUST_CHECK struct machine_bank *machine_bank_create(void);
/* Gives everything back. Pages that somebody has keep it, until machine_finish(). Accepts NULL. */
void machine_bank_destroy(struct machine_bank *bank);

/* As machine_alloc_stretch() and machine_alloc_to_fill(), of a bank; NULL: the machine's own. */
MUST_CHECK uint64_t machine_bank_stretch(struct machine_bank *bank, uint64_t count,
					 uint64_t highest, uint64_t *address_out);
MUST_CHECK uint64_t machine_bank_to_fill(struct machine_bank *bank, uint64_t count,
					 uint64_t highest, uint64_t *address_out);

/*
 * Where the page is that is at this address now: its bank, NULL for the machine's own, and the offset
 * in that one's memfd. The address is one of the machine's.
 */
struct machine_bank *machine_bank_of(uint64_t address, uint64_t *offset_out);

struct machine_bank_usage {
	uint64_t pages; /* addresses it has */
	uint64_t taken_pages;
};

struct machine_bank_usage machine_bank_usage(const struct machine_bank *bank);

#endif
