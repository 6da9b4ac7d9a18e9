/* SPDX-License-Identifier: MIT */
/*
 * streams.c - streams of the stand-in for libcuda.so.1: each is a thread that does one thing after
 * the other, and knows nothing of the order in other streams.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cuda/streams.h"

/* The driver's own kernels, compiled for the processor (drivers/cuda/work.h, threads.h). */
typedef unsigned long long word;
void cuda_run(word, word, word, word, word, word);
void cuda_move(word, word);
void cuda_pages(word, word);
void cuda_entries(word, word, word);
void cuda_ranges(word, word, word, word, word, word, word, word, word);

struct cuda_host_block {
	word index;
	word count;
	void *memory;
};
const struct cuda_host_block *cuda_host_block(void);
word cuda_host_now_100ns(void);
void cuda_host_pause(void);

static _Thread_local struct cuda_host_block block;
static _Thread_local sigjmp_buf way_out;
static _Thread_local struct thing *running; /* the stream of this thread */
static _Thread_local bool is_clients;       /* … and a kernel that is not the driver's */

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
		siglongjmp(way_out, 1);
	clock_sleep_until(clock_deadline(20000));
}

/* ---- doing it ---- */

static const struct {
	const char *name;
	unsigned parameter_count;
} own_kernels[] = {
	{ "cuda_run", 6 },     { "cuda_move", 2 },   { "cuda_pages", 2 },
	{ "cuda_entries", 3 }, { "cuda_ranges", 9 },
};

/* 0: it is a client's. */
static unsigned parameter_count(const char *function)
{
	for (unsigned i = 0; i < sizeof(own_kernels) / sizeof(*own_kernels); i++) {
		if (strcmp(function, own_kernels[i].name) == 0)
			return own_kernels[i].parameter_count;
	}
	return 0;
}

static void launch_own(const struct work *work)
{
	const uint64_t *p = work->parameters;
	_Alignas(16) unsigned char memory[8192];

	for (unsigned i = 0; i < work->grid[0]; i++) {
		block = (struct cuda_host_block){ i, work->grid[0], memory };
		if (strcmp(work->function, "cuda_run") == 0)
			cuda_run(p[0], p[1], p[2], p[3], p[4], p[5]);
		else if (strcmp(work->function, "cuda_move") == 0)
			cuda_move(p[0], p[1]);
		else if (strcmp(work->function, "cuda_pages") == 0)
			cuda_pages(p[0], p[1]);
		else if (strcmp(work->function, "cuda_entries") == 0)
			cuda_entries(p[0], p[1], p[2]);
		else
			cuda_ranges(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]);
	}
}

/* ---- kernels of clients ---- */

/* A bad pointer of theirs loses the context. */
static void on_bad_pointer(int number)
{
	if (is_clients) {
		running->context->is_lost = true;
		siglongjmp(way_out, 1);
	}
	signal(number, SIG_DFL);
	raise(number);
}

static void launch_clients(const struct work *work)
{
	const unsigned *grid = work->grid;

	is_clients = true;
	for (unsigned z = 0; z < grid[2]; z++)
		for (unsigned y = 0; y < grid[1]; y++)
			for (unsigned x = 0; x < grid[0]; x++)
				work->kernel(work->inline_bytes, (unsigned[]){ x, y, z }, grid);
}

/* TEST_CUDA_KERNELS: a library that has each of them compiled for the processor. */
static fake_kernel *find_kernel(const char *name)
{
	const char *path = getenv("TEST_CUDA_KERNELS");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	char symbol[160];
	fake_kernel *kernel = NULL;

	snprintf(symbol, sizeof(symbol), "%s_on_processor", name);
	if (library)
		*(void **)&kernel = dlsym(library, symbol);
	if (!kernel)
		fake_violation("cuLaunchKernel", "TEST_CUDA_KERNELS has no such kernel");
	signal(SIGSEGV, on_bad_pointer);
	signal(SIGBUS, on_bad_pointer);
	return kernel;
}

static void launch(const struct work *work)
{
	if (atomic_load(&fake.late_ns) > 0)
		clock_sleep_until(clock_deadline(atomic_load(&fake.late_ns)));
	if (sigsetjmp(way_out, 1) == 0) {
		if (work->kernel)
			launch_clients(work);
		else
			launch_own(work);
	}
	is_clients = false;
}

/* A context that is lost waits for nothing. */
static void wait_for_event(const struct work *work)
{
	while (atomic_load(&work->event->happened) < work->value && !running->context->is_lost)
		clock_sleep_until(clock_deadline(20000));
}

