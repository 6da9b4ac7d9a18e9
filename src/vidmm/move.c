/* SPDX-License-Identifier: MIT */
/*
 * move.c - one allocation's way into a segment, out of it, or within it, as a job of the pager.
 *
 *   in:   a place that is ENTERING, LEAVING or SHIFTING
 *   out:  a job (its rows: move_rows.c); at its end the content state and the place say what became
 *         of it
 *
 * The system memory of what went into a memory segment is given up, unless the allocation keeps it;
 * on the way out it is taken again, which can fail: then it stays. CPU views of memory that is
 * copied are hidden first, so no write can fall between the copy and what is shown next; what is
 * locked is not copied (roles.h). Where there is nothing to do, no job is queued.
 *
 * Locks: the allocation's while pages and views change hands, inside it the manager's at the end.
 */
#include <assert.h>

#include "base/machine.h"
#include "base/mem.h"
#include "vidmm/allocation.h"
#include "vidmm/elsewhere.h"
#include "vidmm/place.h"
#include "vidmm/states.h"
#include "vidmm/work_set.h"

/* ---- runs ---- */

static void runs_free(struct place_move *move)
{
	if (move->local != &move->local_one)
		mem_free(move->local);
	if (move->system != &move->system_one)
		mem_free(move->system);
	move->local = NULL;
	move->system = NULL;
}

static struct miniport_page_run *runs_room(uint32_t count, struct miniport_page_run *one)
{
	return count > 1 ? mem_zalloc_array(count, sizeof(*one)) : one;
}

static bool local_runs_make(struct vidmm_place *place)
{
	struct place_move *move = &place->move;
	const struct page_run *runs = page_set_runs(&place->pages);

	move->local_count = place->pages.run_count;
	move->local = runs_room(move->local_count, &move->local_one);
	for (uint32_t i = 0; move->local && i < move->local_count; i++)
		move->local[i] = (struct miniport_page_run){ runs[i].first_page, runs[i].count };
	return move->local != NULL;
}

static bool system_runs_make(struct vidmm_place *place)
{
	struct place_move *move = &place->move;
	const struct vidmm_backing *backing = &place->allocation->backing;
	const struct backing_run *runs = backing_runs(backing);

	move->system_count = backing->is_clients ? 1 : backing->run_count;
	move->system = runs_room(move->system_count, &move->system_one);
	if (move->system && backing->is_clients)
		move->system[0] = (struct miniport_page_run){
			machine_foreign(backing->clients) >> MACHINE_PAGE_SHIFT,
			place->allocation->size_bytes >> MACHINE_PAGE_SHIFT,
		};
	else
		for (uint32_t i = 0; move->system && i < move->system_count; i++)
			move->system[i] =
				(struct miniport_page_run){ runs[i].first_pfn, runs[i].count };
	return move->system != NULL;
}

static struct vidmm_place *job_place(struct paging_job *job)
{
	return container_of(job, struct vidmm_place, move.job);
}

/* Nothing to do: the job began after all work that uses the allocation. */
static void job_idle(struct paging_job *job)
{
}

/* The way out is built: who waits for the room can be queued behind it from now on. */
static void out_built(struct paging_job *job)
{
	struct vidmm_place *place = job_place(job);
	struct vidmm *manager = place->manager;

	lock_acquire(&manager->lock);
	place_part_from_room_locked(place);
	decide_soon_unlock(manager, false);
}

/* ---- the end ---- */

/* Gives its pages of system memory back: the content is in the segment, or dropped. What is kept in system memory keeps
 * them, but for pages that were taken for this move only: nothing was copied to them. */
static void system_memory_give_locked(struct vidmm_place *place)
{
	struct vidmm_allocation *allocation = place->allocation;
	bool is_kept = allocation->traits.is_kept_in_system || allocation->backing.is_clients;

	lock_assert_held(&allocation->lock);
	if (is_kept && !place->move.has_taken_pages)
		return;
	if (allocation->backing.run_count > 0)
		allocation_give_pages_locked(allocation);
}

static void in_done_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	place->reset.in_generation = place->move.job.generation;
	if (place->allocation->driver)
		place->allocation->driver->is_initialized = true;
	if (place->segment->is_system)
		return;
	if (move_exchanges(&place->move)) {
		/* What its addresses show now is no copy, also for who keeps one. */
		if (elsewhere_is_possible(place->allocation))
			elsewhere_set_inside_locked(place->allocation, true);
		else
			allocation_give_pages_locked(place->allocation);
		place_written_locked(place);
	} else {
		system_memory_give_locked(place);
	}
	allocation_set_content(place->allocation, VIDMM_CONTENT_LOCAL);
}

