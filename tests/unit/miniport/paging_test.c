/* SPDX-License-Identifier: MIT */
/*
 * paging_test.c - DxgkDdiBuildPagingBuffer: what arrives, and what its answers mean.
 */
#include "miniport/internal.h"
#include "paging_world.h"

/* ---- the buffer ---- */

PAGER_TEST(buffer, what_the_driver_wrote_is_how_far_it_moved_its_pointer,
	   NUMBER("PagingPrivateBytes", 8))
{
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	EXPECT_EQ(pager->buffer.used_bytes, 64);
	EXPECT_EQ(pager->buffer.private_used_bytes, 8);
	EXPECT_EQ(pager->memory[0], 0x81);
	EXPECT_EQ(pager->memory[63], 0x81);
	pager->multipass = 0;
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	EXPECT_EQ(pager->buffer.used_bytes, 128);
	EXPECT_EQ(pager->buffer.private_used_bytes, 16);
	EXPECT_STR(pager->host.notes, "BuildPagingBuffer irql=0 operation=1 room=4096\n"
				      "BuildPagingBuffer irql=0 operation=1 room=4032\n");
	EXPECT_EQ(host_reports.count, 0);
}

PAGER_TEST(buffer, of_before_a_reset_does_not_enter_the_driver_any_more,
	   NUMBER("PagingPrivateBytes", 8))
{
	_Atomic uint32_t generation = 7;

	pager->buffer.generation.now = &generation;
	pager->buffer.generation.mine = 7;
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	generation = 8;
	EXPECT_EQ(build(pager, &fill), STATUS_DEVICE_REMOVED);
	EXPECT_EQ(pager->buffer.used_bytes, 64);
	EXPECT_STR(pager->host.notes, "BuildPagingBuffer irql=0 operation=1 room=4096\n");
	EXPECT_EQ(host_reports.count, 0);
}

PAGER_TEST(buffer, a_fresh_one_has_the_reported_size_and_zeroed_private_data,
	   NUMBER("PagingBufferSize", 4096))
{
	/* The driver complains when it is not so (host_finish). */
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT_EQ(args.DmaSize, BUFFER_BYTES);
	EXPECT_EQ(args.DmaBufferPrivateDataSize, PRIVATE_BYTES);
	EXPECT(args.pDmaBuffer == pager->memory &&
	       args.pDmaBufferPrivateData == pager->private_data);
	/* Written by the driver, which did not move: kept for the submission. */
	EXPECT_EQ(pager->private_data[0], 0xcd);
	EXPECT_EQ(pager->private_data[1], 0);
	pager->multipass = 0;
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	EXPECT_EQ(pager->private_data[0], 0xcd);
	refresh(pager);
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
}

PAGER_TEST(buffer, the_driver_knows_where_it_is_and_whose_it_is, NUMBER("PagingBytes", 100))
{
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	pager->multipass = 0;
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT_EQ(args.DmaBufferGpuVirtualAddress, 0x40000);
	EXPECT_EQ(args.DmaBufferWriteOffset, 100);
	EXPECT(args.hSystemContext == miniport_system_context(pager->host.miniport));
	EXPECT_EQ(args.MultipassOffset, 0);
}

PAGER_TEST(buffer, a_driver_without_contexts_gets_its_system_device, TEXT("Model", "physical"),
	   NUMBER("SchedulingCaps", 0))
{
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	EXPECT(seen(pager, NULL, 0).hSystemContext == pager->host.miniport->system_device);
}

PAGER_TEST(buffer, an_operation_may_need_no_room_at_all, NUMBER("PagingBytes", 0))
{
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	EXPECT_EQ(pager->buffer.used_bytes, 0);
}

