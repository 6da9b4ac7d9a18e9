/* SPDX-License-Identifier: MIT */
/*
 * config_pci.c - "pci" of an adapter: its numbers, its place, and what is behind the header of its
 * configuration space.
 *
 * Here everything is checked that the kernel relies on: the bytes lie in the space, behind its
 * header, and none is given twice.
 */
#include <string.h>

#include "base/mem.h"
#include "embed/config_parts.h"

#define NUMBER_MEMBER(function, member, type, field, least, most)                                  \
	static NTSTATUS function(struct json_document *document, const struct json *value,         \
				 void *into)                                                       \
	{                                                                                          \
		struct miniport_pci *pci = into;                                                   \
		uint32_t number = 0;                                                               \
		NTSTATUS status = config_read_number(document, value, "\"" member "\"", least,     \
						     most, &number);                               \
		pci->field = (type)number;                                                         \
		return status;                                                                     \
	}

/* 0xffff is what a slot without a device reads as. */
NUMBER_MEMBER(read_vendor, "vendor", uint16_t, ids.vendor, 1, 0xfffe)
NUMBER_MEMBER(read_device, "device", uint16_t, ids.device, 0, 0xffff)
NUMBER_MEMBER(read_subsystem_vendor, "subsystemVendor", uint16_t, ids.subsystem_vendor, 0, 0xffff)
NUMBER_MEMBER(read_subsystem, "subsystem", uint16_t, ids.subsystem, 0, 0xffff)
NUMBER_MEMBER(read_revision, "revision", uint8_t, ids.revision, 0, 0xff)
NUMBER_MEMBER(read_class, "class", uint32_t, ids.class_code, 0, 0xffffff)
NUMBER_MEMBER(read_bus, "bus", uint8_t, address.bus, 0, 255)
NUMBER_MEMBER(read_slot, "slot", uint8_t, address.slot, 0, 31)
NUMBER_MEMBER(read_function, "function", uint8_t, address.function, 0, 7)
NUMBER_MEMBER(read_capabilities, "capabilities", uint8_t, first_capability, PCI_HEADER_BYTES, 0xfc)

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "0950 0110": pairs of digits, with spaces between pairs where one likes. */
static NTSTATUS read_hex(struct json_document *document, const struct json *value, const char *what,
			 const uint8_t **bytes_out, uint32_t *count_out)
{
	NTSTATUS status = config_expect(document, value, JSON_STRING, what);

	if (!NT_SUCCESS(status))
		return status;
	uint8_t *bytes = mem_zalloc(strlen(value->string) / 2 + 1);
	if (!bytes)
		return config_no_memory(document, value);
	*bytes_out = bytes;
	*count_out = 0;
	for (const char *at = value->string; *at; at++) {
		if (*at == ' ')
			continue;
		int high = hex_digit(at[0]);
		int low = high < 0 ? -1 : hex_digit(at[1]);
		if (low < 0)
			return json_complain(document, value,
					     "expected pairs of hexadecimal digits as %s, found "
					     "\"%.2s\"",
					     what, at);
		bytes[(*count_out)++] = (uint8_t)(high << 4 | low);
		at++;
	}
	if (*count_out == 0)
		return json_complain(document, value, "expected bytes as %s, found none", what);
	return STATUS_SUCCESS;
}

/* While one is read. */
struct part_reader {
	struct miniport_pci_part part;
	uint32_t writable_count;
};

static NTSTATUS read_offset(struct json_document *document, const struct json *value, void *into)
{
	return config_read_number(document, value, "\"offset\"", PCI_HEADER_BYTES,
				  PCI_EXTENDED_SPACE_BYTES - 1,
				  &((struct part_reader *)into)->part.offset);
}

static NTSTATUS read_bytes(struct json_document *document, const struct json *value, void *into)
{
	struct part_reader *reader = into;

	return read_hex(document, value, "\"bytes\"", &reader->part.bytes, &reader->part.count);
}

static NTSTATUS read_writable(struct json_document *document, const struct json *value, void *into)
{
	struct part_reader *reader = into;

	return read_hex(document, value, "\"writable\"", &reader->part.writable,
			&reader->writable_count);
}

