/* SPDX-License-Identifier: MIT */
/*
 * allocation_property_test.c - priorities, residency, cache ranges: "a resource or a list".
 */
#include <opendxgk/name.h>

#include "api/allocation.h"

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

/* Each is asked of a resource or a list, and has an array of its own. */
#define DEFINE_ASK(name, type, member, arguments, call)                                            \
	static NTSTATUS name(D3DKMT_HANDLE resource, const D3DKMT_HANDLE *list, UINT count,        \
			     type *array)                                                          \
	{                                                                                          \
		return call(&(arguments){ .hDevice = device,                                       \
					  .hResource = resource,                                   \
					  .phAllocationList = list,                                \
					  .AllocationCount = count,                                \
					  .member = array });                                      \
	}

DEFINE_ASK(set_priorities, const UINT, pPriorities, D3DKMT_SETALLOCATIONPRIORITY,
	   D3DKMTSetAllocationPriority)
DEFINE_ASK(get_priorities, UINT, pPriorities, D3DKMT_GETALLOCATIONPRIORITY,
	   D3DKMTGetAllocationPriority)
DEFINE_ASK(get_residency, D3DKMT_ALLOCATIONRESIDENCYSTATUS, pResidencyStatus,
	   D3DKMT_QUERYALLOCATIONRESIDENCY, D3DKMTQueryAllocationResidency)

static D3DKMT_HANDLE create_three(D3DKMT_HANDLE *handles)
{
	struct creation creation;

	creation_init_resource(&creation, device, 3, SHARED_NOT);
	EXPECT_OK(create(&creation));
	for (unsigned i = 0; i < 3; i++)
		handles[i] = creation.elements[i].hAllocation;
	return creation.args.hResource;
}

/* ---- priority ---- */

TEST(priority, a_list_takes_one_value_each)
{
	static const UINT values[3] = { 0x28000000, 0x78000001, 0xc8000000 };
	D3DKMT_HANDLE handles[3];
	D3DKMT_HANDLE resource = create_three(handles);
	UINT got[4] = { 0, 0, 0, 0x5a5a };

	EXPECT_OK(set_priorities(0, handles, 3, values));
	EXPECT_OK(get_priorities(0, handles, 3, got));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(got[i], values[i]);
	EXPECT_EQ(got[3], 0x5a5a);
	EXPECT_OK(destroy_resource(device, resource));
}

TEST(priority, any_value_is_allowed)
{
	static const UINT values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
	D3DKMT_HANDLE handle = create_one(device);
	UINT got;

	for (unsigned i = 0; i < 5; i++) {
		EXPECT_OK(set_priorities(0, &handle, 1, &values[i]));
		EXPECT_OK(get_priorities(0, &handle, 1, &got));
		EXPECT_EQ(got, values[i]);
	}
	EXPECT_OK(destroy_one(device, handle));
}

TEST(priority, a_resource_takes_one_value_for_all_and_gives_one_back)
{
	static const UINT value[2] = { D3DDDI_ALLOCATIONPRIORITY_LOW, 7 };
	D3DKMT_HANDLE handles[3];
	D3DKMT_HANDLE resource = create_three(handles);
	UINT got[3] = { 0, 0x5a5a, 0x5a5a };

	EXPECT_OK(set_priorities(resource, NULL, 0, value));
	EXPECT_OK(get_priorities(resource, NULL, 0, got));
	EXPECT_EQ(got[0], value[0]);
	EXPECT_EQ(got[1], 0x5a5a);
	EXPECT_OK(get_priorities(0, handles, 3, got));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(got[i], value[0]);
	EXPECT_OK(destroy_resource(device, resource));
}

TEST(priority, one_bad_handle_changes_nothing)
{
	static const UINT values[2] = { 1, 2 };
	D3DKMT_HANDLE handle = create_one(device);
	UINT got;

	EXPECT_REFUSED(set_priorities(0, (D3DKMT_HANDLE[]){ handle, 0x1eadbeed }, 2, values),
		       STATUS_INVALID_PARAMETER, "API-HANDLE", "phAllocationList");
	EXPECT_OK(get_priorities(0, &handle, 1, &got));
	EXPECT_EQ(got, D3DDDI_ALLOCATIONPRIORITY_NORMAL);
	EXPECT_OK(destroy_one(device, handle));
}

