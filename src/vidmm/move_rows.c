/* SPDX-License-Identifier: MIT */
/*
 * move_rows.c - what a move consists of: rows of operations.
 *
 *   in:   the move of a place that is ENTERING, LEAVING or SHIFTING
 *   out:  one operation after the other
 *
 *	in    [fill with zeroes | copy from system memory | change roles] [map the aperture]
 *	      [the driver's init] [notify] [GPU addresses]
 *	out   [GPU addresses] [notify] [unmap | copy to system memory | change roles] [discard]
 *	shift [notify] [copy to the other pages | change roles] [notify] [GPU addresses]
 *
 * Nobody writes to what shifts, so its addresses lead to one whole copy or the other and to nothing
 * else: until they change, a failure leaves everything as it was.
 *
 * On the pager's thread, without a lock.
 */
#include "base/checked.h"
#include "base/machine.h"
#include "vidmm/place.h"
#include "vidmm/work_set.h"

/* ---- operations ---- */

static struct miniport_location local_location(const struct vidmm_place *place)
{
	if (place->segment->is_system)
		return (struct miniport_location){
			.run_count = place->move.system_count,
			.runs = place->move.system,
		};
	return (struct miniport_location){
		.segment = place->segment->id,
		.run_count = place->move.local_count,
		.runs = place->move.local,
	};
}

static struct miniport_location target_location(const struct vidmm_place *place)
{
	return (struct miniport_location){
		.segment = place->segment->id,
		.run_count = 1,
		.runs = &place->move.target,
	};
}

/* Where in the segment the content will be. */
static struct miniport_location arrival_location(const struct vidmm_place *place)
{
	return place->move.way == MOVE_SHIFT ? target_location(place) : local_location(place);
}

static struct miniport_location system_location(const struct vidmm_place *place)
{
	return (struct miniport_location){
		.run_count = place->move.system_count,
		.runs = place->move.system,
	};
}

static enum paging_step mappings_next(struct vidmm_place *place, enum vidmm_mapping_change change,
				      struct miniport_paging_op *op)
{
	const struct vidmm_config *config = &place->manager->config;

	return config->mappings->next(config->mappings_context, place->allocation, change,
				      &place->move.cursor, op);
}

static uint64_t place_offset_bytes(const struct vidmm_place *place)
{
	if (place->handover.lent_bytes > 0)
		return place->handover.first_page * MACHINE_PAGE_BYTES;
	return place->pages.run_count > 0
		       ? page_set_runs(&place->pages)[0].first_page * MACHINE_PAGE_BYTES
		       : 0;
}

static void notify_op(const struct vidmm_place *place, bool is_resident,
		      struct miniport_paging_op *op)
{
	op->kind = MINIPORT_PAGING_NOTIFY_RESIDENCY;
	op->target.segment = place->segment->id;
	op->target.offset_bytes = place->move.way == MOVE_SHIFT && is_resident
					  ? place->move.target.first_pfn * MACHINE_PAGE_BYTES
					  : place_offset_bytes(place);
	op->notify_residency.is_resident = is_resident;
}

static void aperture_op(const struct vidmm_place *place, bool is_map, struct miniport_paging_op *op)
{
	op->kind = is_map ? MINIPORT_PAGING_MAP_APERTURE_SEGMENT
			  : MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT;
	op->target.segment = place->segment->id;
	op->target.offset_bytes = page_set_runs(&place->pages)[0].first_page * MACHINE_PAGE_BYTES;
	op->size_bytes = place->allocation->size_bytes;
	op->source.mdl = is_map ? place->move.mdl : NULL;
	op->aperture.driver_device = place->driver_device;
	op->aperture.dummy_address = is_map ? 0 : place->manager->config.dummy_page_address;
	op->aperture.is_cache_coherent = is_map && place->segment->config.is_cache_coherent &&
					 place->allocation->traits.is_cached;
}

static void discard_op(const struct vidmm_place *place, struct miniport_paging_op *op)
{
	op->kind = MINIPORT_PAGING_DISCARD_CONTENT;
	op->target.segment = place->segment->id;
	op->target.offset_bytes = place_offset_bytes(place);
}

/* True when it ends in the segment, from outside or from other pages of it. */
static bool move_arrives(const struct place_move *move)
{
	return move->way != MOVE_OUT;
}

