/* SPDX-License-Identifier: MIT */
/*
 * budget_calls.c - how much of an adapter's memory a process may use, and could give back.
 */
#include "dispatch/dispatch.h"
#include "dispatch/rights.h"

static NTSTATUS check_group(uint32_t group, UINT physical_adapter)
{
	if (group >= VIDMM_GROUPS)
		return invalid(RULE_API_VALUE, "MemorySegmentGroup",
			       "is %u, not 0 (local) or 1 (non-local)", group);
	if (physical_adapter != 0)
		return invalid(RULE_API_VALUE, "PhysicalAdapterIndex",
			       "is %u, and an unlinked adapter has only number 0",
			       physical_adapter);
	return STATUS_SUCCESS;
}

static NTSTATUS find_budget(const struct call *call, HANDLE process, uint32_t group,
			    UINT physical_adapter, struct vidmm_process **memory_out)
{
	struct process_adapter *process_adapter;
	NTSTATUS status = call_check_own_process(call, process);

	if (NT_SUCCESS(status))
		status = check_group(group, physical_adapter);
	if (NT_SUCCESS(status))
		status = process_join_adapter(call->process, call_adapter(call, 0)->adapter,
					      &process_adapter);
	if (NT_SUCCESS(status))
		*memory_out = &process_adapter->memory;
	return status;
}

NTSTATUS dispatch_query_video_memory_info(struct call *call, D3DKMT_QUERYVIDEOMEMORYINFO *args)
{
	struct vidmm_process *memory;
	uint32_t group = (uint32_t)args->MemorySegmentGroup;
	NTSTATUS status =
		find_budget(call, args->hProcess, group, args->PhysicalAdapterIndex, &memory);

	if (!NT_SUCCESS(status))
		return status;
	struct vidmm_memory_info info = vidmm_process_memory_info(memory, (enum vidmm_group)group);
	args->Budget = info.budget_bytes;
	args->CurrentUsage = info.usage_bytes;
	args->CurrentReservation = info.reservation_bytes;
	args->AvailableForReservation = info.available_for_reservation_bytes;
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_change_video_memory_reservation(struct call *call,
						  D3DKMT_CHANGEVIDEOMEMORYRESERVATION *args)
{
	struct vidmm_process *memory;
	uint32_t group = (uint32_t)args->MemorySegmentGroup;
	NTSTATUS status =
		find_budget(call, args->hProcess, group, args->PhysicalAdapterIndex, &memory);

	if (!NT_SUCCESS(status))
		return status;
	return vidmm_process_reserve(memory, (enum vidmm_group)group, args->Reservation);
}

/* ---- what is offered ---- */

static NTSTATUS check_commitment(const struct call *call, ULONG size_bytes, size_t wanted_bytes,
				 HANDLE process)
{
	if (size_bytes != wanted_bytes)
		return invalid(RULE_API_VALUE, "cbSize", "is %u, and the struct has %zu bytes",
			       size_bytes, wanted_bytes);
	return call_check_own_process(call, process);
}

/* Of all adapters that the process has used. */
NTSTATUS dispatch_query_process_offer_info(struct call *call, D3DKMT_QUERYPROCESSOFFERINFO *args)
{
	struct process_adapter *process_adapter = NULL;
	NTSTATUS status = check_commitment(call, args->cbSize, sizeof(*args), args->hProcess);

	if (!NT_SUCCESS(status))
		return status;
	args->DecommitUniqueness = 0;
	args->DecommittableBytes = 0;
	while ((process_adapter = process_next_adapter(call->process, process_adapter)) != NULL) {
		struct vidmm_offer_info info = vidmm_process_offer_info(&process_adapter->memory);

		args->DecommitUniqueness += info.uniqueness;
		args->DecommittableBytes += info.decommittable_bytes;
	}
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_trim_process_commitment(struct call *call, D3DKMT_TRIMPROCESSCOMMITMENT *args)
{
	uint32_t flags = (args->Flags.Lazy ? VIDMM_DECOMMIT_LAZILY : 0) |
			 (args->Flags.OnlyRepurposed ? VIDMM_DECOMMIT_REPURPOSED : 0);
	struct process_adapter *process_adapter = NULL;
	uint64_t freed_bytes = 0;
	NTSTATUS status = check_commitment(call, args->cbSize, sizeof(*args), args->hProcess);

	if (!NT_SUCCESS(status))
		return status;
	while (freed_bytes < args->DecommitRequested &&
	       (process_adapter = process_next_adapter(call->process, process_adapter)) != NULL)
		freed_bytes += vidmm_process_decommit(&process_adapter->memory,
						      args->DecommitRequested - freed_bytes, flags);
	args->NumBytesDecommitted = freed_bytes;
	return STATUS_SUCCESS;
}
