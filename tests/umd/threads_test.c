/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - callbacks from several threads at once, and the way of a trim from the kernel to the driver.
 */
#include <stdatomic.h>

#include "umd/opened.h"

enum { THREADS = 4, ROUNDS = 200 };

static _Atomic unsigned wrong;

/* Each with things of its own. */
static void make_and_end(void *context)
{
	(void)context;
	for (unsigned i = 0; i < ROUNDS; i++) {
		D3DDDICB_CREATECONTEXTVIRTUAL made = { 0 };
		D3DKMT_HANDLE handles[2] = { 0 };
		bool is_good = SUCCEEDED(cb->pfnCreateContextVirtualCb(rt, &made)) &&
			       SUCCEEDED(try_allocate(NULL, 2, handles));
		D3DDDICB_LOCK2 lock = { .hAllocation = handles[0] };
		D3DDDICB_UNLOCK2 unlock = { handles[0] };
		D3DDDICB_DESTROYCONTEXT end = { made.hContext };

		is_good = is_good && SUCCEEDED(cb->pfnLock2Cb(rt, &lock)) &&
			  SUCCEEDED(cb->pfnUnlock2Cb(rt, &unlock)) &&
			  SUCCEEDED(deallocate(NULL, 2, handles)) &&
			  SUCCEEDED(cb->pfnDestroyContextCb(rt, &end));
		/* Its number is good for nobody by now, and whoever has its place has another one. */
		is_good = is_good && !SUCCEEDED(cb->pfnDestroyContextCb(rt, &end));
		atomic_fetch_add(&wrong, !is_good);
	}
}

static void ignore(void *context, const struct dxgk_umd_report *report)
{
	(void)context;
	(void)report;
}

TEST(threads, contexts_and_allocations_of_one_device_come_and_go)
{
	struct dxgk_test_thread *threads[THREADS];

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	DxgkUmdListen(ignore, NULL);
	unsigned before = live_allocations();
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = dxgk_test_thread_create(make_and_end, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		dxgk_test_thread_join(threads[i]);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(live_allocations(), before);
	DxgkUmdListen(on_report, NULL);
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

static HANDLE contested;
static _Atomic unsigned ended;

/* All of them end the same one, after the same one was made. */
static void end_the_same(void *context)
{
	D3DDDICB_DESTROYCONTEXT end = { contested };

	(void)context;
	atomic_fetch_add(&ended, SUCCEEDED(cb->pfnDestroyContextCb(rt, &end)));
}

TEST(threads, one_of_those_who_end_a_context_at_once_succeeds)
{
	struct dxgk_test_thread *threads[THREADS];

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	DxgkUmdListen(ignore, NULL);
	for (unsigned round = 1; round <= 50; round++) {
		contested = make_context();
		for (unsigned i = 0; i < THREADS; i++)
			threads[i] = dxgk_test_thread_create(end_the_same, NULL);
		for (unsigned i = 0; i < THREADS; i++)
			dxgk_test_thread_join(threads[i]);
		EXPECT_EQ(ended, round);
	}
	DxgkUmdListen(on_report, NULL);
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

/* What somebody who controls the adapter allows each process. */
static NTSTATUS set_local_budget(D3DKMT_HANDLE on, UINT64 bytes)
{
	D3DKMT_VIDMM_ESCAPE budget = { .Type = D3DKMT_VIDMMESCAPETYPE_SET_BUDGET };
	D3DKMT_ESCAPE args = { .hAdapter = on,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &budget,
			       .PrivateDriverDataSize = sizeof(budget) };

	budget.SetBudget.LocalMemoryBudget = bytes;
	budget.SetBudget.SystemMemoryBudget = UINT64_MAX;
	return D3DKMTEscape(&args);
}

TEST(trim, goes_from_the_kernel_to_the_driver)
{
	D3DKMT_HANDLE handles[16];
	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	D3DKMT_HANDLE control = first_adapter().hAdapter;
	EXPECT_OK(set_local_budget(control, UINT64_MAX));
	EXPECT_S_OK(cb->pfnCreatePagingQueueCb(rt, &queue));
	EXPECT_S_OK(try_allocate(NULL, 16, handles));
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue.hPagingQueue,
					 .NumAllocations = 16,
					 .AllocationList = handles };
	HRESULT result = cb->pfnMakeResidentCb(rt, &resident);
	EXPECT(result == S_OK || result == E_PENDING);
	EXPECT_EQ(atomic_load(&probe->trim_count), 0);
	EXPECT_OK(set_local_budget(control, 4 * SOME_BYTES));
	for (unsigned i = 0; i < 10000 && atomic_load(&probe->trim_count) == 0; i++)
		dxgk_test_sleep(1000000);
	EXPECT(atomic_load(&probe->trim_count) > 0);
	EXPECT_EQ(probe->trim.NumBytesToTrim, 12 * SOME_BYTES);
	EXPECT_EQ(probe->trim.TrimFlags.TrimToBudget, 1);

	/* What a driver does then. */
	D3DDDICB_EVICT evict = { .NumAllocations = 12, .AllocationList = handles };
	EXPECT_S_OK(cb->pfnEvictCb(rt, &evict));
	EXPECT_OK(set_local_budget(control, UINT64_MAX));
	EXPECT_S_OK(deallocate(NULL, 16, handles));
	EXPECT_OK(close_adapter(control));
	unsigned told = atomic_load(&probe->trim_count);
	close_probe();
	/* Nobody is told after the end. */
	EXPECT_EQ(atomic_load(&probe->trim_count), told);
}

API_TEST_MAIN("umd/threads")
