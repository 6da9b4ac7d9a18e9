/* SPDX-License-Identifier: MIT */
/*
 * engine.c - queues and threads: from a submission to a running packet.
 *
 *	SubmitCommand ─▶ queue ─▶ thread: gpu_hw_execute() ─▶ under way: gpu_hw_reap() ─┐
 *	                                        └──────────────────────────────────────────┴▶ completed,
 *	                                                                           preempted, faulted
 *	PreemptCommand, reset, stop ─▶ attention ─▶ packets under way give up
 *
 * Some hardware executes a packet while it is given it; other takes several, and they end in the
 * order in which they were given.
 *
 * Submissions and preemptions arrive at DISPATCH_LEVEL and cannot fail, so packets are made ahead,
 * as many as the kernel said it will have outstanding. A preemption takes away what is queued at
 * that moment; what is submitted later waits behind the answer.
 *
 * Locks: engine->lock, never held while the kernel is told something or memory is touched.
 */
#include "gpu.h"

static KSTART_ROUTINE engine_thread;

struct gpu_engine *gpu_engine_from(HANDLE adapter_handle, ULONG node, ULONG engine_ordinal)
{
	struct gpu_adapter *adapter = gpu_adapter_from(adapter_handle);

	if (!adapter || node >= adapter->node_count || engine_ordinal != 0)
		return NULL;
	return &adapter->engines[node];
}

NTSTATUS gpu_engine_init(struct gpu_engine *engine, struct gpu_adapter *adapter, ULONG node,
			 ULONG packet_count)
{
	PAGED_CODE();

	if (packet_count < GPU_MIN_PACKETS)
		packet_count = GPU_MIN_PACKETS;
	RtlZeroMemory(engine, sizeof(*engine));
	engine->packets =
		gpu_pool_allocate(NonPagedPoolNx, (SIZE_T)packet_count * sizeof(*engine->packets));
	if (!engine->packets)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for %u packets of node %u",
				  packet_count, node);

	engine->adapter = adapter;
	engine->node = node;
	KeInitializeSpinLock(&engine->lock);
	InitializeListHead(&engine->queue);
	InitializeListHead(&engine->under_way);
	InitializeListHead(&engine->free);
	for (ULONG i = 0; i < packet_count; i++)
		InsertTailList(&engine->free, &engine->packets[i].link);
	KeInitializeEvent(&engine->work, SynchronizationEvent, FALSE);
	KeInitializeEvent(&engine->control, SynchronizationEvent, FALSE);
	KeInitializeEvent(&engine->reset_done, NotificationEvent, FALSE);
	return STATUS_SUCCESS;
}

static void ask_to_stop(PVOID context)
{
	struct gpu_engine *engine = (struct gpu_engine *)context;
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	engine->is_stop_pending = TRUE;
	InterlockedOr(&engine->attention, GPU_ATTENTION_ABORT);
	KeReleaseSpinLock(&engine->lock, irql);
	KeSetEvent(&engine->control, IO_NO_INCREMENT, FALSE);
}

NTSTATUS gpu_thread_create(PKSTART_ROUTINE routine, void (*stop)(PVOID context), PVOID context,
			   PVOID *thread_out)
{
	OBJECT_ATTRIBUTES attributes;
	HANDLE handle;

	InitializeObjectAttributes(&attributes, NULL, OBJ_KERNEL_HANDLE, NULL, NULL);
	NTSTATUS status = PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, &attributes, NULL, NULL,
					       routine, context);
	if (!NT_SUCCESS(status))
		return gpu_refuse(status, "a thread cannot be made: 0x%08x", status);
	status = ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode,
					   thread_out, NULL);
	if (!NT_SUCCESS(status)) {
		stop(context);
		ZwWaitForSingleObject(handle, FALSE, NULL);
		DbgPrint(GPU_DRIVER ": a thread cannot be kept: 0x%08x\n", status);
	}
	ZwClose(handle);
	return status;
}

static NTSTATUS create_thread(struct gpu_engine *engine)
{
	PVOID thread;
	KIRQL irql;

	NTSTATUS status = gpu_thread_create(engine_thread, ask_to_stop, engine, &thread);
	if (NT_SUCCESS(status)) {
		KeAcquireSpinLock(&engine->lock, &irql);
		engine->thread = thread;
		KeReleaseSpinLock(&engine->lock, irql);
	} else {
		engine->is_stop_pending = FALSE;
		InterlockedAnd(&engine->attention, 0);
	}
	return status;
}

