/* SPDX-License-Identifier: MIT */
/*
 * transfer.c - long copies and fills, piece by piece, by one thread or by several.
 *
 *	         0        progress                                  size
 *	         | before | piece | piece | piece | not taken yet … |
 *	                    done    lane    engine  ▲ next
 *
 * The engine's thread takes pieces until there are none. The paging engine has lanes, threads of
 * its own that take pieces as well when there is enough to do: as many hands in all as there are
 * copy engines. A piece that was taken is finished, so when everybody has stopped everything before
 * `next` is done, also when the engine was told to stop in the middle.
 *
 * Towards the end the pieces are smaller, so that nobody has long to wait for who took the last one. A lane that has not come
 * by the time all pieces are taken is not waited for.
 *
 * Nothing here takes a lock. PASSIVE_LEVEL.
 */
#include "soft.h"

enum {
	PIECE_BYTES = 2 * 1024 * 1024, /* a copy is at its speed after some pages */
	SMALL_PIECE_BYTES = 64 * 1024,
	STREAM_BYTES = 1024 * 1024, /* from here on past the cache */
	LANE_BYTES = 2 * 1024 * 1024,
	LOOKS = 1000, /* some tens of microseconds, as long as it takes to wake a thread */
};

/* soft_lane.state: who has it decides. */
enum { LANE_IDLE, LANE_CALLED, LANE_AT_WORK };

struct soft_transfer_work {
	struct gpu_engine *engine;
	const struct gpu_packet *packet;
	const struct soft_reach *reach;
	const struct soft_transfer *transfer;
	ULONG hands;
	volatile LONG64 next;
	volatile LONG outcome;  /* the first that was not GPU_DONE */
	struct gpu_fault fault; /* of who was first to fail */
};

/* ---- a piece ---- */

static ULONGLONG least(ULONGLONG a, ULONGLONG b)
{
	return a < b ? a : b;
}

/* Both ends are whole words: fills are aligned, and so are pages. */
static void store_pattern(const struct soft_transfer *transfer, const struct soft_window *to)
{
	PULONG words = (PULONG)to->bytes;
	SIZE_T count = to->size_bytes / sizeof(*words);

	if (!words)
		return;
	if (transfer->size_bytes >= STREAM_BYTES) {
		soft_stream_fill(words, count, transfer->pattern);
		return;
	}
	for (SIZE_T i = 0; i < count; i++)
		words[i] = transfer->pattern;
}

static void store_copy(const struct soft_transfer *transfer, const struct soft_window *to,
		       const struct soft_window *from)
{
	if (!to->bytes)
		return;
	if (!from->bytes)
		RtlZeroMemory(to->bytes, to->size_bytes);
	else if (transfer->size_bytes >= STREAM_BYTES)
		soft_stream_copy(to->bytes, from->bytes, to->size_bytes);
	else
		RtlMoveMemory(to->bytes, from->bytes, to->size_bytes);
}

/* As much of it as lies in a row on both sides; 0 after a fault. */
static ULONGLONG move_some(const struct soft_transfer_work *work, ULONGLONG at, ULONGLONG wanted,
			   struct gpu_fault *fault_out)
{
	const struct soft_transfer *transfer = work->transfer;
	struct soft_window from = { .bytes = NULL };
	struct soft_window to;

	if (!transfer->is_fill) {
		if (!soft_reach_open(work->reach, &transfer->source, at, wanted, FALSE, &from,
				     fault_out))
			return 0;
		wanted = from.size_bytes;
	}
	if (!soft_reach_open(work->reach, &transfer->destination, at, wanted, TRUE, &to,
			     fault_out)) {
		soft_window_close(&from);
		return 0;
	}
	if (transfer->is_fill)
		store_pattern(transfer, &to);
	else
		store_copy(transfer, &to, &from);
	wanted = to.size_bytes;
	soft_window_close(&to);
	soft_window_close(&from);
	return wanted;
}

static ULONGLONG piece_bytes(const struct soft_transfer_work *work, ULONGLONG left)
{
	ULONGLONG share = left / (2 * (ULONGLONG)work->hands) & ~(ULONGLONG)(SMALL_PIECE_BYTES - 1);

	if (work->hands == 1 || share > PIECE_BYTES)
		share = PIECE_BYTES;
	else if (share < SMALL_PIECE_BYTES)
		share = SMALL_PIECE_BYTES;
	return least(share, left);
}

/* FALSE: nothing is left. */
static BOOLEAN take_piece(struct soft_transfer_work *work, ULONGLONG *at_out, ULONGLONG *end_out)
{
	ULONGLONG at = (ULONGLONG)ReadAcquire64(&work->next);

	for (;;) {
		ULONGLONG seen;

		if (at >= work->transfer->size_bytes)
			return FALSE;
		*at_out = at;
		*end_out = at + piece_bytes(work, work->transfer->size_bytes - at);
		seen = (ULONGLONG)InterlockedCompareExchange64(&work->next, (LONG64)*end_out,
							       (LONG64)at);
		if (seen == at)
			return TRUE;
		at = seen;
	}
}

static enum gpu_outcome move_piece(const struct soft_transfer_work *work, ULONGLONG at,
				   ULONGLONG end, struct gpu_fault *fault_out)
{
	while (at < end) {
		ULONGLONG moved = move_some(work, at, end - at, fault_out);

		if (moved == 0)
			return GPU_FAULTED;
		at += moved;
	}
	return GPU_DONE;
}

