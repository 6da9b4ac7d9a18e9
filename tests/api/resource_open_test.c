/*
 * resource_open_test.c - shared resources on a second device: sizes first, then the opening, by
 * global handle and by NT handle.
 *
 * What an opening gets back (pointers into the total buffer, what is not written) is what Windows
 * was observed to do.
 */
#include "api/allocation.h"

static D3DKMT_HANDLE adapter;
static LUID adapter_luid;
static D3DKMT_HANDLE creator;
static D3DKMT_HANDLE opener;

enum {
	RUNTIME_BYTES = 37,
};

/* ---- a resource to open ---- */

struct shared {
	struct creation creation;
	unsigned char runtime[RUNTIME_BYTES];
	unsigned count;
	HANDLE nt_handle;
};

static void share(struct shared *shared, unsigned count, int sharing)
{
	memset(shared, 0, sizeof(*shared));
	creation_init_resource(&shared->creation, creator, count, sharing);
	for (unsigned i = 0; i < RUNTIME_BYTES; i++)
		shared->runtime[i] = (unsigned char)(i + 1);
	shared->creation.args.pPrivateRuntimeData = shared->runtime;
	shared->creation.args.PrivateRuntimeDataSize = RUNTIME_BYTES;
	for (unsigned i = 0; i < count; i++)
		shared->creation.data[i].size_bytes = PAGE * (i + 1);
	shared->count = count;
	EXPECT_OK(create(&shared->creation));
}

static NTSTATUS share_nt(D3DKMT_HANDLE resource, const char *name, DWORD access, HANDLE *handle_out)
{
	wchar_t wide[64] = { 0 };
	UNICODE_STRING string = { 0 };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &string };

	for (unsigned i = 0; name && name[i]; i++) {
		wide[i] = (wchar_t)name[i];
		string.Length += sizeof(wchar_t);
	}
	string.MaximumLength = sizeof(wide);
	string.Buffer = wide;
	return D3DKMTShareObjects(1, &resource, name ? &attributes : NULL, access, handle_out);
}

static void share_by_nt(struct shared *shared, unsigned count)
{
	share(shared, count, SHARED_NT);
	EXPECT_OK(share_nt(shared->creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
			   &shared->nt_handle));
}

/* ---- openings ---- */

/* Every call with the same shape, so that a rule is tested through each door. */
enum door { BY_GLOBAL, BY_GLOBAL_2, BY_NT, DOORS };

struct opening {
	D3DKMT_OPENRESOURCE global;
	D3DKMT_OPENRESOURCEFROMNTHANDLE nt;
	D3DDDI_OPENALLOCATIONINFO v1[MOST + 1];
	D3DDDI_OPENALLOCATIONINFO2 v2[MOST + 1];
	unsigned char runtime[RUNTIME_BYTES + 1];
	unsigned char total[1024];

	/* in, then what the call made of them */
	UINT count;
	UINT runtime_bytes;
	UINT resource_bytes;
	UINT total_bytes;
	bool no_elements;
	bool no_runtime;
	bool no_total;
	D3DKMT_HANDLE device;

	/* out */
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE allocations[MOST];
	const void *private_data[MOST];
	UINT private_bytes[MOST];
};

static void opening_init(struct opening *opening, const struct shared *shared)
{
	memset(opening, 0, sizeof(*opening));
	memset(opening->total, 0xcc, sizeof(opening->total));
	opening->device = opener;
	opening->count = shared->count;
	opening->runtime_bytes = RUNTIME_BYTES;
	opening->total_bytes = sizeof(opening->total);
}

static NTSTATUS open_nt(struct opening *opening, HANDLE nt_handle)
{
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = {
		.hDevice = opening->device,
		.hNtHandle = nt_handle,
		.NumAllocations = opening->count,
		.pOpenAllocationInfo2 = opening->no_elements ? NULL : opening->v2,
		.PrivateRuntimeDataSize = opening->runtime_bytes,
		.pPrivateRuntimeData = opening->no_runtime ? NULL : opening->runtime,
		.ResourcePrivateDriverDataSize = opening->resource_bytes,
		.pResourcePrivateDriverData = opening->resource_bytes ? opening->total : NULL,
		.TotalPrivateDriverDataBufferSize = opening->total_bytes,
		.pTotalPrivateDriverDataBuffer = opening->no_total ? NULL : opening->total,
		.hKeyedMutex = 0x1eadbeed,
		.hSyncObject = 0x1eadbeed,
		.hResource = 0x1eadbeed,
	};
	NTSTATUS status = D3DKMTOpenResourceFromNtHandle(&args);

	opening->nt = args;
	opening->resource = args.hResource;
	opening->total_bytes = args.TotalPrivateDriverDataBufferSize;
	return status;
}

