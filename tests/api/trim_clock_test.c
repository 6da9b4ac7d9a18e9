/* SPDX-License-Identifier: MIT */
/*
 * trim_clock_test.c - trims by the clock: SET_TRIM_INTERVALS, VIDMM_TRIM_INTERVAL, and what a
 * process hears of them. On a GPU with 8 MiB.
 *
 * In real time a test only waits for what has to come. How often it comes, and that it does not, is
 * looked at in seeded runs, where time is counted and not passed.
 */
#include "api/trim.h"

#include "api/soft_work.h"

enum { SHORT_MS = 100, LONG_MS = 1000, IDLE_MS = 400 };

static struct worker begin_working(void)
{
	struct client client = begin_quiet();
	struct worker worker;

	worker_open(&worker, client.adapter);
	return worker;
}

/* … and hears of trims by the clock. */
static struct worker begin_listening(struct ear *ear)
{
	struct worker worker = begin_working();

	listen_for_trims(&worker.client, ear);
	EXPECT_OK(set_intervals_ms(&worker.client, SHORT_MS, LONG_MS, IDLE_MS));
	return worker;
}

/* Something was queued, and is over. */
static void work(struct worker *worker)
{
	EXPECT_OK(worker_signal(worker, ++worker->last_value));
	worker_wait(worker);
}

