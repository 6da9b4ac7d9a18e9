/* SPDX-License-Identifier: MIT */
/*
 * hw_soft_test.c - hardware queues of the software GPU: commands that really run.
 */
#include "api/sync.h"

enum {
	ACTIVE = D3DKMT_DEVICEEXECUTION_ACTIVE,
	HUNG = D3DKMT_DEVICEEXECUTION_HUNG,
	PAGE_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT,
	DMA_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT,
};

enum { BYTES = 65536, DATA = 32768, PAGING_NODE = 3 };

/* A device with memory that both sides see: commands in front, data behind. */
struct client {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE paging_queue;
	D3DKMT_HANDLE paging_fence;
	D3DKMT_HANDLE allocation;
	UINT64 address;
	unsigned char *bytes;
	unsigned used; /* of the commands */
};

struct queue {
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE fence;
	UINT64 progress;
};

/* ---- memory ---- */

static void await_paging(struct client *client, UINT64 value)
{
	EXPECT_OK(wait_value(client->device, client->paging_fence, value));
}

static void make_memory(struct client *client)
{
	struct softgpu_allocation data = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, BYTES,
					   0 };
	D3DDDI_ALLOCATIONINFO2 element = { .pPrivateDriverData = &data,
					   .PrivateDriverDataSize = sizeof(data) };
	D3DKMT_CREATEALLOCATION create = { .hDevice = client->device,
					   .NumAllocations = 1,
					   .pAllocationInfo2 = &element };
	EXPECT_OK(D3DKMTCreateAllocation2(&create));
	client->allocation = element.hAllocation;

	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = client->paging_queue,
					    .hAllocation = client->allocation,
					    .SizeInPages = BYTES / 4096,
					    .Protection.Write = 1 };
	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&map), STATUS_PENDING);
	client->address = map.VirtualAddress;
	await_paging(client, map.PagingFenceValue);

	D3DDDI_MAKERESIDENT reside = { .hPagingQueue = client->paging_queue,
				       .NumAllocations = 1,
				       .AllocationList = &client->allocation };
	NTSTATUS status = D3DKMTMakeResident(&reside);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	await_paging(client, reside.PagingFenceValue);

	D3DKMT_LOCK2 lock = { .hDevice = client->device, .hAllocation = client->allocation };
	EXPECT_OK(D3DKMTLock2(&lock));
	client->bytes = lock.pData;
}

static struct client make_client(void)
{
	struct client client = { .device = create_device(adapter) };
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client.device };

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	client.paging_queue = queue.hPagingQueue;
	client.paging_fence = queue.hSyncObject;
	make_memory(&client);
	return client;
}

static struct client begin_client(void)
{
	begin();
	return make_client();
}

/* ---- queues ---- */

static NTSTATUS try_context(D3DKMT_HANDLE on, unsigned node, D3DKMT_HANDLE *context_out)
{
	D3DKMT_CREATEHWCONTEXT args = { .hDevice = on, .NodeOrdinal = node };
	NTSTATUS status = D3DKMTCreateHwContext(&args);

	*context_out = args.hHwContext;
	return status;
}

static struct queue make_queue_in(D3DKMT_HANDLE context)
{
	D3DKMT_CREATEHWQUEUE args = { .hHwContext = context };

	EXPECT_OK(D3DKMTCreateHwQueue(&args));
	return (struct queue){ args.hHwQueue, args.hHwQueueProgressFence, 0 };
}

static struct queue make_queue(const struct client *client, unsigned node)
{
	D3DKMT_HANDLE context = 0;

	EXPECT_OK(try_context(client->device, node, &context));
	return make_queue_in(context);
}

static NTSTATUS end_queue(const struct queue *queue)
{
	return D3DKMTDestroyHwQueue(&(D3DKMT_DESTROYHWQUEUE){ queue->queue });
}

