/* SPDX-License-Identifier: MIT */
/*
 * statistics_test.c - D3DKMTQueryStatistics: what is counted is what happened, and adds up. On a
 * GPU with 8 MiB.
 */
#include "api/control.h"

TEST(statistics, a_segment_counts_who_is_in_it)
{
	struct client client = begin_uncontrolled();
	D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION before = segment_statistics(LOCAL_SEGMENT);
	D3DKMT_HANDLE list[] = { resident(&client, MIB), resident(&client, 64 * KIB) };
	D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION after = segment_statistics(LOCAL_SEGMENT);

	EXPECT_EQ(after.CommitLimit, 8 * MIB);
	EXPECT_EQ(after.BytesResident, before.BytesResident + MIB + 64 * KIB);
	EXPECT_EQ(after.BytesCommitted, after.BytesResident);
	EXPECT_EQ(after.Memory.AllocsResident, before.Memory.AllocsResident + 2);
	EXPECT_EQ(after.Memory.AllocsCommitted, before.Memory.AllocsCommitted + 2);
	EXPECT_OK(evict(&client, list, 1, ONLY_IF_NECESSARY));
	after = segment_statistics(LOCAL_SEGMENT);
	EXPECT_EQ(after.Memory.AllocsResident, before.Memory.AllocsResident + 2);
	EXPECT_EQ(after.Memory.AllocsCommitted, before.Memory.AllocsCommitted + 1);
	EXPECT_OK(destroy_now(&client, list[0]));
	EXPECT_OK(destroy_now(&client, list[1]));
	EXPECT_EQ(segment_statistics(LOCAL_SEGMENT).BytesResident, before.BytesResident);
	expect_valid();
}

TEST(statistics, an_eviction_is_counted_by_its_priority)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident(&client, MIB);
	UINT priority = D3DDDI_ALLOCATIONPRIORITY_HIGH;
	D3DKMT_SETALLOCATIONPRIORITY set = { .hDevice = client.device,
					     .phAllocationList = &one,
					     .AllocationCount = 1,
					     .pPriorities = &priority };
	D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION before = segment_statistics(LOCAL_SEGMENT);

	EXPECT_OK(D3DKMTSetAllocationPriority(&set));
	fill(&client, one, MIB, 1);
	EXPECT_OK(set_process(&client, 1));
	EXPECT_OK(evict(&client, &one, 1, 0));
	D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION after = segment_statistics(LOCAL_SEGMENT);
	EXPECT_EQ(after.Memory.TotalBytesEvicted, before.Memory.TotalBytesEvicted + MIB);
	for (unsigned i = 0; i < D3DKMT_MaxAllocationPriorityClass; i++)
		EXPECT_EQ(after.TotalBytesEvictedByPriority[i],
			  before.TotalBytesEvictedByPriority[i] +
				  (i == D3DKMT_AllocationPriorityClassHigh ? MIB : 0));
}

TEST(statistics, the_adapter_counts_every_way_in_and_out)
{
	SKIP_UNLESS(!is_served(),
		    "memory of a server's client takes its pages along, and nothing is paged in");

	struct client client = begin_uncontrolled();
	D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION before = adapter_statistics();
	D3DKMT_HANDLE one = resident(&client, MIB);
	D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION after = adapter_statistics();

	EXPECT_EQ(after.PagingFault.Faults.Count, before.PagingFault.Faults.Count + 1);
	EXPECT_EQ(after.PagingFault.FaultsFirstTimeAccess.Bytes,
		  before.PagingFault.FaultsFirstTimeAccess.Bytes + MIB);
	EXPECT_EQ(after.PagingTransfer.BytesFilled, before.PagingTransfer.BytesFilled + MIB);

	EXPECT_OK(set_process(&client, 1));
	EXPECT_OK(evict(&client, &one, 1, 0));
	EXPECT_OK(make_resident(&client, &one, 1, 0));
	after = adapter_statistics();
	EXPECT_EQ(after.PagingFault.Evictions.Count, before.PagingFault.Evictions.Count + 1);
	EXPECT_EQ(after.PagingTransfer.BytesTransferredFromMemoryToMdl,
		  before.PagingTransfer.BytesTransferredFromMemoryToMdl + MIB);
	EXPECT_EQ(after.PagingTransfer.BytesTransferredFromMdlToMemory,
		  before.PagingTransfer.BytesTransferredFromMdlToMemory + MIB);
	EXPECT_EQ(after.PagingFault.FaultsEvicted.Count,
		  before.PagingFault.FaultsEvicted.Count + 1);

	EXPECT_OK(destroy_now(&client, one));
	after = adapter_statistics();
	EXPECT_EQ(after.PagingFault.EvictionsDueToClose.Bytes,
		  before.PagingFault.EvictionsDueToClose.Bytes + MIB);
	EXPECT_EQ(after.PagingTransfer.BytesDiscarded, before.PagingTransfer.BytesDiscarded + MIB);
	/* What came in has gone out. */
	EXPECT_EQ(after.PagingFault.Faults.Bytes - before.PagingFault.Faults.Bytes,
		  after.PagingFault.Evictions.Bytes - before.PagingFault.Evictions.Bytes);
}

