/* SPDX-License-Identifier: MIT */
/*
 * manager_validate.c - recounts what manager.h keeps.
 *
 *   in:   a manager with nothing under way, or one at work, of which less can be said
 *   out:  the first thing that does not add up
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/machine.h"
#include "vidmm/elsewhere.h"
#include "vidmm/keep.h"
#include "vidmm/place.h"
#include "vidmm/states.h"
#include "vidmm/table_states.h"

struct recount {
	bool is_at_work; /* what an allocation's lock guards is not looked at */
	uint64_t resident_bytes[VIDMM_MAX_SEGMENTS];
	uint64_t leaving_bytes[VIDMM_MAX_SEGMENTS];
	uint64_t entering_bytes[VIDMM_MAX_SEGMENTS];
	uint64_t shifting_bytes[VIDMM_MAX_SEGMENTS];
	uint64_t lent_bytes[VIDMM_MAX_SEGMENTS];
	uint64_t committed_bytes[VIDMM_MAX_SEGMENTS];
	uint64_t page_count[VIDMM_MAX_SEGMENTS];
	uint64_t range_count[VIDMM_MAX_SEGMENTS];
	uint64_t candidates[VIDMM_MAX_SEGMENTS];
	uint64_t window_count[VIDMM_MAX_SEGMENTS];        /* granules of the CPU host aperture */
	struct vidmm_counter arrived[VIDMM_MAX_SEGMENTS]; /* and not out yet */
	uint64_t aperture_bytes;
};

static const char *check_listings(const struct vidmm_place *place)
{
	uint32_t waits = 0;

	if (list_length(&place->listings) != place->list_count)
		return "its listings were miscounted";
	list_each (const struct vidmm_binding, binding, &place->listings, place_link) {
		if (binding->count == 0)
			return "is listed by a device that does not count it";
		if (binding_place(binding) != place)
			return "is listed as another";
		if (binding->group != place->group)
			return "is charged to another group than it belongs to";
		waits += binding->waiting != BINDING_WAITS_FOR_NOTHING;
	}
	/* An offer of what nobody lists waits, too. */
	if (waits > place->waits)
		return "is waited for by more than it knows of";
	if (place->waiter_pins > place->pins)
		return "is kept in place less often than by the list whose turn it is";
	if (list_is_linked(&place->decommit_link) != (place->decommit_process != NULL))
		return "may be decommitted, and its process does not know it, or the other way "
		       "round";
	return NULL;
}

static const char *check_content(const struct vidmm_place *place)
{
	enum vidmm_content content = allocation_content(place->allocation);
	bool is_local = place->segment && !place->segment->is_system;

	if (place->state == PLACE_IN && is_local && content != VIDMM_CONTENT_LOCAL)
		return "is in GPU memory and its content is not";
	if (place->state == PLACE_IN && !is_local && content != VIDMM_CONTENT_BACKED)
		return "is in system memory and its content is not";
	if (place->state == PLACE_IN && is_local && place->allocation->backing.run_count > 0 &&
	    !place->allocation->traits.is_kept_in_system && !elsewhere_is_inside(place->allocation))
		return "is in GPU memory and did not give its system memory up";
	if (place->state == PLACE_OUT && elsewhere_is_inside(place->allocation))
		return "is out, and its pages are in GPU memory";
	if (place->state == PLACE_OUT && content == VIDMM_CONTENT_LOCAL)
		return "has content in GPU memory and no place";
	return NULL;
}

/* The pages that it goes to, or comes from. */
static const char *check_shift_of(const struct vidmm_place *place, struct recount *recount)
{
	uint32_t at = place->segment->id - 1;
	uint64_t bytes = segment_bytes(place->segment, &place->wish);
	const struct page_run *runs = page_set_runs(&place->shift.pages);
	uint64_t pages = 0;

	if (place->state != PLACE_SHIFTING)
		return place->shift.pages.run_count == 0 ? NULL : "has pages twice";
	for (uint32_t i = 0; i < place->shift.pages.run_count; i++)
		pages += runs[i].count;
	if (pages * MACHINE_PAGE_BYTES != bytes)
		return "goes to more or fewer pages than its size";
	recount->resident_bytes[at] += bytes;
	recount->shifting_bytes[at] += bytes;
	recount->page_count[at] += pages;
	recount->range_count[at] += place->shift.pages.run_count;
	return NULL;
}

