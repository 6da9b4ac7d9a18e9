/* SPDX-License-Identifier: MIT */
#include "base/attributes.h"
#include "embed/fault_requests.h"
#include "object/owner/adapter.h"
#include "object/owner/kernel.h"
#include "object/submit/adapter_work.h"
#include "vidmm/control.h"

static struct dxg_adapter *adapter_by_id(struct dxg_kernel *kernel, uint32_t adapter_id)
{
	for (size_t i = 0; i < kernel->adapter_count; i++) {
		if (kernel->adapters[i]->id == adapter_id)
			return kernel->adapters[i];
	}
	return NULL;
}

/* The first engine that works; one that has nothing to do is not reset. */
static void reset_engine(struct dxg_adapter *adapter)
{
	for (uint32_t node = 0; node < adapter->info->node_count; node++)
		(void)!adapter_force_recovery(adapter, SCHED_FORCE_ENGINE_RESET, node);
}

static void move_everything(struct dxg_adapter *adapter)
{
	static _Thread_local bool is_upward;
	const struct vidmm_defragmentation how = { .is_upward = is_upward };

	is_upward = !is_upward;
	for (uint32_t segment = 1; segment <= adapter->info->segment_count; segment++)
		(void)!vidmm_defragment(adapter->memory, segment, &how);
}

void fault_request_carry_out(struct dxg_kernel *kernel, uint32_t adapter_id,
			     enum verify_request request)
{
	struct dxg_adapter *adapter = adapter_by_id(kernel, adapter_id);

	if (!adapter)
		return;
	switch (request) {
	case VERIFY_REQUEST_RESET:
		(void)!adapter_force_recovery(adapter, SCHED_FORCE_ADAPTER_RESET, 0);
		break;
	case VERIFY_REQUEST_RESET_ENGINE:
		reset_engine(adapter);
		break;
	case VERIFY_REQUEST_REMOVE:
		adapter_remove(adapter, true);
		break;
	case VERIFY_REQUEST_EVICT:
		vidmm_evict_selected(adapter->memory, &(struct vidmm_selection){ 0 });
		break;
	case VERIFY_REQUEST_MOVE:
		move_everything(adapter);
		break;
	case VERIFY_REQUEST_COUNT:
		break;
	}
}
