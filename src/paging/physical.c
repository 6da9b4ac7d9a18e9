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

#include "base/checked.h"
#include "base/refusal.h"
#include "paging/internal.h"

static uint64_t clip_to_row(const struct miniport_location *location, uint64_t offset_bytes,
			    uint64_t size_bytes)
{
	uint64_t pages;

	if (location->segment == 0)
		return size_bytes; /* an MDL is as good scattered */
	(void)location_page(location, offset_bytes, &pages);
	return pages < pages_of(size_bytes) ? pages << MACHINE_PAGE_SHIFT : size_bytes;
}

static void divide(struct pager_build *build)
{
	const struct miniport_paging_op *whole = &build->job->op;
	struct miniport_paging_op *op = &build->op;
	uint64_t size_bytes =
		lower_of(whole->size_bytes - build->job->done_bytes, PAGING_PIECE_BYTES);

	size_bytes = clip_to_row(&whole->target, build->job->done_bytes, size_bytes);
	if (op->kind == MINIPORT_PAGING_TRANSFER) {
		size_bytes = clip_to_row(&whole->source, build->job->done_bytes, size_bytes);
		op->transfer.is_start &= build->job->done_bytes == 0;
		op->transfer.is_end &= build->job->done_bytes + size_bytes == whole->size_bytes;
	}
	build->piece_bytes = size_bytes;
	op->size_bytes = size_bytes;
	op->offset_bytes = 0;
}

enum build_result physical_begin_piece(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	struct miniport_paging_op *op = &build->op;
	bool is_transfer = op->kind == MINIPORT_PAGING_TRANSFER;

	assert(op->kind != MINIPORT_PAGING_FILL || op->target.segment != 0);
	assert(!is_transfer || op->target.segment != 0 || op->source.segment != 0);
	if (pager_op_has_pieces(op)) {
		divide(build);
	} else if (op->kind != MINIPORT_PAGING_INIT_CONTEXT_RESOURCE) {
		build->status = refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_MODEL, NULL,
				       "the adapter has no page tables, and the operation needs "
				       "GPU addresses");
		return BUILD_FAILED;
	}
	build->status = pager_build_location(pager, op->size_bytes, &op->target);
	if (NT_SUCCESS(build->status) && is_transfer)
		build->status = pager_build_location(pager, op->size_bytes, &op->source);
	return NT_SUCCESS(build->status) ? BUILD_DONE : BUILD_FAILED;
}
