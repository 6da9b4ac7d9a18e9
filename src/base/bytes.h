/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - copies of a few bytes, as clients and drivers exchange them, without a call.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"

/* Zeroes everything from `member` of the struct on. */
#define bytes_wipe_from(pointer, member)                                                           \
	memset((char *)(pointer) + offsetof(__typeof__(*(pointer)), member), 0,                    \
	       sizeof(*(pointer)) - offsetof(__typeof__(*(pointer)), member))

/* Who is about to write there has the line of the cache fetched for that. Any address will do. */
static inline void bytes_prepare(const void *at)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

/*
 * As memcpy(); made for 4, 8, and 16 to 64 bytes. The pieces do not overlap as long as the count is
 * a multiple of 8: what was copied is copied again soon, and a processor that has to put one piece
 * together from two that are still on their way to memory waits for both.
 */
static inline void bytes_copy(void *to, const void *from, size_t count)
{
	char *target = to;
	const char *source = from;
	size_t at = 0;

	if (UNLIKELY(count < 16 || count > 64)) {
		if (count == sizeof(uint64_t))
			memcpy(to, from, sizeof(uint64_t));
		else if (count == sizeof(uint32_t))
			memcpy(to, from, sizeof(uint32_t));
		else
			memcpy(to, from, count);
		return;
	}
	for (; count - at >= 8; at += 8)
		memcpy(target + at, source + at, 8);
	if (UNLIKELY(count & 7))
		memcpy(target + count - 8, source + count - 8, 8);
}

/*
 * As memcpy(), for a count that the compiler knows: word by word, as clients have just written
 * their structs. A processor waits for a wider piece until all words of it are in memory. The words
 * in `halved` (bit n: the n-th) were written in two.
 */
SPECIALIZED void bytes_copy_words(void *to, const void *from, size_t count, uint64_t halved)
{
	char *target = to;
	const char *source = from;
	size_t at = 0;

	for (; count - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
		uint64_t word;

		if (at / sizeof(word) < 64 && (halved >> at / sizeof(word) & 1)) {
			uint32_t half[2];

			memcpy(&half[0], source + at, sizeof(half[0]));
			memcpy(&half[1], source + at + sizeof(half[0]), sizeof(half[1]));
			__asm__("" : "+r"(half[0]), "+r"(half[1]));
			word = half[0] | (uint64_t)half[1] << 32;
		} else {
			memcpy(&word, source + at, sizeof(word));
			__asm__("" : "+r"(word)); /* or the compiler makes wider pieces of them */
		}
		memcpy(target + at, &word, sizeof(word));
	}
	memcpy(target + at, source + at, count - at);
}

#endif
