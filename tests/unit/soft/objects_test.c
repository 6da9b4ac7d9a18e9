/* SPDX-License-Identifier: MIT */
/*
 * Registry, start and stop, and the objects of the kernel: what is accepted, what is refused, and
 * that nothing is left behind.
 */
#include "host.h"

#include "base/mem.h"

static NTSTATUS make_context(const DXGKARG_CREATECONTEXT *wish, DXGK_CONTEXTINFO *info_out)
{
	DXGKARG_CREATECONTEXT args = *wish;

	NTSTATUS status = host.ddi.DxgkDdiCreateContext(host.device, &args);
	if (NT_SUCCESS(status)) {
		if (info_out)
			*info_out = args.ContextInfo;
		EXPECT(args.hContext != wish->hContext);
		host_destroy_context(args.hContext);
	}
	return status;
}

static struct softgpu_escape_info driver_counts(void)
{
	struct softgpu_escape_info info = { .header = { .version = SOFTGPU_ESCAPE_VERSION,
							.code = SOFTGPU_ESCAPE_GET_INFO,
							.size_bytes = sizeof(info) } };
	DXGKARG_ESCAPE args = { .pPrivateDriverData = &info,
				.PrivateDriverDataSize = sizeof(info) };

	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_SUCCESS);
	return info;
}

static const struct host_setting physical[] = { { "AddressModel", "physical", 0 }, { 0 } };

TEST(objects, bad_registry_values_keep_the_driver_from_loading)
{
	static const struct host_setting bad[][2] = {
		{ { "LocalMemoryMiB", NULL, 0 }, { 0 } },
		{ { "LocalMemoryMiB", "256", 0 }, { 0 } },
		{ { "ApertureMiB", NULL, 70000 }, { 0 } },
		{ { "AddressModel", "segmented", 0 }, { 0 } },
		{ { "AddressModel", NULL, 1 }, { 0 } },
		{ { "VirtualAddressBits", NULL, 60 }, { 0 } },
		{ { "VirtualAddressBits", NULL, 30 }, { 0 } },
		{ { "AddressModel",
		    "a text that is a good deal longer than any word that could stand here, and "
		    "longer than the buffer as well",
		    0 },
		  { 0 } },
	};

	for (size_t i = 0; i < RTL_NUMBER_OF(bad); i++)
		EXPECT_EQ(host_load(bad[i]), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host_load(NULL), STATUS_SUCCESS);
}

TEST(objects, the_address_model_decides_what_is_registered)
{
	EXPECT_EQ(host_load(NULL), STATUS_SUCCESS);
	EXPECT_EQ(host.ddi.Version, DXGKDDI_INTERFACE_VERSION_WDDM2_6);
	EXPECT(host.ddi.DxgkDdiSubmitCommandVirtual != NULL);
	EXPECT(host.ddi.DxgkDdiSetRootPageTable != NULL);
	EXPECT_EQ(host_load(physical), STATUS_SUCCESS);
	EXPECT(host.ddi.DxgkDdiSubmitCommandVirtual == NULL);
	EXPECT(host.ddi.DxgkDdiSetRootPageTable == NULL);
	EXPECT(host.ddi.DxgkDdiSubmitCommand != NULL);
	EXPECT(host.ddi.DxgkDdiPatch != NULL);
}

TEST(objects, segments_have_the_sizes_of_the_registry)
{
	static const struct host_setting sizes[] = { { "LocalMemoryMiB", NULL, 3 },
						     { "ApertureMiB", NULL, 5 },
						     { 0 } };

	host_start(sizes);
	EXPECT_EQ(host.segments[0].Size, 3 << 20);
	EXPECT_EQ(host.segments[0].Flags.CpuVisible, 1);
	EXPECT_EQ(host.segments[0].Flags.Aperture, 0);
	EXPECT_EQ(host.segments[1].Size, 5 << 20);
	EXPECT_EQ(host.segments[1].Flags.Aperture, 1);
	EXPECT_EQ(host.segments[1].Flags.CacheCoherent, 1);
	EXPECT(host.segments[0].BaseAddress.QuadPart != 0);
	host_stop();
}

TEST(objects, an_adapter_can_be_stopped_and_started_again)
{
	for (unsigned i = 0; i < 3; i++) {
		host_start(NULL);
		host_stop();
	}
}

static unsigned fail_at;

static void fail_the_nth(void)
{
	mem_fail_nth(fail_at);
}

