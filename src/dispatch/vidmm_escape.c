/* SPDX-License-Identifier: MIT */
/*
 * vidmm_escape.c - D3DKMT_ESCAPE_VIDMM: doing to the memory manager what a tester wants done.
 *
 * Everything is decoded before anything is done. What cannot be done here says why.
 */
#include <string.h>

#include "base/refusal.h"
#include "dispatch/allocation_list.h"
#include "dispatch/escapes.h"
#include "dispatch/rights.h"
#include "object/owner/control.h"
#include "object/memory/resource.h"

static NTSTATUS not_built(const char *field, const char *why)
{
	return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, field, "%s", why);
}

/* ---- faults ---- */

enum { FAULTS_BUILT = 1 << 2 | 1 << 13 | 1 << 14 };

static NTSTATUS set_fault(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	uint32_t faults = args->SetFault.Value;
	uint32_t options = vidmm_options(escape->adapter->memory);

	if (args->SetFault.Reserved != 0)
		return call_refuse_bits("SetFault", NULL, (uint32_t)args->SetFault.Reserved << 15);
	if (faults & ~(uint32_t)FAULTS_BUILT)
		return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "SetFault",
			      "is 0x%x; only NoDemotion, NeverDiscardOfferedAllocation and "
			      "AlwaysDiscardOfferedAllocation (0x%x) are built",
			      faults, FAULTS_BUILT);
	if (args->SetFault.NeverDiscardOfferedAllocation &&
	    args->SetFault.AlwaysDiscardOfferedAllocation)
		return invalid(RULE_MM_CONTROL, "SetFault",
			       "asks for offers to be discarded always and never");
	options &= ~(uint32_t)(VIDMM_NO_DEMOTION | VIDMM_NEVER_DISCARD_OFFERS |
			       VIDMM_ALWAYS_DISCARD_OFFERS);
	options |= args->SetFault.NoDemotion ? VIDMM_NO_DEMOTION : 0;
	options |= args->SetFault.NeverDiscardOfferedAllocation ? VIDMM_NEVER_DISCARD_OFFERS : 0;
	options |= args->SetFault.AlwaysDiscardOfferedAllocation ? VIDMM_ALWAYS_DISCARD_OFFERS : 0;
	vidmm_set_options(escape->adapter->memory, options);
	return STATUS_SUCCESS;
}

/* ---- eviction ---- */

static void evict_list(const struct escape *escape, const struct allocation_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		vidmm_evict_selected(escape->adapter->memory,
				     &(struct vidmm_selection){
					     .allocation = &list->allocations[i]->body->memory });
}

static NTSTATUS find_evicted(const struct escape *escape, const D3DKMT_VIDMM_ESCAPE *args,
			     struct allocation_list *list)
{
	struct dxg_resource *resource;

	if (args->Evict.ResourceHandle != 0 && args->Evict.AllocationHandle != 0)
		return invalid(RULE_API_VALUE, "Evict.AllocationHandle",
			       "is given together with a resource");
	if (!escape->device)
		return invalid(RULE_API_HANDLE, "hDevice",
			       "is 0, and handles of allocations and resources are a device's");
	if (args->Evict.AllocationHandle != 0)
		return allocation_list_decode(escape->call, escape->device,
					      "Evict.AllocationHandle",
					      &args->Evict.AllocationHandle, "one", 1, list);
	NTSTATUS status =
		call_find_resource(escape->call, escape->device, "Evict.ResourceHandle", -1,
				   args->Evict.ResourceHandle, STATUS_INVALID_PARAMETER, &resource);
	if (!NT_SUCCESS(status))
		return status;
	status = allocation_list_of_resource(escape->call, resource, list);
	object_put(&resource->object);
	return status;
}

static NTSTATUS evict(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct allocation_list list = { 0 };
	struct vidmm_process *process = NULL;
	NTSTATUS status = STATUS_SUCCESS;

	if (args->Evict.hProcess)
		status = escape_find_process(escape, args->Evict.hProcess, &process);
	if (!NT_SUCCESS(status))
		return status;
	if (args->Evict.ResourceHandle == 0 && args->Evict.AllocationHandle == 0) {
		if (!process)
			status = call_check_controller(escape->call, "Evict.hProcess",
						       "is NULL, which evicts what is everybody's");
		if (!NT_SUCCESS(status))
			return status;
		vidmm_evict_selected(escape->adapter->memory,
				     &(struct vidmm_selection){ .process = process });
		return STATUS_SUCCESS;
	}
	status = find_evicted(escape, args, &list);
	if (!NT_SUCCESS(status))
		return status;
	evict_list(escape, &list);
	allocation_list_put(&list);
	return STATUS_SUCCESS;
}

