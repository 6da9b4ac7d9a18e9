/* SPDX-License-Identifier: MIT */
/*
 * recovery.c - preemption, and what is asked of a driver whose hardware is late (work.h).
 *
 * The order of these calls is the scheduler's business; what a driver says in them is judged here.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/refusal.h"
#include "miniport/guard.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/report.h"

/* ---- one engine ---- */

void miniport_preempt(struct miniport *miniport, uint32_t node, uint32_t preemption_fence)
{
	DXGKARG_PREEMPTCOMMAND args = {
		.PreemptionFenceId = preemption_fence,
		.NodeOrdinal = node,
	};
	struct ddi_crossing crossing;

	assert(miniport->ddi.DxgkDdiPreemptCommand); /* who asks is PreemptionAware */
	ddi_enter(&crossing, miniport, NULL, DDI_PREEMPT_COMMAND);
	ddi_note(&crossing, miniport->context, &args);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiPreemptCommand(miniport->context, &args));
}

bool miniport_query_current_fence(struct miniport *miniport, uint32_t node, uint32_t *fence_out)
{
	DXGKARG_QUERYCURRENTFENCE args = { .NodeOrdinal = node };
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiQueryCurrentFence)
		return false;
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_QUERY_CURRENT_FENCE);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiQueryCurrentFence(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	if (!NT_SUCCESS(status))
		return false;
	*fence_out = args.CurrentFence;
	return true;
}

static uint64_t judge_group(const struct miniport *miniport, uint32_t node, uint64_t mask)
{
	uint64_t self = UINT64_C(1) << node;
	uint64_t known = miniport->info.node_count >= 64
				 ? UINT64_MAX
				 : (UINT64_C(1) << miniport->info.node_count) - 1;

	if ((mask & self) && !(mask & ~known))
		return mask;
	nt_report(RULE_DDI_RECOVERY,
		  "DxgkDdiQueryDependentEngineGroup said 0x%llx for node %u of %u: the node itself "
		  "belongs in it, and nothing that does not exist",
		  (unsigned long long)mask, node, miniport->info.node_count);
	return (mask & known) | self;
}

uint64_t miniport_dependent_nodes(struct miniport *miniport, uint32_t node)
{
	DXGKARG_QUERYDEPENDENTENGINEGROUP args = { .NodeOrdinal = node };
	struct ddi_crossing crossing;

	assert(node < miniport->info.node_count);
	if (!miniport->ddi.DxgkDdiQueryDependentEngineGroup)
		return UINT64_C(1) << node;
	ddi_enter(&crossing, miniport, NULL, DDI_QUERY_DEPENDENT_ENGINE_GROUP);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiQueryDependentEngineGroup(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	if (status != STATUS_SUCCESS)
		return UINT64_C(1) << node;
	return judge_group(miniport, node, args.DependentNodeOrdinalMask);
}

/* Nobody to ask, or no answer: then it does not respond. */
bool miniport_node_is_responsive(struct miniport *miniport, uint32_t node)
{
	DXGKARG_QUERYENGINESTATUS args = { .NodeOrdinal = node };
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiQueryEngineStatus)
		return false;
	ddi_enter(&crossing, miniport, NULL, DDI_QUERY_ENGINE_STATUS);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiQueryEngineStatus(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	return status == STATUS_SUCCESS && args.EngineStatus.Responsive;
}

NTSTATUS miniport_reset_node(struct miniport *miniport, uint32_t node, uint32_t *last_aborted_out)
{
	DXGKARG_RESETENGINE args = { .NodeOrdinal = node };
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiResetEngine)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, "DxgkDdiResetEngine",
			      "is missing: only the whole adapter can be reset");
	ddi_enter(&crossing, miniport, NULL, DDI_RESET_ENGINE);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiResetEngine(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status))
		*last_aborted_out = args.LastAbortedFenceId;
	return status;
}

NTSTATUS miniport_reset_hw_node(struct miniport *miniport, uint32_t node)
{
	DXGKARG_RESETHWENGINE args = { .NodeOrdinal = node };
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiResetHwEngine)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, "DxgkDdiResetHwEngine",
			      "is missing: only the whole adapter can be reset");
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_RESET_HW_ENGINE);
	ddi_note(&crossing, miniport->context, &args);
	return ddi_leave(&crossing, miniport->ddi.DxgkDdiResetHwEngine(miniport->context, &args));
}