TEST(objects, a_start_survives_every_failure_to_get_memory)
{
	bool fired;

	host.before_start = fail_the_nth;
	fail_at = 0;
	do {
		fail_at++;
		NTSTATUS status = host_try_start(NULL);
		fired = mem_fail_stop();
		EXPECT(NT_SUCCESS(status) == !fired);
		if (NT_SUCCESS(status))
			host_stop();
	} while (fired);
	EXPECT(fail_at > 8); /* the adapter, the aperture, four engines, three objects */
	host.before_start = NULL;
}

SOFT_TEST(objects, the_driver_counts_what_it_holds, NULL)
{
	struct softgpu_escape_info before = driver_counts();
	EXPECT_EQ(before.live_processes, 1);
	EXPECT_EQ(before.live_devices, 2);
	EXPECT_EQ(before.live_contexts, 1);
	HANDLE context = host_create_context(1, TRUE);
	EXPECT_EQ(driver_counts().live_contexts, 2);
	host_destroy_context(context);
	EXPECT_EQ(driver_counts().live_contexts, 1);
	EXPECT_EQ(before.adapter.address_model, SOFTGPU_MODEL_GPUMMU);
}

SOFT_TEST(objects, a_context_needs_a_node_that_exists, NULL)
{
	DXGKARG_CREATECONTEXT args = { .EngineAffinity = 1, .Flags.VirtualAddressing = 1 };

	for (UINT node = 0; node < 4; node++) {
		args.NodeOrdinal = node;
		EXPECT_EQ(make_context(&args, NULL), STATUS_SUCCESS);
	}
	args.NodeOrdinal = 4;
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	args.NodeOrdinal = 0;
	args.EngineAffinity = 2;
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	args.EngineAffinity = 0;
	EXPECT_EQ(make_context(&args, NULL), STATUS_SUCCESS);
}

SOFT_TEST(objects, context_flags_are_checked, NULL)
{
	DXGKARG_CREATECONTEXT args = { .EngineAffinity = 1, .Flags.SystemContext = 1 };

	args.NodeOrdinal = HOST_NODE_PAGING; /* of a device that is not the system's */
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	args.NodeOrdinal = HOST_NODE_3D;
	EXPECT_EQ(host.ddi.DxgkDdiCreateContext(host.system_device, &args),
		  STATUS_INVALID_PARAMETER);
	args.Flags.Value = 0;
	args.Flags.HwQueueSupported = 1;
	EXPECT_EQ(make_context(&args, NULL), STATUS_NOT_SUPPORTED);
	args.Flags.Value = 0;
	args.Flags.GdiContext = 1;
	EXPECT_EQ(make_context(&args, NULL), STATUS_NOT_SUPPORTED);
}