PAGER_TEST(buffer, page_tables_can_be_written_without_one, NUMBER("PagingBytes", 64))
{
	uint64_t table[8];
	struct miniport_pte entry = { .page = 5, .is_valid = true };

	pager->buffer = (struct miniport_paging_buffer){ 0 };
	EXPECT_EQ(build(pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
				.target.pointer = table,
				.update_table = { .mode = MINIPORT_TABLE_CPU_VIRTUAL,
						  .entries = &entry,
						  .count = 1 },
			}),
		  STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT(args.pDmaBuffer == NULL && args.DmaSize == 0 && args.pDmaBufferPrivateData == NULL);
	EXPECT(args.UpdatePageTable.PageTableAddress.CpuVirtual == table);
}

/* ---- several passes ---- */

PAGER_TEST(pass, a_half_full_buffer_may_be_too_small_at_once, NUMBER("PagingBytes", 3000))
{
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	pager->multipass = 0;
	EXPECT_EQ(build(pager, &fill), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(pager->buffer.used_bytes, 3000);
	EXPECT_EQ(pager->multipass, 0);
	refresh(pager);
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	EXPECT_EQ(host_reports.count, 0);
}

PAGER_TEST(pass, the_cookie_of_the_driver_is_kept, NUMBER("PagingPasses", 3))
{
	for (uint32_t pass = 1; pass < 3; pass++) {
		EXPECT_EQ(build(pager, &fill), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
		EXPECT_EQ(pager->multipass, pass);
		EXPECT_EQ(seen(pager, NULL, 0).MultipassOffset, pass - 1);
		EXPECT_EQ(pager->buffer.used_bytes, 64); /* valid work, to be submitted */
		refresh(pager);
	}
	EXPECT_EQ(build(pager, &fill), STATUS_SUCCESS);
	EXPECT_EQ(seen(pager, NULL, 0).MultipassOffset, 2);
}

PAGER_TEST(pass, no_progress_in_a_fresh_buffer_is_refused, TEXT("PagingMoves", "stuck"))
{
	EXPECT_EQ(build(pager, &fill), STATUS_DRIVER_INTERNAL_ERROR);
	host_expect_refusal("DDI-DMA-BUFFER");
	EXPECT_EQ(host_reports.rule, RULE_DDI_DMA_BUFFER);
	EXPECT_EQ(host_reports.count, 1);
}

TEST(pass, pointers_that_leave_the_buffer_are_refused)
{
	static const char *const moves[] = { "back", "past", "private back", "private past" };

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		struct pager pager;

		begin(&pager, TEXT("PagingMoves", moves[i]));
		EXPECT_EQ(build(&pager, &fill), STATUS_DRIVER_INTERNAL_ERROR);
		host_expect_refusal("DDI-DMA-BUFFER");
		EXPECT_EQ(host_reports.count, 1);
		EXPECT_EQ(pager.buffer.used_bytes, 0);
		EXPECT_EQ(pager.buffer.private_used_bytes, 0);
		end(&pager);
	}
}

/* ---- statuses ---- */

static void expect_status(NTSTATUS said, const struct miniport_paging_op *op, NTSTATUS expected,
			  bool is_reported)
{
	struct pager pager;

	begin(&pager, TEXT("Fail", "BuildPagingBuffer"), NUMBER("FailStatus", said));
	EXPECT_EQ((uint32_t)build(&pager, op), (uint32_t)expected);
	EXPECT_EQ(host_reports.count, is_reported);
	if (is_reported) {
		EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_UNDOCUMENTED);
		host_expect_refusal("DDI-STATUS-UNDOCUMENTED");
	}
	end(&pager);
}

