/* SPDX-License-Identifier: MIT */
/*
 * query_registry.c - what D3DKMTQueryAdapterInfo answers from the driver's registry key: its values,
 * and the names that an installation, or the driver itself, writes there.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dispatch/dispatch.h"
#include "dispatch/query.h"
#include "dispatch/text.h"

/* The variable part of the answer: what fits is written, what it needs is always said. */
struct registry_answer {
	D3DDDI_QUERYREGISTRY_INFO *info;
	unsigned char *output;
	size_t capacity;
};

/* Says how much the value needs; true when there is room for it. */
static bool put_registry_size(struct registry_answer *answer, size_t size_bytes)
{
	bool fits = size_bytes <= answer->capacity;

	answer->info->OutputValueSize = (ULONG)size_bytes;
	answer->info->Status = fits ? D3DDDI_QUERYREGISTRY_STATUS_SUCCESS
				    : D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW;
	return fits;
}

static void put_registry_bytes(struct registry_answer *answer, const void *bytes, size_t size_bytes)
{
	if (put_registry_size(answer, size_bytes) && bytes)
		memcpy(answer->output, bytes, size_bytes);
}

static void put_registry_text(struct registry_answer *answer, const char *text)
{
	size_t count = text_wide_count(text);

	if (put_registry_size(answer, count * sizeof(WCHAR)))
		text_to_wide((WCHAR *)answer->output, count, text);
}

/* The strings of a REG_MULTI_SZ, one behind the other, and an empty one at the end. */
static void put_registry_texts(struct registry_answer *answer, const char *texts)
{
	WCHAR *output = (WCHAR *)answer->output;
	size_t count = 1;

	for (const char *text = texts; *text; text += strlen(text) + 1)
		count += text_wide_count(text);
	if (!put_registry_size(answer, count * sizeof(WCHAR)))
		return;
	for (const char *text = texts; *text; text += strlen(text) + 1) {
		text_to_wide(output, text_wide_count(text), text);
		output += text_wide_count(text);
	}
	*output = 0;
}

/* That there is no such value is an answer; anything else is a refusal. */
static NTSTATUS refuse_unread(NTSTATUS status, const char *name)
{
	if (status == STATUS_OBJECT_NAME_NOT_FOUND)
		return status;
	/* As the registry of NT says it, and as we do. */
	if (status == STATUS_INSUFFICIENT_RESOURCES || status == STATUS_NO_MEMORY)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, "ValueName",
			      "\"%s\" cannot be read: there is no memory", name);
	return refuse(status, RULE_API_VALUE, "ValueName", "\"%s\" cannot be read", name);
}

/* The value itself, ours to free; a longer one than most needs a second look. */
static NTSTATUS read_registry(const struct query *query, const char *name,
			      enum miniport_value_type *type, char **value_out, size_t *bytes_out)
{
	size_t capacity = 256;

	for (;;) {
		char *value = mem_zalloc(capacity + 2); /* texts are ended by us */
		if (!value) {
			refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, "ValueName",
			       "\"%s\" has a value there is no memory for", name);
			return STATUS_NO_MEMORY;
		}
		NTSTATUS status = miniport_query_registry(query->adapter->miniport, name, type,
							  value, capacity, bytes_out);
		if (NT_SUCCESS(status)) {
			*value_out = value;
			return STATUS_SUCCESS;
		}
		mem_free(value);
		if (status != STATUS_BUFFER_OVERFLOW || *bytes_out <= capacity)
			return refuse_unread(status, name);
		capacity = *bytes_out;
	}
}

static NTSTATUS put_registry_value(const struct query *query, struct registry_answer *answer)
{
	char name[MAX_PATH * 4]; /* four bytes for each character */
	char *value = NULL;
	size_t value_bytes = 0;
	enum miniport_value_type type = MINIPORT_VALUE_BINARY;

	if (!text_from_wide(name, sizeof(name), answer->info->ValueName, MAX_PATH))
		return invalid(RULE_API_VALUE, "ValueName", "is not a zero-terminated name");
	NTSTATUS status = read_registry(query, name, &type, &value, &value_bytes);
	if (status == STATUS_OBJECT_NAME_NOT_FOUND) {
		/* The question was fine; the answer is that there is no such value. */
		answer->info->OutputValueSize = 0;
		answer->info->Status = D3DDDI_QUERYREGISTRY_STATUS_FAIL;
		return STATUS_SUCCESS;
	}
	if (!NT_SUCCESS(status))
		return status;
	if (type == MINIPORT_VALUE_TEXT)
		put_registry_text(answer, value);
	else if (type == MINIPORT_VALUE_MULTI_TEXT)
		put_registry_texts(answer, value);
	else
		put_registry_bytes(answer, value, value_bytes);
	mem_free(value);
	return STATUS_SUCCESS;
}

