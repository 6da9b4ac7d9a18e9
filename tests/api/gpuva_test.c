/* SPDX-License-Identifier: MIT */
/* gpuva_test.c - GPU addresses through the public calls, with the software GPU. */
#include "api/allocation.h"

#define PAGE    UINT64_C(4096)
#define K64     UINT64_C(0x10000)
#define SOME    UINT64_C(0x100000000)
#define INVALID STATUS_INVALID_PARAMETER

enum { GARBAGE = 0x1eadbeed };

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;
static D3DKMT_HANDLE paging_queue;
static const volatile UINT64 *paging_fence;

/* A new process with one device. */
static void begin(void)
{
	D3DKMTCloseDxCoreDevice();
	adapter = open_first_adapter();
	device = create_device(adapter);
}

static void begin_queue(void)
{
	D3DKMT_CREATEPAGINGQUEUE args = { .hDevice = 0 };

	begin();
	args.hDevice = device;
	EXPECT_OK(D3DKMTCreatePagingQueue(&args));
	paging_queue = args.hPagingQueue;
	paging_fence = args.FenceValueCPUVirtualAddress;
}

static void await(UINT64 value)
{
	while (*paging_fence < value)
		usleep(100);
}

static NTSTATUS reserve(D3DKMT_HANDLE by, UINT64 base, UINT64 size, UINT64 *address_out,
			UINT64 *value_out)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = { .hPagingQueue = by,
						 .BaseAddress = base,
						 .Size = size,
						 .ReservationType =
							 D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };
	NTSTATUS status = D3DKMTReserveGpuVirtualAddress(&args);

	*address_out = args.VirtualAddress;
	*value_out = args.PagingFenceValue;
	return status;
}

static D3DDDI_MAPGPUVIRTUALADDRESS mapping(D3DKMT_HANDLE allocation, UINT64 base, UINT64 pages)
{
	return (D3DDDI_MAPGPUVIRTUALADDRESS){ .hPagingQueue = paging_queue,
					      .BaseAddress = base,
					      .hAllocation = allocation,
					      .SizeInPages = pages,
					      .Protection.Write = allocation != 0 };
}

static NTSTATUS release(UINT64 base, UINT64 size)
{
	return D3DKMTFreeGpuVirtualAddress(&(D3DKMT_FREEGPUVIRTUALADDRESS){ adapter, base, size });
}

TEST(gpuva, a_reservation_by_adapter_is_there_when_the_call_returns)
{
	UINT64 address;
	UINT64 value;

	begin();
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	EXPECT_EQ(address, SOME);
	EXPECT_EQ(value, 0);
	EXPECT_REFUSED(reserve(adapter, SOME, K64, &address, &value), INVALID, "VA-IN-USE",
		       "BaseAddress");
	EXPECT_OK(release(SOME, K64));
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
}

TEST(gpuva, a_reservation_by_queue_comes_with_a_value_of_its_fence)
{
	UINT64 address;
	UINT64 value;

	begin_queue();
	EXPECT_EQ(reserve(paging_queue, SOME, K64, &address, &value), STATUS_PENDING);
	EXPECT_EQ(address, SOME);
	EXPECT(value > 0);
	await(value);
}

/* compute-runtime takes anything but success for a failure here, also what is pending. */
TEST(gpuva, a_reservation_without_access_is_there_at_once_by_queue_too)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = { .MinimumAddress = SOME,
						 .MaximumAddress = SOME + 16 * K64 - 1,
						 .Size = K64,
						 .VirtualAddress = GARBAGE,
						 .PagingFenceValue = GARBAGE };

	begin_queue();
	args.hPagingQueue = paging_queue;
	for (unsigned i = 0; i < 16; i++) {
		EXPECT_OK(D3DKMTReserveGpuVirtualAddress(&args));
		EXPECT(args.VirtualAddress >= SOME && args.VirtualAddress < SOME + 16 * K64);
		EXPECT_EQ(args.PagingFenceValue, 0);
	}
	EXPECT_REFUSED(D3DKMTReserveGpuVirtualAddress(&args), STATUS_NO_MEMORY, "VA-FULL", "");
	EXPECT_EQ(*paging_fence, 0);
}

TEST(gpuva, a_huge_reservation_is_as_easy_as_a_small_one)
{
	UINT64 address;
	UINT64 value;

	begin();
	EXPECT_OK(reserve(adapter, 0, UINT64_C(1) << 46, &address, &value));
	EXPECT_OK(release(address, UINT64_C(1) << 46));
}

