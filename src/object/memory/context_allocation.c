/* SPDX-License-Identifier: MIT */
/*
 * context_allocation.c - see context_allocation.h.
 *
 * Handles are numbers that are never given twice, so a stale one finds nothing. An allocation is in
 * use by calls (`uses`) and by its owner's list; who takes the number away ends it, alone.
 *
 * Locks: context_books.lock for lists and numbers, nothing is called under it.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "object/memory/context_allocation.h"
#include "object/fence/cpu_event.h"
#include "object/submit/context_switch.h"
#include "object/owner/device.h"
#include "object/ending/endings.h"
#include "object/memory/gpu_addresses.h"
#include "paging/pager.h"
#include "address_space/mappings.h"

/* No pointer looks like it: who follows one meets a fault at once. */
#define FIRST_HANDLE UINT64_C(0x4358000000000010)
#define HANDLE_STEP  16

struct context_allocation;

/* On its way to where no context that uses it is loaded. */
struct unloading {
	struct sched_wait switched;
	struct sched_wait *over;
	struct context_allocation *allocation;
	uint64_t nodes_left; /* which were switched */
};

struct context_allocation {
	/* Set at creation. */
	struct context_memory *owner;
	struct dxg_adapter *adapter;
	struct vidmm_allocation memory;
	struct driver_memory driver;
	struct work_set_member member;

	/* Guarded by the lock of the books. */
	struct rb_node known; /* by its handle, which is the value */
	struct list owner_link;
	uint32_t uses;
	bool is_dying;
	struct mapped_memory *mapped; /* NULL: it has no GPU addresses of the process */

	/* Used by the thread that goes through its ending. */
	struct ending ending;
	struct memory_drop drop;
	struct vidmm_departure departure;
	struct unloading releasing;
	struct work reap_work;

	struct unloading evicting; /* of the manager: one way out at a time */
};

/* ---- the books ---- */

void context_books_init(struct context_books *books)
{
	lock_init(&books->lock, LOCK_RANK_CONTEXT_BOOKS, "what a driver may name");
	list_init(&books->introduced);
}

void context_books_finish(struct context_books *books)
{
	assert(!books->owners.root && !books->allocations.root);
	assert(list_is_empty(&books->introduced));
	lock_finish(&books->lock);
}

const char *context_books_validate(struct context_books *books)
{
	lock_acquire(&books->lock);
	const char *wrong = rb_validate(&books->owners);
	if (!wrong)
		wrong = rb_validate(&books->allocations);
	lock_release(&books->lock);
	return wrong;
}

static struct rb_node *tree_find(const struct rb_tree *tree, uint64_t value)
{
	struct rb_node *node = tree->root;

	while (node && node->value != value)
		node = value < node->value ? node->left : node->right;
	return node;
}

static void tree_insert(struct rb_tree *tree, struct rb_node *node, uint64_t value)
{
	struct rb_node *parent = NULL;
	bool is_left = false;

	for (struct rb_node *at = tree->root; at; at = is_left ? at->left : at->right) {
		parent = at;
		is_left = value < at->value;
	}
	node->value = value;
	rb_insert(tree, node, parent, is_left);
}

/* Drops and retakes books->lock until somebody gives notice: what is in the books may have changed. */
static void wait_relock(struct context_books *books)
{
	lock_assert_held(&books->lock);
	notice_wait_relock(&books->changed, &books->lock);
}

static struct context_books *books_of(const struct context_memory *memory)
{
	return &memory->device->adapter->books;
}

void context_memory_begin(struct context_memory *memory, struct dxg_device *device,
			  struct sched_queue *queue, void *kernel_handle)
{
	*memory = (struct context_memory){
		.device = device,
		.queue = queue,
		.is_context = kernel_handle != device,
	};
	vidmm_work_set_init(&memory->set, &device->memory, queue);
	list_init(&memory->allocations);
	lock_acquire(&books_of(memory)->lock);
	tree_insert(&books_of(memory)->owners, &memory->known, (uintptr_t)kernel_handle);
	lock_release(&books_of(memory)->lock);
}

