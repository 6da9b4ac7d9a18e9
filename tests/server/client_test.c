/* SPDX-License-Identifier: MIT */
/*
 * client_test.c - clients that do what programs do: close descriptors, fork, end in the middle of calls, have
 * threads that come and go.
 */
#include "api/soft_work.h"
#include "server/house.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

enum { READY = 1, GO, DONE };
enum { THREADS_AT_ONCE = 16, ROUNDS = 25, CANCELLED = 60 };

static void expect_served(const char *child, int wanted_status)
{
	struct house house;
	struct belongings before;

	house_open(&house, NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct lodger lodger = lodger_start(child);
		EXPECT_EQ(process_end(lodger.process), wanted_status);
		close(lodger.talk);
		expect_valid();
		if (i == 0)
			before = belongings_of(&house);
	}
	expect_nothing_left(&house, &before);
	house_close(&house);
}

/* ---- descriptors ---- */

/* Makes something that is seen: a message goes along. */
static bool is_lost(void)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	D3DKMT_CREATEPAGINGQUEUE queue = { 0 };
	NTSTATUS status = D3DKMTEnumAdapters2(&all);

	if (status == STATUS_SUCCESS)
		status = try_create_device(infos[0].hAdapter, &queue.hDevice);
	if (status == STATUS_SUCCESS)
		status = D3DKMTCreatePagingQueue(&queue);
	CHILD_EXPECT(status == STATUS_SUCCESS || status == STATUS_DEVICE_REMOVED);
	return status != STATUS_SUCCESS;
}

CHILD(closer)
{
	struct worker worker;

	worker_open(&worker, child_open_adapter());
	syscall(SYS_close_range, TALK_FD + 1, ~0u, 0);
	/* Goes on, or says what it is that is gone; hangs in no case. */
	NTSTATUS status = get_execution_state(worker.client.device);
	if (status != STATUS_SUCCESS) {
		CHILD_EXPECT(status == STATUS_DEVICE_REMOVED);
		CHILD_EXPECT(strcmp(last_refusal().rule, "SYS-SERVER") == 0);
	}
	/* Whoever opens files now gets the same numbers, and keeps them. */
	int own[32];
	for (unsigned i = 0; i < ARRAYSIZE(own); i++)
		CHILD_EXPECT((own[i] = memfd_create("own", 0)) >= 0);
	D3DKMTCloseDxCoreDevice();
	CHILD_EXPECT(!is_lost());
	expect_work_gets_done(open_first_adapter());
	for (unsigned i = 0; i < ARRAYSIZE(own); i++) {
		struct stat facts;
		CHILD_EXPECT(fstat(own[i], &facts) == 0 && facts.st_size == 0);
	}
	return 7;
}

TEST(client, that_closes_every_descriptor_goes_on_or_is_refused_by_name)
{
	expect_served("closer", 7);
}

/* Everybody's first call needs a message. */
static void *expect_cut_off(void *unused)
{
	(void)unused;
	CHILD_EXPECT(is_lost());
	CHILD_EXPECT(last_refusal().status == STATUS_DEVICE_REMOVED);
	CHILD_EXPECT(strcmp(last_refusal().rule, "SYS-SERVER") == 0);
	CHILD_EXPECT(strstr(last_refusal().reason, "closed the descriptor") != NULL);
	return NULL;
}

static void *close_process(void *unused)
{
	(void)unused;
	D3DKMTCloseDxCoreDevice();
	return NULL;
}

static void on_another_thread(void *(*run)(void *))
{
	pthread_t thread;

	CHILD_EXPECT(pthread_create(&thread, NULL, run, NULL) == 0);
	pthread_join(thread, NULL);
}

/* Calls say what is gone; one CloseDxCoreDevice, by whatever thread and noticed or not, begins anew. */
CHILD(cut_off)
{
	for (unsigned i = 0; i < 4; i++) {
		child_open_adapter();
		syscall(SYS_close_range, TALK_FD + 1, ~0u, 0);
		if (i != 2) {
			on_another_thread(expect_cut_off);
			expect_cut_off(NULL);
		}
		if (i == 0)
			D3DKMTCloseDxCoreDevice();
		else
			on_another_thread(close_process);
		CHILD_EXPECT(!is_lost());
	}
	expect_work_gets_done(open_first_adapter());
	test_say(READY, 0);
	test_hear();
	return 0;
}

CHILD(not_cut_off)
{
	expect_work_gets_done(child_open_adapter());
	test_say(READY, 0);
	test_hear();
	return 0;
}

