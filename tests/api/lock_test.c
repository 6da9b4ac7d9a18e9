/* SPDX-License-Identifier: MIT */
/*
 * lock_test.c - the CPU sees what is in an allocation: Lock2, Unlock2, and the older Lock, Unlock.
 */
#include "api/allocation.h"

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

static D3DKMT_HANDLE create_with(unsigned flags, unsigned long long size_bytes)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.data[0].flags = flags;
	creation.data[0].size_bytes = size_bytes;
	EXPECT_OK(create(&creation));
	return creation.elements[0].hAllocation;
}

/* ---- Lock2 ---- */

TEST(lock2, shows_zeroes_first_and_what_was_written_afterwards)
{
	D3DKMT_HANDLE allocation = create_one(device);
	unsigned char *bytes;
	void *pointer;

	EXPECT_OK(lock2(device, allocation, &pointer));
	bytes = pointer;
	for (unsigned i = 0; i < SOME_BYTES; i++)
		EXPECT(bytes[i] == 0);
	memset(bytes, 0x5a, SOME_BYTES);
	EXPECT_OK(unlock2(device, allocation));
	EXPECT_OK(lock2(device, allocation, &pointer));
	EXPECT(pointer == bytes);
	EXPECT(bytes[0] == 0x5a && bytes[SOME_BYTES - 1] == 0x5a);
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock2, memory_comes_back_zeroed)
{
	void *pointer;

	for (unsigned i = 0; i < 20; i++) {
		D3DKMT_HANDLE allocation = create_one(device);
		EXPECT_OK(lock2(device, allocation, &pointer));
		for (unsigned at = 0; at < SOME_BYTES; at += 512)
			EXPECT(((unsigned char *)pointer)[at] == 0);
		memset(pointer, 0xff, SOME_BYTES);
		EXPECT_OK(destroy_one(device, allocation));
	}
}

TEST(lock2, nests_and_gives_the_same_pointer_each_time)
{
	D3DKMT_HANDLE allocation = create_one(device);
	void *first;
	void *again;

	EXPECT_OK(lock2(device, allocation, &first));
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_OK(lock2(device, allocation, &again));
		EXPECT(again == first);
	}
	for (unsigned i = 0; i < 4; i++) {
		*(volatile unsigned *)first = i;
		EXPECT_OK(unlock2(device, allocation));
	}
	EXPECT_REFUSED(unlock2(device, allocation), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "hAllocation");
	EXPECT_OK(lock2(device, allocation, &again));
	EXPECT(again == first);
	EXPECT_EQ(*(volatile unsigned *)again, 3);
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock2, two_allocations_do_not_share_memory)
{
	enum { COUNT = 8 };
	D3DKMT_HANDLE allocations[COUNT];
	unsigned *words[COUNT];
	void *pointer;

	for (unsigned i = 0; i < COUNT; i++) {
		allocations[i] = create_with(SOFTGPU_CPU_VISIBLE, PAGE * (i + 1));
		EXPECT_OK(lock2(device, allocations[i], &pointer));
		words[i] = pointer;
		for (unsigned at = 0; at < PAGE * (i + 1) / 4; at++)
			words[i][at] = i + 1;
	}
	for (unsigned i = 0; i < COUNT; i++) {
		for (unsigned at = 0; at < PAGE * (i + 1) / 4; at++)
			EXPECT(words[i][at] == i + 1);
		EXPECT_OK(destroy_one(device, allocations[i]));
	}
}

