/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - see gpu.h.
 *
 *	gpu_submit() ─▶ queue ─▶ thread: fetch, translate, execute ─▶ interrupt()
 *	gpu_preempt(), gpu_reset(), gpu_stop() ─▶ requests, looked at before each page of work
 *
 * Nothing is remembered of a translation, so there is no TLB to flush.
 */
#include "gpu.h"
#include "minigpu.h"

enum { REQUEST_STOP = 1, REQUEST_RESET = 2, REQUEST_PREEMPT = 4, REQUEST_HALT = 8 };
enum outcome { DONE, PREEMPTED, ABORTED, FAULTED };

/* ---- memory ---- */

/* What is at an address, to the end of its page. */
struct window {
	PUCHAR bytes;
	ULONGLONG size;
	BOOLEAN is_mapped;
};

static BOOLEAN page_fault(struct gpu_event *fault, ULONGLONG address, BOOLEAN is_write, ULONG level)
{
	fault->kind = GPU_PAGE_FAULT;
	fault->address = address;
	fault->is_write = is_write;
	fault->level = level;
	return FALSE;
}

/* From the root down. An entry is read as a whole: it may be written meanwhile. */
static BOOLEAN translate(PUCHAR memory, ULONGLONG root, ULONGLONG address, BOOLEAN is_write,
			 ULONGLONG *entry, struct gpu_event *fault)
{
	ULONGLONG table = root;

	if (address >> GPU_ADDRESS_BITS != 0)
		return page_fault(fault, address, is_write, GPU_TABLE_LEVELS - 1);
	for (ULONG level = GPU_TABLE_LEVELS; level-- > 0; table = *entry & ~(ULONGLONG)PAGE_MASK) {
		ULONGLONG index = address >> (PAGE_SHIFT + level * GPU_INDEX_BITS);

		if (table >= GPU_MEMORY_BYTES)
			return page_fault(fault, address, is_write, level);
		index %= 1 << GPU_INDEX_BITS;
		*entry = ReadULong64Acquire((ULONGLONG *)(memory + table) + index);
		if (!(*entry & GPU_PTE_VALID) || (is_write && (*entry & GPU_PTE_READ_ONLY)))
			return page_fault(fault, address, is_write, level);
	}
	return TRUE;
}

static BOOLEAN window_open(const struct gpu_engine *engine, ULONGLONG root, ULONGLONG address,
			   BOOLEAN is_write, struct window *window, struct gpu_event *fault)
{
	PHYSICAL_ADDRESS place;
	ULONGLONG entry;

	if (!translate(engine->memory, root, address, is_write, &entry, fault))
		return FALSE;
	place.QuadPart = (entry & ~(ULONGLONG)PAGE_MASK) + BYTE_OFFSET(address);
	window->size = PAGE_SIZE - BYTE_OFFSET(address);
	window->is_mapped = (entry & PAGE_MASK) >> GPU_PTE_SEGMENT_SHIFT != GPU_LOCAL_SEGMENT;
	window->bytes = window->is_mapped ? MmMapIoSpace(place, window->size, MmCached)
					  : engine->memory + place.QuadPart;
	return window->bytes || page_fault(fault, address, is_write, 0);
}

static void window_close(const struct window *window)
{
	if (window->is_mapped)
		MmUnmapIoSpace(window->bytes, window->size);
}

/* ---- commands ---- */

static void store(const struct minigpu_command *command, PUCHAR bytes, ULONGLONG size)
{
	for (ULONGLONG at = 0; command->opcode == MINIGPU_FILL && at < size; at += sizeof(ULONG))
		*(ULONG *)(bytes + at) = (ULONG)command->from;
	for (ULONGLONG at = 0; command->opcode == MINIGPU_STORE && at < size;
	     at += sizeof(ULONGLONG))
		WriteULong64Release((ULONGLONG *)(bytes + at), command->from);
}

/* To the end of a page on either side. How many bytes; 0 after a fault. */
static ULONGLONG move(const struct gpu_engine *engine, ULONGLONG root,
		      const struct minigpu_command *command, ULONGLONG done,
		      struct gpu_event *fault)
{
	ULONGLONG size = command->size - done;
	struct window to, from;

	if (!window_open(engine, root, command->to + done, TRUE, &to, fault))
		return 0;
	size = size < to.size ? size : to.size;
	if (command->opcode != MINIGPU_COPY) {
		store(command, to.bytes, size);
	} else if (window_open(engine, root, command->from + done, FALSE, &from, fault)) {
		size = size < from.size ? size : from.size;
		RtlMoveMemory(to.bytes, from.bytes, size);
		window_close(&from);
	} else {
		size = 0;
	}
	window_close(&to);
	return size;
}

