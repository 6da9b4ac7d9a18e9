/* SPDX-License-Identifier: MIT */
/*
 * trim_test.c - D3DKMTRegisterTrimNotification, D3DKMTRegisterBudgetChangeNotification and their
 * counterparts: who is told what, on which thread, and until when. On a GPU with 8 MiB.
 *
 * The same tests run in real time and, with DXGK_SEED, in a simulated one.
 */
#include "api/trim.h"

static void evict_it(struct ear *ear)
{
	if (evict(ear->client, &ear->to_evict, 1, 0) != STATUS_SUCCESS)
		abort();
}

/* ---- to budget ---- */

TEST(trim, to_budget_says_by_how_much_the_process_is_over)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };

	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&client, &ear);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&ear.calls, 1);
	EXPECT_EQ(ear.flags, TO_BUDGET);
	EXPECT_EQ(ear.bytes, MIB);
	EXPECT_OK(unlisten(ear.handle));
	EXPECT_EQ(ear.calls, 1);
}

TEST(trim, who_registers_while_over_budget_is_told)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };

	(void)in_memory(&client, 2 * MIB);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	listen_for_trims(&client, &ear);
	await(&ear.calls, 1);
	EXPECT_EQ(ear.flags, TO_BUDGET);
	EXPECT_EQ(ear.bytes, MIB);
	EXPECT_OK(unlisten(ear.handle));
}

CLIENT_TEST(trim, the_callback_may_evict_and_is_not_told_again, begin_quiet())
{
	struct ear ear = { .then = evict_it };

	(void)in_memory(client, MIB);
	ear.to_evict = in_memory(client, MIB);
	listen_for_trims(client, &ear);
	EXPECT_OK(set_budget(client, MIB, UINT64_MAX));
	await(&ear.ended, 1);
	EXPECT_EQ(memory_info(client, 0).CurrentUsage, MIB);
	pause_ms(20);
	EXPECT_EQ(ear.calls, 1);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(trim, what_one_callback_trims_the_next_is_not_asked_for)
{
	struct client client = begin_quiet();
	struct client other;
	struct ear first = { .then = evict_it };
	struct ear second = { 0 };

	client_open(&other, client.adapter);
	(void)in_memory(&other, MIB);
	first.to_evict = in_memory(&client, MIB);
	listen_for_trims(&client, &first);
	listen_for_trims(&other, &second);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&first.ended, 1);
	pause_ms(20);
	EXPECT_EQ(second.calls, 0);
	/* With nothing to evict in the first, both are told. */
	first.then = NULL;
	EXPECT_OK(set_budget(&client, MIB / 2, UINT64_MAX));
	await(&first.ended, 2);
	await(&second.ended, 1);
	EXPECT_EQ(second.bytes, MIB / 2);
	EXPECT_OK(unlisten(first.handle));
	EXPECT_OK(unlisten(second.handle));
}

TEST(trim, a_shrinking_budget_is_told_again)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };

	(void)in_memory(&client, 4 * MIB);
	listen_for_trims(&client, &ear);
	EXPECT_OK(set_budget(&client, 3 * MIB, UINT64_MAX));
	await(&ear.ended, 1);
	EXPECT_EQ(ear.bytes, MIB);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&ear.ended, 2);
	EXPECT_EQ(ear.bytes, 3 * MIB);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(trim, a_reclaim_that_goes_over_budget_is_followed_by_one)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };
	D3DKMT_HANDLE one = in_memory(&client, 2 * MIB);

	EXPECT_OK(offer(&client, &one, 1, D3DKMT_OFFER_PRIORITY_LOW, 0));
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	listen_for_trims(&client, &ear);
	EXPECT_OK(reclaim(&client, &one, 1, NULL));
	await(&ear.calls, 1);
	EXPECT_EQ(ear.flags, TO_BUDGET);
	EXPECT_EQ(ear.bytes, MIB);
	EXPECT_OK(unlisten(ear.handle));
}

/* ---- budgets ---- */

TEST(budget, a_change_is_told_with_the_new_budget)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };

	listen_for_budgets(&client, &ear);
	EXPECT_OK(set_budget(&client, 3 * MIB, UINT64_MAX));
	await(&ear.ended, 1);
	EXPECT_EQ(ear.budget, 3 * MIB);
	EXPECT_OK(set_budget(&client, 5 * MIB, UINT64_MAX));
	await(&ear.ended, 2);
	EXPECT_EQ(ear.budget, memory_info(&client, 0).Budget);
	/* Of the other group nobody speaks. */
	EXPECT_OK(set_budget(&client, 5 * MIB, MIB));
	pause_ms(20);
	EXPECT_EQ(ear.calls, 2);
	EXPECT_OK(unlisten_budget(ear.handle));
}

