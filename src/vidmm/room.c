/* SPDX-License-Identifier: MIT */
/*
 * room.c - whose turn it is, and who has to go for it.
 *
 *   in:   those who wait for everything they list to be in place, first come first served
 *   out:  places that enter, places that leave
 *
 * Room is made in this order:
 *	1. what is free
 *	2. destroyed memory whose end has not come yet, then offered memory, LOW, NORMAL, HIGH, the
 *	   oldest offer first: dropped, no byte is moved
 *	3. leftovers that no list names any more
 *	4. what other devices list, of processes over their budget before those within it, the lowest
 *	   priority first and among equals whom the policy chooses (evict/evict.h). Such a device is
 *	   suspended and gets its own turn, to have it all back: time slicing.
 *	5. page tables: of processes that do nothing, and then of those whose slice is over. Their
 *	   devices are suspended and get their turn likewise.
 * The first in the row may do all of that, those behind it 1 to 3 only: two devices that take from
 * each other what they are still collecting would never run. Devices without work, and without a
 * call that waits, come after all others: they get back what they lost when there is room. What is
 * waited for in a segment by one is not taken by those behind it.
 *
 * Who is busy is waited for: work that uses a candidate is queued, it is on its way in, or its
 * device has just got it back (a slice). When nothing is left to wait for, there can be no room:
 * the request is answered with STATUS_NO_MEMORY and the device starves.
 *
 * To decide takes memory of the kernel's own, for the bounds of what is taken. Where there is none,
 * calls are refused, and all others look again a little later: nobody goes, and nobody starves for it.
 */
#include "base/clock.h"
#include "trace/trace.h"
#include "vidmm/control.h"
#include "vidmm/allocation_list_turns.h"
#include "vidmm/place.h"
#include "vidmm/room_parts.h"
#include "vidmm/table_states.h"

void room_look_again(struct vidmm *manager, uint64_t at_ns)
{
	uint64_t set = atomic_load(&manager->tick_at_ns);

	while (at_ns < set && !atomic_compare_exchange_weak(&manager->tick_at_ns, &set, at_ns))
		;
	if (at_ns < set)
		notice_give(&manager->tick);
}

/* ---- victims ---- */

/* May memory that the device lists be taken? If not now, `hint->until_ns` says when to look again. */
static bool device_gives(const struct room_search *search, const struct vidmm_device *device,
			 struct retry_hint *hint)
{
	if (device->is_lost || device->stage == DEVICE_HELD)
		return true;
	/* Who makes page tables does not take what they are to show. */
	if (device == search->own || (!search->own && device->process == search->process))
		return false;
	if (search->now_ns >= device->slice_end_ns ||
	    atomic_load_explicit(&device->owner->pending, memory_order_relaxed) == 0)
		return true;
	retry_hint_until(hint, device->slice_end_ns);
	return false;
}

/*
 * It was evicted or offered, and goes by itself when the work in front of that is over. Nobody
 * waits for work that has to wait for others itself: of a suspended device, or behind a fence.
 */
static bool binding_goes_soon(const struct room_search *search, const struct vidmm_binding *binding,
			      struct retry_hint *hint)
{
	if (binding->waiting == BINDING_WAITS_FOR_NOTHING || binding->device->is_lost ||
	    binding->device->is_suspended || binding->device->stage == DEVICE_HELD ||
	    search->now_ns >= binding->wait_end_ns)
		return false;
	retry_hint_until(hint, binding->wait_end_ns);
	return true;
}

static bool place_gives_locked(const struct room_search *search, const struct vidmm_place *place,
			       struct retry_hint *hint)
{
	lock_assert_held(&search->manager->lock);
	if (place->given_up_at == search->manager->retry_generation ||
	    place_lacks_copy_locked(place, search->now_ns))
		return false;
	if (place_offer_is_due(place))
		return true;
	list_each (const struct vidmm_binding, binding, &place->listings, place_link) {
		if (binding_goes_soon(search, binding, hint) ||
		    !device_gives(search, binding->device, hint)) {
			hint->is_work |= place->waits > 0;
			return false;
		}
	}
	return true;
}

static bool is_over_budget_locked(const struct vidmm_process *process, enum vidmm_group group)
{
	lock_assert_held(&process->manager->lock);
	return process->usage_bytes[group] > budget_share_locked(process, group);
}

