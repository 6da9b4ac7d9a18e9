/* SPDX-License-Identifier: MIT */
/*
 * allocation_destroy_test.c - D3DKMTDestroyAllocation and …2: all that is named, or nothing.
 */
#include "api/allocation.h"

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

/* Refused whole: everything in `handles` is still there. */
#define EXPECT_NOT_DESTROYED(call, rule, argument, handles, count)                                 \
	do {                                                                                       \
		struct census census_before = census_of(adapter);                                  \
		EXPECT_REFUSED(call, STATUS_INVALID_PARAMETER, rule, argument);                    \
		EXPECT_CENSUS(adapter, census_before);                                             \
		for (unsigned alive = 0; alive < (count); alive++)                                 \
			EXPECT(is_alive(device, (handles)[alive]));                                \
	} while (0)

static void create_some(unsigned count, D3DKMT_HANDLE *handles)
{
	struct creation creation;

	creation_init(&creation, device, count);
	EXPECT_OK(create(&creation));
	for (unsigned i = 0; i < count; i++)
		handles[i] = creation.elements[i].hAllocation;
}

static D3DKMT_HANDLE create_some_in_resource(unsigned count, D3DKMT_HANDLE *handles)
{
	struct creation creation;

	creation_init_resource(&creation, device, count, SHARED_NOT);
	EXPECT_OK(create(&creation));
	for (unsigned i = 0; i < count; i++)
		handles[i] = creation.elements[i].hAllocation;
	return creation.args.hResource;
}

/* ---- a list ---- */

TEST(destroy, a_list_destroys_what_it_names_and_no_other)
{
	struct census before = census_of(adapter);
	D3DKMT_HANDLE handles[4];

	create_some(4, handles);
	EXPECT_OK(destroy_list(device, (D3DKMT_HANDLE[]){ handles[2], handles[0] }, 2));
	EXPECT(!is_alive(device, handles[0]));
	EXPECT(is_alive(device, handles[1]));
	EXPECT(!is_alive(device, handles[2]));
	EXPECT(is_alive(device, handles[3]));
	EXPECT_OK(destroy_list(device, (D3DKMT_HANDLE[]){ handles[1], handles[3] }, 2));
	EXPECT_CENSUS(adapter, before);
}

TEST(destroy, a_second_time_is_refused)
{
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_OK(destroy_one(device, handle));
	EXPECT_REFUSED(destroy_one(device, handle), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "phAllocationList");
	EXPECT_EQ(last_refusal().index, 0);
}

TEST(destroy, neither_list_nor_resource_succeeds_and_destroys_nothing)
{
	D3DKMT_DESTROYALLOCATION args = { .hDevice = device };
	D3DKMT_DESTROYALLOCATION2 args2 = { .hDevice = device };
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_OK(D3DKMTDestroyAllocation(&args));
	EXPECT_OK(D3DKMTDestroyAllocation2(&args2));
	/* A list that is there and of which nothing is named. */
	EXPECT_OK(destroy_list(device, &handle, 0));
	EXPECT(is_alive(device, handle));
	EXPECT_OK(destroy_one(device, handle));
}

TEST(destroy, a_count_without_a_list_is_refused)
{
	EXPECT_REFUSED(destroy_list(device, NULL, 1), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "phAllocationList");
}

TEST(destroy, a_count_that_no_list_has_is_refused_unread)
{
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_NOT_DESTROYED(destroy_list(device, &handle, 0xffffffff), "API-COUNT",
			     "AllocationCount", &handle, 1);
	EXPECT_NOT_DESTROYED(destroy_list(device, &handle, 0x40000001), "API-COUNT",
			     "AllocationCount", &handle, 1);
	EXPECT_OK(destroy_one(device, handle));
}

TEST(destroy, without_a_device_is_refused)
{
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_NOT_DESTROYED(destroy_one(0, handle), "API-HANDLE", "hDevice", &handle, 1);
	EXPECT_NOT_DESTROYED(destroy_one(adapter, handle), "API-HANDLE-KIND", "hDevice", &handle,
			     1);
	EXPECT_OK(destroy_one(device, handle));
}

