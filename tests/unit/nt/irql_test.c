/* SPDX-License-Identifier: MIT */
/*
 * irql_test.c - levels per thread and the spin locks that go with them.
 */
#include "unit/nt/nt_harness.h"

NT_TEST(irql, a_thread_starts_at_passive_level_and_keeps_its_own_level)
{
	KIRQL old;

	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
	KeRaiseIrql(APC_LEVEL, &old);
	EXPECT_EQ(old, PASSIVE_LEVEL);
	EXPECT_EQ(KeRaiseIrqlToDpcLevel(), APC_LEVEL);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	KeLowerIrql(APC_LEVEL);
	EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
	KeLowerIrql(PASSIVE_LEVEL);
	EXPECT_NO_REPORT();
}

NT_TEST(irql, raising_downwards_and_lowering_upwards_are_reported)
{
	KeRaiseIrqlToDpcLevel();
	EXPECT_EQ(KfRaiseIrql(APC_LEVEL), DISPATCH_LEVEL);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	EXPECT_REPORTS(RULE_NT_IRQL_ORDER, 1);
	KeLowerIrql(PASSIVE_LEVEL);
	KeLowerIrql(DISPATCH_LEVEL);
	EXPECT_REPORTS(RULE_NT_IRQL_ORDER, 2);
	KeLowerIrql(PASSIVE_LEVEL);
}