TEST(lock2, a_size_is_rounded_up_to_pages)
{
	D3DKMT_HANDLE allocation = create_with(SOFTGPU_CPU_VISIBLE, 1);
	void *pointer;

	EXPECT_OK(lock2(device, allocation, &pointer));
	((unsigned char *)pointer)[PAGE - 1] = 1;
	EXPECT_EQ((uintptr_t)pointer % PAGE, 0);
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock2, reserved_flags_are_refused_and_nothing_is_locked)
{
	D3DKMT_HANDLE allocation = create_one(device);

	for (unsigned bit = 0; bit < 32; bit++) {
		D3DKMT_LOCK2 args = { .hDevice = device,
				      .hAllocation = allocation,
				      .pData = &adapter };
		UINT flags = 1u << bit;
		memcpy(&args.Flags, &flags, sizeof(flags));
		EXPECT_REFUSED(D3DKMTLock2(&args), STATUS_INVALID_PARAMETER, "API-RESERVED",
			       "Flags");
		EXPECT(args.pData == &adapter);
	}
	EXPECT_REFUSED(unlock2(device, allocation), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "hAllocation");
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock2, handles_that_are_no_allocation_of_the_device_are_refused)
{
	D3DKMT_HANDLE other = create_device(adapter);
	D3DKMT_HANDLE foreign = create_one(other);
	D3DKMT_HANDLE stale = create_one(device);
	void *pointer;

	EXPECT_OK(destroy_one(device, stale));
	const D3DKMT_HANDLE wrong[] = { 0, device, adapter, foreign, stale };
	for (unsigned i = 0; i < 5; i++) {
		EXPECT_REFUSED(lock2(device, wrong[i], &pointer), STATUS_INVALID_PARAMETER,
			       "API-HANDLE", "hAllocation");
		EXPECT_REFUSED(unlock2(device, wrong[i]), STATUS_INVALID_PARAMETER, "API-HANDLE",
			       "hAllocation");
	}
	EXPECT_OK(destroy_device(other));
}

