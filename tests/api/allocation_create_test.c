/* SPDX-License-Identifier: MIT */
/*
 * allocation_create_test.c - D3DKMTCreateAllocation and …2: what is made, and what is refused
 * whole.
 */
#include "api/allocation.h"

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

/* Refused, nothing handed out, nothing left anywhere. */
#define EXPECT_NOT_CREATED(request, wanted, rule, argument)                                        \
	do {                                                                                       \
		struct census census_before = census_of(adapter);                                  \
		struct creation before_call = *(request);                                          \
		EXPECT_REFUSED(create(request), wanted, rule, argument);                           \
		EXPECT(memcmp(&before_call, (request), sizeof(before_call)) == 0);                 \
		EXPECT_CENSUS(adapter, census_before);                                             \
	} while (0)

static void set_flags(struct creation *creation, UINT flags)
{
	memcpy(&creation->args.Flags, &flags, sizeof(flags));
}

/* ---- alone ---- */

TEST(create, one_alone_gives_a_handle_and_no_resource)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.args.hGlobalShare = 0x1eadbeed;
	creation.args.hPrivateRuntimeResourceHandle = (HANDLE)(uintptr_t)0x1234;
	creation.elements[0].GpuVirtualAddress = 0x5a5a;
	EXPECT_OK(create(&creation));
	EXPECT(is_local_handle(creation.elements[0].hAllocation));
	EXPECT_EQ(creation.elements[0].GpuVirtualAddress, 0);
	EXPECT_EQ(creation.args.hResource, 0);
	EXPECT_EQ(creation.args.hGlobalShare, 0);
	EXPECT(creation.args.hPrivateRuntimeResourceHandle == (HANDLE)(uintptr_t)0x1234);
	EXPECT_EQ(creation.args.PrivateRuntimeDataSize, 0);
	EXPECT_EQ(creation.args.PrivateDriverDataSize, 0);
	EXPECT_OK(destroy_one(device, creation.elements[0].hAllocation));
}

TEST(create, several_get_handles_in_order_of_the_array)
{
	struct census before = census_of(adapter);
	struct creation creation;
	D3DKMT_HANDLE handles[5];

	creation_init(&creation, device, 5);
	EXPECT_OK(create(&creation));
	for (unsigned i = 0; i < 5; i++) {
		handles[i] = creation.elements[i].hAllocation;
		EXPECT(is_local_handle(handles[i]));
		if (i > 0)
			EXPECT_EQ(handles[i], handles[i - 1] + 0x40);
	}
	EXPECT_EQ(census_of(adapter).allocations, before.allocations + 5);
	EXPECT_EQ(census_of(adapter).openings, before.openings + 5);
	EXPECT_EQ(census_of(adapter).resources, before.resources);
	EXPECT_OK(destroy_list(device, handles, 5));
	EXPECT_CENSUS(adapter, before);
}

TEST(create, many_in_one_call)
{
	enum { MANY = 300 };
	static D3DDDI_ALLOCATIONINFO2 elements[MANY];
	static D3DKMT_HANDLE handles[MANY];
	struct census before = census_of(adapter);
	struct softgpu_allocation data = { SOFTGPU_ALLOCATION_VERSION, 0, PAGE, 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = MANY,
					 .pAllocationInfo2 = elements };

	for (unsigned i = 0; i < MANY; i++) {
		elements[i].pPrivateDriverData = &data;
		elements[i].PrivateDriverDataSize = sizeof(data);
	}
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	for (unsigned i = 0; i < MANY; i++)
		handles[i] = elements[i].hAllocation;
	EXPECT_EQ(census_of(adapter).allocations, before.allocations + MANY);
	EXPECT_OK(destroy_list(device, handles, MANY));
	EXPECT_CENSUS(adapter, before);
}