TEST(destroy, a_handle_twice_in_one_list_is_refused_whole)
{
	D3DKMT_HANDLE handles[3];

	create_some(3, handles);
	EXPECT_NOT_DESTROYED(
		destroy_list(device, (D3DKMT_HANDLE[]){ handles[0], handles[1], handles[0] }, 3),
		"API-HANDLE", "phAllocationList", handles, 3);
	EXPECT_EQ(last_refusal().index, 2);
	EXPECT_OK(destroy_list(device, handles, 3));
}

TEST(destroy, a_stale_handle_anywhere_in_the_list_is_refused_whole)
{
	D3DKMT_HANDLE handles[4];

	create_some(4, handles);
	EXPECT_OK(destroy_one(device, handles[3]));
	for (unsigned at = 0; at < 4; at++) {
		D3DKMT_HANDLE list[4] = { handles[0], handles[1], handles[2], 0 };
		list[3] = list[at];
		list[at] = handles[3];
		EXPECT_NOT_DESTROYED(destroy_list(device, list, 4), "API-HANDLE",
				     "phAllocationList", handles, 3);
		EXPECT_EQ(last_refusal().index, at);
	}
	EXPECT_OK(destroy_list(device, handles, 3));
}

TEST(destroy, a_handle_of_another_kind_is_refused_whole)
{
	D3DKMT_HANDLE context = create_context(device);
	D3DKMT_HANDLE handles[2];
	D3DKMT_HANDLE in_resource[1];
	D3DKMT_HANDLE resource = create_some_in_resource(1, in_resource);
	const D3DKMT_HANDLE wrong[] = { 0, device, adapter, context, resource, 0x1eadbeed };

	create_some(2, handles);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		D3DKMT_HANDLE list[3] = { handles[0], handles[1], wrong[i] };
		EXPECT_NOT_DESTROYED(destroy_list(device, list, 3), "API-HANDLE",
				     "phAllocationList", handles, 2);
	}
	/* As a resource, too. */
	EXPECT_NOT_DESTROYED(destroy_resource(device, handles[0]), "API-HANDLE", "hResource",
			     handles, 2);
	EXPECT_OK(destroy_list(device, handles, 2));
	EXPECT_OK(destroy_resource(device, resource));
	EXPECT_OK(destroy_context(context));
}

TEST(destroy, a_handle_of_a_foreign_device_is_refused_whole)
{
	D3DKMT_HANDLE other = create_device(adapter);
	D3DKMT_HANDLE foreign = create_one(other);
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_NOT_DESTROYED(destroy_list(device, (D3DKMT_HANDLE[]){ handle, foreign }, 2),
			     "API-HANDLE", "phAllocationList", &handle, 1);
	EXPECT(is_alive(other, foreign));
	EXPECT_OK(destroy_one(device, handle));
	EXPECT_OK(destroy_one(other, foreign));
	EXPECT_OK(destroy_device(other));
}

/* ---- resources ---- */

