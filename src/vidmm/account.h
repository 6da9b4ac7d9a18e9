/* SPDX-License-Identifier: MIT */
/*
 * account.h - who is charged for memory.
 *
 * Accounts form a tree: a process on an adapter, the adapter, and above all the one for everything.
 * What is charged to one is charged to those above it, so each is the sum of what hangs below.
 * Accounts outlive every allocation charged to them: memory that may stay when its process goes is
 * charged to the adapter.
 */
#ifndef VIDMM_ACCOUNT_H
#define VIDMM_ACCOUNT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/quota.h"
#include "base/status.h"

struct machine_bank;

/* Ways out that found no page to copy to: after some of them no others as large are tried for a while. */
struct vidmm_shortage {
	uint64_t
		generation; /* vidmm.retry_generation that they are counted in: something has changed since */
	uint64_t end_ns; /* pages that others give back change nothing here */
	uint64_t least_bytes;
	uint32_t count;
};

struct vidmm_account {
	struct vidmm_account *parent; /* NULL: directly below everything */
	uint64_t highest_address;     /* of its pages: what a GPU reaches; 0: as above it */
	struct machine_bank
		*bank; /* where its pages are (base/machine_bank.h); NULL: the machine's */

	struct quota_ledger *ledger; /* whose quota its pages count for; NULL: nobody's */

	/* Relaxed: each is exact when nothing is under way. validate.c recounts them. */
	_Atomic uint64_t committed_bytes; /* of the machine's memory, behind allocations */
	_Atomic uint64_t viewed_bytes;    /* addresses that CPU views have               */
	_Atomic uint64_t evicted_bytes;   /* copied out of GPU memory since the start    */
	_Atomic uint64_t brought_bytes;   /* copied into it, or filled there             */

	struct vidmm_shortage shortage; /* guarded by the manager's lock */
};

/* What is not charged to anybody in particular is charged here. */
extern struct vidmm_account vidmm_everything;

void account_charge_committed(struct vidmm_account *account, int64_t bytes);
/*
 * Of the quota, before pages are taken: for a client that asks, who may be refused, and for what has
 * to leave a segment, which goes on.
 */
MUST_CHECK NTSTATUS account_take(struct vidmm_account *account, uint64_t bytes);
void account_take_anyway(struct vidmm_account *account, uint64_t bytes);
void account_give(struct vidmm_account *account, uint64_t bytes);

void account_charge_viewed(struct vidmm_account *account, int64_t bytes);
void account_charge_evicted(struct vidmm_account *account, uint64_t bytes);
void account_charge_brought(struct vidmm_account *account, uint64_t bytes);

/* Pages charged there are at or below it; nowhere set: any. */
uint64_t account_highest_address(const struct vidmm_account *account);

#endif
