/* SPDX-License-Identifier: MIT */
/*
 * escape_test.c - D3DKMTEscape: the private channel to the software GPU.
 */
#include "api/support.h"

static D3DKMT_HANDLE adapter;

static struct softgpu_escape_echo echo_of(uint64_t value)
{
	return (struct softgpu_escape_echo){
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_ECHO,
			    sizeof(struct softgpu_escape_echo), 0 },
		.value = value,
	};
}

static D3DKMT_ESCAPE escape_with(struct softgpu_escape_echo *echo)
{
	return (D3DKMT_ESCAPE){ .hAdapter = adapter,
				.pPrivateDriverData = echo,
				.PrivateDriverDataSize = sizeof(*echo) };
}

TEST(escape, goes_to_the_driver_and_comes_back)
{
	struct softgpu_escape_echo echo = echo_of(0x0123456789abcdef);
	D3DKMT_ESCAPE args = escape_with(&echo);

	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_EQ(echo.value, 0x0123456789abcdef);
	EXPECT_EQ(echo.inverted, ~UINT64_C(0x0123456789abcdef));
	EXPECT_EQ(echo.had, 0);
}

TEST(escape, the_driver_sees_which_objects_came_with_it)
{
	struct softgpu_escape_echo echo = echo_of(1);
	D3DKMT_ESCAPE args = escape_with(&echo);

	args.hDevice = create_device(adapter);
	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_EQ(echo.had, SOFTGPU_ECHO_HAD_DEVICE);
	args.hContext = create_context(args.hDevice);
	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_EQ(echo.had, SOFTGPU_ECHO_HAD_DEVICE | SOFTGPU_ECHO_HAD_CONTEXT);
	args.Flags.HardwareAccess = 1;
	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_EQ(echo.had, SOFTGPU_ECHO_HAD_DEVICE | SOFTGPU_ECHO_HAD_CONTEXT |
				    SOFTGPU_ECHO_HAD_HARDWARE_ACCESS);
	EXPECT_OK(destroy_device(args.hDevice));
}

TEST(escape, without_adapter_synchronization_it_works_too)
{
	struct softgpu_escape_echo echo = echo_of(2);
	D3DKMT_ESCAPE args = escape_with(&echo);

	args.Flags.NoAdapterSynchronization = 1;
	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_EQ(echo.inverted, ~UINT64_C(2));
}

TEST(escape, a_refusal_of_the_driver_reaches_the_caller_unchanged)
{
	struct softgpu_escape_echo echo = echo_of(3);
	D3DKMT_ESCAPE args = escape_with(&echo);

	echo.header.code = 99;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_NOT_SUPPORTED, "DDI-STATUS", "DxgkDdiEscape");
	EXPECT_EQ(echo.inverted, 0); /* a refused call hands nothing back */
}

TEST(escape, zeros_null_and_bad_handles_are_refused)
{
	D3DKMT_ESCAPE zeros = { 0 };
	struct softgpu_escape_echo echo = echo_of(4);
	D3DKMT_ESCAPE args = escape_with(&echo);

	EXPECT_REFUSED(D3DKMTEscape(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT", "");
	EXPECT_REFUSED(D3DKMTEscape(&zeros), STATUS_INVALID_PARAMETER, "API-HANDLE", "hAdapter");
	args.hDevice = adapter;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND", "hDevice");
	args.hDevice = 0x7fffffc0;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-HANDLE", "hDevice");
	args.hDevice = create_device(adapter);
	args.hContext = args.hDevice;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       "hContext");
	EXPECT_OK(destroy_device(args.hDevice));
	args.hContext = 0;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-HANDLE", "hDevice");
}

TEST(escape, a_context_needs_the_device_that_owns_it)
{
	struct softgpu_escape_echo echo = echo_of(5);
	D3DKMT_ESCAPE args = escape_with(&echo);
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_HANDLE other = create_device(adapter);

	args.hContext = create_context(device);
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-VALUE", "hContext");
	args.hDevice = other;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-VALUE", "hContext");
	args.hDevice = device;
	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_OK(destroy_device(device));
	EXPECT_OK(destroy_device(other));
}

CHILD(escape_across_adapters)
{
	D3DKMT_ADAPTERINFO infos[2];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 2, .pAdapters = infos };
	struct softgpu_escape_echo echo = echo_of(11);
	D3DKMT_ESCAPE args = escape_with(&echo);

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS && all.NumAdapters == 2);
	args.hAdapter = infos[0].hAdapter;
	args.hDevice = child_create_device(infos[1].hAdapter);
	CHILD_EXPECT(D3DKMTEscape(&args) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(strcmp(last_refusal().rule, "API-VALUE") == 0);
	CHILD_EXPECT(strcmp(last_refusal().argument, "hDevice") == 0);
	args.hAdapter = infos[1].hAdapter;
	CHILD_EXPECT(D3DKMTEscape(&args) == STATUS_SUCCESS);
	CHILD_EXPECT(echo.had == SOFTGPU_ECHO_HAD_DEVICE);
	return 0;
}

