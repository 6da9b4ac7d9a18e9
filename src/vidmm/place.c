/* SPDX-License-Identifier: MIT */
/*
 * place.c - see place.h: the changes of state, and what follows from each.
 *
 * Every function that changes something ends in place_settle_locked(), which is where the
 * consequences are drawn: what kind of candidate it is, whether it goes at once, whether its end
 * has come.
 */
#include <assert.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/mem.h"
#include "trace/trace.h"
#include "vidmm/control.h"
#include "vidmm/place.h"
#include "vidmm/work_set.h"

/* ---- making one ---- */

static struct vidmm_place *place_new(const struct vidmm_binding *binding)
{
	struct vidmm_place *place = mem_zalloc(sizeof(*place));

	if (!place)
		return NULL;
	place->manager = binding->device->process->manager;
	place->allocation = binding->allocation;
	place->subject =
		driver_memory_subject(binding->allocation->driver, binding->driver_allocation);
	/* A driver's own outlives the device in the driver's books, if it leaks it. */
	if (!binding->allocation->driver)
		place->driver_device = binding->device->driver_device;
	list_init(&place->held_link);
	list_init(&place->window.plan_link);
	list_init(&place->handover.link);
	list_init(&place->eviction.link);
	list_init(&place->listings);
	list_init(&place->dependents);
	list_init(&place->wants);
	list_init(&place->all_link);
	list_init(&place->plan_link);
	list_init(&place->decommit_link);
	return place;
}

void place_free(struct vidmm_place *place)
{
	mem_free(place);
}

NTSTATUS place_ensure(struct vidmm_binding *binding)
{
	struct vidmm_allocation *allocation = binding->allocation;

	if (binding_place(binding))
		return STATUS_SUCCESS;
	struct vidmm_place *place = place_new(binding);
	if (!place)
		return STATUS_NO_MEMORY;
	lock_acquire(&allocation->lock);
	lock_acquire(&place->manager->lock);
	bool is_ended = binding->end != BINDING_LIVES;
	lock_release(&place->manager->lock);
	/* Nobody would take it away again. */
	if (is_ended) {
		lock_release(&allocation->lock);
		place_free(place);
		return STATUS_INVALID_PARAMETER;
	}
	if (!binding_place(binding)) {
		if (allocation->offer != VIDMM_NOT_OFFERED)
			place->offer = PLACE_OFFER_DUE;
		place->offer_priority = allocation->offer_priority;
		if (allocation->lock_count > 0)
			place->lock = PLACE_LOCKED;
		if (allocation->life != VIDMM_LIVE)
			place->end = PLACE_DYING;
		lock_acquire(&place->manager->lock);
		place->reset.number = place->manager->resets;
		list_push_back(&place->manager->places, &place->all_link);
		atomic_store_explicit(&allocation->place, place, memory_order_release);
		lock_release(&place->manager->lock);
		place = NULL;
	}
	lock_release(&allocation->lock);
	place_free(place);
	return STATUS_SUCCESS;
}

/* ---- what follows ---- */

bool place_is_wanted(const struct vidmm_place *place)
{
	return !place_offer_is_due(place) && place->end != PLACE_DYING &&
	       (place->list_count > 0 || place->pins > 0);
}

bool place_is_of(const struct vidmm_place *place, const struct vidmm_process *process)
{
	if (place->allocation->account == &process->account)
		return true;
	list_each (struct vidmm_binding, each, &place->listings, place_link) {
		if (each->device->process == process)
			return true;
	}
	return false;
}

bool place_is_needed(const struct vidmm_place *place)
{
	list_each (struct vidmm_binding, each, &place->listings, place_link) {
		if (!each->device->is_lost)
			return true;
	}
	return place->pins > 0;
}

/* True when a reset has taken what it had in GPU memory. It is IN or LEAVING. */
static bool place_is_lost(const struct vidmm_place *place)
{
	return !place->segment->is_system &&
	       place->reset.in_generation != pager_generation(place->manager->config.pager);
}

bool place_is_dropped(const struct vidmm_place *place)
{
	if (place->end != PLACE_LIVES || atomic_load(&place->manager->is_gone) ||
	    place_is_lost(place))
		return true;
	return place_offer_is_due(place) &&
	       !(vidmm_options(place->manager) & VIDMM_NEVER_DISCARD_OFFERS);
}

