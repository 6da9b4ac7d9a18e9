/* SPDX-License-Identifier: MIT */
/*
 * thread.h - threads, and the one way to wait.
 *
 * Everything that blocks (locks, notices, workers, the NT dispatcher) is built on thread_wait()
 * and thread_wake_*(): sleep while a 32-bit word holds a value. There are two implementations
 * below that line:
 *
 *   real        futex; threads run when the machine runs them
 *   simulated   chosen by DXGK_SEED=n: one thread runs at a time, a seeded scheduler picks the next
 *               one at every lock, wait and wake, and time is virtual. Same seed, same run.
 *
 * A client's own thread becomes part of a simulated run at its first call. Alone it keeps the turn
 * between its calls, so a client with one thread is repeatable to the byte. It must wait through
 * our calls, not by spinning on memory: while it spins, nobody else runs. Of several client threads
 * the ones outside run beside us, and get a moment of real time before virtual time goes on without
 * them; which of them calls first is then not ours to repeat. opendxgk(7) tells clients.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct thread;

enum thread_wait_result { THREAD_WOKEN, THREAD_TIMED_OUT };

/*
 * Sleeps while *word == expected, until woken or until the deadline (clock.h). May also return
 * THREAD_WOKEN for no reason: the caller looks again at what it waits for.
 */
enum thread_wait_result thread_wait(_Atomic uint32_t *word, uint32_t expected,
				    uint64_t deadline_ns);
void thread_wake_one(_Atomic uint32_t *word);
void thread_wake_all(_Atomic uint32_t *word);

/*
 * The same for a word in memory that two processes share: one waits, the other wakes it. Such a
 * run is never simulated.
 */
enum thread_wait_result thread_wait_shared(_Atomic uint32_t *word, uint32_t expected,
					   uint64_t deadline_ns);
void thread_wake_shared(_Atomic uint32_t *word);

/*
 * Called on a thread that set it, each time before it sleeps in thread_wait(). It waits for nothing, and takes
 * no lock: the caller may be about to get one.
 */
extern _Thread_local void (*thread_before_wait)(void) __attribute__((visibility("hidden")));

/* How many processors this process may run on. */
uint32_t thread_processors(void);

/* `name` shows up in debuggers and traces; at most 15 characters are kept. */
MUST_CHECK NTSTATUS thread_create(const char *name, void (*run)(void *argument), void *argument,
				  struct thread **thread_out);
/* The same for who only watches (mem_zalloc_aside()). */
MUST_CHECK NTSTATUS thread_create_aside(const char *name, void (*run)(void *argument),
					void *argument, struct thread **thread_out);

/* Waits for the end of `thread`, then frees it. Accepts NULL. */
void thread_join(struct thread *thread);

/* For threads nobody joins: frees itself at its end. */
void thread_detach(struct thread *thread);

/* The calling thread; NULL when it is a client's own. */
struct thread *thread_self(void);

/* Small number, 1 for the first thread that asks; repeats in a seeded run. */
uint32_t thread_id(void);
const char *thread_name(void);

/*
 * A number from 1 to THREAD_SEATS that no other thread has meanwhile, kept to the end of the
 * thread; or 0, when all are taken or the system has no thread_fence_all().
 */
enum { THREAD_SEATS = 32 };
uint32_t thread_seat(void);

/* The number once it was asked for, else 0; always 0 in a simulated run. */
extern _Thread_local uint32_t thread_own_seat __attribute__((visibility("hidden")));

/* When it returns, every other thread has passed a full memory barrier since it was called. */
void thread_fence_all(void);

/*
 * `run` is called once on the calling thread when it ends, whoever made it; not for the thread that
 * calls exit(). The storage belongs to the caller and is free again when run() is called.
 */
struct thread_end {
	void (*run)(struct thread_end *end);
	struct thread_end *next;
};
void thread_on_end(struct thread_end *end);

/*
 * Memory that *place, a _Thread_local, keeps from the first call to the end of the thread: zeroed,
 * not counted and never failing on demand. For what is large and rarely needed: the room for
 * _Thread_local itself is small in a library that is loaded late. NULL when there is none.
 */
void *thread_keep(void **slot, size_t size_bytes);

/* `run` is called first of all on every thread that thread_create() makes from now on. At start. */
void thread_on_begin(void (*run)(void));
/* How many of those there are. */
uint32_t thread_count(void);

/* `in_child` is called in every child of fork(), before fork() returns there. */
void thread_on_fork(void (*in_child)(void));

/* In a loop that looks at a word: the other thread on this processor goes first. */
static inline void thread_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Does one seed say who runs (DXGK_SEED)? Then nobody may wait for the world outside. */
bool thread_is_simulated(void);

/*
 * In a copy of a process that crashed, made without a word to anybody: only this thread is left, so a seed has nobody else
 * to give the turn to.
 */
void thread_be_alone(void);

/* A place where a simulated run may change threads. Nothing in a real one. */
void thread_point(void);

/* A place where a test may park a thread of a simulated run (sim.h), and nothing else happens. */
void thread_park_point(void);

/*
 * Around every call from outside. A simulated run uses them to let a second client thread in
 * while the first one is busy in its own code.
 */
void thread_enter_kernel(void);
void thread_leave_kernel(void);

#endif