/* Whether anybody but the one that looks has more than he should: mostly nobody. */
static bool is_anybody_over_budget_locked(const struct room_search *search)
{
	lock_assert_held(&search->manager->lock);
	list_each (const struct vidmm_process, process, &search->manager->processes, link) {
		if (process != search->process && (is_over_budget_locked(process, VIDMM_LOCAL) ||
						   is_over_budget_locked(process, VIDMM_NON_LOCAL)))
			return true;
	}
	return false;
}

/* True when a process that is within its budget lists it. */
static bool place_is_spared_locked(const struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	list_each (const struct vidmm_binding, binding, &place->listings, place_link) {
		if (!is_over_budget_locked(binding->device->process,
					   (enum vidmm_group)binding->group))
			return true;
	}
	return false;
}

struct question {
	const struct room_search *search;
	struct retry_hint *hint;
};

static struct vidmm_place *entry_place(const struct evict_entry *entry)
{
	return container_of(entry, struct vidmm_place, eviction);
}

static enum evict_answer answer(bool may_go)
{
	return may_go ? EVICT_GOES : EVICT_STAYS;
}

/* True when nothing that the device lists may be taken, so that its places need not be asked one by one. */
static bool device_keeps_all_locked(const struct question *question,
				    const struct vidmm_device *device)
{
	lock_assert_held(&question->search->manager->lock);
	if (question->search->spares_budgets &&
	    !is_over_budget_locked(device->process, VIDMM_LOCAL) &&
	    !is_over_budget_locked(device->process, VIDMM_NON_LOCAL))
		return true;
	return !device_gives(question->search, device, question->hint);
}

static enum evict_answer needed_may_go_locked(const struct evict_entry *entry,
					      const struct question *question)
{
	const struct vidmm_place *place = entry_place(entry);

	lock_assert_held(&question->search->manager->lock);
	/* Those behind the first end their walk here. */
	if (!question->search->is_first)
		return EVICT_GOES;
	if (entry->owner && device_keeps_all_locked(question, entry->owner))
		return EVICT_OWNER_KEEPS;
	if (question->search->spares_budgets && place_is_spared_locked(place))
		return EVICT_STAYS;
	return answer(place_gives_locked(question->search, place, question->hint));
}

static enum evict_answer may_go_locked(const struct evict_entry *entry, void *context)
{
	const struct question *question = context;
	const struct room_search *search = question->search;

	lock_assert_held(&search->manager->lock);
	if (entry->class == EVICT_NEEDED)
		return needed_may_go_locked(entry, question);
	return answer(place_gives_locked(search, entry_place(entry), question->hint));
}

struct vidmm_place *room_victim(const struct room_search *search, struct vidmm_segment *segment,
				struct evict_walk *walk, struct retry_hint *hint)
{
	struct question question = { search, hint };
	struct evict_entry *entry =
		evict_walk_next(&segment->candidates, walk, may_go_locked, &question);

	if (!entry || (entry->class == EVICT_NEEDED && !search->is_first))
		return NULL;
	return entry_place(entry);
}

/* ---- making room ---- */

void room_evict_locked(const struct room_search *search, struct vidmm_place *victim)
{
	bool is_for_budget = victim->eviction.class == EVICT_NEEDED && search->spares_budgets;

	lock_assert_held(&victim->manager->lock);
	place_leave_for_locked(victim,
			       is_for_budget ? VIDMM_LEAVES_FOR_BUDGET : VIDMM_LEAVES_FOR_ROOM,
			       search->allocation_id, search->process);
}

static bool is_in_one_piece(enum segment_form form)
{
	return form == FORM_CONTIGUOUS || form == FORM_MAPPED;
}

/* Is there enough that could go? Nobody goes for nothing. */
static bool segment_has_victims_locked(const struct room_search *search,
				       struct vidmm_segment *segment, uint64_t bytes,
				       struct retry_hint *hint)
{
	struct evict_walk walk;
	struct vidmm_place *place;
	uint64_t found = 0;

	lock_assert_held(&search->manager->lock);
	evict_walk_begin(&walk, search->manager->use_clock);
	while (found < bytes && (place = room_victim(search, segment, &walk, hint)))
		found += segment_bytes(segment, &place->wish);
	if (found < bytes)
		found += tables_give_locked(search, segment, bytes - found, false, hint);
	return found >= bytes;
}