static NTSTATUS open_global(struct opening *opening, D3DKMT_HANDLE global, bool is_version_2)
{
	D3DKMT_OPENRESOURCE args = {
		.hDevice = opening->device,
		.hGlobalShare = global,
		.NumAllocations = opening->count,
		.pPrivateRuntimeData = opening->no_runtime ? NULL : opening->runtime,
		.PrivateRuntimeDataSize = opening->runtime_bytes,
		.pResourcePrivateDriverData = opening->resource_bytes ? opening->total : NULL,
		.ResourcePrivateDriverDataSize = opening->resource_bytes,
		.pTotalPrivateDriverDataBuffer = opening->no_total ? NULL : opening->total,
		.TotalPrivateDriverDataBufferSize = opening->total_bytes,
		.hResource = 0x1eadbeed,
	};

	if (is_version_2)
		args.pOpenAllocationInfo2 = opening->no_elements ? NULL : opening->v2;
	else
		args.pOpenAllocationInfo = opening->no_elements ? NULL : opening->v1;
	NTSTATUS status = is_version_2 ? D3DKMTOpenResource2(&args) : D3DKMTOpenResource(&args);
	opening->global = args;
	opening->resource = args.hResource;
	opening->total_bytes = args.TotalPrivateDriverDataBufferSize;
	return status;
}

static NTSTATUS open_by(enum door door, const struct shared *shared, struct opening *opening)
{
	NTSTATUS status = door == BY_NT ? open_nt(opening, shared->nt_handle)
					: open_global(opening, shared->creation.args.hGlobalShare,
						      door == BY_GLOBAL_2);

	for (unsigned i = 0; status == STATUS_SUCCESS && i < shared->count; i++) {
		bool is_v1 = door == BY_GLOBAL;
		opening->allocations[i] =
			is_v1 ? opening->v1[i].hAllocation : opening->v2[i].hAllocation;
		opening->private_data[i] = is_v1 ? opening->v1[i].pPrivateDriverData
						 : opening->v2[i].pPrivateDriverData;
		opening->private_bytes[i] = is_v1 ? opening->v1[i].PrivateDriverDataSize
						  : opening->v2[i].PrivateDriverDataSize;
	}
	return status;
}

static void share_for(enum door door, struct shared *shared, unsigned count)
{
	if (door == BY_NT)
		share_by_nt(shared, count);
	else
		share(shared, count, SHARED_GLOBAL);
}

static void share_end(enum door door, struct shared *shared)
{
	if (door == BY_NT)
		close((int)(intptr_t)shared->nt_handle);
	EXPECT_OK(destroy_resource(creator, shared->creation.args.hResource));
}

/* ---- query ---- */

TEST(query, tells_the_sizes_and_writes_no_data)
{
	unsigned char buffer[256];
	struct shared shared;

	share(&shared, 3, SHARED_GLOBAL);
	for (unsigned with_buffer = 0; with_buffer < 2; with_buffer++) {
		D3DKMT_QUERYRESOURCEINFO args = {
			.hDevice = opener,
			.hGlobalShare = shared.creation.args.hGlobalShare,
			.pPrivateRuntimeData = with_buffer ? buffer : NULL,
			.PrivateRuntimeDataSize = with_buffer ? sizeof(buffer) : 0xdeadbeef,
			.TotalPrivateDriverDataSize = 0xdeadbeef,
			.ResourcePrivateDriverDataSize = 0xdeadbeef,
			.NumAllocations = 0xdeadbeef,
		};
		memset(buffer, 0x77, sizeof(buffer));
		EXPECT_OK(D3DKMTQueryResourceInfo(&args));
		EXPECT_EQ(args.PrivateRuntimeDataSize, RUNTIME_BYTES);
		EXPECT_EQ(args.TotalPrivateDriverDataSize, 3 * sizeof(struct softgpu_allocation));
		EXPECT_EQ(args.ResourcePrivateDriverDataSize, 0);
		EXPECT_EQ(args.NumAllocations, 3);
		EXPECT_EQ(buffer[0], 0x77);
		EXPECT_EQ(buffer[RUNTIME_BYTES - 1], 0x77);
	}
	share_end(BY_GLOBAL, &shared);
}