TEST(priority, values_and_lists_that_are_not_there_are_refused)
{
	D3DKMT_HANDLE handle = create_one(device);
	UINT value = 1;

	EXPECT_REFUSED(set_priorities(0, &handle, 1, NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPriorities");
	EXPECT_REFUSED(get_priorities(0, &handle, 1, NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPriorities");
	EXPECT_REFUSED(set_priorities(0, NULL, 1, &value), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "phAllocationList");
	EXPECT_REFUSED(get_priorities(0, NULL, 1, &value), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "phAllocationList");
	EXPECT_OK(destroy_one(device, handle));
}

TEST(priority, a_resource_together_with_a_list_is_refused)
{
	D3DKMT_HANDLE handles[3];
	D3DKMT_HANDLE resource = create_three(handles);
	UINT values[3] = { 1, 2, 3 };

	EXPECT_REFUSED(set_priorities(resource, handles, 3, values), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "phAllocationList");
	EXPECT_REFUSED(set_priorities(resource, NULL, 3, values), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "AllocationCount");
	EXPECT_REFUSED(get_priorities(resource, handles, 3, values), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "phAllocationList");
	EXPECT_OK(destroy_resource(device, resource));
}

TEST(priority, what_has_another_kind_is_no_resource)
{
	D3DKMT_HANDLE handle = create_one(device);
	UINT value = 1;

	EXPECT_REFUSED(set_priorities(handle, NULL, 0, &value), STATUS_INVALID_PARAMETER,
		       "API-HANDLE", "hResource");
	EXPECT_REFUSED(get_priorities(handle, NULL, 0, &value), STATUS_INVALID_PARAMETER,
		       "API-HANDLE", "hResource");
	EXPECT_OK(destroy_one(device, handle));
}

/* compute-runtime sets the priority of what it may have destroyed meanwhile. */
TEST(priority, an_empty_list_changes_nothing_and_succeeds)
{
	UINT value = 1;

	EXPECT_OK(set_priorities(0, NULL, 0, &value));
	EXPECT_OK(get_priorities(0, NULL, 0, &value));
}

/* ---- residency ---- */

TEST(residency, what_nobody_made_resident_is_not)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS got[4] = { 0 };
	D3DKMT_HANDLE handles[3];
	D3DKMT_HANDLE resource = create_three(handles);
	void *pointer;

	EXPECT_OK(lock2(device, handles[1], &pointer));
	EXPECT_OK(get_residency(0, handles, 3, got));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(got[i], D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT);
	EXPECT_EQ(got[3], 0);
	EXPECT_OK(destroy_resource(device, resource));
}

TEST(residency, a_resource_has_one_answer)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS got[2] = { 0 };
	D3DKMT_HANDLE handles[3];
	D3DKMT_HANDLE resource = create_three(handles);

	EXPECT_OK(get_residency(resource, NULL, 0, got));
	EXPECT_EQ(got[0], D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT);
	EXPECT_EQ(got[1], 0);
	EXPECT_OK(destroy_resource(device, resource));
}

TEST(residency, bad_handles_and_pointers_are_refused)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS got[2] = { 0 };
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_REFUSED(get_residency(0, &handle, 1, NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pResidencyStatus");
	EXPECT_REFUSED(get_residency(0, (D3DKMT_HANDLE[]){ handle, device }, 2, got),
		       STATUS_INVALID_PARAMETER, "API-HANDLE", "phAllocationList");
	EXPECT_EQ(got[0], 0);
	EXPECT_REFUSED(get_residency(handle, NULL, 0, got), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hResource");
	EXPECT_REFUSED(get_residency(0, NULL, 1, got), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "phAllocationList");
	EXPECT_OK(destroy_one(device, handle));
}

/* ---- caches ---- */

static NTSTATUS invalidate(D3DKMT_HANDLE allocation, unsigned long long offset,
			   unsigned long long length)
{
	return D3DKMTInvalidateCache(
		&(D3DKMT_INVALIDATECACHE){ device, allocation, offset, length });
}

TEST(cache, a_range_inside_is_fine)
{
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_OK(invalidate(handle, 0, SOME_BYTES));
	EXPECT_OK(invalidate(handle, 1, 1));
	EXPECT_OK(invalidate(handle, SOME_BYTES - 1, 1));
	EXPECT_OK(invalidate(handle, SOME_BYTES, 0));
	EXPECT_OK(destroy_one(device, handle));
}

TEST(cache, a_range_that_leaves_the_allocation_is_refused)
{
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_REFUSED(invalidate(handle, 0, SOME_BYTES + 1), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "Length");
	EXPECT_REFUSED(invalidate(handle, SOME_BYTES + 1, 0), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "Offset");
	EXPECT_REFUSED(invalidate(handle, 2, ~0ull), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "Length");
	EXPECT_REFUSED(invalidate(handle, ~0ull, 2), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "Offset");
	EXPECT_REFUSED(invalidate(device, 0, 0), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hAllocation");
	EXPECT_OK(destroy_one(device, handle));
}

/* ---- names, for traces ---- */

static NTSTATUS name(D3DKMT_HANDLE of_device, D3DKMT_HANDLE allocation, const char *text)
{
	DXGK_ALLOCATIONNAME args = { .hDevice = of_device, .hAllocation = allocation };

	snprintf(args.Name, sizeof(args.Name), "%s", text);
	return DxgkNameAllocation(&args);
}

TEST(name, is_taken_and_may_be_given_again)
{
	D3DKMT_HANDLE handle = create_one(device);

	EXPECT_OK(name(device, handle, "shadow map \xc3\xa9"));
	EXPECT_OK(name(device, handle, ""));
	EXPECT_OK(name(device, handle, "shadow map"));
	EXPECT_OK(destroy_one(device, handle));
}

TEST(name, without_an_end_or_of_nothing_is_refused)
{
	D3DKMT_HANDLE handle = create_one(device);
	DXGK_ALLOCATIONNAME args = { .hDevice = device, .hAllocation = handle };

	memset(args.Name, 'x', sizeof(args.Name));
	EXPECT_REFUSED(DxgkNameAllocation(&args), STATUS_INVALID_PARAMETER, "API-VALUE", "Name");
	EXPECT_REFUSED(name(0, handle, "nobody's"), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hDevice");
	EXPECT_REFUSED(name(device, device, "a device"), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hAllocation");
	EXPECT_OK(destroy_one(device, handle));
	EXPECT_REFUSED(name(device, handle, "gone"), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hAllocation");
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		adapter = open_first_adapter();
		device = create_device(adapter);
	}
	return api_main("api/allocation_property", argc, argv);
}
