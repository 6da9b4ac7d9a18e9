/* SPDX-License-Identifier: MIT */
/*
 * said_test.c - when a driver says why it fails a call, the refusal of the call says so too.
 */
#include "base/thread.h"
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/allocations.h"
#include "miniport/work.h"
#include "nt/debug.h"

static void expect_said(const char *reason, const char *step)
{
	char sentence[96];

	snprintf(sentence, sizeof(sentence), ": \"recorder: %s cannot be 7\"", step);
	EXPECT_CONTAINS(reason, sentence);
}

TEST(said, of_a_start_that_fails)
{
	static const char *const steps[] = {
		"DriverEntry",     "AddDevice",     "StartDevice",        "DRIVERCAPS",
		"QUERYSEGMENT4",   "GPUMMUCAPS",    "PAGETABLELEVELDESC", "POWERCOMPONENTINFO",
		"GetNodeMetadata", "CreateProcess", "CreateDevice",       "CreateContext",
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (unsigned says = 1; says <= 2; says++) {
			struct host host;

			host_init(&host);
			EXPECT_EQ(host_start(&host, TEXT("Fail", steps[i]), NUMBER("Says", says)),
				  STATUS_UNSUCCESSFUL);
			expect_said(host.refusal.reason, steps[i]);
			host_finish(&host);
		}
	}
}

HOST_TEST(said, is_nothing_where_the_driver_says_nothing)
{
	EXPECT_EQ(host_start(host, TEXT("Fail", "AddDevice")), STATUS_UNSUCCESSFUL);
	EXPECT_STR(host->refusal.reason, "DxgkDdiAddDevice returned STATUS_UNSUCCESSFUL");
}

static const char *last_reason(void)
{
	static struct dxgk_refusal refusal;

	refusal = (struct dxgk_refusal){ .size_bytes = sizeof(refusal) };
	EXPECT(refusal_last(&refusal));
	return refusal.reason;
}

/* What was printed in another call, or by nobody that was called, is no reason. */
TEST(said, is_of_this_call)
{
	struct host host;
	struct recorder_escape escape = { .command = RECORDER_NOTHING };

	host_init(&host);
	EXPECT_EQ(host_start(&host, TEXT("Fail", "Escape"), NUMBER("Says", 1)), STATUS_SUCCESS);
	EXPECT_EQ(host_escape(&host, &escape), STATUS_UNSUCCESSFUL);
	expect_said(last_reason(), "Escape");
	EXPECT_EQ(host_escape(&host, &escape), STATUS_SUCCESS);
	escape.command = 9999; /* fails without a word */
	EXPECT_EQ(host_escape(&host, &escape), STATUS_INVALID_PARAMETER);
	EXPECT_STR(last_reason(), "DxgkDdiEscape returned STATUS_INVALID_PARAMETER");
	host_finish(&host);
}

TEST(said, of_what_a_client_asks_for)
{
	struct miniport_allocation allocation = { 0 };
	struct miniport_creation creation = { .count = 1, .allocations = &allocation };
	struct miniport_visit visit;
	struct miniport_standard_data standard;
	struct host host;

	host_init(&host);
	EXPECT_EQ(host_start(&host, TEXT("Fail", "CreateAllocation"), NUMBER("Says", 1)),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_allocations(host.miniport, host.client, &creation),
		  STATUS_UNSUCCESSFUL);
	expect_said(last_reason(), "CreateAllocation");
	host_stop(&host);

	EXPECT_EQ(host_start(&host, TEXT("Fail", "CreateAllocation"), NUMBER("Says", 1)),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_visit_create(&visit, host.miniport, host.client, thread_seat(),
					&allocation),
		  STATUS_UNSUCCESSFUL);
	expect_said(last_reason(), "CreateAllocation");
	host_stop(&host);

	EXPECT_EQ(host_start(&host, TEXT("Fail", "GetStandardAllocationDriverData"),
			     NUMBER("Says", 1)),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_describe_existing_heap(host.miniport, host.client, 4096, &standard),
		  STATUS_UNSUCCESSFUL);
	expect_said(last_reason(), "GetStandardAllocationDriverData");
	host_finish(&host);
}

TEST(said, of_paging_and_of_what_may_not_fail)
{
	struct host host;
	uint8_t *memory = aligned_alloc(4096, 4096);
	struct miniport_paging_buffer buffer = { .memory = memory, .size_bytes = 4096 };
	const struct miniport_paging_op fill = {
		.kind = MINIPORT_PAGING_FILL,
		.target = { .segment = 1 },
		.size_bytes = 4096,
	};
	uint32_t multipass = 0;

	host_init(&host);
	host_listen();
	EXPECT_EQ(host_start(&host, TEXT("Fail", "BuildPagingBuffer"), NUMBER("Says", 1)),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_build_paging(host.miniport, &fill, &buffer, &multipass),
		  STATUS_DRIVER_INTERNAL_ERROR);
	expect_said(last_reason(), "BuildPagingBuffer");
	expect_said(host_reports.sentence, "BuildPagingBuffer");
	host_stop(&host);
	EXPECT_EQ(host_start(&host, TEXT("Fail", "DestroyDevice"), NUMBER("Says", 1)),
		  STATUS_SUCCESS);
	host_stop(&host);
	expect_said(host_reports.sentence, "DestroyDevice");
	free(memory);
	host_finish_reported(&host);
}

TEST_MAIN("miniport/said")
