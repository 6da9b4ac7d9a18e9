/* SPDX-License-Identifier: MIT */
/*
 * builder.c - one step of one job -> calls of the driver.
 *
 *	operation ─▶ piece ─▶ piece …        as much as a window or an MDL takes
 *	               └▶ step ─▶ step …     one call each: entries, flush, transfer
 *	                    └▶ pass ─▶ …     until the driver says that it is in the buffer
 *
 * Everything may have to wait in the middle (no buffer, no window), so where it stands is data
 * (struct pager_build) and the thread comes back later.
 *
 * Passes:
 *   INSUFFICIENT_DMA_BUFFER   what is there is submitted, the same step again into a fresh buffer
 *   ALLOCATION_BUSY           everything so far is submitted, the owner idles it, again with
 *                             is_idle
 *   anything else             the job has failed; what the call left in the buffer is forgotten
 *
 * Locks: none held while entering the driver or the job.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "paging/internal.h"

enum {
	EMPTY_PASSES_MAX = 1024,
	OPS_IN_A_TURN = 64, /* of a job that changes tables, which may have a million of them */
};

/* ---- one step ---- */

static bool is_written_now(const struct miniport_paging_op *op)
{
	return op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE &&
	       op->update_table.mode == MINIPORT_TABLE_CPU_VIRTUAL;
}

/* Operations for which a driver may answer STATUS_GRAPHICS_ALLOCATION_BUSY. */
static bool may_be_busy(const struct miniport_paging_op *op)
{
	return op->kind == MINIPORT_PAGING_TRANSFER || op->kind == MINIPORT_PAGING_DISCARD_CONTENT;
}

static enum build_result fail(struct pager_build *build, NTSTATUS status)
{
	build->status = status;
	return BUILD_FAILED;
}

static enum build_result fail_illegal(struct pager_build *build,
				      const struct miniport_paging_op *op, NTSTATUS status,
				      const char *why)
{
	return fail(build, refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_PAGING_ANSWER, NULL,
				  "building a paging buffer for %s was answered with %s, %s",
				  miniport_paging_name(op), status_name(status), why));
}

static bool made_progress(struct pager_build *build, bool was_empty, bool has_written,
			  uint32_t multipass_before)
{
	if (has_written || !was_empty) {
		build->empty_passes = 0;
		return true;
	}
	return build->multipass != multipass_before && ++build->empty_passes < EMPTY_PASSES_MAX;
}

static void idle_allocation(struct pager *pager)
{
	struct paging_job *job = pager->build.job;

	pager_buffer_submit(pager); /* it may be what is waited for */
	if (job->idle)
		job->idle(job);
	job->op.is_idle = true; /* for all pieces */
	pager->build.op.is_idle = true;
}

static struct pager_stream *stream_of(struct pager *pager, const struct paging_job *job)
{
	return job->stream ? job->stream : &pager->own;
}

static enum build_result build_pass(struct pager *pager, const struct miniport_paging_op *op,
				    NTSTATUS *status_out)
{
	struct pager_build *build = &pager->build;
	struct miniport_paging_buffer nowhere = { 0 };
	struct miniport_paging_buffer *memory = &nowhere;
	uint32_t multipass = build->multipass;

	if (!is_written_now(op)) {
		if (!pager_buffer_current(pager, stream_of(pager, build->job)))
			return BUILD_BLOCKED;
		memory = &pager->current->memory;
	}

	uint32_t used = memory->used_bytes;
	uint32_t private_used = memory->private_used_bytes;
	memory->generation.now = &pager->generation;
	memory->generation.mine = pager->built_generation;
	memory->entry_memory = pager->space.driver_entries;
	memory->entry_max = pager->space.driver_entry_count;
	NTSTATUS status = pager->ops->build(pager->driver, op, memory, &build->multipass);

	*status_out = status;
	if (status != STATUS_SUCCESS && status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
		memory->used_bytes = used;
		memory->private_used_bytes = private_used;
		return BUILD_DONE;
	}
	if (memory->used_bytes != used)
		pager_job_written(pager, build->job);
	if (memory->used_bytes == 0) /* nothing to submit: the next call finds it fresh */
		pager_buffer_refresh(memory);
	if (status == STATUS_SUCCESS)
		return BUILD_DONE;
	if (is_written_now(op))
		return fail_illegal(build, op, status, "and needs no room: the CPU writes");
	if (!made_progress(build, used == 0, memory->used_bytes != used, multipass))
		return fail_illegal(build, op, status, "and the buffer was empty");
	pager_buffer_submit(pager);
	return BUILD_DONE;
}

