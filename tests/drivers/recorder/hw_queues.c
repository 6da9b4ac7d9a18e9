/* SPDX-License-Identifier: MIT */
/*
 * hw_queues.c - hardware contexts and queues: what was submitted to each, until it is done
 * (recorder.h).
 *
 * A queue is known to a test by the order in which those that are there were made: 0, 1, … The
 * state is touched only in routines given to DxgkCbSynchronizeExecution, as a driver's is.
 */
#include "driver.h"

enum { QUEUES = 8, QUEUED = 320 };

struct hw_queue {
	HANDLE handle; /* NULL: there is none */
	HANDLE context;
	ULONG node;
	volatile LONG64 *fence;
	BOOLEAN is_faulted;
	BOOLEAN is_suspended;
	ULONG count;
	ULONGLONG progress[QUEUED]; /* the oldest first */
	ULONG bytes[QUEUED];
};

struct hw_crank {
	BOOLEAN is_at_once;
	NTSTATUS submit_status;
	LONG submit_fail_at;
	LONG submissions;
	PVOID volatile suspending;
	struct hw_queue queues[QUEUES];
};

NTSTATUS hw_crank_create(struct adapter *adapter)
{
	struct hw_crank *crank =
		ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*crank), RECORDER_TAG);

	if (!crank)
		return STATUS_NO_MEMORY;
	RtlZeroMemory(crank, sizeof(*crank));
	crank->is_at_once = setting("HwAtOnce", 0) != 0;
	crank->submit_status = (NTSTATUS)setting("HwSubmitStatus", 0);
	crank->submit_fail_at = (LONG)setting("HwSubmitFailAt", 1);
	adapter->hw_crank = crank;
	return STATUS_SUCCESS;
}

void hw_crank_destroy(struct adapter *adapter)
{
	if (adapter->hw_crank)
		ExFreePoolWithTag(adapter->hw_crank, RECORDER_TAG);
	adapter->hw_crank = NULL;
}

/* ---- at the level of the device ---- */

struct hw_turn {
	struct adapter *adapter;
	struct hw_queue *queue;
	struct recorder_escape *escape;
	const DXGKARG_SUBMITCOMMANDTOHWQUEUE *work;
	HANDLE handle;
	HANDLE context;
	ULONG node;
	PVOID fence;
	ULONG result;
};

static void report(struct hw_turn *turn, const struct recorder_escape *escape)
{
	DXGKRNL_INTERFACE *os = &turn->adapter->interface;
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

	fill_interrupt(&data, escape);
	os->DxgkCbNotifyInterrupt(os->DeviceHandle, &data);
	os->DxgkCbQueueDpc(os->DeviceHandle);
}

static void report_written(struct hw_turn *turn)
{
	struct recorder_escape escape = { 0 };

	escape.type = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED;
	escape.node = turn->queue->node;
	report(turn, &escape);
}

static void drop_oldest(struct hw_queue *queue, ULONG count)
{
	RtlMoveMemory(queue->progress, queue->progress + count,
		      (queue->count - count) * sizeof(queue->progress[0]));
	RtlMoveMemory(queue->bytes, queue->bytes + count,
		      (queue->count - count) * sizeof(queue->bytes[0]));
	queue->count -= count;
}

static BOOLEAN NTAPI do_begin(PVOID context)
{
	struct hw_turn *turn = context;
	struct hw_crank *crank = turn->adapter->hw_crank;

	for (ULONG i = 0; i < QUEUES; i++) {
		struct hw_queue *queue = &crank->queues[i];

		if (queue->handle)
			continue;
		queue->handle = turn->handle;
		queue->context = turn->context;
		queue->node = turn->node;
		queue->fence = turn->fence;
		queue->count = 0;
		queue->is_faulted = FALSE;
		queue->is_suspended = FALSE;
		return TRUE;
	}
	return FALSE;
}

static struct hw_queue *find(struct hw_turn *turn)
{
	for (ULONG i = 0; i < QUEUES; i++) {
		struct hw_queue *queue = &turn->adapter->hw_crank->queues[i];

		if (queue->handle && queue->handle == turn->handle)
			return queue;
	}
	return NULL;
}

static BOOLEAN NTAPI do_end(PVOID context)
{
	struct hw_queue *queue = find(context);

	if (!queue)
		return FALSE;
	if (queue->count != 0)
		complain("a hardware queue is destroyed while the hardware has something of it");
	queue->handle = NULL;
	return TRUE;
}

