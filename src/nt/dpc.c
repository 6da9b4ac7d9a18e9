/* SPDX-License-Identifier: MIT */
/*
 * dpc.c - deferred procedure calls and work items.
 *
 *   in:   a KDPC or WORK_QUEUE_ITEM inside a driver's struct
 *   out:  its routine called, at DISPATCH_LEVEL on the one DPC thread, or at PASSIVE_LEVEL on one
 * of a few worker threads, so that a work item may wait for another one
 *
 * DPCs run one at a time, in the order of the queue. A thread that interrupted runs its own when
 * nobody is at it and none is queued, as the processor would that took the interrupt; the DPC
 * thread sees to the rest.
 *
 * The queues hold the driver's own structs and belong to the dispatcher lock. A thread is a worker
 * of base/ whose only work is to empty the queue. A queued DPC has DpcData set; a queued work item
 * has its List linked.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/race.h"
#include "base/worker.h"
#include "nt/dispatcher.h"
#include "nt/dpc.h"
#include "nt/irql.h"
#include "nt/memory_faults.h"
#include "nt/report.h"
#include "nt/visit.h"

enum { WORK_THREADS_MAX = 8 };

/* Guarded by the dispatcher lock. */
static struct {
	LIST_ENTRY queue; /* KDPC.DpcListEntry */
	struct worker worker;
	struct work drain;
	bool is_started;
	bool is_running; /* a routine is being called, or about to be */
} dpcs = { .queue = { &dpcs.queue, &dpcs.queue } };

struct work_thread {
	struct worker worker;
	struct work drain;
	bool is_busy; /* told to look at the queue, and not done with it */
};

/* Guarded by the dispatcher lock. */
static struct {
	LIST_ENTRY queue; /* WORK_QUEUE_ITEM.List */
	struct work_thread threads[WORK_THREADS_MAX];
	uint32_t thread_count;
} works = { .queue = { &works.queue, &works.queue } };

/* ---- DPCs ---- */

static void dpc_take_locked(KDPC *dpc)
{
	lock_assert_held(&nt_dispatcher_lock);
	RemoveEntryList(&dpc->DpcListEntry);
	dpc->DpcData = NULL;
	atomic_fetch_sub_explicit(&nt_dispatcher_queued, 1, memory_order_relaxed);
}

static void dpcs_drain(struct work *work)
{
	lock_acquire(&nt_dispatcher_lock);
	/* Who runs one elsewhere calls us again. */
	while (!dpcs.is_running && !IsListEmpty(&dpcs.queue)) {
		KDPC *dpc = CONTAINING_RECORD(dpcs.queue.Flink, KDPC, DpcListEntry);
		/* All of it is read now: the routine may free or queue the DPC again. */
		KDPC copy = *dpc;
		struct nt_visit visit;
		struct nt_irql scope;

		dpc_take_locked(dpc);
		dpcs.is_running = true;
		lock_release(&nt_dispatcher_lock);

		race_acquire(&nt_dispatcher_lock);
		nt_visit_begin(&visit, "a DPC routine", (const void *)copy.DeferredRoutine);
		nt_irql_enter(&scope, DISPATCH_LEVEL);
		copy.DeferredRoutine(dpc, copy.DeferredContext, copy.SystemArgument1,
				     copy.SystemArgument2);
		nt_irql_leave(&scope, "A DPC routine");
		nt_visit_end(&visit);
		race_release(&nt_dispatcher_lock);
		lock_acquire(&nt_dispatcher_lock);
		dpcs.is_running = false;
	}
	lock_release(&nt_dispatcher_lock);
}

static NTSTATUS dpcs_start_locked(void)
{
	lock_assert_held(&nt_dispatcher_lock);

	if (dpcs.is_started)
		return STATUS_SUCCESS;
	work_init(&dpcs.drain, dpcs_drain);
	NTSTATUS status = worker_init(&dpcs.worker, "nt-dpc");
	dpcs.is_started = NT_SUCCESS(status);
	return status;
}

NTSTATUS nt_dpc_start(void)
{
	lock_acquire(&nt_dispatcher_lock);
	NTSTATUS status = dpcs_start_locked();
	lock_release(&nt_dispatcher_lock);
	return status;
}

