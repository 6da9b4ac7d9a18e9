/* SPDX-License-Identifier: MIT */
/*
 * execute.c - packets.
 *
 *	ring | packet | packet | packet |  ─▶ cuda_run() reads their commands on the GPU; the oldest is
 *	  done                                     … and cuda_run() is at the next one already
 *	  preempted, aborted, faulted              … and those behind it have not begun: they are cut off
 *	  wanting something                        … which it gets; it goes on where it was, others behind it:
 *	    a long transfer       cuda_move(), by all of the GPU; both are launched at once
 *	    a piece of system memory                pieces.c
 *	    a kernel of the client's                dispatch.c
 *
 * Commands that begin in a page of system memory are brought to the GPU in the ring, as many as fit. Where
 * the page is that has a virtual address it has told us with an earlier packet; that is true until
 * page tables change.
 *
 * Paging packets have another way (paging.c).
 *
 * Runs on the engine's thread at PASSIVE_LEVEL.
 */
#include "cuda.h"

/* A lost context answers nothing: the engine stands still until the adapter is reset. */
enum gpu_outcome cuda_stand_still(struct gpu_engine *engine)
{
	gpu_engine_set_stalled(engine, TRUE);
	gpu_engine_wait_for_abort(engine);
	return GPU_ABORTED;
}

static BOOLEAN launch_move(struct cuda_engine *engine)
{
	void *parameters[] = { &engine->device->world, &engine->state };

	return cuda_launch(engine, engine->device->move,
			   engine->device->processors * CUDA_MOVE_BLOCKS_PER_PROCESSOR,
			   CUDA_MOVE_THREADS, parameters, "cuLaunchKernel of cuda_move");
}

/* The driver's own kernels may go on with pieces of system memory meanwhile. */
static enum gpu_outcome serve_dispatch(struct gpu_engine *engine, struct gpu_packet *packet,
				       struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct softgpu_dispatch command;
	ULONG offset = (ULONG)cuda->result->offset;

	RtlCopyMemory(&command, cuda->result->command, sizeof(command));
	cuda_pieces_let_go(cuda->device);
	enum gpu_outcome outcome = cuda_dispatch(engine, packet, &command, fault_out);
	cuda_pieces_hold(cuda->device);
	if (cuda->device->is_lost)
		return cuda_stand_still(engine);
	if (outcome == GPU_PREEMPTED)
		packet->context->resume = (struct gpu_resume){ .is_valid = TRUE, .offset = offset };
	return outcome;
}

/* What the oldest one wants. GPU_DONE: it has it. */
static enum gpu_outcome serve(struct gpu_engine *engine, struct gpu_packet *packet,
			      struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct cuda_device *device = cuda->device;
	const struct cuda_result *result = cuda->result;

	switch (result->outcome) {
	case CUDA_WANTS_MOVE:
		return launch_move(cuda) ? GPU_DONE : cuda_stand_still(engine);
	case CUDA_WANTS_PIECE:
		cuda_pieces_let_go(device);
		BOOLEAN is_made = cuda_piece_make(device, result->address);
		cuda_pieces_hold(device);
		if (is_made)
			return GPU_DONE;
		if (device->is_lost)
			return cuda_stand_still(engine);
		*fault_out = (struct gpu_fault){ .status = STATUS_INSUFFICIENT_RESOURCES,
						 .address = result->address };
		return GPU_FAULTED;
	default: /* CUDA_WANTS_DRIVER */
		return serve_dispatch(engine, packet, fault_out);
	}
}

static enum gpu_outcome serve_and_go_on(struct gpu_engine *engine, struct gpu_packet *packet,
					struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	BOOLEAN is_executed = cuda->result->outcome == CUDA_WANTS_DRIVER;
	enum gpu_outcome outcome = serve(engine, packet, fault_out);

	if (outcome == GPU_DONE && !cuda_send_on(cuda, is_executed ? CUDA_COMMAND_IS_DONE : 0))
		return cuda_stand_still(engine);
	return outcome == GPU_DONE ? GPU_UNDER_WAY : outcome;
}

/* ---- the end of a packet ---- */

/* In nanoseconds; 0 before it is known how fast the GPU's clock is. */
static LONG64 to_ns(const struct cuda_sums *sums, ULONGLONG cycles)
{
	ULONGLONG cycles_in_ms =
		sums->life_100ns ? sums->life_cycles * 10000 / sums->life_100ns : 0;

	return cycles_in_ms ? (LONG64)(cycles * 1000000 / cycles_in_ms) : 0;
}

