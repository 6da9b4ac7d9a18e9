/* SPDX-License-Identifier: MIT */
/*
 * remote_test.c - the client's side of a server (src/thunk/remote.h), in front of one that the test plays:
 * it refuses, falls silent, hangs up in the middle, says what nobody expects. Each case is a process of
 * its own. What a real server does is in tests/server.
 */
#include "support/test.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include "unit/thunk/played_calls.h"

/* ---- greetings ---- */

static void is_not_welcome(void *argument)
{
	(void)argument;
	played_open(kernel);
	played.welcome.welcome.status = STATUS_REVISION_MISMATCH;
	snprintf(played.welcome.welcome.reason, sizeof(played.welcome.welcome.reason),
		 "built differently");
	expect_refused(close_adapter(), STATUS_REVISION_MISMATCH, "SYS-SERVER",
		       "built differently");
	played.welcome = (struct wire_message){ .kind = WIRE_GOODBYE };
	expect_refused(close_adapter(), STATUS_PORT_CONNECTION_REFUSED, "SYS-SERVER",
		       "does not answer as dxgkd does");
	played.welcome = (struct wire_message){ 0 };
	expect_refused(close_adapter(), STATUS_PORT_CONNECTION_REFUSED, "SYS-SERVER",
		       "does not answer as dxgkd does");
	/* Nothing is remembered of it. */
	played.welcome = (struct wire_message){ .kind = WIRE_WELCOME };
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	CHILD_EXPECT(atomic_load(&played.greeted) == 4);
}

TEST(greeting, that_is_no_welcome_refuses_the_call_with_the_servers_reason)
{
	EXPECT_PLAYED(is_not_welcome, NULL);
}

static void connect_simulated(void *argument)
{
	(void)argument;
	setenv("DXGK_SOCKET", "/nowhere", 1);
	sim_start(1);
	expect_refused(close_adapter(), STATUS_NOT_SUPPORTED, "SYS-SERVER", "DXGK_SEED");
}

TEST(greeting, is_not_tried_in_a_simulated_run)
{
	EXPECT_PLAYED(connect_simulated, NULL);
}

/* ---- the end of the server ---- */

static unsigned char long_bytes[LONG_BYTES];

static void expect_inverted(void)
{
	for (uint32_t i = 0; i < LONG_BYTES; i++)
		long_bytes[i] = (unsigned char)(i * 7);
	CHILD_EXPECT(escape(long_bytes, LONG_BYTES) == STATUS_SUCCESS);
	for (uint32_t i = 0; i < LONG_BYTES; i++)
		CHILD_EXPECT(long_bytes[i] == (unsigned char)~(i * 7));
}

static void hangs_up(void *argument)
{
	uint32_t at = *(uint32_t *)argument;

	played_open(kernel);
	expect_inverted();
	CHILD_EXPECT(count_asked(WIRE_PUT) == 4 && count_asked(WIRE_MORE) == 3);
	atomic_store(&played.hangs_up_at, at);
	expect_lost(escape(long_bytes, LONG_BYTES));
	/* It stays lost, whatever is asked, until the process says that it begins anew. */
	atomic_store(&played.hangs_up_at, PLAYED_NEVER);
	expect_lost(close_adapter());
	expect_lost(connection_listen(&(struct dxgk_embed_listener){ .news = DXGK_EMBED_BUDGET },
				      NULL, 0));
	CHILD_EXPECT(atomic_load(&played.greeted) == 1);
	connection_close();
	expect_inverted();
	CHILD_EXPECT(atomic_load(&played.greeted) == 2);
}

TEST(server, that_goes_at_any_part_of_a_call_is_told_and_can_be_found_again)
{
	static uint32_t parts[] = { WIRE_PUT, CALL_escape, WIRE_MORE };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		EXPECT_PLAYED(hangs_up, &parts[i]);
}

static void hangs_up_at_the_first_part(void *argument)
{
	uint32_t size_bytes = *(uint32_t *)argument;

	played_open(kernel);
	CHILD_EXPECT(escape(long_bytes, size_bytes) == STATUS_SUCCESS);
	CHILD_EXPECT(count_asked(WIRE_PUT) == 0);
	atomic_store(&played.hangs_up_at, CALL_escape);
	expect_lost(escape(long_bytes, size_bytes));
}

