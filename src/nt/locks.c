/* SPDX-License-Identifier: MIT */
/*
 * locks.c - the executive's locks: fast mutexes, resources, push locks, rundown protection.
 *
 * All of them block, so they are for threads below DISPATCH_LEVEL. Their state is inside the
 * driver's struct:
 *
 *   FAST_MUTEX       Count 1 free, 0 taken, below that so many wait for Event
 *   ERESOURCE        OwnerEntry is the exclusive owner, OwnerTable the shared ones; guarded by the
 *                    dispatcher lock. The first half of SpinLock is a word that changes when
 *                    waiters should look again.
 *   EX_PUSH_LOCK     readers or a writer in the first half (irql.c)
 *   EX_RUNDOWN_REF   first half: twice the number of users, plus one once it is being run down
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ddk/wdm.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/race.h"
#include "base/thread.h"
#include "nt/dispatcher.h"
#include "nt/forbidden.h"
#include "nt/held.h"
#include "nt/irql.h"
#include "nt/lock_graph.h"
#include "nt/report.h"
#include "nt/threads.h"

/* ---- fast mutexes ---- */

VOID ExInitializeFastMutex(PFAST_MUTEX FastMutex)
{
	nt_lock_graph_forget(FastMutex, FastMutex + 1);
	memset(FastMutex, 0, sizeof(*FastMutex));
	FastMutex->Count = 1;
	KeInitializeEvent(&FastMutex->Event, SynchronizationEvent, FALSE);
}

static void *fast_mutex_owner(PFAST_MUTEX mutex)
{
	return __atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED);
}

static void fast_mutex_own(PFAST_MUTEX mutex, const void *site)
{
	__atomic_store_n(&mutex->Owner, nt_thread_current(), __ATOMIC_RELAXED);
	nt_held_add(NT_HELD_FAST_MUTEX, mutex, site);
}

static void fast_mutex_acquire(PFAST_MUTEX mutex, const char *routine, const void *site)
{
	if (nt_irql_current() > APC_LEVEL)
		nt_irql_require_waitable(routine);
	else
		nt_forbidden_check(routine);
	if (fast_mutex_owner(mutex) == nt_thread_current()) {
		nt_report(RULE_NT_LOCK_RECURSION,
			  "%s waits for a fast mutex that its own thread holds", routine);
		return;
	}
	nt_lock_graph_wants(mutex, false, site);
	thread_point();
	if (InterlockedDecrement(&mutex->Count) != 0) {
		__atomic_fetch_add(&mutex->Contention, 1, __ATOMIC_RELAXED);
		KeWaitForSingleObject(&mutex->Event, WrFastMutex, KernelMode, FALSE, NULL);
	}
	fast_mutex_own(mutex, site);
}

/* False when the caller does not hold it. */
static bool fast_mutex_release(PFAST_MUTEX mutex, const char *routine)
{
	if (fast_mutex_owner(mutex) != nt_thread_current()) {
		nt_report(RULE_NT_LOCK_OWNER,
			  "%s releases a fast mutex that its thread does not "
			  "hold",
			  routine);
		return false;
	}
	nt_held_drop(NT_HELD_FAST_MUTEX, mutex);
	__atomic_store_n(&mutex->Owner, NULL, __ATOMIC_RELAXED);
	if (InterlockedIncrement(&mutex->Count) <= 0)
		KeSetEvent(&mutex->Event, IO_NO_INCREMENT, FALSE);
	return true;
}

VOID ExAcquireFastMutex(PFAST_MUTEX FastMutex)
{
	KIRQL before = nt_irql_current();

	fast_mutex_acquire(FastMutex, __func__, CALLER);
	if (before < APC_LEVEL)
		KfRaiseIrql(APC_LEVEL);
	FastMutex->OldIrql = before;
}

BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex)
{
	KIRQL before = nt_irql_current();

	nt_irql_require(APC_LEVEL, __func__);
	thread_point();
	if (InterlockedCompareExchange(&FastMutex->Count, 0, 1) != 1)
		return FALSE;
	fast_mutex_own(FastMutex, CALLER);
	if (before < APC_LEVEL)
		KfRaiseIrql(APC_LEVEL);
	FastMutex->OldIrql = before;
	return TRUE;
}

