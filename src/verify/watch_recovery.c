/* SPDX-License-Identifier: MIT */
/*
 * watch_recovery.c - resets, power and debugging: what a driver may do while its hardware is reset, what it says about an
 * engine that it has reset, and whether it is as good as new afterwards.
 *
 *	ResetFromTimeout ──▶ memory of the segments is out of reach (nt/trap.h) ──▶ RestartFromTimeout
 *
 * Who touches it in between is told apart by the thread: one in an entry point is the driver, one that the driver made
 * is the hardware that it plays. What the processor sees of a segment is its own mapping: clients have others and are not
 * in the way.
 */
#include "base/attributes.h"
#include "base/clock.h"
#include "base/machine.h"
#include "miniport/work.h"
#include "nt/fault.h"
#include "nt/pool.h"
#include "nt/trap.h"
#include "verify/blame.h"
#include "verify/shadow.h"

enum {
	TRAPS_MAX = 8,
	FENCES_MAX = 128,
	RESETS_MAX = 16,
	GROWTHS_MAX = 16, /* resets in a row after each of which there was more pool */
	/* A dump is taken when everything waits for it. */
	DEBUG_INFO_MS = 100,
};

struct recovery {
	struct lock lock; /* LOCK_RANK_LEAF */

	/* Between ResetFromTimeout and RestartFromTimeout. */
	struct nt_trap traps[TRAPS_MAX];
	uint32_t trap_count;

	struct {
		uint32_t last_submitted;
		uint32_t last_over; /* completed, faulted or aborted; 0: none yet */
	} nodes[MINIPORT_MAX_NODES];

	/* Of the call of ResetEngine that is under way: what its node had. */
	uint32_t fences[FENCES_MAX];
	uint32_t fence_count;
	bool has_more; /* than there is room for */

	/* Since the last restart. */
	bool was_restarted;
	bool has_paged;           /* a paging packet was completed */
	uint64_t first_paging_ns; /* when one was submitted; 0: none was */

	uint64_t reset_times_ns[RESETS_MAX];
	uint32_t reset_count;
	bool is_promoted; /* an engine could not be reset alone */

	_Atomic bool is_gone;       /* removed by surprise, and with it whatever it had */
	bool is_going_down;         /* in SetPowerState(D3) */
	bool is_down;               /* after it */
	_Atomic bool is_awake_anew; /* after SetPowerState(D0), and no work has come to its end */

	/* Pool after a restart, with as many objects as after the one before. */
	uint64_t objects;
	struct nt_pool_usage pool;
	uint32_t growths;
};

/* ---- between reset and restart ---- */

static void touched(struct nt_trap *trap, const void *address, bool is_write,
		    const struct nt_fault *fault)
{
	const struct verify_call *call = verify_call_innermost();
	const char *place = nt_fault_where();
	struct nt_stack stack;

	bool is_in_entry = call && call->adapter == trap->context;

	(void)address;
	if (!is_in_entry && !place)
		return; /* the kernel itself */
	nt_stack_take_fault(&stack, fault);
	if (is_in_entry)
		nt_report_from(RULE_DDI_TDR_NO_ACCESS, 0, &stack,
			       "%s %s memory of a segment between ResetFromTimeout and "
			       "RestartFromTimeout",
			       ddi_infos[call->ddi].name, is_write ? "writes" : "reads");
	else
		nt_report_from(RULE_DDI_TDR_RESET, 0, &stack,
			       "%s %s memory of a segment after ResetFromTimeout has returned: the "
			       "hardware is still at work",
			       place, is_write ? "writes" : "reads");
}

