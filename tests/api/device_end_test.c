/* SPDX-License-Identifier: MIT */
/*
 * device_end_test.c - when the call that destroys a device, a context or a hardware queue returns,
 * the driver has forgotten it, whatever the kernel's own threads still had to do with it.
 *
 * Each is done many times over: the order of the threads is another one each time.
 */
#include "api/hw_queue.h"

enum { ROUNDS = 25 };

static void expect_forgotten(const char *entry, const char *what)
{
	unsigned count = notes_count(entry);

	if (count != 1)
		print_error("%s: %u times %s\n%s", what, count, entry, notes);
	EXPECT_EQ(count, 1);
}

static void destroy_and_look(const char *what)
{
	EXPECT_OK(destroy_device(device));
	expect_forgotten("DestroyDevice", what);
	expect_nothing_wrong();
}

/* ---- devices ---- */

TEST(device, is_forgotten_when_its_destruction_returns_though_memory_went_late)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_on(HW_NONE);
		D3DKMT_HANDLE allocations[] = { make_allocation(device), make_allocation(device),
						make_allocation(device) };

		EXPECT_OK(submit(create_virtual(0), 1));
		for (unsigned j = 0; j < 3; j++)
			destroy_allocation(allocations[j]);
		AWAIT(pending(0) == 1);
		EXPECT_EQ(complete(0), 1);
		destroy_and_look("after memory");
	}
}

TEST(device, is_forgotten_when_its_destruction_returns_though_fences_went_late)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_on(HW_NONE);
		D3DKMT_HANDLE fences[] = { create_fence(0, 0, NULL), create_fence(0, 0, NULL) };

		EXPECT_OK(submit(create_virtual(0), 1));
		for (unsigned j = 0; j < 2; j++)
			EXPECT_OK(destroy_sync(fences[j]));
		AWAIT(pending(0) == 1);
		EXPECT_EQ(complete(0), 1);
		destroy_and_look("after fences");
	}
}

TEST(device, is_forgotten_when_its_destruction_returns_though_it_was_just_lost)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_on(HW_NONE);
		D3DKMT_HANDLE kept = create_fence(0, 0, NULL);

		EXPECT(kept);
		EXPECT_OK(mark_as_error(device));
		destroy_and_look("after a loss");
	}
}

TEST(device, is_forgotten_when_its_destruction_returns_though_the_adapter_was_just_reset)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_on(HW_NONE);
		D3DKMT_HANDLE kept = create_fence(0, 0, NULL);

		EXPECT(kept);
		EXPECT_OK(submit(create_virtual(0), 1));
		AWAIT(pending(0) == 1);
		EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, 0));
		destroy_and_look("after a reset");
	}
}

/* ---- calls that are under way ---- */

#define SOME UINT64_C(0x100000000)
enum { PAGE = 4096, UPDATES_QUEUED_MOST = 128 };

struct update {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE allocation;
};

/* What an update needs, on `device`. */
static struct update prepare_update(void)
{
	return (struct update){ device, create_virtual(0), create_fence(0, 0, NULL),
				make_allocation(device) };
}

/* Waits for its fence to be 5. */
static NTSTATUS queue_update(const struct update *update)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = SOME,
			 .SizeInBytes = PAGE,
			 .hAllocation = update->allocation }
	};
	return D3DKMTUpdateGpuVirtualAddress(
		&(D3DKMT_UPDATEGPUVIRTUALADDRESS){ .hDevice = update->device,
						   .hContext = update->context,
						   .hFenceObject = update->fence,
						   .NumOperations = 1,
						   .Operations = &operation,
						   .FenceValue = 5 });
}

static void update_there(void *update)
{
	NTSTATUS status = queue_update(update);

	EXPECT(status == STATUS_SUCCESS || status == STATUS_INVALID_PARAMETER);
}

/*
 * Another device's updates fill the process's queue, and only the client can let them go, which is
 * busy destroying. Who waits for room there has the device meanwhile, and has it forgotten.
 */
TEST(device, is_destroyed_while_a_call_on_it_waits_for_its_client)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS range = {
		.BaseAddress = SOME,
		.Size = 0x10000,
		.ReservationType = D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO,
	};

	begin_on(HW_NONE);
	range.hAdapter = adapter;
	EXPECT_OK(D3DKMTReserveGpuVirtualAddress(&range));
	struct update update = prepare_update();
	for (unsigned i = 0; i < UPDATES_QUEUED_MOST; i++)
		EXPECT_OK(queue_update(&update));
	device = create_device(adapter);
	struct update one_more = prepare_update();
	struct dxgk_test_thread *thread = begin_thread(update_there, &one_more);
	settle(); /* it waits, or comes too late; both are fine */

	EXPECT_OK(destroy_device(device));
	device = update.device;
	EXPECT_OK(signal_fence(update.fence, 5));
	dxgk_test_thread_join(thread);
	expect_forgotten("DestroyDevice", "after the call");
	expect_nothing_wrong();
}

/* ---- what it has ---- */

TEST(context, is_forgotten_when_its_destruction_returns)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_on(HW_NONE);
		D3DKMT_HANDLE context = create_virtual(0);

		EXPECT_OK(submit(context, 1));
		AWAIT(pending(0) == 1);
		if (i % 2)
			EXPECT_OK(mark_as_error(device));
		EXPECT_EQ(complete(0), 1);
		EXPECT_OK(destroy_context(context));
		expect_forgotten("DestroyContext", "a context");
	}
}

TEST(hw_queue, of_a_lost_device_is_forgotten_when_its_destruction_returns)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_on(HW_BY_HAND);
		struct hw_queue queue = create_hw_queue(0);

		EXPECT_OK(mark_as_error(device));
		EXPECT_OK(destroy_hw_queue(queue.queue));
		expect_forgotten("DestroyHwQueue", "a queue");
	}
}

TEST(hw_context, of_a_lost_device_is_forgotten_when_its_destruction_returns)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_on(HW_BY_HAND);
		D3DKMT_HANDLE context = create_hw_context(device, 0);
		struct hw_queue queues[] = { create_hw_queue_in(context),
					     create_hw_queue_in(context) };

		EXPECT(queues[0].queue != queues[1].queue);
		EXPECT_OK(mark_as_error(device));
		EXPECT_OK(destroy_hw_context(context));
		expect_forgotten("DestroyHwContext", "a hardware context");
	}
}

int main(int argc, char **argv)
{
	return hw_main("api/device_end", argc, argv);
}
