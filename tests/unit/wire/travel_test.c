/* SPDX-License-Identifier: MIT */
/*
 * travel_test.c - arguments go to a server and results come back, for calls with all that a struct can
 * lead to.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <wchar.h>

#include "base/attributes.h"
#include "base/mem.h"
#include "unit/wire/travel.h"

enum { ELEMENTS = 2 };

static struct test_hooks hooks;

static NTSTATUS refuse_it(void *arguments, const struct travel_image *image)
{
	return STATUS_INVALID_PARAMETER;
}

static NTSTATUS accept_it(void *arguments, const struct travel_image *image)
{
	return STATUS_SUCCESS;
}

/* ---- D3DKMTCreateAllocation2 ---- */

static NTSTATUS create_two(void *arguments, const struct travel_image *image)
{
	D3DKMT_CREATEALLOCATION *args = arguments;

	EXPECT_EQ(args->NumAllocations, ELEMENTS);
	EXPECT(memcmp(args->pPrivateRuntimeData, "runtime", 7) == 0);
	EXPECT(memcmp(args->pPrivateDriverData, "drv", 3) == 0);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		D3DDDI_ALLOCATIONINFO2 *element = &args->pAllocationInfo2[i];

		EXPECT(memcmp(element->pPrivateDriverData, i == 0 ? "first" : "second", 5) == 0);
		element->hAllocation = 0x40 + i;
		element->GpuVirtualAddress = 0;
		memcpy(element->pPrivateDriverData, "after", 5);
	}
	args->hResource = 0x77;
	args->Flags.Zeroed = 1;
	return STATUS_SUCCESS;
}

TEST(travel, elements_with_data_of_their_own_come_back_with_handles)
{
	char first[] = "first", second[] = "second";
	D3DDDI_ALLOCATIONINFO2 elements[ELEMENTS] = {
		{ .pPrivateDriverData = first, .PrivateDriverDataSize = 5, .GpuVirtualAddress = 5 },
		{ .pPrivateDriverData = second, .PrivateDriverDataSize = 6 },
	};
	D3DKMT_CREATEALLOCATION args = {
		.hDevice = 1,
		.pPrivateRuntimeData = "runtime",
		.PrivateRuntimeDataSize = 7,
		.pPrivateDriverData = "drv",
		.PrivateDriverDataSize = 3,
		.NumAllocations = ELEMENTS,
		.pAllocationInfo2 = elements,
	};

	test_hooks_init(&hooks);
	test_go(CALL_create_allocation2, &args, create_two, &hooks);
	EXPECT_EQ(args.hResource, 0x77);
	EXPECT(args.Flags.Zeroed);
	EXPECT(args.pAllocationInfo2 == elements);
	EXPECT_EQ(elements[0].hAllocation, 0x40);
	EXPECT_EQ(elements[1].hAllocation, 0x41);
	EXPECT_EQ(elements[0].GpuVirtualAddress, 0);
	EXPECT(elements[0].pPrivateDriverData == first);
	EXPECT_STR(first, "after");
	EXPECT_STR(second, "afterd");
}

static NTSTATUS create_first_version(void *arguments, const struct travel_image *image)
{
	D3DKMT_CREATEALLOCATION *args = arguments;

	EXPECT(memcmp(args->pAllocationInfo[1].pPrivateDriverData, "b", 1) == 0);
	args->pAllocationInfo[0].hAllocation = 3;
	args->pAllocationInfo[1].hAllocation = 4;
	return STATUS_SUCCESS;
}

TEST(travel, lists_may_stand_at_any_address)
{
	char bytes[sizeof(D3DDDI_ALLOCATIONINFO) * ELEMENTS + 1];
	D3DDDI_ALLOCATIONINFO elements[ELEMENTS] = {
		{ .pPrivateDriverData = (char[]){ 'a' }, .PrivateDriverDataSize = 1 },
		{ .pPrivateDriverData = (char[]){ 'b' }, .PrivateDriverDataSize = 1 },
	};
	D3DKMT_CREATEALLOCATION args = { .NumAllocations = ELEMENTS };
	void *misaligned = bytes + 1;

	memcpy(misaligned, elements, sizeof(elements));
	memcpy(&args.pAllocationInfo, &misaligned, sizeof(misaligned));
	test_hooks_init(&hooks);
	test_go(CALL_create_allocation, &args, create_first_version, &hooks);
	memcpy(elements, misaligned, sizeof(elements));
	EXPECT_EQ(elements[0].hAllocation, 3);
	EXPECT_EQ(elements[1].hAllocation, 4);
}