/* A driver that has no such entry point resumed when it had reset (before WDDM 2.4). */
NTSTATUS miniport_resume_hw_node(struct miniport *miniport, uint32_t node)
{
	DXGKARG_RESUMEHWENGINE args = { .NodeOrdinal = node };
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiResumeHwEngine)
		return STATUS_SUCCESS;
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_RESUME_HW_ENGINE);
	ddi_note(&crossing, miniport->context, &args);
	return ddi_leave(&crossing, miniport->ddi.DxgkDdiResumeHwEngine(miniport->context, &args));
}

void miniport_report(struct miniport *miniport, enum rule rule, uint32_t node, const char *sentence)
{
	nt_report_about(rule, node, "%s: %s", miniport->start_name, sentence);
}

/* ---- the adapter ---- */

static uint32_t written_bytes(const uint8_t *bytes, uint32_t size_bytes)
{
	while (size_bytes > 0 && bytes[size_bytes - 1] == 0)
		size_bytes--;
	return size_bytes;
}

uint32_t miniport_collect_debug_info(struct miniport *miniport, uint32_t reason, void *buffer,
				     uint32_t size_bytes)
{
	DXGKARG_COLLECTDBGINFO_EXT extension = { 0 };
	DXGKARG_COLLECTDBGINFO args = {
		.Reason = reason,
		.BufferSize = size_bytes,
		.pExtension = &extension,
	};
	struct ddi_crossing crossing;
	struct guard guard;

	assert(reason == 0x117 || reason == 0x141);
	if (!miniport->ddi.DxgkDdiCollectDbgInfo)
		return 0;
	memset(buffer, 0, size_bytes);
	guard_open(&guard, buffer, size_bytes);
	args.pBuffer = guard.memory;
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_COLLECT_DBG_INFO);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCollectDbgInfo(miniport->context, &args);
	guard_close(&guard, "DxgkDdiCollectDbgInfo", NULL);
	status = ddi_leave_quietly(&crossing, status);

	return NT_SUCCESS(status) ? written_bytes(buffer, size_bytes) : 0;
}

bool miniport_reset_from_timeout(struct miniport *miniport)
{
	struct miniport_tdr_settings settings;
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiResetFromTimeout) {
		nt_report(RULE_DDI_RECOVERY, "DxgkDdiResetFromTimeout is missing, and the adapter "
					     "has to be reset");
		return false;
	}
	miniport_tdr_settings(miniport, &settings);
	if (!ddi_enter_until(&crossing, miniport, NULL, DDI_RESET_FROM_TIMEOUT, DDI_LEVEL_3,
			     clock_deadline(settings.ddi_delay_s * NS_PER_S))) {
		nt_report(RULE_DDI_DRAIN,
			  "DxgkDdiResetFromTimeout cannot be called: a thread has been in the "
			  "driver for more than %u seconds",
			  settings.ddi_delay_s);
		return false;
	}
	NTSTATUS status = miniport->ddi.DxgkDdiResetFromTimeout(miniport->context);
	status = ddi_leave(&crossing, status);

	return status == STATUS_SUCCESS;
}

bool miniport_notify_surprise_removal(struct miniport *miniport)
{
	struct ddi_crossing crossing;

	if (!miniport->info.supports_surprise_removal ||
	    !miniport->ddi.DxgkDdiNotifySurpriseRemoval)
		return false;
	ddi_enter(&crossing, miniport, NULL, DDI_NOTIFY_SURPRISE_REMOVAL);
	NTSTATUS status =
		miniport->ddi.DxgkDdiNotifySurpriseRemoval(miniport->context, DxgkRemovalPnPNotify);
	status = ddi_leave(&crossing, status);

	return NT_SUCCESS(status);
}

bool miniport_restart_from_timeout(struct miniport *miniport)
{
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiRestartFromTimeout) {
		nt_report(RULE_DDI_RECOVERY, "DxgkDdiRestartFromTimeout is missing, and the "
					     "adapter was reset");
		return false;
	}
	ddi_enter(&crossing, miniport, NULL, DDI_RESTART_FROM_TIMEOUT);
	NTSTATUS status = miniport->ddi.DxgkDdiRestartFromTimeout(miniport->context);
	status = ddi_leave(&crossing, status);

	return status == STATUS_SUCCESS;
}
