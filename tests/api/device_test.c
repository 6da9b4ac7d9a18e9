/* SPDX-License-Identifier: MIT */
/*
 * device_test.c - devices and contexts (d3dkmt-objects, sections 2 and 3), in both address models.
 */
#include "api/support.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <opendxgk/marker.h>

static D3DKMT_HANDLE adapter;

/* ---- CreateDevice ---- */

static D3DKMT_CREATEDEVICEFLAGS device_flags(uint32_t bits)
{
	D3DKMT_CREATEDEVICEFLAGS flags;

	_Static_assert(sizeof(flags) == sizeof(bits), "one word of flags");
	memcpy(&flags, &bits, sizeof(flags));
	return flags;
}

TEST(create_device, null_zero_and_wrong_handles_are_refused)
{
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_CREATEDEVICE args = { .hDevice = 0x5a5a };

	EXPECT_REFUSED(D3DKMTCreateDevice(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT", "");
	EXPECT_REFUSED(D3DKMTCreateDevice(&args), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hAdapter");
	args.hAdapter = device;
	EXPECT_REFUSED(D3DKMTCreateDevice(&args), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       "hAdapter");
	EXPECT_EQ(args.hDevice, 0x5a5a); /* nothing is written when it fails */
	EXPECT_OK(destroy_device(device));
}

TEST(create_device, buffers_are_null_and_their_sizes_zero)
{
	D3DKMT_CREATEDEVICE args;

	memset(&args, 0xee, sizeof(args));
	args.hAdapter = adapter;
	args.Flags = device_flags(0);
	EXPECT_OK(D3DKMTCreateDevice(&args));
	EXPECT(is_local_handle(args.hDevice));
	EXPECT(!args.pCommandBuffer && !args.pAllocationList && !args.pPatchLocationList);
	EXPECT_EQ(args.CommandBufferSize, 0);
	EXPECT_EQ(args.AllocationListSize, 0);
	EXPECT_EQ(args.PatchLocationListSize, 0);
	EXPECT_EQ(args.hAdapter, adapter);
	EXPECT_OK(destroy_device(args.hDevice));
}

TEST(create_device, each_documented_flag_is_accepted)
{
	for (unsigned flags = 0; flags < 8; flags++) {
		D3DKMT_CREATEDEVICE args = { .hAdapter = adapter };
		args.Flags = device_flags(flags);
		EXPECT_OK(D3DKMTCreateDevice(&args));
		EXPECT_OK(destroy_device(args.hDevice));
	}
}

TEST(create_device, each_reserved_flag_is_refused)
{
	for (unsigned bit = 3; bit < 32; bit++) {
		D3DKMT_CREATEDEVICE args = { .hAdapter = adapter };
		args.Flags = device_flags(1u << bit);
		EXPECT_REFUSED(D3DKMTCreateDevice(&args), STATUS_INVALID_PARAMETER, "API-RESERVED",
			       "Flags");
	}
}

TEST(create_device, any_number_of_devices)
{
	enum { DEVICES = 300 };
	D3DKMT_HANDLE devices[DEVICES];
	uint32_t before = soft_info(adapter).live_devices;

	for (unsigned i = 0; i < DEVICES; i++)
		devices[i] = create_device(adapter);
	EXPECT_EQ(soft_info(adapter).live_devices, before + DEVICES);
	for (unsigned i = 0; i < DEVICES; i++)
		EXPECT_OK(destroy_device(devices[i]));
	EXPECT_EQ(soft_info(adapter).live_devices, before);
}

/* ---- DestroyDevice ---- */

static void expect_refused(NTSTATUS (*destroy)(D3DKMT_HANDLE), const char *argument,
			   D3DKMT_HANDLE of_another_kind)
{
	EXPECT_REFUSED(destroy(0), STATUS_INVALID_PARAMETER, "API-HANDLE", argument);
	EXPECT_REFUSED(destroy(adapter), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND", argument);
	EXPECT_REFUSED(destroy(of_another_kind), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       argument);
}

TEST(destroy_device, null_zero_stale_and_wrong_handles_are_refused)
{
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_HANDLE context = create_context(device);

	EXPECT_REFUSED(D3DKMTDestroyDevice(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	expect_refused(destroy_device, "hDevice", context);
	EXPECT_OK(destroy_device(device));
	EXPECT_REFUSED(destroy_device(device), STATUS_INVALID_PARAMETER, "API-HANDLE", "hDevice");
}

TEST(destroy_device, takes_its_contexts_with_it)
{
	struct softgpu_escape_info before = soft_info(adapter);
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_HANDLE first = create_context(device);
	D3DKMT_HANDLE second = create_context(device);

	EXPECT_OK(destroy_device(device));
	EXPECT_REFUSED(destroy_context(first), STATUS_INVALID_PARAMETER, "API-HANDLE", "hContext");
	EXPECT_REFUSED(destroy_context(second), STATUS_INVALID_PARAMETER, "API-HANDLE", "hContext");
	EXPECT_EQ(soft_info(adapter).live_devices, before.live_devices);
	EXPECT_EQ(soft_info(adapter).live_contexts, before.live_contexts);
}

TEST(destroy_device, leaks_nothing)
{
	EXPECT_OK(destroy_device(create_device(adapter)));
	struct dxgk_test_memory before = dxgk_test_memory();

	for (unsigned i = 0; i < 300; i++) {
		D3DKMT_HANDLE device = create_device(adapter);
		create_context(device);
		EXPECT_OK(destroy_context(create_context(device)));
		EXPECT_OK(destroy_device(device));
	}
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
}

/* ---- GetDeviceState ---- */

static NTSTATUS get_state(D3DKMT_HANDLE device, unsigned type, D3DKMT_GETDEVICESTATE *args)
{
	memset(args, 0xee, sizeof(*args));
	args->hDevice = device;
	args->StateType = (D3DKMT_DEVICESTATE_TYPE)type;
	return D3DKMTGetDeviceState(args);
}

TEST(get_device_state, null_and_bad_handles_are_refused)
{
	D3DKMT_GETDEVICESTATE args;
	D3DKMT_HANDLE device = create_device(adapter);

	EXPECT_REFUSED(D3DKMTGetDeviceState(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_REFUSED(get_state(0, 1, &args), STATUS_INVALID_PARAMETER, "API-HANDLE", "hDevice");
	EXPECT_REFUSED(get_state(adapter, 1, &args), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       "hDevice");
	EXPECT_OK(destroy_device(device));
	EXPECT_REFUSED(get_state(device, 1, &args), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hDevice");
}

TEST(get_device_state, a_healthy_device_answers_every_type)
{
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_GETDEVICESTATE args;

	EXPECT_OK(get_state(device, D3DKMT_DEVICESTATE_EXECUTION, &args));
	EXPECT_EQ(args.ExecutionState, D3DKMT_DEVICEEXECUTION_ACTIVE);
	/* Anything but success makes compute-runtime skip its cleanup. */
	EXPECT_OK(get_state(device, D3DKMT_DEVICESTATE_PRESENT, &args));
	EXPECT_EQ(args.PresentState.PresentStats.PresentCount, 0);
	EXPECT_EQ(args.PresentState.VidPnSourceId, 0xeeeeeeee); /* belongs to the question */
	EXPECT_OK(get_state(device, D3DKMT_DEVICESTATE_RESET, &args));
	EXPECT_EQ(args.ResetState.Value, 0);
	EXPECT_OK(get_state(device, D3DKMT_DEVICESTATE_PRESENT_DWM, &args));
	EXPECT_EQ(args.PresentStateDWM.PresentStatsDWM.PresentCount, 0);
	EXPECT_OK(get_state(device, D3DKMT_DEVICESTATE_PAGE_FAULT, &args));
	EXPECT_EQ(args.PageFaultState.FaultedVirtualAddress, D3DGPU_NULL);
	EXPECT_EQ(args.PageFaultState.FaultedPipelineStage, DXGK_RENDER_PIPELINE_STAGE_UNKNOWN);
	EXPECT_OK(get_state(device, D3DKMT_DEVICESTATE_PRESENT_QUEUE, &args));
	EXPECT_EQ(args.PresentQueueState.bQueuedPresentLimitReached, FALSE);
	EXPECT_OK(destroy_device(device));
}

TEST(get_device_state, writes_only_the_answer)
{
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_GETDEVICESTATE args;
	unsigned char *bytes = (unsigned char *)&args;

	EXPECT_OK(get_state(device, D3DKMT_DEVICESTATE_EXECUTION, &args));
	for (size_t i = offsetof(D3DKMT_GETDEVICESTATE, ExecutionState) + 4; i < sizeof(args); i++)
		EXPECT_EQ(bytes[i], 0xee);
	EXPECT_OK(destroy_device(device));
}

TEST(get_device_state, a_type_that_does_not_exist_is_refused)
{
	static const unsigned types[] = { 0, 7, 0x7fffffff, 0x80000000, 0xffffffff };
	D3DKMT_HANDLE device = create_device(adapter);

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		D3DKMT_GETDEVICESTATE args;
		EXPECT_REFUSED(get_state(device, types[i], &args), STATUS_INVALID_PARAMETER,
			       "API-VALUE", "StateType");
	}
	EXPECT_OK(destroy_device(device));
}

static bool strict_calls_done;

/* In strict mode a thread ends at its first system call but read, write and exit. */
static void *call_in_strict_mode(void *context)
{
	D3DKMT_HANDLE device = *(D3DKMT_HANDLE *)context;
	D3DKMT_GETDEVICESTATE args;
	bool all_succeed = get_state(device, 1, &args) == STATUS_SUCCESS;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0) {
		for (unsigned i = 0; i < 1000; i++)
			all_succeed &= get_state(device, 1, &args) == STATUS_SUCCESS;
		__atomic_store_n(&strict_calls_done, all_succeed, __ATOMIC_SEQ_CST);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

TEST(get_device_state, makes_no_system_call)
{
	SKIP_UNLESS(!IS_SANITIZED, "sanitizers make system calls of their own");
	SKIP_UNLESS(!is_served(), "a server is asked, and sleeps when it has waited for a while");

	D3DKMT_HANDLE device = create_device(adapter);
	pthread_t thread;

	EXPECT_EQ(pthread_create(&thread, NULL, call_in_strict_mode, &device), 0);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	EXPECT(__atomic_load_n(&strict_calls_done, __ATOMIC_SEQ_CST));
	EXPECT_OK(destroy_device(device));
}

/* ---- contexts, whichever way they are made ---- */

struct context_request {
	bool is_virtual;
	D3DKMT_HANDLE device;
	UINT node;
	UINT engines;
	UINT flags;
	UINT hint;
	void *data;
	UINT data_bytes;
	D3DKMT_HANDLE context;
};

/* What both structs have. */
#define CONTEXT_FIELDS(request)                                                                    \
	.hDevice = (request)->device, .NodeOrdinal = (request)->node,                              \
	.EngineAffinity = (request)->engines, .pPrivateDriverData = (request)->data,               \
	.PrivateDriverDataSize = (request)->data_bytes,                                            \
	.ClientHint = (D3DKMT_CLIENTHINT)(request)->hint, .hContext = 0x5a5a

static NTSTATUS make_context(struct context_request *request)
{
	D3DKMT_CREATECONTEXT physical = { CONTEXT_FIELDS(request) };
	D3DKMT_CREATECONTEXTVIRTUAL virtual = { CONTEXT_FIELDS(request) };
	NTSTATUS status;

	physical.Flags.Value = request->flags;
	virtual.Flags.Value = request->flags;
	status = request->is_virtual ? D3DKMTCreateContextVirtual(&virtual)
				     : D3DKMTCreateContext(&physical);
	request->context = request->is_virtual ? virtual.hContext : physical.hContext;
	return status;
}

/* … in each way there is to make a context. */
#define WAYS_TEST(suite, claim)                                                                    \
	static void try_##suite##_##claim(struct context_request request);                         \
	TEST(suite, claim)                                                                         \
	{                                                                                          \
		for_each_way(try_##suite##_##claim);                                               \
	}                                                                                          \
	static void try_##suite##_##claim(struct context_request request)

/* Runs `check` with a new device, for each way to make a context that the model has. */
static void for_each_way(void (*check)(struct context_request request))
{
	for (int is_virtual = 0; is_virtual <= !is_physical(); is_virtual++) {
		struct context_request request = { .is_virtual = is_virtual,
						   .device = create_device(adapter) };
		check(request);
		EXPECT_OK(destroy_device(request.device));
	}
}

WAYS_TEST(create_context, gives_a_handle_that_is_destroyed_once)
{
	EXPECT_OK(make_context(&request));
	EXPECT(is_local_handle(request.context));
	EXPECT_OK(destroy_context(request.context));
	EXPECT_REFUSED(destroy_context(request.context), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hContext");
}

static void refuse_bad_handles(struct context_request request)
{
	D3DKMT_HANDLE device = request.device;

	request.device = 0;
	EXPECT_REFUSED(make_context(&request), STATUS_INVALID_PARAMETER, "API-HANDLE", "hDevice");
	request.device = adapter;
	EXPECT_REFUSED(make_context(&request), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       "hDevice");
	EXPECT_EQ(request.context, 0x5a5a);
	request.device = device;
	EXPECT_OK(make_context(&request));
	request.device = request.context;
	EXPECT_REFUSED(make_context(&request), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       "hDevice");
}

TEST(create_context, null_and_bad_handles_are_refused)
{
	EXPECT_REFUSED(D3DKMTCreateContext(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_REFUSED(D3DKMTCreateContextVirtual(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	for_each_way(refuse_bad_handles);
}

#define EXPECT_NO_CONTEXT(request, rule, argument)                                                 \
	EXPECT_REFUSED(make_context(request), STATUS_INVALID_PARAMETER, rule, argument)

WAYS_TEST(create_context, each_node_takes_one_and_no_other_exists)
{
	UINT nodes = soft_info(adapter).adapter.node_count;

	for (request.node = 0; request.node < nodes; request.node++)
		EXPECT_OK(make_context(&request));
	EXPECT_NO_CONTEXT(&request, "API-VALUE", "NodeOrdinal");
	request.node = 0xffffffff;
	EXPECT_NO_CONTEXT(&request, "API-VALUE", "NodeOrdinal");
}

WAYS_TEST(create_context, an_unlinked_adapter_has_engine_0_only)
{
	EXPECT_OK(make_context(&request)); /* 0 means the only engine */
	request.engines = 1;
	EXPECT_OK(make_context(&request));
	for (unsigned bit = 1; bit < 32; bit++) {
		request.engines = 1u << bit;
		EXPECT_NO_CONTEXT(&request, "API-VALUE", "EngineAffinity");
	}
	request.engines = 3;
	EXPECT_NO_CONTEXT(&request, "API-VALUE", "EngineAffinity");
}

WAYS_TEST(create_context, every_client_hint_that_exists_is_accepted)
{
	/* Newer headers put DML_PYTORCH where ours say MAX. */
	for (request.hint = 0; request.hint <= 20; request.hint++)
		EXPECT_OK(make_context(&request));
	EXPECT_NO_CONTEXT(&request, "API-VALUE", "ClientHint");
	request.hint = 0xffffffff;
	EXPECT_NO_CONTEXT(&request, "API-VALUE", "ClientHint");
}

WAYS_TEST(create_context, flags_that_exist_are_accepted_and_reserved_ones_refused)
{
	static const UINT accepted[] = { 0x01, 0x02, 0x04, 0x08 };

	for (unsigned i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		request.flags = accepted[i];
		EXPECT_OK(make_context(&request));
	}
	for (unsigned bit = 6; bit < 32; bit++) {
		request.flags = 1u << bit;
		EXPECT_NO_CONTEXT(&request, "API-RESERVED", "Flags");
	}
}

WAYS_TEST(create_context, a_refusal_of_the_driver_reaches_the_caller_unchanged)
{
	/* The software GPU has none; its status reaches the caller unchanged. */
	request.flags = 0x10;
	EXPECT_REFUSED(make_context(&request), STATUS_NOT_SUPPORTED, "DDI-STATUS",
		       "DxgkDdiCreateContext");
}

WAYS_TEST(create_context, private_data_goes_to_the_driver_up_to_a_limit)
{
	struct softgpu_context data = { SOFTGPU_CONTEXT_VERSION, 0 };
	static char large[(1 << 20) + 1];

	request.data = &data;
	request.data_bytes = sizeof(data);
	EXPECT_OK(make_context(&request));
	request.data_bytes--;
	EXPECT_NO_CONTEXT(&request, "DDI-STATUS", "DxgkDdiCreateContext");
	request.data = NULL;
	EXPECT_NO_CONTEXT(&request, "API-NULL-ARGUMENT", "pPrivateDriverData");
	request.data = large;
	request.data_bytes = sizeof(large);
	EXPECT_NO_CONTEXT(&request, "API-COUNT", "PrivateDriverDataSize");
	request.data_bytes = 0xffffffff;
	EXPECT_NO_CONTEXT(&request, "API-COUNT", "PrivateDriverDataSize");
	request.data_bytes = sizeof(large) - 1; /* carried; the driver does not want it */
	EXPECT_NO_CONTEXT(&request, "DDI-STATUS", "DxgkDdiCreateContext");
	request.data_bytes = 0;
	EXPECT_OK(make_context(&request));
}

TEST(create_context, buffers_are_handed_out_only_where_they_can_be_used)
{
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_CREATECONTEXT args;

	memset(&args, 0xee, sizeof(args));
	args.hDevice = device;
	args.NodeOrdinal = 0;
	args.EngineAffinity = 0;
	args.Flags.Value = 0;
	args.pPrivateDriverData = NULL;
	args.PrivateDriverDataSize = 0;
	args.ClientHint = D3DKMT_CLIENTHINT_UNKNOWN;
	EXPECT_OK(D3DKMTCreateContext(&args));
	bool has_lists = is_physical();
	EXPECT((args.pCommandBuffer != NULL) == has_lists);
	EXPECT((args.pAllocationList != NULL) == has_lists);
	EXPECT((args.pPatchLocationList != NULL) == has_lists);
	EXPECT((args.CommandBufferSize > 0) == has_lists);
	EXPECT((args.AllocationListSize > 0) == has_lists);
	EXPECT((args.PatchLocationListSize > 0) == has_lists);
	EXPECT_EQ(args.CommandBuffer, 0);
	EXPECT_OK(destroy_device(device));
}

TEST(create_context, virtual_ones_need_gpu_virtual_addresses)
{
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = device };

	if (is_physical())
		EXPECT_REFUSED(D3DKMTCreateContextVirtual(&args), STATUS_INVALID_PARAMETER,
			       "API-VALUE", "");
	else
		EXPECT_OK(D3DKMTCreateContextVirtual(&args));
	EXPECT_OK(destroy_device(device));
}

WAYS_TEST(create_context, a_refused_one_leaves_nothing)
{
	struct softgpu_escape_info before = soft_info(adapter);
	struct dxgk_test_memory memory = dxgk_test_memory();

	request.node = 99;
	for (unsigned i = 0; i < 100; i++)
		EXPECT(make_context(&request) != STATUS_SUCCESS);
	request.node = 0;
	request.flags = 0x10;
	for (unsigned i = 0; i < 100; i++)
		EXPECT(make_context(&request) != STATUS_SUCCESS);
	EXPECT_EQ(dxgk_test_memory().blocks, memory.blocks);
	EXPECT_EQ(soft_info(adapter).live_contexts, before.live_contexts);
}

/* ---- DestroyContext ---- */

TEST(destroy_context, null_zero_and_wrong_handles_are_refused)
{
	D3DKMT_HANDLE device = create_device(adapter);

	EXPECT_REFUSED(D3DKMTDestroyContext(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	expect_refused(destroy_context, "hContext", device);
	EXPECT_OK(destroy_device(device));
}

TEST(destroy_context, reaches_the_driver)
{
	D3DKMT_HANDLE device = create_device(adapter);
	uint32_t before = soft_info(adapter).live_contexts;
	D3DKMT_HANDLE context = create_context(device);

	EXPECT_EQ(soft_info(adapter).live_contexts, before + 1);
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(soft_info(adapter).live_contexts, before);
	EXPECT_OK(destroy_device(device));
}

/* ---- the driver's process ---- */

TEST(process, one_for_all_devices_and_it_stays)
{
	D3DKMT_HANDLE first = create_device(adapter);
	uint32_t processes = soft_info(adapter).live_processes;
	D3DKMT_HANDLE second = create_device(adapter);

	EXPECT_EQ(soft_info(adapter).live_processes, processes);
	EXPECT_OK(destroy_device(first));
	EXPECT_OK(destroy_device(second));
	EXPECT_EQ(soft_info(adapter).live_processes, processes);
}

/* ---- stale handles ---- */

TEST(stale_handles, never_match_again)
{
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_HANDLE context = create_context(device);

	EXPECT_OK(destroy_context(context));
	EXPECT_OK(destroy_device(device));
	/* Further than one round through a chunk of numbers. */
	for (unsigned i = 0; i < 5000; i++) {
		EXPECT_OK(close_adapter(open_first_adapter()));
		if (i % 512 != 0)
			continue;
		EXPECT_REFUSED(get_execution_state(device), STATUS_INVALID_PARAMETER, "API-HANDLE",
			       "hDevice");
		EXPECT_REFUSED(destroy_context(context), STATUS_INVALID_PARAMETER, "API-HANDLE",
			       "hContext");
	}
}

/* ---- markers ---- */

TEST(marker, of_a_device_is_taken)
{
	DXGK_MARKER marker = { .hDevice = create_device(adapter),
			       .Index = -1,
			       .Text = "shadow pass \xc3\xa9" };

	EXPECT_OK(DxgkLogMarker(&marker));
	marker.Text[0] = '\0';
	EXPECT_OK(DxgkLogMarker(&marker));
}

TEST(marker, without_an_end_or_of_no_device_is_refused)
{
	DXGK_MARKER marker = { .hDevice = create_device(adapter) };

	memset(marker.Text, 'x', sizeof(marker.Text));
	EXPECT_REFUSED(DxgkLogMarker(&marker), STATUS_INVALID_PARAMETER, "API-VALUE", "Text");
	EXPECT_REFUSED(DxgkLogMarker(&(DXGK_MARKER){ .hDevice = adapter }),
		       STATUS_INVALID_PARAMETER, "API-HANDLE-KIND", "hDevice");
	EXPECT_REFUSED(DxgkLogMarker(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT", "");
}

/* ---- at the end ---- */

TEST(zz_driver, was_reported_for_nothing)
{
	static const char *const rules[] = {
		"NT-IRQL-WAIT",       "NT-IRQL-PAGED",  "NT-IRQL-HIGH",      "NT-IRQL-LOW",
		"NT-IRQL-ORDER",      "NT-IRQL-RETURN", "NT-LOCK-RECURSION", "NT-LOCK-OWNER",
		"NT-REGION",          "NT-WAIT-COUNT",  "NT-OBJECT-STATE",   "NT-POOL-SIZE",
		"NT-POOL-TAG",        "NT-POOL-TYPE",   "NT-POOL-BAD-FREE",  "NT-POOL-OVERRUN",
		"NT-POOL-DOUBLE-FREE"
	};

	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (dxgk_test_report_count(rules[i]) != 0)
			print_error("%s was reported\n", rules[i]);
		EXPECT_EQ(dxgk_test_report_count(rules[i]), 0);
	}
}

/* Devices and contexts are left to the end of the process: the sanitizers see what that leaks. */
TEST(zz_driver, takes_back_what_is_left_at_exit)
{
	D3DKMT_HANDLE device = create_device(adapter);

	create_context(device);
	create_context(device);
	create_device(adapter);
	open_first_adapter();
}

int main(int argc, char **argv)
{
	adapter = open_first_adapter();
	return api_main("api/device", argc, argv);
}
