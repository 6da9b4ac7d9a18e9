/* SPDX-License-Identifier: MIT */
/*
 * wdm_io.h - the Io routines and what drivers are described with: driver and device objects, IRPs,
 * resources, interfaces, power states, PCI, and access to registers and ports.
 *
 * A display miniport sees little of this: the host owns the device stack and sends it no IRPs.
 * The structs are the Windows ones because drivers are handed pointers to them.
 *
 * Part of wdm.h; not included by itself.
 */
#ifndef OPENDXGK_DDK_WDM_IO_H
#define OPENDXGK_DDK_WDM_IO_H

#include "wdm_ex.h"
#include "wdm_mm.h"
#include "wdm_pci.h"
#include "wdm_ps.h"

OPENDXGK_EXTERN_C_BEGIN

struct _DEVICE_OBJECT;
struct _DRIVER_OBJECT;
struct _FILE_OBJECT;
struct _IRP;
struct _IO_STACK_LOCATION;
struct _DMA_ADAPTER;
struct _DEVICE_DESCRIPTION;

/* Power. */

typedef enum _SYSTEM_POWER_STATE {
	PowerSystemUnspecified,
	PowerSystemWorking,
	PowerSystemSleeping1,
	PowerSystemSleeping2,
	PowerSystemSleeping3,
	PowerSystemHibernate,
	PowerSystemShutdown,
	PowerSystemMaximum
} SYSTEM_POWER_STATE,
	*PSYSTEM_POWER_STATE;

typedef enum {
	PowerActionNone,
	PowerActionReserved,
	PowerActionSleep,
	PowerActionHibernate,
	PowerActionShutdown,
	PowerActionShutdownReset,
	PowerActionShutdownOff,
	PowerActionWarmEject,
	PowerActionDisplayOff
} POWER_ACTION,
	*PPOWER_ACTION;

typedef enum _DEVICE_POWER_STATE {
	PowerDeviceUnspecified,
	PowerDeviceD0,
	PowerDeviceD1,
	PowerDeviceD2,
	PowerDeviceD3,
	PowerDeviceMaximum
} DEVICE_POWER_STATE,
	*PDEVICE_POWER_STATE;

typedef enum _POWER_STATE_TYPE { SystemPowerState, DevicePowerState } POWER_STATE_TYPE;

typedef union _POWER_STATE {
	SYSTEM_POWER_STATE SystemState;
	DEVICE_POWER_STATE DeviceState;
} POWER_STATE, *PPOWER_STATE;

/* Buses and resources. */

typedef enum _INTERFACE_TYPE {
	InterfaceTypeUndefined = -1,
	Internal,
	Isa,
	Eisa,
	MicroChannel,
	TurboChannel,
	PCIBus,
	VMEBus,
	NuBus,
	PCMCIABus,
	CBus,
	MPIBus,
	MPSABus,
	ProcessorInternal,
	InternalPowerBus,
	PNPISABus,
	PNPBus,
	Vmcs,
	ACPIBus,
	MaximumInterfaceType
} INTERFACE_TYPE,
	*PINTERFACE_TYPE;

typedef enum _BUS_DATA_TYPE {
	ConfigurationSpaceUndefined = -1,
	Cmos,
	EisaConfiguration,
	Pos,
	CbusConfiguration,
	PCIConfiguration
} BUS_DATA_TYPE,
	*PBUS_DATA_TYPE;

#define CmResourceTypeNull           0
#define CmResourceTypePort           1
#define CmResourceTypeInterrupt      2
#define CmResourceTypeMemory         3
#define CmResourceTypeDma            4
#define CmResourceTypeDeviceSpecific 5
#define CmResourceTypeBusNumber      6
#define CmResourceTypeMemoryLarge    7
#define CmResourceTypeNonArbitrated  128
#define CmResourceTypeConfigData     128
#define CmResourceTypeDevicePrivate  129
#define CmResourceTypeConnection     132

#define CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE 0
#define CM_RESOURCE_INTERRUPT_LATCHED         1
#define CM_RESOURCE_INTERRUPT_MESSAGE         2
#define CM_RESOURCE_MEMORY_READ_WRITE         0x0000
#define CM_RESOURCE_MEMORY_READ_ONLY          0x0001
#define CM_RESOURCE_MEMORY_WRITE_ONLY         0x0002
#define CM_RESOURCE_MEMORY_PREFETCHABLE       0x0004
#define CM_RESOURCE_MEMORY_COMBINEDWRITE      0x0008
#define CM_RESOURCE_MEMORY_24                 0x0010
#define CM_RESOURCE_MEMORY_CACHEABLE          0x0020
#define CM_RESOURCE_MEMORY_BAR                0x0080
#define CM_RESOURCE_MEMORY_LARGE              0x0E00
#define CM_RESOURCE_MEMORY_LARGE_40           0x0200
#define CM_RESOURCE_MEMORY_LARGE_48           0x0400
#define CM_RESOURCE_MEMORY_LARGE_64           0x0800
#define CM_RESOURCE_PORT_MEMORY               0x0000
#define CM_RESOURCE_PORT_IO                   0x0001
#define CM_RESOURCE_PORT_BAR                  0x0100