static void take_times(struct gpu_engine *engine, const struct cuda_sums *sums)
{
	const struct cuda_engine *cuda = (const struct cuda_engine *)engine->hardware;
	const struct cuda_sent *sent = &cuda->sent[cuda_next(cuda->reaped) % CUDA_RING_PACKETS];
	struct gpu_times *times = &engine->times;

	if (sent->sent_100ns == 0)
		return;
	InterlockedIncrement64(&times->packets);
	InterlockedExchangeAdd64(&times->under_way_ns,
				 (LONG64)(KeQueryInterruptTimePrecise(NULL) - sent->sent_100ns) *
					 100);
	InterlockedExchange64(&times->busy_ns, to_ns(sums, sums->busy_cycles));
	InterlockedExchange64(&times->looks, (LONG64)sums->looks);
	InterlockedExchange64(&times->look_ns, to_ns(sums, sums->look_cycles));
}

/* It may be adding up those of the next packets already. */
static struct cuda_sums read_sums(const struct cuda_result *result)
{
	return (struct cuda_sums){
		.bytes_written = __atomic_load_n(&result->sums.bytes_written, __ATOMIC_RELAXED),
		.entries_written = __atomic_load_n(&result->sums.entries_written, __ATOMIC_RELAXED),
		.busy_cycles = __atomic_load_n(&result->sums.busy_cycles, __ATOMIC_RELAXED),
		.look_cycles = __atomic_load_n(&result->sums.look_cycles, __ATOMIC_RELAXED),
		.looks = __atomic_load_n(&result->sums.looks, __ATOMIC_RELAXED),
		.life_cycles = __atomic_load_n(&result->sums.life_cycles, __ATOMIC_RELAXED),
		.life_100ns = __atomic_load_n(&result->sums.life_100ns, __ATOMIC_RELAXED),
	};
}

static void count(struct gpu_engine *engine)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	const struct cuda_sums sums = read_sums(cuda->result);

	InterlockedExchangeAdd64(&engine->bytes_written,
				 (LONG64)(sums.bytes_written - cuda->counted.bytes_written));
	InterlockedExchangeAdd64(&engine->entries_written,
				 (LONG64)(sums.entries_written - cuda->counted.entries_written));
	cuda->counted = sums;
	take_times(engine, &sums);
}

static enum gpu_outcome end_faulted(const struct cuda_result *result, struct gpu_fault *fault_out)
{
	*fault_out = (struct gpu_fault){
		.status = (NTSTATUS)result->status,
		.address = result->address,
		.is_write = result->is_write != 0,
		.is_page_fault = result->is_page_fault != 0,
		.level = result->level,
	};
	return GPU_FAULTED;
}

/* GPU_UNDER_WAY: it wanted something, has it, and goes on. */
static enum gpu_outcome end_otherwise(struct gpu_engine *engine, struct gpu_packet *packet,
				      struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	const struct cuda_result *result = cuda->result;

	count(engine);
	switch (result->outcome) {
	case CUDA_ABORTED:
		return GPU_ABORTED;
	case CUDA_FAULTED:
		return end_faulted(result, fault_out);
	case CUDA_PREEMPTED:
		if (packet->context)
			packet->context->resume = (struct gpu_resume){
				.is_valid = TRUE,
				.offset = (ULONG)result->offset,
				.progress = result->progress,
			};
		return GPU_PREEMPTED;
	default:
		return serve_and_go_on(engine, packet, fault_out);
	}
}

/* How the oldest in the ring ends. GPU_UNDER_WAY, with `may_leave`: the engine has something else to do. */
static enum gpu_outcome wait_for_end(struct gpu_engine *engine, struct gpu_packet *packet,
				     BOOLEAN may_leave, struct gpu_fault *fault_out)
{
	for (;;) {
		enum gpu_outcome outcome;

		switch (cuda_wait(engine, may_leave)) {
		case CUDA_NEWS_DONE:
			count(engine);
			return GPU_DONE;
		case CUDA_NEWS_ENDED:
			outcome = end_otherwise(engine, packet, fault_out);
			if (outcome != GPU_UNDER_WAY)
				return outcome;
			break;
		case CUDA_NEWS_OTHER:
			return GPU_UNDER_WAY;
		case CUDA_NEWS_LOST:
			return cuda_stand_still(engine);
		}
	}
}