NTSTATUS gpu_engine_start(struct gpu_engine *engine)
{
	NTSTATUS status = STATUS_SUCCESS;

	PAGED_CODE();

	KeWaitForMutexObject(&engine->adapter->start_lock, Executive, KernelMode, FALSE, NULL);
	if (!engine->thread) {
		status = gpu_hw_engine_start(engine);
		if (NT_SUCCESS(status))
			status = create_thread(engine);
		if (!NT_SUCCESS(status))
			gpu_hw_engine_finish(engine);
	}
	KeReleaseMutex(&engine->adapter->start_lock, FALSE);
	return status;
}

/* Whatever is queued goes back; nobody is told. */
static void drop_queue_locked(struct gpu_engine *engine)
{
	while (!IsListEmpty(&engine->queue))
		InsertTailList(&engine->free, RemoveHeadList(&engine->queue));
	InterlockedExchange(&engine->queued, 0);
}

void gpu_engine_finish(struct gpu_engine *engine)
{
	PAGED_CODE();

	if (engine->thread) {
		ask_to_stop(engine);
		KeWaitForSingleObject(engine->thread, Executive, KernelMode, FALSE, NULL);
		ObDereferenceObject(engine->thread);
	}
	gpu_hw_engine_finish(engine);
	gpu_pool_free(engine->packets);
	RtlZeroMemory(engine, sizeof(*engine));
}

ULONG gpu_engine_reset(struct gpu_engine *engine)
{
	KIRQL irql;

	PAGED_CODE();

	KeAcquireSpinLock(&engine->lock, &irql);
	drop_queue_locked(engine);
	engine->is_preemption_pending = FALSE;
	BOOLEAN has_thread = engine->thread != NULL;
	if (has_thread) {
		/* A removal may come in the middle of another reset: whoever waits is told. */
		engine->is_reset_pending = TRUE;
		KeClearEvent(&engine->reset_done);
		InterlockedOr(&engine->attention, GPU_ATTENTION_ABORT);
	} else {
		engine->last_aborted_fence = engine->last_completed_fence;
	}
	KeReleaseSpinLock(&engine->lock, irql);

	if (has_thread) {
		KeSetEvent(&engine->control, IO_NO_INCREMENT, FALSE);
		KeWaitForSingleObject(&engine->reset_done, Executive, KernelMode, FALSE, NULL);
	}
	InterlockedIncrement64(&engine->adapter->engine_resets);
	return engine->last_aborted_fence;
}

/* ---- the thread ---- */

enum gpu_outcome gpu_check_attention(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	LONG attention = ReadAcquire(&engine->attention);
	struct gpu_context *context = packet->context;

	if (attention & GPU_ATTENTION_ABORT)
		return GPU_ABORTED;
	/* Without a context there is nowhere to remember how far we came. */
	if ((attention & GPU_ATTENTION_PREEMPT) && context && !context->ignores_preemption)
		return GPU_PREEMPTED;
	return GPU_DONE;
}

static struct gpu_packet *packet_of(LIST_ENTRY *link)
{
	return CONTAINING_RECORD(link, struct gpu_packet, link);
}

/* The newest one under way has faulted, or was stopped: nothing behind it may have an effect. The thread alone. */
static BOOLEAN is_blocked(const struct gpu_engine *engine)
{
	const struct gpu_packet *newest = packet_of(engine->under_way.Blink);

	return !IsListEmpty(&engine->under_way) && newest->outcome != GPU_UNDER_WAY &&
	       newest->outcome != GPU_DONE;
}

BOOLEAN gpu_engine_has_news(const struct gpu_engine *engine)
{
	return ReadAcquire(&engine->queued) > 0 && !engine->is_full && !is_blocked(engine) &&
	       ReadAcquire(&engine->attention) == 0;
}

/* A hung or faulted engine answers to nothing but a reset, or the end. */
void gpu_engine_wait_for_abort(struct gpu_engine *engine)
{
	while (!(ReadAcquire(&engine->attention) & GPU_ATTENTION_ABORT))
		KeWaitForSingleObject(&engine->control, Executive, KernelMode, FALSE, NULL);
}

void gpu_engine_set_stalled(struct gpu_engine *engine, BOOLEAN is_stalled)
{
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	engine->is_stalled = is_stalled;
	KeReleaseSpinLock(&engine->lock, irql);
}

