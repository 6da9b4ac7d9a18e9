/* SPDX-License-Identifier: MIT */
/*
 * query.c - asking a started driver about itself.
 *
 *   in:   a driver whose StartDevice succeeded
 *   out:  miniport->info, every answer judged (answers.h)
 *
 * Every buffer is zeroed before the driver sees it: drivers fill in what they know, and some that
 * exist rely on the rest being zero. A question that a driver may not know is optional, and then a
 * failure means "no".
 */
#include <string.h>

#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/answers.h"
#include "miniport/guard.h"
#include "miniport/internal.h"

#define ASK(query_type, ...)                                                                       \
	(&(struct query){ .type = DXGKQAITYPE_##query_type, .what = #query_type, __VA_ARGS__ })

void query_before_start(struct miniport *miniport)
{
	struct miniport_client *client = &miniport->system_client;
	DXGK_PHYSICAL_MEMORY_CAPS memory = { 0 };
	DXGK_IOMMU_CAPS iommu = { 0 };

	if (miniport->ddi.Version < DXGKDDI_INTERFACE_VERSION_WDDM2_9)
		return;
	/* Whatever a driver answers: here all memory is reachable and nothing is remapped. */
	NTSTATUS status = miniport_query(miniport, client,
					 ASK(PHYSICAL_MEMORY_CAPS, .is_optional = true,
					     .output = &memory, .output_bytes = sizeof(memory)));
	log_topic(LOG_START, "%s: PHYSICAL_MEMORY_CAPS: %s", miniport->start_name,
		  status_name(status));
	status = miniport_query(miniport, client,
				ASK(IOMMU_CAPS, .is_optional = true, .output = &iommu,
				    .output_bytes = sizeof(iommu)));
	log_topic(LOG_START, "%s: IOMMU_CAPS: %s", miniport->start_name, status_name(status));
}

/* ---- capabilities ---- */

static NTSTATUS query_caps(struct miniport *miniport)
{
	DXGK_DRIVERCAPS caps = { 0 };
	NTSTATUS status =
		miniport_query(miniport, &miniport->system_client,
			       ASK(DRIVERCAPS, .output = &caps, .output_bytes = sizeof(caps)));

	if (!NT_SUCCESS(status))
		return status;
	miniport->is_patching = !caps.SchedulingCaps.NoDmaPatching;
	status = caps_accept(&caps, &miniport->info);
	if (NT_SUCCESS(status))
		entry_forget_newer(miniport);
	return status;
}

static NTSTATUS query_physical_caps(struct miniport *miniport)
{
	DXGK_QUERYPHYSICALADAPTERCAPSIN input = { .PhysicalAdapterIndex = 0 };
	DXGK_PHYSICALADAPTERCAPS caps = { 0 };

	if (miniport->info.wddm_version < 2000)
		return STATUS_SUCCESS;
	NTSTATUS status = miniport_query(miniport, &miniport->system_client,
					 ASK(PHYSICALADAPTERCAPS, .is_optional = true,
					     .input = &input, .input_bytes = sizeof(input),
					     .output = &caps, .output_bytes = sizeof(caps)));

	return NT_SUCCESS(status) ? physical_caps_accept(&caps, &miniport->info) : STATUS_SUCCESS;
}

/* ---- segments ---- */

/* The driver keeps the tables of bank ends; what the kernel reads later is a copy. */
static NTSTATUS copy_banks(struct miniport *miniport, const struct segments_answer *answer)
{
	size_t count = 0;

	for (uint32_t i = 0; i < answer->count; i++)
		count += miniport->info.segments[i].bank_count;
	if (count == 0)
		return STATUS_SUCCESS;
	miniport->bank_ends = mem_zalloc_array(count, sizeof(*miniport->bank_ends));
	if (!miniport->bank_ends)
		return refuse_no_memory("There is no memory for the banks of the segments");

	uint64_t *next = miniport->bank_ends;
	for (uint32_t i = 0; i < answer->count; i++) {
		struct miniport_segment *segment = &miniport->info.segments[i];

		if (segment->bank_count == 0)
			continue;
		segment->bank_ends = next;
		for (uint32_t bank = 0; bank + 1 < segment->bank_count; bank++)
			*next++ = answer->segments[i].bank_ends[bank];
		*next++ = segment->size_bytes;
	}
	return STATUS_SUCCESS;
}

/* The three kinds of query differ in their structs only. */
enum segment_query { SEGMENT_QUERY_1, SEGMENT_QUERY_3, SEGMENT_QUERY_4 };

struct segment_pass {
	uint32_t count;
	uint8_t *descriptors; /* NULL in the first pass */
	size_t stride;
	uint32_t paging_buffer_segment_id;
	uint32_t paging_buffer_size_bytes;
	uint32_t paging_buffer_private_bytes;
};

static size_t descriptor_bytes(enum segment_query kind)
{
	switch (kind) {
	case SEGMENT_QUERY_1:
		return sizeof(DXGK_SEGMENTDESCRIPTOR);
	case SEGMENT_QUERY_3:
		return sizeof(DXGK_SEGMENTDESCRIPTOR3);
	case SEGMENT_QUERY_4:
		break;
	}
	return sizeof(DXGK_SEGMENTDESCRIPTOR4);
}

/* The fields have the same names in all three answers. */
#define PASS_TAKE(pass, output)                                                                    \
	do {                                                                                       \
		(pass)->count = (output).NbSegment;                                                \
		(pass)->paging_buffer_segment_id = (output).PagingBufferSegmentId;                 \
		(pass)->paging_buffer_size_bytes = (output).PagingBufferSize;                      \
		(pass)->paging_buffer_private_bytes = (output).PagingBufferPrivateDataSize;        \
	} while (0)

static NTSTATUS ask_segments_4(struct miniport *miniport, struct segment_pass *pass)
{
	DXGK_QUERYSEGMENTIN4 input = { .PhysicalAdapterIndex = 0 };
	DXGK_QUERYSEGMENTOUT4 output = {
		.NbSegment = pass->count,
		.pSegmentDescriptor = pass->descriptors,
		.SegmentDescriptorStride = pass->stride,
	};
	NTSTATUS status =
		miniport_query(miniport, &miniport->system_client,
			       ASK(QUERYSEGMENT4, .input = &input, .input_bytes = sizeof(input),
				   .output = &output, .output_bytes = sizeof(output)));

	if (!NT_SUCCESS(status))
		return status;
	if (pass->descriptors && output.SegmentDescriptorStride != pass->stride)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_COUNT,
			      "DXGK_QUERYSEGMENTOUT4.SegmentDescriptorStride",
			      "was changed from %zu to %zu", pass->stride,
			      (size_t)output.SegmentDescriptorStride);
	PASS_TAKE(pass, output);
	return STATUS_SUCCESS;
}

#define ASK_SEGMENTS(name, QUERY, OUT, DESCRIPTOR)                                                 \
	static NTSTATUS name(struct miniport *miniport, struct segment_pass *pass)                 \
	{                                                                                          \
		DXGK_QUERYSEGMENTIN input = { 0 };                                                 \
		OUT output = { .NbSegment = pass->count,                                           \
			       .pSegmentDescriptor = (DESCRIPTOR *)pass->descriptors };            \
		NTSTATUS status =                                                                  \
			miniport_query(miniport, &miniport->system_client,                         \
				       ASK(QUERY, .input = &input, .input_bytes = sizeof(input),   \
					   .output = &output, .output_bytes = sizeof(output)));    \
                                                                                                   \
		if (NT_SUCCESS(status))                                                            \
			PASS_TAKE(pass, output);                                                   \
		return status;                                                                     \
	}
ASK_SEGMENTS(ask_segments_3, QUERYSEGMENT3, DXGK_QUERYSEGMENTOUT3, DXGK_SEGMENTDESCRIPTOR3)
ASK_SEGMENTS(ask_segments_1, QUERYSEGMENT, DXGK_QUERYSEGMENTOUT, DXGK_SEGMENTDESCRIPTOR)

static NTSTATUS ask_pass(struct miniport *miniport, enum segment_query kind,
			 struct segment_pass *pass)
{
	switch (kind) {
	case SEGMENT_QUERY_1:
		return ask_segments_1(miniport, pass);
	case SEGMENT_QUERY_3:
		return ask_segments_3(miniport, pass);
	case SEGMENT_QUERY_4:
		break;
	}
	return ask_segments_4(miniport, pass);
}

/* The descriptions are an answer of their own, behind a pointer in the other. */
static NTSTATUS ask_segments(struct miniport *miniport, enum segment_query kind,
			     struct segment_pass *pass)
{
	static const char *const names[] = {
		[SEGMENT_QUERY_1] = "QUERYSEGMENT, pSegmentDescriptor",
		[SEGMENT_QUERY_3] = "QUERYSEGMENT3, pSegmentDescriptor",
		[SEGMENT_QUERY_4] = "QUERYSEGMENT4, pSegmentDescriptor",
	};
	uint8_t *descriptors = pass->descriptors;
	struct guard guard;

	guard_open(&guard, descriptors, pass->count * (uint32_t)pass->stride);
	pass->descriptors = guard.memory;
	NTSTATUS status = ask_pass(miniport, kind, pass);
	guard_close(&guard, "DxgkDdiQueryAdapterInfo", names[kind]);
	pass->descriptors = descriptors;
	return status;
}

static NTSTATUS read_descriptor(enum segment_query kind, const void *descriptor, uint32_t id,
				struct segment_answer *segment_out)
{
	switch (kind) {
	case SEGMENT_QUERY_1:
		*segment_out = segment_from_v1(descriptor);
		return STATUS_SUCCESS;
	case SEGMENT_QUERY_3:
		*segment_out = segment_from_v3(descriptor);
		return STATUS_SUCCESS;
	case SEGMENT_QUERY_4:
		break;
	}
	const DXGK_SEGMENTDESCRIPTOR4 *newest = descriptor;

	*segment_out = segment_from_v4(newest);
	if (newest->NumInvalidMemoryRanges != 0)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_NOT_BUILT, "NumInvalidMemoryRanges",
			      "of segment %u is %u: memory with holes is not hosted yet", id,
			      newest->NumInvalidMemoryRanges);
	return STATUS_SUCCESS;
}

