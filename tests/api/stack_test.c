/* SPDX-License-Identifier: MIT */
/*
 * stack_test.c - every call works on a thread with the least stack a host gives.
 *
 * Each runs on a thread of its own, whose stack ends at a page that nobody may touch.
 */
#include "api/residency.h"

#include <limits.h>
#include <pthread.h>

enum { COUNT = 8, LEAST = 16 * KIB };

static struct client client;
static D3DKMT_HANDLE handles[COUNT];
static D3DKMT_HANDLE fence;

static void first_call(void)
{
	D3DKMT_ENUMADAPTERS2 args = { 0 };

	EXPECT_OK(D3DKMTEnumAdapters2(&args));
	EXPECT(args.NumAdapters > 0);
}

static void make_a_device(void)
{
	client_open(&client, open_first_adapter());
}

static void create_allocations(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		handles[i] = create_sized(&client, SOME_BYTES, 0);
}

static void make_them_resident(void)
{
	EXPECT_OK(make_resident(&client, handles, COUNT, 0));
}

static void lock_them(void)
{
	for (unsigned i = 0; i < COUNT; i++) {
		D3DKMT_LOCK2 lock_it = { .hDevice = client.device, .hAllocation = handles[i] };
		D3DKMT_UNLOCK2 unlock_it = { .hDevice = client.device, .hAllocation = handles[i] };

		EXPECT_OK(D3DKMTLock2(&lock_it));
		memset(lock_it.pData, 1, SOME_BYTES);
		EXPECT_OK(D3DKMTUnlock2(&unlock_it));
	}
}

static void offer_and_reclaim(void)
{
	D3DDDI_RECLAIM_RESULT results[COUNT];

	EXPECT_OK(offer(&client, handles, COUNT, D3DKMT_OFFER_PRIORITY_LOW, OFFER_NOW));
	EXPECT_OK(reclaim(&client, handles, COUNT, results));
}

static void map_an_address(void)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = client.queue,
					     .hAllocation = handles[0],
					     .SizeInPages = SOME_BYTES / PAGE,
					     .Protection = { .Write = 1 } };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
}

static void make_a_context(void)
{
	EXPECT_OK(destroy_context(create_context(client.device)));
}

static void be_refused(void)
{
	EXPECT_REFUSED(destroy_context(0x1234), STATUS_INVALID_PARAMETER, "API-HANDLE", "hContext");
}

static void use_a_fence(void)
{
	fence = monitored_fence(client.device, false).hSyncObject;
	EXPECT_OK(signal_value(client.device, fence, 3));
	EXPECT_OK(wait_value(client.device, fence, 3));
}

static void ask_for_statistics(void)
{
	D3DKMT_QUERYSTATISTICS args = { .Type = D3DKMT_QUERYSTATISTICS_ADAPTER };

	(void)!D3DKMTQueryStatistics(&args);
	EXPECT(memory_info(&client, 0).Budget > 0);
}

static void evict_them(void)
{
	EXPECT_OK(evict(&client, handles, COUNT, 0));
}

static void destroy_them(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_OK(destroy_now(&client, handles[i]));
}

static void end_the_device(void)
{
	EXPECT_OK(destroy_device(client.device));
}

static void *run_step(void *context)
{
	void (*step)(void);

	memcpy(&step, context, sizeof(step));
	step();
	return NULL;
}

static void run_on_little_stack(void (*step)(void))
{
	size_t least = (size_t)PTHREAD_STACK_MIN > LEAST ? (size_t)PTHREAD_STACK_MIN : LEAST;
	pthread_attr_t attributes;
	pthread_t thread;

	least = (least + PAGE - 1) & ~(size_t)(PAGE - 1);
	char *stack = mmap(NULL, least + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	CHILD_EXPECT(stack != MAP_FAILED && mprotect(stack, PAGE, PROT_NONE) == 0);
	pthread_attr_init(&attributes);
	CHILD_EXPECT(pthread_attr_setstack(&attributes, stack + PAGE, least) == 0);
	CHILD_EXPECT(pthread_create(&thread, &attributes, run_step, &step) == 0);
	pthread_join(thread, NULL);
	munmap(stack, least + PAGE);
}

CHILD(calls_on_little_stacks)
{
	static void (*const steps[])(void) = {
		first_call,   make_a_device,     create_allocations,      make_them_resident,
		lock_them,    offer_and_reclaim, map_an_address,          make_a_context,
		be_refused,   use_a_fence,       ask_for_statistics,      evict_them,
		destroy_them, end_the_device,    D3DKMTCloseDxCoreDevice, first_call,
	};

	for (unsigned i = 0; i < ARRAYSIZE(steps); i++) {
		fprintf(stderr, "step %u\n", i);
		run_on_little_stack(steps[i]);
	}
	return 7;
}

static void expect_enough(const char *setting)
{
	SKIP_UNLESS(!IS_SANITIZED && !IS_COUNTED,
		    "frames of this build are larger than they need be");
	EXPECT_CHILD(run_child("calls_on_little_stacks", setting), 7);
}

TEST(stack, of_16_kib_is_enough_for_every_call)
{
	expect_enough(NULL);
}

TEST(stack, of_16_kib_is_enough_with_a_log)
{
	expect_enough("DXGK_LOG=all");
}

TEST(stack, of_16_kib_is_enough_in_a_simulated_run)
{
	expect_enough("DXGK_SEED=1");
}

TEST(stack, of_16_kib_is_enough_with_a_trace)
{
	expect_enough("DXGK_TRACE=/dev/null");
}

/* All others get what they need, whatever a program made the default. */
CHILD(has_little_stack_by_default)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	CHILD_EXPECT(pthread_attr_setstacksize(&attributes, LEAST) == 0);
	CHILD_EXPECT(pthread_setattr_default_np(&attributes) == 0);
	make_a_device();
	create_allocations();
	make_them_resident();
	return 7;
}

TEST(stack, of_our_own_threads_is_enough_whatever_the_default_is)
{
	EXPECT_CHILD(run_child("has_little_stack_by_default"), 7);
}

API_TEST_MAIN("api/stack")
