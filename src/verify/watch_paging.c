/* SPDX-License-Identifier: MIT */
/*
 * watch_paging.c - BuildPagingBuffer: how it is answered, that it does nothing itself, and what the kernel promises of
 * it. What its operations do when they are executed is compared in paging_content.c.
 *
 * That nothing is done in the call is seen by the pages it is about, which cannot be written meanwhile (nt/trap.h): a few
 * at the beginning and at the end.
 */
#include "base/attributes.h"
#include "base/machine.h"
#include "base/thread.h"
#include "nt/trap.h"
#include "verify/paging.h"

enum {
	EMPTY_PASSES_MAX = 256,
	PAGES_WATCHED = 8, /* at each end of what is written */
};

static const char entry[] = "DxgkDdiBuildPagingBuffer";

static const char *name_of(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
	switch ((int)operation) {
#define KIND(name)                                                                                 \
	case DXGK_OPERATION_##name:                                                                \
		return #name;
#include "miniport/paging_kinds.def"
#undef KIND
	default:
		return "an operation";
	}
}

struct paging *paging_of(const struct shadow *shadow)
{
	return shadow->adapter->states[VERIFY_WATCH_paging];
}

/* ---- nothing happens in the call ---- */

static void written_now(struct nt_trap *trap, const void *address, bool is_write,
			const struct nt_fault *fault)
{
	const struct paging *paging = trap->context;
	struct nt_stack stack;

	(void)address;
	(void)is_write;
	nt_stack_take_fault(&stack, fault);
	nt_report_from(RULE_DDI_PAGING_NO_HW, 0, &stack,
		       "%s writes the memory that %s is about: it builds commands, and they do it",
		       entry, name_of(paging->watched));
}

static void arm(struct paging *paging, char *begin, uint64_t size_bytes)
{
	struct nt_trap *trap = &paging->traps[paging->trap_count];

	if ((uintptr_t)begin % MACHINE_PAGE_BYTES != 0 || size_bytes < MACHINE_PAGE_BYTES)
		return;
	*trap = (struct nt_trap){
		.begin = begin,
		.size_bytes = size_bytes / MACHINE_PAGE_BYTES * MACHINE_PAGE_BYTES,
		.may_be_read = true,
		.thread = thread_id(),
		.touched = written_now,
		.context = paging,
	};
	paging->trap_count += nt_trap_arm(trap);
}

static void watch_memory(struct paging *paging, const struct shadow *shadow)
{
	const struct shadow_operation *operation = shadow->building.operation;
	const uint64_t watched_bytes = PAGES_WATCHED * MACHINE_PAGE_BYTES;
	char *begin = NULL;

	paging->trap_count = 0;
	if (!operation || !operation->to.is_known || !paging_is_content(operation->kind) ||
	    shadow->is_reset)
		return;
	struct shadow_cursor cursor = shadow_cursor(&operation->to);
	uint64_t bytes = shadow_stretch(shadow, &operation->to, &cursor, &begin);
	if (!begin || bytes == 0)
		return;
	paging->watched = operation->kind;
	arm(paging, begin, bytes < watched_bytes ? bytes : watched_bytes);
	if (bytes >= 2 * watched_bytes)
		arm(paging, begin + bytes - watched_bytes, watched_bytes);
}

static void watch_no_more(struct paging *paging)
{
	while (paging->trap_count > 0)
		nt_trap_disarm(&paging->traps[--paging->trap_count]);
}

/* ---- what the kernel promises ---- */

static void check_notice(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	bool is_resident = args->NotifyResidency.Resident;
	bool was_resident = false;
	bool is_known = false;

	lock_acquire(&shadow->lock);
	struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, args->NotifyResidency.hAllocation);
	if (allocation && args->MultipassOffset == 0 && shadow->building.passes == 0) {
		is_known = true;
		was_resident = allocation->was_told_resident;
		allocation->was_told_resident = is_resident;
	}
	lock_release(&shadow->lock);
	if (is_known && is_resident == was_resident)
		nt_report(RULE_DDI_PAGING_NOTIFY,
			  "%s is told by NOTIFY_RESIDENCY that an allocation is %s, as it was told "
			  "before",
			  entry, is_resident ? "resident" : "not resident");
}

