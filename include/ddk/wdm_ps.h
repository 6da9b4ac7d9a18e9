/* SPDX-License-Identifier: MIT */
/*
 * wdm_ps.h - the Ps, Ob, Se and Zw routines: threads, processes, handles, the registry, files and
 * sections, and the constants that go with them.
 *
 * Part of wdm.h; not included by itself.
 */
#ifndef OPENDXGK_DDK_WDM_PS_H
#define OPENDXGK_DDK_WDM_PS_H

#include "wdm_rtl.h"

OPENDXGK_EXTERN_C_BEGIN

#define DELETE                   0x00010000
#define READ_CONTROL             0x00020000
#define WRITE_DAC                0x00040000
#define WRITE_OWNER              0x00080000
#define SYNCHRONIZE              0x00100000
#define STANDARD_RIGHTS_REQUIRED 0x000F0000
#define STANDARD_RIGHTS_READ     READ_CONTROL
#define STANDARD_RIGHTS_WRITE    READ_CONTROL
#define STANDARD_RIGHTS_EXECUTE  READ_CONTROL
#define STANDARD_RIGHTS_ALL      0x001F0000
#define MAXIMUM_ALLOWED          0x02000000
#define GENERIC_READ             0x80000000
#define GENERIC_WRITE            0x40000000
#define GENERIC_EXECUTE          0x20000000
#define GENERIC_ALL              0x10000000
#define THREAD_ALL_ACCESS        (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0xFFFF)
#define PROCESS_ALL_ACCESS       (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0xFFFF)
#define EVENT_QUERY_STATE        0x0001
#define EVENT_MODIFY_STATE       0x0002
#define EVENT_ALL_ACCESS         (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0x3)

/* Threads and processes. */

typedef struct _CLIENT_ID {
	HANDLE UniqueProcess;
	HANDLE UniqueThread;
} CLIENT_ID, *PCLIENT_ID;

typedef VOID NTAPI KSTART_ROUTINE(PVOID StartContext);
typedef KSTART_ROUTINE *PKSTART_ROUTINE;

NTKERNELAPI NTSTATUS NTAPI PsCreateSystemThread(PHANDLE ThreadHandle, ULONG DesiredAccess,
						POBJECT_ATTRIBUTES ObjectAttributes,
						HANDLE ProcessHandle, PCLIENT_ID ClientId,
						PKSTART_ROUTINE StartRoutine, PVOID StartContext);
/* Never returns in a thread that PsCreateSystemThread made; elsewhere it refuses. */
NTKERNELAPI NTSTATUS NTAPI PsTerminateSystemThread(NTSTATUS ExitStatus);
NTKERNELAPI PEPROCESS NTAPI PsGetCurrentProcess(VOID);
NTKERNELAPI HANDLE NTAPI PsGetCurrentProcessId(VOID);
NTKERNELAPI HANDLE NTAPI PsGetCurrentThreadId(VOID);
NTKERNELAPI HANDLE NTAPI PsGetProcessId(PEPROCESS Process);
NTKERNELAPI HANDLE NTAPI PsGetThreadId(PETHREAD Thread);
NTKERNELAPI BOOLEAN NTAPI PsIsSystemThread(PETHREAD Thread);
NTKERNELAPI BOOLEAN NTAPI PsGetVersion(PULONG MajorVersion, PULONG MinorVersion, PULONG BuildNumber,
				       PUNICODE_STRING CSDVersion);
#define PsGetCurrentThread()  ((PETHREAD)KeGetCurrentThread())
#define IoGetCurrentProcess() PsGetCurrentProcess()
extern NTKERNELAPI PEPROCESS PsInitialSystemProcess;

/* Told by the thread that begins or ends the process, in a critical region. */
typedef VOID NTAPI CREATE_PROCESS_NOTIFY_ROUTINE(HANDLE ParentId, HANDLE ProcessId, BOOLEAN Create);
typedef CREATE_PROCESS_NOTIFY_ROUTINE *PCREATE_PROCESS_NOTIFY_ROUTINE;

