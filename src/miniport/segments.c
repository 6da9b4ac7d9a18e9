/* SPDX-License-Identifier: MIT */
/*
 * segments.c - judging the segments a driver reports. Pure.
 *
 * Bent on purpose, because drivers that run on Windows do it: CpuVisible on an aperture (ignored),
 * CacheCoherent on a memory segment (believed), CommitLimit 0 (means all of it), a WDDM 2 driver
 * without any aperture.
 */
#include "base/checked.h"
#include "base/refusal.h"
#include "miniport/answers.h"
#include "miniport/internal.h"

enum { HOST_PAGE_SIZE = 4096 };

struct segment_answer segment_from_v1(const DXGK_SEGMENTDESCRIPTOR *descriptor)
{
	return (struct segment_answer){
		.flags = descriptor->Flags,
		.base_address = (uint64_t)descriptor->BaseAddress.QuadPart,
		.size_bytes = descriptor->Size,
		.commit_limit_bytes = descriptor->CommitLimit,
		.cpu_translated_address = (uint64_t)descriptor->CpuTranslatedAddress.QuadPart,
		.bank_count = descriptor->NbOfBanks,
		.bank_ends = descriptor->pBankRangeTable,
	};
}

struct segment_answer segment_from_v3(const DXGK_SEGMENTDESCRIPTOR3 *descriptor)
{
	return (struct segment_answer){
		.flags = descriptor->Flags,
		.base_address = (uint64_t)descriptor->BaseAddress.QuadPart,
		.size_bytes = descriptor->Size,
		.commit_limit_bytes = descriptor->CommitLimit,
		.system_memory_end_address = descriptor->SystemMemoryEndAddress,
		.cpu_translated_address = (uint64_t)descriptor->CpuTranslatedAddress.QuadPart,
		.bank_count = descriptor->NbOfBanks,
		.bank_ends = descriptor->pBankRangeTable,
	};
}

struct segment_answer segment_from_v4(const DXGK_SEGMENTDESCRIPTOR4 *descriptor)
{
	struct segment_answer answer = {
		.flags = descriptor->Flags,
		.base_address = (uint64_t)descriptor->BaseAddress.QuadPart,
		.size_bytes = descriptor->Size,
		.commit_limit_bytes = descriptor->CommitLimit,
		.system_memory_end_address = descriptor->SystemMemoryEndAddress,
	};

	/* The two share their storage; the flags say which of them it is. */
	if (descriptor->Flags.SupportsCpuHostAperture)
		answer.cpu_host_aperture = descriptor->CpuHostAperture;
	else
		answer.cpu_translated_address = (uint64_t)descriptor->CpuTranslatedAddress.QuadPart;
	return answer;
}

NTSTATUS segment_count_accept(uint32_t count, const struct miniport_info *info)
{
	/* With WDDM 2 the id after the last is the kernel's own segment of system memory. */
	uint32_t most =
		info->wddm_version >= 2000 ? MINIPORT_MAX_SEGMENTS - 1 : MINIPORT_MAX_SEGMENTS;

	if (count == 0 || count > most)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_COUNT, "NbSegment",
			      "is %u, an adapter has 1 to %u segments", count, most);
	return STATUS_SUCCESS;
}

static NTSTATUS flags_accept(const DXGK_SEGMENTFLAGS *flags, uint32_t id)
{
	const char *wrong = NULL;

	if (flags->Agp)
		wrong = "Agp, and there is no AGP";
	else if (flags->ReservedSysMem)
		wrong = "ReservedSysMem, which only the system may set";
	else if (flags->PreservedDuringHibernate && flags->PartiallyPreservedDuringHibernate)
		wrong = "PreservedDuringHibernate and PartiallyPreservedDuringHibernate";
	else if ((flags->PreservedDuringHibernate || flags->PartiallyPreservedDuringHibernate) &&
		 !flags->PreservedDuringStandby)
		wrong = "preservation during hibernate without PreservedDuringStandby";
	else if (flags->SupportsCpuHostAperture && flags->CpuVisible)
		wrong = "both CpuVisible and SupportsCpuHostAperture";
	else if (flags->SupportsCachedCpuHostAperture && !flags->SupportsCpuHostAperture)
		wrong = "SupportsCachedCpuHostAperture without SupportsCpuHostAperture";
	else if (flags->SupportsCpuHostAperture && flags->Aperture)
		wrong = "SupportsCpuHostAperture on an aperture";
	else if (flags->LocalBudgetGroup && flags->NonLocalBudgetGroup)
		wrong = "both LocalBudgetGroup and NonLocalBudgetGroup";

	if (wrong)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_FLAGS, "Flags",
			      "of segment %u has %s", id, wrong);
	return STATUS_SUCCESS;
}