static const char *check_segment_of(const struct vidmm_place *place, struct recount *recount)
{
	const struct vidmm_segment *segment = place->segment;
	uint32_t at = segment->id - 1;
	uint64_t bytes = segment_bytes(segment, &place->wish);
	uint64_t kept_bytes = bytes - place->handover.lent_bytes;
	const struct page_run *runs = page_set_runs(&place->pages);
	uint64_t pages = 0;

	if (place->handover.lent_bytes > 0 && !list_is_linked(&place->handover.link))
		return "has lent its room and does not leave it";
	if (list_is_linked(&place->handover.link) && place->state != PLACE_LEAVING)
		return "is about to leave its room and does not leave";
	if (!(place->allocation->supported_segments & (UINT32_C(1) << at)) &&
	    place->state == PLACE_ENTERING)
		return "enters a segment outside its supported set";
	for (uint32_t i = 0; i < place->pages.run_count; i++)
		pages += runs[i].count;
	if (place->wish.form != FORM_SYSTEM && pages * MACHINE_PAGE_BYTES != kept_bytes)
		return "has more or fewer pages of its segment than its size";
	if (place->wish.form != FORM_SCATTERED && place->pages.run_count > 1)
		return "is scattered and must not be";
	recount->resident_bytes[at] += kept_bytes;
	recount->lent_bytes[at] += place->handover.lent_bytes;
	recount->leaving_bytes[at] += place->state == PLACE_LEAVING ? bytes : 0;
	recount->entering_bytes[at] += place->state == PLACE_ENTERING ? bytes : 0;
	recount->page_count[at] += pages;
	recount->range_count[at] += place->pages.run_count;
	recount->candidates[at] += place->eviction.is_resident;
	if (place->state != PLACE_ENTERING)
		vidmm_count(&recount->arrived[at], place->allocation->size_bytes);
	if (segment->is_system) {
		recount->committed_bytes[at] += place->wish.size_bytes;
		recount->aperture_bytes += place->wish.size_bytes;
	}
	return NULL;
}

static const char *check_place(const struct vidmm_place *place, struct recount *recount)
{
	const char *wrong = check_listings(place);
	bool is_sorted = list_is_linked(&place->held_link) || place->eviction.is_resident;

	if (!wrong && !recount->is_at_work)
		wrong = check_content(place);
	if (!wrong && (place->segment != NULL) != (place->state != PLACE_OUT))
		wrong = "has a segment, or has none, and it is not so";
	if (!wrong &&
	    (place->window.state == CPU_WINDOW_OPEN ||
	     place->window.state == CPU_WINDOW_REOPENING) &&
	    !place->segment)
		wrong = "is seen through a window, and not there";
	if (!wrong && place->window.range && place->lock == PLACE_NOT_LOCKED)
		wrong = "has a window, and is not locked";
	if (place->window.range)
		recount->window_count[place->window.segment->id - 1] += place->window.range->count;
	if (!wrong && is_sorted != (place->state == PLACE_IN))
		wrong = "is a candidate for eviction and not in place, or the other way round";
	if (!wrong && place->segment)
		wrong = check_segment_of(place, recount);
	if (!wrong && place->segment)
		wrong = check_shift_of(place, recount);
	return wrong;
}

static const char *check_traffic(const struct vidmm_traffic *traffic,
				 const struct vidmm_counter *arrived)
{
	uint64_t evicted_bytes = 0;

	if (traffic->entered.count - traffic->left.count != arrived->count ||
	    traffic->entered.bytes - traffic->left.bytes != arrived->bytes)
		return "those who came and those who left are not those who are there";
	for (size_t i = 0; i < ARRAY_SIZE(traffic->evicted_by_band); i++)
		evicted_bytes += traffic->evicted_by_band[i];
	if (evicted_bytes != traffic->evicted.bytes)
		return "evictions by priority do not add up";
	return NULL;
}