TEST(objects, a_context_of_the_kernels_may_be_beside_a_clients_on_the_node_for_that)
{
	static const struct host_setting in_3d[] = { { "PagingCompanionNode", "3d", 0 }, { 0 } };
	struct softgpu_context data = { .version = 1 };
	DXGKARG_CREATECONTEXT args = { .NodeOrdinal = HOST_NODE_PAGING,
				       .EngineAffinity = 1,
				       .Flags = { .SystemContext = 1, .VirtualAddressing = 1 } };
	DXGK_CONTEXTINFO info;

	host_start(NULL);
	EXPECT_EQ(make_context(&args, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.PagingCompanionNodeId, HOST_NODE_PAGING);
	args.pPrivateDriverData = &data; /* nothing of a client's */
	args.PrivateDriverDataSize = sizeof(data);
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	args.PrivateDriverDataSize = 0;
	args.NodeOrdinal = HOST_NODE_3D;
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	host_stop();

	host_start(in_3d);
	EXPECT_EQ(make_context(&args, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.PagingCompanionNodeId, HOST_NODE_3D);
	args.NodeOrdinal = HOST_NODE_PAGING;
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	host_stop();
}

TEST(objects, context_private_data_is_checked)
{
	struct softgpu_context data = { .version = 1 };
	DXGKARG_CREATECONTEXT args = { .EngineAffinity = 1,
				       .pPrivateDriverData = &data,
				       .PrivateDriverDataSize = sizeof(data) };

	host_start(NULL);
	EXPECT_EQ(make_context(&args, NULL), STATUS_SUCCESS);
	data.version = 2;
	EXPECT_EQ(make_context(&args, NULL), STATUS_GRAPHICS_DRIVER_MISMATCH);
	data.version = 1;
	data.flags = 2;
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	data.flags = 0;
	args.PrivateDriverDataSize--;
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	args.PrivateDriverDataSize = sizeof(data);
	args.pPrivateDriverData = NULL;
	EXPECT_EQ(make_context(&args, NULL), STATUS_INVALID_PARAMETER);
	host_stop();
}

TEST(objects, virtual_contexts_need_no_buffers_and_physical_ones_do)
{
	DXGKARG_CREATECONTEXT args = { .EngineAffinity = 1, .Flags.VirtualAddressing = 1 };
	DXGK_CONTEXTINFO info;

	host_start(NULL);
	EXPECT_EQ(make_context(&args, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.Caps.NoPatchingRequired, 1);
	EXPECT_EQ(info.DmaBufferSize, 0);
	EXPECT_EQ(info.PagingCompanionNodeId, HOST_NODE_PAGING);
	host_stop();

	host_start(physical);
	EXPECT_EQ(make_context(&args, &info), STATUS_INVALID_PARAMETER);
	args.Flags.VirtualAddressing = 0;
	EXPECT_EQ(make_context(&args, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.Caps.NoPatchingRequired, 0);
	EXPECT_EQ(info.DmaBufferSegmentSet, 0);
	EXPECT(info.DmaBufferSize >= 4096);
	EXPECT(info.AllocationListSize > 0 && info.PatchLocationListSize > 0);
	host_stop();
}

TEST(objects, dma_buffers_are_in_the_aperture_where_the_registry_says_so)
{
	static const struct host_setting placed[] = { { "AddressModel", "physical", 0 },
						      { "DmaBuffersInAperture", NULL, 1 },
						      { 0 } };
	DXGKARG_CREATECONTEXT args = { .EngineAffinity = 1 };
	DXGK_CONTEXTINFO info;

	host_start(placed);
	EXPECT_EQ(make_context(&args, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.DmaBufferSegmentSet, 1u << (SOFTGPU_SEGMENT_APERTURE - 1));
	host_stop();
}

SOFT_TEST(objects, handles_of_another_kind_are_refused, NULL)
{
	DXGKARG_CREATEDEVICE device = { .hKmdProcess = NULL };
	DXGKARG_CREATECONTEXT context = { .EngineAffinity = 1 };
	DXGKARG_CREATEPROCESS process = { 0 };

	device.hKmdProcess = host.device;
	EXPECT_EQ(host.ddi.DxgkDdiCreateDevice(host.adapter, &device), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host.ddi.DxgkDdiCreateDevice(host.device, &device), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host.ddi.DxgkDdiCreateContext(host.adapter, &context), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host.ddi.DxgkDdiCreateProcess(NULL, &process), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host.ddi.DxgkDdiDestroyContext(host.device), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host.ddi.DxgkDdiDestroyDevice(host.system_context), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host.ddi.DxgkDdiDestroyProcess(host.adapter, host.device),
		  STATUS_INVALID_PARAMETER);
	/* With something still in them, too. */
	EXPECT_EQ(host.ddi.DxgkDdiDestroyProcess(host.adapter, host.process),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host.ddi.DxgkDdiDestroyDevice(host.system_device), STATUS_INVALID_PARAMETER);
}

TEST(objects, an_escape_is_answered_in_place)
{
	struct softgpu_escape_echo echo = { .header = { .version = SOFTGPU_ESCAPE_VERSION,
							.code = SOFTGPU_ESCAPE_ECHO,
							.size_bytes = sizeof(echo) },
					    .value = 0x1234 };
	DXGKARG_ESCAPE args = { .pPrivateDriverData = &echo,
				.PrivateDriverDataSize = sizeof(echo) };

	host_start(NULL);
	args.hDevice = host.device;
	args.Flags.HardwareAccess = 1;
	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_SUCCESS);
	EXPECT_EQ(echo.inverted, ~0x1234ULL);
	EXPECT_EQ(echo.had, SOFTGPU_ECHO_HAD_DEVICE | SOFTGPU_ECHO_HAD_HARDWARE_ACCESS);

	echo.header.code = 99;
	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_NOT_SUPPORTED);
	echo.header.code = SOFTGPU_ESCAPE_ECHO;
	args.PrivateDriverDataSize--;
	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_INVALID_PARAMETER);
	args.PrivateDriverDataSize = 8;
	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_INVALID_PARAMETER);
	args.PrivateDriverDataSize = sizeof(echo);
	echo.header.version = 9;
	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_GRAPHICS_DRIVER_MISMATCH);
	host_stop();
}

