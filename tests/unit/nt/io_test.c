/* SPDX-License-Identifier: MIT */
/*
 * io_test.c - driver and device objects, properties, and what is honestly not there.
 */
#include "nt_harness.h"
#include "support/failing.h"

#define PATH NT_REGISTRY_SERVICES "\\io0"

static const char *const hardware_ids[] = { "PCI\\VEN_1AF4&DEV_1050", "PCI\\VEN_1AF4" };

static const struct nt_device_config config = {
	.hardware_ids = hardware_ids,
	.hardware_id_count = 2,
	.description = "opendxgk Soft GPU",
	.bus_number = 3,
	.address = 0x20001,
};

static PDRIVER_OBJECT driver;
static PDEVICE_OBJECT device;

static void begin(void)
{
	nt_test_begin();
	EXPECT_EQ(nt_driver_object_create("io", PATH, &driver), STATUS_SUCCESS);
	EXPECT_EQ(nt_device_object_create(driver, &config, &device), STATUS_SUCCESS);
}

static void finish(void)
{
	nt_device_object_destroy(device);
	nt_driver_object_destroy(driver);
	nt_test_finish();
}

TEST(io, a_driver_object_is_ready_for_driver_entry)
{
	HANDLE key;
	OBJECT_ATTRIBUTES attributes;

	begin();
	EXPECT(driver->Type == 4 && driver->Size == sizeof(DRIVER_OBJECT));
	EXPECT(!DxgkRt_wcscmp(driver->DriverName.Buffer, L"\\Driver\\io"));
	EXPECT(!DxgkRt_wcscmp(driver->DriverExtension->ServiceKeyName.Buffer, L"io"));
	EXPECT(driver->DriverExtension->DriverObject == driver);
	EXPECT(driver->HardwareDatabase->Length > 0);
	IRP irp;
	memset(&irp, 0, sizeof(irp));
	EXPECT_EQ(driver->MajorFunction[IRP_MJ_CREATE](NULL, &irp), STATUS_INVALID_DEVICE_REQUEST);

	/* The registry path opens, as every DriverEntry expects. */
	InitializeObjectAttributes(&attributes, nt_driver_object_registry_path(driver),
				   OBJ_KERNEL_HANDLE, NULL, NULL);
	EXPECT_EQ(ZwOpenKey(&key, KEY_READ, &attributes), STATUS_SUCCESS);
	EXPECT_EQ(ZwClose(key), STATUS_SUCCESS);
	nt_driver_object_destroy(NULL);
	nt_device_object_destroy(NULL);
	finish();
}

