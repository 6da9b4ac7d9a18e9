/* SPDX-License-Identifier: MIT */
/* host.c - see host.h. */
#include "host.h"

#include "nt/nt.h"
#include "nt/registry.h"

#define KEY NT_REGISTRY_SERVICES "\\soft"

enum { DEVICE_IRQL = 5, PATIENCE_SECONDS = 30 };

struct host host;
DRIVER_INITIALIZE DriverEntry;
static struct nt_pool_usage pool_before;

/* ---- what the driver calls ---- */

NTSTATUS DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
			PDRIVER_INITIALIZATION_DATA DriverInitializationData)
{
	host.ddi = *DriverInitializationData;
	return STATUS_SUCCESS;
}

static VOID cb_notify_interrupt(IN_CONST_HANDLE adapter,
				IN_CONST_PDXGKARGCB_NOTIFY_INTERRUPT_DATA data)
{
	UINT node;

	EXPECT(adapter == &host);
	EXPECT_EQ(KeGetCurrentIrql(), DEVICE_IRQL);
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		node = data->DmaCompleted.NodeOrdinal;
		host.completed[node] = data->DmaCompleted.SubmissionFenceId;
		host.completions[node]++;
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		node = data->DmaPreempted.NodeOrdinal;
		host.preempted[node] = data->DmaPreempted.PreemptionFenceId;
		host.preempted_after[node] = data->DmaPreempted.LastCompletedFenceId;
		break;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
	case DXGK_INTERRUPT_DMA_FAULTED:
		host.fault = *data;
		host.faults++;
		break;
	default:
		EXPECT(!"an interrupt of a known kind");
	}
}

static BOOLEAN cb_queue_dpc(HANDLE adapter)
{
	BOOLEAN was_queued = host.is_dpc_queued;

	EXPECT(adapter == &host);
	host.is_dpc_queued = TRUE;
	return !was_queued;
}

static VOID cb_notify_dpc(IN_CONST_HANDLE adapter)
{
	EXPECT(adapter == &host);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	KeSetEvent(&host.news, IO_NO_INCREMENT, FALSE);
}

/* The DPC runs as soon as the level allows, here: on the same thread, right after. */
static NTSTATUS cb_synchronize_execution(HANDLE adapter, PKSYNCHRONIZE_ROUTINE routine,
					 PVOID context, ULONG message, PBOOLEAN result_out)
{
	KIRQL before;
	BOOLEAN is_queued;

	EXPECT(adapter == &host);
	EXPECT_EQ(message, 0);
	KeAcquireSpinLock(&host.interrupt_lock, &before);
	KIRQL dispatch = KfRaiseIrql(DEVICE_IRQL);
	*result_out = routine(context);
	is_queued = host.is_dpc_queued;
	host.is_dpc_queued = FALSE;
	KeLowerIrql(dispatch);
	KeReleaseSpinLock(&host.interrupt_lock, before);

	if (is_queued) {
		KIRQL old = KfRaiseIrql(DISPATCH_LEVEL);

		host.ddi.DxgkDdiDpcRoutine(host.adapter);
		KeLowerIrql(old);
	}
	return STATUS_SUCCESS;
}

static VOID *cb_get_handle_data(IN_CONST_PDXGKARGCB_GETHANDLEDATA data)
{
	EXPECT_EQ(data->Type, DXGK_HANDLE_ALLOCATION);
	return data->hObject < HOST_HANDLES ? host.handles[data->hObject] : NULL;
}

/* ---- life ---- */

NTSTATUS host_load(const struct host_setting *settings)
{
	DRIVER_OBJECT driver = { 0 };
	UNICODE_STRING path;
	static WCHAR wide[256];
	size_t i;

	nt_registry_delete_tree(KEY);
	EXPECT_EQ(nt_registry_create_key(KEY), STATUS_SUCCESS);
	for (; settings && settings->name; settings++) {
		NTSTATUS status =
			settings->text
				? nt_registry_set_string(KEY, settings->name, settings->text)
				: nt_registry_set_dword(KEY, settings->name, settings->number);
		EXPECT_EQ(status, STATUS_SUCCESS);
	}
	for (i = 0; KEY[i]; i++)
		wide[i] = (WCHAR)KEY[i];
	wide[i] = 0;
	RtlInitUnicodeString(&path, wide);
	void (*before_start)(void) = host.before_start;
	memset(&host, 0, sizeof(host));
	host.before_start = before_start;
	return DriverEntry(&driver, &path);
}