/* ---- allocations ---- */

static NTSTATUS create_one(const struct softgpu_allocation *blob, UINT size_bytes,
			   DXGK_ALLOCATIONINFO *info_out)
{
	struct softgpu_allocation copy = *blob;
	DXGKARG_CREATEALLOCATION args = { .NumAllocations = 1, .pAllocationInfo = info_out };

	memset(info_out, 0xcd, sizeof(*info_out));
	info_out->pPrivateDriverData = &copy;
	info_out->PrivateDriverDataSize = size_bytes;
	return host.ddi.DxgkDdiCreateAllocation(host.adapter, &args);
}

static void destroy_one(HANDLE allocation)
{
	DXGKARG_DESTROYALLOCATION args = { .NumAllocations = 1, .pAllocationList = &allocation };

	EXPECT_EQ(host.ddi.DxgkDdiDestroyAllocation(host.adapter, &args), STATUS_SUCCESS);
}

TEST(objects, an_allocation_goes_where_its_flags_say)
{
	static const struct {
		ULONG flags;
		ULONG set;
		ULONG preferred;
		ULONG second;
	} rows[] = {
		{ 0, 3, 1, 2 },
		{ SOFTGPU_CPU_VISIBLE, 3, 1, 2 },
		{ SOFTGPU_LOCAL_ONLY, 1, 1, 0 },
		{ SOFTGPU_SYSTEM_ONLY, 2, 2, 0 },
		{ SOFTGPU_SYSTEM_ONLY | SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED, 2, 2, 0 },
		{ SOFTGPU_CONTIGUOUS, 3, 1, 2 },
	};

	host_start(NULL);
	for (size_t i = 0; i < RTL_NUMBER_OF(rows); i++) {
		struct softgpu_allocation blob = {
			.version = 1, .flags = rows[i].flags, .size_bytes = 5000, .alignment = 65536
		};
		DXGK_ALLOCATIONINFO info;

		EXPECT_EQ(create_one(&blob, sizeof(blob), &info), STATUS_SUCCESS);
		EXPECT_EQ(info.Size, 5000);
		EXPECT_EQ(info.Alignment, 65536);
		EXPECT_EQ(info.SupportedWriteSegmentSet, rows[i].set);
		EXPECT_EQ(info.SupportedReadSegmentSet, rows[i].set);
		EXPECT_EQ(info.PreferredSegment.SegmentId0, rows[i].preferred);
		EXPECT_EQ(info.PreferredSegment.SegmentId1, rows[i].second);
		EXPECT_EQ(info.EvictionSegmentSet, 0);
		EXPECT_EQ(info.AllocationPriority, D3DDDI_ALLOCATIONPRIORITY_NORMAL);
		EXPECT_EQ(info.FlagsWddm2.CpuVisible, rows[i].flags & SOFTGPU_CPU_VISIBLE);
		EXPECT_EQ(info.FlagsWddm2.Cached, (rows[i].flags & SOFTGPU_CACHED) != 0);
		EXPECT_EQ(info.FlagsWddm2.AccessedPhysically,
			  (rows[i].flags & SOFTGPU_CONTIGUOUS) != 0);
		EXPECT_EQ(info.pAllocationUsageHint, NULL);
		destroy_one(info.hAllocation);
	}
	host_stop();
}

SOFT_TEST(objects, memory_for_kernels_is_in_large_pages_in_one_run, NULL)
{
	struct softgpu_allocation blob = { .version = 1,
					   .flags = SOFTGPU_HARDWARE_ADDRESS,
					   .size_bytes = SOFTGPU_LARGE_PAGE_BYTES + 1 };
	DXGK_ALLOCATIONINFO info;

	EXPECT_EQ(create_one(&blob, sizeof(blob), &info), STATUS_SUCCESS);
	EXPECT_EQ(info.Size, 2 * SOFTGPU_LARGE_PAGE_BYTES);
	EXPECT_EQ(info.Alignment, SOFTGPU_LARGE_PAGE_BYTES);
	EXPECT_EQ(info.SupportedWriteSegmentSet, 1);
	EXPECT_EQ(info.FlagsWddm2.AccessedPhysically, 1);
	destroy_one(info.hAllocation);
	blob.flags |= SOFTGPU_SYSTEM_ONLY;
	EXPECT_EQ(create_one(&blob, sizeof(blob), &info), STATUS_INVALID_PARAMETER);
}

