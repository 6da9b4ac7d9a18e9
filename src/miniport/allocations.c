/* SPDX-License-Identifier: MIT */
/*
 * allocations.c - see allocations.h.
 *
 * Most calls are about one allocation, so a few argument elements fit on the stack; longer lists
 * take memory, and say so when there is none.
 */
#include "base/checked.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/allocations.h"
#include "miniport/answers.h"
#include "miniport/guard.h"
#include "miniport/guarded_calls.h"
#include "miniport/internal.h"

#define PAGE UINT64_C(4096)

enum { FEW = 4 };

/* ---- judging what the driver made of an allocation ---- */

static NTSTATUS illegal(const char *field, uint32_t index, const char *why)
{
	return refuse_item(STATUS_ILLEGAL_ANSWER, RULE_DDI_ALLOCATION, "pAllocationInfo", index,
			   "of DxgkDdiCreateAllocation: %s %s", field, why);
}

/* Five ids of five bits, each followed by a direction bit. */
static uint32_t preferred_set(uint32_t preference)
{
	uint32_t set = 0;

	for (; preference != 0; preference >>= 6) {
		uint32_t id = preference & 0x1f;
		if (id != 0)
			set |= UINT32_C(1) << (id - 1);
	}
	return set;
}

/* In order at a glance; if not, segments_fault() says why. */
static bool segments_are_legal(const struct miniport_info *info, uint32_t supported,
			       uint32_t eviction, uint32_t preferred)
{
	return supported != 0 && !(supported & ~info->known_segments) &&
	       !(eviction & ~info->aperture_segments) && !(preferred >> 30) &&
	       !(preferred_set(preferred) & ~supported);
}

struct answer_fault segments_fault(const struct miniport_info *info, const char *supported_field,
				   uint32_t supported, uint32_t eviction, uint32_t preferred)
{
	if (supported == 0)
		return (struct answer_fault){ supported_field, "is empty" };
	if (supported & ~info->known_segments)
		return (struct answer_fault){ supported_field, "names a segment there is not" };
	if (eviction & ~info->aperture_segments)
		return (struct answer_fault){ "EvictionSegmentSet",
					      "names a segment that is no aperture" };
	if (preferred >> 30)
		return (struct answer_fault){ "PreferredSegment", "has reserved bits set" };
	if (preferred_set(preferred) & ~supported)
		return (struct answer_fault){ "PreferredSegment",
					      "names a segment outside the supported set" };
	return (struct answer_fault){ 0 };
}

/* WDDM 2.0 gave some bits another meaning and two none. */
#define RESERVED_FLAGS   UINT32_C(0xfff80000)
#define RESERVED_FLAGS_2 UINT32_C(0xfff81800)

static const char *why_flags_are_wrong(const struct miniport_info *info,
				       DXGK_ALLOCATIONINFOFLAGS flags)
{
	const DXGK_ALLOCATIONINFOFLAGS history = { .HistoryBuffer = 1, .CpuVisible = 1 };
	const DXGK_ALLOCATIONINFOFLAGS cached = { .Cached = 1 };
	bool is_version_2 = info->wddm_version >= 2000;
	unsigned kinds = flags.PermanentSysMem + flags.Protected + flags.ExistingSysMem +
			 flags.ExistingKernelSysMem;

	if (flags.Value & (is_version_2 ? RESERVED_FLAGS_2 : RESERVED_FLAGS))
		return "has reserved bits set";
	if (!is_version_2 && flags.UseAlternateVA)
		return "has UseAlternateVA and is no primary";
	if ((flags.PermanentSysMem || flags.Cached) && !flags.CpuVisible)
		return "has PermanentSysMem or Cached without CpuVisible";
	if (kinds > 1)
		return "has two of PermanentSysMem, Protected, ExistingSysMem and "
		       "ExistingKernelSysMem";
	if (flags.HistoryBuffer && (flags.Value & ~cached.Value) != history.Value)
		return "has HistoryBuffer without CpuVisible, or with more than Cached";
	/* The same bit as LinkInstanced. MAP_APERTURE_SEGMENT2, which has that address, is nobody's
	   here: MapAperture2Supported has no effect. */
	if (is_version_2 && flags.LinkInstanced)
		return "has MapApertureCpuVisible, and no aperture is mapped so";
	if (flags.ExplicitResidencyNotification && !flags.AccessedPhysically)
		return "has ExplicitResidencyNotification without AccessedPhysically";
	return NULL;
}