#define CM_RESOURCE_CONNECTION_CLASS_GPIO            0x01
#define CM_RESOURCE_CONNECTION_CLASS_SERIAL          0x02
#define CM_RESOURCE_CONNECTION_CLASS_FUNCTION_CONFIG 0x03
#define CM_RESOURCE_CONNECTION_TYPE_GPIO_IO          0x02
#define CM_RESOURCE_CONNECTION_TYPE_SERIAL_I2C       0x01
#define CM_RESOURCE_CONNECTION_TYPE_SERIAL_SPI       0x02
#define CM_RESOURCE_CONNECTION_TYPE_SERIAL_UART      0x03
#define CM_RESOURCE_CONNECTION_TYPE_FUNCTION_CONFIG  0x01

typedef enum _CM_SHARE_DISPOSITION {
	CmResourceShareUndetermined,
	CmResourceShareDeviceExclusive,
	CmResourceShareDriverExclusive,
	CmResourceShareShared
} CM_SHARE_DISPOSITION;

#pragma pack(push, 4)
typedef struct _CM_PARTIAL_RESOURCE_DESCRIPTOR {
	UCHAR Type;
	UCHAR ShareDisposition;
	USHORT Flags;
	union {
		struct {
			PHYSICAL_ADDRESS Start;
			ULONG Length;
		} Generic, Port, Memory;
		struct {
			ULONG Level;
			ULONG Vector;
			KAFFINITY Affinity;
		} Interrupt;
		struct {
			_ANONYMOUS_UNION union {
				struct {
					USHORT Reserved;
					USHORT MessageCount;
					ULONG Vector;
					KAFFINITY Affinity;
				} Raw;
				struct {
					ULONG Level;
					ULONG Vector;
					KAFFINITY Affinity;
				} Translated;
			};
		} MessageInterrupt;
		struct {
			ULONG Channel;
			ULONG Port;
			ULONG Reserved1;
		} Dma;
		struct {
			ULONG Data[3];
		} DevicePrivate;
		struct {
			ULONG Start;
			ULONG Length;
			ULONG Reserved;
		} BusNumber;
		struct {
			ULONG DataSize;
			ULONG Reserved1;
			ULONG Reserved2;
		} DeviceSpecificData;
		struct {
			PHYSICAL_ADDRESS Start;
			ULONG Length40;
		} Memory40;
		struct {
			PHYSICAL_ADDRESS Start;
			ULONG Length48;
		} Memory48;
		struct {
			PHYSICAL_ADDRESS Start;
			ULONG Length64;
		} Memory64;
		struct {
			UCHAR Class;
			UCHAR Type;
			UCHAR Reserved1;
			UCHAR Reserved2;
			ULONG IdLowPart;
			ULONG IdHighPart;
		} Connection;
	} u;
} CM_PARTIAL_RESOURCE_DESCRIPTOR, *PCM_PARTIAL_RESOURCE_DESCRIPTOR;
#pragma pack(pop)

typedef struct _CM_PARTIAL_RESOURCE_LIST {
	USHORT Version;
	USHORT Revision;
	ULONG Count;
	CM_PARTIAL_RESOURCE_DESCRIPTOR PartialDescriptors[1];
} CM_PARTIAL_RESOURCE_LIST, *PCM_PARTIAL_RESOURCE_LIST;

typedef struct _CM_FULL_RESOURCE_DESCRIPTOR {
	INTERFACE_TYPE InterfaceType;
	ULONG BusNumber;
	CM_PARTIAL_RESOURCE_LIST PartialResourceList;
} CM_FULL_RESOURCE_DESCRIPTOR, *PCM_FULL_RESOURCE_DESCRIPTOR;

typedef struct _CM_RESOURCE_LIST {
	ULONG Count;
	CM_FULL_RESOURCE_DESCRIPTOR List[1];
} CM_RESOURCE_LIST, *PCM_RESOURCE_LIST;

/*
 * Ranges of memory and ports, whichever of the three encodings they have. Decoding gives 0 for
 * anything else; encoding STATUS_UNSUCCESSFUL for a length that the type cannot say.
 */
NTKERNELAPI ULONGLONG NTAPI RtlCmDecodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor,
						     PULONGLONG Start);
NTKERNELAPI NTSTATUS NTAPI RtlCmEncodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor,
						    UCHAR Type, ULONGLONG Length, ULONGLONG Start);

/* Interfaces that one driver asks of another. */

typedef VOID NTAPI INTERFACE_REFERENCE(PVOID Context);
typedef INTERFACE_REFERENCE *PINTERFACE_REFERENCE;
typedef VOID NTAPI INTERFACE_DEREFERENCE(PVOID Context);
typedef INTERFACE_DEREFERENCE *PINTERFACE_DEREFERENCE;

