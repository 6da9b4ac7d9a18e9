/* SPDX-License-Identifier: MIT */
/*
 * processes.c - processes as a driver sees them, and who is told of them.
 *
 * Two never end while we live: the system's, and the one around us. Others come and go with clients
 * that are elsewhere; a driver may keep a reference to one that has ended. A thread acts for one of
 * them (nt_thread_behalf); attaching to another changes that for a while.
 *
 * Locks: LOCK_RANK_NT_OBJECTS, for clients and for routines, none held while a routine runs. Who removes a
 * routine waits until nobody tells.
 */
#include <stdint.h>
#include <unistd.h>

#include <ddk/ntifs.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/notice.h"
#include "nt/irql.h"
#include "nt/nt.h"
#include "nt/report.h"

enum { ROUTINES_MAX = 64 };

struct _KPROCESS {
	DISPATCHER_HEADER header;
	HANDLE id; /* NULL: this process's own */
};

struct nt_process {
	struct nt_object object;
	struct _KPROCESS process;
	struct list link; /* clients.all */
};
_Static_assert(offsetof(struct nt_process, process) == sizeof(struct nt_object),
	       "the body follows the object header");

static struct nt_process system_process;
static struct nt_process our_process;

static struct {
	struct lock lock;
	struct list all; /* nt_process.link; beside the two above */
} clients = { .lock = LOCK_INITIALIZER(LOCK_RANK_NT_OBJECTS, "processes of clients") };

static void stay(struct nt_object *object)
{
}

__attribute__((constructor)) static void processes_init(void)
{
	list_init(&clients.all);
	nt_object_init(&system_process.object, &nt_type_process, stay);
	nt_object_init(&our_process.object, &nt_type_process, stay);
	system_process.process.id = ULongToHandle(4);
}

static struct nt_process *process_of(PEPROCESS process)
{
	return container_of(process, struct nt_process, process);
}

struct nt_process *nt_process_of_system(void)
{
	return &system_process;
}

PEPROCESS PsInitialSystemProcess = &system_process.process;

/*
 * System threads belong to the system; who calls from outside is the process around us. In an entry
 * point it is whoever that is called for.
 */
PEPROCESS PsGetCurrentProcess(VOID)
{
	if (nt_thread_behalf)
		return &nt_thread_behalf->process;
	return nt_thread_current()->is_system ? &system_process.process : &our_process.process;
}

HANDLE PsGetProcessId(PEPROCESS Process)
{
	return Process->id ? Process->id : ULongToHandle((ULONG)getpid());
}

HANDLE PsGetCurrentProcessId(VOID)
{
	return PsGetProcessId(PsGetCurrentProcess());
}

static struct nt_process *find_client_locked(HANDLE id)
{
	lock_assert_held(&clients.lock);
	list_each (struct nt_process, client, &clients.all, link) {
		if (client->process.id == id)
			return client;
	}
	return NULL;
}

NTSTATUS PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS *Process)
{
	struct nt_process *found = NULL;

	nt_irql_require(APC_LEVEL, __func__);
	lock_acquire(&clients.lock);
	if (ProcessId == PsGetProcessId(&system_process.process))
		found = &system_process;
	else if (ProcessId == PsGetProcessId(&our_process.process))
		found = &our_process;
	else
		found = find_client_locked(ProcessId);
	if (found)
		nt_object_get(&found->object);
	lock_release(&clients.lock);
	if (!found)
		return STATUS_INVALID_PARAMETER;
	*Process = &found->process;
	return STATUS_SUCCESS;
}

/* ---- attaching: all have the same addresses ---- */

VOID KeStackAttachProcess(PRKPROCESS PROCESS, PRKAPC_STATE ApcState)
{
	nt_irql_require(APC_LEVEL, __func__);
	*ApcState = (KAPC_STATE){ .Process = PsGetCurrentProcess() };
	ApcState->ApcListHead[0].Flink = (PLIST_ENTRY)nt_thread_act_for(process_of(PROCESS));
}

VOID KeUnstackDetachProcess(PRKAPC_STATE ApcState)
{
	nt_irql_require(APC_LEVEL, __func__);
	(void)nt_thread_act_for((struct nt_process *)ApcState->ApcListHead[0].Flink);
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

/*
 * Drops and retakes tellers.lock, until nobody is told any more: routines may have come and gone
 * meanwhile.
 */
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

	nt_irql_require(PASSIVE_LEVEL, __func__);
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

static void tell(struct nt_process *process, bool begins)
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
	struct nt_process *before = nt_thread_act_for(process);
	KeEnterCriticalRegion();
	for (uint32_t i = 0; i < count; i++)
		routines[i](ULongToHandle(process == &our_process ? (ULONG)getppid() : 0),
			    PsGetCurrentProcessId(), begins);
	KeLeaveCriticalRegion();
	(void)nt_thread_act_for(before);
	lock_acquire(&tellers.lock);
	tellers.telling--;
	notice_give(&tellers.changed);
	lock_release(&tellers.lock);
}

/* ---- clients ---- */

static void client_free(struct nt_object *object)
{
	mem_free(container_of(object, struct nt_process, object));
}

static struct nt_process *client_create(uint32_t pid)
{
	struct nt_process *client = mem_zalloc(sizeof(*client));

	if (!client)
		return NULL;
	nt_object_init(&client->object, &nt_type_process, client_free);
	client->process.id = ULongToHandle(pid);
	lock_acquire(&clients.lock);
	list_push_back(&clients.all, &client->link);
	lock_release(&clients.lock);
	return client;
}

struct nt_process *nt_process_begin(uint32_t pid)
{
	struct nt_process *process = pid == (uint32_t)getpid() ? &our_process : client_create(pid);

	if (process)
		tell(process, true);
	return process;
}

void nt_process_end(struct nt_process *process)
{
	tell(process, false);
	if (process == &our_process)
		return;
	lock_acquire(&clients.lock);
	list_remove(&process->link);
	lock_release(&clients.lock);
	nt_object_put(&process->object);
}
