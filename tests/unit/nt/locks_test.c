/* SPDX-License-Identifier: MIT */
/*
 * locks_test.c - fast mutexes, resources, push locks and rundown protection.
 */
#include "unit/nt/nt_harness.h"

#include "nt/dispatcher.h"

enum { THREADS = 4, ROUNDS = 100 };

struct shared {
	FAST_MUTEX mutex;
	ERESOURCE resource;
	EX_PUSH_LOCK push;
	EX_RUNDOWN_REF rundown;
	unsigned value;
	unsigned copy;
	KEVENT entered;
	KEVENT go;
};

/* Now and then somebody stays inside long enough for the others to queue up. */
static void linger(int round)
{
	if (round % 20 == 0)
		KeStallExecutionProcessor(2);
}

/* ---- fast mutexes ---- */

NT_TEST(fast_mutex, raises_to_apc_level_and_gives_the_level_back)
{
	FAST_MUTEX mutex;

	ExInitializeFastMutex(&mutex);
	ExAcquireFastMutex(&mutex);
	EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
	EXPECT(!ExTryToAcquireFastMutex(&mutex));
	ExReleaseFastMutex(&mutex);
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
	EXPECT(ExTryToAcquireFastMutex(&mutex));
	EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
	ExReleaseFastMutex(&mutex);
	EXPECT_NO_REPORT();
}

TEST(fast_mutex, misuse_is_reported_and_does_not_hang)
{
	FAST_MUTEX mutex;

	nt_test_begin();
	ExInitializeFastMutex(&mutex);
	ExReleaseFastMutexUnsafe(&mutex);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	nt_test_finish();

	nt_test_begin();
	ExAcquireFastMutexUnsafe(&mutex);
	ExAcquireFastMutexUnsafe(&mutex);
	EXPECT_REPORTS(RULE_NT_LOCK_RECURSION, 1);
	ExReleaseFastMutexUnsafe(&mutex);
	EXPECT_EQ(mutex.Count, 1);
	nt_test_finish();

	nt_test_begin();
	KIRQL old = KeRaiseIrqlToDpcLevel();
	ExAcquireFastMutex(&mutex);
	EXPECT_REPORTS(RULE_NT_IRQL_WAIT, 1);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	ExReleaseFastMutex(&mutex);
	KeLowerIrql(old);
	nt_test_finish();
}

static VOID NTAPI count_with_fast_mutex(PVOID context)
{
	struct shared *shared = context;

	for (int i = 0; i < ROUNDS; i++) {
		ExAcquireFastMutex(&shared->mutex);
		shared->value++;
		linger(i);
		ExReleaseFastMutex(&shared->mutex);
	}
}

NT_TEST(fast_mutex, lets_one_thread_in)
{
	struct shared shared = { .value = 0 };

	ExInitializeFastMutex(&shared.mutex);
	nt_test_on_threads(THREADS, count_with_fast_mutex, &shared);
	EXPECT_EQ(shared.value, THREADS * ROUNDS);
	EXPECT_EQ(shared.mutex.Count, 1);
	EXPECT_NO_REPORT();
}

/* ---- resources ---- */

NT_TEST(resource, is_recursive_in_both_ways_and_knows_its_owner)
{
	ERESOURCE resource;

	EXPECT_EQ(ExInitializeResourceLite(&resource), STATUS_SUCCESS);
	KeEnterCriticalRegion();
	EXPECT(ExAcquireResourceExclusiveLite(&resource, TRUE));
	EXPECT(ExAcquireResourceExclusiveLite(&resource, FALSE));
	EXPECT(ExAcquireResourceSharedLite(&resource, FALSE));
	EXPECT(ExIsResourceAcquiredExclusiveLite(&resource));
	EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 3);
	for (int i = 0; i < 3; i++)
		ExReleaseResourceLite(&resource);
	EXPECT(!ExIsResourceAcquiredExclusiveLite(&resource));
	EXPECT(ExAcquireResourceSharedLite(&resource, TRUE));
	EXPECT(ExAcquireResourceSharedLite(&resource, TRUE));
	EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 2);
	EXPECT(!ExAcquireResourceExclusiveLite(&resource, FALSE));
	ExReleaseResourceLite(&resource);
	ExReleaseResourceLite(&resource);
	EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 0);
	KeLeaveCriticalRegion();
	EXPECT_EQ(ExDeleteResourceLite(&resource), STATUS_SUCCESS);
	EXPECT_NO_REPORT();
}

