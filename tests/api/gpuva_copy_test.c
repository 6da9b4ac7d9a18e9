/* SPDX-License-Identifier: MIT */
/*
 * gpuva_copy_test.c - updates of GPU addresses on a GPU that writes its page tables itself: entries
 * of tile pools are copied (COPY_PAGE_TABLE_ENTRIES) when the fence allows it.
 */
#include "api/tile_pool.h"

POOL_TEST(copy, entries_are_copied_when_the_fence_says_so_and_it_is_signaled_then)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map =
		map_pool(create_plain(), made->address, 3, 5);

	EXPECT_OK(update(made->fence, 7, &map, 1));
	settle();
	let_update_run(made);
	/* The pool lies where addresses begin, and the reservation at the beginning of a table. */
	EXPECT_EQ(notes_count("copied entries irql=0 first=21 count=3"), 1);
	EXPECT_EQ(notes_count("copied entries irql=0 to=0"), 1);
	expect_sound("after the update");
}

/* In array order; what is copied overlaps, as memmove() allows. */
POOL_TEST(copy, a_copy_operation_is_copied_from_where_the_pool_is_kept)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operations[2] = {
		map_pool(create_plain(), made->address, 4, 0),
		{ .OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY,
		  .Copy = { .SourceAddress = made->address,
			    .SizeInBytes = 4 * PAGE,
			    .DestAddress = made->address + 2 * PAGE } },
	};

	EXPECT_OK(update(made->fence, 0, operations, 2));
	AWAIT(*made->seen == 1);
	EXPECT(notes_count("copied entries irql=0 first=16 count=2") > 0);
	EXPECT(notes_count("copied entries irql=0 first=16 count=4") > 0);
	expect_sound("after the update");
}

CRANK_TEST_MAIN("api/gpuva_copy", "\"PageTableUpdateMode\": 2, ")
