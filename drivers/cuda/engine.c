/* SPDX-License-Identifier: MIT */
/*
 * engine.c - an engine is a stream, and words through which kernels and the engine's thread talk.
 *
 *	state    in video memory; the thread writes what is asked of a packet into it, by a copy in
 *	         another stream, because its own is occupied
 *	mail     in memory of the machine: the next packet, for a kernel that is there still
 *	result   in memory of the machine: the last store for a packet is its sequence, here
 *
 * A kernel that finds no mail for a while leaves, and says so last: whatever it has not told by then
 * it has not read, and is for the next one.
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
	engine->mail = &device->mails[slot];
	engine->stop = &device->stops[slot];
	/* Whoever had it before counted, too. */
	engine->sequence = engine->result->sequence;
	engine->ticket = *engine->stop >> CUDA_STOP_BITS;
	return TRUE;
}

static BOOLEAN has_left(const struct cuda_engine *engine)
{
	return __atomic_load_n(&engine->result->left, __ATOMIC_ACQUIRE) == engine->launch;
}

/* FALSE: it does not leave, and may read the mail of whoever has the slot next. */
static BOOLEAN send_away(struct cuda_engine *engine)
{
	LARGE_INTEGER pause = { .QuadPart = -SHORTEST_PAUSE };

	if (engine->launch == 0 || engine->device->is_lost)
		return TRUE;
	__atomic_store_n(&engine->mail->sequence, CUDA_LEAVE, __ATOMIC_RELEASE);
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
	engine->mail = NULL;
	engine->launch = 0;
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

/* Serves what is in the mail. */
static BOOLEAN launch_run(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;
	ULONGLONG result = (ULONGLONG)(ULONG_PTR)engine->result;
	ULONGLONG mail = (ULONGLONG)(ULONG_PTR)engine->mail;
	ULONGLONG served = engine->sequence - 1;
	void *parameters[] = { &device->world, &engine->state, &result,
			       &mail,          &served,        &engine->launch };

	engine->launch = (ULONGLONG)InterlockedIncrement64(&device->launches);
	return cuda_launch(engine, device->run, 1, CUDA_RUN_THREADS, parameters,
			   "cuLaunchKernel of cuda_run");
}

BOOLEAN cuda_send(struct cuda_engine *engine, const struct cuda_mail *mail)
{
	engine->mail->ticket = mail->ticket;
	engine->mail->flags = mail->flags;
	engine->mail->root_segment = mail->root_segment;
	engine->mail->root_entries = mail->root_entries;
	engine->mail->root_offset = mail->root_offset;
	engine->mail->buffer_segment = mail->buffer_segment;
	engine->mail->buffer_offset = mail->buffer_offset;
	engine->mail->size_bytes = mail->size_bytes;
	engine->mail->offset = mail->offset;
	engine->mail->progress = mail->progress;
	__atomic_store_n(&engine->mail->sequence, ++engine->sequence, __ATOMIC_RELEASE);
	return (engine->launch != 0 && !has_left(engine)) || launch_run(engine);
}

static BOOLEAN has_told(const struct cuda_engine *engine)
{
	return __atomic_load_n(&engine->result->sequence, __ATOMIC_ACQUIRE) == engine->sequence;
}

/* What is asked of the packet, to where its kernel looks. */
static BOOLEAN ask(struct cuda_engine *engine, ULONG what)
{
	struct cuda_device *device = engine->device;
	ULONGLONG word = engine->ticket << CUDA_STOP_BITS | what;

	if (*engine->stop == word)
		return TRUE;
	*engine->stop = word;
	return cuda_did(device,
			device->api.copy_to_device(stop_word(engine), engine->stop, sizeof(word),
						   device->control),
			"cuMemcpyHtoDAsync") &&
	       cuda_did(device, device->api.stream_wait(device->control), "cuStreamSynchronize");
}

static BOOLEAN pass_on_attention(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;

	enum gpu_outcome asked = gpu_check_attention(engine, packet);

	if (asked == GPU_ABORTED)
		return ask(cuda, CUDA_STOP_ABORT);
	return asked != GPU_PREEMPTED || ask(cuda, CUDA_STOP_PREEMPT);
}

static void show_hang(struct gpu_engine *engine)
{
	const struct cuda_engine *cuda = (const struct cuda_engine *)engine->hardware;

	if (__atomic_load_n(&cuda->result->hanging, __ATOMIC_RELAXED) == cuda->sequence)
		gpu_engine_set_stalled(engine, TRUE);
}

/* A kernel that had left before it saw the mail has told nothing of it: another one is for that. */
static BOOLEAN replace_who_left(struct cuda_engine *engine)
{
	return !has_left(engine) || has_told(engine) || launch_run(engine);
}

static BOOLEAN wait_until_told(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct cuda_device *device = cuda->device;

	for (ULONG i = 0; i < LOOKS; i++) {
		if (has_told(cuda))
			return TRUE;
		if (!replace_who_left(cuda))
			return FALSE;
		YieldProcessor();
	}
	const ULONGLONG start = KeQueryInterruptTimePrecise(NULL);
	while (!has_told(cuda)) {
		ULONGLONG pause = (KeQueryInterruptTimePrecise(NULL) - start) / PAUSE_PART;
		LARGE_INTEGER timeout;

		if (!replace_who_left(cuda) || !pass_on_attention(engine, packet))
			return FALSE;
		/* A kernel that has died tells nothing. */
		cuda_status status = device->api.stream_query(cuda->stream);
		if (status != CUDA_NOT_READY && !cuda_did(device, status, "cuStreamQuery"))
			return FALSE;
		show_hang(engine);
		if (pause < SHORTEST_PAUSE)
			pause = SHORTEST_PAUSE;
		if (pause > LONGEST_PAUSE)
			pause = LONGEST_PAUSE;
		timeout.QuadPart = -(LONGLONG)pause;
		KeWaitForSingleObject(&engine->control, Executive, KernelMode, FALSE, &timeout);
	}
	return TRUE;
}

BOOLEAN cuda_wait(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;

	if (!wait_until_told(engine, packet))
		return FALSE;
	/* Who wants something, or is at an end, does not stay. */
	if (cuda->result->outcome != CUDA_DONE)
		cuda->launch = 0;
	return TRUE;
}