static BOOLEAN NTAPI do_submit(PVOID context)
{
	struct hw_turn *turn = context;
	const DXGKARG_SUBMITCOMMANDTOHWQUEUE *work = turn->work;
	struct hw_queue *queue = find(turn);

	if (!queue) {
		complain("a submission to a hardware queue that is not there");
		return FALSE;
	}
	if (queue->is_suspended)
		complain("work for a context that is suspended");
	if (work->HwQueueProgressFenceCpuVa != queue->fence)
		complain("a submission with another progress fence than the queue's");
	if (queue->count && queue->progress[queue->count - 1] >= work->HwQueueProgressFenceId)
		complain("the progress of a hardware queue does not grow");
	turn->queue = queue;
	if (turn->adapter->hw_crank->is_at_once) {
		InterlockedExchange64(queue->fence, (LONG64)work->HwQueueProgressFenceId);
		report_written(turn);
	} else if (queue->count < QUEUED) {
		queue->progress[queue->count] = work->HwQueueProgressFenceId;
		queue->bytes[queue->count++] = work->DmaBufferSize;
	} else {
		complain("more submissions than the hardware queue can hold");
	}
	return TRUE;
}

static BOOLEAN NTAPI do_pending(PVOID context)
{
	struct hw_turn *turn = context;
	struct hw_queue *queue = turn->queue;

	turn->result = queue->count;
	turn->escape->wide_fence = queue->count ? queue->progress[0] : 0;
	for (ULONG i = 0; i < 8; i++)
		turn->escape->values[i] = i < queue->count ? queue->bytes[i] : 0;
	return TRUE;
}

/* The oldest, or all up to a progress; the value shows the last of them. */
static BOOLEAN NTAPI do_complete(PVOID context)
{
	struct hw_turn *turn = context;
	struct hw_queue *queue = turn->queue;
	ULONG count = queue->count != 0;

	if (turn->escape->wide_fence != 0) {
		for (count = 0;
		     count < queue->count && queue->progress[count] <= turn->escape->wide_fence;)
			count++;
	}
	if (count == 0)
		return FALSE;
	turn->result = count;
	turn->escape->values[0] = queue->bytes[count - 1];
	InterlockedExchange64(queue->fence, (LONG64)queue->progress[count - 1]);
	drop_oldest(queue, count);
	if (!(turn->escape->flags & RECORDER_HW_SILENT))
		report_written(turn);
	return TRUE;
}

/* The node stands still; what it has is lost when it is reset. */
static BOOLEAN NTAPI do_fault(PVOID context)
{
	struct hw_turn *turn = context;
	struct hw_queue *queue = turn->queue;
	struct recorder_escape escape = *turn->escape;

	if (queue->count == 0)
		return FALSE;
	escape.type = DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED;
	escape.node = queue->node;
	if (escape.wide_fence == 0)
		escape.wide_fence = queue->progress[0];
	if (escape.flags & DXGK_PAGE_FAULT_HW_CONTEXT_VALID)
		escape.object = (ULONG_PTR)kernel_handle_of(queue->context);
	else if (escape.object == 0)
		escape.object = (ULONG_PTR)queue->handle;
	turn->result = 1;
	queue->is_faulted = TRUE;
	report(turn, &escape);
	return TRUE;
}

static BOOLEAN NTAPI do_reset_all(PVOID context)
{
	struct hw_turn *turn = context;

	for (ULONG i = 0; i < QUEUES; i++)
		turn->adapter->hw_crank->queues[i].count = 0;
	return TRUE;
}

static struct hw_queue *find_guilty(struct hw_turn *turn, BOOLEAN is_faulted)
{
	for (ULONG i = 0; i < QUEUES; i++) {
		struct hw_queue *queue = &turn->adapter->hw_crank->queues[i];

		if (queue->handle && queue->node == turn->node && queue->count != 0 &&
		    queue->is_faulted >= is_faulted)
			return queue;
	}
	return NULL;
}

/*
 * The queue that faulted, or the first of the node that has something, hangs: what its context has
 * is dropped.
 */
static BOOLEAN NTAPI do_take_guilty(PVOID context)
{
	struct hw_turn *turn = context;
	struct hw_queue *guilty = find_guilty(turn, TRUE);

	if (!guilty)
		guilty = find_guilty(turn, FALSE);
	if (!guilty)
		return FALSE;
	turn->context = guilty->context;
	for (ULONG i = 0; i < QUEUES; i++) {
		struct hw_queue *queue = &turn->adapter->hw_crank->queues[i];

		if (queue->handle && queue->context == turn->context)
			queue->count = 0;
	}
	return TRUE;
}

/* Those of the context; `result` says which it is to be. */
static BOOLEAN NTAPI do_suspend(PVOID context)
{
	struct hw_turn *turn = context;

	for (ULONG i = 0; i < QUEUES; i++) {
		struct hw_queue *queue = &turn->adapter->hw_crank->queues[i];

		if (!queue->handle || queue->context != turn->context)
			continue;
		if (turn->result && queue->count != 0)
			complain("a context is suspended that has work");
		queue->is_suspended = turn->result != 0;
	}
	return TRUE;
}

