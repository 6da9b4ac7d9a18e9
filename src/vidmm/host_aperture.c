/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/machine_alias.h"
#include "base/log.h"
#include "vidmm/allocation.h"
#include "vidmm/place.h"
#include "vidmm/host_aperture.h"

enum { PAGES_AT_ONCE = 256 }; /* in one call of the driver: no memory is needed to undo it */

/* What is seen through one: pages of a segment, in granules as the driver counts them. */
struct window_view {
	const struct vidmm *manager;
	const struct vidmm_segment *segment;
	const struct range *range;   /* of the aperture */
	const struct page_run *runs; /* of the segment */
	uint64_t count;
	void *driver_allocation; /* NULL: the kernel's own */
	bool is_call;            /* see struct vidmm_window_ops */
};

static uint64_t granules_of(const struct vidmm_segment *segment, uint64_t size_bytes)
{
	uint64_t granule_bytes = segment->granule_pages * MACHINE_PAGE_BYTES;

	return (size_bytes + granule_bytes - 1) / granule_bytes;
}

static struct window_view view_of(const struct vidmm_place *place)
{
	return (struct window_view){
		.manager = place->manager,
		.segment = place->window.segment,
		.range = place->window.range,
		.runs = page_set_runs(&place->pages),
		.count = granules_of(place->window.segment, place->allocation->size_bytes),
		.driver_allocation = place->subject.driver_allocation,
	};
}

static struct window_view view_of_block(const struct vidmm *manager,
					const struct vidmm_table_block *block)
{
	return (struct window_view){
		.manager = manager,
		.segment = block->segment,
		.range = block->window,
		.runs = page_set_runs(&block->pages),
		.count = granules_of(block->segment, block->wish.size_bytes),
		.is_call = true,
	};
}

/* The first page of the machine that shows it. */
static uint64_t first_pfn(const struct vidmm_segment *segment, const struct range *range)
{
	return (segment->config.window_address >> MACHINE_PAGE_SHIFT) +
	       range->first * segment->granule_pages;
}

static NTSTATUS take(struct vidmm *manager, struct vidmm_segment *segment, uint64_t size_bytes,
		     struct range **range_out)
{
	if (segment->config.window_pages == 0 || atomic_load(&manager->is_gone))
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	return ranges_take(&segment->windows, granules_of(segment, size_bytes), 1, range_out);
}

static void give_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	assert(place->window.state == CPU_WINDOW_CLOSED);
	ranges_give(&place->window.segment->windows, place->window.range);
	place->window.range = NULL;
	place->window.segment = NULL;
}

NTSTATUS window_take_locked(struct vidmm_place *place, struct vidmm_segment *segment)
{
	struct range *range;

	lock_assert_held(&place->manager->lock);
	if (place->window.range && place->window.segment == segment)
		return STATUS_SUCCESS;
	NTSTATUS status = take(place->manager, segment, place->allocation->size_bytes, &range);
	if (!NT_SUCCESS(status))
		return status;
	/* Of a segment that it was in before. */
	if (place->window.range)
		give_locked(place);
	place->window.range = range;
	place->window.segment = segment;
	return STATUS_SUCCESS;
}

/* ---- of what is locked outside ---- */

bool window_can_be_had(const struct vidmm_place *place, const struct vidmm_segment *segment)
{
	const struct vidmm_allocation *allocation = place->allocation;
	const struct cpu_window *window = &place->window;

	if (LIKELY(segment->config.window_pages == 0) ||
	    atomic_load(&segment->has_foreign_windows) || !allocation->traits.is_cpu_visible ||
	    (allocation->traits.is_cached && !segment->config.window_is_cached) ||
	    allocation->backing.is_clients || allocation->driver ||
	    window->refused_at == place->manager->retry_generation)
		return false;
	return (window->range && window->segment == segment) ||
	       ranges_largest_free(&segment->windows) >=
		       granules_of(segment, allocation->size_bytes);
}