TEST(statistics, segments_of_a_process_add_up_to_its_usage)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident(&client, MIB);
	D3DKMT_HANDLE two = resident(&client, 256 * KIB);
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_INFORMATION segment =
		statistics(D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT, LOCAL_SEGMENT - 1)
			.QueryResult.ProcessSegmentInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP_INFORMATION group =
		statistics(D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP, 0)
			.QueryResult.ProcessSegmentGroupInformation;
	UINT64 in_places = segment.VideoMemory.AllocsResidentInNonPreferred.Bytes;

	EXPECT_EQ(segment.BytesCommitted, MIB + 256 * KIB);
	EXPECT_EQ(segment.VideoMemory.AllocsCommitted, 2);
	for (unsigned i = 0; i < D3DKMT_QUERYSTATISTICS_SEGMENT_PREFERENCE_MAX; i++)
		in_places += segment.VideoMemory.AllocsResidentInP[i].Bytes;
	EXPECT_EQ(in_places, segment.BytesCommitted);
	EXPECT_EQ(group.Usage, segment.BytesCommitted);
	EXPECT_EQ(group.Requested, memory_info(&client, 0).CurrentUsage);
	EXPECT_EQ(group.Budget, memory_info(&client, 0).Budget);
	EXPECT_OK(destroy_now(&client, one));
	EXPECT_OK(destroy_now(&client, two));
}

TEST(statistics, a_process_counts_its_system_memory_and_its_evictions)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = create_sized(&client, MIB, SOFTGPU_CPU_VISIBLE);

	fill(&client, one, MIB, 2);
	EXPECT_EQ(statistics(D3DKMT_QUERYSTATISTICS_PROCESS, 0)
			  .QueryResult.ProcessInformation.SystemMemory.BytesAllocated,
		  MIB);
	EXPECT_OK(make_resident(&client, &one, 1, 0));
	EXPECT_OK(set_process(&client, 1));
	EXPECT_OK(evict(&client, &one, 1, 0));
	EXPECT_EQ(statistics(D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER, 0)
			  .QueryResult.ProcessAdapterInformation.CommitmentData
			  .TotalBytesEvictedFromProcess,
		  MIB);
}

TEST(statistics, nodes_count_paging_packets_that_all_complete)
{
	SKIP_UNLESS(!is_served(),
		    "memory of a server's client takes its pages along, and nothing is paged in");

	struct client client = begin_uncontrolled();
	D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION adapter = adapter_statistics();
	UINT64 submitted[2] = { 0, 0 };
	UINT64 completed = 0;
	UINT64 busy = 0;

	for (unsigned round = 0; round < 2; round++) {
		for (ULONG i = 0; i < adapter.NodeCount; i++) {
			D3DKMT_QUERYSTATISTICS_NODE_INFORMATION node =
				statistics(D3DKMT_QUERYSTATISTICS_NODE, i)
					.QueryResult.NodeInformation;
			const D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION *paging =
				&node.SystemInformation.PacketStatistics
					 .DmaPacket[D3DKMT_SystemPagingBuffer];

			submitted[round] += paging->PacketSubmited;
			completed += round == 1 ? paging->PacketCompleted : 0;
			busy += (UINT64)node.GlobalInformation.RunningTime.QuadPart;
		}
		if (round == 0) {
			(void)resident(&client, MIB);
			flush(&client);
		}
	}
	EXPECT(submitted[1] > submitted[0]);
	EXPECT_EQ(completed, submitted[1]);
	EXPECT(busy > 0);
}

TEST(statistics, a_recovery_is_counted)
{
	struct client client = begin_uncontrolled();
	ULONG before = adapter_statistics().TdrDetectedCount;
	D3DKMT_TDRDBGCTRL_ESCAPE args = { .TdrControl = D3DKMT_TDRDBGCTRLTYPE_FORCETDR };
	D3DKMT_ESCAPE escape = { .hAdapter = client.adapter,
				 .Type = D3DKMT_ESCAPE_TDRDBGCTRL,
				 .pPrivateDriverData = &args,
				 .PrivateDriverDataSize = sizeof(args) };

	EXPECT_OK(D3DKMTEscape(&escape));
	EXPECT_EQ(adapter_statistics().TdrDetectedCount, before + 1);
}

TEST(statistics, wrong_selectors_and_processes_are_refused)
{
	struct client client = begin_uncontrolled();
	D3DKMT_QUERYSTATISTICS args = { .AdapterLuid = adapter_luid };

	(void)client;
	args.QuerySegment.SegmentId = 64;
	args.Type = D3DKMT_QUERYSTATISTICS_SEGMENT;
	EXPECT_BAD(D3DKMTQueryStatistics(&args), "API-VALUE", "QuerySegment.SegmentId");
	args.Type = D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT;
	EXPECT_BAD(D3DKMTQueryStatistics(&args), "API-VALUE", "QueryProcessSegment.SegmentId");
	args.Type = D3DKMT_QUERYSTATISTICS_NODE;
	EXPECT_BAD(D3DKMTQueryStatistics(&args), "API-VALUE", "QueryNode.NodeId");
	args.Type = D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP;
	EXPECT_BAD(D3DKMTQueryStatistics(&args), "API-VALUE", "QueryProcessSegmentGroup");
	args.QuerySegment.SegmentId = 0;
	args.hProcess = (HANDLE)(intptr_t)99;
	EXPECT_REFUSED(D3DKMTQueryStatistics(&args), STATUS_INVALID_HANDLE, "API-HANDLE",
		       "hProcess");
	args.hProcess = (HANDLE)(intptr_t)-1;
	EXPECT_OK(D3DKMTQueryStatistics(&args));
	for (unsigned type = 6; type <= 10; type++) {
		args.Type = (D3DKMT_QUERYSTATISTICS_TYPE)type;
		if (type != D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP)
			EXPECT_REFUSED(D3DKMTQueryStatistics(&args), STATUS_NOT_SUPPORTED,
				       "API-NOT-BUILT", "Type");
	}
}

API_TEST_MAIN("api/statistics")
