/* SPDX-License-Identifier: MIT */
/*
 * residency_test.c - MakeResident, Evict, QueryAllocationResidency, and properties that move an
 * allocation.
 */
#include "api/residency.h"

/* ---- make resident ---- */

TEST(make_resident, refuses_what_is_no_queue)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_MAKERESIDENT args = residency_of(&client, &one, 1, 0);

	EXPECT_BAD(D3DKMTMakeResident(NULL), "API-NULL-ARGUMENT", "");
	args.hPagingQueue = 0;
	EXPECT_BAD(D3DKMTMakeResident(&args), "API-HANDLE", "hPagingQueue");
	args.hPagingQueue = client.device;
	EXPECT_BAD(D3DKMTMakeResident(&args), "API-HANDLE-KIND", "hPagingQueue");
}

TEST(make_resident, refuses_flags_that_do_not_exist_or_go_together)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_MAKERESIDENT args = residency_of(&client, &one, 1, 4);

	EXPECT_BAD(D3DKMTMakeResident(&args), "API-RESERVED", "Flags");
	args.Flags.Value = MUST_SUCCEED;
	EXPECT_BAD(D3DKMTMakeResident(&args), "API-VALUE", "Flags");
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
}

TEST(make_resident, refuses_a_list_with_one_bad_entry_whole)
{
	struct client client = begin();
	struct client other;
	client_open(&other, client.adapter);
	D3DKMT_HANDLE list[] = { create_one(client.device), create_one(other.device) };
	D3DDDI_MAKERESIDENT args = residency_of(&client, list, 2, 0);

	EXPECT_BAD(D3DKMTMakeResident(&args), "API-HANDLE", "AllocationList");
	list[1] = 0;
	EXPECT_BAD(D3DKMTMakeResident(&args), "API-HANDLE", "AllocationList");
	args.AllocationList = NULL;
	EXPECT_BAD(D3DKMTMakeResident(&args), "API-NULL-ARGUMENT", "AllocationList");
	EXPECT_BAD(evict(&client, list, 1, 0), "MM-EVICT-COUNT", "AllocationList");
	EXPECT_EQ(args.NumAllocations, 2);
}

CLIENT_TEST(make_resident, brings_it_in_and_says_when, begin())
{
	D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_LOCAL_ONLY);

	EXPECT_EQ(residency_status(client, one), NOT_RESIDENT);
	EXPECT_OK(make_resident(client, &one, 1, 0));
	EXPECT_EQ(residency_status(client, one), IN_GPU_MEMORY);
}

TEST(make_resident, of_what_is_resident_is_done_at_once_with_fence_value_0)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_MAKERESIDENT args = residency_of(&client, &one, 1, 0);

	EXPECT_OK(make_resident(&client, &one, 1, 0));
	args.PagingFenceValue = GARBAGE;
	EXPECT_OK(D3DKMTMakeResident(&args));
	EXPECT_EQ(args.PagingFenceValue, 0);
	EXPECT_EQ(args.NumAllocations, 1);
}

TEST(make_resident, of_nothing_is_fine)
{
	struct client client = begin();
	D3DDDI_MAKERESIDENT args = residency_of(&client, NULL, 0, 0);

	EXPECT_OK(D3DKMTMakeResident(&args));
	EXPECT_EQ(args.PagingFenceValue, 0);
}

TEST(make_resident, counts_and_needs_as_many_evicts)
{
	struct client client = begin();
	D3DKMT_HANDLE list[2];

	list[0] = list[1] = create_one(client.device);
	EXPECT_OK(make_resident(&client, list, 2, 0));
	EXPECT_OK(evict(&client, list, 1, 0));
	EXPECT_OK(evict(&client, list, 1, 0));
	EXPECT_BAD(evict(&client, list, 1, 0), "MM-EVICT-COUNT", "AllocationList");
}

TEST(make_resident, never_reads_the_priorities)
{
	struct client client = begin();
	D3DKMT_HANDLE list[] = { create_one(client.device), create_one(client.device) };
	D3DDDI_MAKERESIDENT args = residency_of(&client, list, 2, 0);
	void *nothing = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(nothing != MAP_FAILED);
	args.PriorityList = nothing;
	NTSTATUS status = D3DKMTMakeResident(&args);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	munmap(nothing, PAGE);
}

