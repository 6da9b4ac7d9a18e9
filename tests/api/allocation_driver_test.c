/* SPDX-License-Identifier: MIT */
/*
 * allocation_driver_test.c - the life of allocations as a driver sees it: which entry points, in
 * what order, with which handles. The recorder itself complains ("WRONG: …") about handles that are
 * not its own, a destroy before the close, an IRQL it does not expect shows in its notes.
 */
#include "api/allocation_recorder.h"

/* ---- the ordinary life ---- */

CHILD(ordinary_life)
{
	struct creation creation;
	struct creation more;
	D3DKMT_HANDLE handles[2];

	child_begin();
	creation_init_plain(&creation, device, 2);
	say("-- create alone");
	CHILD_OK(create(&creation));
	for (unsigned i = 0; i < 2; i++)
		handles[i] = creation.elements[i].hAllocation;
	say("-- destroy list");
	CHILD_OK(destroy_list(device, handles, 2));
	creation_init_plain(&creation, device, 3);
	creation.args.Flags.CreateResource = 1;
	say("-- create resource");
	CHILD_OK(create(&creation));
	creation_init_plain(&more, device, 1);
	more.args.hResource = creation.args.hResource;
	say("-- add");
	CHILD_OK(create(&more));
	say("-- destroy some");
	CHILD_OK(destroy_one(device, creation.elements[1].hAllocation));
	say("-- destroy the rest");
	CHILD_OK(destroy_resource(device, creation.args.hResource));
	say("-- empty resource");
	creation_init_plain(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	CHILD_OK(create(&creation));
	CHILD_OK(destroy_one(device, creation.elements[0].hAllocation));
	say("-- destroy empty resource");
	CHILD_OK(destroy_resource(device, creation.args.hResource));
	say("-- end");
	return 0;
}

TEST(driver, creates_once_per_call_then_opens_on_the_creating_device)
{
	const struct child_result *child = RECORDED_CLEAN("ordinary_life", "");

	EXPECT_STR(notes_after(child, "-- create alone"),
		   "CreateAllocation irql=0 count=2 resource=0\n"
		   "OpenAllocation irql=0 count=2 flags=1\n");
	EXPECT_STR(notes_after(child, "-- create resource"),
		   "CreateAllocation irql=0 count=3 resource=1\n"
		   "OpenAllocation irql=0 count=3 flags=1\n");
	/* The resource is one it knows. */
	EXPECT_STR(notes_after(child, "-- add"), "CreateAllocation irql=0 count=1 resource=2\n"
						 "OpenAllocation irql=0 count=1 flags=1\n");
}

TEST(driver, closes_before_it_destroys_a_group_at_once)
{
	const struct child_result *child = RECORDED_CLEAN("ordinary_life", "");

	EXPECT_STR(notes_after(child, "-- destroy list"),
		   "CloseAllocation irql=0 count=2\n"
		   "DestroyAllocation irql=0 count=2 flags=0\n");
	EXPECT_STR(notes_after(child, "-- destroy some"),
		   "CloseAllocation irql=0 count=1\n"
		   "DestroyAllocation irql=0 count=1 flags=0\n");
}

TEST(driver, is_told_to_destroy_the_resource_exactly_when_it_goes)
{
	const struct child_result *child = RECORDED_CLEAN("ordinary_life", "");

	EXPECT_STR(notes_after(child, "-- destroy the rest"),
		   "CloseAllocation irql=0 count=3\n"
		   "DestroyAllocation irql=0 count=3 flags=1\n");
	/* With nothing in it any more there is nothing to close. */
	EXPECT_STR(notes_after(child, "-- destroy empty resource"),
		   "DestroyAllocation irql=0 count=0 flags=1\n");
}

TEST(driver, may_change_the_handle_of_a_resource_that_stays)
{
	/* It complains when it sees an old one. */
	RECORDED_CLEAN("ordinary_life", "\"NewResourceHandle\": 1");
}

TEST(driver, may_have_no_handle_for_a_resource)
{
	const struct child_result *child = RECORDED_CLEAN("ordinary_life", "\"NullResource\": 1");

	EXPECT_STR(notes_after(child, "-- add"), "CreateAllocation irql=0 count=1 resource=1\n"
						 "OpenAllocation irql=0 count=1 flags=1\n");
	EXPECT_STR(notes_after(child, "-- destroy empty resource"),
		   "DestroyAllocation irql=0 count=0 flags=1\n");
}

TEST(driver, that_fails_to_close_or_destroy_is_reported_and_the_rest_goes_on)
{
	static const char *const settings[] = { "\"Fail\": \"CloseAllocation\"",
						"\"Fail\": \"DestroyAllocation\"" };

	for (unsigned i = 0; i < 2; i++) {
		const struct child_result *child = RECORDED_CLEAN("ordinary_life", settings[i]);

		EXPECT_CONTAINS(child->err, "DDI-MUST-SUCCEED");
	}
}

/* ---- private data ---- */

CHILD(private_data)
{
	struct recorder_allocation data[2] = { { .size_bytes = 4096 }, { .size_bytes = 8192 } };
	unsigned group = 4711;
	struct creation creation;
	D3DKMT_HANDLE other;

	child_begin();
	other = child_create_device(adapter);
	creation_init_plain(&creation, device, 2);
	for (unsigned i = 0; i < 2; i++) {
		creation.elements[i].pPrivateDriverData = &data[i];
		creation.elements[i].PrivateDriverDataSize = sizeof(data[i]);
	}
	creation.args.pPrivateDriverData = &group;
	creation.args.PrivateDriverDataSize = sizeof(group);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.CreateShared = 1;
	say("-- create");
	CHILD_OK(create(&creation));
	/* The driver's changes in both steps come back; the group's data is read only. */
	for (unsigned i = 0; i < 2; i++) {
		CHILD_EXPECT(data[i].created == 1 && data[i].opened == 1);
		CHILD_EXPECT(data[i].size_bytes == 4096 * (i + 1));
	}
	CHILD_EXPECT(group == 4711);

	/* An opener gets what the driver left there, and the group's data with it. */
	D3DDDI_OPENALLOCATIONINFO elements[2] = { { 0 } };
	struct recorder_allocation total[2];
	unsigned opened_group = 0;
	D3DKMT_OPENRESOURCE open = { .hDevice = other,
				     .hGlobalShare = creation.args.hGlobalShare,
				     .NumAllocations = 2,
				     .pOpenAllocationInfo = elements,
				     .pResourcePrivateDriverData = &opened_group,
				     .ResourcePrivateDriverDataSize = sizeof(opened_group),
				     .pTotalPrivateDriverDataBuffer = total,
				     .TotalPrivateDriverDataBufferSize = sizeof(total) };
	say("-- open");
	CHILD_OK(D3DKMTOpenResource(&open));
	CHILD_EXPECT(opened_group == 4711);
	CHILD_EXPECT(elements[1].pPrivateDriverData == &total[1]);
	CHILD_EXPECT(total[1].created == 1 && total[1].opened == 1);
	CHILD_EXPECT(total[1].size_bytes == 8192);
	say("-- creator goes");
	CHILD_OK(destroy_resource(device, creation.args.hResource));
	say("-- opener goes");
	CHILD_OK(destroy_resource(other, open.hResource));
	say("-- end");
	return 0;
}

TEST(driver, sees_and_changes_private_data_of_each_allocation)
{
	const struct child_result *child = RECORDED_CLEAN("private_data", "");

	EXPECT_STR(notes_after(child, "-- create"), "CreateAllocation irql=0 count=2 resource=1\n"
						    "resource data irql=0 value=4711 size=4\n"
						    "OpenAllocation irql=0 count=2 flags=1\n"
						    "resource data irql=0 value=4711 size=4\n");
}

TEST(driver, opens_for_another_device_without_creating_again)
{
	const struct child_result *child = RECORDED_CLEAN("private_data", "");

	EXPECT_STR(notes_after(child, "-- open"), "OpenAllocation irql=0 count=2 flags=0\n"
						  "resource data irql=0 value=4711 size=4\n");
}

TEST(driver, destroys_what_is_shared_with_the_last_opening)
{
	const struct child_result *child = RECORDED_CLEAN("private_data", "");

	EXPECT_STR(notes_after(child, "-- creator goes"), "CloseAllocation irql=0 count=2\n");
	EXPECT_STR(notes_after(child, "-- opener goes"),
		   "CloseAllocation irql=0 count=2\n"
		   "DestroyAllocation irql=0 count=2 flags=1\n");
}

/* ---- read only ---- */

static NTSTATUS open_plain(D3DKMT_HANDLE on, D3DKMT_HANDLE global, D3DKMT_HANDLE *resource_out)
{
	D3DDDI_OPENALLOCATIONINFO element = { 0 };
	D3DKMT_OPENRESOURCE open = { .hDevice = on,
				     .hGlobalShare = global,
				     .NumAllocations = 1,
				     .pOpenAllocationInfo = &element };
	NTSTATUS status = D3DKMTOpenResource(&open);

	*resource_out = open.hResource;
	return status;
}

static NTSTATUS open_plain_nt(D3DKMT_HANDLE on, HANDLE nt_handle)
{
	D3DDDI_OPENALLOCATIONINFO2 element = { 0 };
	return D3DKMTOpenResourceFromNtHandle(
		&(D3DKMT_OPENRESOURCEFROMNTHANDLE){ .hDevice = on,
						    .hNtHandle = nt_handle,
						    .NumAllocations = 1,
						    .pOpenAllocationInfo2 = &element });
}

CHILD(read_only)
{
	struct creation creation;
	D3DKMT_HANDLE opened;
	HANDLE with;
	HANDLE without;

	child_begin();
	D3DKMT_HANDLE other = child_create_device(adapter);
	creation_init_plain(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.CreateShared = 1;
	creation.args.Flags.ReadOnly = 1;
	say("-- create read only");
	CHILD_OK(create(&creation));
	say("-- open read only");
	CHILD_OK(open_plain(other, creation.args.hGlobalShare, &opened));
	say("-- create another");
	creation_init_plain(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.CreateShared = 1;
	creation.args.Flags.NtSecuritySharing = 1;
	CHILD_OK(create(&creation));
	CHILD_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
				    &with));
	CHILD_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, 0x00020000, &without));
	say("-- open with the right to write");
	CHILD_OK(open_plain_nt(other, with));
	say("-- open without it");
	CHILD_OK(open_plain_nt(other, without));
	say("-- end");
	return 0;
}