static NTSTATUS judge_segments(struct miniport *miniport, enum segment_query kind,
			       const struct segment_pass *pass)
{
	struct segment_answer *segments = mem_zalloc_array(pass->count, sizeof(*segments));
	struct segments_answer answer = {
		.count = pass->count,
		.segments = segments,
		.paging_buffer_segment_id = pass->paging_buffer_segment_id,
		.paging_buffer_size_bytes = pass->paging_buffer_size_bytes,
		.paging_buffer_private_bytes = pass->paging_buffer_private_bytes,
		.system_memory_bytes = machine_size_bytes(),
	};
	NTSTATUS status = STATUS_SUCCESS;

	if (!segments)
		return refuse_no_memory("There is no memory for the segments");
	for (uint32_t i = 0; NT_SUCCESS(status) && i < pass->count; i++)
		status = read_descriptor(kind, pass->descriptors + i * pass->stride, i + 1,
					 &segments[i]);
	if (NT_SUCCESS(status))
		status = segments_accept(&answer, &miniport->info);
	if (NT_SUCCESS(status))
		status = copy_banks(miniport, &answer);
	mem_free(segments);
	return status;
}

/* Two passes: how many, and then which. */
static NTSTATUS query_segments(struct miniport *miniport)
{
	enum segment_query kind = miniport->info.wddm_version >= 2000   ? SEGMENT_QUERY_4
				  : miniport->info.wddm_version >= 1200 ? SEGMENT_QUERY_3
									: SEGMENT_QUERY_1;
	struct segment_pass first = { 0 };
	NTSTATUS status = ask_segments(miniport, kind, &first);

	if (NT_SUCCESS(status))
		status = segment_count_accept(first.count, &miniport->info);
	if (!NT_SUCCESS(status))
		return status;

	struct segment_pass second = {
		.count = first.count,
		.stride = descriptor_bytes(kind),
		.descriptors = mem_zalloc_array(first.count, descriptor_bytes(kind)),
	};
	if (!second.descriptors)
		return refuse_no_memory("There is no memory for the descriptions of the segments");
	status = ask_segments(miniport, kind, &second);
	if (NT_SUCCESS(status) && second.count != first.count)
		status = refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_COUNT, "NbSegment",
				"was %u and then %u", first.count, second.count);
	if (NT_SUCCESS(status))
		status = judge_segments(miniport, kind, &second);
	mem_free(second.descriptors);
	return status;
}