void context_memory_for_each(struct context_memory *memory,
			     void (*visit)(void *context, struct vidmm_allocation *allocation),
			     void *context)
{
	lock_acquire(&books_of(memory)->lock);
	list_each (struct context_allocation, each, &memory->allocations, owner_link)
		visit(context, &each->memory);
	lock_release(&books_of(memory)->lock);
}

/* What the driver named, with a call counted; NULL when there is no such thing. */
static struct context_memory *owner_enter(struct dxg_adapter *adapter,
					  const struct miniport_context_allocation *desc)
{
	const void *name = desc->kernel_context ? desc->kernel_context : desc->kernel_device;
	struct context_memory *owner = NULL;

	lock_acquire(&adapter->books.lock);
	struct rb_node *node = tree_find(&adapter->books.owners, (uintptr_t)name);
	if (node)
		owner = container_of(node, struct context_memory, known);
	if (owner && (owner->device != desc->kernel_device ||
		      owner->is_context != (desc->kernel_context != NULL)))
		owner = NULL;
	if (owner)
		owner->creating++;
	lock_release(&adapter->books.lock);
	return owner;
}

static void owner_leave(struct context_memory *owner)
{
	struct context_books *books = books_of(owner);

	lock_acquire(&books->lock);
	owner->creating--;
	notice_give(&books->changed);
	lock_release(&books->lock);
}

/* A use, until allocation_leave(). */
static struct context_allocation *allocation_enter(struct dxg_adapter *adapter, const void *handle)
{
	struct context_allocation *found = NULL;

	lock_acquire(&adapter->books.lock);
	struct rb_node *node = tree_find(&adapter->books.allocations, (uintptr_t)handle);
	if (node) {
		found = container_of(node, struct context_allocation, known);
		found->uses++;
	}
	lock_release(&adapter->books.lock);
	return found;
}

static void allocation_leave(struct context_allocation *allocation)
{
	struct context_books *books = &allocation->adapter->books;

	lock_acquire(&books->lock);
	allocation->uses--;
	notice_give(&books->changed);
	lock_release(&books->lock);
}

/* ---- where it is loaded ---- */

/* Before WDDM 1.2 nothing is ever switched away from, and nothing is kept for contexts. */
static uint64_t loaded_nodes(const struct context_allocation *allocation)
{
	struct context_memory *owner = allocation->owner;

	if (allocation->adapter->info->wddm_version < 1200)
		return 0;
	if (!owner->queue)
		return sched_owner_loaded_nodes(&owner->device->work);
	return sched_queue_is_loaded(owner->queue) ? UINT64_C(1) << owner->queue->node : 0;
}

static void unloading_go_on(struct unloading *unloading)
{
	uint64_t nodes = loaded_nodes(unloading->allocation) & ~unloading->nodes_left;
	uint32_t node = nodes ? (uint32_t)__builtin_ctzll(nodes) : 0;

	if (nodes == 0) {
		if (!hw_suspend_next(unloading->allocation->adapter, unloading->allocation->owner,
				     &unloading->switched))
			unloading->over->over(unloading->over);
		return;
	}
	unloading->nodes_left |= UINT64_C(1) << node;
	context_switch_request(unloading->allocation->adapter, node, &unloading->switched);
}

static void unloading_switched(struct sched_wait *wait)
{
	unloading_go_on(container_of(wait, struct unloading, switched));
}

static void unload(struct unloading *unloading, struct context_allocation *allocation,
		   struct sched_wait *over)
{
	*unloading = (struct unloading){
		.switched.over = unloading_switched,
		.over = over,
		.allocation = allocation,
	};
	unloading_go_on(unloading);
}

