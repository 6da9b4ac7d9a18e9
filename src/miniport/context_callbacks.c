/* SPDX-License-Identifier: MIT */
/*
 * context_callbacks.c - DxgkCbCreateContextAllocation and its family (context_services.h).
 *
 * What is not in order is reported, and fails; what is goes to whoever serves it.
 */
#include <stdatomic.h>

#include "base/checked.h"
#include "miniport/answers.h"
#include "miniport/callbacks.h"
#include "miniport/context_services.h"
#include "nt/report.h"

#define PAGE UINT64_C(4096)

#define NO_SUCH_ALLOCATION "an hAllocation that is none of this adapter's, or not any more"

static const struct miniport_context_services *_Atomic services;

void miniport_serve_contexts(const struct miniport_context_services *served)
{
	atomic_store(&services, served);
}

/* Where there is no table nobody serves anything. */
static const struct miniport_context_services *table(void)
{
	static const struct miniport_context_services nobody;
	const struct miniport_context_services *served = atomic_load(&services);

	return served ? served : &nobody;
}

static NTSTATUS not_served(const char *name)
{
	nt_report(RULE_DDI_CALLBACK_NOT_BUILT, "%s was called, and nobody serves it", name);
	return callback_end(STATUS_NOT_SUPPORTED);
}

static NTSTATUS wrong(const char *name, const char *what)
{
	nt_report(RULE_DDI_CALLBACK_ARGUMENT, "%s was given %s", name, what);
	return callback_end(STATUS_INVALID_PARAMETER);
}

void miniport_report_leak(const char *whose, const void *driver_allocation, uint64_t size_bytes)
{
	nt_report(RULE_DDI_CONTEXT_ALLOCATION_LEAK,
		  "a context allocation of %s (the driver's %p, %llu bytes) was left behind", whose,
		  driver_allocation, (unsigned long long)size_bytes);
}

/* Of a service: what the driver named may not be there, or be waited for by itself. */
static NTSTATUS answer(const char *name, const char *what, NTSTATUS status)
{
	if (status == STATUS_INVALID_DEVICE_REQUEST)
		nt_report(RULE_DDI_CALLBACK_DEADLOCK,
			  "%s was called where what it waits for is done", name);
	return status == STATUS_INVALID_HANDLE ? wrong(name, what) : callback_end(status);
}

/* The kernel's own threads would wait for this one. */
static bool may_wait(const struct miniport *miniport)
{
	return !ddi_is_in_class(miniport, DDI_CLASS_SCHEDULER);
}

/* ---- context allocations ---- */

/* Whose memory it is to be. NULL, or what is wrong with it. */
static const char *owner_fault(const struct miniport *miniport,
			       const DXGKARGCB_CREATECONTEXTALLOCATION *args)
{
	bool is_shared = args->ContextAllocationFlags.SharedAcrossContexts;

	if (!args->hDevice || args->hDevice == (HANDLE)&miniport->system_device)
		return "an hDevice that is NULL or the system's: it is for devices of clients";
	if (is_shared && args->hContext)
		return "an hContext together with SharedAcrossContexts";
	if (!is_shared && (!args->hContext || args->hContext == (HANDLE)&miniport->system_context))
		return "an hContext that is NULL or the system's, without SharedAcrossContexts";
	return NULL;
}

static const char *creation_fault(const struct miniport *miniport,
				  const DXGKARGCB_CREATECONTEXTALLOCATION *args)
{
	const struct miniport_info *info = &miniport->info;
	const char *fault = owner_fault(miniport, args);

	if (fault)
		return fault;
	if (args->ContextAllocationFlags.Reserved)
		return "ContextAllocationFlags with reserved bits";
	if (args->ContextAllocationFlags.MapGpuVirtualAddress && !info->supports_gpu_mmu)
		return "MapGpuVirtualAddress, and the adapter has no such addresses";
	if (args->Size == 0 || args->Size > UINT64_MAX - PAGE)
		return "a Size that is no size";
	if (args->Alignment != 0 && !is_power_of_two(args->Alignment))
		return "an Alignment that is not a power of two";
	if (info->wddm_version >= 2000 && args->PhysicalAdapterIndex != 0)
		return "a PhysicalAdapterIndex, and there is one physical adapter";
	return NULL;
}

