/* SPDX-License-Identifier: MIT */
/*
 * dispatcher.h - inside of the dispatcher, for the other files of nt/.
 */
#ifndef NT_DISPATCHER_H
#define NT_DISPATCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ddk/wdm.h>

#include "base/attributes.h"
#include "base/lock.h"
#include "base/status.h"

/* Header.Type of each kind of dispatcher object; the numbers are those of NT. */
enum nt_dispatcher_type {
	NT_EVENT_NOTIFICATION = 0,
	NT_EVENT_SYNCHRONIZATION = 1,
	NT_MUTANT = 2,
	NT_SEMAPHORE = 5,
	NT_THREAD = 6,
	NT_TIMER_NOTIFICATION = 8,
	NT_TIMER_SYNCHRONIZATION = 9,
};

/* LOCK_RANK_NT_DISPATCHER: dispatcher objects, waits, timers, queues of DPCs and work items. */
extern struct lock nt_dispatcher_lock;

void nt_dispatcher_header_init(DISPATCHER_HEADER *header, enum nt_dispatcher_type type, LONG state);

/* The thread has ended: gives up its mutexes and wakes who waits for it. How many mutexes. */
uint32_t nt_dispatcher_thread_ended(struct _KTHREAD *thread);

/* What a timeout means on our clock: NULL is CLOCK_FOREVER, negative relative, positive absolute.
 */
uint64_t nt_timeout_deadline_ns(const LARGE_INTEGER *timeout);

/* Starts the thread that timers run on; it also starts by itself at the first timer. */
MUST_CHECK NTSTATUS nt_timers_start(void);
void nt_timers_stop(void);

/*
 * Memory [begin, end) goes away: takes armed timers, queued DPCs and queued work items in it out of
 * their queues. True when there were any. Costs nothing while none is queued anywhere;
 * nt_dispatcher_queued counts them.
 */
bool nt_dispatcher_forget_memory(const void *begin, const void *end);
extern _Atomic uint32_t nt_dispatcher_queued;

#endif
