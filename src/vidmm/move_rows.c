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
 *	shift [notify] [copy to the other pages] [notify] [GPU addresses]
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

static struct paging_place local_place(const struct vidmm_place *place)
{
	if (place->segment->is_system)
		return (struct paging_place){
			.run_count = place->move.system_count,
			.runs = place->move.system,
		};
	return (struct paging_place){
		.segment = place->segment->id,
		.run_count = place->move.local_count,
		.runs = place->move.local,
	};
}

static struct paging_place target_place(const struct vidmm_place *place)
{
	return (struct paging_place){
		.segment = place->segment->id,
		.run_count = 1,
		.runs = &place->move.target,
	};
}

/* Where the content comes to be in the segment. */
static struct paging_place arrival_place(const struct vidmm_place *place)
{
	return place->move.is_shift ? target_place(place) : local_place(place);
}

static struct paging_place system_place(const struct vidmm_place *place)
{
	return (struct paging_place){
		.run_count = place->move.system_count,
		.runs = place->move.system,
	};
}

static bool mappings_next(struct vidmm_place *place, enum vidmm_mapping_change change,
			  struct paging_op *op)
{
	const struct vidmm_config *config = &place->manager->config;
	struct paging_place where = arrival_place(place);

	return config->mappings &&
	       config->mappings->next(config->mappings_context, place->allocation, change, &where,
				      &place->move.cursor, op);
}

static uint64_t place_offset_bytes(const struct vidmm_place *place)
{
	if (place->lent_bytes > 0)
		return place->parting_page * MACHINE_PAGE_BYTES;
	return place->pages.run_count > 0
		       ? page_set_runs(&place->pages)[0].first_page * MACHINE_PAGE_BYTES
		       : 0;
}

static struct miniport_paging_op notify_op(const struct vidmm_place *place, bool is_resident)
{
	uint64_t offset_bytes = place_offset_bytes(place);

	if (place->move.is_shift && is_resident)
		offset_bytes = place->move.target.first_pfn * MACHINE_PAGE_BYTES;
	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_NOTIFY_RESIDENCY,
		.subject = place->subject,
		.notify_residency = { .segment = place->segment->id,
				      .offset_bytes = offset_bytes,
				      .is_resident = is_resident },
	};
}

static struct miniport_paging_op aperture_op(const struct vidmm_place *place, bool is_map)
{
	return (struct miniport_paging_op){
		.kind = is_map ? MINIPORT_PAGING_MAP_APERTURE : MINIPORT_PAGING_UNMAP_APERTURE,
		.subject = place->subject,
		.aperture = {
			.driver_device = place->driver_device,
			.segment = place->segment->id,
			.first_page = page_set_runs(&place->pages)[0].first_page,
			.page_count = place->allocation->size_bytes >> MACHINE_PAGE_SHIFT,
			.mdl = is_map ? place->move.mdl : NULL,
			.dummy_address = is_map ? 0 : place->manager->config.dummy_page_address,
			.is_cache_coherent = is_map && place->segment->config.is_cache_coherent &&
					     place->allocation->traits.is_cached,
		},
	};
}

static struct miniport_paging_op discard_op(const struct vidmm_place *place)
{
	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_DISCARD_CONTENT,
		.subject = place->subject,
		.discard = { .segment = place->segment->id,
			     .offset_bytes = place_offset_bytes(place) },
	};
}

/* In the segment, from outside or from other pages of it. */
static bool move_arrives(const struct place_move *move)
{
	return move->is_in || move->is_shift;
}

static void content_op(const struct vidmm_place *place, struct paging_op *op)
{
	const struct place_move *move = &place->move;

	if (move->content == MOVE_FILL) {
		op->kind = PAGING_FILL;
		op->fill.destination = local_place(place);
		op->fill.size_bytes = segment_bytes(place->segment, &place->wish);
		return;
	}
	op->kind = PAGING_COPY;
	op->copy.source = move->is_in ? system_place(place) : local_place(place);
	op->copy.destination = move_arrives(move) ? arrival_place(place) : system_place(place);
	op->copy.size_bytes = place->allocation->size_bytes;
	op->copy.is_start = true;
	op->copy.is_end = true;
}

static void tail_op(const struct vidmm_place *place, struct paging_op *op)
{
	uint64_t size_bytes = place->allocation->size_bytes;

	op->kind = PAGING_FILL;
	op->fill.destination = arrival_place(place);
	op->fill.destination.first_byte = size_bytes;
	op->fill.offset_bytes = size_bytes;
	op->fill.size_bytes = segment_bytes(place->segment, &place->wish) - size_bytes;
}

