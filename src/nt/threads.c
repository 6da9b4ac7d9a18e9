/* SPDX-License-Identifier: MIT */
/*
 * threads.c - system threads, who is running, and what a thread remembers for a driver.
 *
 *   in:   start routines of drivers
 *   out:  threads of base/, each with an object that can be waited for
 *
 * A system thread holds a reference to its own object. It cannot let go of that itself, because the
 * last step is to join it: ended threads wait in `ended` until somebody calls nt_threads_reap().
 *
 * Locks: the lists belong to the dispatcher lock.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "nt/dispatcher.h"
#include "nt/held.h"
#include "nt/irql.h"
#include "nt/memory_faults.h"
#include "nt/report.h"
#include "nt/seh.h"
#include "nt/pool_stack.h"
#include "nt/threads.h"
#include "nt/visit.h"

enum { NORMAL_PRIORITY = 8 };

/* Guarded by the dispatcher lock. */
static struct list running = { &running, &running }; /* _KTHREAD.link */
static struct list ended = { &ended, &ended };       /* _KTHREAD.link */

static _Atomic uint32_t last_id;

_Thread_local struct nt_process *nt_thread_behalf;

static _Thread_local struct nt_thread *self;
static _Thread_local struct nt_thread adopted;

/* Keeps a reference for ever: it goes with its thread. */
static void adopted_destroy(struct nt_object *object)
{
}

static void kthread_init(struct nt_thread *thread, void (*destroy)(struct nt_object *object))
{
	nt_object_init(&thread->object, &nt_type_thread, destroy);
	nt_dispatcher_header_init(&thread->kthread.header, NT_THREAD, 0);
	InitializeListHead(&thread->kthread.owned_mutexes);
	list_init(&thread->kthread.link);
	thread->kthread.id = atomic_fetch_add(&last_id, 1) + 1;
	thread->kthread.priority = NORMAL_PRIORITY;
}

struct _KTHREAD *nt_thread_current(void)
{
	if (UNLIKELY(!self)) {
		kthread_init(&adopted, adopted_destroy);
		self = &adopted;
	}
	return &self->kthread;
}

static void thread_destroy(struct nt_object *object)
{
	mem_free(container_of(object, struct nt_thread, object));
}

/* ---- a system thread's life ---- */

static void system_thread_ended(struct _KTHREAD *thread)
{
	struct nt_irql scope = { .before = PASSIVE_LEVEL, .entered = PASSIVE_LEVEL };

	nt_held_forget_ownership();
	nt_irql_leave(&scope, "The routine of a system thread");
	nt_seh_forget_frames(); /* of bodies that PsTerminateSystemThread() jumped out of */
	if (thread->region_depth != 0 && IsListEmpty(&thread->owned_mutexes))
		nt_report(RULE_NT_REGION, "A system thread ended inside a critical region");

	/* Before it is signaled: who waited for it may want it reaped at once. */
	lock_acquire(&nt_dispatcher_lock);
	list_remove(&thread->link);
	list_push_back(&ended, &thread->link);
	lock_release(&nt_dispatcher_lock);

	uint32_t abandoned = nt_dispatcher_thread_ended(thread);
	if (abandoned != 0)
		nt_report(RULE_NT_THREAD_MUTEX, "A system thread ended and still owned %u mutex%s",
			  abandoned, abandoned == 1 ? "" : "es");
}

static void system_thread_main(void *argument)
{
	struct nt_thread *thread = argument;
	struct nt_visit visit;
	jmp_buf end_point;

	self = thread;
	thread->kthread.end_point = &end_point;
	nt_visit_begin(&visit, "a system thread", (const void *)thread->kthread.start);
	if (_setjmp(end_point) == 0)
		thread->kthread.start(thread->kthread.start_context);
	nt_visit_innermost = NULL;
	system_thread_ended(&self->kthread);
}

