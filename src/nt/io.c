/* SPDX-License-Identifier: MIT */
/*
 * io.c - driver objects, device objects, device properties.
 *
 * A device's properties are written once, at creation, as the bytes a driver will get; nothing
 * changes them afterwards, so there is no lock.
 */
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#include <ddk/wdm.h>

#include "nt/io.h"
#include "nt/irql.h"
#include "nt/object.h"
#include "nt/registry.h"
#include "nt/registry_tree.h"
#include "nt/report.h"
#include "nt/unicode.h"

enum { TYPE_DEVICE = 3, TYPE_DRIVER = 4, PROPERTY_COUNT = DevicePropertyContainerID + 1 };

struct driver {
	struct nt_object object;
	DRIVER_OBJECT driver;
	DRIVER_EXTENSION extension;
	UNICODE_STRING registry_path;
	UNICODE_STRING hardware_database;
	char *registry_path_utf8;
};

struct property {
	void *data; /* NULL: the device does not have it */
	ULONG size_bytes;
};

struct device {
	struct nt_object object;
	DEVICE_OBJECT device;
	struct driver *driver;
	char *driver_key;
	char *device_key;
	struct property properties[PROPERTY_COUNT];
};

_Static_assert(offsetof(struct driver, driver) == sizeof(struct nt_object), "body");
_Static_assert(offsetof(struct device, device) == sizeof(struct nt_object), "body");

/* Drivers. */

static bool string_set(UNICODE_STRING *string, const char *prefix, const char *text)
{
	char *whole = mem_printf("%s%s", prefix, text);
	size_t length = 0;
	uint16_t *wide = whole ? nt_utf16_dup(whole, &length) : NULL;

	mem_free(whole);
	if (!wide)
		return false;
	if ((length + 1) * sizeof(WCHAR) > 0xffff) {
		mem_free(wide);
		return false;
	}
	string->Buffer = wide;
	string->Length = (USHORT)(length * sizeof(WCHAR));
	string->MaximumLength = (USHORT)(string->Length + sizeof(WCHAR));
	return true;
}

static struct driver *driver_from_body(PDRIVER_OBJECT body)
{
	return container_of(body, struct driver, driver);
}

static void driver_destroy(struct nt_object *object)
{
	struct driver *driver = container_of(object, struct driver, object);

	mem_free(driver->driver.DriverName.Buffer);
	mem_free(driver->extension.ServiceKeyName.Buffer);
	mem_free(driver->registry_path.Buffer);
	mem_free(driver->hardware_database.Buffer);
	mem_free(driver->registry_path_utf8);
	mem_free(driver);
}

/* What a driver has in every slot it does not fill. */
static NTSTATUS dispatch_invalid_request(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
	Irp->IoStatus.Status = STATUS_INVALID_DEVICE_REQUEST;
	return STATUS_INVALID_DEVICE_REQUEST;
}

NTSTATUS nt_driver_object_create(const char *name, const char *registry_path,
				 PDRIVER_OBJECT *driver_out)
{
	struct driver *driver = mem_zalloc(sizeof(*driver));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!driver)
		return STATUS_NO_MEMORY;
	nt_object_init(&driver->object, &nt_type_driver, driver_destroy);
	driver->registry_path_utf8 = mem_strdup(registry_path);
	if (!driver->registry_path_utf8 || !string_set(&driver->registry_path, "", registry_path) ||
	    !string_set(&driver->driver.DriverName, "\\Driver\\", name) ||
	    !string_set(&driver->extension.ServiceKeyName, "", name) ||
	    !string_set(&driver->hardware_database, "",
			"\\REGISTRY\\MACHINE\\HARDWARE\\DESCRIPTION\\SYSTEM"))
		goto put_driver;
	status = nt_registry_create_key(registry_path);
	if (!NT_SUCCESS(status))
		goto put_driver;

	driver->driver.Type = TYPE_DRIVER;
	driver->driver.Size = sizeof(DRIVER_OBJECT);
	driver->driver.DriverExtension = &driver->extension;
	driver->driver.HardwareDatabase = &driver->hardware_database;
	driver->extension.DriverObject = &driver->driver;
	for (size_t i = 0; i < ARRAYSIZE(driver->driver.MajorFunction); i++)
		driver->driver.MajorFunction[i] = dispatch_invalid_request;
	*driver_out = &driver->driver;
	return STATUS_SUCCESS;

put_driver:
	nt_object_put(&driver->object);
	return status;
}

void nt_driver_object_destroy(PDRIVER_OBJECT driver)
{
	if (driver)
		nt_object_put(&driver_from_body(driver)->object);
}

