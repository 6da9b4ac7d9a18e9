/* SPDX-License-Identifier: MIT */
/*
 * start_failure_test.c - drivers that do not start: what is said, what is undone, who goes on.
 */
#include "api/recorder.h"

static const char soft_too[] = ", {\"driver\": \"soft\", \"name\": \"the other\"}";

CHILD(list_adapters)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS);
	for (ULONG i = 0; i < all.NumAdapters; i++) {
		dprintf(STDOUT_FILENO, "-- adapter %08x\n", infos[i].AdapterLuid.LowPart);
		child_create_context(child_create_device(infos[i].hAdapter));
	}
	say("-- exit");
	return 0;
}

/* The first adapter is left out with this said; the second works, and keeps its LUID. */
static const struct child_result *expect_left_out(const char *registry, const char *rule,
						  const char *said)
{
	const struct child_result *child =
		run_child("list_adapters", recorder_profile(registry, soft_too));
	char complaint[64];

	snprintf(complaint, sizeof(complaint), " (%s, STATUS_", rule);
	if (child->exit_status != 0 || !strstr(child->err, complaint) || !strstr(child->err, said))
		print_error("with {%s} expected \"%s\" and %s, found\n%s%s", registry, said, rule,
			    child->out, child->err);
	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->err, "dxgk: adapter 1 (driver \"");
	EXPECT_CONTAINS(child->err, "recorder.so\") did not start: ");
	EXPECT_CONTAINS(child->err, said);
	EXPECT_CONTAINS(child->err, complaint);
	EXPECT_CONTAINS(child->out, "-- adapter 00010001\n");
	EXPECT(!strstr(child->out, "-- adapter 00010000\n"));
	return child;
}

static bool has(const struct child_result *child, const char *line)
{
	return strstr(child->out, line) != NULL;
}

/* Undone in reverse, as far as it got: nothing is called twice, nothing that has no partner. */
static void expect_undone(const struct child_result *child, const char *failed)
{
	bool was_added = has(child, "AddDevice") && strcmp(failed, "AddDevice") != 0;
	bool was_started = has(child, "StartDevice") && strcmp(failed, "StartDevice") != 0;

	if (was_added != has(child, "RemoveDevice") || was_started != has(child, "StopDevice"))
		print_error("after a failing %s:\n%s", failed, child->out);
	EXPECT_EQ(has(child, "RemoveDevice"), was_added);
	EXPECT_EQ(has(child, "StopDevice"), was_started);
	EXPECT_EQ(has(child, "Unload"), strcmp(failed, "DriverEntry") != 0);
	if (was_started)
		EXPECT_CONTAINS(child->out, "StopDevice irql=0 left=0\nRemoveDevice irql=0\n"
					    "Unload irql=0\n-- adapter");
	else if (was_added)
		EXPECT_CONTAINS(child->out, "RemoveDevice irql=0\nUnload irql=0\n-- adapter");
	EXPECT(!has(child, "WRONG"));
}

/* ---- a step that fails ---- */

TEST(start, each_step_may_fail)
{
	static const char *const steps[] = {
		"DriverEntry",   "AddDevice",    "StartDevice",        "DRIVERCAPS",
		"QUERYSEGMENT4", "GPUMMUCAPS",   "PAGETABLELEVELDESC", "GetNodeMetadata",
		"CreateProcess", "CreateDevice", "CreateContext",
	};

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char registry[256];
		snprintf(registry, sizeof(registry), "\"Fail\": \"%s\", \"FailStatus\": 3221225626",
			 steps[i]);
		/* 0xc000009a, unchanged */
		expect_undone(expect_left_out(registry, "DDI-STATUS", "INSUFFICIENT_RESOURCES"),
			      steps[i]);
	}
}

TEST(start, the_second_pass_of_the_segments_may_fail)
{
	expect_undone(expect_left_out("\"Fail\": \"QUERYSEGMENT4\", \"FailAt\": 2", "DDI-STATUS",
				      "QUERYSEGMENT4"),
		      "QUERYSEGMENT4");
}