NTSTATUS PsCreateSystemThread(PHANDLE ThreadHandle, ULONG DesiredAccess,
			      POBJECT_ATTRIBUTES ObjectAttributes, HANDLE ProcessHandle,
			      PCLIENT_ID ClientId, PKSTART_ROUTINE StartRoutine, PVOID StartContext)
{
	char name[16];

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (!ThreadHandle || !StartRoutine)
		return STATUS_INVALID_PARAMETER;
	nt_threads_reap();

	struct nt_thread *thread = nt_memory_fails() ? NULL : mem_zalloc(sizeof(*thread));
	if (!thread)
		return STATUS_INSUFFICIENT_RESOURCES;
	kthread_init(thread, thread_destroy);
	thread->kthread.is_system = true;
	thread->kthread.start = StartRoutine;
	thread->kthread.start_context = StartContext;
	thread->kthread.made_by = pool_stack_keep();

	/* The handle first: a thread that runs cannot be taken back. */
	NTSTATUS status = nt_handle_open(&thread->object, ThreadHandle);
	if (!NT_SUCCESS(status)) {
		nt_object_put(&thread->object);
		return status;
	}

	/* The thread gets our reference, and may be over and reaped before we look again. */
	nt_object_get(&thread->object);
	snprintf(name, sizeof(name), "driver-%u", thread->kthread.id);
	lock_acquire(&nt_dispatcher_lock);
	list_push_back(&running, &thread->kthread.link);
	lock_release(&nt_dispatcher_lock);
	status = thread_create(name, system_thread_main, thread, &thread->kthread.thread);
	if (!NT_SUCCESS(status)) {
		lock_acquire(&nt_dispatcher_lock);
		list_remove(&thread->kthread.link);
		lock_release(&nt_dispatcher_lock);
		nt_handle_close(*ThreadHandle);
		*ThreadHandle = NULL;
		nt_object_put(&thread->object);
		nt_object_put(&thread->object);
		return STATUS_INSUFFICIENT_RESOURCES;
	}
	if (ClientId) {
		ClientId->UniqueProcess = PsGetProcessId(PsInitialSystemProcess);
		ClientId->UniqueThread = PsGetThreadId((PETHREAD)&thread->kthread);
	}
	nt_object_put(&thread->object);
	return STATUS_SUCCESS;
}

/* Goes back to the start of the thread; frames in between are dropped, not unwound, as on NT. */
NTSTATUS PsTerminateSystemThread(NTSTATUS ExitStatus)
{
	struct _KTHREAD *thread = nt_thread_current();

	if (!thread->is_system) {
		nt_report(RULE_NT_THREAD_TERMINATE,
			  "PsTerminateSystemThread was called on a "
			  "thread that PsCreateSystemThread did not make");
		return STATUS_INVALID_PARAMETER;
	}
	thread->exit_status = ExitStatus;
	_longjmp(*thread->end_point, 1);
}

void nt_threads_reap(void)
{
	for (;;) {
		lock_acquire(&nt_dispatcher_lock);
		struct list *link = list_pop_front(&ended);
		lock_release(&nt_dispatcher_lock);
		if (!link)
			return;
		struct _KTHREAD *thread = container_of(link, struct _KTHREAD, link);
		thread_join(thread->thread);
		nt_object_put(&container_of(thread, struct nt_thread, kthread)->object);
	}
}

uint32_t nt_threads_report_running(const void *begin, const void *end)
{
	uintptr_t first = (uintptr_t)begin;
	const struct nt_stack *made_by = NULL;
	uintptr_t start = 0;
	uint32_t count = 0;

	nt_threads_reap();
	lock_acquire(&nt_dispatcher_lock);
	list_each (struct _KTHREAD, each, &running, link) {
		uintptr_t routine = (uintptr_t)each->start;
		if (routine < first || routine >= (uintptr_t)end)
			continue;
		start = routine;
		made_by = each->made_by;
		count++;
	}
	lock_release(&nt_dispatcher_lock);

	if (count != 0) {
		char where[256];
		struct nt_stack started = { .frames = { (void *)start },
					    .count = 1,
					    .has_driver = true };

		nt_report_where((const void *)start, where, sizeof(where));
		nt_report_from(RULE_NT_THREAD_LEFT, 0, made_by ? made_by : &started,
			       "The driver is unloaded while %u of its system threads run, the "
			       "last one started at %s",
			       count, where);
	}
	return count;
}