/* compute-runtime does not start when it finds 64 KiB where it could not reserve all. */
TEST(gpuva, in_what_is_reserved_nothing_is_left_to_reserve)
{
	enum { TERABYTES_16 = 44 };
	UINT64 size = (UINT64_C(1) << TERABYTES_16) - 0x200000;
	UINT64 address = GARBAGE;
	UINT64 value = GARBAGE;

	begin();
	EXPECT_OK(reserve(adapter, 0x200000, size, &address, &value));
	EXPECT_EQ(address, 0x200000);
	address = value = GARBAGE;
	D3DDDI_RESERVEGPUVIRTUALADDRESS any = { .hAdapter = adapter,
						.MinimumAddress = 0x200000,
						.MaximumAddress = 0x200000 + size,
						.Size = K64,
						.VirtualAddress = GARBAGE };
	EXPECT_REFUSED(D3DKMTReserveGpuVirtualAddress(&any), STATUS_NO_MEMORY, "VA-FULL", "");
	EXPECT_EQ(any.VirtualAddress, GARBAGE);
	any.MaximumAddress--; /* as clients say it: the last byte */
	EXPECT_REFUSED(D3DKMTReserveGpuVirtualAddress(&any), STATUS_NO_MEMORY, "VA-FULL", "");
	EXPECT_OK(release(0x200000, size));
	EXPECT_OK(D3DKMTReserveGpuVirtualAddress(&any));
	EXPECT(any.VirtualAddress >= 0x200000 && any.VirtualAddress + K64 <= 0x200000 + size);
}

TEST(gpuva, a_reservation_is_freed_in_parts_once_each)
{
	UINT64 address;
	UINT64 value;

	begin_queue();
	EXPECT_OK(reserve(adapter, SOME, 4 * K64, &address, &value));
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(create_one(device), SOME + K64, K64 / PAGE);
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_PENDING);
	EXPECT_EQ(args.VirtualAddress, SOME + K64);
	await(args.PagingFenceValue);
	EXPECT_OK(release(SOME + K64, K64));
	EXPECT_REFUSED(release(SOME + K64, K64), INVALID, "VA-NOT-THERE", "BaseAddress");
	EXPECT_REFUSED(release(SOME, 4 * K64), INVALID, "VA-ONE-RANGE", "BaseAddress");
	EXPECT_OK(release(SOME, K64));
	EXPECT_OK(release(SOME + 2 * K64, 2 * K64));
	EXPECT_OK(reserve(adapter, SOME, 4 * K64, &address, &value)); /* all of it is free */
}

/* Nothing is written by a call that is refused. */
static void expect_not_mapped(D3DDDI_MAPGPUVIRTUALADDRESS args, const char *rule,
			      const char *argument)
{
	args.VirtualAddress = args.PagingFenceValue = GARBAGE;
	EXPECT_REFUSED(D3DKMTMapGpuVirtualAddress(&args), INVALID, rule, argument);
	EXPECT_EQ(args.VirtualAddress, GARBAGE);
	EXPECT_EQ(args.PagingFenceValue, GARBAGE);
}

