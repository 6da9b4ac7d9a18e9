/* SPDX-License-Identifier: MIT */
/*
 * stream.c - see stream.h.
 */
#include "stream.h"

#if defined(__SSE2__)

enum {
	LINE_BYTES = 64,
	/*
	 * Two pages: far enough that neither a line nor the translation of its page is waited for, and at
	 * the end of a page the processor's own prefetching has begun with the next one.
	 */
	AHEAD_BYTES = 8192,
};

/* Sixteen bytes, wherever they are. */
typedef LONGLONG quarter __attribute__((vector_size(16)));
typedef LONGLONG loose_quarter __attribute__((vector_size(16), aligned(1), may_alias));
typedef LONGLONG half __attribute__((vector_size(32)));
typedef LONGLONG loose_half __attribute__((vector_size(32), aligned(1), may_alias));

static __inline__ void store_past_cache(PUCHAR to, quarter value)
{
	__asm__ volatile("movntdq %1, %0" : "=m"(*(quarter *)to) : "x"(value));
}

__attribute__((target("avx2"))) static __inline__ void store_half_past_cache(PUCHAR to, half value)
{
	__asm__ volatile("vmovntdq %1, %0" : "=m"(*(half *)to) : "x"(value));
}

static __inline__ quarter load(const UCHAR *from)
{
	return *(const loose_quarter *)from;
}

static SIZE_T bytes_to_line(const VOID *address, SIZE_T size_bytes)
{
	SIZE_T head = (LINE_BYTES - (ULONG_PTR)address % LINE_BYTES) % LINE_BYTES;

	return head < size_bytes ? head : size_bytes;
}

/*
 * One line after the other. Two rows a page apart would have two pages under way, but a load that
 * follows a store to the same place of another page waits for it on some processors, and the two
 * sides of a move mostly lie alike in their pages: that is a third of the speed.
 */
static __inline__ void copy_line(PUCHAR to, const UCHAR *from)
{
	/* Into all caches: a line that is fetched past them (a hint of 0) is had at half the speed. */
	__builtin_prefetch(from + AHEAD_BYTES, 0, 3);
	quarter first = load(from);
	quarter second = load(from + 16);
	quarter third = load(from + 32);
	quarter fourth = load(from + 48);
	store_past_cache(to, first);
	store_past_cache(to + 16, second);
	store_past_cache(to + 32, third);
	store_past_cache(to + 48, fourth);
}

static void copy_lines(PUCHAR to, const UCHAR *from, SIZE_T size_bytes)
{
	for (SIZE_T at = 0; at < size_bytes; at += LINE_BYTES)
		copy_line(to + at, from + at);
}

/* Half as many stores: they bound a fill everywhere, and a copy on some processors (by a quarter). */
__attribute__((target("avx2"))) static void copy_lines_wide(PUCHAR to, const UCHAR *from,
							    SIZE_T size_bytes)
{
	for (SIZE_T at = 0; at < size_bytes; at += LINE_BYTES) {
		__builtin_prefetch(from + at + AHEAD_BYTES, 0, 3);
		half first = *(const loose_half *)(from + at);
		half second = *(const loose_half *)(from + at + sizeof(first));
		store_half_past_cache(to + at, first);
		store_half_past_cache(to + at + sizeof(first), second);
	}
}

static void fill_lines(PUCHAR to, SIZE_T size_bytes, quarter value)
{
	for (SIZE_T at = 0; at < size_bytes; at += sizeof(value))
		store_past_cache(to + at, value);
}

__attribute__((target("avx2"))) static void fill_lines_wide(PUCHAR to, SIZE_T size_bytes,
							    quarter value)
{
	const half both = { value[0], value[1], value[0], value[1] };

	for (SIZE_T at = 0; at < size_bytes; at += sizeof(both))
		store_half_past_cache(to + at, both);
}

void soft_stream_copy(PVOID destination, const VOID *source, SIZE_T size_bytes)
{
	SIZE_T done = bytes_to_line(destination, size_bytes);
	PUCHAR to = (PUCHAR)destination;
	const UCHAR *from = (const UCHAR *)source;

	__builtin_memcpy(to, from, done);
	SIZE_T whole = (size_bytes - done) & ~(SIZE_T)(LINE_BYTES - 1);
	if (__builtin_cpu_supports("avx2"))
		copy_lines_wide(to + done, from + done, whole);
	else
		copy_lines(to + done, from + done, whole);
	__builtin_ia32_sfence();
	done += whole;
	__builtin_memcpy(to + done, from + done, size_bytes - done);
}

void soft_stream_fill(PULONG destination, SIZE_T count, ULONG pattern)
{
	const ULONGLONG pair = (ULONGLONG)pattern << 32 | pattern;
	const quarter four = { (LONGLONG)pair, (LONGLONG)pair };
	PULONG end = destination + count;
	PULONG lines = destination + bytes_to_line(destination, count * sizeof(*destination)) /
					     sizeof(*destination);
	SIZE_T size_bytes = (SIZE_T)((PUCHAR)end - (PUCHAR)lines) & ~(SIZE_T)(LINE_BYTES - 1);

	while (destination < lines)
		*destination++ = pattern;
	if (__builtin_cpu_supports("avx2"))
		fill_lines_wide((PUCHAR)lines, size_bytes, four);
	else
		fill_lines((PUCHAR)lines, size_bytes, four);
	__builtin_ia32_sfence();
	for (destination += size_bytes / sizeof(*destination); destination < end; destination++)
		*destination = pattern;
}

#else

void soft_stream_copy(PVOID destination, const VOID *source, SIZE_T size_bytes)
{
	__builtin_memcpy(destination, source, size_bytes);
}

void soft_stream_fill(PULONG destination, SIZE_T count, ULONG pattern)
{
	while (count-- > 0)
		*destination++ = pattern;
}

#endif
