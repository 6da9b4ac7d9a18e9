/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/ddi.h"
#include "miniport/device.h"
#include "nt/io.h"

/* ---- resources ---- */

/* Aligned as a base address register can say it. */
static NTSTATUS take_memory(struct device *device, size_t index)
{
	const struct miniport_resource *memory = &device->resources[index];
	uint64_t highest = memory->is_64bit ? UINT64_MAX : UINT32_MAX;
	NTSTATUS status = machine_alloc_contiguous(memory->size_bytes, memory->size_bytes, 0,
						   highest, 0, &device->addresses[index]);

	if (NT_SUCCESS(status))
		return status;
	return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, "resources",
		      "of the adapter have %llu bytes of memory at place %zu, and the machine has "
		      "no such range left (DXGK_PHYSICAL_MIB)",
		      (unsigned long long)memory->size_bytes, index);
}

static uint32_t descriptors_of(const struct miniport_resource *resource)
{
	return resource->kind == MINIPORT_RESOURCE_MESSAGES ? resource->number : 1;
}

static void describe_memory(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor,
			    const struct miniport_resource *memory, uint64_t address)
{
	descriptor->Type = CmResourceTypeMemory;
	descriptor->ShareDisposition = CmResourceShareDeviceExclusive;
	descriptor->Flags = CM_RESOURCE_MEMORY_READ_WRITE |
			    (memory->is_prefetchable ? CM_RESOURCE_MEMORY_PREFETCHABLE : 0);
	descriptor->u.Memory.Start.QuadPart = (LONGLONG)address;
	descriptor->u.Memory.Length = (ULONG)memory->size_bytes;
}

/* Vectors as a processor has them: behind those of its own faults. */
enum { FIRST_VECTOR = 0x30 };

static void describe_line(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor, uint32_t line)
{
	descriptor->Type = CmResourceTypeInterrupt;
	descriptor->ShareDisposition = CmResourceShareShared;
	descriptor->Flags = CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE;
	descriptor->u.Interrupt.Level = DDI_DEVICE_IRQL;
	descriptor->u.Interrupt.Vector = FIRST_VECTOR + line;
	descriptor->u.Interrupt.Affinity = 1;
}

static void describe_message(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor, uint32_t message)
{
	descriptor->Type = CmResourceTypeInterrupt;
	descriptor->ShareDisposition = CmResourceShareDeviceExclusive;
	descriptor->Flags = CM_RESOURCE_INTERRUPT_LATCHED | CM_RESOURCE_INTERRUPT_MESSAGE;
	descriptor->u.MessageInterrupt.Translated.Level = DDI_DEVICE_IRQL;
	descriptor->u.MessageInterrupt.Translated.Vector = FIRST_VECTOR + message;
	descriptor->u.MessageInterrupt.Translated.Affinity = 1;
}

static uint32_t describe(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptors, const struct device *device,
			 size_t index)
{
	const struct miniport_resource *resource = &device->resources[index];
	uint32_t count = descriptors_of(resource);

	switch (resource->kind) {
	case MINIPORT_RESOURCE_MEMORY:
		describe_memory(descriptors, resource, device->addresses[index]);
		break;
	case MINIPORT_RESOURCE_LINE:
		describe_line(descriptors, resource->number);
		break;
	case MINIPORT_RESOURCE_MESSAGES:
		for (uint32_t i = 0; i < count; i++)
			describe_message(&descriptors[i], i);
		break;
	}
	return count;
}

static NTSTATUS make_list(struct device *device, const struct miniport_pci *pci)
{
	uint32_t count = 0;

	for (size_t i = 0; i < device->resource_count; i++)
		count += descriptors_of(&device->resources[i]);
	device->list =
		mem_zalloc(sizeof(*device->list) + count * sizeof(CM_PARTIAL_RESOURCE_DESCRIPTOR));
	if (!device->list)
		return refuse_no_memory("There is no memory for the list of resources");

	CM_FULL_RESOURCE_DESCRIPTOR *full = &device->list->List[0];
	device->list->Count = 1;
	full->InterfaceType = pci ? PCIBus : Internal;
	full->BusNumber = pci ? pci->address.bus : 0;
	full->PartialResourceList.Version = 1;
	full->PartialResourceList.Revision = 1;
	full->PartialResourceList.Count = count;
	uint32_t at = 0;
	for (size_t i = 0; i < device->resource_count; i++)
		at += describe(&full->PartialResourceList.PartialDescriptors[at], device, i);
	return STATUS_SUCCESS;
}

static NTSTATUS take_resources(struct device *device, const struct miniport_config *config)
{
	NTSTATUS status = STATUS_SUCCESS;

	device->resources = config->resources;
	device->addresses = mem_zalloc_array(config->resource_count, sizeof(*device->addresses));
	if (!device->addresses)
		return refuse_no_memory("There is no memory for the addresses of resources");
	for (size_t i = 0; i < config->resource_count; i++) {
		const struct miniport_resource *resource = &config->resources[i];

		device->resource_count = i + 1;
		if (resource->kind == MINIPORT_RESOURCE_MEMORY)
			status = take_memory(device, i);
		else if (resource->kind == MINIPORT_RESOURCE_MESSAGES)
			device->message_count = resource->number;
		if (!NT_SUCCESS(status))
			return status;
	}
	return make_list(device, config->pci);
}

NTSTATUS device_open(struct device *device, const struct miniport_config *config)
{
	NTSTATUS status = STATUS_SUCCESS;

	*device = (struct device){ .message_count = 1 };
	if (config->resource_count > 0)
		status = take_resources(device, config);
	if (NT_SUCCESS(status) && config->pci) {
		device->space = pci_config_create(config->pci, device->resources, device->addresses,
						  device->resource_count);
		if (!device->space)
			status = refuse_no_memory("There is no memory for configuration space");
	}
	device->resources = NULL; /* the configuration may go */
	if (!NT_SUCCESS(status))
		device_close(device);
	return status;
}