static void content_op(const struct vidmm_place *place, struct miniport_paging_op *op)
{
	const struct place_move *move = &place->move;

	if (move->content == MOVE_FILL) {
		op->kind = MINIPORT_PAGING_FILL;
		op->target = local_location(place);
		op->size_bytes = segment_bytes(place->segment, &place->wish);
		return;
	}
	op->kind = MINIPORT_PAGING_TRANSFER;
	op->source = move->way == MOVE_IN ? system_location(place) : local_location(place);
	op->target = move_arrives(move) ? arrival_location(place) : system_location(place);
	op->size_bytes = place->allocation->size_bytes;
	op->transfer.is_start = true;
	op->transfer.is_end = true;
}

static void tail_op(const struct vidmm_place *place, struct miniport_paging_op *op)
{
	uint64_t size_bytes = place->allocation->size_bytes;

	op->kind = MINIPORT_PAGING_FILL;
	op->target = arrival_location(place);
	op->target.offset_bytes = size_bytes;
	op->offset_bytes = size_bytes;
	op->size_bytes = segment_bytes(place->segment, &place->wish) - size_bytes;
}

/* The driver is told the place in the segment, or in the aperture where it is mapped there. */
static void driver_init_op(const struct vidmm_place *place, struct miniport_paging_op *op)
{
	op->kind = MINIPORT_PAGING_INIT_CONTEXT_RESOURCE;
	op->target = local_location(place);
	if (place->wish.form == FORM_MAPPED)
		op->target = (struct miniport_location){
			.segment = place->segment->id,
			.run_count = place->move.local_count,
			.runs = place->move.local,
		};
	op->size_bytes = place->allocation->size_bytes;
	op->target.pointer = place->allocation->driver->pointer;
}

/* Byte by byte: how far both copies are the same. */
static uint64_t same_bytes(const struct vidmm_place *place)
{
	const struct place_move *move = &place->move;
	uint64_t base = place->segment->config.cpu_address;
	const char *copy = machine_to_pointer(base + move->target.first_pfn * MACHINE_PAGE_BYTES);
	uint64_t size_bytes = place->allocation->size_bytes;
	uint64_t at = 0;

	for (uint32_t i = 0; i < move->local_count && at < size_bytes; i++) {
		const char *original =
			machine_to_pointer(base + move->local[i].first_pfn * MACHINE_PAGE_BYTES);
		uint64_t end = lower_of(at + move->local[i].count * MACHINE_PAGE_BYTES, size_bytes);

		for (; at < end; at++, original++) {
			if (*original != copy[at])
				return at;
		}
	}
	return at;
}

/* It stays where it was, and the driver is told the old place. */
static void shift_stay(struct place_move *move)
{
	move->check = state_step(STATES_MOVE_CHECK, move->check, MOVE_REFUSED);
	move->target.first_pfn = move->local[0].first_pfn;
}

/* Compares the copy when it is there; a wrong one is not used, and the content stays where it was. */
static enum paging_step verify_next(struct vidmm_place *place)
{
	struct place_move *move = &place->move;

	if (move->check == MOVE_UNSETTLED) {
		move->check = state_step(STATES_MOVE_CHECK, move->check, MOVE_SETTLED);
		return PAGING_SETTLE;
	}
	move->wrong_at_bytes = same_bytes(place);
	if (move->wrong_at_bytes < place->allocation->size_bytes)
		shift_stay(move);
	return PAGING_NONE;
}

/* When the hardware is done with both. A way in or out that fails has no more rows: its end tries again. */
static enum paging_step roles_next(struct vidmm_place *place)
{
	struct place_move *move = &place->move;

	if (move->check == MOVE_UNSETTLED) {
		move->check = state_step(STATES_MOVE_CHECK, move->check, MOVE_SETTLED);
		return PAGING_SETTLE;
	}
	if (roles_change(place, true))
		return PAGING_NONE;
	if (move->way == MOVE_SHIFT) {
		shift_stay(move);
		return PAGING_NONE;
	}
	move->turned_back = move->way == MOVE_IN ? STATUS_INSUFFICIENT_RESOURCES : STATUS_SUCCESS;
	move->step = MOVE_STEPS;
	return PAGING_NONE;
}

