/* SPDX-License-Identifier: MIT */
/*
 * gpuva_failure_test.c - GPU addresses, with a driver that does not write page tables.
 *
 * A call that says when it returns that an address can be used knows what became of its entries.
 */
#include "api/faulty.h"

#include <stdatomic.h>

enum { UPDATE_PAGE_TABLE = 11 }; /* of DXGK_BUILDPAGINGBUFFER_OPERATION */

static _Atomic bool must_refuse;
static _Atomic bool must_refuse_one;

__attribute__((visibility("default"))) int faulty_answer(const char *entry, const void *request,
							 unsigned request_bytes);

int faulty_answer(const char *entry, const void *request, unsigned request_bytes)
{
	unsigned operation;

	if (strcmp(entry, "BuildPagingBuffer") != 0 || request_bytes < sizeof(operation))
		return STATUS_SUCCESS;
	memcpy(&operation, request, sizeof(operation));
	if (operation != UPDATE_PAGE_TABLE)
		return STATUS_SUCCESS;
	return must_refuse || atomic_exchange(&must_refuse_one, false) ? STATUS_UNSUCCESSFUL
								       : STATUS_SUCCESS;
}

static NTSTATUS try_reserve(const struct gpu *gpu, UINT64 *address_out)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = {
		.hAdapter = gpu->client.adapter,
		.BaseAddress = BASE,
		.Size = K64,
		.ReservationType = D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO,
	};
	NTSTATUS status = D3DKMTReserveGpuVirtualAddress(&args);

	*address_out = args.VirtualAddress;
	return status;
}

GPU_TEST(gpuva_failure, zeroes_that_are_not_written_are_not_reserved, gpu_begin())
{
	UINT64 address;

	must_refuse = true;
	EXPECT_REFUSED(try_reserve(gpu, &address), STATUS_DRIVER_INTERNAL_ERROR,
		       "DDI-PAGING-ANSWER", "");
	must_refuse = false;
	EXPECT_EQ(address, 0);
	flush(&gpu->client);
	EXPECT_EQ(execution_state(gpu->client.device), D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	/* Nobody has it. */
	EXPECT_OK(try_reserve(gpu, &address));
	EXPECT_EQ(address, BASE);
}

/* The tables are written anew: a device that is made lives. */
static void await_tables(const struct gpu *gpu)
{
	unsigned state = 0;

	for (int i = 0; i < 1000 && state != D3DKMT_DEVICEEXECUTION_ACTIVE; i++) {
		D3DKMT_HANDLE device = create_device(gpu->client.adapter);
		D3DKMT_DESTROYDEVICE end = { device };

		state = execution_state(device);
		EXPECT_OK(D3DKMTDestroyDevice(&end));
		usleep(1000);
	}
	EXPECT_EQ(state, D3DKMT_DEVICEEXECUTION_ACTIVE);
}

/* There is no way back, and who frees has no use for a refusal. */
TEST(gpuva_failure, what_is_freed_is_free_though_its_entries_are_not_written)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);
	struct gpu other;

	map(&gpu, memory, BASE, K64 / PAGE, WRITE);
	gpu_write64(&gpu, BASE, 1);
	EXPECT(gpu_run(&gpu));
	must_refuse_one = true;
	unmap(&gpu, BASE, K64);
	EXPECT(!must_refuse_one);
	/* Nothing of the process runs by what is left there. */
	EXPECT_EQ(execution_state(gpu.client.device), D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	await_tables(&gpu);
	gpu_open(&other, gpu.client.adapter);
	gpu_write64(&other, BASE, 2);
	EXPECT_FAULT(&other, BASE, true);
	reserve(&gpu, BASE, K64, D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO);
	expect_valid();
}

int main(int argc, char **argv)
{
	return faulty_main("api/gpuva_failure", argc, argv);
}
