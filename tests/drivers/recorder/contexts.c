/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - context allocations and their kin, as an escape asks for them (recorder.h).
 */
#include "driver.h"

static HANDLE as_handle(unsigned long long value)
{
	return (HANDLE)(ULONG_PTR)value;
}

static NTSTATUS create(DXGKRNL_INTERFACE *os, const DXGKARG_ESCAPE *args,
		       struct recorder_escape *escape)
{
	DXGKARGCB_CREATECONTEXTALLOCATION create;
	unsigned long long *values = escape->values;
	NTSTATUS status;

	RtlZeroMemory(&create, sizeof(create));
	create.hAdapter = os->DeviceHandle;
	create.ContextAllocationFlags.Value = escape->flags;
	create.hDevice = values[0] == 1 ? kernel_handle_of(args->hDevice) : as_handle(values[0]);
	create.hContext = values[1] == 1 ? kernel_handle_of(args->hContext) : as_handle(values[1]);
	create.hDriverAllocation = as_handle(values[2]);
	create.Size = values[3];
	create.Alignment = (UINT)values[4];
	create.SupportedSegmentSet = (UINT)values[5];
	create.EvictionSegmentSet = (UINT)values[6];
	create.Flags.Value = (UINT)values[7];
	status = os->DxgkCbCreateContextAllocation(&create);
	values[0] = (ULONG_PTR)create.hAllocation;
	return status;
}

static NTSTATUS map(DXGKRNL_INTERFACE *os, struct recorder_escape *escape)
{
	DXGKARGCB_MAPCONTEXTALLOCATION map;
	unsigned long long *values = escape->values;

	RtlZeroMemory(&map, sizeof(map));
	map.hAllocation = as_handle(values[0]);
	map.BaseAddress = values[1];
	map.MinimumAddress = values[2];
	map.MaximumAddress = values[3];
	map.OffsetInPages = values[4];
	map.SizeInPages = values[5];
	map.Protection.Value = values[6];
	map.DriverProtection = values[7];
	values[0] = os->DxgkCbMapContextAllocation(os->DeviceHandle, &map);
	return values[0] ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}

static NTSTATUS update(DXGKRNL_INTERFACE *os, struct recorder_escape *escape)
{
	DXGKARGCB_UPDATECONTEXTALLOCATION update;

	RtlZeroMemory(&update, sizeof(update));
	update.hAllocation = as_handle(escape->values[0]);
	update.pPrivateDriverData = &escape->fence;
	update.PrivateDriverDataSize = sizeof(escape->fence);
	return os->DxgkCbUpdateContextAllocation(os->DeviceHandle, &update);
}

static NTSTATUS reserve(DXGKRNL_INTERFACE *os, struct recorder_escape *escape)
{
	DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE reserve;
	NTSTATUS status;

	RtlZeroMemory(&reserve, sizeof(reserve));
	reserve.hDxgkProcess = as_handle(escape->values[0]);
	reserve.SizeInBytes = escape->values[1];
	reserve.Alignment = (UINT)escape->values[2];
	reserve.BaseAddress = escape->values[3];
	reserve.Flags = escape->flags;
	status = os->DxgkCbReserveGpuVirtualAddressRange(os->DeviceHandle, &reserve);
	escape->values[0] = reserve.StartVirtualAddress;
	return status;
}

static NTSTATUS invalidate(DXGKRNL_INTERFACE *os, struct recorder_escape *escape)
{
	DXGKARGCB_INVALIDATEHWCONTEXT invalidate;

	RtlZeroMemory(&invalidate, sizeof(invalidate));
	invalidate.hAdapter = os->DeviceHandle;
	invalidate.hHwContext = as_handle(escape->values[0]);
	invalidate.Flags.Value = escape->flags;
	return os->DxgkCbInvalidateHwContext(&invalidate);
}

static NTSTATUS signal(DXGKRNL_INTERFACE *os, struct recorder_escape *escape)
{
	DXGKARGCB_SIGNALEVENT signal;

	RtlZeroMemory(&signal, sizeof(signal));
	signal.hDxgkProcess = as_handle(escape->values[0]);
	signal.hEvent = as_handle(escape->values[1]);
	signal.Flags = escape->flags;
	return os->DxgkCbSignalEvent(&signal);
}

