/* SPDX-License-Identifier: MIT */
/*
 * server_clients.c - several processes at one server, each creating and destroying allocations on the
 * same adapter.
 *
 * usage: server_clients DXGKD milliseconds rounds clients...
 *
 * One line per round and number of clients, all numbers in turn in every round: how many clients; pairs
 * per second of all together, and of the first one alone; pairs per second of a processor that all of
 * them and the server had, which others on the machine change least; how often a thread of the server
 * slept for a lock meanwhile, and how many pairs there were.
 */
#include <time.h>

#include "allocations.h"
#include "base/clock.h"
#include "base/thread.h"
#include "server.h"
#include "wire/server_link.h"

enum { CLIENTS_MOST = 64, SMALL_BYTES = 64 << 10 };

/* What a client and we have in common. */
struct seat {
	pid_t process;
	_Alignas(64) _Atomic uint32_t is_called; /* it makes pairs; 2: it goes */
	_Alignas(64) _Atomic uint64_t pairs;
	_Atomic bool is_ready;
};

static void client_run(struct seat *seat)
{
	struct destruction destruction;
	struct creation creation;
	uint32_t called;

	D3DKMT_HANDLE device = create_device();
	creation_init(&creation, device, SMALL_BYTES);
	destruction_init(&destruction, device);
	atomic_store(&seat->is_ready, true);
	while ((called = atomic_load_explicit(&seat->is_called, memory_order_relaxed)) != 2) {
		if (called == 0) {
			thread_wait_shared(&seat->is_called, 0, CLOCK_FOREVER);
			continue;
		}
		D3DKMT_HANDLE allocation = creation_run(&creation);
		destruction_run(&destruction, &allocation);
		atomic_store_explicit(&seat->pairs, seat->pairs + 1, memory_order_relaxed);
	}
}

static void call_all(struct seat *seats, unsigned count, uint32_t what)
{
	for (unsigned i = 0; i < count; i++) {
		atomic_store(&seats[i].is_called, what);
		thread_wake_shared(&seats[i].is_called);
	}
}

static uint64_t pairs_of(const struct seat *seats, unsigned count)
{
	uint64_t pairs = 0;

	for (unsigned i = 0; i < count; i++)
		pairs += atomic_load(&seats[i].pairs);
	return pairs;
}

/* Of a processor, until now. */
static double seconds_of(pid_t process)
{
	struct timespec used = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0)
		die("clock_getcpuclockid");
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double seconds_of_all(const struct bench_server *server, const struct seat *seats,
			     unsigned count)
{
	double seconds = seconds_of(server->process);

	for (unsigned i = 0; i < count; i++)
		seconds += seconds_of(seats[i].process);
	return seconds;
}

/* A connection of a controller: the server tells it what it counts. */
static int control_open(const struct bench_server *server)
{
	struct wire_message hello = { .hello.purpose = WIRE_CONTROL };
	struct wire_message welcome;
	int control = server_link_open(server->path, &hello, &welcome);

	if (control < 0)
		die("the server's controls");
	return control;
}

/* By threads of the server, since its start. */
static uint64_t locks_waited_for(int control)
{
	const struct control_request request = { .magic = CONTROL_MAGIC,
						 .version = CONTROL_VERSION,
						 .kind = CONTROL_TEST_LOCKS,
						 .size_bytes = sizeof(struct control_test) };
	union {
		struct control_test test;
		char bytes[CONTROL_MOST_BYTES];
	} body = { 0 };
	struct control_reply reply;

	if (!server_link_ask(control, &request, &body, &reply) || reply.status != 0)
		die("the locks of the server");
	return body.test.number;
}

/* Everybody has been woken and has had a turn: from then on they call as they go on to. */
static void wait_for_all(const struct seat *seats, unsigned count)
{
	uint64_t before[CLIENTS_MOST];

	for (unsigned i = 0; i < count; i++)
		before[i] = atomic_load(&seats[i].pairs);
	for (unsigned i = 0; i < count; i++) {
		while (atomic_load(&seats[i].pairs) == before[i])
			usleep(1000);
	}
}

/* The first quarter is for getting going, and longer where that takes longer. */
static void measure(const struct bench_server *server, int control, struct seat *seats,
		    unsigned count, unsigned length_ms)
{
	call_all(seats, count, 1);
	usleep(length_ms * 250);
	wait_for_all(seats, count);
	uint64_t start = clock_now_ns();
	double used = seconds_of_all(server, seats, count);
	uint64_t locks = locks_waited_for(control);
	uint64_t all = pairs_of(seats, count);
	uint64_t first = pairs_of(seats, 1);
	usleep(length_ms * 750);
	double seconds = (double)(clock_now_ns() - start) / 1e9;
	all = pairs_of(seats, count) - all;
	first = pairs_of(seats, 1) - first;
	locks = locks_waited_for(control) - locks;
	used = seconds_of_all(server, seats, count) - used;
	call_all(seats, count, 0);
	usleep(2000);
	printf("%u %.0f %.0f %.0f %llu %llu\n", count, (double)all / seconds,
	       (double)first / seconds, (double)all / used, (unsigned long long)locks,
	       (unsigned long long)all);
}

int main(int argc, char **argv)
{
	struct bench_server server;
	unsigned most = 0;

	if (argc < 5) {
		fprintf(stderr, "usage: server_clients DXGKD milliseconds rounds clients...\n");
		return 2;
	}
	for (int i = 4; i < argc; i++) {
		unsigned count = (unsigned)strtoul(argv[i], NULL, 0);
		most = count > most ? count : most;
	}
	if (most > CLIENTS_MOST)
		most = CLIENTS_MOST;
	unsigned length_ms = (unsigned)strtoul(argv[2], NULL, 0);
	unsigned rounds = (unsigned)strtoul(argv[3], NULL, 0);
	struct seat *seats = shared_memory(CLIENTS_MOST * sizeof(*seats));
	setenv("DXGK_TESTING", "1", 1); /* it tells what it counts */
	server_start(&server, argv[1]);
	int control = control_open(&server);
	for (unsigned i = 0; i < most; i++) {
		pid_t process = fork_companion();
		if (process == 0) {
			client_run(&seats[i]);
			exit(0);
		}
		seats[i].process = process;
		while (!atomic_load(&seats[i].is_ready))
			usleep(1000);
	}
	for (unsigned i = 0; i < rounds; i++) {
		for (int j = 4; j < argc; j++)
			measure(&server, control, seats, (unsigned)strtoul(argv[j], NULL, 0),
				length_ms);
	}
	call_all(seats, most, 2);
	for (unsigned i = 0; i < most; i++)
		wait(NULL);
	fflush(stdout);
	server_stop(&server);
	return 0;
}
