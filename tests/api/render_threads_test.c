/* SPDX-License-Identifier: MIT */
/*
 * render_threads_test.c - D3DKMTRender from many threads at once, before WDDM 2.0 and in 4 MiB:
 * lists that wait for each other's memory, pieces, resizes, and allocations that go while they are
 * listed. The GPU does everything at once; what counts is that all of it ends and nobody complains.
 */
#include "api/render.h"

#define SETTINGS                                                                                   \
	"\"Model\": \"physical\", \"Version\": 16386, \"Segment1.Size\": 4194304, "                \
	"\"Segment1.CommitLimit\": 4194304, \"Allocation.SupportedReadSegmentSet\": 1, "           \
	"\"Allocation.SupportedWriteSegmentSet\": 1, "

enum { THREADS = 4, ROUNDS = 60, OWN = 4 };

struct worker {
	D3DKMT_HANDLE device; /* one for two threads */
	unsigned random;
	unsigned submitted;
};

static unsigned chance(struct worker *worker, unsigned below)
{
	worker->random = worker->random * 1103515245 + 12345;
	return (worker->random >> 16) % below;
}

static D3DKMT_HANDLE allocate_on(D3DKMT_HANDLE on, unsigned size_bytes)
{
	struct recorder_allocation data = { .size_bytes = size_bytes };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &data,
					.PrivateDriverDataSize = sizeof(data) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = on,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	return info.hAllocation;
}

static void renew(struct worker *worker, D3DKMT_HANDLE *handle)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = worker->device,
					   .phAllocationList = handle,
					   .AllocationCount = 1 };

	args.Flags.AssumeNotInUse = chance(worker, 2);
	EXPECT_OK(D3DKMTDestroyAllocation2(&args));
	*handle = allocate_on(worker->device, (1 + chance(worker, 2)) * MIB);
}

static void open_painter(struct worker *worker, struct painter *painter)
{
	D3DKMT_CREATECONTEXT args = { .hDevice = worker->device, .NodeOrdinal = chance(worker, 3) };

	EXPECT_OK(D3DKMTCreateContext(&args));
	*painter = (struct painter){ .context = args.hContext,
				     .list = args.pAllocationList,
				     .patches = args.pPatchLocationList,
				     .args = { .hContext = args.hContext } };
}

static void work(void *argument)
{
	struct worker *worker = argument;
	struct painter painter;
	D3DKMT_HANDLE own[OWN];

	open_painter(worker, &painter);
	for (unsigned i = 0; i < OWN; i++)
		own[i] = allocate_on(worker->device, (1 + chance(worker, 2)) * MIB);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned count = 1 + chance(worker, OWN);

		for (unsigned i = 0; i < count; i++) {
			paint_with(&painter, own[i]);
			paint_at(&painter, i, 0, i * 8);
		}
		painter.args.Flags.ResizePatchLocationList = chance(worker, 4) == 0;
		painter.args.NewPatchLocationListSize = 128 + chance(worker, 200);
		EXPECT_OK(paint(&painter, 64));
		worker->submitted++;
		if (chance(worker, 3) == 0)
			renew(worker, &own[chance(worker, OWN)]);
		if (chance(worker, 10) == 0) {
			EXPECT_OK(destroy_context(painter.context));
			open_painter(worker, &painter);
		}
	}
	EXPECT_OK(destroy_context(painter.context));
}

TEST(render_threads, all_of_it_ends_and_nobody_complains)
{
	struct dxgk_test_thread *threads[THREADS];
	struct worker workers[THREADS];
	D3DKMT_HANDLE second;

	begin_on(AT_ONCE);
	second = create_device(adapter);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .device = i % 2 ? second : device, .random = i + 1 };
		threads[i] = begin_thread(work, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		dxgk_test_thread_join(threads[i]);
		EXPECT_EQ(workers[i].submitted, ROUNDS);
	}
	EXPECT_EQ(execution_state(device), 1);
	EXPECT_EQ(execution_state(second), 1);
	expect_sound("at the end");
	EXPECT_OK(destroy_device(second));
	EXPECT_OK(destroy_device(device));
	device = 0;
	expect_nothing_wrong();
}

CRANK_TEST_MAIN("api/render_threads", SETTINGS)