TEST(status, busy_is_for_what_can_be_in_use_and_is_not_idle)
{
	const struct miniport_paging_op transfer = { .kind = MINIPORT_PAGING_TRANSFER,
						     .source.segment = 1 };
	struct miniport_paging_op idle_transfer = transfer;
	const struct miniport_paging_op discard = { .kind = MINIPORT_PAGING_DISCARD_CONTENT };
	const struct miniport_paging_op idle_discard = { .kind = MINIPORT_PAGING_DISCARD_CONTENT,
							 .is_idle = true };
	NTSTATUS busy = STATUS_GRAPHICS_ALLOCATION_BUSY;

	idle_transfer.is_idle = true;
	expect_status(busy, &transfer, busy, false);
	expect_status(busy, &discard, busy, false);
	expect_status(busy, &idle_transfer, STATUS_DRIVER_INTERNAL_ERROR, true);
	expect_status(busy, &idle_discard, STATUS_DRIVER_INTERNAL_ERROR, true);
	expect_status(busy, &fill, STATUS_DRIVER_INTERNAL_ERROR, true);
}

TEST(status, any_other_is_the_drivers_mistake)
{
	expect_status(STATUS_NO_MEMORY, &fill, STATUS_DRIVER_INTERNAL_ERROR, true);
	expect_status(STATUS_NOT_SUPPORTED, &fill, STATUS_DRIVER_INTERNAL_ERROR, true);
	expect_status(STATUS_PENDING, &fill, STATUS_DRIVER_INTERNAL_ERROR, true);
}

/* ---- every operation ---- */

PAGER_TEST(operation, transfer, TEXT("Model", "physical"))
{
	struct miniport_mdl *mdl;
	int allocation;

	EXPECT_EQ(miniport_mdl_create(&(struct miniport_page_run){ 256, 4 }, 1, &mdl),
		  STATUS_SUCCESS);
	struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_TRANSFER,
		.subject.driver_allocation = &allocation,
		.is_idle = true,
		.source = { .mdl = mdl },
		.target = { .segment = 1, .offset_bytes = 0x5000 },
		.size_bytes = 0x3000,
		.offset_bytes = 0x1000,
		.transfer = { .is_start = true, .is_end = true },
	};
	EXPECT_EQ(build(pager, &op), STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_TRANSFER);
	EXPECT(args.Transfer.hAllocation == &allocation);
	EXPECT_EQ(args.Transfer.TransferOffset, 0x1000);
	EXPECT_EQ(args.Transfer.TransferSize, 0x3000);
	EXPECT_EQ(args.Transfer.Source.SegmentId, 0);
	EXPECT(args.Transfer.Source.pMdl == (MDL *)mdl);
	EXPECT_EQ(args.Transfer.MdlOffset, 0);
	EXPECT_EQ(args.Transfer.Destination.SegmentId, 1);
	EXPECT_EQ(args.Transfer.Destination.SegmentAddress.QuadPart, BASE(1) + 0x5000);
	EXPECT_EQ(args.Transfer.Flags.Value, 0x1c); /* idle, start, end */

	/* And back: an eviction, and after a reset the notice that nothing is left. */
	struct miniport_location source = op.source;
	op.source = op.target;
	op.target = source;
	op.transfer.is_start = false;
	op.size_bytes = 0;
	pager->multipass = 0;
	EXPECT_EQ(build(pager, &op), STATUS_SUCCESS);
	args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Transfer.TransferSize, 0);
	EXPECT_EQ(args.Transfer.Source.SegmentAddress.QuadPart, BASE(1) + 0x5000);
	EXPECT(args.Transfer.Destination.pMdl == (MDL *)mdl);
	EXPECT_EQ(args.Transfer.Destination.SegmentId, 0);
	EXPECT_EQ(args.Transfer.MdlOffset, 0);
	EXPECT_EQ(args.Transfer.Flags.Value, 0x14); /* idle, end */
	miniport_mdl_destroy(mdl);
}

