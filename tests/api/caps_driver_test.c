/* SPDX-License-Identifier: MIT */
/*
 * caps_driver_test.c - what D3DKMTQueryAdapterInfo says of drivers of all kinds: their level, and
 * whether the hardware schedules.
 */
#include "api/recorder.h"

CHILD(tells_level_and_scheduling)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_DRIVERVERSION version = (D3DKMT_DRIVERVERSION)0;
	D3DKMT_DRIVERVERSION render = (D3DKMT_DRIVERVERSION)0;
	D3DKMT_WDDM_2_7_CAPS caps = { .Value = UINT32_MAX };
	char line[128];

	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_DRIVERVERSION, &version, sizeof(version)) ==
		     STATUS_SUCCESS);
	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_DRIVERVERSION_RENDER, &render,
				   sizeof(render)) == STATUS_SUCCESS);
	CHILD_EXPECT(render == version);
	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_WDDM_2_7_CAPS, &caps, sizeof(caps)) ==
		     STATUS_SUCCESS);
	snprintf(line, sizeof(line),
		 "-- told\nlevel %d, supported %u, enabled %u, default %u, "
		 "rest 0x%x",
		 (int)version, caps.HwSchSupported, caps.HwSchEnabled, caps.HwSchEnabledByDefault,
		 caps.Value >> 3);
	say(line);
	return 0;
}

static void expect_told(const char *registry, const char *wanted)
{
	const struct child_result *child = RECORDED("tells_level_and_scheduling", registry);

	EXPECT_CONTAINS(after_line(child->out, "-- told\n"), wanted);
}

TEST(caps, say_the_level_by_the_names_of_the_header)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "level %d,", KMT_DRIVERVERSION_WDDM_3_1);
	expect_told("\"Version\": 65540, \"WDDMVersion\": 12544", wanted);
	snprintf(wanted, sizeof(wanted), "level %d,", KMT_DRIVERVERSION_WDDM_3_0);
	expect_told("\"Version\": 61443, \"WDDMVersion\": 12288", wanted);
	snprintf(wanted, sizeof(wanted), "level %d,", KMT_DRIVERVERSION_WDDM_2_6);
	expect_told("", wanted);
	snprintf(wanted, sizeof(wanted), "level %d,", KMT_DRIVERVERSION_WDDM_1_1);
	expect_told("\"Model\": \"physical\", \"Version\": 8197", wanted);
	EXPECT_EQ(KMT_DRIVERVERSION_WDDM_3_1, 3100);
}

TEST(caps, say_that_the_hardware_schedules_where_there_are_hardware_queues)
{
	expect_told("\"HwQueues\": 1", "supported 1, enabled 1, default 1, rest 0x0\n");
}

TEST(caps, say_that_the_hardware_does_not_schedule_where_there_are_none)
{
	expect_told("", "supported 0, enabled 0, default 0, rest 0x0\n");
}

API_TEST_MAIN("api/caps_driver")
