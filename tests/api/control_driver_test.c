/* SPDX-License-Identifier: MIT */
/*
 * control_driver_test.c - what a driver is asked to do when a tester has memory moved.
 */
#include "api/recorder.h"
#include "api/allocation.h"

/* Operations of DxgkDdiBuildPagingBuffer. */
#define TRANSFER "BuildPagingBuffer irql=0 operation=0 "
#define FILL     "BuildPagingBuffer irql=0 operation=1 "
#define DISCARD  "BuildPagingBuffer irql=0 operation=2 "

static unsigned count_of(const char *text, const char *what, const char *end)
{
	const char *stop = strstr(text, end);
	unsigned count = 0;

	EXPECT(stop);
	for (const char *at = strstr(text, what); at && at < stop; at = strstr(at + 1, what))
		count++;
	return count;
}

static NTSTATUS vidmm(D3DKMT_HANDLE adapter, D3DKMT_VIDMM_ESCAPE *args)
{
	return D3DKMTEscape(&(D3DKMT_ESCAPE){ .hAdapter = adapter,
					      .Type = D3DKMT_ESCAPE_VIDMM,
					      .pPrivateDriverData = args,
					      .PrivateDriverDataSize = sizeof(*args) });
}

static void child_flush(D3DKMT_HANDLE adapter)
{
	D3DKMT_FLUSHHEAPTRANSITIONS args = { adapter };

	CHILD_EXPECT(D3DKMTFlushHeapTransitions(&args) == STATUS_SUCCESS);
}

CHILD(evictions)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_HANDLE device = child_create_device(adapter);
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device };
	D3DKMT_VIDMM_ESCAPE evict = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_VIDMM_ESCAPE fault = { .Type = D3DKMT_VIDMMESCAPETYPE_SETFAULT };
	struct creation creation;

	CHILD_EXPECT(D3DKMTCreatePagingQueue(&queue) == STATUS_SUCCESS);
	creation_init_plain(&creation, device, 1);
	CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
	D3DKMT_HANDLE one = creation.elements[0].hAllocation;
	D3DDDI_MAKERESIDENT make = { .hPagingQueue = queue.hPagingQueue,
				     .NumAllocations = 1,
				     .AllocationList = &one };
	say("-- make resident");
	CHILD_EXPECT(NT_SUCCESS(D3DKMTMakeResident(&make)));
	child_flush(adapter);
	say("-- evict");
	CHILD_EXPECT(vidmm(adapter, &evict) == STATUS_SUCCESS);
	child_flush(adapter);
	say("-- offer");
	fault.SetFault.AlwaysDiscardOfferedAllocation = 1;
	CHILD_EXPECT(vidmm(adapter, &fault) == STATUS_SUCCESS);
	D3DKMT_OFFERALLOCATIONS offer = { .hDevice = device,
					  .HandleList = &one,
					  .NumAllocations = 1,
					  .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	CHILD_EXPECT(D3DKMTOfferAllocations(&offer) == STATUS_SUCCESS);
	child_flush(adapter);
	say("-- end");
	return 0;
}

TEST(driver, moves_what_a_tester_evicts_out_and_in_and_drops_what_is_discarded)
{
	const struct child_result *child = RECORDED("evictions", "\"Model\": \"physical\"");

	const char *made = after_line(child->out, "-- make resident\n");
	EXPECT_EQ(count_of(made, FILL, "-- evict\n"), 1);
	const char *evicted = after_line(child->out, "-- evict\n");
	EXPECT_EQ(count_of(evicted, TRANSFER, "-- offer\n"), 2);
	EXPECT_EQ(count_of(evicted, DISCARD, "-- offer\n"), 0);
	const char *offered = after_line(child->out, "-- offer\n");
	EXPECT_EQ(count_of(offered, TRANSFER, "-- end\n"), 0);
	EXPECT_EQ(count_of(offered, DISCARD, "-- end\n"), 1);
}

API_TEST_MAIN("api/control_driver")
