/* SPDX-License-Identifier: MIT */
/*
 * suspend_test.c - SUSPEND_PROCESS and RESUME_PROCESS: what stands still, what leaves, and how it
 * goes on. On a GPU with 8 MiB, in real time and in simulated runs.
 */
#include "api/trim.h"

#include "api/soft_work.h"

static NTSTATUS suspend(const struct client *client, bool wakes)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS };

	args.SuspendProcess.hProcess = (HANDLE)(intptr_t)-1;
	args.SuspendProcess.bAllowWakeOnSubmission = wakes;
	return vidmm(client, &args);
}

static NTSTATUS resume(const struct client *client)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_RESUME_PROCESS };

	args.ResumeProcess.hProcess = (HANDLE)(intptr_t)-1;
	return vidmm(client, &args);
}

static struct worker begin_working(void)
{
	struct client client = begin_quiet();
	struct worker worker;

	worker_open(&worker, client.adapter);
	return worker;
}

static void submit_write(struct worker *worker, uint64_t value)
{
	struct row row = { 0 };

	add_write(&row, worker->data, value);
	worker_run(worker, &row);
}

#define WORKER_TEST(suite, claim, ...)                                                             \
	TEST_MADE(worker, worker, (__VA_ARGS__), expect_valid(), suite, claim)

/* ---- work ---- */

WORKER_TEST(suspend, work_stands_still_until_the_process_goes_on, begin_working())
{
	submit_write(worker, 1);
	worker_wait(worker);
	EXPECT_OK(suspend(&worker->client, false));
	submit_write(worker, 2);
	pause_ms(20);
	EXPECT_EQ(*worker->value, 1);
	EXPECT_OK(resume(&worker->client));
	worker_wait(worker);
	EXPECT_EQ(worker_read(worker, 0), 2);
}

TEST(suspend, a_device_that_comes_later_stands_still_too)
{
	struct client client = begin_quiet();
	struct client later;

	EXPECT_OK(suspend(&client, false));
	client_open(&later, client.adapter);
	D3DKMT_HANDLE one = create_sized(&later, MIB, SOFTGPU_LOCAL_ONLY);
	D3DDDI_MAKERESIDENT args = residency_of(&later, &one, 1, 0);
	EXPECT_EQ(D3DKMTMakeResident(&args), STATUS_PENDING);
	pause_ms(20);
	EXPECT(*later.value < args.PagingFenceValue);
	EXPECT_OK(resume(&client));
	wait_for(&later, args.PagingFenceValue);
}

WORKER_TEST(suspend, a_submission_wakes_who_may_be_woken, begin_working())
{
	EXPECT_OK(suspend(&worker->client, true));
	EXPECT_EQ(residency_status(&worker->client, worker->memory), NOT_RESIDENT);
	submit_write(worker, 3);
	worker_wait(worker);
	EXPECT_EQ(worker_read(worker, 0), 3);
	EXPECT_BAD(resume(&worker->client), "MM-CONTROL", "hProcess");
}

/* ---- memory ---- */

CLIENT_TEST(suspend, what_is_resident_leaves_and_comes_back_as_it_was, begin_quiet())
{
	D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);
	D3DKMT_HANDLE leftover = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);

	fill(client, one, MIB, 1);
	fill(client, leftover, MIB, 2);
	EXPECT_OK(make_resident(client, &one, 1, 0));
	EXPECT_OK(make_resident(client, &leftover, 1, 0));
	EXPECT_OK(evict(client, &leftover, 1, ONLY_IF_NECESSARY));
	EXPECT_OK(suspend(client, false));
	EXPECT_EQ(residency_status(client, one), NOT_RESIDENT);
	EXPECT_EQ(residency_status(client, leftover), NOT_RESIDENT);
	EXPECT_EQ(memory_info(client, 0).CurrentUsage, MIB);
	pause_ms(300);
	EXPECT_EQ(residency_status(client, one), NOT_RESIDENT);
	EXPECT_OK(resume(client));
	flush(client);
	EXPECT_EQ(residency_status(client, one), IN_GPU_MEMORY);
	EXPECT_EQ(residency_status(client, leftover), NOT_RESIDENT);
	EXPECT_CONTENT(client, one, MIB, 1);
	EXPECT_CONTENT(client, leftover, MIB, 2);
}

