/* SPDX-License-Identifier: MIT */
/*
 * cpu_access.c - locking what may be in GPU memory.
 *
 *   in:   an allocation, wherever it is
 *   out:  the one pointer it has, and a promise that its pages are the ones behind it
 *
 * A writer cannot be told to stop while a copy runs. So what is locked moves without one, where its
 * pages can change their role (roles.h), and elsewhere not at all.
 *
 *	where it is                              what a lock does
 *	system memory, or nowhere                shows it there; meanwhile it enters no memory
 *	                                         segment in which its pages cannot change their role.
 *	                                         What is listed, and can be nowhere else than behind
 *	                                         a window, has to get one
 *	memory segment that the CPU sees         shows it there; it comes and goes with its pages.
 *	                                         Cached memory only if the segment is coherent
 *	memory segment that it does not see      shows it through a window (host_aperture.h); else,
 *	                                         has it moved to system memory first, if it may be.
 *	                                         Behind the window it comes and goes with its pages
 *	on its way                               waits until it has arrived
 *	memory that other processes map          shows its pages, wherever they are; what is not on its
 *	                                         own in a segment has to leave it first (elsewhere.h)
 *
 * Locks: the allocation's, inside it the manager's; none while it waits. What lives has its place
 * for as long as the allocation's is held: it is retired before it departs, and both take that
 * lock. What was retired may lose its place under the manager's alone.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/access.h"
#include "vidmm/allocation.h"
#include "vidmm/elsewhere.h"
#include "vidmm/place.h"
#include "vidmm/states.h"

/* ---- pages of a segment, as a view shows them ---- */

static NTSTATUS segment_pages(const struct vidmm_place *place, struct vidmm_backing *pages_out)
{
	uint64_t first_pfn = place->segment->config.cpu_address >> MACHINE_PAGE_SHIFT;
	const struct page_run *runs = page_set_runs(&place->pages);
	uint64_t left = place->allocation->size_bytes >> MACHINE_PAGE_SHIFT;
	uint32_t count = place->pages.run_count;
	struct backing_run *shown = &pages_out->one;

	*pages_out = (struct vidmm_backing){ .run_count = count };
	if (count > 1)
		shown = pages_out->many = mem_zalloc_array(count, sizeof(*shown));
	if (!shown)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		/* The last granule may reach beyond the allocation. */
		uint64_t pages = runs[i].count < left ? runs[i].count : left;

		shown[i] = (struct backing_run){ (uint32_t)(first_pfn + runs[i].first_page),
						 (uint32_t)pages };
		left -= pages;
	}
	return STATUS_SUCCESS;
}

/* Whoever would move it takes the allocation's lock first: its pages stay as they are without the
 * manager's. */
static NTSTATUS lock_in_segment_locked(struct vidmm_place *place, void **pointer_out)
{
	struct vidmm_backing pages;

	lock_assert_held(&place->allocation->lock);
	assert(place_has_cpu_lock(place) && !place->departure);
	NTSTATUS status = segment_pages(place, &pages);
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_MM_NO_PAGES, NULL,
			      "There is no memory to write down where an allocation is");
	status = allocation_lock_locked(place->allocation, &pages, pointer_out);
	if (pages.run_count > 1)
		mem_free(pages.many);
	return status;
}

static NTSTATUS lock_in_window_locked(struct vidmm_place *place, void **pointer_out)
{
	struct vidmm_backing pages = window_pages(place);

	lock_assert_held(&place->allocation->lock);
	return allocation_lock_locked(place->allocation, &pages, pointer_out);
}

/* ---- what a lock has to do ---- */

enum lock_step {
	LOCK_SHOW_SYSTEM,
	LOCK_SHOW_PAGES,
	LOCK_SHOW_SEGMENT,
	LOCK_SHOW_WINDOW,
	LOCK_OPEN_WINDOW,
	LOCK_MOVE,
	LOCK_WAIT,
	LOCK_REFUSE,
	LOCK_REFUSE_TO_MOVE,
	LOCK_REFUSE_OUTSIDE,
	LOCK_REFUSE_FOR_MEMORY,
};

/* One thread's way to a lock. */
struct locker {
	uint32_t flags;
	bool has_moved;             /* it was sent away for this one */
	bool has_no_window;         /* the driver would not */
	bool opens_window;          /* which this look has decided */
	bool must_decide;           /* something follows from it */
	struct client_arena *arena; /* whose it is, in another process; NULL: in this one */
	void **pointer_out;
};