/* All passes of one step. */
static enum build_result build_step(struct pager *pager, const struct miniport_paging_op *op)
{
	struct pager_build *build = &pager->build;

	for (;;) {
		NTSTATUS status;

		if (!pager_may_build(pager))
			return BUILD_STALE;
		enum build_result result = build_pass(pager, op, &status);
		if (result != BUILD_DONE)
			return result;
		if (status == STATUS_SUCCESS)
			break;
		if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER ||
		    status == STATUS_DEVICE_REMOVED) /* stale by now */
			continue;
		if (status != STATUS_GRAPHICS_ALLOCATION_BUSY)
			return fail_illegal(build, op, status, "which it may not be");
		if (!may_be_busy(op))
			return fail_illegal(build, op, status, "and only what moves can be busy");
		if (op->is_idle)
			return fail_illegal(build, op, status, "and the allocation is idle");
		idle_allocation(pager);
	}
	build->multipass = 0;
	build->empty_passes = 0;
	return BUILD_DONE;
}

/* ---- MDLs ---- */

static NTSTATUS take_mdl(struct pager *pager, const struct miniport_location *location,
			 uint64_t page_count)
{
	uint64_t offset_bytes = pager->build.job->done_bytes;
	struct pager_mdl *mdl = mem_zalloc(sizeof(*mdl));
	uint32_t run_count = location_run_count(location, offset_bytes, page_count);
	struct miniport_page_run *runs = mem_zalloc_array(run_count, sizeof(*runs));
	NTSTATUS status = STATUS_NO_MEMORY;

	assert(!pager->build.mdl);
	if (mdl && runs) {
		location_runs(location, offset_bytes, page_count, runs);
		status = pager->ops->create_mdl(pager->driver, runs, run_count, &mdl->mdl);
	}
	mem_free(runs);
	if (!NT_SUCCESS(status)) {
		mem_free(mdl);
		return status;
	}
	list_init(&mdl->link);
	pager->build.mdl = mdl;
	return STATUS_SUCCESS;
}

NTSTATUS pager_build_location(struct pager *pager, uint64_t size_bytes,
			      struct miniport_location *location)
{
	NTSTATUS status = STATUS_SUCCESS;
	uint64_t pages;

	if (location->segment != 0) {
		location->offset_bytes =
			location_page(location, pager->build.job->done_bytes, &pages)
			<< MACHINE_PAGE_SHIFT;
		location->run_count = 0;
		return STATUS_SUCCESS;
	}
	status = take_mdl(pager, location, pages_of(size_bytes));
	if (NT_SUCCESS(status))
		location->mdl = pager->build.mdl->mdl;
	return status;
}

/* The packets that name it are those up to the last that carries something of the job. */
static void keep_mdl(struct pager *pager)
{
	struct pager_mdl *mdl = pager->build.mdl;

	if (!mdl)
		return;
	pager->build.mdl = NULL;
	mdl->last_sequence = pager->build.job->last_sequence;

	/* By number; nearly always it goes last. */
	struct list *before = pager->mdls.prev;
	while (before != &pager->mdls &&
	       container_of(before, struct pager_mdl, link)->last_sequence > mdl->last_sequence)
		before = before->prev;
	list_insert_between(&mdl->link, before, before->next);
}

