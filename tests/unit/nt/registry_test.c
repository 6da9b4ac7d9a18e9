/* SPDX-License-Identifier: MIT */
/*
 * registry_test.c - the host's side of the registry, and the text file.
 */
#include "nt_harness.h"

#include <unistd.h>

#define SOFT NT_REGISTRY_SERVICES "\\soft0"

static char data[256];
static uint32_t type;
static size_t needed;

static NTSTATUS query(const char *path, const char *name)
{
	memset(data, 0x55, sizeof(data));
	return nt_registry_query(path, name, &type, data, sizeof(data), &needed);
}

TEST(registry, what_the_host_sets_it_finds_without_case)
{
	static const char *const list[] = { "one", "tw\xc3\xb6", "" };
	const uint8_t bytes[] = { 1, 0, 255 };

	nt_test_begin();
	EXPECT_EQ(nt_registry_set_dword(SOFT, "LocalMemoryMiB", 256), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_qword(SOFT, "Large", UINT64_C(1) << 40), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_string(SOFT, "Name", "Grafik\xc3\xbc"), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_strings(SOFT, "List", list, 2), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_binary(SOFT, "Blob", bytes, 3), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_binary(SOFT, "", NULL, 0), STATUS_SUCCESS);

	EXPECT_EQ(query("\\REGISTRY\\machine\\SYSTEM\\currentcontrolset\\services\\SOFT0",
			"LOCALMEMORYMIB"),
		  STATUS_SUCCESS);
	EXPECT(type == NT_REG_DWORD && needed == 4 && *(uint32_t *)(void *)data == 256);
	EXPECT_EQ(query(SOFT, "large"), STATUS_SUCCESS);
	EXPECT(type == NT_REG_QWORD && needed == 8);
	EXPECT_EQ(query(SOFT, "name"), STATUS_SUCCESS);
	EXPECT(type == NT_REG_SZ && needed == 9);
	EXPECT_STR(data, "Grafik\xc3\xbc");
	EXPECT_EQ(query(SOFT, "List"), STATUS_SUCCESS);
	EXPECT(type == NT_REG_MULTI_SZ && needed == 10 &&
	       memcmp(data, "one\0tw\xc3\xb6\0", 10) == 0);
	EXPECT_EQ(query(SOFT, "Blob"), STATUS_SUCCESS);
	EXPECT(type == NT_REG_BINARY && needed == 3 && memcmp(data, bytes, 3) == 0);
	EXPECT_EQ(query(SOFT, ""), STATUS_SUCCESS);
	EXPECT_EQ(needed, 0);

	/* A value is replaced, type and all. */
	EXPECT_EQ(nt_registry_set_dword(SOFT, "NAME", 7), STATUS_SUCCESS);
	EXPECT_EQ(query(SOFT, "Name"), STATUS_SUCCESS);
	EXPECT_EQ(type, NT_REG_DWORD);
	nt_test_finish();
}

