/* SPDX-License-Identifier: MIT */
/*
 * engine.c - an engine is a stream, and words through which kernels and the engine's thread talk.
 *
 *	state    in video memory; the thread writes what is asked of packets into it, by a copy in
 *	         another stream, because its own is occupied
 *	ring     in memory of the machine: the next packets, for a kernel that is there still
 *	result   in memory of the machine: the last store for a packet is its number, here
 *
 * A kernel that finds no packet for a while leaves, and says so last: whatever it has not told by then
 * it has not begun, and is for the next one.
 *
 * The thread looks at the result for a while without sleeping, then in growing pauses that whatever
 * is asked of the engine ends. PASSIVE_LEVEL.
 */
#include "cuda.h"

enum {
	LOOKS = 20000,         /* without sleeping: some 100 µs */
	PAUSE_PART = 16,       /* then pauses are so much of the time that has passed */
	LONGEST_PAUSE = 10000, /* 100 ns units: 1 ms */
	SHORTEST_PAUSE = 500,
	LEAVE_PAUSES = 2000, /* a hundred milliseconds, where it takes microseconds */
};

static cuda_pointer stop_word(const struct cuda_engine *engine)
{
	return engine->state + __builtin_offsetof(struct cuda_state, stop);
}

/* ---- beginning and end ---- */

static BOOLEAN has_left(const struct cuda_engine *engine)
{
	return __atomic_load_n(&engine->result->left, __ATOMIC_ACQUIRE) == engine->launch;
}

/* Whoever had it before counted, too, and nobody may take his packets for ours. */
static void begin_ring(struct cuda_engine *engine)
{
	const struct cuda_result *result = engine->result;
	ULONGLONG stopped = *engine->stop >> CUDA_STOP_BITS;

	RtlZeroMemory(engine->ring, sizeof(*engine->ring));
	engine->sequence = result->done > stopped ? result->done : stopped;
	if (engine->sequence < result->ended)
		engine->sequence = result->ended;
	engine->reaped = engine->sequence;
	engine->dropped = engine->sequence;
	engine->is_cut = FALSE;
	engine->counted = result->sums;
	RtlZeroMemory(engine->known, sizeof(engine->known));
}

static void put(struct cuda_engine *engine, ULONGLONG sequence, const struct cuda_mail *mail)
{
	ULONGLONG *words = engine->ring->words[sequence % CUDA_RING_PACKETS];
	const ULONG *halves = (const ULONG *)mail;

	for (ULONG i = 0; i < CUDA_RING_WORDS; i++)
		__atomic_store_n(&words[i], sequence << 32 | halves[i], __ATOMIC_RELEASE);
}

/* Nothing is allocated or freed for an engine: CUDA would wait for kernels, and one may hang. */
static BOOLEAN take_slot(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;
	ULONG slot = 0;

	KeWaitForMutexObject(&device->pieces_lock, Executive, KernelMode, FALSE, NULL);
	while (slot < CUDA_SLOTS && device->slots[slot])
		slot++;
	if (slot < CUDA_SLOTS)
		device->slots[slot] = 1;
	KeReleaseMutex(&device->pieces_lock, FALSE);
	if (slot == CUDA_SLOTS)
		return FALSE;
	engine->slot = slot + 1;
	engine->state = device->states + slot * sizeof(struct cuda_state);
	engine->result = &device->results[slot];
	engine->ring = &device->rings[slot];
	engine->stop = &device->stops[slot];
	begin_ring(engine);
	return TRUE;
}

/* FALSE: it does not leave, and may read the ring of whoever has the slot next. */
static BOOLEAN send_away(struct cuda_engine *engine)
{
	const struct cuda_mail leave = { .flags = CUDA_LEAVE };
	LARGE_INTEGER pause = { .QuadPart = -SHORTEST_PAUSE };

	if (engine->launch == 0 || engine->device->is_lost)
		return TRUE;
	engine->sequence = cuda_next(engine->sequence);
	put(engine, engine->sequence, &leave);
	for (ULONG i = 0; i < LEAVE_PAUSES && !has_left(engine); i++)
		KeDelayExecutionThread(KernelMode, FALSE, &pause);
	return has_left(engine);
}

static void give_slot(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;

	if (engine->slot == 0 || !send_away(engine))
		return;
	KeWaitForMutexObject(&device->pieces_lock, Executive, KernelMode, FALSE, NULL);
	device->slots[engine->slot - 1] = 0;
	KeReleaseMutex(&device->pieces_lock, FALSE);
	engine->slot = 0;
}

static BOOLEAN make_stream(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;

	return cuda_did(device,
			device->api.stream_create(&engine->stream, CUDA_STREAM_NON_BLOCKING),
			"cuStreamCreate") &&
	       take_slot(engine);
}