/* How many microseconds it was, and not less than one: a request, or a packet, ends it early. */
static ULONGLONG be_busy(struct gpu_engine *engine, ULONGLONG microseconds)
{
	LARGE_INTEGER timeout = { .QuadPart = -10 * (LONGLONG)microseconds };
	ULONGLONG ticks;
	ULONGLONG start = KeQueryInterruptTimePrecise(&ticks);

	KeWaitForSingleObject(&engine->wake, Executive, KernelMode, FALSE, &timeout);
	return (KeQueryInterruptTimePrecise(&ticks) - start) / 10 + 1;
}

static ULONGLONG hang(struct gpu_engine *engine)
{
	InterlockedExchange(&engine->is_stuck, TRUE);
	KeWaitForSingleObject(&engine->wake, Executive, KernelMode, FALSE, NULL);
	return 1;
}

/* A step of the command; how much of its size that was, 0 after a fault. */
static ULONGLONG step(struct gpu_engine *engine, ULONGLONG root,
		      const struct minigpu_command *command, ULONGLONG done,
		      struct gpu_event *fault)
{
	if (command->opcode == MINIGPU_BUSY)
		return be_busy(engine, command->size - done);
	if (command->opcode == MINIGPU_HANG)
		return hang(engine);
	return move(engine, root, command, done, fault);
}

static BOOLEAN is_legal(const struct minigpu_command *command)
{
	switch (command->opcode) {
	case MINIGPU_NOP:
		return command->size == 0;
	case MINIGPU_FILL:
		return (command->to | command->size) % sizeof(ULONG) == 0;
	case MINIGPU_STORE:
		return (command->to | command->size) % sizeof(ULONGLONG) == 0;
	case MINIGPU_BUSY:
		return command->size <= MINIGPU_MAX_MICROSECONDS;
	case MINIGPU_HANG:
		return command->size == MAXULONGLONG;
	default:
		return command->opcode == MINIGPU_COPY;
	}
}

/* A copy of it, because its client could still change the command. */
static BOOLEAN fetch(const struct gpu_engine *engine, const struct gpu_packet *packet, ULONG offset,
		     struct minigpu_command *command, struct gpu_event *fault)
{
	ULONGLONG address = packet->address + offset;
	struct window window;

	fault->kind = GPU_ILLEGAL_COMMAND;
	if (packet->size_bytes - offset < sizeof(*command) || address % sizeof(*command) != 0)
		return FALSE;
	if (!window_open(engine, packet->context->root, address, FALSE, &window, fault))
		return FALSE;
	RtlCopyMemory(command, window.bytes, sizeof(*command));
	window_close(&window);
	return is_legal(command);
}

/* ---- packets ---- */

static enum outcome execute(struct gpu_engine *engine, const struct gpu_packet *packet,
			    struct gpu_event *fault)
{
	struct gpu_context *context = packet->context;
	struct gpu_position at = { 0 };
	struct minigpu_command command;

	if (packet->is_resubmission)
		at = context->preempted_at;
	RtlZeroMemory(&context->preempted_at, sizeof(context->preempted_at));
	for (; at.offset < packet->size_bytes; at.offset += sizeof(command), at.done = 0) {
		if (!fetch(engine, packet, at.offset, &command, fault))
			return FAULTED;
		while (at.done < command.size) {
			LONG requests = ReadAcquire(&engine->requests);

			if (requests & (REQUEST_STOP | REQUEST_RESET))
				return ABORTED;
			if ((requests & REQUEST_PREEMPT) && command.opcode != MINIGPU_HANG) {
				context->preempted_at = at;
				return PREEMPTED;
			}
			ULONGLONG done = step(engine, context->root, &command, at.done, fault);
			if (done == 0)
				return FAULTED;
			at.done += done;
		}
	}
	return DONE;
}

static void run(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	struct gpu_event event = { .fence = packet->fence };
	KIRQL irql;

	enum outcome outcome = execute(engine, packet, &event);
	if (outcome == FAULTED) {
		InterlockedExchange(&engine->is_stuck, TRUE);
		engine->interrupt(engine, &event);
		while (!(ReadAcquire(&engine->requests) & (REQUEST_STOP | REQUEST_RESET)))
			KeWaitForSingleObject(&engine->wake, Executive, KernelMode, FALSE, NULL);
	}
	if (outcome == PREEMPTED)
		return;
	KeAcquireSpinLock(&engine->lock, &irql);
	engine->last_fence = packet->fence;
	KeReleaseSpinLock(&engine->lock, irql);
	event.kind = GPU_COMPLETED;
	if (outcome == DONE)
		engine->interrupt(engine, &event);
}