TEST(travel, a_heap_of_the_client_and_its_size_are_told)
{
	D3DKMT_CREATESTANDARDALLOCATION heap = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP,
		.ExistingHeapData = { .Size = 8192 },
	};
	D3DDDI_ALLOCATIONINFO2 element = { .pSystemMem = (void *)0x123000 };
	D3DKMT_CREATEALLOCATION args = {
		.NumAllocations = 1,
		.pAllocationInfo2 = &element,
		.pStandardAllocation = &heap,
		.Flags = { .StandardAllocation = 1, .ExistingSysMem = 1 },
	};

	test_hooks_init(&hooks);
	test_go(CALL_create_allocation2, &args, accept_it, &hooks);
	EXPECT_EQ(hooks.sent_thing, TRAVEL_MEMORY);
	EXPECT_EQ(hooks.sent_bytes, 8192);
	EXPECT(hooks.sent_value == 0x123000);
	EXPECT(element.pSystemMem == (void *)0x123000);
	args.Flags.ExistingSysMem = 0;
	args.Flags.ExistingSection = 1;
	element.hSection = (HANDLE)12;
	test_go(CALL_create_allocation2, &args, accept_it, &hooks);
	EXPECT_EQ(hooks.sent_thing, TRAVEL_SECTION);
	EXPECT(hooks.arrived_value == 12);
}

/* ---- what a failure leaves ---- */

TEST(travel, a_call_that_changes_nothing_writes_nothing)
{
	const size_t page = 4096;
	char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	D3DKMT_CREATEALLOCATION *args = (void *)memory;
	D3DDDI_ALLOCATIONINFO2 *element = (void *)(memory + 1024);

	element->pPrivateDriverData = memory + 2048;
	element->PrivateDriverDataSize = 100;
	args->NumAllocations = 1;
	args->pAllocationInfo2 = element;
	assert_true(mprotect(memory, page, PROT_READ) == 0);
	test_hooks_init(&hooks);
	test_go(CALL_create_allocation2, args, refuse_it, &hooks);
	munmap(memory, page);
}

static NTSTATUS render_fails(void *arguments, const struct travel_image *image)
{
	((D3DKMT_RENDER *)arguments)->NewCommandBufferSize = 4096;
	return STATUS_INVALID_PARAMETER;
}

TEST(travel, what_a_refused_call_has_written_comes_back)
{
	D3DKMT_RENDER args = { .CommandLength = 4 };

	test_hooks_init(&hooks);
	test_go(CALL_render, &args, render_fails, &hooks);
	EXPECT_EQ(args.NewCommandBufferSize, 4096);
}

/* ---- lists ---- */

static NTSTATUS two_priorities(void *arguments, const struct travel_image *image)
{
	D3DKMT_GETALLOCATIONPRIORITY *args = arguments;

	EXPECT_EQ(args->phAllocationList[1], 6);
	args->pPriorities[0] = 100;
	args->pPriorities[1] = 200;
	return STATUS_SUCCESS;
}

static NTSTATUS one_priority(void *arguments, const struct travel_image *image)
{
	((D3DKMT_GETALLOCATIONPRIORITY *)arguments)->pPriorities[0] = 300;
	return STATUS_SUCCESS;
}

TEST(travel, numbers_come_back_one_for_each_or_one_for_a_resource)
{
	const D3DKMT_HANDLE handles[2] = { 5, 6 };
	UINT priorities[2] = { 0 };
	D3DKMT_GETALLOCATIONPRIORITY args = {
		.phAllocationList = handles,
		.AllocationCount = 2,
		.pPriorities = priorities,
	};

	test_hooks_init(&hooks);
	test_go(CALL_get_allocation_priority, &args, two_priorities, &hooks);
	EXPECT_EQ(priorities[0], 100);
	EXPECT_EQ(priorities[1], 200);
	args = (D3DKMT_GETALLOCATIONPRIORITY){ .hResource = 1, .pPriorities = priorities };
	test_go(CALL_get_allocation_priority, &args, one_priority, &hooks);
	EXPECT_EQ(priorities[0], 300);
	EXPECT_EQ(priorities[1], 200);
}

