/* SPDX-License-Identifier: MIT */
/*
 * statistics_calls.c - D3DKMTQueryStatistics: counters for tools.
 *
 * The selector stands behind the result, so it is read from our copy before anything is written.
 * Segments count from 0 here and from 1 in every DDI. What nobody counts is 0; docs/control.md
 * says which.
 */
#include <string.h>

#include "dispatch/dispatch.h"
#include "dispatch/rights.h"

enum { NS_PER_TIME_UNIT = 100 };

struct question {
	const struct call *call;
	struct dxg_adapter *adapter;
	uint32_t selector;
	D3DKMT_QUERYSTATISTICS_RESULT *result;
};

static D3DKMT_QUERYSTATISTICS_COUNTER counter_of(const struct vidmm_counter *counter)
{
	return (D3DKMT_QUERYSTATISTICS_COUNTER){ .Count = (ULONG)counter->count,
						 .Bytes = counter->bytes };
}

static void counter_add(D3DKMT_QUERYSTATISTICS_COUNTER *sum, const struct vidmm_counter *counter)
{
	sum->Count += (ULONG)counter->count;
	sum->Bytes += counter->bytes;
}

/* ---- the adapter ---- */

static void add_segment(D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION *sum,
			const struct vidmm_traffic *traffic)
{
	D3DKMT_QUERYSTATSTICS_PAGING_FAULT *fault = &sum->PagingFault;
	D3DKMT_QUERYSTATSTICS_PAGING_TRANSFER *transfer = &sum->PagingTransfer;

	counter_add(&fault->Faults, &traffic->entered);
	counter_add(&fault->FaultsFirstTimeAccess, &traffic->filled);
	counter_add(&fault->FaultsEvicted, &traffic->copied_in);
	counter_add(&fault->Evictions, &traffic->left);
	counter_add(&fault->EvictionsDueToClose, &traffic->closed);
	transfer->BytesFilled += traffic->filled.bytes;
	transfer->BytesDiscarded += traffic->discarded.bytes;
	transfer->BytesMappedIntoAperture += traffic->mapped_bytes;
	transfer->BytesUnmappedFromAperture += traffic->unmapped_bytes;
	transfer->BytesTransferredFromMdlToMemory += traffic->copied_in.bytes;
	transfer->BytesTransferredFromMemoryToMdl += traffic->evicted.bytes;
}

static NTSTATUS fill_adapter(const struct question *question)
{
	D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION *answer = &question->result->AdapterInformation;
	const struct miniport_info *info = question->adapter->info;
	struct vidmm_segment_usage usage;
	bool has_group[VIDMM_GROUPS] = { false, false };

	answer->NbSegments = info->counted_segment_count;
	answer->NodeCount = info->node_count;
	answer->VidPnSourceCount = info->video_present_sources;
	answer->TdrDetectedCount = sched_recovery_count(question->adapter->sched);
	/* The one that the kernel adds counts, too. */
	for (uint32_t id = 1; vidmm_segment_usage(question->adapter->memory, id, &usage); id++) {
		add_segment(answer, &usage.traffic);
		has_group[usage.group] = true;
	}
	answer->Flags.NumberOfMemoryGroups =
		(UINT64)has_group[VIDMM_LOCAL] + (UINT64)has_group[VIDMM_NON_LOCAL];
	answer->Flags.SupportsDemotion = has_group[VIDMM_LOCAL] && has_group[VIDMM_NON_LOCAL];
	return STATUS_SUCCESS;
}

/* ---- segments ---- */

static NTSTATUS check_segment(const struct question *question, const char *name)
{
	uint32_t count = question->adapter->info->counted_segment_count;

	if (question->selector >= count)
		return invalid(RULE_API_VALUE, name, "is %u, and there are %u segments",
			       question->selector, count);
	return STATUS_SUCCESS;
}

static NTSTATUS fill_segment(const struct question *question)
{
	D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION *answer = &question->result->SegmentInformation;
	struct vidmm_segment_usage usage = { 0 };
	NTSTATUS status = check_segment(question, "QuerySegment.SegmentId");

	if (!NT_SUCCESS(status))
		return status;
	const struct miniport_segment *segment =
		&question->adapter->info->segments[question->selector];
	(void)!vidmm_segment_usage(question->adapter->memory, question->selector + 1, &usage);
	answer->CommitLimit = segment->commit_limit_bytes;
	/* Memory is taken when something comes in: what is committed is resident. */
	answer->BytesCommitted = usage.resident_bytes;
	answer->BytesResident = usage.resident_bytes;
	answer->Memory.TotalBytesEvicted = usage.traffic.evicted.bytes;
	answer->Memory.AllocsCommitted = usage.needed_count;
	answer->Memory.AllocsResident = usage.resident_count;
	answer->Aperture = segment->is_aperture;
	for (int i = 0; i < D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS_MAX; i++)
		answer->TotalBytesEvictedByPriority[i] = usage.traffic.evicted_by_band[i];
	answer->SystemMemoryEndAddress = segment->system_memory_end_address;
	answer->SegmentProperties.SystemMemory =
		segment->is_aperture || segment->is_populated_from_system_memory;
	return STATUS_SUCCESS;
}

