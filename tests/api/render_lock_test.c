/* SPDX-License-Identifier: MIT */
/*
 * render_lock_test.c - D3DKMTLock of what submissions list: it waits for them, or says that it would
 * have to.
 */
#define CRANK_PAGING_AT_ONCE "0"
#include "api/render.h"

/* WDDM 1.3; everything in local memory that the CPU sees. */
#define SETTINGS                                                                                   \
	"\"Model\": \"physical\", \"Version\": 16386, \"Segment1.Size\": 4194304, "                \
	"\"Segment1.CommitLimit\": 4194304, \"Segment1.CpuTranslatedAddressHigh\": 0, "            \
	"\"Segment1.CpuTranslatedAddress\": 268435456, "                                           \
	"\"Allocation.SupportedReadSegmentSet\": 1, \"Allocation.SupportedWriteSegmentSet\": 1, "

enum {
	DO_NOT_WAIT = 0x4,
	IGNORE_SYNC = 0x8,
	LOCK_ENTIRE = 0x10,
	DISCARD = 0x80,
	IGNORE_READ_SYNC = 0x400,
};

static NTSTATUS lock_with(D3DKMT_HANDLE allocation, UINT flags)
{
	D3DKMT_LOCK args = { .hDevice = device, .hAllocation = allocation };

	args.Flags.Value = flags | LOCK_ENTIRE;
	return D3DKMTLock(&args);
}

struct locking {
	D3DKMT_HANDLE allocation;
	UINT flags;
	NTSTATUS status;
	_Atomic bool is_over;
};

static void locking_run(void *argument)
{
	struct locking *locking = argument;

	locking->status = lock_with(locking->allocation, locking->flags);
	locking->is_over = true;
}

/* The thread of the lock goes on when the work is done. */
static void expect_waits_for_work(struct locking *locking)
{
	struct dxgk_test_thread *thread = begin_thread(locking_run, locking);

	settle();
	EXPECT(!locking->is_over);
	expect_sound("while a lock waits");
	EXPECT_EQ(complete(0), 8);
	AWAIT(locking->is_over);
	dxgk_test_thread_join(thread);
	EXPECT_OK(locking->status);
}

TEST(lock, waits_until_the_gpu_is_done_with_it)
{
	/* Discard allows another piece of memory, and there is none: it waits, whatever it says. */
	static const UINT flags[] = { 0, DISCARD, DISCARD | DO_NOT_WAIT, DISCARD | IGNORE_SYNC };

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		begin_painting();
		struct painter painter = painter_on(0);
		struct locking locking = { .allocation = allocate(64 * KIB), .flags = flags[i] };

		paint_with(&painter, locking.allocation);
		EXPECT_OK(paint(&painter, 8));
		page_until(0, 1);
		expect_waits_for_work(&locking);
	}
}

TEST(lock, that_may_not_wait_is_busy_while_the_gpu_is_not_done)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE used = allocate(64 * KIB);
	D3DKMT_HANDLE other = allocate(64 * KIB);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(queue_wait(painter.context, fence, 1));
	paint_with(&painter, used);
	EXPECT_OK(paint(&painter, 8));
	/* Queued is as good as begun. */
	EXPECT_REFUSED(lock_with(used, DO_NOT_WAIT), STATUS_GRAPHICS_ALLOCATION_BUSY,
		       "MM-LOCK-BUSY", "hAllocation");
	EXPECT_OK(lock_with(other, DO_NOT_WAIT));
	EXPECT_OK(signal_fence(fence, 1));
	page_until(0, 1);
	EXPECT_REFUSED(lock_with(used, DO_NOT_WAIT), STATUS_GRAPHICS_ALLOCATION_BUSY,
		       "MM-LOCK-BUSY", "hAllocation");
	/* Nothing was locked. */
	D3DKMT_UNLOCK2 unlock = { .hDevice = device, .hAllocation = used };
	EXPECT_BAD(D3DKMTUnlock2(&unlock), "API-VALUE", "hAllocation");
	EXPECT_EQ(complete(0), 8);
	expect_done(&painter);
	EXPECT_OK(lock_with(used, DO_NOT_WAIT));
}

TEST(lock, that_ignores_the_gpu_does_not_wait_for_it)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE used = allocate(64 * KIB);

	paint_with(&painter, used);
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	EXPECT_OK(lock_with(used, IGNORE_SYNC));
	EXPECT_OK(lock_with(used, IGNORE_SYNC | DO_NOT_WAIT));
	EXPECT_EQ(complete(0), 8);
}

/* Entries of a list say what is written. */
TEST(lock, that_ignores_what_the_gpu_reads_waits_for_what_it_writes)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE read = allocate(64 * KIB);
	D3DKMT_HANDLE written = allocate(64 * KIB);

	paint_with(&painter, read);
	paint_with(&painter, written);
	painter.list[1].WriteOperation = 1;
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	EXPECT_OK(lock_with(read, IGNORE_READ_SYNC));
	EXPECT_OK(lock_with(read, IGNORE_READ_SYNC | DO_NOT_WAIT));
	EXPECT_REFUSED(lock_with(written, IGNORE_READ_SYNC | DO_NOT_WAIT),
		       STATUS_GRAPHICS_ALLOCATION_BUSY, "MM-LOCK-BUSY", "hAllocation");
	EXPECT_REFUSED(lock_with(read, DO_NOT_WAIT), STATUS_GRAPHICS_ALLOCATION_BUSY,
		       "MM-LOCK-BUSY", "hAllocation");
	struct locking locking = { .allocation = written, .flags = IGNORE_READ_SYNC };
	expect_waits_for_work(&locking);
}

/* The work goes with the device, and the lock with it. */
TEST(lock, that_waits_ends_when_the_device_is_lost)
{
	begin_painting();
	struct painter painter = painter_on(0);
	struct locking locking = { .allocation = allocate(64 * KIB) };
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);

	EXPECT_OK(queue_wait(painter.context, never, 1));
	paint_with(&painter, locking.allocation);
	EXPECT_OK(paint(&painter, 8));
	struct dxgk_test_thread *thread = begin_thread(locking_run, &locking);
	settle();
	EXPECT(!locking.is_over);
	EXPECT_OK(mark_as_error(device));
	AWAIT(locking.is_over);
	dxgk_test_thread_join(thread);
	EXPECT_EQ(locking.status, STATUS_DEVICE_REMOVED);
}

PAINTING_TEST_MAIN("api/render_lock", SETTINGS)