static NTSTATUS one_adapter(void *arguments, const struct travel_image *image)
{
	D3DKMT_ENUMADAPTERS2 *args = arguments;

	args->pAdapters[0].hAdapter = 17;
	args->NumAdapters = 1;
	return STATUS_SUCCESS;
}

TEST(travel, fewer_results_than_room_come_back_with_their_count)
{
	D3DKMT_ADAPTERINFO adapters[3] = { [1] = { .hAdapter = 99 } };
	D3DKMT_ENUMADAPTERS2 args = { .NumAdapters = 3, .pAdapters = adapters };

	test_hooks_init(&hooks);
	test_go(CALL_enum_adapters2, &args, one_adapter, &hooks);
	EXPECT_EQ(args.NumAdapters, 1);
	EXPECT_EQ(adapters[0].hAdapter, 17);
	EXPECT_EQ(adapters[1].hAdapter, 99);
	EXPECT(args.pAdapters == adapters);
}

static NTSTATUS leads_nowhere(void *arguments, const struct travel_image *image)
{
	D3DDDI_MAKERESIDENT *args = arguments;

	EXPECT(args->AllocationList == TRAVEL_NOWHERE);
	return STATUS_INVALID_PARAMETER;
}

static NTSTATUS is_null(void *arguments, const struct travel_image *image)
{
	EXPECT(((D3DDDI_MAKERESIDENT *)arguments)->AllocationList == NULL);
	return STATUS_INVALID_PARAMETER;
}

/* The pointers are not to be followed: nothing is there. */
TEST(travel, what_no_call_takes_does_not_travel)
{
	static const UINT counts[] = { 0, CALL_MAX_LIST + 1, 0x40000000, UINT32_MAX };
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = 1 };

	test_hooks_init(&hooks);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		args.NumAllocations = counts[i];
		args.AllocationList = (void *)8;
		test_go(CALL_make_resident, &args, leads_nowhere, &hooks);
		args.AllocationList = NULL;
		test_go(CALL_make_resident, &args, is_null, &hooks);
	}
}

TEST(travel, more_than_fits_a_block_is_said_before_it_is_written)
{
	static D3DDDI_ALLOCATIONINFO2 elements[80];
	D3DKMT_CREATEALLOCATION args = { .NumAllocations = 80, .pAllocationInfo2 = elements };

	for (uint32_t i = 0; i < 80; i++) {
		elements[i].pPrivateDriverData = (void *)8; /* not read */
		elements[i].PrivateDriverDataSize = CALL_MAX_PRIVATE_BYTES;
	}
	EXPECT_EQ(travel_request_bytes(CALL_create_allocation2, &args), 0);
}

/* ---- opening resources ---- */

static NTSTATUS open_two(void *arguments, const struct travel_image *image)
{
	D3DKMT_OPENRESOURCE *args = arguments;
	char *total = args->pTotalPrivateDriverDataBuffer;

	memcpy(total, "onetwo", 6);
	memcpy(args->pPrivateRuntimeData, "rt", 2);
	args->pOpenAllocationInfo2[0] = (D3DDDI_OPENALLOCATIONINFO2){ .hAllocation = 1,
								      .pPrivateDriverData = total,
								      .PrivateDriverDataSize = 3 };
	args->pOpenAllocationInfo2[1] = (D3DDDI_OPENALLOCATIONINFO2){
		.hAllocation = 2, .pPrivateDriverData = total + 3, .PrivateDriverDataSize = 3
	};
	args->TotalPrivateDriverDataBufferSize = 6;
	args->hResource = 8;
	return STATUS_SUCCESS;
}