NT_TEST(irql, a_routine_that_returns_at_another_level_is_reported_and_the_level_restored)
{
	struct nt_irql scope;

	nt_irql_enter(&scope, DISPATCH_LEVEL);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	nt_irql_leave(&scope, "DxgkDdiSubmitCommand");
	EXPECT_NO_REPORT();

	nt_irql_enter(&scope, DISPATCH_LEVEL);
	KeLowerIrql(PASSIVE_LEVEL);
	nt_irql_leave(&scope, "DxgkDdiSubmitCommand");
	EXPECT_REPORTS(RULE_NT_IRQL_RETURN, 1);
	EXPECT_CONTAINS(nt_test_log, "dxgk: driver: DxgkDdiSubmitCommand was called at "
				     "DISPATCH_LEVEL and returned at PASSIVE_LEVEL "
				     "(NT-IRQL-RETURN)");
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

static void paged_routine(void)
{
	PAGED_CODE();
}

NT_TEST(irql, paged_code_is_reported_from_dispatch_level_on)
{
	KIRQL old;

	paged_routine();
	KeRaiseIrql(APC_LEVEL, &old);
	paged_routine();
	EXPECT_NO_REPORT();
	KeRaiseIrqlToDpcLevel();
	paged_routine();
	EXPECT_REPORTS(RULE_NT_IRQL_PAGED, 1);
	EXPECT_CONTAINS(nt_test_log, "irql_test.c");
	KeLowerIrql(PASSIVE_LEVEL);
}

NT_TEST(irql, a_spin_lock_raises_to_dispatch_level_and_gives_the_old_level_back)
{
	KSPIN_LOCK lock;
	KIRQL old = HIGH_LEVEL;

	KeInitializeSpinLock(&lock);
	EXPECT_EQ(lock, 0);
	EXPECT(KeTestSpinLock(&lock));
	KeAcquireSpinLock(&lock, &old);
	EXPECT_EQ(old, PASSIVE_LEVEL);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	EXPECT(!KeTestSpinLock(&lock));
	EXPECT(!KeTryToAcquireSpinLockAtDpcLevel(&lock));
	KeReleaseSpinLock(&lock, old);
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
	EXPECT_EQ(lock, 0);
	EXPECT_NO_REPORT();
}

NT_TEST(irql, the_dpc_level_calls_need_dispatch_level)
{
	KSPIN_LOCK lock = 0;

	KeAcquireSpinLockAtDpcLevel(&lock);
	EXPECT_REPORTS(RULE_NT_IRQL_LOW, 1);
	KeReleaseSpinLockFromDpcLevel(&lock);
	EXPECT_REPORTS(RULE_NT_IRQL_LOW, 2);

	KIRQL old = KeRaiseIrqlToDpcLevel();
	KeAcquireSpinLockAtDpcLevel(&lock);
	EXPECT(!KeTestSpinLock(&lock));
	KeReleaseSpinLockFromDpcLevel(&lock);
	EXPECT(KeTryToAcquireSpinLockAtDpcLevel(&lock));
	KeReleaseSpinLockFromDpcLevel(&lock);
	KeLowerIrql(old);
	EXPECT_REPORTS(RULE_NT_IRQL_LOW, 2);
}

NT_TEST(irql, taking_a_spin_lock_twice_is_reported_and_does_not_hang)
{
	KSPIN_LOCK lock = 0;
	KIRQL old, inner;

	KeAcquireSpinLock(&lock, &old);
	KeAcquireSpinLock(&lock, &inner);
	EXPECT_REPORTS(RULE_NT_LOCK_RECURSION, 1);
	KeReleaseSpinLock(&lock, inner);
	EXPECT(KeTestSpinLock(&lock));
	KeLowerIrql(old);
}

NT_TEST(irql, releasing_a_spin_lock_that_is_not_held_is_reported_and_leaves_it_alone)
{
	KSPIN_LOCK lock = 0;

	KIRQL old = KeRaiseIrqlToDpcLevel();
	KeReleaseSpinLock(&lock, old);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	EXPECT(KeTestSpinLock(&lock));
}

NT_TEST(irql, above_dispatch_level_a_spin_lock_is_reported_and_the_level_kept)
{
	KSPIN_LOCK lock = 0;
	struct nt_irql scope;
	KIRQL old;

	nt_irql_enter(&scope, 11);
	KeAcquireSpinLock(&lock, &old);
	EXPECT_REPORTS(RULE_NT_IRQL_HIGH, 1);
	EXPECT_EQ(KeGetCurrentIrql(), 11);
	KeReleaseSpinLock(&lock, old);
	EXPECT_EQ(KeGetCurrentIrql(), 11);
	nt_irql_leave(&scope, "DxgkDdiInterruptRoutine");
	EXPECT_REPORTS(RULE_NT_IRQL_HIGH, 1);
}

struct counter {
	KSPIN_LOCK lock;
	EX_SPIN_LOCK rw_lock;
	unsigned value;
	unsigned copy;
};

enum { ROUNDS = 300, THREADS = 4 };

/* Now and then somebody stays inside long enough for the others to queue up. */
static void linger(unsigned round)
{
	if (round % 25 == 0)
		KeStallExecutionProcessor(2);
}

static VOID NTAPI count_with_spin_lock(PVOID context)
{
	struct counter *counter = context;
	KLOCK_QUEUE_HANDLE handle;
	KIRQL old;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 2) {
			KeAcquireSpinLock(&counter->lock, &old);
			counter->value++;
			linger(i);
			KeReleaseSpinLock(&counter->lock, old);
		} else {
			KeAcquireInStackQueuedSpinLock(&counter->lock, &handle);
			counter->value++;
			linger(i);
			KeReleaseInStackQueuedSpinLock(&handle);
		}
	}
}

NT_TEST(irql, a_spin_lock_lets_one_thread_in)
{
	struct counter counter = { 0 };

	nt_test_on_threads(THREADS, count_with_spin_lock, &counter);
	EXPECT_EQ(counter.value, THREADS * ROUNDS);
	EXPECT_NO_REPORT();
}

static VOID NTAPI read_and_write(PVOID context)
{
	struct counter *counter = context;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 4 == 0) {
			KIRQL old = ExAcquireSpinLockExclusive(&counter->rw_lock);
			counter->value++;
			linger(i);
			counter->copy++;
			ExReleaseSpinLockExclusive(&counter->rw_lock, old);
		} else {
			KIRQL old = ExAcquireSpinLockShared(&counter->rw_lock);
			linger(i);
			EXPECT_EQ(counter->value, counter->copy);
			ExReleaseSpinLockShared(&counter->rw_lock, old);
		}
	}
}

