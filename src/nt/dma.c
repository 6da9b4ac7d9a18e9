/* SPDX-License-Identifier: MIT */
/*
 * dma.c - DMA adapters: what a bus master may know about the memory it is pointed at.
 *
 * Logical addresses are physical ones, so nothing is mapped and nothing is copied: a list is the
 * frames of the MDL, neighbours joined, and a request is granted on the spot. Memory that is not the
 * machine's (pool, stacks, a client's own) appears with the addresses that MmGetPhysicalAddress
 * gives it, which no device can use.
 *
 * An adapter belongs to the driver that got it, and is counted in its pool until it is put back.
 */
#include <stdint.h>

#include <ddk/wdm.h>

#include "base/checked.h"
#include "nt/irql.h"
#include "nt/pool.h"
#include "nt/report.h"

#define DMA_TAG 0x20616d44 /* "Dma " */

/* What a driver that asks for one gets: it has to be something to hand back. */
#define MAP_REGISTER_BASE ((PVOID)(uintptr_t)1)

struct dma_adapter {
	DMA_ADAPTER adapter;
	LONGLONG highest_address;
};

static struct dma_adapter *dma_from_adapter(PDMA_ADAPTER adapter)
{
	return (struct dma_adapter *)(void *)adapter;
}

/* Walking an MDL chain. */

struct dma_walk {
	PMDL mdl;
	uint64_t offset; /* from the start of that MDL's memory */
	uint64_t left;
};

/* False when the chain ends before CurrentVa + Length. */
static bool dma_walk_begin(struct dma_walk *walk, PMDL mdl, PVOID current_va, ULONG length)
{
	uint64_t start = (uintptr_t)MmGetMdlVirtualAddress(mdl);
	uint64_t covered = 0;

	if ((uintptr_t)current_va < start || (uintptr_t)current_va - start >= mdl->ByteCount)
		return false;
	*walk = (struct dma_walk){ mdl, (uintptr_t)current_va - start, length };
	for (PMDL each = mdl; each; each = each->Next)
		covered += each->ByteCount;
	return length > 0 && covered - walk->offset >= length;
}

/* The next piece of memory that lies in one row, in bytes; 0 at the end. */
static uint64_t dma_walk_next(struct dma_walk *walk, uint64_t *address_out)
{
	uint64_t bytes = 0;

	while (walk->left > 0) {
		if (walk->offset == walk->mdl->ByteCount) {
			walk->mdl = walk->mdl->Next;
			walk->offset = 0;
			continue;
		}
		uint64_t in_frames = walk->mdl->ByteOffset + walk->offset;
		uint64_t address =
			(MmGetMdlPfnArray(walk->mdl)[in_frames >> PAGE_SHIFT] << PAGE_SHIFT) |
			(in_frames & PAGE_MASK);
		if (bytes > 0 && address != *address_out + bytes)
			break;
		uint64_t part = lower_of(PAGE_SIZE - (in_frames & PAGE_MASK),
					 lower_of(walk->mdl->ByteCount - walk->offset, walk->left));
		if (bytes == 0)
			*address_out = address;
		bytes += part;
		walk->offset += part;
		walk->left -= part;
	}
	return bytes;
}

static ULONG dma_list_bytes(ULONG elements)
{
	return (ULONG)(sizeof(SCATTER_GATHER_LIST) + elements * sizeof(SCATTER_GATHER_ELEMENT));
}

static ULONG dma_count(struct dma_walk walk)
{
	uint64_t address;
	ULONG count = 0;

	while (dma_walk_next(&walk, &address) > 0)
		count++;
	return count;
}

static void dma_fill(PSCATTER_GATHER_LIST list, struct dma_walk walk)
{
	uint64_t address;
	uint64_t bytes;

	list->NumberOfElements = 0;
	list->Reserved = 0;
	while ((bytes = dma_walk_next(&walk, &address)) > 0)
		list->Elements[list->NumberOfElements++] = (SCATTER_GATHER_ELEMENT){
			.Address = { .QuadPart = (LONGLONG)address },
			.Length = (ULONG)bytes,
		};
}

static void dma_require_dispatch(const char *routine)
{
	if (KeGetCurrentIrql() != DISPATCH_LEVEL)
		nt_report(RULE_NT_DMA, "%s was called at %s, and wants DISPATCH_LEVEL", routine,
			  nt_irql_name(KeGetCurrentIrql()));
}

/* The operations. */

static PVOID dma_allocate_common_buffer(PDMA_ADAPTER DmaAdapter, ULONG Length,
					PPHYSICAL_ADDRESS LogicalAddress, BOOLEAN CacheEnabled)
{
	PHYSICAL_ADDRESS highest = { .QuadPart = dma_from_adapter(DmaAdapter)->highest_address };

	nt_irql_require(PASSIVE_LEVEL, "AllocateCommonBuffer");
	PVOID buffer = MmAllocateContiguousMemory(Length, highest);
	if (buffer)
		*LogicalAddress = MmGetPhysicalAddress(buffer);
	return buffer;
}