static enum lock_step window_step(const struct cpu_window *window)
{
	if (window_is_changing(window))
		return LOCK_WAIT;
	return window->state == CPU_WINDOW_OPEN ? LOCK_SHOW_WINDOW : LOCK_OPEN_WINDOW;
}

/* What is listed has to get a window first. Else who waits for it to be resident would wait for the unlock, and
 * that may be the same thread. */
static enum lock_step step_if_promised_locked(struct vidmm_place *place, enum lock_step step,
					      enum lock_step otherwise)
{
	NTSTATUS status = place->list_count > 0 ? window_promise_locked(place) : STATUS_SUCCESS;

	lock_assert_held(&place->manager->lock);
	if (NT_SUCCESS(status))
		return step;
	return status == STATUS_NO_MEMORY ? LOCK_REFUSE_FOR_MEMORY : otherwise;
}

/* It is in a memory segment. Clients in other processes are shown the allocation's own pages, not the segment's. */
static enum lock_step elsewhere_step_locked(struct vidmm_place *place, const struct locker *locker)
{
	bool has_windows = place->segment->config.window_pages > 0;
	enum lock_step step = LOCK_SHOW_SEGMENT;

	lock_assert_held(&place->manager->lock);
	if (elsewhere_is_inside(place->allocation) &&
	    (!has_windows ||
	     (!locker->has_no_window && NT_SUCCESS(window_take_locked(place, place->segment))))) {
		if (has_windows)
			step = window_step(&place->window);
		return locker->arena && (step == LOCK_SHOW_SEGMENT || step == LOCK_SHOW_WINDOW)
			       ? LOCK_SHOW_PAGES
			       : step;
	}
	if (place->pins > 0)
		return LOCK_WAIT;
	return step_if_promised_locked(place, LOCK_MOVE, LOCK_REFUSE);
}

static enum lock_step lock_step_locked(struct vidmm_place *place, const struct locker *locker)
{
	const struct vidmm_allocation *allocation = place->allocation;
	struct access_question question = {
		.is_cpu_visible = allocation->traits.is_cpu_visible,
		.is_cached = allocation->traits.is_cached,
		.supports_aperture =
			(allocation->supported_segments & ~place->manager->memory_segments) != 0,
	};
	enum access_way way;

	lock_assert_held(&place->manager->lock);
	if (place->state == PLACE_OUT)
		return step_if_promised_locked(place, LOCK_SHOW_SYSTEM, LOCK_REFUSE_OUTSIDE);
	if (place->segment->is_system)
		return LOCK_SHOW_SYSTEM;
	/* Its pages are on their way, and its address stays. */
	if (place->state != PLACE_IN)
		return allocation->lock_count > 0 && (locker->arena || allocation->view.is_mapped)
			       ? LOCK_SHOW_SYSTEM
			       : LOCK_WAIT;
	if (UNLIKELY(elsewhere_is_possible(allocation)))
		return elsewhere_step_locked(place, locker);
	if (UNLIKELY(locker->arena))
		return LOCK_SHOW_PAGES; /* refused there, unless it was brought */
	question.segment_is_cpu_visible = place->segment->is_visible_memory;
	question.segment_is_coherent = place->segment->config.is_cache_coherent;
	question.host_aperture_has_room = place->segment->config.window_pages > 0;
	question.host_aperture_is_cached = place->segment->config.window_is_cached;
	way = access_decide(&question);
	if (way == ACCESS_HOST_APERTURE) {
		if (!locker->has_no_window && NT_SUCCESS(window_take_locked(place, place->segment)))
			return window_step(&place->window);
		question.host_aperture_has_room = false;
		way = access_decide(&question);
	}
	if (way == ACCESS_SEGMENT)
		return LOCK_SHOW_SEGMENT;
	if (place->pins > 0)
		return way == ACCESS_DEMOTE ? LOCK_WAIT : LOCK_REFUSE;
	/* Of work only what the hardware has is waited for, by the way out: the rest may be held up
	 * by who locks. */
	/* On nobody's list it need not be there, even if it may be nowhere else. */
	return way == ACCESS_DEMOTE || place->list_count == 0 ? LOCK_MOVE : LOCK_REFUSE;
}

