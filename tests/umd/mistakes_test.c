/* SPDX-License-Identifier: MIT */
/*
 * mistakes_test.c - drivers that mix up handles, want a screen, or hide a failure; and devices that are gone.
 */
#include "umd/opened.h"

static HANDLE number(uint64_t value)
{
	return (HANDLE)(uintptr_t)value;
}

static HRESULT lock_it(HANDLE of, D3DKMT_HANDLE allocation)
{
	D3DDDICB_LOCK2 args = { .hAllocation = allocation };

	return cb->pfnLock2Cb(of, &args);
}

TEST(handles, a_device_of_the_kernel_or_the_driver_is_none_of_the_runtime)
{
	D3DKMT_HANDLE handle;

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	EXPECT_S_OK(try_allocate(NULL, 1, &handle));
	EXPECT_REPORTED(lock_it(number(DxgkUmdKernelDevice(device)), handle), E_INVALIDARG,
			"UMD-HANDLE-WORLD", "hDevice");
	EXPECT_STRING(reported.callback, "pfnLock2Cb");
	EXPECT_REPORTED(lock_it(DxgkUmdDriverDevice(device), handle), E_INVALIDARG,
			"UMD-HANDLE-WORLD", "hDevice");
	EXPECT_REPORTED(lock_it(probe->adapter, handle), E_INVALIDARG, "UMD-HANDLE", "hDevice");
	EXPECT_REPORTED(lock_it(NULL, handle), E_INVALIDARG, "UMD-HANDLE", "hDevice");
	EXPECT_REPORTED(cb->pfnLock2Cb(rt, NULL), E_INVALIDARG, "UMD-HANDLE", "pData");
	EXPECT_S_OK(deallocate(NULL, 1, &handle));
	close_probe();
	/* … and that of a device that is gone neither. */
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	HANDLE old = rt;
	close_probe();
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	EXPECT(old != rt);
	EXPECT_REPORTED(lock_it(old, 0), E_INVALIDARG, "UMD-HANDLE", "hDevice");
	close_probe();
}

#define PROBE_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, close_probe(), suite, claim)

PROBE_TEST(handles, the_two_worlds_are_told_apart_in_both_directions,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handle;

	struct dxgk_umd_resource resource = make_resource();
	HANDLE context = make_context();
	EXPECT_S_OK(try_allocate(resource.runtime, 1, &handle));

	/* The kernel's, where the runtime's belongs. */
	EXPECT_REPORTED(deallocate(number(DxgkUmdKernelResource(device, &resource)), 0, NULL),
			E_INVALIDARG, "UMD-HANDLE-WORLD", "hResource");
	EXPECT_REPORTED(deallocate(number(handle), 0, NULL), E_INVALIDARG, "UMD-HANDLE-WORLD",
			"hResource");
	EXPECT_REPORTED(try_allocate(number(handle), 1, &handle), E_INVALIDARG, "UMD-HANDLE-WORLD",
			"hResource");
	/* The runtime's, cut to 32 bits, where the kernel's belongs. */
	D3DKMT_HANDLE list[2] = { 0, (D3DKMT_HANDLE)(uintptr_t)resource.runtime };
	EXPECT_S_OK(try_allocate(NULL, 1, &list[0]));
	EXPECT_REPORTED(lock_it(rt, list[1]), E_INVALIDARG, "UMD-HANDLE-WORLD", "hAllocation");
	EXPECT_REPORTED(deallocate(NULL, 2, list), E_INVALIDARG, "UMD-HANDLE-WORLD", "HandleList");
	EXPECT_S_OK(deallocate(NULL, 1, list));
	/* Of the right world and the wrong kind. */
	EXPECT_REPORTED(deallocate(context, 0, NULL), E_INVALIDARG, "UMD-HANDLE", "hResource");
	D3DDDICB_DESTROYCONTEXT destroy = { resource.runtime };
	EXPECT_REPORTED(cb->pfnDestroyContextCb(rt, &destroy), E_INVALIDARG, "UMD-HANDLE",
			"hContext");
	/* Ended. */
	end_context(context);
	destroy.hContext = context;
	EXPECT_REPORTED(cb->pfnDestroyContextCb(rt, &destroy), E_INVALIDARG, "UMD-HANDLE",
			"hContext");
	/* The slot is used again, the handle is not. */
	HANDLE next = make_context();
	EXPECT(next != context);
	EXPECT_REPORTED(cb->pfnDestroyContextCb(rt, &destroy), E_INVALIDARG, "UMD-HANDLE",
			"hContext");
	end_context(next);
	EXPECT_S_OK(deallocate(resource.runtime, 0, NULL));
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
}

