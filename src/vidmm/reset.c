/* SPDX-License-Identifier: MIT */
/*
 * reset.c - what an adapter reset means for memory.
 *
 *   in:   places in any state, a pager that has stopped building
 *   out:  nothing in place; content that was in memory segments is gone, and says so
 *
 * What is on its way is left to its job: that fails, or was done before the reset, and the place
 * hears of it on the pager's thread (move.c). What a list of a submission still holds goes when it
 * lets go. What the CPU has locked in GPU memory stays there to be seen, whatever is in it now.
 *
 * The driver is told of everything it was told to put there, between the reset and the restart:
 * a mapping is undone, content of the physical model is transferred with a size of 0, and a
 * residency it had to know of is over. The pager ends jobs as soon as a reset begins, because
 * threads in the driver may wait for them; what the driver has of such a place is then a debt. A
 * place with a debt does not end before it is told here, because the handle ends with it. Only a
 * driver's own does, and stays behind as a ghost.
 *
 * Page tables are not looked at: they are lost as well, and written anew from what is true then
 * (address_space/rewrite.c).
 *
 * Locks: the allocation's, inside it the manager's; none while the driver is told.
 */
#include "vidmm/allocation.h"
#include "vidmm/elsewhere.h"
#include "vidmm/place.h"
#include "vidmm/states.h"
#include "vidmm/work_set.h"

/* ---- what the driver hears ---- */

static struct place_debt debt_of(const struct vidmm_place *place)
{
	struct place_debt debt = {
		.segment = place->segment,
		.page_count = place->allocation->size_bytes >> MACHINE_PAGE_SHIFT,
		.is_mapping = place->wish.form == FORM_MAPPED,
		.is_content = place->wish.form != FORM_MAPPED && !place->segment->is_system &&
			      !place->manager->config.has_gpu_mmu,
		.is_news = place->allocation->traits.wants_residency_news,
	};

	if (place->handover.lent_bytes > 0)
		debt.first_page = place->handover.first_page;
	else if (place->pages.run_count > 0)
		debt.first_page = page_set_runs(&place->pages)[0].first_page;
	return debt;
}

/* Where everything of a row was built, as far as was handed over: the driver has what came in. */
void place_owe_locked(struct vidmm_place *place, bool is_built)
{
	const struct place_move *move = &place->move;
	struct place_debt debt = debt_of(place);

	lock_assert_held(&place->manager->lock);
	/* The reset of a later generation has told it already. */
	if ((int32_t)(place->reset.told_generation - move->job.generation) > 0 ||
	    atomic_load(&place->manager->is_gone))
		return;
	if (move->way == MOVE_SHIFT) {
		/* It has it here or there. */
		if (move->step > MOVE_CONTENT)
			debt.first_page = move->target.first_pfn;
		debt.is_news &= move->built <= MOVE_NOTIFY_OUT || move->step > MOVE_NOTIFY_IN;
	} else if (move->way == MOVE_IN) {
		debt.is_mapping &= move->step > MOVE_MAP;
		debt.is_content &= move->step > MOVE_CONTENT;
		debt.is_news &= move->step > MOVE_NOTIFY_IN;
	} else {
		debt.is_mapping &= !is_built && move->built <= MOVE_UNMAP;
		debt.is_content &= !is_built && move->built <= MOVE_CONTENT;
		debt.is_news &= !is_built && move->built <= MOVE_NOTIFY_OUT;
	}
	if (debt.is_mapping || debt.is_content || debt.is_news)
		place->reset.debt = debt;
}

/* What is due of a place now; it counts as told. */
static struct place_debt debt_take_locked(struct vidmm_place *place)
{
	struct place_debt debt = place->reset.debt;
	uint32_t generation = pager_generation(place->manager->config.pager);

	lock_assert_held(&place->manager->lock);
	place->reset.debt = (struct place_debt){ 0 };
	place->reset.told_generation = generation;
	if (debt.segment || place->state == PLACE_OUT)
		return debt;
	/* Nothing was built of it. */
	if (place->state == PLACE_ENTERING && place->reset.moved_generation == generation)
		return debt;
	debt = debt_of(place);
	debt.is_news &= place->pins == 0; /* its way out says it */
	return debt;
}

static void tell(const struct vidmm_place *place, const struct miniport_paging_op *op)
{
	/* What it answers is reported there; the memory is lost all the same. */
	(void)!pager_tell(place->manager->config.pager, op);
}

