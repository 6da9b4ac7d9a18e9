/* SPDX-License-Identifier: MIT */
/*
 * json_test.c - what is read, and that every mistake is named with its place.
 */
#include "support/failing.h"

#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/json.h"

/* The text as a file that can be opened by path. */
struct text_file {
	int descriptor;
	char path[64];
};

static struct text_file file_with(const char *text)
{
	struct text_file file = { .descriptor = memfd_create("profile", MFD_CLOEXEC) };

	EXPECT(file.descriptor >= 0);
	EXPECT(write(file.descriptor, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.descriptor);
	return file;
}

static NTSTATUS read_text(const char *text, struct json_document *document)
{
	struct text_file file = file_with(text);
	NTSTATUS status = json_read(file.path, document);

	close(file.descriptor);
	return status;
}

TEST(json, values_of_every_kind_are_read_with_their_place)
{
	struct json_document document;

	EXPECT_EQ(read_text("{\"a\": [1, -2.5e1, true, false, null],\n  \"b\": \"x\\n\\u00e9\\ud83d"
			    "\\ude00\", \"c\": {}}",
			    &document),
		  STATUS_SUCCESS);
	struct json *root = document.root;
	EXPECT_EQ(root->type, JSON_OBJECT);
	EXPECT_EQ(root->count, 3);
	struct json *a = root->first;
	EXPECT_STR(a->name, "a");
	EXPECT_EQ(a->type, JSON_ARRAY);
	EXPECT_EQ(a->count, 5);
	EXPECT(a->first->number == 1);
	EXPECT(a->first->next->number == -25);
	EXPECT(a->first->next->next->boolean);
	EXPECT(!a->first->next->next->next->boolean);
	EXPECT_EQ(a->first->next->next->next->next->type, JSON_NULL);
	struct json *b = a->next;
	EXPECT_EQ(b->line, 2);
	EXPECT_EQ(b->column, 8);
	EXPECT_STR(b->string, "x\n\xc3\xa9\xf0\x9f\x98\x80");
	EXPECT_EQ(b->next->type, JSON_OBJECT);
	EXPECT_EQ(b->next->count, 0);
	json_finish(&document);
}

TEST(json, escapes_and_exponents_may_be_written_in_either_case)
{
	struct json_document document;

	EXPECT_EQ(read_text("\t[\r\n\"\\u00E9\\uFFfd\", 1E2, 1e-2]", &document), STATUS_SUCCESS);
	const struct json *text = document.root->first;
	EXPECT_STR(text->string, "\xc3\xa9\xef\xbf\xbd");
	EXPECT(text->next->number == 100.0);
	EXPECT(text->next->next->number == 0.01);
	json_finish(&document);
}

TEST(json, every_mistake_is_named_with_line_and_column)
{
	static const struct text_case cases[] = {
		{ "", ":1:1: expected a value, found the end of the file" },
		{ "{", ":1:2: expected a member name in quotes, found the end of the file" },
		{ "{a:1}", ":1:2: expected a member name in quotes, found 'a'" },
		{ "{\"a\" 1}", ":1:6: expected ':' after the member name, found '1'" },
		{ "{\"a\":1,}", ":1:8: expected a member name in quotes, found '}'" },
		{ "{\"a\":1 \"b\":2}", ":1:8: expected ',' or '}', found '\"'" },
		{ "[1 2]", ":1:4: expected ',' or ']', found '2'" },
		{ "[1,\n 2,\n x]", ":3:2: expected a value, found 'x'" },
		{ "\"abc", ":1:5: expected the end of the string (\"), found the end of the file" },
		{ "\"a\tb\"", ":1:3: expected the end of the string (\"), found byte 0x09" },
		{ "\"\\q\"",
		  ":1:3: expected one of \" \\ / b f n r t u after a backslash, found 'q'" },
		{ "\"\\", "after a backslash, found the end of the file" },
		{ "\"\\u12g4\"", "expected four hexadecimal digits" },
		{ "\"\\u12G4\"", "expected four hexadecimal digits" },
		{ "\"\\u12:4\"", "expected four hexadecimal digits" },
		{ "\"\\u12 4\"", "expected four hexadecimal digits" },
		{ "\"\\u12", "expected four hexadecimal digits, found the end of the file" },
		{ "\"\\ud800x\"", "expected the second half of a surrogate pair" },
		{ "\"\\ud800\\u12g4\"", "expected the second half of a surrogate pair" },
		{ "\"\\ud800\\u0041\"", "expected the second half of a surrogate pair" },
		{ "\"\\ud800\\ue000\"", "expected the second half of a surrogate pair" },
		{ "\"\\udc00\"", "expected the first half of a surrogate pair" },
		{ "\"\\u0000\"", "expected a character other than" },
		{ "-", ":1:2: expected a digit, found the end of the file" },
		{ "1.", "expected a digit after the point" },
		{ "1e+", "expected a digit of the exponent" },
		{ "01", ":1:2: expected the end of the file, found '1'" },
		{ "nul", ":1:1: expected a value, found 'n'" },
		{ "{} x", ":1:4: expected the end of the file, found 'x'" },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "expected at most 32 levels of nesting" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json_document document;
		EXPECT_EQ(read_text(cases[i].given, &document), STATUS_OBJECT_PATH_SYNTAX_BAD);
		EXPECT_CONTAINS(document.problem, cases[i].said);
		EXPECT(document.root == NULL);
		json_finish(&document);
	}
}

TEST(json, a_file_that_cannot_be_opened_says_why)
{
	struct json_document document;

	EXPECT_EQ(json_read("/nonexistent/profile.json", &document), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_CONTAINS(document.problem, "/nonexistent/profile.json: No such file");
	json_finish(&document);
	EXPECT_EQ(json_read("/", &document), STATUS_UNSUCCESSFUL);
	EXPECT_CONTAINS(document.problem, "Is a directory");
	json_finish(&document);
}

TEST(json, a_file_larger_than_the_bound_is_refused)
{
	struct json_document document;

	EXPECT_EQ(json_read("/dev/zero", &document), STATUS_OBJECT_PATH_SYNTAX_BAD);
	EXPECT_CONTAINS(document.problem, "larger than 1 MiB");
	json_finish(&document);
}

TEST(json, every_allocation_may_fail_and_nothing_is_left)
{
	struct json_document document;

	EXPECT_EACH_FAILURE_TOLD(8, read_text("{\"a\":[1,{\"b\":\"c\"}],\"d\":null}", &document),
				 json_finish(&document));
}

TEST(json, a_line_of_a_file_is_named_by_its_number)
{
	static const char good[] = "{\"seed\": 7, \"plan\": \"late-dpc 3ms\"}";
	static const char bad[] = "{\"seed\" 7}";
	struct json_document document;

	EXPECT_EQ(json_read_line("results.jsonl", 1, good, strlen(good), &document),
		  STATUS_SUCCESS);
	EXPECT(json_member(document.root, "seed")->number == 7);
	EXPECT_STR(json_member(document.root, "plan")->string, "late-dpc 3ms");
	EXPECT(!json_member(document.root, "see"));
	EXPECT(!json_member(json_member(document.root, "seed"), "seed"));
	EXPECT(!json_member(NULL, "seed"));
	json_finish(&document);

	EXPECT_EQ(json_read_line("results.jsonl", 12, bad, strlen(bad), &document),
		  STATUS_OBJECT_PATH_SYNTAX_BAD);
	EXPECT_STR(document.problem,
		   "results.jsonl:12:9: expected ':' after the member name, found '7'");
	json_finish(&document);
}

TEST(json, what_a_member_is_not_is_nothing)
{
	static const char text[] =
		"{\"n\": 7, \"t\": \"7\", \"minus\": -1, \"most\": "
		"18446744073709549568, \"more\": 18446744073709551616, \"huge\": 1e300}";
	struct json_document document;

	EXPECT_EQ(read_text(text, &document), STATUS_SUCCESS);
	EXPECT_EQ(json_number_of(document.root, "n"), 7);
	EXPECT_EQ(json_number_of(document.root, "most"), UINT64_MAX - 2047);
	EXPECT_STR(json_text_of(document.root, "t"), "7");
	EXPECT_STR(json_text_of(document.root, "n"), "");
	EXPECT_STR(json_text_of(document.root, "none"), "");
	static const char *const nothing[] = { "t", "minus", "more", "huge", "none" };
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		EXPECT_EQ(json_number_of(document.root, nothing[i]), 0);
	json_finish(&document);
}

TEST_MAIN("base/json")
