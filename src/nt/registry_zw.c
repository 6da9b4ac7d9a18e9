/* SPDX-License-Identifier: MIT */
/*
 * registry_zw.c - the registry as drivers use it: Zw*Key, Zw*ValueKey, and the Rtl helpers.
 *
 * An open key is an NT object around a reference to a key of registry.c. Every information class
 * follows one rule: *ResultLength is what the whole answer needs; a buffer that cannot hold the
 * fixed part stays untouched (STATUS_BUFFER_TOO_SMALL); one that can gets as much of the rest as
 * fits (STATUS_BUFFER_OVERFLOW).
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#include <ddk/wdm.h>

#include "nt/irql.h"
#include "nt/object.h"
#include "nt/registry_tree.h"
#include "nt/report.h"
#include "nt/unicode.h"

struct key_object {
	struct nt_object object;
	struct registry_key *key;
};

static void key_object_destroy(struct nt_object *object)
{
	struct key_object *opened = container_of(object, struct key_object, object);

	registry_key_put(opened->key);
	mem_free(opened);
}

/* Takes over the reference to `key`, also on failure. */
static NTSTATUS key_handle_open(struct registry_key *key, HANDLE *handle_out)
{
	struct key_object *opened = mem_zalloc(sizeof(*opened));

	if (!opened) {
		registry_key_put(key);
		return STATUS_INSUFFICIENT_RESOURCES;
	}
	opened->key = key;
	nt_object_init(&opened->object, &nt_type_key, key_object_destroy);
	NTSTATUS status = nt_handle_open(&opened->object, handle_out);
	nt_object_put(&opened->object);
	return status;
}

/* The object behind a handle, with a reference; reports a handle that is none. */
static NTSTATUS key_handle_get(HANDLE handle, const char *routine, struct key_object **opened_out)
{
	struct nt_object *object;
	NTSTATUS status = nt_handle_get(handle, &nt_type_key, &object);

	nt_irql_require(PASSIVE_LEVEL, routine);
	if (!NT_SUCCESS(status)) {
		nt_report(RULE_NT_HANDLE, "%s was given handle %p, which is not a registry key",
			  routine, handle);
		return status;
	}
	*opened_out = container_of(object, struct key_object, object);
	return STATUS_SUCCESS;
}

static NTSTATUS key_open(PHANDLE handle_out, POBJECT_ATTRIBUTES attributes, enum registry_open how,
			 const char *routine, bool *created_out)
{
	struct key_object *root = NULL;
	struct registry_key *key;
	NTSTATUS status;

	nt_irql_require(PASSIVE_LEVEL, routine);
	if (!handle_out || !attributes || attributes->Length != sizeof(OBJECT_ATTRIBUTES) ||
	    !attributes->ObjectName || attributes->ObjectName->Length % sizeof(WCHAR) != 0) {
		nt_report(RULE_NT_REGISTRY, "%s was given object attributes that are not set up",
			  routine);
		return STATUS_INVALID_PARAMETER;
	}
	*handle_out = NULL;
	const UNICODE_STRING *name = attributes->ObjectName;
	if (attributes->RootDirectory) {
		status = key_handle_get(attributes->RootDirectory, routine, &root);
		if (!NT_SUCCESS(status))
			return status;
	}
	status = registry_key_open(root ? root->key : NULL, name->Buffer,
				   name->Length / sizeof(WCHAR), how, &key, created_out);
	if (NT_SUCCESS(status))
		status = key_handle_open(key, handle_out);
	if (root)
		nt_object_put(&root->object);
	return status;
}

NTSTATUS nt_registry_open_handle(const char *path, void **handle_out)
{
	struct registry_key *key;
	size_t length;
	uint16_t *wide = nt_utf16_dup(path, &length);

	if (!wide)
		return STATUS_INSUFFICIENT_RESOURCES;
	NTSTATUS status = registry_key_open(NULL, wide, length, REGISTRY_OPEN, &key, NULL);
	mem_free(wide);
	return NT_SUCCESS(status) ? key_handle_open(key, handle_out) : status;
}

