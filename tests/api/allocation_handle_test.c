/* SPDX-License-Identifier: MIT */
/*
 * allocation_handle_test.c - what a driver learns about a client's handles: DxgkCbGetHandleData and
 * its family. The recorder asks from inside DxgkDdiEscape.
 *
 * Waiting is seeded (DXGK_SEED): the clock is virtual and nothing waits for real.
 */
#include "api/allocation.h"
#include "api/recorder.h"

#include "drivers/recorder/recorder.h"

#define CHILD_OK(call) CHILD_EXPECT((call) == STATUS_SUCCESS)

enum { ALLOCATION = 1, RESOURCE = 2 }; /* DXGK_HANDLE_TYPE */

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

static unsigned ask(unsigned command, D3DKMT_HANDLE handle, unsigned type, unsigned flags)
{
	struct recorder_escape escape = {
		.command = command, .handle = handle, .type = type, .flags = flags
	};
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .pPrivateDriverData = &escape,
			       .PrivateDriverDataSize = sizeof(escape) };

	CHILD_OK(D3DKMTEscape(&args));
	return escape.result;
}

static void child_begin(void)
{
	adapter = child_open_adapter();
	device = child_create_device(adapter);
}

static void create_resource(struct creation *creation, unsigned count)
{
	creation_init_plain(creation, device, count);
	creation->args.Flags.CreateResource = 1;
	CHILD_OK(create(creation));
}

/* ---- questions ---- */

CHILD(data)
{
	struct creation creation;
	D3DKMT_HANDLE other;

	child_begin();
	other = child_create_device(adapter);
	create_resource(&creation, 2);
	D3DKMT_HANDLE allocation = creation.elements[1].hAllocation;
	D3DKMT_HANDLE resource = creation.args.hResource;
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, ALLOCATION, 0) == RECORDER_IS_ALLOCATION);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, ALLOCATION, 1) == RECORDER_IS_OPENING);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, resource, RESOURCE, 0) == RECORDER_IS_RESOURCE);
	/* Wrong kinds find nothing. */
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, RESOURCE, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, resource, ALLOCATION, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, device, ALLOCATION, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, 0, ALLOCATION, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, 0x1eadbeed, RESOURCE, 0) == 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 0);
	/* A type that does not exist is the driver's mistake; reserved flags it may not have set.
	 */
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, 3, 0) == 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 1);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, ALLOCATION, 0xfffffffe) ==
		     RECORDER_IS_ALLOCATION);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 1);
	/* An escape has no device; what each device has open it says by its own handle. */
	(void)other;
	/* Gone is gone. */
	CHILD_OK(destroy_one(device, allocation));
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, ALLOCATION, 0) == 0);
	CHILD_OK(destroy_resource(device, resource));
	CHILD_EXPECT(ask(RECORDER_GET_DATA, resource, RESOURCE, 0) == 0);
	return 0;
}

TEST(handle, data_is_what_the_driver_answered_for_it)
{
	RECORDED("data", "");
}

/* A client may give one driver a handle of another one's: what is behind it is not for it. */
CHILD(of_another_adapter)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	struct creation creation;

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS && all.NumAdapters == 2);
	adapter = infos[0].hAdapter;
	device = child_create_device(adapter);
	create_resource(&creation, 1);
	D3DKMT_HANDLE allocation = creation.elements[0].hAllocation;
	D3DKMT_HANDLE resource = creation.args.hResource;
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, ALLOCATION, 0) == RECORDER_IS_ALLOCATION);
	adapter = infos[1].hAdapter;
	child_create_device(adapter);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, ALLOCATION, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, allocation, ALLOCATION, 1) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_DATA, resource, RESOURCE, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_ACQUIRE, allocation, ALLOCATION, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_ACQUIRE, resource, RESOURCE, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_PARENT, allocation, 0, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_CHILD, resource, 0, 0) == 0);
	return 0;
}

TEST(handle, of_another_adapter_names_nothing)
{
	char second[1024];

	snprintf(second, sizeof(second), ", {\"driver\": \"%s\", \"name\": \"second\"}",
		 getenv("TEST_RECORDER"));
	EXPECT_CHILD(run_child("of_another_adapter", recorder_profile("", second)), 0);
}

CHILD(parents)
{
	struct creation creation;
	struct creation alone;

	child_begin();
	create_resource(&creation, 3);
	creation_init_plain(&alone, device, 1);
	CHILD_OK(create(&alone));
	for (unsigned i = 0; i < 3; i++) {
		CHILD_EXPECT(ask(RECORDER_GET_PARENT, creation.elements[i].hAllocation, 0, 0) ==
			     creation.args.hResource);
		CHILD_EXPECT(ask(RECORDER_GET_CHILD, creation.args.hResource, 0, i) ==
			     creation.elements[i].hAllocation);
	}
	CHILD_EXPECT(ask(RECORDER_GET_CHILD, creation.args.hResource, 0, 3) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_CHILD, creation.args.hResource, 0, 0xffffffff) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_PARENT, alone.elements[0].hAllocation, 0, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_PARENT, creation.args.hResource, 0, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_GET_CHILD, creation.elements[0].hAllocation, 0, 0) == 0);
	/* The middle one leaves. */
	CHILD_OK(destroy_one(device, creation.elements[1].hAllocation));
	CHILD_EXPECT(ask(RECORDER_GET_CHILD, creation.args.hResource, 0, 1) ==
		     creation.elements[2].hAllocation);
	CHILD_EXPECT(ask(RECORDER_GET_CHILD, creation.args.hResource, 0, 2) == 0);
	return 0;
}

