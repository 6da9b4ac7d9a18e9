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
#include "gpu.h"

DRIVER_INITIALIZE DriverEntry;

static struct gpu_settings driver_settings;

const struct gpu_settings *gpu_driver_settings(void)
{
	return &driver_settings;
}

/* A value that is not there leaves its default. */
static NTSTATUS read_setting(HANDLE key, const struct gpu_setting *setting)
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
		status = gpu_settings_set(&driver_settings, setting, value.info.Type,
					  value.info.Data, value.info.DataLength);
	else if (status == STATUS_BUFFER_OVERFLOW || status == STATUS_BUFFER_TOO_SMALL)
		status = STATUS_INVALID_PARAMETER; /* longer than anything we know */
	if (!NT_SUCCESS(status))
		DbgPrint(GPU_DRIVER ": registry value %s is not %s\n", setting->print_name,
			 setting->expected);
	return status;
}

static NTSTATUS read_settings(PUNICODE_STRING registry_path)
{
	OBJECT_ATTRIBUTES attributes;
	HANDLE key;
	PCSTR problem = "";

	gpu_settings_init(&driver_settings);
	gpu_hw_settings_init(&driver_settings);
	InitializeObjectAttributes(&attributes, registry_path,
				   OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
	NTSTATUS status = ZwOpenKey(&key, KEY_READ, &attributes);
	if (!NT_SUCCESS(status)) {
		DbgPrint(GPU_DRIVER ": cannot open %wZ: 0x%08x\n", registry_path, status);
		return status;
	}
	for (ULONG i = 0; i < gpu_setting_count && NT_SUCCESS(status); i++)
		status = read_setting(key, &gpu_setting_table[i]);
	ZwClose(key);

	if (NT_SUCCESS(status)) {
		status = gpu_settings_finish(&driver_settings, &problem);
		if (NT_SUCCESS(status))
			status = gpu_hw_settings_check(&driver_settings, &problem);
		if (!NT_SUCCESS(status))
			DbgPrint(GPU_DRIVER ": registry value %s\n", problem);
	}
	return status;
}

/* Both address models: devices, contexts, allocations, physical submission, recovery. */
static void fill_common(DRIVER_INITIALIZATION_DATA *data)
{
	data->Version = DXGKDDI_INTERFACE_VERSION_WDDM2_6;
	data->DxgkDdiAddDevice = gpu_add_device;
	data->DxgkDdiStartDevice = gpu_start_device;
	data->DxgkDdiStopDevice = gpu_stop_device;
	data->DxgkDdiRemoveDevice = gpu_remove_device;
	data->DxgkDdiDispatchIoRequest = gpu_dispatch_io_request;
	data->DxgkDdiInterruptRoutine = gpu_interrupt_routine;
	data->DxgkDdiDpcRoutine = gpu_dpc_routine;
	data->DxgkDdiQueryChildRelations = gpu_query_child_relations;
	data->DxgkDdiQueryChildStatus = gpu_query_child_status;
	data->DxgkDdiQueryDeviceDescriptor = gpu_query_device_descriptor;
	data->DxgkDdiSetPowerState = gpu_set_power_state;
	data->DxgkDdiNotifyAcpiEvent = gpu_notify_acpi_event;
	data->DxgkDdiResetDevice = gpu_reset_device;
	data->DxgkDdiUnload = gpu_unload;
	data->DxgkDdiQueryInterface = gpu_query_interface;
	data->DxgkDdiControlEtwLogging = gpu_control_etw_logging;
	data->DxgkDdiQueryAdapterInfo = gpu_query_adapter_info;
	data->DxgkDdiGetNodeMetadata = gpu_get_node_metadata;
	data->DxgkDdiCalibrateGpuClock = gpu_calibrate_gpu_clock;

	data->DxgkDdiCreateProcess = gpu_create_process;
	data->DxgkDdiDestroyProcess = gpu_destroy_process;
	data->DxgkDdiCreateDevice = gpu_create_device;
	data->DxgkDdiDestroyDevice = gpu_destroy_device;
	data->DxgkDdiCreateContext = gpu_create_context;
	data->DxgkDdiDestroyContext = gpu_destroy_context;
	data->DxgkDdiEscape = gpu_escape;

	data->DxgkDdiCreateAllocation = gpu_create_allocation;
	data->DxgkDdiDestroyAllocation = gpu_destroy_allocation;
	data->DxgkDdiDescribeAllocation = gpu_describe_allocation;
	data->DxgkDdiGetStandardAllocationDriverData = gpu_get_standard_allocation_driver_data;
	data->DxgkDdiOpenAllocation = gpu_open_allocation;
	data->DxgkDdiCloseAllocation = gpu_close_allocation;

	data->DxgkDdiRender = gpu_render;
	data->DxgkDdiPatch = gpu_patch;
	data->DxgkDdiBuildPagingBuffer = gpu_build_paging_buffer;
	data->DxgkDdiSubmitCommand = gpu_submit_command;
	data->DxgkDdiPreemptCommand = gpu_preempt_command;
	data->DxgkDdiQueryCurrentFence = gpu_query_current_fence;

	data->DxgkDdiResetEngine = gpu_reset_engine;
	data->DxgkDdiQueryEngineStatus = gpu_query_engine_status;
	data->DxgkDdiQueryDependentEngineGroup = gpu_query_dependent_engine_group;
	data->DxgkDdiResetFromTimeout = gpu_reset_from_timeout;
	data->DxgkDdiNotifySurpriseRemoval = gpu_notify_surprise_removal;
	data->DxgkDdiRestartFromTimeout = gpu_restart_from_timeout;
	data->DxgkDdiCollectDbgInfo = gpu_collect_dbg_info;
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
		data.DxgkDdiSubmitCommandVirtual = gpu_submit_command_virtual;
		data.DxgkDdiSetRootPageTable = gpu_set_root_page_table;
		data.DxgkDdiGetRootPageTableSize = gpu_get_root_page_table_size;
	}
	gpu_hw_register(&driver_settings, &data);
	if (driver_settings.hw_queues) {
		data.DxgkDdiCreateHwContext = gpu_create_hw_context;
		data.DxgkDdiDestroyHwContext = gpu_destroy_hw_context;
		data.DxgkDdiCreateHwQueue = gpu_create_hw_queue;
		data.DxgkDdiDestroyHwQueue = gpu_destroy_hw_queue;
		data.DxgkDdiSubmitCommandToHwQueue = gpu_submit_command_to_hw_queue;
		data.DxgkDdiResetHwEngine = gpu_reset_hw_engine;
		data.DxgkDdiResumeHwEngine = gpu_resume_hw_engine;
	}
	return DxgkInitialize(DriverObject, RegistryPath, &data);
}
