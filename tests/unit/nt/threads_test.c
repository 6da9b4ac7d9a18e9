/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - system threads and what a thread remembers.
 */
#include "unit/nt/nt_harness.h"
#include "support/failing.h"

struct run {
	PKTHREAD self;
	HANDLE id;
	KIRQL irql;
	BOOLEAN is_system;
	PEPROCESS process;
	bool went_too_far;
};

static VOID NTAPI look_around(PVOID context)
{
	struct run *run = context;

	run->self = KeGetCurrentThread();
	run->id = PsGetCurrentThreadId();
	run->irql = KeGetCurrentIrql();
	run->is_system = PsIsSystemThread(PsGetCurrentThread());
	run->process = PsGetCurrentProcess();
}

NT_TEST(threads, a_system_thread_runs_at_passive_level_in_the_system_process)
{
	struct run run = { .irql = HIGH_LEVEL };

	PKTHREAD thread = nt_test_start(look_around, &run);
	EXPECT_EQ(nt_test_wait(thread), STATUS_SUCCESS);
	EXPECT(run.self == thread);
	EXPECT(run.id == PsGetThreadId((PETHREAD)thread));
	EXPECT(run.id != PsGetCurrentThreadId());
	EXPECT_EQ((uintptr_t)run.id % 4, 0);
	EXPECT_EQ(run.irql, PASSIVE_LEVEL);
	EXPECT(run.is_system);
	EXPECT(run.process == PsInitialSystemProcess);
	EXPECT_EQ((uintptr_t)PsGetProcessId(run.process), 4);
	/* A thread that has ended stays signaled. */
	EXPECT_EQ(nt_test_poll(thread), STATUS_SUCCESS);
	nt_object_put(nt_object_from_body(thread));

	EXPECT(!PsIsSystemThread(PsGetCurrentThread()));
	EXPECT(KeGetCurrentThread() == KeGetCurrentThread());
	EXPECT(PsGetCurrentProcess() != PsInitialSystemProcess);
	EXPECT_NO_REPORT();
}

static __attribute__((noinline)) void terminate_deep_inside(struct run *run)
{
	PsTerminateSystemThread(STATUS_SUCCESS);
	run->went_too_far = true;
}

static VOID NTAPI terminate(PVOID context)
{
	terminate_deep_inside(context);
	((struct run *)context)->went_too_far = true;
}

NT_TEST(threads, terminating_ends_the_thread_from_any_depth)
{
	struct run run = { .went_too_far = false };

	nt_test_join(nt_test_start(terminate, &run));
	EXPECT(!run.went_too_far);
	EXPECT_NO_REPORT();
	EXPECT_EQ(PsTerminateSystemThread(STATUS_SUCCESS), STATUS_INVALID_PARAMETER);
	EXPECT_REPORTS(RULE_NT_THREAD_TERMINATE, 1);
}

static VOID NTAPI end_at_dispatch_level(PVOID context)
{
	(void)context;
	KeRaiseIrqlToDpcLevel();
}

NT_TEST(threads, ending_at_a_raised_level_is_reported)
{
	nt_test_join(nt_test_start(end_at_dispatch_level, NULL));
	nt_threads_reap();
	EXPECT_REPORTS(RULE_NT_IRQL_RETURN, 1);
}

static VOID NTAPI wait_for_event(PVOID context)
{
	nt_test_wait(context);
}

TEST(threads, a_thread_that_still_runs_at_unload_is_reported)
{
	const char *code = (const char *)(uintptr_t)wait_for_event;
	KEVENT event;

	nt_test_begin();
	KeInitializeEvent(&event, NotificationEvent, FALSE);
	PKTHREAD thread = nt_test_start(wait_for_event, &event);
	EXPECT_EQ(nt_test_poll(thread), STATUS_TIMEOUT);
	EXPECT_EQ(nt_threads_report_running(code + 1, code + 2), 0);
	EXPECT_NO_REPORT();
	EXPECT(!nt_driver_unloaded(code, code + 1));
	EXPECT_REPORTS(RULE_NT_THREAD_LEFT, 1);
	EXPECT_CONTAINS(nt_test_log, "wait_for_event");
	KeSetEvent(&event, 0, FALSE);
	nt_test_join(thread);
	nt_threads_reap();
	EXPECT(nt_driver_unloaded(code, code + 1));
	nt_test_finish();
}

