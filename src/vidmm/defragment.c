/* SPDX-License-Identifier: MIT */
/*
 * defragment.c - what is in a segment, put together at one end of it.
 *
 *   in:   a segment whose free memory is in pieces
 *   out:  places that shift to other pages of it, until the pieces are one, or nothing is gained
 *
 * In rounds; each is decided under the lock, and over when what it moves has arrived:
 *
 *	fill    from the far end, whatever finds a gap nearer to the end that all is put to, and
 *	        leaves a gap that is no smaller than that one was
 *	slide   when nothing does: what stands next to a gap that is too small for it stands aside,
 *	        anywhere in the segment, and comes back to the gap's beginning. Nothing is ever
 *	        copied over itself.
 *	away    when there is no room to stand aside, or the driver cannot: it leaves for system
 *	        memory, and what is on a list comes back in. Once for each.
 *
 * Gaps never become smaller, and what moves comes nearer to the end, so it ends; whoever else has
 * memory come and go, or puts it to the other end, does not hold it up for ever. What is pinned or
 * unmoveable stays, and what a lock holds (roles.h); what the hardware uses shifts when it is done
 * with it, and its devices' work waits so long.
 *
 * In an aperture nothing is copied: all that may move is unmapped, and mapped again.
 *
 * Locks: the manager's.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/control.h"
#include "vidmm/place.h"

/* Longer than any move takes; what is still under way then ends by itself. */
#define SHIFT_NS (10 * NS_PER_S)

/* How many rounds there are at most for each place: it may fill a gap, stand aside, slide and leave, and do so again. */
enum { ROUNDS_FOR_EACH = 8 };

/* ---- how it is ---- */

static bool has_addresses(const struct vidmm *manager, uint32_t segment)
{
	return segment > 0 && segment <= manager->segment_count &&
	       !manager->segments[segment - 1].config.is_implicit_system;
}

static struct vidmm_fragmentation fragmentation_locked(const struct vidmm *manager,
						       const struct vidmm_segment *segment)
{
	lock_assert_held(&manager->lock);
	return (struct vidmm_fragmentation){
		.taken_bytes = segment->ranges.taken_units * MACHINE_PAGE_BYTES,
		.free_bytes = ranges_free_units(&segment->ranges) * MACHINE_PAGE_BYTES,
		.largest_gap_bytes = ranges_largest_free(&segment->ranges) * MACHINE_PAGE_BYTES,
	};
}

bool vidmm_fragmentation(struct vidmm *manager, uint32_t segment,
			 struct vidmm_fragmentation *fragmentation_out)
{
	if (!has_addresses(manager, segment))
		return false;
	lock_acquire(&manager->lock);
	*fragmentation_out = fragmentation_locked(manager, &manager->segments[segment - 1]);
	lock_release(&manager->lock);
	return true;
}

static bool is_in_order_locked(const struct vidmm *manager, const struct vidmm_segment *segment)
{
	struct vidmm_fragmentation now = fragmentation_locked(manager, segment);

	lock_assert_held(&manager->lock);
	return now.largest_gap_bytes == now.free_bytes;
}

/* ---- who may move ---- */

/* A stretch of pages of a place that may be moved. */
struct resident {
	struct vidmm_place *place;
	struct range *range;
};

static bool may_move(const struct vidmm_place *place, const struct vidmm_segment *segment)
{
	return place->state == PLACE_IN && place->segment == segment &&
	       place->eviction.is_resident && !place->allocation->traits.is_unmoveable &&
	       !roles_hold_pages(place);
}

static int compare_residents(const void *left_, const void *right_)
{
	const struct resident *left = left_;
	const struct resident *right = right_;

	return (left->range->first > right->range->first) -
	       (left->range->first < right->range->first);
}

static void residents_add(struct defragment *order, struct vidmm_place *place)
{
	for (struct range *range = place->pages.ranges; range; range = range->next)
		order->residents[order->count++] = (struct resident){ place, range };
}

