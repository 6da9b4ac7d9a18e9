/*
 * system_segment_test.c - drivers of WDDM 2 that place memory in the segment behind those they
 * reported, which is system memory: it has a size, a limit and a budget, and all who ask are told
 * the same.
 */
#include "api/recorder.h"

#define MIB UINT64_C(0x100000)

/* Of a machine with 512 MiB, half is for graphics. */
enum { MACHINE_MIB = 512, LIMIT_MIB = 256, PIECE_MIB = 100 };

static D3DKMT_HANDLE queue;

static D3DKMT_HANDLE create_piece(D3DKMT_HANDLE device)
{
	D3DDDI_ALLOCATIONINFO2 info = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	CHILD_EXPECT(D3DKMTCreateAllocation2(&args) == STATUS_SUCCESS);
	return info.hAllocation;
}

static NTSTATUS bring_in(D3DKMT_HANDLE handle, UINT64 *bytes_to_trim_out)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = queue,
				     .NumAllocations = 1,
				     .AllocationList = &handle };
	NTSTATUS status = D3DKMTMakeResident(&args);

	*bytes_to_trim_out = args.NumBytesToTrim;
	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

static D3DKMT_QUERYVIDEOMEMORYINFO memory_info(D3DKMT_HANDLE adapter)
{
	D3DKMT_QUERYVIDEOMEMORYINFO args = { .hAdapter = adapter,
					     .MemorySegmentGroup =
						     D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL };

	CHILD_EXPECT(D3DKMTQueryVideoMemoryInfo(&args) == STATUS_SUCCESS);
	return args;
}

static D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION segment_info(LUID luid, unsigned index)
{
	D3DKMT_QUERYSTATISTICS query = { .Type = D3DKMT_QUERYSTATISTICS_SEGMENT,
					 .AdapterLuid = luid };

	query.QuerySegment.SegmentId = index;
	CHILD_EXPECT(D3DKMTQueryStatistics(&query) == STATUS_SUCCESS);
	return query.QueryResult.SegmentInformation;
}

static unsigned segment_count(LUID luid)
{
	D3DKMT_QUERYSTATISTICS query = { .Type = D3DKMT_QUERYSTATISTICS_ADAPTER,
					 .AdapterLuid = luid };

	CHILD_EXPECT(D3DKMTQueryStatistics(&query) == STATUS_SUCCESS);
	return query.QueryResult.AdapterInformation.NbSegments;
}

/* The last of the segments is what holds it all. */
CHILD(lives_in_system_memory)
{
	D3DKMT_ADAPTERINFO info;
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 1, .pAdapters = &info };
	D3DKMT_CREATEPAGINGQUEUE paging = { 0 };
	D3DKMT_SEGMENTGROUPSIZEINFO sizes = { 0 };
	D3DKMT_HANDLE pieces[3];
	UINT64 bytes_to_trim;

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS && all.NumAdapters == 1);
	D3DKMT_HANDLE device = child_create_device(info.hAdapter);
	paging.hDevice = device;
	CHILD_EXPECT(D3DKMTCreatePagingQueue(&paging) == STATUS_SUCCESS);
	queue = paging.hPagingQueue;

	UINT64 budget = memory_info(info.hAdapter).Budget;
	CHILD_EXPECT(budget == LIMIT_MIB * MIB);
	CHILD_EXPECT(query_adapter(info.hAdapter, KMTQAITYPE_GETSEGMENTGROUPSIZE, &sizes,
				   sizeof(sizes)) == STATUS_SUCCESS);
	/* What is shared is all that graphics may have; an aperture alone is the local part. */
	CHILD_EXPECT(sizes.LegacyInfo.SharedSystemMemorySize == LIMIT_MIB * MIB);
	unsigned last = segment_count(info.AdapterLuid) - 1;
	CHILD_EXPECT(last == 1);
	CHILD_EXPECT(segment_info(info.AdapterLuid, last).CommitLimit == LIMIT_MIB * MIB);
	CHILD_EXPECT(segment_info(info.AdapterLuid, last).SegmentProperties.SystemMemory);

	for (unsigned i = 0; i < 3; i++)
		pieces[i] = create_piece(device);
	CHILD_EXPECT(bring_in(pieces[0], &bytes_to_trim) == STATUS_SUCCESS);
	CHILD_EXPECT(bring_in(pieces[1], &bytes_to_trim) == STATUS_SUCCESS);
	CHILD_EXPECT(memory_info(info.hAdapter).CurrentUsage == 2 * PIECE_MIB * MIB);
	CHILD_EXPECT(segment_info(info.AdapterLuid, last).BytesResident == 2 * PIECE_MIB * MIB);
	/* The third is more than there is, by what has to go. */
	CHILD_EXPECT(bring_in(pieces[2], &bytes_to_trim) == STATUS_NO_MEMORY);
	CHILD_EXPECT(bytes_to_trim == (3 * PIECE_MIB - LIMIT_MIB) * MIB);
	say("-- exit");
	return 0;
}

static const char *machine_setting(void)
{
	static char setting[64];

	snprintf(setting, sizeof(setting), "DXGK_PHYSICAL_MIB=%d", MACHINE_MIB);
	return setting;
}

#define PIECES_IN_2                                                                                \
	"\"Allocation.Size\": 104857600, \"Allocation.PreferredSegment\": 2, "                     \
	"\"Allocation.SupportedReadSegmentSet\": 2, \"Allocation.SupportedWriteSegmentSet\": 2, "  \
	"\"Level0.PageTableSegmentId\": 2, \"Level1.PageTableSegmentId\": 2, "                     \
	"\"Level2.PageTableSegmentId\": 2, \"Level0.PagingProcessPageTableSegmentId\": 2, "        \
	"\"Level1.PagingProcessPageTableSegmentId\": 2, "                                          \
	"\"Level2.PagingProcessPageTableSegmentId\": 2, \"NbSegment\": 1, "

TEST(system_segment, holds_memory_of_a_driver_with_an_aperture_alone)
{
	const struct child_result *child = run_child(
		"lives_in_system_memory", recorder_profile(PIECES_IN_2 "\"Segment1.Flags\": 1", ""),
		machine_setting());

	EXPECT_CHILD(child, 0);
}

TEST(system_segment, holds_memory_of_a_driver_without_an_aperture)
{
	const struct child_result *child = run_child(
		"lives_in_system_memory",
		recorder_profile(PIECES_IN_2 "\"Segment1.Flags\": 32772", ""), machine_setting());

	EXPECT_CHILD(child, 0);
}

int main(int argc, char **argv)
{
	return api_main("api/system_segment", argc, argv);
}
