/* SPDX-License-Identifier: MIT */
/*
 * death_test.c - a process dies in the middle of a call, at each point where another thread could come
 * between, or while it waits: what it had is gone, the books are right, what it shared lives on, and the
 * others work on.
 *
 * The long version stops at each point, the other one at some.
 */
#include "api/strangers.h"

enum { POINTS_MAX = 4000, MOST_BYTES = 5 * MIB };

/* Who dies, who is there before and after, and what they have of each other. */
struct scene {
	struct stranger victim;
	struct stranger other;
	D3DKMT_HANDLE other_memory; /* of MOST_BYTES, and on no list */
	HANDLE others_handle;       /* of a resource of the other's */
	D3DKMT_HANDLE others_global;
	D3DKMT_HANDLE others_mutex; /* held by the other */

	/* The victim's. */
	HANDLE handle; /* of what it shares; the other has it open */
	struct pair opened;
	D3DKMT_HANDLE memory; /* of MOST_BYTES */
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE mutex;
};

struct deed {
	const char *name;
	void (*run)(struct scene *scene);
};

/* ---- what it does when it dies ---- */

static const struct client *victim_client(const struct scene *scene)
{
	return &scene->victim.worker.client;
}

static void creates(struct scene *scene)
{
	struct creation creation;

	creation_init_resource(&creation, victim_client(scene)->device, 2, SHARED_GLOBAL);
	(void)create(&creation);
}

static void destroys(struct scene *scene)
{
	(void)destroy_one(victim_client(scene)->device, scene->victim.worker.memory);
}

static void makes_resident(struct scene *scene)
{
	D3DDDI_MAKERESIDENT args =
		residency_of(victim_client(scene), &scene->victim.worker.memory, 1, 0);

	(void)evict(victim_client(scene), &scene->victim.worker.memory, 1, 0);
	(void)D3DKMTMakeResident(&args);
}

/* The other's has to leave for it. */
static void evicts(struct scene *scene)
{
	D3DDDI_MAKERESIDENT args = residency_of(victim_client(scene), &scene->memory, 1, CANT_TRIM);

	(void)D3DKMTMakeResident(&args);
}

static void offers_and_reclaims(struct scene *scene)
{
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = victim_client(scene)->queue,
					    .NumAllocations = 1,
					    .HandleList = &scene->victim.worker.memory };

	(void)offer(victim_client(scene), &scene->victim.worker.memory, 1, 1, OFFER_NOW);
	(void)D3DKMTReclaimAllocations2(&args);
}

static VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	(void)told;
}

static void trims(struct scene *scene)
{
	D3DKMT_TRIMPROCESSCOMMITMENT trim = { .cbSize = sizeof(trim),
					      .DecommitRequested = UINT64_MAX };
	D3DKMT_REGISTERTRIMNOTIFICATION registration = { .AdapterLuid = { .LowPart = 0x10000 },
							 .hDevice = victim_client(scene)->device,
							 .Callback = on_trim };
	D3DKMT_UNREGISTERTRIMNOTIFICATION end;

	if (D3DKMTRegisterTrimNotification(&registration) == STATUS_SUCCESS) {
		end = (D3DKMT_UNREGISTERTRIMNOTIFICATION){ .Handle = registration.Handle };
		(void)D3DKMTUnregisterTrimNotification(&end);
	}
	(void)offer(victim_client(scene), &scene->victim.worker.memory, 1, 1, 0);
	(void)D3DKMTTrimProcessCommitment(&trim);
}

static void locks(struct scene *scene)
{
	void *pointer;

	(void)lock2(victim_client(scene)->device, scene->victim.worker.memory, &pointer);
	(void)unlock2(victim_client(scene)->device, scene->victim.worker.memory);
}

/* By allocation list where there are no page tables (D3DKMTRender). */
static void submits(struct scene *scene)
{
	struct row row = { 0 };

	add_write(&row, scene->victim.worker.data, 1);
	(void)worker_submit(&scene->victim.worker, &row);
	(void)worker_signal(&scene->victim.worker, 1);
}

