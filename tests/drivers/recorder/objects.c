/* SPDX-License-Identifier: MIT */
/*
 * objects.c - processes, devices and contexts: made, counted and recognised again.
 */
#include "driver.h"

struct object {
	ULONG magic;
	struct adapter *adapter;
	HANDLE kernel_handle;
	HANDLE kept;          /* a context allocation */
	ULONG node;           /* of a context, hardware context or queue */
	BOOLEAN is_kernels;   /* a device or context of the kernel's … */
	BOOLEAN is_companion; /* … which is beside a client's */
};

struct object *object_create(struct adapter *adapter, ULONG magic, HANDLE kernel_handle)
{
	struct object *object =
		ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*object), RECORDER_TAG);

	if (object) {
		object->magic = magic;
		object->adapter = adapter;
		object->kernel_handle = kernel_handle;
		object->kept = NULL;
		object->node = 0;
		object->is_kernels = FALSE;
		object->is_companion = FALSE;
	}
	return object;
}

struct object *object_create_on(struct adapter *adapter, ULONG magic, HANDLE kernel_handle,
				ULONG node)
{
	struct object *object = object_create(adapter, magic, kernel_handle);

	if (object)
		object->node = node;
	return object;
}

ULONG node_of_object(HANDLE handle)
{
	return ((struct object *)handle)->node;
}

BOOLEAN is_kernels(HANDLE handle)
{
	return ((struct object *)handle)->is_kernels;
}

void note_companion(HANDLE handle, const char *what, const char *name, ULONG value)
{
	const struct object *object = handle;

	if (object && object->magic == MAGIC_CONTEXT && object->is_companion)
		note(what, "node", object->node, name, value);
}

struct adapter *adapter_of_device(HANDLE device)
{
	struct object *object = device;

	if (!object || object->magic != MAGIC_DEVICE)
		complain("a device that is not the driver's");
	return object->adapter;
}

struct adapter *adapter_of_object(HANDLE handle, ULONG magic)
{
	struct object *object = handle;

	if (!object || object->magic != magic) {
		complain("an object that is not the driver's");
		return NULL;
	}
	return object->adapter;
}

struct adapter *adapter_of_context(HANDLE handle)
{
	struct object *object = handle;

	return adapter_of_object(handle, object && object->magic == MAGIC_HW_CONTEXT
						 ? MAGIC_HW_CONTEXT
						 : MAGIC_CONTEXT);
}

HANDLE kernel_handle_of(HANDLE object)
{
	return object ? ((struct object *)object)->kernel_handle : NULL;
}

HANDLE kept_for(HANDLE object)
{
	return object ? ((struct object *)object)->kept : NULL;
}

struct adapter *object_destroy(HANDLE handle, ULONG magic)
{
	struct object *object = handle;
	struct adapter *adapter;

	if (!object || object->magic != magic) {
		complain("a handle that is not the driver's");
		return NULL;
	}
	adapter = object->adapter;
	object->magic = MAGIC_GONE;
	ExFreePoolWithTag(object, RECORDER_TAG);
	return adapter;
}

