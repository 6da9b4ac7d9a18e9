/* SPDX-License-Identifier: MIT */
/*
 * engine.c - an engine is a stream, and words through which kernels and the engine's thread talk.
 *
 *	state    in video memory; the thread writes what is asked of a packet into it, by a copy in
 *	         another stream, because its own is occupied
 *	result   in memory of the machine: the last store of a kernel is its sequence, here
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
	engine->stop = &device->stops[slot];
	/* Whoever had it before counted, too. */
	engine->sequence = engine->result->sequence;
	engine->ticket = *engine->stop >> CUDA_STOP_BITS;
	return TRUE;
}

static void give_slot(struct cuda_engine *engine)
{
	struct cuda_device *device = engine->device;

	if (engine->slot == 0)
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
		if (engine->stream)
			(void)api->stream_destroy(engine->stream);
		if (engine->pfns)
			(void)api->host_free(engine->pfns);
		give_slot(engine);
	}
	engine->stream = NULL;
	engine->slot = 0;
	engine->state = 0;
	engine->result = NULL;
	engine->stop = NULL;
	engine->pfns = NULL;
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

	switch (gpu_check_attention(engine, packet)) {
	case GPU_ABORTED:
		return ask(cuda, CUDA_STOP_ABORT);
	case GPU_PREEMPTED:
		return ask(cuda, CUDA_STOP_PREEMPT);
	case GPU_DONE:
	case GPU_FAULTED:
		break;
	}
	return TRUE;
}

static void show_hang(struct gpu_engine *engine)
{
	const struct cuda_engine *cuda = (const struct cuda_engine *)engine->hardware;

	if (__atomic_load_n(&cuda->result->hanging, __ATOMIC_RELAXED) == cuda->sequence)
		gpu_engine_set_stalled(engine, TRUE);
}

BOOLEAN cuda_wait(struct gpu_engine *engine, const struct gpu_packet *packet)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct cuda_device *device = cuda->device;

	for (ULONG i = 0; i < LOOKS; i++) {
		if (has_told(cuda))
			return TRUE;
		YieldProcessor();
	}
	const ULONGLONG start = KeQueryInterruptTimePrecise(NULL);
	while (!has_told(cuda)) {
		ULONGLONG pause = (KeQueryInterruptTimePrecise(NULL) - start) / PAUSE_PART;
		LARGE_INTEGER timeout;

		if (!pass_on_attention(engine, packet))
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
