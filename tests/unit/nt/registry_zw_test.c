/* SPDX-License-Identifier: MIT */
/*
 * registry_zw_test.c - the registry through the routines of a driver.
 */
#include "nt_harness.h"

#define SERVICE L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\zw"

static UNICODE_STRING unicode(const WCHAR *text)
{
	UNICODE_STRING string;

	RtlInitUnicodeString(&string, text);
	return string;
}

static NTSTATUS open_key(HANDLE root, const WCHAR *path, HANDLE *handle)
{
	UNICODE_STRING name = unicode(path);
	OBJECT_ATTRIBUTES attributes;

	InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE,
				   root, NULL);
	return ZwOpenKey(handle, KEY_READ, &attributes);
}

static NTSTATUS create_key(HANDLE root, const WCHAR *path, HANDLE *handle, ULONG *disposition)
{
	UNICODE_STRING name = unicode(path);
	OBJECT_ATTRIBUTES attributes;

	InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE,
				   root, NULL);
	return ZwCreateKey(handle, KEY_ALL_ACCESS, &attributes, 0, NULL, REG_OPTION_VOLATILE,
			   disposition);
}

static HANDLE begin(void)
{
	HANDLE key;

	nt_test_begin();
	EXPECT_EQ(nt_registry_create_key(NT_REGISTRY_SERVICES "\\zw"), STATUS_SUCCESS);
	EXPECT_EQ(open_key(NULL, SERVICE, &key), STATUS_SUCCESS);
	return key;
}

static void finish(HANDLE key)
{
	EXPECT_EQ(ZwClose(key), STATUS_SUCCESS);
	nt_test_finish();
}

TEST(registry_zw, keys_are_opened_absolutely_relatively_and_again)
{
	HANDLE key = begin();
	HANDLE other;
	ULONG disposition;

	EXPECT_EQ(open_key(key, L"Sub", &other), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT(!other);
	EXPECT_EQ(create_key(key, L"Sub", &other, &disposition), STATUS_SUCCESS);
	EXPECT_EQ(disposition, REG_CREATED_NEW_KEY);
	ZwClose(other);
	EXPECT_EQ(create_key(key, L"SUB", &other, &disposition), STATUS_SUCCESS);
	EXPECT_EQ(disposition, REG_OPENED_EXISTING_KEY);
	ZwClose(other);
	EXPECT_EQ(open_key(key, L"", &other), STATUS_SUCCESS);
	ZwClose(other);
	EXPECT_EQ(open_key(key, L"\\Sub", &other), STATUS_OBJECT_PATH_SYNTAX_BAD);
	EXPECT_EQ(open_key(NULL, L"Sub", &other), STATUS_OBJECT_PATH_SYNTAX_BAD);
	/* Only the last name is created. */
	EXPECT_EQ(create_key(key, L"No\\Such", &other, NULL), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_NO_REPORT();
	EXPECT_EQ(open_key((HANDLE)4, L"Sub", &other), STATUS_INVALID_HANDLE);
	EXPECT_REPORTS(RULE_NT_HANDLE, 1);
	nt_report_reset();
	OBJECT_ATTRIBUTES broken = { 0 };
	EXPECT_EQ(ZwOpenKey(&other, KEY_READ, &broken), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(ZwOpenKey(&other, KEY_READ, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_REPORTS(RULE_NT_REGISTRY, 2);
	finish(key);
}

TEST(registry_zw, partial_information_follows_the_buffer_rules_exactly)
{
	HANDLE key = begin();
	UNICODE_STRING name = unicode(L"RenderOnly");
	union {
		KEY_VALUE_PARTIAL_INFORMATION info;
		UCHAR bytes[64];
	} buffer;
	ULONG length = 0;
	ULONG value = 0x11223344;

	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformation, &buffer, sizeof(buffer),
				  &length),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(ZwSetValueKey(key, &name, 0, REG_DWORD, &value, sizeof(value)), STATUS_SUCCESS);
	name = unicode(L"RENDERONLY");
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformation, &buffer, sizeof(buffer),
				  &length),
		  STATUS_SUCCESS);
	EXPECT_EQ(length, 16);
	EXPECT(buffer.info.Type == REG_DWORD && buffer.info.DataLength == 4);
	EXPECT_EQ(*(ULONG *)(void *)buffer.info.Data, value);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformation, &buffer, 16, &length),
		  STATUS_SUCCESS);

	/* One short: the fixed part and as much data as fits. */
	memset(&buffer, 0xee, sizeof(buffer));
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformation, &buffer, 15, &length),
		  STATUS_BUFFER_OVERFLOW);
	EXPECT_EQ(length, 16);
	EXPECT(buffer.info.DataLength == 4 && buffer.bytes[14] == 0x22 && buffer.bytes[15] == 0xee);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformation, &buffer, 12, &length),
		  STATUS_BUFFER_OVERFLOW);

	/* No room for the fixed part: untouched. */
	memset(&buffer, 0xee, sizeof(buffer));
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformation, &buffer, 11, &length),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(length, 16);
	EXPECT_EQ(buffer.bytes[0], 0xee);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformation, NULL, 0, &length),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(length, 16);
	EXPECT_EQ(
		ZwQueryValueKey(key, &name, (KEY_VALUE_INFORMATION_CLASS)99, &buffer, 64, &length),
		STATUS_INVALID_PARAMETER);
	EXPECT_NO_REPORT();
	finish(key);
}

