/* SPDX-License-Identifier: MIT */
/* What the kernel's own addresses show, as a driver is told of it. */
#include "support/test.h"

#include "gpu.h"
#include "support/driver_alone.h"

static struct gpu_adapter adapter;

static void begin(void)
{
	adapter = (struct gpu_adapter){ .memory.knows_windows = TRUE,
					.settings.model = SOFTGPU_MODEL_GPUMMU };
	EXPECT_EQ(gpu_windows_start(&adapter), STATUS_SUCCESS);
	EXPECT(adapter.windows != NULL);
}

static void end(void)
{
	gpu_windows_stop(&adapter);
	EXPECT(adapter.windows == NULL);
}

#define WINDOWS_TEST(claim) TEST_BETWEEN(begin(), end(), windows, claim)

enum { PAGE = 4096, LEAF_PAGES = 512 };

static DXGK_PTE pte(ULONG segment, ULONGLONG page)
{
	DXGK_PTE made = { .Valid = 1, .Segment = segment };

	made.PageAddress = page;
	return made;
}

static NTSTATUS note(ULONGLONG first_page, DXGK_PTE *ptes, UINT count, BOOLEAN is_repeated)
{
	DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE update = {
		.pPageTableEntries = ptes,
		.NumPageTableEntries = count,
		.FirstPteVirtualAddress = first_page * PAGE,
	};
	update.Flags.Repeat = is_repeated;
	return gpu_windows_note(adapter.windows, &update);
}

static void note_row(ULONGLONG first_page, ULONG segment, ULONGLONG page, UINT count)
{
	static DXGK_PTE ptes[4 * LEAF_PAGES];

	for (UINT i = 0; i < count; i++)
		ptes[i] = pte(segment, page + i);
	EXPECT_EQ(note(first_page, ptes, count, FALSE), STATUS_SUCCESS);
}

static void expect_shown(ULONGLONG address, ULONGLONG wanted, ULONG segment, ULONGLONG offset,
			 ULONGLONG size_bytes)
{
	struct gpu_place place;
	ULONGLONG found;

	EXPECT(gpu_windows_find(adapter.windows, address, wanted, TRUE, &place, &found));
	EXPECT_EQ(place.segment, segment);
	EXPECT_EQ(place.offset, offset);
	EXPECT_EQ(found, size_bytes);
}

static BOOLEAN is_shown(ULONGLONG address, BOOLEAN is_write)
{
	struct gpu_place place;
	ULONGLONG found;

	return gpu_windows_find(adapter.windows, address, 1, is_write, &place, &found);
}

WINDOWS_TEST(show_nothing_before_they_are_told_of)
{
	EXPECT(!is_shown(0, FALSE));
	EXPECT(!is_shown(~0ULL, FALSE));
	note_row(16, 1, 7, 1);
	EXPECT(!is_shown(15 * PAGE, FALSE));
	EXPECT(is_shown(16 * PAGE, FALSE));
	EXPECT(!is_shown(17 * PAGE, FALSE));
}

WINDOWS_TEST(go_on_as_long_as_pages_lie_in_a_row)
{
	note_row(500, 1, 1000, 2 * LEAF_PAGES);
	note_row(700, 1, 5000, 1);
	expect_shown(500 * PAGE, 4096 * PAGE, 1, 1000 * PAGE, 200 * PAGE);
	expect_shown(700 * PAGE, 4096 * PAGE, 1, 5000 * PAGE, PAGE);
	expect_shown(701 * PAGE + 8, 4096 * PAGE, 1, 1201 * PAGE + 8, (1524 - 701) * PAGE - 8);
	/* … and no further than is wanted */
	expect_shown(500 * PAGE + 100, 50, 1, 1000 * PAGE + 100, 50);
	expect_shown(500 * PAGE + 100, PAGE, 1, 1000 * PAGE + 100, PAGE);
}

WINDOWS_TEST(end_where_another_segment_begins)
{
	note_row(32, 0, 1000, 4);
	note_row(36, 1, 1004, 4);
	expect_shown(32 * PAGE, 8 * PAGE, 0, 1000 * PAGE, 4 * PAGE);
	expect_shown(36 * PAGE, 8 * PAGE, 1, 1004 * PAGE, 4 * PAGE);
}

WINDOWS_TEST(show_what_they_were_told_last)
{
	DXGK_PTE invalid = { 0 };

	note_row(32, 1, 1000, 8);
	note_row(32, 1, 2000, 2);
	expect_shown(32 * PAGE, 8 * PAGE, 1, 2000 * PAGE, 2 * PAGE);
	EXPECT_EQ(note(0, &invalid, 2 * LEAF_PAGES, TRUE), STATUS_SUCCESS);
	for (ULONGLONG page = 32; page < 40; page++)
		EXPECT(!is_shown(page * PAGE, FALSE));
}

WINDOWS_TEST(that_are_read_only_show_nothing_to_who_writes)
{
	DXGK_PTE one = pte(1, 77);

	one.ReadOnly = 1;
	EXPECT_EQ(note(32, &one, 1, FALSE), STATUS_SUCCESS);
	EXPECT(is_shown(32 * PAGE, FALSE));
	EXPECT(!is_shown(32 * PAGE, TRUE));
}

WINDOWS_TEST(have_sixteen_pages_for_one_of_64_kib)
{
	DXGK_PTE ptes[] = { pte(1, 1024), pte(1, 2048) };
	DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE update = {
		.pPageTableEntries = ptes,
		.NumPageTableEntries = 2,
		.FirstPteVirtualAddress = 504ULL * PAGE,
	};

	update.Flags.Use64KBPages = 1;
	EXPECT_EQ(gpu_windows_note(adapter.windows, &update), STATUS_SUCCESS);
	expect_shown(504 * PAGE, 64 * PAGE, 1, 1024 * PAGE, 16 * PAGE);
	expect_shown(520 * PAGE, 64 * PAGE, 1, 2048 * PAGE, 16 * PAGE);
	EXPECT(!is_shown(536 * PAGE, FALSE));
}

WINDOWS_TEST(are_refused_where_the_kernel_has_no_business)
{
	DXGK_PTE one = pte(1, 77);

	EXPECT_EQ(note(2048ULL * LEAF_PAGES - 1, &one, 1, FALSE), STATUS_SUCCESS);
	EXPECT(is_shown((2048ULL * LEAF_PAGES - 1) * PAGE, FALSE));
	EXPECT_EQ(note(2048ULL * LEAF_PAGES, &one, 1, FALSE), STATUS_NOT_SUPPORTED);
}

TEST(windows, are_not_kept_where_engines_walk_page_tables)
{
	adapter = (struct gpu_adapter){ .settings.model = SOFTGPU_MODEL_GPUMMU };
	EXPECT_EQ(gpu_windows_start(&adapter), STATUS_SUCCESS);
	EXPECT(adapter.windows == NULL);
	gpu_windows_stop(&adapter);
}

TEST_MAIN("soft/windows")
