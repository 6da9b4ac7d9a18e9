/* SPDX-License-Identifier: MIT */
/*
 * client.c - see client.h.
 */
#include <inttypes.h>
#include <string.h>

#include <opendxgk/refusal.h>

#include "base/clock.h"
#include "base/status.h"
#include "cli/tour/client.h"
#include "cli/tour/content.h"

enum { PAGE_BYTES = 4096 };

const char *client_name(enum tour_client_id id)
{
	static const char *const names[TOUR_CLIENTS] = { "frames", "stream", "idle" };

	return names[id];
}

static bool went(struct client *client, const char *call, NTSTATUS status)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	if (NT_SUCCESS(status))
		return true;
	tour_complain(client->tour, "%s: %s: %s: %s", client_name(client->id), call,
		      status_name(status), DxgkLastRefusal(&why) ? why.reason : "no reason");
	return false;
}

/* ---- waiting ---- */

static bool wait_cpu(struct client *client, D3DKMT_HANDLE fence, UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = client->device,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .FenceValueArray = &value };

	return went(client, "D3DKMTWaitForSynchronizationObjectFromCpu",
		    D3DKMTWaitForSynchronizationObjectFromCpu(&args));
}

static bool wait_paging(struct client *client)
{
	return client->paging_value == 0 ||
	       wait_cpu(client, client->paging_fence, client->paging_value);
}

/* The GPU comes after what memory has to do, and says when it is done. */
static bool wait_on_gpu(struct client *client)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU args = {
		.hContext = client->context,
		.ObjectCount = 1,
		.ObjectHandleArray = &client->paging_fence,
		.MonitoredFenceValueArray = &client->paging_value,
	};

	return went(client, "D3DKMTWaitForSynchronizationObjectFromGpu",
		    D3DKMTWaitForSynchronizationObjectFromGpu(&args));
}

static bool signal_on_gpu(struct client *client)
{
	UINT64 value = ++client->submitted;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = client->context,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &client->fence,
							   .MonitoredFenceValueArray = &value };

	return went(client, "D3DKMTSignalSynchronizationObjectFromGpu",
		    D3DKMTSignalSynchronizationObjectFromGpu(&args));
}

static void promised(struct client *client, uint64_t value)
{
	if (client->paging_value < value)
		client->paging_value = value;
}

/* ---- beginning and end ---- */

static bool create_device(struct client *client)
{
	D3DKMT_CREATEDEVICE device = { .hAdapter = client->tour->adapter };

	if (!went(client, "D3DKMTCreateDevice", D3DKMTCreateDevice(&device)))
		return false;
	client->device = device.hDevice;
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device.hDevice };
	if (!went(client, "D3DKMTCreatePagingQueue", D3DKMTCreatePagingQueue(&queue)))
		return false;
	client->paging_queue = queue.hPagingQueue;
	client->paging_fence = queue.hSyncObject;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = device.hDevice };
	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	if (!went(client, "D3DKMTCreateSynchronizationObject2",
		  D3DKMTCreateSynchronizationObject2(&fence)))
		return false;
	client->fence = fence.hSyncObject;
	return true;
}

static bool lock(struct client *client, const struct buffer *buffer, unsigned char **bytes_out)
{
	D3DKMT_LOCK2 args = { .hDevice = client->device, .hAllocation = buffer->handle };

	if (!wait_paging(client) || !went(client, "D3DKMTLock2", D3DKMTLock2(&args)))
		return false;
	*bytes_out = args.pData;
	return true;
}

static bool unlock(struct client *client, const struct buffer *buffer)
{
	D3DKMT_UNLOCK2 args = { .hDevice = client->device, .hAllocation = buffer->handle };

	return went(client, "D3DKMTUnlock2", D3DKMTUnlock2(&args));
}

static bool create_virtual_context(struct client *client, uint32_t node)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = client->device, .NodeOrdinal = node };
	struct buffer *commands = &client->commands;

	if (!went(client, "D3DKMTCreateContextVirtual", D3DKMTCreateContextVirtual(&args)))
		return false;
	client->context = args.hContext;
	return client_create(client, PAGE_BYTES, SOFTGPU_SYSTEM_ONLY | SOFTGPU_CACHED, commands) &&
	       client_make_resident(client, &commands, 1) &&
	       lock(client, commands, &client->command_bytes);
}

static bool create_context(struct client *client, uint32_t node)
{
	D3DKMT_CREATECONTEXT args = { .hDevice = client->device, .NodeOrdinal = node };

	if (client->tour->counts->is_virtual)
		return create_virtual_context(client, node);
	if (!went(client, "D3DKMTCreateContext", D3DKMTCreateContext(&args)))
		return false;
	client->context = args.hContext;
	client->command_bytes = args.pCommandBuffer;
	client->list = args.pAllocationList;
	return true;
}

