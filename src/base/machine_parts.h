/* SPDX-License-Identifier: MIT */
/*
 * machine_parts.h - what the files of machine.h know of each other.
 *
 * Pages and addresses are counted from MACHINE_FIRST here.
 */
#ifndef BASE_MACHINE_PARTS_H
#define BASE_MACHINE_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/kept_ranges.h"
#include "base/lock.h"
#include "base/own_fd.h"
#include "base/quota.h"
#include "base/client_file.h"

/* Addresses change hands in these. */
enum { BANK_GRANULE_PAGES = 16 };

/* ---- machine_bank.c: one bank, its memfd and what it can hand out. No lock of its own. ---- */

enum bank_kind {
	BANK_OF_OURS,
	BANK_WRITTEN_ELSEWHERE, /* other processes map its memfd … */
	BANK_READ_ELSEWHERE,    /* … and cannot write to it */
	BANK_SHARED_ELSEWHERE, /* … and it may still be sealed against those who do not write yet */
};

struct machine_bank {
	enum bank_kind kind;
	uint32_t id;               /* 0: the machine's own, also of one that has nothing yet */
	char *source;              /* all of its memfd, in order; NULL: it was not needed yet */
	struct own_fd file;        /* where the host cannot show a mapping twice */
	struct client_file *shown; /* for other processes; NULL: nobody else maps it */
	uint64_t *free;            /* addresses that it can hand out: its own, and not taken */
	uint64_t *open;            /* one bit per word of `free` */
	uint64_t page_count;
	uint64_t owned_pages;
	uint64_t taken_pages;
	uint64_t cursor; /* where the search for single pages goes on */
	struct kept_ranges kept;
	bool is_ended;               /* its process has gone */
	struct quota_ledger *ledger; /* whose it is, with a reference; NULL: nobody counts */
};

/* A memfd of so many pages, none of whose addresses it has. False with errno. */
bool bank_open(struct machine_bank *bank, const char *name, uint64_t page_count);
void bank_close(struct machine_bank *bank);

/* Of its memfd, at `at` or anywhere (NULL). NULL: the host does not. */
void *bank_show(struct machine_bank *bank, void *at, uint64_t first, uint64_t count);
/* They are zero from now on, and cost nothing. False: the host does not. */
bool bank_punch(const struct machine_bank *bank, uint64_t first, uint64_t count);

/* Addresses come to it, free, and go, which are free. */
void bank_gain(struct machine_bank *bank, uint64_t first, uint64_t count);
void bank_lose(struct machine_bank *bank, uint64_t first, uint64_t count);
void bank_take(struct machine_bank *bank, uint64_t first, uint64_t count);
void bank_release(struct machine_bank *bank, uint64_t first, uint64_t count);
/* The first one that is free, or is not, in [from, end), or `end`. */
uint64_t bank_find_free(const struct machine_bank *bank, uint64_t from, uint64_t end);
uint64_t bank_find_taken(const struct machine_bank *bank, uint64_t from, uint64_t end);

/* ---- machine.c ---- */

/* Of processes, of what they share; each is a file, a mapping and some stretches of the window. */
enum { BANKS_MAX = 8192 };

struct machine_memory {
	struct lock lock; /* LOCK_RANK_MACHINE */

	/* Set once, `pages` last; constant until machine_finish(), so read without the lock. */
	char *window;
	_Atomic uint64_t pages; /* 0: not set up */

	/* Guarded by lock. Indices are pages of a memfd, which are addresses, too. */
	struct machine_bank own;
	struct machine_bank *banks[BANKS_MAX]; /* by id */
	_Atomic uint16_t *owners; /* by granule: whose it is; read without the lock by who has it */
	uint64_t *first;
	uint64_t *last;
	uint64_t *dirty;
	uint64_t taken_pages;
};

extern struct machine_memory machine;

static inline struct machine_bank *machine_bank_at(uint64_t page)
{
	return machine.banks[machine.owners[page / BANK_GRANULE_PAGES]];
}

/* All of one bank. */
void machine_range_take(uint64_t first, uint64_t count);
void machine_range_release(uint64_t first, uint64_t count);
/* Sets the memory up when it is not yet. */
bool machine_is_set_up_locked(void);
/* Turns an address range into pages; false when it holds none. */
bool machine_range_of_pages_locked(uint64_t lowest, uint64_t highest, uint64_t *first_out,
				   uint64_t *end_out);

/* As machine_show(), by page, whatever its address is. All of one bank. */
void *machine_show_pages(void *at, uint64_t first, uint64_t count);
/* How many pages from `first` on are of the same bank, at most `count`. */
uint64_t machine_pages_of_bank(uint64_t first, uint64_t count);
/* How many pages from `first` on were free and are the caller's for a moment; their content changes. */
uint64_t machine_borrow(uint64_t first, uint64_t count);
void machine_return(uint64_t first, uint64_t count);

/* ---- machine_grow.c: addresses that change hands ---- */

/* Its memfd is there from now on. */
bool machine_bank_is_set_up_locked(struct machine_bank *bank);
/* It has more addresses from now on, at or below `highest`. False: there are none for it. */
bool machine_bank_grow(struct machine_bank *bank, uint64_t count, uint64_t highest);
/* What banks have and do not use is the machine's own again; NULL: of all. False: nothing was. */
bool machine_banks_shrink(const struct machine_bank *only);
void machine_banks_finish_locked(void);

/* ---- machine_exchange.c ---- */

/* Is each of these addresses' own page there? */
bool machine_are_at_home(uint64_t first, uint64_t count);
/* The page that is at an address, and how many of `count` addresses have the ones behind it. */
uint64_t machine_row_at(uint64_t at, uint64_t count, uint64_t *first_out);
/* With memory of zeroes for two words for each page, before anybody uses it. */
void machine_exchanges_start(uint32_t *words, uint64_t page_count);
void machine_exchanges_finish(void);

/* ---- machine_view.c ---- */

/* How many of the first pages follow each other; `count` is not zero. */
uint64_t machine_neighbours(const uint64_t pfns[], uint64_t count);
bool machine_view_find(const void *pointer, uint64_t *address_out);
uint64_t machine_view_count(void);
void machine_views_finish(void);

#endif