TEST(make_resident, above_the_budget_changes_nothing_and_says_by_how_much)
{
	struct client client = begin();
	uint64_t budget = memory_info(&client, 0).Budget;
	D3DKMT_HANDLE list[] = { create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY),
				 create_sized(&client, budget, SOFTGPU_LOCAL_ONLY) };
	D3DDDI_MAKERESIDENT args = residency_of(&client, list, 2, 0);

	EXPECT_REFUSED(D3DKMTMakeResident(&args), STATUS_NO_MEMORY, "MM-BUDGET", "AllocationList");
	EXPECT_EQ(args.NumAllocations, 0);
	EXPECT(args.NumBytesToTrim >= MIB);
	EXPECT_EQ(memory_info(&client, 0).CurrentUsage, 0);
	EXPECT_EQ(residency_status(&client, list[0]), NOT_RESIDENT);
	EXPECT_BAD(evict(&client, list, 1, 0), "MM-EVICT-COUNT", "AllocationList");
}

TEST(make_resident, that_must_succeed_and_cannot_loses_the_device)
{
	struct client client = begin();
	uint64_t budget = memory_info(&client, 0).Budget;
	D3DKMT_HANDLE one = create_sized(&client, 2 * budget, SOFTGPU_LOCAL_ONLY);

	EXPECT_EQ(make_resident(&client, &one, 1, CANT_TRIM), STATUS_NO_MEMORY);
	EXPECT_OK(get_execution_state(client.device));
	EXPECT_EQ(make_resident(&client, &one, 1, CANT_TRIM | MUST_SUCCEED), STATUS_NO_MEMORY);
	EXPECT_EQ(execution_state(client.device), D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY);
	EXPECT_EQ(make_resident(&client, &one, 1, 0), STATUS_DEVICE_REMOVED);
	/* Nothing of it is resident; that the device is lost is no reason to refuse. */
	EXPECT_BAD(evict(&client, &one, 1, 0), "MM-EVICT-COUNT", "AllocationList");
}

/* Whatever it is that there is no memory for. */
TEST(make_resident, that_must_succeed_loses_the_device_whenever_there_is_no_memory)
{
	struct client client = begin();
	unsigned failed = 0;
	int fired = 1;

	for (unsigned nth = 1; fired; nth++) {
		struct client each;
		client_open(&each, client.adapter);
		D3DKMT_HANDLE list[4];
		for (size_t i = 0; i < ARRAYSIZE(list); i++)
			list[i] = create_sized(&each, 64 * KIB, SOFTGPU_LOCAL_ONLY);
		D3DDDI_MAKERESIDENT args =
			residency_of(&each, list, ARRAYSIZE(list), CANT_TRIM | MUST_SUCCEED);

		EXPECT(nth < 100);
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = D3DKMTMakeResident(&args);
		fired = dxgk_test_fail_stop();
		if (status == STATUS_NO_MEMORY) {
			failed++;
			EXPECT_EQ(args.NumAllocations, 0);
			EXPECT_EQ(execution_state(each.device),
				  D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY);
		}
		EXPECT_OK(destroy_device(each.device));
	}
	EXPECT(failed > 0);
	expect_valid();
}

CLIENT_TEST(make_resident, fence_values_grow, begin())
{
	UINT64 last = 0;

	for (int i = 0; i < 16; i++) {
		D3DKMT_HANDLE one = create_one(client->device);
		D3DDDI_MAKERESIDENT args = residency_of(client, &one, 1, 0);
		if (D3DKMTMakeResident(&args) != STATUS_PENDING)
			continue;
		EXPECT(args.PagingFenceValue > last);
		last = args.PagingFenceValue;
	}
	wait_for(client, last);
	EXPECT_EQ(*client->value, last);
}

CLIENT_TEST(make_resident, is_still_answered_when_all_is_destroyed, begin())
{
	D3DKMT_HANDLE list[8];

	for (int i = 0; i < 8; i++)
		list[i] = create_sized(client, MIB, SOFTGPU_LOCAL_ONLY);
	D3DDDI_MAKERESIDENT args = residency_of(client, list, 8, 0);
	NTSTATUS status = D3DKMTMakeResident(&args);
	EXPECT_OK(destroy_list(client->device, list, 8));
	if (status == STATUS_PENDING)
		wait_for(client, args.PagingFenceValue);
	D3DDDI_DESTROYPAGINGQUEUE queue = { client->queue };
	EXPECT_OK(D3DKMTDestroyPagingQueue(&queue));
}

static void destroy_queue(void *context)
{
	D3DDDI_DESTROYPAGINGQUEUE args = { *(const D3DKMT_HANDLE *)context };

	(void)D3DKMTDestroyPagingQueue(&args); /* of what becomes of it the test says nothing */
}