static void move_pieces(struct soft_transfer_work *work)
{
	struct gpu_fault fault;

	while (ReadAcquire(&work->outcome) == GPU_DONE) {
		enum gpu_outcome outcome = gpu_check_attention(work->engine, work->packet);

		if (outcome == GPU_DONE) {
			ULONGLONG at;
			ULONGLONG end;

			if (!take_piece(work, &at, &end))
				return;
			outcome = move_piece(work, at, end, &fault);
		}
		if (outcome != GPU_DONE &&
		    InterlockedCompareExchange(&work->outcome, outcome, GPU_DONE) == GPU_DONE &&
		    outcome == GPU_FAULTED)
			work->fault = fault;
	}
}

/* ---- lanes ---- */

/* A long move is a row of transfers, and the last pieces are small: what is waited for comes soon. */
static void wait_soon(PKEVENT event)
{
	for (ULONG i = 0; i < LOOKS && !KeReadStateEvent(event); i++)
		YieldProcessor();
	KeWaitForSingleObject(event, Executive, KernelMode, FALSE, NULL);
}

static VOID NTAPI lane_thread(PVOID StartContext)
{
	struct soft_lane *lane = (struct soft_lane *)StartContext;

	for (;;) {
		wait_soon(&lane->called);
		if (ReadAcquire(&lane->is_stop_pending))
			break;
		if (InterlockedCompareExchange(&lane->state, LANE_AT_WORK, LANE_CALLED) !=
		    LANE_CALLED)
			continue; /* it was done without us */
		move_pieces(lane->work);
		KeSetEvent(&lane->done, EVENT_INCREMENT, FALSE);
	}
	PsTerminateSystemThread(STATUS_SUCCESS);
}

static void lane_ask_to_stop(PVOID context)
{
	struct soft_lane *lane = (struct soft_lane *)context;

	InterlockedExchange(&lane->is_stop_pending, TRUE);
	KeSetEvent(&lane->called, IO_NO_INCREMENT, FALSE);
}

NTSTATUS gpu_hw_engine_start(struct gpu_engine *engine)
{
	const struct gpu_adapter *adapter = engine->adapter;
	NTSTATUS status = STATUS_SUCCESS;

	/* The thread of the paging engine is one of as many hands as there are copy engines. */
	if (engine->node + 1 != adapter->node_count || engine->hardware)
		return STATUS_SUCCESS;
	struct soft_lanes *lanes = gpu_pool_allocate(NonPagedPoolNx, sizeof(*lanes));
	if (!lanes)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for lanes of node %u",
				  engine->node);
	engine->hardware = lanes;
	while (NT_SUCCESS(status) && lanes->count < adapter->settings.copy_engines - 1) {
		struct soft_lane *lane = &lanes->lanes[lanes->count];

		KeInitializeEvent(&lane->called, SynchronizationEvent, FALSE);
		KeInitializeEvent(&lane->done, SynchronizationEvent, FALSE);
		status = gpu_thread_create(lane_thread, lane_ask_to_stop, lane, &lane->thread);
		if (NT_SUCCESS(status))
			lanes->count++;
	}
	if (!NT_SUCCESS(status))
		gpu_hw_engine_finish(engine);
	return status;
}

void gpu_hw_engine_finish(struct gpu_engine *engine)
{
	struct soft_lanes *lanes = (struct soft_lanes *)engine->hardware;

	while (lanes && lanes->count > 0) {
		struct soft_lane *lane = &lanes->lanes[--lanes->count];

		lane_ask_to_stop(lane);
		KeWaitForSingleObject(lane->thread, Executive, KernelMode, FALSE, NULL);
		ObDereferenceObject(lane->thread);
	}
	gpu_pool_free(lanes);
	engine->hardware = NULL;
}

static void lanes_call(struct soft_lanes *lanes, struct soft_transfer_work *work)
{
	for (ULONG i = 0; i < lanes->count; i++) {
		struct soft_lane *lane = &lanes->lanes[i];

		lane->work = work;
		InterlockedExchange(&lane->state, LANE_CALLED);
		/* We have work for long: it should not wait for us. */
		KeSetEvent(&lane->called, EVENT_INCREMENT, FALSE);
	}
}

static void lanes_dismiss(struct soft_lanes *lanes)
{
	for (ULONG i = 0; i < lanes->count; i++) {
		struct soft_lane *lane = &lanes->lanes[i];

		if (InterlockedExchange(&lane->state, LANE_IDLE) == LANE_AT_WORK)
			wait_soon(&lane->done);
	}
}

/* ---- all of it ---- */

enum gpu_outcome soft_transfer(struct gpu_engine *engine, const struct gpu_packet *packet,
			       const struct soft_reach *reach, const struct soft_transfer *transfer,
			       ULONGLONG *progress, struct gpu_fault *fault_out)
{
	struct soft_lanes *lanes = (struct soft_lanes *)engine->hardware;
	struct soft_transfer_work work = { .engine = engine,
					   .packet = packet,
					   .reach = reach,
					   .transfer = transfer,
					   .hands = 1,
					   .next = (LONG64)*progress,
					   .outcome = GPU_DONE };
	BOOLEAN is_shared = lanes && *progress < transfer->size_bytes &&
			    transfer->size_bytes - *progress >= LANE_BYTES;

	if (is_shared) {
		work.hands += lanes->count;
		lanes_call(lanes, &work);
	}
	move_pieces(&work);
	if (is_shared)
		lanes_dismiss(lanes);

	*progress = (ULONGLONG)work.next;
	if (work.outcome == GPU_FAULTED)
		*fault_out = work.fault;
	/* Told to stop, and nothing was left to do. */
	if (work.outcome == GPU_PREEMPTED && *progress == transfer->size_bytes)
		return GPU_DONE;
	return (enum gpu_outcome)work.outcome;
}