static void unload_for_manager(struct driver_memory *memory, struct sched_wait *over)
{
	struct context_allocation *allocation =
		container_of(memory, struct context_allocation, driver);

	unload(&allocation->evicting, allocation, over);
}

/* ---- the end of one ---- */

static void owner_suspend(const struct context_memory *owner)
{
	if (owner->queue)
		sched_queue_suspend(owner->queue);
	else
		sched_owner_suspend(&owner->device->work);
}

static void owner_resume(const struct context_memory *owner)
{
	if (owner->queue)
		sched_queue_resume(owner->queue);
	else
		sched_owner_resume(&owner->device->work);
}

/* What is waited for is one thing at a time. */
static void tell_ending(struct context_allocation *allocation)
{
	struct sched_wait *wait = &allocation->ending.waits[0];

	wait->over(wait);
}

static uint32_t await_submitted(void *subject, struct sched_wait *waits)
{
	const struct context_memory *owner = ((struct context_allocation *)subject)->owner;

	owner_suspend(owner);
	sched_after_submitted(&owner->device->work, &waits[0]);
	return 1;
}

static uint32_t await_unloaded(void *subject, struct sched_wait *waits)
{
	struct context_allocation *allocation = subject;

	unload(&allocation->releasing, allocation, &waits[0]);
	return 1;
}

static void unmapped(struct memory_drop *drop)
{
	tell_ending(container_of(drop, struct context_allocation, drop));
}

static uint32_t await_unmapped(void *subject, struct sched_wait *waits)
{
	struct context_allocation *allocation = subject;

	allocation->drop.done = unmapped;
	return allocation->mapped &&
	       !address_space_drop(allocation->owner->device->process_adapter->addresses,
				   allocation->mapped, &allocation->drop);
}

static void departed(struct vidmm_departure *departure)
{
	tell_ending(container_of(departure, struct context_allocation, departure));
}

static uint32_t await_departed(void *subject, struct sched_wait *waits)
{
	struct context_allocation *allocation = subject;

	vidmm_work_set_remove(&allocation->owner->set, &allocation->member);
	allocation->departure.done = departed;
	return !vidmm_allocation_depart(&allocation->memory, &allocation->departure);
}

static void give_back(void *subject)
{
	struct context_allocation *allocation = subject;
	struct context_books *books = &allocation->adapter->books;

	owner_resume(allocation->owner);
	vidmm_binding_finish(&allocation->member.binding);
	vidmm_allocation_finish(&allocation->memory);
	lock_acquire(&books->lock);
	list_remove(&allocation->owner_link);
	notice_give(&books->changed);
	lock_release(&books->lock);
	mem_free(allocation);
}

ENDING_KIND(allocation_ending, "a context allocation", ENDING_OF_CONTEXT_ALLOCATION);

/* False, with `gives_up`: the owner is lost, and what the hardware has may never be over. */
static bool allocation_end(struct context_allocation *allocation, bool gives_up)
{
	return ending_run(&allocation->ending, &allocation->owner->device->work, gives_up);
}

/*
 * Drops and retakes books.lock, until calls that found it before are through with it. Others of its
 * owner may have come and gone meanwhile.
 */
static void await_uses_relock(struct context_allocation *allocation)
{
	lock_assert_held(&allocation->adapter->books.lock);
	while (allocation->uses > 0)
		wait_relock(&allocation->adapter->books);
}

static void allocation_reap(struct work *work)
{
	struct context_allocation *allocation =
		container_of(work, struct context_allocation, reap_work);
	struct context_books *books = &allocation->adapter->books;

	lock_acquire(&books->lock);
	await_uses_relock(allocation);
	lock_release(&books->lock);
	(void)!allocation_end(allocation, false);
}

/* Under the lock, with a notice: who ends the owner may take it over. */
static void allocation_reap_later(struct context_allocation *allocation)
{
	struct context_books *books = &allocation->adapter->books;

	lock_acquire(&books->lock);
	worker_post(&allocation->adapter->reaper, &allocation->reap_work);
	notice_give(&books->changed);
	lock_release(&books->lock);
}