VOID ExReleaseFastMutex(PFAST_MUTEX FastMutex)
{
	/* Read while it is ours. */
	KIRQL before = (KIRQL)FastMutex->OldIrql;

	if (fast_mutex_release(FastMutex, __func__))
		KeLowerIrql(before);
}

VOID ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex)
{
	fast_mutex_acquire(FastMutex, __func__, CALLER);
}

VOID ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex)
{
	fast_mutex_release(FastMutex, __func__);
}

/* ---- resources ---- */

enum { RESOURCE_EXCLUSIVE = 0x80, OWNERS_FIRST = 4 };

/* What a request for shared access does about threads that wait for exclusive access. */
enum shared_manners { SHARED_QUEUES, SHARED_OVERTAKES, SHARED_QUEUES_ALWAYS };

static _Atomic uint32_t *resource_turn(PERESOURCE resource)
{
	return (_Atomic uint32_t *)&resource->SpinLock;
}

NTSTATUS ExInitializeResourceLite(PERESOURCE Resource)
{
	nt_lock_graph_forget(Resource, Resource + 1);
	memset(Resource, 0, sizeof(*Resource));
	InitializeListHead(&Resource->SystemResourcesList);
	return STATUS_SUCCESS;
}

NTSTATUS ExDeleteResourceLite(PERESOURCE Resource)
{
	lock_acquire(&nt_dispatcher_lock);
	bool is_held = Resource->ActiveCount != 0;
	POWNER_ENTRY table = Resource->OwnerTable;
	Resource->OwnerTable = NULL;
	lock_release(&nt_dispatcher_lock);
	if (is_held)
		nt_report(RULE_NT_LOCK_OWNER,
			  "ExDeleteResourceLite deletes a resource that is held");
	mem_free(table);
	return STATUS_SUCCESS;
}

NTSTATUS ExReinitializeResourceLite(PERESOURCE Resource)
{
	ExDeleteResourceLite(Resource);
	return ExInitializeResourceLite(Resource);
}

static bool resource_is_exclusive(const ERESOURCE *resource)
{
	return resource->Flag & RESOURCE_EXCLUSIVE;
}

/* The first entry of the table holds its size, as on NT. */
static POWNER_ENTRY owner_find_locked(PERESOURCE resource, ERESOURCE_THREAD thread)
{
	lock_assert_held(&nt_dispatcher_lock);

	if (resource_is_exclusive(resource))
		return resource->OwnerEntry.OwnerThread == thread ? &resource->OwnerEntry : NULL;
	for (ULONG i = 1; resource->OwnerTable && i < resource->OwnerTable[0].TableSize; i++) {
		if (resource->OwnerTable[i].OwnerThread == thread)
			return &resource->OwnerTable[i];
	}
	return NULL;
}

/* An unused entry; NULL without memory. */
static POWNER_ENTRY owner_add_locked(PERESOURCE resource)
{
	POWNER_ENTRY free_entry = owner_find_locked(resource, 0);

	lock_assert_held(&nt_dispatcher_lock);
	if (free_entry)
		return free_entry;
	ULONG size = resource->OwnerTable ? resource->OwnerTable[0].TableSize : 1;
	POWNER_ENTRY larger =
		mem_realloc(resource->OwnerTable, (size + OWNERS_FIRST) * sizeof(*larger));
	if (!larger)
		return NULL;
	memset(&larger[size], 0, OWNERS_FIRST * sizeof(*larger));
	larger[0].TableSize = size + OWNERS_FIRST;
	resource->OwnerTable = larger;
	return &larger[size];
}

static void resource_check_caller(const char *routine)
{
	nt_forbidden_check(routine);
	nt_irql_require(APC_LEVEL, routine);
	if (!KeAreApcsDisabled() && nt_irql_current() < APC_LEVEL)
		nt_report(RULE_NT_REGION, "%s was called outside of a critical region", routine);
}

