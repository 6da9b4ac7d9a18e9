/* SPDX-License-Identifier: MIT */
/*
 * reclaim_test.c - the synchronous reclaim, and what both reclaims do when there is too little memory.
 */
#include "api/control.h"

enum { FAIL_COMMIT = 4 };         /* of the verifier's flags for a process */
enum { ALWAYS_DISCARD = 1 << 3 }; /* … for an adapter */
enum { PATIENCE = 100 };

static NTSTATUS reclaim_resources_now(const struct client *client, D3DKMT_HANDLE *resources,
				      unsigned count, BOOL *discarded)
{
	return D3DKMTReclaimAllocations(&(D3DKMT_RECLAIMALLOCATIONS){ .hDevice = client->device,
								      .pResources = resources,
								      .pDiscarded = discarded,
								      .NumAllocations = count });
}

static D3DKMT_HANDLE written(const struct client *client, uint64_t seed)
{
	D3DKMT_HANDLE handle = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);

	fill(client, handle, MIB, seed);
	return handle;
}

static D3DKMT_HANDLE resident_local(const struct client *client, uint64_t size_bytes)
{
	D3DKMT_HANDLE handle = create_sized(client, size_bytes, SOFTGPU_LOCAL_ONLY);

	EXPECT_OK(make_resident(client, &handle, 1, 0));
	return handle;
}

/* What is offered in GPU memory is dropped from there. */
static void evict_everything(const struct client *client)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	EXPECT_OK(vidmm(client, &args));
}

static UINT64 decommit(UINT64 bytes)
{
	D3DKMT_TRIMPROCESSCOMMITMENT args = { .cbSize = sizeof(args), .DecommitRequested = bytes };

	EXPECT_OK(D3DKMTTrimProcessCommitment(&args));
	return args.NumBytesDecommitted;
}

static bool is_offered(const struct client *client, D3DKMT_HANDLE handle)
{
	void *pointer;

	if (lock2(client->device, handle, &pointer) == STATUS_SUCCESS) {
		EXPECT_OK(unlock2(client->device, handle));
		return false;
	}
	EXPECT_STR(last_refusal().rule, "MM-LOCK-OFFERED");
	return true;
}

#define EXPECT_GONE(call) EXPECT_REFUSED(call, STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "")

/* ---- what is asked ---- */

TEST(reclaim_now, refuses_what_is_wrong)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DKMT_RECLAIMALLOCATIONS args = { .HandleList = &one, .NumAllocations = 1 };

	EXPECT_BAD(D3DKMTReclaimAllocations(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTReclaimAllocations(&args), "API-HANDLE", "hDevice");
	args.hDevice = client.queue;
	EXPECT_BAD(D3DKMTReclaimAllocations(&args), "API-HANDLE-KIND", "hDevice");
	EXPECT_BAD(reclaim_now(&client, NULL, 1, NULL), "API-NULL-ARGUMENT", "HandleList");
	EXPECT_BAD(reclaim_now(&client, &one, 0, NULL), "API-COUNT", "NumAllocations");
	EXPECT_BAD(reclaim_now(&client, &client.device, 1, NULL), "API-HANDLE", "HandleList");
	EXPECT_BAD(reclaim_resources_now(&client, &one, 1, NULL), "API-HANDLE", "pResources");
	args.hDevice = client.device;
	args.pResources = &one;
	EXPECT_BAD(D3DKMTReclaimAllocations(&args), "API-VALUE", "HandleList");
}

TEST(reclaim_now, is_of_the_device_that_created_them)
{
	struct client client = begin_uncontrolled();
	struct client other;
	D3DKMT_HANDLE one = create_one(client.device);

	client_open(&other, client.adapter);
	EXPECT_BAD(reclaim_now(&other, &one, 1, NULL), "API-HANDLE", "HandleList");
}

