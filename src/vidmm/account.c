/* SPDX-License-Identifier: MIT */
/*
 * account.c - see account.h.
 */
#include <stddef.h>

#include "vidmm/account.h"

struct vidmm_account vidmm_everything;

static struct vidmm_account *account_above(const struct vidmm_account *account)
{
	if (account == &vidmm_everything)
		return NULL;
	return account->parent ? account->parent : &vidmm_everything;
}

void account_charge_committed(struct vidmm_account *account, int64_t bytes)
{
	if (!account)
		account = &vidmm_everything;
	for (; account; account = account_above(account))
		atomic_fetch_add_explicit(&account->committed_bytes, (uint64_t)bytes,
					  memory_order_relaxed);
}

void account_charge_viewed(struct vidmm_account *account, int64_t bytes)
{
	if (!account)
		account = &vidmm_everything;
	for (; account; account = account_above(account))
		atomic_fetch_add_explicit(&account->viewed_bytes, (uint64_t)bytes,
					  memory_order_relaxed);
}

void account_charge_evicted(struct vidmm_account *account, uint64_t bytes)
{
	if (!account)
		account = &vidmm_everything;
	for (; account; account = account_above(account))
		atomic_fetch_add_explicit(&account->evicted_bytes, bytes, memory_order_relaxed);
}

uint64_t account_highest_address(const struct vidmm_account *account)
{
	for (; account; account = account_above(account)) {
		if (account->highest_address != 0)
			return account->highest_address;
	}
	return UINT64_MAX;
}
