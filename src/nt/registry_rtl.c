/* SPDX-License-Identifier: MIT */
/*
 * registry_rtl.c - RtlQueryRegistryValues and its kin: several values in one call.
 *
 * The caller's table is walked in order; an entry names a value (or, without a name, all of them),
 * a subkey for the entries after it, or nothing at all. A value reaches the driver through its
 * routine, or directly into the driver's memory.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#include <ddk/wdm.h>

#include "nt/irql.h"
#include "nt/pool.h"
#include "nt/registry.h"
#include "nt/registry_tree.h"
#include "nt/unicode.h"

static const char *const relative_paths[] = {
	"",
	NT_REGISTRY_SERVICES "\\",
	NT_REGISTRY_CONTROL "\\",
	"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion\\",
	"\\Registry\\Machine\\Hardware\\DeviceMap\\",
	"\\Registry\\User\\.Default\\",
};

/* Puts the fixed part in front of the driver's part; a trailing separator is dropped. */
static NTSTATUS path_build(ULONG relative_to, PCWSTR path, uint16_t **full_out, size_t *length_out)
{
	size_t path_length = path ? nt_utf16_length(path, 32767) : 0;

	if (relative_to >= ARRAYSIZE(relative_paths))
		return STATUS_INVALID_PARAMETER;
	const char *prefix = relative_paths[relative_to];
	size_t prefix_length = strlen(prefix);
	/* A path that is absolute anyway is taken as it is. */
	if (path_length > 0 && path[0] == '\\')
		prefix_length = 0;
	uint16_t *full = mem_alloc((prefix_length + path_length + 1) * sizeof(*full));
	if (!full)
		return STATUS_INSUFFICIENT_RESOURCES;
	for (size_t i = 0; i < prefix_length; i++)
		full[i] = (uint16_t)prefix[i];
	if (path_length > 0)
		memcpy(full + prefix_length, path, path_length * sizeof(*full));
	*length_out = prefix_length + path_length;
	while (*length_out > 1 && full[*length_out - 1] == '\\')
		(*length_out)--;
	*full_out = full;
	return STATUS_SUCCESS;
}

static NTSTATUS relative_open(ULONG relative_to, PCWSTR path, bool is_creating,
			      struct registry_key **key_out)
{
	uint16_t *full;
	size_t length;

	if ((relative_to & RTL_REGISTRY_HANDLE) != 0)
		return registry_key_from_handle((HANDLE)path, key_out);
	NTSTATUS status = path_build(relative_to & ~RTL_REGISTRY_OPTIONAL, path, &full, &length);
	if (!NT_SUCCESS(status))
		return status;
	status = registry_key_open(NULL, full, length,
				   is_creating ? REGISTRY_CREATE_LAST : REGISTRY_OPEN, key_out,
				   NULL);
	mem_free(full);
	return status;
}

/* One call of the driver's: what it wants back, and where it called. */
struct query {
	PVOID context;
	const void *site;
};

/* Straight into the driver's memory. */

static bool type_is_text(ULONG type)
{
	return type == REG_SZ || type == REG_EXPAND_SZ || type == REG_MULTI_SZ;
}

static NTSTATUS direct_text(PUNICODE_STRING string, const void *data, ULONG size_bytes,
			    const void *site)
{
	ULONG length = size_bytes & ~1u;

	if (length >= sizeof(WCHAR) &&
	    ((const WCHAR *)data)[length / sizeof(WCHAR) - 1] == UNICODE_NULL)
		length -= sizeof(WCHAR);
	if (length + sizeof(WCHAR) > 0xffff)
		return STATUS_BUFFER_TOO_SMALL;
	if (!string->Buffer) {
		string->Buffer = nt_pool_alloc_at(site, length + sizeof(WCHAR), NT_STRING_TAG);
		if (!string->Buffer)
			return STATUS_NO_MEMORY;
		string->MaximumLength = (USHORT)(length + sizeof(WCHAR));
	} else if (length + sizeof(WCHAR) > string->MaximumLength) {
		return STATUS_BUFFER_TOO_SMALL;
	}
	memcpy(string->Buffer, data, length);
	string->Buffer[length / sizeof(WCHAR)] = 0;
	string->Length = (USHORT)length;
	return STATUS_SUCCESS;
}