/* Victims leave until so much is free, or nobody is left. How much is. */
static uint64_t segment_evict_locked(const struct room_search *search,
				     struct vidmm_segment *segment, uint64_t free_bytes,
				     uint64_t need_bytes, struct retry_hint *hint)
{
	struct vidmm_place *place;
	struct evict_walk walk;

	lock_assert_held(&search->manager->lock);
	evict_walk_begin(&walk, search->manager->use_clock);
	while (free_bytes < need_bytes && (place = room_victim(search, segment, &walk, hint))) {
		free_bytes += segment_bytes(segment, &place->wish);
		room_evict_locked(search, place);
	}
	return free_bytes;
}

/* Makes enough leave; true when what leaves, or soon may, is worth waiting for. */
static bool segment_make_room_locked(const struct room_search *search,
				     const struct placement *where, struct retry_hint *hint)
{
	struct vidmm_segment *segment = where->segment;
	uint64_t need = segment_bytes(segment, &where->wish) + segment->awaited_bytes;
	uint64_t free_soon =
		segment_free_bytes(segment, where->wish.form) + segment_soon_free_bytes(segment);
	/* Enough in pieces is not enough: more has to go. */
	bool is_broken = is_in_one_piece(where->wish.form) && segment_soon_free_bytes(segment) == 0;
	struct room_search sparing = *search;

	lock_assert_held(&search->manager->lock);
	if (free_soon < need &&
	    !segment_has_victims_locked(search, segment, need - free_soon, hint))
		return false;
	if (is_broken && need <= free_soon)
		need = free_soon + 1;
	sparing.spares_budgets = true;
	if (search->is_first && free_soon < need && is_anybody_over_budget_locked(search))
		free_soon = segment_evict_locked(&sparing, segment, free_soon, need, hint);
	free_soon = segment_evict_locked(search, segment, free_soon, need, hint);
	if (free_soon < need)
		(void)tables_give_locked(search, segment, need - free_soon, true, hint);
	if (segment_soon_free_bytes(segment) == 0)
		return false;
	segment->awaited_bytes += segment_bytes(segment, &where->wish);
	return true;
}

/* Locked by the CPU, and not only until a window is closed. */
static bool place_is_locked_on(const struct vidmm_place *place)
{
	return place_has_cpu_lock(place) && (place->window.state == CPU_WINDOW_CLOSED ||
					     place->window.state == CPU_WINDOW_OPENING ||
					     place->window.state == CPU_WINDOW_OPEN);
}

/*
 * It goes, or can, when something is over. What only the list holds whose turn it is does not: its end,
 * too, waits for the work that waits for this room. Locks of what was destroyed end with it.
 */
static bool held_goes_soon(const struct vidmm_place *place, bool is_asking)
{
	if (place->pins == 0 && (place->retired > 0 || place->end != PLACE_LIVES))
		return true;
	if (is_asking && place_is_locked_on(place))
		return false;
	return place->pins > 0 ? place->pins > place->waiter_pins : place->waits > 0;
}

bool segment_is_busy(const struct vidmm_segment *segment, bool is_asking)
{
	/* What enters can go again when it is in, even if it enters for the one that looks. */
	if (segment_soon_free_bytes(segment) > 0 || segment->entering_bytes > 0)
		return true;

	list_each (struct vidmm_place, each, &segment->held, held_link) {
		if (held_goes_soon(each, is_asking))
			return true;
	}
	return false;
}

/* The device's own list would fit if its pieces lay otherwise: all of it leaves and comes back. Done once. */
static bool device_compact_locked(const struct room_search *search, const struct placement *where)
{
	struct vidmm_segment *segment = where->segment;

	lock_assert_held(&search->manager->lock);
	if (!is_in_one_piece(where->wish.form) || !search->device ||
	    search->device->was_compacted ||
	    segment_free_bytes(segment, where->wish.form) <
		    segment_bytes(segment, &where->wish) + segment->awaited_bytes)
		return false;
	search->device->was_compacted = true;
	segment->is_emptying = true;
	list_each (struct vidmm_place, place, &search->manager->places, all_link) {
		if (place->state == PLACE_IN && place->segment == segment &&
		    place->eviction.is_resident && !place->allocation->traits.is_unmoveable)
			place_leave_for_locked(place, VIDMM_LEAVES_TO_COMPACT,
					       search->allocation_id, search->process);
	}
	return segment->leaving_bytes > 0;
}