/* Flags that are in order in any company. */
static bool flags_are_plain(DXGK_ALLOCATIONINFOFLAGS flags)
{
	const DXGK_ALLOCATIONINFOFLAGS plain = {
		.CpuVisible = 1,
		.FromEndOfSegment = 1,
		.AccessedPhysically = 1,
	};

	return !(flags.Value & ~plain.Value);
}

/* WDDM 3.0. Implicit waits, parts that are resident, and several segments there are not anyway. */
static const char *why_flags2_are_wrong(const struct miniport_info *info,
					DXGK_ALLOCATIONINFOFLAGS2 flags)
{
	if (info->wddm_version < 3000)
		return NULL;
	if (flags.Reserved)
		return "has reserved bits set";
	if (flags.ShareBackingStoreWithKmd)
		return "has ShareBackingStoreWithKmd, which no feature query has enabled";
	if (flags.NotifyEviction || flags.NotifyIoMmuUnmap)
		return "has NotifyEviction or NotifyIoMmuUnmap, and there is no such news";
	return NULL;
}

struct answer_fault flags_fault(const struct miniport_info *info, uint32_t value)
{
	const char *why = why_flags_are_wrong(info, (DXGK_ALLOCATIONINFOFLAGS){ .Value = value });

	return (struct answer_fault){ why ? "Flags" : NULL, why };
}

static void add_rare_traits(DXGK_ALLOCATIONINFOFLAGS flags, struct memory_traits *traits)
{
	traits->is_cached = flags.Cached;
	traits->is_kept_in_system = flags.PermanentSysMem;
	traits->wants_residency_news = flags.ExplicitResidencyNotification;
	traits->is_pinned = flags.Overlay || flags.Capture;
}

/* Before WDDM 2 an allocation may be readable where it is not writable; best is where it is both. */
static uint32_t usable_of(const struct miniport_info *info, const DXGK_ALLOCATIONINFO *answer)
{
	uint32_t writable = answer->SupportedWriteSegmentSet;
	uint32_t readable = answer->SupportedReadSegmentSet;

	if (LIKELY(info->wddm_version >= 2000))
		return writable;
	if (writable & readable)
		return writable & readable;
	return writable ? writable : readable;
}

SPECIALIZED void take_answer(const DXGK_ALLOCATIONINFO *answer, uint64_t size_bytes,
			     uint32_t usable_segments, struct memory_traits traits,
			     struct miniport_allocation *allocation)
{
	allocation->driver_allocation = answer->hAllocation;
	allocation->size_bytes = size_bytes;
	allocation->alignment_bytes = answer->Alignment > PAGE ? answer->Alignment : PAGE;
	allocation->supported_segments = usable_segments;
	allocation->eviction_segments = answer->EvictionSegmentSet;
	allocation->preferred_segments = answer->PreferredSegment.Value;
	allocation->hinted_banks = answer->HintedBank.Value;
	allocation->priority = answer->AllocationPriority;
	allocation->traits.bits = traits.bits;
}

static NTSTATUS judge_answer(const DXGK_ALLOCATIONINFO *answer, uint32_t index,
			     const struct miniport_info *info, uint64_t heap_bytes,
			     struct miniport_allocation *allocation)
{
	uint64_t size_bytes;
	uint32_t supported = answer->SupportedWriteSegmentSet;
	uint32_t usable = usable_of(info, answer);
	struct memory_traits traits = {
		.is_cpu_visible = answer->Flags.CpuVisible,
		.is_accessed_physically = answer->Flags.AccessedPhysically,
		.goes_to_the_end = answer->Flags.FromEndOfSegment,
	};

