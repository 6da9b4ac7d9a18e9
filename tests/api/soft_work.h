/* SPDX-License-Identifier: MIT */
/*
 * soft_work.h - work for the software GPU, as a client in the virtual address model has it. With
 * TEST_MODEL=physical it is rendered by allocation list: addresses are offsets in the worker's
 * data.
 *
 *	worker_open(&worker, adapter)     a device, its queues, memory for commands and for data
 *	write_to(&row, worker.data, 7)    commands, one after the other
 *	worker_run(&worker, &row)         submitted; the worker's fence is signalled behind it
 */
#ifndef TESTS_API_SOFT_WORK_H
#define TESTS_API_SOFT_WORK_H

#include "api/residency.h"

enum { ROW_BYTES = 4096, DATA_BYTES = 64 * KIB };

/* A row of commands. */
struct row {
	unsigned used_bytes;
	_Alignas(8) unsigned char bytes[ROW_BYTES];
};

static inline void row_add(struct row *row, const void *command, unsigned size_bytes)
{
	EXPECT(row->used_bytes + size_bytes <= ROW_BYTES);
	memcpy(row->bytes + row->used_bytes, command, size_bytes);
	row->used_bytes += size_bytes;
}

static inline struct softgpu_command command(unsigned opcode, unsigned size_bytes)
{
	return (struct softgpu_command){ SOFTGPU_COMMAND_MAGIC, (uint16_t)opcode, size_bytes };
}

static inline void add_write(struct row *row, uint64_t address, uint64_t value)
{
	struct softgpu_write64 write = { .header = command(SOFTGPU_WRITE64, sizeof(write)),
					 .destination.virtual_address = address,
					 .value = value };

	row_add(row, &write, sizeof(write));
}

static inline void add_fill(struct row *row, uint64_t address, uint64_t size_bytes,
			    uint32_t pattern)
{
	struct softgpu_fill fill = { .header = command(SOFTGPU_FILL, sizeof(fill)),
				     .destination.virtual_address = address,
				     .size_bytes = size_bytes,
				     .pattern = pattern };

	row_add(row, &fill, sizeof(fill));
}

static inline void add_copy(struct row *row, uint64_t to, uint64_t from, uint64_t size_bytes)
{
	struct softgpu_copy copy = { .header = command(SOFTGPU_COPY, sizeof(copy)),
				     .destination.virtual_address = to,
				     .source.virtual_address = from,
				     .size_bytes = size_bytes };

	row_add(row, &copy, sizeof(copy));
}

static inline void add_hang(struct row *row)
{
	struct softgpu_command hang = command(SOFTGPU_HANG, sizeof(hang));

	row_add(row, &hang, sizeof(hang));
}

static inline void add_loop(struct row *row)
{
	struct softgpu_command loop = command(SOFTGPU_LOOP, sizeof(loop));

	row_add(row, &loop, sizeof(loop));
}

static inline void add_fault(struct row *row, uint64_t address)
{
	struct softgpu_fault fault = { .header = command(SOFTGPU_FAULT, sizeof(fault)),
				       .address = address,
				       .is_write = 1 };

	row_add(row, &fault, sizeof(fault));
}

static inline void refer(union softgpu_address *address)
{
	address->reference = (struct softgpu_reference){ 0, (uint32_t)address->virtual_address };
}

/* The same commands, about the first entry of an allocation list. */
static inline struct row row_by_list(const struct row *row)
{
	struct row copy = *row;
	struct softgpu_command *at;

	for (unsigned used = 0; used < copy.used_bytes; used += at->size_bytes) {
		at = (struct softgpu_command *)(copy.bytes + used);
		if (at->opcode == SOFTGPU_FILL)
			refer(&((struct softgpu_fill *)at)->destination);
		if (at->opcode == SOFTGPU_WRITE64)
			refer(&((struct softgpu_write64 *)at)->destination);
		if (at->opcode == SOFTGPU_COPY) {
			refer(&((struct softgpu_copy *)at)->destination);
			refer(&((struct softgpu_copy *)at)->source);
		}
	}
	return copy;
}

/* ---- who works ---- */

struct worker {
	struct client client;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE commands; /* locked */
	D3DKMT_HANDLE memory;   /* in GPU memory */
	unsigned char *pointer; /* to the commands */
	unsigned used_bytes;
	uint64_t command_address;
	uint64_t data; /* the GPU's address of `memory` */
	D3DKMT_HANDLE fence;
	const volatile UINT64 *value;
	UINT64 last_value;
	D3DKMT_CREATECONTEXT physical; /* its buffers */
};

static inline NTSTATUS try_map(const struct client *client, D3DKMT_HANDLE allocation,
			       uint64_t size_bytes, uint64_t *address_out)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = client->queue,
					     .hAllocation = allocation,
					     .SizeInPages = size_bytes / PAGE,
					     .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	*address_out = args.VirtualAddress;
	if (status == STATUS_PENDING) {
		wait_for(client, args.PagingFenceValue);
		status = STATUS_SUCCESS;
	}
	return status;
}

static inline NTSTATUS unmap(const struct client *client, uint64_t address, uint64_t size_bytes)
{
	return D3DKMTFreeGpuVirtualAddress(
		&(D3DKMT_FREEGPUVIRTUALADDRESS){ client->adapter, address, size_bytes });
}

static inline D3DKMT_HANDLE mapped_memory(const struct client *client, uint64_t size_bytes,
					  unsigned flags, uint64_t *address_out)
{
	D3DKMT_HANDLE memory = create_sized(client, size_bytes, flags);

	EXPECT_OK(make_resident(client, &memory, 1, 0));
	EXPECT_OK(try_map(client, memory, size_bytes, address_out));
	return memory;
}

