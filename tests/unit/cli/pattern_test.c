/* SPDX-License-Identifier: MIT */
/*
 * pattern_test.c - patterns of bytes, whole and in parts.
 */
#include "cli/run/pattern.h"
#include "support/test.h"

enum { BYTES = 1024 };

static const struct script_pattern word = { .number = 0x44332211 };
static const struct script_pattern row = { .is_random = true, .number = 5 };

TEST(pattern, of_a_word_repeats_it_in_the_order_of_the_gpu)
{
	unsigned char bytes[16] = { 0 };

	pattern_store(&word, bytes, 2, 9);
	EXPECT_EQ(bytes[1], 0);
	EXPECT_EQ(bytes[2], 0x33);
	EXPECT_EQ(bytes[3], 0x44);
	EXPECT_EQ(bytes[4], 0x11);
	EXPECT_EQ(bytes[10], 0x33);
	EXPECT_EQ(bytes[11], 0);
}

TEST(pattern, in_parts_is_the_same_as_at_once)
{
	const struct script_pattern *const both[] = { &word, &row };
	unsigned char whole[BYTES];
	unsigned char parts[BYTES];

	for (int i = 0; i < 2; i++) {
		pattern_store(both[i], whole, 0, BYTES);
		for (uint64_t at = 0, size = 1; at < BYTES; at += size, size = size % 29 + 1)
			pattern_store(both[i], parts, at, size < BYTES - at ? size : BYTES - at);
		EXPECT_EQ(memcmp(whole, parts, BYTES), 0);
	}
}

TEST(pattern, of_another_seed_is_another)
{
	struct script_pattern other = { .is_random = true, .number = 6 };
	unsigned char mine[BYTES];
	unsigned char theirs[BYTES];
	unsigned same = 0;

	pattern_store(&row, mine, 0, BYTES);
	pattern_store(&other, theirs, 0, BYTES);
	for (int i = 0; i < BYTES; i++)
		same += mine[i] == theirs[i];
	EXPECT(same < BYTES / 16);
}

TEST(pattern, every_wrong_byte_is_found_where_it_is)
{
	unsigned char bytes[BYTES];
	unsigned char expected;
	uint64_t place;

	pattern_store(&row, bytes, 0, BYTES);
	EXPECT(pattern_compare(&row, bytes, 0, BYTES, &place, &expected));
	for (uint64_t at = 0; at < BYTES; at++) {
		bytes[at] ^= 1;
		EXPECT(!pattern_compare(&row, bytes, at / 3, BYTES - at / 3, &place, &expected));
		EXPECT_EQ(place, at);
		EXPECT_EQ(expected, bytes[at] ^ 1);
		EXPECT(pattern_compare(&row, bytes, 0, at, &place, &expected));
		EXPECT(pattern_compare(&row, bytes, at + 1, BYTES - at - 1, &place, &expected));
		bytes[at] ^= 1;
	}
}

TEST_MAIN("cli/pattern")
