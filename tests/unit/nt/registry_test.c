/* SPDX-License-Identifier: MIT */
/*
 * registry_test.c - the host's side of the registry.
 */
#include "nt_harness.h"
#include "support/failing.h"

#define SOFT NT_REGISTRY_SERVICES "\\soft0"

static char data[256];
static uint32_t type;
static size_t needed;

static NTSTATUS query(const char *path, const char *name)
{
	memset(data, 0x55, sizeof(data));
	return nt_registry_query(path, name, &type, data, sizeof(data), &needed);
}

NT_TEST(registry, what_the_host_sets_it_finds_without_case)
{
	static const char *const list[] = { "one", "tw\xc3\xb6", "" };
	const uint8_t bytes[] = { 1, 0, 255 };

	EXPECT_EQ(nt_registry_set_dword(SOFT, "LocalMemoryMiB", 256), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_string(SOFT, "Name", "Grafik\xc3\xbc"), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_strings(SOFT, "List", list, 2), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_binary(SOFT, "Blob", bytes, 3), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_binary(SOFT, "", NULL, 0), STATUS_SUCCESS);

	EXPECT_EQ(query("\\REGISTRY\\machine\\SYSTEM\\currentcontrolset\\services\\SOFT0",
			"LOCALMEMORYMIB"),
		  STATUS_SUCCESS);
	EXPECT(type == NT_REG_DWORD && needed == 4 && *(uint32_t *)(void *)data == 256);
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
}

NT_TEST(registry, a_short_buffer_stays_and_the_size_is_told)
{
	EXPECT_EQ(nt_registry_set_string(SOFT, "Name", "abc"), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_query(SOFT, "Name", &type, data, 3, &needed),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(needed, 4);
	EXPECT_EQ(nt_registry_query(SOFT, "Name", &type, NULL, 0, &needed),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(nt_registry_query(SOFT, "Name", &type, data, 4, &needed), STATUS_SUCCESS);
}

NT_TEST(registry, missing_and_malformed_paths_have_their_status)
{
	char longer[300] = "\\Registry\\Machine\\";

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
}

NT_TEST(registry, every_allocation_failure_is_a_status_and_leaks_nothing)
{
	static const char *const list[] = { "a", "b" };

	EACH_FAILURE (failing, 8) {
		struct mem_usage before = mem_usage();
		NTSTATUS status;

		failing_start(&failing);
		status = nt_registry_set_strings(SOFT, "List", list, 2);
		if (NT_SUCCESS(status))
			status = query(SOFT, "List");
		bool has_failed = failing_stop(&failing);
		EXPECT_EQ(NT_SUCCESS(status), !has_failed);
		nt_registry_finish();
		EXPECT_EQ(mem_usage().blocks, before.blocks);
	}
}

TEST_MAIN("nt/registry")
