/* SPDX-License-Identifier: MIT */
/*
 * interlocked.c - lists and numbers that several threads use at once.
 *
 * The ExInterlocked routines use the driver's spin lock and work at any level, so they bypass the
 * level checks of KeAcquireSpinLock. An SLIST_HEADER is two words: depth, sequence and a busy bit
 * in the first, the first entry in the second. Not every machine exchanges both at once, so whoever
 * changes the list holds the busy bit for those few instructions.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <ddk/wdm.h>

#include "base/race.h"
#include "base/thread.h"
#include "nt/irql.h"

/* Takes the lock at whatever level the caller is, and leaves that as it was. */
struct list_guard {
	struct nt_irql scope;
	PKSPIN_LOCK lock;
};

static void list_lock(struct list_guard *guard, PKSPIN_LOCK lock)
{
	uint8_t level = nt_irql_current();

	guard->lock = lock;
	nt_irql_enter(&guard->scope, level < DISPATCH_LEVEL ? DISPATCH_LEVEL : level);
	KeAcquireSpinLockAtDpcLevel(lock);
}

static void list_unlock(struct list_guard *guard)
{
	KeReleaseSpinLockFromDpcLevel(guard->lock);
	nt_irql_leave(&guard->scope, "An interlocked list routine");
}

#define INSERTS(name, Insert, neighbour)                                                           \
	PLIST_ENTRY name(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock)            \
	{                                                                                          \
		struct list_guard guard;                                                           \
                                                                                                   \
		list_lock(&guard, Lock);                                                           \
		PLIST_ENTRY before = IsListEmpty(ListHead) ? NULL : ListHead->neighbour;           \
		Insert(ListHead, ListEntry);                                                       \
		list_unlock(&guard);                                                               \
		return before;                                                                     \
	}
INSERTS(ExInterlockedInsertHeadList, InsertHeadList, Flink)
INSERTS(ExInterlockedInsertTailList, InsertTailList, Blink)

PLIST_ENTRY ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
	struct list_guard guard;

	list_lock(&guard, Lock);
	PLIST_ENTRY entry = IsListEmpty(ListHead) ? NULL : RemoveHeadList(ListHead);
	list_unlock(&guard);
	return entry;
}

PSINGLE_LIST_ENTRY ExInterlockedPushEntryList(PSINGLE_LIST_ENTRY ListHead,
					      PSINGLE_LIST_ENTRY ListEntry, PKSPIN_LOCK Lock)
{
	struct list_guard guard;

	list_lock(&guard, Lock);
	PSINGLE_LIST_ENTRY before = ListHead->Next;
	PushEntryList(ListHead, ListEntry);
	list_unlock(&guard);
	return before;
}

PSINGLE_LIST_ENTRY ExInterlockedPopEntryList(PSINGLE_LIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
	struct list_guard guard;

	list_lock(&guard, Lock);
	PSINGLE_LIST_ENTRY entry = PopEntryList(ListHead);
	list_unlock(&guard);
	return entry;
}

LARGE_INTEGER ExInterlockedAddLargeInteger(PLARGE_INTEGER Addend, LARGE_INTEGER Increment,
					   PKSPIN_LOCK Lock)
{
	struct list_guard guard;

	list_lock(&guard, Lock);
	LARGE_INTEGER before = *Addend;
	Addend->QuadPart += Increment.QuadPart;
	list_unlock(&guard);
	return before;
}

ULONG ExInterlockedAddUlong(PULONG Addend, ULONG Increment, PKSPIN_LOCK Lock)
{
	struct list_guard guard;

	list_lock(&guard, Lock);
	ULONG before = *Addend;
	*Addend += Increment;
	list_unlock(&guard);
	return before;
}

/* ---- sequenced lists ---- */

#define SLIST_BUSY     (UINT64_C(1) << 63)
#define SLIST_SEQUENCE (UINT64_C(1) << 16)
#define SLIST_DEPTH    UINT64_C(0xffff)

static _Atomic uint64_t *slist_word(PSLIST_HEADER head)
{
	return (_Atomic uint64_t *)&head->Alignment;
}

/* The word as it was, with the list to ourselves. */
static uint64_t slist_begin(PSLIST_HEADER head)
{
	_Atomic uint64_t *word = slist_word(head);

	thread_point();
	uint64_t seen = atomic_load_explicit(word, memory_order_relaxed) & ~SLIST_BUSY;
	/* Held for a few instructions and never across a point: spinning is short. */
	while (!atomic_compare_exchange_weak_explicit(word, &seen, seen | SLIST_BUSY,
						      memory_order_acquire, memory_order_relaxed))
		seen &= ~SLIST_BUSY;
	race_acquire(head);
	return seen;
}

static void slist_end(PSLIST_HEADER head, uint64_t before, uint64_t depth)
{
	uint64_t sequence = (before + SLIST_SEQUENCE) & ~(SLIST_BUSY | SLIST_DEPTH);

	race_release(head);
	atomic_store_explicit(slist_word(head), sequence | (depth & SLIST_DEPTH),
			      memory_order_release);
}

VOID InitializeSListHead(PSLIST_HEADER SListHead)
{
	SListHead->Region = 0;
	atomic_init(slist_word(SListHead), 0);
}

PSLIST_ENTRY ExpInterlockedPushEntrySList(PSLIST_HEADER ListHead, PSLIST_ENTRY ListEntry)
{
	uint64_t before = slist_begin(ListHead);
	PSLIST_ENTRY first = (PSLIST_ENTRY)(uintptr_t)ListHead->Region;

	ListEntry->Next = first;
	ListHead->Region = (uintptr_t)ListEntry;
	slist_end(ListHead, before, (before & SLIST_DEPTH) + 1);
	return first;
}

PSLIST_ENTRY ExpInterlockedPopEntrySList(PSLIST_HEADER ListHead)
{
	uint64_t before = slist_begin(ListHead);
	PSLIST_ENTRY first = (PSLIST_ENTRY)(uintptr_t)ListHead->Region;

	if (first)
		ListHead->Region = (uintptr_t)first->Next;
	slist_end(ListHead, before, (before & SLIST_DEPTH) - (first != NULL));
	return first;
}

PSLIST_ENTRY ExpInterlockedFlushSList(PSLIST_HEADER ListHead)
{
	uint64_t before = slist_begin(ListHead);
	PSLIST_ENTRY first = (PSLIST_ENTRY)(uintptr_t)ListHead->Region;

	ListHead->Region = 0;
	slist_end(ListHead, before, 0);
	return first;
}

USHORT ExQueryDepthSList(PSLIST_HEADER SListHead)
{
	return (USHORT)(atomic_load_explicit(slist_word(SListHead), memory_order_relaxed) &
			SLIST_DEPTH);
}
