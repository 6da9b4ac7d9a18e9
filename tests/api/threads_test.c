/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - several threads of one client, on the same handles. Runs under the thread
 * sanitizer too.
 */
#include "api/support.h"

#include <pthread.h>

enum { THREADS = 4 };

static D3DKMT_HANDLE adapter;

/* Statuses are looked at by the thread that started the others: cmocka is not for several. */
struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	void (*run)(struct worker *worker);
	unsigned number;
	D3DKMT_HANDLE handle;
	unsigned rounds;
	unsigned succeeded;
	unsigned refused; /* with STATUS_INVALID_PARAMETER about a handle */
	unsigned other;   /* with anything else */
};

static void count(struct worker *worker, NTSTATUS status)
{
	struct dxgk_refusal why = last_refusal();

	if (status == STATUS_SUCCESS)
		worker->succeeded++;
	else if (status == STATUS_INVALID_PARAMETER && strcmp(why.rule, "API-HANDLE") == 0)
		worker->refused++;
	else
		worker->other++;
}

static void *worker_main(void *context)
{
	struct worker *worker = context;

	pthread_barrier_wait(worker->start);
	worker->run(worker);
	return NULL;
}

static void run_workers(struct worker *workers, unsigned number)
{
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, number);
	for (unsigned i = 0; i < number; i++) {
		workers[i].start = &start;
		workers[i].number = i;
		EXPECT_EQ(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]), 0);
	}
	for (unsigned i = 0; i < number; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&start);
}

/* ---- each with its own ---- */

static void come_and_go(struct worker *worker)
{
	for (unsigned i = 0; i < worker->rounds; i++) {
		D3DKMT_HANDLE device;
		D3DKMT_HANDLE context;
		count(worker, try_create_device(worker->handle, &device));
		count(worker, try_create_context(device, &context));
		count(worker, get_execution_state(device));
		if (i % 2 == 0)
			count(worker, destroy_context(context));
		count(worker, destroy_device(device));
	}
}

TEST(threads, each_makes_and_destroys_its_own_on_one_adapter)
{
	struct worker workers[THREADS] = { 0 };
	struct softgpu_escape_info before = soft_info(adapter);
	struct dxgk_test_memory memory = dxgk_test_memory();

	for (unsigned i = 0; i < THREADS; i++)
		workers[i] =
			(struct worker){ .run = come_and_go, .handle = adapter, .rounds = 100 };
	run_workers(workers, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		EXPECT_EQ(workers[i].succeeded, 450);
		EXPECT_EQ(workers[i].refused + workers[i].other, 0);
	}
	EXPECT_EQ(soft_info(adapter).live_devices, before.live_devices);
	EXPECT_EQ(soft_info(adapter).live_contexts, before.live_contexts);
	/* What threads keep to their end, and a server for the channel of each. */
	EXPECT(dxgk_test_memory().blocks <= memory.blocks + 16 + (is_served() ? 8 * THREADS : 0));
}

/* ---- the same handle ---- */

static void destroy_it(struct worker *worker)
{
	count(worker, destroy_device(worker->handle));
}

static void destroy_it_as_context(struct worker *worker)
{
	count(worker, destroy_context(worker->handle));
}

static void close_it(struct worker *worker)
{
	count(worker, close_adapter(worker->handle));
}

/* Of several that end the same object exactly one succeeds. */
static void expect_one_winner(void (*run)(struct worker *worker), D3DKMT_HANDLE handle)
{
	struct worker workers[THREADS] = { 0 };
	unsigned succeeded = 0;
	unsigned refused = 0;

	for (unsigned i = 0; i < THREADS; i++)
		workers[i] = (struct worker){ .run = run, .handle = handle };
	run_workers(workers, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		succeeded += workers[i].succeeded;
		refused += workers[i].refused;
	}
	EXPECT_EQ(succeeded, 1);
	EXPECT_EQ(refused, THREADS - 1);
}

TEST(threads, exactly_one_destroys_a_device)
{
	for (unsigned i = 0; i < 50; i++) {
		D3DKMT_HANDLE device = create_device(adapter);
		create_context(device);
		expect_one_winner(destroy_it, device);
	}
}

TEST(threads, exactly_one_destroys_a_context)
{
	D3DKMT_HANDLE device = create_device(adapter);

	for (unsigned i = 0; i < 50; i++)
		expect_one_winner(destroy_it_as_context, create_context(device));
	EXPECT_OK(destroy_device(device));
}

TEST(threads, exactly_one_closes_an_adapter)
{
	for (unsigned i = 0; i < 50; i++)
		expect_one_winner(close_it, open_first_adapter());
}

/* ---- one ends what the others use ---- */