static NTSTATUS residents_collect_locked(struct defragment *order)
{
	lock_assert_held(&order->manager->lock);
	order->count = 0;
	order->residents = mem_zalloc_array((size_t)order->segment->ranges.taken_ranges + 1,
					    sizeof(*order->residents));
	if (!order->residents)
		return STATUS_NO_MEMORY;
	list_each (struct vidmm_place, place, &order->manager->places, all_link) {
		if (may_move(place, order->segment))
			residents_add(order, place);
	}
	qsort(order->residents, order->count, sizeof(*order->residents), compare_residents);
	return STATUS_SUCCESS;
}

/* Whose pages these are; NULL: the place may not be moved. */
static struct vidmm_place *resident_at(const struct defragment *order, struct range *range)
{
	const struct resident wanted = { NULL, range };
	const struct resident *found = bsearch(&wanted, order->residents, order->count,
					       sizeof(*order->residents), compare_residents);

	return found ? found->place : NULL;
}

/* ---- where to ---- */

static uint64_t range_end(const struct range *range)
{
	return range->first + range->count;
}

static uint64_t free_units(const struct range *range)
{
	return range && range->is_free ? range->count : 0;
}

/* How large the gap would be if these pages were free: they, and the gaps on both sides. */
static uint64_t gap_with(const struct range *range)
{
	return free_units(range->lower) + range->count + free_units(range->upper);
}

/* The next range, away from the end that everything is moved to. */
static struct range *further(const struct defragment *order, const struct range *range)
{
	return order->how.is_upward ? range->lower : range->upper;
}

static struct range *nearest(const struct defragment *order)
{
	struct range *range = order->segment->ranges.lowest;

	while (order->how.is_upward && range->upper)
		range = range->upper;
	return range;
}

/* The part of a stretch that is in the bank the place prefers, if it is in that bank now. */
static struct segment_stretch in_its_bank(const struct vidmm_place *place, uint64_t first,
					  uint64_t end, bool is_from_end)
{
	struct segment_stretch bank = segment_bank_of(place->segment, &place->wish, &place->pages);

	return (struct segment_stretch){
		.first = first > bank.first ? first : bank.first,
		.end = end < bank.end ? end : bank.end,
		.is_from_end = is_from_end,
	};
}

static bool shift_within(const struct defragment *order, struct vidmm_place *place,
			 const struct segment_stretch *where, struct page_set *pages_out)
{
	*pages_out = (struct page_set){ .run_count = 0 };
	return where->first < where->end &&
	       NT_SUCCESS(segment_take_again(order->segment, &place->wish, &place->pages, where,
					     pages_out));
}

static void shift_locked(const struct defragment *order, struct vidmm_place *place,
			 const struct page_set *pages)
{
	lock_assert_held(&order->manager->lock);
	place->shift.must_verify = order->how.must_verify;
	place_shift_locked(place, pages);
}

/* ---- the kinds of round ---- */

/* Places that have stood aside move back, to the beginning of the gap that became free. */
static bool slides_end_locked(const struct defragment *order)
{
	bool has_any = false;

	lock_assert_held(&order->manager->lock);
	for (size_t i = 0; i < order->count; i++) {
		struct vidmm_place *place = order->residents[i].place;
		uint64_t first = place->shift.slide_to - 1;
		struct segment_stretch where = { .first = first,
						 .end = first + order->residents[i].range->count };
		struct page_set pages;

		if (place->shift.slide_to == 0 || place->state != PLACE_IN)
			continue;
		place->shift.slide_to = 0;
		if (!shift_within(order, place, &where, &pages))
			continue;
		shift_locked(order, place, &pages);
		has_any = true;
	}
	return has_any;
}

static bool fill_locked(const struct defragment *order, const struct resident *resident)
{
	struct vidmm_place *place = resident->place;
	const struct range *range = resident->range;
	struct segment_stretch where =
		order->how.is_upward
			? in_its_bank(place, range_end(range), order->segment->page_count, true)
			: in_its_bank(place, 0, range->first, false);
	struct page_set pages;

	lock_assert_held(&order->manager->lock);
	/* Another stretch of it went already; or it cannot. */
	if (place->state != PLACE_IN || place->shift.failed_at == order->number ||
	    !shift_within(order, place, &where, &pages))
		return false;
	if (gap_with(range) < gap_with(pages.ranges)) {
		segment_give(order->segment, &place->wish, &pages);
		return false;
	}
	shift_locked(order, place, &pages);
	return true;
}

