/* SPDX-License-Identifier: MIT */
/*
 * allocation_list.c - residency by the list of each submission: the physical model.
 *
 *   in:   what a DMA buffer refers to
 *   out:  all of it in place until the buffer is retired, with segment and offset of each
 *
 * Everything is pinned at once, when all of it is in place. Before that, only the list whose turn
 * it is holds what it has so far: two lists that hold half of what the other one needs would wait
 * for ever.
 *
 * Locks: the manager's.
 */
#include "base/checked.h"
#include "base/machine.h"
#include "base/refusal.h"
#include "vidmm/allocation_list_turns.h"
#include "vidmm/place.h"

static void list_pin_locked(struct vidmm_allocation_list *list)
{
	lock_assert_held(&list->device->process->manager->lock);
	if (list->is_pinned)
		return;
	list->is_pinned = true;
	for (uint32_t i = 0; i < list->count; i++) {
		struct vidmm_place *place = binding_place(list->entries[i].binding);

		place->pins++;
		place->waiter_pins++;
		place_settle_locked(place);
	}
}

static void list_unpin_locked(struct vidmm_allocation_list *list)
{
	lock_assert_held(&list->device->process->manager->lock);
	if (!list->is_pinned)
		return;
	list->is_pinned = false;
	for (uint32_t i = 0; i < list->count; i++) {
		struct vidmm_place *place = binding_place(list->entries[i].binding);

		if (list->state != VIDMM_LIST_READY)
			place->waiter_pins--;
		place_unpin_locked(place);
	}
	if (list->state == VIDMM_LIST_READY)
		list_is_not_ready_locked(list);
}

void list_return_locked(struct vidmm_allocation_list *list)
{
	lock_assert_held(&list->device->process->manager->lock);
	list_unpin_locked(list);
	list->state = VIDMM_LIST_NEW;
}

static bool list_is_in_place(const struct vidmm_allocation_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (binding_place(list->entries[i].binding)->state != PLACE_IN)
			return false;
	}
	return true;
}

static void entry_fill_in(struct vidmm_allocation_list_entry *entry,
			  const struct vidmm_place *place)
{
	entry->segment = place->segment->id;
	entry->offset_bytes =
		place->pages.run_count > 0
			? page_set_runs(&place->pages)[0].first_page * MACHINE_PAGE_BYTES
			: 0;
}

static void list_fill_in_locked(struct vidmm_allocation_list *list)
{
	lock_assert_held(&list->device->process->manager->lock);
	for (uint32_t i = 0; i < list->count; i++) {
		struct vidmm_place *place = binding_place(list->entries[i].binding);

		place->waiter_pins--;
		place_use_locked(place);
		entry_fill_in(&list->entries[i], place);
	}
}

static void list_end_locked(struct vidmm_allocation_list *list,
			    enum vidmm_allocation_list_state state, NTSTATUS status)
{
	bool was_waiting = list->state == VIDMM_LIST_WAITING;

	lock_assert_held(&list->device->process->manager->lock);
	list->state = state;
	list_remove(&list->waiter.link);
	if (!was_waiting)
		return;
	list->request.status = status;
	plan_add(&list->device->process->manager->plan, PLAN_REQUESTS, &list->request.link);
}

bool list_look_locked(struct vidmm_allocation_list *list, bool is_head)
{
	lock_assert_held(&list->device->process->manager->lock);
	if (list_is_in_place(list)) {
		list_pin_locked(list);
		list_fill_in_locked(list);
		list_end_locked(list, VIDMM_LIST_READY, STATUS_SUCCESS);
		list_is_ready_locked(list);
		return true;
	}
	if (is_head)
		list_pin_locked(list);
	return false;
}

void list_loosen_locked(struct vidmm_allocation_list *list)
{
	lock_assert_held(&list->device->process->manager->lock);
	list_unpin_locked(list);
}

void list_fail_locked(struct vidmm_allocation_list *list)
{
	lock_assert_held(&list->device->process->manager->lock);
	list_unpin_locked(list);
	list_end_locked(list, VIDMM_LIST_FAILED, STATUS_NO_MEMORY);
}

/* What is left of empty memory. */
struct left {
	uint64_t bytes[VIDMM_MAX_SEGMENTS];
	uint64_t limit_bytes; /* of all apertures together */
};