PAGER_TEST(operation, fill_and_discard, TEXT("Model", "physical"))
{
	int allocation;

	EXPECT_EQ(build(pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_FILL,
				.subject.driver_allocation = &allocation,
				.target = { .segment = 1, .offset_bytes = 0x7000 },
				.size_bytes = 0x9000,
				.fill.pattern = 0xabcd1234,
			}),
		  STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_FILL);
	EXPECT(args.Fill.hAllocation == &allocation);
	EXPECT_EQ(args.Fill.FillSize, 0x9000);
	EXPECT_EQ(args.Fill.FillPattern, 0xabcd1234);
	EXPECT_EQ(args.Fill.Destination.SegmentId, 1);
	EXPECT_EQ(args.Fill.Destination.SegmentAddress.QuadPart, BASE(1) + 0x7000);

	pager->multipass = 0;
	EXPECT_EQ(build(pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_DISCARD_CONTENT,
				.subject.driver_allocation = &allocation,
				.target = { .segment = 1, .offset_bytes = 0x8000 },
				.is_idle = true,
			}),
		  STATUS_SUCCESS);
	args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_DISCARD_CONTENT);
	EXPECT(args.DiscardContent.hAllocation == &allocation);
	EXPECT_EQ(args.DiscardContent.Flags.Value, 1);
	EXPECT_EQ(args.DiscardContent.SegmentId, 1);
	EXPECT_EQ(args.DiscardContent.SegmentAddress.QuadPart, BASE(1) + 0x8000);
}

PAGER_TEST(operation, apertures_are_counted_in_pages_from_their_start, TEXT("Model", "physical"))
{
	struct miniport_mdl *mdl;
	int device;
	int allocation;

	EXPECT_EQ(miniport_mdl_create(&(struct miniport_page_run){ 256, 8 }, 1, &mdl),
		  STATUS_SUCCESS);
	struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_MAP_APERTURE_SEGMENT,
		.subject.driver_allocation = &allocation,
		.target = { .segment = 2, .offset_bytes = 17 << 12 },
		.size_bytes = 5 << 12,
		.source.mdl = mdl,
		.aperture = { .driver_device = &device,
			      .dummy_address = 0x123000,
			      .is_cache_coherent = true },
	};
	EXPECT_EQ(build(pager, &op), STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_MAP_APERTURE_SEGMENT);
	EXPECT(args.MapApertureSegment.hDevice == &device);
	EXPECT(args.MapApertureSegment.hAllocation == &allocation);
	EXPECT_EQ(args.MapApertureSegment.SegmentId, 2);
	EXPECT_EQ(args.MapApertureSegment.OffsetInPages, 17);
	EXPECT_EQ(args.MapApertureSegment.NumberOfPages, 5);
	EXPECT(args.MapApertureSegment.pMdl == (MDL *)mdl);
	EXPECT_EQ(args.MapApertureSegment.Flags.Value, 1);
	EXPECT_EQ(args.MapApertureSegment.MdlOffset, 0);

	op.kind = MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT;
	pager->multipass = 0;
	EXPECT_EQ(build(pager, &op), STATUS_SUCCESS);
	args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
	EXPECT(args.UnmapApertureSegment.hDevice == &device);
	EXPECT(args.UnmapApertureSegment.hAllocation == &allocation);
	EXPECT_EQ(args.UnmapApertureSegment.SegmentId, 2);
	EXPECT_EQ(args.UnmapApertureSegment.OffsetInPages, 17);
	EXPECT_EQ(args.UnmapApertureSegment.NumberOfPages, 5);
	EXPECT_EQ(args.UnmapApertureSegment.DummyPage.QuadPart, 0x123000);
	miniport_mdl_destroy(mdl);
}

