/* SPDX-License-Identifier: MIT */
/*
 * fence_place.c - see fence_place.h.
 */
#include "base/refusal.h"
#include "object/owner/device.h"
#include "object/fence/fence_address.h"
#include "object/fence/fence_place.h"

/* A fence that others can open has a page of its own: who sees a page sees all of it. */
static NTSTATUS take_slot(struct dxg_process *process, bool is_shared, struct fence_slot *slot_out)
{
	if (!is_shared)
		return fence_slot_take(process->fence_pages, 0, slot_out);
	struct fence_pages *pages = fence_pages_create(1);
	if (!pages)
		return STATUS_NO_MEMORY;
	NTSTATUS status = fence_slot_take(pages, 0, slot_out);
	fence_pages_close(pages);
	return status;
}

NTSTATUS fence_place_make(struct dxg_device *device, const struct fence_place_wish *wish,
			  struct fence_place *place_out)
{
	struct fence_place place = { 0 };

	if (!NT_SUCCESS(take_slot(device->process, wish->is_shared, &place.slot)))
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for the value of a fence");
	if (wish->is_for_gpu && device->process_adapter->addresses) {
		NTSTATUS status =
			fence_address_get(device, &place.slot, wish->is_writable, &place.address);

		if (!NT_SUCCESS(status)) {
			fence_slot_give(&place.slot);
			return status;
		}
		place.gpu_address = fence_address_of(place.address, &place.slot);
	}
	*place_out = place;
	return STATUS_SUCCESS;
}