static VOID dma_free_common_buffer(PDMA_ADAPTER DmaAdapter, ULONG Length,
				   PHYSICAL_ADDRESS LogicalAddress, PVOID VirtualAddress,
				   BOOLEAN CacheEnabled)
{
	nt_irql_require(PASSIVE_LEVEL, "FreeCommonBuffer");
	if (MmGetPhysicalAddress(VirtualAddress).QuadPart != LogicalAddress.QuadPart)
		nt_report(RULE_NT_DMA,
			  "FreeCommonBuffer was given %p with another's address 0x%llx",
			  VirtualAddress, (unsigned long long)LogicalAddress.QuadPart);
	MmFreeContiguousMemorySpecifyCache(VirtualAddress, Length, MmCached);
}

static NTSTATUS dma_calculate_list(PDMA_ADAPTER DmaAdapter, PMDL Mdl, PVOID CurrentVa, ULONG Length,
				   PULONG ScatterGatherListSize, PULONG pNumberOfMapRegisters)
{
	struct dma_walk walk;

	if (Mdl && !dma_walk_begin(&walk, Mdl, CurrentVa, Length))
		return STATUS_BUFFER_TOO_SMALL;
	/* Without an MDL the frames are not known yet: each may lie by itself. */
	ULONG pages = Mdl ? dma_count(walk) : ADDRESS_AND_SIZE_TO_SPAN_PAGES(CurrentVa, Length);
	*ScatterGatherListSize = dma_list_bytes(pages);
	if (pNumberOfMapRegisters)
		*pNumberOfMapRegisters = pages;
	return STATUS_SUCCESS;
}

static NTSTATUS dma_build_list(PDMA_ADAPTER DmaAdapter, PDEVICE_OBJECT DeviceObject, PMDL Mdl,
			       PVOID CurrentVa, ULONG Length, PDRIVER_LIST_CONTROL ExecutionRoutine,
			       PVOID Context, BOOLEAN WriteToDevice, PVOID ScatterGatherBuffer,
			       ULONG ScatterGatherLength)
{
	struct dma_walk walk;

	dma_require_dispatch("BuildScatterGatherList");
	if (!dma_walk_begin(&walk, Mdl, CurrentVa, Length) ||
	    ScatterGatherLength < dma_list_bytes(dma_count(walk)))
		return STATUS_BUFFER_TOO_SMALL;
	dma_fill(ScatterGatherBuffer, walk);
	ExecutionRoutine(DeviceObject, DeviceObject ? DeviceObject->CurrentIrp : NULL,
			 ScatterGatherBuffer, Context);
	return STATUS_SUCCESS;
}

static NTSTATUS dma_get_list(PDMA_ADAPTER DmaAdapter, PDEVICE_OBJECT DeviceObject, PMDL Mdl,
			     PVOID CurrentVa, ULONG Length, PDRIVER_LIST_CONTROL ExecutionRoutine,
			     PVOID Context, BOOLEAN WriteToDevice)
{
	struct dma_walk walk;

	dma_require_dispatch("GetScatterGatherList");
	if (!dma_walk_begin(&walk, Mdl, CurrentVa, Length))
		return STATUS_BUFFER_TOO_SMALL;
	PSCATTER_GATHER_LIST list =
		nt_pool_alloc_at(CALLER, dma_list_bytes(dma_count(walk)), DMA_TAG);
	if (!list)
		return STATUS_INSUFFICIENT_RESOURCES;
	dma_fill(list, walk);
	ExecutionRoutine(DeviceObject, DeviceObject ? DeviceObject->CurrentIrp : NULL, list,
			 Context);
	return STATUS_SUCCESS;
}

static VOID dma_put_list(PDMA_ADAPTER DmaAdapter, PSCATTER_GATHER_LIST ScatterGather,
			 BOOLEAN WriteToDevice)
{
	dma_require_dispatch("PutScatterGatherList");
	ExFreePoolWithTag(ScatterGather, DMA_TAG);
}

/* Nothing was copied, so the memory of the list is the memory of the MDL. */
static NTSTATUS dma_build_mdl(PDMA_ADAPTER DmaAdapter, PSCATTER_GATHER_LIST ScatterGather,
			      PMDL OriginalMdl, PMDL *TargetMdl)
{
	*TargetMdl = OriginalMdl;
	return STATUS_SUCCESS;
}

static NTSTATUS dma_allocate_channel(PDMA_ADAPTER DmaAdapter, PDEVICE_OBJECT DeviceObject,
				     ULONG NumberOfMapRegisters, PDRIVER_CONTROL ExecutionRoutine,
				     PVOID Context)
{
	dma_require_dispatch("AllocateAdapterChannel");
	/* What the driver wants to keep, it gives back later; there is nothing to hold for it. */
	(void)ExecutionRoutine(DeviceObject, DeviceObject ? DeviceObject->CurrentIrp : NULL,
			       MAP_REGISTER_BASE, Context);
	return STATUS_SUCCESS;
}

