/* SPDX-License-Identifier: MIT */
/*
 * work_steps.c - what a client does with queues and memory, one step at a time.
 */
#include "model/work.h"

enum { ROOM_FOR_A_STEP = 12 }; /* operations that one step may queue */

static int pick_context(struct work_run *run, struct work_device *device)
{
	return PICK(run, device->contexts,
		    it->is_live && it->count + ROOM_FOR_A_STEP < WORK_QUEUED);
}

static int pick_memory(struct work_run *run, struct work_device *device)
{
	return PICK(run, device->memories, it->is_live);
}

/* Not one that tells the progress of a context. */
static int pick_fence(struct work_run *run, struct work_device *device)
{
	return PICK(run, device->fences,
		    it->is_open && !run_is_progress(device, (int)(it - device->fences)));
}

static void queue_wait_for(struct work_run *run, struct work_device *device, int context, int fence,
			   uint64_t value)
{
	struct operation wait = { .kind = DO_WAIT, .fence = fence, .value = value };

	GIVES(run, STATUS_SUCCESS,
	      call_wait(device, device->contexts[context].handle, device->fences[fence].handle,
			value));
	work_queue(device, context, &wait);
}

/* ---- submissions ---- */

/* Behind whoever used it before. */
static void take_over(struct work_run *run, struct work_device *device, int context, int memory)
{
	struct work_memory *taken = &device->memories[memory];

	if (taken->user != NOBODY && taken->user != context)
		queue_wait_for(run, device, context, device->contexts[taken->user].progress,
			       taken->used);
	taken->user = context;
}

static uint32_t multiple_below(struct work_run *run, uint32_t bound, uint32_t of)
{
	return bound < of ? 0 : below(run, bound / of) * of;
}

static struct operation invent(struct work_run *run, struct work_device *device, int to, int from)
{
	const struct work_memory *target = &device->memories[to];
	const struct work_memory *source = &device->memories[from];
	struct operation operation = { .to = to, .from = from, .value = random_next(&run->random) };

	switch (below(run, to == from ? 2 : 3)) {
	case 0:
		operation.kind = DO_FILL;
		operation.value = (uint32_t)operation.value;
		operation.size_bytes = target->size_bytes;
		if (target->is_known && !one_in(run, 3)) {
			operation.to_at = multiple_below(run, target->size_bytes, 4);
			operation.size_bytes =
				4 + multiple_below(run, target->size_bytes - operation.to_at, 4);
		}
		break;
	case 1:
		operation.kind = DO_WRITE;
		operation.to_at = multiple_below(run, target->size_bytes, 8);
		break;
	default:
		operation.kind = DO_COPY;
		operation.size_bytes = target->size_bytes < source->size_bytes ? target->size_bytes
									       : source->size_bytes;
		operation.size_bytes -= multiple_below(run, operation.size_bytes, 8);
		operation.to_at = multiple_below(run, target->size_bytes - operation.size_bytes, 8);
		operation.from_at =
			multiple_below(run, source->size_bytes - operation.size_bytes, 8);
		break;
	}
	return operation;
}

static void write_down(struct work_device *device, const struct operation *operation,
		       struct row *row)
{
	uint64_t to = device->memories[operation->to].address + operation->to_at;
	uint64_t from = device->memories[operation->from].address + operation->from_at;

	if (operation->kind == DO_FILL)
		add_fill(row, to, operation->size_bytes, (uint32_t)operation->value);
	else if (operation->kind == DO_WRITE)
		add_write(row, to, operation->value);
	else
		add_copy(row, to, from, operation->size_bytes);
}

static void reclaim_commands(struct work_run *run, struct work_device *device)
{
	if (device->command_used + 256 <= MARKER_AT)
		return;
	run_release(run, device);
	device->command_used = 0;
}

