/* SPDX-License-Identifier: MIT */
/*
 * adapter_calls.c - finding, opening and closing adapters.
 */
#include "dispatch/dispatch.h"

static LUID luid_from_number(uint64_t number)
{
	return (LUID){ .LowPart = (ULONG)number, .HighPart = (LONG)(number >> 32) };
}

NTSTATUS dispatch_open_adapter_from_luid(struct call *call, D3DKMT_OPENADAPTERFROMLUID *args)
{
	struct dxg_adapter *adapter;
	struct adapter_open *open;
	NTSTATUS status = call_find_adapter(call, args->AdapterLuid, &adapter);

	if (NT_SUCCESS(status))
		status = adapter_check_present(adapter);
	if (NT_SUCCESS(status))
		status = adapter_open_create(call->process, adapter, &open);
	if (NT_SUCCESS(status))
		args->hAdapter = open->object.handle;
	return status;
}

/* Opens all of `adapters` or none. */
static NTSTATUS open_all(struct call *call, struct dxg_adapter *const *adapters, uint32_t count,
			 D3DKMT_ADAPTERINFO *infos)
{
	struct adapter_open *opens[KERNEL_MAX_ADAPTERS];
	NTSTATUS status = STATUS_SUCCESS;
	uint32_t opened = 0;

	for (; opened < count; opened++) {
		status = adapter_open_create(call->process, adapters[opened], &opens[opened]);
		if (!NT_SUCCESS(status))
			goto close_opened;
		infos[opened] = (D3DKMT_ADAPTERINFO){
			.hAdapter = opens[opened]->object.handle,
			.AdapterLuid = luid_from_number(adapters[opened]->luid),
			.NumOfSources = adapters[opened]->info->video_present_sources,
		};
	}
	return STATUS_SUCCESS;

close_opened:
	while (opened > 0)
		(void)!adapter_open_close(opens[--opened]);
	return status;
}

static NTSTATUS enum_adapters(struct call *call, bool with_compute_only, bool with_display_only,
			      D3DKMT_ADAPTERINFO *infos, ULONG *count)
{
	struct dxg_adapter *chosen[KERNEL_MAX_ADAPTERS];
	uint32_t chosen_count = 0;

	if (!infos) {
		/* As Windows: the room that is always enough, not what is there now. */
		*count = CALL_MAX_ADAPTERS;
		return STATUS_SUCCESS;
	}
	/* A display-only driver (DxgkInitializeDisplayOnlyDriver) cannot be loaded here, so there
	   is none to leave out. */
	for (uint32_t i = 0; i < call->kernel->adapter_count; i++) {
		struct dxg_adapter *adapter = call->kernel->adapters[i];
		if (with_compute_only || !adapter->info->is_compute_only)
			chosen[chosen_count++] = adapter;
	}
	if (*count < chosen_count || *count == 0)
		return refuse(STATUS_BUFFER_TOO_SMALL, RULE_API_BUFFER, "NumAdapters",
			      "is %u, and there are %u adapters", *count, chosen_count);
	NTSTATUS status = open_all(call, chosen, chosen_count, infos);
	if (NT_SUCCESS(status))
		*count = chosen_count;
	return status;
}

_Static_assert(KERNEL_MAX_ADAPTERS <= MAX_ENUM_ADAPTERS, "the first form has room for all");

/* The form of Windows 8, which knows no adapters that only compute. */
NTSTATUS dispatch_enum_adapters(struct call *call, D3DKMT_ENUMADAPTERS *args)
{
	args->NumAdapters = MAX_ENUM_ADAPTERS;
	return enum_adapters(call, false, false, args->Adapters, &args->NumAdapters);
}

NTSTATUS dispatch_enum_adapters2(struct call *call, D3DKMT_ENUMADAPTERS2 *args)
{
	return enum_adapters(call, true, true, args->pAdapters, &args->NumAdapters);
}

NTSTATUS dispatch_enum_adapters3(struct call *call, D3DKMT_ENUMADAPTERS3 *args)
{
	if (args->Filter.Reserved != 0)
		return invalid(RULE_API_RESERVED, "Filter",
			       "has reserved bits set: 0x%llx above bit 1",
			       (unsigned long long)args->Filter.Reserved);
	return enum_adapters(call, args->Filter.IncludeComputeOnly, args->Filter.IncludeDisplayOnly,
			     args->pAdapters, &args->NumAdapters);
}

NTSTATUS dispatch_close_adapter(struct call *call, D3DKMT_CLOSEADAPTER *args)
{
	if (!adapter_open_close(call_adapter(call, 0)))
		return invalid(RULE_API_HANDLE, "hAdapter", "0x%08x was closed by another thread",
			       args->hAdapter);
	return STATUS_SUCCESS;
}