/* What it is to be like is judged as DxgkDdiCreateAllocation's answers are. */
static struct answer_fault placement_fault(const struct miniport_info *info,
					   const DXGKARGCB_CREATECONTEXTALLOCATION *args)
{
	struct answer_fault fault =
		segments_fault(info, "SupportedSegmentSet", args->SupportedSegmentSet,
			       args->EvictionSegmentSet, args->PreferredSegment.Value);

	return fault.field ? fault : flags_fault(info, args->Flags.Value);
}

static bool is_aperture_only(const struct miniport_info *info, uint32_t segments)
{
	for (uint32_t i = 0; i < info->segment_count; i++) {
		if ((segments >> i & 1) && !info->segments[i].is_aperture)
			return false;
	}
	return true;
}

static NTSTATUS APIENTRY create_context_allocation(DXGKARGCB_CREATECONTEXTALLOCATION *args)
{
	static const char name[] = "DxgkCbCreateContextAllocation";
	struct miniport *miniport =
		callback_begin(args ? args->hAdapter : NULL, name, PASSIVE_LEVEL);
	void *allocation = NULL;

	if (!miniport || !args)
		return callback_end(STATUS_INVALID_PARAMETER);
	args->hAllocation = NULL;
	const char *fault = creation_fault(miniport, args);
	if (fault)
		return wrong(name, fault);
	struct answer_fault misplaced = placement_fault(&miniport->info, args);
	if (misplaced.field) {
		nt_report(RULE_DDI_CALLBACK_ARGUMENT, "%s was given an allocation whose %s %s",
			  name, misplaced.field, misplaced.why);
		return callback_end(STATUS_INVALID_PARAMETER);
	}
	if (!table()->create)
		return not_served(name);

	struct miniport_context_allocation desc = {
		.kernel_device = args->hDevice,
		.kernel_context = args->hContext,
		.driver_allocation = args->hDriverAllocation,
		.size_bytes = (args->Size + PAGE - 1) & ~(PAGE - 1),
		.alignment_bytes = args->Alignment > PAGE ? args->Alignment : PAGE,
		.supported_segments = args->SupportedSegmentSet,
		.eviction_segments = args->EvictionSegmentSet,
		.preferred_segments = args->PreferredSegment.Value,
		.hinted_banks = args->HintedBank.Value,
		.flags = args->Flags.Value,
		.is_cpu_visible = args->Flags.CpuVisible,
		.is_cached = args->Flags.Cached,
		.is_accessed_physically = args->Flags.AccessedPhysically,
		.wants_residency_news = args->Flags.ExplicitResidencyNotification,
		.wants_pointer = args->Flags.CpuVisible && args->Flags.Protected &&
				 is_aperture_only(&miniport->info, args->SupportedSegmentSet),
	};
	NTSTATUS status = table()->create(miniport->listener, &desc, &allocation);
	if (NT_SUCCESS(status))
		args->hAllocation = allocation;
	return answer(name, "an hDevice or hContext that this adapter does not have", status);
}