/* Its number finds nothing from now on. */
static void forget_locked(struct context_allocation *allocation)
{
	lock_assert_held(&allocation->adapter->books.lock);
	allocation->is_dying = true;
	rb_remove(&allocation->adapter->books.allocations, &allocation->known);
}

/*
 * One that another thread has to do with already. True: it is this one's now. Else drops and retakes
 * books.lock, and it may be gone.
 */
static bool take_over_relock(struct context_memory *memory, struct context_allocation *allocation)
{
	lock_assert_held(&books_of(memory)->lock);
	if (worker_cancel(&memory->device->adapter->reaper, &allocation->reap_work))
		return true;
	wait_relock(books_of(memory));
	return false;
}

/*
 * Drops and retakes books.lock: the owner may have others then. False: another thread had the first
 * one in hand, and it may be gone.
 */
static bool end_first_relock(struct context_memory *memory)
{
	struct context_books *books = books_of(memory);
	struct context_allocation *first =
		container_of(memory->allocations.next, struct context_allocation, owner_link);
	bool is_leak = !first->is_dying;

	lock_assert_held(&books->lock);
	if (!is_leak && !take_over_relock(memory, first))
		return false;
	if (is_leak)
		forget_locked(first);
	await_uses_relock(first);
	lock_release(&books->lock);
	if (is_leak) {
		miniport_name_end(&first->driver.name, true);
		miniport_report_leak(memory->is_context ? "a context" : "a device",
				     first->member.binding.driver_allocation,
				     vidmm_size_bytes(&first->memory));
	}
	(void)!allocation_end(first, false);
	lock_acquire(&books->lock);
	return true;
}

void context_memory_end(struct context_memory *memory)
{
	struct context_books *books = books_of(memory);

	lock_acquire(&books->lock);
	rb_remove(&books->owners, &memory->known);
	while (memory->creating > 0)
		wait_relock(books);
	while (!list_is_empty(&memory->allocations))
		(void)end_first_relock(memory);
	lock_release(&books->lock);
}

/* ---- the services ---- */

static void describe(struct context_allocation *allocation, const struct dxg_device *device,
		     const struct miniport_context_allocation *desc)
{
	const struct vidmm_wishes wishes = {
		.size_bytes = desc->size_bytes,
		.alignment_bytes = desc->alignment_bytes,
		.supported_segments = desc->supported_segments,
		.eviction_segments = desc->eviction_segments,
		.preferred_segments = desc->preferred_segments,
		.hinted_banks = desc->hinted_banks,
		.priority = VIDMM_PRIORITY_NORMAL,
		.account = &device->process_adapter->memory.account,
		.traits = {
			.is_cpu_visible = desc->is_cpu_visible,
			.is_cached = desc->is_cached,
			.is_accessed_physically = desc->is_accessed_physically,
			.wants_residency_news = desc->wants_residency_news,
		},
		.driver = &allocation->driver,
	};

	allocation->driver.unload = unload_for_manager;
	trace_allocation_live(wishes.id, wishes.size_bytes, wishes.supported_segments,
			      device->process->id, device->object.handle, 0, device->adapter->id);
	vidmm_allocation_init(&allocation->memory, &wishes);
}

static NTSTATUS enlist(struct context_allocation *allocation,
		       const struct miniport_context_allocation *desc)
{
	NTSTATUS status = STATUS_SUCCESS;

	/* For as long as it lives: the driver may keep the pointer. */
	if (desc->wants_pointer)
		status = vidmm_lock(&allocation->memory, true, &allocation->driver.pointer);
	if (!NT_SUCCESS(status))
		return status;
	return vidmm_work_set_add(&allocation->owner->set, &allocation->member, &allocation->memory,
				  desc->driver_allocation);
}