static void use_until_gone(struct worker *worker)
{
	if (worker->number == 0) {
		for (unsigned i = 0; i < 5; i++)
			count(worker, get_execution_state(worker->handle));
		count(worker, destroy_device(worker->handle));
		return;
	}
	while (worker->refused == 0 && worker->other == 0) {
		D3DKMT_HANDLE context;
		count(worker, try_create_context(worker->handle, &context));
		if (worker->number == 1 && worker->refused == 0 && worker->other == 0) {
			unsigned before = worker->refused;
			count(worker, destroy_context(context));
			worker->refused = before; /* the device may have taken it along */
		}
		count(worker, get_execution_state(worker->handle));
	}
}

TEST(threads, a_device_may_be_destroyed_while_others_make_contexts_on_it)
{
	struct softgpu_escape_info before = soft_info(adapter);

	for (unsigned round = 0; round < 30; round++) {
		struct worker workers[THREADS] = { 0 };
		D3DKMT_HANDLE device = create_device(adapter);
		for (unsigned i = 0; i < THREADS; i++)
			workers[i] = (struct worker){ .run = use_until_gone, .handle = device };
		run_workers(workers, THREADS);
		EXPECT_EQ(workers[0].succeeded, 6);
		for (unsigned i = 0; i < THREADS; i++)
			EXPECT_EQ(workers[i].other, 0);
	}
	EXPECT_EQ(soft_info(adapter).live_devices, before.live_devices);
	EXPECT_EQ(soft_info(adapter).live_contexts, before.live_contexts);
}

static void escape_and_query(struct worker *worker)
{
	for (unsigned i = 0; i < worker->rounds; i++) {
		struct softgpu_escape_echo echo = {
			.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_ECHO, sizeof(echo), 0 },
			.value = worker->number,
		};
		D3DKMT_ESCAPE args = { .hAdapter = worker->handle,
				       .pPrivateDriverData = &echo,
				       .PrivateDriverDataSize = sizeof(echo) };
		struct softgpu_adapter_info info;
		args.Flags.HardwareAccess = i % 3 == 0;
		count(worker, D3DKMTEscape(&args));
		worker->other += echo.inverted != ~(uint64_t)worker->number;
		count(worker, query_adapter(worker->handle, KMTQAITYPE_UMDRIVERPRIVATE, &info,
					    sizeof(info)));
	}
}

TEST(threads, private_calls_of_several_do_not_mix)
{
	struct worker workers[THREADS] = { 0 };

	for (unsigned i = 0; i < THREADS; i++)
		workers[i] = (struct worker){ .run = escape_and_query,
					      .handle = adapter,
					      .rounds = 100 };
	run_workers(workers, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		EXPECT_EQ(workers[i].succeeded, 200);
		EXPECT_EQ(workers[i].other, 0);
	}
}

/* ---- the first call, and the end ---- */

static void open_and_create(struct worker *worker)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	D3DKMT_HANDLE device;

	count(worker, D3DKMTEnumAdapters2(&all));
	count(worker, try_create_device(infos[0].hAdapter, &device));
	worker->handle = device;
}

CHILD(first_calls_at_once)
{
	struct worker workers[THREADS] = { 0 };

	for (unsigned i = 0; i < THREADS; i++)
		workers[i].run = open_and_create;
	run_workers(workers, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		CHILD_EXPECT(workers[i].succeeded == 2);
		for (unsigned j = 0; j < i; j++)
			CHILD_EXPECT(workers[i].handle != workers[j].handle);
	}
	D3DKMT_HANDLE opened = child_open_adapter();
	struct softgpu_escape_info info = soft_info(opened);
	/* One process in the driver for all of them, and the kernel's own; a server has others. */
	CHILD_EXPECT(info.live_processes <= 2 || is_served());
	CHILD_EXPECT(info.live_devices >= THREADS);
	return 0;
}

TEST(threads, the_first_call_may_come_from_several_at_once)
{
	for (unsigned i = 0; i < 5; i++)
		EXPECT_CHILD(run_child("first_calls_at_once"), 0);
}

static void call_until_closed(struct worker *worker)
{
	for (unsigned i = 0; i < worker->rounds; i++) {
		D3DKMT_HANDLE device = 0;
		count(worker, try_create_device(worker->handle, &device));
		if (worker->number == 0 && i == worker->rounds / 2)
			D3DKMTCloseDxCoreDevice();
	}
}

CHILD(close_while_others_call)
{
	struct worker workers[THREADS] = { 0 };
	D3DKMT_HANDLE opened = child_open_adapter();

	for (unsigned i = 0; i < THREADS; i++)
		workers[i] =
			(struct worker){ .run = call_until_closed, .handle = opened, .rounds = 40 };
	run_workers(workers, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		CHILD_EXPECT(workers[i].other == 0);
		CHILD_EXPECT(workers[i].succeeded + workers[i].refused == 40);
	}
	CHILD_EXPECT(workers[0].succeeded == 21 && workers[0].refused == 19);
	return 0;
}

TEST(threads, the_whole_process_may_be_closed_while_others_call)
{
	for (unsigned i = 0; i < 5; i++)
		EXPECT_CHILD(run_child("close_while_others_call"), 0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		adapter = open_first_adapter();
	return api_main("api/threads", argc, argv);
}
