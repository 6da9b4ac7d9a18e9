/* SPDX-License-Identifier: MIT */
/*
 * context.c - our side of a context: a stream of packets for one node.
 *
 * hContext carries the kernel's handle in and ours out. Contexts are touched at DISPATCH_LEVEL when
 * work is submitted, so they live in nonpaged memory; everything in this file is PASSIVE_LEVEL.
 */
#include "gpu.h"

struct gpu_context *gpu_context_from(HANDLE handle)
{
	struct gpu_context *context = (struct gpu_context *)handle;

	return context && context->magic == GPU_MAGIC_CONTEXT ? context : NULL;
}

/* Its own on the paging node, or beside a client's on the node that we have named for that. */
static BOOLEAN may_be_kernels(const struct gpu_device *device, const DXGKARG_CREATECONTEXT *args)
{
	const struct gpu_adapter *adapter = device->adapter;

	if (device->is_system)
		return args->NodeOrdinal == adapter->node_count - 1;
	return args->Flags.VirtualAddressing && args->PrivateDriverDataSize == 0 &&
	       args->NodeOrdinal == gpu_settings_companion_node(&adapter->settings);
}

static NTSTATUS check_flags(const struct gpu_device *device, const DXGKARG_CREATECONTEXT *args)
{
	const struct gpu_settings *settings = &device->adapter->settings;

	/* One engine per node: its bit, or no preference. */
	if (args->NodeOrdinal >= device->adapter->node_count || args->EngineAffinity > 1)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"a context for node %u, engines 0x%x: there are %u nodes of one engine",
			args->NodeOrdinal, args->EngineAffinity, device->adapter->node_count);
	if (args->Flags.VirtualAddressing && settings->model != SOFTGPU_MODEL_GPUMMU)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a context with VirtualAddressing, and the model is physical");
	if (args->Flags.SystemContext && !may_be_kernels(device, args))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a SystemContext on node %u, which is neither the kernel's nor "
				  "a companion's",
				  args->NodeOrdinal);
	if (args->Flags.GdiContext || args->Flags.SystemProtectedContext ||
	    (args->Flags.HwQueueSupported &&
	     (!settings->hw_queues || !args->Flags.VirtualAddressing)))
		return gpu_refuse(
			STATUS_NOT_SUPPORTED,
			"a context with flags 0x%x: GDI, protection, or hardware queues that "
			"this adapter does not have",
			args->Flags.Value);
	return STATUS_SUCCESS;
}

static NTSTATUS check_private_data(const DXGKARG_CREATECONTEXT *args, ULONG *flags_out)
{
	const struct softgpu_context *data = args->pPrivateDriverData;

	*flags_out = 0;
	if (args->PrivateDriverDataSize == 0)
		return STATUS_SUCCESS;
	if (!data || args->PrivateDriverDataSize != sizeof(*data))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a context has %u bytes of private data, softgpu_context has %u",
				  args->PrivateDriverDataSize, (UINT)sizeof(*data));
	if (data->version != SOFTGPU_CONTEXT_VERSION)
		return gpu_refuse(STATUS_GRAPHICS_DRIVER_MISMATCH,
				  "private data of a context has version %u, which is not %u",
				  data->version, SOFTGPU_CONTEXT_VERSION);
	if (data->flags & ~SOFTGPU_CONTEXT_FLAGS)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "private data of a context has unknown flags 0x%x", data->flags);
	*flags_out = data->flags;
	return STATUS_SUCCESS;
}

/* Virtual contexts bring their own command buffers; physical ones are given ours to be filled. */
static void fill_info(const struct gpu_context *context, DXGK_CONTEXTINFO *info_out)
{
	const struct gpu_settings *settings = &context->device->adapter->settings;

	*info_out = (DXGK_CONTEXTINFO){
		.DmaBufferPrivateDataSize = settings->commands == SOFTGPU_COMMANDS_INTEL
						    ? sizeof(struct softgpu_fenced_submission)
						    : sizeof(struct softgpu_submission),
		.PagingCompanionNodeId = gpu_settings_companion_node(settings),
	};
	info_out->Caps.DriverManagesResidency = 1;
	if (context->is_virtual) {
		info_out->Caps.NoPatchingRequired = 1;
		return;
	}
	info_out->DmaBufferSize = GPU_DMA_BUFFER_BYTES;
	if (settings->has_placed_buffers)
		info_out->DmaBufferSegmentSet = 1u << (SOFTGPU_SEGMENT_APERTURE - 1);
	info_out->AllocationListSize = GPU_ALLOCATION_LIST_ENTRIES;
	info_out->PatchLocationListSize = GPU_PATCH_LIST_ENTRIES;
}