PUNICODE_STRING nt_driver_object_registry_path(PDRIVER_OBJECT driver)
{
	return &driver_from_body(driver)->registry_path;
}

/* Devices. */

static void device_destroy(struct nt_object *object)
{
	struct device *device = container_of(object, struct device, object);

	for (size_t i = 0; i < PROPERTY_COUNT; i++)
		mem_free(device->properties[i].data);
	mem_free(device->driver_key);
	mem_free(device->device_key);
	if (device->driver)
		nt_object_put(&device->driver->object);
	mem_free(device);
}

static bool property_set(struct device *device, DEVICE_REGISTRY_PROPERTY property, const void *data,
			 size_t size_bytes)
{
	void *copy = mem_alloc(size_bytes);

	if (!copy)
		return false;
	memcpy(copy, data, size_bytes);
	device->properties[property] = (struct property){ copy, (ULONG)size_bytes };
	return true;
}

static bool property_set_number(struct device *device, DEVICE_REGISTRY_PROPERTY property,
				ULONG value)
{
	return property_set(device, property, &value, sizeof(value));
}

/* Not known is no failure. */
static bool property_set_text(struct device *device, DEVICE_REGISTRY_PROPERTY property,
			      const char *text)
{
	size_t length;

	if (!text)
		return true;
	uint16_t *wide = nt_utf16_dup(text, &length);
	if (!wide)
		return false;
	bool is_set = property_set(device, property, wide, (length + 1) * sizeof(*wide));
	mem_free(wide);
	return is_set;
}

static bool property_set_texts(struct device *device, DEVICE_REGISTRY_PROPERTY property,
			       const char *const texts[], size_t count)
{
	size_t units = 1;
	size_t at = 0;

	if (count == 0)
		return true;
	for (size_t i = 0; i < count; i++)
		units += nt_utf16_from_utf8(NULL, 0, texts[i], strlen(texts[i])) + 1;
	uint16_t *wide = mem_zalloc_array(units, sizeof(*wide));
	if (!wide)
		return false;
	for (size_t i = 0; i < count; i++)
		at += nt_utf16_from_utf8(wide + at, units - at, texts[i], strlen(texts[i])) + 1;
	bool is_set = property_set(device, property, wide, units * sizeof(*wide));
	mem_free(wide);
	return is_set;
}

static const GUID guid_bus_pci = {
	0xc8ebdfb0, 0xb510, 0x11d0, { 0x80, 0xe5, 0x00, 0xa0, 0xc9, 0x25, 0x42, 0xe3 }
};
static const GUID guid_bus_internal = {
	0x1530ea73, 0x086b, 0x11d1, { 0xa0, 0x9f, 0x00, 0xc0, 0x4f, 0xc3, 0x40, 0xb1 }
};

/* Only a bus has places: elsewhere number and address are not known. */
static bool device_set_bus(struct device *device, const struct nt_device_config *config)
{
	const char *enumerator = config->enumerator ? config->enumerator : "PCI";
	bool is_pci = strcmp(enumerator, "PCI") == 0;

	if (!property_set_text(device, DevicePropertyEnumeratorName, enumerator) ||
	    !property_set(device, DevicePropertyBusTypeGuid,
			  is_pci ? &guid_bus_pci : &guid_bus_internal, sizeof(GUID)) ||
	    !property_set_number(device, DevicePropertyLegacyBusType, is_pci ? PCIBus : Internal))
		return false;
	return !is_pci ||
	       (property_set_number(device, DevicePropertyBusNumber, config->bus_number) &&
		property_set_number(device, DevicePropertyAddress, config->address));
}

static bool device_set_properties(struct device *device, const struct nt_device_config *config)
{
	return property_set_texts(device, DevicePropertyHardwareID, config->hardware_ids,
				  config->hardware_id_count) &&
	       property_set_texts(device, DevicePropertyCompatibleIDs, config->compatible_ids,
				  config->compatible_id_count) &&
	       property_set_text(device, DevicePropertyDeviceDescription, config->description) &&
	       property_set_text(device, DevicePropertyFriendlyName, config->friendly_name) &&
	       property_set_text(device, DevicePropertyManufacturer, config->manufacturer) &&
	       property_set_text(device, DevicePropertyLocationInformation, config->location) &&
	       device_set_bus(device, config) &&
	       property_set_text(device, DevicePropertyClassName, "Display") &&
	       property_set_text(device, DevicePropertyClassGuid,
				 "{4d36e968-e325-11ce-bfc1-08002be10318}") &&
	       property_set_number(device, DevicePropertyUINumber, config->ui_number) &&
	       property_set_number(device, DevicePropertyInstallState, 0 /* installed */) &&
	       property_set_number(device, DevicePropertyRemovalPolicy, 1 /* no removal */);
}

