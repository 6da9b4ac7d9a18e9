/* SPDX-License-Identifier: MIT */
/*
 * runtime_test.c - the C functions of drivers, with their 16-bit characters.
 */
#include "nt_harness.h"

#include <errno.h>

TEST(runtime, wide_strings_have_16_bit_characters)
{
	WCHAR buffer[16] = L"";

	EXPECT_EQ(DxgkRt_wcslen(L"abc"), 3);
	EXPECT_EQ(DxgkRt_wcsnlen(L"abc", 2), 2);
	EXPECT_EQ(DxgkRt_wcsnlen(NULL, 2), 0);
	EXPECT_EQ(DxgkRt_wcscmp(L"abc", L"abc"), 0);
	EXPECT(DxgkRt_wcscmp(L"abc", L"abd") < 0);
	EXPECT(DxgkRt_wcscmp(L"abc", L"ab") > 0);
	EXPECT_EQ(DxgkRt_wcsncmp(L"abX", L"abY", 2), 0);
	EXPECT_EQ(DxgkRt_wcsicmp(L"ABC\xc9", L"abc\xe9"), 0);
	EXPECT_EQ(DxgkRt_wcsnicmp(L"ABx", L"aby", 2), 0);
	EXPECT(DxgkRt_wcscpy(buffer, L"one") == buffer);
	DxgkRt_wcscat(buffer, L" two");
	DxgkRt_wcsncat(buffer, L" three", 3);
	EXPECT_EQ(DxgkRt_wcscmp(buffer, L"one two th"), 0);
	EXPECT(DxgkRt_wcschr(buffer, L't') == buffer + 4);
	EXPECT(DxgkRt_wcsrchr(buffer, L't') == buffer + 8);
	EXPECT(DxgkRt_wcschr(buffer, 0) == buffer + 10);
	EXPECT(!DxgkRt_wcschr(buffer, L'z'));
	EXPECT(DxgkRt_wcsstr(buffer, L"two") == buffer + 4);
	EXPECT(DxgkRt_wcsstr(buffer, L"") == buffer);
	EXPECT(!DxgkRt_wcsstr(buffer, L"twx"));
	DxgkRt_wcsncpy(buffer, L"ab", 4);
	EXPECT(buffer[2] == 0 && buffer[3] == 0);
	EXPECT_EQ(DxgkRt_towupper(L'\xe9'), L'\xc9');
	EXPECT_EQ(DxgkRt_towlower(L'Q'), L'q');
}

TEST(runtime, numbers_saturate_at_32_bits)
{
	WCHAR *end;
	char *narrow_end;

	EXPECT_EQ(DxgkRt_wcstoul(L"  0x1Fg", &end, 0), 0x1f);
	EXPECT_EQ(*end, L'g');
	EXPECT_EQ(DxgkRt_wcstoul(L"077", &end, 0), 63);
	EXPECT_EQ(DxgkRt_wcstoul(L"99999999999", NULL, 10), 0xffffffffu);
	EXPECT_EQ(DxgkRt_strtoul("-1", &narrow_end, 10), 0xffffffffu);
	EXPECT_EQ(DxgkRt_strtoul("zz", &narrow_end, 36), 35 * 36 + 35);
	const char *none = "+x";
	EXPECT_EQ(DxgkRt_strtoul(none, &narrow_end, 10), 0);
	EXPECT(narrow_end == none);
	EXPECT_EQ(DxgkRt_strtoul("0x", &narrow_end, 16), 0);
	EXPECT_EQ(*narrow_end, 'x');
	EXPECT_EQ(DxgkRt_atoi(" -42abc"), -42);
	EXPECT_EQ(DxgkRt_wtoi(L"2147483648"), INT32_MAX);
	EXPECT_EQ(DxgkRt_atoi("-2147483648"), INT32_MIN);
	EXPECT_EQ(DxgkRt_atoi("-99999999999"), INT32_MIN);
}