/* ---- page tables ---- */

static NTSTATUS query_gpu_mmu(struct miniport *miniport)
{
	DXGK_QUERYGPUMMUCAPSIN caps_input = { .PhysicalAdapterIndex = 0 };
	DXGK_GPUMMUCAPS caps = { 0 };
	DXGK_PAGE_TABLE_LEVEL_DESC levels[MINIPORT_MAX_PAGE_TABLE_LEVELS] = { 0 };

	if (!miniport->info.supports_gpu_mmu)
		return STATUS_SUCCESS;
	NTSTATUS status = miniport_query(miniport, &miniport->system_client,
					 ASK(GPUMMUCAPS, .input = &caps_input,
					     .input_bytes = sizeof(caps_input), .output = &caps,
					     .output_bytes = sizeof(caps)));
	if (NT_SUCCESS(status))
		status = gpu_mmu_accept(&caps, &miniport->info);

	for (uint32_t i = 0; NT_SUCCESS(status) && i < miniport->info.gpu_mmu.level_count; i++) {
		DXGK_QUERYPAGETABLELEVELDESCIN input = { .LevelIndex = (WORD)i };

		status = miniport_query(miniport, &miniport->system_client,
					ASK(PAGETABLELEVELDESC, .input = &input,
					    .input_bytes = sizeof(input), .output = &levels[i],
					    .output_bytes = sizeof(levels[i])));
	}
	return NT_SUCCESS(status) ? page_table_levels_accept(levels, &miniport->info) : status;
}