NTSTATUS nt_device_object_create(PDRIVER_OBJECT driver, const struct nt_device_config *config,
				 PDEVICE_OBJECT *device_out)
{
	struct driver *owner = driver_from_body(driver);
	struct device *device = mem_zalloc(sizeof(*device));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!device)
		return STATUS_NO_MEMORY;
	nt_object_init(&device->object, &nt_type_device, device_destroy);
	device->driver_key =
		mem_strdup(config->driver_key ? config->driver_key : owner->registry_path_utf8);
	device->device_key = config->device_key
				     ? mem_strdup(config->device_key)
				     : mem_printf("%s\\Device", owner->registry_path_utf8);
	if (!device->driver_key || !device->device_key || !device_set_properties(device, config))
		goto put_device;
	status = nt_registry_create_key(device->driver_key);
	if (NT_SUCCESS(status))
		status = nt_registry_create_key(device->device_key);
	if (!NT_SUCCESS(status))
		goto put_device;

	nt_object_get(&owner->object);
	device->driver = owner;
	device->device.Type = TYPE_DEVICE;
	device->device.Size = sizeof(DEVICE_OBJECT);
	device->device.ReferenceCount = 1;
	device->device.DriverObject = driver;
	device->device.DeviceType = FILE_DEVICE_CONTROLLER;
	device->device.StackSize = 1;
	*device_out = &device->device;
	return STATUS_SUCCESS;

put_device:
	nt_object_put(&device->object);
	return status;
}

void nt_device_object_destroy(PDEVICE_OBJECT device)
{
	if (device)
		nt_object_put(&container_of(device, struct device, device)->object);
}

/* The device behind a pointer that a driver gave; reports one that is none. */
static struct device *device_from_driver(PDEVICE_OBJECT body, const char *routine)
{
	struct nt_object *object = nt_object_from_body(body);

	nt_irql_require(PASSIVE_LEVEL, routine);
	if (object && object->type == &nt_type_device)
		return container_of(object, struct device, object);
	nt_report(RULE_NT_DEVICE, "%s was given %p, which is not the physical device object",
		  routine, (void *)body);
	return NULL;
}

/* What drivers call. */

NTSTATUS IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject, DEVICE_REGISTRY_PROPERTY DeviceProperty,
			     ULONG BufferLength, PVOID PropertyBuffer, PULONG ResultLength)
{
	struct device *device = device_from_driver(DeviceObject, __func__);

	*ResultLength = 0;
	if (!device)
		return STATUS_INVALID_DEVICE_REQUEST;
	if ((unsigned)DeviceProperty >= PROPERTY_COUNT)
		return STATUS_INVALID_PARAMETER_2;
	const struct property *property = &device->properties[DeviceProperty];
	if (!property->data)
		return STATUS_OBJECT_NAME_NOT_FOUND;
	*ResultLength = property->size_bytes;
	if (!PropertyBuffer || BufferLength < property->size_bytes)
		return STATUS_BUFFER_TOO_SMALL;
	memcpy(PropertyBuffer, property->data, property->size_bytes);
	return STATUS_SUCCESS;
}

NTSTATUS IoOpenDeviceRegistryKey(PDEVICE_OBJECT DeviceObject, ULONG DevInstKeyType,
				 ACCESS_MASK DesiredAccess, PHANDLE DeviceRegKey)
{
	struct device *device = device_from_driver(DeviceObject, __func__);
	ULONG kind = DevInstKeyType & ~PLUGPLAY_REGKEY_CURRENT_HWPROFILE;

	*DeviceRegKey = NULL;
	if (!device)
		return STATUS_INVALID_DEVICE_REQUEST;
	if (kind != PLUGPLAY_REGKEY_DEVICE && kind != PLUGPLAY_REGKEY_DRIVER)
		return STATUS_INVALID_PARAMETER;
	return nt_registry_open_handle(kind == PLUGPLAY_REGKEY_DRIVER ? device->driver_key
								      : device->device_key,
				       DeviceRegKey);
}

/* Nothing attaches to a device here, except what a driver links in by itself. */
PDEVICE_OBJECT IoGetAttachedDeviceReference(PDEVICE_OBJECT DeviceObject)
{
	struct device *device = device_from_driver(DeviceObject, __func__);

	if (!device)
		return NULL;
	while (DeviceObject->AttachedDevice)
		DeviceObject = DeviceObject->AttachedDevice;
	ObfReferenceObject(DeviceObject);
	return DeviceObject;
}
