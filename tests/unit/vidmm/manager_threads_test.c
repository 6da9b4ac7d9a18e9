/* SPDX-License-Identifier: MIT */
/*
 * manager_threads_test.c - many clients at once, with less memory than they want.
 *
 * One thread runs the jobs, one ends work, and each client makes resident, evicts, offers, reclaims
 * and locks its own memory and one piece that all share. What a client wrote is there when it
 * looks.
 */
#include <assert.h>

#include "base/random.h"
#include "base/thread.h"
#include "gpu.h"
#include "vidmm/control.h"

enum { CLIENTS = 3, OWN = 6, ROUNDS = 400 };

static struct crowd {
	struct gpu gpu;
	struct vidmm_process processes[CLIENTS];
	struct client clients[CLIENTS];
	struct thing things[CLIENTS][OWN];
	struct thing shared[CLIENTS];
	_Atomic uint32_t pending[CLIENTS][OWN + 1]; /* requests under way */
	_Atomic uint32_t locks_begun;               /* by the CPU */
	_Atomic uint32_t locks_over;
	_Atomic bool is_over;
} crowd;

/* Not EXPECT: that belongs to the test's own thread. */
#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct call {
	struct vidmm_request request;
	_Atomic uint32_t is_done;
};

static void on_done(struct vidmm_request *request, NTSTATUS status)
{
	struct call *call = container_of(request, struct call, request);

	(void)status;
	atomic_store(&call->is_done, 1);
	thread_wake_all(&call->is_done);
}

static void call_wait(struct call *call)
{
	while (!atomic_load(&call->is_done))
		thread_wait(&call->is_done, 0, CLOCK_FOREVER);
}

static void run_jobs(void *argument)
{
	(void)argument;
	while (!atomic_load(&crowd.is_over)) {
		if (gpu_run(&crowd.gpu, 10) == 0)
			clock_sleep_until(clock_deadline(NS_PER_US * 50));
	}
}

static void end_work(void *argument)
{
	(void)argument;
	while (!atomic_load(&crowd.is_over)) {
		for (int i = 0; i < CLIENTS; i++) {
			if (fake_owner_runs(&crowd.clients[i].owner))
				gpu_retire(&crowd.clients[i]);
		}
		clock_sleep_until(clock_deadline(NS_PER_US * 20));
	}
}

/* False: no budget. */
static bool bring_in(struct thing *thing)
{
	struct call call = { .request.done = on_done };
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;
	NTSTATUS status =
		vidmm_make_resident(thing->binding.device, list, 1, 0, &call.request, &bytes);

	REQUIRE(status == STATUS_SUCCESS || status == STATUS_PENDING || status == STATUS_NO_MEMORY);
	if (status == STATUS_PENDING)
		call_wait(&call);
	return status != STATUS_NO_MEMORY;
}

static bool reclaim(struct thing *thing)
{
	struct call call = { .request.done = on_done };
	struct vidmm_binding *list[] = { &thing->binding };
	enum vidmm_reclaim_result result;
	NTSTATUS status =
		vidmm_reclaim_bindings(thing->binding.device, list, 1, &result, &call.request);

	REQUIRE(status == STATUS_SUCCESS || status == STATUS_PENDING);
	if (status == STATUS_PENDING)
		call_wait(&call);
	return result == VIDMM_RECLAIM_OK;
}

static bool reclaim_now(struct thing *thing)
{
	struct vidmm_binding *list[] = { &thing->binding };
	enum vidmm_reclaim_result result;

	uint32_t begun = atomic_load(&crowd.locks_begun);
	bool was_free = begun == atomic_load(&crowd.locks_over);
	NTSTATUS status = vidmm_reclaim_now(thing->binding.device, list, 1, &result);

	/* What others have locked stays where it is, and may be in the way. */
	REQUIRE(status == STATUS_SUCCESS ||
		(status == STATUS_DEVICE_REMOVED &&
		 !(was_free && begun == atomic_load(&crowd.locks_begun))));
	REQUIRE(result != VIDMM_RECLAIM_NOT_COMMITTED);
	return result == VIDMM_RECLAIM_OK;
}

static char swap_content(struct thing *thing, char expected, char next)
{
	void *pointer;
	char found;

	atomic_fetch_add(&crowd.locks_begun, 1);
	REQUIRE(vidmm_lock_anywhere(crowd.gpu.manager, thing->memory, 0, &pointer) ==
		STATUS_SUCCESS);
	found = *(char *)pointer;
	REQUIRE(is_all(pointer, thing->memory->size_bytes, found));
	REQUIRE(expected == 1 || found == expected);
	memset(pointer, next, thing->memory->size_bytes);
	REQUIRE(vidmm_unlock_anywhere(crowd.gpu.manager, thing->memory));
	atomic_fetch_add(&crowd.locks_over, 1);
	return found;
}

