/*
 * config.c - see config.h; docs/profile.md describes the file.
 */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "daemon/config.h"
#include "daemon/json.h"

/* What the rest of the kernel has room for; a longer text would be cut somewhere. */
enum { MOST_PATH_BYTES = 4095, MOST_NAME_BYTES = 255 };

/* New for every start of an adapter on Windows; here the number in the profile is enough. */
static uint64_t luid_of(size_t index)
{
	return 0x10000 + index;
}

static NTSTATUS expect(struct json_document *document, const struct json *value,
		       enum json_type wanted, const char *what)
{
	if (value->type != wanted)
		return json_complain(document, value, "expected %s as %s, found %s",
				     json_type_name(wanted), what, json_type_name(value->type));
	return STATUS_SUCCESS;
}

static NTSTATUS no_memory(struct json_document *document, const struct json *where)
{
	json_complain(document, where, "no memory for this");
	return STATUS_NO_MEMORY;
}

static NTSTATUS read_text(struct json_document *document, const struct json *value,
			  const char *what, size_t most_bytes, const char **text_out)
{
	NTSTATUS status = expect(document, value, JSON_STRING, what);

	if (!NT_SUCCESS(status))
		return status;
	if (*text_out)
		return json_complain(document, value, "%s was given before", what);
	if (value->string[0] == '\0')
		return json_complain(document, value, "expected %s, found an empty string", what);
	if (strlen(value->string) > most_bytes)
		return json_complain(document, value, "expected at most %zu bytes as %s, found %zu",
				     most_bytes, what, strlen(value->string));
	*text_out = mem_strdup(value->string);
	return *text_out ? STATUS_SUCCESS : no_memory(document, value);
}

static NTSTATUS read_setting(struct json_document *document, const struct json *value,
			     struct miniport_setting *setting)
{
	if (value->type == JSON_STRING) {
		setting->text = mem_strdup(value->string);
		if (!setting->text)
			return no_memory(document, value);
	} else if (value->type == JSON_NUMBER) {
		if (value->number < 0 || value->number > UINT32_MAX ||
		    value->number != floor(value->number))
			return json_complain(document, value,
					     "expected a whole number from 0 to 4294967295");
		setting->number = (uint32_t)value->number;
	} else {
		return json_complain(document, value,
				     "expected a number or a string as registry value, found %s",
				     json_type_name(value->type));
	}
	setting->name = mem_strdup(value->name);
	return setting->name ? STATUS_SUCCESS : no_memory(document, value);
}

static NTSTATUS read_registry(struct json_document *document, const struct json *value,
			      struct miniport_config *adapter)
{
	NTSTATUS status = expect(document, value, JSON_OBJECT, "\"registry\"");

