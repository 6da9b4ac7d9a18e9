/* SPDX-License-Identifier: MIT */
/*
 * refusal_test.c - every refusal has a reason, and how it is read.
 */
#include "api/support.h"

#include <pthread.h>

TEST(last_refusal, fills_the_whole_record)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	D3DKMT_CREATEDEVICE args = { .hAdapter = 0x40000fc0 };

	EXPECT_EQ(D3DKMTCreateDevice(&args), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(DxgkLastRefusal(&why), 1);
	EXPECT_EQ(why.size_bytes, sizeof(why));
	EXPECT_EQ(why.status, STATUS_INVALID_PARAMETER);
	EXPECT(why.sequence > 0);
	EXPECT_EQ(why.index, -1);
	EXPECT_STR(why.call, "D3DKMTCreateDevice");
	EXPECT_STR(why.argument, "hAdapter");
	EXPECT_STR(why.rule, "API-HANDLE");
	EXPECT_STR(why.reason,
		   "hAdapter 0x40000fc0 is not an adapter: such a handle was never given out");
}

TEST(last_refusal, a_record_that_is_too_small_is_left_alone)
{
	struct dxgk_refusal why;

	close_adapter(0);
	memset(&why, 0xee, sizeof(why));
	why.size_bytes = sizeof(why) - 1;
	EXPECT_EQ(DxgkLastRefusal(&why), 0);
	EXPECT_EQ((unsigned)why.status, 0xeeeeeeee);
	why.size_bytes = 0;
	EXPECT_EQ(DxgkLastRefusal(&why), 0);
	EXPECT_EQ(DxgkLastRefusal(NULL), 0);
}

TEST(last_refusal, a_larger_record_of_a_later_version_is_filled_as_far_as_known)
{
	struct {
		struct dxgk_refusal known;
		char later[64];
	} why;

	close_adapter(0);
	memset(&why, 0xee, sizeof(why));
	why.known.size_bytes = sizeof(why);
	EXPECT_EQ(DxgkLastRefusal(&why.known), 1);
	EXPECT_STR(why.known.rule, "API-HANDLE");
	EXPECT_EQ((unsigned char)why.later[0], 0xee);
	EXPECT(why.known.size_bytes <= sizeof(why.known)); /* says how much of it counts */
}

TEST(last_refusal, stays_while_calls_succeed)
{
	close_adapter(0x7fffffc0);
	struct dxgk_refusal before = last_refusal();
	EXPECT_OK(close_adapter(open_first_adapter()));
	struct dxgk_refusal after = last_refusal();

	EXPECT_EQ(after.sequence, before.sequence);
	EXPECT_STR(after.reason, before.reason);
}

TEST(last_refusal, counts_the_refusals_of_the_process)
{
	close_adapter(0);
	unsigned long long before = last_refusal().sequence;
	close_adapter(0);
	EXPECT_EQ(last_refusal().sequence, before + 1);
}

static void *refuse_elsewhere(void *context)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	struct dxgk_refusal *seen = context;

	seen[0].sequence = DxgkLastRefusal(&why); /* none yet in this thread */
	destroy_device(0);
	seen[1] = last_refusal();
	return NULL;
}

TEST(last_refusal, belongs_to_the_thread_that_was_refused)
{
	struct dxgk_refusal seen[2];
	pthread_t thread;

	close_adapter(0);
	struct dxgk_refusal mine = last_refusal();
	EXPECT_EQ(pthread_create(&thread, NULL, refuse_elsewhere, seen), 0);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(seen[0].sequence, 0);
	EXPECT_STR(seen[1].call, "D3DKMTDestroyDevice");
	EXPECT(seen[1].sequence > mine.sequence);
	EXPECT_EQ(last_refusal().sequence, mine.sequence);
	EXPECT_STR(last_refusal().call, "D3DKMTCloseAdapter");
}

/* ---- the log ---- */

CHILD(be_refused)
{
	D3DKMT_CREATEDEVICE args = { 0 };
	D3DKMT_HANDLE adapter = child_open_adapter();

	CHILD_EXPECT(D3DKMTCreateDevice(&args) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(close_adapter(adapter) == STATUS_SUCCESS);
	return 0;
}

TEST(log, says_a_refusal_in_one_line_when_asked)
{
	const struct child_result *child = run_child("be_refused", "DXGK_LOG=refusals");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->err,
		   "dxgk: D3DKMTCreateDevice: hAdapter 0x00000000 is not an adapter: such a "
		   "handle was never given out (API-HANDLE, STATUS_INVALID_PARAMETER)\n");
	EXPECT_STR(child->out, "");
}

TEST(log, says_nothing_unless_asked)
{
	const struct child_result *child = run_child("be_refused");

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->err, "");
}

TEST(log, says_each_call_when_asked)
{
	const struct child_result *child = run_child("be_refused", "DXGK_LOG=calls");

	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->err, "dxgk: D3DKMTEnumAdapters2(NumAdapters 1): STATUS_SUCCESS, "
				    "NumAdapters 0x1\n");
	EXPECT_CONTAINS(child->err,
			"dxgk: D3DKMTCreateDevice(hAdapter 0x00000000, Flags 0x0): "
			"STATUS_INVALID_PARAMETER\n"
			"dxgk: D3DKMTCloseAdapter(hAdapter 0x40000040): STATUS_SUCCESS\n");
	EXPECT_CONTAINS(child->err, "dxgk: DxgkDdiStartDevice(): STATUS_SUCCESS\n");
}

TEST(log, a_topic_that_does_not_exist_is_said_once)
{
	const struct child_result *child = run_child("be_refused", "DXGK_LOG=nonsense");

	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->err, "\"nonsense\" is not a topic");
	EXPECT(!strstr(strstr(child->err, "nonsense") + 1, "nonsense"));
}

/* ---- when there is no kernel to ask ---- */

CHILD(ask_without_kernel)
{
	D3DKMT_ENUMADAPTERS2 args = { 0 };
	NTSTATUS status = D3DKMTEnumAdapters2(&args);
	struct dxgk_refusal why = last_refusal();

	printf("%08x %s %s %s\n", (unsigned)status, why.call, why.rule, why.reason);
	return 0;
}

TEST(server, is_refused_while_there_is_none)
{
	const struct child_result *child =
		run_child("ask_without_kernel", "DXGK_SOCKET=/tmp/no-such-socket");

	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->out,
			"c0000041 D3DKMTEnumAdapters2 SYS-SERVER no server is reached at ");
}

API_TEST_MAIN("api/refusal")