	if (info->wddm_version < 2000)
		supported |= answer->SupportedReadSegmentSet;
	if (UNLIKELY(!segments_are_legal(info, supported, answer->EvictionSegmentSet,
					 answer->PreferredSegment.Value) ||
		     !flags_are_plain(answer->Flags) || answer->Flags2.Value != 0)) {
		struct answer_fault fault =
			segments_fault(info, "SupportedWriteSegmentSet", supported,
				       answer->EvictionSegmentSet, answer->PreferredSegment.Value);
		const char *why = why_flags2_are_wrong(info, answer->Flags2);

		if (!fault.field)
			fault = flags_fault(info, answer->Flags.Value);
		if (!fault.field && why)
			fault = (struct answer_fault){ "Flags2", why };
		if (fault.field)
			return illegal(fault.field, index, fault.why);
		add_rare_traits(answer->Flags, &traits);
	}
	if (answer->Size == 0)
		return illegal("Size", index, "is 0");
	if (!checked_align_up(answer->Size, PAGE, &size_bytes))
		return illegal("Size", index, "does not fit when rounded up to pages");
	/* Behind the client's heap is something else of the client's. */
	if (heap_bytes != 0 && size_bytes > heap_bytes)
		return illegal("Size", index, "is more than the client's heap has");
	if (answer->Alignment != 0 && !is_power_of_two(answer->Alignment))
		return illegal("Alignment", index, "is not a power of two");
	if (answer->AllocationPriority == 0)
		return illegal("AllocationPriority", index, "is 0");
	if (answer->PitchAlignedSize != 0 && answer->PitchAlignedSize < answer->Size)
		return illegal("PitchAlignedSize", index, "is smaller than Size");
	if ((answer->SupportedWriteSegmentSet & info->segments_of_64k_pages) &&
	    !is_aligned(answer->Alignment, 0x10000))
		return illegal("Alignment", index,
			       "is no multiple of 64 KiB, and a supported segment has such pages");

	take_answer(answer, size_bytes, usable, traits, allocation);
	return STATUS_SUCCESS;
}

/* Sizes and priority are as they are nearly always, and the rest as it was the last time. */
static bool is_judged(const struct judged_answer *last, const DXGK_ALLOCATIONINFO *answer)
{
	return last->is_there && answer->Size - 1 < UINT64_MAX - PAGE &&
	       answer->PitchAlignedSize == 0 && answer->AllocationPriority != 0 &&
	       answer->Alignment == last->alignment && answer->Flags.Value == last->flags &&
	       answer->Flags2.Value == last->flags2 &&
	       answer->SupportedWriteSegmentSet == last->write_segments &&
	       answer->SupportedReadSegmentSet == last->read_segments &&
	       answer->EvictionSegmentSet == last->eviction_segments &&
	       answer->PreferredSegment.Value == last->preferred_segments;
}

/* The same for the answer to a process whose driver mostly says the same. */
SPECIALIZED NTSTATUS judge_next_answer(struct judged_answer *last,
				       const DXGK_ALLOCATIONINFO *answer,
				       const struct miniport_info *info,
				       struct miniport_allocation *allocation)
{
	if (LIKELY(is_judged(last, answer))) {
		take_answer(answer, (answer->Size + PAGE - 1) & ~(PAGE - 1), last->usable_segments,
			    last->traits, allocation);
		return STATUS_SUCCESS;
	}
	/* A copy, so that what it is for may stay in registers. */
	struct miniport_allocation judged = *allocation;
	NTSTATUS status = judge_answer(answer, 0, info, 0, &judged);
	*allocation = judged;
	*last = (struct judged_answer){
		.is_there = NT_SUCCESS(status),
		.traits.bits = allocation->traits.bits,
		.usable_segments = allocation->supported_segments,
		.alignment = answer->Alignment,
		.flags = answer->Flags.Value,
		.flags2 = answer->Flags2.Value,
		.read_segments = answer->SupportedReadSegmentSet,
		.write_segments = answer->SupportedWriteSegmentSet,
		.eviction_segments = answer->EvictionSegmentSet,
		.preferred_segments = answer->PreferredSegment.Value,
	};
	return status;
}

/* ---- create and destroy ---- */

static void destroy(struct miniport *miniport, struct miniport_client *client,
		    DXGKARG_DESTROYALLOCATION *args, void **driver_resource)
{
	struct ddi_crossing crossing;

	ddi_enter_level_0(&crossing, miniport, client, DDI_DESTROY_ALLOCATION);
	ddi_note(&crossing, miniport->context, args);
	if (driver_resource)
		args->hResource = *driver_resource;
	NTSTATUS status = miniport->ddi.DxgkDdiDestroyAllocation(miniport->context, args);
	/* While the resource stays, the driver may have given it another handle. */
	if (driver_resource && !args->Flags.DestroyResource)
		*driver_resource = args->hResource;
	ddi_leave_level_0(&crossing, status);
}

