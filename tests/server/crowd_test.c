/* SPDX-License-Identifier: MIT */
/*
 * crowd_test.c - many clients at once, and the end of the server under them.
 */
#include "api/soft_work.h"
#include "server/house.h"

#include <sys/eventfd.h>

enum { READY = 1, GO, GO_TO_BE_KILLED, DONE };
enum { CROWD = 256, WAITERS = 64, SOON_MS = 1000 };

/* ---- everybody a little ---- */

CHILD(passer_by)
{
	uint64_t number = test_hear().value;
	struct client client;
	D3DKMT_HANDLE memory;

	client_open(&client, child_open_adapter());
	memory = create_sized(&client, 64 * KIB, SOFTGPU_CPU_VISIBLE);
	fill(&client, memory, 64 * KIB, number);
	test_say(READY, 0);
	test_hear();
	EXPECT_OK(make_resident(&client, &memory, 1, 0));
	EXPECT_CONTENT(&client, memory, 64 * KIB, number);
	EXPECT_OK(destroy_now(&client, memory));
	test_say(DONE, 0);
	return 0;
}

TEST(crowd, of_256_clients_is_served_and_leaves_nothing)
{
	static struct lodger crowd[CROWD];
	struct house house;
	struct belongings before;

	house_open(&house, NULL);
	/* One before, for what is made once. */
	struct lodger first = lodger_start("passer_by");
	lodger_say(&first, GO, 0);
	lodger_hear(&first, READY);
	lodger_say(&first, GO, 0);
	lodger_hear(&first, DONE);
	lodger_end(&first);
	expect_valid();
	before = belongings_of(&house);

	for (unsigned i = 0; i < CROWD; i++) {
		crowd[i] = lodger_start("passer_by");
		lodger_say(&crowd[i], GO, i);
	}
	for (unsigned i = 0; i < CROWD; i++)
		lodger_hear(&crowd[i], READY);
	expect_valid();
	for (unsigned i = 0; i < CROWD; i++)
		lodger_say(&crowd[i], GO, 0);
	for (unsigned i = 0; i < CROWD; i++)
		lodger_hear(&crowd[i], DONE);
	for (unsigned i = 0; i < CROWD; i++)
		lodger_end(&crowd[i]);
	expect_nothing_left(&house, &before);
	house_close(&house);
}

/* ---- the server goes ---- */

struct held {
	struct worker worker;
	D3DKMT_HANDLE fence;
	const volatile UINT64 *word;
	int event;
	unsigned char *locked;
	D3DKMT_HANDLE memory;
};

static void hold_something(struct held *held)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;
	void *pointer;

	worker_open(&held->worker, child_open_adapter());
	CHILD_EXPECT(try_monitored_fence(held->worker.client.device, false, &fence) ==
		     STATUS_SUCCESS);
	held->fence = fence.hSyncObject;
	held->word = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	held->event = eventfd(0, EFD_CLOEXEC);
	held->memory = create_sized(&held->worker.client, 64 * KIB, SOFTGPU_CPU_VISIBLE);
	CHILD_EXPECT(lock2(held->worker.client.device, held->memory, &pointer) == STATUS_SUCCESS);
	held->locked = pointer;
	memset(pointer, 0x77, 64 * KIB);
}

static NTSTATUS wait_on(const struct held *held, UINT64 value, int event)
{
	return wait_event(held->worker.client.device, held->fence, value, event);
}

/*
 * Whatever was promised for when the server is gone. One that ends in order has destroyed what was locked, and
 * its pages show nothing; they can be read all the same.
 */
static void expect_gone(const struct held *held, bool is_killed)
{
	uint64_t count;

	while (*held->word != UINT64_MAX) /* ends by itself, or the test's patience does */
		;
	for (unsigned i = 0; i < 64 * KIB; i++)
		CHILD_EXPECT(held->locked[i] == 0x77 || (!is_killed && held->locked[i] == 0));
	CHILD_EXPECT(read(held->event, &count, sizeof(count)) == (ssize_t)sizeof(count));
	NTSTATUS status = unlock2(held->worker.client.device, held->memory);
	CHILD_EXPECT(status == STATUS_DEVICE_REMOVED);
	CHILD_EXPECT(strcmp(last_refusal().rule, "SYS-SERVER") == 0);
}