static bool left_take(struct left *left, const struct placement *where)
{
	uint64_t *bytes = &left->bytes[where->segment->id - 1];
	uint64_t wanted = segment_bytes(where->segment, &where->wish);

	if (wanted > *bytes ||
	    (where->segment->is_system && where->wish.size_bytes > left->limit_bytes))
		return false;
	*bytes -= wanted;
	if (where->segment->is_system)
		left->limit_bytes -= where->wish.size_bytes;
	return true;
}

static struct left left_of_all(const struct vidmm *manager)
{
	uint64_t limit_bytes = manager->config.aperture_commit_limit_bytes;
	struct left left = { .limit_bytes = limit_bytes != 0 ? limit_bytes : UINT64_MAX };

	for (uint32_t i = 0; i < manager->segment_count; i++) {
		const struct vidmm_segment_config *config = &manager->segments[i].config;

		left.bytes[i] = config->size_bytes;
		if (manager->segments[i].is_system && config->commit_limit_bytes < left.bytes[i])
			left.bytes[i] = config->commit_limit_bytes;
	}
	return left;
}

static bool left_take_first(struct left *left, const struct placement placements[], uint32_t count)
{
	uint32_t at = 0;

	while (at < count && !left_take(left, &placements[at]))
		at++;
	return at < count;
}

/* How many of the first could be in place together, were there nobody else. */
static uint32_t list_fits(struct vidmm *manager, const struct vidmm_allocation_list *list)
{
	struct left left = left_of_all(manager);

	for (uint32_t i = 0; i < list->count; i++) {
		struct placement placements[VIDMM_MAX_SEGMENTS];
		uint32_t count = placement_list(manager, binding_place(list->entries[i].binding),
						UINT32_MAX, placements);

		if (!left_take_first(&left, placements, count))
			return i;
	}
	return list->count;
}

/* Who has no choice comes before who has one. */
static bool left_take_resident(struct left *left, const struct list *bindings, bool has_choice)
{
	list_each (const struct vidmm_binding, binding, bindings, device_link) {
		struct placement placements[VIDMM_MAX_SEGMENTS];
		uint32_t count = placement_list(binding->device->process->manager,
						binding_place(binding), UINT32_MAX, placements);

		if (binding->is_charged && (count > 1) == has_choice &&
		    !left_take_first(left, placements, count))
			return false;
	}
	return true;
}

bool device_list_fits_locked(const struct vidmm_device *device)
{
	struct vidmm *manager = device->process->manager;
	struct left left = left_of_all(manager);

	lock_assert_held(&manager->lock);
	for (uint32_t i = 0; i < manager->segment_count; i++)
		left.bytes[i] -= lower_of(left.bytes[i],
					  table_blocks_count_bytes(manager, &manager->segments[i]));
	for (int has_choice = 0; has_choice < 2; has_choice++) {
		if (!left_take_resident(&left, &device->resident, has_choice) ||
		    !left_take_resident(&left, &device->absent, has_choice) ||
		    !left_take_resident(&left, &device->moving, has_choice))
			return false;
	}
	return true;
}

static NTSTATUS offered(uint32_t index)
{
	return invalid_item(RULE_MM_USE_OFFERED, "AllocationList", index,
			    "is offered and has to be reclaimed before it is used");
}

/* What was offered behind the submission counts from the submission's end on. */
static NTSTATUS list_check(struct vidmm *manager, struct vidmm_allocation_list *list,
			   uint32_t *fits_out)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct vidmm_place *place = binding_place(list->entries[i].binding);

		if (place_offer_is_due(place))
			return offered(i);
	}
	*fits_out = list_fits(manager, list);
	if (*fits_out < list->count)
		return refuse_item(STATUS_NO_MEMORY, RULE_MM_LIST_FITS, "AllocationList", *fits_out,
				   "does not fit into memory beside what is listed before it");
	return STATUS_SUCCESS;
}

static NTSTATUS list_ensure(struct vidmm_allocation_list *list)
{
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; i < list->count && NT_SUCCESS(status); i++)
		status = place_ensure(list->entries[i].binding);
	if (!NT_SUCCESS(status))
		refuse(status, RULE_MM_NO_PAGES, NULL,
		       "There is no memory to write down what is to be in place");
	return status;
}

