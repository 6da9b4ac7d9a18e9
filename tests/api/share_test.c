/* SPDX-License-Identifier: MIT */
/*
 * share_test.c - NT handles and their names, as a client asks for them.
 *
 * What may be shared and what an NT handle holds is tested where the objects are; here is what
 * every call refuses, whatever it is given.
 */
#include "api/support.h"

#include <limits.h>

enum { GARBAGE = 0x1eadbeed, STANDARD_RIGHTS_READ_BITS = 0x20000 };

static const HANDLE untouched = (HANDLE)(uintptr_t)0xdeadbeef;

static D3DKMT_HANDLE create_mutex(bool is_nt, D3DKMT_HANDLE *shared_out)
{
	D3DKMT_CREATEKEYEDMUTEX2 args = { .Flags.NtSecuritySharing = is_nt };

	EXPECT_OK(D3DKMTCreateKeyedMutex2(&args));
	if (shared_out)
		*shared_out = args.hSharedHandle;
	return args.hKeyedMutex;
}

static void destroy_mutex(D3DKMT_HANDLE mutex)
{
	EXPECT_OK(D3DKMTDestroyKeyedMutex(&(D3DKMT_DESTROYKEYEDMUTEX){ mutex }));
}

/* Shares, and sees to it that a refusal leaves the result alone. */
static NTSTATUS try_share(UINT count, const D3DKMT_HANDLE *objects, OBJECT_ATTRIBUTES *attributes)
{
	HANDLE handle = untouched;
	NTSTATUS status =
		D3DKMTShareObjects(count, objects, attributes, STANDARD_RIGHTS_READ_BITS, &handle);

	EXPECT((status == STATUS_SUCCESS) == (handle != untouched));
	return status;
}

static OBJECT_ATTRIBUTES attributes_of(UNICODE_STRING *name)
{
	return (OBJECT_ATTRIBUTES){ .Length = sizeof(OBJECT_ATTRIBUTES), .ObjectName = name };
}

static NTSTATUS try_open_resource_name(OBJECT_ATTRIBUTES *attributes, DWORD access)
{
	D3DKMT_OPENNTHANDLEFROMNAME args = { access, attributes, untouched };
	NTSTATUS status = D3DKMTOpenNtHandleFromName(&args);

	EXPECT((status == STATUS_SUCCESS) == (args.hNtHandle != untouched));
	return status;
}

static NTSTATUS try_open_sync_name(OBJECT_ATTRIBUTES *attributes, DWORD access)
{
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME args = { access, attributes, untouched };
	NTSTATUS status = D3DKMTOpenSyncObjectNtHandleFromName(&args);

	EXPECT((status == STATUS_SUCCESS) == (args.hNtHandle != untouched));
	return status;
}

/* ---- sharing ---- */

