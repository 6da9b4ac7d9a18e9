/* SPDX-License-Identifier: MIT */
/*
 * device.c - what the driver finds out about its device, when a test asks.
 */
#include "driver.h"

static void read_space(struct adapter *adapter, struct recorder_device *ask)
{
	DXGKRNL_INTERFACE *os = &adapter->interface;
	ULONG count = 77;

	ask->escape.status = os->DxgkCbReadDeviceSpace(
		os->DeviceHandle, ask->escape.type,
		ask->escape.flags & RECORDER_NO_BUFFER ? NULL : ask->data, ask->offset, ask->length,
		ask->escape.flags & RECORDER_NO_COUNT ? NULL : &count);
	ask->length = count;
}

static void write_space(struct adapter *adapter, struct recorder_device *ask)
{
	DXGKRNL_INTERFACE *os = &adapter->interface;
	ULONG count = 77;

	ask->escape.status = os->DxgkCbWriteDeviceSpace(
		os->DeviceHandle, ask->escape.type,
		ask->escape.flags & RECORDER_NO_BUFFER ? NULL : ask->data, ask->offset, ask->length,
		ask->escape.flags & RECORDER_NO_COUNT ? NULL : &count);
	ask->length = count;
}

/* NULL when there are not as many. */
static CM_PARTIAL_RESOURCE_DESCRIPTOR *find_resource(struct adapter *adapter,
						     struct recorder_device *ask)
{
	DXGKRNL_INTERFACE *os = &adapter->interface;
	CM_PARTIAL_RESOURCE_LIST *list;
	DXGK_DEVICE_INFO info;

	ask->escape.result = 0;
	if (!NT_SUCCESS(os->DxgkCbGetDeviceInformation(os->DeviceHandle, &info)) ||
	    !info.TranslatedResourceList || info.TranslatedResourceList->Count == 0)
		return NULL;
	list = &info.TranslatedResourceList->List[0].PartialResourceList;
	ask->interface_type = (unsigned)info.TranslatedResourceList->List[0].InterfaceType;
	ask->bus = info.TranslatedResourceList->List[0].BusNumber;
	if (list->Version != 1 || list->Revision != 1)
		complain("a list of resources of version and revision 1 was expected");
	ask->escape.result = list->Count;
	return ask->index < list->Count ? &list->PartialDescriptors[ask->index] : NULL;
}

static void look_at_resource(struct adapter *adapter, struct recorder_device *ask)
{
	CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor = find_resource(adapter, ask);

	if (!descriptor)
		return;
	ask->escape.type = descriptor->Type;
	ask->escape.flags = descriptor->Flags;
	ask->escape.level = descriptor->ShareDisposition;
	if (descriptor->Type == CmResourceTypeMemory) {
		ask->start = (unsigned long long)descriptor->u.Memory.Start.QuadPart;
		ask->length = descriptor->u.Memory.Length;
	} else {
		ask->start = descriptor->u.Interrupt.Vector;
		ask->length = descriptor->u.Interrupt.Level;
	}
}

/* Writes through one mapping what was given, and reads through another what was there and is. */
static void touch_resource(struct adapter *adapter, struct recorder_device *ask)
{
	DXGKRNL_INTERFACE *os = &adapter->interface;
	CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor = find_resource(adapter, ask);
	PVOID first = NULL;
	PVOID second = NULL;
	PHYSICAL_ADDRESS start;
	NTSTATUS status;

	if (!descriptor)
		return;
	start = descriptor->u.Memory.Start;
	status = os->DxgkCbMapMemory(os->DeviceHandle, start, descriptor->u.Memory.Length, FALSE,
				     FALSE, MmNonCached, &first);
	start.QuadPart += ask->offset;
	if (NT_SUCCESS(status))
		status = os->DxgkCbMapMemory(os->DeviceHandle, start, 4, FALSE, FALSE, MmNonCached,
					     &second);
	if (NT_SUCCESS(status)) {
		ask->escape.last = *(volatile ULONG *)second;
		*(volatile ULONG *)((PUCHAR)first + ask->offset) = ask->escape.fence;
		ask->escape.fence = *(volatile ULONG *)second;
	}
	ask->escape.status = status;
	if (second)
		os->DxgkCbUnmapMemory(os->DeviceHandle, second);
	if (first)
		os->DxgkCbUnmapMemory(os->DeviceHandle, first);
}

/* Strings that end with a zero each become lines. */
static void put_text(struct recorder_device *ask, const WCHAR *text, ULONG bytes)
{
	ULONG used = 0;
	ULONG i;

	for (i = 0; i < bytes / sizeof(WCHAR) && used + 1 < sizeof(ask->text); i++)
		ask->text[used++] = text[i] == 0 ? '\n' : (char)text[i];
	while (used > 0 && ask->text[used - 1] == '\n')
		used--;
	ask->text[used] = '\0';
}

