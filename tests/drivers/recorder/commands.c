/* SPDX-License-Identifier: MIT */
/*
 * commands.c - DxgkDdiEscape: what a test asks the driver to do.
 */
#include "driver.h"

struct interrupt {
	struct adapter *adapter;
	const struct recorder_escape *escape;
	NTSTATUS inner_status;
	DXGKCB_SYNCHRONIZE_EXECUTION synchronize;
};

static BOOLEAN NTAPI report_interrupt(PVOID context)
{
	struct interrupt *interrupt = context;
	const struct recorder_escape *escape = interrupt->escape;
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

	fill_interrupt(&data, escape);
	note("interrupt", "fence", escape->fence, NULL, 0);
	interrupt->adapter->interface.DxgkCbNotifyInterrupt(
		interrupt->adapter->interface.DeviceHandle, &data);
	if (escape->command == RECORDER_INTERRUPT)
		interrupt->adapter->interface.DxgkCbQueueDpc(
			interrupt->adapter->interface.DeviceHandle);
	return TRUE;
}

static BOOLEAN NTAPI synchronize_again(PVOID context)
{
	struct interrupt *interrupt = context;
	BOOLEAN result = FALSE;

	interrupt->inner_status = interrupt->adapter->interface.DxgkCbSynchronizeExecution(
		interrupt->adapter->interface.DeviceHandle, report_interrupt, interrupt, 0,
		&result);
	return FALSE;
}

static NTSTATUS do_memory(struct adapter *adapter, struct recorder_escape *escape)
{
	DXGKRNL_INTERFACE *os = &adapter->interface;
	DXGKARGCB_ALLOCATECONTIGUOUSMEMORY contiguous;
	DXGKARGCB_ALLOCATEPAGESFORMDL pages;
	PVOID pointer = NULL;
	NTSTATUS status;

	RtlZeroMemory(&contiguous, sizeof(contiguous));
	contiguous.NumberOfBytes = 8192;
	contiguous.HighestAcceptableAddress.QuadPart = -1;
	contiguous.CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED;
	status = os->DxgkCbAllocateContiguousMemory(os->DeviceHandle, &contiguous);
	if (!NT_SUCCESS(status))
		return status;
	if (escape->command != RECORDER_CONTIGUOUS) {
		status = os->DxgkCbMapMemory(os->DeviceHandle,
					     MmGetPhysicalAddress(contiguous.pMemory), 8192, FALSE,
					     FALSE, MmCached, &pointer);
		if (NT_SUCCESS(status)) {
			*(ULONG *)contiguous.pMemory = 0x12345678;
			escape->result = *(ULONG *)pointer;
		}
		if (NT_SUCCESS(status) && escape->command == RECORDER_MAP_AND_UNMAP)
			status = os->DxgkCbUnmapMemory(os->DeviceHandle, pointer);
	} else {
		RtlZeroMemory(&pages, sizeof(pages));
		pages.HighAddress.QuadPart = -1;
		pages.TotalBytes = 3 * 4096;
		pages.CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED;
		status = os->DxgkCbAllocatePagesForMdl(os->DeviceHandle, &pages);
		if (NT_SUCCESS(status)) {
			DXGKARGCB_FREEPAGESFROMMDL free_pages = { pages.hMemoryHandle };

			escape->result = MmGetMdlByteCount(pages.pMdl);
			os->DxgkCbFreePagesFromMdl(os->DeviceHandle, &free_pages);
		}
	}
	DXGKARGCB_FREECONTIGUOUSMEMORY free_contiguous = { contiguous.hMemoryHandle };

	os->DxgkCbFreeContiguousMemory(os->DeviceHandle, &free_contiguous);
	return status;
}

static NTSTATUS do_information(struct adapter *adapter, struct recorder_escape *escape)
{
	DXGK_DEVICE_INFO info;
	NTSTATUS status = adapter->interface.DxgkCbGetDeviceInformation(
		adapter->interface.DeviceHandle, &info);

	escape->result = NT_SUCCESS(status) && info.MiniportDeviceContext == adapter &&
			 info.PhysicalDeviceObject == adapter->device_object &&
			 RtlEqualUnicodeString(&info.DeviceRegistryPath, &registry_path, TRUE) &&
			 info.TranslatedResourceList && info.TranslatedResourceList->Count == 0 &&
			 info.SystemMemorySize.QuadPart > 0;
	return status;
}