static NTSTATUS range_accept(const struct segment_answer *segment, uint32_t id)
{
	uint64_t end;

	if (segment->size_bytes == 0 || !is_aligned(segment->size_bytes, HOST_PAGE_SIZE))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_SIZE, "Size",
			      "of segment %u is 0x%llx, which is no number of %d-byte pages", id,
			      (unsigned long long)segment->size_bytes, HOST_PAGE_SIZE);
	if (!checked_add(segment->base_address, segment->size_bytes - 1, &end))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_RANGE, "BaseAddress",
			      "of segment %u and its Size reach past the last address", id);
	if (segment->commit_limit_bytes > segment->size_bytes)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_COMMIT, "CommitLimit",
			      "of segment %u is 0x%llx, more than its Size 0x%llx", id,
			      (unsigned long long)segment->commit_limit_bytes,
			      (unsigned long long)segment->size_bytes);
	if (!segment->flags.Aperture && segment->commit_limit_bytes != 0 &&
	    segment->commit_limit_bytes != segment->size_bytes)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_COMMIT, "CommitLimit",
			      "of segment %u is 0x%llx; of memory it is the Size, 0x%llx", id,
			      (unsigned long long)segment->commit_limit_bytes,
			      (unsigned long long)segment->size_bytes);
	if (segment->flags.CpuVisible && !segment->flags.Aperture &&
	    !checked_add(segment->cpu_translated_address, segment->size_bytes - 1, &end))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_RANGE, "CpuTranslatedAddress",
			      "of segment %u and its Size reach past the last address", id);
	if (segment->flags.SupportsCpuHostAperture && segment->cpu_host_aperture.SizeInPages == 0)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_APERTURE,
			      "CpuHostAperture.SizeInPages", "of segment %u is 0", id);
	return STATUS_SUCCESS;
}

static NTSTATUS banks_accept(const struct segment_answer *segment, uint32_t id)
{
	uint64_t start = 0;

	if (!segment->flags.UseBanking)
		return STATUS_SUCCESS;
	if (segment->bank_count == 0 || segment->bank_count > 128)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_BANKS, "NbOfBanks",
			      "of segment %u is %u, banks are numbered with 7 bits", id,
			      segment->bank_count);
	/* The last end is that of the segment, whether it is in the table or not. */
	if (segment->bank_count > 1 && !segment->bank_ends)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_BANKS, "pBankRangeTable",
			      "of segment %u is NULL, and it has %u banks", id,
			      segment->bank_count);
	for (uint32_t i = 0; i + 1 < segment->bank_count; i++) {
		if (segment->bank_ends[i] <= start || segment->bank_ends[i] >= segment->size_bytes)
			return refuse_item(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_BANKS,
					   "pBankRangeTable", i,
					   "of segment %u is not between the bank before and the "
					   "segment's end",
					   id);
		start = segment->bank_ends[i];
	}
	return STATUS_SUCCESS;
}