	if (!NT_SUCCESS(status))
		return status;
	if (adapter->settings)
		return json_complain(document, value, "\"registry\" was given before");
	struct miniport_setting *settings = mem_zalloc_array(value->count + 1, sizeof(*settings));
	if (!settings)
		return no_memory(document, value);
	adapter->settings = settings;
	for (const struct json *item = value->first; item; item = item->next) {
		status = read_setting(document, item, &settings[adapter->setting_count++]);
		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS read_adapter(struct json_document *document, const struct json *value,
			     struct miniport_config *adapter)
{
	NTSTATUS status = expect(document, value, JSON_OBJECT, "an adapter");

	if (!NT_SUCCESS(status))
		return status;
	for (const struct json *item = value->first; item; item = item->next) {
		if (strcmp(item->name, "driver") == 0)
			status = read_text(document, item, "\"driver\"", MOST_PATH_BYTES,
					   &adapter->driver);
		else if (strcmp(item->name, "name") == 0)
			status = read_text(document, item, "\"name\"", MOST_NAME_BYTES,
					   &adapter->name);
		else if (strcmp(item->name, "registry") == 0)
			status = read_registry(document, item, adapter);
		else
			status = json_complain(document, item,
					       "expected \"driver\", \"name\" or \"registry\", "
					       "found \"%.40s\"",
					       item->name);
		if (!NT_SUCCESS(status))
			return status;
	}
	if (!adapter->driver)
		return json_complain(document, value, "expected \"driver\" in this adapter");
	if (!adapter->name)
		adapter->name = mem_strdup(adapter->driver);
	return adapter->name ? STATUS_SUCCESS : no_memory(document, value);
}

static NTSTATUS read_adapters(struct json_document *document, const struct json *value,
			      struct config *config)
{
	NTSTATUS status = expect(document, value, JSON_ARRAY, "\"adapters\"");

	if (!NT_SUCCESS(status))
		return status;
	if (config->adapters)
		return json_complain(document, value, "\"adapters\" was given before");
	if (value->count > KERNEL_MAX_ADAPTERS)
		return json_complain(document, value, "expected at most %u adapters, found %zu",
				     (unsigned)KERNEL_MAX_ADAPTERS, value->count);
	config->adapters = mem_zalloc_array(value->count + 1, sizeof(*config->adapters));
	if (!config->adapters)
		return no_memory(document, value);
	for (const struct json *item = value->first; item; item = item->next) {
		struct miniport_config *adapter = &config->adapters[config->adapter_count];
		adapter->luid = luid_of(config->adapter_count);
		adapter->adapter_id = (uint32_t)++config->adapter_count;
		status = read_adapter(document, item, adapter);
		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS read_profile(struct json_document *document, struct config *config)
{
	const struct json *root = document->root;
	NTSTATUS status = expect(document, root, JSON_OBJECT, "the profile");

	for (const struct json *item = root->first; NT_SUCCESS(status) && item; item = item->next) {
		if (root->type == JSON_OBJECT && strcmp(item->name, "adapters") == 0)
			status = read_adapters(document, item, config);
		else
			status =
				json_complain(document, item,
					      "expected \"adapters\", found \"%.40s\"", item->name);
	}
	if (NT_SUCCESS(status) && !config->adapters)
		status = json_complain(document, root, "expected \"adapters\" in the profile");
	return status;
}

static NTSTATUS config_default(struct config *config)
{
	static const struct miniport_setting defaults[] = {
		{ .name = "LocalMemoryMiB", .number = 256 },
		{ .name = "ApertureMiB", .number = 1024 },
		{ .name = "AddressModel", .text = "gpummu" },
	};
	struct miniport_setting *settings =
		mem_zalloc_array(ARRAY_SIZE(defaults), sizeof(*settings));

	config->adapters = mem_zalloc(sizeof(*config->adapters));
	if (!config->adapters || !settings) {
		mem_free(settings);
		return STATUS_NO_MEMORY;
	}
	struct miniport_config *adapter = config->adapters;
	config->adapter_count = 1;
	adapter->adapter_id = 1;
	adapter->luid = luid_of(0);
	adapter->settings = settings;
	adapter->driver = mem_strdup("soft");
	adapter->name = mem_strdup("opendxgk Virtual Render Adapter");
	if (!adapter->driver || !adapter->name)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		struct miniport_setting *setting = &settings[adapter->setting_count++];
		setting->number = defaults[i].number;
		setting->name = mem_strdup(defaults[i].name);
		setting->text = defaults[i].text ? mem_strdup(defaults[i].text) : NULL;
		if (!setting->name || (defaults[i].text && !setting->text))
			return STATUS_NO_MEMORY;
	}
	return STATUS_SUCCESS;
}

NTSTATUS config_read(const char *path, struct config *config)
{
	struct json_document document;
	NTSTATUS status;

	*config = (struct config){ 0 };
	if (!path) {
		status = config_default(config);
		if (!NT_SUCCESS(status)) {
			config_finish(config);
			refuse(status, RULE_API_NO_MEMORY, NULL,
			       "no memory for the default profile");
		}
		return status;
	}
	status = json_read(path, &document);
	if (NT_SUCCESS(status))
		status = read_profile(&document, config);
	if (!NT_SUCCESS(status)) {
		/* What a client sees when the kernel cannot be reached at all. */
		if (status != STATUS_NO_MEMORY)
			status = STATUS_UNSUCCESSFUL;
		refuse(status, RULE_SYS_PROFILE, NULL, "profile %s", document.problem);
		config_finish(config);
	}
	json_finish(&document);
	return status;
}

void config_finish(struct config *config)
{
	for (size_t i = 0; i < config->adapter_count; i++) {
		struct miniport_config *adapter = &config->adapters[i];
		for (size_t j = 0; j < adapter->setting_count; j++) {
			mem_free((void *)adapter->settings[j].name);
			mem_free((void *)adapter->settings[j].text);
		}
		mem_free((void *)adapter->settings);
		mem_free((void *)adapter->driver);
		mem_free((void *)adapter->name);
	}
	mem_free(config->adapters);
	*config = (struct config){ 0 };
}
