/* SPDX-License-Identifier: MIT */
/*
 * work_set.c - see work_set.h.
 *
 * A thread counts itself as a holder before it looks whether there are members, and who adds the
 * first member counts it before looking at the holders: one of them sees the other.
 */

#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/blocking.h"
#include "vidmm/work_set.h"

/* ---- listed and not ---- */

void vidmm_work_set_init(struct vidmm_work_set *set, struct vidmm_device *device,
			 struct sched_queue *queue)
{
	*set = (struct vidmm_work_set){ .device = device, .queue = queue };
	list_init(&set->members);
}

static struct vidmm *manager_of(const struct vidmm_work_set *set)
{
	return set->device->process->manager;
}

static bool set_is_needed(const struct vidmm_work_set *set)
{
	if (atomic_load(&set->holders) > 0)
		return true;
	return set->queue ? sched_queue_length(set->queue) > 0
			  : !sched_owner_is_idle(set->device->owner);
}

static struct work_set_member *member_of(struct list *link)
{
	return container_of(link, struct work_set_member, link);
}

static void member_let_go_locked(struct work_set_member *member)
{
	lock_assert_held(&member->binding.device->process->manager->lock);
	binding_unlist_locked(&member->binding);
	place_settle_locked(binding_place(&member->binding));
}

/* Puts the members on the device's list, or takes them off, when the set has become needed or is no more. */
static void set_settle_locked(struct vidmm_work_set *set)
{
	bool is_needed = set_is_needed(set);
	struct list *link;

	lock_assert_held(&manager_of(set)->lock);
	if (is_needed != set->is_needed) {
		set->is_needed = is_needed;
		list_for_each (link, &set->members) {
			if (is_needed)
				binding_need_locked(&member_of(link)->binding);
			else
				member_let_go_locked(member_of(link));
		}
	}
}

/* `unlock` says who decides what follows: this thread, or the memory manager's own. */
static void set_settle(struct vidmm_work_set *set, void (*unlock)(struct vidmm *manager))
{
	if (LIKELY(atomic_load(&set->member_count) == 0))
		return;
	lock_acquire(&manager_of(set)->lock);
	set_settle_locked(set);
	unlock(manager_of(set));
}

void vidmm_work_set_look(struct vidmm_work_set *set)
{
	set_settle(set, decide_later_unlock);
}

void vidmm_work_set_hold(struct vidmm_work_set *set)
{
	atomic_fetch_add(&set->holders, 1);
	set_settle(set, decide_unlock);
}

void vidmm_work_set_release(struct vidmm_work_set *set)
{
	atomic_fetch_sub(&set->holders, 1);
	set_settle(set, decide_unlock);
}

/* ---- members ---- */

NTSTATUS vidmm_work_set_add(struct vidmm_work_set *set, struct work_set_member *member,
			    struct vidmm_allocation *allocation, void *driver_allocation)
{
	struct vidmm *manager = manager_of(set);

	vidmm_binding_init(&member->binding, set->device, allocation, driver_allocation);
	list_init(&member->link);
	NTSTATUS status = place_ensure(&member->binding);
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_MM_NO_PAGES, NULL,
			      "There is no memory to write down what is to be in place");
	lock_acquire(&manager->lock);
	if (!binding_could_be_resident_locked(&member->binding)) {
		lock_release(&manager->lock);
		return refuse(STATUS_GRAPHICS_NO_VIDEO_MEMORY, RULE_MM_LIST_FITS, "Size",
			      "is more than any of the supported segments could hold");
	}
	atomic_fetch_add(&set->member_count, 1);
	list_push_back(&set->members, &member->link);
	if (set->is_needed)
		binding_need_locked(&member->binding);
	decide_unlock(manager);
	/* The first one, and there is work already. */
	set_settle(set, decide_unlock);
	return STATUS_SUCCESS;
}

void vidmm_work_set_remove(struct vidmm_work_set *set, struct work_set_member *member)
{
	struct vidmm *manager = manager_of(set);

	lock_acquire(&manager->lock);
	list_remove(&member->link);
	if (set->is_needed)
		member_let_go_locked(member);
	if (atomic_fetch_sub(&set->member_count, 1) == 1)
		set->is_needed = false;
	decide_unlock(manager);
}

/* ---- update ---- */

