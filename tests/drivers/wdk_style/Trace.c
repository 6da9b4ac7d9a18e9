/* SPDX-License-Identifier: MIT */
/* Trace.c - a second traced file, in C, with formats of both widths. */
#include <ntddk.h>
#include <DEVICE.h>
#include <trace.h>
#include "trace.tmh"

void TraceBothWidths(void)
{
	DeviceCount++;
	LOG_INFORMATION("narrow from %s", "C");
	LOG_INFORMATION(L"wide from C, %d", 2);
}