TEST(destroy, a_resource_goes_with_everything_in_it)
{
	struct census before = census_of(adapter);
	D3DKMT_HANDLE handles[3];
	D3DKMT_HANDLE resource = create_some_in_resource(3, handles);

	EXPECT_OK(destroy_resource(device, resource));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_REFUSED(destroy_one(device, handles[i]), STATUS_INVALID_PARAMETER,
			       "API-HANDLE", "phAllocationList");
	EXPECT_REFUSED(destroy_resource(device, resource), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hResource");
	EXPECT_CENSUS(adapter, before);
}

TEST(destroy, a_resource_of_many_goes_at_once)
{
	enum { MANY = 40 };
	struct census before = census_of(adapter);
	struct creation creation;
	D3DKMT_HANDLE resource = 0;

	for (unsigned made = 0; made < MANY; made += 10) {
		creation_init(&creation, device, 10);
		creation.args.hResource = resource;
		creation.args.Flags.CreateResource = resource == 0;
		EXPECT_OK(create(&creation));
		resource = creation.args.hResource;
	}
	EXPECT_EQ(census_of(adapter).allocations, before.allocations + MANY);
	EXPECT_OK(destroy_resource(device, resource));
	EXPECT_CENSUS(adapter, before);
}

TEST(destroy, some_of_a_resource_leave_it_alive)
{
	struct census before = census_of(adapter);
	D3DKMT_HANDLE handles[3];
	D3DKMT_HANDLE resource = create_some_in_resource(3, handles);
	struct creation more;

	EXPECT_OK(destroy_list(device, handles, 3));
	EXPECT_EQ(census_of(adapter).allocations, before.allocations);
	EXPECT_EQ(census_of(adapter).resources, before.resources + 1);
	/* It can be filled again. */
	creation_init(&more, device, 1);
	more.args.hResource = resource;
	EXPECT_OK(create(&more));
	EXPECT_OK(destroy_one(device, more.elements[0].hAllocation));
	EXPECT_OK(destroy_resource(device, resource));
	EXPECT_CENSUS(adapter, before);
}

TEST(destroy, a_list_that_mixes_resources_is_refused_whole)
{
	D3DKMT_HANDLE first[2];
	D3DKMT_HANDLE second[2];
	D3DKMT_HANDLE one = create_some_in_resource(2, first);
	D3DKMT_HANDLE two = create_some_in_resource(2, second);
	D3DKMT_HANDLE alone = create_one(device);
	const D3DKMT_HANDLE all[] = { first[0], first[1], second[0], second[1], alone };

	EXPECT_NOT_DESTROYED(
		destroy_list(device, (D3DKMT_HANDLE[]){ first[0], first[1], second[0] }, 3),
		"API-VALUE", "phAllocationList", all, 5);
	EXPECT_EQ(last_refusal().index, 2);
	EXPECT_NOT_DESTROYED(destroy_list(device, (D3DKMT_HANDLE[]){ first[0], alone }, 2),
			     "API-VALUE", "phAllocationList", all, 5);
	EXPECT_NOT_DESTROYED(destroy_list(device, (D3DKMT_HANDLE[]){ alone, first[0] }, 2),
			     "API-VALUE", "phAllocationList", all, 5);
	EXPECT_OK(destroy_one(device, alone));
	EXPECT_OK(destroy_resource(device, one));
	EXPECT_OK(destroy_resource(device, two));
}

TEST(destroy, a_resource_together_with_a_list_is_refused)
{
	D3DKMT_HANDLE handles[2];
	D3DKMT_HANDLE resource = create_some_in_resource(2, handles);
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device,
					   .hResource = resource,
					   .phAllocationList = handles,
					   .AllocationCount = 2 };

	EXPECT_NOT_DESTROYED(D3DKMTDestroyAllocation2(&args), "API-VALUE", "phAllocationList",
			     handles, 2);
	EXPECT_OK(destroy_resource(device, resource));
}

TEST(destroy, the_count_beside_a_resource_is_ignored)
{
	D3DKMT_HANDLE handles[1];
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device,
					   .hResource = create_some_in_resource(1, handles),
					   .AllocationCount = 0xffffffff };

	EXPECT_OK(D3DKMTDestroyAllocation2(&args));
	EXPECT(!is_alive(device, handles[0]));
}

/* As clients do that use one struct for lists and for resources. */
TEST(destroy, a_list_of_none_beside_a_resource_is_ignored)
{
	for (int version = 1; version <= 2; version++) {
		D3DKMT_HANDLE handles[2];
		D3DKMT_HANDLE resource = create_some_in_resource(2, handles);
		D3DKMT_HANDLE alone = create_one(device);
		D3DKMT_DESTROYALLOCATION args = { .hDevice = device,
						  .hResource = resource,
						  .phAllocationList = &alone };
		D3DKMT_DESTROYALLOCATION2 args2 = { .hDevice = device,
						    .hResource = resource,
						    .phAllocationList = &alone };

		EXPECT_OK(version == 1 ? D3DKMTDestroyAllocation(&args)
				       : D3DKMTDestroyAllocation2(&args2));
		EXPECT(!is_alive(device, handles[0]) && !is_alive(device, handles[1]));
		EXPECT(is_alive(device, alone));
		EXPECT_REFUSED(version == 1 ? D3DKMTDestroyAllocation(&args)
					    : D3DKMTDestroyAllocation2(&args2),
			       STATUS_INVALID_PARAMETER, "API-HANDLE", "hResource");
		EXPECT_OK(destroy_one(device, alone));
	}
}