TEST(driver, is_told_that_an_opening_is_read_only)
{
	const struct child_result *child = RECORDED_CLEAN("read_only", "");

	EXPECT_STR(notes_after(child, "-- create read only"),
		   "CreateAllocation irql=0 count=1 resource=1\n"
		   "OpenAllocation irql=0 count=1 flags=3\n");
	EXPECT_STR(notes_after(child, "-- open read only"),
		   "OpenAllocation irql=0 count=1 flags=2\n");
	EXPECT_STR(notes_after(child, "-- open with the right to write"),
		   "OpenAllocation irql=0 count=1 flags=0\n");
	EXPECT_STR(notes_after(child, "-- open without it"),
		   "OpenAllocation irql=0 count=1 flags=2\n");
}

/* Generic rights stand for the object's own: a runtime asks for GENERIC_ALL. */
CHILD(generic_rights)
{
	static const DWORD rights[] = { GENERIC_ALL, GENERIC_WRITE, GENERIC_READ };
	struct creation creation;
	HANDLE handle;

	child_begin();
	creation_init_plain(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.CreateShared = 1;
	creation.args.Flags.NtSecuritySharing = 1;
	CHILD_OK(create(&creation));
	for (unsigned i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		CHILD_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, rights[i], &handle));
		say(i == 0 ? "-- all" : i == 1 ? "-- write" : "-- read");
		CHILD_OK(open_plain_nt(device, handle));
	}
	say("-- end");
	return 0;
}