static void freeze(struct recovery *recovery, struct verify_adapter *adapter)
{
	const struct miniport_info *info = &adapter->miniport->info;

	for (uint32_t i = 0; i < info->segment_count && recovery->trap_count < TRAPS_MAX; i++) {
		const struct miniport_segment *segment = &info->segments[i];
		uint64_t address = segment->cpu_translated_address;

		if (segment->is_aperture || !segment->is_cpu_visible ||
		    address % MACHINE_PAGE_BYTES != 0 ||
		    !machine_is_memory(address, segment->size_bytes))
			continue;
		struct nt_trap *trap = &recovery->traps[recovery->trap_count];
		*trap = (struct nt_trap){
			.begin = machine_to_pointer(address),
			.size_bytes = segment->size_bytes,
			.touched = touched,
			.context = adapter,
		};
		recovery->trap_count += nt_trap_arm(trap);
	}
}

static void thaw(struct recovery *recovery)
{
	while (recovery->trap_count > 0)
		nt_trap_disarm(&recovery->traps[--recovery->trap_count]);
}

/* Somebody with a right to it may have opened them. */
static void freeze_again(struct recovery *recovery)
{
	for (uint32_t i = 0; i < recovery->trap_count; i++)
		nt_trap_close(&recovery->traps[i]);
}

/* ---- the adapter ---- */

static void before_reset(struct recovery *recovery, struct verify_adapter *adapter)
{
	struct miniport_tdr_settings settings;
	uint64_t now_ns = clock_peek_ns();
	uint32_t recent = 1;

	miniport_tdr_settings(adapter->miniport, &settings);
	if (recovery->was_restarted && recovery->first_paging_ns != 0 && !recovery->has_paged &&
	    now_ns - recovery->first_paging_ns >= settings.delay_s * NS_PER_S)
		blame(adapter, DDI_RESTART_FROM_TIMEOUT, RULE_DDI_TDR_RESTART,
		      "After DxgkDdiRestartFromTimeout no paging packet was completed for %u "
		      "seconds: the "
		      "adapter is not as it was when it started",
		      settings.delay_s);
	for (uint32_t i = 0; i < recovery->reset_count && i < RESETS_MAX; i++)
		recent += now_ns - recovery->reset_times_ns[i] < settings.limit_time_s * NS_PER_S;
	recovery->reset_times_ns[recovery->reset_count++ % RESETS_MAX] = now_ns;
	if (recent > settings.limit_count + 1 && settings.limit_count + 1 < RESETS_MAX)
		nt_report(RULE_DDI_TDR_LIMIT,
			  "The adapter is reset for the %uth time within %u seconds, and was to be "
			  "given "
			  "up",
			  recent, settings.limit_time_s);
}

/* By a reset of the adapter. */
static void all_is_over(struct recovery *recovery)
{
	lock_acquire(&recovery->lock);
	for (uint32_t i = 0; i < MINIPORT_MAX_NODES; i++)
		recovery->nodes[i].last_over = recovery->nodes[i].last_submitted;
	lock_release(&recovery->lock);
}

static void after_reset(struct recovery *recovery, const struct verify_call *call)
{
	if (recovery->is_promoted && call->status != STATUS_SUCCESS)
		nt_report(RULE_DDI_ENGINE_PROMOTE,
			  "DxgkDdiResetEngine has failed, and DxgkDdiResetFromTimeout failed as "
			  "well: %s",
			  status_name(call->status));
	recovery->is_promoted = false;
	recovery->was_restarted = false;
	all_is_over(recovery);
	if (call->status == STATUS_SUCCESS)
		freeze(recovery, call->adapter);
}

static void check_leak(struct recovery *recovery, struct shadow *shadow)
{
	struct nt_pool_usage pool = nt_pool_usage();

	lock_acquire(&shadow->lock);
	uint64_t objects = shadow->object_count;
	lock_release(&shadow->lock);
	bool has_grown = objects == recovery->objects && pool.blocks > recovery->pool.blocks &&
			 pool.bytes > recovery->pool.bytes;
	recovery->growths = has_grown ? recovery->growths + 1 : 0;
	recovery->objects = objects;
	recovery->pool = pool;
	if (recovery->growths == GROWTHS_MAX)
		nt_report(RULE_DDI_LEAK_RESET,
			  "After each of the last %d resets the driver had more pool than after "
			  "the one "
			  "before, %llu bytes now, and as many objects",
			  GROWTHS_MAX, (unsigned long long)pool.bytes);
}