bool nt_dpc_insert_locked(KDPC *dpc, void *argument1, void *argument2)
{
	lock_assert_held(&nt_dispatcher_lock);

	race_release(&nt_dispatcher_lock);
	if (dpc->DpcData)
		return false;
	dpc->SystemArgument1 = argument1;
	dpc->SystemArgument2 = argument2;
	dpc->DpcData = &dpcs;
	atomic_fetch_add_explicit(&nt_dispatcher_queued, 1, memory_order_relaxed);
	if (dpc->Importance == HighImportance)
		InsertHeadList(&dpcs.queue, &dpc->DpcListEntry);
	else
		InsertTailList(&dpcs.queue, &dpc->DpcListEntry);

	/* Without the thread it stays queued until the next one brings it up. */
	if (NT_SUCCESS(dpcs_start_locked()))
		worker_post(&dpcs.worker, &dpcs.drain);
	else
		log_error("no memory for the DPC thread; a DPC waits for the next one");
	return true;
}

void nt_dpc_run_or_insert(KDPC *dpc)
{
	struct nt_visit visit;
	struct nt_irql scope;

	lock_acquire(&nt_dispatcher_lock);
	if (dpcs.is_running || !IsListEmpty(&dpcs.queue)) {
		(void)nt_dpc_insert_locked(dpc, NULL, NULL);
		lock_release(&nt_dispatcher_lock);
		return;
	}
	dpcs.is_running = true;
	lock_release(&nt_dispatcher_lock);

	race_acquire(&nt_dispatcher_lock);
	nt_visit_begin(&visit, "a DPC routine", (const void *)dpc->DeferredRoutine);
	nt_irql_enter(&scope, DISPATCH_LEVEL);
	dpc->DeferredRoutine(dpc, dpc->DeferredContext, NULL, NULL);
	nt_irql_leave(&scope, "A DPC routine");
	nt_visit_end(&visit);

	race_release(&nt_dispatcher_lock);
	lock_acquire(&nt_dispatcher_lock);
	dpcs.is_running = false;
	if (!IsListEmpty(&dpcs.queue) && dpcs.is_started)
		worker_post(&dpcs.worker, &dpcs.drain);
	lock_release(&nt_dispatcher_lock);
}

VOID KeInitializeDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext)
{
	*Dpc = (KDPC){ .Type = 0x13, /* DpcObject */
		       .Importance = MediumImportance,
		       .DeferredRoutine = DeferredRoutine,
		       .DeferredContext = DeferredContext };
}

/* May run at PASSIVE_LEVEL on Windows and must be ready for DISPATCH_LEVEL, which it gets here. */
VOID KeInitializeThreadedDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext)
{
	KeInitializeDpc(Dpc, DeferredRoutine, DeferredContext);
	Dpc->Type = 0x18; /* ThreadedDpcObject */
}

BOOLEAN KeInsertQueueDpc(PRKDPC Dpc, PVOID SystemArgument1, PVOID SystemArgument2)
{
	lock_acquire(&nt_dispatcher_lock);
	bool is_new = nt_dpc_insert_locked(Dpc, SystemArgument1, SystemArgument2);
	lock_release(&nt_dispatcher_lock);
	return is_new;
}

BOOLEAN KeRemoveQueueDpc(PRKDPC Dpc)
{
	lock_acquire(&nt_dispatcher_lock);
	race_acquire(&nt_dispatcher_lock);
	bool was_queued = Dpc->DpcData != NULL;
	if (was_queued)
		dpc_take_locked(Dpc);
	lock_release(&nt_dispatcher_lock);
	return was_queued;
}

static VOID NTAPI flush_reached(PKDPC dpc, PVOID context, PVOID argument1, PVOID argument2)
{
	KeSetEvent(context, IO_NO_INCREMENT, FALSE);
}

/* A DPC of our own at the end of the queue: when it runs, those before it have run. */
static void dpcs_flush(void)
{
	KDPC marker;
	KEVENT reached;

	lock_acquire(&nt_dispatcher_lock);
	bool has_any = dpcs.is_started || dpcs.is_running || !IsListEmpty(&dpcs.queue);
	bool can_run = has_any && NT_SUCCESS(dpcs_start_locked());
	lock_release(&nt_dispatcher_lock);
	if (!can_run)
		return;
	KeInitializeEvent(&reached, NotificationEvent, FALSE);
	KeInitializeDpc(&marker, flush_reached, &reached);
	KeInsertQueueDpc(&marker, NULL, NULL);
	KeWaitForSingleObject(&reached, Executive, KernelMode, FALSE, NULL);
	race_acquire(&nt_dispatcher_lock);
}