/* A little while inside, noticing who else is. */
static void be_slow(struct adapter *adapter, struct recorder_escape *escape)
{
	LONG inside = InterlockedIncrement(&adapter->inside);
	LARGE_INTEGER interval;

	for (;;) {
		LONG most = InterlockedOr(&adapter->most_inside, 0);

		if (inside <= most ||
		    InterlockedCompareExchange(&adapter->most_inside, inside, most) == most)
			break;
	}
	interval.QuadPart = -10000; /* a millisecond */
	KeDelayExecutionThread(KernelMode, FALSE, &interval);
	escape->result = (unsigned)InterlockedOr(&adapter->most_inside, 0);
	InterlockedDecrement(&adapter->inside);
}

static NTSTATUS APIENTRY escape_routine(const HANDLE context, const DXGKARG_ESCAPE *args)
{
	struct adapter *adapter = adapter_of(context);
	DXGKRNL_INTERFACE *os = &adapter->interface;
	struct recorder_escape *escape = args->pPrivateDriverData;
	struct interrupt interrupt = { adapter, escape, STATUS_SUCCESS, NULL };
	DXGK_DEVICE_INFO info;
	BOOLEAN result = FALSE;
	KIRQL irql;
	NTSTATUS status = step("Escape");

	if (status != STATUS_SUCCESS || known_escape(adapter, args, &status))
		return status;
	if (args->PrivateDriverDataSize < sizeof(*escape))
		return STATUS_BUFFER_TOO_SMALL;
	overrun("Escape", args->pPrivateDriverData, args->PrivateDriverDataSize);
	if (handle_command(adapter, escape) || crank_command(adapter, escape) ||
	    hw_command(adapter, escape) || context_command(adapter, args) ||
	    fetch_command(adapter, args) || device_command(adapter, args))
		return STATUS_SUCCESS;
	switch (escape->command) {
	case RECORDER_NOTHING:
		note("Escape", "device", args->hDevice != NULL, "context", args->hContext != NULL);
		return STATUS_SUCCESS;
	case RECORDER_INTERRUPT:
	case RECORDER_INTERRUPT_NO_DPC:
		status = os->DxgkCbSynchronizeExecution(os->DeviceHandle, report_interrupt,
							&interrupt, 0, &result);
		escape->result = result;
		return status;
	case RECORDER_FLUSH_DPCS:
		KeFlushQueuedDpcs();
		return STATUS_SUCCESS;
	case RECORDER_NOTIFY_AT_PASSIVE:
		report_interrupt(&interrupt);
		return STATUS_SUCCESS;
	case RECORDER_NULL_HANDLE:
		return os->DxgkCbGetDeviceInformation(NULL, &info);
	case RECORDER_WRONG_HANDLE:
		return os->DxgkCbGetDeviceInformation(&info, &info);
	case RECORDER_CONTEXT_AS_HANDLE:
		return os->DxgkCbGetDeviceInformation(adapter, &info);
	case RECORDER_UNBUILT:
		return os->DxgkCbQueryServices(os->DeviceHandle, DxgkServicesAgp, NULL);
	case RECORDER_RETURN_RAISED:
		KeRaiseIrql(DISPATCH_LEVEL, &irql);
		return STATUS_SUCCESS;
	case RECORDER_MAP_AND_FORGET:
	case RECORDER_MAP_AND_UNMAP:
	case RECORDER_CONTIGUOUS:
		return do_memory(adapter, escape);
	case RECORDER_ACPI: {
		ACPI_EVAL_INPUT_BUFFER_COMPLEX input = { 0 };
		ACPI_EVAL_OUTPUT_BUFFER output = { 0 };

		status = os->DxgkCbEvalAcpiMethod(os->DeviceHandle, DISPLAY_ADAPTER_HW_ID, &input,
						  sizeof(input), &output, sizeof(output));
		escape->result = output.Length;
		return status;
	}
	case RECORDER_RETURN_PENDING:
		return STATUS_PENDING;
	case RECORDER_INFORMATION:
		return do_information(adapter, escape);
	case RECORDER_SYNCHRONIZE_TWICE:
		status = os->DxgkCbSynchronizeExecution(os->DeviceHandle, synchronize_again,
							&interrupt, 0, &result);
		escape->result = (unsigned)interrupt.inner_status;
		return status;
	case RECORDER_SLOW:
		be_slow(adapter, escape);
		return STATUS_SUCCESS;
	default:
		return STATUS_INVALID_PARAMETER;
	}
}

void fill_in_commands(DRIVER_INITIALIZATION_DATA *data)
{
	data->DxgkDdiEscape = escape_routine;
}
