/* SPDX-License-Identifier: MIT */
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
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitizers.h"
#if IS_ADDRESS_SANITIZED
#include <sanitizer/lsan_interface.h>
#endif

#include "base/cancel.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sim.h"
#include "base/thread.h"

enum { STACK_LEAST_BYTES = 1 << 20 };

struct thread {
	char name[16];
	void (*run)(void *argument);
	void *argument;
	uint32_t id;
	bool is_aside; /* its memory */
	pthread_t native;
	struct sim_thread sim;

	/* One for the maker (until join or detach), one for the thread itself. */
	_Atomic uint32_t owners;
	_Atomic uint32_t finished; /* wait word: 1 after run() came back */
};

enum { BEGINNINGS_MOST = 2 };

static _Atomic uint32_t last_id;
static _Atomic uint32_t live_count; /* of those that we made */
static void (*beginnings[BEGINNINGS_MOST])(void);
static _Atomic uint32_t beginning_count;
_Thread_local void (*thread_before_wait)(void);
static _Thread_local struct thread *self;
static _Thread_local uint32_t self_id;
static _Thread_local struct thread_end *own_ends;

/*
 * Set where there are any, for the sake of its destructor. Its value is not looked at: a thread
 * that ended by the system call alone leaves it to the next one with the same stack.
 */
static pthread_key_t end_key;

static void futex(_Atomic uint32_t *word, int operation, uint32_t value,
		  const struct timespec *deadline)
{
	syscall(SYS_futex, word, operation, value, deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

static enum thread_wait_result futex_wait(_Atomic uint32_t *word, int flags, uint32_t expected,
					  uint64_t deadline_ns)
{
	struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
				     .tv_nsec = (long)(deadline_ns % NS_PER_S) };

	errno = 0;
	futex(word, FUTEX_WAIT_BITSET | flags, expected,
	      deadline_ns == CLOCK_FOREVER ? NULL : &deadline);
	return errno == ETIMEDOUT ? THREAD_TIMED_OUT : THREAD_WOKEN;
}

enum thread_wait_result thread_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
	if (sim_is_on())
		return sim_wait(word, expected, deadline_ns);

	if (UNLIKELY(thread_before_wait != NULL))
		thread_before_wait();
	return futex_wait(word, FUTEX_PRIVATE_FLAG, expected, deadline_ns);
}

void thread_wake_one(_Atomic uint32_t *word)
{
	if (sim_is_on())
		sim_wake(word, 1);
	else
		futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL);
}

void thread_wake_all(_Atomic uint32_t *word)
{
	if (sim_is_on())
		sim_wake(word, UINT32_MAX);
	else
		futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
}

enum thread_wait_result thread_wait_shared(_Atomic uint32_t *word, uint32_t expected,
					   uint64_t deadline_ns)
{
	return futex_wait(word, 0, expected, deadline_ns);
}

void thread_wake_shared(_Atomic uint32_t *word)
{
	futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

uint32_t thread_processors(void)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed)
								    : 1;
}

static void thread_free(struct thread *thread)
{
	if (thread->is_aside)
		mem_free_aside(thread);
	else
		mem_free(thread);
}

static void thread_disown(struct thread *thread)
{
	if (atomic_fetch_sub_explicit(&thread->owners, 1, memory_order_acq_rel) == 1)
		thread_free(thread);
}

/* Also those that come while others run: an end may need what came to an end itself. */
static void thread_run_ends(void)
{
	struct thread_end *end;

	while ((end = own_ends) != NULL) {
		own_ends = end->next;
		end->run(end);
	}
}

/* A client's thread takes locks here, and is outside: in a simulated run it has to come in. */
static void thread_end_client(void *unused)
{
	thread_enter_kernel();
	thread_run_ends();
	thread_leave_kernel();
}

/* Runs on the ending thread, also when pthread_exit() cut run() short. */
static void thread_finish(void *context)
{
	struct thread *thread = context;

	/* Here and not as the key's destructor, because the thread still has its turn. */
	thread_run_ends();
	pthread_setspecific(end_key, NULL);
	atomic_fetch_sub(&live_count, 1);

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

	(void)cancel_hold_off();
	self = thread;
	self_id = thread->id;
	pthread_setname_np(pthread_self(), thread->name);
	if (sim_is_on())
		sim_thread_begin(&thread->sim);
	pthread_cleanup_push(thread_finish, thread);
	for (uint32_t i = 0; i < atomic_load(&beginning_count); i++)
		beginnings[i]();
	thread->run(thread->argument);
	pthread_cleanup_pop(1);
	return NULL;
}

/* What a program made the default for its own threads may be too little for ours. */
static int start_native(struct thread *thread)
{
	pthread_attr_t attributes;
	size_t stack_bytes;

	if (pthread_getattr_default_np(&attributes) != 0)
		return pthread_create(&thread->native, NULL, thread_main, thread);
	if (pthread_attr_getstacksize(&attributes, &stack_bytes) == 0 &&
	    stack_bytes < STACK_LEAST_BYTES)
		pthread_attr_setstacksize(&attributes, STACK_LEAST_BYTES);
	int problem = pthread_create(&thread->native, &attributes, thread_main, thread);
	pthread_attr_destroy(&attributes);
	return problem;
}

/* One beside the others may be there before the program has said which signals it takes where: it takes none. */
static int start_aside(struct thread *thread)
{
	sigset_t all;
	sigset_t had;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &had);
	int problem = start_native(thread);
	pthread_sigmask(SIG_SETMASK, &had, NULL);
	return problem;
}

