/* SPDX-License-Identifier: MIT */
/*
 * manager.c - see manager.h: what exists, from its beginning to its end.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "vidmm/control.h"
#include "vidmm/keep.h"
#include "vidmm/place.h"
#include "vidmm/roles.h"
#include "vidmm/states.h"

/* Long enough for a frame, and for a few GiB to be worth moving. */
#define SLICE_NS (20 * NS_PER_MS)

/* Short beside what an application notices, long beside what a trim costs. */
static const struct vidmm_trim_intervals trim_intervals = {
	.shortest_ns = 1 * NS_PER_S,
	.longest_ns = 30 * NS_PER_S,
	.idle_ns = 10 * NS_PER_S,
};

/* ---- an adapter's memory ---- */

static void groups_init(struct vidmm *manager)
{
	for (uint32_t i = 0; i < manager->segment_count; i++) {
		const struct vidmm_segment *segment = &manager->segments[i];

		manager->group_segments[segment->config.group] |= UINT32_C(1) << i;
		if (!segment->is_system)
			manager->memory_segments |= UINT32_C(1) << i;
	}
	for (int group = 0; group < VIDMM_GROUPS; group++)
		manager->group_bytes[group] = manager->config.group_bytes[group];
}

static NTSTATUS segments_init(struct vidmm *manager, const struct vidmm_config *config)
{
	const struct evict_policy *policy = config->policy ? config->policy : &evict_adaptive;

	for (uint32_t i = 0; i < config->segment_count; i++) {
		NTSTATUS status =
			segment_init(&manager->segments[i], i + 1, &config->segments[i], policy);

		if (!NT_SUCCESS(status))
			return status;
		manager->segment_count++;
	}
	groups_init(manager);
	return STATUS_SUCCESS;
}

static void segments_finish(struct vidmm *manager)
{
	for (uint32_t i = 0; i < manager->segment_count; i++)
		segment_finish(&manager->segments[i]);
}

bool vidmm_tick(struct vidmm *manager)
{
	if (atomic_exchange(&manager->tick_at_ns, CLOCK_FOREVER) == CLOCK_FOREVER)
		return false;
	lock_acquire(&manager->lock);
	manager->retry_generation++;
	decide_unlock(manager);
	return true;
}

static void ticker_run(void *argument)
{
	struct vidmm *manager = argument;

	while (!atomic_load(&manager->is_ending)) {
		uint32_t seen = notice_read(&manager->tick);
		uint64_t at_ns = atomic_load(&manager->tick_at_ns);
		uint64_t trim_at_ns = atomic_load(&manager->trim_at_ns);

		if (atomic_exchange(&manager->must_decide, false))
			decide(manager);
		else if (at_ns != CLOCK_FOREVER && clock_now_ns() >= at_ns)
			(void)vidmm_tick(manager);
		else if (trim_at_ns != CLOCK_FOREVER && clock_now_ns() >= trim_at_ns)
			vidmm_trim_tick(manager);
		else if (!atomic_load(&manager->is_ending))
			notice_wait(&manager->tick, seen, at_ns < trim_at_ns ? at_ns : trim_at_ns);
	}
}

