/* SPDX-License-Identifier: MIT */
/*
 * reset_test.c - resets of the software GPU with memory in use: what a client has afterwards, what
 * is told of it, and that nothing is left when it is gone.
 */
#include "api/soft_work.h"

#include <stdatomic.h>

enum {
	ACTIVE = D3DKMT_DEVICEEXECUTION_ACTIVE,
	RESET = D3DKMT_DEVICEEXECUTION_RESET,
	HUNG = D3DKMT_DEVICEEXECUTION_HUNG,
	FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT,
	PAGE_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT,
};

#define FAULT_ADDRESS UINT64_C(0x7654321000)

static NTSTATUS force(D3DKMT_HANDLE adapter, unsigned control)
{
	D3DKMT_TDRDBGCTRL_ESCAPE tdr = { (D3DKMT_TDRDBGCTRLTYPE)control, 0 };
	return D3DKMTEscape(&(D3DKMT_ESCAPE){ .hAdapter = adapter,
					      .Type = D3DKMT_ESCAPE_TDRDBGCTRL,
					      .pPrivateDriverData = &tdr,
					      .PrivateDriverDataSize = sizeof(tdr) });
}

static void reset_engine(D3DKMT_HANDLE adapter)
{
	EXPECT_OK(force(adapter, D3DKMT_TDRDBGCTRLTYPE_ENGINETDR));
}

static void reset_adapter(D3DKMT_HANDLE adapter)
{
	EXPECT_OK(force(adapter, D3DKMT_TDRDBGCTRLTYPE_GPUTDR));
}

static D3DKMT_HANDLE open_anew(void)
{
	D3DKMTCloseDxCoreDevice();
	return open_first_adapter();
}

/* ---- hangs and faults between any two commands ---- */

enum { STEPS = 4, BEGUN = 7 };

/* One step of some work; what it leaves behind is seen in its own eight bytes. */
static void add_step(struct row *row, const struct worker *worker, unsigned step)
{
	uint64_t at = worker->data + 8 * step;

	switch (step) {
	case 0:
		add_write(row, at, 0x1111111111111111);
		break;
	case 1:
		add_fill(row, at, 8, 0x22222222);
		break;
	case 2:
		add_copy(row, at, worker->data, 8);
		break;
	default:
		add_write(row, at, 0x3333333333333333);
		break;
	}
}

static const uint64_t step_results[STEPS] = { 0x1111111111111111, 0x2222222222222222,
					      0x1111111111111111, 0x3333333333333333 };

enum trouble { HANGS, FAULTS };

static struct row row_with(const struct worker *worker, enum trouble trouble, unsigned boundary)
{
	struct row row = { 0 };

	add_write(&row, worker->data + 8 * STEPS, BEGUN);
	for (unsigned step = 0; step <= STEPS; step++) {
		if (step == boundary && trouble == HANGS)
			add_hang(&row);
		if (step == boundary && trouble == FAULTS)
			add_fault(&row, FAULT_ADDRESS);
		if (step < STEPS)
			add_step(&row, worker, step);
	}
	return row;
}

static void expect_fault_is_told(const struct worker *worker)
{
	D3DKMT_GETDEVICESTATE ask = { .hDevice = worker->client.device,
				      .StateType = D3DKMT_DEVICESTATE_PAGE_FAULT };

	EXPECT_OK(D3DKMTGetDeviceState(&ask));
	EXPECT_EQ(ask.PageFaultState.FaultedVirtualAddress, FAULT_ADDRESS);
	EXPECT(ask.PageFaultState.PageFaultFlags & DXGK_PAGE_FAULT_WRITE);
}

/* The GPU is at it, and does not come back by itself. */
static void await_hang(const struct worker *worker, const volatile uint64_t *seen,
		       unsigned boundary)
{
	unsigned last = boundary > 0 ? boundary - 1 : STEPS;
	uint64_t result = boundary > 0 ? step_results[last] : BEGUN;

	for (int i = 0; i < 100000 && seen[last] != result; i++)
		worker_pause(worker);
	EXPECT_EQ(seen[last], result);
	EXPECT_EQ(*worker->value, 0);
}

/* Kept locked, so that it can be seen while the device is lost. */
static const uint64_t *look_at_data(const struct worker *worker)
{
	void *pointer;

	EXPECT_OK(lock2(worker->client.device, worker->memory, &pointer));
	return pointer;
}

