/* SPDX-License-Identifier: MIT */
/*
 * device.h - the device under an adapter, as far as there is one: resources, configuration space,
 * and the physical device object with its ids.
 */
#ifndef MINIPORT_DEVICE_H
#define MINIPORT_DEVICE_H

#include <ddk/ntddk.h>

#include "miniport/miniport.h"
#include "miniport/pci_config.h"

struct device {
	struct pci_config *space;                  /* NULL: not on PCI */
	CM_RESOURCE_LIST *list;                    /* NULL: no resources */
	uint64_t *addresses;                       /* of memory, as in the configuration */
	const struct miniport_resource *resources; /* the configuration's; while it is opened */
	size_t resource_count;
	uint32_t message_count; /* interrupts; one when there are none, for drivers that ask */
};

/* Takes the memory and builds what the driver will be shown. The refusal says what is missing. */
MUST_CHECK NTSTATUS device_open(struct device *device, const struct miniport_config *config);

/* Gives the memory back: nothing of the driver runs any more. Accepts a zeroed struct. */
void device_close(struct device *device);

/* The ids that the driver was chosen by. */
MUST_CHECK NTSTATUS device_create_object(const struct miniport_config *config,
					 struct _DRIVER_OBJECT *driver,
					 struct _DEVICE_OBJECT **object_out);

/* The most specific of them. */
enum { DEVICE_ID_BYTES = 200 };
void device_first_id(const struct miniport_config *config, char id[DEVICE_ID_BYTES]);

#endif