/* Waits for what never comes; a third in a call, the others by looking. */
CHILD(waiter)
{
	static struct held held;
	struct talk order = test_hear();
	uint64_t kind = order.value % 3;

	hold_something(&held);
	CHILD_EXPECT(wait_on(&held, 9, held.event) == STATUS_SUCCESS);
	test_say(READY, 0);
	if (kind == 0) {
		CHILD_EXPECT(wait_on(&held, 10, 0) == STATUS_DEVICE_REMOVED);
		CHILD_EXPECT(strcmp(last_refusal().rule, "SYS-SERVER") == 0);
	} else if (kind == 1) {
		D3DKMT_CREATEKEYEDMUTEX mutex = { .InitialValue = 0 };
		NTSTATUS status = D3DKMTCreateKeyedMutex(&mutex);
		D3DKMT_ACQUIREKEYEDMUTEX acquire = { mutex.hKeyedMutex, 1, NULL, 0 };

		if (status == STATUS_SUCCESS)
			status = D3DKMTAcquireKeyedMutex(&acquire);
		CHILD_EXPECT(status == STATUS_DEVICE_REMOVED);
	}
	expect_gone(&held, order.word == GO_TO_BE_KILLED);
	test_say(DONE, now_ms());

	/* Everything begins anew with the next server. */
	test_hear();
	D3DKMTCloseDxCoreDevice();
	expect_work_gets_done(open_first_adapter());
	test_say(DONE, 0);
	return 0;
}

static void end_under_waiters(bool is_killed)
{
	static struct lodger crowd[WAITERS];
	struct house house;

	house_open(&house, NULL);
	for (unsigned i = 0; i < WAITERS; i++) {
		crowd[i] = lodger_start("waiter");
		lodger_say(&crowd[i], is_killed ? GO_TO_BE_KILLED : GO, i);
	}
	for (unsigned i = 0; i < WAITERS; i++)
		lodger_hear(&crowd[i], READY);
	uint64_t ended_ms = now_ms();
	if (is_killed) {
		house_kill(&house);
	} else {
		kill(house.server, SIGTERM);
		EXPECT_EQ(process_end(house.server), 0);
		EXPECT(access(house.path, F_OK) != 0);
		house.server = 0;
		ended_ms = now_ms();
	}
	/* Each on its own: that all of them have a turn takes the host its time. */
	for (unsigned i = 0; i < WAITERS; i++)
		EXPECT(lodger_hear(&crowd[i], DONE) < ended_ms + 10 * SOON_MS);
	house_start(&house, NULL);
	for (unsigned i = 0; i < WAITERS; i++)
		lodger_say(&crowd[i], GO, 0);
	for (unsigned i = 0; i < WAITERS; i++)
		lodger_hear(&crowd[i], DONE);
	for (unsigned i = 0; i < WAITERS; i++)
		lodger_end(&crowd[i]);
	house_close(&house);
}

TEST(server, that_is_killed_lets_every_wait_return_and_another_one_takes_its_place)
{
	end_under_waiters(true);
}

TEST(server, that_is_asked_to_end_tells_every_client_and_removes_its_socket)
{
	end_under_waiters(false);
}

/* One alone, for the second that is promised. */
TEST(server, that_is_killed_lets_a_call_return_within_a_second)
{
	struct house house;

	house_open(&house, NULL);
	struct lodger waiter = lodger_start("waiter");
	lodger_say(&waiter, GO_TO_BE_KILLED, 0);
	lodger_hear(&waiter, READY);
	house_kill(&house);
	uint64_t ended_ms = now_ms();
	EXPECT(lodger_hear(&waiter, DONE) <= ended_ms + SOON_MS);
	lodger_kill(&waiter);
	house_remove(&house);
}

API_TEST_MAIN("server/crowd")