TEST(driver, is_told_of_the_right_to_write_that_a_generic_one_stands_for)
{
	const struct child_result *child = RECORDED_CLEAN("generic_rights", "");

	EXPECT_STR(notes_after(child, "-- all"), "OpenAllocation irql=0 count=1 flags=0\n");
	EXPECT_STR(notes_after(child, "-- write"), "OpenAllocation irql=0 count=1 flags=0\n");
	EXPECT_STR(notes_after(child, "-- read"), "OpenAllocation irql=0 count=1 flags=2\n");
}

/* ---- what nobody destroyed ---- */

CHILD(leave_allocations)
{
	struct creation creation;
	D3DKMT_HANDLE opened;
	HANDLE nt_handle;
	void *pointer;

	child_begin();
	D3DKMT_HANDLE other = child_create_device(adapter);
	creation_init_plain(&creation, device, 1);
	CHILD_OK(create(&creation));
	CHILD_OK(lock2(device, creation.elements[0].hAllocation, &pointer));
	creation_init_plain(&creation, device, 2);
	creation.args.Flags.CreateResource = 1;
	CHILD_OK(create(&creation));
	creation_init_plain(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.CreateShared = 1;
	CHILD_OK(create(&creation));
	CHILD_OK(open_plain(other, creation.args.hGlobalShare, &opened));
	creation_init_plain(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.CreateShared = 1;
	creation.args.Flags.NtSecuritySharing = 1;
	CHILD_OK(create(&creation));
	CHILD_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, 1, &nt_handle));
	child_create_context(device);
	say("-- leave");
	if (getenv("TEST_DESTROY_DEVICE"))
		CHILD_OK(destroy_device(device));
	say("-- exit");
	return 0;
}