static void debt_pay(const struct vidmm_place *place, const struct place_debt *debt)
{
	struct miniport_paging_op op = { .subject = place->subject };
	struct miniport_location where = { .offset_bytes = debt->first_page * MACHINE_PAGE_BYTES };

	if (!debt->segment)
		return;
	where.segment = debt->segment->id;
	op.target = where;
	if (debt->is_news) {
		op.kind = MINIPORT_PAGING_NOTIFY_RESIDENCY;
		op.notify_residency.is_resident = false;
		tell(place, &op);
	}
	if (debt->is_mapping) {
		op.kind = MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT;
		op.size_bytes = debt->page_count * MACHINE_PAGE_BYTES;
		op.aperture.driver_device = place->driver_device;
		op.aperture.dummy_address = place->manager->config.dummy_page_address;
		tell(place, &op);
	} else if (debt->is_content) {
		op = (struct miniport_paging_op){ .kind = MINIPORT_PAGING_TRANSFER,
						  .subject = place->subject,
						  .source = where };
		tell(place, &op);
	}
}

static void ghosts_end(struct vidmm *manager)
{
	for (;;) {
		lock_acquire(&manager->lock);
		struct list *link = list_pop_front(&manager->ghosts);
		lock_release(&manager->lock);
		if (!link)
			return;

		struct vidmm_place *place = container_of(link, struct vidmm_place, all_link);
		place->reset.debt.is_news = false;
		if (!atomic_load(&manager->is_gone))
			debt_pay(place, &place->reset.debt);
		place_free(place);
	}
}

/* ---- what becomes of it ---- */

/* One after the other, each once; held, so that it stays. */
static struct vidmm_place *next_place_locked(struct vidmm *manager)
{
	lock_assert_held(&manager->lock);
	if (list_is_empty(&manager->places))
		return NULL;
	struct vidmm_place *place =
		container_of(manager->places.next, struct vidmm_place, all_link);
	if (place->reset.number == manager->resets)
		return NULL;
	place->reset.number = manager->resets;
	list_remove(&place->all_link);
	list_push_back(&manager->places, &place->all_link);
	place->waits++;
	return place;
}

static void content_lose_locked(struct vidmm_place *place)
{
	struct vidmm_allocation *allocation = place->allocation;
	bool has_copy = allocation->backing.run_count > 0 || allocation->backing.is_clients;

	lock_assert_held(&place->manager->lock);
	allocation_set_content(allocation, has_copy ? VIDMM_CONTENT_BACKED : VIDMM_CONTENT_NONE);
	if (allocation->driver)
		allocation->driver->is_initialized = false;
	if (allocation->offer == VIDMM_OFFERED && !(has_copy && place->copy == PLACE_COPY_GOOD)) {
		allocation_set_offer(allocation, VIDMM_DISCARDED,
				     (enum vidmm_offer_priority)allocation->offer_priority);
		if (place_is_offered(place)) /* not of what dies */
			place->offer =
				state_step(STATES_PLACE_OFFER, place->offer, PLACE_REPURPOSED);
	}
}

static void place_lose_locked(struct vidmm_place *place)
{
	struct vidmm_allocation *allocation = place->allocation;
	bool is_local = place->state == PLACE_IN && !place->segment->is_system;
	/* What other processes were shown leaves with its pages only, and keeps what is in them. */
	bool stays = is_local && (place_has_cpu_lock(place) || elsewhere_is_inside(allocation));

	lock_assert_held(&place->manager->lock);
	if (stays)
		place->reset.in_generation = pager_generation(place->manager->config.pager);
	if (place->state != PLACE_IN || place->pins > 0 || stays ||
	    (is_local && !cpu_view_hide(&allocation->view))) {
		place_settle_locked(place);
		return;
	}
	if (is_local)
		content_lose_locked(place);
	place_vanish_locked(place);
}

static void place_lose(struct vidmm_place *place)
{
	struct vidmm *manager = place->manager;
	struct vidmm_allocation *allocation = place->allocation;

	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	place_wait_over_locked(place);
	place_lose_locked(place);
	lock_release(&allocation->lock); /* first: with the manager's lock it may go */
	decide_unlock(manager);
}

static void places_lose(struct vidmm *manager)
{
	for (;;) {
		struct place_debt debt = { 0 };

		lock_acquire(&manager->lock);
		struct vidmm_place *place = next_place_locked(manager);
		if (place)
			debt = debt_take_locked(place);
		lock_release(&manager->lock);
		if (!place)
			break;
		if (debt.segment && !atomic_load(&manager->is_gone))
			debt_pay(place, &debt);
		place_lose(place);
	}
	ghosts_end(manager);
}

void vidmm_reset(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	manager->resets++;
	manager->retry_generation++;
	lock_release(&manager->lock);
	places_lose(manager);
}

void vidmm_give_up(struct vidmm *manager)
{
	lock_acquire(&manager->lock);
	bool is_first = !atomic_exchange(&manager->is_gone, true);
	manager->resets++;
	manager->retry_generation++;
	lock_release(&manager->lock);
	places_lose(manager);
	if (is_first)
		budget_tell_loss(manager);
}
