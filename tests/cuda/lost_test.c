/* SPDX-License-Identifier: MIT */
/*
 * lost_test.c - the context of the GPU's memory is lost, as after a bad pointer in a kernel of the
 * driver's, or because a call of the driver API fails: the adapter is reset, devices are lost, and new ones
 * work. Whatever is under way.
 */
#include <dlfcn.h>

#include "api/soft_work.h"
#include "cuda/libcuda.h"

static void *find_in_library(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	EXPECT(library);
	void *found = dlsym(library, name);
	EXPECT(found);
	dlclose(library);
	return found;
}

static void lose(void)
{
	test_cuda_lose *lose_contexts = NULL;

	*(void **)&lose_contexts = find_in_library("test_cuda_lose_contexts");
	lose_contexts();
}

static void fail_in(uint64_t calls)
{
	test_cuda_fail_after *fail_after = NULL;

	*(void **)&fail_after = find_in_library("test_cuda_fail_in");
	fail_after(calls);
}

enum { MANY = 24 };

/* One after the other; later ones may come too late. */
static void submit_many(struct worker *worker)
{
	struct softgpu_busy busy = { .header = command(SOFTGPU_BUSY, sizeof(busy)),
				     .microseconds = 500 };

	for (unsigned i = 0; i < MANY; i++) {
		struct row row = { 0 };

		row_add(&row, &busy, sizeof(busy));
		add_write(&row, worker->data + 8 * i, i + 1);
		if (worker_submit(worker, &row) != STATUS_SUCCESS)
			break;
	}
	NTSTATUS status = worker_signal(worker, ++worker->last_value);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_DEVICE_REMOVED);
}

static bool is_lost(const struct worker *worker)
{
	return state_of(worker) != D3DKMT_DEVICEEXECUTION_ACTIVE;
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

TEST(lost_context, with_many_packets_under_way_takes_all_of_them)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct worker worker;

	for (unsigned turn = 0; turn < 2; turn++) {
		worker_open(&worker, adapter);
		submit_many(&worker);
		lose();
		worker_wait(&worker);
		while (!is_lost(&worker))
			worker_pause(&worker);
		worker_close(&worker);
		expect_work_gets_done(adapter);
	}
}

/* It is lost, or the call was one whose failure costs nothing; then all was done. */
TEST(failed_call, with_many_packets_under_way_loses_all_or_nothing)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct worker worker;

	for (unsigned calls = 1; calls <= 6; calls++) {
		worker_open(&worker, adapter);
		fail_in(calls);
		submit_many(&worker);
		worker_wait(&worker);
		fail_in(0);
		for (unsigned i = 0; i < MANY && !is_lost(&worker); i++)
			EXPECT(is_lost(&worker) || worker_read(&worker, 8 * i) == i + 1);
		worker_close(&worker);
		expect_work_gets_done(adapter);
	}
}

TEST_MAIN("cuda/lost")
