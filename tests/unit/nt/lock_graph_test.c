/* SPDX-License-Identifier: MIT */
/*
 * lock_graph_test.c - the order in which locks are taken, and which orders cannot go together. One thread is enough: what
 * is reported is what two could come to.
 */
#include "unit/nt/nt_harness.h"

#include "nt/lock_graph.h"

static void begin(void)
{
	nt_test_begin();
	EXPECT_EQ(nt_lock_graph_start(), STATUS_SUCCESS);
}

static uint64_t deadlocks(void)
{
	return nt_report_count(RULE_DDI_DEADLOCK);
}

/* ---- one of each kind ---- */

enum kind {
	SPIN,
	SPIN_SHARED,
	SPIN_ALONE,
	FAST,
	RESOURCE,
	RESOURCE_SHARED,
	PUSH,
	PUSH_SHARED,
	MUTEX,
	KINDS
};

union any_lock {
	KSPIN_LOCK spin;
	EX_SPIN_LOCK rw;
	FAST_MUTEX fast;
	ERESOURCE resource;
	EX_PUSH_LOCK push;
	KMUTEX mutex;
};

static void initialize(union any_lock *lock, enum kind kind)
{
	memset(lock, 0, sizeof(*lock));
	if (kind == SPIN)
		KeInitializeSpinLock(&lock->spin);
	else if (kind == FAST)
		ExInitializeFastMutex(&lock->fast);
	else if (kind == RESOURCE || kind == RESOURCE_SHARED)
		ExInitializeResourceLite(&lock->resource);
	else if (kind == PUSH || kind == PUSH_SHARED)
		ExInitializePushLock(&lock->push);
	else if (kind == MUTEX)
		KeInitializeMutex(&lock->mutex, 0);
}

static void finish(union any_lock *lock, enum kind kind)
{
	if (kind == RESOURCE || kind == RESOURCE_SHARED)
		ExDeleteResourceLite(&lock->resource);
	nt_lock_graph_forget(lock, lock + 1);
}

static KIRQL take(union any_lock *lock, enum kind kind)
{
	KIRQL irql = KeGetCurrentIrql();

	switch (kind) {
	case SPIN:
		KeAcquireSpinLock(&lock->spin, &irql);
		break;
	case SPIN_SHARED:
		return ExAcquireSpinLockShared(&lock->rw);
	case SPIN_ALONE:
		return ExAcquireSpinLockExclusive(&lock->rw);
	case FAST:
		ExAcquireFastMutex(&lock->fast);
		break;
	case RESOURCE:
		KeEnterCriticalRegion();
		ExAcquireResourceExclusiveLite(&lock->resource, TRUE);
		break;
	case RESOURCE_SHARED:
		KeEnterCriticalRegion();
		ExAcquireResourceSharedLite(&lock->resource, TRUE);
		break;
	case PUSH:
		ExAcquirePushLockExclusiveEx(&lock->push, 0);
		break;
	case PUSH_SHARED:
		ExAcquirePushLockSharedEx(&lock->push, 0);
		break;
	case MUTEX:
		KeWaitForSingleObject(&lock->mutex, Executive, KernelMode, FALSE, NULL);
		break;
	case KINDS:
		break;
	}
	return irql;
}

static void give(union any_lock *lock, enum kind kind, KIRQL irql)
{
	switch (kind) {
	case SPIN:
		KeReleaseSpinLock(&lock->spin, irql);
		break;
	case SPIN_SHARED:
		ExReleaseSpinLockShared(&lock->rw, irql);
		break;
	case SPIN_ALONE:
		ExReleaseSpinLockExclusive(&lock->rw, irql);
		break;
	case FAST:
		ExReleaseFastMutex(&lock->fast);
		break;
	case RESOURCE:
	case RESOURCE_SHARED:
		ExReleaseResourceLite(&lock->resource);
		KeLeaveCriticalRegion();
		break;
	case PUSH:
		ExReleasePushLockExclusiveEx(&lock->push, 0);
		break;
	case PUSH_SHARED:
		ExReleasePushLockSharedEx(&lock->push, 0);
		break;
	case MUTEX:
		KeReleaseMutex(&lock->mutex, FALSE);
		break;
	case KINDS:
		break;
	}
}

static void take_both(union any_lock *first, union any_lock *second, enum kind kind)
{
	KIRQL outer = take(first, kind);
	KIRQL inner = take(second, kind);

	give(second, kind, inner);
	give(first, kind, outer);
}

/* ---- orders ---- */

TEST(order, of_two_locks_that_is_taken_both_ways_is_reported_once)
{
	/* Who shares a lock waits for nobody who shares it, either. */
	static const bool is_shared[KINDS] = {
		[SPIN_SHARED] = true, [RESOURCE_SHARED] = true, [PUSH_SHARED] = true
	};
	static union any_lock locks[2];

	for (enum kind kind = SPIN; kind < KINDS; kind++) {
		begin();
		initialize(&locks[0], kind);
		initialize(&locks[1], kind);
		take_both(&locks[0], &locks[1], kind);
		take_both(&locks[0], &locks[1], kind);
		EXPECT_EQ(deadlocks(), 0);
		take_both(&locks[1], &locks[0], kind);
		take_both(&locks[1], &locks[0], kind);
		EXPECT_EQ(deadlocks(), is_shared[kind] ? 0 : 1);
		finish(&locks[0], kind);
		finish(&locks[1], kind);
		nt_test_finish();
	}
}

