/* SPDX-License-Identifier: MIT */
/*
 * allocation_threads_test.c - threads that create, use and destroy the same things.
 *
 * Each scene is played with many seeds (DXGK_SEED decides who runs when) and once with real
 * threads. What a thread gets may differ; that nothing is left and nobody sees what is gone may
 * not.
 */
#include "api/allocation.h"

/* With a seed one thread runs at a time, and the thread sanitizer has nothing to see. */
#if IS_THREAD_SANITIZED
enum { REAL_RUNS = 4, SOME_SEEDS = 1, ALL_SEEDS = 1 };
#else
enum { REAL_RUNS = 1, SOME_SEEDS = 12, ALL_SEEDS = 40 };
#endif

enum { ROUNDS = 8 };

#define CHILD_OK(call) CHILD_EXPECT((call) == STATUS_SUCCESS)

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;
static D3DKMT_HANDLE other;

/* What the threads of a scene fight over. */
static struct creation prize;
static unsigned winners;

static bool is_ok_or_invalid(NTSTATUS status)
{
	return status == STATUS_SUCCESS || status == STATUS_INVALID_PARAMETER ||
	       status == STATUS_INVALID_HANDLE;
}

static void won(NTSTATUS status)
{
	CHILD_EXPECT(is_ok_or_invalid(status));
	if (status == STATUS_SUCCESS)
		__atomic_add_fetch(&winners, 1, __ATOMIC_RELAXED);
}

static void run_two(void (*one)(void *context), void (*two)(void *context))
{
	struct dxgk_test_thread *first = dxgk_test_thread_create(one, NULL);
	struct dxgk_test_thread *second = dxgk_test_thread_create(two, NULL);

	CHILD_EXPECT(first && second);
	dxgk_test_thread_join(first);
	dxgk_test_thread_join(second);
}

static void expect_nothing_left(void)
{
	struct softgpu_escape_info info = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_INFO, sizeof(info), 0 },
	};
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .pPrivateDriverData = &info,
			       .PrivateDriverDataSize = sizeof(info) };

	CHILD_OK(D3DKMTEscape(&args));
	CHILD_EXPECT(info.live_allocations == 0);
	CHILD_EXPECT(info.live_openings == 0);
	CHILD_EXPECT(info.live_resources == 0);
}

/* ---- the actors ---- */

static void make_prize(unsigned count, bool in_resource, int sharing)
{
	if (in_resource)
		creation_init_resource(&prize, device, count, sharing);
	else
		creation_init(&prize, device, count);
	CHILD_OK(create(&prize));
	winners = 0;
}

static void destroy_prize_list(void *context)
{
	D3DKMT_HANDLE handles[MOST];

	(void)context;
	for (unsigned i = 0; i < prize.args.NumAllocations; i++)
		handles[i] = prize.elements[i].hAllocation;
	won(destroy_list(device, handles, prize.args.NumAllocations));
}

static void destroy_prize_resource(void *context)
{
	(void)context;
	won(destroy_resource(device, prize.args.hResource));
}

static void destroy_prize_device(void *context)
{
	(void)context;
	CHILD_OK(destroy_device(device));
}

static void lock_prize(void *context)
{
	void *pointer;

	(void)context;
	for (unsigned i = 0; i < 3; i++) {
		NTSTATUS status = lock2(device, prize.elements[0].hAllocation, &pointer);
		CHILD_EXPECT(is_ok_or_invalid(status));
		if (status == STATUS_SUCCESS)
			CHILD_EXPECT(
				is_ok_or_invalid(unlock2(device, prize.elements[0].hAllocation)));
	}
}

static void query_prize(void *context)
{
	D3DKMT_HANDLE allocation = prize.elements[0].hAllocation;
	UINT priority = 7;
	D3DKMT_SETALLOCATIONPRIORITY set = { .hDevice = device,
					     .phAllocationList = &allocation,
					     .AllocationCount = 1,
					     .pPriorities = &priority };
	D3DKMT_ALLOCATIONRESIDENCYSTATUS residency;
	D3DKMT_QUERYALLOCATIONRESIDENCY query = { .hDevice = device,
						  .hResource = prize.args.hResource,
						  .pResidencyStatus = &residency };

	(void)context;
	CHILD_EXPECT(is_ok_or_invalid(D3DKMTSetAllocationPriority(&set)));
	CHILD_EXPECT(is_ok_or_invalid(D3DKMTQueryAllocationResidency(&query)));
}

static void add_to_prize(void *context)
{
	struct creation more;

	(void)context;
	creation_init(&more, device, 2);
	more.args.hResource = prize.args.hResource;
	CHILD_EXPECT(is_ok_or_invalid(create(&more)));
}

static void create_on_device(void *context)
{
	struct creation mine;

	(void)context;
	for (unsigned i = 0; i < 4; i++) {
		if (i & 1)
			creation_init_resource(&mine, device, 2, SHARED_GLOBAL);
		else
			creation_init(&mine, device, 2);
		CHILD_EXPECT(is_ok_or_invalid(create(&mine)));
	}
}