/* ---- above it ---- */

static BOOLEAN take_turn(struct hw_turn *turn, PKSYNCHRONIZE_ROUTINE routine)
{
	DXGKRNL_INTERFACE *os = &turn->adapter->interface;
	BOOLEAN result = FALSE;

	os->DxgkCbSynchronizeExecution(os->DeviceHandle, routine, turn, 0, &result);
	return result;
}

void hw_crank_reset_all(struct adapter *adapter)
{
	struct hw_turn turn = { 0 };

	turn.adapter = adapter;
	take_turn(&turn, do_reset_all);
}

BOOLEAN hw_command(struct adapter *adapter, struct recorder_escape *escape)
{
	struct hw_turn turn = { 0 };
	PKSYNCHRONIZE_ROUTINE routine;

	switch (escape->command) {
	case RECORDER_HW_PENDING:
		routine = do_pending;
		break;
	case RECORDER_HW_COMPLETE:
		routine = do_complete;
		break;
	case RECORDER_HW_FAULT:
		routine = do_fault;
		break;
	default:
		return FALSE;
	}
	if (escape->handle >= QUEUES) {
		complain("a hardware queue that does not exist");
		return TRUE;
	}
	turn.adapter = adapter;
	turn.escape = escape;
	turn.queue = &adapter->hw_crank->queues[escape->handle];
	take_turn(&turn, routine);
	escape->result = turn.result;
	return TRUE;
}

/* ---- entry points ---- */