/* FALSE: there is nothing to do. */
static BOOLEAN take_packet(struct gpu_engine *engine, struct gpu_packet *packet_out)
{
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	BOOLEAN is_there = engine->count != 0 && !(engine->requests & REQUEST_HALT);
	if (is_there) {
		*packet_out = engine->queue[engine->first];
		engine->first = (engine->first + 1) % GPU_QUEUE_PACKETS;
		engine->count--;
	}
	KeReleaseSpinLock(&engine->lock, irql);
	return is_there;
}

static void answer_preemption(struct gpu_engine *engine)
{
	struct gpu_event event = { .kind = GPU_PREEMPTED };
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	InterlockedAnd(&engine->requests, ~REQUEST_PREEMPT);
	event.fence = engine->preemption_fence;
	event.last_fence = engine->last_fence;
	KeReleaseSpinLock(&engine->lock, irql);
	engine->interrupt(engine, &event);
}

static void answer_reset(struct gpu_engine *engine)
{
	InterlockedExchange(&engine->is_stuck, FALSE);
	InterlockedAnd(&engine->requests, ~(REQUEST_RESET | REQUEST_PREEMPT));
	KeSetEvent(&engine->reset_done, IO_NO_INCREMENT, FALSE);
}

static VOID NTAPI engine_thread(PVOID StartContext)
{
	struct gpu_engine *engine = StartContext;
	struct gpu_packet packet;

	for (;;) {
		LONG requests = ReadAcquire(&engine->requests);

		if (requests & REQUEST_STOP)
			break;
		if (requests & REQUEST_RESET)
			answer_reset(engine);
		else if (requests & REQUEST_PREEMPT)
			answer_preemption(engine);
		else if (take_packet(engine, &packet))
			run(engine, &packet);
		else
			KeWaitForSingleObject(&engine->wake, Executive, KernelMode, FALSE, NULL);
	}
	PsTerminateSystemThread(STATUS_SUCCESS);
}

/* ---- what a driver asks for ---- */

static void request(struct gpu_engine *engine, LONG requests)
{
	InterlockedOr(&engine->requests, requests);
	KeSetEvent(&engine->wake, IO_NO_INCREMENT, FALSE);
}

NTSTATUS gpu_start(struct gpu_engine *engine)
{
	OBJECT_ATTRIBUTES attributes;

	PAGED_CODE();
	KeInitializeSpinLock(&engine->lock);
	KeInitializeEvent(&engine->wake, SynchronizationEvent, FALSE);
	KeInitializeEvent(&engine->reset_done, SynchronizationEvent, FALSE);
	InitializeObjectAttributes(&attributes, NULL, OBJ_KERNEL_HANDLE, NULL, NULL);
	return PsCreateSystemThread(&engine->thread, THREAD_ALL_ACCESS, &attributes, NULL, NULL,
				    engine_thread, engine);
}

void gpu_stop(struct gpu_engine *engine)
{
	PAGED_CODE();
	if (!engine->thread)
		return;
	request(engine, REQUEST_STOP);
	ZwWaitForSingleObject(engine->thread, FALSE, NULL);
	ZwClose(engine->thread);
	engine->thread = NULL;
}

void gpu_submit(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	NT_ASSERT(engine->count < GPU_QUEUE_PACKETS);
	engine->queue[(engine->first + engine->count) % GPU_QUEUE_PACKETS] = *packet;
	engine->count++;
	engine->submitted_fence = packet->fence;
	KeReleaseSpinLock(&engine->lock, irql);
	KeSetEvent(&engine->wake, IO_NO_INCREMENT, FALSE);
}

/* What waits in the queue comes again; what runs remembers how far it came. */
void gpu_preempt(struct gpu_engine *engine, ULONG preemption_fence)
{
	KIRQL irql;

	KeAcquireSpinLock(&engine->lock, &irql);
	engine->count = 0;
	engine->preemption_fence = preemption_fence;
	KeReleaseSpinLock(&engine->lock, irql);
	request(engine, REQUEST_PREEMPT);
}

ULONG gpu_reset(struct gpu_engine *engine, BOOLEAN is_halted)
{
	KIRQL irql;

	PAGED_CODE();
	KeAcquireSpinLock(&engine->lock, &irql);
	engine->count = 0;
	KeReleaseSpinLock(&engine->lock, irql);
	request(engine, REQUEST_RESET | (is_halted ? REQUEST_HALT : 0));
	KeWaitForSingleObject(&engine->reset_done, Executive, KernelMode, FALSE, NULL);
	return ReadULongAcquire(&engine->last_fence);
}

void gpu_resume(struct gpu_engine *engine)
{
	InterlockedAnd(&engine->requests, ~REQUEST_HALT);
	KeSetEvent(&engine->wake, IO_NO_INCREMENT, FALSE);
}