static bool fills_locked(const struct defragment *order)
{
	bool has_any = false;

	lock_assert_held(&order->manager->lock);
	for (size_t i = 0; i < order->count; i++) {
		size_t at = order->how.is_upward ? i : order->count - 1 - i;

		has_any |= fill_locked(order, &order->residents[at]);
	}
	return has_any;
}

/* Is there another gap behind it, before somebody who stays? */
static bool leads_to_gap(const struct defragment *order, struct range *range)
{
	while (range && !range->is_free && resident_at(order, range))
		range = further(order, range);
	return range && range->is_free;
}

/* Where it comes to when it slides to the other side of the gap next to it; false: nowhere. */
static bool slide_target(const struct defragment *order, const struct vidmm_place *place,
			 const struct range *gap, const struct range *range, uint64_t *first_out)
{
	struct segment_stretch where =
		order->how.is_upward ? in_its_bank(place, range->first, range_end(gap), true)
				     : in_its_bank(place, gap->first, range_end(range), false);

	if (place->pages.run_count > 1) {
		*first_out = where.first; /* it will be somewhere else altogether */
		return true;
	}
	*first_out = segment_first_in(order->segment, &place->wish, &place->pages, &where);
	return order->how.is_upward ? *first_out > range->first : *first_out < range->first;
}

/* Moves a place out of the way, anywhere in the segment, to come back to `first`. */
static bool slide_locked(const struct defragment *order, struct vidmm_place *place, uint64_t first)
{
	const struct segment_stretch anywhere = { .end = order->segment->page_count,
						  .is_from_end = !order->how.is_upward };
	struct page_set pages;

	lock_assert_held(&order->manager->lock);
	if (place->shift.failed_at == order->number || place->pages.run_count > 1 ||
	    !shift_within(order, place, &anywhere, &pages))
		return false;
	place->shift.slide_to = first + 1;
	shift_locked(order, place, &pages);
	return true;
}

static bool send_away_locked(const struct defragment *order, struct vidmm_place *place)
{
	lock_assert_held(&order->manager->lock);
	if (order->how.must_verify || place->shift.sent_away_at == order->number)
		return false;
	place->shift.sent_away_at = order->number;
	place_leave_locked(place, VIDMM_LEAVES_TO_DEFRAGMENT);
	return true;
}

/* Where the nearest gap can be closed: one slides, or leaves. */
static bool close_gap_locked(const struct defragment *order, bool may_send_away)
{
	struct range *next;

	lock_assert_held(&order->manager->lock);
	for (struct range *gap = nearest(order); gap; gap = next) {
		struct vidmm_place *place;
		uint64_t first;

		next = further(order, gap);
		if (!gap->is_free || !next || !leads_to_gap(order, next))
			continue;
		place = resident_at(order, next);
		if (!slide_target(order, place, gap, next, &first))
			continue;
		if (may_send_away ? send_away_locked(order, place)
				  : slide_locked(order, place, first))
			return true;
	}
	return false;
}

static enum defragment_round round_locked(const struct defragment *order)
{
	lock_assert_held(&order->manager->lock);
	if (slides_end_locked(order))
		return DEFRAGMENT_SHIFTS;
	if (is_in_order_locked(order->manager, order->segment))
		return DEFRAGMENT_DONE;
	if (fills_locked(order) || close_gap_locked(order, false))
		return DEFRAGMENT_SHIFTS;
	return close_gap_locked(order, true) ? DEFRAGMENT_SENDS_AWAY : DEFRAGMENT_DONE;
}

/* ---- rounds ---- */

void defragment_init(struct defragment *order, struct vidmm *manager, uint32_t segment_id,
		     const struct vidmm_defragmentation *how)
{
	*order = (struct defragment){ .manager = manager,
				      .segment = &manager->segments[segment_id - 1],
				      .how = *how };
	lock_acquire(&manager->lock);
	order->number = ++manager->defragments;
	order->rounds_left = ROUNDS_FOR_EACH * (order->segment->ranges.taken_ranges + 1);
	lock_release(&manager->lock);
}

