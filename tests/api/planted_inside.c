/* SPDX-License-Identifier: MIT */
/*
 * planted_inside.c - see planted.h.
 */
#include <stdlib.h>

#include "api/planted.h"
#include "object/memory/allocation.h"
#include "object/owner/context.h"
#include "object/owner/device.h"
#include "object/owner/kernel.h"
#include "object/memory/paging_queue.h"
#include "object/owner/process.h"
#include "object/memory/resource.h"
#include "object/fence/sync_object.h"
#include "paging/internal.h"
#include "sched/fence_page.h"
#include "sched/internal.h"
#include "address_space/address_space.h"
#include "vidmm/place.h"
#include "pagetable/table_tree.h"

static struct {
	struct dxg_kernel *kernel;
	struct dxg_process *process;
	struct dxg_adapter *adapter;
	struct process_adapter *process_adapter;
	struct dxg_device *device;
	struct dxg_allocation *allocation; /* alone, resident and mapped */
	struct dxg_resource *resource;     /* shared */
	struct dxg_context *context;
	struct dxg_sync_object *fence;
	struct vidmm_place *place;
} inside;

#define FIRST(list, type, link) container_of((list)->next, type, link)

/* The one in GPU memory. */
static struct dxg_allocation *find_local(void)
{
	struct list *link;

	list_for_each (link, &inside.device->allocations) {
		struct dxg_allocation *allocation =
			container_of(link, struct dxg_allocation, owner_link);

		if (atomic_load(&allocation->body->memory.content) == VIDMM_CONTENT_LOCAL)
			return allocation;
	}
	abort();
}

void planted_begin(void *kernel, void *process)
{
	inside.kernel = kernel;
	inside.process = process;
	inside.adapter = inside.kernel->adapters[0];
	inside.process_adapter = FIRST(&inside.process->adapters, struct process_adapter, link);
	inside.device = FIRST(&inside.process->devices, struct dxg_device, process_link);
	inside.allocation = find_local();
	inside.resource = FIRST(&inside.device->resources, struct dxg_resource, device_link);
	inside.context = FIRST(&inside.device->contexts, struct dxg_context, owned.link);
	inside.fence = FIRST(&inside.device->sync_objects, struct dxg_sync_object, owned.link);
	inside.place = atomic_load(&inside.allocation->body->memory.place);
}

static struct sched *sched(void)
{
	return atomic_load(&inside.adapter->sched);
}

static struct page_tables *tables(void)
{
	return &inside.process_adapter->addresses->tables;
}

/* NAME(…) is one number; an unsigned one wraps back. */
#define PLANT(name, number)                                                                        \
	static void name(int by)                                                                   \
	{                                                                                          \
		(number) += (unsigned)by;                                                          \
	}
#define PLANT_WIDE(name, number)                                                                   \
	static void name(int by)                                                                   \
	{                                                                                          \
		(number) += (uint64_t)(int64_t)by;                                                 \
	}

/* ---- scheduler ---- */
PLANT(node_outstanding, sched()->nodes[0].outstanding)
PLANT_WIDE(node_completed, sched()->nodes[0].statistics.clients.completed)
PLANT(node_hw_outstanding, sched()->nodes[0].hw_outstanding)
PLANT(node_hw_never_late, sched()->nodes[0].hw_never_late)
PLANT(node_holds, sched()->nodes[0].holds)
PLANT(sched_holds_all, sched()->holds)
PLANT(sched_client_holds, sched()->client_holds)
PLANT(owner_pending, inside.device->work.pending)
PLANT(owner_suspensions, inside.device->work.suspensions)
PLANT(queue_length, FIRST(&inside.device->work.queues, struct sched_queue, owner_link)->length)

/* ---- pager ---- */
PLANT(pager_outstanding, inside.adapter->pager->outstanding)
PLANT(pager_quiet_jobs, inside.adapter->pager->quiet_jobs)
PLANT_WIDE(pager_submitted, inside.adapter->pager->submitted_sequence)