/* Up to three commands with two memories that are in place. */
void step_submit(struct work_run *run, struct work_device *device)
{
	struct operation operations[3];
	struct row row = { 0 };
	unsigned count = 1 + below(run, 3);

	reclaim_commands(run, device);
	int context = pick_context(run, device);
	int first = PICK(run, device->memories, it->is_live && it->resident > 0 && !it->is_offered);
	int second =
		PICK(run, device->memories, it->is_live && it->resident > 0 && !it->is_offered);
	if (context == NOBODY)
		return;
	if (device->is_lost) {
		add_write(&row, device->command_address, 0);
		GIVES(run, STATUS_DEVICE_REMOVED, call_submit(device, context, &row));
		return;
	}
	if (first == NOBODY)
		return;
	take_over(run, device, context, first);
	take_over(run, device, context, second);
	for (unsigned i = 0; i < count; i++) {
		operations[i] = one_in(run, 2) ? invent(run, device, first, second)
					       : invent(run, device, second, first);
		write_down(device, &operations[i], &row);
	}
	GIVES(run, STATUS_SUCCESS, call_submit(device, context, &row));
	run->submitted++;
	run->held_up += device->contexts[context].count > 0;
	for (unsigned i = 0; i < count; i++)
		work_queue(device, context, &operations[i]);
	run_progress(run, device, context);
	device->memories[first].used = device->contexts[context].last_progress;
	device->memories[second].used = device->contexts[context].last_progress;
}

/* ---- waits and signals ---- */

void step_wait(struct work_run *run, struct work_device *device)
{
	int context = pick_context(run, device);
	int fence = PICK(run, device->fences, it->is_open);

	if (context == NOBODY || fence == NOBODY)
		return;
	if (device->is_lost)
		GIVES(run, STATUS_DEVICE_REMOVED,
		      call_wait(device, device->contexts[context].handle,
				device->fences[fence].handle, 1));
	else if (!run_is_progress(device, fence))
		queue_wait_for(run, device, context, fence,
			       device->fences[fence].value + below(run, 4));
}

void step_signal(struct work_run *run, struct work_device *device)
{
	int context = pick_context(run, device);
	int fence = pick_fence(run, device);

	if (context == NOBODY || fence == NOBODY)
		return;
	struct operation signal = { .kind = DO_SIGNAL,
				    .fence = fence,
				    .value = device->fences[fence].value + below(run, 4) };
	GIVES(run, work_status(device),
	      call_signal(device, device->contexts[context].handle, device->fences[fence].handle,
			  signal.value));
	if (!device->is_lost)
		work_queue(device, context, &signal);
}

void step_signal_cpu(struct work_run *run, struct work_device *device)
{
	int fence = pick_fence(run, device);

	if (fence == NOBODY || device->is_lost)
		return;
	uint64_t value = device->fences[fence].value + 1 + below(run, 3);
	GIVES(run, STATUS_SUCCESS, call_signal_cpu(device, fence, value));
	work_signal(device, fence, value);
}

/* ---- contexts and fences ---- */

static void open_fence(struct work_run *run, struct work_device *device, int fence, uint64_t value)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = device->client.device };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	args.Info.MonitoredFence.InitialFenceValue = value;
	GIVES(run, work_status(device), D3DKMTCreateSynchronizationObject2(&args));
	if (device->is_lost)
		return;
	device->fences[fence] =
		(struct work_fence){ .is_open = true,
				     .handle = args.hSyncObject,
				     .view = args.Info.MonitoredFence.FenceValueCPUVirtualAddress,
				     .value = value };
}

void step_context(struct work_run *run, struct work_device *device)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = device->client.device,
					     .NodeOrdinal = below(run, WORK_NODES) };
	int context = work_free_context(device);
	int progress = work_free_fence(device);

	if (context == NOBODY || one_in(run, 4)) {
		int going = PICK(run, device->contexts, it->is_live);
		if (going != NOBODY)
			run_destroy_context(run, device, going);
		return;
	}
	if (progress == NOBODY)
		return;
	GIVES(run, work_status(device), D3DKMTCreateContextVirtual(&args));
	if (device->is_lost)
		return;
	open_fence(run, device, progress, 0);
	device->contexts[context] = (struct work_context){ .is_live = true,
							   .handle = args.hContext,
							   .node = args.NodeOrdinal,
							   .progress = progress };
}

