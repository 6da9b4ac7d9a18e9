/* SPDX-License-Identifier: MIT */
/*
 * profile_test.c - DXGK_PROFILE: which adapters there are, and what is said about a broken file.
 */
#include "api/support.h"

#include <locale.h>
#include <wchar.h>

/* Prints one line per adapter: LUID, name, LocalMemoryMiB. */
static void print_adapter(const D3DKMT_ADAPTERINFO *info)
{
	static D3DKMT_DRIVER_DESCRIPTION description;
	static D3DDDI_QUERYREGISTRY_INFO value;

	CHILD_EXPECT(query_adapter(info->hAdapter, KMTQAITYPE_DRIVER_DESCRIPTION, &description,
				   sizeof(description)) == STATUS_SUCCESS);
	value = (D3DDDI_QUERYREGISTRY_INFO){ .QueryType = D3DDDI_QUERYREGISTRY_ADAPTERKEY };
	wcscpy(value.ValueName, L"Probe");
	CHILD_EXPECT(query_adapter(info->hAdapter, KMTQAITYPE_QUERYREGISTRY, &value,
				   sizeof(value)) == STATUS_SUCCESS);
	printf("%08x \"%ls\"", info->AdapterLuid.LowPart, description.DriverDescription);
	if (value.Status == D3DDDI_QUERYREGISTRY_STATUS_SUCCESS)
		printf(" Probe=%u", value.OutputDword);
	if (value.Status == D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW)
		printf(" Probe has %u bytes", value.OutputValueSize);
	printf("\n");
}

CHILD(list_adapters)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	setlocale(LC_ALL, "");
	NTSTATUS status = D3DKMTEnumAdapters2(&all);
	if (status != STATUS_SUCCESS) {
		struct dxgk_refusal why = last_refusal();
		CHILD_EXPECT(why.status == status);
		printf("0x%08x %s %s\n", (unsigned)status, why.rule, why.reason);
		return 1;
	}
	for (ULONG i = 0; i < all.NumAdapters; i++)
		print_adapter(&infos[i]);
	return 0;
}

static const struct child_result *list_with(const char *profile)
{
	return run_child("list_adapters", profile_setting(profile));
}

/* ---- good ones ---- */

TEST(profile, without_one_there_is_the_default_adapter)
{
	const struct child_result *child = run_child("list_adapters");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"opendxgk Soft GPU\"\n");
	EXPECT_STR(child->err, "");
}

TEST(profile, an_empty_name_of_a_file_is_none)
{
	const struct child_result *child =
		run_child("list_adapters", "DXGK_PROFILE=", "DXGK_SOCKET=", "DXGK_SEED=");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"opendxgk Soft GPU\"\n");
	EXPECT_STR(child->err, "");
}

TEST(profile, adapters_come_in_its_order_each_with_its_registry)
{
	const struct child_result *child = list_with(
		"{\"adapters\": [\n"
		"  {\"driver\": \"soft\", \"name\": \"one\", \"registry\": {\"Probe\": 1}},\n"
		"  {\"driver\": \"soft\", \"name\": \"two\", \"registry\": "
		"{\"Probe\": 2, \"AddressModel\": \"physical\"}}\n"
		"]}\n");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"one\" Probe=1\n00010001 \"two\" Probe=2\n");
}

TEST(profile, without_a_name_the_driver_gives_it)
{
	const struct child_result *child = list_with("{\"adapters\":[{\"driver\":\"soft\"}]}");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"soft\"\n");
}

TEST(profile, a_name_may_be_in_any_script)
{
	const struct child_result *child = run_child(
		"list_adapters", "LC_ALL=C.UTF-8",
		profile_setting("{\"adapters\":[{\"driver\":\"soft\","
				"\"name\":\"gr\\u00fcn \\ud83d\\ude00 \xd0\xb6 \\\"\"}]}"));

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"gr\xc3\xbcn \xf0\x9f\x98\x80 \xd0\xb6 \"\"\n");
}

