/* SPDX-License-Identifier: MIT */
/*
 * refusal_test.c - whatever the driver refuses, it says why: what is wrong, and with which value.
 */
#include "host.h"

#include "nt/debug.h"
#include "nt/report.h"

static unsigned wrong;

/* Refused with this status, in a sentence of the driver's that has these words. */
static void expect_why(const char *call, NTSTATUS actual, NTSTATUS expected, const char *words)
{
	const char *said = nt_debug_said();

	if (actual != expected || !said || strncmp(said, "soft: ", 6) != 0 ||
	    !strstr(said, words)) {
		print_error("%s is 0x%08x, and says \"%s\", not \"%s\"\n", call, (unsigned)actual,
			    said ? said : "", words);
		wrong++;
	}
}

#define WHY(call, expected, words)                                                                 \
	do {                                                                                       \
		nt_entered.has_said = false;                                                       \
		expect_why(#call, call, expected, words);                                          \
	} while (0)
#define WHY_PARAMETER(call, words) WHY(call, STATUS_INVALID_PARAMETER, words)

#define D(entry, ...) host.ddi.DxgkDdi##entry(__VA_ARGS__)

/* ---- objects ---- */

static NTSTATUS create_context(DXGKARG_CREATECONTEXT args)
{
	return D(CreateContext, host.device, &args);
}

static void refuse_contexts(void)
{
	struct softgpu_context data = { .version = SOFTGPU_CONTEXT_VERSION };
	struct softgpu_context newer = { .version = 77 };
	struct softgpu_context flagged = { .version = SOFTGPU_CONTEXT_VERSION, .flags = ~0u };

	WHY_PARAMETER(create_context((DXGKARG_CREATECONTEXT){ .NodeOrdinal = 99 }), "node 99");
	WHY_PARAMETER(create_context((DXGKARG_CREATECONTEXT){ .EngineAffinity = 6 }),
		      "engines 0x6");
	WHY_PARAMETER(create_context((DXGKARG_CREATECONTEXT){ .Flags.SystemContext = 1 }),
		      "SystemContext on node 0");
	WHY(create_context((DXGKARG_CREATECONTEXT){ .Flags.GdiContext = 1 }), STATUS_NOT_SUPPORTED,
	    "GDI");
	WHY_PARAMETER(create_context((DXGKARG_CREATECONTEXT){ .pPrivateDriverData = &data,
							      .PrivateDriverDataSize = 3 }),
		      "3 bytes of private data");
	WHY(create_context((DXGKARG_CREATECONTEXT){ .pPrivateDriverData = &newer,
						    .PrivateDriverDataSize = sizeof(newer) }),
	    STATUS_GRAPHICS_DRIVER_MISMATCH, "version 77");
	WHY_PARAMETER(
		create_context((DXGKARG_CREATECONTEXT){ .pPrivateDriverData = &flagged,
							.PrivateDriverDataSize = sizeof(flagged) }),
		"unknown flags 0xffffffff");
	WHY_PARAMETER(D(CreateContext, NULL, NULL), "CreateContext for device");
	WHY_PARAMETER(D(DestroyContext, host.device), "is none of ours");
}

static void refuse_processes_and_devices(void)
{
	DXGKARG_CREATEDEVICE args = { .hKmdProcess = &args };

	WHY_PARAMETER(D(CreateDevice, host.adapter, &args), "is no process of this adapter");
	WHY_PARAMETER(D(CreateDevice, NULL, &args), "CreateDevice for adapter");
	WHY_PARAMETER(D(DestroyDevice, &args), "is none of ours");
	WHY_PARAMETER(D(CreateProcess, NULL, NULL), "CreateProcess for adapter");
	WHY_PARAMETER(D(DestroyProcess, host.adapter, host.process), "has devices");
	WHY_PARAMETER(D(StartDevice, NULL, NULL, NULL, NULL, NULL), "StartDevice of adapter");
	WHY_PARAMETER(D(AddDevice, NULL, NULL), "AddDevice with device object");
	WHY_PARAMETER(D(StopDevice, NULL), "StopDevice of adapter");
	WHY_PARAMETER(D(RemoveDevice, host.adapter), "RemoveDevice of adapter");
}

/* ---- allocations ---- */

static NTSTATUS create_allocation(struct softgpu_allocation wish, UINT size_bytes)
{
	DXGK_ALLOCATIONINFO info = { .pPrivateDriverData = &wish,
				     .PrivateDriverDataSize = size_bytes };
	DXGKARG_CREATEALLOCATION args = { .NumAllocations = 1, .pAllocationInfo = &info };

	return D(CreateAllocation, host.adapter, &args);
}

#define WISH(...)                                                                                  \
	create_allocation((struct softgpu_allocation){ .version = SOFTGPU_ALLOCATION_VERSION,      \
						       .size_bytes = 4096,                         \
						       __VA_ARGS__ },                              \
			  sizeof(struct softgpu_allocation))

static NTSTATUS create_surface(struct softgpu_surface wish, UINT size_bytes)
{
	DXGK_ALLOCATIONINFO info = { .pPrivateDriverData = &wish,
				     .PrivateDriverDataSize = size_bytes };
	DXGKARG_CREATEALLOCATION args = { .NumAllocations = 1, .pAllocationInfo = &info };

	wish.allocation.version = SOFTGPU_SURFACE_VERSION;
	return D(CreateAllocation, host.adapter, &args);
}

static void refuse_allocations(void)
{
	struct softgpu_allocation plain = { .version = SOFTGPU_ALLOCATION_VERSION };
	HANDLE nothing = &plain;
	DXGK_ALLOCATIONINFO info = { 0 };
	DXGKARG_CREATEALLOCATION of_resource = { .NumAllocations = 1,
						 .pAllocationInfo = &info,
						 .hResource = &plain };
	DXGKARG_DESTROYALLOCATION one = { .NumAllocations = 1, .pAllocationList = &nothing };
	DXGKARG_DESTROYALLOCATION of_none = { .NumAllocations = 1,
					      .pAllocationList = &nothing,
					      .hResource = &plain };
	DXGK_OPENALLOCATIONINFO opened = { .hAllocation = 5 };
	DXGKARG_OPENALLOCATION open = { .NumAllocations = 1, .pOpenAllocation = &opened };
	DXGKARG_CLOSEALLOCATION close = { .NumAllocations = 1, .pOpenHandleList = &nothing };
	DXGKARG_DESCRIBEALLOCATION describe = { .hAllocation = nothing };

	WHY_PARAMETER(create_allocation(plain, 3), "an allocation has 3 bytes of private data");
	WHY_PARAMETER(create_allocation(plain, sizeof(plain) + 1), "softgpu_allocation has");
	WHY(create_allocation((struct softgpu_allocation){ .version = 99 }, sizeof(plain)),
	    STATUS_GRAPHICS_DRIVER_MISMATCH, "version 99");
	WHY_PARAMETER(WISH(.flags = 0x80000000), "flags 0x80000000");
	WHY_PARAMETER(WISH(.flags = SOFTGPU_CACHED), "contradict");
	WHY_PARAMETER(create_allocation(plain, sizeof(plain)), "size_bytes 0x0");
	WHY_PARAMETER(WISH(.alignment = 3), "alignment 0x3");
	WHY_PARAMETER(
		create_surface((struct softgpu_surface){ .allocation = plain }, sizeof(plain)),
		"a surface has");
	WHY_PARAMETER(create_surface((struct softgpu_surface){ .allocation = plain,
							       .surface_flags = 0x40 },
				     sizeof(struct softgpu_surface)),
		      "surface_flags 0x40");
	WHY_PARAMETER(D(CreateAllocation, host.adapter, &of_resource), "without Flags.Resource");
	of_resource.Flags.Resource = 1;
	WHY_PARAMETER(D(CreateAllocation, host.adapter, &of_resource), "no resource of ours");
	WHY_PARAMETER(D(CreateAllocation, host.adapter, NULL), "CreateAllocation for adapter");
	WHY_PARAMETER(D(DestroyAllocation, host.adapter, &one), "cannot be destroyed");
	WHY_PARAMETER(D(DestroyAllocation, host.adapter, &of_none), "no resource of ours");
	WHY_PARAMETER(D(DestroyAllocation, host.adapter, NULL), "DestroyAllocation for adapter");
	WHY(D(OpenAllocation, host.device, &open), STATUS_INVALID_HANDLE, "handle 0x5");
	WHY_PARAMETER(D(OpenAllocation, NULL, NULL), "OpenAllocation for device");
	WHY_PARAMETER(D(CloseAllocation, host.device, &close), "opening 0");
	WHY_PARAMETER(D(CloseAllocation, NULL, NULL), "CloseAllocation for device");
	WHY_PARAMETER(D(DescribeAllocation, host.adapter, &describe), "is none of ours");
	WHY_PARAMETER(D(DescribeAllocation, NULL, NULL), "DescribeAllocation for adapter");
}

static NTSTATUS standard(DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args)
{
	return D(GetStandardAllocationDriverData, host.adapter, &args);
}

static void refuse_standard_allocations(void)
{
	D3DKMDT_GDISURFACEDATA surface = { .Width = 0,
					   .Height = 1,
					   .Format = D3DDDIFMT_UNKNOWN,
					   .Type = D3DKMDT_GDISURFACE_TEXTURE_CROSSADAPTER };
	D3DKMDT_GDISURFACEDATA odd = { .Width = 1,
				       .Height = 1,
				       .Type = (D3DKMDT_GDISURFACETYPE)55 };
	D3DKMDT_VIRTUALGPUSURFACEDATA elsewhere = { .Size = 1, .DriverSegmentId = 9 };
	D3DKMDT_VIRTUALGPUSURFACEDATA nothing = { .DriverSegmentId = SOFTGPU_SEGMENT_LOCAL };
	char data[4];
	const D3DKMDT_STANDARDALLOCATION_TYPE gdi = D3DKMDT_STANDARDALLOCATION_GDISURFACE;
	const D3DKMDT_STANDARDALLOCATION_TYPE vgpu = D3DKMDT_STANDARDALLOCATION_VGPU;

	WHY_PARAMETER(standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){
			      .StandardAllocationType = gdi, .pCreateGdiSurfaceData = &surface }),
		      "a surface of 0 by 1");
	WHY_PARAMETER(standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){
			      .StandardAllocationType = gdi, .pCreateGdiSurfaceData = &odd }),
		      "type 55");
	WHY_PARAMETER(standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){
			      .StandardAllocationType = vgpu,
			      .pCreateVirtualGpuSurfaceData = &elsewhere }),
		      "segment 9");
	WHY_PARAMETER(
		standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){
			.StandardAllocationType = vgpu, .pCreateVirtualGpuSurfaceData = &nothing }),
		"of 0x0 bytes");
	WHY_PARAMETER(standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){ .StandardAllocationType =
										  gdi }),
		      "without data");
	WHY(standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){
		    .StandardAllocationType = (D3DKMDT_STANDARDALLOCATION_TYPE)99,
		    .pCreateGdiSurfaceData = &surface }),
	    STATUS_NOT_SUPPORTED, "type 99");
	WHY_PARAMETER(
		standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){ .PhysicalAdapterIndex = 3 }),
		"part 3");
	surface.Width = 64;
	WHY(standard((DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA){
		    .StandardAllocationType = gdi,
		    .pCreateGdiSurfaceData = &surface,
		    .pAllocationPrivateDriverData = data,
		    .AllocationPrivateDriverDataSize = sizeof(data) }),
	    STATUS_BUFFER_TOO_SMALL, "has 4 bytes");
}

