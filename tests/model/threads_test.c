/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - several threads make random calls about the same handles, one schedule per seed.
 *
 * Nobody predicts what each call gives: whose handle was destroyed first is the schedule's choice.
 * What counts is that the kernel is sound at every moment between calls and has nothing left at the
 * end.
 *
 *	MODEL_SCHEDULES   how many seeds
 */
#include "api/support.h"
#include "base/random.h"

#include <stdatomic.h>

enum {
	THREADS = 4,
	STEPS = 120,
	DEVICES = 3,
	RESOURCES = 6,
	ALLOCATIONS = 24,
	MUTEXES = 3,
	FILES = 4
};

/* Everybody's; a slot is overwritten by whoever makes the next one. */
static struct {
	D3DKMT_HANDLE adapter;
	_Atomic D3DKMT_HANDLE devices[DEVICES];
	_Atomic D3DKMT_HANDLE resources[RESOURCES];
	_Atomic D3DKMT_HANDLE globals[RESOURCES];
	_Atomic D3DKMT_HANDLE allocations[ALLOCATIONS];
	_Atomic D3DKMT_HANDLE mutexes[MUTEXES];
	_Atomic D3DKMT_HANDLE shared_mutexes[MUTEXES];
	_Atomic int files[FILES]; /* 0: none */
	_Atomic unsigned accepted;
} common;

static uint32_t below(struct random *random, uint32_t bound)
{
	return (uint32_t)random_below(random, bound);
}

#define PICK(random, array)                                                                        \
	(&(array)[below((random), (uint32_t)(sizeof(array) / sizeof((array)[0])))])

static bool is_accepted(NTSTATUS status)
{
	if (NT_SUCCESS(status))
		atomic_fetch_add(&common.accepted, 1);
	return NT_SUCCESS(status);
}

static void make_allocations(struct random *random)
{
	struct softgpu_allocation described = { .version = SOFTGPU_ALLOCATION_VERSION,
						.flags = SOFTGPU_CPU_VISIBLE,
						.size_bytes = 4096 * (1 + below(random, 4)) };
	D3DDDI_ALLOCATIONINFO2 elements[6] = { 0 };
	D3DKMT_CREATEALLOCATION args = {
		.hDevice = *PICK(random, common.devices),
		.NumAllocations = 1 + below(random, 6),
		.pAllocationInfo2 = elements,
	};
	uint32_t kind = below(random, 5);

	for (int i = 0; i < 6; i++) {
		elements[i].pPrivateDriverData = &described;
		elements[i].PrivateDriverDataSize = sizeof(described);
	}
	args.Flags.CreateResource = kind > 1;
	args.Flags.CreateShared = kind > 2;
	args.Flags.NtSecuritySharing = kind > 3;
	if (kind == 1)
		args.hResource = *PICK(random, common.resources);
	if (!is_accepted(D3DKMTCreateAllocation2(&args)))
		return;
	for (UINT i = 0; i < args.NumAllocations; i++)
		*PICK(random, common.allocations) = elements[i].hAllocation;
	if (args.hResource)
		*PICK(random, common.resources) = args.hResource;
	if (args.hGlobalShare)
		*PICK(random, common.globals) = args.hGlobalShare;
}

static void open_resource(struct random *random)
{
	D3DDDI_OPENALLOCATIONINFO2 elements[6] = { 0 };
	unsigned char total[6 * sizeof(struct softgpu_allocation)];
	D3DKMT_OPENRESOURCE args = {
		.hDevice = *PICK(random, common.devices),
		.hGlobalShare = *PICK(random, common.globals),
		.NumAllocations = 1 + below(random, 6),
		.pOpenAllocationInfo2 = elements,
		.pTotalPrivateDriverDataBuffer = total,
		.TotalPrivateDriverDataBufferSize = sizeof(total),
	};
	D3DKMT_OPENRESOURCEFROMNTHANDLE nt = {
		.hDevice = args.hDevice,
		.hNtHandle = (HANDLE)(intptr_t)*PICK(random, common.files),
		.NumAllocations = args.NumAllocations,
		.pOpenAllocationInfo2 = elements,
		.pTotalPrivateDriverDataBuffer = total,
		.TotalPrivateDriverDataBufferSize = sizeof(total),
	};
	bool is_nt = below(random, 2) == 0;

	if (!is_accepted(is_nt ? D3DKMTOpenResourceFromNtHandle(&nt) : D3DKMTOpenResource2(&args)))
		return;
	*PICK(random, common.resources) = is_nt ? nt.hResource : args.hResource;
	for (UINT i = 0; i < args.NumAllocations; i++)
		*PICK(random, common.allocations) = elements[i].hAllocation;
}

