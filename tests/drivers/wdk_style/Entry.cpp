/* SPDX-License-Identifier: MIT */
/*
 * Entry.cpp - a driver tree as one finds them: header names in any case, C headers of the WDK,
 * trace headers that nobody wrote. It starts no adapter: DriverEntry says what it found.
 */
#include <INITGUID.H>
#include <String.h>
#include <StdIo.h>
#include <stdlib.h>
#include <stdint.h>
#include <limits.h>
#include <NtDdk.h>
#include <WinDDI.h>
#include <basetsd.h>
#include <DdError.h>
#include <intrin.h>
#include <NtDDVdeo.h>
#include <DispMprt.h>
#include <device.h>
#include "inc\TRACE.h"
#include "Entry.tmh"

C_ASSERT(sizeof(wchar_t) == 2 && sizeof(uint64_t) == sizeof(UINT64) && LONG_MAX == MAXLONG);

EXTERN_C int TraceAsserted = 0;

static int Evaluated(void)
{
	static int times;

	return ++times;
}

#if DBG
static const char build_kind[] = "checked";
#else
static const char build_kind[] = "free";
#endif

EXTERN_C NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
	char text[64];
	ULONG failed = DeviceCheck();

	UNREFERENCED_PARAMETER(DriverObject);
	UNREFERENCED_PARAMETER(RegistryPath);

	_snprintf(text, sizeof(text), "%s %lu", build_kind, DeviceAlign(1));
	LOG_INFORMATION("narrow %s", text);
	LOG_INFORMATION(L"wide %d", 42);
	DbgPrint(TRACE_LEVEL_ERROR, ("parentheses %d %s\n", 7, "inside"));
	DbgPrint(TRACE_LEVEL_ERROR, ("none\n"));

	/* The condition decides, and what it is made of happens. */
	WDK_ASSERT(Evaluated() > 0);
	failed += TraceAsserted != 0;
	WDK_ASSERT(Evaluated() < 0);
	failed += TraceAsserted != 1;
	WDK_EVALUATE(Evaluated());
	failed += Evaluated() != 6;

	LOG_INFORMATION("%u things went wrong", failed);
	return failed ? STATUS_UNSUCCESSFUL : STATUS_DEVICE_HARDWARE_ERROR;
}