static void expect_lost_and_released(struct worker *worker, unsigned state)
{
	D3DKMT_EVICT args = { .hDevice = worker->client.device,
			      .NumAllocations = 1,
			      .AllocationList = &worker->memory };

	worker_wait(worker);
	EXPECT_EQ(*worker->value, UINT64_MAX);
	EXPECT_EQ(state_of(worker), state);
	EXPECT_OK(unlock2(worker->client.device, worker->memory));
	EXPECT_OK(D3DKMTEvict(&args));
	if (!is_physical())
		EXPECT_OK(unmap(&worker->client, worker->data, DATA_BYTES));
	EXPECT_OK(destroy_now(&worker->client, worker->memory));
	worker_close(worker);
}

static void expect_steps(const uint64_t *seen, unsigned boundary)
{
	for (unsigned step = 0; step < STEPS; step++)
		EXPECT_EQ(seen[step], step < boundary ? step_results[step] : 0);
}

/* One device gets into trouble, another one has work queued behind it. */
static void run_trouble(D3DKMT_HANDLE adapter, enum trouble trouble, unsigned boundary,
			bool is_adapter_reset)
{
	struct worker guilty;
	struct worker innocent;
	struct row row;

	worker_open(&guilty, adapter);
	worker_open(&innocent, adapter);
	const uint64_t *seen = look_at_data(&guilty);
	/* With equals behind it, it could lose its turn right before it hangs. */
	EXPECT_OK(set_priority(guilty.context, 1));
	row = row_with(&guilty, trouble, boundary);
	worker_run(&guilty, &row);
	row = row_with(&innocent, trouble, STEPS + 1);
	worker_run(&innocent, &row);
	if (trouble == HANGS) {
		await_hang(&guilty, seen, boundary);
		if (is_adapter_reset)
			reset_adapter(adapter);
		else
			reset_engine(adapter);
	}
	worker_wait(&guilty);
	if (!is_adapter_reset)
		expect_steps(seen, boundary);
	/* Pages are what virtual addresses have. */
	if (trouble == FAULTS && !is_physical())
		expect_fault_is_told(&guilty);
	expect_lost_and_released(&guilty, trouble == HANGS ? HUNG
					  : is_physical()  ? FAULT
							   : PAGE_FAULT);
	worker_wait(&innocent);
	EXPECT_EQ(state_of(&innocent), is_adapter_reset ? RESET : ACTIVE);
	for (unsigned step = 0; !is_adapter_reset && step < STEPS; step++)
		EXPECT_EQ(worker_read(&innocent, 8 * step), step_results[step]);
	worker_close(&innocent);
}

static void try_every_boundary(enum trouble trouble, bool is_adapter_reset)
{
	D3DKMT_HANDLE adapter = open_anew();
	struct dxgk_test_memory before = { 0 };

	for (unsigned boundary = 0; boundary <= STEPS; boundary++) {
		run_trouble(adapter, trouble, boundary, is_adapter_reset);
		expect_work_gets_done(adapter);
		expect_valid();
		/* The first round sets up what stays, and may not have let go of all the rest. */
		if (boundary == 0)
			before = dxgk_test_memory();
		for (int i = 0; i < 1000 && dxgk_test_memory().blocks > before.blocks; i++) {
			(void)soft_info(adapter); /* in a seeded run every call is a turn */
			usleep(1000);
		}
		EXPECT(dxgk_test_memory().blocks <= before.blocks);
	}
	EXPECT_EQ(soft_info(adapter).live_devices, 1);
}

TEST(hang, at_every_command_boundary_takes_its_device_only)
{
	try_every_boundary(HANGS, false);
}

TEST(hang, at_every_command_boundary_ends_with_an_adapter_reset)
{
	try_every_boundary(HANGS, true);
}

TEST(fault, at_every_command_boundary_takes_its_device_only)
{
	try_every_boundary(FAULTS, false);
}

/* ---- an adapter reset with memory in use ---- */

#define EXPECT_GONE(call) EXPECT_REFUSED(call, STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "")

static NTSTATUS try_make_resident(const struct client *client, const D3DKMT_HANDLE *handle)
{
	D3DDDI_MAKERESIDENT args = residency_of(client, handle, 1, 0);

	return D3DKMTMakeResident(&args);
}