PAGER_TEST(operation, virtual_transfer_and_fill, NUMBER("PagingBytes", 64))
{
	int allocation;

	EXPECT_EQ(build(pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_VIRTUAL_TRANSFER,
				.subject.driver_allocation = &allocation,
				.source = { 1, .gpu_address = 0x100000, .gpu_table = 0x5000 },
				.target = { 1, .gpu_address = 0x200000, .gpu_table = 0x6000 },
				.offset_bytes = 0x3000,
				.size_bytes = 0x4000,
			}),
		  STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_VIRTUAL_TRANSFER);
	EXPECT(args.TransferVirtual.hAllocation == &allocation);
	EXPECT_EQ(args.TransferVirtual.AllocationOffsetInBytes, 0x3000);
	EXPECT_EQ(args.TransferVirtual.TransferSizeInBytes, 0x4000);
	EXPECT_EQ(args.TransferVirtual.SourceVirtualAddress, 0x100000);
	EXPECT_EQ(args.TransferVirtual.DestinationVirtualAddress, 0x200000);
	EXPECT_EQ(args.TransferVirtual.SourcePageTable, 0x5000);
	EXPECT_EQ(args.TransferVirtual.DestinationPageTable, 0x6000);
	EXPECT_EQ(args.TransferVirtual.TransferDirection, DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL);
	EXPECT_EQ(args.TransferVirtual.Flags.Flags, 0);

	pager->multipass = 0;
	EXPECT_EQ(build(pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_VIRTUAL_FILL,
				.subject.driver_allocation = &allocation,
				.target.gpu_address = 0x700000,
				.offset_bytes = 0x1000,
				.size_bytes = 0x2000,
				.fill.pattern = 7,
			}),
		  STATUS_SUCCESS);
	args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_VIRTUAL_FILL);
	EXPECT(args.FillVirtual.hAllocation == &allocation);
	EXPECT_EQ(args.FillVirtual.AllocationOffsetInBytes, 0x1000);
	EXPECT_EQ(args.FillVirtual.FillSizeInBytes, 0x2000);
	EXPECT_EQ(args.FillVirtual.FillPattern, 7);
	EXPECT_EQ(args.FillVirtual.DestinationVirtualAddress, 0x700000);
}

PAGER_TEST(operation, context_resources, NUMBER("PagingBytes", 64))
{
	int cookie;
	int pointer;
	uint8_t data[3];

	EXPECT_EQ(build(pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_INIT_CONTEXT_RESOURCE,
				.subject.driver_allocation = &cookie,
				.target = { .segment = 1,
					    .offset_bytes = 0x2000,
					    .pointer = &pointer,
					    .gpu_address = 0x9000 },
			}),
		  STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_INIT_CONTEXT_RESOURCE);
	EXPECT(args.InitContextResource.hAllocation == &cookie);
	EXPECT_EQ(args.InitContextResource.Destination.SegmentId, 1);
	EXPECT_EQ(args.InitContextResource.Destination.SegmentAddress.QuadPart, BASE(1) + 0x2000);
	EXPECT(args.InitContextResource.Destination.VirtualAddress == &pointer);
	EXPECT_EQ(args.InitContextResource.Destination.GpuVirtualAddress, 0x9000);

	pager->multipass = 0;
	EXPECT_EQ(build(pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION,
				.target.gpu_address = 0xa000,
				.size_bytes = 0x3000,
				.update_context = { .private_data = data, .private_bytes = 3 },
			}),
		  STATUS_SUCCESS);
	args = seen(pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION);
	EXPECT_EQ(args.UpdateContextAllocation.ContextAllocation, 0xa000);
	EXPECT_EQ(args.UpdateContextAllocation.ContextAllocationSize, 0x3000);
	EXPECT(args.UpdateContextAllocation.pDriverPrivateData == data);
	EXPECT_EQ(args.UpdateContextAllocation.DriverPrivateDataSize, 3);
}

static struct miniport_paging_op update_of(const struct miniport_pte *entries, uint32_t count)
{
	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
		.target = { .segment = 1, .offset_bytes = 0x6000 },
		.update_table = { .mode = MINIPORT_TABLE_GPU_PHYSICAL,
				  .entries = entries,
				  .count = count },
	};
}