/* Drops and retakes the dispatcher lock until the resource changes hands; another may have it then. */
static void resource_wait_relock(PERESOURCE resource, ULONG *waiters)
{
	uint32_t turn = atomic_load(resource_turn(resource));

	lock_assert_held(&nt_dispatcher_lock);
	++*waiters;
	resource->ContentionCount++;
	lock_release(&nt_dispatcher_lock);
	thread_wait(resource_turn(resource), turn, CLOCK_FOREVER);
	lock_acquire(&nt_dispatcher_lock);
	--*waiters;
}

static void resource_next_turn(PERESOURCE resource)
{
	atomic_fetch_add(resource_turn(resource), 1);
	thread_wake_all(resource_turn(resource));
}

static BOOLEAN resource_acquire_exclusive(PERESOURCE Resource, bool Wait, const void *site)
{
	ERESOURCE_THREAD thread = ExGetCurrentResourceThread();
	bool is_mine = false;
	bool is_shared_by_me = false;

	resource_check_caller("ExAcquireResourceExclusiveLite");
	if (Wait)
		nt_lock_graph_wants(Resource, false, site);
	lock_acquire(&nt_dispatcher_lock);
	for (;;) {
		POWNER_ENTRY owner = owner_find_locked(Resource, thread);
		is_shared_by_me = owner && !resource_is_exclusive(Resource);
		if (Resource->ActiveCount == 0) {
			Resource->ActiveCount = 1;
			Resource->Flag |= RESOURCE_EXCLUSIVE;
			Resource->OwnerEntry.OwnerThread = thread;
			Resource->OwnerEntry.OwnerCount = 1;
			is_mine = true;
		} else if (owner && !is_shared_by_me) {
			owner->OwnerCount++;
			is_mine = true;
		}
		if (is_mine || !Wait || is_shared_by_me)
			break;
		resource_wait_relock(Resource, &Resource->NumberOfExclusiveWaiters);
	}
	lock_release(&nt_dispatcher_lock);

	if (is_shared_by_me && Wait)
		nt_report(RULE_NT_LOCK_RECURSION, "ExAcquireResourceExclusiveLite waits for a "
						  "resource that its own thread holds shared");
	if (is_mine)
		nt_held_add(NT_HELD_RESOURCE, Resource, site);
	return is_mine;
}

BOOLEAN ExAcquireResourceExclusiveLite(PERESOURCE Resource, BOOLEAN Wait)
{
	return resource_acquire_exclusive(Resource, Wait, CALLER);
}

/* False when the request has to wait. */
static bool resource_share_locked(PERESOURCE resource, ERESOURCE_THREAD thread,
				  enum shared_manners manners)
{
	POWNER_ENTRY owner = owner_find_locked(resource, thread);
	bool others_wait = resource->NumberOfExclusiveWaiters != 0;

	lock_assert_held(&nt_dispatcher_lock);
	if (owner &&
	    (resource_is_exclusive(resource) || manners != SHARED_QUEUES_ALWAYS || !others_wait)) {
		owner->OwnerCount++;
		return true;
	}
	if (resource_is_exclusive(resource) || (others_wait && manners != SHARED_OVERTAKES))
		return false;
	if (!owner)
		owner = owner_add_locked(resource);
	if (!owner)
		return false;
	owner->OwnerThread = thread;
	owner->OwnerCount = 1;
	resource->ActiveCount++;
	return true;
}

static BOOLEAN resource_acquire_shared(PERESOURCE resource, bool waits, enum shared_manners manners,
				       const char *routine, const void *site)
{
	ERESOURCE_THREAD thread = ExGetCurrentResourceThread();

	resource_check_caller(routine);
	if (waits)
		nt_lock_graph_wants(resource, true, site);
	lock_acquire(&nt_dispatcher_lock);
	bool is_mine = resource_share_locked(resource, thread, manners);
	while (!is_mine && waits) {
		resource_wait_relock(resource, &resource->NumberOfSharedWaiters);
		is_mine = resource_share_locked(resource, thread, manners);
	}
	lock_release(&nt_dispatcher_lock);
	if (is_mine)
		nt_held_add(NT_HELD_RESOURCE, resource, site);
	return is_mine;
}

BOOLEAN ExAcquireResourceSharedLite(PERESOURCE Resource, BOOLEAN Wait)
{
	return resource_acquire_shared(Resource, Wait, SHARED_QUEUES, __func__, CALLER);
}

