/* SPDX-License-Identifier: MIT */
/*
 * status_test.c - statuses by name.
 */
#include "base/status.h"
#include "base/thread.h"
#include "support/test.h"

TEST(status, has_the_name_of_the_header)
{
	EXPECT_STR(status_name(STATUS_SUCCESS), "STATUS_SUCCESS");
	EXPECT_STR(status_name(STATUS_INVALID_PARAMETER), "STATUS_INVALID_PARAMETER");
	EXPECT_STR(status_name(STATUS_NO_MEMORY), "STATUS_NO_MEMORY");
	EXPECT_STR(status_name(STATUS_NOT_IMPLEMENTED), "STATUS_NOT_IMPLEMENTED");
	EXPECT_STR(status_name(STATUS_PENDING), "STATUS_PENDING");
	EXPECT_STR(status_name(STATUS_GRAPHICS_NO_VIDEO_MEMORY), "STATUS_GRAPHICS_NO_VIDEO_MEMORY");
}

TEST(status, a_stranger_is_shown_as_a_number)
{
	EXPECT_STR(status_name((NTSTATUS)0xcafe0001), "0xcafe0001");
	EXPECT_STR(status_name((NTSTATUS)0x7fffffff), "0x7fffffff");
	EXPECT_STR(status_name((NTSTATUS)0xffffffff), "0xffffffff");
}

TEST(status, is_found_by_its_name)
{
	NTSTATUS status = 1;

	EXPECT(status_from_name("STATUS_SUCCESS", &status));
	EXPECT_EQ(status, STATUS_SUCCESS);
	EXPECT(status_from_name("STATUS_DEVICE_REMOVED", &status));
	EXPECT_EQ((uint32_t)status, (uint32_t)STATUS_DEVICE_REMOVED);
	status = 1;
	EXPECT(!status_from_name("STATUS_DEVICE", &status));
	EXPECT(!status_from_name("", &status));
	EXPECT_EQ(status, 1);
}

static void name_a_stranger(void *argument)
{
	*(char *)argument = status_name((NTSTATUS)0xcafe0002)[9];
}

TEST(status, threads_do_not_share_the_number)
{
	struct thread *thread;
	char last = 0;
	const char *mine = status_name((NTSTATUS)0xcafe0001);

	EXPECT(NT_SUCCESS(thread_create("status", name_a_stranger, &last, &thread)));
	thread_join(thread);
	EXPECT_EQ(last, '2');
	EXPECT_STR(mine, "0xcafe0001");
}

TEST_MAIN("base/status")