static void wait_for_one(const struct scene *scene, D3DKMT_HANDLE fence)
{
	const UINT64 value = 1;

	(void)wait_value(victim_client(scene)->device, fence, value);
}

static void waits(struct scene *scene)
{
	submits(scene);
	wait_for_one(scene, scene->victim.worker.fence);
}

static void waits_for_ever(struct scene *scene)
{
	wait_for_one(scene, scene->fence);
}

static void acquire(struct scene *scene, LARGE_INTEGER *timeout)
{
	D3DKMT_ACQUIREKEYEDMUTEX args = { .hKeyedMutex = scene->mutex, .pTimeout = timeout };

	(void)D3DKMTAcquireKeyedMutex(&args);
}

static void acquires(struct scene *scene)
{
	LARGE_INTEGER soon = { .QuadPart = -10000 };

	acquire(scene, &soon);
}

static void acquires_for_ever(struct scene *scene)
{
	acquire(scene, NULL);
}

static void shares(struct scene *scene)
{
	HANDLE handle;

	if (D3DKMTShareObjects(1, &scene->shared, NULL, SHARED_ALLOCATION_WRITE, &handle) ==
	    STATUS_SUCCESS)
		close((int)(intptr_t)handle);
}

static void opens(struct scene *scene)
{
	struct pair pair;

	(void)try_open_nt(victim_client(scene), scene->others_handle, &pair);
	(void)try_open_global(victim_client(scene), scene->others_global, &pair);
}

static void maps(struct scene *scene)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = victim_client(scene)->queue,
					     .hAllocation = scene->memory,
					     .SizeInPages = 16,
					     .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	if (status == STATUS_PENDING || status == STATUS_SUCCESS)
		(void)unmap(victim_client(scene), args.VirtualAddress, 16 * PAGE);
}

static void makes_a_device(struct scene *scene)
{
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE context;

	if (try_create_device(victim_client(scene)->adapter, &device) == STATUS_SUCCESS &&
	    try_create_context(device, &context) == STATUS_SUCCESS)
		(void)destroy_device(device);
}

/* ---- before and after ---- */

static HANDLE share_one(const struct client *client, D3DKMT_HANDLE *resource_out, uint64_t seed)
{
	struct creation creation;
	HANDLE handle;

	creation_init_resource(&creation, client->device, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	fill(client, creation.elements[0].hAllocation, SOME_BYTES, seed);
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
				     &handle));
	*resource_out = creation.args.hResource;
	return handle;
}

static void others_begin(struct scene *scene)
{
	const struct client *client = &scene->other.worker.client;
	D3DKMT_CREATEKEYEDMUTEX mutex = { .InitialValue = 0 };
	struct creation creation;
	D3DKMT_HANDLE resource;

	stranger_open(&scene->other, "other");
	be(scene->other.process);
	scene->other_memory = create_sized(client, MOST_BYTES, SOFTGPU_LOCAL_ONLY);
	scene->others_handle = share_one(client, &resource, 5);
	creation_init_resource(&creation, client->device, 1, SHARED_GLOBAL);
	EXPECT_OK(create(&creation));
	scene->others_global = creation.args.hGlobalShare;
	EXPECT_OK(D3DKMTCreateKeyedMutex(&mutex));
	scene->others_mutex = mutex.hSharedHandle;
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { .hKeyedMutex = mutex.hKeyedMutex, .Key = 0 };
	EXPECT_OK(D3DKMTAcquireKeyedMutex(&acquire));
	be(NULL);
}

static void victims_begin(struct scene *scene)
{
	D3DKMT_OPENKEYEDMUTEX open = { .hSharedHandle = scene->others_mutex };

	stranger_open(&scene->victim, "victim");
	be(scene->victim.process);
	const struct client *client = victim_client(scene);
	scene->memory = create_sized(client, MOST_BYTES, SOFTGPU_LOCAL_ONLY);
	scene->handle = share_one(client, &scene->shared, 7);
	EXPECT_OK(D3DKMTOpenKeyedMutex(&open));
	scene->mutex = open.hKeyedMutex;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = monitored_fence(client->device, false);
	scene->fence = fence.hSyncObject;
	be(scene->other.process);
	scene->opened = open_nt(&scene->other.worker.client, scene->handle);
	/* In GPU memory, on no list: it goes when somebody needs the room. */
	EXPECT_OK(make_resident(&scene->other.worker.client, &scene->other_memory, 1, CANT_TRIM));
	EXPECT_OK(evict(&scene->other.worker.client, &scene->other_memory, 1, ONLY_IF_NECESSARY));
	be(NULL);
}