/* ---- nodes and power ---- */

static NTSTATUS query_node(struct miniport *miniport, uint32_t node)
{
	DXGKARG_GETNODEMETADATA metadata;
	struct ddi_crossing crossing;
	struct guard guard;

	if (!miniport->ddi.DxgkDdiGetNodeMetadata) {
		node_default(node, &miniport->info);
		return STATUS_SUCCESS;
	}
	memset(&metadata, 0, sizeof(metadata));
	guard_open(&guard, &metadata, sizeof(metadata));
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_GET_NODE_METADATA);
	NTSTATUS status =
		miniport->ddi.DxgkDdiGetNodeMetadata(miniport->context, node, guard.memory);
	guard_close(&guard, "DxgkDdiGetNodeMetadata", NULL);
	status = ddi_leave(&crossing, status);
	return NT_SUCCESS(status) ? node_accept(&metadata, node, &miniport->info) : status;
}

static NTSTATUS query_power(struct miniport *miniport)
{
	UINT count = 0;

	if (miniport->info.wddm_version < 1200)
		return STATUS_SUCCESS;
	NTSTATUS status = miniport_query(miniport, &miniport->system_client,
					 ASK(NUMPOWERCOMPONENTS, .is_optional = true,
					     .output = &count, .output_bytes = sizeof(count)));
	if (!NT_SUCCESS(status))
		return STATUS_SUCCESS;
	status = power_count_accept(count, &miniport->info);

	for (UINT i = 0; NT_SUCCESS(status) && i < count; i++) {
		DXGK_POWER_RUNTIME_COMPONENT component = { 0 };

		status = miniport_query(miniport, &miniport->system_client,
					ASK(POWERCOMPONENTINFO, .input = &i,
					    .input_bytes = sizeof(i), .output = &component,
					    .output_bytes = sizeof(component)));
		if (NT_SUCCESS(status))
			status = power_component_accept(&component, i);
	}
	return status;
}