/* What is wrong with the hardware when this packet ends (settings.h): nothing, nearly always. */
static enum gpu_defect defect_of(struct gpu_engine *engine)
{
	const struct gpu_settings *settings = &engine->adapter->settings;

	if (settings->defect == GPU_DEFECT_NONE ||
	    (ULONG)InterlockedIncrement(&engine->adapter->packets_ended) != settings->defect_at)
		return GPU_DEFECT_NONE;
	return (enum gpu_defect)settings->defect;
}

static void defect_show(struct gpu_engine *engine, enum gpu_defect defect, ULONG *fence)
{
	LARGE_INTEGER second = { .QuadPart = -10000000 };

	if (defect == GPU_DEFECT_SLOW)
		KeDelayExecutionThread(KernelMode, FALSE, &second);
	else if (defect == GPU_DEFECT_WRONG_FENCE)
		*fence += 1000;
	else if (defect == GPU_DEFECT_WRONG_BYTES)
		gpu_hw_memory_spoil(&engine->adapter->memory);
}

/* A fault, or a hang, is where the engine stands until it is reset. */
static enum gpu_outcome stand_still(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	gpu_engine_set_stalled(engine, TRUE);
	if (packet->outcome == GPU_FAULTED)
		gpu_notify_faulted(engine, packet, &packet->fault);
	gpu_engine_wait_for_abort(engine);
	return packet->outcome == GPU_FAULTED ? GPU_FAULTED : GPU_ABORTED;
}

/* One interrupt stands for all before it that were done. */
static void tell_completed(struct gpu_engine *engine, ULONG fence, ULONGLONG progress)
{
	engine->has_untold = FALSE;
	if (engine->hw_queue)
		gpu_hw_queue_completed(engine->hw_queue, progress);
	else
		gpu_notify_completed(engine, fence);
}

static void complete(struct gpu_engine *engine, ULONG fence, ULONGLONG progress, BOOLEAN is_told)
{
	InterlockedIncrement64(&engine->adapter->packets_completed);
	if (!engine->hw_queue)
		InterlockedIncrement64(&engine->packets_completed);
	if (is_told) {
		tell_completed(engine, fence, progress);
		return;
	}
	engine->has_untold = TRUE;
	engine->untold_fence = fence;
	engine->untold_progress = progress;
}

/* The oldest one is over. */
static void end_packet(struct gpu_engine *engine, struct gpu_packet *packet)
{
	enum gpu_outcome outcome = packet->outcome;
	enum gpu_defect defect = defect_of(engine);
	ULONG fence = packet->fence;
	ULONGLONG progress = packet->progress;
	BOOLEAN is_refused = packet->is_refused;
	KIRQL irql;

	BOOLEAN is_next_over = engine->is_next_over && defect == GPU_DEFECT_NONE;
	engine->is_next_over = FALSE;
	if (engine->has_untold && (outcome != GPU_DONE || is_refused || defect != GPU_DEFECT_NONE))
		tell_completed(engine, engine->untold_fence, engine->untold_progress);
	defect_show(engine, defect, &fence);
	if (outcome == GPU_FAULTED || defect == GPU_DEFECT_HANG)
		outcome = stand_still(engine, packet);

	KeAcquireSpinLock(&engine->lock, &irql);
	/* Whoever was given behind one that faulted counts for nothing. */
	if (outcome == GPU_DONE && engine->is_stalled)
		outcome = packet->is_empty ? GPU_CUT_OFF : GPU_ABORTED;
	if (outcome != GPU_PREEMPTED && outcome != GPU_CUT_OFF)
		engine->last_completed_fence = fence; /* done, or never to be done */
	RemoveEntryList(&packet->link);
	InsertTailList(&engine->free, &packet->link);
	KeReleaseSpinLock(&engine->lock, irql);
	engine->is_full = FALSE;

	if (outcome == GPU_DONE && (engine->hw_queue || !is_refused))
		complete(engine, fence, progress, !is_next_over);
	else if (outcome == GPU_PREEMPTED)
		InterlockedIncrement64(&engine->adapter->packets_preempted);
}

