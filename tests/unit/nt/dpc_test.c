/* SPDX-License-Identifier: MIT */
/*
 * dpc_test.c - deferred procedure calls and work items.
 */
#include "unit/nt/nt_harness.h"
#include "support/failing.h"

#include "base/lock.h"
#include "nt/dispatcher.h"
#include "nt/dpc.h"

struct call {
	KDPC dpc;
	KEVENT entered;
	KEVENT go;
	unsigned count;
	KIRQL irql;
	PVOID first;
	PVOID second;
	unsigned order;
};

static unsigned calls_made;

static void call_init(struct call *call, PKDEFERRED_ROUTINE routine)
{
	memset(call, 0, sizeof(*call));
	KeInitializeDpc(&call->dpc, routine, call);
	KeInitializeEvent(&call->entered, SynchronizationEvent, FALSE);
	KeInitializeEvent(&call->go, SynchronizationEvent, FALSE);
}

static VOID NTAPI note_call(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	struct call *call = context;

	EXPECT(dpc == &call->dpc);
	call->irql = KeGetCurrentIrql();
	call->first = first;
	call->second = second;
	call->order = ++calls_made;
	call->count++;
}

/* Keeps the DPC thread busy until it is let go; polls, as a DPC may not wait. */
static VOID NTAPI hold_thread(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	struct call *call = context;

	(void)dpc;
	(void)first;
	(void)second;
	KeSetEvent(&call->entered, 0, FALSE);
	while (nt_test_poll(&call->go) != STATUS_SUCCESS)
		KeStallExecutionProcessor(10);
}

NT_TEST(dpc, runs_at_dispatch_level_with_the_arguments_it_was_queued_with)
{
	struct call call;

	call_init(&call, note_call);
	EXPECT(KeInsertQueueDpc(&call.dpc, (PVOID)1, (PVOID)2));
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 1);
	EXPECT_EQ(call.irql, DISPATCH_LEVEL);
	EXPECT(call.first == (PVOID)1 && call.second == (PVOID)2);
	EXPECT(KeInsertQueueDpc(&call.dpc, NULL, NULL));
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 2);
	EXPECT_NO_REPORT();
}

static void hold_dpcs(struct call *holder)
{
	call_init(holder, hold_thread);
	KeInsertQueueDpc(&holder->dpc, NULL, NULL);
	nt_test_wait(&holder->entered);
}

NT_TEST(dpc, that_is_queued_is_not_queued_again_and_can_be_taken_back)
{
	struct call holder, call;

	call_init(&call, note_call);
	hold_dpcs(&holder);
	EXPECT(KeInsertQueueDpc(&call.dpc, (PVOID)1, NULL));
	EXPECT(!KeInsertQueueDpc(&call.dpc, (PVOID)2, NULL));
	EXPECT(KeRemoveQueueDpc(&call.dpc));
	EXPECT(!KeRemoveQueueDpc(&call.dpc));
	EXPECT(KeInsertQueueDpc(&call.dpc, (PVOID)3, NULL));
	KeSetEvent(&holder.go, 0, FALSE);
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 1);
	EXPECT(call.first == (PVOID)3);
	EXPECT_NO_REPORT();
}

NT_TEST(dpc, of_high_importance_goes_first)
{
	struct call holder, low, high;

	call_init(&holder, hold_thread);
	call_init(&low, note_call);
	call_init(&high, note_call);
	KeSetImportanceDpc(&high.dpc, HighImportance);
	KeInsertQueueDpc(&holder.dpc, NULL, NULL);
	nt_test_wait(&holder.entered);
	KeInsertQueueDpc(&low.dpc, NULL, NULL);
	KeInsertQueueDpc(&high.dpc, NULL, NULL);
	KeSetEvent(&holder.go, 0, FALSE);
	KeFlushQueuedDpcs();
	EXPECT(high.order < low.order);
	EXPECT_NO_REPORT();
}

static VOID NTAPI queue_itself(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	struct call *call = context;

	(void)first;
	(void)second;
	if (++call->count < 5)
		EXPECT(KeInsertQueueDpc(dpc, NULL, NULL));
	else
		KeSetEvent(&call->entered, 0, FALSE);
}

NT_TEST(dpc, may_queue_itself)
{
	struct call call;

	call_init(&call, queue_itself);
	KeInsertQueueDpc(&call.dpc, NULL, NULL);
	nt_test_wait(&call.entered);
	EXPECT_EQ(call.count, 5);
	EXPECT_NO_REPORT();
}

static VOID NTAPI queue_for_ever(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	struct call *call = context;

	(void)first;
	(void)second;
	call->count++;
	if (nt_test_poll(&call->go) != STATUS_SUCCESS)
		KeInsertQueueDpc(dpc, NULL, NULL);
}

