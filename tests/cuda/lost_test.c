/* SPDX-License-Identifier: MIT */
/*
 * lost_test.c - the context of the GPU's memory is lost, as after a bad pointer in a kernel of the
 * driver's: the adapter is reset, devices are lost, and new ones work.
 */
#include <dlfcn.h>

#include "api/soft_work.h"
#include "cuda/libcuda.h"

static void lose(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	test_cuda_lose *lose_contexts = NULL;

	EXPECT(library);
	*(void **)&lose_contexts = dlsym(library, "test_cuda_lose_contexts");
	EXPECT(lose_contexts);
	lose_contexts();
	dlclose(library);
}

TEST(lost_context, is_an_adapter_reset_after_which_new_devices_work)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct worker worker;
	struct row row = { 0 };

	for (unsigned turn = 0; turn < 2; turn++) {
		row.used_bytes = 0;
		worker_open(&worker, adapter);
		add_write(&row, worker.data, 7);
		worker_run(&worker, &row);
		worker_wait(&worker);
		EXPECT_EQ(state_of(&worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
		lose();
		worker_run(&worker, &row);
		worker_wait(&worker);
		while (state_of(&worker) == D3DKMT_DEVICEEXECUTION_ACTIVE)
			worker_pause(&worker);
		EXPECT(state_of(&worker) == D3DKMT_DEVICEEXECUTION_RESET ||
		       state_of(&worker) == D3DKMT_DEVICEEXECUTION_HUNG);
		worker_close(&worker);
		expect_work_gets_done(adapter);
	}
}

TEST_MAIN("cuda/lost")