/* With Remove, returns when the routine runs nowhere any more. Not from such a routine. */
NTKERNELAPI NTSTATUS NTAPI
PsSetCreateProcessNotifyRoutine(PCREATE_PROCESS_NOTIFY_ROUTINE NotifyRoutine, BOOLEAN Remove);

/* Objects and handles. */

typedef struct _OBJECT_TYPE *POBJECT_TYPE;
typedef struct _OBJECT_HANDLE_INFORMATION {
	ULONG HandleAttributes;
	ACCESS_MASK GrantedAccess;
} OBJECT_HANDLE_INFORMATION, *POBJECT_HANDLE_INFORMATION;

extern NTKERNELAPI POBJECT_TYPE *PsThreadType;
extern NTKERNELAPI POBJECT_TYPE *PsProcessType;
extern NTKERNELAPI POBJECT_TYPE *ExEventObjectType;
extern NTKERNELAPI POBJECT_TYPE *ExSemaphoreObjectType;
extern NTKERNELAPI POBJECT_TYPE *IoFileObjectType;
extern NTKERNELAPI POBJECT_TYPE *MmSectionObjectType;

NTKERNELAPI NTSTATUS NTAPI ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess,
						     POBJECT_TYPE ObjectType,
						     KPROCESSOR_MODE AccessMode, PVOID *Object,
						     POBJECT_HANDLE_INFORMATION HandleInformation);
NTKERNELAPI NTSTATUS NTAPI
ObReferenceObjectByHandleWithTag(HANDLE Handle, ACCESS_MASK DesiredAccess, POBJECT_TYPE ObjectType,
				 KPROCESSOR_MODE AccessMode, ULONG Tag, PVOID *Object,
				 POBJECT_HANDLE_INFORMATION HandleInformation);
NTKERNELAPI NTSTATUS NTAPI ObReferenceObjectByPointer(PVOID Object, ACCESS_MASK DesiredAccess,
						      POBJECT_TYPE ObjectType,
						      KPROCESSOR_MODE AccessMode);
NTKERNELAPI NTSTATUS NTAPI ObOpenObjectByPointer(PVOID Object, ULONG HandleAttributes,
						 PVOID PassedAccessState, ACCESS_MASK DesiredAccess,
						 POBJECT_TYPE ObjectType,
						 KPROCESSOR_MODE AccessMode, PHANDLE Handle);
NTKERNELAPI LONG_PTR NTAPI ObfReferenceObject(PVOID Object);
NTKERNELAPI LONG_PTR NTAPI ObfReferenceObjectWithTag(PVOID Object, ULONG Tag);
NTKERNELAPI LONG_PTR NTAPI ObfDereferenceObject(PVOID Object);
NTKERNELAPI LONG_PTR NTAPI ObfDereferenceObjectWithTag(PVOID Object, ULONG Tag);
NTKERNELAPI VOID NTAPI ObDereferenceObjectDeferDelete(PVOID Object);
#define ObReferenceObject(object)               ObfReferenceObject(object)
#define ObReferenceObjectWithTag(object, tag)   ObfReferenceObjectWithTag(object, tag)
#define ObDereferenceObject(object)             ObfDereferenceObject(object)
#define ObDereferenceObjectWithTag(object, tag) ObfDereferenceObjectWithTag(object, tag)

NTKERNELAPI NTSTATUS NTAPI ZwClose(HANDLE Handle);
NTKERNELAPI NTSTATUS NTAPI ZwWaitForSingleObject(HANDLE Handle, BOOLEAN Alertable,
						 PLARGE_INTEGER Timeout);
NTKERNELAPI NTSTATUS NTAPI ZwCreateEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess,
					 POBJECT_ATTRIBUTES ObjectAttributes, EVENT_TYPE EventType,
					 BOOLEAN InitialState);