static NTSTATUS pages_lock_locked(struct vidmm_allocation *allocation, const struct locker *locker)
{
	uint64_t address = 0;

	lock_assert_held(&allocation->lock);
	if (LIKELY(!locker->arena))
		return allocation_lock_locked(allocation, NULL, locker->pointer_out);
	NTSTATUS status = elsewhere_show_locked(allocation, locker->arena,
						!(locker->flags & VIDMM_LOCK_READ_ONLY), &address);
	if (NT_SUCCESS(status)) {
		allocation_set_locks(allocation, allocation->lock_count + 1);
		*locker->pointer_out = (void *)(uintptr_t)address;
	}
	return status;
}

static NTSTATUS lock_refuse(const struct vidmm_place *place, enum lock_step step)
{
	if (step == LOCK_MOVE && place->allocation->traits.is_pinned)
		return refuse(STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION, RULE_MM_LOCK_PINNED,
			      "hAllocation", "is pinned in memory that the CPU cannot see");
	if (step == LOCK_MOVE)
		return refuse(STATUS_NO_MEMORY, RULE_MM_NO_PAGES, NULL,
			      "The machine has no memory left for an allocation of %llu bytes",
			      (unsigned long long)place->allocation->size_bytes);
	if (step == LOCK_REFUSE_TO_MOVE)
		return refuse(STATUS_GRAPHICS_CANT_LOCK_MEMORY, RULE_MM_LOCK_PLACE, "hAllocation",
			      "would have to be evicted, and the lock may not do that");
	if (step == LOCK_REFUSE_FOR_MEMORY)
		return refuse_no_memory("no memory to write down how the CPU sees an allocation");
	if (step == LOCK_REFUSE_OUTSIDE)
		return invalid(RULE_MM_LOCK_PLACE, "hAllocation",
			       "is to be resident, in GPU memory that the CPU cannot see");
	return invalid(RULE_MM_LOCK_PLACE, "hAllocation",
		       "is in GPU memory that the CPU cannot see");
}

/* The place of an allocation that may be retired. NULL: it was destroyed meanwhile. */
static struct vidmm_place *place_now_locked(const struct vidmm *manager,
					    const struct vidmm_allocation *allocation)
{
	lock_assert_held(&manager->lock);
	return atomic_load_explicit(&allocation->place, memory_order_relaxed);
}

/* It counts as locked as long as its window is not closed, also behind the last unlock. */
static void count_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	bool is_locked = place->allocation->lock_count > 0 || window_end_locked(place);
	place_set_lock_locked(place, is_locked ? PLACE_LOCKED : PLACE_NOT_LOCKED);
}

/* Before it moves for a lock. False: nobody has it locked, but the window of who had it is not closed yet. */
static bool ends_last_lock_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place_has_cpu_lock(place) && place->allocation->lock_count == 0)
		count_locked(place);
	return !place_has_cpu_lock(place);
}

/* After a try to lock it, which may have succeeded or not. */
static void end_try(struct vidmm *manager, struct vidmm_allocation *allocation,
		    struct locker *locker)
{
	lock_acquire(&manager->lock);
	struct vidmm_place *place = place_now_locked(manager, allocation);
	if (place) {
		count_locked(place);
		place_settle_locked(place);
	}
	locker->must_decide |= !plan_is_empty(&manager->plan);
	lock_release(&manager->lock);
}

