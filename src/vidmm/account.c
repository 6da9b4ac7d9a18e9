/* SPDX-License-Identifier: MIT */
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

void account_charge_brought(struct vidmm_account *account, uint64_t bytes)
{
	if (!account)
		account = &vidmm_everything;
	for (; account; account = account_above(account))
		atomic_fetch_add_explicit(&account->brought_bytes, bytes, memory_order_relaxed);
}

uint64_t account_highest_address(const struct vidmm_account *account)
{
	for (; account; account = account_above(account)) {
		if (account->highest_address != 0)
			return account->highest_address;
	}
	return UINT64_MAX;
}

NTSTATUS account_take(struct vidmm_account *account, uint64_t bytes)
{
	return account ? quota_take(account->ledger, QUOTA_SYSTEM_BYTES, bytes) : STATUS_SUCCESS;
}

void account_take_anyway(struct vidmm_account *account, uint64_t bytes)
{
	if (account)
		quota_force(account->ledger, QUOTA_SYSTEM_BYTES, bytes);
}

void account_give(struct vidmm_account *account, uint64_t bytes)
{
	if (account)
		quota_give(account->ledger, QUOTA_SYSTEM_BYTES, bytes);
}