/* The driver has made them, and we cannot use them. */
RARE static void destroy_answers(struct miniport *miniport, struct miniport_client *client,
				 DXGKARG_CREATEALLOCATION *made, struct miniport_creation *creation)
{
	/* One at a time: no memory is needed to undo what a lack of it may have caused. */
	for (UINT i = 0; i < made->NumAllocations; i++) {
		HANDLE one = made->pAllocationInfo[i].hAllocation;
		DXGKARG_DESTROYALLOCATION args = {
			.NumAllocations = 1,
			.pAllocationList = &one,
			.Flags = { .DestroyResource = creation->is_new_resource &&
						      i + 1 == made->NumAllocations },
		};
		destroy(miniport, client, &args, creation->driver_resource);
	}
}

SPECIALIZED NTSTATUS call_create(struct miniport *miniport, DXGKARG_CREATEALLOCATION *args)
{
	if (UNLIKELY(miniport->guards_answers))
		return guarded_create_allocation(miniport, args);
	return miniport->ddi.DxgkDdiCreateAllocation(miniport->context, args);
}

SPECIALIZED NTSTATUS call_open(struct miniport *miniport, void *driver_device,
			       DXGKARG_OPENALLOCATION *args)
{
	if (UNLIKELY(miniport->guards_answers))
		return guarded_open_allocation(miniport, driver_device, args);
	return miniport->ddi.DxgkDdiOpenAllocation(driver_device, args);
}

NTSTATUS miniport_create_allocations(struct miniport *miniport, struct miniport_client *client,
				     struct miniport_creation *creation)
{
	uint32_t count = creation->count;
	DXGK_ALLOCATIONINFO few[FEW];
	DXGK_ALLOCATIONINFO *answers = few;
	struct ddi_crossing crossing;

	if (UNLIKELY(count > FEW)) {
		answers = mem_zalloc_array(count, sizeof(*answers));
		if (!answers)
			return refuse_no_memory(
				"There is no memory for what the driver will answer");
	}
	for (uint32_t i = 0; i < count; i++)
		answers[i] = (DXGK_ALLOCATIONINFO){
			.pPrivateDriverData = creation->allocations[i].private_data,
			.PrivateDriverDataSize = creation->allocations[i].private_bytes,
		};
	DXGKARG_CREATEALLOCATION args = {
		.pPrivateDriverData = creation->private_data,
		.PrivateDriverDataSize = creation->private_bytes,
		.NumAllocations = count,
		.pAllocationInfo = answers,
		.Flags = { .Resource = creation->driver_resource != NULL },
	};

	ddi_enter_level_0(&crossing, miniport, client, DDI_CREATE_ALLOCATION);
	ddi_note(&crossing, miniport->context, &args);
	if (creation->driver_resource)
		args.hResource = *creation->driver_resource;
	NTSTATUS status = call_create(miniport, &args);
	if (creation->driver_resource && NT_SUCCESS(status))
		*creation->driver_resource = args.hResource;
	status = ddi_leave_level_0(&crossing, status);

	if (NT_SUCCESS(status)) {
		for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
			status = judge_answer(&answers[i], i, &miniport->info, creation->heap_bytes,
					      &creation->allocations[i]);
		if (!NT_SUCCESS(status))
			destroy_answers(miniport, client, &args, creation);
	}
	if (answers != few)
		mem_free(answers);
	return status;
}

void miniport_destroy_allocations(struct miniport *miniport, struct miniport_client *client,
				  uint32_t count, void *const *driver_allocations,
				  void **driver_resource, bool is_resource_going)
{
	DXGKARG_DESTROYALLOCATION args = {
		.NumAllocations = count,
		.pAllocationList = (const HANDLE *)driver_allocations,
		.Flags = { .DestroyResource = is_resource_going },
	};

	destroy(miniport, client, &args, driver_resource);
}

/* ---- open and close ---- */

void miniport_close_allocations(struct miniport *miniport, struct miniport_client *client,
				void *driver_device, uint32_t count, void *const *driver_bindings)
{
	DXGKARG_CLOSEALLOCATION args = {
		.NumAllocations = count,
		.pOpenHandleList = (const HANDLE *)driver_bindings,
	};
	struct ddi_crossing crossing;

	ddi_enter_level_0(&crossing, miniport, client, DDI_CLOSE_ALLOCATION);
	ddi_note(&crossing, driver_device, &args);
	ddi_leave_level_0(&crossing, miniport->ddi.DxgkDdiCloseAllocation(driver_device, &args));
}