TEST(create, version_1_takes_elements_of_40_bytes)
{
	struct softgpu_allocation data[2] = {
		{ SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, SOME_BYTES, 0 },
		{ SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, SOME_BYTES, 0 },
	};
	D3DDDI_ALLOCATIONINFO elements[3] = {
		{ .pPrivateDriverData = &data[0], .PrivateDriverDataSize = sizeof(data[0]) },
		{ .pPrivateDriverData = &data[1], .PrivateDriverDataSize = sizeof(data[1]) },
		{ .hAllocation = 0x5a5a },
	};
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 2,
					 .pAllocationInfo = elements };
	void *pointer;

	EXPECT_OK(D3DKMTCreateAllocation(&args));
	EXPECT_EQ(elements[1].hAllocation, elements[0].hAllocation + 0x40);
	EXPECT_EQ(elements[2].hAllocation, 0x5a5a);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT_OK(lock2(device, elements[i].hAllocation, &pointer));
		EXPECT_OK(destroy_one(device, elements[i].hAllocation));
	}
}

TEST(create, says_that_new_pages_are_zero)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	EXPECT_OK(create(&creation));
	EXPECT_EQ(creation.args.Flags.Zeroed, 1);
	EXPECT_OK(destroy_one(device, creation.elements[0].hAllocation));
}

/* ---- in a resource ---- */

TEST(create, the_handle_of_a_new_resource_comes_before_those_of_its_allocations)
{
	struct creation creation;

	creation_init_resource(&creation, device, 2, SHARED_NOT);
	EXPECT_OK(create(&creation));
	EXPECT(is_local_handle(creation.args.hResource));
	EXPECT_EQ(creation.elements[0].hAllocation, creation.args.hResource + 0x40);
	EXPECT_EQ(creation.elements[1].hAllocation, creation.args.hResource + 0x80);
	EXPECT_EQ(creation.args.hGlobalShare, 0);
	EXPECT_OK(destroy_resource(device, creation.args.hResource));
}

TEST(create, adds_to_a_resource_that_is_not_shared)
{
	struct census before = census_of(adapter);
	struct creation creation;
	struct creation more;

	creation_init_resource(&creation, device, 1, SHARED_NOT);
	EXPECT_OK(create(&creation));
	creation_init(&more, device, 2);
	more.args.hResource = creation.args.hResource;
	EXPECT_OK(create(&more));
	EXPECT_EQ(more.args.hResource, creation.args.hResource);
	EXPECT_EQ(census_of(adapter).resources, before.resources + 1);
	EXPECT_EQ(census_of(adapter).allocations, before.allocations + 3);
	/* They go with it. */
	EXPECT_OK(destroy_resource(device, creation.args.hResource));
	EXPECT(!is_alive(device, more.elements[1].hAllocation));
	EXPECT_CENSUS(adapter, before);
}

TEST(create, does_not_add_to_a_shared_resource)
{
	struct creation creation;
	struct creation more;

	for (int sharing = SHARED_GLOBAL; sharing <= SHARED_NT; sharing++) {
		creation_init_resource(&creation, device, 1, sharing);
		EXPECT_OK(create(&creation));
		creation_init(&more, device, 1);
		more.args.hResource = creation.args.hResource;
		EXPECT_NOT_CREATED(&more, STATUS_INVALID_PARAMETER, "API-VALUE", "hResource");
		EXPECT_OK(destroy_resource(device, creation.args.hResource));
	}
}

TEST(create, does_not_add_to_a_resource_of_another_device)
{
	D3DKMT_HANDLE other = create_device(adapter);
	struct creation creation;
	struct creation more;

	creation_init_resource(&creation, other, 1, SHARED_NOT);
	EXPECT_OK(create(&creation));
	creation_init(&more, device, 1);
	more.args.hResource = creation.args.hResource;
	EXPECT_NOT_CREATED(&more, STATUS_INVALID_HANDLE, "API-HANDLE", "hResource");
	EXPECT_OK(destroy_device(other));
}