/* Those behind one that was not done have not begun, and are not begun any more. */
static void reap_oldest(struct cuda_engine *cuda, enum gpu_outcome outcome)
{
	if (outcome != GPU_DONE && !cuda->is_cut)
		cuda_cut(cuda);
	cuda->reaped = cuda_next(cuda->reaped);
}

enum gpu_outcome cuda_execute(struct gpu_engine *engine, struct gpu_packet *packet,
			      struct cuda_mail *mail, struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	enum gpu_outcome outcome = cuda_send(cuda, mail)
					   ? wait_for_end(engine, packet, FALSE, fault_out)
					   : cuda_stand_still(engine);

	reap_oldest(cuda, outcome);
	return outcome;
}

/* ---- commands that are brought ---- */

static struct cuda_known *known_page(struct cuda_engine *cuda, ULONGLONG address)
{
	return &cuda->known[(address >> PAGE_SHIFT) % CUDA_KNOWN_PAGES];
}

static LONG64 changes_when_quiet(const struct cuda_device *device)
{
	LONG64 changes = ReadAcquire64(&device->changes);

	return ReadAcquire64(&device->changes_begun) == changes ? changes : CUDA_NOT_QUIET;
}

/* Where a page of commands is, as a packet that was done has told. */
static void learn_page(struct cuda_engine *cuda, ULONGLONG sequence)
{
	const struct cuda_sent *sent = &cuda->sent[sequence % CUDA_RING_PACKETS];
	ULONGLONG pointer = cuda->result->buffers[sequence % CUDA_RING_PACKETS];

	if (pointer == 0 || sent->changes == CUDA_NOT_QUIET ||
	    sent->mail.buffer_segment != GPU_PLACE_VIRTUAL)
		return;
	*known_page(cuda, sent->mail.buffer_offset) = (struct cuda_known){
		.number = sent->mail.buffer_offset >> PAGE_SHIFT,
		.root = { .segment = sent->mail.root_segment,
			  .entry_count = sent->mail.root_entries,
			  .offset = sent->mail.root_offset },
		.page = (const ULONGLONG *)(ULONG_PTR)pointer,
		.changes = sent->changes,
	};
}

/* NULL: nobody has told, or something has changed. */
static const ULONGLONG *find_page(struct cuda_engine *cuda, const struct cuda_mail *mail,
				  LONG64 changes)
{
	const struct cuda_known *known = known_page(cuda, mail->buffer_offset);

	if (mail->buffer_segment != GPU_PLACE_VIRTUAL || changes == CUDA_NOT_QUIET ||
	    known->changes != changes || known->number != mail->buffer_offset >> PAGE_SHIFT ||
	    known->root.offset != mail->root_offset ||
	    known->root.entry_count != mail->root_entries ||
	    known->root.segment != mail->root_segment)
		return NULL;
	return known->page;
}

/* The client may be writing: they are read once. */
static void bring_commands(struct cuda_engine *cuda, struct cuda_mail *mail, LONG64 changes)
{
	const ULONGLONG *page = find_page(cuda, mail, changes);
	ULONG in_page = (ULONG)(mail->buffer_offset & (PAGE_SIZE - 1));
	ULONG size_bytes = mail->size_bytes;

	if (!page || in_page % sizeof(*page) != 0 || mail->offset != 0)
		return;
	size_bytes = size_bytes < CUDA_BROUGHT_BYTES ? size_bytes : CUDA_BROUGHT_BYTES;
	size_bytes = size_bytes < PAGE_SIZE - in_page ? size_bytes : PAGE_SIZE - in_page;
	mail->brought_bytes = size_bytes & ~7u;
	for (ULONG i = 0; i < mail->brought_bytes / sizeof(*page); i++)
		mail->brought[i] =
			__atomic_load_n(&page[in_page / sizeof(*page) + i], __ATOMIC_RELAXED);
}

/* ---- packets of clients ---- */

static void hold(struct cuda_engine *cuda)
{
	if (!cuda_is_running(cuda))
		cuda_pieces_hold(cuda->device);
}

/* The last one in the ring lets go. */
static void let_go(struct cuda_engine *cuda)
{
	if (!cuda_is_running(cuda))
		cuda_pieces_let_go(cuda->device);
}

