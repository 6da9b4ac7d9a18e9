/* SPDX-License-Identifier: MIT */
/*
 * config.c - see config.h; docs/profile.md describes the file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "embed/config_parts.h"
#include "evict/evict.h"

/* What the rest of the kernel has room for; a longer text would be cut somewhere. */
enum { MOST_PATH_BYTES = 4095, MOST_NAME_BYTES = 255 };

/*
 * What people see of the default adapter. Programs look for parts of names to find the hardware
 * they are for, and go on to load its private parts: none may find us by accident
 * (tests/api/names_test.c has the list).
 */
#define DEFAULT_NAME "opendxgk Soft GPU"

/* A file of ours has no version of its own; it is of the kernel's. */
#define DEFAULT_DRIVER_VERSION DXGK_VERSION ".0"

/* New for every start of an adapter on Windows; here the number in the profile is enough. */
static uint64_t luid_of(size_t index)
{
	return 0x10000 + index;
}

/* ---- values ---- */

NTSTATUS config_expect(struct json_document *document, const struct json *value,
		       enum json_type wanted, const char *what)
{
	if (value->type != wanted)
		return json_complain(document, value, "expected %s as %s, found %s",
				     json_type_name(wanted), what, json_type_name(value->type));
	return STATUS_SUCCESS;
}

NTSTATUS config_no_memory(struct json_document *document, const struct json *where)
{
	json_complain(document, where, "no memory for this");
	return STATUS_NO_MEMORY;
}

/* A text that is not empty; the caller frees it. */
static NTSTATUS config_read_text(struct json_document *document, const struct json *value,
				 const char *what, size_t most_bytes, const char **text_out)
{
	NTSTATUS status = config_expect(document, value, JSON_STRING, what);

	if (!NT_SUCCESS(status))
		return status;
	if (value->string[0] == '\0')
		return json_complain(document, value, "expected %s, found an empty string", what);
	if (strlen(value->string) > most_bytes)
		return json_complain(document, value, "expected at most %zu bytes as %s, found %zu",
				     most_bytes, what, strlen(value->string));
	*text_out = mem_strdup(value->string);
	return *text_out ? STATUS_SUCCESS : config_no_memory(document, value);
}

static bool parse_hex(const char *text, double *number_out)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0 || strspn(text + 2, "0123456789abcdefABCDEF") == 0)
		return false;
	*number_out = (double)strtoull(text + 2, &end, 16);
	return *end == '\0';
}

NTSTATUS config_read_number(struct json_document *document, const struct json *value,
			    const char *what, uint32_t least, uint32_t most, uint32_t *number_out)
{
	double number = value->type == JSON_NUMBER ? value->number : -1;

	if (value->type == JSON_STRING && !parse_hex(value->string, &number))
		return json_complain(document, value,
				     "expected a number, or one as \"0x1f\", as %s, found "
				     "\"%.40s\"",
				     what, value->string);
	if (value->type != JSON_NUMBER && value->type != JSON_STRING)
		return config_expect(document, value, JSON_NUMBER, what);
	if (!(number >= least && number <= most) || number != floor(number))
		return json_complain(document, value,
				     "expected a whole number from %u (0x%x) to %u (0x%x) as %s, "
				     "found %.10g",
				     least, least, most, most, what, number);
	*number_out = (uint32_t)number;
	return STATUS_SUCCESS;
}

/* ---- objects ---- */

const struct json *config_find(const struct json *value, const char *name)
{
	if (value->type != JSON_OBJECT)
		return NULL;
	for (const struct json *item = value->first; item; item = item->next) {
		if (strcmp(item->name, name) == 0)
			return item;
	}
	return NULL;
}

/* expected "driver", "name" or "registry", found "memory" */
static NTSTATUS complain_name(struct json_document *document, const struct json *item,
			      const struct config_member *members, size_t count)
{
	char names[192] = "";
	size_t used = 0;

	for (size_t i = 0; i < count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s\"%s\"",
					 i == 0           ? ""
					 : i + 1 == count ? " or "
							  : ", ",
					 members[i].name);
	return json_complain(document, item, "expected %s, found \"%.40s\"", names, item->name);
}

