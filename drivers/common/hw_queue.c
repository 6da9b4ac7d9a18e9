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
 * Locks: gpu_adapter.hw_lock for the list of queues, at PASSIVE_LEVEL; never held while the kernel
 * is told something.
 */
#include "gpu.h"

enum { HW_QUEUE_PACKETS = 512 };

struct gpu_hw_queue *gpu_hw_queue_from(HANDLE handle)
{
	struct gpu_hw_queue *queue = (struct gpu_hw_queue *)handle;

	return queue && queue->magic == GPU_MAGIC_HW_QUEUE ? queue : NULL;
}

static void lock_queues(struct gpu_adapter *adapter)
{
	KeWaitForMutexObject(&adapter->hw_lock, Executive, KernelMode, FALSE, NULL);
}

static void unlock_queues(struct gpu_adapter *adapter)
{
	KeReleaseMutex(&adapter->hw_lock, FALSE);
}

static struct gpu_hw_queue *queue_of_link(LIST_ENTRY *link)
{
	return CONTAINING_RECORD(link, struct gpu_hw_queue, link);
}

/* ---- contexts ---- */

NTSTATUS APIENTRY gpu_create_hw_context(IN_CONST_HANDLE hDevice,
					INOUT_PDXGKARG_CREATEHWCONTEXT pCreateHwContext)
{
	struct gpu_device *device = gpu_device_from(hDevice);

	PAGED_CODE();

	/* The last node pages, and has only the kernel's own context. */
	if (!device || !pCreateHwContext)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "CreateHwContext for device %p with arguments %p: one is missing",
				  hDevice, pCreateHwContext);
	if (pCreateHwContext->EngineAffinity > 1 ||
	    pCreateHwContext->NodeOrdinal >= device->adapter->node_count - 1 ||
	    pCreateHwContext->PrivateDriverDataSize != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a hardware context for node %u, engines 0x%x, with %u bytes of "
				  "private data: "
				  "nodes below %u have one engine, and there is no private data",
				  pCreateHwContext->NodeOrdinal, pCreateHwContext->EngineAffinity,
				  pCreateHwContext->PrivateDriverDataSize,
				  device->adapter->node_count - 1);
	struct gpu_context *context = gpu_pool_allocate(NonPagedPoolNx, sizeof(*context));
	if (!context)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for a hardware context");
	context->magic = GPU_MAGIC_CONTEXT;
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

NTSTATUS APIENTRY gpu_destroy_hw_context(IN_CONST_HANDLE hHwContext)
{
	return gpu_destroy_context(hHwContext);
}

/* ---- queues ---- */

NTSTATUS APIENTRY gpu_create_hw_queue(IN_CONST_HANDLE hHwContext,
				      INOUT_PDXGKARG_CREATEHWQUEUE pCreateHwQueue)
{
	struct gpu_context *context = gpu_context_from(hHwContext);

	PAGED_CODE();

	if (!context || !context->has_hw_queues || !pCreateHwQueue ||
	    !pCreateHwQueue->HwQueueProgressFenceCPUVirtualAddress ||
	    pCreateHwQueue->PrivateDriverDataSize != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a hardware queue for context %p: it has none, or the progress "
				  "fence is missing, "
				  "or there is private data",
				  hHwContext);
	struct gpu_adapter *adapter = context->device->adapter;
	struct gpu_hw_queue *queue = gpu_pool_allocate(NonPagedPoolNx, sizeof(*queue));
	if (!queue)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for a hardware queue");
	queue->magic = GPU_MAGIC_HW_QUEUE;
	queue->context = context;
	queue->fence = pCreateHwQueue->HwQueueProgressFenceCPUVirtualAddress;
	NTSTATUS status = gpu_engine_init(&queue->engine, adapter, context->node, HW_QUEUE_PACKETS);
	if (!NT_SUCCESS(status)) {
		gpu_pool_free(queue);
		return status;
	}
	queue->engine.hw_queue = queue;
	/* Submission happens where no thread can be made. */
	status = gpu_engine_start(&queue->engine);
	if (!NT_SUCCESS(status)) {
		gpu_engine_finish(&queue->engine);
		gpu_pool_free(queue);
		return status;
	}
	lock_queues(adapter);
	InsertTailList(&adapter->hw_queues, &queue->link);
	unlock_queues(adapter);
	pCreateHwQueue->hHwQueue = queue;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_destroy_hw_queue(IN_CONST_HANDLE hHwQueue)
{
	struct gpu_hw_queue *queue = gpu_hw_queue_from(hHwQueue);

	PAGED_CODE();

	if (!queue)
		return gpu_refuse(STATUS_INVALID_PARAMETER, "hardware queue %p is none of ours",
				  hHwQueue);
	struct gpu_adapter *adapter = queue->engine.adapter;
	lock_queues(adapter);
	RemoveEntryList(&queue->link);
	unlock_queues(adapter);
	gpu_engine_finish(&queue->engine);
	queue->magic = GPU_MAGIC_DEAD;
	gpu_pool_free(queue);
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

NTSTATUS APIENTRY gpu_submit_command_to_hw_queue(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMANDTOHWQUEUE pSubmitCommandToHwQueue)
{
	const DXGKARG_SUBMITCOMMANDTOHWQUEUE *args = pSubmitCommandToHwQueue;
	struct gpu_hw_queue *queue = args ? gpu_hw_queue_from(args->hHwQueue) : NULL;
	ULONGLONG tag;

	if (!queue || queue->engine.adapter != gpu_adapter_from(hAdapter))
		return gpu_refuse(STATUS_INVALID_PARAMETER, "hardware queue %p is none of ours",
				  args ? args->hHwQueue : NULL);
	if (!read_private_data(args, &tag))
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"progress %I64u is submitted with %u bytes of private data, which are no "
			"softgpu_submission",
			args->HwQueueProgressFenceId, args->DmaBufferPrivateDataSize);
	struct gpu_packet packet = {
		.context = queue->context,
		.progress = args->HwQueueProgressFenceId,
		.size_bytes = args->DmaBufferSize,
		.buffer = { .segment = GPU_PLACE_VIRTUAL, .offset = args->DmaBufferVirtualAddress },
		.tag = tag,
		.is_empty = args->Flags.NullRendering || args->DmaBufferSize == 0,
	};
	return gpu_engine_submit(&queue->engine, &packet);
}

/* The queue's thread: what is done stands in the fence before anybody is told. */
void gpu_hw_queue_completed(struct gpu_hw_queue *queue, ULONGLONG progress)
{
	InterlockedExchange64(queue->fence, (LONG64)progress);
	gpu_notify_fence_written(&queue->engine);
}

/* ---- resets ---- */

static BOOLEAN is_busy(struct gpu_hw_queue *queue, BOOLEAN *is_stalled_out)
{
	KIRQL irql;

	KeAcquireSpinLock(&queue->engine.lock, &irql);
	BOOLEAN has_work =
		!IsListEmpty(&queue->engine.under_way) || !IsListEmpty(&queue->engine.queue);
	*is_stalled_out = queue->engine.is_stalled;
	KeReleaseSpinLock(&queue->engine.lock, irql);
	return has_work;
}

static void hit_context_locked(struct gpu_adapter *adapter, const struct gpu_context *context)
{
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink) {
		if (queue_of_link(link)->context == context)
			queue_of_link(link)->is_hit = TRUE;
	}
}