/* Pinned, or locked where that holds it: no candidate meanwhile. */
static bool place_is_held(const struct vidmm_place *place)
{
	return place->pins > 0 || place->end == PLACE_DYING ||
	       place->allocation->traits.is_pinned || roles_hold(place);
}

static enum evict_class class_of(const struct vidmm_place *place)
{
	if (place->end != PLACE_LIVES)
		return EVICT_DESTROYED;
	if (place_offer_is_due(place))
		return (enum evict_class)(EVICT_OFFERED_LOW + place->offer_priority -
					  VIDMM_OFFER_LOW);
	return place->list_count > 0 || place->manager->config.is_residency_by_lists
		       ? EVICT_NEEDED
		       : EVICT_LEFTOVER;
}

static void place_unsort_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	list_remove(&place->held_link);
	if (place->eviction.is_resident)
		evict_remove(&place->segment->candidates, &place->eviction);
}

/* The device it is sorted under among candidates: the one of before if it still lists it, else any that does. */
static const struct vidmm_device *place_owner(const struct vidmm_place *place)
{
	const struct vidmm_device *owner = NULL;

	list_each (const struct vidmm_binding, each, &place->listings, place_link) {
		if (each->device == place->eviction.owner)
			return each->device;
		owner = owner ? owner : each->device;
	}
	return owner;
}

static void place_sort_locked(struct vidmm_place *place)
{
	struct evict_set *candidates = &place->segment->candidates;
	struct evict_entry *entry = &place->eviction;
	uint32_t priority = vidmm_priority(place->allocation);

	lock_assert_held(&place->manager->lock);
	if (place_is_held(place)) {
		if (!list_is_linked(&place->held_link)) {
			place_unsort_locked(place);
			list_push_back(&place->segment->held, &place->held_link);
		}
		return;
	}
	list_remove(&place->held_link);
	if (!entry->is_resident) {
		uint64_t size_bytes = segment_bytes(place->segment, &place->wish);

		if (entry->size_bytes != size_bytes)
			evict_forget(entry);
		entry->size_bytes = size_bytes;
		entry->priority = priority;
		entry->class = class_of(place);
		entry->owner = place_owner(place);
		evict_insert(candidates, entry);
		return;
	}
	if (entry->class != class_of(place))
		evict_set_class(candidates, entry, class_of(place));
	/* Of what nobody lists nobody keeps it: who did is as good as any. */
	if (entry->class == EVICT_NEEDED)
		evict_set_owner(candidates, entry, place_owner(place));
	if (entry->priority != priority)
		evict_set_priority(candidates, entry, priority);
}

void place_use_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	trace_allocation_use(place->allocation->id);
	if (place->segment)
		evict_use(&place->segment->candidates, &place->eviction,
			  ++place->manager->use_clock);
}

static bool place_goes_now(const struct vidmm_place *place)
{
	if (place->pins > 0 || place->waits > 0)
		return false;
	if (place->end == PLACE_DYING)
		return true;
	if (place_is_lost(place))
		return !place_has_cpu_lock(place);
	if (place_offer_is_due(place) && !place->segment->is_system &&
	    place->given_up_at != place->manager->retry_generation &&
	    (vidmm_options(place->manager) & VIDMM_ALWAYS_DISCARD_OFFERS))
		return true;
	return ((place->list_count == 0 && place->stay == PLACE_LEAVES_SOON) ||
		(place->stay == PLACE_MISPLACED &&
		 place->given_up_at != place->manager->retry_generation)) &&
	       !place->allocation->traits.is_pinned && !roles_hold(place);
}

/* May it end now? Memory of a driver does not wait for what the driver has to be told after a reset: the thread that
 * ends it is in the driver, and the reset waits for that. */
static bool place_may_end(const struct vidmm_place *place)
{
	return place->departure && place->waits == 0 && place->pins == 0 &&
	       (!place->reset.debt.segment || place->allocation->driver);
}

static void place_end_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (!place_may_end(place))
		return;
	evict_forget(&place->eviction);
	plan_add(&place->manager->plan, PLAN_DEPARTURES, &place->departure->link);
	atomic_store_explicit(&place->allocation->place, NULL, memory_order_release);
	list_remove(&place->all_link);
	place->manager->plan.has_changes = true;
	/* The driver knows that it has no memory there any more; the aperture has to hear it. */
	place->subject = (struct miniport_subject){ 0 };
	if (place->reset.debt.segment && place->reset.debt.is_mapping)
		list_push_back(&place->manager->ghosts, &place->all_link);
	else
		place_free(place);
}