/* ---- processes ---- */

static NTSTATUS find_process(const struct question *question,
			     struct process_adapter **process_adapter_out)
{
	return process_join_adapter(question->call->process, question->adapter,
				    process_adapter_out);
}

static NTSTATUS fill_process(const struct question *question)
{
	D3DKMT_QUERYSTATISTICS_PROCESS_INFORMATION *answer = &question->result->ProcessInformation;
	struct dxg_process *process = question->call->process;

	answer->NodeCount = question->adapter->info->node_count;
	answer->VidPnSourceCount = question->adapter->info->video_present_sources;
	lock_acquire(&process->lock);
	list_each (struct process_adapter, each, &process->adapters, link) {
		const struct vidmm_account *account = &each->memory.account;

		answer->SystemMemory.BytesAllocated +=
			atomic_load_explicit(&account->committed_bytes, memory_order_relaxed);
		answer->SystemMemory.BytesReserved +=
			atomic_load_explicit(&account->viewed_bytes, memory_order_relaxed);
	}
	lock_release(&process->lock);
	return STATUS_SUCCESS;
}

static NTSTATUS fill_process_adapter(const struct question *question)
{
	D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER_INFORMATION *answer =
		&question->result->ProcessAdapterInformation;
	const struct miniport_info *info = question->adapter->info;
	struct vidmm_process_usage usage;
	struct process_adapter *process_adapter;
	NTSTATUS status = find_process(question, &process_adapter);

	if (!NT_SUCCESS(status))
		return status;
	answer->NbSegments = info->counted_segment_count;
	answer->NodeCount = info->node_count;
	answer->VidPnSourceCount = info->video_present_sources;
	answer->VirtualMemoryUsage = (ULONG)atomic_load_explicit(
		&process_adapter->memory.account.viewed_bytes, memory_order_relaxed);
	answer->CommitmentData.TotalBytesEvictedFromProcess = atomic_load_explicit(
		&process_adapter->memory.account.evicted_bytes, memory_order_relaxed);
	for (uint32_t id = 1; vidmm_process_segment_usage(&process_adapter->memory, id, &usage);
	     id++) {
		for (int i = 0; i < D3DKMT_QUERYSTATISTICS_SEGMENT_PREFERENCE_MAX; i++)
			answer->CommitmentData.BytesBySegmentPreference[i] +=
				usage.by_preference[i].bytes;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS fill_process_segment(const struct question *question)
{
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_INFORMATION *answer =
		&question->result->ProcessSegmentInformation;
	struct vidmm_process_usage usage = { 0 };
	struct process_adapter *process_adapter;
	NTSTATUS status = check_segment(question, "QueryProcessSegment.SegmentId");

	if (NT_SUCCESS(status))
		status = find_process(question, &process_adapter);
	if (!NT_SUCCESS(status))
		return status;
	(void)!vidmm_process_segment_usage(&process_adapter->memory, question->selector + 1,
					   &usage);
	answer->BytesCommitted = usage.resident.bytes;
	answer->MaximumWorkingSet =
		question->adapter->info->segments[question->selector].size_bytes;
	answer->VideoMemory.AllocsCommitted = (ULONG)usage.resident.count;
	for (int i = 0; i < D3DKMT_QUERYSTATISTICS_SEGMENT_PREFERENCE_MAX; i++)
		answer->VideoMemory.AllocsResidentInP[i] = counter_of(&usage.by_preference[i]);
	answer->VideoMemory.AllocsResidentInNonPreferred = counter_of(&usage.not_preferred);
	return STATUS_SUCCESS;
}

static NTSTATUS fill_process_group(const struct question *question)
{
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP_INFORMATION *answer =
		&question->result->ProcessSegmentGroupInformation;
	struct process_adapter *process_adapter;
	struct vidmm_process_usage usage;
	struct vidmm_segment_usage segment;

	if (question->selector >= VIDMM_GROUPS)
		return invalid(RULE_API_VALUE, "QueryProcessSegmentGroup",
			       "is %u, not 0 (local) or 1 (non-local)", question->selector);
	NTSTATUS status = find_process(question, &process_adapter);
	if (!NT_SUCCESS(status))
		return status;
	struct vidmm_memory_info info = vidmm_process_memory_info(
		&process_adapter->memory, (enum vidmm_group)question->selector);
	answer->Budget = info.budget_bytes;
	answer->Requested = info.usage_bytes;
	for (uint32_t id = 1; vidmm_process_segment_usage(&process_adapter->memory, id, &usage) &&
			      vidmm_segment_usage(question->adapter->memory, id, &segment);
	     id++)
		answer->Usage +=
			(uint32_t)segment.group == question->selector ? usage.resident.bytes : 0;
	return STATUS_SUCCESS;
}

/* ---- nodes ---- */

static void add_packets(D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION *answer,
			const struct sched_packet_counts *counts, unsigned queue_type,
			unsigned dma_type)
{
	D3DKMT_QUERYSTATISTICS_PACKET_INFORMATION *packets = &answer->PacketStatistics;

	answer->ContextSwitch += (ULONG)counts->switches;
	packets->QueuePacket[queue_type].PacketSubmited = (ULONG)counts->submitted;
	packets->QueuePacket[queue_type].PacketCompleted = (ULONG)counts->completed;
	packets->DmaPacket[dma_type].PacketSubmited = (ULONG)counts->submitted;
	packets->DmaPacket[dma_type].PacketCompleted = (ULONG)counts->completed;
	packets->DmaPacket[dma_type].PacketPreempted = (ULONG)counts->preempted;
	packets->DmaPacket[dma_type].PacketFaulted = (ULONG)counts->aborted;
}

static NTSTATUS fill_node(const struct question *question)
{
	D3DKMT_QUERYSTATISTICS_NODE_INFORMATION *answer = &question->result->NodeInformation;
	uint32_t node_count = question->adapter->info->node_count;

	if (question->selector >= node_count)
		return invalid(RULE_API_VALUE, "QueryNode.NodeId", "is %u, and there are %u nodes",
			       question->selector, node_count);
	struct sched_node_statistics statistics =
		sched_node_statistics(question->adapter->sched, question->selector);
	add_packets(&answer->GlobalInformation, &statistics.clients, D3DKMT_RenderCommandBuffer,
		    D3DKMT_ClientRenderBuffer);
	add_packets(&answer->GlobalInformation, &statistics.system, D3DKMT_SystemCommandBuffer,
		    D3DKMT_SystemPagingBuffer);
	add_packets(&answer->SystemInformation, &statistics.system, D3DKMT_SystemCommandBuffer,
		    D3DKMT_SystemPagingBuffer);
	/* In units of 100 ns, as those read it who show how busy a GPU is. */
	answer->GlobalInformation.RunningTime.QuadPart =
		(LONGLONG)(statistics.busy_ns / NS_PER_TIME_UNIT);
	answer->GlobalInformation.PreemptionStatistics.PreemptionCounter[D3DKMT_PreemptionAttempt] =
		(ULONG)statistics.preemption_requests;
	return STATUS_SUCCESS;
}

/* ---- the table ---- */

static NTSTATUS (*const answers[])(const struct question *question) = {
	[D3DKMT_QUERYSTATISTICS_ADAPTER] = fill_adapter,
	[D3DKMT_QUERYSTATISTICS_PROCESS] = fill_process,
	[D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER] = fill_process_adapter,
	[D3DKMT_QUERYSTATISTICS_SEGMENT] = fill_segment,
	[D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT] = fill_process_segment,
	[D3DKMT_QUERYSTATISTICS_NODE] = fill_node,
	[D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP] = fill_process_group,
	[D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER] = NULL,
};

static bool is_about_process(D3DKMT_QUERYSTATISTICS_TYPE type)
{
	return type == D3DKMT_QUERYSTATISTICS_PROCESS ||
	       type == D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER ||
	       type == D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT ||
	       type == D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP;
}

NTSTATUS dispatch_query_statistics(struct call *call, D3DKMT_QUERYSTATISTICS *args)
{
	struct question question = { .call = call,
				     .selector = args->QuerySegment.SegmentId,
				     .result = &args->QueryResult };
	NTSTATUS status = call_find_adapter(call, args->AdapterLuid, &question.adapter);

	if (!NT_SUCCESS(status))
		return status;
	if ((uint32_t)args->Type >= ARRAY_SIZE(answers))
		return invalid(RULE_API_VALUE, "Type", "is %u, and the last one is %u",
			       (unsigned)args->Type,
			       (unsigned)D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER);
	if (!answers[args->Type])
		return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "Type",
			      "is %u; nodes are not counted by process, and there is neither a "
			      "display nor a sensor to ask",
			      (unsigned)args->Type);
	if (is_about_process(args->Type))
		status = call_check_own_process(call, args->hProcess);
	if (!NT_SUCCESS(status))
		return status;
	memset(&args->QueryResult, 0, sizeof(args->QueryResult));
	return answers[args->Type](&question);
}
