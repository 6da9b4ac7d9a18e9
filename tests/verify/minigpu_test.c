/* SPDX-License-Identifier: MIT */
/*
 * minigpu_test.c - the example driver does what its commands say, and is reported for nothing.
 *
 * Everything goes through its exerciser, so this knows no more of the driver than `dxgk verify` does.
 */
#include "api/support.h"

#include <dlfcn.h>

#include <opendxgk/exerciser.h>

enum { PAGE = 4096, MIB = 1024 * 1024, COMMAND_BYTES = 65536 };
enum {
	ACTIVE = D3DKMT_DEVICEEXECUTION_ACTIVE,
	HUNG = D3DKMT_DEVICEEXECUTION_HUNG,
	PAGE_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT,
	DMA_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT,
};

struct memory {
	D3DKMT_HANDLE handle;
	UINT64 size_bytes;
	UINT64 address;
};

struct client {
	D3DKMT_HANDLE adapter;
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE paging_fence;
	D3DKMT_HANDLE fence;
	UINT64 value;
	struct memory commands;
	unsigned char *bytes;
	unsigned used;
};

static const struct dxgk_exerciser *exerciser;
static unsigned report_count;

static void note_report(void *context, const struct dxgk_test_report *report)
{
	(void)context;
	report_count++;
	print_error("reported: %s: %s\n", report->rule, report->sentence);
}

static void find_exerciser(void)
{
	void *library = dlopen(getenv("TEST_EXERCISER"), RTLD_NOW);
	const struct dxgk_exerciser *(*find)(void);

	EXPECT(library != NULL);
	*(void **)&find = dlsym(library, "dxgk_exerciser");
	EXPECT(find != NULL);
	exerciser = find();
	EXPECT_EQ(exerciser->version, DXGK_EXERCISER_VERSION);
}

/* ---- memory ---- */

static void wait_for(const struct client *client, D3DKMT_HANDLE fence, UINT64 value)
{
	(void)wait_value(client->device, fence, value); /* over when the device is lost */
}

static void make_resident(const struct client *client, const struct memory *memory)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = 1,
				     .AllocationList = &memory->handle };
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (status == STATUS_PENDING)
		wait_for(client, client->paging_fence, args.PagingFenceValue);
	else
		EXPECT_OK(status);
}

static void evict(const struct client *client, const struct memory *memory)
{
	EXPECT_OK(D3DKMTEvict(&(D3DKMT_EVICT){ .hDevice = client->device,
					       .NumAllocations = 1,
					       .AllocationList = &memory->handle }));
}

static struct memory allocate(const struct client *client, UINT64 size_bytes, unsigned wishes)
{
	unsigned char data[256];
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = data };
	D3DKMT_CREATEALLOCATION create = { .hDevice = client->device,
					   .NumAllocations = 1,
					   .pAllocationInfo2 = &info };
	struct memory memory = { .size_bytes = size_bytes };

	info.PrivateDriverDataSize = exerciser->allocation_data_for(
		size_bytes, wishes | DXGK_EXERCISER_CPU_VISIBLE, data, sizeof(data));
	EXPECT_OK(D3DKMTCreateAllocation2(&create));
	memory.handle = info.hAllocation;
	make_resident(client, &memory);

	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = client->queue,
					    .hAllocation = memory.handle,
					    .SizeInPages = size_bytes / PAGE,
					    .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&map);
	if (status != STATUS_PENDING)
		EXPECT_OK(status);
	wait_for(client, client->paging_fence, map.PagingFenceValue);
	memory.address = map.VirtualAddress;
	return memory;
}

static void *lock(const struct client *client, const struct memory *memory)
{
	D3DKMT_LOCK2 args = { .hDevice = client->device, .hAllocation = memory->handle };

	EXPECT_OK(D3DKMTLock2(&args));
	return args.pData;
}

static void unlock(const struct client *client, const struct memory *memory)
{
	EXPECT_OK(D3DKMTUnlock2(
		&(D3DKMT_UNLOCK2){ .hDevice = client->device, .hAllocation = memory->handle }));
}