TEST(destroy, a_resource_of_a_foreign_device_is_refused)
{
	D3DKMT_HANDLE other = create_device(adapter);
	D3DKMT_HANDLE handles[1];
	D3DKMT_HANDLE resource = create_some_in_resource(1, handles);

	EXPECT_NOT_DESTROYED(destroy_resource(other, resource), "API-HANDLE", "hResource", handles,
			     1);
	EXPECT_OK(destroy_resource(device, resource));
	EXPECT_OK(destroy_device(other));
}

/* ---- flags ---- */

TEST(destroy, each_combination_of_the_two_flags_destroys)
{
	struct census before = census_of(adapter);

	for (UINT flags = 0; flags < 4; flags++) {
		D3DKMT_HANDLE handle = create_one(device);
		D3DKMT_HANDLE handles[2];
		D3DKMT_DESTROYALLOCATION2 list = { .hDevice = device,
						   .phAllocationList = &handle,
						   .AllocationCount = 1 };
		D3DKMT_DESTROYALLOCATION2 whole = { .hDevice = device };
		list.Flags.Value = flags;
		whole.Flags.Value = flags;
		whole.hResource = create_some_in_resource(2, handles);
		EXPECT_OK(D3DKMTDestroyAllocation2(&list));
		EXPECT_OK(D3DKMTDestroyAllocation2(&whole));
		/* The handles are dead on return in every case. */
		EXPECT(!is_alive(device, handle));
		EXPECT(!is_alive(device, handles[1]));
	}
	EXPECT_CENSUS(adapter, before);
}

TEST(destroy, reserved_flags_are_refused)
{
	D3DKMT_HANDLE handle = create_one(device);

	for (unsigned bit = 2; bit < 32; bit++) {
		D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device,
						   .phAllocationList = &handle,
						   .AllocationCount = 1 };
		args.Flags.Value = 1u << bit;
		EXPECT_NOT_DESTROYED(D3DKMTDestroyAllocation2(&args), "API-RESERVED", "Flags",
				     &handle, 1);
	}
	EXPECT_OK(destroy_one(device, handle));
}

/* Where version 2 has its flags, version 1 has nothing. */
TEST(destroy, garbage_behind_version_1_is_not_read)
{
	D3DKMT_HANDLE handle = create_one(device);
	union {
		D3DKMT_DESTROYALLOCATION args;
		unsigned char bytes[sizeof(D3DKMT_DESTROYALLOCATION)];
	} call;

	memset(call.bytes, 0xff, sizeof(call.bytes));
	call.args.hDevice = device;
	call.args.hResource = 0;
	call.args.phAllocationList = &handle;
	call.args.AllocationCount = 1;
	EXPECT_OK(D3DKMTDestroyAllocation(&call.args));
	EXPECT(!is_alive(device, handle));
}

/* ---- with the device ---- */

TEST(destroy, a_device_takes_everything_with_it)
{
	struct census before;
	D3DKMT_HANDLE other;
	struct creation creation;

	/* What a device costs when it is gone is nothing. */
	other = create_device(adapter);
	EXPECT_OK(destroy_device(other));
	before = census_of(adapter);
	other = create_device(adapter);
	create_one(other);
	creation_init_resource(&creation, other, 12, SHARED_NOT);
	EXPECT_OK(create(&creation));
	creation_init_resource(&creation, other, 3, SHARED_GLOBAL);
	EXPECT_OK(create(&creation));
	creation_init_resource(&creation, other, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	create_one(other);
	EXPECT_OK(destroy_device(other));
	EXPECT_CENSUS(adapter, before);
	EXPECT_REFUSED(destroy_one(other, creation.elements[0].hAllocation),
		       STATUS_INVALID_PARAMETER, "API-HANDLE", "hDevice");
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		adapter = open_first_adapter();
		device = create_device(adapter);
		/* What is made once and kept is there before anything is counted. */
		struct creation creation;
		creation_init_resource(&creation, device, 1, SHARED_GLOBAL);
		EXPECT_OK(create(&creation));
		EXPECT_OK(destroy_resource(device, creation.args.hResource));
	}
	return api_main("api/allocation_destroy", argc, argv);
}
