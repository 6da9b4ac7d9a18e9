/* SPDX-License-Identifier: MIT */
/*
 * gpuva_huge_test.c - absurd sizes: what cannot fit is refused before anything is taken for it, and
 * what shows nothing, or zeroes, costs a few tables however long it is.
 *
 * What a call takes is counted in allocations of the kernel: a table is several of them. Runs with
 * page tables of 4 and 5 levels, in local memory (16 MiB) and in system memory (4 GiB).
 */
#include "api/gpu.h"

#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

/* In half of the smallest space here, 48 bits. */
#define FIRST (UINT64_C(1) << 44)
#define VAST  (64 * TIB)

/* No call that shows nothing needs as many, nor any that is refused. */
enum { FEW_ALLOCATIONS = 400 };

static void few_begin(void)
{
	dxgk_test_fail_nth_allocation(FEW_ALLOCATIONS);
}

static void few_end(void)
{
	EXPECT(!dxgk_test_fail_stop());
}

static bool is_no_room(NTSTATUS status)
{
	return status == STATUS_GRAPHICS_NO_VIDEO_MEMORY || status == STATUS_NO_MEMORY;
}

static NTSTATUS update(struct gpu *gpu, D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operations,
		       unsigned count)
{
	UINT64 value = ++gpu->value;
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = gpu->client.device,
						.hContext = gpu->context,
						.hFenceObject = gpu->fence,
						.NumOperations = count,
						.Operations = operations,
						.FenceValue = value - 1,
						.Flags.DoNotWait = 1 };
	NTSTATUS status = D3DKMTUpdateGpuVirtualAddress(&args);

	if (NT_SUCCESS(status))
		EXPECT_OK(wait_value(gpu->client.device, gpu->fence, value));
	else
		gpu->value--;
	return status;
}

static NTSTATUS try_reserve(const struct gpu *gpu, UINT64 base, UINT64 size_bytes, unsigned type,
			    UINT64 driver_protection)
{
	return D3DKMTReserveGpuVirtualAddress(&(D3DDDI_RESERVEGPUVIRTUALADDRESS){
		.hAdapter = gpu->client.adapter,
		.BaseAddress = base,
		.Size = size_bytes,
		.ReservationType = (D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE)type,
		.DriverProtection = driver_protection,
	});
}

/* One page anywhere in a row of addresses works, and others are not affected. */
static void expect_use(struct gpu *gpu, UINT64 address)
{
	D3DKMT_HANDLE memory = create_resident(gpu, PAGE, SOFTGPU_LOCAL_ONLY);

	(void)map(gpu, memory, address, 1, WRITE);
	gpu_fill(gpu, address, PAGE, 0x5EED);
	EXPECT(gpu_run(gpu));
	EXPECT_WORDS(gpu, memory, 0, PAGE, 0x5EED);
	EXPECT_OK(destroy_now(&gpu->client, memory));
}

TEST(gpuva_huge, a_map_whose_tables_cannot_fit_is_refused_before_anything_is_taken)
{
	static const UINT64 sizes[] = { 2 * TIB, 4 * TIB, 32 * TIB, 128 * TIB - 64 * GIB };
	struct gpu gpu = gpu_begin();
	struct dxgk_test_memory before;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		D3DKMT_HANDLE memory = create_sized(&gpu.client, sizes[i], 0);
		D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(&gpu, memory, 0, sizes[i] / PAGE, WRITE);

		expect_valid();
		before = dxgk_test_memory();
		few_begin();
		EXPECT(is_no_room(D3DKMTMapGpuVirtualAddress(&args)));
		few_end();
		EXPECT(dxgk_test_memory().bytes - before.bytes < 65536);
		EXPECT_OK(destroy_now(&gpu.client, memory));
	}
	expect_use(&gpu, FIRST);
	expect_valid();
}

TEST(gpuva_huge, addresses_without_access_and_zeroes_need_a_few_tables)
{
	for (unsigned type = 0; type < 2; type++) {
		struct gpu gpu = gpu_begin();

		few_begin();
		EXPECT_OK(try_reserve(&gpu, FIRST, VAST, type, 0));
		few_end();
		expect_use(&gpu, FIRST + VAST / 2);
		few_begin();
		unmap(&gpu, FIRST, VAST);
		few_end();
		expect_valid();
	}
}

GPU_TEST(gpuva_huge, zeroes_with_a_protection_of_their_own_have_tables_and_are_refused, gpu_begin())
{
	few_begin();
	EXPECT(is_no_room(try_reserve(gpu, FIRST, VAST, 1, 1)));
	few_end();
	EXPECT_OK(try_reserve(gpu, FIRST, K64, 1, 1));
}

