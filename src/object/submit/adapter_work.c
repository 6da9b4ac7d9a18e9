/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/refusal.h"
#include "miniport/work.h"
#include "object/memory/adapter_memory.h"
#include "object/submit/adapter_work.h"
#include "object/memory/allocation.h"
#include "object/submit/context_switch.h"
#include "object/owner/device.h"
#include "object/ending/ending.h"
#include "object/fence/sync_object.h"
#include "paging/pager.h"

/* ---- from the driver to the scheduler ---- */

/* NULL while the driver starts, and when it has stopped: what it says then is about nobody's work.
 */
static struct sched *sched_of(void *listener)
{
	struct dxg_adapter *adapter = listener;

	return atomic_load_explicit(&adapter->sched, memory_order_acquire);
}

static void on_completed(void *listener, uint32_t node, uint64_t fence)
{
	struct sched *sched = sched_of(listener);

	if (sched)
		sched_on_completed(sched, node, (uint32_t)fence);
}

static void on_preempted(void *listener, uint32_t node, uint64_t fence, uint64_t last_completed)
{
	struct sched *sched = sched_of(listener);

	if (sched)
		sched_on_preempted(sched, node, (uint32_t)fence, (uint32_t)last_completed);
}

static void on_faulted(void *listener, const struct miniport_fault *fault)
{
	struct sched *sched = sched_of(listener);

	if (sched)
		sched_on_faulted(sched, fault);
}

static void on_timed_out(void *listener, uint32_t node)
{
	struct sched *sched = sched_of(listener);

	if (sched)
		sched_on_timed_out(sched, node);
}

static void on_written(void *listener, uint32_t node)
{
	struct sched *sched = sched_of(listener);

	(void)node; /* it does not say whose fence it was */
	if (sched)
		sched_on_fence_written(sched);
}

static void on_suspended(void *listener, uint64_t fence)
{
	if (sched_of(listener))
		hw_suspend_reached(listener, fence);
}

const struct miniport_events adapter_work_events = {
	.fence_completed = on_completed,
	.fence_preempted = on_preempted,
	.node_faulted = on_faulted,
	.fence_written = on_written,
	.node_timed_out = on_timed_out,
	.context_suspended = on_suspended,
};

/* ---- from the scheduler to the objects ---- */

static void owner_lost(void *listener, struct sched_owner *owner, uint32_t device_state,
		       const struct miniport_fault *fault)
{
	device_lose(container_of(owner, struct dxg_device, work), (enum device_state)device_state,
		    fault);
}

/* Memory starts after the scheduler, and is there until that has ended. */
static struct dxg_adapter *with_memory(void *listener)
{
	struct dxg_adapter *adapter = listener;

	return adapter->pager ? adapter : NULL;
}

static void reset_begins(void *listener)
{
	if (with_memory(listener))
		adapter_memory_reset_begins(listener);
}

static void was_reset(void *listener)
{
	if (with_memory(listener))
		adapter_memory_was_reset(listener);
}

static void reset_ended(void *listener)
{
	if (with_memory(listener))
		adapter_memory_reset_ended(listener);
}

/* Who takes it away and the scheduler may both find it out. */
static void mark_lost(struct dxg_adapter *adapter, const char *why)
{
	const char *none = NULL;

	if (atomic_compare_exchange_strong(&adapter->lost_why, &none, why))
		atomic_store(&adapter->lost_at_ns, clock_now_ns());
	atomic_store(&adapter->is_lost, true);
}

static void adapter_lost(void *listener, const char *why)
{
	struct dxg_adapter *adapter = listener;

	mark_lost(adapter, why);
	if (with_memory(adapter))
		adapter_memory_lost(adapter);
}

/* A GPU writes fences itself; who waits for one is found among the device's. */
static void work_completed(void *listener, struct sched_owner *owner)
{
	if (!owner->is_system)
		sync_object_look_at_fences(container_of(owner, struct dxg_device, work));
}

/* A reset is the memory's affair: what is in the segments, and the paging that moves it. */
static const struct sched_listener listener = {
	.owner_lost = owner_lost,
	.adapter_reset_begins = reset_begins,
	.adapter_was_reset = was_reset,
	.adapter_reset_ended = reset_ended,
	.adapter_lost = adapter_lost,
	.work_completed = work_completed,
};

/* ---- what destruction waits for ---- */

static bool is_idle(struct work_source *source, struct dxg_device *device)
{
	return sched_owner_is_idle(&device->work);
}

