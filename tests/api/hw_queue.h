/* SPDX-License-Identifier: MIT */
/*
 * hw_queue.h - for tests of hardware queues: the calls in short, on GPUs that are turned by hand.
 *
 * A queue is known to the GPU by the order in which those that are there were made: 0, 1, …
 */
#ifndef TESTS_API_HW_QUEUE_H
#define TESTS_API_HW_QUEUE_H

#include "api/crank.h"

/* DXGK_INTERRUPT_TYPE */
enum {
	DMA_COMPLETED = 1,
	FENCE_SIGNALED = 11,
	ENGINE_TIMEOUT = 16,
};

/* ---- the adapters of the profile ---- */

enum {
	HW_BY_HAND,
	HW_COLLATERAL,   /* a reset hits everybody on the node */
	HW_HITS_NOBODY,  /* … nobody */
	HW_NO_RESET,     /* … is not there */
	HW_RESUME_FAILS, /* … does not end */
	HW_REFUSES,      /* the first submission */
	HW_JUDGES,  /* finds the first private data malformed, and writes into that of others */
	HW_AT_ONCE, /* completes by itself */
	HW_NONE,    /* has no hardware queues */
	HW_ADAPTERS
};

static inline int hw_main(const char *group, int argc, char **argv)
{
	static const char *const registries[HW_ADAPTERS] = {
		[HW_BY_HAND] = "\"HwQueues\": 1",
		[HW_COLLATERAL] = "\"HwQueues\": 1, \"HwCollateral\": 1",
		[HW_HITS_NOBODY] = "\"HwQueues\": 1, \"HwHitsNobody\": 1",
		[HW_NO_RESET] = "\"HwQueues\": 1, \"HwEngineReset\": 0",
		[HW_RESUME_FAILS] = "\"HwQueues\": 1, \"Fail\": \"ResumeHwEngine\"",
		[HW_REFUSES] = "\"HwQueues\": 1, \"HwSubmitStatus\": 3221225473",
		[HW_JUDGES] = ("\"HwQueues\": 1, \"Fail\": \"ValidateSubmitCommand\", "
			       "\"FailStatus\": 3221225704, \"ValidateWrites\": 80"),
		[HW_AT_ONCE] = "\"HwQueues\": 1, \"HwAtOnce\": 1",
		[HW_NONE] = "\"HwQueues\": 0",
	};

	crank_profile_of(registries, HW_ADAPTERS, "\"HandCranked\": 1, ");
	return api_main(group, argc, argv);
}

/* ---- contexts and queues ---- */

static inline NTSTATUS try_hw_context(D3DKMT_HANDLE on, unsigned node, D3DKMT_HANDLE *context_out)
{
	D3DKMT_CREATEHWCONTEXT args = { .hDevice = on, .NodeOrdinal = node, .hHwContext = GARBAGE };
	NTSTATUS status = D3DKMTCreateHwContext(&args);

	EXPECT(status == STATUS_SUCCESS || args.hHwContext == GARBAGE);
	*context_out = args.hHwContext;
	return status;
}

static inline D3DKMT_HANDLE create_hw_context(D3DKMT_HANDLE on, unsigned node)
{
	return CREATED(try_hw_context, on, node);
}

static inline NTSTATUS destroy_hw_context(D3DKMT_HANDLE context)
{
	return D3DKMTDestroyHwContext(&(D3DKMT_DESTROYHWCONTEXT){ context });
}

struct hw_queue {
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE fence;
	const volatile UINT64 *view;
};

static inline NTSTATUS try_hw_queue(D3DKMT_HANDLE context, unsigned flags,
				    struct hw_queue *queue_out)
{
	D3DKMT_CREATEHWQUEUE args = { .hHwContext = context,
				      .Flags.Value = flags,
				      .hHwQueue = GARBAGE };
	NTSTATUS status = D3DKMTCreateHwQueue(&args);

	EXPECT(status == STATUS_SUCCESS || args.hHwQueue == GARBAGE);
	*queue_out = (struct hw_queue){ args.hHwQueue, args.hHwQueueProgressFence,
					args.HwQueueProgressFenceCPUVirtualAddress };
	return status;
}

