/* SPDX-License-Identifier: MIT */
/*
 * mem.c - see mem.h.
 *
 * Counters are spread over cache lines by thread, so that two threads that allocate do not meet.
 *
 * A stock is what one thread keeps at hand, a shelf for each size. Stocks are never freed: a new
 * thread takes over the one of a thread that ended, with its counts.
 */
#include <assert.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "base/mem_kept.h"
#include "base/slab.h"
#include "base/thread.h"

enum {
	SHARDS = 16,
	CACHE_LINE = 64,
	SMALL_BYTES = 1024,
};

static struct {
	_Alignas(64) _Atomic int64_t blocks;
	_Atomic int64_t bytes;
} shards[SHARDS];

_Atomic uint64_t mem_fail_countdown;
static _Atomic bool fail_fired;

static void count(void *memory, int64_t sign)
{
	unsigned shard = thread_id() % SHARDS;

	atomic_fetch_add_explicit(&shards[shard].blocks, sign, memory_order_relaxed);
	atomic_fetch_add_explicit(&shards[shard].bytes, sign * (int64_t)malloc_usable_size(memory),
				  memory_order_relaxed);
}

static bool is_failure_wanted(void)
{
	return UNLIKELY(atomic_load_explicit(&mem_fail_countdown, memory_order_relaxed) != 0);
}

#ifndef NDEBUG
static _Thread_local uint32_t forbidden;

void mem_forbid(void)
{
	forbidden++;
}

void mem_permit(void)
{
	assert(forbidden > 0);
	forbidden--;
}

void mem_assert_permitted(const char *what)
{
	if (!forbidden)
		return;
	fprintf(stderr, "dxgk: %s where nothing may be wanting (mem_forbid())\n", what);
	abort();
}
#endif