static void end_stream(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;
	const struct cuda_api *api = &device->api;

	/* What was in a context that is gone went with it. */
	if (engine->generation == device->generation &&
	    api->context_set(device->context) == CUDA_OK) {
		give_slot(engine);
		if (engine->stream)
			(void)api->stream_destroy(engine->stream);
		if (engine->found)
			(void)api->host_free(engine->found);
	}
	engine->stream = NULL;
	engine->slot = 0;
	engine->state = 0;
	engine->result = NULL;
	engine->ring = NULL;
	engine->launch = 0;
	engine->reaped = engine->sequence;
	engine->stop = NULL;
	engine->found = NULL;
	engine->generation = 0;
}

NTSTATUS gpu_hw_engine_start(struct gpu_engine *engine)
{
	struct cuda_device *device = cuda_device_of(&engine->adapter->memory);

	PAGED_CODE();

	if (engine->hardware)
		return STATUS_SUCCESS;
	struct cuda_engine *made = gpu_pool_allocate(NonPagedPoolNx, sizeof(*made));
	if (!made)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for the stream of node %u",
				  engine->node);
	made->device = device;
	engine->hardware = made;
	/* The one who submits needs a processor, and the one who looks at the GPU. */
	engine->looks = KeQueryActiveProcessorCount(NULL) > 2 ? LOOKS : 0;
	cuda_context had = cuda_visit(device);
	BOOLEAN is_ready = cuda_engine_ready(made);
	cuda_visit_end(device, had);
	if (is_ready)
		return STATUS_SUCCESS;
	gpu_hw_engine_finish(engine);
	return gpu_refuse(STATUS_NO_MEMORY, "the GPU has no stream for node %u", engine->node);
}

void gpu_hw_engine_finish(struct gpu_engine *engine)
{
	struct cuda_engine *made = (struct cuda_engine *)engine->hardware;

	PAGED_CODE();

	if (made) {
		cuda_context had = cuda_visit(made->device);

		end_stream(made);
		cuda_visit_end(made->device, had);
		gpu_pool_free(made);
	}
	engine->hardware = NULL;
}

BOOLEAN cuda_engine_ready(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;

	if (device->is_lost || !cuda_enter(device))
		return FALSE;
	if (engine->generation == device->generation)
		return TRUE;
	end_stream(engine);
	engine->generation = device->generation;
	if (make_stream(engine))
		return TRUE;
	end_stream(engine);
	return FALSE;
}

/* ---- kernels ---- */

BOOLEAN cuda_launch(struct cuda_engine *engine, cuda_function function, ULONG blocks, ULONG threads,
		    void **parameters, const char *what)
{
	return !engine->device->is_lost &&
	       cuda_did(engine->device,
			engine->device->api.launch(function, blocks, 1, 1, threads, 1, 1, 0,
						   engine->stream, parameters, NULL),
			what);
}

BOOLEAN cuda_drain(struct cuda_engine *engine)
{
	return cuda_did(engine->device, engine->device->api.stream_wait(engine->stream),
			"cuStreamSynchronize");
}

/* For what is in the ring and was not begun. */
static BOOLEAN launch_run(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;
	ULONGLONG result = (ULONGLONG)(ULONG_PTR)engine->result;
	ULONGLONG ring = (ULONGLONG)(ULONG_PTR)engine->ring;
	ULONGLONG done = __atomic_load_n(&engine->result->done, __ATOMIC_ACQUIRE);
	ULONGLONG served = done > engine->dropped ? done : engine->dropped;
	void *parameters[] = { &device->world, &engine->state, &result,
			       &ring,          &served,        &engine->launch };

	engine->launch = (ULONGLONG)InterlockedIncrement64(&device->launches);
	return cuda_launch(engine, device->run, 1, CUDA_RUN_THREADS, parameters,
			   "cuLaunchKernel of cuda_run");
}

static enum cuda_news news_of_oldest(struct cuda_engine *engine)
{
	const ULONGLONG oldest = cuda_next(engine->reaped);

	if (__atomic_load_n(&engine->result->done, __ATOMIC_ACQUIRE) >= oldest)
		return CUDA_NEWS_DONE;
	if (__atomic_load_n(&engine->result->ended, __ATOMIC_ACQUIRE) != oldest)
		return CUDA_NEWS_OTHER;
	/* Who wants something, or is at an end, does not stay. */
	engine->launch = 0;
	return CUDA_NEWS_ENDED;
}

/*
 * What a kernel that had left did not begin is for another one. Not when the oldest one has ended it: that
 * comes first, and would be executed again.
 */
static BOOLEAN replace_who_left(struct cuda_engine *engine)
{
	if (engine->launch != 0 && !has_left(engine))
		return TRUE;
	return news_of_oldest(engine) != CUDA_NEWS_OTHER || launch_run(engine);
}

