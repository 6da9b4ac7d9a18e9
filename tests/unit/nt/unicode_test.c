/* SPDX-License-Identifier: MIT */
/*
 * unicode_test.c - text changes its width and nothing else.
 */
#include "support/test.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "nt/unicode.h"

TEST(unicode, every_character_survives_both_ways)
{
	for (uint32_t character = 1; character < 0x110000; character++) {
		char bytes[4];
		uint16_t units[2];
		char back[4];

		if (character >= 0xd800 && character < 0xe000)
			continue;
		size_t count = utf8_encode(character, bytes);
		EXPECT_EQ(nt_utf16_from_utf8(units, 2, bytes, count), character < 0x10000 ? 1 : 2);
		EXPECT_EQ(nt_utf8_from_utf16(back, 4, units, character < 0x10000 ? 1 : 2), count);
		EXPECT(memcmp(bytes, back, count) == 0);
	}
}

TEST(unicode, broken_input_becomes_the_replacement_character)
{
	static const struct {
		const char *text;
		size_t length;
		size_t replacements;
	} cases[] = {
		{ "\x80", 1, 1 },         { "\xc0\x80", 2, 2 },     { "\xc3", 1, 1 },
		{ "\xe2\x82", 2, 1 },     { "\xed\xa0\x80", 3, 3 }, { "\xf4\x90\x80\x80", 4, 4 },
		{ "\xf0\x9f\x98", 3, 1 }, { "\xff\xfe", 2, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint16_t units[8];
		size_t count = nt_utf16_from_utf8(units, 8, cases[i].text, cases[i].length);
		EXPECT_EQ(count, cases[i].replacements);
		for (size_t j = 0; j < count; j++)
			EXPECT_EQ(units[j], 0xfffd);
	}

	const uint16_t lone[] = { 'a', 0xd83d, 'b', 0xde00 };
	char bytes[16] = { 0 };
	EXPECT_EQ(nt_utf8_from_utf16(bytes, 16, lone, 4), 8);
	EXPECT_STR(bytes, "a\xef\xbf\xbd"
			  "b\xef\xbf\xbd");
}

TEST(unicode, a_short_buffer_gets_whole_characters_and_the_size_that_is_needed)
{
	const char *text = "a\xf0\x9f\x98\x80z";
	uint16_t units[4] = { 0xaaaa, 0xaaaa, 0xaaaa, 0xaaaa };

	EXPECT_EQ(nt_utf16_from_utf8(units, 2, text, strlen(text)), 4);
	EXPECT_EQ(units[0], 'a');
	EXPECT_EQ(units[1], 0xaaaa); /* half of a pair is not written, nor what comes after */
	EXPECT_EQ(nt_utf16_from_utf8(NULL, 0, text, strlen(text)), 4);

	char bytes[4] = "~~~";
	const uint16_t wide[] = { 'a', 0x20ac };
	EXPECT_EQ(nt_utf8_from_utf16(bytes, 3, wide, 2), 4);
	EXPECT_EQ(bytes[0], 'a');
	EXPECT_EQ(bytes[1], '~');
}

TEST(unicode, duplicates_are_terminated_and_fail_cleanly)
{
	size_t length;
	uint16_t *wide = nt_utf16_dup("Gr\xc3\xbc\xc3\x9f", &length);
	EXPECT_EQ(length, 4);
	EXPECT_EQ(wide[4], 0);
	char *narrow = nt_utf8_dup(wide, length);
	EXPECT_STR(narrow, "Gr\xc3\xbc\xc3\x9f");
	mem_free(narrow);
	mem_fail_nth(1);
	EXPECT(!nt_utf8_dup(wide, length));
	EXPECT(mem_fail_stop());
	mem_free(wide);
}

TEST(unicode, upper_case_is_one_to_one_and_returns)
{
	EXPECT_EQ(nt_upcase('a'), 'A');
	EXPECT_EQ(nt_upcase('['), '[');
	EXPECT_EQ(nt_upcase(0xe9), 0xc9);
	EXPECT_EQ(nt_upcase(0xf7), 0xf7); /* division sign, between the letters */
	EXPECT_EQ(nt_upcase(0xff), 0x178);
	EXPECT_EQ(nt_upcase(0x3b1), 0x391);
	EXPECT_EQ(nt_upcase(0x44f), 0x42f);
	EXPECT_EQ(nt_upcase(0xb5), 0xb5);   /* NT leaves the micro sign */
	EXPECT_EQ(nt_upcase(0x131), 0x131); /* and the dotless i */
	EXPECT_EQ(nt_upcase(0xdf), 0xdf);   /* and sharp s, which has no single capital */
	for (uint32_t unit = 0; unit < 0x10000; unit++) {
		uint16_t upper = nt_upcase((uint16_t)unit);
		EXPECT_EQ(nt_upcase(upper), upper);
		if (upper != unit)
			EXPECT_EQ(nt_downcase(upper), unit);
	}
}

TEST(unicode, names_compare_without_case_by_upper_case)
{
	const uint16_t a[] = { 'A', 'b', 0xe9 };
	const uint16_t b[] = { 'a', 'B', 0xc9 };
	const uint16_t low[] = { '_' };
	const uint16_t letter[] = { 'a' };

	EXPECT_EQ(nt_utf16_compare(a, 3, b, 3, true), 0);
	EXPECT(nt_utf16_compare(a, 3, b, 3, false) < 0);
	EXPECT(nt_utf16_compare(a, 2, b, 3, true) < 0);
	/* '_' is between the cases: the capital decides. */
	EXPECT(nt_utf16_compare(low, 1, letter, 1, true) > 0);
	EXPECT(nt_utf16_compare(low, 1, letter, 1, false) < 0);
}

TEST_MAIN("nt/unicode")
