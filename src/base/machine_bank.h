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
#include "base/status.h"

struct machine_bank;
struct quota_ledger;
struct client_file;

/* NULL: there is no memory for it. Its memfd is made with its first page. */
MUST_CHECK struct machine_bank *machine_bank_create(void);

enum machine_bank_viewers {
	MACHINE_BANK_WRITTEN, /* one client's, which has all of it */
	MACHINE_BANK_READ,    /* nobody writes, whatever he does with the descriptor */
	MACHINE_BANK_SHARED, /* several clients', who have rights of their own (base/client_file.h) */
};

/*
 * The same for clients in other processes, which map its memfd. STATUS_INSUFFICIENT_RESOURCES, not
 * refused: there are as many as there can be (machine_banks_max()), or descriptors;
 * STATUS_NO_MEMORY.
 */
MUST_CHECK NTSTATUS machine_bank_create_for_clients(enum machine_bank_viewers viewers,
						    struct machine_bank **bank_out);
uint32_t machine_banks_max(void);

/*
 * It counts for this ledger from now on: a mapping of ours, and the addresses that it has. Before it has
 * any; once. Refused (SYS-QUOTA). Accepts NULL for the ledger.
 */
MUST_CHECK NTSTATUS machine_bank_charge(struct machine_bank *bank, struct quota_ledger *ledger);

/*
 * May it have so many pages more than are taken? Refused (SYS-QUOTA). For who can be told so: what has to
 * have pages has them also above the quota. Accepts NULL.
 */
MUST_CHECK NTSTATUS machine_bank_check_quota(const struct machine_bank *bank, uint64_t page_count);

/* The memfd, for them; NULL: the bank is nobody's elsewhere, or NULL. */
struct client_file *machine_bank_file(const struct machine_bank *bank);

/* Gives everything back. Pages that somebody has keep it, until machine_finish(). Accepts NULL. */
void machine_bank_destroy(struct machine_bank *bank);

/*
 * The next free stretch of a bank (NULL: of the machine's own), at most `count` pages of it, going on
 * from where the last pages were taken; however short it is, so whoever wants more asks again. Ends
 * at or below `highest`. Returns how many pages, 0 when there are none; free it as a run.
 */
MUST_CHECK uint64_t machine_bank_stretch(struct machine_bank *bank, uint64_t count,
					 uint64_t highest, uint64_t *address_out);

/*
 * The same for who overwrites all of it before anybody looks: what is in it is anything. Pages that
 * machine_free_filled() gave back come first, because the host still has them.
 */
MUST_CHECK uint64_t machine_bank_to_fill(struct machine_bank *bank, uint64_t count,
					 uint64_t highest, uint64_t *address_out);

/* `count` pages in a row, or STATUS_NO_MEMORY. To be freed as a run. */
MUST_CHECK NTSTATUS machine_bank_run(struct machine_bank *bank, uint64_t count, uint64_t highest,
				     uint64_t *address_out);

/*
 * The page of its memfd that belongs to this address of a bank; it is there unless it was exchanged.
 */
uint64_t machine_bank_page(uint64_t address);

struct machine_bank_usage {
	uint64_t pages; /* addresses it has */
	uint64_t taken_pages;
	uint64_t host_pages; /* of it that the host has in memory now; of a shown one only */
};

/*
 * Whoever writes where a shared bank has nothing has written nothing: what the host has of it beyond its
 * own, by more than `slack_pages`, is given back. Not of a sealed one, of which nobody can.
 */
void machine_banks_scrub(uint64_t slack_pages);

struct machine_bank_usage machine_bank_usage(const struct machine_bank *bank);

#endif