/* `thread` is zeroed; NULL: there was no memory for it. */
static NTSTATUS thread_start(struct thread *thread, bool is_aside, const char *name,
			     void (*run)(void *argument), void *argument,
			     struct thread **thread_out)
{
	if (!thread)
		return STATUS_NO_MEMORY;
	thread->is_aside = is_aside;
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	thread->run = run;
	thread->argument = argument;
	thread->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	atomic_init(&thread->owners, 2);
	atomic_init(&thread->finished, 0);

	if (sim_is_on())
		sim_thread_register(&thread->sim, thread->name, thread->id);
	*thread_out = thread; /* before the start: run() may look at it */
	atomic_fetch_add(&live_count, 1);
	if ((is_aside ? start_aside(thread) : start_native(thread)) != 0) {
		*thread_out = NULL;
		atomic_fetch_sub(&live_count, 1);
		if (sim_is_on())
			sim_thread_forget(&thread->sim);
		thread_free(thread);
		return STATUS_NO_MEMORY;
	}
	thread_point();
	return STATUS_SUCCESS;
}

NTSTATUS thread_create(const char *name, void (*run)(void *argument), void *argument,
		       struct thread **thread_out)
{
	return thread_start(mem_zalloc(sizeof(struct thread)), false, name, run, argument,
			    thread_out);
}

NTSTATUS thread_create_aside(const char *name, void (*run)(void *argument), void *argument,
			     struct thread **thread_out)
{
	return thread_start(mem_zalloc_aside(sizeof(struct thread)), true, name, run, argument,
			    thread_out);
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

struct thread *thread_self(void)
{
	return self;
}

RARE static uint32_t thread_number(void)
{
	if (sim_is_on())
		sim_take_turn(); /* a seeded run decides who is first */
	self_id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	return self_id;
}

uint32_t thread_id(void)
{
	return LIKELY(self_id != 0) ? self_id : thread_number();
}

/* ---- seats ---- */

static _Atomic uint32_t seats_taken; /* a bit for each */
static bool has_fence_all;
_Thread_local uint32_t thread_own_seat;
static _Thread_local bool has_no_seat; /* asked, and there was none */
static _Thread_local struct thread_end seat_end;

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

__attribute__((constructor(101))) static void thread_prepare_fence_all(void)
{
	has_fence_all = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void thread_fence_all(void)
{
	if (!has_fence_all || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return;
	/* A child of fork() has to say again that it will. */
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0 ||
	    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
		abort();
}

static void seat_leave(struct thread_end *end)
{
	atomic_fetch_and(&seats_taken, ~(UINT32_C(1) << (thread_own_seat - 1)));
	thread_own_seat = 0;
}

RARE static uint32_t seat_find(void)
{
	uint32_t taken = atomic_load(&seats_taken);

	while (has_fence_all && !has_no_seat && !sim_is_on() && taken != UINT32_MAX) {
		uint32_t seat = (uint32_t)__builtin_ctz(~taken);
		if (!atomic_compare_exchange_weak(&seats_taken, &taken,
						  taken | UINT32_C(1) << seat))
			continue;
		thread_own_seat = seat + 1;
		seat_end.run = seat_leave;
		thread_on_end(&seat_end);
		return thread_own_seat;
	}
	has_no_seat = true; /* for ever: what it does elsewhere it also undoes there */
	return 0;
}

uint32_t thread_seat(void)
{
	return LIKELY(thread_own_seat != 0) ? thread_own_seat : seat_find();
}

const char *thread_name(void)
{
	return self ? self->name : "client";
}

__attribute__((constructor(101))) static void thread_make_end_key(void)
{
	if (pthread_key_create(&end_key, thread_end_client) != 0)
		abort();
}

void thread_on_end(struct thread_end *end)
{
	if (!own_ends)
		pthread_setspecific(end_key, &end_key);
	end->next = own_ends;
	own_ends = end;
}

struct kept {
	struct thread_end end;
	void **slot;
	max_align_t bytes[];
};

/* A child of fork() has what the other threads kept, and nobody who knows of it: not a leak. */
static void kept_is_no_leak(const struct kept *kept)
{
#if IS_ADDRESS_SANITIZED
	__lsan_ignore_object(kept);
#endif
}

static void kept_end(struct thread_end *end)
{
	struct kept *kept = container_of(end, struct kept, end);

	*kept->slot = NULL;
	free(kept);
}

void *thread_keep(void **slot, size_t size_bytes)
{
	if (*slot)
		return *slot;
	struct kept *kept = calloc(1, sizeof(*kept) + size_bytes);
	if (!kept)
		return NULL;
	kept_is_no_leak(kept);
	kept->end.run = kept_end;
	kept->slot = slot;
	*slot = kept->bytes;
	thread_on_end(&kept->end);
	return *slot;
}

void thread_on_begin(void (*run)(void))
{
	uint32_t count = atomic_load(&beginning_count);

	assert(count < BEGINNINGS_MOST);
	beginnings[count] = run;
	atomic_store(&beginning_count, count + 1);
}

uint32_t thread_count(void)
{
	return atomic_load(&live_count);
}

void thread_on_fork(void (*in_child)(void))
{
	pthread_atfork(NULL, NULL, in_child);
}

void thread_be_alone(void)
{
	sim_abandon();
}

bool thread_is_simulated(void)
{
	return sim_is_on();
}

void thread_point(void)
{
	if (sim_is_on())
		sim_point();
}

void thread_park_point(void)
{
	if (sim_is_on())
		sim_park_point();
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