/* A command buffer of its own for each submission; never used twice. */
static NTSTATUS run(struct client *client, struct queue *queue, const void *command, unsigned size)
{
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = { .hHwQueue = queue->queue,
					       .HwQueueProgressFenceId = queue->progress + 1,
					       .CommandBuffer = client->address + client->used,
					       .CommandLength = size };

	EXPECT(client->used + size <= DATA);
	memcpy(client->bytes + client->used, command, size);
	client->used += size;
	NTSTATUS status = D3DKMTSubmitCommandToHwQueue(&args);
	queue->progress += NT_SUCCESS(status);
	return status;
}

static NTSTATUS run_write(struct client *client, struct queue *queue, unsigned offset,
			  uint64_t value)
{
	const struct softgpu_write64 command = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_WRITE64, sizeof(command) },
		.destination.virtual_address = client->address + DATA + offset,
		.value = value,
	};

	return run(client, queue, &command, sizeof(command));
}

static NTSTATUS run_copy(struct client *client, struct queue *queue, unsigned to, unsigned from)
{
	const struct softgpu_copy command = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_COPY, sizeof(command) },
		.destination.virtual_address = client->address + DATA + to,
		.source.virtual_address = client->address + DATA + from,
		.size_bytes = 8,
	};

	return run(client, queue, &command, sizeof(command));
}

static NTSTATUS run_simple(struct client *client, struct queue *queue, unsigned opcode)
{
	const struct softgpu_command command = { SOFTGPU_COMMAND_MAGIC, (uint16_t)opcode,
						 sizeof(command) };

	return run(client, queue, &command, sizeof(command));
}

static NTSTATUS await(const struct client *client, D3DKMT_HANDLE fence, UINT64 value)
{
	return wait_value(client->device, fence, value);
}

static NTSTATUS await_all(const struct client *client, const struct queue *queue)
{
	return await(client, queue->fence, queue->progress);
}

static NTSTATUS queue_waits(const struct queue *queue, D3DKMT_HANDLE fence, UINT64 value)
{
	return D3DKMTSubmitWaitForSyncObjectsToHwQueue(
		&(D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE){ .hHwQueue = queue->queue,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .FenceValueArray = &value });
}

static uint64_t data_at(const struct client *client, unsigned offset)
{
	uint64_t value;

	memcpy(&value, client->bytes + DATA + offset, sizeof(value));
	return value;
}

/* Soon: who completes something lets go of it after its fence is seen. */
static void expect_valid_soon(void)
{
	char problem[256] = "";

	for (unsigned i = 0; i < 1000; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		(void)soft_info(adapter); /* in a seeded run every call is a turn */
		usleep(100);
	}
	print_error("%s\n", problem);
	EXPECT_STR(problem, "");
}

/* The loss was told when nobody waits any more: the fence went to its maximum. */
static void await_loss(const struct client *client, const struct queue *queue)
{
	(void)await(client, queue->fence, UINT64_MAX - 1);
	EXPECT(execution_state(client->device) != ACTIVE);
}

/* ---- tests ---- */

TEST(soft_hw_queue, runs_what_it_is_given_in_order_on_every_node_but_the_paging_one)
{
	D3DKMT_HANDLE context;

	for (unsigned node = 0; node < PAGING_NODE; node++) {
		struct client client = begin_client();
		struct queue queue = make_queue(&client, node);

		EXPECT_OK(run_write(&client, &queue, 0, 0x1122334455667788));
		EXPECT_OK(run_copy(&client, &queue, 8, 0));
		EXPECT_OK(run_write(&client, &queue, 0, 7));
		EXPECT_OK(await_all(&client, &queue));
		EXPECT_EQ(data_at(&client, 0), 7);
		EXPECT_EQ(data_at(&client, 8), 0x1122334455667788);
		EXPECT_OK(end_queue(&queue));
		expect_valid_soon();
	}
	EXPECT(try_context(device, PAGING_NODE, &context) == STATUS_INVALID_PARAMETER);
}

TEST(soft_hw_queue, of_a_context_made_for_them_has_its_addresses)
{
	struct client client = begin_client();
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = client.device,
					     .Flags.HwQueueSupported = 1 };

	EXPECT_OK(D3DKMTCreateContextVirtual(&args));
	struct queue queue = make_queue_in(args.hContext);
	EXPECT_OK(run_write(&client, &queue, 0, 42));
	EXPECT_OK(await_all(&client, &queue));
	EXPECT_EQ(data_at(&client, 0), 42);
}

