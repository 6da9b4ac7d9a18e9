/* SPDX-License-Identifier: MIT */
/*
 * allocation.c - an allocation from init to finish, and what the CPU may do with it.
 *
 *   in:   what the driver and the client want
 *   out:  pages, a place to see them, and who is charged
 *
 * Locks: each function takes the allocation's own; init and finish are alone with it. Pages and
 * addresses are taken under it (LOCK_RANK_CPU_MAP, LOCK_RANK_MACHINE).
 */
#include <assert.h>

#include "base/machine.h"
#include "base/refusal.h"
#include "base/client_file.h"
#include "trace/trace.h"
#include "vidmm/allocation.h"
#include "vidmm/elsewhere.h"
#include "evict/evict.h"
#include "pagetable/page_tables.h"
#include "vidmm/states.h"
#include "vidmm/vidmm.h"

/* Life. */

void vidmm_allocation_take_memory(struct vidmm_allocation *allocation, void *memory)
{
	allocation->backing.clients = memory;
	allocation->backing.is_clients = true;
	allocation_set_content(allocation, VIDMM_CONTENT_BACKED);
}

NTSTATUS vidmm_allocation_take_client_memory(struct vidmm_allocation *allocation,
					     const struct client_memory *memory)
{
	lock_acquire(&allocation->lock);
	NTSTATUS status = elsewhere_prepare_locked(allocation);
	if (NT_SUCCESS(status))
		allocation->elsewhere->brought = *memory;
	lock_release(&allocation->lock);
	if (NT_SUCCESS(status))
		return status;
	client_file_put(memory->file);
	client_arena_put(memory->owner);
	return refuse_no_memory("no memory to write down what a client brought");
}

static uint64_t allocation_pages(const struct vidmm_allocation *allocation)
{
	return allocation->size_bytes >> MACHINE_PAGE_SHIFT;
}

void vidmm_allocation_take_run(struct vidmm_allocation *allocation, uint64_t physical_address)
{
	assert(machine_run_bytes(physical_address) == allocation->size_bytes);
	allocation->backing.one =
		(struct backing_run){ (uint32_t)(physical_address >> MACHINE_PAGE_SHIFT),
				      (uint32_t)allocation_pages(allocation) };
	allocation->backing.run_count = 1;
	account_take_anyway(allocation->account, allocation->size_bytes);
	account_charge_committed(allocation->account, (int64_t)allocation->size_bytes);
	allocation_set_content(allocation, VIDMM_CONTENT_BACKED);
}

/* Takes the view away; false when the host cannot, and the pages seen there must never be used
 * again. */
static bool view_finish(struct vidmm_allocation *allocation)
{
	uint64_t bytes = cpu_view_page_count(&allocation->view) * MACHINE_PAGE_BYTES;

	if (bytes == 0)
		return true;
	account_charge_viewed(allocation->account, -(int64_t)bytes);
	return cpu_view_finish(&allocation->view);
}

static void uncharge(const struct vidmm_allocation *allocation)
{
	if (allocation->backing.is_clients)
		return;
	account_charge_committed(allocation->account, -(int64_t)allocation->size_bytes);
	account_give(allocation->account, allocation->size_bytes);
}

void allocation_give_pages_locked(struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	uncharge(allocation);
	backing_give_filled(&allocation->backing);
}

static void backing_finish(struct vidmm_allocation *allocation)
{
	uncharge(allocation); /* nobody else has it any more */
	backing_give(&allocation->backing);
	allocation_set_content(allocation, VIDMM_CONTENT_NONE);
}

static void allocation_revoke(struct vidmm_allocation *allocation)
{
	if (allocation->lock_count > 0)
		allocation_set_locks(allocation, 0);
	elsewhere_revoke(allocation);
	/* Pages that can still be seen stay with the view, as nobody's: they were counted there. */
	if (!view_finish(allocation) && allocation_content(allocation) == VIDMM_CONTENT_BACKED) {
		backing_forget(&allocation->backing);
		backing_finish(allocation);
	}
}

void vidmm_allocation_retire(struct vidmm_allocation *allocation)
{
	lock_acquire(&allocation->lock);
	allocation_set_life(allocation, VIDMM_DYING);
	allocation_revoke(allocation);
	lock_release(&allocation->lock);
}

