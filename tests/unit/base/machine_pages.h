/* SPDX-License-Identifier: MIT */
/* machine_pages.h - eight pages of the machine in a row. */
#ifndef TESTS_UNIT_BASE_MACHINE_PAGES_H
#define TESTS_UNIT_BASE_MACHINE_PAGES_H

#include "base/machine.h"
#include "support/test.h"

enum { PAGES = 8 };

static inline uint64_t at(uint64_t address, uint64_t page)
{
	return address + page * MACHINE_PAGE_BYTES;
}

static inline uint64_t take(void)
{
	uint64_t address = 0;

	EXPECT_EQ(
		machine_alloc_contiguous(PAGES * MACHINE_PAGE_BYTES, 0, 0, UINT64_MAX, 0, &address),
		STATUS_SUCCESS);
	return address;
}

#endif