NTSTATUS vidmm_create(const struct vidmm_config *config, struct vidmm **manager_out)
{
	assert(config->segment_count <= VIDMM_MAX_SEGMENTS);
	struct vidmm *manager = mem_zalloc(sizeof(*manager));
	if (!manager)
		return STATUS_NO_MEMORY;
	manager->config = *config;
	manager->config.segments = NULL;
	if (manager->config.slice_ns == 0)
		manager->config.slice_ns = SLICE_NS;
	manager->retry_generation = 1;
	for (int group = 0; group < VIDMM_GROUPS; group++)
		manager->budget_limit_bytes[group] = VIDMM_NO_LIMIT;
	manager->trim_intervals = trim_intervals;
	atomic_store(&manager->tick_at_ns, CLOCK_FOREVER);
	atomic_store(&manager->trim_at_ns, CLOCK_FOREVER);
	lock_init(&manager->lock, LOCK_RANK_SEGMENT, "memory of an adapter");
	list_init(&manager->places);
	list_init(&manager->ghosts);
	list_init(&manager->processes);
	list_init(&manager->waiters);
	list_init(&manager->ready_lists);
	list_init(&manager->blocks);
	plan_init(&manager->plan);
	NTSTATUS status = segments_init(manager, config);
	if (NT_SUCCESS(status) && !config->is_ticked_by_hand)
		status = thread_create("vidmm", ticker_run, manager, &manager->ticker);
	if (!NT_SUCCESS(status)) {
		segments_finish(manager);
		lock_finish(&manager->lock);
		mem_free(manager);
		return status;
	}
	*manager_out = manager;
	return STATUS_SUCCESS;
}

void vidmm_set_pager(struct vidmm *manager, struct pager *pager)
{
	assert(list_is_empty(&manager->processes));
	manager->config.pager = pager;
}

void vidmm_destroy(struct vidmm *manager)
{
	if (!manager)
		return;
	atomic_store(&manager->is_ending, true);
	notice_give(&manager->tick);
	thread_join(manager->ticker);
	assert(list_is_empty(&manager->places) && list_is_empty(&manager->processes));
	assert(list_is_empty(&manager->ghosts));
	assert(list_is_empty(&manager->blocks));
	assert(plan_is_empty(&manager->plan));
	segments_finish(manager);
	lock_finish(&manager->lock);
	mem_free(manager);
}

/* ---- processes ---- */

/* Drops and retakes the manager's lock until `*count` is 0; all else may have changed meanwhile. */
static void wait_for_none_relock(struct vidmm *manager, const uint32_t *count)
{
	lock_assert_held(&manager->lock);
	while (*count > 0)
		notice_wait_relock(&manager->changed, &manager->lock);
}

/*
 * Drops and retakes the manager's lock until it is on no list; all else may have changed meanwhile.
 */
static void wait_until_unlinked_relock(struct vidmm *manager, const struct list *link)
{
	lock_assert_held(&manager->lock);
	while (list_is_linked(link))
		notice_wait_relock(&manager->changed, &manager->lock);
}

void vidmm_process_init(struct vidmm_process *process, struct vidmm *manager,
			struct vidmm_account *adapter_account)
{
	*process = (struct vidmm_process){ .manager = manager,
					   .account = { .parent = adapter_account } };
	for (int group = 0; group < VIDMM_GROUPS; group++)
		process->budget_limit_bytes[group] = VIDMM_NO_LIMIT;
	list_init(&process->link);
	list_init(&process->devices);
	list_init(&process->news_link);
	list_init(&process->tables.blocks);
	list_init(&process->tables.dependents);
	list_init(&process->tables.plan_link);
	for (int i = 0; i < 3; i++)
		list_init(&process->decommittable[i]);
	lock_acquire(&manager->lock);
	budget_join_locked(process);
	decide_unlock(manager);
}

void vidmm_process_finish(struct vidmm_process *process)
{
	struct vidmm *manager = process->manager;

	if (!manager)
		return;
	lock_acquire(&manager->lock);
	assert(list_is_empty(&process->devices) && list_is_empty(&process->tables.blocks));
	trim_forget_locked(process);
	for (int i = 0; i < 3; i++) {
		/* What is shared stays offered, nobody's to decommit. */
		list_drain (struct vidmm_place, each, &process->decommittable[i], decommit_link)
			each->decommit_process = NULL;
	}
	budget_leave_locked(process);
	wait_for_none_relock(manager, &process->plan_count);
	roles_settle_free_locked(manager);
	decide_unlock(manager);
}

/* ---- devices ---- */

