/* SPDX-License-Identifier: MIT */
/*
 * ctl_stats.c - dxgk ctl stats: what an adapter, its segments and nodes, and the process on it
 * count.
 */
#include <inttypes.h>
#include <stdio.h>

#include <dxg/d3dkmthk.h>

#include "base/status.h"
#include "cli/ctl.h"

static bool ask(const struct control_client *client, D3DKMT_QUERYSTATISTICS_TYPE type,
		uint32_t selector, D3DKMT_QUERYSTATISTICS *query)
{
	struct control_reply reply;

	*query = (D3DKMT_QUERYSTATISTICS){ .Type = type };
	query->QuerySegment.SegmentId = selector;
	if (!control_ask(client, CONTROL_STATISTICS, 0, query, sizeof(*query), &reply))
		return false;
	if (!NT_SUCCESS(reply.status))
		control_print_refusal(client, "stats", &reply);
	return NT_SUCCESS(reply.status);
}

static void print_counter(const char *name, const D3DKMT_QUERYSTATISTICS_COUNTER *counter)
{
	printf("  %-24s %10u %16" PRIu64 " bytes\n", name, counter->Count,
	       (uint64_t)counter->Bytes);
}

static void print_bytes(const char *name, uint64_t bytes)
{
	printf("  %-24s %10s %16" PRIu64 " bytes\n", name, "", bytes);
}

static void print_count(const char *name, uint64_t count)
{
	printf("  %-24s %10" PRIu64 "\n", name, count);
}

static void print_adapter(const D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION *adapter)
{
	printf("adapter\n");
	print_count("segments", adapter->NbSegments);
	print_count("nodes", adapter->NodeCount);
	print_count("recoveries", adapter->TdrDetectedCount);
	print_counter("came in", &adapter->PagingFault.Faults);
	print_counter("… for the first time", &adapter->PagingFault.FaultsFirstTimeAccess);
	print_counter("… copied back", &adapter->PagingFault.FaultsEvicted);
	print_counter("went out", &adapter->PagingFault.Evictions);
	print_counter("… destroyed", &adapter->PagingFault.EvictionsDueToClose);
	print_bytes("copied out", adapter->PagingTransfer.BytesTransferredFromMemoryToMdl);
	print_bytes("discarded", adapter->PagingTransfer.BytesDiscarded);
}

static void print_segment(uint32_t index, const D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION *segment)
{
	printf("segment %u%s\n", index + 1, segment->Aperture ? ", aperture" : "");
	print_bytes("commit limit", segment->CommitLimit);
	print_bytes("resident", segment->BytesResident);
	print_count("allocations", segment->Memory.AllocsResident);
	print_count("… on a residency list", segment->Memory.AllocsCommitted);
	print_bytes("evicted so far", segment->Memory.TotalBytesEvicted);
}

static void print_group(const char *name,
			const D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP_INFORMATION *group)
{
	printf("process, %s memory\n", name);
	print_bytes("budget", group->Budget);
	print_bytes("wants resident", group->Requested);
	print_bytes("has resident", group->Usage);
}

static void print_node(uint32_t index, const D3DKMT_QUERYSTATISTICS_NODE_INFORMATION *node)
{
	const D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION *all = &node->GlobalInformation;
	const D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION *client =
		&all->PacketStatistics.DmaPacket[D3DKMT_ClientRenderBuffer];
	const D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION *paging =
		&all->PacketStatistics.DmaPacket[D3DKMT_SystemPagingBuffer];

	printf("node %u\n", index);
	printf("  %-24s %10" PRIu64 " us\n", "busy", (uint64_t)all->RunningTime.QuadPart / 10);
	print_count("client packets", client->PacketSubmited);
	print_count("… completed", client->PacketCompleted);
	print_count("… preempted", client->PacketPreempted);
	print_count("… aborted", client->PacketFaulted);
	print_count("paging packets", paging->PacketSubmited);
	print_count("… completed", paging->PacketCompleted);
}

static bool print_process(const struct control_client *client)
{
	static const char *const names[] = { "local", "non-local" };
	D3DKMT_QUERYSTATISTICS query;

	if (!ask(client, D3DKMT_QUERYSTATISTICS_PROCESS, 0, &query))
		return false;
	printf("process\n");
	print_bytes("system memory",
		    query.QueryResult.ProcessInformation.SystemMemory.BytesAllocated);
	if (!ask(client, D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER, 0, &query))
		return false;
	print_bytes("evicted from it", query.QueryResult.ProcessAdapterInformation.CommitmentData
					       .TotalBytesEvictedFromProcess);
	for (uint32_t i = 0; i < 2; i++) {
		if (!ask(client, D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP, i, &query))
			return false;
		print_group(names[i], &query.QueryResult.ProcessSegmentGroupInformation);
	}
	return true;
}

int ctl_stats(const struct control_client *client, char **arguments)
{
	D3DKMT_QUERYSTATISTICS query;

	(void)arguments;
	if (!ask(client, D3DKMT_QUERYSTATISTICS_ADAPTER, 0, &query))
		return CTL_FAILED;
	uint32_t segments = query.QueryResult.AdapterInformation.NbSegments;
	uint32_t nodes = query.QueryResult.AdapterInformation.NodeCount;
	print_adapter(&query.QueryResult.AdapterInformation);
	for (uint32_t i = 0; i < segments; i++) {
		if (!ask(client, D3DKMT_QUERYSTATISTICS_SEGMENT, i, &query))
			return CTL_FAILED;
		print_segment(i, &query.QueryResult.SegmentInformation);
	}
	for (uint32_t i = 0; i < nodes; i++) {
		if (!ask(client, D3DKMT_QUERYSTATISTICS_NODE, i, &query))
			return CTL_FAILED;
		print_node(i, &query.QueryResult.NodeInformation);
	}
	return print_process(client) ? 0 : CTL_FAILED;
}