static PHYSICAL_ADDRESS dma_map_transfer(PDMA_ADAPTER DmaAdapter, PMDL Mdl, PVOID MapRegisterBase,
					 PVOID CurrentVa, PULONG Length, BOOLEAN WriteToDevice)
{
	struct dma_walk walk;
	uint64_t address = 0;

	if (dma_walk_begin(&walk, Mdl, CurrentVa, *Length)) {
		*Length = (ULONG)dma_walk_next(&walk, &address);
	} else {
		nt_report(
			RULE_NT_DMA,
			"MapTransfer was asked for %u bytes at %p, which the MDL does not describe",
			*Length, CurrentVa);
		*Length = 0;
	}
	return (PHYSICAL_ADDRESS){ .QuadPart = (LONGLONG)address };
}

static BOOLEAN dma_flush(PDMA_ADAPTER DmaAdapter, PMDL Mdl, PVOID MapRegisterBase, PVOID CurrentVa,
			 ULONG Length, BOOLEAN WriteToDevice)
{
	return TRUE;
}

static VOID dma_free_channel(PDMA_ADAPTER DmaAdapter)
{
	dma_require_dispatch("FreeAdapterChannel");
}

static VOID dma_free_map_registers(PDMA_ADAPTER DmaAdapter, PVOID MapRegisterBase,
				   ULONG NumberOfMapRegisters)
{
	dma_require_dispatch("FreeMapRegisters");
	if (MapRegisterBase != MAP_REGISTER_BASE)
		nt_report(RULE_NT_DMA, "FreeMapRegisters was given %p, which no transfer was given",
			  MapRegisterBase);
}

static ULONG dma_alignment(PDMA_ADAPTER DmaAdapter)
{
	return 1;
}

/* The counter is the system DMA controller's, and there is none. */
static ULONG dma_read_counter(PDMA_ADAPTER DmaAdapter)
{
	nt_report(RULE_NT_DMA, "ReadDmaCounter was called for a bus master, which has no counter");
	return 0;
}

static VOID dma_put_adapter(PDMA_ADAPTER DmaAdapter)
{
	nt_irql_require(PASSIVE_LEVEL, "PutDmaAdapter");
	ExFreePoolWithTag(DmaAdapter, DMA_TAG);
}

static DMA_OPERATIONS dma_operations = {
	.Size = sizeof(DMA_OPERATIONS),
	.PutDmaAdapter = dma_put_adapter,
	.AllocateCommonBuffer = dma_allocate_common_buffer,
	.FreeCommonBuffer = dma_free_common_buffer,
	.AllocateAdapterChannel = dma_allocate_channel,
	.FlushAdapterBuffers = dma_flush,
	.FreeAdapterChannel = dma_free_channel,
	.FreeMapRegisters = dma_free_map_registers,
	.MapTransfer = dma_map_transfer,
	.GetDmaAlignment = dma_alignment,
	.ReadDmaCounter = dma_read_counter,
	.GetScatterGatherList = dma_get_list,
	.PutScatterGatherList = dma_put_list,
	.CalculateScatterGatherList = dma_calculate_list,
	.BuildScatterGatherList = dma_build_list,
	.BuildMdlFromScatterGatherList = dma_build_mdl,
};

PDMA_ADAPTER IoGetDmaAdapter(PDEVICE_OBJECT PhysicalDeviceObject,
			     PDEVICE_DESCRIPTION DeviceDescription, PULONG NumberOfMapRegisters)
{
	const DEVICE_DESCRIPTION *description = DeviceDescription;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (description->Version > DEVICE_DESCRIPTION_VERSION2) {
		nt_report(RULE_NT_DMA, "%s was asked for version %u, and 2 is the last one here",
			  __func__, description->Version);
		return NULL;
	}
	if (!description->Master) {
		nt_report(RULE_NT_DMA,
			  "%s was told of a device that is no bus master, and there is no system "
			  "DMA controller",
			  __func__);
		return NULL;
	}
	struct dma_adapter *adapter = nt_pool_alloc_at(CALLER, sizeof(*adapter), DMA_TAG);
	if (!adapter)
		return NULL;
	adapter->adapter = (DMA_ADAPTER){
		.Version = (USHORT)description->Version,
		.Size = sizeof(DMA_ADAPTER),
		.DmaOperations = &dma_operations,
	};
	adapter->highest_address = description->Dma64BitAddresses ? INT64_MAX : UINT32_MAX;
	*NumberOfMapRegisters =
		ADDRESS_AND_SIZE_TO_SPAN_PAGES(PAGE_SIZE - 1, description->MaximumLength);
	return &adapter->adapter;
}