TEST(gpuva, a_mapping_that_makes_no_sense_is_refused_with_its_reason)
{
	enum { PAGES = SOME_BYTES / 4096 };

	begin_queue();
	D3DKMT_HANDLE mine = create_one(device);
	D3DKMT_HANDLE gone = create_one(device);
	D3DKMT_HANDLE foreign = create_one(create_device(adapter));
	EXPECT_OK(destroy_one(device, gone));
	const D3DDDI_MAPGPUVIRTUALADDRESS good = mapping(mine, SOME, PAGES);
	const D3DKMT_HANDLE wrong[] = { GARBAGE, gone, foreign, device, paging_queue };
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		expect_not_mapped(mapping(wrong[i], SOME, 1), "API-HANDLE", "hAllocation");
	const D3DKMT_HANDLE no_queue[] = { 0, GARBAGE, adapter, device };
	for (unsigned i = 0; i < sizeof(no_queue) / sizeof(no_queue[0]); i++) {
		D3DDDI_MAPGPUVIRTUALADDRESS args = good;
		args.hPagingQueue = no_queue[i];
		expect_not_mapped(args, i < 2 ? "API-HANDLE" : "API-HANDLE-KIND", "hPagingQueue");
	}
	D3DDDI_MAPGPUVIRTUALADDRESS args = good;
	args.hAllocation = 0;
	expect_not_mapped(args, "VA-ALLOCATION", "hAllocation");
	args = good;
	args.Protection.Zero = 1;
	expect_not_mapped(args, "VA-ALLOCATION", "hAllocation");
	args.hAllocation = 0;
	args.Protection.NoAccess = 1;
	expect_not_mapped(args, "VA-PROTECTION", "Protection");
	for (unsigned bit = 4; bit < 64; bit++) { /* the first is the system's */
		args = good;
		args.Protection.Value |= UINT64_C(1) << bit;
		expect_not_mapped(args, "VA-PROTECTION", "Protection");
	}
	args = good;
	args.BaseAddress++;
	expect_not_mapped(args, "VA-ALIGNMENT", "BaseAddress");
	args.BaseAddress = UINT64_MAX - PAGE + 1;
	expect_not_mapped(args, "VA-RANGE", "BaseAddress");
	expect_not_mapped(mapping(mine, SOME, 0), "VA-RANGE", "SizeInPages");
	expect_not_mapped(mapping(mine, SOME, UINT64_MAX), "VA-RANGE", "SizeInPages");
	expect_not_mapped(mapping(mine, SOME, PAGES + 1), "VA-ALLOCATION", "OffsetInPages");
	args = good;
	args.OffsetInPages = 1;
	expect_not_mapped(args, "VA-ALLOCATION", "OffsetInPages");
	args.OffsetInPages = UINT64_MAX;
	expect_not_mapped(args, "VA-ALLOCATION", "OffsetInPages");
	args = good;
	args.Reserved1 = 1;
	expect_not_mapped(args, "API-RESERVED", "Reserved1");
	/* What is there is what was there: nothing. */
	EXPECT_REFUSED(release(SOME, SOME_BYTES), INVALID, "VA-NOT-THERE", "BaseAddress");
}

TEST(gpuva, what_names_neither_queue_nor_adapter_is_refused)
{
	UINT64 address;
	UINT64 value;

	begin();
	EXPECT_REFUSED(reserve(device, 0, K64, &address, &value), INVALID, "API-HANDLE-KIND",
		       "hPagingQueue");
	EXPECT_REFUSED(reserve(GARBAGE, 0, K64, &address, &value), INVALID, "API-HANDLE",
		       "hPagingQueue");
}

TEST(gpuva, a_reservation_is_in_units_of_64_kib)
{
	UINT64 address;
	UINT64 value;

	begin();
	EXPECT_REFUSED(reserve(adapter, 0, PAGE, &address, &value), INVALID, "VA-ALIGNMENT",
		       "Size");
	EXPECT_REFUSED(reserve(adapter, SOME + PAGE, K64, &address, &value), INVALID,
		       "VA-ALIGNMENT", "BaseAddress");
}

TEST(gpuva, a_mapping_is_where_it_was_asked_for_and_goes_with_a_free)
{
	D3DKMT_HANDLE allocation;

	begin_queue();
	allocation = create_one(device);
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(allocation, SOME, 1);
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_PENDING);
	EXPECT_EQ(args.VirtualAddress, SOME);
	EXPECT(args.PagingFenceValue > 0);
	await(args.PagingFenceValue);
	EXPECT_OK(release(SOME, PAGE));
	EXPECT_REFUSED(release(SOME, PAGE), INVALID, "VA-NOT-THERE", "BaseAddress");
}

TEST(gpuva, without_a_base_the_kernel_chooses_below_an_inclusive_maximum)
{
	D3DKMT_HANDLE allocation;

	begin_queue();
	allocation = create_one(device);
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(allocation, 0, 1);
	args.MinimumAddress = SOME;
	args.MaximumAddress = SOME + PAGE - 1;
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_PENDING);
	EXPECT_EQ(args.VirtualAddress, SOME);
	D3DDDI_MAPGPUVIRTUALADDRESS again = mapping(allocation, 0, 1);
	again.MinimumAddress = SOME;
	again.MaximumAddress = SOME + PAGE - 1;
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&again), STATUS_NO_MEMORY);
}