NTSTATUS window_promise_locked(struct vidmm_place *place)
{
	uint32_t supported = place->allocation->supported_segments;
	struct placement placements[VIDMM_MAX_SEGMENTS];
	NTSTATUS status = STATUS_GRAPHICS_NO_VIDEO_MEMORY;

	lock_assert_held(&place->manager->lock);
	if (supported & roles_open_segments(place))
		return STATUS_SUCCESS;
	uint32_t count =
		placement_list(place->manager, place, roles_locked_segments(place), placements);
	for (uint32_t i = 0; i < count && status == STATUS_GRAPHICS_NO_VIDEO_MEMORY; i++)
		status = window_take_locked(place, placements[i].segment);
	return status;
}

/* Is its stretch what it needs to come in, or to come back? */
static bool keeps_stretch(const struct vidmm_place *place)
{
	if (place->lock == PLACE_NOT_LOCKED || place->end == PLACE_DYING)
		return false;
	return place->state == PLACE_ENTERING ||
	       (place->list_count > 0 &&
		!(place->allocation->supported_segments & roles_open_segments(place)));
}

void window_settle_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (UNLIKELY(place->window.range) && place->window.state == CPU_WINDOW_CLOSED &&
	    !keeps_stretch(place))
		give_locked(place);
}

struct vidmm_backing window_pages(const struct vidmm_place *place)
{
	return (struct vidmm_backing){
		.run_count = 1,
		.one = { (uint32_t)first_pfn(place->window.segment, place->window.range),
			 (uint32_t)(place->allocation->size_bytes >> MACHINE_PAGE_SHIFT) },
	};
}

static void set_state(struct vidmm_place *place, enum cpu_window_state state)
{
	place->window.state = state_step(STATES_CPU_WINDOW, place->window.state, state);
}

static void change_locked(struct vidmm_place *place, enum cpu_window_state change)
{
	lock_assert_held(&place->manager->lock);
	assert(place->window.range);
	set_state(place, change);
	place->window.is_unwanted = false;
	place->window.opened_at = place->manager->resets;
	place_set_lock_locked(place, PLACE_LOCKED);
	place->waits++;
}

void window_change_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	change_locked(place, CPU_WINDOW_OPENING);
}

/* ---- in the driver ---- */

static uint32_t next_part(uint64_t done, uint64_t count)
{
	return (uint32_t)(count - done < PAGES_AT_ONCE ? count - done : PAGES_AT_ONCE);
}

static void fill_aperture_pages(const struct window_view *view, uint64_t done, uint32_t count,
				uint32_t *pages)
{
	for (uint32_t i = 0; i < count; i++)
		pages[i] = (uint32_t)(view->range->first + done + i);
}

/* The granules from `done` on. Those of a run follow each other. */
static void fill_segment_pages(const struct window_view *view, uint64_t done, uint32_t count,
			       uint64_t *pages)
{
	uint64_t granule_pages = view->segment->granule_pages;
	const struct page_run *run = view->runs;

	for (uint32_t i = 0; i < count; i++, done++) {
		while (done >= run->count / granule_pages) {
			done -= run->count / granule_pages;
			run++;
		}
		pages[i] = run->first_page / granule_pages + done;
	}
}

static void unmap(const struct window_view *view, uint64_t count)
{
	const struct vidmm_config *config = &view->manager->config;
	uint32_t pages[PAGES_AT_ONCE];

	for (uint64_t done = 0; done < count; done += PAGES_AT_ONCE) {
		uint32_t part = next_part(done, count);

		fill_aperture_pages(view, done, part, pages);
		config->windows->close(config->windows_context, view->segment->id, part, pages);
	}
}

static NTSTATUS map(const struct window_view *view)
{
	const struct vidmm_config *config = &view->manager->config;
	uint32_t aperture_pages[PAGES_AT_ONCE];
	uint64_t segment_pages[PAGES_AT_ONCE];

	for (uint64_t done = 0; done < view->count; done += PAGES_AT_ONCE) {
		uint32_t part = next_part(done, view->count);

		fill_aperture_pages(view, done, part, aperture_pages);
		fill_segment_pages(view, done, part, segment_pages);
		NTSTATUS status = config->windows->open(config->windows_context, view->is_call,
							view->driver_allocation, view->segment->id,
							part, aperture_pages, segment_pages);
		if (!NT_SUCCESS(status)) {
			unmap(view, done);
			return status;
		}
	}
	return STATUS_SUCCESS;
}