NTSTATUS defragment_step(struct defragment *order, enum defragment_round *round_out)
{
	struct vidmm *manager = order->manager;

	*round_out = DEFRAGMENT_DONE;
	if (order->rounds_left-- == 0)
		return STATUS_SUCCESS;
	lock_acquire(&manager->lock);
	NTSTATUS status = residents_collect_locked(order);
	if (NT_SUCCESS(status))
		*round_out = round_locked(order);
	decide_unlock(manager);
	mem_free(order->residents);
	order->residents = NULL;
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_API_NO_MEMORY, NULL,
			      "There is no memory to put a segment in order");
	return STATUS_SUCCESS;
}

/* False: it takes too long. */
static bool shifts_await(struct vidmm *manager, const struct vidmm_segment *segment)
{
	uint64_t deadline_ns = clock_deadline(SHIFT_NS);

	for (;;) {
		uint32_t seen = notice_read(&manager->changed);

		lock_acquire(&manager->lock);
		bool is_over = segment->shifting_bytes == 0;
		lock_release(&manager->lock);
		if (is_over || clock_now_ns() >= deadline_ns)
			return is_over;
		notice_wait(&manager->changed, seen, deadline_ns);
	}
}

static NTSTATUS memory_put_in_order(struct defragment *order)
{
	for (;;) {
		enum defragment_round round;
		NTSTATUS status = defragment_step(order, &round);

		if (!NT_SUCCESS(status) || round == DEFRAGMENT_DONE)
			return status;
		if (round == DEFRAGMENT_SENDS_AWAY)
			manager_settle(order->manager, true);
		else if (!shifts_await(order->manager, order->segment))
			return STATUS_SUCCESS;
	}
}

/* All leave, and those who are on a list come back, lowest offset first. */
static void aperture_put_in_order(struct defragment *order)
{
	struct vidmm *manager = order->manager;
	struct vidmm_segment *segment = order->segment;

	lock_acquire(&manager->lock);
	if (!is_in_order_locked(manager, segment)) {
		/* Nobody enters between those who leave: there would be the same holes again. */
		segment->is_emptying = true;
		list_each (struct vidmm_place, place, &manager->places, all_link) {
			if (may_move(place, segment))
				place_leave_locked(place, VIDMM_LEAVES_TO_DEFRAGMENT);
		}
	}
	decide_unlock(manager);
	manager_settle(manager, true);
}

static bool can_verify(const struct vidmm_segment *segment)
{
	return !segment->is_system && segment->config.is_cpu_visible;
}

static NTSTATUS check_transfers(struct vidmm *manager, uint64_t wrong_before)
{
	lock_acquire(&manager->lock);
	struct vidmm_wrong_transfers wrong = manager->wrong_transfers;
	lock_release(&manager->lock);
	if (wrong.count == wrong_before)
		return STATUS_SUCCESS;
	return refuse(STATUS_UNSUCCESSFUL, RULE_MM_VERIFY_TRANSFER, "Defrag.Operation",
		      "found %llu copies that are not the same, the last one of allocation %llx at "
		      "byte %llu",
		      (unsigned long long)(wrong.count - wrong_before),
		      (unsigned long long)wrong.allocation_id,
		      (unsigned long long)wrong.offset_bytes);
}

NTSTATUS vidmm_defragment(struct vidmm *manager, uint32_t segment_id,
			  const struct vidmm_defragmentation *how)
{
	struct defragment order;

	if (!has_addresses(manager, segment_id) ||
	    (vidmm_options(manager) & VIDMM_NEVER_MOVE_TO_DEFRAG))
		return STATUS_SUCCESS;
	if (how->must_verify && !can_verify(&manager->segments[segment_id - 1]))
		return refuse(STATUS_NOT_SUPPORTED, RULE_MM_VERIFY_TRANSFER, "Defrag.SegmentId",
			      "is %u, where the CPU cannot see what is copied", segment_id);
	defragment_init(&order, manager, segment_id, how);
	if (order.segment->is_system) {
		aperture_put_in_order(&order);
		return STATUS_SUCCESS;
	}
	lock_acquire(&manager->lock);
	uint64_t wrong_before = manager->wrong_transfers.count;
	lock_release(&manager->lock);
	NTSTATUS status = memory_put_in_order(&order);
	return NT_SUCCESS(status) ? check_transfers(manager, wrong_before) : status;
}
