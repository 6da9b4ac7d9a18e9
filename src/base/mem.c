/*
 * mem.c - see mem.h.
 *
 * Counters are spread over cache lines by thread, so that two threads that allocate do not meet.
 */
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "base/thread.h"

enum {
	SHARDS = 16,
	SMALL_BYTES = 1024,
};

static struct {
	_Alignas(64) _Atomic int64_t blocks;
	_Atomic int64_t bytes;
} shards[SHARDS];

/* 0: no failure wanted. Otherwise the failure comes when it is counted down to 1. */
static _Atomic uint64_t fail_countdown;
static _Atomic bool fail_fired;

static void count(void *memory, int64_t sign)
{
	unsigned shard = thread_id() % SHARDS;

	atomic_fetch_add_explicit(&shards[shard].blocks, sign, memory_order_relaxed);
	atomic_fetch_add_explicit(&shards[shard].bytes, sign * (int64_t)malloc_usable_size(memory),
				  memory_order_relaxed);
}

static bool must_fail(void)
{
	if (LIKELY(atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0))
		return false;
	uint64_t left = atomic_load(&fail_countdown);
	while (left != 0 && !atomic_compare_exchange_weak(&fail_countdown, &left, left - 1))
		;
	if (left != 1)
		return false;
	atomic_store(&fail_fired, true);
	return true;
}

void *mem_alloc(size_t size_bytes)
{
	if (must_fail())
		return NULL;
	void *memory = malloc(size_bytes ? size_bytes : 1);
	if (memory)
		count(memory, +1);
	return memory;
}

/* Apart, or the compiler makes a calloc() of malloc() and this. */
static __attribute__((noinline)) void *wipe(void *memory, size_t size_bytes)
{
	return memset(memory, 0, size_bytes);
}

/* The C library has small blocks at hand for malloc(), and none of them for calloc(). */
static void *zeroed(size_t size_bytes)
{
	if (size_bytes > SMALL_BYTES)
		return calloc(1, size_bytes);
	void *memory = malloc(size_bytes);
	return memory ? wipe(memory, size_bytes) : NULL;
}

void *mem_zalloc(size_t size_bytes)
{
	if (must_fail())
		return NULL;
	void *memory = zeroed(size_bytes ? size_bytes : 1);
	if (memory)
		count(memory, +1);
	return memory;
}

void *mem_zalloc_array(size_t items, size_t size_bytes)
{
	uint64_t total;

	return checked_mul(items, size_bytes, &total) ? mem_zalloc(total) : NULL;
}

void *mem_realloc(void *memory, size_t size_bytes)
{
	if (!memory)
		return mem_alloc(size_bytes);
	if (must_fail())
		return NULL;
	count(memory, -1);
	void *moved = realloc(memory, size_bytes ? size_bytes : 1);
	count(moved ? moved : memory, +1);
	return moved;
}

char *mem_strdup(const char *text)
{
	size_t size_bytes = strlen(text) + 1;
	char *copy = mem_alloc(size_bytes);

	return copy ? memcpy(copy, text, size_bytes) : NULL;
}

char *mem_printf(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *text = length < 0 ? NULL : mem_alloc((size_t)length + 1);
	if (!text)
		return NULL;
	va_start(arguments, format);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text;
}

void mem_free(void *memory)
{
	if (!memory)
		return;
	count(memory, -1);
	free(memory);
}

struct mem_usage mem_usage(void)
{
	struct mem_usage usage = { 0 };

	for (unsigned i = 0; i < SHARDS; i++) {
		usage.blocks += atomic_load_explicit(&shards[i].blocks, memory_order_relaxed);
		usage.bytes += atomic_load_explicit(&shards[i].bytes, memory_order_relaxed);
	}
	return usage;
}

void mem_fail_nth(uint64_t n)
{
	atomic_store(&fail_fired, false);
	atomic_store(&fail_countdown, n);
}

bool mem_fail_stop(void)
{
	atomic_store(&fail_countdown, 0);
	return atomic_exchange(&fail_fired, false);
}