static void expect_others_go_on(struct scene *scene, uint64_t value)
{
	const struct client *client = &scene->other.worker.client;

	expect_valid();
	be(scene->other.process);
	EXPECT_CONTENT(client, scene->opened.memory, SOME_BYTES, 7);
	EXPECT_OK(destroy_resource(client->device, scene->opened.resource));
	be(NULL);
	close((int)(intptr_t)scene->handle);
	stranger_work(&scene->other, value);
}

/* ---- death ---- */

struct dying {
	struct scene *scene;
	const struct deed *deed;
	bool is_parked;
	bool has_parked;
};

static void die(void *argument)
{
	struct dying *dying = argument;

	be(dying->scene->victim.process);
	dying->deed->run(dying->scene);
	be(NULL);
	if (dying->is_parked)
		dying->has_parked = dxgk_test_park_end();
}

static bool dies_at(struct scene *scene, const struct deed *deed, unsigned point)
{
	struct dying dying = { scene, deed, true, false };

	victims_begin(scene);
	dxgk_test_park("victim", point);
	struct dxgk_test_thread *thread = dxgk_test_thread_create_named("victim", die, &dying);
	dxgk_test_park_await();
	dxgk_test_process_end(scene->victim.process);
	dxgk_test_thread_join(thread);
	expect_others_go_on(scene, point);
	return dying.has_parked;
}

static void expect_death_anywhere(const struct deed *deed, unsigned first, unsigned stride)
{
	struct scene scene;
	unsigned point = first;

	ours = begin();
	others_begin(&scene);
	while (dies_at(&scene, deed, point) && point < POINTS_MAX)
		point += stride;
	EXPECT(point < POINTS_MAX && point > first);
	close((int)(intptr_t)scene.others_handle);
	stranger_end(&scene.other);
}

static const struct deed deeds[] = {
	{ "creates", creates },
	{ "destroys", destroys },
	{ "makes resident", makes_resident },
	{ "evicts", evicts },
	{ "offers", offers_and_reclaims },
	{ "trims", trims },
	{ "locks", locks },
	{ "submits", submits },
	{ "waits", waits },
	{ "acquires", acquires },
	{ "shares", shares },
	{ "opens", opens },
	{ "makes a device", makes_a_device },
};

TEST(death, in_the_middle_of_any_call_leaves_the_books_right)
{
	static const struct deed mapping = { "maps", maps };

	SKIP_UNLESS_SEEDED();
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		expect_death_anywhere(&deeds[i], 1 + (unsigned)i % some_of(2, 1), some_of(2, 1));
	if (!is_physical())
		expect_death_anywhere(&mapping, 1, some_of(2, 1));
}

/* It waits, and is not parked. */
TEST(death, in_a_wait_ends_the_wait)
{
	static const struct deed waiting[] = { { "waits", waits_for_ever },
					       { "acquires", acquires_for_ever } };

	for (size_t i = 0; i < 2; i++) {
		struct scene scene;
		struct dying dying = { &scene, &waiting[i], false, false };

		ours = begin();
		others_begin(&scene);
		victims_begin(&scene);
		struct dxgk_test_thread *thread =
			dxgk_test_thread_create_named("victim", die, &dying);
		if (!is_seeded())
			usleep(20000);
		/* On a busy machine it may not even have entered the process yet. */
		dxgk_test_process_kill(scene.victim.process);
		dxgk_test_thread_join(thread);
		dxgk_test_process_end(scene.victim.process);
		expect_others_go_on(&scene, i + 1);
		close((int)(intptr_t)scene.others_handle);
		stranger_end(&scene.other);
	}
}

API_TEST_MAIN("api/death")
