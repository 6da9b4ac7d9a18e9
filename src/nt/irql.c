/* SPDX-License-Identifier: MIT */
/*
 * irql.c - see irql.h; and the locks that go with the level: spin locks.
 *
 * A KSPIN_LOCK is eight bytes and zero when free:
 *
 *	first half    0 free, 1 taken, 2 taken and somebody waits (the word waited on)
 *	second half   thread_id() of the owner, to notice recursion and foreign releases
 *
 * An EX_SPIN_LOCK is four bytes: the number of readers, or the writer's bit; waiters set a bit of
 * their own. Neither really spins: there may be fewer processors than threads.
 */
#include <stddef.h>

#include <ddk/wdm.h>

#include "base/clock.h"
#include "base/thread.h"
#include "nt/forbidden.h"
#include "nt/held.h"
#include "nt/irql.h"
#include "nt/lock_graph.h"
#include "nt/report.h"

_Thread_local union nt_level nt_level;
bool nt_irql_is_watched;

/* ---- level ---- */

const char *nt_irql_name(uint8_t level)
{
	switch (level) {
	case PASSIVE_LEVEL:
		return "PASSIVE_LEVEL";
	case APC_LEVEL:
		return "APC_LEVEL";
	case DISPATCH_LEVEL:
		return "DISPATCH_LEVEL";
	case HIGH_LEVEL:
		return "HIGH_LEVEL";
	default:
		return "DIRQL";
	}
}

RARE void nt_irql_report_return(const struct nt_irql *scope, const char *routine)
{
	/* A lock that is still held explains the level that goes with it. */
	if (nt_level.held > scope->held)
		nt_held_release(scope, routine);
	else
		nt_report(RULE_NT_IRQL_RETURN, "%s was called at %s and returned at %s", routine,
			  nt_irql_name(scope->entered), nt_irql_name(nt_level.irql));
}

RARE void nt_irql_report_high(uint8_t highest, const char *routine)
{
	nt_report(RULE_NT_IRQL_HIGH, "%s was called at %s; %s is the highest level for it", routine,
		  nt_irql_name(nt_level.irql), nt_irql_name(highest));
}

void nt_irql_require_waitable(const char *routine)
{
	nt_forbidden_check(routine);
	if (UNLIKELY(nt_level.irql >= DISPATCH_LEVEL))
		nt_report(RULE_NT_IRQL_WAIT,
			  "%s waits at %s; a thread may only wait below "
			  "DISPATCH_LEVEL",
			  routine, nt_irql_name(nt_level.irql));
}

KIRQL KeGetCurrentIrql(VOID)
{
	return nt_level.irql;
}

KIRQL KfRaiseIrql(KIRQL NewIrql)
{
	KIRQL before = nt_level.irql;

	if (NewIrql < before || NewIrql > HIGH_LEVEL)
		nt_report(RULE_NT_IRQL_ORDER, "KeRaiseIrql was asked to go from %s to %s",
			  nt_irql_name(before), nt_irql_name(NewIrql));
	else
		nt_irql_set(NewIrql);
	return before;
}

VOID KeLowerIrql(KIRQL NewIrql)
{
	if (NewIrql > nt_level.irql)
		nt_report(RULE_NT_IRQL_ORDER, "KeLowerIrql was asked to go from %s to %s",
			  nt_irql_name(nt_level.irql), nt_irql_name(NewIrql));
	nt_irql_set(NewIrql);
}

KIRQL KeRaiseIrqlToDpcLevel(VOID)
{
	return KfRaiseIrql(DISPATCH_LEVEL);
}

KIRQL KeRaiseIrqlToSynchLevel(VOID)
{
	return KfRaiseIrql(DISPATCH_LEVEL);
}

RARE static void report_paged_code(PCSTR file, ULONG line)
{
	nt_report(RULE_NT_IRQL_PAGED, "PAGED_CODE at %s:%u was reached at %s", file, line,
		  nt_irql_name(nt_level.irql));
}

VOID OpendxgkPagedCode(PCSTR File, ULONG Line)
{
	if (UNLIKELY(nt_level.irql > APC_LEVEL))
		report_paged_code(File, Line);
}

/* A display driver has no interrupt object; the graphics kernel connects its interrupt. */
BOOLEAN KeSynchronizeExecution(PKINTERRUPT Interrupt, PKSYNCHRONIZE_ROUTINE SynchronizeRoutine,
			       PVOID SynchronizeContext)
{
	nt_report(RULE_NT_NOT_HOSTED, "KeSynchronizeExecution is not available here; a display "
				      "driver calls DxgkCbSynchronizeExecution");
	return FALSE;
}

/* ---- spin locks ---- */

enum { SPIN_FREE, SPIN_TAKEN, SPIN_CONTENDED };

struct spin_lock {
	_Atomic uint32_t word;
	_Atomic uint32_t owner;
};
_Static_assert(sizeof(struct spin_lock) == sizeof(KSPIN_LOCK), "drivers embed it");