BOOLEAN ExAcquireSharedStarveExclusive(PERESOURCE Resource, BOOLEAN Wait)
{
	return resource_acquire_shared(Resource, Wait, SHARED_OVERTAKES, __func__, CALLER);
}

BOOLEAN ExAcquireSharedWaitForExclusive(PERESOURCE Resource, BOOLEAN Wait)
{
	return resource_acquire_shared(Resource, Wait, SHARED_QUEUES_ALWAYS, __func__, CALLER);
}

VOID ExConvertExclusiveToSharedLite(PERESOURCE Resource)
{
	ERESOURCE_THREAD thread = ExGetCurrentResourceThread();

	race_release(Resource);
	lock_acquire(&nt_dispatcher_lock);
	bool is_mine =
		resource_is_exclusive(Resource) && Resource->OwnerEntry.OwnerThread == thread;
	POWNER_ENTRY owner = NULL;
	if (is_mine) {
		/* The table is free while the resource is held exclusively; look past that. */
		Resource->Flag &= (USHORT)~RESOURCE_EXCLUSIVE;
		owner = owner_add_locked(Resource);
		if (owner)
			*owner = Resource->OwnerEntry;
		else
			Resource->Flag |= RESOURCE_EXCLUSIVE; /* no memory: stays exclusive */
	}
	if (owner)
		memset(&Resource->OwnerEntry, 0, sizeof(Resource->OwnerEntry));
	lock_release(&nt_dispatcher_lock);

	if (owner)
		resource_next_turn(Resource);
	if (!is_mine)
		nt_report(RULE_NT_LOCK_OWNER, "ExConvertExclusiveToSharedLite was called by a "
					      "thread that does not hold the resource");
}

VOID ExReleaseResourceForThreadLite(PERESOURCE Resource, ERESOURCE_THREAD ResourceThreadId)
{
	bool is_free = false;

	nt_irql_require(DISPATCH_LEVEL, "ExReleaseResourceLite");
	race_release(Resource);
	lock_acquire(&nt_dispatcher_lock);
	POWNER_ENTRY owner = owner_find_locked(Resource, ResourceThreadId);
	if (owner && --owner->OwnerCount == 0) {
		owner->OwnerThread = 0;
		is_free = --Resource->ActiveCount == 0;
		if (is_free)
			Resource->Flag &= (USHORT)~RESOURCE_EXCLUSIVE;
	}
	lock_release(&nt_dispatcher_lock);

	if (owner && ResourceThreadId == ExGetCurrentResourceThread())
		nt_held_drop(NT_HELD_RESOURCE, Resource);
	if (is_free)
		resource_next_turn(Resource);
	if (!owner)
		nt_report(RULE_NT_LOCK_OWNER, "ExReleaseResourceLite releases a resource that its "
					      "thread does not hold");
}

VOID ExReleaseResourceLite(PERESOURCE Resource)
{
	ExReleaseResourceForThreadLite(Resource, ExGetCurrentResourceThread());
}

BOOLEAN ExIsResourceAcquiredExclusiveLite(PERESOURCE Resource)
{
	lock_acquire(&nt_dispatcher_lock);
	bool is_mine = resource_is_exclusive(Resource) &&
		       Resource->OwnerEntry.OwnerThread == ExGetCurrentResourceThread();
	lock_release(&nt_dispatcher_lock);
	return is_mine;
}

ULONG ExIsResourceAcquiredSharedLite(PERESOURCE Resource)
{
	lock_acquire(&nt_dispatcher_lock);
	POWNER_ENTRY owner = owner_find_locked(Resource, ExGetCurrentResourceThread());
	ULONG count = owner ? owner->OwnerCount : 0;
	lock_release(&nt_dispatcher_lock);
	return count;
}

PVOID ExEnterCriticalRegionAndAcquireResourceExclusive(PERESOURCE Resource)
{
	nt_region_enter(CALLER);
	resource_acquire_exclusive(Resource, true, CALLER);
	return KeGetCurrentThread();
}

PVOID ExEnterCriticalRegionAndAcquireResourceShared(PERESOURCE Resource)
{
	nt_region_enter(CALLER);
	resource_acquire_shared(Resource, true, SHARED_QUEUES, __func__, CALLER);
	return KeGetCurrentThread();
}