VOID KeFlushQueuedDpcs(VOID)
{
	/* Above PASSIVE_LEVEL it might be the DPC thread itself, which cannot wait for itself. */
	if (nt_irql_require(PASSIVE_LEVEL, __func__))
		dpcs_flush();
}

VOID KeSetImportanceDpc(PRKDPC Dpc, KDPC_IMPORTANCE Importance)
{
	lock_acquire(&nt_dispatcher_lock);
	Dpc->Importance = (UCHAR)Importance;
	lock_release(&nt_dispatcher_lock);
}

VOID KeSetTargetProcessorDpc(PRKDPC Dpc, CCHAR Number)
{
	Dpc->Number = (USHORT)Number; /* one runs at a time whatever the processor */
}

/* ---- work items ---- */

static void work_take_locked(WORK_QUEUE_ITEM *item)
{
	lock_assert_held(&nt_dispatcher_lock);
	RemoveEntryList(&item->List);
	item->List.Flink = NULL;
	atomic_fetch_sub_explicit(&nt_dispatcher_queued, 1, memory_order_relaxed);
}

static void works_drain(struct work *work)
{
	struct work_thread *thread = container_of(work, struct work_thread, drain);

	lock_acquire(&nt_dispatcher_lock);
	while (!IsListEmpty(&works.queue)) {
		WORK_QUEUE_ITEM *item = CONTAINING_RECORD(works.queue.Flink, WORK_QUEUE_ITEM, List);
		PWORKER_THREAD_ROUTINE routine = item->WorkerRoutine;
		PVOID parameter = item->Parameter;
		struct nt_visit visit;
		struct nt_irql scope;

		work_take_locked(item); /* may be queued again, or freed, from now on */
		lock_release(&nt_dispatcher_lock);

		race_acquire(&nt_dispatcher_lock);
		nt_visit_begin(&visit, "the routine of a work item", (const void *)routine);
		nt_irql_enter(&scope, PASSIVE_LEVEL);
		routine(parameter);
		nt_irql_leave(&scope, "The routine of a work item");
		race_release(&nt_dispatcher_lock);
		nt_visit_end(&visit);
		lock_acquire(&nt_dispatcher_lock);
	}
	thread->is_busy = false;
	lock_release(&nt_dispatcher_lock);
}

/* Somebody to empty the queue: an idle thread, or a new one, or those who are at it. */
static void works_find_thread_locked(void)
{
	struct work_thread *thread = NULL;
	char name[16];

	lock_assert_held(&nt_dispatcher_lock);
	for (uint32_t i = 0; i < works.thread_count && !thread; i++) {
		if (!works.threads[i].is_busy)
			thread = &works.threads[i];
	}
	if (!thread) {
		if (works.thread_count == WORK_THREADS_MAX)
			return;
		thread = &works.threads[works.thread_count];
		snprintf(name, sizeof(name), "nt-work-%u", works.thread_count + 1);
		work_init(&thread->drain, works_drain);
		if (!NT_SUCCESS(worker_init(&thread->worker, name))) {
			if (works.thread_count == 0)
				log_error("no memory for a worker thread; a work item waits");
			return;
		}
		works.thread_count++;
	}
	thread->is_busy = true;
	worker_post(&thread->worker, &thread->drain);
}

static void work_queue(PWORK_QUEUE_ITEM item, const char *routine)
{
	nt_irql_require(DISPATCH_LEVEL, routine);
	race_release(&nt_dispatcher_lock);
	lock_acquire(&nt_dispatcher_lock);
	bool is_queued = item->List.Flink != NULL;
	if (!is_queued) {
		InsertTailList(&works.queue, &item->List);
		atomic_fetch_add_explicit(&nt_dispatcher_queued, 1, memory_order_relaxed);
		works_find_thread_locked();
	}
	lock_release(&nt_dispatcher_lock);
	if (is_queued)
		nt_report(RULE_NT_WORKITEM_QUEUED,
			  "%s was given a work item that is queued "
			  "already or was not initialized",
			  routine);
}

