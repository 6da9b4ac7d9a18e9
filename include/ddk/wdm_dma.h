/* SPDX-License-Identifier: MIT */
/*
 * wdm_dma.h - DMA adapters and scatter/gather lists.
 *
 * The bus of the host reaches all of its memory and translates nothing: a logical address is the
 * physical one, and there are no map registers to run out of. Devices are bus masters; there is no
 * system DMA controller.
 *
 * Part of wdm.h; not included by itself.
 */
#ifndef OPENDXGK_DDK_WDM_DMA_H
#define OPENDXGK_DDK_WDM_DMA_H

#include "wdm_io.h"

OPENDXGK_EXTERN_C_BEGIN

typedef enum _DMA_WIDTH {
	Width8Bits,
	Width16Bits,
	Width32Bits,
	Width64Bits,
	WidthNoWrap,
	MaximumDmaWidth
} DMA_WIDTH,
	*PDMA_WIDTH;

typedef enum _DMA_SPEED { Compatible, TypeA, TypeB, TypeC, TypeF, MaximumDmaSpeed } DMA_SPEED,
	*PDMA_SPEED;

#define DEVICE_DESCRIPTION_VERSION  0
#define DEVICE_DESCRIPTION_VERSION1 1
#define DEVICE_DESCRIPTION_VERSION2 2
#define DEVICE_DESCRIPTION_VERSION3 3

typedef struct _DEVICE_DESCRIPTION {
	ULONG Version;
	BOOLEAN Master;
	BOOLEAN ScatterGather;
	BOOLEAN DemandMode;
	BOOLEAN AutoInitialize;
	BOOLEAN Dma32BitAddresses;
	BOOLEAN IgnoreCount;
	BOOLEAN Reserved1;
	BOOLEAN Dma64BitAddresses;
	ULONG BusNumber;
	ULONG DmaChannel;
	INTERFACE_TYPE InterfaceType;
	DMA_WIDTH DmaWidth;
	DMA_SPEED DmaSpeed;
	ULONG MaximumLength;
	ULONG DmaPort;
	/* From DEVICE_DESCRIPTION_VERSION3 on. */
	ULONG DmaAddressWidth;
	ULONG DmaControllerInstance;
	ULONG DmaRequestLine;
	PHYSICAL_ADDRESS DeviceAddress;
} DEVICE_DESCRIPTION, *PDEVICE_DESCRIPTION;

typedef struct _SCATTER_GATHER_ELEMENT {
	PHYSICAL_ADDRESS Address;
	ULONG Length;
	ULONG_PTR Reserved;
} SCATTER_GATHER_ELEMENT, *PSCATTER_GATHER_ELEMENT;

typedef struct _SCATTER_GATHER_LIST {
	ULONG NumberOfElements;
	ULONG_PTR Reserved;
	SCATTER_GATHER_ELEMENT Elements[0]; /* NumberOfElements */
} SCATTER_GATHER_LIST, *PSCATTER_GATHER_LIST;

typedef struct _DMA_OPERATIONS *PDMA_OPERATIONS;

typedef struct _DMA_ADAPTER {
	USHORT Version;
	USHORT Size;
	PDMA_OPERATIONS DmaOperations;
} DMA_ADAPTER, *PDMA_ADAPTER;
typedef PDMA_ADAPTER PADAPTER_OBJECT;

typedef enum _IO_ALLOCATION_ACTION {
	KeepObject = 1,
	DeallocateObject,
	DeallocateObjectKeepRegisters
} IO_ALLOCATION_ACTION,
	*PIO_ALLOCATION_ACTION;

typedef IO_ALLOCATION_ACTION NTAPI DRIVER_CONTROL(PDEVICE_OBJECT DeviceObject, PIRP Irp,
						  PVOID MapRegisterBase, PVOID Context);
typedef DRIVER_CONTROL *PDRIVER_CONTROL;
typedef VOID NTAPI DRIVER_LIST_CONTROL(PDEVICE_OBJECT DeviceObject, PIRP Irp,
				       PSCATTER_GATHER_LIST ScatterGather, PVOID Context);
typedef DRIVER_LIST_CONTROL *PDRIVER_LIST_CONTROL;

typedef VOID(NTAPI *PPUT_DMA_ADAPTER)(PDMA_ADAPTER DmaAdapter);
typedef PVOID(NTAPI *PALLOCATE_COMMON_BUFFER)(PDMA_ADAPTER DmaAdapter, ULONG Length,
					      PPHYSICAL_ADDRESS LogicalAddress,
					      BOOLEAN CacheEnabled);
typedef VOID(NTAPI *PFREE_COMMON_BUFFER)(PDMA_ADAPTER DmaAdapter, ULONG Length,
					 PHYSICAL_ADDRESS LogicalAddress, PVOID VirtualAddress,
					 BOOLEAN CacheEnabled);
typedef NTSTATUS(NTAPI *PALLOCATE_ADAPTER_CHANNEL)(PDMA_ADAPTER DmaAdapter,
						   PDEVICE_OBJECT DeviceObject,
						   ULONG NumberOfMapRegisters,
						   PDRIVER_CONTROL ExecutionRoutine, PVOID Context);
