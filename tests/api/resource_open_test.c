/* SPDX-License-Identifier: MIT */
/*
 * resource_open_test.c - shared resources on a second device, by global handle and by NT handle.
 *
 * What an opening gets back (pointers into the total buffer, what is not written) is what Windows
 * was observed to do.
 */
#include "api/resource.h"

/* ---- open ---- */

TEST(open, gives_handles_of_its_own_and_points_into_the_total_buffer)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening opening;
		unsigned at = 0;

		share_for(door, &shared, 3);
		opening_init(&opening, &shared);
		opening.v1[3].hAllocation = 0x5a5a;
		opening.v2[3].hAllocation = 0x5a5a;
		EXPECT_OK(open_by(door, &shared, &opening));
		EXPECT(is_local_handle(opening.resource));
		EXPECT(opening.resource != shared.creation.args.hResource);
		EXPECT_EQ(opening.total_bytes, 3 * sizeof(struct softgpu_allocation));
		for (unsigned i = 0; i < 3; i++) {
			struct softgpu_allocation data; /* packed in the buffer, so not aligned */
			memcpy(&data, opening.private_data[i], sizeof(data));
			EXPECT(is_local_handle(opening.allocations[i]));
			EXPECT(opening.allocations[i] != shared.creation.elements[i].hAllocation);
			EXPECT(opening.private_data[i] == opening.total + at);
			EXPECT_EQ(opening.private_bytes[i], sizeof(data));
			EXPECT_EQ(data.size_bytes, PAGE * (i + 1));
			at += sizeof(data);
		}
		EXPECT_EQ(opening.total[at], 0xcc);
		EXPECT_EQ(opening.v1[3].hAllocation, 0x5a5a);
		EXPECT_EQ(opening.v2[3].hAllocation, 0x5a5a);
		EXPECT(memcmp(opening.runtime, shared.runtime, RUNTIME_BYTES) == 0);
		if (door == BY_NT) {
			EXPECT_EQ(opening.nt.hKeyedMutex, 0);
			EXPECT_EQ(opening.nt.hSyncObject, 0);
			EXPECT_EQ(opening.nt.KeyedMutexPrivateRuntimeDataSize, 0);
		}
		EXPECT_OK(destroy_resource(opener, opening.resource));
		share_end(door, &shared);
	}
}

TEST(open, what_the_client_had_in_the_elements_is_neither_read_nor_written)
{
	for (enum door door = 0; door < DOORS; door++) {
		unsigned char mine[64];
		struct shared shared;
		struct opening opening;

		share_for(door, &shared, 1);
		opening_init(&opening, &shared);
		memset(mine, 0x77, sizeof(mine));
		opening.v1[0].pPrivateDriverData = mine;
		opening.v1[0].PrivateDriverDataSize = sizeof(mine);
		opening.v2[0].pPrivateDriverData = mine;
		opening.v2[0].PrivateDriverDataSize = sizeof(mine);
		EXPECT_OK(open_by(door, &shared, &opening));
		EXPECT(opening.private_data[0] == opening.total);
		EXPECT_EQ(mine[0], 0x77);
		EXPECT_OK(destroy_resource(opener, opening.resource));
		share_end(door, &shared);
	}
}

TEST(open, each_opening_has_fresh_handles_also_on_the_creators_device)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening first;
		struct opening second;

		share_for(door, &shared, 1);
		opening_init(&first, &shared);
		opening_init(&second, &shared);
		second.device = creator;
		EXPECT_OK(open_by(door, &shared, &first));
		EXPECT_OK(open_by(door, &shared, &second));
		EXPECT(first.resource != second.resource);
		EXPECT(first.allocations[0] != second.allocations[0]);
		EXPECT_OK(destroy_resource(creator, second.resource));
		EXPECT(is_alive(opener, first.allocations[0]));
		EXPECT(is_alive(creator, shared.creation.elements[0].hAllocation));
		EXPECT_OK(destroy_resource(opener, first.resource));
		share_end(door, &shared);
	}
}

