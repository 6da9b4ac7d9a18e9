/* SPDX-License-Identifier: MIT */
/*
 * submission.c - DxgkDdiSubmitCommand and DxgkDdiSubmitCommandVirtual (work.h).
 *
 * Physical: a range of a DMA buffer that is at one physical address. Virtual: an address of the
 * context's own space. In both the driver says later, by interrupt, that the fence was reached.
 */
#include "base/refusal.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/report.h"

bool miniport_submits_virtually(const struct miniport *miniport, bool is_virtual_context)
{
	return miniport->ddi.DxgkDdiSubmitCommandVirtual &&
	       (is_virtual_context || !miniport->ddi.DxgkDdiSubmitCommand);
}

static DXGK_SUBMITCOMMANDFLAGS flags_of(const struct miniport *miniport,
					const struct miniport_submission *submission)
{
	return (DXGK_SUBMITCOMMANDFLAGS){
		.Paging = submission->is_paging,
		.NullRendering = submission->is_null,
		.ContextSwitch = submission->is_context_switch,
		.Resubmission = submission->is_resubmission && miniport->info.wddm_version >= 2000,
	};
}

/* The kernel has one context of its own, on the paging node; elsewhere the node says it all. */
void *submission_handle(const struct miniport *miniport,
			const struct miniport_submission *submission)
{
	if (submission->driver_context || submission->driver_device)
		return context_handle(miniport, submission->driver_context,
				      submission->driver_device);
	if (submission->node != miniport->info.paging_node)
		return NULL;
	return context_handle(miniport, miniport->system_context.driver_context,
			      miniport->system_device);
}

static NTSTATUS missing(const char *entry)
{
	return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, entry,
		      "is missing, and this context is fed by it");
}

static NTSTATUS submit_physical(struct miniport *miniport,
				const struct miniport_submission *submission)
{
	DXGKARG_SUBMITCOMMAND args = {
		.hContext = submission_handle(miniport, submission),
		.DmaBufferSegmentId = submission->segment,
		.DmaBufferPhysicalAddress.QuadPart = (LONGLONG)segment_address(
			miniport, submission->segment, submission->physical_address),
		.DmaBufferSize = submission->buffer_bytes,
		SUBMITTED_RANGES(submission),
		.SubmissionFenceId = submission->fence,
		.Flags = flags_of(miniport, submission),
		.NodeOrdinal = submission->node,
	};
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiSubmitCommand)
		return missing("DxgkDdiSubmitCommand");
	ddi_enter(&crossing, miniport, NULL, DDI_SUBMIT_COMMAND);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiSubmitCommand(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	return status == STATUS_SUCCESS ? status : STATUS_DRIVER_INTERNAL_ERROR;
}

static NTSTATUS submit_virtual(struct miniport *miniport,
			       const struct miniport_submission *submission)
{
	/* There are no offsets here: what belongs to the submission begins where it begins. */
	DXGKARG_SUBMITCOMMANDVIRTUAL args = {
		.hContext = submission_handle(miniport, submission),
		.DmaBufferVirtualAddress = submission->gpu_address,
		.DmaBufferSize = submission->size_bytes,
		.pDmaBufferPrivateData =
			submission->private_data
				? (char *)submission->private_data + submission->private_start_bytes
				: NULL,
		.DmaBufferPrivateDataSize =
			submission->private_bytes - submission->private_start_bytes,
		.DmaBufferUmdPrivateDataSize = submission->client_private_bytes,
		.SubmissionFenceId = submission->fence,
		.Flags = flags_of(miniport, submission),
		.NodeOrdinal = submission->node,
	};
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiSubmitCommandVirtual)
		return missing("DxgkDdiSubmitCommandVirtual");
	ddi_enter(&crossing, miniport, NULL, DDI_SUBMIT_COMMAND_VIRTUAL);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiSubmitCommandVirtual(miniport->context, &args);
	ddi_leave_as_it_is(&crossing, status);

	if (status == STATUS_SUCCESS)
		return status;
	if (status == STATUS_INVALID_PARAMETER)
		return refuse(status, RULE_DDI_STATUS, "DxgkDdiSubmitCommandVirtual",
			      "found the private data malformed%s", ddi_said().text);
	nt_report(RULE_DDI_STATUS_SUBMIT, "DxgkDdiSubmitCommandVirtual returned %s%s",
		  status_name(status), ddi_said().text);
	return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_STATUS_SUBMIT,
		      "DxgkDdiSubmitCommandVirtual", "returned %s%s", status_name(status),
		      ddi_said().text);
}

NTSTATUS miniport_submit(struct miniport *miniport, bool is_virtual,
			 const struct miniport_submission *submission)
{
	if (submission->is_context_switch && miniport->info.wddm_version < 1200)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_VERSION, "ContextSwitch",
			      "came with WDDM 1.2, and the driver is older");
	return is_virtual ? submit_virtual(miniport, submission)
			  : submit_physical(miniport, submission);
}
