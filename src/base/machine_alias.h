/* SPDX-License-Identifier: MIT */
/*
 * machine_alias.h - pages of the machine at which simulated hardware shows others: a window of the
 * processor into memory that a device has.
 *
 *	address   |········|w0 w1 w2|········|m0 m1 m2 m3 …|
 *	                     │  └────────────────┘  │
 *	                     └─────────────────────┘
 *
 * Nothing follows by itself: whoever makes a view asks where its pages are at that moment, so what
 * is shown is changed while nobody looks. What the page itself contains is seen by nobody meanwhile.
 */
#ifndef BASE_MACHINE_ALIAS_H
#define BASE_MACHINE_ALIAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * Where the page at `address` is, the one at `target` is seen from now on; MACHINE_NOWHERE: its own
 * again. False: one of both is no page of the machine, or there is no memory to write it down.
 */
MUST_CHECK bool machine_alias(uint64_t address, uint64_t target);

/* Where the first of these pages really is, and how many of them follow each other there. */
uint64_t machine_behind(uint64_t first_pfn, uint64_t count, uint64_t *first_out);

/* Of machine_finish(). */
void machine_aliases_finish(void);

#endif
