/* SPDX-License-Identifier: MIT */
/*
 * sync_wait_test.c - threads that wait for fences in a call, and what ends their wait.
 *
 * In real time and, with DXGK_SEED, in a simulated one. What a test expects of a race is what every
 * order of it gives.
 */
#include "api/sync.h"

#include <pthread.h>

enum { MOST = 4 };

/* One call of another thread. */
struct waiter {
	D3DKMT_HANDLE on;
	D3DKMT_HANDLE fences[MOST];
	UINT64 values[MOST];
	UINT count;
	bool is_any;
	struct thread_call call;
};

static void waiter_run(void *argument)
{
	struct waiter *waiter = argument;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = {
		.hDevice = waiter->on,
		.ObjectCount = waiter->count,
		.ObjectHandleArray = waiter->fences,
		.FenceValueArray = waiter->values,
		.Flags.WaitAny = waiter->is_any,
	};

	thread_call_over(&waiter->call, D3DKMTWaitForSynchronizationObjectFromCpu(&args));
}

static void waiter_start(struct waiter *waiter)
{
	waiter->on = device;
	waiter->call.thread = begin_thread(waiter_run, waiter);
}

static struct waiter waiter_for(D3DKMT_HANDLE fence, UINT64 value)
{
	return (struct waiter){ .fences = { fence }, .values = { value }, .count = 1 };
}

/* A thread that waits for a new fence, which is returned, to have this value. */
static D3DKMT_HANDLE begin_waiting(struct waiter *waiter, UINT64 value)
{
	begin();
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	*waiter = waiter_for(fence, value);
	waiter_start(waiter);
	return fence;
}

TEST(wait, ends_when_the_value_is_signalled)
{
	struct waiter waiter;
	D3DKMT_HANDLE fence = begin_waiting(&waiter, 2);

	EXPECT_OK(signal_fence(fence, 1));
	let_others_wait();
	EXPECT_OK(signal_fence(fence, 3));
	EXPECT_THREAD_CALL(waiter.call, STATUS_SUCCESS, "");
	EXPECT_OK(destroy_sync(fence));
}

TEST(wait, for_all_ends_with_the_last)
{
	struct waiter waiter = { .count = MOST };

	begin();
	for (unsigned i = 0; i < MOST; i++) {
		waiter.fences[i] = create_fence(0, 0, NULL);
		waiter.values[i] = i + 1;
	}
	waiter_start(&waiter);
	for (unsigned i = 0; i < MOST; i++)
		EXPECT_OK(signal_fence(waiter.fences[MOST - 1 - i], MOST - i));
	EXPECT_THREAD_CALL(waiter.call, STATUS_SUCCESS, "");
}

TEST(wait, for_any_ends_with_the_first)
{
	begin();
	for (unsigned i = 0; i < MOST; i++) {
		struct waiter waiter = { .count = MOST, .is_any = true };
		for (unsigned k = 0; k < MOST; k++) {
			waiter.fences[k] = create_fence(0, 0, NULL);
			waiter.values[k] = 1;
		}
		waiter_start(&waiter);
		let_others_wait();
		EXPECT_OK(signal_fence(waiter.fences[i], 1));
		EXPECT_THREAD_CALL(waiter.call, STATUS_SUCCESS, "");
	}
}

TEST(wait, ends_when_its_handle_is_destroyed)
{
	struct waiter waiter;
	D3DKMT_HANDLE fence = begin_waiting(&waiter, 1);

	let_others_wait();
	EXPECT_OK(destroy_sync(fence));
	EXPECT_THREAD_CALL(waiter.call, STATUS_INVALID_PARAMETER, "API-HANDLE");
	expect_valid();
}

TEST(wait, ends_when_its_device_is_destroyed)
{
	struct waiter waiter;

	begin();
	waiter = waiter_for(create_fence(0, 0, NULL), 1);
	waiter_start(&waiter);
	let_others_wait();
	EXPECT_OK(destroy_device(device));
	EXPECT_THREAD_CALL(waiter.call, STATUS_INVALID_PARAMETER, "API-HANDLE");
}

TEST(wait, ends_when_the_process_is_closed)
{
	struct waiter waiter;

	begin();
	waiter = waiter_for(create_fence(0, 0, NULL), 1);
	waiter_start(&waiter);
	let_others_wait();
	D3DKMTCloseDxCoreDevice();
	EXPECT_ENDED_WITH_PROCESS(waiter.call);
}

TEST(wait, through_another_opening_is_not_ended)
{
	struct waiter waiter;
	D3DKMT_HANDLE fence, opened;

	begin();
	fence = create_opened_fence(&opened);
	waiter = waiter_for(opened, 1);
	waiter_start(&waiter);
	let_others_wait();
	EXPECT_OK(signal_fence(fence, 1));
	EXPECT_OK(destroy_sync(fence));
	EXPECT_THREAD_CALL(waiter.call, STATUS_SUCCESS, "");
}

TEST(wait, of_many_threads_ends_for_those_who_are_reached)
{
	struct waiter waiters[MOST];
	D3DKMT_HANDLE fence;

	begin();
	fence = create_fence(0, 0, NULL);
	for (unsigned i = 0; i < MOST; i++) {
		waiters[i] = waiter_for(fence, i + 1);
		waiter_start(&waiters[i]);
	}
	for (unsigned i = 0; i < MOST; i++) {
		EXPECT_OK(signal_fence(fence, i + 1));
		EXPECT_THREAD_CALL(waiters[i].call, STATUS_SUCCESS, "");
	}
}

/* ---- many at once ---- */

struct player {
	D3DKMT_HANDLE fence;
	UINT64 number;
	unsigned wrong;
	struct dxgk_test_thread *thread;
};