typedef struct _INTERFACE {
	USHORT Size;
	USHORT Version;
	PVOID Context;
	PINTERFACE_REFERENCE InterfaceReference;
	PINTERFACE_DEREFERENCE InterfaceDereference;
} INTERFACE, *PINTERFACE;

typedef BOOLEAN NTAPI TRANSLATE_BUS_ADDRESS(PVOID Context, PHYSICAL_ADDRESS BusAddress,
					    ULONG Length, PULONG AddressSpace,
					    PPHYSICAL_ADDRESS TranslatedAddress);
typedef TRANSLATE_BUS_ADDRESS *PTRANSLATE_BUS_ADDRESS;
typedef struct _DMA_ADAPTER *NTAPI GET_DMA_ADAPTER(PVOID Context,
						   struct _DEVICE_DESCRIPTION *DeviceDescriptor,
						   PULONG NumberOfMapRegisters);
typedef GET_DMA_ADAPTER *PGET_DMA_ADAPTER;
typedef ULONG NTAPI GET_SET_DEVICE_DATA(PVOID Context, ULONG DataType, PVOID Buffer, ULONG Offset,
					ULONG Length);
typedef GET_SET_DEVICE_DATA *PGET_SET_DEVICE_DATA;

typedef struct _BUS_INTERFACE_STANDARD {
	USHORT Size;
	USHORT Version;
	PVOID Context;
	PINTERFACE_REFERENCE InterfaceReference;
	PINTERFACE_DEREFERENCE InterfaceDereference;
	PTRANSLATE_BUS_ADDRESS TranslateBusAddress;
	PGET_DMA_ADAPTER GetDmaAdapter;
	PGET_SET_DEVICE_DATA SetBusData;
	PGET_SET_DEVICE_DATA GetBusData;
} BUS_INTERFACE_STANDARD, *PBUS_INTERFACE_STANDARD;

DEFINE_GUID(GUID_BUS_INTERFACE_STANDARD, 0x496B8280, 0x6F25, 0x11D0, 0xBE, 0xAF, 0x08, 0x00, 0x2B,
	    0xE2, 0x09, 0x2F);

/* Device and driver objects. */

#define FILE_DEVICE_CONTROLLER         0x00000004
#define FILE_DEVICE_UNKNOWN            0x00000022
#define FILE_DEVICE_VIDEO              0x00000023
#define FILE_DEVICE_ACPI               0x00000032
#define FILE_DEVICE_SECURE_OPEN        0x00000100
#define FILE_AUTOGENERATED_DEVICE_NAME 0x00000080
#define METHOD_BUFFERED                0
#define METHOD_IN_DIRECT               1
#define METHOD_OUT_DIRECT              2
#define METHOD_NEITHER                 3
#define CTL_CODE(type, function, method, access)                                                   \
	(((type) << 16) | ((access) << 14) | ((function) << 2) | (method))

typedef ULONG DEVICE_TYPE;

#define DO_BUFFERED_IO         0x00000004
#define DO_EXCLUSIVE           0x00000008
#define DO_DIRECT_IO           0x00000010
#define DO_POWER_PAGABLE       0x00002000
#define DO_DEVICE_INITIALIZING 0x00000080

#define IRP_MJ_CREATE                  0x00
#define IRP_MJ_CREATE_NAMED_PIPE       0x01
#define IRP_MJ_CLOSE                   0x02
#define IRP_MJ_READ                    0x03
#define IRP_MJ_WRITE                   0x04
#define IRP_MJ_QUERY_INFORMATION       0x05
#define IRP_MJ_SET_INFORMATION         0x06
#define IRP_MJ_FLUSH_BUFFERS           0x09
#define IRP_MJ_DEVICE_CONTROL          0x0e
#define IRP_MJ_INTERNAL_DEVICE_CONTROL 0x0f
#define IRP_MJ_SHUTDOWN                0x10
#define IRP_MJ_CLEANUP                 0x12
#define IRP_MJ_POWER                   0x16
#define IRP_MJ_SYSTEM_CONTROL          0x17
#define IRP_MJ_PNP                     0x1b
#define IRP_MJ_MAXIMUM_FUNCTION        0x1b

#define IRP_MN_START_DEVICE                 0x00
#define IRP_MN_QUERY_REMOVE_DEVICE          0x01
#define IRP_MN_REMOVE_DEVICE                0x02
#define IRP_MN_CANCEL_REMOVE_DEVICE         0x03
#define IRP_MN_STOP_DEVICE                  0x04
#define IRP_MN_QUERY_STOP_DEVICE            0x05
#define IRP_MN_CANCEL_STOP_DEVICE           0x06
#define IRP_MN_QUERY_DEVICE_RELATIONS       0x07
#define IRP_MN_QUERY_INTERFACE              0x08
#define IRP_MN_QUERY_CAPABILITIES           0x09
#define IRP_MN_QUERY_RESOURCES              0x0A
#define IRP_MN_QUERY_RESOURCE_REQUIREMENTS  0x0B
#define IRP_MN_QUERY_DEVICE_TEXT            0x0C
#define IRP_MN_FILTER_RESOURCE_REQUIREMENTS 0x0D
#define IRP_MN_READ_CONFIG                  0x0F
#define IRP_MN_WRITE_CONFIG                 0x10
#define IRP_MN_QUERY_ID                     0x13
#define IRP_MN_QUERY_PNP_DEVICE_STATE       0x14
#define IRP_MN_QUERY_BUS_INFORMATION        0x15
#define IRP_MN_SURPRISE_REMOVAL             0x17

