/* SPDX-License-Identifier: MIT */
/*
 * recover.c - resets, and what the kernel asks before and after them.
 *
 *	one engine     QueryEngineStatus, QueryDependentEngineGroup, CollectDbgInfo, ResetEngine
 *	the adapter    CollectDbgInfo, ResetFromTimeout, RestartFromTimeout; NotifySurpriseRemoval
 *
 * A hung or faulted engine waits for exactly this; its thread lets go of the packet and reports
 * back before a reset returns. No lock is held meanwhile, because the thread may be telling the
 * kernel something. PASSIVE_LEVEL unless noted.
 */
#include "gpu.h"

NTSTATUS APIENTRY gpu_reset_engine(IN_CONST_HANDLE hAdapter,
				   INOUT_PDXGKARG_RESETENGINE pResetEngine)
{
	PAGED_CODE();

	struct gpu_engine *engine = pResetEngine
					    ? gpu_engine_from(hAdapter, pResetEngine->NodeOrdinal,
							      pResetEngine->EngineOrdinal)
					    : NULL;
	if (!engine)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "ResetEngine of node %u, which does not exist",
				  pResetEngine ? pResetEngine->NodeOrdinal : MAXULONG);
	pResetEngine->LastAbortedFenceId = gpu_engine_reset(engine);
	if (!gpu_hw_engine_is_alive(engine))
		return gpu_refuse(STATUS_UNSUCCESSFUL, "node %u needs a reset of the whole adapter",
				  pResetEngine->NodeOrdinal);
	return STATUS_SUCCESS;
}

static void set_halted(struct gpu_engine *engine, BOOLEAN is_halted)
{
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	engine->is_halted = is_halted;
	KeReleaseSpinLock(&engine->lock, irql);
}

/* What was aborted counts as over. */
static void complete_aborted(struct gpu_engine *engine)
{
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	engine->last_completed_fence = engine->last_submitted_fence;
	KeReleaseSpinLock(&engine->lock, irql);
}

/* When this returns no engine touches memory, and none will until the restart. */
NTSTATUS APIENTRY gpu_reset_from_timeout(IN_CONST_HANDLE hAdapter)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "ResetFromTimeout of adapter %p, which is none of ours",
				  hAdapter);
	for (ULONG node = 0; node < adapter->node_count; node++) {
		struct gpu_engine *engine = &adapter->engines[node];

		set_halted(engine, TRUE); /* first: what comes meanwhile must not begin */
		gpu_engine_reset(engine);
		complete_aborted(engine);
	}
	gpu_hw_queues_reset(adapter);
	if (adapter->settings.loses_memory)
		gpu_hw_memory_lose(&adapter->memory);
	return gpu_hw_restart(&adapter->memory);
}

/* The engines stop in the middle of whatever they do. Cleaning up comes later. */
NTSTATUS APIENTRY gpu_notify_surprise_removal(PVOID MiniportDeviceContext,
					      IN_DXGK_SURPRISE_REMOVAL_TYPE RemovalType)
{
	PAGED_CODE();

	(void)RemovalType;
	return gpu_reset_from_timeout(MiniportDeviceContext);
}

NTSTATUS APIENTRY gpu_restart_from_timeout(IN_CONST_HANDLE hAdapter)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "RestartFromTimeout of adapter %p, which is none of ours",
				  hAdapter);
	for (ULONG node = 0; node < adapter->node_count; node++) {
		set_halted(&adapter->engines[node], FALSE);
		KeSetEvent(&adapter->engines[node].work, IO_NO_INCREMENT, FALSE);
	}
	gpu_hw_queues_restart(adapter);
	return STATUS_SUCCESS;
}