static NTSTATUS APIENTRY create_process(const PVOID context, DXGKARG_CREATEPROCESS *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("CreateProcess");
	struct object *process;

	note("CreateProcess", "flags", args->Flags.Value, "name", args->ProcessNameLength);
	if (!args->hDxgkProcess)
		complain("a process without a kernel handle");
	if (status != STATUS_SUCCESS)
		return status;
	process = object_create(adapter, MAGIC_PROCESS, args->hDxgkProcess);
	if (!process)
		return STATUS_NO_MEMORY;
	InterlockedIncrement(&adapter->processes);
	reserve_addresses(adapter, args->hDxgkProcess);
	args->hKmdProcess = process;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_process(const HANDLE context, const HANDLE process)
{
	struct adapter *adapter = object_destroy(process, MAGIC_PROCESS);

	note("DestroyProcess", NULL, 0, NULL, 0);
	if (adapter)
		InterlockedDecrement(&adapter->processes);
	return step("DestroyProcess");
}

static NTSTATUS APIENTRY create_device(const HANDLE context, DXGKARG_CREATEDEVICE *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("CreateDevice");
	struct object *device;

	note("CreateDevice", "flags", args->Flags.Value, "process", args->hKmdProcess != NULL);
	if (!args->hDevice)
		complain("a device without a kernel handle");
	if (status != STATUS_SUCCESS)
		return status;
	device = object_create(adapter, MAGIC_DEVICE, args->hDevice);
	if (!device)
		return STATUS_NO_MEMORY;
	InterlockedIncrement(&adapter->devices);
	device->is_kernels = args->Flags.SystemDevice;
	if (!args->Flags.SystemDevice)
		device->kept = keep(adapter, args->hDevice, NULL);
	args->hDevice = device;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_device(const HANDLE device)
{
	HANDLE kept = device ? ((struct object *)device)->kept : NULL;
	struct adapter *adapter = object_destroy(device, MAGIC_DEVICE);

	note("DestroyDevice", NULL, 0, NULL, 0);
	let_go(adapter, kept);
	if (adapter)
		InterlockedDecrement(&adapter->devices);
	return step("DestroyDevice");
}

static NTSTATUS APIENTRY create_context(const HANDLE device_handle, DXGKARG_CREATECONTEXT *args)
{
	struct object *device = device_handle;
	NTSTATUS status = step("CreateContext");
	struct object *context;

	note("CreateContext", "node", args->NodeOrdinal, "flags", args->Flags.Value);
	if (!device || device->magic != MAGIC_DEVICE)
		complain("a device that is not the driver's");
	if (!args->hContext)
		complain("a context without a kernel handle");
	if (args->Flags.SystemContext && !device->is_kernels && setting("FailCompanion", 0))
		status = (NTSTATUS)setting("FailCompanion", 0);
	if (status != STATUS_SUCCESS)
		return status;
	context =
		object_create_on(device->adapter, MAGIC_CONTEXT, args->hContext, args->NodeOrdinal);
	if (!context)
		return STATUS_NO_MEMORY;
	InterlockedIncrement(&device->adapter->contexts);
	context->is_kernels = args->Flags.SystemContext;
	context->is_companion = args->Flags.SystemContext && !device->is_kernels;
	note_companion(context, "CompanionMade", "flags", args->Flags.Value);
	if (context->is_companion && (args->pPrivateDriverData || args->PrivateDriverDataSize != 0))
		complain("a context of the kernel's with private data of a client");
	if (!args->Flags.SystemContext)
		context->kept = keep(device->adapter, device->kernel_handle, args->hContext);
	overrun("CreateContext", args->pPrivateDriverData, args->PrivateDriverDataSize);
	args->hContext = context;
	args->ContextInfo.DmaBufferSize = setting("DmaBufferSize", 8192);
	args->ContextInfo.DmaBufferSegmentSet = setting("DmaBufferSegmentSet", 0);
	args->ContextInfo.DmaBufferPrivateDataSize = setting("DmaBufferPrivateDataSize", 32);
	args->ContextInfo.AllocationListSize = setting("AllocationListSize", 64);
	args->ContextInfo.PatchLocationListSize = setting("PatchLocationListSize", 128);
	args->ContextInfo.Caps.Value = setting("ContextCaps", 0);
	args->ContextInfo.PagingCompanionNodeId = setting("PagingCompanionNodeId", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_context(const HANDLE context)
{
	HANDLE kept = context ? ((struct object *)context)->kept : NULL;

	note_companion(context, "CompanionEnds", NULL, 0);
	struct adapter *adapter = object_destroy(context, MAGIC_CONTEXT);

	note("DestroyContext", NULL, 0, NULL, 0);
	let_go(adapter, kept);
	if (adapter)
		InterlockedDecrement(&adapter->contexts);
	return step("DestroyContext");
}

void fill_in_objects(DRIVER_INITIALIZATION_DATA *data)
{
	data->DxgkDdiCreateDevice = create_device;
	data->DxgkDdiDestroyDevice = destroy_device;
	data->DxgkDdiCreateContext = create_context;
	data->DxgkDdiDestroyContext = destroy_context;
	data->DxgkDdiCreateProcess = create_process;
	data->DxgkDdiDestroyProcess = destroy_process;
}