TEST(handle, parents_and_children_are_found)
{
	RECORDED("parents", "");
}

static unsigned ask_at(unsigned irql, unsigned command, D3DKMT_HANDLE handle)
{
	struct recorder_escape escape = {
		.command = command, .handle = handle, .type = ALLOCATION, .irql = irql
	};
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .pPrivateDriverData = &escape,
			       .PrivateDriverDataSize = sizeof(escape) };

	CHILD_OK(D3DKMTEscape(&args));
	return escape.result;
}

CHILD(levels)
{
	enum { PASSIVE, APC, DISPATCH };
	struct creation creation;

	child_begin();
	create_resource(&creation, 1);
	D3DKMT_HANDLE allocation = creation.elements[0].hAllocation;
	D3DKMT_HANDLE resource = creation.args.hResource;
	CHILD_EXPECT(ask_at(APC, RECORDER_GET_DATA, allocation) == RECORDER_IS_ALLOCATION);
	CHILD_EXPECT(ask_at(APC, RECORDER_GET_PARENT, allocation) == resource);
	CHILD_EXPECT(dxgk_test_report_count("NT-IRQL-HIGH") == 0);
	CHILD_EXPECT(ask_at(DISPATCH, RECORDER_GET_DATA, allocation) == 0);
	CHILD_EXPECT(ask_at(DISPATCH, RECORDER_GET_PARENT, allocation) == 0);
	CHILD_EXPECT(ask_at(DISPATCH, RECORDER_ACQUIRE, allocation) == 0);
	CHILD_EXPECT(dxgk_test_report_count("NT-IRQL-HIGH") == 3);
	CHILD_EXPECT(ask_at(PASSIVE, RECORDER_GET_CHILD, resource) == allocation);
	CHILD_EXPECT(ask_at(APC, RECORDER_GET_CHILD, resource) == 0);
	CHILD_EXPECT(dxgk_test_report_count("NT-IRQL-HIGH") == 4);
	return 0;
}

TEST(handle, is_asked_about_below_dispatch_level_and_its_children_at_passive_level)
{
	RECORDED("levels", "");
}

/* ---- references ---- */

static D3DKMT_HANDLE held;
static bool is_resource;
static bool is_opening; /* the device's own handle of an allocation */

static void destroy_held(void *context)
{
	(void)context;
	CHILD_OK(is_resource ? destroy_resource(device, held) : destroy_one(device, held));
	say("destroyed");
}

static void hold(void)
{
	struct creation creation;

	child_begin();
	is_resource = getenv("TEST_RESOURCE") != NULL;
	is_opening = getenv("TEST_OPENING") != NULL;
	create_resource(&creation, 1);
	held = is_resource ? creation.args.hResource : creation.elements[0].hAllocation;
	if (getenv("TEST_ALONE")) {
		creation_init_plain(&creation, device, 1);
		CHILD_OK(create(&creation));
		held = creation.elements[0].hAllocation;
	}
	CHILD_EXPECT(ask(RECORDER_ACQUIRE, held, is_resource ? RESOURCE : ALLOCATION, is_opening) ==
		     (is_resource  ? (unsigned)RECORDER_IS_RESOURCE
		      : is_opening ? (unsigned)RECORDER_IS_OPENING
				   : RECORDER_IS_ALLOCATION));
	say("-- held");
}

CHILD(hold_and_release)
{
	hold();
	/* A virtual millisecond passes only when everybody else waits. */
	ask(RECORDER_RELEASE_LATER, 0, is_resource ? RESOURCE : ALLOCATION, 0);
	destroy_held(NULL);
	CHILD_EXPECT(dxgk_test_report_count("DDI-HANDLE-HELD") == 0);
	say("-- end");
	return 0;
}

static void expect_waits(const char *resource_setting)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		char setting[32];
		snprintf(setting, sizeof(setting), "DXGK_SEED=%u", seed);
		const struct child_result *child =
			RECORDED("hold_and_release", "", setting, resource_setting);

		EXPECT(!strstr(child->out, "WRONG"));
		const char *released = strstr(child->out, "released irql=0\n");
		const char *destroyed = strstr(child->out, "DestroyAllocation irql=0");
		const char *done = strstr(child->out, "destroyed\n");
		EXPECT(released && destroyed && done);
		EXPECT(strstr(child->out, "CloseAllocation irql=0") < released);
		EXPECT(released < destroyed);
		EXPECT(destroyed < done);
	}
}

TEST(hold, of_an_allocation_keeps_it_from_being_destroyed_until_the_release)
{
	expect_waits("TEST_NOTHING=1");
}

