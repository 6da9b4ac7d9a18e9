/* SPDX-License-Identifier: MIT */
/*
 * cancel_test.c - calls are no cancellation points: a thread that is cancelled in one comes out of
 * it first, and a program whose threads were cancelled ends. Of deferred cancellation only.
 */
#include "api/allocation.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

enum { ROUNDS = 60, LIMIT_S = 100 };

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;
static _Atomic unsigned inside;
static _Atomic unsigned came_out;

static void begin(void)
{
	alarm(LIMIT_S);
	adapter = child_open_adapter();
	device = child_create_device(adapter);
}

static void expect_cancelled(pthread_t thread)
{
	void *result = NULL;

	CHILD_EXPECT(pthread_join(thread, &result) == 0);
	CHILD_EXPECT(result == PTHREAD_CANCELED);
}

static int end(void)
{
	char problem[256] = "";

	CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	CHILD_EXPECT(close_adapter(adapter) == STATUS_SUCCESS);
	/* What a call left to the kernel's threads may not be over yet. */
	bool is_valid = dxgk_test_validate(problem, sizeof(problem));
	for (int i = 0; !is_valid && i < 1000; i++) {
		if (!getenv("DXGK_SEED"))
			usleep(10000);
		is_valid = dxgk_test_validate(problem, sizeof(problem));
	}
	CHILD_EXPECT(is_valid);
	return 7; /* out through everything that the end of a program does */
}

/* ---- a call that waits ---- */

static D3DKMT_HANDLE fence;

static void *wait_in_a_call(void *context)
{
	const UINT64 value = 1;

	(void)context;
	atomic_fetch_add(&inside, 1);
	CHILD_EXPECT(wait_value(device, fence, value) == STATUS_SUCCESS);
	atomic_fetch_add(&came_out, 1);
	for (;;)
		pthread_testcancel();
	return NULL;
}

CHILD(cancels_one_that_waits)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create;
	const UINT64 value = 1;
	pthread_t thread;

	begin();
	CHILD_EXPECT(try_monitored_fence(device, false, &create) == STATUS_SUCCESS);
	fence = create.hSyncObject;
	CHILD_EXPECT(pthread_create(&thread, NULL, wait_in_a_call, NULL) == 0);
	while (atomic_load(&inside) == 0)
		usleep(100);
	usleep(20000);
	CHILD_EXPECT(pthread_cancel(thread) == 0);
	usleep(20000);
	CHILD_EXPECT(atomic_load(&came_out) == 0);
	CHILD_EXPECT(signal_value(device, fence, value) == STATUS_SUCCESS);
	expect_cancelled(thread);
	CHILD_EXPECT(atomic_load(&came_out) == 1);
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT destroy = { fence };
	CHILD_EXPECT(D3DKMTDestroySynchronizationObject(&destroy) == STATUS_SUCCESS);
	return end();
}

/* ---- calls that are made ---- */

/* Enters the driver, waits for threads, and is refused, which is written to the log and the trace. */
static void *make_devices_for_ever(void *context)
{
	(void)context;
	for (;;) {
		D3DKMT_HANDLE another = child_create_device(adapter);
		D3DKMT_HANDLE of_it = child_create_context(another);

		CHILD_EXPECT(destroy_context(of_it + 1) == STATUS_INVALID_PARAMETER);
		CHILD_EXPECT(destroy_device(another) == STATUS_SUCCESS);
		atomic_fetch_add(&came_out, 1);
		pthread_testcancel();
	}
	return NULL;
}

/* The calls that are made most often, with an NT handle about that they look after. */
static void *make_allocations_for_ever(void *context)
{
	(void)context;
	for (;;) {
		struct creation creation;

		creation_init(&creation, device, 1);
		CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
		D3DKMT_HANDLE handle = creation.elements[0].hAllocation;
		D3DKMT_LOCK2 lock_it = { .hDevice = device, .hAllocation = handle };
		D3DKMT_UNLOCK2 unlock_it = { .hDevice = device, .hAllocation = handle };
		CHILD_EXPECT(D3DKMTLock2(&lock_it) == STATUS_SUCCESS);
		CHILD_EXPECT(D3DKMTUnlock2(&unlock_it) == STATUS_SUCCESS);
		CHILD_EXPECT(D3DKMTUnlock2(&unlock_it) != STATUS_SUCCESS);
		D3DKMT_OFFERALLOCATIONS give = { .hDevice = device,
						 .HandleList = &handle,
						 .NumAllocations = 1,
						 .Priority = D3DKMT_OFFER_PRIORITY_LOW };
		CHILD_EXPECT(D3DKMTOfferAllocations(&give) == STATUS_SUCCESS);
		D3DKMT_DESTROYALLOCATION2 destroy = { .hDevice = device,
						      .phAllocationList = &handle,
						      .AllocationCount = 1 };
		CHILD_EXPECT(D3DKMTDestroyAllocation2(&destroy) == STATUS_SUCCESS);
		atomic_fetch_add(&came_out, 1);
		pthread_testcancel();
	}
	return NULL;
}