TEST(registry_zw, aligned_information_has_its_data_behind_eight_bytes)
{
	HANDLE key = begin();
	UNICODE_STRING name = unicode(L"Value");
	uint64_t value = 0x1122334455667788;
	ULONG buffer[8];
	ULONG length;

	EXPECT_EQ(ZwSetValueKey(key, &name, 0, REG_QWORD, &value, sizeof(value)), STATUS_SUCCESS);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValuePartialInformationAlign64, buffer,
				  sizeof(buffer), &length),
		  STATUS_SUCCESS);
	EXPECT_EQ(length, 16);
	EXPECT(buffer[0] == REG_QWORD && buffer[1] == 8);
	EXPECT_EQ(memcmp(&buffer[2], &value, 8), 0);
	EXPECT_EQ(
		ZwQueryValueKey(key, &name, KeyValuePartialInformationAlign64, buffer, 12, &length),
		STATUS_BUFFER_OVERFLOW);
	EXPECT_NO_REPORT();
	finish(key);
}

TEST(registry_zw, what_is_no_key_is_refused_by_every_routine)
{
	HANDLE key = begin();
	HANDLE none = (HANDLE)(uintptr_t)0x7ffffffc;
	UNICODE_STRING name = unicode(L"Value");
	OBJECT_ATTRIBUTES attributes;
	ULONG value = 1;
	ULONG length;
	HANDLE again;

	EXPECT_EQ(ZwSetValueKey(none, &name, 0, REG_DWORD, &value, 4), STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwQueryValueKey(none, &name, KeyValueBasicInformation, NULL, 0, &length),
		  STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwEnumerateValueKey(none, 0, KeyValueBasicInformation, NULL, 0, &length),
		  STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwDeleteValueKey(none, &name), STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwQueryKey(none, KeyBasicInformation, NULL, 0, &length), STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwEnumerateKey(none, 0, KeyBasicInformation, NULL, 0, &length),
		  STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwDeleteKey(none), STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwFlushKey(none), STATUS_INVALID_HANDLE);
	EXPECT_EQ(open_key(none, L"Sub", &again), STATUS_INVALID_HANDLE);
	/* A child is described without the path that leads to it. */
	EXPECT_EQ(ZwEnumerateKey(key, 0, KeyNameInformation, NULL, 0, &length),
		  STATUS_INVALID_PARAMETER);

	name = unicode(SERVICE);
	InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE,
				   NULL, NULL);
	EXPECT_EQ(ZwOpenKeyEx(&again, KEY_READ, &attributes, 0), STATUS_SUCCESS);
	EXPECT_EQ(ZwClose(again), STATUS_SUCCESS);
	finish(key);
}