static unsigned threads_with(const struct house *house, const char *child, unsigned at_most)
{
	struct lodger lodger = lodger_start(child);
	unsigned threads;

	lodger_hear(&lodger, READY);
	threads = count_entries(house->server, "task");
	for (unsigned i = 0; i < 500 && threads > at_most; i++) {
		usleep(10000);
		threads = count_entries(house->server, "task");
	}
	lodger_say(&lodger, GO, 0);
	lodger_end(&lodger);
	expect_valid();
	return threads;
}

TEST(client, that_is_cut_off_by_itself_begins_anew_at_once_and_its_old_sessions_end)
{
	struct house house;

	house_open(&house, NULL);
	threads_with(&house, "not_cut_off", UINT32_MAX);
	unsigned usual = threads_with(&house, "not_cut_off", UINT32_MAX);
	EXPECT_EQ(threads_with(&house, "cut_off", usual), usual);
	house_close(&house);
}

/* ---- fork ---- */

static int in_the_child_of(D3DKMT_HANDLE device)
{
	if (get_execution_state(device) != STATUS_NOT_SUPPORTED ||
	    strcmp(last_refusal().rule, "SYS-FORK") != 0)
		return 1;
	D3DKMTCloseDxCoreDevice();
	return 0;
}

CHILD(forker)
{
	struct worker worker;
	int status;

	worker_open(&worker, child_open_adapter());
	for (unsigned i = 0; i < 20; i++) {
		pid_t process = fork();
		CHILD_EXPECT(process >= 0);
		if (process == 0)
			_exit(in_the_child_of(worker.client.device));
		CHILD_EXPECT(waitpid(process, &status, 0) == process && status == 0);
		CHILD_EXPECT(get_execution_state(worker.client.device) == STATUS_SUCCESS);
	}
	expect_work_gets_done(worker.client.adapter);
	return 7;
}

TEST(client, that_forks_goes_on_and_its_child_is_refused)
{
	expect_served("forker", 7);
}

/* ---- threads ---- */

static struct client common;

/* One that the server is asked. */
static void *one_call(void *unused)
{
	D3DKMT_HANDLE device;

	(void)unused;
	CHILD_EXPECT(try_create_device(common.adapter, &device) == STATUS_SUCCESS);
	CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	return NULL;
}

static void come_and_go(unsigned rounds)
{
	pthread_t threads[THREADS_AT_ONCE];

	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < THREADS_AT_ONCE; i++)
			CHILD_EXPECT(pthread_create(&threads[i], NULL, one_call, NULL) == 0);
		for (unsigned i = 0; i < THREADS_AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
}

CHILD(many_threads)
{
	client_open(&common, child_open_adapter());
	come_and_go(ROUNDS);
	return 7;
}

TEST(client, may_have_threads_that_come_and_go_by_the_hundred)
{
	expect_served("many_threads", 7);
}

CHILD(had_threads)
{
	client_open(&common, child_open_adapter());
	test_say(READY, 0);
	test_hear();
	come_and_go(2);
	test_say(DONE, 0);
	test_hear();
	return 0;
}

/* A few are kept for those that come next. */
TEST(client, whose_threads_are_gone_costs_the_server_no_more_than_before)
{
	enum { KEPT_MOST = 4 };
	struct house house;

	house_open(&house, NULL);
	struct lodger lodger = lodger_start("had_threads");
	lodger_hear(&lodger, READY);
	unsigned before = count_entries(house.server, "task");
	lodger_say(&lodger, GO, 0);
	lodger_hear(&lodger, DONE);
	unsigned after = count_entries(house.server, "task");
	for (unsigned i = 0; i < 500 && after > before + KEPT_MOST; i++) {
		usleep(10000);
		after = count_entries(house.server, "task");
	}
	EXPECT(after <= before + KEPT_MOST);
	lodger_say(&lodger, GO, 0);
	lodger_end(&lodger);
	expect_valid();
	house_close(&house);
}

/* More than have a channel: refused by name, and there is one again when others have gone. */
static pthread_barrier_t everybody;
static _Atomic unsigned refused;

static void *stay_for_a_while(void *unused)
{
	D3DKMT_HANDLE device;

	(void)unused;
	if (try_create_device(common.adapter, &device) != STATUS_SUCCESS) {
		struct dxgk_refusal why = last_refusal();
		CHILD_EXPECT(why.status == STATUS_INSUFFICIENT_RESOURCES);
		CHILD_EXPECT(why.rule[0] != '\0' && why.reason[0] != '\0');
		atomic_fetch_add(&refused, 1);
	}
	pthread_barrier_wait(&everybody);
	return NULL;
}

