/*
 * fence_pairs.c - monitored fences that are signalled and waited for, or come and go, by a thread
 * that may make no system call.
 *
 * usage: fence_pairs count      prints how many of each pair were made under strict seccomp
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fences.h"

struct run {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE fence;
	UINT64 value;
	unsigned count;
};

static _Atomic unsigned strict_done;

static void make_pairs(struct run *run)
{
	for (unsigned i = 0; i < run->count; i++) {
		signal_fence(run->device, run->fence, ++run->value);
		wait_fence(run->device, run->fence, run->value);
		destroy_fence(create_fence(run->device));
	}
}

static void *strict_thread(void *context)
{
	struct run *run = context;

	make_pairs(run); /* the first calls of a thread set it up */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
		perror("fence_pairs: seccomp");
		exit(1);
	}
	make_pairs(run);
	atomic_store(&strict_done, run->count);
	syscall(SYS_exit, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = { .count = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 0) : 0 };
	pthread_t thread;

	if (run.count == 0) {
		fprintf(stderr, "usage: fence_pairs count\n");
		return 2;
	}
	run.device = create_device();
	run.fence = create_fence(run.device);
	if (pthread_create(&thread, NULL, strict_thread, &run) != 0)
		fail("pthread_create");
	pthread_join(thread, NULL);
	printf("%u\n", atomic_load(&strict_done));
	return atomic_load(&strict_done) == run.count ? 0 : 1;
}