/* Where commands say themselves how far they are, they write to the fence. */
TEST(soft_hw_queue, may_write_its_progress_at_the_address_of_its_fence)
{
	struct client client = begin_client();
	D3DKMT_CREATEHWQUEUE create = { 0 };

	EXPECT_OK(try_context(client.device, 0, &create.hHwContext));
	EXPECT_OK(D3DKMTCreateHwQueue(&create));
	struct queue queue = { create.hHwQueue, create.hHwQueueProgressFence, 0 };
	const struct softgpu_write64 command = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_WRITE64, sizeof(command) },
		.destination.virtual_address = create.HwQueueProgressFenceGPUVirtualAddress,
		.value = 1,
	};
	EXPECT(command.destination.virtual_address != 0);
	EXPECT_OK(run(&client, &queue, &command, sizeof(command)));
	EXPECT_OK(run_write(&client, &queue, 8, 7));
	EXPECT_OK(await_all(&client, &queue));
	EXPECT_EQ(execution_state(client.device), ACTIVE);
	EXPECT_EQ(data_at(&client, 8), 7);
	EXPECT_OK(end_queue(&queue));
}

TEST(soft_hw_queue, waits_for_another_one)
{
	struct client client = begin_client();
	struct queue first = make_queue(&client, 0);
	struct queue second = make_queue(&client, 1);
	D3DKMT_HANDLE gate;
	D3DKMT_HANDLE kept = device;

	device = client.device;
	gate = create_fence(0, 0, NULL);
	EXPECT_OK(queue_waits(&first, gate, 1));
	EXPECT_OK(run_write(&client, &first, 0, 5));
	EXPECT_OK(queue_waits(&second, first.fence, 1));
	EXPECT_OK(run_copy(&client, &second, 8, 0));
	EXPECT_OK(signal_fence(gate, 1));
	EXPECT_OK(await_all(&client, &second));
	EXPECT_EQ(data_at(&client, 8), 5);
	device = kept;
}

TEST(soft_hw_queue, that_faults_takes_down_its_device_with_the_address)
{
	const struct softgpu_fault command = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FAULT, sizeof(command) },
		.address = 0x123456789000,
		.is_write = 1,
	};
	struct client client = begin_client();
	struct client other = make_client();
	struct queue bad = make_queue(&client, 0);
	struct queue good = make_queue(&other, 0);

	EXPECT_OK(run_write(&client, &bad, 0, 1));
	EXPECT_OK(run(&client, &bad, &command, sizeof(command)));
	await_loss(&client, &bad);
	EXPECT_EQ(execution_state(client.device), PAGE_FAULT);
	D3DKMT_GETDEVICESTATE asked = { .hDevice = client.device,
					.StateType = D3DKMT_DEVICESTATE_PAGE_FAULT };
	EXPECT_OK(D3DKMTGetDeviceState(&asked));
	EXPECT_EQ(asked.PageFaultState.FaultedVirtualAddress, 0x123456789000);
	EXPECT_EQ(data_at(&client, 0), 1);
	EXPECT_OK(run_write(&other, &good, 0, 2));
	EXPECT_OK(await_all(&other, &good));
	EXPECT_EQ(execution_state(other.device), ACTIVE);
	EXPECT_OK(end_queue(&bad));
}

TEST(soft_hw_queue, that_cannot_read_its_commands_counts_as_hung)
{
	struct client client = begin_client();
	struct queue queue = make_queue(&client, 0);

	EXPECT_OK(run_simple(&client, &queue, 77));
	await_loss(&client, &queue);
	EXPECT_EQ(execution_state(client.device), HUNG);
}

