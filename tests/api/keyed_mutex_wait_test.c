/* SPDX-License-Identifier: MIT */
/*
 * keyed_mutex_wait_test.c - threads that wait for a keyed mutex, and what ends their wait.
 *
 * Threads are made through dxgk_test_thread_create(), so the same tests run in real time and, with
 * DXGK_SEED, in a simulated one. What a test expects of a race is what every order of it gives;
 * where only a settled state has one answer, the seeded run asks for it.
 */
#include "api/keyed_mutex.h"

#include <pthread.h>
#include <stdatomic.h>

/* One call of another thread. */
struct waiter {
	D3DKMT_HANDLE mutex;
	UINT64 key;
	UINT64 fence;
	struct thread_call call;
};

static void waiter_run(void *argument)
{
	struct waiter *waiter = argument;
	D3DKMT_ACQUIREKEYEDMUTEX args = { .hKeyedMutex = waiter->mutex,
					  .Key = waiter->key,
					  .FenceValue = GARBAGE };

	thread_call_over(&waiter->call, D3DKMTAcquireKeyedMutex(&args));
	waiter->fence = args.FenceValue;
}

static void waiter_start(struct waiter *waiter, D3DKMT_HANDLE mutex, UINT64 key)
{
	waiter->mutex = mutex;
	waiter->key = key;
	waiter->call.thread = begin_thread(waiter_run, waiter);
}