/* One goes also while queues wait for it: what is queued does not change. */
void step_fence(struct work_run *run, struct work_device *device)
{
	int fence = work_free_fence(device);
	int going = pick_fence(run, device);

	if (fence != NOBODY && !one_in(run, 3)) {
		open_fence(run, device, fence, below(run, 5));
	} else if (going != NOBODY) {
		D3DKMT_DESTROYSYNCHRONIZATIONOBJECT args = { device->fences[going].handle };
		GIVES(run, STATUS_SUCCESS, D3DKMTDestroySynchronizationObject(&args));
		device->fences[going].is_open = false;
	}
}

/* ---- memory ---- */

void step_memory(struct work_run *run, struct work_device *device)
{
	static const unsigned kinds[] = { SOFTGPU_CPU_VISIBLE,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED };
	unsigned kind = kinds[below(run, 4)];
	uint32_t size_bytes = PAGE * (1 + below(run, LARGEST_BYTES / PAGE));
	int index = work_free_memory(device);
	D3DKMT_HANDLE handle;

	if (index == NOBODY)
		return;
	struct work_memory *memory = &device->memories[index];
	GIVES(run, work_status(device),
	      try_create_sized(&device->client, size_bytes, kind, &handle));
	if (device->is_lost)
		return;
	*memory = (struct work_memory){ .is_live = true,
					.is_moved = kind & SOFTGPU_CACHED,
					.handle = handle,
					.size_bytes = size_bytes,
					.is_known = true,
					.user = NOBODY };
	GIVES(run, STATUS_SUCCESS, try_map(&device->client, handle, size_bytes, &memory->address));
}

/* All flags; those that wait, or promise that nothing does, only when it is so. */
void step_destroy(struct work_run *run, struct work_device *device)
{
	int index = pick_memory(run, device);

	if (index == NOBODY)
		return;
	struct work_memory *memory = &device->memories[index];
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device->client.device,
					   .phAllocationList = &memory->handle,
					   .AllocationCount = 1 };
	if (memory->queued == 0 && one_in(run, 3)) {
		run_settle(run, device);
		GIVES(run, STATUS_SUCCESS,
		      unmap(&device->client, memory->address, memory->size_bytes));
	}
	args.Flags.SynchronousDestroy = one_in(run, 2) && !work_is_held_up(device);
	args.Flags.AssumeNotInUse = one_in(run, 3) && memory->queued == 0;
	if (args.Flags.AssumeNotInUse)
		run_settle(run, device);
	GIVES(run, STATUS_SUCCESS, D3DKMTDestroyAllocation2(&args));
	memory->is_live = false;
	GIVES(run, STATUS_INVALID_PARAMETER, D3DKMTDestroyAllocation2(&args));
}

/* In place for the context that waits for the paging queue, or for everybody. */
static void make_resident_for(struct work_run *run, struct work_device *device, int index,
			      int context)
{
	struct work_memory *memory = &device->memories[index];
	D3DDDI_MAKERESIDENT args = residency_of(&device->client, &memory->handle, 1, 0);
	NTSTATUS status = D3DKMTMakeResident(&args);

	RUN_EXPECT(run, status == STATUS_SUCCESS || status == STATUS_PENDING);
	memory->resident++;
	if (status == STATUS_SUCCESS)
		return;
	if (context == NOBODY) {
		wait_for(&device->client, args.PagingFenceValue);
		return;
	}
	device->last_paging = args.PagingFenceValue;
	take_over(run, device, context, index);
	GIVES(run, STATUS_SUCCESS,
	      call_wait(device, device->contexts[context].handle, device->client.fence,
			args.PagingFenceValue));
	run_progress(run, device, context);
	memory->used = device->contexts[context].last_progress;
}

void step_residency(struct work_run *run, struct work_device *device)
{
	int index = pick_memory(run, device);

	if (index == NOBODY)
		return;
	struct work_memory *memory = &device->memories[index];
	if (memory->resident > 0 && one_in(run, 3)) {
		/* What is queued still finds it in place. */
		GIVES(run, STATUS_SUCCESS,
		      evict(&device->client, &memory->handle, 1, below(run, 4)));
		memory->resident--;
	} else if (device->is_lost) {
		GIVES(run, STATUS_DEVICE_REMOVED,
		      make_resident(&device->client, &memory->handle, 1, 0));
	} else if (!memory->is_offered) {
		make_resident_for(run, device, index,
				  one_in(run, 2) ? NOBODY : pick_context(run, device));
	}
}

