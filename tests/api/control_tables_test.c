/* SPDX-License-Identifier: MIT */
/*
 * control_tables_test.c - what a tester may ask the memory manager about segments and page tables.
 * On a GPU with 8 MiB.
 */
#include "api/control.h"

static D3DKMT_VIDMM_ESCAPE vad_of(unsigned command)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO };

	args.GetVads.Command = (D3DKMT_VAD_ESCAPE_COMMAND)command;
	return args;
}

static DXGK_PTE entry_at(const struct client *client, const DXGK_ESCAPE_GPUMMUCAPS *caps,
			 UINT64 address, UINT level, UINT *count)
{
	D3DKMT_VIDMM_ESCAPE args = vad_of(D3DKMT_VAD_ESCAPE_GET_PTE);
	D3DKMT_GET_PTE *get = &args.GetVads.GetPte;

	get->PageTableLevel = level;
	get->NumPtes = 1;
	for (UINT i = 0; i < caps->PageTableLevelCount; i++) {
		const D3DKMT_PAGE_TABLE_LEVEL_DESC *shape = &caps->PageTableLevelDesk[i];

		get->PageTableIndex[i] = (UINT)((address & shape->IndexMask) >> shape->IndexShift);
	}
	EXPECT_OK(vidmm(client, &args));
	EXPECT_EQ(args.GetVads.Status, STATUS_SUCCESS);
	*count = get->NumPtes;
	return get->Pte[0];
}

TEST(tables, without_page_tables_there_is_no_walk)
{
	SKIP_UNLESS(is_physical(), "there are page tables");

	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = vad_of(D3DKMT_VAD_ESCAPE_GET_GPUMMU_CAPS);

	EXPECT_REFUSED(vidmm(&client, &args), STATUS_NOT_SUPPORTED, "VA-NO-TABLES", "");
}

TEST(tables, a_walk_finds_each_level_and_the_page)
{
	SKIP_UNLESS(!is_physical(), "the physical model has no page tables");

	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = vad_of(D3DKMT_VAD_ESCAPE_GET_GPUMMU_CAPS);
	UINT count;

	EXPECT_OK(vidmm(&client, &args));
	DXGK_ESCAPE_GPUMMUCAPS caps = args.GetVads.GetGpuMmuCaps.GpuMmuCaps;
	EXPECT_EQ(caps.VirtualAddressBitCount, 48);
	UINT bits = 12;
	for (UINT i = 0; i < caps.PageTableLevelCount; i++) {
		EXPECT_EQ(caps.PageTableLevelDesk[i].IndexShift, bits);
		EXPECT_EQ(caps.PageTableLevelDesk[i].EntryCoverageInPages, UINT64_C(1)
										   << (bits - 12));
		bits += caps.PageTableLevelDesk[i].IndexBitCount;
	}
	EXPECT_EQ(bits, 48);

	D3DKMT_HANDLE one = resident_filled(&client, 64 * KIB, 30);
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = client.queue,
					    .hAllocation = one,
					    .SizeInPages = 16 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&map);
	EXPECT(NT_SUCCESS(status));
	wait_for(&client, map.PagingFenceValue);
	for (UINT level = caps.PageTableLevelCount; level-- > 0;) {
		DXGK_PTE entry = entry_at(&client, &caps, map.VirtualAddress, level, &count);

		EXPECT_EQ(count, 1);
		EXPECT(entry.Valid && !entry.Zero);
		EXPECT_EQ(entry.ReadOnly, level == 0);
	}
	DXGK_PTE leaf = entry_at(&client, &caps, map.VirtualAddress, 0, &count);
	EXPECT_EQ(leaf.Segment, LOCAL_SEGMENT);
	/* Behind its end nothing is mapped, and far away there is no table. */
	DXGK_PTE behind = entry_at(&client, &caps, map.VirtualAddress + 64 * KIB, 0, &count);
	EXPECT_EQ(behind.Valid, 0);
	(void)entry_at(&client, &caps, UINT64_C(1) << 46, 0, &count);
	EXPECT_EQ(count, 0);
	/* Evicted, nothing leads there. */
	EXPECT_OK(evict(&client, &one, 1, 0));
	flush(&client);
	leaf = entry_at(&client, &caps, map.VirtualAddress, 0, &count);
	EXPECT_EQ(leaf.Valid, 0);
}