/* ---- questions ---- */

static NTSTATUS escape(struct softgpu_escape *header, UINT size_bytes)
{
	DXGKARG_ESCAPE args = { .pPrivateDriverData = header, .PrivateDriverDataSize = size_bytes };

	return D(Escape, host.adapter, &args);
}

static NTSTATUS escape_with(HANDLE device, struct softgpu_escape *header)
{
	DXGKARG_ESCAPE args = { .hDevice = device,
				.pPrivateDriverData = header,
				.PrivateDriverDataSize = header->size_bytes };

	return D(Escape, host.adapter, &args);
}

/* A processor has no kernels; what is wrong with the request is told first. */
static void refuse_modules(void)
{
	struct {
		struct softgpu_escape_module request;
		char image[4];
	} load = { .request = { .header = { .version = SOFTGPU_ESCAPE_VERSION,
					    .code = SOFTGPU_ESCAPE_LOAD_MODULE,
					    .size_bytes = sizeof(load) },
				.image_bytes = 3 } };
	struct softgpu_escape_module unload = { .header = { .version = SOFTGPU_ESCAPE_VERSION,
							    .code = SOFTGPU_ESCAPE_UNLOAD_MODULE,
							    .size_bytes = sizeof(unload) },
						.module = 7 };
	struct softgpu_escape_kernel find = { .header = { .version = SOFTGPU_ESCAPE_VERSION,
							  .code = SOFTGPU_ESCAPE_FIND_KERNEL,
							  .size_bytes = sizeof(find) } };
	DXGKARG_CREATEPROCESS process = { .hDxgkProcess = &process };
	EXPECT_EQ(D(CreateProcess, host.adapter, &process), STATUS_SUCCESS);
	DXGKARG_CREATEDEVICE device = { .hDevice = &device, .hKmdProcess = process.hKmdProcess };
	EXPECT_EQ(D(CreateDevice, host.adapter, &device), STATUS_SUCCESS);

	WHY_PARAMETER(escape_with(device.hDevice, &load.request.header), "an image of 3");
	load.request.image_bytes = 4;
	memcpy(load.image, "PTX!", 4);
	WHY_PARAMETER(escape_with(device.hDevice, &load.request.header), "it has no end");
	load.image[3] = 0;
	WHY_PARAMETER(escape_with(NULL, &load.request.header), "has no device of one");
	WHY(escape_with(device.hDevice, &load.request.header), STATUS_NOT_SUPPORTED, "no PTX");
	WHY_PARAMETER(escape_with(NULL, &unload.header), "has no device of one");
	WHY(escape_with(device.hDevice, &unload.header), STATUS_NOT_SUPPORTED, "no module 7");
	WHY_PARAMETER(escape_with(device.hDevice, &find.header), "the name of a kernel");
	memcpy(find.name, "saxpy", 6);
	WHY_PARAMETER(escape_with(NULL, &find.header), "has no device of one");
	WHY(escape_with(device.hDevice, &find.header), STATUS_NOT_SUPPORTED, "no kernel saxpy");
	EXPECT_EQ(D(DestroyDevice, device.hDevice), STATUS_SUCCESS);
	EXPECT_EQ(D(DestroyProcess, host.adapter, process.hKmdProcess), STATUS_SUCCESS);
}