void device_close(struct device *device)
{
	pci_config_destroy(device->space);
	mem_free(device->list);
	for (size_t i = 0; i < device->resource_count; i++) {
		if (device->addresses[i] != MACHINE_NOWHERE)
			(void)!machine_free_contiguous(device->addresses[i]);
	}
	mem_free(device->addresses);
	*device = (struct device){ 0 };
}

/* ---- ids ---- */

/* In the order of plug and play, most specific first; see the PCI bus's identifiers. */
enum { PCI_HARDWARE_IDS = 4, PCI_COMPATIBLE_IDS = 7 };

struct pci_names {
	char hardware[PCI_HARDWARE_IDS][DEVICE_ID_BYTES];
	char compatible[PCI_COMPATIBLE_IDS][DEVICE_ID_BYTES];
};

static void name_pci(struct pci_names *names, const struct miniport_pci_ids *ids)
{
	char device[32];
	char subsystem[24];
	char class[16];
	unsigned shorter = ids->class_code >> 8;

	snprintf(device, sizeof(device), "PCI\\VEN_%04X&DEV_%04X", ids->vendor, ids->device);
	snprintf(subsystem, sizeof(subsystem), "&SUBSYS_%04X%04X", ids->subsystem,
		 ids->subsystem_vendor);
	snprintf(class, sizeof(class), "CC_%06X", (unsigned)ids->class_code & 0xffffff);

#define NAME(which, index, ...) snprintf(names->which[index], DEVICE_ID_BYTES, __VA_ARGS__)
	NAME(hardware, 0, "%s%s&REV_%02X", device, subsystem, ids->revision);
	NAME(hardware, 1, "%s%s", device, subsystem);
	NAME(hardware, 2, "%s&%s", device, class);
	NAME(hardware, 3, "%s&CC_%04X", device, shorter);
	NAME(compatible, 0, "%s&REV_%02X", device, ids->revision);
	NAME(compatible, 1, "%s", device);
	NAME(compatible, 2, "PCI\\VEN_%04X&%s", ids->vendor, class);
	NAME(compatible, 3, "PCI\\VEN_%04X&CC_%04X", ids->vendor, shorter);
	NAME(compatible, 4, "PCI\\VEN_%04X", ids->vendor);
	NAME(compatible, 5, "PCI\\%s", class);
	NAME(compatible, 6, "PCI\\CC_%04X", shorter);
#undef NAME
}

/* Of a device that its profile says nothing about. */
static const char *const no_ids[] = { "ROOT\\opendxgk" };

void device_first_id(const struct miniport_config *config, char id[DEVICE_ID_BYTES])
{
	struct pci_names names;
	const char *first = config->hardware_id_count > 0 ? config->hardware_ids[0] : no_ids[0];

	if (config->pci) {
		name_pci(&names, &config->pci->ids);
		first = names.hardware[0];
	}
	snprintf(id, DEVICE_ID_BYTES, "%s", first);
}

static NTSTATUS create_object(struct _DRIVER_OBJECT *driver, const struct nt_device_config *config,
			      struct _DEVICE_OBJECT **object_out)
{
	NTSTATUS status = nt_device_object_create(driver, config, object_out);

	return NT_SUCCESS(status) ? status
				  : refuse_no_memory("There is no memory for the device object");
}

static NTSTATUS create_on_pci(const struct miniport_config *config, struct _DRIVER_OBJECT *driver,
			      struct _DEVICE_OBJECT **object_out)
{
	const struct miniport_pci_address *address = &config->pci->address;
	const char *hardware[PCI_HARDWARE_IDS];
	const char *compatible[PCI_COMPATIBLE_IDS];
	struct pci_names names;
	char location[64];

	name_pci(&names, &config->pci->ids);
	for (size_t i = 0; i < PCI_HARDWARE_IDS; i++)
		hardware[i] = names.hardware[i];
	for (size_t i = 0; i < PCI_COMPATIBLE_IDS; i++)
		compatible[i] = names.compatible[i];
	snprintf(location, sizeof(location), "PCI bus %u, device %u, function %u", address->bus,
		 address->slot, address->function);
	return create_object(driver,
			     &(struct nt_device_config){
				     .hardware_ids = hardware,
				     .hardware_id_count = PCI_HARDWARE_IDS,
				     .compatible_ids = compatible,
				     .compatible_id_count = PCI_COMPATIBLE_IDS,
				     .description = config->name,
				     .enumerator = "PCI",
				     .location = location,
				     .bus_number = address->bus,
				     .address = (uint32_t)address->slot << 16 | address->function,
			     },
			     object_out);
}

NTSTATUS device_create_object(const struct miniport_config *config, struct _DRIVER_OBJECT *driver,
			      struct _DEVICE_OBJECT **object_out)
{
	char enumerator[DEVICE_ID_BYTES];

	if (config->pci)
		return create_on_pci(config, driver, object_out);
	/* An id begins with who enumerated the device. */
	device_first_id(config, enumerator);
	enumerator[strcspn(enumerator, "\\")] = '\0';
	bool has_ids = config->hardware_id_count > 0;
	return create_object(driver,
			     &(struct nt_device_config){
				     .hardware_ids = has_ids ? config->hardware_ids : no_ids,
				     .hardware_id_count = has_ids ? config->hardware_id_count
								  : ARRAY_SIZE(no_ids),
				     .compatible_ids = config->compatible_ids,
				     .compatible_id_count = config->compatible_id_count,
				     .description = config->name,
				     .enumerator = enumerator,
			     },
			     object_out);
}