CLIENT_TEST(suspend, make_resident_is_over_when_the_process_goes_on, begin_quiet())
{
	D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_LOCAL_ONLY);
	D3DDDI_MAKERESIDENT args = residency_of(client, &one, 1, 0);

	EXPECT_OK(suspend(client, false));
	EXPECT_EQ(D3DKMTMakeResident(&args), STATUS_PENDING);
	pause_ms(20);
	EXPECT(*client->value < args.PagingFenceValue);
	EXPECT_OK(resume(client));
	wait_for(client, args.PagingFenceValue);
	EXPECT_EQ(residency_status(client, one), IN_GPU_MEMORY);
}

/* ---- ends ---- */

TEST(suspend, a_device_can_be_destroyed_with_what_it_has_queued)
{
	struct worker worker = begin_working();
	struct client rest;
	D3DKMT_HANDLE one = create_sized(&worker.client, MIB, SOFTGPU_LOCAL_ONLY);
	D3DDDI_MAKERESIDENT args = residency_of(&worker.client, &one, 1, 0);

	client_open(&rest, worker.client.adapter);
	EXPECT_OK(suspend(&worker.client, false));
	submit_write(&worker, 4);
	EXPECT_EQ(D3DKMTMakeResident(&args), STATUS_PENDING);
	EXPECT_OK(destroy_device(worker.client.device));
	expect_valid();
	EXPECT_OK(resume(&rest));
}

TEST(suspend, the_process_can_end)
{
	struct worker worker = begin_working();

	EXPECT_OK(suspend(&worker.client, false));
	submit_write(&worker, 5);
	D3DKMTCloseDxCoreDevice();
	/* The next one is as free as any. */
	worker = begin_working();
	submit_write(&worker, 6);
	worker_wait(&worker);
	EXPECT_BAD(resume(&worker.client), "MM-CONTROL", "hProcess");
	expect_valid();
}

/* ---- trims ---- */

TEST(suspend, trims_start_anew_when_the_process_goes_on)
{
	struct worker worker = begin_working();
	struct ear ear = { 0 };

	listen_for_trims(&worker.client, &ear);
	EXPECT_OK(suspend(&worker.client, false));
	EXPECT_OK(resume(&worker.client));
	await(&ear.calls, 1);
	EXPECT_EQ(ear.flags, RESTART);
	EXPECT_EQ(ear.bytes, 0);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(suspend, by_the_clock_nobody_is_trimmed_who_stands_still)
{
	SKIP_UNLESS_SEEDED();

	struct worker worker = begin_working();
	struct ear ear = { 0 };

	listen_for_trims(&worker.client, &ear);
	EXPECT_OK(set_intervals_ms(&worker.client, 50, 50, 50));
	EXPECT_OK(suspend(&worker.client, false));
	unsigned before = ear.calls;
	pause_ms(1000);
	EXPECT_EQ(ear.calls, before);
	EXPECT_OK(resume(&worker.client));
	pause_ms(40);
	EXPECT_EQ(ear.periodic, before);
	EXPECT_EQ(ear.restarts, 1);
	pause_ms(40);
	EXPECT_EQ(ear.periodic, before + 1);
	EXPECT_OK(unlisten(ear.handle));
}

/* ---- what is refused ---- */

TEST(suspend, refuses_what_is_wrong)
{
	struct client client = begin_quiet();
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS };

	args.SuspendProcess.hProcess = (HANDLE)(intptr_t)77;
	EXPECT_REFUSED(vidmm(&client, &args), STATUS_INVALID_HANDLE, "API-HANDLE", "hProcess");
	args.Type = D3DKMT_VIDMMESCAPETYPE_RESUME_PROCESS;
	args.ResumeProcess.hProcess = (HANDLE)(intptr_t)77;
	EXPECT_REFUSED(vidmm(&client, &args), STATUS_INVALID_HANDLE, "API-HANDLE", "hProcess");
	EXPECT_BAD(resume(&client), "MM-CONTROL", "hProcess");
	EXPECT_OK(suspend(&client, false));
	EXPECT_BAD(suspend(&client, false), "MM-CONTROL", "hProcess");
	EXPECT_OK(resume(&client));
}

API_TEST_MAIN("api/suspend")