TEST(reclaim_now, of_a_list_with_one_bad_entry_changes_nothing)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { written(&client, 1), client.device };
	BOOL discarded[2] = { GARBAGE, GARBAGE };

	EXPECT_OK(offer(&client, list, 1, 1, 0));
	EXPECT_BAD(reclaim_now(&client, list, 2, discarded), "API-HANDLE", "HandleList");
	EXPECT(is_offered(&client, list[0]));
	EXPECT_EQ(discarded[0], GARBAGE);
}

/* ---- what comes back ---- */

CLIENT_TEST(reclaim_now, takes_offers_back_and_what_was_kept_is_there, begin_uncontrolled())
{
	D3DKMT_HANDLE list[] = { written(client, 1), written(client, 2) };
	BOOL discarded[3] = { GARBAGE, GARBAGE, GARBAGE };

	EXPECT_OK(offer(client, list, 2, 2, 0));
	EXPECT(is_offered(client, list[0]));
	EXPECT_OK(reclaim_now(client, list, 2, discarded));
	EXPECT_EQ(discarded[0], FALSE);
	EXPECT_EQ(discarded[1], FALSE);
	EXPECT_EQ(discarded[2], GARBAGE);
	EXPECT_CONTENT(client, list[0], MIB, 1);
	EXPECT_CONTENT(client, list[1], MIB, 2);
}

TEST(reclaim_now, of_what_was_not_offered_is_fine)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { written(&client, 1), resident_local(&client, MIB) };
	BOOL discarded[2] = { GARBAGE, GARBAGE };

	EXPECT_OK(reclaim_now(&client, list, 2, discarded));
	EXPECT_EQ(discarded[0], FALSE);
	EXPECT_EQ(discarded[1], FALSE);
	EXPECT_CONTENT(&client, list[0], MIB, 1);
}

TEST(reclaim_now, of_what_was_not_offered_and_comes_in_locked_is_fine)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { create_sized(&client, MIB,
					      SOFTGPU_LOCAL_ONLY | SOFTGPU_CPU_VISIBLE),
				 written(&client, 2) };
	D3DDDI_MAKERESIDENT args = residency_of(&client, list, 1, 0);
	BOOL discarded[2];
	void *pointer;

	EXPECT_OK(lock2(client.device, list[0], &pointer));
	NTSTATUS status = D3DKMTMakeResident(&args);
	EXPECT(NT_SUCCESS(status));
	EXPECT_OK(offer(&client, list + 1, 1, 1, 0));
	EXPECT_OK(reclaim_now(&client, list, 2, discarded));
	if (status == STATUS_PENDING)
		wait_for(&client, args.PagingFenceValue);
	EXPECT_EQ(residency_status(&client, list[0]), IN_GPU_MEMORY);
	EXPECT_OK(unlock2(client.device, list[0]));
}

TEST(reclaim_now, needs_no_answer)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { resident_local(&client, MIB), written(&client, 2) };

	EXPECT_OK(offer(&client, list, 2, 1, 0));
	evict_everything(&client);
	EXPECT_OK(reclaim_now(&client, list, 2, NULL));
	EXPECT_EQ(residency_status(&client, list[0]), IN_GPU_MEMORY);
	EXPECT(!is_offered(&client, list[1]));
}

TEST(reclaim_now, says_of_each_whether_it_was_thrown_away)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { written(&client, 1), resident_local(&client, MIB),
				 written(&client, 2) };
	BOOL discarded[3] = { GARBAGE, GARBAGE, GARBAGE };

	EXPECT_OK(offer(&client, list, 3, 1, 0));
	evict_everything(&client);
	EXPECT_OK(reclaim_now(&client, list, 3, discarded));
	EXPECT_EQ(discarded[0], FALSE);
	EXPECT_EQ(discarded[1], TRUE);
	EXPECT_EQ(discarded[2], FALSE);
	EXPECT_CONTENT(&client, list[0], MIB, 1);
	EXPECT_CONTENT(&client, list[2], MIB, 2);
}

