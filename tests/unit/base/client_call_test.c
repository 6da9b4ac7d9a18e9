/* SPDX-License-Identifier: MIT */
/*
 * client_call_test.c - what a call of a client elsewhere takes along, and brings back.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/client_call.h"
#include "base/mem.h"
#include "support/test.h"

static struct mem_usage usage;
static struct client_call call;

static void begin(void)
{
	usage = mem_usage();
	call = (struct client_call){ 0 };
	client_call_begin(&call);
}

static void finish(void)
{
	client_call_end();
	client_call_finish(&call);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
	EXPECT_EQ(client_file_count(), 0);
}

static struct client_file *file_new(void)
{
	struct client_file *file =
		client_file_create(memfd_create("test", MFD_CLOEXEC), CLIENT_FILE_OF_OURS);

	EXPECT(file);
	return file;
}

#define CALL_TEST(suite, claim) TEST_BETWEEN(begin(), finish(), suite, claim)

CALL_TEST(files, have_numbers_of_their_own_and_go_with_the_last_who_has_them)
{
	struct client_file *a = file_new();
	struct client_file *b = file_new();
	uint32_t id = client_file_id(a);
	EXPECT(id != client_file_id(b));
	EXPECT(client_file_descriptor(id) >= 0);
	EXPECT(client_file_descriptor(id) != client_file_descriptor(client_file_id(b)));
	client_file_put(a);
	EXPECT_EQ(client_file_descriptor(id), -1);
	a = file_new();
	EXPECT(client_file_id(a) != id);
	client_file_put(a);
	client_file_put(b);
}

TEST(files, of_a_call_last_as_long_as_it_does)
{
	begin();
	struct client_file *file = file_new();
	uint32_t id = client_file_id(file);
	EXPECT_EQ(client_call_add_run(file, 3, 2), STATUS_SUCCESS);
	EXPECT_EQ(client_call_add_view(0x10000, client_call_stamp(), CLIENT_VIEW_WRITTEN),
		  STATUS_SUCCESS);
	client_file_put(file);
	EXPECT(client_file_descriptor(id) >= 0);
	finish();
	EXPECT_EQ(client_file_descriptor(id), -1);
}

CALL_TEST(views, have_the_runs_that_were_added_and_neighbours_are_one)
{
	struct client_file *file = file_new();
	EXPECT_EQ(client_call_add_run(file, 3, 2), STATUS_SUCCESS);
	EXPECT_EQ(client_call_add_run(file, 5, 1), STATUS_SUCCESS);
	EXPECT_EQ(client_call_add_run(file, 9, 4), STATUS_SUCCESS);
	EXPECT_EQ(client_call_add_view(0x10000, 1, CLIENT_VIEW_WRITTEN), STATUS_SUCCESS);
	EXPECT_EQ(client_call_add_run(file, 13, 1), STATUS_SUCCESS); /* of another view */
	EXPECT_EQ(client_call_add_view(0x90000, 2, CLIENT_VIEW_READ), STATUS_SUCCESS);
	EXPECT_EQ(call.view_count, 2);
	EXPECT_EQ(call.run_count, 3);
	EXPECT_EQ(call.views[0].page_count, 7);
	EXPECT_EQ(call.views[0].run_count, 2);
	EXPECT_EQ(call.runs[0].page_count, 3);
	EXPECT_EQ(call.views[1].first_run, 2);
	EXPECT_EQ(call.views[1].page_count, 1);
	EXPECT_EQ(call.views[1].kind, CLIENT_VIEW_READ);
	EXPECT_EQ(call.views[0].kind, CLIENT_VIEW_WRITTEN);
	client_file_put(file);
}

TEST(views, that_cannot_be_noted_leave_nothing)
{
	bool fired = true;

	for (unsigned n = 1; fired; n++) {
		begin();
		struct client_file *file = file_new();
		mem_fail_nth(n);
		NTSTATUS status = client_call_add_run(file, 3, 2);
		if (NT_SUCCESS(status))
			status = client_call_add_run(file, 30, 2);
		if (NT_SUCCESS(status))
			status = client_call_add_view(0x10000, 1, CLIENT_VIEW_WRITTEN);
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(call.view_count, fired ? 0 : 1);
		EXPECT_EQ(call.run_count, fired ? 0 : 2);
		client_file_put(file);
		finish();
	}
}

CALL_TEST(brought, memory_is_found_where_all_of_it_is)
{
	EXPECT_EQ(client_call_bring(&call, 0x10000, 0x3000, 7, 0x1000), STATUS_SUCCESS);
	EXPECT_EQ(client_call_bring(&call, 0x80000, 0x1000, 8, 0), STATUS_SUCCESS);
	EXPECT_EQ(client_call_brought(0x11000, 0x2000)->descriptor, 7);
	EXPECT_EQ(client_call_brought(0x80000, 0x1000)->descriptor, 8);
	EXPECT(!client_call_brought(0x11000, 0x2001));
	EXPECT(!client_call_brought(0x14000, 1));
	EXPECT(!client_call_brought(0xf000, 0x2000));
	EXPECT(!client_call_brought(0x10000, UINT64_MAX));
	client_call_end();
	EXPECT(!client_call_brought(0x80000, 0x1000));
}

TEST_MAIN("base/client_call")