TEST(open, both_see_the_same_bytes)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening opening;
		void *mine;
		void *theirs;

		share_for(door, &shared, 2);
		EXPECT_OK(lock2(creator, shared.creation.elements[1].hAllocation, &mine));
		*(volatile unsigned *)mine = 0xfeed;
		opening_init(&opening, &shared);
		EXPECT_OK(open_by(door, &shared, &opening));
		EXPECT_OK(lock2(opener, opening.allocations[1], &theirs));
		EXPECT_EQ(*(volatile unsigned *)theirs, 0xfeed);
		*(volatile unsigned *)theirs = 0xbeef;
		EXPECT_EQ(*(volatile unsigned *)mine, 0xbeef);
		EXPECT_OK(destroy_resource(opener, opening.resource));
		share_end(door, &shared);
	}
}

/* Locks count per device, though the memory is one. */
TEST(open, a_lock_belongs_to_the_device_that_took_it)
{
	struct shared shared;
	struct opening opening;
	void *mine;

	share(&shared, 1, SHARED_GLOBAL);
	opening_init(&opening, &shared);
	EXPECT_OK(open_by(BY_GLOBAL, &shared, &opening));
	EXPECT_OK(lock2(creator, shared.creation.elements[0].hAllocation, &mine));
	EXPECT_REFUSED(unlock2(opener, opening.allocations[0]), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "hAllocation");
	EXPECT_OK(destroy_resource(opener, opening.resource));
	*(volatile unsigned *)mine = 1;
	EXPECT_OK(unlock2(creator, shared.creation.elements[0].hAllocation));
	share_end(BY_GLOBAL, &shared);
}

TEST(open, an_opener_keeps_the_memory_when_the_creator_is_gone)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct census before = census_of(adapter);
		struct shared shared;
		struct opening opening;
		void *mine;
		void *theirs;

		share_for(door, &shared, 2);
		opening_init(&opening, &shared);
		EXPECT_OK(open_by(door, &shared, &opening));
		EXPECT_OK(lock2(creator, shared.creation.elements[0].hAllocation, &mine));
		*(volatile unsigned *)mine = 0xfeed;
		EXPECT_OK(lock2(opener, opening.allocations[0], &theirs));
		share_end(door, &shared);
		EXPECT_EQ(*(volatile unsigned *)theirs, 0xfeed);
		EXPECT_OK(unlock2(opener, opening.allocations[0]));
		EXPECT_OK(lock2(opener, opening.allocations[0], &theirs));
		EXPECT_EQ(*(volatile unsigned *)theirs, 0xfeed);
		EXPECT_EQ(census_of(adapter).allocations, before.allocations + 2);
		EXPECT_EQ(census_of(adapter).openings, before.openings + 2);
		EXPECT_OK(destroy_resource(opener, opening.resource));
		EXPECT_EQ(census_of(adapter).allocations, before.allocations);
		EXPECT_EQ(census_of(adapter).resources, before.resources);
	}
}

TEST(open, an_opener_keeps_the_memory_when_the_creating_device_is_gone)
{
	struct census before = census_of(adapter);
	D3DKMT_HANDLE usual = creator;
	struct shared shared;
	struct opening opening;
	struct opening again;

	creator = create_device(adapter);
	share(&shared, 1, SHARED_GLOBAL);
	opening_init(&opening, &shared);
	EXPECT_OK(open_by(BY_GLOBAL, &shared, &opening));
	EXPECT_OK(destroy_device(creator));
	creator = usual;
	/* Still shared, too. */
	opening_init(&again, &shared);
	EXPECT_OK(open_by(BY_GLOBAL_2, &shared, &again));
	EXPECT_OK(destroy_resource(opener, opening.resource));
	EXPECT(is_alive(opener, again.allocations[0]));
	EXPECT_OK(destroy_resource(opener, again.resource));
	EXPECT_CENSUS(adapter, before);
}