/* Whatever of it is still on its way in. */
TEST(make_resident, a_process_may_end_while_its_queue_waits_for_it)
{
	for (unsigned turn = 0; turn < 4; turn++) {
		struct client client = begin();
		D3DKMT_HANDLE handle =
			create_sized(&client, 4 * MIB, SOFTGPU_LOCAL_ONLY | SOFTGPU_CPU_VISIBLE);
		void *pointer;
		EXPECT_OK(lock2(client.device, handle, &pointer));
		D3DDDI_MAKERESIDENT args = residency_of(&client, &handle, 1, 0);
		EXPECT(NT_SUCCESS(D3DKMTMakeResident(&args)));
		struct dxgk_test_thread *thread = begin_thread(destroy_queue, &client.queue);
		usleep(turn * 100);
		D3DKMTCloseDxCoreDevice();
		dxgk_test_thread_join(thread);
	}
}

/* Nobody would ever bring it in, and the queue would stand still until the unlock. */
TEST(make_resident, of_what_is_locked_out_of_sight_is_refused)
{
	struct client client = begin();
	D3DKMT_HANDLE handle = create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY);
	void *pointer;

	EXPECT_OK(lock2(client.device, handle, &pointer));
	EXPECT_REFUSED(make_resident(&client, &handle, 1, 0), STATUS_NO_MEMORY, "MM-LOCK-PLACE",
		       "AllocationList");
	EXPECT_EQ(last_refusal().index, 0);
	EXPECT_OK(unlock2(client.device, handle));
	EXPECT_OK(make_resident(&client, &handle, 1, 0));
}

CLIENT_TEST(make_resident, changes_nothing_when_there_is_no_memory_and_says_what_it_takes, begin())
{
	bool has_succeeded = false;

	for (unsigned long long nth = 1; !has_succeeded; nth++) {
		D3DKMT_HANDLE list[] = { create_one(client->device), create_one(client->device) };
		dxgk_test_fail_nth_allocation(nth);
		D3DDDI_MAKERESIDENT args = residency_of(client, list, 2, 0);
		NTSTATUS status = D3DKMTMakeResident(&args);
		(void)dxgk_test_fail_stop();
		has_succeeded = NT_SUCCESS(status);
		if (!has_succeeded) {
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT_EQ(args.NumAllocations, 0);
			/* Who trims nothing and tries again would never come to an end. */
			EXPECT(args.NumBytesToTrim >= SOME_BYTES);
			EXPECT_BAD(evict(client, list, 1, 0), "MM-EVICT-COUNT", "AllocationList");
		}
		EXPECT_OK(destroy_list(client->device, list, 2));
		EXPECT(nth < 100);
	}
	flush(client);
}

/* ---- evict ---- */

TEST(evict, refuses_what_is_wrong)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);

	EXPECT_BAD(D3DKMTEvict(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(evict(&client, &one, 1, 4), "API-RESERVED", "Flags");
	EXPECT_BAD(evict(&client, NULL, 1, 0), "API-NULL-ARGUMENT", "AllocationList");
	EXPECT_BAD(evict(&client, &one, 1, 0), "MM-EVICT-COUNT", "AllocationList");
	EXPECT_OK(evict(&client, NULL, 0, 0));
}

TEST(evict, within_the_budget_says_that_nothing_is_to_be_trimmed)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY);

	for (unsigned flags = 0; flags < 4; flags++) {
		D3DKMT_EVICT args = { .hDevice = client.device,
				      .NumAllocations = 1,
				      .AllocationList = &one,
				      .NumBytesToTrim = GARBAGE };
		args.Flags.Value = flags;
		EXPECT_OK(make_resident(&client, &one, 1, 0));
		EXPECT_OK(D3DKMTEvict(&args));
		EXPECT_EQ(args.NumBytesToTrim, 0);
		args.NumBytesToTrim = GARBAGE;
		EXPECT_BAD(D3DKMTEvict(&args), "MM-EVICT-COUNT", "AllocationList");
		EXPECT_EQ(args.NumBytesToTrim, GARBAGE);
	}
}

