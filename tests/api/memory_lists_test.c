/* SPDX-License-Identifier: MIT */
/*
 * memory_lists_test.c - calls with lists that are too long for the room a call has, each block of
 * memory that they take failing in turn.
 *
 * A call that could not get its memory says STATUS_NO_MEMORY and why, has changed nothing, and works
 * the next time. What can be undone without memory is undone.
 */
#include "api/residency.h"

enum { MANY = 300, GROUPS = 120, BLOCKS_MOST = 3000 };

static struct client client;
static D3DKMT_HANDLE handles[MANY];  /* in no resource */
static D3DKMT_HANDLE groups[GROUPS]; /* resources, of two allocations each */
static D3DKMT_HANDLE fences[MANY];
static D3DKMT_HANDLE shared_fence;

/* ---- making many at once ---- */

static D3DDDI_ALLOCATIONINFO2 elements[MANY];
static struct softgpu_allocation data[MANY];
static unsigned char runtime_data[8192];
static D3DKMT_CREATEALLOCATION made; /* by the last call */

static NTSTATUS create_many(unsigned count, bool is_resource, bool is_shared, bool is_nt)
{
	made = (D3DKMT_CREATEALLOCATION){ .hDevice = client.device,
					  .NumAllocations = count,
					  .pAllocationInfo2 = elements };
	memset(elements, 0, sizeof(elements));
	for (unsigned i = 0; i < count; i++) {
		data[i] = (struct softgpu_allocation){ SOFTGPU_ALLOCATION_VERSION,
						       SOFTGPU_CPU_VISIBLE, 4 * KIB, 0 };
		elements[i].pPrivateDriverData = &data[i];
		elements[i].PrivateDriverDataSize = sizeof(data[i]);
	}
	made.Flags.CreateResource = is_resource;
	made.Flags.CreateShared = is_shared;
	made.Flags.NtSecuritySharing = is_nt;
	if (is_resource) {
		made.pPrivateRuntimeData = runtime_data;
		made.PrivateRuntimeDataSize = sizeof(runtime_data);
	}
	return D3DKMTCreateAllocation2(&made);
}

static NTSTATUS destroy_many(const D3DKMT_HANDLE *list, unsigned count)
{
	return D3DKMTDestroyAllocation2(
		&(D3DKMT_DESTROYALLOCATION2){ .hDevice = client.device,
					      .phAllocationList = list,
					      .AllocationCount = count,
					      .Flags.SynchronousDestroy = 1 });
}

static NTSTATUS destroy_group(D3DKMT_HANDLE device, D3DKMT_HANDLE resource)
{
	return D3DKMTDestroyAllocation2(&(D3DKMT_DESTROYALLOCATION2){
		.hDevice = device, .hResource = resource, .Flags.SynchronousDestroy = 1 });
}

static D3DKMT_HANDLE make_fence(bool is_shared)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = monitored_fence(client.device, is_shared);

	return args.hSyncObject;
}

static void begin_all(void)
{
	client = begin();
	EXPECT_OK(create_many(MANY, false, false, false));
	for (unsigned i = 0; i < MANY; i++) {
		handles[i] = elements[i].hAllocation;
		fences[i] = make_fence(false);
	}
	for (unsigned i = 0; i < GROUPS; i++) {
		EXPECT_OK(create_many(2, true, false, false));
		groups[i] = made.hResource;
	}
	shared_fence = make_fence(true);
}

/* ---- the sweep ---- */

struct attempt {
	NTSTATUS (*make)(void);
	NTSTATUS (*undo)(void); /* NULL: there is nothing to undo */
};

static void try_once(const struct attempt *attempt, unsigned nth, bool *has_fired)
{
	unsigned long long refusals = last_refusal().sequence;

	dxgk_test_fail_nth_allocation(nth);
	NTSTATUS status = attempt->make();
	*has_fired = dxgk_test_fail_stop();
	if (status != STATUS_SUCCESS) {
		struct dxgk_refusal why = last_refusal();

		EXPECT_EQ(status, STATUS_NO_MEMORY);
		EXPECT(*has_fired);
		EXPECT(why.sequence > refusals && why.reason[0] != '\0');
		EXPECT(strcmp(why.rule, "API-NO-MEMORY") == 0 ||
		       strcmp(why.rule, "MM-NO-PAGES") == 0 ||
		       strcmp(why.rule, "DDI-STATUS") == 0); /* the driver had none */
	} else if (attempt->undo) {
		EXPECT_OK(attempt->undo());
	}
}