/* In front of the queue, unless that was taken away meanwhile. */
static void put_back(struct gpu_engine *engine, struct gpu_packet *packet)
{
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	RemoveEntryList(&packet->link);
	if (engine->is_stop_pending || engine->is_reset_pending || engine->is_preemption_pending) {
		InsertTailList(&engine->free, &packet->link);
	} else {
		InsertHeadList(&engine->queue, &packet->link);
		InterlockedIncrement(&engine->queued);
	}
	KeReleaseSpinLock(&engine->lock, irql);
	engine->is_full = TRUE;
}

static void begin_packet(struct gpu_engine *engine, struct gpu_packet *packet)
{
	packet->fault = (struct gpu_fault){ 0 };
	packet->outcome = gpu_hw_execute(engine, packet, &packet->fault);
	if (packet->outcome == GPU_BUSY)
		put_back(engine, packet);
	else if (packet->outcome != GPU_UNDER_WAY && engine->under_way.Flink == &packet->link)
		end_packet(engine, packet);
}

static void reap_packet(struct gpu_engine *engine, struct gpu_packet *packet)
{
	if (packet->outcome == GPU_UNDER_WAY)
		packet->outcome = gpu_hw_reap(engine, packet, &packet->fault);
	if (packet->outcome != GPU_UNDER_WAY)
		end_packet(engine, packet);
}

/* What the thread does next. */
enum engine_step { STEP_WAIT, STEP_BEGIN, STEP_REAP, STEP_PREEMPTED, STEP_STOP };

/* With the packet that it is about. */
static enum engine_step choose_step_locked(struct gpu_engine *engine,
					   struct gpu_packet **packet_out)
{
	BOOLEAN is_under_way = !IsListEmpty(&engine->under_way);

	*packet_out = is_under_way ? packet_of(engine->under_way.Flink) : NULL;
	/* What is asked of the engine is asked of those first. */
	if (is_under_way &&
	    (engine->is_stop_pending || engine->is_reset_pending || engine->is_preemption_pending))
		return STEP_REAP;
	if (engine->is_stop_pending)
		return STEP_STOP;
	if (engine->is_reset_pending) {
		engine->is_reset_pending = FALSE;
		engine->is_stalled = FALSE;
		engine->last_aborted_fence = engine->last_completed_fence;
		InterlockedAnd(&engine->attention, 0);
		KeSetEvent(&engine->reset_done, IO_NO_INCREMENT, FALSE);
	}
	if (engine->is_preemption_pending) {
		engine->is_preemption_pending = FALSE;
		InterlockedAnd(&engine->attention, ~GPU_ATTENTION_PREEMPT);
		return STEP_PREEMPTED;
	}
	if (engine->is_halted || IsListEmpty(&engine->queue) || (is_under_way && engine->is_full) ||
	    is_blocked(engine))
		return is_under_way ? STEP_REAP : STEP_WAIT;
	*packet_out = packet_of(RemoveHeadList(&engine->queue));
	InterlockedDecrement(&engine->queued);
	InsertTailList(&engine->under_way, &(*packet_out)->link);
	return STEP_BEGIN;
}

static void wait_for_work(struct gpu_engine *engine)
{
	PVOID events[] = { &engine->control, &engine->work };

	for (ULONG i = 0; i < engine->looks; i++) {
		if (KeReadStateEvent(&engine->work) || KeReadStateEvent(&engine->control))
			break;
		YieldProcessor();
	}
	KeWaitForMultipleObjects(RTL_NUMBER_OF(events), events, WaitAny, Executive, KernelMode,
				 FALSE, NULL, NULL);
}

static VOID NTAPI engine_thread(PVOID StartContext)
{
	struct gpu_engine *engine = (struct gpu_engine *)StartContext;
	KIRQL irql;

	for (;;) {
		KeAcquireSpinLock(&engine->lock, &irql);
		struct gpu_packet *packet;
		enum engine_step step = choose_step_locked(engine, &packet);
		ULONG preemption_fence = engine->preemption_fence;
		ULONG last_completed = engine->last_completed_fence;
		KeReleaseSpinLock(&engine->lock, irql);

		if (step == STEP_STOP)
			break;
		if (step == STEP_BEGIN)
			begin_packet(engine, packet);
		else if (step == STEP_REAP)
			reap_packet(engine, packet);
		else if (step == STEP_PREEMPTED)
			gpu_notify_preempted(engine, preemption_fence, last_completed);
		else
			wait_for_work(engine);
	}
	PsTerminateSystemThread(STATUS_SUCCESS);
}

