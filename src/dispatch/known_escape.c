/* SPDX-License-Identifier: MIT */
/*
 * known_escape.c - escapes to the driver whose data the kernel knows (DriverKnownEscape).
 *
 * Their data begins with a D3DDDI_DRIVERESCAPETYPE. What a client names in it is checked here, so
 * that a driver sees only what the client has. A handle stays the client's, which is the one that
 * DxgkCbAcquireHandleData takes; an event of the driver is named by the driver's own handle.
 */
#include <string.h>

#include "dispatch/dispatch.h"
#include "dispatch/escapes.h"
#include "object/fence/cpu_event.h"

static NTSTATUS check_handle(const struct escape *escape, const char *name,
			     const struct object_class *class)
{
	/* Both structs that translate have their handle behind the type. */
	D3DDDI_DRIVERESCAPE_TRANSLATEALLOCATIONEHANDLE data;
	struct object *object = NULL;

	_Static_assert(sizeof(data) == sizeof(D3DDDI_DRIVERESCAPE_TRANSLATERESOURCEHANDLE), "");
	NTSTATUS status =
		escape_read(escape, "D3DDDI_DRIVERESCAPE_TRANSLATE…HANDLE", &data, sizeof(data));
	if (NT_SUCCESS(status))
		status = call_find_object(escape->call, class, name, -1, data.hAllocation, &object);
	if (NT_SUCCESS(status))
		object_put(object);
	return status;
}

static NTSTATUS pass_on(const struct escape *escape, const struct miniport_escape_desc *desc)
{
	return process_escape(escape->call->process, escape->adapter, desc);
}

static NTSTATUS translate(const struct escape *escape, const struct miniport_escape_desc *desc,
			  const char *name, const struct object_class *class)
{
	NTSTATUS status = check_handle(escape, name, class);

	return NT_SUCCESS(status) ? pass_on(escape, desc) : status;
}

/* ---- events ---- */

static NTSTATUS check_event(const struct escape *escape, const struct dxg_sync_object *sync)
{
	if (!sync->body->cpu_event)
		return invalid(RULE_API_SYNC_KIND, "hSyncObject",
			       "0x%08x is %s that was not created with SignalByKmd",
			       sync->object.handle, sync_kind_name(sync->body->kind));
	if (sync->device->adapter != escape->adapter)
		return invalid(RULE_API_VALUE, "hSyncObject", "0x%08x is of another adapter",
			       sync->object.handle);
	if (escape->device && escape->device != sync->device)
		return invalid(RULE_API_VALUE, "hDevice",
			       "is another device than that of hSyncObject 0x%08x",
			       sync->object.handle);
	return device_check_alive(sync->device);
}

static NTSTATUS use_event(const struct escape *escape, const struct miniport_escape_desc *desc)
{
	D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE usage;
	struct object *object = NULL;
	NTSTATUS status =
		escape_read(escape, "D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE", &usage, sizeof(usage));

	if (NT_SUCCESS(status))
		status = call_find_object(escape->call, &sync_object_class, "hSyncObject", -1,
					  usage.hSyncObject, &object);
	if (!NT_SUCCESS(status))
		return status;
	struct dxg_sync_object *sync = object_as(sync_object, object);
	status = check_event(escape, sync);
	if (NT_SUCCESS(status)) {
		struct miniport_escape_desc event_desc = *desc;
		UINT64 clients_own = usage.hKmdCpuEvent;

		usage.hKmdCpuEvent = (uintptr_t)cpu_event_of_driver(sync->body->cpu_event);
		event_desc.driver_device = sync->device->driver_device;
		event_desc.private_data = &usage;
		event_desc.private_bytes = sizeof(usage);
		status = pass_on(escape, &event_desc);
		/* The driver's handle is no business of the client. */
		usage.hKmdCpuEvent = clients_own;
		memcpy(escape->data, &usage, sizeof(usage));
	}
	object_put(object);
	return status;
}

NTSTATUS escape_known(const struct escape *escape, const struct miniport_escape_desc *desc)
{
	D3DDDI_DRIVERESCAPETYPE type;
	NTSTATUS status = escape_read(escape, "D3DDDI_DRIVERESCAPETYPE", &type, sizeof(type));

	if (!NT_SUCCESS(status))
		return status;
	switch (type) {
	case D3DDDI_DRIVERESCAPETYPE_TRANSLATEALLOCATIONHANDLE:
		return translate(escape, desc, "hAllocation", &allocation_class);
	case D3DDDI_DRIVERESCAPETYPE_TRANSLATERESOURCEHANDLE:
		return translate(escape, desc, "hResource", &resource_class);
	case D3DDDI_DRIVERESCAPETYPE_CPUEVENTUSAGE:
		return use_event(escape, desc);
	case D3DDDI_DRIVERESCAPETYPE_MAX:
	default:
		return invalid(RULE_API_VALUE, "EscapeType", "is %d, not one of 0 to 2", (int)type);
	}
}