TEST(gpuva, with_a_base_the_limits_are_not_looked_at)
{
	D3DKMT_HANDLE allocation;

	begin_queue();
	allocation = create_one(device);
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(allocation, SOME, 1);
	args.MinimumAddress = SOME + PAGE + 1;
	args.MaximumAddress = 0xfff;
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_PENDING);
	EXPECT_EQ(args.VirtualAddress, SOME);
	D3DDDI_RESERVEGPUVIRTUALADDRESS reservation = { .hPagingQueue = paging_queue,
							.BaseAddress = SOME + K64,
							.Size = K64,
							.MinimumAddress = SOME + 1,
							.MaximumAddress = 0xfff };
	EXPECT_OK(D3DKMTReserveGpuVirtualAddress(&reservation));
	EXPECT_EQ(reservation.VirtualAddress, SOME + K64);
}

TEST(gpuva, the_addresses_of_an_allocation_go_with_it)
{
	D3DKMT_HANDLE allocation;

	begin_queue();
	allocation = create_one(device);
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(allocation, SOME, 1);
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_PENDING);
	EXPECT_OK(destroy_one(device, allocation));
	/* It may still be under way; a new mapping has to wait for nobody in the end. */
	while (release(SOME, PAGE) == STATUS_SUCCESS)
		usleep(100);
	EXPECT_STR(last_refusal().rule, "VA-NOT-THERE");
}

TEST(gpuva, a_mapping_beyond_the_allocation_is_refused)
{
	D3DKMT_HANDLE allocation;

	begin_queue();
	allocation = create_one(device);
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(allocation, SOME, 1 << 20);
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), INVALID);
	args = mapping(GARBAGE, SOME, 1);
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), INVALID);
	EXPECT_STR(last_refusal().rule, "API-HANDLE");
	args = mapping(allocation, SOME, 1);
	args.Reserved0 = 1;
	EXPECT_REFUSED(D3DKMTMapGpuVirtualAddress(&args), INVALID, "API-RESERVED", "Reserved0");
}

TEST(gpuva, a_process_may_end_with_everything_mapped)
{
	UINT64 address;
	UINT64 value;

	begin_queue();
	for (UINT64 i = 0; i < 20; i++) {
		D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(create_one(device), SOME + i * K64, 1);

		EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_PENDING);
	}
	EXPECT_EQ(reserve(paging_queue, 0, K64, &address, &value), STATUS_PENDING);
	D3DKMTCloseDxCoreDevice();
}

/* ---- updates ---- */

static D3DKMT_HANDLE create_virtual_context(void)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = device };

	EXPECT_OK(D3DKMTCreateContextVirtual(&args));
	return args.hContext;
}

static D3DKMT_HANDLE create_sync(D3DDDI_SYNCHRONIZATIONOBJECT_TYPE type,
				 const volatile UINT64 **view_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = device, .Info.Type = type };

	if (type == D3DDDI_SEMAPHORE)
		args.Info.Semaphore.MaxCount = 1;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	if (view_out)
		*view_out = args.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	return args.hSyncObject;
}

static D3DKMT_HANDLE create_fence(const volatile UINT64 **view_out)
{
	return create_sync(D3DDDI_MONITORED_FENCE, view_out);
}

static NTSTATUS signal_fence(D3DKMT_HANDLE fence, UINT64 value)
{
	return signal_value(device, fence, value);
}

static NTSTATUS update_by(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value,
			  D3DKMT_HANDLE allocation, UINT64 base, bool is_now)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = base, .SizeInBytes = PAGE, .hAllocation = allocation }
	};
	return D3DKMTUpdateGpuVirtualAddress(
		&(D3DKMT_UPDATEGPUVIRTUALADDRESS){ .hDevice = device,
						   .hContext = context,
						   .hFenceObject = fence,
						   .NumOperations = 1,
						   .Operations = &operation,
						   .FenceValue = value,
						   .Flags.DoNotWait = is_now });
}

static NTSTATUS update(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value,
		       D3DKMT_HANDLE allocation, UINT64 base)
{
	return update_by(context, fence, value, allocation, base, false);
}

static NTSTATUS update_now(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value,
			   D3DKMT_HANDLE allocation, UINT64 base)
{
	return update_by(context, fence, value, allocation, base, true);
}