/* Makes room in the segment, or, where all apertures together are at their limit, in any of them. */
static bool placement_make_room_locked(const struct room_search *search,
				       const struct placement *where, struct retry_hint *hint,
				       bool *is_busy)
{
	bool has_room = limit_has_room(search->manager, where);
	bool is_soon = has_room ? segment_make_room_locked(search, where, hint)
				: limit_make_room_locked(search, where, hint);

	lock_assert_held(&search->manager->lock);
	*is_busy |= segment_is_busy(where->segment, search->is_asking) ||
		    (!has_room && limit_is_busy(search->manager));
	return is_soon;
}

/* In which segments a victim would help: in all apertures, where they have one limit together. */
static uint32_t placement_segments(const struct room_search *search,
				   const struct placement placements[], uint32_t count)
{
	uint32_t segments = 0;

	for (uint32_t i = 0; i < count; i++)
		segments |= UINT32_C(1) << (placements[i].segment->id - 1);
	return limit_segments(search->manager, segments);
}

enum room room_make_locked(struct room_search *search, const struct placement placements[],
			   uint32_t count)
{
	struct retry_hint hint = { .until_ns = CLOCK_FOREVER };
	bool is_busy = !search->is_first;
	uint32_t segments = placement_segments(search, placements, count);

	lock_assert_held(&search->manager->lock);
	for (uint32_t i = 0; i < count; i++) {
		if (placement_make_room_locked(search, &placements[i], &hint, &is_busy))
			return ROOM_SOON;
	}
	if (search->is_first)
		lists_take_turns_locked(search, segments, &hint);
	if (hint.until_ns != CLOCK_FOREVER)
		room_look_again(search->manager, hint.until_ns);
	if (is_busy || hint.is_work || hint.until_ns != CLOCK_FOREVER ||
	    room_own_goes_soon_locked(search, segments))
		return ROOM_SOON;
	for (uint32_t i = 0; i < count; i++) {
		if (device_compact_locked(search, &placements[i]))
			return ROOM_SOON;
	}
	return ROOM_NEVER;
}

/* ---- finding room ---- */

/* Takes room for it there if there is any. ROOM_FOUND: it is entering. ROOM_NEVER: it cannot be there. */
static enum room room_take_locked(struct room_search *search, struct vidmm_place *place,
				  const struct placement *where)
{
	struct page_set pages = { .run_count = 0 };

	lock_assert_held(&search->manager->lock);
	place->handover.behind_packet = 0;
	if (!limit_has_room(search->manager, where))
		return ROOM_NEVER;
	NTSTATUS status = segment_take(where->segment, &where->wish, &pages);
	if (status == STATUS_NO_MEMORY)
		return ROOM_NO_MEMORY;
	if (!NT_SUCCESS(status) && !place_take_over_locked(place, where, &pages))
		return ROOM_NEVER;
	if (place_has_cpu_lock(place) && where->segment->config.window_pages > 0 &&
	    !NT_SUCCESS(window_take_locked(place, where->segment))) {
		segment_give(where->segment, &where->wish, &pages);
		return ROOM_NO_MEMORY;
	}
	if (where->segment->is_system)
		search->manager->aperture_committed_bytes += where->wish.size_bytes;
	place_enter_locked(place, where, &pages);
	return ROOM_FOUND;
}

bool segments_are_emptying(const struct placement placements[], uint32_t count)
{
	bool are_emptying = false;

	for (uint32_t i = 0; i < count; i++) {
		struct vidmm_segment *segment = placements[i].segment;

		segment->is_emptying = segment->is_emptying && segment->leaving_bytes > 0;
		are_emptying |= segment->is_emptying;
	}
	return are_emptying;
}

static enum room room_find_in_locked(struct room_search *search, struct vidmm_place *place,
				     uint32_t allowed)
{
	struct placement placements[VIDMM_MAX_SEGMENTS];
	uint32_t count = placement_list(search->manager, place, allowed, placements);
	uint32_t segments = placement_segments(search, placements, count);

	lock_assert_held(&search->manager->lock);
	if (segments & search->taken_segments || segments_are_emptying(placements, count))
		return ROOM_SOON;
	for (uint32_t i = 0; i < count; i++) {
		enum room taken = room_take_locked(search, place, &placements[i]);

		if (taken != ROOM_NEVER)
			return taken;
	}
	search->allocation_id = place->allocation->id;
	enum room room = count > 0 ? room_make_locked(search, placements, count) : ROOM_NEVER;
	search->allocation_id = 0;
	if (room == ROOM_SOON) {
		search->taken_segments |= segments;
		if (!place->is_room_wanted)
			trace_room_wanted(place->allocation->id, search->process->id,
					  place->allocation->size_bytes, segments);
		place->is_room_wanted = true;
	}
	return room;
}

