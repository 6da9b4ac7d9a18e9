/* SPDX-License-Identifier: MIT */
/*
 * rtl.c - the small Rtl routines: versions, calendar, random numbers, stacks, comparing bytes.
 */
#include <execinfo.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"

#include <ddk/wdm.h>

/* The Windows that drivers of WDDM 2.6 were written for. */
enum { VERSION_MAJOR = 10, VERSION_MINOR = 0, VERSION_BUILD = 18362, PLATFORM_NT = 2 };

SIZE_T RtlCompareMemory(const VOID *Source1, const VOID *Source2, SIZE_T Length)
{
	const UCHAR *a = Source1;
	const UCHAR *b = Source2;
	SIZE_T equal = 0;

	while (equal < Length && a[equal] == b[equal])
		equal++;
	return equal;
}

NTSTATUS RtlGetVersion(PRTL_OSVERSIONINFOW VersionInformation)
{
	ULONG size = VersionInformation->dwOSVersionInfoSize;

	VersionInformation->dwMajorVersion = VERSION_MAJOR;
	VersionInformation->dwMinorVersion = VERSION_MINOR;
	VersionInformation->dwBuildNumber = VERSION_BUILD;
	VersionInformation->dwPlatformId = PLATFORM_NT;
	memset(VersionInformation->szCSDVersion, 0, sizeof(VersionInformation->szCSDVersion));
	if (size == sizeof(RTL_OSVERSIONINFOEXW)) {
		RTL_OSVERSIONINFOEXW *extended = (RTL_OSVERSIONINFOEXW *)VersionInformation;

		extended->wServicePackMajor = 0;
		extended->wServicePackMinor = 0;
		extended->wSuiteMask = 0;
		extended->wProductType = 1; /* workstation */
		extended->wReserved = 0;
	}
	return STATUS_SUCCESS;
}

BOOLEAN RtlIsNtDdiVersionAvailable(ULONG Version)
{
	return (Version & 0xff) == 0 && Version <= NTDDI_WIN10;
}

BOOLEAN PsGetVersion(PULONG MajorVersion, PULONG MinorVersion, PULONG BuildNumber,
		     PUNICODE_STRING CSDVersion)
{
	if (MajorVersion)
		*MajorVersion = VERSION_MAJOR;
	if (MinorVersion)
		*MinorVersion = VERSION_MINOR;
	if (BuildNumber)
		*BuildNumber = VERSION_BUILD;
	if (CSDVersion)
		CSDVersion->Length = 0;
	return FALSE; /* not a checked build */
}

BOOLEAN IoIsWdmVersionAvailable(UCHAR MajorVersion, UCHAR MinorVersion)
{
	return MajorVersion < 6 || (MajorVersion == 6 && MinorVersion == 0);
}

/* The caller keeps the state, so a driver's numbers repeat with its seed. */
ULONG RtlRandomEx(PULONG Seed)
{
	struct random random;

	random_init(&random, *Seed);
	uint64_t value = random_next(&random);
	*Seed = (ULONG)(value >> 32) & MAXLONG;
	return (ULONG)value & MAXLONG;
}

NTSTATUS ExUuidCreate(GUID *Uuid)
{
	static _Atomic uint64_t created;
	struct random random;

	/* Unique within the run, the same in every run with the same seed. */
	random_init(&random, clock_wall_ns() + atomic_fetch_add(&created, 1));
	uint64_t value = random_next(&random);
	memcpy(Uuid, &value, sizeof(value));
	value = random_next(&random);
	memcpy(Uuid->Data4, &value, sizeof(value));
	Uuid->Data3 = (USHORT)((Uuid->Data3 & 0x0fff) | 0x4000);
	Uuid->Data4[0] = (UCHAR)((Uuid->Data4[0] & 0x3f) | 0x80);
	return STATUS_SUCCESS;
}

USHORT RtlCaptureStackBackTrace(ULONG FramesToSkip, ULONG FramesToCapture, PVOID *BackTrace,
				PULONG BackTraceHash)
{
	void *frames[128];
	ULONG hash = 0;
	USHORT captured = 0;

	if (FramesToSkip > 64 || FramesToCapture > 63)
		return 0;
	int count = backtrace(frames, ARRAYSIZE(frames));
	/* The first frame is this routine. */
	for (ULONG i = 1 + FramesToSkip; i < (ULONG)count && captured < FramesToCapture; i++) {
		BackTrace[captured++] = frames[i];
		hash += (ULONG)(ULONG_PTR)frames[i];
	}
	if (BackTraceHash)
		*BackTraceHash = hash;
	return captured;
}

/*
 * Calendar: 100 ns units since 1601-01-01, which was a Monday. Days are counted in years that
 * begin in March, so that the leap day is a year's last.
 */
#define UNITS_PER_MS  10000ll
#define UNITS_PER_DAY (86400ll * 1000 * UNITS_PER_MS)
#define DAYS_TO_1601  584694ll /* from 0000-03-01 */

VOID RtlTimeToTimeFields(PLARGE_INTEGER Time, PTIME_FIELDS TimeFields)
{
	LONGLONG days = Time->QuadPart / UNITS_PER_DAY;
	LONGLONG ms = Time->QuadPart % UNITS_PER_DAY / UNITS_PER_MS;
	LONGLONG day = days + DAYS_TO_1601;
	LONGLONG era = day / 146097;
	LONGLONG in_era = day % 146097;
	LONGLONG year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	LONGLONG in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	LONGLONG month = (5 * in_year + 2) / 153;

	TimeFields->Day = (CSHORT)(in_year - (153 * month + 2) / 5 + 1);
	TimeFields->Month = (CSHORT)(month < 10 ? month + 3 : month - 9);
	TimeFields->Year = (CSHORT)(year_of_era + era * 400 + (month >= 10));
	TimeFields->Hour = (CSHORT)(ms / 3600000);
	TimeFields->Minute = (CSHORT)(ms / 60000 % 60);
	TimeFields->Second = (CSHORT)(ms / 1000 % 60);
	TimeFields->Milliseconds = (CSHORT)(ms % 1000);
	TimeFields->Weekday = (CSHORT)((days + 1) % 7);
}

static CSHORT days_in_month(CSHORT year, CSHORT month)
{
	static const CSHORT days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return (CSHORT)(days[month - 1] + (month == 2 && is_leap));
}

BOOLEAN RtlTimeFieldsToTime(PTIME_FIELDS TimeFields, PLARGE_INTEGER Time)
{
	const TIME_FIELDS *f = TimeFields;

	if (f->Year < 1601 || f->Month < 1 || f->Month > 12 || f->Day < 1 ||
	    f->Day > days_in_month(f->Year, f->Month) || f->Hour < 0 || f->Hour > 23 ||
	    f->Minute < 0 || f->Minute > 59 || f->Second < 0 || f->Second > 59 ||
	    f->Milliseconds < 0 || f->Milliseconds > 999)
		return FALSE;
	LONGLONG year = f->Month > 2 ? f->Year : f->Year - 1;
	LONGLONG in_year =
		(153 * (f->Month > 2 ? f->Month - 3 : f->Month + 9) + 2) / 5 + f->Day - 1;
	LONGLONG day = year / 400 * 146097 + year % 400 * 365 + year % 400 / 4 - year % 400 / 100 +
		       in_year;
	Time->QuadPart =
		(day - DAYS_TO_1601) * UNITS_PER_DAY +
		(((f->Hour * 60ll + f->Minute) * 60 + f->Second) * 1000 + f->Milliseconds) *
			UNITS_PER_MS;
	return TRUE;
}
