/* SPDX-License-Identifier: MIT */
/*
 * destroyed_memory_test.c - what a client has destroyed is not held against it: it has no handle left
 * with which it could evict it.
 */
#include "api/soft_work.h"

enum { NOT_IN_USE = 1, SYNCHRONOUS = 2 }; /* of D3DDDICB_DESTROYALLOCATION2FLAGS */

struct owner {
	struct worker worker;
	uint64_t
		most_bytes; /* what fits beside the worker's own memory, in pages, and hardly more */
	D3DKMT_HANDLE gate; /* a fence that nobody but the test signals */
};

static struct owner owner_begin(void)
{
	struct owner owner;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };

	D3DKMTCloseDxCoreDevice();
	worker_open(&owner.worker, open_first_adapter());
	fence.hDevice = owner.worker.client.device;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&fence));
	owner.gate = fence.hSyncObject;
	D3DKMT_QUERYVIDEOMEMORYINFO info = memory_info(&owner.worker.client, 0);
	owner.most_bytes = (info.Budget - info.CurrentUsage) * 9 / 10 / PAGE * PAGE;
	return owner;
}

static void owner_end(struct owner *owner)
{
	EXPECT_EQ(state_of(&owner->worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&owner->worker);
	expect_valid();
}

static uint64_t usage(const struct owner *owner)
{
	return memory_info(&owner->worker.client, 0).CurrentUsage;
}

static D3DKMT_HANDLE resident(const struct owner *owner, uint64_t size_bytes, unsigned flags)
{
	D3DKMT_HANDLE memory =
		create_sized(&owner->worker.client, size_bytes, SOFTGPU_LOCAL_ONLY | flags);

	EXPECT_OK(make_resident(&owner->worker.client, &memory, 1, CANT_TRIM | MUST_SUCCEED));
	return memory;
}

static NTSTATUS destroy_with(const struct owner *owner, D3DKMT_HANDLE memory, unsigned flags)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = owner->worker.client.device,
					   .phAllocationList = &memory,
					   .AllocationCount = 1 };

	args.Flags.Value = flags;
	return D3DKMTDestroyAllocation2(&args);
}

/* Two allocations of a resource, both resident. */
static D3DKMT_HANDLE resident_resource(const struct owner *owner, uint64_t size_bytes,
				       D3DKMT_HANDLE handles[2])
{
	struct creation creation;

	creation_init_resource(&creation, owner->worker.client.device, 2, SHARED_NOT);
	for (int i = 0; i < 2; i++) {
		creation.data[i].size_bytes = size_bytes;
		creation.data[i].flags = SOFTGPU_LOCAL_ONLY;
	}
	EXPECT_OK(create(&creation));
	for (int i = 0; i < 2; i++)
		handles[i] = creation.elements[i].hAllocation;
	EXPECT_OK(make_resident(&owner->worker.client, handles, 2, 0));
	return creation.args.hResource;
}

static NTSTATUS destroy_resource_with(const struct owner *owner, D3DKMT_HANDLE resource,
				      unsigned flags)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = owner->worker.client.device,
					   .hResource = resource };

	args.Flags.Value = flags;
	return D3DKMTDestroyAllocation2(&args);
}

/* ---- work that stays queued until the gate opens ---- */

static void queue_work(struct owner *owner)
{
	UINT64 value = 1;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = { .hContext = owner->worker.context,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &owner->gate,
							    .MonitoredFenceValueArray = &value };
	struct row row = { 0 };

	EXPECT_OK(D3DKMTWaitForSynchronizationObjectFromGpu(&wait));
	add_write(&row, owner->worker.data, 7);
	worker_run(&owner->worker, &row);
}

static void open_gate(const struct owner *owner)
{
	UINT64 value = 1;

	EXPECT_OK(signal_value(owner->worker.client.device, owner->gate, value));
}

#define OWNER_TEST(suite, claim, ...)                                                              \
	TEST_MADE(owner, owner, (__VA_ARGS__), owner_end(&owner), suite, claim)

/* ---- usage ---- */

OWNER_TEST(usage, falls_with_the_call_whatever_its_flags, owner_begin())
{
	uint64_t before = usage(owner);

	for (unsigned flags = 0; flags <= (NOT_IN_USE | SYNCHRONOUS); flags++) {
		for (int round = 0; round < 20; round++) {
			D3DKMT_HANDLE memory = resident(owner, MIB, 0);
			EXPECT_EQ(usage(owner), before + MIB);
			EXPECT_OK(destroy_with(owner, memory, flags));
			EXPECT_EQ(usage(owner), before);
		}
	}
}

OWNER_TEST(usage, falls_with_a_resource_whatever_the_flags, owner_begin())
{
	uint64_t before = usage(owner);
	D3DKMT_HANDLE handles[2];

	for (unsigned flags = 0; flags <= (NOT_IN_USE | SYNCHRONOUS); flags++) {
		D3DKMT_HANDLE resource = resident_resource(owner, MIB, handles);
		EXPECT_EQ(usage(owner), before + 2 * MIB);
		EXPECT_OK(destroy_resource_with(owner, resource, flags));
		EXPECT_EQ(usage(owner), before);
	}
}

OWNER_TEST(usage, falls_by_all_counts_at_once, owner_begin())
{
	uint64_t before = usage(owner);
	D3DKMT_HANDLE memory = resident(owner, MIB, 0);

	EXPECT_OK(make_resident(&owner->worker.client, &memory, 1, 0));
	EXPECT_OK(make_resident(&owner->worker.client, &memory, 1, 0));
	EXPECT_OK(destroy_with(owner, memory, 0));
	EXPECT_EQ(usage(owner), before);
}