MUTEX_TEST(wait, ends_when_the_mutex_is_released_with_the_key, create(0, &shared))
{
	D3DKMT_HANDLE opened = open_shared(shared);
	struct waiter waiter = { 0 };

	EXPECT_OK(poll(mutex, 0));
	waiter_start(&waiter, opened, 1);
	let_others_wait();
	EXPECT_OK(release(mutex, 1, SOME_FENCE));
	EXPECT_THREAD_CALL(waiter.call, STATUS_SUCCESS, "");
	EXPECT_EQ(waiter.fence, SOME_FENCE);
	EXPECT_OK(release(opened, 0, 0));
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(wait, goes_on_while_the_key_is_another, create(0, &shared))
{
	D3DKMT_HANDLE opened = open_shared(shared);
	struct waiter waiter = { 0 };

	waiter_start(&waiter, opened, 3);
	for (UINT64 key = 0; key < 3; key++) {
		EXPECT_OK(poll(mutex, key));
		EXPECT_OK(release(mutex, key + 1, key + 1));
	}
	EXPECT_THREAD_CALL(waiter.call, STATUS_SUCCESS, "");
	EXPECT_EQ(waiter.fence, 3);
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(wait, of_many_threads_ends_for_one_at_a_time, create(0, &shared))
{
	enum { THREADS = 4 };
	struct waiter waiters[THREADS] = { 0 };
	D3DKMT_HANDLE opened[THREADS];

	EXPECT_OK(poll(mutex, 0));
	for (unsigned i = 0; i < THREADS; i++) {
		opened[i] = open_shared(shared);
		waiter_start(&waiters[i], opened[i], i + 1);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		EXPECT_OK(release(i == 0 ? mutex : opened[i - 1], i + 1, i));
		EXPECT_THREAD_CALL(waiters[i].call, STATUS_SUCCESS, "");
		EXPECT_EQ(waiters[i].fence, i);
	}
	for (unsigned i = 0; i < THREADS; i++)
		EXPECT_OK(destroy(opened[i]));
}

TEST(wait, of_everyone_ends_abandoned_when_the_holder_is_destroyed)
{
	enum { THREADS = 3 };
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex = create(0, &shared);
	D3DKMT_HANDLE opened = open_shared(shared);
	struct waiter waiters[THREADS] = { 0 };

	EXPECT_OK(poll(mutex, 0));
	for (unsigned i = 0; i < THREADS; i++)
		waiter_start(&waiters[i], opened, i);
	let_others_wait();
	EXPECT_OK(destroy(mutex));
	for (unsigned i = 0; i < THREADS; i++) {
		EXPECT_THREAD_CALL(waiters[i].call, STATUS_ABANDONED, "");
		EXPECT_EQ(waiters[i].fence, 0);
	}
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(wait, ends_when_its_own_handle_is_destroyed, create(0, &shared))
{
	D3DKMT_HANDLE opened = open_shared(shared);
	struct waiter waiter = { 0 };

	waiter_start(&waiter, opened, 1);
	let_others_wait();
	EXPECT_OK(destroy(opened));
	EXPECT_THREAD_CALL(waiter.call, STATUS_INVALID_PARAMETER, "API-HANDLE");
	EXPECT_EQ(waiter.fence, GARBAGE);
	EXPECT_OK(poll(mutex, 0));
}

TEST(wait, ends_when_the_process_is_closed)
{
	struct waiter waiter = { 0 };

	waiter_start(&waiter, create(0, NULL), 1);
	let_others_wait();
	D3DKMTCloseDxCoreDevice();
	EXPECT_ENDED_WITH_PROCESS(waiter.call);
	EXPECT_EQ(waiter.fence, GARBAGE);
}

CHILD(exit_while_a_thread_waits)
{
	static struct waiter waiter;
	D3DKMT_HANDLE shared;

	CHILD_EXPECT(try_create(0, &shared, &waiter.mutex) == STATUS_SUCCESS);
	waiter.key = 1;
	child_leave_thread(waiter_run, &waiter);
	let_others_wait();
	return 0;
}

TEST(wait, does_not_keep_the_program_from_ending)
{
	EXPECT_CHILD(run_child("exit_while_a_thread_waits"), 0);
	EXPECT_CHILD(run_child("exit_while_a_thread_waits", "DXGK_SEED=1"), 0);
}

/* A thread whose first call starts everything, and whose second one waits. */
static void first_thread_run(void *argument)
{
	struct waiter *waiter = argument;
	D3DKMT_HANDLE shared;

	if (try_create(0, &shared, &waiter->mutex) != STATUS_SUCCESS)
		abort();
	waiter_run(waiter);
}

CHILD(first_calls_of_two_threads)
{
	D3DKMT_HANDLE global = 0x40000042;

	for (unsigned round = 0; round < 200; round++, global += 0x40) {
		struct waiter waiter = { .key = 1 };
		D3DKMT_HANDLE mutex;
		waiter.call.thread = dxgk_test_thread_create(first_thread_run, &waiter);
		CHILD_EXPECT(waiter.call.thread);
		/* Our first call may come before, between and after those of the other thread,
		   which waits for what we do. */
		while (try_open(global, &mutex) != STATUS_SUCCESS)
			;
		CHILD_EXPECT(poll(mutex, 0) == STATUS_SUCCESS);
		CHILD_EXPECT(release(mutex, 1, SOME_FENCE) == STATUS_SUCCESS);
		dxgk_test_thread_join(waiter.call.thread);
		CHILD_EXPECT(waiter.call.status == STATUS_SUCCESS && waiter.fence == SOME_FENCE);
		D3DKMTCloseDxCoreDevice();
	}
	return 0;
}

TEST(wait, does_not_keep_another_threads_first_call_out)
{
	/* Seeded only: in real time the waiter may come after the close, and meet the new mutex. */
	EXPECT_CHILD(run_child("first_calls_of_two_threads", "DXGK_SEED=1"), 0);
	EXPECT_CHILD(run_child("first_calls_of_two_threads", "DXGK_SEED=2"), 0);
}

/* Counts up under the mutex, taking turns by key. */
struct player {
	D3DKMT_HANDLE mutex;
	UINT64 key;
	UINT64 next_key;
	unsigned *counter;
	unsigned rounds;
	NTSTATUS worst;
	struct dxgk_test_thread *thread;
};

static void player_run(void *argument)
{
	struct player *player = argument;

	for (unsigned i = 0; i < player->rounds; i++) {
		D3DKMT_ACQUIREKEYEDMUTEX taken = { .hKeyedMutex = player->mutex,
						   .Key = player->key };
		NTSTATUS status = D3DKMTAcquireKeyedMutex(&taken);
		if (status == STATUS_SUCCESS && taken.FenceValue != *player->counter)
			status = STATUS_DATA_ERROR;
		D3DKMT_RELEASEKEYEDMUTEX given = { player->mutex, player->next_key,
						   ++*player->counter };
		if (status == STATUS_SUCCESS)
			status = D3DKMTReleaseKeyedMutex(&given);
		if (status != STATUS_SUCCESS)
			player->worst = status;
	}
}

MUTEX_TEST(wait, passes_the_mutex_round_in_the_order_of_the_keys, create(0, &shared))
{
	enum { PLAYERS = 3, ROUNDS = 50 };
	struct player players[PLAYERS];
	unsigned counter = 0;

	for (unsigned i = 0; i < PLAYERS; i++) {
		players[i] = (struct player){ .mutex = open_shared(shared),
					      .key = i,
					      .next_key = (i + 1) % PLAYERS,
					      .counter = &counter,
					      .rounds = ROUNDS };
		players[i].thread = begin_thread(player_run, &players[i]);
	}
	for (unsigned i = 0; i < PLAYERS; i++) {
		dxgk_test_thread_join(players[i].thread);
		EXPECT_OK(players[i].worst);
		EXPECT_OK(destroy(players[i].mutex));
	}
	EXPECT_EQ(counter, PLAYERS * ROUNDS);
}

/* Opens and closes while others do: the global handle is dead or works, and nothing else. */
struct opener {
	D3DKMT_HANDLE shared;
	unsigned opened;
	unsigned refused;
	unsigned wrong;
	struct dxgk_test_thread *thread;
};

static void opener_run(void *argument)
{
	struct opener *opener = argument;

	for (unsigned i = 0; i < 100; i++) {
		D3DKMT_OPENKEYEDMUTEX args = { .hSharedHandle = opener->shared };
		NTSTATUS status = D3DKMTOpenKeyedMutex(&args);
		D3DKMT_DESTROYKEYEDMUTEX done = { args.hKeyedMutex };
		if (status == STATUS_SUCCESS) {
			/* Once refused, refused for good. */
			opener->wrong += opener->refused != 0;
			opener->opened++;
			opener->wrong += D3DKMTDestroyKeyedMutex(&done) != STATUS_SUCCESS;
		} else {
			opener->wrong += status != STATUS_INVALID_PARAMETER;
			opener->refused++;
		}
	}
}

TEST(open, races_with_the_end_of_the_global_handle)
{
	enum { THREADS = 3 };
	struct opener openers[THREADS];
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE none;
	D3DKMT_HANDLE mutex = create(0, &shared);

	for (unsigned i = 0; i < THREADS; i++) {
		openers[i] = (struct opener){ .shared = shared };
		openers[i].thread = begin_thread(opener_run, &openers[i]);
	}
	EXPECT_OK(destroy(mutex));
	for (unsigned i = 0; i < THREADS; i++) {
		dxgk_test_thread_join(openers[i].thread);
		EXPECT_EQ(openers[i].wrong, 0);
	}
	EXPECT_BAD_HANDLE(try_open(shared, &none), "hSharedHandle");
}

/* Destroys one handle. */
struct destroyer {
	D3DKMT_HANDLE mutex;
	NTSTATUS status;
	struct dxgk_test_thread *thread;
};

static void destroyer_run(void *argument)
{
	struct destroyer *destroyer = argument;
	D3DKMT_DESTROYKEYEDMUTEX args = { destroyer->mutex };

	destroyer->status = D3DKMTDestroyKeyedMutex(&args);
}

TEST(destroy, of_one_handle_by_two_threads_succeeds_once)
{
	for (unsigned round = 0; round < 50; round++) {
		struct destroyer destroyer = { .mutex = create(0, NULL) };
		destroyer.thread = begin_thread(destroyer_run, &destroyer);
		NTSTATUS status = destroy(destroyer.mutex);
		dxgk_test_thread_join(destroyer.thread);
		EXPECT((status == STATUS_SUCCESS) != (destroyer.status == STATUS_SUCCESS));
		EXPECT_EQ(status + destroyer.status, STATUS_INVALID_PARAMETER);
	}
}

API_TEST_MAIN("api/keyed_mutex_wait")
