/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - a miniport as the scheduler's hardware.
 */
#include "base/log.h"
#include "miniport/work.h"
#include "sched/sched.h"

enum { DEBUG_INFO_BYTES = 4096 };

/* Nobody reads what a driver writes here yet but its author, in a debugger. */
static void gpu_collect_debug_info(struct miniport *gpu, uint32_t reason, uint32_t node)
{
	uint8_t buffer[DEBUG_INFO_BYTES] = { 0 };
	uint32_t bytes = miniport_collect_debug_info(gpu, reason, buffer, sizeof(buffer));

	if (bytes > 0)
		log_topic(LOG_DRIVER, "node %u: %u bytes of debug information for 0x%x", node,
			  bytes, reason);
}

const struct sched_gpu_ops sched_gpu_miniport = {
	.preempt = miniport_preempt,
	.query_current_fence = miniport_query_current_fence,
	.dependent_nodes = miniport_dependent_nodes,
	.is_responsive = miniport_node_is_responsive,
	.reset_node = miniport_reset_node,
	.reset_hw_node = miniport_reset_hw_node,
	.resume_hw_node = miniport_resume_hw_node,
	.collect_debug_info = gpu_collect_debug_info,
	.reset_adapter = miniport_reset_from_timeout,
	.restart_adapter = miniport_restart_from_timeout,
	.ignore_events = miniport_ignore_node_events,
	.flush_events = miniport_flush_events,
	.report = miniport_report,
};