static NTSTATUS query(ULONG type, PVOID output, UINT size_bytes)
{
	DXGKARG_QUERYADAPTERINFO args = { .Type = (DXGK_QUERYADAPTERINFOTYPE)type,
					  .pOutputData = output,
					  .OutputDataSize = size_bytes };

	return D(QueryAdapterInfo, host.adapter, &args);
}

static void refuse_questions(void)
{
	struct softgpu_escape header = { .version = SOFTGPU_ESCAPE_VERSION,
					 .size_bytes = sizeof(header) };
	struct softgpu_escape newer = { .version = 8 };
	DXGKARG_ESCAPE of_nobody = { .hDevice = &header };
	DXGK_PAGE_TABLE_LEVEL_DESC level;
	DXGKARG_GETNODEMETADATA metadata;
	DXGKARG_CALIBRATEGPUCLOCK clock;
	UINT number;

	WHY_PARAMETER(escape(&header, 3), "an escape has 3 bytes");
	WHY(escape(&newer, sizeof(newer)), STATUS_GRAPHICS_DRIVER_MISMATCH, "version 8");
	WHY_PARAMETER(escape(&header, sizeof(header) + 4), "size_bytes");
	header.code = SOFTGPU_ESCAPE_GET_INFO;
	WHY_PARAMETER(escape(&header, sizeof(header)), "escape code");
	header.code = SOFTGPU_ESCAPE_ECHO;
	WHY_PARAMETER(escape(&header, sizeof(header)), "escape code");
	header.code = SOFTGPU_ESCAPE_GET_WORK;
	WHY_PARAMETER(escape(&header, sizeof(header)), "escape code");
	header.code = SOFTGPU_ESCAPE_LOAD_MODULE;
	WHY_PARAMETER(escape(&header, sizeof(header)), "escape code");
	header.code = SOFTGPU_ESCAPE_UNLOAD_MODULE;
	WHY_PARAMETER(escape(&header, sizeof(header)), "escape code");
	header.code = SOFTGPU_ESCAPE_FIND_KERNEL;
	WHY_PARAMETER(escape(&header, sizeof(header)), "escape code");
	refuse_modules();
	header.code = 4711;
	WHY(escape(&header, sizeof(header)), STATUS_NOT_SUPPORTED, "escape code 4711");
	WHY_PARAMETER(D(Escape, host.adapter, &of_nobody), "one of its handles");
	WHY(query(4711, &number, 4), STATUS_NOT_SUPPORTED, "query 4711");
	WHY(query(DXGKQAITYPE_DRIVERCAPS, &number, 4), STATUS_BUFFER_TOO_SMALL, "has 4 bytes");
	WHY_PARAMETER(query(DXGKQAITYPE_DRIVERCAPS, NULL, 4), "no output buffer");
	WHY_PARAMETER(query(DXGKQAITYPE_PAGETABLELEVELDESC, &level, sizeof(level)),
		      "0 bytes of input");
	WHY_PARAMETER(D(QueryAdapterInfo, NULL, NULL), "QueryAdapterInfo for adapter");
	WHY_PARAMETER(D(GetNodeMetadata, host.adapter, 98, &metadata), "node 98");
	WHY_PARAMETER(D(CalibrateGpuClock, host.adapter, 97, 0, &clock), "node 97");
}