/* Bodies of a shared resource stay as long as it does. */
static NTSTATUS evict_resource(const struct escape *escape, struct resource_body *body)
{
	uint32_t count = 0;

	lock_acquire(&body->lock);
	uint32_t body_count = body->body_count;
	lock_release(&body->lock);
	const struct vidmm_allocation **memory =
		call_take(escape->call, (uint64_t)body_count * sizeof(*memory));
	if (!memory)
		return STATUS_NO_MEMORY;
	lock_acquire(&body->lock);
	list_each (struct allocation_body, each, &body->bodies, resource_link) {
		if (count < body_count)
			memory[count++] = &each->memory;
	}
	lock_release(&body->lock);
	for (uint32_t i = 0; i < count; i++)
		vidmm_evict_selected(escape->adapter->memory,
				     &(struct vidmm_selection){ .allocation = memory[i] });
	return STATUS_SUCCESS;
}

static NTSTATUS evict_by_nt_handle(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct share_set set;
	struct share_table *shares = escape->call->process->shares;

	share_sweep(shares);
	NTSTATUS status = share_find_nt(shares, (uintptr_t)args->EvictByNtHandle.NtHandle,
					SHARE_RESOURCE, "EvictByNtHandle.NtHandle", &set);
	if (!NT_SUCCESS(status))
		return status;
	status = evict_resource(escape, container_of(set.shares[0], struct resource_body, share));
	share_set_put(&set);
	return status;
}

static NTSTATUS evict_by_criteria(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	const D3DKMT_EVICTION_CRITERIA *criteria = &args->EvictByCriteria;

	if (criteria->Flags.Reserved != 0)
		return invalid(RULE_API_RESERVED, "EvictByCriteria.Flags",
			       "is 0x%x, which has reserved bits set", criteria->Value);
	if (criteria->MaximumSize != 0 && criteria->MaximumSize < criteria->MinimumSize)
		return invalid(RULE_API_VALUE, "EvictByCriteria.MaximumSize",
			       "is %llu, below the minimum of %llu",
			       (unsigned long long)criteria->MaximumSize,
			       (unsigned long long)criteria->MinimumSize);
	/* Nothing is a primary where there is no display. */
	if (criteria->Flags.Primary)
		return STATUS_SUCCESS;
	vidmm_evict_selected(escape->adapter->memory,
			     &(struct vidmm_selection){ .least_bytes = criteria->MinimumSize,
							.most_bytes = criteria->MaximumSize });
	return STATUS_SUCCESS;
}

/* ---- budgets ---- */

static NTSTATUS set_budget(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	const struct vidmm_budget_limits limits = {
		.bytes = { [VIDMM_LOCAL] = args->SetBudget.LocalMemoryBudget,
			   [VIDMM_NON_LOCAL] = args->SetBudget.SystemMemoryBudget },
	};

	vidmm_set_budget_limits(escape->adapter->memory, &limits);
	return STATUS_SUCCESS;
}

static NTSTATUS get_budget(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct vidmm_process *process;
	NTSTATUS status = escape_find_process(escape, NULL, &process);

	if (NT_SUCCESS(status))
		args->GetBudget.NumBytesToTrim = vidmm_process_bytes_to_trim(process);
	return status;
}

/* ---- order and time ---- */

static NTSTATUS check_defrag(const struct escape *escape, const D3DKMT_VIDMM_ESCAPE *args)
{
	switch (args->Defrag.Operation) {
	case D3DKMT_DEFRAG_ESCAPE_GET_FRAGMENTATION_STATS:
	case D3DKMT_DEFRAG_ESCAPE_DEFRAG_UPWARD:
	case D3DKMT_DEFRAG_ESCAPE_DEFRAG_DOWNWARD:
	case D3DKMT_DEFRAG_ESCAPE_VERIFY_TRANSFER:
		return STATUS_SUCCESS;
	case D3DKMT_DEFRAG_ESCAPE_DEFRAG_PASS:
		if (vidmm_options(escape->adapter->memory) & VIDMM_FAIL_DEFRAG)
			return refuse(STATUS_UNSUCCESSFUL, RULE_MM_CONTROL, "Defrag.Operation",
				      "fails because FailDefragPass is set");
		return STATUS_SUCCESS;
	default:
		return invalid(RULE_API_VALUE, "Defrag.Operation", "is %u, not 0 to 4",
			       (unsigned)args->Defrag.Operation);
	}
}