/* Engines share nothing but memory. */
NTSTATUS APIENTRY
gpu_query_dependent_engine_group(IN_CONST_HANDLE hAdapter,
				 INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP pQueryDependentEngineGroup)
{
	PAGED_CODE();

	if (!pQueryDependentEngineGroup ||
	    !gpu_engine_from(hAdapter, pQueryDependentEngineGroup->NodeOrdinal,
			     pQueryDependentEngineGroup->EngineOrdinal))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "QueryDependentEngineGroup of node %u, which does not exist",
				  pQueryDependentEngineGroup
					  ? pQueryDependentEngineGroup->NodeOrdinal
					  : MAXULONG);
	pQueryDependentEngineGroup->DependentNodeOrdinalMask =
		1ULL << pQueryDependentEngineGroup->NodeOrdinal;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_query_engine_status(IN_CONST_HANDLE hAdapter,
					  INOUT_PDXGKARG_QUERYENGINESTATUS pQueryEngineStatus)
{
	KIRQL irql;

	PAGED_CODE();

	struct gpu_engine *engine =
		pQueryEngineStatus ? gpu_engine_from(hAdapter, pQueryEngineStatus->NodeOrdinal,
						     pQueryEngineStatus->EngineOrdinal)
				   : NULL;
	if (!engine)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "QueryEngineStatus of node %u, which does not exist",
				  pQueryEngineStatus ? pQueryEngineStatus->NodeOrdinal : MAXULONG);
	KeAcquireSpinLock(&engine->lock, &irql);
	pQueryEngineStatus->EngineStatus.Value = 0;
	pQueryEngineStatus->EngineStatus.Responsive = !engine->is_stalled;
	KeReleaseSpinLock(&engine->lock, irql);
	return STATUS_SUCCESS;
}

/* Completions are reported as they happen, so there is never one to be made up for. */
NTSTATUS APIENTRY gpu_query_current_fence(IN_CONST_HANDLE hAdapter,
					  INOUT_PDXGKARG_QUERYCURRENTFENCE pCurrentFence)
{
	KIRQL irql;

	PAGED_CODE();

	struct gpu_engine *engine = pCurrentFence
					    ? gpu_engine_from(hAdapter, pCurrentFence->NodeOrdinal,
							      pCurrentFence->EngineOrdinal)
					    : NULL;
	if (!engine)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "QueryCurrentFence of node %u, which does not exist",
				  pCurrentFence ? pCurrentFence->NodeOrdinal : MAXULONG);
	KeAcquireSpinLock(&engine->lock, &irql);
	pCurrentFence->CurrentFence = engine->last_completed_fence;
	KeReleaseSpinLock(&engine->lock, irql);
	return STATUS_SUCCESS;
}

/* What a dump of ours holds, once per node. */
struct engine_record {
	ULONG magic; /* GPU_MAGIC_ADAPTER */
	ULONG node;
	ULONG last_submitted_fence;
	ULONG last_completed_fence;
	ULONG running_fence;
	ULONG is_stalled;
	ULONGLONG running_tag;
};

static struct engine_record make_record(struct gpu_engine *engine)
{
	const struct gpu_packet *running =
		IsListEmpty(&engine->under_way)
			? NULL
			: CONTAINING_RECORD(engine->under_way.Flink, struct gpu_packet, link);

	return (struct engine_record){
		.magic = GPU_MAGIC_ADAPTER,
		.node = engine->node,
		.last_submitted_fence = engine->last_submitted_fence,
		.last_completed_fence = engine->last_completed_fence,
		.running_fence = running ? running->fence : 0,
		.is_stalled = engine->is_stalled,
		.running_tag = running ? running->tag : 0,
	};
}

/* Any IRQL. On the way to a bug check a lock may never be released again; then the numbers are
 * taken as they are. */
NTSTATUS APIENTRY gpu_collect_dbg_info(IN_CONST_HANDLE hAdapter,
				       IN_CONST_PDXGKARG_COLLECTDBGINFO pCollectDbgInfo)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	BOOLEAN can_lock = KeGetCurrentIrql() <= DISPATCH_LEVEL;
	ULONG stalled_node = 0;
	KIRQL irql = 0;

	if (!adapter || !pCollectDbgInfo || !pCollectDbgInfo->pBuffer)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "CollectDbgInfo of adapter %p with arguments %p: one is missing",
				  hAdapter, pCollectDbgInfo);
	struct engine_record *records = pCollectDbgInfo->pBuffer;
	SIZE_T capacity = pCollectDbgInfo->BufferSize / sizeof(*records);

	for (ULONG node = 0; node < adapter->node_count && node < capacity; node++) {
		struct gpu_engine *engine = &adapter->engines[node];

		if (can_lock)
			KeAcquireSpinLock(&engine->lock, &irql);
		records[node] = make_record(engine);
		if (can_lock)
			KeReleaseSpinLock(&engine->lock, irql);
		if (records[node].is_stalled)
			stalled_node = node;
	}
	/* Hangs of the same kind of work fall together. */
	if (pCollectDbgInfo->pExtension)
		*pCollectDbgInfo->pExtension =
			(DXGKARG_COLLECTDBGINFO_EXT){ .BucketingKey = stalled_node };
	return STATUS_SUCCESS;
}
