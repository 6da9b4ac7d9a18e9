/* SPDX-License-Identifier: MIT */
/*
 * opened.h - what tests of the runtime share: a device of the probe driver, and what is reported.
 */
#ifndef TESTS_UMD_OPENED_H
#define TESTS_UMD_OPENED_H

#include <dlfcn.h>

#include <opendxgk/umd.h>

#include "api/allocation.h"
#include "umd/probe.h"

static struct dxgk_umd_adapter *adapter;
static struct dxgk_umd_device *device;
static struct probe *probe;
static const D3DDDI_DEVICECALLBACKS *cb;
static HANDLE rt; /* the runtime's handle of the device */
static LUID luid;

static struct {
	unsigned count;
	char rule[32], callback[64], ddi[64], argument[64], sentence[256];
} reported;

static inline void on_report(void *context, const struct dxgk_umd_report *report)
{
	(void)context;
	reported.count++;
	snprintf(reported.rule, sizeof(reported.rule), "%s", report->rule);
	snprintf(reported.callback, sizeof(reported.callback), "%s", report->callback);
	snprintf(reported.ddi, sizeof(reported.ddi), "%s", report->ddi);
	snprintf(reported.argument, sizeof(reported.argument), "%s", report->argument);
	snprintf(reported.sentence, sizeof(reported.sentence), "%s", report->sentence);
}

static inline void check_result(const char *file, int line, const char *what, HRESULT result,
				HRESULT wanted)
{
	if (result == wanted)
		return;
	print_error(
		"%s:%d: %s gave 0x%08x, not 0x%08x; the last refusal: %s; the last report: %s %s\n",
		file, line, what, (unsigned)result, (unsigned)wanted, last_refusal().reason,
		reported.argument, reported.sentence);
	_fail(file, line);
}

#define EXPECT_HR(call, wanted) check_result(__FILE__, __LINE__, #call, (call), (wanted))
#define EXPECT_S_OK(call)       EXPECT_HR(call, S_OK)
/* It fails so, and one report says by which rule and about what. */
#define EXPECT_REPORTED(call, wanted, wanted_rule, wanted_argument)                                \
	do {                                                                                       \
		reported.count = 0;                                                                \
		EXPECT_HR(call, wanted);                                                           \
		EXPECT_EQ(reported.count, 1);                                                      \
		EXPECT_STRING(reported.rule, wanted_rule);                                         \
		EXPECT_STRING(reported.argument, wanted_argument);                                 \
	} while (0)
#define EXPECT_STRING(actual, wanted)                                                              \
	do {                                                                                       \
		if (strcmp(actual, wanted) != 0)                                                   \
			print_error("%s:%d: \"%s\", not \"%s\": %s\n", __FILE__, __LINE__, actual, \
				    wanted, reported.sentence);                                    \
		EXPECT(strcmp(actual, wanted) == 0);                                               \
	} while (0)

static inline void open_probe(UINT version)
{
	const char *path = getenv("TEST_UMD_PROBE");
	void *library = dlopen(path, RTLD_NOW);

	D3DKMTCloseDxCoreDevice();
	DxgkUmdListen(on_report, NULL);
	EXPECT(library != NULL);
	probe = dlsym(library, "probe");
	EXPECT(probe != NULL);
	*probe = (struct probe){ .version = version };
	D3DKMT_ADAPTERINFO first = first_adapter();
	EXPECT_OK(close_adapter(first.hAdapter));
	luid = first.AdapterLuid;
	EXPECT_S_OK(DxgkUmdOpenAdapter(path, luid, &adapter));
	EXPECT_S_OK(DxgkUmdCreateDevice(adapter, 0, &device));
	cb = probe->callbacks;
	rt = probe->device;
	reported.count = 0;
}

static inline void close_probe(void)
{
	EXPECT_S_OK(DxgkUmdDestroyDevice(device));
	EXPECT_S_OK(DxgkUmdCloseAdapter(adapter));
}

static inline struct dxgk_umd_resource make_resource(void)
{
	D3DDDIARG_CREATERESOURCE args = { .Format = D3DDDIFMT_A8R8G8B8 };
	struct dxgk_umd_resource resource;

	EXPECT_S_OK(DxgkUmdCreateResource(device, &args, &resource));
	return resource;
}

/* `count` allocations of 64 KiB in the resource, or (NULL) on their own. */
static inline HRESULT try_allocate(HANDLE resource, unsigned count, D3DKMT_HANDLE *handles)
{
	struct creation creation;

	creation_init(&creation, 0, count);
	D3DDDICB_ALLOCATE args = { .hResource = resource,
				   .NumAllocations = count,
				   .pAllocationInfo2 = creation.elements };
	HRESULT result = cb->pfnAllocateCb(rt, &args);
	for (unsigned i = 0; i < count; i++)
		handles[i] = creation.elements[i].hAllocation;
	if (SUCCEEDED(result) && resource)
		EXPECT(is_local_handle(args.hKMResource));
	return result;
}

static inline HRESULT deallocate(HANDLE resource, unsigned count, const D3DKMT_HANDLE *handles)
{
	D3DDDICB_DEALLOCATE args = { resource, count, handles };

	return cb->pfnDeallocateCb(rt, &args);
}

static inline HANDLE make_context(void)
{
	D3DDDICB_CREATECONTEXTVIRTUAL args = { 0 };

	EXPECT_S_OK(cb->pfnCreateContextVirtualCb(rt, &args));
	return args.hContext;
}

static inline void end_context(HANDLE context)
{
	D3DDDICB_DESTROYCONTEXT args = { context };

	EXPECT_S_OK(cb->pfnDestroyContextCb(rt, &args));
}

/* What the miniport has, apart from what the kernel itself made. */
static inline unsigned live_allocations(void)
{
	struct softgpu_escape_info info = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_INFO, sizeof(info), 0 },
	};
	D3DDDICB_ESCAPE args = { .pPrivateDriverData = &info,
				 .PrivateDriverDataSize = sizeof(info) };

	EXPECT_S_OK(cb->pfnEscapeCb(probe->adapter, &args));
	return info.live_allocations;
}

#endif
