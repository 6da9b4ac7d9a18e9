/*
 * allocations.c - see allocations.h.
 *
 * Most calls are about one allocation, so a few argument elements fit on the stack; longer lists
 * take memory, and say so when there is none.
 */
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/allocations.h"
#include "miniport/answers.h"
#include "miniport/internal.h"

#define PAGE UINT64_C(4096)

enum { FEW = 4 };

static NTSTATUS no_memory(const char *what)
{
	return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "There is no memory for %s",
		      what);
}

/* ---- judging what the driver made of an allocation ---- */

static NTSTATUS illegal(const char *field, uint32_t index, const char *why)
{
	return refuse_item(STATUS_ILLEGAL_ANSWER, RULE_DDI_ALLOCATION, "pAllocationInfo", index,
			   "of DxgkDdiCreateAllocation: %s %s", field, why);
}

/* Bits of segments that exist, the implicit one for system memory included. */
static uint32_t known_segments(const struct miniport_info *info)
{
	uint32_t last = info->implicit_system_segment_id ? info->implicit_system_segment_id
							 : info->segment_count;

	return last >= 32 ? UINT32_MAX : (UINT32_C(1) << last) - 1;
}

static uint32_t aperture_segments(const struct miniport_info *info)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < info->segment_count; i++) {
		if (info->segments[i].is_aperture)
			set |= UINT32_C(1) << i;
	}
	return set;
}

static uint32_t implicit_segment(const struct miniport_info *info)
{
	uint32_t id = info->implicit_system_segment_id;

	return id ? UINT32_C(1) << (id - 1) : 0;
}

/* Five ids of five bits, each followed by a direction bit. */
static uint32_t preferred_set(uint32_t preference)
{
	uint32_t set = 0;

	for (unsigned i = 0; i < 5; i++) {
		uint32_t id = preference >> (6 * i) & 0x1f;
		if (id != 0)
			set |= UINT32_C(1) << (id - 1);
	}
	return set;
}

struct answer_fault segments_fault(const struct miniport_info *info, const char *supported_field,
				   uint32_t supported, uint32_t eviction, uint32_t preferred)
{
	if (supported == 0)
		return (struct answer_fault){ supported_field, "is empty" };
	if (supported & ~known_segments(info))
		return (struct answer_fault){ supported_field, "names a segment there is not" };
	if (eviction & ~aperture_segments(info))
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
	if (flags.ExplicitResidencyNotification && !flags.AccessedPhysically)
		return "has ExplicitResidencyNotification without AccessedPhysically";
	return NULL;
}

struct answer_fault flags_fault(const struct miniport_info *info, uint32_t value)
{
	const char *why = why_flags_are_wrong(info, (DXGK_ALLOCATIONINFOFLAGS){ .Value = value });

	return (struct answer_fault){ why ? "Flags" : NULL, why };
}

static bool may_use_64k_pages(uint32_t supported, const struct miniport_info *info)
{
	for (uint32_t i = 0; i < info->segment_count; i++) {
		if (info->segments[i].uses_64k_pages && (supported >> i & 1))
			return true;
	}
	return false;
}

static NTSTATUS judge_answer(const DXGK_ALLOCATIONINFO *answer, uint32_t index,
			     const struct miniport_info *info, uint64_t heap_bytes,
			     struct miniport_allocation *allocation)
{
	uint64_t size_bytes;
	uint32_t supported = answer->SupportedWriteSegmentSet;

	/* Before WDDM 2 an allocation may be readable where it is not writable. */
	if (info->wddm_version < 2000)
		supported |= answer->SupportedReadSegmentSet;
	struct answer_fault fault =
		segments_fault(info, "SupportedWriteSegmentSet", supported,
			       answer->EvictionSegmentSet, answer->PreferredSegment.Value);
	if (!fault.field)
		fault = flags_fault(info, answer->Flags.Value);
	if (fault.field)
		return illegal(fault.field, index, fault.why);
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
	if (may_use_64k_pages(answer->SupportedWriteSegmentSet, info) &&
	    !is_aligned(answer->Alignment, 0x10000))
		return illegal("Alignment", index,
			       "is no multiple of 64 KiB, and a supported segment has such pages");

	allocation->driver_allocation = answer->hAllocation;
	allocation->size_bytes = size_bytes;
	allocation->alignment_bytes = answer->Alignment > PAGE ? answer->Alignment : PAGE;
	allocation->supported_segments = answer->SupportedWriteSegmentSet;
	allocation->eviction_segments = answer->EvictionSegmentSet;
	allocation->preferred_segments = answer->PreferredSegment.Value;
	allocation->hinted_banks = answer->HintedBank.Value;
	allocation->priority = answer->AllocationPriority;
	allocation->is_cpu_visible = answer->Flags.CpuVisible;
	allocation->is_cached = answer->Flags.Cached;
	allocation->is_kept_in_system = answer->Flags.PermanentSysMem;
	allocation->is_existing_memory = answer->Flags.ExistingSysMem;
	allocation->is_accessed_physically = answer->Flags.AccessedPhysically;
	allocation->wants_residency_news = answer->Flags.ExplicitResidencyNotification;
	allocation->goes_to_the_end = answer->Flags.FromEndOfSegment;
	allocation->is_pinned = answer->Flags.Overlay || answer->Flags.Capture;
	allocation->supports_aperture = answer->SupportedWriteSegmentSet &
					(aperture_segments(info) | implicit_segment(info));
	allocation->flags = answer->Flags.Value;
	return STATUS_SUCCESS;
}