/* It has left, or a reset has taken it. Without a copy in system memory the content is lost, which a reclaim is told. */
static void out_done_locked(struct vidmm_place *place)
{
	struct vidmm_allocation *allocation = place->allocation;
	bool has_copy = allocation->backing.run_count > 0 || allocation->backing.is_clients;

	lock_assert_held(&place->manager->lock);
	if (place->segment->is_system)
		return;
	if (move_exchanges(&place->move) && elsewhere_is_inside(allocation))
		elsewhere_set_inside_locked(allocation, false);
	if (move_drops_locked(place) && has_copy)
		system_memory_give_locked(place);
	if (move_leaves_nothing(&place->move) && allocation->driver)
		allocation->driver->is_initialized = false;
	has_copy = allocation->backing.run_count > 0 || allocation->backing.is_clients;
	allocation_set_content(allocation, has_copy ? VIDMM_CONTENT_BACKED : VIDMM_CONTENT_NONE);
	if (move_drops_locked(place) && allocation->offer == VIDMM_OFFERED) {
		allocation_set_offer(allocation, VIDMM_DISCARDED,
				     (enum vidmm_offer_priority)allocation->offer_priority);
		if (place_is_offered(place)) /* not of what dies */
			place->offer =
				state_step(STATES_PLACE_OFFER, place->offer, PLACE_REPURPOSED);
	}
}

static void count_locked(struct vidmm_place *place)
{
	struct vidmm_traffic *traffic = &place->segment->traffic;
	uint64_t bytes = place->allocation->size_bytes;
	bool is_in = place->move.way == MOVE_IN;

	lock_assert_held(&place->manager->lock);
	if (place->wish.form == FORM_MAPPED && is_in)
		traffic->mapped_bytes += bytes;
	else if (place->wish.form == FORM_MAPPED)
		traffic->unmapped_bytes += bytes;
	/* What takes its pages along counts as if it was copied: only how differs. */
	bool is_copy = place->move.content == MOVE_COPY ||
		       (move_exchanges(&place->move) && place->move.way != MOVE_SHIFT &&
			elsewhere_is_possible(place->allocation));

	if (place->move.content == MOVE_FILL) {
		vidmm_count(&traffic->filled, bytes);
		account_charge_brought(place->allocation->account, bytes);
	} else if (move_leaves_nothing(&place->move) ||
		   place->move.content == MOVE_EXCHANGE_DROPPED) {
		vidmm_count(&traffic->discarded, bytes);
	} else if (place->move.way == MOVE_SHIFT) {
		vidmm_count(&traffic->shifted, bytes);
	} else if (is_copy && is_in) {
		vidmm_count(&traffic->copied_in, bytes);
		account_charge_brought(place->allocation->account, bytes);
	} else if (is_copy) {
		vidmm_count(&traffic->evicted, bytes);
		traffic->evicted_by_band[evict_rank_of(vidmm_priority(place->allocation))] += bytes;
		account_charge_evicted(place->allocation->account, bytes);
	}
}

static void mdl_finish(struct vidmm_place *place)
{
	if (place->move.mdl)
		place->manager->config.mdls.destroy(place->move.mdl);
	place->move.mdl = NULL;
}

static void move_finish(struct vidmm_place *place)
{
	mdl_finish(place);
	roles_release(place);
	runs_free(&place->move);
}

/* Where the content is, and where the place is, change together. */
static void move_end_locked(struct vidmm_place *place, NTSTATUS status)
{
	struct vidmm_allocation *allocation = place->allocation;

	lock_assert_held(&allocation->lock);
	if (!NT_SUCCESS(status)) {
		/* What is in them is anything, also for who keeps a copy. */
		if (place->move.has_taken_pages)
			allocation_give_pages_locked(allocation);
		return;
	}
	if (place->move.way == MOVE_IN)
		in_done_locked(place);
	else
		out_done_locked(place);
}

/*
 * A reset in between, or the end of the adapter, loses what was brought in, and what was not
 * carried out before it. What could not be carried out is lost as well when somebody else has its
 * room already. The way out of what is lost, or dies, ends here whatever the job met: nothing else
 * would ever end it.
 */