NTKERNELAPI NTSTATUS NTAPI ZwSetEvent(HANDLE EventHandle, PLONG PreviousState);
#define NtCurrentProcess() ((HANDLE)(LONG_PTR)-1)
#define ZwCurrentProcess() NtCurrentProcess()
#define NtCurrentThread()  ((HANDLE)(LONG_PTR)-2)
#define ZwCurrentThread()  NtCurrentThread()

/* The registry. */

#define REG_NONE                       0
#define REG_SZ                         1
#define REG_EXPAND_SZ                  2
#define REG_BINARY                     3
#define REG_DWORD                      4
#define REG_DWORD_LITTLE_ENDIAN        4
#define REG_DWORD_BIG_ENDIAN           5
#define REG_LINK                       6
#define REG_MULTI_SZ                   7
#define REG_RESOURCE_LIST              8
#define REG_FULL_RESOURCE_DESCRIPTOR   9
#define REG_RESOURCE_REQUIREMENTS_LIST 10
#define REG_QWORD                      11
#define REG_QWORD_LITTLE_ENDIAN        11

#define REG_OPTION_NON_VOLATILE 0
#define REG_OPTION_VOLATILE     1
#define REG_CREATED_NEW_KEY     1
#define REG_OPENED_EXISTING_KEY 2

#define KEY_QUERY_VALUE        0x0001
#define KEY_SET_VALUE          0x0002
#define KEY_CREATE_SUB_KEY     0x0004
#define KEY_ENUMERATE_SUB_KEYS 0x0008
#define KEY_NOTIFY             0x0010
#define KEY_CREATE_LINK        0x0020
#define KEY_READ                                                                                   \
	((STANDARD_RIGHTS_READ | KEY_QUERY_VALUE | KEY_ENUMERATE_SUB_KEYS | KEY_NOTIFY) &          \
	 ~SYNCHRONIZE)
#define KEY_WRITE   ((STANDARD_RIGHTS_WRITE | KEY_SET_VALUE | KEY_CREATE_SUB_KEY) & ~SYNCHRONIZE)
#define KEY_EXECUTE (KEY_READ & ~SYNCHRONIZE)
#define KEY_ALL_ACCESS                                                                             \
	((STANDARD_RIGHTS_ALL | KEY_QUERY_VALUE | KEY_SET_VALUE | KEY_CREATE_SUB_KEY |             \
	  KEY_ENUMERATE_SUB_KEYS | KEY_NOTIFY | KEY_CREATE_LINK) &                                 \
	 ~SYNCHRONIZE)

typedef enum _KEY_INFORMATION_CLASS {
	KeyBasicInformation,
	KeyNodeInformation,
	KeyFullInformation,
	KeyNameInformation
} KEY_INFORMATION_CLASS;

typedef struct _KEY_BASIC_INFORMATION {
	LARGE_INTEGER LastWriteTime;
	ULONG TitleIndex;
	ULONG NameLength;
	WCHAR Name[1];
} KEY_BASIC_INFORMATION, *PKEY_BASIC_INFORMATION;

typedef struct _KEY_FULL_INFORMATION {
	LARGE_INTEGER LastWriteTime;
	ULONG TitleIndex;
	ULONG ClassOffset;
	ULONG ClassLength;
	ULONG SubKeys;
	ULONG MaxNameLen;
	ULONG MaxClassLen;
	ULONG Values;
	ULONG MaxValueNameLen;
	ULONG MaxValueDataLen;
	WCHAR Class[1];
} KEY_FULL_INFORMATION, *PKEY_FULL_INFORMATION;

typedef enum _KEY_VALUE_INFORMATION_CLASS {
	KeyValueBasicInformation,
	KeyValueFullInformation,
	KeyValuePartialInformation,
	KeyValueFullInformationAlign64,
	KeyValuePartialInformationAlign64
} KEY_VALUE_INFORMATION_CLASS;