static void query_segments(void)
{
	DXGK_QUERYSEGMENTIN4 in = { 0 };
	DXGK_QUERYSEGMENTOUT4 out = { 0 };
	DXGKARG_QUERYADAPTERINFO args = {
		.Type = DXGKQAITYPE_QUERYSEGMENT4,
		.pInputData = &in,
		.InputDataSize = sizeof(in),
		.pOutputData = &out,
		.OutputDataSize = sizeof(out),
	};

	EXPECT_EQ(host.ddi.DxgkDdiQueryAdapterInfo(host.adapter, &args), STATUS_SUCCESS);
	EXPECT_EQ(out.NbSegment, 2);
	out.pSegmentDescriptor = (BYTE *)host.segments;
	out.SegmentDescriptorStride = sizeof(host.segments[0]);
	EXPECT_EQ(host.ddi.DxgkDdiQueryAdapterInfo(host.adapter, &args), STATUS_SUCCESS);
	host.paging_buffer_bytes = out.PagingBufferSize;
	host.local = MmMapIoSpace(host.segments[0].CpuTranslatedAddress, host.segments[0].Size,
				  MmWriteCombined);
	EXPECT(host.local != NULL);
}

/* What exists so far; unwind() takes it back. */
enum stage {
	STAGE_NONE,
	STAGE_ADDED,
	STAGE_STARTED,
	STAGE_PROCESS,
	STAGE_DEVICE,
	STAGE_SYSTEM_DEVICE,
	STAGE_SYSTEM_CONTEXT
};

static NTSTATUS start_device(void)
{
	DXGK_START_INFO start = { .RequiredDmaQueueEntry = 64 };
	DXGKRNL_INTERFACE dxgk = {
		.Size = sizeof(dxgk),
		.Version = DXGKDDI_INTERFACE_VERSION_WDDM2_6,
		.DeviceHandle = &host,
		.DxgkCbNotifyInterrupt = cb_notify_interrupt,
		.DxgkCbNotifyDpc = cb_notify_dpc,
		.DxgkCbQueueDpc = cb_queue_dpc,
		.DxgkCbSynchronizeExecution = cb_synchronize_execution,
		.DxgkCbGetHandleData = cb_get_handle_data,
	};
	ULONG sources = 9;
	ULONG children = 9;

	NTSTATUS status =
		host.ddi.DxgkDdiStartDevice(host.adapter, &start, &dxgk, &sources, &children);
	memset(&dxgk, 0, sizeof(dxgk)); /* drivers copy it */
	if (NT_SUCCESS(status)) {
		EXPECT_EQ(sources, 0);
		EXPECT_EQ(children, 0);
	}
	return status;
}

static NTSTATUS advance(enum stage stage)
{
	static DEVICE_OBJECT pdo;
	DXGKARG_CREATEPROCESS process = { .hDxgkProcess = &host.process };
	DXGKARG_CREATEDEVICE device = { .hDevice = &host.device, .hKmdProcess = host.process };
	DXGKARG_CREATEDEVICE system = { .Flags.SystemDevice = 1 };
	DXGKARG_CREATECONTEXT context = { .NodeOrdinal = host.paging_node,
					  .EngineAffinity = 1,
					  .Flags.SystemContext = 1 };
	NTSTATUS status;

	switch (stage) {
	case STAGE_ADDED:
		return host.ddi.DxgkDdiAddDevice(&pdo, &host.adapter);
	case STAGE_STARTED:
		return start_device();
	case STAGE_PROCESS:
		status = host.ddi.DxgkDdiCreateProcess(host.adapter, &process);
		host.process = process.hKmdProcess;
		return status;
	case STAGE_DEVICE:
		status = host.ddi.DxgkDdiCreateDevice(host.adapter, &device);
		host.device = device.hDevice;
		return status;
	case STAGE_SYSTEM_DEVICE:
		status = host.ddi.DxgkDdiCreateDevice(host.adapter, &system);
		host.system_device = system.hDevice;
		return status;
	case STAGE_SYSTEM_CONTEXT:
	case STAGE_NONE:
	default:
		status = host.ddi.DxgkDdiCreateContext(host.system_device, &context);
		host.system_context = context.hContext;
		return status;
	}
}

