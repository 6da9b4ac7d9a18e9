/* SPDX-License-Identifier: MIT */
/* Paging operations: what is built, in how many passes, and what executing it does to memory. */
#include "host.h"

#include "nt/mdl.h"

enum { PAGE = 4096 };

static DXGKARG_BUILDPAGINGBUFFER operation(ULONG op)
{
	return (DXGKARG_BUILDPAGINGBUFFER){ .Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)op };
}

static PMDL make_mdl(PUCHAR memory, UINT pages)
{
	uint64_t pfns[64];
	PMDL mdl;

	for (UINT i = 0; i < pages; i++)
		pfns[i] = (uint64_t)MmGetPhysicalAddress(memory + (SIZE_T)i * PAGE).QuadPart / PAGE;
	EXPECT_EQ(nt_mdl_create_for_pages(pfns, pages, &mdl), STATUS_SUCCESS);
	return mdl;
}

/* In local memory, at an address of the GPU's. */
static DXGKARG_BUILDPAGINGBUFFER fill_at(ULONGLONG address, SIZE_T size_bytes, UINT pattern)
{
	DXGKARG_BUILDPAGINGBUFFER args = operation(DXGK_OPERATION_FILL);

	args.Fill.FillSize = size_bytes;
	args.Fill.FillPattern = pattern;
	args.Fill.Destination.SegmentId = SOFTGPU_SEGMENT_LOCAL;
	args.Fill.Destination.SegmentAddress.QuadPart = (LONGLONG)address;
	return args;
}

static void fill_local(ULONGLONG offset, SIZE_T size_bytes, UINT pattern)
{
	DXGKARG_BUILDPAGINGBUFFER args = fill_at(host_local_address(offset), size_bytes, pattern);

	host_page(&args);
}

static void transfer(UINT source_segment, ULONGLONG source, PMDL source_mdl, UINT target_segment,
		     ULONGLONG target, PMDL target_mdl, SIZE_T size_bytes, UINT transfer_offset,
		     UINT mdl_offset)
{
	DXGKARG_BUILDPAGINGBUFFER args = operation(DXGK_OPERATION_TRANSFER);

	args.Transfer.TransferSize = size_bytes;
	args.Transfer.TransferOffset = transfer_offset;
	args.Transfer.MdlOffset = mdl_offset;
	args.Transfer.Source.SegmentId = source_segment;
	if (source_mdl)
		args.Transfer.Source.pMdl = source_mdl;
	else
		args.Transfer.Source.SegmentAddress.QuadPart = (LONGLONG)source;
	args.Transfer.Destination.SegmentId = target_segment;
	if (target_mdl)
		args.Transfer.Destination.pMdl = target_mdl;
	else
		args.Transfer.Destination.SegmentAddress.QuadPart = (LONGLONG)target;
	host_page(&args);
}

static void map_aperture(ULONGLONG first_page, UINT pages, PMDL mdl, UINT mdl_offset)
{
	DXGKARG_BUILDPAGINGBUFFER args = operation(DXGK_OPERATION_MAP_APERTURE_SEGMENT);

	args.MapApertureSegment.SegmentId = SOFTGPU_SEGMENT_APERTURE;
	args.MapApertureSegment.OffsetInPages = first_page;
	args.MapApertureSegment.NumberOfPages = pages;
	args.MapApertureSegment.pMdl = mdl;
	args.MapApertureSegment.MdlOffset = mdl_offset;
	host_page(&args);
}

static ULONGLONG aperture_address(ULONGLONG offset)
{
	return (ULONGLONG)host.segments[1].BaseAddress.QuadPart + offset;
}

SOFT_TEST(paging, a_fill_covers_its_range_and_no_more, NULL)
{
	memset(host.local, 0x77, 3 * PAGE);
	fill_local(PAGE, PAGE, 0x12345678);
	EXPECT_EQ(*(UINT *)(host.local + PAGE), 0x12345678);
	EXPECT_EQ(*(UINT *)(host.local + 2 * PAGE - 4), 0x12345678);
	EXPECT_EQ(*(UINT *)(host.local + PAGE - 4), 0x77777777);
	EXPECT_EQ(*(UINT *)(host.local + 2 * PAGE), 0x77777777);
	fill_local(0, 3 * PAGE, 0);
	EXPECT_EQ(*(UINT *)(host.local + PAGE), 0);
}