typedef struct _KEY_VALUE_BASIC_INFORMATION {
	ULONG TitleIndex;
	ULONG Type;
	ULONG NameLength;
	WCHAR Name[1];
} KEY_VALUE_BASIC_INFORMATION, *PKEY_VALUE_BASIC_INFORMATION;

typedef struct _KEY_VALUE_FULL_INFORMATION {
	ULONG TitleIndex;
	ULONG Type;
	ULONG DataOffset;
	ULONG DataLength;
	ULONG NameLength;
	WCHAR Name[1];
} KEY_VALUE_FULL_INFORMATION, *PKEY_VALUE_FULL_INFORMATION;

typedef struct _KEY_VALUE_PARTIAL_INFORMATION {
	ULONG TitleIndex;
	ULONG Type;
	ULONG DataLength;
	UCHAR Data[1];
} KEY_VALUE_PARTIAL_INFORMATION, *PKEY_VALUE_PARTIAL_INFORMATION;

NTKERNELAPI NTSTATUS NTAPI ZwOpenKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
				     POBJECT_ATTRIBUTES ObjectAttributes);
NTKERNELAPI NTSTATUS NTAPI ZwOpenKeyEx(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
				       POBJECT_ATTRIBUTES ObjectAttributes, ULONG OpenOptions);
NTKERNELAPI NTSTATUS NTAPI ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
				       POBJECT_ATTRIBUTES ObjectAttributes, ULONG TitleIndex,
				       PUNICODE_STRING Class, ULONG CreateOptions,
				       PULONG Disposition);
NTKERNELAPI NTSTATUS NTAPI ZwDeleteKey(HANDLE KeyHandle);
NTKERNELAPI NTSTATUS NTAPI ZwFlushKey(HANDLE KeyHandle);
NTKERNELAPI NTSTATUS NTAPI ZwQueryKey(HANDLE KeyHandle, KEY_INFORMATION_CLASS KeyInformationClass,
				      PVOID KeyInformation, ULONG Length, PULONG ResultLength);
NTKERNELAPI NTSTATUS NTAPI ZwEnumerateKey(HANDLE KeyHandle, ULONG Index,
					  KEY_INFORMATION_CLASS KeyInformationClass,
					  PVOID KeyInformation, ULONG Length, PULONG ResultLength);
NTKERNELAPI NTSTATUS NTAPI ZwQueryValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
					   KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
					   PVOID KeyValueInformation, ULONG Length,
					   PULONG ResultLength);
NTKERNELAPI NTSTATUS NTAPI ZwEnumerateValueKey(HANDLE KeyHandle, ULONG Index,
					       KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
					       PVOID KeyValueInformation, ULONG Length,
					       PULONG ResultLength);
NTKERNELAPI NTSTATUS NTAPI ZwSetValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
					 ULONG TitleIndex, ULONG Type, PVOID Data, ULONG DataSize);
NTKERNELAPI NTSTATUS NTAPI ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName);

/* Files and sections. */

typedef struct _IO_STATUS_BLOCK {
	_ANONYMOUS_UNION union {
		NTSTATUS Status;
		PVOID Pointer;
	};
	ULONG_PTR Information;
} IO_STATUS_BLOCK, *PIO_STATUS_BLOCK;

typedef VOID NTAPI IO_APC_ROUTINE(PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, ULONG Reserved);
typedef IO_APC_ROUTINE *PIO_APC_ROUTINE;

#define FILE_READ_DATA        0x0001
#define FILE_LIST_DIRECTORY   0x0001
#define FILE_WRITE_DATA       0x0002
#define FILE_APPEND_DATA      0x0004
#define FILE_READ_EA          0x0008
#define FILE_WRITE_EA         0x0010
#define FILE_EXECUTE          0x0020
#define FILE_READ_ATTRIBUTES  0x0080
#define FILE_WRITE_ATTRIBUTES 0x0100
#define FILE_ALL_ACCESS       (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0x1FF)
#define FILE_ANY_ACCESS       0
#define FILE_READ_ACCESS      0x0001
#define FILE_WRITE_ACCESS     0x0002
#define FILE_GENERIC_READ                                                                          \
	(STANDARD_RIGHTS_READ | FILE_READ_DATA | FILE_READ_ATTRIBUTES | FILE_READ_EA | SYNCHRONIZE)