TEST(travel, elements_of_a_resource_point_into_the_clients_own_room)
{
	char total[64] = "................";
	char runtime[2];
	D3DDDI_OPENALLOCATIONINFO2 elements[ELEMENTS];
	D3DKMT_OPENRESOURCE args = {
		.NumAllocations = ELEMENTS,
		.pOpenAllocationInfo2 = elements,
		.pPrivateRuntimeData = runtime,
		.PrivateRuntimeDataSize = sizeof(runtime),
		.pTotalPrivateDriverDataBuffer = total,
		.TotalPrivateDriverDataBufferSize = sizeof(total),
	};

	memset(elements, 0xaa, sizeof(elements));
	test_hooks_init(&hooks);
	test_go(CALL_open_resource2, &args, open_two, &hooks);
	EXPECT_EQ(args.hResource, 8);
	EXPECT_EQ(args.TotalPrivateDriverDataBufferSize, 6);
	EXPECT(memcmp(runtime, "rt", 2) == 0);
	EXPECT(memcmp(total, "onetwo..", 8) == 0);
	EXPECT_EQ(elements[1].hAllocation, 2);
	EXPECT(elements[0].pPrivateDriverData == total);
	EXPECT(elements[1].pPrivateDriverData == total + 3);
}

static NTSTATUS open_without_data(void *arguments, const struct travel_image *image)
{
	D3DKMT_OPENRESOURCE *args = arguments;

	if (args->pOpenAllocationInfo2 != TRAVEL_NOWHERE && args->pOpenAllocationInfo2)
		args->pOpenAllocationInfo2[0].hAllocation = 7;
	args->hResource = 8;
	return STATUS_SUCCESS;
}

TEST(travel, elements_without_data_point_nowhere_and_there_may_be_none)
{
	D3DDDI_OPENALLOCATIONINFO2 element = { .pPrivateDriverData = (void *)8 };
	D3DKMT_OPENRESOURCE args = { .NumAllocations = 1, .pOpenAllocationInfo2 = &element };

	test_hooks_init(&hooks);
	test_go(CALL_open_resource2, &args, open_without_data, &hooks);
	EXPECT_EQ(element.hAllocation, 7);
	EXPECT(element.pPrivateDriverData == NULL);
	element.hAllocation = 1;
	args.NumAllocations = 0;
	test_go(CALL_open_resource2, &args, open_without_data, &hooks);
	args = (D3DKMT_OPENRESOURCE){ .NumAllocations = 1 };
	test_go(CALL_open_resource2, &args, open_without_data, &hooks);
	EXPECT_EQ(element.hAllocation, 1);
	EXPECT_EQ(args.hResource, 8);
}

/* A client may say more room than there is, as long as it is refused. */
TEST(travel, room_is_neither_read_nor_written_by_a_call_that_fails)
{
	D3DKMT_OPENRESOURCE args = {
		.NumAllocations = 1000,
		.pOpenAllocationInfo2 = (void *)8,
		.pPrivateRuntimeData = (void *)8,
		.PrivateRuntimeDataSize = 100,
		.pTotalPrivateDriverDataBuffer = (void *)8,
		.TotalPrivateDriverDataBufferSize = UINT32_MAX,
	};

	test_hooks_init(&hooks);
	test_go(CALL_open_resource2, &args, refuse_it, &hooks);
	EXPECT_EQ(args.TotalPrivateDriverDataBufferSize, UINT32_MAX);
}