TEST(exit, closes_and_destroys_everything_that_was_left)
{
	const struct child_result *child = RECORDED_CLEAN("leave_allocations", "");

	/* The newest device first, and in each: contexts, resources, the rest; newest first. */
	EXPECT_CONTAINS(notes_after(child, "-- exit"),
			"CloseAllocation irql=0 count=1\n" /* opened, on the second device */
			"DestroyDevice irql=0\n"
			"DestroyContext irql=0\n"
			"CloseAllocation irql=0 count=1\n" /* by NT handle: something keeps it */
			"CloseAllocation irql=0 count=1\n" /* shared, nobody else has it */
			"DestroyAllocation irql=0 count=1 flags=1\n"
			"CloseAllocation irql=0 count=2\n"
			"DestroyAllocation irql=0 count=2 flags=1\n"
			"CloseAllocation irql=0 count=1\n"
			"DestroyAllocation irql=0 count=1 flags=0\n"
			"DestroyDevice irql=0\n");
	/* What only the NT handle kept goes before the adapter stops. */
	EXPECT_CONTAINS(notes_after(child, "-- exit"), "DestroyProcess irql=0\n"
						       "DestroyAllocation irql=0 count=1 flags=1\n"
						       "DestroyContext irql=0\n");
}

TEST(device, closes_its_allocations_before_it_is_destroyed_in_the_driver)
{
	const struct child_result *child =
		RECORDED_CLEAN("leave_allocations", "", "TEST_DESTROY_DEVICE=1");

	EXPECT_STR(notes_after(child, "-- leave"), "DestroyContext irql=0\n"
						   "CloseAllocation irql=0 count=1\n"
						   "CloseAllocation irql=0 count=1\n"
						   "CloseAllocation irql=0 count=2\n"
						   "DestroyAllocation irql=0 count=2 flags=1\n"
						   "CloseAllocation irql=0 count=1\n"
						   "DestroyAllocation irql=0 count=1 flags=0\n"
						   "DestroyDevice irql=0\n");
	EXPECT_CONTAINS(notes_after(child, "-- exit"), "CloseAllocation irql=0 count=1\n"
						       "DestroyAllocation irql=0 count=1 flags=1\n"
						       "DestroyDevice irql=0\n");
}