static bool map_place(const struct vidmm_place *place, bool is_call)
{
	struct window_view view = view_of(place);

	view.is_call = is_call;
	return NT_SUCCESS(map(&view));
}

/* ---- opening and closing ---- */

static void change_over_locked(struct vidmm_place *place, enum cpu_window_state state)
{
	lock_assert_held(&place->manager->lock);
	set_state(place, state);
	place->waits--;
}

/* False: a reset came in between, and it is to be done once more. */
static bool is_up_to_date_locked(struct vidmm_place *place)
{
	uint64_t opened_at = place->window.opened_at;

	lock_assert_held(&place->manager->lock);
	place->window.opened_at = place->manager->resets;
	return opened_at == place->manager->resets || atomic_load(&place->manager->is_gone);
}

/*
 * Are the pages that it shows the machine's, each where its segment has it? What the driver shows says
 * where that is.
 */
static bool shows_memory_locked(const struct vidmm_place *place)
{
	struct vidmm_segment *segment = place->segment;
	const struct page_run *run = page_set_runs(&place->pages);
	uint64_t base = atomic_load(&segment->memory_address) >> MACHINE_PAGE_SHIFT;
	bool is_known = atomic_load(&segment->memory_address) != MACHINE_NOWHERE;
	uint64_t left = place->allocation->size_bytes >> MACHINE_PAGE_SHIFT;
	uint64_t pfn = first_pfn(segment, place->window.range);

	lock_assert_held(&place->manager->lock);
	for (uint64_t at = 0, behind; left > 0; left -= behind, pfn += behind, at += behind) {
		uint64_t first;

		if (at == run->count) {
			run++;
			at = 0;
		}
		behind = machine_behind(pfn, lower_of(left, run->count - at), &first);
		if (!is_known && first >= run->first_page + at)
			base = first - run->first_page - at;
		is_known = true;
		if (first == pfn || first != base + run->first_page + at)
			return false;
	}
	if (!machine_is_memory(base << MACHINE_PAGE_SHIFT, segment->config.size_bytes))
		return false;
	atomic_store(&segment->memory_address, base << MACHINE_PAGE_SHIFT);
	return true;
}

/*
 * OPENING, in the driver. Drops and retakes the manager's lock; the window is OPEN then, or CLOSED, and
 * all that is not on this place may have changed.
 */
static bool open_relock(struct vidmm_place *place, bool is_call)
{
	struct vidmm *manager = place->manager;
	bool is_open;

	lock_assert_held(&manager->lock);
	do {
		lock_release(&manager->lock);
		is_open = map_place(place, is_call);
		lock_acquire(&manager->lock);
	} while (is_open && !is_up_to_date_locked(place));
	change_over_locked(place, is_open ? CPU_WINDOW_OPEN : CPU_WINDOW_CLOSED);
	place->window.shows_memory = is_open && shows_memory_locked(place);
	if (is_open && !place->window.shows_memory)
		atomic_store(&place->window.segment->has_foreign_windows, true);
	return is_open;
}

bool window_open(struct vidmm_place *place)
{
	struct vidmm *manager = place->manager;

	lock_acquire(&manager->lock);
	bool is_open = open_relock(place, true);
	if (!is_open) {
		give_locked(place);
		place_set_lock_locked(place, PLACE_NOT_LOCKED);
	}
	lock_release(&manager->lock);
	notice_give(&manager->changed);
	return is_open;
}

bool window_end_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (window_is_changing(&place->window))
		place->window.is_unwanted = true;
	if (place->window.range && place->window.state == CPU_WINDOW_CLOSED)
		give_locked(place);
	if (place->window.state != CPU_WINDOW_OPEN)
		return window_is_changing(&place->window);
	change_locked(place, CPU_WINDOW_CLOSING);
	plan_add(&place->manager->plan, PLAN_WINDOWS, &place->window.plan_link);
	return true;
}

/* CLOSING, in the driver. Nobody else does anything about it meanwhile. */
static void close_in_driver(struct vidmm_place *place)
{
	struct window_view view = view_of(place);

	if (!atomic_load(&place->manager->is_gone))
		unmap(&view, view.count);
}