TEST(create, a_resource_that_is_gone_or_never_was_is_an_invalid_handle)
{
	struct creation creation;
	struct creation more;

	creation_init_resource(&creation, device, 1, SHARED_NOT);
	EXPECT_OK(create(&creation));
	EXPECT_OK(destroy_resource(device, creation.args.hResource));
	creation_init(&more, device, 1);
	more.args.hResource = creation.args.hResource;
	EXPECT_NOT_CREATED(&more, STATUS_INVALID_HANDLE, "API-HANDLE", "hResource");
	more.args.hResource = 0x1eadbeed;
	EXPECT_NOT_CREATED(&more, STATUS_INVALID_HANDLE, "API-HANDLE", "hResource");
	more.args.Flags.CreateResource = 1;
	EXPECT_NOT_CREATED(&more, STATUS_INVALID_HANDLE, "API-HANDLE", "hResource");
}

TEST(create, a_new_resource_is_not_put_into_another)
{
	struct creation creation;
	struct creation more;

	creation_init_resource(&creation, device, 1, SHARED_NOT);
	EXPECT_OK(create(&creation));
	creation_init_resource(&more, device, 1, SHARED_NOT);
	more.args.hResource = creation.args.hResource;
	EXPECT_NOT_CREATED(&more, STATUS_INVALID_PARAMETER, "API-VALUE", "hResource");
	EXPECT_OK(destroy_resource(device, creation.args.hResource));
}

TEST(create, a_globally_shared_resource_has_a_global_handle)
{
	struct creation creation;

	creation_init_resource(&creation, device, 1, SHARED_GLOBAL);
	EXPECT_OK(create(&creation));
	EXPECT((creation.args.hGlobalShare & 0xc0000000) != 0);
	EXPECT_EQ(creation.args.hGlobalShare & 0x3f, 2);
	EXPECT_EQ(creation.elements[0].hAllocation, creation.args.hResource + 0x40);
	EXPECT_OK(destroy_resource(device, creation.args.hResource));
}

TEST(create, a_resource_shared_by_nt_handle_has_no_global_handle)
{
	struct creation creation;

	creation_init_resource(&creation, device, 1, SHARED_NT);
	creation.args.hGlobalShare = 0x1eadbeed;
	EXPECT_OK(create(&creation));
	EXPECT_EQ(creation.args.hGlobalShare, 0);
	EXPECT_OK(destroy_resource(device, creation.args.hResource));
}

/* ---- what is refused ---- */

TEST(create, zeros_are_refused)
{
	D3DKMT_CREATEALLOCATION args = { 0 };

	EXPECT_REFUSED(D3DKMTCreateAllocation(&args), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hDevice");
	EXPECT_REFUSED(D3DKMTCreateAllocation2(&args), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hDevice");
}

TEST(create, a_handle_of_another_kind_is_no_device)
{
	struct creation creation;

	creation_init(&creation, adapter, 1);
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-HANDLE-KIND", "hDevice");
}

TEST(create, no_allocations_are_refused_with_and_without_a_resource)
{
	struct creation creation;

	creation_init(&creation, device, 0);
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-COUNT", "NumAllocations");
	creation.args.Flags.CreateResource = 1;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-COUNT", "NumAllocations");
}

/* Products of these and an element's size wrap around. */
TEST(create, counts_that_no_array_has_are_refused_unread)
{
	static const UINT counts[] = { 0xffffffff, 0xfffffffe, 0x80000000, 0x02aaaaab, 0x06666667 };
	struct creation creation;

	creation_init(&creation, device, 1);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		creation.args.NumAllocations = counts[i];
		EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-COUNT",
				   "NumAllocations");
		EXPECT_REFUSED(D3DKMTCreateAllocation(&creation.args), STATUS_INVALID_PARAMETER,
			       "API-COUNT", "NumAllocations");
	}
}

TEST(create, an_array_that_is_not_there_is_refused)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.args.pAllocationInfo2 = NULL;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
			   "pAllocationInfo");
}

TEST(create, private_data_without_a_pointer_is_refused)
{
	struct creation creation;

	creation_init(&creation, device, 2);
	creation.elements[1].pPrivateDriverData = NULL;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
			   "pAllocationInfo");
	EXPECT_EQ(last_refusal().index, 1);
	EXPECT_CONTAINS(last_refusal().reason, "pPrivateDriverData");
	creation_init(&creation, device, 1);
	creation.args.PrivateDriverDataSize = 4;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
			   "pPrivateDriverData");
	creation_init(&creation, device, 1);
	creation.args.PrivateRuntimeDataSize = 4;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
			   "pPrivateRuntimeData");
}

