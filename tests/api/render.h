/* SPDX-License-Identifier: MIT */
/*
 * render.h - submission by allocation list in short, for its tests on the recorder driver.
 *
 * The driver copies commands and patches as they are, so a packet's tag is how many bytes of
 * commands it has.
 */
#ifndef TESTS_API_RENDER_H
#define TESTS_API_RENDER_H

#include "api/crank.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

enum { KIB = 1024, MIB = 1024 * KIB, PAGING = 3 };
enum { LOST_OUT_OF_MEMORY = 5, LOST_FAULT = 6 }; /* of D3DKMT_DEVICEEXECUTION_STATE */

/* A context, and what it is to be given next. */
struct painter {
	D3DKMT_HANDLE context;
	UCHAR *commands;
	UINT command_bytes;
	D3DDDI_ALLOCATIONLIST *list;
	UINT list_entries;
	D3DDDI_PATCHLOCATIONLIST *patches;
	UINT patch_entries;
	D3DKMT_RENDER args;
};

static inline NTSTATUS try_painter(struct painter *painter, unsigned node, unsigned flags)
{
	D3DKMT_CREATECONTEXT args = { .hDevice = device, .NodeOrdinal = node };

	args.Flags.Value = flags;
	NTSTATUS status = D3DKMTCreateContext(&args);
	*painter = (struct painter){
		.context = args.hContext,
		.commands = args.pCommandBuffer,
		.command_bytes = args.CommandBufferSize,
		.list = args.pAllocationList,
		.list_entries = args.AllocationListSize,
		.patches = args.pPatchLocationList,
		.patch_entries = args.PatchLocationListSize,
		.args = { .hContext = args.hContext },
	};
	return status;
}

static inline struct painter painter_on(unsigned node)
{
	struct painter painter;

	EXPECT_OK(try_painter(&painter, node, 0));
	return painter;
}

static inline D3DKMT_HANDLE allocate(unsigned size_bytes)
{
	struct recorder_allocation data = { .size_bytes = size_bytes };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &data,
					.PrivateDriverDataSize = sizeof(data) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	return info.hAllocation;
}

/* Written into the client's buffers: a list entry, a patch of it. */
static inline void paint_with(struct painter *painter, D3DKMT_HANDLE allocation)
{
	painter->list[painter->args.AllocationCount++] =
		(D3DDDI_ALLOCATIONLIST){ .hAllocation = allocation };
}

static inline void paint_at(struct painter *painter, UINT index, UINT slot, UINT split_offset)
{
	painter->patches[painter->args.PatchLocationCount++] = (D3DDDI_PATCHLOCATIONLIST){
		.AllocationIndex = index,
		.SlotId = slot,
		.PatchOffset = split_offset,
		.SplitOffset = split_offset,
	};
}

/* Renders so many bytes with what was written; the next buffers are taken over. */
static inline NTSTATUS paint(struct painter *painter, UINT bytes)
{
	painter->args.CommandLength = bytes;
	NTSTATUS status = D3DKMTRender(&painter->args);
	painter->commands = painter->args.pNewCommandBuffer;
	painter->command_bytes = painter->args.NewCommandBufferSize;
	painter->list = painter->args.pNewAllocationList;
	painter->list_entries = painter->args.NewAllocationListSize;
	painter->patches = painter->args.pNewPatchLocationList;
	painter->patch_entries = painter->args.NewPatchLocationListSize;
	painter->args.AllocationCount = 0;
	painter->args.PatchLocationCount = 0;
	painter->args.CommandOffset = 0;
	painter->args.Flags = (D3DKMT_RENDERFLAGS){ 0 };
	return status;
}

/* ---- ends: what pages is turned by hand, too, and so is what an end waits for ---- */

static inline void turn_everything(void)
{
	for (unsigned node = 0; node <= PAGING; node++) {
		if (pending(node) > 0)
			complete(node);
	}
	let_others();
}

/* What pages is done until this many render packets are with the GPU. */
static inline void page_until(unsigned node, unsigned count)
{
	for (unsigned turns = 0; pending(node) < count; turns++) {
		EXPECT(turns < PATIENCE);
		if (pending(PAGING) > 0)
			complete(PAGING);
		else
			let_others();
	}
}

struct leaving {
	D3DKMT_HANDLE handle;
	_Atomic bool is_over;
};

static inline void leaving_run(void *argument)
{
	struct leaving *leaving = argument;

	(void)destroy_device(leaving->handle);
	leaving->is_over = true;
}

static inline void leave_device(D3DKMT_HANDLE handle)
{
	struct leaving leaving = { .handle = handle };
	struct dxgk_test_thread *thread = begin_thread(leaving_run, &leaving);

	while (!leaving.is_over)
		turn_everything();
	dxgk_test_thread_join(thread);
}

/* A new process with a device; the one of the test before is gone. */
static inline void begin_painting_on(unsigned which)
{
	if (device != 0)
		leave_device(device);
	device = 0;
	begin_on(which);
}

static inline void begin_painting(void)
{
	begin_painting_on(BY_HAND);
}

/* Everything that was submitted is over, for the kernel as well. */
static inline void expect_done(const struct painter *painter)
{
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(queue_signal(painter->context, fence, 1));
	EXPECT_OK(wait_fence(fence, 1, 0));
}

static inline DXGKARG_SUBMITCOMMAND last_submission(void)
{
	DXGKARG_SUBMITCOMMAND args;

	fetch_arguments(RECORDER_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0);
	return args;
}

static inline DXGKARG_PATCH last_patch(DXGK_ALLOCATIONLIST *list, unsigned count)
{
	DXGKARG_PATCH args;

	fetch_arguments(RECORDER_PATCH, &args, sizeof(args), list, count * sizeof(*list));
	return args;
}

static inline unsigned renders_submitted(unsigned node)
{
	char text[64];

	snprintf(text, sizeof(text), "SubmitCommand irql=2 node=%u", node);
	return notes_count(text);
}

/* As CRANK_TEST_MAIN(), and the end of the program has nothing to wait for. */
static inline int painting_main(const char *group, const char *more, int argc, char **argv)
{
	int result = crank_main(group, more, argc, argv);

	if (device != 0)
		leave_device(device);
	return result;
}

#define PAINTING_TEST_MAIN(group, more)                                                            \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return painting_main(group, more, argc, argv);                                     \
	}

/* Refused because of this entry of the list. */
#define EXPECT_BAD_ENTRY(call, rule, index)                                                        \
	do {                                                                                       \
		EXPECT_BAD(call, rule, "AllocationList");                                          \
		EXPECT(strncmp(last_refusal().reason, "AllocationList[" #index "]", 17) == 0);     \
	} while (0)

/* Of tests that leave everything in order. */
#define PAINT_TEST(suite, claim)                                                                   \
	TEST_BETWEEN(begin_painting(), expect_nothing_wrong(), suite, claim)

#endif
