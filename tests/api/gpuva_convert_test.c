/* SPDX-License-Identifier: MIT */
/*
 * gpuva_convert_test.c - a leaf table of 64 KiB pages becomes one of 4 KiB pages on a GPU that is
 * turned by hand: no context runs while it does. What pages completes by itself.
 */
#include "api/gpuva_crank.h"

#define BASE UINT64_C(0x10000000)

/* Entries of level 1, as the driver was given them. */
static unsigned page_size_of_table(void)
{
	D3DKMT_VIDMM_ESCAPE vad = { .Type = D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO };
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .hDevice = device,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &vad,
			       .PrivateDriverDataSize = sizeof(vad) };

	vad.GetVads.Command = D3DKMT_VAD_ESCAPE_GET_PTE;
	vad.GetVads.GetPte.PageTableLevel = 1;
	vad.GetVads.GetPte.PageTableIndex[1] = BASE >> 21;
	vad.GetVads.GetPte.NumPtes = 1;
	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_EQ(vad.GetVads.GetPte.NumValidEntries, 1);
	return (unsigned)vad.GetVads.GetPte.Pte[0].PageTablePageSize;
}

TEST(convert, a_table_becomes_another_when_no_context_runs)
{
	begin_with_queue_on(BY_HAND);
	D3DKMT_HANDLE running = create_virtual(0);
	D3DKMT_HANDLE memory = create_plain();
	UINT64 value = map_at(memory, BASE, 16);

	AWAIT(*paging_value >= value);
	EXPECT_EQ(page_size_of_table(), 1);

	/* More of 64 KiB needs nobody to stand still. */
	EXPECT_OK(submit(running, 1));
	AWAIT(pending(0) == 1);
	value = map_at(memory, BASE + 0x20000, 16);
	AWAIT(*paging_value >= value);
	EXPECT_EQ(page_size_of_table(), 1);

	unsigned before = table_updates();
	value = map_at(memory, BASE + 0x50000 + PAGE, 1);
	settle();
	EXPECT_EQ(table_updates(), before);
	EXPECT(*paging_value < value);
	EXPECT_EQ(complete(0), 1);
	AWAIT(*paging_value >= value);
	EXPECT(table_updates() > before);
	EXPECT_EQ(page_size_of_table(), 0);

	/* And it goes on. */
	EXPECT_OK(submit(running, 2));
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 2);
	expect_sound("after the fence");
	expect_nothing_wrong();
}

CRANK_TEST_MAIN("api/gpuva_convert",
		"\"LeafPageTableSizeFor64KPagesInBytes\": 4096, \"Segment1.Flags\": 34820, "
		"\"Allocation.Alignment\": 65536, ")