/* All or nothing, whatever is wrong with the last; and it is said which one that is. */
TEST(lists, with_one_that_is_none_change_nothing)
{
	struct client client = begin();
	struct client other;
	client_open(&other, client.adapter);
	D3DKMT_HANDLE gone = create_one(client.device);
	struct creation creation;

	EXPECT_OK(destroy_one(client.device, gone));
	creation_init_resource(&creation, client.device, 1, SHARED_GLOBAL);
	EXPECT_OK(create(&creation));
	const D3DKMT_HANDLE wrong[] = {
		0,
		GARBAGE,
		gone,
		create_one(other.device),
		client.device,
		client.queue,
		client.fence,
		creation.args.hResource,
		creation.args.hGlobalShare,
	};
	D3DKMT_HANDLE list[] = { create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY),
				 create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY), 0 };
	EXPECT_OK(make_resident(&client, list, 1, 0));
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		list[2] = wrong[i];
		D3DDDI_MAKERESIDENT args = residency_of(&client, list, 3, 0);
		args.PagingFenceValue = args.NumBytesToTrim = GARBAGE;
		EXPECT_BAD(D3DKMTMakeResident(&args), "API-HANDLE", "AllocationList");
		EXPECT_EQ(last_refusal().index, 2);
		EXPECT_EQ(args.NumAllocations, 3);
		EXPECT_EQ(args.PagingFenceValue, GARBAGE);
		EXPECT_EQ(args.NumBytesToTrim, GARBAGE);
		EXPECT_BAD(evict(&client, list, 3, 0), "API-HANDLE", "AllocationList");
		EXPECT_EQ(last_refusal().index, 2);
		EXPECT_EQ(memory_info(&client, 0).CurrentUsage, MIB);
		EXPECT_EQ(residency_status(&client, list[1]), NOT_RESIDENT);
	}
	EXPECT_BAD(evict(&client, list, UINT32_MAX, 0), "API-COUNT", "NumAllocations");
	D3DDDI_MAKERESIDENT args = residency_of(&client, list, UINT32_MAX, 0);
	EXPECT_BAD(D3DKMTMakeResident(&args), "API-COUNT", "NumAllocations");
	EXPECT_OK(evict(&client, list, 1, 0));
	EXPECT_BAD(evict(&client, list, 1, 0), "MM-EVICT-COUNT", "AllocationList");
}

CLIENT_TEST(evict, takes_it_out_with_what_is_in_it, begin())
{
	D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);

	fill(client, one, MIB, 1);
	EXPECT_OK(make_resident(client, &one, 1, 0));
	EXPECT_EQ(memory_info(client, 0).CurrentUsage + memory_info(client, 1).CurrentUsage, MIB);
	EXPECT_OK(evict(client, &one, 1, 0));
	EXPECT_EQ(memory_info(client, 0).CurrentUsage + memory_info(client, 1).CurrentUsage, 0);
	flush(client);
	EXPECT_EQ(residency_status(client, one), NOT_RESIDENT);
	EXPECT_CONTENT(client, one, MIB, 1);
}

TEST(evict, only_if_necessary_leaves_it_there_when_there_is_room)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY);
	D3DDDI_MAKERESIDENT args = residency_of(&client, &one, 1, 0);

	EXPECT_OK(make_resident(&client, &one, 1, 0));
	EXPECT_OK(evict(&client, &one, 1, ONLY_IF_NECESSARY));
	flush(&client);
	EXPECT_EQ(residency_status(&client, one), IN_GPU_MEMORY);
	EXPECT_OK(D3DKMTMakeResident(&args));
	EXPECT_EQ(args.PagingFenceValue, 0);
}

/* ---- locks of what is resident ---- */

static NTSTATUS lock_with(const struct client *client, D3DKMT_HANDLE handle, UINT flags)
{
	D3DKMT_LOCK args = { .hDevice = client->device, .hAllocation = handle };

	args.Flags.Value = flags;
	return D3DKMTLock(&args);
}

/* Cached memory is not coherent with local memory: for the CPU it has to leave. */
CLIENT_TEST(lock, that_may_not_evict_fails_rather, begin())
{
	enum { LOCK_ENTIRE = 0x10, DONOT_EVICT = 0x20 };

	D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED);

	/* Nowhere, nothing has to go. */
	EXPECT_OK(lock_with(client, one, LOCK_ENTIRE | DONOT_EVICT));
	EXPECT_OK(unlock2(client->device, one));
	EXPECT_OK(make_resident(client, &one, 1, 0));
	EXPECT_EQ(residency_status(client, one), IN_GPU_MEMORY);
	EXPECT_REFUSED(lock_with(client, one, LOCK_ENTIRE | DONOT_EVICT),
		       STATUS_GRAPHICS_CANT_LOCK_MEMORY, "MM-LOCK-PLACE", "hAllocation");
	EXPECT_EQ(residency_status(client, one), IN_GPU_MEMORY);
	EXPECT_OK(lock_with(client, one, LOCK_ENTIRE));
	EXPECT(residency_status(client, one) != IN_GPU_MEMORY);
	EXPECT_OK(unlock2(client->device, one));
}

