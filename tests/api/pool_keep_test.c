/* SPDX-License-Identifier: MIT */
/*
 * pool_keep_test.c - tile pools that queued updates of GPU addresses refer to: they stay in the
 * residency requirement until the update was executed, whatever the client evicts, and need not be
 * resident for it. The GPU memory is small (small.json).
 */
#include "api/soft_work.h"

#define ZEROES     UINT64_C(0x100000000)
#define POOL_BYTES ((uint64_t)6 * MIB)

enum { LOCAL = SOFTGPU_LOCAL_ONLY };

/* A client whose updates are ordered by a fence that the test signals. */
struct tiled {
	struct client client;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	const volatile UINT64 *value;
	D3DKMT_HANDLE pool;
};

static void tiled_begin(struct tiled *tiled)
{
	tiled->client = begin();
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = tiled->client.device };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = tiled->client.device,
						      .Info.Type = D3DDDI_MONITORED_FENCE };
	D3DDDI_RESERVEGPUVIRTUALADDRESS zeroes = { .hAdapter = tiled->client.adapter,
						   .BaseAddress = ZEROES,
						   .Size = POOL_BYTES,
						   .ReservationType =
							   D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };

	EXPECT_OK(D3DKMTCreateContextVirtual(&context));
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&fence));
	EXPECT_OK(D3DKMTReserveGpuVirtualAddress(&zeroes));
	tiled->context = context.hContext;
	tiled->fence = fence.hSyncObject;
	tiled->value = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	tiled->pool = create_sized(&tiled->client, POOL_BYTES, LOCAL);
}

static void queue_update(const struct tiled *tiled, UINT64 value)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = ZEROES,
			 .SizeInBytes = POOL_BYTES,
			 .hAllocation = tiled->pool }
	};
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = tiled->client.device,
						.hContext = tiled->context,
						.hFenceObject = tiled->fence,
						.NumOperations = 1,
						.Operations = &operation,
						.FenceValue = value };

	EXPECT_OK(D3DKMTUpdateGpuVirtualAddress(&args));
}

/* The fence gets there, and the update behind it is executed. */
static void execute(const struct tiled *tiled, UINT64 value)
{
	UINT64 next = value + 1;

	EXPECT_OK(signal_value(tiled->client.device, tiled->fence, value));
	EXPECT_OK(wait_value(tiled->client.device, tiled->fence, next));
}

static unsigned where(const struct tiled *tiled)
{
	flush(&tiled->client);
	return residency_status(&tiled->client, tiled->pool);
}

static void make_pool_resident(const struct tiled *tiled)
{
	EXPECT_OK(make_resident(&tiled->client, &tiled->pool, 1, 0));
	EXPECT_EQ(where(tiled), IN_GPU_MEMORY);
}

static NTSTATUS evict_pool(const struct tiled *tiled)
{
	return evict(&tiled->client, &tiled->pool, 1, 0);
}

TEST(pool, stays_resident_when_it_is_evicted_until_the_update_is_executed)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	EXPECT_EQ(where(&tiled), IN_GPU_MEMORY);
	expect_valid();
	execute(&tiled, 5);
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
	expect_valid();
}

TEST(pool, goes_at_once_when_no_update_is_queued)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	execute(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
}

TEST(pool, stays_until_the_last_of_several_updates_is_executed)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	queue_update(&tiled, 7);
	EXPECT_OK(evict_pool(&tiled));
	execute(&tiled, 5);
	EXPECT_EQ(where(&tiled), IN_GPU_MEMORY);
	execute(&tiled, 7);
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
}

/* It need not be resident at submission or at execution. */
TEST(pool, that_nobody_asked_for_does_not_come_in_for_an_update)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	queue_update(&tiled, 5);
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
	execute(&tiled, 5);
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
	expect_valid();
}

TEST(pool, that_is_asked_for_behind_the_update_is_kept_as_well)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	queue_update(&tiled, 5);
	make_pool_resident(&tiled);
	EXPECT_OK(evict_pool(&tiled));
	EXPECT_EQ(where(&tiled), IN_GPU_MEMORY);
	execute(&tiled, 5);
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
}

TEST(pool, that_is_asked_for_again_stays_behind_the_update)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	make_pool_resident(&tiled);
	execute(&tiled, 5);
	EXPECT_EQ(where(&tiled), IN_GPU_MEMORY);
	EXPECT_OK(evict_pool(&tiled));
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
	expect_valid();
}

/* What is kept for the update is not the client's any more: not in its count, nor in its usage. */
TEST(pool, that_is_kept_counts_for_nobody)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	UINT64 before = memory_info(&tiled.client, 0).CurrentUsage;
	queue_update(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	EXPECT_EQ(memory_info(&tiled.client, 0).CurrentUsage, before - POOL_BYTES);
	EXPECT_BAD(evict_pool(&tiled), "MM-EVICT-COUNT", "AllocationList");
	execute(&tiled, 5);
	EXPECT_EQ(memory_info(&tiled.client, 0).CurrentUsage, before - POOL_BYTES);
}

/* In the requirement is not pinned in place: an update that never gets its turn starves nobody. */
TEST(pool, that_is_kept_makes_room_for_others_who_need_it)
{
	struct tiled tiled;
	struct client other;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	client_open(&other, tiled.client.adapter);
	D3DKMT_HANDLE rival = create_sized(&other, POOL_BYTES, LOCAL);
	EXPECT_OK(make_resident(&other, &rival, 1, 0));
	EXPECT_EQ(residency_status(&other, rival), IN_GPU_MEMORY);
	execute(&tiled, 5);
	EXPECT_EQ(where(&tiled), NOT_RESIDENT);
	expect_valid();
}

TEST(pool, that_is_destroyed_is_not_kept)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	EXPECT_OK(destroy_now(&tiled.client, tiled.pool));
	D3DKMT_HANDLE heir = create_sized(&tiled.client, POOL_BYTES, LOCAL);
	EXPECT_OK(make_resident(&tiled.client, &heir, 1, 0));
	execute(&tiled, 5); /* dropped, and so over */
	expect_valid();
}

TEST(pool, of_a_device_that_ends_goes_with_its_updates)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	EXPECT_OK(destroy_device(tiled.client.device));
	expect_valid();
}

TEST(pool, of_a_process_that_ends_goes_with_its_updates)
{
	struct tiled tiled;

	tiled_begin(&tiled);
	make_pool_resident(&tiled);
	queue_update(&tiled, 5);
	EXPECT_OK(evict_pool(&tiled));
	tiled.client = begin();
	expect_valid();
}

API_TEST_MAIN("api/pool_keep")