TEST(threads, failing_memory_makes_no_thread_and_leaks_nothing)
{
	EACH_FAILURE (failing, 1) {
		HANDLE handle = NULL;
		nt_test_begin();
		failing_start(&failing);
		NTSTATUS status = PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL,
						       nt_test_nothing, NULL);
		bool fired = failing_stop(&failing);
		EXPECT_EQ(status, fired ? STATUS_INSUFFICIENT_RESOURCES : STATUS_SUCCESS);
		if (!fired) {
			struct nt_object *object;
			EXPECT_EQ(nt_handle_get(handle, &nt_type_thread, &object), STATUS_SUCCESS);
			nt_handle_close(handle);
			nt_test_join(nt_object_body(object));
		}
		nt_test_finish();
	}
}

NT_TEST(threads, creating_one_needs_somewhere_to_start_and_passive_level)
{
	HANDLE handle;
	CLIENT_ID id;

	EXPECT_EQ(PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, NULL, NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(PsCreateSystemThread(&handle, 0, NULL, NULL, &id, nt_test_nothing, NULL),
		  STATUS_SUCCESS);
	EXPECT_EQ((uintptr_t)id.UniqueProcess, 4);
	nt_handle_close(handle); /* the thread lives on without its handle */
	EXPECT_NO_REPORT();
	KIRQL old = KeRaiseIrqlToDpcLevel();
	EXPECT_EQ(PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, nt_test_nothing, NULL),
		  STATUS_SUCCESS);
	KeLowerIrql(old);
	nt_handle_close(handle);
	EXPECT_REPORTS(RULE_NT_IRQL_HIGH, 1);

	/* Both end by themselves; wait for that, so that nothing is left to count. */
	LARGE_INTEGER pause = nt_test_us(100);
	const char *code = (const char *)(uintptr_t)nt_test_nothing;
	while (nt_threads_report_running(code, code + 1) != 0)
		KeDelayExecutionThread(KernelMode, FALSE, &pause);
}

TEST(threads, a_priority_is_remembered)
{
	PKTHREAD self = KeGetCurrentThread();

	nt_test_begin();
	KPRIORITY before = KeSetPriorityThread(self, LOW_REALTIME_PRIORITY);
	EXPECT_EQ(KeQueryPriorityThread(self), LOW_REALTIME_PRIORITY);
	EXPECT_EQ(KeSetPriorityThread(self, before), LOW_REALTIME_PRIORITY);
	EXPECT_NO_REPORT();
	EXPECT_EQ(KeSetPriorityThread(self, 32), before);
	EXPECT_REPORTS(RULE_NT_THREAD_PRIORITY, 1);
	nt_test_finish();
}

NT_TEST(threads, regions_nest_and_leaving_too_often_is_reported)
{
	KeEnterCriticalRegion();
	KeEnterCriticalRegion();
	KeLeaveCriticalRegion();
	EXPECT(KeAreApcsDisabled());
	EXPECT(!KeAreAllApcsDisabled());
	KeEnterGuardedRegion();
	EXPECT(KeAreAllApcsDisabled());
	KeLeaveGuardedRegion();
	KeLeaveCriticalRegion();
	EXPECT(!KeAreApcsDisabled());
	EXPECT_NO_REPORT();
	KeLeaveCriticalRegion();
	KeLeaveGuardedRegion();
	EXPECT_REPORTS(RULE_NT_REGION, 2);
}

static ULONG_PTR NTAPI look_at_level(ULONG_PTR context)
{
	return context + KeGetCurrentIrql();
}

