/* SPDX-License-Identifier: MIT */
/*
 * watch_pairs.c - handles: each is one, nobody else's, and stays until the kernel gives it back.
 *
 *	Create…    the handle is written down          DDI-PAIR-*: it is none, or somebody has it
 *	ExFreePool of memory that a handle is in       DDI-HANDLE-LIFE and its like, at the line that frees it
 *	Destroy…   it is forgotten before the driver is called
 *
 * That what was created is destroyed, once, and what is inside it first, is the kernel's duty: it is told under the
 * same rules.
 */
#include "nt/pool.h"
#include "verify/callbacks.h"
#include "verify/handles.h"
#include "verify/pool_events.h"
#include "verify/verify.h"

static const enum rule rules[HANDLE_KINDS] = {
	[HANDLE_ADAPTER] = RULE_DDI_HANDLE_LIFE,
	[HANDLE_PROCESS] = RULE_DDI_PAIR_PROCESS,
	[HANDLE_DEVICE] = RULE_DDI_PAIR_DEVICE,
	[HANDLE_CONTEXT] = RULE_DDI_PAIR_CONTEXT,
	[HANDLE_HW_CONTEXT] = RULE_DDI_PAIR_CONTEXT,
	[HANDLE_HW_QUEUE] = RULE_DDI_PAIR_CONTEXT,
	[HANDLE_RESOURCE] = RULE_DDI_RESOURCE_HANDLE,
	[HANDLE_ALLOCATION] = RULE_DDI_PAIR_ALLOCATION,
	[HANDLE_OPENING] = RULE_DDI_PAIR_ALLOCATION,
};

/* ---- made ---- */

/* The block that the driver freed last in the call that this thread is in; NULL: none. */
static _Thread_local const void *freed_in_call;

static void given(const struct verify_call *call, const struct handle_record *record)
{
	const char *name = ddi_infos[call->ddi].name;

	if (record->handle && record->handle == freed_in_call && !nt_pool_is_live(record->handle))
		nt_report(RULE_DDI_HANDLE_LIFE,
			  "%s gave %p for a new %s, and has freed that memory before it returned",
			  name, record->handle, handle_names[record->kind]);
	if (!record->handle)
		nt_report(rules[record->kind], "%s succeeded and gave no handle for the %s", name,
			  handle_names[record->kind]);
	else if (handles_add(record) == HANDLE_TWICE)
		nt_report(
			rules[record->kind],
			"%s gave %p for a new %s, and another that is still there has that handle",
			name, record->handle, handle_names[record->kind]);
}

/* What the kernel had there before is its own handle. */
static void given_one(const struct verify_call *call, enum handle_kind kind, const void *handle,
		      const void *parent)
{
	given(call, &(struct handle_record){
			    .adapter = call->adapter,
			    .kind = kind,
			    .handle = handle,
			    .kernel = (const void *)(uintptr_t)call->kept[VERIFY_WATCH_pairs],
			    .parent = parent });
}

/* A driver may do without one; then there is nothing to look after. */
static void resource_given(const struct verify_call *call, const DXGKARG_CREATEALLOCATION *args)
{
	const void *before = (const void *)(uintptr_t)call->kept[VERIFY_WATCH_pairs];
	struct handle_record old;

	if (!args->Flags.Resource || args->hResource == before)
		return;
	if (before)
		handles_remove(call->adapter, HANDLE_RESOURCE, before, &old);
	if (args->hResource)
		given_one(call, HANDLE_RESOURCE, args->hResource, NULL);
}

static void allocations_given(const struct verify_call *call, const DXGKARG_CREATEALLOCATION *args)
{
	for (UINT i = 0; i < args->NumAllocations; i++)
		given(call,
		      &(struct handle_record){ .adapter = call->adapter,
					       .kind = HANDLE_ALLOCATION,
					       .handle = args->pAllocationInfo[i].hAllocation });
	resource_given(call, args);
}

/* The driver's own handle behind the one that it is told. */
static const void *allocation_behind(UINT handle)
{
	DXGKARGCB_GETHANDLEDATA question = { .hObject = handle, .Type = DXGK_HANDLE_ALLOCATION };

	return verify_kernel_callbacks()->DxgkCbGetHandleData
		       ? verify_kernel_callbacks()->DxgkCbGetHandleData(&question)
		       : NULL;
}