TEST(query, by_nt_handle_tells_the_same)
{
	unsigned char buffer[256];
	struct shared shared;

	share_by_nt(&shared, 2);
	for (UINT size = 0; size < 256; size += 85) {
		D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE args = {
			.hDevice = opener,
			.hNtHandle = shared.nt_handle,
			.pPrivateRuntimeData = buffer,
			.PrivateRuntimeDataSize = size,
			.TotalPrivateDriverDataSize = 0xdeadbeef,
			.ResourcePrivateDriverDataSize = 0xdeadbeef,
			.NumAllocations = 0xdeadbeef,
		};
		memset(buffer, 0x77, sizeof(buffer));
		EXPECT_OK(D3DKMTQueryResourceInfoFromNtHandle(&args));
		EXPECT_EQ(args.PrivateRuntimeDataSize, RUNTIME_BYTES);
		EXPECT_EQ(args.TotalPrivateDriverDataSize, 2 * sizeof(struct softgpu_allocation));
		EXPECT_EQ(args.ResourcePrivateDriverDataSize, 0);
		EXPECT_EQ(args.NumAllocations, 2);
		EXPECT_EQ(buffer[0], 0x77);
	}
	share_end(BY_NT, &shared);
}

TEST(query, a_heap_has_private_data_too)
{
	static _Alignas(PAGE) unsigned char heap[PAGE];
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP
	};
	D3DDDI_ALLOCATIONINFO2 element = { .pSystemMem = heap };
	D3DKMT_CREATEALLOCATION args = { .hDevice = creator,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element,
					 .pStandardAllocation = &standard };

	standard.ExistingHeapData.Size = sizeof(heap);
	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSysMem = 1;
	args.Flags.CreateResource = 1;
	args.Flags.CreateShared = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	D3DKMT_QUERYRESOURCEINFO query = { .hDevice = opener, .hGlobalShare = args.hGlobalShare };
	EXPECT_OK(D3DKMTQueryResourceInfo(&query));
	EXPECT(query.TotalPrivateDriverDataSize > 0);
	EXPECT_EQ(query.NumAllocations, 1);
	EXPECT_OK(destroy_resource(creator, args.hResource));
}

TEST(query, local_handles_are_no_shared_resource)
{
	struct shared shared;

	share(&shared, 1, SHARED_GLOBAL);
	const D3DKMT_HANDLE wrong[] = { 0, shared.creation.args.hResource,
					shared.creation.elements[0].hAllocation, opener,
					0x1eadbee2 };
	for (unsigned i = 0; i < 5; i++) {
		D3DKMT_QUERYRESOURCEINFO args = { .hDevice = opener, .hGlobalShare = wrong[i] };
		struct opening opening;
		EXPECT_REFUSED(D3DKMTQueryResourceInfo(&args), STATUS_INVALID_PARAMETER,
			       "API-HANDLE", "hGlobalShare");
		opening_init(&opening, &shared);
		EXPECT_REFUSED(open_global(&opening, wrong[i], false), STATUS_INVALID_PARAMETER,
			       "API-HANDLE", "hGlobalShare");
	}
	share_end(BY_GLOBAL, &shared);
}

TEST(query, a_descriptor_of_something_else_is_an_invalid_handle)
{
	struct shared shared;
	int pipe_ends[2];

	share_by_nt(&shared, 1);
	EXPECT_EQ(pipe(pipe_ends), 0);
	const intptr_t wrong[] = {
		0, -1, 1, pipe_ends[0], pipe_ends[1], 1 << 30, (intptr_t)1 << 40
	};
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE args = { .hDevice = opener,
							      .hNtHandle = (HANDLE)wrong[i] };
		struct opening opening;
		EXPECT_REFUSED(D3DKMTQueryResourceInfoFromNtHandle(&args), STATUS_INVALID_HANDLE,
			       "API-NT-HANDLE", "hNtHandle");
		opening_init(&opening, &shared);
		EXPECT_REFUSED(open_nt(&opening, (HANDLE)wrong[i]), STATUS_INVALID_HANDLE,
			       "API-NT-HANDLE", "hNtHandle");
	}
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	share_end(BY_NT, &shared);
}

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
			const struct softgpu_allocation *data = opening.private_data[i];
			EXPECT(is_local_handle(opening.allocations[i]));
			EXPECT(opening.allocations[i] != shared.creation.elements[i].hAllocation);
			EXPECT(opening.private_data[i] == opening.total + at);
			EXPECT_EQ(opening.private_bytes[i], sizeof(*data));
			EXPECT_EQ(data->size_bytes, PAGE * (i + 1));
			at += sizeof(*data);
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
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER,
				  "API-NULL-ARGUMENT", "pOpenAllocationInfo");
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

