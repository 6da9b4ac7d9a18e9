/* SPDX-License-Identifier: MIT */
/*
 * watch_interrupts.c - how a driver interrupts.
 *
 *	DxgkCbNotifyInterrupt   one at a time, from one level and message         DDI-NOTIFY-REENTRY
 *	                        DMA before the display                            DDI-NOTIFY-ORDER
 *	                        not between a reset and the restart               DDI-INTERRUPT-AFTER-RESET
 *	                        faults with flags and a process that exist        DDI-FAULT-PARAMETERS
 *	then DxgkCbQueueDpc, and DxgkCbNotifyDpc in the DPC                       DDI-NOTIFY-DPC
 *
 * Hardware here does not interrupt: a thread raises itself by DxgkCbSynchronizeExecution, and may queue its DPC when it
 * is back from there. When it does something else first, it has forgotten it. What a fence means is watch_fences.c.
 */
#include <stdatomic.h>

#include "nt/irql.h"
#include "verify/handles.h"
#include "verify/verify.h"

#define NO_MESSAGE UINT32_MAX

struct interrupts {
	_Atomic int notifying;
	_Atomic uint64_t origin;      /* level and message of the first; 0: there was none */
	_Atomic bool is_dpc_due;      /* something was said, and no DPC has delivered it */
	_Atomic bool is_reset;        /* from ResetFromTimeout to RestartFromTimeout */
	_Atomic uint64_t reset_nodes; /* from ResetHwEngine to ResumeHwEngine */
};

/* Of the calling thread. */
static _Thread_local struct {
	struct verify_adapter *owes_dpc; /* it has notified, and queued none since */
	bool is_in_routine;
	bool has_shown; /* the routine has reported something of the display */
	uint32_t message;
	bool has_delivered; /* the DPC has called DxgkCbNotifyDpc */
} here;

/* ---- DPCs ---- */

static void settle(const struct verify_adapter *adapter)
{
	if (here.owes_dpc != adapter)
		return;
	here.owes_dpc = NULL;
	nt_report(RULE_DDI_NOTIFY_DPC,
		  "DxgkCbNotifyInterrupt was called, and no DxgkCbQueueDpc followed it");
}

static void before(struct verify_call *call, void *state)
{
	struct interrupts *interrupts = state;

	if (call->ddi == DDI_DPC_ROUTINE) {
		here.has_delivered = false;
		call->kept[VERIFY_WATCH_interrupts] = atomic_load(&interrupts->is_dpc_due);
	} else if (call->ddi == DDI_RESTART_FROM_TIMEOUT) {
		atomic_store(&interrupts->is_reset, false);
	} else if (call->ddi == DDI_RESUME_HW_ENGINE) {
		const DXGKARG_RESUMEHWENGINE *args = call->arguments;

		atomic_fetch_and(&interrupts->reset_nodes,
				 ~(UINT64_C(1) << args->NodeOrdinal % MINIPORT_MAX_NODES));
	} else if (call->ddi == DDI_START_DEVICE) {
		atomic_store(&interrupts->is_reset, false);
		atomic_store(&interrupts->reset_nodes, 0);
	}
}

static void after(struct verify_call *call, void *state)
{
	struct interrupts *interrupts = state;

	if (!call->outer && call->ddi != DDI_DPC_ROUTINE)
		settle(call->adapter);
	if (call->ddi == DDI_DPC_ROUTINE) {
		if (call->kept[VERIFY_WATCH_interrupts] && !here.has_delivered &&
		    atomic_load(&interrupts->is_dpc_due))
			nt_report(RULE_DDI_NOTIFY_DPC,
				  "DxgkDdiDpcRoutine returned without a call of DxgkCbNotifyDpc");
	} else if (call->ddi == DDI_RESET_FROM_TIMEOUT && NT_SUCCESS(call->status)) {
		atomic_store(&interrupts->is_reset, true);
	} else if (call->ddi == DDI_RESET_HW_ENGINE && NT_SUCCESS(call->status) &&
		   call->adapter->miniport->driver.DxgkDdiResumeHwEngine) {
		const DXGKARG_RESETHWENGINE *args = call->arguments;

		atomic_fetch_or(&interrupts->reset_nodes,
				UINT64_C(1) << args->NodeOrdinal % MINIPORT_MAX_NODES);
	}
}