TEST(registry, a_short_buffer_stays_and_the_size_is_told)
{
	nt_test_begin();
	EXPECT_EQ(nt_registry_set_string(SOFT, "Name", "abc"), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_query(SOFT, "Name", &type, data, 3, &needed),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(needed, 4);
	EXPECT_EQ(nt_registry_query(SOFT, "Name", &type, NULL, 0, &needed),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(nt_registry_query(SOFT, "Name", &type, data, 4, &needed), STATUS_SUCCESS);
	nt_test_finish();
}

TEST(registry, missing_and_malformed_paths_have_their_status)
{
	char longer[300] = "\\Registry\\Machine\\";

	nt_test_begin();
	EXPECT_EQ(query(SOFT, "x"), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(nt_registry_create_key(SOFT), STATUS_SUCCESS);
	EXPECT_EQ(query(SOFT, "x"), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(nt_registry_create_key(""), STATUS_OBJECT_PATH_SYNTAX_BAD);
	EXPECT_EQ(nt_registry_create_key("Registry\\Machine"), STATUS_OBJECT_PATH_SYNTAX_BAD);
	EXPECT_EQ(nt_registry_create_key("\\Device\\Video0"), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(nt_registry_create_key("\\Registry\\\\x"), STATUS_OBJECT_NAME_INVALID);
	memset(longer + strlen(longer), 'n', 256);
	EXPECT_EQ(nt_registry_create_key(longer), STATUS_OBJECT_NAME_INVALID);
	longer[strlen("\\Registry\\Machine\\") + 255] = '\0';
	EXPECT_EQ(nt_registry_create_key(longer), STATUS_SUCCESS);
	nt_registry_delete_tree(NT_REGISTRY_SERVICES);
	EXPECT_EQ(query(SOFT, "x"), STATUS_OBJECT_NAME_NOT_FOUND);
	nt_registry_delete_tree(NT_REGISTRY_SERVICES); /* not there: nothing happens */
	nt_registry_delete_tree("\\Registry");         /* the root stays */
	EXPECT_EQ(nt_registry_create_key(SOFT), STATUS_SUCCESS);
	nt_test_finish();
}

TEST(registry, every_allocation_failure_is_a_status_and_leaks_nothing)
{
	static const char *const list[] = { "a", "b" };
	unsigned n = 0;
	bool has_failed;

	nt_test_begin();
	do {
		struct mem_usage before = mem_usage();
		NTSTATUS status;

		mem_fail_nth(++n);
		status = nt_registry_set_strings(SOFT, "List", list, 2);
		if (NT_SUCCESS(status))
			status = query(SOFT, "List");
		has_failed = mem_fail_stop();
		EXPECT_EQ(NT_SUCCESS(status), !has_failed);
		nt_registry_finish();
		EXPECT_EQ(mem_usage().blocks, before.blocks);
	} while (has_failed);
	EXPECT(n > 8);
	nt_test_finish();
}

static char error[256];

static NTSTATUS load(const char *text)
{
	error[0] = '\0';
	return nt_registry_load_text("reg.txt", text, strlen(text), error, sizeof(error));
}

TEST(registry_file, reads_every_kind_of_value)
{
	nt_test_begin();
	EXPECT_EQ(load("; a comment\n"
		       "\n"
		       "[" SOFT "]\r\n"
		       "LocalMemoryMiB = dword:00000100 ; trailing\n"
		       "AddressModel=\"gpu\\\\mmu \\\"x\\\"\"\n"
		       "  \"Two words\" = hex:00,ff, 1\n"
		       "Large = qword:0000000100000000\n"
		       "Names = multi:\"one\",\"two\"\n"
		       "@ = \"default\"\n"
		       "Empty = hex:\n"
		       "[" SOFT "\\Device]\n"
		       "Last = dword:1"),
		  STATUS_SUCCESS);
	EXPECT_EQ(query(SOFT, "LocalMemoryMiB"), STATUS_SUCCESS);
	EXPECT_EQ(*(uint32_t *)(void *)data, 256);
	EXPECT_EQ(query(SOFT, "AddressModel"), STATUS_SUCCESS);
	EXPECT_STR(data, "gpu\\mmu \"x\"");
	EXPECT_EQ(query(SOFT, "Two words"), STATUS_SUCCESS);
	EXPECT(needed == 3 && memcmp(data, "\x00\xff\x01", 3) == 0);
	EXPECT_EQ(query(SOFT, "Large"), STATUS_SUCCESS);
	EXPECT_EQ(*(uint64_t *)(void *)data, UINT64_C(1) << 32);
	EXPECT_EQ(query(SOFT, "Names"), STATUS_SUCCESS);
	EXPECT(memcmp(data, "one\0two\0", 9) == 0);
	EXPECT_EQ(query(SOFT, ""), STATUS_SUCCESS);
	EXPECT_STR(data, "default");
	EXPECT_EQ(query(SOFT, "Empty"), STATUS_SUCCESS);
	EXPECT_EQ(needed, 0);
	EXPECT_EQ(query(SOFT "\\Device", "Last"), STATUS_SUCCESS);
	EXPECT_EQ(load(""), STATUS_SUCCESS);
	nt_test_finish();
}

TEST(registry_file, a_mistake_has_a_place_and_changes_nothing)
{
	static const struct {
		const char *text;
		const char *error;
	} cases[] = {
		{ "x = dword:1", "reg.txt:1:1: expected a [key]" },
		{ "[\\Registry\\a]\nGood = dword:1\n\n  x dword:1\n", "reg.txt:4:12: expected =" },
		{ "[\\Registry\\a]\nx = 5", "reg.txt:2:5: expected \"text\", dword:" },
		{ "[\\Registry\\a]\nx = dword:", "reg.txt:2:11: expected a hexadecimal digit" },
		{ "[\\Registry\\a]\nx = dword:123456789", "reg.txt:2:19: expected at most 8" },
		{ "[\\Registry\\a]\nx = dword:1g", "reg.txt:2:12: expected the end of the line" },
		{ "[\\Registry\\a]\nx = \"abc\n", "reg.txt:2:9: expected \" before the end" },
		{ "[\\Registry\\a]\nx = \"a\\q\"\n", "reg.txt:2:8: expected \\, \", n or t" },
		{ "[\\Registry\\a]\nx = hex:1,zz", "reg.txt:2:11: expected a hexadecimal digit" },
		{ "[\\Registry\\a]\nx = multi:\"a\",b", "reg.txt:2:15: expected \" here" },
		{ "[\\Registry\\a", "reg.txt:1:13: expected ]" },
		{ "[Machine\\a]", "reg.txt:1:2: expected a key that begins with" },
		{ "[\\Registry\\]", "reg.txt:1:2: expected a key that begins with" },
		{ "[\\Registry\\a\\\\b]", "reg.txt:1:14: expected a name of 1 to 255" },
		{ "[\\Registry\\a]\n= dword:1", "reg.txt:2:1: expected a name" },
		{ "[\\Registry\\a] x", "reg.txt:1:15: expected the end of the line" },
	};

	nt_test_begin();
	for (size_t i = 0; i < ARRAYSIZE(cases); i++) {
		EXPECT_EQ(load(cases[i].text), STATUS_INVALID_PARAMETER);
		EXPECT_CONTAINS(error, cases[i].error);
		EXPECT_EQ(query("\\Registry\\a", "Good"), STATUS_OBJECT_NAME_NOT_FOUND);
	}
	nt_test_finish();
}

TEST(registry_file, cut_anywhere_it_neither_crashes_nor_leaks)
{
	static const char text[] = "[\\Registry\\a]\nx = \"a\\n\"\ny = multi:\"a\",\"b\"\n"
				   "z = hex:00,11\n\"q\" = qword:1\n";

	nt_test_begin();
	for (size_t length = 0; length < sizeof(text); length++) {
		char *copy = mem_alloc(length + 1); /* no terminator within reach */
		memcpy(copy, text, length);
		(void)!nt_registry_load_text("reg.txt", copy, length, error, sizeof(error));
		mem_free(copy);
	}
	nt_test_finish();
}

TEST(registry_file, comes_from_a_file_that_may_not_be_there)
{
	char name[] = "/tmp/dxgk-registry-XXXXXX";
	int fd = mkstemp(name);
	static const char text[] = "[" SOFT "]\nFromFile = dword:2a\n";

	nt_test_begin();
	EXPECT_EQ(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	close(fd);
	EXPECT_EQ(nt_registry_load_file(name, error, sizeof(error)), STATUS_SUCCESS);
	EXPECT_EQ(query(SOFT, "FromFile"), STATUS_SUCCESS);
	EXPECT_EQ(*(uint32_t *)(void *)data, 42);
	unlink(name);
	EXPECT_EQ(nt_registry_load_file(name, error, sizeof(error)), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_CONTAINS(error, name);
	EXPECT(nt_registry_load_file("/tmp", error, sizeof(error)) != STATUS_NO_MEMORY);
	nt_test_finish();
}

TEST_MAIN("nt/registry")