NTSTATUS APIENTRY gpu_create_context(IN_CONST_HANDLE hDevice,
				     INOUT_PDXGKARG_CREATECONTEXT pCreateContext)
{
	struct gpu_device *device = gpu_device_from(hDevice);
	ULONG flags;

	PAGED_CODE();

	if (!device || !pCreateContext)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "CreateContext for device %p with arguments %p: one is missing",
				  hDevice, pCreateContext);
	NTSTATUS status = check_flags(device, pCreateContext);
	if (NT_SUCCESS(status))
		status = check_private_data(pCreateContext, &flags);
	if (!NT_SUCCESS(status))
		return status;

	struct gpu_context *context = gpu_pool_allocate(NonPagedPoolNx, sizeof(*context));
	if (!context)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for a context");
	context->magic = GPU_MAGIC_CONTEXT;
	context->node = pCreateContext->NodeOrdinal;
	context->is_system = pCreateContext->Flags.SystemContext;
	context->is_virtual = pCreateContext->Flags.VirtualAddressing;
	context->has_hw_queues = pCreateContext->Flags.HwQueueSupported;
	context->ignores_preemption = (flags & SOFTGPU_CONTEXT_IGNORES_PREEMPTION) != 0;
	context->device = device;
	context->kernel_context = pCreateContext->hContext;

	/* Submission happens where no thread can be made. */
	status = gpu_engine_start(&device->adapter->engines[context->node]);
	if (!NT_SUCCESS(status)) {
		gpu_pool_free(context);
		return status;
	}

	InterlockedIncrement(&device->live_contexts);
	InterlockedIncrement(&device->adapter->live_contexts);
	fill_info(context, &pCreateContext->ContextInfo);
	pCreateContext->hContext = context;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_destroy_context(IN_CONST_HANDLE hContext)
{
	struct gpu_context *context = gpu_context_from(hContext);

	PAGED_CODE();

	if (!context)
		return gpu_refuse(STATUS_INVALID_PARAMETER, "context %p is none of ours", hContext);
	struct gpu_device *device = context->device;
	context->magic = GPU_MAGIC_DEAD;
	gpu_pool_free(context);
	InterlockedDecrement(&device->live_contexts);
	InterlockedDecrement(&device->adapter->live_contexts);
	return STATUS_SUCCESS;
}

/* The context is idle; its engine takes the new root with the next packet. */
VOID APIENTRY gpu_set_root_page_table(IN_CONST_HANDLE hAdapter,
				      IN_CONST_PDXGKARG_SETROOTPAGETABLE pSetPageTable)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	struct gpu_context *context = gpu_context_from(pSetPageTable->hContext);

	if (!adapter || !context || context->device->adapter != adapter) {
		DbgPrint(GPU_DRIVER ": SetRootPageTable for context %p, which is none of ours\n",
			 pSetPageTable->hContext);
		return;
	}
	context->root = (struct gpu_root){
		.segment = pSetPageTable->Address.SegmentId,
		.offset = pSetPageTable->Address.SegmentOffset,
		.entry_count = pSetPageTable->NumEntries,
	};
}

/* Only asked with two levels, where the kernel grows the root as needed. */
SIZE_T APIENTRY gpu_get_root_page_table_size(IN_CONST_HANDLE hAdapter,
					     INOUT_PDXGKARG_GETROOTPAGETABLESIZE pArgs)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter || !pArgs)
		return 0;
	const struct gpu_settings *settings = &adapter->settings;
	ULONGLONG most = 1ULL << gpu_settings_index_bits(settings, settings->page_table_levels - 1);
	ULONGLONG entries = pArgs->NumberOfPte < most ? pArgs->NumberOfPte : most;
	SIZE_T size_bytes = ROUND_TO_PAGES((entries ? entries : 1) * sizeof(ULONGLONG));

	pArgs->NumberOfPte = (UINT)(size_bytes / sizeof(ULONGLONG));
	return size_bytes;
}
