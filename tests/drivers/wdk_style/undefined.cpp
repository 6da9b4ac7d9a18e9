/* SPDX-License-Identifier: MIT */
#include <ntddk.h>

namespace Engine
{
ULONG Missing(ULONG Node);
}

EXTERN_C NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
	UNREFERENCED_PARAMETER(DriverObject);
	UNREFERENCED_PARAMETER(RegistryPath);
	return Engine::Missing(1) ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}