static NTSTATUS try_reclaim(const struct client *client, const D3DKMT_HANDLE *handle)
{
	D3DDDI_RECLAIM_RESULT result;
	return D3DKMTReclaimAllocations2(
		&(D3DKMT_RECLAIMALLOCATIONS2){ .hPagingQueue = client->queue,
					       .NumAllocations = 1,
					       .HandleList = handle,
					       .pResults = &result });
}

static NTSTATUS try_create_queue(const struct client *client)
{
	return D3DKMTCreatePagingQueue(&(D3DKMT_CREATEPAGINGQUEUE){ .hDevice = client->device });
}

static NTSTATUS try_reserve(const struct client *client)
{
	return D3DKMTReserveGpuVirtualAddress(&(D3DDDI_RESERVEGPUVIRTUALADDRESS){
		.hPagingQueue = client->queue, .Size = 64 * KIB });
}

TEST(adapter_reset, leaves_memory_that_can_only_be_released)
{
	D3DKMT_HANDLE adapter = open_anew();
	struct worker worker;
	struct row row = { 0 };
	uint64_t address;

	add_write(&row, 0, 0);
	worker_open(&worker, adapter);
	D3DKMT_HANDLE spare = create_sized(&worker.client, MIB, SOFTGPU_CPU_VISIBLE);
	D3DKMT_HANDLE offered = create_sized(&worker.client, MIB, SOFTGPU_LOCAL_ONLY);
	EXPECT_OK(make_resident(&worker.client, &offered, 1, 0));
	EXPECT_OK(offer(&worker.client, &offered, 1, 1, 0));
	reset_adapter(adapter);
	EXPECT_EQ(state_of(&worker), RESET);
	EXPECT_GONE(try_make_resident(&worker.client, &spare));
	EXPECT_GONE(try_reclaim(&worker.client, &offered));
	EXPECT_GONE(reclaim_now(&worker.client, &offered, 1, NULL));
	EXPECT_GONE(offer(&worker.client, &spare, 1, 1, 0));
	EXPECT_GONE(try_map(&worker.client, spare, MIB, &address));
	EXPECT_GONE(try_reserve(&worker.client));
	EXPECT_GONE(try_create_queue(&worker.client));
	EXPECT_GONE(worker_submit(&worker, &row));
	if (!is_physical()) {
		EXPECT_OK(unlock2(worker.client.device, worker.commands));
		EXPECT_OK(unmap(&worker.client, worker.data, DATA_BYTES));
	}
	EXPECT_OK(evict(&worker.client, &worker.memory, 1, 0));
	EXPECT_OK(destroy_now(&worker.client, worker.memory));
	EXPECT_OK(destroy_now(&worker.client, offered));
	D3DDDI_DESTROYPAGINGQUEUE destroy = { worker.client.queue };
	EXPECT_OK(D3DKMTDestroyPagingQueue(&destroy));
	expect_work_gets_done(adapter);
	worker_close(&worker);
	expect_valid();
}

/* What the CPU has locked stays where it is, to be read and written. */
TEST(adapter_reset, leaves_locked_memory_at_its_address)
{
	D3DKMT_HANDLE adapter = open_anew();
	struct worker worker;
	void *pointer;

	worker_open(&worker, adapter);
	EXPECT_OK(lock2(worker.client.device, worker.memory, &pointer));
	reset_adapter(adapter);
	memset(pointer, 0x11, DATA_BYTES);
	EXPECT_EQ(((const char *)pointer)[DATA_BYTES - 1], 0x11);
	if (!is_physical())
		memset(worker.pointer, 0x22, DATA_BYTES);
	expect_work_gets_done(adapter);
	EXPECT_EQ(((const char *)pointer)[DATA_BYTES - 1], 0x11);
	EXPECT_OK(unlock2(worker.client.device, worker.memory));
	if (!is_physical())
		EXPECT_OK(unlock2(worker.client.device, worker.commands));
	worker_close(&worker);
	expect_valid();
}

/* ---- shared memory ---- */

struct shared {
	D3DKMT_HANDLE global;
	D3DKMT_HANDLE allocation;
};

static struct shared share_memory(const struct client *client, unsigned flags)
{
	struct creation creation;

	creation_init_resource(&creation, client->device, 1, SHARED_GLOBAL);
	creation.data[0].flags = flags;
	EXPECT_OK(create(&creation));
	return (struct shared){ creation.args.hGlobalShare, creation.elements[0].hAllocation };
}

