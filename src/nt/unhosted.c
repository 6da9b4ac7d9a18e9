/* SPDX-License-Identifier: MIT */
/*
 * unhosted.c - routines a display driver may link to and has nothing to gain from here: there are
 * no other drivers to send requests to, no files, no device interfaces, no ports.
 *
 * Each says so, with a report and the documented failure, instead of pretending.
 */
#include <string.h>

#include <ddk/wdm.h>

#include "nt/report.h"

static NTSTATUS unhosted(const char *routine)
{
	nt_report(RULE_NT_NOT_HOSTED, "%s is not available here", routine);
	return STATUS_NOT_SUPPORTED;
}

/* Files. */

static NTSTATUS unhosted_file(const char *routine, PHANDLE handle, PIO_STATUS_BLOCK io_status)
{
	if (handle)
		*handle = NULL;
	if (io_status) {
		io_status->Status = STATUS_NOT_SUPPORTED;
		io_status->Information = 0;
	}
	return unhosted(routine);
}

NTSTATUS ZwCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
		      POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
		      PLARGE_INTEGER AllocationSize, ULONG FileAttributes, ULONG ShareAccess,
		      ULONG CreateDisposition, ULONG CreateOptions, PVOID EaBuffer, ULONG EaLength)
{
	return unhosted_file(__func__, FileHandle, IoStatusBlock);
}

NTSTATUS ZwOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
		    POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
		    ULONG ShareAccess, ULONG OpenOptions)
{
	return unhosted_file(__func__, FileHandle, IoStatusBlock);
}

NTSTATUS ZwReadFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
		    PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length,
		    PLARGE_INTEGER ByteOffset, PULONG Key)
{
	return unhosted_file(__func__, NULL, IoStatusBlock);
}

NTSTATUS ZwWriteFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
		     PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length,
		     PLARGE_INTEGER ByteOffset, PULONG Key)
{
	return unhosted_file(__func__, NULL, IoStatusBlock);
}

NTSTATUS ZwQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
				PVOID FileInformation, ULONG Length,
				FILE_INFORMATION_CLASS FileInformationClass)
{
	return unhosted_file(__func__, NULL, IoStatusBlock);
}

/* Requests to other drivers. */

PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN ChargeQuota)
{
	unhosted(__func__);
	return NULL;
}

VOID IoFreeIrp(PIRP Irp)
{
	unhosted(__func__);
}

PIRP IoBuildSynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject, PVOID Buffer,
				  ULONG Length, PLARGE_INTEGER StartingOffset, PKEVENT Event,
				  PIO_STATUS_BLOCK IoStatusBlock)
{
	unhosted(__func__);
	return NULL;
}

PIRP IoBuildDeviceIoControlRequest(ULONG IoControlCode, PDEVICE_OBJECT DeviceObject,
				   PVOID InputBuffer, ULONG InputBufferLength, PVOID OutputBuffer,
				   ULONG OutputBufferLength, BOOLEAN InternalDeviceIoControl,
				   PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock)
{
	unhosted(__func__);
	return NULL;
}

NTSTATUS IofCallDriver(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
	return unhosted("IoCallDriver");
}

VOID IofCompleteRequest(PIRP Irp, CCHAR PriorityBoost)
{
	unhosted("IoCompleteRequest");
}

/* Other devices, and names for one's own. */

PDEVICE_OBJECT IoGetRelatedDeviceObject(PFILE_OBJECT FileObject)
{
	unhosted(__func__);
	return NULL;
}

NTSTATUS IoGetDeviceObjectPointer(PUNICODE_STRING ObjectName, ACCESS_MASK DesiredAccess,
				  PFILE_OBJECT *FileObject, PDEVICE_OBJECT *DeviceObject)
{
	unhosted(__func__);
	*FileObject = NULL;
	*DeviceObject = NULL;
	return STATUS_OBJECT_NAME_NOT_FOUND;
}

NTSTATUS IoRegisterDeviceInterface(PDEVICE_OBJECT PhysicalDeviceObject,
				   const GUID *InterfaceClassGuid, PUNICODE_STRING ReferenceString,
				   PUNICODE_STRING SymbolicLinkName)
{
	memset(SymbolicLinkName, 0, sizeof(*SymbolicLinkName));
	return unhosted(__func__);
}

NTSTATUS IoSetDeviceInterfaceState(PUNICODE_STRING SymbolicLinkName, BOOLEAN Enable)
{
	unhosted(__func__);
	return STATUS_OBJECT_NAME_NOT_FOUND;
}

NTSTATUS IoOpenDeviceInterfaceRegistryKey(PUNICODE_STRING SymbolicLinkName,
					  ACCESS_MASK DesiredAccess, PHANDLE DeviceInterfaceRegKey)
{
	unhosted(__func__);
	*DeviceInterfaceRegKey = NULL;
	return STATUS_OBJECT_NAME_NOT_FOUND;
}

VOID IoInvalidateDeviceState(PDEVICE_OBJECT PhysicalDeviceObject)
{
	unhosted(__func__);
}

/* NULL is an answer every caller expects: the log may be full. */
PVOID IoAllocateErrorLogEntry(PVOID IoObject, UCHAR EntrySize)
{
	return NULL;
}

VOID IoWriteErrorLogEntry(PVOID ElEntry)
{
	unhosted(__func__);
}

VOID IoFreeErrorLogEntry(PVOID ElEntry)
{
	unhosted(__func__);
}

/* Ports: reads find what an empty bus has, all ones; writes go nowhere. */

#define PORT_ACCESS(size)                                                                          \
	size READ_PORT_##size(P##size Port)                                                        \
	{                                                                                          \
		nt_report(RULE_NT_PORT,                                                            \
			  "READ_PORT_" #size " was given port %p, and no device "                  \
			  "here has ports",                                                        \
			  (void *)Port);                                                           \
		return (size) ~(size)0;                                                            \
	}                                                                                          \
	VOID WRITE_PORT_##size(P##size Port, size Value)                                           \
	{                                                                                          \
		nt_report(RULE_NT_PORT,                                                            \
			  "WRITE_PORT_" #size " was given port %p, and no device "                 \
			  "here has ports",                                                        \
			  (void *)Port);                                                           \
	}                                                                                          \
	VOID READ_PORT_BUFFER_##size(P##size Port, P##size Buffer, ULONG Count)                    \
	{                                                                                          \
		while (Count-- > 0)                                                                \
			*Buffer++ = READ_PORT_##size(Port);                                        \
	}                                                                                          \
	VOID WRITE_PORT_BUFFER_##size(P##size Port, P##size Buffer, ULONG Count)                   \
	{                                                                                          \
		while (Count-- > 0)                                                                \
			WRITE_PORT_##size(Port, *Buffer++);                                        \
	}

PORT_ACCESS(UCHAR)
PORT_ACCESS(USHORT)
PORT_ACCESS(ULONG)

/* Firmware. Asking is how a driver finds out, so there is no report. */

NTSTATUS ExGetFirmwareEnvironmentVariable(PUNICODE_STRING VariableName, LPGUID VendorGuid,
					  PVOID Value, PULONG ValueLength, PULONG Attributes)
{
	return STATUS_NOT_IMPLEMENTED;
}