NT_TEST(threads, a_driver_sees_one_processor)
{
	PROCESSOR_NUMBER number = { .Number = 9 };
	KAFFINITY affinity = 0;
	KFLOATING_SAVE save;

	EXPECT_EQ(KeGetCurrentProcessorNumberEx(&number), 0);
	EXPECT_EQ(number.Number, 0);
	EXPECT_EQ(KeQueryActiveProcessorCount(&affinity), 1);
	EXPECT_EQ(affinity, 1);
	EXPECT_EQ(KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS), 1);
	EXPECT_EQ(KeGetProcessorNumberFromIndex(1, &number), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(KeIpiGenericCall(look_at_level, 100), 100 + IPI_LEVEL);
	EXPECT_EQ(KeSaveFloatingPointState(&save), STATUS_SUCCESS);
	EXPECT_EQ(KeRestoreFloatingPointState(&save), STATUS_SUCCESS);
	EXPECT(KeInvalidateAllCaches());
	EXPECT_NO_REPORT();
}

NT_TEST(threads, a_base_priority_is_an_increment_to_the_one_it_began_with)
{
	EXPECT_EQ(KeSetBasePriorityThread(KeGetCurrentThread(), 2), 0);
	EXPECT_EQ(KeSetBasePriorityThread(KeGetCurrentThread(), 0), 2);
	EXPECT_NO_REPORT();
}

TEST(threads, every_way_to_count_processors_finds_one)
{
	PROCESSOR_NUMBER number = { .Number = 7 };

	EXPECT_EQ(KeQueryMaximumProcessorCountEx(ALL_PROCESSOR_GROUPS), 1);
	EXPECT_EQ(KeQueryMaximumProcessorCountEx(3), 0);
	EXPECT_EQ(KeQueryActiveProcessors(), 1);
	KeSetSystemAffinityThread(1);
	KeRevertToUserAffinityThread();
	EXPECT_EQ(KeGetProcessorNumberFromIndex(0, &number), STATUS_SUCCESS);
	EXPECT_EQ(number.Number, 0);
	EXPECT_EQ(KeGetProcessorNumberFromIndex(1, &number), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(ExGetPreviousMode(), KernelMode);
}

#if defined(__x86_64__)
TEST(threads, processor_features_are_those_of_the_processor)
{
	static const ULONG always[] = { 3, 6, 8, 10 }; /* MMX, SSE, RDTSC, SSE2 */

	for (size_t i = 0; i < ARRAYSIZE(always); i++)
		EXPECT(ExIsProcessorFeaturePresent(always[i]));
	EXPECT_EQ(ExIsProcessorFeaturePresent(13), __builtin_cpu_supports("sse3") != 0);
	EXPECT_EQ(ExIsProcessorFeaturePresent(36), __builtin_cpu_supports("ssse3") != 0);
	EXPECT_EQ(ExIsProcessorFeaturePresent(37), __builtin_cpu_supports("sse4.1") != 0);
	EXPECT_EQ(ExIsProcessorFeaturePresent(38), __builtin_cpu_supports("sse4.2") != 0);
	EXPECT_EQ(ExIsProcessorFeaturePresent(39), __builtin_cpu_supports("avx") != 0);
	EXPECT_EQ(ExIsProcessorFeaturePresent(40), __builtin_cpu_supports("avx2") != 0);
	EXPECT(!ExIsProcessorFeaturePresent(1000));
}
#endif

NT_TEST(threads, registers_are_saved_up_to_dispatch_level)
{
	XSTATE_SAVE saved;
	KIRQL before;

	EXPECT_EQ(KeSaveExtendedProcessorState(7, &saved), STATUS_SUCCESS);
	KeRestoreExtendedProcessorState(&saved);
	KeRaiseIrql(DISPATCH_LEVEL, &before);
	EXPECT_EQ(KeSaveExtendedProcessorState(7, &saved), STATUS_SUCCESS);
	KeRestoreExtendedProcessorState(&saved);
	EXPECT_NO_REPORT();
	KeLowerIrql(before);
}

TEST_MAIN("nt/threads")
