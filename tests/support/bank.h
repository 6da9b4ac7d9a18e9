/* SPDX-License-Identifier: MIT */
/*
 * bank.h - which page is at an address of the machine.
 */
#ifndef TESTS_SUPPORT_BANK_H
#define TESTS_SUPPORT_BANK_H

#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/machine_parts.h"

/* Its bank, NULL for the machine's own, and the offset in that one's memfd. */
static inline struct machine_bank *bank_of(uint64_t address, uint64_t *offset_out)
{
	uint64_t page;

	(void)machine_row_at((address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT, 1, &page);
	struct machine_bank *bank = machine_bank_at(page);
	*offset_out = (page << MACHINE_PAGE_SHIFT) + (address & (MACHINE_PAGE_BYTES - 1));
	return bank == &machine.own ? NULL : bank;
}

#endif
