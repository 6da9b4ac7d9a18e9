/* SPDX-License-Identifier: MIT */
/*
 * escape_calls.c - D3DKMTEscape: what goes to the driver as it is, and the little that is the
 * kernel's own.
 */
#include <string.h>

#include "dispatch/dispatch.h"
#include "dispatch/escapes.h"
#include "dispatch/rights.h"
#include "object/submit/adapter_work.h"

static NTSTATUS force_recovery(const struct escape *escape);

static const struct {
	D3DKMT_ESCAPETYPE type;
	NTSTATUS (*answer)(const struct escape *escape);
} kernel_escapes[] = {
	{ D3DKMT_ESCAPE_VIDMM, escape_vidmm },
	{ D3DKMT_ESCAPE_TDRDBGCTRL, force_recovery },
	{ D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION, escape_process_verifier },
	{ D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION, escape_adapter_verifier },
};

/* What answers a type; NULL: the kernel does not. */
static NTSTATUS (*kernel_escape(D3DKMT_ESCAPETYPE type))(const struct escape *escape)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernel_escapes); i++) {
		if (kernel_escapes[i].type == type)
			return kernel_escapes[i].answer;
	}
	return NULL;
}

/* ---- for those who answer ---- */

NTSTATUS escape_read(const struct escape *escape, const char *type_name, void *copy,
		     size_t size_bytes)
{
	if (escape->size_bytes < size_bytes || !escape->data)
		return invalid(RULE_API_BUFFER, "PrivateDriverDataSize",
			       "is %u, and a %s has %zu bytes", escape->size_bytes, type_name,
			       size_bytes);
	memcpy(copy, escape->data, size_bytes);
	return STATUS_SUCCESS;
}

NTSTATUS escape_find_process(const struct escape *escape, HANDLE process,
			     struct vidmm_process **memory_out)
{
	struct process_adapter *process_adapter;
	NTSTATUS status = call_check_own_process(escape->call, process);

	if (NT_SUCCESS(status))
		status = process_join_adapter(escape->call->process, escape->adapter,
					      &process_adapter);
	if (NT_SUCCESS(status))
		*memory_out = &process_adapter->memory;
	return status;
}

/* ---- flags ---- */

/* Which of the escape's flags go together, and what we can carry out. */
static NTSTATUS check_escape(const D3DKMT_ESCAPE *args)
{
	/* HardwareAccess excludes the two that the runtime answers itself. */
	if (args->Flags.HardwareAccess &&
	    (args->Flags.DeviceStatusQuery || args->Flags.ChangeFrameLatency))
		return invalid(RULE_API_VALUE, "Flags",
			       "has HardwareAccess together with a flag it excludes (0x%x)",
			       args->Flags.Value);
	if (args->Flags.VirtualMachineData)
		return invalid(RULE_API_RESERVED, "Flags",
			       "has VirtualMachineData, which no client may set");
	if (args->Type != D3DKMT_ESCAPE_DRIVERPRIVATE && !kernel_escape(args->Type))
		return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "Type",
			      "is %u; only DRIVERPRIVATE (0), VIDMM (1), TDRDBGCTRL (2) and the "
			      "verifier options of processes (28) and adapters (29) are built",
			      (unsigned)args->Type);
	if (args->Flags.DriverKnownEscape && args->Type != D3DKMT_ESCAPE_DRIVERPRIVATE)
		return invalid(RULE_API_VALUE, "Flags",
			       "has DriverKnownEscape, and Type %u does not go to the driver",
			       (unsigned)args->Type);
	if (args->Flags.DeviceStatusQuery || args->Flags.ChangeFrameLatency ||
	    args->Flags.DriverCommonEscape)
		return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "Flags",
			      "is 0x%x; escapes that the runtime answers are not built",
			      args->Flags.Value);
	return STATUS_SUCCESS;
}

/* ---- recovery by hand ---- */

