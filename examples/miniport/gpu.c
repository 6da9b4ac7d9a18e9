/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - see gpu.h. Nothing is remembered of a translation, so there is no TLB to flush.
 */
#include "gpu.h"
#include "minigpu.h"

enum { BUSY_SLICE_US = 2000 }; /* after which the engine looks around */
#define IDLE MAXULONGLONG

/* There is no line that would interrupt: whoever has the lock raises itself to that level. */
static void interrupt(struct gpu *gpu)
{
	BOOLEAN result;

	gpu->dxgk.DxgkCbSynchronizeExecution(gpu->dxgk.DeviceHandle, gpu->interrupt_routine, gpu, 0,
					     &result);
}

/* The byte at an address, through a window to its page that close() ends; NULL: a fault. */
static PUCHAR open(struct gpu *gpu, ULONGLONG address, BOOLEAN is_write)
{
	ULONGLONG entry = gpu->ring[gpu->first].context->root;
	ULONG level = GPU_TABLE_LEVELS;

	while (address >> GPU_ADDRESS_BITS == 0 && (entry & GPU_PTE_VALID) &&
	       !(is_write && (entry & GPU_PTE_READ_ONLY))) {
		PHYSICAL_ADDRESS place = { .QuadPart = (LONGLONG)(entry & ~(ULONGLONG)PAGE_MASK) };
		PUCHAR page = MmMapIoSpace(place, PAGE_SIZE, MmCached);

		if (page && level == 0)
			return page + BYTE_OFFSET(address);
		if (!page)
			break;
		ULONGLONG index = address >> (PAGE_SHIFT + --level * GPU_INDEX_BITS);
		/* As a whole: the driver may be writing it. */
		entry = ReadULong64Acquire((ULONGLONG *)page + index % (1 << GPU_INDEX_BITS));
		MmUnmapIoSpace(page, PAGE_SIZE);
	}
	gpu->event = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){
		.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED,
		.DmaPageFaulted = { .FaultedFenceId = gpu->ring[gpu->first].fence,
				    .FaultedVirtualAddress = address,
				    .PageTableLevel = min(level, GPU_TABLE_LEVELS - 1),
				    .PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED |
						      (is_write ? DXGK_PAGE_FAULT_WRITE : 0) },
	};
	return NULL;
}

static void close(PUCHAR bytes)
{
	MmUnmapIoSpace(PAGE_ALIGN(bytes), PAGE_SIZE);
}

/* A fill or a copy, to the end of a page on either side; how many bytes, 0 after a fault. */
static ULONGLONG move(struct gpu *gpu, const struct minigpu_command *command, ULONGLONG done)
{
	ULONGLONG size = command->size - done;
	PUCHAR from, to = open(gpu, command->to + done, TRUE);

	if (!to)
		return 0;
	size = min(size, PAGE_SIZE - BYTE_OFFSET(to));
	if (command->opcode == MINIGPU_FILL) {
		for (ULONGLONG at = 0; at < size; at += sizeof(ULONG))
			*(ULONG *)(to + at) = (ULONG)command->from;
	} else if ((from = open(gpu, command->from + done, FALSE))) {
		size = min(size, PAGE_SIZE - BYTE_OFFSET(from));
		RtlMoveMemory(to, from, size);
		close(from);
	} else {
		size = 0;
	}
	close(to);
	return size;
}

/* A copy, because its client could still change the command. FALSE: there is none, and the event says why. */
static BOOLEAN fetch(struct gpu *gpu, const struct gpu_packet *packet, struct minigpu_command *out)
{
	ULONGLONG address = packet->address + packet->at.offset;
	PUCHAR bytes = open(gpu, address, FALSE);

	if (!bytes)
		return FALSE;
	RtlCopyMemory(out, bytes, min(sizeof(*out), PAGE_SIZE - BYTE_OFFSET(bytes)));
	close(bytes);
	gpu->event = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){
		.InterruptType = DXGK_INTERRUPT_DMA_FAULTED,
		.DmaFaulted = { .FaultedFenceId = packet->fence,
				.Status = STATUS_ILLEGAL_INSTRUCTION },
	};
	return packet->size_bytes - packet->at.offset >= sizeof(*out) &&
	       address % sizeof(*out) == 0 && out->opcode <= MINIGPU_HANG &&
	       (out->opcode != MINIGPU_FILL || (out->to | out->size) % sizeof(ULONG) == 0);
}

/* Of the oldest packet, with the lock. Returns after how many microseconds to go on. */
static ULONGLONG step(struct gpu *gpu)
{
	struct gpu_packet *packet = &gpu->ring[gpu->first];
	struct minigpu_command command;
	ULONGLONG done = 0;

	if (gpu->is_stuck || gpu->count == 0)
		return IDLE;
	if (packet->at.offset == packet->size_bytes) {
		gpu->event = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){
			.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED,
			.DmaCompleted.SubmissionFenceId = packet->fence,
		};
		gpu->last_fence = packet->fence;
		gpu->first = (gpu->first + 1) % GPU_RING_PACKETS;
		gpu->count--;
		interrupt(gpu);
	} else if (!fetch(gpu, packet, &command)) {
		gpu->is_stuck = TRUE;
		interrupt(gpu);
	} else if (command.opcode == MINIGPU_HANG) {
		gpu->is_stuck = TRUE;
	} else if (packet->at.done >= command.size) {
		packet->at = (struct gpu_position){ .offset = packet->at.offset + sizeof(command) };
	} else if (command.opcode == MINIGPU_BUSY) {
		done = min(command.size - packet->at.done, BUSY_SLICE_US);
		packet->at.done += done;
		return done;
	} else if ((done = move(gpu, &command, packet->at.done)) != 0) {
		packet->at.done += done;
	} else {
		gpu->is_stuck = TRUE;
		interrupt(gpu);
	}
	return 0;
}