static enum vidmm_leave_reason place_goes_why(const struct vidmm_place *place)
{
	if (place->end != PLACE_LIVES)
		return VIDMM_LEAVES_DESTROYED;
	if (place->stay == PLACE_MISPLACED)
		return VIDMM_LEAVES_MISPLACED;
	return place_offer_is_due(place) ? VIDMM_LEAVES_OFFERED : VIDMM_LEAVES_BY_EVICT_CALL;
}

void place_settle_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->state == PLACE_IN) {
		place_sort_locked(place);
		if (place_goes_now(place))
			place_leave_locked(place, place_goes_why(place));
	} else if (place->state == PLACE_OUT) {
		window_settle_locked(place);
		if (place->end == PLACE_DYING)
			place_end_locked(place);
	}
}

void place_unpin_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	place->pins--;
	if (place->pins == 0 && place->awaits_unpin) {
		place->awaits_unpin = false;
		place->manager->plan.has_changes = true;
	}
	place_settle_locked(place);
}

/* ---- the states ---- */

static void place_trace_ranges(const struct vidmm_place *place)
{
	const struct page_run *runs = page_set_runs(&place->pages);

	for (uint32_t i = 0; i < place->pages.run_count; i++)
		trace_allocation_range(place->allocation->id, place->segment->id,
				       (uint64_t)runs[i].first_page * MACHINE_PAGE_BYTES,
				       (uint64_t)runs[i].count * MACHINE_PAGE_BYTES);
}

void place_trace_locked(const struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	trace_allocation_place(
		place->allocation->id, state_tables[STATES_PLACE].states[place->state],
		place->segment ? place->segment->id : 0, place->allocation->size_bytes);
	if (place->state == PLACE_IN && place->segment && trace_has(TRACE_WITH_ADDRESSES))
		place_trace_ranges(place);
}

static void place_set_state_locked(struct vidmm_place *place, enum place_state state)
{
	lock_assert_held(&place->manager->lock);
	place->state = (enum place_state)state_step(STATES_PLACE, place->state, state);
	place_trace_locked(place);
}

void segment_trace_locked(const struct vidmm *manager, const struct vidmm_segment *segment)
{
	lock_assert_held(&manager->lock);
	trace_segment_bytes(manager->config.adapter_id, segment->id, segment->resident_bytes,
			    segment->entering_bytes, segment->leaving_bytes);
}

void bindings_sort_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	list_each (struct vidmm_binding, each, &place->listings, place_link)
		binding_sort_locked(each);
}

static uint64_t place_bytes(const struct vidmm_place *place)
{
	return segment_bytes(place->segment, &place->wish);
}

void place_written_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	place->copy = state_step(STATES_PLACE_COPY, place->copy, PLACE_COPY_OLD);
}

void place_copy_open_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->copy == PLACE_COPY_GOOD)
		place->copy = state_step(STATES_PLACE_COPY, place->copy, PLACE_COPY_OPEN);
}

void place_enter_locked(struct vidmm_place *place, const struct placement *where,
			const struct page_set *pages)
{
	lock_assert_held(&place->manager->lock);
	assert(place->state == PLACE_OUT);
	place->segment = where->segment;
	place->wish = where->wish;
	place->pages = *pages;
	place->has_changed_group = false;
	place_set_placed_locked(place);
	place->copy = state_step(STATES_PLACE_COPY, place->copy, PLACE_COPY_OPEN);
	place->reset.moved_generation = pager_generation(place->manager->config.pager);
	place->segment->entering_bytes += place_bytes(place);
	if (UNLIKELY(place->is_room_wanted))
		trace_room_given(place->allocation->id, where->segment->id,
				 place->allocation->size_bytes);
	place->is_room_wanted = false;
	segment_trace_locked(place->manager, place->segment);
	place_set_state_locked(place, PLACE_ENTERING);
	bindings_sort_locked(place);
	plan_add(&place->manager->plan, PLAN_ENTERING, &place->plan_link);
}