TEST(open, a_global_handle_dies_with_the_last_opening)
{
	struct shared shared;
	struct opening opening;

	share(&shared, 1, SHARED_GLOBAL);
	share_end(BY_GLOBAL, &shared);
	opening_init(&opening, &shared);
	EXPECT_REFUSED(open_by(BY_GLOBAL, &shared, &opening), STATUS_INVALID_PARAMETER,
		       "API-HANDLE", "hGlobalShare");
	D3DKMT_QUERYRESOURCEINFO query = { .hDevice = opener,
					   .hGlobalShare = shared.creation.args.hGlobalShare };
	EXPECT_REFUSED(D3DKMTQueryResourceInfo(&query), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hGlobalShare");
}

TEST(open, an_nt_handle_alone_keeps_everything_alive)
{
	struct census before = census_of(adapter);
	struct shared shared;
	struct opening opening;
	void *pointer;

	share_by_nt(&shared, 2);
	EXPECT_OK(lock2(creator, shared.creation.elements[0].hAllocation, &pointer));
	*(volatile unsigned *)pointer = 0xfeed;
	EXPECT_OK(destroy_resource(creator, shared.creation.args.hResource));
	EXPECT_EQ(census_of(adapter).allocations, before.allocations + 2);
	EXPECT_EQ(census_of(adapter).openings, before.openings);
	opening_init(&opening, &shared);
	EXPECT_OK(open_by(BY_NT, &shared, &opening));
	EXPECT_OK(lock2(opener, opening.allocations[0], &pointer));
	EXPECT_EQ(*(volatile unsigned *)pointer, 0xfeed);
	EXPECT_OK(destroy_resource(opener, opening.resource));
	close((int)(intptr_t)shared.nt_handle);
	/* It goes with the next call that looks. */
	EXPECT_REFUSED(open_by(BY_NT, &shared, &opening), STATUS_INVALID_HANDLE, "API-NT-HANDLE",
		       "hNtHandle");
	EXPECT_EQ(census_of(adapter).allocations, before.allocations);
	EXPECT_EQ(census_of(adapter).resources, before.resources);
}

TEST(open, a_copy_of_the_descriptor_is_as_good)
{
	struct shared shared;
	struct opening opening;

	share_by_nt(&shared, 1);
	int copy = dup((int)(intptr_t)shared.nt_handle);
	close((int)(intptr_t)shared.nt_handle);
	opening_init(&opening, &shared);
	shared.nt_handle = (HANDLE)(intptr_t)copy;
	EXPECT_OK(open_by(BY_NT, &shared, &opening));
	EXPECT_OK(destroy_resource(opener, opening.resource));
	share_end(BY_NT, &shared);
}

/* Made for reading it is for reading, whatever the handle allows. */
TEST(rights, of_a_resource_that_was_made_read_only_do_not_grow)
{
	struct shared shared = { .count = 1 };
	struct opening opening;
	HANDLE handle;

	creation_init_resource(&shared.creation, creator, 1, SHARED_NT);
	shared.creation.args.Flags.ReadOnly = 1;
	EXPECT_OK(create(&shared.creation));
	EXPECT_OK(share_nt(shared.creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
			   &shared.nt_handle));
	opening_init(&opening, &shared);
	opening.no_runtime = true;
	opening.runtime_bytes = 0;
	EXPECT_OK(open_by(BY_NT, &shared, &opening));
	EXPECT_REFUSED(share_nt(opening.resource, NULL, SHARED_ALLOCATION_WRITE, &handle),
		       STATUS_ACCESS_DENIED, "API-RIGHTS", "DesiredAccess");
	EXPECT_OK(destroy_resource(opener, opening.resource));
	EXPECT_OK(destroy_resource(creator, shared.creation.args.hResource));
	close((int)(intptr_t)shared.nt_handle);
}

TEST(open, without_the_right_to_write_that_is_not_shared_again)
{
	static const DWORD writing[] = { SHARED_ALLOCATION_WRITE, SHARED_ALLOCATION_ALL_ACCESS,
					 GENERIC_WRITE, GENERIC_ALL };
	static const DWORD reading[] = { 0x20000, GENERIC_READ, 0x02000000 };
	struct shared shared;
	struct opening opening;
	struct opening again;
	HANDLE handle;

	share(&shared, 1, SHARED_NT);
	EXPECT_OK(share_nt(shared.creation.args.hResource, NULL, 0x20000, &shared.nt_handle));
	opening_init(&opening, &shared);
	EXPECT_OK(open_by(BY_NT, &shared, &opening));
	for (unsigned i = 0; i < ARRAYSIZE(writing); i++) {
		EXPECT_REFUSED(share_nt(opening.resource, NULL, writing[i], &handle),
			       STATUS_ACCESS_DENIED, "API-RIGHTS", "DesiredAccess");
		EXPECT_REFUSED(share_nt(opening.resource, "narrow", writing[i], &handle),
			       STATUS_ACCESS_DENIED, "API-RIGHTS", "DesiredAccess");
	}
	close((int)(intptr_t)shared.nt_handle);
	for (unsigned i = 0; i < ARRAYSIZE(reading); i++) {
		EXPECT_OK(share_nt(opening.resource, NULL, reading[i], &shared.nt_handle));
		opening_init(&again, &shared);
		EXPECT_OK(open_by(BY_NT, &shared, &again));
		EXPECT_REFUSED(share_nt(again.resource, NULL, SHARED_ALLOCATION_WRITE, &handle),
			       STATUS_ACCESS_DENIED, "API-RIGHTS", "DesiredAccess");
		EXPECT_OK(destroy_resource(opener, again.resource));
		close((int)(intptr_t)shared.nt_handle);
	}
	/* Who may write can share that, also the one who was given it. */
	EXPECT_OK(destroy_resource(opener, opening.resource));
	EXPECT_OK(share_nt(shared.creation.args.hResource, NULL, GENERIC_ALL, &shared.nt_handle));
	opening_init(&opening, &shared);
	EXPECT_OK(open_by(BY_NT, &shared, &opening));
	EXPECT_OK(share_nt(opening.resource, NULL, SHARED_ALLOCATION_ALL_ACCESS, &handle));
	close((int)(intptr_t)handle);
	EXPECT_OK(destroy_resource(opener, opening.resource));
	share_end(BY_NT, &shared);
}

/* ---- what is refused ---- */

#define EXPECT_NOT_OPENED(door, shared, opening, wanted, rule, argument)                           \
	do {                                                                                       \
		struct census census_before = census_of(adapter);                                  \
		EXPECT_REFUSED(open_by(door, shared, opening), wanted, rule, argument);            \
		EXPECT_CENSUS(adapter, census_before);                                             \
		EXPECT_EQ((opening)->resource, 0x1eadbeed);                                        \
	} while (0)

TEST(open, the_number_of_allocations_is_exact)
{
	for (enum door door = 0; door < DOORS; door++) {
		static const UINT wrong[] = { 0, 1, 3, 0xffffffff };
		struct shared shared;
		struct opening opening;

		share_for(door, &shared, 2);
		for (unsigned i = 0; i < 4; i++) {
			opening_init(&opening, &shared);
			opening.count = wrong[i];
			EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER,
					  "API-COUNT", "NumAllocations");
		}
		opening_init(&opening, &shared);
		opening.no_elements = true;
		EXPECT_NOT_OPENED(
			door, &shared, &opening, STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
			door == BY_GLOBAL ? "pOpenAllocationInfo" : "pOpenAllocationInfo2");
		share_end(door, &shared);
	}
}

