/* SPDX-License-Identifier: MIT */
/*
 * command_turns.c - from the submission of an empty command to the thread that sees it done, beside
 * two threads that wake each other.
 *
 * usage: command_turns count rounds    one line per round: nanoseconds per turn, the GPU's, and of
 *                                      two threads with a mutex and condition variables
 *
 * A turn of the GPU: the command, a fence that its queue signals behind it, and a wait for that.
 * Measured in short turns of each, so that what else the machine does reaches both.
 */
#include "base/clock.h"
#include "fences.h"
#include "two_threads.h"

/* ---- the GPU ---- */

struct queue {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	UINT64 value;
};

static struct queue open_queue(void)
{
	struct queue queue = { .device = create_device() };
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = queue.device };

	if (!NT_SUCCESS(D3DKMTCreateContextVirtual(&args)))
		fail("D3DKMTCreateContextVirtual");
	queue.context = args.hContext;
	queue.fence = create_fence(queue.device);
	return queue;
}

/* Nothing is fetched: the driver is told that it is empty. */
static void submit_nothing(const struct queue *queue)
{
	D3DKMT_SUBMITCOMMAND args = { .Commands = 0x10000,
				      .CommandLength = 8,
				      .BroadcastContextCount = 1 };

	args.BroadcastContext[0] = queue->context;
	args.Flags.NullRendering = 1;
	if (!NT_SUCCESS(D3DKMTSubmitCommand(&args)))
		fail("D3DKMTSubmitCommand");
}

static void signal_in_queue(const struct queue *queue)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = queue->context,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &queue->fence,
							   .MonitoredFenceValueArray =
								   &queue->value };

	if (!NT_SUCCESS(D3DKMTSignalSynchronizationObjectFromGpu(&args)))
		fail("D3DKMTSignalSynchronizationObjectFromGpu");
}

static double gpu_ns(void *context, unsigned count)
{
	struct queue *queue = context;
	uint64_t start = clock_now_ns();

	for (unsigned i = 0; i < count; i++) {
		queue->value++;
		submit_nothing(queue);
		signal_in_queue(queue);
		wait_fence(queue->device, queue->fence, queue->value);
	}
	return (double)(clock_now_ns() - start) / count;
}

int main(int argc, char **argv)
{
	unsigned count = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
	unsigned rounds = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;

	if (count == 0 || rounds == 0) {
		fprintf(stderr, "usage: command_turns count rounds\n");
		return 2;
	}
	struct queue queue = open_queue();
	print_beside_threads(gpu_ns, &queue, count, rounds);
	return 0;
}
