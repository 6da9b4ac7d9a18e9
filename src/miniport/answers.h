/* SPDX-License-Identifier: MIT */
/*
 * answers.h - judging what a driver says about itself.
 *
 * Pure functions: an answer as the driver gave it goes in; out comes the part of miniport_info that
 * it stands for, or a refusal that names the field and the rule. Nothing is changed then that the
 * caller would have to undo. Which rules are bent is said with each: drivers that exist are loose
 * with flags that have no meaning, and those start.
 */
#ifndef MINIPORT_ANSWERS_H
#define MINIPORT_ANSWERS_H

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/miniport.h"

/* ---- caps.c ---- */

/* The older of the driver's version and the level that the kernel was told to have. */
static inline uint32_t level_of(const struct miniport_info *info, uint32_t wddm_version)
{
	return info->wddm_level != 0 && info->wddm_level < wddm_version ? info->wddm_level
									: wddm_version;
}

/* info->interface_version is set. Fills in what DXGK_DRIVERCAPS says. */
MUST_CHECK NTSTATUS caps_accept(const DXGK_DRIVERCAPS *caps, struct miniport_info *info);

/* For WDDM 2: node count and paging node, where the driver answers DXGKQAITYPE_PHYSICALADAPTERCAPS.
 */
MUST_CHECK NTSTATUS physical_caps_accept(const DXGK_PHYSICALADAPTERCAPS *caps,
					 struct miniport_info *info);

MUST_CHECK NTSTATUS node_accept(const DXGKARG_GETNODEMETADATA *metadata, uint32_t node,
				struct miniport_info *info);

/* What a node is called when its driver cannot say. */
void node_default(uint32_t node, struct miniport_info *info);

MUST_CHECK NTSTATUS power_count_accept(uint32_t count, struct miniport_info *info);
MUST_CHECK NTSTATUS power_component_accept(const DXGK_POWER_RUNTIME_COMPONENT *component,
					   uint32_t index);

/* ---- segments.c ---- */

/* A segment as all four versions of its description can say it. */
struct segment_answer {
	DXGK_SEGMENTFLAGS flags;
	uint64_t base_address;
	uint64_t size_bytes;
	uint64_t commit_limit_bytes;
	uint64_t system_memory_end_address;
	uint64_t cpu_translated_address;
	DXGK_CPUHOSTAPERTURE cpu_host_aperture;
	uint32_t bank_count;
	const SIZE_T *bank_ends;
};

struct segment_answer segment_from_v1(const DXGK_SEGMENTDESCRIPTOR *descriptor);
struct segment_answer segment_from_v3(const DXGK_SEGMENTDESCRIPTOR3 *descriptor);
struct segment_answer segment_from_v4(const DXGK_SEGMENTDESCRIPTOR4 *descriptor);

/* How many segments the driver may have, judged after the first pass. */
MUST_CHECK NTSTATUS segment_count_accept(uint32_t count, const struct miniport_info *info);

struct segments_answer {
	uint32_t count;
	const struct segment_answer *segments;
	uint32_t paging_buffer_segment_id;
	uint32_t paging_buffer_size_bytes;
	uint32_t paging_buffer_private_bytes;
	uint64_t system_memory_bytes; /* the machine's, which the kernel adds as a segment */
};

/* Everything about segments, and the one the kernel adds (WDDM 2); all but bank_ends. */
MUST_CHECK NTSTATUS segments_accept(const struct segments_answer *answer,
				    struct miniport_info *info);

/* ---- page_tables.c ---- */

/* After segments_accept(). Fills info->gpu_mmu but for the levels. */
MUST_CHECK NTSTATUS gpu_mmu_accept(const DXGK_GPUMMUCAPS *caps, struct miniport_info *info);

/* info->gpu_mmu.level_count levels, the leaf first. */
MUST_CHECK NTSTATUS page_table_levels_accept(const DXGK_PAGE_TABLE_LEVEL_DESC *levels,
					     struct miniport_info *info);

/* ---- allocations.c ---- */

/* "EvictionSegmentSet", "names a segment that is no aperture"; both NULL: nothing is wrong. */
struct answer_fault {
	const char *field;
	const char *why;
};

struct answer_fault segments_fault(const struct miniport_info *info, const char *supported_field,
				   uint32_t supported, uint32_t eviction, uint32_t preferred);

/* The same for DXGK_ALLOCATIONINFOFLAGS. */
struct answer_fault flags_fault(const struct miniport_info *info, uint32_t value);

/* ---- contexts.c ---- */

MUST_CHECK NTSTATUS context_info_accept(const DXGK_CONTEXTINFO *answer, bool is_virtual,
					const struct miniport_info *info,
					struct miniport_context_info *info_out);

#endif
