/* SPDX-License-Identifier: MIT */
/*
 * mappings.c - see mappings.h.
 *
 * Locks: the allocation's, then the manager's, for each look. Neither is held while operations are
 * made.
 */
#include <assert.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "address_space/mappings.h"
#include "vidmm/place.h"
#include "vidmm/work_set.h"

/* ---- what stands for an allocation ---- */

NTSTATUS vidmm_mapped_memory(struct vidmm_allocation *allocation, void *driver_allocation,
			     struct mapped_memory **memory_out)
{
	struct mapped_memory *memory = atomic_load(&allocation->mapped);

	*memory_out = memory;
	if (memory)
		return STATUS_SUCCESS;
	struct mapped_memory *fresh = mem_zalloc(sizeof(*fresh));
	if (!fresh)
		return refuse_no_memory(
			"There is no memory for the first GPU address of an allocation");
	mapped_memory_init(fresh, allocation->size_bytes >> MACHINE_PAGE_SHIFT,
			   driver_memory_subject(allocation->driver, driver_allocation),
			   allocation);
	if (atomic_compare_exchange_strong(&allocation->mapped, &memory, fresh)) {
		*memory_out = fresh;
		return STATUS_SUCCESS;
	}
	mapped_memory_finish(fresh); /* another thread was faster */
	mem_free(fresh);
	*memory_out = memory;
	return STATUS_SUCCESS;
}

/* ---- where it is ---- */

/* The run with page `offset_pages`, beginning with the one that was found last. */
static uint32_t find_run(struct mapped_memory *memory, const struct vidmm_place *place,
			 const uint32_t *counts, size_t stride, uint32_t run_count,
			 uint64_t offset_pages)
{
	struct mapped_memory_hint *hint = &memory->hint;

	if (hint->version != place->lead_version || hint->first_page > offset_pages)
		*hint = (struct mapped_memory_hint){ .version = place->lead_version };
	for (;;) {
		uint32_t count = *(const uint32_t *)((const char *)counts + hint->run * stride);

		assert(hint->run < run_count);
		if (offset_pages - hint->first_page < count)
			return hint->run;
		hint->first_page += count;
		hint->run++;
	}
}

static void show_run(struct resident_run *run, uint32_t segment, uint64_t first_page,
		     uint64_t count, uint64_t in_run)
{
	run->is_resident = true;
	run->segment = segment;
	run->first_page = first_page + in_run;
	if (run->page_count > count - in_run)
		run->page_count = count - in_run;
}

static void look_in_system(struct mapped_memory *memory, const struct vidmm_place *place,
			   uint64_t offset_pages, struct resident_run *run)
{
	const struct vidmm_backing *backing = &place->allocation->backing;
	const struct backing_run *runs = backing_runs(backing);

	if (backing->is_clients) {
		show_run(run, 0, machine_foreign(backing->clients) >> MACHINE_PAGE_SHIFT,
			 memory->page_count, offset_pages);
		return;
	}
	uint32_t at = find_run(memory, place, &runs[0].count, sizeof(runs[0]), backing->run_count,
			       offset_pages);
	show_run(run, 0, runs[at].first_pfn, runs[at].count,
		 offset_pages - memory->hint.first_page);
}

static void look_in_segment(struct mapped_memory *memory, const struct vidmm_place *place,
			    uint64_t offset_pages, struct resident_run *run)
{
	const struct page_run *runs = page_set_runs(&place->pages);
	uint32_t at = find_run(memory, place, &runs[0].count, sizeof(runs[0]),
			       place->pages.run_count, offset_pages);

	show_run(run, place->segment->id, runs[at].first_page, runs[at].count,
		 offset_pages - memory->hint.first_page);
}

void vidmm_look(void *context, const struct mapped_memory *const_memory, uint64_t offset_pages,
		struct resident_run *run)
{
	struct vidmm_allocation *allocation = const_memory->allocation;

