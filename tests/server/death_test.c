/* SPDX-License-Identifier: MIT */
/*
 * death_test.c - clients that are killed at any instant, while they do all kinds of things.
 *
 * What each of them had is gone afterwards and the books are right; a client that works all the time beside them
 * sees no error and no byte that is not its own. TEST_SEED repeats the choice of calls and instants, as far as
 * the host repeats them.
 */
#include "api/soft_work.h"
#include "server/neighbour.h"

#include <pthread.h>
#include <sys/eventfd.h>

enum { SEED = 100 };
enum { AT_ONCE = 4, HELD = 8, MOST_BYTES = 256 * KIB };
enum { DEVICES = 30000 };

/* ---- one that is killed ---- */

struct victim {
	uint64_t chance;
	struct worker worker;
	D3DKMT_HANDLE held[HELD];
	uint64_t sizes[HELD];
};

static D3DKMT_HANDLE new_fence(D3DKMT_HANDLE device)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;

	CHILD_EXPECT(try_monitored_fence(device, false, &fence) == STATUS_SUCCESS);
	return fence.hSyncObject;
}

/* In a wait that nobody ends. */
static void *wait_for_ever(void *context)
{
	const struct victim *victim = context;
	D3DKMT_HANDLE fence = new_fence(victim->worker.client.device);

	(void)!wait_value(victim->worker.client.device, fence, 1);
	return NULL;
}

static void do_hold(struct victim *victim, unsigned slot)
{
	static const unsigned flags[] = { SOFTGPU_CPU_VISIBLE,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY };
	const struct client *client = &victim->worker.client;

	if (victim->held[slot]) {
		(void)!(below(&victim->chance, 2)
				? destroy_now(client, victim->held[slot])
				: destroy_one(client->device, victim->held[slot]));
		victim->held[slot] = 0;
		return;
	}
	victim->sizes[slot] = PAGE * (1 + below(&victim->chance, MOST_BYTES / PAGE));
	if (try_create_sized(client, victim->sizes[slot], flags[below(&victim->chance, 3)],
			     &victim->held[slot]) != STATUS_SUCCESS)
		victim->held[slot] = 0;
}

static void do_lock(struct victim *victim, D3DKMT_HANDLE held, uint64_t size_bytes)
{
	D3DKMT_HANDLE device = victim->worker.client.device;
	void *pointer;

	if (lock2(device, held, &pointer) != STATUS_SUCCESS)
		return;
	memset(pointer, 0xdd, size_bytes);
	if (below(&victim->chance, 4))
		(void)!unlock2(device, held);
}

static void do_move(struct victim *victim, const D3DKMT_HANDLE *held)
{
	const struct client *client = &victim->worker.client;
	D3DDDI_MAKERESIDENT residency = residency_of(client, held, 1, 0);
	D3DDDI_RECLAIM_RESULT result;
	uint64_t address;

	switch (below(&victim->chance, 5)) {
	case 0:
		(void)!D3DKMTMakeResident(&residency);
		break;
	case 1:
		(void)!evict(client, held, 1, 0);
		break;
	case 2:
		(void)!offer(client, held, 1, D3DKMT_OFFER_PRIORITY_LOW, 0);
		break;
	case 3:
		(void)!reclaim(client, held, 1, &result);
		break;
	default:
		(void)!try_map(client, *held, PAGE, &address);
	}
}

static void do_work(struct victim *victim)
{
	struct row row = { 0 };

	if (victim->worker.used_bytes + ROW_BYTES > DATA_BYTES) {
		worker_wait(&victim->worker);
		victim->worker.used_bytes = 0;
	}
	add_fill(&row, victim->worker.data, DATA_BYTES, 0xdddddddd);
	worker_run(&victim->worker, &row);
	if (below(&victim->chance, 2))
		worker_wait(&victim->worker);
}

static void do_fence(struct victim *victim)
{
	D3DKMT_HANDLE device = victim->worker.client.device;
	D3DKMT_HANDLE fence = new_fence(device);
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	CHILD_EXPECT(wait_event(device, fence, 5, event) == STATUS_SUCCESS);
	CHILD_EXPECT(signal_value(device, fence, 5) == STATUS_SUCCESS);
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT done = { fence };
	CHILD_EXPECT(D3DKMTDestroySynchronizationObject(&done) == STATUS_SUCCESS);
	close(event);
}

static void do_share(struct victim *victim)
{
	D3DKMT_HANDLE device = victim->worker.client.device;
	struct creation creation;
	HANDLE handle;

	creation_init_resource(&creation, device, 2, SHARED_NT);
	if (create(&creation) != STATUS_SUCCESS)
		return;
	if (D3DKMTShareObjects(1, &creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
			       &handle) == STATUS_SUCCESS) {
		D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE query = { .hDevice = device,
							       .hNtHandle = handle };

		(void)!D3DKMTQueryResourceInfoFromNtHandle(&query);
		close((int)(intptr_t)handle);
	}
	(void)!destroy_resource(device, creation.args.hResource);
}

