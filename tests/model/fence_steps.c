/* SPDX-License-Identifier: MIT */
/*
 * fence_steps.c - monitored fences, signalled and waited for by the CPU; nobody blocks.
 */
#include "model/run.h"

enum { AHEAD = 8, NO_SIGNAL = 0x10, NO_WAIT = 0x20, REWIND = 4 };

static void create(struct run *run, int device)
{
	struct model *model = &run->model;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = model->devices[device].handle };
	NTSTATUS wanted = STATUS_SUCCESS;

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	args.Info.MonitoredFence.InitialFenceValue = below(run, AHEAD);
	if (one_in(run, 4))
		args.Info.Flags.Value |= one_in(run, 2) ? NO_SIGNAL : NO_WAIT;
	if (one_in(run, 10)) {
		args.Info.Flags.Value |= 0x200u << below(run, 23);
		wanted = STATUS_INVALID_PARAMETER;
	} else if (one_in(run, 10)) {
		args.Info.Flags.Value = NO_SIGNAL | NO_WAIT;
		wanted = STATUS_INVALID_PARAMETER;
	} else if (one_in(run, 10)) {
		args.hDevice = bad_handle(run, KIND_DEVICE);
		wanted = STATUS_INVALID_PARAMETER;
	}
	CALL(run, wanted, D3DKMTCreateSynchronizationObject2, args);
	if (!NT_SUCCESS(wanted))
		return;
	check_new_handle(run, args.hSyncObject);
	struct model_handle *fence = &model->fences[model_add(model, KIND_FENCE, args.hSyncObject)];
	fence->device = device;
	fence->value = args.Info.MonitoredFence.InitialFenceValue;
	fence->view = args.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	fence->may_signal = !(args.Info.Flags.Value & NO_SIGNAL);
	fence->may_wait = !(args.Info.Flags.Value & NO_WAIT);
}

/* How often the event was set since it was last asked. */
static uint64_t event_count(const struct run *run)
{
	uint64_t count = 0;

	return read(run->event, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* Those that are reached go; returns how many. */
static uint64_t release_reached(struct model_handle *fence)
{
	uint64_t released = 0;
	int kept = 0;

	for (int i = 0; i < fence->wait_count; i++) {
		if (fence->waits[i] <= fence->value)
			released++;
		else
			fence->waits[kept++] = fence->waits[i];
	}
	fence->wait_count = kept;
	return released;
}

/* A handle that is wrong, or of another device, once in a while. */
static D3DKMT_HANDLE choose_handle(struct run *run, const struct model_handle *fence,
				   bool *is_bad_out)
{
	*is_bad_out = one_in(run, 10);
	return *is_bad_out ? bad_handle(run, KIND_FENCE) : fence->handle;
}

static void signal_one(struct run *run, struct model_handle *fence)
{
	D3DKMT_HANDLE handle;
	UINT64 value = fence->value + below(run, 4) - one_in(run, 3);
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU args = {
		.hDevice = run->model.devices[fence->device].handle,
		.ObjectCount = 1,
		.ObjectHandleArray = &handle,
		.FenceValueArray = &value,
	};
	NTSTATUS wanted = STATUS_SUCCESS;
	bool is_bad;

	if (value == UINT64_MAX)
		value = 0;
	handle = choose_handle(run, fence, &is_bad);
	args.Flags.Value = one_in(run, 4) ? REWIND : 0;
	if (is_bad)
		wanted = STATUS_INVALID_PARAMETER;
	else if (!fence->may_signal)
		wanted = STATUS_ACCESS_DENIED;
	else if (value < fence->value && args.Flags.Value != REWIND)
		wanted = STATUS_INVALID_PARAMETER;
	CALL(run, wanted, D3DKMTSignalSynchronizationObjectFromCpu, args);
	if (NT_SUCCESS(wanted))
		fence->value = value;
	RUN_EXPECT(run, *fence->view == fence->value);
	RUN_EXPECT(run, event_count(run) == release_reached(fence));
}

/* By the event, or in the call when that cannot block. */
static void wait_one(struct run *run, struct model_handle *fence)
{
	D3DKMT_HANDLE handle;
	UINT64 value = below(run, (uint32_t)(fence->value % 1000) + AHEAD);
	bool is_by_event = value > fence->value || one_in(run, 2);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = {
		.hDevice = run->model.devices[fence->device].handle,
		.ObjectCount = 1,
		.ObjectHandleArray = &handle,
		.FenceValueArray = &value,
		.hAsyncEvent = (HANDLE)(intptr_t)(is_by_event ? run->event : 0),
		.Flags.WaitAny = one_in(run, 2),
	};
	NTSTATUS wanted = STATUS_SUCCESS;
	bool is_bad;

	if (value > fence->value && fence->wait_count == MAX_FENCE_WAITS)
		return;
	handle = choose_handle(run, fence, &is_bad);
	if (is_bad) {
		wanted = STATUS_INVALID_PARAMETER;
	} else if (!fence->may_wait) {
		wanted = STATUS_ACCESS_DENIED;
	} else if (is_by_event && one_in(run, 10)) {
		args.hAsyncEvent = (HANDLE)(intptr_t)run->plain_file;
		wanted = STATUS_INVALID_HANDLE;
	}
	CALL(run, wanted, D3DKMTWaitForSynchronizationObjectFromCpu, args);
	if (NT_SUCCESS(wanted) && is_by_event)
		fence->waits[fence->wait_count++] = value;
	RUN_EXPECT(run, event_count(run) == release_reached(fence));
}

static void destroy(struct run *run, int index)
{
	bool is_bad = one_in(run, 4);
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT args = { is_bad ? bad_handle(run, KIND_FENCE)
							    : run->model.fences[index].handle };

	CALL(run, is_bad ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS,
	     D3DKMTDestroySynchronizationObject, args);
	if (!is_bad)
		model_end(&run->model, KIND_FENCE, index);
	RUN_EXPECT(run, event_count(run) == 0);
}

void step_fence(struct run *run)
{
	int device = pick(run, KIND_DEVICE);
	int index = pick(run, KIND_FENCE);
	uint32_t choice = below(run, 10);

	if (choice < 2 && device >= 0 && model_slots(&run->model, KIND_FENCE) > 0)
		create(run, device);
	else if (index >= 0 && choice < 5)
		signal_one(run, &run->model.fences[index]);
	else if (index >= 0 && choice < 8)
		wait_one(run, &run->model.fences[index]);
	else if (index >= 0 && one_in(run, 2))
		destroy(run, index);
}
