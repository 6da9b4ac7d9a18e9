/* SPDX-License-Identifier: MIT */
/*
 * strings_test.c - counted strings, numbers and GUIDs as text.
 */
#include "nt_harness.h"

static bool is_text(const UNICODE_STRING *string, const WCHAR *text)
{
	return string->Length == DxgkRt_wcslen(text) * sizeof(WCHAR) &&
	       memcmp(string->Buffer, text, string->Length) == 0;
}

TEST(strings, init_counts_bytes_and_accepts_nothing)
{
	UNICODE_STRING string;
	ANSI_STRING ansi;

	RtlInitUnicodeString(&string, L"abc");
	EXPECT(string.Length == 6 && string.MaximumLength == 8);
	RtlInitUnicodeString(&string, NULL);
	EXPECT(string.Length == 0 && string.MaximumLength == 0 && !string.Buffer);
	RtlInitAnsiString(&ansi, "abc");
	EXPECT(ansi.Length == 3 && ansi.MaximumLength == 4);
	RtlInitAnsiString(&ansi, NULL);
	EXPECT(ansi.Length == 0 && !ansi.Buffer);

	static WCHAR huge[40000];
	for (size_t i = 0; i < 39999; i++)
		huge[i] = 'x';
	EXPECT_EQ(RtlInitUnicodeStringEx(&string, huge), STATUS_NAME_TOO_LONG);
	RtlInitUnicodeString(&string, huge);
	EXPECT_EQ(string.Length, 0xfffc);
	huge[32766] = 0;
	EXPECT_EQ(RtlInitUnicodeStringEx(&string, huge), STATUS_SUCCESS);
	EXPECT_EQ(string.Length, 65532);
}

