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
 * All are given the same: pages of shared memory, as the GPU's are, that were written before, and caches
 * full of something else, as they are when the stack is measured. What is paged is that cold; and a cache
 * that holds all of a small bench would be measured instead of memory. As many threads share it as there
 * are copy engines; they are awake when the time begins.
 */
#ifndef BENCH_PLAIN_COPIES_H
#define BENCH_PLAIN_COPIES_H

#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocations.h"
#include "base/clock.h"

enum {
	PLAIN_KINDS = 3,
	PLAIN_HANDS_MAX = 4,
	PLAIN_PAGE_BYTES = 4096,
	PLAIN_LINE_BYTES = 64,
	PLAIN_CACHE_BYTES = 64 << 20
};

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

static inline void plain_stream_lines(char *to, const char *from, size_t size_bytes)
{
	for (size_t at = 0; at < size_bytes; at += sizeof(__m128i)) {
		if (from && at % PLAIN_LINE_BYTES == 0)
			_mm_prefetch(from + at + 2 * PLAIN_PAGE_BYTES, _MM_HINT_T0);
		_mm_stream_si128((__m128i *)(to + at),
				 from ? _mm_load_si128((const __m128i *)(from + at))
				      : _mm_setzero_si128());
	}
}

__attribute__((target("avx2"))) static inline void plain_stream_wide(char *to, const char *from,
								     size_t size_bytes)
{
	for (size_t at = 0; at < size_bytes; at += sizeof(__m256i)) {
		if (from && at % PLAIN_LINE_BYTES == 0)
			_mm_prefetch(from + at + 2 * PLAIN_PAGE_BYTES, _MM_HINT_T0);
		_mm256_stream_si256((__m256i *)(to + at),
				    from ? _mm256_load_si256((const __m256i *)(from + at))
					 : _mm256_setzero_si256());
	}
}

static inline void plain_stream(char *to, const char *from, size_t size_bytes)
{
	if (__builtin_cpu_supports("avx2"))
		plain_stream_wide(to, from, size_bytes);
	else
		plain_stream_lines(to, from, size_bytes);
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

/*
 * Fills the caches with what nobody moves. Lines of the last move that are still there slow the next one
 * down, an empty cache speeds it up: the same loop makes 14 or 20 GB/s of it.
 */
static inline void plain_cool(void)
{
	static char *other;
	long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
	size_t size_bytes =
		(size_t)(cache_bytes > PLAIN_CACHE_BYTES ? cache_bytes : PLAIN_CACHE_BYTES) * 2;

	if (!other)
		other = plain_pages(size_bytes);
	for (size_t i = 0; i < size_bytes; i += PLAIN_LINE_BYTES)
		(void)*(volatile char *)(other + i);
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

	plain_cool();
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

	return (double)moves->count * (double)moves->size_bytes * 1e9 / (double)took_ns;
}

#endif