SOFT_TEST(paging, contents_come_back_from_system_memory_as_they_went, NULL)
{
	PUCHAR pages = host_contiguous(8 * PAGE);
	PMDL mdl = make_mdl(pages, 8);

	for (UINT i = 0; i < 4 * PAGE; i++)
		host.local[0x100000 + i] = (UCHAR)(i * 7);
	transfer(1, host_local_address(0x100000), NULL, 0, 0, mdl, 4 * PAGE, 0, 2);
	EXPECT_EQ(memcmp(pages + 2 * PAGE, host.local + 0x100000, 4 * PAGE), 0);
	EXPECT_EQ(pages[2 * PAGE - 1], 0);
	EXPECT_EQ(pages[6 * PAGE], 0);

	/* Back to another place, in two halves: TransferOffset counts on the segment's side only.
	 */
	transfer(0, 0, mdl, 1, host_local_address(0x200000), NULL, 2 * PAGE, 0, 2);
	transfer(0, 0, mdl, 1, host_local_address(0x200000), NULL, 2 * PAGE, 2 * PAGE, 4);
	EXPECT_EQ(memcmp(host.local + 0x200000, host.local + 0x100000, 4 * PAGE), 0);

	transfer(1, host_local_address(0x200000), NULL, 1, host_local_address(0x300000), NULL,
		 4 * PAGE, 0, 0);
	EXPECT_EQ(memcmp(host.local + 0x300000, host.local + 0x100000, 4 * PAGE), 0);
	nt_mdl_destroy(mdl);
	MmFreeContiguousMemory(pages);
}

static UCHAR byte_of(ULONGLONG at)
{
	return (UCHAR)(at * 31 ^ at >> 11);
}

/* Longer than a piece and no multiple of one, by as many hands as there are copy engines. */
static void move_much(ULONG copy_engines)
{
	const struct host_setting settings[] = { { "CopyEngines", NULL, copy_engines }, { NULL } };
	enum { MUCH = 5 * 1024 * 1024 + 3 * PAGE, TO = 8 * 1024 * 1024 };

	host_start(settings);
	for (ULONGLONG i = 0; i < MUCH; i++)
		host.local[PAGE + i] = byte_of(i);
	host.local[TO - 1] = 'a';
	host.local[TO + MUCH] = 'z';
	transfer(1, host_local_address(PAGE), NULL, 1, host_local_address(TO), NULL, MUCH, 0, 0);
	EXPECT_EQ(memcmp(host.local + TO, host.local + PAGE, MUCH), 0);
	EXPECT_EQ(host.local[TO - 1], 'a');
	EXPECT_EQ(host.local[TO + MUCH], 'z');

	fill_local(TO, MUCH, 0x01020304);
	for (ULONGLONG i = 0; i < MUCH; i += 4)
		EXPECT(*(UINT *)(host.local + TO + i) == 0x01020304);
	EXPECT_EQ(host.local[TO - 1], 'a');
	EXPECT_EQ(host.local[TO + MUCH], 'z');
	host_stop();
}

TEST(paging, much_is_moved_as_a_whole_by_one_copy_engine)
{
	move_much(1);
}

TEST(paging, much_is_moved_as_a_whole_by_two_copy_engines)
{
	move_much(2);
}

TEST(paging, much_is_moved_as_a_whole_by_four_copy_engines)
{
	move_much(4);
}