/* Is this one of the rows of this move? */
static bool step_applies(const struct vidmm_place *place, enum move_step step)
{
	const struct place_move *move = &place->move;
	const struct vidmm_config *config = &place->manager->config;

	switch (step) {
	case MOVE_MAPPINGS_OUT:
	case MOVE_MAPPINGS_IN:
		return move_arrives(move) == (step == MOVE_MAPPINGS_IN) && config->mappings &&
		       move->check != MOVE_REFUSED;
	case MOVE_NOTIFY_OUT:
		return move->way != MOVE_IN && place->allocation->traits.wants_residency_news;
	case MOVE_NOTIFY_IN:
		return move_arrives(move) && place->allocation->traits.wants_residency_news;
	case MOVE_UNMAP:
		return move->way != MOVE_IN && place->wish.form == FORM_MAPPED;
	case MOVE_MAP:
		return move->way == MOVE_IN && place->wish.form == FORM_MAPPED;
	case MOVE_DRIVER_INIT:
		return move->way == MOVE_IN && place->allocation->driver &&
		       !place->allocation->driver->is_initialized;
	case MOVE_ROLES:
		return move_exchanges(move);
	case MOVE_DISCARD:
		return (move_leaves_nothing(move) ||
			(move_exchanges(move) && move->way != MOVE_IN)) &&
		       !config->has_gpu_mmu;
	case MOVE_CONTENT:
		return move->content == MOVE_FILL || move->content == MOVE_COPY;
	case MOVE_CONTENT_ZEROES:
		return (move->content == MOVE_COPY || move_exchanges(move)) && move_arrives(move) &&
		       move->check != MOVE_REFUSED &&
		       segment_bytes(place->segment, &place->wish) > place->allocation->size_bytes;
	case MOVE_VERIFY:
		return move->way == MOVE_SHIFT && place->shift.must_verify &&
		       move->content == MOVE_COPY;
	case MOVE_STEPS:
		break;
	}
	return false;
}

/* The next step of a row. */
static enum paging_step step_next(struct vidmm_place *place, enum move_step step,
				  struct miniport_paging_op *op)
{
	*op = (struct miniport_paging_op){ .subject = place->subject };
	switch (step) {
	case MOVE_MAPPINGS_OUT:
		return mappings_next(place, VIDMM_MAPPINGS_OUT, op);
	case MOVE_MAPPINGS_IN:
		return mappings_next(place, VIDMM_MAPPINGS_IN, op);
	case MOVE_ROLES:
		return roles_next(place);
	case MOVE_VERIFY:
		return verify_next(place);
	case MOVE_NOTIFY_OUT:
	case MOVE_NOTIFY_IN:
		notify_op(place, step == MOVE_NOTIFY_IN, op);
		break;
	case MOVE_UNMAP:
	case MOVE_MAP:
		aperture_op(place, step == MOVE_MAP, op);
		break;
	case MOVE_DRIVER_INIT:
		driver_init_op(place, op);
		break;
	case MOVE_DISCARD:
		discard_op(place, op);
		break;
	case MOVE_CONTENT:
		content_op(place, op);
		break;
	case MOVE_CONTENT_ZEROES:
		tail_op(place, op);
		break;
	case MOVE_STEPS:
		return PAGING_NONE;
	}
	return PAGING_OPERATION;
}

enum paging_step move_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct vidmm_place *place = container_of(job, struct vidmm_place, move.job);
	struct place_move *move = &place->move;

	move->built = move->step;
	while (move->step < MOVE_STEPS) {
		enum move_step step = move->step;
		bool has_more = step == MOVE_MAPPINGS_OUT || step == MOVE_MAPPINGS_IN ||
				step == MOVE_ROLES || step == MOVE_VERIFY;
		enum paging_step next =
			step_applies(place, step) ? step_next(place, step, op_out) : PAGING_NONE;

		if (next == PAGING_NONE || !has_more)
			move->step += move->step < MOVE_STEPS;
		if (next != PAGING_NONE)
			return next;
	}
	return PAGING_NONE;
}

/* ---- a look, under the manager's lock ---- */

bool move_has_rows(const struct vidmm_place *place)
{
	const struct vidmm_config *config = &place->manager->config;

	if (config->mappings &&
	    config->mappings->is_mapped(config->mappings_context, place->allocation))
		return true;
	for (int step = 0; step < MOVE_STEPS; step++) {
		if (step != MOVE_MAPPINGS_IN && step != MOVE_MAPPINGS_OUT &&
		    step_applies(place, (enum move_step)step))
			return true;
	}
	return false;
}
