/* SPDX-License-Identifier: MIT */
/*
 * host_aperture_test.c - D3DKMTLock2 of memory in a segment that the CPU sees through a small CPU
 * host aperture only (host_aperture.json). What the CPU reads there the GPU wrote, and the other way
 * round, without a move. The kernel's own page tables are in that memory, too.
 */
#include "api/gpu.h"

enum { SMALL = 512 * 1024, LARGE = 8 * 1024 * 1024 };

static uint32_t *lock_words(const struct gpu *gpu, D3DKMT_HANDLE handle)
{
	void *pointer = NULL;

	EXPECT_OK(lock2(gpu->client.device, handle, &pointer));
	return pointer;
}

static bool are_all(const uint32_t *words, size_t size_bytes, uint32_t word)
{
	for (size_t i = 0; i < size_bytes / sizeof(*words); i++) {
		if (words[i] != word)
			return false;
	}
	return true;
}

static void expect_local(const struct gpu *gpu, D3DKMT_HANDLE handle)
{
	EXPECT_EQ(residency_status(&gpu->client, handle),
		  D3DKMT_ALLOCATIONRESIDENCYSTATUS_RESIDENTINGPUMEMORY);
}

TEST(host_aperture, shows_what_the_gpu_wrote_where_it_is)
{
	SKIP_UNLESS(!is_served(),
		    "no other process sees through the window, only what is moved out of there");

	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE handle = create_resident(&gpu, SMALL, SOFTGPU_LOCAL_ONLY);
	UINT64 address = map(&gpu, handle, 0, SMALL / PAGE, WRITE);

	gpu_fill(&gpu, address, SMALL, 0x11223344);
	EXPECT(gpu_run(&gpu));
	uint32_t *words = lock_words(&gpu, handle);
	EXPECT(are_all(words, SMALL, 0x11223344));
	expect_local(&gpu, handle);

	gpu_fill(&gpu, address + PAGE, PAGE, 0x55667788);
	EXPECT(gpu_run(&gpu));
	EXPECT_EQ(words[PAGE / 4], 0x55667788);
	EXPECT_OK(unlock2(gpu.client.device, handle));
	expect_local(&gpu, handle);
	expect_valid();
}

TEST(host_aperture, the_gpu_reads_what_the_cpu_wrote)
{
	SKIP_UNLESS(!is_served(),
		    "no other process sees through the window, only what is moved out of there");

	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE from = create_resident(&gpu, SMALL, SOFTGPU_LOCAL_ONLY);
	D3DKMT_HANDLE to = create_resident(&gpu, SMALL, SOFTGPU_SYSTEM_ONLY);
	UINT64 source = map(&gpu, from, 0, SMALL / PAGE, WRITE);
	UINT64 target = map(&gpu, to, 0, SMALL / PAGE, WRITE);
	uint32_t *words = lock_words(&gpu, from);

	for (uint32_t i = 0; i < SMALL / 4; i++)
		words[i] = i * 2654435761u;
	EXPECT_OK(unlock2(gpu.client.device, from));
	gpu_copy(&gpu, target, source, SMALL);
	EXPECT(gpu_run(&gpu));
	words = lock_words(&gpu, to);
	for (uint32_t i = 0; i < SMALL / 4; i++) {
		if (words[i] != i * 2654435761u)
			EXPECT_EQ(words[i], i * 2654435761u);
	}
	expect_local(&gpu, from);
}

GPU_TEST(host_aperture, without_room_there_memory_is_moved, gpu_begin())
{
	D3DKMT_HANDLE handle = create_resident(gpu, LARGE, 0);
	UINT64 address = map(gpu, handle, 0, LARGE / PAGE, WRITE);

	expect_local(gpu, handle);
	gpu_fill(gpu, address, LARGE, 0xabcdef01);
	EXPECT(gpu_run(gpu));
	EXPECT(are_all(lock_words(gpu, handle), LARGE, 0xabcdef01));
	EXPECT(residency_status(&gpu->client, handle) !=
	       D3DKMT_ALLOCATIONRESIDENCYSTATUS_RESIDENTINGPUMEMORY);
	EXPECT_OK(unlock2(gpu->client.device, handle));
}

TEST(host_aperture, without_room_and_nowhere_to_move_the_lock_is_refused)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE handle = create_resident(&gpu, LARGE, SOFTGPU_LOCAL_ONLY);
	void *pointer = NULL;

	EXPECT_REFUSED(lock2(gpu.client.device, handle, &pointer), STATUS_INVALID_PARAMETER,
		       "MM-LOCK-PLACE", "hAllocation");
	expect_local(&gpu, handle);
}

/* Locked before it is resident: it enters at its address, leaves and enters again. */
TEST(host_aperture, shows_what_was_locked_before_it_came_in)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE handle =
		create_sized(&gpu.client, SMALL, SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY);
	uint32_t *words = lock_words(&gpu, handle);

	for (uint32_t i = 0; i < SMALL / 4; i++)
		words[i] = 0x01020304;
	EXPECT_OK(make_resident(&gpu.client, &handle, 1, 0));
	flush(&gpu.client);
	expect_local(&gpu, handle);
	UINT64 address = map(&gpu, handle, 0, SMALL / PAGE, WRITE);
	for (unsigned turn = 0; turn < 3; turn++) {
		uint32_t word = turn == 0 ? 0x01020304 : 0x10 + turn;

		EXPECT(are_all(words, SMALL, word));
		gpu_fill(&gpu, address, SMALL / 2, 0x20 + turn);
		EXPECT(gpu_run(&gpu));
		EXPECT(are_all(words, SMALL / 2, 0x20 + turn));
		EXPECT(are_all(words + SMALL / 8, SMALL / 2, word));
		for (uint32_t i = 0; i < SMALL / 4; i++)
			words[i] = 0x11 + turn;
		EXPECT_OK(evict(&gpu.client, &handle, 1, 0));
		EXPECT(are_all(words, SMALL, 0x11 + turn));
		EXPECT(lock_words(&gpu, handle) == words);
		EXPECT_OK(unlock2(gpu.client.device, handle));
		EXPECT_OK(make_resident(&gpu.client, &handle, 1, 0));
		flush(&gpu.client);
		expect_local(&gpu, handle);
		expect_valid();
	}
	EXPECT_OK(destroy_now(&gpu.client, handle));
	expect_valid();
}

TEST(host_aperture, is_free_again_after_each_end)
{
	SKIP_UNLESS(!is_served(),
		    "no other process sees through the window, only what is moved out of there");

	struct gpu gpu = gpu_begin();

	for (int i = 0; i < 8; i++) {
		D3DKMT_HANDLE handle = create_resident(&gpu, SMALL, SOFTGPU_LOCAL_ONLY);

		lock_words(&gpu, handle);
		/* Locked, in every second round. */
		if (i % 2)
			EXPECT_OK(unlock2(gpu.client.device, handle));
		EXPECT_OK(destroy_now(&gpu.client, handle));
	}
	D3DKMT_HANDLE left = create_resident(&gpu, SMALL, SOFTGPU_LOCAL_ONLY);
	lock_words(&gpu, left);
	D3DKMTCloseDxCoreDevice(); /* which ends it, and the adapter */
}

int main(int argc, char **argv)
{
	return api_main("api/host_aperture", argc, argv);
}
