/* SPDX-License-Identifier: MIT */
/*
 * budget_test.c - QueryVideoMemoryInfo and ChangeVideoMemoryReservation.
 */
#include "api/residency.h"

static D3DKMT_QUERYVIDEOMEMORYINFO question(const struct client *client)
{
	return (D3DKMT_QUERYVIDEOMEMORYINFO){ .hAdapter = client->adapter };
}

static NTSTATUS reserve(const struct client *client, unsigned group, UINT64 bytes)
{
	return D3DKMTChangeVideoMemoryReservation(&(D3DKMT_CHANGEVIDEOMEMORYRESERVATION){
		.hAdapter = client->adapter,
		.MemorySegmentGroup = (D3DKMT_MEMORY_SEGMENT_GROUP)group,
		.Reservation = bytes,
	});
}

TEST(info, of_both_groups_is_consistent)
{
	struct client client = begin();

	for (unsigned group = 0; group < 2; group++) {
		D3DKMT_QUERYVIDEOMEMORYINFO info = memory_info(&client, group);
		EXPECT(info.Budget >= info.AvailableForReservation);
		EXPECT(info.CurrentUsage <= info.Budget);
		EXPECT_EQ(info.CurrentReservation, 0);
	}
	EXPECT(memory_info(&client, 0).Budget > 0);
}

TEST(info, refuses_what_is_wrong)
{
	struct client client = begin();
	D3DKMT_QUERYVIDEOMEMORYINFO args = question(&client);

	EXPECT_BAD(D3DKMTQueryVideoMemoryInfo(NULL), "API-NULL-ARGUMENT", "");
	args.hAdapter = 0;
	EXPECT_BAD(D3DKMTQueryVideoMemoryInfo(&args), "API-HANDLE", "hAdapter");
	args.hAdapter = GARBAGE;
	EXPECT_BAD(D3DKMTQueryVideoMemoryInfo(&args), "API-HANDLE", "hAdapter");
	args.hAdapter = client.device;
	EXPECT_BAD(D3DKMTQueryVideoMemoryInfo(&args), "API-HANDLE-KIND", "hAdapter");
	args = question(&client);
	args.PhysicalAdapterIndex = 99;
	EXPECT_BAD(D3DKMTQueryVideoMemoryInfo(&args), "API-VALUE", "PhysicalAdapterIndex");
	args = question(&client);
	args.MemorySegmentGroup = (D3DKMT_MEMORY_SEGMENT_GROUP)2;
	EXPECT_BAD(D3DKMTQueryVideoMemoryInfo(&args), "API-VALUE", "MemorySegmentGroup");
	args = question(&client);
	args.hProcess = (HANDLE)(intptr_t)0xdeadbeef;
	EXPECT_REFUSED(D3DKMTQueryVideoMemoryInfo(&args), STATUS_INVALID_HANDLE, "API-HANDLE",
		       "hProcess");
	args.hProcess = (HANDLE)(intptr_t)-1;
	EXPECT_OK(D3DKMTQueryVideoMemoryInfo(&args));
}

TEST(info, usage_is_what_is_on_lists)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY);

	EXPECT_OK(make_resident(&client, &one, 1, 0));
	EXPECT_EQ(memory_info(&client, 0).CurrentUsage, MIB);
	EXPECT_OK(offer(&client, &one, 1, 1, 0));
	EXPECT_EQ(memory_info(&client, 0).CurrentUsage, 0);
	EXPECT_OK(reclaim(&client, &one, 1, NULL));
	EXPECT_EQ(memory_info(&client, 0).CurrentUsage, MIB);
	EXPECT_OK(destroy_now(&client, one));
	EXPECT_EQ(memory_info(&client, 0).CurrentUsage, 0);
}

TEST(reservation, is_absolute_and_limited)
{
	struct client client = begin();
	UINT64 most = memory_info(&client, 0).AvailableForReservation;

	EXPECT_OK(reserve(&client, 0, MIB));
	EXPECT_EQ(memory_info(&client, 0).CurrentReservation, MIB);
	EXPECT_OK(reserve(&client, 0, most));
	EXPECT_EQ(memory_info(&client, 0).CurrentReservation, most);
	EXPECT_EQ(reserve(&client, 0, most + 1), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(memory_info(&client, 0).CurrentReservation, most);
	EXPECT_OK(reserve(&client, 0, 0));
	EXPECT_EQ(memory_info(&client, 0).CurrentReservation, 0);
	EXPECT_BAD(reserve(&client, 2, 0), "API-VALUE", "MemorySegmentGroup");
	EXPECT_BAD(D3DKMTChangeVideoMemoryReservation(NULL), "API-NULL-ARGUMENT", "");
}

TEST(reservation, refuses_what_is_wrong_and_stays)
{
	struct client client = begin();
	const D3DKMT_CHANGEVIDEOMEMORYRESERVATION good = { .hAdapter = client.adapter,
							   .Reservation = 2 * MIB };
	D3DKMT_CHANGEVIDEOMEMORYRESERVATION args = good;

	EXPECT_OK(reserve(&client, 0, MIB));
	args.hAdapter = 0;
	EXPECT_BAD(D3DKMTChangeVideoMemoryReservation(&args), "API-HANDLE", "hAdapter");
	args.hAdapter = client.device;
	EXPECT_BAD(D3DKMTChangeVideoMemoryReservation(&args), "API-HANDLE-KIND", "hAdapter");
	args = good;
	args.PhysicalAdapterIndex = 1;
	EXPECT_BAD(D3DKMTChangeVideoMemoryReservation(&args), "API-VALUE", "PhysicalAdapterIndex");
	args = good;
	args.hProcess = (HANDLE)(intptr_t)0xdeadbeef;
	EXPECT_REFUSED(D3DKMTChangeVideoMemoryReservation(&args), STATUS_INVALID_HANDLE,
		       "API-HANDLE", "hProcess");
	args = good;
	args.Reservation = UINT64_MAX;
	EXPECT_BAD(D3DKMTChangeVideoMemoryReservation(&args), "MM-RESERVATION", "Reservation");
	EXPECT_EQ(memory_info(&client, 0).CurrentReservation, MIB);
	args = good;
	args.hProcess = (HANDLE)(intptr_t)-1;
	EXPECT_OK(D3DKMTChangeVideoMemoryReservation(&args));
	EXPECT_EQ(memory_info(&client, 0).CurrentReservation, 2 * MIB);
}

TEST(flush, takes_an_adapter)
{
	struct client client = begin();
	D3DKMT_FLUSHHEAPTRANSITIONS args = { client.device };

	EXPECT_BAD(D3DKMTFlushHeapTransitions(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTFlushHeapTransitions(&args), "API-HANDLE-KIND", "hAdapter");
	flush(&client);
}

API_TEST_MAIN("api/budget")
