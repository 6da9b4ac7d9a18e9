/* SPDX-License-Identifier: MIT */
/*
 * time.c - what a driver sees of our clock.
 *
 * NT counts in units of 100 ns: interrupt time and the performance counter from the start, system
 * time from the year 1601. A tick is KeQueryTimeIncrement() units, 15.625 ms.
 */
#include <stdint.h>

#include <ddk/wdm.h>

#include "base/clock.h"
#include "base/thread.h"
#include "nt/dispatcher.h"
#include "nt/irql.h"
#include "nt/stall.h"

enum { NS_PER_UNIT = 100, UNITS_PER_TICK = 156250, UNITS_PER_SECOND = 10000000 };

/* From 1601 to 1970. */
#define UNITS_TO_UNIX_EPOCH INT64_C(116444736000000000)

static uint64_t units_since_start(void)
{
	return clock_now_ns() / NS_PER_UNIT;
}

LARGE_INTEGER KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency)
{
	LARGE_INTEGER now;

	if (PerformanceFrequency)
		PerformanceFrequency->QuadPart = UNITS_PER_SECOND;
	now.QuadPart = (LONGLONG)units_since_start();
	return now;
}

ULONGLONG KeQueryInterruptTime(VOID)
{
	return units_since_start();
}

ULONGLONG KeQueryInterruptTimePrecise(PULONG64 QpcTimeStamp)
{
	ULONGLONG now = units_since_start();

	if (QpcTimeStamp)
		*QpcTimeStamp = now;
	return now;
}

ULONGLONG KeQueryUnbiasedInterruptTime(VOID)
{
	return units_since_start();
}

VOID KeQuerySystemTimePrecise(PLARGE_INTEGER CurrentTime)
{
	CurrentTime->QuadPart = (LONGLONG)(clock_wall_ns() / NS_PER_UNIT) + UNITS_TO_UNIX_EPOCH;
}

VOID KeQuerySystemTime(PLARGE_INTEGER CurrentTime)
{
	KeQuerySystemTimePrecise(CurrentTime);
}

/* Local time is system time: a kernel has no time zone of its own. */
VOID ExSystemTimeToLocalTime(PLARGE_INTEGER SystemTime, PLARGE_INTEGER LocalTime)
{
	*LocalTime = *SystemTime;
}

VOID KeQueryTickCount(PLARGE_INTEGER TickCount)
{
	TickCount->QuadPart = (LONGLONG)(units_since_start() / UNITS_PER_TICK);
}

ULONG KeQueryTimeIncrement(VOID)
{
	return UNITS_PER_TICK;
}

/* Our timers are as fine as the clock, so there is nothing to refine. */
ULONG ExSetTimerResolution(ULONG DesiredTime, BOOLEAN SetResolution)
{
	nt_irql_require(APC_LEVEL, __func__);
	return UNITS_PER_TICK;
}

_Thread_local uint64_t nt_stalled_ns;

/* Allowed at any level: a stall is no wait. */
VOID KeStallExecutionProcessor(ULONG MicroSeconds)
{
	nt_stalled_ns += MicroSeconds * NS_PER_US;
	clock_sleep_until(clock_deadline(MicroSeconds * NS_PER_US));
}

NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
				PLARGE_INTEGER Interval)
{
	nt_irql_require_waitable(__func__);
	thread_point();
	clock_sleep_until(nt_timeout_deadline_ns(Interval));
	return STATUS_SUCCESS;
}