SOFT_TEST(paging, the_aperture_shows_the_pages_that_are_mapped, NULL)
{
	PUCHAR pages = host_contiguous(4 * PAGE);
	PUCHAR dummy = host_contiguous(PAGE);
	PMDL mdl = make_mdl(pages, 4);
	DXGKARG_BUILDPAGINGBUFFER unmap = operation(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);

	for (UINT i = 0; i < 4; i++)
		memset(pages + i * PAGE, 'a' + i, PAGE);
	map_aperture(100, 3, mdl, 1);
	transfer(2, aperture_address(100 * PAGE), NULL, 1, host_local_address(0), NULL, 3 * PAGE, 0,
		 0);
	EXPECT_EQ(host.local[0], 'b');
	EXPECT_EQ(host.local[3 * PAGE - 1], 'd');

	/* Writes arrive in system memory. */
	memset(host.local, 'z', PAGE);
	transfer(1, host_local_address(0), NULL, 2, aperture_address(101 * PAGE), NULL, PAGE, 0, 0);
	EXPECT_EQ(pages[2 * PAGE], 'z');
	EXPECT_EQ(pages[3 * PAGE], 'd');

	/* Unmapped, everything goes to the dummy page. */
	unmap.UnmapApertureSegment.SegmentId = SOFTGPU_SEGMENT_APERTURE;
	unmap.UnmapApertureSegment.OffsetInPages = 100;
	unmap.UnmapApertureSegment.NumberOfPages = 3;
	unmap.UnmapApertureSegment.DummyPage = MmGetPhysicalAddress(dummy);
	host_page(&unmap);
	transfer(1, host_local_address(0), NULL, 2, aperture_address(100 * PAGE), NULL, PAGE, 0, 0);
	EXPECT_EQ(dummy[0], 'z');
	EXPECT_EQ(pages[PAGE], 'b');
	nt_mdl_destroy(mdl);
	MmFreeContiguousMemory(dummy);
	MmFreeContiguousMemory(pages);
}

TEST(paging, an_operation_that_does_not_fit_goes_on_in_the_next_buffer)
{
	enum { COUNT = 50 };
	DXGK_PTE ptes[COUNT];
	DXGKARG_BUILDPAGINGBUFFER args = operation(DXGK_OPERATION_UPDATE_PAGE_TABLE);
	PUCHAR buffer;
	UINT passes = 0;
	UINT used;
	NTSTATUS status;

	host_start(NULL);
	memset(host.local, 0xff, PAGE);
	/* Every second one invalid, so that no two make a run. */
	for (UINT i = 0; i < COUNT; i++)
		ptes[i] = (DXGK_PTE){ .Valid = 1, .Segment = 1, .PageAddress = i * i };
	args.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = SOFTGPU_SEGMENT_LOCAL;
	args.UpdatePageTable.pPageTableEntries = ptes;
	args.UpdatePageTable.StartIndex = 3;
	args.UpdatePageTable.NumPageTableEntries = COUNT;
	args.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;

	buffer = host_contiguous(PAGE);
	do {
		UINT before = args.MultipassOffset;

		status = host_build(&args, buffer, 300, &used);
		EXPECT(args.MultipassOffset > before);
		host_wait_completed(HOST_NODE_PAGING,
				    host_submit_flags(host.system_context, 0, buffer, used, 1));
		passes++;
	} while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(status, STATUS_SUCCESS);
	EXPECT(passes > 2);
	for (UINT i = 0; i < COUNT; i++)
		EXPECT_EQ(((ULONGLONG *)host.local)[3 + i], (ULONGLONG)i * i << 12 |
								    1 << SOFTGPU_PTE_SEGMENT_SHIFT |
								    SOFTGPU_PTE_VALID);
	EXPECT_EQ(((ULONGLONG *)host.local)[2], ~0ULL);
	EXPECT_EQ(((ULONGLONG *)host.local)[3 + COUNT], ~0ULL);
	MmFreeContiguousMemory(buffer);
	host_stop();
}