#define FILE_GENERIC_WRITE                                                                         \
	(STANDARD_RIGHTS_WRITE | FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | FILE_WRITE_EA |         \
	 FILE_APPEND_DATA | SYNCHRONIZE)
#define FILE_SHARE_READ              0x00000001
#define FILE_SHARE_WRITE             0x00000002
#define FILE_SHARE_DELETE            0x00000004
#define FILE_ATTRIBUTE_READONLY      0x00000001
#define FILE_ATTRIBUTE_NORMAL        0x00000080
#define FILE_SUPERSEDE               0x00000000
#define FILE_OPEN                    0x00000001
#define FILE_CREATE                  0x00000002
#define FILE_OPEN_IF                 0x00000003
#define FILE_OVERWRITE               0x00000004
#define FILE_OVERWRITE_IF            0x00000005
#define FILE_SUPERSEDED              0x00000000
#define FILE_OPENED                  0x00000001
#define FILE_CREATED                 0x00000002
#define FILE_DIRECTORY_FILE          0x00000001
#define FILE_WRITE_THROUGH           0x00000002
#define FILE_SEQUENTIAL_ONLY         0x00000004
#define FILE_SYNCHRONOUS_IO_ALERT    0x00000010
#define FILE_SYNCHRONOUS_IO_NONALERT 0x00000020
#define FILE_NON_DIRECTORY_FILE      0x00000040

typedef enum _FILE_INFORMATION_CLASS {
	FileDirectoryInformation = 1,
	FileBasicInformation = 4,
	FileStandardInformation = 5,
	FilePositionInformation = 14,
	FileEndOfFileInformation = 20
} FILE_INFORMATION_CLASS,
	*PFILE_INFORMATION_CLASS;

typedef struct _FILE_STANDARD_INFORMATION {
	LARGE_INTEGER AllocationSize;
	LARGE_INTEGER EndOfFile;
	ULONG NumberOfLinks;
	BOOLEAN DeletePending;
	BOOLEAN Directory;
} FILE_STANDARD_INFORMATION, *PFILE_STANDARD_INFORMATION;

NTKERNELAPI NTSTATUS NTAPI ZwCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
					POBJECT_ATTRIBUTES ObjectAttributes,
					PIO_STATUS_BLOCK IoStatusBlock,
					PLARGE_INTEGER AllocationSize, ULONG FileAttributes,
					ULONG ShareAccess, ULONG CreateDisposition,
					ULONG CreateOptions, PVOID EaBuffer, ULONG EaLength);
NTKERNELAPI NTSTATUS NTAPI ZwOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
				      POBJECT_ATTRIBUTES ObjectAttributes,
				      PIO_STATUS_BLOCK IoStatusBlock, ULONG ShareAccess,
				      ULONG OpenOptions);
NTKERNELAPI NTSTATUS NTAPI ZwReadFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
				      PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
				      PVOID Buffer, ULONG Length, PLARGE_INTEGER ByteOffset,
				      PULONG Key);
NTKERNELAPI NTSTATUS NTAPI ZwWriteFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
				       PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
				       PVOID Buffer, ULONG Length, PLARGE_INTEGER ByteOffset,
				       PULONG Key);
NTKERNELAPI NTSTATUS NTAPI ZwQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
						  PVOID FileInformation, ULONG Length,
						  FILE_INFORMATION_CLASS FileInformationClass);

typedef enum _SECTION_INHERIT { ViewShare = 1, ViewUnmap = 2 } SECTION_INHERIT;
#define SECTION_QUERY      0x0001
#define SECTION_MAP_WRITE  0x0002
#define SECTION_MAP_READ   0x0004
#define SECTION_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0x1F)

OPENDXGK_EXTERN_C_END

#endif
