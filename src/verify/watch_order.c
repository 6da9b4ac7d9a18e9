/* SPDX-License-Identifier: MIT */
/*
 * watch_order.c - the life of a driver: what it owes at which stage of it.
 *
 *	StartDevice    fails: everything is given back; succeeds: queries are answered     DDI-ORDER-START
 *	               again after StopDevice: it works again                              DDI-ORDER-RESTART
 *	StopDevice     afterwards no interrupt, no DPC                                     DDI-ORDER-STOP
 *	RemoveDevice   the context is freed                                                DDI-ORDER-REMOVE
 *	NotifySurpriseRemoval   the hardware is gone, and everything else still ends       DDI-ORDER-SURPRISE
 */
#include <stdatomic.h>

#include "nt/pool.h"
#include "verify/pool_events.h"
#include "verify/verify.h"

enum stage { STAGE_LOADED, STAGE_ADDED, STAGE_STARTING, STAGE_STARTED, STAGE_STOPPED };

struct order {
	_Atomic unsigned stage;
	_Atomic bool is_surprised;
	_Atomic bool is_silent;      /* … and nobody has asked it to go on since */
	_Atomic uint64_t recoveries; /* calls that do */
	uint32_t starts; /* that succeeded; written by entry points that are alone in the driver */

	/* From before StartDevice to after it. */
	uint32_t mapping_count;
	struct block_list *blocks;
};

static enum stage stage_of(struct order *order)
{
	return (enum stage)atomic_load(&order->stage);
}

/* ---- start ---- */

static uint32_t count_mappings(struct miniport *miniport)
{
	uint32_t count = 0;

	lock_acquire(&miniport->mappings_lock);
	for (const struct list *link = miniport->mappings.next; link != &miniport->mappings;
	     link = link->next)
		count++;
	lock_release(&miniport->mappings_lock);
	return count;
}

static void judge_failed_start(struct order *order, const struct verify_call *call)
{
	uint32_t mappings = count_mappings(call->adapter->miniport);
	struct block_left left =
		order->blocks ? blocks_left(order->blocks) : (struct block_left){ 0 };
	char where[256];

	if (left.count > 0) {
		nt_report_where_called(left.site, where, sizeof(where));
		nt_report(
			RULE_DDI_ORDER_START,
			"DxgkDdiStartDevice returned %s and keeps %llu block%s of pool, the first "
			"allocated at %s",
			status_name(call->status), (unsigned long long)left.count,
			left.count == 1 ? "" : "s", where);
	}
	if (mappings > order->mapping_count)
		nt_report(
			RULE_DDI_ORDER_START,
			"DxgkDdiStartDevice returned %s and keeps %u mapping%s of DxgkCbMapMemory",
			status_name(call->status), mappings - order->mapping_count,
			mappings - order->mapping_count == 1 ? "" : "s");
}

static void started(struct order *order, const struct verify_call *call)
{
	blocks_end(order->blocks);
	if (!NT_SUCCESS(call->status))
		judge_failed_start(order, call);
	if (!NT_SUCCESS(call->status) && order->starts > 0 &&
	    !verify_is_lack_of_memory(call->status))
		nt_report(RULE_DDI_ORDER_RESTART,
			  "DxgkDdiStartDevice returned %s after DxgkDdiStopDevice; it has worked "
			  "before",
			  status_name(call->status));
	blocks_forget(order->blocks);
	order->blocks = NULL;
	order->starts += NT_SUCCESS(call->status);
	atomic_store(&order->stage, NT_SUCCESS(call->status) ? STAGE_STARTED : STAGE_STOPPED);
}

/* What every driver is asked first. */
static void judge_query(struct order *order, const struct verify_call *call)
{
	const DXGKARG_QUERYADAPTERINFO *args = call->arguments;
	int type = (int)args->Type;

	if (NT_SUCCESS(call->status) || stage_of(order) != STAGE_STARTED ||
	    verify_is_lack_of_memory(call->status))
		return;
	if (type == DXGKQAITYPE_DRIVERCAPS || type == DXGKQAITYPE_QUERYSEGMENT ||
	    type == DXGKQAITYPE_QUERYSEGMENT3 || type == DXGKQAITYPE_QUERYSEGMENT4)
		nt_report(RULE_DDI_ORDER_START,
			  "DxgkDdiQueryAdapterInfo(%d) returned %s after a DxgkDdiStartDevice that "
			  "succeeded",
			  type, status_name(call->status));
}

/* ---- surprise ---- */

static bool is_release(enum ddi ddi)
{
	return ddi_infos[ddi].result == DDI_RESULT_MUST_SUCCEED &&
	       (ddi == DDI_STOP_DEVICE || ddi == DDI_REMOVE_DEVICE || ddi == DDI_DESTROY_DEVICE ||
		ddi == DDI_DESTROY_CONTEXT || ddi == DDI_DESTROY_HW_CONTEXT ||
		ddi == DDI_DESTROY_HW_QUEUE || ddi == DDI_DESTROY_ALLOCATION ||
		ddi == DDI_CLOSE_ALLOCATION || ddi == DDI_DESTROY_PROCESS ||
		ddi == DDI_UNMAP_CPU_HOST_APERTURE);
}