TEST(resource, misuse_is_reported_and_does_not_hang)
{
	ERESOURCE resource;

	nt_test_begin();
	ExInitializeResourceLite(&resource);
	EXPECT(ExAcquireResourceSharedLite(&resource, TRUE));
	EXPECT_REPORTS(RULE_NT_REGION, 1);
	ExReleaseResourceLite(&resource);
	ExDeleteResourceLite(&resource);
	nt_test_finish();

	nt_test_begin();
	ExInitializeResourceLite(&resource);
	ExReleaseResourceLite(&resource);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	nt_test_finish();

	nt_test_begin();
	ExInitializeResourceLite(&resource);
	ExEnterCriticalRegionAndAcquireResourceShared(&resource);
	EXPECT(!ExAcquireResourceExclusiveLite(&resource, TRUE));
	EXPECT_REPORTS(RULE_NT_LOCK_RECURSION, 1);
	ExReleaseResourceAndLeaveCriticalRegion(&resource);
	ExDeleteResourceLite(&resource);
	nt_test_finish();
}

NT_TEST(resource, is_as_new_when_it_was_initialized_again)
{
	ERESOURCE resource;

	ExInitializeResourceLite(&resource);
	KeEnterCriticalRegion();
	EXPECT(ExAcquireResourceSharedLite(&resource, TRUE));
	ExReleaseResourceLite(&resource);
	EXPECT_EQ(ExReinitializeResourceLite(&resource), STATUS_SUCCESS);
	EXPECT(ExAcquireResourceExclusiveLite(&resource, FALSE));
	EXPECT_NO_REPORT();
	ExDeleteResourceLite(&resource);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	EXPECT_CONTAINS(nt_test_log, "deletes a resource that is held");
	KeLeaveCriticalRegion();
}

NT_TEST(resource, is_made_shared_only_by_its_owner)
{
	ERESOURCE resource;

	ExInitializeResourceLite(&resource);
	ExConvertExclusiveToSharedLite(&resource);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	ExEnterCriticalRegionAndAcquireResourceShared(&resource);
	ExConvertExclusiveToSharedLite(&resource);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 2);
	EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 1);
	ExReleaseResourceAndLeaveCriticalRegion(&resource);
	ExDeleteResourceLite(&resource);
}

static VOID NTAPI hold_shared(PVOID context)
{
	struct shared *shared = context;

	ExEnterCriticalRegionAndAcquireResourceShared(&shared->resource);
	KeSetEvent(&shared->entered, 0, FALSE);
	nt_test_wait(&shared->go);
	ExReleaseResourceAndLeaveCriticalRegion(&shared->resource);
}

NT_TEST(resource, readers_share_and_a_writer_waits_for_them)
{
	struct shared shared = { .value = 0 };

	ExInitializeResourceLite(&shared.resource);
	KeInitializeEvent(&shared.entered, SynchronizationEvent, FALSE);
	KeInitializeEvent(&shared.go, NotificationEvent, FALSE);
	PKTHREAD reader = nt_test_start(hold_shared, &shared);
	nt_test_wait(&shared.entered);
	KeEnterCriticalRegion();
	EXPECT(ExAcquireResourceSharedLite(&shared.resource, FALSE));
	ExReleaseResourceLite(&shared.resource);
	EXPECT(!ExAcquireResourceExclusiveLite(&shared.resource, FALSE));
	KeSetEvent(&shared.go, 0, FALSE);
	EXPECT(ExAcquireResourceExclusiveLite(&shared.resource, TRUE));
	ExConvertExclusiveToSharedLite(&shared.resource);
	EXPECT(!ExIsResourceAcquiredExclusiveLite(&shared.resource));
	EXPECT_EQ(ExIsResourceAcquiredSharedLite(&shared.resource), 1);
	ExReleaseResourceLite(&shared.resource);
	KeLeaveCriticalRegion();
	nt_test_join(reader);
	ExDeleteResourceLite(&shared.resource);
	EXPECT_NO_REPORT();
}

static VOID NTAPI write_once(PVOID context)
{
	struct shared *shared = context;

	ExEnterCriticalRegionAndAcquireResourceExclusive(&shared->resource);
	shared->value++;
	ExReleaseResourceAndLeaveCriticalRegion(&shared->resource);
}

static ULONG waiting_writers(PERESOURCE resource)
{
	lock_acquire(&nt_dispatcher_lock);
	ULONG count = resource->NumberOfExclusiveWaiters;
	lock_release(&nt_dispatcher_lock);
	return count;
}