TEST(io, properties_follow_the_buffer_rules)
{
	WCHAR text[64];
	ULONG length;
	ULONG number;
	static const WCHAR ids[] = L"PCI\\VEN_1AF4&DEV_1050\0PCI\\VEN_1AF4\0";

	begin();
	EXPECT_EQ(IoGetDeviceProperty(device, DevicePropertyHardwareID, 0, NULL, &length),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(length, sizeof(ids));
	EXPECT_EQ(IoGetDeviceProperty(device, DevicePropertyHardwareID, length - 1, text, &length),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(IoGetDeviceProperty(device, DevicePropertyHardwareID, length, text, &length),
		  STATUS_SUCCESS);
	EXPECT(memcmp(text, ids, sizeof(ids)) == 0);
	EXPECT_EQ(IoGetDeviceProperty(device, DevicePropertyBusNumber, 4, &number, &length),
		  STATUS_SUCCESS);
	EXPECT(number == 3 && length == 4);
	EXPECT_EQ(IoGetDeviceProperty(device, DevicePropertyAddress, 4, &number, &length),
		  STATUS_SUCCESS);
	EXPECT_EQ(number, 0x20001);
	EXPECT_EQ(IoGetDeviceProperty(device, DevicePropertyClassGuid, sizeof(text) * 2, text,
				      &length),
		  STATUS_SUCCESS);
	EXPECT_EQ(length, 39 * 2);
	EXPECT_EQ(IoGetDeviceProperty(device, DevicePropertyManufacturer, sizeof(text), text,
				      &length),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(length, 0);
	EXPECT_EQ(IoGetDeviceProperty(device, (DEVICE_REGISTRY_PROPERTY)99, 4, &number, &length),
		  STATUS_INVALID_PARAMETER_2);
	EXPECT_NO_REPORT();
	EXPECT_EQ(IoGetDeviceProperty(NULL, DevicePropertyAddress, 4, &number, &length),
		  STATUS_INVALID_DEVICE_REQUEST);
	EXPECT_EQ(IoGetDeviceProperty((PDEVICE_OBJECT)driver, DevicePropertyAddress, 4, &number,
				      &length),
		  STATUS_INVALID_DEVICE_REQUEST);
	EXPECT_REPORTS(RULE_NT_DEVICE, 2);
	finish();
}

TEST(io, a_device_has_its_registry_keys)
{
	HANDLE key;
	ULONG value = 77;
	UNICODE_STRING name;
	uint32_t type;
	size_t needed;

	begin();
	RtlInitUnicodeString(&name, L"Set");
	EXPECT_EQ(IoOpenDeviceRegistryKey(device, PLUGPLAY_REGKEY_DRIVER, KEY_WRITE, &key),
		  STATUS_SUCCESS);
	EXPECT_EQ(ZwSetValueKey(key, &name, 0, REG_DWORD, &value, 4), STATUS_SUCCESS);
	ZwClose(key);
	EXPECT_EQ(nt_registry_query(PATH, "Set", &type, &value, 4, &needed), STATUS_SUCCESS);
	EXPECT_EQ(IoOpenDeviceRegistryKey(device, PLUGPLAY_REGKEY_DEVICE, KEY_WRITE, &key),
		  STATUS_SUCCESS);
	ZwClose(key);
	EXPECT_EQ(IoOpenDeviceRegistryKey(device, 0, KEY_WRITE, &key), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(IoOpenDeviceRegistryKey(NULL, PLUGPLAY_REGKEY_DRIVER, KEY_WRITE, &key),
		  STATUS_INVALID_DEVICE_REQUEST);
	finish();
}

TEST(io, a_device_lives_as_long_as_a_reference)
{
	begin();
	EXPECT(IoGetAttachedDeviceReference(device) == device);
	nt_device_object_destroy(device);
	nt_driver_object_destroy(driver); /* the device still needs it */
	EXPECT_EQ(device->DriverObject->Type, 4);
	ObDereferenceObject(device);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

NT_TEST(io, every_allocation_failure_is_a_status_and_leaks_nothing)
{
	EACH_FAILURE (failing, 20) {
		driver = NULL;
		device = NULL;
		failing_start(&failing);
		NTSTATUS status = nt_driver_object_create("io", PATH, &driver);
		if (NT_SUCCESS(status))
			status = nt_device_object_create(driver, &config, &device);
		bool has_failed = failing_stop(&failing);
		EXPECT_EQ(NT_SUCCESS(status), !has_failed);
		nt_device_object_destroy(device);
		nt_driver_object_destroy(driver);
	}
}

TEST(unhosted, what_is_not_there_fails_and_says_so)
{
	HANDLE handle = (HANDLE)1;
	IO_STATUS_BLOCK io;
	PFILE_OBJECT file;
	PDEVICE_OBJECT other;

	nt_test_begin();
	EXPECT_EQ(ZwCreateFile(&handle, 0, NULL, &io, NULL, 0, 0, 0, 0, NULL, 0),
		  STATUS_NOT_SUPPORTED);
	EXPECT(!handle && io.Status == STATUS_NOT_SUPPORTED);
	EXPECT_EQ(ZwReadFile(NULL, NULL, NULL, NULL, &io, NULL, 0, NULL, NULL),
		  STATUS_NOT_SUPPORTED);
	EXPECT(!IoBuildDeviceIoControlRequest(0, NULL, NULL, 0, NULL, 0, FALSE, NULL, NULL));
	EXPECT(!IoAllocateIrp(1, FALSE));
	EXPECT_EQ(IoCallDriver(NULL, NULL), STATUS_NOT_SUPPORTED);
	EXPECT_EQ(IoGetDeviceObjectPointer(NULL, 0, &file, &other), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT(!file && !other);
	EXPECT_REPORTS(RULE_NT_NOT_HOSTED, 6);
	EXPECT(!IoAllocateErrorLogEntry(NULL, 10));
	EXPECT_REPORTS(RULE_NT_NOT_HOSTED, 6);
	nt_report_reset();
	UCHAR bytes[3] = { 0 };
	EXPECT_EQ(READ_PORT_UCHAR((PUCHAR)0x3c0), 0xff);
	EXPECT_EQ(READ_PORT_ULONG((PULONG)0xcf8), 0xffffffff);
	WRITE_PORT_USHORT((PUSHORT)0x3c0, 1);
	READ_PORT_BUFFER_UCHAR((PUCHAR)0x3c0, bytes, 2);
	EXPECT(bytes[0] == 0xff && bytes[1] == 0xff && bytes[2] == 0);
	EXPECT_REPORTS(RULE_NT_PORT, 5);
	nt_test_finish();
}

TEST(unhosted, requests_files_and_names_of_other_devices_fail_and_say_so)
{
	HANDLE handle = (HANDLE)1;
	IO_STATUS_BLOCK io = { 0 };
	UNICODE_STRING name = { .Length = 2 };
	ULONG length = 0;

	nt_test_begin();
	EXPECT_EQ(ZwOpenFile(&handle, 0, NULL, &io, 0, 0), STATUS_NOT_SUPPORTED);
	EXPECT(!handle && io.Status == STATUS_NOT_SUPPORTED);
	EXPECT_EQ(ZwWriteFile(NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL),
		  STATUS_NOT_SUPPORTED);
	io.Status = STATUS_SUCCESS;
	EXPECT_EQ(ZwQueryInformationFile(NULL, &io, NULL, 0, FileStandardInformation),
		  STATUS_NOT_SUPPORTED);
	EXPECT(io.Status == STATUS_NOT_SUPPORTED && io.Information == 0);
	IoFreeIrp(NULL);
	EXPECT(!IoBuildSynchronousFsdRequest(0, NULL, NULL, 0, NULL, NULL, NULL));
	IoCompleteRequest(NULL, IO_NO_INCREMENT);
	EXPECT(!IoGetRelatedDeviceObject(NULL));
	EXPECT_EQ(IoRegisterDeviceInterface(NULL, NULL, NULL, &name), STATUS_NOT_SUPPORTED);
	EXPECT(name.Length == 0 && !name.Buffer);
	EXPECT_EQ(IoSetDeviceInterfaceState(&name, TRUE), STATUS_OBJECT_NAME_NOT_FOUND);
	handle = (HANDLE)1;
	EXPECT_EQ(IoOpenDeviceInterfaceRegistryKey(&name, 0, &handle),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT(!handle);
	IoInvalidateDeviceState(NULL);
	IoWriteErrorLogEntry(NULL);
	IoFreeErrorLogEntry(NULL);
	EXPECT_REPORTS(RULE_NT_NOT_HOSTED, 13);
	/* Asking is how a driver finds out: that is no mistake. */
	EXPECT_EQ(ExGetFirmwareEnvironmentVariable(&name, NULL, NULL, &length, NULL),
		  STATUS_NOT_IMPLEMENTED);
	EXPECT_REPORTS(RULE_NT_NOT_HOSTED, 13);
	nt_test_finish();
}

TEST_MAIN("nt/io")