static inline struct hw_queue create_hw_queue_in(D3DKMT_HANDLE context)
{
	struct hw_queue queue = { 0 };

	EXPECT_OK(try_hw_queue(context, 0, &queue));
	return queue;
}

/* With a context of its own. */
static inline struct hw_queue create_hw_queue_on(D3DKMT_HANDLE on, unsigned node)
{
	return create_hw_queue_in(create_hw_context(on, node));
}

static inline struct hw_queue create_hw_queue(unsigned node)
{
	return create_hw_queue_on(device, node);
}

static inline NTSTATUS destroy_hw_queue(D3DKMT_HANDLE queue)
{
	return D3DKMTDestroyHwQueue(&(D3DKMT_DESTROYHWQUEUE){ queue });
}

/* ---- work ---- */

static inline NTSTATUS hw_submit(struct hw_queue queue, UINT64 progress, unsigned tag)
{
	return D3DKMTSubmitCommandToHwQueue(
		&(D3DKMT_SUBMITCOMMANDTOHWQUEUE){ .hHwQueue = queue.queue,
						  .HwQueueProgressFenceId = progress,
						  .CommandBuffer = 0x10000,
						  .CommandLength = tag });
}

static inline NTSTATUS hw_signal_flags(struct hw_queue queue, D3DKMT_HANDLE fence, UINT64 value,
				       unsigned flags)
{
	return D3DKMTSubmitSignalSyncObjectsToHwQueue(
		&(D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE){ .Flags.Value = flags,
							    .BroadcastHwQueueCount = 1,
							    .BroadcastHwQueueArray = &queue.queue,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .FenceValueArray = &value });
}

static inline NTSTATUS hw_signal(struct hw_queue queue, D3DKMT_HANDLE fence, UINT64 value)
{
	return hw_signal_flags(queue, fence, value, 0);
}

static inline NTSTATUS hw_wait(struct hw_queue queue, D3DKMT_HANDLE fence, UINT64 value)
{
	return D3DKMTSubmitWaitForSyncObjectsToHwQueue(
		&(D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE){ .hHwQueue = queue.queue,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .FenceValueArray = &value });
}

/* ---- the crank ---- */

static inline unsigned hw_pending(unsigned which)
{
	return crank(&(struct recorder_escape){ .command = RECORDER_HW_PENDING, .handle = which });
}

/* What the GPU has of this queue, by tag: "1 2 3 ". */
static inline const char *hw_pending_tags(unsigned which)
{
	return crank_tags(
		&(struct recorder_escape){ .command = RECORDER_HW_PENDING, .handle = which });
}

/* The GPU ends the oldest; its tag, 0 when there is nothing. */
static inline unsigned hw_complete(unsigned which)
{
	struct recorder_escape escape = { .command = RECORDER_HW_COMPLETE, .handle = which };

	mark("completing");
	return crank(&escape) ? (unsigned)escape.values[0] : 0;
}

/* All up to a progress, with one write and at most one interrupt; how many there were. */
static inline unsigned hw_complete_to(unsigned which, UINT64 progress, bool is_silent)
{
	struct recorder_escape escape = { .command = RECORDER_HW_COMPLETE,
					  .handle = which,
					  .wide_fence = progress,
					  .flags = is_silent ? RECORDER_HW_SILENT : 0 };

	mark("completing");
	return crank(&escape);
}

/* The packet with tag 1 on the first queue may use it: it is closed when that is over. */
static inline void expect_destroyed_behind_work(D3DKMT_HANDLE allocation)
{
	destroy_allocation(allocation);
	settle();
	EXPECT_EQ(notes_count("CloseAllocation"), 0);
	EXPECT_EQ(hw_complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT(notes_in_order("completing", "CloseAllocation"));
}

/* Of tests that begin as it says at the end of their name, and leave everything in order. */
#define HW_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, expect_nothing_wrong(), suite, claim)

#endif