typedef BOOLEAN(NTAPI *PFLUSH_ADAPTER_BUFFERS)(PDMA_ADAPTER DmaAdapter, PMDL Mdl,
					       PVOID MapRegisterBase, PVOID CurrentVa, ULONG Length,
					       BOOLEAN WriteToDevice);
typedef VOID(NTAPI *PFREE_ADAPTER_CHANNEL)(PDMA_ADAPTER DmaAdapter);
typedef VOID(NTAPI *PFREE_MAP_REGISTERS)(PDMA_ADAPTER DmaAdapter, PVOID MapRegisterBase,
					 ULONG NumberOfMapRegisters);
typedef PHYSICAL_ADDRESS(NTAPI *PMAP_TRANSFER)(PDMA_ADAPTER DmaAdapter, PMDL Mdl,
					       PVOID MapRegisterBase, PVOID CurrentVa,
					       PULONG Length, BOOLEAN WriteToDevice);
typedef ULONG(NTAPI *PGET_DMA_ALIGNMENT)(PDMA_ADAPTER DmaAdapter);
typedef ULONG(NTAPI *PREAD_DMA_COUNTER)(PDMA_ADAPTER DmaAdapter);
typedef NTSTATUS(NTAPI *PGET_SCATTER_GATHER_LIST)(PDMA_ADAPTER DmaAdapter,
						  PDEVICE_OBJECT DeviceObject, PMDL Mdl,
						  PVOID CurrentVa, ULONG Length,
						  PDRIVER_LIST_CONTROL ExecutionRoutine,
						  PVOID Context, BOOLEAN WriteToDevice);
typedef VOID(NTAPI *PPUT_SCATTER_GATHER_LIST)(PDMA_ADAPTER DmaAdapter,
					      PSCATTER_GATHER_LIST ScatterGather,
					      BOOLEAN WriteToDevice);
typedef NTSTATUS(NTAPI *PCALCULATE_SCATTER_GATHER_LIST_SIZE)(PDMA_ADAPTER DmaAdapter, PMDL Mdl,
							     PVOID CurrentVa, ULONG Length,
							     PULONG ScatterGatherListSize,
							     PULONG pNumberOfMapRegisters);
typedef NTSTATUS(NTAPI *PBUILD_SCATTER_GATHER_LIST)(PDMA_ADAPTER DmaAdapter,
						    PDEVICE_OBJECT DeviceObject, PMDL Mdl,
						    PVOID CurrentVa, ULONG Length,
						    PDRIVER_LIST_CONTROL ExecutionRoutine,
						    PVOID Context, BOOLEAN WriteToDevice,
						    PVOID ScatterGatherBuffer,
						    ULONG ScatterGatherLength);
typedef NTSTATUS(NTAPI *PBUILD_MDL_FROM_SCATTER_GATHER_LIST)(PDMA_ADAPTER DmaAdapter,
							     PSCATTER_GATHER_LIST ScatterGather,
							     PMDL OriginalMdl, PMDL *TargetMdl);

/* The operations of DEVICE_DESCRIPTION_VERSION2, which are also those of the versions before. */
typedef struct _DMA_OPERATIONS {
	ULONG Size;
	PPUT_DMA_ADAPTER PutDmaAdapter;
	PALLOCATE_COMMON_BUFFER AllocateCommonBuffer;
	PFREE_COMMON_BUFFER FreeCommonBuffer;
	PALLOCATE_ADAPTER_CHANNEL AllocateAdapterChannel;
	PFLUSH_ADAPTER_BUFFERS FlushAdapterBuffers;
	PFREE_ADAPTER_CHANNEL FreeAdapterChannel;
	PFREE_MAP_REGISTERS FreeMapRegisters;
	PMAP_TRANSFER MapTransfer;
	PGET_DMA_ALIGNMENT GetDmaAlignment;
	PREAD_DMA_COUNTER ReadDmaCounter;
	PGET_SCATTER_GATHER_LIST GetScatterGatherList;
	PPUT_SCATTER_GATHER_LIST PutScatterGatherList;
	PCALCULATE_SCATTER_GATHER_LIST_SIZE CalculateScatterGatherList;
	PBUILD_SCATTER_GATHER_LIST BuildScatterGatherList;
	PBUILD_MDL_FROM_SCATTER_GATHER_LIST BuildMdlFromScatterGatherList;
} DMA_OPERATIONS;

/* NULL when the host cannot do what the description asks for; it says why in a report. */
NTKERNELAPI PDMA_ADAPTER NTAPI IoGetDmaAdapter(PDEVICE_OBJECT PhysicalDeviceObject,
					       PDEVICE_DESCRIPTION DeviceDescription,
					       PULONG NumberOfMapRegisters);

/* Caches see what devices write here. */
#define KeFlushIoBuffers(mdl, read, dma) ((void)(mdl), (void)(read), (void)(dma))

OPENDXGK_EXTERN_C_END

#endif
