/* SPDX-License-Identifier: MIT */
/*
 * trace_run.c - a program to be traced: DXGK_TRACE=file trace_run what. See trace_test.c.
 *
 *   work    four threads that share a lock, wait and wake each other; the order in which they got
 *           the lock is printed
 *   flood   one thread, far more events than a ring holds
 *   churn   threads that come and go, one after the other
 *   fork    a child that emits, spools and ends through exit(), and then the parent
 *   exec    the same, but the child is a program that traces by itself
 *   late    client threads that are still emitting while the process exits
 *   quit    events, but an end through _exit()
 *   killed  events, then SIGKILL
 *   idle    nothing
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/refusal.h"
#include "base/sanitizers.h"
#include "base/thread.h"
#include "trace/trace.h"

#if IS_ADDRESS_SANITIZED
#include <sanitizer/lsan_interface.h>
#endif

enum { THREADS = 4, ROUNDS = 50, FLOOD = 5000 };

static struct lock lock = LOCK_INITIALIZER(LOCK_RANK_DEVICE, "work");
static struct notice changed;
static char order[THREADS * ROUNDS + 1];
static uint32_t order_count;

static void one_round(uint32_t number, uint32_t round)
{
	struct refusal_scope scope;

	trace_api_call_begin("D3DKMTCreateDevice", 1);
	refusal_begin(&scope, "D3DKMTCreateDevice");
	lock_acquire(&lock);
	order[order_count++] = (char)('a' + number);
	trace_device_create(number, round * 0x40, 1);
	lock_release(&lock);
	notice_give(&changed);

	trace_ddi_call_begin("DxgkDdiCreateDevice", 0);
	uint32_t seen = notice_read(&changed);
	notice_wait(&changed, seen, clock_deadline(NS_PER_US * (number + 1)));
	trace_ddi_call_end(STATUS_SUCCESS);

	NTSTATUS status = STATUS_SUCCESS;
	if (round % 10 == number)
		status = refuse(STATUS_INVALID_PARAMETER, RULE_API_HANDLE, "hAdapter",
				"says \"%u\"\n", round);
	trace_device_destroy(number, round * 0x40);
	refusal_end(&scope);
	trace_api_call_end(status);
}

static void work(void *argument)
{
	for (uint32_t round = 0; round < ROUNDS; round++)
		one_round(*(uint32_t *)argument, round);
}

static void run_work(void)
{
	static const char *const names[THREADS] = { "anna", "bert", "carl", "dora" };
	uint32_t numbers[THREADS];
	struct thread *threads[THREADS];

	thread_enter_kernel();
	for (uint32_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (!NT_SUCCESS(thread_create(names[i], work, &numbers[i], &threads[i])))
			abort();
	}
	for (uint32_t i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	thread_leave_kernel();
	puts(order);
}

static void run_flood(void)
{
	for (uint32_t i = 0; i < FLOOD; i++) {
		trace_process_create(i);
		trace_process_destroy(i);
	}
}

static void emit_once(void *argument)
{
	trace_process_create((uintptr_t)argument);
	trace_process_destroy((uintptr_t)argument);
}

static void run_churn(void)
{
	for (uintptr_t i = 0; i < 100; i++) {
		struct thread *thread;
		if (!NT_SUCCESS(thread_create("short", emit_once, (void *)i, &thread)))
			abort();
		thread_join(thread);
	}
}

static bool is_forked;

#if IS_ADDRESS_SANITIZED
/*
 * At its end the sanitizer takes its allocator's locks to look for leaks. One that the thread of the
 * trace had when it began is taken for ever in a child that has no such thread.
 */
int __lsan_is_turned_off(void)
{
	return is_forked;
}
#endif

static void run_fork(const char *program)
{
	trace_process_create(1);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		is_forked = true;
		run_flood();
		if (program)
			execl(program, program, "flood", (char *)NULL);
		exit(0);
	}
	waitpid(child, NULL, 0);
	trace_process_destroy(1);
}

enum { LATE_ROUNDS = 20000, LATE_BURST = 200 };

/* In bursts when there is enough: on a busy machine the file would grow and grow. */
static void *emit_for_ever(void *argument)
{
	for (;;) {
		trace_api_call_begin("D3DKMTEscape", 1);
		trace_api_call_end(STATUS_SUCCESS);

		uint32_t emitted = atomic_fetch_add((_Atomic uint32_t *)argument, 1);

		if (emitted >= LATE_ROUNDS && emitted % LATE_BURST == 0)
			usleep(500);
	}
	return NULL;
}

static void run_late(void)
{
	static _Atomic uint32_t emitted;
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, emit_for_ever, &emitted);
	while (atomic_load(&emitted) < LATE_ROUNDS)
		sched_yield();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "work"))
		run_work();
	else if (!strcmp(what, "flood"))
		run_flood();
	else if (!strcmp(what, "churn"))
		run_churn();
	else if (!strcmp(what, "fork"))
		run_fork(NULL);
	else if (!strcmp(what, "exec"))
		run_fork(argv[0]);
	else if (!strcmp(what, "late"))
		run_late();
	else if (!strcmp(what, "quit")) {
		run_flood();
		_exit(3);
	} else if (!strcmp(what, "killed")) {
		for (int i = 0; i < 4; i++)
			run_flood();
		kill(getpid(), SIGKILL);
	}
	return 0;
}