static void read_property(struct adapter *adapter, struct recorder_device *ask)
{
	WCHAR text[1024];
	ULONG bytes = 0;
	NTSTATUS status = IoGetDeviceProperty(adapter->device_object,
					      (DEVICE_REGISTRY_PROPERTY)ask->escape.type,
					      sizeof(text), text, &bytes);

	ask->escape.status = status;
	ask->length = bytes;
	if (!NT_SUCCESS(status))
		return;
	RtlCopyMemory(ask->data, text, bytes < sizeof(ask->data) ? bytes : sizeof(ask->data));
	put_text(ask, text, bytes);
}

static void widen(UNICODE_STRING *wide, WCHAR *buffer, const char *text)
{
	ULONG length = 0;

	while (text[length] && length < 63) {
		buffer[length] = (WCHAR)text[length];
		length++;
	}
	buffer[length] = 0;
	RtlInitUnicodeString(wide, buffer);
}

/* `text` names the value and `key`, if any, the key below the driver's. */
static void read_value(struct adapter *adapter, struct recorder_device *ask)
{
	struct {
		KEY_VALUE_PARTIAL_INFORMATION information;
		UCHAR data[512];
	} value;
	OBJECT_ATTRIBUTES attributes;
	UNICODE_STRING name;
	WCHAR buffer[64];
	HANDLE driver_key;
	HANDLE key;
	ULONG needed;
	NTSTATUS status = IoOpenDeviceRegistryKey(adapter->device_object, PLUGPLAY_REGKEY_DRIVER,
						  KEY_READ, &driver_key);

	if (!NT_SUCCESS(status)) {
		ask->escape.status = status;
		return;
	}
	widen(&name, buffer, ask->key);
	InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, driver_key, NULL);
	status = ask->key[0] ? ZwOpenKey(&key, KEY_READ, &attributes) : STATUS_SUCCESS;
	if (NT_SUCCESS(status)) {
		widen(&name, buffer, ask->text);
		status =
			ZwQueryValueKey(ask->key[0] ? key : driver_key, &name,
					KeyValuePartialInformation, &value, sizeof(value), &needed);
		if (ask->key[0])
			ZwClose(key);
	}
	ZwClose(driver_key);
	ask->escape.status = status;
	if (!NT_SUCCESS(status))
		return;
	ask->escape.type = value.information.Type;
	ask->length = value.information.DataLength;
	RtlCopyMemory(ask->data, value.information.Data,
		      ask->length < sizeof(ask->data) ? ask->length : sizeof(ask->data));
	put_text(ask, (const WCHAR *)(PVOID)value.information.Data, ask->length);
}

static void ask_for_device(struct adapter *adapter, struct recorder_device *ask)
{
	DXGKRNL_INTERFACE *os = &adapter->interface;
	PCI_DEVICE_PRESENCE_PARAMETERS parameters;
	BOOLEAN is_present = 77;

	RtlCopyMemory(&parameters, ask->data, sizeof(parameters));
	ask->escape.status = os->DxgkCbIsDevicePresent(
		os->DeviceHandle, ask->escape.flags & RECORDER_NO_BUFFER ? NULL : &parameters,
		&is_present);
	ask->escape.result = is_present;
}

static BOOLEAN NTAPI say_true(PVOID context)
{
	return context != NULL;
}

BOOLEAN device_command(struct adapter *adapter, const DXGKARG_ESCAPE *args)
{
	struct recorder_device *ask = args->pPrivateDriverData;
	DXGKRNL_INTERFACE *os = &adapter->interface;
	BOOLEAN is_true = FALSE;

	if (args->PrivateDriverDataSize < sizeof(*ask))
		return FALSE;
	switch (ask->escape.command) {
	case RECORDER_READ_SPACE:
		read_space(adapter, ask);
		return TRUE;
	case RECORDER_WRITE_SPACE:
		write_space(adapter, ask);
		return TRUE;
	case RECORDER_RESOURCE:
		look_at_resource(adapter, ask);
		return TRUE;
	case RECORDER_TOUCH:
		touch_resource(adapter, ask);
		return TRUE;
	case RECORDER_PROPERTY:
		read_property(adapter, ask);
		return TRUE;
	case RECORDER_VALUE:
		read_value(adapter, ask);
		return TRUE;
	case RECORDER_PRESENT:
		ask_for_device(adapter, ask);
		return TRUE;
	case RECORDER_MESSAGE:
		ask->escape.status = os->DxgkCbSynchronizeExecution(os->DeviceHandle, say_true, ask,
								    ask->index, &is_true);
		return TRUE;
	case RECORDER_INTERFACE:
		ask->escape.result = os->Version;
		ask->length = os->Size;
		ask->start = os->DxgkCbSignalEvent != NULL;
		return TRUE;
	default:
		return FALSE;
	}
}
