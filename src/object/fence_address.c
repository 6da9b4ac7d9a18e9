/*
 * fence_address.c - see fence_address.h.
 */
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/fence_address.h"
#include "object/gpu_addresses.h"

struct fence_address {
	struct address_space *space;
	struct mapped_memory page;
	uint64_t gpu_address;
};

static NTSTATUS map_page(struct fence_address *address, bool is_writable, uint64_t *address_out)
{
	struct space_memory *memory = NULL;
	struct gpuva_map_request request = {
		.page_count = 1,
		.protection = is_writable ? GPUVA_WRITE : 0,
		.is_from_kernel = true,
	};
	NTSTATUS status = address_space_memory(address->space, &address->page, &memory);

	if (!NT_SUCCESS(status))
		return status;
	request.owner = &memory->view.owner;
	return gpu_addresses_map_now(address->space, &request, address_out);
}

NTSTATUS fence_address_create(struct dxg_device *device, const struct fence_slot *slot,
			      bool is_writable, struct fence_address **address_out)
{
	struct fence_address *address = mem_zalloc(sizeof(*address));
	uint64_t page = 0;
	NTSTATUS status;

	if (!address)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for the GPU address of a fence");
	address->space = device->joined->addresses;
	mapped_memory_init_fixed(&address->page, slot->physical_address >> MACHINE_PAGE_SHIFT, 1);
	status = map_page(address, is_writable, &page);
	if (!NT_SUCCESS(status)) {
		fence_address_destroy(address);
		return status;
	}
	address->gpu_address = page + slot->physical_address % MACHINE_PAGE_BYTES;
	*address_out = address;
	return STATUS_SUCCESS;
}

void fence_address_destroy(struct fence_address *address)
{
	if (!address)
		return;
	gpu_addresses_drop_now(address->space, &address->page);
	mapped_memory_finish(&address->page);
	mem_free(address);
}

uint64_t fence_address_value(const struct fence_address *address)
{
	return address->gpu_address;
}
