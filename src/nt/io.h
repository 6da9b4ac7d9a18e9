/* SPDX-License-Identifier: MIT */
/*
 * io.h - driver and device objects, made by the host for a driver.
 *
 * There is no bus and no device stack: a driver has its driver object, its adapter has a physical
 * device object, and what Windows' Plug and Play manager knows about a device is what the host
 * wrote into its configuration.
 */
#ifndef NT_IO_H
#define NT_IO_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct _DRIVER_OBJECT;
struct _DEVICE_OBJECT;
struct _UNICODE_STRING;

/*
 * `name` becomes \Driver\name; `registry_path` is created when it is not there, because the first
 * thing a driver does is to open it.
 */
MUST_CHECK NTSTATUS nt_driver_object_create(const char *name, const char *registry_path,
					    struct _DRIVER_OBJECT **driver_out);
void nt_driver_object_destroy(struct _DRIVER_OBJECT *driver);

/* The second argument of DriverEntry; lives as long as the driver object. */
struct _UNICODE_STRING *nt_driver_object_registry_path(struct _DRIVER_OBJECT *driver);

/* What is NULL or 0 has a default, or is not known about the device. Copied. */
struct nt_device_config {
	const char *const *hardware_ids; /* most specific first */
	size_t hardware_id_count;
	const char *const *compatible_ids;
	size_t compatible_id_count;
	const char *description;
	const char *friendly_name;
	const char *manufacturer;
	const char *location;
	const char *enumerator; /* "PCI"; any other is no bus with places */
	const char *driver_key; /* registry path; the driver's own when NULL */
	const char *device_key; /* the same with \Device below it when NULL */
	uint32_t bus_number;    /* of PCI, as the next */
	uint32_t address;       /* device << 16 | function */
	uint32_t ui_number;
};

/* The device keeps the driver object alive. */
MUST_CHECK NTSTATUS nt_device_object_create(struct _DRIVER_OBJECT *driver,
					    const struct nt_device_config *config,
					    struct _DEVICE_OBJECT **device_out);

/* The host's reference; the device itself goes with the driver's last one. Accepts NULL. */
void nt_device_object_destroy(struct _DEVICE_OBJECT *device);

#endif
