/* SPDX-License-Identifier: MIT */
/*
 * table_room_test.c - page tables in local memory that is full: what can go goes for them, and they
 * go themselves when a client does nothing. On a small GPU, whose work really runs.
 */
#include "api/gpu.h"

enum { PIECES = 4096, PLACES = 24 };

/* Each in a leaf table of its own. */
static UINT64 far_address(unsigned i)
{
	return BASE + (UINT64)(i + 1) * 8 * MIB;
}

/* Everything that local memory has left, in pieces. */
struct filling {
	D3DKMT_HANDLE handles[PIECES];
	unsigned count;
};

static void fill_with(const struct gpu *gpu, struct filling *filling, UINT64 size_bytes)
{
	for (;;) {
		D3DKMT_HANDLE handle = create_sized(&gpu->client, size_bytes, SOFTGPU_LOCAL_ONLY);

		if (make_resident(&gpu->client, &handle, 1, CANT_TRIM) == STATUS_NO_MEMORY) {
			EXPECT_OK(destroy_now(&gpu->client, handle));
			return;
		}
		EXPECT(filling->count < PIECES);
		filling->handles[filling->count++] = handle;
	}
}

static void fill_local(const struct gpu *gpu, struct filling *filling)
{
	filling->count = 0;
	fill_with(gpu, filling, 256 * KIB);
	fill_with(gpu, filling, PAGE);
}

static void let_go(const struct gpu *gpu, struct filling *filling)
{
	EXPECT_OK(evict(&gpu->client, filling->handles, filling->count, ONLY_IF_NECESSARY));
}

/* What was written through each of the addresses is there. */
static void expect_use(struct gpu *gpu, D3DKMT_HANDLE memory, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		gpu_fill(gpu, far_address(i) + (UINT64)i * PAGE, PAGE, 0xF00 + i);
	EXPECT(gpu_run(gpu));
	for (unsigned i = 0; i < count; i++)
		EXPECT_WORDS(gpu, memory, (UINT64)i * PAGE, PAGE, 0xF00 + i);
}

GPU_TEST(table_block_want, leftovers_go_for_tables, gpu_begin())
{
	static struct filling filling;

	D3DKMT_HANDLE memory = create_resident(gpu, PLACES * PAGE, SOFTGPU_SYSTEM_ONLY);

	fill_local(gpu, &filling);
	let_go(gpu, &filling);
	for (unsigned i = 0; i < PLACES; i++)
		(void)map(gpu, memory, far_address(i), PLACES, WRITE);
	expect_use(gpu, memory, PLACES);
}

TEST(table_block_want, a_client_that_lists_everything_is_refused_until_it_lets_go)
{
	static struct filling filling;
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, PLACES * PAGE, SOFTGPU_SYSTEM_ONLY);
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(&gpu, memory, far_address(0), PLACES, WRITE);

	fill_local(&gpu, &filling);
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_STR(last_refusal().rule, "MM-TABLE-ROOM");
	expect_valid();
	let_go(&gpu, &filling);
	(void)map(&gpu, memory, far_address(0), PLACES, WRITE);
	expect_use(&gpu, memory, 1);
	expect_valid();
}

static void force_out(const struct gpu *gpu)
{
	D3DKMT_VIDMM_ESCAPE everything = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_ESCAPE args = { .hAdapter = gpu->client.adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &everything,
			       .PrivateDriverDataSize = sizeof(everything) };

	EXPECT_OK(D3DKMTEscape(&args));
}

/* Two devices of the process, each with a context: both find the tables where they are. */
TEST(table_block_want, work_of_all_devices_finds_tables_that_were_out)
{
	struct gpu gpus[2];
	D3DKMT_HANDLE adapter;
	D3DKMT_HANDLE memory[2];

	D3DKMTCloseDxCoreDevice();
	adapter = open_first_adapter();
	for (unsigned i = 0; i < 2; i++) {
		gpu_open(&gpus[i], adapter);
		memory[i] = create_resident(&gpus[i], PAGE, SOFTGPU_LOCAL_ONLY);
		(void)map(&gpus[i], memory[i], far_address(i), 1, WRITE);
	}
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 2; i++) {
			force_out(&gpus[i]);
			gpu_fill(&gpus[i], far_address(i), PAGE, round * 2 + i);
			EXPECT(gpu_run(&gpus[i]));
		}
		for (unsigned i = 0; i < 2; i++)
			EXPECT_WORDS(&gpus[i], memory[i], 0, PAGE, round * 2 + i);
	}
	expect_valid();
}

/* Objects that are made while tables are out have them when they run. */
GPU_TEST(table_block_want, contexts_that_are_made_meanwhile_run, gpu_begin())
{
	D3DKMT_HANDLE memory = create_resident(gpu, PAGE, SOFTGPU_LOCAL_ONLY);

	(void)map(gpu, memory, far_address(0), 1, WRITE);
	for (unsigned round = 0; round < 20; round++) {
		D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = gpu->client.device };
		D3DKMT_DESTROYCONTEXT end;

		force_out(gpu);
		EXPECT_OK(D3DKMTCreateContextVirtual(&context));
		force_out(gpu);
		end.hContext = gpu->context;
		EXPECT_OK(D3DKMTDestroyContext(&end));
		gpu->context = context.hContext;
		gpu_fill(gpu, far_address(0), PAGE, round);
		EXPECT(gpu_run(gpu));
		EXPECT_WORDS(gpu, memory, 0, PAGE, round);
	}
}

/* Whichever allocation of ours fails: it is refused, and works the next time. */
GPU_TEST(table_block_want, memory_that_runs_out_while_room_is_made_refuses, gpu_begin())
{
	static struct filling filling;

	D3DKMT_HANDLE memory = create_resident(gpu, PLACES * PAGE, SOFTGPU_SYSTEM_ONLY);
	bool has_fired = true;

	fill_local(gpu, &filling);
	let_go(gpu, &filling);
	for (unsigned nth = 1; has_fired; nth++) {
		D3DDDI_MAPGPUVIRTUALADDRESS args =
			mapping(gpu, memory, far_address(nth), PLACES, WRITE);
		NTSTATUS status;

		dxgk_test_fail_nth_allocation(nth);
		status = D3DKMTMapGpuVirtualAddress(&args);
		has_fired = dxgk_test_fail_stop();
		if (status == STATUS_PENDING) {
			wait_for(&gpu->client, args.PagingFenceValue);
			continue;
		}
		EXPECT(has_fired);
		EXPECT(status == STATUS_NO_MEMORY || status == STATUS_GRAPHICS_NO_VIDEO_MEMORY);
		(void)map(gpu, memory, far_address(nth), PLACES, WRITE);
		EXPECT(nth < 200);
	}
}

API_TEST_MAIN("api/table_room")
