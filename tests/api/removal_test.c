/* SPDX-License-Identifier: MIT */
/*
 * removal_test.c - an adapter that is stopped, or just gone, with a client's things on it.
 *
 * Each test has an adapter of its own: none comes back.
 */
#include "api/soft_work.h"

enum { STOPPED = D3DKMT_DEVICEEXECUTION_STOPPED, ADAPTERS = 6 };

static unsigned used_adapters;

static D3DKMT_ADAPTERINFO next_adapter(void)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };

	D3DKMTCloseDxCoreDevice();
	EXPECT_OK(D3DKMTEnumAdapters2(&all));
	EXPECT_EQ(all.NumAdapters, ADAPTERS);
	EXPECT(used_adapters < ADAPTERS);
	return infos[used_adapters++];
}

static void remove_adapter(const D3DKMT_ADAPTERINFO *info, bool is_surprise)
{
	EXPECT_EQ(dxgk_test_remove_adapter(info->AdapterLuid.LowPart, info->AdapterLuid.HighPart,
					   is_surprise),
		  1);
}

static NTSTATUS try_make_resident(const struct client *client, D3DKMT_HANDLE handle)
{
	D3DDDI_MAKERESIDENT args = residency_of(client, &handle, 1, 0);

	return D3DKMTMakeResident(&args);
}

/* Nothing new, and everything can be given back. */
static void expect_gone_and_release(struct worker *worker, unsigned state)
{
	struct row row = { 0 };
	D3DKMT_HANDLE made;
	D3DDDI_DESTROYPAGINGQUEUE queue = { worker->client.queue };

	add_write(&row, worker->data, 1);
	EXPECT_EQ(state_of(worker), state);
	EXPECT_REFUSED(try_create_device(worker->client.adapter, &made), STATUS_DEVICE_REMOVED,
		       "API-ADAPTER-GONE", "");
	EXPECT_REFUSED(worker_submit(worker, &row), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	EXPECT_REFUSED(try_make_resident(&worker->client, worker->memory), STATUS_DEVICE_REMOVED,
		       "API-DEVICE-GONE", "");
	EXPECT_REFUSED(reclaim_now(&worker->client, &worker->memory, 1, NULL),
		       STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	worker->last_value = 1;
	worker_wait(worker);
	EXPECT_EQ(*worker->value, UINT64_MAX);
	EXPECT_OK(unlock2(worker->client.device, worker->commands));
	EXPECT_OK(evict(&worker->client, &worker->memory, 1, 0));
	EXPECT_OK(unmap(&worker->client, worker->data, DATA_BYTES));
	EXPECT_OK(destroy_now(&worker->client, worker->memory));
	EXPECT_OK(D3DKMTDestroyPagingQueue(&queue));
	EXPECT_OK(destroy_context(worker->context));
	worker_close(worker);
	expect_valid();
	EXPECT_OK(close_adapter(worker->client.adapter));
}

static void queue_memory(struct worker *worker)
{
	for (unsigned i = 0; i < 6; i++) {
		D3DKMT_HANDLE memory = create_sized(&worker->client, MIB, SOFTGPU_LOCAL_ONLY);
		NTSTATUS status = try_make_resident(&worker->client, memory);

		EXPECT(status == STATUS_PENDING || status == STATUS_SUCCESS);
	}
}

static NTSTATUS update(const struct worker *worker, D3DKMT_HANDLE fence, UINT64 base, UINT64 value,
		       bool is_now)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map = { .OperationType =
								 D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
							 .Map = { .BaseAddress = base,
								  .SizeInBytes = DATA_BYTES,
								  .hAllocation = worker->memory } };
	return D3DKMTUpdateGpuVirtualAddress(
		&(D3DKMT_UPDATEGPUVIRTUALADDRESS){ .hDevice = worker->client.device,
						   .hContext = worker->context,
						   .hFenceObject = fence,
						   .NumOperations = 1,
						   .Operations = &map,
						   .FenceValue = value,
						   .Flags.DoNotWait = is_now });
}

/* One that is carried out, and one that waits: both have a paging context of their own. */
static void queue_updates(struct worker *worker)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS zeroes = { .hAdapter = worker->client.adapter,
						   .Size = DATA_BYTES,
						   .ReservationType =
							   D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };

	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = worker->client.device,
						      .Info.Type = D3DDDI_MONITORED_FENCE };

	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&fence));
	EXPECT_OK(D3DKMTReserveGpuVirtualAddress(&zeroes));
	EXPECT_OK(update(worker, fence.hSyncObject, zeroes.VirtualAddress, 0, true));
	EXPECT_OK(update(worker, fence.hSyncObject, zeroes.VirtualAddress, 1000, false));
}