TEST(open, the_size_of_the_resource_data_is_exact)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening opening;

		share_for(door, &shared, 1);
		opening_init(&opening, &shared);
		opening.resource_bytes = 1;
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER, "API-BUFFER",
				  "ResourcePrivateDriverDataSize");
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

TEST(open, needs_a_device)
{
	for (enum door door = 0; door < DOORS; door++) {
		struct shared shared;
		struct opening opening;

		share_for(door, &shared, 1);
		opening_init(&opening, &shared);
		opening.device = 0;
		EXPECT_NOT_OPENED(door, &shared, &opening, STATUS_INVALID_PARAMETER, "API-HANDLE",
				  "hDevice");
		share_end(door, &shared);
	}
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

/* ---- NT handles ---- */

TEST(share, only_the_resource_handle_of_what_was_made_for_nt_handles)
{
	struct creation plain;
	struct shared global;
	struct shared nt;
	D3DKMT_HANDLE alone = create_one(creator);
	HANDLE handle = (HANDLE)0x5a5a;

	creation_init_resource(&plain, creator, 1, SHARED_NOT);
	EXPECT_OK(create(&plain));
	share(&global, 1, SHARED_GLOBAL);
	share(&nt, 1, SHARED_NT);
	EXPECT_REFUSED(share_nt(alone, NULL, 1, &handle), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	EXPECT_REFUSED(share_nt(plain.elements[0].hAllocation, NULL, 1, &handle),
		       STATUS_INVALID_PARAMETER, "API-SHARE-SET", "ObjectHandleArray");
	EXPECT_REFUSED(share_nt(plain.args.hResource, NULL, 1, &handle), STATUS_INVALID_PARAMETER,
		       "API-SHARE-SCHEME", "ObjectHandleArray");
	EXPECT_REFUSED(share_nt(global.creation.args.hResource, NULL, 1, &handle),
		       STATUS_INVALID_PARAMETER, "API-SHARE-SCHEME", "ObjectHandleArray");
	EXPECT_REFUSED(share_nt(global.creation.args.hGlobalShare, NULL, 1, &handle),
		       STATUS_INVALID_PARAMETER, "API-HANDLE", "ObjectHandleArray");
	EXPECT_REFUSED(share_nt(nt.creation.elements[0].hAllocation, NULL, 1, &handle),
		       STATUS_INVALID_PARAMETER, "API-SHARE-SET", "ObjectHandleArray");
	EXPECT(handle == (HANDLE)0x5a5a);
	EXPECT_OK(share_nt(nt.creation.args.hResource, NULL, 1, &handle));
	EXPECT_EQ((uintptr_t)handle & 0xc0000000, 0);
	EXPECT(fcntl((int)(intptr_t)handle, F_GETFD) & FD_CLOEXEC);
	close((int)(intptr_t)handle);
	EXPECT_OK(destroy_one(creator, alone));
	EXPECT_OK(destroy_resource(creator, plain.args.hResource));
	share_end(BY_GLOBAL, &global);
	EXPECT_OK(destroy_resource(creator, nt.creation.args.hResource));
}

TEST(share, sets_that_are_not_known_are_refused)
{
	struct shared shared;
	HANDLE handle;

	share(&shared, 1, SHARED_NT);
	D3DKMT_HANDLE resource = shared.creation.args.hResource;
	D3DKMT_CREATEKEYEDMUTEX2 mutex = { .InitialValue = 0 };
	mutex.Flags.NtSecuritySharing = 1;
	EXPECT_OK(D3DKMTCreateKeyedMutex2(&mutex));
	const struct {
		UINT count;
		D3DKMT_HANDLE objects[3];
	} wrong[] = {
		{ 2, { resource, resource, 0 } },
		{ 2, { resource, mutex.hKeyedMutex, 0 } },
		{ 2, { mutex.hKeyedMutex, resource, 0 } },
		{ 3, { resource, mutex.hKeyedMutex, mutex.hKeyedMutex } },
		{ 3, { mutex.hKeyedMutex, resource, resource } },
		{ 1, { mutex.hKeyedMutex, 0, 0 } },
	};
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		EXPECT_REFUSED(D3DKMTShareObjects(wrong[i].count, wrong[i].objects, NULL,
						  SHARED_ALLOCATION_WRITE, &handle),
			       STATUS_INVALID_PARAMETER, "API-SHARE-SET", "ObjectHandleArray");
	D3DKMT_DESTROYKEYEDMUTEX done = { mutex.hKeyedMutex };
	EXPECT_OK(D3DKMTDestroyKeyedMutex(&done));
	EXPECT_OK(destroy_resource(creator, resource));
}

static NTSTATUS open_name(const wchar_t *name, DWORD access, HANDLE *handle_out)
{
	UNICODE_STRING string = { 0 };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &string };
	D3DKMT_OPENNTHANDLEFROMNAME args = { .dwDesiredAccess = access,
					     .pObjAttrib = name ? &attributes : NULL };

	for (unsigned i = 0; name && name[i]; i++)
		string.Length += sizeof(wchar_t);
	string.MaximumLength = string.Length;
	string.Buffer = (wchar_t *)name;
	NTSTATUS status = D3DKMTOpenNtHandleFromName(&args);
	*handle_out = args.hNtHandle;
	return status;
}

TEST(name, finds_the_resource_in_any_case_while_a_handle_is_open)
{
	struct shared shared;
	struct opening opening;
	HANDLE handle;
	HANDLE found;

	share(&shared, 1, SHARED_NT);
	EXPECT_OK(share_nt(shared.creation.args.hResource, "Some Resource", SHARED_ALLOCATION_WRITE,
			   &handle));
	EXPECT_REFUSED(open_name(NULL, 1, &found), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "pObjAttrib");
	EXPECT_REFUSED(open_name(L"some", 1, &found), STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME",
		       "pObjAttrib");
	EXPECT_REFUSED(open_name(L"some resource", 0, &found), STATUS_ACCESS_DENIED, "API-ACCESS",
		       "dwDesiredAccess");
	EXPECT_OK(open_name(L"SOME resource", SHARED_ALLOCATION_WRITE, &found));
	EXPECT_REFUSED(share_nt(shared.creation.args.hResource, "some RESOURCE", 1, &handle),
		       STATUS_OBJECT_NAME_COLLISION, "API-NAME-TAKEN", "pObjectAttributes");
	/* The name is as good as the first handle, and lives as long as one of them. */
	close((int)(intptr_t)handle);
	opening_init(&opening, &shared);
	EXPECT_OK(open_nt(&opening, found));
	EXPECT_OK(destroy_resource(opener, opening.resource));
	close((int)(intptr_t)found);
	EXPECT_REFUSED(open_name(L"some resource", 1, &found), STATUS_OBJECT_NAME_NOT_FOUND,
		       "API-NAME", "pObjAttrib");
	/* Then it is free again. */
	EXPECT_OK(share_nt(shared.creation.args.hResource, "some resource", 1, &handle));
	close((int)(intptr_t)handle);
	EXPECT_OK(destroy_resource(creator, shared.creation.args.hResource));
}

/* ---- which adapter ---- */

TEST(luid, of_what_is_shared_is_that_of_its_adapter)
{
	struct shared global;
	struct shared nt;

	share(&global, 1, SHARED_GLOBAL);
	share_by_nt(&nt, 1);
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID args = { .hGlobalShare =
							     global.creation.args.hGlobalShare };
	EXPECT_OK(D3DKMTGetSharedResourceAdapterLuid(&args));
	EXPECT_EQ(args.AdapterLuid.LowPart, adapter_luid.LowPart);
	EXPECT_EQ(args.AdapterLuid.HighPart, adapter_luid.HighPart);
	args = (D3DKMT_GETSHAREDRESOURCEADAPTERLUID){ .hNtHandle = nt.nt_handle };
	EXPECT_OK(D3DKMTGetSharedResourceAdapterLuid(&args));
	EXPECT_EQ(args.AdapterLuid.LowPart, adapter_luid.LowPart);
	/* One of them, not both and not none. */
	args.hGlobalShare = global.creation.args.hGlobalShare;
	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(&args), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "");
	args = (D3DKMT_GETSHAREDRESOURCEADAPTERLUID){ 0 };
	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(&args), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "");
	share_end(BY_GLOBAL, &global);
	share_end(BY_NT, &nt);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		D3DKMT_ADAPTERINFO info = first_adapter();
		struct shared shared;
		struct opening opening;
		adapter = info.hAdapter;
		adapter_luid = info.AdapterLuid;
		creator = create_device(adapter);
		opener = create_device(adapter);
		/* What is made once and kept is there before anything is counted. */
		share(&shared, 2, SHARED_GLOBAL);
		opening_init(&opening, &shared);
		EXPECT_OK(open_by(BY_GLOBAL, &shared, &opening));
		EXPECT_OK(destroy_resource(opener, opening.resource));
		share_end(BY_GLOBAL, &shared);
	}
	return api_main("api/resource_open", argc, argv);
}
