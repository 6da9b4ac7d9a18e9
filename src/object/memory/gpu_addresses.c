/* SPDX-License-Identifier: MIT */
#include "base/refusal.h"
#include "object/memory/gpu_addresses.h"
#include "address_space/mappings.h"
#include "vidmm/table_states.h"

/* ---- spaces ---- */

/* What was under way when the adapter went broke nothing: whoever hears of that first. */
static enum device_state state_after(NTSTATUS status)
{
	if (status == STATUS_DEVICE_REMOVED)
		return DEVICE_STOPPED;
	return status == STATUS_NO_MEMORY ? DEVICE_OUT_OF_MEMORY : DEVICE_DMA_FAULT;
}

/* A GPU would find anything there: nothing of the process runs on that adapter any more. */
static void tables_are_broken(void *context, NTSTATUS status)
{
	device_lose_all(context, state_after(status));
}

/*
 * On a thread of the adapter's own: the pager's may not enter the driver, and others may wait for
 * what waits for this.
 */
void gpu_addresses_tell_root(struct work *work)
{
	struct process_adapter *process_adapter =
		container_of(work, struct process_adapter, root_work);

	if (NT_SUCCESS(adapter_enter(process_adapter->adapter))) {
		address_space_tell_contexts(process_adapter->addresses);
		adapter_leave(process_adapter->adapter);
	}
	address_space_root_told(process_adapter->addresses);
}

static void root_has_moved(void *context)
{
	struct process_adapter *process_adapter = context;

	(void)worker_post(&process_adapter->adapter->root_update_worker,
			  &process_adapter->root_work);
}

NTSTATUS gpu_addresses_create(struct process_adapter *process_adapter)
{
	const struct dxg_adapter *adapter = process_adapter->adapter;

	if (!adapter->tables)
		return STATUS_SUCCESS;
	NTSTATUS status =
		address_space_create(adapter->tables, adapter->pager, &process_adapter->memory,
				     &process_adapter->addresses);
	if (NT_SUCCESS(status))
		address_space_watch(process_adapter->addresses,
				    &(struct space_listener){ tables_are_broken, process_adapter });
	return status;
}

NTSTATUS gpu_addresses_start(struct process_adapter *process_adapter)
{
	if (!process_adapter->addresses)
		return STATUS_SUCCESS;
	const struct space_root_listener root = { root_has_moved, process_adapter };
	NTSTATUS status = address_space_start(process_adapter->addresses,
					      process_adapter->driver_process, &root);

	return NT_SUCCESS(status) ? status : address_space_refuse(status);
}

void gpu_addresses_destroy(struct process_adapter *process_adapter)
{
	address_space_destroy(process_adapter->addresses);
	process_adapter->addresses = NULL;
}

NTSTATUS gpu_addresses_hold(struct process_adapter *process_adapter)
{
	vidmm_tables_hold(&process_adapter->memory);
	NTSTATUS status = vidmm_tables_await(&process_adapter->memory, NULL, 0);
	if (!NT_SUCCESS(status))
		vidmm_tables_release(&process_adapter->memory);
	return status;
}

void gpu_addresses_release(struct process_adapter *process_adapter)
{
	vidmm_tables_release(&process_adapter->memory);
}

/* ---- what a driver reserves ---- */

void gpu_addresses_open_to_driver(struct process_adapter *process_adapter, bool is_open)
{
	struct context_books *books = &process_adapter->adapter->books;

	lock_acquire(&books->lock);
	if (is_open)
		list_push_back(&books->introduced, &process_adapter->introduced);
	else
		list_remove(&process_adapter->introduced);
	lock_release(&books->lock);
}

static struct process_adapter *find_introduced_locked(struct context_books *books,
						      const void *kernel_process)
{
	lock_assert_held(&books->lock);
	list_each (struct process_adapter, process_adapter, &books->introduced, introduced) {
		if (process_adapter == kernel_process)
			return process_adapter;
	}
	return NULL;
}

/* Nothing has to be written: what is free is invalid, and so is what is reserved. */
static NTSTATUS reserve_in(struct address_space *space,
			   const struct miniport_reservation *reservation, uint64_t *address_out)
{
	const struct gpuva_reserve_request request = {
		.window.base = reservation->base_address,
		.size_bytes = reservation->size_bytes,
		.is_from_driver = true,
		.may_client_map = reservation->is_mappable_by_client,
		.driver_alignment_bytes = reservation->alignment_bytes,
	};

	return address_space_reserve(space, &request, NULL, address_out);
}

