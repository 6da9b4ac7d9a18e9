/* SPDX-License-Identifier: MIT */
/*
 * render_turns_test.c - D3DKMTRender before WDDM 2.0, with work that never ends and lets itself be
 * preempted: what it lists leaves between its turns, for lists that do not fit beside it. On a GPU
 * turned by hand that has 4 MiB.
 */
#define CRANK_PAGING_AT_ONCE "1"
#include "api/render.h"

#define SETTINGS                                                                                   \
	"\"Model\": \"physical\", \"Version\": 16386, \"QuantumMs\": 20, "                         \
	"\"Segment1.Size\": 4194304, \"Segment1.CommitLimit\": 4194304, "                          \
	"\"Allocation.SupportedReadSegmentSet\": 1, \"Allocation.SupportedWriteSegmentSet\": 1, "

enum { ENDLESS = 96, OTHER = 104, ROUNDS = 4 };

/* Work that lists an allocation which only fits alone. */
static struct painter paint_large(unsigned tag)
{
	struct painter painter = painter_on(0);

	paint_with(&painter, allocate(3 * MIB));
	paint_at(&painter, 0, 0, 0);
	EXPECT_OK(paint(&painter, tag));
	return painter;
}

/* In a simulated run time passes when everybody waits. */
static void let_turns_pass(void)
{
	if (is_seeded())
		let_time_pass(1);
	else
		usleep(1000);
}

static unsigned first_tag(void)
{
	return (unsigned)strtoul(pending_tags(0), NULL, 10);
}

static void await_turn_of(unsigned tag)
{
	for (unsigned turns = 0; first_tag() != tag; turns++) {
		EXPECT(turns < 5000);
		let_turns_pass();
	}
}

static unsigned patches_of_node(void)
{
	return notes_count("Patch irql=");
}

PAINT_TEST(endless, list_leaves_room_for_a_list_of_another_device)
{
	D3DKMT_HANDLE endless = device;
	struct painter painter = paint_large(ENDLESS);

	await_turn_of(ENDLESS);
	device = create_device(adapter);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct painter other = paint_large(OTHER);

		await_turn_of(OTHER);
		EXPECT_EQ(complete(0), OTHER);
		expect_done(&other);
		await_turn_of(ENDLESS); /* it gets its memory back */
	}
	EXPECT(patches_of_node() >= 2 * ROUNDS + 1); /* it may be somewhere else each time */
	EXPECT_OK(destroy_device(device));
	device = endless;
	EXPECT_EQ(execution_state(endless), D3DKMT_DEVICEEXECUTION_ACTIVE);
	await_turn_of(ENDLESS);
	EXPECT_EQ(complete(0), ENDLESS);
	expect_done(&painter);
	EXPECT_EQ(notes_count("ResetEngine"), 0);
	expect_sound("when all is over");
}

PAINT_TEST(endless, lists_of_two_contexts_of_one_device_take_turns)
{
	struct painter first = paint_large(ENDLESS);
	struct painter second = paint_large(OTHER);

	for (unsigned i = 0; i < ROUNDS; i++) {
		await_turn_of(ENDLESS);
		await_turn_of(OTHER);
	}
	EXPECT_EQ(complete(0), OTHER);
	expect_done(&second);
	await_turn_of(ENDLESS);
	EXPECT_EQ(complete(0), ENDLESS);
	expect_done(&first);
	expect_sound("when all is over");
}

/* One behind the other, so that what they list is never without a packet that is with the GPU. */
PAINT_TEST(unbroken, row_of_lists_leaves_room_for_another)
{
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE held = allocate(3 * MIB);
	struct painter other = { 0 };
	unsigned queued = 0;

	for (unsigned turns = 0; other.context == 0 || first_tag() != OTHER; turns++) {
		EXPECT(turns < 5000);
		while (queued < 3) {
			paint_with(&painter, held);
			EXPECT_OK(paint(&painter, ENDLESS));
			queued++;
		}
		if (other.context == 0)
			other = paint_large(OTHER);
		let_turns_pass();
		if (pending(0) > 1)
			queued -= complete(0) == ENDLESS;
	}
	EXPECT_EQ(complete(0), OTHER);
	expect_done(&other);
	complete_all(0, queued);
	expect_done(&painter);
	EXPECT_EQ(execution_state(device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	expect_sound("when all is over");
}

PAINT_TEST(endless, list_that_waits_goes_with_its_device)
{
	D3DKMT_HANDLE endless = device;
	struct painter painter = paint_large(ENDLESS);

	await_turn_of(ENDLESS);
	device = create_device(adapter);
	(void)paint_large(OTHER);
	EXPECT_OK(destroy_device(endless)); /* while it makes room, or has made it */
	await_turn_of(OTHER);
	EXPECT_EQ(complete(0), OTHER);
	(void)painter;
}

PAINTING_TEST_MAIN("api/render_turns", SETTINGS)