void place_arrive_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	assert(place->state == PLACE_ENTERING);
	place->segment->entering_bytes -= place_bytes(place);
	vidmm_count(&place->segment->traffic.entered, place->allocation->size_bytes);
	place_use_locked(place);
	if (place->offer == PLACE_RECLAIMED)
		place->offer = state_step(STATES_PLACE_OFFER, place->offer, PLACE_NOT_OFFERED);
	place_set_state_locked(place, PLACE_IN);
	window_arrive_locked(place);
	bindings_sort_locked(place);
	place_answer_locked(place, STATUS_SUCCESS);
	place->manager->plan.has_changes = true;
	place_settle_locked(place);
}

/* Notes whose work has to be waited for: of devices that list it, lost ones too, the hardware may have some. */
static void dependents_collect_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	list_each (struct vidmm_binding, binding, &place->listings, place_link) {
		list_push_back(&place->dependents, &binding->leave_link);
	}
}

void device_suspend_locked(struct vidmm_device *device)
{
	lock_assert_held(&device->process->manager->lock);
	if (device->is_lost || device->is_suspended)
		return;
	device->is_suspended = true;
	sched_owner_suspend(device->owner);
}

/* Suspends the devices that list it: their new work waits until it is back. */
static void devices_suspend_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place_offer_is_due(place))
		return;
	list_each (struct vidmm_binding, each, &place->listings, place_link)
		device_suspend_locked(each->device);
}

/* Begins a move: only work that the hardware has already may still use it. */
static void place_part_locked(struct vidmm_place *place, enum place_state state)
{
	lock_assert_held(&place->manager->lock);
	assert(place->state == PLACE_IN && place->pins == 0);
	place_unsort_locked(place);
	place->reset.moved_generation = pager_generation(place->manager->config.pager);
	place_set_state_locked(place, state);
	dependents_collect_locked(place);
	devices_suspend_locked(place);
	bindings_sort_locked(place);
}

static void place_say_why_locked(const struct vidmm_place *place, enum vidmm_leave_reason why,
				 uint64_t for_allocation_id,
				 const struct vidmm_process *for_process)
{
	static const char *const ranks[EVICT_CLASS_COUNT] = {
		[EVICT_DESTROYED] = "destroyed",
		[EVICT_OFFERED_LOW] = "offered low",
		[EVICT_OFFERED_NORMAL] = "offered normal",
		[EVICT_OFFERED_HIGH] = "offered high",
		[EVICT_LEFTOVER] = "leftover",
		[EVICT_NEEDED] = "needed",
	};

	lock_assert_held(&place->manager->lock);
	place->manager->leave_counts[why]++;
	trace_allocation_leaves(place->allocation->id, leave_reasons[why], for_allocation_id,
				for_process ? for_process->id : 0, ranks[place->eviction.class]);
}

void place_leave_locked(struct vidmm_place *place, enum vidmm_leave_reason why)
{
	lock_assert_held(&place->manager->lock);
	place_leave_for_locked(place, why, 0, NULL);
}

void place_leave_for_locked(struct vidmm_place *place, enum vidmm_leave_reason why,
			    uint64_t for_allocation_id, const struct vidmm_process *for_process)
{
	lock_assert_held(&place->manager->lock);
	place_say_why_locked(place, why, for_allocation_id, for_process);
	place->move.content =
		MOVE_NOTHING; /* what becomes of it is known when its way out starts */
	place->segment->leaving_bytes += place_bytes(place);
	place_part_locked(place, PLACE_LEAVING);
	plan_add(&place->manager->plan, PLAN_LEAVING, &place->plan_link);
}

void place_shift_locked(struct vidmm_place *place, const struct page_set *pages)
{
	lock_assert_held(&place->manager->lock);
	place->shift.pages = *pages;
	place->shift.has_switched = false;
	place->segment->shifting_bytes += place_bytes(place);
	place_part_locked(place, PLACE_SHIFTING);
	plan_add(&place->manager->plan, PLAN_SHIFTING, &place->plan_link);
}

static void dependents_release_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	while (list_pop_front(&place->dependents))
		place->manager->plan.has_changes = true;
}

static void pages_switch_locked(struct vidmm_place *place)
{
	struct page_set pages = place->pages;

	lock_assert_held(&place->manager->lock);
	place->pages = place->shift.pages;
	place->shift.pages = pages;
	place->shift.has_switched = !place->shift.has_switched;
	place->lead_version++;
}