/* ---- work ---- */

static void refuse_work(void)
{
	DXGKARG_SUBMITCOMMAND foreign = { .hContext = &foreign, .SubmissionFenceId = 6 };
	DXGKARG_SUBMITCOMMAND beyond = { .hContext = host.system_context,
					 .SubmissionFenceId = 7,
					 .DmaBufferSubmissionEndOffset = 64,
					 .Flags.Paging = 1 };
	DXGKARG_SUBMITCOMMANDVIRTUAL virtual = { .hContext = &foreign, .SubmissionFenceId = 8 };
	DXGKARG_PREEMPTCOMMAND preempt = { .NodeOrdinal = 96 };
	DXGKARG_RESETENGINE reset = { .NodeOrdinal = 95 };
	DXGKARG_QUERYENGINESTATUS status = { .NodeOrdinal = 94 };
	DXGKARG_QUERYDEPENDENTENGINEGROUP group = { .NodeOrdinal = 93 };
	DXGKARG_QUERYCURRENTFENCE fence = { .NodeOrdinal = 92 };

	WHY_PARAMETER(D(SubmitCommand, host.adapter, &foreign), "fence 6");
	WHY_PARAMETER(D(SubmitCommand, host.adapter, &beyond), "fence 7");
	WHY_PARAMETER(D(SubmitCommand, host.adapter, NULL), "without arguments");
	WHY_PARAMETER(D(SubmitCommandVirtual, host.adapter, &virtual), "fence 8");
	WHY_PARAMETER(D(SubmitCommandVirtual, host.adapter, NULL), "without arguments");
	WHY_PARAMETER(D(PreemptCommand, host.adapter, &preempt), "node 96");
	WHY_PARAMETER(D(PreemptCommand, host.adapter, NULL), "without arguments");
	WHY_PARAMETER(D(ResetEngine, host.adapter, &reset), "node 95");
	WHY_PARAMETER(D(QueryEngineStatus, host.adapter, &status), "node 94");
	WHY_PARAMETER(D(QueryDependentEngineGroup, host.adapter, &group), "node 93");
	WHY_PARAMETER(D(QueryCurrentFence, host.adapter, &fence), "node 92");
	WHY_PARAMETER(D(ResetFromTimeout, NULL), "ResetFromTimeout of adapter");
	WHY_PARAMETER(D(RestartFromTimeout, NULL), "RestartFromTimeout of adapter");
	WHY_PARAMETER(D(CollectDbgInfo, host.adapter, NULL), "CollectDbgInfo of adapter");
	WHY_PARAMETER(D(Patch, NULL, NULL), "Patch for adapter");
	WHY_PARAMETER(D(Render, NULL, NULL), "Render for context");
}