/*
 * Up to four bytes are stored as they are. More need a buffer whose first LONG is its size:
 * negative for the data alone, positive for length, type and data.
 */
static NTSTATUS direct_bytes(void *target, ULONG type, const void *data, ULONG size_bytes)
{
	LONG capacity;
	ULONG header[2] = { size_bytes, type };

	if (size_bytes <= sizeof(ULONG)) {
		memcpy(target, data, size_bytes);
		return STATUS_SUCCESS;
	}
	memcpy(&capacity, target, sizeof(capacity));
	if (capacity < 0) {
		if (size_bytes > 0u - (ULONG)capacity)
			return STATUS_BUFFER_TOO_SMALL;
		memcpy(target, data, size_bytes);
		return STATUS_SUCCESS;
	}
	if ((ULONG)capacity < sizeof(header) || size_bytes > (ULONG)capacity - sizeof(header))
		return STATUS_BUFFER_TOO_SMALL;
	memcpy(target, header, sizeof(header));
	memcpy((char *)target + sizeof(header), data, size_bytes);
	return STATUS_SUCCESS;
}

static NTSTATUS deliver_direct(const RTL_QUERY_REGISTRY_TABLE *entry, ULONG type, const void *data,
			       ULONG size_bytes, const void *site)
{
	if ((entry->Flags & RTL_QUERY_REGISTRY_TYPECHECK) != 0 &&
	    entry->DefaultType >> RTL_QUERY_REGISTRY_TYPECHECK_SHIFT != type)
		return STATUS_OBJECT_TYPE_MISMATCH;
	if (type_is_text(type))
		return direct_text(entry->EntryContext, data, size_bytes, site);
	return direct_bytes(entry->EntryContext, type, data, size_bytes);
}

/* One call per string of a list, unless the driver wants it whole. */
static NTSTATUS deliver_strings(const RTL_QUERY_REGISTRY_TABLE *entry, PWSTR name, const void *data,
				ULONG size_bytes, const struct query *query)
{
	const WCHAR *text = data;
	size_t left = size_bytes / sizeof(WCHAR);
	NTSTATUS status = STATUS_SUCCESS;

	while (NT_SUCCESS(status) && left > 0 && *text != 0) {
		size_t length = nt_utf16_length(text, left);

		length += length < left;
		status = entry->QueryRoutine(name, REG_SZ, (PVOID)text,
					     (ULONG)(length * sizeof(WCHAR)), query->context,
					     entry->EntryContext);
		text += length;
		left -= length;
	}
	return status;
}

static NTSTATUS deliver(const RTL_QUERY_REGISTRY_TABLE *entry, PWSTR name, ULONG type,
			const void *data, ULONG size_bytes, const struct query *query)
{
	if ((entry->Flags & RTL_QUERY_REGISTRY_DIRECT) != 0)
		return deliver_direct(entry, type, data, size_bytes, query->site);
	if (!entry->QueryRoutine)
		return STATUS_SUCCESS;
	if ((entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) == 0 && type == REG_MULTI_SZ)
		return deliver_strings(entry, name, data, size_bytes, query);
	/* There is no environment to expand from. */
	if ((entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) == 0 && type == REG_EXPAND_SZ)
		type = REG_SZ;
	NTSTATUS status = entry->QueryRoutine(name, type, (PVOID)data, size_bytes, query->context,
					      entry->EntryContext);
	/* A routine that has no room for this one does not end the walk. */
	return status == STATUS_BUFFER_TOO_SMALL ? STATUS_SUCCESS : status;
}

static NTSTATUS deliver_value(const RTL_QUERY_REGISTRY_TABLE *entry,
			      const struct registry_value *value, const struct query *query)
{
	WCHAR *name = mem_zalloc_array(value->name_length + 1, sizeof(WCHAR));

	if (!name)
		return STATUS_INSUFFICIENT_RESOURCES;
	memcpy(name, value->name, value->name_length * sizeof(WCHAR));
	NTSTATUS status = deliver(entry, name, value->type, value->data, value->size_bytes, query);
	mem_free(name);
	return status;
}