static void do_work(const struct work *work)
{
	if (work->kind == WORK_LAUNCH) {
		launch(work);
	} else if (work->kind == WORK_WRITE) {
		atomic_store((_Atomic uint64_t *)work->to, work->value);
	} else if (work->kind == WORK_EVENT) {
		atomic_store(&work->event->happened, work->value);
	} else if (work->kind == WORK_WAIT) {
		wait_for_event(work);
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

bool fake_streams_are_busy(void)
{
	bool is_busy = false;

	lock_acquire(&fake.lock);
	list_each (struct thing, stream, &fake.things, link) {
		if (stream->kind == THING_STREAM)
			is_busy |= !list_is_empty(&stream->work);
	}
	lock_release(&fake.lock);
	return is_busy;
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
			return stream->context->is_lost ? ERROR_LAUNCH_FAILED : OK;
		thread_wait(&stream->done, done, UINT64_MAX);
	}
}

static void check_device(const char *function, uint64_t pointer, size_t size_bytes)
{
	struct thing *memory = fake_find(THING_MEMORY, pointer, size_bytes);

	if (fake_is_mapped(pointer, size_bytes))
		return;

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

/* Where CUDA knows memory, of the machine or of the GPU. */
PUBLIC int cuStreamWriteValue64_v2(void *handle, uint64_t to, uint64_t value, unsigned flags)
{
	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, handle);
	struct work *work = calloc(1, sizeof(*work));

	if (to % 8)
		fake_violation(__func__, "the word is not aligned");
	if (flags)
		fake_violation(__func__, "what comes before the word need not be seen before it");
	if (!is_known(__func__, (const void *)(uintptr_t)to, 8))
		check_device(__func__, to, 8);
	work->kind = WORK_WRITE;
	work->to = (void *)(uintptr_t)to;
	work->value = value;
	add_work(stream, work);
	return OK;
}

PUBLIC int cuEventCreate(void **event_out, unsigned flags)
{
	CALL();
	if (flags != 2)
		fake_violation(__func__, "the event takes the time");
	*event_out = fake_add(THING_EVENT, 0, 0);
	return OK;
}

static void add_event(struct thing *stream, struct thing *event, enum work_kind kind)
{
	struct work *work = calloc(1, sizeof(*work));

	work->kind = kind;
	work->event = event;
	lock_acquire(&fake.lock);
	if (kind == WORK_EVENT)
		event->recorded++;
	work->value = event->recorded;
	lock_release(&fake.lock);
	add_work(stream, work);
}

PUBLIC int cuEventRecord(void *event, void *stream)
{
	CALL();
	add_event(fake_own(__func__, THING_STREAM, stream), fake_own(__func__, THING_EVENT, event),
		  WORK_EVENT);
	return OK;
}

/* For what was recorded so far. */
PUBLIC int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	CALL();
	if (flags)
		fake_violation(__func__, "flags are zero");
	struct thing *waited = fake_own(__func__, THING_EVENT, event);
	if (waited->recorded == 0)
		fake_violation(__func__, "nothing was recorded: it would not wait");
	add_event(fake_own(__func__, THING_STREAM, stream), waited, WORK_WAIT);
	return OK;
}

/* extra: a list of what follows by number, ended by 0. */
static const void *client_parameters(void **extra, size_t *size_bytes)
{
	const void *bytes = NULL;

	*size_bytes = 0;
	for (; extra && extra[0]; extra += 2) {
		if (extra[0] == (void *)1)
			bytes = extra[1];
		if (extra[0] == (void *)2)
			*size_bytes = *(const size_t *)extra[1];
	}
	return bytes;
}

PUBLIC int cuLaunchKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			  unsigned block_x, unsigned block_y, unsigned block_z,
			  unsigned shared_bytes, void *stream_handle, void **parameters,
			  void **extra)
{
	size_t size_bytes;

	CALL();
	struct thing *stream = fake_own(__func__, THING_STREAM, stream_handle);
	const char *function = fake_own(__func__, THING_FUNCTION, handle)->text;
	unsigned count = parameter_count(function);
	const void *bytes = client_parameters(extra, &size_bytes);
	struct work *work = calloc(1, sizeof(*work) + size_bytes);

	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z ||
	    block_x * block_y * block_z > 1024)
		fake_violation(__func__, "no blocks, or too large");
	if (count && (grid_y != 1 || grid_z != 1 || block_x % 32 || block_y != 1 || block_z != 1 ||
		      shared_bytes || extra))
		fake_violation(__func__, "not a row of blocks of whole warps");
	if (!count && parameters)
		fake_violation(__func__, "how large the parameters are only the PTX knows");
	work->kind = WORK_LAUNCH;
	work->function = function;
	work->kernel = count ? NULL : find_kernel(function);
	work->grid[0] = grid_x;
	work->grid[1] = grid_y;
	work->grid[2] = grid_z;
	for (unsigned i = 0; i < count; i++)
		memcpy(&work->parameters[i], parameters[i], sizeof(work->parameters[i]));
	if (size_bytes)
		memcpy(work->inline_bytes, bytes, size_bytes);
	add_work(stream, work);
	return OK;
}
