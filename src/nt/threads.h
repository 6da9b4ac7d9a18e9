/* SPDX-License-Identifier: MIT */
/*
 * threads.h - what stands behind PKTHREAD, and what the host may ask about driver threads.
 *
 * Every thread that reaches an NT routine has one: threads of PsCreateSystemThread() an object with
 * references of its own, all others (clients, workers) one that is part of the thread itself and
 * ends with it.
 */
#ifndef NT_THREADS_H
#define NT_THREADS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <ddk/wdm.h>

#include "base/list.h"
#include "base/thread.h"
#include "nt/object.h"

struct nt_wait;

struct _KTHREAD {
	/* First: a thread is a dispatcher object, signaled when it has ended. */
	DISPATCHER_HEADER header;

	/* Set when it is made. */
	uint32_t id;
	bool is_system; /* PsCreateSystemThread() made it */
	PKSTART_ROUTINE start;
	PVOID start_context;
	jmp_buf *end_point; /* where PsTerminateSystemThread() goes back to */
	struct thread *thread;
	const struct nt_stack *made_by; /* who called for it; NULL: not known */

	/* Guarded by the dispatcher lock. */
	KWAIT_BLOCK wait_blocks[THREAD_WAIT_OBJECTS];
	struct nt_wait *wait;     /* the one it is in */
	LIST_ENTRY owned_mutexes; /* KMUTANT.MutantListEntry */
	struct list link;         /* running or ended system threads */
	LONG priority;

	/* Touched by the thread itself and, while it waits, by who satisfies the wait. */
	int32_t region_depth;  /* critical regions: kernel APCs off */
	int32_t guarded_depth; /* guarded regions: all APCs off     */
	NTSTATUS exit_status;
};

struct nt_thread {
	struct nt_object object;
	struct _KTHREAD kthread;
};
_Static_assert(offsetof(struct nt_thread, kthread) == sizeof(struct nt_object),
	       "the body follows the object header");

/*
 * On whose behalf the calling thread is in a driver, which is what the driver sees as the current
 * process: a worker of ours is nobody's, and one that carries out what a client left behind counts
 * as that client's.
 */
struct nt_process;

/* NULL: the thread's own. */
extern _Thread_local struct nt_process *nt_thread_behalf __attribute__((visibility("hidden")));

/* Returns whose it was before; around every call into a driver. */
static inline struct nt_process *nt_thread_act_for(struct nt_process *process)
{
	struct nt_process *before = nt_thread_behalf;

	nt_thread_behalf = process;
	return before;
}

/* The calling thread. Never fails. */
struct _KTHREAD *nt_thread_current(void);

/* KeEnterCriticalRegion() for a routine that was called at `site`. */
void nt_region_enter(const void *site);

/* Joins threads that have ended and lets go of them. Not from such a thread. */
void nt_threads_reap(void);

/*
 * Reports every thread that is still running a start routine of the image [begin, end) and returns
 * how many: such an image must not be unmapped.
 */
uint32_t nt_threads_report_running(const void *begin, const void *end);

#endif