static void destroy(struct random *random)
{
	D3DKMT_HANDLE list[3];
	D3DKMT_DESTROYALLOCATION2 args = {
		.hDevice = *PICK(random, common.devices),
		.Flags = { .Value = below(random, 4) },
	};

	for (int i = 0; i < 3; i++)
		list[i] = *PICK(random, common.allocations);
	if (below(random, 3) == 0) {
		args.hResource = *PICK(random, common.resources);
	} else {
		args.phAllocationList = list;
		args.AllocationCount = 1 + below(random, 3);
	}
	is_accepted(D3DKMTDestroyAllocation2(&args));
}

static void access_memory(struct random *random)
{
	D3DKMT_HANDLE device = *PICK(random, common.devices);
	D3DKMT_HANDLE allocation = *PICK(random, common.allocations);
	D3DKMT_LOCK2 lock = { .hDevice = device, .hAllocation = allocation };
	D3DKMT_UNLOCK2 unlock = { .hDevice = device, .hAllocation = allocation };
	UINT priority = below(random, 1000);
	D3DKMT_SETALLOCATIONPRIORITY set = { .hDevice = device,
					     .hResource = *PICK(random, common.resources),
					     .pPriorities = &priority };

	switch (below(random, 4)) {
	case 0:
		is_accepted(D3DKMTUnlock2(&unlock));
		break;
	case 1:
		is_accepted(D3DKMTSetAllocationPriority(&set));
		break;
	default:
		is_accepted(D3DKMTLock2(&lock));
		break;
	}
}

static void use_device(struct random *random)
{
	_Atomic D3DKMT_HANDLE *slot = PICK(random, common.devices);
	D3DKMT_CREATEDEVICE create = { .hAdapter = common.adapter };
	D3DKMT_DESTROYDEVICE destroy_args = { *slot };
	D3DKMT_CREATECONTEXT context = { .hDevice = *slot };

	switch (below(random, 8)) {
	case 0:
		is_accepted(D3DKMTDestroyDevice(&destroy_args));
		break;
	case 1:
	case 2:
	case 3:
		if (is_accepted(D3DKMTCreateDevice(&create)))
			*slot = create.hDevice;
		break;
	default:
		is_accepted(D3DKMTCreateContext(&context));
		break;
	}
}

/* The thread sanitizer looks at descriptors, too. */
#define IS_RACE_OF_DESCRIPTORS_REPORTED IS_THREAD_SANITIZED

static void share(struct random *random)
{
	_Atomic int *slot = PICK(random, common.files);
	D3DKMT_HANDLE resource = *PICK(random, common.resources);
	HANDLE made;

	/* One thread closes what another asks the kernel about: ours on purpose, and not its race.
	 */
	if (IS_RACE_OF_DESCRIPTORS_REPORTED && !getenv("DXGK_SEED"))
		return;

	/* Whoever takes a number out of its slot is the one that closes it. */
	int file = atomic_exchange(slot, 0);
	if (file > 0)
		close(file);
	if (!is_accepted(D3DKMTShareObjects(1, &resource, NULL, SHARED_ALLOCATION_WRITE, &made)))
		return;
	file = atomic_exchange(slot, (int)(intptr_t)made);
	if (file > 0)
		close(file);
}