static NTSTATUS decode_forced(const struct dxg_adapter *adapter,
			      const D3DKMT_TDRDBGCTRL_ESCAPE *control, enum sched_forced *what_out)
{
	switch (control->TdrControl) {
	case D3DKMT_TDRDBGCTRLTYPE_FORCETDR:
	case D3DKMT_TDRDBGCTRLTYPE_UNCONDITIONAL:
	case D3DKMT_TDRDBGCTRLTYPE_GPUTDR:
		*what_out = SCHED_FORCE_ADAPTER_RESET;
		return STATUS_SUCCESS;
	case D3DKMT_TDRDBGCTRLTYPE_ENGINETDR:
		if (control->NodeOrdinal >= adapter->info->node_count)
			return invalid(RULE_API_VALUE, "NodeOrdinal",
				       "is %u, and adapter %u has %u nodes", control->NodeOrdinal,
				       adapter->id, adapter->info->node_count);
		*what_out = SCHED_FORCE_ENGINE_RESET;
		return STATUS_SUCCESS;
	case D3DKMT_TDRDBGCTRLTYPE_DISABLEBREAK:
	case D3DKMT_TDRDBGCTRLTYPE_ENABLEBREAK:
	case D3DKMT_TDRDBGCTRLTYPE_VSYNCTDR:
	case D3DKMT_TDRDBGCTRLTYPE_FORCEDODTDR:
	case D3DKMT_TDRDBGCTRLTYPE_FORCEDODVSYNCTDR:
	default:
		break;
	}
	return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "TdrControl",
		      "is %d, for which there would have to be a debugger or a display",
		      (int)control->TdrControl);
}

/* Returns when the adapter works again, or is lost. */
static NTSTATUS force_recovery(const struct escape *escape)
{
	D3DKMT_TDRDBGCTRL_ESCAPE control = { .TdrControl = D3DKMT_TDRDBGCTRLTYPE_FORCETDR };
	enum sched_forced what = SCHED_FORCE_ADAPTER_RESET;
	NTSTATUS status =
		escape_read(escape, "D3DKMT_TDRDBGCTRL_ESCAPE", &control, sizeof(control));

	if (NT_SUCCESS(status))
		status = call_check_controller(escape->call, "Type",
					       "is TDRDBGCTRL, which resets what others use");
	if (NT_SUCCESS(status))
		status = decode_forced(escape->adapter, &control, &what);
	if (!NT_SUCCESS(status))
		return status;
	return adapter_force_recovery(escape->adapter, what,
				      what == SCHED_FORCE_ENGINE_RESET ? control.NodeOrdinal : 0);
}

NTSTATUS dispatch_escape(struct call *call, D3DKMT_ESCAPE *args)
{
	struct dxg_adapter *adapter = call_adapter(call, 0)->adapter;
	struct dxg_device *device = call->objects[1] ? call_device(call, 1) : NULL;
	struct dxg_context *context = call_context(call, 2);
	NTSTATUS status = check_escape(args);

	if (!NT_SUCCESS(status))
		return status;
	if (device && device->adapter != adapter)
		return invalid(RULE_API_VALUE, "hDevice", "0x%08x is a device of another adapter",
			       args->hDevice);
	if (context && context->device != device)
		return invalid(RULE_API_VALUE, "hContext",
			       "0x%08x is not a context of hDevice 0x%08x", args->hContext,
			       args->hDevice);
	if (device) {
		status = device_check_alive(device);
		if (!NT_SUCCESS(status))
			return status;
	}

	const struct escape escape = {
		.call = call,
		.adapter = adapter,
		.device = device,
		.data = args->pPrivateDriverData,
		.size_bytes = args->PrivateDriverDataSize,
	};
	if (args->Type != D3DKMT_ESCAPE_DRIVERPRIVATE)
		return kernel_escape(args->Type)(&escape);

	const struct miniport_escape_desc desc = {
		.driver_device = device ? device->driver_device : NULL,
		.driver_context = context ? context->info.driver_context : NULL,
		.flags = args->Flags.Value,
		.private_data = args->pPrivateDriverData,
		.private_bytes = args->PrivateDriverDataSize,
	};
	if (args->Flags.DriverKnownEscape)
		return escape_known(&escape, &desc);
	return process_escape(call->process, adapter, &desc);
}
