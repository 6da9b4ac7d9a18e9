/* SPDX-License-Identifier: MIT */
/*
 * stream.c - see stream.h.
 */
#include "stream.h"

#if defined(__SSE2__)

enum {
	LINE_BYTES = 64,
	AHEAD_BYTES = 256,
	/* Two rows of lines at a time: where one is at the end of a page, and waits for the next one's
	 * translation and for the first line of it, the other goes on. */
	ROW_BYTES = 4096,
};

/* Sixteen bytes, wherever they are. */
typedef LONGLONG quarter __attribute__((vector_size(16)));
typedef LONGLONG loose_quarter __attribute__((vector_size(16), aligned(1), may_alias));

static __inline__ void store_past_cache(PUCHAR to, quarter value)
{
	__asm__ volatile("movntdq %1, %0" : "=m"(*(quarter *)to) : "x"(value));
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

static __inline__ void copy_rows(PUCHAR to, const UCHAR *from)
{
	for (SIZE_T at = 0; at < ROW_BYTES; at += LINE_BYTES) {
		copy_line(to + at, from + at);
		copy_line(to + ROW_BYTES + at, from + ROW_BYTES + at);
	}
}

static __inline__ void fill_line(PUCHAR to, quarter value)
{
	store_past_cache(to, value);
	store_past_cache(to + 16, value);
	store_past_cache(to + 32, value);
	store_past_cache(to + 48, value);
}

static __inline__ void fill_rows(PUCHAR to, quarter value)
{
	for (SIZE_T at = 0; at < ROW_BYTES; at += LINE_BYTES) {
		fill_line(to + at, value);
		fill_line(to + ROW_BYTES + at, value);
	}
}

void soft_stream_copy(PVOID destination, const VOID *source, SIZE_T size_bytes)
{
	SIZE_T done = bytes_to_line(destination, size_bytes);
	PUCHAR to = (PUCHAR)destination;
	const UCHAR *from = (const UCHAR *)source;

	__builtin_memcpy(to, from, done);
	for (; size_bytes - done >= 2 * ROW_BYTES; done += 2 * ROW_BYTES)
		copy_rows(to + done, from + done);
	for (; size_bytes - done >= LINE_BYTES; done += LINE_BYTES)
		copy_line(to + done, from + done);
	__builtin_ia32_sfence();
	__builtin_memcpy(to + done, from + done, size_bytes - done);
}

void soft_stream_fill(PULONG destination, SIZE_T count, ULONG pattern)
{
	SIZE_T head = bytes_to_line(destination, count * sizeof(*destination));
	const ULONGLONG pair = (ULONGLONG)pattern << 32 | pattern;
	const quarter four = { (LONGLONG)pair, (LONGLONG)pair };
	PULONG end = destination + count;

	for (; head > 0; head -= sizeof(*destination))
		*destination++ = pattern;
	for (; (SIZE_T)(end - destination) >= 2 * ROW_BYTES / sizeof(*destination);
	     destination += 2 * ROW_BYTES / sizeof(*destination))
		fill_rows((PUCHAR)destination, four);
	for (; (SIZE_T)(end - destination) >= LINE_BYTES / sizeof(*destination);
	     destination += LINE_BYTES / sizeof(*destination))
		fill_line((PUCHAR)destination, four);
	__builtin_ia32_sfence();
	while (destination < end)
		*destination++ = pattern;
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
