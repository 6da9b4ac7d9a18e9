/* SPDX-License-Identifier: MIT */
/*
 * ahead_test.c - several packets of one engine under way, on hardware that the test plays: it says how each packet begins
 * and when it ends.
 */
#include "gpu.h"
#include "host.h"

enum { PACKETS = 3, COMMAND_BYTES = 64 };

static struct {
	enum gpu_outcome begins[PACKETS]; /* of the n-th: how */
	BOOLEAN may_end;                  /* whoever is under way */
	UINT begun;
} play;

enum gpu_outcome __wrap_gpu_hw_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				       struct gpu_fault *fault_out);
enum gpu_outcome __wrap_gpu_hw_reap(struct gpu_engine *engine, struct gpu_packet *packet,
				    struct gpu_fault *fault_out);

enum gpu_outcome __wrap_gpu_hw_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				       struct gpu_fault *fault_out)
{
	EXPECT(play.begun < PACKETS);
	if (play.begins[play.begun] == GPU_FAULTED)
		fault_out->status = STATUS_INSUFFICIENT_RESOURCES;
	return play.begins[play.begun++];
}

enum gpu_outcome __wrap_gpu_hw_reap(struct gpu_engine *engine, struct gpu_packet *packet,
				    struct gpu_fault *fault_out)
{
	while (!play.may_end && !gpu_engine_has_news(engine) &&
	       gpu_check_attention(engine, packet) == GPU_DONE)
		host_pass_time(1);
	return play.may_end                                      ? GPU_DONE
	       : gpu_check_attention(engine, packet) == GPU_DONE ? GPU_UNDER_WAY
								 : GPU_ABORTED;
}

static HANDLE context;
static PUCHAR buffer;

static UINT submit(void)
{
	return host_submit(context, buffer, COMMAND_BYTES);
}

static void wait_begun(UINT count)
{
	for (UINT i = 0; i < 1000 && play.begun < count; i++)
		host_pass_time(1);
	EXPECT_EQ(play.begun, count);
}

static void begin(void)
{
	host_start(NULL);
	memset(&play, 0, sizeof(play));
	context = host_create_context(HOST_NODE_3D, FALSE);
	buffer = host_contiguous(COMMAND_BYTES);
}

static void end(void)
{
	MmFreeContiguousMemory(buffer);
	host_destroy_context(context);
	host_stop();
}

#define AHEAD_TEST(claim) TEST_BETWEEN(begin(), end(), ahead, claim)

AHEAD_TEST(packets_end_in_their_order)
{
	play.begins[0] = GPU_UNDER_WAY;
	play.begins[2] = GPU_UNDER_WAY;
	submit();
	submit();
	UINT last = submit();
	wait_begun(3);
	host_pass_time(100);
	EXPECT_EQ(host.completions[HOST_NODE_3D], 0);
	play.may_end = TRUE;
	host_wait_completed(HOST_NODE_3D, last);
	EXPECT_EQ(host.completions[HOST_NODE_3D], 3);
}

/* It is told when those before it are over, and until then nothing may have an effect that comes behind it. */
AHEAD_TEST(nothing_begins_behind_one_that_faulted)
{
	DXGKARG_RESETENGINE reset = { .NodeOrdinal = HOST_NODE_3D };

	play.begins[0] = GPU_UNDER_WAY;
	play.begins[1] = GPU_FAULTED;
	UINT first = submit();
	UINT faulted = submit();
	submit();
	wait_begun(2);
	host_pass_time(100);
	EXPECT_EQ(play.begun, 2);
	EXPECT_EQ(host.faults, 0);
	play.may_end = TRUE;
	host_wait_completed(HOST_NODE_3D, first);
	host_wait_faults(1);
	host_pass_time(100);
	EXPECT_EQ(play.begun, 2);
	EXPECT_EQ(host.ddi.DxgkDdiResetEngine(host.adapter, &reset), STATUS_SUCCESS);
	EXPECT(reset.LastAbortedFenceId >= faulted);
	EXPECT_EQ(play.begun, 2);
}

TEST_MAIN("soft/ahead")