typedef struct _KDEVICE_QUEUE_ENTRY {
	LIST_ENTRY DeviceListEntry;
	ULONG SortKey;
	BOOLEAN Inserted;
} KDEVICE_QUEUE_ENTRY, *PKDEVICE_QUEUE_ENTRY;

typedef struct _KDEVICE_QUEUE {
	CSHORT Type;
	CSHORT Size;
	LIST_ENTRY DeviceListHead;
	KSPIN_LOCK Lock;
	_ANONYMOUS_UNION union {
		BOOLEAN Busy;
		_ANONYMOUS_STRUCT struct {
			LONG64 Reserved : 8;
			LONG64 Hint : 56;
		};
	};
} KDEVICE_QUEUE, *PKDEVICE_QUEUE;

typedef struct _WAIT_CONTEXT_BLOCK {
	KDEVICE_QUEUE_ENTRY WaitQueueEntry;
	PVOID DeviceRoutine;
	PVOID DeviceContext;
	ULONG NumberOfMapRegisters;
	PVOID DeviceObject;
	PVOID CurrentIrp;
	PKDPC BufferChainingDpc;
} WAIT_CONTEXT_BLOCK, *PWAIT_CONTEXT_BLOCK;

typedef struct _DEVICE_OBJECT {
	CSHORT Type;
	USHORT Size;
	LONG ReferenceCount;
	struct _DRIVER_OBJECT *DriverObject;
	struct _DEVICE_OBJECT *NextDevice;
	struct _DEVICE_OBJECT *AttachedDevice;
	struct _IRP *CurrentIrp;
	struct _IO_TIMER *Timer;
	ULONG Flags;
	ULONG Characteristics;
	struct _VPB *volatile Vpb;
	PVOID DeviceExtension;
	DEVICE_TYPE DeviceType;
	CCHAR StackSize;
	union {
		LIST_ENTRY ListEntry;
		WAIT_CONTEXT_BLOCK Wcb;
	} Queue;
	ULONG AlignmentRequirement;
	KDEVICE_QUEUE DeviceQueue;
	KDPC Dpc;
	ULONG ActiveThreadCount;
	PSECURITY_DESCRIPTOR SecurityDescriptor;
	KEVENT DeviceLock;
	USHORT SectorSize;
	USHORT Spare1;
	struct _DEVOBJ_EXTENSION *DeviceObjectExtension;
	PVOID Reserved;
} DECLSPEC_ALIGN(MEMORY_ALLOCATION_ALIGNMENT) DEVICE_OBJECT, *PDEVICE_OBJECT;

typedef NTSTATUS NTAPI DRIVER_INITIALIZE(struct _DRIVER_OBJECT *DriverObject,
					 PUNICODE_STRING RegistryPath);
typedef DRIVER_INITIALIZE *PDRIVER_INITIALIZE;
/* What the host looks for in a driver image, so it is visible whatever else the driver hides. */
DECLSPEC_EXPORT DRIVER_INITIALIZE DriverEntry;
typedef VOID NTAPI DRIVER_UNLOAD(struct _DRIVER_OBJECT *DriverObject);
typedef DRIVER_UNLOAD *PDRIVER_UNLOAD;
typedef NTSTATUS NTAPI DRIVER_ADD_DEVICE(struct _DRIVER_OBJECT *DriverObject,
					 struct _DEVICE_OBJECT *PhysicalDeviceObject);
typedef DRIVER_ADD_DEVICE *PDRIVER_ADD_DEVICE;
typedef NTSTATUS NTAPI DRIVER_DISPATCH(struct _DEVICE_OBJECT *DeviceObject, struct _IRP *Irp);
typedef DRIVER_DISPATCH *PDRIVER_DISPATCH;
typedef VOID NTAPI DRIVER_STARTIO(struct _DEVICE_OBJECT *DeviceObject, struct _IRP *Irp);
typedef DRIVER_STARTIO *PDRIVER_STARTIO;
typedef VOID NTAPI DRIVER_CANCEL(struct _DEVICE_OBJECT *DeviceObject, struct _IRP *Irp);
typedef DRIVER_CANCEL *PDRIVER_CANCEL;

typedef struct _DRIVER_EXTENSION {
	struct _DRIVER_OBJECT *DriverObject;
	PDRIVER_ADD_DEVICE AddDevice;
	ULONG Count;
	UNICODE_STRING ServiceKeyName;
} DRIVER_EXTENSION, *PDRIVER_EXTENSION;