TEST(registry_zw, basic_and_full_information_carry_the_name)
{
	HANDLE key = begin();
	UNICODE_STRING name = unicode(L"Odd"); /* 6 bytes of name: the data starts aligned */
	union {
		KEY_VALUE_BASIC_INFORMATION basic;
		KEY_VALUE_FULL_INFORMATION full;
		UCHAR bytes[64];
	} buffer;
	ULONG length;
	UCHAR data[3] = { 7, 8, 9 };

	EXPECT_EQ(ZwSetValueKey(key, &name, 0, REG_BINARY, data, 3), STATUS_SUCCESS);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValueBasicInformation, &buffer, 64, &length),
		  STATUS_SUCCESS);
	EXPECT_EQ(length, 12 + 6);
	EXPECT(buffer.basic.Type == REG_BINARY && buffer.basic.NameLength == 6);
	EXPECT(memcmp(buffer.basic.Name, L"Odd", 6) == 0);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValueBasicInformation, &buffer, 17, &length),
		  STATUS_BUFFER_OVERFLOW);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValueFullInformation, &buffer, 64, &length),
		  STATUS_SUCCESS);
	EXPECT_EQ(buffer.full.DataOffset, 28); /* 20 + 6, rounded up */
	EXPECT_EQ(length, 31);
	EXPECT_EQ(buffer.full.DataLength, 3);
	EXPECT(memcmp(buffer.bytes + 28, data, 3) == 0);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValueFullInformation, &buffer, 30, &length),
		  STATUS_BUFFER_OVERFLOW);
	EXPECT_EQ(ZwQueryValueKey(key, &name, KeyValueFullInformation, &buffer, 19, &length),
		  STATUS_BUFFER_TOO_SMALL);
	finish(key);
}