void miniport_close_opening(struct miniport *miniport, struct miniport_client *client,
			    const struct miniport_opening *opening)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < opening->count; i++) {
		if (opening->bindings[i].driver_binding)
			opening->storage[open++] = opening->bindings[i].driver_binding;
	}
	if (open > 0)
		miniport_close_allocations(miniport, client, opening->driver_device, open,
					   opening->storage);
}

static NTSTATUS judge_bindings(const DXGK_OPENALLOCATIONINFO *answers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!answers[i].hDeviceSpecificAllocation)
			return refuse_item(STATUS_ILLEGAL_ANSWER, RULE_DDI_ALLOCATION,
					   "pOpenAllocation", i,
					   "of DxgkDdiOpenAllocation: hDeviceSpecificAllocation is "
					   "NULL after success");
	}
	return STATUS_SUCCESS;
}

NTSTATUS miniport_open_allocations(struct miniport *miniport, struct miniport_client *client,
				   struct miniport_opening *opening)
{
	uint32_t count = opening->count;
	DXGK_OPENALLOCATIONINFO few[FEW];
	DXGK_OPENALLOCATIONINFO *answers = few;
	struct ddi_crossing crossing;

	if (UNLIKELY(count > FEW)) {
		answers = mem_zalloc_array(count, sizeof(*answers));
		if (!answers)
			return refuse_no_memory("There is no memory for what the driver will open");
	}
	for (uint32_t i = 0; i < count; i++)
		answers[i] = (DXGK_OPENALLOCATIONINFO){
			.hAllocation = opening->bindings[i].handle,
			.pPrivateDriverData = opening->bindings[i].private_data,
			.PrivateDriverDataSize = opening->bindings[i].private_bytes,
		};
	DXGKARG_OPENALLOCATION args = {
		.NumAllocations = count,
		.pOpenAllocation = answers,
		.pPrivateDriverData = opening->private_data,
		.PrivateDriverSize = opening->private_bytes,
		.Flags = { .Create = opening->is_create, .ReadOnly = opening->is_read_only },
	};

	ddi_enter_level_0(&crossing, miniport, client, DDI_OPEN_ALLOCATION);
	ddi_note(&crossing, opening->driver_device, &args);
	NTSTATUS status = call_open(miniport, opening->driver_device, &args);
	status = ddi_leave_level_0(&crossing, status);

	if (NT_SUCCESS(status)) {
		status = judge_bindings(answers, count);
		for (uint32_t i = 0; i < count; i++)
			opening->bindings[i].driver_binding = answers[i].hDeviceSpecificAllocation;
		if (!NT_SUCCESS(status))
			miniport_close_opening(miniport, client, opening);
	}
	if (answers != few)
		mem_free(answers);
	return status;
}

/* ---- one, in one visit ---- */

_Static_assert(sizeof(struct ddi_crossing) <= sizeof(struct miniport_visit), "room for a crossing");

bool miniport_can_visit(void)
{
	return LIKELY(!ddi_innermost && nt_irql_is_plain() &&
		      !trace_has(TRACE_WITH_DRIVER | TRACE_WITH_ARGUMENTS) &&
		      !log_is_on(LOG_CALLS));
}

SPECIALIZED NTSTATUS visit_leave(struct ddi_crossing *crossing, uint32_t seat, NTSTATUS status)
{
	nt_irql_expect_plain(ddi_infos[crossing->ddi].name);
	ddi_leave_simply(crossing->miniport, crossing->client, seat);
	return LIKELY(status == STATUS_SUCCESS) ? status : ddi_level_0_judge(crossing, status);
}

/*
 * From one entry point, which returned `status`, to the next without letting go of the driver.
 * Nothing between the two may wait for another thread.
 */
SPECIALIZED void visit_go_on(struct ddi_crossing *crossing, NTSTATUS status, enum ddi next)
{
	assert(ddi_infos[next].level == DDI_LEVEL_0 && ddi_infos[next].irql == DDI_IRQL_PASSIVE);
	nt_irql_expect_plain(ddi_infos[crossing->ddi].name);
	if (UNLIKELY(status != STATUS_SUCCESS))
		ddi_level_0_judge(crossing, status);
	crossing->ddi = next;
	nt_entered = (struct nt_entered){ .routine = ddi_routine(crossing->miniport, next) };
}