static void closed_locked(struct vidmm_place *place)
{
	bool is_locked = place->allocation->lock_count > 0;
	struct vidmm *manager = place->manager;
	bool has_given_up =
		place->state == PLACE_OUT && place->given_up_at == manager->retry_generation;

	lock_assert_held(&place->allocation->lock);
	change_over_locked(place, CPU_WINDOW_CLOSED);
	place_set_lock_locked(place, is_locked ? PLACE_LOCKED : PLACE_NOT_LOCKED);
	window_settle_locked(place);
	manager->plan.has_changes = true;
	manager->retry_generation++; /* there is room in the aperture, and this one may move … */
	if (has_given_up)
		place->given_up_at = manager->retry_generation; /* … but not for that reason */
	place_settle_locked(place);
}

/* Closes the window in the driver, and notes it. Called with no lock held. */
static void window_close(struct vidmm_place *place)
{
	struct vidmm_allocation *allocation = place->allocation;
	struct vidmm *manager = place->manager;

	close_in_driver(place);
	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	closed_locked(place);
	lock_release(&allocation->lock); /* first: with the manager's lock it may go */
	lock_release(&manager->lock);
}

/* ---- with its place ---- */

/* Drops and retakes the manager's lock: its state may be another then. */
static void change_wait_relock(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	while (window_is_changing(&place->window))
		notice_wait_relock(&place->manager->changed, &place->manager->lock);
}

/* Who has it locked sees the same pages as before, wherever they go. */
void window_leave(struct vidmm_place *place)
{
	struct vidmm *manager = place->manager;

	if (place->segment->config.window_pages == 0)
		return;
	lock_acquire(&manager->lock);
	change_wait_relock(place);
	bool is_open = place->window.state == CPU_WINDOW_OPEN;
	if (is_open)
		change_locked(place, CPU_WINDOW_CLOSING);
	lock_release(&manager->lock);
	if (!is_open)
		return;
	window_close(place);
	notice_give(&manager->changed);
}

NTSTATUS window_enter(struct vidmm_place *place)
{
	struct vidmm *manager = place->manager;
	NTSTATUS status = STATUS_SUCCESS;

	if (LIKELY(place->segment->config.window_pages == 0))
		return STATUS_SUCCESS;
	lock_acquire(&manager->lock);
	change_wait_relock(place);
	if (!place_has_cpu_lock(place)) {
		lock_release(&manager->lock);
		return STATUS_SUCCESS;
	}
	assert(place->window.range && place->window.segment == place->segment);
	window_change_locked(place);
	bool is_open = open_relock(place, false);
	if (!is_open)
		place->window.refused_at = manager->retry_generation;
	if (!is_open || !place->window.shows_memory)
		status = STATUS_GRAPHICS_CANT_LOCK_MEMORY;
	/* It was unlocked meanwhile. */
	if (place->window.is_unwanted && !window_end_locked(place))
		place_set_lock_locked(place, PLACE_NOT_LOCKED);
	lock_release(&manager->lock);
	notice_give(&manager->changed);
	return status;
}

void window_out_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (LIKELY(place->window.state == CPU_WINDOW_CLOSED))
		return;
	/* The driver has forgotten it. */
	if (place->window.state == CPU_WINDOW_OPEN &&
	    place->window.opened_at != place->manager->resets)
		set_state(place, CPU_WINDOW_CLOSED);
	else
		(void)window_end_locked(place);
}

/* ---- the kernel's own page tables ---- */

/* As the CPU reaches it without a view: in one piece behind the window, or not at all. */
static void *pointer_of(const struct vidmm_table_block *block)
{
	uint64_t count = block->wish.size_bytes >> MACHINE_PAGE_SHIFT;
	uint64_t first;

	if (machine_behind(first_pfn(block->segment, block->window), count, &first) != count)
		return NULL;
	return machine_to_pointer(first << MACHINE_PAGE_SHIFT);
}

