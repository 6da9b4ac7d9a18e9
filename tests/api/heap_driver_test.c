/* SPDX-License-Identifier: MIT */
/*
 * heap_driver_test.c - a heap of the client's own as a driver sees it: it says which private data it
 * wants, and then makes an allocation of that.
 */
#include "api/allocation_recorder.h"

CHILD(heap)
{
	static _Alignas(PAGE) unsigned char memory[4 * PAGE];
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP
	};
	D3DDDI_ALLOCATIONINFO2 element = { .pSystemMem = memory };
	D3DKMT_CREATEALLOCATION args = { .NumAllocations = 1,
					 .pAllocationInfo2 = &element,
					 .pStandardAllocation = &standard };
	NTSTATUS wanted =
		(NTSTATUS)strtoul(getenv("TEST_STATUS") ? getenv("TEST_STATUS") : "0", NULL, 0);

	child_begin();
	args.hDevice = device;
	standard.ExistingHeapData.Size = sizeof(memory);
	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSysMem = 1;
	say("-- heap");
	NTSTATUS status = D3DKMTCreateAllocation2(&args);
	say("-- done");
	say(last_refusal().rule);
	CHILD_EXPECT(status == wanted);
	struct recorder_escape left = ask((struct recorder_escape){ .command = RECORDER_COUNT });
	CHILD_EXPECT(left.allocations == (wanted == STATUS_SUCCESS));
	return 0;
}

TEST(heap, is_described_by_the_driver_in_two_passes)
{
	const struct child_result *child = RECORDED_CLEAN("heap", "");

	EXPECT_STR(notes_after(child, "-- heap"),
		   "GetStandardAllocationDriverData irql=0 type=4 width=16384\n"
		   "GetStandardAllocationDriverData irql=0 type=4 width=16384\n"
		   "CreateAllocation irql=0 count=1 resource=0\n"
		   "OpenAllocation irql=0 count=1 flags=1\n");
}

TEST(heap, needs_a_driver_that_can_describe_it)
{
	const struct child_result *child =
		RECORDED_CLEAN("heap", "\"Missing\": \"GetStandardAllocationDriverData\"",
			       "TEST_STATUS=0xc00000bb");

	EXPECT_CONTAINS(child->out, "DDI-ENTRY-MISSING");
}

TEST(heap, is_refused_when_the_driver_refuses_either_pass)
{
	for (unsigned at = 1; at <= 2; at++) {
		char setting[128];
		snprintf(setting, sizeof(setting),
			 "\"Fail\": \"GetStandardAllocationDriverData\", \"FailAt\": %u", at);
		RECORDED_CLEAN("heap", setting, "TEST_STATUS=0xc0000001");
	}
}

TEST(heap, with_no_private_data_of_either_kind_is_an_illegal_answer)
{
	const struct child_result *child =
		RECORDED_CLEAN("heap", "\"StandardAllocationBytes\": 0", "TEST_STATUS=0xc01e0004");

	EXPECT_CONTAINS(child->out, "DDI-ALLOCATION");
}

API_TEST_MAIN("api/heap_driver")
