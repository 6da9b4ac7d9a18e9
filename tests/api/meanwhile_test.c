/* SPDX-License-Identifier: MIT */
/*
 * meanwhile_test.c - a call is stopped at each of its lock points while another thread destroys what it is about, or
 * the adapter is removed (dxgk_test_park()); then it goes on. It succeeds or is refused by name; of two that destroy
 * one succeeds; nothing is left, and the books are right.
 */
#include "api/residency.h"

enum { POINTS_MOST = 2000, RESERVED_BYTES = 0x10000 };

/* What the two threads have to do with. */
struct stage {
	D3DKMT_HANDLE adapter;
	LUID luid;
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE hw_context;
	D3DKMT_HANDLE hw_queue;
	D3DKMT_HANDLE paging_queue;
	D3DKMT_HANDLE memory;
	D3DKMT_HANDLE offered; /* and out of the memory it was in */
	UINT64 address;        /* that is reserved */
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE shared_fence;
	D3DKMT_HANDLE shared_fence_name;
	D3DKMT_HANDLE mutex;
	D3DKMT_HANDLE mutex_name;
};

struct deed {
	const char *name;
	NTSTATUS (*call)(struct stage *stage);    /* is stopped */
	NTSTATUS (*destroy)(struct stage *stage); /* meanwhile */
	bool is_one_or_the_other;                 /* both destroy it */
};

/* ---- what there is ---- */

static D3DKMT_HANDLE make_fence(D3DKMT_HANDLE device, unsigned type, unsigned flags,
				D3DKMT_HANDLE *name_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = device };

	args.Info.Type = (D3DDDI_SYNCHRONIZATIONOBJECT_TYPE)type;
	args.Info.Flags.Value = flags;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	if (name_out)
		*name_out = args.Info.SharedHandle;
	return args.hSyncObject;
}

static NTSTATUS create_hw_queue(struct stage *stage)
{
	D3DKMT_CREATEHWQUEUE args = { .hHwContext = stage->hw_context };
	NTSTATUS status = D3DKMTCreateHwQueue(&args);

	stage->hw_queue = args.hHwQueue;
	return status;
}

static void stage_open(struct stage *stage, D3DKMT_ADAPTERINFO adapter)
{
	D3DKMT_CREATEHWCONTEXT hw_context = { 0 };
	D3DKMT_CREATEKEYEDMUTEX mutex = { .InitialValue = 0 };
	struct client client;

	client_open(&client, adapter.hAdapter);
	stage->luid = adapter.AdapterLuid;
	stage->adapter = client.adapter;
	stage->device = client.device;
	stage->paging_queue = client.queue;
	stage->context = create_context(stage->device);
	hw_context.hDevice = stage->device;
	EXPECT_OK(D3DKMTCreateHwContext(&hw_context));
	stage->hw_context = hw_context.hHwContext;
	EXPECT_OK(create_hw_queue(stage));
	D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = { .hPagingQueue = stage->paging_queue,
						    .Size = RESERVED_BYTES,
						    .ReservationType =
							    D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };
	EXPECT_EQ(D3DKMTReserveGpuVirtualAddress(&reserve), STATUS_PENDING);
	stage->address = reserve.VirtualAddress;
	stage->memory = create_sized(&client, RESERVED_BYTES, SOFTGPU_CPU_VISIBLE);
	stage->offered = create_sized(&client, RESERVED_BYTES, SOFTGPU_LOCAL_ONLY);
	EXPECT_OK(make_resident(&client, &stage->offered, 1, 0));
	EXPECT_OK(offer(&client, &stage->offered, 1, D3DKMT_OFFER_PRIORITY_LOW, OFFER_NOW));
	stage->fence = make_fence(stage->device, D3DDDI_MONITORED_FENCE, 0, NULL);
	stage->shared_fence = make_fence(stage->device, D3DDDI_FENCE, 1, &stage->shared_fence_name);
	EXPECT_OK(D3DKMTCreateKeyedMutex(&mutex));
	stage->mutex = mutex.hKeyedMutex;
	stage->mutex_name = mutex.hSharedHandle;
}

/* ---- destroying ---- */

static NTSTATUS close_the_adapter(struct stage *stage)
{
	return close_adapter(stage->adapter);
}

static NTSTATUS destroy_the_device(struct stage *stage)
{
	return destroy_device(stage->device);
}

static NTSTATUS destroy_the_context(struct stage *stage)
{
	return destroy_context(stage->context);
}

static NTSTATUS destroy_the_hw_context(struct stage *stage)
{
	return D3DKMTDestroyHwContext(
		&(D3DKMT_DESTROYHWCONTEXT){ .hHwContext = stage->hw_context });
}

