/* SPDX-License-Identifier: MIT */
#include "base/refusal.h"
#include "object/owner/device.h"
#include "object/fence/fence_address.h"
#include "object/fence/fence_mapping.h"

/* A fence that others can open has a page of its own: who sees a page sees all of it. */
static NTSTATUS take_slot(struct dxg_process *process, bool is_shared, struct fence_slot *slot_out)
{
	if (!is_shared)
		return fence_slot_take(process->fence_pages, 0, slot_out);
	struct fence_pages *pages = fence_pages_create(1, process_shares_elsewhere(process));
	if (!pages)
		return STATUS_NO_MEMORY;
	fence_pages_charge(pages, process->ledger);
	NTSTATUS status = fence_slot_take(pages, 0, slot_out);
	fence_pages_close(pages);
	return status;
}

static NTSTATUS refuse_slot(NTSTATUS status)
{
	if (status == STATUS_INSUFFICIENT_RESOURCES)
		return refuse(status, RULE_MM_NO_BANKS, NULL,
			      "There is no file, or no descriptor, for the value of a fence");
	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		return refuse(status, RULE_MM_NO_ADDRESSES, NULL,
			      "There are no addresses left to show the value of a fence");
	if (status == STATUS_NOT_SUPPORTED)
		return refuse(status, RULE_MM_LOCK_PLACE, NULL,
			      "The fence is of a process that shares no memory with this one");
	return refuse_no_memory("no memory for the value of a fence");
}

NTSTATUS fence_mapping_show(const struct dxg_process *process, const struct fence_slot *slot,
			    const uint64_t **view_out)
{
	NTSTATUS status = STATUS_SUCCESS;

	if (LIKELY(!process->arena && slot->view))
		*view_out = slot->view;
	else
		status = fence_slot_show(slot, process->arena, view_out);
	return NT_SUCCESS(status) ? status : refuse_slot(status);
}

NTSTATUS fence_mapping_make(struct dxg_device *device, const struct fence_mapping_wish *wish,
			    struct fence_mapping *mapping_out)
{
	struct fence_mapping mapping = { 0 };

	NTSTATUS status = take_slot(device->process, wish->is_shared, &mapping.slot);
	if (!NT_SUCCESS(status))
		return refuse_slot(status);
	status = fence_mapping_show(device->process, &mapping.slot, &mapping.view);
	if (!NT_SUCCESS(status)) {
		fence_slot_give(&mapping.slot);
		return status;
	}
	if (wish->is_for_gpu && device->process_adapter->addresses) {
		status = fence_address_get(device, &mapping.slot, wish->is_writable,
					   &mapping.address);

		if (!NT_SUCCESS(status)) {
			fence_slot_give(&mapping.slot);
			return status;
		}
		mapping.gpu_address = fence_address_of(mapping.address, &mapping.slot);
	}
	*mapping_out = mapping;
	return STATUS_SUCCESS;
}