CHILD(leave_all_and_end_at_once)
{
	struct creation creation;

	child_begin();
	creation_init_plain(&creation, device, 4);
	CHILD_OK(create(&creation));
	_exit(7);
}

/* Nothing runs there; the host takes the memory. */
TEST(exit, without_exit_handlers_just_ends)
{
	EXPECT_CHILD(run_child("leave_all_and_end_at_once", recorder_profile("", "")), 7);
}

/* ---- failure ---- */

/* Creates 3 in a new resource (or alone), which is expected to fail; says the status and why. */
CHILD(create_that_fails)
{
	struct creation creation;
	bool is_alone = getenv("TEST_ALONE") != NULL;

	child_begin();
	creation_init_plain(&creation, device, 3);
	creation.args.Flags.CreateResource = !is_alone;
	creation.args.Flags.CreateShared = !is_alone;
	struct creation before = creation;
	say("-- create");
	NTSTATUS status = create(&creation);
	struct dxgk_refusal why = last_refusal();
	char line[400];
	snprintf(line, sizeof(line), "-- 0x%08x %s [%lld] %s", (unsigned)status, why.rule,
		 why.index, why.reason);
	say(line);
	CHILD_EXPECT(status != STATUS_SUCCESS);
	CHILD_EXPECT(memcmp(&before, &creation, sizeof(before)) == 0);
	struct recorder_escape left = ask((struct recorder_escape){ .command = RECORDER_COUNT });
	CHILD_EXPECT(left.allocations == 0 && left.openings == 0 && left.resources == 0);
	/* What the driver did once it does not do twice, and it was undone. */
	for (unsigned i = 0; i < 8; i++)
		CHILD_EXPECT(!is_alive(device, device + 0x40 * (i + 1)));
	if (!getenv("TEST_ALWAYS")) {
		CHILD_OK(create(&creation));
		CHILD_EXPECT(is_alive(device, creation.elements[2].hAllocation));
	}
	return 0;
}

TEST(failure, of_the_driver_to_create_leaves_nothing)
{
	const struct child_result *child = RECORDED_CLEAN(
		"create_that_fails", "\"Fail\": \"CreateAllocation\", \"FailStatus\": 3221225495");

	EXPECT_CONTAINS(child->out, "-- 0xc0000017 DDI-STATUS");
}

TEST(failure, at_the_kth_element_leaves_nothing)
{
	for (unsigned k = 0; k < 3; k++) {
		char setting[64];
		snprintf(setting, sizeof(setting), "\"FailElement\": %u", k);
		const struct child_result *child =
			RECORDED_CLEAN("create_that_fails", setting, "TEST_ALWAYS=1",
				       k == 1 ? "TEST_ALONE=1" : "TEST_DUMMY=1");

		EXPECT_CONTAINS(child->out, "-- 0xc000000d DDI-STATUS");
	}
}

TEST(failure, of_the_driver_to_open_destroys_what_it_created)
{
	const struct child_result *child =
		RECORDED_CLEAN("create_that_fails", "\"Fail\": \"OpenAllocation\"");

	EXPECT_CONTAINS(child->out, "-- 0xc0000001 DDI-STATUS");
	EXPECT_STR(notes_after(child, "-- create"), "CreateAllocation irql=0 count=3 resource=1\n"
						    "OpenAllocation irql=0 count=3 flags=1\n"
						    "DestroyAllocation irql=0 count=1 flags=0\n"
						    "DestroyAllocation irql=0 count=1 flags=0\n"
						    "DestroyAllocation irql=0 count=1 flags=1\n");
}