static bool holds(const struct client *client, const struct memory *memory, uint32_t word)
{
	const uint32_t *words = lock(client, memory);
	UINT64 count = 0;

	while (count < memory->size_bytes / 4 && words[count] == word)
		count++;
	unlock(client, memory);
	return count == memory->size_bytes / 4;
}

/* ---- work ---- */

static struct client client_open(D3DKMT_HANDLE adapter)
{
	struct client client = { .adapter = adapter, .device = create_device(adapter) };
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client.device };
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = client.device };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = client.device };

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	client.queue = queue.hPagingQueue;
	client.paging_fence = queue.hSyncObject;
	EXPECT_OK(D3DKMTCreateContextVirtual(&context));
	client.context = context.hContext;
	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&fence));
	client.fence = fence.hSyncObject;
	client.commands = allocate(&client, COMMAND_BYTES, DXGK_EXERCISER_SYSTEM);
	client.bytes = lock(&client, &client.commands);
	return client;
}

static struct client begin(void)
{
	D3DKMTCloseDxCoreDevice();
	report_count = 0;
	find_exerciser();
	struct client client = client_open(open_first_adapter());
	dxgk_test_listen_reports(note_report, NULL);
	return client;
}

static void end(void)
{
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(report_count, 0);
}

/* Where the next command goes. */
#define PUT(client, member, ...)                                                                   \
	do {                                                                                       \
		uint32_t put_bytes =                                                               \
			exerciser->member(__VA_ARGS__, (client)->bytes + (client)->used,           \
					  COMMAND_BYTES - (client)->used);                         \
		EXPECT(put_bytes != 0);                                                            \
		(client)->used += put_bytes;                                                       \
	} while (0)

/* Commands are where those before are not any more when they are changed: each submission has its own. */
static void submit(struct client *client, unsigned start)
{
	D3DKMT_SUBMITCOMMAND args = { .Commands = client->commands.address + start,
				      .CommandLength = client->used - start,
				      .BroadcastContextCount = 1,
				      .BroadcastContext = { client->context } };
	UINT64 value = ++client->value;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = { .hContext = client->context,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &client->fence,
							     .MonitoredFenceValueArray = &value };

	EXPECT_OK(D3DKMTSubmitCommand(&args));
	NTSTATUS status = D3DKMTSignalSynchronizationObjectFromGpu(&signal);
	if (status != STATUS_DEVICE_REMOVED) /* what runs may be lost already */
		EXPECT_OK(status);
}

static void finish(const struct client *client)
{
	wait_for(client, client->fence, client->value);
}

static void run(struct client *client)
{
	submit(client, 0);
	finish(client);
	client->used = 0;
}

/* ---- claims ---- */

TEST(minigpu, fills_and_copies_arrive)
{
	struct client client = begin();
	struct memory local = allocate(&client, 3 * MIB, DXGK_EXERCISER_LOCAL);
	struct memory system = allocate(&client, 3 * MIB, DXGK_EXERCISER_SYSTEM);

	PUT(&client, fill, local.address, local.size_bytes, 0x12345678);
	PUT(&client, copy, system.address + 4, local.address + PAGE, 2 * MIB);
	run(&client);
	EXPECT_EQ(execution_state(client.device), ACTIVE);
	EXPECT(holds(&client, &local, 0x12345678));
	const uint32_t *words = lock(&client, &system);
	EXPECT_EQ(words[0], 0);
	EXPECT_EQ(words[1], 0x12345678);
	EXPECT_EQ(words[2 * MIB / 4], 0x12345678);
	EXPECT_EQ(words[2 * MIB / 4 + 1], 0);
	unlock(&client, &system);
	end();
}

TEST(minigpu, keeps_what_is_evicted)
{
	enum { COUNT = 12 };
	struct client client = begin();
	struct memory memories[COUNT];

	/* Half as much again as there is of local memory. */
	for (uint32_t i = 0; i < COUNT; i++) {
		memories[i] = allocate(&client, 4 * MIB, DXGK_EXERCISER_LOCAL);
		PUT(&client, fill, memories[i].address, memories[i].size_bytes, 0xab000000 + i);
		run(&client);
		evict(&client, &memories[i]);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		EXPECT(holds(&client, &memories[i], 0xab000000 + i));
		make_resident(&client, &memories[i]);
		PUT(&client, copy, memories[i].address + PAGE, memories[i].address, PAGE);
		run(&client);
		EXPECT(holds(&client, &memories[i], 0xab000000 + i));
		evict(&client, &memories[i]);
	}
	EXPECT_EQ(execution_state(client.device), ACTIVE);
	end();
}

