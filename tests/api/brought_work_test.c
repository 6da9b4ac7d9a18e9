/* SPDX-License-Identifier: MIT */
/*
 * brought_work_test.c - memory that the client brings, used by the GPU: what it fills there the program finds, and
 * nobody else's device is lost of it.
 */
#include "api/soft_work.h"

enum { BYTES = 64 * KIB, VALUE = 0x5eed5eed };

/* Like any of the driver's own, but for its bytes. */
static NTSTATUS bring_pointer(const struct client *client, void *memory, D3DKMT_HANDLE *handle_out)
{
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, BYTES };
	D3DDDI_ALLOCATIONINFO2 element = { .pPrivateDriverData = &wish,
					   .PrivateDriverDataSize = sizeof(wish),
					   .pSystemMem = memory };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };
	NTSTATUS status = D3DKMTCreateAllocation2(&args);

	*handle_out = element.hAllocation;
	return status;
}

static NTSTATUS bring_section(const struct client *client, int section, D3DKMT_HANDLE *handle_out)
{
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP,
		.ExistingHeapData.Size = BYTES,
	};
	D3DDDI_ALLOCATIONINFO2 element = { .hSection = (HANDLE)(intptr_t)section };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element,
					 .pStandardAllocation = &standard };

	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSection = 1;
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
	EXPECT_OK(evict(&worker->client, &memory, 1, 0));
	EXPECT_OK(destroy_now(&worker->client, memory));
	for (unsigned i = 0; i < BYTES / sizeof(*seen); i++)
		EXPECT_EQ(seen[i], VALUE);
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
	EXPECT_OK(bring_pointer(&worker.client, memory, &handle));
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
	EXPECT_OK(bring_section(&worker.client, section, &handle));
	expect_filled_by_the_gpu(&worker, handle, memory);
	worker_close(&worker);
	munmap(memory, BYTES);
	close(section);
}

API_TEST_MAIN("api/brought_work")