TEST(gpuva, an_update_waits_for_its_fence_and_signals_the_next_value)
{
	const volatile UINT64 *view;
	UINT64 address;
	UINT64 value;

	begin_queue();
	D3DKMT_HANDLE context = create_virtual_context();
	D3DKMT_HANDLE fence = create_fence(&view);
	D3DKMT_HANDLE allocation = create_one(device);
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	EXPECT_OK(update(context, fence, 5, allocation, SOME));
	EXPECT_EQ(*view, 0);
	EXPECT_OK(signal_fence(fence, 5));
	while (*view != 6)
		usleep(100);
}

TEST(gpuva, an_update_outside_one_reservation_is_refused)
{
	begin_queue();
	D3DKMT_HANDLE context = create_virtual_context();
	D3DKMT_HANDLE fence = create_fence(NULL);
	D3DKMT_HANDLE allocation = create_one(device);

	EXPECT_EQ(update(context, fence, 0, allocation, SOME), INVALID);
	EXPECT_EQ(update(context, create_sync(D3DDDI_SEMAPHORE, NULL), 0, allocation, SOME),
		  INVALID);
	EXPECT_STR(last_refusal().rule, "API-VALUE");
	EXPECT_EQ(update(context, GARBAGE, 0, allocation, SOME), INVALID);
	EXPECT_STR(last_refusal().argument, "hFenceObject");
}

/* The second of two operations is wrong: it is said that it is that one, and neither is done. */
TEST(gpuva, an_update_with_one_operation_that_makes_no_sense_is_refused_whole)
{
	const volatile UINT64 *view;
	UINT64 address;
	UINT64 value;

	begin_queue();
	D3DKMT_HANDLE allocation = create_one(device);
	D3DKMT_HANDLE foreign = create_one(create_device(adapter));
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	const struct {
		unsigned type;
		UINT64 base;
		UINT64 size;
		D3DKMT_HANDLE allocation;
		UINT64 offset;
		UINT64 repeated;
		const char *rule;
	} wrong[] = {
		{ 9, SOME, PAGE, allocation, 0, 0, "API-VALUE" },
		{ 0, SOME, PAGE, 0, 0, 0, "API-HANDLE" },
		{ 0, SOME, PAGE, GARBAGE, 0, 0, "API-HANDLE" },
		{ 0, SOME, PAGE, foreign, 0, 0, "API-HANDLE" },
		{ 0, SOME, PAGE, device, 0, 0, "API-HANDLE" },
		{ 0, 0, PAGE, allocation, 0, 0, "VA-RANGE" },
		{ 0, SOME + 1, PAGE, allocation, 0, 0, "VA-ALIGNMENT" },
		{ 0, SOME + K64, PAGE, allocation, 0, 0, "VA-RESERVED-ONLY" },
		{ 0, SOME, 0, allocation, 0, 0, "VA-RANGE" },
		{ 0, SOME, PAGE + 1, allocation, 0, 0, "VA-ALIGNMENT" },
		{ 0, SOME, K64 + PAGE, allocation, 0, PAGE, "VA-ONE-RANGE" },
		{ 0, SOME, PAGE, allocation, 1, 0, "VA-ALIGNMENT" },
		{ 0, SOME, PAGE, allocation, SOME_BYTES, 0, "VA-ALLOCATION" },
		{ 0, SOME, 3 * PAGE, allocation, 0, 2 * PAGE, "VA-REPEAT" },
	};
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = device,
						.hContext = create_virtual_context(),
						.hFenceObject = create_fence(&view),
						.NumOperations = 2,
						.Flags.DoNotWait = 1 };
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operations[2] = {
			{ .Map = { .BaseAddress = SOME,
				   .SizeInBytes = PAGE,
				   .hAllocation = allocation } },
			{ .OperationType =
				  (D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE)wrong[i].type,
			  .Map = { .BaseAddress = wrong[i].base,
				   .SizeInBytes = wrong[i].size,
				   .hAllocation = wrong[i].allocation,
				   .AllocationOffsetInBytes = wrong[i].offset,
				   .AllocationSizeInBytes = wrong[i].repeated } },
		};
		args.Operations = operations;
		EXPECT_REFUSED(D3DKMTUpdateGpuVirtualAddress(&args), INVALID, wrong[i].rule,
			       "Operations");
		EXPECT_EQ(last_refusal().index, 1);
	}
	EXPECT_EQ(*view, 0);
	args.NumOperations = 0;
	EXPECT_EQ(D3DKMTUpdateGpuVirtualAddress(&args), INVALID);
	EXPECT_STR(last_refusal().argument, "NumOperations");
	args.NumOperations = 1;
	args.Operations = NULL;
	EXPECT_REFUSED(D3DKMTUpdateGpuVirtualAddress(&args), INVALID, "API-NULL-ARGUMENT",
		       "Operations");
}

