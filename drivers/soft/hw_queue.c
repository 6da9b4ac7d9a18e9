/* SPDX-License-Identifier: MIT */
/*
 * hw_queue.c - hardware contexts and queues, when the registry asks for them (HwQueues).
 *
 *	SubmitCommandToHwQueue ─▶ the queue's own engine ─▶ progress fence, MONITORED_FENCE_SIGNALED
 *
 * Every hardware queue is an engine of its own: a thread that runs what it is given, one packet
 * after the other, beside all others. A node is only where they are counted, and reset: those that
 * hang or faulted are hit, with the others of their contexts; the rest stands still between two
 * packets until it is resumed.
 *
 * Locks: soft_adapter.hw_lock for the list of queues, at PASSIVE_LEVEL; never held while the kernel
 * is told something.
 */
#include "soft.h"

enum { HW_QUEUE_PACKETS = 512 };

struct soft_hw_queue *soft_hw_queue_from(HANDLE handle)
{
	struct soft_hw_queue *queue = (struct soft_hw_queue *)handle;

	return queue && queue->magic == SOFT_MAGIC_HW_QUEUE ? queue : NULL;
}

static void lock_queues(struct soft_adapter *adapter)
{
	KeWaitForMutexObject(&adapter->hw_lock, Executive, KernelMode, FALSE, NULL);
}

static void unlock_queues(struct soft_adapter *adapter)
{
	KeReleaseMutex(&adapter->hw_lock, FALSE);
}

static struct soft_hw_queue *queue_of_link(LIST_ENTRY *link)
{
	return CONTAINING_RECORD(link, struct soft_hw_queue, link);
}

/* ---- contexts ---- */

