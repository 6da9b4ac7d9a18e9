/* SPDX-License-Identifier: MIT */
/*
 * text_test.c - texts that are put together, and numbers that people typed.
 */
#include <string.h>

#include "base/text.h"
#include "support/test.h"

TEST(text, is_put_together_and_cut_where_it_ends)
{
	char place[8];
	struct text text = text_begin(place, sizeof(place));

	text_add(&text, "%u,", 12);
	text_add(&text, "%s", "abc");
	EXPECT_STR(place, "12,abc");
	text_add(&text, "defg");
	text_add(&text, "h");
	EXPECT_STR(place, "12,abcd");
	(void)text_begin(place, 0);
	EXPECT_STR(place, "12,abcd");
}

TEST(number, is_decimal_or_hexadecimal_and_nothing_else)
{
	static const struct {
		const char *text;
		uint64_t number;
	} good[] = {
		{ "0", 0 },     { "010", 10 }, /* not octal */
		{ "0x1F", 31 }, { "0Xa", 10 }, { "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "",  "-1", "+1",  " 1", "1 ",
					   "x", "0x", "0xg", "1s", "18446744073709551616" };
	uint64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		EXPECT(text_is_number(good[i].text, 0, UINT64_MAX, &number));
		EXPECT_EQ(number, good[i].number);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT(!text_is_number(bad[i], 0, UINT64_MAX, &number));
}

TEST(number, keeps_within_its_bounds)
{
	uint64_t number;

	EXPECT(text_is_number("3", 3, 5, &number));
	EXPECT(text_is_number("5", 3, 5, &number));
	EXPECT(!text_is_number("2", 3, 5, &number));
	EXPECT(!text_is_number("6", 3, 5, &number));
}

TEST(number, leaves_what_is_behind_it)
{
	const char *end;
	uint64_t number;

	EXPECT(text_read_number("64M", &number, &end));
	EXPECT_EQ(number, 64);
	EXPECT_STR(end, "M");
	EXPECT(!text_read_number("M", &number, &end));
}

TEST(number, with_a_fraction_is_digits_and_a_point)
{
	static const char *const wrong[] = { "",     ".",   "1.", ".5", "1e3",  "0x10",
					     "inf",  "nan", " 1", "+1", "-1",   "3s",
					     "1.5.", "1,5", "4",  "0",  "0.49", "3.51" };
	double number = 0;

	EXPECT(text_is_decimal("0.5", 0.5, 3.5, &number) && number == 0.5);
	EXPECT(text_is_decimal("3.50", 0.5, 3.5, &number) && number == 3.5);
	EXPECT(text_is_decimal("007", 0.5, 7, &number) && number == 7);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT(!text_is_decimal(wrong[i], 0.5, 3.5, &number));
}

TEST_MAIN("base/text")
