/* SPDX-License-Identifier: MIT */
/*
 * server_visitor.c - a client that calls now and then, beside clients that call all the time.
 *
 * usage: server_visitor DXGKD visits callers
 *
 * One line per visit: how long it took to create an allocation and destroy it, alone with the server, and the same
 * beside so many others. Between two visits it sleeps, so that it has to be let in each time.
 */
#include <time.h>

#include "allocations.h"
#include "base/clock.h"
#include "server.h"

enum { CALLERS_MOST = 64, SMALL_BYTES = 64 << 10 };

#define BETWEEN_NS (5 * NS_PER_MS)

struct visitor {
	struct creation creation;
	struct destruction destruction;
};

static void visitor_init(struct visitor *visitor)
{
	D3DKMT_HANDLE device = create_device();

	creation_init(&visitor->creation, device, SMALL_BYTES);
	destruction_init(&visitor->destruction, device);
}

static void visit(struct visitor *visitor)
{
	D3DKMT_HANDLE allocation = creation_run(&visitor->creation);

	destruction_run(&visitor->destruction, &allocation);
}

/* Those who call all the time, until they are killed. */
static pid_t caller_start(_Atomic uint32_t *ready)
{
	pid_t process = fork_companion();
	struct visitor caller;

	if (process != 0)
		return process;
	visitor_init(&caller);
	atomic_fetch_add(ready, 1);
	for (;;)
		visit(&caller);
}

static void measure(struct visitor *visitor, unsigned visits, double *lengths_ns)
{
	const struct timespec between = { .tv_nsec = (long)BETWEEN_NS };

	for (unsigned i = 0; i < visits; i++) {
		nanosleep(&between, NULL);
		uint64_t start = clock_now_ns();
		visit(visitor);
		lengths_ns[i] = (double)(clock_now_ns() - start);
	}
}

int main(int argc, char **argv)
{
	pid_t callers[CALLERS_MOST];
	struct bench_server server;
	struct visitor visitor;

	if (argc != 4) {
		fprintf(stderr, "usage: server_visitor DXGKD visits callers\n");
		return 2;
	}
	unsigned visits = (unsigned)strtoul(argv[2], NULL, 0);
	unsigned count = (unsigned)strtoul(argv[3], NULL, 0);
	double *lengths_ns = calloc(visits, 2 * sizeof(*lengths_ns));
	if (!lengths_ns || count > CALLERS_MOST)
		die("server_visitor");
	_Atomic uint32_t *ready = shared_memory(sizeof(*ready));
	server_start(&server, argv[1]);
	/* Children first, stopped: a connection is not theirs. */
	for (unsigned i = 0; i < count; i++) {
		callers[i] = caller_start(ready);
		while (atomic_load(ready) <= i)
			usleep(1000);
		kill(callers[i], SIGSTOP);
	}
	visitor_init(&visitor);
	measure(&visitor, visits, lengths_ns);
	for (unsigned i = 0; i < count; i++)
		kill(callers[i], SIGCONT);
	measure(&visitor, visits, lengths_ns + visits);
	for (unsigned i = 0; i < visits; i++)
		printf("%.0f %.0f\n", lengths_ns[i], lengths_ns[visits + i]);
	for (unsigned i = 0; i < count; i++) {
		kill(callers[i], SIGKILL);
		waitpid(callers[i], NULL, 0);
	}
	fflush(stdout);
	server_stop(&server);
	free(lengths_ns);
	return 0;
}