NTSTATUS gpu_addresses_serve_reserve(void *listener, const struct miniport_reservation *reservation,
				     uint64_t *address_out)
{
	struct dxg_adapter *adapter = listener;
	NTSTATUS status;

	if (reservation->is_for_kernel)
		return refuse(STATUS_NOT_SUPPORTED, RULE_VA_DRIVER, "hDxgkProcess",
			      "is the system process, whose addresses are the kernel's alone");
	lock_acquire(&adapter->books.lock);
	struct process_adapter *process_adapter =
		find_introduced_locked(&adapter->books, reservation->kernel_process);
	if (!process_adapter)
		status = refuse(STATUS_INVALID_HANDLE, RULE_DDI_CALLBACK_ARGUMENT, "hDxgkProcess",
				"is not a process that is being made");
	else
		status = reserve_in(process_adapter->addresses, reservation, address_out);
	lock_release(&adapter->books.lock);
	return status;
}

/* ---- the space ---- */

NTSTATUS gpu_addresses_of(struct dxg_process *process, struct dxg_adapter *adapter,
			  struct address_space **space_out)
{
	struct process_adapter *process_adapter = NULL;
	NTSTATUS status = process_enter_adapter(process, adapter, &process_adapter);

	if (!NT_SUCCESS(status))
		return status;
	status = process_introduce(process, process_adapter);
	adapter_leave(adapter);
	if (!NT_SUCCESS(status))
		return status;
	*space_out = process_adapter->addresses;
	if (!process_adapter->addresses)
		return refuse(STATUS_NOT_SUPPORTED, RULE_VA_NO_TABLES, NULL,
			      "adapter %u has no page tables of its own", adapter->id);
	return STATUS_SUCCESS;
}

struct address_space *gpu_addresses_find(struct dxg_process *process,
					 const struct dxg_adapter *adapter)
{
	struct address_space *space = NULL;

	lock_acquire(&process->lock);
	list_each (const struct process_adapter, process_adapter, &process->adapters, link) {
		if (process_adapter->adapter == adapter &&
		    process_adapter->driver_knows == PROCESS_KNOWN)
			space = process_adapter->addresses;
	}
	lock_release(&process->lock);
	return space;
}

void gpu_addresses_add_context(const struct process_adapter *process_adapter,
			       struct space_context *context, void *driver_context)
{
	if (process_adapter->addresses)
		address_space_add_context(process_adapter->addresses, context, driver_context);
}

void gpu_addresses_remove_context(const struct process_adapter *process_adapter,
				  struct space_context *context)
{
	if (process_adapter->addresses)
		address_space_remove_context(process_adapter->addresses, context);
}

/* ---- waiting for the pager ---- */

/* On the stack of whoever waits, which stays until the pager has let go of it. */
struct pager_answer {
	struct memory_drop drop;
	struct notice told;
	_Atomic bool is_there;
	NTSTATUS status;
};

static void answer(struct pager_answer *answer, NTSTATUS status)
{
	answer->status = status;
	atomic_store(&answer->is_there, true);
	notice_give(&answer->told);
}

static void answer_wait(struct pager_answer *answer, struct pager *pager)
{
	notice_wait_until(&answer->told, &answer->is_there);
	pager_flush(pager); /* it may still be giving the notice */
}

static void request_done(void *context, NTSTATUS status)
{
	answer(context, status);
}

NTSTATUS gpu_addresses_reserve_now(struct address_space *space,
				   const struct gpuva_reserve_request *request,
				   uint64_t *address_out)
{
	struct pager_answer told = { 0 };
	NTSTATUS status = address_space_reserve(
		space, request, &(struct space_listener){ request_done, &told }, address_out);

	if (status != STATUS_PENDING)
		return status;
	answer_wait(&told, space->pager);
	if (NT_SUCCESS(told.status))
		return told.status;
	/* Nobody has heard of it yet. */
	(void)!address_space_free(space, *address_out, request->size_bytes, false, NULL);
	*address_out = 0;
	return address_space_refuse(told.status);
}

typedef NTSTATUS map_request(struct address_space *space, const struct gpuva_map_request *request,
			     const struct space_listener *listener, uint64_t *address_out);

static NTSTATUS map_now(struct address_space *space, map_request *map,
			const struct gpuva_map_request *request, uint64_t *address_out)
{
	struct pager_answer told = { 0 };
	NTSTATUS status =
		map(space, request, &(struct space_listener){ request_done, &told }, address_out);

	if (status != STATUS_PENDING)
		return status;
	answer_wait(&told, space->pager);
	return NT_SUCCESS(told.status) ? told.status : address_space_refuse(told.status);
}