/* Those that hang or faulted; when none does and work is late all the same, whoever works. */
static void choose_hit_locked(struct gpu_adapter *adapter, ULONG node)
{
	BOOLEAN is_stalled;
	BOOLEAN is_any = FALSE;

	for (ULONG pass = 0; pass < 2 && !is_any; pass++) {
		for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
		     link = link->Flink) {
			struct gpu_hw_queue *queue = queue_of_link(link);

			if (queue->engine.node != node || !is_busy(queue, &is_stalled) ||
			    (pass == 0 && !is_stalled))
				continue;
			hit_context_locked(adapter, queue->context);
			is_any = TRUE;
		}
	}
}

/* One that was hit and not told of; it keeps nothing. Its context is there: it has work. */
static struct gpu_context *take_hit(struct gpu_adapter *adapter)
{
	struct gpu_context *context = NULL;

	lock_queues(adapter);
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink) {
		struct gpu_hw_queue *queue = queue_of_link(link);

		if (!queue->is_hit || (context && queue->context != context))
			continue;
		context = queue->context;
		queue->is_hit = FALSE;
		gpu_engine_reset(&queue->engine);
	}
	unlock_queues(adapter);
	return context;
}

static void set_halted(struct gpu_adapter *adapter, ULONG node, BOOLEAN is_halted)
{
	KIRQL irql;

	lock_queues(adapter);
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink) {
		struct gpu_engine *engine = &queue_of_link(link)->engine;

		if (engine->node != node)
			continue;
		KeAcquireSpinLock(&engine->lock, &irql);
		engine->is_halted = is_halted;
		KeReleaseSpinLock(&engine->lock, irql);
		KeSetEvent(&engine->work, IO_NO_INCREMENT, FALSE);
	}
	unlock_queues(adapter);
}

NTSTATUS APIENTRY gpu_reset_hw_engine(IN_CONST_HANDLE hAdapter,
				      INOUT_PDXGKARG_RESETHWENGINE pResetHwEngine)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	struct gpu_context *context;

	PAGED_CODE();

	if (!pResetHwEngine ||
	    !gpu_engine_from(hAdapter, pResetHwEngine->NodeOrdinal, pResetHwEngine->EngineOrdinal))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
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

NTSTATUS APIENTRY gpu_resume_hw_engine(IN_CONST_HANDLE hAdapter,
				       INOUT_PDXGKARG_RESUMEHWENGINE pResumeHwEngine)
{
	PAGED_CODE();

	if (!pResumeHwEngine || !gpu_engine_from(hAdapter, pResumeHwEngine->NodeOrdinal,
						 pResumeHwEngine->EngineOrdinal))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "ResumeHwEngine of node %u, which does not exist",
				  pResumeHwEngine ? pResumeHwEngine->NodeOrdinal : MAXULONG);
	set_halted(gpu_adapter_from(hAdapter), pResumeHwEngine->NodeOrdinal, FALSE);
	return STATUS_SUCCESS;
}

/* Around an adapter reset: all of them end what they do, and begin nothing before the restart. */
void gpu_hw_queues_reset(struct gpu_adapter *adapter)
{
	for (ULONG node = 0; node < adapter->node_count; node++)
		set_halted(adapter, node, TRUE);
	lock_queues(adapter);
	for (LIST_ENTRY *link = adapter->hw_queues.Flink; link != &adapter->hw_queues;
	     link = link->Flink)
		gpu_engine_reset(&queue_of_link(link)->engine);
	unlock_queues(adapter);
}

void gpu_hw_queues_restart(struct gpu_adapter *adapter)
{
	for (ULONG node = 0; node < adapter->node_count; node++)
		set_halted(adapter, node, FALSE);
}
