/* SPDX-License-Identifier: MIT */
/*
 * brought_work_test.c - memory that the client brings, used by the GPU: what it fills there the program finds, and
 * nobody else's device is lost of it.
 */
#include "api/soft_work.h"

#include <sched.h>

enum { BYTES = 64 * KIB, VALUE = 0x5eed5eed };

/* Like any of the driver's own, but for its bytes. */
static NTSTATUS bring_pointer(const struct client *client, void *memory, bool is_read_only,
			      D3DKMT_HANDLE *handle_out)
{
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, BYTES };
	D3DDDI_ALLOCATIONINFO2 element = { .pPrivateDriverData = &wish,
					   .PrivateDriverDataSize = sizeof(wish),
					   .pSystemMem = memory };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };
	args.Flags.ReadOnly = is_read_only;
	NTSTATUS status = D3DKMTCreateAllocation2(&args);
	*handle_out = element.hAllocation;
	return status;
}

static void expect_filled_by_the_gpu(struct worker *worker, D3DKMT_HANDLE memory,
				     const uint32_t *seen)
{
	struct row row = { 0 };
	uint64_t address;

	EXPECT_OK(make_resident(&worker->client, &memory, 1, 0));
	EXPECT_OK(try_map(&worker->client, memory, BYTES, &address));
	add_fill(&row, address, BYTES, VALUE);
	worker_run(worker, &row);
	worker_wait(worker);
	/* What nobody needs in the GPU's memory goes back to where the program has it, in any order. */
	EXPECT_OK(evict(&worker->client, &memory, 1, 0));
	for (unsigned i = 0; i < BYTES / sizeof(*seen); i++) {
		while (__atomic_load_n(&seen[i], __ATOMIC_ACQUIRE) != VALUE)
			sched_yield();
	}
	EXPECT_OK(destroy_now(&worker->client, memory));
	EXPECT_OK(get_execution_state(worker->client.device));
}

TEST(memory, that_a_program_brings_is_filled_by_the_gpu)
{
	void *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct worker worker;
	D3DKMT_HANDLE handle;

	EXPECT(memory != MAP_FAILED);
	memset(memory, 1, BYTES);
	worker_open(&worker, open_first_adapter());
	EXPECT_OK(bring_pointer(&worker.client, memory, false, &handle));
	expect_filled_by_the_gpu(&worker, handle, memory);
	worker_close(&worker);
	munmap(memory, BYTES);
}

TEST(section, that_a_program_brings_is_filled_by_the_gpu)
{
	int section = memfd_create("section", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct worker worker;
	D3DKMT_HANDLE handle;

	EXPECT_EQ(ftruncate(section, BYTES), 0);
	EXPECT_EQ(fcntl(section, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, section, 0);
	EXPECT(memory != MAP_FAILED);
	worker_open(&worker, open_first_adapter());
	EXPECT_OK(bring_section(&worker.client, section, BYTES, &handle));
	expect_filled_by_the_gpu(&worker, handle, memory);
	worker_close(&worker);
	munmap(memory, BYTES);
	close(section);
}

/* Moved and used as any, and never written; whose it is and everybody else go on. */
TEST(memory, that_may_only_be_read_is_copied_by_the_gpu_and_costs_nobody_a_device)
{
	void *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct worker worker;
	struct worker neighbour;
	D3DKMT_HANDLE handle;

	EXPECT(memory != MAP_FAILED);
	memset(memory, 0x11, BYTES);
	worker_open(&worker, open_first_adapter());
	worker_open(&neighbour, open_first_adapter());
	EXPECT_OK(bring_pointer(&worker.client, memory, true, &handle));
	for (unsigned i = 0; i < 2; i++) {
		EXPECT_OK(make_resident(&worker.client, &handle, 1, 0));
		EXPECT_OK(evict(&worker.client, &handle, 1, 0));
	}
	EXPECT_OK(destroy_now(&worker.client, handle));
	EXPECT_OK(get_execution_state(worker.client.device));
	EXPECT_OK(get_execution_state(neighbour.client.device));
	for (unsigned i = 0; i < BYTES; i++)
		EXPECT_EQ(((unsigned char *)memory)[i], 0x11);
	worker_close(&neighbour);
	worker_close(&worker);
	munmap(memory, BYTES);
}

API_TEST_MAIN("api/brought_work")
