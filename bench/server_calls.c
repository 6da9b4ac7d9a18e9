/* SPDX-License-Identifier: MIT */
/*
 * server_calls.c - what a call to the server costs, beside the barest ways from one process to another
 * and beside the same call in the embedded kernel.
 *
 * usage: server_calls DXGKD awake rounds    two processors, nobody sleeps
 *        server_calls DXGKD one rounds      one processor: who waits sleeps
 *        server_calls DXGKD apart rounds    two processors, and so long between calls that all sleep
 *        server_calls DXGKD calls rounds    two processors
 *
 * One line per round, nanoseconds, all in turn. The first three: a call that does nothing, the bare way
 * (two words of shared memory: looked at all the time, or slept on with a futex), a request and a reply
 * over a socket. `calls`: a call that does nothing; then in the server and embedded each an allocation
 * created and destroyed, MakeResident of what is, GetDeviceState, a wait for a value that is reached.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "allocations.h"
#include "base/clock.h"
#include "base/thread.h"
#include "server.h"
#include "thunk/remote.h"

enum {
	AWAKE_CALLS = 500,
	ASLEEP_CALLS = 200,
	APART_CALLS = 5,
	COMPARED_CALLS = 200,
	SMALL_BYTES = 64 << 10,
	LOOKS_MOST = 1 << 14,
};

#define APART_NS (2 * NS_PER_MS)

static unsigned calls_per_round;
static uint64_t pause_ns;

/* Between two calls, and not counted. */
static uint64_t pause_between(void)
{
	if (pause_ns == 0)
		return 0;
	uint64_t start = clock_now_ns();
	struct timespec length = { .tv_nsec = (long)pause_ns };
	nanosleep(&length, NULL);
	return clock_now_ns() - start;
}

static double per_call(void (*call)(void *context), void *context)
{
	uint64_t paused = 0;
	uint64_t start = clock_now_ns();

	for (unsigned i = 0; i < calls_per_round; i++) {
		paused += pause_between();
		call(context);
	}
	return (double)(clock_now_ns() - start - paused) / calls_per_round;
}

/* ---- the server ---- */

static void call_nothing(void *context)
{
	(void)context;
	if (!NT_SUCCESS(remote_serve(WIRE_NOTHING, "nothing", "", 0)))
		fail("a call that does nothing");
}

/* ---- two words ---- */

struct words {
	_Alignas(64) _Atomic uint32_t asked;
	_Alignas(64) _Atomic uint32_t answered;
};

static void spin_until(_Atomic uint32_t *word, uint32_t wanted)
{
	while (atomic_load_explicit(word, memory_order_acquire) != wanted)
		thread_relax();
}

static void call_spin(void *context)
{
	struct words *words = context;
	uint32_t number = atomic_load_explicit(&words->asked, memory_order_relaxed) + 1;

	atomic_store_explicit(&words->asked, number, memory_order_release);
	spin_until(&words->answered, number);
}

/* It goes with us. It looks only while somebody measures: processors are for all. */
static void serve_spin(struct words *words)
{
	for (uint32_t number = 1;; number++) {
		unsigned looks = 0;

		while (atomic_load_explicit(&words->asked, memory_order_acquire) != number) {
			thread_relax();
			if (++looks > LOOKS_MOST)
				usleep(100);
		}
		atomic_store_explicit(&words->answered, number, memory_order_release);
	}
}

static void futex_until(_Atomic uint32_t *word, uint32_t wanted)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) != wanted)
		syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void futex_tell(_Atomic uint32_t *word, uint32_t number)
{
	atomic_store(word, number);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void call_futex(void *context)
{
	struct words *words = context;
	uint32_t number = atomic_load(&words->asked) + 1;

	futex_tell(&words->asked, number);
	futex_until(&words->answered, number);
}

static void serve_futex(struct words *words)
{
	for (uint32_t number = 1;; number++) {
		futex_until(&words->asked, number);
		futex_tell(&words->answered, number);
	}
}

/* ---- a socket, 64 bytes each way: what a wineserver does ---- */

struct letter {
	char text[64];
};

static void call_socket(void *context)
{
	int socket = *(int *)context;
	struct letter letter = { "nothing" };

	if (write(socket, &letter, sizeof(letter)) != (ssize_t)sizeof(letter) ||
	    read(socket, &letter, sizeof(letter)) != (ssize_t)sizeof(letter))
		die("socket");
}

static void serve_socket(int socket)
{
	struct letter letter;

	while (read(socket, &letter, sizeof(letter)) == (ssize_t)sizeof(letter)) {
		if (write(socket, &letter, sizeof(letter)) != (ssize_t)sizeof(letter))
			return;
	}
}

/* ---- the bare ways, each with a process at its other end ---- */

static struct words *words_begin(void (*serve)(struct words *words), int processor)
{
	struct words *words = shared_memory(sizeof(*words));

	if (fork_companion() == 0) {
		stay_on(0, processor);
		serve(words);
		_exit(0);
	}
	return words;
}

static int socket_begin(int processor)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		die("socketpair");
	if (fork_companion() == 0) {
		close(ends[0]);
		stay_on(0, processor);
		serve_socket(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	return ends[0];
}

/* ---- calls, in the server or embedded ---- */

struct client {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE resident;
	D3DKMT_HANDLE fence;
	struct creation creation;
	struct destruction destruction;
};

static void call_pair(void *context)
{
	struct client *client = context;
	D3DKMT_HANDLE allocation = creation_run(&client->creation);

	destruction_run(&client->destruction, &allocation);
}

static NTSTATUS make_resident(struct client *client)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = 1,
				     .AllocationList = &client->resident };
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (!NT_SUCCESS(status))
		fail("D3DKMTMakeResident");
	return status;
}

