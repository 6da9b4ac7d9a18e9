/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - see gpu.h. The functions of miniport/work.h, with the scheduler's shape.
 */
#include "base/log.h"
#include "miniport/work.h"
#include "sched/gpu.h"

enum { DEBUG_INFO_BYTES = 4096 };

static void gpu_preempt(void *gpu, uint32_t node, uint32_t preemption_fence)
{
	miniport_preempt(gpu, node, preemption_fence);
}

static bool gpu_query_current_fence(void *gpu, uint32_t node, uint32_t *fence_out)
{
	return miniport_query_current_fence(gpu, node, fence_out);
}

static uint64_t gpu_dependent_nodes(void *gpu, uint32_t node)
{
	return miniport_dependent_nodes(gpu, node);
}

static bool gpu_is_responsive(void *gpu, uint32_t node)
{
	return miniport_node_is_responsive(gpu, node);
}

static NTSTATUS gpu_reset_node(void *gpu, uint32_t node, uint32_t *last_aborted_out)
{
	return miniport_reset_node(gpu, node, last_aborted_out);
}

static NTSTATUS gpu_reset_hw_node(void *gpu, uint32_t node)
{
	return miniport_reset_hw_node(gpu, node);
}

static NTSTATUS gpu_resume_hw_node(void *gpu, uint32_t node)
{
	return miniport_resume_hw_node(gpu, node);
}

/* Nobody reads what a driver writes here yet but its author, in a debugger. */
static void gpu_collect_debug_info(void *gpu, uint32_t reason, uint32_t node)
{
	uint8_t buffer[DEBUG_INFO_BYTES] = { 0 };
	uint32_t bytes = miniport_collect_debug_info(gpu, reason, buffer, sizeof(buffer));

	if (bytes > 0)
		log_topic(LOG_DRIVER, "node %u: %u bytes of debug information for 0x%x", node,
			  bytes, reason);
}

static bool gpu_reset_adapter(void *gpu)
{
	return miniport_reset_from_timeout(gpu);
}

static bool gpu_restart_adapter(void *gpu)
{
	return miniport_restart_from_timeout(gpu);
}

static void gpu_ignore_events(void *gpu, uint32_t node, bool is_ignored)
{
	miniport_ignore_node_events(gpu, node, is_ignored);
}

static void gpu_flush_events(void *gpu)
{
	miniport_flush_events(gpu);
}

static void gpu_report(void *gpu, enum rule rule, uint32_t node, const char *sentence)
{
	miniport_report(gpu, rule, node, sentence);
}

const struct sched_gpu_ops sched_gpu_miniport = {
	.preempt = gpu_preempt,
	.query_current_fence = gpu_query_current_fence,
	.dependent_nodes = gpu_dependent_nodes,
	.is_responsive = gpu_is_responsive,
	.reset_node = gpu_reset_node,
	.reset_hw_node = gpu_reset_hw_node,
	.resume_hw_node = gpu_resume_hw_node,
	.collect_debug_info = gpu_collect_debug_info,
	.reset_adapter = gpu_reset_adapter,
	.restart_adapter = gpu_restart_adapter,
	.ignore_events = gpu_ignore_events,
	.flush_events = gpu_flush_events,
	.report = gpu_report,
};