static NTSTATUS read_member(struct json_document *document, const struct json *object,
			    const struct json *item, const struct config_member *members,
			    size_t count, void *into)
{
	size_t i = 0;

	while (i < count && strcmp(members[i].name, item->name) != 0)
		i++;
	if (i == count)
		return complain_name(document, item, members, count);
	if (config_find(object, item->name) != item)
		return json_complain(document, item, "\"%s\" was given before", item->name);
	return members[i].read(document, item, into);
}

NTSTATUS config_read_members(struct json_document *document, const struct json *value,
			     const char *what, const struct config_member *members, size_t count,
			     void *into)
{
	NTSTATUS status = config_expect(document, value, JSON_OBJECT, what);

	if (!NT_SUCCESS(status))
		return status;
	for (const struct json *item = value->first; item && NT_SUCCESS(status); item = item->next)
		status = read_member(document, value, item, members, count, into);
	return status;
}

/* ---- an adapter ---- */

static NTSTATUS read_driver(struct json_document *document, const struct json *value, void *into)
{
	return config_read_text(document, value, "\"driver\"", MOST_PATH_BYTES,
				&((struct miniport_config *)into)->driver);
}

static NTSTATUS read_name(struct json_document *document, const struct json *value, void *into)
{
	return config_read_text(document, value, "\"name\"", MOST_NAME_BYTES,
				&((struct miniport_config *)into)->name);
}

static NTSTATUS read_driver_store(struct json_document *document, const struct json *value,
				  void *into)
{
	struct miniport_config *adapter = into;
	NTSTATUS status = config_read_text(document, value, "\"driverStore\"", MOST_PATH_BYTES,
					   &adapter->driver_store);

	if (NT_SUCCESS(status) && adapter->driver_store[0] != '/')
		return json_complain(document, value,
				     "expected an absolute path as \"driverStore\", found "
				     "\"%.40s\"",
				     adapter->driver_store);
	return status;
}

/* "31.0.101.2111": four numbers of 16 bits. */
static bool parse_version(const char *text, uint64_t *version_out)
{
	uint64_t version = 0;

	for (unsigned part = 0; part < 4; part++) {
		size_t digits = strspn(text, "0123456789");
		unsigned long number = strtoul(text, NULL, 10);

		if (digits == 0 || digits > 5 || number > UINT16_MAX ||
		    text[digits] != (part < 3 ? '.' : '\0'))
			return false;
		version = version << 16 | number;
		text += digits + 1;
	}
	*version_out = version;
	return true;
}

static NTSTATUS read_driver_version(struct json_document *document, const struct json *value,
				    void *into)
{
	struct miniport_config *adapter = into;
	NTSTATUS status = config_expect(document, value, JSON_STRING, "\"driverVersion\"");

	if (NT_SUCCESS(status) && !parse_version(value->string, &adapter->driver_version))
		return json_complain(document, value,
				     "expected four numbers from 0 to 65535 with dots between them "
				     "as \"driverVersion\", found \"%.40s\"",
				     value->string);
	return status;
}

static NTSTATUS read_wddm(struct json_document *document, const struct json *value, void *into)
{
	static const char *const levels[] = { "2.0", "2.1", "2.2", "2.3", "2.4", "2.5",
					      "2.6", "2.7", "2.8", "2.9", "3.0", "3.1" };
	struct miniport_config *adapter = into;
	NTSTATUS status = config_expect(document, value, JSON_STRING, "\"wddm\"");

	if (!NT_SUCCESS(status))
		return status;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (strcmp(value->string, levels[i]) == 0) {
			adapter->wddm_level = 2000 + 100 * (uint32_t)i;
			return STATUS_SUCCESS;
		}
	}
	return json_complain(document, value,
			     "expected \"2.0\" to \"2.9\", \"3.0\" or \"3.1\" as \"wddm\", found "
			     "\"%.40s\"",
			     value->string);
}

static NTSTATUS read_eviction(struct json_document *document, const struct json *value, void *into)
{
	struct miniport_config *adapter = into;
	NTSTATUS status = config_expect(document, value, JSON_STRING, "\"eviction\"");

	if (!NT_SUCCESS(status))
		return status;
	adapter->eviction = evict_policy_find(value->string);
	return adapter->eviction ? STATUS_SUCCESS
				 : json_complain(document, value,
						 "expected a policy of eviction that dxgk replay "
						 "--help lists, found \"%.40s\"",
						 value->string);
}