static NTSTATUS judge_locked(struct vidmm_place *place, NTSTATUS status)
{
	struct place_move *move = &place->move;
	bool is_stale = atomic_load(&place->manager->is_gone) || paging_job_is_stale(&move->job);

	lock_assert_held(&place->manager->lock);
	if (move->way == MOVE_IN)
		return is_stale ? STATUS_DEVICE_REMOVED : status;
	bool is_lost = !place->segment->is_system &&
		       (place->reset.in_generation != move->job.generation ||
			(is_stale && !NT_SUCCESS(status)) ||
			(place->handover.lent_bytes > 0 && !NT_SUCCESS(status)));
	if (is_lost && move->content != MOVE_KEEP_COPY && !move_exchanges(move))
		move->content = MOVE_DROP;
	return is_lost || is_stale || place->end == PLACE_DYING ? STATUS_SUCCESS : status;
}

/*
 * After a reset, who needs it all the same has it brought in again. Otherwise it stays where it is
 * for good.
 */
static void in_failed_locked(struct vidmm_place *place, NTSTATUS status)
{
	bool is_final = status != STATUS_DEVICE_REMOVED;

	lock_assert_held(&place->manager->lock);
	if (is_final || !place_is_needed(place)) {
		place->given_up_at = place->manager->retry_generation;
		/* Not for want of memory: who waits for it is lost, and has nothing to trim. */
		place_answer_locked(place, STATUS_DEVICE_REMOVED);
	}
	if (is_final)
		place_fail_waiters_locked(place);
	place_out_locked(place);
}

/* With a reset in between, all addresses are written anew in any case. */
static void mappings_failed(struct vidmm_place *place, NTSTATUS status)
{
	const struct vidmm_config *config = &place->manager->config;
	const struct vidmm_mapping_cursor *cursor = &place->move.cursor;
	bool has_begun = false;

	for (size_t i = 0; i < ARRAY_SIZE(cursor->words); i++)
		has_begun |= cursor->words[i] != 0;
	if (has_begun && config->mappings->failed && !paging_job_is_stale(&place->move.job))
		config->mappings->failed(config->mappings_context, place->allocation, status);
}

/* Whatever became of the move, the pages are where it ended. */
static NTSTATUS roles_end_locked(struct vidmm_place *place, NTSTATUS status)
{
	bool is_moved = NT_SUCCESS(status) && NT_SUCCESS(place->move.turned_back);

	lock_assert_held(&place->manager->lock);
	if (move_exchanges(&place->move) && !roles_change(place, is_moved))
		status = STATUS_NO_MEMORY;
	roles_release(place);
	return status;
}

static void way_done_locked(struct vidmm_place *place, NTSTATUS status)
{
	lock_assert_held(&place->manager->lock);
	status = judge_locked(place, status);
	status = roles_end_locked(place, status);
	runs_free(&place->move);
	move_end_locked(place, NT_SUCCESS(status) ? place->move.turned_back : status);
	if (NT_SUCCESS(status) && !NT_SUCCESS(place->move.turned_back)) {
		place_turn_back_locked(place);
		return;
	}
	if (NT_SUCCESS(status))
		count_locked(place);
	if (!NT_SUCCESS(status) && place->move.way == MOVE_IN) {
		in_failed_locked(place, status);
	} else if (!NT_SUCCESS(status)) {
		place_stay_locked(place);
	} else if (place->move.way == MOVE_IN) {
		place_arrive_locked(place);
	} else {
		place_out_locked(place);
	}
}

/* Ends the move of locked memory: its pages change back unless they may stay. True: they are where it went to. */
static bool exchange_end_locked(struct vidmm_place *place, bool may_stay)
{
	lock_assert_held(&place->manager->lock);
	if (!may_stay)
		(void)!roles_change(place, false);
	roles_release(place);
	return place->move.has_changed_roles;
}