TEST(registry_zw, values_are_enumerated_and_deleted)
{
	HANDLE key = begin();
	static const WCHAR *const names[] = { L"first", L"Second", L"third" };
	union {
		KEY_VALUE_BASIC_INFORMATION basic;
		UCHAR bytes[64];
	} buffer;
	ULONG length;
	UNICODE_STRING name;

	for (ULONG i = 0; i < 3; i++) {
		name = unicode(names[i]);
		EXPECT_EQ(ZwSetValueKey(key, &name, 0, REG_DWORD, &i, sizeof(i)), STATUS_SUCCESS);
	}
	for (ULONG i = 0; i < 3; i++) {
		EXPECT_EQ(
			ZwEnumerateValueKey(key, i, KeyValueBasicInformation, &buffer, 64, &length),
			STATUS_SUCCESS);
		EXPECT(memcmp(buffer.basic.Name, names[i], buffer.basic.NameLength) == 0);
	}
	EXPECT_EQ(ZwEnumerateValueKey(key, 3, KeyValueBasicInformation, &buffer, 64, &length),
		  STATUS_NO_MORE_ENTRIES);
	name = unicode(L"SECOND");
	EXPECT_EQ(ZwDeleteValueKey(key, &name), STATUS_SUCCESS);
	EXPECT_EQ(ZwDeleteValueKey(key, &name), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(ZwEnumerateValueKey(key, 2, KeyValueBasicInformation, &buffer, 64, &length),
		  STATUS_NO_MORE_ENTRIES);
	EXPECT_EQ(ZwSetValueKey(key, &name, 0, REG_BINARY, NULL, 4), STATUS_INVALID_PARAMETER);
	EXPECT_NO_REPORT();
	EXPECT_EQ(ZwDeleteValueKey(key, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_REPORTS(RULE_NT_REGISTRY, 1);
	finish(key);
}

TEST(registry_zw, keys_are_described_and_enumerated_in_order)
{
	HANDLE key = begin();
	HANDLE sub;
	union {
		KEY_BASIC_INFORMATION basic;
		KEY_FULL_INFORMATION full;
		ULONG words[64];
	} buffer;
	ULONG length;
	ULONG value = 1;
	UNICODE_STRING name = unicode(L"Val");

	EXPECT_EQ(create_key(key, L"beta", &sub, NULL), STATUS_SUCCESS);
	ZwClose(sub);
	EXPECT_EQ(create_key(key, L"Alpha", &sub, NULL), STATUS_SUCCESS);
	EXPECT_EQ(ZwSetValueKey(key, &name, 0, REG_DWORD, &value, 4), STATUS_SUCCESS);

	EXPECT_EQ(ZwQueryKey(key, KeyFullInformation, &buffer, sizeof(buffer), &length),
		  STATUS_SUCCESS);
	EXPECT(buffer.full.SubKeys == 2 && buffer.full.MaxNameLen == 10);
	EXPECT(buffer.full.Values == 1 && buffer.full.MaxValueNameLen == 6);
	EXPECT_EQ(buffer.full.MaxValueDataLen, 4);
	EXPECT_EQ(ZwQueryKey(sub, KeyBasicInformation, &buffer, sizeof(buffer), &length),
		  STATUS_SUCCESS);
	EXPECT(length == 16 + 10 && memcmp(buffer.basic.Name, L"Alpha", 10) == 0);
	EXPECT(buffer.basic.LastWriteTime.QuadPart > 0);
	EXPECT_EQ(ZwQueryKey(sub, KeyBasicInformation, &buffer, 25, &length),
		  STATUS_BUFFER_OVERFLOW);
	EXPECT_EQ(ZwQueryKey(sub, KeyBasicInformation, &buffer, 15, &length),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(ZwQueryKey(sub, KeyNameInformation, &buffer, sizeof(buffer), &length),
		  STATUS_SUCCESS);
	static const WCHAR path[] =
		L"\\REGISTRY\\Machine\\System\\CurrentControlSet\\Services\\zw\\Alpha";
	EXPECT_EQ(buffer.words[0], sizeof(path) - 2);
	EXPECT(memcmp(&buffer.words[1], path, sizeof(path) - 2) == 0);
	EXPECT_EQ(ZwEnumerateKey(key, 0, KeyBasicInformation, &buffer, sizeof(buffer), &length),
		  STATUS_SUCCESS);
	EXPECT(memcmp(buffer.basic.Name, L"Alpha", 10) == 0);
	EXPECT_EQ(ZwEnumerateKey(key, 1, KeyNodeInformation, &buffer, sizeof(buffer), &length),
		  STATUS_SUCCESS);
	EXPECT_EQ(length, 24 + 8);
	EXPECT_EQ(ZwEnumerateKey(key, 2, KeyBasicInformation, &buffer, sizeof(buffer), &length),
		  STATUS_NO_MORE_ENTRIES);
	EXPECT_EQ(ZwQueryKey(key, (KEY_INFORMATION_CLASS)50, &buffer, sizeof(buffer), &length),
		  STATUS_INVALID_PARAMETER);
	ZwClose(sub);
	EXPECT_NO_REPORT();
	finish(key);
}

TEST(registry_zw, a_deleted_key_says_so)
{
	HANDLE key = begin();
	HANDLE sub;
	ULONG value = 1;
	ULONG length;
	UNICODE_STRING name = unicode(L"v");

	EXPECT_EQ(create_key(key, L"sub", &sub, NULL), STATUS_SUCCESS);
	EXPECT_EQ(ZwDeleteKey(key), STATUS_CANNOT_DELETE);
	EXPECT_EQ(ZwDeleteKey(sub), STATUS_SUCCESS);
	EXPECT_EQ(ZwDeleteKey(sub), STATUS_KEY_DELETED);
	EXPECT_EQ(ZwSetValueKey(sub, &name, 0, REG_DWORD, &value, 4), STATUS_KEY_DELETED);
	EXPECT_EQ(ZwQueryValueKey(sub, &name, KeyValuePartialInformation, NULL, 0, &length),
		  STATUS_KEY_DELETED);
	EXPECT_EQ(ZwQueryKey(sub, KeyFullInformation, NULL, 0, &length), STATUS_KEY_DELETED);
	EXPECT_EQ(ZwEnumerateKey(sub, 0, KeyBasicInformation, NULL, 0, &length),
		  STATUS_KEY_DELETED);
	EXPECT_EQ(open_key(sub, L"", &key), STATUS_KEY_DELETED);
	EXPECT_EQ(open_key(NULL, SERVICE, &key), STATUS_SUCCESS);
	nt_registry_delete_tree(NT_REGISTRY_SERVICES);
	EXPECT_EQ(ZwQueryKey(key, KeyFullInformation, NULL, 0, &length), STATUS_KEY_DELETED);
	EXPECT_EQ(ZwFlushKey(key), STATUS_SUCCESS);
	ZwClose(sub);
	EXPECT_EQ(ZwClose(key), STATUS_SUCCESS);
	nt_test_finish();
}

struct query_seen {
	unsigned calls;
	ULONG type;
	ULONG length;
	WCHAR text[16];
	WCHAR name[16];
};

static NTSTATUS NTAPI see(PWSTR name, ULONG type, PVOID data, ULONG length, PVOID context,
			  PVOID entry_context)
{
	struct query_seen *seen = entry_context;

	EXPECT(context == (PVOID)0x77);
	seen->calls++;
	seen->type = type;
	seen->length = length;
	memset(seen->text, 0, sizeof(seen->text));
	if (data)
		memcpy(seen->text, data, length < sizeof(seen->text) ? length : sizeof(seen->text));
	DxgkRt_wcscpy(seen->name, name ? name : L"");
	return STATUS_SUCCESS;
}

TEST(registry_rtl, a_table_reads_values_directly)
{
	HANDLE key = begin();
	ULONG number = 0;
	ULONG absent = 5;
	ULONG fallback = 9;
	UNICODE_STRING text = { 0 };
	WCHAR small_buffer[3];
	UNICODE_STRING small = { 0, sizeof(small_buffer), small_buffer };
	LONG blob[4] = { -(LONG)sizeof(blob) };
	LONG tagged[6] = { sizeof(tagged) };
	static const UCHAR bytes[] = { 1, 2, 3, 4, 5, 6 };
	RTL_QUERY_REGISTRY_TABLE table[] = {
		{ NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)L"Number", &number, REG_NONE, NULL, 0 },
		{ NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)L"Text", &text, REG_NONE, NULL, 0 },
		{ NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)L"Absent", &absent, REG_DWORD, &fallback,
		  sizeof(fallback) },
		{ NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)L"Blob", blob, REG_NONE, NULL, 0 },
		{ NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)L"Blob", tagged, REG_NONE, NULL, 0 },
		{ 0 },
	};

	EXPECT_EQ(nt_registry_set_dword(NT_REGISTRY_SERVICES "\\zw", "Number", 3), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_string(NT_REGISTRY_SERVICES "\\zw", "Text", "abc"),
		  STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_binary(NT_REGISTRY_SERVICES "\\zw", "Blob", bytes, 6),
		  STATUS_SUCCESS);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, L"zw", table, NULL, NULL),
		  STATUS_SUCCESS);
	EXPECT(number == 3 && absent == 9);
	EXPECT(text.Length == 6 && text.MaximumLength == 8 && !DxgkRt_wcscmp(text.Buffer, L"abc"));
	RtlFreeUnicodeString(&text);
	EXPECT(memcmp(blob, bytes, 6) == 0);
	EXPECT(tagged[0] == 6 && tagged[1] == REG_BINARY && memcmp(&tagged[2], bytes, 6) == 0);

	table[1].EntryContext = &small;
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, SERVICE, table, NULL, NULL),
		  STATUS_BUFFER_TOO_SMALL);
	table[1] = table[0];
	table[1].Flags |= RTL_QUERY_REGISTRY_TYPECHECK;
	table[1].DefaultType = REG_SZ << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT;
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_OBJECT_TYPE_MISMATCH);
	table[0].Flags |= RTL_QUERY_REGISTRY_REQUIRED;
	table[0].Name = (PWSTR)L"Absent";
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	table[0].QueryRoutine = see; /* direct and a routine: one of them is a mistake */
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_NO_REPORT();
	finish(key);
}

