/* SPDX-License-Identifier: MIT */
/*
 * contested_test.c - what is ended twice at once. The kernel's call is this program's, which does, while the runtime is in it,
 * what another thread may do then.
 */
#include "base/attributes.h"
#include "umd/opened.h"

static void (*meanwhile)(void);
static NTSTATUS refusal; /* of the next call; the kernel never hears of it */

#define CONTESTED(name, type)                                                                      \
	EXPORTED NTSTATUS APIENTRY name(type *args)                                                \
	{                                                                                          \
		NTSTATUS(APIENTRY *kernel)(type *);                                                \
		void *symbol = dlsym(RTLD_NEXT, #name);                                            \
		void (*now)(void) = meanwhile;                                                     \
		NTSTATUS refused = refusal;                                                        \
                                                                                                   \
		meanwhile = NULL;                                                                  \
		refusal = STATUS_SUCCESS;                                                          \
		if (now)                                                                           \
			now();                                                                     \
		memcpy(&kernel, &symbol, sizeof(symbol));                                          \
		return NT_SUCCESS(refused) ? kernel(args) : refused;                               \
	}

CONTESTED(D3DKMTDestroyContext, CONST D3DKMT_DESTROYCONTEXT)
CONTESTED(D3DKMTCreateAllocation2, D3DKMT_CREATEALLOCATION)
CONTESTED(D3DKMTDestroyAllocation2, CONST D3DKMT_DESTROYALLOCATION2)

static HANDLE contested, innocent;
static HRESULT second;

static HRESULT try_end(HANDLE context)
{
	D3DDDICB_DESTROYCONTEXT args = { context };

	return cb->pfnDestroyContextCb(rt, &args);
}

static HRESULT submit_to(HANDLE context)
{
	D3DDDICB_SUBMITCOMMAND args = { .CommandLength = 8,
					.BroadcastContextCount = 1,
					.BroadcastContext = { context } };

	args.Flags.NullRendering = 1;
	return cb->pfnSubmitCommandCb(rt, &args);
}

static void end_it_too(void)
{
	second = try_end(contested);
	innocent = make_context();
}

TEST(contested, a_context_that_is_being_ended_is_not_ended_again)
{
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	contested = make_context();
	meanwhile = end_it_too;
	EXPECT_S_OK(try_end(contested));
	EXPECT_EQ(second, E_INVALIDARG);
	EXPECT_EQ(reported.count, 1);
	EXPECT_STRING(reported.rule, "UMD-HANDLE");
	EXPECT_STRING(reported.argument, "hContext");
	/* What was made meanwhile has a place of its own. */
	HANDLE next = make_context();
	EXPECT(next != innocent);
	EXPECT_S_OK(submit_to(innocent));
	end_context(next);
	EXPECT_S_OK(submit_to(innocent));
	end_context(innocent);
	reported.count = 0;
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

static void submit_meanwhile(void)
{
	second = submit_to(contested);
}

TEST(contested, a_context_that_is_being_ended_takes_no_work)
{
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	contested = make_context();
	meanwhile = submit_meanwhile;
	EXPECT_S_OK(try_end(contested));
	EXPECT_EQ(second, E_INVALIDARG);
	EXPECT_STRING(reported.rule, "UMD-HANDLE");
	close_probe();
}

TEST(contested, a_context_that_the_kernel_did_not_end_is_there_as_before)
{
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	contested = make_context();
	refusal = STATUS_NO_MEMORY;
	EXPECT_HR(try_end(contested), E_OUTOFMEMORY);
	EXPECT_S_OK(submit_to(contested));
	EXPECT_S_OK(try_end(contested));
	EXPECT_EQ(reported.count, 0);
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

static struct dxgk_umd_resource kept;

static HRESULT destroy_it_too(HANDLE hResource)
{
	struct dxgk_umd_resource same = kept;

	(void)hResource;
	probe->in_destroy = NULL;
	second = DxgkUmdDestroyResource(device, &same);
	return S_OK;
}

TEST(contested, a_resource_ends_once)
{
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	kept = make_resource();
	probe->in_destroy = destroy_it_too;
	EXPECT_REPORTED(DxgkUmdDestroyResource(device, &kept), E_INVALIDARG, "UMD-HANDLE",
			"resource");
	EXPECT_EQ(second, S_OK);
	struct dxgk_umd_resource two[2] = { make_resource(), make_resource() };
	EXPECT(two[0].runtime != two[1].runtime);
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &two[0]));
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &two[1]));
	reported.count = 0;
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

/* What another thread does to the resource, and that it is told to be too early, or too late. */
static void allocate_and_deallocate_it_too(void)
{
	D3DKMT_HANDLE handle;

	EXPECT_REPORTED(try_allocate(kept.runtime, 1, &handle), E_INVALIDARG, "UMD-RESOURCE-BUSY",
			"hResource");
	EXPECT_REPORTED(deallocate(kept.runtime, 0, NULL), E_INVALIDARG, "UMD-RESOURCE-BUSY",
			"hResource");
	second = S_OK;
}

TEST(contested, a_resource_that_is_being_made_or_ended_is_nobody_elses_meanwhile)
{
	D3DKMT_HANDLE first, another;

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	unsigned before = live_allocations();
	kept = make_resource();
	second = E_FAIL;
	meanwhile = allocate_and_deallocate_it_too;
	EXPECT_S_OK(try_allocate(kept.runtime, 1, &first));
	EXPECT_EQ(second, S_OK);
	EXPECT_S_OK(try_allocate(kept.runtime, 1, &another));
	EXPECT_EQ(live_allocations(), before + 2);
	second = E_FAIL;
	meanwhile = allocate_and_deallocate_it_too;
	EXPECT_S_OK(deallocate(kept.runtime, 0, NULL));
	EXPECT_EQ(second, S_OK);
	EXPECT_EQ(live_allocations(), before);
	reported.count = 0;
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &kept));
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

API_TEST_MAIN("umd/contested")