NTSTATUS miniport_visit_create(struct miniport_visit *visit, struct miniport *miniport,
			       struct miniport_client *client, uint32_t seat,
			       struct miniport_allocation *allocation)
{
	struct ddi_crossing *crossing = (struct ddi_crossing *)visit;
	DXGK_ALLOCATIONINFO answer = {
		.pPrivateDriverData = allocation->private_data,
		.PrivateDriverDataSize = allocation->private_bytes,
	};
	DXGKARG_CREATEALLOCATION args = { .NumAllocations = 1, .pAllocationInfo = &answer };

	ddi_enter_simply(crossing, miniport, client, DDI_CREATE_ALLOCATION, seat);
	ddi_note(crossing, miniport->context, &args);
	NTSTATUS status = call_create(miniport, &args);
	if (UNLIKELY(status != STATUS_SUCCESS))
		return visit_leave(crossing, seat, status);
	ddi_note(crossing, NULL, NULL); /* they go before it does */
	status = judge_next_answer(&client->judged, &answer, &miniport->info, allocation);
	if (UNLIKELY(!NT_SUCCESS(status))) {
		HANDLE made = answer.hAllocation;
		DXGKARG_DESTROYALLOCATION unmake = { .NumAllocations = 1,
						     .pAllocationList = &made };
		(void)!visit_leave(crossing, seat, STATUS_SUCCESS);
		destroy(miniport, client, &unmake, NULL);
	}
	return status;
}

NTSTATUS miniport_visit_open(struct miniport_visit *visit, uint32_t seat, void *driver_device,
			     void *driver_allocation, struct miniport_binding *binding)
{
	struct ddi_crossing *crossing = (struct ddi_crossing *)visit;
	struct miniport *miniport = crossing->miniport;
	DXGK_OPENALLOCATIONINFO answer = {
		.hAllocation = binding->handle,
		.pPrivateDriverData = binding->private_data,
		.PrivateDriverDataSize = binding->private_bytes,
	};
	DXGKARG_OPENALLOCATION args = {
		.NumAllocations = 1,
		.pOpenAllocation = &answer,
		.Flags = { .Create = 1 },
	};

	visit_go_on(crossing, STATUS_SUCCESS, DDI_OPEN_ALLOCATION);
	ddi_note(crossing, driver_device, &args);
	crossing->subject = binding->handle;
	crossing->subject_data = driver_allocation;
	NTSTATUS status = call_open(miniport, driver_device, &args);
	status = visit_leave(crossing, seat, status);
	binding->driver_binding = answer.hDeviceSpecificAllocation;
	return NT_SUCCESS(status) ? judge_bindings(&answer, 1) : status;
}

NTSTATUS miniport_visit_close(struct miniport_visit *visit, struct miniport *miniport,
			      struct miniport_client *client, uint32_t seat, void *driver_device,
			      void *driver_binding)
{
	struct ddi_crossing *crossing = (struct ddi_crossing *)visit;
	DXGKARG_CLOSEALLOCATION args = {
		.NumAllocations = 1,
		.pOpenHandleList = (const HANDLE *)&driver_binding,
	};

	ddi_enter_simply(crossing, miniport, client, DDI_CLOSE_ALLOCATION, seat);
	ddi_note(crossing, driver_device, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCloseAllocation(driver_device, &args);
	ddi_note(crossing, NULL, NULL);
	return status;
}

void miniport_visit_destroy(struct miniport_visit *visit, uint32_t seat, NTSTATUS close_status,
			    void *driver_allocation)
{
	struct ddi_crossing *crossing = (struct ddi_crossing *)visit;
	struct miniport *miniport = crossing->miniport;
	DXGKARG_DESTROYALLOCATION args = {
		.NumAllocations = 1,
		.pAllocationList = (const HANDLE *)&driver_allocation,
	};

	visit_go_on(crossing, close_status, DDI_DESTROY_ALLOCATION);
	ddi_note(crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiDestroyAllocation(miniport->context, &args);
	(void)!visit_leave(crossing, seat, status);
}

void miniport_visit_end(struct miniport_visit *visit, uint32_t seat, NTSTATUS close_status)
{
	(void)!visit_leave((struct ddi_crossing *)visit, seat, close_status);
}

/* ---- properties ---- */

NTSTATUS miniport_validate_update(struct miniport *miniport, struct miniport_client *client,
				  const struct miniport_property_update *update)
{
	DXGKARG_VALIDATEUPDATEALLOCPROPERTY args = {
		.hAllocation = update->driver_allocation,
		.SupportedSegmentSet = update->supported_segments,
		.PreferredSegment.Value = update->preferred_segments,
		.Flags.AccessedPhysically = update->is_accessed_physically,
		.SetAccessedPhysically = update->sets_accessed_physically,
		.SetSupportedSegmentSet = update->sets_supported_segments,
		.SetPreferredSegment = update->sets_preferred_segments,
	};
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiValidateUpdateAllocationProperty)
		return STATUS_SUCCESS;
	ddi_enter(&crossing, miniport, client, DDI_VALIDATE_UPDATE_ALLOCATION_PROPERTY);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status =
		miniport->ddi.DxgkDdiValidateUpdateAllocationProperty(miniport->context, &args);
	return ddi_leave(&crossing, status);
}

/* ---- memory that the client has ---- */

static NTSTATUS standard_data(struct miniport *miniport, struct miniport_client *client,
			      DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, client, DDI_GET_STANDARD_ALLOCATION_DRIVER_DATA);
	ddi_note(&crossing, miniport->context, args);
	NTSTATUS status =
		miniport->ddi.DxgkDdiGetStandardAllocationDriverData(miniport->context, args);
	return ddi_leave(&crossing, status);
}

