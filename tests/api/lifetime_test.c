/* SPDX-License-Identifier: MIT */
/*
 * lifetime_test.c - how the kernel starts in a process and ends with it, as a driver sees it.
 */
#include "api/recorder.h"

#include <pthread.h>
#include <semaphore.h>

/* What the kernel itself holds, and the end of the adapter; the same in every order of events. */
#define ADAPTER_ENDS                                                                               \
	"DestroyContext irql=0\n"                                                                  \
	"DestroyDevice irql=0\n"                                                                   \
	"DestroyProcess irql=0\n"                                                                  \
	"StopDevice irql=0 left=0\n"                                                               \
	"RemoveDevice irql=0\n"                                                                    \
	"Unload irql=0\n"

/* ---- a normal exit ---- */

CHILD(leave_everything)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_HANDLE device = child_create_device(adapter);

	child_create_context(device);
	child_create_context(device);
	child_create_device(adapter);
	say("-- exit");
	return 0;
}

TEST(exit, destroys_what_was_left_then_stops_the_adapter_once)
{
	const struct child_result *child = RECORDED("leave_everything", "");

	EXPECT_STR(after_line(child->out, "-- exit\n"), "DestroyDevice irql=0\n"
							"DestroyContext irql=0\n"
							"DestroyContext irql=0\n"
							"DestroyDevice irql=0\n"
							"DestroyProcess irql=0\n" ADAPTER_ENDS);
	EXPECT_STR(child->err, "");
}

TEST(start, introduces_the_process_before_its_first_device)
{
	const struct child_result *child = RECORDED("leave_everything", "");

	/* The kernel's own first: one process, one device, one context on the paging node. */
	EXPECT_CONTAINS(child->out, "CreateProcess irql=0 flags=1 name=6\n"
				    "CreateDevice irql=0 flags=1 process=1\n"
				    "CreateContext irql=0 node=1 flags=5\n");
	EXPECT_CONTAINS(after_line(child->out, "CreateContext irql=0 node=1 flags=5\n"),
			"CreateProcess irql=0 flags=0");
	EXPECT_CONTAINS(child->out, "CreateDevice irql=0 flags=0 process=1\n"
				    "CreateContext irql=0 node=0 flags=0\n"
				    "CreateContext irql=0 node=0 flags=0\n"
				    "CreateDevice irql=0 flags=0 process=1\n-- exit\n");
}

CHILD(clean_up)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_HANDLE device = child_create_device(adapter);

	CHILD_EXPECT(close_adapter(adapter) == STATUS_SUCCESS);
	say("-- closed");
	CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	say("-- exit");
	return 0;
}

TEST(exit, stops_the_adapter_also_when_nothing_was_left)
{
	const struct child_result *child = RECORDED("clean_up", "");

	EXPECT_CONTAINS(child->out, "-- closed\nDestroyDevice irql=0\n-- exit\n");
	EXPECT_STR(after_line(child->out, "-- exit\n"), "DestroyProcess irql=0\n" ADAPTER_ENDS);
}

CHILD(two_adapters)
{
	D3DKMT_ADAPTERINFO infos[2];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 2, .pAdapters = infos };

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS && all.NumAdapters == 2);
	child_create_device(infos[0].hAdapter);
	child_create_device(infos[1].hAdapter);
	say("-- exit");
	return 0;
}

TEST(exit, stops_every_adapter)
{
	char second[4200];

	snprintf(second, sizeof(second), ", {\"driver\": \"%s\"}", getenv("TEST_RECORDER"));
	const struct child_result *child = run_child("two_adapters", recorder_profile("", second));
	EXPECT_CHILD(child, 0);
	EXPECT_STR(after_line(child->out, "-- exit\n"),
		   "DestroyDevice irql=0\nDestroyDevice irql=0\n"
		   "DestroyProcess irql=0\nDestroyProcess irql=0\n" ADAPTER_ENDS ADAPTER_ENDS);
	/* Each image has statics of its own. */
	EXPECT(!strstr(child->out, "adapters=2"));
}

CHILD(never_call)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	CHILD_EXPECT(DxgkLastRefusal(&why) == 0);
	D3DKMTCloseDxCoreDevice();
	say("-- exit");
	return 0;
}

TEST(exit, of_a_program_that_never_called_starts_nothing)
{
	const struct child_result *child = RECORDED("never_call", "");

	EXPECT_STR(child->out, "-- exit\n");
}

/* ---- exit handlers ---- */

static D3DKMT_HANDLE left_device;

