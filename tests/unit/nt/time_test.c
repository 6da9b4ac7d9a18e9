/* SPDX-License-Identifier: MIT */
/*
 * time_test.c - the clocks a driver sees.
 */
#include "unit/nt/nt_harness.h"

#include "base/clock.h"

TEST(time, all_clocks_count_100_ns_and_go_forward)
{
	LARGE_INTEGER frequency, first, second, system_first, system_second, ticks;
	LARGE_INTEGER delay = nt_test_us(200);

	nt_test_begin();
	first = KeQueryPerformanceCounter(&frequency);
	EXPECT_EQ(frequency.QuadPart, 10000000);
	ULONGLONG interrupt = KeQueryInterruptTime();
	KeQuerySystemTime(&system_first);
	EXPECT_EQ(KeDelayExecutionThread(KernelMode, FALSE, &delay), STATUS_SUCCESS);
	second = KeQueryPerformanceCounter(NULL);
	KeQuerySystemTime(&system_second);
	EXPECT(second.QuadPart - first.QuadPart >= 2000);
	EXPECT(KeQueryInterruptTime() - interrupt >= 2000);
	EXPECT(system_second.QuadPart > system_first.QuadPart);

	EXPECT_EQ(KeQueryTimeIncrement(), 156250);
	ULONGLONG before = KeQueryInterruptTime();
	KeQueryTickCount(&ticks);
	ULONGLONG after = KeQueryInterruptTime();
	EXPECT((ULONGLONG)ticks.QuadPart >= before / 156250);
	EXPECT((ULONGLONG)ticks.QuadPart <= after / 156250);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

NT_TEST(time, system_time_counts_from_1601)
{
	LARGE_INTEGER now, local;

	KeQuerySystemTime(&now);
	uint64_t unix_s = clock_wall_ns() / NS_PER_S;
	/* 134774 days lie between the two epochs. */
	uint64_t seconds = (uint64_t)now.QuadPart / 10000000 - UINT64_C(134774) * 86400;
	EXPECT(seconds == unix_s || seconds + 1 == unix_s);
	ExSystemTimeToLocalTime(&now, &local);
	EXPECT_EQ(local.QuadPart, now.QuadPart);
}

NT_TEST(time, a_stall_is_allowed_at_any_level_and_takes_its_time)
{
	KIRQL old = KeRaiseIrqlToDpcLevel();
	ULONGLONG before = KeQueryInterruptTime();
	KeStallExecutionProcessor(50);
	EXPECT(KeQueryInterruptTime() - before >= 500);
	KeLowerIrql(old);
	EXPECT_NO_REPORT();
}

NT_TEST(time, does_not_sleep_so_unbiased_time_is_interrupt_time)
{
	ULONGLONG before = KeQueryInterruptTime();
	ULONGLONG unbiased = KeQueryUnbiasedInterruptTime();
	EXPECT(before <= unbiased && unbiased <= KeQueryInterruptTime());
	EXPECT_NO_REPORT();
}

NT_TEST(time, is_asked_to_be_finer_up_to_apc_level)
{
	EXPECT_EQ(ExSetTimerResolution(10000, TRUE), KeQueryTimeIncrement());
	EXPECT_EQ(ExSetTimerResolution(0, FALSE), KeQueryTimeIncrement());
	EXPECT_NO_REPORT();
	KIRQL old = KeRaiseIrqlToDpcLevel();
	(void)ExSetTimerResolution(10000, TRUE);
	KeLowerIrql(old);
	EXPECT_REPORTS(RULE_NT_IRQL_HIGH, 1);
}

TEST_MAIN("nt/time")