TEST(strings, copy_and_append_stay_inside_the_buffer)
{
	WCHAR buffer[5];
	UNICODE_STRING target = { 0, 8, buffer };
	UNICODE_STRING source;

	buffer[4] = 0x7777;
	RtlInitUnicodeString(&source, L"abcdef");
	RtlCopyUnicodeString(&target, &source);
	EXPECT(target.Length == 8 && is_text(&target, L"abcd"));
	EXPECT_EQ(buffer[4], 0x7777);
	RtlCopyUnicodeString(&target, NULL);
	EXPECT_EQ(target.Length, 0);
	EXPECT_EQ(RtlAppendUnicodeToString(&target, L"ab"), STATUS_SUCCESS);
	EXPECT_EQ(buffer[2], 0); /* terminated where there is room */
	EXPECT_EQ(RtlAppendUnicodeStringToString(&target, &source), STATUS_BUFFER_TOO_SMALL);
	EXPECT(is_text(&target, L"ab"));
	EXPECT_EQ(RtlAppendUnicodeToString(&target, L"cd"), STATUS_SUCCESS);
	EXPECT_EQ(RtlAppendUnicodeToString(&target, L"e"), STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(RtlAppendUnicodeToString(&target, NULL), STATUS_SUCCESS);
	EXPECT_EQ(buffer[4], 0x7777);
}

TEST(strings, comparing_looks_at_lengths_and_case)
{
	UNICODE_STRING a;
	UNICODE_STRING b;

	RtlInitUnicodeString(&a, L"Display");
	RtlInitUnicodeString(&b, L"DISPLAYS");
	EXPECT(RtlCompareUnicodeString(&a, &b, TRUE) < 0);
	EXPECT(!RtlEqualUnicodeString(&a, &b, TRUE));
	EXPECT(RtlPrefixUnicodeString(&a, &b, TRUE));
	EXPECT(!RtlPrefixUnicodeString(&a, &b, FALSE));
	b.Length -= 2;
	EXPECT(RtlEqualUnicodeString(&a, &b, TRUE));
	EXPECT(!RtlEqualUnicodeString(&a, &b, FALSE));
	EXPECT_EQ(RtlUpcaseUnicodeChar(L'\xfc'), L'\xdc');

	ANSI_STRING x;
	ANSI_STRING y;
	RtlInitAnsiString(&x, "abc");
	RtlInitAnsiString(&y, "ABD");
	EXPECT(RtlCompareString(&x, &y, TRUE) < 0);
	EXPECT(RtlCompareString(&x, &y, FALSE) > 0);
	EXPECT(!RtlEqualString(&x, &y, TRUE));
}

NT_TEST(strings, conversion_allocates_pool_or_says_how_it_does_not_fit)
{
	UNICODE_STRING wide = { 0 };
	ANSI_STRING narrow = { 0 };
	ANSI_STRING source;
	WCHAR small[3];

	RtlInitAnsiString(&source, "d\xc3\xa9j\xc3\xa0");
	EXPECT_EQ(RtlxAnsiStringToUnicodeSize(&source), 10);
	EXPECT_EQ(RtlAnsiStringToUnicodeString(&wide, &source, TRUE), STATUS_SUCCESS);
	EXPECT(is_text(&wide, L"d\xe9j\xe0") && wide.MaximumLength == 10 && wide.Buffer[4] == 0);
	EXPECT_EQ(RtlxUnicodeStringToAnsiSize(&wide), 7);
	EXPECT_EQ(RtlUnicodeStringToAnsiString(&narrow, &wide, TRUE), STATUS_SUCCESS);
	EXPECT_STR(narrow.Buffer, source.Buffer);
	EXPECT_EQ(nt_pool_usage().blocks, 2);
	RtlFreeUnicodeString(&wide);
	RtlFreeAnsiString(&narrow);
	EXPECT(!wide.Buffer && nt_pool_usage().blocks == 0);
	RtlFreeUnicodeString(&wide); /* nothing to free is fine */

	wide = (UNICODE_STRING){ 0, sizeof(small), small };
	EXPECT_EQ(RtlAnsiStringToUnicodeString(&wide, &source, FALSE), STATUS_BUFFER_OVERFLOW);
	source.Length = 3;
	EXPECT_EQ(RtlAnsiStringToUnicodeString(&wide, &source, FALSE), STATUS_SUCCESS);
	EXPECT_EQ(wide.Length, 4);
	EXPECT_NO_REPORT();
}

TEST(strings, utf8_routines_tell_the_size_first)
{
	const WCHAR text[] = { 'a', 0x20ac, 0xd800 };
	char bytes[8];
	ULONG size;

	EXPECT_EQ(RtlUnicodeToUTF8N(NULL, 0, &size, text, 4), STATUS_SUCCESS);
	EXPECT_EQ(size, 4);
	EXPECT_EQ(RtlUnicodeToUTF8N(bytes, 3, &size, text, 4), STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(RtlUnicodeToUTF8N(bytes, 8, &size, text, 6), STATUS_SOME_NOT_MAPPED);
	EXPECT_EQ(RtlUnicodeToUTF8N(bytes, 8, &size, NULL, 6), STATUS_INVALID_PARAMETER_4);
	EXPECT_EQ(RtlUnicodeToUTF8N(bytes, 8, &size, text, 5), STATUS_INVALID_PARAMETER_5);
	WCHAR wide[4];
	EXPECT_EQ(RtlUTF8ToUnicodeN(wide, 8, &size, "a\xe2\x82\xac", 4), STATUS_SUCCESS);
	EXPECT(size == 4 && wide[1] == 0x20ac);
	EXPECT_EQ(RtlUTF8ToUnicodeN(wide, 8, &size, "\xff", 1), STATUS_SOME_NOT_MAPPED);
	EXPECT_EQ(RtlUTF8ToUnicodeN(NULL, 0, NULL, "a", 1), STATUS_INVALID_PARAMETER);
}

TEST(strings, utf8_routines_need_text_and_somewhere_to_answer)
{
	static const WCHAR text[] = { 'a', 0x20ac };
	WCHAR wide[4];
	ULONG size = 77;

	EXPECT_EQ(RtlUnicodeToUTF8N(NULL, 0, NULL, text, 4), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlUTF8ToUnicodeN(wide, 8, &size, NULL, 1), STATUS_INVALID_PARAMETER_4);
	EXPECT_EQ(RtlUTF8ToUnicodeN(wide, 2, &size, "ab", 2), STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(size, 4);
	EXPECT_EQ(RtlUTF8ToUnicodeN(wide, 8, NULL, "ab", 2), STATUS_SUCCESS);
	EXPECT_EQ(wide[1], 'b');
}

NT_TEST(strings, what_a_counted_string_cannot_count_is_refused)
{
	UNICODE_STRING longest = { .Length = 0xfffe, .MaximumLength = 0xfffe };
	ANSI_STRING narrow = { 0 };
	GUID guid = { 0 };

	longest.Buffer = mem_alloc(0xfffe);
	for (unsigned i = 0; i < 0x7fff; i++)
		longest.Buffer[i] = 0x20ac; /* three bytes each */
	EXPECT_EQ(RtlUnicodeStringToAnsiString(&narrow, &longest, TRUE),
		  STATUS_INVALID_PARAMETER_2);
	mem_free(longest.Buffer);
	mem_fail_nth(1);
	EXPECT_EQ(RtlStringFromGUID(&guid, &longest), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_NO_REPORT();
}

TEST(strings, numbers_become_text_and_back)
{
	WCHAR buffer[40];
	UNICODE_STRING string = { 0, sizeof(buffer), buffer };
	ULONG value;

	EXPECT_EQ(RtlIntegerToUnicodeString(0, 10, &string), STATUS_SUCCESS);
	EXPECT(is_text(&string, L"0"));
	EXPECT_EQ(RtlIntegerToUnicodeString(0xbeef, 16, &string), STATUS_SUCCESS);
	EXPECT(is_text(&string, L"BEEF"));
	EXPECT_EQ(RtlIntegerToUnicodeString(0xffffffff, 2, &string), STATUS_SUCCESS);
	EXPECT_EQ(string.Length, 64);
	EXPECT_EQ(RtlIntegerToUnicodeString(1, 7, &string), STATUS_INVALID_PARAMETER);
	string.MaximumLength = 6;
	EXPECT_EQ(RtlIntegerToUnicodeString(1234, 0, &string), STATUS_BUFFER_OVERFLOW);
	string.MaximumLength = sizeof(buffer);
	EXPECT_EQ(RtlInt64ToUnicodeString(1ull << 40, 10, &string), STATUS_SUCCESS);
	EXPECT(is_text(&string, L"1099511627776"));

	static const struct {
		const WCHAR *text;
		ULONG base;
		ULONG value;
	} cases[] = { { L" 0x1f", 0, 0x1f }, { L"-1", 10, 0xffffffff },
		      { L"0b101", 0, 5 },    { L"0o17", 0, 15 },
		      { L"12z", 10, 12 },    { L"ff", 16, 255 },
		      { L"", 0, 0 },         { L"9", 8, 0 } };
	for (size_t i = 0; i < ARRAYSIZE(cases); i++) {
		RtlInitUnicodeString(&string, cases[i].text);
		value = 77;
		EXPECT_EQ(RtlUnicodeStringToInteger(&string, cases[i].base, &value),
			  STATUS_SUCCESS);
		EXPECT_EQ(value, cases[i].value);
	}
	EXPECT_EQ(RtlUnicodeStringToInteger(&string, 3, &value), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlUnicodeStringToInteger(&string, 10, NULL), STATUS_ACCESS_VIOLATION);
}

NT_TEST(strings, guids_become_text_and_back)
{
	GUID guid = { 0x01020304, 0x0506, 0x0708, { 9, 10, 11, 12, 13, 14, 15, 10 } };
	GUID back;
	UNICODE_STRING string = { 0 };

	EXPECT_EQ(RtlStringFromGUID(&guid, &string), STATUS_SUCCESS);
	EXPECT(is_text(&string, L"{01020304-0506-0708-090A-0B0C0D0E0F0A}"));
	EXPECT_EQ(RtlGUIDFromString(&string, &back), STATUS_SUCCESS);
	EXPECT(IsEqualGUID(&guid, &back));
	string.Buffer[37] = L')';
	EXPECT_EQ(RtlGUIDFromString(&string, &back), STATUS_INVALID_PARAMETER);
	string.Buffer[37] = L'}';
	string.Buffer[3] = L'g';
	EXPECT_EQ(RtlGUIDFromString(&string, &back), STATUS_INVALID_PARAMETER);
	string.Length = 10;
	EXPECT_EQ(RtlGUIDFromString(&string, &back), STATUS_INVALID_PARAMETER);
	RtlFreeUnicodeString(&string);
}

TEST(strings, narrow_copies_stay_inside_the_buffer)
{
	char storage[4] = "zzz";
	STRING narrow = { .MaximumLength = 2, .Buffer = storage };
	STRING source;

	RtlInitAnsiString(&source, "abc");
	RtlCopyString(&narrow, &source);
	EXPECT(narrow.Length == 2 && memcmp(storage, "abz", 3) == 0);
	source.Length = 1;
	RtlCopyString(&narrow, &source);
	EXPECT_EQ(narrow.Length, 1);
	RtlCopyString(&narrow, NULL);
	EXPECT_EQ(narrow.Length, 0);
}

TEST(strings, appending_nothing_changes_nothing)
{
	WCHAR storage[4] = L"ab";
	UNICODE_STRING string = { .Length = 4, .MaximumLength = 4, .Buffer = storage };
	UNICODE_STRING empty = { 0 };

	EXPECT_EQ(RtlAppendUnicodeStringToString(&string, &empty), STATUS_SUCCESS);
	EXPECT_EQ(RtlAppendUnicodeToString(&string, NULL), STATUS_SUCCESS);
	EXPECT_EQ(RtlAppendUnicodeToString(&string, L"c"), STATUS_BUFFER_TOO_SMALL);
	EXPECT(is_text(&string, L"ab"));
}

TEST(strings, of_two_narrow_strings_with_one_beginning_the_longer_is_greater)
{
	STRING shorter;
	STRING longer;

	RtlInitAnsiString(&shorter, "Abc");
	RtlInitAnsiString(&longer, "abcd");
	EXPECT(RtlCompareString(&shorter, &longer, TRUE) < 0);
	EXPECT(RtlCompareString(&longer, &shorter, TRUE) > 0);
	EXPECT(RtlCompareString(&shorter, &longer, FALSE) < 0);
}

NT_TEST(strings, upper_case_goes_into_room_of_the_caller_or_fresh_pool)
{
	WCHAR storage[3];
	UNICODE_STRING source;
	UNICODE_STRING upper = { .MaximumLength = sizeof(storage), .Buffer = storage };
	UNICODE_STRING empty = { 0 };

	EXPECT_EQ(RtlDowncaseUnicodeChar(L'Q'), L'q');
	RtlInitUnicodeString(&source, L"aBc");
	EXPECT_EQ(RtlUpcaseUnicodeString(&upper, &source, FALSE), STATUS_SUCCESS);
	EXPECT(is_text(&upper, L"ABC"));
	upper.MaximumLength = 4;
	EXPECT_EQ(RtlUpcaseUnicodeString(&upper, &source, FALSE), STATUS_BUFFER_OVERFLOW);
	EXPECT_EQ(RtlUpcaseUnicodeString(&upper, &empty, FALSE), STATUS_SUCCESS);
	EXPECT_EQ(upper.Length, 0);
	EXPECT_EQ(RtlUpcaseUnicodeString(&upper, &source, TRUE), STATUS_SUCCESS);
	EXPECT(is_text(&upper, L"ABC") && upper.Buffer[3] == 0);
	RtlFreeUnicodeString(&upper);
	mem_fail_nth(1);
	EXPECT_EQ(RtlUpcaseUnicodeString(&upper, &source, TRUE), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_NO_REPORT();
}

TEST_MAIN("nt/strings")