NT_TEST(dpc, a_flush_waits_for_what_was_queued_and_not_for_what_comes_later)
{
	struct call call;

	call_init(&call, queue_for_ever);
	KeInsertQueueDpc(&call.dpc, NULL, NULL);
	KeFlushQueuedDpcs();
	KeFlushQueuedDpcs();
	KeSetEvent(&call.go, 0, FALSE);
	/* What runs now sees the event; then it is over. */
	KeFlushQueuedDpcs();
	KeFlushQueuedDpcs();
	EXPECT(call.count >= 2);
	EXPECT(!KeRemoveQueueDpc(&call.dpc));
	EXPECT_NO_REPORT();
}

NT_TEST(dpc, of_an_interrupt_runs_on_the_thread_that_interrupted)
{
	struct call call;

	call_init(&call, note_call);
	nt_dpc_run_or_insert(&call.dpc);
	EXPECT_EQ(call.count, 1);
	EXPECT_EQ(call.irql, DISPATCH_LEVEL);
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
	EXPECT(!KeRemoveQueueDpc(&call.dpc));
	EXPECT_NO_REPORT();
}

NT_TEST(dpc, of_an_interrupt_waits_its_turn_behind_others)
{
	struct call holder, call;

	call_init(&call, note_call);
	hold_dpcs(&holder);
	nt_dpc_run_or_insert(&call.dpc);
	EXPECT(!KeInsertQueueDpc(&call.dpc, NULL, NULL));
	KeSetEvent(&holder.go, 0, FALSE);
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 1);
	EXPECT_NO_REPORT();
}

static VOID NTAPI run_here(PVOID context)
{
	nt_dpc_run_or_insert(context);
	PsTerminateSystemThread(STATUS_SUCCESS);
}

NT_TEST(dpc, one_at_a_time_wherever_they_run)
{
	struct call holder, call;

	call_init(&holder, hold_thread);
	call_init(&call, note_call);
	PKTHREAD thread = nt_test_start(run_here, &holder.dpc);
	nt_test_wait(&holder.entered);
	KeInsertQueueDpc(&call.dpc, NULL, NULL);
	/* The DPC thread has looked, and left it alone. */
	KeStallExecutionProcessor(1000);
	EXPECT(KeRemoveQueueDpc(&call.dpc));
	EXPECT_EQ(call.count, 0);
	KeInsertQueueDpc(&call.dpc, NULL, NULL);
	KeSetEvent(&holder.go, 0, FALSE);
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 1);
	nt_test_join(thread);
	EXPECT_NO_REPORT();
}

NT_TEST(dpc, left_in_an_image_that_is_unloaded_is_reported_and_taken_out)
{
	struct call holder, call;

	call_init(&call, note_call);
	hold_dpcs(&holder);
	KeInsertQueueDpc(&call.dpc, NULL, NULL);
	EXPECT(nt_dispatcher_forget_memory(&call, &call + 1));
	EXPECT(!nt_dispatcher_forget_memory(&call, &call + 1));
	KeSetEvent(&holder.go, 0, FALSE);
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 0);

	KTIMER timer;
	KeInitializeTimer(&timer);
	KeSetTimer(&timer, nt_test_us(1000000), NULL);
	EXPECT(nt_driver_unloaded(&timer, &timer + 1));
	EXPECT_REPORTS(RULE_NT_TIMER_LEFT, 1);
	EXPECT(!KeCancelTimer(&timer));
}

static VOID NTAPI break_rules(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	LARGE_INTEGER timeout = nt_test_us(10);
	struct call *call = context;

	(void)dpc;
	(void)first;
	(void)second;
	KeWaitForSingleObject(&call->go, Executive, KernelMode, FALSE, &timeout);
	KeFlushQueuedDpcs();
	KeLowerIrql(PASSIVE_LEVEL);
}

NT_TEST(dpc, that_waits_flushes_or_lowers_its_level_is_reported)
{
	struct call call;

	call_init(&call, break_rules);
	KeInsertQueueDpc(&call.dpc, NULL, NULL);
	nt_dpc_flush();
	EXPECT_EQ(nt_report_count(RULE_NT_IRQL_WAIT), 1);
	EXPECT_EQ(nt_report_count(RULE_NT_IRQL_HIGH), 1);
	EXPECT_EQ(nt_report_count(RULE_NT_IRQL_RETURN), 1);
}

TEST(dpc, can_be_queued_from_the_interrupt_level)
{
	struct lock interrupt_lock = LOCK_INITIALIZER(LOCK_RANK_INTERRUPT, "interrupt");
	struct nt_irql scope;
	struct call call;

	nt_test_begin();
	call_init(&call, note_call);
	nt_irql_enter(&scope, 11);
	lock_acquire(&interrupt_lock);
	KeInsertQueueDpc(&call.dpc, NULL, NULL);
	lock_release(&interrupt_lock);
	nt_irql_leave(&scope, "DxgkDdiInterruptRoutine");
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 1);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