/* DualPteSupported: as many entries again for level 1, invalid where nothing was said. */
TEST(operation, entries_with_two_pointers_come_twice)
{
	static const struct miniport_pte entries[] = {
		{ .page = 0x123, .segment = 1, .is_valid = true },
		{ .page = 0x124, .segment = 1, .is_valid = true },
	};
	static const struct miniport_pte wide_entries[] = {
		{ .page = 0x223, .segment = 1, .is_valid = true },
		{ .is_valid = false },
	};
	struct pager pager;
	DXGK_PTE pte[2];

	begin(&pager, NUMBER("PagingBytes", 64), NUMBER("GpuMmuCaps", 0x94),
	      NUMBER("LeafPageTableSizeFor64KPagesInBytes", 4096));
	struct miniport_paging_op op = update_of(entries, 2);
	EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
	EXPECT(!seen(&pager, NULL, 0).UpdatePageTable.pPageTableEntries64KB);

	op.update_table.level = 1;
	op.update_table.wide_entries = wide_entries;
	EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE update =
		seen(&pager, pte, sizeof(pte)).UpdatePageTable;
	EXPECT(update.pPageTableEntries64KB == update.pPageTableEntries + 2);
	EXPECT_EQ(update.NumPageTableEntries, 2);
	EXPECT_EQ(pte[1].PageAddress, 0x124);
	end(&pager);
}

TEST(operation, update_page_table)
{
	static const struct miniport_pte entries[] = {
		{ .page = 0x123, .segment = 1, .is_valid = true },
		{ .is_valid = true, .is_zero = true },
		{ .page = 0x456, .is_valid = true, .is_read_only = true, .is_no_execute = true },
		{ .page = 0x789, .segment = 31, .is_valid = true, .is_cache_coherent = true },
		{ .page = 0xabc, .segment = 1, .is_valid = true, .is_large = true },
		{ .page = 0xdef, .segment = 1, .is_valid = true, .is_table_64k = true },
	};
	struct pager pager;
	int allocation;
	int process;
	DXGK_PTE pte[6];

	begin(&pager, NUMBER("PagingBytes", 64));
	struct miniport_paging_op op = update_of(entries, 6);
	op.subject.driver_allocation = &allocation;
	op.update_table.level = 1;
	op.update_table.first_index = 9;
	op.update_table.is_initial = true;
	op.update_table.has_64k_pages = true;
	op.update_table.driver_protection = 0x1122334455667788;
	op.offset_bytes = 0x10000;
	op.update_table.driver_process = &process;
	op.update_table.first_address = 0x7700000;
	EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(&pager, pte, sizeof(pte));
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args.UpdatePageTable;
	EXPECT_EQ(args.Operation, DXGK_OPERATION_UPDATE_PAGE_TABLE);
	EXPECT_EQ(update->PageTableLevel, 1);
	EXPECT(update->hAllocation == &allocation && update->hProcess == &process);
	EXPECT_EQ(update->PageTableAddress.GpuPhysical.SegmentId, 1);
	EXPECT_EQ(update->PageTableAddress.GpuPhysical.SegmentOffset, 0x6000);
	EXPECT_EQ(update->StartIndex, 9);
	EXPECT_EQ(update->NumPageTableEntries, 6);
	EXPECT(!update->Flags.Repeat && update->Flags.InitialUpdate &&
	       !update->Flags.NotifyEviction && update->Flags.Use64KBPages);
	EXPECT_EQ(update->DriverProtection, 0x1122334455667788);
	EXPECT_EQ(update->AllocationOffsetInBytes, 0x10000);
	EXPECT_EQ(update->UpdateMode, DXGK_PAGETABLEUPDATE_GPU_PHYSICAL);
	EXPECT_EQ(update->FirstPteVirtualAddress, 0x7700000);
	EXPECT(pte[0].Flags == (1 | 1 << 5) && pte[0].PageAddress == 0x123);
	EXPECT(pte[1].Flags == 3 && pte[1].PageAddress == 0);
	EXPECT(pte[2].Flags == (1 | 8 | 16) && pte[2].PageAddress == 0x456);
	EXPECT(pte[3].Flags == (1 | 4 | 31 << 5) && pte[3].PageAddress == 0x789);
	EXPECT(pte[4].Flags == (1 | 1 << 5 | 1 << 10) && pte[4].PageAddress == 0xabc);
	EXPECT(pte[5].Flags == (1 | 1 << 5 | 1 << 17) && pte[5].PageAddress == 0xdef);

	op.update_table.is_repeated = true;
	op.update_table.is_initial = false;
	op.update_table.is_eviction = true;
	op.update_table.count = 500;
	op.update_table.mode = MINIPORT_TABLE_GPU_VIRTUAL;
	op.target.gpu_address = 0xfeed000;
	pager.multipass = 0;
	EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
	args = seen(&pager, pte, sizeof(pte[0]));
	EXPECT(update->Flags.Repeat && update->Flags.NotifyEviction &&
	       !update->Flags.InitialUpdate);
	EXPECT_EQ(update->NumPageTableEntries, 500);
	EXPECT_EQ(update->PageTableAddress.GpuVirtual, 0xfeed000);
	EXPECT_EQ(pte[0].PageAddress, 0x123);
	end(&pager);
}