static NTSTATUS page(DXGKARG_BUILDPAGINGBUFFER args)
{
	return D(BuildPagingBuffer, host.adapter, &args);
}

#define OPERATION(name, ...)                                                                       \
	page((DXGKARG_BUILDPAGINGBUFFER){ .Operation = DXGK_OPERATION_##name, __VA_ARGS__ })

static void refuse_paging(void)
{
	DXGK_PTE entry = { 0 };

	WHY_PARAMETER(OPERATION(TRANSFER, .Transfer = { .TransferSize = 4096 }), "without an MDL");
	WHY_PARAMETER(OPERATION(TRANSFER, .Transfer = { .TransferSize = 4096,
							.Source.SegmentId = 9,
							.Destination.SegmentId = 8 }),
		      "from segment 9 to segment 8");
	WHY_PARAMETER(OPERATION(FILL, .Fill = { .FillSize = 3 }), "DXGK_OPERATION_FILL of 0x3");
	WHY_PARAMETER(OPERATION(VIRTUAL_FILL, .FillVirtual = { .FillSizeInBytes = 5 }),
		      "DXGK_OPERATION_VIRTUAL_FILL of 0x5");
	WHY_PARAMETER(OPERATION(MAP_APERTURE_SEGMENT,
				.MapApertureSegment = { .SegmentId = 7, .NumberOfPages = 1 }),
		      "segment 7");
	WHY_PARAMETER(OPERATION(MAP_APERTURE_SEGMENT,
				.MapApertureSegment = { .SegmentId = SOFTGPU_SEGMENT_APERTURE,
							.NumberOfPages = 1 }),
		      "without an MDL");
	WHY_PARAMETER(OPERATION(UNMAP_APERTURE_SEGMENT,
				.UnmapApertureSegment = { .SegmentId = 6, .NumberOfPages = 1 }),
		      "segment 6");
	WHY_PARAMETER(OPERATION(UPDATE_PAGE_TABLE, .UpdatePageTable = { .NumPageTableEntries = 1 }),
		      "without entries");
	WHY_PARAMETER(OPERATION(UPDATE_PAGE_TABLE,
				.UpdatePageTable = { .pPageTableEntries = &entry,
						     .UpdateMode = (DXGK_PAGETABLEUPDATEMODE)33 }),
		      "update mode 33");
	WHY_PARAMETER(OPERATION(SIGNAL_MONITORED_FENCE,
				.SignalMonitoredFence = { .MonitoredFenceGpuVa = 0x1003 }),
		      "at 0x1003");
	WHY(OPERATION(READ_PHYSICAL), STATUS_NOT_SUPPORTED, "paging operation 3");
	WHY_PARAMETER(D(BuildPagingBuffer, NULL, NULL), "BuildPagingBuffer for adapter");
}

TEST(refusal, says_why)
{
	wrong = 0;
	host_start(NULL);
	refuse_contexts();
	refuse_processes_and_devices();
	refuse_allocations();
	refuse_standard_allocations();
	refuse_questions();
	refuse_work();
	refuse_paging();
	host_stop();
	EXPECT_EQ(wrong, 0);
}

TEST(refusal, of_what_the_registry_says_is_said_too)
{
	static const struct host_setting bad[] = { { "LocalMemoryMiB", "many", 0 }, { NULL } };

	wrong = 0;
	nt_entered.has_said = false;
	NTSTATUS status = host_load(bad);
	expect_why("DriverEntry", status, STATUS_INVALID_PARAMETER, "registry value");
	EXPECT_EQ(wrong, 0);
}

TEST_MAIN("soft/refusal")