static const char *check_segment(const struct vidmm_segment *segment, const struct recount *recount)
{
	uint32_t at = segment->id - 1;
	const char *wrong = evict_set_validate(&segment->candidates);

	if (!wrong && !segment->config.is_implicit_system)
		wrong = ranges_validate(&segment->ranges);
	if (!wrong && segment->config.window_pages > 0)
		wrong = ranges_validate(&segment->windows);
	if (!wrong && segment->windows.taken_units != recount->window_count[at])
		wrong = "windows were miscounted";
	if (wrong)
		return wrong;
	if (segment->resident_bytes != recount->resident_bytes[at])
		return "resident bytes were miscounted";
	if (segment->leaving_bytes != recount->leaving_bytes[at] ||
	    segment->entering_bytes != recount->entering_bytes[at] ||
	    segment->shifting_bytes != recount->shifting_bytes[at] ||
	    segment->lent_bytes != recount->lent_bytes[at])
		return "bytes on their way were miscounted";
	if (segment->committed_bytes != recount->committed_bytes[at])
		return "committed bytes were miscounted";
	if (segment->is_system && segment->committed_bytes > segment->config.commit_limit_bytes)
		return "its commit limit is exceeded";
	if (segment->ranges.taken_units != recount->page_count[at] ||
	    segment->ranges.taken_ranges != recount->range_count[at])
		return "taken pages were miscounted";
	if (segment->candidates.entry_count != recount->candidates[at])
		return "candidates for eviction were miscounted";
	return check_traffic(&segment->traffic, &recount->arrived[at]);
}

static const char *check_bindings(const struct vidmm_device *device, const struct list *bindings,
				  bool is_listed, uint64_t usage_bytes[VIDMM_GROUPS])
{
	list_each (const struct vidmm_binding, binding, bindings, device_link) {
		const struct vidmm_place *place = binding_place(binding);
		bool is_whole =
			place->state == PLACE_IN || !place_is_wanted(place) || device->is_lost;

		if (binding->count == 0 || binding->device != device)
			return "lists what it does not count";
		if (is_whole != is_listed)
			return "has something in place that it misses, or the other way round";
		if ((binding->need == BINDING_NEEDED) !=
		    (!is_whole && binding->need != BINDING_PROMISED))
			return "needs what it was promised, or does not need what it lost";
		if (binding->is_charged != binding_is_paid_for(binding))
			return "pays for what is offered or destroyed, or does not for what is not";
		if (binding_is_kept(binding) && binding->waiting == BINDING_WAITS_FOR_NOTHING &&
		    binding->keeps == 0)
			return "keeps what neither work nor an update counts on";
		if (binding->keeps > 0 && list_is_empty(&device->keeps))
			return "is kept by nobody";
		if (binding->is_charged)
			usage_bytes[binding->group] += binding->allocation->size_bytes;
	}
	return NULL;
}

static uint32_t count_of_need(const struct vidmm_device *device, enum binding_need need)
{
	const struct list *const lists[] = { &device->resident, &device->absent, &device->moving };
	uint32_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		list_each (const struct vidmm_binding, binding, lists[i], device_link)
			count += binding->need == need;
	}
	return count;
}

static uint32_t count_in_keeps(const struct vidmm_device *device,
			       const struct vidmm_binding *binding)
{
	uint32_t count = 0;

	list_each (const struct vidmm_keep, keep, &device->keeps, link) {
		for (uint32_t i = 0; i < keep->count; i++)
			count += keep->bindings[i] == binding;
	}
	return count;
}

static const char *check_keeps(const struct vidmm_device *device)
{
	list_each (const struct vidmm_keep, keep, &device->keeps, link) {
		for (uint32_t i = 0; i < keep->count; i++) {
			const struct vidmm_binding *binding = keep->bindings[i];

			if (binding && (binding->device != device ||
					binding->keeps != count_in_keeps(device, binding)))
				return "has miscounted who keeps something of it";
		}
	}
	return NULL;
}