static NTSTATUS destroy_the_hw_queue(struct stage *stage)
{
	return D3DKMTDestroyHwQueue(&(D3DKMT_DESTROYHWQUEUE){ .hHwQueue = stage->hw_queue });
}

static NTSTATUS destroy_the_paging_queue(struct stage *stage)
{
	return D3DKMTDestroyPagingQueue(
		&(D3DDDI_DESTROYPAGINGQUEUE){ .hPagingQueue = stage->paging_queue });
}

static NTSTATUS destroy_the_memory(struct stage *stage)
{
	return destroy_one(stage->device, stage->memory);
}

static NTSTATUS destroy_the_fence(struct stage *stage)
{
	return D3DKMTDestroySynchronizationObject(
		&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){ stage->fence });
}

static NTSTATUS destroy_the_shared_fence(struct stage *stage)
{
	return D3DKMTDestroySynchronizationObject(
		&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){ stage->shared_fence });
}

static NTSTATUS destroy_the_mutex(struct stage *stage)
{
	return D3DKMTDestroyKeyedMutex(&(D3DKMT_DESTROYKEYEDMUTEX){ stage->mutex });
}

/* ---- making something of what is being destroyed ---- */

static NTSTATUS create_a_device(struct stage *stage)
{
	D3DKMT_HANDLE device;

	return try_create_device(stage->adapter, &device);
}

static NTSTATUS create_a_context(struct stage *stage)
{
	D3DKMT_HANDLE context;

	return try_create_context(stage->device, &context);
}

static NTSTATUS create_a_hw_context(struct stage *stage)
{
	return D3DKMTCreateHwContext(&(D3DKMT_CREATEHWCONTEXT){ .hDevice = stage->device });
}

static NTSTATUS create_a_paging_queue(struct stage *stage)
{
	return D3DKMTCreatePagingQueue(&(D3DKMT_CREATEPAGINGQUEUE){
		.hDevice = stage->device, .Priority = D3DDDI_PAGINGQUEUE_PRIORITY_NORMAL });
}

static NTSTATUS create_memory(struct stage *stage)
{
	struct creation creation;

	creation_init(&creation, stage->device, 1);
	return create(&creation);
}

static NTSTATUS create_a_fence(struct stage *stage)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = stage->device };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	return D3DKMTCreateSynchronizationObject2(&args);
}

static VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	(void)told;
}

static NTSTATUS register_for_trims(struct stage *stage)
{
	return D3DKMTRegisterTrimNotification(&(D3DKMT_REGISTERTRIMNOTIFICATION){
		.AdapterLuid = stage->luid, .hDevice = stage->device, .Callback = on_trim });
}

static NTSTATUS open_the_fence(struct stage *stage)
{
	return D3DKMTOpenSynchronizationObject(
		&(D3DKMT_OPENSYNCHRONIZATIONOBJECT){ .hSharedHandle = stage->shared_fence_name });
}

static NTSTATUS open_the_mutex(struct stage *stage)
{
	return D3DKMTOpenKeyedMutex(&(D3DKMT_OPENKEYEDMUTEX){ .hSharedHandle = stage->mutex_name });
}

static NTSTATUS update_addresses(struct stage *stage)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION unmap = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP,
		.Unmap = { .BaseAddress = stage->address,
			   .SizeInBytes = RESERVED_BYTES,
			   .Protection.Zero = 1 },
	};
	return D3DKMTUpdateGpuVirtualAddress(
		&(D3DKMT_UPDATEGPUVIRTUALADDRESS){ .hDevice = stage->device,
						   .hContext = stage->context,
						   .hFenceObject = stage->fence,
						   .NumOperations = 1,
						   .Operations = &unmap,
						   .FenceValue = 1 });
}

static NTSTATUS lock_the_memory(struct stage *stage)
{
	void *pointer;

	return lock2(stage->device, stage->memory, &pointer);
}

static NTSTATUS make_resident_by_queue(struct stage *stage)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = stage->paging_queue,
				     .NumAllocations = 1,
				     .AllocationList = &stage->memory };
	NTSTATUS status = D3DKMTMakeResident(&args);

	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

static NTSTATUS reserve_by_queue(struct stage *stage)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = { .hPagingQueue = stage->paging_queue,
						 .Size = RESERVED_BYTES };
	NTSTATUS status = D3DKMTReserveGpuVirtualAddress(&args);

	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

static NTSTATUS reclaim_by_queue(struct stage *stage)
{
	D3DDDI_RECLAIM_RESULT result;
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = stage->paging_queue,
					    .NumAllocations = 1,
					    .HandleList = &stage->offered,
					    .pResults = &result };
	NTSTATUS status = D3DKMTReclaimAllocations2(&args);

	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

