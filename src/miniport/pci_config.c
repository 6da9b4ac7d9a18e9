/* SPDX-License-Identifier: MIT */
/*
 * pci_config.c - see pci_config.h.
 *
 * A base address register keeps what is written to it, as far as the size of its memory leaves bits
 * for an address: a driver that writes ones and reads back learns the size. The memory itself stays
 * where the list of resources says, as it does on Windows, where only the bus moves it.
 */
#include <string.h>

#include <ddk/ntddk.h>

#include "base/mem.h"
#include "miniport/pci_config.h"

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

#define HEADER(member) offsetof(PCI_COMMON_CONFIG, member)

static void put_ids(struct pci_config *space, const struct miniport_pci_ids *ids)
{
	put(space->bytes + HEADER(VendorID), ids->vendor, 2);
	put(space->bytes + HEADER(DeviceID), ids->device, 2);
	put(space->bytes + HEADER(RevisionID), ids->revision, 1);
	put(space->bytes + HEADER(ProgIf), ids->class_code, 3);
	put(space->bytes + HEADER(u.type0.SubVendorID), ids->subsystem_vendor, 2);
	put(space->bytes + HEADER(u.type0.SubSystemID), ids->subsystem, 2);
}

static void put_memory(struct pci_config *space, const struct miniport_resource *memory,
		       uint64_t address)
{
	size_t at = HEADER(u.type0.BaseAddresses) + memory->bar * sizeof(uint32_t);
	unsigned bytes = memory->is_64bit ? 8 : 4;
	uint32_t type = (memory->is_64bit ? PCI_TYPE_64BIT : PCI_TYPE_32BIT) |
			(memory->is_prefetchable ? PCI_ADDRESS_MEMORY_PREFETCHABLE : 0);

	put(space->bytes + at, address | type, bytes);
	put(space->writable + at, ~(memory->size_bytes - 1), bytes);
	space->bytes[HEADER(Command)] |= PCI_ENABLE_MEMORY_SPACE;
}

static void put_line(struct pci_config *space, const struct miniport_resource *line)
{
	space->bytes[HEADER(u.type0.InterruptLine)] = (uint8_t)line->number;
	space->bytes[HEADER(u.type0.InterruptPin)] = 1; /* INTA# */
}

static void put_parts(struct pci_config *space, const struct miniport_pci *pci)
{
	for (size_t i = 0; i < pci->part_count; i++) {
		const struct miniport_pci_part *part = &pci->parts[i];

		memcpy(space->bytes + part->offset, part->bytes, part->count);
		if (part->writable)
			memcpy(space->writable + part->offset, part->writable, part->count);
		if (part->offset + part->count > PCI_CONFIG_BYTES)
			space->size_bytes = PCI_EXTENDED_SPACE_BYTES;
	}
	if (pci->first_capability != 0) {
		space->bytes[HEADER(u.type0.CapabilitiesPtr)] = pci->first_capability;
		space->bytes[HEADER(Status)] |= PCI_STATUS_CAPABILITIES_LIST;
	}
}

/* What software may change in every device. Nothing is ever set in Status that could be cleared. */
static void make_writable(struct pci_config *space)
{
	put(space->writable + HEADER(Command),
	    PCI_ENABLE_IO_SPACE | PCI_ENABLE_MEMORY_SPACE | PCI_ENABLE_BUS_MASTER |
		    PCI_ENABLE_PARITY | PCI_ENABLE_SERR | PCI_DISABLE_LEVEL_INTERRUPT,
	    2);
	space->writable[HEADER(CacheLineSize)] = 0xff;
	space->writable[HEADER(LatencyTimer)] = 0xff;
	space->writable[HEADER(u.type0.InterruptLine)] = 0xff;
}

struct pci_config *pci_config_create(const struct miniport_pci *pci,
				     const struct miniport_resource *resources,
				     const uint64_t *addresses, size_t resource_count)
{
	struct pci_config *space = mem_zalloc(sizeof(*space));

	if (!space)
		return NULL;
	lock_init(&space->lock, LOCK_RANK_LEAF, "configuration space");
	space->size_bytes = PCI_CONFIG_BYTES;
	/* As the bus leaves a device that is about to be started. */
	space->bytes[HEADER(Command)] = PCI_ENABLE_BUS_MASTER;
	make_writable(space);
	put_ids(space, &pci->ids);
	for (size_t i = 0; i < resource_count; i++) {
		if (resources[i].kind == MINIPORT_RESOURCE_MEMORY)
			put_memory(space, &resources[i], addresses[i]);
		else if (resources[i].kind == MINIPORT_RESOURCE_LINE)
			put_line(space, &resources[i]);
	}
	put_parts(space, pci);
	return space;
}

void pci_config_destroy(struct pci_config *space)
{
	if (space)
		lock_finish(&space->lock);
	mem_free(space);
}

static uint32_t available(const struct pci_config *space, uint32_t offset, uint32_t length)
{
	uint32_t rest = offset < space->size_bytes ? space->size_bytes - offset : 0;

	return length < rest ? length : rest;
}

uint32_t pci_config_read(struct pci_config *space, uint32_t offset, void *buffer, uint32_t length)
{
	uint32_t count = available(space, offset, length);

	if (count == 0)
		return 0;
	lock_acquire(&space->lock);
	memcpy(buffer, space->bytes + offset, count);
	lock_release(&space->lock);
	return count;
}

uint32_t pci_config_write(struct pci_config *space, uint32_t offset, const void *buffer,
			  uint32_t length)
{
	const uint8_t *bytes = buffer;
	uint32_t count = available(space, offset, length);

	lock_acquire(&space->lock);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t writable = space->writable[offset + i];
		uint8_t *byte = &space->bytes[offset + i];

		*byte = (uint8_t)((*byte & ~writable) | (bytes[i] & writable));
	}
	lock_release(&space->lock);
	return count;
}