TEST(travel, without_memory_for_room_nothing_is_opened)
{
	char buffer[2 * TRAVEL_BUFFER_BYTES];
	char more[2 * TRAVEL_BUFFER_BYTES];
	D3DDDI_OPENALLOCATIONINFO2 element;
	D3DKMT_OPENRESOURCE args = {
		.NumAllocations = 1,
		.pOpenAllocationInfo2 = &element,
		.pPrivateRuntimeData = more,
		.PrivateRuntimeDataSize = sizeof(more),
		.pTotalPrivateDriverDataBuffer = buffer,
		.TotalPrivateDriverDataBufferSize = sizeof(buffer),
	};
	const struct mem_usage before = mem_usage();

	test_hooks_init(&hooks);
	for (uint64_t n = 1; n <= 2; n++) {
		struct travel_image image;
		const char *why = "";
		uint64_t size_bytes;
		void *block = test_request(CALL_open_resource2, &args, &size_bytes, &hooks);

		mem_fail_nth(n);
		EXPECT(!travel_request_open(&image, CALL_open_resource2, block, size_bytes,
					    &hooks.hooks, &why));
		EXPECT(mem_fail_stop());
		EXPECT(why == NULL);
		free(block);
	}
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

/* ---- names and descriptors ---- */

static NTSTATUS share_by_name(void *arguments, const struct travel_image *image)
{
	D3DKMT_SHAREOBJECTS *args = arguments;
	OBJECT_ATTRIBUTES *attributes = args->pObjectAttributes;

	EXPECT_EQ(args->ObjectHandleArray[0], 4);
	EXPECT_EQ(attributes->ObjectName->Length, 3 * sizeof(WCHAR));
	EXPECT(wmemcmp(attributes->ObjectName->Buffer, L"abc", 3) == 0);
	*args->pSharedNtHandle = (HANDLE)55;
	return STATUS_SUCCESS;
}

TEST(travel, a_descriptor_comes_back_by_the_clients_number)
{
	const D3DKMT_HANDLE handle = 4;
	WCHAR text[] = L"abc";
	UNICODE_STRING name = { .Length = 3 * sizeof(WCHAR), .Buffer = text };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &name };
	HANDLE shared = (HANDLE)1;
	D3DKMT_SHAREOBJECTS args = { 1, &handle, &attributes, 0, &shared };

	test_hooks_init(&hooks);
	test_go(CALL_share_objects, &args, share_by_name, &hooks);
	EXPECT_EQ(hooks.sent_back, 55);
	EXPECT(shared == (HANDLE)9);
	EXPECT(args.pSharedNtHandle == &shared);
	shared = (HANDLE)1;
	hooks.sent_back = -1;
	test_go(CALL_share_objects, &args, refuse_it, &hooks);
	EXPECT_EQ(hooks.sent_back, -1);
	EXPECT(shared == (HANDLE)1);
}

TEST(travel, names_are_not_followed_where_nobody_would_read_them)
{
	UNICODE_STRING odd = { .Length = 5, .Buffer = (void *)8 };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes) + 1,
					 .ObjectName = (void *)8 };
	D3DKMT_OPENNTHANDLEFROMNAME args = { .pObjAttrib = &attributes };

	test_hooks_init(&hooks);
	test_go(CALL_open_nt_handle_from_name, &args, refuse_it, &hooks);
	attributes = (OBJECT_ATTRIBUTES){ .Length = sizeof(attributes), .ObjectName = &odd };
	test_go(CALL_open_nt_handle_from_name, &args, refuse_it, &hooks);
	args.pObjAttrib = NULL;
	test_go(CALL_open_nt_handle_from_name, &args, refuse_it, &hooks);
}

static NTSTATUS open_name(void *arguments, const struct travel_image *image)
{
	((D3DKMT_OPENNTHANDLEFROMNAME *)arguments)->hNtHandle = (HANDLE)66;
	return STATUS_SUCCESS;
}

TEST(travel, a_struct_may_stand_at_any_address)
{
	D3DKMT_OPENNTHANDLEFROMNAME args = { .dwDesiredAccess = 1 };
	unsigned char bytes[sizeof(args) + 1];

	memcpy(bytes + 1, &args, sizeof(args));
	test_hooks_init(&hooks);
	test_go(CALL_open_nt_handle_from_name, bytes + 1, open_name, &hooks);
	memcpy(&args, bytes + 1, sizeof(args));
	EXPECT(args.hNtHandle == (HANDLE)9);
}