static inline void worker_open_physical(struct worker *worker)
{
	worker->physical = (D3DKMT_CREATECONTEXT){ .hDevice = worker->client.device };
	EXPECT_OK(D3DKMTCreateContext(&worker->physical));
	worker->context = worker->physical.hContext;
	worker->memory =
		create_sized(&worker->client, DATA_BYTES, SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY);
	EXPECT_OK(make_resident(&worker->client, &worker->memory, 1, 0));
}

static inline void worker_open_virtual(struct worker *worker)
{
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = worker->client.device };
	void *pointer;

	EXPECT_OK(D3DKMTCreateContextVirtual(&context));
	worker->context = context.hContext;
	worker->commands =
		mapped_memory(&worker->client, DATA_BYTES,
			      SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY, &worker->command_address);
	EXPECT_OK(lock2(worker->client.device, worker->commands, &pointer));
	worker->pointer = pointer;
	worker->memory = mapped_memory(&worker->client, DATA_BYTES,
				       SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY, &worker->data);
}

static inline void worker_open(struct worker *worker, D3DKMT_HANDLE adapter)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { 0 };

	*worker = (struct worker){ 0 };
	client_open(&worker->client, adapter);
	fence.hDevice = worker->client.device;
	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&fence));
	worker->fence = fence.hSyncObject;
	worker->value = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	if (is_physical())
		worker_open_physical(worker);
	else
		worker_open_virtual(worker);
}

static inline NTSTATUS worker_signal(struct worker *worker, UINT64 value)
{
	return D3DKMTSignalSynchronizationObjectFromGpu(
		&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = worker->context,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &worker->fence,
							      .MonitoredFenceValueArray = &value });
}

static inline NTSTATUS worker_render(struct worker *worker, const struct row *row)
{
	struct row by_list = row_by_list(row);
	D3DKMT_RENDER args = { .hContext = worker->context,
			       .CommandLength = row->used_bytes,
			       .AllocationCount = 1 };

	EXPECT(row->used_bytes <= worker->physical.CommandBufferSize);
	memcpy(worker->physical.pCommandBuffer, by_list.bytes, row->used_bytes);
	worker->physical.pAllocationList[0] =
		(D3DDDI_ALLOCATIONLIST){ .hAllocation = worker->memory };
	worker->physical.pAllocationList[0].WriteOperation = 1;
	NTSTATUS status = D3DKMTRender(&args);
	if (status == STATUS_SUCCESS) {
		worker->physical.pCommandBuffer = args.pNewCommandBuffer;
		worker->physical.pAllocationList = args.pNewAllocationList;
	}
	return status;
}

static inline NTSTATUS worker_submit(struct worker *worker, const struct row *row)
{
	D3DKMT_SUBMITCOMMAND args = { .CommandLength = row->used_bytes,
				      .BroadcastContextCount = 1 };

	if (is_physical())
		return worker_render(worker, row);
	EXPECT(worker->used_bytes + row->used_bytes <= DATA_BYTES);
	memcpy(worker->pointer + worker->used_bytes, row->bytes, row->used_bytes);
	args.Commands = worker->command_address + worker->used_bytes;
	args.BroadcastContext[0] = worker->context;
	worker->used_bytes += row->used_bytes;
	return D3DKMTSubmitCommand(&args);
}

/* Submitted, with a signal behind it, unless that comes too late. */
static inline void worker_run(struct worker *worker, const struct row *row)
{
	EXPECT_OK(worker_submit(worker, row));
	NTSTATUS status = worker_signal(worker, ++worker->last_value);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_DEVICE_REMOVED);
}

static inline unsigned state_of(const struct worker *worker)
{
	return execution_state(worker->client.device);
}

/* Others get along; in a seeded run every call is a turn. */
static inline void worker_pause(const struct worker *worker)
{
	(void)state_of(worker);
	if (!getenv("DXGK_SEED"))
		usleep(100);
}

/* All of it is done, or counts as done. */
static inline void worker_wait(const struct worker *worker)
{
	NTSTATUS status = wait_value(worker->client.device, worker->fence, worker->last_value);

	EXPECT(status == STATUS_SUCCESS || status == STATUS_DEVICE_REMOVED);
	while (*worker->value < worker->last_value)
		worker_pause(worker);
}

/* What the GPU wrote there. */
static inline uint64_t worker_read(const struct worker *worker, uint64_t offset_bytes)
{
	void *pointer;
	uint64_t value;

	EXPECT_OK(lock2(worker->client.device, worker->memory, &pointer));
	memcpy(&value, (const char *)pointer + offset_bytes, sizeof(value));
	EXPECT_OK(unlock2(worker->client.device, worker->memory));
	return value;
}

static inline void worker_close(struct worker *worker)
{
	EXPECT_OK(destroy_device(worker->client.device));
}

/* A new device pages, has GPU addresses and works; what it writes is there. */
static inline void expect_work_gets_done(D3DKMT_HANDLE adapter)
{
	struct worker worker;
	struct row row = { 0 };

	worker_open(&worker, adapter);
	add_fill(&row, worker.data, DATA_BYTES, 0x5a5a5a5a);
	add_write(&row, worker.data + 8, 77);
	worker_run(&worker, &row);
	worker_wait(&worker);
	EXPECT_EQ(state_of(&worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT_EQ(worker_read(&worker, 8), 77);
	EXPECT_EQ(worker_read(&worker, DATA_BYTES - 8), UINT64_C(0x5a5a5a5a5a5a5a5a));
	worker_close(&worker);
}

#endif
