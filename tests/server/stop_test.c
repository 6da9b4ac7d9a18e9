/* SPDX-License-Identifier: MIT */
/*
 * stop_test.c - clients that are stopped (SIGSTOP) at the worst moments: others go on, the server's memory stays
 * what it was, and when they may go on they do.
 */
#include "api/soft_work.h"
#include "server/house.h"

#include <sys/eventfd.h>

enum { READY = 1, GO, HERE, DONE };
enum { SIGNALS = 10000, GROWTH_KIB = 32 * 1024 };

static D3DKMT_HANDLE sync_device;

static void await_stop(const struct lodger *lodger)
{
	int status;

	EXPECT_EQ(waitpid(lodger->process, &status, WUNTRACED), lodger->process);
	EXPECT(WIFSTOPPED(status));
}

static void stop(const struct lodger *lodger)
{
	kill(lodger->process, SIGSTOP);
	await_stop(lodger);
}

static void expect_others_go_on(const struct house *house)
{
	struct lodger other = lodger_start("worker");

	lodger_hear(&other, DONE);
	lodger_end(&other);
	(void)house;
}

CHILD(worker)
{
	expect_work_gets_done(child_open_adapter());
	test_say(DONE, 0);
	return 0;
}

/* ---- in a wait, with events ---- */

CHILD(listener_of_events)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;
	int event = eventfd(0, EFD_CLOEXEC);
	uint64_t total = 0;
	uint64_t count;
	HANDLE handle;

	sync_device = child_create_device(child_open_adapter());
	CHILD_EXPECT(try_monitored_fence(sync_device, true, &fence) == STATUS_SUCCESS);
	CHILD_EXPECT(D3DKMTShareObjects(1, &fence.hSyncObject, NULL, 0x10000000, &handle) ==
		     STATUS_SUCCESS);
	/* As many as a process may have, so that each is set many times, all in all. */
	unsigned waits = 0;
	while (waits < SIGNALS &&
	       wait_event(sync_device, fence.hSyncObject, 1 + waits, event) == STATUS_SUCCESS)
		waits++;
	CHILD_EXPECT(talk_send(TALK_FD, (struct talk){ HERE, waits }, (int)(intptr_t)handle));
	CHILD_EXPECT(wait_value(sync_device, fence.hSyncObject, SIGNALS) == STATUS_SUCCESS);
	while (total < waits) {
		CHILD_EXPECT(read(event, &count, sizeof(count)) == (ssize_t)sizeof(count));
		total += count;
	}
	CHILD_EXPECT(total == waits);
	test_say(DONE, total);
	return 0;
}

CHILD(signaller)
{
	int descriptor;

	sync_device = child_create_device(child_open_adapter());
	test_hear_with(&descriptor);
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 args = { .hNtHandle = (HANDLE)(intptr_t)descriptor,
						    .hDevice = sync_device };
	CHILD_EXPECT(D3DKMTOpenSyncObjectFromNtHandle2(&args) == STATUS_SUCCESS);
	for (UINT64 value = 1; value <= SIGNALS; value++)
		CHILD_EXPECT(signal_value(sync_device, args.hSyncObject, value) == STATUS_SUCCESS);
	test_say(DONE, 0);
	return 0;
}

TEST(stopped, in_a_wait_and_with_thousands_of_events_holds_up_nobody_and_hears_of_each)
{
	struct house house;
	int descriptor;

	house_open(&house, NULL);
	struct lodger listener = lodger_start("listener_of_events");
	struct lodger signaller = lodger_start("signaller");
	struct talk here = lodger_hear_with(&listener, &descriptor);
	EXPECT_EQ(here.word, HERE);
	EXPECT(here.value > 0);
	stop(&listener);
	uint64_t before_kib = kib_of_server(&house);
	EXPECT(talk_send(signaller.talk, (struct talk){ HERE, 0 }, descriptor));
	close(descriptor);
	lodger_hear(&signaller, DONE);
	lodger_end(&signaller);
	expect_others_go_on(&house);
	EXPECT(kib_of_server(&house) < before_kib + GROWTH_KIB);
	expect_valid();
	kill(listener.process, SIGCONT);
	EXPECT_EQ(lodger_hear(&listener, DONE), here.value);
	lodger_end(&listener);
	house_close(&house);
}

/* ---- with a keyed mutex ---- */

CHILD(mutex_holder)
{
	D3DKMT_CREATEKEYEDMUTEX made = child_hold_mutex();

	test_say(HERE, made.hSharedHandle);
	test_hear();
	D3DKMT_RELEASEKEYEDMUTEX release = { made.hKeyedMutex, 1, 0 };
	CHILD_EXPECT(D3DKMTReleaseKeyedMutex(&release) == STATUS_SUCCESS);
	test_hear();
	return 0;
}

CHILD(mutex_wanter)
{
	D3DKMT_HANDLE global = (D3DKMT_HANDLE)test_hear().value;

	CHILD_EXPECT(child_want_mutex(global, 1, -200000, HERE) == STATUS_SUCCESS);
	test_say(DONE, 0);
	return 0;
}

