/* SPDX-License-Identifier: MIT */
/* Free pages that are kept: newest first out, oldest first dropped, never more than agreed. */
#include "support/test.h"

#include "base/kept_ranges.h"

static struct page_range range(uint64_t first, uint64_t count)
{
	return (struct page_range){ first, count };
}

static struct page_range find(const struct kept_ranges *kept, uint64_t count, uint64_t end)
{
	struct page_range found = { 0, 0 };

	return kept_ranges_find(kept, count, end, &found) ? found : range(0, 0);
}

TEST(kept_ranges, nothing_is_found_in_none)
{
	struct kept_ranges kept = { 0 };

	EXPECT_EQ(find(&kept, 1, UINT64_MAX).count, 0);
	EXPECT(!kept_ranges_add(&kept, range(5, 0)));
	kept_ranges_cut(&kept, range(0, 100));
	EXPECT_EQ(kept.pages, 0);
}

TEST(kept_ranges, the_newest_is_found_first_and_no_more_of_it_than_wanted)
{
	struct kept_ranges kept = { 0 };

	EXPECT(kept_ranges_add(&kept, range(100, 50)));
	EXPECT(kept_ranges_add(&kept, range(500, 20)));
	EXPECT_EQ(find(&kept, 10, UINT64_MAX).first, 500);
	EXPECT_EQ(find(&kept, 10, UINT64_MAX).count, 10);
	EXPECT_EQ(find(&kept, 30, UINT64_MAX).count, 20);
	/* What begins too high is passed over, what ends too high is found in part. */
	EXPECT_EQ(find(&kept, 30, 500).first, 100);
	EXPECT_EQ(find(&kept, 30, 510).count, 10);
	EXPECT_EQ(find(&kept, 30, 100).count, 0);
}

TEST(kept_ranges, what_is_taken_is_cut_out)
{
	struct kept_ranges kept = { 0 };

	EXPECT(kept_ranges_add(&kept, range(100, 50)));
	kept_ranges_cut(&kept, range(0, 100));
	kept_ranges_cut(&kept, range(150, 100));
	EXPECT_EQ(kept.pages, 50);
	kept_ranges_cut(&kept, range(90, 20));
	EXPECT_EQ(kept.pages, 40);
	EXPECT_EQ(find(&kept, 100, UINT64_MAX).first, 110);
	kept_ranges_cut(&kept, range(120, 10));
	EXPECT_EQ(kept.pages, 30);
	EXPECT_EQ(kept.count, 2);
	EXPECT_EQ(find(&kept, 100, 120).count, 10);
	kept_ranges_cut(&kept, range(100, 50));
	EXPECT_EQ(kept.pages, 0);
	EXPECT_EQ(kept.count, 0);
}

TEST(kept_ranges, the_oldest_has_to_go_when_there_are_too_many_pages)
{
	struct kept_ranges kept = { 0 };
	struct page_range old;

	EXPECT(kept_ranges_add(&kept, range(0, KEPT_PAGES_MAX - 10)));
	EXPECT(!kept_ranges_overflow(&kept, 10, &old));
	EXPECT(kept_ranges_add(&kept, range(1 << 20, 10)));
	EXPECT(!kept_ranges_add(&kept, range(2 << 20, 1)));
	/* … no more of it than that. */
	EXPECT(kept_ranges_overflow(&kept, 1, &old));
	EXPECT_EQ(old.first, 0);
	EXPECT_EQ(old.count, 1);
	EXPECT(!kept_ranges_overflow(&kept, 1, &old));
	EXPECT(kept_ranges_add(&kept, range(2 << 20, 1)));
	EXPECT_EQ(kept.pages, KEPT_PAGES_MAX);
	/* A range that is all too many is taken off whole, and the next in part. */
	EXPECT(kept_ranges_overflow(&kept, KEPT_PAGES_MAX - 5, &old));
	EXPECT_EQ(old.count, KEPT_PAGES_MAX - 11);
	EXPECT(kept_ranges_overflow(&kept, KEPT_PAGES_MAX - 5, &old));
	EXPECT_EQ(old.first, 1 << 20);
	EXPECT_EQ(old.count, 6);
	EXPECT(!kept_ranges_overflow(&kept, KEPT_PAGES_MAX - 5, &old));
	EXPECT_EQ(kept.pages, 5);
	/* For what is too large anyhow nobody has to go. */
	EXPECT(!kept_ranges_overflow(&kept, KEPT_PAGES_MAX + 1, &old));
	EXPECT(!kept_ranges_add(&kept, range(3 << 20, KEPT_PAGES_MAX + 1)));
}

TEST(kept_ranges, the_oldest_has_to_go_when_there_are_too_many_ranges)
{
	struct kept_ranges kept = { 0 };
	struct page_range old;

	for (uint64_t i = 0; i < KEPT_RANGES_MAX; i++) {
		EXPECT(!kept_ranges_overflow(&kept, 4, &old));
		EXPECT(kept_ranges_add(&kept, range(i * 100, 4)));
	}
	/* Cut in two with no room for both: one is forgotten, and none counted twice. */
	kept_ranges_cut(&kept, range(101, 1));
	EXPECT_EQ(kept.count, KEPT_RANGES_MAX);
	EXPECT_EQ(kept.pages, KEPT_RANGES_MAX * 4 - 2);
	EXPECT(kept_ranges_overflow(&kept, 4, &old));
	EXPECT_EQ(old.first, 0);
	EXPECT(kept_ranges_add(&kept, range(1 << 20, 4)));
}

TEST(kept_ranges, neighbours_of_the_newest_are_one_with_it)
{
	struct kept_ranges kept = { 0 };

	for (uint64_t i = 0; i < 4 * KEPT_RANGES_MAX; i++)
		EXPECT(kept_ranges_add(&kept, range(1000 + i * 16, 16)));
	for (uint64_t i = 1; i <= KEPT_RANGES_MAX; i++)
		EXPECT(kept_ranges_add(&kept, range(1000 - i * 16, 16)));
	EXPECT_EQ(kept.count, 1);
	EXPECT_EQ(kept.pages, 5 * KEPT_RANGES_MAX * 16);
	EXPECT_EQ(find(&kept, UINT64_MAX, UINT64_MAX).first, 1000 - KEPT_RANGES_MAX * 16);
	EXPECT_EQ(find(&kept, UINT64_MAX, UINT64_MAX).count, 5 * KEPT_RANGES_MAX * 16);
	/* … and no others. */
	EXPECT(kept_ranges_add(&kept, range(10, 16)));
	EXPECT_EQ(kept.count, 2);
	kept_ranges_cut(&kept, range(1000, 16));
	EXPECT_EQ(kept.count, 3);
	EXPECT_EQ(kept.pages, (5 * KEPT_RANGES_MAX) * 16);
}

TEST_MAIN("base/kept_ranges")