static void run_client(void *argument)
{
	uint32_t me = (uint32_t)(uintptr_t)argument;
	struct client *client = &crowd.clients[me];
	char content[OWN] = { 0 };
	uint32_t counts[OWN] = { 0 };
	struct random random;

	random_init(&random, me + 1);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t at = (uint32_t)random_below(&random, OWN);
		struct thing *thing = &crowd.things[me][at];
		char next = (char)('a' + random_below(&random, 26));

		switch (random_below(&random, 8)) {
		case 0:
		case 1:
			counts[at] += bring_in(thing);
			break;
		case 2:
			if (counts[at] > 0) {
				REQUIRE(thing_evict(thing, round % 2) == STATUS_SUCCESS);
				counts[at]--;
			}
			break;
		case 3:
			REQUIRE(vidmm_binding_offer(&thing->binding, VIDMM_OFFER_NORMAL,
						    round % 3 == 0, false) == STATUS_SUCCESS);
			/* Its own, or while that one reclaims. */
			if (round % 2)
				(void)vidmm_process_decommit(
					&crowd.processes[random_below(&random, CLIENTS)], PAGE,
					VIDMM_DECOMMIT_LAZILY);
			if (!(next % 2 ? reclaim(thing) : reclaim_now(thing)))
				content[at] = 0;
			break;
		case 4:
			gpu_work(client);
			vidmm_device_has_work(&client->device);
			break;
		case 5:
			if (bring_in(&crowd.shared[me]))
				REQUIRE(thing_evict(&crowd.shared[me], round % 2) ==
					STATUS_SUCCESS);
			break;
		default:
			swap_content(thing, content[at], next);
			content[at] = next;
			break;
		}
		(void)vidmm_where(crowd.shared[me].binding.device->process->manager,
				  crowd.shared[me].memory);
		(void)vidmm_process_memory_info(&crowd.processes[me], VIDMM_LOCAL);
	}
	for (int i = 0; i < OWN; i++)
		for (; counts[i] > 0; counts[i]--)
			REQUIRE(thing_evict(&crowd.things[me][i], 0) == STATUS_SUCCESS);
}

TEST(threads, clients_that_want_more_than_there_is_keep_their_bytes)
{
	struct thread *threads[CLIENTS];
	struct thread *jobs;
	struct thread *ends;

	memset(&crowd, 0, sizeof(crowd));
	gpu_init(&crowd.gpu, &(struct gpu_config){ .local_bytes = MIB,
						   .slice_ns = NS_PER_MS,
						   .has_clock = true });
	for (int i = 0; i < CLIENTS; i++) {
		vidmm_process_init(&crowd.processes[i], crowd.gpu.manager,
				   &crowd.gpu.world.adapter);
		client_init(&crowd.clients[i], &crowd.processes[i]);
		for (int j = 0; j < OWN; j++)
			thing_init(&crowd.things[i][j], &crowd.clients[i],
				   (uint64_t)(4 + 13 * j) * PAGE,
				   j % 2 ? SET_LOCAL : SET_LOCAL | SET_SYSTEM);
		if (i == 0)
			thing_init(&crowd.shared[0], &crowd.clients[0], 16 * PAGE, SET_LOCAL);
		else
			thing_open(&crowd.shared[i], &crowd.clients[i], &crowd.shared[0]);
	}
	EXPECT_EQ(thread_create("jobs", run_jobs, NULL, &jobs), STATUS_SUCCESS);
	EXPECT_EQ(thread_create("ends", end_work, NULL, &ends), STATUS_SUCCESS);
	for (uintptr_t i = 0; i < CLIENTS; i++)
		EXPECT_EQ(thread_create("client", run_client, (void *)i, &threads[i]),
			  STATUS_SUCCESS);
	for (int i = 0; i < CLIENTS; i++)
		thread_join(threads[i]);
	/* On nobody's list any more, and out: from here on the manager's clock has nothing to do.
	 */
	for (int i = 0; i < CLIENTS; i++)
		while (atomic_load(&crowd.clients[i].owner.pending) > 0)
			clock_sleep_until(clock_deadline(NS_PER_US * 50));
	vidmm_evict_selected(crowd.gpu.manager, &(struct vidmm_selection){ 0 });
	atomic_store(&crowd.is_over, true);
	thread_join(jobs);
	thread_join(ends);
	gpu_run(&crowd.gpu, 1000);
	gpu_check(&crowd.gpu);
	for (int i = CLIENTS - 1; i >= 0; i--) {
		for (int j = 0; j < OWN; j++)
			thing_finish(&crowd.things[i][j]);
		if (i > 0)
			thing_close(&crowd.shared[i]);
		else
			thing_finish(&crowd.shared[0]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		client_finish(&crowd.clients[i]);
		vidmm_process_finish(&crowd.processes[i]);
	}
	gpu_finish(&crowd.gpu);
}

TEST_MAIN("vidmm/manager_threads")