/* After a reset the content is lost in the old pages and in the new ones; but not what the CPU has locked. */
static void shift_done_locked(struct vidmm_place *place, NTSTATUS status)
{
	struct place_move *move = &place->move;
	bool is_lost = atomic_load(&place->manager->is_gone) || paging_job_is_stale(&move->job) ||
		       place->reset.in_generation != move->job.generation;
	bool has_moved = NT_SUCCESS(status) && move->check != MOVE_REFUSED;

	lock_assert_held(&place->manager->lock);
	if (move_exchanges(move))
		has_moved = exchange_end_locked(place, has_moved || is_lost);
	runs_free(move);
	if (is_lost && move_exchanges(move)) {
		place->reset.in_generation = pager_generation(place->manager->config.pager);
	} else if (is_lost) {
		move->content = MOVE_DROP;
		out_done_locked(place);
		count_locked(place);
		place_out_locked(place);
		return;
	}
	if (has_moved)
		count_locked(place);
	if (NT_SUCCESS(status) && move->check == MOVE_REFUSED && move->content == MOVE_COPY)
		place->manager->wrong_transfers = (struct vidmm_wrong_transfers){
			.count = place->manager->wrong_transfers.count + 1,
			.allocation_id = place->allocation->id,
			.offset_bytes = move->wrong_at_bytes,
		};
	place_shift_over_locked(place, has_moved);
}

/* Unless others took over pages of what it leaves, nobody can from now on, and they hold nothing. */
static void settle_left(struct vidmm_place *place)
{
	lock_acquire(&place->manager->lock);
	bool is_alone = place->handover.lent_bytes == 0;
	if (is_alone)
		list_remove(&place->handover.link);
	lock_release(&place->manager->lock);
	if (is_alone)
		roles_settle(place);
}

static void job_done(struct paging_job *job, NTSTATUS status)
{
	struct vidmm_place *place = job_place(job);
	struct vidmm *manager = place->manager;
	struct vidmm_allocation *allocation = place->allocation;
	bool is_followed = paging_job_is_followed(job);

	mdl_finish(place);
	if (NT_SUCCESS(status) && place->move.way == MOVE_OUT)
		settle_left(place);
	if (!NT_SUCCESS(status))
		mappings_failed(place, status);
	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	if (paging_job_is_stale(job))
		place_owe_locked(place, NT_SUCCESS(status));
	if (place->move.way == MOVE_SHIFT)
		shift_done_locked(place, status);
	else
		way_done_locked(place, status);
	/* First: once the manager's lock is let go, whoever carries its end out may free it. */
	lock_release(&allocation->lock);
	decide_soon_unlock(manager, is_followed);
}

/* ---- what it needs ---- */

/* Without a job nothing follows that writes entries: addresses mapped from now on lead to where it will be. */
static bool needs_job(struct vidmm_place *place)
{
	bool has_bytes = place->move.content == MOVE_COPY || place->move.content == MOVE_FILL;

	if (has_bytes && !atomic_load(&place->manager->is_gone))
		return true;
	lock_acquire(&place->manager->lock);
	bool is_needed = move_has_rows(place) && !atomic_load(&place->manager->is_gone);
	if (!is_needed)
		place_lead_there_locked(place, place->move.way == MOVE_IN);
	lock_release(&place->manager->lock);
	return is_needed;
}

/* Does the job concern these tables? Only those of processes that map the allocation lead to it. */
static bool move_follows(const struct paging_job *job, const void *tables)
{
	const struct vidmm_place *place = container_of(job, struct vidmm_place, move.job);
	const struct vidmm_config *config = &place->manager->config;

	return !config->mappings->concerns ||
	       config->mappings->concerns(config->mappings_context, place->allocation, tables);
}

static void move_init(struct vidmm_place *place, enum move_way way)
{
	struct place_move *move = &place->move;

	*move = (struct place_move){ .way = way };
	paging_job_init(&move->job, place->manager->config.pager);
	move->job.done = job_done;
	move->job.next = move_next;
	move->job.idle = job_idle;
	move->job.shares_tables = place->manager->config.mappings != NULL;
	move->job.follows = move_follows;
}

/* The pages that locked memory takes along into the segment. */
static NTSTATUS in_prepare_pages_locked(struct vidmm_allocation *allocation)
{
	NTSTATUS status = elsewhere_prepare_locked(allocation);

	lock_assert_held(&allocation->lock);
	if (NT_SUCCESS(status) && allocation_content(allocation) == VIDMM_CONTENT_NONE)
		status = allocation_commit_locked(allocation);
	return status;
}