static uint32_t count_ready_lists(const struct vidmm_device *device)
{
	uint32_t count = 0;

	list_each (const struct vidmm_allocation_list, list, &device->process->manager->ready_lists,
		   ready_link) {
		count += list->device == device;
	}
	return count;
}

static uint32_t count_awaited(const struct list *absent)
{
	uint32_t count = 0;

	list_each (const struct vidmm_binding, binding, absent, device_link)
		count += !list_is_empty(&binding_place(binding)->wants);
	return count;
}

static const char *check_device(const struct vidmm_device *device,
				uint64_t usage_bytes[VIDMM_GROUPS])
{
	const char *wrong = check_bindings(device, &device->resident, true, usage_bytes);
	bool has_tables = device->is_lost || vidmm_tables_are_in(device->process);
	bool is_whole =
		list_is_empty(&device->absent) && list_is_empty(&device->moving) && has_tables;

	if (!wrong)
		wrong = check_bindings(device, &device->absent, false, usage_bytes);
	if (!wrong)
		wrong = check_bindings(device, &device->moving, false, usage_bytes);
	if (!wrong)
		wrong = check_keeps(device);
	if (!wrong && count_ready_lists(device) != device->ready_list_count)
		wrong = "has miscounted its lists that are in place";
	if (!wrong && is_whole == list_is_linked(&device->waiter.link))
		wrong = "waits for its turn and misses nothing, or the other way round";
	if (!wrong && count_of_need(device, BINDING_NEEDED) != device->needed_count)
		wrong = "has miscounted what it needs";
	if (!wrong && count_of_need(device, BINDING_PROMISED) != device->promised_count)
		wrong = "has miscounted what it was promised";
	if (!wrong && count_awaited(&device->absent) != device->awaited_count)
		wrong = "has miscounted what calls wait for";
	if (!wrong && device->needed_count == 0 && has_tables && device->is_suspended)
		wrong = "is suspended and misses nothing that it needs";
	if (!wrong && !has_tables && !device->is_suspended)
		wrong = "may run while its page tables are nowhere";
	return wrong;
}

static const char *check_process(const struct vidmm_process *process)
{
	uint64_t usage_bytes[VIDMM_GROUPS] = { 0 };

	list_each (struct vidmm_device, each, &process->devices, link) {
		const char *wrong = check_device(each, usage_bytes);

		if (wrong)
			return wrong;
	}
	for (int group = 0; group < VIDMM_GROUPS; group++) {
		if (usage_bytes[group] != process->usage_bytes[group])
			return "its usage was miscounted";
	}
	return NULL;
}

/* Page tables may have taken of what is reserved. */
static bool is_budget_locked(const struct vidmm_process *process, enum vidmm_group group)
{
	const struct vidmm *manager = process->manager;
	uint64_t budget_bytes = budget_share_locked(process, group);

	lock_assert_held(&process->manager->lock);
	return budget_bytes <= manager->group_bytes[group] &&
	       (budget_bytes >= process->reservation_bytes[group] ||
		manager->reserved_bytes[group] > manager->group_bytes[group]);
}

/* What applications can have is what page tables have left of the segments that are theirs. */
static const char *check_groups(const struct vidmm *manager)
{
	for (int group = 0; group < VIDMM_GROUPS; group++) {
		uint64_t bytes = manager->config.group_bytes[group];

		for (uint32_t i = 0; i < manager->segment_count; i++) {
			const struct vidmm_segment *segment = &manager->segments[i];

			if (segment->config.is_budgeted && !segment->is_system &&
			    (int)segment->config.group == group)
				bytes -= table_blocks_count_bytes(manager, segment);
		}
		if (manager->group_bytes[group] != bytes)
			return "what applications can have was miscounted";
	}
	return NULL;
}