static bool must_fail(void)
{
	mem_assert_permitted("memory is taken");
	if (!is_failure_wanted())
		return false;
	uint64_t left = atomic_load(&mem_fail_countdown);
	while (left != 0 && !atomic_compare_exchange_weak(&mem_fail_countdown, &left, left - 1))
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

void *mem_zalloc_apart(size_t size_bytes)
{
	size_t lines_bytes = (size_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	if (lines_bytes < size_bytes || must_fail())
		return NULL;
	void *memory = aligned_alloc(CACHE_LINE, lines_bytes);
	if (!memory)
		return NULL;
	count(memory, +1);
	return memset(memory, 0, lines_bytes);
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

void *mem_grow_array(void *array, size_t count, size_t *capacity, size_t item_bytes)
{
	enum { FIRST_CAPACITY = 8 };
	size_t wanted = *capacity ? 2 * *capacity : FIRST_CAPACITY;

	if (count < *capacity)
		return array;
	void *grown = mem_realloc(array, wanted * item_bytes);
	if (grown)
		*capacity = wanted;
	return grown;
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

void *mem_zalloc_aside(size_t size_bytes)
{
	return zeroed(size_bytes ? size_bytes : 1);
}

void mem_free_aside(void *memory)
{
	free(memory);
}

/* ---- stocks ---- */

_Static_assert(MEM_KNOWN_MAX_BYTES == (SLAB_SIZES - 1) * SLAB_STEP, "the largest block");

struct stock {
	struct mem_shelf shelves[SLAB_SHELVES];
	struct stock *next; /* in `stocks`; set before it is in it */
	_Atomic bool is_owned;
	struct thread_end end; /* of the owner */
};

static struct stock *_Atomic stocks; /* only grows */
_Thread_local struct mem_shelf *mem_own_shelves;

static void shelf_draw(struct mem_shelf *shelf, int64_t sign)
{
	int64_t drawn = atomic_load_explicit(&shelf->drawn, memory_order_relaxed);

	atomic_store_explicit(&shelf->drawn, drawn + sign, memory_order_relaxed);
}

static void stock_end(struct thread_end *end)
{
	struct stock *stock = container_of(end, struct stock, end);

	for (unsigned i = 0; i < SLAB_SHELVES; i++) {
		struct mem_shelf *shelf = &stock->shelves[i];
		while (shelf->first) {
			struct mem_kept_block *block = shelf->first;
			shelf->first = block->next;
			slab_return(i, block);
			shelf_draw(shelf, -1);
		}
		mem_shelf_set_kept(shelf, 0);
	}
	mem_own_shelves = NULL;
	atomic_store_explicit(&stock->is_owned, false, memory_order_release);
}

/* One whose thread has ended, or else a new one; NULL when there is no memory for it. */
static struct stock *stock_find(void)
{
	struct stock *stock;

	for (stock = atomic_load(&stocks); stock; stock = stock->next) {
		bool is_owned = false;
		if (atomic_compare_exchange_strong(&stock->is_owned, &is_owned, true))
			return stock;
	}
	stock = aligned_alloc(CACHE_LINE,
			      (sizeof(*stock) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	if (!stock)
		return NULL;
	memset(stock, 0, sizeof(*stock));
	atomic_init(&stock->is_owned, true);
	stock->next = atomic_load(&stocks);
	while (!atomic_compare_exchange_weak(&stocks, &stock->next, stock))
		;
	return stock;
}

/* The calling thread's; NULL when there is no memory for it. */
static struct mem_shelf *shelves_get(void)
{
	if (mem_own_shelves)
		return mem_own_shelves;
	struct stock *stock = stock_find();
	if (!stock)
		return NULL;
	mem_own_shelves = stock->shelves;
	stock->end.run = stock_end;
	thread_on_end(&stock->end);
	return mem_own_shelves;
}

RARE static void *take_new(size_t index)
{
	struct mem_shelf *shelves = shelves_get();

	if (!shelves || must_fail())
		return NULL;
	void *memory = slab_carve((unsigned)index);
	if (memory)
		shelf_draw(&shelves[index], +1);
	return memory;
}

static inline void *take(size_t index)
{
	mem_assert_permitted("a small block is taken");
	void *memory = mem_take_kept(index);

	return LIKELY(memory) ? memory : take_new(index);
}

RARE static void give_away(void *memory, size_t index)
{
	struct mem_shelf *shelves = shelves_get();

	if (shelves)
		shelf_draw(&shelves[index], -1);
	slab_return((unsigned)index, memory);
}

static inline void give(void *memory, size_t index)
{
	if (UNLIKELY(!mem_keep(memory, index)))
		give_away(memory, index);
}

static bool is_kept(size_t index)
{
	return MEM_KEEPS && LIKELY(index - 1 < SLAB_SIZES - 1);
}

void *mem_take(size_t size_bytes)
{
	size_t index = mem_size_index(size_bytes);

	return is_kept(index) ? take(MEM_SHELF_PLAIN + index) : mem_alloc(size_bytes);
}

void mem_give(void *memory, size_t size_bytes)
{
	size_t index = mem_size_index(size_bytes);

	if (is_kept(index))
		give(memory, MEM_SHELF_PLAIN + index);
	else
		mem_free(memory);
}

void *mem_take_known(size_t size_bytes)
{
	return take(MEM_SHELF_KNOWN + mem_size_index(size_bytes));
}

void mem_give_known(void *memory, size_t size_bytes)
{
	give(memory, MEM_SHELF_KNOWN + mem_size_index(size_bytes));
}

bool mem_is_known(const void *pointer)
{
	return slab_shelf_at(pointer) > MEM_SHELF_KNOWN;
}

void mem_visit_known(void (*visit)(void *context, void *memory), void *context)
{
	for (unsigned i = MEM_SHELF_KNOWN + 1; i < SLAB_SHELVES; i++)
		slab_visit(i, visit, context);
}

/* ---- the books ---- */

static void count_stock(const struct stock *stock, struct mem_usage *usage)
{
	for (unsigned i = 0; i < SLAB_SHELVES; i++) {
		const struct mem_shelf *shelf = &stock->shelves[i];
		int64_t live = atomic_load_explicit(&shelf->drawn, memory_order_relaxed) -
			       (int64_t)mem_shelf_kept(shelf);
		usage->blocks += live;
		usage->bytes += live * (int64_t)slab_block_bytes(i);
	}
}

struct mem_usage mem_usage(void)
{
	struct mem_usage usage = { 0 };

	for (const struct stock *stock = atomic_load(&stocks); stock; stock = stock->next)
		count_stock(stock, &usage);

	for (unsigned i = 0; i < SHARDS; i++) {
		usage.blocks += atomic_load_explicit(&shards[i].blocks, memory_order_relaxed);
		usage.bytes += atomic_load_explicit(&shards[i].bytes, memory_order_relaxed);
	}
	return usage;
}

void mem_fail_nth(uint64_t n)
{
	atomic_store(&fail_fired, false);
	atomic_store(&mem_fail_countdown, n);
}

bool mem_fail_stop(void)
{
	atomic_store(&mem_fail_countdown, 0);
	return atomic_exchange(&fail_fired, false);
}