static void call_resident(void *context)
{
	make_resident(context);
}

static void call_state(void *context)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = ((struct client *)context)->device,
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };

	if (!NT_SUCCESS(D3DKMTGetDeviceState(&args)) ||
	    args.ExecutionState != D3DKMT_DEVICEEXECUTION_ACTIVE)
		fail("D3DKMTGetDeviceState");
}

static void call_wait(void *context)
{
	struct client *client = context;
	const UINT64 value = 1;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = client->device,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &client->fence,
							    .FenceValueArray = &value };

	if (!NT_SUCCESS(D3DKMTWaitForSynchronizationObjectFromCpu(&args)))
		fail("D3DKMTWaitForSynchronizationObjectFromCpu");
}

static void client_open(struct client *client)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {
		.Info = { .Type = D3DDDI_MONITORED_FENCE,
			  .MonitoredFence = { .InitialFenceValue = 1 } },
	};

	client->device = create_device();
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client->device };
	fence.hDevice = client->device;
	if (!NT_SUCCESS(D3DKMTCreatePagingQueue(&queue)) ||
	    !NT_SUCCESS(D3DKMTCreateSynchronizationObject2(&fence)))
		fail("a paging queue and a fence");
	client->queue = queue.hPagingQueue;
	client->fence = fence.hSyncObject;
	creation_init(&client->creation, client->device, SMALL_BYTES);
	destruction_init(&client->destruction, client->device);
	client->resident = create_allocation(client->device, SMALL_BYTES);
	while (make_resident(client) != STATUS_SUCCESS)
		usleep(1000);
}

static void (*const compared[])(void *context) = { call_pair, call_resident, call_state,
						   call_wait };
enum { COMPARED = sizeof(compared) / sizeof(compared[0]) };

/* The embedded kernel is in a child: one process has one kernel. It measures what it is asked to. */
static int embedded_begin(int processor)
{
	int ends[2];
	struct client client;
	unsigned char which;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		die("socketpair");
	if (fork_companion() != 0) {
		close(ends[1]);
		return ends[0];
	}
	close(ends[0]);
	unsetenv("DXGK_SOCKET");
	client_open(&client);
	stay_on(0, processor);
	while (read(ends[1], &which, 1) == 1) {
		double result = per_call(compared[which], &client);
		if (write(ends[1], &result, sizeof(result)) != (ssize_t)sizeof(result))
			break;
	}
	_exit(0);
}

static double embedded_ns(int socket, unsigned char which)
{
	double result = 0;

	if (write(socket, &which, 1) != 1 ||
	    read(socket, &result, sizeof(result)) != (ssize_t)sizeof(result))
		die("the embedded kernel");
	return result;
}

/* ---- rounds ---- */

/* Children first: a connection is not theirs. Both ends have a choice when the channel is made. */
static void compare_ways(bool is_awake, const int processors[2], struct bench_server *server,
			 unsigned rounds)
{
	struct words *words = words_begin(is_awake ? serve_spin : serve_futex, processors[1]);
	int socket = socket_begin(processors[1]);

	create_device();
	stay_on(0, processors[0]);
	process_stay_on(server->process, processors[1]);
	for (unsigned i = 0; i <= rounds; i++) {
		double ours = per_call(call_nothing, NULL);
		double bare = per_call(is_awake ? call_spin : call_futex, words);
		double socket_ns = per_call(call_socket, &socket);

		if (i > 0) /* the first round warms up */
			printf("%.1f %.1f %.1f\n", ours, bare, socket_ns);
	}
}

static void compare_calls(const int processors[2], struct bench_server *server, unsigned rounds)
{
	int embedded = embedded_begin(processors[0]);
	struct client client;

	client_open(&client);
	stay_on(0, processors[0]);
	process_stay_on(server->process, processors[1]);
	for (unsigned i = 0; i <= rounds; i++) {
		double results[1 + 2 * COMPARED];

		results[0] = per_call(call_nothing, NULL);
		for (unsigned char which = 0; which < COMPARED; which++) {
			results[1 + 2 * which] = per_call(compared[which], &client);
			results[2 + 2 * which] = embedded_ns(embedded, which);
		}
		for (unsigned j = 0; i > 0 && j < 1 + 2 * COMPARED; j++)
			printf("%.1f%s", results[j], j < 2 * COMPARED ? " " : "\n");
	}
}

int main(int argc, char **argv)
{
	const char *what = argc == 4 ? argv[2] : "";
	struct bench_server server;
	int processors[2];

	two_processors(processors);
	calls_per_round = AWAKE_CALLS;
	if (strcmp(what, "one") == 0) {
		calls_per_round = ASLEEP_CALLS;
		processors[1] = processors[0];
		stay_on(0, processors[0]);
	} else if (strcmp(what, "apart") == 0) {
		calls_per_round = APART_CALLS;
		pause_ns = APART_NS;
	} else if (strcmp(what, "calls") == 0) {
		calls_per_round = COMPARED_CALLS;
	} else if (strcmp(what, "awake") != 0) {
		fprintf(stderr, "usage: server_calls DXGKD awake|one|apart|calls rounds\n");
		return 2;
	}
	unsigned rounds = (unsigned)strtoul(argv[3], NULL, 0);
	server_start(&server, argv[1]);
	if (strcmp(what, "calls") == 0)
		compare_calls(processors, &server, rounds);
	else
		compare_ways(strcmp(what, "awake") == 0, processors, &server, rounds);
	fflush(stdout);
	server_stop(&server);
	return 0;
}