static void say_what_a_call_gives(void)
{
	NTSTATUS status = get_execution_state(left_device);

	dprintf(STDOUT_FILENO, "-- handler %08x %s\n", (unsigned)status,
		status == STATUS_SUCCESS ? "" : last_refusal().rule);
}

CHILD(handlers_before_and_after)
{
	atexit(say_what_a_call_gives);
	left_device = child_create_device(child_open_adapter());
	atexit(say_what_a_call_gives);
	say("-- exit");
	return 0;
}

TEST(exit, handlers_find_the_kernel_if_they_were_made_after_its_start)
{
	const struct child_result *child = RECORDED("handlers_before_and_after", "");

	EXPECT_STR(after_line(child->out, "-- exit\n"),
		   "-- handler 00000000 \n"
		   "DestroyDevice irql=0\nDestroyProcess irql=0\n" ADAPTER_ENDS
		   "-- handler c00002b6 SYS-ENDED\n");
}

static void close_in_handler(void)
{
	D3DKMTCloseDxCoreDevice();
	say("-- closed again");
}

CHILD(close_after_the_end)
{
	atexit(close_in_handler);
	child_create_device(child_open_adapter());
	say("-- exit");
	return 0;
}

TEST(exit, closing_after_the_end_does_nothing)
{
	const struct child_result *child = RECORDED("close_after_the_end", "");

	EXPECT_STR(after_line(child->out, "-- exit\n"),
		   "DestroyDevice irql=0\nDestroyProcess irql=0\n" ADAPTER_ENDS
		   "-- closed again\n");
}

/* ---- exit while other threads are busy ---- */

static sem_t is_inside;
static sem_t is_ending;

static void hold_in_driver(const char *line)
{
	if (strncmp(line, "CreateContext", 13) != 0)
		return;
	note_hook = NULL;
	sem_post(&is_inside);
	sem_wait(&is_ending);
}

static void let_go(void)
{
	say("-- exit");
	sem_post(&is_ending);
}

static void *create_one_context(void *context)
{
	D3DKMT_HANDLE made;
	NTSTATUS status = try_create_context(*(D3DKMT_HANDLE *)context, &made);

	/* The call was inside before the end began; it finishes. */
	if (status != STATUS_SUCCESS)
		say("-- the call was cut off");
	return NULL;
}

CHILD(exit_while_a_call_is_in_the_driver)
{
	static D3DKMT_HANDLE device;
	pthread_t thread;

	sem_init(&is_inside, 0, 0);
	sem_init(&is_ending, 0, 0);
	device = child_create_device(child_open_adapter());
	note_hook = hold_in_driver;
	CHILD_EXPECT(pthread_create(&thread, NULL, create_one_context, &device) == 0);
	pthread_detach(thread); /* it sees the end of the process, not its own */
	sem_wait(&is_inside);
	atexit(let_go); /* the first handler to run */
	exit(0);
}

TEST(exit, waits_for_a_call_that_is_in_the_driver)
{
	for (unsigned i = 0; i < 10; i++) {
		const struct child_result *child =
			RECORDED("exit_while_a_call_is_in_the_driver", "");

		EXPECT_STR(after_line(child->out, "-- exit\n"),
			   "CreateContext irql=0 node=0 flags=0\n"
			   "DestroyContext irql=0\nDestroyDevice irql=0\n"
			   "DestroyProcess irql=0\n" ADAPTER_ENDS);
	}
}

static void *call_without_end(void *context)
{
	for (;;) {
		D3DKMT_HANDLE device;
		if (try_create_device(*(D3DKMT_HANDLE *)context, &device) == STATUS_SUCCESS)
			destroy_device(device);
	}
	return NULL;
}

CHILD(exit_while_threads_call)
{
	static D3DKMT_HANDLE adapter;
	pthread_t threads[3];

	adapter = child_open_adapter();
	for (unsigned i = 0; i < 3; i++)
		CHILD_EXPECT(pthread_create(&threads[i], NULL, call_without_end, &adapter) == 0);
	for (unsigned i = 0; i < 20; i++)
		child_create_device(adapter);
	return 0;
}

TEST(exit, is_the_end_also_when_threads_go_on_calling)
{
	static const char end[] = "RemoveDevice irql=0\nUnload irql=0\n";

	for (unsigned i = 0; i < 10; i++) {
		const struct child_result *child =
			run_child("exit_while_threads_call", recorder_profile("", ""));
		size_t length = strlen(child->out);
		EXPECT_CHILD(child, 0);
		EXPECT_STR(child->err, "");
		if (length < CHILD_TEXT - 1)
			EXPECT_STR(child->out + length - strlen(end), end);
	}
}