static D3DKMT_HANDLE create_limited_fence(D3DKMT_HANDLE owner, UINT flags,
					  const volatile UINT64 **view_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = {
		.hDevice = owner, .Info = { .Type = D3DDDI_MONITORED_FENCE, .Flags.Value = flags }
	};

	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	if (view_out)
		*view_out = args.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	return args.hSyncObject;
}

enum { NO_SIGNAL = 0x10, NO_WAIT = 0x20 };

/* D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS: an attempt through such an opening is STATUS_ACCESS_DENIED. */
struct limited {
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE allocation;
	const volatile UINT64 *view;
};

static struct limited refuse_limited(UINT flags)
{
	struct limited limited;
	UINT64 address;
	UINT64 value;

	begin_queue();
	limited.context = create_virtual_context();
	limited.fence = create_limited_fence(device, flags, &limited.view);
	limited.allocation = create_one(device);
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	EXPECT_REFUSED(update(limited.context, limited.fence, 0, limited.allocation, SOME),
		       STATUS_ACCESS_DENIED, "API-SYNC-ACCESS", "hFenceObject");
	return limited;
}

TEST(gpuva, an_update_signals_no_fence_that_may_not_be_signalled)
{
	EXPECT_EQ(*refuse_limited(NO_SIGNAL).view, 0);
}

TEST(gpuva, an_update_waits_for_no_fence_that_may_not_be_waited_for)
{
	struct limited limited = refuse_limited(NO_WAIT);

	EXPECT_OK(update_now(limited.context, limited.fence, 4, limited.allocation, SOME));
	while (*limited.view != 5)
		usleep(100);
}

/* Only the memory manager signals it: the values its operations were answered with must hold. */
TEST(gpuva, an_update_does_not_signal_the_fence_of_a_paging_queue)
{
	D3DKMT_CREATEPAGINGQUEUE args = { .hDevice = 0 };
	UINT64 address;
	UINT64 value;

	begin_queue();
	args.hDevice = device;
	EXPECT_OK(D3DKMTCreatePagingQueue(&args));
	D3DKMT_HANDLE context = create_virtual_context();
	D3DKMT_HANDLE allocation = create_one(device);
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	EXPECT_REFUSED(update_now(context, args.hSyncObject, 1000, allocation, SOME),
		       STATUS_ACCESS_DENIED, "API-SYNC-ACCESS", "hFenceObject");
	EXPECT_EQ(*(const volatile UINT64 *)args.FenceValueCPUVirtualAddress, 0);
}

TEST(gpuva, an_update_is_not_ordered_by_a_fence_of_another_device)
{
	UINT64 address;
	UINT64 value;

	begin_queue();
	D3DKMT_HANDLE context = create_virtual_context();
	D3DKMT_HANDLE fence = create_limited_fence(create_device(adapter), 0, NULL);
	D3DKMT_HANDLE allocation = create_one(device);
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	EXPECT_REFUSED(update(context, fence, 0, allocation, SOME), INVALID, "API-HANDLE",
		       "hFenceObject");
}

/* 128 are queued at most, and who comes then waits for them: nobody else would signal for these. */
TEST(gpuva, updates_of_a_device_that_is_destroyed_are_in_nobodys_way)
{
	const volatile UINT64 *view;
	UINT64 address;
	UINT64 value;

	begin_queue();
	D3DKMT_HANDLE survivor = device;
	D3DKMT_HANDLE survivors_context = create_virtual_context();
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	device = create_device(adapter);
	D3DKMT_HANDLE context = create_virtual_context();
	D3DKMT_HANDLE fence = create_fence(NULL);
	D3DKMT_HANDLE allocation = create_one(device);
	for (unsigned i = 0; i < 128; i++)
		EXPECT_OK(update(context, fence, 5, allocation, SOME));
	D3DKMT_DESTROYDEVICE destroy = { device };
	EXPECT_OK(D3DKMTDestroyDevice(&destroy));
	device = survivor;
	fence = create_fence(&view);
	EXPECT_OK(update_now(survivors_context, fence, 0, create_one(device), SOME));
	while (*view != 1)
		usleep(100);
}