static struct gpu_resume take_resume(const struct gpu_engine *engine,
				     const struct gpu_packet *packet)
{
	struct gpu_context *context = packet->context;
	struct gpu_resume resume = { 0 };

	if (context && packet->is_resubmission)
		resume = context->resume;
	/* Queues of a hardware context run side by side, and are not preempted. */
	if (context && !engine->hw_queue)
		context->resume.is_valid = FALSE;
	return resume;
}

static enum gpu_outcome begin(struct gpu_engine *engine, struct gpu_packet *packet)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	const struct gpu_context *context = packet->context;

	hold(cuda);
	const LONG64 changes = changes_when_quiet(cuda->device);
	const struct gpu_resume resume = take_resume(engine, packet);
	struct cuda_mail mail = {
		.flags = (context && context->is_virtual ? CUDA_IS_VIRTUAL : 0) |
			 (!context || context->ignores_preemption ? CUDA_KEEPS_ON : 0),
		.changes = (ULONG)ReadAcquire64(&cuda->device->changes),
		.root_segment = context ? context->root.segment : 0,
		.root_entries = context ? context->root.entry_count : 0,
		.root_offset = context ? context->root.offset : 0,
		.buffer_segment = packet->buffer.segment,
		.buffer_offset = packet->buffer.offset,
		.size_bytes = packet->size_bytes,
		.offset = resume.is_valid ? resume.offset : 0,
		.progress = resume.is_valid ? resume.progress : 0,
	};
	bring_commands(cuda, &mail, changes);
	struct cuda_sent *sent = &cuda->sent[cuda_next(cuda->sequence) % CUDA_RING_PACKETS];
	sent->changes = changes;
	sent->sent_100ns =
		ReadNoFence(&engine->adapter->is_timed) ? KeQueryInterruptTimePrecise(NULL) : 0;
	/* After an error it is lost, which is found when it is waited for. */
	(void)cuda_send(cuda, &mail);
	return GPU_UNDER_WAY;
}

/* The thread has our context from its first packet on. */
static BOOLEAN is_ready(struct cuda_engine *cuda)
{
	if (cuda->entered == cuda->device->generation && !cuda->device->is_lost)
		return TRUE;
	if (!cuda_engine_ready(cuda))
		return FALSE;
	cuda->entered = cuda->generation;
	return TRUE;
}

enum gpu_outcome gpu_hw_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;

	if (packet->is_empty)
		return GPU_DONE;
	if (cuda_is_running(cuda) &&
	    (packet->is_paging || !cuda_has_room(cuda) || cuda_pieces_are_wanted(cuda->device)))
		return GPU_BUSY;
	if (!is_ready(cuda))
		return cuda_stand_still(engine);
	if (packet->is_paging)
		return cuda_paging_begin(engine, packet, fault_out);
	return cuda_is_flying(cuda) ? GPU_BUSY : begin(engine, packet);
}

/* It was not begun: what it would have gone on with is still to come. */
static void give_resume_back(struct cuda_engine *cuda, const struct gpu_packet *packet)
{
	const ULONGLONG oldest = cuda_next(cuda->reaped);
	const struct cuda_mail *mail = &cuda->sent[oldest % CUDA_RING_PACKETS].mail;

	if (packet->context && (mail->offset != 0 || mail->progress != 0))
		packet->context->resume = (struct gpu_resume){
			.is_valid = TRUE,
			.offset = mail->offset,
			.progress = mail->progress,
		};
}

static enum gpu_outcome reap(struct gpu_engine *engine, struct gpu_packet *packet,
			     struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	enum gpu_outcome outcome = GPU_CUT_OFF;

	if (cuda->is_cut)
		give_resume_back(cuda, packet);
	else
		outcome = wait_for_end(engine, packet, TRUE, fault_out);
	if (outcome == GPU_UNDER_WAY)
		return outcome;
	if (outcome == GPU_DONE)
		learn_page(cuda, cuda_next(cuda->reaped));
	reap_oldest(cuda, outcome);
	engine->is_next_over =
		cuda_is_running(cuda) && !cuda->is_cut &&
		__atomic_load_n(&cuda->result->done, __ATOMIC_ACQUIRE) >= cuda_next(cuda->reaped);
	let_go(cuda);
	return outcome;
}

enum gpu_outcome gpu_hw_reap(struct gpu_engine *engine, struct gpu_packet *packet,
			     struct gpu_fault *fault_out)
{
	return packet->is_paging ? cuda_paging_reap(engine) : reap(engine, packet, fault_out);
}