static void player_run(void *argument)
{
	enum { ROUNDS = 50 };
	struct player *player = argument;

	for (UINT64 round = 0; round < ROUNDS; round++) {
		UINT64 turn = round * MOST + player->number;
		UINT64 next = turn + 1;
		player->wrong += wait_value(device, player->fence, turn) != STATUS_SUCCESS;
		player->wrong += signal_value(device, player->fence, next) != STATUS_SUCCESS;
	}
}

TEST(threads, take_turns_by_a_fence)
{
	struct player players[MOST];
	const volatile UINT64 *view;
	D3DKMT_HANDLE fence;

	begin();
	fence = create_fence(0, 0, &view);
	for (unsigned i = 0; i < MOST; i++) {
		players[i] = (struct player){ .fence = fence, .number = i };
		players[i].thread = begin_thread(player_run, &players[i]);
	}
	for (unsigned i = 0; i < MOST; i++) {
		dxgk_test_thread_join(players[i].thread);
		EXPECT_EQ(players[i].wrong, 0);
	}
	EXPECT_EQ(*view, MOST * 50);
}

/* Waits by event and in the call, signals and destroys, all on the same few fences. */
static D3DKMT_HANDLE common[MOST];

static void mixer_run(void *argument)
{
	struct player *player = argument;
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	for (unsigned i = 0; i < 100; i++) {
		unsigned what = (unsigned)(i * 7 + player->number * 3) % 5;
		D3DKMT_HANDLE fences[2] = { common[i % MOST], common[(i + player->number) % MOST] };
		UINT64 values[2] = { i, i + 1 };
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = device,
								    .ObjectCount = 2,
								    .ObjectHandleArray = fences,
								    .FenceValueArray = values,
								    .hAsyncEvent =
									    (HANDLE)(intptr_t)event,
								    .Flags.WaitAny = i & 1 };
		D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU signal = { .hDevice = device,
								     .ObjectCount = 2,
								     .ObjectHandleArray = fences,
								     .FenceValueArray = values,
								     .Flags.AllowFenceRewind =
									     i % 3 == 0 };
		NTSTATUS status = what < 3 ? D3DKMTWaitForSynchronizationObjectFromCpu(&wait)
					   : D3DKMTSignalSynchronizationObjectFromCpu(&signal);
		if (status != STATUS_SUCCESS && status != STATUS_INVALID_PARAMETER)
			player->wrong++;
	}
	close(event);
}

TEST(threads, may_wait_and_signal_while_fences_end)
{
	struct player players[MOST];

	begin();
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < MOST; i++)
			common[i] = create_fence(0, 0, NULL);
		for (unsigned i = 0; i < MOST; i++) {
			players[i] = (struct player){ .number = i };
			players[i].thread = begin_thread(mixer_run, &players[i]);
		}
		for (unsigned i = 0; i < MOST; i++)
			EXPECT_OK(destroy_sync(common[i]));
		for (unsigned i = 0; i < MOST; i++) {
			dxgk_test_thread_join(players[i].thread);
			EXPECT_EQ(players[i].wrong, 0);
		}
		expect_valid();
	}
}

struct destroyer {
	D3DKMT_HANDLE fence;
	NTSTATUS status;
	struct dxgk_test_thread *thread;
};

static void destroyer_run(void *argument)
{
	struct destroyer *destroyer = argument;

	destroyer->status = destroy_sync(destroyer->fence);
}

TEST(destroy, of_one_handle_by_two_threads_succeeds_once)
{
	begin();
	for (unsigned round = 0; round < 50; round++) {
		struct destroyer destroyer = { .fence = create_fence(0, 0, NULL) };
		destroyer.thread = begin_thread(destroyer_run, &destroyer);
		NTSTATUS status = destroy_sync(destroyer.fence);
		dxgk_test_thread_join(destroyer.thread);
		EXPECT((status == STATUS_SUCCESS) != (destroyer.status == STATUS_SUCCESS));
	}
}

struct device_ender {
	D3DKMT_HANDLE on;
	struct dxgk_test_thread *thread;
};

static void device_ender_run(void *argument)
{
	D3DKMT_DESTROYDEVICE args = { ((struct device_ender *)argument)->on };

	if (D3DKMTDestroyDevice(&args) != STATUS_SUCCESS)
		abort();
}

TEST(device, may_end_while_its_fences_are_made_and_destroyed)
{
	begin();
	for (unsigned round = 0; round < 30; round++) {
		struct device_ender ender = { create_device(adapter), NULL };
		ender.thread = begin_thread(device_ender_run, &ender);
		for (unsigned i = 0; i < 20; i++) {
			D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = monitored(0, 0);
			args.hDevice = ender.on;
			if (D3DKMTCreateSynchronizationObject2(&args) == STATUS_SUCCESS)
				(void)destroy_sync(args.hSyncObject);
		}
		dxgk_test_thread_join(ender.thread);
	}
	expect_valid();
}

CHILD(exit_while_a_thread_waits)
{
	static struct waiter waiter;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;

	device = child_create_device(child_open_adapter());
	args = monitored(0, 0);
	CHILD_EXPECT(D3DKMTCreateSynchronizationObject2(&args) == STATUS_SUCCESS);
	waiter = waiter_for(args.hSyncObject, 1);
	waiter.on = device;
	child_leave_thread(waiter_run, &waiter);
	let_others_wait();
	return 0;
}

TEST(wait, does_not_keep_the_program_from_ending)
{
	EXPECT_CHILD(run_child("exit_while_a_thread_waits"), 0);
	EXPECT_CHILD(run_child("exit_while_a_thread_waits", "DXGK_SEED=1"), 0);
}

API_TEST_MAIN("api/sync_wait")