NTSTATUS gpu_addresses_map_now(struct address_space *space, const struct gpuva_map_request *request,
			       uint64_t *address_out)
{
	return map_now(space, address_space_map, request, address_out);
}

NTSTATUS gpu_addresses_map_from_driver(struct address_space *space,
				       const struct gpuva_map_request *request,
				       uint64_t *address_out)
{
	return map_now(space, address_space_map_from_driver, request, address_out);
}

NTSTATUS gpu_addresses_free_now(struct address_space *space, uint64_t base, uint64_t size_bytes)
{
	struct pager_answer told = { 0 };
	NTSTATUS status = address_space_free(space, base, size_bytes, false,
					     &(struct space_listener){ request_done, &told });

	if (status != STATUS_PENDING)
		return status;
	/* They are free whatever became of their entries: when those were not written, nothing of
	   the process runs until all of its tables are. */
	answer_wait(&told, space->pager);
	return STATUS_SUCCESS;
}

static void drop_done(struct memory_drop *drop)
{
	answer(container_of(drop, struct pager_answer, drop), STATUS_SUCCESS);
}

void gpu_addresses_drop_now(struct address_space *space, struct mapped_memory *memory)
{
	struct pager_answer told = { .drop.done = drop_done };

	if (!address_space_drop(space, memory, &told.drop))
		answer_wait(&told, space->pager);
}

/* ---- allocations ---- */

/* Of an allocation that is destroyed: nothing comes after it. Never looked into. */
static struct space_memory ended_addresses;

static struct address_space *space_of(const struct dxg_allocation *allocation)
{
	return allocation->device->process_adapter->addresses;
}

/* What this opening has, with a reference; NULL: nothing yet. */
static struct space_memory *opened_addresses(struct dxg_allocation *allocation)
{
	struct lock *lock = &space_of(allocation)->tables.lock;

	lock_acquire(lock);
	struct space_memory *memory = atomic_load(&allocation->addresses);
	if (memory && memory != &ended_addresses)
		memory->references++;
	lock_release(lock);
	return memory;
}

static void close_addresses(struct space_memory *memory)
{
	struct pager_answer told = { .drop.done = drop_done };
	struct pager *pager = memory->space->pager;

	if (space_memory_close(memory) && !address_space_drop_opened(memory, &told.drop))
		answer_wait(&told, pager);
}

/* Two threads may come to it, or its end; takes over the reference. */
static struct space_memory *begin_opening(struct dxg_allocation *allocation,
					  struct space_memory *memory)
{
	struct space_memory *none = NULL;

	if (atomic_compare_exchange_strong(&allocation->addresses, &none, memory))
		return memory;
	close_addresses(memory);
	space_memory_put(memory);
	return opened_addresses(allocation);
}

NTSTATUS allocation_addresses(struct dxg_allocation *allocation, struct space_memory **memory_out)
{
	struct allocation_body *body = allocation->body;
	struct space_memory *memory = opened_addresses(allocation);
	struct mapped_memory *mapped;
	NTSTATUS status = STATUS_SUCCESS;

	if (!memory) {
		status = vidmm_mapped_memory(&body->memory, body->driver_allocation, &mapped);
		if (NT_SUCCESS(status))
			status = address_space_open(space_of(allocation), mapped, &memory);
		if (!NT_SUCCESS(status))
			return status;
		memory = begin_opening(allocation, memory);
	}
	if (memory == &ended_addresses)
		return invalid(RULE_API_HANDLE, "hAllocation",
			       "0x%08x was destroyed during the call", allocation->object.handle);
	*memory_out = memory;
	return STATUS_SUCCESS;
}

/* Under the lock: who finds it there takes a reference before it can go. */
static struct space_memory *end_opening(struct dxg_allocation *allocation)
{
	struct lock *lock = &space_of(allocation)->tables.lock;

	lock_acquire(lock);
	struct space_memory *memory = atomic_exchange(&allocation->addresses, &ended_addresses);
	lock_release(lock);
	return memory;
}

void allocation_end_addresses(struct dxg_allocation *allocation)
{
	struct space_memory *memory = NULL;

	if (LIKELY(atomic_compare_exchange_strong(&allocation->addresses, &memory,
						  &ended_addresses)) ||
	    memory == &ended_addresses)
		return;
	close_addresses(end_opening(allocation));
}