/* Listed in another group than it was charged for: the usage goes with it. */
static void place_regroup_locked(struct vidmm_place *place, enum vidmm_group group)
{
	lock_assert_held(&place->manager->lock);
	place->group = group;
	list_each (struct vidmm_binding, binding, &place->listings, place_link) {
		int64_t bytes = (int64_t)place->allocation->size_bytes;

		if (binding->is_charged) {
			budget_charge_locked(binding->device->process,
					     (enum vidmm_group)binding->group, -bytes);
			budget_charge_locked(binding->device->process, group, bytes);
		}
		binding->group = (uint8_t)group;
	}
}

/* True when looking for room for it makes no sense: it is not out, was given up, or may be nowhere while it is locked. */
static bool place_is_passed_over(const struct vidmm_place *place)
{
	return place->state != PLACE_OUT ||
	       place->given_up_at == place->manager->retry_generation ||
	       !(place->allocation->supported_segments &
		 roles_allowed_segments(place, place_has_cpu_lock(place)));
}

static enum room room_find(struct room_search *search, struct vidmm_place *place)
{
	struct vidmm *manager = search->manager;
	uint32_t allowed = roles_allowed_segments(place, place_has_cpu_lock(place));
	enum vidmm_group other = place->group == VIDMM_LOCAL ? VIDMM_NON_LOCAL : VIDMM_LOCAL;

	if (place_is_passed_over(place))
		return ROOM_SKIPPED;
	enum room room =
		room_find_in_locked(search, place, allowed & manager->group_segments[place->group]);
	if (room != ROOM_NEVER || place->has_changed_group ||
	    (vidmm_options(manager) & VIDMM_NO_DEMOTION) ||
	    !(place->allocation->supported_segments & allowed & manager->group_segments[other]))
		return room;
	/* For good: who looks here and there by turns has everybody else move for nothing. */
	place->has_changed_group = true;
	place_regroup_locked(place, other);
	return room_find_in_locked(search, place, allowed & manager->group_segments[other]);
}

/* It is not tried again before something changes; calls are answered. `obstacle` is what it lacks when that is not room. */
static void place_give_up_locked(struct vidmm_place *place, NTSTATUS obstacle)
{
	lock_assert_held(&place->manager->lock);
	place->given_up_at = place->manager->retry_generation;
	place->has_changed_group = false;
	place->move.turned_back = obstacle;
	place_answer_locked(place, STATUS_NO_MEMORY);
}

void device_starve_locked(struct vidmm_device *device)
{
	lock_assert_held(&device->process->manager->lock);
	if (device->supply != DEVICE_SUPPLIED)
		return;
	device->supply = state_step(STATES_DEVICE_SUPPLY, device->supply, DEVICE_STARVES);
	device_act_locked(device);
}

static bool list_names(const struct vidmm_allocation_list *list, const struct vidmm_place *place)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (binding_place(list->entries[i].binding) == place)
			return true;
	}
	return false;
}

void place_fail_waiters_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	list_each (struct vidmm_binding, each, &place->listings, place_link) {
		struct vidmm_device *device = each->device;

		if (!device->is_lost)
			device_starve_locked(device);
	}
	list_each_safe (struct vidmm_waiter, waiter, &place->manager->waiters, link) {
		struct vidmm_allocation_list *list =
			container_of(waiter, struct vidmm_allocation_list, waiter);

		if (waiter->kind == VIDMM_WAITER_LIST && list_names(list, place))
			list_fail_locked(list);
	}
}

/* ---- turns: true while it is still the search's ---- */

/*
 * It cannot have everything, because the CPU has something locked or there is no room for it: it cannot
 * work either.
 */
static bool device_is_stuck(const struct vidmm_device *device)
{
	const struct vidmm_tables *tables = &device->process->tables;

	if (tables_state(tables) == VIDMM_TABLES_OUT &&
	    tables->given_up_at == device->process->manager->retry_generation)
		return true;
	list_each (struct vidmm_binding, each, &device->absent, device_link) {
		if (place_is_passed_over(binding_place(each)))
			return true;
	}
	return false;
}