static struct spin_lock *spin_lock_of(PKSPIN_LOCK lock)
{
	return (struct spin_lock *)lock;
}

static bool spin_take(struct spin_lock *lock)
{
	uint32_t expected = SPIN_FREE;

	return atomic_compare_exchange_strong_explicit(&lock->word, &expected, SPIN_TAKEN,
						       memory_order_acquire, memory_order_relaxed);
}

static bool spin_is_mine(struct spin_lock *lock)
{
	return atomic_load_explicit(&lock->owner, memory_order_relaxed) == thread_id();
}

static void spin_acquire(struct spin_lock *lock, const char *routine, const void *site)
{
	nt_lock_graph_wants(lock, false, site);
	thread_point();
	if (!spin_take(lock)) {
		if (spin_is_mine(lock)) {
			nt_report(RULE_NT_LOCK_RECURSION,
				  "%s waits for a spin lock that its own thread holds", routine);
			return;
		}
		while (atomic_exchange_explicit(&lock->word, SPIN_CONTENDED,
						memory_order_acquire) != SPIN_FREE)
			thread_wait(&lock->word, SPIN_CONTENDED, CLOCK_FOREVER);
	}
	atomic_store_explicit(&lock->owner, thread_id(), memory_order_relaxed);
	nt_held_add(NT_HELD_SPIN_LOCK, lock, site);
}

static void spin_release(struct spin_lock *lock, const char *routine)
{
	if (!spin_is_mine(lock)) {
		nt_report(RULE_NT_LOCK_OWNER,
			  "%s releases a spin lock that its thread does not "
			  "hold",
			  routine);
		return;
	}
	nt_held_drop(NT_HELD_SPIN_LOCK, lock);
	atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
	if (atomic_exchange_explicit(&lock->word, SPIN_FREE, memory_order_release) ==
	    SPIN_CONTENDED)
		thread_wake_one(&lock->word);
}

/* The level on entry; the thread runs at DISPATCH_LEVEL or above afterwards. */
static KIRQL raise_to_dispatch(const char *routine)
{
	KIRQL before = nt_level.irql;

	if (nt_irql_require(DISPATCH_LEVEL, routine))
		nt_irql_set(DISPATCH_LEVEL);
	return before;
}

static void require_dispatch(const char *routine)
{
	if (UNLIKELY(nt_level.irql < DISPATCH_LEVEL))
		nt_report(RULE_NT_IRQL_LOW, "%s was called at %s; it needs DISPATCH_LEVEL", routine,
			  nt_irql_name(nt_level.irql));
}

static void lower_from_dispatch(KIRQL level, const char *routine)
{
	require_dispatch(routine);
	if (level > nt_level.irql)
		nt_report(RULE_NT_IRQL_ORDER, "%s was asked to go from %s to %s", routine,
			  nt_irql_name(nt_level.irql), nt_irql_name(level));
	nt_irql_set(level);
}

VOID KeInitializeSpinLock(PKSPIN_LOCK SpinLock)
{
	struct spin_lock *lock = spin_lock_of(SpinLock);

	nt_lock_graph_forget(lock, lock + 1);
	atomic_init(&lock->word, SPIN_FREE);
	atomic_init(&lock->owner, 0);
}

KIRQL KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock)
{
	KIRQL before = raise_to_dispatch("KeAcquireSpinLock");

	spin_acquire(spin_lock_of(SpinLock), "KeAcquireSpinLock", CALLER);
	return before;
}

VOID KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql)
{
	spin_release(spin_lock_of(SpinLock), __func__);
	lower_from_dispatch(NewIrql, __func__);
}

VOID KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
	require_dispatch(__func__);
	spin_acquire(spin_lock_of(SpinLock), __func__, CALLER);
}

VOID KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock)
{
	require_dispatch(__func__);
	spin_release(spin_lock_of(SpinLock), __func__);
}

BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
	struct spin_lock *lock = spin_lock_of(SpinLock);

	require_dispatch(__func__);
	thread_point();
	if (!spin_take(lock))
		return FALSE;
	atomic_store_explicit(&lock->owner, thread_id(), memory_order_relaxed);
	nt_held_add(NT_HELD_SPIN_LOCK, lock, CALLER);
	return TRUE;
}

BOOLEAN KeTestSpinLock(PKSPIN_LOCK SpinLock)
{
	thread_point(); /* drivers poll with this */
	return atomic_load_explicit(&spin_lock_of(SpinLock)->word, memory_order_acquire) ==
	       SPIN_FREE;
}

/* For routines that a normal and a threaded DPC share: raises only where it is needed. */
KIRQL KeAcquireSpinLockForDpc(PKSPIN_LOCK SpinLock)
{
	KIRQL before = raise_to_dispatch(__func__);

	spin_acquire(spin_lock_of(SpinLock), __func__, CALLER);
	return before;
}

VOID KeReleaseSpinLockForDpc(PKSPIN_LOCK SpinLock, KIRQL OldIrql)
{
	spin_release(spin_lock_of(SpinLock), __func__);
	lower_from_dispatch(OldIrql, __func__);
}