static void unwind(enum stage stage)
{
	if (stage >= STAGE_SYSTEM_CONTEXT)
		EXPECT_EQ(host.ddi.DxgkDdiDestroyContext(host.system_context), STATUS_SUCCESS);
	if (stage >= STAGE_SYSTEM_DEVICE)
		EXPECT_EQ(host.ddi.DxgkDdiDestroyDevice(host.system_device), STATUS_SUCCESS);
	if (stage >= STAGE_DEVICE)
		EXPECT_EQ(host.ddi.DxgkDdiDestroyDevice(host.device), STATUS_SUCCESS);
	if (stage >= STAGE_PROCESS)
		EXPECT_EQ(host.ddi.DxgkDdiDestroyProcess(host.adapter, host.process),
			  STATUS_SUCCESS);
	if (stage >= STAGE_STARTED)
		EXPECT_EQ(host.ddi.DxgkDdiStopDevice(host.adapter), STATUS_SUCCESS);
	if (stage >= STAGE_ADDED)
		EXPECT_EQ(host.ddi.DxgkDdiRemoveDevice(host.adapter), STATUS_SUCCESS);
	host.ddi.DxgkDdiUnload();
	nt_threads_reap();
	EXPECT_EQ(nt_pool_usage().blocks, pool_before.blocks);
	EXPECT_EQ(nt_pool_usage().bytes, pool_before.bytes);
}

/* Behind 3D and the copy engines. */
static UINT paging_node_of(const struct host_setting *settings)
{
	for (; settings && settings->name; settings++) {
		if (strcmp(settings->name, "CopyEngines") == 0)
			return settings->number + 1;
	}
	return HOST_NODE_PAGING;
}

NTSTATUS host_try_start(const struct host_setting *settings)
{
	NTSTATUS status = STATUS_SUCCESS;

	pool_before = nt_pool_usage();
	EXPECT_EQ(host_load(settings), STATUS_SUCCESS);
	host.paging_node = paging_node_of(settings);
	KeInitializeSpinLock(&host.interrupt_lock);
	KeInitializeEvent(&host.news, SynchronizationEvent, FALSE);
	if (host.before_start)
		host.before_start();
	for (int stage = STAGE_ADDED; stage <= STAGE_SYSTEM_CONTEXT; stage++) {
		status = advance((enum stage)stage);
		if (!NT_SUCCESS(status)) {
			unwind((enum stage)(stage - 1));
			return status;
		}
	}
	return STATUS_SUCCESS;
}

void host_start(const struct host_setting *settings)
{
	EXPECT_EQ(host_try_start(settings), STATUS_SUCCESS);
	query_segments();
}

void host_stop(void)
{
	if (host.local)
		MmUnmapIoSpace(host.local, host.segments[0].Size);
	unwind(STAGE_SYSTEM_CONTEXT);
}

HANDLE host_create_context(UINT node, BOOLEAN is_virtual)
{
	DXGKARG_CREATECONTEXT args = { .NodeOrdinal = node,
				       .EngineAffinity = 1,
				       .Flags.VirtualAddressing = is_virtual };

	EXPECT_EQ(host.ddi.DxgkDdiCreateContext(host.device, &args), STATUS_SUCCESS);
	return args.hContext;
}

void host_destroy_context(HANDLE context)
{
	EXPECT_EQ(host.ddi.DxgkDdiDestroyContext(context), STATUS_SUCCESS);
}

/* ---- work ---- */

UINT host_submit_flags(HANDLE context, UINT node, const void *buffer, UINT size_bytes, UINT flags)
{
	DXGKARG_SUBMITCOMMAND args = {
		.hContext = context,
		.DmaBufferPhysicalAddress = MmGetPhysicalAddress((PVOID)buffer),
		.DmaBufferSize = size_bytes,
		.DmaBufferSubmissionEndOffset = size_bytes,
		.SubmissionFenceId = ++host.next_fence,
		.Flags.Value = flags,
		.NodeOrdinal = node,
	};

	KIRQL old = KfRaiseIrql(DISPATCH_LEVEL);
	NTSTATUS status = host.ddi.DxgkDdiSubmitCommand(host.adapter, &args);
	KeLowerIrql(old);
	EXPECT_EQ(status, STATUS_SUCCESS);
	return args.SubmissionFenceId;
}