static NTSTATUS deliver_default(const RTL_QUERY_REGISTRY_TABLE *entry, const struct query *query)
{
	ULONG type = entry->DefaultType;
	ULONG size_bytes = entry->DefaultLength;
	const WCHAR *text = entry->DefaultData;

	if ((entry->Flags & RTL_QUERY_REGISTRY_TYPECHECK) != 0)
		type &= (1u << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT) - 1;
	if (type == REG_NONE || !text)
		return STATUS_SUCCESS;
	if (size_bytes == 0 && (type == REG_SZ || type == REG_EXPAND_SZ)) {
		size_bytes = (ULONG)((nt_utf16_length(text, 32767) + 1) * sizeof(WCHAR));
	} else if (size_bytes == 0 && type == REG_MULTI_SZ) {
		size_t units = 0;

		while (text[units] != 0)
			units += nt_utf16_length(text + units, 32767) + 1;
		size_bytes = (ULONG)((units + 1) * sizeof(WCHAR));
	}
	return deliver(entry, entry->Name, type, text, size_bytes, query);
}

/* Without a name: all values of the key. */
static NTSTATUS query_all(struct registry_key *key, const RTL_QUERY_REGISTRY_TABLE *entry,
			  const struct query *query)
{
	NTSTATUS status = STATUS_SUCCESS;
	uint32_t index = 0;

	while (NT_SUCCESS(status)) {
		struct registry_value *value;

		status = registry_value_at(key, index, &value);
		if (status == STATUS_NO_MORE_ENTRIES)
			break;
		if (!NT_SUCCESS(status))
			return status;
		status = deliver_value(entry, value, query);
		if (NT_SUCCESS(status) && (entry->Flags & RTL_QUERY_REGISTRY_DELETE) != 0)
			registry_value_delete(key, value->name, value->name_length);
		else
			index++;
		mem_free(value);
	}
	if (status != STATUS_NO_MORE_ENTRIES)
		return status;
	return index == 0 && (entry->Flags & RTL_QUERY_REGISTRY_REQUIRED) != 0
		       ? STATUS_OBJECT_NAME_NOT_FOUND
		       : STATUS_SUCCESS;
}

static NTSTATUS query_one(struct registry_key *key, const RTL_QUERY_REGISTRY_TABLE *entry,
			  const struct query *query)
{
	size_t length = nt_utf16_length(entry->Name, REGISTRY_MAX_VALUE_NAME);
	struct registry_value *value;
	NTSTATUS status = registry_value_get(key, entry->Name, length, &value);

	if (status == STATUS_OBJECT_NAME_NOT_FOUND) {
		if ((entry->Flags & RTL_QUERY_REGISTRY_REQUIRED) != 0)
			return status;
		return deliver_default(entry, query);
	}
	if (!NT_SUCCESS(status))
		return status;
	status = deliver_value(entry, value, query);
	if (NT_SUCCESS(status) && (entry->Flags & RTL_QUERY_REGISTRY_DELETE) != 0)
		registry_value_delete(key, entry->Name, length);
	mem_free(value);
	return status;
}

/* From here on the entries are about the subkey. */
static NTSTATUS enter_subkey(struct registry_key *top, const RTL_QUERY_REGISTRY_TABLE *entry,
			     struct registry_key **key)
{
	struct registry_key *subkey;

	if (!entry->Name)
		return STATUS_INVALID_PARAMETER;
	NTSTATUS status = registry_key_open(top, entry->Name, nt_utf16_length(entry->Name, 32767),
					    REGISTRY_OPEN, &subkey, NULL);
	if (!NT_SUCCESS(status))
		return status;
	if (*key != top)
		registry_key_put(*key);
	*key = subkey;
	return STATUS_SUCCESS;
}