TEST(share, needs_a_list_and_a_place_for_the_handle)
{
	D3DKMT_HANDLE object = create_mutex(true, NULL);

	EXPECT_REFUSED(D3DKMTShareObjects(1, &object, NULL, 0, NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pSharedNtHandle");
	EXPECT_REFUSED(try_share(1, NULL, NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "ObjectHandleArray");
	EXPECT_STR(last_refusal().call, "D3DKMTShareObjects");
	destroy_mutex(object);
}

TEST(share, takes_one_to_three_objects)
{
	D3DKMT_HANDLE object = create_mutex(true, NULL);
	const D3DKMT_HANDLE objects[] = { object, object, object, object };

	EXPECT_REFUSED(try_share(0, objects, NULL), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	EXPECT_REFUSED(try_share(0, NULL, NULL), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	EXPECT_REFUSED(try_share(4, objects, NULL), STATUS_INVALID_PARAMETER, "API-COUNT",
		       "ObjectCount");
	EXPECT_REFUSED(try_share(0x40000001, objects, NULL), STATUS_INVALID_PARAMETER, "API-COUNT",
		       "ObjectCount");
	destroy_mutex(object);
}

TEST(share, refuses_a_handle_that_names_nothing_and_says_which)
{
	D3DKMT_HANDLE mutex = create_mutex(true, NULL);
	const D3DKMT_HANDLE objects[] = { mutex, GARBAGE, mutex };
	const D3DKMT_HANDLE zero = 0;

	EXPECT_REFUSED(try_share(3, objects, NULL), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "ObjectHandleArray");
	EXPECT_EQ(last_refusal().index, 1);
	EXPECT_REFUSED(try_share(1, &zero, NULL), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "ObjectHandleArray");
	destroy_mutex(mutex);
	EXPECT_REFUSED(try_share(1, &mutex, NULL), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "ObjectHandleArray");
}

TEST(share, refuses_what_can_never_be_shared)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_HANDLE device = create_device(adapter);

	EXPECT_REFUSED(try_share(1, &adapter, NULL), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	EXPECT_REFUSED(try_share(1, &device, NULL), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	EXPECT_OK(destroy_device(device));
	EXPECT_OK(close_adapter(adapter));
}

TEST(share, refuses_a_keyed_mutex_alone_by_any_of_its_handles)
{
	D3DKMT_HANDLE global;
	D3DKMT_HANDLE mutex = create_mutex(false, &global);
	D3DKMT_HANDLE nt_mutex = create_mutex(true, NULL);

	EXPECT_REFUSED(try_share(1, &mutex, NULL), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	EXPECT_REFUSED(try_share(1, &global, NULL), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "ObjectHandleArray");
	EXPECT_REFUSED(try_share(1, &nt_mutex, NULL), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	destroy_mutex(mutex);
	destroy_mutex(nt_mutex);
}

TEST(share, lets_go_of_everything_it_refused)
{
	D3DKMT_HANDLE mutex = create_mutex(true, NULL);
	const D3DKMT_HANDLE objects[] = { mutex, mutex, mutex };
	UNICODE_STRING name = string_of(L"name");
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);
	struct dxgk_test_memory before = dxgk_test_memory();

	for (UINT count = 0; count < 5; count++)
		EXPECT(try_share(count, objects, &attributes) == STATUS_INVALID_PARAMETER);
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	destroy_mutex(mutex);
	EXPECT(dxgk_test_memory().blocks < before.blocks);
}

/* ---- names ---- */

TEST(name, is_needed_to_open_by_name)
{
	UNICODE_STRING empty = string_of(L"");
	OBJECT_ATTRIBUTES nameless = attributes_of(NULL);
	OBJECT_ATTRIBUTES with_empty = attributes_of(&empty);

	EXPECT_REFUSED(D3DKMTOpenNtHandleFromName(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	EXPECT_REFUSED(D3DKMTOpenSyncObjectNtHandleFromName(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	EXPECT_REFUSED(try_open_resource_name(NULL, 0), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pObjAttrib");
	EXPECT_REFUSED(try_open_sync_name(NULL, 0), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "pObjAttrib");
	EXPECT_REFUSED(try_open_resource_name(&nameless, 1), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pObjAttrib");
	EXPECT_REFUSED(try_open_sync_name(&with_empty, 1), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pObjAttrib");
}

TEST(name, that_nothing_has_is_not_found_whatever_access_is_asked)
{
	UNICODE_STRING name = string_of(L"\\BaseNamedObjects\\nobody");
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);

	for (DWORD access = 0; access < 2; access++) {
		EXPECT_REFUSED(try_open_resource_name(&attributes, access),
			       STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME", "pObjAttrib");
		EXPECT_REFUSED(try_open_sync_name(&attributes, access),
			       STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME", "pObjAttrib");
	}
}

TEST(name, is_text)
{
	static const WCHAR lone_surrogate[] = { 'a', 0xd800, 'b' };
	static const WCHAR with_zero[] = { 'a', 0, 'b' };
	UNICODE_STRING name = { sizeof(lone_surrogate), sizeof(lone_surrogate),
				(WCHAR *)lone_surrogate };
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);

	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_OBJECT_NAME_INVALID,
		       "API-NAME", "pObjAttrib");
	name.Buffer = (WCHAR *)with_zero;
	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_OBJECT_NAME_INVALID,
		       "API-NAME", "pObjAttrib");
	name = string_of(L"name");
	name.Length--;
	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_OBJECT_NAME_INVALID,
		       "API-NAME", "pObjAttrib");
	name = (UNICODE_STRING){ sizeof(WCHAR), sizeof(WCHAR), NULL };
	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_OBJECT_NAME_INVALID,
		       "API-NAME", "pObjAttrib");
}

TEST(name, of_any_length_is_taken)
{
	static WCHAR longest[USHRT_MAX / sizeof(WCHAR)];
	UNICODE_STRING name = { sizeof(longest), sizeof(longest), longest };
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);

	for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++)
		longest[i] = 0x1f600; /* four bytes of UTF-8 each */
	EXPECT_REFUSED(try_open_sync_name(&attributes, 1), STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME",
		       "pObjAttrib");
}

TEST(attributes, that_are_none_are_refused)
{
	UNICODE_STRING name = string_of(L"name");
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);
	D3DKMT_HANDLE mutex = create_mutex(true, NULL);

	attributes.Length--;
	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "pObjAttrib");
	EXPECT_REFUSED(try_share(1, &mutex, &attributes), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "pObjectAttributes");
	attributes = attributes_of(&name);
	attributes.Attributes = 0x1000;
	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_INVALID_PARAMETER,
		       "API-RESERVED", "pObjAttrib");
	attributes = attributes_of(&name);
	attributes.RootDirectory = untouched;
	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_INVALID_HANDLE, "API-NAME",
		       "pObjAttrib");
	destroy_mutex(mutex);
}

TEST(name, needs_memory_and_loses_none)
{
	UNICODE_STRING name = string_of(L"nobody");
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);
	unsigned n = 0;
	bool has_failed;

	EXPECT(try_open_resource_name(&attributes, 1) == STATUS_OBJECT_NAME_NOT_FOUND);
	struct dxgk_test_memory before = dxgk_test_memory();
	do {
		dxgk_test_fail_nth_allocation(++n);
		NTSTATUS status = try_open_resource_name(&attributes, 1);
		has_failed = dxgk_test_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_OBJECT_NAME_NOT_FOUND);
		EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	} while (has_failed);
	EXPECT(n > 2);
}

/* ---- resources ---- */

enum { HEAP_BYTES = 0x10000 };

/* A device, and a resource of one allocation on it. */
struct shared {
	D3DKMT_ADAPTERINFO adapter;
	D3DKMT_HANDLE device;
	void *memory;
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE allocation;
	D3DKMT_HANDLE global;
};

static void shared_begin(struct shared *shared, bool is_shared, bool is_nt)
{
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP,
		.ExistingHeapData.Size = HEAP_BYTES,
	};
	D3DDDI_ALLOCATIONINFO2 allocation = { 0 };
	D3DKMT_CREATEALLOCATION args = { .NumAllocations = 1,
					 .pStandardAllocation = &standard,
					 .pAllocationInfo2 = &allocation };

	shared->adapter = first_adapter();
	shared->device = create_device(shared->adapter.hAdapter);
	shared->memory =
		mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(shared->memory != MAP_FAILED);
	allocation.pSystemMem = shared->memory;
	args.hDevice = shared->device;
	args.Flags.ExistingSysMem = 1;
	args.Flags.StandardAllocation = 1;
	args.Flags.CreateResource = 1;
	args.Flags.CreateShared = is_shared;
	args.Flags.NtSecuritySharing = is_nt;
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	shared->resource = args.hResource;
	shared->allocation = allocation.hAllocation;
	shared->global = args.hGlobalShare;
}

static void shared_end(struct shared *shared)
{
	EXPECT_OK(destroy_device(shared->device));
	EXPECT_OK(close_adapter(shared->adapter.hAdapter));
	munmap(shared->memory, HEAP_BYTES);
}

static int share_resource(const struct shared *shared, OBJECT_ATTRIBUTES *attributes)
{
	HANDLE handle = untouched;

	EXPECT_OK(D3DKMTShareObjects(1, &shared->resource, attributes, STANDARD_RIGHTS_READ_BITS,
				     &handle));
	EXPECT_EQ((uintptr_t)handle & 0xc0000000, 0);
	return (int)(intptr_t)handle;
}

static NTSTATUS query(const struct shared *shared, int descriptor)
{
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE args = { .hDevice = shared->device,
						      .hNtHandle = (HANDLE)(intptr_t)descriptor };
	NTSTATUS status = D3DKMTQueryResourceInfoFromNtHandle(&args);

	if (status == STATUS_SUCCESS)
		EXPECT_EQ(args.NumAllocations, 1);
	return status;
}

TEST(resource, that_was_not_made_for_nt_handles_gets_none)
{
	for (int is_shared = 0; is_shared < 2; is_shared++) {
		struct shared shared;
		shared_begin(&shared, is_shared, false);
		EXPECT_REFUSED(try_share(1, &shared.allocation, NULL), STATUS_INVALID_PARAMETER,
			       "API-SHARE-SET", "ObjectHandleArray");
		EXPECT_REFUSED(try_share(1, &shared.resource, NULL), STATUS_INVALID_PARAMETER,
			       "API-SHARE-SCHEME", "ObjectHandleArray");
		shared_end(&shared);
	}
}

TEST(resource, that_was_gets_one_and_its_allocation_none)
{
	struct shared shared;

	shared_begin(&shared, true, true);
	EXPECT_EQ(shared.global, 0);
	EXPECT_REFUSED(try_share(1, &shared.allocation, NULL), STATUS_INVALID_PARAMETER,
		       "API-SHARE-SET", "ObjectHandleArray");
	int descriptor = share_resource(&shared, NULL);
	EXPECT_EQ(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
	EXPECT_OK(query(&shared, descriptor));
	close(descriptor);
	EXPECT_REFUSED(query(&shared, descriptor), STATUS_INVALID_HANDLE, "API-NT-HANDLE",
		       "hNtHandle");
	shared_end(&shared);
}

TEST(resource, is_not_opened_as_something_else)
{
	struct shared shared;
	D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE args = { .hKeyedMutex = GARBAGE };

	shared_begin(&shared, true, true);
	int descriptor = share_resource(&shared, NULL);
	args.hNtHandle = (HANDLE)(intptr_t)descriptor;
	EXPECT_REFUSED(D3DKMTOpenKeyedMutexFromNtHandle(&args), STATUS_OBJECT_TYPE_MISMATCH,
		       "API-NT-HANDLE-KIND", "hNtHandle");
	EXPECT_EQ(args.hKeyedMutex, GARBAGE);
	close(descriptor);
	shared_end(&shared);
}

TEST(resource, and_mutex_without_the_sync_object_are_no_set)
{
	struct shared shared;
	D3DKMT_HANDLE mutex = create_mutex(true, NULL);

	shared_begin(&shared, true, true);
	const D3DKMT_HANDLE sets[][3] = {
		{ shared.resource, mutex, mutex },
		{ shared.resource, shared.resource, shared.resource },
		{ mutex, shared.resource, mutex },
	};
	for (unsigned i = 0; i < 3; i++) {
		for (UINT count = 2; count <= 3; count++)
			EXPECT_REFUSED(try_share(count, sets[i], NULL), STATUS_INVALID_PARAMETER,
				       "API-SHARE-SET", "ObjectHandleArray");
	}
	shared_end(&shared);
	destroy_mutex(mutex);
}

TEST(resource, lives_in_its_nt_handle_when_its_creator_is_gone)
{
	struct shared shared;
	struct shared other;

	shared_begin(&shared, true, true);
	shared_begin(&other, false, false);
	int descriptor = share_resource(&shared, NULL);
	int copy = dup(descriptor);
	EXPECT_OK(destroy_device(shared.device));
	EXPECT_OK(query(&other, descriptor));
	close(descriptor);
	EXPECT_OK(query(&other, copy));
	close(copy);
	EXPECT_REFUSED(query(&other, copy), STATUS_INVALID_HANDLE, "API-NT-HANDLE", "hNtHandle");
	shared_end(&other);
	EXPECT_OK(close_adapter(shared.adapter.hAdapter));
	munmap(shared.memory, HEAP_BYTES);
}

TEST(resource, leaves_no_memory_when_its_last_nt_handle_is_closed)
{
	struct dxgk_test_memory before;

	for (unsigned round = 0; round < 3; round++) {
		struct shared shared;
		shared_begin(&shared, true, true);
		int descriptor = share_resource(&shared, NULL);
		shared_end(&shared);
		close(descriptor);
		/* The next call that has to do with sharing notices. */
		EXPECT(try_open_resource_name(NULL, 0) == STATUS_INVALID_PARAMETER);
		EXPECT_REFUSED(query(&shared, descriptor), STATUS_INVALID_PARAMETER, "API-HANDLE",
			       "hDevice");
		D3DKMTCloseDxCoreDevice();
		if (round == 0)
			before = dxgk_test_memory();
		EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	}
}

TEST(resource, lives_in_its_nt_handle_when_its_process_was_closed)
{
	struct shared shared;
	struct shared next;

	shared_begin(&shared, true, true);
	int descriptor = share_resource(&shared, NULL);
	D3DKMTCloseDxCoreDevice();
	shared_begin(&next, false, false);
	EXPECT_OK(query(&next, descriptor));
	close(descriptor);
	EXPECT_REFUSED(query(&next, descriptor), STATUS_INVALID_HANDLE, "API-NT-HANDLE",
		       "hNtHandle");
	shared_end(&next);
	munmap(shared.memory, HEAP_BYTES);
}

CHILD(exit_with_an_nt_handle)
{
	static struct shared shared;

	shared_begin(&shared, true, true);
	return share_resource(&shared, NULL) > 0 ? 0 : 1;
}

TEST(resource, ends_with_the_program_that_did_not_close_it)
{
	const struct child_result *result = run_child("exit_with_an_nt_handle");

	EXPECT_CHILD(result, 0);
	EXPECT_STR(result->err, "");
}

TEST(resource, can_be_opened_by_name)
{
	UNICODE_STRING name = string_of(L"\\BaseNamedObjects\\Test_Share");
	UNICODE_STRING lower = string_of(L"\\basenamedobjects\\test_share");
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);
	OBJECT_ATTRIBUTES in_lower = attributes_of(&lower);
	D3DKMT_OPENNTHANDLEFROMNAME args = { .pObjAttrib = &in_lower };
	struct shared shared;

	shared_begin(&shared, true, true);
	int descriptor = share_resource(&shared, &attributes);
	EXPECT_REFUSED(try_share(1, &shared.resource, &in_lower), STATUS_OBJECT_NAME_COLLISION,
		       "API-NAME-TAKEN", "pObjectAttributes");
	EXPECT_REFUSED(try_open_resource_name(&in_lower, 0), STATUS_ACCESS_DENIED, "API-ACCESS",
		       "dwDesiredAccess");
	EXPECT_REFUSED(try_open_sync_name(&in_lower, 1), STATUS_OBJECT_TYPE_MISMATCH,
		       "API-NT-HANDLE-KIND", "pObjAttrib");
	args.dwDesiredAccess = 1;
	EXPECT_OK(D3DKMTOpenNtHandleFromName(&args));
	int opened = (int)(intptr_t)args.hNtHandle;
	EXPECT(opened != descriptor && ((unsigned)opened & 0xc0000000) == 0);

	/* The name lives on in the second handle, the resource in its creator. */
	close(descriptor);
	EXPECT_OK(query(&shared, opened));
	EXPECT_OK(D3DKMTOpenNtHandleFromName(&args));
	close(opened);
	close((int)(intptr_t)args.hNtHandle);
	EXPECT_REFUSED(try_open_resource_name(&attributes, 1), STATUS_OBJECT_NAME_NOT_FOUND,
		       "API-NAME", "pObjAttrib");
	descriptor = share_resource(&shared, &attributes);
	EXPECT_OK(D3DKMTOpenNtHandleFromName(&args));
	close(descriptor);
	close((int)(intptr_t)args.hNtHandle);
	shared_end(&shared);
}

TEST(resource, needs_memory_to_be_shared_and_loses_none)
{
	UNICODE_STRING name = string_of(L"name");
	OBJECT_ATTRIBUTES attributes = attributes_of(&name);
	struct shared shared;
	unsigned n = 0;
	bool has_failed;

	shared_begin(&shared, true, true);
	EXPECT(query(&shared, 0) == STATUS_INVALID_HANDLE); /* ends what was closed before */
	struct dxgk_test_memory before = dxgk_test_memory();
	do {
		HANDLE handle = untouched;
		dxgk_test_fail_nth_allocation(++n);
		NTSTATUS status = D3DKMTShareObjects(1, &shared.resource, &attributes, 1, &handle);
		has_failed = dxgk_test_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (!has_failed)
			close((int)(intptr_t)handle);
		EXPECT(query(&shared, 0) == STATUS_INVALID_HANDLE);
		/* Of a server's client the end of what was closed may be seen a little later. */
		EXPECT(dxgk_test_memory().blocks <= before.blocks);
	} while (has_failed);
	EXPECT(n > 4);
	shared_end(&shared);
}

/* ---- where a shared resource lives ---- */

TEST(adapter_luid, of_a_resource_is_found_by_either_handle)
{
	for (int is_nt = 0; is_nt < 2; is_nt++) {
		struct shared shared;
		shared_begin(&shared, true, is_nt);
		int descriptor = is_nt ? share_resource(&shared, NULL) : 0;
		D3DKMT_GETSHAREDRESOURCEADAPTERLUID args = {
			.hGlobalShare = shared.global,
			.hNtHandle = (HANDLE)(intptr_t)descriptor,
		};
		EXPECT_OK(D3DKMTGetSharedResourceAdapterLuid(&args));
		EXPECT_EQ(args.AdapterLuid.LowPart, shared.adapter.AdapterLuid.LowPart);
		EXPECT_EQ(args.AdapterLuid.HighPart, shared.adapter.AdapterLuid.HighPart);
		if (is_nt)
			close(descriptor);
		shared_end(&shared);
	}
}

TEST(adapter_luid, is_asked_of_exactly_one_handle)
{
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID args = { .AdapterLuid = { 1, 2 } };

	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(&args), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "");
	args.hGlobalShare = GARBAGE;
	args.hNtHandle = untouched;
	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(&args), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "");
	EXPECT(args.AdapterLuid.LowPart == 1 && args.AdapterLuid.HighPart == 2);
}

TEST(adapter_luid, is_refused_for_what_is_no_shared_resource)
{
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID args = { .AdapterLuid = { 1, 2 } };
	D3DKMT_HANDLE mutex = create_mutex(false, &args.hGlobalShare);

	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(&args), STATUS_INVALID_PARAMETER,
		       "API-HANDLE-KIND", "hGlobalShare");
	args.hGlobalShare = mutex;
	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(&args), STATUS_INVALID_PARAMETER,
		       "API-HANDLE", "hGlobalShare");
	args.hGlobalShare = 0;
	args.hNtHandle = (HANDLE)(intptr_t)STDERR_FILENO;
	EXPECT_REFUSED(D3DKMTGetSharedResourceAdapterLuid(&args), STATUS_INVALID_HANDLE,
		       "API-NT-HANDLE", "hNtHandle");
	EXPECT(args.AdapterLuid.LowPart == 1 && args.AdapterLuid.HighPart == 2);
	destroy_mutex(mutex);
}

API_TEST_MAIN("api/share")