void vidmm_device_init(struct vidmm_device *device, struct vidmm_process *process,
		       struct sched_owner *owner, void *driver_device)
{
	*device = (struct vidmm_device){
		.process = process,
		.owner = owner,
		.driver_device = driver_device,
	};
	list_init(&device->link);
	list_init(&device->resident);
	list_init(&device->absent);
	list_init(&device->moving);
	list_init(&device->waiter.link);
	list_init(&device->plan_link);
	list_init(&device->leave_link);
	list_init(&device->keeps);
}

void vidmm_device_finish(struct vidmm_device *device)
{
	if (!device->process)
		return;
	struct vidmm *manager = device->process->manager;
	lock_acquire(&manager->lock);
	assert(list_is_empty(&device->resident) && list_is_empty(&device->absent) &&
	       list_is_empty(&device->moving));
	list_remove(&device->link);
	list_remove(&device->waiter.link); /* it waited for its process's page tables */
	wait_for_none_relock(manager, &device->plan_count);
	wait_until_unlinked_relock(manager, &device->leave_link);
	/* Of updates that are being executed; there is nothing left in them. */
	while (list_pop_front(&device->keeps))
		continue;
	lock_release(&manager->lock);
}

static void bindings_lose_locked(const struct vidmm *manager, struct list *bindings)
{
	lock_assert_held(&manager->lock);
	while (!list_is_empty(bindings)) {
		struct vidmm_binding *binding =
			container_of(bindings->next, struct vidmm_binding, device_link);
		struct vidmm_place *place = binding_place(binding);

		if (place->state == PLACE_OUT && !place_is_needed(place))
			place_answer_locked(place, STATUS_DEVICE_REMOVED);
		binding_sort_locked(binding);
	}
}

void vidmm_device_lose(struct vidmm_device *device)
{
	struct vidmm *manager = device->process->manager;

	lock_acquire(&manager->lock);
	device->is_lost = true;
	manager->retry_generation++;
	bindings_lose_locked(manager, &device->absent);
	bindings_lose_locked(manager, &device->moving);
	decide_later_unlock(manager);
}

/* ---- bindings ---- */

void vidmm_binding_init(struct vidmm_binding *binding, struct vidmm_device *device,
			struct vidmm_allocation *allocation, void *driver_allocation)
{
	*binding = (struct vidmm_binding){
		.device = device,
		.allocation = allocation,
		.driver_allocation = driver_allocation,
	};
	list_init(&binding->device_link);
	list_init(&binding->place_link);
	list_init(&binding->leave_link);
}

static bool binding_is_busy(const struct vidmm_binding *binding)
{
	return binding->waiting != BINDING_WAITS_FOR_NOTHING ||
	       list_is_linked(&binding->leave_link);
}

void vidmm_binding_finish(struct vidmm_binding *binding)
{
	if (!binding->device)
		return;
	struct vidmm *manager = binding->device->process->manager;
	lock_acquire(&manager->lock);
	bool was_retired = binding->end >= BINDING_RETIRED;
	/* For calls that have it in hand. */
	binding->end = state_step(STATES_BINDING_END, binding->end, BINDING_ENDED);
	keep_forget_binding_locked(binding);
	if (!binding_place(binding)) {
		lock_release(&manager->lock);
		return;
	}
	if (binding->count > 0) {
		binding->count = 1;
		binding_set_keep_locked(binding, BINDING_NOT_KEPT);
		binding_unlist_locked(binding);
		place_settle_locked(binding_place(binding));
	}
	if (binding->waiting == BINDING_WAITS_AGAIN)
		binding->waiting = state_step(STATES_BINDING_WAIT, binding->waiting, BINDING_WAITS);
	if (was_retired) {
		binding_place(binding)->retired--;
		manager->retry_generation++;
	}
	decide_unlock(manager);

	lock_acquire(&manager->lock);
	while (binding_is_busy(binding))
		notice_wait_relock(&manager->changed, &manager->lock);
	lock_release(&manager->lock);
}

bool vidmm_binding_waits(struct vidmm_binding *binding)
{
	if (!binding->device)
		return false;
	struct vidmm *manager = binding->device->process->manager;

	lock_acquire(&manager->lock);
	bool waits = binding_is_busy(binding);
	lock_release(&manager->lock);
	return waits;
}