static NTSTATUS query_table(struct registry_key *top, const RTL_QUERY_REGISTRY_TABLE *entry,
			    const struct query *query)
{
	struct registry_key *key = top;
	NTSTATUS status = STATUS_SUCCESS;

	for (; NT_SUCCESS(status) &&
	       (entry->QueryRoutine || entry->Name ||
		(entry->Flags & (RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_DIRECT)) != 0);
	     entry++) {
		bool is_direct = (entry->Flags & RTL_QUERY_REGISTRY_DIRECT) != 0;

		if (is_direct && (!entry->Name || entry->QueryRoutine || !entry->EntryContext ||
				  (entry->Flags & RTL_QUERY_REGISTRY_SUBKEY) != 0)) {
			status = STATUS_INVALID_PARAMETER;
			break;
		}
		if ((entry->Flags & (RTL_QUERY_REGISTRY_TOPKEY | RTL_QUERY_REGISTRY_SUBKEY)) != 0 &&
		    key != top) {
			registry_key_put(key);
			key = top;
		}
		if ((entry->Flags & RTL_QUERY_REGISTRY_SUBKEY) != 0) {
			status = enter_subkey(top, entry, &key);
			if (NT_SUCCESS(status) && entry->QueryRoutine)
				status = query_all(key, entry, query);
		} else if ((entry->Flags & RTL_QUERY_REGISTRY_NOVALUE) != 0) {
			status = entry->QueryRoutine
					 ? entry->QueryRoutine(NULL, REG_NONE, NULL, 0,
							       query->context, entry->EntryContext)
					 : STATUS_INVALID_PARAMETER;
		} else if (entry->Name) {
			status = query_one(key, entry, query);
		} else {
			status = query_all(key, entry, query);
		}
	}
	if (key != top)
		registry_key_put(key);
	return status;
}

NTSTATUS RtlQueryRegistryValues(ULONG RelativeTo, PCWSTR Path, PRTL_QUERY_REGISTRY_TABLE QueryTable,
				PVOID Context, PVOID Environment)
{
	struct query query = { .context = Context, .site = CALLER };
	struct registry_key *top;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	NTSTATUS status = relative_open(RelativeTo, Path, false, &top);
	/* A key that may be missing is as good as an empty one, and then the defaults are used. */
	if (status == STATUS_OBJECT_NAME_NOT_FOUND && (RelativeTo & RTL_REGISTRY_OPTIONAL) != 0)
		return STATUS_SUCCESS;
	if (!NT_SUCCESS(status))
		return status;
	status = query_table(top, QueryTable, &query);
	registry_key_put(top);
	return status;
}

NTSTATUS RtlWriteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName, ULONG ValueType,
			       PVOID ValueData, ULONG ValueLength)
{
	struct registry_key *key;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (!ValueName || (!ValueData && ValueLength != 0))
		return STATUS_INVALID_PARAMETER;
	NTSTATUS status = relative_open(RelativeTo, Path, true, &key);
	if (!NT_SUCCESS(status))
		return status;
	status = registry_value_set(key, ValueName, nt_utf16_length(ValueName, 32767), ValueType,
				    ValueData, ValueLength);
	registry_key_put(key);
	return status;
}

NTSTATUS RtlDeleteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName)
{
	struct registry_key *key;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (!ValueName)
		return STATUS_INVALID_PARAMETER;
	NTSTATUS status = relative_open(RelativeTo, Path, false, &key);
	if (!NT_SUCCESS(status))
		return status;
	status = registry_value_delete(key, ValueName, nt_utf16_length(ValueName, 32767));
	registry_key_put(key);
	return status;
}

static NTSTATUS key_is_there(ULONG relative_to, PCWSTR path, bool is_creating, const char *routine)
{
	struct registry_key *key;

	nt_irql_require(PASSIVE_LEVEL, routine);
	NTSTATUS status = relative_open(relative_to, path, is_creating, &key);
	if (NT_SUCCESS(status))
		registry_key_put(key);
	return status;
}

NTSTATUS RtlCheckRegistryKey(ULONG RelativeTo, PWSTR Path)
{
	return key_is_there(RelativeTo, Path, false, __func__);
}

NTSTATUS RtlCreateRegistryKey(ULONG RelativeTo, PWSTR Path)
{
	return key_is_there(RelativeTo, Path, true, __func__);
}