TEST(clock, a_periodic_trim_comes_by_itself)
{
	struct client client = begin_quiet();
	struct ear ear = { 0 };

	listen_for_trims(&client, &ear);
	EXPECT_OK(set_intervals_ms(&client, 5, 5, 5));
	await(&ear.calls, 1);
	EXPECT_EQ(ear.flags, PERIODIC);
	EXPECT_EQ(ear.bytes, 0);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(clock, a_process_at_work_is_told_again_and_again)
{
	struct worker worker = begin_working();
	struct ear ear = { 0 };

	listen_for_trims(&worker.client, &ear);
	EXPECT_OK(set_intervals_ms(&worker.client, 5, 5, 5));
	for (unsigned i = 1; i <= 5; i++) {
		work(&worker);
		await(&ear.periodic, i);
	}
	EXPECT_EQ(ear.restarts, 0);
	EXPECT_EQ(ear.to_budget, 0);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(clock, at_work_the_longest_interval_counts)
{
	SKIP_UNLESS_SEEDED();

	struct ear ear = { 0 };
	struct worker worker = begin_listening(&ear);

	work(&worker);
	pause_ms(LONG_MS - 50);
	EXPECT_EQ(ear.calls, 0);
	pause_ms(100);
	EXPECT_EQ(ear.periodic, 1);
	work(&worker);
	pause_ms(LONG_MS - 100);
	EXPECT_EQ(ear.periodic, 1);
	pause_ms(200);
	EXPECT_EQ(ear.periodic, 2);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(clock, where_memory_is_scarce_the_shortest_interval_counts)
{
	SKIP_UNLESS_SEEDED();

	struct ear ear = { 0 };
	struct worker worker = begin_listening(&ear);

	work(&worker);
	pause_ms(SHORT_MS / 2);
	/* Within its budget, but only just. */
	EXPECT_OK(set_budget(&worker.client, memory_info(&worker.client, 0).CurrentUsage,
			     UINT64_MAX));
	EXPECT_EQ(ear.calls, 0);
	pause_ms(SHORT_MS);
	EXPECT_EQ(ear.periodic, 1);
	for (unsigned i = 2; i < 5; i++) {
		work(&worker);
		pause_ms(SHORT_MS + 1);
		EXPECT_EQ(ear.periodic, i);
	}
	EXPECT_EQ(ear.to_budget, 0);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(clock, an_idle_process_is_told_after_the_idle_interval_and_then_left_alone)
{
	SKIP_UNLESS_SEEDED();

	struct ear ear = { 0 };
	struct worker worker = begin_listening(&ear);

	pause_ms(IDLE_MS - 50);
	EXPECT_EQ(ear.calls, 0);
	pause_ms(100);
	EXPECT_EQ(ear.periodic, 1);
	pause_ms(20 * LONG_MS);
	EXPECT_EQ(ear.periodic, 1);
	/* It works again: once for what it did, once because it stopped. */
	work(&worker);
	pause_ms(20 * LONG_MS);
	EXPECT_EQ(ear.periodic, 3);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(clock, runs_for_nobody_without_a_listener)
{
	SKIP_UNLESS_SEEDED();

	struct worker worker = begin_working();
	struct ear ear = { 0 };

	EXPECT_OK(set_intervals_ms(&worker.client, SHORT_MS, SHORT_MS, SHORT_MS));
	pause_ms(20 * LONG_MS);
	/* Its time begins with the registration. */
	listen_for_trims(&worker.client, &ear);
	pause_ms(SHORT_MS / 2);
	EXPECT_EQ(ear.calls, 0);
	EXPECT_OK(unlisten(ear.handle));
	pause_ms(20 * LONG_MS);
	EXPECT_EQ(ear.calls, 0);
}

TEST(clock, both_calls_of_one_moment_are_one)
{
	SKIP_UNLESS_SEEDED();

	struct worker worker = begin_working();
	struct ear ear = { 0 };

	(void)in_memory(&worker.client, MIB);
	EXPECT_OK(set_intervals_ms(&worker.client, SHORT_MS, SHORT_MS, SHORT_MS));
	listen_for_trims(&worker.client, &ear);
	pause_ms(SHORT_MS - 1);
	EXPECT_OK(set_budget(&worker.client, MIB / 2, UINT64_MAX));
	pause_ms(SHORT_MS);
	EXPECT_EQ(ear.periodic, 1);
	EXPECT_EQ(ear.to_budget, 1);
	EXPECT_OK(unlisten(ear.handle));
}

TEST(intervals, are_queried_as_they_were_set)
{
	struct client client = begin_quiet();
	D3DKMT_ADAPTER_VERIFIER_OPTION args = {
		.Type = D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_TRIM_INTERVAL,
		.Mode = D3DKMT_VERIFIER_OPTION_SET,
	};
	D3DKMT_ADAPTER_VERIFIER_VIDMM_TRIM_INTERVAL *data = &args.Data.VidMmTrimInterval;
	D3DKMT_ESCAPETYPE type = D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION;

	*data = (D3DKMT_ADAPTER_VERIFIER_VIDMM_TRIM_INTERVAL){ 10000, UINT64_MAX, 30000 };
	EXPECT_OK(escape_of(&client, type, &args, sizeof(args)));
	memset(data, 0, sizeof(*data));
	args.Mode = D3DKMT_VERIFIER_OPTION_QUERY;
	EXPECT_OK(escape_of(&client, type, &args, sizeof(args)));
	EXPECT_EQ(data->MinimumTrimInterval, 10000);
	EXPECT_EQ(data->MaximumTrimInterval, UINT64_MAX);
	EXPECT_EQ(data->IdleTrimInterval, 30000);
	/* The two ways lead to the same three. */
	EXPECT_OK(set_intervals_ms(&client, 7, 8, 9));
	EXPECT_OK(escape_of(&client, type, &args, sizeof(args)));
	EXPECT_EQ(data->MinimumTrimInterval, 70000);
	EXPECT_EQ(data->MaximumTrimInterval, 80000);
	EXPECT_EQ(data->IdleTrimInterval, 90000);
}

TEST(intervals, that_are_wrong_are_refused)
{
	struct client client = begin_quiet();
	D3DKMT_ADAPTER_VERIFIER_OPTION args = {
		.Type = D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_TRIM_INTERVAL,
		.Mode = D3DKMT_VERIFIER_OPTION_SET,
	};
	D3DKMT_ESCAPETYPE type = D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION;

	EXPECT_BAD(set_intervals_ms(&client, 0, 5, 5), "API-VALUE",
		   "SetTrimIntervals.MinTrimInterval");
	EXPECT_BAD(set_intervals_ms(&client, 5, 0, 5), "API-VALUE",
		   "SetTrimIntervals.MaxTrimInterval");
	EXPECT_BAD(set_intervals_ms(&client, 5, 5, 0), "API-VALUE",
		   "SetTrimIntervals.IdleTrimInterval");
	EXPECT_BAD(set_intervals_ms(&client, 6, 5, 5), "API-VALUE",
		   "SetTrimIntervals.MaxTrimInterval");
	EXPECT_BAD(escape_of(&client, type, &args, sizeof(args)), "API-VALUE",
		   "VidMmTrimInterval.MinimumTrimInterval");
	args.Mode = D3DKMT_VERIFIER_OPTION_QUERY;
	EXPECT_OK(escape_of(&client, type, &args, sizeof(args)));
	EXPECT_EQ(args.Data.VidMmTrimInterval.MaximumTrimInterval, UINT64_C(4000000000));
}

API_TEST_MAIN("api/trim_clock")