static void openings_given(const struct verify_call *call, const DXGKARG_OPENALLOCATION *args)
{
	for (UINT i = 0; i < args->NumAllocations; i++) {
		const DXGK_OPENALLOCATIONINFO *info = &args->pOpenAllocation[i];
		const void *allocation = allocation_behind(info->hAllocation);

		if (!info->hDeviceSpecificAllocation)
			continue; /* refused by who called: DDI-ALLOCATION */
		given(call, &(struct handle_record){ .adapter = call->adapter,
						     .kind = HANDLE_OPENING,
						     .handle = info->hDeviceSpecificAllocation,
						     .parent = call->handle,
						     .about = allocation });
		if (args->Flags.Create)
			handles_set_creator(call->adapter, allocation, call->handle);
	}
}

/* ---- ended ---- */

static void taken_back(const struct verify_call *call, enum handle_kind kind, const void *handle)
{
	struct handle_record record;

	if (handles_remove(call->adapter, kind, handle, &record) && record.users > 0)
		nt_report(rules[kind],
			  "%s is called for the %s %p, of which %u are still there: this is the "
			  "kernel's mistake",
			  ddi_infos[call->ddi].name, handle_names[kind], handle, record.users);
}

static void allocations_taken_back(const struct verify_call *call,
				   const DXGKARG_DESTROYALLOCATION *args)
{
	for (UINT i = 0; i < args->NumAllocations; i++)
		taken_back(call, HANDLE_ALLOCATION, args->pAllocationList[i]);
	if (!args->hResource || !args->Flags.DestroyResource)
		return;
	/* Its memory may go from now on, and has to before the adapter stops. */
	handles_end(call->adapter, HANDLE_RESOURCE, args->hResource);
}

/* While it stays the driver may have given it another handle. */
static void resource_replaced(const struct verify_call *call, const DXGKARG_DESTROYALLOCATION *args)
{
	const void *before = (const void *)(uintptr_t)call->kept[VERIFY_WATCH_pairs];
	struct handle_record old;

	if (!before || args->Flags.DestroyResource || args->hResource == before)
		return;
	handles_remove(call->adapter, HANDLE_RESOURCE, before, &old);
	if (args->hResource)
		given_one(call, HANDLE_RESOURCE, args->hResource, NULL);
}

/* Resources whose memory nobody freed, though they were destroyed. */
static void tell_of_left(struct verify_adapter *adapter)
{
	struct handle_record record;

	while (handles_take_ended(adapter, &record)) {
		if (nt_pool_is_live(record.handle))
			nt_report_about(RULE_DDI_RESOURCE_HANDLE, (uint64_t)(uintptr_t)adapter,
					"DxgkDdiDestroyAllocation was called with DestroyResource "
					"for the resource %p, and its memory was never freed",
					record.handle);
	}
}

/* ---- memory that goes ---- */

static enum rule rule_of_loss(const struct handle_record *record)
{
	if (record->kind == HANDLE_RESOURCE)
		return RULE_DDI_RESOURCE_HANDLE;
	const struct verify_call *call = verify_call_innermost();
	if (record->kind == HANDLE_ALLOCATION && call && call->ddi == DDI_DESTROY_DEVICE)
		return RULE_DDI_ALLOCATION_ADAPTER;
	return RULE_DDI_HANDLE_LIFE;
}

void pairs_freed(const void *payload, size_t size_bytes)
{
	struct handle_record record;

	freed_in_call = payload;
	if (handles_in(payload, (const char *)payload + size_bytes, &record))
		nt_report(rule_of_loss(&record),
			  "The memory of the %s %p is freed, and the kernel still has that handle",
			  handle_names[record.kind], record.handle);
}

/* ---- allocations without the device that made them ---- */

static void judge_orphan(const struct verify_call *call, const void *allocation)
{
	struct handle_record record;

	if (handles_find(call->adapter, HANDLE_ALLOCATION, allocation, &record) && record.is_orphan)
		nt_report(RULE_DDI_ALLOCATION_ADAPTER,
			  "%s returned %s for the allocation %p, whose device is gone; an "
			  "allocation belongs to the adapter",
			  ddi_infos[call->ddi].name, status_name(call->status), allocation);
}