/* ---- create and destroy ---- */

static void destroy(struct miniport *miniport, struct miniport_client *client,
		    DXGKARG_DESTROYALLOCATION *args, void **driver_resource)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, client, DDI_DESTROY_ALLOCATION);
	if (driver_resource)
		args->hResource = *driver_resource;
	NTSTATUS status = miniport->ddi.DxgkDdiDestroyAllocation(miniport->context, args);
	/* While the resource stays, the driver may have given it another handle. */
	if (driver_resource && !args->Flags.DestroyResource)
		*driver_resource = args->hResource;
	ddi_leave(&crossing, status);
}

/* The driver has made them, and we cannot use them. */
static void destroy_answers(struct miniport *miniport, struct miniport_client *client,
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

NTSTATUS miniport_create_allocations(struct miniport *miniport, struct miniport_client *client,
				     struct miniport_creation *creation)
{
	DXGK_ALLOCATIONINFO few[FEW];
	DXGK_ALLOCATIONINFO *answers = few;
	struct ddi_crossing crossing;

	if (creation->count > FEW)
		answers = mem_zalloc_array(creation->count, sizeof(*answers));
	else
		memset(few, 0, sizeof(few[0]) * creation->count);
	if (!answers)
		return no_memory("what the driver will answer");
	for (uint32_t i = 0; i < creation->count; i++) {
		answers[i].pPrivateDriverData = creation->allocations[i].private_data;
		answers[i].PrivateDriverDataSize = creation->allocations[i].private_bytes;
	}
	DXGKARG_CREATEALLOCATION args = {
		.pPrivateDriverData = creation->private_data,
		.PrivateDriverDataSize = creation->private_bytes,
		.NumAllocations = creation->count,
		.pAllocationInfo = answers,
		.Flags = { .Resource = creation->driver_resource != NULL },
	};

	ddi_enter(&crossing, miniport, client, DDI_CREATE_ALLOCATION);
	if (creation->driver_resource)
		args.hResource = *creation->driver_resource;
	NTSTATUS status = miniport->ddi.DxgkDdiCreateAllocation(miniport->context, &args);
	if (creation->driver_resource && NT_SUCCESS(status))
		*creation->driver_resource = args.hResource;
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status)) {
		for (uint32_t i = 0; NT_SUCCESS(status) && i < creation->count; i++)
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

	ddi_enter(&crossing, miniport, client, DDI_CLOSE_ALLOCATION);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiCloseAllocation(driver_device, &args));
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
	DXGK_OPENALLOCATIONINFO few[FEW];
	DXGK_OPENALLOCATIONINFO *answers = few;
	struct ddi_crossing crossing;

	if (opening->count > FEW)
		answers = mem_zalloc_array(opening->count, sizeof(*answers));
	else
		memset(few, 0, sizeof(few[0]) * opening->count);
	if (!answers)
		return no_memory("what the driver will open");
	for (uint32_t i = 0; i < opening->count; i++) {
		answers[i].hAllocation = opening->bindings[i].handle;
		answers[i].pPrivateDriverData = opening->bindings[i].private_data;
		answers[i].PrivateDriverDataSize = opening->bindings[i].private_bytes;
	}
	DXGKARG_OPENALLOCATION args = {
		.NumAllocations = opening->count,
		.pOpenAllocation = answers,
		.pPrivateDriverData = opening->private_data,
		.PrivateDriverSize = opening->private_bytes,
		.Flags = { .Create = opening->is_create, .ReadOnly = opening->is_read_only },
	};

	ddi_enter(&crossing, miniport, client, DDI_OPEN_ALLOCATION);
	NTSTATUS status = miniport->ddi.DxgkDdiOpenAllocation(opening->driver_device, &args);
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status)) {
		status = judge_bindings(answers, opening->count);
		for (uint32_t i = 0; i < opening->count; i++)
			opening->bindings[i].driver_binding = answers[i].hDeviceSpecificAllocation;
		/* Those it did open are closed again. */
		for (uint32_t i = 0; !NT_SUCCESS(status) && i < opening->count; i++) {
			void *binding = opening->bindings[i].driver_binding;
			if (binding)
				miniport_close_allocations(miniport, client, opening->driver_device,
							   1, &binding);
		}
	}
	if (answers != few)
		mem_free(answers);
	return status;
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
	NTSTATUS status =
		miniport->ddi.DxgkDdiGetStandardAllocationDriverData(miniport->context, args);
	return ddi_leave(&crossing, status);
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
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "Size",
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
		status = no_memory("the private data of a standard allocation");
		goto free_data;
	}
	args.pAllocationPrivateDriverData = data.allocation_data;
	args.pResourcePrivateDriverData = data.resource_data;
	status = standard_data(miniport, client, &args);
	if (!NT_SUCCESS(status))
		goto free_data;
	*data_out = data;
	return STATUS_SUCCESS;

free_data:
	mem_free(data.allocation_data);
	mem_free(data.resource_data);
	return status;
}