TEST(budget, is_told_apart_from_trims)
{
	struct client client = begin_quiet();
	struct ear trims = { 0 };
	struct ear budgets = { 0 };

	listen_for_trims(&client, &trims);
	listen_for_budgets(&client, &budgets);
	EXPECT_OK(set_budget(&client, 3 * MIB, UINT64_MAX));
	await(&budgets.calls, 1);
	EXPECT_BAD(unlisten(budgets.handle), "API-HANDLE", "Handle");
	EXPECT_BAD(unlisten_budget(trims.handle), "API-HANDLE", "Handle");
	EXPECT_OK(unlisten_budget(budgets.handle));
	EXPECT_OK(unlisten(trims.handle));
	EXPECT_EQ(trims.calls, 0);
}

/* ---- until when ---- */

TEST(unregister, afterwards_nothing_is_told)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };
	struct ear other = { 0 };

	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&client, &ear);
	listen_for_trims(&client, &other);
	EXPECT_OK(unlisten(ear.handle));
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&other.calls, 1);
	EXPECT_EQ(ear.calls, 0);
	EXPECT_BAD(unlisten(ear.handle), "API-HANDLE", "Handle");
	EXPECT_OK(unlisten(other.handle));
}

static void unlisten_self(struct ear *ear)
{
	if (unlisten(ear->handle) != STATUS_SUCCESS)
		abort();
}

CLIENT_TEST(unregister, in_the_callback_does_not_wait_for_it, begin_quiet())
{
	struct ear ear = { .then = unlisten_self };

	(void)in_memory(client, 2 * MIB);
	listen_for_trims(client, &ear);
	EXPECT_OK(set_budget(client, MIB, UINT64_MAX));
	await(&ear.ended, 1);
	EXPECT_BAD(unlisten(ear.handle), "API-HANDLE", "Handle");
}

/* A callback that takes as long as somebody wants it to. */
static _Atomic unsigned may_go_on;

static void go_on_later(struct ear *ear)
{
	(void)ear;
	while (!atomic_load(&may_go_on))
		pause_ms(1);
}

struct leaver {
	struct ear *ear;
	NTSTATUS status;
	unsigned ended; /* of the callback, when it returned */
	struct dxgk_test_thread *thread;
};

static void leaver_run(void *argument)
{
	struct leaver *leaver = argument;

	leaver->status = unlisten(leaver->ear->handle);
	leaver->ended = atomic_load(&leaver->ear->ended);
}

/* One that is called, and does not go on before it may. */
static void leave_in_a_callback(struct leaver *leaver)
{
	struct client client = begin_quiet();

	atomic_store(&may_go_on, 0);
	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&client, leaver->ear);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&leaver->ear->calls, 1);
	leaver->thread = begin_thread(leaver_run, leaver);
	pause_ms(10);
}

TEST(unregister, waits_for_a_callback_that_runs)
{
	struct ear ear = { .then = go_on_later };
	struct leaver leaver = { .ear = &ear };

	leave_in_a_callback(&leaver);
	EXPECT_EQ(ear.ended, 0);
	atomic_store(&may_go_on, 1);
	dxgk_test_thread_join(leaver.thread);
	EXPECT_OK(leaver.status);
	EXPECT_EQ(leaver.ended, 1);
}

TEST(unregister, of_another_waits_for_nobody)
{
	struct client client = begin_quiet();
	struct ear slow = { .then = go_on_later };
	struct ear other = { 0 };

	atomic_store(&may_go_on, 0);
	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&client, &slow);
	listen_for_trims(&client, &other);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&slow.calls, 1);
	EXPECT_OK(unlisten(other.handle));
	EXPECT_EQ(other.calls, 0);
	atomic_store(&may_go_on, 1);
	EXPECT_OK(unlisten(slow.handle));
	EXPECT_EQ(slow.ended, 1);
}

TEST(unregister, without_a_handle_takes_every_instance_of_the_callback)
{
	struct client client = begin_quiet();
	struct ear one = { 0 };
	struct ear two = { 0 };
	D3DKMT_UNREGISTERTRIMNOTIFICATION args = { .Callback = on_trim };

	listen_for_trims(&client, &one);
	listen_for_trims(&client, &two);
	EXPECT_OK(D3DKMTUnregisterTrimNotification(&args));
	EXPECT_BAD(unlisten(one.handle), "API-HANDLE", "Handle");
	EXPECT_BAD(unlisten(two.handle), "API-HANDLE", "Handle");
	/* There is none, as was asked for. */
	EXPECT_OK(D3DKMTUnregisterTrimNotification(&args));
}