bool vidmm_allocation_retire_untouched(struct vidmm_allocation *allocation)
{
	uintptr_t use = (uintptr_t)atomic_load_explicit(&allocation->place, memory_order_relaxed) |
			(uintptr_t)atomic_load_explicit(&allocation->mapped, memory_order_relaxed) |
			(uintptr_t)allocation->view.range | (uintptr_t)allocation->elsewhere |
			allocation_content(allocation);

	_Static_assert(VIDMM_CONTENT_NONE == 0, "it is none of the uses");
	if (UNLIKELY(use != 0))
		return false;
	/* A trace is told when it is dead, which is in the same call. */
	allocation->life = state_step(STATES_LIFE, allocation->life, VIDMM_DYING);
	return true;
}

/* Of one that was put to use, or not retired. */
void vidmm_allocation_finish_use(struct vidmm_allocation *allocation)
{
	if (allocation->life == VIDMM_LIVE)
		allocation_revoke(allocation);
	assert(!atomic_load_explicit(&allocation->place, memory_order_relaxed));
	mapped_memory_free(atomic_load_explicit(&allocation->mapped, memory_order_relaxed));
	elsewhere_finish(allocation);
	if (allocation_content(allocation) == VIDMM_CONTENT_BACKED)
		backing_finish(allocation);
}

/* Access by the CPU. */

/* After pages were taken, for which the quota was asked before, or were not. */
static NTSTATUS charge(const struct vidmm_allocation *allocation, NTSTATUS status)
{
	if (NT_SUCCESS(status))
		account_charge_committed(allocation->account, (int64_t)allocation->size_bytes);
	else
		account_give(allocation->account, allocation->size_bytes);
	return status;
}

/* Nobody is shown what is a driver's own. */
struct machine_bank *allocation_bank(const struct vidmm_allocation *allocation)
{
	return allocation->account && !allocation->driver ? allocation->account->bank : NULL;
}

NTSTATUS allocation_take_pages_locked(struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	elsewhere_change_locked(allocation);
	/* What leaves a segment leaves it: else whoever is at his quota would keep it for ever. */
	account_take_anyway(allocation->account, allocation->size_bytes);
	return charge(allocation,
		      backing_take_to_fill(&allocation->backing, allocation_bank(allocation),
					   allocation_pages(allocation),
					   account_highest_address(allocation->account)));
}

NTSTATUS allocation_commit_locked(struct vidmm_allocation *allocation)
{
	NTSTATUS status = account_take(allocation->account, allocation->size_bytes);

	lock_assert_held(&allocation->lock);
	if (!NT_SUCCESS(status))
		return status;
	elsewhere_change_locked(allocation);
	status = charge(allocation, backing_take(&allocation->backing, allocation_bank(allocation),
						 allocation_pages(allocation),
						 account_highest_address(allocation->account)));
	if (NT_SUCCESS(status))
		allocation_set_content(allocation, VIDMM_CONTENT_BACKED);
	return status;
}

static NTSTATUS view_reserve_locked(struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	NTSTATUS status = cpu_view_reserve(&allocation->view, allocation_pages(allocation));
	if (NT_SUCCESS(status))
		account_charge_viewed(allocation->account, (int64_t)allocation->size_bytes);
	return status;
}

NTSTATUS allocation_check_lock_locked(const struct vidmm_allocation *allocation,
				      bool needs_cpu_visible)
{
	lock_assert_held(&allocation->lock);
	if (allocation->life != VIDMM_LIVE)
		return invalid(RULE_API_HANDLE, "hAllocation", "is being destroyed");
	if (allocation->offer != VIDMM_NOT_OFFERED)
		return invalid(RULE_MM_LOCK_OFFERED, "hAllocation",
			       "is offered and has to be reclaimed before it is locked");
	if (needs_cpu_visible && !allocation->traits.is_cpu_visible)
		return invalid(RULE_MM_LOCK_VISIBLE, "hAllocation", "was not created CPU visible");
	if (allocation->lock_count == UINT32_MAX)
		return refuse(STATUS_GRAPHICS_TOO_MANY_REFERENCES, RULE_MM_LOCK_COUNT,
			      "hAllocation", "is locked as often as can be counted");
	return STATUS_SUCCESS;
}

