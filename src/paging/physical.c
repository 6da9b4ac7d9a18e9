/* SPDX-License-Identifier: MIT */
/*
 * physical.c - pieces of an operation where addresses are a segment's.
 *
 * What drivers agree on, of all the ways to say it: a TRANSFER that begins at offset 0, with a
 * segment address that is already advanced and an MDL that has just the pages of this piece. So a
 * piece ends where its segment side stops being contiguous; the pages of the other side may be
 * anywhere.
 */
#include <assert.h>

#include "base/refusal.h"
#include "paging/internal.h"

static void clip_to_row(const struct paging_place *place, uint64_t offset_bytes,
			uint64_t *size_bytes)
{
	uint64_t pages;

	if (place->segment == 0)
		return; /* an MDL is as good scattered */
	(void)place_page(place, offset_bytes, &pages);
	if (*size_bytes > pages << MACHINE_PAGE_SHIFT)
		*size_bytes = pages << MACHINE_PAGE_SHIFT;
}

static uint64_t piece_bytes(const struct pager_build *build)
{
	const struct paging_op *op = &build->job->op;
	uint64_t size_bytes = PAGING_PIECE_BYTES;
	uint64_t left;

	if (op->kind == PAGING_COPY) {
		left = op->copy.size_bytes - build->done_bytes;
		clip_to_row(&op->copy.source, build->done_bytes, &size_bytes);
		clip_to_row(&op->copy.destination, build->done_bytes, &size_bytes);
	} else {
		left = op->fill.size_bytes - build->done_bytes;
		clip_to_row(&op->fill.destination, build->done_bytes, &size_bytes);
	}
	return size_bytes < left ? size_bytes : left;
}

static NTSTATUS begin_copy(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;
	const struct paging_place *system = &op->copy.source;

	if (op->copy.destination.segment == 0)
		system = &op->copy.destination;
	assert(op->copy.source.segment != 0 || op->copy.destination.segment != 0);

	build->piece_bytes = piece_bytes(build);
	if (system->segment != 0)
		return STATUS_SUCCESS;
	return pager_build_mdl(pager, system, build->done_bytes, pages_of(build->piece_bytes));
}

static NTSTATUS begin(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;

	switch (op->kind) {
	case PAGING_COPY:
		return begin_copy(pager);
	case PAGING_FILL:
		assert(op->fill.destination.segment != 0);
		build->piece_bytes = piece_bytes(build);
		return STATUS_SUCCESS;
	case PAGING_INIT_CONTEXT:
		if (op->context.place.segment != 0)
			return STATUS_SUCCESS;
		return pager_build_mdl(pager, &op->context.place, 0,
				       pages_of(op->context.size_bytes));
	case PAGING_UPDATE_TABLE:
	case PAGING_COPY_ENTRIES:
	case PAGING_UPDATE_CONTEXT:
	case PAGING_MAP_APERTURE:
	case PAGING_SETTLE:
	case PAGING_FOLLOW:
	case PAGING_AS_IT_IS:
		break;
	}
	return refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_MODEL, NULL,
		      "the adapter has no page tables, and the operation needs GPU addresses");
}

enum build_result physical_begin_piece(struct pager *pager)
{
	pager->build.status = begin(pager);
	return NT_SUCCESS(pager->build.status) ? BUILD_DONE : BUILD_FAILED;
}

static struct miniport_place place_of(const struct pager_build *build,
				      const struct paging_place *place)
{
	uint64_t pages;

	if (place->segment == 0)
		return (struct miniport_place){ .mdl = build->mdl->mdl };
	return (struct miniport_place){
		.segment = place->segment,
		.offset_bytes = place_page(place, build->done_bytes, &pages) << MACHINE_PAGE_SHIFT,
	};
}

bool physical_step(struct pager *pager, struct miniport_paging_op *op_out)
{
	const struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;

	if (build->step > 0)
		return false;
	*op_out = (struct miniport_paging_op){ .subject = op->subject };
	if (op->kind == PAGING_COPY) {
		op_out->kind = MINIPORT_PAGING_TRANSFER;
		op_out->transfer.source = place_of(build, &op->copy.source);
		op_out->transfer.destination = place_of(build, &op->copy.destination);
		op_out->transfer.size_bytes = build->piece_bytes;
		op_out->transfer.is_start = op->copy.is_start && build->done_bytes == 0;
		op_out->transfer.is_end =
			op->copy.is_end &&
			build->done_bytes + build->piece_bytes == op->copy.size_bytes;
	} else if (op->kind == PAGING_FILL) {
		op_out->kind = MINIPORT_PAGING_FILL;
		op_out->fill.destination = place_of(build, &op->fill.destination);
		op_out->fill.size_bytes = build->piece_bytes;
		op_out->fill.pattern = op->fill.pattern;
	} else {
		op_out->kind = MINIPORT_PAGING_INIT_CONTEXT_RESOURCE;
		op_out->init_context.destination = place_of(build, &op->context.place);
		op_out->init_context.pointer = op->context.pointer;
	}
	return true;
}