bool client_open(struct client *client, struct tour *tour, enum tour_client_id id, uint32_t node)
{
	*client = (struct client){ .tour = tour, .id = id };
	client->random = tour->settings->seed * TOUR_CLIENTS + id;
	return create_device(client) && create_context(client, node);
}

void client_close(struct client *client)
{
	D3DKMT_DESTROYDEVICE args = { client->device };

	if (client->device != 0)
		(void)went(client, "D3DKMTDestroyDevice", D3DKMTDestroyDevice(&args));
}

/* ---- memory ---- */

uint64_t client_some_bytes(const struct client *client, uint32_t index)
{
	static const uint64_t eighths[] = { 4, 12, 6, 10, 8, 8 };
	uint64_t bytes = client->tour->unit_bytes / 8 * eighths[index % 6];

	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static bool map(struct client *client, struct buffer *buffer)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = {
		.hPagingQueue = client->paging_queue,
		.hAllocation = buffer->handle,
		.SizeInPages = buffer->size_bytes / PAGE_BYTES,
		.Protection.Write = 1,
	};

	if (!went(client, "D3DKMTMapGpuVirtualAddress", D3DKMTMapGpuVirtualAddress(&args)))
		return false;
	promised(client, args.PagingFenceValue);
	buffer->address = args.VirtualAddress;
	return true;
}

bool client_create(struct client *client, uint64_t size_bytes, uint32_t flags,
		   struct buffer *buffer)
{
	struct softgpu_allocation wishes = { SOFTGPU_ALLOCATION_VERSION,
					     flags | SOFTGPU_CPU_VISIBLE, size_bytes, 0 };
	D3DDDI_ALLOCATIONINFO2 element = { .pPrivateDriverData = &wishes,
					   .PrivateDriverDataSize = sizeof(wishes) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };

	if (!went(client, "D3DKMTCreateAllocation2", D3DKMTCreateAllocation2(&args)))
		return false;
	*buffer = (struct buffer){ .handle = element.hAllocation, .size_bytes = size_bytes };
	return !client->tour->counts->is_virtual || map(client, buffer);
}

bool client_destroy(struct client *client, struct buffer *buffer)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client->device,
					   .phAllocationList = &buffer->handle,
					   .AllocationCount = 1 };

	return went(client, "D3DKMTDestroyAllocation2", D3DKMTDestroyAllocation2(&args));
}

bool client_make_resident(struct client *client, struct buffer *const *buffers, uint32_t count)
{
	const uint64_t end_ns = clock_deadline(20 * NS_PER_S);
	D3DKMT_HANDLE handles[CLIENT_COPIES_MAX];
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->paging_queue,
				     .NumAllocations = count,
				     .AllocationList = handles };
	NTSTATUS status;

	for (uint32_t i = 0; i < count; i++)
		handles[i] = buffers[i]->handle;
	while ((status = D3DKMTMakeResident(&args)) == STATUS_NO_MEMORY && clock_now_ns() < end_ns)
		clock_sleep_until(clock_deadline(NS_PER_MS));
	if (!went(client, "D3DKMTMakeResident", status))
		return false;
	promised(client, args.PagingFenceValue);
	return true;
}

bool client_let_go(struct client *client, struct buffer *const *buffers, uint32_t count)
{
	D3DKMT_HANDLE handles[CLIENT_COPIES_MAX];
	D3DKMT_EVICT args = { .hDevice = client->device,
			      .NumAllocations = count,
			      .AllocationList = handles,
			      .Flags.EvictOnlyIfNecessary = 1 };

	for (uint32_t i = 0; i < count; i++)
		handles[i] = buffers[i]->handle;
	return went(client, "D3DKMTEvict", D3DKMTEvict(&args));
}

bool client_is_local(struct client *client, const struct buffer *buffer, bool *answer)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS where = D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT;
	D3DKMT_QUERYALLOCATIONRESIDENCY args = { .hDevice = client->device,
						 .phAllocationList = &buffer->handle,
						 .AllocationCount = 1,
						 .pResidencyStatus = &where };

	if (!went(client, "D3DKMTQueryAllocationResidency", D3DKMTQueryAllocationResidency(&args)))
		return false;
	*answer = where == D3DKMT_ALLOCATIONRESIDENCYSTATUS_RESIDENTINGPUMEMORY;
	return true;
}

bool client_offer(struct client *client, const struct buffer *buffer,
		  D3DKMT_OFFER_PRIORITY priority)
{
	D3DKMT_OFFERALLOCATIONS args = { .hDevice = client->device,
					 .HandleList = &buffer->handle,
					 .NumAllocations = 1,
					 .Priority = priority };

	return went(client, "D3DKMTOfferAllocations", D3DKMTOfferAllocations(&args));
}

