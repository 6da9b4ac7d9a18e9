/* SPDX-License-Identifier: MIT */
/*
 * clock_test.c - D3DKMTQueryClockCalibration: the clocks of an engine and of the processor, read
 * together.
 *
 * CpuClockCounter counts as the performance counter does, 100 ns at a time: from CLOCK_MONOTONIC,
 * or from the virtual clock of a seeded run.
 */
#include "api/recorder.h"

#include <time.h>

enum { UNITS_PER_SECOND = 10000000, NS_PER_UNIT = 100 };

static D3DKMT_QUERYCLOCKCALIBRATION question(D3DKMT_HANDLE adapter, UINT node)
{
	D3DKMT_QUERYCLOCKCALIBRATION args = { .hAdapter = adapter, .NodeOrdinal = node };

	memset(&args.ClockData, 0xee, sizeof(args.ClockData));
	return args;
}

static DXGK_GPUCLOCKDATA calibrate(D3DKMT_HANDLE adapter, UINT node)
{
	D3DKMT_QUERYCLOCKCALIBRATION args = question(adapter, node);

	EXPECT_OK(D3DKMTQueryClockCalibration(&args));
	return args.ClockData;
}

static UINT node_count(LUID luid)
{
	D3DKMT_QUERYSTATISTICS query = { .Type = D3DKMT_QUERYSTATISTICS_ADAPTER,
					 .AdapterLuid = luid };

	EXPECT_OK(D3DKMTQueryStatistics(&query));
	return query.QueryResult.AdapterInformation.NodeCount;
}

static uint64_t monotonic_units(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UNITS_PER_SECOND + (uint64_t)now.tv_nsec / NS_PER_UNIT;
}

TEST(clock, of_every_node_is_told_with_the_performance_counter)
{
	D3DKMT_ADAPTERINFO info = first_adapter();
	UINT count = node_count(info.AdapterLuid);

	EXPECT(count > 1);
	for (UINT node = 0; node < count; node++) {
		uint64_t before = monotonic_units();
		DXGK_GPUCLOCKDATA first = calibrate(info.hAdapter, node);
		uint64_t between = monotonic_units();
		DXGK_GPUCLOCKDATA second = calibrate(info.hAdapter, node);
		uint64_t after = monotonic_units();

		EXPECT(first.GpuFrequency > 0);
		EXPECT_EQ(second.GpuFrequency, first.GpuFrequency);
		EXPECT_EQ(first.Flags.Value, 0);
		EXPECT(before <= first.CpuClockCounter && first.CpuClockCounter <= between);
		EXPECT(between <= second.CpuClockCounter && second.CpuClockCounter <= after);
		/* The software GPU lives by the processor's clock. */
		EXPECT_EQ(first.GpuFrequency, UNITS_PER_SECOND);
		EXPECT_EQ(second.GpuClockCounter - first.GpuClockCounter,
			  second.CpuClockCounter - first.CpuClockCounter);
	}
	EXPECT_OK(close_adapter(info.hAdapter));
}

TEST(clock, that_is_not_there_is_refused_and_nothing_is_written)
{
	D3DKMT_ADAPTERINFO info = first_adapter();
	D3DKMT_QUERYCLOCKCALIBRATION args = question(info.hAdapter, node_count(info.AdapterLuid));
	D3DKMT_QUERYCLOCKCALIBRATION untouched = args;

	EXPECT_REFUSED(D3DKMTQueryClockCalibration(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	EXPECT_REFUSED(D3DKMTQueryClockCalibration(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "NodeOrdinal");
	EXPECT_EQ(memcmp(&args, &untouched, sizeof(args)), 0);
	args.NodeOrdinal = UINT32_MAX;
	EXPECT_REFUSED(D3DKMTQueryClockCalibration(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "NodeOrdinal");
	args = question(info.hAdapter, 0);
	args.PhysicalAdapterIndex = 1;
	EXPECT_REFUSED(D3DKMTQueryClockCalibration(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "PhysicalAdapterIndex");
	args = question(0, 0);
	EXPECT_REFUSED(D3DKMTQueryClockCalibration(&args), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hAdapter");
	args = question(create_device(info.hAdapter), 0);
	EXPECT_REFUSED(D3DKMTQueryClockCalibration(&args), STATUS_INVALID_PARAMETER,
		       "API-HANDLE-KIND", "hAdapter");
	EXPECT_OK(destroy_device(args.hAdapter));
	EXPECT_OK(close_adapter(info.hAdapter));
}

/* ---- in a seeded run ---- */

CHILD(tells_a_few_times)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	char line[128];

	for (unsigned i = 0; i < 4; i++) {
		D3DKMT_QUERYCLOCKCALIBRATION args = question(adapter, 0);

		child_create_device(adapter);
		CHILD_EXPECT(D3DKMTQueryClockCalibration(&args) == STATUS_SUCCESS);
		snprintf(line, sizeof(line), "%llu %llu",
			 (unsigned long long)args.ClockData.CpuClockCounter,
			 (unsigned long long)args.ClockData.GpuClockCounter);
		say(line);
	}
	return 0;
}

TEST(clock, of_a_seeded_run_is_the_same_in_each)
{
	static char first[CHILD_TEXT];
	const struct child_result *child = run_child("tells_a_few_times", "DXGK_SEED=5");

	EXPECT_CHILD(child, 0);
	strcpy(first, child->out);
	EXPECT(strlen(first) > 8);
	child = run_child("tells_a_few_times", "DXGK_SEED=5");
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, first);
}

/* ---- what a driver may say ---- */

CHILD(asks_once)
{
	D3DKMT_QUERYCLOCKCALIBRATION args = question(child_open_adapter(), 0);
	NTSTATUS status;

	say("-- clock");
	status = D3DKMTQueryClockCalibration(&args);
	if (status == STATUS_SUCCESS)
		dprintf(STDOUT_FILENO, "0x%08x %llu %llu %llu\n", (unsigned)status,
			(unsigned long long)args.ClockData.GpuFrequency,
			(unsigned long long)args.ClockData.GpuClockCounter,
			(unsigned long long)args.ClockData.CpuClockCounter);
	else
		dprintf(STDOUT_FILENO, "0x%08x %s %s\n", (unsigned)status, last_refusal().rule,
			last_refusal().argument);
	return 0;
}

static const char *asked(const char *registry)
{
	const struct child_result *child = RECORDED("asks_once", registry);

	return after_line(child->out, "-- clock\n");
}

TEST(clock, of_a_driver_without_one_is_not_supported)
{
	EXPECT_CONTAINS(asked(""), "0xc00000bb DDI-ENTRY-MISSING DxgkDdiCalibrateGpuClock\n");
}

TEST(clock, is_asked_for_at_dispatch_level_and_a_drivers_refusal_reaches_the_client)
{
	EXPECT_CONTAINS(asked("\"Whole\": 1"), "CalibrateGpuClock irql=2\n"
					       "0xc00000bb DDI-STATUS DxgkDdiCalibrateGpuClock\n");
}

/* Its own clock, and the numbers as the driver gave them. */
TEST(clock, is_what_the_driver_says_of_the_first_engine_of_the_node)
{
	EXPECT_CONTAINS(asked("\"Clock\": 1, \"GpuFrequency\": 1000"),
			"CalibrateGpuClock irql=2 node=0 engine=0\n"
			"0x00000000 1000 1234 5678\n");
}

TEST(clock, without_a_frequency_is_refused)
{
	EXPECT_CONTAINS(asked("\"Clock\": 1"), "0xc01e0004 DDI-CLOCK GpuFrequency\n");
}

API_TEST_MAIN("api/clock")