BOOLEAN cuda_has_room(const struct cuda_engine *engine)
{
	return cuda_next(engine->sequence) - engine->reaped <= CUDA_RING_PACKETS;
}

BOOLEAN cuda_send(struct cuda_engine *engine, const struct cuda_mail *mail)
{
	engine->sequence = cuda_next(engine->sequence);
	engine->is_cut = FALSE;
	engine->sent[engine->sequence % CUDA_RING_PACKETS].mail = *mail;
	engine->result->buffers[engine->sequence % CUDA_RING_PACKETS] = 0;
	put(engine, engine->sequence, mail);
	return replace_who_left(engine);
}

BOOLEAN cuda_send_on(struct cuda_engine *engine, ULONG flags)
{
	ULONGLONG oldest = cuda_next(engine->reaped);
	struct cuda_mail *mail = &engine->sent[oldest % CUDA_RING_PACKETS].mail;

	mail->flags = (mail->flags & ~(ULONG)CUDA_COMMAND_IS_DONE) | CUDA_GO_ON | flags;
	put(engine, oldest, mail);
	engine->result->ended = 0;
	return launch_run(engine);
}

void cuda_cut(struct cuda_engine *engine)
{
	engine->is_cut = TRUE;
	engine->dropped = engine->sequence;
	engine->launch = 0;
}

/* What is asked of all that are in the ring, to where their kernel looks. */
static BOOLEAN ask(struct cuda_engine *engine, ULONG what)
{
	struct cuda_device *device = engine->device;
	ULONGLONG word = engine->sequence << CUDA_STOP_BITS | what;

	if (*engine->stop == word)
		return TRUE;
	*engine->stop = word;
	return cuda_did(device,
			device->api.copy_to_device(stop_word(engine), engine->stop, sizeof(word),
						   device->control),
			"cuMemcpyHtoDAsync") &&
	       cuda_did(device, device->api.stream_wait(device->control), "cuStreamSynchronize");
}

/* Who does not want to be preempted says so in the ring. */
static BOOLEAN pass_on_attention(struct gpu_engine *engine)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	LONG attention = ReadAcquire(&engine->attention);

	if (attention & GPU_ATTENTION_ABORT)
		return ask(cuda, CUDA_STOP_ABORT);
	return !(attention & GPU_ATTENTION_PREEMPT) || ask(cuda, CUDA_STOP_PREEMPT);
}

static void show_hang(struct gpu_engine *engine)
{
	const struct cuda_engine *cuda = (const struct cuda_engine *)engine->hardware;

	if (__atomic_load_n(&cuda->result->hanging, __ATOMIC_RELAXED) == cuda_next(cuda->reaped))
		gpu_engine_set_stalled(engine, TRUE);
}

/* A kernel that has died tells nothing. */
static BOOLEAN is_alive(struct cuda_engine *engine)
{
	cuda_status status;

	if (engine->device->is_lost)
		return FALSE;
	status = engine->device->api.stream_query(engine->stream);
	return status == CUDA_NOT_READY || cuda_did(engine->device, status, "cuStreamQuery");
}

static void rest(struct gpu_engine *engine, ULONGLONG waited, BOOLEAN may_leave)
{
	PVOID events[] = { &engine->control, &engine->work };
	ULONGLONG pause = waited / PAUSE_PART;
	LARGE_INTEGER timeout;

	pause = pause < SHORTEST_PAUSE ? SHORTEST_PAUSE : pause;
	pause = pause > LONGEST_PAUSE ? LONGEST_PAUSE : pause;
	timeout.QuadPart = -(LONGLONG)pause;
	KeWaitForMultipleObjects(may_leave ? 2 : 1, events, WaitAny, Executive, KernelMode, FALSE,
				 &timeout, NULL);
}

enum cuda_news cuda_wait(struct gpu_engine *engine, BOOLEAN may_leave)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	enum cuda_news news;

	for (ULONG i = 0; i < LOOKS; i++) {
		news = news_of_oldest(cuda);
		if (news != CUDA_NEWS_OTHER || (may_leave && gpu_engine_has_news(engine)))
			return news;
		if (!replace_who_left(cuda))
			return CUDA_NEWS_LOST;
		YieldProcessor();
	}
	const ULONGLONG start = KeQueryInterruptTimePrecise(NULL);
	while ((news = news_of_oldest(cuda)) == CUDA_NEWS_OTHER) {
		if (may_leave && gpu_engine_has_news(engine))
			return news;
		if (!replace_who_left(cuda) || !pass_on_attention(engine) || !is_alive(cuda))
			return CUDA_NEWS_LOST;
		show_hang(engine);
		rest(engine, KeQueryInterruptTimePrecise(NULL) - start, may_leave);
	}
	return news;
}