TEST(open, the_size_of_the_runtime_data_is_exact)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening opening;

		share_for(door, &shared, 1);
		for (int off = -1; off <= 1; off += 2) {
			opening_init(&opening, &shared);
			opening.runtime_bytes = (UINT)(RUNTIME_BYTES + off);
			EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER,
					  "API-BUFFER", "PrivateRuntimeDataSize");
		}
		opening_init(&opening, &shared);
		opening.no_runtime = true;
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER,
				  "API-NULL-ARGUMENT", "pPrivateRuntimeData");
		share_end(door, &shared);
	}
}

TEST(open, needs_a_device_and_the_exact_size_of_the_resource_data)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening opening;

		share_for(door, &shared, 1);
		opening_init(&opening, &shared);
		opening.resource_bytes = 1;
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER, "API-BUFFER",
				  "ResourcePrivateDriverDataSize");
		opening_init(&opening, &shared);
		opening.device = 0;
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER, "API-HANDLE",
				  "hDevice");
		share_end(door, &shared);
	}
}

TEST(open, a_total_buffer_one_byte_short_is_no_memory)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening opening;

		share_for(door, &shared, 2);
		opening_init(&opening, &shared);
		opening.total_bytes = 2 * sizeof(struct softgpu_allocation) - 1;
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_NO_MEMORY, "API-BUFFER",
				  "TotalPrivateDriverDataBufferSize");
		opening_init(&opening, &shared);
		opening.total_bytes = 2 * sizeof(struct softgpu_allocation);
		EXPECT_OK(open_by(door, &shared, &opening));
		EXPECT_EQ(opening.total_bytes, 2 * sizeof(struct softgpu_allocation));
		EXPECT_OK(destroy_resource(opener, opening.resource));
		opening_init(&opening, &shared);
		opening.no_total = true;
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER,
				  "API-NULL-ARGUMENT", "pTotalPrivateDriverDataBuffer");
		share_end(door, &shared);
	}
}

