/* SPDX-License-Identifier: MIT */
/*
 * utf8_test.c - characters in and out, and what is not one.
 */
#include "support/test.h"

#include "base/utf8.h"

TEST(utf8, every_character_survives_both_ways)
{
	for (uint32_t character = 1; character <= 0x10ffff; character++) {
		char bytes[4];
		if (!utf8_is_character(character))
			continue;
		size_t length = utf8_encode(character, bytes);
		const char *at = bytes;
		uint32_t back = utf8_next(&at, bytes + length);
		if (back != character || at != bytes + length)
			EXPECT_EQ(back, character);
	}
}

TEST(utf8, broken_pieces_become_one_replacement_each)
{
	static const struct {
		const char *bytes;
		size_t length;
		size_t used; /* by the first character */
	} cases[] = {
		{ "\xff", 1, 1 },             /* never valid */
		{ "\x80", 1, 1 },             /* a second byte alone */
		{ "\xc3", 1, 1 },             /* cut off */
		{ "\xc0\xaf", 2, 1 },         /* overlong */
		{ "\xe2\x82", 2, 2 },         /* cut off after two of three */
		{ "\xe2\x28\xa1", 3, 1 },     /* broken off by something else */
		{ "\xed\xa0\x80", 3, 1 },     /* a surrogate */
		{ "\xf4\x90\x80\x80", 4, 1 }, /* beyond the last character */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = cases[i].bytes;
		EXPECT_EQ(utf8_next(&at, at + cases[i].length), UTF8_REPLACEMENT);
		EXPECT_EQ(at - cases[i].bytes, cases[i].used);
	}
}

TEST(utf8, surrogates_and_what_is_beyond_are_no_characters)
{
	EXPECT(utf8_is_character(0xd7ff));
	EXPECT(!utf8_is_character(0xd800));
	EXPECT(!utf8_is_character(0xdfff));
	EXPECT(utf8_is_character(0xe000));
	EXPECT(utf8_is_character(0x10ffff));
	EXPECT(!utf8_is_character(0x110000));
}

TEST_MAIN("base/utf8")