	if (!allocation) {
		show_run(run, 0, const_memory->fixed_page, const_memory->page_count, offset_pages);
		return;
	}
	struct mapped_memory *memory =
		atomic_load(&allocation->mapped); /* the same, for the hint */
	run->is_resident = false;
	lock_acquire(&allocation->lock);
	struct vidmm_place *place = atomic_load_explicit(&allocation->place, memory_order_acquire);
	if (place) {
		lock_acquire(&place->manager->lock);
		if (place->leads_there && place->segment->is_system)
			look_in_system(memory, place, offset_pages, run);
		else if (place->leads_there)
			look_in_segment(memory, place, offset_pages, run);
		lock_release(&place->manager->lock);
	}
	lock_release(&allocation->lock);
}

/* ---- moves ---- */

static bool is_mapped(void *context, struct vidmm_allocation *allocation)
{
	struct mapped_memory *memory = atomic_load(&allocation->mapped);

	return memory && mapped_memory_is_mapped(memory);
}

static bool concerns(void *context, struct vidmm_allocation *allocation, const void *tables)
{
	struct mapped_memory *memory = atomic_load(&allocation->mapped);

	return memory && mapped_memory_is_in(memory, tables);
}

static void show(struct vidmm_allocation *allocation, bool leads_there)
{
	struct vidmm_place *place = atomic_load_explicit(&allocation->place, memory_order_acquire);

	/* Who decides for others has the manager's lock for long: it is not waited for, but for a shift. */
	if (place->move.way != MOVE_SHIFT) {
		lock_acquire(&allocation->lock);
		place_set_leads_there(place, leads_there);
		lock_release(&allocation->lock);
		return;
	}
	lock_acquire(&place->manager->lock);
	place_lead_there_locked(place, leads_there);
	lock_release(&place->manager->lock);
}

/* Others may have them when the move is over. */
static bool gives_up_pages(struct vidmm_allocation *allocation)
{
	const struct vidmm_place *place =
		atomic_load_explicit(&allocation->place, memory_order_acquire);

	return place->move.way != MOVE_IN;
}

static enum paging_step mappings_next(void *context, struct vidmm_allocation *allocation,
				      enum vidmm_mapping_change change,
				      struct vidmm_mapping_cursor *cursor,
				      struct miniport_paging_op *op_out)
{
	enum { STEP, VIEW_ID, HAS_BEGUN, STATE };
	enum { NEW, SETTLED, SHOWN, FOLLOWED };
	struct mapped_memory *memory = atomic_load(&allocation->mapped);
	struct mapped_memory_cursor at = { .step = cursor->words[STEP],
					   .view_id = cursor->words[VIEW_ID],
					   .has_begun = cursor->words[HAS_BEGUN] };

	if (cursor->words[STATE] == NEW) {
		cursor->words[STATE] = SETTLED;
		if (memory && mapped_memory_must_settle(memory))
			return PAGING_SETTLE;
	}
	if (cursor->words[STATE] == SETTLED) {
		/* From here on this is where it is, for whoever maps it, too. */
		show(allocation, change == VIDMM_MAPPINGS_IN);
		cursor->words[STATE] = SHOWN;
		memory = atomic_load(&allocation->mapped);
	}
	bool is_there = memory && mapped_memory_next(memory, &at, op_out);
	cursor->words[STEP] = at.step;
	cursor->words[VIEW_ID] = at.view_id;
	cursor->words[HAS_BEGUN] = at.has_begun;
	if (is_there || !memory || cursor->words[STATE] == FOLLOWED || !gives_up_pages(allocation))
		return paging_step_of(is_there);
	/* Addresses that are no longer its own may lead there until their jobs are built. */
	cursor->words[STATE] = FOLLOWED;
	return PAGING_FOLLOW;
}

static void mappings_failed(void *context, struct vidmm_allocation *allocation, NTSTATUS status)
{
	struct mapped_memory *memory = atomic_load(&allocation->mapped);

	if (memory)
		mapped_memory_failed(memory, status);
}

const struct vidmm_mapping_ops vidmm_table_mappings = { .is_mapped = is_mapped,
							.concerns = concerns,
							.next = mappings_next,
							.failed = mappings_failed };
