/* SPDX-License-Identifier: MIT */
/*
 * watch_shadow.c - follows what a driver is told, and has no rule of its own: see shadow.h. The first of the watches that
 * know of memory, so that the others find what a call says in it; behind a call it is the last.
 */
#include <stdlib.h>

#include "base/attributes.h"
#include "verify/adapters.h"
#include "verify/blame.h"
#include "verify/shadow.h"
#include "verify/start.h"

struct shadow *shadow_of(const struct verify_adapter *adapter)
{
	return adapter->states[VERIFY_WATCH_shadow];
}

/* ---- objects ---- */

static void process_add_locked(struct shadow *shadow, const DXGKARG_CREATEPROCESS *args)
{
	lock_assert_held(&shadow->lock);
	if (args->Flags.SystemProcess) {
		shadow->paging_process = args->hKmdProcess;
		shadow->has_paging_process = true;
	}
	for (uint32_t i = 0; args->hKmdProcess && i < SHADOW_PROCESSES; i++) {
		if (shadow->processes[i])
			continue;
		shadow->processes[i] = args->hKmdProcess;
		break;
	}
}

static void forget_mapping(void *context, uint64_t key, uint64_t value)
{
	struct shadow_allocation *allocation = (struct shadow_allocation *)(uintptr_t)value;

	(void)key;
	allocation->mapped_by &= ~*(const uint64_t *)context;
}

static void process_remove_locked(struct shadow *shadow, const void *process)
{
	lock_assert_held(&shadow->lock);
	for (uint32_t i = 0; process && i < SHADOW_PROCESSES; i++) {
		uint64_t bit = UINT64_C(1) << i;

		if (shadow->processes[i] != process)
			continue;
		shadow->processes[i] = NULL;
		map_each(&shadow->allocations, forget_mapping, &bit);
	}
	if (shadow->has_paging_process && process == shadow->paging_process)
		shadow->has_paging_process = false;
}

uint64_t shadow_process_bit(const struct shadow *shadow, const void *process)
{
	for (uint32_t i = 0; process && i < SHADOW_PROCESSES; i++) {
		if (shadow->processes[i] == process)
			return UINT64_C(1) << i;
	}
	return 0;
}

static void context_add_locked(struct shadow *shadow, const void *handle, const void *device,
			       uint32_t node, bool is_kernels, bool is_virtual)
{
	struct shadow_context *context = handle ? calloc(1, sizeof(*context)) : NULL;

	lock_assert_held(&shadow->lock);
	if (!context)
		return;
	*context = (struct shadow_context){
		.handle = handle,
		.process = map_get(&shadow->devices, (uint64_t)(uintptr_t)device),
		.node = node,
		.is_kernels = is_kernels,
		.is_virtual = is_virtual,
	};
	free(map_take_pointer(&shadow->contexts, handle));
	map_set_pointer(&shadow->contexts, handle, context);
	shadow->object_count++;
}

static void context_remove_locked(struct shadow *shadow, const void *handle)
{
	struct shadow_context *context = map_take_pointer(&shadow->contexts, handle);

	lock_assert_held(&shadow->lock);
	shadow->object_count -= context != NULL;
	free(context);
}

static void allocations_add_locked(struct shadow *shadow, const DXGKARG_CREATEALLOCATION *args)
{
	bool is_wddm2 = shadow->adapter->miniport->info.wddm_version >= 2000;

	lock_assert_held(&shadow->lock);
	for (uint32_t i = 0; i < args->NumAllocations; i++) {
		const DXGK_ALLOCATIONINFO *info = &args->pAllocationInfo[i];
		struct shadow_allocation *allocation =
			info->hAllocation ? calloc(1, sizeof(*allocation)) : NULL;

		if (!allocation)
			continue;
		*allocation = (struct shadow_allocation){
			.handle = info->hAllocation,
			.size_bytes = info->Size,
			.is_cpu_visible = info->Flags.CpuVisible || info->Flags.CpuVisibleOnDemand,
			.is_linear = info->Flags.CpuVisible && !info->Flags.Protected &&
				     !info->Flags.HardwareProtected &&
				     (is_wddm2 || !info->Flags.Swizzled),
			.uses_alternate_address = !is_wddm2 && info->Flags.UseAlternateVA,
			.wants_news = is_wddm2 && info->Flags.ExplicitResidencyNotification,
		};
		free(map_take_pointer(&shadow->allocations, info->hAllocation));
		map_set_pointer(&shadow->allocations, info->hAllocation, allocation);
		shadow->object_count++;
	}
}