TEST(operation, entries_need_no_memory)
{
	enum { MANY = 2 * MINIPORT_FEW_ENTRIES };
	static struct miniport_pte entries[MANY];
	static DXGK_PTE storage[MANY];
	static DXGK_PTE pte[MANY];
	struct pager pager;

	for (uint32_t i = 0; i < MANY; i++)
		entries[i] = (struct miniport_pte){ .page = i, .is_valid = true };
	begin(&pager, NUMBER("PagingBytes", 64));
	for (uint32_t count = MINIPORT_FEW_ENTRIES; count <= MANY; count *= 2) {
		struct miniport_paging_op op = update_of(entries, count);

		pager.buffer.entry_memory = count > MINIPORT_FEW_ENTRIES ? storage : NULL;
		pager.buffer.entry_max = count > MINIPORT_FEW_ENTRIES ? MANY : 0;
		pager.multipass = 0;
		host_forget_notes(&pager.host);
		mem_fail_nth(1); /* the driver's own, which does without */
		EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
		mem_fail_stop();
		EXPECT_EQ(seen(&pager, pte, count * sizeof(pte[0]))
				  .UpdatePageTable.NumPageTableEntries,
			  count);
		EXPECT(pte[count - 1].PageAddress == count - 1 && pte[count - 1].Flags == 1);
	}
	end(&pager);
}