TEST(reclaim_now, of_a_resource_says_whether_any_of_it_was_thrown_away)
{
	struct client client = begin_uncontrolled();
	struct creation creations[2];
	D3DKMT_HANDLE resources[2];
	BOOL discarded[3] = { GARBAGE, GARBAGE, GARBAGE };

	for (int i = 0; i < 2; i++) {
		creation_init_resource(&creations[i], client.device, 3, SHARED_NOT);
		EXPECT_OK(create(&creations[i]));
		resources[i] = creations[i].args.hResource;
		for (int j = 0; j < 3; j++) {
			D3DKMT_HANDLE part = creations[i].elements[j].hAllocation;

			fill(&client, part, SOME_BYTES, 10);
			EXPECT_OK(
				offer(&client, &part, 1, 1, i == 1 && j == 1 ? ALLOW_DECOMMIT : 0));
		}
	}
	EXPECT(decommit(UINT64_MAX) > 0);
	EXPECT_OK(reclaim_resources_now(&client, resources, 2, discarded));
	EXPECT_EQ(discarded[0], FALSE);
	EXPECT_EQ(discarded[1], TRUE);
	EXPECT_EQ(discarded[2], GARBAGE);
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 3; j++) {
			D3DKMT_HANDLE part = creations[i].elements[j].hAllocation;

			EXPECT(!is_offered(&client, part));
			if (i != 1 || j != 1)
				EXPECT_CONTENT(&client, part, SOME_BYTES, 10);
		}
	}
}

/* ---- residency ---- */

CLIENT_TEST(reclaim_now, returns_when_what_is_on_the_list_is_back, begin_uncontrolled())
{
	for (int i = 0; i < 20; i++) {
		D3DKMT_HANDLE list[] = { resident_local(client, MIB),
					 resident_local(client, 2 * MIB) };
		BOOL discarded[2];

		EXPECT_OK(offer(client, list, 2, 1, 0));
		evict_everything(client);
		EXPECT_EQ(residency_status(client, list[0]), NOT_RESIDENT);
		EXPECT_OK(reclaim_now(client, list, 2, discarded));
		EXPECT_EQ(residency_status(client, list[0]), IN_GPU_MEMORY);
		EXPECT_EQ(residency_status(client, list[1]), IN_GPU_MEMORY);
		EXPECT_OK(destroy_now(client, list[0]));
		EXPECT_OK(destroy_now(client, list[1]));
	}
}

TEST(reclaim_now, brings_nothing_in_that_is_not_on_the_list)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident_local(&client, MIB);
	BOOL discarded = GARBAGE;

	EXPECT_OK(offer(&client, &one, 1, 1, 0));
	EXPECT_OK(evict(&client, &one, 1, ONLY_IF_NECESSARY));
	evict_everything(&client);
	EXPECT_OK(reclaim_now(&client, &one, 1, &discarded));
	EXPECT_EQ(discarded, TRUE);
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
}

TEST(reclaim_now, leaves_the_count_on_the_list_as_it_is)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident_local(&client, MIB);

	EXPECT_OK(offer(&client, &one, 1, 1, 0));
	EXPECT_OK(reclaim_now(&client, &one, 1, NULL));
	EXPECT_OK(evict(&client, &one, 1, 0));
	EXPECT_BAD(evict(&client, &one, 1, 0), "MM-EVICT-COUNT", "AllocationList");
}

CLIENT_TEST(reclaim_now, may_be_locked_at_return, begin_uncontrolled())
{
	D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);

	for (int i = 0; i < 20; i++) {
		fill(client, one, MIB, 3);
		EXPECT_OK(make_resident(client, &one, 1, 0));
		EXPECT_OK(offer(client, &one, 1, 1, 0));
		if (i % 2 == 0)
			evict_everything(client);
		EXPECT_OK(reclaim_now(client, &one, 1, NULL));
		EXPECT(!is_offered(client, one));
		EXPECT_OK(evict(client, &one, 1, 0));
	}
}