/* ---- submission: DISPATCH_LEVEL, nonpageable ---- */

NTSTATUS gpu_engine_submit(struct gpu_engine *engine, const struct gpu_packet *work)
{
	struct gpu_packet *packet = NULL;
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	if (engine->thread && !IsListEmpty(&engine->free)) {
		LIST_ENTRY *link = RemoveHeadList(&engine->free);

		packet = CONTAINING_RECORD(link, struct gpu_packet, link);
		*packet = *work;
		InsertTailList(&engine->queue, &packet->link);
		InterlockedIncrement(&engine->queued);
		engine->last_submitted_fence = work->fence;
	}
	KeReleaseSpinLock(&engine->lock, irql);

	if (!packet)
		return gpu_refuse(STATUS_INVALID_DEVICE_STATE, "node %u has no room for fence %u",
				  engine->node, work->fence);
	KeSetEvent(&engine->work, IO_NO_INCREMENT, FALSE);
	return STATUS_SUCCESS;
}

/* FALSE: in memory where no command buffer can be. */
static BOOLEAN find_buffer(const struct gpu_memory *memory, const DXGKARG_SUBMITCOMMAND *args,
			   struct gpu_place *place_out)
{
	ULONGLONG address = (ULONGLONG)args->DmaBufferPhysicalAddress.QuadPart;

	*place_out = (struct gpu_place){ .segment = SOFTGPU_SEGMENT_SYSTEM, .offset = address };
	if (args->DmaBufferSegmentId != SOFTGPU_SEGMENT_SYSTEM &&
	    (args->DmaBufferSegmentId != SOFTGPU_SEGMENT_APERTURE ||
	     !gpu_memory_decode(memory, address, place_out) ||
	     place_out->segment != SOFTGPU_SEGMENT_APERTURE))
		return FALSE;
	place_out->offset += args->DmaBufferSubmissionStartOffset;
	return TRUE;
}

NTSTATUS APIENTRY gpu_submit_command(IN_CONST_HANDLE hAdapter,
				     IN_CONST_PDXGKARG_SUBMITCOMMAND pSubmitCommand)
{
	const DXGKARG_SUBMITCOMMAND *args = pSubmitCommand;

	if (!args)
		return gpu_refuse(STATUS_INVALID_PARAMETER, "SubmitCommand without arguments");
	struct gpu_context *context = gpu_context_from(args->hContext);
	/* Paging may come without a context; its node is named then. */
	if (!context && (args->hContext || !args->Flags.Paging))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "fence %u is submitted for context %p, which is none of ours",
				  args->SubmissionFenceId, args->hContext);
	struct gpu_engine *engine = gpu_engine_from(
		hAdapter, context ? context->node : args->NodeOrdinal, args->EngineOrdinal);
	struct gpu_place buffer;

	if (!engine || args->DmaBufferSubmissionStartOffset > args->DmaBufferSubmissionEndOffset ||
	    args->DmaBufferSubmissionEndOffset > args->DmaBufferSize ||
	    !find_buffer(&engine->adapter->memory, args, &buffer))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "fence %u is submitted with bytes %u to %u of a buffer of %u in "
				  "segment %u, "
				  "node %u, engine %u: there is no such place",
				  args->SubmissionFenceId, args->DmaBufferSubmissionStartOffset,
				  args->DmaBufferSubmissionEndOffset, args->DmaBufferSize,
				  args->DmaBufferSegmentId, args->NodeOrdinal, args->EngineOrdinal);

	ULONG size_bytes =
		args->DmaBufferSubmissionEndOffset - args->DmaBufferSubmissionStartOffset;
	struct gpu_packet packet = {
		.context = context,
		.fence = args->SubmissionFenceId,
		.size_bytes = size_bytes,
		.buffer = buffer,
		.is_paging = args->Flags.Paging,
		.is_resubmission = args->Flags.Resubmission,
		.is_empty =
			args->Flags.NullRendering || args->Flags.ContextSwitch || size_bytes == 0,
	};
	return gpu_engine_submit(engine, &packet);
}

/* FALSE when the client wrote nonsense. */
static BOOLEAN read_private_data(const struct gpu_settings *settings,
				 const DXGKARG_SUBMITCOMMANDVIRTUAL *args,
				 struct gpu_packet *packet)
{
	const struct softgpu_fenced_submission *data = args->pDmaBufferPrivateData;
	UINT size_bytes = args->DmaBufferUmdPrivateDataSize;