static void try_idle(bool is_surprise)
{
	D3DKMT_ADAPTERINFO info = next_adapter();
	struct worker worker;

	worker_open(&worker, info.hAdapter);
	queue_memory(&worker);
	queue_updates(&worker);
	remove_adapter(&info, is_surprise);
	D3DKMT_OPENADAPTERFROMLUID open = { .AdapterLuid = info.AdapterLuid };
	EXPECT_REFUSED(D3DKMTOpenAdapterFromLuid(&open), STATUS_DEVICE_REMOVED, "API-ADAPTER-GONE",
		       "");
	EXPECT_REFUSED(update(&worker, worker.fence, worker.data, 0, true), STATUS_DEVICE_REMOVED,
		       "API-DEVICE-GONE", "");
	expect_gone_and_release(&worker, STOPPED);
	remove_adapter(&info, is_surprise); /* changes nothing */
}

TEST(stop, takes_every_device_and_lets_everything_be_released)
{
	try_idle(false);
}

TEST(surprise, takes_every_device_and_lets_everything_be_released)
{
	try_idle(true);
}

TEST(stop, lets_what_the_hardware_has_come_to_its_end)
{
	D3DKMT_ADAPTERINFO info = next_adapter();
	struct worker worker;
	struct row row = { 0 };
	struct softgpu_busy busy = { .header = command(SOFTGPU_BUSY, sizeof(busy)),
				     .microseconds = 20000 };
	void *pointer;

	worker_open(&worker, info.hAdapter);
	EXPECT_OK(lock2(worker.client.device, worker.memory, &pointer));
	const volatile uint64_t *seen = pointer;
	add_write(&row, worker.data, 1);
	row_add(&row, &busy, sizeof(busy));
	add_write(&row, worker.data + 8, 2);
	worker_run(&worker, &row);
	while (seen[0] != 1)
		usleep(100);
	remove_adapter(&info, false);
	EXPECT_EQ(seen[1], 2);
	EXPECT_OK(unlock2(worker.client.device, worker.memory));
	expect_gone_and_release(&worker, STOPPED);
}

static void try_hang(bool is_surprise)
{
	D3DKMT_ADAPTERINFO info = next_adapter();
	struct worker worker;
	struct row row = { 0 };
	void *pointer;

	worker_open(&worker, info.hAdapter);
	EXPECT_OK(lock2(worker.client.device, worker.memory, &pointer));
	const volatile uint64_t *seen = pointer;
	add_write(&row, worker.data, 1);
	add_hang(&row);
	worker_run(&worker, &row);
	while (seen[0] != 1)
		usleep(100);
	queue_memory(&worker);
	remove_adapter(&info, is_surprise);
	EXPECT_OK(unlock2(worker.client.device, worker.memory));
	expect_gone_and_release(&worker, STOPPED);
}

/* TdrDelay is a second: late work is reset, as ever. */
TEST(stop, comes_to_an_end_with_work_that_does_not)
{
	try_hang(false);
}

TEST(surprise, waits_for_nothing)
{
	try_hang(true);
}

TEST(removal, of_an_adapter_that_is_not_there_is_refused)
{
	EXPECT_EQ(dxgk_test_remove_adapter(0x12345, 9, 0), 0);
}

API_TEST_MAIN("api/removal")