TEST(server, that_goes_at_a_call_in_one_part_is_told_however_long_that_is)
{
	static uint32_t sizes[] = { 16, REMOTE_DRAFT_BYTES, CHANNEL_BUFFER_BYTES / 2 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		EXPECT_PLAYED(hangs_up_at_the_first_part, &sizes[i]);
}

static void hangs_up_at_services(void *argument)
{
	struct dxgk_embed_listener listener = { .news = DXGK_EMBED_BUDGET };

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	atomic_store(&played.hangs_up_at, WIRE_LISTEN);
	expect_lost(connection_listen(&listener, NULL, 0));
}

TEST(server, that_goes_at_a_service_is_told)
{
	EXPECT_PLAYED(hangs_up_at_services, NULL);
}

static void says_goodbye(void *argument)
{
	struct wire_message goodbye = { .kind = WIRE_GOODBYE };
	int event = eventfd(0, EFD_CLOEXEC);
	uint64_t count = 0;

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	CHILD_EXPECT(remote_event_lend((uintptr_t)event) != 0);
	snprintf(goodbye.welcome.reason, sizeof(goodbye.welcome.reason), "it is late");
	played_say(&goodbye, -1);
	played_hang_up();
	/* What it could have set is set: nobody waits for it in vain. */
	CHILD_EXPECT(read(event, &count, sizeof(count)) == (ssize_t)sizeof(count) && count == 1);
	expect_refused(close_adapter(), STATUS_DEVICE_REMOVED, "SYS-SERVER", "it is late");
}

TEST(server, that_says_why_it_goes_is_quoted_and_events_are_set)
{
	EXPECT_PLAYED(says_goodbye, NULL);
}

/* ---- replies ---- */

static void fails_poorly(void *argument)
{
	(void)argument;
	played_open(kernel);
	answer[CALL_close_adapter] = STATUS_INVALID_PARAMETER;
	expect_refused(close_adapter(), STATUS_INVALID_PARAMETER, "API-VALUE", "does not want to");
	/* Not even for the refusal was there memory. */
	answer[CALL_close_adapter] = STATUS_NO_MEMORY;
	played.is_poor = true;
	expect_refused(close_adapter(), STATUS_NO_MEMORY, "SYS-SERVER", "no memory for the reply");
}

TEST(reply, without_a_reason_is_given_one)
{
	EXPECT_PLAYED(fails_poorly, NULL);
}

static void takes_no_parts(void *argument)
{
	(void)argument;
	played_open(kernel);
	atomic_store(&played.put_status, STATUS_NO_MEMORY);
	expect_refused(escape(long_bytes, LONG_BYTES), STATUS_NO_MEMORY, "API-NO-MEMORY",
		       "the server has no memory");
	CHILD_EXPECT(count_asked(CALL_escape) == 0);
	atomic_store(&played.put_status, STATUS_SUCCESS);
	expect_inverted();
}

TEST(request, in_parts_for_which_the_server_has_no_memory_is_refused)
{
	EXPECT_PLAYED(takes_no_parts, NULL);
}

static void is_too_long(void *argument)
{
	enum { COUNT = 80 };
	static D3DDDI_ALLOCATIONINFO2 all[COUNT];
	D3DKMT_CREATEALLOCATION args = { .hDevice = DEVICE,
					 .NumAllocations = COUNT,
					 .pAllocationInfo2 = all };
	void *bytes = calloc(1, CALL_MAX_PRIVATE_BYTES);

	(void)argument;
	played_open(kernel);
	for (unsigned i = 0; i < COUNT; i++) {
		all[i].pPrivateDriverData = bytes;
		all[i].PrivateDriverDataSize = CALL_MAX_PRIVATE_BYTES;
	}
	expect_refused(connection_call(CALL_create_allocation2, &args), STATUS_INVALID_PARAMETER,
		       "API-COUNT", "64 MiB");
	CHILD_EXPECT(atomic_load(&played.asked) == 0);
}

TEST(request, that_is_more_than_can_travel_is_refused_here)
{
	EXPECT_PLAYED(is_too_long, NULL);
}

/* ---- channels ---- */

static void counts_round(void *argument)
{
	(void)argument;
	remote.last_number = UINT32_MAX - 1;
	CHILD_EXPECT(remote_next_number() == UINT32_MAX);
	CHILD_EXPECT(remote_next_number() == 1); /* 0 is nobody's */
}

TEST(number, of_nothing_is_never_given)
{
	EXPECT_PLAYED(counts_round, NULL);
}

static void has_no_channel(void *argument)
{
	bool is_quota = *(bool *)argument;

	played_open(kernel);
	played.channel.welcome.status = STATUS_INSUFFICIENT_RESOURCES;
	snprintf(played.channel.welcome.rule, WIRE_RULE_BYTES, "%s",
		 is_quota ? "SYS-QUOTA" : "API-NO-MEMORY");
	snprintf(played.channel.welcome.reason, WIRE_TEXT_BYTES, "they are all taken");
	expect_refused(close_adapter(), STATUS_INSUFFICIENT_RESOURCES,
		       is_quota ? "SYS-QUOTA" : "SYS-SERVER", "they are all taken");
	played.channel = (struct wire_message){ 0 };
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
}

TEST(channel, that_the_server_does_not_give_is_refused_with_its_reason)
{
	EXPECT_PLAYED(has_no_channel, &(bool){ true });
	EXPECT_PLAYED(has_no_channel, &(bool){ false });
}

static pthread_barrier_t barrier;

static void *call_before_and_stay(void *argument)
{
	bool calls_again = *(bool *)argument;

	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	if (calls_again)
		expect_lost(close_adapter());
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* A thread that had a channel of the connection before ends: nobody gets that channel. */
static void outlives_connection(void *argument)
{
	pthread_t thread;

	played_open(kernel);
	pthread_barrier_init(&barrier, NULL, 2);
	CHILD_EXPECT(pthread_create(&thread, NULL, call_before_and_stay, argument) == 0);
	pthread_barrier_wait(&barrier);
	atomic_store(&played.hangs_up_at, CALL_close_adapter);
	expect_lost(close_adapter());
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	atomic_store(&played.hangs_up_at, PLAYED_NEVER);
	connection_close();
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	CHILD_EXPECT(pthread_create(&thread, NULL, call_before_and_stay, &(bool){ false }) == 0);
	for (int i = 0; i < 4; i++)
		pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
}

TEST(channel, of_a_connection_that_is_gone_is_nobodys)
{
	EXPECT_PLAYED(outlives_connection, &(bool){ true });
	EXPECT_PLAYED(outlives_connection, &(bool){ false });
}

/* ---- fork ---- */

static void expect_childs_calls_refused(void)
{
	struct dxgk_embed_listener listener = { .news = DXGK_EMBED_BUDGET };
	D3DKMT_GETDEVICESTATE state = { .hDevice = DEVICE,
					.StateType = D3DKMT_DEVICESTATE_EXECUTION };

	expect_refused(close_adapter(), STATUS_NOT_SUPPORTED, "SYS-FORK", "exec first");
	expect_refused(connection_call(CALL_get_device_state, &state), STATUS_NOT_SUPPORTED,
		       "SYS-FORK", "exec first");
	expect_refused(connection_listen(&listener, NULL, 0), STATUS_NOT_SUPPORTED, "SYS-FORK",
		       "exec first");
	connection_close();
	expect_refused(close_adapter(), STATUS_NOT_SUPPORTED, "SYS-FORK", "exec first");
}

static void *fork_and_end(void *unused)
{
	int status;

	(void)unused;
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	pid_t child = fork();
	CHILD_EXPECT(child >= 0);
	if (child == 0) {
		expect_childs_calls_refused();
		if (IS_ADDRESS_SANITIZED)
			_exit(0); /* what the parent's threads have would be leaks */
		return NULL;      /* with the parent's channel, which it does not give back */
	}
	CHILD_EXPECT(waitpid(child, &status, 0) == child && status == 0);
	return NULL;
}

static void forks(void *argument)
{
	pthread_t thread;

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(pthread_create(&thread, NULL, fork_and_end, NULL) == 0);
	pthread_join(thread, NULL);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	CHILD_EXPECT(atomic_load(&played.greeted) == 1);
}

TEST(fork, leaves_the_connection_to_the_parent)
{
	EXPECT_PLAYED(forks, NULL);
}

/* ---- what needs no answer ---- */

static NTSTATUS get_state(D3DKMT_HANDLE device)
{
	D3DKMT_GETDEVICESTATE state = { .hDevice = device,
					.StateType = D3DKMT_DEVICESTATE_EXECUTION };

	return connection_call(CALL_get_device_state, &state);
}

static void remembers(void *argument)
{
	_Atomic uint64_t words[8];
	D3DKMT_CREATEDEVICE made = { 0 };

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	/* One by one they are made with numbers that share a set of the table, which holds four. */
	for (unsigned i = 0; i < 8; i++) {
		atomic_init(&words[i], REMOTE_WORD_ACTIVE);
		made.hDevice = (i + 1) << 22; /* multiplied, the high bits are what counts */
		remote_known_made(CALL_create_device, &made, (uintptr_t)&words[i]);
		CHILD_EXPECT(get_state(made.hDevice) == STATUS_SUCCESS);
	}
	CHILD_EXPECT(count_asked(CALL_get_device_state) == 0);
	/* The same one again: the last word counts. */
	atomic_store(&words[7], 0);
	remote_known_made(CALL_create_device, &made, (uintptr_t)&words[6]);
	CHILD_EXPECT(get_state(made.hDevice) == STATUS_SUCCESS);
	CHILD_EXPECT(count_asked(CALL_get_device_state) == 0);
	/* One whose device is lost, one that is nobody's, and one that was forgotten: asked. */
	atomic_store(&words[6], 0);
	CHILD_EXPECT(get_state(made.hDevice) == STATUS_SUCCESS);
	CHILD_EXPECT(get_state(12345) == STATUS_SUCCESS);
	remote_known_forget_all();
	atomic_store(&words[6], REMOTE_WORD_ACTIVE);
	CHILD_EXPECT(get_state(made.hDevice) == STATUS_SUCCESS);
	CHILD_EXPECT(count_asked(CALL_get_device_state) == 3);
}

TEST(known, devices_are_answered_for_until_they_are_forgotten)
{
	EXPECT_PLAYED(remembers, NULL);
}

TEST_MAIN("thunk/remote")
