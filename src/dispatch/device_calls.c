/* SPDX-License-Identifier: MIT */
/*
 * device_calls.c - devices and contexts.
 */
#include <string.h>

#include "dispatch/dispatch.h"
#include "object/submit/render.h"
#include "trace/trace.h"

NTSTATUS dispatch_create_device(struct call *call, D3DKMT_CREATEDEVICE *args)
{
	const struct device_options options = {
		.is_legacy = args->Flags.LegacyMode,
		.has_no_gpu_timeout = args->Flags.DisableGpuTimeout,
	};
	struct dxg_device *device;
	NTSTATUS status =
		device_create(call->process, call_adapter(call, 0)->adapter, &options, &device);

	if (!NT_SUCCESS(status))
		return status;
	args->hDevice = device->object.handle;
	object_put(&device->object);
	/* Every driver we host has contexts; the buffers come from there. */
	args->pCommandBuffer = NULL;
	args->CommandBufferSize = 0;
	args->pAllocationList = NULL;
	args->AllocationListSize = 0;
	args->pPatchLocationList = NULL;
	args->PatchLocationListSize = 0;
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_destroy_device(struct call *call, D3DKMT_DESTROYDEVICE *args)
{
	share_sweep(call->process->shares);
	return call_destroyed(device_destroy(call_device(call, 0)), "hDevice", args->hDevice);
}

static D3DKMT_DEVICEPAGEFAULT_STATE page_fault_state(const struct dxg_device *device)
{
	const struct miniport_fault *fault = &device->fault;
	D3DKMT_DEVICEPAGEFAULT_STATE state = {
		.FaultedPrimitiveAPISequenceNumber = fault->primitive,
		.FaultedPipelineStage = (DXGK_RENDER_PIPELINE_STAGE)fault->stage,
		.FaultedBindTableEntry = fault->bind_entry,
		.PageFaultFlags = (DXGK_PAGE_FAULT_FLAGS)fault->flags,
		.FaultedVirtualAddress = fault->address,
	};

	state.FaultErrorCode.IsDeviceSpecificCodeReservedBit = fault->error_code & 1;
	state.FaultErrorCode.DeviceSpecificCode = fault->error_code >> 1;
	return state;
}

NTSTATUS dispatch_get_device_state(struct call *call, D3DKMT_GETDEVICESTATE *args)
{
	struct dxg_device *device = call_device(call, 0);

	device_learn_of_loss(device);
	/* The ways to learn what happened, so they succeed also for a lost device. */
	if (args->StateType == D3DKMT_DEVICESTATE_EXECUTION) {
		args->ExecutionState = (D3DKMT_DEVICEEXECUTION_STATE)device_state(device);
		return STATUS_SUCCESS;
	}
	if (args->StateType == D3DKMT_DEVICESTATE_PAGE_FAULT &&
	    device_state(device) == DEVICE_DMA_PAGE_FAULT) {
		args->PageFaultState = page_fault_state(device);
		return STATUS_SUCCESS;
	}

	NTSTATUS status = device_check_alive(device);
	if (!NT_SUCCESS(status))
		return status;
	switch (args->StateType) {
	case D3DKMT_DEVICESTATE_PRESENT:
		/* Nothing is ever presented here; the statistics say so. */
		memset(&args->PresentState.PresentStats, 0,
		       sizeof(args->PresentState.PresentStats));
		return STATUS_SUCCESS;
	case D3DKMT_DEVICESTATE_PRESENT_DWM:
		memset(&args->PresentStateDWM.PresentStatsDWM, 0,
		       sizeof(args->PresentStateDWM.PresentStatsDWM));
		return STATUS_SUCCESS;
	case D3DKMT_DEVICESTATE_RESET:
		args->ResetState.Value = 0; /* there is no desktop to be switched away */
		return STATUS_SUCCESS;
	case D3DKMT_DEVICESTATE_PAGE_FAULT:
		args->PageFaultState = (D3DKMT_DEVICEPAGEFAULT_STATE){
			.FaultedPrimitiveAPISequenceNumber =
				DXGK_PRIMITIVE_API_SEQUENCE_NUMBER_UNKNOWN,
			.FaultedPipelineStage = DXGK_RENDER_PIPELINE_STAGE_UNKNOWN,
			.FaultedBindTableEntry = DXGK_BIND_TABLE_ENTRY_UNKNOWN,
			.FaultedVirtualAddress = D3DGPU_NULL,
		};
		return STATUS_SUCCESS;
	case D3DKMT_DEVICESTATE_PRESENT_QUEUE:
		args->PresentQueueState.bQueuedPresentLimitReached = FALSE;
		return STATUS_SUCCESS;
	case D3DKMT_DEVICESTATE_EXECUTION:
	default:
		break;
	}
	return invalid(RULE_API_VALUE, "StateType", "is %d, not one of 1 to 6",
		       (int)args->StateType);
}

/*
 * Which state follows is not documented. What its driver gives up is a device whose work went
 * wrong; that it hangs nobody said.
 */
NTSTATUS dispatch_mark_device_as_error(struct call *call, D3DKMT_MARKDEVICEASERROR *args)
{
	if (args->Reason != D3DKMT_DEVICE_ERROR_REASON_GENERIC &&
	    args->Reason != D3DKMT_DEVICE_ERROR_REASON_DRIVER_ERROR)
		return invalid(RULE_API_VALUE, "Reason",
			       "is 0x%x, not a D3DKMT_DEVICE_ERROR_REASON", (unsigned)args->Reason);
	device_lose(call_device(call, 0), DEVICE_DMA_FAULT, NULL);
	return STATUS_SUCCESS;
}

/* What both ways to make a context have in common. */
#define CONTEXT_FIELDS(args)                                                                       \
	.node = (args)->NodeOrdinal, .engine_mask = (args)->EngineAffinity,                        \
	.has_hw_queues = (args)->Flags.HwQueueSupported,                                           \
	.is_null_rendering = (args)->Flags.NullRendering,                                          \
	.has_no_gpu_timeout = (args)->Flags.DisableGpuTimeout,                                     \
	.private_data = (args)->pPrivateDriverData, .private_bytes = (args)->PrivateDriverDataSize

static NTSTATUS create_context(struct call *call, D3DKMT_CLIENTHINT hint,
			       const struct context_options *options,
			       struct dxg_context **context_out)
{
	if ((unsigned)hint > D3DKMT_CLIENTHINT_MAX)
		return invalid(RULE_API_VALUE, "ClientHint", "is %u, and the last one is %u",
			       (unsigned)hint, (unsigned)D3DKMT_CLIENTHINT_MAX);
	return context_create(call_device(call, 0), options, context_out);
}

NTSTATUS dispatch_create_context(struct call *call, D3DKMT_CREATECONTEXT *args)
{
	const struct context_options options = { CONTEXT_FIELDS(args) };
	struct dxg_context *context;
	NTSTATUS status = create_context(call, args->ClientHint, &options, &context);

	if (!NT_SUCCESS(status))
		return status;
	/* A client gets no buffer that it could not submit. */
	struct render_buffers buffers = { 0 };
	if (context->render)
		buffers = context->render->buffers; /* nobody else has the context yet */
	args->hContext = context->object.handle;
	args->pCommandBuffer = buffers.client.command;
	args->CommandBufferSize = buffers.command_bytes;
	args->pAllocationList = buffers.client.list;
	args->AllocationListSize = buffers.list_entries;
	args->pPatchLocationList = buffers.client.patches;
	args->PatchLocationListSize = buffers.patch_entries;
	args->CommandBuffer = 0;
	object_put(&context->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_create_context_virtual(struct call *call, D3DKMT_CREATECONTEXTVIRTUAL *args)
{
	const struct context_options options = { CONTEXT_FIELDS(args), .is_virtual = true };
	struct dxg_context *context;
	NTSTATUS status = create_context(call, args->ClientHint, &options, &context);

	if (!NT_SUCCESS(status))
		return status;
	args->hContext = context->object.handle;
	object_put(&context->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_destroy_context(struct call *call, D3DKMT_DESTROYCONTEXT *args)
{
	return call_destroyed(context_destroy(call_context(call, 0)), "hContext", args->hContext);
}

/* ---- markers ---- */

NTSTATUS dispatch_log_marker(struct call *call, DXGK_MARKER *args)
{
	if (!memchr(args->Text, '\0', sizeof(args->Text)))
		return invalid(RULE_API_VALUE, "Text", "has no zero within its %zu bytes",
			       sizeof(args->Text));
	trace_marker(args->Text, call->process->id, args->hDevice, args->APISequenceNumber,
		     (uint32_t)args->Index, (uint32_t)args->StringIndex);
	return STATUS_SUCCESS;
}