/* Segments count from 1, as in every DDI. */
static NTSTATUS defrag(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct vidmm *memory = escape->adapter->memory;
	struct vidmm_fragmentation before;
	struct vidmm_fragmentation after;
	const struct vidmm_defragmentation how = {
		.is_upward = args->Defrag.Operation == D3DKMT_DEFRAG_ESCAPE_DEFRAG_UPWARD,
		.must_verify = args->Defrag.Operation == D3DKMT_DEFRAG_ESCAPE_VERIFY_TRANSFER,
	};
	uint32_t segment = args->Defrag.SegmentId;
	NTSTATUS status = check_defrag(escape, args);

	if (NT_SUCCESS(status) &&
	    args->Defrag.Operation != D3DKMT_DEFRAG_ESCAPE_GET_FRAGMENTATION_STATS)
		status = call_check_controller(escape->call, "Defrag.Operation",
					       "moves what is everybody's");
	if (!NT_SUCCESS(status))
		return status;
	if (!vidmm_fragmentation(memory, segment, &before))
		return invalid(RULE_API_VALUE, "Defrag.SegmentId",
			       "is %u, which is no segment with addresses of its own", segment);
	if (args->Defrag.Operation != D3DKMT_DEFRAG_ESCAPE_GET_FRAGMENTATION_STATS)
		status = vidmm_defragment(memory, segment, &how);
	if (!NT_SUCCESS(status))
		return status;
	(void)!vidmm_fragmentation(memory, segment, &after);
	args->Defrag.TotalCommitted = after.taken_bytes;
	args->Defrag.TotalFree = after.free_bytes;
	args->Defrag.LargestGapBefore = before.largest_gap_bytes;
	args->Defrag.LargestGapAfter = after.largest_gap_bytes;
	return STATUS_SUCCESS;
}

static NTSTATUS delay_execution(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct object *found = NULL;
	uint64_t fence_value = 0;

	if (args->DelayExecution.PhysicalAdapterIndex != 0)
		return invalid(RULE_API_VALUE, "DelayExecution.PhysicalAdapterIndex",
			       "is %u, and an unlinked adapter has only number 0",
			       args->DelayExecution.PhysicalAdapterIndex);
	if (args->DelayExecution.Milliseconds > CONTROL_LONGEST_DELAY_MS)
		return invalid(RULE_API_VALUE, "DelayExecution.Milliseconds", "is %u, more than %d",
			       args->DelayExecution.Milliseconds, CONTROL_LONGEST_DELAY_MS);
	NTSTATUS status =
		call_find_object(escape->call, &paging_queue_class, "DelayExecution.hPagingQueue",
				 -1, args->DelayExecution.hPagingQueue, &found);
	if (!NT_SUCCESS(status))
		return status;
	struct dxg_paging_queue *queue = object_as(paging_queue, found);
	if (queue->device->adapter != escape->adapter)
		status = invalid(RULE_API_VALUE, "DelayExecution.hPagingQueue",
				 "is a queue of another adapter");
	else
		status = control_delay(queue, args->DelayExecution.Milliseconds, &fence_value);
	args->DelayExecution.PagingFenceValue = fence_value;
	object_put(&queue->object);
	return status;
}

static NTSTATUS wake(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	control_wake(escape->adapter, args->Wake.bFlush != FALSE);
	return STATUS_SUCCESS;
}

/* 0: all segments. The books of one cannot be right where those of another are not. */
static NTSTATUS validate_integrity(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct vidmm_segment_usage usage;
	uint32_t segment = args->VerifyIntegrity.SegmentId;

	if (segment != 0 && !vidmm_segment_usage(escape->adapter->memory, segment, &usage))
		return invalid(RULE_API_VALUE, "VerifyIntegrity.SegmentId",
			       "is %u, which is no segment", segment);
	return control_check_integrity(escape->adapter);
}

/* ---- the table ---- */

static NTSTATUS suspend_process(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct vidmm_process *process;
	NTSTATUS status = escape_find_process(escape, args->SuspendProcess.hProcess, &process);

	if (!NT_SUCCESS(status))
		return status;
	return vidmm_process_suspend(process, args->SuspendProcess.bAllowWakeOnSubmission != FALSE);
}

static NTSTATUS resume_process(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	struct vidmm_process *process;
	NTSTATUS status = escape_find_process(escape, args->ResumeProcess.hProcess, &process);

	return NT_SUCCESS(status) ? vidmm_process_resume(process) : status;
}

