/*
 * statistics_calls.c - D3DKMTQueryStatistics: counters for tools.
 *
 * The selector of a segment stands behind the result, so it is read from our copy before anything
 * is written. Segments count from 0 here and from 1 in every DDI.
 */
#include <string.h>

#include "base/refusal.h"
#include "dispatch/dispatch.h"

static void fill_adapter(const struct miniport_info *info, D3DKMT_QUERYSTATISTICS_RESULT *result)
{
	result->AdapterInformation.NbSegments = info->segment_count;
	result->AdapterInformation.NodeCount = info->node_count;
	result->AdapterInformation.VidPnSourceCount = info->video_present_sources;
}

static NTSTATUS fill_segment(const struct miniport_info *info, uint32_t index,
			     D3DKMT_QUERYSTATISTICS_RESULT *result)
{
	if (index >= info->segment_count)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "QuerySegment.SegmentId",
			      "is %u, and there are %u segments", index, info->segment_count);

	const struct miniport_segment *segment = &info->segments[index];
	result->SegmentInformation.CommitLimit = segment->commit_limit_bytes;
	result->SegmentInformation.Aperture = segment->is_aperture;
	result->SegmentInformation.SystemMemoryEndAddress = segment->system_memory_end_address;
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_query_statistics(struct call *call, D3DKMT_QUERYSTATISTICS *args)
{
	uint32_t segment = args->QuerySegment.SegmentId;
	struct dxg_adapter *adapter;
	NTSTATUS status = call_find_adapter(call, args->AdapterLuid, &adapter);

	if (!NT_SUCCESS(status))
		return status;
	memset(&args->QueryResult, 0, sizeof(args->QueryResult));
	if (args->Type == D3DKMT_QUERYSTATISTICS_ADAPTER) {
		fill_adapter(adapter->info, &args->QueryResult);
		return STATUS_SUCCESS;
	}
	if (args->Type == D3DKMT_QUERYSTATISTICS_SEGMENT)
		return fill_segment(adapter->info, segment, &args->QueryResult);
	if ((uint32_t)args->Type > D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "Type",
			      "is %u, and the last one is %u", (unsigned)args->Type,
			      (unsigned)D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER);
	return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "Type",
		      "is %u; only ADAPTER (0) and SEGMENT (3) are counted yet",
		      (unsigned)args->Type);
}
