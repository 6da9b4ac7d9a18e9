/* SPDX-License-Identifier: MIT */
/* Bytes past the cache: all that were asked for, wherever they are, and not one beside them. */
#include "support/test.h"

#include "stream.h"

enum { LINE = 64, PAGE = 4096, MOST = 3 * PAGE + 200, GUARD = LINE, UNTOUCHED = 0xE7 };

static const SIZE_T sizes[] = { 0,
				1,
				7,
				63,
				64,
				65,
				127,
				1000,
				PAGE - 1,
				PAGE,
				PAGE + 1,
				2 * PAGE,
				2 * PAGE + 64,
				2 * PAGE + 65,
				3 * PAGE,
				3 * PAGE + 1,
				MOST };

/* Of exactly their size, so that a sanitizer sees a byte too much, read or written. */
static UCHAR *bytes_of(SIZE_T size_bytes)
{
	return aligned_alloc(LINE, (size_bytes + LINE - 1) / LINE * LINE);
}

static UCHAR source_byte(SIZE_T i)
{
	return (UCHAR)(i * 7 + i / 256);
}

static void expect_copied(SIZE_T size_bytes, SIZE_T to_offset, SIZE_T from_offset)
{
	UCHAR *from = malloc(from_offset + size_bytes + 1);
	UCHAR *to = bytes_of(GUARD + to_offset + size_bytes + GUARD);
	UCHAR *start = to + GUARD + to_offset;
	SIZE_T wrong = 0;

	memset(to, UNTOUCHED, GUARD + to_offset + size_bytes + GUARD);
	for (SIZE_T i = 0; i < size_bytes; i++)
		from[from_offset + i] = source_byte(i);
	soft_stream_copy(start, from + from_offset, size_bytes);
	for (SIZE_T i = 0; i < size_bytes; i++)
		wrong += start[i] != source_byte(i);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(start[-1], UNTOUCHED);
	EXPECT_EQ(start[size_bytes], UNTOUCHED);
	free(from);
	free(to);
}

TEST(stream, copies_every_byte_of_any_size_at_any_address)
{
	static const SIZE_T offsets[] = { 0, 1, 3, 16, 31, 63 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (size_t t = 0; t < sizeof(offsets) / sizeof(offsets[0]); t++)
			for (size_t f = 0; f < sizeof(offsets) / sizeof(offsets[0]); f++)
				expect_copied(sizes[s], offsets[t], offsets[f]);
}

static void expect_filled(SIZE_T count, SIZE_T first)
{
	const ULONG pattern = 0x12345678;
	const ULONG untouched = 0xE7E7E7E7;
	ULONG *words = (ULONG *)bytes_of(GUARD + (first + count) * sizeof(*words) + GUARD);
	ULONG *start = words + GUARD / sizeof(*words) + first;
	SIZE_T wrong = 0;

	start[-1] = untouched;
	start[count] = untouched;
	soft_stream_fill(start, count, pattern);
	for (SIZE_T i = 0; i < count; i++)
		wrong += start[i] != pattern;
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(start[-1], untouched);
	EXPECT_EQ(start[count], untouched);
	free(words);
}

TEST(stream, fills_every_word_from_any_word_on)
{
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (SIZE_T first = 0; first < LINE / sizeof(ULONG); first++)
			expect_filled(sizes[s], first);
}

TEST_MAIN("soft/stream")