typedef struct _DRIVER_OBJECT {
	CSHORT Type;
	CSHORT Size;
	PDEVICE_OBJECT DeviceObject;
	ULONG Flags;
	PVOID DriverStart;
	ULONG DriverSize;
	PVOID DriverSection;
	PDRIVER_EXTENSION DriverExtension;
	UNICODE_STRING DriverName;
	PUNICODE_STRING HardwareDatabase;
	struct _FAST_IO_DISPATCH *FastIoDispatch;
	PDRIVER_INITIALIZE DriverInit;
	PDRIVER_STARTIO DriverStartIo;
	PDRIVER_UNLOAD DriverUnload;
	PDRIVER_DISPATCH MajorFunction[IRP_MJ_MAXIMUM_FUNCTION + 1];
} DRIVER_OBJECT, *PDRIVER_OBJECT;

typedef struct _FILE_OBJECT {
	CSHORT Type;
	CSHORT Size;
	PDEVICE_OBJECT DeviceObject;
	struct _VPB *Vpb;
	PVOID FsContext;
	PVOID FsContext2;
	struct _SECTION_OBJECT_POINTERS *SectionObjectPointer;
	PVOID PrivateCacheMap;
	NTSTATUS FinalStatus;
	struct _FILE_OBJECT *RelatedFileObject;
	BOOLEAN LockOperation;
	BOOLEAN DeletePending;
	BOOLEAN ReadAccess;
	BOOLEAN WriteAccess;
	BOOLEAN DeleteAccess;
	BOOLEAN SharedRead;
	BOOLEAN SharedWrite;
	BOOLEAN SharedDelete;
	ULONG Flags;
	UNICODE_STRING FileName;
	LARGE_INTEGER CurrentByteOffset;
	volatile ULONG Waiters;
	volatile ULONG Busy;
	PVOID LastLock;
	KEVENT Lock;
	KEVENT Event;
	PVOID volatile CompletionContext;
	KSPIN_LOCK IrpListLock;
	LIST_ENTRY IrpList;
	PVOID volatile FileObjectExtension;
} FILE_OBJECT, *PFILE_OBJECT;

/* IRPs. */

typedef NTSTATUS NTAPI IO_COMPLETION_ROUTINE(struct _DEVICE_OBJECT *DeviceObject, struct _IRP *Irp,
					     PVOID Context);
typedef IO_COMPLETION_ROUTINE *PIO_COMPLETION_ROUTINE;

typedef struct _KAPC {
	UCHAR Type;
	UCHAR SpareByte0;
	UCHAR Size;
	UCHAR SpareByte1;
	ULONG SpareLong0;
	struct _KTHREAD *Thread;
	LIST_ENTRY ApcListEntry;
	PVOID KernelRoutine;
	PVOID RundownRoutine;
	PVOID NormalRoutine;
	PVOID NormalContext;
	PVOID SystemArgument1;
	PVOID SystemArgument2;
	CCHAR ApcStateIndex;
	KPROCESSOR_MODE ApcMode;
	BOOLEAN Inserted;
} KAPC, *PKAPC;

typedef struct DECLSPEC_ALIGN(MEMORY_ALLOCATION_ALIGNMENT) _IRP {
	CSHORT Type;
	USHORT Size;
	PMDL MdlAddress;
	ULONG Flags;
	union {
		struct _IRP *MasterIrp;
		volatile LONG IrpCount;
		PVOID SystemBuffer;
	} AssociatedIrp;
	LIST_ENTRY ThreadListEntry;
	IO_STATUS_BLOCK IoStatus;
	KPROCESSOR_MODE RequestorMode;
	BOOLEAN PendingReturned;
	CHAR StackCount;
	CHAR CurrentLocation;
	BOOLEAN Cancel;
	KIRQL CancelIrql;
	CCHAR ApcEnvironment;
	UCHAR AllocationFlags;
	PIO_STATUS_BLOCK UserIosb;
	PKEVENT UserEvent;
	union {
		struct {
			_ANONYMOUS_UNION union {
				PIO_APC_ROUTINE UserApcRoutine;
				PVOID IssuingProcess;
			};
			PVOID UserApcContext;
		} AsynchronousParameters;
		LARGE_INTEGER AllocationSize;
	} Overlay;
	PDRIVER_CANCEL volatile CancelRoutine;
	PVOID UserBuffer;
	union {
		struct {
			_ANONYMOUS_UNION union {
				KDEVICE_QUEUE_ENTRY DeviceQueueEntry;
				PVOID DriverContext[4];
			};
			PETHREAD Thread;
			PCHAR AuxiliaryBuffer;
			LIST_ENTRY ListEntry;
			_ANONYMOUS_UNION union {
				struct _IO_STACK_LOCATION *CurrentStackLocation;
				ULONG PacketType;
			};
			PFILE_OBJECT OriginalFileObject;
		} Overlay;
		KAPC Apc;
		PVOID CompletionKey;
	} Tail;
} IRP, *PIRP;

