/* SPDX-License-Identifier: MIT */
/*
 * machine_exchange.h - pages of the machine that change their address and keep their content.
 *
 *	before   address A ──▶ page a      address B ──▶ page b
 *	after    address A ──▶ page b      address B ──▶ page a
 *
 * Nothing is copied. Whoever is shown a page elsewhere (machine_show()) keeps seeing that page, so a
 * store that is made meanwhile is in the page wherever it is. Whoever uses the address sees the
 * other page from then on; nobody does during the exchange.
 *
 * To the host each stretch of addresses that shows a row of pages is a mapping, and a process has a
 * limited number of them (vm.max_map_count). A quarter of those may be used for this, or as many as
 * DXGK_EXCHANGE_MAPPINGS says; who wants to exchange something reserves them first.
 */
#ifndef BASE_MACHINE_EXCHANGE_H
#define BASE_MACHINE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* Mappings that the exchange of two stretches adds at most: one at each of their ends. */
enum { MACHINE_MAPPINGS_PER_EXCHANGE = 4 };

/* False: there are not so many left. */
MUST_CHECK bool machine_reserve_mappings(uint64_t count);
void machine_release_mappings(uint64_t count);

/* Are there many left? For who can do without. */
bool machine_has_spare_mappings(void);

/*
 * Of two stretches of `page_count` pages that somebody has and that do not overlap; mappings for it
 * are reserved, unless it undoes what was exchanged before. False when the host does not let us: everything is as before.
 */
MUST_CHECK bool machine_exchange(uint64_t address, uint64_t other_address, uint64_t page_count);

/*
 * What is at these addresses is anything, and nobody sees it: pages go back to their own addresses as
 * far as others are not in use there, so that mappings do not become more for ever. The caller has
 * the addresses. Costs nothing where nothing was exchanged.
 */
void machine_settle(uint64_t address, uint64_t page_count);

struct machine_exchange_usage {
	uint64_t displaced_pages; /* that are not at their own address */
	uint64_t mappings;
	uint64_t reserved_mappings;
	uint64_t max_mappings; /* 0: nothing was reserved yet */
};

struct machine_exchange_usage machine_exchange_usage(void);

#endif