static VOID NTAPI engine_thread(PVOID StartContext)
{
	struct gpu *gpu = StartContext;
	BOOLEAN is_stopping = FALSE;
	KIRQL irql;

	while (!is_stopping) {
		KeAcquireSpinLock(&gpu->lock, &irql);
		ULONGLONG pause_us = step(gpu);
		is_stopping = gpu->is_stopping;
		KeReleaseSpinLock(&gpu->lock, irql);
		LARGE_INTEGER timeout = { .QuadPart = -10 * (LONGLONG)pause_us };
		if (pause_us > 0 && !is_stopping)
			KeWaitForSingleObject(&gpu->wake, Executive, KernelMode, FALSE,
					      pause_us == IDLE ? NULL : &timeout);
	}
	PsTerminateSystemThread(STATUS_SUCCESS);
}

/* ---- what the driver sees ---- */

NTSTATUS gpu_start(struct gpu *gpu, const DXGKRNL_INTERFACE *dxgk,
		   PKSYNCHRONIZE_ROUTINE interrupt_routine)
{
	const PHYSICAL_ADDRESS anywhere = { .QuadPart = -1 };
	OBJECT_ATTRIBUTES attributes;

	RtlZeroMemory(gpu, sizeof(*gpu));
	gpu->dxgk = *dxgk;
	gpu->interrupt_routine = interrupt_routine;
	gpu->memory = MmAllocateContiguousMemory(GPU_MEMORY_BYTES, anywhere);
	if (!gpu->memory)
		return STATUS_NO_MEMORY;
	KeInitializeSpinLock(&gpu->lock);
	KeInitializeEvent(&gpu->wake, SynchronizationEvent, FALSE);
	InitializeObjectAttributes(&attributes, NULL, OBJ_KERNEL_HANDLE, NULL, NULL);
	NTSTATUS status = PsCreateSystemThread(&gpu->thread, THREAD_ALL_ACCESS, &attributes, NULL,
					       NULL, engine_thread, gpu);
	if (!NT_SUCCESS(status))
		MmFreeContiguousMemory(gpu->memory);
	return status;
}

void gpu_stop(struct gpu *gpu)
{
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	gpu->is_stopping = TRUE;
	KeReleaseSpinLock(&gpu->lock, irql);
	KeSetEvent(&gpu->wake, IO_NO_INCREMENT, FALSE);
	ZwWaitForSingleObject(gpu->thread, FALSE, NULL);
	ZwClose(gpu->thread);
	MmFreeContiguousMemory(gpu->memory);
}

void gpu_submit(struct gpu *gpu, const struct gpu_packet *packet, BOOLEAN comes_again)
{
	struct gpu_context *context = packet->context;
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	NT_ASSERT(gpu->count < GPU_RING_PACKETS);
	struct gpu_packet *last = &gpu->ring[(gpu->first + gpu->count++) % GPU_RING_PACKETS];
	*last = *packet;
	if (comes_again)
		last->at = context->preempted_at;
	RtlZeroMemory(&context->preempted_at, sizeof(context->preempted_at));
	KeReleaseSpinLock(&gpu->lock, irql);
	KeSetEvent(&gpu->wake, IO_NO_INCREMENT, FALSE);
}

/* The engine is between two pages, so it stops here and now. */
void gpu_preempt(struct gpu *gpu, ULONG preemption_fence)
{
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	if (!gpu->is_stuck) {
		/* Backwards: of several packets of a context the first is the one that has begun. */
		while (gpu->count > 0) {
			ULONG last = (gpu->first + --gpu->count) % GPU_RING_PACKETS;
			gpu->ring[last].context->preempted_at = gpu->ring[last].at;
		}
		gpu->event = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){
			.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED,
			.DmaPreempted = { .PreemptionFenceId = preemption_fence,
					  .LastCompletedFenceId = gpu->last_fence },
		};
		interrupt(gpu);
	}
	KeReleaseSpinLock(&gpu->lock, irql);
}

ULONG gpu_reset(struct gpu *gpu, BOOLEAN goes_on)
{
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	if (gpu->count > 0)
		gpu->last_fence = gpu->ring[gpu->first].fence;
	/* Behind it there may be some that have begun before, and come again. */
	for (ULONG i = gpu->count; i-- > 1;) {
		struct gpu_packet *packet = &gpu->ring[(gpu->first + i) % GPU_RING_PACKETS];
		packet->context->preempted_at = packet->at;
	}
	gpu->count = 0;
	gpu->is_stuck = !goes_on;
	ULONG last_fence = gpu->last_fence;
	KeReleaseSpinLock(&gpu->lock, irql);
	return last_fence;
}

ULONG gpu_last_fence(struct gpu *gpu)
{
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	ULONG last_fence = gpu->last_fence;
	KeReleaseSpinLock(&gpu->lock, irql);
	return last_fence;
}

BOOLEAN gpu_is_stuck(struct gpu *gpu)
{
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	BOOLEAN is_stuck = gpu->is_stuck;
	KeReleaseSpinLock(&gpu->lock, irql);
	return is_stuck;
}