/* Those of fences, where the kernel has to find out what the event is that a client gives it. */
static void *make_fences_for_ever(void *context)
{
	int event = eventfd(0, EFD_CLOEXEC);
	const UINT64 value = 1;

	(void)context;
	CHILD_EXPECT(event >= 0);
	for (;;) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 make = {
			.hDevice = device, .Info = { .Type = D3DDDI_MONITORED_FENCE }
		};
		CHILD_EXPECT(D3DKMTCreateSynchronizationObject2(&make) == STATUS_SUCCESS);
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait_for = {
			.hDevice = device,
			.ObjectCount = 1,
			.ObjectHandleArray = &make.hSyncObject,
			.FenceValueArray = &value,
			.hAsyncEvent = (HANDLE)(uintptr_t)event,
		};
		D3DKMT_DESTROYSYNCHRONIZATIONOBJECT destroy = { make.hSyncObject };
		CHILD_EXPECT(D3DKMTWaitForSynchronizationObjectFromCpu(&wait_for) ==
			     STATUS_SUCCESS);
		CHILD_EXPECT(signal_value(device, make.hSyncObject, value) == STATUS_SUCCESS);
		CHILD_EXPECT(D3DKMTWaitForSynchronizationObjectFromCpu(&wait_for) ==
			     STATUS_SUCCESS);
		wait_for.hAsyncEvent = NULL;
		CHILD_EXPECT(D3DKMTWaitForSynchronizationObjectFromCpu(&wait_for) ==
			     STATUS_SUCCESS);
		CHILD_EXPECT(D3DKMTDestroySynchronizationObject(&destroy) == STATUS_SUCCESS);
		atomic_fetch_add(&came_out, 1);
		pthread_testcancel();
	}
	return NULL;
}

static int cancel_many_times(void *(*call_for_ever)(void *context))
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned seen = atomic_load(&came_out);
		pthread_t thread;

		CHILD_EXPECT(pthread_create(&thread, NULL, call_for_ever, NULL) == 0);
		while (atomic_load(&came_out) == seen)
			usleep(50);
		usleep(i * 37 % 400);
		CHILD_EXPECT(pthread_cancel(thread) == 0);
		expect_cancelled(thread);
		CHILD_EXPECT(get_execution_state(device) == STATUS_SUCCESS);
	}
	return end();
}

CHILD(cancels_those_that_make_devices)
{
	begin();
	return cancel_many_times(make_devices_for_ever);
}

CHILD(cancels_those_that_make_allocations)
{
	struct creation creation;
	HANDLE handle;

	begin();
	creation_init_resource(&creation, device, 1, SHARED_NT);
	CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
	CHILD_EXPECT(D3DKMTShareObjects(1, &creation.args.hResource, NULL, GENERIC_ALL, &handle) ==
		     STATUS_SUCCESS);
	return cancel_many_times(make_allocations_for_ever);
}

CHILD(cancels_those_that_make_fences)
{
	begin();
	return cancel_many_times(make_fences_for_ever);
}

/* ---- the first call, and the last ---- */

static void *call_first_when_cancelled(void *context)
{
	(void)context;
	pthread_cancel(pthread_self());
	adapter = child_open_adapter();
	atomic_fetch_add(&came_out, 1);
	pthread_testcancel();
	return NULL;
}

CHILD(cancels_the_first_call)
{
	pthread_t thread;

	alarm(LIMIT_S);
	CHILD_EXPECT(pthread_create(&thread, NULL, call_first_when_cancelled, NULL) == 0);
	expect_cancelled(thread);
	CHILD_EXPECT(atomic_load(&came_out) == 1);
	device = child_create_device(adapter);
	return end();
}

CHILD(ends_when_cancelled)
{
	begin();
	child_create_context(device);
	pthread_cancel(pthread_self());
	exit(7);
}

CHILD(closes_when_cancelled)
{
	begin();
	child_create_context(device);
	pthread_cancel(pthread_self());
	D3DKMTCloseDxCoreDevice();
	exit(7);
}

static void expect_ends(const char *name)
{
	char trace[64];
	char setting[96];
	const char *const plain[] = { NULL };
	const char *const loud[] = { "DXGK_LOG=all", setting, NULL };
	const char *const seeded[] = { "DXGK_SEED=1", NULL };

	snprintf(trace, sizeof(trace), "/tmp/dxgk-cancel-%d", getpid());
	snprintf(setting, sizeof(setting), "DXGK_TRACE=%s", trace);
	EXPECT_CHILD(run_child_with(name, plain), 7);
	EXPECT_CHILD(run_child_with(name, loud), 7);
	EXPECT_EQ(unlink(trace), 0);
	EXPECT_CHILD(run_child_with(name, seeded), 7);
}

TEST(cancel, takes_effect_when_a_call_that_waits_is_over)
{
	expect_ends("cancels_one_that_waits");
}

TEST(cancel, leaves_nothing_half_done)
{
	expect_ends("cancels_those_that_make_devices");
	expect_ends("cancels_those_that_make_allocations");
	expect_ends("cancels_those_that_make_fences");
}

TEST(cancel, does_not_hinder_the_first_call)
{
	expect_ends("cancels_the_first_call");
}

TEST(cancel, does_not_hinder_the_end_of_a_program)
{
	SKIP_UNLESS(!IS_COUNTED,
		    "the compiler's counts are written then, and that can be cancelled");
	expect_ends("ends_when_cancelled");
	expect_ends("closes_when_cancelled");
}

API_TEST_MAIN("api/cancel")