/* By the one call or the other. */
static NTSTATUS reclaim_somehow(struct work_run *run, const struct client *client,
				const D3DKMT_HANDLE *handle, D3DDDI_RECLAIM_RESULT *result_out)
{
	BOOL is_discarded = FALSE;

	if (one_in(run, 2))
		return reclaim(client, handle, 1, result_out);
	NTSTATUS status = reclaim_now(client, handle, 1, &is_discarded);
	*result_out = is_discarded ? D3DDDI_RECLAIM_RESULT_DISCARDED : D3DDDI_RECLAIM_RESULT_OK;
	return status;
}

/* What is queued before an offer is done first; nothing is thrown away while it waits. */
void step_offer(struct work_run *run, struct work_device *device)
{
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;
	int index = pick_memory(run, device);

	if (index == NOBODY)
		return;
	struct work_memory *memory = &device->memories[index];
	if (!memory->is_offered) {
		GIVES(run, work_status(device),
		      offer(&device->client, &memory->handle, 1, 1 + below(run, 4),
			    below(run, 2) ? ALLOW_DECOMMIT : 0));
		memory->is_offered = !device->is_lost;
		return;
	}
	bool is_held_up = memory->queued > 0;
	GIVES(run, work_status(device),
	      reclaim_somehow(run, &device->client, &memory->handle, &result));
	if (device->is_lost)
		return;
	memory->is_offered = false;
	RUN_EXPECT(run, result == D3DDDI_RECLAIM_RESULT_OK ||
				(result == D3DDDI_RECLAIM_RESULT_DISCARDED && !is_held_up));
	if (result == D3DDDI_RECLAIM_RESULT_DISCARDED) {
		memory->is_known = false;
		run->discarded++;
	}
}

/* Out with everything that is not in use; what is on a list comes back. */
void step_evict_everything(struct work_run *run, struct work_device *device)
{
	D3DKMT_VIDMM_ESCAPE evict_all = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_ESCAPE args = { .hAdapter = run->adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &evict_all,
			       .PrivateDriverDataSize = sizeof(evict_all) };

	(void)device;
	for (int i = 0; i < WORK_DEVICES; i++) {
		if (run->devices[i].is_live && work_is_held_up(&run->devices[i]))
			return; /* it would be waited for */
	}
	GIVES(run, STATUS_SUCCESS, D3DKMTEscape(&args));
}

/* Reads it, and sometimes writes it; when nothing of the GPU is under way with it. */
void step_touch(struct work_run *run, struct work_device *device)
{
	int index = PICK(run, device->memories, it->is_live && it->queued == 0);
	void *pointer;

	if (index == NOBODY)
		return;
	struct work_memory *memory = &device->memories[index];
	if (memory->is_moved && work_is_held_up(device))
		return;
	if (memory->is_offered && !device->is_lost) {
		GIVES(run, STATUS_INVALID_PARAMETER,
		      lock2(device->client.device, memory->handle, &pointer));
		return;
	}
	run_settle(run, device);
	GIVES(run, work_status(device), lock2(device->client.device, memory->handle, &pointer));
	if (device->is_lost)
		return;
	if (memory->is_known) {
		run->checked++;
		for (uint32_t i = 0; i < memory->size_bytes; i++) {
			if (((const unsigned char *)pointer)[i] != memory->bytes[i])
				run_fail(run, "memory %d has 0x%02x at %u of %u, expected 0x%02x",
					 index, ((const unsigned char *)pointer)[i], i,
					 memory->size_bytes, memory->bytes[i]);
		}
	}
	if (!memory->is_known || one_in(run, 3)) {
		for (uint32_t i = 0; i < memory->size_bytes; i += 8) {
			uint64_t word = random_next(&run->random);
			memcpy(memory->bytes + i, &word, 8);
		}
		memcpy(pointer, memory->bytes, memory->size_bytes);
		memory->is_known = true;
	}
	GIVES(run, STATUS_SUCCESS, unlock2(device->client.device, memory->handle));
}