static void use_mutex(struct random *random)
{
	_Atomic D3DKMT_HANDLE *slot = PICK(random, common.mutexes);
	LARGE_INTEGER at_once = { .QuadPart = 0 };
	D3DKMT_CREATEKEYEDMUTEX create = { 0 };
	D3DKMT_OPENKEYEDMUTEX open_args = { .hSharedHandle = *PICK(random, common.shared_mutexes) };
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { .hKeyedMutex = *slot, .pTimeout = &at_once };
	D3DKMT_RELEASEKEYEDMUTEX release = { .hKeyedMutex = *slot };
	D3DKMT_DESTROYKEYEDMUTEX destroy_args = { *slot };

	switch (below(random, 5)) {
	case 0:
		if (is_accepted(D3DKMTCreateKeyedMutex(&create))) {
			*slot = create.hKeyedMutex;
			*PICK(random, common.shared_mutexes) = create.hSharedHandle;
		}
		break;
	case 1:
		if (is_accepted(D3DKMTOpenKeyedMutex(&open_args)))
			*slot = open_args.hKeyedMutex;
		break;
	case 2:
		is_accepted(D3DKMTAcquireKeyedMutex(&acquire));
		break;
	case 3:
		is_accepted(D3DKMTReleaseKeyedMutex(&release));
		break;
	default:
		is_accepted(D3DKMTDestroyKeyedMutex(&destroy_args));
		break;
	}
}

static void check_kernel(void)
{
	char problem[256] = "";

	/* Soon: a thread of the kernel may be about to let go of something. */
	for (int i = 0; i < 2000; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		usleep(1000);
	}
	fprintf(stderr, "the kernel is not sound: %s\n", problem);
	_exit(97);
}

static void thread_run(void *argument)
{
	static void (*const steps[])(struct random * random) = {
		make_allocations,
		make_allocations,
		make_allocations,
		open_resource,
		open_resource,
		destroy,
		destroy,
		access_memory,
		access_memory,
		use_device,
		share,
		use_mutex,
	};
	struct random random;

	random_init(&random, (uintptr_t)argument);
	for (int i = 0; i < STEPS; i++) {
		steps[below(&random, sizeof(steps) / sizeof(steps[0]))](&random);
		if (below(&random, 40) == 0)
			check_kernel();
	}
}

CHILD(threads)
{
	struct dxgk_test_thread *threads[THREADS];
	const char *seed = getenv("DXGK_SEED");
	uintptr_t base = seed ? strtoul(seed, NULL, 0) : 1;

	common.adapter = child_open_adapter();
	struct softgpu_escape_info idle = soft_info(common.adapter);
	for (int i = 0; i < DEVICES; i++)
		common.devices[i] = child_create_device(common.adapter);
	for (uintptr_t i = 0; i < THREADS; i++) {
		threads[i] = dxgk_test_thread_create(thread_run, (void *)(base * THREADS + i));
		CHILD_EXPECT(threads[i]);
	}
	for (int i = 0; i < THREADS; i++)
		dxgk_test_thread_join(threads[i]);
	check_kernel();
	for (int i = 0; i < FILES; i++) {
		if (common.files[i] > 0)
			close(common.files[i]);
	}
	D3DKMTCloseDxCoreDevice();
	common.adapter = child_open_adapter();
	struct softgpu_escape_info now = soft_info(common.adapter);
	CHILD_EXPECT(now.live_devices == idle.live_devices);
	CHILD_EXPECT(now.live_contexts == idle.live_contexts);
	CHILD_EXPECT(now.live_resources == 0 && now.live_allocations == 0 &&
		     now.live_openings == 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-MUST-SUCCEED") == 0);
	CHILD_EXPECT(common.accepted > THREADS * STEPS / 16);
	check_kernel();
	return 0;
}

TEST(model_threads, every_schedule_leaves_a_sound_kernel)
{
	const char *wanted = getenv("MODEL_SCHEDULES");
	unsigned schedules = wanted ? (unsigned)strtoul(wanted, NULL, 0) : 40;
	char seed[32];

	for (unsigned i = 1; i <= schedules; i++) {
		snprintf(seed, sizeof(seed), "DXGK_SEED=%u", i);
		const struct child_result *result = run_child("threads", seed);
		if (result->exit_status != 0)
			print_error("%s\n", seed);
		EXPECT_CHILD(result, 0);
	}
}

TEST(model_threads, threads_that_run_freely_leave_a_sound_kernel)
{
	for (int i = 0; i < 5; i++)
		EXPECT_CHILD(run_child("threads"), 0);
}

API_TEST_MAIN("model/threads")