TEST(paging, a_long_run_of_entries_is_one_command)
{
	DXGK_PTE ptes[512];
	DXGKARG_BUILDPAGINGBUFFER args = operation(DXGK_OPERATION_UPDATE_PAGE_TABLE);
	PUCHAR buffer;
	UINT used;

	host_start(NULL);
	for (UINT i = 0; i < 512; i++)
		ptes[i] = (DXGK_PTE){ .Valid = 1, .Segment = 1, .PageAddress = 1000 + i };
	args.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = SOFTGPU_SEGMENT_LOCAL;
	args.UpdatePageTable.pPageTableEntries = ptes;
	args.UpdatePageTable.NumPageTableEntries = 512;
	args.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
	buffer = host_contiguous(PAGE);
	EXPECT_EQ(host_build(&args, buffer, PAGE, &used), STATUS_SUCCESS);
	EXPECT(used <= 64);
	host_wait_completed(HOST_NODE_PAGING,
			    host_submit_flags(host.system_context, 0, buffer, used, 1));
	EXPECT_EQ(((ULONGLONG *)host.local)[511],
		  1511ULL << 12 | 1 << SOFTGPU_PTE_SEGMENT_SHIFT | SOFTGPU_PTE_VALID);

	/* Repeat: the first entry over and over. */
	ptes[0].Valid = 0;
	args.MultipassOffset = 0;
	args.UpdatePageTable.Flags.Repeat = 1;
	host_page(&args);
	for (UINT i = 0; i < 512; i++)
		EXPECT_EQ(((ULONGLONG *)host.local)[i], 0);
	MmFreeContiguousMemory(buffer);
	host_stop();
}

