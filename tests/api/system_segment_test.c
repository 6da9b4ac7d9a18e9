/* SPDX-License-Identifier: MIT */
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

static D3DKMT_QUERYVIDEOMEMORYINFO memory_info(D3DKMT_HANDLE adapter,
					       D3DKMT_MEMORY_SEGMENT_GROUP group)
{
	D3DKMT_QUERYVIDEOMEMORYINFO args = { .hAdapter = adapter, .MemorySegmentGroup = group };

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
static int live_in_system_memory(D3DKMT_MEMORY_SEGMENT_GROUP group)
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

	UINT64 budget = memory_info(info.hAdapter, group).Budget;
	CHILD_EXPECT(budget == LIMIT_MIB * MIB);
	CHILD_EXPECT(query_adapter(info.hAdapter, KMTQAITYPE_GETSEGMENTGROUPSIZE, &sizes,
				   sizeof(sizes)) == STATUS_SUCCESS);
	/* What is shared is all that graphics may have. */
	CHILD_EXPECT(sizes.LegacyInfo.SharedSystemMemorySize == LIMIT_MIB * MIB);
	unsigned last = segment_count(info.AdapterLuid) - 1;
	CHILD_EXPECT(last == 1);
	CHILD_EXPECT(segment_info(info.AdapterLuid, last).CommitLimit == LIMIT_MIB * MIB);
	CHILD_EXPECT(segment_info(info.AdapterLuid, last).SegmentProperties.SystemMemory);

	for (unsigned i = 0; i < 3; i++)
		pieces[i] = create_piece(device);
	CHILD_EXPECT(bring_in(pieces[0], &bytes_to_trim) == STATUS_SUCCESS);
	CHILD_EXPECT(bring_in(pieces[1], &bytes_to_trim) == STATUS_SUCCESS);
	CHILD_EXPECT(memory_info(info.hAdapter, group).CurrentUsage == 2 * PIECE_MIB * MIB);
	CHILD_EXPECT(segment_info(info.AdapterLuid, last).BytesResident == 2 * PIECE_MIB * MIB);
	/* The third is more than there is, by what has to go. */
	CHILD_EXPECT(bring_in(pieces[2], &bytes_to_trim) == STATUS_NO_MEMORY);
	CHILD_EXPECT(bytes_to_trim == (3 * PIECE_MIB - LIMIT_MIB) * MIB);
	say("-- exit");
	return 0;
}

CHILD(lives_in_local_system_memory)
{
	return live_in_system_memory(D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL);
}

CHILD(lives_in_non_local_system_memory)
{
	return live_in_system_memory(D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL);
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
		"lives_in_local_system_memory",
		recorder_profile(PIECES_IN_2 "\"Segment1.Flags\": 1", ""), machine_setting());

	EXPECT_CHILD(child, 0);
}

TEST(system_segment, holds_memory_of_a_driver_without_an_aperture)
{
	const struct child_result *child = run_child(
		"lives_in_non_local_system_memory",
		recorder_profile(PIECES_IN_2 "\"Segment1.Flags\": 32772", ""), machine_setting());

	EXPECT_CHILD(child, 0);
}

/* ---- all who are asked say the same ---- */

CHILD(asks_for_groups)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_SEGMENTGROUPSIZEINFO sizes = { 0 };

	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_GETSEGMENTGROUPSIZE, &sizes,
				   sizeof(sizes)) == STATUS_SUCCESS);
	dprintf(STDOUT_FILENO,
		"-- groups\n"
		"      \"localBytes\": %llu,\n      \"nonLocalBytes\": %llu\n"
		"      \"localBytes\": %llu,\n      \"nonLocalBytes\": %llu\n",
		(unsigned long long)sizes.LocalMemory, (unsigned long long)sizes.NonLocalMemory,
		(unsigned long long)memory_info(adapter, D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL).Budget,
		(unsigned long long)memory_info(adapter, D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL)
			.Budget);
	return 0;
}

/* KMTQAITYPE_GETSEGMENTGROUPSIZE, D3DKMTQueryVideoMemoryInfo, dxgk info. */
static void expect_groups(const char *registry, unsigned local_mib, unsigned non_local_mib)
{
	static struct child_result shown;
	char preload[4096];
	char once[128];
	char twice[256];
	char *arguments[] = { getenv("TEST_DXGK"), (char *)"info", (char *)"--json", NULL };
	const char *profile = recorder_profile(registry, "");
	const char *const settings[] = { profile, machine_setting(), preload, NULL };

	snprintf(once, sizeof(once), "      \"localBytes\": %llu,\n      \"nonLocalBytes\": %llu\n",
		 (unsigned long long)(local_mib * MIB), (unsigned long long)(non_local_mib * MIB));
	snprintf(twice, sizeof(twice), "%s%s", once, once);
	const struct child_result *child = run_child("asks_for_groups", profile, machine_setting());
	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->out, twice);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("TEST_UNHEARD"));
	run_program(arguments, settings, &shown);
	EXPECT_CHILD(&shown, 0);
	EXPECT_CONTAINS(shown.out, once);
}

#define TABLES_IN(segment)                                                                         \
	"\"Level0.PageTableSegmentId\": " segment ", \"Level1.PageTableSegmentId\": " segment      \
	", \"Level2.PageTableSegmentId\": " segment                                                \
	", \"Level0.PagingProcessPageTableSegmentId\": " segment                                   \
	", \"Level1.PagingProcessPageTableSegmentId\": " segment                                   \
	", \"Level2.PagingProcessPageTableSegmentId\": " segment ", "

/* System memory is what is local, once, by an aperture that shows all of it or a part. */
TEST(groups, of_an_adapter_with_an_aperture_alone_are_one)
{
	expect_groups(PIECES_IN_2 "\"Segment1.Flags\": 1", LIMIT_MIB, 0);
	expect_groups(PIECES_IN_2 "\"Segment1.Flags\": 1, \"Segment1.Size\": 1073741824, "
				  "\"Segment1.CommitLimit\": 1073741824",
		      LIMIT_MIB, 0);
	/* … marked for applications, as integrated adapters do. */
	expect_groups(PIECES_IN_2 "\"Segment1.Flags\": 32769", LIMIT_MIB, 0);
}

/* What the firmware reserved is not for them, where the aperture is marked. */
TEST(groups, of_an_adapter_whose_own_memory_is_not_for_applications_are_one)
{
	expect_groups(TABLES_IN("3") "\"Segment1.Flags\": 4, \"Segment2.Flags\": 32769", LIMIT_MIB,
		      0);
}

TEST(groups, of_an_adapter_with_memory_are_two)
{
	expect_groups(TABLES_IN("3") "\"Segment1.Flags\": 32772", 64, 64);
	expect_groups(PIECES_IN_2 "\"Segment1.Flags\": 32772", 64, LIMIT_MIB);
}

/* Not more than is shared: half of the machine. */
TEST(groups, of_an_adapter_with_a_large_aperture_end_with_the_machine)
{
	expect_groups(TABLES_IN("3") "\"Segment1.Flags\": 32772, \"Segment2.Size\": 1073741824, "
				     "\"Segment2.CommitLimit\": 1073741824",
		      64, LIMIT_MIB);
}

TEST(groups, are_what_the_driver_says_they_are)
{
	enum { NON_LOCAL = 1 << 20 };
	char registry[1024];

	snprintf(registry, sizeof(registry), PIECES_IN_2 "\"Segment1.Flags\": %d", 1 | NON_LOCAL);
	expect_groups(registry, 0, 64);
}

int main(int argc, char **argv)
{
	return api_main("api/system_segment", argc, argv);
}