/* ---- memory manager ---- */
PLANT_WIDE(segment_resident, inside.place->segment->resident_bytes)
PLANT_WIDE(segment_entering, inside.place->segment->entering_bytes)
PLANT_WIDE(segment_leaving, inside.place->segment->leaving_bytes)
PLANT_WIDE(segment_committed, inside.place->segment->committed_bytes)
PLANT_WIDE(segment_pages, inside.place->segment->ranges.taken_units)
PLANT_WIDE(segment_candidates, inside.place->segment->candidates.entry_count)
PLANT_WIDE(segment_entered, inside.place->segment->traffic.entered.count)
PLANT_WIDE(apertures, inside.adapter->memory->aperture_committed_bytes)
PLANT_WIDE(usage, inside.process_adapter->memory.usage_bytes[inside.place->group])
PLANT_WIDE(reserved, inside.adapter->memory->reserved_bytes[VIDMM_LOCAL])
PLANT_WIDE(claimed, inside.adapter->memory->claimed_bytes[inside.place->group])
PLANT_WIDE(group_bytes, inside.adapter->memory->group_bytes[VIDMM_LOCAL])
PLANT(processes, inside.adapter->memory->process_count)
PLANT(listening, inside.adapter->memory->listening_count)
PLANT(needed, inside.device->memory.needed_count)
PLANT(ready_lists, inside.device->memory.ready_list_count)
PLANT(place_listed, inside.place->list_count)
PLANT(place_waiter_pins, inside.place->waiter_pins)
PLANT(binding_keeps, inside.allocation->binding->keeps)

static void content(int by)
{
	_Atomic uint8_t *state = &inside.allocation->body->memory.content;

	(void)by;
	atomic_store(state, atomic_load(state) == VIDMM_CONTENT_LOCAL ? VIDMM_CONTENT_BACKED
								      : VIDMM_CONTENT_LOCAL);
}

/* ---- what is charged, and the CPU's views ---- */
PLANT_WIDE(adapter_committed, inside.adapter->account.committed_bytes)
PLANT_WIDE(process_committed, inside.process_adapter->memory.account.committed_bytes)
PLANT_WIDE(process_viewed, inside.process_adapter->memory.account.viewed_bytes)
PLANT(memory_locks, inside.allocation->body->memory.lock_count)

/* ---- GPU addresses ---- */
PLANT_WIDE(table_count, tables()->table_count)
PLANT_WIDE(table_bytes, tables()->table_bytes)
PLANT_WIDE(area_count, tables()->space.areas.range_count)
PLANT_WIDE(pool_taken, tables()->space.pool.taken_count)
PLANT(memory_views, atomic_load(&inside.allocation->body->memory.mapped)->view_count)

/* ---- handles ---- */
PLANT(handles_live, inside.process->handles.seats[0].live)
PLANT(handles_freed, inside.process->handles.ring->freed_elsewhere)
PLANT(global_handles_live, inside.kernel->shares.globals.seats[0].live)
PLANT_WIDE(object_references, inside.fence->object.slot->state)

/* ---- objects ---- */
PLANT(device_sync_objects, inside.device->sync_object_count)
PLANT(device_endings, inside.device->ordered_endings)
PLANT(driver_devices, inside.process->driver_devices)
PLANT(resource_allocations, inside.resource->allocation_count)
PLANT(resource_bodies, inside.resource->body->body_count)
PLANT(body_references, inside.allocation->body->refs.count)
PLANT(allocation_uses, inside.allocation->uses)
PLANT(share_openings, inside.resource->body->share.openings)
PLANT(share_references, inside.resource->body->share.refs.count)
PLANT(descriptors, inside.kernel->shares.descriptor_count)
PLANT(fence_slots, inside.process->fence_pages->taken)
PLANT(fence_chunks, inside.process->fence_pages->chunk_count)