NTSTATUS registry_key_from_handle(HANDLE handle, struct registry_key **key_out)
{
	struct key_object *opened;
	NTSTATUS status = key_handle_get(handle, "RTL_REGISTRY_HANDLE", &opened);

	if (!NT_SUCCESS(status))
		return status;
	status = registry_key_open(opened->key, NULL, 0, REGISTRY_OPEN, key_out, NULL);
	nt_object_put(&opened->object);
	return status;
}

NTSTATUS ZwOpenKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
		   POBJECT_ATTRIBUTES ObjectAttributes)
{
	return key_open(KeyHandle, ObjectAttributes, REGISTRY_OPEN, __func__, NULL);
}

NTSTATUS ZwOpenKeyEx(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
		     POBJECT_ATTRIBUTES ObjectAttributes, ULONG OpenOptions)
{
	return key_open(KeyHandle, ObjectAttributes, REGISTRY_OPEN, __func__, NULL);
}

NTSTATUS ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
		     POBJECT_ATTRIBUTES ObjectAttributes, ULONG TitleIndex, PUNICODE_STRING Class,
		     ULONG CreateOptions, PULONG Disposition)
{
	bool is_created = false;
	NTSTATUS status =
		key_open(KeyHandle, ObjectAttributes, REGISTRY_CREATE_LAST, __func__, &is_created);

	if (NT_SUCCESS(status) && Disposition)
		*Disposition = is_created ? REG_CREATED_NEW_KEY : REG_OPENED_EXISTING_KEY;
	return status;
}

NTSTATUS ZwDeleteKey(HANDLE KeyHandle)
{
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (!NT_SUCCESS(status))
		return status;
	status = registry_key_delete(opened->key, false);
	nt_object_put(&opened->object);
	return status;
}

/* The tree is memory: what was written is where it belongs. */
NTSTATUS ZwFlushKey(HANDLE KeyHandle)
{
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (NT_SUCCESS(status))
		nt_object_put(&opened->object);
	return status;
}

/* Answers. */

/* An answer under construction: everything is "written", what fits arrives. */
struct answer {
	uint8_t *buffer;
	ULONG length;
	ULONG needed;
};

static void answer_put(struct answer *answer, ULONG offset, const void *data, size_t size_bytes)
{
	if (offset < answer->length && size_bytes > 0)
		memcpy(answer->buffer + offset, data,
		       size_bytes < answer->length - offset ? size_bytes : answer->length - offset);
	if (offset + size_bytes > answer->needed)
		answer->needed = (ULONG)(offset + size_bytes);
}