static void after_restart(struct recovery *recovery, const struct verify_call *call)
{
	recovery->was_restarted = call->status == STATUS_SUCCESS;
	recovery->has_paged = false;
	recovery->first_paging_ns = 0;
	check_leak(recovery, shadow_of(call->adapter));
}

/* It is given nothing that it could object to. */
static void after_create_device(const struct recovery *recovery, const struct verify_call *call)
{
	if (recovery->was_restarted && !NT_SUCCESS(call->status) &&
	    call->status != STATUS_NO_MEMORY && call->status != STATUS_INSUFFICIENT_RESOURCES)
		nt_report(RULE_DDI_TDR_RESTART,
			  "DxgkDdiCreateDevice returned %s after a reset: the adapter is not as it "
			  "was "
			  "when it started",
			  status_name(call->status));
}

static void submitted(struct recovery *recovery, uint32_t node, uint32_t fence, bool is_paging)
{
	if (node >= MINIPORT_MAX_NODES)
		return;
	lock_acquire(&recovery->lock);
	recovery->nodes[node].last_submitted = fence;
	if (is_paging && recovery->first_paging_ns == 0)
		recovery->first_paging_ns = clock_peek_ns();
	lock_release(&recovery->lock);
}

static void is_over(struct recovery *recovery, const struct verify_adapter *adapter, uint32_t node,
		    uint32_t fence)
{
	if (node >= MINIPORT_MAX_NODES)
		return;
	lock_acquire(&recovery->lock);
	recovery->nodes[node].last_over = fence;
	atomic_store(&recovery->is_awake_anew, false);
	recovery->has_paged |= node == adapter->miniport->info.paging_node;
	lock_release(&recovery->lock);
}

/* ---- one engine ---- */

static void before_engine_reset(struct recovery *recovery, struct shadow *shadow,
				const DXGKARG_RESETENGINE *args)
{
	recovery->fence_count = 0;
	recovery->has_more = args->NodeOrdinal >= MINIPORT_MAX_NODES;
	if (recovery->has_more)
		return;
	lock_acquire(&shadow->lock);
	list_each (struct shadow_packet, packet, &shadow->nodes[args->NodeOrdinal], link) {
		if (recovery->fence_count < FENCES_MAX)
			recovery->fences[recovery->fence_count++] = packet->fence;
		else
			recovery->has_more = true;
	}
	lock_release(&shadow->lock);
}

static bool was_there(struct recovery *recovery, uint32_t node, uint32_t fence)
{
	lock_acquire(&recovery->lock);
	/* If nothing was aborted it is the last that was over. */
	bool is_found = recovery->nodes[node].last_over == fence;
	lock_release(&recovery->lock);
	for (uint32_t i = 0; i < recovery->fence_count; i++)
		is_found |= recovery->fences[i] == fence;
	return is_found || recovery->has_more;
}

static void after_engine_reset(struct recovery *recovery, const struct verify_call *call)
{
	const DXGKARG_RESETENGINE *args = call->arguments;

	recovery->is_promoted = !NT_SUCCESS(call->status);
	if (!NT_SUCCESS(call->status) || args->NodeOrdinal >= MINIPORT_MAX_NODES)
		return;
	bool is_known = was_there(recovery, args->NodeOrdinal, args->LastAbortedFenceId);
	lock_acquire(&recovery->lock);
	recovery->nodes[args->NodeOrdinal].last_over = args->LastAbortedFenceId;
	lock_release(&recovery->lock);
	if (!is_known && !atomic_load(&recovery->is_gone))
		nt_report(RULE_DDI_ENGINE_RESET,
			  "DxgkDdiResetEngine said that fence %u was the last that it aborted on "
			  "node %u, "
			  "which has no such packet",
			  args->LastAbortedFenceId, args->NodeOrdinal);
}