BOOLEAN context_command(struct adapter *adapter, const DXGKARG_ESCAPE *args)
{
	struct recorder_escape *escape = args->pPrivateDriverData;
	DXGKRNL_INTERFACE *os = &adapter->interface;
	NTSTATUS status;
	KIRQL before;

	if (escape->command < RECORDER_CONTEXT_CREATE || escape->command > RECORDER_SIGNAL)
		return FALSE;
	KeRaiseIrql((KIRQL)escape->irql, &before);
	switch (escape->command) {
	case RECORDER_CONTEXT_CREATE:
		status = create(os, args, escape);
		break;
	case RECORDER_CONTEXT_MAP:
		status = map(os, escape);
		break;
	case RECORDER_CONTEXT_UPDATE:
		status = update(os, escape);
		break;
	case RECORDER_CONTEXT_DESTROY:
		status = os->DxgkCbDestroyContextAllocation(os->DeviceHandle,
							    as_handle(escape->values[0]));
		break;
	case RECORDER_RESERVE:
		status = reserve(os, escape);
		break;
	case RECORDER_INVALIDATE:
		status = invalidate(os, escape);
		break;
	default:
		status = signal(os, escape);
		break;
	}
	KeLowerIrql(before);
	escape->result = (unsigned)status;
	return TRUE;
}

/* "Keep": 1 makes one for every context, 2 one for every device; with "Leak" they stay behind. */
HANDLE keep(struct adapter *adapter, HANDLE kernel_device, HANDLE kernel_context)
{
	DXGKARGCB_CREATECONTEXTALLOCATION create;
	ULONG kind = kernel_context ? 1 : 2;
	NTSTATUS status;

	if (!(setting("Keep", 0) & kind))
		return NULL;
	RtlZeroMemory(&create, sizeof(create));
	create.hAdapter = adapter->interface.DeviceHandle;
	create.ContextAllocationFlags.SharedAcrossContexts = kernel_context == NULL;
	create.hDevice = kernel_device;
	create.hContext = kernel_context;
	create.hDriverAllocation = as_handle(0xC00C1E00 + kind);
	create.Size = setting("KeepBytes", 65536);
	create.SupportedSegmentSet = setting("KeepSegments", 1);
	status = adapter->interface.DxgkCbCreateContextAllocation(&create);
	note("CreateContextAllocation", "status", (ULONG)status, "kind", kind);
	return status == STATUS_SUCCESS ? create.hAllocation : NULL;
}

void let_go(struct adapter *adapter, HANDLE kept)
{
	NTSTATUS status;

	if (!kept || setting("Leak", 0))
		return;
	note("DestroyContextAllocation", NULL, 0, NULL, 0);
	status = adapter->interface.DxgkCbDestroyContextAllocation(adapter->interface.DeviceHandle,
								   kept);
	note("ContextAllocationGone", "status", (ULONG)status, NULL, 0);
}

/* "RefreshAtRoot": what is kept has the address of the root in it. */
void refresh(struct adapter *adapter, HANDLE kept)
{
	struct recorder_escape escape = { 0 };
	NTSTATUS status;

	if (!kept || !setting("RefreshAtRoot", 0))
		return;
	escape.values[0] = (ULONG_PTR)kept;
	status = update(&adapter->interface, &escape);
	note("UpdateContextAllocation", "status", (ULONG)status, NULL, 0);
}

void reserve_addresses(struct adapter *adapter, HANDLE kernel_process)
{
	struct recorder_escape escape = { 0 };
	ULONG size = setting("ReserveMiB", 0);
	NTSTATUS status;

	if (size == 0)
		return;
	escape.values[0] = (ULONG_PTR)kernel_process;
	escape.values[1] = (unsigned long long)size << 20;
	status = reserve(&adapter->interface, &escape);
	note("ReserveGpuVirtualAddressRange", "status", (ULONG)status, "start",
	     (ULONG)escape.values[0]);
}