/* ---- who interrupts ---- */

static void routine_before(struct verify_callback *callback, void *state)
{
	(void)state;
	settle(callback->adapter);
	here.is_in_routine = true;
	here.has_shown = false;
	here.message = (uint32_t)callback->numbers[0];
}

static void routine_after(struct verify_callback *callback, void *state)
{
	(void)callback;
	(void)state;
	here.is_in_routine = false;
}

static void judge_origin(struct interrupts *interrupts)
{
	uint32_t message = here.is_in_routine ? here.message : NO_MESSAGE;
	uint64_t origin = (uint64_t)nt_irql_current() << 32 | message;
	uint64_t first = 0;

	/* Where it may not be called at all is told by another rule. */
	if (nt_irql_current() <= DISPATCH_LEVEL ||
	    atomic_compare_exchange_strong(&interrupts->origin, &first, origin) || first == origin)
		return;
	nt_report(RULE_DDI_NOTIFY_REENTRY,
		  "DxgkCbNotifyInterrupt was called at level %u %s message %u, and before at level "
		  "%u "
		  "%s message %u; an adapter has one",
		  nt_irql_current(), message == NO_MESSAGE ? "without a" : "for", message,
		  (uint32_t)(first >> 32), (uint32_t)first == NO_MESSAGE ? "without a" : "for",
		  (uint32_t)first);
}

/* ---- what it says ---- */

enum subject { OF_PACKETS, OF_HW_QUEUES, OF_DISPLAY, OF_NOTHING };

static enum subject subject_of(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data, uint32_t *node_out)
{
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		*node_out = data->DmaCompleted.NodeOrdinal;
		return OF_PACKETS;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		*node_out = data->DmaPreempted.NodeOrdinal;
		return OF_PACKETS;
	case DXGK_INTERRUPT_DMA_FAULTED:
		*node_out = data->DmaFaulted.NodeOrdinal;
		return OF_PACKETS;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		*node_out = data->DmaPageFaulted.NodeOrdinal;
		return OF_PACKETS;
	case DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED:
		*node_out = data->MonitoredFenceSignaled.NodeOrdinal;
		return OF_HW_QUEUES;
	case DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
		*node_out = data->HwQueuePageFaulted.NodeOrdinal;
		return OF_HW_QUEUES;
	case DXGK_INTERRUPT_CRTC_VSYNC:
	case DXGK_INTERRUPT_DISPLAYONLY_VSYNC:
	case DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS:
	case DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY:
	case DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY2:
	case DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY3:
		return OF_DISPLAY;
	default:
		return OF_NOTHING;
	}
}

static void judge_order(enum subject subject)
{
	if (subject == OF_DISPLAY)
		here.has_shown = true;
	else if (subject == OF_PACKETS && here.is_in_routine && here.has_shown)
		nt_report(RULE_DDI_NOTIFY_ORDER, "DxgkCbNotifyInterrupt was told of work after it "
						 "was told of the display, in "
						 "one interrupt; work comes first");
}

static void judge_reset(struct interrupts *interrupts, enum subject subject, uint32_t node)
{
	bool is_node_reset = subject == OF_HW_QUEUES && node < MINIPORT_MAX_NODES &&
			     (atomic_load(&interrupts->reset_nodes) >> node & 1);

	if (subject != OF_PACKETS && subject != OF_HW_QUEUES)
		return;
	if (atomic_load(&interrupts->is_reset))
		nt_report(RULE_DDI_INTERRUPT_AFTER_RESET,
			  "DxgkCbNotifyInterrupt was told of node %u between "
			  "DxgkDdiResetFromTimeout and DxgkDdiRestartFromTimeout",
			  node);
	else if (is_node_reset)
		nt_report(RULE_DDI_INTERRUPT_AFTER_RESET,
			  "DxgkCbNotifyInterrupt was told of node %u between DxgkDdiResetHwEngine "
			  "and "
			  "DxgkDdiResumeHwEngine",
			  node);
}