TEST(failure, to_open_the_kth_element_destroys_what_was_created)
{
	for (unsigned k = 0; k < 3; k++) {
		char setting[64];
		snprintf(setting, sizeof(setting), "\"FailOpenElement\": %u", k);
		const struct child_result *child =
			RECORDED_CLEAN("create_that_fails", setting, "TEST_ALWAYS=1");

		EXPECT_CONTAINS(child->out, "-- 0xc0000017 DDI-STATUS");
	}
}

TEST(failure, a_binding_that_is_null_after_success_is_an_illegal_answer)
{
	for (unsigned k = 0; k < 3; k++) {
		char setting[64];
		snprintf(setting, sizeof(setting), "\"NullBindingAt\": %u", k);
		const struct child_result *child = run_child(
			"create_that_fails", recorder_profile(setting, ""), "TEST_ALWAYS=1");
		char wanted[64];
		expect_clean(child);
		snprintf(wanted, sizeof(wanted), "DDI-ALLOCATION [%u] pOpenAllocation", k);
		EXPECT_CONTAINS(child->out, wanted);
		EXPECT_CONTAINS(child->out, "hDeviceSpecificAllocation");
		/* What it did open it closes at once, as it does when all goes well. */
		EXPECT_CONTAINS(notes_after(child, "-- create"),
				"CloseAllocation irql=0 count=2\n");
	}
}

/* ---- illegal answers ---- */

static void expect_illegal(const char *setting, const char *field)
{
	char settings[256];

	/* At each end of the array: the rest is good, and destroyed again. */
	for (unsigned at = 0; at < 3; at += 2) {
		snprintf(settings, sizeof(settings), "%s, \"AnswerAt\": %u", setting, at);
		const struct child_result *child = run_child(
			"create_that_fails", recorder_profile(settings, ""), "TEST_ALWAYS=1");
		char wanted[128];
		if (child->exit_status != 0)
			print_error("with %s:\n", settings);
		expect_clean(child);
		snprintf(wanted, sizeof(wanted),
			 "DDI-ALLOCATION [%u] pAllocationInfo[%u] of "
			 "DxgkDdiCreateAllocation: %s ",
			 at, at, field);
		EXPECT_CONTAINS(child->out, wanted);
		EXPECT_CONTAINS(notes_after(child, "-- create"),
				"DestroyAllocation irql=0 count=1 flags=1\n");
	}
}

static NTSTATUS create_alone(D3DKMT_HANDLE *allocation_out)
{
	struct creation creation;

	creation_init_plain(&creation, device, 1);
	NTSTATUS status = create(&creation);
	*allocation_out = creation.elements[0].hAllocation;
	return status;
}

CHILD(second_that_fails)
{
	D3DKMT_HANDLE allocation;

	child_begin();
	CHILD_OK(create_alone(&allocation));
	CHILD_EXPECT(create_alone(&allocation) != STATUS_SUCCESS);
	say(last_refusal().reason);
	struct recorder_escape left = ask((struct recorder_escape){ .command = RECORDER_COUNT });
	CHILD_EXPECT(left.allocations == 1 && left.openings == 1);
	return 0;
}

/* However many good ones came before it. */
static void expect_illegal_after_a_good_one(const char *setting, const char *field)
{
	char settings[256];
	char wanted[128];

	snprintf(settings, sizeof(settings), "%s, \"AnswerFrom\": 2", setting);
	const struct child_result *child = RECORDED_CLEAN("second_that_fails", settings);

	snprintf(wanted, sizeof(wanted), "of DxgkDdiCreateAllocation: %s ", field);
	EXPECT_CONTAINS(child->out, wanted);
}

#define ILLEGAL(name, setting, field)                                                              \
	TEST(illegal, name)                                                                        \
	{                                                                                          \
		expect_illegal(setting, field);                                                    \
		expect_illegal_after_a_good_one(setting, field);                                   \
	}

