/* SPDX-License-Identifier: MIT */
/*
 * rtl_test.c - versions, calendar, random numbers, stacks; memory comparison.
 */
#include "nt_harness.h"

TEST(rtl, compare_memory_counts_equal_bytes)
{
	EXPECT_EQ(RtlCompareMemory("abcd", "abXd", 4), 2);
	EXPECT_EQ(RtlCompareMemory("abcd", "abcd", 4), 4);
	EXPECT_EQ(RtlCompareMemory("a", "b", 0), 0);
}

TEST(rtl, the_version_is_a_windows_10)
{
	RTL_OSVERSIONINFOEXW version = { .dwOSVersionInfoSize = sizeof(version),
					 .wProductType = 9 };
	ULONG major;
	ULONG build;

	EXPECT_EQ(RtlGetVersion((PRTL_OSVERSIONINFOW)&version), STATUS_SUCCESS);
	EXPECT(version.dwMajorVersion == 10 && version.dwBuildNumber > 10000);
	EXPECT_EQ(version.wProductType, 1);
	version.dwOSVersionInfoSize = sizeof(RTL_OSVERSIONINFOW);
	version.wProductType = 9;
	EXPECT_EQ(RtlGetVersion((PRTL_OSVERSIONINFOW)&version), STATUS_SUCCESS);
	EXPECT_EQ(version.wProductType, 9);
	EXPECT(!PsGetVersion(&major, NULL, &build, NULL));
	EXPECT(major == 10 && build == version.dwBuildNumber);
	ULONG minor = 7;
	UNICODE_STRING pack = { .Length = 8 };
	EXPECT(!PsGetVersion(NULL, &minor, NULL, &pack));
	EXPECT(minor == version.dwMinorVersion && pack.Length == 0);
	EXPECT(RtlIsNtDdiVersionAvailable(NTDDI_WIN8) && !RtlIsNtDdiVersionAvailable(0x0b000000));
	EXPECT(IoIsWdmVersionAvailable(6, 0) && IoIsWdmVersionAvailable(1, 0x30));
	EXPECT(!IoIsWdmVersionAvailable(6, 1));
}

TEST(rtl, dates_go_both_ways_for_four_centuries_of_days)
{
	LARGE_INTEGER time = { .QuadPart = 0 };
	LARGE_INTEGER back;
	TIME_FIELDS fields;

	RtlTimeToTimeFields(&time, &fields);
	EXPECT(fields.Year == 1601 && fields.Month == 1 && fields.Day == 1);
	EXPECT_EQ(fields.Weekday, 1); /* a Monday */
	time.QuadPart = 116444736000000000ll + 12345678;
	RtlTimeToTimeFields(&time, &fields);
	EXPECT(fields.Year == 1970 && fields.Month == 1 && fields.Day == 1 && fields.Weekday == 4);
	EXPECT(fields.Second == 1 && fields.Milliseconds == 234);
	for (LONGLONG day = 0; day < 4 * 146097; day++) {
		time.QuadPart = day * 864000000000ll + 863999990000ll;
		RtlTimeToTimeFields(&time, &fields);
		EXPECT(RtlTimeFieldsToTime(&fields, &back));
		EXPECT_EQ(back.QuadPart, time.QuadPart);
		EXPECT_EQ(fields.Weekday, (day + 1) % 7);
	}
	fields = (TIME_FIELDS){ .Year = 2023, .Month = 2, .Day = 29 };
	EXPECT(!RtlTimeFieldsToTime(&fields, &back));
	fields.Year = 2024;
	EXPECT(RtlTimeFieldsToTime(&fields, &back));
	fields.Month = 13;
	EXPECT(!RtlTimeFieldsToTime(&fields, &back));
	fields.Month = 0;
	EXPECT(!RtlTimeFieldsToTime(&fields, &back));
}

TEST(rtl, random_numbers_repeat_with_the_seed_and_fit_31_bits)
{
	ULONG a = 42;
	ULONG b = 42;
	ULONG last = 0;
	unsigned same = 0;

	for (int i = 0; i < 1000; i++) {
		ULONG value = RtlRandomEx(&a);
		EXPECT_EQ(RtlRandomEx(&b), value);
		EXPECT(value <= MAXLONG);
		same += value == last;
		last = value;
	}
	EXPECT(same < 5);
}

TEST(rtl, uuids_differ_and_are_version_4)
{
	GUID a;
	GUID b;

	EXPECT_EQ(ExUuidCreate(&a), STATUS_SUCCESS);
	EXPECT_EQ(ExUuidCreate(&b), STATUS_SUCCESS);
	EXPECT(!IsEqualGUID(&a, &b));
	EXPECT_EQ(a.Data3 >> 12, 4);
	EXPECT_EQ(a.Data4[0] >> 6, 2);
}

TEST(rtl, a_stack_has_frames)
{
	PVOID frames[8];
	ULONG hash;

	USHORT count = RtlCaptureStackBackTrace(0, 8, frames, &hash);
	EXPECT(count >= 2 && frames[0]);
	EXPECT_EQ(RtlCaptureStackBackTrace(0, 64, frames, NULL), 0);
	EXPECT_EQ(RtlCaptureStackBackTrace(0, 0, frames, NULL), 0);
}

TEST_MAIN("nt/rtl")
