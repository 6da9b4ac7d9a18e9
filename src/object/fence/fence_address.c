/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/fence/fence_address.h"
#include "object/memory/gpu_addresses.h"

struct fence_address {
	/* Set at creation. */
	struct process_adapter *process_adapter;
	struct fence_chunk *chunk; /* held */
	struct fence_chunk_memory chunk_memory;
	bool is_writable;
	struct mapped_memory memory;

	/* Guarded by fence_lock. */
	struct list link; /* process_adapter.fence_addresses */
	uint32_t count;
	enum { ADDRESS_COMING, ADDRESS_READY, ADDRESS_FAILED } state;
	NTSTATUS status;  /* of one that failed */
	uint64_t address; /* of one that is ready */
};

static bool is_shared_by_fences(const struct fence_address *address)
{
	return address->chunk_memory.page_count > 1;
}

/* ---- one of them ---- */

static NTSTATUS map_pages(struct fence_address *address, uint64_t *address_out)
{
	struct address_space *space = address->process_adapter->addresses;
	struct space_memory *memory = NULL;
	struct gpuva_map_request request = {
		.page_count = address->chunk_memory.page_count,
		.protection = address->is_writable ? GPUVA_WRITE : 0,
		.is_from_kernel = true,
	};
	NTSTATUS status = address_space_memory(space, &address->memory, &memory);

	if (!NT_SUCCESS(status))
		return status;
	request.owner = &memory->view.owner;
	return gpu_addresses_map_now(space, &request, address_out);
}

static void address_free(struct fence_address *address)
{
	gpu_addresses_drop_now(address->process_adapter->addresses, &address->memory);
	mapped_memory_finish(&address->memory);
	fence_chunk_release(address->chunk);
	mem_free(address);
}

static struct fence_address *address_create_locked(struct process_adapter *process_adapter,
						   const struct fence_slot *slot, bool is_writable)
{
	struct fence_address *address = mem_zalloc(sizeof(*address));

	lock_assert_held(&process_adapter->fence_lock);
	if (!address)
		return NULL;
	address->process_adapter = process_adapter;
	address->chunk = slot->chunk;
	address->chunk_memory = fence_chunk_hold(slot->chunk);
	address->is_writable = is_writable;
	address->count = 1;
	address->state = ADDRESS_COMING;
	mapped_memory_init_fixed(&address->memory,
				 address->chunk_memory.physical_address >> MACHINE_PAGE_SHIFT,
				 address->chunk_memory.page_count);
	list_push_front(&process_adapter->fence_addresses, &address->link);
	return address;
}

/* ---- all of them ---- */

static struct fence_address *find_locked(struct process_adapter *process_adapter,
					 const struct fence_slot *slot, bool is_writable)
{
	lock_assert_held(&process_adapter->fence_lock);
	list_each (struct fence_address, address, &process_adapter->fence_addresses, link) {
		if (address->chunk == slot->chunk && address->is_writable == is_writable &&
		    is_shared_by_fences(address) && address->state != ADDRESS_FAILED)
			return address;
	}
	return NULL;
}

/* The last user of a failed one, or of one that nobody else will use: it goes. */
static struct fence_address *drop_locked(struct fence_address *address)
{
	struct fence_address **kept =
		&address->process_adapter->kept_fence_addresses[address->is_writable];
	struct fence_address *gone = address;

	lock_assert_held(&address->process_adapter->fence_lock);
	assert(address->count > 0);
	if (--address->count > 0)
		return NULL;
	if (address->state == ADDRESS_READY && is_shared_by_fences(address)) {
		gone = *kept;
		*kept = address;
	}
	if (gone)
		list_remove(&gone->link);
	return gone;
}

void fence_address_put(struct fence_address *address)
{
	if (!address)
		return;
	struct lock *lock = &address->process_adapter->fence_lock;

	lock_acquire(lock);
	struct fence_address *gone = drop_locked(address);
	lock_release(lock);
	if (gone)
		address_free(gone);
}

static void bring(struct fence_address *address)
{
	struct process_adapter *process_adapter = address->process_adapter;
	uint64_t gpu_address = 0;
	NTSTATUS status = map_pages(address, &gpu_address);

	lock_acquire(&process_adapter->fence_lock);
	address->address = gpu_address;
	address->status = status;
	address->state = NT_SUCCESS(status) ? ADDRESS_READY : ADDRESS_FAILED;
	lock_release(&process_adapter->fence_lock);
	notice_give(&process_adapter->fence_address_came);
}

/* Until the thread that maps it is done. */
static void await(struct fence_address *address)
{
	struct process_adapter *process_adapter = address->process_adapter;

	lock_acquire(&process_adapter->fence_lock);
	while (address->state == ADDRESS_COMING)
		notice_wait_relock(&process_adapter->fence_address_came,
				   &process_adapter->fence_lock);
	lock_release(&process_adapter->fence_lock);
}

NTSTATUS fence_address_get(struct dxg_device *device, const struct fence_slot *slot,
			   bool is_writable, struct fence_address **address_out)
{
	struct process_adapter *process_adapter = device->process_adapter;
	struct fence_address **kept = &process_adapter->kept_fence_addresses[is_writable];

	lock_acquire(&process_adapter->fence_lock);
	struct fence_address *address = find_locked(process_adapter, slot, is_writable);
	bool is_new = !address;
	if (is_new)
		address = address_create_locked(process_adapter, slot, is_writable);
	else if (address->count++ == 0)
		*kept = NULL;
	bool is_ready = address && address->state == ADDRESS_READY;
	lock_release(&process_adapter->fence_lock);
	if (!address)
		return refuse_no_memory("no memory for the GPU address of a fence");
	if (is_new)
		bring(address);
	else if (!is_ready)
		await(address);
	if (address->state == ADDRESS_FAILED) {
		NTSTATUS status = address->status;

		fence_address_put(address);
		return status;
	}
	*address_out = address;
	return STATUS_SUCCESS;
}

uint64_t fence_address_of(const struct fence_address *address, const struct fence_slot *slot)
{
	return address->address + (slot->physical_address - address->chunk_memory.physical_address);
}

void fence_addresses_end(struct process_adapter *process_adapter)
{
	for (unsigned i = 0; i < 2; i++) {
		struct fence_address *kept = process_adapter->kept_fence_addresses[i];

		process_adapter->kept_fence_addresses[i] = NULL;
		if (!kept)
			continue;
		list_remove(&kept->link);
		address_free(kept);
	}
	assert(list_is_empty(&process_adapter->fence_addresses));
}