typedef struct _IO_STACK_LOCATION {
	UCHAR MajorFunction;
	UCHAR MinorFunction;
	UCHAR Flags;
	UCHAR Control;
	union {
		struct {
			PVOID SecurityContext;
			ULONG Options;
			USHORT POINTER_ALIGNMENT FileAttributes;
			USHORT ShareAccess;
			ULONG POINTER_ALIGNMENT EaLength;
		} Create;
		struct {
			ULONG Length;
			ULONG POINTER_ALIGNMENT Key;
			ULONG Flags;
			LARGE_INTEGER ByteOffset;
		} Read, Write;
		struct {
			ULONG OutputBufferLength;
			ULONG POINTER_ALIGNMENT InputBufferLength;
			ULONG POINTER_ALIGNMENT IoControlCode;
			PVOID Type3InputBuffer;
		} DeviceIoControl;
		struct {
			const GUID *InterfaceType;
			USHORT Size;
			USHORT Version;
			PINTERFACE Interface;
			PVOID InterfaceSpecificData;
		} QueryInterface;
		struct {
			ULONG WhichSpace;
			PVOID Buffer;
			ULONG Offset;
			ULONG POINTER_ALIGNMENT Length;
		} ReadWriteConfig;
		struct {
			ULONG SystemContext;
			POWER_STATE_TYPE POINTER_ALIGNMENT Type;
			POWER_STATE POINTER_ALIGNMENT State;
			POWER_ACTION POINTER_ALIGNMENT ShutdownType;
		} Power;
		struct {
			PCM_RESOURCE_LIST AllocatedResources;
			PCM_RESOURCE_LIST AllocatedResourcesTranslated;
		} StartDevice;
		struct {
			PVOID Argument1;
			PVOID Argument2;
			PVOID Argument3;
			PVOID Argument4;
		} Others;
	} Parameters;
	PDEVICE_OBJECT DeviceObject;
	PFILE_OBJECT FileObject;
	PIO_COMPLETION_ROUTINE CompletionRoutine;
	PVOID Context;
} IO_STACK_LOCATION, *PIO_STACK_LOCATION;

#define SL_PENDING_RETURNED  0x01
#define SL_INVOKE_ON_CANCEL  0x20
#define SL_INVOKE_ON_SUCCESS 0x40
#define SL_INVOKE_ON_ERROR   0x80

OPENDXGK_INLINE PIO_STACK_LOCATION IoGetCurrentIrpStackLocation(PIRP Irp)
{
	return Irp->Tail.Overlay.CurrentStackLocation;
}
OPENDXGK_INLINE PIO_STACK_LOCATION IoGetNextIrpStackLocation(PIRP Irp)
{
	return Irp->Tail.Overlay.CurrentStackLocation - 1;
}
OPENDXGK_INLINE VOID IoSetCompletionRoutine(PIRP Irp, PIO_COMPLETION_ROUTINE CompletionRoutine,
					    PVOID Context, BOOLEAN InvokeOnSuccess,
					    BOOLEAN InvokeOnError, BOOLEAN InvokeOnCancel)
{
	PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(Irp);

	next->CompletionRoutine = CompletionRoutine;
	next->Context = Context;
	next->Control = (UCHAR)((InvokeOnSuccess ? SL_INVOKE_ON_SUCCESS : 0) |
				(InvokeOnError ? SL_INVOKE_ON_ERROR : 0) |
				(InvokeOnCancel ? SL_INVOKE_ON_CANCEL : 0));
}

NTKERNELAPI NTSTATUS NTAPI IofCallDriver(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NTKERNELAPI VOID NTAPI IofCompleteRequest(PIRP Irp, CCHAR PriorityBoost);
NTKERNELAPI PIRP NTAPI IoBuildSynchronousFsdRequest(ULONG MajorFunction,
						    PDEVICE_OBJECT DeviceObject, PVOID Buffer,
						    ULONG Length, PLARGE_INTEGER StartingOffset,
						    PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock);
NTKERNELAPI PIRP NTAPI IoBuildDeviceIoControlRequest(ULONG IoControlCode,
						     PDEVICE_OBJECT DeviceObject, PVOID InputBuffer,
						     ULONG InputBufferLength, PVOID OutputBuffer,
						     ULONG OutputBufferLength,
						     BOOLEAN InternalDeviceIoControl, PKEVENT Event,
						     PIO_STATUS_BLOCK IoStatusBlock);
NTKERNELAPI PIRP NTAPI IoAllocateIrp(CCHAR StackSize, BOOLEAN ChargeQuota);
NTKERNELAPI VOID NTAPI IoFreeIrp(PIRP Irp);
#define IoCallDriver(device, irp)         IofCallDriver(device, irp)
#define IoCompleteRequest(irp, increment) IofCompleteRequest(irp, increment)

/* Objects, names, registry of a device. */

typedef enum {
	DevicePropertyDeviceDescription,
	DevicePropertyHardwareID,
	DevicePropertyCompatibleIDs,
	DevicePropertyBootConfiguration,
	DevicePropertyBootConfigurationTranslated,
	DevicePropertyClassName,
	DevicePropertyClassGuid,
	DevicePropertyDriverKeyName,
	DevicePropertyManufacturer,
	DevicePropertyFriendlyName,
	DevicePropertyLocationInformation,
	DevicePropertyPhysicalDeviceObjectName,
	DevicePropertyBusTypeGuid,
	DevicePropertyLegacyBusType,
	DevicePropertyBusNumber,
	DevicePropertyEnumeratorName,
	DevicePropertyAddress,
	DevicePropertyUINumber,
	DevicePropertyInstallState,
	DevicePropertyRemovalPolicy,
	DevicePropertyResourceRequirements,
	DevicePropertyAllocatedResources,
	DevicePropertyContainerID
} DEVICE_REGISTRY_PROPERTY;

#define PLUGPLAY_REGKEY_DEVICE            1
#define PLUGPLAY_REGKEY_DRIVER            2
#define PLUGPLAY_REGKEY_CURRENT_HWPROFILE 4

NTKERNELAPI NTSTATUS NTAPI IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject,
					       DEVICE_REGISTRY_PROPERTY DeviceProperty,
					       ULONG BufferLength, PVOID PropertyBuffer,
					       PULONG ResultLength);