/* Pages, addresses, and the ones seen at the others; what this call took goes when it fails. */
static NTSTATUS allocation_show_locked(struct vidmm_allocation *allocation,
				       const struct vidmm_backing *elsewhere)
{
	bool had_place = allocation->view.range != NULL;
	bool had_pages = elsewhere || allocation_content(allocation) == VIDMM_CONTENT_BACKED;
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&allocation->lock);
	if (!had_place)
		status = view_reserve_locked(allocation);
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_MM_NO_ADDRESSES, NULL,
			      "There are no addresses left to show an allocation of %llu bytes",
			      (unsigned long long)allocation->size_bytes);
	if (!had_pages)
		status = allocation_commit_locked(allocation);
	if (!NT_SUCCESS(status)) {
		status = refuse(status, RULE_MM_NO_PAGES, NULL,
				"The machine has no memory left for an allocation of %llu bytes",
				(unsigned long long)allocation->size_bytes);
		goto finish_view;
	}
	status = cpu_view_show(&allocation->view, elsewhere ? elsewhere : &allocation->backing);
	if (NT_SUCCESS(status))
		return STATUS_SUCCESS;
	status = refuse(status, RULE_MM_NO_ADDRESSES, NULL,
			"The host has no mapping left to show an allocation of %llu bytes",
			(unsigned long long)allocation->size_bytes);

	allocation_revoke(allocation);
	if (!had_pages && allocation_content(allocation) == VIDMM_CONTENT_BACKED)
		backing_finish(allocation);
	return status;

finish_view:
	if (!had_place && !view_finish(allocation))
		assert(false); /* nothing was shown there, so there was nothing to hide */
	return status;
}

NTSTATUS allocation_lock_locked(struct vidmm_allocation *allocation,
				const struct vidmm_backing *elsewhere, void **pointer_out)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&allocation->lock);
	if (!allocation->backing.is_clients && !allocation->view.is_mapped)
		status = allocation_show_locked(allocation, elsewhere);
	if (NT_SUCCESS(status)) {
		allocation_set_locks(allocation, allocation->lock_count + 1);
		*pointer_out = allocation->backing.is_clients ? allocation->backing.clients
							      : cpu_view_pointer(&allocation->view);
	}
	return status;
}

NTSTATUS vidmm_lock(struct vidmm_allocation *allocation, bool needs_cpu_visible, void **pointer_out)
{
	lock_acquire(&allocation->lock);
	NTSTATUS status = allocation_check_lock_locked(allocation, needs_cpu_visible);
	if (NT_SUCCESS(status) && allocation_content(allocation) == VIDMM_CONTENT_LOCAL)
		status = invalid(RULE_MM_LOCK_PLACE, "hAllocation",
				 "is in GPU memory that the CPU cannot see");
	if (NT_SUCCESS(status))
		status = allocation_lock_locked(allocation, NULL, pointer_out);
	lock_release(&allocation->lock);
	return status;
}

bool allocation_unlock_locked(struct vidmm_allocation *allocation)
{
	bool was_locked = allocation->lock_count > 0;

	lock_assert_held(&allocation->lock);
	if (was_locked)
		allocation_set_locks(allocation, allocation->lock_count - 1);
	return was_locked;
}

uint32_t vidmm_lock_count(struct vidmm_allocation *allocation)
{
	lock_acquire(&allocation->lock);
	uint32_t count = allocation->lock_count;
	lock_release(&allocation->lock);
	return count;
}

NTSTATUS vidmm_invalidate_cache(const struct vidmm_allocation *allocation, uint64_t offset_bytes,
				uint64_t length_bytes)
{
	if (offset_bytes > allocation->size_bytes)
		return invalid(RULE_API_VALUE, "Offset",
			       "is behind the end of the allocation (%llu bytes)",
			       (unsigned long long)allocation->size_bytes);
	if (length_bytes > allocation->size_bytes - offset_bytes)
		return invalid(RULE_API_VALUE, "Length",
			       "reaches beyond the end of the allocation (%llu bytes)",
			       (unsigned long long)allocation->size_bytes);
	return STATUS_SUCCESS;
}

