/* SPDX-License-Identifier: MIT */
/*
 * plain_copies.h - what this machine can do at most: copies and fills by plain threads, which paging is
 * compared with.
 *
 * Which of them is the fastest depends on the processor, and what libc's memcpy does at a size on libc
 * and on the caches as well: twice as fast or half as fast as one's own loop means nothing. So there are
 * several, and whoever compares takes the best:
 *
 *	memcpy   as libc chooses; of a fill, memset
 *	rep      the processor's own instruction
 *	stream   stores past the cache, a line at a time, of what was asked for two pages ago
 *
 * All are given the same: pages of shared memory, as the GPU's are, that were written before, of which
 * nothing is in a cache. What is paged is that cold; and a cache that holds all of a small bench would
 * be measured instead of memory. As many threads share it as there are copy engines; they are awake
 * when the time begins.
 */
#ifndef BENCH_PLAIN_COPIES_H
#define BENCH_PLAIN_COPIES_H

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "allocations.h"
#include "base/clock.h"

enum { PLAIN_KINDS = 3, PLAIN_HANDS_MAX = 4, PLAIN_PAGE_BYTES = 4096, PLAIN_LINE_BYTES = 64 };

/* `from` is NULL for a fill. */
typedef void plain_copy(char *to, const char *from, size_t size_bytes);

static inline void plain_memcpy(char *to, const char *from, size_t size_bytes)
{
	if (from)
		memcpy(to, from, size_bytes);
	else
		memset(to, 0, size_bytes);
}

static inline void plain_rep(char *to, const char *from, size_t size_bytes)
{
	if (from)
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size_bytes) : : "memory");
	else
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(size_bytes) : "a"(0) : "memory");
}

static inline void plain_stream_zeroes(char *to, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i += sizeof(__m128i))
		_mm_stream_si128((__m128i *)(to + i), _mm_setzero_si128());
}

static inline void plain_stream_line(char *to, const char *from)
{
	__m128i parts[4];

	_mm_prefetch(from + 2 * PLAIN_PAGE_BYTES, _MM_HINT_T0);
	for (unsigned i = 0; i < 4; i++)
		parts[i] = _mm_load_si128((const __m128i *)from + i);
	for (unsigned i = 0; i < 4; i++)
		_mm_stream_si128((__m128i *)to + i, parts[i]);
}

static inline void plain_stream(char *to, const char *from, size_t size_bytes)
{
	if (!from)
		plain_stream_zeroes(to, size_bytes);
	for (size_t at = 0; from && at < size_bytes; at += PLAIN_LINE_BYTES)
		plain_stream_line(to + at, from + at);
	_mm_sfence();
}

static plain_copy *const plain_kinds[PLAIN_KINDS] = { plain_memcpy, plain_rep, plain_stream };

/* ---- memory ---- */

static inline char *plain_pages(size_t size_bytes)
{
	char *memory =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	memset(memory, 1, size_bytes);
	return memory;
}

__attribute__((target("clflushopt"))) static inline void plain_flush_fast(const char *memory,
									  size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i += PLAIN_LINE_BYTES)
		_mm_clflushopt((void *)(memory + i));
}

/* None of it is in a cache afterwards. */
static inline void plain_flush(const char *memory, size_t size_bytes)
{
	enum { HAS_CLFLUSHOPT = 1 << 23 };
	unsigned a, b, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & HAS_CLFLUSHOPT)) {
		plain_flush_fast(memory, size_bytes);
	} else {
		for (size_t i = 0; i < size_bytes; i += PLAIN_LINE_BYTES)
			_mm_clflush(memory + i);
	}
	_mm_mfence();
}

/* As the memory of a segment is found by a fill: whatever left it was copied out a moment ago. */
static inline void plain_read(const char *memory, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i += PLAIN_LINE_BYTES)
		(void)*(const volatile char *)(memory + i);
}

/* ---- threads ---- */

/* A row of moves of as much each; every hand does its share of one after the other. */
struct plain_moves {
	plain_copy *copy;
	char *const *to;
	const char *const *from; /* NULL: fills */
	unsigned count;
	size_t size_bytes;
	unsigned hands;
	_Atomic unsigned awake;
	_Atomic bool has_begun;
};

struct plain_hand {
	struct plain_moves *moves;
	unsigned number;
	pthread_t thread;
};

static inline void plain_do_share(const struct plain_moves *moves, unsigned number)
{
	size_t share = moves->size_bytes / moves->hands;

	for (unsigned i = 0; i < moves->count; i++)
		moves->copy(moves->to[i] + number * share,
			    moves->from ? moves->from[i] + number * share : NULL, share);
}

static inline void *plain_hand_main(void *context)
{
	struct plain_hand *hand = context;

	atomic_fetch_add(&hand->moves->awake, 1);
	while (!atomic_load_explicit(&hand->moves->has_begun, memory_order_acquire))
		_mm_pause();
	plain_do_share(hand->moves, hand->number);
	return NULL;
}

/* Bytes of a second. */
static inline double plain_rate(struct plain_moves *moves)
{
	struct plain_hand hands[PLAIN_HANDS_MAX];

	for (unsigned i = 0; i < moves->count; i++) {
		plain_flush(moves->to[i], moves->size_bytes);
		if (moves->from)
			plain_flush(moves->from[i], moves->size_bytes);
		else
			plain_read(moves->to[i], moves->size_bytes);
	}
	for (unsigned i = 1; i < moves->hands; i++) {
		hands[i] = (struct plain_hand){ .moves = moves, .number = i };
		if (pthread_create(&hands[i].thread, NULL, plain_hand_main, &hands[i]) != 0)
			fail("pthread_create");
	}
	while (atomic_load(&moves->awake) < moves->hands - 1)
		;
	uint64_t start = clock_now_ns();
	atomic_store_explicit(&moves->has_begun, true, memory_order_release);
	plain_do_share(moves, 0);
	for (unsigned i = 1; i < moves->hands; i++)
		pthread_join(hands[i].thread, NULL);
	uint64_t took_ns = clock_now_ns() - start;

	/* Else who is measured next writes back what this one has left in the cache. */
	for (unsigned i = 0; i < moves->count; i++)
		plain_flush(moves->to[i], moves->size_bytes);
	return (double)moves->count * (double)moves->size_bytes * 1e9 / (double)took_ns;
}

#endif