NTSTATUS APIENTRY soft_create_hw_context(IN_CONST_HANDLE hDevice,
					 INOUT_PDXGKARG_CREATEHWCONTEXT pCreateHwContext)
{
	struct soft_device *device = soft_device_from(hDevice);

	PAGED_CODE();

	/* The last node pages, and has only the kernel's own context. */
	if (!device || !pCreateHwContext)
		return soft_refuse(
			STATUS_INVALID_PARAMETER,
			"CreateHwContext for device %p with arguments %p: one is missing", hDevice,
			pCreateHwContext);
	if (pCreateHwContext->EngineAffinity > 1 ||
	    pCreateHwContext->NodeOrdinal >= device->adapter->node_count - 1 ||
	    pCreateHwContext->PrivateDriverDataSize != 0)
		return soft_refuse(STATUS_INVALID_PARAMETER,
				   "a hardware context for node %u, engines 0x%x, with %u bytes of "
				   "private data: "
				   "nodes below %u have one engine, and there is no private data",
				   pCreateHwContext->NodeOrdinal, pCreateHwContext->EngineAffinity,
				   pCreateHwContext->PrivateDriverDataSize,
				   device->adapter->node_count - 1);
	struct soft_context *context = soft_pool_allocate(NonPagedPoolNx, sizeof(*context));
	if (!context)
		return soft_refuse(STATUS_NO_MEMORY, "there is no pool for a hardware context");
	context->magic = SOFT_MAGIC_CONTEXT;
	context->node = pCreateHwContext->NodeOrdinal;
	context->is_virtual = TRUE;
	context->has_hw_queues = TRUE;
	context->device = device;
	context->kernel_context = pCreateHwContext->hHwContext;
	InterlockedIncrement(&device->live_contexts);
	InterlockedIncrement(&device->adapter->live_contexts);
	pCreateHwContext->hHwContext = context;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY soft_destroy_hw_context(IN_CONST_HANDLE hHwContext)
{
	return soft_destroy_context(hHwContext);
}

/* ---- queues ---- */

NTSTATUS APIENTRY soft_create_hw_queue(IN_CONST_HANDLE hHwContext,
				       INOUT_PDXGKARG_CREATEHWQUEUE pCreateHwQueue)
{
	struct soft_context *context = soft_context_from(hHwContext);

	PAGED_CODE();

	if (!context || !context->has_hw_queues || !pCreateHwQueue ||
	    !pCreateHwQueue->HwQueueProgressFenceCPUVirtualAddress ||
	    pCreateHwQueue->PrivateDriverDataSize != 0)
		return soft_refuse(STATUS_INVALID_PARAMETER,
				   "a hardware queue for context %p: it has none, or the progress "
				   "fence is missing, "
				   "or there is private data",
				   hHwContext);
	struct soft_adapter *adapter = context->device->adapter;
	struct soft_hw_queue *queue = soft_pool_allocate(NonPagedPoolNx, sizeof(*queue));
	if (!queue)
		return soft_refuse(STATUS_NO_MEMORY, "there is no pool for a hardware queue");
	queue->magic = SOFT_MAGIC_HW_QUEUE;
	queue->context = context;
	queue->fence = pCreateHwQueue->HwQueueProgressFenceCPUVirtualAddress;
	NTSTATUS status =
		soft_engine_init(&queue->engine, adapter, context->node, HW_QUEUE_PACKETS);
	if (!NT_SUCCESS(status)) {
		soft_pool_free(queue);
		return status;
	}
	queue->engine.hw_queue = queue;
	/* Submission happens where no thread can be made. */
	status = soft_engine_start(&queue->engine);
	if (!NT_SUCCESS(status)) {
		soft_engine_finish(&queue->engine);
		soft_pool_free(queue);
		return status;
	}
	lock_queues(adapter);
	InsertTailList(&adapter->hw_queues, &queue->link);
	unlock_queues(adapter);
	pCreateHwQueue->hHwQueue = queue;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY soft_destroy_hw_queue(IN_CONST_HANDLE hHwQueue)
{
	struct soft_hw_queue *queue = soft_hw_queue_from(hHwQueue);

	PAGED_CODE();

	if (!queue)
		return soft_refuse(STATUS_INVALID_PARAMETER, "hardware queue %p is none of ours",
				   hHwQueue);
	struct soft_adapter *adapter = queue->engine.adapter;
	lock_queues(adapter);
	RemoveEntryList(&queue->link);
	unlock_queues(adapter);
	soft_engine_finish(&queue->engine);
	queue->magic = SOFT_MAGIC_DEAD;
	soft_pool_free(queue);
	return STATUS_SUCCESS;
}

/* FALSE when the client wrote nonsense. */
static BOOLEAN read_private_data(const DXGKARG_SUBMITCOMMANDTOHWQUEUE *args, ULONGLONG *tag_out)
{
	const struct softgpu_submission *data = args->pDmaBufferPrivateData;

	*tag_out = 0;
	if (args->DmaBufferPrivateDataSize == 0)
		return TRUE;
	if (!data || args->DmaBufferPrivateDataSize != sizeof(*data) ||
	    data->version != SOFTGPU_SUBMISSION_VERSION || data->flags != 0)
		return FALSE;
	*tag_out = data->tag;
	return TRUE;
}

NTSTATUS APIENTRY soft_submit_command_to_hw_queue(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMANDTOHWQUEUE pSubmitCommandToHwQueue)
{
	const DXGKARG_SUBMITCOMMANDTOHWQUEUE *args = pSubmitCommandToHwQueue;
	struct soft_hw_queue *queue = args ? soft_hw_queue_from(args->hHwQueue) : NULL;
	ULONGLONG tag;

	if (!queue || queue->engine.adapter != soft_adapter_from(hAdapter))
		return soft_refuse(STATUS_INVALID_PARAMETER, "hardware queue %p is none of ours",
				   args ? args->hHwQueue : NULL);
	if (!read_private_data(args, &tag))
		return soft_refuse(
			STATUS_INVALID_PARAMETER,
			"progress %I64u is submitted with %u bytes of private data, which are no "
			"softgpu_submission",
			args->HwQueueProgressFenceId, args->DmaBufferPrivateDataSize);
	struct soft_packet packet = {
		.context = queue->context,
		.progress = args->HwQueueProgressFenceId,
		.size_bytes = args->DmaBufferSize,
		.buffer = { .segment = SOFT_PLACE_VIRTUAL,
			    .offset = args->DmaBufferVirtualAddress },
		.tag = tag,
		.is_empty = args->Flags.NullRendering || args->DmaBufferSize == 0,
	};
	return soft_engine_submit(&queue->engine, &packet);
}

/* The queue's thread: what is done stands in the fence before anybody is told. */
void soft_hw_queue_completed(struct soft_hw_queue *queue, ULONGLONG progress)
{
	InterlockedExchange64(queue->fence, (LONG64)progress);
	soft_notify_fence_written(&queue->engine);
}

/* ---- resets ---- */

static BOOLEAN is_busy(struct soft_hw_queue *queue, BOOLEAN *is_stalled_out)
{
	KIRQL irql;

	KeAcquireSpinLock(&queue->engine.lock, &irql);
	BOOLEAN has_work = queue->engine.running || !IsListEmpty(&queue->engine.queue);
	*is_stalled_out = queue->engine.is_stalled;
	KeReleaseSpinLock(&queue->engine.lock, irql);
	return has_work;
}

static void hit_context_locked(struct soft_adapter *adapter, const struct soft_context *context)
{
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink) {
		if (queue_of_link(link)->context == context)
			queue_of_link(link)->is_hit = TRUE;
	}
}

/* Those that hang or faulted; when none does and work is late all the same, whoever works. */
static void choose_hit_locked(struct soft_adapter *adapter, ULONG node)
{
	BOOLEAN is_stalled;
	BOOLEAN is_any = FALSE;

	for (ULONG pass = 0; pass < 2 && !is_any; pass++) {
		for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
		     link = link->Flink) {
			struct soft_hw_queue *queue = queue_of_link(link);

			if (queue->engine.node != node || !is_busy(queue, &is_stalled) ||
			    (pass == 0 && !is_stalled))
				continue;
			hit_context_locked(adapter, queue->context);
			is_any = TRUE;
		}
	}
}