static NTSTATUS guarded_standard_data(struct miniport *miniport, struct miniport_client *client,
				      const struct miniport_standard_data *data,
				      DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args)
{
	static const char entry[] = "DxgkDdiGetStandardAllocationDriverData";
	struct guard allocation;
	struct guard resource;

	guard_open(&allocation, data->allocation_data, data->allocation_bytes);
	guard_open(&resource, data->resource_data, data->resource_bytes);
	args->pAllocationPrivateDriverData = allocation.memory;
	args->pResourcePrivateDriverData = resource.memory;
	NTSTATUS status = standard_data(miniport, client, args);
	guard_close(&resource, entry, "pResourcePrivateDriverData");
	guard_close(&allocation, entry, "pAllocationPrivateDriverData");
	return status;
}

NTSTATUS miniport_describe_existing_heap(struct miniport *miniport, struct miniport_client *client,
					 uint64_t size_bytes,
					 struct miniport_standard_data *data_out)
{
	/* A heap is shown to drivers as one row of bytes that several adapters can share. */
	D3DKMDT_GDISURFACEDATA surface = {
		.Width = (UINT)size_bytes,
		.Height = 1,
		.Format = D3DDDIFMT_UNKNOWN,
		.Type = D3DKMDT_GDISURFACE_TEXTURE_CROSSADAPTER,
	};
	DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args = {
		.StandardAllocationType = D3DKMDT_STANDARDALLOCATION_GDISURFACE,
		.pCreateGdiSurfaceData = &surface,
	};
	struct miniport_standard_data data = { 0 };

	if (!miniport->ddi.DxgkDdiGetStandardAllocationDriverData)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING,
			      "DxgkDdiGetStandardAllocationDriverData",
			      "is missing, and standard allocations need it");
	if (size_bytes > UINT32_MAX)
		return invalid(RULE_API_VALUE, "ExistingHeapData.Size",
			       "is %llu, and a driver is told the size in 32 bits",
			       (unsigned long long)size_bytes);
	NTSTATUS status = standard_data(miniport, client, &args);
	if (!NT_SUCCESS(status))
		return status;
	data.allocation_bytes = args.AllocationPrivateDriverDataSize;
	data.resource_bytes = args.ResourcePrivateDriverDataSize;
	if (data.allocation_bytes == 0 && data.resource_bytes == 0)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_ALLOCATION,
			      "DxgkDdiGetStandardAllocationDriverData",
			      "says that neither private data has a size");
	data.allocation_data = mem_zalloc(data.allocation_bytes);
	data.resource_data = mem_zalloc(data.resource_bytes);
	if (!data.allocation_data || !data.resource_data) {
		status = refuse_no_memory(
			"There is no memory for the private data of a standard allocation");
		goto free_data;
	}
	status = guarded_standard_data(miniport, client, &data, &args);
	if (!NT_SUCCESS(status))
		goto free_data;
	*data_out = data;
	return STATUS_SUCCESS;

free_data:
	mem_free(data.allocation_data);
	mem_free(data.resource_data);
	return status;
}
