/* SPDX-License-Identifier: MIT */
/*
 * trap.c - see trap.h.
 *
 * Locks: `traps.is_busy`, held for a few instructions and one system call. A thread takes it in a signal handler, where
 * it may hold any other lock, and under it nobody faults and nobody waits.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/attributes.h"
#include "base/probe.h"
#include "base/thread.h"
#include "nt/fault.h"
#include "nt/trap.h"

/* A thread that faulted may come to its handler when the trap has just gone. */
enum { GONE_REMEMBERED = 32 };

static struct {
	_Atomic bool is_busy;
	_Atomic uint32_t armed; /* so that other faults cost nothing */

	/* Guarded by is_busy. */
	struct nt_trap *first;
	struct {
		const char *begin;
		size_t size_bytes;
	} gone[GONE_REMEMBERED];
	unsigned gone_next;
} traps;

static void traps_acquire(void)
{
	while (atomic_exchange_explicit(&traps.is_busy, true, memory_order_acquire))
		thread_relax();
}

static void traps_release(void)
{
	atomic_store_explicit(&traps.is_busy, false, memory_order_release);
}

static bool lies_in(const void *address, const char *begin, size_t size_bytes)
{
	return (uintptr_t)address - (uintptr_t)begin < size_bytes;
}

static bool protect(const struct nt_trap *trap, bool is_open)
{
	int closed = trap->may_be_read ? PROT_READ : PROT_NONE;

	return mprotect(trap->begin, trap->size_bytes, is_open ? PROT_READ | PROT_WRITE : closed) ==
	       0;
}

bool nt_trap_arm(struct nt_trap *trap)
{
	nt_faults_install();
	traps_acquire();
	bool is_armed = protect(trap, false);
	if (is_armed) {
		trap->is_open = false;
		trap->next = traps.first;
		traps.first = trap;
		atomic_fetch_add_explicit(&traps.armed, 1, memory_order_relaxed);
	}
	traps_release();
	return is_armed;
}

void nt_trap_close(struct nt_trap *trap)
{
	traps_acquire();
	trap->is_open = trap->is_open && !protect(trap, false);
	traps_release();
}

void nt_trap_disarm(struct nt_trap *trap)
{
	traps_acquire();
	struct nt_trap **link = &traps.first;
	while (*link && *link != trap)
		link = &(*link)->next;
	assert(*link);
	*link = trap->next;
	protect(trap, true);
	traps.gone[traps.gone_next].begin = trap->begin;
	traps.gone[traps.gone_next].size_bytes = trap->size_bytes;
	traps.gone_next = (traps.gone_next + 1) % GONE_REMEMBERED;
	traps_release();
}

static bool was_just_gone(const void *address)
{
	for (unsigned i = 0; i < GONE_REMEMBERED; i++) {
		if (lies_in(address, traps.gone[i].begin, traps.gone[i].size_bytes))
			return true;
	}
	return false;
}

bool nt_trap_fault(const void *address, bool is_write, const struct nt_fault *fault)
{
	uint32_t self = thread_id();
	struct nt_trap *asked[4];
	unsigned asked_count = 0;
	bool is_ours = false;

	if (atomic_load_explicit(&traps.armed, memory_order_relaxed) == 0)
		return false;
	traps_acquire();
	for (struct nt_trap *trap = traps.first; trap; trap = trap->next) {
		if (!lies_in(address, trap->begin, trap->size_bytes))
			continue;
		is_ours = true;
		bool was_open = trap->is_open;
		trap->is_open = protect(trap, true);
		if (!was_open && (trap->thread == 0 || trap->thread == self) &&
		    asked_count < ARRAY_SIZE(asked))
			asked[asked_count++] = trap;
	}
	if (!is_ours)
		is_ours =
			was_just_gone(address) && probe_is_writable((void *)(uintptr_t)address, 1);
	traps_release();
	for (unsigned i = 0; i < asked_count; i++)
		asked[i]->touched(asked[i], address, is_write, fault);
	return is_ours;
}