/* True when a call waits for something of the device for which room can be looked for. */
static bool device_is_awaited(const struct vidmm_device *device)
{
	if (device->awaited_count == 0)
		return false;
	list_each (struct vidmm_binding, each, &device->absent, device_link) {
		const struct vidmm_place *place = binding_place(each);

		if (!list_is_empty(&place->wants) && !place_is_passed_over(place))
			return true;
	}
	return false;
}

/*
 * It has work to do, or a call of its waits. One that has neither is not looked at further: it may have
 * lost very much.
 */
static bool device_is_eager(const struct vidmm_device *device)
{
	return device_is_awaited(device) ||
	       (atomic_load_explicit(&device->owner->pending, memory_order_relaxed) > 0 &&
		!device_is_stuck(device));
}

static bool is_stuck(struct stuck_device *stuck)
{
	if (!stuck->is_known)
		stuck->is_stuck = stuck->is_asked_for && device_is_stuck(stuck->device);
	stuck->is_known = true;
	return stuck->is_stuck;
}

/* True for what only a call has asked for while the device's queued work waits for something else: that comes first. */
static bool binding_is_for_later(const struct vidmm_binding *binding, struct stuck_device *stuck)
{
	const struct vidmm_device *device = binding->device;

	return binding->need == BINDING_PROMISED && device->is_suspended &&
	       device->needed_count > 0 && !is_stuck(stuck);
}

/* True when all requests for it can still be refused, and there is one. */
static bool place_is_asked_for(const struct vidmm_place *place)
{
	list_each (struct vidmm_want, each, &place->wants, link) {
		if (!each->request->can_be_refused)
			return false;
	}
	return !list_is_empty(&place->wants);
}

static bool device_look_locked(struct room_search *search, struct vidmm_device *device)
{
	struct list passed_over;
	struct list *link;
	bool is_soon = false;
	bool was_first = search->is_first;
	struct stuck_device stuck = { .device = device,
				      .is_asked_for = was_first || device->promised_count > 0 };

	lock_assert_held(&search->manager->lock);
	search->device = device;
	search->own = device;
	search->process = device->process;
	list_init(&passed_over);
	is_soon = device_look_for_tables_locked(
		search, device,
		was_first && (vidmm_tables_are_in(device->process) || !is_stuck(&stuck)));
	/* One that was found leaves the list by itself, and takes its twins along. */
	while (!is_soon && !room_search_is_cut(search) &&
	       (link = device->absent.next) != &device->absent) {
		struct vidmm_binding *binding =
			container_of(link, struct vidmm_binding, device_link);
		struct vidmm_place *place = binding_place(binding);
		uint32_t taken_segments = search->taken_segments;

		if (!stuck.is_known && stuck.is_asked_for && place_is_passed_over(place))
			stuck.is_known = stuck.is_stuck = true;
		/* Nobody gives anything up for who cannot work with it. */
		search->is_first =
			was_first && (!list_is_empty(&place->wants) || !is_stuck(&stuck));
		search->is_asking = place_is_asked_for(place);
		enum room room = binding_is_for_later(binding, &stuck) ? ROOM_SKIPPED
								       : room_find(search, place);
		is_soon = room == ROOM_SOON && search->is_first == was_first;
		if (room == ROOM_SOON && !is_soon) {
			search->taken_segments = taken_segments;
			room = ROOM_SKIPPED;
		}
		/* A call that waits for it gets the answer; else it is the device's end. */
		if (room == ROOM_NEVER && list_is_empty(&place->wants))
			device_starve_locked(device);
		if (room == ROOM_NEVER)
			place_give_up_locked(place, STATUS_SUCCESS);
		if (room == ROOM_NO_MEMORY) {
			/* Who can be refused is; who was promised it waits on. */
			if (search->is_asking)
				place_give_up_locked(place, STATUS_NO_MEMORY);
			else
				place->given_up_at = search->manager->retry_generation;
			room_look_again(search->manager, clock_deadline(RETRY_NS));
		}
		search->found += room == ROOM_FOUND;
		if (room != ROOM_FOUND && room != ROOM_SOON) {
			list_remove(link);
			list_push_back(&passed_over, link);
		}
	}
	list_splice_back(&passed_over, &device->absent);
	list_splice_back(&device->absent, &passed_over);
	search->is_first = was_first;
	search->is_asking = false;
	return is_soon || !list_is_empty(&device->moving) ||
	       tables_are_on_their_way(device->process);
}