static void *publish(struct context_allocation *allocation)
{
	static _Atomic uint64_t last_handle = FIRST_HANDLE;
	struct context_books *books = &allocation->adapter->books;
	uint64_t handle = atomic_fetch_add(&last_handle, HANDLE_STEP);

	lock_acquire(&books->lock);
	list_push_back(&allocation->owner->allocations, &allocation->owner_link);
	tree_insert(&books->allocations, &allocation->known, handle);
	lock_release(&books->lock);
	return (void *)(uintptr_t)handle;
}

static NTSTATUS create_for(struct context_memory *owner,
			   const struct miniport_context_allocation *desc, void **allocation_out)
{
	NTSTATUS status = device_check_alive(owner->device);

	if (!NT_SUCCESS(status))
		return status;
	struct context_allocation *allocation = mem_zalloc(sizeof(*allocation));
	if (!allocation)
		return refuse_no_memory("no memory for a context allocation");
	allocation->owner = owner;
	allocation->adapter = owner->device->adapter;
	ending_init(&allocation->ending, &allocation_ending, allocation);
	work_init(&allocation->reap_work, allocation_reap);
	describe(allocation, owner->device, desc);
	status = enlist(allocation, desc);
	if (NT_SUCCESS(status)) {
		*allocation_out = publish(allocation);
		return status;
	}
	/* It was never in place, so nothing is waited for. */
	if (vidmm_is_paged(&allocation->memory))
		vidmm_allocation_leave(&allocation->memory);
	vidmm_allocation_finish(&allocation->memory);
	mem_free(allocation);
	return status;
}

static NTSTATUS serve_create(void *listener, const struct miniport_context_allocation *desc,
			     void **allocation_out)
{
	struct context_memory *owner = owner_enter(listener, desc);

	if (!owner)
		return refuse(STATUS_INVALID_HANDLE, RULE_DDI_CALLBACK_ARGUMENT, "hContext",
			      "or hDevice is not the kernel's, or belongs to another adapter");
	NTSTATUS status = create_for(owner, desc, allocation_out);
	owner_leave(owner);
	return status;
}

static NTSTATUS no_such_allocation(void)
{
	return refuse(STATUS_INVALID_HANDLE, RULE_DDI_CALLBACK_ARGUMENT, "hAllocation",
		      "is not one of this adapter's, or was destroyed");
}

/* True where the pager can be waited for. */
static bool can_wait(const struct dxg_adapter *adapter, bool may_wait)
{
	return may_wait && !pager_is_current_thread(adapter->pager);
}

static NTSTATUS not_waited_for_here(void)
{
	return refuse(STATUS_INVALID_DEVICE_REQUEST, RULE_DDI_CALLBACK_DEADLOCK, NULL,
		      "what is asked for is done by the thread that asks");
}

/* Its process's space is the one of the device; there is one where there is a GpuMmu. */
static NTSTATUS map(struct context_allocation *allocation,
		    const struct miniport_context_mapping *mapping, uint64_t *address_out)
{
	struct address_space *space = allocation->owner->device->process_adapter->addresses;
	struct mapped_memory *mapped = NULL;
	struct space_memory *memory = NULL;
	NTSTATUS status = vidmm_mapped_memory(
		&allocation->memory, allocation->member.binding.driver_allocation, &mapped);

	if (NT_SUCCESS(status))
		status = address_space_memory(space, mapped, &memory);
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_API_NO_MEMORY, NULL,
			      "no memory for a context allocation's addresses");
	lock_acquire(&allocation->adapter->books.lock);
	allocation->mapped = mapped;
	lock_release(&allocation->adapter->books.lock);
	const struct gpuva_map_request request = {
		.window = { .base = mapping->base_address,
			    .minimum = mapping->lowest_address,
			    .maximum = mapping->end_address },
		.owner = &memory->view.owner,
		.offset_pages = mapping->first_page,
		.page_count = mapping->page_count,
		.protection = mapping->protection,
		.driver_protection = mapping->driver_protection,
		.is_from_kernel = true,
	};
	return gpu_addresses_map_from_driver(space, &request, address_out);
}