static void open_prize(void *context)
{
	D3DDDI_OPENALLOCATIONINFO elements[2];
	struct softgpu_allocation total[2];
	void *pointer;

	(void)context;
	for (unsigned i = 0; i < 2; i++) {
		D3DKMT_OPENRESOURCE open = { .hDevice = other,
					     .hGlobalShare = prize.args.hGlobalShare,
					     .NumAllocations = 2,
					     .pOpenAllocationInfo = elements,
					     .pTotalPrivateDriverDataBuffer = total,
					     .TotalPrivateDriverDataBufferSize = sizeof(total) };
		NTSTATUS status = D3DKMTOpenResource(&open);
		CHILD_EXPECT(is_ok_or_invalid(status));
		if (status != STATUS_SUCCESS)
			continue;
		/* The other device may be going. */
		if (lock2(other, elements[1].hAllocation, &pointer) == STATUS_SUCCESS)
			*(volatile char *)pointer = 1;
		CHILD_EXPECT(is_ok_or_invalid(destroy_resource(other, open.hResource)));
	}
}

static void destroy_other_device(void *context)
{
	(void)context;
	CHILD_OK(destroy_device(other));
}

/* ---- GPU addresses ---- */

#define RESERVED UINT64_C(0x100000000)
#define K64      UINT64_C(0x10000)

static D3DKMT_HANDLE queue;
static D3DKMT_HANDLE other_queue;
static D3DKMT_HANDLE gpu_context;
static D3DKMT_HANDLE fence;

static D3DKMT_HANDLE make_queue(D3DKMT_HANDLE of)
{
	D3DKMT_CREATEPAGINGQUEUE args = { .hDevice = of };

	CHILD_OK(D3DKMTCreatePagingQueue(&args));
	return args.hPagingQueue;
}

static NTSTATUS map(D3DKMT_HANDLE by, D3DKMT_HANDLE allocation)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = by,
					     .hAllocation = allocation,
					     .SizeInPages = 1,
					     .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

static void map_prize(void *context)
{
	(void)context;
	for (unsigned i = 0; i < 3; i++)
		CHILD_EXPECT(is_ok_or_invalid(map(queue, prize.elements[0].hAllocation)));
}

static void map_prize_and_destroy(void *context)
{
	map_prize(context);
	destroy_prize_resource(context);
}

static void open_prize_and_map(void *context)
{
	D3DDDI_OPENALLOCATIONINFO elements[2];
	struct softgpu_allocation total[2];

	(void)context;
	for (unsigned i = 0; i < 3; i++) {
		D3DKMT_OPENRESOURCE open = { .hDevice = other,
					     .hGlobalShare = prize.args.hGlobalShare,
					     .NumAllocations = 2,
					     .pOpenAllocationInfo = elements,
					     .pTotalPrivateDriverDataBuffer = total,
					     .TotalPrivateDriverDataBufferSize = sizeof(total) };
		NTSTATUS status = D3DKMTOpenResource(&open);

		CHILD_EXPECT(is_ok_or_invalid(status));
		if (status != STATUS_SUCCESS)
			continue;
		CHILD_OK(map(other_queue, elements[0].hAllocation));
		CHILD_OK(map(other_queue, elements[0].hAllocation));
		CHILD_OK(destroy_resource(other, open.hResource));
	}
}

static void update_with_prize(void *context)
{
	(void)context;
	for (unsigned i = 0; i < 3; i++) {
		D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
			.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
			.Map = { .BaseAddress = RESERVED,
				 .SizeInBytes = 4096,
				 .hAllocation = prize.elements[0].hAllocation }
		};
		D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = device,
							.hContext = gpu_context,
							.hFenceObject = fence,
							.NumOperations = 1,
							.Operations = &operation,
							.Flags.DoNotWait = 1 };

		CHILD_EXPECT(is_ok_or_invalid(D3DKMTUpdateGpuVirtualAddress(&args)));
	}
}

/* ---- scenes ---- */

static void begin(void)
{
	adapter = child_open_adapter();
	device = child_create_device(adapter);
	other = child_create_device(adapter);
}

CHILD(two_destroy_a_list)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(3, false, 0);
		run_two(destroy_prize_list, destroy_prize_list);
		CHILD_EXPECT(winners == 1);
		expect_nothing_left();
	}
	return 0;
}

CHILD(two_destroy_a_resource)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(10, true, i % 3);
		run_two(destroy_prize_resource, destroy_prize_resource);
		CHILD_EXPECT(winners == 1);
		expect_nothing_left();
	}
	return 0;
}

CHILD(a_list_and_its_resource)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(3, true, SHARED_NOT);
		run_two(destroy_prize_resource, destroy_prize_list);
		CHILD_EXPECT(winners == 1 || winners == 2);
		expect_nothing_left();
	}
	return 0;
}

CHILD(lock_and_destroy)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(1, false, 0);
		run_two(lock_prize, destroy_prize_list);
		CHILD_EXPECT(winners == 1);
		expect_nothing_left();
	}
	return 0;
}

CHILD(query_and_destroy)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(2, true, i % 3);
		run_two(query_prize, destroy_prize_resource);
		CHILD_EXPECT(winners == 1);
		expect_nothing_left();
	}
	return 0;
}