NT_TEST(irql, a_reader_writer_spin_lock_keeps_writers_apart_from_everybody)
{
	struct counter counter = { 0 };

	nt_test_on_threads(THREADS, read_and_write, &counter);
	EXPECT_EQ(counter.value, THREADS * ROUNDS / 4);
	EXPECT_EQ(counter.rw_lock, 0);
	KIRQL old = ExAcquireSpinLockShared(&counter.rw_lock);
	EXPECT_EQ(old, PASSIVE_LEVEL);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	ExReleaseSpinLockShared(&counter.rw_lock, old);
	EXPECT_NO_REPORT();
	ExReleaseSpinLockExclusive(&counter.rw_lock, KeRaiseIrqlToDpcLevel());
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
}

NT_TEST(irql, releasing_a_reader_writer_spin_lock_that_is_not_held_is_reported)
{
	EX_SPIN_LOCK lock = 0;

	KIRQL old = KeRaiseIrqlToDpcLevel();
	ExReleaseSpinLockShared(&lock, old);
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	old = ExAcquireSpinLockExclusive(&lock);
	ExReleaseSpinLockExclusive(&lock, old);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
}

NT_TEST(irql, every_kind_of_spin_lock_gives_the_old_level_back)
{
	KSPIN_LOCK lock;
	KLOCK_QUEUE_HANDLE queued;

	KeInitializeSpinLock(&lock);
	KIRQL before = KeRaiseIrqlToSynchLevel();
	EXPECT(before == PASSIVE_LEVEL && KeGetCurrentIrql() == DISPATCH_LEVEL);
	KeAcquireInStackQueuedSpinLockAtDpcLevel(&lock, &queued);
	EXPECT(!KeTestSpinLock(&lock));
	KeReleaseInStackQueuedSpinLockFromDpcLevel(&queued);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	EXPECT_EQ(KeAcquireSpinLockForDpc(&lock), DISPATCH_LEVEL);
	KeReleaseSpinLockForDpc(&lock, DISPATCH_LEVEL);
	KeLowerIrql(before);
	before = KeAcquireSpinLockForDpc(&lock);
	EXPECT(before == PASSIVE_LEVEL && KeGetCurrentIrql() == DISPATCH_LEVEL);
	KeReleaseSpinLockForDpc(&lock, before);
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
	EXPECT_NO_REPORT();
}

NT_TEST(irql, a_queued_lock_at_dpc_level_is_reported_below_it)
{
	KSPIN_LOCK lock;
	KLOCK_QUEUE_HANDLE queued;

	KeInitializeSpinLock(&lock);
	KeAcquireInStackQueuedSpinLockAtDpcLevel(&lock, &queued);
	KeReleaseInStackQueuedSpinLockFromDpcLevel(&queued);
	EXPECT_REPORTS(RULE_NT_IRQL_LOW, 2);
}

NT_TEST(irql, releasing_a_spin_lock_to_a_higher_level_is_reported)
{
	KSPIN_LOCK lock;
	KIRQL before;

	KeInitializeSpinLock(&lock);
	KeAcquireSpinLock(&lock, &before);
	KeReleaseSpinLock(&lock, HIGH_LEVEL);
	EXPECT_REPORTS(RULE_NT_IRQL_ORDER, 1);
	EXPECT_CONTAINS(nt_test_log, "HIGH_LEVEL");
	KeLowerIrql(before);
}

static BOOLEAN NTAPI never_called(PVOID context)
{
	*(bool *)context = true;
	return TRUE;
}

NT_TEST(irql, there_is_no_interrupt_object_to_synchronize_with)
{
	bool was_called = false;

	EXPECT(!KeSynchronizeExecution(NULL, never_called, &was_called));
	EXPECT(!was_called);
	EXPECT_REPORTS(RULE_NT_NOT_HOSTED, 1);
	EXPECT_CONTAINS(nt_test_log, "DxgkCbSynchronizeExecution");
}

TEST_MAIN("nt/irql")
