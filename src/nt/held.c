/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdbool.h>

#include <ddk/wdm.h>

#include "nt/held.h"
#include "nt/pool.h"
#include "nt/report.h"
#include "nt/threads.h"

_Thread_local struct nt_held_locks nt_held_locks;

static uint8_t known_count(void)
{
	return nt_level.held < NT_HELD_KNOWN ? nt_level.held : NT_HELD_KNOWN;
}

/* The newest of them; NT_HELD_KNOWN when there is none. */
static uint8_t find(enum nt_held_kind kind, const void *lock)
{
	for (uint8_t i = known_count(); i-- > 0;) {
		if (nt_held_locks.locks[i] == lock && nt_held_locks.kinds[i] == (uint8_t)kind)
			return i;
	}
	return NT_HELD_KNOWN;
}

static void take_out(uint8_t index)
{
	for (uint8_t i = index; i + 1 < known_count(); i++) {
		nt_held_locks.locks[i] = nt_held_locks.locks[i + 1];
		nt_held_locks.sites[i] = nt_held_locks.sites[i + 1];
		nt_held_locks.kinds[i] = nt_held_locks.kinds[i + 1];
	}
	nt_level.held--;
}

RARE void nt_held_drop_inner(enum nt_held_kind kind, const void *lock)
{
	uint8_t index = find(kind, lock);

	if (index < NT_HELD_KNOWN)
		take_out(index);
	else if (nt_level.held > NT_HELD_KNOWN)
		nt_level.held--;
	/* Otherwise another thread acquired it, which is legal for a resource. */
}

void nt_held_add_mutex(void *mutex, const void *site)
{
	if (find(NT_HELD_MUTEX, mutex) == NT_HELD_KNOWN)
		nt_held_add(NT_HELD_MUTEX, mutex, site);
}

void nt_held_forget_ownership(void)
{
	for (uint8_t i = known_count(); i-- > 0;) {
		uint8_t kind = nt_held_locks.kinds[i];

		if (kind == NT_HELD_MUTEX || kind == NT_HELD_CRITICAL_REGION ||
		    kind == NT_HELD_GUARDED_REGION)
			take_out(i);
	}
}

static const char *const kind_names[] = {
	[NT_HELD_SPIN_LOCK] = "spin lock",
	[NT_HELD_SPIN_SHARED] = "shared spin lock",
	[NT_HELD_SPIN_EXCLUSIVE] = "exclusive spin lock",
	[NT_HELD_FAST_MUTEX] = "fast mutex",
	[NT_HELD_RESOURCE] = "resource",
	[NT_HELD_PUSH_SHARED] = "shared push lock",
	[NT_HELD_PUSH_EXCLUSIVE] = "exclusive push lock",
	[NT_HELD_CRITICAL_REGION] = "critical region",
	[NT_HELD_GUARDED_REGION] = "guarded region",
	[NT_HELD_MUTEX] = "mutex",
};

bool nt_held_last(struct nt_held_lock *held_out)
{
	for (uint8_t i = known_count(); i-- > 0;) {
		if (!nt_held_locks.locks[i])
			continue;
		*held_out = (struct nt_held_lock){ kind_names[nt_held_locks.kinds[i]],
						   nt_held_locks.locks[i], nt_held_locks.sites[i] };
		return true;
	}
	return false;
}

/* Freed with what it was part of: then there is nothing left to release. */
static bool is_freed(const void *lock)
{
	const uint8_t *bytes = lock;

	return lock && bytes[0] == POOL_FREED_BYTE && bytes[1] == POOL_FREED_BYTE &&
	       bytes[2] == POOL_FREED_BYTE && bytes[3] == POOL_FREED_BYTE;
}

/* Another thread may have released it. */
static bool is_held(enum nt_held_kind kind, void *lock)
{
	switch (kind) {
	case NT_HELD_SPIN_SHARED:
	case NT_HELD_PUSH_SHARED:
	case NT_HELD_SPIN_EXCLUSIVE:
	case NT_HELD_PUSH_EXCLUSIVE:
		return atomic_load_explicit((_Atomic uint32_t *)lock, memory_order_relaxed) != 0;
	case NT_HELD_RESOURCE:
		return ExIsResourceAcquiredSharedLite(lock) != 0;
	case NT_HELD_MUTEX:
		return ((KMUTANT *)lock)->OwnerThread == nt_thread_current();
	case NT_HELD_SPIN_LOCK:
	case NT_HELD_FAST_MUTEX:
	case NT_HELD_CRITICAL_REGION:
	case NT_HELD_GUARDED_REGION:
		break; /* by nobody else */
	}
	return true;
}

static void release(enum nt_held_kind kind, void *lock)
{
	switch (kind) {
	case NT_HELD_SPIN_LOCK:
		KeReleaseSpinLockFromDpcLevel(lock);
		break;
	case NT_HELD_SPIN_SHARED:
	case NT_HELD_PUSH_SHARED:
		nt_rw_release_shared(lock);
		break;
	case NT_HELD_SPIN_EXCLUSIVE:
	case NT_HELD_PUSH_EXCLUSIVE:
		nt_rw_release_exclusive(lock);
		break;
	case NT_HELD_FAST_MUTEX:
		ExReleaseFastMutexUnsafe(lock);
		break;
	case NT_HELD_RESOURCE:
		ExReleaseResourceLite(lock);
		break;
	case NT_HELD_CRITICAL_REGION:
		nt_thread_current()->region_depth--;
		break;
	case NT_HELD_GUARDED_REGION:
		nt_thread_current()->guarded_depth--;
		break;
	case NT_HELD_MUTEX:
		/* As often as it was acquired: the state before the last time is 0. */
		while (KeReleaseMutex(lock, FALSE) != 0)
			continue;
		break;
	}
}

static void report(enum nt_held_kind kind, const void *lock, const void *site, const char *routine)
{
	char where[256];

	nt_report_where_called(site, where, sizeof(where));
	if (lock)
		nt_report_about(RULE_DDI_LOCK_HELD, (uint64_t)(uintptr_t)site,
				"%s returned and still holds the %s %p%s, taken at %s", routine,
				kind_names[kind], lock, is_freed(lock) ? " in freed pool" : "",
				where);
	else
		nt_report_about(RULE_DDI_LOCK_HELD, (uint64_t)(uintptr_t)site,
				"%s returned inside of a %s, entered at %s", routine,
				kind_names[kind], where);
}

/* Each is taken off the list by what releases it, unless it cannot be released. */
void nt_held_release(const struct nt_irql *scope, const char *routine)
{
	if (nt_level.held > NT_HELD_KNOWN) {
		nt_report(RULE_DDI_LOCK_HELD,
			  "%s returned and still holds %d locks; %d of them "
			  "are not known by name and stay as they are",
			  routine, nt_level.held - scope->held, nt_level.held - NT_HELD_KNOWN);
		nt_level.held = NT_HELD_KNOWN;
	}
	while (nt_level.held > scope->held) {
		uint8_t index = (uint8_t)(nt_level.held - 1);
		enum nt_held_kind kind = (enum nt_held_kind)nt_held_locks.kinds[index];
		void *lock = nt_held_locks.locks[index];

		if (is_freed(lock)) {
			report(kind, lock, nt_held_locks.sites[index], routine);
		} else if (is_held(kind, lock)) {
			report(kind, lock, nt_held_locks.sites[index], routine);
			/* The level at which each of them may be released. */
			nt_irql_set(DISPATCH_LEVEL);
			release(kind, lock);
		}
		nt_level.held = index;
	}
}
