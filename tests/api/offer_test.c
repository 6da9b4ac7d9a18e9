/* SPDX-License-Identifier: MIT */
/*
 * offer_test.c - offer and reclaim, resources and allocations, and what becomes of the content.
 */
#include "api/residency.h"

TEST(offer, refuses_what_is_wrong)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);

	EXPECT_BAD(D3DKMTOfferAllocations(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(offer(&client, &one, 1, 0, 0), "API-VALUE", "Priority");
	EXPECT_BAD(offer(&client, &one, 1, 5, 0), "API-VALUE", "Priority");
	EXPECT_BAD(offer(&client, &one, 1, 1, 4), "API-RESERVED", "Flags");
	EXPECT_BAD(offer(&client, NULL, 1, 1, 0), "API-NULL-ARGUMENT", "HandleList");
	EXPECT_BAD(offer(&client, &one, 0, 1, 0), "API-COUNT", "NumAllocations");
	D3DKMT_OFFERALLOCATIONS both = { .hDevice = client.device,
					 .HandleList = &one,
					 .pResources = &one,
					 .NumAllocations = 1,
					 .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	EXPECT_BAD(D3DKMTOfferAllocations(&both), "API-VALUE", "HandleList");
	both.HandleList = NULL;
	EXPECT_BAD(D3DKMTOfferAllocations(&both), "API-HANDLE", "pResources");
	both.NumAllocations = UINT32_MAX;
	EXPECT_BAD(D3DKMTOfferAllocations(&both), "API-COUNT", "NumAllocations");
	EXPECT_BAD(offer(&client, &client.device, 1, 1, 0), "API-HANDLE", "HandleList");
}

/* Both reclaims and the offer take lists of resources. */
TEST(resources, that_are_none_are_refused_and_it_is_said_which)
{
	struct client client = begin();
	struct creation creation;
	D3DDDI_RECLAIM_RESULT results[2] = { (D3DDDI_RECLAIM_RESULT)GARBAGE };

	creation_init_resource(&creation, client.device, 1, SHARED_NOT);
	EXPECT_OK(create(&creation));
	D3DKMT_HANDLE allocation = creation.elements[0].hAllocation;
	const D3DKMT_HANDLE wrong[] = { 0, GARBAGE, allocation, client.device, client.queue };
	D3DKMT_HANDLE list[2] = { creation.args.hResource, 0 };
	D3DKMT_OFFERALLOCATIONS given = { .hDevice = client.device,
					  .pResources = list,
					  .NumAllocations = 2,
					  .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	D3DKMT_RECLAIMALLOCATIONS back = { .hDevice = client.device,
					   .pResources = list,
					   .NumAllocations = 2 };
	D3DKMT_RECLAIMALLOCATIONS2 back2 = { .hPagingQueue = client.queue,
					     .pResources = list,
					     .NumAllocations = 2,
					     .pResults = results };
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		void *pointer;
		list[1] = wrong[i];
		EXPECT_BAD(D3DKMTOfferAllocations(&given), "API-HANDLE", "pResources");
		EXPECT_EQ(last_refusal().index, 1);
		EXPECT_BAD(D3DKMTReclaimAllocations(&back), "API-HANDLE", "pResources");
		EXPECT_EQ(last_refusal().index, 1);
		EXPECT_BAD(D3DKMTReclaimAllocations2(&back2), "API-HANDLE", "pResources");
		EXPECT_EQ(last_refusal().index, 1);
		EXPECT_EQ(results[0], GARBAGE);
		/* The first was not offered, either. */
		EXPECT_OK(lock2(client.device, allocation, &pointer));
		EXPECT_OK(unlock2(client.device, allocation));
	}
}

TEST(offer, of_a_list_with_one_bad_entry_changes_nothing)
{
	struct client client = begin();
	D3DKMT_HANDLE list[] = { create_one(client.device), create_one(client.device) };
	void *pointer;

	EXPECT_OK(lock2(client.device, list[1], &pointer));
	EXPECT_BAD(offer(&client, list, 2, 1, 0), "MM-OFFER-IN-USE", "HandleList");
	EXPECT_EQ(last_refusal().index, 1);
	EXPECT_CONTAINS(last_refusal().reason, "is locked");
	EXPECT_BAD(offer(&client, list + 1, 1, 1, 0), "MM-OFFER-IN-USE", "HandleList");
	EXPECT_EQ(last_refusal().index, 0);
	/* Not offered: it can be locked. */
	EXPECT_OK(lock2(client.device, list[0], &pointer));
	EXPECT_OK(unlock2(client.device, list[0]));
	EXPECT_OK(unlock2(client.device, list[1]));
}

TEST(offer, of_resources_with_one_in_use_changes_nothing)
{
	struct client client = begin();
	struct creation creations[2];
	D3DKMT_HANDLE list[2];
	void *pointer;

	for (unsigned i = 0; i < 2; i++) {
		creation_init_resource(&creations[i], client.device, 3, SHARED_NOT);
		EXPECT_OK(create(&creations[i]));
		list[i] = creations[i].args.hResource;
	}
	D3DKMT_HANDLE locked = creations[1].elements[2].hAllocation;
	D3DKMT_OFFERALLOCATIONS args = { .hDevice = client.device,
					 .pResources = list,
					 .NumAllocations = 2,
					 .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	EXPECT_OK(lock2(client.device, locked, &pointer));
	EXPECT_BAD(D3DKMTOfferAllocations(&args), "MM-OFFER-IN-USE", "pResources");
	EXPECT_EQ(last_refusal().index, 1); /* of the resources, not of what they hold */
	for (unsigned i = 0; i < 3; i++)
		EXPECT_OK(lock2(client.device, creations[0].elements[i].hAllocation, &pointer));
	EXPECT_OK(lock2(client.device, creations[1].elements[0].hAllocation, &pointer));
}

TEST(offer, keeps_it_from_being_locked_until_it_is_reclaimed)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;
	void *pointer;

	fill(&client, one, SOME_BYTES, 7);
	for (unsigned priority = 1; priority <= 4; priority++) {
		EXPECT_OK(offer(&client, &one, 1, priority, 0));
		EXPECT_BAD(lock2(client.device, one, &pointer), "MM-LOCK-OFFERED", "hAllocation");
	}
	EXPECT_OK(reclaim(&client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_OK);
	EXPECT_CONTENT(&client, one, SOME_BYTES, 7);
}

TEST(offer, of_a_resource_is_of_all_its_allocations)
{
	struct client client = begin();
	struct creation creation;
	void *pointer;

	creation_init_resource(&creation, client.device, 3, SHARED_NOT);
	EXPECT_OK(create(&creation));
	D3DKMT_HANDLE resource = creation.args.hResource;
	D3DKMT_OFFERALLOCATIONS args = { .hDevice = client.device,
					 .pResources = &resource,
					 .NumAllocations = 1,
					 .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	EXPECT_OK(D3DKMTOfferAllocations(&args));
	for (int i = 0; i < 3; i++)
		EXPECT_BAD(lock2(client.device, creation.elements[i].hAllocation, &pointer),
			   "MM-LOCK-OFFERED", "hAllocation");
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;
	D3DKMT_RECLAIMALLOCATIONS2 back = { .hPagingQueue = client.queue,
					    .NumAllocations = 1,
					    .pResources = &resource,
					    .pResults = &result };
	EXPECT_OK(D3DKMTReclaimAllocations2(&back));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_OK);
	for (int i = 0; i < 3; i++)
		EXPECT_OK(lock2(client.device, creation.elements[i].hAllocation, &pointer));
}

TEST(reclaim, refuses_what_is_wrong)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DKMT_RECLAIMALLOCATIONS2 args = { .NumAllocations = 1, .HandleList = &one };

	EXPECT_BAD(D3DKMTReclaimAllocations2(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTReclaimAllocations2(&args), "API-HANDLE", "hPagingQueue");
	args.hPagingQueue = client.queue;
	args.pResources = &one;
	EXPECT_BAD(D3DKMTReclaimAllocations2(&args), "API-VALUE", "HandleList");
	args.HandleList = args.pResources = NULL;
	EXPECT_BAD(D3DKMTReclaimAllocations2(&args), "API-NULL-ARGUMENT", "HandleList");
}

TEST(reclaim, of_what_was_not_offered_is_fine_and_without_results_too)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;

	EXPECT_OK(reclaim(&client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_OK);
	EXPECT_OK(offer(&client, &one, 1, 1, 0));
	EXPECT_OK(reclaim(&client, &one, 1, NULL));
}

CLIENT_TEST(reclaim, brings_back_in_what_is_on_the_list_and_only_that, begin())
{
	D3DKMT_HANDLE list[] = { create_sized(client, MIB, SOFTGPU_LOCAL_ONLY),
				 create_sized(client, MIB, SOFTGPU_LOCAL_ONLY) };
	D3DDDI_RECLAIM_RESULT results[2];

	EXPECT_OK(make_resident(client, list, 2, 0));
	EXPECT_OK(evict(client, list + 1, 1, 0));
	EXPECT_OK(offer(client, list, 2, 1, 0));
	flush(client);
	EXPECT_OK(reclaim(client, list, 2, results));
	EXPECT_EQ(residency_status(client, list[0]), IN_GPU_MEMORY);
	EXPECT_EQ(residency_status(client, list[1]), NOT_RESIDENT);
}

CLIENT_TEST(reclaim, says_what_was_thrown_away_for_others, begin())
{
	uint64_t budget = memory_info(client, 0).Budget;
	uint64_t size = budget / 4 * 3 / MIB * MIB;
	D3DKMT_HANDLE list[] = { create_sized(client, size, SOFTGPU_LOCAL_ONLY),
				 create_sized(client, size, SOFTGPU_LOCAL_ONLY) };
	D3DDDI_RECLAIM_RESULT result;

	EXPECT_OK(make_resident(client, list, 1, 0));
	EXPECT_OK(offer(client, list, 1, 1, 0));
	EXPECT_OK(make_resident(client, list + 1, 1, 0));
	EXPECT_OK(evict(client, list + 1, 1, 0));
	EXPECT_OK(reclaim(client, list, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT_EQ(residency_status(client, list[0]), IN_GPU_MEMORY);
	flush(client);
}

CLIENT_TEST(reclaim, changes_nothing_when_there_is_no_memory, begin())
{
	D3DKMT_HANDLE list[] = { create_one(client->device), create_one(client->device) };
	bool has_succeeded = false;
	void *pointer;

	EXPECT_OK(make_resident(client, list, 2, 0));
	for (unsigned long long nth = 1; !has_succeeded; nth++) {
		D3DDDI_RECLAIM_RESULT results[2];
		EXPECT_OK(offer(client, list, 2, 1, 0));
		flush(client);
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = reclaim(client, list, 2, results);
		bool has_fired = dxgk_test_fail_stop();
		has_succeeded = status == STATUS_SUCCESS;
		EXPECT_EQ(status, has_fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (!has_succeeded)
			EXPECT_BAD(lock2(client->device, list[0], &pointer), "MM-LOCK-OFFERED",
				   "hAllocation");
		EXPECT(nth < 100);
	}
}

/* ---- what could be given back ---- */

static D3DKMT_QUERYPROCESSOFFERINFO offer_info(void)
{
	D3DKMT_QUERYPROCESSOFFERINFO args = { .cbSize = sizeof(args) };

	EXPECT_OK(D3DKMTQueryProcessOfferInfo(&args));
	return args;
}

static UINT64 give_back(UINT64 bytes, UINT flags)
{
	D3DKMT_TRIMPROCESSCOMMITMENT args = { .cbSize = sizeof(args), .DecommitRequested = bytes };

	args.Flags.Value = flags;
	EXPECT_OK(D3DKMTTrimProcessCommitment(&args));
	return args.NumBytesDecommitted;
}

/* Only what is in system memory has any commitment. */
static D3DKMT_HANDLE in_system_memory(const struct client *client, uint64_t seed)
{
	D3DKMT_HANDLE handle = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);

	fill(client, handle, MIB, seed);
	return handle;
}

TEST(commitment, of_what_is_offered_with_allow_decommit_can_be_given_back)
{
	struct client client = begin();
	D3DKMT_HANDLE list[] = { in_system_memory(&client, 1), in_system_memory(&client, 2) };
	D3DKMT_QUERYPROCESSOFFERINFO before = offer_info();

	EXPECT_EQ(before.DecommittableBytes, 0);
	EXPECT_OK(offer(&client, list, 1, 1, 0));
	EXPECT_EQ(offer_info().DecommittableBytes, 0);
	EXPECT_EQ(give_back(UINT64_MAX, 0), 0);
	EXPECT_OK(offer(&client, list + 1, 1, 1, ALLOW_DECOMMIT));
	D3DKMT_QUERYPROCESSOFFERINFO after = offer_info();
	EXPECT_EQ(after.DecommittableBytes, MIB);
	EXPECT(after.DecommitUniqueness != before.DecommitUniqueness);
	EXPECT_EQ(offer_info().DecommitUniqueness, after.DecommitUniqueness);
	EXPECT_OK(reclaim(&client, list + 1, 1, NULL));
	EXPECT_EQ(offer_info().DecommittableBytes, 0);
	EXPECT(offer_info().DecommitUniqueness != after.DecommitUniqueness);
	EXPECT_CONTENT(&client, list[1], MIB, 2);
}

/* What was offered before stays as it was offered then. */
CLIENT_TEST(offer, that_finds_no_memory_changes_no_offer_of_before, begin())
{
	bool has_succeeded = false;

	for (unsigned nth = 1; !has_succeeded; nth++) {
		D3DKMT_HANDLE list[] = { in_system_memory(client, 1), in_system_memory(client, 2) };
		EXPECT_OK(offer(client, list, 1, D3DKMT_OFFER_PRIORITY_HIGH, 0));
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = offer(client, list, 2, D3DKMT_OFFER_PRIORITY_LOW, ALLOW_DECOMMIT);
		bool has_fired = dxgk_test_fail_stop();
		has_succeeded = status == STATUS_SUCCESS;
		EXPECT_EQ(status, has_fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(offer_info().DecommittableBytes, has_succeeded ? 2 * MIB : 0);
		EXPECT_OK(destroy_list(client->device, list, 2));
		EXPECT(nth < 100);
	}
}

CLIENT_TEST(commitment, goes_by_the_lowest_priority_and_only_as_far_as_asked, begin())
{
	D3DKMT_HANDLE high = in_system_memory(client, 1);
	D3DKMT_HANDLE low = in_system_memory(client, 2);
	D3DDDI_RECLAIM_RESULT result;

	EXPECT_OK(offer(client, &high, 1, D3DKMT_OFFER_PRIORITY_HIGH, ALLOW_DECOMMIT));
	EXPECT_OK(offer(client, &low, 1, D3DKMT_OFFER_PRIORITY_LOW, ALLOW_DECOMMIT));
	EXPECT_EQ(give_back(0, 0), 0);
	EXPECT_EQ(give_back(1, 1), MIB);
	EXPECT_EQ(offer_info().DecommittableBytes, MIB);
	EXPECT_OK(reclaim(client, &high, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_OK);
	EXPECT_CONTENT(client, high, MIB, 1);
	EXPECT_OK(reclaim(client, &low, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
}

/* Resident there it holds its commitment as well; nothing has to be copied for it to go. */
CLIENT_TEST(commitment, of_what_is_resident_in_system_memory_is_given_back_too, begin())
{
	D3DKMT_HANDLE low = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	D3DKMT_HANDLE high = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	D3DDDI_RECLAIM_RESULT result;

	fill(client, low, MIB, 1);
	fill(client, high, MIB, 2);
	EXPECT_OK(make_resident(client, &low, 1, 0));
	EXPECT_OK(make_resident(client, &high, 1, 0));
	EXPECT_EQ(residency_status(client, low), IN_SHARED_MEMORY);
	EXPECT_OK(offer(client, &high, 1, D3DKMT_OFFER_PRIORITY_HIGH, ALLOW_DECOMMIT));
	EXPECT_OK(offer(client, &low, 1, D3DKMT_OFFER_PRIORITY_LOW, ALLOW_DECOMMIT));
	EXPECT_EQ(offer_info().DecommittableBytes, 2 * MIB);
	EXPECT_EQ(give_back(1, 0), MIB);
	EXPECT_EQ(offer_info().DecommittableBytes, MIB);
	/* No more than was asked for: the other one is where it was. */
	EXPECT_EQ(residency_status(client, high), IN_SHARED_MEMORY);
	EXPECT_OK(reclaim(client, &low, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT_OK(reclaim(client, &high, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_OK);
	EXPECT_CONTENT(client, high, MIB, 2);
}

TEST(commitment, only_of_what_was_repurposed_is_none)
{
	struct client client = begin();
	D3DKMT_HANDLE one = in_system_memory(&client, 1);

	EXPECT_OK(offer(&client, &one, 1, 1, ALLOW_DECOMMIT));
	EXPECT_EQ(give_back(UINT64_MAX, 2), 0);
	EXPECT_OK(reclaim(&client, &one, 1, NULL));
	EXPECT_CONTENT(&client, one, MIB, 1);
}

TEST(commitment, refuses_what_is_wrong)
{
	D3DKMT_QUERYPROCESSOFFERINFO info = { .cbSize = sizeof(info) };
	D3DKMT_TRIMPROCESSCOMMITMENT trim = { .cbSize = sizeof(trim) };

	info.cbSize--;
	EXPECT_BAD(D3DKMTQueryProcessOfferInfo(&info), "API-VALUE", "cbSize");
	info.cbSize = sizeof(info);
	info.hProcess = (HANDLE)(intptr_t)77;
	EXPECT_REFUSED(D3DKMTQueryProcessOfferInfo(&info), STATUS_INVALID_HANDLE, "API-HANDLE",
		       "hProcess");
	info.hProcess = (HANDLE)(intptr_t)-1;
	EXPECT_OK(D3DKMTQueryProcessOfferInfo(&info));
	trim.cbSize++;
	EXPECT_BAD(D3DKMTTrimProcessCommitment(&trim), "API-VALUE", "cbSize");
	trim.cbSize = sizeof(trim);
	trim.Flags.Value = 4;
	EXPECT_BAD(D3DKMTTrimProcessCommitment(&trim), "API-RESERVED", "Flags");
	trim.Flags.Value = 0;
	trim.hProcess = (HANDLE)(intptr_t)77;
	EXPECT_REFUSED(D3DKMTTrimProcessCommitment(&trim), STATUS_INVALID_HANDLE, "API-HANDLE",
		       "hProcess");
}

/* What was in it was destroyed: there is nothing to offer, and nothing wrong. */
CLIENT_TEST(resources, without_memory_are_offered_and_reclaimed_as_nothing, begin())
{
	struct creation creation;
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;
	BOOL is_discarded = TRUE;

	creation_init_resource(&creation, client->device, 1, SHARED_NOT);
	EXPECT_OK(create(&creation));
	EXPECT_OK(destroy_one(client->device, creation.elements[0].hAllocation));
	D3DKMT_HANDLE resource = creation.args.hResource;
	D3DKMT_OFFERALLOCATIONS given = { .hDevice = client->device,
					  .pResources = &resource,
					  .NumAllocations = 1,
					  .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	D3DKMT_RECLAIMALLOCATIONS back = { .hDevice = client->device,
					   .pResources = &resource,
					   .pDiscarded = &is_discarded,
					   .NumAllocations = 1 };
	D3DKMT_RECLAIMALLOCATIONS2 back2 = { .hPagingQueue = client->queue,
					     .pResources = &resource,
					     .NumAllocations = 1,
					     .pResults = &result };

	EXPECT_OK(D3DKMTOfferAllocations(&given));
	EXPECT_OK(D3DKMTReclaimAllocations(&back));
	EXPECT(!is_discarded);
	EXPECT_OK(D3DKMTReclaimAllocations2(&back2));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_OK);
}

API_TEST_MAIN("api/offer")
