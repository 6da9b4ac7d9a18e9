/* SPDX-License-Identifier: MIT */
/*
 * config_registry.c - "registry" of an adapter: values, and keys with values below the driver's own.
 *
 *	whole number   REG_DWORD           array of strings   REG_MULTI_SZ
 *	string         REG_SZ              array of numbers   REG_BINARY
 *	object         a key
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "embed/config_parts.h"

/* What the kernel writes itself, from other members: saying it twice could not be kept the same. */
static const struct {
	const char *name;
	const char *member;
} written_by_us[] = {
	{ "DriverDesc", "\"name\"" },
	{ "DriverVersion", "\"driverVersion\"" },
	{ "MatchingDeviceId", "\"pci\" or \"hardwareIds\"" },
};

static NTSTATUS check_name(struct json_document *document, const struct json *value,
			   const char *key)
{
	if (strchr(value->name, '\\'))
		return json_complain(
			document, value,
			"expected a name without \\ in \"registry\" (a key below is an "
			"object), found \"%.40s\"",
			value->name);
	for (size_t i = 0; !key && i < ARRAY_SIZE(written_by_us); i++) {
		if (strcasecmp(value->name, written_by_us[i].name) == 0)
			return json_complain(document, value,
					     "expected \"%s\" not in \"registry\", it comes from "
					     "%s",
					     written_by_us[i].name, written_by_us[i].member);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS read_texts(struct json_document *document, const struct json *value,
			   struct miniport_setting *setting)
{
	const char **texts = mem_zalloc_array(value->count, sizeof(*texts));

	if (!texts)
		return config_no_memory(document, value);
	setting->texts = texts;
	for (const struct json *item = value->first; item; item = item->next) {
		NTSTATUS status = config_expect(document, item, JSON_STRING, "each of the strings");
		if (!NT_SUCCESS(status))
			return status;
		texts[setting->count] = mem_strdup(item->string);
		if (!texts[setting->count++])
			return config_no_memory(document, item);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS read_bytes(struct json_document *document, const struct json *value,
			   struct miniport_setting *setting)
{
	uint8_t *bytes = mem_zalloc(value->count);

	if (!bytes)
		return config_no_memory(document, value);
	setting->bytes = bytes;
	for (const struct json *item = value->first; item; item = item->next) {
		uint32_t byte;
		NTSTATUS status =
			config_read_number(document, item, "each of the bytes", 0, 255, &byte);
		if (!NT_SUCCESS(status))
			return status;
		bytes[setting->count++] = (uint8_t)byte;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS read_array(struct json_document *document, const struct json *value,
			   struct miniport_setting *setting)
{
	if (value->count == 0)
		return json_complain(document, value,
				     "expected strings or bytes in the array \"%.40s\", found none",
				     value->name);
	return value->first->type == JSON_STRING ? read_texts(document, value, setting)
						 : read_bytes(document, value, setting);
}

static NTSTATUS read_setting(struct json_document *document, const struct json *value,
			     const char *key, struct miniport_setting *setting)
{
	NTSTATUS status = check_name(document, value, key);

	if (!NT_SUCCESS(status))
		return status;
	if (value->type == JSON_STRING) {
		setting->text = mem_strdup(value->string);
		if (!setting->text)
			return config_no_memory(document, value);
	} else if (value->type == JSON_NUMBER) {
		if (value->number < 0 || value->number > UINT32_MAX ||
		    value->number != floor(value->number))
			return json_complain(document, value,
					     "expected a whole number from 0 to 4294967295");
		setting->number = (uint32_t)value->number;
	} else if (value->type == JSON_ARRAY) {
		status = read_array(document, value, setting);
		if (!NT_SUCCESS(status))
			return status;
	} else {
		return json_complain(document, value,
				     "expected a number, a string, an array or an object as "
				     "registry value, found %s",
				     json_type_name(value->type));
	}
	if (key) {
		setting->key = mem_strdup(key);
		if (!setting->key)
			return config_no_memory(document, value);
	}
	setting->name = mem_strdup(value->name);
	return setting->name ? STATUS_SUCCESS : config_no_memory(document, value);
}

static size_t count_settings(const struct json *value)
{
	size_t count = 0;

	for (const struct json *item = value->first; item; item = item->next)
		count += item->type == JSON_OBJECT ? count_settings(item) : 1;
	return count;
}

struct registry_reader {
	struct json_document *document;
	struct miniport_config *adapter;
	struct miniport_setting *settings;
};

static NTSTATUS read_key(const struct registry_reader *reader, const struct json *value,
			 const char *key);

static NTSTATUS read_key_below(const struct registry_reader *reader, const struct json *value,
			       const char *key)
{
	NTSTATUS status = check_name(reader->document, value, key);

	if (!NT_SUCCESS(status))
		return status;
	char *below = key ? mem_printf("%s\\%s", key, value->name) : mem_strdup(value->name);
	if (!below)
		return config_no_memory(reader->document, value);
	status = read_key(reader, value, below);
	mem_free(below);
	return status;
}

static NTSTATUS read_key(const struct registry_reader *reader, const struct json *value,
			 const char *key)
{
	NTSTATUS status = STATUS_SUCCESS;

	for (const struct json *item = value->first; item && NT_SUCCESS(status);
	     item = item->next) {
		if (item->type == JSON_OBJECT)
			status = read_key_below(reader, item, key);
		else
			status = read_setting(reader->document, item, key,
					      &reader->settings[reader->adapter->setting_count++]);
	}
	return status;
}

NTSTATUS config_read_registry(struct json_document *document, const struct json *value, void *into)
{
	struct miniport_config *adapter = into;
	NTSTATUS status = config_expect(document, value, JSON_OBJECT, "\"registry\"");

	if (!NT_SUCCESS(status))
		return status;
	struct miniport_setting *settings =
		mem_zalloc_array(count_settings(value) + 1, sizeof(*settings));
	if (!settings)
		return config_no_memory(document, value);
	adapter->settings = settings;
	return read_key(&(struct registry_reader){ document, adapter, settings }, value, NULL);
}

void config_free_registry(struct miniport_config *adapter)
{
	for (size_t i = 0; i < adapter->setting_count; i++) {
		const struct miniport_setting *setting = &adapter->settings[i];

		mem_free((void *)setting->key);
		mem_free((void *)setting->name);
		mem_free((void *)setting->text);
		for (size_t j = 0; setting->texts && j < setting->count; j++)
			mem_free((void *)setting->texts[j]);
		mem_free((void *)setting->texts);
		mem_free((void *)setting->bytes);
	}
	mem_free((void *)adapter->settings);
}