TEST(start, a_driver_alone_that_fails_leaves_an_empty_list)
{
	const struct child_result *child = RECORDED("list_adapters", "\"Fail\": \"StartDevice\"");

	EXPECT_CONTAINS(child->out, "RemoveDevice irql=0\nUnload irql=0\n-- exit\n");
	EXPECT_STR(after_line(child->out, "-- exit\n"), "");
}

/* ---- an answer that is not acceptable ---- */

TEST(start, an_unacceptable_answer_is_named_with_its_rule)
{
	static const struct {
		const char *registry;
		const char *rule;
		const char *field;
	} cases[] = {
		{ "\"Version\": 4096", "DDI-VERSION", "Version" },
		{ "\"WDDMVersion\": 17", "DDI-CAPS-VERSION", "WDDMVersion" },
		{ "\"SchedulingCaps\": 4", "DDI-CAPS-SCHEDULING", "" },
		{ "\"MemoryManagementCaps\": 208", "DDI-CAPS-ADDRESSING", "" },
		{ "\"NbAsymetricProcessingNodes\": 0", "DDI-CAPS-NODES",
		  "NbAsymetricProcessingNodes" },
		{ "\"NbAsymetricProcessingNodes\": 4294967295", "DDI-CAPS-NODES",
		  "NbAsymetricProcessingNodes" },
		{ "\"PagingNode\": 2", "DDI-CAPS-NODES", "PagingNode" },
		{ "\"NbSegment\": 0", "DDI-SEGMENT-COUNT", "NbSegment" },
		{ "\"NbSegment\": 4294967295", "DDI-SEGMENT-COUNT", "NbSegment" },
		{ "\"NbSegmentAgain\": 3", "DDI-SEGMENT-COUNT", "NbSegment" },
		{ "\"PagingBufferSize\": 0", "DDI-PAGING-BUFFER", "PagingBufferSize" },
		{ "\"PagingBufferSegmentId\": 9", "DDI-PAGING-BUFFER", "PagingBufferSegmentId" },
		{ "\"PageTableLevelCount\": 0", "DDI-MMU-LEVELS", "PageTableLevelCount" },
		{ "\"PageTableLevelCount\": 9", "DDI-MMU-LEVELS", "PageTableLevelCount" },
		{ "\"VirtualAddressBitCount\": 65", "DDI-MMU-CAPS", "VirtualAddressBitCount" },
		{ "\"NullContext\": 1", "DDI-NO-CONTEXT", "MiniportDeviceContext" },
		{ "\"Missing\": \"StartDevice\"", "DDI-ENTRY-MISSING", "DxgkDdiStartDevice" },
		{ "\"Missing\": \"CreateDevice\"", "DDI-ENTRY-MISSING", "DxgkDdiCreateDevice" },
		{ "\"Initialize\": \"never\"", "DDI-INITIALIZE", "DxgkInitialize" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_left_out(cases[i].registry, cases[i].rule, cases[i].field);
}

/* ---- what is not a driver ---- */

static void expect_no_driver(const char *driver, const char *rule)
{
	char profile[8192];
	char complaint[64];

	snprintf(profile, sizeof(profile), "{\"adapters\": [{\"driver\": \"%s\"}%s]}", driver,
		 soft_too);
	snprintf(complaint, sizeof(complaint), " (%s, STATUS_", rule);
	const struct child_result *child = run_child("list_adapters", profile_setting(profile));
	if (!strstr(child->err, complaint))
		print_error("%s, expected %s:\n%s", driver, rule, child->err);
	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->err, "did not start: ");
	EXPECT_CONTAINS(child->err, complaint);
	EXPECT_STR(child->out, "-- adapter 00010001\n-- exit\n");
}

TEST(start, what_is_not_there_is_not_a_driver)
{
	expect_no_driver("/no/such/driver.so", "DDI-IMAGE-FIND");
	expect_no_driver("no-such-driver", "DDI-IMAGE-FIND");
	expect_no_driver("../soft/soft", "DDI-IMAGE-FIND");
}

TEST(start, another_file_is_not_a_driver)
{
	char path[4096];

	expect_no_driver("/dev/null", "DDI-IMAGE");
	expect_no_driver("/tmp", "DDI-IMAGE");
	snprintf(path, sizeof(path), "%s", getenv("TEST_DLOPEN_CLIENT"));
	expect_no_driver(path, "DDI-IMAGE"); /* a program */
	snprintf(path, sizeof(path), "%s", getenv("TEST_LIBRARY"));
	expect_no_driver(path, "DDI-IMAGE"); /* a library without DriverEntry */
	char text[] = "/tmp/dxgk-text-XXXXXX";
	int file = mkstemp(text);
	EXPECT_EQ(write(file, "\177ELF and no more", 16), 16);
	close(file);
	expect_no_driver(text, "DDI-IMAGE");
	unlink(text);
}

/* ---- failing later, in a call ---- */

CHILD(fail_then_go_on)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	D3DKMT_HANDLE device = 0x5a5a;
	D3DKMT_HANDLE context;
	NTSTATUS status = try_create_device(adapter, &device);

	if (status != STATUS_SUCCESS) {
		CHILD_EXPECT(device == 0);
		CHILD_EXPECT(last_refusal().status == status);
		dprintf(STDOUT_FILENO, "-- device %08x %s\n", (unsigned)status,
			last_refusal().rule);
		device = child_create_device(adapter);
	}
	status = try_create_context(device, &context);
	if (status != STATUS_SUCCESS) {
		dprintf(STDOUT_FILENO, "-- context %08x %s\n", (unsigned)status,
			last_refusal().rule);
		child_create_context(device);
	}
	say("-- exit");
	return 0;
}