TEST(reclaim_now, goes_beyond_the_budget)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { resident_local(&client, 2 * MIB), 0 };

	EXPECT_OK(offer(&client, list, 1, 1, 0));
	evict_everything(&client);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	EXPECT_OK(reclaim_now(&client, list, 1, NULL));
	EXPECT_EQ(residency_status(&client, list[0]), IN_GPU_MEMORY);
	EXPECT(memory_info(&client, 0).CurrentUsage > memory_info(&client, 0).Budget);
	EXPECT_EQ(execution_state(client.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
}

/* ---- commitment ---- */

CLIENT_TEST(reclaim_now, has_memory_again_for_what_was_decommitted, begin_uncontrolled())
{
	D3DKMT_HANDLE one = written(client, 1);
	BOOL discarded = GARBAGE;

	EXPECT_OK(offer(client, &one, 1, 1, ALLOW_DECOMMIT));
	EXPECT_EQ(decommit(UINT64_MAX), MIB);
	EXPECT_OK(reclaim_now(client, &one, 1, &discarded));
	EXPECT_EQ(discarded, TRUE);
	fill(client, one, MIB, 2);
	EXPECT_CONTENT(client, one, MIB, 2);
}

TEST(reclaim_now, without_memory_for_one_changes_nothing)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { written(&client, 1), resident_local(&client, MIB),
				 written(&client, 2) };
	BOOL discarded[3] = { GARBAGE, GARBAGE, GARBAGE };

	EXPECT_OK(offer(&client, list, 2, 1, 0));
	EXPECT_OK(offer(&client, list + 2, 1, 1, ALLOW_DECOMMIT));
	EXPECT_EQ(decommit(UINT64_MAX), MIB);
	evict_everything(&client);
	EXPECT_OK(set_process(&client, FAIL_COMMIT));
	EXPECT_REFUSED(reclaim_now(&client, list, 3, discarded), STATUS_NO_MEMORY, "MM-NO-PAGES",
		       "");
	EXPECT_EQ(discarded[0], GARBAGE);
	EXPECT_EQ(residency_status(&client, list[1]), NOT_RESIDENT);
	EXPECT(is_offered(&client, list[0]));
	EXPECT(is_offered(&client, list[2]));
	EXPECT_EQ(execution_state(client.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	expect_valid();
	EXPECT_OK(set_process(&client, 0));
	EXPECT_OK(reclaim_now(&client, list, 3, discarded));
	EXPECT_EQ(discarded[0], FALSE);
	EXPECT_EQ(discarded[1], TRUE);
	EXPECT_EQ(discarded[2], TRUE);
	EXPECT_CONTENT(&client, list[0], MIB, 1);
	EXPECT_EQ(residency_status(&client, list[1]), IN_GPU_MEMORY);
}

TEST(reclaim_now, changes_nothing_when_there_is_no_memory)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { written(&client, 1), resident_local(&client, MIB),
				 written(&client, 2) };
	bool has_succeeded = false;
	unsigned failed = 0;

	for (unsigned nth = 1; !has_succeeded; nth++) {
		BOOL discarded[3] = { GARBAGE, GARBAGE, GARBAGE };

		EXPECT(nth < PATIENCE);
		EXPECT_OK(offer(&client, list, 2, 1, 0));
		EXPECT_OK(offer(&client, list + 2, 1, 1, ALLOW_DECOMMIT));
		(void)decommit(UINT64_MAX);
		flush(&client);
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = reclaim_now(&client, list, 3, discarded);
		bool has_fired = dxgk_test_fail_stop();
		has_succeeded = status == STATUS_SUCCESS;
		if (!has_succeeded) {
			EXPECT(has_fired);
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT_EQ(discarded[0], GARBAGE);
			EXPECT(is_offered(&client, list[0]));
			EXPECT(is_offered(&client, list[2]));
			failed++;
		}
		EXPECT_EQ(execution_state(client.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
		expect_valid();
	}
	EXPECT(failed > 0);
	EXPECT_CONTENT(&client, list[0], MIB, 1);
}

/* ---- devices that are gone, or go ---- */

TEST(reclaim_now, says_that_the_device_is_gone)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = written(&client, 1);
	D3DKMT_MARKDEVICEASERROR mark = { client.device, D3DKMT_DEVICE_ERROR_REASON_GENERIC };

	EXPECT_OK(offer(&client, &one, 1, 1, 0));
	EXPECT_OK(D3DKMTMarkDeviceAsError(&mark));
	EXPECT_GONE(reclaim_now(&client, &one, 1, NULL));
}

TEST(reclaim, with_always_discard_loses_what_was_never_in_gpu_memory)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = create_sized(&client, MIB, SOFTGPU_CPU_VISIBLE);
	D3DDDI_RECLAIM_RESULT result;

	fill(&client, one, MIB, 9);
	EXPECT_OK(set_adapter(&client, ALWAYS_DISCARD));
	EXPECT_OK(offer(&client, &one, 1, D3DKMT_OFFER_PRIORITY_HIGH, 0));
	EXPECT_OK(reclaim(&client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT_EQ(first_difference(&client, one, MIB, 9), 0);
}

/* Both on the list, and no room for both: the second came while the first was offered. */
static void list_more_than_fits(const struct client *client, D3DKMT_HANDLE list[2])
{
	list[0] = resident_local(client, 6 * MIB);
	EXPECT_OK(offer(client, list, 1, 1, 0));
	list[1] = resident_local(client, 6 * MIB);
	EXPECT_EQ(residency_status(client, list[0]), NOT_RESIDENT);
}

/* Nothing has changed, and there is a way on. */
static void expect_still_offered(const struct client *client, const D3DKMT_HANDLE list[2])
{
	EXPECT_EQ(execution_state(client->device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT(is_offered(client, list[0]));
	EXPECT_EQ(residency_status(client, list[1]), IN_GPU_MEMORY);
	EXPECT_EQ(memory_info(client, 0).CurrentUsage, 6 * MIB);
	EXPECT_OK(evict(client, list + 1, 1, 0));
	EXPECT_OK(reclaim(client, list, 1, NULL));
	EXPECT_EQ(residency_status(client, list[0]), IN_GPU_MEMORY);
	EXPECT_EQ(execution_state(client->device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	expect_valid();
}

TEST(reclaim_now, of_more_than_fits_is_refused_in_time)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[2];
	BOOL discarded = GARBAGE;

	list_more_than_fits(&client, list);
	EXPECT_REFUSED(reclaim_now(&client, list, 1, &discarded), STATUS_NO_MEMORY, "MM-BUDGET",
		       "");
	EXPECT_EQ(discarded, GARBAGE);
	expect_still_offered(&client, list);
}

TEST(reclaim, of_more_than_fits_is_refused_in_time)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[2];
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;

	list_more_than_fits(&client, list);
	EXPECT_REFUSED(reclaim(&client, list, 1, &result), STATUS_NO_MEMORY, "MM-BUDGET", "");
	EXPECT_EQ(result, (D3DDDI_RECLAIM_RESULT)GARBAGE);
	expect_still_offered(&client, list);
}

/* Two devices that do not fit together take turns: that is more than there is, and works. */
TEST(reclaim, of_more_than_fits_beside_another_device_works)
{
	struct client client = begin_uncontrolled();
	struct client other;
	D3DKMT_HANDLE one = resident_local(&client, 6 * MIB);

	EXPECT_OK(offer(&client, &one, 1, 1, 0));
	client_open(&other, client.adapter);
	(void)resident_local(&other, 6 * MIB);
	EXPECT_OK(reclaim(&client, &one, 1, NULL));
	EXPECT_EQ(execution_state(client.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT_EQ(execution_state(other.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	expect_valid();
}

/* Who makes room in time keeps the device: what is evicted meanwhile is not on the list any more. */
TEST(reclaim_now, of_as_much_as_fits_once_the_rest_is_evicted)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[2];

	list_more_than_fits(&client, list);
	EXPECT_OK(evict(&client, list + 1, 1, 0));
	EXPECT_OK(reclaim_now(&client, list, 1, NULL));
	EXPECT_EQ(residency_status(&client, list[0]), IN_GPU_MEMORY);
	EXPECT_EQ(execution_state(client.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
}

API_TEST_MAIN("api/reclaim")
