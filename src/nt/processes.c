/* SPDX-License-Identifier: MIT */
/*
 * processes.c - processes as a driver sees them, and who is told of them.
 *
 * There are two, which never end while we live: the system's, and the one around us. A thread acts
 * for one of them (nt_thread_behalf); attaching to the other changes that for a while.
 *
 * Locks: tellers.lock, LOCK_RANK_NT_OBJECTS, not held while a routine runs. Who removes a routine
 * waits until nobody tells.
 */
#include <stdint.h>
#include <unistd.h>

#include <ddk/ntifs.h>

#include "base/lock.h"
#include "base/notice.h"
#include "nt/irql.h"
#include "nt/nt.h"
#include "nt/processes.h"
#include "nt/report.h"

enum { ROUTINES_MAX = 64 };

struct _KPROCESS {
	DISPATCHER_HEADER header;
	HANDLE id; /* NULL: this process's own */
};

static struct nt_process {
	struct nt_object object;
	struct _KPROCESS process;
} system_process, client_process;
_Static_assert(offsetof(struct nt_process, process) == sizeof(struct nt_object),
	       "the body follows the object header");

static void process_destroy(struct nt_object *object)
{
	(void)object;
}

__attribute__((constructor)) static void processes_init(void)
{
	nt_object_init(&system_process.object, &nt_type_process, process_destroy);
	nt_object_init(&client_process.object, &nt_type_process, process_destroy);
	system_process.process.id = ULongToHandle(4);
}

PEPROCESS PsInitialSystemProcess = &system_process.process;

/*
 * System threads belong to the system; who calls from outside is the process around us. In an entry
 * point it is whoever that is called for.
 */
PEPROCESS PsGetCurrentProcess(VOID)
{
	if (nt_thread_behalf == NT_BEHALF_SYSTEM)
		return &system_process.process;
	if (nt_thread_behalf == NT_BEHALF_CLIENT)
		return &client_process.process;
	return nt_thread_current()->is_system ? &system_process.process : &client_process.process;
}

HANDLE PsGetProcessId(PEPROCESS Process)
{
	return Process->id ? Process->id : ULongToHandle((ULONG)getpid());
}

HANDLE PsGetCurrentProcessId(VOID)
{
	return PsGetProcessId(PsGetCurrentProcess());
}

NTSTATUS PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS *Process)
{
	struct nt_process *const all[] = { &system_process, &client_process };

	nt_irql_require(APC_LEVEL, "PsLookupProcessByProcessId");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (PsGetProcessId(&all[i]->process) != ProcessId)
			continue;
		nt_object_get(&all[i]->object);
		*Process = &all[i]->process;
		return STATUS_SUCCESS;
	}
	return STATUS_INVALID_PARAMETER;
}

/* ---- attaching: both have the same addresses ---- */

VOID KeStackAttachProcess(PRKPROCESS PROCESS, PRKAPC_STATE ApcState)
{
	enum nt_behalf behalf =
		PROCESS == &system_process.process ? NT_BEHALF_SYSTEM : NT_BEHALF_CLIENT;

	nt_irql_require(APC_LEVEL, "KeStackAttachProcess");
	*ApcState = (KAPC_STATE){ .Process = PsGetCurrentProcess() };
	ApcState->InProgressFlags = (UCHAR)nt_thread_act_for(behalf);
}

VOID KeUnstackDetachProcess(PRKAPC_STATE ApcState)
{
	nt_irql_require(APC_LEVEL, "KeUnstackDetachProcess");
	(void)nt_thread_act_for((enum nt_behalf)ApcState->InProgressFlags);
}

/* ---- who is told ---- */

static struct {
	struct lock lock;
	PCREATE_PROCESS_NOTIFY_ROUTINE routines[ROUTINES_MAX];
	uint32_t count;
	uint32_t telling; /* threads that may be in one of them */
	struct notice changed;
} tellers = { .lock = LOCK_INITIALIZER(LOCK_RANK_NT_OBJECTS, "process routines") };

static uint32_t find_locked(PCREATE_PROCESS_NOTIFY_ROUTINE routine)
{
	uint32_t at = 0;

	lock_assert_held(&tellers.lock);
	while (at < tellers.count && tellers.routines[at] != routine)
		at++;
	return at;
}

static void remove_relock(uint32_t at)
{
	lock_assert_held(&tellers.lock);
	tellers.routines[at] = tellers.routines[--tellers.count];
	while (tellers.telling > 0)
		notice_wait_relock(&tellers.changed, &tellers.lock);
}

NTSTATUS PsSetCreateProcessNotifyRoutine(PCREATE_PROCESS_NOTIFY_ROUTINE NotifyRoutine,
					 BOOLEAN Remove)
{
	NTSTATUS status = STATUS_SUCCESS;

	nt_irql_require(PASSIVE_LEVEL, "PsSetCreateProcessNotifyRoutine");
	lock_acquire(&tellers.lock);
	uint32_t at = find_locked(NotifyRoutine);
	if (Remove && at < tellers.count) {
		remove_relock(at);
	} else if (Remove) {
		status = STATUS_PROCEDURE_NOT_FOUND;
	} else if (at < tellers.count || at == ROUTINES_MAX || !NotifyRoutine) {
		status = STATUS_INVALID_PARAMETER;
	} else {
		tellers.routines[tellers.count++] = NotifyRoutine;
	}
	lock_release(&tellers.lock);
	return status;
}

unsigned nt_process_forget_routines(const void *begin, const void *end)
{
	unsigned forgotten = 0;

	lock_acquire(&tellers.lock);
	for (uint32_t i = 0; i < tellers.count;) {
		const char *routine = __extension__(const char *) tellers.routines[i];

		if (routine < (const char *)begin || routine >= (const char *)end) {
			i++;
			continue;
		}
		remove_relock(i);
		forgotten++;
		i = 0; /* others may have come and gone */
	}
	lock_release(&tellers.lock);
	return forgotten;
}

void nt_process_tell(bool begins)
{
	PCREATE_PROCESS_NOTIFY_ROUTINE routines[ROUTINES_MAX];

	lock_acquire(&tellers.lock);
	uint32_t count = tellers.count;
	for (uint32_t i = 0; i < count; i++)
		routines[i] = tellers.routines[i];
	tellers.telling += count > 0;
	lock_release(&tellers.lock);
	if (count == 0)
		return;
	enum nt_behalf before = nt_thread_act_for(NT_BEHALF_CLIENT);
	KeEnterCriticalRegion();
	for (uint32_t i = 0; i < count; i++)
		routines[i](ULongToHandle((ULONG)getppid()), PsGetCurrentProcessId(), begins);
	KeLeaveCriticalRegion();
	(void)nt_thread_act_for(before);
	lock_acquire(&tellers.lock);
	tellers.telling--;
	notice_give(&tellers.changed);
	lock_release(&tellers.lock);
}