static void judge_release(struct order *order, const struct verify_call *call)
{
	if (atomic_load(&order->is_surprised) && is_release(call->ddi) &&
	    call->status != STATUS_SUCCESS)
		nt_report(RULE_DDI_ORDER_SURPRISE,
			  "%s returned %s after DxgkDdiNotifySurpriseRemoval; what releases works "
			  "without the hardware",
			  ddi_infos[call->ddi].name, status_name(call->status));
}

/* ---- every call ---- */

/* Of a recovery that was under way: the driver is asked to work again, whoever comes first. */
static bool has_it_go_on(enum ddi ddi)
{
	return ddi == DDI_RESET_ENGINE || ddi == DDI_RESET_FROM_TIMEOUT ||
	       ddi == DDI_RESTART_FROM_TIMEOUT || ddi == DDI_START_DEVICE;
}

static void goes_on(struct order *order)
{
	atomic_fetch_add(&order->recoveries, 1);
	atomic_store(&order->is_silent, false);
}

static void before(struct verify_call *call, void *state)
{
	struct order *order = state;

	if (has_it_go_on(call->ddi))
		goes_on(order);
	call->kept[VERIFY_WATCH_order] = atomic_load(&order->recoveries);
	if (call->ddi != DDI_START_DEVICE)
		return;
	order->mapping_count = count_mappings(call->adapter->miniport);
	order->blocks = blocks_begin();
	atomic_store(&order->is_surprised, false);
	atomic_store(&order->stage, STAGE_STARTING);
}

static void after(struct verify_call *call, void *state)
{
	struct order *order = state;

	switch ((int)call->ddi) {
	case DDI_ADD_DEVICE:
		atomic_store(&order->stage, STAGE_ADDED);
		break;
	case DDI_START_DEVICE:
		started(order, call);
		break;
	case DDI_STOP_DEVICE:
		atomic_store(&order->stage, STAGE_STOPPED);
		break;
	case DDI_REMOVE_DEVICE:
		if (nt_pool_is_live(call->handle))
			nt_report(RULE_DDI_ORDER_REMOVE,
				  "DxgkDdiRemoveDevice returned, and the context %p of "
				  "DxgkDdiAddDevice is not freed",
				  call->handle);
		break;
	case DDI_NOTIFY_SURPRISE_REMOVAL:
		atomic_store(&order->is_surprised, NT_SUCCESS(call->status));
		atomic_store(&order->is_silent,
			     NT_SUCCESS(call->status) && call->kept[VERIFY_WATCH_order] ==
								 atomic_load(&order->recoveries));
		break;
	case DDI_QUERY_ADAPTER_INFO:
		judge_query(order, call);
		break;
	default:
		break;
	}
	if (has_it_go_on(call->ddi))
		goes_on(order);
	judge_release(order, call);
}

/* An interrupt that only work on the hardware leads to. */
static bool tells_of_work(const struct verify_callback *callback)
{
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;

	if (callback->id != VERIFY_CB_NotifyInterrupt || !data)
		return false;
	return data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED ||
	       data->InterruptType == DXGK_INTERRUPT_DMA_FAULTED ||
	       data->InterruptType == DXGK_INTERRUPT_DMA_PAGE_FAULTED;
}

static void callback_before(struct verify_callback *callback, void *state)
{
	struct order *order = state;
	const char *name = verify_callback_names[callback->id];
	bool is_interrupt = callback->id == VERIFY_CB_NotifyInterrupt ||
			    callback->id == VERIFY_CB_QueueDpc ||
			    callback->id == VERIFY_CB_SynchronizeExecution;
	bool is_hardware = callback->id == VERIFY_CB_ReadDeviceSpace ||
			   callback->id == VERIFY_CB_WriteDeviceSpace ||
			   callback->id == VERIFY_CB_MapMemory;

	if (is_interrupt && stage_of(order) == STAGE_STOPPED)
		nt_report(RULE_DDI_ORDER_STOP,
			  "%s was called after DxgkDdiStopDevice, and no DxgkDdiStartDevice since",
			  name);
	if ((is_hardware && atomic_load(&order->is_surprised)) ||
	    (atomic_load(&order->is_silent) && tells_of_work(callback)))
		nt_report(RULE_DDI_ORDER_SURPRISE,
			  "%s was called after DxgkDdiNotifySurpriseRemoval: there is no hardware "
			  "any "
			  "more",
			  name);
}

const struct verify_watching verify_watch_order = {
	.state_bytes = sizeof(struct order),
	.before = before,
	.after = after,
	.callback_before = callback_before,
};
