/* SPDX-License-Identifier: MIT */
/*
 * text_test.c - UTF-8 to 4-byte characters and back.
 */
#include "support/test.h"

#include "dispatch/text.h"

TEST(text, every_length_of_character_survives_both_ways)
{
	const char *text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
	WCHAR wide[16];
	char back[32];

	EXPECT_EQ(text_wide_count(text), 6);
	text_to_wide(wide, 16, text);
	EXPECT_EQ(wide[0], 'a');
	EXPECT_EQ(wide[1], 0xe9);
	EXPECT_EQ(wide[2], 0x20ac);
	EXPECT_EQ(wide[3], 0x1f600);
	EXPECT_EQ(wide[4], 'z');
	EXPECT_EQ(wide[5], 0);
	EXPECT(text_from_wide(back, sizeof(back), wide, 16));
	EXPECT_STR(back, text);
}

TEST(text, what_does_not_fit_is_cut_and_still_ends_in_zero)
{
	WCHAR wide[3] = { 9, 9, 9 };

	text_to_wide(wide, 3, "abcdef");
	EXPECT_EQ(wide[1], 'b');
	EXPECT_EQ(wide[2], 0);
}

TEST(text, malformed_bytes_become_replacement_characters)
{
	WCHAR wide[8];

	text_to_wide(wide, 8, "\xff\xc3(\xe2\x82");
	EXPECT_EQ(wide[0], 0xfffd);
	EXPECT_EQ(wide[1], 0xfffd);
	EXPECT_EQ(wide[2], '(');
	EXPECT_EQ(wide[3], 0xfffd);
	EXPECT_EQ(text_wide_count("\xff\xc3("), 4);
}

TEST(text, a_name_without_end_or_with_nonsense_is_refused)
{
	WCHAR wide[4] = { 'a', 'b', 'c', 'd' };
	char text[32];

	EXPECT(!text_from_wide(text, sizeof(text), wide, 4));
	wide[3] = 0;
	EXPECT(text_from_wide(text, sizeof(text), wide, 4));
	EXPECT(!text_from_wide(text, 3, wide, 4));
	wide[1] = (WCHAR)0xd800;
	EXPECT(!text_from_wide(text, sizeof(text), wide, 4));
	wide[1] = (WCHAR)0x110000;
	EXPECT(!text_from_wide(text, sizeof(text), wide, 4));
}

TEST_MAIN("dispatch/text")