/* ---- another adapter ---- */

CHILD(open_on_another_adapter)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	struct creation creation;

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS && all.NumAdapters == 2);
	D3DKMT_HANDLE first = child_create_device(infos[0].hAdapter);
	D3DKMT_HANDLE second = child_create_device(infos[1].hAdapter);
	creation_init_resource(&creation, first, 1, SHARED_GLOBAL);
	CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
	D3DKMT_QUERYRESOURCEINFO query = { .hDevice = second,
					   .hGlobalShare = creation.args.hGlobalShare };
	CHILD_EXPECT(D3DKMTQueryResourceInfo(&query) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(strcmp(last_refusal().argument, "hDevice") == 0);
	D3DDDI_OPENALLOCATIONINFO element = { 0 };
	struct softgpu_allocation total;
	D3DKMT_OPENRESOURCE open = { .hDevice = second,
				     .hGlobalShare = creation.args.hGlobalShare,
				     .NumAllocations = 1,
				     .pOpenAllocationInfo = &element,
				     .pTotalPrivateDriverDataBuffer = &total,
				     .TotalPrivateDriverDataBufferSize = sizeof(total) };
	CHILD_EXPECT(D3DKMTOpenResource(&open) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(strcmp(last_refusal().argument, "hDevice") == 0);
	/* Its own adapter says where it is. */
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID luid = { .hGlobalShare = creation.args.hGlobalShare };
	CHILD_EXPECT(D3DKMTGetSharedResourceAdapterLuid(&luid) == STATUS_SUCCESS);
	CHILD_EXPECT(memcmp(&luid.AdapterLuid, &infos[0].AdapterLuid, sizeof(LUID)) == 0);
	open.hDevice = first;
	CHILD_EXPECT(D3DKMTOpenResource(&open) == STATUS_SUCCESS);
	return 0;
}

TEST(open, needs_a_device_of_the_same_adapter)
{
	EXPECT_CHILD(run_child("open_on_another_adapter",
			       profile_setting("{\"adapters\": [{\"driver\": \"soft\"}, "
					       "{\"driver\": \"soft\"}]}")),
		     0);
}

/* ---- destroying what was opened ---- */

TEST(destroy, an_opened_allocation_is_closed_and_its_memory_stays)
{
	struct census before = census_of(adapter);
	struct shared shared;
	struct opening opening;

	share(&shared, 2, SHARED_GLOBAL);
	opening_init(&opening, &shared);
	EXPECT_OK(open_by(BY_GLOBAL, &shared, &opening));
	EXPECT_OK(destroy_one(opener, opening.allocations[0]));
	EXPECT_EQ(census_of(adapter).openings, before.openings + 3);
	EXPECT_EQ(census_of(adapter).allocations, before.allocations + 2);
	/* The resource is as large for others as it was. */
	struct opening again;
	opening_init(&again, &shared);
	EXPECT_OK(open_by(BY_GLOBAL, &shared, &again));
	EXPECT_OK(destroy_resource(opener, opening.resource));
	EXPECT_OK(destroy_resource(opener, again.resource));
	share_end(BY_GLOBAL, &shared);
	EXPECT_CENSUS(adapter, before);
}

TEST(destroy, a_shared_resource_is_not_destroyed_through_its_global_handle)
{
	struct shared shared;

	share(&shared, 1, SHARED_GLOBAL);
	EXPECT_REFUSED(destroy_resource(creator, shared.creation.args.hGlobalShare),
		       STATUS_INVALID_PARAMETER, "API-HANDLE", "hResource");
	share_end(BY_GLOBAL, &shared);
}

TEST(destroy, the_opening_device_closes_what_it_opened)
{
	struct census before = census_of(adapter);
	D3DKMT_HANDLE device = create_device(adapter);
	struct shared shared;
	struct opening opening;

	share(&shared, 2, SHARED_GLOBAL);
	opening_init(&opening, &shared);
	opening.device = device;
	EXPECT_OK(open_by(BY_GLOBAL, &shared, &opening));
	EXPECT_OK(destroy_device(device));
	EXPECT_EQ(census_of(adapter).openings, before.openings + 2);
	share_end(BY_GLOBAL, &shared);
	EXPECT_CENSUS(adapter, before);
}

RESOURCE_TEST_MAIN("api/resource_open")