CHILD(add_and_destroy)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(1, true, SHARED_NOT);
		run_two(add_to_prize, destroy_prize_resource);
		CHILD_EXPECT(winners == 1);
		expect_nothing_left();
	}
	return 0;
}

CHILD(create_and_destroy_the_device)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		run_two(create_on_device, destroy_prize_device);
		expect_nothing_left();
		device = child_create_device(adapter);
	}
	return 0;
}

CHILD(open_and_destroy)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(2, true, SHARED_GLOBAL);
		run_two(open_prize, destroy_prize_resource);
		CHILD_EXPECT(winners == 1);
		expect_nothing_left();
	}
	return 0;
}

CHILD(open_and_destroy_the_device)
{
	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(2, true, SHARED_GLOBAL);
		run_two(open_prize, destroy_other_device);
		destroy_prize_resource(NULL);
		CHILD_EXPECT(winners == 1);
		expect_nothing_left();
		other = child_create_device(adapter);
	}
	return 0;
}

static void begin_addresses(void)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = { 0 };
	D3DKMT_CREATECONTEXTVIRTUAL create_context = { 0 };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create_fence = { .Info.Type = D3DDDI_MONITORED_FENCE };

	begin();
	queue = make_queue(device);
	other_queue = make_queue(other);
	reserve.hAdapter = adapter;
	reserve.BaseAddress = RESERVED;
	reserve.Size = K64;
	reserve.ReservationType = D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO;
	CHILD_OK(D3DKMTReserveGpuVirtualAddress(&reserve));
	create_context.hDevice = device;
	CHILD_OK(D3DKMTCreateContextVirtual(&create_context));
	gpu_context = create_context.hContext;
	create_fence.hDevice = device;
	CHILD_OK(D3DKMTCreateSynchronizationObject2(&create_fence));
	fence = create_fence.hSyncObject;
}

/* Whatever was deferred is over with the devices. */
static void end_addresses(void)
{
	CHILD_OK(destroy_device(device));
	CHILD_OK(destroy_device(other));
	expect_nothing_left();
}

CHILD(map_and_destroy)
{
	begin_addresses();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(1, false, 0);
		run_two(map_prize, destroy_prize_list);
		CHILD_EXPECT(winners == 1);
	}
	end_addresses();
	return 0;
}

CHILD(map_on_two_devices)
{
	begin_addresses();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(2, true, SHARED_GLOBAL);
		run_two(open_prize_and_map, map_prize_and_destroy);
		CHILD_EXPECT(winners == 1);
	}
	end_addresses();
	return 0;
}

CHILD(update_and_destroy)
{
	begin_addresses();
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_prize(1, false, 0);
		run_two(update_with_prize, destroy_prize_list);
		CHILD_EXPECT(winners == 1);
	}
	end_addresses();
	return 0;
}

static void play(const char *scene)
{
	for (unsigned i = 0; i < REAL_RUNS + some_of(SOME_SEEDS, ALL_SEEDS); i++) {
		char setting[32];
		bool is_real = i < REAL_RUNS;
		snprintf(setting, sizeof(setting), is_real ? "TEST_RUN=%u" : "DXGK_SEED=%u",
			 is_real ? i : i - REAL_RUNS + 1);
		const struct child_result *child = run_child(scene, setting);
		if (child->exit_status != 0)
			print_error("%s with %s:\n", scene, setting);
		EXPECT_CHILD(child, 0);
		EXPECT_STR(child->err, "");
	}
}

TEST(threads, of_two_that_destroy_the_same_list_one_does)
{
	play("two_destroy_a_list");
}

TEST(threads, of_two_that_destroy_the_same_resource_one_does)
{
	play("two_destroy_a_resource");
}

TEST(threads, a_resource_and_a_list_of_it_are_destroyed_at_once)
{
	play("a_list_and_its_resource");
}

TEST(threads, locking_what_is_destroyed_works_or_is_refused)
{
	play("lock_and_destroy");
}

TEST(threads, asking_about_what_is_destroyed_works_or_is_refused)
{
	play("query_and_destroy");
}

TEST(threads, adding_to_a_resource_that_is_destroyed_works_or_is_refused)
{
	play("add_and_destroy");
}

TEST(threads, creating_on_a_device_that_is_destroyed_works_or_is_refused)
{
	play("create_and_destroy_the_device");
}

TEST(threads, opening_what_is_destroyed_works_or_is_refused)
{
	play("open_and_destroy");
}

TEST(threads, opening_on_a_device_that_is_destroyed_works_or_is_refused)
{
	play("open_and_destroy_the_device");
}

TEST(threads, mapping_what_is_destroyed_works_or_is_refused)
{
	play("map_and_destroy");
}

TEST(threads, openings_of_one_allocation_are_mapped_and_destroyed_at_once)
{
	play("map_on_two_devices");
}

TEST(threads, an_update_with_what_is_destroyed_works_or_is_refused)
{
	play("update_and_destroy");
}

API_TEST_MAIN("api/allocation_threads")