static NTSTATUS query_history_precision(struct miniport *miniport)
{
	DXGKARG_HISTORYBUFFERPRECISION precision[MINIPORT_MAX_NODES] = { 0 };
	uint32_t node_count = miniport->info.node_count;

	if (miniport->info.wddm_version < 1300)
		return STATUS_SUCCESS;
	NTSTATUS status =
		miniport_query(miniport, &miniport->system_client,
			       ASK(HISTORYBUFFERPRECISION, .is_optional = true, .output = precision,
				   .output_bytes = node_count * (uint32_t)sizeof(precision[0])));

	for (uint32_t node = 0; NT_SUCCESS(status) && node < node_count; node++) {
		if (precision[node].PrecisionBits > 64)
			return refuse_item(STATUS_ILLEGAL_ANSWER, RULE_DDI_NODE_METADATA,
					   "PrecisionBits", node,
					   "is %u, time stamps have at most 64 bits",
					   precision[node].PrecisionBits);
	}
	return STATUS_SUCCESS;
}

/* ---- entry points that a capability calls for ---- */

static NTSTATUS require_entries(const struct miniport *miniport)
{
	const struct miniport_info *info = &miniport->info;
	bool has_host_aperture = false;

	for (uint32_t i = 0; i < info->segment_count; i++)
		has_host_aperture |= info->segments[i].has_cpu_host_aperture;

	const struct {
		enum ddi_need need;
		bool is_needed;
	} needs[] = {
		{ DDI_NEED_PHYSICAL, !info->supports_virtual_addressing },
		{ DDI_NEED_PATCHING, !info->supports_virtual_addressing && miniport->is_patching },
		{ DDI_NEED_VIRTUAL, info->supports_virtual_addressing },
		{ DDI_NEED_GPU_MMU, info->supports_gpu_mmu },
		{ DDI_NEED_RESIZABLE_ROOT,
		  info->supports_gpu_mmu && info->gpu_mmu.level_count == 2 },
		{ DDI_NEED_PREEMPTION, info->is_preemption_aware },
		{ DDI_NEED_CANCEL, info->is_cancel_command_aware },
		{ DDI_NEED_ENGINE_RESET, info->supports_per_engine_tdr },
		{ DDI_NEED_HOST_APERTURE, has_host_aperture },
	};
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		NTSTATUS status = needs[i].is_needed ? entry_require(miniport, needs[i].need)
						     : STATUS_SUCCESS;

		if (!NT_SUCCESS(status))
			return status;
	}
	if (!miniport->ddi.DxgkDdiCreateProcess != !miniport->ddi.DxgkDdiDestroyProcess)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_ENTRY_MISSING,
			      miniport->ddi.DxgkDdiCreateProcess ? "DxgkDdiDestroyProcess"
								 : "DxgkDdiCreateProcess",
			      "is NULL, and its counterpart is not");
	return STATUS_SUCCESS;
}

NTSTATUS query_everything(struct miniport *miniport)
{
	NTSTATUS status = query_caps(miniport);

	if (NT_SUCCESS(status))
		status = query_segments(miniport);
	if (NT_SUCCESS(status))
		status = query_gpu_mmu(miniport);
	if (NT_SUCCESS(status))
		status = query_physical_caps(miniport);
	if (NT_SUCCESS(status))
		status = query_power(miniport);
	if (NT_SUCCESS(status))
		status = query_history_precision(miniport);
	for (uint32_t i = 0; NT_SUCCESS(status) && i < miniport->info.node_count; i++)
		status = query_node(miniport, i);
	if (NT_SUCCESS(status))
		status = require_entries(miniport);
	return status;
}