static const char *check_budgets_locked(const struct vidmm *manager)
{
	uint64_t reserved_bytes[VIDMM_GROUPS] = { 0 };
	uint64_t claimed_bytes[VIDMM_GROUPS] = { 0 };
	uint32_t listening_count = 0;

	lock_assert_held(&manager->lock);
	if (list_length(&manager->processes) != manager->process_count)
		return "processes were miscounted";

	list_each (const struct vidmm_process, process, &manager->processes, link) {
		const char *wrong = check_process(process);

		if (wrong)
			return wrong;
		for (int group = 0; group < VIDMM_GROUPS; group++) {
			reserved_bytes[group] += process->reservation_bytes[group];
			claimed_bytes[group] +=
				budget_claim_locked(process, (enum vidmm_group)group);
			if (!is_budget_locked(process, (enum vidmm_group)group))
				return "a budget is above everything, or below its reservation";
		}
		listening_count += process->trim_listeners > 0 || process->budget_listeners > 0;
	}
	for (int group = 0; group < VIDMM_GROUPS; group++) {
		if (reserved_bytes[group] != manager->reserved_bytes[group])
			return "reservations were miscounted";
		if (claimed_bytes[group] != manager->claimed_bytes[group])
			return "claims were miscounted";
	}
	if (listening_count != manager->listening_count)
		return "those who listen were miscounted";
	return check_groups(manager);
}

static bool report(char *wrong, size_t wrong_size, const char *what, uint64_t which,
		   const char *found)
{
	if (found)
		snprintf(wrong, wrong_size, "%s %" PRIx64 ": %s", what, which, found);
	return found == NULL;
}

static bool validate_locked(struct vidmm *manager, bool is_at_work, char *wrong, size_t wrong_size)
{
	struct recount recount = { .is_at_work = is_at_work };

	lock_assert_held(&manager->lock);
	list_each (struct vidmm_place, place, &manager->places, all_link) {
		if (!report(wrong, wrong_size, "allocation", place->allocation->id,
			    check_place(place, &recount)))
			return false;
	}
	list_each (const struct vidmm_table_block, room, &manager->blocks, link) {
		if (room->window)
			recount.window_count[room->segment->id - 1] += room->window->count;
	}
	if (!report(wrong, wrong_size, "page tables", manager->process_count,
		    table_blocks_recount(manager, recount.resident_bytes, recount.page_count,
					 recount.range_count, recount.leaving_bytes,
					 recount.entering_bytes)))
		return false;
	for (uint32_t i = 0; i < manager->segment_count; i++) {
		if (!report(wrong, wrong_size, "segment", i + 1,
			    check_segment(&manager->segments[i], &recount)))
			return false;
	}
	if (recount.aperture_bytes != manager->aperture_committed_bytes)
		return report(wrong, wrong_size, "apertures", 0, "committed bytes were miscounted");
	return report(wrong, wrong_size, "processes", manager->process_count,
		      check_budgets_locked(manager));
}

const char *vidmm_place_validate(struct vidmm *manager, struct vidmm_allocation *allocation)
{
	const char *wrong = NULL;

	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	const struct vidmm_place *place = atomic_load(&allocation->place);
	if (place)
		wrong = check_content(place);
	lock_release(&manager->lock);
	lock_release(&allocation->lock);
	return wrong;
}

uint32_t vidmm_device_suspensions(struct vidmm_device *device)
{
	struct vidmm *manager = device->process->manager;

	lock_acquire(&manager->lock);
	uint32_t suspensions = (device->is_suspended ? 1U : 0U) + (device->stage == DEVICE_HELD) +
			       (device->lists != DEVICE_KEEPS_LISTS) + device->resumes;
	lock_release(&manager->lock);
	return suspensions;
}

bool vidmm_manager_validate(struct vidmm *manager, bool is_at_work, char *wrong, size_t wrong_size)
{
	lock_acquire(&manager->lock);
	bool is_right = validate_locked(manager, is_at_work, wrong, wrong_size);
	lock_release(&manager->lock);
	return is_right;
}