TEST(paging, a_full_buffer_is_said_to_be_full_before_anything_is_written)
{
	UCHAR buffer[64];
	UINT used;

	host_start(NULL);
	DXGKARG_BUILDPAGINGBUFFER args = fill_at(host_local_address(0), PAGE, 0);
	memset(buffer, 0x5a, sizeof(buffer));
	EXPECT_EQ(host_build(&args, buffer, 39, &used), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(used, 0);
	EXPECT_EQ(buffer[0], 0x5a);
	EXPECT_EQ(host_build(&args, buffer, 40, &used), STATUS_SUCCESS);
	EXPECT_EQ(used, 40);
	EXPECT_EQ(buffer[40], 0x5a);
	host_stop();
}

TEST(paging, what_needs_nothing_writes_nothing)
{
	static const ULONG operations[] = { DXGK_OPERATION_DISCARD_CONTENT,
					    DXGK_OPERATION_FLUSH_TLB };
	UCHAR buffer[64];
	UINT used;

	host_start(NULL);
	for (size_t i = 0; i < RTL_NUMBER_OF(operations); i++) {
		DXGKARG_BUILDPAGINGBUFFER args = operation(operations[i]);

		EXPECT_EQ(host_build(&args, buffer, sizeof(buffer), &used), STATUS_SUCCESS);
		EXPECT_EQ(used, 0);
	}
	DXGKARG_BUILDPAGINGBUFFER notice = operation(DXGK_OPERATION_TRANSFER);
	EXPECT_EQ(host_build(&notice, buffer, sizeof(buffer), &used), STATUS_SUCCESS);
	EXPECT_EQ(used, 0);
	host_stop();
}

TEST(paging, addresses_outside_the_segments_are_refused)
{
	UCHAR buffer[64];
	UINT used;

	host_start(NULL);
	DXGKARG_BUILDPAGINGBUFFER args = fill_at(0, PAGE, 0); /* the base was forgotten */
	EXPECT_EQ(host_build(&args, buffer, sizeof(buffer), &used), STATUS_INVALID_PARAMETER);
	args = fill_at(host_local_address(host.segments[0].Size), PAGE, 0);
	EXPECT_EQ(host_build(&args, buffer, sizeof(buffer), &used), STATUS_INVALID_PARAMETER);

	DXGKARG_BUILDPAGINGBUFFER unmap = operation(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
	unmap.UnmapApertureSegment.SegmentId = SOFTGPU_SEGMENT_APERTURE;
	unmap.UnmapApertureSegment.OffsetInPages = host.segments[1].Size / PAGE - 1;
	unmap.UnmapApertureSegment.NumberOfPages = 2;
	EXPECT_EQ(host_build(&unmap, buffer, sizeof(buffer), &used), STATUS_INVALID_PARAMETER);
	unmap.UnmapApertureSegment.OffsetInPages = ~(SIZE_T)0;
	EXPECT_EQ(host_build(&unmap, buffer, sizeof(buffer), &used), STATUS_INVALID_PARAMETER);
	host_stop();
}

TEST(paging, virtual_transfers_use_the_tables_of_the_system_context)
{
	DXGKARG_CREATECONTEXT create = { .NodeOrdinal = HOST_NODE_PAGING,
					 .EngineAffinity = 1,
					 .Flags = { .SystemContext = 1, .VirtualAddressing = 1 } };
	DXGKARG_BUILDPAGINGBUFFER fill = operation(DXGK_OPERATION_VIRTUAL_FILL);
	DXGKARG_BUILDPAGINGBUFFER copy = operation(DXGK_OPERATION_VIRTUAL_TRANSFER);
	DXGKARG_BUILDPAGINGBUFFER fence = operation(DXGK_OPERATION_SIGNAL_MONITORED_FENCE);
	PUCHAR buffer;
	PUCHAR page;
	UINT used;
	UINT total = 0;

	host_start((const struct host_setting[]){ { "PageTableLevels", NULL, 2 }, { 0 } });
	EXPECT_EQ(host.ddi.DxgkDdiCreateContext(host.system_device, &create), STATUS_SUCCESS);
	page = host_contiguous(PAGE);

	/* Root at 0, one leaf table at 4096; page 1 is local memory, page 2 a system page. */
	ULONGLONG *root = (ULONGLONG *)host.local;
	ULONGLONG *leaf = (ULONGLONG *)(host.local + PAGE);
	memset(host.local, 0, 2 * PAGE);
	root[0] = PAGE | 1 << SOFTGPU_PTE_SEGMENT_SHIFT | SOFTGPU_PTE_VALID;
	leaf[1] = 0x100000 | 1 << SOFTGPU_PTE_SEGMENT_SHIFT | SOFTGPU_PTE_VALID;
	leaf[2] = (ULONGLONG)MmGetPhysicalAddress(page).QuadPart | SOFTGPU_PTE_VALID;
	DXGKARG_SETROOTPAGETABLE set = { .hContext = create.hContext,
					 .Address = { .SegmentId = SOFTGPU_SEGMENT_LOCAL },
					 .NumEntries = 512 };
	host.ddi.DxgkDdiSetRootPageTable(host.adapter, &set);

	buffer = host_contiguous(PAGE);
	fill.FillVirtual.DestinationVirtualAddress = PAGE;
	fill.FillVirtual.FillSizeInBytes = PAGE;
	fill.FillVirtual.FillPattern = 0xabcd1234;
	EXPECT_EQ(host_build(&fill, buffer, PAGE, &used), STATUS_SUCCESS);
	total += used;
	copy.TransferVirtual.SourceVirtualAddress = PAGE;
	copy.TransferVirtual.DestinationVirtualAddress = 2 * PAGE;
	copy.TransferVirtual.TransferSizeInBytes = PAGE - 8;
	EXPECT_EQ(host_build(&copy, buffer + total, PAGE - total, &used), STATUS_SUCCESS);
	total += used;
	fence.SignalMonitoredFence.MonitoredFenceGpuVa = 3 * PAGE - 8;
	fence.SignalMonitoredFence.MonitoredFenceValue = 99;
	EXPECT_EQ(host_build(&fence, buffer + total, PAGE - total, &used), STATUS_SUCCESS);
	total += used;
	host_wait_completed(HOST_NODE_PAGING,
			    host_submit_flags(create.hContext, 0, buffer, total, 1));
	EXPECT_EQ(*(UINT *)(host.local + 0x100000), 0xabcd1234);
	EXPECT_EQ(*(UINT *)page, 0xabcd1234);
	EXPECT_EQ(*(ULONGLONG *)(page + PAGE - 8), 99);

	MmFreeContiguousMemory(buffer);
	MmFreeContiguousMemory(page);
	host_destroy_context(create.hContext);
	host_stop();
}

TEST_MAIN("soft/paging")
