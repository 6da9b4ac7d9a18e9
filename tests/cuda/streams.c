/* SPDX-License-Identifier: MIT */
/*
 * streams.c - streams of the stand-in for libcuda.so.1: each is a thread that does one thing after
 * the other, and knows nothing of the order in other streams.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cuda/streams.h"

/* The driver's own kernels, compiled for the processor (drivers/cuda/work.h, threads.h). */
typedef unsigned long long word;
void cuda_run(word, word, word, word, word, word, word, word, word, word, word, word, word, word);
void cuda_move(word, word);
void cuda_pages(word, word, word, word, word);

struct cuda_host_block {
	word index;
	word count;
};
const struct cuda_host_block *cuda_host_block(void);
word cuda_host_now_100ns(void);
void cuda_host_pause(void);

static _Thread_local struct cuda_host_block block;
static _Thread_local jmp_buf way_out;
static _Thread_local const struct thing *running; /* the stream of this thread */

const struct cuda_host_block *cuda_host_block(void)
{
	return &block;
}

word cuda_host_now_100ns(void)
{
	return clock_now_ns() / 100;
}

void cuda_host_pause(void)
{
	/* A context that ends takes what hangs in it along. */
	if (running->context->is_lost)
		longjmp(way_out, 1);
	clock_sleep_until(clock_deadline(20000));
}

/* ---- doing it ---- */

static unsigned parameter_count(const char *function)
{
	return strcmp(function, "cuda_run") == 0 ? 14 : strcmp(function, "cuda_move") == 0 ? 2 : 5;
}

static void launch(const struct work *work)
{
	const uint64_t *p = work->parameters;

	if (setjmp(way_out) != 0)
		return;
	for (unsigned i = 0; i < work->blocks; i++) {
		block = (struct cuda_host_block){ i, work->blocks };
		if (strcmp(work->function, "cuda_run") == 0)
			cuda_run(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10],
				 p[11], p[12], p[13]);
		else if (strcmp(work->function, "cuda_move") == 0)
			cuda_move(p[0], p[1]);
		else
			cuda_pages(p[0], p[1], p[2], p[3], p[4]);
	}
}

static void do_work(const struct work *work)
{
	if (work->kind == WORK_LAUNCH) {
		launch(work);
	} else if (work->kind == WORK_FILL) {
		for (size_t i = 0; i < work->size_bytes / 4; i++)
			((unsigned *)work->to)[i] = work->pattern;
	} else if (work->size_bytes == 8 && (uintptr_t)work->to % 8 == 0) {
		/* Kernels look at such words meanwhile. */
		atomic_store((_Atomic uint64_t *)work->to, *(const uint64_t *)work->from);
	} else {
		memcpy(work->to, work->from, work->size_bytes);
	}
}

static void stream_thread(void *argument)
{
	struct thing *stream = argument;

	running = stream;
	for (;;) {
		uint32_t news = atomic_load(&stream->news);

		lock_acquire(&fake.lock);
		bool is_ending = stream->is_ending && list_is_empty(&stream->work);
		struct work *work = list_is_empty(&stream->work)
					    ? NULL
					    : (struct work *)((char *)stream->work.next -
							      offsetof(struct work, link));
		lock_release(&fake.lock);
		if (is_ending)
			return;
		if (!work) {
			thread_wait(&stream->news, news, UINT64_MAX);
			continue;
		}
		do_work(work);
		lock_acquire(&fake.lock);
		list_remove(&work->link);
		lock_release(&fake.lock);
		free(work);
		atomic_fetch_add(&stream->done, 1);
		thread_wake_all(&stream->done);
	}
}

static void add_work(struct thing *stream, struct work *work)
{
	lock_acquire(&fake.lock);
	list_push_back(&stream->work, &work->link);
	lock_release(&fake.lock);
	atomic_fetch_add(&stream->news, 1);
	thread_wake_all(&stream->news);
}

static bool is_busy(struct thing *stream)
{
	lock_acquire(&fake.lock);
	bool is = !list_is_empty(&stream->work);
	lock_release(&fake.lock);
	return is;
}

void fake_stream_end(struct thing *stream)
{
	lock_acquire(&fake.lock);
	stream->is_ending = true;
	lock_release(&fake.lock);
	atomic_fetch_add(&stream->news, 1);
	thread_wake_all(&stream->news);
	thread_join(stream->thread);
}

bool fake_range_is_used(const struct thing *range)
{
	bool is_used = false;

	lock_acquire(&fake.lock);
	list_each (struct thing, stream, &fake.things, link) {
		if (stream->kind != THING_STREAM)
			continue;
		list_each (struct work, work, &stream->work, link) {
			uint64_t to = (uint64_t)(uintptr_t)work->to;
			uint64_t from = (uint64_t)(uintptr_t)work->from;

			is_used |=
				(to >= range->address && to < range->address + range->size_bytes) ||
				(from >= range->address &&
				 from < range->address + range->size_bytes);
		}
	}
	lock_release(&fake.lock);
	return is_used;
}