/* ---- who is running ---- */

PKTHREAD KeGetCurrentThread(VOID)
{
	return nt_thread_current();
}

HANDLE PsGetThreadId(PETHREAD Thread)
{
	return ULongToHandle(((PKTHREAD)Thread)->id * 4); /* a multiple of four, as on NT */
}

HANDLE PsGetCurrentThreadId(VOID)
{
	return PsGetThreadId(PsGetCurrentThread());
}

BOOLEAN PsIsSystemThread(PETHREAD Thread)
{
	return ((PKTHREAD)Thread)->is_system;
}

/* ---- what a thread remembers ---- */

KPRIORITY KeSetPriorityThread(PKTHREAD Thread, KPRIORITY Priority)
{
	if (Priority < LOW_PRIORITY || Priority > HIGH_PRIORITY) {
		nt_report(RULE_NT_THREAD_PRIORITY,
			  "KeSetPriorityThread was given priority %d; "
			  "0 to 31 are legal",
			  Priority);
		return KeQueryPriorityThread(Thread);
	}
	lock_acquire(&nt_dispatcher_lock);
	KPRIORITY before = Thread->priority;
	Thread->priority = Priority;
	lock_release(&nt_dispatcher_lock);
	return before;
}

KPRIORITY KeQueryPriorityThread(PKTHREAD Thread)
{
	lock_acquire(&nt_dispatcher_lock);
	KPRIORITY priority = Thread->priority;
	lock_release(&nt_dispatcher_lock);
	return priority;
}

/* The increment before; relative to the priority every thread starts with. */
LONG KeSetBasePriorityThread(PKTHREAD Thread, LONG Increment)
{
	return KeSetPriorityThread(Thread, NORMAL_PRIORITY + Increment) - NORMAL_PRIORITY;
}

void nt_region_enter(const void *site)
{
	nt_irql_require(APC_LEVEL, "KeEnterCriticalRegion");
	nt_thread_current()->region_depth++;
	nt_held_add(NT_HELD_CRITICAL_REGION, NULL, site);
}

VOID KeEnterCriticalRegion(VOID)
{
	nt_region_enter(CALLER);
}

static void leave_region(int32_t *depth, enum nt_held_kind kind, const char *routine)
{
	nt_irql_require(APC_LEVEL, routine);
	if (*depth == 0) {
		nt_report(RULE_NT_REGION, "%s leaves a region that was not entered", routine);
		return;
	}
	--*depth;
	nt_held_drop(kind, NULL);
}

VOID KeLeaveCriticalRegion(VOID)
{
	leave_region(&nt_thread_current()->region_depth, NT_HELD_CRITICAL_REGION, __func__);
}

VOID KeEnterGuardedRegion(VOID)
{
	nt_irql_require(APC_LEVEL, __func__);
	nt_thread_current()->guarded_depth++;
	nt_held_add(NT_HELD_GUARDED_REGION, NULL, CALLER);
}

VOID KeLeaveGuardedRegion(VOID)
{
	leave_region(&nt_thread_current()->guarded_depth, NT_HELD_GUARDED_REGION, __func__);
}

BOOLEAN KeAreApcsDisabled(VOID)
{
	const struct _KTHREAD *thread = nt_thread_current();

	return thread->region_depth != 0 || thread->guarded_depth != 0;
}

BOOLEAN KeAreAllApcsDisabled(VOID)
{
	return nt_thread_current()->guarded_depth != 0 || nt_irql_current() >= APC_LEVEL;
}