	if (size_bytes == 0)
		return TRUE;
	if (!data || size_bytes < sizeof(data->submission) ||
	    args->DmaBufferPrivateDataSize < size_bytes || data->submission.flags != 0)
		return FALSE;
	packet->tag = data->submission.tag;
	if (data->submission.version == SOFTGPU_SUBMISSION_VERSION)
		return size_bytes == sizeof(data->submission);
	if (data->submission.version != SOFTGPU_FENCED_SUBMISSION_VERSION ||
	    settings->commands != SOFTGPU_COMMANDS_INTEL || size_bytes != sizeof(*data) ||
	    data->fence_address == 0 || data->fence_address % sizeof(data->fence_value) != 0)
		return FALSE;
	packet->fence_address = data->fence_address;
	packet->fence_value = data->fence_value;
	return TRUE;
}

NTSTATUS APIENTRY gpu_submit_command_virtual(IN_CONST_HANDLE hAdapter,
					     IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL pSubmitCommand)
{
	const DXGKARG_SUBMITCOMMANDVIRTUAL *args = pSubmitCommand;

	if (!args)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "SubmitCommandVirtual without arguments");
	struct gpu_context *context = gpu_context_from(args->hContext);
	/* A client's context has no business with commands that move memory. */
	if (!context || !context->is_virtual || (args->Flags.Paging && !context->is_system))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "fence %u is submitted by address for context %p, which is none "
				  "of ours, has "
				  "no addresses, or may not page",
				  args->SubmissionFenceId, args->hContext);
	struct gpu_engine *engine = gpu_engine_from(hAdapter, context->node, args->EngineOrdinal);
	if (!engine)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "fence %u is submitted to engine %u, and a node has one",
				  args->SubmissionFenceId, args->EngineOrdinal);

	struct gpu_packet packet = {
		.context = context,
		.fence = args->SubmissionFenceId,
		.size_bytes = args->DmaBufferSize,
		.buffer = { .segment = GPU_PLACE_VIRTUAL, .offset = args->DmaBufferVirtualAddress },
		.is_paging = args->Flags.Paging,
		.is_resubmission = args->Flags.Resubmission,
	};
	BOOLEAN is_refused = !read_private_data(&engine->adapter->settings, args, &packet);
	packet.is_refused = is_refused;
	packet.is_empty = args->Flags.NullRendering || args->Flags.ContextSwitch ||
			  args->DmaBufferSize == 0 || is_refused;
	NTSTATUS status = gpu_engine_submit(engine, &packet);
	/* The client loses its device; the fence still takes its turn, without an interrupt. */
	if (NT_SUCCESS(status) && is_refused)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"fence %u is submitted with %u bytes of private data, which are no "
			"softgpu_submission",
			args->SubmissionFenceId, args->DmaBufferUmdPrivateDataSize);
	return status;
}

NTSTATUS APIENTRY gpu_preempt_command(IN_CONST_HANDLE hAdapter,
				      IN_CONST_PDXGKARG_PREEMPTCOMMAND pPreemptCommand)
{
	KIRQL irql;

	if (!pPreemptCommand)
		return gpu_refuse(STATUS_INVALID_PARAMETER, "PreemptCommand without arguments");
	struct gpu_engine *engine = gpu_engine_from(hAdapter, pPreemptCommand->NodeOrdinal,
						    pPreemptCommand->EngineOrdinal);
	if (!engine)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "PreemptCommand of node %u, engine %u, which does not exist",
				  pPreemptCommand->NodeOrdinal, pPreemptCommand->EngineOrdinal);

	KeAcquireSpinLock(&engine->lock, &irql);
	BOOLEAN has_thread = engine->thread != NULL;
	if (has_thread) {
		drop_queue_locked(engine);
		engine->is_preemption_pending = TRUE;
		engine->preemption_fence = pPreemptCommand->PreemptionFenceId;
		InterlockedOr(&engine->attention, GPU_ATTENTION_PREEMPT);
	}
	KeReleaseSpinLock(&engine->lock, irql);
	if (has_thread)
		KeSetEvent(&engine->control, IO_NO_INCREMENT, FALSE);
	else /* No thread, so nothing ran and nothing will answer later. */
		gpu_notify_preempted(engine, pPreemptCommand->PreemptionFenceId, 0);
	return STATUS_SUCCESS;
}