static bool is_paged(struct work_source *source, const struct dxg_allocation *allocation)
{
	return vidmm_is_paged(&allocation->body->memory);
}

static void after_device(struct work_source *source, struct dxg_device *device,
			 struct sched_wait *wait)
{
	sched_after_owner(&device->work, wait);
}

static void after_paging(struct work_source *source, struct dxg_adapter *adapter,
			 struct sched_wait *wait)
{
	pager_after_all(adapter->pager, wait);
}

static struct work_source work_source = { is_idle, is_paged, after_device, after_paging };

/* ---- start and stop ---- */

static struct sched_config config_of(struct dxg_adapter *adapter)
{
	const struct miniport_info *info = adapter->info;
	struct miniport_tdr_settings tdr;

	miniport_tdr_settings(adapter->miniport, &tdr);
	adapter->splits_always = tdr.splits_always;
	return (struct sched_config){
		.adapter_id = adapter->id,
		.node_count = info->node_count,
		.paging_node = info->paging_node,
		.outstanding_max = info->packets_per_node_max,
		.is_preemption_aware = info->is_preemption_aware && tdr.enables_preemption,
		.quantum_ns = tdr.quantum_ms * NS_PER_MS,
		.preempts_always = tdr.preempts_always,
		.has_engine_reset = info->supports_per_engine_tdr,
		.has_hw_engine_reset = miniport_has_hw_engine_reset(adapter->miniport),
		.tdr_level = tdr.level,
		.tdr_delay_ns = tdr.delay_s * NS_PER_S,
		.tdr_ddi_delay_ns = tdr.ddi_delay_s * NS_PER_S,
		.tdr_limit_time_ns = tdr.limit_time_s * NS_PER_S,
		.tdr_limit_count = tdr.limit_count,
	};
}

NTSTATUS adapter_work_start(struct dxg_adapter *adapter)
{
	const struct sched_config config = config_of(adapter);
	struct sched *sched = NULL;
	NTSTATUS status = worker_init(&adapter->reaper, "reaper");

	if (!NT_SUCCESS(status))
		return refuse(status, RULE_API_NO_MEMORY, NULL,
			      "no memory for a thread that destroys what is not in use any more");
	status = sched_create(&config, &sched_gpu_miniport, adapter->miniport, &listener, adapter,
			      &sched);
	if (!NT_SUCCESS(status)) {
		worker_finish(&adapter->reaper);
		return refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a scheduler");
	}
	sched_owner_init(&adapter->system_work, sched, true);
	hw_suspensions_init(&adapter->suspensions);
	status = context_switches_start(adapter);
	if (!NT_SUCCESS(status)) {
		hw_suspensions_finish(&adapter->suspensions);
		sched_owner_finish(&adapter->system_work);
		sched_destroy(sched);
		worker_finish(&adapter->reaper);
		return status;
	}
	adapter->work_source = &work_source;
	atomic_store_explicit(&adapter->sched, sched, memory_order_release);
	return STATUS_SUCCESS;
}

NTSTATUS adapter_force_recovery(struct dxg_adapter *adapter, enum sched_forced what, uint32_t node)
{
	NTSTATUS status = adapter_check_present(adapter);

	if (!NT_SUCCESS(status))
		return status;
	/* Outside the gate: a reset has the driver to itself. */
	sched_force_recovery(adapter->sched, what, node);
	return adapter_check_present(adapter);
}

void adapter_remove(struct dxg_adapter *adapter, bool is_surprise)
{
	if (atomic_exchange(&adapter->is_removed, true))
		return;
	mark_lost(adapter, "it was removed");
	sched_hardware_leaves(adapter->sched);
	/* A driver that knows sees to it that the hardware touches nothing any more. */
	if (!is_surprise || !miniport_notify_surprise_removal(adapter->miniport))
		sched_retreat(adapter->sched);
	sched_force_recovery(adapter->sched, SCHED_FORCE_LOSS, 0);
}

void adapter_work_stop(struct dxg_adapter *adapter)
{
	struct sched *sched = atomic_load(&adapter->sched);

	if (!sched)
		return;
	context_switches_stop(adapter);
	sched_stop(sched);
	sched_owner_finish(&adapter->system_work);
	atomic_store(&adapter->sched, NULL);
	/* Who found it before is through with it. */
	miniport_flush_events(adapter->miniport);
	hw_suspensions_finish(&adapter->suspensions);
	sched_destroy(sched);
}
