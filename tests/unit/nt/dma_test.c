/* SPDX-License-Identifier: MIT */
/*
 * dma_test.c - DMA adapters, scatter/gather lists, and ranges in resource descriptors.
 */
#include "nt_harness.h"

#include "base/machine.h"

#include "nt/driver_memory.h"

static PDMA_ADAPTER adapter_get(BOOLEAN reaches_64_bits)
{
	DEVICE_DESCRIPTION description = {
		.Version = DEVICE_DESCRIPTION_VERSION2,
		.Master = TRUE,
		.ScatterGather = TRUE,
		.Dma64BitAddresses = reaches_64_bits,
		.InterfaceType = PCIBus,
		.MaximumLength = 1 << 20,
	};
	ULONG map_registers = 0;
	PDMA_ADAPTER adapter = IoGetDmaAdapter(NULL, &description, &map_registers);

	EXPECT(adapter);
	EXPECT_EQ(map_registers, 257); /* a transfer need not begin at a page */
	return adapter;
}

struct received {
	unsigned calls;
	PSCATTER_GATHER_LIST list;
};

static VOID receive(PDEVICE_OBJECT device, PIRP irp, PSCATTER_GATHER_LIST list, PVOID context)
{
	struct received *received = context;

	received->calls++;
	received->list = list;
}

/* Pages 7, 8, 3 of the block, with `offset` bytes of the first left out. */
static PMDL mdl_of_three(char *block, ULONG offset, ULONG bytes)
{
	static const uint64_t order[] = { 7, 8, 3 };
	uint64_t first = (uint64_t)MmGetPhysicalAddress(block).QuadPart >> PAGE_SHIFT;
	PMDL mdl = IoAllocateMdl((PVOID)(uintptr_t)(0x10000 + offset), bytes, FALSE, FALSE, NULL);

	for (ULONG i = 0; i < ADDRESS_AND_SIZE_TO_SPAN_PAGES(offset, bytes); i++)
		MmGetMdlPfnArray(mdl)[i] = first + order[i];
	return mdl;
}

