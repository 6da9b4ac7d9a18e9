/* SPDX-License-Identifier: MIT */
/*
 * pci_config.h - the PCI configuration space of an adapter.
 *
 * The header is made from the device's numbers and resources, so that both say the same; what is
 * behind it is given byte for byte.
 */
#ifndef MINIPORT_PCI_CONFIG_H
#define MINIPORT_PCI_CONFIG_H

#include "base/attributes.h"
#include "base/lock.h"
#include "miniport/hardware.h"

struct pci_config {
	struct lock lock; /* LOCK_RANK_LEAF: guards bytes */
	uint32_t size_bytes;
	uint8_t bytes[PCI_EXTENDED_SPACE_BYTES];
	uint8_t writable[PCI_EXTENDED_SPACE_BYTES]; /* the bits that a write changes */
};

/* `addresses` has one for each resource; that of an interrupt means nothing. NULL: no memory. */
MUST_CHECK struct pci_config *pci_config_create(const struct miniport_pci *pci,
						const struct miniport_resource *resources,
						const uint64_t *addresses, size_t resource_count);

/* Accepts NULL. */
void pci_config_destroy(struct pci_config *space);

/* As many bytes as there are from `offset` on; returns how many. */
uint32_t pci_config_read(struct pci_config *space, uint32_t offset, void *buffer, uint32_t length);

/* The same; bits that are not writable stay, and count as written. */
uint32_t pci_config_write(struct pci_config *space, uint32_t offset, const void *buffer,
			  uint32_t length);

#endif