/* Not resident, so it is in system memory, wherever it may go later. */
TEST(lock2, what_is_in_system_memory_is_lockable_also_when_it_is_not_cpu_visible)
{
	D3DKMT_HANDLE allocation = create_with(0, SOME_BYTES);
	void *pointer;

	EXPECT_OK(lock2(device, allocation, &pointer));
	*(volatile unsigned char *)pointer = 1;
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock2, a_locked_allocation_is_destroyed_without_ado)
{
	struct census before = census_of(adapter);
	D3DKMT_HANDLE allocation = create_one(device);
	void *pointer;

	EXPECT_OK(lock2(device, allocation, &pointer));
	EXPECT_OK(lock2(device, allocation, &pointer));
	EXPECT_OK(destroy_one(device, allocation));
	EXPECT_REFUSED(unlock2(device, allocation), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hAllocation");
	EXPECT_EQ(census_of(adapter).allocations, before.allocations);
}

/* ---- after the end ---- */

CHILD(use_after_destroy)
{
	D3DKMT_HANDLE child_adapter = child_open_adapter();
	D3DKMT_HANDLE child_device = child_create_device(child_adapter);
	struct creation creation;
	void *pointer;

	creation_init(&creation, child_device, 1);
	CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
	CHILD_EXPECT(lock2(child_device, creation.elements[0].hAllocation, &pointer) ==
		     STATUS_SUCCESS);
	*(volatile int *)pointer = 1;
	if (strcmp(getenv("TEST_END"), "device") == 0)
		CHILD_EXPECT(destroy_device(child_device) == STATUS_SUCCESS);
	else
		CHILD_EXPECT(destroy_one(child_device, creation.elements[0].hAllocation) ==
			     STATUS_SUCCESS);
	signal(SIGSEGV, SIG_DFL); /* a sanitizer would make a story of it */
	*(volatile int *)pointer = 2;
	return 0;
}

TEST(lock2, the_pointer_faults_after_the_allocation_was_destroyed)
{
	SKIP_UNLESS(!is_served(),
		    "a client of a server keeps pages of its own there, which show nothing");
	EXPECT_CHILD(run_child("use_after_destroy", "TEST_END=allocation"), -SIGSEGV);
}

TEST(lock2, the_pointer_faults_after_the_device_was_destroyed)
{
	SKIP_UNLESS(!is_served(),
		    "a client of a server keeps pages of its own there, which show nothing");
	EXPECT_CHILD(run_child("use_after_destroy", "TEST_END=device"), -SIGSEGV);
}

/* ---- the older calls ---- */

static NTSTATUS lock1(D3DKMT_HANDLE allocation, UINT flags, const UINT *pages, UINT page_count,
		      void **pointer_out)
{
	D3DKMT_LOCK args = { .hDevice = device,
			     .hAllocation = allocation,
			     .NumPages = page_count,
			     .pPages = pages,
			     .GpuVirtualAddress = 0x5a5a };

	memcpy(&args.Flags, &flags, sizeof(flags));
	NTSTATUS status = D3DKMTLock(&args);
	if (status == STATUS_SUCCESS) {
		EXPECT_EQ(args.hAllocation, allocation);
		EXPECT_EQ(args.GpuVirtualAddress, 0);
	}
	*pointer_out = args.pData;
	return status;
}

static NTSTATUS unlock1(const D3DKMT_HANDLE *allocations, UINT count)
{
	return D3DKMTUnlock(&(D3DKMT_UNLOCK){
		.hDevice = device, .NumAllocations = count, .phAllocations = allocations });
}

enum {
	LOCK_READ_ONLY = 0x1,
	LOCK_WRITE_ONLY = 0x2,
	LOCK_ENTIRE = 0x10,
	LOCK_APERTURE = 0x40,
	LOCK_ALTERNATE = 0x200,
};

TEST(lock1, sees_the_same_memory_as_lock2)
{
	D3DKMT_HANDLE allocation = create_one(device);
	void *one;
	void *two;

	EXPECT_OK(lock1(allocation, LOCK_ENTIRE, NULL, 0, &one));
	EXPECT_OK(lock2(device, allocation, &two));
	EXPECT(one == two);
	EXPECT_OK(unlock1(&allocation, 1));
	EXPECT_OK(unlock2(device, allocation));
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock1, a_list_of_pages_gives_the_first_of_them)
{
	D3DKMT_HANDLE allocation = create_one(device);
	static const UINT pages[] = { 3, 4, 15 };
	static const UINT beyond[] = { 3, 16 };
	void *whole;
	void *pointer;

	EXPECT_OK(lock1(allocation, LOCK_ENTIRE, NULL, 0, &whole));
	EXPECT_OK(lock1(allocation, 0, pages, 3, &pointer));
	EXPECT(pointer == (char *)whole + 3 * PAGE);
	EXPECT_REFUSED(lock1(allocation, 0, beyond, 2, &pointer), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "pPages");
	EXPECT_EQ(last_refusal().index, 1);
	EXPECT_REFUSED(lock1(allocation, 0, NULL, 2, &pointer), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPages");
	EXPECT_REFUSED(lock1(allocation, LOCK_ENTIRE, pages, 3, &pointer), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "NumPages");
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock1, needs_a_cpu_visible_allocation)
{
	D3DKMT_HANDLE allocation = create_with(0, SOME_BYTES);
	void *pointer;

	EXPECT_REFUSED(lock1(allocation, LOCK_ENTIRE, NULL, 0, &pointer), STATUS_INVALID_PARAMETER,
		       "MM-LOCK-VISIBLE", "hAllocation");
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock1, flags_that_exclude_each_other_are_refused)
{
	static const UINT flags[] = { LOCK_READ_ONLY | LOCK_WRITE_ONLY, LOCK_APERTURE,
				      LOCK_ALTERNATE | LOCK_APERTURE, LOCK_ALTERNATE };
	D3DKMT_HANDLE allocation = create_one(device);
	void *pointer;

	for (unsigned i = 0; i < 4; i++)
		EXPECT_REFUSED(lock1(allocation, flags[i] | LOCK_ENTIRE, NULL, 0, &pointer),
			       STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
	for (unsigned bit = 11; bit < 32; bit++)
		EXPECT_REFUSED(lock1(allocation, 1u << bit, NULL, 0, &pointer),
			       STATUS_INVALID_PARAMETER, "API-RESERVED", "Flags");
	EXPECT_REFUSED(unlock1(&allocation, 1), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "phAllocations");
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(lock1, flags_about_waiting_change_nothing_while_the_gpu_is_idle)
{
	/* DonotWait, IgnoreSync, DonotEvict, Discard, NoExistingReference, IgnoreReadSync. */
	static const UINT flags[] = { 0x4, 0x8, 0x20, 0x80, 0x180, 0x400, 0x1, 0x2 };
	D3DKMT_HANDLE allocation = create_one(device);
	void *first;
	void *pointer;

	EXPECT_OK(lock1(allocation, LOCK_ENTIRE, NULL, 0, &first));
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		EXPECT_OK(lock1(allocation, flags[i] | LOCK_ENTIRE, NULL, 0, &pointer));
		EXPECT(pointer == first);
	}
	EXPECT_OK(destroy_one(device, allocation));
}

/* "Only the creating process can lock a shared allocation": this is that process. */
TEST(lock1, another_device_of_the_creating_process_locks_a_shared_allocation)
{
	D3DKMT_HANDLE other = create_device(adapter);
	D3DDDI_OPENALLOCATIONINFO element = { 0 };
	struct softgpu_allocation data;
	struct creation creation;
	void *pointer;

	creation_init_resource(&creation, device, 1, SHARED_GLOBAL);
	EXPECT_OK(create(&creation));
	EXPECT_OK(lock1(creation.elements[0].hAllocation, LOCK_ENTIRE, NULL, 0, &pointer));
	D3DKMT_OPENRESOURCE open = { .hDevice = other,
				     .hGlobalShare = creation.args.hGlobalShare,
				     .NumAllocations = 1,
				     .pOpenAllocationInfo = &element,
				     .pTotalPrivateDriverDataBuffer = &data,
				     .TotalPrivateDriverDataBufferSize = sizeof(data) };
	EXPECT_OK(D3DKMTOpenResource(&open));
	D3DKMT_LOCK args = { .hDevice = other, .hAllocation = element.hAllocation };
	args.Flags.LockEntire = 1;
	EXPECT_OK(D3DKMTLock(&args));
	EXPECT(args.pData == pointer);
	EXPECT_OK(destroy_device(other));
	EXPECT_OK(destroy_resource(device, creation.args.hResource));
}

TEST(lock1, another_process_does_not_lock_a_shared_allocation)
{
	D3DDDI_OPENALLOCATIONINFO2 element = { 0 };
	struct softgpu_allocation data;
	struct creation creation;
	HANDLE handle;
	void *pointer;

	creation_init_resource(&creation, device, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
				     &handle));
	D3DKMTCloseDxCoreDevice();
	adapter = open_first_adapter();
	device = create_device(adapter);
	D3DKMT_OPENRESOURCEFROMNTHANDLE open = {
		.hDevice = device,
		.hNtHandle = handle,
		.NumAllocations = 1,
		.pOpenAllocationInfo2 = &element,
		.pTotalPrivateDriverDataBuffer = &data,
		.TotalPrivateDriverDataBufferSize = sizeof(data),
	};
	EXPECT_OK(D3DKMTOpenResourceFromNtHandle(&open));
	EXPECT_REFUSED(lock1(element.hAllocation, LOCK_ENTIRE, NULL, 0, &pointer),
		       STATUS_INVALID_PARAMETER, "MM-LOCK-SHARED", "hAllocation");
	/* The newer one leaves that to who shares. */
	EXPECT_OK(lock2(device, element.hAllocation, &pointer));
	EXPECT_OK(destroy_resource(device, open.hResource));
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
}

TEST(unlock1, a_list_with_one_that_is_not_locked_changes_nothing)
{
	D3DKMT_HANDLE allocations[3] = { create_one(device), create_one(device),
					 create_one(device) };
	void *pointers[3];
	void *again;

	EXPECT_OK(lock2(device, allocations[0], &pointers[0]));
	EXPECT_OK(lock2(device, allocations[1], &pointers[1]));
	*(volatile int *)pointers[0] = 17;
	EXPECT_REFUSED(unlock1(allocations, 3), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "phAllocations");
	EXPECT_EQ(last_refusal().index, 2);
	EXPECT_EQ(*(volatile int *)pointers[0], 17);
	/* Both are still locked, once. */
	EXPECT_OK(unlock1(allocations, 2));
	EXPECT_REFUSED(unlock1(allocations, 1), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "phAllocations");
	/* Twice in a list is two unlocks. */
	EXPECT_OK(lock2(device, allocations[0], &again));
	EXPECT_REFUSED(unlock1((D3DKMT_HANDLE[]){ allocations[0], allocations[0] }, 2),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "phAllocations");
	EXPECT_OK(lock2(device, allocations[0], &again));
	EXPECT_OK(unlock1((D3DKMT_HANDLE[]){ allocations[0], allocations[0] }, 2));
	EXPECT_OK(destroy_list(device, allocations, 3));
}

TEST(unlock1, a_stale_handle_in_the_list_changes_nothing)
{
	D3DKMT_HANDLE allocation = create_one(device);
	D3DKMT_HANDLE stale = create_one(device);
	void *pointer;

	EXPECT_OK(destroy_one(device, stale));
	EXPECT_OK(lock2(device, allocation, &pointer));
	EXPECT_REFUSED(unlock1((D3DKMT_HANDLE[]){ allocation, stale }, 2), STATUS_INVALID_PARAMETER,
		       "API-HANDLE", "phAllocations");
	EXPECT_OK(unlock1(&allocation, 1));
	EXPECT_OK(destroy_one(device, allocation));
}

/* ---- how large, how many ---- */

TEST(lock2, a_thousand_small_ones_at_a_time)
{
	enum { MANY = 1000 };
	static D3DKMT_HANDLE allocations[MANY];
	static void *pointers[MANY];

	for (unsigned i = 0; i < MANY; i++) {
		allocations[i] = create_with(SOFTGPU_CPU_VISIBLE, PAGE);
		EXPECT_OK(lock2(device, allocations[i], &pointers[i]));
		*(unsigned *)pointers[i] = i;
	}
	for (unsigned i = 0; i < MANY; i++)
		EXPECT_EQ(*(unsigned *)pointers[i], i);
	for (unsigned i = 0; i < MANY; i += 2)
		EXPECT_OK(destroy_one(device, allocations[i]));
	for (unsigned i = 1; i < MANY; i += 2) {
		EXPECT_EQ(*(unsigned *)pointers[i], i);
		EXPECT_OK(destroy_one(device, allocations[i]));
	}
}

TEST(lock2, more_than_the_machine_has_is_refused_and_leaves_nothing)
{
	D3DKMT_HANDLE allocation = create_with(SOFTGPU_CPU_VISIBLE, 1ull << 46);
	void *pointer = NULL;

	/* Addresses, to begin with. */
	EXPECT_REFUSED(lock2(device, allocation, &pointer), STATUS_GRAPHICS_NO_VIDEO_MEMORY,
		       "MM-NO-ADDRESSES", "");
	EXPECT(pointer == NULL);
	EXPECT_REFUSED(unlock2(device, allocation), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "hAllocation");
	EXPECT_OK(destroy_one(device, allocation));
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		void *pointer;
		adapter = open_first_adapter();
		device = create_device(adapter);
		D3DKMT_HANDLE allocation = create_one(device);
		EXPECT_OK(lock2(device, allocation, &pointer));
		EXPECT_OK(destroy_one(device, allocation));
	}
	return api_main("api/lock", argc, argv);
}
