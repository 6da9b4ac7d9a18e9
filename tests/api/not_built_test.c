/* SPDX-License-Identifier: MIT */
/*
 * not_built_test.c - every name clients look for is there; those not built say so.
 */
#include "api/support.h"

#include <dlfcn.h>

/* Without one of these compute-runtime finds no device at all, and does not say why. */
static const char *const mandatory[] = {
	"D3DKMTOpenAdapterFromLuid",
	"D3DKMTCreateAllocation2",
	"D3DKMTDestroyAllocation2",
	"D3DKMTShareObjects",
	"D3DKMTQueryAdapterInfo",
	"D3DKMTCloseAdapter",
	"D3DKMTCreateDevice",
	"D3DKMTDestroyDevice",
	"D3DKMTEscape",
	"D3DKMTCreateContextVirtual",
	"D3DKMTDestroyContext",
	"D3DKMTOpenResource",
	"D3DKMTQueryResourceInfo",
	"D3DKMTCreateSynchronizationObject",
	"D3DKMTCreateSynchronizationObject2",
	"D3DKMTDestroySynchronizationObject",
	"D3DKMTSignalSynchronizationObject",
	"D3DKMTWaitForSynchronizationObject",
	"D3DKMTWaitForSynchronizationObjectFromCpu",
	"D3DKMTSignalSynchronizationObjectFromCpu",
	"D3DKMTWaitForSynchronizationObjectFromGpu",
	"D3DKMTSignalSynchronizationObjectFromGpu",
	"D3DKMTCreatePagingQueue",
	"D3DKMTDestroyPagingQueue",
	"D3DKMTLock2",
	"D3DKMTUnlock2",
	"D3DKMTMapGpuVirtualAddress",
	"D3DKMTReserveGpuVirtualAddress",
	"D3DKMTFreeGpuVirtualAddress",
	"D3DKMTUpdateGpuVirtualAddress",
	"D3DKMTSubmitCommand",
	"D3DKMTMakeResident",
	"D3DKMTEvict",
	"D3DKMTSetContextSchedulingPriority",
};

/* From the list of calls itself, so that this test need not change when one is built. */
static const char *const not_built[] = {
#define CALL(id, name, type, constness, ...)
#define CALL_NOT_BUILT(name, type, constness) #name,
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
	NULL
};

/* These take no struct, or no argument at all. */
static const char *const others[] = { "D3DKMTShareObjects",
				      "D3DKMTShareObjectsInternal",
				      "D3DKMTSetProcessSchedulingPriorityClass",
				      "D3DKMTGetProcessSchedulingPriorityClass",
				      "D3DKMTCloseDxCoreDevice",
				      "DxgkLastRefusal",
				      "DXCoreCreateAdapterFactory" };

static void *library(void)
{
	static void *handle;

	if (!handle)
		handle = dlopen("libdxcore.so", RTLD_NOW);
	EXPECT(handle);
	return handle;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count && names[i]; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

TEST(exports, the_34_names_without_which_compute_runtime_gives_up_are_there)
{
	EXPECT_EQ(sizeof(mandatory) / sizeof(mandatory[0]), 34);
	for (unsigned i = 0; i < sizeof(mandatory) / sizeof(mandatory[0]); i++) {
		if (!dlsym(library(), mandatory[i]))
			print_error("%s is missing\n", mandatory[i]);
		EXPECT(dlsym(library(), mandatory[i]));
	}
}

/* Calls `check` with each name of the export list. */
static unsigned for_each_export(void (*check)(const char *name, void *symbol))
{
	char name[128];
	unsigned count = 0;
	FILE *list = fopen(getenv("TEST_EXPORTS"), "r");

	EXPECT(list);
	while (fscanf(list, "%127s", name) == 1) {
		check(name, dlsym(library(), name));
		count++;
	}
	fclose(list);
	return count;
}

static void check_there(const char *name, void *symbol)
{
	if (!symbol)
		print_error("%s is missing\n", name);
	EXPECT(symbol);
}

TEST(exports, every_name_of_the_list_resolves)
{
	EXPECT(for_each_export(check_there) > 100);
}

/* A struct of zeros, far larger than any of them, stays one. */
static void check_without_struct(const char *name, void *symbol)
{
	static unsigned char zeros[4096];
	static const unsigned char still_zeros[4096];
	NTSTATUS (*call)(void *args);

	if (is_among(name, others, sizeof(others) / sizeof(others[0])))
		return;
	*(void **)&call = symbol;
	if (!is_among(name, not_built, sizeof(not_built) / sizeof(not_built[0]))) {
		EXPECT_REFUSED(call(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT", "");
		EXPECT_STR(last_refusal().call, name);
		return;
	}
	EXPECT_REFUSED(call(zeros), STATUS_NOT_IMPLEMENTED, "API-NOT-BUILT", "");
	EXPECT_STR(last_refusal().call, name);
	EXPECT_REFUSED(call(NULL), STATUS_NOT_IMPLEMENTED, "API-NOT-BUILT", "");
	EXPECT(memcmp(zeros, still_zeros, sizeof(zeros)) == 0);
}

TEST(exports, each_call_refuses_null_or_says_that_it_is_not_built)
{
	for_each_export(check_without_struct);
}

API_TEST_MAIN("api/not_built")
