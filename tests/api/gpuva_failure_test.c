/*
 * gpuva_failure_test.c - GPU addresses, with a driver that does not write page tables.
 *
 * A call that says when it returns that an address can be used knows what became of its entries.
 */
#include "api/gpu.h"
#include "drivers/faulty/faulty.h"

enum { UPDATE_PAGE_TABLE = 11 }; /* of DXGK_BUILDPAGINGBUFFER_OPERATION */

static _Atomic bool must_refuse;

__attribute__((visibility("default"))) int faulty_answer(const char *entry, const void *request,
							 unsigned request_bytes);

int faulty_answer(const char *entry, const void *request, unsigned request_bytes)
{
	unsigned operation;

	if (strcmp(entry, "BuildPagingBuffer") != 0 || request_bytes < sizeof(operation))
		return STATUS_SUCCESS;
	memcpy(&operation, request, sizeof(operation));
	return operation == UPDATE_PAGE_TABLE && must_refuse ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
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

TEST(gpuva_failure, zeroes_that_are_not_written_are_not_reserved)
{
	struct gpu gpu = gpu_begin();
	UINT64 address;

	must_refuse = true;
	EXPECT_REFUSED(try_reserve(&gpu, &address), STATUS_DRIVER_INTERNAL_ERROR,
		       "DDI-PAGING-ANSWER", "");
	must_refuse = false;
	EXPECT_EQ(address, 0);
	flush(&gpu.client);
	EXPECT_EQ(execution_state(gpu.client.device), D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	/* Nobody has it. */
	EXPECT_OK(try_reserve(&gpu, &address));
	EXPECT_EQ(address, BASE);
	expect_valid();
}

int main(int argc, char **argv)
{
	static char profile[1024];

	snprintf(profile, sizeof(profile),
		 "{\"adapters\": [{\"driver\": \"%s\", \"name\": \"faulty\", \"registry\": "
		 "{\"LocalMemoryMiB\": 8, \"ApertureMiB\": 16}}]}",
		 getenv("TEST_FAULTY"));
	setenv("DXGK_PROFILE", write_file(profile), 1);
	return api_main("api/gpuva_failure", argc, argv);
}
