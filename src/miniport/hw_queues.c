/* SPDX-License-Identifier: MIT */
/*
 * hw_queues.c - hardware contexts and queues (work.h): streams that the hardware orders itself.
 */
#include "base/refusal.h"
#include "miniport/guard.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/report.h"

bool miniport_has_hw_queues(const struct miniport *miniport)
{
	return miniport->ddi.DxgkDdiCreateHwQueue && miniport->ddi.DxgkDdiDestroyHwQueue &&
	       miniport->ddi.DxgkDdiSubmitCommandToHwQueue;
}

bool miniport_has_hw_engine_reset(const struct miniport *miniport)
{
	return miniport->ddi.DxgkDdiResetHwEngine;
}

static NTSTATUS missing(const char *entry)
{
	return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, entry,
		      "is missing: this driver has no hardware queues");
}

NTSTATUS miniport_create_hw_context(struct miniport *miniport, struct miniport_client *client,
				    const struct miniport_context_desc *desc,
				    void **driver_hw_context_out)
{
	DXGKARG_CREATEHWCONTEXT args = {
		.hHwContext = desc->kernel_handle,
		.NodeOrdinal = desc->node,
		.EngineAffinity = desc->engine_mask,
		.PrivateDriverDataSize = desc->private_bytes,
	};
	struct ddi_crossing crossing;
	struct guard guard;

	if (!miniport->ddi.DxgkDdiCreateHwContext || !miniport->ddi.DxgkDdiDestroyHwContext)
		return missing("DxgkDdiCreateHwContext");
	guard_open(&guard, desc->private_data, desc->private_bytes);
	args.pPrivateDriverData = guard.memory;
	ddi_enter(&crossing, miniport, client, DDI_CREATE_HW_CONTEXT);
	ddi_note(&crossing, desc->driver_device, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCreateHwContext(desc->driver_device, &args);
	guard_close(&guard, "DxgkDdiCreateHwContext", NULL);
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status))
		*driver_hw_context_out = args.hHwContext;
	return status;
}

void miniport_destroy_hw_context(struct miniport *miniport, struct miniport_client *client,
				 void *driver_hw_context)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, client, DDI_DESTROY_HW_CONTEXT);
	ddi_note(&crossing, driver_hw_context, NULL);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiDestroyHwContext(driver_hw_context));
}

bool miniport_has_suspension(const struct miniport *miniport)
{
	return miniport->ddi.DxgkDdiSuspendContext;
}

bool miniport_suspend_context(struct miniport *miniport, void *driver_context, uint64_t fence)
{
	DXGKARG_SUSPENDCONTEXT args = { .hContext = driver_context, .contextSuspendFence = fence };
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_SUSPEND_CONTEXT);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiSuspendContext(miniport->context, &args);
	ddi_leave_as_it_is(&crossing, status);
	if (status != STATUS_SUCCESS && status != STATUS_PENDING)
		nt_report(RULE_DDI_STATUS_UNDOCUMENTED,
			  "DxgkDdiSuspendContext returned %s: the context counts as not suspended",
			  status_name(status));
	return status == STATUS_SUCCESS;
}

void miniport_resume_context(struct miniport *miniport, void *driver_context)
{
	DXGKARG_RESUMECONTEXT args = { .hContext = driver_context };
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiResumeContext)
		return;
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_RESUME_CONTEXT);
	ddi_note(&crossing, miniport->context, &args);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiResumeContext(miniport->context, &args));
}

NTSTATUS miniport_create_hw_queue(struct miniport *miniport, struct miniport_client *client,
				  const struct miniport_hw_queue_desc *desc,
				  void **driver_queue_out)
{
	DXGKARG_CREATEHWQUEUE args = {
		.hHwQueue = desc->kernel_handle,
		.Flags = { .Value = desc->flags },
		.PrivateDriverDataSize = desc->private_bytes,
		.hHwQueueProgressFence = desc->progress_fence,
		.HwQueueProgressFenceCPUVirtualAddress = desc->fence_pointer,
		.HwQueueProgressFenceGPUVirtualAddress = desc->fence_gpu_address,
	};
	struct ddi_crossing crossing;
	struct guard guard;

	if (!miniport_has_hw_queues(miniport))
		return missing("DxgkDdiCreateHwQueue");
	guard_open(&guard, desc->private_data, desc->private_bytes);
	args.pPrivateDriverData = guard.memory;
	ddi_enter(&crossing, miniport, client, DDI_CREATE_HW_QUEUE);
	ddi_note(&crossing, desc->driver_context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCreateHwQueue(desc->driver_context, &args);
	guard_close(&guard, "DxgkDdiCreateHwQueue", NULL);
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status))
		*driver_queue_out = args.hHwQueue;
	return status;
}

void miniport_destroy_hw_queue(struct miniport *miniport, struct miniport_client *client,
			       void *driver_queue)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, client, DDI_DESTROY_HW_QUEUE);
	ddi_note(&crossing, driver_queue, NULL);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiDestroyHwQueue(driver_queue));
}

NTSTATUS miniport_submit_to_hw_queue(struct miniport *miniport,
				     const struct miniport_hw_submission *submission)
{
	DXGKARG_SUBMITCOMMANDTOHWQUEUE args = {
		.hHwQueue = submission->driver_queue,
		.HwQueueProgressFenceId = submission->progress_fence_value,
		.DmaBufferVirtualAddress = submission->gpu_address,
		.DmaBufferSize = submission->size_bytes,
		.DmaBufferPrivateDataSize = submission->private_bytes,
		.pDmaBufferPrivateData = submission->private_data,
		.HwQueueProgressFenceGpuVa = submission->fence_gpu_address,
		.HwQueueProgressFenceCpuVa = submission->fence_pointer,
	};
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiSubmitCommandToHwQueue)
		return missing("DxgkDdiSubmitCommandToHwQueue");
	/* As the kernel's own, whose threads are in the driver one at a time: so is each queue. */
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_SUBMIT_COMMAND_TO_HW_QUEUE);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiSubmitCommandToHwQueue(miniport->context, &args);
	bool is_clients_fault = status == STATUS_INVALID_PARAMETER && submission->private_bytes > 0;
	status = ddi_leave(&crossing, status);
	if (status != STATUS_SUCCESS && !is_clients_fault)
		nt_report(RULE_DDI_STATUS_SUBMIT, "DxgkDdiSubmitCommandToHwQueue returned %s%s",
			  status_name(status), ddi_said().text);
	return status;
}