/* ---- properties ---- */

static D3DDDI_UPDATEALLOCPROPERTY property_of(const struct client *client, D3DKMT_HANDLE handle)
{
	return (D3DDDI_UPDATEALLOCPROPERTY){ .hPagingQueue = client->queue, .hAllocation = handle };
}

/* The one that is local memory, by looking where something local comes to rest. */
static UINT segments_of_all(const struct client *client)
{
	UINT set = 0;

	for (UINT bit = 0; bit < 31; bit++) {
		D3DKMT_HANDLE one = create_one(client->device);
		D3DDDI_UPDATEALLOCPROPERTY args = property_of(client, one);
		args.SupportedSegmentSet = 1u << bit;
		args.SetSupportedSegmentSet = 1;
		NTSTATUS status = D3DKMTUpdateAllocationProperty(&args);
		if (status == STATUS_SUCCESS || status == STATUS_PENDING)
			set |= 1u << bit;
		EXPECT_OK(destroy_one(client->device, one));
	}
	return set;
}

TEST(update_property, refuses_what_is_wrong)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_UPDATEALLOCPROPERTY args = property_of(&client, one);

	EXPECT_BAD(D3DKMTUpdateAllocationProperty(NULL), "API-NULL-ARGUMENT", "");
	args.hPagingQueue = 0;
	EXPECT_BAD(D3DKMTUpdateAllocationProperty(&args), "API-HANDLE", "hPagingQueue");
	args = property_of(&client, client.device);
	EXPECT_BAD(D3DKMTUpdateAllocationProperty(&args), "API-HANDLE", "hAllocation");
	args = property_of(&client, one);
	args.PropertyMaskValue = 0x10;
	EXPECT_BAD(D3DKMTUpdateAllocationProperty(&args), "API-RESERVED", "PropertyMaskValue");
	args.PropertyMaskValue = 0;
	args.Flags.Value = 4;
	EXPECT_BAD(D3DKMTUpdateAllocationProperty(&args), "API-RESERVED", "Flags");
	args.Flags.Value = 0;
	args.SetSupportedSegmentSet = 1;
	EXPECT_BAD(D3DKMTUpdateAllocationProperty(&args), "API-VALUE", "SupportedSegmentSet");
	args.SupportedSegmentSet = 0x80000000;
	EXPECT_BAD(D3DKMTUpdateAllocationProperty(&args), "API-VALUE", "SupportedSegmentSet");
	args = property_of(&client, one);
	args.SetPreferredSegment = 1;
	args.PreferredSegment.Value = 0xc0000000;
	EXPECT_BAD(D3DKMTUpdateAllocationProperty(&args), "API-RESERVED", "PreferredSegment");
}

TEST(update_property, of_what_is_nowhere_is_done_at_once)
{
	struct client client = begin();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_UPDATEALLOCPROPERTY args = property_of(&client, one);

	args.SetPreferredSegment = 1;
	args.PreferredSegment.SegmentId0 = 1;
	EXPECT_OK(D3DKMTUpdateAllocationProperty(&args));
}

CLIENT_TEST(update_property, moves_what_may_not_stay_with_what_is_in_it, begin())
{
	UINT all = segments_of_all(client);
	unsigned places = 0;

	for (UINT set = 1; set <= all; set <<= 1) {
		if (!(all & set))
			continue;
		D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);
		D3DDDI_UPDATEALLOCPROPERTY args = property_of(client, one);
		fill(client, one, MIB, set);
		EXPECT_OK(make_resident(client, &one, 1, 0));
		unsigned before = residency_status(client, one);
		args.SupportedSegmentSet = set;
		args.SetSupportedSegmentSet = 1;
		NTSTATUS status = D3DKMTUpdateAllocationProperty(&args);
		EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
		if (status == STATUS_PENDING)
			wait_for(client, args.PagingFenceValue);
		EXPECT(residency_status(client, one) != NOT_RESIDENT);
		places += residency_status(client, one) != before;
		EXPECT_CONTENT(client, one, MIB, set);
		EXPECT_OK(destroy_one(client->device, one));
	}
	EXPECT(places > 0);
	flush(client);
}

API_TEST_MAIN("api/residency")
