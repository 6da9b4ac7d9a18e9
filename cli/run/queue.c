/* SPDX-License-Identifier: MIT */
/*
 * queue.c - statements about contexts and fences: what runs, what waits for what, how it ended.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/run/world.h"

/* ---- fences ---- */

NTSTATUS queue_create_fence(struct world *world, const struct thing *client, uint64_t value,
			    bool is_shared, D3DKMT_HANDLE *fence_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = client->handle };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	args.Info.Flags.Shared = is_shared;
	args.Info.Flags.NtSecuritySharing = is_shared;
	args.Info.MonitoredFence.InitialFenceValue = value;
	NTSTATUS status = CALL(world, D3DKMTCreateSynchronizationObject2(&args));
	*fence_out = args.hSyncObject;
	return status;
}

NTSTATUS queue_open_fence(struct world *world, const struct thing *client, uint32_t shared,
			  D3DKMT_HANDLE *fence_out)
{
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 args = { .hDevice = client->handle };
	NTSTATUS status = share_find(world, shared, &args.hNtHandle);

	if (!NT_SUCCESS(status))
		return status;
	status = CALL(world, D3DKMTOpenSyncObjectFromNtHandle2(&args));
	close((int)(intptr_t)args.hNtHandle);
	*fence_out = args.hSyncObject;
	return status;
}

NTSTATUS queue_destroy_fence(struct world *world, D3DKMT_HANDLE fence)
{
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT args = { fence };

	return CALL(world, D3DKMTDestroySynchronizationObject(&args));
}

static D3DKMT_DEVICEEXECUTION_STATE state_of(struct world *world, const struct thing *client)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = client->handle,
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };

	if (!NT_SUCCESS(CALL(world, D3DKMTGetDeviceState(&args))))
		return D3DKMT_DEVICEEXECUTION_ACTIVE;
	return args.ExecutionState;
}

bool queue_is_active(struct world *world, const struct thing *client)
{
	return state_of(world, client) == D3DKMT_DEVICEEXECUTION_ACTIVE;
}

/*
 * A wait ends also when the device is lost, successfully or not, depending on which came first.
 * The script hears one thing.
 */
NTSTATUS queue_wait_cpu(struct world *world, const struct thing *client, D3DKMT_HANDLE fence,
			UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = client->handle,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .FenceValueArray = &value };
	NTSTATUS status = CALL(world, D3DKMTWaitForSynchronizationObjectFromCpu(&args));

	if (NT_SUCCESS(status) && !queue_is_active(world, client))
		return STATUS_DEVICE_REMOVED;
	return status;
}

NTSTATUS queue_wait_paging(struct world *world, struct thing *client)
{
	uint64_t value = client->paging_value;

	return value == 0 ? STATUS_SUCCESS
			  : queue_wait_cpu(world, client, client->paging_fence, value);
}

static NTSTATUS wait_in_hw_queue(struct world *world, D3DKMT_HANDLE queue, D3DKMT_HANDLE fence,
				 UINT64 value)
{
	D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE args = { .hHwQueue = queue,
							  .ObjectCount = 1,
							  .ObjectHandleArray = &fence,
							  .FenceValueArray = &value };

	return CALL(world, D3DKMTSubmitWaitForSyncObjectsToHwQueue(&args));
}

NTSTATUS queue_wait_gpu(struct world *world, const struct thing *context, D3DKMT_HANDLE fence,
			UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = context->handle,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .MonitoredFenceValueArray = &value };

	if (context->hw_context)
		return wait_in_hw_queue(world, context->handle, fence, value);
	return CALL(world, D3DKMTWaitForSynchronizationObjectFromGpu(&args));
}

static NTSTATUS signal_in_hw_queue(struct world *world, D3DKMT_HANDLE queue, D3DKMT_HANDLE fence,
				   UINT64 value)
{
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE args = { .BroadcastHwQueueCount = 1,
							 .BroadcastHwQueueArray = &queue,
							 .ObjectCount = 1,
							 .ObjectHandleArray = &fence,
							 .FenceValueArray = &value };

	return CALL(world, D3DKMTSubmitSignalSyncObjectsToHwQueue(&args));
}

NTSTATUS queue_signal_gpu(struct world *world, const struct thing *context, D3DKMT_HANDLE fence,
			  UINT64 value)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = context->handle,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &fence,
							   .MonitoredFenceValueArray = &value };

	if (context->hw_context)
		return signal_in_hw_queue(world, context->handle, fence, value);
	return CALL(world, D3DKMTSignalSynchronizationObjectFromGpu(&args));
}

static NTSTATUS signal_cpu(struct world *world, const struct thing *client, D3DKMT_HANDLE fence,
			   UINT64 value)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = client->handle,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &fence,
							   .FenceValueArray = &value };

	return CALL(world, D3DKMTSignalSynchronizationObjectFromCpu(&args));
}

void queue_do_signal(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	D3DKMT_HANDLE fence = world_thing(world, statement->name)->handle;

	if (statement->by == SCRIPT_NO_NAME)
		outcome->status = signal_cpu(world, world_client_of(world, statement->name), fence,
					     statement->number);
	else
		outcome->status = queue_signal_gpu(world, world_thing(world, statement->by), fence,
						   statement->number);
}