static void judge_orphans(const struct verify_call *call)
{
	const DXGKARG_OPENALLOCATION *args = call->arguments;

	for (UINT i = 0; i < args->NumAllocations; i++)
		judge_orphan(call, allocation_behind(args->pOpenAllocation[i].hAllocation));
}

/* ---- every call ---- */

static const void *handle_before(const struct verify_call *call)
{
	switch ((int)call->ddi) {
	case DDI_CREATE_PROCESS:
		return ((const DXGKARG_CREATEPROCESS *)call->arguments)->hDxgkProcess;
	case DDI_CREATE_DEVICE:
		return ((const DXGKARG_CREATEDEVICE *)call->arguments)->hDevice;
	case DDI_CREATE_CONTEXT:
		return ((const DXGKARG_CREATECONTEXT *)call->arguments)->hContext;
	case DDI_CREATE_HW_CONTEXT:
		return ((const DXGKARG_CREATEHWCONTEXT *)call->arguments)->hHwContext;
	case DDI_CREATE_HW_QUEUE:
		return ((const DXGKARG_CREATEHWQUEUE *)call->arguments)->hHwQueue;
	case DDI_CREATE_ALLOCATION:
		return ((const DXGKARG_CREATEALLOCATION *)call->arguments)->hResource;
	case DDI_DESTROY_ALLOCATION:
		return ((const DXGKARG_DESTROYALLOCATION *)call->arguments)->hResource;
	default:
		return NULL;
	}
}

static void before(struct verify_call *call, void *state)
{
	struct handle_record record;

	(void)state;
	freed_in_call = NULL;
	call->kept[VERIFY_WATCH_pairs] = (uint64_t)(uintptr_t)handle_before(call);
	switch ((int)call->ddi) {
	case DDI_DESTROY_PROCESS:
		taken_back(call, HANDLE_PROCESS, call->arguments);
		break;
	case DDI_DESTROY_DEVICE:
		taken_back(call, HANDLE_DEVICE, call->handle);
		break;
	case DDI_DESTROY_CONTEXT:
		taken_back(call, HANDLE_CONTEXT, call->handle);
		break;
	case DDI_DESTROY_HW_CONTEXT:
		taken_back(call, HANDLE_HW_CONTEXT, call->handle);
		break;
	case DDI_DESTROY_HW_QUEUE:
		taken_back(call, HANDLE_HW_QUEUE, call->handle);
		break;
	case DDI_DESTROY_ALLOCATION:
		allocations_taken_back(call, call->arguments);
		break;
	case DDI_CLOSE_ALLOCATION: {
		const DXGKARG_CLOSEALLOCATION *args = call->arguments;

		for (UINT i = 0; i < args->NumAllocations; i++)
			taken_back(call, HANDLE_OPENING, args->pOpenHandleList[i]);
		break;
	}
	case DDI_REMOVE_DEVICE:
		handles_remove(call->adapter, HANDLE_ADAPTER, call->handle, &record);
		break;
	default:
		break;
	}
}

static void context_given(const struct verify_call *call, enum handle_kind kind, const void *handle,
			  uint32_t node)
{
	given(call, &(struct handle_record){
			    .adapter = call->adapter,
			    .kind = kind,
			    .handle = handle,
			    .kernel = (const void *)(uintptr_t)call->kept[VERIFY_WATCH_pairs],
			    .parent = call->handle,
			    .node = node });
}