TEST(unregister, may_come_after_the_end_of_the_device_which_tells_nothing_more)
{
	struct client client = begin_quiet();
	struct client other;
	struct ear gone = { 0 };
	struct ear here = { 0 };

	client_open(&other, client.adapter);
	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&other, &gone);
	listen_for_trims(&client, &here);
	EXPECT_OK(destroy_device(other.device));
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&here.calls, 1);
	EXPECT_EQ(gone.calls, 0);
	EXPECT_OK(unlisten(gone.handle));
	EXPECT_OK(unlisten(here.handle));
}

/* ---- the end of the process ---- */

TEST(end, takes_what_is_registered_along)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };

	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&client, &ear);
	D3DKMTCloseDxCoreDevice();
	client = begin_quiet();
	(void)in_memory(&client, 2 * MIB);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	pause_ms(10);
	EXPECT_EQ(ear.calls, 0);
	EXPECT_BAD(unlisten(ear.handle), "API-HANDLE", "Handle");
	expect_valid();
}

TEST(end, does_not_wait_for_a_callback_that_runs)
{
	struct client client = begin_quiet();
	struct ear ear = { .then = go_on_later };

	atomic_store(&may_go_on, 0);
	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&client, &ear);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&ear.calls, 1);
	D3DKMTCloseDxCoreDevice();
	client = begin_quiet();
	atomic_store(&may_go_on, 1);
	await(&ear.ended, 1);
	expect_valid();
}

static void close_all(struct ear *ear)
{
	(void)ear;
	D3DKMTCloseDxCoreDevice();
}

TEST(end, may_be_the_callback_s_doing)
{
	struct client client = begin_quiet();
	struct ear ear = { .then = close_all };

	(void)in_memory(&client, 2 * MIB);
	listen_for_trims(&client, &ear);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	await(&ear.ended, 1);
	client = begin_quiet();
	expect_valid();
}

TEST(end, refuses_who_waits_for_a_callback)
{
	struct ear ear = { .then = go_on_later };
	struct leaver leaver = { .ear = &ear };

	leave_in_a_callback(&leaver);
	D3DKMTCloseDxCoreDevice();
	dxgk_test_thread_join(leaver.thread);
	/* Or it came after the end, and there was none to unregister. */
	EXPECT(leaver.status == STATUS_PROCESS_IS_TERMINATING ||
	       leaver.status == STATUS_INVALID_PARAMETER);
	atomic_store(&may_go_on, 1);
	await(&ear.ended, 1);
}

/* In a program of its own: over its budget, with a callback that does `then`. */
static void child_listens(struct ear *ear)
{
	D3DKMT_ADAPTERINFO adapter = first_adapter();
	static struct client client;

	adapter_luid = adapter.AdapterLuid;
	client_open(&client, adapter.hAdapter);
	(void)in_memory(&client, 2 * MIB);
	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	listen_for_trims(&client, ear);
	/* Not through our calls: they may come to their end here. */
	while (atomic_load(&ear->calls) == 0)
		usleep(1000);
}

static void go_on_for_ever(struct ear *ear)
{
	(void)ear;
	for (;;)
		(void)unlisten((VOID *)(uintptr_t)GARBAGE);
}

CHILD(ends_in_a_callback_that_does_not)
{
	static struct ear ear = { .then = go_on_for_ever };

	child_listens(&ear);
	return 7;
}

static void end_program(struct ear *ear)
{
	(void)ear;
	exit(8);
}

CHILD(is_ended_by_a_callback)
{
	static struct ear ear = { .then = end_program };

	child_listens(&ear);
	pause();
	return 0;
}

static const char *const *child_settings(void)
{
	static char profile[4096];
	static const char *settings[] = { profile, NULL };

	snprintf(profile, sizeof(profile), "DXGK_PROFILE=%s", getenv("DXGK_PROFILE"));
	return settings;
}

TEST(end, of_the_program_does_not_wait_for_a_callback)
{
	EXPECT_CHILD(run_child_with("ends_in_a_callback_that_does_not", child_settings()), 7);
}

TEST(end, of_the_program_may_be_the_callback_s_doing)
{
	EXPECT_CHILD(run_child_with("is_ended_by_a_callback", child_settings()), 8);
}

/* ---- many threads ---- */

struct racer {
	struct client client;
	struct dxgk_test_thread *thread;
};