TEST(registry_rtl, a_table_calls_routines_for_values_lists_and_subkeys)
{
	HANDLE key = begin();
	static const char *const list[] = { "one", "three" };
	struct query_seen one = { 0 };
	struct query_seen whole = { 0 };
	struct query_seen all = { 0 };
	struct query_seen sub = { 0 };
	struct query_seen none = { 0 };
	RTL_QUERY_REGISTRY_TABLE table[] = {
		{ see, 0, (PWSTR)L"List", &one, REG_NONE, NULL, 0 },
		{ see, RTL_QUERY_REGISTRY_NOEXPAND, (PWSTR)L"List", &whole, REG_NONE, NULL, 0 },
		{ see, RTL_QUERY_REGISTRY_NOVALUE, NULL, &none, REG_NONE, NULL, 0 },
		{ NULL, RTL_QUERY_REGISTRY_SUBKEY, (PWSTR)L"Sub", NULL, REG_NONE, NULL, 0 },
		{ see, RTL_QUERY_REGISTRY_DELETE, (PWSTR)L"InSub", &sub, REG_NONE, NULL, 0 },
		{ see, RTL_QUERY_REGISTRY_TOPKEY, NULL, &all, REG_NONE, NULL, 0 },
		{ 0 },
	};
	size_t needed;
	uint32_t type;

	EXPECT_EQ(nt_registry_set_strings(NT_REGISTRY_SERVICES "\\zw", "List", list, 2),
		  STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_dword(NT_REGISTRY_SERVICES "\\zw", "Number", 8), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_string(NT_REGISTRY_SERVICES "\\zw\\Sub", "InSub", "s"),
		  STATUS_SUCCESS);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, L"zw", table, (PVOID)0x77, NULL),
		  STATUS_SUCCESS);
	EXPECT(one.calls == 2 && one.type == REG_SZ && one.length == 12);
	EXPECT(!DxgkRt_wcscmp(one.text, L"three") && !DxgkRt_wcscmp(one.name, L"List"));
	EXPECT(whole.calls == 1 && whole.type == REG_MULTI_SZ && whole.length == 22);
	EXPECT(none.calls == 1 && none.type == REG_NONE);
	EXPECT(sub.calls == 1 && !DxgkRt_wcscmp(sub.text, L"s"));
	EXPECT(all.calls == 3 && all.type == REG_DWORD); /* two strings and the number */
	EXPECT_EQ(nt_registry_query(NT_REGISTRY_SERVICES "\\zw\\Sub", "InSub", &type, NULL, 0,
				    &needed),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_NO_REPORT();
	finish(key);
}