bool client_reclaim(struct client *client, const struct buffer *buffer, bool *is_kept)
{
	D3DDDI_RECLAIM_RESULT result = D3DDDI_RECLAIM_RESULT_DISCARDED;
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = client->paging_queue,
					    .NumAllocations = 1,
					    .HandleList = &buffer->handle,
					    .pResults = &result };

	if (!went(client, "D3DKMTReclaimAllocations2", D3DKMTReclaimAllocations2(&args)))
		return false;
	promised(client, args.PagingFenceValue);
	*is_kept = result == D3DDDI_RECLAIM_RESULT_OK;
	return true;
}

/* ---- contents ---- */

bool client_write(struct client *client, struct buffer *buffer)
{
	unsigned char *bytes;

	buffer->seed = content_next(&client->random);
	if (!lock(client, buffer, &bytes))
		return false;
	content_store(bytes, buffer->seed, 0, buffer->size_bytes);
	if (client->tour->settings->is_spoiled &&
	    atomic_exchange(&client->tour->counts->is_spoiling, false))
		bytes[buffer->size_bytes / 2] ^= 1;
	client->tour->counts->written_bytes += buffer->size_bytes;
	return unlock(client, buffer);
}

bool client_verify_part(struct client *client, const struct copy *part)
{
	struct tour_counts *counts = client->tour->counts;
	unsigned char *bytes;
	uint64_t place = 0;

	if (!lock(client, part->to, &bytes))
		return false;
	uint64_t wrong = content_count_wrong(bytes + part->to_at, part->from->seed, part->from_at,
					     part->size_bytes, &place);
	counts->verified_bytes += part->size_bytes;
	counts->wrong_bytes += wrong;
	if (!unlock(client, part->to))
		return false;
	if (wrong > 0)
		tour_complain(
			client->tour,
			"%s: %" PRIu64 " of %" PRIu64
			" bytes are not what was written, the first in the word at 0x%" PRIx64,
			client_name(client->id), wrong, part->size_bytes, place);
	return wrong == 0;
}

bool client_verify(struct client *client, const struct buffer *buffer)
{
	struct copy all = { .to = buffer, .from = buffer, .size_bytes = buffer->size_bytes };

	return client_verify_part(client, &all);
}

/* ---- work ---- */

static struct softgpu_copy command_of(const struct copy *copy)
{
	return (struct softgpu_copy){
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_COPY, sizeof(struct softgpu_copy) },
		.destination.virtual_address = copy->to->address + copy->to_at,
		.source.virtual_address = copy->from->address + copy->from_at,
		.size_bytes = copy->size_bytes,
	};
}

static bool submit_virtual(struct client *client, const struct copy *copies, uint32_t count)
{
	D3DKMT_SUBMITCOMMAND args = { .Commands = client->commands.address,
				      .CommandLength =
					      count * (uint32_t)sizeof(struct softgpu_copy),
				      .BroadcastContextCount = 1 };

	for (uint32_t i = 0; i < count; i++) {
		struct softgpu_copy command = command_of(&copies[i]);
		memcpy(client->command_bytes + i * sizeof(command), &command, sizeof(command));
	}
	args.BroadcastContext[0] = client->context;
	return went(client, "D3DKMTSubmitCommand", D3DKMTSubmitCommand(&args));
}

/* Each copy has two entries of its own; an allocation may be listed more than once. */
static bool submit_listed(struct client *client, const struct copy *copies, uint32_t count)
{
	D3DKMT_RENDER args = { .hContext = client->context,
			       .CommandLength = count * (uint32_t)sizeof(struct softgpu_copy),
			       .AllocationCount = 2 * count };

	for (uint32_t i = 0; i < count; i++) {
		struct softgpu_copy command = command_of(&copies[i]);
		command.destination.reference =
			(struct softgpu_reference){ 2 * i, (uint32_t)copies[i].to_at };
		command.source.reference =
			(struct softgpu_reference){ 2 * i + 1, (uint32_t)copies[i].from_at };
		memcpy(client->command_bytes + i * sizeof(command), &command, sizeof(command));
		client->list[2 * i] =
			(D3DDDI_ALLOCATIONLIST){ .hAllocation = copies[i].to->handle };
		client->list[2 * i].WriteOperation = 1;
		client->list[2 * i + 1] =
			(D3DDDI_ALLOCATIONLIST){ .hAllocation = copies[i].from->handle };
	}
	if (!went(client, "D3DKMTRender", D3DKMTRender(&args)))
		return false;
	client->command_bytes = args.pNewCommandBuffer;
	client->list = args.pNewAllocationList;
	return true;
}

bool client_copy(struct client *client, const struct copy *copies, uint32_t count)
{
	if (!wait_on_gpu(client))
		return false;
	bool is_submitted = client->tour->counts->is_virtual ? submit_virtual(client, copies, count)
							     : submit_listed(client, copies, count);
	if (!is_submitted || !signal_on_gpu(client) ||
	    !wait_cpu(client, client->fence, client->submitted))
		return false;
	for (uint32_t i = 0; i < count; i++)
		client->tour->counts->copied_bytes += copies[i].size_bytes;
	return true;
}
