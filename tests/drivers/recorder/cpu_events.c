/* SPDX-License-Identifier: MIT */
/*
 * cpu_events.c - events of clients that the driver sets, and escapes whose data the kernel knows.
 *
 * DriverKnownEscape with D3DDDI_DRIVERESCAPETYPE_CPUEVENTUSAGE: Usage[0] says what happens, 1: the
 * event is set at DISPATCH_LEVEL. Usage[1] and Usage[2] come back as the kernel's name for it,
 * Usage[7] as 77.
 */
#include "driver.h"

enum { EVENTS = 16 };

static struct {
	HANDLE kernel_event; /* NULL: not there */
} events[EVENTS];

static ULONG number_of(HANDLE event)
{
	for (ULONG i = 0; i < EVENTS; i++) {
		if (event == &events[i])
			return i + 1;
	}
	return 0;
}

static BOOLEAN has_feature(struct adapter *adapter, DXGK_FEATURE_ID feature)
{
	DXGKARGCB_ISFEATUREENABLED args = { adapter->interface.DeviceHandle, feature, 2 };

	return NT_SUCCESS(adapter->interface.DxgkCbIsFeatureEnabled(&args)) ? args.Enabled : 3;
}

static NTSTATUS APIENTRY create_cpu_event(const HANDLE context, DXGKARG_CREATECPUEVENT *args)
{
	NTSTATUS status = step("CreateCpuEvent");

	if (status != STATUS_SUCCESS)
		return status;
	note("CreateCpuEvent", "device", args->hKmdDevice != NULL, "flags", args->Flags.Value);
	note("Features", "cpu_event",
	     has_feature(adapter_of(context), DXGK_FEATURE_KMD_SIGNAL_CPU_EVENT), "sample",
	     has_feature(adapter_of(context), DXGK_FEATURE_SAMPLE));
	for (ULONG i = 0; i < EVENTS; i++) {
		if (events[i].kernel_event)
			continue;
		events[i].kernel_event = args->hDxgCpuEvent;
		args->hKmdCpuEvent = &events[i];
		return STATUS_SUCCESS;
	}
	return STATUS_INSUFFICIENT_RESOURCES;
}

static NTSTATUS APIENTRY destroy_cpu_event(const HANDLE context, const HANDLE event)
{
	ULONG number = number_of(event);

	note("DestroyCpuEvent", "event", number, NULL, 0);
	if (number == 0)
		complain("an event that it does not have");
	else
		events[number - 1].kernel_event = NULL;
	return STATUS_SUCCESS;
}

static NTSTATUS use_event(struct adapter *adapter, const DXGKARG_ESCAPE *args)
{
	D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE *usage = args->pPrivateDriverData;
	DXGKARGCB_SIGNALEVENT signal = { 0 };
	NTSTATUS status = STATUS_SUCCESS;
	ULONG number;
	KIRQL irql;

	if (args->PrivateDriverDataSize != sizeof(*usage))
		complain("a usage of another size");
	number = number_of((HANDLE)(ULONG_PTR)usage->hKmdCpuEvent);
	note("CpuEventUsage", "event", number, "usage", usage->Usage[0]);
	if (number == 0)
		return STATUS_INVALID_PARAMETER;
	signal.hEvent = events[number - 1].kernel_event;
	signal.CpuEventObject = 1;
	if (usage->Usage[0] == 1) {
		KeRaiseIrql(DISPATCH_LEVEL, &irql);
		status = adapter->interface.DxgkCbSignalEvent(&signal);
		KeLowerIrql(irql);
	}
	usage->Usage[1] = (UINT)(ULONG_PTR)signal.hEvent;
	usage->Usage[2] = (UINT)((ULONGLONG)(ULONG_PTR)signal.hEvent >> 32);
	usage->Usage[7] = 77;
	return status;
}

BOOLEAN known_escape(struct adapter *adapter, const DXGKARG_ESCAPE *args, NTSTATUS *status)
{
	const D3DDDI_DRIVERESCAPETYPE *type = args->pPrivateDriverData;

	if (!args->Flags.DriverKnownEscape)
		return FALSE;
	note("KnownEscape", "type", (ULONG)*type, "device", args->hDevice != NULL);
	*status = *type == D3DDDI_DRIVERESCAPETYPE_CPUEVENTUSAGE ? use_event(adapter, args)
								 : STATUS_SUCCESS;
	return TRUE;
}

void fill_in_cpu_events(DRIVER_INITIALIZATION_DATA *data)
{
	if (!setting("CpuEvents", 0))
		return;
	data->DxgkDdiCreateCpuEvent = create_cpu_event;
	data->DxgkDdiDestroyCpuEvent = destroy_cpu_event;
}