static void sweep(const struct attempt *attempt)
{
	bool has_fired = true;
	long long blocks;
	unsigned nth;

	begin_all();
	/* What is made once and kept is there before the counting starts. */
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_OK(attempt->make());
		if (attempt->undo)
			EXPECT_OK(attempt->undo());
	}
	blocks = dxgk_test_memory().blocks;
	for (nth = 1; has_fired; nth++) {
		EXPECT(nth < BLOCKS_MOST);
		try_once(attempt, nth, &has_fired);
	}
	EXPECT(nth > 2); /* it takes memory */
	/* Handles are not used again soon: their table may have grown, once. */
	EXPECT(dxgk_test_memory().blocks <= blocks + 2);
	expect_valid();
}

#define SWEEP(suite, claim, ...)                                                                   \
	TEST(suite, claim)                                                                         \
	{                                                                                          \
		sweep(&(struct attempt){ __VA_ARGS__ });                                           \
	}

/* ---- create and destroy ---- */

static NTSTATUS create_list(void)
{
	return create_many(MANY, false, false, false);
}

static NTSTATUS destroy_created(void)
{
	D3DKMT_HANDLE list[MANY];

	for (unsigned i = 0; i < MANY; i++)
		list[i] = elements[i].hAllocation;
	return destroy_many(list, MANY);
}

static NTSTATUS create_resource(void)
{
	return create_many(40, true, false, false);
}

static NTSTATUS create_shared_resource(void)
{
	return create_many(40, true, true, false);
}

static NTSTATUS destroy_resource_made(void)
{
	return destroy_group(client.device, made.hResource);
}

SWEEP(create, a_long_list, create_list, destroy_created)
SWEEP(create, a_resource_with_data, create_resource, destroy_resource_made)
SWEEP(create, a_shared_resource_with_data, create_shared_resource, destroy_resource_made)

/* Destroying asks for nothing: what is released is needed to release it. */
TEST(destroy, of_a_long_list_needs_no_memory_or_changes_nothing)
{
	begin_all();
	for (unsigned nth = 1; nth < 10; nth++) {
		EXPECT_OK(create_many(MANY, false, false, false));
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = destroy_created();
		dxgk_test_fail_stop();
		if (status != STATUS_SUCCESS) {
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT_OK(destroy_created());
		}
	}
	expect_valid();
}

TEST(destroy, of_a_large_resource_succeeds_without_memory)
{
	begin_all();
	for (unsigned nth = 1; nth < 10; nth++) {
		EXPECT_OK(create_many(MANY, true, false, false));
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = destroy_resource_made();
		dxgk_test_fail_stop();
		EXPECT_OK(status);
	}
	expect_valid();
}

/* ---- offer and reclaim ---- */

static NTSTATUS offer_list(void)
{
	return offer(&client, handles, MANY, D3DKMT_OFFER_PRIORITY_LOW, 0);
}

static NTSTATUS reclaim_list(void)
{
	D3DDDI_RECLAIM_RESULT results[MANY];

	return reclaim(&client, handles, MANY, results);
}

static NTSTATUS reclaim_list_old(void)
{
	BOOL discarded[MANY];

	return reclaim_now(&client, handles, MANY, discarded);
}

static NTSTATUS offer_resources(void)
{
	return D3DKMTOfferAllocations(
		&(D3DKMT_OFFERALLOCATIONS){ .hDevice = client.device,
					    .pResources = groups,
					    .NumAllocations = GROUPS,
					    .Priority = D3DKMT_OFFER_PRIORITY_NORMAL });
}

static NTSTATUS reclaim_resources(void)
{
	D3DDDI_RECLAIM_RESULT results[GROUPS];
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = client.queue,
					    .NumAllocations = GROUPS,
					    .pResources = groups,
					    .pResults = results };
	NTSTATUS status = D3DKMTReclaimAllocations2(&args);

	if (status == STATUS_PENDING) {
		wait_for(&client, args.PagingFenceValue);
		status = STATUS_SUCCESS;
	}
	return status;
}

SWEEP(offer, of_a_long_list, offer_list, reclaim_list)
SWEEP(offer, of_many_resources, offer_resources, reclaim_resources)
SWEEP(reclaim, of_a_long_list, reclaim_list, offer_list)
SWEEP(reclaim, of_a_long_list_by_the_older_call, reclaim_list_old, offer_list)
SWEEP(reclaim, of_many_resources, reclaim_resources, offer_resources)

/* ---- sharing ---- */

static D3DKMT_HANDLE opened;
static HANDLE nt_handle;