static const char *mapping_fault(const struct miniport *miniport,
				 const DXGKARGCB_MAPCONTEXTALLOCATION *args)
{
	D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE protection = args->Protection;
	uint64_t bytes = 0;
	uint64_t end = 0;

	if (!miniport->info.supports_gpu_mmu)
		return "an allocation to map, and the adapter has no virtual addresses";
	if (!args->hAllocation)
		return "a NULL hAllocation";
	if (args->SizeInPages == 0 ||
	    !checked_add(args->OffsetInPages, args->SizeInPages, &bytes) ||
	    !checked_mul(bytes, PAGE, &bytes))
		return "a range of pages that is none";
	if ((args->BaseAddress | args->MinimumAddress | args->MaximumAddress) % PAGE != 0)
		return "an address within a page";
	if (!checked_add(args->BaseAddress, args->SizeInPages * PAGE, &end))
		return "a BaseAddress behind which there is no room";
	if (args->BaseAddress == 0 && args->MaximumAddress != 0 &&
	    args->MaximumAddress <= args->MinimumAddress)
		return "a MaximumAddress that is not above MinimumAddress";
	if (protection.Reserved || protection.Zero || protection.NoAccess)
		return "a Protection for which no allocation is needed, or that does not exist";
	return NULL;
}

static uint64_t map_end(uint64_t address)
{
	callback_end(address ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL);
	return address;
}

static D3DGPU_VIRTUAL_ADDRESS APIENTRY
map_context_allocation(IN_CONST_HANDLE handle, const DXGKARGCB_MAPCONTEXTALLOCATION *args)
{
	static const char name[] = "DxgkCbMapContextAllocation";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return map_end(0);
	const char *fault = args ? mapping_fault(miniport, args) : "NULL";
	if (fault) {
		wrong(name, fault);
		return 0;
	}
	if (!table()->map) {
		not_served(name);
		return 0;
	}
	return map_end(table()->map(miniport->listener,
				    &(struct miniport_context_mapping){
					    .allocation = args->hAllocation,
					    .base_address = args->BaseAddress,
					    .lowest_address = args->MinimumAddress,
					    .end_address = args->MaximumAddress,
					    .first_page = args->OffsetInPages,
					    .page_count = args->SizeInPages,
					    .protection = args->Protection.Value,
					    .driver_protection = args->DriverProtection,
				    },
				    may_wait(miniport)));
}

static NTSTATUS APIENTRY update_context_allocation(IN_CONST_HANDLE handle,
						   const DXGKARGCB_UPDATECONTEXTALLOCATION *args)
{
	static const char name[] = "DxgkCbUpdateContextAllocation";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!args || !args->hAllocation)
		return wrong(name, args ? "a NULL hAllocation" : "NULL");
	if (args->PrivateDriverDataSize != 0 && !args->pPrivateDriverData)
		return wrong(name, "a PrivateDriverDataSize and no pPrivateDriverData");
	if (!table()->update)
		return not_served(name);
	return answer(name, NO_SUCH_ALLOCATION,
		      table()->update(miniport->listener, args->hAllocation,
				      args->pPrivateDriverData, args->PrivateDriverDataSize,
				      may_wait(miniport)));
}

static NTSTATUS APIENTRY destroy_context_allocation(IN_CONST_HANDLE handle,
						    IN_CONST_HANDLE allocation)
{
	static const char name[] = "DxgkCbDestroyContextAllocation";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!allocation)
		return wrong(name, "a NULL hAllocation");
	if (!table()->destroy)
		return not_served(name);
	return answer(name, NO_SUCH_ALLOCATION,
		      table()->destroy(miniport->listener, allocation, may_wait(miniport)));
}

/* ---- addresses ---- */

/* What one entry above the leaves stands for. */
static uint64_t leaf_table_covers(const struct miniport *miniport)
{
	return PAGE << miniport->info.gpu_mmu.levels[0].index_bits;
}

static const char *reservation_fault(const struct miniport *miniport,
				     const DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *args)
{
	if (!miniport->info.supports_gpu_mmu)
		return "a range to reserve, and the adapter has no virtual addresses";
	if (!ddi_is_in(miniport, DDI_CREATE_PROCESS))
		return "a range to reserve outside DxgkDdiCreateProcess";
	if (!args->hDxgkProcess)
		return "a NULL hDxgkProcess";
	if (args->Reserved)
		return "Flags with reserved bits";
	if (args->SizeInBytes == 0 || args->SizeInBytes % leaf_table_covers(miniport) != 0 ||
	    args->BaseAddress % leaf_table_covers(miniport) != 0)
		return "a range that is not made of whole page tables";
	if (args->Alignment != 0 && !is_power_of_two(args->Alignment))
		return "an Alignment that is not a power of two";
	return NULL;
}