void place_lead_there_locked(struct vidmm_place *place, bool leads_there)
{
	lock_assert_held(&place->manager->lock);
	if (leads_there && place->state == PLACE_SHIFTING && !place->shift.has_switched)
		pages_switch_locked(place);
	place_set_leads_there(place, leads_there);
}

void place_set_leads_there(struct vidmm_place *place, bool leads_there)
{
	if (leads_there && !place->leads_there)
		place->lead_version++;
	place->leads_there = leads_there;
}

/* Ends a shift: it keeps the pages it moved to, or those it had, and gives the others back. */
static void shift_end_locked(struct vidmm_place *place, bool has_moved)
{
	lock_assert_held(&place->manager->lock);
	if (place->shift.has_switched != has_moved)
		pages_switch_locked(place);
	place->shift.has_switched = false;
	place->segment->shifting_bytes -= place_bytes(place);
	segment_give(place->segment, &place->wish, &place->shift.pages);
}

static void place_back_in_locked(struct vidmm_place *place, NTSTATUS status)
{
	lock_assert_held(&place->manager->lock);
	assert(place->handover.lent_bytes == 0);
	list_remove(&place->handover.link);
	dependents_release_locked(place);
	place_set_state_locked(place, PLACE_IN);
	bindings_sort_locked(place);
	place_answer_locked(place, status);
	place->manager->plan.has_changes = true;
	place_settle_locked(place);
}

void place_shift_over_locked(struct vidmm_place *place, bool has_moved)
{
	lock_assert_held(&place->manager->lock);
	assert(place->state == PLACE_SHIFTING);
	shift_end_locked(place, has_moved);
	if (!has_moved) {
		place->shift.failed_at = place->manager->defragments;
		place->shift.slide_to = 0;
	}
	place_back_in_locked(place, STATUS_SUCCESS);
}

enum {
	SHORTAGE_IS_SURE =
		8 /* one may have failed for another reason, or another bank has a page */
};

static void shortage_count_locked(const struct vidmm_place *place)
{
	struct vidmm_account *account = place->allocation->account;
	uint64_t bytes = place->allocation->size_bytes;

	lock_assert_held(&place->manager->lock);
	if (!account)
		return;
	struct vidmm_shortage *shortage = &account->shortage;
	uint64_t generation = place->manager->retry_generation;
	uint64_t now_ns = clock_now_ns();

	if (shortage->generation != generation || now_ns >= shortage->end_ns)
		*shortage = (struct vidmm_shortage){ generation, now_ns + RETRY_NS, UINT64_MAX, 0 };
	shortage->count++;
	shortage->least_bytes = lower_of(bytes, shortage->least_bytes);
}

bool place_lacks_copy_locked(const struct vidmm_place *place, uint64_t now_ns)
{
	const struct vidmm_allocation *allocation = place->allocation;
	const struct vidmm_shortage *shortage =
		allocation->account ? &allocation->account->shortage : NULL;

	lock_assert_held(&place->manager->lock);
	return shortage && shortage->count >= SHORTAGE_IS_SURE && now_ns < shortage->end_ns &&
	       shortage->generation == place->manager->retry_generation &&
	       allocation->size_bytes >= shortage->least_bytes && !place->segment->is_system &&
	       !allocation->traits.is_kept_in_system && !allocation->backing.is_clients &&
	       !place_is_dropped(place);
}

void place_stay_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	assert(place->state == PLACE_LEAVING);
	if (place->move.lacks_pages)
		shortage_count_locked(place);
	place_lead_there_locked(place, true);
	place->segment->leaving_bytes -= place_bytes(place);
	place_set_wanted_locked(place);
	if (place->lock == PLACE_LOCK_AWAITED)
		place_set_lock_locked(place, PLACE_NOT_LOCKED);
	window_settle_locked(place);
	place->given_up_at = place->manager->retry_generation;
	/* In place is no answer where it may not be. */
	place_back_in_locked(place,
			     place->stay == PLACE_MISPLACED ? STATUS_NO_MEMORY : STATUS_SUCCESS);
}

/* ---- room that changes hands before it is left ---- */