TEST(call, a_failure_of_the_driver_reaches_the_caller_unchanged)
{
	static const struct text_case cases[] = {
		/* The first of each is the kernel's own. */
		{ "\"Fail\": \"CreateDevice\", \"FailAt\": 2, \"FailStatus\": 3221225495",
		  "-- device c0000017 DDI-STATUS\n" },
		{ "\"Fail\": \"CreateDevice\", \"FailAt\": 2, \"FailStatus\": 3223191808",
		  "-- device c01e0100 DDI-STATUS\n" },
		{ "\"Fail\": \"CreateProcess\", \"FailAt\": 2, \"FailStatus\": 3221225626",
		  "-- device c000009a DDI-STATUS\n" },
		{ "\"Fail\": \"CreateContext\", \"FailAt\": 2, \"FailStatus\": 3221225659",
		  "-- context c00000bb DDI-STATUS\n" },
		{ "\"Fail\": \"CreateContext\", \"FailAt\": 2, \"FailStatus\": 3221226166",
		  "-- context c00002b6 DDI-STATUS\n" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct child_result *child = RECORDED("fail_then_go_on", cases[i].given);

		EXPECT_CONTAINS(child->out, cases[i].said);
		EXPECT_CONTAINS(child->out, "StopDevice irql=0 left=0\n");
		EXPECT(!has(child, "WRONG"));
	}
}

TEST(call, a_driver_that_cannot_let_go_is_reported_and_the_end_still_comes)
{
	static const char *const steps[] = { "DestroyContext", "DestroyDevice", "DestroyProcess",
					     "StopDevice", "RemoveDevice" };

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char registry[64];
		snprintf(registry, sizeof(registry), "\"Fail\": \"%s\"", steps[i]);
		const struct child_result *child = RECORDED("fail_then_go_on", registry);

		EXPECT_CONTAINS(child->err, "DDI-MUST-SUCCEED");
		EXPECT_CONTAINS(child->out, "RemoveDevice irql=0\nUnload irql=0\n");
	}
}

API_TEST_MAIN("api/start_failure")