static NTSTATUS in_prepare_locked(struct vidmm_place *place)
{
	struct vidmm_allocation *allocation = place->allocation;
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&place->allocation->lock);
	if (atomic_load(&place->manager->is_gone))
		return STATUS_DEVICE_REMOVED;
	if (place->segment->is_system) {
		if (allocation_content(allocation) == VIDMM_CONTENT_NONE)
			status = allocation_commit_locked(allocation);
		return status;
	}
	if (allocation->lock_count > 0 ||
	    (elsewhere_keeps_pages(allocation) && roles_can_change(allocation, place->segment))) {
		assert(roles_can_change(allocation, place->segment) ||
		       place->segment->config.window_pages > 0);
		place->move.content = MOVE_EXCHANGE;
		return elsewhere_is_possible(allocation) ? in_prepare_pages_locked(allocation)
							 : STATUS_SUCCESS;
	}
	if (!cpu_view_hide(&allocation->view))
		return STATUS_NO_MEMORY;
	place->move.content =
		allocation_content(allocation) == VIDMM_CONTENT_BACKED ? MOVE_COPY : MOVE_FILL;
	return STATUS_SUCCESS;
}

static NTSTATUS system_memory_take_locked(struct vidmm_place *place)
{
	NTSTATUS status = allocation_take_pages_locked(place->allocation);

	lock_assert_held(&place->allocation->lock);
	place->move.has_taken_pages = NT_SUCCESS(status);
	place->move.lacks_pages = !NT_SUCCESS(status);
	return status;
}

static NTSTATUS out_prepare_locked(struct vidmm_place *place, bool is_dropped, bool is_clean)
{
	struct vidmm_allocation *allocation = place->allocation;
	bool has_copy = allocation->backing.run_count > 0 || allocation->backing.is_clients;

	lock_assert_held(&place->allocation->lock);
	if (place->segment->is_system)
		return STATUS_SUCCESS;
	if (allocation->lock_count > 0 || elsewhere_is_inside(allocation)) {
		assert(atomic_load(&place->segment->memory_address) != MACHINE_NOWHERE);
		place->move.content = is_dropped && allocation->lock_count == 0
					      ? MOVE_EXCHANGE_DROPPED
					      : MOVE_EXCHANGE;
		return has_copy ? STATUS_SUCCESS : system_memory_take_locked(place);
	}
	if (!cpu_view_hide(&allocation->view))
		return STATUS_NO_MEMORY;
	if (is_dropped || (is_clean && has_copy)) {
		place->move.content = is_clean && has_copy ? MOVE_KEEP_COPY : MOVE_DROP;
		return STATUS_SUCCESS;
	}
	place->move.content = MOVE_COPY;
	return has_copy ? STATUS_SUCCESS : system_memory_take_locked(place);
}

/* Runs for whoever reads them, and an MDL for the aperture. */
static NTSTATUS move_describe(struct vidmm_place *place)
{
	const struct vidmm_config *config = &place->manager->config;

	if (!local_runs_make(place) || !system_runs_make(place))
		return STATUS_NO_MEMORY;
	if (move_exchanges(&place->move) && !roles_reserve(place)) {
		if (place->move.way != MOVE_IN || place->allocation->lock_count > 0 ||
		    !cpu_view_hide(&place->allocation->view))
			return STATUS_INSUFFICIENT_RESOURCES;
		/* Nobody looks at it: its next lock has it leave. */
		place->move.content = MOVE_COPY;
	}
	if (place->move.way == MOVE_IN && place->wish.form == FORM_MAPPED)
		return config->mdls.create(place->move.system, place->move.system_count,
					   &place->move.mdl);
	return STATUS_SUCCESS;
}

/* There is nothing for the pager to do: the move ends here. */
static enum move_result move_end_now(struct vidmm_place *place, NTSTATUS status)
{
	struct vidmm_allocation *allocation = place->allocation;

	if (NT_SUCCESS(status) && move_exchanges(&place->move) && !roles_change(place, true))
		status = STATUS_INSUFFICIENT_RESOURCES;
	place->move.turned_back = status;
	/* The adapter is gone, and with it who would have copied. */
	if (NT_SUCCESS(status) && place->move.has_taken_pages)
		place->move.content = MOVE_DROP;
	if (NT_SUCCESS(status) && place->move.way != MOVE_IN)
		roles_settle(place);
	move_finish(place);
	lock_acquire(&allocation->lock);
	lock_acquire(&place->manager->lock);
	move_end_locked(place, status);
	if (NT_SUCCESS(status))
		count_locked(place);
	lock_release(&place->manager->lock);
	lock_release(&allocation->lock);
	return NT_SUCCESS(status) ? MOVE_DONE : MOVE_FAILED;
}

/* It turns back, but behind those whose room it was given: the room is free when they have left. */
static void turn_back_behind(struct vidmm_place *place, NTSTATUS status)
{
	place->move.turned_back = status;
	place->move.job.next = NULL;
}