#define GRAPH_TEST(suite, claim) TEST_BETWEEN(begin(), nt_test_finish(), suite, claim)

GRAPH_TEST(order, of_three_locks_that_leads_back_is_reported)
{
	static union any_lock locks[3];

	for (size_t i = 0; i < 3; i++)
		initialize(&locks[i], FAST);
	take_both(&locks[0], &locks[1], FAST);
	take_both(&locks[1], &locks[2], FAST);
	EXPECT_EQ(deadlocks(), 0);
	take_both(&locks[2], &locks[0], FAST);
	EXPECT_EQ(deadlocks(), 1);
}

/* Readers on both ways, and one of them wants the other lock alone. */
GRAPH_TEST(order, of_shared_locks_counts_when_one_is_taken_alone)
{
	static union any_lock locks[2];
	KIRQL irql;

	initialize(&locks[0], PUSH);
	initialize(&locks[1], PUSH);
	take_both(&locks[0], &locks[1], PUSH_SHARED);
	irql = take(&locks[1], PUSH_SHARED);
	give(&locks[0], PUSH, take(&locks[0], PUSH));
	give(&locks[1], PUSH_SHARED, irql);
	/* One waits for who shares 0 and wants to share 1, which nobody keeps from it. */
	EXPECT_EQ(deadlocks(), 0);
	take_both(&locks[0], &locks[1], PUSH);
	EXPECT_EQ(deadlocks(), 1);
}

GRAPH_TEST(order, that_a_third_lock_is_around_is_no_danger_until_it_is_not)
{
	static union any_lock guard;
	static union any_lock locks[2];
	KIRQL irql;

	initialize(&guard, FAST);
	initialize(&locks[0], FAST);
	initialize(&locks[1], FAST);
	irql = take(&guard, FAST);
	take_both(&locks[0], &locks[1], FAST);
	take_both(&locks[1], &locks[0], FAST);
	give(&guard, FAST, irql);
	EXPECT_EQ(deadlocks(), 0);
	/* Who takes them so now has no need of the guard, and the others keep nobody out by it. */
	take_both(&locks[0], &locks[1], FAST);
	EXPECT_EQ(deadlocks(), 1);
}

/* ---- what is no order ---- */

GRAPH_TEST(try, waits_for_nobody_and_makes_no_order)
{
	static KSPIN_LOCK locks[2];
	KIRQL irql;

	KeInitializeSpinLock(&locks[0]);
	KeInitializeSpinLock(&locks[1]);
	KeAcquireSpinLock(&locks[0], &irql);
	KeAcquireSpinLockAtDpcLevel(&locks[1]);
	KeReleaseSpinLockFromDpcLevel(&locks[1]);
	KeReleaseSpinLock(&locks[0], irql);
	KeAcquireSpinLock(&locks[1], &irql);
	EXPECT(KeTryToAcquireSpinLockAtDpcLevel(&locks[0]));
	KeReleaseSpinLockFromDpcLevel(&locks[0]);
	KeReleaseSpinLock(&locks[1], irql);
	EXPECT_EQ(deadlocks(), 0);
}

GRAPH_TEST(wait, that_ends_by_itself_makes_no_order)
{
	static KMUTEX mutexes[2];
	LARGE_INTEGER moment = { .QuadPart = -10 };

	KeInitializeMutex(&mutexes[0], 0);
	KeInitializeMutex(&mutexes[1], 0);
	for (size_t i = 0; i < 2; i++) {
		KeWaitForSingleObject(&mutexes[i], Executive, KernelMode, FALSE, NULL);
		KeWaitForSingleObject(&mutexes[1 - i], Executive, KernelMode, FALSE, &moment);
		KeReleaseMutex(&mutexes[1 - i], FALSE);
		KeReleaseMutex(&mutexes[i], FALSE);
	}
	EXPECT_EQ(deadlocks(), 0);
}

/* ---- which lock it is ---- */

GRAPH_TEST(lock, that_is_initialized_anew_is_another)
{
	static union any_lock locks[2];

	for (int i = 0; i < 2; i++) {
		initialize(&locks[0], FAST);
		initialize(&locks[1], FAST);
		take_both(&locks[i], &locks[1 - i], FAST);
	}
	EXPECT_EQ(deadlocks(), 0);
}

GRAPH_TEST(lock, whose_memory_was_freed_is_another)
{
	static KSPIN_LOCK outer;
	KIRQL irql;

	KeInitializeSpinLock(&outer);
	for (int i = 0; i < 2; i++) {
		/* As drivers do that know a spin lock is zero at first. Likely the same block again. */
		KSPIN_LOCK *inner = ExAllocatePoolZero(NonPagedPoolNx, 64, 0x74736554);

		KeAcquireSpinLock(i == 0 ? &outer : inner, &irql);
		KeAcquireSpinLockAtDpcLevel(i == 0 ? inner : &outer);
		KeReleaseSpinLockFromDpcLevel(i == 0 ? inner : &outer);
		KeReleaseSpinLock(i == 0 ? &outer : inner, irql);
		ExFreePool(inner);
	}
	EXPECT_EQ(deadlocks(), 0);
}

TEST_MAIN("nt/lock_graph")