TEST(hold, of_a_resource_keeps_it_from_being_destroyed_until_the_release)
{
	expect_waits("TEST_RESOURCE=1");
}

/* What the driver made of it for the device is what it looks at: that is not closed either. */
TEST(hold, of_an_opening_keeps_it_from_being_closed_until_the_release)
{
	static const char *const kinds[] = { "TEST_NOTHING=1", "TEST_ALONE=1" };

	for (unsigned seed = 1; seed <= 6; seed++) {
		char setting[32];
		snprintf(setting, sizeof(setting), "DXGK_SEED=%u", seed);
		const struct child_result *child = RECORDED("hold_and_release", "", setting,
							    "TEST_OPENING=1", kinds[seed % 2]);

		EXPECT(!strstr(child->out, "WRONG"));
		const char *begin = after_line(child->out, "-- held");
		const char *released = strstr(begin, "released irql=0\n");
		const char *closed = strstr(begin, "CloseAllocation irql=0");
		const char *destroyed = strstr(begin, "DestroyAllocation irql=0");
		EXPECT(released && closed && destroyed);
		EXPECT(released < closed);
		EXPECT(closed < destroyed);
	}
}

/* The client's handle is dead all the same. */
CHILD(hold_and_forget)
{
	hold();
	destroy_held(NULL);
	CHILD_EXPECT(!is_alive(device, held));
	CHILD_EXPECT(dxgk_test_report_count("DDI-HANDLE-HELD") == 1);
	return 0;
}

TEST(hold, that_is_forgotten_is_reported_and_the_memory_goes)
{
	static const char *const kinds[] = { "TEST_NOTHING=1", "TEST_RESOURCE=1",
					     "TEST_OPENING=1" };

	for (unsigned i = 0; i < 3; i++) {
		const struct child_result *child =
			RECORDED("hold_and_forget", "", "DXGK_SEED=3", kinds[i]);

		EXPECT_CONTAINS(child->err, "DDI-HANDLE-HELD");
		EXPECT_CONTAINS(child->out, "DestroyAllocation irql=0");
		EXPECT_CONTAINS(child->out, "StopDevice irql=0 left=0\n");
	}
}

CHILD(release_twice)
{
	hold();
	ask(RECORDER_RELEASE, 0, ALLOCATION, 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 0);
	ask(RECORDER_RELEASE, 0, ALLOCATION, 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 1);
	destroy_held(NULL);
	return 0;
}

TEST(hold, that_is_released_twice_is_reported)
{
	RECORDED("release_twice", "", "DXGK_SEED=1");
}

/* What it held is gone, and so is the memory that knew of the hold. */
CHILD(release_too_late)
{
	hold();
	destroy_held(NULL);
	CHILD_EXPECT(dxgk_test_report_count("DDI-HANDLE-HELD") == 1);
	ask(RECORDER_RELEASE, 0, is_resource ? RESOURCE : ALLOCATION, 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-HANDLE-HELD") == 2);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 0);
	ask(RECORDER_RELEASE, 0, is_resource ? RESOURCE : ALLOCATION, 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-HANDLE-HELD") == 2);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 1);
	return 0;
}

TEST(hold, that_is_released_after_the_memory_went_is_reported)
{
	static const char *const kinds[] = { "TEST_NOTHING=1", "TEST_RESOURCE=1", "TEST_OPENING=1",
					     "TEST_ALONE=1" };

	for (unsigned i = 0; i < 4; i++) {
		const struct child_result *child =
			RECORDED("release_too_late", "", "DXGK_SEED=4", kinds[i]);

		EXPECT_CONTAINS(child->out, "StopDevice irql=0 left=0\n");
	}
}

/* A name for a hold is used once: it is not a way to what somebody else holds. */
CHILD(release_anothers)
{
	hold();
	ask(RECORDER_RELEASE, 0, ALLOCATION, 0);
	CHILD_EXPECT(ask(RECORDER_ACQUIRE, held, ALLOCATION, 0) == RECORDER_IS_ALLOCATION);
	ask(RECORDER_RELEASE, 0, ALLOCATION, 1);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 1);
	ask(RECORDER_RELEASE, 0, ALLOCATION, 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 1);
	destroy_held(NULL);
	ask(RECORDER_RELEASE, 0, ALLOCATION, 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 2);
	CHILD_EXPECT(dxgk_test_report_count("DDI-HANDLE-HELD") == 0);
	return 0;
}

TEST(hold, that_is_over_does_not_release_another)
{
	RECORDED("release_anothers", "", "DXGK_SEED=1");
}

CHILD(hold_what_is_not_there)
{
	child_begin();
	CHILD_EXPECT(ask(RECORDER_ACQUIRE, 0x1eadbeed, ALLOCATION, 0) == 0);
	CHILD_EXPECT(ask(RECORDER_ACQUIRE, device, RESOURCE, 0) == 0);
	CHILD_EXPECT(dxgk_test_report_count("DDI-CALLBACK-ARGUMENT") == 0);
	return 0;
}

TEST(hold, of_what_is_not_there_gives_nothing)
{
	RECORDED("hold_what_is_not_there", "");
}

API_TEST_MAIN("api/allocation_handle")
