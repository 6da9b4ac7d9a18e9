/* SPDX-License-Identifier: MIT */
/*
 * work_calls.c - see work.h.
 */
#include "model/work.h"
#include "support/printed.h"

#include <sched.h>

void run_fail(struct work_run *run, const char *format, ...)
{
	char text[512];

	PRINT_INTO(text, format);
	print_error("MODEL_SEED=%llu, step %u: %s\n", run->seed, run->step, text);
	_fail(__FILE__, __LINE__);
	abort();
}

void run_gives(struct work_run *run, const char *what, NTSTATUS status, NTSTATUS wanted)
{
	if (status == wanted)
		return;
	struct dxgk_refusal why = last_refusal();
	run_fail(run, "%s gave 0x%08x, expected 0x%08x; the last refusal: %s: %s (%s)", what,
		 (unsigned)status, (unsigned)wanted, why.call, why.reason, why.rule);
}

void run_let_others(struct work_run *run)
{
	(void)soft_info(run->adapter);
	sched_yield();
}

void run_wait(struct work_run *run, unsigned turns)
{
	run_let_others(run);
	if (turns > 100)
		usleep(100);
}

/* ---- queues ---- */

NTSTATUS call_submit(struct work_device *device, int context, const struct row *row)
{
	D3DKMT_SUBMITCOMMAND args = { .CommandLength = row->used_bytes,
				      .BroadcastContextCount = 1 };

	EXPECT(device->command_used + row->used_bytes <= MARKER_AT);
	memcpy(device->pointer + device->command_used, row->bytes, row->used_bytes);
	args.Commands = device->command_address + device->command_used;
	args.BroadcastContext[0] = device->contexts[context].handle;
	device->command_used += row->used_bytes;
	return D3DKMTSubmitCommand(&args);
}

NTSTATUS call_wait(struct work_device *device, D3DKMT_HANDLE context, D3DKMT_HANDLE fence,
		   UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = context,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .MonitoredFenceValueArray = &value };

	for (int i = 0; i < WORK_CONTEXTS; i++)
		device->contexts[i].may_wait |= device->contexts[i].handle == context;
	return D3DKMTWaitForSynchronizationObjectFromGpu(&args);
}

NTSTATUS call_signal(struct work_device *device, D3DKMT_HANDLE context, D3DKMT_HANDLE fence,
		     UINT64 value)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = context,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &fence,
							   .MonitoredFenceValueArray = &value };

	(void)device;
	return D3DKMTSignalSynchronizationObjectFromGpu(&args);
}

NTSTATUS call_signal_cpu(struct work_device *device, int fence, UINT64 value)
{
	return signal_value(device->client.device, device->fences[fence].handle, value);
}

void run_progress(struct work_run *run, struct work_device *device, int context)
{
	struct work_context *to = &device->contexts[context];
	struct operation signal = { .kind = DO_SIGNAL,
				    .fence = to->progress,
				    .value = ++to->last_progress };

	GIVES(run, STATUS_SUCCESS,
	      call_signal(device, to->handle, device->fences[to->progress].handle, signal.value));
	work_queue(device, context, &signal);
}

/* ---- coming to rest ---- */

void run_settle(struct work_run *run, struct work_device *device)
{
	if (!device->is_live || device->is_lost)
		return;
	for (int i = 0; i < WORK_FENCES; i++) {
		const struct work_fence *fence = &device->fences[i];
		if (!fence->is_open)
			continue;
		GIVES(run, STATUS_SUCCESS,
		      wait_value(device->client.device, fence->handle, fence->value));
		if (*fence->view != fence->value)
			run_fail(run, "fence %d has come to %llu, expected %llu", i,
				 (unsigned long long)*fence->view,
				 (unsigned long long)fence->value);
	}
	for (int i = 0; i < WORK_CONTEXTS; i++)
		device->contexts[i].may_wait = device->contexts[i].count > 0;
}

/* Orders the work of contexts: only that work may move it. */
bool run_is_progress(const struct work_device *device, int fence)
{
	for (int i = 0; i < WORK_CONTEXTS; i++) {
		if (device->contexts[i].is_live && device->contexts[i].progress == fence)
			return true;
	}
	return false;
}

/* What it waits for is signalled, or it ends with what is in it when nobody can do that. */
static void release_head(struct work_run *run, struct work_device *device, int context)
{
	const struct operation head = device->contexts[context].queue[0];

	if (run_is_progress(device, head.fence))
		return; /* another context is in front */
	if (!device->fences[head.fence].is_open) {
		run_destroy_context(run, device, context);
		return;
	}
	GIVES(run, STATUS_SUCCESS, call_signal_cpu(device, head.fence, head.value));
	work_signal(device, head.fence, head.value);
}

void run_release(struct work_run *run, struct work_device *device)
{
	while (!device->is_lost && work_is_held_up(device)) {
		for (int i = 0; i < WORK_CONTEXTS; i++) {
			if (device->contexts[i].count > 0)
				release_head(run, device, i);
		}
	}
	run_settle(run, device);
}

/* ---- devices and contexts ---- */