ILLEGAL(a_size_of_zero, "\"Allocation.Size\": 0", "Size")
ILLEGAL(a_size_that_wraps_when_rounded,
	"\"Allocation.Size\": 4294967295, \"Allocation.SizeHigh\": 4294967295", "Size")
ILLEGAL(an_alignment_that_is_no_power_of_two, "\"Allocation.Alignment\": 12288", "Alignment")
ILLEGAL(a_priority_of_zero, "\"Allocation.AllocationPriority\": 0", "AllocationPriority")
ILLEGAL(a_pitch_aligned_size_below_the_size, "\"Allocation.PitchAlignedSize\": 4096",
	"PitchAlignedSize")
ILLEGAL(no_segment_at_all, "\"Allocation.SupportedWriteSegmentSet\": 0", "SupportedWriteSegmentSet")
ILLEGAL(a_segment_there_is_not, "\"Allocation.SupportedWriteSegmentSet\": 19",
	"SupportedWriteSegmentSet")
ILLEGAL(an_eviction_segment_that_is_no_aperture, "\"Allocation.EvictionSegmentSet\": 1",
	"EvictionSegmentSet")
ILLEGAL(a_preferred_segment_outside_the_supported_set,
	"\"Allocation.SupportedWriteSegmentSet\": 2, \"Allocation.PreferredSegment\": 1",
	"PreferredSegment")
ILLEGAL(a_fifth_preference_outside_the_supported_set, "\"Allocation.PreferredSegment\": 67108864",
	"PreferredSegment")
ILLEGAL(reserved_bits_of_a_preference, "\"Allocation.PreferredSegment\": 1073741825",
	"PreferredSegment")
ILLEGAL(a_permanent_copy_that_the_cpu_does_not_see, "\"Allocation.Flags\": 2", "Flags")
ILLEGAL(a_cached_one_that_the_cpu_does_not_see, "\"Allocation.Flags\": 4", "Flags")
ILLEGAL(permanent_and_protected, "\"Allocation.Flags\": 11", "Flags")
ILLEGAL(permanent_and_existing, "\"Allocation.Flags\": 19", "Flags")
ILLEGAL(existing_in_two_ways, "\"Allocation.Flags\": 48", "Flags")
ILLEGAL(residency_news_without_physical_access, "\"Allocation.Flags\": 65537", "Flags")
ILLEGAL(a_history_buffer_that_the_cpu_does_not_see, "\"Allocation.Flags\": 16384", "Flags")
ILLEGAL(a_history_buffer_that_is_something_else_too, "\"Allocation.Flags\": 16449", "Flags")
ILLEGAL(cpu_addresses_in_an_aperture_that_nobody_gives, "\"Allocation.Flags\": 8193", "Flags")
/* 0xf003, 0x3000: WDDM 3.0. */
ILLEGAL(a_backing_store_that_the_driver_is_not_shown,
	"\"Version\": 61443, \"WDDMVersion\": 12288, \"Allocation.Flags2\": 1", "Flags2")
ILLEGAL(news_of_evictions_that_nobody_has,
	"\"Version\": 61443, \"WDDMVersion\": 12288, \"Allocation.Flags2\": 16", "Flags2")
ILLEGAL(news_of_an_iommu_that_nobody_has,
	"\"Version\": 61443, \"WDDMVersion\": 12288, \"Allocation.Flags2\": 32", "Flags2")
ILLEGAL(reserved_flags_of_the_second_word,
	"\"Version\": 61443, \"WDDMVersion\": 12288, \"Allocation.Flags2\": 64", "Flags2")
ILLEGAL(reserved_flags, "\"Allocation.Flags\": 524289", "Flags")

TEST(illegal, an_alignment_below_64k_where_pages_are_that_large)
{
	const struct child_result *child =
		RECORDED_CLEAN("create_that_fails", "\"Segment1.Flags\": 34820", "TEST_ALWAYS=1");

	EXPECT_CONTAINS(child->out, "DDI-ALLOCATION [0] pAllocationInfo[0] of "
				    "DxgkDdiCreateAllocation: Alignment ");
}