static NTSTATUS open_shared(void)
{
	static D3DDDI_OPENALLOCATIONINFO2 found[40];
	static struct softgpu_allocation total[40];
	static unsigned char runtime[sizeof(runtime_data)];
	D3DKMT_OPENRESOURCE args = { .hDevice = client.device,
				     .hGlobalShare = made.hGlobalShare,
				     .NumAllocations = 40,
				     .pOpenAllocationInfo2 = found,
				     .pPrivateRuntimeData = runtime,
				     .PrivateRuntimeDataSize = sizeof(runtime),
				     .pTotalPrivateDriverDataBuffer = total,
				     .TotalPrivateDriverDataBufferSize = sizeof(total) };
	NTSTATUS status = D3DKMTOpenResource2(&args);

	opened = args.hResource;
	return status;
}

static NTSTATUS destroy_opened(void)
{
	return destroy_group(client.device, opened);
}

static NTSTATUS make_then_open(void)
{
	static D3DKMT_HANDLE of; /* the process it was made in */

	if (of != client.device) {
		of = client.device;
		EXPECT_OK(create_shared_resource());
	}
	return open_shared();
}

static NTSTATUS share_fence(void)
{
	return D3DKMTShareObjects(1, &shared_fence, NULL, 0x1fffff, &nt_handle);
}

/* The next call that has to do with sharing gives the references back. */
static NTSTATUS close_handle(void)
{
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 args = { .hNtHandle = nt_handle,
						    .hDevice = client.device };

	close((int)(intptr_t)nt_handle);
	EXPECT(D3DKMTOpenSyncObjectFromNtHandle2(&args) != STATUS_SUCCESS);
	return STATUS_SUCCESS;
}

SWEEP(open, a_shared_resource, make_then_open, destroy_opened)
SWEEP(share, a_fence, share_fence, close_handle)

/* ---- residency, priorities, questions ---- */

static UINT64 resident_at;

static NTSTATUS make_all_resident(void)
{
	D3DDDI_MAKERESIDENT args = residency_of(&client, handles, MANY, 0);
	NTSTATUS status = D3DKMTMakeResident(&args);

	resident_at = status == STATUS_PENDING ? args.PagingFenceValue : 0;
	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

static NTSTATUS wait_and_evict_all(void)
{
	if (resident_at != 0)
		wait_for(&client, resident_at);
	NTSTATUS status = evict(&client, handles, MANY, 0);
	flush(&client);
	return status;
}

static NTSTATUS set_priorities(void)
{
	UINT priorities[MANY];
	D3DKMT_SETALLOCATIONPRIORITY args = { .hDevice = client.device,
					      .phAllocationList = handles,
					      .AllocationCount = MANY,
					      .pPriorities = priorities };

	for (unsigned i = 0; i < MANY; i++)
		priorities[i] = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
	return D3DKMTSetAllocationPriority(&args);
}

static NTSTATUS get_priorities(void)
{
	UINT priorities[MANY];
	return D3DKMTGetAllocationPriority(
		&(D3DKMT_GETALLOCATIONPRIORITY){ .hDevice = client.device,
						 .phAllocationList = handles,
						 .AllocationCount = MANY,
						 .pPriorities = priorities });
}

static NTSTATUS ask_residency(void)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS states[MANY];
	return D3DKMTQueryAllocationResidency(
		&(D3DKMT_QUERYALLOCATIONRESIDENCY){ .hDevice = client.device,
						    .phAllocationList = handles,
						    .AllocationCount = MANY,
						    .pResidencyStatus = states });
}

SWEEP(make_resident, a_long_list, make_all_resident, wait_and_evict_all)
SWEEP(priority, of_a_long_list_is_set, set_priorities)
SWEEP(priority, of_a_long_list_is_told, get_priorities)
SWEEP(residency, of_a_long_list_is_told, ask_residency)

/* ---- fences ---- */

static NTSTATUS signal_all(void)
{
	static UINT64 value;
	UINT64 values[MANY];
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = client.device,
							   .ObjectCount = MANY,
							   .ObjectHandleArray = fences,
							   .FenceValueArray = values };

	value++;
	for (unsigned i = 0; i < MANY; i++)
		values[i] = value;
	return D3DKMTSignalSynchronizationObjectFromCpu(&args);
}

static NTSTATUS wait_for_all(void)
{
	UINT64 values[MANY] = { 0 };
	return D3DKMTWaitForSynchronizationObjectFromCpu(
		&(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){ .hDevice = client.device,
							       .ObjectCount = MANY,
							       .ObjectHandleArray = fences,
							       .FenceValueArray = values });
}

SWEEP(fences, many_are_signaled, signal_all)
SWEEP(fences, many_are_waited_for, wait_for_all)

API_TEST_MAIN("api/memory_lists")
