/* SPDX-License-Identifier: MIT */
/*
 * settings.c - the registry, which says how to behave.
 */
#include "driver.h"

static BOOLEAN read_value(const char *name, ULONG type, PVOID data, ULONG capacity, ULONG *size_out)
{
	struct {
		KEY_VALUE_PARTIAL_INFORMATION information;
		UCHAR data[256];
	} value;
	WCHAR name16[64];
	UNICODE_STRING value_name;
	OBJECT_ATTRIBUTES attributes;
	HANDLE key;
	ULONG length = 0;
	ULONG needed = 0;
	NTSTATUS status;

	while (name[length] && length + 1 < 64) {
		name16[length] = (WCHAR)name[length];
		length++;
	}
	name16[length] = 0;
	RtlInitUnicodeString(&value_name, name16);
	InitializeObjectAttributes(&attributes, &registry_path, OBJ_CASE_INSENSITIVE, NULL, NULL);
	if (!NT_SUCCESS(ZwOpenKey(&key, KEY_READ, &attributes)))
		return FALSE;
	status = ZwQueryValueKey(key, &value_name, KeyValuePartialInformation, &value,
				 sizeof(value), &needed);
	ZwClose(key);
	if (!NT_SUCCESS(status) || value.information.Type != type ||
	    value.information.DataLength > capacity)
		return FALSE;
	RtlCopyMemory(data, value.information.Data, value.information.DataLength);
	*size_out = value.information.DataLength;
	return TRUE;
}

ULONG setting(const char *name, ULONG otherwise)
{
	ULONG value;
	ULONG size;

	return read_value(name, REG_DWORD, &value, sizeof(value), &size) ? value : otherwise;
}

ULONG indexed(const char *what, ULONG index, const char *field, ULONG otherwise)
{
	char name[64];
	ULONG used = 0;

	append(name, sizeof(name), &used, what);
	append_number(name, sizeof(name), &used, index);
	append(name, sizeof(name), &used, ".");
	append(name, sizeof(name), &used, field);
	return setting(name, otherwise);
}

BOOLEAN setting_is(const char *name, const char *text)
{
	WCHAR value[64];
	ULONG size;
	ULONG i;

	if (!read_value(name, REG_SZ, value, sizeof(value), &size))
		return FALSE;
	for (i = 0; text[i]; i++) {
		if (i >= size / sizeof(WCHAR) || value[i] != (WCHAR)text[i])
			return FALSE;
	}
	return i >= size / sizeof(WCHAR) || value[i] == 0;
}

BOOLEAN is_gpu_mmu(void)
{
	return !setting_is("Model", "physical");
}

ULONG version(void)
{
	return setting("Version", DXGKDDI_INTERFACE_VERSION_WDDM2_6);
}

void overrun(const char *name, PVOID buffer, SIZE_T bytes)
{
	if (!buffer || !setting_is("Overrun", name))
		return;
	for (ULONG i = 0; i < setting("OverrunBytes", 3); i++)
		((UCHAR *)buffer)[bytes + i] = 0x5a;
}

NTSTATUS step(const char *name)
{
	static LONG calls;

	if (!setting_is("Fail", name) ||
	    (ULONG)InterlockedIncrement(&calls) != setting("FailAt", 1))
		return STATUS_SUCCESS;
	if (setting("Says", 0) == 1)
		DbgPrint("recorder: never mind\nrecorder: %s cannot be %u\n", name, 7);
	else if (setting("Says", 0) == 2)
		DbgPrint("recorder: %s cannot be %u", name, 7); /* and the rest of the line never */
	return (NTSTATUS)setting("FailStatus", (ULONG)STATUS_UNSUCCESSFUL);
}