TEST(registry_rtl, values_and_keys_are_written_checked_and_deleted)
{
	HANDLE key = begin();
	ULONG value = 12;

	EXPECT_EQ(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, (PWSTR)L"zw"), STATUS_SUCCESS);
	EXPECT_EQ(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, (PWSTR)L"zw\\New"),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, L"zw\\New", L"V", REG_DWORD, &value,
					sizeof(value)),
		  STATUS_SUCCESS);
	EXPECT_EQ(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, (PWSTR)L"zw\\New"), STATUS_SUCCESS);
	EXPECT_EQ(RtlCreateRegistryKey(RTL_REGISTRY_CONTROL, (PWSTR)L"a\\b"),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(RtlCreateRegistryKey(RTL_REGISTRY_CONTROL, (PWSTR)L"a"), STATUS_SUCCESS);
	EXPECT_EQ(RtlCreateRegistryKey(RTL_REGISTRY_CONTROL, (PWSTR)L"a\\b"), STATUS_SUCCESS);
	EXPECT_EQ(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, L"zw\\New", L"V"), STATUS_SUCCESS);
	EXPECT_EQ(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, L"zw\\New", L"V"),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(RtlCheckRegistryKey(77, (PWSTR)L"zw"), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, L"zw", NULL, REG_DWORD, NULL, 0),
		  STATUS_INVALID_PARAMETER);
	RTL_QUERY_REGISTRY_TABLE empty[1] = { { 0 } };
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES | RTL_REGISTRY_OPTIONAL, L"gone",
					 empty, NULL, NULL),
		  STATUS_SUCCESS);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, L"gone", empty, NULL, NULL),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	finish(key);
}

TEST(registry_rtl, defaults_stand_in_for_text_whose_length_they_do_not_say)
{
	HANDLE key = begin();
	UNICODE_STRING text = { 0 };
	UNICODE_STRING none = { 0 };
	struct query_seen list = { 0 };
	RTL_QUERY_REGISTRY_TABLE table[] = {
		{ NULL, RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TYPECHECK, (PWSTR)L"Absent",
		  &text, (REG_SZ << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT) | REG_SZ, (PVOID)L"dd", 0 },
		{ see, 0, (PWSTR)L"Absent", &list, REG_MULTI_SZ, (PVOID)L"one\0two\0", 0 },
		{ NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)L"Absent", &none, REG_NONE, NULL, 0 },
		{ 0 },
	};

	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, (PVOID)0x77, NULL),
		  STATUS_SUCCESS);
	EXPECT(text.Length == 4 && !DxgkRt_wcscmp(text.Buffer, L"dd"));
	RtlFreeUnicodeString(&text);
	EXPECT(list.calls == 2 && !DxgkRt_wcscmp(list.text, L"two"));
	EXPECT(!none.Buffer);
	finish(key);
}