static NTSTATUS answer_finish(const struct answer *answer, PULONG result_length)
{
	*result_length = answer->needed;
	return answer->length < answer->needed ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS answer_value(const struct registry_value *value, KEY_VALUE_INFORMATION_CLASS class,
			     PVOID buffer, ULONG length, PULONG result_length)
{
	ULONG name_bytes = value->name_length * (ULONG)sizeof(WCHAR);
	struct answer answer = { .length = 0 };
	bool is_full = class == KeyValueFullInformation || class == KeyValueFullInformationAlign64;
	ULONG alignment = class == KeyValueFullInformationAlign64 ? 8 : 4;
	KEY_VALUE_BASIC_INFORMATION basic = { .Type = value->type, .NameLength = name_bytes };
	KEY_VALUE_PARTIAL_INFORMATION partial = { .Type = value->type,
						  .DataLength = value->size_bytes };
	KEY_VALUE_FULL_INFORMATION full = {
		.Type = value->type,
		.DataOffset = (ULONG)ALIGN_UP_BY(
			FIELD_OFFSET(KEY_VALUE_FULL_INFORMATION, Name) + name_bytes, alignment),
		.DataLength = value->size_bytes,
		.NameLength = name_bytes,
	};
	const ULONG aligned[2] = { value->type, value->size_bytes };
	const void *fixed;
	ULONG fixed_bytes;

	switch (class) {
	case KeyValueBasicInformation:
		fixed = &basic;
		fixed_bytes = FIELD_OFFSET(KEY_VALUE_BASIC_INFORMATION, Name);
		break;
	case KeyValueFullInformation:
	case KeyValueFullInformationAlign64:
		fixed = &full;
		fixed_bytes = FIELD_OFFSET(KEY_VALUE_FULL_INFORMATION, Name);
		break;
	case KeyValuePartialInformation:
		fixed = &partial;
		fixed_bytes = FIELD_OFFSET(KEY_VALUE_PARTIAL_INFORMATION, Data);
		break;
	case KeyValuePartialInformationAlign64:
		fixed = aligned;
		fixed_bytes = sizeof(aligned);
		break;
	default:
		return STATUS_INVALID_PARAMETER;
	}

	/* The first pass writes nowhere and finds the size. */
	for (int pass = 0; pass < 2; pass++) {
		answer_put(&answer, 0, fixed, fixed_bytes);
		if (class == KeyValueBasicInformation || is_full)
			answer_put(&answer, fixed_bytes, value->name, name_bytes);
		if (is_full)
			answer_put(&answer, full.DataOffset, value->data, value->size_bytes);
		else if (class != KeyValueBasicInformation)
			answer_put(&answer, fixed_bytes, value->data, value->size_bytes);
		if (length < fixed_bytes) {
			*result_length = answer.needed;
			return STATUS_BUFFER_TOO_SMALL;
		}
		answer.buffer = buffer;
		answer.length = length;
	}
	return answer_finish(&answer, result_length);
}

/* The rest of a call that looked for a value of `opened`: `status` is how that went. */
static NTSTATUS answer_found(struct key_object *opened, NTSTATUS status,
			     struct registry_value *value, KEY_VALUE_INFORMATION_CLASS class,
			     PVOID buffer, ULONG length, PULONG result_length)
{
	nt_object_put(&opened->object);
	if (!NT_SUCCESS(status))
		return status;
	status = answer_value(value, class, buffer, length, result_length);
	mem_free(value);
	return status;
}

/* As KEY_NODE_INFORMATION and KEY_NAME_INFORMATION are laid out. */
struct key_node_fixed {
	LARGE_INTEGER last_write;
	ULONG title_index;
	ULONG class_offset;
	ULONG class_length;
	ULONG name_length;
};

static NTSTATUS answer_key(struct registry_key *key, KEY_INFORMATION_CLASS class, PVOID buffer,
			   ULONG length, PULONG result_length)
{
	struct registry_key_info info;
	struct answer answer = { .length = 0 };

	if (class != KeyBasicInformation && class != KeyNodeInformation &&
	    class != KeyFullInformation && class != KeyNameInformation)
		return STATUS_INVALID_PARAMETER;
	NTSTATUS status = registry_key_describe(key, class == KeyNameInformation, &info);
	if (!NT_SUCCESS(status))
		return status;

	ULONG name_bytes = info.name_length * (ULONG)sizeof(WCHAR);
	LARGE_INTEGER last_write = { .QuadPart = (LONGLONG)info.last_write };
	KEY_BASIC_INFORMATION basic = { .LastWriteTime = last_write, .NameLength = name_bytes };
	struct key_node_fixed node = { .last_write = last_write,
				       .class_offset = MAXULONG,
				       .name_length = name_bytes };
	KEY_FULL_INFORMATION full = {
		.LastWriteTime = last_write,
		.ClassOffset = MAXULONG,
		.SubKeys = info.subkeys,
		.MaxNameLen = info.longest_subkey * (ULONG)sizeof(WCHAR),
		.Values = info.values,
		.MaxValueNameLen = info.longest_value_name * (ULONG)sizeof(WCHAR),
		.MaxValueDataLen = info.largest_value_bytes,
	};
	const void *fixed = &name_bytes;
	ULONG fixed_bytes = sizeof(name_bytes);

	if (class == KeyBasicInformation) {
		fixed = &basic;
		fixed_bytes = FIELD_OFFSET(KEY_BASIC_INFORMATION, Name);
	} else if (class == KeyNodeInformation) {
		fixed = &node;
		fixed_bytes = sizeof(node);
	} else if (class == KeyFullInformation) {
		fixed = &full;
		fixed_bytes = FIELD_OFFSET(KEY_FULL_INFORMATION, Class);
		name_bytes = 0;
	}

	*result_length = fixed_bytes + name_bytes;
	if (length < fixed_bytes) {
		status = STATUS_BUFFER_TOO_SMALL;
	} else {
		answer.buffer = buffer;
		answer.length = length;
		answer_put(&answer, 0, fixed, fixed_bytes);
		answer_put(&answer, fixed_bytes, info.name, name_bytes);
		status = answer_finish(&answer, result_length);
	}
	mem_free(info.name);
	return status;
}

NTSTATUS ZwQueryKey(HANDLE KeyHandle, KEY_INFORMATION_CLASS KeyInformationClass,
		    PVOID KeyInformation, ULONG Length, PULONG ResultLength)
{
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (!NT_SUCCESS(status))
		return status;
	status = answer_key(opened->key, KeyInformationClass, KeyInformation, Length, ResultLength);
	nt_object_put(&opened->object);
	return status;
}

NTSTATUS ZwEnumerateKey(HANDLE KeyHandle, ULONG Index, KEY_INFORMATION_CLASS KeyInformationClass,
			PVOID KeyInformation, ULONG Length, PULONG ResultLength)
{
	struct registry_key *child;
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (!NT_SUCCESS(status))
		return status;
	if (KeyInformationClass == KeyNameInformation)
		status = STATUS_INVALID_PARAMETER;
	else
		status = registry_key_child(opened->key, Index, &child);
	nt_object_put(&opened->object);
	if (!NT_SUCCESS(status))
		return status;
	status = answer_key(child, KeyInformationClass, KeyInformation, Length, ResultLength);
	registry_key_put(child);
	return status;
}

static bool value_name_is_sane(const UNICODE_STRING *name, const char *routine)
{
	if (name && name->Length % sizeof(WCHAR) == 0 && (name->Buffer || name->Length == 0))
		return true;
	nt_report(RULE_NT_REGISTRY, "%s was given a value name that is not a string", routine);
	return false;
}

NTSTATUS ZwQueryValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
			 KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
			 PVOID KeyValueInformation, ULONG Length, PULONG ResultLength)
{
	struct registry_value *value = NULL;
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (!NT_SUCCESS(status))
		return status;
	status = STATUS_INVALID_PARAMETER;
	if (value_name_is_sane(ValueName, __func__))
		status = registry_value_get(opened->key, ValueName->Buffer,
					    ValueName->Length / sizeof(WCHAR), &value);
	return answer_found(opened, status, value, KeyValueInformationClass, KeyValueInformation,
			    Length, ResultLength);
}