TEST(create, private_data_of_four_gigabytes_is_refused_unread)
{
	struct creation creation;

	for (unsigned count = 1; count < 4; count++) {
		creation_init(&creation, device, count);
		creation.elements[count - 1].PrivateDriverDataSize = 0xffffffff;
		EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-COUNT",
				   "pAllocationInfo");
		EXPECT_EQ(last_refusal().index, count - 1);
		EXPECT_CONTAINS(last_refusal().reason, "PrivateDriverDataSize");
	}
	creation_init(&creation, device, 1);
	creation.args.pPrivateRuntimeData = &creation;
	creation.args.PrivateRuntimeDataSize = 0xfffffff0;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-COUNT",
			   "PrivateRuntimeDataSize");
}

/* Each of these bits alone. */
static void expect_flags_refused(UINT bits, NTSTATUS status, const char *rule)
{
	struct creation creation;

	for (UINT bit = 1; bit != 0; bit <<= 1) {
		if (!(bits & bit))
			continue;
		creation_init(&creation, device, 1);
		set_flags(&creation, bit);
		EXPECT_NOT_CREATED(&creation, status, rule, "Flags");
	}
}

TEST(create, reserved_flags_are_refused)
{
	expect_flags_refused(0xffc00000, STATUS_INVALID_PARAMETER, "API-RESERVED");
}

TEST(create, flags_of_kernel_mode_creators_are_refused)
{
	expect_flags_refused(0x8 | 0x100 | 0x200 | 0x1000, STATUS_INVALID_PARAMETER,
			     "API-RESERVED");
}

TEST(create, sharing_needs_a_resource)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.args.Flags.CreateShared = 1;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
	creation.args.Flags.NtSecuritySharing = 1;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
}

TEST(create, nt_handles_need_sharing)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.NtSecuritySharing = 1;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
}

TEST(create, flags_that_ask_for_nothing_more_are_accepted)
{
	/* NonSecure, SwapChainBackBuffer, CrossAdapter, PartialSharedCreation, Zeroed,
	   AllowNotZeroed, SharedDisplayable. */
	static const UINT flags[] = { 0x4, 0x400, 0x800, 0x2000, 0x4000, 0x40000, 0x200000 };
	struct creation creation;

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		creation_init(&creation, device, 1);
		set_flags(&creation, flags[i]);
		EXPECT_OK(create(&creation));
		EXPECT_OK(destroy_one(device, creation.elements[0].hAllocation));
	}
}

/* RestrictSharedAccess, WriteWatch, PhysicallyContiguous, NoKmdAccess: a client that set one relies
   on it. */
TEST(create, flags_that_promise_what_is_not_kept_are_said_to_be_not_built)
{
	expect_flags_refused(0x10 | 0x8000 | 0x80000 | 0x100000, STATUS_NOT_SUPPORTED,
			     "API-NOT-BUILT");
}

TEST(create, reserved_flags_of_any_element_are_refused)
{
	struct creation creation;

	for (unsigned bit = 3; bit < 32; bit++) {
		creation_init(&creation, device, 3);
		creation.elements[2].Flags.Value = 1u << bit;
		EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-RESERVED",
				   "pAllocationInfo");
		EXPECT_EQ(last_refusal().index, 2);
	}
}

/* Bit 2 came with version 2. */
TEST(create, version_1_has_no_priority_flag)
{
	struct softgpu_allocation data = { SOFTGPU_ALLOCATION_VERSION, 0, PAGE, 0 };
	D3DDDI_ALLOCATIONINFO element = { .pPrivateDriverData = &data,
					  .PrivateDriverDataSize = sizeof(data) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo = &element };

	element.Flags.Value = 4;
	EXPECT_REFUSED(D3DKMTCreateAllocation(&args), STATUS_INVALID_PARAMETER, "API-RESERVED",
		       "pAllocationInfo");
}