PROBE_TEST(handles, one_device_does_not_take_anothers,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	struct dxgk_umd_device *second;

	HANDLE context = make_context();
	EXPECT_S_OK(DxgkUmdCreateDevice(adapter, 0, &second));
	D3DDDICB_DESTROYCONTEXT destroy = { context };
	EXPECT_REPORTED(cb->pfnDestroyContextCb(probe->device, &destroy), E_INVALIDARG,
			"UMD-HANDLE", "hContext");
	EXPECT_REPORTED(DxgkUmdCloseAdapter(adapter), E_INVALIDARG, "UMD-LEFT", "adapter");
	EXPECT_S_OK(DxgkUmdDestroyDevice(second));
	end_context(context);
}

PROBE_TEST(display, what_needs_a_screen_is_refused_with_a_reason,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
#define REFUSED(name, rule)                                                                        \
	EXPECT_REPORTED(cb->pfn##name##Cb(rt, NULL), E_NOTIMPL, rule, "");                         \
	EXPECT_STRING(reported.callback, "pfn" #name "Cb")
	REFUSED(SetDisplayMode, "UMD-DISPLAY");
	REFUSED(Present, "UMD-DISPLAY");
	REFUSED(CreateOverlay, "UMD-DISPLAY");
	REFUSED(UpdateOverlay, "UMD-DISPLAY");
	REFUSED(FlipOverlay, "UMD-DISPLAY");
	REFUSED(DestroyOverlay, "UMD-DISPLAY");
	REFUSED(SetDisplayPrivateDriverFormat, "UMD-DISPLAY");
	REFUSED(PresentMultiPlaneOverlay, "UMD-DISPLAY");
	REFUSED(GetResourcePresentPrivateDriverData, "UMD-DISPLAY");
	REFUSED(AcquireResource, "UMD-DISPLAY");
	REFUSED(ReleaseResource, "UMD-DISPLAY");
	REFUSED(SubmitPresentBltToHwQueue, "UMD-DISPLAY");
	REFUSED(SubmitPresentToHwQueue, "UMD-DISPLAY");
	REFUSED(SubmitHistorySequence, "UMD-NOT-BUILT");
	REFUSED(CreateNativeFence, "UMD-NOT-BUILT");
}

/* ---- chosen failures ---- */

static HRESULT seen;
static HRESULT told;
static D3DKMT_HANDLE made;

/* A driver's function that allocates twice, and tells what the test has it tell. */
static HRESULT allocates(void)
{
	EXPECT_S_OK(try_allocate(NULL, 1, &made));
	EXPECT_S_OK(deallocate(NULL, 1, &made));
	seen = try_allocate(NULL, 1, &made);
	if (SUCCEEDED(seen))
		EXPECT_S_OK(deallocate(NULL, 1, &made));
	return told;
}

PROBE_TEST(failure, the_nth_call_fails_as_chosen_and_does_nothing,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	probe->in_flush = allocates;
	unsigned before = live_allocations();
	EXPECT_EQ(DxgkUmdFailNth("NoSuchCallback", 1, E_FAIL), 0);
	EXPECT_EQ(DxgkUmdFailNth("Allocate", 2, E_OUTOFMEMORY), 1);
	told = E_OUTOFMEMORY;
	EXPECT_HR(DXGK_UMD_CALL(device, pfnFlush(DxgkUmdDriverDevice(device))), E_OUTOFMEMORY);
	EXPECT_EQ(seen, E_OUTOFMEMORY);
	EXPECT_EQ(DxgkUmdFailStop(), 1);
	EXPECT_EQ(reported.count, 0);
	EXPECT(live_allocations() <= before + 1);
	/* Once. */
	told = S_OK;
	EXPECT_S_OK(DXGK_UMD_CALL(device, pfnFlush(DxgkUmdDriverDevice(device))));
	EXPECT_EQ(seen, S_OK);
	EXPECT_EQ(reported.count, 0);
}

PROBE_TEST(failure, a_driver_that_hides_it_is_reported,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	probe->in_flush = allocates;
	EXPECT_EQ(DxgkUmdFailNth("Allocate", 2, D3DERR_OUTOFVIDEOMEMORY), 1);
	told = S_OK;
	EXPECT_REPORTED(DXGK_UMD_CALL(device, pfnFlush(DxgkUmdDriverDevice(device))), S_OK,
			"UMD-FAILURE-HIDDEN", "");
	EXPECT_STRING(reported.callback, "pfnAllocateCb");
	EXPECT_STRING(reported.ddi, "pfnFlush");
	EXPECT_EQ(seen, D3DERR_OUTOFVIDEOMEMORY);
}

PROBE_TEST(failure, a_removed_device_is_passed_on_unchanged,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	probe->in_flush = allocates;
	EXPECT_EQ(DxgkUmdFailNth("Allocate", 2, D3DDDIERR_DEVICEREMOVED), 1);
	told = E_FAIL;
	EXPECT_REPORTED(DXGK_UMD_CALL(device, pfnFlush(DxgkUmdDriverDevice(device))), E_FAIL,
			"UMD-REMOVED-CHANGED", "");
	EXPECT_EQ(DxgkUmdFailNth("Allocate", 2, D3DDDIERR_DEVICEREMOVED), 1);
	told = D3DDDIERR_DEVICEREMOVED;
	reported.count = 0;
	EXPECT_HR(DXGK_UMD_CALL(device, pfnFlush(DxgkUmdDriverDevice(device))),
		  D3DDDIERR_DEVICEREMOVED);
	EXPECT_EQ(reported.count, 0);
}

static struct dxgk_umd_resource kept;

static HRESULT deallocates(HANDLE hResource)
{
	(void)hResource;
	return deallocate(kept.runtime, 0, NULL);
}

PROBE_TEST(failure, a_resource_whose_destruction_failed_is_still_there,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handle;

	kept = make_resource();
	EXPECT_S_OK(try_allocate(kept.runtime, 1, &handle));
	probe->in_destroy = deallocates;
	EXPECT_EQ(DxgkUmdFailNth("Deallocate", 1, E_INVALIDARG), 1);
	EXPECT_HR(DxgkUmdDestroyResource(device, &kept), E_INVALIDARG);
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &kept));
	EXPECT_EQ(reported.count, 0);
}