CHILD(second_that_the_cpu_does_not_see)
{
	D3DKMT_HANDLE first;
	D3DKMT_HANDLE second;

	child_begin();
	CHILD_OK(create_alone(&first));
	CHILD_OK(create_alone(&second));
	D3DKMT_LOCK lock = { .hDevice = device, .hAllocation = first };
	CHILD_OK(D3DKMTLock(&lock));
	lock.hAllocation = second;
	CHILD_EXPECT(D3DKMTLock(&lock) != STATUS_SUCCESS);
	return 0;
}

TEST(legal, an_answer_counts_for_the_allocation_it_is_about)
{
	RECORDED_CLEAN("second_that_the_cpu_does_not_see",
		       "\"Allocation.Flags\": 0, \"AnswerFrom\": 2");
}

TEST(legal, an_alignment_of_zero_means_a_page)
{
	RECORDED_CLEAN("ordinary_life", "\"Allocation.Alignment\": 0");
}

TEST(legal, answers_at_the_edge_are_taken)
{
	static const char *const settings[] = {
		/* Both segments preferred, with directions. */
		"\"Allocation.PreferredSegment\": 2209",
		"\"Allocation.PitchAlignedSize\": 65536",
		"\"Allocation.EvictionSegmentSet\": 2",
		"\"Allocation.Size\": 1",
		"\"Allocation.Alignment\": 2147483648",
		"\"Allocation.AllocationPriority\": 1",
		/* Ignored since WDDM 2.0. */
		"\"Allocation.SupportedReadSegmentSet\": 0",
		"\"Allocation.Flags\": 98305",
		/* What one always has here; and before WDDM 3.0 there is no such word. */
		"\"Version\": 61443, \"WDDMVersion\": 12288, \"Allocation.Flags2\": 14",
		"\"Allocation.Flags2\": 113",
		/* History buffers. */
		"\"Allocation.Flags\": 16385",
		"\"Allocation.Flags\": 16389",
		"\"Allocation.Flags\": 7",
	};

	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		RECORDED_CLEAN("ordinary_life", settings[i]);
}

/* ---- opening fails ---- */

CHILD(open_that_fails)
{
	struct creation creation;
	D3DKMT_HANDLE opened;

	child_begin();
	D3DKMT_HANDLE other = child_create_device(adapter);
	creation_init_plain(&creation, device, 1);
	creation.args.Flags.CreateResource = 1;
	creation.args.Flags.CreateShared = 1;
	CHILD_OK(create(&creation));
	say("-- open");
	CHILD_EXPECT(open_plain(other, creation.args.hGlobalShare, &opened) == STATUS_UNSUCCESSFUL);
	struct recorder_escape left = ask((struct recorder_escape){ .command = RECORDER_COUNT });
	CHILD_EXPECT(left.allocations == 1 && left.openings == 1 && left.resources == 1);
	say("-- again");
	CHILD_OK(open_plain(other, creation.args.hGlobalShare, &opened));
	/* The failure cost the creator nothing, and did not keep the memory either. */
	CHILD_OK(destroy_resource(device, creation.args.hResource));
	CHILD_OK(destroy_resource(other, opened));
	left = ask((struct recorder_escape){ .command = RECORDER_COUNT });
	CHILD_EXPECT(left.allocations == 0 && left.openings == 0 && left.resources == 0);
	return 0;
}

TEST(failure, of_the_driver_to_open_for_another_device_changes_nothing)
{
	const struct child_result *child =
		RECORDED_CLEAN("open_that_fails", "\"Fail\": \"OpenAllocation\", \"FailAt\": 2");

	EXPECT_STR(notes_after(child, "-- open"), "OpenAllocation irql=0 count=1 flags=0\n");
}

API_TEST_MAIN("api/allocation_driver")