static D3DKMT_HANDLE open_shared(const struct client *client, D3DKMT_HANDLE global)
{
	D3DDDI_OPENALLOCATIONINFO2 element = { 0 };
	D3DKMT_QUERYRESOURCEINFO query = { .hDevice = client->device, .hGlobalShare = global };
	char private_data[4096];

	EXPECT_OK(D3DKMTQueryResourceInfo(&query));
	EXPECT(query.TotalPrivateDriverDataSize <= sizeof(private_data));
	D3DKMT_OPENRESOURCE open = {
		.hDevice = client->device,
		.hGlobalShare = global,
		.NumAllocations = 1,
		.pOpenAllocationInfo2 = &element,
		.pTotalPrivateDriverDataBuffer = private_data,
		.TotalPrivateDriverDataBufferSize = query.TotalPrivateDriverDataSize,
	};
	EXPECT_OK(D3DKMTOpenResource2(&open));
	return element.hAllocation;
}

static void use_opened(struct worker *worker, D3DKMT_HANDLE opened)
{
	uint64_t address = worker->data;
	struct row row = { 0 };

	if (is_physical())
		worker->memory = opened; /* what the list names */
	else
		EXPECT_OK(try_map(&worker->client, opened, SOME_BYTES, &address));
	add_copy(&row, address, worker->data, 4096);
	add_write(&row, address, 9);
	worker_run(worker, &row);
}

TEST(adapter_reset, leaves_shared_memory_to_who_opens_it_afterwards)
{
	SKIP_UNLESS(!is_served(),
		    "memory of a server's client keeps its pages, and stays where they are");

	D3DKMT_HANDLE adapter = open_anew();
	struct client lost;
	struct worker worker;

	client_open(&lost, adapter);
	struct shared system = share_memory(&lost, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	struct shared local = share_memory(&lost, SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY);
	fill(&lost, system.allocation, SOME_BYTES, 5);
	EXPECT_OK(make_resident(&lost, &system.allocation, 1, 0));
	EXPECT_OK(make_resident(&lost, &local.allocation, 1, 0));
	reset_adapter(adapter);
	worker_open(&worker, adapter);
	D3DKMT_HANDLE kept = open_shared(&worker.client, system.global);
	EXPECT_CONTENT(&worker.client, kept, SOME_BYTES, 5);
	D3DKMT_HANDLE opened = open_shared(&worker.client, local.global);
	EXPECT_EQ(residency_status(&worker.client, opened), NOT_RESIDENT);
	EXPECT_OK(make_resident(&worker.client, &opened, 1, 0));
	use_opened(&worker, opened);
	worker_wait(&worker);
	EXPECT_EQ(state_of(&worker), ACTIVE);
	EXPECT_OK(destroy_device(lost.device));
	worker_close(&worker);
	expect_valid();
}

/* Addresses belong to the process: what was mapped before is mapped for who comes after. */
TEST(adapter_reset, keeps_the_addresses_of_a_process)
{
	SKIP_UNLESS(!is_physical(), "the physical model has no GPU addresses");

	D3DKMT_HANDLE adapter = open_anew();
	struct client lost;
	struct worker worker;
	struct row row = { 0 };
	uint64_t address;

	client_open(&lost, adapter);
	struct shared shared = share_memory(&lost, SOFTGPU_CPU_VISIBLE);
	EXPECT_OK(make_resident(&lost, &shared.allocation, 1, 0));
	EXPECT_OK(try_map(&lost, shared.allocation, SOME_BYTES, &address));
	reset_adapter(adapter);
	worker_open(&worker, adapter);
	D3DKMT_HANDLE opened = open_shared(&worker.client, shared.global);
	EXPECT_OK(make_resident(&worker.client, &opened, 1, 0));
	add_write(&row, address, 1234);
	worker_run(&worker, &row);
	worker_wait(&worker);
	EXPECT_EQ(state_of(&worker), ACTIVE);
	void *pointer;
	EXPECT_OK(lock2(worker.client.device, opened, &pointer));
	EXPECT_EQ(*(const uint64_t *)pointer, 1234);
	EXPECT_OK(unlock2(worker.client.device, opened));
	worker_close(&worker);
	EXPECT_OK(destroy_device(lost.device));
	expect_valid();
}

/* ---- everything at once ---- */

enum { MOVERS = 3, ROUNDS = 10, PIECES = 8, RESETS_IN_A_ROW = 4 };

struct mover {
	D3DKMT_HANDLE adapter;
	struct client client;
	D3DKMT_HANDLE memory[PIECES];
	UINT64 last_value;
	_Atomic bool is_over;
};

/* False: a reset came in between. */
static bool mover_open(struct mover *mover)
{
	D3DKMT_CREATEPAGINGQUEUE queue = { 0 };

	mover->client = (struct client){ .device = create_device(mover->adapter) };
	mover->last_value = 0;
	memset(mover->memory, 0, sizeof(mover->memory));
	queue.hDevice = mover->client.device;
	if (D3DKMTCreatePagingQueue(&queue) != STATUS_SUCCESS)
		return false;
	mover->client.queue = queue.hPagingQueue;
	mover->client.value = queue.FenceValueCPUVirtualAddress;
	mover->client.adapter = mover->adapter;
	for (unsigned i = 0; i < PIECES; i++) {
		if (try_create_sized(&mover->client, MIB, i % 2 ? SOFTGPU_LOCAL_ONLY : 0,
				     &mover->memory[i]) != STATUS_SUCCESS)
			return false;
	}
	return true;
}

static NTSTATUS mover_bring_in(struct mover *mover, D3DKMT_HANDLE memory)
{
	D3DDDI_MAKERESIDENT args = residency_of(&mover->client, &memory, 1, 0);
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (status == STATUS_PENDING)
		mover->last_value = args.PagingFenceValue;
	if (status == STATUS_PENDING || status == STATUS_SUCCESS)
		EXPECT_OK(evict(&mover->client, &memory, 1, 0));
	return status;
}

static NTSTATUS mover_map(struct mover *mover)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = mover->client.queue,
					     .hAllocation = mover->memory[0],
					     .SizeInPages = 16 };
	if (is_physical())
		return STATUS_SUCCESS;
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);
	if (status == STATUS_PENDING || status == STATUS_SUCCESS)
		EXPECT_OK(unmap(&mover->client, args.VirtualAddress, 16 * PAGE));
	return status;
}