static NTSTATUS check_part(struct json_document *document, const struct json *value,
			   const struct miniport_pci *pci, const struct part_reader *reader)
{
	const struct miniport_pci_part *part = &reader->part;

	if (!config_find(value, "offset") || !part->bytes)
		return json_complain(document, value,
				     "expected \"offset\" and \"bytes\" in this part of \"space\"");
	if (part->count > PCI_EXTENDED_SPACE_BYTES - part->offset)
		return json_complain(
			document, value, "expected %u bytes at most at offset %u, found %u",
			PCI_EXTENDED_SPACE_BYTES - part->offset, part->offset, part->count);
	if (part->writable && reader->writable_count != part->count)
		return json_complain(document, config_find(value, "writable"),
				     "expected as many bytes as \"bytes\" has, %u, as "
				     "\"writable\", found %u",
				     part->count, reader->writable_count);
	for (size_t i = 0; i + 1 < pci->part_count; i++) {
		const struct miniport_pci_part *other = &pci->parts[i];
		if (part->offset < other->offset + other->count &&
		    other->offset < part->offset + part->count)
			return json_complain(document, value,
					     "expected bytes that were not given before, found "
					     "offset %u to %u again",
					     part->offset > other->offset ? part->offset
									  : other->offset,
					     part->offset + part->count - 1);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS read_space(struct json_document *document, const struct json *value, void *into)
{
	static const struct config_member members[] = {
		{ "offset", read_offset },
		{ "bytes", read_bytes },
		{ "writable", read_writable },
	};
	struct miniport_pci *pci = into;
	NTSTATUS status = config_expect(document, value, JSON_ARRAY, "\"space\"");

	if (!NT_SUCCESS(status))
		return status;
	struct miniport_pci_part *parts = mem_zalloc_array(value->count + 1, sizeof(*parts));
	if (!parts)
		return config_no_memory(document, value);
	pci->parts = parts;
	for (const struct json *item = value->first; item; item = item->next) {
		struct part_reader reader = { 0 };

		status = config_read_members(document, item, "a part of \"space\"", members,
					     ARRAY_SIZE(members), &reader);
		parts[pci->part_count++] = reader.part;
		if (NT_SUCCESS(status))
			status = check_part(document, item, pci, &reader);
		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

void config_free_pci(const struct miniport_pci *pci)
{
	for (size_t i = 0; pci && i < pci->part_count; i++) {
		mem_free((void *)pci->parts[i].bytes);
		mem_free((void *)pci->parts[i].writable);
	}
	if (pci)
		mem_free((void *)pci->parts);
	mem_free((void *)pci);
}

static NTSTATUS check_pci(struct json_document *document, const struct json *value,
			  const struct miniport_pci *pci)
{
	const struct json *pointer = config_find(value, "capabilities");

	if (!config_find(value, "vendor") || !config_find(value, "device"))
		return json_complain(document, value,
				     "expected \"vendor\" and \"device\" in \"pci\"");
	if (!pointer)
		return STATUS_SUCCESS;
	if (pci->first_capability % 4 != 0)
		return json_complain(document, pointer,
				     "expected a multiple of 4 as \"capabilities\", found %u",
				     pci->first_capability);
	for (size_t i = 0; i < pci->part_count; i++) {
		const struct miniport_pci_part *part = &pci->parts[i];
		if (pci->first_capability >= part->offset &&
		    pci->first_capability + 1u < part->offset + part->count)
			return STATUS_SUCCESS;
	}
	return json_complain(document, pointer,
			     "expected the offset of bytes that \"space\" gives as "
			     "\"capabilities\", found %u",
			     pci->first_capability);
}

NTSTATUS config_read_pci(struct json_document *document, const struct json *value, void *into)
{
	static const struct config_member members[] = {
		{ "vendor", read_vendor },
		{ "device", read_device },
		{ "subsystemVendor", read_subsystem_vendor },
		{ "subsystem", read_subsystem },
		{ "revision", read_revision },
		{ "class", read_class },
		{ "bus", read_bus },
		{ "slot", read_slot },
		{ "function", read_function },
		{ "capabilities", read_capabilities },
		{ "space", read_space },
	};
	struct miniport_config *adapter = into;
	struct miniport_pci *pci = mem_zalloc(sizeof(*pci));

	if (!pci)
		return config_no_memory(document, value);
	adapter->pci = pci;
	pci->ids.class_code = 0x038000; /* a display controller, of no special kind */
	pci->address.slot = (uint8_t)adapter->adapter_id;
	NTSTATUS status =
		config_read_members(document, value, "\"pci\"", members, ARRAY_SIZE(members), pci);
	return NT_SUCCESS(status) ? check_pci(document, value, pci) : status;
}
