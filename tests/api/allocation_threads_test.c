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

/* 0: it is gone. */
static D3DKMT_HANDLE open_on_other(D3DDDI_OPENALLOCATIONINFO elements[2])
{
	struct softgpu_allocation total[2];
	D3DKMT_OPENRESOURCE open = { .hDevice = other,
				     .hGlobalShare = prize.args.hGlobalShare,
				     .NumAllocations = 2,
				     .pOpenAllocationInfo = elements,
				     .pTotalPrivateDriverDataBuffer = total,
				     .TotalPrivateDriverDataBufferSize = sizeof(total) };
	NTSTATUS status = D3DKMTOpenResource(&open);

	CHILD_EXPECT(is_ok_or_invalid(status));
	return status == STATUS_SUCCESS ? open.hResource : 0;
}

static void open_prize(void *context)
{
	D3DDDI_OPENALLOCATIONINFO elements[2];
	void *pointer;

	(void)context;
	for (unsigned i = 0; i < 2; i++) {
		D3DKMT_HANDLE resource = open_on_other(elements);

		if (!resource)
			continue;
		/* The other device may be going. */
		if (lock2(other, elements[1].hAllocation, &pointer) == STATUS_SUCCESS)
			*(volatile char *)pointer = 1;
		CHILD_EXPECT(is_ok_or_invalid(destroy_resource(other, resource)));
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

	(void)context;
	for (unsigned i = 0; i < 3; i++) {
		D3DKMT_HANDLE resource = open_on_other(elements);

		if (!resource)
			continue;
		CHILD_OK(map(other_queue, elements[0].hAllocation));
		CHILD_OK(map(other_queue, elements[0].hAllocation));
		CHILD_OK(destroy_resource(other, resource));
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

/* Two threads, and what they fight over. */
struct race {
	unsigned count; /* allocations of the prize; 0: there is none */
	bool is_resource;
	int sharing;
	void (*one)(void *context);
	void (*two)(void *context);
	unsigned most_winners; /* 0: one */
	bool has_addresses;
	void (*after)(void);
};

enum { ANY_SHARING = -1 }; /* another one each round */

static void run_round(const struct race *race, unsigned round)
{
	unsigned most = race->most_winners ? race->most_winners : 1;

	if (race->count > 0)
		make_prize(race->count, race->is_resource,
			   race->sharing == ANY_SHARING ? (int)(round % 3) : race->sharing);
	run_two(race->one, race->two);
	if (race->after)
		race->after();
	if (race->count > 0)
		CHILD_EXPECT(winners >= 1 && winners <= most);
}

/* What has addresses may be deferred: it is over with the devices. */
static int run_race(const struct race *race)
{
	if (race->has_addresses)
		begin_addresses();
	else
		begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		run_round(race, i);
		if (!race->has_addresses)
			expect_nothing_left();
	}
	if (race->has_addresses)
		end_addresses();
	return 0;
}

static void make_device_anew(void)
{
	device = child_create_device(adapter);
}

static void end_prize_and_make_other_anew(void)
{
	destroy_prize_resource(NULL);
	other = child_create_device(adapter);
}

static void play(const char *scene)
{
	for (unsigned i = 0; i < REAL_RUNS + fewer_of(SOME_SEEDS, ALL_SEEDS); i++) {
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

#define RACE(claim, ...)                                                                           \
	CHILD(claim)                                                                               \
	{                                                                                          \
		return run_race(&(const struct race){ __VA_ARGS__ });                              \
	}                                                                                          \
	TEST(threads, claim)                                                                       \
	{                                                                                          \
		play(#claim);                                                                      \
	}

RACE(of_two_that_destroy_the_same_list_one_does, .count = 3, .one = destroy_prize_list,
     .two = destroy_prize_list)

RACE(of_two_that_destroy_the_same_resource_one_does, .count = 10, .is_resource = true,
     .sharing = ANY_SHARING, .one = destroy_prize_resource, .two = destroy_prize_resource)

RACE(a_resource_and_a_list_of_it_are_destroyed_at_once, .count = 3, .is_resource = true,
     .one = destroy_prize_resource, .two = destroy_prize_list, .most_winners = 2)

RACE(locking_what_is_destroyed_works_or_is_refused, .count = 1, .one = lock_prize,
     .two = destroy_prize_list)

RACE(asking_about_what_is_destroyed_works_or_is_refused, .count = 2, .is_resource = true,
     .sharing = ANY_SHARING, .one = query_prize, .two = destroy_prize_resource)

RACE(adding_to_a_resource_that_is_destroyed_works_or_is_refused, .count = 1, .is_resource = true,
     .one = add_to_prize, .two = destroy_prize_resource)

RACE(creating_on_a_device_that_is_destroyed_works_or_is_refused, .one = create_on_device,
     .two = destroy_prize_device, .after = make_device_anew)

RACE(opening_what_is_destroyed_works_or_is_refused, .count = 2, .is_resource = true,
     .sharing = SHARED_GLOBAL, .one = open_prize, .two = destroy_prize_resource)

RACE(opening_on_a_device_that_is_destroyed_works_or_is_refused, .count = 2, .is_resource = true,
     .sharing = SHARED_GLOBAL, .one = open_prize, .two = destroy_other_device,
     .after = end_prize_and_make_other_anew)

RACE(mapping_what_is_destroyed_works_or_is_refused, .count = 1, .one = map_prize,
     .two = destroy_prize_list, .has_addresses = true)

RACE(openings_of_one_allocation_are_mapped_and_destroyed_at_once, .count = 2, .is_resource = true,
     .sharing = SHARED_GLOBAL, .one = open_prize_and_map, .two = map_prize_and_destroy,
     .has_addresses = true)

RACE(an_update_with_what_is_destroyed_works_or_is_refused, .count = 1, .one = update_with_prize,
     .two = destroy_prize_list, .has_addresses = true)

API_TEST_MAIN("api/allocation_threads")