void pager_mdls_reclaim(struct pager *pager)
{
	if (list_is_empty(&pager->mdls))
		return;
	lock_acquire(&pager->lock);
	uint64_t retired = pager->retired_sequence;
	lock_release(&pager->lock);

	while (!list_is_empty(&pager->mdls)) {
		struct pager_mdl *mdl = container_of(pager->mdls.next, struct pager_mdl, link);

		if (mdl->last_sequence > retired)
			break;
		list_remove(&mdl->link);
		pager->ops->destroy_mdl(pager->driver, mdl->mdl);
		mem_free(mdl);
	}
}

/* ---- pieces ---- */

bool pager_op_has_pieces(const struct miniport_paging_op *op)
{
	return op->kind == MINIPORT_PAGING_TRANSFER || op->kind == MINIPORT_PAGING_FILL;
}

static bool has_nothing_to_do(const struct paging_job *job)
{
	return job->step != PAGING_OPERATION ||
	       (pager_op_has_pieces(&job->op) && job->op.size_bytes == 0);
}

/* Does the pager have to find out how the driver reaches what it is about? */
static bool needs_locations(const struct pager *pager, const struct miniport_paging_op *op)
{
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE)
		return !pager->has_space || op->update_table.mode == MINIPORT_TABLE_GPU_VIRTUAL;
	return pager_op_has_pieces(op) || op->kind == MINIPORT_PAGING_INIT_CONTEXT_RESOURCE ||
	       op->kind == MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION ||
	       op->kind == MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES;
}

static enum build_result begin_piece(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	enum build_result result = BUILD_DONE;

	build->op = build->job->op;
	if (needs_locations(pager, &build->op))
		result = pager->has_space ? space_begin_piece(pager) : physical_begin_piece(pager);
	build->has_piece = result == BUILD_DONE;
	return result;
}

static void end_piece(struct pager *pager)
{
	struct pager_build *build = &pager->build;

	keep_mdl(pager);
	if (build->slot && build->slot->last_sequence < build->job->last_sequence)
		build->slot->last_sequence = build->job->last_sequence;
	build->slot = NULL;
	build->window_count = 0;
	build->part_count = 0;
	build->needs_flush = false;
	build->cleared_slots = 0;
	build->has_piece = false;
	build->step = 0;
	build->multipass = 0;
	build->empty_passes = 0;
}

void pager_build_again(struct pager *pager)
{
	end_piece(pager);
	pager->build.piece_bytes = 0;
	pager->build.is_tried_again = true;
}

void pager_build_abandon(struct pager *pager)
{
	if (pager->build.job)
		end_piece(pager);
	pager->build = (struct pager_build){ 0 };
}

/* Is there enough in the buffer for a packet? */
static bool is_worth_a_packet(struct pager *pager)
{
	uint64_t work_bytes = pager->current->work_bytes;

	if (work_bytes >= PAGING_PACKET_WORK_BYTES ||
	    pager->current->piece_count >= PAGING_PACKET_PIECES)
		return true;
	if (work_bytes < PAGING_FIRST_WORK_BYTES)
		return false;
	lock_acquire(&pager->lock);
	bool is_idle = pager->retired_sequence == pager->submitted_sequence;
	lock_release(&pager->lock);
	return is_idle;
}

static enum build_result build_piece(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	struct miniport_paging_op op;

	if (!build->has_piece) {
		enum build_result result = begin_piece(pager);

		if (result != BUILD_DONE)
			return result;
	}
	while (space_step(pager, &op)) {
		enum build_result result = build_step(pager, &op);

		if (result != BUILD_DONE)
			return result;
		build->step++;
	}
	enum build_result result = build_step(pager, &build->op);

	if (result != BUILD_DONE)
		return result;
	if (pager->current && pager->current->memory.used_bytes > 0) {
		pager->current->work_bytes += build->piece_bytes;
		pager->current->piece_count += build->piece_bytes > 0;
		if (is_worth_a_packet(pager))
			pager_buffer_submit(pager);
	}
	build->job->done_bytes += build->piece_bytes;
	build->piece_bytes = 0;
	build->give_up_ns = 0;
	end_piece(pager);
	return BUILD_DONE;
}

