/* SPDX-License-Identifier: MIT */
/*
 * hardware.h - what a device would tell about itself on its bus: its numbers, its configuration
 * space, its resources.
 *
 * The profile says it once. The driver reads it as configuration space, as a list of resources and
 * as ids of plug and play; clients as device ids. All of it is made from here.
 */
#ifndef MINIPORT_HARDWARE_H
#define MINIPORT_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct miniport_pci_ids {
	uint16_t vendor;
	uint16_t device;
	uint16_t subsystem_vendor;
	uint16_t subsystem;
	uint8_t revision;
	uint32_t class_code; /* base class, sub-class, programming interface: 24 bits */
};

struct miniport_pci_address {
	uint8_t bus;
	uint8_t slot;
	uint8_t function;
};

/* Bytes of configuration space behind the header. */
struct miniport_pci_part {
	uint32_t offset;
	uint32_t count;
	const uint8_t *bytes;
	const uint8_t *writable; /* the bits that a write changes; NULL: none */
};

enum {
	PCI_HEADER_BYTES = 64,
	PCI_CONFIG_BYTES = 256,
	PCI_EXTENDED_SPACE_BYTES = 4096,
	PCI_BARS = 6,
};

struct miniport_pci {
	struct miniport_pci_ids ids;
	struct miniport_pci_address address;
	uint8_t first_capability; /* its offset; 0: there is none */
	const struct miniport_pci_part *parts;
	size_t part_count;
};

enum miniport_resource_kind {
	MINIPORT_RESOURCE_MEMORY,
	MINIPORT_RESOURCE_LINE,     /* an interrupt that is shared and level-triggered */
	MINIPORT_RESOURCE_MESSAGES, /* interrupts that are messages                    */
};

struct miniport_resource {
	enum miniport_resource_kind kind;
	uint64_t size_bytes; /* of memory: a power of two, at least a page */
	uint32_t bar;        /* of memory on PCI: the register with its address */
	bool is_64bit;       /* … which is two registers then */
	bool is_prefetchable;
	uint32_t number; /* which line, or how many messages */
};

#endif