static void after_success(const struct verify_call *call)
{
	switch ((int)call->ddi) {
	case DDI_ADD_DEVICE:
		if (*(PVOID *)call->arguments)
			given_one(call, HANDLE_ADAPTER, *(PVOID *)call->arguments, NULL);
		break;
	case DDI_CREATE_PROCESS:
		given_one(call, HANDLE_PROCESS,
			  ((const DXGKARG_CREATEPROCESS *)call->arguments)->hKmdProcess, NULL);
		break;
	case DDI_CREATE_DEVICE: {
		const DXGKARG_CREATEDEVICE *args = call->arguments;

		given_one(call, HANDLE_DEVICE, args->hDevice, args->hKmdProcess);
		break;
	}
	case DDI_CREATE_CONTEXT: {
		const DXGKARG_CREATECONTEXT *args = call->arguments;

		context_given(call, HANDLE_CONTEXT, args->hContext, args->NodeOrdinal);
		break;
	}
	case DDI_CREATE_HW_CONTEXT: {
		const DXGKARG_CREATEHWCONTEXT *args = call->arguments;

		context_given(call, HANDLE_HW_CONTEXT, args->hHwContext, args->NodeOrdinal);
		break;
	}
	case DDI_CREATE_HW_QUEUE:
		given_one(call, HANDLE_HW_QUEUE,
			  ((const DXGKARG_CREATEHWQUEUE *)call->arguments)->hHwQueue, call->handle);
		break;
	case DDI_CREATE_ALLOCATION:
		allocations_given(call, call->arguments);
		break;
	case DDI_OPEN_ALLOCATION:
		openings_given(call, call->arguments);
		break;
	default:
		break;
	}
}

/* What DxgkCbGetHandleParent gave last, in the entry point that the thread is in: a resource. */
static _Thread_local UINT last_parent;

static void after(struct verify_call *call, void *state)
{
	(void)state;
	last_parent = 0;
	if (NT_SUCCESS(call->status))
		after_success(call);
	else if (call->ddi == DDI_OPEN_ALLOCATION && !verify_is_lack_of_memory(call->status))
		judge_orphans(call);
	if (call->ddi == DDI_DESTROY_ALLOCATION)
		resource_replaced(call, call->arguments);
	if (call->ddi == DDI_DESTROY_DEVICE)
		handles_orphan(call->adapter, call->handle);
	if (call->ddi == DDI_STOP_DEVICE)
		tell_of_left(call->adapter);
}

/* ---- handles of the kernel's ---- */

/* The kernel gave it to this call as an allocation. */
static bool is_being_opened(UINT handle)
{
	const struct verify_call *call = verify_call_innermost();

	if (!call || call->ddi != DDI_OPEN_ALLOCATION)
		return false;
	const DXGKARG_OPENALLOCATION *args = call->arguments;
	for (UINT i = 0; i < args->NumAllocations; i++) {
		if (args->pOpenAllocation[i].hAllocation == handle)
			return true;
	}
	return false;
}

/* Of others nothing is known: a client may have made them up, and then the answer says so. */
static void judge_question(const struct verify_callback *callback,
			   const DXGKARGCB_GETHANDLEDATA *question)
{
	bool wants_resource = question->Type == DXGK_HANDLE_RESOURCE;
	const char *name = verify_callback_names[callback->id];

	if (wants_resource && is_being_opened(question->hObject))
		nt_report(RULE_DDI_HANDLEDATA_IRQL,
			  "%s was asked for the resource 0x%x, and that is an allocation", name,
			  question->hObject);
	else if (!wants_resource && question->hObject != 0 && question->hObject == last_parent)
		nt_report(RULE_DDI_HANDLEDATA_IRQL,
			  "%s was asked for the allocation 0x%x, and that is a resource", name,
			  question->hObject);
	else if (wants_resource && question->Flags.DeviceSpecific)
		nt_report(RULE_DDI_HANDLEDATA_IRQL,
			  "%s was asked for what a device has of the resource 0x%x; only "
			  "allocations are opened on devices",
			  name, question->hObject);
}

static void callback_after(struct verify_callback *callback, void *state)
{
	(void)state;
	if (callback->id == VERIFY_CB_GetHandleParent)
		last_parent = (UINT)callback->result;
	else if ((callback->id == VERIFY_CB_GetHandleData ||
		  callback->id == VERIFY_CB_AcquireHandleData) &&
		 callback->arguments)
		judge_question(callback, callback->arguments);
}

static void end(struct verify_adapter *adapter, void *state)
{
	(void)state;
	handles_forget(adapter);
}

const struct verify_watching verify_watch_pairs = {
	.end = end,
	.before = before,
	.after = after,
	.callback_after = callback_after,
};