static NTSTATUS segment_accept(const struct segment_answer *answer, uint32_t id,
			       uint32_t wddm_version, struct miniport_segment *segment_out)
{
	const DXGK_SEGMENTFLAGS *flags = &answer->flags;
	NTSTATUS status = flags_accept(flags, id);

	if (NT_SUCCESS(status))
		status = range_accept(answer, id);
	if (NT_SUCCESS(status))
		status = banks_accept(answer, id);
	if (!NT_SUCCESS(status))
		return status;

	*segment_out = (struct miniport_segment){
		.id = id,
		.base_address = answer->base_address,
		.size_bytes = answer->size_bytes,
		.commit_limit_bytes = answer->commit_limit_bytes ? answer->commit_limit_bytes
								 : answer->size_bytes,
		.system_memory_end_address = answer->system_memory_end_address,
		.is_aperture = flags->Aperture,
		.is_cpu_visible = flags->CpuVisible && !flags->Aperture,
		.is_cache_coherent = flags->CacheCoherent,
		.is_populated_from_system_memory =
			flags->PopulatedFromSystemMemory && !flags->Aperture,
		.flags = flags->Value,
	};
	if (segment_out->is_cpu_visible)
		segment_out->cpu_translated_address = answer->cpu_translated_address;
	if (wddm_version >= 2000) {
		segment_out->uses_64k_pages = flags->Use64KBPages;
		segment_out->has_cpu_host_aperture = flags->SupportsCpuHostAperture;
		segment_out->has_cached_cpu_host_aperture = flags->SupportsCachedCpuHostAperture;
		segment_out->cpu_host_aperture_address = answer->cpu_host_aperture.PhysicalAddress;
		segment_out->cpu_host_aperture_pages = answer->cpu_host_aperture.SizeInPages;
		segment_out->is_application_target = flags->ApplicationTarget;
	}
	if (flags->UseBanking)
		segment_out->bank_count = answer->bank_count;
	return STATUS_SUCCESS;
}

/* The same bytes twice: the processor would write one segment through the window of another. */
static NTSTATUS windows_accept(const struct miniport_segment *segments, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t k = i + 1; k < count; k++) {
			const struct miniport_segment *a = &segments[i];
			const struct miniport_segment *b = &segments[k];

			if (a->is_cpu_visible && b->is_cpu_visible &&
			    a->cpu_translated_address < b->cpu_translated_address + b->size_bytes &&
			    b->cpu_translated_address < a->cpu_translated_address + a->size_bytes)
				return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_RANGE,
					      "CpuTranslatedAddress",
					      "of segments %u and %u overlap", a->id, b->id);
		}
	}
	return STATUS_SUCCESS;
}

static NTSTATUS paging_buffer_accept(const struct segments_answer *answer,
				     struct miniport_info *info)
{
	uint32_t id = answer->paging_buffer_segment_id;

	if (answer->paging_buffer_size_bytes == 0)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_PAGING_BUFFER, "PagingBufferSize",
			      "is 0");
	if (id > answer->count || (id != 0 && !info->segments[id - 1].is_aperture))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_PAGING_BUFFER,
			      "PagingBufferSegmentId",
			      "is %u, which is neither an aperture nor 0 (system memory)", id);
	info->paging_buffer_segment_id = id;
	info->paging_buffer_size_bytes = answer->paging_buffer_size_bytes;
	info->paging_buffer_private_bytes = answer->paging_buffer_private_bytes;
	return STATUS_SUCCESS;
}

/* What is asked of them for every allocation, worked out once. */
static void make_sets(struct miniport_info *info)
{
	uint32_t count = info->implicit_system_segment_id ? info->implicit_system_segment_id
							  : info->segment_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct miniport_segment *segment = &info->segments[i];
		uint32_t bit = UINT32_C(1) << i;
		info->known_segments |= bit;
		if (segment->is_aperture)
			info->aperture_segments |= bit;
		if (segment->is_aperture || segment->is_implicit_system)
			info->system_memory_segments |= bit;
		if (segment->uses_64k_pages)
			info->segments_of_64k_pages |= bit;
	}
}

/* ---- budgets ---- */

static bool is_system_memory(const struct miniport_segment *segment)
{
	return segment->is_aperture || segment->is_implicit_system;
}

/* Where the driver marks segments for applications, other memory of the GPU's own is not theirs. */
static bool is_for_applications(const struct miniport_info *info,
				const struct miniport_segment *segment)
{
	if (is_system_memory(segment) || segment->is_application_target)
		return true;
	for (uint32_t i = 0; i < info->segment_count; i++) {
		if (info->segments[i].is_application_target)
			return false;
	}
	return true;
}

