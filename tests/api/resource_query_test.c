/* SPDX-License-Identifier: MIT */
/*
 * resource_query_test.c - finding shared resources: their sizes, NT handles, names, and adapter.
 */
#include "api/resource.h"

/* ---- query ---- */

/* Of so many allocations, by either call. */
#define EXPECT_SIZES(args, count)                                                                  \
	do {                                                                                       \
		EXPECT_EQ((args).PrivateRuntimeDataSize, RUNTIME_BYTES);                           \
		EXPECT_EQ((args).TotalPrivateDriverDataSize,                                       \
			  (count) * sizeof(struct softgpu_allocation));                            \
		EXPECT_EQ((args).ResourcePrivateDriverDataSize, 0);                                \
		EXPECT_EQ((args).NumAllocations, count);                                           \
	} while (0)

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
		EXPECT_SIZES(args, 3);
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
		EXPECT_SIZES(args, 2);
		EXPECT_EQ(buffer[0], 0x77);
	}
	share_end(BY_NT, &shared);
}

TEST(query, a_heap_has_private_data_too)
{
	static _Alignas(PAGE) unsigned char heap[PAGE];
	static const char runtime_data[] = "runtime";
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP
	};
	D3DDDI_ALLOCATIONINFO2 element = { .pSystemMem = heap };
	D3DKMT_CREATEALLOCATION args = { .hDevice = creator,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element,
					 .pPrivateRuntimeData = runtime_data,
					 .PrivateRuntimeDataSize = sizeof(runtime_data),
					 .pStandardAllocation = &standard };

	standard.ExistingHeapData.Size = sizeof(heap);
	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSysMem = 1;
	args.Flags.CreateResource = 1;
	args.Flags.CreateShared = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	D3DKMT_QUERYRESOURCEINFO query = { .hDevice = opener,
					   .hGlobalShare = args.hGlobalShare,
					   .ResourcePrivateDriverDataSize = 0xdeadbeef };
	EXPECT_OK(D3DKMTQueryResourceInfo(&query));
	EXPECT(query.TotalPrivateDriverDataSize > 0);
	EXPECT_EQ(query.PrivateRuntimeDataSize, sizeof(runtime_data));
	EXPECT_EQ(query.ResourcePrivateDriverDataSize, 0);
	EXPECT_EQ(query.NumAllocations, 1);

	/* Its private data is the driver's, and is given to who opens it. */
	D3DDDI_OPENALLOCATIONINFO opened = { .PrivateDriverDataSize = 0xdeadbeef };
	unsigned char runtime[sizeof(runtime_data)];
	unsigned char total[256];
	D3DKMT_OPENRESOURCE open = { .hDevice = opener,
				     .hGlobalShare = args.hGlobalShare,
				     .NumAllocations = 1,
				     .pOpenAllocationInfo = &opened,
				     .pPrivateRuntimeData = runtime,
				     .PrivateRuntimeDataSize = sizeof(runtime),
				     .pTotalPrivateDriverDataBuffer = total,
				     .TotalPrivateDriverDataBufferSize = sizeof(total) };
	memset(total, 0xcc, sizeof(total));
	EXPECT_OK(D3DKMTOpenResource(&open));
	EXPECT_EQ(open.TotalPrivateDriverDataBufferSize, query.TotalPrivateDriverDataSize);
	EXPECT_EQ(opened.PrivateDriverDataSize, query.TotalPrivateDriverDataSize);
	EXPECT(opened.pPrivateDriverData == total);
	EXPECT(is_local_handle(opened.hAllocation));
	EXPECT_EQ(total[query.TotalPrivateDriverDataSize], 0xcc);
	EXPECT(memcmp(runtime, runtime_data, sizeof(runtime)) == 0);
	EXPECT_OK(destroy_resource(opener, open.hResource));
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

RESOURCE_TEST_MAIN("api/resource_query")