static enum move_result in_prepare(struct vidmm_place *place)
{
	NTSTATUS status = window_enter(place);

	move_init(place, MOVE_IN);
	lock_acquire(&place->allocation->lock);
	if (NT_SUCCESS(status))
		status = in_prepare_locked(place);
	if (NT_SUCCESS(status))
		status = move_describe(place);
	lock_release(&place->allocation->lock);
	if (!NT_SUCCESS(status) && place->handover.behind_packet > 0)
		turn_back_behind(place, status);
	else if (!NT_SUCCESS(status) || !needs_job(place))
		return move_end_now(place, status);
	else if (place->handover.behind_packet == 0)
		roles_settle(place);
	return MOVE_READY;
}

bool move_drops_locked(const struct vidmm_place *place)
{
	lock_assert_held(&place->allocation->lock);
	return place->move.content == MOVE_EXCHANGE_DROPPED || place->move.content == MOVE_DROP;
}

static enum move_result out_prepare(struct vidmm_place *place)
{
	window_leave(place);
	/* Whoever reclaims it has the allocation's lock, too: before this, or when it is known. */
	lock_acquire(&place->allocation->lock);
	move_init(place, MOVE_OUT);
	lock_acquire(&place->manager->lock);
	bool is_dropped = place_is_dropped(place);
	bool is_clean = place->copy == PLACE_COPY_GOOD || place->allocation->backing.is_read_only;
	lock_release(&place->manager->lock);
	NTSTATUS status = out_prepare_locked(place, is_dropped, is_clean);
	if (NT_SUCCESS(status))
		status = move_describe(place);
	lock_release(&place->allocation->lock);
	if (!NT_SUCCESS(status) || !needs_job(place))
		return move_end_now(place, status);
	place->move.job.built = out_built;
	return MOVE_READY;
}

static enum move_result shift_prepare(struct vidmm_place *place)
{
	const struct page_run *target = page_set_runs(&place->shift.pages);
	struct place_move *move = &place->move;

	move_init(place, MOVE_SHIFT);
	move->target = (struct miniport_page_run){ target->first_page, target->count };
	assert(place->shift.pages.run_count == 1 && !place->segment->is_system);
	lock_acquire(&place->allocation->lock);
	move->content = place->allocation->lock_count > 0 || elsewhere_is_inside(place->allocation)
				? MOVE_EXCHANGE
				: MOVE_COPY;
	bool is_ready = !atomic_load(&place->manager->is_gone) && local_runs_make(place) &&
			(move_exchanges(move) ? roles_reserve(place)
					      : cpu_view_hide(&place->allocation->view));
	lock_release(&place->allocation->lock);
	if (is_ready)
		return MOVE_READY;
	move_finish(place);
	return MOVE_FAILED;
}

enum move_result move_prepare(struct vidmm_place *place)
{
	if (place->state == PLACE_SHIFTING)
		return shift_prepare(place);
	return place->state == PLACE_ENTERING ? in_prepare(place) : out_prepare(place);
}

/* ---- the start ---- */

/* The job begins when no context is loaded that may still be saved there. */
static void driver_unload(struct driver_memory *memory, struct paging_job *job)
{
	memory->unload(memory, paging_job_after_wait(job, &memory->dependency));
}

/* Behind the work that the hardware has. */
static void order_behind_users(struct vidmm_place *place)
{
	if (place->allocation->driver)
		driver_unload(place->allocation->driver, &place->move.job);
	list_each (struct vidmm_binding, binding, &place->dependents, leave_link) {
		paging_job_after_submitted(&place->move.job, binding->device->owner,
					   &binding->dependency);
	}
}

enum { MUCH_BYTES = 1 << 20 };

static enum paging_way way_of(const struct vidmm_place *place)
{
	const struct place_move *move = &place->move;

	if (move->content != MOVE_COPY || place->allocation->size_bytes < MUCH_BYTES ||
	    move->way == MOVE_SHIFT)
		return PAGING_SOME_WAY;
	return move->way == MOVE_IN ? PAGING_WAY_IN : PAGING_WAY_OUT;
}

void move_start(struct vidmm_place *place, struct list *jobs)
{
	place->move.job.way = way_of(place);
	if (place->move.way == MOVE_IN)
		paging_job_behind(&place->move.job, place->handover.behind_packet);
	else
		order_behind_users(place);
	list_push_back(jobs, &place->move.job.link);
}