TEST(soft_hw_queue, that_hangs_is_reset_and_another_one_goes_on)
{
	struct client client = begin_client();
	struct client other = make_client();
	struct queue bad = make_queue(&client, 0);
	struct queue good = make_queue(&other, 0);

	EXPECT_OK(run_write(&client, &bad, 0, 1));
	EXPECT_OK(run_simple(&client, &bad, SOFTGPU_HANG));
	EXPECT_OK(await(&client, bad.fence, 1));
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, 0));
	await_loss(&client, &bad);
	EXPECT_EQ(execution_state(client.device), HUNG);
	EXPECT_OK(run_write(&other, &good, 0, 2));
	EXPECT_OK(await_all(&other, &good));
	EXPECT_EQ(execution_state(other.device), ACTIVE);
}

TEST(soft_hw_queue, is_there_again_after_an_adapter_reset)
{
	struct client client = begin_client();
	struct queue bad = make_queue(&client, 0);

	EXPECT_OK(run_simple(&client, &bad, SOFTGPU_HANG));
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_FORCETDR, 0));
	await_loss(&client, &bad);
	EXPECT_OK(end_queue(&bad));
	struct client fresh = make_client();
	struct queue good = make_queue(&fresh, 0);
	EXPECT_OK(run_write(&fresh, &good, 0, 2));
	EXPECT_OK(await_all(&fresh, &good));
	EXPECT_EQ(data_at(&fresh, 0), 2);
}

TEST(soft_hw_queue, given_private_data_that_is_nonsense_loses_the_device)
{
	struct softgpu_submission data = { SOFTGPU_SUBMISSION_VERSION, 0, 5 };
	struct client client = begin_client();
	struct queue queue = make_queue(&client, 0);
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = { .hHwQueue = queue.queue,
					       .HwQueueProgressFenceId = 1,
					       .CommandBuffer = client.address,
					       .CommandLength = 8,
					       .PrivateDriverDataSize = sizeof(data),
					       .pPrivateDriverData = &data };
	const struct softgpu_command nothing = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_NOP, 8 };

	memcpy(client.bytes, &nothing, sizeof(nothing));
	EXPECT_OK(D3DKMTSubmitCommandToHwQueue(&args));
	EXPECT_OK(await(&client, queue.fence, 1));
	args.HwQueueProgressFenceId = 2;
	data.version = 99;
	EXPECT_OK(D3DKMTSubmitCommandToHwQueue(&args));
	await_loss(&client, &queue);
	EXPECT_EQ(execution_state(client.device), DMA_FAULT);
}

/* ---- threads ---- */

enum { THREADS = 3, ROUNDS = 50 };

struct worker {
	struct dxgk_test_thread *thread;
	D3DKMT_HANDLE context; /* everybody's */
	struct client client;
	bool is_right;
};

/* Two queues in turns, each writing what the other copies. */
static void work(void *argument)
{
	struct worker *worker = argument;
	struct client *client = &worker->client;
	struct queue writes = make_queue_in(worker->context);
	struct queue copies = make_queue_in(worker->context);

	for (unsigned i = 1; i <= ROUNDS; i++) {
		EXPECT_OK(queue_waits(&writes, copies.fence, i - 1));
		EXPECT_OK(run_write(client, &writes, 0, i));
		EXPECT_OK(queue_waits(&copies, writes.fence, i));
		EXPECT_OK(run_copy(client, &copies, 8 * i, 0));
	}
	EXPECT_OK(await_all(client, &copies));
	worker->is_right = true;
	for (unsigned i = 1; i <= ROUNDS; i++)
		worker->is_right &= data_at(client, 8 * i) == i;
	EXPECT_OK(end_queue(&writes));
	EXPECT_OK(end_queue(&copies));
}

TEST(soft_hw_queue, of_one_context_run_side_by_side)
{
	struct worker workers[THREADS] = { 0 };
	D3DKMT_HANDLE context;

	begin();
	struct client owner = make_client();
	EXPECT_OK(try_context(owner.device, 0, &context));
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].client = owner;
		make_memory(&workers[i].client);
		workers[i].context = context;
	}
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].thread = begin_thread(work, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		dxgk_test_thread_join(workers[i].thread);
		EXPECT(workers[i].is_right);
	}
	expect_valid_soon();
}

API_TEST_MAIN("api/hw_soft")