NT_TEST(dma, a_list_joins_neighbouring_pages)
{
	struct received received = { 0 };
	KIRQL before;

	PDMA_ADAPTER adapter = adapter_get(TRUE);
	char *block = MmAllocateContiguousMemory(16 * PAGE_SIZE,
						 (PHYSICAL_ADDRESS){ .QuadPart = INT64_MAX });
	LONGLONG base = MmGetPhysicalAddress(block).QuadPart;
	PMDL mdl = mdl_of_three(block, 0x100, 3 * PAGE_SIZE - 0x300);
	PVOID start = MmGetMdlVirtualAddress(mdl);

	KeRaiseIrql(DISPATCH_LEVEL, &before);
	EXPECT_EQ(adapter->DmaOperations->GetScatterGatherList(
			  adapter, NULL, mdl, start, mdl->ByteCount, receive, &received, TRUE),
		  STATUS_SUCCESS);
	EXPECT_EQ(received.calls, 1);
	EXPECT_EQ(received.list->NumberOfElements, 2);
	EXPECT_EQ(received.list->Elements[0].Address.QuadPart, base + 7 * PAGE_SIZE + 0x100);
	EXPECT_EQ(received.list->Elements[0].Length, 2 * PAGE_SIZE - 0x100);
	EXPECT_EQ(received.list->Elements[1].Address.QuadPart, base + 3 * PAGE_SIZE);
	EXPECT_EQ(received.list->Elements[1].Length, PAGE_SIZE - 0x200);
	adapter->DmaOperations->PutScatterGatherList(adapter, received.list, TRUE);

	/* A part in the middle, one byte on each side of the seam. */
	PVOID seam = (char *)start + 2 * PAGE_SIZE - 0x100 - 1;
	EXPECT_EQ(adapter->DmaOperations->GetScatterGatherList(adapter, NULL, mdl, seam, 2, receive,
							       &received, TRUE),
		  STATUS_SUCCESS);
	EXPECT_EQ(received.list->NumberOfElements, 2);
	EXPECT_EQ(received.list->Elements[0].Address.QuadPart, base + 9 * PAGE_SIZE - 1);
	EXPECT_EQ(received.list->Elements[0].Length, 1);
	EXPECT_EQ(received.list->Elements[1].Length, 1);
	adapter->DmaOperations->PutScatterGatherList(adapter, received.list, TRUE);

	/* More than the MDL has, and before it. */
	EXPECT_EQ(adapter->DmaOperations->GetScatterGatherList(
			  adapter, NULL, mdl, start, mdl->ByteCount + 1, receive, &received, TRUE),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(adapter->DmaOperations->GetScatterGatherList(
			  adapter, NULL, mdl, (char *)start - 1, 1, receive, &received, TRUE),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(received.calls, 2);

	mem_fail_nth(1);
	EXPECT_EQ(adapter->DmaOperations->GetScatterGatherList(adapter, NULL, mdl, start, 1,
							       receive, &received, TRUE),
		  STATUS_INSUFFICIENT_RESOURCES);
	EXPECT(mem_fail_stop());
	KeLowerIrql(before);

	IoFreeMdl(mdl);
	MmFreeContiguousMemory(block);
	adapter->DmaOperations->PutDmaAdapter(adapter);
	EXPECT_NO_REPORT();
}

TEST(dma, a_list_is_built_in_the_drivers_buffer_when_it_is_large_enough)
{
	struct received received = { 0 };
	_Alignas(SCATTER_GATHER_LIST) char buffer[256];
	ULONG bytes = 0;
	ULONG registers = 0;
	KIRQL before;

	nt_test_begin();
	PDMA_ADAPTER adapter = adapter_get(TRUE);
	char *block = MmAllocateContiguousMemory(16 * PAGE_SIZE,
						 (PHYSICAL_ADDRESS){ .QuadPart = INT64_MAX });
	PMDL first = mdl_of_three(block, 0, 3 * PAGE_SIZE);
	PMDL second = mdl_of_three(block, 0, PAGE_SIZE);
	PVOID start = MmGetMdlVirtualAddress(first);

	/* The lists of a chain follow one another: 7 8, 3, 7. */
	first->Next = second;
	EXPECT_EQ(adapter->DmaOperations->CalculateScatterGatherList(
			  adapter, first, start, 4 * PAGE_SIZE, &bytes, &registers),
		  STATUS_SUCCESS);
	EXPECT_EQ(bytes, sizeof(SCATTER_GATHER_LIST) + 3 * sizeof(SCATTER_GATHER_ELEMENT));
	EXPECT_EQ(registers, 3);
	KeRaiseIrql(DISPATCH_LEVEL, &before);
	EXPECT_EQ(adapter->DmaOperations->BuildScatterGatherList(adapter, NULL, first, start,
								 4 * PAGE_SIZE, receive, &received,
								 FALSE, buffer, bytes - 1),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(adapter->DmaOperations->BuildScatterGatherList(adapter, NULL, first, start,
								 4 * PAGE_SIZE, receive, &received,
								 FALSE, buffer, bytes),
		  STATUS_SUCCESS);
	KeLowerIrql(before);
	EXPECT(received.calls == 1 && (char *)received.list == buffer);
	EXPECT_EQ(received.list->NumberOfElements, 3);

	PMDL target = NULL;
	EXPECT_EQ(adapter->DmaOperations->BuildMdlFromScatterGatherList(adapter, received.list,
									first, &target),
		  STATUS_SUCCESS);
	EXPECT(target == first);
	EXPECT_EQ(adapter->DmaOperations->CalculateScatterGatherList(
			  adapter, NULL, (void *)(uintptr_t)1, PAGE_SIZE, &bytes, NULL),
		  STATUS_SUCCESS);
	EXPECT_EQ(bytes, sizeof(SCATTER_GATHER_LIST) + 2 * sizeof(SCATTER_GATHER_ELEMENT));

	IoFreeMdl(first);
	IoFreeMdl(second);
	MmFreeContiguousMemory(block);
	adapter->DmaOperations->PutDmaAdapter(adapter);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

static IO_ALLOCATION_ACTION transfer(PDEVICE_OBJECT device, PIRP irp, PVOID base, PVOID context)
{
	*(PVOID *)context = base;
	return DeallocateObjectKeepRegisters;
}

NT_TEST(dma, a_transfer_is_mapped_one_row_at_a_time)
{
	PVOID map_registers = NULL;
	KIRQL before;

	PDMA_ADAPTER adapter = adapter_get(TRUE);
	char *block = MmAllocateContiguousMemory(16 * PAGE_SIZE,
						 (PHYSICAL_ADDRESS){ .QuadPart = INT64_MAX });
	LONGLONG base = MmGetPhysicalAddress(block).QuadPart;
	PMDL mdl = mdl_of_three(block, 0, 3 * PAGE_SIZE);
	char *start = MmGetMdlVirtualAddress(mdl);
	ULONG length = 3 * PAGE_SIZE;

	KeRaiseIrql(DISPATCH_LEVEL, &before);
	EXPECT_EQ(adapter->DmaOperations->AllocateAdapterChannel(adapter, NULL, 3, transfer,
								 &map_registers),
		  STATUS_SUCCESS);
	EXPECT(map_registers);
	EXPECT_EQ(adapter->DmaOperations
			  ->MapTransfer(adapter, mdl, map_registers, start, &length, TRUE)
			  .QuadPart,
		  base + 7 * PAGE_SIZE);
	EXPECT_EQ(length, 2 * PAGE_SIZE);
	length = PAGE_SIZE;
	EXPECT_EQ(adapter->DmaOperations
			  ->MapTransfer(adapter, mdl, map_registers, start + 2 * PAGE_SIZE, &length,
					TRUE)
			  .QuadPart,
		  base + 3 * PAGE_SIZE);
	EXPECT_EQ(length, PAGE_SIZE);
	EXPECT(adapter->DmaOperations->FlushAdapterBuffers(adapter, mdl, map_registers, start,
							   3 * PAGE_SIZE, TRUE));
	adapter->DmaOperations->FreeMapRegisters(adapter, map_registers, 3);
	EXPECT_NO_REPORT();

	length = 4 * PAGE_SIZE;
	adapter->DmaOperations->MapTransfer(adapter, mdl, map_registers, start, &length, TRUE);
	EXPECT_EQ(length, 0);
	adapter->DmaOperations->FreeMapRegisters(adapter, start, 3);
	KeLowerIrql(before);
	EXPECT_EQ(adapter->DmaOperations->ReadDmaCounter(adapter), 0);
	adapter->DmaOperations->FreeAdapterChannel(adapter); /* at PASSIVE_LEVEL */
	EXPECT_REPORTS(RULE_NT_DMA, 4);
	EXPECT_EQ(adapter->DmaOperations->GetDmaAlignment(adapter), 1);

	IoFreeMdl(mdl);
	MmFreeContiguousMemory(block);
	adapter->DmaOperations->PutDmaAdapter(adapter);
}

NT_TEST(dma, a_common_buffer_is_memory_of_the_machine)
{
	PHYSICAL_ADDRESS address = { .QuadPart = 0 };

	PDMA_ADAPTER adapter = adapter_get(FALSE);
	char *buffer = adapter->DmaOperations->AllocateCommonBuffer(adapter, 3 * PAGE_SIZE,
								    &address, TRUE);
	EXPECT(buffer);
	EXPECT_EQ(MmGetPhysicalAddress(buffer).QuadPart, address.QuadPart);
	EXPECT(address.QuadPart + 3 * PAGE_SIZE <= (LONGLONG)1 << 32);
	EXPECT_EQ(machine_usage().taken_pages, 3);
	adapter->DmaOperations->FreeCommonBuffer(adapter, 3 * PAGE_SIZE, address, buffer, TRUE);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT(!adapter->DmaOperations->AllocateCommonBuffer(adapter, 0, &address, TRUE));
	EXPECT_NO_REPORT();

	buffer = adapter->DmaOperations->AllocateCommonBuffer(adapter, PAGE_SIZE, &address, TRUE);
	address.QuadPart += PAGE_SIZE;
	adapter->DmaOperations->FreeCommonBuffer(adapter, PAGE_SIZE, address, buffer, TRUE);
	EXPECT_REPORTS(RULE_NT_DMA, 1);
	adapter->DmaOperations->PutDmaAdapter(adapter);
}

NT_TEST(dma, an_adapter_that_cannot_be_had_is_refused_with_a_reason)
{
	DEVICE_DESCRIPTION description = { .Version = DEVICE_DESCRIPTION_VERSION3, .Master = TRUE };
	ULONG map_registers = 0;

	EXPECT(!IoGetDmaAdapter(NULL, &description, &map_registers));
	EXPECT_REPORTS(RULE_NT_DMA, 1);
	description.Version = DEVICE_DESCRIPTION_VERSION;
	description.Master = FALSE;
	EXPECT(!IoGetDmaAdapter(NULL, &description, &map_registers));
	EXPECT_REPORTS(RULE_NT_DMA, 2);
	description.Master = TRUE;
	mem_fail_nth(1);
	EXPECT(!IoGetDmaAdapter(NULL, &description, &map_registers));
	EXPECT(mem_fail_stop());
}

TEST(resources, a_range_is_decoded_as_it_was_encoded)
{
	static const struct {
		UCHAR type;
		ULONGLONG length;
		NTSTATUS status;
		USHORT flags;
	} cases[] = {
		{ CmResourceTypeMemory, 0x1000, STATUS_SUCCESS, 0 },
		{ CmResourceTypePort, 0x20, STATUS_SUCCESS, 0 },
		{ CmResourceTypeMemory, 0x100000000, STATUS_UNSUCCESSFUL, 0 },
		{ CmResourceTypeMemoryLarge, 0x1000, STATUS_UNSUCCESSFUL, 0 },
		{ CmResourceTypeMemoryLarge, 0x100000000, STATUS_SUCCESS,
		  CM_RESOURCE_MEMORY_LARGE_40 },
		{ CmResourceTypeMemoryLarge, 0x10000000000, STATUS_SUCCESS,
		  CM_RESOURCE_MEMORY_LARGE_48 },
		{ CmResourceTypeMemoryLarge, 0x100000000000000, STATUS_SUCCESS,
		  CM_RESOURCE_MEMORY_LARGE_64 },
		{ CmResourceTypeMemoryLarge, 0x100000000000001, STATUS_UNSUCCESSFUL, 0 },
		{ CmResourceTypeInterrupt, 1, STATUS_INVALID_PARAMETER, 0 },
	};

	nt_test_begin();
	for (size_t i = 0; i < ARRAYSIZE(cases); i++) {
		CM_PARTIAL_RESOURCE_DESCRIPTOR range = { .Type = CmResourceTypeInterrupt };
		ULONGLONG start = 1;

		EXPECT_EQ(RtlCmEncodeMemIoResource(&range, cases[i].type, cases[i].length,
						   0x123456789000),
			  cases[i].status);
		if (!NT_SUCCESS(cases[i].status)) {
			EXPECT_EQ(RtlCmDecodeMemIoResource(&range, &start), 0);
			EXPECT_EQ(start, 0);
			continue;
		}
		EXPECT_EQ(range.Flags, cases[i].flags);
		EXPECT_EQ(RtlCmDecodeMemIoResource(&range, &start), cases[i].length);
		EXPECT_EQ(start, 0x123456789000);
		EXPECT_EQ(RtlCmDecodeMemIoResource(&range, NULL), cases[i].length);
	}
	nt_test_finish();
}

TEST_MAIN("nt/dma")