void run_open_device(struct work_run *run, struct work_device *device)
{
	void *pointer;

	memset(device, 0, sizeof(*device));
	device->is_live = true;
	client_open(&device->client, run->adapter);
	device->commands =
		mapped_memory(&device->client, COMMAND_BYTES,
			      SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY, &device->command_address);
	GIVES(run, STATUS_SUCCESS, lock2(device->client.device, device->commands, &pointer));
	device->pointer = pointer;
}

void run_close_device(struct work_run *run, struct work_device *device)
{
	for (int i = 0; i < WORK_CONTEXTS; i++)
		run->cancelled += work_cancel(device, i);
	GIVES(run, STATUS_SUCCESS, destroy_device(device->client.device));
	device->is_live = false;
}

static bool is_waited_for(const struct work_device *device, int context)
{
	for (int i = 0; i < WORK_CONTEXTS; i++) {
		const struct work_context *other = &device->contexts[i];
		for (unsigned j = 0; i != context && j < other->count; j++) {
			if (other->queue[j].kind == DO_WAIT &&
			    other->queue[j].fence == device->contexts[context].progress)
				return true;
		}
	}
	return false;
}

static void end_progress(struct work_run *run, struct work_device *device, int context)
{
	const struct work_context *gone = &device->contexts[context];
	struct work_fence *progress = &device->fences[gone->progress];
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT end = { progress->handle };

	if (!device->is_lost && progress->value < gone->last_progress) {
		GIVES(run, STATUS_SUCCESS,
		      call_signal_cpu(device, gone->progress, gone->last_progress));
		work_signal(device, gone->progress, gone->last_progress);
	}
	run_settle(run, device);
	GIVES(run, STATUS_SUCCESS, D3DKMTDestroySynchronizationObject(&end));
	progress->is_open = false;
	for (int i = 0; i < WORK_MEMORIES; i++) {
		if (device->memories[i].user == context)
			device->memories[i].user = NOBODY;
	}
}

/*
 * What waits is cancelled with it; so that it is known what does, everything else is over. When
 * others are ordered by what is cancelled, they go too: nothing would order them any more.
 */
void run_destroy_context(struct work_run *run, struct work_device *device, int context)
{
	bool is_going[WORK_CONTEXTS] = { false };
	bool takes_others = device->contexts[context].count > 0 && is_waited_for(device, context);

	if (device->contexts[context].may_wait || takes_others)
		run_settle(run, device);
	for (int i = 0; i < WORK_CONTEXTS; i++) {
		is_going[i] = i == context || (takes_others && device->contexts[i].count > 0);
		if (!is_going[i])
			continue;
		GIVES(run, STATUS_SUCCESS, destroy_context(device->contexts[i].handle));
		device->contexts[i].is_live = false;
	}
	for (int i = 0; i < WORK_CONTEXTS; i++) {
		if (is_going[i])
			run->cancelled += work_cancel(device, i);
	}
	for (int i = 0; i < WORK_CONTEXTS; i++) {
		if (is_going[i])
			end_progress(run, device, i);
	}
	if (!device->is_lost)
		wait_for(&device->client, device->last_paging);
}

/* ---- checks ---- */

/* The kernel is never in front of the model. */
void run_check_fences(struct work_run *run)
{
	for (int i = 0; i < WORK_DEVICES; i++) {
		const struct work_device *device = &run->devices[i];
		for (int j = 0; device->is_live && j < WORK_FENCES; j++) {
			const struct work_fence *fence = &device->fences[j];
			if (fence->is_open && *fence->view > fence->value)
				run_fail(run, "fence %d of device %d is at %llu, at most %llu", j,
					 i, (unsigned long long)*fence->view,
					 (unsigned long long)fence->value);
		}
	}
}

void run_check_kernel(struct work_run *run)
{
	enum { SOON = 20000 };
	char problem[256] = "";

	for (unsigned i = 0; i < SOON; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		run_wait(run, i);
	}
	run_fail(run, "the kernel is not sound: %s", problem);
}

static bool is_driver_right(struct work_run *run)
{
	struct softgpu_escape_info now = soft_info(run->adapter);
	uint32_t devices = run->idle.live_devices;
	uint32_t contexts = run->idle.live_contexts;
	uint32_t allocations = run->idle.live_allocations;

	for (int i = 0; i < WORK_DEVICES; i++) {
		const struct work_device *device = &run->devices[i];
		if (!device->is_live)
			continue;
		devices++;
		allocations++;
		for (int j = 0; j < WORK_CONTEXTS; j++)
			contexts += device->contexts[j].is_live;
		for (int j = 0; j < WORK_MEMORIES; j++)
			allocations += device->memories[j].is_live;
	}
	return now.live_devices == devices && now.live_contexts == contexts &&
	       now.live_allocations == allocations;
}

/* When nothing is held up, the driver has what the model has, once destructions are over. */
void run_check_driver(struct work_run *run)
{
	enum { SOON = 20000 };

	for (int i = 0; i < WORK_DEVICES; i++) {
		if (run->devices[i].is_live && work_is_held_up(&run->devices[i]))
			return;
	}
	for (unsigned i = 0; !is_driver_right(run); i++) {
		if (i == SOON)
			run_fail(run, "the driver holds other things than the model");
		run_wait(run, i);
	}
}