CHILD(too_many_threads)
{
	enum { TOO_MANY = 100 };
	pthread_t threads[TOO_MANY];

	client_open(&common, child_open_adapter());
	pthread_barrier_init(&everybody, NULL, TOO_MANY);
	for (unsigned i = 0; i < TOO_MANY; i++)
		CHILD_EXPECT(pthread_create(&threads[i], NULL, stay_for_a_while, NULL) == 0);
	for (unsigned i = 0; i < TOO_MANY; i++)
		pthread_join(threads[i], NULL);
	CHILD_EXPECT(refused > 0 && refused < TOO_MANY);
	CHILD_EXPECT(pthread_create(&threads[0], NULL, one_call, NULL) == 0);
	pthread_join(threads[0], NULL);
	CHILD_EXPECT(get_execution_state(common.device) == STATUS_SUCCESS);
	return 7;
}

TEST(client, with_more_threads_than_channels_is_refused_by_name_and_goes_on)
{
	expect_served("too_many_threads", 7);
}

/* Events that are over before the call is that names them: the place of each is another thread's at once. */
static D3DKMT_HANDLE reached;

static void *wait_for_what_was(void *unused)
{
	enum { TIMES = 400 };
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	const UINT64 value = 1;

	(void)unused;
	for (unsigned i = 0; i < TIMES; i++) {
		CHILD_EXPECT(wait_event(common.device, reached, value, event) == STATUS_SUCCESS);
	}
	close(event);
	return NULL;
}

CHILD(hears_of_the_past)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };
	pthread_t threads[THREADS_AT_ONCE / 2];

	client_open(&common, child_open_adapter());
	fence.hDevice = common.device;
	fence.Info.MonitoredFence.InitialFenceValue = 1;
	CHILD_EXPECT(D3DKMTCreateSynchronizationObject2(&fence) == STATUS_SUCCESS);
	reached = fence.hSyncObject;
	for (unsigned i = 0; i < ARRAYSIZE(threads); i++)
		CHILD_EXPECT(pthread_create(&threads[i], NULL, wait_for_what_was, NULL) == 0);
	for (unsigned i = 0; i < ARRAYSIZE(threads); i++)
		pthread_join(threads[i], NULL);
	return 7;
}

TEST(client, whose_threads_name_events_at_once_has_each_of_them_set)
{
	expect_served("hears_of_the_past", 7);
}

/* ---- in the middle of calls ---- */

static void *call_for_ever(void *unused)
{
	(void)unused;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	for (;;) {
		D3DKMT_HANDLE memory = create_sized(&common, 64 * KIB, SOFTGPU_CPU_VISIBLE);
		CHILD_EXPECT(destroy_one(common.device, memory) == STATUS_SUCCESS);
		pthread_testcancel();
	}
}

CHILD(canceller)
{
	client_open(&common, child_open_adapter());
	for (unsigned i = 0; i < CANCELLED; i++) {
		pthread_t thread;
		CHILD_EXPECT(pthread_create(&thread, NULL, call_for_ever, NULL) == 0);
		CHILD_EXPECT(get_execution_state(common.device) == STATUS_SUCCESS);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	CHILD_EXPECT(get_execution_state(common.device) == STATUS_SUCCESS);
	return 7;
}

TEST(client, whose_threads_are_cancelled_goes_on)
{
	expect_served("canceller", 7);
}

static void *wait_without_end(void *unused)
{
	D3DKMT_CREATEKEYEDMUTEX made = { .InitialValue = 0 };

	(void)unused;
	CHILD_EXPECT(D3DKMTCreateKeyedMutex(&made) == STATUS_SUCCESS);
	test_say(READY, 0);
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { made.hKeyedMutex, 1, NULL, 0 };
	(void)!D3DKMTAcquireKeyedMutex(&acquire);
	return NULL;
}

CHILD(leaver)
{
	pthread_t thread;

	client_open(&common, child_open_adapter());
	for (unsigned i = 0; i < 4; i++)
		CHILD_EXPECT(pthread_create(&thread, NULL, wait_without_end, NULL) == 0);
	for (unsigned i = 0; i < 4; i++)
		CHILD_EXPECT(pthread_create(&thread, NULL, call_for_ever, NULL) == 0);
	CHILD_EXPECT(get_execution_state(common.device) == STATUS_SUCCESS);
	exit(7);
}

TEST(client, may_exit_while_its_threads_are_in_calls)
{
	expect_served("leaver", 7);
}

API_TEST_MAIN("server/client")