TEST(failure, a_device_that_is_made_to_fail_never_reaches_the_driver)
{
	struct dxgk_umd_device *second = NULL;

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	EXPECT_EQ(probe->create_count, 1);
	EXPECT_EQ(DxgkUmdFailNth("CreateDevice", 1, D3DDDIERR_DEVICEREMOVED), 1);
	EXPECT_HR(DxgkUmdCreateDevice(adapter, 0, &second), D3DDDIERR_DEVICEREMOVED);
	EXPECT_EQ(DxgkUmdFailStop(), 1);
	EXPECT(second == NULL);
	EXPECT_EQ(probe->create_count, 1);
	/* One that is not destroyed is there as before, and can be used and destroyed. */
	EXPECT_EQ(DxgkUmdFailNth("DestroyDevice", 1, E_OUTOFMEMORY), 1);
	EXPECT_HR(DxgkUmdDestroyDevice(device), E_OUTOFMEMORY);
	EXPECT_EQ(DxgkUmdFailStop(), 1);
	EXPECT_EQ(probe->destroy_count, 0);
	end_context(make_context());
	EXPECT_EQ(reported.count, 0);
	close_probe();
	EXPECT_EQ(probe->destroy_count, 1);
}

PROBE_TEST(failure, what_is_no_driver_is_not_opened, open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	struct dxgk_umd_adapter *none = NULL;

	EXPECT_REPORTED(DxgkUmdOpenAdapter("/nowhere/driver.so", luid, &none), E_INVALIDARG,
			"UMD-OPEN", "driver_path");
	EXPECT_REPORTED(DxgkUmdOpenAdapter("libc.so.6", luid, &none), E_INVALIDARG, "UMD-OPEN",
			"driver_path");
	EXPECT_HR(DxgkUmdOpenAdapter(getenv("TEST_UMD_PROBE"), (LUID){ 0x7777, 0 }, &none),
		  E_INVALIDARG);
	EXPECT(none == NULL);
	EXPECT_REPORTED(DxgkUmdOpenAdapter(NULL, luid, &none), E_INVALIDARG, "UMD-OPEN",
			"driver_path");
	EXPECT_REPORTED(DxgkUmdOpenAdapter(getenv("TEST_UMD_PROBE"), luid, NULL), E_INVALIDARG,
			"UMD-OPEN", "adapter_out");
}