static NTSTATUS APIENTRY reserve_gpu_virtual_address_range(
	IN_CONST_HANDLE handle, DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *args)
{
	static const char name[] = "DxgkCbReserveGpuVirtualAddressRange";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);
	uint64_t address = 0;

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	const char *fault = args ? reservation_fault(miniport, args) : "NULL";
	if (fault)
		return wrong(name, fault);
	if (!table()->reserve_addresses)
		return not_served(name);
	NTSTATUS status = table()->reserve_addresses(
		miniport->listener,
		&(struct miniport_reservation){
			.kernel_process = args->hDxgkProcess,
			.is_for_kernel = args->hDxgkProcess == (HANDLE)&miniport->system_process,
			.size_bytes = args->SizeInBytes,
			.alignment_bytes = args->Alignment,
			.base_address = args->BaseAddress,
			.is_mappable_by_client = args->AllowUserModeMapping,
		},
		&address);
	if (NT_SUCCESS(status))
		args->StartVirtualAddress = address;
	return answer(name, "an hDxgkProcess that is not being created", status);
}

/* ---- news ---- */

static NTSTATUS APIENTRY invalidate_hw_context(const DXGKARGCB_INVALIDATEHWCONTEXT *args)
{
	static const char name[] = "DxgkCbInvalidateHwContext";
	struct miniport *miniport =
		callback_begin(args ? args->hAdapter : NULL, name, PASSIVE_LEVEL);

	if (!miniport || !args)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!args->hHwContext || args->Flags.Reserved)
		return wrong(name,
			     args->hHwContext ? "Flags with reserved bits" : "a NULL hHwContext");
	if (!table()->invalidate_hw_context)
		return not_served(name);
	return callback_end(table()->invalidate_hw_context(miniport->listener, args->hHwContext,
							   args->Flags.CollateralDamage));
}

static NTSTATUS APIENTRY signal_event(const DXGKARGCB_SIGNALEVENT *args)
{
	static const char name[] = "DxgkCbSignalEvent";

	callback_begin(CALLBACK_NO_HANDLE, name, HIGH_LEVEL);
	if (!nt_irql_require(DISPATCH_LEVEL, name))
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!args || !args->hEvent)
		return wrong(name, args ? "a NULL hEvent" : "NULL");
	if (args->Reserved)
		return wrong(name, "Flags with reserved bits");
	if (args->CpuEventObject && args->hDxgkProcess)
		return wrong(name, "CpuEventObject, and an hDxgkProcess beside it");
	if (!table()->signal_event)
		return not_served(name);

	NTSTATUS status =
		table()->signal_event(args->hDxgkProcess, args->hEvent, args->CpuEventObject);
	if (status == STATUS_NOT_SUPPORTED)
		return not_served(name);
	return answer(name, "an hEvent that is not there", status);
}

void callbacks_fill_contexts(DXGKRNL_INTERFACE *interface)
{
	interface->DxgkCbCreateContextAllocation = create_context_allocation;
	interface->DxgkCbDestroyContextAllocation = destroy_context_allocation;
	interface->DxgkCbMapContextAllocation = map_context_allocation;
	interface->DxgkCbUpdateContextAllocation = update_context_allocation;
	interface->DxgkCbReserveGpuVirtualAddressRange = reserve_gpu_virtual_address_range;
	interface->DxgkCbInvalidateHwContext = invalidate_hw_context;
	interface->DxgkCbSignalEvent = signal_event;
}