static NTSTATUS APIENTRY create_hw_context(const HANDLE device, DXGKARG_CREATEHWCONTEXT *args)
{
	struct adapter *adapter = adapter_of_device(device);
	NTSTATUS status = step("CreateHwContext");

	note("CreateHwContext", "node", args->NodeOrdinal, "private", args->PrivateDriverDataSize);
	save_call(adapter, RECORDER_CREATE_HW_CONTEXT, args, sizeof(*args), NULL, 0);
	if (status != STATUS_SUCCESS)
		return status;
	args->hHwContext =
		object_create_on(adapter, MAGIC_HW_CONTEXT, args->hHwContext, args->NodeOrdinal);
	if (!args->hHwContext)
		return STATUS_NO_MEMORY;
	InterlockedIncrement(&adapter->contexts);
	overrun("CreateHwContext", args->pPrivateDriverData, args->PrivateDriverDataSize);
	if (args->pPrivateDriverData && args->PrivateDriverDataSize)
		*(UCHAR *)args->pPrivateDriverData ^= 0xff; /* both directions */
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_hw_context(const HANDLE context)
{
	struct adapter *adapter;

	note("DestroyHwContext", NULL, 0, NULL, 0);
	adapter = object_destroy(context, MAGIC_HW_CONTEXT);
	if (adapter)
		InterlockedDecrement(&adapter->contexts);
	return step("DestroyHwContext");
}

static NTSTATUS APIENTRY create_hw_queue(const HANDLE context, DXGKARG_CREATEHWQUEUE *args)
{
	struct adapter *adapter = adapter_of_context(context);
	NTSTATUS status = step("CreateHwQueue");
	struct hw_turn turn = { 0 };

	note("CreateHwQueue", "flags", args->Flags.Value, "private", args->PrivateDriverDataSize);
	save_call(adapter, RECORDER_CREATE_HW_QUEUE, args, sizeof(*args), NULL, 0);
	if (status != STATUS_SUCCESS)
		return status;
	turn.adapter = adapter;
	turn.context = context;
	turn.node = node_of_object(context);
	turn.fence = args->HwQueueProgressFenceCPUVirtualAddress;
	turn.handle = object_create_on(adapter, MAGIC_HW_QUEUE, args->hHwQueue, turn.node);
	if (!turn.handle)
		return STATUS_NO_MEMORY;
	if (!take_turn(&turn, do_begin)) {
		object_destroy(turn.handle, MAGIC_HW_QUEUE);
		return STATUS_NO_MEMORY;
	}
	InterlockedIncrement(&adapter->contexts);
	args->hHwQueue = turn.handle;
	overrun("CreateHwQueue", args->pPrivateDriverData, args->PrivateDriverDataSize);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_hw_queue(const HANDLE queue)
{
	struct hw_turn turn = { 0 };

	note("DestroyHwQueue", NULL, 0, NULL, 0);
	turn.adapter = adapter_of_object(queue, MAGIC_HW_QUEUE);
	turn.handle = queue;
	if (turn.adapter) {
		take_turn(&turn, do_end);
		InterlockedDecrement(&turn.adapter->contexts);
		object_destroy(queue, MAGIC_HW_QUEUE);
	}
	return step("DestroyHwQueue");
}

static NTSTATUS APIENTRY submit_command_to_hw_queue(const HANDLE context,
						    const DXGKARG_SUBMITCOMMANDTOHWQUEUE *args)
{
	struct adapter *adapter = adapter_of(context);
	struct hw_crank *crank = adapter->hw_crank;
	struct hw_turn turn = { 0 };

	note("SubmitCommandToHwQueue", "fence", (ULONG)args->HwQueueProgressFenceId, NULL, 0);
	save_call(adapter, RECORDER_SUBMIT_COMMAND_TO_HW_QUEUE, args, sizeof(*args),
		  args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
	adapter_of_object(args->hHwQueue, MAGIC_HW_QUEUE);
	if (crank->submit_status != STATUS_SUCCESS &&
	    InterlockedIncrement(&crank->submissions) == crank->submit_fail_at)
		return crank->submit_status;
	turn.adapter = adapter;
	turn.handle = args->hHwQueue;
	turn.work = args;
	take_turn(&turn, do_submit);
	return STATUS_SUCCESS;
}

static void hit(struct adapter *adapter, HANDLE context, BOOLEAN is_collateral)
{
	DXGKARGCB_INVALIDATEHWCONTEXT args;

	RtlZeroMemory(&args, sizeof(args));
	args.hAdapter = adapter->interface.DeviceHandle;
	args.hHwContext = kernel_handle_of(context);
	args.Flags.CollateralDamage = is_collateral;
	if (adapter->interface.DxgkCbInvalidateHwContext(&args) != STATUS_SUCCESS)
		complain("a hardware context that was hit is not known");
}

/* Who hangs is named; the others of the node too, as victims, when the registry says so. */
static NTSTATUS APIENTRY reset_hw_engine(const HANDLE context, DXGKARG_RESETHWENGINE *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("ResetHwEngine");
	struct hw_turn turn = { 0 };
	BOOLEAN is_first = TRUE;

	note("ResetHwEngine", "node", args->NodeOrdinal, NULL, 0);
	if (status != STATUS_SUCCESS || setting("HwHitsNobody", 0))
		return status;
	turn.adapter = adapter;
	turn.node = args->NodeOrdinal;
	turn.context = InterlockedExchangePointer(&adapter->hw_crank->suspending, NULL);
	if (turn.context) {
		hit(adapter, turn.context, FALSE);
		is_first = FALSE;
	}
	while ((is_first || setting("HwCollateral", 0)) && take_turn(&turn, do_take_guilty)) {
		hit(adapter, turn.context, !is_first);
		is_first = FALSE;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY resume_hw_engine(const HANDLE context, DXGKARG_RESUMEHWENGINE *args)
{
	adapter_of(context);
	note("ResumeHwEngine", "node", args->NodeOrdinal, NULL, 0);
	return step("ResumeHwEngine");
}

/* Hardware that does not answer names whoever was to be suspended last, when it is reset. */
static NTSTATUS APIENTRY suspend_context(const HANDLE context, const DXGKARG_SUSPENDCONTEXT *args)
{
	struct adapter *adapter = adapter_of(context);
	struct hw_turn turn = { 0 };

	note("SuspendContext", "fence", (ULONG)args->contextSuspendFence, NULL, 0);
	adapter_of_context(args->hContext);
	turn.adapter = adapter;
	turn.context = args->hContext;
	turn.result = TRUE;
	take_turn(&turn, do_suspend);
	if (setting("HwSuspend", 0) == 1)
		return STATUS_SUCCESS;
	InterlockedExchangePointer(&adapter->hw_crank->suspending, args->hContext);
	return STATUS_PENDING;
}

static NTSTATUS APIENTRY resume_context(const HANDLE context, const DXGKARG_RESUMECONTEXT *args)
{
	struct hw_turn turn = { 0 };

	note("ResumeContext", NULL, 0, NULL, 0);
	adapter_of_context(args->hContext);
	turn.adapter = adapter_of(context);
	turn.context = args->hContext;
	take_turn(&turn, do_suspend);
	return step("ResumeContext");
}

void fill_in_hw_queues(DRIVER_INITIALIZATION_DATA *data)
{
	if (!setting("HwQueues", 0))
		return;
	data->DxgkDdiCreateHwContext = create_hw_context;
	data->DxgkDdiDestroyHwContext = destroy_hw_context;
	data->DxgkDdiCreateHwQueue = create_hw_queue;
	data->DxgkDdiDestroyHwQueue = destroy_hw_queue;
	data->DxgkDdiSubmitCommandToHwQueue = submit_command_to_hw_queue;
	if (setting("HwSuspend", 0)) {
		data->DxgkDdiSuspendContext = suspend_context;
		data->DxgkDdiResumeContext = resume_context;
	}
	if (setting("HwEngineReset", 1)) {
		data->DxgkDdiResetHwEngine = reset_hw_engine;
		data->DxgkDdiResumeHwEngine = resume_hw_engine;
	}
}