PROBE_TEST(failure, a_driver_without_what_is_needed_is_told_what_that_is,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	const char *path = getenv("TEST_UMD_PROBE");
	struct dxgk_umd_adapter *none = NULL;
	struct dxgk_umd_device *nothing = NULL;

	probe->forgets = FORGETS_CREATE_DEVICE;
	EXPECT_REPORTED(DxgkUmdOpenAdapter(path, luid, &none), E_FAIL, "UMD-OPEN", "pAdapterFuncs");
	EXPECT_STRING(reported.sentence, "has no pfnCreateDevice");
	probe->forgets = FORGETS_CLOSE_ADAPTER;
	EXPECT_REPORTED(DxgkUmdOpenAdapter(path, luid, &none), E_FAIL, "UMD-OPEN", "pAdapterFuncs");
	EXPECT_STRING(reported.sentence, "has no pfnCloseAdapter");
	probe->forgets = FORGETS_DESTROY_DEVICE;
	EXPECT_REPORTED(DxgkUmdCreateDevice(adapter, 0, &nothing), E_FAIL, "UMD-OPEN",
			"pDeviceFuncs");
	probe->forgets = FORGETS_NOTHING;
	probe->version = D3D_UMD_INTERFACE_VERSION_VISTA - 1;
	EXPECT_REPORTED(DxgkUmdOpenAdapter(path, luid, &none), E_FAIL, "UMD-OPEN", "DriverVersion");
	EXPECT(!none && !nothing);
}

PROBE_TEST(failure, what_is_nothing_or_has_ended_is_not_ended_again,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	struct dxgk_umd_device *nothing = NULL;

	EXPECT_REPORTED(DxgkUmdCreateDevice(adapter, 0, NULL), E_INVALIDARG, "UMD-OPEN",
			"device_out");
	EXPECT_REPORTED(DxgkUmdCreateDevice(NULL, 0, &nothing), E_INVALIDARG, "UMD-HANDLE",
			"adapter");
	EXPECT_REPORTED(DxgkUmdDestroyDevice(NULL), E_INVALIDARG, "UMD-HANDLE", "device");
	EXPECT_REPORTED(DxgkUmdCloseAdapter(NULL), E_INVALIDARG, "UMD-HANDLE", "adapter");
	EXPECT_REPORTED(DxgkUmdCloseAdapter(adapter), E_INVALIDARG, "UMD-LEFT", "adapter");
	EXPECT_S_OK(DxgkUmdDestroyDevice(device));
	EXPECT_REPORTED(DxgkUmdDestroyDevice(device), E_INVALIDARG, "UMD-HANDLE", "device");
	EXPECT_S_OK(DxgkUmdCloseAdapter(adapter));
	EXPECT_REPORTED(DxgkUmdCloseAdapter(adapter), E_INVALIDARG, "UMD-HANDLE", "adapter");
	EXPECT_REPORTED(DxgkUmdCreateDevice(adapter, 0, &nothing), E_INVALIDARG, "UMD-HANDLE",
			"adapter");
	EXPECT(!nothing && probe->destroy_count == 1);
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1); /* it is closed after each test */
}

/* ---- memory that is short, devices that are gone ---- */

PROBE_TEST(trim, a_request_that_does_not_fit_says_how_much_to_trim,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	enum { BYTES = 512 << 20 };
	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };
	struct creation creation;

	EXPECT_S_OK(cb->pfnCreatePagingQueueCb(rt, &queue));
	creation_init(&creation, 0, 1);
	creation.data[0].size_bytes = BYTES;
	creation.data[0].flags = SOFTGPU_LOCAL_ONLY;
	D3DDDICB_ALLOCATE args = { .NumAllocations = 1, .pAllocationInfo2 = creation.elements };
	EXPECT_S_OK(cb->pfnAllocateCb(rt, &args));
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue.hPagingQueue,
					 .NumAllocations = 1,
					 .AllocationList = &creation.elements[0].hAllocation };
	EXPECT_HR(cb->pfnMakeResidentCb(rt, &resident), E_OUTOFMEMORY);
	EXPECT(resident.NumBytesToTrim > 0);
}

PROBE_TEST(gone, what_is_held_is_released_when_the_adapter_is_gone,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[2];

	struct dxgk_umd_resource resource = make_resource();
	HANDLE context = make_context();
	EXPECT_S_OK(try_allocate(resource.runtime, 1, handles));
	EXPECT_S_OK(try_allocate(NULL, 1, &handles[1]));
	EXPECT_EQ(dxgk_test_remove_adapter(luid.LowPart, luid.HighPart, 1), 1);
	EXPECT_HR(try_allocate(NULL, 1, &handles[0]), D3DDDIERR_DEVICEREMOVED);
	EXPECT_S_OK(deallocate(NULL, 1, &handles[1]));
	EXPECT_S_OK(deallocate(resource.runtime, 0, NULL));
	end_context(context);
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
	EXPECT_EQ(reported.count, 0);
}

API_TEST_MAIN("umd/mistakes")