TEST(registry_rtl, what_does_not_fit_straight_into_memory_is_refused)
{
	HANDLE key = begin();
	static const UCHAR bytes[] = { 1, 2, 3, 4, 5, 6 };
	static WCHAR longest[32780]; /* more than a string counts */
	LONG data_only[2] = { -4 };
	LONG with_header[2] = { sizeof(with_header) };
	UNICODE_STRING text = { 0 };
	RTL_QUERY_REGISTRY_TABLE table[] = {
		{ NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)L"Blob", data_only, REG_NONE, NULL, 0 },
		{ 0 },
	};

	EXPECT_EQ(nt_registry_set_binary(NT_REGISTRY_SERVICES "\\zw", "Blob", bytes, 6),
		  STATUS_SUCCESS);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_BUFFER_TOO_SMALL);
	table[0].EntryContext = with_header;
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_BUFFER_TOO_SMALL);
	for (size_t i = 0; i < ARRAYSIZE(longest); i++)
		longest[i] = L'x';
	table[0].Name = (PWSTR)L"Absent";
	table[0].EntryContext = &text;
	table[0].DefaultType = REG_SZ;
	table[0].DefaultData = longest;
	table[0].DefaultLength = sizeof(longest);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT(!text.Buffer);
	finish(key);
}

TEST(registry_rtl, all_values_may_be_required_and_deleted_as_they_are_read)
{
	HANDLE key = begin();
	struct query_seen all = { 0 };
	RTL_QUERY_REGISTRY_TABLE table[] = {
		{ see, RTL_QUERY_REGISTRY_DELETE, NULL, &all, REG_NONE, NULL, 0 },
		{ 0 },
	};
	RTL_QUERY_REGISTRY_TABLE required[] = {
		{ see, RTL_QUERY_REGISTRY_REQUIRED, NULL, &all, REG_NONE, NULL, 0 },
		{ 0 },
	};

	EXPECT_EQ(nt_registry_set_dword(NT_REGISTRY_SERVICES "\\zw", "A", 1), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_dword(NT_REGISTRY_SERVICES "\\zw", "B", 2), STATUS_SUCCESS);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, (PVOID)0x77, NULL),
		  STATUS_SUCCESS);
	EXPECT_EQ(all.calls, 2);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, (PVOID)0x77, NULL),
		  STATUS_SUCCESS);
	EXPECT_EQ(all.calls, 2);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, required, (PVOID)0x77, NULL),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	finish(key);
}

TEST(registry_rtl, a_table_that_makes_no_sense_is_refused)
{
	HANDLE key = begin();
	struct query_seen seen = { 0 };
	RTL_QUERY_REGISTRY_TABLE table[] = {
		{ NULL, RTL_QUERY_REGISTRY_SUBKEY, NULL, NULL, REG_NONE, NULL, 0 },
		{ 0 },
	};

	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_INVALID_PARAMETER);
	table[0].Name = (PWSTR)L"NoSuchKey";
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	table[0].Flags = RTL_QUERY_REGISTRY_NOVALUE;
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, key, table, NULL, NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlQueryRegistryValues(99, L"zw", table, NULL, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES | RTL_REGISTRY_OPTIONAL, L"nobody",
					 table, NULL, NULL),
		  STATUS_SUCCESS);
	/* A subkey is entered, and its values read by the same entry. */
	EXPECT_EQ(nt_registry_set_dword(NT_REGISTRY_SERVICES "\\zw\\Sub", "In", 1), STATUS_SUCCESS);
	table[0] = (RTL_QUERY_REGISTRY_TABLE){
		see, RTL_QUERY_REGISTRY_SUBKEY, (PWSTR)L"Sub", &seen, REG_NONE, NULL, 0
	};
	EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, L"zw\\", table, (PVOID)0x77, NULL),
		  STATUS_SUCCESS);
	EXPECT_EQ(seen.calls, 1);
	EXPECT_NO_REPORT();
	finish(key);
}

TEST(registry_rtl, writing_and_deleting_need_a_name_and_the_data)
{
	HANDLE key = begin();

	EXPECT_EQ(RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, L"zw", NULL, REG_DWORD, NULL, 0),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, L"zw", L"V", REG_DWORD, NULL, 4),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlWriteRegistryValue(99, L"zw", L"V", REG_DWORD, NULL, 0),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, L"zw", NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, L"nobody", L"V"),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	mem_fail_nth(1);
	EXPECT_EQ(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, L"zw", L"V"),
		  STATUS_INSUFFICIENT_RESOURCES);
	EXPECT(mem_fail_stop());
	finish(key);
}

TEST_MAIN("nt/registry_zw")
