/* SPDX-License-Identifier: MIT */
/*
 * paged_guard.h - paged pool that cannot be touched at DISPATCH_LEVEL and above (DXGK_VERIFY=irql).
 *
 * Paged pool then lies in one range of addresses, which is put out of reach whenever a thread comes
 * to DISPATCH_LEVEL. Whoever touches a page of it faults and finds it within reach again; a thread
 * at DISPATCH_LEVEL or above is reported. So a page that a thread below has just opened hides the
 * mistake of another one, until the next raise of the level, and no mistake is made up. Protection
 * belongs to the process and the level to a thread: this is the side to err on.
 */
#ifndef NT_PAGED_GUARD_H
#define NT_PAGED_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct nt_fault;
struct pool_apart;

/* Reads DXGK_VERIFY at the first time. */
bool nt_paged_guard_is_on(void);

/* Pages for the block; NULL when there are none left. */
void *nt_paged_guard_take(const struct pool_apart *block, size_t size_bytes);

/* They are never used again: from now on, who touches them crashes. */
void nt_paged_guard_give(void *pages, size_t size_bytes);

/* Within reach for a routine of ours, whatever the level. */
void nt_paged_guard_open(void *pages, size_t size_bytes);

/* Locked pages are not paged out: until they are unlocked nobody is reported. */
void nt_paged_guard_lock(const void *begin, size_t size_bytes);
void nt_paged_guard_unlock(const void *begin, size_t size_bytes);

/* In a signal handler: true when the address was out of reach and is no longer. */
bool nt_paged_guard_fault(const void *address, const struct nt_fault *fault);

/* Was the address paged pool, which was freed? */
bool nt_paged_guard_is_freed(const void *address);

#endif