TEST(profile, a_driver_may_be_an_absolute_path)
{
	char profile[8192];
	const char *folder = getenv("DXGK_DRIVER_PATH");

	EXPECT(folder);
	snprintf(profile, sizeof(profile),
		 "{\"adapters\":[{\"driver\":\"%s/soft.so\",\"name\":\"here\"}]}", folder);
	const struct child_result *child = list_with(profile);
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"here\"\n");
}

TEST(profile, any_path_that_can_be_opened_works)
{
	static const char text[] = "{\"adapters\":[{\"driver\":\"soft\",\"name\":\"from a file "
				   "descriptor\"}]}";
	int file = memfd_create("profile", 0); /* inherited by the child */
	char setting[64];

	EXPECT_EQ(write(file, text, strlen(text)), strlen(text));
	snprintf(setting, sizeof(setting), "DXGK_PROFILE=/proc/self/fd/%d", file);
	const struct child_result *child = run_child("list_adapters", setting);
	close(file);
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"from a file descriptor\"\n");
}

TEST(profile, numbers_reach_to_the_end_of_32_bits)
{
	const struct child_result *child =
		list_with("{\"adapters\":[{\"driver\":\"soft\",\"name\":\"a\","
			  "\"registry\":{\"Probe\":4294967295}}]}");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"a\" Probe=4294967295\n");
	child = list_with("{\"adapters\":[{\"driver\":\"soft\",\"name\":\"a\","
			  "\"registry\":{\"Probe\":4.2e1}}]}");
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"a\" Probe=42\n");
}

TEST(profile, a_text_may_be_long)
{
	static char profile[20000];
	size_t used = (size_t)snprintf(profile, sizeof(profile),
				       "{\"adapters\":[{\"driver\":\"soft\",\"name\":\"a\","
				       "\"registry\":{\"Probe\":\"");

	memset(profile + used, 'x', 6000);
	strcpy(profile + used + 6000, "\"}}]}");
	const struct child_result *child = list_with(profile);
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"a\" Probe has 24004 bytes\n");
}

TEST(profile, an_empty_list_means_no_adapters)
{
	const struct child_result *child = list_with("{\"adapters\":[]}");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "");
}

