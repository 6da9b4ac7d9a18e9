/* SPDX-License-Identifier: MIT */
/*
 * pte_test.c - entries of pages in a row, as drivers are given them.
 */
#include "support/test.h"

#include <string.h>

#include "miniport/pte.h"

enum { ENTRIES = 40 };

static void expect_row(const DXGK_PTE *entries, const struct miniport_pte *first, unsigned count)
{
	static const DXGK_PTE untouched = { .Flags = 0xeeeeeeeeeeeeeeee,
					    .PageAddress = 0xeeeeeeeeeeeeeeee };

	for (unsigned i = 0; i < count; i++) {
		struct miniport_pte expected = *first;
		expected.page += i;
		DXGK_PTE entry = pte_from(&expected);
		EXPECT_EQ(entries[i].Flags, entry.Flags);
		EXPECT_EQ(entries[i].PageAddress, entry.PageAddress);
	}
	EXPECT(memcmp(&entries[count], &untouched, sizeof(untouched)) == 0);
}

TEST(pte, of_pages_in_a_row_are_those_of_each_page)
{
	static const struct miniport_pte firsts[] = {
		{ .page = 5, .segment = 1, .is_valid = true },
		{ .page = 0xffffffffe, .segment = 31, .is_valid = true, .is_read_only = true },
		{ .page = 0xfffffffffffffffd, .is_valid = true, .is_cache_coherent = true },
	};
	DXGK_PTE entries[ENTRIES + 1];

	for (unsigned i = 0; i < ARRAY_SIZE(firsts); i++) {
		for (unsigned count = 0; count < ENTRIES; count++) {
			memset(entries, 0xee, sizeof(entries));
			pte_write_run(&firsts[i], count, entries);
			expect_row(entries, &firsts[i], count);
			/* Where registers are not wide. */
			memset(entries, 0xee, sizeof(entries));
			pte_write_pages(&firsts[i], count, entries);
			expect_row(entries, &firsts[i], count);
		}
	}
}

TEST_MAIN("miniport/pte")