/* Is it in time? A client whose device is lost waits for nothing. */
static bool is_over_soon(struct world *world, const struct thing *client, const struct ring *ring)
{
	enum { PATIENCE_S = 10, LOOKS_PER_S = 100 };
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	UINT64 value = ring->signed_value;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = {
		.hDevice = client->handle,
		.ObjectCount = 1,
		.ObjectHandleArray = &ring->fence,
		.FenceValueArray = &value,
		.hAsyncEvent = (HANDLE)(intptr_t)event,
	};
	bool is_over = event < 0 ||
		       !NT_SUCCESS(CALL(world, D3DKMTWaitForSynchronizationObjectFromCpu(&args)));

	for (uint32_t i = 0; !is_over && i < PATIENCE_S * LOOKS_PER_S; i++) {
		is_over = read(event, &value, sizeof(value)) > 0 || !queue_is_active(world, client);
		if (!is_over)
			world_sleep(world, NS_PER_S / LOOKS_PER_S);
	}
	if (event >= 0)
		close(event);
	return is_over;
}

static void wait_for_work(struct world *world, const struct thing *client, const struct ring *ring,
			  struct outcome *outcome)
{
	if (client->has_gaps && !is_over_soon(world, client, ring))
		outcome_leave_out(outcome, "what it runs is not known, and may run for ever");
	else
		outcome->status = queue_wait_cpu(world, client, ring->fence, ring->signed_value);
}

void queue_do_wait(struct world *world, const struct script_statement *statement,
		   struct outcome *outcome)
{
	struct thing *thing = world_thing(world, statement->name);
	struct thing *client = world_client_of(world, statement->name);

	switch (world->script->names[statement->name].kind) {
	case SCRIPT_CLIENT:
		outcome->status = queue_wait_paging(world, client);
		break;
	case SCRIPT_CONTEXT:
	case SCRIPT_HW_QUEUE:
		wait_for_work(world, client, &thing->ring, outcome);
		break;
	case SCRIPT_ALLOCATION:
		memory_wait_gone(world, statement->name, outcome);
		break;
	case SCRIPT_FENCE:
	default:
		if (statement->by == SCRIPT_NO_NAME)
			outcome->status =
				queue_wait_cpu(world, client, thing->handle, statement->number);
		else
			outcome->status = queue_wait_gpu(world, world_thing(world, statement->by),
							 thing->handle, statement->number);
		break;
	}
}

/* ---- priorities ---- */

void queue_do_priority(struct world *world, const struct script_statement *statement,
		       struct outcome *outcome)
{
	D3DKMT_SETCONTEXTSCHEDULINGPRIORITY args = { world_thing(world, statement->name)->handle,
						     statement->priority };

	outcome->status = CALL(world, D3DKMTSetContextSchedulingPriority(&args));
}

/* ---- how it ended ---- */

static const char *state_name(D3DKMT_DEVICEEXECUTION_STATE state)
{
	static const char *const names[] = { "?",       "active",        "reset", "hung",
					     "stopped", "out of memory", "fault", "page fault" };

	return (size_t)state < ARRAY_SIZE(names) ? names[state] : names[0];
}

/* The allocation that is mapped there, as " (picture+0x10)". */
static void describe_address(struct world *world, uint32_t client, uint64_t address, char *text,
			     size_t size_bytes)
{
	text[0] = '\0';
	for (uint32_t i = 0; i < world->script->name_count; i++) {
		uint64_t base = world->things[i].address;
		uint32_t owner = world->script->names[i].client;
		if (owner != client && (world->is_shared || world->things[owner].process !=
								    world->things[client].process))
			continue; /* an address of another process */
		if (base == 0 || address < base ||
		    address - base >= world->script->names[i].size_bytes)
			continue;
		snprintf(text, size_bytes, " (%s+0x%" PRIx64 ")", world->script->names[i].text,
			 address - base);
		return;
	}
}

static void show_page_fault(struct world *world, const struct script_statement *statement,
			    struct outcome *outcome)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = world_thing(world, statement->name)->handle,
				       .StateType = D3DKMT_DEVICESTATE_PAGE_FAULT };
	char where[64];

	outcome->status = CALL(world, D3DKMTGetDeviceState(&args));
	if (!NT_SUCCESS(outcome->status))
		return;
	uint64_t address = args.PageFaultState.FaultedVirtualAddress;
	uint32_t access = args.PageFaultState.PageFaultFlags & DXGK_PAGE_FAULT_WRITE ? OPTION_WRITE
										     : OPTION_READ;
	describe_address(world, statement->name, address, where, sizeof(where));
	outcome_note(outcome, "%s: page fault, %s 0x%" PRIx64 "%s",
		     world->script->names[statement->name].text,
		     access == OPTION_WRITE ? "writing to" : "reading from", address, where);
	if (statement->number != 0 && address != submit_address_of(world, &statement->address))
		outcome->is_wrong = true;
	if (statement->options != 0 && statement->options != access)
		outcome->is_wrong = true;
}

void queue_do_state(struct world *world, const struct script_statement *statement,
		    struct outcome *outcome)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = world_thing(world, statement->name)->handle,
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };

	outcome->status = CALL(world, D3DKMTGetDeviceState(&args));
	if (!NT_SUCCESS(outcome->status))
		return;
	outcome->is_shown = true;
	outcome->is_wrong =
		statement->state != 0 && (uint32_t)args.ExecutionState != statement->state;
	outcome_note(outcome, "%s: %s", world->script->names[statement->name].text,
		     state_name(args.ExecutionState));
	if (args.ExecutionState == D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT)
		show_page_fault(world, statement, outcome);
}