static void judge_fault(const struct verify_adapter *adapter, uint32_t flags, const void *process)
{
	const uint32_t known =
		DXGK_PAGE_FAULT_WRITE | DXGK_PAGE_FAULT_FENCE_INVALID |
		DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED | DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED |
		DXGK_PAGE_FAULT_FATAL_HARDWARE_ERROR | DXGK_PAGE_FAULT_IOMMU |
		DXGK_PAGE_FAULT_HW_CONTEXT_VALID | DXGK_PAGE_FAULT_PROCESS_HANDLE_VALID;

	if (flags & ~known)
		nt_report(
			RULE_DDI_FAULT_PARAMETERS,
			"DxgkCbNotifyInterrupt was given PageFaultFlags 0x%x, of which 0x%x do not "
			"exist",
			flags, flags & ~known);
	if ((flags & DXGK_PAGE_FAULT_PROCESS_HANDLE_VALID) &&
	    adapter->miniport->driver.DxgkDdiCreateProcess &&
	    !handles_knows(adapter, HANDLE_PROCESS, process))
		nt_report(RULE_DDI_FAULT_PARAMETERS,
			  "DxgkCbNotifyInterrupt was given FaultedProcessHandle %p, which is no "
			  "process "
			  "that the driver was told of",
			  process);
}

static void judge_faults(const struct verify_adapter *adapter,
			 const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	if ((int)data->InterruptType == DXGK_INTERRUPT_DMA_PAGE_FAULTED)
		judge_fault(adapter, data->DmaPageFaulted.PageFaultFlags,
			    data->DmaPageFaulted.FaultedProcessHandle);
	else if ((int)data->InterruptType == DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED)
		judge_fault(adapter, data->HwQueuePageFaulted.PageFaultFlags,
			    data->HwQueuePageFaulted.FaultedProcessHandle);
}

static void before_notify(struct interrupts *interrupts, const struct verify_callback *callback)
{
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;
	uint32_t node = 0;

	if (atomic_fetch_add(&interrupts->notifying, 1) > 0)
		nt_report(RULE_DDI_NOTIFY_REENTRY,
			  "DxgkCbNotifyInterrupt was called while another call of it is under way");
	judge_origin(interrupts);
	here.owes_dpc = callback->adapter;
	atomic_store(&interrupts->is_dpc_due, true);
	if (!data)
		return;
	enum subject subject = subject_of(data, &node);
	judge_order(subject);
	judge_reset(interrupts, subject, node);
	judge_faults(callback->adapter, data);
}

static void callback_before(struct verify_callback *callback, void *state)
{
	struct interrupts *interrupts = state;

	if (callback->id == VERIFY_CB_NotifyInterrupt) {
		before_notify(interrupts, callback);
	} else if (callback->id == VERIFY_CB_QueueDpc) {
		here.owes_dpc = NULL;
	} else if (callback->id == VERIFY_CB_NotifyDpc) {
		here.has_delivered = true;
		atomic_store(&interrupts->is_dpc_due, false);
	}
}

static void callback_after(struct verify_callback *callback, void *state)
{
	struct interrupts *interrupts = state;

	if (callback->id == VERIFY_CB_NotifyInterrupt)
		atomic_fetch_sub(&interrupts->notifying, 1);
}

const struct verify_watching verify_watch_interrupts = {
	.state_bytes = sizeof(struct interrupts),
	.before = before,
	.after = after,
	.callback_before = callback_before,
	.callback_after = callback_after,
	.routine_before = routine_before,
	.routine_after = routine_after,
};