TEST(escape, a_device_of_another_adapter_is_refused)
{
	EXPECT_CHILD(run_child("escape_across_adapters",
			       profile_setting("{\"adapters\":[{\"driver\":\"soft\"},"
					       "{\"driver\":\"soft\"}]}")),
		     0);
}

TEST(escape, each_reserved_flag_is_refused)
{
	for (unsigned bit = 8; bit < 32; bit++) {
		struct softgpu_escape_echo echo = echo_of(6);
		D3DKMT_ESCAPE args = escape_with(&echo);
		args.Flags.Value = 1u << bit;
		EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-RESERVED",
			       "Flags");
	}
	/* Internal ones that no client may set. */
	for (unsigned bit = 4; bit < 6; bit++) {
		struct softgpu_escape_echo echo = echo_of(6);
		D3DKMT_ESCAPE args = escape_with(&echo);
		args.Flags.Value = 1u << bit;
		EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-RESERVED",
			       "Flags");
	}
}

TEST(escape, hardware_access_excludes_what_the_runtime_answers)
{
	for (unsigned other = 2; other <= 4; other *= 2) {
		struct softgpu_escape_echo echo = echo_of(7);
		D3DKMT_ESCAPE args = escape_with(&echo);
		args.Flags.Value = 1 | other;
		EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
	}
}

TEST(escape, what_is_not_built_says_so)
{
	static const unsigned flags[] = { 0x02, 0x04, 0x80 };

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct softgpu_escape_echo echo = echo_of(8);
		D3DKMT_ESCAPE args = escape_with(&echo);
		args.Flags.Value = flags[i];
		EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_NOT_SUPPORTED, "API-NOT-BUILT", "Flags");
	}
	for (unsigned type = 1; type < 40; type++) {
		struct softgpu_escape_echo echo = echo_of(8);
		D3DKMT_ESCAPE args = escape_with(&echo);
		args.Type = (D3DKMT_ESCAPETYPE)type;
		/* They are: recovery_test.c, control_test.c. */
		if (type == D3DKMT_ESCAPE_TDRDBGCTRL || type == D3DKMT_ESCAPE_VIDMM ||
		    type == D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION ||
		    type == D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION)
			continue;
		EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_NOT_SUPPORTED, "API-NOT-BUILT", "Type");
	}
}

TEST(escape, sizes_are_checked_before_the_bytes_are_read)
{
	struct softgpu_escape_echo echo = echo_of(9);
	D3DKMT_ESCAPE args = escape_with(&echo);

	args.pPrivateDriverData = NULL;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "pPrivateDriverData");
	args.pPrivateDriverData = &echo;
	args.PrivateDriverDataSize = 0xffffffff;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "API-COUNT",
		       "PrivateDriverDataSize");
	args.PrivateDriverDataSize = sizeof(echo) - 1;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "DDI-STATUS",
		       "DxgkDdiEscape");
	args.PrivateDriverDataSize = 0;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "DDI-STATUS",
		       "DxgkDdiEscape");
	args.pPrivateDriverData = NULL;
	EXPECT_REFUSED(D3DKMTEscape(&args), STATUS_INVALID_PARAMETER, "DDI-STATUS",
		       "DxgkDdiEscape");
}

TEST(escape, info_counts_what_the_driver_holds)
{
	D3DKMT_HANDLE device = create_device(adapter);
	struct softgpu_escape_info before = soft_info(adapter);
	D3DKMT_HANDLE second = create_device(adapter);
	create_context(second);
	create_context(second);
	struct softgpu_escape_info between = soft_info(adapter);
	EXPECT_OK(destroy_device(second));
	struct softgpu_escape_info after = soft_info(adapter);

	EXPECT_EQ(between.live_processes, before.live_processes);
	EXPECT_EQ(between.live_devices, before.live_devices + 1);
	EXPECT_EQ(between.live_contexts, before.live_contexts + 2);
	EXPECT_EQ(after.live_devices, before.live_devices);
	EXPECT_EQ(after.live_contexts, before.live_contexts);
	EXPECT_OK(destroy_device(device));
}

TEST(escape, leaks_nothing_whatever_the_outcome)
{
	struct softgpu_escape_echo echo = echo_of(10);
	D3DKMT_ESCAPE good = escape_with(&echo);
	D3DKMT_ESCAPE bad = good;

	bad.PrivateDriverDataSize--;
	EXPECT_OK(D3DKMTEscape(&good));
	struct dxgk_test_memory before = dxgk_test_memory();
	for (unsigned i = 0; i < 1000; i++) {
		EXPECT_OK(D3DKMTEscape(&good));
		EXPECT(D3DKMTEscape(&bad) != STATUS_SUCCESS);
	}
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		adapter = open_first_adapter();
	return api_main("api/escape", argc, argv);
}