TEST(minigpu, goes_on_where_it_was_preempted)
{
	SKIP_UNLESS_SEEDED();
	struct client one = begin();
	struct client other = client_open(one.adapter);
	struct memory from = allocate(&one, 2 * MIB, 0);
	struct memory to = allocate(&one, 2 * MIB, 0);
	struct memory others = allocate(&other, MIB, 0);

	/* Done twice from its beginning, the second copy would take what the last fill has left. */
	PUT(&one, fill, from.address, from.size_bytes, 1);
	PUT(&one, copy, to.address, from.address, to.size_bytes);
	PUT(&one, busy, 100000);
	PUT(&one, fill, from.address, from.size_bytes, 2);
	PUT(&one, busy, 100000);
	PUT(&one, fill, from.address, from.size_bytes, 3);
	submit(&one, 0);
	for (unsigned i = 0; i < 5; i++) {
		PUT(&other, fill, others.address, others.size_bytes, i);
		PUT(&other, busy, 30000);
		run(&other);
		EXPECT(holds(&other, &others, i));
	}
	finish(&one);
	EXPECT(holds(&one, &to, 1));
	EXPECT(holds(&one, &from, 3));
	EXPECT_EQ(execution_state(one.device), ACTIVE);
	EXPECT_EQ(execution_state(other.device), ACTIVE);
	end();
}

static void expect_alone_lost(struct client *lost, unsigned state)
{
	struct client other = client_open(lost->adapter);
	struct memory memory = allocate(&other, MIB, 0);

	run(lost);
	EXPECT_EQ(execution_state(lost->device), state);
	PUT(&other, fill, memory.address, memory.size_bytes, 77);
	run(&other);
	EXPECT_EQ(execution_state(other.device), ACTIVE);
	EXPECT(holds(&other, &memory, 77));
}

TEST(minigpu, that_hangs_costs_one_device)
{
	SKIP_UNLESS_SEEDED();
	struct client client = begin();
	uint32_t put = exerciser->hang(client.bytes, COMMAND_BYTES);

	EXPECT(put != 0);
	client.used = put;
	expect_alone_lost(&client, HUNG);
	end();
}

TEST(minigpu, that_faults_costs_one_device)
{
	struct client client = begin();
	struct memory memory = allocate(&client, MIB, 0);

	UINT64 beyond = memory.address + (UINT64_C(1) << 30);

	PUT(&client, fill, memory.address, memory.size_bytes, 5);
	PUT(&client, fill, beyond, PAGE, 6);
	PUT(&client, fill, memory.address, memory.size_bytes, 7);
	expect_alone_lost(&client, PAGE_FAULT);
	D3DKMT_GETDEVICESTATE args = { .hDevice = client.device,
				       .StateType = D3DKMT_DEVICESTATE_PAGE_FAULT };
	EXPECT_OK(D3DKMTGetDeviceState(&args));
	EXPECT_EQ(args.PageFaultState.FaultedVirtualAddress, beyond);
	EXPECT((args.PageFaultState.PageFaultFlags & DXGK_PAGE_FAULT_WRITE) != 0);
	end();
}

TEST(minigpu, refuses_what_is_no_command)
{
	struct client client = begin();

	memset(client.bytes, 0xee, 64);
	client.used = 64;
	expect_alone_lost(&client, DMA_FAULT);
	end();
}

TEST(minigpu, that_is_pulled_out_lets_go)
{
	struct client client = begin();
	D3DKMT_ADAPTERINFO info = first_adapter();

	PUT(&client, busy, 1000000);
	submit(&client, 0);
	EXPECT_EQ(dxgk_test_remove_adapter(info.AdapterLuid.LowPart, info.AdapterLuid.HighPart, 1),
		  1);
	finish(&client);
	end();
}

TEST_MAIN("verify/minigpu")