/* ---- debugging and power ---- */

static void after_debug_info(const struct verify_call *call)
{
	uint64_t took_ms = (clock_peek_ns() - call->numbers[0]) / NS_PER_MS;

	if (!NT_SUCCESS(call->status))
		nt_report(RULE_DDI_DBGINFO, "DxgkDdiCollectDbgInfo returned %s",
			  status_name(call->status));
	if (took_ms >= DEBUG_INFO_MS)
		nt_report(RULE_DDI_DBGINFO, "DxgkDdiCollectDbgInfo took %llu ms",
			  (unsigned long long)took_ms);
}

static bool is_adapters_power(const struct verify_call *call)
{
	return (uint32_t)call->numbers[0] == DISPLAY_ADAPTER_HW_ID;
}

static void after_power(struct recovery *recovery, const struct verify_call *call)
{
	bool is_up = call->numbers[1] == PowerDeviceD0;

	if (!is_adapters_power(call))
		return;
	if (!NT_SUCCESS(call->status))
		nt_report(RULE_DDI_POWER_STATE, "DxgkDdiSetPowerState(%s) returned %s",
			  is_up ? "D0" : "D3", status_name(call->status));
	recovery->is_going_down = false;
	recovery->is_down = !is_up;
	atomic_store(&recovery->is_awake_anew, is_up);
}

/* It has work that it does not do, and says so itself. */
static void after_engine_status(struct recovery *recovery, const struct verify_call *call)
{
	const DXGKARG_QUERYENGINESTATUS *args = call->arguments;

	if (NT_SUCCESS(call->status) && !args->EngineStatus.Responsive &&
	    atomic_exchange(&recovery->is_awake_anew, false))
		blame(call->adapter, DDI_SET_POWER_STATE, RULE_DDI_POWER_STATE,
		      "Node %u does no work after SetPowerState(D0): nothing has come to its end "
		      "since",
		      args->NodeOrdinal);
}

/* What needs hardware, or the kernel to do something for it. */
static bool needs_power(enum verify_callback_id id)
{
	switch ((int)id) {
	case VERIFY_CB_CreateContextAllocation:
	case VERIFY_CB_MapMemory:
	case VERIFY_CB_NotifyInterrupt:
	case VERIFY_CB_ReserveGpuVirtualAddressRange:
	case VERIFY_CB_SignalEvent:
	case VERIFY_CB_UpdateContextAllocation:
		return true;
	default:
		return false;
	}
}