static NTSTATUS update_property_by_queue(struct stage *stage)
{
	D3DDDI_UPDATEALLOCPROPERTY args = { .hPagingQueue = stage->paging_queue,
					    .hAllocation = stage->memory,
					    .SupportedSegmentSet = 1,
					    .SetSupportedSegmentSet = 1 };
	NTSTATUS status = D3DKMTUpdateAllocationProperty(&args);

	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

static NTSTATUS delay_the_queue(struct stage *stage)
{
	D3DKMT_VIDMM_ESCAPE delay = { .Type = D3DKMT_VIDMMESCAPETYPE_DELAYEXECUTION };
	D3DKMT_ESCAPE args = { .hAdapter = stage->adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &delay,
			       .PrivateDriverDataSize = sizeof(delay) };

	delay.DelayExecution.hPagingQueue = stage->paging_queue;
	delay.DelayExecution.Milliseconds = 1;
	return D3DKMTEscape(&args);
}

static const struct deed deeds[] = {
	{ "adapter closed twice", close_the_adapter, close_the_adapter, true },
	{ "device destroyed twice", destroy_the_device, destroy_the_device, true },
	{ "context destroyed twice", destroy_the_context, destroy_the_context, true },
	{ "hw context destroyed twice", destroy_the_hw_context, destroy_the_hw_context, true },
	{ "hw queue destroyed twice", destroy_the_hw_queue, destroy_the_hw_queue, true },
	{ "paging queue destroyed twice", destroy_the_paging_queue, destroy_the_paging_queue,
	  true },
	{ "memory destroyed twice", destroy_the_memory, destroy_the_memory, true },
	{ "fence destroyed twice", destroy_the_fence, destroy_the_fence, true },
	{ "mutex destroyed twice", destroy_the_mutex, destroy_the_mutex, true },
	{ "device made", create_a_device, close_the_adapter, false },
	{ "context made", create_a_context, destroy_the_device, false },
	{ "hw context made", create_a_hw_context, destroy_the_device, false },
	{ "hw queue made", create_hw_queue, destroy_the_hw_context, false },
	{ "hw queue made on a device", create_hw_queue, destroy_the_device, false },
	{ "paging queue made", create_a_paging_queue, destroy_the_device, false },
	{ "memory made", create_memory, destroy_the_device, false },
	{ "fence made", create_a_fence, destroy_the_device, false },
	{ "trims registered", register_for_trims, destroy_the_device, false },
	{ "fence opened", open_the_fence, destroy_the_shared_fence, false },
	{ "mutex opened", open_the_mutex, destroy_the_mutex, false },
	{ "addresses updated", update_addresses, destroy_the_context, false },
	{ "addresses updated on a device", update_addresses, destroy_the_device, false },
	{ "addresses updated with a fence", update_addresses, destroy_the_fence, false },
	{ "memory locked", lock_the_memory, destroy_the_memory, false },
	{ "memory made resident", make_resident_by_queue, destroy_the_memory, false },
	{ "memory made resident by a queue", make_resident_by_queue, destroy_the_paging_queue,
	  false },
	{ "memory reclaimed by a queue", reclaim_by_queue, destroy_the_paging_queue, false },
	{ "property updated by a queue", update_property_by_queue, destroy_the_paging_queue,
	  false },
	{ "addresses reserved by a queue", reserve_by_queue, destroy_the_paging_queue, false },
	{ "queue delayed", delay_the_queue, destroy_the_paging_queue, false },
};

/* ---- the two threads ---- */

struct caller {
	struct stage *stage;
	const struct deed *deed;
	NTSTATUS status;
	struct dxgk_refusal why;
	bool has_parked;
};

static void run_call(void *argument)
{
	struct caller *caller = argument;

	caller->status = caller->deed->call(caller->stage);
	if (caller->status != STATUS_SUCCESS)
		caller->why = last_refusal();
	caller->has_parked = dxgk_test_park_end();
}

/* Returns when it is stopped there, or over. */
static struct dxgk_test_thread *call_parked(struct caller *caller, unsigned point)
{
	dxgk_test_park("caller", point);
	struct dxgk_test_thread *thread = dxgk_test_thread_create_named("caller", run_call, caller);
	EXPECT(thread);
	dxgk_test_park_await();
	return thread;
}

static void expect_answered(const struct caller *caller, unsigned point)
{
	const struct dxgk_refusal *why = &caller->why;
	bool is_right =
		caller->status == STATUS_SUCCESS ||
		((caller->status == STATUS_INVALID_PARAMETER ||
		  caller->status == STATUS_INVALID_HANDLE) &&
		 why->status == caller->status && strncmp(why->rule, "API-HANDLE", 10) == 0);

	if (!is_right)
		print_error("%s, point %u: 0x%08x %s: %s\n", caller->deed->name, point,
			    (unsigned)caller->status, why->rule, why->reason);
	EXPECT(is_right);
}

/* False: the call has no such point. */
static bool plays_at(const struct deed *deed, unsigned point, unsigned *refused)
{
	struct stage stage = { 0 };
	struct caller caller = { .stage = &stage, .deed = deed };

	begin_anew();
	stage_open(&stage, first_adapter());
	struct dxgk_test_thread *thread = call_parked(&caller, point);
	NTSTATUS status = deed->destroy(&stage);
	dxgk_test_thread_join(thread);
	expect_answered(&caller, point);
	if (deed->is_one_or_the_other)
		EXPECT((status == STATUS_SUCCESS) != (caller.status == STATUS_SUCCESS));
	else
		EXPECT_EQ(status, STATUS_SUCCESS);
	*refused += caller.status != STATUS_SUCCESS;
	expect_valid();
	return caller.has_parked;
}

TEST(meanwhile, what_a_call_is_about_may_be_destroyed_at_any_point)
{
	SKIP_UNLESS(is_seeded(), "threads are parked in simulated runs only");
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		unsigned refused = 0;
		unsigned point = 1;

		while (plays_at(&deeds[i], point, &refused) && point < POINTS_MOST)
			point++;
		EXPECT(point > 1 && point < POINTS_MOST);
		EXPECT(refused > 0);
	}
}

