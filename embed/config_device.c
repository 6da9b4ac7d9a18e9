/* SPDX-License-Identifier: MIT */
/*
 * config_device.c - what an adapter's profile says about the device under it: "resources",
 * "hardwareIds", "compatibleIds", and how they go together with "pci".
 */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "embed/config_parts.h"

/* ---- ids ---- */

/* As plug and play wants them: who enumerates, a backslash, and nothing it could not store. */
static NTSTATUS check_id(struct json_document *document, const struct json *value, const char *what)
{
	const char *backslash = strchr(value->string, '\\');
	enum { MOST = 199 };

	for (const char *c = value->string; *c; c++) {
		if (*c <= 0x20 || *c >= 0x7f || *c == ',')
			return json_complain(document, value,
					     "expected printable ASCII without spaces and commas "
					     "in %s, found \"%.60s\"",
					     what, value->string);
	}
	if (!backslash || backslash == value->string || !backslash[1])
		return json_complain(document, value,
				     "expected an enumerator, a \\ and an id in %s, found "
				     "\"%.60s\"",
				     what, value->string);
	if (strlen(value->string) > MOST)
		return json_complain(document, value,
				     "expected at most %d bytes for each of %s, found %zu", MOST,
				     what, strlen(value->string));
	if (strncasecmp(value->string, "PCI\\", 4) == 0)
		return json_complain(document, value,
				     "expected \"pci\" for a device on PCI, which has its ids from "
				     "there, found \"%.60s\" in %s",
				     value->string, what);
	return STATUS_SUCCESS;
}

static NTSTATUS read_ids(struct json_document *document, const struct json *value, const char *what,
			 const char *const **ids_out, size_t *count_out)
{
	enum { MOST = 64 };
	NTSTATUS status = config_expect(document, value, JSON_ARRAY, what);

	if (!NT_SUCCESS(status))
		return status;
	if (value->count == 0 || value->count > MOST)
		return json_complain(document, value, "expected 1 to %d ids in %s, found %zu", MOST,
				     what, value->count);
	const char **ids = mem_zalloc_array(value->count, sizeof(*ids));
	if (!ids)
		return config_no_memory(document, value);
	*ids_out = ids;
	for (const struct json *item = value->first; item; item = item->next) {
		status = config_expect(document, item, JSON_STRING, "an id");
		if (NT_SUCCESS(status))
			status = check_id(document, item, what);
		if (!NT_SUCCESS(status))
			return status;
		ids[*count_out] = mem_strdup(item->string);
		if (!ids[(*count_out)++])
			return config_no_memory(document, item);
	}
	return STATUS_SUCCESS;
}

NTSTATUS config_read_hardware_ids(struct json_document *document, const struct json *value,
				  void *into)
{
	struct miniport_config *adapter = into;

	return read_ids(document, value, "\"hardwareIds\"", &adapter->hardware_ids,
			&adapter->hardware_id_count);
}

NTSTATUS config_read_compatible_ids(struct json_document *document, const struct json *value,
				    void *into)
{
	struct miniport_config *adapter = into;

	return read_ids(document, value, "\"compatibleIds\"", &adapter->compatible_ids,
			&adapter->compatible_id_count);
}

/* ---- resources ---- */

enum { ANY_BAR = PCI_BARS };

static NTSTATUS read_memory(struct json_document *document, const struct json *value, void *into)
{
	struct miniport_resource *resource = into;
	uint32_t bytes = 0;
	NTSTATUS status =
		config_read_number(document, value, "\"memory\"", 4096, 0x80000000, &bytes);

	if (NT_SUCCESS(status) && (bytes & (bytes - 1)) != 0)
		return json_complain(document, value,
				     "expected a power of two as \"memory\", found %u", bytes);
	resource->kind = MINIPORT_RESOURCE_MEMORY;
	resource->size_bytes = bytes;
	return status;
}

static NTSTATUS read_bar(struct json_document *document, const struct json *value, void *into)
{
	return config_read_number(document, value, "\"bar\"", 0, PCI_BARS - 1,
				  &((struct miniport_resource *)into)->bar);
}

static NTSTATUS read_bool(struct json_document *document, const struct json *value,
			  const char *what, bool *out)
{
	NTSTATUS status = config_expect(document, value, JSON_BOOL, what);

	*out = NT_SUCCESS(status) && value->boolean;
	return status;
}

static NTSTATUS read_64bit(struct json_document *document, const struct json *value, void *into)
{
	return read_bool(document, value, "\"64bit\"",
			 &((struct miniport_resource *)into)->is_64bit);
}

static NTSTATUS read_prefetchable(struct json_document *document, const struct json *value,
				  void *into)
{
	return read_bool(document, value, "\"prefetchable\"",
			 &((struct miniport_resource *)into)->is_prefetchable);
}

static NTSTATUS read_line(struct json_document *document, const struct json *value, void *into)
{
	struct miniport_resource *resource = into;

	resource->kind = MINIPORT_RESOURCE_LINE;
	/* 255 is how the register says that there is none. */
	return config_read_number(document, value, "\"interruptLine\"", 0, 254, &resource->number);
}

static NTSTATUS read_messages(struct json_document *document, const struct json *value, void *into)
{
	struct miniport_resource *resource = into;

	resource->kind = MINIPORT_RESOURCE_MESSAGES;
	return config_read_number(document, value, "\"interruptMessages\"", 1, 2048,
				  &resource->number);
}

static NTSTATUS read_resource(struct json_document *document, const struct json *value,
			      struct miniport_resource *resource)
{
	static const struct config_member members[] = {
		{ "memory", read_memory },      { "bar", read_bar },
		{ "64bit", read_64bit },        { "prefetchable", read_prefetchable },
		{ "interruptLine", read_line }, { "interruptMessages", read_messages },
	};
	NTSTATUS status = config_read_members(document, value, "a resource", members,
					      ARRAY_SIZE(members), resource);