TEST(create, primaries_need_a_display)
{
	struct creation creation;

	for (UINT flags = 1; flags <= 3; flags++) {
		creation_init(&creation, device, 2);
		creation.elements[1].Flags.Value = flags;
		EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-VALUE",
				   "pAllocationInfo");
		EXPECT_EQ(last_refusal().index, 1);
	}
}

TEST(create, a_source_belongs_to_a_primary)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.elements[0].VidPnSourceId = 1;
	EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "API-VALUE", "pAllocationInfo");
}

TEST(create, no_source_is_named_by_its_name)
{
	struct creation creation;

	for (unsigned count = 1; count <= 2; count++) {
		creation_init(&creation, device, count);
		for (unsigned i = 0; i < count; i++)
			creation.elements[i].VidPnSourceId = D3DDDI_ID_UNINITIALIZED;
		EXPECT_OK(create(&creation));
	}
}

/* ---- the driver's word ---- */

TEST(create, what_the_driver_refuses_is_refused_whole_with_its_status)
{
	struct creation creation;

	for (unsigned spoiled = 0; spoiled < 4; spoiled++) {
		creation_init_resource(&creation, device, 4, SHARED_GLOBAL);
		creation.data[spoiled].size_bytes = 0;
		EXPECT_NOT_CREATED(&creation, STATUS_INVALID_PARAMETER, "DDI-STATUS",
				   "DxgkDdiCreateAllocation");
		creation_init(&creation, device, 4);
		creation.data[spoiled].version = 99;
		EXPECT_NOT_CREATED(&creation, STATUS_GRAPHICS_DRIVER_MISMATCH, "DDI-STATUS",
				   "DxgkDdiCreateAllocation");
	}
}

TEST(create, numbers_of_what_was_refused_are_not_used_again_at_once)
{
	struct creation creation;
	D3DKMT_HANDLE before = create_one(device);

	creation_init(&creation, device, 2);
	creation.data[1].version = 99;
	EXPECT_EQ(create(&creation), STATUS_GRAPHICS_DRIVER_MISMATCH);
	D3DKMT_HANDLE after = create_one(device);
	EXPECT(after > before);
	EXPECT_OK(destroy_one(device, before));
	EXPECT_OK(destroy_one(device, after));
}

/* ---- priorities ---- */

static UINT priority_of(D3DKMT_HANDLE allocation)
{
	UINT priority = 0;
	D3DKMT_GETALLOCATIONPRIORITY args = { .hDevice = device,
					      .phAllocationList = &allocation,
					      .AllocationCount = 1,
					      .pPriorities = &priority };

	EXPECT_OK(D3DKMTGetAllocationPriority(&args));
	return priority;
}

TEST(create, the_driver_gives_the_first_priority)
{
	D3DKMT_HANDLE allocation = create_one(device);

	EXPECT_EQ(priority_of(allocation), D3DDDI_ALLOCATIONPRIORITY_NORMAL);
	EXPECT_OK(destroy_one(device, allocation));
}

TEST(create, the_client_overrides_the_priority_only_with_the_flag)
{
	struct creation creation;

	creation_init(&creation, device, 2);
	creation.elements[0].Priority = D3DDDI_ALLOCATIONPRIORITY_HIGH;
	creation.elements[1].Priority = D3DDDI_ALLOCATIONPRIORITY_HIGH;
	creation.elements[1].Flags.OverridePriority = 1;
	EXPECT_OK(create(&creation));
	EXPECT_EQ(priority_of(creation.elements[0].hAllocation), D3DDDI_ALLOCATIONPRIORITY_NORMAL);
	EXPECT_EQ(priority_of(creation.elements[1].hAllocation), D3DDDI_ALLOCATIONPRIORITY_HIGH);
	for (unsigned i = 0; i < 2; i++)
		EXPECT_OK(destroy_one(device, creation.elements[i].hAllocation));
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		adapter = open_first_adapter();
		device = create_device(adapter);
		/* What is made once and kept is there before anything is counted. */
		destroy_one(device, create_one(device));
	}
	return api_main("api/allocation_create", argc, argv);
}