static NTSTATUS read_adapter(struct json_document *document, const struct json *value,
			     struct miniport_config *adapter)
{
	static const struct config_member members[] = {
		{ "driver", read_driver },
		{ "name", read_name },
		{ "driverStore", read_driver_store },
		{ "registry", config_read_registry },
		{ "driverVersion", read_driver_version },
		{ "wddm", read_wddm },
		{ "eviction", read_eviction },
		{ "pci", config_read_pci },
		{ "resources", config_read_resources },
		{ "hardwareIds", config_read_hardware_ids },
		{ "compatibleIds", config_read_compatible_ids },
	};

	(void)parse_version(DEFAULT_DRIVER_VERSION, &adapter->driver_version);
	NTSTATUS status = config_read_members(document, value, "an adapter", members,
					      ARRAY_SIZE(members), adapter);
	if (NT_SUCCESS(status))
		status = config_check_device(document, value, adapter);
	if (!NT_SUCCESS(status))
		return status;
	if (!adapter->driver)
		return json_complain(document, value, "expected \"driver\" in this adapter");
	if (!adapter->name)
		adapter->name = mem_strdup(adapter->driver);
	return adapter->name ? STATUS_SUCCESS : config_no_memory(document, value);
}

/* Of the last adapter, which `value` describes: no other is where it is. */
static NTSTATUS check_place(struct json_document *document, const struct json *value,
			    const struct config *config)
{
	const struct miniport_config *last = &config->adapters[config->adapter_count - 1];

	for (const struct miniport_config *other = config->adapters; last->pci && other < last;
	     other++) {
		const struct miniport_pci_address *address = &last->pci->address;
		if (other->pci && memcmp(&other->pci->address, address, sizeof(*address)) == 0)
			return json_complain(document, config_find(value, "pci"),
					     "expected a place of its own on PCI, found bus %u, "
					     "slot %u, function %u of adapter %u",
					     address->bus, address->slot, address->function,
					     other->adapter_id);
	}
	return STATUS_SUCCESS;
}

/* ---- the profile ---- */

static NTSTATUS read_adapters(struct json_document *document, const struct json *value, void *into)
{
	struct config *config = into;
	NTSTATUS status = config_expect(document, value, JSON_ARRAY, "\"adapters\"");

	if (!NT_SUCCESS(status))
		return status;
	if (value->count > KERNEL_MAX_ADAPTERS)
		return json_complain(document, value, "expected at most %u adapters, found %zu",
				     (unsigned)KERNEL_MAX_ADAPTERS, value->count);
	config->adapters = mem_zalloc_array(value->count + 1, sizeof(*config->adapters));
	if (!config->adapters)
		return config_no_memory(document, value);
	for (const struct json *item = value->first; item; item = item->next) {
		struct miniport_config *adapter = &config->adapters[config->adapter_count];
		adapter->luid = luid_of(config->adapter_count);
		adapter->adapter_id = (uint32_t)++config->adapter_count;
		status = read_adapter(document, item, adapter);
		if (NT_SUCCESS(status))
			status = check_place(document, item, config);
		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS read_profile(struct json_document *document, struct config *config)
{
	static const struct config_member members[] = { { "adapters", read_adapters },
							{ "limits", config_read_limits } };
	NTSTATUS status = config_read_members(document, document->root, "the profile", members,
					      ARRAY_SIZE(members), config);

	if (NT_SUCCESS(status) && !config->adapters)
		status = json_complain(document, document->root,
				       "expected \"adapters\" in the profile");
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
	adapter->name = mem_strdup(DEFAULT_NAME);
	(void)parse_version(DEFAULT_DRIVER_VERSION, &adapter->driver_version);
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
		config_free_registry(adapter);
		config_free_device(adapter);
		mem_free((void *)adapter->driver);
		mem_free((void *)adapter->name);
		mem_free((void *)adapter->driver_store);
	}
	mem_free(config->adapters);
	*config = (struct config){ 0 };
}