void place_part_from_room_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->state != PLACE_LEAVING || place->segment->is_system)
		return;
	place->handover.first_page = page_set_runs(&place->pages)[0].first_page;
	list_push_back(&place->segment->parting, &place->handover.link);
}

static void place_lend_locked(struct vidmm_place *place, uint64_t bytes)
{
	uint64_t size_bytes = place->allocation->size_bytes;

	lock_assert_held(&place->manager->lock);
	/* Of the content's size: granules are nobody's business there. */
	trace_allocation_lends(
		place->allocation->id, place->segment->id,
		lower_of(bytes, size_bytes - lower_of(place->handover.lent_bytes, size_bytes)));
	place->handover.lent_bytes += bytes;
	place->segment->lent_bytes += bytes;
}

/* Takes room that others are still leaving. Not for memory of a driver, which its CPU may write at once, nor for what
 * is locked, which comes with its pages. */
bool place_take_over_locked(struct vidmm_place *place, const struct placement *where,
			    struct page_set *pages)
{
	lock_assert_held(&place->manager->lock);
	if (place->allocation->driver || place_has_cpu_lock(place))
		return false;
	list_each (struct vidmm_place, parting, &where->segment->parting, handover.link) {
		if (!NT_SUCCESS(segment_take_over(where->segment, &where->wish, &parting->pages,
						  pages)))
			continue;
		place_lend_locked(parting, segment_bytes(where->segment, &where->wish));
		place->handover.behind_packet = paging_job_last_packet(&parting->move.job);
		return true;
	}
	return false;
}

static void place_count_left_locked(struct vidmm_place *place)
{
	struct vidmm_traffic *traffic = &place->segment->traffic;

	lock_assert_held(&place->manager->lock);
	vidmm_count(&traffic->left, place->allocation->size_bytes);
	if (place->end == PLACE_DYING)
		vidmm_count(&traffic->closed, place->allocation->size_bytes);
}

void place_turn_back_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	/* Without a window there, it may be elsewhere. */
	if (place->move.turned_back == STATUS_GRAPHICS_CANT_LOCK_MEMORY &&
	    place->allocation->supported_segments &
		    roles_allowed_segments(place, place_has_cpu_lock(place))) {
		place_out_locked(place);
		return;
	}
	place->given_up_at = place->manager->retry_generation;
	room_look_again(place->manager, clock_deadline(RETRY_NS));
	place_answer_locked(place, STATUS_NO_MEMORY);
	place_out_locked(place);
}

void place_out_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	assert(place->state != PLACE_OUT);
	place_lead_there_locked(place, false);
	window_out_locked(place);
	if (place->state == PLACE_LEAVING)
		place->segment->leaving_bytes -= place_bytes(place);
	list_remove(&place->handover.link);
	place->segment->lent_bytes -= place->handover.lent_bytes;
	place->handover.lent_bytes = 0;
	if (place->state == PLACE_SHIFTING)
		shift_end_locked(place, false);
	if (place->state == PLACE_ENTERING)
		place->segment->entering_bytes -= place_bytes(place);
	else
		place_count_left_locked(place);
	place_unsort_locked(place);
	if (place->wish.form == FORM_MAPPED || place->wish.form == FORM_SYSTEM)
		place->manager->aperture_committed_bytes -= place->wish.size_bytes;
	segment_give(place->segment, &place->wish, &place->pages);
	segment_trace_locked(place->manager, place->segment);
	place->segment = NULL;
	place->shift.slide_to = 0;
	place_set_stay_locked(place, PLACE_STAYS);
	/* Who gave up tries again for room that is free for good, not for what its owner wants back. */
	if (!place_is_wanted(place))
		place->manager->retry_generation++;
	place_copy_open_locked(place);
	dependents_release_locked(place);
	place_set_state_locked(place, PLACE_OUT);
	bindings_sort_locked(place);
	if (!place_is_wanted(place))
		place_answer_locked(place, STATUS_SUCCESS);
	else if (!place_is_needed(place))
		place_answer_locked(place, STATUS_DEVICE_REMOVED);
	place->manager->plan.has_changes = true;
	place_settle_locked(place);
}

void place_vanish_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	assert(place->state == PLACE_IN && place->pins == 0);
	place_say_why_locked(place, VIDMM_LEAVES_BY_RESET, 0, NULL);
	devices_suspend_locked(place);
	place_out_locked(place);
}
