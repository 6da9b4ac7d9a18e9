/* SPDX-License-Identifier: MIT */
/*
 * driver.c - where the driver begins.
 *
 *   in:   DriverObject, RegistryPath
 *   out:  the settings of this GPU, checked; our entry points, handed to Dxgkrnl
 *
 * The registration table lives on the stack: Dxgkrnl copies it. The settings are kept for
 * AddDevice; there is one adapter per loaded image, so one set of them is enough.
 */
#include "soft.h"

DRIVER_INITIALIZE DriverEntry;

static struct soft_settings driver_settings;

const struct soft_settings *soft_driver_settings(void)
{
	return &driver_settings;
}

/* A value that is not there leaves its default. */
static NTSTATUS read_setting(HANDLE key, const struct soft_setting *setting)
{
	union {
		KEY_VALUE_PARTIAL_INFORMATION info;
		UCHAR bytes[sizeof(KEY_VALUE_PARTIAL_INFORMATION) + 128];
	} value;
	UNICODE_STRING name;
	ULONG size_bytes = 0;

	RtlInitUnicodeString(&name, setting->name);
	NTSTATUS status = ZwQueryValueKey(key, &name, KeyValuePartialInformation, &value,
					  sizeof(value), &size_bytes);
	if (status == STATUS_OBJECT_NAME_NOT_FOUND)
		return STATUS_SUCCESS;
	if (NT_SUCCESS(status))
		status = soft_settings_set(&driver_settings, setting, value.info.Type,
					   value.info.Data, value.info.DataLength);
	else if (status == STATUS_BUFFER_OVERFLOW || status == STATUS_BUFFER_TOO_SMALL)
		status = STATUS_INVALID_PARAMETER; /* longer than anything we know */
	if (!NT_SUCCESS(status))
		DbgPrint("soft: registry value %s is not %s\n", setting->print_name,
			 setting->expected);
	return status;
}