NTKERNELAPI NTSTATUS NTAPI IoOpenDeviceRegistryKey(PDEVICE_OBJECT DeviceObject,
						   ULONG DevInstKeyType, ACCESS_MASK DesiredAccess,
						   PHANDLE DeviceRegKey);
NTKERNELAPI NTSTATUS NTAPI IoOpenDeviceInterfaceRegistryKey(PUNICODE_STRING SymbolicLinkName,
							    ACCESS_MASK DesiredAccess,
							    PHANDLE DeviceInterfaceRegKey);
NTKERNELAPI NTSTATUS NTAPI IoRegisterDeviceInterface(PDEVICE_OBJECT PhysicalDeviceObject,
						     const GUID *InterfaceClassGuid,
						     PUNICODE_STRING ReferenceString,
						     PUNICODE_STRING SymbolicLinkName);
NTKERNELAPI NTSTATUS NTAPI IoSetDeviceInterfaceState(PUNICODE_STRING SymbolicLinkName,
						     BOOLEAN Enable);
NTKERNELAPI PDEVICE_OBJECT NTAPI IoGetRelatedDeviceObject(PFILE_OBJECT FileObject);
NTKERNELAPI PDEVICE_OBJECT NTAPI IoGetAttachedDeviceReference(PDEVICE_OBJECT DeviceObject);
NTKERNELAPI NTSTATUS NTAPI IoGetDeviceObjectPointer(PUNICODE_STRING ObjectName,
						    ACCESS_MASK DesiredAccess,
						    PFILE_OBJECT *FileObject,
						    PDEVICE_OBJECT *DeviceObject);
NTKERNELAPI VOID NTAPI IoInvalidateDeviceState(PDEVICE_OBJECT PhysicalDeviceObject);
NTKERNELAPI PKEVENT NTAPI IoCreateNotificationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle);
NTKERNELAPI PKEVENT NTAPI IoCreateSynchronizationEvent(PUNICODE_STRING EventName,
						       PHANDLE EventHandle);
NTKERNELAPI BOOLEAN NTAPI IoIsWdmVersionAvailable(UCHAR MajorVersion, UCHAR MinorVersion);
NTKERNELAPI VOID NTAPI IoWriteErrorLogEntry(PVOID ElEntry);
NTKERNELAPI PVOID NTAPI IoAllocateErrorLogEntry(PVOID IoObject, UCHAR EntrySize);
NTKERNELAPI VOID NTAPI IoFreeErrorLogEntry(PVOID ElEntry);

/* MDLs. */

NTKERNELAPI PMDL NTAPI IoAllocateMdl(PVOID VirtualAddress, ULONG Length, BOOLEAN SecondaryBuffer,
				     BOOLEAN ChargeQuota, PIRP Irp);
NTKERNELAPI VOID NTAPI IoFreeMdl(PMDL Mdl);
NTKERNELAPI VOID NTAPI IoBuildPartialMdl(PMDL SourceMdl, PMDL TargetMdl, PVOID VirtualAddress,
					 ULONG Length);

/* Work items. */

typedef struct _IO_WORKITEM *PIO_WORKITEM;
typedef VOID NTAPI IO_WORKITEM_ROUTINE(struct _DEVICE_OBJECT *DeviceObject, PVOID Context);
typedef IO_WORKITEM_ROUTINE *PIO_WORKITEM_ROUTINE;
typedef VOID NTAPI IO_WORKITEM_ROUTINE_EX(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem);
typedef IO_WORKITEM_ROUTINE_EX *PIO_WORKITEM_ROUTINE_EX;

