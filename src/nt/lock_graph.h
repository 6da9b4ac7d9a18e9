/* SPDX-License-Identifier: MIT */
/*
 * lock_graph.h - in which order a driver takes its locks, over the whole run: two orders that contradict each other are
 * a deadlock that only waits for its moment. Reported before the thread waits, whether or not it would have had to.
 *
 * On while a verifier wants it. Locks are told apart by their address; one that is initialized anew, or whose memory is
 * freed, is another lock.
 */
#ifndef NT_LOCK_GRAPH_H
#define NT_LOCK_GRAPH_H

#include <stdbool.h>

#include "base/attributes.h"
#include "base/status.h"
#include "nt/held.h"

extern bool nt_lock_graph_is_on __attribute__((visibility("hidden")));

/* STATUS_NO_MEMORY: it stays off. */
MUST_CHECK NTSTATUS nt_lock_graph_start(void);
void nt_lock_graph_stop(void);

void nt_lock_graph_note(void *lock, bool is_shared, const void *site);
void nt_lock_graph_forget_range(const void *begin, const void *end);

/* The calling thread will wait for the lock if somebody has it. Before it does. */
static inline void nt_lock_graph_wants(void *lock, bool is_shared, const void *site)
{
	if (UNLIKELY(nt_lock_graph_is_on && nt_level.held > 0))
		nt_lock_graph_note(lock, is_shared, site);
}

/* What was there is no lock any more, or another one. */
static inline void nt_lock_graph_forget(const void *begin, const void *end)
{
	if (UNLIKELY(nt_lock_graph_is_on))
		nt_lock_graph_forget_range(begin, end);
}

#endif