void allocation_update_locked(struct vidmm_allocation *allocation,
			      const struct vidmm_update *update)
{
	lock_assert_held(&allocation->lock);
	if (update->sets_supported_segments)
		allocation->supported_segments = update->supported_segments;
	if (update->sets_preferred_segments)
		allocation->preferred_segments = update->preferred_segments;
	if (update->sets_accessed_physically)
		allocation->traits.is_accessed_physically = update->is_accessed_physically;
	if (update->sets_unmoveable)
		allocation->traits.is_unmoveable = update->is_unmoveable;
	trace_allocation_wishes(allocation->id, allocation->supported_segments,
				allocation->preferred_segments);
}

/* Offers. */

static enum vidmm_offer_priority offer_priority_of(enum vidmm_offer_priority asked,
						   uint32_t eviction_priority)
{
	if (asked != VIDMM_OFFER_AUTO)
		return asked;
	return (enum vidmm_offer_priority)(
		VIDMM_OFFER_LOW + evict_class_of_auto_offer(eviction_priority) - EVICT_OFFERED_LOW);
}

const char *allocation_offer_obstacle_locked(const struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	if (allocation->life != VIDMM_LIVE)
		return "being destroyed";
	if (allocation->lock_count > 0)
		return "locked";
	return allocation->traits.is_pinned ? "pinned" : NULL;
}

NTSTATUS allocation_offer_locked(struct vidmm_allocation *allocation,
				 enum vidmm_offer_priority priority, bool may_decommit)
{
	lock_assert_held(&allocation->lock);
	if (allocation_offer_obstacle_locked(allocation))
		return STATUS_INVALID_PARAMETER;
	if (allocation->offer <= VIDMM_OFFERED) {
		allocation->may_decommit = may_decommit;
		allocation_set_offer(allocation, VIDMM_OFFERED,
				     offer_priority_of(priority, vidmm_priority(allocation)));
	}
	return STATUS_SUCCESS;
}

NTSTATUS allocation_recommit_locked(struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	if (allocation->offer != VIDMM_DECOMMITTED)
		return STATUS_SUCCESS;
	NTSTATUS status = allocation_commit_locked(allocation);
	if (NT_SUCCESS(status))
		allocation_set_offer(allocation, VIDMM_DISCARDED,
				     (enum vidmm_offer_priority)allocation->offer_priority);
	return status;
}

enum vidmm_reclaim_result allocation_reclaim_locked(struct vidmm_allocation *allocation)
{
	enum vidmm_reclaim_result result = VIDMM_RECLAIM_OK;

	lock_assert_held(&allocation->lock);
	if (UNLIKELY(allocation->offer == VIDMM_DECOMMITTED) &&
	    !NT_SUCCESS(allocation_recommit_locked(allocation)))
		return VIDMM_RECLAIM_NOT_COMMITTED;
	if (allocation->offer == VIDMM_DISCARDED)
		result = VIDMM_RECLAIM_DISCARDED;
	if (allocation->offer != VIDMM_NOT_OFFERED)
		allocation_set_offer(allocation, VIDMM_NOT_OFFERED, 0);
	return result;
}

bool allocation_decommit_locked(struct vidmm_allocation *allocation)
{
	bool is_offered =
		allocation->offer == VIDMM_OFFERED || allocation->offer == VIDMM_DISCARDED;

	lock_assert_held(&allocation->lock);
	if (!is_offered || !allocation->may_decommit ||
	    allocation_content(allocation) != VIDMM_CONTENT_BACKED ||
	    allocation->backing.is_clients || !cpu_view_hide(&allocation->view))
		return false;
	backing_finish(allocation);
	allocation_set_offer(allocation, VIDMM_DECOMMITTED,
			     (enum vidmm_offer_priority)allocation->offer_priority);
	return true;
}

bool allocation_discard_locked(struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	if (allocation->offer != VIDMM_OFFERED || allocation->backing.is_clients ||
	    allocation_content(allocation) == VIDMM_CONTENT_LOCAL ||
	    !cpu_view_hide(&allocation->view))
		return false;
	if (allocation_content(allocation) == VIDMM_CONTENT_BACKED)
		backing_finish(allocation);
	allocation_set_offer(allocation, VIDMM_DISCARDED,
			     (enum vidmm_offer_priority)allocation->offer_priority);
	return true;
}