/* ---- removal ---- */

/* None comes back, so that each point takes an adapter, and each call a kernel. */
enum { REMOVABLE = 16, REFUSED = 7, NOT_REFUSED };

static bool is_told_of_loss(const struct caller *caller)
{
	return caller->status == STATUS_SUCCESS ||
	       (caller->status == STATUS_DEVICE_REMOVED && caller->why.status == caller->status &&
		caller->why.rule[0] != '\0');
}

CHILD(removal)
{
	const struct deed *deed = &deeds[atoi(getenv("MEANWHILE_DEED"))];
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	unsigned refused = 0;

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS);
	CHILD_EXPECT(all.NumAdapters == REMOVABLE);
	for (unsigned i = 0; i < REMOVABLE; i++) {
		struct stage stage = { 0 };
		struct caller caller = { .stage = &stage, .deed = deed };

		stage_open(&stage, infos[i]);
		struct dxgk_test_thread *thread = call_parked(&caller, i + 1);
		CHILD_EXPECT(dxgk_test_remove_adapter(infos[i].AdapterLuid.LowPart,
						      infos[i].AdapterLuid.HighPart, i % 2));
		dxgk_test_thread_join(thread);
		if (!is_told_of_loss(&caller))
			fprintf(stderr, "%s, point %u: 0x%08x %s: %s\n", deed->name, i + 1,
				(unsigned)caller.status, caller.why.rule, caller.why.reason);
		CHILD_EXPECT(is_told_of_loss(&caller));
		refused += caller.status != STATUS_SUCCESS;
		expect_valid();
		if (!caller.has_parked)
			break;
	}
	return refused > 0 ? REFUSED : NOT_REFUSED;
}

static const char *removable_profile(void)
{
	static char text[REMOVABLE * 128];
	size_t used = 0;

	used += (size_t)snprintf(text, sizeof(text), "{\"adapters\": [");
	for (unsigned i = 0; i < REMOVABLE; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"%s{\"driver\": \"soft\", \"registry\": "
			"{\"LocalMemoryMiB\": 4, \"ApertureMiB\": 8, \"HwQueues\": 1}}",
			i > 0 ? ", " : "");
	snprintf(text + used, sizeof(text) - used, "]}");
	return text;
}

/* What only gives back, or looks, is refused nothing. */
TEST(meanwhile, the_adapter_may_be_removed_at_any_point_of_a_call)
{
	SKIP_UNLESS(is_seeded(), "threads are parked in simulated runs only");
	unsigned refused = 0;

	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		char which[32];

		snprintf(which, sizeof(which), "MEANWHILE_DEED=%zu", i);
		const struct child_result *result = run_child(
			"removal", profile_setting(removable_profile()), which, "DXGK_SEED=1");
		EXPECT_CHILD(result, result->exit_status == REFUSED ? REFUSED : NOT_REFUSED);
		refused += result->exit_status == REFUSED;
	}
	EXPECT(refused >= 12);
}

API_TEST_MAIN("api/meanwhile")