static NTSTATUS list_start(struct vidmm *manager, struct vidmm_allocation_list *list,
			   uint32_t *fits_out)
{
	NTSTATUS status = list_ensure(list);

	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(&manager->lock);
	status = list_check(manager, list, fits_out);
	if (!NT_SUCCESS(status)) {
		lock_release(&manager->lock);
		return status;
	}
	list->waiter.kind = VIDMM_WAITER_LIST;
	list_init(&list->waiter.link);
	if (list_look_locked(list, false)) {
		lock_release(&manager->lock);
		return STATUS_SUCCESS;
	}
	list->state = VIDMM_LIST_WAITING;
	list->compacted_at = 0;
	list_push_back(&manager->waiters, &list->waiter.link);
	decide_unlock(manager);
	return STATUS_PENDING;
}

NTSTATUS vidmm_allocation_list_prepare(struct vidmm_allocation_list *list, uint32_t *fits_out)
{
	struct vidmm *manager = list->device->process->manager;

	*fits_out = list->count;
	lock_acquire(&manager->lock);
	enum vidmm_allocation_list_state state = list->state;
	lock_release(&manager->lock);
	switch (state) {
	case VIDMM_LIST_NEW:
		return list_start(manager, list, fits_out);
	case VIDMM_LIST_WAITING:
		return STATUS_PENDING;
	case VIDMM_LIST_READY:
		return STATUS_SUCCESS;
	case VIDMM_LIST_FAILED:
		break;
	}
	*fits_out = 0;
	return refuse(STATUS_NO_MEMORY, RULE_MM_LIST_FITS, "AllocationList",
		      "cannot be in memory together beside what must stay there");
}

bool vidmm_allocation_list_release(struct vidmm_allocation_list *list)
{
	struct vidmm *manager = list->device->process->manager;

	lock_acquire(&manager->lock);
	manager->retry_generation++;
	bool was_waiting = list->state == VIDMM_LIST_WAITING;
	if (was_waiting)
		list_remove(&list->waiter.link);
	list_return_locked(list);
	decide_later_unlock(manager);
	return was_waiting;
}

/* ---- before it is queued ---- */

NTSTATUS vidmm_allocation_list_check(struct vidmm_allocation_list *list, uint32_t *fits_out)
{
	struct vidmm *manager = list->device->process->manager;
	NTSTATUS status = list_ensure(list);

	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(&manager->lock);
	for (uint32_t i = 0; i < list->count && NT_SUCCESS(status); i++) {
		if (place_is_offered(binding_place(list->entries[i].binding)))
			status = offered(i);
	}
	if (NT_SUCCESS(status))
		*fits_out = list_fits(manager, list);
	lock_release(&manager->lock);
	return status;
}

uint32_t vidmm_allocation_list_fits(struct vidmm_allocation_list *list)
{
	struct vidmm *manager = list->device->process->manager;

	lock_acquire(&manager->lock);
	uint32_t fits = list_fits(manager, list);
	lock_release(&manager->lock);
	return fits;
}

/* ---- what is kept in place by make-resident ---- */

/* On its way out it still is where it was: that waits for the work of those who are suspended. */
static bool entry_is_there(const struct vidmm_allocation_list_entry *entry)
{
	const struct vidmm_binding *binding = entry->binding;
	const struct vidmm_place *place = binding_place(binding);

	return place &&
	       (place->state == PLACE_IN ||
		((place->state == PLACE_LEAVING || place->state == PLACE_SHIFTING) &&
		 !list_is_linked(&place->handover.link) && binding->count > 0 &&
		 atomic_load_explicit(&binding->device->is_suspended, memory_order_relaxed)));
}

bool vidmm_allocation_list_locate(struct vidmm_allocation_list *list)
{
	struct vidmm *manager = list->device->process->manager;
	uint32_t located = 0;

	lock_acquire(&manager->lock);
	while (located < list->count && entry_is_there(&list->entries[located])) {
		struct vidmm_allocation_list_entry *entry = &list->entries[located++];
		struct vidmm_place *place = binding_place(entry->binding);

		if (place->state == PLACE_IN)
			place_use_locked(place);
		entry_fill_in(entry, place);
	}
	lock_release(&manager->lock);
	return located == list->count;
}
