/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - a client whose work really runs: commands for the software GPU at GPU addresses.
 *
 *	struct gpu gpu = gpu_begin();
 *	gpu_fill(&gpu, address, size_bytes, pattern);
 *	EXPECT(gpu_run(&gpu));		false: the device is lost, gpu_fault() says where
 */
#ifndef TESTS_API_GPU_H
#define TESTS_API_GPU_H

#include "api/residency.h"

/* Low enough for the smallest space of the tests, 30 bits. */
#define BASE UINT64_C(0x10000000)
#define K64  UINT64_C(0x10000)

enum { READ_ONLY = 0, WRITE = 1, ZERO = 4, NO_ACCESS = 8 }; /* of the protection type */
enum { COMMAND_BYTES = 65536 };

struct gpu {
	struct client client;
	D3DKMT_HANDLE context;

	/* The command buffer; locked as long as it lives. */
	D3DKMT_HANDLE buffer;
	UINT64 address;
	unsigned char *bytes;
	unsigned used;

	/* Written by the GPU behind each row of commands. */
	D3DKMT_HANDLE fence;
	UINT64 fence_address;
	UINT64 value;
};

/* ---- addresses ---- */

static inline D3DDDI_MAPGPUVIRTUALADDRESS mapping(const struct gpu *gpu, D3DKMT_HANDLE allocation,
						  UINT64 base, UINT64 pages, unsigned protection)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = gpu->client.queue,
					     .BaseAddress = base,
					     .hAllocation = allocation,
					     .SizeInPages = pages };

	args.Protection.Value = protection;
	return args;
}

/* Returns when the GPU may use it. */
static inline UINT64 map_part(const struct gpu *gpu, D3DKMT_HANDLE allocation, UINT64 base,
			      UINT64 first_page, UINT64 pages, unsigned protection)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(gpu, allocation, base, pages, protection);

	args.OffsetInPages = first_page;
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);
	if (status != STATUS_PENDING)
		EXPECT_OK(status);
	wait_for(&gpu->client, args.PagingFenceValue);
	if (base != 0)
		EXPECT_EQ(args.VirtualAddress, base);
	return args.VirtualAddress;
}

static inline UINT64 map(const struct gpu *gpu, D3DKMT_HANDLE allocation, UINT64 base, UINT64 pages,
			 unsigned protection)
{
	return map_part(gpu, allocation, base, 0, pages, protection);
}

static inline void reserve(const struct gpu *gpu, UINT64 base, UINT64 size_bytes, unsigned type)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = {
		.hAdapter = gpu->client.adapter,
		.BaseAddress = base,
		.Size = size_bytes,
		.ReservationType = (D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE)type,
	};

	EXPECT_OK(D3DKMTReserveGpuVirtualAddress(&args));
	EXPECT_EQ(args.VirtualAddress, base);
}

static inline void unmap(const struct gpu *gpu, UINT64 base, UINT64 size_bytes)
{
	EXPECT_OK(D3DKMTFreeGpuVirtualAddress(
		&(D3DKMT_FREEGPUVIRTUALADDRESS){ gpu->client.adapter, base, size_bytes }));
}

/* An allocation that is resident, and what it holds first. */
static inline D3DKMT_HANDLE create_resident(const struct gpu *gpu, UINT64 size_bytes,
					    unsigned flags)
{
	D3DKMT_HANDLE handle = create_sized(&gpu->client, size_bytes, SOFTGPU_CPU_VISIBLE | flags);

	EXPECT_OK(make_resident(&gpu->client, &handle, 1, 0));
	return handle;
}

/* ---- life ---- */

static inline D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create_fence(const struct gpu *gpu,
							       unsigned flags)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = gpu->client.device };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	args.Info.Flags.Value = flags;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	return args;
}

static inline void gpu_open(struct gpu *gpu, D3DKMT_HANDLE adapter)
{
	D3DKMT_CREATECONTEXTVIRTUAL context = { 0 };
	void *pointer;

	*gpu = (struct gpu){ 0 };
	client_open(&gpu->client, adapter);
	context.hDevice = gpu->client.device;
	EXPECT_OK(D3DKMTCreateContextVirtual(&context));
	gpu->context = context.hContext;
	gpu->buffer = create_resident(gpu, COMMAND_BYTES, SOFTGPU_SYSTEM_ONLY);
	gpu->address = map(gpu, gpu->buffer, 0, COMMAND_BYTES / PAGE, READ_ONLY);
	EXPECT_OK(lock2(gpu->client.device, gpu->buffer, &pointer));
	gpu->bytes = pointer;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = create_fence(gpu, 0);
	gpu->fence = fence.hSyncObject;
	gpu->fence_address = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
}

