/* SPDX-License-Identifier: MIT */
/*
 * device_callbacks.c - what a driver asks about its device: DxgkCbGetDeviceInformation, whether it is
 * there, and PCI configuration space.
 */
#include "base/machine.h"
#include "miniport/callbacks.h"
#include "nt/io.h"

/* Of an adapter that its profile gives none. */
static CM_RESOURCE_LIST no_resources;

static NTSTATUS APIENTRY get_device_information(HANDLE handle, PDXGK_DEVICE_INFO info)
{
	const char *name = "DxgkCbGetDeviceInformation";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!info)
		return callback_bad_argument(name, "a NULL DeviceInfo");
	/* Before it is set up there is none to speak of. */
	uint64_t memory_bytes =
		machine_set_up() ? machine_usage().total_pages * MACHINE_PAGE_BYTES : 0;

	*info = (DXGK_DEVICE_INFO){
		.MiniportDeviceContext = miniport->context,
		.PhysicalDeviceObject = miniport->device_object,
		.DeviceRegistryPath = *nt_driver_object_registry_path(miniport->driver_object),
		.TranslatedResourceList =
			miniport->device.list ? miniport->device.list : &no_resources,
		.SystemMemorySize.QuadPart = (LONGLONG)memory_bytes,
		.HighestPhysicalAddress.QuadPart = (LONGLONG)(MACHINE_FIRST + memory_bytes - 1),
		.DockingState = DockStateUnsupported,
	};
	return callback_end(STATUS_SUCCESS);
}

/* ---- who is there ---- */

/* Each flag names members that have to be the device's. */
static bool is_this_device(const struct miniport_pci_ids *ids,
			   const PCI_DEVICE_PRESENCE_PARAMETERS *wanted)
{
	const struct {
		ULONG flag;
		bool is_so;
	} claims[] = {
		{ PCI_USE_VENDEV_IDS,
		  wanted->VendorID == ids->vendor && wanted->DeviceID == ids->device },
		{ PCI_USE_SUBSYSTEM_IDS, wanted->SubVendorID == ids->subsystem_vendor &&
						 wanted->SubSystemID == ids->subsystem },
		{ PCI_USE_REVISION, wanted->RevisionID == ids->revision },
		{ PCI_USE_CLASS_SUBCLASS,
		  wanted->BaseClass == ids->class_code >> 16 &&
			  wanted->SubClass == (ids->class_code >> 8 & 0xff) },
		{ PCI_USE_PROGIF, wanted->ProgIf == (ids->class_code & 0xff) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		if ((wanted->Flags & claims[i].flag) && !claims[i].is_so)
			return false;
	}
	/* Something that names a device has to be asked for. */
	return (wanted->Flags & (PCI_USE_VENDEV_IDS | PCI_USE_CLASS_SUBCLASS)) != 0;
}

/* There are no devices but the adapter's own. */
static NTSTATUS APIENTRY is_device_present(HANDLE handle,
					   PPCI_DEVICE_PRESENCE_PARAMETERS parameters,
					   PBOOLEAN is_present)
{
	const char *name = "DxgkCbIsDevicePresent";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!is_present)
		return callback_bad_argument(name, "a NULL DevicePresent");
	*is_present = FALSE;
	if (!parameters || parameters->Size < sizeof(*parameters))
		return callback_bad_argument(name,
					     parameters ? "DevicePresenceParameters whose Size is "
							  "too small"
							: "NULL DevicePresenceParameters");
	*is_present =
		miniport->info.is_on_pci && is_this_device(&miniport->info.pci_ids, parameters);
	return callback_end(STATUS_SUCCESS);
}

/* ---- configuration space ---- */

struct space_access {
	const char *name;
	const char *count_name; /* of the last argument */
	ULONG data_type;
	const void *buffer;
	ULONG *count_out;
};

static bool is_a_space(ULONG data_type)
{
	return data_type == DXGK_WHICHSPACE_CONFIG || data_type == DXGK_WHICHSPACE_ROM ||
	       data_type == DXGK_WHICHSPACE_MCH || data_type == DXGK_WHICHSPACE_BRIDGE;
}

/*
 * The space of the device, when it is that one which is meant. *status_out says what to answer
 * when it is NULL: there are other spaces on a PC, and none of them here.
 */
static struct pci_config *space_begin(HANDLE handle, const struct space_access *access,
				      NTSTATUS *status_out)
{
	struct miniport *miniport = callback_begin(handle, access->name, PASSIVE_LEVEL);
	const char *mistake = NULL;

	*status_out = STATUS_INVALID_PARAMETER;
	if (access->count_out)
		*access->count_out = 0;
	if (!miniport)
		return NULL;
	if (!is_a_space(access->data_type))
		mistake = "a DataType that is no DXGK_WHICHSPACE";
	else if (!access->buffer)
		mistake = "a NULL Buffer";
	else if (!access->count_out)
		mistake = access->count_name;
	if (mistake) {
		callback_tell_argument(access->name, mistake);
		return NULL;
	}
	*status_out = STATUS_UNSUCCESSFUL;
	return access->data_type == DXGK_WHICHSPACE_CONFIG ? miniport->device.space : NULL;
}

/* Nothing of what was asked for is there. */
static NTSTATUS space_end(ULONG length, uint32_t count, ULONG *count_out)
{
	*count_out = count;
	return callback_end(count == 0 && length > 0 ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS);
}

static NTSTATUS APIENTRY read_device_space(HANDLE handle, ULONG data_type, PVOID buffer,
					   ULONG offset, ULONG length, PULONG bytes_read)
{
	const struct space_access access = { "DxgkCbReadDeviceSpace", "a NULL BytesRead", data_type,
					     buffer, bytes_read };
	NTSTATUS status;
	struct pci_config *space = space_begin(handle, &access, &status);

	if (!space)
		return callback_end(status);
	return space_end(length, pci_config_read(space, offset, buffer, length), bytes_read);
}

static NTSTATUS APIENTRY write_device_space(HANDLE handle, ULONG data_type, PVOID buffer,
					    ULONG offset, ULONG length, PULONG bytes_written)
{
	const struct space_access access = { "DxgkCbWriteDeviceSpace", "a NULL BytesWritten",
					     data_type, buffer, bytes_written };
	NTSTATUS status;
	struct pci_config *space = space_begin(handle, &access, &status);

	if (!space)
		return callback_end(status);
	return space_end(length, pci_config_write(space, offset, buffer, length), bytes_written);
}

void callbacks_fill_device(DXGKRNL_INTERFACE *interface)
{
	interface->DxgkCbGetDeviceInformation = get_device_information;
	interface->DxgkCbIsDevicePresent = is_device_present;
	interface->DxgkCbReadDeviceSpace = read_device_space;
	interface->DxgkCbWriteDeviceSpace = write_device_space;
}