/* One look at what lives; false: look again when something has changed since `*seen_out`. */
static bool lock_try_locked(struct vidmm_place *place, struct locker *locker, NTSTATUS *status_out,
			    uint32_t *seen_out)
{
	struct vidmm_allocation *allocation = place->allocation;
	struct vidmm *manager = place->manager;

	lock_assert_held(&allocation->lock);
	lock_acquire(&manager->lock);
	*seen_out = notice_read(&manager->changed);
	enum lock_step step = lock_step_locked(place, locker);
	locker->opens_window = step == LOCK_OPEN_WINDOW;
	if (locker->opens_window)
		window_change_locked(place);
	if (step == LOCK_MOVE && (locker->flags & VIDMM_LOCK_IN_PLACE))
		step = LOCK_REFUSE_TO_MOVE;
	if (step == LOCK_MOVE && !ends_last_lock_locked(place))
		step = LOCK_WAIT;
	if (step == LOCK_MOVE && !place->allocation->traits.is_pinned && !locker->has_moved) {
		place_set_lock_locked(place, PLACE_LOCK_AWAITED);
		place_leave_locked(place, VIDMM_LEAVES_FOR_LOCK);
		locker->has_moved = true;
		step = LOCK_WAIT;
	}
	/* From here on it does not move: it is no candidate any more. */
	if (step == LOCK_SHOW_SYSTEM || step == LOCK_SHOW_PAGES || step == LOCK_SHOW_SEGMENT ||
	    step == LOCK_SHOW_WINDOW || step == LOCK_OPEN_WINDOW) {
		place_set_lock_locked(place, PLACE_LOCKED);
		place_settle_locked(place);
	}
	place->awaits_unpin |= step == LOCK_WAIT && place->pins > 0;
	/* What the GPU did not write, who locks it there may. */
	if (step == LOCK_SHOW_SEGMENT || step == LOCK_SHOW_WINDOW)
		place_written_locked(place);
	lock_release(&manager->lock);
	if (step == LOCK_WAIT || step == LOCK_OPEN_WINDOW)
		return false;
	if (step == LOCK_SHOW_SYSTEM || step == LOCK_SHOW_PAGES)
		*status_out = pages_lock_locked(allocation, locker);
	else if (step == LOCK_SHOW_SEGMENT)
		*status_out = lock_in_segment_locked(place, locker->pointer_out);
	else if (step == LOCK_SHOW_WINDOW)
		*status_out = lock_in_window_locked(place, locker->pointer_out);
	else
		*status_out = lock_refuse(place, step);
	end_try(manager, allocation, locker);
	return true;
}

static NTSTATUS lock_for(struct vidmm *manager, struct vidmm_allocation *allocation,
			 struct locker locker)
{
	bool is_over = false;
	NTSTATUS status;

	while (!is_over) {
		uint32_t seen = 0;

		lock_acquire(&allocation->lock);
		status = allocation_check_lock_locked(allocation,
						      locker.flags & VIDMM_LOCK_NEEDS_VISIBLE);
		struct vidmm_place *place =
			atomic_load_explicit(&allocation->place, memory_order_relaxed);
		is_over = !NT_SUCCESS(status) || !place;
		if (NT_SUCCESS(status) && !place)
			status = pages_lock_locked(allocation, &locker);
		if (!NT_SUCCESS(status) && place && (locker.has_moved || locker.opens_window))
			end_try(manager, allocation, &locker);
		locker.opens_window = false;
		if (!is_over)
			is_over = lock_try_locked(place, &locker, &status, &seen);
		lock_release(&allocation->lock);
		if (is_over && !locker.must_decide)
			break;
		if (locker.opens_window)
			locker.has_no_window = !window_open(place);
		decide(manager);
		if (!is_over && !locker.opens_window)
			notice_wait(&manager->changed, seen, CLOCK_FOREVER);
	}
	return status;
}

NTSTATUS vidmm_lock_anywhere(struct vidmm *manager, struct vidmm_allocation *allocation,
			     uint32_t flags, void **pointer_out)
{
	return lock_for(manager, allocation,
			(struct locker){ .flags = flags, .pointer_out = pointer_out });
}

NTSTATUS vidmm_lock_elsewhere(struct vidmm *manager, struct vidmm_allocation *allocation,
			      uint32_t flags, struct client_arena *arena, void **pointer_out)
{
	return lock_for(
		manager, allocation,
		(struct locker){ .flags = flags, .arena = arena, .pointer_out = pointer_out });
}

bool vidmm_unlock_anywhere(struct vidmm *manager, struct vidmm_allocation *allocation)
{
	struct vidmm_place *place;

	lock_acquire(&allocation->lock);
	bool was_locked = allocation_unlock_locked(allocation);
	if (!was_locked || !atomic_load_explicit(&allocation->place, memory_order_relaxed) ||
	    allocation->lock_count > 0) {
		lock_release(&allocation->lock);
		return was_locked;
	}
	lock_acquire(&manager->lock);
	manager->retry_generation++;
	place = place_now_locked(manager, allocation);
	/* Where the host cannot hide what is seen through a window, that stays open. */
	if (place && (place->window.state == CPU_WINDOW_CLOSED || cpu_view_hide(&allocation->view)))
		count_locked(place);
	if (place)
		place_settle_locked(place);
	lock_release(&allocation->lock); /* first: with the manager's lock it may go */
	decide_unlock(manager);
	return was_locked;
}