VOID ExReleaseResourceAndLeaveCriticalRegion(PERESOURCE Resource)
{
	ExReleaseResourceLite(Resource);
	KeLeaveCriticalRegion();
}

/* ---- push locks ---- */

static _Atomic uint32_t *push_word(PEX_PUSH_LOCK lock)
{
	return (_Atomic uint32_t *)lock;
}

VOID ExInitializePushLock(PEX_PUSH_LOCK PushLock)
{
	nt_lock_graph_forget(PushLock, PushLock + 1);
	*PushLock = 0;
}

VOID ExAcquirePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
	nt_irql_require(APC_LEVEL, "ExAcquirePushLockExclusive");
	nt_forbidden_check("ExAcquirePushLockExclusive");
	nt_lock_graph_wants(PushLock, false, CALLER);
	nt_rw_acquire_exclusive(push_word(PushLock));
	nt_held_add(NT_HELD_PUSH_EXCLUSIVE, PushLock, CALLER);
}

VOID ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
	nt_held_drop(NT_HELD_PUSH_EXCLUSIVE, PushLock);
	if (!nt_rw_release_exclusive(push_word(PushLock)))
		nt_report(RULE_NT_LOCK_OWNER, "ExReleasePushLockExclusive releases a lock that is "
					      "not held exclusively");
}

VOID ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
	nt_irql_require(APC_LEVEL, "ExAcquirePushLockShared");
	nt_forbidden_check("ExAcquirePushLockShared");
	nt_lock_graph_wants(PushLock, true, CALLER);
	nt_rw_acquire_shared(push_word(PushLock));
	nt_held_add(NT_HELD_PUSH_SHARED, PushLock, CALLER);
}

VOID ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
	nt_held_drop(NT_HELD_PUSH_SHARED, PushLock);
	if (!nt_rw_release_shared(push_word(PushLock)))
		nt_report(RULE_NT_LOCK_OWNER, "ExReleasePushLockShared releases a lock that is not "
					      "held shared");
}

/* ---- rundown protection ---- */

enum { RUNDOWN_ACTIVE = 1, RUNDOWN_USER = 2 };

static _Atomic uint32_t *rundown_word(PEX_RUNDOWN_REF reference)
{
	return (_Atomic uint32_t *)&reference->Count;
}

VOID ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef)
{
	RunRef->Count = 0;
}

VOID ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef)
{
	atomic_store(rundown_word(RunRef), 0);
}

BOOLEAN ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef)
{
	_Atomic uint32_t *word = rundown_word(RunRef);

	thread_point();
	uint32_t seen = atomic_load(word);
	while (!(seen & RUNDOWN_ACTIVE)) {
		if (atomic_compare_exchange_weak(word, &seen, seen + RUNDOWN_USER))
			return TRUE;
	}
	return FALSE;
}

VOID ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef)
{
	_Atomic uint32_t *word = rundown_word(RunRef);
	uint32_t seen = atomic_load(word);

	race_release(word);
	while (seen >= RUNDOWN_USER) {
		if (!atomic_compare_exchange_weak(word, &seen, seen - RUNDOWN_USER))
			continue;
		if (seen == (RUNDOWN_USER | RUNDOWN_ACTIVE))
			thread_wake_all(word);
		return;
	}
	nt_report(RULE_NT_LOCK_OWNER,
		  "ExReleaseRundownProtection releases protection that was not acquired");
}

VOID ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef)
{
	_Atomic uint32_t *word = rundown_word(RunRef);

	nt_irql_require_waitable(__func__);
	uint32_t seen = atomic_fetch_or(word, RUNDOWN_ACTIVE) | RUNDOWN_ACTIVE;
	while (seen != RUNDOWN_ACTIVE) {
		thread_wait(word, seen, CLOCK_FOREVER);
		seen = atomic_load(word);
	}
	race_acquire(word);
}

VOID ExRundownCompleted(PEX_RUNDOWN_REF RunRef)
{
	atomic_store(rundown_word(RunRef), RUNDOWN_ACTIVE);
}