static void mover_close(struct mover *mover)
{
	while (mover->client.queue && *mover->client.value < mover->last_value)
		worker_pause(&(struct worker){ .client = mover->client });
	for (unsigned i = 0; i < PIECES; i++) {
		if (mover->memory[i])
			EXPECT_OK(destroy_now(&mover->client, mover->memory[i]));
	}
	EXPECT_OK(destroy_device(mover->client.device));
}

/* Memory comes and goes until the device is lost, and then all of it is released. */
static void run_mover(void *argument)
{
	struct mover *mover = argument;

	for (unsigned round = 0; round < ROUNDS; round++) {
		NTSTATUS status = mover_open(mover) ? STATUS_SUCCESS : STATUS_DEVICE_REMOVED;

		while (status != STATUS_DEVICE_REMOVED) {
			for (unsigned i = 0; i < PIECES && status != STATUS_DEVICE_REMOVED; i++)
				status = mover_bring_in(mover, mover->memory[i]);
			if (status != STATUS_DEVICE_REMOVED)
				status = mover_map(mover);
		}
		mover_close(mover);
	}
	atomic_store(&mover->is_over, true);
}

/*
 * What meets a reset begins again: with one after the other nobody would get anywhere where a round
 * takes longer than the time between two. So now and then the next one waits until work gets done.
 */
static void others_get_along(D3DKMT_HANDLE adapter, unsigned resets)
{
	if (!getenv("DXGK_SEED"))
		usleep(2000);
	if (resets % RESETS_IN_A_ROW == 0)
		expect_work_gets_done(adapter);
}

TEST(adapter_reset, may_come_at_any_moment)
{
	static struct mover movers[MOVERS];
	struct dxgk_test_thread *threads[MOVERS];
	D3DKMT_HANDLE adapter = open_anew();
	unsigned resets = 0;

	expect_work_gets_done(adapter);
	for (unsigned i = 0; i < MOVERS; i++) {
		movers[i].adapter = adapter;
		threads[i] = begin_thread(run_mover, &movers[i]);
	}
	for (unsigned i = 0; i < MOVERS; i++) {
		while (!atomic_load(&movers[i].is_over)) {
			others_get_along(adapter, ++resets);
			reset_adapter(adapter);
		}
		dxgk_test_thread_join(threads[i]);
	}
	expect_work_gets_done(adapter);
	expect_valid();
}

API_TEST_MAIN("api/reset")
