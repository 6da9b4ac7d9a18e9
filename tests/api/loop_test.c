/* SPDX-License-Identifier: MIT */
/*
 * loop_test.c - work of the software GPU that never ends but lets itself be preempted, and somebody
 * new beside it, who pages and works on its engine.
 */
#include "api/soft_work.h"

enum { SHARE_MIB = 3, ROUNDS = 10 }; /* of 8 MiB there are */

/* Another context, whose work is never late. */
static void forget_the_clock(struct worker *worker)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = worker->client.device,
					     .Flags.DisableGpuTimeout = 1 };

	EXPECT_OK(D3DKMTCreateContextVirtual(&args));
	worker->context = args.hContext;
}

static void hold_memory(const struct client *client)
{
	D3DKMT_HANDLE held = create_sized(client, SHARE_MIB * MIB, SOFTGPU_LOCAL_ONLY);

	EXPECT_OK(make_resident(client, &held, 1, 0));
}

/* Its memory is there, and it is at it. */
static void begin_loop(struct worker *worker, bool is_never_late)
{
	struct row row = { 0 };

	D3DKMTCloseDxCoreDevice();
	worker_open(worker, open_first_adapter());
	if (is_never_late)
		forget_the_clock(worker);
	hold_memory(&worker->client);
	add_write(&row, worker->data, 1);
	add_loop(&row);
	add_write(&row, worker->data, 2);
	worker_run(worker, &row);
}

static void expect_still_looping(const struct worker *worker)
{
	EXPECT_EQ(state_of(worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT_EQ(*worker->value, 0);
}

static void expect_rounds_of_work(D3DKMT_HANDLE adapter)
{
	struct worker worker;

	worker_open(&worker, adapter);
	hold_memory(&worker.client);
	/* Each waits for the last one, so that the loop is always there before it. */
	for (unsigned i = 1; i <= ROUNDS; i++) {
		struct row row = { 0 };

		add_write(&row, worker.data, i);
		worker_run(&worker, &row);
		worker_wait(&worker);
		EXPECT_EQ(worker_read(&worker, 0), i);
	}
	worker_close(&worker);
}

TEST(loop, lets_a_new_device_page_and_work_beside_it)
{
	struct worker worker;

	begin_loop(&worker, false);
	expect_rounds_of_work(worker.client.adapter);
	expect_still_looping(&worker);
	expect_valid();
}

TEST(loop, that_is_never_late_lets_others_work_all_the_same)
{
	SKIP_UNLESS(!is_physical(), "its contexts cannot be told to forget the clock");

	struct worker worker;

	begin_loop(&worker, true);
	expect_rounds_of_work(worker.client.adapter);
	expect_still_looping(&worker);
	expect_valid();
}

TEST(loop, ends_with_its_device)
{
	struct worker worker;

	begin_loop(&worker, false);
	worker_close(&worker);
	expect_work_gets_done(worker.client.adapter);
	expect_valid();
}

API_TEST_MAIN("api/loop")