TEST(operation, flush_copy_and_notify)
{
	static const struct miniport_table_copy copies[] = {
		{ .source_index = 1, .destination_index = 2, .count = 3 },
		{ .source_index = 9, .count = 4 },
	};
	struct pager pager;
	int process;
	int allocation;
	DXGK_BUILDPAGINGBUFFER_COPY_RANGE ranges[2];

	begin(&pager, NUMBER("PagingBytes", 64));
	EXPECT_EQ(build(&pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_FLUSH_TLB,
				.target = { .segment = 3, .offset_bytes = 0x1000 },
				.flush_tlb = { .driver_process = &process,
					       .first_address = 0x5000,
					       .end_address = 0x9000 } }),
		  STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(&pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_FLUSH_TLB);
	EXPECT_EQ(args.FlushTlb.RootPageTableAddress.SegmentId, 3);
	EXPECT_EQ(args.FlushTlb.RootPageTableAddress.SegmentOffset, 0x1000);
	EXPECT(args.FlushTlb.hProcess == &process);
	EXPECT_EQ(args.FlushTlb.StartVirtualAddress, 0x5000);
	EXPECT_EQ(args.FlushTlb.EndVirtualAddress, 0x9000);

	pager.multipass = 0;
	EXPECT_EQ(build(&pager,
			&(struct miniport_paging_op){
				.kind = MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES,
				.source.gpu_address = 0x10000,
				.target.gpu_address = 0x20000,
				.copy_entries = { .copies = copies, .count = 2 } }),
		  STATUS_SUCCESS);
	args = seen(&pager, ranges, sizeof(ranges));
	EXPECT_EQ(args.Operation, DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES);
	EXPECT_EQ(args.CopyPageTableEntries.NumRanges, 2);
	EXPECT(ranges[0].NumPageTableEntries == 3 && ranges[0].SrcPageTableAddress == 0x10000 &&
	       ranges[0].DstPageTableAddress == 0x20000 && ranges[0].SrcStartPteIndex == 1 &&
	       ranges[0].DstStartPteIndex == 2);
	EXPECT(ranges[1].NumPageTableEntries == 4 && ranges[1].SrcPageTableAddress == 0x10000 &&
	       ranges[1].DstPageTableAddress == 0x20000 && ranges[1].SrcStartPteIndex == 9 &&
	       ranges[1].DstStartPteIndex == 0);

	struct miniport_paging_op notify = {
		.kind = MINIPORT_PAGING_NOTIFY_RESIDENCY,
		.subject.driver_allocation = &allocation,
		.target = { .segment = 1, .offset_bytes = 0x3000 },
		.notify_residency.is_resident = true,
	};
	pager.multipass = 0;
	EXPECT_EQ(build(&pager, &notify), STATUS_SUCCESS);
	args = seen(&pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_NOTIFY_RESIDENCY);
	EXPECT(args.NotifyResidency.hAllocation == &allocation && args.NotifyResidency.Resident);
	EXPECT_EQ(args.NotifyResidency.PhysicalAddress.SegmentId, 1);
	EXPECT_EQ(args.NotifyResidency.PhysicalAddress.SegmentOffset, 0x3000);
	notify.notify_residency.is_resident = false;
	pager.multipass = 0;
	EXPECT_EQ(build(&pager, &notify), STATUS_SUCCESS);
	args = seen(&pager, NULL, 0);
	EXPECT(!args.NotifyResidency.Resident);
	EXPECT_EQ(args.NotifyResidency.PhysicalAddress.SegmentId, 0);
	EXPECT_EQ(args.NotifyResidency.PhysicalAddress.SegmentOffset, 0);
	end(&pager);
}

/* ---- company ---- */

static void build_often(void *argument)
{
	struct host *host = argument;
	uint8_t *memory = aligned_alloc(4096, BUFFER_BYTES);

	for (int i = 0; i < 20; i++) {
		uint8_t private_data[PRIVATE_BYTES];
		struct miniport_paging_buffer buffer = { .memory = memory,
							 .size_bytes = BUFFER_BYTES,
							 .private_data = private_data,
							 .private_bytes = PRIVATE_BYTES };
		uint32_t multipass = 0;

		if (!NT_SUCCESS(miniport_build_paging(host->miniport, &fill, &buffer, &multipass)))
			abort();
		if (!NT_SUCCESS(miniport_submit(host->miniport, true,
						&(struct miniport_submission){ .node = 1,
									       .is_paging = true,
									       .fence = 1 })))
			abort();
		miniport_preempt(host->miniport, 0, (uint32_t)i + 1);
	}
	free(memory);
}

TEST(company, no_two_threads_are_in_the_scheduler_class)
{
	struct host host;
	struct thread *threads[3];

	host_init(&host);
	EXPECT_EQ(host_start_settings(&host, NULL, 0), STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		EXPECT_EQ(thread_create("builder", build_often, &host, &threads[i]),
			  STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		thread_join(threads[i]);
	EXPECT_CONTAINS(host.notes, "PreemptCommand irql=2");
	EXPECT_CONTAINS(host.notes, "SubmitCommandVirtual irql=2");
	host_finish(&host); /* the driver complained when two met */
}

TEST_MAIN("miniport/paging")