VOID ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType)
{
	work_queue(WorkItem, __func__);
}

struct _IO_WORKITEM {
	WORK_QUEUE_ITEM item;
	PDEVICE_OBJECT device;
	PIO_WORKITEM_ROUTINE routine;
	PIO_WORKITEM_ROUTINE_EX routine_ex;
	PVOID context;
};

static VOID NTAPI io_work_run(PVOID Parameter)
{
	struct _IO_WORKITEM *work = Parameter;

	if (work->routine_ex)
		work->routine_ex(work->device, work->context, work);
	else
		work->routine(work->device, work->context);
}

PIO_WORKITEM IoAllocateWorkItem(PDEVICE_OBJECT DeviceObject)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
	struct _IO_WORKITEM *work = nt_memory_fails() ? NULL : mem_zalloc(sizeof(*work));
	if (work)
		work->device = DeviceObject;
	return work;
}

VOID IoFreeWorkItem(PIO_WORKITEM IoWorkItem)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
	lock_acquire(&nt_dispatcher_lock);
	bool is_queued = IoWorkItem->item.List.Flink != NULL;
	if (is_queued)
		work_take_locked(&IoWorkItem->item);
	lock_release(&nt_dispatcher_lock);
	if (is_queued)
		nt_report(RULE_NT_WORKITEM_QUEUED,
			  "IoFreeWorkItem frees a work item that is still queued");
	mem_free(IoWorkItem);
}

static void io_work_queue(PIO_WORKITEM work, PIO_WORKITEM_ROUTINE routine,
			  PIO_WORKITEM_ROUTINE_EX routine_ex, PVOID context, const char *name)
{
	lock_acquire(&nt_dispatcher_lock);
	if (!work->item.List.Flink) {
		work->routine = routine;
		work->routine_ex = routine_ex;
		work->context = context;
		work->item.WorkerRoutine = io_work_run;
		work->item.Parameter = work;
	}
	lock_release(&nt_dispatcher_lock);
	work_queue(&work->item, name);
}

VOID IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine,
		     WORK_QUEUE_TYPE QueueType, PVOID Context)
{
	io_work_queue(IoWorkItem, WorkerRoutine, NULL, Context, __func__);
}

VOID IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
		       WORK_QUEUE_TYPE QueueType, PVOID Context)
{
	io_work_queue(IoWorkItem, NULL, WorkerRoutine, Context, __func__);
}

/* ---- the host's side ---- */

bool nt_dpc_forget_memory_locked(const void *begin, const void *end)
{
	bool was_used = false;
	LIST_ENTRY *entry;

	lock_assert_held(&nt_dispatcher_lock);
	for (entry = dpcs.queue.Flink; entry != &dpcs.queue;) {
		KDPC *dpc = CONTAINING_RECORD(entry, KDPC, DpcListEntry);
		entry = entry->Flink;
		if (nt_is_within(dpc, begin, end)) {
			dpc_take_locked(dpc);
			was_used = true;
		}
	}
	for (entry = works.queue.Flink; entry != &works.queue;) {
		WORK_QUEUE_ITEM *item = CONTAINING_RECORD(entry, WORK_QUEUE_ITEM, List);
		entry = entry->Flink;
		if (nt_is_within(item, begin, end)) {
			work_take_locked(item);
			was_used = true;
		}
	}
	return was_used;
}

static uint32_t work_thread_count(void)
{
	lock_acquire(&nt_dispatcher_lock);
	uint32_t count = works.thread_count;
	lock_release(&nt_dispatcher_lock);
	return count;
}

void nt_dpc_flush(void)
{
	dpcs_flush();
	for (uint32_t i = 0; i < work_thread_count(); i++)
		worker_flush(&works.threads[i].worker);
}

void nt_dpc_stop(void)
{
	/* Work items first: they may still queue DPCs. */
	for (uint32_t i = 0; i < work_thread_count(); i++)
		worker_finish(&works.threads[i].worker);
	worker_finish(&dpcs.worker);

	lock_acquire(&nt_dispatcher_lock);
	works.thread_count = 0;
	dpcs.is_started = false;
	lock_release(&nt_dispatcher_lock);
}