static void *exit_here(void *context)
{
	(void)context;
	say("-- exit");
	exit(7);
}

CHILD(exit_in_another_thread)
{
	pthread_t thread;

	child_create_device(child_open_adapter());
	pthread_create(&thread, NULL, exit_here, NULL);
	pthread_join(thread, NULL);
	return 0;
}

TEST(exit, may_come_from_any_thread)
{
	const struct child_result *child =
		run_child("exit_in_another_thread", recorder_profile("", ""));

	EXPECT_CHILD(child, 7);
	EXPECT_STR(after_line(child->out, "-- exit\n"),
		   "DestroyDevice irql=0\nDestroyProcess irql=0\n" ADAPTER_ENDS);
}

/* ---- D3DKMTCloseDxCoreDevice ---- */

CHILD(close_and_use_again)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_HANDLE device = child_create_device(adapter);

	child_create_context(device);
	say("-- close");
	D3DKMTCloseDxCoreDevice();
	say("-- closed");
	CHILD_EXPECT(get_execution_state(device) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(strcmp(last_refusal().rule, "API-HANDLE") == 0);
	D3DKMT_HANDLE new_adapter = child_open_adapter();
	D3DKMT_HANDLE new_device = child_create_device(new_adapter);
	CHILD_EXPECT(get_execution_state(new_device) == STATUS_SUCCESS);
	/* What was handed out before stays stale, whatever was made since. */
	CHILD_EXPECT(close_adapter(adapter) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(strcmp(last_refusal().rule, "API-HANDLE") == 0);
	CHILD_EXPECT(get_execution_state(device) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(new_adapter > device);
	D3DKMTCloseDxCoreDevice();
	D3DKMTCloseDxCoreDevice();
	say("-- exit");
	return 0;
}

TEST(close_dxcore_device, destroys_all_and_the_next_call_starts_with_nothing)
{
	const struct child_result *child = RECORDED("close_and_use_again", "");

	EXPECT_STR(after_line(child->out, "-- close\n"),
		   "DestroyContext irql=0\nDestroyDevice irql=0\nDestroyProcess irql=0\n"
		   "-- closed\n"
		   "CreateProcess irql=0 flags=0 name=17\n"
		   "BuildPagingBuffer irql=0 operation=11 room=0\n" /* its root */
		   "CreateDevice irql=0 flags=0 process=1\n"
		   "DestroyDevice irql=0\nDestroyProcess irql=0\n"
		   "-- exit\n" ADAPTER_ENDS);
}

/* ---- fork ---- */

CHILD(fork_after_the_first_call)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_HANDLE device = child_create_device(adapter);
	pid_t process = fork();

	if (process == 0) {
		D3DKMT_ENUMADAPTERS2 args = { 0 };
		CHILD_EXPECT(get_execution_state(device) == STATUS_NOT_SUPPORTED);
		CHILD_EXPECT(strcmp(last_refusal().rule, "SYS-FORK") == 0);
		CHILD_EXPECT(strcmp(last_refusal().call, "D3DKMTGetDeviceState") == 0);
		CHILD_EXPECT(D3DKMTEnumAdapters2(&args) == STATUS_NOT_SUPPORTED);
		CHILD_EXPECT(destroy_device(device) == STATUS_NOT_SUPPORTED);
		D3DKMTCloseDxCoreDevice();
		say("-- forked child exits");
		exit(3);
	}
	int status;
	CHILD_EXPECT(waitpid(process, &status, 0) == process);
	CHILD_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHILD_EXPECT(get_execution_state(device) == STATUS_SUCCESS);
	child_create_context(device);
	say("-- exit");
	return 0;
}

TEST(fork, leaves_the_kernel_with_the_parent)
{
	const struct child_result *child = RECORDED("fork_after_the_first_call", "");

	EXPECT_STR(after_line(child->out, "-- forked child exits\n"),
		   "CreateContext irql=0 node=0 flags=0\n-- exit\n"
		   "DestroyContext irql=0\nDestroyDevice irql=0\n"
		   "DestroyProcess irql=0\n" ADAPTER_ENDS);
	EXPECT(!strstr(strstr(child->out, "Unload") + 1, "Unload"));
	EXPECT(!strstr(child->err, "dxgk:")); /* a sanitizer may miss the threads of the parent */
}

/* The same again in simulated runs, where the parent goes on by its seed. */
TEST(fork, in_a_simulated_run_leaves_the_kernel_with_the_parent)
{
	static const char *const seeds[] = { "DXGK_SEED=1", "DXGK_SEED=2", "DXGK_SEED=3" };

	for (unsigned i = 0; i < 3; i++) {
		const struct child_result *child =
			RECORDED("fork_after_the_first_call", "", seeds[i]);

		EXPECT_CONTAINS(child->out, "-- forked child exits\n");
		EXPECT(!strstr(child->err, "dxgk:"));
	}
}

enum { CALLERS = 3, FORKS = 20 };

static _Atomic bool is_over;
static _Atomic unsigned callers;

static void *call_until_the_end(void *context)
{
	D3DKMT_HANDLE adapter = (D3DKMT_HANDLE)(uintptr_t)context;

	while (!is_over) {
		D3DKMT_HANDLE device = child_create_device(adapter);
		child_create_context(device);
		CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
		callers++;
	}
	return NULL;
}

/*
 * A child of several real threads may find a sanitizer's own allocator locked for good, and at its exit
 * the sanitizer takes what those threads had for leaks.
 */
#if IS_SANITIZED
enum { FIRST_FORKING = 2 };
#define END_CHILD(code) _exit(code)
#else
enum { FIRST_FORKING = 0 };
#define END_CHILD(code) exit(code)
#endif

/* From a thread that never calls, and from one that does. */
CHILD(fork_while_others_call)
{
	bool has_called = getenv("TEST_CALLS") != NULL;
	D3DKMT_HANDLE adapter = 0;
	pthread_t threads[CALLERS];
	int status;

	alarm(100);
	adapter = child_open_adapter();
	for (unsigned i = 0; i < CALLERS; i++)
		CHILD_EXPECT(pthread_create(&threads[i], NULL, call_until_the_end,
					    (void *)(uintptr_t)adapter) == 0);
	for (unsigned i = 0; i < FORKS; i++) {
		while (callers < i * 3)
			usleep(100);
		if (has_called)
			CHILD_EXPECT(destroy_device(child_create_device(adapter)) ==
				     STATUS_SUCCESS);
		pid_t process = fork();
		if (process == 0) {
			alarm(30);
			CHILD_EXPECT(close_adapter(adapter) == STATUS_NOT_SUPPORTED);
			CHILD_EXPECT(strcmp(last_refusal().rule, "SYS-FORK") == 0);
			END_CHILD(3);
		}
		CHILD_EXPECT(waitpid(process, &status, 0) == process);
		CHILD_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	}
	is_over = true;
	for (unsigned i = 0; i < CALLERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

TEST(fork, while_other_threads_are_in_calls_leaves_them_there)
{
	for (unsigned i = FIRST_FORKING; i < 4; i++) {
		if (i & 1)
			setenv("TEST_CALLS", "1", 1);
		else
			unsetenv("TEST_CALLS");
		RECORDED("fork_while_others_call", "", i & 2 ? "DXGK_SEED=1" : NULL);
	}
}

CHILD(fork_before_the_first_call)
{
	pid_t process = fork();

	if (process == 0) {
		child_create_device(child_open_adapter());
		exit(4);
	}
	int status;
	CHILD_EXPECT(waitpid(process, &status, 0) == process);
	CHILD_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	say("-- parent");
	child_create_device(child_open_adapter());
	return 0;
}

TEST(fork, before_the_first_call_gives_each_its_own_kernel)
{
	const struct child_result *child = RECORDED("fork_before_the_first_call", "");

	EXPECT_CONTAINS(child->out, ADAPTER_ENDS "-- parent\n");
	EXPECT_CONTAINS(after_line(child->out, "-- parent\n"), ADAPTER_ENDS);
}

TEST(fork, before_the_first_call_gives_each_its_own_simulated_run)
{
	const struct child_result *child =
		RECORDED("fork_before_the_first_call", "", "DXGK_SEED=1");

	EXPECT_CONTAINS(child->out, ADAPTER_ENDS "-- parent\n");
	EXPECT_CONTAINS(after_line(child->out, "-- parent\n"), ADAPTER_ENDS);
}

/* ---- a client that loads the library at run time ---- */

TEST(dlopen, a_client_may_load_the_library_twice_and_let_it_go)
{
	static struct child_result result;
	char *arguments[] = { getenv("TEST_DLOPEN_CLIENT"), NULL };

	run_program(arguments, NULL, &result);
	EXPECT_CHILD(&result, 0);
	EXPECT_STR(result.out, "1 adapter\n1 adapter\n");
	EXPECT_STR(result.err, "");
}

API_TEST_MAIN("api/lifetime")