/* With news of residency an eviction is told before the content goes. */
static void check_news_first(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	lock_acquire(&shadow->lock);
	const struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, args->TransferVirtual.hAllocation);
	bool is_late =
		allocation && allocation->wants_news && allocation->was_told_resident &&
		args->TransferVirtual.TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM;
	lock_release(&shadow->lock);
	if (is_late)
		nt_report(RULE_DDI_PAGING_NOTIFY,
			  "%s is to move an allocation out before NOTIFY_RESIDENCY says that it "
			  "goes",
			  entry);
}

static void check_aperture_is_mapped(const struct shadow *shadow)
{
	const struct shadow_operation *operation = shadow->building.operation;

	if (!operation || (operation->kind != DXGK_OPERATION_TRANSFER) ||
	    operation->from.size_bytes == 0)
		return;
	if ((operation->from.is_through_aperture && !operation->from.is_known) ||
	    (operation->to.is_through_aperture && !operation->to.is_known))
		nt_report(RULE_DDI_PAGING_APERTURE,
			  "%s is to transfer through pages of an aperture that are not mapped",
			  entry);
}

static void check_special_lock(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	lock_acquire(&shadow->lock);
	const struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, args->SpecialLockTransfer.hAllocation);
	bool is_asked_for = allocation && allocation->uses_alternate_address;
	lock_release(&shadow->lock);
	if (!is_asked_for)
		nt_report(RULE_DDI_PAGING_SPECIAL_LOCK,
			  "%s is given SPECIAL_LOCK_TRANSFER for an allocation without "
			  "UseAlternateVA",
			  entry);
}

static void check_promises(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_NOTIFY_RESIDENCY:
		check_notice(shadow, args);
		break;
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		check_news_first(shadow, args);
		break;
	case DXGK_OPERATION_TRANSFER:
		check_aperture_is_mapped(shadow);
		break;
	case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
		check_special_lock(shadow, args);
		break;
	default:
		break;
	}
}

static void check_budget(struct paging *paging, const struct miniport_info *info)
{
	bool is_budgeted = info->wddm_version < 2000 || info->segment_count == 0;

	if (paging->has_looked_at_budget)
		return;
	paging->has_looked_at_budget = true;
	for (uint32_t i = 0; i <= info->segment_count; i++)
		is_budgeted |= info->segments[i].is_budgeted;
	if (!is_budgeted)
		nt_report(RULE_DDI_SEGMENT_BUDGET,
			  "None of the segments counts for the budget of applications");
}

/* ---- answers ---- */

static void check_progress(struct paging *paging, const struct shadow *shadow,
			   const DXGKARG_BUILDPAGINGBUFFER *args)
{
	bool has_written = (char *)args->pDmaBuffer != shadow->building.dma_buffer;

	if (args->MultipassOffset < shadow->building.multipass)
		nt_report(RULE_DDI_PAGING_PROGRESS,
			  "%s asked for more room in %s and went back with MultipassOffset from %u "
			  "to %u",
			  entry, name_of(args->Operation), shadow->building.multipass,
			  args->MultipassOffset);
	if (has_written || shadow->building.write_offset != 0)
		paging->empty_passes = 0;
	else if (++paging->empty_passes == EMPTY_PASSES_MAX)
		nt_report(RULE_DDI_PAGING_PROGRESS,
			  "%s asked for more room in %s for the %dth time and wrote nothing", entry,
			  name_of(args->Operation), EMPTY_PASSES_MAX);
}

static bool is_idle(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		return args->Transfer.Flags.AllocationIsIdle;
	case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
		return args->SpecialLockTransfer.Flags.AllocationIsIdle;
	case DXGK_OPERATION_DISCARD_CONTENT:
		return args->DiscardContent.Flags.AllocationIsIdle;
	default:
		return false;
	}
}