NTSTATUS window_open_table(struct vidmm *manager, struct vidmm_table_block *block)
{
	struct range *range = NULL;

	if (block->segment->config.window_pages == 0)
		return STATUS_SUCCESS;
	lock_acquire(&manager->lock);
	bool is_taken = NT_SUCCESS(take(manager, block->segment, block->wish.size_bytes, &range));
	block->window = range;
	block->opened_at = manager->resets;
	lock_release(&manager->lock);
	if (!is_taken)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	struct window_view view = view_of_block(manager, block);
	NTSTATUS status = map(&view);
	if (NT_SUCCESS(status)) {
		block->pointer = pointer_of(block);
		return STATUS_SUCCESS;
	}
	lock_acquire(&manager->lock);
	block->window = NULL;
	ranges_give(&block->segment->windows, range);
	lock_release(&manager->lock);
	return status;
}

void window_close_table(struct vidmm *manager, struct vidmm_table_block *block)
{
	if (!block->window)
		return;
	struct window_view view = view_of_block(manager, block);
	if (!atomic_load(&manager->is_gone))
		unmap(&view, view.count);
	lock_acquire(&manager->lock);
	ranges_give(&block->segment->windows, block->window);
	lock_release(&manager->lock);
	block->window = NULL;
	block->pointer = NULL;
}

/* ---- after a reset ---- */

/* The next of the kernel's own table blocks whose window has to be opened again after a reset; NULL behind the last. The
 * pager, which uses them, is suspended meanwhile. */
static struct vidmm_table_block *next_block_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	list_each (struct vidmm_table_block, block, &manager->blocks, link) {
		if (!block->window || block->opened_at == manager->resets)
			continue;
		block->opened_at = manager->resets;
		return block;
	}
	return NULL;
}

static void reopen_tables(struct vidmm *manager)
{
	for (;;) {
		lock_acquire(&manager->lock);
		const struct vidmm_table_block *block = next_block_locked(manager);
		lock_release(&manager->lock);
		if (!block)
			return;
		struct window_view view = view_of_block(manager, block);
		if (!NT_SUCCESS(map(&view)))
			log_warn("the driver does not map the kernel's page tables again after a "
				 "reset");
	}
}

static struct vidmm_place *next_open_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	list_each (struct vidmm_place, place, &manager->places, all_link) {
		/* What is on its way in may be lost with it; if not, it is seen to when it is there. */
		if (place->window.state == CPU_WINDOW_OPEN &&
		    place->window.opened_at != manager->resets && place->state != PLACE_ENTERING)
			return place;
	}
	return NULL;
}

/* REOPENING, in the driver. No lock is held. */
static void window_reopen(struct vidmm_place *place)
{
	struct vidmm *manager = place->manager;

	/* Its pointer is good in any case; what is seen there is anything since the reset. */
	if (!map_place(place, false))
		log_warn("the driver does not map locked memory again after a reset");
	lock_acquire(&manager->lock);
	change_over_locked(place, CPU_WINDOW_OPEN);
	if (place->window.is_unwanted)
		(void)window_end_locked(place);
	manager->plan.has_changes = true;
	lock_release(&manager->lock);
}

void window_arrive_locked(struct vidmm_place *place)
{
	struct vidmm *manager = place->manager;

	lock_assert_held(&manager->lock);
	if (LIKELY(place->window.state != CPU_WINDOW_OPEN) ||
	    place->window.opened_at == manager->resets)
		return;
	change_locked(place, CPU_WINDOW_REOPENING);
	plan_add(&manager->plan, PLAN_WINDOWS, &place->window.plan_link);
}

/* The plan's: nobody else changes their state meanwhile. */
void windows_carry_out(struct list *places)
{
	list_drain (struct vidmm_place, each, places, window.plan_link) {
		if (each->window.state == CPU_WINDOW_REOPENING)
			window_reopen(each);
		else
			window_close(each);
	}
}

void vidmm_windows_reopen(struct vidmm *manager)
{
	reopen_tables(manager);
	for (;;) {
		lock_acquire(&manager->lock);
		struct vidmm_place *place = next_open_locked(manager);
		if (place)
			change_locked(place, CPU_WINDOW_REOPENING);
		lock_release(&manager->lock);
		if (!place)
			return;
		window_reopen(place);
		decide(manager);
	}
}