static void allocations_remove_locked(struct shadow *shadow, const DXGKARG_DESTROYALLOCATION *args)
{
	lock_assert_held(&shadow->lock);
	for (uint32_t i = 0; i < args->NumAllocations; i++) {
		void *allocation = map_take_pointer(&shadow->allocations, args->pAllocationList[i]);

		shadow->object_count -= allocation != NULL;
		free(allocation);
	}
}

static void root_set_locked(struct shadow *shadow, const DXGKARG_SETROOTPAGETABLE *args)
{
	struct shadow_context *context = map_get_pointer(&shadow->contexts, args->hContext);

	lock_assert_held(&shadow->lock);
	if (!context)
		return;
	context->root_before = context->root;
	context->root_entries_before = context->root_entries;
	context->root = shadow_page_of(shadow_real_segment(shadow, args->Address.SegmentId),
				       args->Address.SegmentOffset >> SHADOW_PAGE_SHIFT);
	context->root_entries = args->NumEntries;
}

/* ---- CPU host apertures ---- */

static void window_change_locked(struct shadow *shadow, uint32_t segment, uint32_t window,
				 const uint64_t *shown)
{
	const struct miniport_info *info = &shadow->adapter->miniport->info;

	lock_assert_held(&shadow->lock);
	if (segment == 0 || segment > info->segment_count)
		return;
	const struct miniport_segment *found = &info->segments[segment - 1];
	uint64_t pages = shadow_window_bytes(found) >> SHADOW_PAGE_SHIFT;
	uint64_t first = (found->cpu_host_aperture_address >> SHADOW_PAGE_SHIFT) + window * pages;
	for (uint64_t i = 0; i < pages; i++) {
		if (shown)
			map_set(&shadow->shown, first + i,
				shadow_page_of(segment, *shown * pages + i));
		else
			map_take(&shadow->shown, first + i);
	}
}

static void windows_map_locked(struct shadow *shadow, const DXGKARG_MAPCPUHOSTAPERTURE *args)
{
	lock_assert_held(&shadow->lock);
	for (uint64_t i = 0; i < args->NumberOfPages; i++) {
		uint64_t shown = args->pMemorySegmentPages[i];

		window_change_locked(shadow, args->SegmentId, args->pCpuHostAperturePages[i],
				     &shown);
	}
}

static void windows_unmap_locked(struct shadow *shadow, const DXGKARG_UNMAPCPUHOSTAPERTURE *args)
{
	lock_assert_held(&shadow->lock);
	for (uint64_t i = 0; i < args->NumberOfPages; i++)
		window_change_locked(shadow, args->SegmentId, args->pCpuHostAperturePages[i], NULL);
}

/* ---- work ---- */

static void submitting(struct shadow *shadow, const DXGKARG_SUBMITCOMMAND *args)
{
	shadow_submitting(
		shadow, &(struct shadow_submission){
				.node = args->NodeOrdinal,
				.fence = args->SubmissionFenceId,
				.context = args->hContext,
				.is_paging = args->Flags.Paging,
				.is_context_switch = args->Flags.ContextSwitch,
				.physical_address =
					args->DmaBufferSegmentId == 0
						? (uint64_t)args->DmaBufferPhysicalAddress.QuadPart
						: 0,
			});
}

static void submitting_virtually(struct shadow *shadow, const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
	shadow_submitting(shadow, &(struct shadow_submission){
					  .node = args->NodeOrdinal,
					  .fence = args->SubmissionFenceId,
					  .context = args->hContext,
					  .is_paging = args->Flags.Paging,
					  .is_context_switch = args->Flags.ContextSwitch,
					  .gpu_address = args->DmaBufferVirtualAddress,
				  });
}

static void submitting_to_hw_queue(struct shadow *shadow)
{
	lock_acquire(&shadow->lock);
	shadow->has_hw_work = true;
	shadow->submissions++;
	shadow->client_submissions++;
	lock_release(&shadow->lock);
}

