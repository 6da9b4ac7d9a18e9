/* SPDX-License-Identifier: MIT */
/*
 * layout_test.c - what is where in the kernel's own address space.
 */
#include "paging/layout.h"
#include "support/test.h"

static struct miniport_gpu_mmu mmu_of(uint32_t mode, uint32_t bits, uint32_t levels,
				      uint32_t leaf_bits, uint32_t table_bytes)
{
	struct miniport_gpu_mmu mmu = { .update_mode = mode,
					.address_bits = bits,
					.level_count = levels };

	for (uint32_t i = 0; i < levels; i++)
		mmu.levels[i] =
			(struct miniport_page_table_level){ .index_bits = leaf_bits,
							    .table_size_bytes = table_bytes };
	return mmu;
}

static void expect_sound(const struct pager_layout *layout, const struct miniport_gpu_mmu *mmu)
{
	EXPECT(layout->first_buffer > 0); /* the first page is never mapped */
	EXPECT(layout->first_small >=
	       layout->first_buffer + (uint64_t)layout->buffer_pages * layout->buffer_count);
	EXPECT(layout->first_big >=
	       layout->first_small + 2ULL * layout->small_pages * layout->small_count);
	EXPECT(layout->end >= layout->first_big + 2ULL * layout->big_pages * layout->big_count);
	EXPECT(layout->end <= UINT64_C(1) << (mmu->address_bits - 12));
	EXPECT((uint64_t)layout->leaf_count * layout->leaf_entries >= layout->end);
	EXPECT(layout->small_count >= 2 && layout->big_count >= 2);
	if (mmu->update_mode == 1)
		EXPECT_EQ(layout->end - layout->first_table,
			  (uint64_t)layout->leaf_count * layout->table_pages);
	else
		EXPECT_EQ(layout->first_table, 0);
}

TEST(layout, with_room_a_window_holds_eight_mebibytes)
{
	struct miniport_gpu_mmu mmu = mmu_of(2, 48, 4, 9, 4096);
	struct pager_layout layout;

	EXPECT(pager_layout_plan(&mmu, 4, 8, UINT32_MAX, &layout));
	expect_sound(&layout, &mmu);
	EXPECT_EQ(layout.big_pages, 2048);
	EXPECT_EQ(layout.big_count, 8);
	EXPECT_EQ(layout.first_big % 512, 0); /* whole leaf tables */
}

/* COPY_PAGE_TABLE_ENTRIES says where tables are by addresses that are multiples of 64 KiB. */
TEST(layout, every_window_begins_at_a_multiple_of_64k)
{
	static const uint32_t sizes[] = { 4096, 65536, 17 * 4096, 262144 };
	struct pager_layout layout;

	for (uint32_t i = 0; i < 4; i++) {
		struct miniport_gpu_mmu mmu = mmu_of(2, 48, 3, 12, sizes[i]);

		EXPECT(pager_layout_plan(&mmu, 3, 8, UINT32_MAX, &layout));
		expect_sound(&layout, &mmu);
		EXPECT_EQ(layout.first_small % 16, 0);
		EXPECT_EQ(layout.small_pages % 16, 0);
		EXPECT(layout.small_pages >= sizes[i] / 4096);
	}
}

TEST(layout, a_window_holds_a_leaf_table_of_64k_pages)
{
	struct miniport_gpu_mmu mmu = mmu_of(1, 48, 3, 12, 4096);
	struct pager_layout layout;

	mmu.leaf_table_size_64k_bytes = 40 * 4096;
	EXPECT(pager_layout_plan(&mmu, 3, 8, UINT32_MAX, &layout));
	expect_sound(&layout, &mmu);
	EXPECT(layout.small_pages >= 40);
}

TEST(layout, little_space_means_fewer_and_smaller_windows)
{
	struct pager_layout layout;

	for (uint32_t bits = 21; bits < 32; bits++) {
		for (uint32_t mode = 0; mode < 3; mode++) {
			struct miniport_gpu_mmu mmu = mmu_of(mode, bits, 2, 9, 4096);

			EXPECT(pager_layout_plan(&mmu, 4, 8, UINT32_MAX, &layout));
			expect_sound(&layout, &mmu);
		}
	}
}

TEST(layout, too_little_space_is_refused)
{
	struct miniport_gpu_mmu mmu = mmu_of(2, 18, 2, 4, 4096);
	struct pager_layout layout;

	EXPECT(!pager_layout_plan(&mmu, 4, 8, UINT32_MAX, &layout));
}

TEST(layout, small_windows_hold_the_largest_table)
{
	struct miniport_gpu_mmu mmu = mmu_of(1, 48, 3, 10, 128 << 10);
	struct pager_layout layout;

	EXPECT(pager_layout_plan(&mmu, 1, 8, UINT32_MAX, &layout));
	expect_sound(&layout, &mmu);
	EXPECT(layout.small_pages >= 32);
}

TEST(layout, tables_that_cannot_map_themselves_are_refused)
{
	struct miniport_gpu_mmu mmu = mmu_of(1, 48, 3, 4, 65536);
	struct pager_layout layout;

	EXPECT(!pager_layout_plan(&mmu, 1, 8, UINT32_MAX, &layout));
}

TEST(layout, needs_no_more_leaf_tables_than_it_is_told)
{
	struct miniport_gpu_mmu mmu = mmu_of(0, 48, 4, 9, 4096);
	struct pager_layout all;
	struct pager_layout layout;

	EXPECT(pager_layout_plan(&mmu, 4, 8, UINT32_MAX, &all));
	EXPECT(all.leaf_count > 60);
	for (uint32_t most = all.leaf_count; most > 0; most--) {
		if (!pager_layout_plan(&mmu, 4, 8, most, &layout)) {
			EXPECT_EQ(most, 0); /* 80 pages are enough to page with */
			break;
		}
		expect_sound(&layout, &mmu);
		EXPECT(layout.leaf_count <= most);
	}
	EXPECT(!pager_layout_plan(&mmu, 4, 8, 0, &layout));
}

TEST_MAIN("paging/layout")