static void racer_run(void *argument)
{
	struct racer *racer = argument;

	for (int i = 0; i < 20; i++) {
		struct ear ear = { 0 };
		D3DKMT_REGISTERTRIMNOTIFICATION trim = trim_registration(&racer->client, &ear);
		NTSTATUS status = D3DKMTRegisterTrimNotification(&trim);

		/* The device may be gone by now. */
		if (status != STATUS_SUCCESS && status != STATUS_INVALID_PARAMETER)
			abort();
		(void)set_budget(&racer->client, MIB + (UINT64)i * MIB / 16, UINT64_MAX);
		/* Afterwards nobody looks at what is on this stack. */
		if (status == STATUS_SUCCESS && unlisten(trim.Handle) != STATUS_SUCCESS)
			abort();
	}
}

CLIENT_TEST(threads, register_and_unregister_while_devices_end, begin_quiet())
{
	enum { RACERS = 3 };

	struct racer racers[RACERS];

	(void)in_memory(client, 4 * MIB);
	for (int i = 0; i < RACERS; i++) {
		client_open(&racers[i].client, client->adapter);
		racers[i].thread = begin_thread(racer_run, &racers[i]);
	}
	for (int i = 0; i < RACERS - 1; i++)
		EXPECT_OK(destroy_device(racers[i].client.device));
	for (int i = 0; i < RACERS; i++)
		dxgk_test_thread_join(racers[i].thread);
}

/* ---- what is refused ---- */

TEST(register, refuses_what_is_wrong)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };
	D3DKMT_REGISTERTRIMNOTIFICATION trim = trim_registration(&client, &ear);
	D3DKMT_REGISTERBUDGETCHANGENOTIFICATION budget = { .hDevice = client.device };
	D3DKMT_UNREGISTERTRIMNOTIFICATION nothing = { 0 };

	trim.Callback = NULL;
	EXPECT_BAD(D3DKMTRegisterTrimNotification(&trim), "API-NULL-ARGUMENT", "Callback");
	trim = trim_registration(&client, &ear);
	trim.AdapterLuid.LowPart++;
	EXPECT_BAD(D3DKMTRegisterTrimNotification(&trim), "API-VALUE", "AdapterLuid");
	trim = trim_registration(&client, &ear);
	trim.hDevice = client.queue;
	EXPECT_BAD(D3DKMTRegisterTrimNotification(&trim), "API-HANDLE-KIND", "hDevice");
	EXPECT(!trim.Handle);
	EXPECT_BAD(D3DKMTRegisterBudgetChangeNotification(&budget), "API-NULL-ARGUMENT",
		   "Callback");
	EXPECT_BAD(D3DKMTUnregisterTrimNotification(&nothing), "API-NULL-ARGUMENT", "Callback");
	EXPECT_BAD(unlisten((VOID *)(uintptr_t)GARBAGE), "API-HANDLE", "Handle");
	EXPECT_BAD(unlisten_budget(NULL), "API-NULL-ARGUMENT", "Handle");
	EXPECT_BAD(unlisten_budget((VOID *)(uintptr_t)GARBAGE), "API-HANDLE", "Handle");
}

TEST(register, there_is_a_most)
{
	SKIP_UNLESS(!is_served(), "the quota of a server's client ends before");

	enum { MOST_OF_A_PROCESS = 4096 };
	struct client client = begin_quiet();
	struct ear ear = { 0 };
	D3DKMT_REGISTERTRIMNOTIFICATION trim = trim_registration(&client, &ear);
	D3DKMT_UNREGISTERTRIMNOTIFICATION all = { .Callback = on_trim };

	for (int i = 0; i < MOST_OF_A_PROCESS; i++)
		EXPECT_OK(D3DKMTRegisterTrimNotification(&trim));
	EXPECT_REFUSED(D3DKMTRegisterTrimNotification(&trim), STATUS_INSUFFICIENT_RESOURCES,
		       "API-COUNT", "Callback");
	EXPECT_OK(unlisten(trim.Handle));
	EXPECT_OK(D3DKMTRegisterTrimNotification(&trim));
	EXPECT_OK(D3DKMTUnregisterTrimNotification(&all));
}

TEST(register, survives_every_want_of_memory)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };
	int has_fired = 1;

	for (unsigned nth = 1; has_fired; nth++) {
		D3DKMT_REGISTERTRIMNOTIFICATION trim = trim_registration(&client, &ear);

		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = D3DKMTRegisterTrimNotification(&trim);
		has_fired = dxgk_test_fail_stop();
		EXPECT(status == STATUS_SUCCESS || (has_fired && status == STATUS_NO_MEMORY));
		if (status == STATUS_SUCCESS)
			EXPECT_OK(unlisten(trim.Handle));
		else
			EXPECT(!trim.Handle);
		expect_valid();
	}
}

API_TEST_MAIN("api/trim")