/* Where the driver finds it, which is in the aperture for what is mapped there. */
static void driver_init_op(const struct vidmm_place *place, struct paging_op *op)
{
	op->kind = PAGING_INIT_CONTEXT;
	op->context.place = local_place(place);
	if (place->wish.form == FORM_MAPPED)
		op->context.place = (struct paging_place){
			.segment = place->segment->id,
			.run_count = place->move.local_count,
			.runs = place->move.local,
		};
	op->context.size_bytes = place->allocation->size_bytes;
	op->context.pointer = place->allocation->driver->pointer;
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

/* When the copy is there. What is wrong stays where it was, and the driver is told so. */
static bool verify_next(struct vidmm_place *place, struct paging_op *op)
{
	struct place_move *move = &place->move;

	if (!move->has_settled) {
		move->has_settled = true;
		op->kind = PAGING_SETTLE;
		return true;
	}
	move->wrong_at_bytes = same_bytes(place);
	move->is_wrong = move->wrong_at_bytes < place->allocation->size_bytes;
	if (move->is_wrong)
		move->target.first_pfn = move->local[0].first_pfn;
	return false;
}

/* When the hardware is done with both. Where it fails nothing more is built: the end tries again. */
static bool roles_next(struct vidmm_place *place, struct paging_op *op)
{
	struct place_move *move = &place->move;

	if (!move->has_settled) {
		move->has_settled = true;
		op->kind = PAGING_SETTLE;
		return true;
	}
	if (!roles_change(place, true)) {
		move->turned_back = move->is_in ? STATUS_INSUFFICIENT_RESOURCES : STATUS_SUCCESS;
		move->step = MOVE_STEPS;
	}
	return false;
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
		       !move->is_wrong;
	case MOVE_NOTIFY_OUT:
		return !move->is_in && place->allocation->traits.wants_residency_news;
	case MOVE_NOTIFY_IN:
		return move_arrives(move) && place->allocation->traits.wants_residency_news;
	case MOVE_UNMAP:
		return !move->is_in && place->wish.form == FORM_MAPPED;
	case MOVE_MAP:
		return move->is_in && place->wish.form == FORM_MAPPED;
	case MOVE_DRIVER_INIT:
		return move->is_in && place->allocation->driver &&
		       !place->allocation->driver->is_initialized;
	case MOVE_ROLES:
		return move->content == MOVE_EXCHANGE;
	case MOVE_DISCARD:
		return (move->content == MOVE_DROP ||
			(move->content == MOVE_EXCHANGE && !move->is_in)) &&
		       !config->has_gpu_mmu;
	case MOVE_CONTENT:
		return move->content == MOVE_FILL || move->content == MOVE_COPY;
	case MOVE_CONTENT_ZEROES:
		return (move->content == MOVE_COPY || move->content == MOVE_EXCHANGE) &&
		       move_arrives(move) &&
		       segment_bytes(place->segment, &place->wish) > place->allocation->size_bytes;
	case MOVE_VERIFY:
		return move->must_verify;
	case MOVE_STEPS:
		break;
	}
	return false;
}

/* The operation of a row; false: there are no more in it. */
static bool step_next(struct vidmm_place *place, enum move_step step, struct paging_op *op)
{
	*op = (struct paging_op){ .kind = PAGING_AS_IT_IS, .subject = place->subject };
	switch (step) {
	case MOVE_MAPPINGS_OUT:
		return mappings_next(place, VIDMM_MAPPINGS_OUT, op);
	case MOVE_MAPPINGS_IN:
		return mappings_next(place, VIDMM_MAPPINGS_IN, op);
	case MOVE_NOTIFY_OUT:
	case MOVE_NOTIFY_IN:
		op->as_it_is = notify_op(place, step == MOVE_NOTIFY_IN);
		return true;
	case MOVE_UNMAP:
	case MOVE_MAP:
		op->as_it_is = aperture_op(place, step == MOVE_MAP);
		return true;
	case MOVE_DRIVER_INIT:
		driver_init_op(place, op);
		return true;
	case MOVE_ROLES:
		return roles_next(place, op);
	case MOVE_DISCARD:
		op->as_it_is = discard_op(place);
		return true;
	case MOVE_CONTENT:
		content_op(place, op);
		return true;
	case MOVE_CONTENT_ZEROES:
		tail_op(place, op);
		return true;
	case MOVE_VERIFY:
		return verify_next(place, op);
	case MOVE_STEPS:
		break;
	}
	return false;
}

bool move_next(struct paging_job *job, struct paging_op *op_out)
{
	struct vidmm_place *place = container_of(job, struct vidmm_place, move.job);
	struct place_move *move = &place->move;

	move->built = move->step;
	while (move->step < MOVE_STEPS) {
		enum move_step step = move->step;
		bool has_more = step == MOVE_MAPPINGS_OUT || step == MOVE_MAPPINGS_IN ||
				step == MOVE_ROLES || step == MOVE_VERIFY;

		if (step_applies(place, step) && step_next(place, step, op_out)) {
			if (!has_more)
				move->step++;
			return true;
		}
		move->step += move->step < MOVE_STEPS;
	}
	return false;
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
