/* SPDX-License-Identifier: MIT */
/*
 * format_test.c - formats mean what they mean in the Windows kernel.
 */
#include "nt_harness.h"

#include "nt/format.h"

static char text[256];
static size_t needed;

static const char *narrow(size_t limit, const char *format, ...)
{
	va_list arguments;
	size_t written;

	va_start(arguments, format);
	needed = nt_format_narrow(text, limit, &written, format, arguments);
	va_end(arguments);
	text[written] = '\0';
	return text;
}

#define FORMAT(...) narrow(sizeof(text) - 1, __VA_ARGS__)

static const char *wide(const WCHAR *format, ...)
{
	WCHAR units[128];
	va_list arguments;
	size_t written;

	va_start(arguments, format);
	nt_format_wide(units, 128, &written, format, arguments);
	va_end(arguments);
	text[nt_utf8_from_utf16(text, sizeof(text) - 1, units, written)] = '\0';
	return text;
}

TEST(format, long_is_32_bits_and_I64_is_64)
{
	EXPECT_STR(FORMAT("%lx %x", 0x9abcdef0u, 7), "9abcdef0 7");
	EXPECT_STR(FORMAT("%ld,%d", -1, -2), "-1,-2");
	EXPECT_STR(FORMAT("%I64x|%d", 0x123456789abcdef0ull, 5), "123456789abcdef0|5");
	EXPECT_STR(FORMAT("%I64d %lld", -5ll, -6ll), "-5 -6");
	EXPECT_STR(FORMAT("%I32u", 0xffffffffu), "4294967295");
	EXPECT_STR(FORMAT("%Ix %Id", 0xabcdef0123456789ul, -3l), "abcdef0123456789 -3");
	EXPECT_STR(FORMAT("%zu %hd %hhx", (size_t)1 << 40, 0x12345, 0x1ff),
		   "1099511627776 9029 ff");
	EXPECT_STR(FORMAT("%I64d", INT64_MIN), "-9223372036854775808");
	EXPECT_STR(FORMAT("%hhd %hhd %hu", 0x1ff, 0x17f, 0x12345u), "-1 127 9029");
}

TEST(format, pointers_are_sixteen_capital_digits)
{
	EXPECT_STR(FORMAT("%p", (void *)0xffffabcdul), "00000000FFFFABCD");
	EXPECT_STR(FORMAT("%p", NULL), "0000000000000000");
}

TEST(format, flags_width_and_precision_work_as_in_c)
{
	EXPECT_STR(FORMAT("[%5d|%-5d|%05d|%+d|% d]", 42, 42, 42, 42, 42),
		   "[   42|42   |00042|+42| 42]");
	EXPECT_STR(FORMAT("[%.4x|%8.4X|%#x|%#X|%#o|%#x]", 0xab, 0xab, 0xab, 0xab, 8, 0),
		   "[00ab|    00AB|0xab|0XAB|010|0]");
	EXPECT_STR(FORMAT("[%*d|%-*d|%*d]", 4, 1, 4, 2, -4, 3), "[   1|2   |3   ]");
	EXPECT_STR(FORMAT("[%.*s|%5s|%-5s|%.0d]", 2, "abc", "ab", "ab", 0), "[ab|   ab|ab   |]");
	EXPECT_STR(FORMAT("%08lX", 0xbeefu), "0000BEEF");
	EXPECT_STR(FORMAT("100%% %q"), "100% q"); /* an unknown letter stands for itself */
	EXPECT_STR(FORMAT("open %"), "open ");
}

TEST(format, text_is_narrow_or_wide_as_the_letter_says)
{
	EXPECT_STR(FORMAT("%s %S %hs %ls %ws %hS", "n", L"W", "h", L"l", L"w", "x"), "n W h l w x");
	EXPECT_STR(FORMAT("%c%C%lc%hc", 'a', L'b', L'\x20ac', 'd'), "ab\xe2\x82\xac"
								    "d");
	EXPECT_STR(wide(L"%s %S %hs %ls %ws", L"W", "n", "h", L"l", L"w"), "W n h l w");
	EXPECT_STR(wide(L"%c%C", L'\xe9', 'x'), "\xc3\xa9x");
	EXPECT_STR(FORMAT("%s %ws %S", NULL, NULL, NULL), "(null) (null) (null)");
}

TEST(format, counted_strings_print_their_length_and_no_more)
{
	UNICODE_STRING unicode = { 4, 8, (PWSTR)L"abcd" };
	ANSI_STRING ansi = { 3, 4, (PCHAR) "xyzw" };
	UNICODE_STRING empty = { 0, 0, NULL };

	EXPECT_STR(FORMAT("%wZ %Z [%6wZ] [%.1wZ]", &unicode, &ansi, &unicode, &unicode),
		   "ab xyz [    ab] [a]");
	EXPECT_STR(FORMAT("[%-6wZ|%.0x|%.1x]", &unicode, 0, 0x123), "[ab    ||123]");
	EXPECT_STR(FORMAT("%wZ %wZ", &empty, NULL), "(null) (null)");
	EXPECT_STR(wide(L"%wZ|%hZ", &unicode, &ansi), "ab|xyz");
}

TEST(format, a_precision_stops_reading)
{
	char *block = mem_alloc(3); /* no terminator: the address sanitizer watches */
	memcpy(block, "abc", 3);
	EXPECT_STR(FORMAT("%.3s", block), "abc");
	mem_free(block);
}

TEST(format, wpp_names_print_what_they_name)
{
	GUID guid = { 0x12345678, 0x9abc, 0xdef0, { 1, 2, 3, 4, 5, 6, 7, 8 } };

	EXPECT_STR(FORMAT("%!STATUS! %d", STATUS_INVALID_PARAMETER, 9),
		   "STATUS_INVALID_PARAMETER 9");
	EXPECT_STR(FORMAT("%!HRESULT! %d", 0x8007000eu, 9), "0x8007000e 9");
	EXPECT_STR(FORMAT("%!GUID!", &guid), "{12345678-9abc-def0-0102-030405060708}");
	EXPECT_STR(FORMAT("%!FUNC! %d", 3), "%!FUNC! 3");
	EXPECT_STR(FORMAT("%!open"), "%!open");
}

TEST(format, what_does_not_fit_is_counted_and_not_written)
{
	EXPECT_STR(narrow(3, "%d", 12345), "123");
	EXPECT_EQ(needed, 5);
	EXPECT_STR(narrow(2, "a\xe2\x82\xac"), "a"); /* no half of a character */
	EXPECT_EQ(needed, 4);
	EXPECT_STR(narrow(0, "abc"), "");
	EXPECT_EQ(needed, 3);
	EXPECT_STR(narrow(4, "%100d", 1), "    ");
	EXPECT_EQ(needed, 100);
}

TEST(format, n_writes_nothing_and_floats_take_their_argument)
{
	int count = -7;

	EXPECT_STR(FORMAT("%n%d %f %d", &count, 1, 1.5, 2), "1 1.500000 2");
	EXPECT_STR(FORMAT("%.2e %g %a %d", 1234.5, 0.25, 1.0, 7), "1.23e+03 0.25 0x1p+0 7");
	EXPECT_EQ(count, -7);
}

TEST_MAIN("nt/format")