uint32_t vidmm_binding_count(struct vidmm_binding *binding)
{
	struct vidmm *manager = binding->device->process->manager;

	lock_acquire(&manager->lock);
	uint32_t count = binding_asked(binding);
	lock_release(&manager->lock);
	return count;
}

/* ---- the end of an allocation ---- */

bool vidmm_allocation_depart(struct vidmm_allocation *allocation, struct vidmm_departure *departure)
{
	lock_acquire(&allocation->lock);
	struct vidmm_place *place = atomic_load_explicit(&allocation->place, memory_order_relaxed);
	if (!place) {
		lock_release(&allocation->lock);
		return true;
	}
	struct vidmm *manager = place->manager;
	lock_acquire(&manager->lock);
	assert(place->list_count == 0);
	offer_forget_locked(place);
	place->end = state_step(STATES_PLACE_END, place->end, PLACE_DYING);
	place->offer = state_step(STATES_PLACE_OFFER, place->offer, PLACE_NOT_OFFERED);
	place_set_lock_locked(place, window_end_locked(place) ? PLACE_LOCKED : PLACE_NOT_LOCKED);
	place->departure = departure;
	manager->retry_generation++;
	place_settle_locked(place);
	lock_release(&allocation->lock); /* first: with the manager's lock it may go */
	decide_unlock(manager);
	return false;
}

/* On the stack of who waits, who may go on as soon as it is over: so the notice is elsewhere. */
struct blocking_departure {
	struct vidmm_departure departure;
	struct vidmm *manager;
	_Atomic bool is_over;
};

static void departure_over(struct vidmm_departure *departure)
{
	struct blocking_departure *blocking =
		container_of(departure, struct blocking_departure, departure);

	struct vidmm *manager = blocking->manager;

	atomic_store(&blocking->is_over, true);
	notice_give(&manager->changed);
}

void vidmm_allocation_leave(struct vidmm_allocation *allocation)
{
	struct blocking_departure blocking = { .departure = { .done = departure_over } };

	/* With the lock: a call that came before may be making one right now. */
	lock_acquire(&allocation->lock);
	struct vidmm_place *place = atomic_load_explicit(&allocation->place, memory_order_relaxed);
	lock_release(&allocation->lock);
	if (!place)
		return;
	blocking.manager = place->manager;
	if (vidmm_allocation_depart(allocation, &blocking.departure))
		return;
	notice_wait_until(&blocking.manager->changed, &blocking.is_over);
}

/* ---- where it is ---- */

enum vidmm_residency vidmm_where(struct vidmm *manager, struct vidmm_allocation *allocation)
{
	enum vidmm_residency where = VIDMM_NOT_RESIDENT;

	lock_acquire(&manager->lock);
	const struct vidmm_place *place =
		atomic_load_explicit(&allocation->place, memory_order_relaxed);
	/* What leaves is there, and the GPU reaches it, until it has left. */
	if (place && place->state != PLACE_OUT && place->state != PLACE_ENTERING)
		where = place->segment->is_system ? VIDMM_RESIDENT_IN_SHARED_MEMORY
						  : VIDMM_RESIDENT_IN_GPU_MEMORY;
	lock_release(&manager->lock);
	return where;
}

void vidmm_set_priority_anywhere(struct vidmm *manager, struct vidmm_allocation *allocation,
				 uint32_t priority)
{
	struct vidmm_place *place;

	vidmm_set_priority(allocation, priority);
	if (!atomic_load_explicit(&allocation->place, memory_order_relaxed))
		return;
	lock_acquire(&allocation->lock);
	lock_acquire(&manager->lock);
	place = atomic_load_explicit(&allocation->place, memory_order_relaxed);
	if (place)
		place_settle_locked(place);
	lock_release(&allocation->lock); /* first: with the manager's lock it may go */
	decide_unlock(manager);
}