static NTSTATUS read_settings(PUNICODE_STRING registry_path)
{
	OBJECT_ATTRIBUTES attributes;
	HANDLE key;
	PCSTR problem = "";

	soft_settings_init(&driver_settings);
	InitializeObjectAttributes(&attributes, registry_path,
				   OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
	NTSTATUS status = ZwOpenKey(&key, KEY_READ, &attributes);
	if (!NT_SUCCESS(status)) {
		DbgPrint("soft: cannot open %wZ: 0x%08x\n", registry_path, status);
		return status;
	}
	for (ULONG i = 0; i < soft_setting_count && NT_SUCCESS(status); i++)
		status = read_setting(key, &soft_setting_table[i]);
	ZwClose(key);

	if (NT_SUCCESS(status)) {
		status = soft_settings_finish(&driver_settings, &problem);
		if (!NT_SUCCESS(status))
			DbgPrint("soft: registry value %s\n", problem);
	}
	return status;
}

/* Both address models: devices, contexts, allocations, physical submission, recovery. */
static void fill_common(DRIVER_INITIALIZATION_DATA *data)
{
	data->Version = DXGKDDI_INTERFACE_VERSION_WDDM2_6;
	data->DxgkDdiAddDevice = soft_add_device;
	data->DxgkDdiStartDevice = soft_start_device;
	data->DxgkDdiStopDevice = soft_stop_device;
	data->DxgkDdiRemoveDevice = soft_remove_device;
	data->DxgkDdiDispatchIoRequest = soft_dispatch_io_request;
	data->DxgkDdiInterruptRoutine = soft_interrupt_routine;
	data->DxgkDdiDpcRoutine = soft_dpc_routine;
	data->DxgkDdiQueryChildRelations = soft_query_child_relations;
	data->DxgkDdiQueryChildStatus = soft_query_child_status;
	data->DxgkDdiQueryDeviceDescriptor = soft_query_device_descriptor;
	data->DxgkDdiSetPowerState = soft_set_power_state;
	data->DxgkDdiNotifyAcpiEvent = soft_notify_acpi_event;
	data->DxgkDdiResetDevice = soft_reset_device;
	data->DxgkDdiUnload = soft_unload;
	data->DxgkDdiQueryInterface = soft_query_interface;
	data->DxgkDdiControlEtwLogging = soft_control_etw_logging;
	data->DxgkDdiQueryAdapterInfo = soft_query_adapter_info;
	data->DxgkDdiGetNodeMetadata = soft_get_node_metadata;
	data->DxgkDdiCalibrateGpuClock = soft_calibrate_gpu_clock;

	data->DxgkDdiCreateProcess = soft_create_process;
	data->DxgkDdiDestroyProcess = soft_destroy_process;
	data->DxgkDdiCreateDevice = soft_create_device;
	data->DxgkDdiDestroyDevice = soft_destroy_device;
	data->DxgkDdiCreateContext = soft_create_context;
	data->DxgkDdiDestroyContext = soft_destroy_context;
	data->DxgkDdiEscape = soft_escape;

	data->DxgkDdiCreateAllocation = soft_create_allocation;
	data->DxgkDdiDestroyAllocation = soft_destroy_allocation;
	data->DxgkDdiDescribeAllocation = soft_describe_allocation;
	data->DxgkDdiGetStandardAllocationDriverData = soft_get_standard_allocation_driver_data;
	data->DxgkDdiOpenAllocation = soft_open_allocation;
	data->DxgkDdiCloseAllocation = soft_close_allocation;

	data->DxgkDdiRender = soft_render;
	data->DxgkDdiPatch = soft_patch;
	data->DxgkDdiBuildPagingBuffer = soft_build_paging_buffer;
	data->DxgkDdiSubmitCommand = soft_submit_command;
	data->DxgkDdiPreemptCommand = soft_preempt_command;
	data->DxgkDdiQueryCurrentFence = soft_query_current_fence;

	data->DxgkDdiResetEngine = soft_reset_engine;
	data->DxgkDdiQueryEngineStatus = soft_query_engine_status;
	data->DxgkDdiQueryDependentEngineGroup = soft_query_dependent_engine_group;
	data->DxgkDdiResetFromTimeout = soft_reset_from_timeout;
	data->DxgkDdiNotifySurpriseRemoval = soft_notify_surprise_removal;
	data->DxgkDdiRestartFromTimeout = soft_restart_from_timeout;
	data->DxgkDdiCollectDbgInfo = soft_collect_dbg_info;
}

DECLSPEC_EXPORT NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT DriverObject,
					   PUNICODE_STRING RegistryPath)
{
	DRIVER_INITIALIZATION_DATA data = { 0 };

	PAGED_CODE();

	NTSTATUS status = read_settings(RegistryPath);
	if (!NT_SUCCESS(status))
		return status;

	fill_common(&data);
	if (driver_settings.model == SOFTGPU_MODEL_GPUMMU) {
		data.DxgkDdiSubmitCommandVirtual = soft_submit_command_virtual;
		data.DxgkDdiSetRootPageTable = soft_set_root_page_table;
		data.DxgkDdiGetRootPageTableSize = soft_get_root_page_table_size;
	}
	if (driver_settings.host_aperture_mib != 0) {
		data.DxgkDdiMapCpuHostAperture = soft_map_cpu_host_aperture;
		data.DxgkDdiUnmapCpuHostAperture = soft_unmap_cpu_host_aperture;
	}
	if (driver_settings.hw_queues) {
		data.DxgkDdiCreateHwContext = soft_create_hw_context;
		data.DxgkDdiDestroyHwContext = soft_destroy_hw_context;
		data.DxgkDdiCreateHwQueue = soft_create_hw_queue;
		data.DxgkDdiDestroyHwQueue = soft_destroy_hw_queue;
		data.DxgkDdiSubmitCommandToHwQueue = soft_submit_command_to_hw_queue;
		data.DxgkDdiResetHwEngine = soft_reset_hw_engine;
		data.DxgkDdiResumeHwEngine = soft_resume_hw_engine;
	}
	return DxgkInitialize(DriverObject, RegistryPath, &data);
}
