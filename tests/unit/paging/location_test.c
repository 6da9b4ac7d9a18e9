/* SPDX-License-Identifier: MIT */
/*
 * location_test.c - pages of a location.
 */
#include "paging/internal.h"
#include "support/test.h"

static const struct miniport_page_run runs[] = { { 10, 2 }, { 12, 1 }, { 40, 5 }, { 3, 1 } };
static const struct miniport_location place = { .run_count = 4, .runs = runs };

TEST(place, a_page_is_found_and_what_follows_it_in_a_row)
{
	uint64_t in_row;

	EXPECT_EQ(location_page(&place, 0, &in_row), 10);
	EXPECT_EQ(in_row, 3); /* runs that are neighbours count as one */
	EXPECT_EQ(location_page(&place, 2 * 4096, &in_row), 12);
	EXPECT_EQ(in_row, 1);
	EXPECT_EQ(location_page(&place, 4 * 4096, &in_row), 41);
	EXPECT_EQ(in_row, 4);
	EXPECT_EQ(location_page(&place, 8 * 4096, &in_row), 3);
	EXPECT_EQ(in_row, 1);
}

TEST(place, the_first_byte_counts)
{
	struct miniport_location later = place;
	uint64_t in_row;

	later.offset_bytes = 3 * 4096;
	EXPECT_EQ(location_page(&later, 4096, &in_row), 41);
}

TEST(place, a_part_has_its_own_runs)
{
	struct miniport_page_run part[4];

	EXPECT_EQ(location_run_count(&place, 4096, 4), 3);
	location_runs(&place, 4096, 4, part);
	EXPECT_EQ(part[0].first_pfn, 11);
	EXPECT_EQ(part[0].count, 1);
	EXPECT_EQ(part[1].first_pfn, 12);
	EXPECT_EQ(part[2].first_pfn, 40);
	EXPECT_EQ(part[2].count, 2);
	EXPECT_EQ(location_run_count(&place, 0, 9), 4);
	EXPECT_EQ(location_run_count(&place, 3 * 4096, 5), 1);
}

TEST_MAIN("paging/location")
