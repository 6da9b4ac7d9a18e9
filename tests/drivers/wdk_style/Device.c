/* SPDX-License-Identifier: MIT */
/* Device.c - the C part: Microsoft's inline, and includes with the other slash. */
#include <ntddk.h>
#include "..\WDK_style\Inc\DEVICE.H"

__inline ULONG Twice(ULONG Value)
{
	return 2 * Value;
}

/* Declared first, and made inline afterwards. */
ULONG Thrice(ULONG Value);

__forceinline ULONG Thrice(ULONG Value)
{
	return 3 * Value;
}

void TraceBothWidths(void);

ULONG DeviceCheck(void)
{
	ULONG (*volatile twice)(ULONG) = Twice;
	ULONG failed = 0;
	long whole = -1L;

	TraceBothWidths();
	failed += DeviceCount != 1;
	failed += twice(21) != 42;
	failed += Thrice(14) != 42;
	failed += DeviceAlign(PAGE_SIZE + 1) != 2 * PAGE_SIZE;
	failed += (unsigned long long)(unsigned long)whole != 0xffffffffULL;
	return failed;
}