/* ---- the watch ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	lock_init(&((struct recovery *)state)->lock, LOCK_RANK_LEAF, "verified recovery");
}

static void end(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	thaw(state);
}

static void before(struct verify_call *call, void *state)
{
	struct recovery *recovery = state;

	switch ((int)call->ddi) {
	case DDI_RESET_FROM_TIMEOUT:
		thaw(recovery);
		before_reset(recovery, call->adapter);
		break;
	case DDI_RESTART_FROM_TIMEOUT:
	case DDI_STOP_DEVICE:
	case DDI_REMOVE_DEVICE:
		thaw(recovery);
		break;
	case DDI_NOTIFY_SURPRISE_REMOVAL:
		atomic_store(&recovery->is_gone, true);
		break;
	case DDI_RESET_ENGINE:
		before_engine_reset(recovery, shadow_of(call->adapter), call->arguments);
		break;
	case DDI_SUBMIT_COMMAND: {
		const DXGKARG_SUBMITCOMMAND *args = call->arguments;

		submitted(recovery, args->NodeOrdinal, args->SubmissionFenceId, args->Flags.Paging);
		break;
	}
	case DDI_SUBMIT_COMMAND_VIRTUAL: {
		const DXGKARG_SUBMITCOMMANDVIRTUAL *args = call->arguments;

		submitted(recovery, args->NodeOrdinal, args->SubmissionFenceId, args->Flags.Paging);
		break;
	}
	case DDI_COLLECT_DBG_INFO:
		call->numbers[0] = clock_peek_ns();
		break;
	case DDI_SET_POWER_STATE:
		recovery->is_going_down =
			is_adapters_power(call) && call->numbers[1] == PowerDeviceD3;
		if (is_adapters_power(call) && call->numbers[1] == PowerDeviceD0)
			recovery->is_down = false;
		break;
	default:
		if (UNLIKELY(recovery->trap_count > 0))
			freeze_again(recovery);
		break;
	}
}

static void after(struct verify_call *call, void *state)
{
	struct recovery *recovery = state;

	switch ((int)call->ddi) {
	case DDI_RESET_FROM_TIMEOUT:
		after_reset(recovery, call);
		break;
	case DDI_RESTART_FROM_TIMEOUT:
		after_restart(recovery, call);
		break;
	case DDI_CREATE_DEVICE:
		after_create_device(recovery, call);
		break;
	case DDI_RESET_ENGINE:
		after_engine_reset(recovery, call);
		break;
	case DDI_COLLECT_DBG_INFO:
		after_debug_info(call);
		break;
	case DDI_SET_POWER_STATE:
		after_power(recovery, call);
		break;
	case DDI_QUERY_ENGINE_STATUS:
		after_engine_status(recovery, call);
		break;
	default:
		break;
	}
}

static void interrupted(struct recovery *recovery, const struct verify_adapter *adapter,
			const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		is_over(recovery, adapter, data->DmaCompleted.NodeOrdinal,
			data->DmaCompleted.SubmissionFenceId);
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		is_over(recovery, adapter, data->DmaPreempted.NodeOrdinal,
			data->DmaPreempted.LastCompletedFenceId);
		break;
	case DXGK_INTERRUPT_DMA_FAULTED:
		is_over(recovery, adapter, data->DmaFaulted.NodeOrdinal,
			data->DmaFaulted.FaultedFenceId);
		break;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		if (!((uint64_t)data->DmaPageFaulted.PageFaultFlags &
		      DXGK_PAGE_FAULT_FENCE_INVALID))
			is_over(recovery, adapter, data->DmaPageFaulted.NodeOrdinal,
				data->DmaPageFaulted.FaultedFenceId);
		break;
	default:
		break;
	}
}

/* A preemption that it was asked for before is answered whenever that may be. */
static bool is_owed(const struct verify_callback *callback)
{
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;

	return callback->id == VERIFY_CB_NotifyInterrupt && data &&
	       data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED;
}

static void judge_power(const struct recovery *recovery, const struct verify_callback *callback)
{
	const struct verify_call *call = verify_call_innermost();
	bool interrupts =
		callback->id == VERIFY_CB_NotifyInterrupt || callback->id == VERIFY_CB_QueueDpc;

	/* On its way there it has nothing to interrupt for. */
	if (recovery->is_going_down && interrupts && call && call->ddi == DDI_SET_POWER_STATE)
		nt_report(RULE_DDI_POWER_STATE, "%s is called by DxgkDdiSetPowerState(D3)",
			  verify_callback_names[callback->id]);
	if (recovery->is_down && needs_power(callback->id) && !is_owed(callback))
		nt_report(RULE_DDI_POWER_STATE, "%s is called while the adapter is in D3",
			  verify_callback_names[callback->id]);
}

static void callback_before(struct verify_callback *callback, void *state)
{
	struct recovery *recovery = state;
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;

	judge_power(recovery, callback);
	if (callback->id == VERIFY_CB_NotifyInterrupt && data)
		interrupted(recovery, callback->adapter, data);
}

const struct verify_watching verify_watch_recovery = {
	.state_bytes = sizeof(struct recovery),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
	.callback_before = callback_before,
};