static void do_mutex(struct victim *victim)
{
	LARGE_INTEGER soon = { .QuadPart = -10 };
	D3DKMT_CREATEKEYEDMUTEX made = { .InitialValue = 0 };

	(void)victim;
	CHILD_EXPECT(D3DKMTCreateKeyedMutex(&made) == STATUS_SUCCESS);
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { made.hKeyedMutex, 0, &soon, 0 };
	CHILD_EXPECT(D3DKMTAcquireKeyedMutex(&acquire) == STATUS_SUCCESS);
	D3DKMT_DESTROYKEYEDMUTEX done = { made.hKeyedMutex };
	CHILD_EXPECT(D3DKMTDestroyKeyedMutex(&done) == STATUS_SUCCESS);
}

static void do_something(struct victim *victim)
{
	unsigned slot = below(&victim->chance, HELD);

	switch (below(&victim->chance, 8)) {
	case 0:
	case 1:
		do_hold(victim, slot);
		break;
	case 2:
		if (victim->held[slot])
			do_lock(victim, victim->held[slot], victim->sizes[slot]);
		break;
	case 3:
		if (victim->held[slot])
			do_move(victim, &victim->held[slot]);
		break;
	case 4:
		do_work(victim);
		break;
	case 5:
		do_fence(victim);
		break;
	case 6:
		do_share(victim);
		break;
	default:
		do_mutex(victim);
	}
}

CHILD(victim)
{
	static struct victim victim;
	pthread_t thread;

	victim.chance = test_hear().value | 1;
	/* Some are killed while they begin. */
	bool has_begun = below(&victim.chance, 8) == 0;
	if (has_begun)
		test_say(NEIGHBOUR_BEGUN, 0);
	worker_open(&victim.worker, child_open_adapter());
	CHILD_EXPECT(pthread_create(&thread, NULL, wait_for_ever, &victim) == 0);
	if (!has_begun)
		test_say(NEIGHBOUR_BEGUN, 0);
	for (;;)
		do_something(&victim);
}

/* ---- the test ---- */

static void kill_some(unsigned count, uint64_t *chance)
{
	struct lodger victims[AT_ONCE] = { 0 };
	unsigned next = 0;

	for (unsigned killed = 0; killed < count; next = (next + 1) % AT_ONCE) {
		struct lodger *victim = &victims[next];

		if (victim->process) {
			lodger_hear(victim, NEIGHBOUR_BEGUN);
			/* The instant is chance's. */
			usleep(below(chance, 6000));
			lodger_kill(victim);
			killed++;
		}
		*victim = lodger_start("victim");
		lodger_say(victim, SEED, random_of(chance));
	}
	for (unsigned i = 0; i < AT_ONCE; i++) {
		if (victims[i].process)
			lodger_kill(&victims[i]);
	}
}

TEST(death, of_clients_at_any_instant_leaves_nothing_and_disturbs_nobody)
{
	struct house house;
	uint64_t chance = getenv("TEST_SEED") ? strtoull(getenv("TEST_SEED"), NULL, 10) | 1
					      : now_ms() << 1 | 1;
	uint64_t seed = chance;
	struct belongings before;

	house_open(&house, NULL);
	print_error("TEST_SEED=%llu\n", (unsigned long long)seed);
	/* What is made once and kept is there before anything is counted. */
	kill_some(AT_ONCE, &chance);
	expect_valid();
	before = belongings_of(&house);

	struct lodger neighbour = neighbour_start();
	kill_some(some_of(200, 10000), &chance);
	neighbour_end(&neighbour);

	expect_nothing_left(&house, &before);
	house_close(&house);
}

/* ---- one that has very much ---- */

CHILD(hoarder)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_HANDLE device;

	for (unsigned i = 0; i < DEVICES; i++)
		CHILD_EXPECT(try_create_device(adapter, &device) == STATUS_SUCCESS);
	test_say(NEIGHBOUR_BEGUN, 0);
	test_hear();
	return 0;
}

HOUSE_TEST(death, of_a_client_with_very_many_devices_is_soon_over)
{
	struct lodger hoarder = lodger_start("hoarder");
	lodger_hear(&hoarder, NEIGHBOUR_BEGUN);
	lodger_kill(&hoarder);
	uint64_t killed_ms = now_ms();
	expect_valid(); /* waits for the end of who has hung up */
	EXPECT(now_ms() < killed_ms + 10000);
}

API_TEST_MAIN("server/death")
