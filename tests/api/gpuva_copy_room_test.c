/* SPDX-License-Identifier: MIT */
/*
 * gpuva_copy_room_test.c - page tables in local memory that entries are copied from: forced out with
 * those that are copied to, and there again before the next copy.
 */
#include "api/tile_pool.h"

/* Page tables go, too, and come back while there is room. */
static void force_out(void)
{
	D3DKMT_VIDMM_ESCAPE everything = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &everything,
			       .PrivateDriverDataSize = sizeof(everything) };

	EXPECT_OK(D3DKMTEscape(&args));
	expect_sound("forced out");
}

/* How many updates of tables it takes until work can run again. */
static unsigned updates_of_a_round(D3DKMT_HANDLE context)
{
	unsigned before = table_updates();
	unsigned submitted = submissions();

	force_out();
	EXPECT_OK(submit(context, 1));
	AWAIT(submissions() > submitted);
	return table_updates() - before;
}

POOL_TEST(copy_room, tables_that_are_copied_from_leave_and_come_back_with_the_others)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map =
		map_pool(create_plain(), made->address, 3, 5);
	D3DKMT_HANDLE context = create_virtual(0);
	unsigned without = updates_of_a_round(context);

	EXPECT_OK(update(made->fence, 0, &map, 1));
	AWAIT(*made->seen == 1);
	EXPECT_EQ(copies(), 1);
	expect_sound("after the update");
	/* A leaf, what is above it, and their entries, out and in. */
	EXPECT(updates_of_a_round(context) >= without + 4);
	for (UINT64 round = 1; round <= 10; round++) {
		force_out();
		map.Map.BaseAddress = made->address + 3 * (round % 5) * PAGE;
		EXPECT_OK(update(made->fence, round, &map, 1));
		AWAIT(*made->seen == round + 1);
		expect_sound("updated");
	}
}

/* It keeps no table in place, and finds them when its turn comes. */
POOL_TEST(copy_room, an_update_waits_for_its_fence_while_they_come_and_go)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map =
		map_pool(create_plain(), made->address, 3, 5);

	EXPECT_OK(update(made->fence, 7, &map, 1));
	for (unsigned i = 0; i < 5; i++) {
		force_out();
		settle();
	}
	let_update_run(made);
	expect_sound("after the update");
}

CRANK_TEST_MAIN("api/gpuva_copy_room",
		"\"PageTableUpdateMode\": 2, \"Level0.PageTableSegmentId\": 1, "
		"\"Level1.PageTableSegmentId\": 1, \"Level2.PageTableSegmentId\": 1, ")