static uint64_t serve_map(void *listener, const struct miniport_context_mapping *mapping,
			  bool may_wait)
{
	struct dxg_adapter *adapter = listener;
	struct context_allocation *allocation = allocation_enter(adapter, mapping->allocation);
	uint64_t address = 0;

	if (!allocation) {
		no_such_allocation();
		return 0;
	}
	if (!can_wait(adapter, may_wait))
		not_waited_for_here();
	else if (!NT_SUCCESS(map(allocation, mapping, &address)))
		address = 0;
	allocation_leave(allocation);
	return address;
}

static NTSTATUS check_update(const struct dxg_adapter *adapter, bool may_wait)
{
	if (!adapter->info->supports_gpu_mmu)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_VERSION, "UpdateContextAllocation",
			      "needs GPU virtual addresses, and adapter %u has none", adapter->id);
	return can_wait(adapter, may_wait) ? STATUS_SUCCESS : not_waited_for_here();
}

static NTSTATUS serve_update(void *listener, void *handle, void *private_data,
			     uint32_t private_bytes, bool may_wait)
{
	struct dxg_adapter *adapter = listener;
	struct context_allocation *allocation = allocation_enter(adapter, handle);

	if (!allocation)
		return no_such_allocation();
	NTSTATUS status = check_update(adapter, may_wait);
	if (NT_SUCCESS(status))
		status = vidmm_work_set_update(&allocation->member, private_data, private_bytes);
	allocation_leave(allocation);
	return status;
}

static NTSTATUS serve_destroy(void *listener, void *handle, bool may_wait)
{
	struct dxg_adapter *adapter = listener;
	struct context_allocation *allocation = NULL;
	bool waits = can_wait(adapter, may_wait);

	lock_acquire(&adapter->books.lock);
	struct rb_node *node = tree_find(&adapter->books.allocations, (uintptr_t)handle);
	if (node) {
		allocation = container_of(node, struct context_allocation, known);
		forget_locked(allocation);
		/* Who updates it may wait for this thread. */
		if (waits)
			await_uses_relock(allocation);
	}
	lock_release(&adapter->books.lock);
	if (!allocation)
		return no_such_allocation();
	if (waits && allocation_end(allocation, true))
		return STATUS_SUCCESS;
	miniport_name_end(&allocation->driver.name, waits);
	allocation_reap_later(allocation);
	return STATUS_SUCCESS;
}

/* A context that the driver knows is here whether anything is kept for it or not. */
static NTSTATUS serve_hit(void *listener, void *kernel_context, bool is_collateral)
{
	struct dxg_adapter *adapter = listener;
	struct context_memory *owner = NULL;

	lock_acquire(&adapter->books.lock);
	struct rb_node *node = tree_find(&adapter->books.owners, (uintptr_t)kernel_context);
	if (node)
		owner = container_of(node, struct context_memory, known);
	if (owner && (!owner->is_context || owner->queue)) /* it has no hardware queues */
		owner = NULL;
	if (owner)
		owner->creating++;
	lock_release(&adapter->books.lock);
	if (!owner)
		return refuse(STATUS_INVALID_HANDLE, RULE_DDI_CALLBACK_ARGUMENT, "hHwContext",
			      "is no context of this adapter that has hardware queues");
	sched_on_hw_context_hit(&owner->device->work, kernel_context, is_collateral);
	owner_leave(owner);
	return STATUS_SUCCESS;
}

const struct miniport_context_services context_allocation_services = {
	.invalidate_hw_context = serve_hit,
	.create = serve_create,
	.map = serve_map,
	.update = serve_update,
	.destroy = serve_destroy,
	.reserve_addresses = gpu_addresses_serve_reserve,
	.signal_event = cpu_event_signal,
};