NTKERNELAPI PIO_WORKITEM NTAPI IoAllocateWorkItem(PDEVICE_OBJECT DeviceObject);
NTKERNELAPI VOID NTAPI IoFreeWorkItem(PIO_WORKITEM IoWorkItem);
NTKERNELAPI VOID NTAPI IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine,
				       WORK_QUEUE_TYPE QueueType, PVOID Context);
NTKERNELAPI VOID NTAPI IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem,
					 PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
					 WORK_QUEUE_TYPE QueueType, PVOID Context);

/*
 * Registers and ports. Registers are plain device-ordered memory accesses to what MmMapIoSpace or
 * DxgkCbMapMemory returned; ports have no address and go through the host.
 */
#define OPENDXGK_REGISTER_ACCESS(size, type)                                                       \
	OPENDXGK_INLINE type READ_REGISTER_##size(volatile type *Register)                         \
	{                                                                                          \
		type value = *Register;                                                            \
		__atomic_thread_fence(__ATOMIC_SEQ_CST);                                           \
		return value;                                                                      \
	}                                                                                          \
	OPENDXGK_INLINE VOID WRITE_REGISTER_##size(volatile type *Register, type Value)            \
	{                                                                                          \
		*Register = Value;                                                                 \
		__atomic_thread_fence(__ATOMIC_SEQ_CST);                                           \
	}                                                                                          \
	OPENDXGK_INLINE VOID READ_REGISTER_BUFFER_##size(volatile type *Register, type *Buffer,    \
							 ULONG Count)                              \
	{                                                                                          \
		while (Count--)                                                                    \
			*Buffer++ = *Register++;                                                   \
		__atomic_thread_fence(__ATOMIC_SEQ_CST);                                           \
	}                                                                                          \
	OPENDXGK_INLINE VOID WRITE_REGISTER_BUFFER_##size(volatile type *Register, type *Buffer,   \
							  ULONG Count)                             \
	{                                                                                          \
		while (Count--)                                                                    \
			*Register++ = *Buffer++;                                                   \
		__atomic_thread_fence(__ATOMIC_SEQ_CST);                                           \
	}

OPENDXGK_REGISTER_ACCESS(UCHAR, UCHAR)
OPENDXGK_REGISTER_ACCESS(USHORT, USHORT)
OPENDXGK_REGISTER_ACCESS(ULONG, ULONG)
OPENDXGK_REGISTER_ACCESS(ULONG64, ULONG64)

/*
 * The same in the order of the program only. Windows has these on ARM; elsewhere drivers bring their
 * own.
 */
#ifdef __aarch64__
#define OPENDXGK_REGISTER_NOFENCE(size, type)                                                      \
	OPENDXGK_INLINE type READ_REGISTER_NOFENCE_##size(volatile type *Register)                 \
	{                                                                                          \
		return *Register;                                                                  \
	}                                                                                          \
	OPENDXGK_INLINE VOID WRITE_REGISTER_NOFENCE_##size(volatile type *Register, type Value)    \
	{                                                                                          \
		*Register = Value;                                                                 \
	}

OPENDXGK_REGISTER_NOFENCE(UCHAR, UCHAR)
OPENDXGK_REGISTER_NOFENCE(USHORT, USHORT)
OPENDXGK_REGISTER_NOFENCE(ULONG, ULONG)
OPENDXGK_REGISTER_NOFENCE(ULONG64, ULONG64)
#endif

NTKERNELAPI UCHAR NTAPI READ_PORT_UCHAR(PUCHAR Port);
NTKERNELAPI USHORT NTAPI READ_PORT_USHORT(PUSHORT Port);
NTKERNELAPI ULONG NTAPI READ_PORT_ULONG(PULONG Port);
NTKERNELAPI VOID NTAPI READ_PORT_BUFFER_UCHAR(PUCHAR Port, PUCHAR Buffer, ULONG Count);
NTKERNELAPI VOID NTAPI READ_PORT_BUFFER_USHORT(PUSHORT Port, PUSHORT Buffer, ULONG Count);
NTKERNELAPI VOID NTAPI READ_PORT_BUFFER_ULONG(PULONG Port, PULONG Buffer, ULONG Count);
NTKERNELAPI VOID NTAPI WRITE_PORT_UCHAR(PUCHAR Port, UCHAR Value);
NTKERNELAPI VOID NTAPI WRITE_PORT_USHORT(PUSHORT Port, USHORT Value);
NTKERNELAPI VOID NTAPI WRITE_PORT_ULONG(PULONG Port, ULONG Value);
NTKERNELAPI VOID NTAPI WRITE_PORT_BUFFER_UCHAR(PUCHAR Port, PUCHAR Buffer, ULONG Count);
NTKERNELAPI VOID NTAPI WRITE_PORT_BUFFER_USHORT(PUSHORT Port, PUSHORT Buffer, ULONG Count);
NTKERNELAPI VOID NTAPI WRITE_PORT_BUFFER_ULONG(PULONG Port, PULONG Buffer, ULONG Count);

OPENDXGK_EXTERN_C_END

#endif