TEST(profile, sixteen_adapters_start_and_seventeen_are_refused)
{
	char profile[4096] = "{\"adapters\":[";
	const struct child_result *child;
	unsigned lines = 0;

	for (unsigned i = 0; i < 16; i++) {
		strcat(profile, i ? "," : "");
		strcat(profile, "{\"driver\":\"soft\",\"registry\":{\"LocalMemoryMiB\":1,"
				"\"ApertureMiB\":1}}");
	}
	size_t sixteen = strlen(profile);
	strcat(profile, "]}");
	child = list_with(profile);
	EXPECT_CHILD(child, 0);
	for (const char *at = child->out; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	EXPECT_EQ(lines, 16);

	strcpy(profile + sixteen, ",{\"driver\":\"soft\"}]}");
	child = list_with(profile);
	EXPECT_CHILD(child, 1);
	EXPECT_CONTAINS(child->err, ":1:13: expected at most 16 adapters, found 17");
}

/* ---- broken ones ---- */

/* Refused with the place and what was expected, in the record and on standard error. */
static void expect_complaint(const char *profile, const char *complaint)
{
	const struct child_result *child = list_with(profile);

	if (child->exit_status != 1 || !strstr(child->out, complaint) ||
	    !strstr(child->err, complaint))
		print_error("for %s\nexpected \"%s\", found\n%s%s", profile, complaint, child->out,
			    child->err);
	EXPECT_EQ(child->exit_status, 1);
	EXPECT_CONTAINS(child->out, "0xc0000001 SYS-PROFILE profile /tmp/dxgk-test-");
	EXPECT_CONTAINS(child->out, complaint);
	EXPECT_CONTAINS(child->err, complaint);
}

TEST(broken_profile, syntax_errors_say_line_column_and_what_was_expected)
{
	static const struct text_case cases[] = {
		{ "", ":1:1: expected a value, found the end of the file" },
		{ "{", ":1:2: expected a member name in quotes, found the end of the file" },
		{ "{\n\n  x", ":3:3: expected a member name in quotes, found 'x'" },
		{ "{\"adapters\"", ":1:12: expected ':' after the member name, found the end" },
		{ "{\"adapters\" []}", ":1:13: expected ':' after the member name, found '['" },
		{ "{\"adapters\": }", ":1:14: expected a value, found '}'" },
		{ "{\"adapters\": [}", ":1:15: expected a value, found '}'" },
		{ "{\"adapters\": [],}", ":1:17: expected a member name in quotes, found '}'" },
		{ "{\"adapters\": [] []}", ":1:17: expected ',' or '}', found '['" },
		{ "{\"adapters\": [{} {}]}", ":1:18: expected ',' or ']', found '{'" },
		{ "{\"adapters\": []}\n x", ":2:2: expected the end of the file, found 'x'" },
		{ "{\"adapters\": nul}", ":1:14: expected a value, found 'n'" },
		{ "{\"adapters\": +1}", ":1:14: expected a value, found '+'" },
		{ "{\"adapters\": -}", ":1:15: expected a digit, found '}'" },
		{ "{\"adapters\": 01}", ":1:15: expected ',' or '}', found '1'" },
		{ "{\"adapters\": 1.}", ":1:16: expected a digit after the point, found '}'" },
		{ "{\"adapters\": 1e}", ":1:16: expected a digit of the exponent, found '}'" },
		{ "{\"adapters\": \"a\nb\"}", ":1:16: expected the end of the string (\"), found" },
		{ "{\"adapters\": \"a",
		  ":1:16: expected the end of the string (\"), found the end" },
		{ "{\"adapters\": \"\\x\"}", ":1:16: expected one of \" \\ / b f n r t u" },
		{ "{\"adapters\": \"\\u12g4\"}", ": expected four hexadecimal digits, found 'g'" },
		{ "{\"adapters\": \"\\ud800\"}", ": expected the second half of a surrogate pair" },
		{ "{\"adapters\": \"\\udc00\"}", ": expected the first half of a surrogate pair" },
		{ "\xef\xbb\xbf{}", ":1:1: expected a value, found byte 0xef" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_complaint(cases[i].given, cases[i].said);
}

TEST(broken_profile, wrong_types_say_what_was_expected)
{
	static const struct text_case cases[] = {
		{ "[]", ":1:1: expected an object as the profile, found an array" },
		{ "null", ":1:1: expected an object as the profile, found null" },
		{ "{}", ":1:1: expected \"adapters\" in the profile" },
		{ "{\"adapter\": []}",
		  ":1:13: expected \"adapters\" or \"limits\", found \"adapter\"" },
		{ "{\"adapters\": {}}",
		  ":1:14: expected an array as \"adapters\", found an object" },
		{ "{\"adapters\": [], \"adapters\": []}", "\"adapters\" was given before" },
		{ "{\"adapters\": [3]}",
		  ":1:15: expected an object as an adapter, found a number" },
		{ "{\"adapters\": [\n {}]}", ":2:2: expected \"driver\" in this adapter" },
		{ "{\"adapters\": [{\"driver\": true}]}",
		  ":1:26: expected a string as \"driver\", found true or false" },
		{ "{\"adapters\": [{\"driver\": \"\"}]}",
		  ":1:26: expected \"driver\", found an empty string" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"driver\": \"soft\"}]}",
		  "\"driver\" was given before" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"name\": 1}]}",
		  ": expected a string as \"name\", found a number" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"colour\": 1}]}",
		  "\"hardwareIds\" or \"compatibleIds\", found \"colour\"" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"registry\": []}]}",
		  ": expected an object as \"registry\", found an array" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"registry\": {\"a\": null}}]}",
		  ": expected a number, a string, an array or an object as registry value, found "
		  "null" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"registry\": {\"a\": 4294967296}}]}",
		  ":1:52: expected a whole number from 0 to 4294967295" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"registry\": {\"a\": -1}}]}",
		  ": expected a whole number from 0 to 4294967295" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"registry\": {\"a\": 1.5}}]}",
		  ": expected a whole number from 0 to 4294967295" },
		{ "{\"adapters\": [{\"driver\": \"soft\", \"registry\": {\"a\": 1e999}}]}",
		  ": expected a whole number from 0 to 4294967295" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_complaint(cases[i].given, cases[i].said);
}

/* The whole number counts, not its first so many digits. */
TEST(broken_profile, a_number_of_many_digits_is_read_to_its_end)
{
	char profile[512];
	char digits[101];

	memset(digits, '0', sizeof(digits) - 1);
	digits[sizeof(digits) - 1] = '\0';
	digits[0] = '1';
	snprintf(profile, sizeof(profile),
		 "{\"adapters\":[{\"driver\":\"soft\",\"registry\":{\"a\":%s}}]}", digits);
	expect_complaint(profile, ": expected a whole number from 0 to 4294967295");
	/* 0.000…0001e100 is 1. */
	memset(digits, '0', sizeof(digits) - 1);
	digits[1] = '.';
	digits[99] = '1';
	snprintf(profile, sizeof(profile),
		 "{\"adapters\":[{\"driver\":\"soft\",\"name\":\"a\",\"registry\":{\"Probe\":%se98}"
		 "}]}",
		 digits);
	const struct child_result *child = list_with(profile);
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "00010000 \"a\" Probe=1\n");
}

TEST(broken_profile, a_name_that_would_be_cut_is_refused)
{
	char profile[1024];
	char name[257];

	memset(name, 'n', sizeof(name) - 1);
	name[255] = '\0';
	snprintf(profile, sizeof(profile), "{\"adapters\":[{\"driver\":\"soft\",\"name\":\"%s\"}]}",
		 name);
	EXPECT_CHILD(list_with(profile), 0);
	name[255] = 'n';
	name[256] = '\0';
	snprintf(profile, sizeof(profile), "{\"adapters\":[{\"driver\":\"soft\",\"name\":\"%s\"}]}",
		 name);
	expect_complaint(profile, ":1:38: expected at most 255 bytes as \"name\", found 256");
}

TEST(broken_profile, nesting_without_end_is_refused)
{
	static char profile[10001];

	memset(profile, '[', sizeof(profile) - 1);
	expect_complaint(profile, ": expected at most 32 levels of nesting");
}

TEST(broken_profile, a_file_that_is_not_there_is_said)
{
	const struct child_result *child =
		run_child("list_adapters", "DXGK_PROFILE=/no/such/file.json");

	EXPECT_CHILD(child, 1);
	EXPECT_CONTAINS(child->out, "SYS-PROFILE profile /no/such/file.json: No such file or "
				    "directory");
	EXPECT_CONTAINS(child->err, "/no/such/file.json: No such file or directory");
	child = run_child("list_adapters", "DXGK_PROFILE=/tmp");
	EXPECT_CHILD(child, 1);
	EXPECT_CONTAINS(child->out, "SYS-PROFILE profile /tmp: Is a directory");
}

TEST(broken_profile, an_endless_file_is_refused)
{
	const struct child_result *child = run_child("list_adapters", "DXGK_PROFILE=/dev/zero");

	EXPECT_CHILD(child, 1);
	EXPECT_CONTAINS(child->out, "SYS-PROFILE profile /dev/zero: larger than 1 MiB");
}

CHILD(mend_and_try_again)
{
	const char *path = getenv("DXGK_PROFILE");
	static const char good[] = "{\"adapters\":[{\"driver\":\"soft\",\"name\":\"mended\"}]}";

	CHILD_EXPECT(child_list_adapters() == 1);
	int file = open(path, O_WRONLY | O_TRUNC);
	CHILD_EXPECT(write(file, good, strlen(good)) == (ssize_t)strlen(good));
	close(file);
	return child_list_adapters();
}

TEST(broken_profile, is_read_again_by_the_next_call)
{
	const struct child_result *child = run_child("mend_and_try_again", profile_setting("{"));

	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->out, "00010000 \"mended\"");
}

API_TEST_MAIN("api/profile")