/* The queue of a queued lock is the host's business: it wakes waiters in turn either way. */
VOID KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
	KIRQL before = raise_to_dispatch(__func__);

	spin_acquire(spin_lock_of(SpinLock), __func__, CALLER);
	LockHandle->LockQueue.Next = NULL;
	LockHandle->LockQueue.Lock = SpinLock;
	LockHandle->OldIrql = before;
}

VOID KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle)
{
	spin_release(spin_lock_of(LockHandle->LockQueue.Lock), __func__);
	lower_from_dispatch(LockHandle->OldIrql, __func__);
}

VOID KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
	require_dispatch(__func__);
	spin_acquire(spin_lock_of(SpinLock), __func__, CALLER);
	LockHandle->LockQueue.Next = NULL;
	LockHandle->LockQueue.Lock = SpinLock;
}

VOID KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle)
{
	require_dispatch(__func__);
	spin_release(spin_lock_of(LockHandle->LockQueue.Lock), __func__);
}

/* ---- spin locks for readers and writers ---- */

#define RW_WRITER  UINT32_C(0x80000000)
#define RW_WAITERS UINT32_C(0x40000000)
#define RW_READERS UINT32_C(0x3fffffff)

static _Atomic uint32_t *rw_word(PEX_SPIN_LOCK lock)
{
	return (_Atomic uint32_t *)lock;
}

/* Enters when no bit of `excluded` is set. */
static void rw_acquire(_Atomic uint32_t *word, uint32_t excluded, uint32_t added)
{
	thread_point();
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
	for (;;) {
		if (!(seen & excluded)) {
			if (atomic_compare_exchange_weak_explicit(word, &seen, seen + added,
								  memory_order_acquire,
								  memory_order_relaxed))
				return;
		} else if ((seen & RW_WAITERS) ||
			   atomic_compare_exchange_weak_explicit(word, &seen, seen | RW_WAITERS,
								 memory_order_relaxed,
								 memory_order_relaxed)) {
			thread_wait(word, seen | RW_WAITERS, CLOCK_FOREVER);
			seen = atomic_load_explicit(word, memory_order_relaxed);
		}
	}
}

/* The last one out wakes everybody; they sort it out among themselves. */
static void rw_release(_Atomic uint32_t *word, uint32_t added)
{
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
	uint32_t left;

	do {
		left = seen - added;
		if (!(left & (RW_WRITER | RW_READERS)))
			left = 0;
	} while (!atomic_compare_exchange_weak_explicit(word, &seen, left, memory_order_release,
							memory_order_relaxed));
	if (left == 0 && (seen & RW_WAITERS))
		thread_wake_all(word);
}

void nt_rw_acquire_shared(_Atomic uint32_t *word)
{
	rw_acquire(word, RW_WRITER, 1);
}

void nt_rw_acquire_exclusive(_Atomic uint32_t *word)
{
	rw_acquire(word, RW_WRITER | RW_READERS, RW_WRITER);
}

bool nt_rw_release_shared(_Atomic uint32_t *word)
{
	bool is_held = (atomic_load_explicit(word, memory_order_relaxed) & RW_READERS) != 0;

	if (is_held)
		rw_release(word, 1);
	return is_held;
}

bool nt_rw_release_exclusive(_Atomic uint32_t *word)
{
	bool is_held = (atomic_load_explicit(word, memory_order_relaxed) & RW_WRITER) != 0;

	if (is_held)
		rw_release(word, RW_WRITER);
	return is_held;
}

KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
	KIRQL before = raise_to_dispatch(__func__);

	nt_lock_graph_wants(rw_word(SpinLock), false, CALLER);
	nt_rw_acquire_exclusive(rw_word(SpinLock));
	nt_held_add(NT_HELD_SPIN_EXCLUSIVE, rw_word(SpinLock), CALLER);
	return before;
}

VOID ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
	nt_held_drop(NT_HELD_SPIN_EXCLUSIVE, rw_word(SpinLock));
	if (!nt_rw_release_exclusive(rw_word(SpinLock)))
		nt_report(RULE_NT_LOCK_OWNER, "ExReleaseSpinLockExclusive releases a lock that is "
					      "not held exclusively");
	lower_from_dispatch(OldIrql, __func__);
}

KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock)
{
	KIRQL before = raise_to_dispatch(__func__);

	nt_lock_graph_wants(rw_word(SpinLock), true, CALLER);
	nt_rw_acquire_shared(rw_word(SpinLock));
	nt_held_add(NT_HELD_SPIN_SHARED, rw_word(SpinLock), CALLER);
	return before;
}

VOID ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
	nt_held_drop(NT_HELD_SPIN_SHARED, rw_word(SpinLock));
	if (!nt_rw_release_shared(rw_word(SpinLock)))
		nt_report(RULE_NT_LOCK_OWNER, "ExReleaseSpinLockShared releases a lock that is not "
					      "held shared");
	lower_from_dispatch(OldIrql, __func__);
}