SOFT_TEST(objects, the_physical_model_reaches_everything_by_one_address, physical)
{
	struct softgpu_allocation blob = { .version = 1, .size_bytes = 1 };
	DXGK_ALLOCATIONINFO info;

	EXPECT_EQ(create_one(&blob, sizeof(blob), &info), STATUS_SUCCESS);
	EXPECT_EQ(info.FlagsWddm2.AccessedPhysically, 1);
	EXPECT_EQ(info.Alignment, 4096);
	destroy_one(info.hAllocation);
}

TEST(objects, allocations_that_make_no_sense_are_refused)
{
	static const struct {
		struct softgpu_allocation blob;
		NTSTATUS status;
	} rows[] = {
		{ { 0, 0, 4096, 0 }, STATUS_GRAPHICS_DRIVER_MISMATCH },
		{ { 4, 0, 4096, 0 }, STATUS_GRAPHICS_DRIVER_MISMATCH },
		{ { 3, SOFTGPU_CACHED, 4096, 0 }, STATUS_INVALID_PARAMETER },
		{ { 1, 0x40, 4096, 0 }, STATUS_INVALID_PARAMETER },
		{ { 1, SOFTGPU_LOCAL_ONLY | SOFTGPU_SYSTEM_ONLY, 4096, 0 },
		  STATUS_INVALID_PARAMETER },
		{ { 1, SOFTGPU_CACHED, 4096, 0 }, STATUS_INVALID_PARAMETER },
		{ { 1, 0, 0, 0 }, STATUS_INVALID_PARAMETER },
		{ { 1, 0, SOFTGPU_MAX_ALLOCATION_BYTES + 1, 0 }, STATUS_INVALID_PARAMETER },
		{ { 1, 0, ~0ULL, 0 }, STATUS_INVALID_PARAMETER },
		{ { 1, 0, 4096, 3 }, STATUS_INVALID_PARAMETER },
		{ { 1, 0, 4096, SOFTGPU_MAX_ALIGNMENT * 2 }, STATUS_INVALID_PARAMETER },
		{ { 2, 0, 4096, 0 }, STATUS_INVALID_PARAMETER }, /* a surface without its shape */
	};
	struct softgpu_allocation good = { .version = 1, .size_bytes = 1 };
	DXGK_ALLOCATIONINFO info;

	host_start(NULL);
	for (size_t i = 0; i < RTL_NUMBER_OF(rows); i++)
		EXPECT_EQ(create_one(&rows[i].blob, sizeof(rows[i].blob), &info), rows[i].status);
	EXPECT_EQ(create_one(&good, sizeof(good) - 1, &info), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(create_one(&good, sizeof(good) + 1, &info), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(create_one(&good, 0, &info), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(driver_counts().live_allocations, 0);
	host_stop();
}

TEST(objects, one_bad_allocation_leaves_none_and_no_resource)
{
	struct softgpu_allocation blobs[3] = { { 1, 0, 4096, 0 },
					       { 1, 0, 4096, 0 },
					       { 1, 0, 0, 0 } };
	DXGK_ALLOCATIONINFO infos[3];
	DXGKARG_CREATEALLOCATION args = { .NumAllocations = 3,
					  .pAllocationInfo = infos,
					  .Flags.Resource = 1 };

	host_start(NULL);
	for (UINT i = 0; i < 3; i++)
		infos[i] = (DXGK_ALLOCATIONINFO){ .pPrivateDriverData = &blobs[i],
						  .PrivateDriverDataSize = sizeof(blobs[i]) };
	EXPECT_EQ(host.ddi.DxgkDdiCreateAllocation(host.adapter, &args), STATUS_INVALID_PARAMETER);
	EXPECT(args.hResource == NULL);
	EXPECT_EQ(driver_counts().live_allocations, 0);
	EXPECT_EQ(driver_counts().live_resources, 0);
	host_stop();
}

TEST(objects, a_resource_lives_until_it_is_destroyed_by_name)
{
	struct softgpu_allocation blob = { .version = 1, .size_bytes = 4096 };
	DXGK_ALLOCATIONINFO infos[2];
	HANDLE handles[2];
	DXGKARG_CREATEALLOCATION create = { .NumAllocations = 1,
					    .pAllocationInfo = infos,
					    .Flags.Resource = 1 };
	DXGKARG_DESTROYALLOCATION destroy = { .NumAllocations = 1, .pAllocationList = handles };

	host_start(NULL);
	for (UINT i = 0; i < 2; i++)
		infos[i] = (DXGK_ALLOCATIONINFO){ .pPrivateDriverData = &blob,
						  .PrivateDriverDataSize = sizeof(blob) };
	EXPECT_EQ(host.ddi.DxgkDdiCreateAllocation(host.adapter, &create), STATUS_SUCCESS);
	HANDLE resource = create.hResource;
	EXPECT(resource != NULL);
	create.pAllocationInfo = &infos[1];
	EXPECT_EQ(host.ddi.DxgkDdiCreateAllocation(host.adapter, &create), STATUS_SUCCESS);
	EXPECT(create.hResource == resource);
	EXPECT_EQ(driver_counts().live_resources, 1);

	handles[0] = infos[0].hAllocation;
	handles[1] = infos[1].hAllocation;
	EXPECT_EQ(host.ddi.DxgkDdiDestroyAllocation(host.adapter, &destroy),
		  STATUS_INVALID_PARAMETER); /* it is in a resource that was not named */
	destroy.hResource = resource;
	destroy.Flags.DestroyResource = 1; /* with one allocation too few */
	EXPECT_EQ(host.ddi.DxgkDdiDestroyAllocation(host.adapter, &destroy),
		  STATUS_INVALID_PARAMETER);
	destroy.Flags.DestroyResource = 0;
	EXPECT_EQ(host.ddi.DxgkDdiDestroyAllocation(host.adapter, &destroy), STATUS_SUCCESS);
	EXPECT_EQ(driver_counts().live_allocations, 1);
	destroy.Flags.DestroyResource = 1;
	destroy.pAllocationList = &handles[1];
	EXPECT_EQ(host.ddi.DxgkDdiDestroyAllocation(host.adapter, &destroy), STATUS_SUCCESS);
	EXPECT_EQ(driver_counts().live_resources, 0);
	host_stop();
}

SOFT_TEST(objects, an_allocation_is_opened_by_the_kernels_handle, NULL)
{
	struct softgpu_allocation blob = { .version = 1, .size_bytes = 4096 };
	DXGK_ALLOCATIONINFO info;
	DXGK_OPENALLOCATIONINFO opens[2] = { { .hAllocation = 1 }, { .hAllocation = 2 } };
	DXGKARG_OPENALLOCATION open = { .NumAllocations = 2, .pOpenAllocation = opens };
	DXGKARG_CLOSEALLOCATION close = { .NumAllocations = 1 };

	EXPECT_EQ(create_one(&blob, sizeof(blob), &info), STATUS_SUCCESS);
	host.handles[1] = info.hAllocation;

	/* The second handle names nothing: the first opening is taken back. */
	EXPECT_EQ(host.ddi.DxgkDdiOpenAllocation(host.device, &open), STATUS_INVALID_HANDLE);
	EXPECT_EQ(driver_counts().live_openings, 0);

	open.NumAllocations = 1;
	EXPECT_EQ(host.ddi.DxgkDdiOpenAllocation(host.device, &open), STATUS_SUCCESS);
	EXPECT(opens[0].hDeviceSpecificAllocation != NULL);
	EXPECT_EQ(driver_counts().live_openings, 1);

	DXGKARG_DESTROYALLOCATION destroy = { .NumAllocations = 1,
					      .pAllocationList = &info.hAllocation };
	EXPECT_EQ(host.ddi.DxgkDdiDestroyAllocation(host.adapter, &destroy),
		  STATUS_INVALID_PARAMETER); /* still open */
	close.pOpenHandleList = &opens[0].hDeviceSpecificAllocation;
	EXPECT_EQ(host.ddi.DxgkDdiCloseAllocation(host.system_device, &close),
		  STATUS_INVALID_PARAMETER); /* on another device */
	EXPECT_EQ(host.ddi.DxgkDdiCloseAllocation(host.device, &close), STATUS_SUCCESS);
	destroy_one(info.hAllocation);
}

TEST(objects, standard_surfaces_describe_themselves_in_two_calls)
{
	D3DKMDT_GDISURFACEDATA surface = { .Width = 100,
					   .Height = 33,
					   .Format = D3DDDIFMT_A8R8G8B8,
					   .Type = D3DKMDT_GDISURFACE_EXISTINGSYSMEM };
	DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args = {
		.StandardAllocationType = D3DKMDT_STANDARDALLOCATION_GDISURFACE,
		.pCreateGdiSurfaceData = &surface,
	};
	struct softgpu_surface blob;
	DXGK_ALLOCATIONINFO info = { .pPrivateDriverData = &blob,
				     .PrivateDriverDataSize = sizeof(blob) };
	DXGKARG_CREATEALLOCATION create = { .NumAllocations = 1, .pAllocationInfo = &info };

	host_start(NULL);
	EXPECT_EQ(host.ddi.DxgkDdiGetStandardAllocationDriverData(host.adapter, &args),
		  STATUS_SUCCESS);
	EXPECT_EQ(args.AllocationPrivateDriverDataSize, sizeof(blob));
	EXPECT_EQ(args.ResourcePrivateDriverDataSize, 0);
	EXPECT_EQ(surface.Pitch, 0); /* not touched by the first call */
	args.pAllocationPrivateDriverData = &blob;
	EXPECT_EQ(host.ddi.DxgkDdiGetStandardAllocationDriverData(host.adapter, &args),
		  STATUS_SUCCESS);
	EXPECT_EQ(surface.Pitch, 512);

	EXPECT_EQ(host.ddi.DxgkDdiCreateAllocation(host.adapter, &create), STATUS_SUCCESS);
	EXPECT_EQ(info.Size, 512 * 36);
	EXPECT_EQ(info.FlagsWddm2.ExistingSysMem, 1);
	EXPECT_EQ(info.FlagsWddm2.Cached, 1);
	EXPECT_EQ(info.SupportedWriteSegmentSet, 2);
	DXGKARG_DESCRIBEALLOCATION describe = { .hAllocation = info.hAllocation };
	EXPECT_EQ(host.ddi.DxgkDdiDescribeAllocation(host.adapter, &describe), STATUS_SUCCESS);
	EXPECT_EQ(describe.Width, 100);
	EXPECT_EQ(describe.Height, 33);
	EXPECT_EQ(describe.Format, D3DDDIFMT_A8R8G8B8);
	destroy_one(info.hAllocation);

	D3DKMDT_SHAREDPRIMARYSURFACEDATA primary = { .Width = 1, .Height = 1 };
	args.StandardAllocationType = D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE;
	args.pCreateSharedPrimarySurfaceData = &primary;
	EXPECT_EQ(host.ddi.DxgkDdiGetStandardAllocationDriverData(host.adapter, &args),
		  STATUS_NOT_SUPPORTED); /* there is no display */
	host_stop();
}

TEST(objects, a_row_of_bytes_is_as_long_as_it_was_said_to_be)
{
	D3DKMDT_GDISURFACEDATA heap = { .Width = 65536,
					.Height = 1,
					.Format = D3DDDIFMT_UNKNOWN,
					.Type = D3DKMDT_GDISURFACE_TEXTURE_CROSSADAPTER };
	struct softgpu_surface blob;
	DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args = {
		.StandardAllocationType = D3DKMDT_STANDARDALLOCATION_GDISURFACE,
		.pCreateGdiSurfaceData = &heap,
		.pAllocationPrivateDriverData = &blob,
		.AllocationPrivateDriverDataSize = sizeof(blob),
	};

	host_start(NULL);
	EXPECT_EQ(host.ddi.DxgkDdiGetStandardAllocationDriverData(host.adapter, &args),
		  STATUS_SUCCESS);
	EXPECT_EQ(blob.allocation.size_bytes, 65536);
	host_stop();
}

SOFT_TEST(objects, a_debug_record_fits_any_buffer, NULL)
{
	UCHAR buffer[1024];

	for (SIZE_T size_bytes = 0; size_bytes <= 256; size_bytes += 8) {
		DXGKARG_COLLECTDBGINFO_EXT extension;
		DXGKARG_COLLECTDBGINFO args = { .Reason = 0x141,
						.pBuffer = buffer,
						.BufferSize = size_bytes,
						.pExtension = &extension };

		memset(buffer, 0x5a, sizeof(buffer));
		EXPECT_EQ(host.ddi.DxgkDdiCollectDbgInfo(host.adapter, &args), STATUS_SUCCESS);
		EXPECT_EQ(buffer[size_bytes], 0x5a);
	}
}

TEST_MAIN("soft/objects")
