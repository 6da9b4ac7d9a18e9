/* SPDX-License-Identifier: MIT */
/*
 * gpu_addresses.h - a process's GPU addresses on an adapter, and what objects have to do with them.
 *
 * The space is made before the driver's process, which may reserve addresses while it is made, and
 * ends before it. Adapters without page tables of their own have none.
 *
 * An allocation may have several openings in one process; its addresses there go with the last of
 * those that something was mapped through.
 */
#ifndef OBJECT_MEMORY_GPU_ADDRESSES_H
#define OBJECT_MEMORY_GPU_ADDRESSES_H

#include "miniport/context_services.h"
#include "object/memory/allocation.h"
#include "object/owner/process.h"
#include "address_space/address_space.h"

/* Around DxgkDdiCreateProcess; the gate is held. Nothing to do without page tables. */
MUST_CHECK NTSTATUS gpu_addresses_create(struct process_adapter *process_adapter);
MUST_CHECK NTSTATUS gpu_addresses_start(struct process_adapter *process_adapter);
void gpu_addresses_destroy(struct process_adapter *process_adapter);

/*
 * The page tables are in place, and stay there until the release; for who has the driver make
 * something that counts on where they are, or maps memory for it. No lock held, not in the driver.
 */
MUST_CHECK NTSTATUS gpu_addresses_hold(struct process_adapter *process_adapter);
void gpu_addresses_release(struct process_adapter *process_adapter);

/* For process_adapter.root_work: the contexts hear where the root is now. */
void gpu_addresses_tell_root(struct work *work);

/* While the driver makes its process it may reserve addresses for it. */
void gpu_addresses_open_to_driver(struct process_adapter *process_adapter, bool is_open);

/* For miniport_context_services; `listener` is a dxg_adapter. */
MUST_CHECK NTSTATUS gpu_addresses_serve_reserve(void *listener,
						const struct miniport_reservation *reservation,
						uint64_t *address_out);

/* The space of a process that the driver knows; made known now if it was not. */
MUST_CHECK NTSTATUS gpu_addresses_of(struct dxg_process *process, struct dxg_adapter *adapter,
				     struct address_space **space_out);

/* The same for who only gives back: NULL when there is none, and the adapter is not asked. */
struct address_space *gpu_addresses_find(struct dxg_process *process,
					 const struct dxg_adapter *adapter);

/* Returns when the reservation can be used. Not on the pager's thread. */
MUST_CHECK NTSTATUS gpu_addresses_reserve_now(struct address_space *space,
					      const struct gpuva_reserve_request *request,
					      uint64_t *address_out);

/* The same for memory; what is pending is waited for. */
MUST_CHECK NTSTATUS gpu_addresses_map_now(struct address_space *space,
					  const struct gpuva_map_request *request,
					  uint64_t *address_out);

/* … on a thread that is inside the driver, and does not wait for others to make room for tables. */
MUST_CHECK NTSTATUS gpu_addresses_map_from_driver(struct address_space *space,
						  const struct gpuva_map_request *request,
						  uint64_t *address_out);

/* No GPU reaches the range any more when it returns. */
MUST_CHECK NTSTATUS gpu_addresses_free_now(struct address_space *space, uint64_t base,
					   uint64_t size_bytes);

/* What is mapped of `memory` goes, and no TLB has it, when it returns. Not on the pager's thread.
 */
void gpu_addresses_drop_now(struct address_space *space, struct mapped_memory *memory);

/*
 * Where a context's addresses are looked up: the driver is told, now and when that changes, until
 * it is removed. It is idle.
 */
void gpu_addresses_add_context(const struct process_adapter *process_adapter,
			       struct space_context *context, void *driver_context);
void gpu_addresses_remove_context(const struct process_adapter *process_adapter,
				  struct space_context *context);

/*
 * The allocation as memory of its process's space, with a reference (space_memory_put()). Refused
 * when it was destroyed meanwhile; a request with it is, when it is from now on.
 */
MUST_CHECK NTSTATUS allocation_addresses(struct dxg_allocation *allocation,
					 struct space_memory **memory_out);

/*
 * Its addresses are gone, and no TLB has them, when it returns; nor does it get others. Not on the
 * pager's thread.
 */
void allocation_end_addresses(struct dxg_allocation *allocation);

#endif