static bool has_own_memory(const struct miniport_info *info)
{
	for (uint32_t i = 0; i < info->segment_count; i++) {
		const struct miniport_segment *segment = &info->segments[i];

		if (!is_system_memory(segment) && is_for_applications(info, segment))
			return true;
	}
	return false;
}

/*
 * Where applications have no memory of the GPU's own, system memory is what is local, by whatever
 * id it is reached. A driver may say otherwise of a segment.
 */
static void settle_groups(struct miniport_info *info)
{
	bool has_own = has_own_memory(info);

	for (uint32_t i = 0; i < info->segment_count; i++) {
		struct miniport_segment *segment = &info->segments[i];
		const DXGK_SEGMENTFLAGS flags = { .Value = segment->flags };
		bool is_said = info->wddm_version >= 2000 &&
			       (flags.LocalBudgetGroup || flags.NonLocalBudgetGroup);

		segment->is_budgeted = is_for_applications(info, segment);
		segment->is_local =
			is_said ? flags.LocalBudgetGroup : !segment->is_aperture || !has_own;
	}
}

/*
 * System memory has one size by whatever id it is reached. Where an aperture shows it to a GPU with
 * memory of its own, it is the aperture's.
 */
static bool counts_by_aperture(const struct miniport_info *info)
{
	for (uint32_t i = 0; i < info->segment_count; i++) {
		if (info->segments[i].is_aperture && !info->segments[i].is_local)
			return true;
	}
	return false;
}

/* Half of the machine's memory is for graphics, and 64 MiB where that is more. */
static void add_implicit_segment(uint64_t memory_bytes, struct miniport_info *info)
{
	const uint64_t least_bytes = UINT64_C(64) << 20;
	uint64_t half_bytes = align_down(memory_bytes / 2, HOST_PAGE_SIZE);
	uint64_t limit_bytes = half_bytes > least_bytes ? half_bytes : least_bytes;

	info->implicit_system_segment_id = info->segment_count + 1;
	info->segments[info->segment_count] = (struct miniport_segment){
		.id = info->segment_count + 1,
		.size_bytes = memory_bytes,
		.commit_limit_bytes = lower_of(limit_bytes, memory_bytes),
		.is_implicit_system = true,
		.is_cpu_visible = true,
		.is_cache_coherent = true,
		.is_populated_from_system_memory = true,
	};
}

static void settle_budgets(struct miniport_info *info)
{
	settle_groups(info);
	info->counted_segment_count = info->segment_count;
	if (info->implicit_system_segment_id == 0)
		return;

	struct miniport_segment *implicit = &info->segments[info->segment_count];
	implicit->is_budgeted = !counts_by_aperture(info);
	implicit->is_local = implicit->is_budgeted && !has_own_memory(info);
	if (implicit->is_budgeted)
		info->counted_segment_count++;
}

NTSTATUS segments_accept(const struct segments_answer *answer, struct miniport_info *info)
{
	uint32_t aperture_count = 0;
	NTSTATUS status = segment_count_accept(answer->count, info);

	for (uint32_t i = 0; NT_SUCCESS(status) && i < answer->count; i++) {
		status = segment_accept(&answer->segments[i], i + 1, info->wddm_version,
					&info->segments[i]);
		if (NT_SUCCESS(status) && info->segments[i].is_aperture)
			aperture_count++;
	}
	if (NT_SUCCESS(status) && info->wddm_version >= 2000 && aperture_count > 1)
		status = refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_SEGMENT_APERTURE, "Flags",
				"has Aperture in %u segments, WDDM 2 allows one", aperture_count);
	if (NT_SUCCESS(status))
		status = windows_accept(info->segments, answer->count);
	if (NT_SUCCESS(status))
		status = paging_buffer_accept(answer, info);
	if (!NT_SUCCESS(status))
		return status;

	info->segment_count = answer->count;
	if (info->wddm_version >= 2000)
		add_implicit_segment(answer->system_memory_bytes, info);
	settle_budgets(info);
	make_sets(info);
	return STATUS_SUCCESS;
}