NTSTATUS query_answer_registry(const struct query *query)
{
	D3DDDI_QUERYREGISTRY_INFO *info = query->data;
	size_t head = offsetof(D3DDDI_QUERYREGISTRY_INFO, OutputDword);
	struct registry_answer answer = { info, (unsigned char *)query->data + head,
					  query->size_bytes - head };
	NTSTATUS status = query_check_single_adapter(info->PhysicalAdapterIndex);

	if (!NT_SUCCESS(status))
		return status;
	switch (info->QueryType) {
	case D3DDDI_QUERYREGISTRY_SERVICEKEY:
	case D3DDDI_QUERYREGISTRY_ADAPTERKEY:
		return put_registry_value(query, &answer);
	case D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH:
		put_registry_text(&answer, query->info->driver_store);
		return STATUS_SUCCESS;
	case D3DDDI_QUERYREGISTRY_DRIVERIMAGEPATH:
		put_registry_text(&answer, query->info->driver_path);
		return STATUS_SUCCESS;
	case D3DDDI_QUERYREGISTRY_MAX:
	default:
		break;
	}
	return invalid(RULE_API_VALUE, "QueryType", "is %u, not one of 0 to 3",
		       (unsigned)info->QueryType);
}

/* ---- names ---- */

static const char *text_at(const char *texts, unsigned index)
{
	while (index > 0 && *texts) {
		texts += strlen(texts) + 1;
		index--;
	}
	return texts;
}

/* The `index`th text of a value, at most `capacity` characters. Not there is an empty one. */
static NTSTATUS read_name(const struct query *query, const char *name, unsigned index, WCHAR *wide,
			  size_t capacity)
{
	enum miniport_value_type type = MINIPORT_VALUE_BINARY;
	char *value = NULL;
	size_t bytes = 0;
	NTSTATUS status = read_registry(query, name, &type, &value, &bytes);

	wide[0] = 0;
	if (NT_SUCCESS(status)) {
		if (type == MINIPORT_VALUE_MULTI_TEXT)
			text_to_wide(wide, capacity, text_at(value, index));
		else if (type == MINIPORT_VALUE_TEXT && index == 0)
			text_to_wide(wide, capacity, value);
		mem_free(value);
	}
	return status == STATUS_OBJECT_NAME_NOT_FOUND ? STATUS_SUCCESS : status;
}

static NTSTATUS read_number(const struct query *query, const char *name, ULONG *number_out)
{
	enum miniport_value_type type = MINIPORT_VALUE_BINARY;
	char *value = NULL;
	size_t bytes = 0;
	NTSTATUS status = read_registry(query, name, &type, &value, &bytes);

	*number_out = 0;
	if (NT_SUCCESS(status)) {
		if (type == MINIPORT_VALUE_DWORD)
			memcpy(number_out, value, sizeof(*number_out));
		mem_free(value);
	}
	return status == STATUS_OBJECT_NAME_NOT_FOUND ? STATUS_SUCCESS : status;
}

NTSTATUS query_answer_registry_info(const struct query *query)
{
	D3DKMT_ADAPTERREGISTRYINFO *answer = query->data;
	const struct {
		const char *name;
		WCHAR *text;
		const char *otherwise;
	} names[] = {
		{ "HardwareInformation.AdapterString", answer->AdapterString,
		  query->info->description },
		{ "HardwareInformation.BiosString", answer->BiosString, "" },
		{ "HardwareInformation.DacType", answer->DacType, "" },
		{ "HardwareInformation.ChipType", answer->ChipType, query->info->description },
	};

	memset(answer, 0, sizeof(*answer));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		NTSTATUS status = read_name(query, names[i].name, 0, names[i].text, MAX_PATH);
		if (!NT_SUCCESS(status))
			return status;
		if (names[i].text[0] == 0)
			text_to_wide(names[i].text, MAX_PATH, names[i].otherwise);
	}
	return STATUS_SUCCESS;
}

/* A driver need not have one; then the registry has no name. */
static NTSTATUS refuse_no_name(const char *argument, const char *value)
{
	return refuse(STATUS_OBJECT_NAME_NOT_FOUND, RULE_API_VALUE, argument,
		      "asks for a driver that %s in the registry does not name", value);
}

NTSTATUS query_answer_umd_name(const struct query *query)
{
	D3DKMT_UMDFILENAMEINFO *answer = query->data;

	if ((unsigned)answer->Version >= NUM_KMTUMDVERSIONS)
		return invalid(RULE_API_VALUE, "Version", "is %u, not one of 0 to %u",
			       (unsigned)answer->Version, NUM_KMTUMDVERSIONS - 1);
	NTSTATUS status = read_name(query, "UserModeDriverName", (unsigned)answer->Version,
				    answer->UmdFileName, ARRAY_SIZE(answer->UmdFileName));
	if (NT_SUCCESS(status) && answer->UmdFileName[0] == 0)
		return refuse_no_name("Version", "UserModeDriverName");
	return status;
}

NTSTATUS query_answer_opengl(const struct query *query)
{
	D3DKMT_OPENGLINFO *answer = query->data;
	NTSTATUS status = read_name(query, "OpenGLDriverName", 0, answer->UmdOpenGlIcdFileName,
				    ARRAY_SIZE(answer->UmdOpenGlIcdFileName));

	if (NT_SUCCESS(status) && answer->UmdOpenGlIcdFileName[0] == 0)
		return refuse_no_name("Type", "OpenGLDriverName");
	if (NT_SUCCESS(status))
		status = read_number(query, "OpenGLVersion", &answer->Version);
	if (NT_SUCCESS(status))
		status = read_number(query, "OpenGLFlags", &answer->Flags);
	return status;
}