TEST(resource, a_writer_that_waits_goes_before_new_readers_but_not_before_those_inside)
{
	LARGE_INTEGER pause = nt_test_us(50);
	struct shared shared = { .value = 0 };

	nt_test_begin();
	ExInitializeResourceLite(&shared.resource);
	KeInitializeEvent(&shared.entered, SynchronizationEvent, FALSE);
	KeInitializeEvent(&shared.go, NotificationEvent, FALSE);
	PKTHREAD reader = nt_test_start(hold_shared, &shared);
	nt_test_wait(&shared.entered);
	PKTHREAD writer = nt_test_start(write_once, &shared);
	while (waiting_writers(&shared.resource) == 0)
		KeDelayExecutionThread(KernelMode, FALSE, &pause);

	KeEnterCriticalRegion();
	EXPECT(!ExAcquireResourceSharedLite(&shared.resource, FALSE));
	EXPECT(!ExAcquireSharedWaitForExclusive(&shared.resource, FALSE));
	EXPECT(ExAcquireSharedStarveExclusive(&shared.resource, FALSE));
	/* Inside, once more is no question of turns, unless the caller wants it so. */
	EXPECT(ExAcquireResourceSharedLite(&shared.resource, FALSE));
	EXPECT(!ExAcquireSharedWaitForExclusive(&shared.resource, FALSE));
	ExReleaseResourceLite(&shared.resource);
	ExReleaseResourceLite(&shared.resource);
	KeLeaveCriticalRegion();
	KeSetEvent(&shared.go, 0, FALSE);
	nt_test_join(reader);
	nt_test_join(writer);
	EXPECT_EQ(shared.value, 1);
	ExDeleteResourceLite(&shared.resource);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

/* Every fourth writes. */
static void use_round(struct shared *shared, int round)
{
	if (round % 4 == 0) {
		shared->value++;
		linger(round);
		shared->copy++;
	} else {
		linger(round - 1);
		EXPECT_EQ(shared->value, shared->copy);
	}
}

static VOID NTAPI use_resource(PVOID context)
{
	struct shared *shared = context;

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 4 == 0)
			ExEnterCriticalRegionAndAcquireResourceExclusive(&shared->resource);
		else
			ExEnterCriticalRegionAndAcquireResourceShared(&shared->resource);
		use_round(shared, i);
		ExReleaseResourceAndLeaveCriticalRegion(&shared->resource);
	}
}

NT_TEST(resource, keeps_writers_apart_from_everybody)
{
	struct shared shared = { .value = 0 };

	ExInitializeResourceLite(&shared.resource);
	nt_test_on_threads(THREADS, use_resource, &shared);
	EXPECT_EQ(shared.value, THREADS * ROUNDS / 4);
	EXPECT_EQ(shared.resource.ActiveCount, 0);
	ExDeleteResourceLite(&shared.resource);
	EXPECT_NO_REPORT();
}

/* ---- push locks ---- */

static VOID NTAPI use_push_lock(PVOID context)
{
	struct shared *shared = context;

	for (int i = 0; i < ROUNDS; i++) {
		bool is_writer = i % 4 == 0;

		if (is_writer)
			ExAcquirePushLockExclusive(&shared->push);
		else
			ExAcquirePushLockShared(&shared->push);
		use_round(shared, i);
		if (is_writer)
			ExReleasePushLockExclusive(&shared->push);
		else
			ExReleasePushLockShared(&shared->push);
	}
}

NT_TEST(push_lock, keeps_writers_apart_from_everybody)
{
	struct shared shared = { .value = 0 };

	ExInitializePushLock(&shared.push);
	nt_test_on_threads(THREADS, use_push_lock, &shared);
	EXPECT_EQ(shared.value, THREADS * ROUNDS / 4);
	EXPECT_EQ(shared.push, 0);
	EXPECT_NO_REPORT();
	ExReleasePushLockShared(&shared.push);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
}

/* ---- rundown protection ---- */

static VOID NTAPI use_until_rundown(PVOID context)
{
	struct shared *shared = context;

	while (ExAcquireRundownProtection(&shared->rundown)) {
		EXPECT_EQ(__atomic_load_n(&shared->value, __ATOMIC_RELAXED), 0);
		KeSetEvent(&shared->entered, 0, FALSE);
		ExReleaseRundownProtection(&shared->rundown);
	}
}

NT_TEST(push_lock, that_is_not_held_cannot_be_released)
{
	EX_PUSH_LOCK lock;

	ExInitializePushLock(&lock);
	KeEnterCriticalRegion();
	ExReleasePushLockExclusive(&lock);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	ExAcquirePushLockExclusive(&lock);
	ExReleasePushLockExclusive(&lock);
	KeLeaveCriticalRegion();
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
}

NT_TEST(rundown, waits_for_users_and_lets_nobody_in_afterwards)
{
	struct shared shared = { .value = 0 };
	PKTHREAD threads[THREADS];

	ExInitializeRundownProtection(&shared.rundown);
	KeInitializeEvent(&shared.entered, SynchronizationEvent, FALSE);
	for (int i = 0; i < THREADS; i++)
		threads[i] = nt_test_start(use_until_rundown, &shared);
	nt_test_wait(&shared.entered);
	ExWaitForRundownProtectionRelease(&shared.rundown);
	__atomic_store_n(&shared.value, 1, __ATOMIC_RELAXED);
	EXPECT(!ExAcquireRundownProtection(&shared.rundown));
	for (int i = 0; i < THREADS; i++)
		nt_test_join(threads[i]);
	ExRundownCompleted(&shared.rundown);
	ExReInitializeRundownProtection(&shared.rundown);
	EXPECT(ExAcquireRundownProtection(&shared.rundown));
	ExReleaseRundownProtection(&shared.rundown);
	EXPECT_NO_REPORT();
	ExReleaseRundownProtection(&shared.rundown);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
}

TEST_MAIN("nt/locks")