TEST(travel, a_descriptor_that_does_not_arrive_is_no_reply)
{
	D3DKMT_OPENNTHANDLEFROMNAME args = { .dwDesiredAccess = 1 };
	struct travel_image image;
	const char *why;
	uint64_t size_bytes;
	uint64_t reply[16];

	test_hooks_init(&hooks);
	test_go(CALL_open_nt_handle_from_name, &args, open_name, &hooks);
	EXPECT(args.hNtHandle == (HANDLE)9);
	hooks.arrived_back = -1;
	void *block = test_request(CALL_open_nt_handle_from_name, &args, &size_bytes, &hooks);
	EXPECT(travel_request_open(&image, CALL_open_nt_handle_from_name, block, size_bytes,
				   &hooks.hooks, &why));
	NTSTATUS status = open_name(image.arguments, &image);
	size_bytes = travel_reply_bytes(&image, status);
	assert_true(size_bytes <= sizeof(reply));
	travel_reply_write(&image, status, reply, &hooks.hooks);
	travel_image_close(&image);
	EXPECT(!travel_reply_apply(CALL_open_nt_handle_from_name, &args, reply, size_bytes,
				   &hooks.hooks));
	free(block);
}

static NTSTATUS evict_by_handle(void *arguments, const struct travel_image *image)
{
	D3DKMT_ESCAPE *args = arguments;
	D3DKMT_VIDMM_ESCAPE *data = args->pPrivateDriverData;

	EXPECT_EQ(data->EvictByNtHandle.NtHandle, 0x5e0000 + 0x1001);
	return STATUS_SUCCESS;
}

TEST(travel, a_handle_inside_data_comes_back_as_the_client_has_it)
{
	D3DKMT_VIDMM_ESCAPE data = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE };
	D3DKMT_ESCAPE args = { .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &data,
			       .PrivateDriverDataSize = sizeof(data) };

	data.EvictByNtHandle.NtHandle = 31;
	test_hooks_init(&hooks);
	test_go(CALL_escape, &args, evict_by_handle, &hooks);
	EXPECT_EQ(hooks.sent_thing, TRAVEL_NT_HANDLE);
	EXPECT_EQ(data.EvictByNtHandle.NtHandle, 31);
}

/* ---- a value, or a pointer to values ---- */

static NTSTATUS values_arrive(void *arguments, const struct travel_image *image)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *args = arguments;
	const UINT64 *values = travel_slot_values(args->Reserved);

	EXPECT(values != NULL && values != args->MonitoredFenceValueArray);
	EXPECT_EQ(values[1], 12);
	return STATUS_SUCCESS;
}

static NTSTATUS a_value_arrives(void *arguments, const struct travel_image *image)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *args = arguments;

	EXPECT(travel_slot_values(args->Reserved) == NULL);
	return STATUS_SUCCESS;
}

TEST(travel, a_slot_travels_as_the_value_it_is_and_with_what_it_leads_to)
{
	const D3DKMT_HANDLE objects[2] = { 1, 2 };
	const UINT64 values[2] = { 11, 12 };
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU args = {
		.ObjectCount = 2,
		.ObjectHandleArray = objects,
		.MonitoredFenceValueArray = values,
	};
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 other = { .Info = { .Type = D3DDDI_FENCE } };

	test_hooks_init(&hooks);
	test_go(CALL_wait_for_synchronization_object_from_gpu, &args, values_arrive, &hooks);
	EXPECT(args.MonitoredFenceValueArray == values);
	/* From here on a slot may be a value that only looks like an address. */
	test_go(CALL_create_synchronization_object2, &other, accept_it, &hooks);
	test_go(CALL_wait_for_synchronization_object_from_gpu, &args, values_arrive, &hooks);
	static const UINT64 numbers[] = { 0, 5, 0x10000000, 0x7ffffffffff8, UINT64_MAX };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		args.Reserved[0] = numbers[i];
		test_go(CALL_wait_for_synchronization_object_from_gpu, &args, a_value_arrives,
			&hooks);
		EXPECT(args.Reserved[0] == numbers[i]);
	}
}

TEST(travel, events_travel_where_there_is_one)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 args = { .Flags = { .EnqueueCpuEvent = 1 },
							    .CpuEventHandle = (HANDLE)7 };
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hAsyncEvent = NULL };

	test_hooks_init(&hooks);
	test_go(CALL_signal_synchronization_object_from_gpu2, &args, accept_it, &hooks);
	EXPECT_EQ(hooks.sent_thing, TRAVEL_EVENT);
	EXPECT_EQ(hooks.sent_count, 1);
	test_go(CALL_wait_for_synchronization_object_from_cpu, &wait, accept_it, &hooks);
	EXPECT_EQ(hooks.sent_count, 1);
	wait.hAsyncEvent = (HANDLE)8;
	test_go(CALL_wait_for_synchronization_object_from_cpu, &wait, accept_it, &hooks);
	EXPECT_EQ(hooks.sent_count, 2);
	EXPECT(wait.hAsyncEvent == (HANDLE)8);
}