GPU_TEST(gpuva_huge, maps_of_zeroes_and_no_access_over_all_of_a_reservation_are_cheap, gpu_begin())
{
	reserve(gpu, FIRST, VAST, 1);
	few_begin();
	(void)map(gpu, 0, FIRST, VAST / PAGE, NO_ACCESS);
	(void)map(gpu, 0, FIRST, VAST / PAGE, ZERO);
	(void)map(gpu, 0, FIRST + PAGE, VAST / PAGE - 2, NO_ACCESS);
	(void)map(gpu, 0, FIRST + 3 * GIB + PAGE, GIB / PAGE, ZERO);
	few_end();
	expect_use(gpu, FIRST + 3 * GIB + 7 * PAGE);
}

GPU_TEST(gpuva_huge, updates_that_unmap_all_of_a_reservation_are_cheap, gpu_begin())
{
	D3DKMT_HANDLE memory = create_resident(gpu, K64, SOFTGPU_LOCAL_ONLY);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION unmap_all = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP,
		.Unmap = { .BaseAddress = FIRST, .SizeInBytes = VAST, .Protection.NoAccess = 1 },
	};
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION show = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = FIRST + 5 * GIB,
			 .SizeInBytes = K64,
			 .hAllocation = memory },
	};

	reserve(gpu, FIRST, VAST, 1);
	EXPECT_OK(update(gpu, &show, 1)); /* what updates need at first */
	few_begin();
	EXPECT_OK(update(gpu, &unmap_all, 1));
	unmap_all.Unmap.Protection.Value = ZERO;
	unmap_all.Unmap.BaseAddress = FIRST + PAGE;
	unmap_all.Unmap.SizeInBytes = VAST - 2 * PAGE;
	EXPECT_OK(update(gpu, &unmap_all, 1));
	EXPECT_OK(update(gpu, &show, 1));
	few_end();
	gpu_fill(gpu, FIRST + 5 * GIB, K64, 0xABBA);
	gpu_fill(gpu, FIRST + VAST / 2, K64, 0xBAAB); /* zeroes drop it */
	EXPECT(gpu_run(gpu));
	EXPECT_WORDS(gpu, memory, 0, K64, 0xABBA);
}

GPU_TEST(gpuva_huge, one_page_that_repeats_where_its_tables_cannot_fit_is_refused, gpu_begin())
{
	D3DKMT_HANDLE memory = create_resident(gpu, K64, SOFTGPU_LOCAL_ONLY);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION repeat = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = FIRST, .SizeInBytes = K64, .hAllocation = memory },
	};

	reserve(gpu, FIRST, VAST, 1);
	EXPECT_OK(update(gpu, &repeat, 1));
	repeat.Map.SizeInBytes = VAST;
	repeat.Map.AllocationSizeInBytes = PAGE;
	few_begin();
	EXPECT(is_no_room(update(gpu, &repeat, 1)));
	few_end();
	expect_use(gpu, FIRST + TIB);
}

GPU_TEST(gpuva_huge, a_copy_whose_tables_cannot_fit_is_refused, gpu_begin())
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION copy = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY,
		.Copy = { .SourceAddress = FIRST,
			  .DestAddress = FIRST + VAST / 2,
			  .SizeInBytes = K64 },
	};

	reserve(gpu, FIRST, VAST, 1);
	EXPECT_OK(update(gpu, &copy, 1));
	copy.Copy.SizeInBytes = VAST / 2;
	few_begin();
	EXPECT(is_no_room(update(gpu, &copy, 1)));
	few_end();
}

enum { OPERATIONS = 100 };

/* Not too much by itself, wherever the tables are. */
static UINT64 half_of_all(void)
{
	return strstr(getenv("DXGK_PROFILE"), "cpu_virtual") ? TIB / 4 : 4 * GIB;
}

GPU_TEST(gpuva_huge, the_operations_of_an_update_are_counted_together, gpu_begin())
{
	D3DKMT_HANDLE memory = create_resident(gpu, K64, SOFTGPU_LOCAL_ONLY);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operations[OPERATIONS];

	reserve(gpu, FIRST, VAST, 1);
	for (unsigned i = 0; i < OPERATIONS; i++)
		operations[i] = (D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION){
			.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
			/* In no order, and some of them twice. */
			.Map = { .BaseAddress = FIRST + (i * 37 % (OPERATIONS - 3)) * TIB / 2,
				 .SizeInBytes = K64,
				 .hAllocation = memory,
				 .AllocationSizeInBytes = PAGE },
		};
	for (unsigned i = 0; i < 2; i++) /* what updates need at first; then all tables are there */
		EXPECT_OK(update(gpu, operations, 8));
	few_begin();
	EXPECT_OK(update(gpu, operations, 8));
	few_end();
	for (unsigned i = 0; i < OPERATIONS; i++)
		operations[i].Map.SizeInBytes = half_of_all();
	few_begin();
	EXPECT(is_no_room(update(gpu, operations, OPERATIONS)));
	few_end();
	expect_use(gpu, FIRST + TIB);
}

API_TEST_MAIN("api/gpuva_huge")