TEST(runtime, safe_copies_leave_an_empty_string_when_they_fail)
{
	char narrow[4] = "xyz";
	WCHAR wide[4] = L"xyz";

	EXPECT_EQ(DxgkRt_strcpy_s(narrow, 4, "abc"), 0);
	EXPECT_EQ(DxgkRt_strcat_s(narrow, 4, "d"), ERANGE);
	EXPECT_STR(narrow, "");
	EXPECT_EQ(DxgkRt_strcpy_s(narrow, 4, "abcd"), ERANGE);
	EXPECT_EQ(DxgkRt_strcpy_s(NULL, 4, "a"), EINVAL);
	EXPECT_EQ(DxgkRt_strcpy_s(narrow, 4, NULL), EINVAL);
	EXPECT_EQ(DxgkRt_strncpy_s(narrow, 4, "abcdef", 2), 0);
	EXPECT_STR(narrow, "ab");
	EXPECT_EQ(DxgkRt_strncpy_s(narrow, 4, "abcdef", SIZE_MAX), 80); /* _TRUNCATE, STRUNCATE */
	EXPECT_STR(narrow, "abc");
	EXPECT_EQ(DxgkRt_wcscpy_s(wide, 4, L"abcd"), ERANGE);
	EXPECT_EQ(wide[0], 0);
	EXPECT_EQ(DxgkRt_wcscpy_s(wide, 4, L"ab"), 0);
	EXPECT_EQ(DxgkRt_wcscat_s(wide, 4, L"c"), 0);
	EXPECT_EQ(DxgkRt_wcscmp(wide, L"abc"), 0);
	EXPECT_EQ(DxgkRt_wcsncpy_s(wide, 4, L"abcdef", 3), 0);
	EXPECT_EQ(DxgkRt_memcpy_s(narrow, 4, "12345", 5), ERANGE);
	EXPECT_EQ(narrow[0], 0);
	EXPECT_EQ(DxgkRt_memmove_s(narrow, 4, "1234", 4), 0);
	EXPECT_EQ(DxgkRt_memcpy_s(NULL, 0, NULL, 0), 0);
}

TEST(runtime, safe_copies_refuse_what_is_no_string_and_cut_what_may_be_cut)
{
	char narrow[4] = { 'w', 'x', 'y', 'z' };
	WCHAR wide[4] = { 'w', 'x', 'y', 'z' };

	/* There is no end to add to. */
	EXPECT_EQ(DxgkRt_strcat_s(narrow, 4, "a"), EINVAL);
	EXPECT_EQ(narrow[0], 0);
	EXPECT_EQ(DxgkRt_wcscat_s(wide, 4, L"a"), EINVAL);
	EXPECT_EQ(wide[0], 0);
	EXPECT_EQ(DxgkRt_wcsncpy_s(wide, 4, L"abcdef", SIZE_MAX), 80);
	EXPECT_EQ(DxgkRt_wcscmp(wide, L"abc"), 0);
	EXPECT_EQ(DxgkRt_strcat_s(narrow, 0, "a"), EINVAL);
	EXPECT_EQ(DxgkRt_strncpy_s(narrow, 4, NULL, 2), EINVAL);
	EXPECT_EQ(DxgkRt_wcscat_s(NULL, 4, L"a"), EINVAL);
	EXPECT_EQ(DxgkRt_wcsncpy_s(wide, 4, NULL, 2), EINVAL);
	EXPECT_EQ(DxgkRt_memmove_s(NULL, 4, "1234", 4), EINVAL);
	EXPECT_EQ(DxgkRt_memmove_s(narrow, 4, "12345", 5), ERANGE);
	EXPECT_EQ(DxgkRt_sprintf_s(NULL, 4, "%d", 1), -1);
	EXPECT_EQ(DxgkRt_swprintf_s(NULL, 4, L"%d", 1), -1);
}

TEST(runtime, printing_follows_microsofts_library)
{
	char narrow[4] = "~~~";
	WCHAR wide[4] = L"~~~";

	EXPECT_EQ(DxgkRt_snprintf(narrow, 4, "%d", 12), 2);
	EXPECT_STR(narrow, "12");
	EXPECT_EQ(DxgkRt_snprintf(narrow, 4, "%d", 1234), 4); /* full, and no terminator */
	EXPECT(memcmp(narrow, "1234", 4) == 0);
	EXPECT((int)DxgkRt_snprintf(narrow, 4, "%d", 12345) < 0);
	EXPECT((int)DxgkRt_sprintf_s(narrow, 4, "%d", 1234) < 0);
	EXPECT_STR(narrow, "");
	EXPECT_EQ(DxgkRt_swprintf_s(wide, 4, L"%s", L"abc"), 3);
	EXPECT_EQ(DxgkRt_wcscmp(wide, L"abc"), 0);
	EXPECT_EQ(DxgkRt_snwprintf(wide, 4, L"%u", 7u), 1);
	EXPECT_EQ(DxgkRt_stricmp("AbC", "aBc"), 0);
	EXPECT(DxgkRt_strnicmp("ab", "AC", 2) < 0);
	EXPECT_EQ(DxgkRt_toupper('z'), 'Z');
	EXPECT_EQ(DxgkRt_tolower('-'), '-');
}

TEST_MAIN("nt/runtime")