static void interrupted(struct shadow *shadow, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		shadow_completed(shadow, data->DmaCompleted.NodeOrdinal,
				 data->DmaCompleted.SubmissionFenceId);
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		shadow_completed(shadow, data->DmaPreempted.NodeOrdinal,
				 data->DmaPreempted.LastCompletedFenceId);
		shadow_dropped(shadow, data->DmaPreempted.NodeOrdinal);
		break;
	case DXGK_INTERRUPT_DMA_FAULTED:
		shadow_faulted(shadow, data->DmaFaulted.NodeOrdinal,
			       data->DmaFaulted.FaultedFenceId, NULL);
		break;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		if (!((uint64_t)data->DmaPageFaulted.PageFaultFlags &
		      DXGK_PAGE_FAULT_FENCE_INVALID))
			shadow_faulted(shadow, data->DmaPageFaulted.NodeOrdinal,
				       data->DmaPageFaulted.FaultedFenceId, data);
		break;
	default:
		break;
	}
}

/* ---- the watch ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	struct shadow *shadow = state;

	shadow->adapter = adapter;
	lock_init(&shadow->lock, LOCK_RANK_LEAF, "verified memory");
	shadow_work_init(shadow);
}

static void free_value(void *context, uint64_t key, uint64_t value)
{
	(void)context;
	(void)key;
	free((void *)(uintptr_t)value);
}

/* Everything: what comes is another start. */
static void forget(struct shadow *shadow)
{
	shadow_work_finish(shadow);
	lock_acquire(&shadow->lock);
	map_each(&shadow->allocations, free_value, NULL);
	map_each(&shadow->contexts, free_value, NULL);
	map_clear(&shadow->allocations);
	map_clear(&shadow->contexts);
	map_clear(&shadow->devices);
	map_clear(&shadow->hw_queues);
	map_clear(&shadow->shown);
	map_clear(&shadow->addresses);
	map_clear(&shadow->addresses_before);
	for (uint32_t i = 0; i < SHADOW_PROCESSES; i++)
		shadow->processes[i] = NULL;
	shadow->has_paging_process = false;
	shadow->object_count = 0;
	lock_release(&shadow->lock);
}

static void end(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	forget(state);
}

static void before(struct verify_call *call, void *state)
{
	struct shadow *shadow = state;

	switch ((int)call->ddi) {
	case DDI_BUILD_PAGING_BUFFER:
		shadow_building(shadow, call->arguments);
		break;
	case DDI_SUBMIT_COMMAND:
		submitting(shadow, call->arguments);
		break;
	case DDI_SUBMIT_COMMAND_VIRTUAL:
		submitting_virtually(shadow, call->arguments);
		break;
	case DDI_SUBMIT_COMMAND_TO_HW_QUEUE:
		submitting_to_hw_queue(shadow);
		break;
	case DDI_RESTART_FROM_TIMEOUT:
		shadow->is_reset = false;
		break;
	default:
		break;
	}
}

/* What an entry point that succeeded has made. */
static void made_locked(struct shadow *shadow, const struct verify_call *call)
{
	lock_assert_held(&shadow->lock);
	switch ((int)call->ddi) {
	case DDI_CREATE_PROCESS:
		process_add_locked(shadow, call->arguments);
		break;
	case DDI_CREATE_DEVICE: {
		const DXGKARG_CREATEDEVICE *args = call->arguments;
		uint64_t bit = shadow_process_bit(shadow, args->hKmdProcess);

		if (args->hDevice && bit != 0)
			map_set(&shadow->devices, (uint64_t)(uintptr_t)args->hDevice, bit);
		shadow->object_count++;
		break;
	}
	case DDI_CREATE_CONTEXT: {
		const DXGKARG_CREATECONTEXT *args = call->arguments;

		context_add_locked(shadow, args->hContext, call->handle, args->NodeOrdinal,
				   args->Flags.SystemContext, args->Flags.VirtualAddressing);
		break;
	}
	case DDI_CREATE_HW_CONTEXT: {
		const DXGKARG_CREATEHWCONTEXT *args = call->arguments;

		context_add_locked(shadow, args->hHwContext, call->handle, args->NodeOrdinal, false,
				   true);
		break;
	}
	case DDI_CREATE_ALLOCATION:
		allocations_add_locked(shadow, call->arguments);
		break;
	case DDI_MAP_CPU_HOST_APERTURE:
		windows_map_locked(shadow, call->arguments);
		break;
	default:
		break;
	}
}