NTSTATUS ZwEnumerateValueKey(HANDLE KeyHandle, ULONG Index,
			     KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
			     PVOID KeyValueInformation, ULONG Length, PULONG ResultLength)
{
	struct registry_value *value = NULL;
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (!NT_SUCCESS(status))
		return status;
	status = registry_value_at(opened->key, Index, &value);
	return answer_found(opened, status, value, KeyValueInformationClass, KeyValueInformation,
			    Length, ResultLength);
}

NTSTATUS ZwSetValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName, ULONG TitleIndex, ULONG Type,
		       PVOID Data, ULONG DataSize)
{
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (!NT_SUCCESS(status))
		return status;
	status = STATUS_INVALID_PARAMETER;
	if (value_name_is_sane(ValueName, __func__) && (Data || DataSize == 0))
		status =
			registry_value_set(opened->key, ValueName->Buffer,
					   ValueName->Length / sizeof(WCHAR), Type, Data, DataSize);
	nt_object_put(&opened->object);
	return status;
}

NTSTATUS ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName)
{
	struct key_object *opened;
	NTSTATUS status = key_handle_get(KeyHandle, __func__, &opened);

	if (!NT_SUCCESS(status))
		return status;
	status = STATUS_INVALID_PARAMETER;
	if (value_name_is_sane(ValueName, __func__))
		status = registry_value_delete(opened->key, ValueName->Buffer,
					       ValueName->Length / sizeof(WCHAR));
	nt_object_put(&opened->object);
	return status;
}