TEST(gpuva, a_process_may_end_while_an_update_waits)
{
	UINT64 address;
	UINT64 value;

	begin_queue();
	D3DKMT_HANDLE context = create_virtual_context();
	D3DKMT_HANDLE fence = create_fence(NULL);
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	EXPECT_OK(update(context, fence, 5, create_one(device), SOME));
	D3DKMTCloseDxCoreDevice();
}

struct one_more {
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE allocation;
	NTSTATUS status;
};

static void update_once_more(void *context)
{
	struct one_more *more = context;

	more->status = update(more->context, more->fence, 5, more->allocation, SOME);
}

TEST(gpuva, a_process_may_end_while_a_call_waits_for_updates_to_be_fewer)
{
	struct one_more more;
	UINT64 address;
	UINT64 value;

	begin_queue();
	more.context = create_virtual_context();
	more.fence = create_fence(NULL);
	more.allocation = create_one(device);
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	for (unsigned i = 0; i < 128; i++)
		EXPECT_OK(update(more.context, more.fence, 5, more.allocation, SOME));
	struct dxgk_test_thread *thread = begin_thread(update_once_more, &more);
	usleep(50000); /* it waits, or comes too late; both are fine */
	D3DKMTCloseDxCoreDevice();
	dxgk_test_thread_join(thread);
}

TEST(gpuva, a_reservation_has_no_access_or_reads_zeroes)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = {
		.Size = K64, .ReservationType = (D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE)2
	};

	begin();
	args.hAdapter = adapter;
	EXPECT_REFUSED(D3DKMTReserveGpuVirtualAddress(&args), INVALID, "API-VALUE",
		       "ReservationType");
}

TEST(gpuva, freeing_where_nothing_was_ever_reserved_is_refused)
{
	D3DKMTCloseDxCoreDevice();
	adapter = open_first_adapter(); /* without a device */
	EXPECT_EQ(release(SOME, K64), INVALID);
	EXPECT(last_refusal().reason[0] != '\0');
}

TEST(gpuva, an_update_has_reserved_members_and_an_end_of_values)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP
	};
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .NumOperations = 1, .Operations = &operation };

	begin_queue();
	args.hDevice = device;
	args.hContext = create_virtual_context();
	args.hFenceObject = create_fence(NULL);
	args.Reserved0 = 1;
	EXPECT_REFUSED(D3DKMTUpdateGpuVirtualAddress(&args), INVALID, "API-RESERVED", "Reserved0");
	args.Reserved0 = 0;
	args.Reserved1 = 1;
	EXPECT_REFUSED(D3DKMTUpdateGpuVirtualAddress(&args), INVALID, "API-RESERVED", "Reserved1");
	args.Reserved1 = 0;
	args.FenceValue = UINT64_MAX;
	EXPECT_REFUSED(D3DKMTUpdateGpuVirtualAddress(&args), INVALID, "API-VALUE", "FenceValue");
	args.FenceValue = 0;
	args.NumOperations = 0;
	EXPECT_REFUSED(D3DKMTUpdateGpuVirtualAddress(&args), INVALID, "API-COUNT", "NumOperations");
	args.NumOperations = 1;
	args.hDevice = create_device(adapter);
	EXPECT_REFUSED(D3DKMTUpdateGpuVirtualAddress(&args), INVALID, "API-HANDLE", "hContext");
}

TEST(gpuva, an_update_may_say_how_memory_is_protected)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT,
		.MapProtect = { .BaseAddress = SOME, .SizeInBytes = PAGE }
	};
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .NumOperations = 1, .Operations = &operation };
	const volatile UINT64 *view;
	UINT64 address;
	UINT64 value;

	begin_queue();
	args.hDevice = device;
	args.hContext = create_virtual_context();
	args.hFenceObject = create_fence(&view);
	operation.MapProtect.hAllocation = create_one(device);
	EXPECT_OK(reserve(adapter, SOME, K64, &address, &value));
	operation.MapProtect.Protection.Zero = 1;
	EXPECT_EQ(D3DKMTUpdateGpuVirtualAddress(&args), INVALID);
	EXPECT_STR(last_refusal().rule, "VA-PROTECTION");
	operation.MapProtect.Protection.Zero = 0;
	EXPECT_OK(D3DKMTUpdateGpuVirtualAddress(&args));
	while (*view != 1)
		usleep(100);
}

TEST_MAIN("api/gpuva")