/* What is gone when an entry point returns, whatever it says. */
static void ended_locked(struct shadow *shadow, const struct verify_call *call)
{
	lock_assert_held(&shadow->lock);
	switch ((int)call->ddi) {
	case DDI_DESTROY_PROCESS:
		process_remove_locked(shadow, call->arguments);
		break;
	case DDI_DESTROY_DEVICE:
		map_take(&shadow->devices, (uint64_t)(uintptr_t)call->handle);
		shadow->object_count -= shadow->object_count > 0;
		break;
	case DDI_DESTROY_CONTEXT:
	case DDI_DESTROY_HW_CONTEXT:
		context_remove_locked(shadow, call->handle);
		break;
	case DDI_DESTROY_ALLOCATION:
		allocations_remove_locked(shadow, call->arguments);
		break;
	case DDI_UNMAP_CPU_HOST_APERTURE:
		windows_unmap_locked(shadow, call->arguments);
		break;
	case DDI_SET_ROOT_PAGE_TABLE:
		root_set_locked(shadow, call->arguments);
		break;
	default:
		break;
	}
}

static void not_submitted(struct shadow *shadow, const struct verify_call *call)
{
	if (call->ddi == DDI_SUBMIT_COMMAND) {
		const DXGKARG_SUBMITCOMMAND *args = call->arguments;

		shadow_not_submitted(shadow, args->NodeOrdinal, args->SubmissionFenceId);
	} else if (call->ddi == DDI_SUBMIT_COMMAND_VIRTUAL) {
		const DXGKARG_SUBMITCOMMANDVIRTUAL *args = call->arguments;

		shadow_not_submitted(shadow, args->NodeOrdinal, args->SubmissionFenceId);
	}
}

static void after(struct verify_call *call, void *state)
{
	struct shadow *shadow = state;

	switch ((int)call->ddi) {
	case DDI_BUILD_PAGING_BUFFER:
		shadow_built(shadow, call->arguments, call->status);
		return;
	case DDI_RESET_ENGINE:
		if (NT_SUCCESS(call->status))
			shadow_dropped(shadow,
				       ((const DXGKARG_RESETENGINE *)call->arguments)->NodeOrdinal);
		return;
	case DDI_RESET_FROM_TIMEOUT:
		shadow->is_reset = true;
		shadow_all_lost(shadow);
		return;
	case DDI_NOTIFY_SURPRISE_REMOVAL:
		shadow_all_lost(shadow);
		return;
	case DDI_STOP_DEVICE:
		forget(shadow);
		return;
	default:
		break;
	}
	lock_acquire(&shadow->lock);
	if (NT_SUCCESS(call->status))
		made_locked(shadow, call);
	ended_locked(shadow, call);
	lock_release(&shadow->lock);
	if (!NT_SUCCESS(call->status))
		not_submitted(shadow, call);
}

static void callback_before(struct verify_callback *callback, void *state)
{
	if (callback->id == VERIFY_CB_NotifyInterrupt && callback->arguments)
		interrupted(state, callback->arguments);
}

/* ---- contents that a client has found wrong ---- */

static bool was_through_aperture(struct shadow *shadow, const void *handle)
{
	lock_acquire(&shadow->lock);
	const struct shadow_allocation *allocation = map_get_pointer(&shadow->allocations, handle);
	bool is_so = allocation && allocation->is_in_aperture;
	lock_release(&shadow->lock);
	return is_so;
}

bool verify_report_content(const void *allocation, const char *sentence)
{
	for (unsigned i = 0; i < VERIFY_ADAPTERS_MAX; i++) {
		struct verify_adapter *adapter = verify_adapter_at(i);

		if (!adapter || !was_through_aperture(shadow_of(adapter), allocation))
			continue;
		blame(adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PAGING_APERTURE,
		      "%s; the GPU has reached it through an aperture alone", sentence);
		return true;
	}
	return false;
}

const struct verify_watching verify_watch_shadow = {
	.state_bytes = sizeof(struct shadow),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
	.callback_before = callback_before,
};