TEST(stopped, with_a_keyed_mutex_keeps_it_and_who_wants_it_may_stop_waiting)
{
	struct house house;

	house_open(&house, NULL);
	struct lodger holder = lodger_start("mutex_holder");
	struct lodger wanter = lodger_start("mutex_wanter");
	lodger_say(&wanter, GO, lodger_hear(&holder, HERE));
	stop(&holder);
	lodger_hear(&wanter, HERE);
	expect_others_go_on(&house);
	lodger_say(&holder, GO, 0);
	kill(holder.process, SIGCONT);
	lodger_hear(&wanter, DONE);
	lodger_end(&wanter);
	lodger_kill(&holder);
	house_close(&house);
}

/* ---- with a callback that it does not answer ---- */

static VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	static _Atomic bool was_here;

	(void)told;
	if (!was_here) {
		was_here = true;
		test_say(HERE, 0);
		raise(SIGSTOP);
	}
}

CHILD(trimmed)
{
	struct client client;
	D3DKMT_HANDLE memory[24];

	client_open(&client, child_open_adapter());
	D3DKMT_REGISTERTRIMNOTIFICATION trim = { .hDevice = client.device, .Callback = on_trim };
	D3DKMT_ADAPTERINFO info = first_adapter();
	trim.AdapterLuid = info.AdapterLuid;
	CHILD_EXPECT(D3DKMTRegisterTrimNotification(&trim) == STATUS_SUCCESS);
	for (unsigned i = 0; i < ARRAYSIZE(memory); i++) {
		memory[i] = create_sized(&client, 256 * KIB, SOFTGPU_CPU_VISIBLE);
		fill(&client, memory[i], 256 * KIB, i);
		(void)!make_resident(&client, &memory[i], 1, 0);
	}
	test_say(READY, 0);
	test_hear();
	for (unsigned i = 0; i < ARRAYSIZE(memory); i++)
		EXPECT_CONTENT(&client, memory[i], 256 * KIB, i);
	test_say(DONE, 0);
	return 0;
}

CHILD(greedy)
{
	struct client client;
	D3DKMT_HANDLE memory[40];

	client_open(&client, child_open_adapter());
	for (unsigned i = 0; i < ARRAYSIZE(memory); i++) {
		memory[i] = create_sized(&client, 256 * KIB, SOFTGPU_CPU_VISIBLE);
		fill(&client, memory[i], 256 * KIB, 100 + i);
		(void)!make_resident(&client, &memory[i], 1, 0);
	}
	for (unsigned i = 0; i < ARRAYSIZE(memory); i++)
		EXPECT_CONTENT(&client, memory[i], 256 * KIB, 100 + i);
	test_say(DONE, 0);
	return 0;
}

TEST(stopped, in_a_callback_loses_memory_to_others_and_goes_on)
{
	const char *const options[] = { "--profile", getenv("TEST_SMALL"), NULL };
	struct house house;

	house_open(&house, options);
	struct lodger trimmed = lodger_start("trimmed");
	/* The callback comes with its own work, or with that of the other. */
	struct talk said = lodger_hear_with(&trimmed, NULL);
	bool was_told = said.word == HERE;
	if (was_told)
		await_stop(&trimmed);
	else
		EXPECT_EQ(said.word, READY);
	struct lodger greedy = lodger_start("greedy");
	lodger_hear(&greedy, DONE);
	lodger_end(&greedy);
	expect_others_go_on(&house);
	if (was_told) {
		kill(trimmed.process, SIGCONT);
		lodger_hear(&trimmed, READY);
	}
	lodger_say(&trimmed, GO, 0);
	said = lodger_hear_with(&trimmed, NULL);
	if (said.word == HERE) {
		EXPECT(!was_told);
		await_stop(&trimmed);
		kill(trimmed.process, SIGCONT);
		said = lodger_hear_with(&trimmed, NULL);
	}
	EXPECT_EQ(said.word, DONE);
	lodger_end(&trimmed);
	expect_valid();
	house_close(&house);
}

/* ---- and the server is to end ---- */

TEST(stopped, in_a_wait_or_a_callback_does_not_keep_the_server_from_ending)
{
	const char *const options[] = { "--profile", getenv("TEST_SMALL"), NULL };
	struct house house;

	house_open(&house, options);
	struct lodger waiting = lodger_start("listener_of_events");
	lodger_hear(&waiting, HERE);
	stop(&waiting);
	struct lodger trimmed = lodger_start("trimmed");
	struct lodger greedy = { 0 };
	if (lodger_hear_with(&trimmed, NULL).word == READY) {
		greedy = lodger_start("greedy");
		lodger_hear(&greedy, DONE);
		lodger_end(&greedy);
		EXPECT_EQ(lodger_hear_with(&trimmed, NULL).word, HERE);
	}
	await_stop(&trimmed);
	uint64_t began_ms = now_ms();
	house_close(&house); /* and expects a good end */
	EXPECT(now_ms() - began_ms < 10000);
	lodger_kill(&waiting);
	lodger_kill(&trimmed);
}

API_TEST_MAIN("server/stop")