UINT host_submit(HANDLE context, const void *buffer, UINT size_bytes)
{
	return host_submit_flags(context, 0, buffer, size_bytes, 0);
}

UINT host_submit_virtual(HANDLE context, ULONGLONG address, UINT size_bytes, UINT flags)
{
	DXGKARG_SUBMITCOMMANDVIRTUAL args = {
		.hContext = context,
		.DmaBufferVirtualAddress = address,
		.DmaBufferSize = size_bytes,
		.SubmissionFenceId = ++host.next_fence,
		.Flags.Value = flags,
	};

	KIRQL old = KfRaiseIrql(DISPATCH_LEVEL);
	NTSTATUS status = host.ddi.DxgkDdiSubmitCommandVirtual(host.adapter, &args);
	KeLowerIrql(old);
	EXPECT_EQ(status, STATUS_SUCCESS);
	return args.SubmissionFenceId;
}

void host_preempt(UINT node, UINT preemption_fence)
{
	DXGKARG_PREEMPTCOMMAND args = { .PreemptionFenceId = preemption_fence,
					.NodeOrdinal = node };

	KIRQL old = KfRaiseIrql(DISPATCH_LEVEL);
	NTSTATUS status = host.ddi.DxgkDdiPreemptCommand(host.adapter, &args);
	KeLowerIrql(old);
	EXPECT_EQ(status, STATUS_SUCCESS);
}

/* Reads what an interrupt writes. */
static UINT look(const UINT *value)
{
	KIRQL irql;

	KeAcquireSpinLock(&host.interrupt_lock, &irql);
	UINT result = *value;
	KeReleaseSpinLock(&host.interrupt_lock, irql);
	return result;
}

static void wait_until(const UINT *value, UINT reached)
{
	LARGE_INTEGER timeout = { .QuadPart = -PATIENCE_SECONDS * 10000000LL };

	while (look(value) < reached)
		EXPECT_EQ(KeWaitForSingleObject(&host.news, Executive, KernelMode, FALSE, &timeout),
			  STATUS_SUCCESS);
}

void host_wait_completed(UINT node, UINT fence)
{
	wait_until(&host.completed[node], fence);
}

void host_wait_preempted(UINT node, UINT preemption_fence)
{
	wait_until(&host.preempted[node], preemption_fence);
}

void host_wait_faults(UINT count)
{
	wait_until(&host.faults, count);
}

void host_pass_time(ULONGLONG microseconds)
{
	LARGE_INTEGER interval = { .QuadPart = -(LONGLONG)microseconds * 10 };

	KeDelayExecutionThread(KernelMode, FALSE, &interval);
}

/* ---- paging ---- */

PUCHAR host_contiguous(SIZE_T size_bytes)
{
	PHYSICAL_ADDRESS highest = { .QuadPart = -1 };
	PUCHAR memory = MmAllocateContiguousMemory(size_bytes, highest);

	EXPECT(memory != NULL);
	memset(memory, 0, size_bytes);
	return memory;
}

NTSTATUS host_build(DXGKARG_BUILDPAGINGBUFFER *args, PUCHAR buffer, UINT storage, UINT *used_out)
{
	args->pDmaBuffer = buffer;
	args->DmaSize = storage;
	args->hSystemContext = host.system_context;
	NTSTATUS status = host.ddi.DxgkDdiBuildPagingBuffer(host.adapter, args);
	*used_out = (UINT)((PUCHAR)args->pDmaBuffer - buffer);
	EXPECT(*used_out <= storage);
	return status;
}

void host_page(DXGKARG_BUILDPAGINGBUFFER *args)
{
	PUCHAR buffer = host_contiguous(host.paging_buffer_bytes);
	NTSTATUS status;
	UINT used;

	args->MultipassOffset = 0;
	do {
		status = host_build(args, buffer, host.paging_buffer_bytes, &used);
		if (used > 0)
			host_wait_completed(host.paging_node,
					    host_submit_flags(host.system_context, 0, buffer, used,
							      1 /* Paging */));
	} while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(status, STATUS_SUCCESS);
	MmFreeContiguousMemory(buffer);
}

ULONGLONG host_local_address(ULONGLONG offset)
{
	return (ULONGLONG)host.segments[0].BaseAddress.QuadPart + offset;
}