static void check_answer(struct paging *paging, const struct shadow *shadow,
			 const struct verify_call *call)
{
	const DXGKARG_BUILDPAGINGBUFFER *args = call->arguments;

	if (call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
		check_progress(paging, shadow, args);
	else
		paging->empty_passes = 0;
	if (call->status == STATUS_GRAPHICS_ALLOCATION_BUSY && is_idle(args))
		nt_report(
			RULE_DDI_PAGING_BUSY_ONCE,
			"%s says of %s that the allocation is in use, and was told that it is idle",
			entry, name_of(args->Operation));
}

/* ---- apertures ---- */

/* Returns whether commands have mapped some of it before. */
static bool aperture_follow(struct paging *paging, const DXGKARG_BUILDPAGINGBUFFER *args,
			    bool is_mapped_by_commands)
{
	bool was_mapped = false;

	lock_acquire(&paging->lock);
	for (uint64_t i = 0; i < args->MapApertureSegment.NumberOfPages; i++) {
		shadow_page page = shadow_page_of(args->MapApertureSegment.SegmentId,
						  args->MapApertureSegment.OffsetInPages + i);

		was_mapped |= map_take(&paging->apertures, page) != 0;
		if (is_mapped_by_commands)
			map_set(&paging->apertures, page, 1);
	}
	lock_release(&paging->lock);
	return was_mapped;
}

/*
 * What commands have mapped is unmapped by commands, behind those that may still go through it. Without one it stays mapped, or it
 * was gone too early.
 */
static void check_unmap(struct paging *paging, struct shadow *shadow,
			const DXGKARG_BUILDPAGINGBUFFER *args)
{
	bool is_map = args->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT;
	bool has_commands = shadow_has_written(shadow, args);

	if (!is_map && args->Operation != DXGK_OPERATION_UNMAP_APERTURE_SEGMENT)
		return;
	bool was_mapped = aperture_follow(paging, args, is_map && has_commands);
	lock_acquire(&shadow->lock);
	bool is_idle =
		shadow->is_reset || shadow->building.is_lost || shadow_is_idle_locked(shadow);
	lock_release(&shadow->lock);
	if (!is_map && was_mapped && !has_commands && !is_idle)
		nt_report(RULE_DDI_PAGING_APERTURE,
			  "%s has mapped pages from 0x%llx on of an aperture by commands, and "
			  "unmaps them without one while other work is in front of it",
			  entry, (unsigned long long)args->UnmapApertureSegment.OffsetInPages);
}

/* ---- the watch ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	paging_content_init(state);
}

static void end(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	paging_content_finish(state);
}

static void before(struct verify_call *call, void *state)
{
	struct shadow *shadow = shadow_of(call->adapter);

	if (call->ddi != DDI_BUILD_PAGING_BUFFER)
		return;
	check_budget(state, &call->adapter->miniport->info);
	check_promises(shadow, call->arguments);
	paging_look_at_dummy(shadow, call->arguments);
	watch_memory(state, shadow);
}

static void after(struct verify_call *call, void *state)
{
	struct shadow *shadow = shadow_of(call->adapter);

	switch ((int)call->ddi) {
	case DDI_BUILD_PAGING_BUFFER:
		watch_no_more(state);
		check_answer(state, shadow, call);
		if (call->status == STATUS_SUCCESS)
			check_unmap(state, shadow, call->arguments);
		break;
	case DDI_MAP_CPU_HOST_APERTURE:
		paging_windows_moved(shadow);
		if (NT_SUCCESS(call->status))
			paging_window_mapped(shadow, call->arguments);
		break;
	case DDI_UNMAP_CPU_HOST_APERTURE:
		paging_windows_moved(shadow);
		if (NT_SUCCESS(call->status))
			paging_window_unmapped(shadow, call->arguments);
		break;
	case DDI_RESET_FROM_TIMEOUT:
	case DDI_STOP_DEVICE:
		paging_content_forget(state);
		break;
	default:
		break;
	}
}

const struct verify_watching verify_watch_paging = {
	.state_bytes = sizeof(struct paging),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
};