/* ---- operations ---- */

/* True for operations that take effect when they are built, at least with some drivers. */
static bool may_act_at_once(const struct miniport_paging_op *op)
{
	return op->kind == MINIPORT_PAGING_MAP_APERTURE_SEGMENT ||
	       op->kind == MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT || is_written_now(op);
}

static bool is_with_the_hardware(struct pager *pager, const struct paging_job *job)
{
	lock_acquire(&pager->lock);
	bool is_there = job->last_sequence > pager->retired_sequence;
	lock_release(&pager->lock);
	return is_there;
}

static bool fetch_step(struct pager_build *build)
{
	struct paging_job *job = build->job;

	if (job->step == PAGING_NONE && job->next) {
		job->op = (struct miniport_paging_op){ 0 };
		job->step = job->next(job, &job->op);
		job->done_bytes = 0;
		if (job->step == PAGING_FOLLOW)
			pager_job_follow(job);
	}
	return job->step != PAGING_NONE;
}

static bool is_over(const struct pager_build *build)
{
	const struct paging_job *job = build->job;

	return job->step != PAGING_OPERATION || !pager_op_has_pieces(&job->op) ||
	       build->job->done_bytes >= job->op.size_bytes;
}

/* Is there something that the step at hand waits for? */
static bool must_stall(struct pager *pager, struct paging_job *job)
{
	switch (job->step) {
	case PAGING_SETTLE:
		return is_with_the_hardware(pager, job);
	case PAGING_FOLLOW:
		return pager_job_is_following(pager, job);
	case PAGING_OPERATION:
	case PAGING_NONE:
		break;
	}
	return (!pager->build.has_piece && may_act_at_once(&job->op) &&
		is_with_the_hardware(pager, job)) ||
	       !pager_is_quiet_for(pager, job);
}

/* A long row of table operations lets others have a turn, but not while clients' contexts stand still for it. */
static bool must_yield(const struct pager_build *build)
{
	const struct paging_job *job = build->job;

	return build->op_count >= OPS_IN_A_TURN && job->changes_tables && job->tables &&
	       job->step == PAGING_NONE && !job->needs_quiet;
}

/* At the end of a window a job lets one have a turn that moves the other way; also when only that one has a window. */
static bool must_turn(struct pager *pager, enum build_result result)
{
	const struct paging_job *job = pager->build.job;
	enum paging_way other = job->way == PAGING_WAY_IN ? PAGING_WAY_OUT : PAGING_WAY_IN;

	return job->way != PAGING_SOME_WAY && pager->has_space && !pager->build.has_piece &&
	       job->step == PAGING_OPERATION && pager_op_has_pieces(&job->op) &&
	       (result == BUILD_DONE || result == BUILD_BLOCKED) &&
	       space_has_window(pager, other) && pager_has_other_way(pager, job);
}

enum build_result pager_build_job(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	struct paging_job *job = build->job;

	pager_job_look_behind(pager, job);
	build->is_tried_again = false;
	for (;;) {
		if (pager_job_must_not_ask(pager, job))
			return BUILD_STALLED;
		if (must_yield(build))
			return BUILD_YIELDED;
		if (!fetch_step(build))
			break;
		if (!pager_may_build(pager))
			return BUILD_STALE;
		if (must_stall(pager, job))
			return BUILD_STALLED;
		if (!has_nothing_to_do(job)) {
			enum build_result result = build_piece(pager);

			if (!is_over(build) && must_turn(pager, result))
				return BUILD_TURNED;
			if (result != BUILD_DONE)
				return result;
		}
		if (is_over(build)) {
			job->step = PAGING_NONE;
			build->op_count++;
		}
	}
	return BUILD_DONE;
}