/* ---- processors: a driver sees one, which never moves ---- */

ULONG KeGetCurrentProcessorNumberEx(PPROCESSOR_NUMBER ProcNumber)
{
	if (ProcNumber)
		memset(ProcNumber, 0, sizeof(*ProcNumber));
	return 0;
}

ULONG KeQueryActiveProcessorCount(PKAFFINITY ActiveProcessors)
{
	if (ActiveProcessors)
		*ActiveProcessors = 1;
	return 1;
}

ULONG KeQueryActiveProcessorCountEx(USHORT GroupNumber)
{
	return GroupNumber == 0 || GroupNumber == ALL_PROCESSOR_GROUPS;
}

ULONG KeQueryMaximumProcessorCountEx(USHORT GroupNumber)
{
	return KeQueryActiveProcessorCountEx(GroupNumber);
}

KAFFINITY KeQueryActiveProcessors(VOID)
{
	return 1;
}

VOID KeSetSystemAffinityThread(KAFFINITY Affinity)
{
}

VOID KeRevertToUserAffinityThread(VOID)
{
}

NTSTATUS KeGetProcessorNumberFromIndex(ULONG ProcIndex, PPROCESSOR_NUMBER ProcNumber)
{
	if (ProcIndex != 0)
		return STATUS_INVALID_PARAMETER;
	memset(ProcNumber, 0, sizeof(*ProcNumber));
	return STATUS_SUCCESS;
}

ULONG_PTR KeIpiGenericCall(ULONG_PTR(NTAPI *BroadcastFunction)(ULONG_PTR), ULONG_PTR Context)
{
	struct nt_irql scope;

	nt_irql_enter(&scope, IPI_LEVEL);
	ULONG_PTR result = BroadcastFunction(Context);
	nt_irql_leave(&scope, "The routine of KeIpiGenericCall");
	return result;
}

/* Numbers of processor features, as far as a driver would act on them. */
BOOLEAN ExIsProcessorFeaturePresent(ULONG ProcessorFeature)
{
#if defined(__x86_64__)
	switch (ProcessorFeature) {
	case 3:              /* MMX */
	case 6:              /* SSE */
	case 8:              /* RDTSC */
	case 10:             /* SSE2 */
		return TRUE; /* part of the architecture */
	case 13:
		return __builtin_cpu_supports("sse3") != 0;
	case 36:
		return __builtin_cpu_supports("ssse3") != 0;
	case 37:
		return __builtin_cpu_supports("sse4.1") != 0;
	case 38:
		return __builtin_cpu_supports("sse4.2") != 0;
	case 39:
		return __builtin_cpu_supports("avx") != 0;
	case 40:
		return __builtin_cpu_supports("avx2") != 0;
	default:
		return FALSE;
	}
#else
	return FALSE;
#endif
}

/* What a client passed was captured before a driver sees it. */
KPROCESSOR_MODE ExGetPreviousMode(VOID)
{
	return KernelMode;
}

/* The floating-point registers of a thread are saved by the system we run on. */
NTSTATUS KeSaveFloatingPointState(PKFLOATING_SAVE FloatSave)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
	FloatSave->Dummy = 0;
	return STATUS_SUCCESS;
}

NTSTATUS KeRestoreFloatingPointState(PKFLOATING_SAVE FloatSave)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
	return STATUS_SUCCESS;
}

NTSTATUS KeSaveExtendedProcessorState(ULONG64 Mask, PXSTATE_SAVE XStateSave)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
	memset(XStateSave, 0, sizeof(*XStateSave));
	return STATUS_SUCCESS;
}

VOID KeRestoreExtendedProcessorState(PXSTATE_SAVE XStateSave)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
}

/* Memory of this process is coherent. */
BOOLEAN KeInvalidateAllCaches(VOID)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return TRUE;
}