/*
 * As device_compact_locked(): what it holds already stands in the way of the rest. Again only when others
 * have let go of something since: what they had stood in the way, too.
 */
static bool submission_compact_locked(const struct room_search *search,
				      struct vidmm_allocation_list *list)
{
	bool has_any = false;

	lock_assert_held(&search->manager->lock);
	if (list->compacted_at == search->manager->retry_generation)
		return false;
	list->compacted_at = search->manager->retry_generation;
	list_loosen_locked(list);
	for (uint32_t i = 0; i < list->count; i++) {
		struct vidmm_place *place = binding_place(list->entries[i].binding);

		if (place->state != PLACE_IN || !place->eviction.is_resident ||
		    place->allocation->traits.is_unmoveable)
			continue;
		place->segment->is_emptying = true;
		place_leave_for_locked(place, VIDMM_LEAVES_TO_COMPACT, search->allocation_id,
				       search->process);
		has_any = true;
	}
	/* Held again, wherever it is: nobody can have what it gives up itself. */
	(void)list_look_locked(list, true);
	return has_any;
}

static bool submission_look_locked(struct room_search *search, struct vidmm_allocation_list *list)
{
	lock_assert_held(&search->manager->lock);
	search->device = NULL;
	search->own = list->device;
	search->process = list->device->process;
	if (list_look_locked(list, search->is_first))
		return false;
	for (uint32_t i = 0; search->is_first && i < list->count; i++) {
		enum room room = room_find(search, binding_place(list->entries[i].binding));

		if (room == ROOM_NO_MEMORY)
			room_look_again(search->manager, clock_deadline(RETRY_NS));
		if (room == ROOM_SOON || room == ROOM_NO_MEMORY)
			return true;
		if (room == ROOM_NEVER && submission_compact_locked(search, list))
			return true;
		if (room == ROOM_NEVER) {
			list_fail_locked(list);
			return false;
		}
	}
	return true;
}

static bool waiter_is_eager(const struct vidmm_waiter *waiter)
{
	return waiter->kind != VIDMM_WAITER_DEVICE ||
	       device_is_eager(container_of(waiter, struct vidmm_device, waiter));
}

/* Its process is suspended: it gets nothing back before it goes on. Calls are carried out. */
static bool waiter_is_held(const struct vidmm_waiter *waiter)
{
	if (waiter->kind == VIDMM_WAITER_TABLES)
		return false;
	const struct vidmm_device *device =
		waiter->kind == VIDMM_WAITER_LIST
			? container_of(waiter, struct vidmm_allocation_list, waiter)->device
			: container_of(waiter, struct vidmm_device, waiter);
	return device->stage == DEVICE_HELD;
}

/* Those who need it now, or those who only would like it back. */
static void waiters_look_locked(struct room_search *search, bool are_eager)
{
	lock_assert_held(&search->manager->lock);
	list_each_safe (struct vidmm_waiter, waiter, &search->manager->waiters, link) {
		bool is_its_turn;

		if (room_search_is_cut(search))
			return;
		if (waiter_is_held(waiter) || waiter_is_eager(waiter) != are_eager)
			continue;
		if (waiter->kind == VIDMM_WAITER_LIST)
			is_its_turn = submission_look_locked(
				search, container_of(waiter, struct vidmm_allocation_list, waiter));
		else if (waiter->kind == VIDMM_WAITER_TABLES)
			is_its_turn = request_look_locked(
				search, container_of(waiter, struct table_request, waiter));
		else
			is_its_turn = device_look_locked(
				search, container_of(waiter, struct vidmm_device, waiter));
		/* Who only waits for the CPU to unlock something, or for nothing, lets others by.
		 */
		if (is_its_turn)
			search->is_first = false;
		if (!are_eager)
			room_look_again(search->manager, clock_deadline(IDLE_LOOK_NS));
	}
}

void room_look_locked(struct vidmm *manager)
{
	struct room_search search = { .manager = manager, .is_first = true };

	lock_assert_held(&manager->lock);
	if (list_is_empty(&manager->waiters))
		return;
	search.now_ns = clock_now_ns();
	for (uint32_t i = 0; i < manager->segment_count; i++)
		manager->segments[i].awaited_bytes = 0;
	waiters_look_locked(&search, true);
	search.is_first = false;
	waiters_look_locked(&search, false);
}
