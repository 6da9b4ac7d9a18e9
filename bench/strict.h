/* SPDX-License-Identifier: MIT */
/*
 * strict.h - a thread that may make no system call: the kernel ends it at its first but read, write
 * and exit.
 */
#ifndef BENCH_STRICT_H
#define BENCH_STRICT_H

#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct strict_run {
	void (*run)(void *context);
	void *context;
	_Atomic bool is_done;
};

static inline void *strict_thread(void *context)
{
	struct strict_run *strict = context;

	strict->run(strict->context); /* the first calls of a thread set it up */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
		perror("seccomp");
		exit(1);
	}
	strict->run(strict->context);
	atomic_store(&strict->is_done, true);
	syscall(SYS_exit, 0);
	return NULL;
}

/* True when run() came through it without one. */
static inline bool strict_run(void (*run)(void *context), void *context)
{
	struct strict_run strict = { .run = run, .context = context };
	pthread_t thread;

	if (pthread_create(&thread, NULL, strict_thread, &strict) != 0) {
		perror("pthread_create");
		exit(1);
	}
	pthread_join(thread, NULL);
	return atomic_load(&strict.is_done);
}

#endif