/* ---- calls ---- */

#define CALL()                                                                                     \
	do {                                                                                       \
		int failed;                                                                        \
		if (!fake_current)                                                                 \
			fake_violation(__func__, "the thread has no context");                     \
		if (fake_call_fails(&failed))                                                      \
			return failed;                                                             \
	} while (0)

PUBLIC int cuStreamCreate(void **stream_out, unsigned flags)
{
	CALL();
	if (flags != 1)
		fake_violation(__func__, "the stream waits for others");
	struct thing *stream = fake_add(THING_STREAM, 0, 0);
	if (thread_create("cuda stream", stream_thread, stream, &stream->thread) != 0)
		abort();
	*stream_out = stream;
	return OK;
}

PUBLIC int cuStreamDestroy_v2(void *handle)
{
	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, handle);
	fake_stream_end(stream);
	fake_remove(stream);
	return OK;
}

PUBLIC int cuStreamQuery(void *handle)
{
	CALL();
	return is_busy(fake_own(__func__, THING_STREAM, handle)) ? ERROR_NOT_READY : OK;
}

PUBLIC int cuStreamSynchronize(void *handle)
{
	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, handle);
	for (;;) {
		uint32_t done = atomic_load(&stream->done);

		if (!is_busy(stream))
			return OK;
		thread_wait(&stream->done, done, UINT64_MAX);
	}
}

static void check_device(const char *function, uint64_t pointer, size_t size_bytes)
{
	struct thing *memory = fake_find(THING_MEMORY, pointer, size_bytes);

	if (!memory || size_bytes == 0)
		fake_violation(function, "the bytes are not in one allocation of the GPU");
	if (memory->context != fake_current)
		fake_violation(function, "the memory is of another context");
}

/* In one range that CUDA knows; of others the first bytes must not be in one. */
static bool is_known(const char *function, const void *pointer, size_t size_bytes)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer;

	if (fake_find(THING_REGISTERED, address, size_bytes) ||
	    fake_find(THING_HOST, address, size_bytes))
		return true;
	if (fake_find(THING_REGISTERED, address, 1) || fake_find(THING_HOST, address, 1))
		fake_violation(function, "the bytes begin in a registered range and leave it");
	return false;
}

static int copy(struct thing *stream, void *to, const void *from, size_t size_bytes, bool is_kept)
{
	struct work *work = calloc(1, sizeof(*work) + (is_kept ? size_bytes : 0));

	work->kind = WORK_COPY;
	work->to = to;
	work->from = from;
	work->size_bytes = size_bytes;
	if (is_kept) {
		memcpy(work->inline_bytes, from, size_bytes);
		work->from = work->inline_bytes;
	}
	add_work(stream, work);
	return OK;
}

PUBLIC int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size_bytes, void *handle)
{
	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, handle);
	check_device(__func__, to, size_bytes);
	return copy(stream, (void *)(uintptr_t)to, from, size_bytes,
		    !is_known(__func__, from, size_bytes));
}

PUBLIC int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size_bytes, void *handle)
{
	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, handle);
	check_device(__func__, from, size_bytes);
	if (!is_known(__func__, to, size_bytes))
		fake_violation(__func__, "the bytes go to memory that CUDA does not know");
	return copy(stream, to, (const void *)(uintptr_t)from, size_bytes, false);
}

PUBLIC int cuMemsetD32Async(uint64_t to, unsigned pattern, size_t count, void *handle)
{
	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, handle);
	struct work *work = calloc(1, sizeof(*work));

	check_device(__func__, to, count * 4);
	work->kind = WORK_FILL;
	work->to = (void *)(uintptr_t)to;
	work->size_bytes = count * 4;
	work->pattern = pattern;
	add_work(stream, work);
	return OK;
}

PUBLIC int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			  unsigned block_x, unsigned block_y, unsigned block_z,
			  unsigned shared_bytes, void *handle, void **parameters, void **extra)
{
	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, handle);
	struct work *work = calloc(1, sizeof(*work));

	if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 ||
	    block_x % 32 || block_y != 1 || block_z != 1 || shared_bytes || extra)
		fake_violation(__func__, "not a row of blocks of whole warps");
	work->kind = WORK_LAUNCH;
	work->function = fake_own(__func__, THING_FUNCTION, function)->text;
	work->blocks = grid_x;
	for (unsigned i = 0; i < parameter_count(work->function); i++)
		memcpy(&work->parameters[i], parameters[i], sizeof(work->parameters[i]));
	add_work(stream, work);
	return OK;
}
