/*
 * thread.c - threads and waits on the real machine; hands over to sim.c in a seeded run.
 *
 *   in:   what to run; a word to wait on
 *   out:  pthreads and futex calls, the only ones in the project
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sim.h"
#include "base/thread.h"

struct thread {
	char name[16];
	void (*run)(void *argument);
	void *argument;
	uint32_t id;
	pthread_t native;
	struct sim_thread sim;

	/* One for the maker (until join or detach), one for the thread itself. */
	_Atomic uint32_t owners;
	_Atomic uint32_t finished; /* wait word: 1 after run() came back */
};

static _Atomic uint32_t last_id;
static _Thread_local struct thread *self;
static _Thread_local uint32_t self_id;
static pthread_key_t end_key; /* first of the thread_ends of a thread */

static void futex(_Atomic uint32_t *word, int operation, uint32_t value,
		  const struct timespec *deadline)
{
	syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, deadline, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

enum thread_wait_result thread_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
	if (sim_is_on())
		return sim_wait(word, expected, deadline_ns);

	if (deadline_ns == CLOCK_FOREVER) {
		futex(word, FUTEX_WAIT_BITSET, expected, NULL);
		return THREAD_WOKEN;
	}
	struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
				     .tv_nsec = (long)(deadline_ns % NS_PER_S) };
	errno = 0;
	futex(word, FUTEX_WAIT_BITSET, expected, &deadline);
	return errno == ETIMEDOUT ? THREAD_TIMED_OUT : THREAD_WOKEN;
}

void thread_wake_one(_Atomic uint32_t *word)
{
	if (sim_is_on())
		sim_wake(word, 1);
	else
		futex(word, FUTEX_WAKE, 1, NULL);
}

void thread_wake_all(_Atomic uint32_t *word)
{
	if (sim_is_on())
		sim_wake(word, UINT32_MAX);
	else
		futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

static void thread_disown(struct thread *thread)
{
	if (atomic_fetch_sub_explicit(&thread->owners, 1, memory_order_acq_rel) == 1)
		mem_free(thread);
}

static void thread_run_ends(void *first)
{
	struct thread_end *end = first;

	while (end) {
		struct thread_end *next = end->next;
		end->run(end);
		end = next;
	}
}

/* Runs on the ending thread, also when thread_exit() cut run() short. */
static void thread_finish(void *context)
{
	struct thread *thread = context;

	/* Here and not as the key's destructor, because the thread still has its turn. */
	thread_run_ends(pthread_getspecific(end_key));
	pthread_setspecific(end_key, NULL);

	atomic_store_explicit(&thread->finished, 1, memory_order_release);
	if (sim_is_on())
		sim_thread_end(&thread->sim, &thread->finished);
	else
		thread_wake_all(&thread->finished);
	self = NULL; /* what still runs at the end of a thread finds it gone */
	thread_disown(thread);
}

static void *thread_main(void *context)
{
	struct thread *thread = context;

	self = thread;
	self_id = thread->id;
	pthread_setname_np(pthread_self(), thread->name);
	if (sim_is_on())
		sim_thread_begin(&thread->sim);
	pthread_cleanup_push(thread_finish, thread);
	thread->run(thread->argument);
	pthread_cleanup_pop(1);
	return NULL;
}

NTSTATUS thread_create(const char *name, void (*run)(void *argument), void *argument,
		       struct thread **thread_out)
{
	struct thread *thread = mem_zalloc(sizeof(*thread));

	if (!thread)
		return STATUS_NO_MEMORY;
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	thread->run = run;
	thread->argument = argument;
	thread->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	atomic_init(&thread->owners, 2);
	atomic_init(&thread->finished, 0);

	if (sim_is_on())
		sim_thread_register(&thread->sim, thread->name, thread->id);
	*thread_out = thread; /* before the start: run() may look at it */
	if (pthread_create(&thread->native, NULL, thread_main, thread) != 0) {
		*thread_out = NULL;
		if (sim_is_on())
			sim_thread_forget(&thread->sim);
		mem_free(thread);
		return STATUS_NO_MEMORY;
	}
	thread_point();
	return STATUS_SUCCESS;
}

void thread_join(struct thread *thread)
{
	if (!thread)
		return;
	assert(thread != self);
	while (!atomic_load_explicit(&thread->finished, memory_order_acquire))
		thread_wait(&thread->finished, 0, CLOCK_FOREVER);
	pthread_join(thread->native, NULL);
	thread_disown(thread);
}

void thread_detach(struct thread *thread)
{
	pthread_detach(thread->native);
	thread_disown(thread);
}

void thread_exit(void)
{
	assert(self);
	pthread_exit(NULL); /* thread_finish() runs as a cleanup handler */
}

struct thread *thread_self(void)
{
	return self;
}

uint32_t thread_id(void)
{
	if (UNLIKELY(self_id == 0)) {
		if (sim_is_on())
			sim_take_turn(); /* a seeded run decides who is first */
		self_id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	}
	return self_id;
}

const char *thread_name(void)
{
	return self ? self->name : "client";
}

__attribute__((constructor(101))) static void thread_make_end_key(void)
{
	if (pthread_key_create(&end_key, thread_run_ends) != 0)
		abort();
}

void thread_on_end(struct thread_end *end)
{
	end->next = pthread_getspecific(end_key);
	pthread_setspecific(end_key, end);
}

void thread_on_fork(void (*in_child)(void))
{
	pthread_atfork(NULL, NULL, in_child);
}

void thread_point(void)
{
	if (sim_is_on())
		sim_point();
}

void thread_enter_kernel(void)
{
	if (sim_is_on())
		sim_enter();
}

void thread_leave_kernel(void)
{
	if (sim_is_on())
		sim_leave();
}
