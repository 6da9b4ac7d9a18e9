/* SPDX-License-Identifier: MIT */
/*
 * needy.c - a driver that calls something no host has.
 */
#include <ntddk.h>

NTSTATUS a_routine_that_windows_does_not_have(void);

__attribute__((visibility("default"))) DRIVER_INITIALIZE DriverEntry;

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver_object, PUNICODE_STRING registry_path)
{
	return a_routine_that_windows_does_not_have();
}