/* Undoes bring_in(). True: it is in place and wanted, and stays pinned there. */
static bool pin(struct vidmm_binding *binding, bool is_wanted)
{
	struct vidmm_place *place = binding_place(binding);

	lock_acquire(&place->manager->lock);
	bool is_pinned = is_wanted && place->state == PLACE_IN;
	if (is_pinned)
		place->pins++;
	binding_unlist_locked(binding);
	place_settle_locked(place);
	decide_unlock(place->manager);
	return is_pinned;
}

static NTSTATUS bring_in(struct vidmm_binding *binding)
{
	struct blocking_request blocking;
	uint64_t excess_bytes;

	blocking_request_init(&blocking, binding->device->process->manager);
	NTSTATUS status =
		vidmm_make_resident(binding->device, &binding, 1, VIDMM_WHATEVER_THE_BUDGET,
				    &blocking.request, &excess_bytes);

	if (status != STATUS_PENDING)
		return status;
	status = blocking_request_wait(&blocking);
	if (!NT_SUCCESS(status))
		(void)pin(binding, false);
	return status;
}

static void unpin(struct vidmm_place *place)
{
	lock_acquire(&place->manager->lock);
	place->manager->retry_generation++;
	place_unpin_locked(place);
	decide_unlock(place->manager);
}

struct update {
	struct paging_job job;
	struct miniport_paging_op op;
	bool was_asked;
	struct vidmm *manager;
	_Atomic bool is_over;
	NTSTATUS status;
};

static enum paging_step update_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct update *update = container_of(job, struct update, job);

	if (update->was_asked)
		return PAGING_NONE;
	update->was_asked = true;
	*op_out = update->op;
	return PAGING_OPERATION;
}

static void update_done(struct paging_job *job, NTSTATUS status)
{
	struct update *update = container_of(job, struct update, job);

	struct vidmm *manager = update->manager;

	update->status = status;
	atomic_store(&update->is_over, true);
	notice_give(&manager->changed);
}

/* Of the segment where it is in one piece, or the machine's. NULL: no memory. */
static struct miniport_page_run *runs_of(const struct vidmm_place *place, uint32_t *count_out)
{
	const struct vidmm_backing *backing = &place->allocation->backing;
	bool is_system = place->wish.form == FORM_SYSTEM;
	uint32_t count = is_system ? backing->run_count : 1;
	struct miniport_page_run *runs = mem_zalloc_array(count, sizeof(*runs));

	for (uint32_t i = 0; runs && i < count; i++) {
		if (is_system)
			runs[i] = (struct miniport_page_run){ backing_runs(backing)[i].first_pfn,
							      backing_runs(backing)[i].count };
		else
			runs[i] = (struct miniport_page_run){
				page_set_runs(&place->pages)[i].first_page,
				page_set_runs(&place->pages)[i].count
			};
	}
	*count_out = count;
	return runs;
}

static NTSTATUS run_update(struct vidmm_place *place, void *private_data, uint32_t private_bytes)
{
	struct update update = {
		.manager = place->manager,
		.op = {
			.kind = MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION,
			.subject = place->subject,
			.target.segment = place->wish.form == FORM_SYSTEM ? 0 : place->segment->id,
			.size_bytes = place->allocation->size_bytes,
			.update_context = { .private_data = private_data,
					    .private_bytes = private_bytes },
		},
	};
	struct miniport_page_run *runs = runs_of(place, &update.op.target.run_count);

	if (!runs)
		return refuse(STATUS_NO_MEMORY, RULE_MM_NO_PAGES, NULL,
			      "There is no memory to write down where it is");
	update.op.target.runs = runs;
	paging_job_init(&update.job, place->manager->config.pager);
	update.job.next = update_next;
	update.job.done = update_done;
	paging_job_queue(&update.job);
	blocking_wait_until(place->manager, &update.is_over);
	mem_free(runs);
	return update.status;
}

NTSTATUS vidmm_work_set_update(struct work_set_member *member, void *private_data,
			       uint32_t private_bytes)
{
	struct vidmm_binding *binding = &member->binding;
	struct vidmm_place *place = binding_place(binding);
	NTSTATUS status;

	do {
		status = bring_in(binding);
		if (!NT_SUCCESS(status))
			return status;
	} while (!pin(binding, true)); /* it may have gone again meanwhile */
	status = run_update(place, private_data, private_bytes);
	unpin(place);
	return status;
}