/* ---- all calls ---- */

static NTSTATUS no_struct(void *arguments, const struct travel_image *image)
{
	EXPECT(arguments == NULL);
	return STATUS_INVALID_PARAMETER;
}

TEST(travel, every_call_goes_there_and_back_also_without_a_struct)
{
	for (uint32_t id = 0; id < CALL_COUNT; id++) {
		uint64_t args[CALL_MAX_ARGS_BYTES / 8] = { 0 };

		test_hooks_init(&hooks);
		test_go(id, call_describe(id)->is_built ? args : NULL, refuse_it, &hooks);
		test_go(id, NULL, no_struct, &hooks);
	}
}

TEST(travel, both_ends_of_one_build_agree)
{
	EXPECT(travel_hash() != 0);
	EXPECT_EQ(travel_hash(), travel_hash());
}

struct visits {
	uint32_t count;
	struct {
		const void *memory;
		uint64_t size_bytes;
	} visit[8];
};

static void note_visit(void *context, const void *memory, uint64_t size_bytes)
{
	struct visits *visits = context;

	assert_true(visits->count < ARRAY_SIZE(visits->visit));
	visits->visit[visits->count].memory = memory;
	visits->visit[visits->count++].size_bytes = size_bytes;
}

static void expect_visit(const struct visits *visits, uint32_t i, const void *memory,
			 uint64_t size_bytes)
{
	EXPECT(visits->visit[i].memory == memory);
	EXPECT_EQ(visits->visit[i].size_bytes, size_bytes);
}

TEST(travel, a_visit_sees_all_of_the_clients_memory)
{
	const D3DKMT_HANDLE handles[3] = { 1, 2, 3 };
	char runtime[5];
	char total[64];
	D3DDDI_OPENALLOCATIONINFO2 elements[2];
	D3DKMT_EVICT evict = { .NumAllocations = 3, .AllocationList = handles };
	D3DKMT_OPENRESOURCE open = {
		.NumAllocations = 2,
		.pOpenAllocationInfo2 = elements,
		.pPrivateRuntimeData = runtime,
		.PrivateRuntimeDataSize = sizeof(runtime),
		.pTotalPrivateDriverDataBuffer = total,
		.TotalPrivateDriverDataBufferSize = sizeof(total),
	};
	struct visits visits = { 0 };

	travel_visit(CALL_evict, &evict, note_visit, &visits);
	EXPECT_EQ(visits.count, 2);
	expect_visit(&visits, 0, &evict, sizeof(evict));
	expect_visit(&visits, 1, handles, sizeof(handles));

	visits.count = 0;
	travel_visit(CALL_open_resource2, &open, note_visit, &visits);
	EXPECT_EQ(visits.count, 4);
	expect_visit(&visits, 0, &open, sizeof(open));
	expect_visit(&visits, 1, elements, sizeof(elements));
	expect_visit(&visits, 2, runtime, sizeof(runtime));
	expect_visit(&visits, 3, total, sizeof(total));

	visits.count = 0;
	travel_visit(CALL_evict, NULL, note_visit, &visits);
	travel_visit(CALL_D3DKMTPresent, &evict, note_visit, &visits);
	travel_visit(CALL_COUNT, &evict, note_visit, &visits);
	EXPECT_EQ(visits.count, 0);
}

static void count_told(void *context, const char *parent, uint32_t offset, uint32_t size_bytes,
		       const char *how)
{
	++*(unsigned *)context;
}

TEST(travel, what_is_no_call_or_not_built_has_no_fields_to_tell_of)
{
	unsigned told = 0;

	travel_describe(CALL_COUNT, count_told, &told);
	travel_describe(CALL_D3DKMTPresent, count_told, &told);
	EXPECT_EQ(told, 0);
	travel_describe(CALL_evict, count_told, &told);
	EXPECT(told > 0);
}

TEST_MAIN("wire/travel")