#define ENTRY(function, sentence)                                                                  \
	{                                                                                          \
#function, sentence, function                                                      \
	}
const struct planted planted[] = {
	ENTRY(node_outstanding, "outstanding is miscounted"),
	ENTRY(node_completed, "the statistics of a node do not add up"),
	ENTRY(node_hw_outstanding, "what hardware queues have is miscounted"),
	ENTRY(node_hw_never_late, "what stops the clock is miscounted"),
	ENTRY(node_holds, "are held by nobody"),
	ENTRY(sched_holds_all, "are held by nobody"),
	ENTRY(sched_client_holds, "are held 1 times, and not for that"),
	ENTRY(owner_pending, "an owner's count is wrong"),
	ENTRY(owner_suspensions, "is suspended 1 times, and 0 are known"),
	ENTRY(queue_length, "a queue's length is wrong"),
	ENTRY(pager_outstanding, "the number of outstanding jobs is wrong"),
	ENTRY(pager_quiet_jobs, "jobs that need clients to stand still are miscounted"),
	ENTRY(pager_submitted, "a packet is neither under way nor back"),
	ENTRY(segment_resident, "resident bytes were miscounted"),
	ENTRY(segment_entering, "bytes on their way were miscounted"),
	ENTRY(segment_leaving, "bytes on their way were miscounted"),
	ENTRY(segment_committed, "committed bytes were miscounted"),
	ENTRY(segment_pages, "miscounted"),
	ENTRY(segment_candidates, "miscounted"),
	ENTRY(segment_entered, "those who came and those who left"),
	ENTRY(apertures, "committed bytes were miscounted"),
	ENTRY(usage, "its usage was miscounted"),
	ENTRY(reserved, "reservations were miscounted"),
	ENTRY(claimed, "claims were miscounted"),
	ENTRY(group_bytes, "what applications can have was miscounted"),
	ENTRY(processes, "processes were miscounted"),
	ENTRY(listening, "those who listen were miscounted"),
	ENTRY(needed, "has miscounted what it needs"),
	ENTRY(ready_lists, "has miscounted its lists that are in place"),
	ENTRY(place_listed, "its listings were miscounted"),
	ENTRY(place_waiter_pins, "the list whose turn it is"),
	ENTRY(binding_keeps, "is kept by nobody"),
	ENTRY(content, "its content is not"),
	ENTRY(adapter_committed, "committed bytes were miscounted"),
	ENTRY(process_committed, "committed bytes were miscounted"),
	ENTRY(process_viewed, "bytes of views were miscounted"),
	ENTRY(memory_locks, "locked"),
	ENTRY(table_count, "a table is in no tree"),
	ENTRY(table_bytes, "bytes of tables were miscounted"),
	ENTRY(area_count, "ranges were miscounted"),
	ENTRY(pool_taken, "the pool lost a range"),
	ENTRY(memory_views, "is seen in more or fewer GPU address spaces"),
	ENTRY(handles_live, "objects that have a handle are miscounted"),
	ENTRY(handles_freed, "handles that were handed out or came back are miscounted"),
	ENTRY(global_handles_live, "objects that have a handle are miscounted"),
	ENTRY(object_references, "references, and"),
	ENTRY(device_sync_objects, "sync objects and has"),
	ENTRY(device_endings, "endings of groups, and has"),
	ENTRY(driver_devices, "drivers know"),
	ENTRY(resource_allocations, "allocations and has"),
	ENTRY(resource_bodies, "the memory of"),
	ENTRY(body_references, "references, and"),
	ENTRY(allocation_uses, "lists, and"),
	ENTRY(share_openings, "openings and has"),
	ENTRY(share_references, "references, and"),
	ENTRY(descriptors, "descriptors of NT handles are miscounted"),
	ENTRY(fence_slots, "slots of fences are miscounted"),
	ENTRY(fence_chunks, "chunks of fences are miscounted"),
};
const size_t planted_count = sizeof(planted) / sizeof(planted[0]);