/* One that was hit and not told of; it keeps nothing. Its context is there: it has work. */
static struct soft_context *take_hit(struct soft_adapter *adapter)
{
	struct soft_context *context = NULL;

	lock_queues(adapter);
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink) {
		struct soft_hw_queue *queue = queue_of_link(link);

		if (!queue->is_hit || (context && queue->context != context))
			continue;
		context = queue->context;
		queue->is_hit = FALSE;
		soft_engine_reset(&queue->engine);
	}
	unlock_queues(adapter);
	return context;
}

static void set_halted(struct soft_adapter *adapter, ULONG node, BOOLEAN is_halted)
{
	KIRQL irql;

	lock_queues(adapter);
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink) {
		struct soft_engine *engine = &queue_of_link(link)->engine;

		if (engine->node != node)
			continue;
		KeAcquireSpinLock(&engine->lock, &irql);
		engine->is_halted = is_halted;
		KeReleaseSpinLock(&engine->lock, irql);
		KeSetEvent(&engine->work, IO_NO_INCREMENT, FALSE);
	}
	unlock_queues(adapter);
}

NTSTATUS APIENTRY soft_reset_hw_engine(IN_CONST_HANDLE hAdapter,
				       INOUT_PDXGKARG_RESETHWENGINE pResetHwEngine)
{
	struct soft_adapter *adapter = soft_adapter_from(hAdapter);
	struct soft_context *context;

	PAGED_CODE();

	if (!pResetHwEngine ||
	    !soft_engine_from(hAdapter, pResetHwEngine->NodeOrdinal, pResetHwEngine->EngineOrdinal))
		return soft_refuse(STATUS_INVALID_PARAMETER,
				   "ResetHwEngine of node %u, which does not exist",
				   pResetHwEngine ? pResetHwEngine->NodeOrdinal : MAXULONG);
	set_halted(adapter, pResetHwEngine->NodeOrdinal, TRUE);
	lock_queues(adapter);
	choose_hit_locked(adapter, pResetHwEngine->NodeOrdinal);
	unlock_queues(adapter);
	while ((context = take_hit(adapter)) != NULL) {
		DXGKARGCB_INVALIDATEHWCONTEXT hit = { .hAdapter = adapter->dxgk.DeviceHandle,
						      .hHwContext = context->kernel_context };
		adapter->dxgk.DxgkCbInvalidateHwContext(&hit);
	}
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY soft_resume_hw_engine(IN_CONST_HANDLE hAdapter,
					INOUT_PDXGKARG_RESUMEHWENGINE pResumeHwEngine)
{
	PAGED_CODE();

	if (!pResumeHwEngine || !soft_engine_from(hAdapter, pResumeHwEngine->NodeOrdinal,
						  pResumeHwEngine->EngineOrdinal))
		return soft_refuse(STATUS_INVALID_PARAMETER,
				   "ResumeHwEngine of node %u, which does not exist",
				   pResumeHwEngine ? pResumeHwEngine->NodeOrdinal : MAXULONG);
	set_halted(soft_adapter_from(hAdapter), pResumeHwEngine->NodeOrdinal, FALSE);
	return STATUS_SUCCESS;
}

/* Around an adapter reset: all of them end what they do, and begin nothing before the restart. */
void soft_hw_queues_reset(struct soft_adapter *adapter)
{
	for (ULONG node = 0; node < adapter->node_count; node++)
		set_halted(adapter, node, TRUE);
	lock_queues(adapter);
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink)
		soft_engine_reset(&queue_of_link(link)->engine);
	unlock_queues(adapter);
}

void soft_hw_queues_restart(struct soft_adapter *adapter)
{
	for (ULONG node = 0; node < adapter->node_count; node++)
		set_halted(adapter, node, FALSE);
}