/* Placed and mapped so that one entry shows 2 MiB, whatever was there before. */
TEST(tables, a_walk_to_a_large_page_ends_above_the_leaves)
{
	SKIP_UNLESS(!is_physical(), "the physical model has no page tables");

	enum { LARGE = 2 * MIB };
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = vad_of(D3DKMT_VAD_ESCAPE_GET_GPUMMU_CAPS);
	UINT count;

	EXPECT_OK(vidmm(&client, &args));
	DXGK_ESCAPE_GPUMMUCAPS caps = args.GetVads.GetGpuMmuCaps.GpuMmuCaps;
	(void)resident_filled(&client, 64 * KIB, 30);
	D3DKMT_HANDLE large = create_sized(&client, LARGE + 64 * KIB, SOFTGPU_LOCAL_ONLY);
	EXPECT_OK(make_resident(&client, &large, 1, 0));
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = client.queue,
					    .hAllocation = large,
					    .SizeInPages = (LARGE + 64 * KIB) / 4096,
					    .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&map);
	EXPECT(NT_SUCCESS(status));
	wait_for(&client, map.PagingFenceValue);
	DXGK_PTE entry = entry_at(&client, &caps, map.VirtualAddress + LARGE / 2, 1, &count);
	EXPECT_EQ(count, 1);
	EXPECT(entry.Valid && entry.LargePage);
	EXPECT_EQ(entry.Segment, LOCAL_SEGMENT);
	EXPECT_EQ(entry.PageAddress % (LARGE / 4096), 0);
	(void)entry_at(&client, &caps, map.VirtualAddress, 0, &count);
	EXPECT_EQ(count, 0);
	/* What is behind it is a page like any other. */
	DXGK_PTE leaf = entry_at(&client, &caps, map.VirtualAddress + LARGE, 0, &count);
	EXPECT(count == 1 && leaf.Valid && !leaf.LargePage);
	EXPECT_EQ(leaf.PageAddress, entry.PageAddress + LARGE / 4096);
}

TEST(tables, segments_are_described)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = vad_of(D3DKMT_VAD_ESCAPE_GET_SEGMENT_CAPS);
	D3DKMT_GET_SEGMENT_CAPS *caps = &args.GetVads.GetSegmentCaps;

	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(caps->NumSegments, 2);
	EXPECT_EQ(caps->SegmentCaps[0].Size, 8 * MIB);
	EXPECT_EQ(caps->SegmentCaps[0].SegmentId, LOCAL_SEGMENT);
	EXPECT_EQ(caps->SegmentCaps[0].bAperture, FALSE);
	EXPECT_EQ(caps->SegmentCaps[0].BudgetGroup, D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL);
	EXPECT_EQ(caps->SegmentCaps[1].bAperture, TRUE);
	EXPECT_EQ(caps->SegmentCaps[1].BudgetGroup, D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL);
}

TEST(tables, wrong_questions_about_addresses_are_refused)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = vad_of(6);

	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "GetVads.Command");
	for (unsigned command = 0; command < 3; command++) {
		args = vad_of(command);
		EXPECT_REFUSED(vidmm(&client, &args), STATUS_NOT_SUPPORTED, "API-NOT-BUILT",
			       "GetVads.Command");
	}
	args = vad_of(D3DKMT_VAD_ESCAPE_GET_SEGMENT_CAPS);
	args.GetVads.GetSegmentCaps.PhysicalAdapterIndex = 1;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "PhysicalAdapterIndex");
}

TEST(tables, wrong_questions_about_page_tables_are_refused)
{
	SKIP_UNLESS(!is_physical(), "the physical model has no page tables");

	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = vad_of(D3DKMT_VAD_ESCAPE_GET_PTE);

	EXPECT_BAD(vidmm(&client, &args), "API-COUNT", "NumPtes");
	args.GetVads.GetPte.NumPtes = 65;
	EXPECT_BAD(vidmm(&client, &args), "API-COUNT", "NumPtes");
	args.GetVads.GetPte.NumPtes = 1;
	args.GetVads.GetPte.PageTableLevel = 6;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "PageTableLevel");
	args.GetVads.GetPte.PageTableLevel = 0;
	args.GetVads.GetPte.PageTableIndex[1] = 1u << 20;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "PageTableIndex");
	args.GetVads.GetPte.PageTableIndex[1] = 0;
	args.GetVads.GetPte.b64KBPte = TRUE;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "b64KBPte"); /* this GPU has none */
}

API_TEST_MAIN("api/control_tables")