OWNER_TEST(usage, falls_while_queued_work_still_has_it, owner_begin())
{
	uint64_t before = usage(owner);
	D3DKMT_HANDLE memory = resident(owner, MIB, 0);

	queue_work(owner);
	EXPECT_OK(destroy_with(owner, memory, 0));
	EXPECT_EQ(usage(owner), before);
	open_gate(owner);
	worker_wait(&owner->worker);
	EXPECT_EQ(worker_read(&owner->worker, 0), 7);
}

OWNER_TEST(usage, of_a_shared_allocation_falls_for_who_destroyed_it_only, owner_begin())
{
	uint64_t before = usage(owner);
	struct creation creation;

	creation_init_resource(&creation, owner->worker.client.device, 1, SHARED_NT);
	creation.data[0].size_bytes = MIB;
	creation.data[0].flags = SOFTGPU_LOCAL_ONLY;
	EXPECT_OK(create(&creation));
	EXPECT_OK(make_resident(&owner->worker.client, &creation.elements[0].hAllocation, 1, 0));
	EXPECT_EQ(usage(owner), before + MIB);
	EXPECT_OK(destroy_resource_with(owner, creation.args.hResource, 0));
	EXPECT_EQ(usage(owner), before);
}

/* ---- room ---- */

OWNER_TEST(room, of_idle_memory_is_there_for_the_next_call, owner_begin())
{
	for (unsigned flags = 0; flags <= NOT_IN_USE; flags++) {
		for (int round = 0; round < 100; round++)
			EXPECT_OK(
				destroy_with(owner, resident(owner, owner->most_bytes, 0), flags));
	}
}

OWNER_TEST(room, of_a_resource_is_there_for_the_next_call, owner_begin())
{
	uint64_t half_bytes = owner->most_bytes / 2 / PAGE * PAGE;
	D3DKMT_HANDLE handles[2];

	for (int round = 0; round < 50; round++)
		EXPECT_OK(destroy_resource_with(owner,
						resident_resource(owner, half_bytes, handles), 0));
}

OWNER_TEST(room, of_locked_memory_is_there_for_the_next_call, owner_begin())
{
	for (int round = 0; round < 50; round++) {
		D3DKMT_HANDLE memory = resident(owner, owner->most_bytes, SOFTGPU_CPU_VISIBLE);
		void *pointer;

		EXPECT_OK(lock2(owner->worker.client.device, memory, &pointer));
		memset(pointer, round, PAGE);
		EXPECT_OK(destroy_with(owner, memory, 0));
	}
}

OWNER_TEST(room, of_mapped_memory_is_there_for_the_next_call, owner_begin())
{
	for (int round = 0; !is_physical() && round < 50; round++) {
		D3DKMT_HANDLE memory = resident(owner, owner->most_bytes, 0);
		uint64_t address;

		EXPECT_OK(try_map(&owner->worker.client, memory, owner->most_bytes, &address));
		EXPECT_OK(destroy_with(owner, memory, 0));
	}
}

OWNER_TEST(room, that_queued_work_may_use_is_waited_for, owner_begin())
{
	D3DKMT_HANDLE old = resident(owner, owner->most_bytes, 0);
	D3DKMT_HANDLE memory =
		create_sized(&owner->worker.client, owner->most_bytes, SOFTGPU_LOCAL_ONLY);
	D3DDDI_MAKERESIDENT args =
		residency_of(&owner->worker.client, &memory, 1, CANT_TRIM | MUST_SUCCEED);

	queue_work(owner);
	EXPECT_OK(destroy_with(owner, old, 0));
	EXPECT_EQ(D3DKMTMakeResident(&args), STATUS_PENDING);
	EXPECT(*owner->worker.client.value < args.PagingFenceValue);
	open_gate(owner);
	wait_for(&owner->worker.client, args.PagingFenceValue);
	worker_wait(&owner->worker);
	EXPECT_EQ(worker_read(&owner->worker, 0), 7);
}

/* The end of one of a resource waits for the end of another, and its room for neither. */
OWNER_TEST(room, of_idle_memory_does_not_wait_for_its_resource, owner_begin())
{
	D3DKMT_HANDLE handles[2];

	(void)resident_resource(owner, owner->most_bytes / 2 / PAGE * PAGE, handles);
	queue_work(owner);
	EXPECT_OK(destroy_with(owner, handles[0], 0));
	EXPECT_OK(destroy_with(owner, handles[1], NOT_IN_USE));
	(void)resident(owner, owner->most_bytes / 2 / PAGE * PAGE, 0);
	open_gate(owner);
	worker_wait(&owner->worker);
}

/* ---- devices ---- */

OWNER_TEST(room, of_a_destroyed_device_is_there_for_the_next, owner_begin())
{
	for (int round = 0; round < 20; round++) {
		struct client other;
		D3DKMT_HANDLE memory;

		client_open(&other, owner->worker.client.adapter);
		memory = create_sized(&other, owner->most_bytes, SOFTGPU_LOCAL_ONLY);
		EXPECT_OK(make_resident(&other, &memory, 1, CANT_TRIM | MUST_SUCCEED));
		EXPECT_OK(destroy_device(other.device));
	}
}

API_TEST_MAIN("api/destroyed_memory")