static NTSTATUS set_trim_intervals(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	const struct trim_units units = {
		.shortest = { "SetTrimIntervals.MinTrimInterval",
			      args->SetTrimIntervals.MinTrimInterval },
		.longest = { "SetTrimIntervals.MaxTrimInterval",
			     args->SetTrimIntervals.MaxTrimInterval },
		.idle = { "SetTrimIntervals.IdleTrimInterval",
			  args->SetTrimIntervals.IdleTrimInterval },
	};

	return escape_set_trim_intervals(escape, &units);
}

static NTSTATUS set_eviction_config(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	return not_built("Type",
			 "is SET_EVICTION_CONFIG: of its timer neither the unit nor what it "
			 "delays is documented, and evictions wait for none here");
}

static NTSTATUS test_hardware(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	return not_built("Type", "is a test of hardware (RUN_COHERENCY_TEST to "
				 "SUSPEND_CPU_ACCESS_TEST), for which there is none");
}

/* `touches`: why it takes a controller; NULL: it does not, or it looks for itself. */
static const struct {
	NTSTATUS (*run)(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args);
	const char *touches;
} actions[] = {
	[D3DKMT_VIDMMESCAPETYPE_SETFAULT] = { set_fault,
					      "is SETFAULT, which sets options of the adapter" },
	[D3DKMT_VIDMMESCAPETYPE_RUN_COHERENCY_TEST] = { test_hardware, NULL },
	[D3DKMT_VIDMMESCAPETYPE_RUN_UNMAP_TO_DUMMY_PAGE_TEST] = { test_hardware, NULL },
	[D3DKMT_VIDMMESCAPETYPE_APERTURE_CORRUPTION_CHECK] = { test_hardware, NULL },
	[D3DKMT_VIDMMESCAPETYPE_SUSPEND_CPU_ACCESS_TEST] = { test_hardware, NULL },
	[D3DKMT_VIDMMESCAPETYPE_EVICT] = { evict, NULL },
	[D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE] = { evict_by_nt_handle,
							"is EVICT_BY_NT_HANDLE, which evicts what "
							"others have open" },
	[D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO] = { escape_vad, NULL },
	[D3DKMT_VIDMMESCAPETYPE_SET_BUDGET] = { set_budget,
						"is SET_BUDGET, which changes the budgets of all" },
	[D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS] = { suspend_process, NULL },
	[D3DKMT_VIDMMESCAPETYPE_RESUME_PROCESS] = { resume_process, NULL },
	[D3DKMT_VIDMMESCAPETYPE_GET_BUDGET] = { get_budget, NULL },
	[D3DKMT_VIDMMESCAPETYPE_SET_TRIM_INTERVALS] = { set_trim_intervals,
							"is SET_TRIM_INTERVALS, which are the "
							"adapter's" },
	[D3DKMT_VIDMMESCAPETYPE_EVICT_BY_CRITERIA] = { evict_by_criteria,
						       "is EVICT_BY_CRITERIA, which evicts what is "
						       "everybody's" },
	[D3DKMT_VIDMMESCAPETYPE_WAKE] = { wake, NULL },
	[D3DKMT_VIDMMESCAPETYPE_DEFRAG] = { defrag, NULL },
	[D3DKMT_VIDMMESCAPETYPE_DELAYEXECUTION] = { delay_execution, NULL },
	[D3DKMT_VIDMMESCAPETYPE_VALIDATE_INTEGRITY] = { validate_integrity,
							"is VALIDATE_INTEGRITY, for which "
							"everybody stands still" },
	[D3DKMT_VIDMMESCAPETYPE_SET_EVICTION_CONFIG] = { set_eviction_config, NULL },
};

NTSTATUS escape_vidmm(const struct escape *escape)
{
	D3DKMT_VIDMM_ESCAPE args;
	NTSTATUS status = escape_read(escape, "D3DKMT_VIDMM_ESCAPE", &args, sizeof(args));

	if (!NT_SUCCESS(status))
		return status;
	if ((uint32_t)args.Type >= ARRAY_SIZE(actions))
		return invalid(RULE_API_VALUE, "Type",
			       "of the memory manager's escape is %u, and the last one is %zu",
			       (unsigned)args.Type, ARRAY_SIZE(actions) - 1);
	if (actions[args.Type].touches)
		status = call_check_controller(escape->call, "Type", actions[args.Type].touches);
	if (NT_SUCCESS(status))
		status = adapter_enter(escape->adapter);
	if (!NT_SUCCESS(status))
		return status;
	adapter_leave(escape->adapter);
	status = actions[args.Type].run(escape, &args);
	if (NT_SUCCESS(status))
		memcpy(escape->data, &args, sizeof(args));
	return status;
}