TEST(dpc, starting_without_memory_says_so_and_a_later_one_brings_it_up)
{
	struct call call, later;

	EACH_FAILURE (failing, 2) {
		nt_test_begin();
		failing_start(&failing);
		NTSTATUS status = nt_start();
		bool fired = failing_stop(&failing);
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		nt_test_finish();
	}

	nt_test_begin();
	call_init(&call, note_call);
	call_init(&later, note_call);
	mem_fail_nth(1);
	EXPECT(KeInsertQueueDpc(&call.dpc, NULL, NULL));
	EXPECT(mem_fail_stop());
	EXPECT_EQ(call.count, 0);
	EXPECT(KeInsertQueueDpc(&later.dpc, NULL, NULL));
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.count, 1);
	EXPECT_EQ(later.count, 1);
	nt_test_finish();
}

/* ---- work items ---- */

struct job {
	WORK_QUEUE_ITEM item;
	KEVENT done;
	KEVENT *first_wait_for;
	KIRQL irql;
};

static VOID NTAPI do_job(PVOID context)
{
	struct job *job = context;

	job->irql = KeGetCurrentIrql();
	if (job->first_wait_for)
		nt_test_wait(job->first_wait_for);
	KeSetEvent(&job->done, 0, FALSE);
}

static void job_init(struct job *job, KEVENT *first_wait_for)
{
	memset(job, 0, sizeof(*job));
	ExInitializeWorkItem(&job->item, do_job, job);
	KeInitializeEvent(&job->done, NotificationEvent, FALSE);
	job->first_wait_for = first_wait_for;
}

NT_TEST(work, runs_at_passive_level)
{
	struct job job;

	job_init(&job, NULL);
	job.irql = HIGH_LEVEL;
	KIRQL old = KeRaiseIrqlToDpcLevel();
	ExQueueWorkItem(&job.item, DelayedWorkQueue);
	KeLowerIrql(old);
	nt_test_wait(&job.done);
	EXPECT_EQ(job.irql, PASSIVE_LEVEL);
	EXPECT_NO_REPORT();
}

NT_TEST(work, may_wait_for_work_that_was_queued_later)
{
	struct job jobs[4];

	for (int i = 3; i >= 0; i--)
		job_init(&jobs[i], i < 3 ? &jobs[i + 1].done : NULL);
	for (int i = 0; i < 4; i++)
		ExQueueWorkItem(&jobs[i].item, DelayedWorkQueue);
	for (int i = 0; i < 4; i++)
		nt_test_wait(&jobs[i].done);
	EXPECT_NO_REPORT();
}

NT_TEST(work, queued_twice_is_reported)
{
	struct job job;

	job_init(&job, NULL);
	job.item.List.Flink =
		&job.item.List; /* as an item that is queued, or was never initialized */
	ExQueueWorkItem(&job.item, DelayedWorkQueue);
	EXPECT_REPORTS(RULE_NT_WORKITEM_QUEUED, 1);
}

struct io_job {
	PIO_WORKITEM item;
	KEVENT done;
	PDEVICE_OBJECT device;
};

static VOID NTAPI io_run(PDEVICE_OBJECT device, PVOID context)
{
	struct io_job *job = context;

	job->device = device;
	IoFreeWorkItem(job->item); /* legal: nobody needs it any more */
	KeSetEvent(&job->done, 0, FALSE);
}

static VOID NTAPI io_run_ex(PVOID object, PVOID context, PIO_WORKITEM item)
{
	struct io_job *job = context;

	job->device = object;
	EXPECT(item == job->item);
	KeSetEvent(&job->done, 0, FALSE);
}

TEST(work, items_of_devices_carry_their_device_and_may_free_themselves)
{
	PDEVICE_OBJECT device = (PDEVICE_OBJECT)(uintptr_t)0x1000;
	struct io_job job = { 0 };

	nt_test_begin();
	KeInitializeEvent(&job.done, SynchronizationEvent, FALSE);
	job.item = IoAllocateWorkItem(device);
	IoQueueWorkItem(job.item, io_run, DelayedWorkQueue, &job);
	nt_test_wait(&job.done);
	EXPECT(job.device == device);

	job.item = IoAllocateWorkItem(device);
	job.device = NULL;
	IoQueueWorkItemEx(job.item, io_run_ex, CriticalWorkQueue, &job);
	nt_test_wait(&job.done);
	EXPECT(job.device == device);
	IoFreeWorkItem(job.item);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

NT_TEST(dpc, threaded_and_bound_to_a_processor_runs_as_any)
{
	struct call call;

	call_init(&call, note_call);
	KeInitializeThreadedDpc(&call.dpc, note_call, &call);
	KeSetTargetProcessorDpc(&call.dpc, 0);
	EXPECT(KeInsertQueueDpc(&call.dpc, (PVOID)1, (PVOID)2));
	KeFlushQueuedDpcs();
	EXPECT_EQ(call.irql, DISPATCH_LEVEL);
	EXPECT(call.first == (PVOID)1 && call.second == (PVOID)2);
	EXPECT_NO_REPORT();
}

TEST_MAIN("nt/dpc")