	if (!NT_SUCCESS(status))
		return status;
	const bool is_memory = config_find(value, "memory");
	const bool is_line = config_find(value, "interruptLine");
	const bool is_messages = config_find(value, "interruptMessages");
	if (is_memory + is_line + is_messages != 1)
		return json_complain(document, value,
				     "expected one of \"memory\", \"interruptLine\" and "
				     "\"interruptMessages\" in a resource, found %s",
				     is_memory + is_line + is_messages == 0 ? "none" : "more");
	if (!is_memory && value->count > 1)
		return json_complain(document, value,
				     "expected nothing beside the interrupt in its resource");
	return STATUS_SUCCESS;
}

NTSTATUS config_read_resources(struct json_document *document, const struct json *value, void *into)
{
	struct miniport_config *adapter = into;
	enum { MOST = 16 };
	NTSTATUS status = config_expect(document, value, JSON_ARRAY, "\"resources\"");

	if (!NT_SUCCESS(status))
		return status;
	if (value->count > MOST)
		return json_complain(document, value, "expected at most %d resources, found %zu",
				     MOST, value->count);
	struct miniport_resource *resources =
		mem_zalloc_array(value->count + 1, sizeof(*resources));
	if (!resources)
		return config_no_memory(document, value);
	adapter->resources = resources;
	for (const struct json *item = value->first; item; item = item->next) {
		struct miniport_resource *resource = &resources[adapter->resource_count++];
		resource->bar = ANY_BAR;
		status = read_resource(document, item, resource);
		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

/* ---- together ---- */

static unsigned bars_of(const struct miniport_resource *memory, uint32_t bar)
{
	return (memory->is_64bit ? 3u : 1u) << bar;
}

static bool bars_are_free(const struct miniport_resource *memory, uint32_t bar, unsigned taken)
{
	return bars_of(memory, bar) < 1u << PCI_BARS && !(bars_of(memory, bar) & taken);
}

/* Those with a register of their own first; the others take the lowest that is left. */
static NTSTATUS give_bars(struct json_document *document, const struct json *value,
			  const struct miniport_config *adapter, bool is_first_pass,
			  unsigned *taken)
{
	const struct json *item = value->first;

	for (size_t i = 0; i < adapter->resource_count; i++, item = item->next) {
		struct miniport_resource *memory =
			(struct miniport_resource *)&adapter->resources[i];

		if (memory->kind != MINIPORT_RESOURCE_MEMORY ||
		    (config_find(item, "bar") != NULL) != is_first_pass)
			continue;
		if (!is_first_pass)
			memory->bar = 0;
		while (!is_first_pass && memory->bar < PCI_BARS &&
		       !bars_are_free(memory, memory->bar, *taken))
			memory->bar++;
		if (memory->bar >= PCI_BARS || !bars_are_free(memory, memory->bar, *taken))
			return json_complain(
				document, item,
				"expected a base address register that is free, of the "
				"%d there are (\"64bit\" takes two)",
				PCI_BARS);
		*taken |= bars_of(memory, memory->bar);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS check_interrupts(struct json_document *document, const struct json *value,
				 const struct miniport_config *adapter)
{
	const struct json *item = value->first;
	unsigned count = 0;

	for (size_t i = 0; i < adapter->resource_count; i++, item = item->next) {
		if (adapter->resources[i].kind != MINIPORT_RESOURCE_MEMORY && ++count > 1)
			return json_complain(document, item,
					     "expected at most one resource with interrupts");
	}
	return STATUS_SUCCESS;
}

static NTSTATUS check_no_bars(struct json_document *document, const struct json *value)
{
	for (const struct json *item = value->first; item; item = item->next) {
		const char *name = config_find(item, "bar")     ? "bar"
				   : config_find(item, "64bit") ? "64bit"
								: NULL;
		if (name)
			return json_complain(document, config_find(item, name),
					     "expected \"pci\" in an adapter with \"%s\"", name);
	}
	return STATUS_SUCCESS;
}

NTSTATUS config_check_device(struct json_document *document, const struct json *value,
			     const struct miniport_config *adapter)
{
	const struct json *resources = config_find(value, "resources");
	const struct json *ids = config_find(value, "hardwareIds");
	unsigned taken = 0;

	if (!ids)
		ids = config_find(value, "compatibleIds");
	if (adapter->pci && ids)
		return json_complain(document, ids,
				     "expected no \"%s\" beside \"pci\", which they come from",
				     ids->name);
	if (adapter->compatible_ids && !adapter->hardware_ids)
		return json_complain(document, ids,
				     "expected \"hardwareIds\" beside \"compatibleIds\"");
	if (!resources)
		return STATUS_SUCCESS;
	NTSTATUS status = check_interrupts(document, resources, adapter);
	if (NT_SUCCESS(status) && !adapter->pci)
		status = check_no_bars(document, resources);
	if (NT_SUCCESS(status) && adapter->pci)
		status = give_bars(document, resources, adapter, true, &taken);
	if (NT_SUCCESS(status) && adapter->pci)
		status = give_bars(document, resources, adapter, false, &taken);
	return status;
}

static void free_texts(const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_free((void *)texts[i]);
	mem_free((void *)texts);
}

void config_free_device(struct miniport_config *adapter)
{
	free_texts(adapter->hardware_ids, adapter->hardware_id_count);
	free_texts(adapter->compatible_ids, adapter->compatible_id_count);
	mem_free((void *)adapter->resources);
	config_free_pci(adapter->pci);
}
