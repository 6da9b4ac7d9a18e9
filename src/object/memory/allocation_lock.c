/* SPDX-License-Identifier: MIT */
/*
 * allocation_lock.c - CPU access to an allocation through one device.
 *
 *   in:   an allocation that a client found by its handle
 *   out:  a pointer, counted for this device; memory goes with the last count of all devices
 *
 * Where the bytes are meanwhile is the memory manager's business (vidmm/cpu_access.c). Whether the
 * GPU is at them nobody asks for D3DKMTLock2; D3DKMTLock does, as far as lists of submissions on
 * this device tell.
 */
#include "base/clock.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "object/memory/allocation.h"
#include "object/memory/resource.h"

/* ---- what submissions do with it ---- */

void allocation_begin_use(struct dxg_allocation *allocation, bool is_written)
{
	atomic_fetch_add(&allocation->uses, 1);
	if (is_written)
		atomic_fetch_add(&allocation->writes, 1);
}

static void end_one(_Atomic uint32_t *uses)
{
	/* Behind the count it may be gone: only its address is needed to wake who waits. */
	if (atomic_fetch_sub(uses, 1) == (ALLOCATION_USE_AWAITED | 1))
		thread_wake_all(uses);
}

void allocation_end_use(struct dxg_allocation *allocation, bool is_written)
{
	if (is_written)
		end_one(&allocation->writes);
	end_one(&allocation->uses); /* last: what is used is not destroyed */
}

static void await_none(_Atomic uint32_t *uses)
{
	uint32_t count;

	do {
		count = atomic_fetch_or(uses, ALLOCATION_USE_AWAITED) | ALLOCATION_USE_AWAITED;
		if (count != ALLOCATION_USE_AWAITED)
			(void)thread_wait(uses, count, CLOCK_FOREVER);
	} while (count != ALLOCATION_USE_AWAITED);
	atomic_fetch_and(uses, ~ALLOCATION_USE_AWAITED);
	/* Another one may wait for what was queued since. */
	thread_wake_all(uses);
}

NTSTATUS allocation_await_idle(struct dxg_allocation *allocation, bool is_of_writes, bool may_wait)
{
	_Atomic uint32_t *uses = is_of_writes ? &allocation->writes : &allocation->uses;
	struct process_rest rest = { .objects = { &allocation->object,
						  &allocation->device->object } };
	NTSTATUS status = device_check_alive(allocation->device);

	if (!NT_SUCCESS(status) || (atomic_load(uses) & ~ALLOCATION_USE_AWAITED) == 0)
		return status;
	if (!may_wait)
		return refuse(STATUS_GRAPHICS_ALLOCATION_BUSY, RULE_MM_LOCK_BUSY, "hAllocation",
			      "0x%08x is %s by what is queued or runs", allocation->object.handle,
			      is_of_writes ? "written" : "used");
	process_rest_begin(allocation->device->process, &rest);
	await_none(uses);
	process_rest_end(allocation->device->process, &rest);
	return STATUS_SUCCESS;
}

/* ---- locks ---- */

/* False when the allocation is being destroyed: nobody would take this lock back. */
static bool allocation_count_lock(struct dxg_allocation *allocation)
{
	uint32_t count = atomic_load_explicit(&allocation->lock_count, memory_order_relaxed);

	do {
		if (count == ALLOCATION_LOCKS_ENDED)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&allocation->lock_count, &count, count + 1,
							memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

#define OPENED_TO_READ "lets the GPU write to 0x%08x, which was opened without the right to write"

NTSTATUS allocation_check_writable(const struct dxg_allocation *allocation, const char *argument,
				   int64_t index)
{
	if (LIKELY(!allocation->resource || !allocation->resource->is_read_only))
		return STATUS_SUCCESS;
	if (index < 0)
		return refuse(STATUS_ACCESS_DENIED, RULE_API_RIGHTS, argument, OPENED_TO_READ,
			      allocation->object.handle);
	return refuse_item(STATUS_ACCESS_DENIED, RULE_API_RIGHTS, argument, (uint64_t)index,
			   OPENED_TO_READ, allocation->object.handle);
}

static uint32_t read_only_of(const struct dxg_allocation *allocation)
{
	return allocation->resource && allocation->resource->is_read_only ? VIDMM_LOCK_READ_ONLY
									  : 0;
}

NTSTATUS allocation_lock(struct dxg_allocation *allocation, uint32_t flags, void **pointer_out)
{
	NTSTATUS status = device_check_alive(allocation->device);

	struct client_arena *arena = allocation->device->process->arena;
	if (NT_SUCCESS(status) && UNLIKELY(arena))
		status = vidmm_lock_elsewhere(allocation->device->adapter->memory,
					      &allocation->body->memory,
					      flags | read_only_of(allocation), arena, pointer_out);
	else if (NT_SUCCESS(status))
		status = vidmm_lock_anywhere(allocation->device->adapter->memory,
					     &allocation->body->memory, flags, pointer_out);
	if (NT_SUCCESS(status) && !allocation_count_lock(allocation)) {
		(void)!allocation_unlock_end(allocation);
		status = invalid(RULE_API_HANDLE, "hAllocation", "is being destroyed");
	}
	return status;
}

bool allocation_unlock_begin(struct dxg_allocation *allocation)
{
	uint32_t count = atomic_load_explicit(&allocation->lock_count, memory_order_relaxed);

	do {
		if (count == 0 || count == ALLOCATION_LOCKS_ENDED)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&allocation->lock_count, &count, count - 1,
							memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

bool allocation_unlock_end(struct dxg_allocation *allocation)
{
	return vidmm_unlock_anywhere(allocation->device->adapter->memory,
				     &allocation->body->memory);
}

void allocation_unlock_undo(struct dxg_allocation *allocation)
{
	/* Who destroyed it meanwhile did not find this lock. */
	if (!allocation_count_lock(allocation))
		(void)!allocation_unlock_end(allocation);
}

bool allocation_unlock(struct dxg_allocation *allocation)
{
	return allocation_unlock_begin(allocation) && allocation_unlock_end(allocation);
}