static inline struct gpu gpu_begin(void)
{
	struct gpu gpu;

	D3DKMTCloseDxCoreDevice();
	gpu_open(&gpu, open_first_adapter());
	return gpu;
}

/* ---- commands ---- */

static inline void gpu_put(struct gpu *gpu, enum softgpu_opcode opcode, void *command,
			   unsigned size_bytes)
{
	struct softgpu_command *header = command;

	*header = (struct softgpu_command){ SOFTGPU_COMMAND_MAGIC, (uint16_t)opcode, size_bytes };
	EXPECT(gpu->used + size_bytes <= COMMAND_BYTES);
	memcpy(gpu->bytes + gpu->used, command, size_bytes);
	gpu->used += size_bytes;
}

static inline void gpu_fill(struct gpu *gpu, UINT64 address, UINT64 size_bytes, uint32_t word)
{
	struct softgpu_fill command = { .destination.virtual_address = address,
					.size_bytes = size_bytes,
					.pattern = word };

	gpu_put(gpu, SOFTGPU_FILL, &command, sizeof(command));
}

static inline void gpu_copy(struct gpu *gpu, UINT64 to, UINT64 from, UINT64 size_bytes)
{
	struct softgpu_copy command = { .destination.virtual_address = to,
					.source.virtual_address = from,
					.size_bytes = size_bytes };

	gpu_put(gpu, SOFTGPU_COPY, &command, sizeof(command));
}

static inline void gpu_write64(struct gpu *gpu, UINT64 address, UINT64 value)
{
	struct softgpu_write64 command = { .destination.virtual_address = address, .value = value };

	gpu_put(gpu, SOFTGPU_WRITE64, &command, sizeof(command));
}

/* Runs what was put, and waits for it. False: it was not to be. */
static inline bool gpu_run(struct gpu *gpu)
{
	D3DKMT_SUBMITCOMMAND args = { .Commands = gpu->address,
				      .BroadcastContextCount = 1,
				      .BroadcastContext = { gpu->context } };
	UINT64 value = ++gpu->value;

	gpu_write64(gpu, gpu->fence_address, value);
	args.CommandLength = gpu->used;
	gpu->used = 0;
	EXPECT_OK(D3DKMTSubmitCommand(&args));
	/* A lost device's fences are reached, and its waits are over. */
	return wait_value(gpu->client.device, gpu->fence, value) == STATUS_SUCCESS &&
	       execution_state(gpu->client.device) == D3DKMT_DEVICEEXECUTION_ACTIVE;
}

static inline D3DKMT_DEVICEPAGEFAULT_STATE gpu_fault(const struct gpu *gpu)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = gpu->client.device,
				       .StateType = D3DKMT_DEVICESTATE_PAGE_FAULT };

	EXPECT_EQ(execution_state(gpu->client.device), D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT);
	EXPECT_OK(D3DKMTGetDeviceState(&args));
	return args.PageFaultState;
}

/* What was put faults at this address. The device is lost by that. */
#define EXPECT_FAULT(gpu, address, is_write)                                                       \
	do {                                                                                       \
		EXPECT(!gpu_run(gpu));                                                             \
		EXPECT_EQ(gpu_fault(gpu).FaultedVirtualAddress, (address));                        \
		EXPECT_EQ((gpu_fault(gpu).PageFaultFlags & DXGK_PAGE_FAULT_WRITE) != 0,            \
			  (is_write));                                                             \
	} while (0)

/* ---- contents ---- */

/* How many words from there on are `word`. */
static inline UINT64 count_words(const void *pointer, UINT64 first_byte, UINT64 size_bytes,
				 uint32_t word)
{
	const uint32_t *words = (const uint32_t *)((const char *)pointer + first_byte);
	UINT64 count = 0;

	while (count < size_bytes / 4 && words[count] == word)
		count++;
	return count;
}

static inline UINT64 words_equal(const struct gpu *gpu, D3DKMT_HANDLE handle, UINT64 first_byte,
				 UINT64 size_bytes, uint32_t word)
{
	UINT64 count;
	void *pointer;

	EXPECT_OK(lock2(gpu->client.device, handle, &pointer));
	count = count_words(pointer, first_byte, size_bytes, word);
	EXPECT_OK(unlock2(gpu->client.device, handle));
	return count;
}

#define EXPECT_WORDS(gpu, handle, first_byte, size_bytes, word)                                    \
	EXPECT_EQ(words_equal(gpu, handle, first_byte, size_bytes, word), (size_bytes) / 4)

#define GPU_TEST(suite, claim, ...) TEST_MADE(gpu, gpu, (__VA_ARGS__), expect_valid(), suite, claim)

#endif
